/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs.cuh: what the files of the CUDA backend of rhs.h share: its state, and the sums of a column */
#pragma once

#include "kernels/krylov/rhs.h"
#include "basis.cuh"

/*
  Each column has a SpikeKrylovDevice and a SpikeKrylovMail of its own: its sums, tickets and recurrences are those of a
  single solve. A kernel has thread blocks for each column; their number depends on n alone. Of h only the stream and
  the device are used.
*/
typedef struct {
  SpikeKrylovCUDA    h;
  SpikeKrylovDevice *device;            /* [m]                                                                     */
  SpikeKrylovMail   *mail, *devicemail; /* [m] one memory, as host and device see it                               */
  PetscScalar       *partials;          /* [m stride]                                                              */
  PetscInt64         stride;
  /* [2 m SpikeKrylovRhsSums()] likewise                               */
  volatile PetscReal *basissums, *devicebasissums;
  /* [m] sums of each column that the host has asked for                     */
  unsigned long long *summed;
  /* the last step was a basis step; it had sums of all columns              */
  bool basis, all;
} SpikeRhsCUDA;

/* What a kernel is told of it */
typedef struct {
  SpikeKrylovDevice *device;
  SpikeKrylovMail   *mail;
  PetscScalar       *partials;
  PetscInt64         stride;
  bool               recur;
} SpikeRhsState;

typedef struct {
  PetscScalar *v[SPIKE_KRYLOV_MAXVECTORS];
  PetscInt64   ld[SPIKE_KRYLOV_MAXVECTORS];
} SpikeRhsVectors;

/*
  Thread blocks of a column with `rounds` rows or pairs of rows: as many as fill the device twice, each with the same
  number of rounds
*/
static inline unsigned SpikeRhsBlocks(const SpikeRhsCUDA *s, PetscInt rounds)
{
  const PetscInt most   = 2 * s->h.gpu->multiprocessors,
                 needed = PetscMax(1, (rounds + SPIKE_KRYLOV_THREADS - 1) / SPIKE_KRYLOV_THREADS),
                 each   = (needed + most - 1) / most;

  return (unsigned)((needed + each - 1) / each);
}

/* The sums of one right-hand side, without a post: pull() asks */
template <int STEPID>
__device__ static __forceinline__ void SpikeRhsFinish(PetscScalar d[], PetscScalar shared[], const SpikeRhsState &state,
                                                      int c, unsigned block, unsigned blocks)
{
  SpikeKrylovFinish<STEPID, false>(d, shared, state.recur, state.device + c, state.partials + c * state.stride,
                                   state.mail + c, block, blocks);
}

/* rhs.cu */
PETSC_INTERN SpikeRhsState SpikeRhsStateOf(const SpikeKrylovRhs *);

/* rhs_basis.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovRhsBasisStep_CUDA(SpikeKrylovRhs *, PetscInt, SpikeKrylovBasisStep,
                                                         const SpikeKrylovBasis *, PetscInt, PetscInt,
                                                         const SpikeKrylovBasis *, const SpikeIDRRecurrence *);

/* rhs_mult.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovRhsMult_CUDA(SpikeKrylovRhs *, const void *, PetscInt, SpikeKrylovStep,
                                                    const PetscScalar *, const PetscScalar *, PetscScalar *, PetscInt,
                                                    PetscScalar *const[], const PetscInt[]);

/* rhs_cg.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovRhsBlockCG_CUDA(SpikeKrylovRhs *, SpikeBlockCGStep, PetscInt, int,
                                                       PetscScalar *);
