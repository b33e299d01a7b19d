/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_persistent.c: many iterations in one kernel against lockstep: the same solution, history, reason and restarts, bit
  for bit
*/
static char help[] = "Iterations of fused Krylov methods in one kernel against lockstep.\n\
  -large ny   the larger grids have 211 by ny points (300 on a device, else 3)\n\
  -form on|grid  the faster form of the kernel, or that on the whole device\n\n";

#include "ksptest.h"

static PetscBool persists = PETSC_FALSE; /* whether one kernel is expected */
static PetscEnum form     = (PetscEnum)KSP_FUSED_PERSISTENT_ON;

/* Two solvers of one kind on one matrix: [0] as it comes, [1] in lockstep */
typedef struct {
  Mat A;
  Vec x[2], b;
  KSP ksp[2];
} Pair;

static PetscErrorCode PairCreate(Mat A, PetscBool cg, PCType pctype, PCSide side, KSPNormType norm, Pair *p)
{
  PetscFunctionBegin;
  p->A = A;
  PetscCall(MatCreateVecs(A, &p->x[0], &p->b));
  PetscCall(VecDuplicate(p->x[0], &p->x[1]));
  PetscCall(SpikeTestSetRandom(p->b, 51));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, pctype, A, &p->ksp[k]));
    PetscCall(KSPSetPCSide(p->ksp[k], side));
    PetscCall(KSPSetNormType(p->ksp[k], norm));
    PetscCall(KSPSetResidualHistory(p->ksp[k], NULL, 4001, PETSC_TRUE));
    PetscCall(KSPFusedSetLockstep(p->ksp[k], (PetscBool)k));
    PetscCall(KSPFusedSetPersistent(p->ksp[k], (KSPFusedPersistentType)form));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairDestroy(Pair *p)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&p->ksp[k]));
    PetscCall(VecDestroy(&p->x[k]));
  }
  PetscCall(VecDestroy(&p->b));
  PetscCall(MatDestroy(&p->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its and reason: how both must end, -1 and 0 for any way */
static PetscErrorCode PairSolve(Pair *p, PetscInt its, KSPConvergedReason reason, const char where[])
{
  PetscInt           n, done[2], length[2];
  KSPConvergedReason reasons[2];
  KSPFusedInfo       info[2];
  const PetscReal   *history[2];
  const PetscScalar *x[2];
  PetscBool          same;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPSolve(p->ksp[k], p->b, p->x[k]));
    PetscCall(KSPGetConvergedReason(p->ksp[k], &reasons[k]));
    PetscCall(KSPGetIterationNumber(p->ksp[k], &done[k]));
    PetscCall(KSPGetResidualHistory(p->ksp[k], &history[k], &length[k]));
    PetscCall(KSPFusedGetInfo(p->ksp[k], &info[k]));
  }
  PetscCall(SpikeTestCheck((PetscBool)(reasons[0] == reasons[1] && done[0] == done[1]),
                           "%s: %s after %" PetscInt_FMT " iterations, in lockstep %s after %" PetscInt_FMT, where,
                           KSPConvergedReasons[reasons[0]], done[0], KSPConvergedReasons[reasons[1]], done[1]));
  PetscCall(SpikeTestCheck((PetscBool)(its < 0 || done[0] == its),
                           "%s: %" PetscInt_FMT " iterations, not %" PetscInt_FMT, where, done[0], its));
  PetscCall(SpikeTestCheck((PetscBool)(!reason || reasons[0] == reason), "%s: %s, not %s", where,
                           KSPConvergedReasons[reasons[0]], KSPConvergedReasons[reason]));
  PetscCall(SpikeTestCheck((PetscBool)(info[0].restarts == info[1].restarts),
                           "%s: %" PetscInt_FMT " restarts, in lockstep %" PetscInt_FMT, where, info[0].restarts,
                           info[1].restarts));
  PetscCall(SpikeTestCheck((PetscBool)(length[0] == length[1] && length[0] == done[0] + 1),
                           "%s: %" PetscInt_FMT " residuals, in lockstep %" PetscInt_FMT, where, length[0], length[1]));
  PetscCall(PetscMemcmp(history[0], history[1], PetscMin(length[0], length[1]) * sizeof(PetscReal), &same));
  PetscCall(SpikeTestCheck(same, "%s: the histories differ", where));
  PetscCall(VecGetLocalSize(p->x[0], &n));
  for (PetscInt k = 0; k < 2; k++) PetscCall(VecGetArrayRead(p->x[k], &x[k]));
  PetscCall(PetscMemcmp(x[0], x[1], n * sizeof(PetscScalar), &same));
  for (PetscInt k = 0; k < 2; k++) PetscCall(VecRestoreArrayRead(p->x[k], &x[k]));
  PetscCall(SpikeTestCheck(same, "%s: the solutions differ", where));
  PetscCall(SpikeTestCheck((PetscBool) !(info[0].cluster && form == (PetscEnum)KSP_FUSED_PERSISTENT_GRID),
                           "%s: one cluster of thread blocks, not the whole device", where));
  PetscCall(SpikeTestCheck((PetscBool)(info[0].persistent == (persists && info[0].copy ? done[0] : 0) &&
                                       !info[1].persistent && !(info[0].persistent && info[0].replayed)),
                           "%s: %" PetscInt_FMT " of %" PetscInt_FMT " iterations in one kernel, %" PetscInt_FMT
                           " replayed, in lockstep %" PetscInt_FMT,
                           where, info[0].persistent, done[0], info[0].replayed, info[1].persistent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairSetTolerances(Pair *p, PetscReal rtol, PetscInt its)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) PetscCall(KSPSetTolerances(p->ksp[k], rtol, 0.0, PETSC_CURRENT, its));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Numbers of iterations around those of a launch; one solver throughout, so that a solve begins where another has left
  its vectors
*/
static PetscErrorCode TestLengths(PetscBool cg, PetscInt nx, PetscInt ny, PCType pctype, PCSide side, KSPNormType norm,
                                  PetscBool symmetric)
{
  const PetscInt  lengths[] = {1, 2, 3, 254, 0, 255, 600};
  const PetscBool many      = (PetscBool)(nx * ny > 100); /* so many unknowns take more than the shortest numbers */
  Mat             A;
  Pair            p;
  KSPFusedInfo    info;
  char            where[128];

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, nx, ny, PETSC_DECIDE, symmetric ? 0.0 : 1e-6, &A));
  if (symmetric) {
#if PetscDefined(USE_COMPLEX)
    PetscCall(MatShift(A, PetscCMPLX(0.01, 0.05)));
#else
    PetscCall(MatShift(A, 0.01));
#endif
  }
  PetscCall(PairCreate(A, cg, pctype, side, norm, &p));
  for (PetscInt k = 0; symmetric && k < 2; k++) PetscCall(KSPCGSetType(p.ksp[k], KSP_CG_SYMMETRIC));
  for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(lengths); l++) {
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%s, %" PetscInt_FMT " by %" PetscInt_FMT ", %s, %s, %s, %s%" PetscInt_FMT " iterations",
                            cg ? "cg" : "bcgs", nx, ny, pctype, PCSides[side], KSPNormTypes[norm],
                            symmetric ? "symmetric, " : "", lengths[l]));
    PetscCall(PairSetTolerances(&p, 0.0, lengths[l]));
    PetscCall(PairSolve(&p, many && lengths[l] < 4 ? lengths[l] : -1,
                        many && lengths[l] < 4 ? KSP_DIVERGED_ITS : (KSPConvergedReason)0, where));
  }
  PetscCall(PairSetTolerances(&p, KSPTEST_RTOL, 4000));
  PetscCall(PairSolve(&p, -1, (KSPConvergedReason)0, where));
  for (PetscInt k = 0; k < 2; k++) PetscCall(KSPSetConvergenceTest(p.ksp[k], KSPConvergedSkip, NULL, NULL));
  PetscCall(PairSetTolerances(&p, 0.0, 11));
  PetscCall(PairSolve(&p, many ? 11 : -1, many ? KSP_CONVERGED_ITS : (KSPConvergedReason)0, where));
  PetscCall(KSPFusedGetInfo(p.ksp[0], &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.copy || !persists), "%s: copy %d", where, info.copy));
  PetscCall(PairDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values, preconditioner and right-hand side change; guesses; converged at iteration 0 and after a least number of
  iterations
*/
static PetscErrorCode TestChanges(PetscBool cg, PCType pctype, PCSide side)
{
  SpikeTestBand band   = {500, 3, 2, 1.1, SPIKE_TEST_SLOW, 25};
  PetscInt      rows[] = {3};
  Mat           A;
  Pair          p;
  char          where[96];

  PetscFunctionBegin;
  if (cg) PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 60, 7, PETSC_DECIDE, 0.1, &A));
  else PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(
    PairCreate(A, cg, pctype, side, cg || side == PC_RIGHT ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED, &p));
