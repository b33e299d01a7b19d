/* SPDX-License-Identifier: BSD-2-Clause */
/*
  krylov.c: iterations of KSPBCGSFUSED and KSPCGFUSED against KSPBCGS and KSPCG, in one run, on the 27- and the 7-point
  Poisson problem
*/
static char help[] = "Fused Krylov methods against KSPBCGS and KSPCG.\n\
  -n n1,n2,...       grid points in each direction (20,50,100)\n\
  -stencil 27,7      points of the stencils\n\
  -f FILE1,...       matrices, Matrix Market or PETSc's format, instead; n is the number of rows then\n\
  -pc none,jacobi    preconditioners\n\
  -bench_its k       iterations of a solve (100)\n\
  -solves k          solves; the first is shown apart, the others give their median (4)\n\
  -bench_mat_type t  aij, aijcusparse, sell, sellcuda\n\
  -forms grid,cluster    only the fused methods, plain, with each of these values of -ksp_fused_persistent\n\
A line \"PCApply\" has the milliseconds of one, of as many in a row as a solve has iterations; after a method, by\n\
 how much an iteration is above that without preconditioner and its\n\
PCApply: two with BiCGStab, one with CG.\n\
With -forms the ratio is that of the first form to this one.\n\n";

#include <petscspike.h>
#include "common/poisson.h"
#include "../tutorials/mmio.h"

/* Seconds an iteration: of the first solve and the median of the others. persistent: NULL, or whether in one kernel */
static PetscErrorCode Time(Mat A, KSPType type, PCType pctype, KSPFusedReductions form,
                           const KSPFusedPersistentType *persistent, PetscInt its, PetscInt solves, PetscReal *first,
                           PetscReal *median, char lockstep[])
{
  KSP          ksp;
  PC           pc;
  Vec          x, b;
  PetscInt     fewest;
  PetscBool    fused;
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetPCSide(ksp, PC_LEFT)); /* PETSc's default: the same for both */
  PetscCall(KSPFusedSetReductions(ksp, form));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(ksp, 0.0, 0.0, PETSC_MAX_REAL, its));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetFromOptions(ksp));
  if (persistent) PetscCall(KSPFusedSetPersistent(ksp, *persistent));
  PetscCall(KSPSetUp(ksp));
  PetscCall(TimeSolves(ksp, b, x, solves, first, median, &fewest));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &fused, KSPBCGSFUSED, KSPCGFUSED, ""));
  lockstep[0] = 0;
  if (fused) {
    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(PetscSNPrintf(lockstep, 48, "%s%s, %s%s", info.backend, info.lockstep ? "" : ", ahead",
                            KSPFusedSpMVTypes[info.product],
                            info.persistent && info.cluster ? ", cluster"
                            : info.persistent               ? ", persistent"
                            : info.replayed                 ? ", graph"
                                                            : ""));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of a PCApply(): the median of some rows of so many */
static PetscErrorCode TimeApply(Mat A, PCType pctype, PetscInt its, PetscInt rows, PetscReal *median)
{
  PC             pc;
  Vec            x, y;
  double         t[MOSTSOLVES];
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCheck(rows > 0 && rows <= MOSTSOLVES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-solves from 1 to %d",
             MOSTSOLVES);
  for (PetscInt k = -1; k < rows; k++) {
    PetscCall(PCApply(pc, x, y));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (PetscInt i = 0; i < its; i++) PetscCall(PCApply(pc, x, y));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (k >= 0) t[k] = (t1 - t0) / its;
  }
  *median = (PetscReal)Median((int)rows, t);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines of all methods with one matrix; label and points stand before them */
static PetscErrorCode RunMethods(Mat A, PetscInt label, PetscInt points, PetscInt npcs, char *const pcs[], PetscInt its,
                                 PetscInt solves)
{
  const struct {
    KSPType            type;
    KSPFusedReductions form;
    const char        *name;
    PetscInt           products, words; /* of an iteration; words of n, beside products and preconditioners */
  } method[] = {{KSPBCGS, KSP_FUSED_REDUCTIONS_PLAIN, "bcgs", 2, 31},
                {KSPBCGSFUSED, KSP_FUSED_REDUCTIONS_PLAIN, "bcgsfused", 2, 18},
                {KSPBCGSFUSED, KSP_FUSED_REDUCTIONS_MERGED, "bcgsfused merged", 2, 16},
                {KSPCG, KSP_FUSED_REDUCTIONS_PLAIN, "cg", 1, 16},
                {KSPCGFUSED, KSP_FUSED_REDUCTIONS_PLAIN, "cgfused", 1, 11},
                {KSPCGFUSED, KSP_FUSED_REDUCTIONS_MERGED, "cgfused merged", 1, 12}};
  /* seconds without a preconditioner, where that came before */
  PetscReal none[PETSC_STATIC_ARRAY_LENGTH(method)] = {0.0};
  MatInfo   matinfo;
  PetscInt  rows;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
  for (PetscInt p = 0; p < npcs; p++) {
    PetscReal petsc = 0.0, apply = 0.0;
    PetscBool isnone;

    PetscCall(PetscStrcmp(pcs[p], PCNONE, &isnone));
    if (!isnone) {
      PetscCall(TimeApply(A, pcs[p], its, solves, &apply));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT " %3" PetscInt_FMT " %-8s %-18s %9s %9.4f\n", label,
                            points, pcs[p], "PCApply", "", (double)(1e3 * apply)));
    }
    for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(method); m++) {
      const PetscReal n     = (PetscReal)rows,
                      bytes = method[m].products *
                                ((sizeof(PetscScalar) + sizeof(int)) * matinfo.nz_used + 2 * sizeof(PetscScalar) * n) +
                              sizeof(PetscScalar) * method[m].words * n;
      PetscReal first = 0.0, warm   = 0.0;
      char      info[48], above[32] = "";

      PetscCall(Time(A, method[m].type, pcs[p], method[m].form, NULL, its, solves, &first, &warm, info));
      if (m % 3 == 0) petsc = warm;
      if (isnone) none[m] = warm;
      else if (none[m] > 0.0)
        PetscCall(PetscSNPrintf(above, sizeof(above), "%+.1f %%",
                                (double)(100.0 * (warm / (none[m] + method[m].products * apply) - 1.0))));
      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%4" PetscInt_FMT " %3" PetscInt_FMT " %-8s %-18s %9.4f %9.4f %6.2f %7.0f  %s %s\n", label,
                            points, pcs[p], method[m].name, (double)(1e3 * first), (double)(1e3 * warm),
                            (double)(petsc / warm), (double)(1e-9 * bytes / warm), info, above));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines of the fused methods with each form of one kernel; ratio: the first form / this one */
