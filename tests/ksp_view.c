/* SPDX-License-Identifier: BSD-2-Clause */
/* ksp_view.c: groups of the view of the fused Krylov methods, before a solve, after one, and after a block of them */
static const char help[] = "Views of the fused Krylov methods.\n";

#include "ksptest.h"
#include "viewtext.h"

#define COLUMNS 3

/* Where a line with these words begins, from a place on; fails without one */
static PetscErrorCode Find(const char **at, const char words[], const char where[])
{
  const char *found = strstr(*at, words);

  PetscFunctionBegin;
  PetscCall(SpikeTestCheck((PetscBool)(found != NULL), "%s: no \"%s\" where it is expected", where, words));
  if (found) *at = found + strlen(words);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each word in its group: after its heading, and before the next one */
static PetscErrorCode CheckGroups(KSP ksp, PetscBool solved, PetscBool block, const char where[])
{
  char        text[8192];
  const char *at = text;

  PetscFunctionBegin;
  PetscCall(ObjectViewText((PetscObject)ksp, sizeof(text), text));
  PetscCall(Find(&at, "\n    method:\n      ", where));
  PetscCall(Find(&at, " reductions, product ", where));
  PetscCall(Find(&at, "\n      true residual checked at convergence\n", where));
  at--; /* the end of a line is the beginning of the next one */
  if (solved) {
    PetscCall(Find(&at, "\n    quality of the last solve:\n      restarts 0\n", where));
    if (block) PetscCall(Find(&at, "      last block of right-hand sides: 3 columns ", where));
    PetscCall(Find(&at, "\n    cost of the last solve:\n      backend ", where));
  } else
    PetscCall(SpikeTestCheck((PetscBool)(!strstr(text, "quality") && !strstr(text, "cost") && !strstr(text, "backend")),
                             "%s: facts of a solve that was not", where));
  /* what KSPView() prints next is no member of a group */
  PetscCall(Find(&at, "\n  maximum iterations=", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    Mat      A, B, X;
    Vec      x, b;
    KSP      ksp;
    PetscInt n, bs = COLUMNS;

    PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 7, 9, PETSC_DECIDE, 0.5, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 5));
    PetscCall(KSPTestCreate(types[t], PCJACOBI, A, &ksp));
    PetscCall(CheckGroups(ksp, PETSC_FALSE, PETSC_FALSE, types[t]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(CheckGroups(ksp, PETSC_TRUE, PETSC_FALSE, types[t]));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, ((PetscObject)b)->type_name, n, PETSC_DECIDE, PETSC_DETERMINE,
                                        bs, PETSC_DETERMINE, NULL, &B));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    for (PetscInt j = 0; j < bs; j++) {
      Vec v;

      PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
      PetscCall(VecCopy(b, v));
      PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
    }
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPMatSolve(ksp, B, X));
    PetscCall(CheckGroups(ksp, PETSC_TRUE, PETSC_TRUE, types[t]));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SpikeTestEnd("ksp_view"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_view_1.out
      test:
         suffix: 1
         nsize: {{1 3}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