#define WriteWhere(what) \
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s: %s", cg ? "cg" : "bcgs", pctype, PCSides[side], what))
  WriteWhere("first");
  PetscCall(PairSolve(&p, -1, KSP_CONVERGED_RTOL, where));
  WriteWhere("MatScale");
  PetscCall(MatScale(A, 3.0));
  PetscCall(PairSolve(&p, -1, KSP_CONVERGED_RTOL, where));
  WriteWhere("MatShift");
  PetscCall(MatShift(A, 0.5));
  PetscCall(PairSolve(&p, -1, KSP_CONVERGED_RTOL, where));
  WriteWhere("MatZeroRowsColumns");
  PetscCall(MatZeroRowsColumns(A, 1, rows, 2.0, NULL, NULL));
  PetscCall(PairSolve(&p, -1, KSP_CONVERGED_RTOL, where));
  WriteWhere("another right-hand side and a guess");
  PetscCall(SpikeTestSetRandom(p.b, 52));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPSetInitialGuessNonzero(p.ksp[k], PETSC_TRUE));
    PetscCall(SpikeTestSetRandom(p.x[k], 53));
  }
  PetscCall(PairSolve(&p, -1, KSP_CONVERGED_RTOL, where));
  WriteWhere("the guess is the solution");
  PetscCall(MatMult(A, p.x[0], p.b));
  PetscCall(PairSetTolerances(&p, 1e-3, 1000));
  PetscCall(PairSolve(&p, 0, KSP_CONVERGED_RTOL, where));
  WriteWhere("zero right-hand side");
  PetscCall(VecSet(p.b, 0.0));
  for (PetscInt k = 0; k < 2; k++) PetscCall(KSPSetInitialGuessNonzero(p.ksp[k], PETSC_FALSE));
  PetscCall(PairSolve(&p, 0, (KSPConvergedReason)0, where));
  WriteWhere("least number of iterations");
  PetscCall(SpikeTestSetRandom(p.b, 54));
  for (PetscInt k = 0; k < 2; k++) PetscCall(KSPSetMinimumIterations(p.ksp[k], 9));
  PetscCall(PairSetTolerances(&p, 0.5, 1000));
  PetscCall(PairSolve(&p, 9, KSP_CONVERGED_RTOL, where));
  WriteWhere("no norm");
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(KSPSetNormType(p.ksp[k], KSP_NORM_NONE));
    PetscCall(KSPSetConvergenceTest(p.ksp[k], KSPConvergedSkip, NULL, NULL));
  }
  PetscCall(PairSetTolerances(&p, 0.0, 5));
  PetscCall(PairSolve(&p, 5, KSP_CONVERGED_ITS, where));
