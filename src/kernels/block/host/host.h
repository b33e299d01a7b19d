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
  Factors: column-major blocks bs x bs. L in the order of lj; D, inverted, from the last row to the first; U from the
  last of uj to the first: so the upper solve reads memory upwards too
*/
typedef struct {
  void        *l, *d, *u;
  void       **where;    /* [nb] blocks of the row that is filled or eliminated, by column; NULL where it has none */
  PetscScalar *work;     /* [maxrhs * nb * bs] in the order of the factors, where that is not the matrix's       */
  PetscReal    norm;     /* that the last fill saw              */
  PetscReal    products; /* of blocks, in the last factorization */
} SpikeBlockLUHost;

/*
  Functions of one instruction set, by block size: [0] is for any size, and for those whose entry is NULL. Those with
  one precision for all values: run() is AXPY and DOT, multt() are products with the transpose
*/
#define SPIKE_BLOCK_SIZES 17
typedef struct {
  void (*run)(const SpikeBlockTask *);
  void (*mult[SPIKE_BLOCK_SIZES])(const SpikeBlockTask *);
  void (*multt[SPIKE_BLOCK_SIZES])(const SpikeBlockTask *);
  void (*factor[SPIKE_BLOCK_SIZES])(const SpikeBlockPattern *, SpikeBlockLUHost *, SpikePivot *);
} SpikeBlockLoops;

/*
  Sweeps with factors of one precision, for nrhs columns. lower: w <- (I + L)^-1 b, b in the order of the matrix; upper:
  w <- (D + U)^-1 w. lowert: w <- (D + U)^-T w; uppert: w <- (I + L)^-T w; with conj the conjugate transposes.
*/
typedef struct {
  void (*lower[SPIKE_BLOCK_SIZES])(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscInt nrhs,
                                   const PetscScalar *b, PetscCount ldb, PetscScalar *w, PetscCount ldw);
  void (*upper[SPIKE_BLOCK_SIZES])(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscInt nrhs, PetscScalar *w,
                                   PetscCount ldw);
  void (*lowert[SPIKE_BLOCK_SIZES])(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscBool conj, PetscInt nrhs,
                                    PetscScalar *w, PetscCount ldw);
  void (*uppert[SPIKE_BLOCK_SIZES])(const SpikeBlockPattern *, const SpikeBlockLUHost *, PetscBool conj, PetscInt nrhs,
                                    PetscScalar *w, PetscCount ldw);
} SpikeBlockSweeps;

/* The entry for blocks of bs rows */
#define SpikeBlockOfSize(table, bs) (*((bs) < SPIKE_BLOCK_SIZES && (table)[bs] ? (table)[bs] : (table)[0]))

#define SpikeBlockDeclare(isa) \
  PETSC_INTERN const SpikeBlockLoops  SpikeBlockLoops_double_##isa, SpikeBlockLoops_single_##isa; \
  PETSC_INTERN const SpikeBlockSweeps SpikeBlockSweeps_double_##isa, SpikeBlockSweeps_single_##isa
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