static PetscErrorCode RunForms(Mat A, PetscInt label, PetscInt points, PetscInt npcs, char *const pcs[],
                               PetscInt nforms, char *const forms[], PetscInt its, PetscInt solves)
{
  const KSPType type[] = {KSPBCGSFUSED, KSPCGFUSED};

  PetscFunctionBeginUser;
  for (PetscInt p = 0; p < npcs; p++)
    for (PetscInt t = 0; t < 2; t++) {
      PetscReal of = 0.0;

      for (PetscInt k = 0; k < nforms; k++) {
        PetscReal first = 0.0, warm = 0.0;
        PetscEnum form;
        PetscBool found;
        char      info[48], name[32];

        PetscCall(PetscEnumFind(KSPFusedPersistentTypes, forms[k], &form, &found));
        PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_USER, "-forms: no value %s", forms[k]);
        PetscCall(Time(A, type[t], pcs[p], KSP_FUSED_REDUCTIONS_PLAIN, (KSPFusedPersistentType *)&form, its, solves,
                       &first, &warm, info));
        if (!k) of = warm;
        PetscCall(PetscSNPrintf(name, sizeof(name), "%s %s", type[t], forms[k]));
        PetscCall(PetscPrintf(PETSC_COMM_SELF,
                              "%4" PetscInt_FMT " %3" PetscInt_FMT " %-8s %-18s %9.4f %9.4f %6.2f %7s  %s\n", label,
                              points, pcs[p], name, (double)(1e3 * first), (double)(1e3 * warm), (double)(of / warm),
                              "", info));
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[16] = {20, 50, 100}, stencils[2] = {27, 7}, nsizes = 16, nstencils = 2, its = 100, solves = 4,
           npcs = 8, nfiles = 16, nforms = 4;
  char     *pcs[8], *files[16], *forms[4], type[64] = MATAIJ;
  PetscBool set, setforms;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-stencil", stencils, &nstencils, &set));
  if (!set) nstencils = 2;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-f", files, &nfiles, &set));
  if (set) nstencils = 0;
  else nfiles = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_its", &its, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pc", pcs, &npcs, &set));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-forms", forms, &nforms, &setforms));
  if (!setforms) nforms = 0;
  if (!set) {
    npcs = 1;
    PetscCall(PetscStrallocpy(PCNONE, &pcs[0]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s; ms an iteration, first solve and median of the others; ratio: PETSc's method / this one; "
                        "GB/s: 12 bytes an entry (by diagonals it takes 8), vectors by their budget\n",
                        type));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4s %3s %-8s %-18s %9s %9s %6s %7s\n", "n", "pts", "pc", "method", "first",
                        "warm", "ratio", "GB/s"));
  for (PetscInt k = 0; k < nfiles; k++) {
    Mat      A, B;
    PetscInt rows;

    PetscCall(MatLoadFile(PETSC_COMM_SELF, files[k], &B));
    PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
    PetscCall(MatDestroy(&B));
    PetscCall(MatGetSize(A, &rows, NULL));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", files[k]));
    if (nforms) PetscCall(RunForms(A, rows, 0, npcs, pcs, nforms, forms, its, solves));
    else PetscCall(RunMethods(A, rows, 0, npcs, pcs, its, solves));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFree(files[k]));
  }
  for (PetscInt s = 0; s < nstencils; s++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat A;

      PetscCall(Poisson(sizes[k], stencils[s], type, &A));
      if (nforms) PetscCall(RunForms(A, sizes[k], stencils[s], npcs, pcs, nforms, forms, its, solves));
      else PetscCall(RunMethods(A, sizes[k], stencils[s], npcs, pcs, its, solves));
      PetscCall(MatDestroy(&A));
    }
  for (PetscInt k = 0; k < nforms; k++) PetscCall(PetscFree(forms[k]));
  for (PetscInt p = 0; p < npcs; p++) PetscCall(PetscFree(pcs[p]));
  PetscCall(PetscFinalize());
  return 0;
}
