/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE as a direct solver: backward errors, steps of refinement, what fails and what does not.\n\n";

#include <petsc/private/petscimpl.h>
#include "spiketest.h"
#include "viewtext.h"

/* The tolerance that PCSPIKE has by default */
#define MAXETA (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-5 : (PetscReal)1e-12)

static PetscErrorCode Create(Mat A, Mat P, const char prefix[], KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, P));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(KSP ksp, KSPConvergedReason expected, PCFailedReason failed, const char where[])
{
  KSPConvergedReason reason;
  PCFailedReason     why;
  PC                 pc;

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &why));
  PetscCall(SpikeTestCheck((PetscBool)(why == failed), "%s: failed reason %s", where, PCFailedReasons[why]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a text is in the view, on all ranks what the first one says */
static PetscErrorCode CheckView(PC pc, const char part[], PetscBool expected, const char where[])
{
  char        text[8192] = "", *at;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, part, &at));
  PetscCall(SpikeTestCheck((PetscBool)(rank || !at == !expected), "%s: \"%s\" is %s in the view", where, part,
                           expected ? "not" : "still"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that must succeed within the tolerance, with a number of steps between least and most */
static PetscErrorCode CheckSolve(KSP ksp, PetscBool trans, Vec b, Vec x, PetscInt least, PetscInt most,
                                 const char where[])
{
  PC          pc;
  Mat         P;
  PCSpikeInfo before, info;
  PetscReal   eta;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSetUp(pc)); /* before PETSc 3.26 KSPSetUp() looks for new values after KSPSetOperators() only */
  PetscCall(PCSpikeGetInfo(pc, &before));
  if (trans) PetscCall(KSPSolveTranspose(ksp, b, x));
  else PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, where));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCGetOperators(pc, NULL, &P));
  PetscCall(SpikeTestBackwardError(P, trans, b, x, &eta));
  PetscCall(SpikeTestSmall(eta, MAXETA, "backward error", where));
  PetscCall(SpikeTestSmall(PetscAbsReal(eta - info.backward_error), 0.1 * eta + PETSC_MACHINE_EPSILON,
                           "another backward error", where));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == before.solves + 1 && info.unsolved == before.unsolved),
                           "%s: %" PetscInt_FMT " solves after %" PetscInt_FMT, where, info.solves, before.solves));
  info.refinements -= before.refinements;
  PetscCall(SpikeTestCheck((PetscBool)(least <= info.refinements && info.refinements <= most),
                           "%s: %" PetscInt_FMT " steps of refinement", where, info.refinements));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that must fail, and is forgotten by another method and comes back */
