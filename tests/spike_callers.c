/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE, PCBLOCKILU and MATSOLVERSPIKE as some programs call them: shuffled rows, one rank without "
           "small pivots, scaled rows, matrices that change their type, tiny right-hand sides, errors that "
           "are caught, setters that refuse, transposed matrices.\n\n";

#include "spiketest.h"

#define MAXETA (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-11)

/* A dominant band, of which entries may be missing: entry (i, j) at i + j n */
static void Band(PetscInt seed, PetscInt n, PetscInt kl, PetscInt ku, PetscReal kept, PetscScalar a[])
{
  for (PetscInt k = 0; k < n * n; k++) a[k] = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      if (j == i || 0.5 * (SpikeTestUniform(seed + 1000, i, j) + 1.0) > kept) continue;
      a[i + j * n] = SpikeTestScalar(seed, i, j);
      sum += PetscAbsScalar(a[i + j * n]);
    }
    a[i + i * n] = 1.3 * sum + 0.1;
  }
}

static PetscErrorCode BandMat(MPI_Comm comm, PetscInt seed, PetscInt n, PetscInt kl, PetscInt ku, Mat *A)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  Band(seed, n, kl, ku, 1.0, a);
  PetscCall(SpikeTestDenseMat(comm, n, a, PETSC_DECIDE, A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  ONCE,   /* KSPPREONLY with PCSPIKE            */
  SOLVER, /* KSPPREONLY with MATSOLVERSPIKE     */
  BLOCK,  /* KSPGMRES with PCBLOCKILU           */
  NWAYS
} Way;
static const char *const Ways[] = {"preonly, spike", "preonly, lu of spike", "gmres, blockilu"};

static PetscErrorCode Create(Mat A, Way way, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, way == BLOCK ? KSPGMRES : KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, way == ONCE ? PCSPIKE : way == SOLVER ? PCLU : PCBLOCKILU));
  if (way == SOLVER) PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-11, PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution is scale x, x random, to a backward error that is small */
