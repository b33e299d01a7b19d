/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCBLOCKILU: zero pivots, values that cannot be, input that does not fit, options; an apply after "
                     "a failure does no harm.\n\n";

#include "catch.h"
#include "blockilucase.h"
#include "viewtext.h"

/* The call fails on all ranks with this code, and a text with this in it */
#define EXPECTREASON(call, expected, part, where) \
  do { \
    PetscBool found = PETSC_FALSE; \
    char     *at; \
    memset(&caught, 0, sizeof(caught)); \
    PetscCall(PetscPushErrorHandler(CatchAt, NULL)); \
    (void)(call); \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(PetscStrstr(caught.text, part, &at)); \
    found = (PetscBool)(at != NULL); \
    PetscCall(SpikeTestCheck((PetscBool)(caught.code == expected && found), "%s: error %d: %s", where, \
                             (int)caught.code, caught.text)); \
  } while (0)

/* block row `row` becomes `value` on its diagonal block, all else stays */
static PetscErrorCode Spoil(const BlockCase *c, Mat A, PetscInt row, PetscScalar value)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row * c->bs >= start && row * c->bs < end) {
    for (PetscInt r = 0; r < c->bs; r++)
      for (PetscInt s = 0; s < c->bs; s++)
        PetscCall(MatSetValue(A, row * c->bs + r, row * c->bs + s, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns without factors, of some ranks or of all: the same on all ranks, and none with a norm */
static PetscErrorCode CheckColumns(Mat A, PC pc, PetscBool trans, const char where[])
{
  Mat       X, Y;
  PetscInt  n;
  PetscReal norms[3];

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)A), n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &X));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(MatSetRandom(X, NULL));
  if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
  else PetscCall(PCMatApply(pc, X, Y));
  PetscCall(MatGetColumnNorms(Y, NORM_2, norms));
  for (int c = 0; c < 3; c++)
    PetscCall(SpikeTestCheck((PetscBool)PetscIsInfOrNanReal(norms[c]), "%s: column %d without factors has norm %g",
                             where, c, (double)norms[c]));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What must hold after a failed setup: the reason, on the rank that knows it; a text in the view; applies that end and
  mark their result; a solve that says so
