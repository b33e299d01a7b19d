/* SPDX-License-Identifier: BSD-2-Clause */
/* exact.c: PCSPIKE as a direct solver beside cuDSS, over half-bandwidths and dominances, in one run */
static char help
  [] = "Random bands: off-diagonals uniform in [-1, 1], a_ii = d * sum of the magnitudes of the others in the row.\n"
       "PCSPIKE with its defaults by KSPPREONLY, cuDSS with its defaults. ms, medians of -repeat:\n"
       "  setup     new values in the same pattern\n"
       "  solve     one right-hand side; that of PCSPIKE with the check of its backward error, and refinement\n"
       "  apply     one application of PCSPIKE, the mean of a train of ten\n"
       "  residual  ||b - A x||_2 / ||b||_2; backward: ||b - A x||_2 / (||A||_inf ||x||_2 + ||b||_2)\n"
       "  ratio     time of cuDSS over that of PCSPIKE, setup and solve together; then of the setups, of the solves\n"
       "  -n <200000> -k <1,2,...> -d <0.05,...> -repeat <5>\n"
       "  -cudss <libcudss.so.1>  cuDSS 1.0 (PyPI: nvidia-cudss-cu13), loaded at run time\n"
       "  -mat_type aijcusparse   needed for cuDSS; any option of PCSPIKE\n\n";

#include "common/cudss.h"

#define MAXCASES 32

/* PCSPIKE with KSPPREONLY: setups with new values, and solves */
static PetscErrorCode TimeDirect(KSP ksp, Mat A, Vec b, Vec x, int repeat, double *setup, double *solve)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0, t2 = 0.0;
  double         ts[MAXREPEAT], tx[MAXREPEAT];

  PetscFunctionBeginUser;
  for (int k = -2; k < repeat; k++) {
    PetscCall(MatScale(A, -1.0)); /* new values */
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t2));
    if (k >= 0) {
      ts[k] = 1e3 * (t1 - t0);
      tx[k] = 1e3 * (t2 - t1);
    }
  }
  *setup = Median(repeat, ts);
  *solve = Median(repeat, tx);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeApply(PC pc, Vec b, Vec x, int repeat, double *apply)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;
  double         t[MAXREPEAT];

  PetscFunctionBeginUser;
  for (int k = -1; k < repeat; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int i = 0; i < 10; i++) PetscCall(PCApply(pc, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (k >= 0) t[k] = 1e2 * (t1 - t0);
  }
  *apply = Median(repeat, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BackwardError(Mat A, Vec b, Vec x, PetscReal residual, PetscReal *backward)
{
  PetscReal a, nb, nx;

  PetscFunctionBeginUser;
  PetscCall(MatNorm(A, NORM_INFINITY, &a));
  PetscCall(VecNorm(b, NORM_2, &nb));
  PetscCall(VecNorm(x, NORM_2, &nx));
  *backward = residual / (a * nx / nb + 1.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All dominances of one half-bandwidth: the same pattern */
static PetscErrorCode Cases(PetscInt N, PetscInt K, PetscInt nd, const PetscReal d[], int repeat, const char file[])
{
  const char *const variants[] = {"block", "truncated", "full"};
  Mat               A;
  Vec               b, x, diagonal;
  KSP               ksp;
  PC                pc;
  CUDSSSolver       s;
  double            first = 0.0;
  PetscBool         peer  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, d[0], &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(ksp));
  if (*file) PetscCall(CUDSSBegin(file, A, b, x, &s, &first, &peer));
  for (PetscInt i = 0; i < nd; i++) {
    KSPConvergedReason reason;
    PCSpikeInfo        info;
    PetscReal          residual, backward, theirs = 0.0, back = 0.0;
    double             setup = 0.0, solve = 0.0, apply = 0.0, refactor = 0.0, other = 0.0;

    if (i) {
      PetscCall(VecScale(diagonal, d[i] / d[i - 1]));
      PetscCall(MatDiagonalSet(A, diagonal, INSERT_VALUES));
      PetscCall(MatMult(A, b, x));
    }
    PetscCall(TimeDirect(ksp, A, b, x, repeat, &setup, &solve));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(GetResidual(A, b, x, &residual));
    PetscCall(BackwardError(A, b, x, residual, &backward));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(TimeApply(pc, b, x, repeat, &apply));
    if (peer) {
      PetscCall(CUDSSTime(&s, repeat, A, x, &refactor, &other));
      PetscCall(GetResidual(A, b, x, &theirs));
      PetscCall(BackwardError(A, b, x, theirs, &back));
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%7" PetscInt_FMT " %4" PetscInt_FMT " %5g  %-9s %6" PetscInt_FMT
                          " %8.3f %8.4f %8.4f %8.1e %8.1e %3" PetscInt_FMT "%s",
                          N, K, (double)d[i], info.partitions > 1 ? variants[info.type] : "one", info.partitions, setup,
                          solve, apply, (double)residual, (double)backward, info.refinements, reason > 0 ? " " : "!"));
    if (peer)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.3f %8.4f %8.1e %8.1e  %6.1f %6.1f %6.1f", refactor, other,
                            (double)theirs, (double)back, (refactor + other) / (setup + solve), refactor / setup,
                            other / solve));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  }
  if (peer) PetscCall(CUDSSEnd(&s));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n = 200000, k[MAXCASES] = {1, 2, 4, 8, 16, 32, 50, 100, 200}, nk = 9, nd = 5, repeat = 5, count;
  PetscReal d[MAXCASES] = {0.05, 0.1, 0.2, 0.5, 1.0};
  PetscBool set;
  char      file[PETSC_MAX_PATH_LEN] = "";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  repeat = PetscMax(1, PetscMin(repeat, MAXREPEAT));
  count  = MAXCASES;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-k", k, &count, &set));
  if (set) nk = count;
  count = MAXCASES;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-d", d, &count, &set));
  if (set) nd = count;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-cudss", file, sizeof(file), NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "                  PCSPIKE%60s%s\n", "", *file ? "  cuDSS" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "      N    K     d  coupling   parts    setup    solve    apply residual backward ref%s\n",
                        *file ? "     setup    solve residual backward   ratio  setup  solve" : ""));
  for (PetscInt i = 0; i < nk; i++) PetscCall(Cases(n, k[i], nd, d, (int)repeat, file));
  PetscCall(PetscFinalize());
  return 0;
}
