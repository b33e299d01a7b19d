/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikecase.h: one PCSPIKE on one band matrix, its whole operator and its transpose compared with dense references
*/
#pragma once

#include "spiketest.h"

typedef struct {
  SpikeTestBand       band;
  PCSpikeType         type;
  PetscInt            local; /* partitions of each rank with rows */
  PetscSpikePrecision precision;
  PetscInt            userkl, userku; /* half-bandwidths to factor, PETSC_DECIDE: all */
  PetscReal           tol;
  PetscReal           window;
} SpikeTestCase;

static inline void SpikeTestCaseInit(SpikeTestCase *c, PetscInt n, PetscInt kl, PetscInt ku, PetscReal dominance,
                                     SpikeTestKind kind)
{
  c->band.n         = n;
  c->band.kl        = kl;
  c->band.ku        = ku;
  c->band.dominance = dominance;
  c->band.kind      = kind;
  c->band.seed      = 1 + n + 1000 * kl + 100000 * ku;
  c->type           = PC_SPIKE_TRUNCATED;
  c->local          = 1;
  c->precision      = SPIKE_TEST_PRECISION;
  c->window         = 0.0; /* the references have whole spikes */
  c->userkl         = PETSC_DECIDE;
  c->userku         = PETSC_DECIDE;
  c->tol            = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10;
}

/* Half-bandwidths that are factored */
static inline void SpikeTestCaseBand(const SpikeTestCase *c, PetscInt *kl, PetscInt *ku)
{
  const PetscInt most = PetscMax(c->band.n - 1, 0);

  *kl = c->userkl == PETSC_DECIDE ? PetscMin(c->band.kl, most) : c->userkl;
  *ku = c->userku == PETSC_DECIDE ? PetscMin(c->band.ku, most) : c->userku;
}

/* A and the preconditioner of a case, set up */
static inline PetscErrorCode SpikeTestCaseCreate(MPI_Comm comm, const SpikeTestCase *c, PetscInt nlocal, Mat *A, PC *pc,
                                                 const char where[])
{
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(comm, &c->band, nlocal, MATAIJ, A));
  PetscCall(PCCreate(comm, pc));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetType(*pc, c->type));
  PetscCall(PCSpikeSetLocalPartitions(*pc, c->local));
  PetscCall(PCSpikeSetPrecision(*pc, c->precision));
  PetscCall(PCSpikeSetBandwidth(*pc, c->userkl, c->userku));
  PetscCall(PCSpikeSetWindowTolerance(*pc, c->window));
  /* what the references assume; with one partition the ordering cannot matter */
  if (c->local > 1) PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscCall(PCGetFailedReason(*pc, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason == PC_NOERROR), "%s: setup failed with %s", where, PCFailedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The facts that PCSpikeGetInfo() must tell */
static inline PetscErrorCode SpikeTestCaseInfo(const SpikeTestCase *c, PC pc, PetscInt np, const PetscInt start[],
                                               const PetscScalar *a, const char where[])
{
  const PetscInt n = c->band.n;
  PCSpikeInfo    info;
  PetscInt       kl, ku, small = n, large = 0;
  PetscReal      sum = 0.0, dropped = 0.0;

  PetscFunctionBegin;
  SpikeTestCaseBand(c, &kl, &ku);
  for (PetscInt p = 0; p < np; p++) {
    small = PetscMin(small, start[p + 1] - start[p]);
    large = PetscMax(large, start[p + 1] - start[p]);
  }
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = 0; i < n; i++) {
      sum += PetscAbsScalar(a[i + j * n]);
      if (i - j > kl || j - i > ku) dropped += PetscAbsScalar(a[i + j * n]);
    }
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.n == n), "%s: %" PetscInt_FMT " rows in the info", where, info.n));
  PetscCall(SpikeTestCheck((PetscBool)(info.reordered || (info.kl == kl && info.ku == ku)),
                           "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " instead of %" PetscInt_FMT ",%" PetscInt_FMT,
                           where, info.kl, info.ku, kl, ku));
  PetscCall(SpikeTestCheck((PetscBool)(info.natural_kl == PetscMin(c->band.kl, PetscMax(n - 1, 0)) &&
                                       info.natural_ku == PetscMin(c->band.ku, PetscMax(n - 1, 0))),
                           "%s: band %" PetscInt_FMT ",%" PetscInt_FMT " of the matrix", where, info.natural_kl,
                           info.natural_ku));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.partitions == np && info.min_partition == small && info.max_partition == large),
                   "%s: %" PetscInt_FMT " partitions of %" PetscInt_FMT " to %" PetscInt_FMT
                   " rows instead of %" PetscInt_FMT " of %" PetscInt_FMT " to %" PetscInt_FMT,
                   where, info.partitions, info.min_partition, info.max_partition, np, small, large));
  PetscCall(SpikeTestSmall(PetscAbsReal(info.dropped - (sum > 0.0 ? dropped / sum : 0.0)), 1000 * PETSC_MACHINE_EPSILON,
                           "error of the dropped share", where));
  PetscCall(SpikeTestCheck((PetscBool)(info.boosted == 0 && info.rebuilds == 1 && info.refills == 0),
                           "%s: %" PetscInt_FMT " pivots boosted, %" PetscInt_FMT " setups and %" PetscInt_FMT
                           " refills",
                           where, info.boosted, info.rebuilds, info.refills));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All checks of one case on one layout; with keep != NULL the operator is copied there */
