/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "MATDIA beside MATAIJ in what PETSc does with its copy: factors, orderings, products.\n\n";

#include "diacase.h"
#include <petscdmda.h>
#include <petscksp.h>

/* Values of a 9-point stencil with `dof` unknowns at each point; rows of a point are equal in pattern: inodes */
static PetscErrorCode Fill(DM da, PetscInt seed, Mat A)
{
  PetscInt i0, j0, m, n, M, N, dof;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &i0, &j0, NULL, &m, &n, NULL));
  PetscCall(DMDAGetInfo(da, NULL, &M, &N, NULL, NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt j = j0; j < j0 + n; j++)
    for (PetscInt i = i0; i < i0 + m; i++)
      for (PetscInt c = 0; c < dof; c++)
        for (PetscInt k = PetscMax(j - 1, 0); k <= PetscMin(j + 1, N - 1); k++)
          for (PetscInt l = PetscMax(i - 1, 0); l <= PetscMin(i + 1, M - 1); l++)
            for (PetscInt d = 0; d < dof; d++) {
              const PetscInt r = (j * M + i) * dof + c, s = (k * M + l) * dof + d;
              MatStencil     row = {0}, col = {0};
              PetscScalar    v = r == s ? 12.0 * dof : SpikeTestScalar(seed, PetscMin(r, s), PetscMax(r, s));

              row.i = i;
              row.j = j;
              row.c = c;
              col.i = l;
              col.j = k;
              col.c = d;
              if (r > s) v = PetscConj(v); /* Hermitian, for Cholesky */
              PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
            }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M[0] MATDIA, M[1] MATAIJ */
static PetscErrorCode Matrices(MPI_Comm comm, PetscInt dof, DM da[2], Mat M[2])
{
  const MatType types[] = {SpikeTestDiaType(), MATAIJ};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 7, 9, 1, size, dof, 1, NULL,
                           NULL, &da[k]));
    PetscCall(DMSetMatType(da[k], types[k]));
    PetscCall(DMSetUp(da[k]));
    PetscCall(DMCreateMatrix(da[k], &M[k]));
    PetscCall(Fill(da[k], 1, M[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyBoth(DM da[2], Mat M[2])
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&M[k]));
    PetscCall(DMDestroy(&da[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  An application of both. That of multigrid has about ten products in a row, each with rounding of its own: the rows of
  MATMPIAIJ are summed in another order. Its prolongation is not smoothed: that takes an eigenvalue, which an estimate
  by few iterations knows to fewer digits
*/
static PetscErrorCode SameApplications(Vec x, Vec y, PetscBool multigrid, const char what[], const char where[])
{
  PetscReal diff, norm;

  PetscFunctionBegin;
  if (!multigrid) PetscCall(DiaSame(x, y, what, where));
  else {
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(VecAXPY(x, -1.0, y));
    PetscCall(VecNorm(x, NORM_INFINITY, &diff));
    PetscCall(SpikeTestSmall(diff, 10 * DIATEST_TOL * norm, what, where));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A preconditioner of both, before and after a change of values and one of the pattern; `type` NULL: what PETSc takes by
  default
*/
static PetscErrorCode TestPC(MPI_Comm comm, PetscInt dof, const char type[], const char prefix[])
{
  DM        da[2];
  Mat       M[2];
  PC        pc[2];
  Vec       x, y[2];
  PCType    is[2];
  char      where[64];
  PetscBool multigrid;

  PetscFunctionBegin;
  PetscCall(Matrices(comm, dof, da, M));
  PetscCall(MatCreateVecs(M[1], &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(SpikeTestSetRandom(x, 3));
  for (int k = 0; k < 2; k++) {
    PetscCall(PCCreate(comm, &pc[k]));
    PetscCall(PCSetOptionsPrefix(pc[k], prefix));
    PetscCall(PCSetOperators(pc[k], M[k], M[k]));
    if (type) PetscCall(PCSetType(pc[k], type));
    PetscCall(PCSetFromOptions(pc[k]));
  }
  for (PetscInt pass = 0; pass < 3; pass++) {
    for (int k = 0; k < 2; k++) {
      if (pass == 1) PetscCall(Fill(da[k], 2, M[k]));
      if (pass == 2) {
        PetscInt begin;

        PetscCall(MatGetOwnershipRange(M[k], &begin, NULL));
        PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
        PetscCall(MatSetOption(M[k], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(MatSetValue(M[k], begin, begin + 5, 0.25, INSERT_VALUES));
        PetscCall(MatSetValue(M[k], begin + 5, begin, 0.25, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(M[k], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(M[k], MAT_FINAL_ASSEMBLY));
      }
      PetscCall(PCSetOperators(pc[k], M[k], M[k]));
      PetscCall(PCSetUp(pc[k]));
      PetscCall(PCSetUpOnBlocks(pc[k]));
      PetscCall(PCApply(pc[k], x, y[k]));
      PetscCall(PCGetType(pc[k], &is[k]));
    }
    PetscCall(PetscSNPrintf(where, sizeof(where), "%s %s, %d unknowns, pass %d", is[0], prefix, (int)dof, (int)pass));
    PetscCall(SpikeTestCheck((PetscBool)!strcmp(is[0], is[1]), "%s: MATAIJ takes %s", where, is[1]));
    multigrid = (PetscBool)!strcmp(is[0], PCGAMG);
    PetscCall(SameApplications(y[0], y[1], multigrid, "application", where));
    for (int k = 0; k < 2; k++) PetscCall(PCApplyTranspose(pc[k], x, y[k]));
    PetscCall(SameApplications(y[0], y[1], multigrid, "transposed application", where));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(DestroyBoth(da, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of a MATDIA are asked for before it has values, and taken for the MATAIJ of the same entries after it */
static PetscErrorCode TestFactorFirst(void)
{
  DM            da[2];
  Mat           M[2], A, F;
  Vec           x, y, z;
  IS            row, col;
  MatFactorInfo info;
  PetscBool     available;

  PetscFunctionBegin;
  PetscCall(Matrices(PETSC_COMM_SELF, 2, da, M));
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, 126, 126, 126, 126));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetFactorAvailable(A, MATSOLVERPETSC, MAT_FACTOR_LU, &available));
  PetscCall(SpikeTestCheck(available, "PETSc's LU is not there for MATDIA"));
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &F));
  PetscCall(MatConvert(M[1], SpikeTestDiaType(), MAT_REUSE_MATRIX, &A));
  PetscCall(MatGetOrdering(A, MATORDERINGND, &row, &col));
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactorSymbolic(F, A, row, col, &info));
  PetscCall(MatCreateVecs(M[1], &x, &y));
  PetscCall(VecDuplicate(y, &z));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(MatLUFactorNumeric(F, pass ? M[1] : A, &info));
    PetscCall(SpikeTestSetRandom(x, 4));
    PetscCall(MatMult(M[1], x, y));
    PetscCall(MatSolve(F, y, z));
    PetscCall(DiaSame(z, x, "solve", pass ? "factors, then of a MATAIJ" : "factors that were asked for first"));
  }
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&A));
  PetscCall(DestroyBoth(da, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C[0] of MATDIA, C[1] of MATAIJ are the same operator */
static PetscErrorCode SameProducts(Mat C[2], const char where[])
{
  Vec x, y[2];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(C[1], &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(SpikeTestSetRandom(x, 9));
  for (int k = 0; k < 2; k++) PetscCall(MatMult(C[k], x, y[k]));
  PetscCall(DiaSame(y[0], y[1], "product", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y[0]));
  PetscCall(VecDestroy(&y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  AB_RIGHT,
  AB_LEFT,
  ATB,
  PTAP,
  RART,
  ABC,
  AA,
  /* those that PETSc changes into others; made anew for new values */
  AAT,
  A_RT,
  A_AT,
  PRODUCTS
} TestProduct;

/* A times another matrix, of which only products are known as its transpose */
static PetscErrorCode MultiplyTransposed(Mat A, Mat B, MatReuse reuse, Mat *C)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatCreateTranspose(B, &T));
  PetscCall(MatMatMult(A, T, reuse, PETSC_DETERMINE, C));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Multiply(TestProduct p, Mat A, Mat P, Mat R, MatReuse reuse, Mat *C)
{
  PetscFunctionBegin;
  switch (p) {
  case AB_RIGHT:
    PetscCall(MatMatMult(A, P, reuse, PETSC_DETERMINE, C));
    break;
  case AB_LEFT:
    PetscCall(MatMatMult(R, A, reuse, PETSC_DETERMINE, C));
    break;
  case ATB:
    PetscCall(MatTransposeMatMult(A, P, reuse, PETSC_DETERMINE, C));
    break;
  case PTAP:
    PetscCall(MatPtAP(A, P, reuse, PETSC_DETERMINE, C));
    break;
  case RART:
    PetscCall(MatRARt(A, R, reuse, PETSC_DETERMINE, C));
    break;
  case ABC:
    PetscCall(MatMatMatMult(R, A, P, reuse, PETSC_DETERMINE, C));
    break;
  case AAT:
    PetscCall(MatMatTransposeMult(A, A, reuse, PETSC_DETERMINE, C));
    break;
  case A_RT:
    PetscCall(MultiplyTransposed(A, R, reuse, C));
    break;
  case A_AT:
    PetscCall(MultiplyTransposed(A, A, reuse, C));
    break;
  default:
    PetscCall(MatMatMult(A, A, reuse, PETSC_DETERMINE, C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that is made again with another matrix: of the same pattern, and of another one, which is an error */
static PetscErrorCode TestReused(TestProduct p, Mat M[2], Mat P, Mat R, Mat C[2], const char where[])
{
  PetscInt       begin;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Mat other;

    PetscCall(MatDuplicate(M[k], MAT_COPY_VALUES, &other));
    PetscCall(MatScale(other, 3.0));
    PetscCall(Multiply(p, other, P, R, MAT_REUSE_MATRIX, &C[k]));
    PetscCall(MatDestroy(&other));
  }
  PetscCall(SameProducts(C, where));
  PetscCall(MatGetOwnershipRange(M[0], &begin, NULL));
  PetscCall(MatSetOption(M[0], MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(M[0], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(M[0], begin, begin + 7, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(M[0], MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(M[0], MAT_FINAL_ASSEMBLY));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Multiply(p, M[0], P, R, MAT_REUSE_MATRIX, &C[0]);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_WRONG), "%s with a new pattern: error %d", where, (int)ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with P and R = P^T in AIJ, and of A with itself; new values */
static PetscErrorCode TestProducts(void)
{
  DM          da[2];
  Mat         M[2], C[2], P, R;
  char        where[32];
  PetscMPIInt size;
  PetscInt    begin, end, m, n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int product = 0; product < PRODUCTS; product++) {
    const PetscBool anew = (PetscBool)(product >= AAT);
    PetscBool       device;

    if (product == RART && size > 1) continue; /* MATMPIAIJ has none */
    PetscCall(Matrices(PETSC_COMM_WORLD, 2, da, M));
    PetscCall(SpikeTestOnDevice(M[0], &device));
    if (anew && device) { /* those of MATAIJCUSPARSE: not compared here */
      PetscCall(DestroyBoth(da, M));
      continue;
    }
    PetscCall(MatGetSize(M[0], &m, NULL));
    PetscCall(MatGetLocalSize(M[0], &n, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, PETSC_DECIDE, m, m / 3, 2, NULL, 2, NULL, &P));
    PetscCall(MatGetOwnershipRange(P, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(P, i, i / 3, 1.0, INSERT_VALUES));
      PetscCall(MatSetValue(P, i, (i / 3 + 1) % (m / 3), SpikeTestScalar(6, i, 0), INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
    PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &R));
    PetscCall(PetscSNPrintf(where, sizeof(where), "product %d", product));
    for (PetscInt pass = 0; pass < 3; pass++) {
      for (int k = 0; k < 2; k++) {
        if (pass == 1) PetscCall(MatScale(M[k], -2.0));
        if (pass == 2) PetscCall(Fill(da[k], 7, M[k]));
        if (anew && pass) PetscCall(MatDestroy(&C[k]));
        PetscCall(
          Multiply((TestProduct)product, M[k], P, R, pass && !anew ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C[k]));
      }
      PetscCall(SameProducts(C, where));
    }
    if (!anew) PetscCall(TestReused((TestProduct)product, M, P, R, C, where));
    PetscCall(MatDestroy(&P));
    PetscCall(MatDestroy(&R));
    PetscCall(MatDestroy(&C[0]));
    PetscCall(MatDestroy(&C[1]));
    PetscCall(DestroyBoth(da, M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG finds no coarse grid where rows couple to nothing */
static PetscErrorCode TestUncoupled(void)
{
  KSPConvergedReason reason;
  PetscReal          norm;
  Vec                x, b;
  Mat                A;
  KSP                ksp;
  PC                 pc;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, 5, 5, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  for (PetscInt i = 0; i < 5; i++) PetscCall(MatSetValue(A, i, i, 2.0 + (PetscReal)i, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MatGetDiagonal(A, b));
  PetscCall(KSPSolve(ksp, b, x)); /* ones */
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecShift(x, -1.0));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "PCGAMG without couplings: %s", KSPConvergedReasons[reason]));
  PetscCall(SpikeTestSmall(norm, 100 * PETSC_MACHINE_EPSILON, "error", "PCGAMG without couplings"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry that the pattern refuses, set by the first rank: an error on all of them, and the other values stay */
static PetscErrorCode TestOutside(void)
{
  const PetscInt n = 24;
  PetscMPIInt    rank;
  PetscInt       begin, end;
  PetscReal      most;
  PetscErrorCode ierr;
  Vec            d;
  Mat            A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, SpikeTestDiaType()));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(n - 1, i + 1); j++)
      PetscCall(MatSetValue(A, i, j, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  ierr = PETSC_SUCCESS;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (!rank) ierr = MatSetValue(A, begin, begin + 5, 7.0, INSERT_VALUES);
  PetscCall(PetscPopErrorHandler());
  PetscCall(MatSetValue(A, begin + 1, begin + 1, 100.0, INSERT_VALUES));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (!ierr) ierr = MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  PetscCall(PetscPopErrorHandler());
  PetscCall(
    SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "outside of the pattern: error %d", (int)ierr));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecMax(d, NULL, &most));
  PetscCall(SpikeTestSmall(PetscAbsReal(most - 100), 0.0, "the other value", "outside of the pattern"));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt dof = 1; dof < 4; dof++) {
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCLU, "nd_"));
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCLU, "rcm_"));
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCILU, "natural_"));
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCILU, "rcm_"));
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCICC, "natural_"));
    PetscCall(TestPC(PETSC_COMM_SELF, dof, PCCHOLESKY, "nd_"));
    PetscCall(TestPC(PETSC_COMM_WORLD, dof, NULL, ""));
    PetscCall(TestPC(PETSC_COMM_WORLD, dof, PCASM, "natural_"));
    PetscCall(TestPC(PETSC_COMM_WORLD, dof, PCGAMG, "gamg_"));
    PetscCall(TestPC(PETSC_COMM_WORLD, dof, PCJACOBI, "rowl1_"));
    PetscCall(TestPC(PETSC_COMM_WORLD, dof, PCREDUNDANT, "nd_"));
  }
  PetscCall(TestFactorFirst());
  PetscCall(TestProducts());
  PetscCall(TestUncoupled());
  PetscCall(TestOutside());
  PetscCall(SpikeTestEnd("dia_byaij"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      args: -gamg_pc_gamg_coarse_eq_limit 10 -gamg_pc_gamg_agg_nsmooths 0
      args: -gamg_mg_levels_ksp_type richardson -rowl1_pc_jacobi_type rowl1
      args: -nd_pc_factor_mat_ordering_type nd -rcm_pc_factor_mat_ordering_type rcm -rcm_pc_factor_levels 1
      output_file: output/dia_byaij_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 3}}
         requires: cuda gpurun
         args: -dia_type diacuda

TEST*/
