/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "KSPMatSolve() by KSPPREONLY with PCSPIKE is checked and refined; applications in other methods "
                     "and in other preconditioners, and those of PCMatApply(), are not.\n\n";

#include "spiketest.h"

#define ROWS 120

static PetscErrorCode CreateSolver(Mat A, KSPType type, PCSpikeType coupling, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetTolerances(*ksp, 1e-5, PETSC_CURRENT, PETSC_CURRENT, 20));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(*pc, 4));
  PetscCall(PCSpikeSetType(*pc, coupling));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBlocks(Mat A, PetscInt ncols, Mat *B, Mat *X)
{
  PetscInt     n, start, lda;
  PetscScalar *b;
  VecType      type;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, n, PETSC_DECIDE, ROWS, ncols, PETSC_DECIDE, NULL, B));
  PetscCall(MatDenseGetLDA(*B, &lda));
  PetscCall(MatDenseGetArrayWrite(*B, &b));
  for (PetscInt j = 0; j < ncols; j++)
    for (PetscInt i = 0; i < n; i++) b[i + j * lda] = SpikeTestScalar(7, start + i, j);
  PetscCall(MatDenseRestoreArrayWrite(*B, &b));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(*B, MAT_COPY_VALUES, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest ||B - op(A) X|| / ||B|| of a column */
static PetscErrorCode Residual(Mat A, PetscBool trans, Mat B, Mat X, PetscReal *most)
{
  Mat       R;
  PetscInt  ncols;
  PetscReal r[32], b[32];

  PetscFunctionBegin;
  PetscCall(MatGetSize(B, NULL, &ncols));
  if (trans) PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  else PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatAYPX(R, -1.0, B, SAME_NONZERO_PATTERN));
  PetscCall(MatGetColumnNorms(R, NORM_2, r));
  PetscCall(MatGetColumnNorms(B, NORM_2, b));
  *most = 0.0;
  for (PetscInt j = 0; j < ncols; j++) *most = PetscMax(*most, r[j] / b[j]);
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(KSP ksp, PetscBool trans, Mat B, Mat X)
{
  PetscFunctionBegin;
  if (trans) PetscCall(KSPMatSolveTranspose(ksp, B, X));
  else PetscCall(KSPMatSolve(ksp, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tips of spikes that are small, not rounding: truncated, one step of refinement; all columns, and in batches */
static PetscErrorCode TestRefined(void)
{
  const PetscReal tol     = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-9;
  const PetscInt  batch[] = {PETSC_DECIDE, 3, 7};
  SpikeTestBand   band    = {ROWS, 3, 2, 1.2, SPIKE_TEST_RANDOM, 4};
  Mat             A, B, X;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(CreateBlocks(A, 7, &B, &X));
  for (PetscInt t = 0; t < 6; t++) {
    const PetscBool    trans = (PetscBool)(t % 2);
    const PetscInt     calls = batch[t / 2] == 3 ? 3 : 1;
    KSP                ksp;
    PC                 pc;
    PCSpikeInfo        info;
    KSPConvergedReason reason;
    PetscReal          most;

    PetscCall(CreateSolver(A, KSPPREONLY, PC_SPIKE_TRUNCATED, &ksp, &pc));
    PetscCall(PCSpikeSetMaxRefinements(pc, 10));
    PetscCall(KSPSetMatSolveBatchSize(ksp, batch[t / 2]));
    for (PetscInt again = 1; again < 3; again++) {
      PetscCall(Solve(ksp, trans, B, X));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(Residual(A, trans, B, X, &most));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "KSPMatSolve ended with %s", KSPConvergedReasons[reason]));
      PetscCall(SpikeTestSmall(most, tol, "residual of KSPMatSolve by preonly", trans ? "transposed" : "plain"));
      PetscCall(SpikeTestCheck((PetscBool)(info.solves == again * calls),
                               "%" PetscInt_FMT " of %" PetscInt_FMT " solves were checked", info.solves,
                               again * calls));
      /* single precision has windows as exact as solves */
      PetscCall(
        SpikeTestCheck((PetscBool)(info.refinements > 0 || PetscDefined(USE_REAL_SINGLE)), "no step of refinement"));
    }
    /* PCMatApply() of the same preconditioner gives what the factors give */
    PetscCall(PCMatApply(pc, B, X));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.solves == 2 * calls), "PCMatApply() was checked"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spikes that do not fall, truncated: a failure that says so, with columns that nobody takes for solutions */
static PetscErrorCode TestFails(void)
{
  SpikeTestBand      band = {ROWS, 3, 2, 0.1, SPIKE_TEST_RANDOM, 4};
  Mat                A, B, X;
  KSP                ksp;
  PC                 pc;
  PCSpikeInfo        info;
  KSPConvergedReason reason;
  PetscReal          most;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(CreateBlocks(A, 5, &B, &X));
  PetscCall(CreateSolver(A, KSPPREONLY, PC_SPIKE_TRUNCATED, &ksp, &pc));
  for (PetscInt again = 1; again < 3; again++) {
    PetscCall(Solve(ksp, PETSC_FALSE, B, X));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), "a bad KSPMatSolve ended with %s",
                             KSPConvergedReasons[reason]));
    PetscCall(SpikeTestCheck((PetscBool)(info.unsolved == again), "%" PetscInt_FMT " unsolved", info.unsolved));
  }
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL)); /* the cause is gone */
  PetscCall(Solve(ksp, PETSC_FALSE, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(Residual(A, PETSC_FALSE, B, X, &most));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "the next KSPMatSolve ended with %s", KSPConvergedReasons[reason]));
  PetscCall(SpikeTestSmall(most, PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-8, "its residual", "full"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Applications inside of other methods and of other preconditioners: not checked, and no failure */
static PetscErrorCode TestInside(void)
{
  const char   *types[] = {KSPRICHARDSON, KSPGMRES, KSPBCGSFUSED, "inner"};
  SpikeTestBand band    = {ROWS, 3, 2, 0.6, SPIKE_TEST_RANDOM, 4};
  Mat           A, B, X;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(CreateBlocks(A, 5, &B, &X));
  for (PetscInt t = 0; t < 4; t++) {
    KSP         ksp, inner;
    PC          pc, outer;
    PCSpikeInfo info;

    if (t < 3) PetscCall(CreateSolver(A, types[t], PC_SPIKE_TRUNCATED, &ksp, &pc));
    else { /* KSPPREONLY as a part of PCKSP */
      PetscCall(CreateSolver(A, KSPRICHARDSON, PC_SPIKE_TRUNCATED, &ksp, &outer));
      PetscCall(PCSetType(outer, PCKSP));
      PetscCall(PCKSPGetKSP(outer, &inner));
      PetscCall(KSPSetType(inner, KSPPREONLY));
      PetscCall(KSPGetPC(inner, &pc));
      PetscCall(PCSetType(pc, PCSPIKE));
      PetscCall(PCSpikeSetLocalPartitions(pc, 4));
      PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    }
    PetscCall(Solve(ksp, PETSC_FALSE, B, X));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(!info.solves && !info.refinements),
                             "%s: %" PetscInt_FMT " applications were checked", types[t], info.solves));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two solvers in turns, one of which goes away after KSPSetUpOnBlocks() */
static PetscErrorCode TestTwo(void)
{
  SpikeTestBand band = {ROWS, 3, 2, 1.2, SPIKE_TEST_RANDOM, 4};
  Mat           A, B, X;
  KSP           one, two;
  PC            pc, other;
  PCSpikeInfo   info;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(CreateBlocks(A, 5, &B, &X));
  PetscCall(CreateSolver(A, KSPPREONLY, PC_SPIKE_TRUNCATED, &one, &pc));
  PetscCall(PCSpikeSetMaxRefinements(pc, 10));
  PetscCall(CreateSolver(A, KSPPREONLY, PC_SPIKE_TRUNCATED, &two, &other));
  PetscCall(KSPSetUp(two));
  PetscCall(KSPSetUpOnBlocks(two));
  PetscCall(Solve(one, PETSC_FALSE, B, X));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == 1), "%" PetscInt_FMT " solves, not 1", info.solves));
  PetscCall(KSPSetUpOnBlocks(two));
  PetscCall(KSPDestroy(&two));
  PetscCall(Solve(one, PETSC_FALSE, B, X));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.solves == 2), "%" PetscInt_FMT " solves, not 2", info.solves));
  PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_FALSE));
  PetscCall(Solve(one, PETSC_FALSE, B, X));
  PetscCall(PCSpikeGetInfo(pc, &info)); /* of a setup of its own, which the setter asks for */
  PetscCall(SpikeTestCheck((PetscBool)!info.solves, "PETSC_BOOL3_FALSE: %" PetscInt_FMT " solves", info.solves));
  PetscCall(KSPDestroy(&one));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool fails = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fails", &fails, NULL));
  if (fails) PetscCall(TestFails());
  else {
    PetscCall(TestRefined());
    PetscCall(TestInside());
    PetscCall(TestTwo());
  }
  PetscCall(SpikeTestEnd("spike_matsolve"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_matsolve_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: log
         nsize: 2
         args: -log_view :/dev/null
      # before 3.26 PETSc has no MatSetInf() of dense matrices, which it calls there
      test:
         suffix: fails
         nsize: {{1 2 3}}
         requires: petsc326
         args: -fails
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse
      test:
         suffix: cuda_fails
         nsize: {{1 2}}
         requires: cuda gpurun petsc326
         args: -mat_type aijcusparse -fails

TEST*/
