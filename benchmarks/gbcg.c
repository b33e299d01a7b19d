/* SPDX-License-Identifier: BSD-2-Clause */
/* gbcg.c: products with MATAIJ, MATSELL, MATDIA and MATGRIDSTENCIL, and iterations of CG and BiCGStab on them, in turn in one run, on the 7- and 27-point Poisson problem on any number of ranks */
static char help[] = "Products and iterations by diagonals and by stencil against CSR.\n\
  -n n1,n2,...       grid points in each direction (32,64,100)\n\
  -stencil 7,27      points of the stencils\n\
  -bench_products k  products in a row (20)\n\
  -bench_its k       iterations of a solve (50)\n\
  -rounds k          rounds, in each of which all take their turn; medians are shown (7)\n\
Fraction: of the bandwidth of VecCopy() in the same run, on the bytes that a product has to move: its entries, with 4 bytes for a column in CSR, and x and y once. Ratio: time with AIJ / time.\n\n";

#include <petscspike.h>
#include <petscdmda.h>
#include <petsctime.h>

#define KINDS  5
#define ROUNDS 64

static const char *const kinds[KINDS] = {"aij", "sell", "dia", "stencil", "stencil, per point"};

static int Compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return x < y ? -1 : x > y;
}

static double Median(PetscInt n, double t[])
{
  qsort(t, (size_t)n, sizeof(*t), Compare);
  return t[n / 2];
}

