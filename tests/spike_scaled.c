/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Direct solves of bands whose rows, columns or both are scaled by powers of two up to 2^100: the reason, "
           "the backward error that is told, and the residual agree with what is computed here.\n\n";

#include "spiketest.h"
#include "viewtext.h"

/* kind 0: rows, 1: columns, 2: both, by 2^(-50..50); 3: a diagonal from 1 to 2^-100, condition 2^100 */
static PetscReal Scale(PetscInt kind, PetscInt seed, PetscInt n, PetscInt i, PetscBool row)
{
  const PetscReal most = PetscDefined(USE_REAL_SINGLE) ? 10.0 : 50.0;

  if (kind == 3) return row ? PetscPowReal(2.0, -2 * PetscFloorReal(most * (PetscReal)i / (PetscReal)n)) : 1.0;
  if (kind == (row ? 1 : 0)) return 1.0;
  return PetscPowReal(2.0, PetscFloorReal(most * SpikeTestUniform(seed + row, i, 5)));
}

static PetscErrorCode TestScaled(PetscInt kind, PetscInt seed, PetscReal dominance, PetscInt *large)
{
  const PetscReal    tol  = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;
  SpikeTestBand      band = {150, 3, 4, dominance, SPIKE_TEST_RANDOM, seed};
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PC                 pc;
  PCSpikeInfo        info;
  KSPConvergedReason reason;
  PetscInt           start, end;
  PetscReal          anorm, xnorm, bnorm, rnorm, eta;
  char               where[64], text[8192];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "kind %" PetscInt_FMT ", seed %" PetscInt_FMT, kind, seed));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, band.n, band.n, 8, NULL, 7, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - band.kl); j <= PetscMin(band.n - 1, i + band.ku); j++)
      PetscCall(MatSetValue(A, i, j,
                            SpikeTestBandEntry(&band, i, j) * Scale(kind, seed, band.n, i, PETSC_TRUE) *
                              Scale(kind, seed, band.n, j, PETSC_FALSE),
                            INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, seed));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1 + seed % 3));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.solves == 1), "%s: %" PetscInt_FMT " solves were checked", where, info.solves));
  if (reason > 0) {
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
    PetscCall(VecNorm(x, NORM_2, &xnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    eta = rnorm / (anorm * xnorm + bnorm);
    PetscCall(SpikeTestSmall(eta, tol, "backward error of a solve that converged", where));
    PetscCall(SpikeTestSmall(PetscAbsReal(eta - info.backward_error), 0.01 * eta + 10 * PETSC_MACHINE_EPSILON,
                             "difference to the backward error that is told", where));
    if (rnorm > bnorm) (*large)++;
    PetscCall(ViewText(pc, sizeof(text), text));
    if (rnorm > 200 * tol * bnorm || rnorm < 50 * tol * bnorm)
      PetscCall(
        SpikeTestCheck((PetscBool)((strstr(text, "residual of the last") != NULL) == (rnorm > 100 * tol * bnorm)),
                       "%s: the view %s of a residual of %g", where, rnorm > bnorm ? "says nothing" : "speaks",
                       (double)(rnorm / bnorm)));
  } else
    PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && info.backward_error > tol),
                             "%s: %s with a backward error of %g", where, KSPConvergedReasons[reason],
                             (double)info.backward_error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt large = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (PetscInt kind = 0; kind < 4; kind++)
    for (PetscInt seed = 0; seed < 9; seed++) PetscCall(TestScaled(kind, seed, seed % 2 ? 1.5 : 0.3, &large));
  PetscCall(SpikeTestCheck((PetscBool)(large > 5 || PetscDefined(USE_REAL_SINGLE)),
                           "only %" PetscInt_FMT " residuals were large", large));
  PetscCall(SpikeTestEnd("spike_scaled"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 3}}

TEST*/