static inline PetscErrorCode SpikeTestCaseRun(MPI_Comm comm, const SpikeTestCase *c, PetscInt nlocal, PetscScalar *keep)
{
  const PetscInt  n = c->band.n;
  Mat             A;
  PC              pc;
  PetscMPIInt     size;
  const PetscInt *ranges;
  PetscInt        kl, ku, np, *start, whole[2] = {0, n};
  PetscScalar    *a, *ref, *m, *inv;
  /* 10 units of 16 bits */
  const PetscReal roundings[] = {100 * PETSC_MACHINE_EPSILON, (PetscReal)1.2e-5, (PetscReal)0.04, (PetscReal)0.005};
  PetscReal       rounding    = roundings[c->precision], d, norm;
  char            where[256];

  PetscFunctionBegin;
  SpikeTestCaseBand(c, &kl, &ku);
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "n %" PetscInt_FMT " (here %" PetscInt_FMT ") band %" PetscInt_FMT ",%" PetscInt_FMT
                          " of %" PetscInt_FMT ",%" PetscInt_FMT " %s, %" PetscInt_FMT " partitions a rank, %s %s",
                          n, nlocal, kl, ku, c->band.kl, c->band.ku, SpikeTestKinds[c->band.kind], c->local,
                          PCSpikeTypes[c->type], PetscSpikePrecisions[c->precision]));
  PetscCall(PetscMalloc4(n * n, &a, n * n, &ref, n * n, &m, n * n, &inv));
  PetscCall(SpikeTestBandDense(&c->band, a));
  PetscCall(SpikeTestCaseCreate(comm, c, nlocal, &A, &pc, where));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCall(PetscMalloc1(size * c->local + 1, &start));
  SpikeTestPartitions(size, ranges, c->local, &np, start);
  if (c->type == PC_SPIKE_FULL) PetscCall(SpikeTestReference(n, a, kl, ku, 1, whole, PETSC_FALSE, ref));
  else PetscCall(SpikeTestReference(n, a, kl, ku, np, start, (PetscBool)(c->type == PC_SPIKE_TRUNCATED), ref));

  PetscCall(SpikeTestCaseInfo(c, pc, np, start, a, where));
  PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
  if (keep) PetscCall(PetscArraycpy(keep, m, n * n));
  PetscCall(SpikeTestCompare(n, np, start, m, ref, PETSC_FALSE, c->tol, rounding, where));
  /* at most one interface: nothing is neglected, M = A */
  if (np <= 2 && c->type == PC_SPIKE_TRUNCATED && c->userkl == PETSC_DECIDE) {
    PetscCall(SpikeTestInvert(n, a, n, inv, n));
    SpikeTestDifference(n, 0, n, 0, n, m, inv, PETSC_FALSE, &d, &norm);
    PetscCall(SpikeTestSmall(d, c->tol * norm, "distance from the inverse of the matrix", where));
  }
  PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m));
  PetscCall(SpikeTestCompare(n, np, start, m, ref, PETSC_TRUE, c->tol, rounding, where));
  PetscCall(SpikeTestAdjoint(pc, PetscMin(c->tol, 1000 * rounding), where));

  PetscCall(PetscFree(start));
  PetscCall(PetscFree4(a, ref, m, inv));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
