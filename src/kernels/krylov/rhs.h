/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhs.h: the contract between the fused Krylov methods for several right-hand sides and their backends: the steps of
  krylov.h over columns
*/
#pragma once

#include "krylov.h"
#include "blockcg.h"

typedef struct _n_SpikeKrylovRhsKernels SpikeKrylovRhsKernels;

/*
  A solve for m right-hand sides is m solves side by side. A vector becomes a block of columns; each column has scalars
  of its own, and `nsmall` more for basis steps. Column c of a block begins at c ld; ld = 0 is one vector that all
  columns share. A step is done for columns 0 to width - 1 whose reason is not set.

  scalars is the host's copy. With ondevice the recurrences follow the sums of a step where the kernels are, and pull()
  brings the scalars to the host. Without it the host takes the sums of this rank, adds up those of all ranks, makes the
  recurrences and pushes the scalars.
*/
typedef struct {
  const SpikeKrylovRhsKernels *k;
  PetscBool                    ondevice;
  /* columns that there is room for                                            */
  PetscInt m;
  /* of basis steps: most columns of A and B; 0 without                         */
  PetscInt ncolumns, nsmall;
  /* [m]                                                                       */
  SpikeKrylovScalars *scalars;
  /* [m nsmall] in the memory of the kernels, and the host's copy, NULL with ondevice */
  PetscScalar *small, *hostsmall;
  /* [m SpikeKrylovRhsSums()] of this rank, those of a column side by side   */
  PetscScalar *sums;
  void        *data;
} SpikeKrylovRhs;

/* Sums of a column in a step, at most */
static inline PetscInt SpikeKrylovRhsSums(const SpikeKrylovRhs *s)
{
  return PetscMax((PetscInt)SPIKE_KRYLOV_MAXDOTS, s->ncolumns + 3);
}

struct _n_SpikeKrylovRhsKernels {
  const char  *name;
  PetscMemType memtype;

  /* m, ncolumns, nsmall and ondevice are set by the caller; destroy() accepts a state partly made */
  PetscErrorCode (*create)(SpikeKrylovRhs *);
  PetscErrorCode (*destroy)(SpikeKrylovRhs *);

  /*
    push(): the host's scalars of the first `width` columns become those of the kernels; without ondevice also those of
    basis steps. pull(): the other way, with ondevice; waits
  */
  PetscErrorCode (*push)(SpikeKrylovRhs *, PetscInt width);
  PetscErrorCode (*pull)(SpikeKrylovRhs *, PetscInt width);

  /*
    One step over n rows of each column, vector k with leading dimension ld[k]. The sums of a column are added up in an
    order that depends on n alone, not on the number of columns. Words a row and column: the list in scalars.h
  */
  PetscErrorCode (*step)(SpikeKrylovRhs *, PetscInt width, SpikeKrylovStep, PetscInt n, PetscScalar *const v[],
                         const PetscInt ld[]);

  /*
    One basis step of each column. Pointers of the block, and c, a, g in the scalars of basis steps, are those of column
    0; ldA is of b->A, ld of all else. combine: a COMBINE that follows, with ld for all of its blocks. SMOOTH is done
    where a reason is set too.
  */
  PetscErrorCode (*basisstep)(SpikeKrylovRhs *, PetscInt width, SpikeKrylovBasisStep, const SpikeKrylovBasis *,
                              PetscInt ldA, PetscInt ld, const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *);

  /*
    Without ondevice: waits for the sums of the last step, nsums of a column, and puts those of column c at sums[c
    nsums]
  */
  PetscErrorCode (*sums)(SpikeKrylovRhs *, PetscInt width, PetscInt nsums);

  /*
    Columns a[i] and b[i] change places, i < n, in all blocks v[k] of `rows` rows and leading dimension ld, and with all
    of their scalars. No column is there twice
  */
  PetscErrorCode (*swap)(SpikeKrylovRhs *, PetscInt n, const PetscInt a[], const PetscInt b[], PetscInt rows,
                         PetscInt nblocks, PetscScalar *const v[], PetscInt ld);

  /*
    y_j <- a x_i + b y_j on n rows, i = cx[k] and j = cy[k], k < count. Each y_j is there once; other columns stay. With
    a = 0 x is not read, with b = 0 y is not. Reasons are not looked at
  */
  PetscErrorCode (*combine)(SpikeKrylovRhs *, PetscInt count, PetscInt n, PetscScalar a, const PetscScalar *x,
                            PetscInt ldx, const PetscInt cx[], PetscScalar b, PetscScalar *y, PetscInt ldy,
                            const PetscInt cy[]);

  /*
    y <- A x, or y <- D A x with the diagonal matrix D in scale, by a copy of A that the SpikeKrylovKernels of the same
    memory have made, and with the sums of a step, as in krylov.h: y is one of its vectors v[], and the step writes
    none; with SPIKE_KRYLOV_NSTEPS the product alone. Reads the copy once for as many columns as registers or cache
    hold.
  */
  PetscErrorCode (*mult)(SpikeKrylovRhs *, const void *copy, PetscInt width, SpikeKrylovStep, const PetscScalar *scale,
                         const PetscScalar *x, PetscScalar *y, PetscInt ldxy, PetscScalar *const v[],
                         const PetscInt ld[]);

  /*
    The small matrices of block CG over the first m <= SPIKE_BLOCKCG_MAXM columns, after the dots: SpikeBlockCGRecur()
    with the scalars of the kernels, and small in their memory. Called with ondevice, or on the host, whose function
    takes the host's scalars of any backend
  */
  PetscErrorCode (*blockcg)(SpikeKrylovRhs *, SpikeBlockCGStep, PetscInt m, int norms, PetscScalar *small);
};

/* the latter where the library was built with CUDA */
PETSC_INTERN const SpikeKrylovRhsKernels SpikeKrylovRhsKernels_Host, SpikeKrylovRhsKernels_CUDA;

/* backend.c: the backend for data of a memory type, NULL where the library has none */
PETSC_INTERN const SpikeKrylovRhsKernels *SpikeKrylovRhsKernelsFind(PetscMemType);

/* b of column c: A has the leading dimension ldA, all else ld. A and B are put at pointers[0] and pointers[ncolumns] */
static inline SpikeKrylovBasis SpikeKrylovBasisColumn(const SpikeKrylovRhs *s, const SpikeKrylovBasis *b, PetscInt c,
                                                      PetscInt ldA, PetscInt ld, PetscScalar **pointers)
{
  const PetscCount shift = (PetscCount)c * ld, small = (PetscCount)c * s->nsmall;
  SpikeKrylovBasis h = *b;

  for (PetscInt j = b->first; j < b->last; j++) {
    if (b->A) pointers[j] = b->A[j] + (PetscCount)c * ldA;
    if (b->B) pointers[s->ncolumns + j] = b->B[j] + shift;
  }
  h.A = b->A ? pointers : NULL;
  h.B = b->B ? pointers + s->ncolumns : NULL;
  h.c = b->c ? b->c + small : NULL;
  h.a = b->a ? b->a + small : NULL;
  h.g = b->g ? b->g + small : NULL;
  h.x = b->x ? b->x + shift : NULL;
  h.y = b->y ? b->y + shift : NULL;
  h.z = b->z ? b->z + shift : NULL;
  h.r = b->r ? b->r + shift : NULL;
  h.q = b->q ? b->q + shift : NULL;
  h.p = b->p ? b->p + shift : NULL;
  return h;
}
