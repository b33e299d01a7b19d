/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_host.h: the host backend's loops for the instruction set in use, and its copies of a matrix */
#pragma once

#include "../krylov.h"

#define SPIKE_DIA_ROWS  64  /* of a block of a copy by diagonals */
#define SPIKE_MULT_ROWS 512 /* of a product before the step takes them: still in cache; a multiple of SPIKE_DIA_ROWS */

/* By diagonals, in blocks of rows: val[(b count + d) SPIKE_DIA_ROWS + r] = A(i, i + offset[d]) of row i = b SPIKE_DIA_ROWS + r, 0 where A has no entry; a product reads one stream of values */
typedef struct {
  PetscInt     n, count;
  PetscInt    *offset; /* [count] ascending                                */
  PetscScalar *val;    /* [count n], n rounded up to whole blocks; aligned to 64 bytes */
  void        *memory; /* where val lies                                   */
} SpikeKrylovDia;

typedef struct {
  SpikeKrylovCopy base;
  PetscInt        nz;
  SpikeKrylovDia  dia;
} SpikeKrylovCopyHost;

/* y = A x in the rows begin to end - 1; begin is the first row of a block, and so is end, or it is n */
typedef void (*SpikeKrylovDiaLoop)(const SpikeKrylovDia *, PetscInt begin, PetscInt end, const PetscScalar *x, PetscScalar *y);
PETSC_INTERN const SpikeKrylovDiaLoop SpikeKrylovDiaLoop_base, SpikeKrylovDiaLoop_v3, SpikeKrylovDiaLoop_v4;

typedef struct {
  const SpikeKrylovLoop      *step;
  const SpikeKrylovBlockLoop *blockstep;
  SpikeKrylovDiaLoop          dia;
} SpikeKrylovLoops;

/* krylov_host.c */
PETSC_INTERN SpikeKrylovLoops SpikeKrylovLoopsGet(void);

/* krylov_mult.c */
PETSC_INTERN PetscErrorCode SpikeKrylovCopy_Host(SpikeKrylov *, const SpikeKrylovCSR *, KSPFusedSpMVType, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovRefill_Host(SpikeKrylov *, const SpikeKrylovCSR *, void *);
PETSC_INTERN PetscErrorCode SpikeKrylovDestroyCopy_Host(SpikeKrylov *, void **);
PETSC_INTERN PetscErrorCode SpikeKrylovMult_Host(SpikeKrylov *, const void *, SpikeKrylovStep, const PetscScalar *, const PetscScalar *, PetscScalar *, PetscScalar *const[]);
