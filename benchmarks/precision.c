/* SPDX-License-Identifier: BSD-2-Clause */
/*
  precision.c: time and iterations of the fused Krylov methods to a tolerance with the values of the matrix in double
  precision, in single precision and as bf16, in one run
*/
static char help[] = "Fused Krylov methods with the values of the matrix in lower precision.\n\
  -n n1,n2,...       grid points in each direction (30,60)\n\
  -stencil 27,7      points of the stencils\n\
  -contrast c        weights of the edges of the grid, random from 1 to c (100); 1: Poisson, exact in any precision\n\
  -wind w            edges in x have weights times 1 + w and 1 - w in the two directions (0)\n\
  -pc none,jacobi    preconditioners\n\
  -tol t             relative tolerance (1e-10)\n\
  -solves k          solves; the best is shown (3)\n\
  -bench_mat_type t  aij, aijcusparse, dia, diacuda\n\
  -band N,K,d        in place of grids a random band with PCSPIKE, a_ii = d times the sum of the others\n\n";

#include <petscspike.h>
#include "common/bandcase.h"
#include "common/poisson.h"
#include "common/residual.h"

/* Uniform in [0, 1), the same for both ends of an edge */
static PetscReal UniformEdge(PetscInt i, PetscInt j)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)PetscMin(i, j) + 1) +
                         0xD1B54A32D192ED03ULL * ((unsigned long long)PetscMax(i, j) + 1);

  for (int k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z ^= z >> 31;
  }
  return (PetscReal)((double)(z >> 40) / 16777216.0);
}

/*
  Poisson() with the weights of a graph in place of -1. The diagonal is the sum of all weights, those of edges that
  leave the grid are 1
*/
static PetscErrorCode Weigh(PetscInt n, PetscReal contrast, PetscReal wind, Mat A)
{
  const PetscInt *ai, *aj;
  PetscInt        N;
  PetscScalar    *aa;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &N, &ai, &aj, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "No row structure");
  PetscCall(MatSeqAIJGetArray(A, &aa));
  for (PetscInt i = 0; i < N; i++) {
    PetscScalar sum  = 0.0;
    PetscInt    diag = -1;

    for (PetscInt k = ai[i]; k < ai[i + 1]; k++) {
      const PetscInt j = aj[k];
      PetscReal      w = PetscPowReal(contrast, UniformEdge(i, j));

      if (j == i) {
        diag = k;
        sum += aa[k] - (PetscReal)(ai[i + 1] - ai[i] - 1);
        continue;
      }
      if (PetscAbsInt(j - i) == 1 && i / n == j / n) w *= j < i ? 1.0 + wind : 1.0 - wind;
      sum += w;
      aa[k] = -w;
    }
    aa[diag] = sum;
  }
  PetscCall(MatSeqAIJRestoreArray(A, &aa));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &N, &ai, &aj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A method in the three precisions; label and points stand before the lines */