static PetscErrorCode Solve(KSP ksp, Mat A, PetscReal scale, const char where[])
{
  KSPConvergedReason reason;
  PetscReal          r, x, b, norm, floor = 100 * PETSC_REAL_MIN * PETSC_MACHINE_EPSILON;
  Vec                rhs, sol, w;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &sol, &rhs));
  PetscCall(VecDuplicate(rhs, &w));
  PetscCall(SpikeTestSetRandom(sol, 5));
  PetscCall(VecScale(sol, scale));
  PetscCall(MatMult(A, sol, rhs));
  PetscCall(VecSet(sol, 0.0));
  PetscCall(KSPSolve(ksp, rhs, sol));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s", where, KSPConvergedReasons[reason]));
  PetscCall(MatMult(A, sol, w));
  PetscCall(VecAXPY(w, -1.0, rhs));
  PetscCall(VecNorm(w, NORM_INFINITY, &r));
  PetscCall(VecNorm(sol, NORM_INFINITY, &x));
  PetscCall(VecNorm(rhs, NORM_INFINITY, &b));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  if (!(r <= floor * norm)) PetscCall(SpikeTestSmall(r / (norm * x + b), MAXETA, "backward error", where));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&sol));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveOnce(Mat A, Way way, const char where[])
{
  char text[160];
  KSP  ksp;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %s", where, Ways[way]));
  PetscCall(Create(A, way, &ksp));
  PetscCall(Solve(ksp, A, 1.0, text));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in any order inside of each rank: a direct solve finds an order, and drops nothing */
static PetscErrorCode TestShuffled(PetscInt seed)
{
  const PetscInt n = 12 + SpikeTestPick(seed, -1, 0, 68), kl = SpikeTestPick(seed, -1, 1, 4),
                 ku = SpikeTestPick(seed, -1, 2, 4);
  const PetscInt *range;
  PetscInt       *place;
  PetscMPIInt     size;
  PetscScalar    *a, *b;
  Mat             A;
  char            where[80];

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n * n, &a, n * n, &b, n, &place));
  Band(seed, n, kl, ku, 0.4 + 0.3 * (SpikeTestUniform(seed, -1, 3) + 1.0), a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A)); /* for its ranges */
  PetscCall(MatGetOwnershipRanges(A, &range));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt i = 0; i < n; i++) place[i] = i;
  for (PetscMPIInt r = 0; r < size; r++)
    for (PetscInt i = range[r + 1] - 1; i > range[r]; i--) {
      const PetscInt j = range[r] + SpikeTestPick(seed, -1, 10 + i, i - range[r] + 1), keep = place[i];

      place[i] = place[j];
      place[j] = keep;
    }
  PetscCall(MatDestroy(&A));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) b[i + j * n] = a[place[i] + place[j] * n];
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, b, PETSC_DECIDE, &A));
  PetscCall(PetscSNPrintf(where, sizeof(where), "shuffled rows, seed %" PetscInt_FMT, seed));
  PetscCall(SolveOnce(A, ONCE, where));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree3(a, b, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros on the diagonal, but of the first three rows: on several ranks the first one has no small pivot */
static PetscErrorCode TestPairs(void)
{
  const PetscInt n = 9;
  PetscScalar    a[81];
  Mat            A;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n * n; k++) a[k] = 0.0;
  for (PetscInt i = 0; i < 3; i++) {
    a[i + i * n] = 5.0;
    if (i) a[i + (i - 1) * n] = a[i - 1 + i * n] = 1.0;
  }
  for (PetscInt i = 3; i + 1 < n; i += 2) {
    a[i + (i + 1) * n] = 2.0;
    a[i + 1 + i * n]   = 3.0;
  }
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
  PetscCall(SolveOnce(A, ONCE, "pairs of rows"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Some rows are 1e17 times as large as others: pivots of the others are small beside the norm, and right all the same.
  With several partitions spikes may be cut at what backward errors, in norms that know little of small rows, do not see
*/
static PetscErrorCode TestScaled(PetscInt seed)
{
  const PetscInt n = 40;
  PetscMPIInt    size;
  PetscScalar   *a;
  PetscReal      error;
  Vec            x, y, b;
  Mat            A;
  KSP            ksp;
  char           where[80];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(n * n, &a));
  for (int some = 0; some < 3; some++) {
    const PetscReal scale = (PetscDefined(USE_REAL_SINGLE) ? 1e8 : 1e17) * (1.0 + 0.37 * (PetscReal)seed);

    Band(seed, n, 2, 2, 1.0, a);
    for (PetscInt i = 0; i < n; i++)
      if (some == 0 ? i == 20 : some == 1 ? i == 0 || i == n - 1 : i < 20)
        for (PetscInt j = 0; j < n; j++) a[i + j * n] *= scale;
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, n, a, PETSC_DECIDE, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(SpikeTestSetRandom(x, 7));
    PetscCall(MatMult(A, x, b));
    PetscCall(Create(A, ONCE, &ksp));
    PetscCall(KSPSolve(ksp, b, y));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(VecNorm(y, NORM_INFINITY, &error));
    PetscCall(PetscSNPrintf(where, sizeof(where), "scaled rows %d, seed %" PetscInt_FMT, some, seed));
    PetscCall(SpikeTestSmall(error, PetscDefined(USE_REAL_SINGLE) ? 1e-2 : size > 1 ? 1e-3 : 1e-8, "error", where));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix that was of another type is not looked at when it is an AIJ again */
static PetscErrorCode TestConverted(Way way)
{
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(BandMat(PETSC_COMM_WORLD, 1, 40, 2, 2, &A));
  PetscCall(Create(A, way, &ksp));
  PetscCall(Solve(ksp, A, 1.0, "AIJ"));
  PetscCall(MatConvert(A, MATDIA, MAT_INPLACE_MATRIX, &A));
  PetscCall(Solve(ksp, A, 1.0, "as MATDIA"));
  PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(Solve(ksp, A, 1.0, "AIJ again"));
  PetscCall(MatScale(A, 1.25));
  PetscCall(Solve(ksp, A, 1.0, "AIJ again, scaled"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Right-hand sides down to the smallest numbers that there are; on a device in single precision, where products of
  cuSPARSE may take subnormal ones for 0, down to the smallest normal ones
*/
static PetscErrorCode TestTiny(Way way)
{
  PetscReal scale = PETSC_REAL_MIN * 1e6, least = 0.0;
  PetscBool device;
  Mat       A;
  KSP       ksp;
  char      where[80];

  PetscFunctionBegin;
  PetscCall(BandMat(PETSC_COMM_WORLD, 2, 40, 2, 2, &A));
  PetscCall(Create(A, way, &ksp));
  PetscCall(SpikeTestOnDevice(A, &device));
  if (device && PetscDefined(USE_REAL_SINGLE)) least = 10 * PETSC_REAL_MIN;
  for (; scale > least; scale *= 0.01) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "x of the size %g, %s", (double)scale, Ways[way]));
    PetscCall(Solve(ksp, A, scale, where));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solve ends with this error of PETSc, which is caught; 0: with none */
static PetscErrorCode SolveCaught(KSP ksp, Vec b, Vec x, PetscErrorCode wanted, const char where[])
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == wanted), "%s: error %d", where, (int)ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that wants errors for failures of a singular matrix, and catches them, solves again when it is good */
static PetscErrorCode TestCaught(PCType type)
{
  const PetscInt zero = 7; /* a row and a column of zeros */
  Mat            A, good;
  Vec            x, b;
  KSP            ksp;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(BandMat(PETSC_COMM_SELF, 3, 40, 2, 2, &good));
  PetscCall(MatDuplicate(good, MAT_COPY_VALUES, &A));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRowsColumns(A, 1, &zero, 0.0, NULL, NULL));
  PetscCall(Create(A, ONCE, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (int k = 0; k < 3; k++) PetscCall(SolveCaught(ksp, b, x, PETSC_ERR_MAT_LU_ZRPVT, type));
  PetscCall(MatCopy(good, A, SAME_NONZERO_PATTERN));
  for (int k = 0; k < 2; k++) PetscCall(SolveCaught(ksp, b, x, PETSC_SUCCESS, type));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a setter refuses is refused by each solve, not by the first one alone */
static PetscErrorCode TestRefused(void)
{
  Mat A;
  Vec x, b;
  KSP ksp;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(BandMat(PETSC_COMM_WORLD, 4, 10, 1, 1, &A));
  PetscCall(Create(A, SOLVER, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_POSITIVE_DEFINITE));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (int k = 0; k < 2; k++) PetscCall(SolveCaught(ksp, b, x, PETSC_ERR_SUP, "a shift that there is not"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that has no entries of its own, but a conversion */
static PetscErrorCode TestTransposed(Way way)
{
  PetscReal residual;
  Mat       A, T;
  Vec       x, b;
  KSP       ksp;

  PetscFunctionBegin;
  PetscCall(BandMat(PETSC_COMM_WORLD, 5, 30, 2, 1, &A));
  PetscCall(MatCreateTranspose(A, &T));
  PetscCall(MatCreateVecs(T, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  PetscCall(Create(T, way, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(SpikeTestResidual(T, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, 10 * MAXETA, "residual of a transposed matrix", Ways[way]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* seeds of which a direct solve on two or three ranks once dropped entries */
  const PetscInt seeds[] = {797, 860, 1368, 1674};
  PetscInt       first = 0, count = 100;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  for (PetscInt seed = first; seed < first + count; seed++) PetscCall(TestShuffled(seed));
  for (int k = 0; k < 4; k++) PetscCall(TestShuffled(seeds[k]));
  PetscCall(TestPairs());
  for (PetscInt seed = 0; seed < 10; seed++) PetscCall(TestScaled(seed));
  for (int way = 0; way < NWAYS; way++) {
    PetscCall(TestConverted((Way)way));
    PetscCall(TestTransposed((Way)way));
    if (way != BLOCK) PetscCall(TestTiny((Way)way));
  }
  PetscCall(TestCaught(PCSPIKE));
  PetscCall(TestCaught(PCBLOCKILU));
  PetscCall(TestRefused());
  PetscCall(SpikeTestEnd("spike_callers"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_callers_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
