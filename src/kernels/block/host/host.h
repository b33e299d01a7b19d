/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: what the files of the host backend of block.h share */
#pragma once

#include "kernels/block/block.h"
#include "kernels/common/host/isa.h"

/* A sparse matrix of blocks: the pattern; values are the caller's */
typedef struct {
  PetscInt *bi, *bj;
} SpikeBlockMatHost;

/*
  Factors: blocks bs x bs, column-major, those of L in the order of lj; of D, inverted, from the last row to the first,
  and of U from the last one of uj to the first, so that the upper solve reads memory upwards too
*/
typedef struct {
  void        *l, *d, *u;
  void       **where;    /* [nb] blocks of the row that is filled or eliminated, by column; NULL where it has none */
  PetscScalar *work;     /* [maxrhs * nb * bs] in the order of the factors, where that is not the matrix's       */
  PetscReal    norm;     /* that the last fill saw              */
  PetscReal    products; /* of blocks, in the last factorization */
} SpikeBlockLUHost;

/* Loops of one instruction set on numbers of one precision */
typedef struct {
  void (*run)(const SpikeBlockTask *);
  void (*factor)(const SpikeBlockPattern *, SpikeBlockLUHost *, SpikePivot *);
} SpikeBlockLoops;

/*
  Sweeps of one instruction set with factors of one precision, for nrhs columns. lower: w <- (I + L)^-1 b, b in the
  order of the matrix; upper: w <- (D + U)^-1 w. lowert: w <- (D + U)^-T w; uppert: w <- (I + L)^-T w; with conj the
  conjugate transposes.
*/
typedef struct {
  void (*lower)(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscInt nrhs, const PetscScalar *b,
                PetscCount ldb, PetscScalar *w, PetscCount ldw);
  void (*upper)(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscInt nrhs, PetscScalar *w, PetscCount ldw);
  void (*lowert)(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscBool conj, PetscInt nrhs, PetscScalar *w,
                 PetscCount ldw);
  void (*uppert)(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscBool conj, PetscInt nrhs, PetscScalar *w,
                 PetscCount ldw);
} SpikeBlockSweeps;

#define SpikeBlockDeclare(isa) \
  PETSC_INTERN const SpikeBlockLoops  SpikeBlockLoops_##isa##_double, SpikeBlockLoops_##isa##_single; \
  PETSC_INTERN const SpikeBlockSweeps SpikeBlockSweeps_##isa##_double, SpikeBlockSweeps_##isa##_single
SpikeBlockDeclare(base);
SpikeBlockDeclare(v3);
SpikeBlockDeclare(v4);
#undef SpikeBlockDeclare

/* lu.c */
PETSC_INTERN const SpikeBlockSweeps *SpikeBlockSweepsGet(PetscSpikePrecision);
PETSC_INTERN const SpikeBlockLoops  *SpikeBlockLoopsGet(PetscSpikePrecision);
PETSC_INTERN PetscErrorCode          SpikeBlockLUBytes_Host(const SpikeBlockLU *, PetscReal *, PetscReal *);
PETSC_INTERN PetscErrorCode          SpikeBlockLUCreate_Host(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode          SpikeBlockLUDestroy_Host(SpikeBlockLU *);
PETSC_INTERN PetscErrorCode          SpikeBlockLUReserve_Host(SpikeBlockLU *, PetscInt);
PETSC_INTERN PetscErrorCode          SpikeBlockLUFactor_Host(SpikeBlockLU *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeBlockLUSolve_Host(SpikeBlockLU *, SpikeBlockTrans, PetscInt, const PetscScalar *,
                                                   PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode SpikeBlockLUGet_Host(SpikeBlockLU *, PetscScalar *, PetscScalar *, PetscScalar *);

/* fill.c */
PETSC_INTERN PetscErrorCode SpikeBlockLUFill_Host(SpikeBlockLU *, const SpikeBlockCSR *, SpikeBlockFillStats *);