*/
static PetscErrorCode CheckFailed(Mat A, KSP ksp, PCFailedReason expected, const char part[], const char where[])
{
  PC                 pc;
  Vec                x, b;
  PCFailedReason     reason;
  KSPConvergedReason why;
  char               text[8192] = "", *at;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 80));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &why));
  PetscCall(SpikeTestCheck((PetscBool)(why == KSP_DIVERGED_PC_FAILED), "%s: the solve ends with %s", where,
                           KSPConvergedReasons[why]));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected), "%s: failed reason %s", where, PCFailedReasons[reason]));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(SpikeTestCheck((PetscBool)PetscIsInfOrNanReal(norm), "%s: an apply without factors gives norm %g", where,
                           (double)norm));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(SpikeTestCheck((PetscBool)PetscIsInfOrNanReal(norm), "%s: a transposed apply without factors gives norm %g",
                           where, (double)norm));
  PetscCall(CheckColumns(A, pc, PETSC_FALSE, where));
  PetscCall(CheckColumns(A, pc, PETSC_TRUE, where));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, part, &at));
  PetscCall(SpikeTestCheck((PetscBool)(at != NULL), "%s: \"%s\" is not in the view", where, part));
  PetscCall(PetscStrstr(text, "FAILED", &at));
  PetscCall(SpikeTestCheck((PetscBool)(at != NULL), "%s: the view tells of no failure", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zero pivots fail */
static PetscErrorCode KSPMake(Mat A, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 300));
  PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCBLOCKILU));
  PetscCall(PCFactorSetShiftType(*pc, MAT_SHIFT_NONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that go bad: a reason each, and the next setup with good ones works */
static PetscErrorCode TestNumbers(MatType type)
{
  const BlockCase c = {18, 3, 4, 1.3, PETSC_TRUE, 81};
  Mat             A;
  KSP             ksp;
  PC              pc;
  Vec             x, b;
  PCBlockILUInfo  info;
  PetscScalar     nan = 0.0;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, type, PETSC_TRUE, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 82));
  PetscCall(KSPMake(A, &ksp, &pc));
  PetscCall(Spoil(&c, A, 0, 1.0)); /* of rank one: the second step finds zero */
  PetscCall(CheckFailed(A, ksp, PC_FACTOR_NUMERIC_ZEROPIVOT, "Zero pivot in the diagonal block of rows 0 to 2, step 1",
                        "singular block"));
  PetscCall(BlockSet(&c, 1.0, A));
  PetscCall(SpikeTestSolve(ksp, b, x, "after a singular block"));
  PetscCall(Spoil(&c, A, 7, nan));
  PetscCall(CheckFailed(A, ksp, PC_FACTOR_OTHER, "Row 21 of the matrix has an entry that is not a number", "NaN"));
  PetscCall(BlockSet(&c, 1.0, A));
  PetscCall(SpikeTestSolve(ksp, b, x, "after NaN"));
  if (!PetscDefined(USE_REAL_SINGLE)) {
    PetscCall(PCBlockILUSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
    PetscCall(Spoil(&c, A, 4, (PetscReal)1e200));
    PetscCall(CheckFailed(A, ksp, PC_FACTOR_OTHER, "Row 12 of the matrix has an entry too large", "overflow"));
    PetscCall(PCBlockILUSetPrecision(pc, PETSC_SPIKE_PRECISION_DOUBLE));
    PetscCall(BlockSet(&c, 1.0, A));
    PetscCall(SpikeTestSolve(ksp, b, x, "after overflow"));
  }
  PetscCall(Spoil(&c, A, 0, 1.0));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(PCSetUp(pc));
  PetscCall(PCBlockILUGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.boosted == 2), "%" PetscInt_FMT " pivots boosted", info.boosted));
  PetscCall(PCFactorSetShiftAmount(pc, 1.0));
  PetscCall(SpikeTestSolve(ksp, b, x, "boosted"));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetOperators(ksp, A, A)); /* a PETSc before 3.26 tells the preconditioner so after this only */
  {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (size == 1)
      EXPECTREASON(KSPSolve(ksp, b, x), PETSC_ERR_MAT_LU_ZRPVT, "Zero pivot in the diagonal block of rows 0 to 2",
                   "error if not converged");
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block tridiagonal matrix without the diagonal block of row `missing` */
static PetscErrorCode MissingMat(PetscInt nb, PetscInt bs, PetscInt missing, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, nb * bs, nb * bs));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, MATBAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start / bs; i < end / bs; i++) {
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, nb - 1); j++)
      if (j != i || i != missing)
        for (PetscInt r = 0; r < bs; r++)
          PetscCall(MatSetValue(*A, i * bs + r, j * bs + r, i == j ? 4.0 : -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal block that is not stored is one of zeros: its pivots come from those before it, or are zero */
static PetscErrorCode TestMissing(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    const PetscInt missing = k ? 0 : 7;
    Mat            A;
    Vec            x, b;
    KSP            ksp;
    PC             pc;
    PCBlockILUInfo info;
    PetscMPIInt    size;

    PetscCall(MissingMat(12, 2, missing, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 85));
    PetscCall(KSPMake(A, &ksp, &pc));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (k) {
      PetscCall(CheckFailed(A, ksp, PC_FACTOR_NUMERIC_ZEROPIVOT,
                            "Zero pivot in the diagonal block of rows 0 to 1, step 0 (subdomain 0 of the rank), which "
                            "is not stored",
                            "missing first block"));
      PetscCall(PCFactorSetShiftType(pc, (MatFactorShiftType)PETSC_DECIDE));
    } else if (size == 1) {
      PetscCall(SpikeTestSolve(ksp, b, x, "missing block"));
      PetscCall(PCBlockILUGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.boosted == 0 && info.factor_blocks == info.blocks + 1),
                               "missing block: %" PetscInt_FMT " pivots boosted", info.boosted));
      PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
    }
    PetscCall(PCFactorSetShiftAmount(pc, 0.5));
    if (size == 1) PetscCall(SpikeTestSolve(ksp, b, x, "missing block, boosted"));
    PetscCall(PCSetUp(pc));
    PetscCall(PCBlockILUGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.boosted <= 2 && (k == 0 || info.boosted == 2)),
                             "missing block %" PetscInt_FMT ": %" PetscInt_FMT " pivots boosted", missing,
                             info.boosted));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Input that does not fit: errors with a text that says what to do */
