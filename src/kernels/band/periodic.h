/* SPDX-License-Identifier: BSD-2-Clause */
/*
  periodic.h: periodic tridiagonal systems as rank-one updates of tridiagonal ones: the contract of the backends, and
  formulas that C and CUDA share
*/
#pragma once

#include "band.h"

/*
  Rows f <= r <= l of the matrix, l - f >= 2, are a periodic system where a(f,l) or a(l,f) is not zero, and otherwise
  nothing lies off the three diagonals or couples them to other rows. With

      u = (gamma, 0, ..., 0, a(l,f)),   v = (1, 0, ..., 0, a(f,l) / gamma),   A = T + u v^T

  T has no corners and differs from the tridiagonal part of A in T(f,f) = a(f,f) - gamma and T(l,l) = a(l,l) - a(l,f)
  a(f,l) / gamma. By Sherman and Morrison

      A^-1 b = y - q (v.y) / (1 + v.q),  y = T^-1 b,  q = T^-1 u,       A^-T b = y - p (u.y) / (1 + v.q),  y = T^-T b,
                                                                        p = T^-T v

  without conjugates (Temperton, J. Comput. Phys. 19, 1975; Press et al., Numerical Recipes, section 2.7). 1 + v.q = 1 +
  u.p = det A / det T. Where T is replaced by a preconditioner M of it, this is the inverse of M + u v^T.

  A rank holds systems whole, or its part of one system that is the whole matrix: rows of other ranks are -1 then, and
  of v.y each rank has what its rows add, in two halves whose sum is taken in update(): the same on all ranks.
*/
typedef struct {
  PetscInt  joined; /* not 0: an entry that couples a system to other rows is not zero any more */
  PetscInt  nboost; /* numbers 1 + v.q that were boosted                                       */
  PetscInt  bad;    /* first system with a bad one that was not, -1 if none                     */
  PetscReal badvalue;
} SpikePeriodicReport;

typedef struct {
  PetscInt   nsys;
  PetscInt   npieces; /* of the rows of systems */
  PetscInt   nzeros[2];
  PetscInt   corners;  /* the piece of the matrix that holds corners: 0, or 1 where their columns lie on other ranks */
  PetscInt   npatched; /* pieces of the matrix, from the first, that T differs in                                    */
  PetscCount nnz[2];   /* their entries                                                                              */

  /* integers, in the backend's memory */
  PetscInt *rows;    /* [2 nsys] f and l                                                */
  PetscInt *entries; /* [4 nsys] where a(f,f), a(f,l), a(l,f), a(l,l) are in their pieces, -1: nowhere here */
  PetscInt *pieces;  /* [3 npieces] system, first row, row after the last              */
  PetscInt *zeros;   /* [nzeros[0] + nzeros[1]] entries in both pieces that couple systems to other rows */

  /* numbers, in the backend's memory */
  PetscScalar         *ends;      /* [4 nsys] a(f,f), a(f,l), a(l,f), a(l,l)   */
  PetscScalar         *uv;        /* [4 nsys] u_f, u_l, v_f, v_l               */
  PetscScalar         *inv;       /* [nsys] 1 / (1 + v.q)                      */
  PetscScalar         *dots;      /* [maxrhs * 2 nsys] halves of v.y, or u.y, of rows f and l */
  PetscScalar         *q[2];      /* [n] q of all systems, and p               */
  PetscScalar         *values[2]; /* values of T in the pieces of the matrix   */
  SpikePeriodicReport *report;
} SpikePeriodic;

/* All of it is only enqueued on a device, on the stream of the band; deterministic, no allocation, no wait */
struct _n_SpikePeriodicKernels {
  PetscInt rows; /* most rows of a piece, 0: systems are not cut */

  /* ends <- the four entries of each system, 0 where they are not here; report.joined */
  PetscErrorCode (*gather)(const SpikeBand *, SpikePeriodic *, PetscInt nparts, const SpikeCSR parts[]);

  /*
    From ends: uv; values <- those of T, in the pieces of the matrix that are patched. Reads and writes each value once.
    A corner that is not finite stays where it is, for fill() to find
  */
  PetscErrorCode (*split)(const SpikeBand *, SpikePeriodic *, const SpikeCSR parts[]);

  /* x <- the sum over all systems of u, or of v if trans */
  PetscErrorCode (*ends)(const SpikeBand *, const SpikePeriodic *, PetscBool trans, PetscScalar *x);

