/* SPDX-License-Identifier: BSD-2-Clause */
/*
  stencil.h: the contract between stencils on boxes of a regular grid (C, no CUDA) and their backends: a table of
  functions on raw pointers

  A rank owns a box of size[0] size[1] size[2] points, i fastest, with dof unknowns each; point (i, j, k) is counted
  from its first one. With offsets o_s and blocks C_s(p) of dof x dof coefficients

      y(p) = sum_s C_s(p) x(p + o_s),     points of x outside of lo <= p < hi do not exist and are left out

  Coefficients are constant,  coef[(s dof + c) dof + e]  from unknown e of p + o_s to unknown c of p,  or each point has
  its own, line by line as one stream:  coef[((l count + s) dof + e) size[0] dof + i dof + c]  in line l = k size[1] +
  j. Point (i, j, k) of x lies at x + (i + j sj + k sk) dof: x is the vector of the box, with sj = size[0], or has the
  points around it too. y and z are vectors of the box.

  The order of a sum depends on the stencil and the backend alone: on the host that of its points, on a device by k,
  then j, then i of the offsets. Bytes: x and y once, and the coefficients where each point has its own.  [H. Liu et
  al., 2013, GSCG]

  Points around the box come in an array of their own, ghost[]; x stays where it is. They are six slabs: below and above
  the box in k, in j, in i. A slab in k has the corners with j and i too, a slab in j those with i. Where ranks are
  layers along k, their slabs in k are what the neighbours have there, in their order. Points ibegin <= p < iend need no
  ghosts.

  On a device all is enqueued on `stream`, a launch for a box. Coefficients are set on the host; setup() copies what the
  device needs. Fast stencils have constant coefficients, one unknown, and 5 or 9 points in two dimensions, 7 or 27 in
  three: their coefficients are arguments of the launch, and a thread block marches along k with planes of x in shared
  memory, each number of which it reads once for all points. Missing points are zeros there, so a coefficient that is
  not finite makes NaN of points at the boundary too.

  Products with the sums of a Krylov step are those of krylov.h, which borrows a stencil by borrowstencil().
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
    setup(): after points or coefficients have changed, before they are used: makes the backend's copy, complete on
    return. reset() frees it. NULL on the host, which has none
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
    y += A^T x, or A^H x: x is a vector of the box, y has the points around it. Summed by points of x, then of the
    stencil
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

/* Points not in ibegin <= p < iend are in six boxes, b = 0, ..., 5, in the order of the slabs; a box may have none */
static inline void SpikeStencilEnd(const SpikeStencil *S, int b, PetscInt begin[3], PetscInt end[3])
{
  for (int d = 0; d < 3; d++) {
    begin[d] = d > 2 - b / 2 ? S->ibegin[d] : 0;
    end[d]   = d > 2 - b / 2 ? S->iend[d] : S->size[d];
  }
  if (b % 2) begin[2 - b / 2] = S->iend[2 - b / 2];
  else end[2 - b / 2] = S->ibegin[2 - b / 2];
}

/* Rows of the matrix on this rank; products of a coefficient and a number; coefficients */
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
  SpikeStencilStride()
*/
static inline PetscCount SpikeStencilCoef(const SpikeStencil *S, PetscInt s, PetscInt c, PetscInt e, PetscInt l)
{
  return S->constant ? ((PetscCount)s * S->dof + c) * S->dof + e
                     : (((PetscCount)l * S->count + s) * S->dof + e) * S->size[0] * S->dof + c;
}

static inline PetscInt SpikeStencilStride(const SpikeStencil *S)
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
