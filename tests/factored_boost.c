/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE and PCBLOCKILU without options: zero pivots and entries that are not there, what does not "
           "need boosting, KSPPREONLY, memory of ranks that share a node.\n\n";

#include <petsc/private/pcimpl.h>
#include "spiketest.h"
#include "viewtext.h"
#include "guard.h"
#include <unistd.h>

static const char *const types[] = {PCSPIKE, PCBLOCKILU};

static PetscErrorCode CountBoosted(PC pc, PetscInt *boosted)
{
  PetscBool spike;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSPIKE, &spike));
  if (spike) {
    PCSpikeInfo info;

    PetscCall(PCSpikeGetInfo(pc, &info));
    *boosted = info.boosted;
  } else {
    PCBlockILUInfo info;

    PetscCall(PCBlockILUGetInfo(pc, &info));
    *boosted = info.boosted;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, KSPType ksptype, PCType type, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, ksptype));
  PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, 0.0, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, type));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE)); /* zero pivots are the topic: rows stay */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band whose rows `zero` and 1 + `zero` are coupled by two ones and have a zero on the diagonal, stored or not:
  regular, and without an exchange of rows the first of them has a zero pivot
*/
static PetscErrorCode ZeroMat(PetscInt N, PetscInt width, PetscInt zero, PetscBool stored, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2 * width + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2 * width + 1, NULL, 2 * width, NULL));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    for (PetscInt j = PetscMax(0, i - width); j <= PetscMin(N - 1, i + width); j++) {
      const PetscBool pair = (PetscBool)(zero >= 0 && (i == zero || i == zero + 1));
      PetscScalar     v    = i == j ? 4.0 * width : SpikeTestScalar(31, i, j);

      if (pair) v = i != j && (j == zero || j == zero + 1) ? 1.0 : 0.0;
      if (stored || !pair || v != (PetscScalar)0.0) PetscCall(MatSetValue(*A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a text is in the view, on all ranks what the first one says */
static PetscErrorCode CheckView(PC pc, const char part[], const char where[])
{
  char        text[8192] = "", *at;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscStrstr(text, part, &at));
  PetscCall(SpikeTestCheck((PetscBool)(rank || at), "%s: \"%s\" is not in the view", where, part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(KSP ksp, Vec b, Vec x, KSPConvergedReason expected, PCFailedReason failed,
                                  const char where[])
{
  KSPConvergedReason reason;
  PCFailedReason     why;
  PC                 pc;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == expected), "%s: ends with %s", where, KSPConvergedReasons[reason]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &why));
  PetscCall(SpikeTestCheck((PetscBool)(why == failed), "%s: failed reason %s", where, PCFailedReasons[why]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solved without an option, counted, shown; the option `none` fails, `auto` is the default */
static PetscErrorCode TestDefault(PCType type, PetscInt width, PetscBool stored)
{
  const PetscInt     N = 40;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;
  MatFactorShiftType shift;
  PetscInt           boosted;
  char               where[64], option[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, width %" PetscInt_FMT ", %s", type, width,
                          stored ? "zeros stored" : "zeros not stored"));
  PetscCall(ZeroMat(N, width, 0, stored, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 32));
  PetscCall(Create(A, KSPGMRES, type, &ksp, &pc));
  PetscCall(PCFactorGetShiftType(pc, &shift));
  PetscCall(
    SpikeTestCheck((PetscBool)(shift == MAT_SHIFT_NONZERO), "%s: shift type %s", where, MatFactorShiftTypes[shift]));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(CountBoosted(pc, &boosted));
    PetscCall(SpikeTestCheck((PetscBool)(boosted == 1), "%s: %" PetscInt_FMT " pivots boosted", where, boosted));
    PetscCall(CheckView(pc, "boosted pivots 1\n", where));
    PetscCall(CheckView(pc, "of the norm: boosted\n", where));
    PetscCall(PetscSNPrintf(option, sizeof(option), "-pc_%s_shift_type", type));
    PetscCall(PetscOptionsSetValue(NULL, option, "none"));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PCFactorGetShiftType(pc, &shift));
    PetscCall(SpikeTestCheck((PetscBool)(shift == MAT_SHIFT_NONE), "%s: option none is not taken", where));
    PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, where));
    PetscCall(CheckView(pc, "shift_type auto", where));
    PetscCall(PetscOptionsSetValue(NULL, option, "auto"));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PetscOptionsClearValue(NULL, option));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPPREONLY corrects nothing, but for the steps of refinement of PCSPIKE, which the last case leaves out: a failure,
  also after another method and before it, and inside of another solver none
*/
static PetscErrorCode TestPreonly(PCType type)
{
  Mat  A;
  Vec  b, x;
  KSP  ksp;
  PC   pc;
  char option[64];

  PetscFunctionBegin;
  PetscCall(ZeroMat(40, 1, 0, PETSC_TRUE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 33));
  PetscCall(Create(A, KSPGMRES, type, &ksp, &pc));
  PetscTryMethod(pc, "PCSpikeSetMaxRefinements_C", (PC, PetscInt), (pc, 0));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(SpikeTestSolve(ksp, b, x, "before preonly"));
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    for (PetscInt k = 0; k < 2; k++)
      PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "preonly"));
    PetscCall(CheckView(pc, "KSPPREONLY", "preonly"));
    PetscCall(KSPSetType(ksp, pass ? KSPBCGSFUSED : KSPGMRES));
    PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_RTOL, PC_NOERROR, "after preonly"));
  }
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_INBLOCKS));
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "preonly, shift type set"));
  PetscCall(PCFactorSetShiftType(pc, (MatFactorShiftType)PETSC_DECIDE));
  PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "preonly, set back"));
  if (type == types[0]) { /* refinement makes up for a boosted pivot */
    PetscCall(PCSpikeSetMaxRefinements(pc, PETSC_DECIDE));
    PetscCall(SpikeTestSolve(ksp, b, x, "preonly, refined"));
    PetscCall(PCSpikeSetMaxRefinements(pc, 0));
    PetscCall(CheckReason(ksp, b, x, KSP_DIVERGED_PC_FAILED, PC_FACTOR_NUMERIC_ZEROPIVOT, "preonly, no refinement"));
  }
  PetscCall(MatShift(A, 3.0)); /* nothing to boost */
  PetscCall(CheckReason(ksp, b, x, KSP_CONVERGED_ITS, PC_NOERROR, "preonly, no zero pivot"));
  PetscCall(MatShift(A, -3.0));
  PetscCall(KSPDestroy(&ksp));
  /* the solver of a block is a KSPPREONLY too */
  PetscCall(PetscSNPrintf(option, sizeof(option), "%s", type));
  PetscCall(PetscOptionsSetValue(NULL, "-sub_pc_type", option));
  PetscCall(Create(A, KSPGMRES, PCBJACOBI, &ksp, &pc));
  PetscCall(SpikeTestSolve(ksp, b, x, "inside of bjacobi"));
  PetscCall(PetscOptionsClearValue(NULL, "-sub_pc_type"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a zero pivot the factors are to the bit those that fail at one */
static PetscErrorCode TestHealthy(void)
{
  const PetscInt widths[] = {1, 2, 3, 5, 9, 17, 40};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
    Mat A;
    Vec b, x[2];

    PetscCall(ZeroMat(120 * size, widths[w], -1, PETSC_TRUE, &A));
    PetscCall(MatCreateVecs(A, &x[0], &b));
    PetscCall(VecDuplicate(x[0], &x[1]));
    PetscCall(SpikeTestSetRandom(b, 34));
    for (PetscInt c = 0; c < 10; c++) { /* two partitions, precisions, types of half-bandwidth 1; block sizes, levels */
      const PCType type = types[c >= 6];
      PetscBool    same, together;
      PetscInt     boosted;

      if (c > 3 && c < 6 && widths[w] > 1) continue;
      for (PetscInt k = 0; k < 2; k++) {
        PC pc;

        PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
        PetscCall(PCSetOperators(pc, A, A));
        PetscCall(PCSetType(pc, type));
        if (c == 1) PetscCall(PCSpikeSetLocalPartitions(pc, 2));
        if (c == 2) PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
        if (c == 3) PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_FP16));
        if (c == 4) PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_CR));
        if (c == 5) PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_PARTITION));
        if (c > 6) PetscCall(PCBlockILUSetBlockSize(pc, c == 9 ? 8 : c - 5));
        if (c > 7) PetscCall(PCFactorSetLevels(pc, 1));
        if (k) PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
        PetscCall(PCApply(pc, b, x[k]));
        PetscCall(CountBoosted(pc, &boosted));
        PetscCall(SpikeTestCheck((PetscBool)!boosted, "%s, case %" PetscInt_FMT ": %" PetscInt_FMT " pivots boosted",
                                 type, c, boosted));
        together = (PetscBool)!pc->ops->presolve;
        PetscTryMethod(pc, "PetscSpikeColumnsTogether_C", (PC, PetscBool *), (pc, &together));
        PetscCall(SpikeTestCheck(together, "%s: columns cannot go together", type));
        PetscCall(PCDestroy(&pc));
      }
      PetscCall(VecEqual(x[0], x[1], &same));
      PetscCall(
        SpikeTestCheck(same, "%s, case %" PetscInt_FMT ", width %" PetscInt_FMT ": other bits", type, c, widths[w]));
    }
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  NOTHING,  /* no entry at all */
  IDENTITY, /* half-bandwidth 0 */
  HOLE,     /* the same, but that one entry is not there */
  TURN,     /* a_ij = 1 for j = i + 1, and in a corner */
  UPPER,    /* the same without the corner */
  PAIRS,    /* a_ij = 1 for i and j of one pair; no diagonal entry but that of a row without a partner */
  NKINDS
} Kind;