static PetscErrorCode CheckFailure(KSP ksp, Vec b, Vec x, PCFailedReason why, const char where[])
{
  PC                 pc;
  PCSpikeInfo        before, info;
  KSPConvergedReason reason;
  PetscReal          rtol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9;
  PCFailedReason     failed;
  PetscBool          finite;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_CURRENT, 1000));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCSpikeGetInfo(pc, &before));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(CheckReason(ksp, KSP_DIVERGED_PC_FAILED, why, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.unsolved == before.unsolved + 1 && info.backward_error > MAXETA),
                             "%s: %" PetscInt_FMT " solves failed, backward error %g", where, info.unsolved,
                             (double)info.backward_error));
    PetscCall(CheckView(pc, "FAILED: The backward error of a solve is", PETSC_TRUE, where));
    PetscCall(CheckView(pc, "solves with a backward error above", PETSC_TRUE, where));
    if (pass) { /* an application without a solver forgets it too */
      PetscReal norm;

      PetscCall(PCApply(pc, b, x));
      PetscCall(VecNorm(x, NORM_2, &norm));
      finite = (PetscBool)!PetscIsInfOrNanReal(norm);
      PetscCall(PCGetFailedReason(pc, &failed));
      PetscCall(SpikeTestCheck((PetscBool)(finite && !failed), "%s: an application after it is marked", where));
    } else {
      PetscCall(KSPSetType(ksp, KSPGMRES));
      PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
      PetscCall(KSPGMRESSetRestart(ksp, 400));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      /* in single precision GMRES itself may lose its basis in the many iterations with such a preconditioner */
      PetscCall(
        SpikeTestCheck((PetscBool)(reason > 0 || (PetscDefined(USE_REAL_SINGLE) && reason == KSP_DIVERGED_BREAKDOWN)),
                       "%s: GMRES after it ends with %s", where, KSPConvergedReasons[reason]));
    }
    PetscCall(CheckView(pc, "FAILED", PETSC_FALSE, where));
  }
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact factors need no step; precisions of the factors: how many; nothing without the check */
static PetscErrorCode TestPrecisions(PetscInt kl, PetscInt ku)
{
  const SpikeTestBand band = {150, kl, ku, 1.5, SPIKE_TEST_RANDOM, 5};
  Mat                 A;
  Vec                 b, x;
  PetscMPIInt         size;
  char                where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (PetscInt p = PetscDefined(USE_REAL_SINGLE) ? 1 : 0; p < 4; p++) {
    const PetscInt least[] = {0, PetscDefined(USE_REAL_SINGLE) ? 0 : 1, 1, 1}, most[] = {1, 2, 10, 10};
    KSP            ksp;
    PC             pc;
    PCSpikeInfo    info;

    PetscCall(Create(A, A, NULL, &ksp, &pc));
    PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)p));
    for (PetscInt trans = 0; trans < 2; trans++) {
      PetscCall(PetscSNPrintf(where, sizeof(where), "%" PetscInt_FMT ",%" PetscInt_FMT " %s%s", kl, ku,
                              PetscSpikePrecisions[p], trans ? " transposed" : ""));
      PetscCall(CheckSolve(ksp, (PetscBool)trans, b, x, least[p], most[p], where));
    }
    PetscCall(CheckView(pc, "as a direct solver: solves 2, ", PETSC_TRUE, where));
    PetscCall(PCSpikeSetMaxRefinements(pc, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == 2), "%s: checked all the same", where));
    PetscCall(PCSpikeSetMaxRefinements(pc, PETSC_DECIDE));
    PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_FALSE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == 0), "%s: checked although it is not direct", where));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides whose squares are 0 or infinite: solved and refined as others are */