static PetscErrorCode Method(Mat A, PetscInt label, PetscInt points, KSPType type, PCType pctype, PetscReal tol,
                             PetscInt solves)
{
  const char *const names[] = {"double", "single", "bf16"};
  PetscReal         seconds = 0.0;
  PetscInt          its     = 0;

  PetscFunctionBegin;
  for (int p = 0; p < 3; p++) {
    KSP                ksp;
    PC                 pc;
    Vec                x, b;
    PetscReal          best = PETSC_MAX_REAL, residual;
    PetscInt           k;
    KSPFusedInfo       info;
    KSPConvergedReason reason;

    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, type));
    PetscCall(KSPFusedSetPrecision(ksp, (KSPFusedPrecision)p));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, pctype));
    PetscCall(KSPSetTolerances(ksp, tol, PETSC_CURRENT, PETSC_CURRENT, 100000));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    for (PetscInt s = 0; s <= solves; s++) { /* the first one makes copies and graphs */
      PetscLogDouble t0, t1;

      PetscCall(Wait(PETSC_COMM_SELF, &t0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(Wait(PETSC_COMM_SELF, &t1));
      if (s || !solves) best = PetscMin(best, (PetscReal)(t1 - t0));
    }
    PetscCall(KSPGetIterationNumber(ksp, &k));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(GetResidual(A, b, x, &residual));
    if (!p) {
      seconds = best;
      its     = k;
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%4" PetscInt_FMT " %3" PetscInt_FMT " %-8s %-10s %-7s %6" PetscInt_FMT
                          " %6.3f %10.3f %6.3f %9.2e %4" PetscInt_FMT "  %s, %s %s%s, %s\n",
                          label, points, pctype, type, names[p], k, (double)k / PetscMax(1, its), (double)(1e3 * best),
                          (double)(best / seconds), (double)residual, info.replacements, info.backend,
                          KSPFusedSpMVTypes[info.product], names[info.precision], info.widened ? " (given up)" : "",
                          KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band with PCSPIKE: setups with new values of the same pattern, and solves. Rows: what -ksp_fused_precision makes of
  products and factors; and with factors by -pc_spike_precision, which the method leaves as they are
*/
static PetscErrorCode Band(MPI_Comm comm, MatType mattype, const PetscReal band[3], PetscReal tol, PetscInt solves)
{
  static const struct {
    KSPFusedPrecision   products;
    PetscBool           set;
    PetscSpikePrecision factors;
  } rows[]                     = {{KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, PETSC_SPIKE_PRECISION_DOUBLE},
                                  {KSP_FUSED_PRECISION_DOUBLE, PETSC_TRUE, PETSC_SPIKE_PRECISION_SINGLE},
                                  {KSP_FUSED_PRECISION_SINGLE, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                                  {KSP_FUSED_PRECISION_SINGLE, PETSC_FALSE, PETSC_SPIKE_PRECISION_SINGLE},
                                  {KSP_FUSED_PRECISION_AUTO, PETSC_FALSE, PETSC_SPIKE_PRECISION_SINGLE},
                                  {KSP_FUSED_PRECISION_BF16, PETSC_FALSE, PETSC_SPIKE_PRECISION_SINGLE},
                                  {KSP_FUSED_PRECISION_SINGLE, PETSC_TRUE, PETSC_SPIKE_PRECISION_BF16},
                                  {KSP_FUSED_PRECISION_BF16, PETSC_TRUE, PETSC_SPIKE_PRECISION_BF16}};
  const char *const products[] = {"double", "single", "bf16", "auto"}, *const factors[] = {"double", "single", "bf16"};
  const KSPType types[] = {KSPBCGSFUSED, KSPIDRFUSED};
  Mat           B, A;

  PetscFunctionBegin;
  PetscCall(CreateBand(comm, (PetscInt)band[0], (PetscInt)band[1], band[2], &B));
  PetscCall(MatConvert(B, mattype, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscPrintf(comm,
                        "band of %g rows, half-bandwidth %g, dominance %g, %s, spike, tolerance %g; setup: with new "
                        "values; ratios: to double precision\n%-10s %-7s %-9s %6s %10s %6s %10s %6s %6s %9s %4s\n",
                        (double)band[0], (double)band[1], (double)band[2], mattype, (double)tol, "method", "values",
                        "factors", "its", "setup", "ratio", "solve", "ratio", "both", "residual", "upd"));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscReal before[2] = {0.0, 0.0};

    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(rows); p++) {
      KSP                ksp;
      PC                 pc;
      Vec                x, b;
      PetscReal          best[2] = {PETSC_MAX_REAL, PETSC_MAX_REAL}, residual;
      PetscInt           its;
      PetscLogDouble     t0, t1, t2;
      KSPFusedInfo       info;
      KSPConvergedReason reason;

      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(VecSet(b, 1.0));
      PetscCall(KSPCreate(comm, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, types[t]));
      PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
      PetscCall(KSPFusedSetPrecision(ksp, rows[p].products));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCSPIKE));
      if (rows[p].set) PetscCall(PCSpikeSetPrecision(pc, rows[p].factors));
      PetscCall(KSPSetTolerances(ksp, tol, PETSC_CURRENT, PETSC_CURRENT, 10000));
      PetscCall(KSPSetFromOptions(ksp));
      for (PetscInt s = -2; s < 2 * solves; s++) { /* two setups, and two solves of the last values */
        if (s < 0 || s % 2 == 0) PetscCall(MatScale(A, -1.0));
        PetscCall(Wait(comm, &t0));
        PetscCall(KSPSetUp(ksp));
        PetscCall(Wait(comm, &t1));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(Wait(comm, &t2));
        if (s >= 0 && s % 2 == 0) best[0] = PetscMin(best[0], (PetscReal)(t1 - t0));
        if (s >= 0 && s % 2) best[1] = PetscMin(best[1], (PetscReal)(t2 - t1));
      }
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPFusedGetInfo(ksp, &info));
      PetscCall(GetResidual(A, b, x, &residual));
      if (!p)
        for (int k = 0; k < 2; k++) before[k] = best[k];
      PetscCall(PetscPrintf(comm,
                            "%-10s %-7s %-9s %6" PetscInt_FMT " %10.3f %6.3f %10.3f %6.3f %6.3f %9.2e %4" PetscInt_FMT
                            "  %s, %s %s%s, %s\n",
                            types[t], products[rows[p].products],
                            p && !rows[p].set ? "by itself" : factors[rows[p].factors], its, (double)(1e3 * best[0]),
                            (double)(best[0] / before[0]), (double)(1e3 * best[1]), (double)(best[1] / before[1]),
                            (double)((best[0] + best[1]) / (before[0] + before[1])), (double)residual,
                            info.replacements, info.backend, KSPFusedSpMVTypes[info.product], products[info.precision],
                            info.widened ? " (given up)" : "", KSPConvergedReasons[reason]));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[]   = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
  PetscInt      sizes[16] = {30, 60}, stencils[2] = {27, 7}, nsizes = 16, nstencils = 2, solves = 3, npcs = 8;
  PetscInt      nband = 3;
  PetscReal     tol = 1e-10, contrast = 100.0, wind = 0.0, band[3] = {1e6, 32.0, 1.0};
  char         *pcs[8], type[64] = MATAIJ;
  PetscBool     set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-stencil", stencils, &nstencils, &set));
  if (!set) nstencils = 2;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-wind", &wind, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &tol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCheck(solves >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-solves is at least 1");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-band", band, &nband, &set));
  if (set) {
    PetscCall(Band(PETSC_COMM_WORLD, type, band, tol, solves));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pc", pcs, &npcs, &set));
  if (!set) {
    npcs = 1;
    PetscCall(PetscStrallocpy(PCNONE, &pcs[0]));
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF,
                "%s, tolerance %g, weights 1 to %g, wind %g; ratios: to double precision; residual: ||b - A x|| "
                "/ ||b||; upd: times that it was replaced\n",
                type, (double)tol, (double)contrast, (double)wind));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4s %3s %-8s %-10s %-7s %6s %6s %10s %6s %9s %4s\n", "n", "pts", "pc",
                        "method", "values", "its", "ratio", "ms", "ratio", "residual", "upd"));
  for (PetscInt s = 0; s < nstencils; s++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat A, B;

      PetscCall(Poisson(sizes[k], stencils[s], MATAIJ, &B));
      if (contrast != 1.0 || wind != 0.0) PetscCall(Weigh(sizes[k], contrast, wind, B));
      PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
      PetscCall(MatDestroy(&B));
      for (PetscInt p = 0; p < npcs; p++)
        for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++)
          if (wind == 0.0 || t != 1) PetscCall(Method(A, sizes[k], stencils[s], types[t], pcs[p], tol, solves));
      PetscCall(MatDestroy(&A));
    }
  for (PetscInt p = 0; p < npcs; p++) PetscCall(PetscFree(pcs[p]));
  PetscCall(PetscFinalize());
  return 0;
}
