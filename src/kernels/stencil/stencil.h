/* SPDX-License-Identifier: BSD-2-Clause */
/*
  stencil.h: the contract between stencils on boxes of a regular grid (C, no CUDA) and the backends: a table of
  functions on raw pointers

  A rank owns a box of size[0] size[1] size[2] points, i fastest, with dof unknowns each; point (i, j, k) is counted
  from its first one. With offsets o_s and blocks C_s(p) of dof x dof coefficients

      y(p) = sum_s C_s(p) x(p + o_s),     points of x outside of lo <= p < hi do not exist and are left out

  Coefficients are constant,  coef[(s dof + c) dof + e]  from unknown e of p + o_s to unknown c of p,  or one for each
  point, line by line so that they come in one stream:  coef[((l count + s) dof + e) size[0] dof + i dof + c]  in line l
  = k size[1] + j.  Numbers of point (i, j, k) of x lie at x + (i + j sj + k sk) dof: x is the vector of the box alone,
  with sj = size[0], or has the points around it too. y and z are vectors of the box.

  The order of a sum depends on the stencil and the backend alone, and is the same for any box: the order of the points
  on the host, by k, then j, then i of their offsets on a device. Bytes: x and y once, and with constant coefficients
  nothing else: what n count values are for a matrix by diagonals is not there.  [H. Liu et al., 2013, GSCG]

  Points around the box that exist come in an array of their own, ghost[], and x stays where it is: six slabs, in front
  of the box and behind it by k, then j, then i, of which one by k has the corners by j and i, and one by j those by i.
  Slabs by k of ranks that are layers along k are what the neighbours have there, in their order. Points of ibegin <= p
  < iend want no ghosts, and can be computed while those are on their way.

  A device does the same on its own memory, enqueued on `stream`: a launch for a box, so that the inside of a rank's box
  is computed while its surface travels. Coefficients are set on the host, and it takes what it needs of them in
  setup(). Stencils of 5 and 9 points in two and of 7 and 27 in three dimensions with constant coefficients and one
  unknown are its fast ones: those are arguments of the launch, and a block marches along k with planes of x in its own
  memory, each of whose numbers it reads once for all points that want it. Missing points are zeros there, so that a
  coefficient that is not finite makes NaN of points at the boundary too.

  The sums of a Krylov step in the epilogue of a product are the matter of krylov.h, which takes a stencil by
  borrowstencil().
*/
#pragma once

#include "kernels/common/types.h"

#define SPIKE_STENCIL_MOST 343 /* points of a stencil: 7 x 7 x 7 */

/*
  The box with the points around it is lo <= p < hi. Point (i, j, k) in slab b is number first[b] + i + j sj[b] + k
  sk[b] of n
*/
typedef struct {
  PetscInt   lo[3], hi[3];
  PetscCount first[6], sj[6], sk[6], n;
} SpikeStencilShell;

typedef struct {
  PetscInt           count, dof, size[3];
  PetscInt           lo[3], hi[3];
  PetscInt           ibegin[3], iend[3]; /* points that want nothing of ghost[]; these and shell where there is one */
  SpikeStencilShell  shell;
  const PetscInt    *offset;   /* [3 count] on the host     */
  PetscBool          constant; /* coefficients              */
  const PetscScalar *coef;     /* on the host               */
  void              *stream;   /* of the caller, by begin() */
  void              *data;     /* of the backend            */
} SpikeStencil;

typedef struct {
  const char  *name;
  PetscMemType memtype;

  /*
    After points or coefficients have changed, before they are used: what the backend keeps of them, which is there on
    return; reset() frees it. NULL on the host, which keeps nothing
  */
  PetscErrorCode (*setup)(SpikeStencil *);
  PetscErrorCode (*reset)(SpikeStencil *);

  /* Around the work of a product: fetches the stream to work on, logs device time. NULL on the host */
  PetscErrorCode (*begin)(SpikeStencil *);
  PetscErrorCode (*end)(SpikeStencil *);

  /* Points begin <= p < end of y = A x, of y = A x + z with z (which may be y). x may not be y */
  PetscErrorCode (*mult)(const SpikeStencil *, const PetscInt begin[3], const PetscInt end[3], const PetscScalar *x,
                         PetscInt sj, PetscInt sk, const PetscScalar *z, PetscScalar *y);

  /*
    y += A^T x, or A^H x: x is a vector of the box, y has the points around it. In the order of the points of x, and of
    the stencil
  */
  PetscErrorCode (*multtranspose)(const SpikeStencil *, PetscBool conjugate, const PetscScalar *x, PetscScalar *y,
                                  PetscInt sj, PetscInt sk);

  /* d(p) <- diagonal of C_s(p) */
  PetscErrorCode (*diagonal)(const SpikeStencil *, PetscInt s, PetscScalar *d);

  /* As mult() for the points that are not in ibegin <= p < iend, x a vector of the box: all of them by one launch */
  PetscErrorCode (*multends)(const SpikeStencil *, const PetscScalar *x, const PetscScalar *ghost, const PetscScalar *z,
                             PetscScalar *y);

  /*
    message(t) <- x(which[t]), n points; ghost(to[t]) <- arrived(from[t]), or x(-1 - from[t]) where from[t] < 0. The
    lists are in the backend's memory
  */
  PetscErrorCode (*pack)(const SpikeStencil *, PetscInt n, const PetscInt which[], const PetscScalar *x,
                         PetscScalar *message);
  PetscErrorCode (*unpack)(const SpikeStencil *, PetscInt n, const PetscInt to[], const PetscInt from[],
                           const PetscScalar *x, const PetscScalar *arrived, PetscScalar *ghost);
} SpikeStencilKernels;

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeStencilKernels SpikeStencilKernels_Host, SpikeStencilKernels_CUDA;

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeStencilKernels *SpikeStencilKernelsFind(PetscMemType);