static PetscErrorCode TestExtremes(void)
{
  const SpikeTestBand band = {150, 3, 2, 1.5, SPIKE_TEST_RANDOM, 5};
  const PetscInt      e    = PetscDefined(USE_REAL_SINGLE) ? 80 : 640;
  Mat                 A;
  Vec                 b, x, y;
  KSP                 ksp;
  PC                  pc;
  PCSpikeInfo         info;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(Create(A, A, NULL, &ksp, &pc));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
  PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 1, 10, "of usual size"));
  for (PetscInt k = -1; k <= 1; k += 2) {
    const char *where = k < 0 ? "tiny" : "huge";
    PetscInt    steps;
    PetscReal   error, norm;

    PetscCall(PCSpikeGetInfo(pc, &info));
    steps = info.refinements;
    PetscCall(VecCopy(b, y));
    PetscCall(VecScale(y, (PetscScalar)ldexp(1.0, (int)(k * e)))); /* y: the right-hand side, then the solution */
    PetscCall(KSPSolve(ksp, y, y));
    PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.refinements > steps && info.backward_error > 0.0),
                             "%s: %" PetscInt_FMT " steps of refinement, backward error %g", where,
                             info.refinements - steps, (double)info.backward_error));
    PetscCall(VecScale(y, (PetscScalar)ldexp(1.0, (int)(-k * e))));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(VecNorm(y, NORM_INFINITY, &error));
    PetscCall(VecNorm(x, NORM_INFINITY, &norm));
    PetscCall(SpikeTestSmall(error, 1000 * MAXETA * norm, "another solution", where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Truncation that refinement makes up for, and truncation that it does not */
static PetscErrorCode TestTruncated(void)
{
  const SpikeTestBand good = {240, 2, 3, 1.3, SPIKE_TEST_RANDOM, 6}, bad = {240, 3, 3, 0.15, SPIKE_TEST_RANDOM, 7};
  Mat                 A, B;
  Vec                 b, x;
  KSP                 ksp;
  PC                  pc;
  PCSpikeInfo         info;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &good, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &bad, PETSC_DECIDE, MATAIJ, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(Create(A, A, NULL, &ksp, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(pc, 8 / size));
  PetscCall(PCSpikeSetMaxRefinements(pc, 30));
  for (PetscInt trans = 0; trans < 2; trans++)
    PetscCall(CheckSolve(ksp, (PetscBool)trans, b, x, 0, 30, trans ? "good transposed" : "good"));
  PetscCall(PCSpikeSetMaxRefinements(pc, PETSC_DECIDE));
  PetscCall(KSPSetOperators(ksp, B, B));
  if (!PetscDefined(USE_REAL_SINGLE)) { /* where growth leads to a trial, which takes one partition */
    PetscCall(CheckFailure(ksp, b, x, PC_FACTOR_OTHER, "bad"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(
      SpikeTestCheck((PetscBool)(info.inverse_error > 1e-3), "bad: ||I - A M^-1|| %g", (double)info.inverse_error));
  }
  /* what was asked for is less than a solution */
  PetscCall(PCSpikeSetRefinementTolerance(pc, 1e30));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "another tolerance"));
  PetscCall(PCSpikeSetRefinementTolerance(pc, (PetscReal)PETSC_DECIDE));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "block"));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "a narrower band"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == 0), "%" PetscInt_FMT " checks of another matrix", info.solves));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A dominant band, but for the last row of each partition, which is coupled to the first row of the next one alone and
  has a pivot of 1e-8: tips of 1e8, beside which far ends are small that are not. The matrix itself is well-conditioned.
  What corrections leave out beside the windows of the first and the last partition is too much on the host, where the
  setup sees it. A device has one window for partitions that it sweeps together, and it reaches all rows where the
  windows of their two ends meet, as here: truncated spikes do, and nothing is set up again.

  Without large tips (window) rows are dominant, and nobody looks at what narrow windows leave out before a solve, for
  which it is too much with one step of refinement