static PetscErrorCode TestInput(void)
{
  const BlockCase c = {12, 3, 4, 1.3, PETSC_TRUE, 83};
  Mat             A, B, S;
  PC              pc;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATBAIJ, PETSC_TRUE, &B));
  PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATAIJ, PETSC_TRUE, &A));
  PetscCall(BlockPC(B, &pc));
  PetscCall(PCBlockILUSetBlockSize(pc, 2));
  EXPECTREASON(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "pc_blockilu_bs 2", "other blocks than BAIJ's");
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCBlockILUSetBlockSize(pc, 5));
  EXPECTREASON(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "not multiples of the block size 5", "sizes that are no multiples");
  PetscCall(PCBlockILUSetBlockSize(pc, 33));
  EXPECTREASON(PCSetUp(pc), PETSC_ERR_SUP, "blocks of up to 32 rows", "large blocks");
  PetscCall(PCBlockILUSetBlockSize(pc, 3));
  PetscCall(PCBlockILUSetMulticolor(pc, PETSC_TRUE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  EXPECTREASON(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "multicolor ordering is made from the natural one", "two orderings");
  PetscCall(PCBlockILUSetMulticolor(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc)); /* and all is well again */
  EXPECTREASON(PCBlockILUSetBlockSize(pc, 0), PETSC_ERR_ARG_OUTOFRANGE, "Block size 0", "block size 0");
  EXPECTREASON(PCBlockILUSetLocalSubdomains(pc, 0), PETSC_ERR_ARG_OUTOFRANGE, "Number of subdomains 0",
               "no subdomains");
  EXPECTREASON(PCFactorSetLevels(pc, -1), PETSC_ERR_ARG_OUTOFRANGE, "negative levels", "negative levels");
  EXPECTREASON(PCBlockILUSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16), PETSC_ERR_SUP, "not BF16", "another precision");
  EXPECTREASON(PCFactorSetShiftType(pc, MAT_SHIFT_POSITIVE_DEFINITE), PETSC_ERR_SUP, "no shift type POSITIVE_DEFINITE",
               "another shift type");
  EXPECTREASON(PCFactorSetZeroPivot(pc, -2.0), PETSC_ERR_ARG_OUTOFRANGE, "Zero pivot tolerance -2",
               "negative zero pivot");
  EXPECTREASON(PCFactorSetUseInPlace(pc, PETSC_TRUE), PETSC_ERR_SUP, "in the memory of the matrix", "in place");
  EXPECTREASON(PCFactorSetPivotInBlocks(pc, PETSC_FALSE), PETSC_ERR_SUP, "exchanges rows", "no pivoting");
  EXPECTREASON(PCFactorSetDropTolerance(pc, 1e-3, 1e-3, 5), PETSC_ERR_SUP, "no drop tolerance", "drop tolerance");
  EXPECTREASON(PCFactorReorderForNonzeroDiagonal(pc, 1e-3), PETSC_ERR_SUP, "large entries to the diagonal",
               "nonzeros along the diagonal");
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, c.nb * c.bs, c.nb * c.bs, NULL, &S));
  PetscCall(PCSetOperators(pc, S, S));
  EXPECTREASON(PCSetUp(pc), PETSC_ERR_SUP, "needs the entries of the matrix", "a shell");
  PetscCall(MatDestroy(&S));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of the matrix that are larger than the kernels have them: their largest divisor is taken */
