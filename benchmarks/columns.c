/* SPDX-License-Identifier: BSD-2-Clause */
/*
  columns.c: KSPMatSolve() of the fused Krylov methods, all columns together against one after the other and, with CG,
  as one block, in one run
*/
static char help[] = "Several right-hand sides at once against single solves.\n\
  -n n1,n2,...       grid points in each direction of the Poisson problem, with Jacobi (20,50)\n\
  -points 27|7       of its stencil (27)\n\
  -type t            bcgsfused, cgfused or idrfused; without it all\n\
  -rows N            rows of a random band, with SPIKE (200000), 0 for none\n\
  -half K, -dominance d  its half-bandwidth and diagonal dominance (32, 1)\n\
  -columns m1,m2,... right-hand sides (1,4,16,32)\n\
  -repeat k          pairs of solves; medians are shown (5)\n\
  -mat_type t        aij, aijcusparse\n\n";

#include "common/bandcase.h"
#include "common/poisson.h"

#define MOSTREPEAT 64

/* Seconds of one solve for all columns, their fewest and most iterations */
static PetscErrorCode Time(KSP ksp, Mat B, Mat X, KSPFusedMatSolveType type, double *seconds, PetscInt its[2],
                           PetscInt *failed)
{
  PetscLogDouble            t0, t1;
  PetscInt                  m;
  const PetscInt           *all;
  const KSPConvergedReason *reasons;

  PetscFunctionBegin;
  PetscCall(KSPFusedSetMatSolveType(ksp, type));
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  *seconds = t1 - t0;
  PetscCall(KSPFusedGetColumns(ksp, &m, &all, &reasons, NULL, NULL));
  its[0]  = PETSC_INT_MAX;
  its[1]  = 0;
  *failed = 0;
  for (PetscInt j = 0; j < m; j++) {
    its[0] = PetscMin(its[0], all[j]);
    its[1] = PetscMax(its[1], all[j]);
    *failed += reasons[j] < 0 ? 1 : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareWays(const char name[], Mat A, KSPType type, PCType pctype, PetscInt m, PetscInt repeat)
{
  const KSPFusedMatSolveType all[] = {KSP_FUSED_MATSOLVE_COLUMNS, KSP_FUSED_MATSOLVE_SINGLE, KSP_FUSED_MATSOLVE_BLOCK};

  KSP          ksp;
  PC           pc;
  Mat          B, X;
  Vec          v;
  VecType      vectype;
  PetscInt     n, its[3][2], failed[3], ways;
  double       t[3][MOSTREPEAT];
  PetscBool    cg;
  char         block[64] = "";
  PetscRandom  random;
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  ways = cg ? 3 : 2;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 2000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)A), vectype, n, PETSC_DECIDE, PETSC_DETERMINE, m,
                                      PETSC_DEFAULT, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecSetRandom(v, random));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  for (PetscInt k = -1; k < repeat; k++) { /* the first pair makes copies and memory */
    double seconds = 0.0;

    for (PetscInt way = 0; way < ways; way++) {
      PetscCall(Time(ksp, B, X, all[way], &seconds, its[way], &failed[way]));
      if (k >= 0) t[way][k] = seconds;
      if (!way) PetscCall(KSPFusedGetInfo(ksp, &info));
    }
  }
  {
    const double together = Median((int)repeat, t[0]), single = Median((int)repeat, t[1]);

    if (cg)
      PetscCall(PetscSNPrintf(block, sizeof(block), "%11.3f %7.2f  %4" PetscInt_FMT "-%-4" PetscInt_FMT "%s",
                              1e3 * Median((int)repeat, t[2]), together / Median((int)repeat, t[2]), its[2][0],
                              its[2][1], failed[2] ? " FAILED" : ""));
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)A),
                          "%-22s %-10s %-7s %3" PetscInt_FMT " %11.3f %11.3f %7.2f  %4" PetscInt_FMT "-%-4" PetscInt_FMT
                          " %4" PetscInt_FMT "-%-4" PetscInt_FMT " %" PetscInt_FMT "/%" PetscInt_FMT "  %s, %s  %s\n",
                          name, type, pctype, m, (double)(1e3 * together), (double)(1e3 * single),
                          (double)(single / together), its[0][0], its[0][1], its[1][0], its[1][1], failed[0], failed[1],
                          info.backend, KSPFusedSpMVTypes[info.product], block));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
  PetscInt sizes[16] = {20, 50}, columns[16] = {1, 4, 16, 32}, nsizes = 16, ncolumns = 16, rows = 200000, half = 32,
           repeat = 5, points = 27;
  PetscReal dominance = 1.0;
  char      type[64] = MATAIJ, name[64], only[64] = "";
  PetscBool set, skip;
  Mat       A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-columns", columns, &ncolumns, &set));
  if (!set) ncolumns = 4;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-half", &half, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-dominance", &dominance, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  repeat = PetscMax(1, PetscMin(repeat, MOSTREPEAT));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s; ms of a solve to 1e-8 for all columns, medians of %" PetscInt_FMT
                        "; ratio: one after the other / together; iterations together and single; failed columns of "
                        "both; block: ratio together / block, its iterations\n",
                        type, repeat));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-22s %-10s %-7s %3s %11s %11s %7s\n", "problem", "method", "pc", "m",
                        "together", "single", "ratio"));
  for (PetscInt k = 0; k < nsizes && sizes[k] > 0; k++) {
    PetscCall(Poisson(sizes[k], points, type, &A));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT " points, n %" PetscInt_FMT, points, sizes[k]));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
      PetscCall(PetscStrcmp(only, types[t], &skip));
      skip = (PetscBool)(only[0] && !skip);
      for (PetscInt m = 0; m < ncolumns && !skip; m++)
        PetscCall(CompareWays(name, A, types[t], PCJACOBI, columns[m], repeat));
    }
    PetscCall(MatDestroy(&A));
  }
  if (rows) {
    PetscCall(CreateBand(PETSC_COMM_WORLD, rows, half, dominance, &A));
    PetscCall(PetscSNPrintf(name, sizeof(name), "band %" PetscInt_FMT ", K %" PetscInt_FMT, rows, half));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t += 2) {
      PetscCall(PetscStrcmp(only, types[t], &skip));
      skip = (PetscBool)(only[0] && !skip);
      for (PetscInt m = 0; m < ncolumns && !skip; m++)
        PetscCall(CompareWays(name, A, types[t], PCSPIKE, columns[m], repeat));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