*/
static PetscErrorCode TestExactCoupling(PetscBool window)
{
  const PetscInt rows = window ? 100 : 40, K = 3;
  PetscMPIInt    size;
  SpikeTestBand  band = {0, K, K, 1.5, SPIKE_TEST_RANDOM, 13};
  Mat            A;
  const char    *where = window ? "narrow windows" : "large tips";
  Vec            b, x;

  PetscFunctionBegin;
  if (PetscDefined(USE_REAL_SINGLE)) PetscFunctionReturn(PETSC_SUCCESS); /* such a pivot is not small enough there */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  band.n = 4 * rows * size;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  if (!window) PetscCall(SpikeTestLargeTips(&band, rows, band.n - 1, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  for (PetscInt direct = 0; direct < 2; direct++) {
    KSP         ksp;
    PC          pc;
    PCSpikeInfo info;

    PetscCall(Create(A, A, NULL, &ksp, &pc));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
    PetscCall(PCSpikeSetMaxBorder(pc, 0));
    PetscCall(PCSpikeSetLocalPartitions(pc, 4));
    if (window) PetscCall(PCSpikeSetWindowTolerance(pc, 1e-2));
    if (window) PetscCall(PCSpikeSetMaxRefinements(pc, 1));
    if (direct) PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCSpikeGetInfo(pc, &info));
    if (!direct)
      PetscCall(SpikeTestCheck((PetscBool)(!info.boosted &&
                                           (window ? info.type == PC_SPIKE_TRUNCATED
                                                   : strcmp(info.backend, "host") || info.type == PC_SPIKE_FULL)),
                               "%s: coupled %d, boosted %" PetscInt_FMT " before a solve", where, (int)info.type,
                               info.boosted));
    for (PetscInt turn = 0; turn < 2; turn++) { /* and with new values */
      PetscInt rebuilds;

      PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 4, where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      rebuilds = info.rebuilds;
      PetscCall(CheckSolve(ksp, PETSC_TRUE, b, x, 0, 4, where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(strcmp(info.backend, "host")
                                             ? info.rebuilds == (info.type == PC_SPIKE_FULL ? 2 : 1)
                                             : info.type == PC_SPIKE_FULL && info.rebuilds == 2 && rebuilds == 2),
                               "%s, direct %" PetscInt_FMT ": coupled %d, %" PetscInt_FMT " setups from scratch", where,
                               direct, (int)info.type, info.rebuilds));
      PetscCall(MatScale(A, 2.0));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that is wrong once, in the last row: call number `wrong` from now on */
static PetscErrorCode (*product)(Mat, Vec, Vec);
static PetscInt calls, wrong;

static PetscErrorCode MatMult_WrongOnce(Mat A, Vec x, Vec y)
{
  PetscScalar *v;
  PetscInt     n, N, end;

  PetscFunctionBegin;
  PetscCall((*product)(A, x, y));
  if (++calls != wrong) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetSize(y, &N));
  PetscCall(VecGetOwnershipRange(y, NULL, &end));
  PetscCall(VecGetArray(y, &v));
  if (end == N && n) v[n - 1] += 0.01;
  PetscCall(VecRestoreArray(y, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A residual that is wrong once neither fails a solve nor makes its solution worse */
static PetscErrorCode TestProduct(void)
{
  const SpikeTestBand band = {240, 2, 3, 1.3, SPIKE_TEST_RANDOM, 6};
  Mat                 A;
  Vec                 b, x;
  KSP                 ksp;
  PC                  pc;
  PCSpikeInfo         info;
  PetscReal           eta;
  const PetscInt      least = PetscDefined(USE_REAL_SINGLE) ? 2 : 3; /* products of truncated spikes */
  char                where[40];
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(Create(A, A, NULL, &ksp, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetLocalPartitions(pc, 8 / size));
  PetscCall(MatGetOperation(A, MATOP_MULT, (PetscErrorCodeFn **)&product));
  PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)MatMult_WrongOnce));
  for (PetscInt truncated = 0; truncated < 2; truncated++) {
    PetscCall(PCSpikeSetType(pc, truncated ? PC_SPIKE_TRUNCATED : PC_SPIKE_FULL));
    PetscCall(PCSpikeSetMaxRefinements(pc, truncated ? 30 : PETSC_DECIDE));
    PetscCall(KSPSetUp(ksp));
    for (PetscInt k = 1; k < 4; k++) {
      PetscCall(PetscSNPrintf(where, sizeof(where), "product %" PetscInt_FMT " wrong, %s", k,
                              truncated ? "truncated" : "exact"));
      calls = 0;
      wrong = k;
      PetscCall(KSPSolve(ksp, b, x));
      wrong = 0;
      PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, where));
      PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &eta));
      PetscCall(SpikeTestSmall(eta, MAXETA, "backward error", where));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(!info.unsolved && calls >= (truncated ? PetscMin(k, least) : 1)),
                               "%s: %" PetscInt_FMT " unsolved, %" PetscInt_FMT " calls", where, info.unsolved, calls));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of the check is Pmat; that of the factors; not inside of another solver */
static PetscErrorCode TestMatrix(void)
{
  const SpikeTestBand band = {90, 2, 1, 1.5, SPIKE_TEST_RANDOM, 8}, other = {90, 2, 2, 1.5, SPIKE_TEST_RANDOM, 9};
  Mat                 A, P;
  Vec                 b, x;
  KSP                 ksp;
  PC                  pc;
  PCSpikeInfo         info;
  PetscInt            before;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &P));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &other, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 5));
  PetscCall(Create(A, P, NULL, &ksp, &pc));
  PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 2, "Pmat"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  before = info.solves;
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
  PetscCall(MatScale(P, 3.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "factors of other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == before), "factors of other values are checked"));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_FALSE));
  PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 2, "new values"));
  PetscCall(KSPSetType(ksp, KSPNONE)); /* the same method */
  PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 2, "KSPNONE"));
  PetscCall(PetscObjectSetTabLevel((PetscObject)ksp, 1)); /* as an inner solver has it */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == 2), "checked inside of another solver"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&P));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = 0, b with a NaN, no rows at all, ranks without rows, nothing made in a solve */
