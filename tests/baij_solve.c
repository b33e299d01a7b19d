/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "MATBAIJCUDA inside solvers: the same iterations as with MATBAIJ, with preconditioners of PETSc and "
           "ours, through changes of values and of the pattern; SNES with colors and TS on a DMDA.\n\n";

#include "baijcase.h"
#include <petscts.h>
#include <petscdmda.h>

/* Above rounding in single precision too */
#define RTOL ((PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-9))

/*
  The same solver for A and B, with values and then a pattern that change. PCGAMG has no MATBAIJ: it is made from a
  MATAIJ, and its smoothers and residuals on the finest level have A
*/
static PetscErrorCode TestSolver(const BaijCase *c, const char prefix[])
{
  PetscReal norm, error[2];
  PetscBool gamg, fields;
  Mat       M[2], P;
  KSP       ksp[2];
  Vec       b, x[2], r;
  char      where[128];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(BaijCreate(PETSC_COMM_WORLD, c, k ? MATBAIJ : MATBAIJCUDA, &M[k]));
    PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, M[k]));
    PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetOptionsPrefix(ksp[k], prefix));
    PetscCall(KSPSetTolerances(ksp[k], RTOL, 1e-50, 1e10, 300));
    PetscCall(KSPSetFromOptions(ksp[k]));
  }
  PetscCall(PetscStrcmp(prefix, "gamg_", &gamg));
  PetscCall(PetscStrcmp(prefix, "fieldsplit_", &fields));
  PetscCall(MatCreateVecs(M[0], &b, &r));
  PetscCall(VecDuplicate(b, &x[0]));
  PetscCall(VecDuplicate(b, &x[1]));
  PetscCall(SpikeTestSetRandom(b, 9));
  for (PetscInt step = 0; step < 4; step++) {
    PetscInt           its[2];
    KSPConvergedReason reason[2];

    PetscCall(
      PetscSNPrintf(where, sizeof(where), "%s, blocks of %" PetscInt_FMT ", step %" PetscInt_FMT, prefix, c->bs, step));
    for (int k = 0; k < 2; k++) {
      if (step == 1) PetscCall(MatShift(M[k], 3.0));
      if (step == 2) PetscCall(BaijFill(c, 1, 2, PETSC_FALSE, INSERT_VALUES, M[k]));
      if (step == 3) PetscCall(BaijFill(c, 2, 3, PETSC_FALSE, ADD_VALUES, M[k]));
      if (step == 3) PetscCall(MatShift(M[k], 20.0));
      if (gamg || (fields && k)) PetscCall(MatConvert(M[k], MATAIJ, MAT_INITIAL_MATRIX, &P));
      else P = M[k];
      PetscCall(KSPSetOperators(ksp[k], fields ? P : M[k], P));
      if (P != M[k]) PetscCall(MatDestroy(&P));
      PetscCall(VecSet(x[k], 0.0));
      PetscCall(KSPSolve(ksp[k], b, x[k]));
      PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
      PetscCall(KSPGetConvergedReason(ksp[k], &reason[k]));
    }
    PetscCall(SpikeTestCheck((PetscBool)(reason[0] == reason[1] && PetscAbsInt(its[0] - its[1]) <= 1 + its[1] / 10),
                             "%s: %s after %" PetscInt_FMT ", %s after %" PetscInt_FMT, where,
                             KSPConvergedReasons[reason[0]], its[0], KSPConvergedReasons[reason[1]], its[1]));
    for (int k = 0; k < 2; k++) {
      PetscCall(MatMult(M[1], x[k], r));
      PetscCall(VecAXPY(r, -1.0, b));
      PetscCall(VecNorm(r, NORM_2, &error[k]));
    }
    PetscCall(VecNorm(b, NORM_2, &norm));
    /* methods that test a preconditioned norm may leave more, and leave as much with MATBAIJ */
    if (reason[1] > 0)
      PetscCall(SpikeTestSmall(error[0], PetscMax(10 * RTOL * norm, 1.1 * error[1]), "residual", where));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&M[k]));
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(VecDestroy(&x[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What changes values without MatSetValues(); M has those of another seed in the same pattern */
static const char *const changes[] = {"MatScale",      "MatDiagonalScale", "MatAXPY same",       "MatAXPY subset",
                                      "MatAXPY other", "MatZeroRows",      "MatZeroRows kept",   "MatCopy",
                                      "MatShift",      "MatConjugate",     "MatZeroRowsColumns", "MatZeroEntries",
                                      "MatRealPart"};

static PetscErrorCode Change(PetscInt what, Mat M, Mat A)
{
  const PetscBool kept = (PetscBool)(what == 6);
  PetscInt       *rows, begin, end, n = 0;
  Vec             l, r;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(PetscMalloc1(end - begin, &rows));
  for (PetscInt i = begin; i < end; i++)
    if (i % 5 == 0) rows[n++] = i;
  if (what == 0) PetscCall(MatScale(A, 4.0));
  if (what == 1) {
    PetscCall(MatCreateVecs(A, &r, &l));
    PetscCall(SpikeTestSetRandom(l, 31));
    PetscCall(SpikeTestSetRandom(r, 32));
    PetscCall(MatDiagonalScale(A, l, r));
    PetscCall(VecDestroy(&l));
    PetscCall(VecDestroy(&r));
  }
  if (what == 2) PetscCall(MatAXPY(A, 7.0, M, SAME_NONZERO_PATTERN));
  if (what == 3) PetscCall(MatAXPY(A, 7.0, M, SUBSET_NONZERO_PATTERN));
  if (what == 4) PetscCall(MatAXPY(A, 7.0, M, DIFFERENT_NONZERO_PATTERN));
  if (what == 5 || kept) {
    PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, kept));
    PetscCall(MatZeroRows(A, n, rows, 50.0, NULL, NULL));
  }
  if (what == 7) PetscCall(MatCopy(M, A, SAME_NONZERO_PATTERN));
  if (what == 8 || what == 11) {
    if (what == 11) PetscCall(MatZeroEntries(A));
    PetscCall(MatShift(A, 9.0));
  }
  if (what == 9) PetscCall(MatConjugate(A));
  if (what == 10) PetscCall(MatZeroRowsColumns(A, n, rows, 50.0, NULL, NULL));
  if (what == 12) PetscCall(MatRealPart(A));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A preconditioner that has seen the values of before is one that has not, of a MATBAIJ. PCBJACOBI asks for the diagonal
  part of the matrix
*/
static PetscErrorCode TestChanges(const BaijCase *c, PCType type)
{
  Mat  A, B, M;
  PC   pc, ref;
  Vec  b, x, y;
  char where[128];

  PetscFunctionBegin;
  for (PetscInt what = 0; what < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(changes); what++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, blocks of %" PetscInt_FMT, changes[what], c->bs));
    PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
    PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJ, &B));
    PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, A));
    PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, B));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(SpikeTestSetRandom(b, 9));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOptionsPrefix(pc, "changes_"));
    PetscCall(PCSetType(pc, type));
    PetscCall(PCSetFromOptions(pc));
    for (int again = 0; again < 2; again++) {
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSetUpOnBlocks(pc));
      PetscCall(PCApply(pc, b, x));
      PetscCall(MatMult(A, b, x));
      for (int k = 0; k < 2; k++) {
        PetscCall(BaijCreate(PETSC_COMM_WORLD, c, k ? MATBAIJ : MATBAIJCUDA, &M));
        PetscCall(BaijFill(c, 1, 2 + again, PETSC_FALSE, INSERT_VALUES, M));
        PetscCall(Change(what, M, k ? B : A));
        PetscCall(MatDestroy(&M));
      }
    }
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSetUpOnBlocks(pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &ref));
    PetscCall(PCSetOptionsPrefix(ref, "changes_"));
    PetscCall(PCSetType(ref, type));
    PetscCall(PCSetFromOptions(ref));
    PetscCall(PCSetOperators(ref, B, B));
    PetscCall(PCSetUp(ref));
    PetscCall(PCSetUpOnBlocks(ref));
    PetscCall(PCApply(ref, b, y));
    PetscCall(SpikeTestSame(x, y, PETSC_SQRT_MACHINE_EPSILON, type, where));
    PetscCall(PCDestroy(&pc));
    PetscCall(PCDestroy(&ref));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_t = Laplace(u) - u v v, v_t = 0.5 Laplace(v) + u v v - v + x, as F(u) = 0 and as the right-hand side of TS */