static PetscErrorCode MakeMatrices(PetscInt n, PetscInt points, Mat A[])
{
  PetscMPIInt size;
  DM          da;
  MatStencil  o[27];
  PetscScalar v[27];
  Vec         coef[27];
  PetscInt    count = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, points == 7 ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, n, n, n, 1, 1, size, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  for (PetscInt k = -1; k < 2; k++)
    for (PetscInt j = -1; j < 2; j++)
      for (PetscInt i = -1; i < 2; i++) {
        if (points == 7 && PetscAbsInt(i) + PetscAbsInt(j) + PetscAbsInt(k) > 1) continue;
        o[count].i = i;
        o[count].j = j;
        o[count].k = k;
        o[count].c = 0;
        v[count++] = i || j || k ? -1.0 : points - 1.0;
      }
  PetscCall(MatCreateGridStencil(da, count, o, &A[3]));
  PetscCall(MatGridStencilSetCoefficients(A[3], v));
  PetscCall(MatCreateGridStencil(da, count, o, &A[4]));
  for (PetscInt s = 0; s < count; s++) {
    PetscCall(DMCreateGlobalVector(da, &coef[s]));
    PetscCall(VecSet(coef[s], v[s]));
  }
  PetscCall(MatGridStencilSetCoefficientVecs(A[4], coef));
  for (PetscInt s = 0; s < count; s++) PetscCall(VecDestroy(&coef[s]));
  PetscCall(MatConvert(A[3], MATAIJ, MAT_INITIAL_MATRIX, &A[0]));
  PetscCall(MatConvert(A[0], MATSELL, MAT_INITIAL_MATRIX, &A[1]));
  PetscCall(MatConvert(A[0], MATDIA, MAT_INITIAL_MATRIX, &A[2]));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of one of `repeat` products, or copies where there is no matrix */
static PetscErrorCode TimeProducts(Mat A, Vec x, Vec y, PetscInt repeat, double *t)
{
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t0));
  for (PetscInt k = 0; k < repeat; k++) {
    if (A) PetscCall(MatMult(A, x, y));
    else PetscCall(VecCopy(x, y));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&t1));
  *t = (double)(t1 - t0) / repeat;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Products(PetscInt n, PetscInt points, Mat A[], PetscInt repeat, PetscInt rounds)
{
  const double N = (double)n * n * n, entry = sizeof(PetscScalar);
  double       bytes[KINDS], t[KINDS + 1][ROUNDS], median[KINDS + 1];
  MatInfo      info;
  Vec          x, y, z;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A[0], MAT_GLOBAL_SUM, &info));
  bytes[0] = bytes[1] = (entry + 4) * info.nz_used + 2 * entry * N;
  bytes[2]            = entry * points * N + 2 * entry * N;
  bytes[3]            = 2 * entry * N;
  bytes[4]            = bytes[2];
  PetscCall(MatCreateVecs(A[0], &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecSet(y, 1.0));
  for (PetscInt r = 0; r < rounds; r++) {
    for (int k = 0; k < KINDS; k++) PetscCall(TimeProducts(A[k], x, y, repeat, &t[k][r]));
    PetscCall(TimeProducts(NULL, x, z, repeat, &t[KINDS][r]));
  }
  for (int k = 0; k <= KINDS; k++) median[k] = Median(rounds, t[k]);
  for (int k = 0; k < KINDS; k++)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4" PetscInt_FMT " %3" PetscInt_FMT " %-22s %-20s %9.4f %6.2f %7.2f\n", n, points, "product", kinds[k], 1e3 * median[k], median[0] / median[k], bytes[k] / median[k] / (2 * entry * N / median[KINDS])));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of PETSc's method on AIJ, and of the fused one on each matrix */
static PetscErrorCode Solves(PetscInt n, PetscInt points, Mat A[], KSPType petsc, KSPType fused, PetscInt its, PetscInt rounds)
{
  KSP    ksp[KINDS + 1];
  double t[KINDS + 1][ROUNDS], median[KINDS + 1];
  Vec    x, b;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (int k = 0; k <= KINDS; k++) {
    PC pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetType(ksp[k], k == KINDS ? petsc : fused));
    PetscCall(KSPSetOperators(ksp[k], A[k % KINDS], A[k % KINDS]));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetTolerances(ksp[k], 0.0, 0.0, PETSC_MAX_REAL, its));
    PetscCall(KSPSetConvergenceTest(ksp[k], KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetUp(ksp[k]));
  }
  for (PetscInt r = -1; r < rounds; r++)
    for (int k = 0; k <= KINDS; k++) {
      PetscLogDouble t0, t1;
      PetscInt       done;

      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      PetscCall(PetscTime(&t0));
      PetscCall(KSPSolve(ksp[k], b, x));
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      PetscCall(PetscTime(&t1));
      PetscCall(KSPGetIterationNumber(ksp[k], &done));
      if (r >= 0) t[k][r] = (double)(t1 - t0) / PetscMax(done, 1);
    }
  for (int k = 0; k <= KINDS; k++) median[k] = Median(rounds, t[k]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4" PetscInt_FMT " %3" PetscInt_FMT " %-22s %-20s %9.4f %6.2f\n", n, points, petsc, kinds[0], 1e3 * median[KINDS], 1.0));
  for (int k = 0; k < KINDS; k++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%4" PetscInt_FMT " %3" PetscInt_FMT " %-22s %-20s %9.4f %6.2f\n", n, points, fused, kinds[k], 1e3 * median[k], median[KINDS] / median[k]));
  for (int k = 0; k <= KINDS; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  sizes[16] = {32, 64, 100}, stencils[2] = {7, 27}, nsizes = 16, nstencils = 2, products = 20, its = 50, rounds = 7;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-stencil", stencils, &nstencils, &set));
  if (!set) nstencils = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_products", &products, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_its", &its, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
  PetscCheck(rounds >= 1 && rounds <= ROUNDS, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "1 to %d rounds", ROUNDS);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ms of a product or of an iteration, median\n%4s %3s %-22s %-20s %9s %6s %7s\n", "n", "pts", "what", "matrix", "ms", "ratio", "of copy"));
  for (PetscInt s = 0; s < nstencils; s++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat A[KINDS];

      PetscCheck(stencils[s] == 7 || stencils[s] == 27, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "Stencils have 7 or 27 points");
      PetscCall(MakeMatrices(sizes[k], stencils[s], A));
      PetscCall(Products(sizes[k], stencils[s], A, products, rounds));
      PetscCall(Solves(sizes[k], stencils[s], A, KSPCG, KSPCGFUSED, its, rounds));
      PetscCall(Solves(sizes[k], stencils[s], A, KSPBCGS, KSPBCGSFUSED, its, rounds));
      for (int m = 0; m < KINDS; m++) PetscCall(MatDestroy(&A[m]));
    }
  PetscCall(PetscFinalize());
  return 0;
}