static PetscErrorCode TestCorners(void)
{
  const SpikeTestBand band = {40, 2, 3, 1.5, SPIKE_TEST_RANDOM, 10};
  PetscMPIInt         rank, size;
  Mat                 A;
  Vec                 b, x, c;
  KSP                 ksp;
  PC                  pc;
  PetscReal           norm;
  PetscObjectId       id[3];
  PetscContainer      probe;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < 3; k++) { /* rows everywhere, on the last rank only, nowhere */
    SpikeTestBand of = band;

    if (k == 2) of.n = 0;
    PetscCall(
      SpikeTestBandMat(PETSC_COMM_WORLD, &of, k == 1 ? (rank == size - 1 ? of.n : 0) : PETSC_DECIDE, MATAIJ, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(Create(A, A, NULL, &ksp, &pc));
    PetscCall(VecSet(b, 0.0));
    PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 0, "b = 0"));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(SpikeTestSmall(norm, 0.0, "x", "b = 0"));
    PetscCall(SpikeTestSetRandom(b, 6));
    PetscCall(CheckSolve(ksp, PETSC_FALSE, b, x, 0, 2, "random"));
    PetscCall(VecScale(b, PETSC_SQRT_MACHINE_EPSILON));
    for (PetscInt i = 0; i < 3; i++) { /* the work vectors are there: ids of objects go on by that of the probe */
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &probe));
      PetscCall(PetscObjectGetId((PetscObject)probe, &id[i]));
      PetscCall(PetscContainerDestroy(&probe));
    }
    PetscCall(SpikeTestCheck((PetscBool)(id[2] - id[1] == 1), "a solve makes objects"));
    if (k < 2) {
      const PetscScalar nan = PetscSqrtReal(-PETSC_MAX_REAL);
      PCSpikeInfo       before, info;

      PetscCall(PCSpikeGetInfo(pc, &before));
      PetscCall(VecDuplicate(b, &c));
      PetscCall(VecCopy(b, c));
      PetscCall(VecSetValue(c, of.n - 1, nan, INSERT_VALUES));
      PetscCall(VecAssemblyBegin(c));
      PetscCall(VecAssemblyEnd(c));
      PetscCall(KSPSolve(ksp, c, x));
      PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "NaN in b"));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.solves == before.solves), "NaN in b: counted"));
      PetscCall(CheckSolve(ksp, PETSC_TRUE, b, x, 0, 2, "after NaN"));
      PetscCall(VecDestroy(&c));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSpikeSetDirect(): each column of KSPMatSolve() and PCMatApply(), setups that are tried, and a solve after one */
