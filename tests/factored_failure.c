/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE and PCBLOCKILU: options that a matrix cannot follow, errors that lose no memory, and what "
           "the view says.\n\n";

#include "catch.h"
#include "spiketest.h"
#include "guard.h"

/* A band with kl = ku = width, whose diagonal is the given number; width 0: diagonal */
static PetscErrorCode Band(PetscInt N, PetscInt width, PetscScalar diagonal, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, N, N, 2 * width + 1, NULL, 2 * width, NULL, A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(i - width, 0); j <= PetscMin(i + width, N - 1); j++)
      PetscCall(MatSetValue(*A, i, j, i == j ? diagonal : SpikeTestScalar(3, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PCType type, const char options[], PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, type));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orderings of PETSc that are none: an error with a text, nothing is lost, and the next setup works */
static PetscErrorCode TestOrdering(void)
{
  const char *const orderings[] = {MATORDERINGEXTERNAL, "nosuchordering"}, *const parts[] = {"gives no permutation",
                                                                                             "nosuchordering"};
  const PetscInt before = GuardAlive("pc_blockilu/");

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(orderings); k++) {
    Mat            A;
    Vec            b, x;
    PC             pc;
    PetscErrorCode ierr;
    PetscBool      found;
    char          *at;

    PetscCall(Band(40, 2, 8.0, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(Create(A, PCBLOCKILU, "-pc_blockilu_local_subdomains 2 -pc_blockilu_bs 2", &pc));
    PetscCall(PCFactorSetMatOrderingType(pc, orderings[k]));
    for (PetscInt again = 0; again < 2; again++) {
      memset(&caught, 0, sizeof(caught));
      PetscCall(PetscPushErrorHandler(CatchAt, NULL));
      ierr = PCSetUp(pc);
      PetscCall(PetscPopErrorHandler());
      PetscCall(PetscStrstr(caught.text, parts[k], &at));
      found = (PetscBool)(ierr && at);
      PetscCall(SpikeTestCheck(found, "ordering %s: error %d: %s", orderings[k], (int)ierr, caught.text));
    }
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    PetscCall(PCApply(pc, b, x));
    PetscCall(PCFactorSetMatOrderingType(pc, orderings[k]));
    PetscCall(PetscPushErrorHandler(CatchAt, NULL));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(SpikeTestCheck((PetscBool)(GuardAlive("pc_blockilu/") == before), "ordering %s: %d blocks are lost",
                             orderings[k], (int)(GuardAlive("pc_blockilu/") - before)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row exchanges where the values make the band narrower than the pattern: zeros on one or both sides of the diagonal */
static PetscErrorCode TestPivoting(void)
{
  const PetscInt N = 30;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 6; k++) {
    const PetscBool diagonals = (PetscBool)(k >= 3);
    Mat             A;
    Vec             b, x;
    PC              pc;
    KSP             ksp;
    PetscInt        start, end;

    PetscCall(Band(N, 1, 8.0, &A));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    for (PetscInt i = start; i < end; i++) {
      if (i > 0 && k % 3 != 1) PetscCall(MatSetValue(A, i, i - 1, 0.0, INSERT_VALUES));
      if (i < N - 1 && k % 3 != 2) PetscCall(MatSetValue(A, i, i + 1, 0.0, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (diagonals) PetscCall(MatConvert(A, MATDIA, MAT_INPLACE_MATRIX, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 7));
    PetscCall(Create(A, PCSPIKE, "-pc_spike_pivoting -pc_spike_type block", &pc));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetPC(ksp, pc));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 100));
    PetscCall(SpikeTestSolve(ksp, b, x, k % 3 == 0 ? "diagonal" : k % 3 == 1 ? "lower" : "upper"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The half-bandwidths of the matrix that the view has are those of the values that were set up last */
static PetscErrorCode TestNatural(void)
{
  const PetscInt N = 40;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    const MatType types[] = {MATAIJ, MATDIA, MATDENSE};
    Mat           A;
    PC            pc;
    PCSpikeInfo   info;

    PetscCall(Band(N, 4, 20.0, &A));
    if (k) PetscCall(MatConvert(A, types[k], MAT_INPLACE_MATRIX, &A));
    PetscCall(Create(A, PCSPIKE, "-pc_spike_mat_ordering_type natural", &pc));
    for (PetscInt width = 4; width >= 0; width--) {
      PetscInt start, end;

      PetscCall(MatGetOwnershipRange(A, &start, &end));
      for (PetscInt i = start; i < end; i++)
        for (PetscInt j = i; j <= PetscMin(i + 4, N - 1); j++)
          PetscCall(MatSetValue(A, i, j, i == j ? 20.0 : j - i <= width ? 1.0 : 0.0, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.natural_kl == 4 && info.natural_ku == width),
                               "%s: natural half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " for 4,%" PetscInt_FMT,
                               types[k], info.natural_kl, info.natural_ku, width));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const cases[] = {"ordering", "pivoting", "natural"};
  PetscInt          which   = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-case", cases, PETSC_STATIC_ARRAY_LENGTH(cases), &which, NULL));
  GuardStart();
  if (which == 0) PetscCall(TestOrdering());
  if (which == 1) PetscCall(TestPivoting());
  if (which == 2) PetscCall(TestNatural());
  PetscCall(SpikeTestCheck((PetscBool)!GuardDamage(), "written outside of arrays"));
  PetscCall(SpikeTestEnd("factored_failure"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   # an error leaves objects of PETSc's functions behind; our own memory is counted
   testset:
      nsize: {{1 2}}
      output_file: output/factored_failure_1.out
      test:
         suffix: 1
         args: -case ordering -malloc_dump no
      test:
         suffix: pivoting
         args: -case pivoting
      test:
         suffix: natural
         args: -case natural

TEST*/