/* stencil.c: shell from size and the lo and hi of the shell */
PETSC_INTERN void SpikeStencilSetShell(SpikeStencil *);

/* The slab that point (i, j, k) lies in, 6 for the box itself */
static inline int SpikeStencilSlab(const SpikeStencil *S, PetscInt i, PetscInt j, PetscInt k)
{
  if (k < 0 || k >= S->size[2]) return k < 0 ? 0 : 1;
  if (j < 0 || j >= S->size[1]) return j < 0 ? 2 : 3;
  if (i < 0 || i >= S->size[0]) return i < 0 ? 4 : 5;
  return 6;
}

/*
  Points that are not in ibegin <= p < iend are those of six boxes, one of which may have none: by k, j and i as slabs
  are
*/
static inline void SpikeStencilEnd(const SpikeStencil *S, int b, PetscInt begin[3], PetscInt end[3])
{
  for (int d = 0; d < 3; d++) {
    begin[d] = d > 2 - b / 2 ? S->ibegin[d] : 0;
    end[d]   = d > 2 - b / 2 ? S->iend[d] : S->size[d];
  }
  if (b % 2) begin[2 - b / 2] = S->iend[2 - b / 2];
  else end[2 - b / 2] = S->ibegin[2 - b / 2];
}

/* Rows of the matrix, which a rank can count, and its products of a coefficient and a number */
static inline PetscInt SpikeStencilSize(const SpikeStencil *S)
{
  return S->size[0] * S->size[1] * S->size[2] * S->dof;
}

static inline PetscInt64 SpikeStencilEntries(const SpikeStencil *S)
{
  return (PetscInt64)S->count * S->dof * SpikeStencilSize(S);
}

static inline PetscCount SpikeStencilCoefs(const SpikeStencil *S)
{
  return (PetscCount)S->count * S->dof * S->dof * (S->constant ? 1 : (PetscCount)S->size[0] * S->size[1] * S->size[2]);
}

/*
  Where coefficient (c, e) of point s lies for the first point of line l; those of its other points follow at
  SpikeStencilStep()
*/
static inline PetscCount SpikeStencilCoef(const SpikeStencil *S, PetscInt s, PetscInt c, PetscInt e, PetscInt l)
{
  return S->constant ? ((PetscCount)s * S->dof + c) * S->dof + e
                     : (((PetscCount)l * S->count + s) * S->dof + e) * S->size[0] * S->dof + c;
}

static inline PetscInt SpikeStencilStep(const SpikeStencil *S)
{
  return S->constant ? 0 : S->dof;
}

/* Points i in begin <= i < end of a line for which i + o exists */
static inline void SpikeStencilClip(const SpikeStencil *S, int d, PetscInt o, PetscInt *begin, PetscInt *end)
{
  *begin = PetscMax(*begin, S->lo[d] - o);
  *end   = PetscMax(*begin, PetscMin(*end, S->hi[d] - o));
}

/*
  A line of points with one unknown, for one instruction set: y[i] = z[i] + sum over count points of coef[s][i]
  from[s][i], coef[s] one number if constant; begin <= i < end
*/
typedef void (*SpikeStencilLine)(PetscInt count, const PetscScalar *const coef[], PetscBool constant,
                                 const PetscScalar *const from[], PetscInt begin, PetscInt end, const PetscScalar *z,
                                 PetscScalar *y);
PETSC_INTERN const SpikeStencilLine SpikeStencilLine_base, SpikeStencilLine_v3, SpikeStencilLine_v4;