static PetscErrorCode TestLarge(void)
{
  const PetscInt sizes[][2] = {{33, 11}, {40, 20}, {64, 32}, {37, 1}};
  const MatType  types[]    = {MATAIJ, MATBAIJ};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 8; k++) {
    const BlockCase c = {6, sizes[k / 2][0], 2, 1.5, PETSC_TRUE, 90 + k};
    Mat             A;
    Vec             x, b;
    KSP             ksp;
    PC              pc;
    PCBlockILUInfo  info;

    PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, types[k % 2], PETSC_TRUE, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 85));
    PetscCall(KSPMake(A, &ksp, &pc));
    for (PetscInt again = 0; again < 2; again++) {
      PetscCall(SpikeTestSolve(ksp, b, x, "large blocks"));
      PetscCall(PCBlockILUGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.bs == sizes[k / 2][1]),
                               "%s, blocks of %" PetscInt_FMT ": factored as blocks of %" PetscInt_FMT, types[k % 2],
                               c.bs, info.bs));
      PetscCall(MatScale(A, 2.0));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each option arrives where its getter finds it */
static PetscErrorCode TestOptions(void)
{
  PC                  pc;
  PetscInt            bs, subdomains, levels;
  PetscBool           complete, multicolor, same;
  PetscReal           zeropivot, amount;
  MatFactorShiftType  shift;
  MatOrderingType     ordering;
  PetscSpikePrecision precision;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "o_"));
  PetscCall(PetscOptionsInsertString(
    NULL,
    "-o_pc_type blockilu -o_pc_blockilu_bs 6 -o_pc_blockilu_local_subdomains 3 -o_pc_blockilu_levels 2 "
    "-o_pc_blockilu_complete -o_pc_blockilu_multicolor -o_pc_blockilu_zeropivot 1e-5 -o_pc_blockilu_shift_type "
    "inblocks -o_pc_blockilu_shift_amount 1e-3 -o_pc_blockilu_mat_ordering_type nd -o_pc_blockilu_precision single"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBlockILUGetBlockSize(pc, &bs));
  PetscCall(PCBlockILUGetLocalSubdomains(pc, &subdomains));
  PetscCall(PCFactorGetLevels(pc, &levels));
  PetscCall(PCBlockILUGetComplete(pc, &complete));
  PetscCall(PCBlockILUGetMulticolor(pc, &multicolor));
  PetscCall(PCFactorGetZeroPivot(pc, &zeropivot));
  PetscCall(PCFactorGetShiftType(pc, &shift));
  PetscCall(PCFactorGetShiftAmount(pc, &amount));
  PetscCall(PCBlockILUGetMatOrderingType(pc, &ordering));
  PetscCall(PCBlockILUGetPrecision(pc, &precision));
  PetscCall(PetscStrcmp(ordering, MATORDERINGND, &same));
  PetscCall(SpikeTestCheck((PetscBool)(bs == 6 && subdomains == 3 && levels == 2 && complete && multicolor &&
                                       zeropivot == (PetscReal)1e-5 && shift == MAT_SHIFT_INBLOCKS &&
                                       amount == (PetscReal)1e-3 && same && precision == PETSC_SPIKE_PRECISION_SINGLE),
                           "options and getters"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestNumbers(MATBAIJ));
  PetscCall(TestNumbers(MATAIJ));
  PetscCall(TestMissing());
  PetscCall(TestInput());
  PetscCall(TestLarge());
  PetscCall(TestOptions());
  {
    const BlockCase c = {20, 2, 5, 1.3, PETSC_TRUE, 84};
    Mat             A;
    PC              pc;

    PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATBAIJ, PETSC_TRUE, &A));
    PetscCall(BlockPC(A, &pc));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCViewFromOptions(pc, NULL, "-view"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(SpikeTestEnd("blockilu_failure"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 3}}
      output_file: output/blockilu_failure_1.out
   test:
      suffix: view
      args: -view ::ascii_info_detail -pc_blockilu_local_subdomains 2 -pc_blockilu_levels 1 -pc_blockilu_multicolor \
            -pc_blockilu_shift_type nonzero
      requires: double !complex
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "/^ *block size is 2$/d"
   test:
      suffix: view_complete
      args: -view -pc_blockilu_complete
      requires: double !complex
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "/^ *block size is 2$/d"

TEST*/
