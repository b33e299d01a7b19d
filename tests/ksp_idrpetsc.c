/* SPDX-License-Identifier: BSD-2-Clause */
/* ksp_idrpetsc.c: KSPIDRFUSED against KSPIDR, which PETSc has since 3.26, with the same shadow space */
static char help[] = "Fused IDR(s) against KSPIDR.\n\n";

#include "idrcase.h"

/*
  The shadow space of KSPIDR: residuals of the first cycles to rounding, and as many products within 5 %, by each form
*/
static PetscErrorCode TestCounts(PetscInt n, PetscInt s, PCType pctype, PCSide side)
{
  /*
    b changed in its last digits changes KSPIDR's own products by 6 of 40 and residuals by 8 %, or KSPIDR breaks down
  */
  const PetscBool  chaotic = (PetscBool)(PetscDefined(USE_REAL_SINGLE) && s >= 4);
  const PetscInt   first   = chaotic ? 0 : PetscMin(10, 2 * (s + 1));
  Mat              A;
  Vec              x, b;
  KSP              ksp;
  PetscRandom      rand;
  PetscReal        theirs[10];
  const PetscReal *history;
  PetscInt         its, length, theirits = 0;
  char             where[128];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(n, PETSC_DECIDE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 13));
  for (PetscInt k = -1; k < 8; k++) { /* -1: KSPIDR. 6: PETSc's vectors. 7: with the shadow space of our own */
    KSPConvergedReason reason;

    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "n %" PetscInt_FMT ", s %" PetscInt_FMT ", %s, %s, form %" PetscInt_FMT, n, s, pctype,
                            PCSides[side], k));
    PetscCall(KSPTestCreate(k < 0 ? KSPIDR : KSPIDRFUSED, pctype, A, &ksp));
    PetscCall(KSPIDRSetS(ksp, s));
    PetscCall(KSPSetPCSide(ksp, side));
    if (k < 7) PetscCall(KSPIDRGetRandom(ksp, &rand));
    if (k >= 0) {
      PetscCall(KSPIDRFusedSetOrthogType(ksp, Orthog(k, (PetscBool)(k % 6 < 3))));
      PetscCall(KSPFusedSetReductions(ksp, k % 6 < 3 ? KSP_FUSED_REDUCTIONS_MERGED : KSP_FUSED_REDUCTIONS_PLAIN));
      PetscCall(KSPIDRFusedSetPetscVectors(ksp, (PetscBool)(k == 6)));
    }
    PetscCall(KSPSetResidualHistory(ksp, NULL, 2000, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_RTOL || (chaotic && k < 0)), "%s: ended with %s",
                             where, KSPConvergedReasons[reason]));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetResidualHistory(ksp, &history, &length));
    PetscCall(SpikeTestCheck((PetscBool)(length == its + 1 || (chaotic && k < 0)),
                             "%s: %" PetscInt_FMT " residuals after %" PetscInt_FMT " iterations", where, length, its));
    if (k < 0) {
      theirits = its;
      for (PetscInt i = 0; i < first; i++) theirs[i] = i < length ? history[i] : 0.0;
    } else if (k < 7) {
      PetscCall(SpikeTestCheck((PetscBool)(chaotic || PetscAbsInt(its - theirits) <= 1 + theirits / 20),
                               "%s: %" PetscInt_FMT " products, KSPIDR %" PetscInt_FMT, where, its, theirits));
      for (PetscInt i = 0; i < PetscMin(first, length); i++)
        PetscCall(SpikeTestSmall(PetscAbsReal(history[i] - theirs[i]),
                                 (PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-8) * theirs[i],
                                 "difference to KSPIDR's residual norm", where));
    } else
      PetscCall(SpikeTestCheck((PetscBool)(chaotic || its <= theirits + theirits / 3 + 2),
                               "%s: %" PetscInt_FMT " products with our own shadow space, KSPIDR %" PetscInt_FMT, where,
                               its, theirits));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt dimensions[] = {1, 2, 4, 8, 17};
  const PCType   pcs[]        = {PCNONE, PCJACOBI};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(dimensions); k++)
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs); p++)
      PetscCall(TestCounts(700, dimensions[k], pcs[p], (k + p) % 2 ? PC_RIGHT : PC_LEFT));
  PetscCall(SpikeTestEnd("ksp_idrpetsc"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: kspidr
      output_file: output/ksp_idrpetsc_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: product
         args: -product petsc
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2 3}}
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cudacopy
         requires: cuda gpurun
         args: -mat_type aijcusparse -product {{auto sell}}

TEST*/