static PetscErrorCode Evaluate(DM da, Vec X, Vec F)
{
  Vec            local;
  DMDALocalInfo  info;
  PetscScalar ***x, ***f;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalVector(da, &local));
  PetscCall(DMGlobalToLocal(da, X, INSERT_VALUES, local));
  PetscCall(DMDAVecGetArrayDOFRead(da, local, &x));
  PetscCall(DMDAVecGetArrayDOF(da, F, &f));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscScalar u = x[j][i][0], v = x[j][i][1];

      for (int c = 0; c < 2; c++) {
        PetscScalar lap = 0.0;

        lap += (i ? x[j][i - 1][c] : 0.0) + (i < info.mx - 1 ? x[j][i + 1][c] : 0.0);
        lap += (j ? x[j - 1][i][c] : 0.0) + (j < info.my - 1 ? x[j + 1][i][c] : 0.0) - 4.0 * x[j][i][c];
        f[j][i][c] = (c ? 0.5 : 1.0) * lap + (c ? u * v * v - v + 0.1 * i : 1.0 - u * v * v);
      }
    }
  PetscCall(DMDAVecRestoreArrayDOF(da, F, &f));
  PetscCall(DMDAVecRestoreArrayDOFRead(da, local, &x));
  PetscCall(DMRestoreLocalVector(da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Function(SNES snes, Vec X, Vec F, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)snes;
  PetscCall(Evaluate((DM)ctx, X, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RHSFunction(TS ts, PetscReal t, Vec X, Vec F, PetscCtx ctx)
{
  PetscFunctionBegin;
  (void)ts;
  (void)t;
  PetscCall(Evaluate((DM)ctx, X, F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One Newton solve, or some time steps, with each type; values by colors and finite differences */
static PetscErrorCode TestNonlinear(PetscBool time, const char prefix[])
{
  const MatType types[] = {MATBAIJCUDA, MATBAIJ};
  PetscInt      its[2];
  PetscReal     norm, error;
  Vec           x[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    DM   da;
    SNES snes;
    TS   ts;
    Mat  A;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 12, 11,
                           PETSC_DECIDE, PETSC_DECIDE, 2, 1, NULL, NULL, &da));
    PetscCall(DMSetMatType(da, types[k]));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    if (!k) PetscCall(BaijIs(A, "DMCreateMatrix"));
    PetscCall(MatDestroy(&A));
    PetscCall(DMCreateGlobalVector(da, &x[k]));
    PetscCall(VecSet(x[k], 0.5));
    if (time) {
      PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
      PetscCall(TSSetDM(ts, da));
      PetscCall(TSSetRHSFunction(ts, NULL, RHSFunction, (void *)da));
      PetscCall(TSSetTimeStep(ts, 0.1));
      PetscCall(TSSetMaxSteps(ts, 4));
      PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
      PetscCall(TSSetOptionsPrefix(ts, prefix));
      PetscCall(TSSetFromOptions(ts));
      PetscCall(TSSolve(ts, x[k]));
      PetscCall(TSGetSNESIterations(ts, &its[k]));
      PetscCall(TSDestroy(&ts));
    } else {
      PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
      PetscCall(SNESSetDM(snes, da));
      PetscCall(SNESSetFunction(snes, NULL, Function, (void *)da));
      PetscCall(SNESSetOptionsPrefix(snes, prefix));
      PetscCall(SNESSetFromOptions(snes));
      PetscCall(SNESSolve(snes, NULL, x[k]));
      PetscCall(SNESGetIterationNumber(snes, &its[k]));
      PetscCall(SNESDestroy(&snes));
    }
    PetscCall(DMDestroy(&da));
  }
  PetscCall(SpikeTestCheck((PetscBool)(its[0] == its[1] && its[1] > 0),
                           "%s: %" PetscInt_FMT " and %" PetscInt_FMT " iterations", prefix, its[0], its[1]));
  PetscCall(VecNorm(x[1], NORM_2, &norm));
  PetscCall(VecAXPY(x[0], -1.0, x[1]));
  PetscCall(VecNorm(x[0], NORM_2, &error));
  PetscCall(SpikeTestSmall(error, 1e-4 * norm, "difference", prefix));
  PetscCall(VecDestroy(&x[0]));
  PetscCall(VecDestroy(&x[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const BaijCase    cases[]  = {{2, 40, 40, 4, 0}, {4, 31, 31, 6, 0}, {5, 12, 12, 3, 2}};
  const char *const prefix[] = {"none_",  "jacobi_", "pbjacobi_", "bjacobi_", "asm_", "sor_",       "blockilu_",
                                "spike_", "gamg_",   "fused_",    "bcgs_",    "idr_", "fieldsplit_"};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(cases); t++)
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(prefix); k++) PetscCall(TestSolver(&cases[t], prefix[k]));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(cases); t++) {
    PetscCall(TestChanges(&cases[t], PCBLOCKILU));
    PetscCall(TestChanges(&cases[t], PCBJACOBI));
  }
  PetscCall(TestNonlinear(PETSC_FALSE, "snes_"));
  PetscCall(TestNonlinear(PETSC_TRUE, "ts_"));
  PetscCall(SpikeTestEnd("baij_solve"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/baij_solve_1.out
      # several ranks may print "function name: ..." into one another
      filter: grep -v -e "name: [A-Z]" -e "function *$" -e MatILUFactorSymbolic_SeqBAIJ_ilu0
      args: -none_pc_type none -jacobi_pc_type jacobi -pbjacobi_pc_type pbjacobi -bjacobi_pc_type bjacobi
      args: -asm_pc_type asm -asm_sub_pc_type blockilu -sor_pc_type sor -blockilu_pc_type blockilu -spike_pc_type spike
      args: -gamg_pc_type gamg -gamg_pc_use_amat -gamg_pc_gamg_coarse_eq_limit 10 -gamg_mg_levels_pc_type jacobi
      args: -fused_ksp_type bcgsfused -fused_pc_type none
      args: -bcgs_ksp_type bcgsfused -bcgs_pc_type pbjacobi -idr_ksp_type idrfused -idr_pc_type blockilu
      args: -fieldsplit_pc_type fieldsplit -fieldsplit_pc_fieldsplit_type multiplicative
      args: -fieldsplit_fieldsplit_0_pc_type jacobi -changes_sub_pc_type blockilu
      args: -snes_pc_type blockilu -snes_snes_fd_color -ts_ts_type bdf -ts_pc_type pbjacobi -ts_snes_fd_color
      test:
         suffix: 1
         nsize: {{1 2 3}}
         args: -spike_host_baijcuda
      test:
         suffix: cuda
         nsize: {{1 3}}
         requires: cuda gpurun

TEST*/
