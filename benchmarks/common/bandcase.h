/* SPDX-License-Identifier: BSD-2-Clause */
/* bandcase.h: for benchmarks of PCSPIKE: a random band, times of setups and applications */
#pragma once

#include <petscspike.h>
#include "finish.h"
#include "median.h"

#define MAXREPEAT 200

static inline PetscReal Uniform(uint64_t i, uint64_t j)
{
  uint64_t z = (i << 20) ^ j;

  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return (PetscReal)(2.0 * ((double)(z >> 11) / 9007199254740992.0) - 1.0);
}

/*
  Off-diagonals uniform in [-1, 1], a_ii = d * sum of the magnitudes of the others in the row; the same on any number of
  ranks
*/
static inline PetscErrorCode CreateBand(MPI_Comm comm, PetscInt N, PetscInt K, PetscReal d, Mat *A)
{
  PetscInt     n = PETSC_DECIDE, first, *ia, *ja;
  PetscScalar *a;
  PetscCount   k = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscSplitOwnership(comm, &n, &N));
  PetscCallMPI(MPI_Scan(&n, &first, 1, MPIU_INT, MPI_SUM, comm));
  first -= n;
  PetscCheck((PetscCount)n * (2 * K + 1) <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "N = %" PetscInt_FMT ", K = %" PetscInt_FMT
             " has more entries on a rank than PetscInt counts: use more ranks or 64-bit indices",
             N, K);
  PetscCall(PetscMalloc3(n + 1, &ia, (PetscCount)n * (2 * K + 1), &ja, (PetscCount)n * (2 * K + 1), &a));
  ia[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt i    = first + r;
    PetscCount     diag = 0;
    PetscReal      sum  = 0.0;

    for (PetscInt j = PetscMax(0, i - K); j <= PetscMin(N - 1, i + K); j++, k++) {
      const PetscReal v = Uniform((uint64_t)i, (uint64_t)j);

      ja[k] = j;
      a[k]  = v;
      if (j == i) diag = k;
      else sum += PetscAbsReal(v);
    }
    a[diag]   = d * sum;
    ia[r + 1] = (PetscInt)k;
  }
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, n, n, N, N));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ia, ja, a));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, ia, ja, a));
  PetscCall(PetscFree3(ia, ja, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Setup with new values, and a train of applies from b to x: repeat times each, ms, sorted; first: what the first setup
  took
*/
static inline PetscErrorCode TimeSpike(MPI_Comm comm, Mat A, PC pc, Vec b, Vec x, int repeat, int train, double *first,
                                       double setup[], double apply[])
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(Wait(comm, &t0));
  PetscCall(PCSetUp(pc));
  PetscCall(Wait(comm, &t1));
  *first = 1e3 * (t1 - t0);
  for (int k = -2; k < repeat; k++) {
    PetscCall(MatScale(A, -1.0)); /* new values */
    PetscCall(Wait(comm, &t0));
    PetscCall(PCSetUp(pc));
    PetscCall(Wait(comm, &t1));
    if (k >= 0) setup[k] = 1e3 * (t1 - t0);
  }
  for (int k = -1; k < repeat; k++) {
    PetscCall(Wait(comm, &t0));
    for (int i = 0; i < train; i++) PetscCall(PCApply(pc, b, x));
    PetscCall(Wait(comm, &t1));
    if (k >= 0) apply[k] = 1e3 * (t1 - t0) / train;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
