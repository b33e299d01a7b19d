/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "MatGetInertia() of MATSOLVERSPIKE beside the eigenvalues by LAPACK: random, singular and indefinite "
           "matrices, zero pivots, shuffled rows, new values, wrong input.\n\n";

#include "spiketest.h"

/* Eigenvalues of the Hermitian matrix a, which is lost */
static PetscErrorCode Eigenvalues(PetscInt n, PetscScalar *a, PetscReal *w)
{
  PetscBLASInt bn, lwork, info = 0;
  PetscScalar *work;
#if PetscDefined(USE_COMPLEX)
  PetscReal *rwork;
#endif

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBLASIntCast(n, &bn));
  lwork = 5 * bn;
  PetscCall(PetscMalloc1(lwork, &work));
#if PetscDefined(USE_COMPLEX)
  PetscCall(PetscMalloc1(3 * n, &rwork));
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("N", "L", &bn, a, &bn, w, work, &lwork, rwork, &info));
  PetscCall(PetscFree(rwork));
#else
  PetscCallBLAS("LAPACKsyev", LAPACKsyev_("N", "L", &bn, a, &bn, w, work, &lwork, &info));
#endif
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "syev: info %d", (int)info);
  PetscCall(PetscFree(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Factor(Mat A, MatFactorType type, Mat *F)
{
  MatFactorInfo info;

  PetscFunctionBegin;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatGetFactor(A, MATSOLVERSPIKE, type, F));
  if (type == MAT_FACTOR_LU) {
    PetscCall(MatLUFactorSymbolic(*F, A, NULL, NULL, &info));
    PetscCall(MatLUFactorNumeric(*F, A, &info));
  } else {
    PetscCall(MatCholeskyFactorSymbolic(*F, A, NULL, &info));
    PetscCall(MatCholeskyFactorNumeric(*F, A, &info));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Hermitian, of half-bandwidth K, with a diagonal that makes it indefinite; kind 1: zero diagonal; 2: rows that are
  zero, eigenvalues 0; 3: rows in a random order; 4: multiples of the unit matrix
*/
static void Fill(PetscInt n, PetscInt K, PetscInt kind, PetscInt seed, const PetscInt *order, PetscScalar *a)
{
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j <= i; j++) {
      const PetscInt p = PetscMax(order[i], order[j]), q = PetscMin(order[i], order[j]);
      PetscScalar    v = p - q > K ? 0.0 : SpikeTestScalar(seed, p, q);

      if (order[i] < order[j]) v = PetscConj(v);
      if (i == j) v = kind == 1 ? 0.0 : 2 * PetscRealPart(v);
      if (kind == 2 && (p % 5 == 0 || q % 5 == 0)) v = 0.0;
      if (kind == 4) v = i == j ? -3.0 : 0.0;
      a[i + j * n] = v;
      a[j + i * n] = PetscConj(v);
    }
}

static PetscErrorCode TestRandom(PetscInt cases)
{
  PetscInt indefinite = 0, zeros = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < cases; k++) {
    const PetscInt n = k < 4 ? k : 1 + (PetscInt)(40 * PetscAbsReal(SpikeTestUniform(5, k, 1))), K = k % 7,
                   kind  = k % 5;
    const char  *types[] = {MATAIJ, MATSBAIJ, MATBAIJ, MATDIA};
    PetscInt    *order, got[3], want[3] = {0, 0, 0};
    PetscScalar *a, *b;
    PetscReal   *w, most = 0.0, zero = (PetscDefined(USE_REAL_SINGLE) ? 30 : 1000) * PETSC_MACHINE_EPSILON;
    Mat          A, F;
    MatType      type = types[k % 4];

    PetscCall(PetscMalloc4(n, &order, n * n, &a, n * n, &b, n, &w));
    for (PetscInt i = 0; i < n; i++) order[i] = i;
    for (PetscInt i = n - 1; i > 0 && kind == 3; i--) {
      const PetscInt j = (PetscInt)((SpikeTestUniform(9 + k, i, 2) + 1.0) * 0.4999 * (PetscReal)(i + 1)), t = order[i];

      order[i] = order[j];
      order[j] = t;
    }
    Fill(n, K, kind, 20 + k, order, a);
    PetscCall(PetscArraycpy(b, a, n * n));
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
    PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
    if (!PetscDefined(USE_COMPLEX)) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    if (PetscDefined(USE_COMPLEX) && k % 4 == 1) type = MATAIJ; /* MATSBAIJ would be complex symmetric */
    if (k % 4 && n) PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
    PetscCall(Eigenvalues(n, b, w));
    for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsReal(w[i]));
    for (PetscInt i = 0; i < n; i++) want[PetscAbsReal(w[i]) <= zero * most ? 1 : w[i] < 0.0 ? 0 : 2]++;
    PetscCall(Factor(A, k % 3 ? MAT_FACTOR_CHOLESKY : MAT_FACTOR_LU, &F));
    PetscCall(MatGetInertia(F, &got[0], &got[1], &got[2]));
    PetscCall(SpikeTestCheck((PetscBool)(got[0] == want[0] && got[1] == want[1] && got[2] == want[2]),
                             "case %" PetscInt_FMT ", n %" PetscInt_FMT ", K %" PetscInt_FMT ", %s: %" PetscInt_FMT
                             ",%" PetscInt_FMT ",%" PetscInt_FMT ", not %" PetscInt_FMT ",%" PetscInt_FMT
                             ",%" PetscInt_FMT,
                             k, n, K, type, got[0], got[1], got[2], want[0], want[1], want[2]));
    if (want[0] && want[2]) indefinite++;
    if (want[1]) zeros++;
    PetscCall(MatDestroy(&F));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree4(order, a, b, w));
  }
  PetscCall(SpikeTestCheck((PetscBool)(2 * indefinite > cases && 10 * zeros > cases),
                           "%" PetscInt_FMT " were indefinite, %" PetscInt_FMT " singular", indefinite, zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2, -1: eigenvalues 2 - 2 cos(k pi / (n + 1)) are known, and their number below a shift; new values in one solver */
static PetscErrorCode TestSlices(void)
{
  const PetscInt n = 400;
  PetscInt       start, end, got[3];
  Mat            A, F;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - 1); j < PetscMin(n, i + 2); j++)
      PetscCall(MatSetValue(A, i, j, i == j ? 2.0 : -1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCCHOLESKY));
  PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  for (PetscInt k = 0; k < 5; k++) {
    const PetscReal shift = 0.1 + 0.85 * (PetscReal)k;
    PetscInt        below = 0;

    PetscCall(MatShift(A, k ? -0.85 : -0.1));
    for (PetscInt i = 1; i <= n; i++) below += 2 - 2 * PetscCosReal((PetscReal)i * PETSC_PI / (n + 1)) < shift;
    PetscCall(KSPSetOperators(ksp, A, A)); /* before 3.26 KSPSetUp() alone does not see new values */
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCFactorGetMatrix(pc, &F));
    PetscCall(MatGetInertia(F, &got[0], NULL, &got[2]));
    PetscCall(SpikeTestCheck((PetscBool)(got[0] == below && got[2] == n - below),
                             "%" PetscInt_FMT " eigenvalues below %g, not %" PetscInt_FMT, got[0], (double)shift,
                             below));
  }
  /* values that are not those of the factors; an unsymmetric matrix; NaN */
  for (PetscInt k = 0; k < 3; k++) {
    PetscErrorCode ierr;
    PetscScalar    nan = 0.0;

    nan /= 0.0;
    if (k == 0) PetscCall(MatShift(A, 1.0));
    else {
      if (start == 0 && end > 1) PetscCall(MatSetValue(A, 0, 1, k == 1 ? 5.0 : nan, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetUp(ksp));
    }
    PetscCall(PCFactorGetMatrix(pc, &F));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = MatGetInertia(F, &got[0], &got[1], &got[2]);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(ierr == (k == 0   ? PETSC_ERR_ARG_WRONGSTATE
                                                  : k == 1 ? PETSC_ERR_ARG_WRONG
                                                           : PETSC_ERR_FP)),
                             "wrong input %" PetscInt_FMT ": error %d", k, (int)ierr));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestRandom(120));
  PetscCall(TestSlices());
  PetscCall(SpikeTestEnd("spike_inertia"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_inertia_1.out
      nsize: {{1 2 3 5}}
      # an error leaves the memory of the caller that it ends
      args: -malloc_dump no
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
