/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_ranks.c: products of MATMPIAIJ in the fused Krylov methods by copies of its parts: beside those by MatMult(), with
  any ownership of rows, with changes between solves, and with random patterns
*/
static char help[] = "Fused Krylov methods on MATMPIAIJ: products by copies of its parts.\n\n";

#include "ksptest.h"

static const KSPType methods[] = {KSPCGFUSED, KSPBCGSFUSED, KSPIDRFUSED};

/* Ways to give n rows to the ranks: PETSc's, uneven, none on the first, none but on the last, none on odd ones */
#define OWNERSHIPS 5

static PetscInt Rows(PetscInt ownership, PetscInt n)
{
  PetscMPIInt rank, size;
  PetscInt    owners, left;

  PetscCallMPIAbort(PETSC_COMM_WORLD, MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPIAbort(PETSC_COMM_WORLD, MPI_Comm_size(PETSC_COMM_WORLD, &size));
  switch (ownership) {
  case 1: /* 1, 2, 3, ..., and the rest */
    left = n - size * (size - 1) / 2;
    return rank < size - 1 ? rank + 1 : left;
  case 2:
    if (size == 1) return n;
    return rank ? n / (size - 1) + (rank <= n % (size - 1) ? 1 : 0) : 0;
  case 3:
    return rank < size - 1 ? 0 : n;
  case 4:
    owners = (size + 1) / 2;
    return rank % 2 ? 0 : n / owners + (rank / 2 < n % owners ? 1 : 0);
  default:
    return PETSC_DECIDE;
  }
}

/*
  The product that a solve had; all ranks say the same about whether it was by a copy. A product of another matrix shows
  in new starts from the true residual, which is by MatMult(); in single precision rounding may bring one
*/
static PetscErrorCode CheckProduct(KSP ksp, KSPFusedSpMVType wanted, const char where[])
{
  KSPFusedInfo info;
  PetscMPIInt  some, all, copy;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetInfo(ksp, &info));
  copy = info.copy ? 1 : 0;
  PetscCallMPI(MPIU_Allreduce(&copy, &some, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(&copy, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCall(SpikeTestCheck((PetscBool)(some == all), "%s: a copy on some ranks", where));
  PetscCall(SpikeTestCheck((PetscBool)(info.restarts <= (PetscDefined(USE_REAL_SINGLE) ? 1 : 0)),
                           "%s: %" PetscInt_FMT " new starts", where, info.restarts));
  PetscCall(SpikeTestCheck((PetscBool)(copy == (info.product != KSP_FUSED_SPMV_PETSC)), "%s: copy %d, product %s",
                           where, (int)copy, KSPFusedSpMVTypes[info.product]));
  if (wanted == KSP_FUSED_SPMV_PETSC || wanted == KSP_FUSED_SPMV_DIA)
    PetscCall(SpikeTestCheck((PetscBool)(copy == (wanted == KSP_FUSED_SPMV_DIA)), "%s: copy %d, product %s", where,
                             (int)copy, KSPFusedSpMVTypes[info.product]));
  PetscCall(KSPTestBackend(ksp, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -product says, else `otherwise` */
static KSPFusedSpMVType TestProduct(KSPFusedSpMVType otherwise)
{
  PetscEnum product = (PetscEnum)otherwise;

  PetscCallAbort(PETSC_COMM_WORLD, PetscOptionsGetEnum(NULL, NULL, "-product", KSPFusedSpMVTypes, &product, NULL));
  return (KSPFusedSpMVType)product;
}

/*
  A solve by copies, twice, has the same bits, and as many iterations and the same solution as one by MatMult(). close:
  iterations of both forms differ by rounding alone. Where MatMult() on a device is taken in place of a copy, bits are
  those of cuSPARSE, whose default algorithm promises none
*/
static PetscErrorCode TestBeside(KSPType type, PCType pctype, PCSide side, KSPFusedReductions reductions, Mat A,
                                 const char name[])
{
  const KSPFusedSpMVType product = TestProduct(KSP_FUSED_SPMV_DIA), how[] = {product, product, KSP_FUSED_SPMV_PETSC};
  Vec                    b, x[3];
  PetscInt               its[3];
  PetscReal              difference;
  PetscBool              same = PETSC_TRUE, copied = PETSC_TRUE, device;
  KSPFusedInfo           info;
  char                   where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %s, %s", name, type, pctype, PCSides[side],
                          KSPFusedReductionsTypes[reductions]));
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(SpikeTestSetRandom(b, 31));
  for (int k = 0; k < 3; k++) {
    KSP ksp;

    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(KSPTestCreate(type, pctype, A, &ksp));
    PetscCall(KSPFusedSetSpMVType(ksp, how[k]));
    PetscCall(KSPFusedSetReductions(ksp, reductions));
    PetscCall(KSPSetPCSide(ksp, side));
    PetscCall(SpikeTestSolve(ksp, b, x[k], where));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(CheckProduct(ksp, how[k], where));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(KSPDestroy(&ksp));
    if (!k) copied = (PetscBool)(info.product != KSP_FUSED_SPMV_PETSC);
  }
  PetscCall(KSPTestMakesDeviceVecs(A, &device));
  if (copied || !device) PetscCall(VecEqual(x[0], x[1], &same));
  PetscCall(SpikeTestCheck((PetscBool)(same && its[0] == its[1]),
                           "%s: two solves differ, %" PetscInt_FMT " and %" PetscInt_FMT " iterations", where, its[0],
                           its[1]));
  PetscCall(
    SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[2]) <= (PetscDefined(USE_REAL_SINGLE) ? 3 : 1) + its[2] / 10),
                   "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " by MatMult()", where, its[0], its[2]));
  PetscCall(KSPTestDifference(x[0], x[2], &difference));
  PetscCall(SpikeTestSmall(difference, 1000 * KSPTEST_RTOL, "difference of the solutions", where));
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that need columns of others are in many groups of rows, or in few */
static PetscErrorCode TestOwnerships(void)
{
  const PCType pctypes[] = {PCNONE, PCJACOBI, PCBJACOBI};

  PetscFunctionBegin;
  for (PetscInt ownership = 0; ownership < OWNERSHIPS; ownership++) {
    for (PetscInt nx = 3; nx <= 60; nx += 57) { /* 2400 rows: groups of 512 of them need nothing */
      Mat  A;
      char name[64];

      PetscCall(PetscSNPrintf(name, sizeof(name), "ownership %" PetscInt_FMT ", nx %" PetscInt_FMT, ownership, nx));
      PetscCall(KSPTestGrid(PETSC_COMM_WORLD, nx, 40, Rows(ownership, 40 * nx), 2.0, &A));
      for (PetscInt m = 0; m < 3; m++) {
        for (PetscInt p = 0; p < 3; p++) {
          const PCSide side = m && p == 2 ? PC_RIGHT : PC_LEFT;

          if (p == 2 && ownership) continue; /* PCILU of no rows is PETSc's business */
          PetscCall(TestBeside(methods[m], pctypes[p], side, KSP_FUSED_REDUCTIONS_PLAIN, A, name));
          PetscCall(TestBeside(methods[m], pctypes[p], PC_LEFT, KSP_FUSED_REDUCTIONS_MERGED, A, name));
        }
      }
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n rows, each dominated by its diagonal, with entries in `each` more columns; local: of this rank alone */
static PetscErrorCode Scattered(PetscInt n, PetscInt nlocal, PetscInt each, PetscBool local, PetscInt seed, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscReal      sum   = 1.0;
    const PetscInt count = (PetscInt)((SpikeTestUniform(seed, i, -1) + 1.0) * (each + 1));

    for (PetscInt k = 0; k < count; k++) {
      const PetscReal u     = 0.5 * (SpikeTestUniform(seed + 1, i, k) + 1.0);
      const PetscInt  first = local ? begin : 0, last = local ? end : n,
                     j        = PetscMin(last - 1, first + (PetscInt)(u * (last - first)));
      const PetscScalar value = SpikeTestScalar(seed + 2, i, k);

      if (j == i) continue;
      sum += PetscAbsScalar(value);
      PetscCall(MatSetValue(*A, i, j, value, ADD_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, (1.0 + 0.5 * SpikeTestUniform(seed + 3, i, i)) * 2.0 * sum, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of any length with columns of any rank, beside a solution by LAPACK; 64 lanes' worth of columns in some */
static PetscErrorCode TestScattered(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 12; k++) {
    /* never 32 on a rank: with those PETSc's MatMult() on a busy GPU is wrong now and then (docs/open-points.md) */
    const PetscInt n = 21 + 4 * k, each = k % 4 == 3 ? n / 2 : 1 + k % 4;
    Mat            A;
    Vec            b, x, y;
    PetscReal      difference;
    char           name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "random pattern %" PetscInt_FMT, k));
    PetscCall(Scattered(n, Rows(k % OWNERSHIPS, n), each, (PetscBool)(k == 5), 100 + 7 * k, &A));
    for (PetscInt m = 1; m < 3; m++) {
      KSP ksp;

      PetscCall(TestBeside(methods[m], PCNONE, PC_LEFT, KSP_FUSED_REDUCTIONS_PLAIN, A, name));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(VecDuplicate(b, &y));
      PetscCall(SpikeTestSetRandom(b, 17 + k));
      PetscCall(KSPTestCreate(methods[m], PCJACOBI, A, &ksp));
      PetscCall(KSPFusedSetSpMVType(ksp, TestProduct(KSP_FUSED_SPMV_DIA)));
      PetscCall(SpikeTestSolve(ksp, b, x, name));
      PetscCall(KSPTestDense(A, PETSC_FALSE, b, y));
      PetscCall(KSPTestDifference(x, y, &difference));
      PetscCall(SpikeTestSmall(difference, 1000 * KSPTEST_RTOL, "difference from LAPACK", name));
      PetscCall(SpikeTestSolve(ksp, b, x, name)); /* goes on from the state of the first solve */
      PetscCall(KSPSolveTranspose(ksp, b, x));
      PetscCall(CheckProduct(ksp, KSP_FUSED_SPMV_PETSC, name));
      PetscCall(KSPTestDense(A, PETSC_TRUE, b, y));
      PetscCall(KSPTestDifference(x, y, &difference));
      PetscCall(SpikeTestSmall(difference, 1000 * KSPTEST_RTOL, "transposed, difference from LAPACK", name));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A = 8 I + a cyclic shift by half of the rows: on two ranks all but the diagonal is others'. Then the shift alone */
static PetscErrorCode TestShift(void)
{
  const PetscInt n = 24;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    Mat      A;
    PetscInt begin, end;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(MatSetUp(A));
    PetscCall(MatGetOwnershipRange(A, &begin, &end));
    for (PetscInt i = begin; i < end; i++) {
      if (!k) PetscCall(MatSetValue(A, i, i, 8.0, INSERT_VALUES));
      PetscCall(MatSetValue(A, i, (i + n / 2) % n, 1.0 + i % 3, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(TestBeside(KSPIDRFUSED, PCNONE, PC_LEFT, KSP_FUSED_REDUCTIONS_PLAIN, A, k ? "shift" : "shifted"));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that somebody has put in the place of PETSc's, twice that */
static PetscErrorCode (*theirs)(Mat, Vec, Vec);

static PetscErrorCode Twice(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*theirs)(A, x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver whose matrix gets other values and columns, also past the matrix, another product, and becomes another */
static PetscErrorCode TestChanges(KSPType type)
{
  const KSPFusedSpMVType product = TestProduct(KSP_FUSED_SPMV_DIA);
  PetscErrorCodeFn      *mult    = NULL;
  Mat                    A, B, C = NULL, part[2];
  Vec                    b, x;
  KSP                    ksp;
  PetscInt               begin, end;
  PetscMPIInt            rank, size;
  char                   where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 12, 40, PETSC_DECIDE, 2.0, &A));
  PetscCall(Scattered(480, Rows(1, 480), 3, PETSC_FALSE, 5, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(KSPTestCreate(type, PCNONE, A, &ksp));
  PetscCall(KSPFusedSetSpMVType(ksp, product));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt k = 0; k < 10; k++) {
    KSPFusedSpMVType wanted = product;

    PetscCall(PetscSNPrintf(where, sizeof(where), "%s, change %" PetscInt_FMT, type, k));
    if (k == 1) PetscCall(MatScale(A, 3.0));
    if (k == 2) PetscCall(MatShift(A, 2.0));
    if (k == 3) { /* new columns, of other ranks too, in one row */
      if (begin <= 100 && 100 < end) {
        PetscCall(MatSetValue(A, 100, 470, -0.25, ADD_VALUES));
        PetscCall(MatSetValue(A, 100, 5, -0.25, ADD_VALUES));
      }
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      if (begin <= 470 && 470 < end) PetscCall(MatSetValue(A, 470, 100, -0.25, ADD_VALUES));
      if (begin <= 5 && 5 < end) PetscCall(MatSetValue(A, 5, 100, -0.25, ADD_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    }
    if (k == 4 && size > 1) { /* couplings between ranks alone become half as large */
      PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &part[1], NULL));
      PetscCall(MatScale(part[1], 0.5));
    }
    if (k == 5) { /* those of the last rank alone stay as they are, in one object of all */
      if (size > 1) {
        PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], NULL));
        if (rank == size - 1) PetscCall(MatShift(part[0], 1.0));
      }
    }
    if (k == 6) {
      PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
      theirs = (PetscErrorCode(*)(Mat, Vec, Vec))mult;
      PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)Twice));
      wanted = KSP_FUSED_SPMV_PETSC;
    }
    if (k == 7) PetscCall(MatSetOperation(A, MATOP_MULT, mult));
    if (k == 8) {
      PetscCall(KSPReset(ksp));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
      PetscCall(MatCreateVecs(B, &x, &b));
      PetscCall(SpikeTestSetRandom(b, 6));
      PetscCall(KSPSetOperators(ksp, B, B));
      wanted = KSP_FUSED_SPMV_AUTO;         /* may have too many diagonals */
      if (!strcmp(type, KSPCGFUSED)) break; /* is for Hermitian matrices */
    }
    if (k == 9) {
      PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &C));
      PetscCall(MatScale(C, 0.1));
      PetscCall(KSPSetOperators(ksp, C, C));
      PetscCall(MatDestroy(&C));
      wanted = KSP_FUSED_SPMV_AUTO;
    }
    PetscCall(VecSet(x, 0.0));
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(CheckProduct(ksp, wanted, where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides between solves of one: PETSc's products, and the copy is there again */
static PetscErrorCode TestColumns(KSPType type)
{
  const KSPFusedSpMVType product = TestProduct(KSP_FUSED_SPMV_DIA);
  Mat                    A, B, X;
  Vec                    b, x, v;
  KSP                    ksp;
  PetscInt               n;
  PetscReal              difference;
  VecType                vectype;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 12, 20, PETSC_DECIDE, 2.0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 8));
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(VecGetType(b, &vectype));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, n, PETSC_DECIDE, 240, 3, PETSC_DECIDE, NULL, &B));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPTestCreate(type, PCNONE, A, &ksp));
  PetscCall(KSPFusedSetSpMVType(ksp, product));
  PetscCall(KSPSetMatSolveBatchSize(ksp, PETSC_DECIDE));
  PetscCall(SpikeTestSolve(ksp, b, x, type));
  PetscCall(CheckProduct(ksp, product, type));
  PetscCall(KSPMatSolve(ksp, B, X));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecRead(X, j, &v));
    PetscCall(KSPTestDifference(v, x, &difference));
    PetscCall(SpikeTestSmall(difference, 1000 * KSPTEST_RTOL, "column", type));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
  }
  PetscCall(MatScale(A, 2.0));
  PetscCall(VecSet(x, 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x, type));
  PetscCall(CheckProduct(ksp, product, type));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestOwnerships());
  PetscCall(TestScattered());
  PetscCall(TestShift());
  for (PetscInt m = 0; m < 3; m++) {
    PetscCall(TestChanges(methods[m]));
    PetscCall(TestColumns(methods[m]));
  }
  PetscCall(SpikeTestEnd("ksp_ranks"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_ranks_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: auto
         nsize: 4
         args: -product auto
      test:
         suffix: cuda
         nsize: {{1 2 3 5}}
         requires: cuda gpurun
         args: -mat_type aijcusparse
      test:
         suffix: cudaforms
         nsize: 4
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto sell}}

TEST*/