  /* dots <- halves of v.x, or of u.x if trans. Reads the ends of systems */
  PetscErrorCode (*dots)(const SpikeBand *, SpikePeriodic *, PetscBool trans, PetscInt nrhs, const PetscScalar *x,
                         PetscCount ldx);

  /*
    inv from dots of v.q: 1 + v.q is bad up to tol max(1, |v.q|); with boost > 0 it is replaced by one of magnitude
    boost max(1, |v.q|)
  */
  PetscErrorCode (*close)(const SpikeBand *, SpikePeriodic *, PetscReal tol, PetscReal boost);

  /* x <- x - q (v.x) inv, or with p and u.x if trans, of the sums in dots. Reads q, reads and writes x, once */
  PetscErrorCode (*update)(const SpikeBand *, const SpikePeriodic *, PetscBool trans, PetscInt nrhs, PetscScalar *x,
                           PetscCount ldx);
};

SPIKE_BOTH_INLINE PetscScalar SpikePeriodicEntry(const PetscScalar *aa, PetscInt k)
{
  return k < 0 ? (PetscScalar)0.0 : aa[k];
}

SPIKE_BOTH_INLINE PetscBool SpikePeriodicFinite(PetscReal abs)
{
  return abs - abs == (PetscReal)0.0 ? PETSC_TRUE : PETSC_FALSE;
}

/*
  u, v and the diagonal entries of T from ends: gamma = -z g, |z| = 1, g > 0. With z the phase of a(f,f) the first of
  them, a(f,f) + z g, does not cancel; g = |a(f,f)| is the usual choice, and keeps a T that is dominant where A is. g is
  more where a(f,l) is larger, as for a(f,f) = 0, and where the last one, a(l,l) + w with w = a(l,f) a(f,l) / (z g),
  would cancel: then |w| = |a(l,l)| / 2. Without corners u = 0.
*/
SPIKE_BOTH_INLINE void SpikePeriodicSplit(const PetscScalar ends[4], PetscScalar uv[4], PetscScalar diag[2])
{
  const PetscReal df = PetscAbsScalar(ends[0]), b = PetscAbsScalar(ends[1]), a = PetscAbsScalar(ends[2]),
                  dl = PetscAbsScalar(ends[3]);
  PetscReal   g      = df > b ? df : b, most;
  PetscScalar z      = (PetscScalar)1.0, w;

  diag[0] = ends[0];
  diag[1] = ends[3];
  uv[0] = uv[1] = uv[3] = (PetscScalar)0.0;
  uv[2]                 = (PetscScalar)1.0;
  if (a == (PetscReal)0.0 && b == (PetscReal)0.0) return;
  if (g == (PetscReal)0.0) g = a;
  if (df > (PetscReal)0.0) z = ends[0] / df;
  else if (a > (PetscReal)0.0 && b > (PetscReal)0.0 && dl > (PetscReal)0.0)
    z = (ends[2] / a) * (ends[1] / b) * (PetscConj(ends[3]) / dl); /* w and a(l,l) have one phase */
  w    = (ends[2] / g) * ends[1] * PetscConj(z);
  most = PetscAbsScalar(w);
  if (PetscRealPart(w * (PetscConj(ends[3]) / (dl > (PetscReal)0.0 ? dl : (PetscReal)1.0))) < (PetscReal)0.0 &&
      most > dl / 2 && most < 2 * dl) {
    g *= 2 * most / dl;
    w *= dl / (2 * most);
  }
  uv[0] = -z * g;
  uv[1] = ends[2];
  uv[3] = ends[1] / uv[0];
  diag[0] += z * g;
  diag[1] += w;
}

/* What becomes of 1 + v.q: 0 as it is, 1 boosted, 2 bad */
SPIKE_BOTH_INLINE int SpikePeriodicClose(const PetscScalar dots[2], PetscReal tol, PetscReal boost, PetscScalar *inv,
                                         PetscReal *value)
{
  const PetscScalar c = dots[0] + dots[1], den = c + (PetscScalar)1.0;
  const PetscReal   abs = PetscAbsScalar(den),
                  scale = PetscAbsScalar(c) > (PetscReal)1.0 ? PetscAbsScalar(c) : (PetscReal)1.0;

  *value = abs;
  *inv   = (PetscScalar)0.0;
  if (!SpikePeriodicFinite(abs)) return 2;
  if (abs > tol * scale) {
    *inv = (PetscScalar)1.0 / den;
    return 0;
  }
  if (!(boost > (PetscReal)0.0)) return 2;
  *inv = (abs > (PetscReal)0.0 ? PetscConj(den) / abs : (PetscScalar)1.0) / (boost * scale);
  return 1;
}