#undef WriteWhere
  PetscCall(PairDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Breakdowns, new starts and convergence in the first iteration, on matrices of three rows; cg: which methods */
static PetscErrorCode TestSmall(const char name[], PetscBool cg, const PetscReal entries[9], const PetscReal b[3])
{
  Mat         A;
  Pair        p;
  PetscScalar a[9];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++)
    for (PetscInt j = 0; j < 3; j++) a[i + 3 * j] = entries[3 * i + j];
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, 3, a, PETSC_DECIDE, &A));
  PetscCall(PairCreate(A, cg, PCNONE, PC_LEFT, KSP_NORM_PRECONDITIONED, &p));
  for (PetscInt i = 0; i < 3; i++) PetscCall(VecSetValue(p.b, i, b[i], INSERT_VALUES));
  PetscCall(VecAssemblyBegin(p.b));
  PetscCall(VecAssemblyEnd(p.b));
  for (PetscInt its = 4000; its > 1; its -= 3998) {
    PetscCall(PairSetTolerances(&p, KSPTEST_RTOL, its));
    PetscCall(PairSolve(&p, -1, (KSPConvergedReason)0, name));
  }
  PetscCall(PairDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one kernel does not do is left to graphs, or launched step by step */
static PetscErrorCode TestOthers(PetscBool cg)
{
  PetscFunctionBegin;
  for (PetscInt way = 0; way < 4; way++) {
    Mat          A;
    Vec          x, b;
    KSP          ksp;
    KSPFusedInfo info;

    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 30, 7, PETSC_DECIDE, 0.1, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 55));
    PetscCall(KSPTestCreate(cg ? KSPCGFUSED : KSPBCGSFUSED, PCJACOBI, A, &ksp));
    if (way == 1) PetscCall(KSPFusedSetPersistent(ksp, KSP_FUSED_PERSISTENT_OFF));
    if (way == 2) PetscCall(KSPFusedSetReductions(ksp, KSP_FUSED_REDUCTIONS_MERGED));
    if (way == 3) PetscCall(KSPFusedSetResidualReplacement(ksp, 5));
    PetscCall(SpikeTestSolve(ksp, b, x, "another way"));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(SpikeTestCheck((PetscBool)((info.persistent > 0) == (persists && !way)),
                             "way %" PetscInt_FMT ": %" PetscInt_FMT " iterations in one kernel", way,
                             info.persistent));
    PetscCall(SpikeTestCheck((PetscBool)((info.replayed > 0) == (persists && (way == 1 || way == 2))),
                             "way %" PetscInt_FMT ": %" PetscInt_FMT " iterations replayed", way, info.replayed));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    PetscReal   a[9], b[3];
  } small[]                 = {{"zero operator", {0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3}},
                               {"skew operator", {0, 1, 2, -1, 0, 3, -2, -3, 0}, {1, 2, 3}},
                               {"singular operator", {1, 0, 0, 0, 2, 0, 0, 0, 0}, {1, 2, 3}},
                               {"indefinite", {1, 0, 0, 0, -5, 0, 0, 0, 2}, {1, 1, 1}},
                               {"negative", {-1, 0, 0, 0, -5, 0, 0, 0, -2}, {1, 1, 1}},
                               {"identity, one iteration", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 2, -1}},
                               {"zero on the diagonal", {0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0, 0}},
                               {"rho = 0 after one iteration", {0, 2, 0, 2, 1, 2, 2, 0, 0}, {1, -1, -1}},
                               {"rho = 0, another", {0, -1, 2, 1, 1, 1, -2, -1, 2}, {1, -1, -1}},
                               {"rp.v = 0 after one iteration", {1, 1, -1, -1, 0, -1, 1, 0, 2}, {0, 2, 2}}};
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  const PCType      pcs[]   = {PCNONE, PCJACOBI};
  PetscEnum         product = (PetscEnum)KSP_FUSED_SPMV_AUTO;
  PetscBool         device  = PETSC_FALSE;
  PetscInt          large;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-product", KSPFusedSpMVTypes, &product, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-form", KSPFusedPersistentTypes, &form, NULL));
  PetscCall(KSPTestOnDevice(&device));
  large    = device ? 300 : 3;
  persists = (PetscBool)(device && product != (PetscEnum)KSP_FUSED_SPMV_PETSC);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-large", &large, NULL));
  for (PetscInt p = 0; p < 2; p++) {
    for (PetscInt k = 0; k < 3; k++) PetscCall(TestLengths(PETSC_TRUE, 61, 7, pcs[p], PC_LEFT, norms[k], PETSC_FALSE));
    PetscCall(TestLengths(PETSC_TRUE, 61, 7, pcs[p], PC_LEFT, KSP_NORM_PRECONDITIONED, PETSC_TRUE));
    for (PetscInt k = 0; k < 2; k++) {
      PetscCall(TestLengths(PETSC_FALSE, 61, 7, pcs[p], k ? PC_RIGHT : PC_LEFT, norms[k], PETSC_FALSE));
      PetscCall(TestChanges(PETSC_FALSE, pcs[p], k ? PC_RIGHT : PC_LEFT));
    }
    PetscCall(TestChanges(PETSC_TRUE, pcs[p], PC_LEFT));
  }
  for (PetscInt cg = 0; cg < 2; cg++) {
    /* more blocks than a device has multiprocessors; rows of many thread blocks of a cluster, an odd number of them */
    PetscCall(TestLengths((PetscBool)cg, 211, large, PCJACOBI, PC_LEFT, KSP_NORM_PRECONDITIONED, PETSC_FALSE));
    PetscCall(TestLengths((PetscBool)cg, 211, device ? 37 : 3, PCJACOBI, cg ? PC_LEFT : PC_RIGHT,
                          KSP_NORM_UNPRECONDITIONED, PETSC_FALSE));
    PetscCall(TestLengths((PetscBool)cg, 1, 1, PCNONE, PC_LEFT, KSP_NORM_PRECONDITIONED, PETSC_FALSE));
    PetscCall(TestOthers((PetscBool)cg));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(small); k++)
      PetscCall(TestSmall(small[k].name, (PetscBool)cg, small[k].a, small[k].b));
  }
  PetscCall(SpikeTestEnd("ksp_persistent"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_persistent_1.out
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{petsc auto sell}}
      test:
         suffix: cuda_grid
         requires: cuda gpurun
         args: -mat_type aijcusparse -form grid

TEST*/