static PetscErrorCode TestDirect(PetscBool solve)
{
  const SpikeTestBand good = {120, 2, 3, 1.5, SPIKE_TEST_RANDOM, 11}, bad = {120, 3, 3, 0.15, SPIKE_TEST_RANDOM, 12};
  const PetscInt      m = 5;
  Mat                 A, B, X, F;
  Vec                 b, x;
  KSP                 ksp;
  PC                  pc;
  PCSpikeInfo         info;
  KSPConvergedReason  reason;
  PCFailedReason      failed;
  PetscInt            n;
  PetscReal           eta;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &good, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &bad, PETSC_DECIDE, MATAIJ, &F));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, m, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < m; c++) {
    PetscCall(MatDenseGetColumnVecWrite(B, c, &b));
    PetscCall(SpikeTestSetRandom(b, 20 + c));
    if (c == 2) PetscCall(VecSet(b, 0.0));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &b));
  }
  PetscCall(Create(A, A, NULL, &ksp, &pc));
  PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
  for (PetscInt k = 0; k < 4; k++) {
    if (k == 0) PetscCall(KSPMatSolve(ksp, B, X));
    if (k == 1) PetscCall(KSPMatSolveTranspose(ksp, B, X));
    if (k == 2) PetscCall(PCMatApply(pc, B, X));
    if (k == 3) PetscCall(PCMatApplyTranspose(pc, B, X));
    for (PetscInt c = 0; c < m; c++) {
      PetscCall(MatDenseGetColumnVecRead(B, c, &b));
      PetscCall(MatDenseGetColumnVecRead(X, c, &x));
      PetscCall(SpikeTestBackwardError(A, (PetscBool)(k % 2), b, x, &eta));
      PetscCall(SpikeTestSmall(eta, MAXETA, "backward error of a column", "direct"));
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
      PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    }
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == k + 1 && info.unsolved == 0 && info.refinements >= 4 * (k + 1)),
                             "direct: %" PetscInt_FMT " solves, %" PetscInt_FMT " steps", info.solves,
                             info.refinements));
  }
  /* a trial tells that the factors solve nothing */
  PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
  PetscCall(PCSpikeSetLocalPartitions(pc, 8 / size));
  PetscCall(KSPSetOperators(ksp, F, F));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCGetFailedReason(pc, &failed));
  if (PetscDefined(USE_REAL_SINGLE)) { /* growth leads to one partition, whose factors solve it */
    PetscCall(SpikeTestCheck((PetscBool)(failed == PC_NOERROR), "trial: %s", PCFailedReasons[failed]));
  } else {
    PetscCall(SpikeTestCheck((PetscBool)(failed == PC_FACTOR_OTHER), "trial: %s", PCFailedReasons[failed]));
    if (solve) {
      PetscCall(KSPMatSolve(ksp, B, X));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), "trial: ends with %s",
                               KSPConvergedReasons[reason]));
    }
    PetscCall(CheckView(pc, "FAILED: The backward error of a solve with random values", PETSC_TRUE, "trial"));
  }
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(CheckReason(ksp, KSP_CONVERGED_ITS, PC_NOERROR, "after the trial"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Growth of random bands, by an elimination on a dense copy; small pivots, for which U grows */
static PetscErrorCode TestGrowth(PetscInt n, PetscInt kl, PetscInt ku)
{
  Mat          A;
  PC           pc;
  PCSpikeInfo  info;
  PetscRandom  random;
  PetscScalar *a;
  PetscReal    before = 0.0, after = 0.0;
  PetscMPIInt  size;
  char         where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%" PetscInt_FMT " rows, half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, n, kl, ku));
  PetscCall(PetscCalloc1(n * n, &a));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1.0, 1.0));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      PetscScalar v;

      PetscCall(PetscRandomGetValue(random, &v));
      if (i == j) v = i % 7 ? PetscMax(kl, ku) : 0.25;
      a[i * n + j] = v;
      before       = PetscMax(before, PetscAbsScalar(v));
      PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (PetscInt k = 0; k < n; k++) {
    for (PetscInt j = k; j < n; j++) after = PetscMax(after, PetscAbsScalar(a[k * n + j]));
    for (PetscInt i = k + 1; i < n; i++) {
      const PetscScalar l = a[i * n + k] / a[k * n + k];

      for (PetscInt j = k; j < n; j++) a[i * n + j] -= l * a[k * n + j];
    }
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestSmall(PetscAbsReal(info.growth * before / after - 1.0),
                           PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-8, "error of the growth", where));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Growth and ||I - A M^-1||, for a matrix where both are known: [e 1; 1 0], e small, and twos */
