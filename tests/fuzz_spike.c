/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Random cases of PCSPIKE: bands, partitions, types of matrices, precisions, Cholesky, row "
                     "exchanges, matchings, changes, transposes, direct solves.\n\n";

#include "fuzz.h"

typedef struct {
  PetscInt  n, kl, ku, nlocal, seed;
  PetscBool periodic, slow;           /* slow: spikes hardly fall */
  PetscBool hermitian, swapped, weak; /* swapped: rows 2 k and 2 k + 1; weak: not dominant */
  PetscInt  m, rows[3];               /* full rows and columns */
} Band;

#define SLOW_DOMINANCE 1.001

/* Strictly dominant by rows and by columns, so that no pivoting is needed for a small backward error */
static PetscScalar EntryInOrder(const Band *b, PetscInt i, PetscInt j)
{
  const PetscReal dominance = 1.05 + 0.5 * (1.0 + SpikeTestUniform(b->seed, 0, 77));

  if (b->weak) return j >= i - b->kl && j <= i + b->ku ? SpikeTestScalar(b->seed, i, j) : 0.0;
  if (b->slow) {
    const PetscReal v      = -0.95 - 0.05 * SpikeTestUniform(b->seed, i, j);
    const PetscBool corner = (PetscBool)(b->periodic && b->n > 2 && ((i + 1) % b->n == j || (j + 1) % b->n == i));

    if (i == j) return SLOW_DOMINANCE * PetscMax(1, b->kl + b->ku);
    return (j >= i - b->kl && j <= i + b->ku) || corner ? v : 0.0;
  }
  if (i == j) return (PetscDefined(USE_COMPLEX) ? 1.5 : 1.0) * dominance * PetscMax(1, b->kl + b->ku);
  if (j >= i - b->kl && j <= i + b->ku) return SpikeTestScalar(b->seed, i, j);
  if (b->periodic && b->n > 2 && (i + 1) % b->n == j) return SpikeTestScalar(b->seed, i, j);
  if (b->periodic && b->n > 2 && (j + 1) % b->n == i) return SpikeTestScalar(b->seed, i, j);
  for (PetscInt k = 0; k < b->m; k++) /* all of them together weigh less than what dominates */
    if (i == b->rows[k] || j == b->rows[k]) return 0.01 * SpikeTestScalar(b->seed, i, j) / b->n;
  return 0.0;
}

static PetscScalar Entry(const Band *b, PetscInt i, PetscInt j)
{
  if (b->hermitian && i < j) return PetscConj(EntryInOrder(b, j, i));
  return EntryInOrder(b, b->swapped && (i ^ 1) < b->n ? i ^ 1 : i, j);
}