/* Rows start, start + 1 are a pair, and so on; a last row alone is its own partner */
static PetscInt PartnerOf(PetscInt i, PetscInt start, PetscInt end)
{
  const PetscInt partner = start + ((i - start) ^ 1);

  return partner < end ? partner : i;
}

/* What there is to factor is little, or nothing: a reason for all of it, no error */
static PetscErrorCode TestSparse(PCType type, Kind kind, PetscInt n)
{
  const char *const kinds[]       = {"nothing", "identity", "hole", "turn", "upper", "pairs"};
  const char *const mattypes[][3] = {{MATAIJ, MATBAIJ, MATDIA}, {MATAIJCUSPARSE, MATBAIJ, MATDIACUDA}};
  char              given[32]     = MATAIJ;
  PetscInt          N, start, end;
  PetscBool         device;
  PetscMPIInt       size;
  Mat               A;
  Vec               b, x;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (kind == TURN && size > 1 && type == types[0]) PetscFunctionReturn(PETSC_SUCCESS); /* a band over many ranks */
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", given, sizeof(given), NULL));
  PetscCall(PetscStrcmp(given, MATAIJCUSPARSE, &device));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DECIDE, PETSC_DECIDE, 2, NULL, 1, NULL, &A));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    if (kind == IDENTITY || (kind == HOLE && i != N / 2)) PetscCall(MatSetValue(A, i, i, 2.0 + i, INSERT_VALUES));
    if (kind == TURN || (kind == UPPER && i < N - 1)) PetscCall(MatSetValue(A, i, (i + 1) % N, 1.0, INSERT_VALUES));
    if (kind == PAIRS) PetscCall(MatSetValue(A, i, PartnerOf(i, start, end), 1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (PetscInt c = 0; c < 5; c++) {
    MatType            mattype = mattypes[device][c % 3];
    Mat                B;
    KSP                ksp;
    PC                 pc;
    PetscErrorCode     ierr;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    PetscInt           boosted;

    if (c >= 3 && type == types[0] && kind == TURN) continue; /* not tridiagonal */
    if (c == 4) mattype = mattypes[device][2];
    if (c >= 3 && type != types[0] && (kind != PAIRS || n % 2)) continue;
    PetscCall(MatConvert(A, mattype, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatCreateVecs(B, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 35));
    PetscCall(Create(B, KSPGMRES, type, &ksp, &pc));
    if (c >= 3) { /* row exchanges */
      if (type == types[0]) {
        PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
        PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
      } else PetscCall(PCBlockILUSetBlockSize(pc, 2));
    }
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = KSPSolve(ksp, b, x);
    PetscCall(PetscPopErrorHandler());
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(!ierr && reason != KSP_CONVERGED_ITERATING),
                             "%s, %s as %s, %" PetscInt_FMT " rows on a rank, case %" PetscInt_FMT
                             ": error %d, reason %s",
                             type, kinds[kind], mattype, n, c, (int)ierr, KSPConvergedReasons[reason]));
    if ((kind == IDENTITY || (kind == PAIRS && c >= 3)) && !ierr) {
      PetscCall(SpikeTestSolve(ksp, b, x, kinds[kind]));
      PetscCall(CountBoosted(pc, &boosted));
      PetscCall(SpikeTestCheck((PetscBool)!boosted, "%s, %s as %s: %" PetscInt_FMT " pivots boosted", type, kinds[kind],
                               mattype, boosted));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&B));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that are free, 0 where the system does not say */
static PetscReal Available(void)
{
  FILE  *file = fopen("/proc/meminfo", "r");
  char   line[128];
  double kilobytes = 0.0;

  while (file && fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %lf", &kilobytes) != 1)
    ;
  if (file) (void)fclose(file);
  return (PetscReal)(1024 * kilobytes);
}

/*
  A band of so many bytes on each rank, of which nothing comes to be: large allocations fail. An error of them says that
  the memory was thought to be enough
*/
static PetscErrorCode CheckFits(MPI_Comm comm, PetscReal bytes, PetscBool fits, const char where[])
{
  const PetscInt K = (PetscInt)PetscSqrtReal(bytes / (2 * sizeof(PetscScalar))), n = 2 * K;
  Mat            A;
  PC             pc;
  PetscInt       start, end;
  PetscErrorCode ierr;
  PCFailedReason reason = PC_NOERROR;

  PetscFunctionBegin;
  PetscCall(MatCreateAIJ(comm, n, n, PETSC_DECIDE, PETSC_DECIDE, 3, NULL, 0, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) PetscCall(MatSetValue(A, i, i, 2.0, INSERT_VALUES));
  for (PetscInt j = 0; j < 2 && !start; j++) PetscCall(MatSetValue(A, K, j, 1.0, INSERT_VALUES));
  /* the rows of each rank have such a band by themselves */
  PetscCall(MatSetValue(A, start + PetscMin(K, end - start - 1), start, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(comm, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetMaxBandwidth(pc, PETSC_UNLIMITED));
  PetscCall(PCSpikeSetMaxBorder(pc, 0));
  guard.most = 1 << 28;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  guard.most = 0;
  if (!ierr) PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(ierr == (fits ? PETSC_ERR_MEM : PETSC_SUCCESS) &&
                                       reason == (fits ? PC_NOERROR : PC_FACTOR_OUTMEMORY)),
                           "%s: error %d, %s", where, (int)ierr, PCFailedReasons[reason]));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most of what is free does for one rank, not for all of a node; more than is free for none */
static PetscErrorCode TestMemory(void)
{
  const PetscReal memory = Available(), all = (PetscReal)sysconf(_SC_PHYS_PAGES) * (PetscReal)sysconf(_SC_PAGESIZE);
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestCheck(PETSC_TRUE, "a system that says nothing of its memory"));
  if (!(memory > 0) || PetscSqrtReal(2 * all) > PETSC_INT_MAX / 4) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CheckFits(PETSC_COMM_SELF, (PetscReal)0.6 * memory, PETSC_TRUE, "most of the memory"));
  PetscCall(CheckFits(PETSC_COMM_WORLD, (PetscReal)0.75 * memory, (PetscBool)(size == 1), "most of it on each rank"));
  if (memory < (PetscReal)0.95 * all)
    PetscCall(CheckFits(PETSC_COMM_SELF, (PetscReal)0.99 * all, PETSC_FALSE, "more than is free"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const cases[] = {"default", "healthy", "sparse", "memory"};
  const PetscInt    rows[]  = {1, 2, 7};
  PetscInt          which   = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-case", cases, PETSC_STATIC_ARRAY_LENGTH(cases), &which, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types) && which == 0; t++) {
    for (PetscInt k = 0; k < 4; k++) PetscCall(TestDefault(types[t], k & 1 ? 3 : 1, (PetscBool)(k & 2)));
    PetscCall(TestPreonly(types[t]));
  }
  if (which == 1) PetscCall(TestHealthy());
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types) && which == 2; t++)
    for (int kind = 0; kind < NKINDS; kind++)
      for (size_t r = 0; r < PETSC_STATIC_ARRAY_LENGTH(rows); r++) PetscCall(TestSparse(types[t], (Kind)kind, rows[r]));
  if (which == 3) {
    GuardStart();
    PetscCall(TestMemory());
  }
  PetscCall(SpikeTestEnd("factored_boost"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      output_file: output/factored_boost_1.out
      test:
         suffix: 1
         args: -case default
      test:
         suffix: healthy
         args: -case healthy
      test:
         suffix: sparse
         args: -case sparse
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -case {{default healthy sparse}} -mat_type aijcusparse

   # allocations that fail leave objects of PETSc's functions behind
   test:
      suffix: memory
      nsize: {{1 2}}
      requires: double
      args: -case memory -malloc_dump no
      output_file: output/factored_boost_1.out

   test:
      suffix: info
      args: -case default -info :pc
      filter: grep -o "1 pivots below .* boosted: these are the factors of another matrix" | sort -u
      requires: double

TEST*/