static PetscErrorCode TestQuality(void)
{
  const PetscReal e = PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-4;
  Mat             A;
  PC              pc;
  PCSpikeInfo     info;
  PetscInt        start, end, N = 60;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, i == 0 ? e : (i == 1 ? 0.0 : 2.0), INSERT_VALUES));
    if (i < 2) PetscCall(MatSetValue(A, i, 1 - i, 1.0, INSERT_VALUES));
    if (i > 3 && i < 9) PetscCall(MatSetValue(A, i, i + 2, 0.5, INSERT_VALUES)); /* no tridiagonal systems */
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetBatchType(pc, PC_SPIKE_BATCH_NEVER)); /* which has no U whose growth is told */
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestSmall(PetscAbsReal(info.growth * 2.0 * e - 1.0), 1e-5, "error of the growth", "quality"));
  PetscCall(CheckView(pc, "growth max |u_ij| / max |a_ij| ", PETSC_TRUE, "quality"));
  PetscCall(SpikeTestSmall(info.inverse_error, 100 * PETSC_MACHINE_EPSILON / e, "||I - A M^-1||", "quality"));
  PetscCall(SpikeTestCheck((PetscBool)(info.inverse_error >= 0.0), "nothing estimated"));
  PetscCall(CheckView(pc, "estimate of ||I - A M^-1|| ", PETSC_TRUE, "quality"));
  PetscCall(MatScale(A, 2.0)); /* the factors are those of A / 2 */
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSpikeSetEstimate(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.inverse_error == -1.0 && info.growth == -1.0), "estimated all the same"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options, setters and getters */
static PetscErrorCode TestOptions(void)
{
  PC         pc;
  PetscInt   steps;
  PetscReal  tol;
  PetscBool  estimate;
  PetscBool3 direct;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "o_"));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeGetDirect(pc, &direct));
  PetscCall(PCSpikeGetMaxRefinements(pc, &steps));
  PetscCall(PCSpikeGetRefinementTolerance(pc, &tol));
  PetscCall(PCSpikeGetEstimate(pc, &estimate));
  PetscCall(SpikeTestCheck((PetscBool)(direct == PETSC_BOOL3_UNKNOWN && steps == PETSC_DECIDE &&
                                       tol == (PetscReal)PETSC_DECIDE && estimate),
                           "other defaults"));
  PetscCall(PetscOptionsInsertString(NULL, "-o_pc_spike_direct -o_pc_spike_max_refinements 7 "
                                           "-o_pc_spike_refinement_tol 0.25 -o_pc_spike_estimate 0"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSpikeGetDirect(pc, &direct));
  PetscCall(PCSpikeGetMaxRefinements(pc, &steps));
  PetscCall(PCSpikeGetRefinementTolerance(pc, &tol));
  PetscCall(PCSpikeGetEstimate(pc, &estimate));
  PetscCall(SpikeTestCheck((PetscBool)(direct == PETSC_BOOL3_TRUE && steps == 7 && tol == (PetscReal)0.25 && !estimate),
                           "options are not taken"));
  PetscCall(PetscOptionsInsertString(NULL, "-o_pc_spike_direct unknown -o_pc_spike_max_refinements -1 "
                                           "-o_pc_spike_refinement_tol -1"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSpikeGetDirect(pc, &direct));
  PetscCall(PCSpikeGetMaxRefinements(pc, &steps));
  PetscCall(PCSpikeGetRefinementTolerance(pc, &tol));
  PetscCall(SpikeTestCheck((PetscBool)(direct == PETSC_BOOL3_UNKNOWN && steps == PETSC_DECIDE &&
                                       tol == (PetscReal)PETSC_DECIDE),
                           "options do not take defaults"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool trial = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-trial", &trial, NULL));
  PetscCall(TestDirect(trial));
  if (!trial) {
    PetscCall(TestPrecisions(2, 3));
    PetscCall(TestPrecisions(1, 1));
    PetscCall(TestPrecisions(20, 11));
    PetscCall(TestExtremes());
    PetscCall(TestTruncated());
    PetscCall(TestExactCoupling(PETSC_FALSE));
    PetscCall(TestExactCoupling(PETSC_TRUE));
    PetscCall(TestProduct());
    PetscCall(TestMatrix());
    PetscCall(TestCorners());
    PetscCall(TestGrowth(40, 2, 3));
    PetscCall(TestGrowth(97, 13, 0));
    PetscCall(TestGrowth(61, 0, 17));
    PetscCall(TestGrowth(130, 20, 33));
    PetscCall(TestQuality());
    PetscCall(TestOptions());
  }
  PetscCall(SpikeTestEnd("spike_refine"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      output_file: output/spike_refine_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      # before 3.26 KSPPREONLY ends in an error there: MatSetInf() knew no dense matrix
      test:
         suffix: trial
         nsize: {{1 2 3}}
         requires: petsc326
         args: -trial
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse
      test:
         suffix: cuda_trial
         nsize: {{1 2}}
         requires: cuda gpurun petsc326
         args: -mat_type aijcusparse -trial

TEST*/