static PetscErrorCode Dense(const Band *b, PetscScalar *a)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < b->n; j++)
    for (PetscInt i = 0; i < b->n; i++) a[i + j * b->n] = Entry(b, i, j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Set(const Band *b, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < b->n; j++) {
      const PetscScalar v = Entry(b, i, j);

      if (v != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The unit of rounding of factors, and what it costs: those of 16 bits are computed in single precision */
static PetscReal GetLoss(PC pc, const Band *b)
{
  const PetscReal     unit[] = {PETSC_MACHINE_EPSILON / 2, PETSC_MACHINE_EPSILON / 2, 1.0 / 512, 1.0 / 2048};
  PetscSpikePrecision precision;

  if (PCSpikeGetPrecision(pc, &precision)) return -1.0;
  if (precision == PETSC_SPIKE_PRECISION_SINGLE && !PetscDefined(USE_REAL_SINGLE))
    return 2.0 * (b->kl + b->ku + 4) / 16777216.0;
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE || precision == PETSC_SPIKE_PRECISION_SINGLE)
    return 20.0 * b->n * PETSC_MACHINE_EPSILON;
  return 4.0 * unit[precision];
}

/* Several right-hand sides are those one by one */
static PetscErrorCode CheckColumns(PC pc, Vec x, const Band *b, PetscBool trans, PetscInt columns, PetscReal lost,
                                   const char where[])
{
  Mat       X, Y;
  Vec       cx, cy;
  PetscReal d, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, b->nlocal, PETSC_DECIDE, b->n, columns, NULL, &X));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  for (PetscInt c = 0; c < columns; c++) {
    PetscCall(MatDenseGetColumnVecWrite(X, c, &cx));
    PetscCall(SpikeTestSetRandom(cx, b->seed + 20 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(X, c, &cx));
  }
  if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
  else PetscCall(PCMatApply(pc, X, Y));
  for (PetscInt c = 0; c < columns; c++) {
    PetscCall(MatDenseGetColumnVecRead(X, c, &cx));
    if (trans) PetscCall(PCApplyTranspose(pc, cx, x));
    else PetscCall(PCApply(pc, cx, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &cx));
    PetscCall(VecNorm(x, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(Y, c, &cy));
    PetscCall(VecAXPY(x, -1.0, cy));
    PetscCall(MatDenseRestoreColumnVecRead(Y, c, &cy));
    PetscCall(VecNorm(x, NORM_INFINITY, &d));
    PetscCall(FuzzSmall(d, 20.0 * lost * (b->n + 1) * PETSC_MACHINE_EPSILON * norm,
                        trans ? "column of PCMatApplyTranspose()" : "column of PCMatApply()", where));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A direct solve ends below the tolerance of refinement, or says that it does not, which it may not where the factors
  hold the whole matrix. Its norms are 2-norms: ||r||_inf <= ||r||_2 <= tol (||A|| sqrt(n) ||x||_inf + sqrt(n)
  ||b||_inf)
*/
static PetscErrorCode CheckDirect(PC pc, Mat A, const Band *b, const PetscScalar *a, PetscBool sure, const char where[])
{
  KSP                ksp;
  Vec                x, y;
  KSPConvergedReason reason;
  PCSpikeInfo        info;
  const PetscReal    tol = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(y, b->seed + 40));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPSolve(ksp, y, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCSpikeGetInfo(pc, &info));
  if (reason > 0) {
    if (info.backward_error >= 0.0)
      PetscCall(FuzzBackward(b->n, a, PETSC_FALSE, y, x, 2.0 * tol / PetscSqrtReal(b->n + 1.0) / PETSC_MACHINE_EPSILON,
                             "backward error of a direct solve", where));
  } else PetscCall(FuzzSmall(sure ? 1.0 : 0.0, 0.0, KSPConvergedReasons[reason], where));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is factored exactly is compared with the matrix, anything else with its own transpose */
static PetscErrorCode Check(Fuzz *f, PC pc, Mat A, const Band *b, PetscScalar *a, const char where[])
{
  PCSpikeInfo    info;
  Vec            x, y;
  PetscBool      exact, direct = FuzzChance(f, 30), regular;
  PetscReal      window;
  const PetscInt columns = FuzzInt(f, 1, 9);
  /* what rounding may lose of a solution: a bound of the condition number */
  const PetscReal lost = b->slow ? 2 * SLOW_DOMINANCE / (SLOW_DOMINANCE - 1.0) : 1.0, loss = GetLoss(pc, b);

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSpikeGetWindowTolerance(pc, &window));
  exact = (PetscBool)(info.dropped == 0.0 &&
                      (info.partitions <= 1 || info.type == PC_SPIKE_FULL ||
                       (info.partitions == 2 && window == 0.0 && info.type == PC_SPIKE_TRUNCATED)));
  /* what is not dominant may be singular to rounding, partitions and chunks of it more so than the whole */
  regular = (PetscBool)(!b->weak || (info.partitions <= 1 && PetscMax(b->kl, b->ku) > 1 && !info.boosted));
  PetscCall(Dense(b, a));
  PetscCall(MatCreateVecs(A, &x, &y));
  for (PetscInt c = 0; c < columns && regular; c++) {
    PetscCall(SpikeTestSetRandom(y, b->seed + 10 + c));
    PetscCall(PCApply(pc, y, x));
    if (exact)
      PetscCall(FuzzBackward(b->n, a, PETSC_FALSE, y, x, loss / PetscMax(b->n, 1) / PETSC_MACHINE_EPSILON,
                             "backward error", where));
    PetscCall(PCApplyTranspose(pc, y, x));
    if (exact)
      PetscCall(FuzzBackward(b->n, a, PETSC_TRUE, y, x, loss / PetscMax(b->n, 1) / PETSC_MACHINE_EPSILON,
                             "transposed backward error", where));
  }
  /* windows of the transposed corrections are others than those of the plain ones */
  if (info.partitions > 1) window *= info.type == PC_SPIKE_FULL ? 0 : info.partitions;
  if (!b->weak) {
    PetscCall(SpikeTestAdjoint(pc, PetscMax(100.0 * (b->n + 1) * PETSC_MACHINE_EPSILON, loss) * lost + window, where));
    if (FuzzChance(f, 50)) PetscCall(CheckColumns(pc, x, b, PETSC_FALSE, columns, lost, where));
    if (FuzzChance(f, 30)) PetscCall(CheckColumns(pc, x, b, PETSC_TRUE, columns, lost, where));
  }
  if (direct) PetscCall(CheckDirect(pc, A, b, a, (PetscBool)(exact && regular), where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What comes on top of a band: at most one of Cholesky, row exchanges and a matching; a precision of the factors */
static PetscErrorCode DrawFactors(Fuzz *f, PetscMPIInt size, Band *b, PC pc, size_t length, char text[])
{
  const PetscInt what = FuzzInt(f, 0, 99);

  PetscFunctionBegin;
  text[0] = 0;
  if (what < 15 && !b->periodic && !b->m) {
    b->hermitian = PETSC_TRUE;
    b->ku        = b->kl;
    PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
    PetscCall(PetscStrlcat(text, ", cholesky", length));
  } else if (what < 30) {
    b->weak = (PetscBool)(!b->periodic && !b->slow && !b->m && b->n && FuzzChance(f, 60));
    PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
    PetscCall(PetscStrlcat(text, b->weak ? ", weak, pivoting" : ", pivoting", length));
    PetscFunctionReturn(PETSC_SUCCESS);
  } else if (what < 45) {
    b->swapped = (PetscBool)(size == 1 && !b->periodic && !b->m && FuzzChance(f, 60));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
    PetscCall(PetscStrlcat(text, b->swapped ? ", swapped rows, matching" : ", matching", length));
  }
  if (!b->slow && FuzzChance(f, 25)) {
    const PetscSpikePrecision precision = (PetscSpikePrecision)FuzzInt(f, PETSC_SPIKE_PRECISION_SINGLE,
                                                                       PETSC_SPIKE_PRECISION_FP16);

    PetscCall(PCSpikeSetPrecision(pc, precision));
    PetscCall(PetscStrlcat(text, ", ", length));
    PetscCall(PetscStrlcat(text, PetscSpikePrecisions[precision], length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const MatType  host[] = {MATAIJ, MATAIJ, "dia", MATBAIJ, MATDENSE}, device[] = {MATAIJCUSPARSE, "diacuda"};
  const PetscInt passes = FuzzInt(f, 1, 3);
  MatType        type;
  PCSpikeType    coupling = PC_SPIKE_BLOCK;
  Band           b;
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PetscMPIInt    size;
  PetscInt       least, slow = 0, most = 9;
  char           where[192], factors[64];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  type       = f->device ? device[FuzzInt(f, 0, 1)] : host[FuzzInt(f, 0, 4)];
  b.n        = FuzzSize(f, 300);
  b.seed     = FuzzInt(f, 0, 1000000);
  b.kl       = FuzzInt(f, 0, FuzzChance(f, 40) ? 1 : 9);
  b.ku       = FuzzInt(f, 0, FuzzChance(f, 40) ? 1 : 9);
  b.kl       = PetscMin(b.kl, PetscMax(0, b.n - 1));
  b.ku       = PetscMin(b.ku, PetscMax(0, b.n - 1));
  b.periodic = (PetscBool)(b.kl == 1 && b.ku == 1 && FuzzChance(f, 30));
  PetscCall(FuzzSplit(f, b.n, &b.nlocal));
  PetscCall(PetscMalloc1(b.n * b.n, &a));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, b.nlocal, b.nlocal, b.n, b.n));
  PetscCall(MatSetType(A, type));
  PetscCall(MatSetUp(A));
  if (strcmp(type, MATDENSE)) PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  least = b.nlocal ? b.nlocal : b.n;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &least, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (FuzzChance(f, 6) && (size == 1 || least >= 70)) { /* a wide band */
    most       = 70;
    b.periodic = PETSC_FALSE;
    b.kl       = PetscMin(FuzzInt(f, 0, most), PetscMax(0, b.n - 1));
    b.ku       = PetscMin(FuzzInt(f, 0, most), PetscMax(0, b.n - 1));
  }
  /* ranks with fewer rows than a half-bandwidth are refused */
  if (FuzzChance(f, 80) && (size == 1 || least >= 9)) {
    const PCSpikeType coupled[] = {PC_SPIKE_TRUNCATED, PC_SPIKE_FULL, PC_SPIKE_AUTO};

    coupling = coupled[FuzzInt(f, 0, 2)];
    if (coupling != PC_SPIKE_TRUNCATED) slow = 40;
  }
  b.slow = FuzzChance(f, slow);
  /* a border, where ranks have the rows of the next half-bandwidth that is tried, of no matrix by diagonals */
  if (!b.slow && !b.periodic && (most == 9 || size == 1) && strncmp(type, "dia", 3) &&
      (size == 1 || coupling == PC_SPIKE_BLOCK || (least >= 12 && b.n >= 40)) && b.n > 0 && FuzzChance(f, 40)) {
    b.m = FuzzInt(f, 1, 3);
    for (PetscInt k = 0; k < b.m; k++) b.rows[k] = FuzzInt(f, 0, b.n - 1);
  }
  PetscCall(PCSpikeSetType(pc, coupling));
  if (FuzzChance(f, 60)) PetscCall(PCSpikeSetWindowTolerance(pc, 0.0));
  if (FuzzChance(f, 70)) PetscCall(PCSpikeSetLocalPartitions(pc, FuzzInt(f, 1, FuzzChance(f, 50) ? 4 : 12)));
  PetscCall(PCFactorSetMatOrderingType(pc, FuzzChance(f, 80) || size > 1 ? MATORDERINGNATURAL : MATORDERINGRCM));
  PetscCall(DrawFactors(f, size, &b, pc, sizeof(factors), factors));
  if (b.hermitian || b.weak || b.swapped || factors[0]) slow = b.slow ? slow : 0;
  PetscCall(Set(&b, A));
  for (PetscInt pass = 0; pass < passes; pass++) {
    if (pass) { /* new values, at times a wider or narrower band */
      b.seed++;
      if (FuzzChance(f, 30)) b.kl = PetscMin(FuzzInt(f, 0, 9), PetscMax(0, b.n - 1));
      if (b.hermitian) b.ku = b.kl;
      b.periodic = (PetscBool)(b.periodic && b.kl == 1);
      if (FuzzChance(f, 30)) b.slow = (PetscBool)(slow && !b.slow && !b.m);
      PetscCall(Set(&b, A));
    }
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%s, %s, n %" PetscInt_FMT ", band %" PetscInt_FMT ",%" PetscInt_FMT "%s%s, %" PetscInt_FMT
                            " full rows%s, pass %" PetscInt_FMT,
                            type, PCSpikeTypes[coupling], b.n, b.kl, b.ku, b.periodic ? " periodic" : "",
                            b.slow ? " slow" : "", b.m, factors, pass));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(Check(f, pc, A, &b, a, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_spike", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_spike_1.out
      test:
         suffix: 1
         args: -n 100
      test:
         suffix: ranks
         nsize: {{2 3 4 5}}
         args: -n 30 -first 100
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 100 -fuzz_device
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -n 20 -first 200 -fuzz_device

TEST*/
