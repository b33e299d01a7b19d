/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "KSPSetLagNorm() with the fused methods: the same tolerance, the same iterations, norms that belong to "
           "the solution, and -info that says so.\n\n";

#define _GNU_SOURCE
#include "ksptest.h"
#include <unistd.h>

#define MOST 400

static FILE *info; /* where -info goes */

/* Solves; history[] and its length, and whether -info spoke of the lag */
static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, const char where[], PetscReal history[], PetscInt *length,
                            PetscBool *told)
{
  static char      text[1 << 20];
  const PetscReal *h;

  PetscFunctionBegin;
  PetscCall(KSPSetResidualHistory(ksp, NULL, MOST, PETSC_TRUE));
  PetscCall(PetscInfoAllow(PETSC_TRUE));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(PetscInfoAllow(PETSC_FALSE));
  PetscCall(KSPGetResidualHistory(ksp, &h, length));
  PetscCall(PetscArraycpy(history, h, *length));
  (void)fflush(info);
  rewind(info);
  text[fread(text, 1, sizeof(text) - 1, info)] = 0;
  rewind(info);
  *told = (PetscBool)(strstr(text, "KSPSetLagNorm() changes nothing") != NULL);
  (void)!ftruncate(fileno(info), 0);
  PetscCallMPI(MPI_Bcast(told, 1, MPI_C_BOOL, 0, PETSC_COMM_WORLD)); /* not all ranks print */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLag(Mat A, KSPType type, PCType pctype, KSPFusedReductions form)
{
  PetscReal      history[2][MOST], residual[2], norm, last;
  PetscInt       length[2], its;
  PetscBool      told = PETSC_FALSE, same, cg;
  Vec            b, x;
  KSP            ksp;
  char           where[96];
  KSPNormType    normtype;
  const PetscInt few = 3;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s", type, pctype, KSPFusedReductionsTypes[form]));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 14));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(KSPTestCreate(type, pctype, A, &ksp));
  PetscCall(KSPFusedSetReductions(ksp, form));
  if (cg) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  else PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  for (PetscInt lag = 0; lag < 2; lag++) {
    PetscCall(KSPSetLagNorm(ksp, (PetscBool)lag));
    PetscCall(Solve(ksp, b, x, where, history[lag], &length[lag], &told));
    PetscCall(SpikeTestCheck((PetscBool)(told == (PetscBool)lag), "%s: -info %s of the lag", where,
                             told ? "speaks" : "does not speak"));
    PetscCall(SpikeTestResidual(A, b, x, &residual[lag]));
  }
  same = (PetscBool)(length[0] == length[1] && length[0] > few && length[0] < MOST);
  if (same) PetscCall(PetscArraycmp(history[0], history[1], length[0], &same));
  PetscCall(SpikeTestCheck(same, "%s: other norms with a lag, %" PetscInt_FMT " and %" PetscInt_FMT, where, length[0],
                           length[1]));
  PetscCall(SpikeTestCheck((PetscBool)(residual[0] == residual[1]), "%s: true residual %g, with a lag %g", where,
                           (double)residual[0], (double)residual[1]));
  /* the norm that is reported after a few iterations is that of their solution */
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, few));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualNorm(ksp, &last));
  PetscCall(KSPGetNormType(ksp, &normtype));
  PetscCall(SpikeTestResidual(A, b, x, &residual[0]));
  PetscCall(SpikeTestCheck((PetscBool)(its == few && normtype == KSP_NORM_UNPRECONDITIONED),
                           "%s: %" PetscInt_FMT " iterations", where, its));
  PetscCall(SpikeTestSmall(PetscAbsReal(last - residual[0] * norm), 1e4 * PETSC_MACHINE_EPSILON * norm,
                           "distance of the reported norm from the true one", where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPCGFUSED, KSPBCGSFUSED, KSPIDRFUSED};
  FILE         *out;
  Mat           A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  info = tmpfile();
  PetscCheck(info, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  out          = PETSC_STDOUT;
  PETSC_STDOUT = info;
  PetscCall(PetscInfoSetFile(NULL, NULL));
  PETSC_STDOUT = out;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 20, 17, PETSC_DECIDE, 0.5, &A));
  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt p = 0; p < 2; p++)
      for (PetscInt form = 0; form < (k < 2 ? 2 : 1); form++)
        PetscCall(TestLag(A, types[k], p ? PCJACOBI : PCNONE, (KSPFusedReductions)form));
  PetscCall(MatDestroy(&A));
  PetscCall(SpikeTestEnd("ksp_lagnorm"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_lagnorm_1.out
      test:
         suffix: 1
         nsize: {{1 3}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
