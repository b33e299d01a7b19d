/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE with row exchanges inside partitions: bands that have no pivots in their places.\n\n";

#include "spikecase.h"
#include "lapackgb.h"
#include "viewtext.h"

#define EPS PETSC_MACHINE_EPSILON

/* Bands without dominance; HOLES: half of the diagonal is zero */
typedef enum {
  SMALL,
  HOLES
} Kind;

typedef struct {
  PetscInt    n, kl, ku, local, seed, bad; /* column bad has entries of a size near rounding, -1: none */
  PCSpikeType type;
  Kind        kind;
  PetscInt    nlocal; /* rows of this rank */
} Case;

static PetscScalar Entry(const Case *c, PetscInt i, PetscInt j)
{
  if (i - j > c->kl || j - i > c->ku) return 0.0;
  if (j == c->bad) return 0.0;
  if (i == j && c->kl && c->ku)
    return c->kind == SMALL ? 0.01 * SpikeTestScalar(c->seed, i, i)
                            : (SpikeTestUniform(c->seed, i, -1) > 0 ? SpikeTestScalar(c->seed, i, i) : 0.0);
  if (i == j) return 1.0 + (PetscReal)0.5 * SpikeTestUniform(c->seed, i, i); /* a triangle has no others */
  return SpikeTestScalar(c->seed, i, j) * (c->kl && c->ku ? 1.0 : 1.0 / (1.0 + c->kl + c->ku));
}

static PetscErrorCode Fill(const Case *c, Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(c->n - 1, i + c->ku); j++)
      PetscCall(MatSetValue(A, i, j, Entry(c, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const Case *c, MatType type, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, c->nlocal, c->nlocal, c->n, c->n));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(c, *A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetType(*pc, c->type));
  PetscCall(PCSpikeSetLocalPartitions(*pc, c->local));
  PetscCall(PCSpikeSetWindowTolerance(*pc, 0.0));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetPivoting(*pc, PETSC_TRUE));
  PetscCall(PCFactorSetShiftType(*pc, MAT_SHIFT_NONE));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The 1-norm of rows and columns lo .. hi - 1 of a dense array */
static PetscReal GetNorm(PetscInt n, const PetscScalar *a, PetscInt lo, PetscInt hi)
{
  PetscReal norm = 0.0;

  for (PetscInt j = lo; j < hi; j++) {
    PetscReal sum = 0.0;

    for (PetscInt i = lo; i < hi; i++) sum += PetscAbsScalar(a[i + j * n]);
    norm = PetscMax(norm, sum);
  }
  return norm;
}

static PetscErrorCode Dense(const Case *c, PetscScalar *a)
{
  PetscFunctionBegin;
  for (PetscInt j = 0; j < c->n; j++)
    for (PetscInt i = 0; i < c->n; i++) a[i + j * c->n] = Entry(c, i, j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides are those one by one */
static PetscErrorCode CheckMatApply(PC pc, PetscBool trans, PetscInt n, const PetscScalar *m, PetscReal tol,
                                    const char where[])
{
  Mat                A, B, X;
  Vec                v;
  VecType            type;
  PetscInt           rows, start, ld;
  const PetscInt     cols = PetscMin(n, 21);
  const PetscScalar *x;
  PetscReal          error = 0.0, norm = 0.0;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecGetType(v, &type));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, rows, PETSC_DECIDE, n, cols, PETSC_DECIDE, NULL, &B));
  PetscCall(MatZeroEntries(B));
  PetscCall(MatShift(B, 1.0));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  if (trans) PetscCall(PCMatApplyTranspose(pc, B, X));
  else PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatDenseGetLDA(X, &ld));
  PetscCall(MatDenseGetArrayRead(X, &x));
  for (PetscInt j = 0; j < cols; j++) {
    for (PetscInt i = 0; i < rows; i++) {
      const PetscReal d = PetscAbsScalar(x[i + (PetscCount)j * ld] - m[start + i + j * n]);

      if (!(d <= error)) error = d;
      norm = PetscMax(norm, PetscAbsScalar(m[start + i + j * n]));
    }
  }
  PetscCall(MatDenseRestoreArrayRead(X, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &norm, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(SpikeTestSmall(error, tol * norm, trans ? "transposed columns" : "columns", where));
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The operator and its transpose against the inverse of what the type stands for. Errors are rounding times the
  conditions of partitions and of what they are coupled to.
*/
static PetscErrorCode CheckOperator(const Case *c, PC pc, const char where[])
{
  const PetscInt  n = c->n;
  PetscMPIInt     size;
  const PetscInt *ranges;
  PetscInt        np, *start, whole[2] = {0, n};
  Mat             A;
  PetscScalar    *a, *ref, *dinv, *m;
  PetscReal       cond = 1.0, tol;
  PCSpikeInfo     info;
  PetscBool       coupled;
  PetscReal       diff, norm;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCall(PetscMalloc1(size * c->local + 1, &start));
  SpikeTestPartitions(size, ranges, c->local, &np, start);
  PetscCall(PetscCalloc4(n * n, &a, n * n, &ref, n * n, &dinv, n * n, &m));
  PetscCall(Dense(c, a));
  PetscCall(SpikeTestReference(n, a, c->kl, c->ku, np, start, PETSC_FALSE, dinv));
  coupled = (PetscBool)(c->type != PC_SPIKE_BLOCK && np > 1);
  if (!coupled) PetscCall(PetscArraycpy(ref, dinv, n * n));
  else if (c->type == PC_SPIKE_FULL) PetscCall(SpikeTestReference(n, a, c->kl, c->ku, 1, whole, PETSC_FALSE, ref));
  else PetscCall(SpikeTestReference(n, a, c->kl, c->ku, np, start, PETSC_TRUE, ref));
  for (PetscInt p = 0; p < np; p++)
    cond = PetscMax(cond, GetNorm(n, a, 0, n) * GetNorm(n, dinv, start[p], start[p + 1]));
  tol = 500 * EPS * cond * (coupled ? PetscMax(1.0, GetNorm(n, a, 0, n) * GetNorm(n, ref, 0, n)) : 1.0);
  if (tol < 0.01) { /* else nothing can be said */
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.partitions == np && !info.boosted), "%s: %" PetscInt_FMT " partitions",
                             where, info.partitions));
    PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
    SpikeTestDifference(n, 0, n, 0, n, m, ref, PETSC_FALSE, &diff, &norm);
    PetscCall(SpikeTestSmall(diff, tol * norm, "error of the operator", where));
    PetscCall(CheckMatApply(pc, PETSC_FALSE, n, m, tol, where));
    PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m));
    SpikeTestDifference(n, 0, n, 0, n, m, ref, PETSC_TRUE, &diff, &norm);
    PetscCall(SpikeTestSmall(diff, tol * norm, "error of the transposed operator", where));
    PetscCall(CheckMatApply(pc, PETSC_TRUE, n, m, tol, where));
  }
  PetscCall(PetscFree(start));
  PetscCall(PetscFree4(a, ref, dinv, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt Random(PetscInt *seed, PetscInt least, PetscInt most)
{
  return least + (PetscInt)((SpikeTestUniform(4711, (*seed)++, 1) + 1.0) / 2 * (most - least + 1)) % (most - least + 1);
}

/* Rows of this rank: as PETSc has them, or none on the first rank */
static PetscErrorCode Layout(PetscBool empty, Case *c)
{
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (!empty || size == 1) {
    size++;
    rank++;
  }
  c->nlocal = rank ? c->n / (size - 1) + (rank - 1 < c->n % (size - 1) ? 1 : 0) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandom(PetscInt cases)
{
  const PCSpikeType types[] = {PC_SPIKE_FULL, PC_SPIKE_TRUNCATED, PC_SPIKE_BLOCK};
  PetscMPIInt       size;
  PetscInt          seed = 17, checked = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt k = 0; k < cases; k++) {
    Case           c      = {0, 0, 0, 1, k, -1, types[k % 3], k % 2 ? HOLES : SMALL, 0};
    const PetscInt most[] = {1, 3, 9, 20, 50};
    PetscInt       K, least;
    Mat            A;
    PC             pc;
    char           where[128];
    PCFailedReason reason;

    c.kl    = Random(&seed, 0, most[k % 5]);
    c.ku    = Random(&seed, 0, most[k % 5]);
    c.local = Random(&seed, 1, 7);
    K       = PetscMax(c.kl, c.ku);
    if (k % 7 == 3) c.n = Random(&seed, 0, 1) ? K : K + 1;
    else if (k % 7 == 5) c.n = Random(&seed, 0, 1);
    else c.n = Random(&seed, 1, PetscMax(200, 3 * K * PetscMin(c.local * size, 5)));
    PetscCall(Layout((PetscBool)(k % 4 == 1), &c));
    /* as PCSPIKE has them: a partition has K rows, where coupled, and a row */
    least = c.n / (size - (k % 4 == 1 && size > 1 ? 1 : 0));
    if (c.type != PC_SPIKE_BLOCK) {
      if (size > 1 && least < K) c.type = PC_SPIKE_BLOCK;
      else c.local = PetscMax(1, PetscMin(c.local, least / PetscMax(K, 1)));
    }
    c.local = PetscMax(1, PetscMin(c.local, least));
    if (size > 1 && c.n % (size - (k % 4 == 1 ? 1 : 0)) && c.local > 1) c.local = 1; /* ranks have equally many */
    if (c.type == PC_SPIKE_BLOCK) c.kind = SMALL;
    if (c.kl == 1 && c.ku == 1 && (c.type == PC_SPIKE_BLOCK || (size == 1 && c.local == 1))) c.ku = 2; /* systems */
    c.kl = PetscMin(c.kl, PetscMax(c.n - 1, 0));
    c.ku = PetscMin(c.ku, PetscMax(c.n - 1, 0));
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "case %" PetscInt_FMT ": n %" PetscInt_FMT " band %" PetscInt_FMT ",%" PetscInt_FMT
                            ", %" PetscInt_FMT " partitions a rank, %s, kind %d",
                            k, c.n, c.kl, c.ku, c.local, PCSpikeTypes[c.type], (int)c.kind));
    PetscCall(Create(&c, MATAIJ, &A, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    if (reason == PC_NOERROR) {
      checked++;
      PetscCall(CheckOperator(&c, pc, where));
      c.seed += 1000; /* other values in the same pattern */
      PetscCall(Fill(&c, A));
      PetscCall(PCSetUp(pc));
      PetscCall(PCReduceFailedReason(pc));
      PetscCall(PCGetFailedReason(pc, &reason));
      if (reason == PC_NOERROR) PetscCall(CheckOperator(&c, pc, where));
    } else { /* a partition that is singular by itself */
      PetscCall(
        SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT), "%s: %s", where, PCFailedReasons[reason]));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(
    SpikeTestCheck((PetscBool)(checked >= 3 * cases / 4), "only %" PetscInt_FMT " cases were checked", checked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution by LAPACK's gbtrf and gbtrs, on one rank */
static PetscErrorCode SolveByLapack(const Case *c, Vec b, Vec x)
{
  const PetscInt ld = 2 * c->kl + c->ku + 1;
  PetscBLASInt   n = (PetscBLASInt)c->n, kl = (PetscBLASInt)c->kl, ku = (PetscBLASInt)c->ku, bld = (PetscBLASInt)ld;
  PetscBLASInt  *piv, one = 1;
  PetscScalar   *ab, *xa;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1((PetscCount)ld * c->n, &ab));
  PetscCall(PetscMalloc1(c->n, &piv));
  for (PetscInt j = 0; j < c->n; j++)
    for (PetscInt i = PetscMax(0, j - c->ku); i <= PetscMin(c->n - 1, j + c->kl); i++)
      ab[(PetscCount)j * ld + c->kl + c->ku + i - j] = Entry(c, i, j);
  PetscCall(VecCopy(b, x));
  PetscCall(VecGetArray(x, &xa));
  PetscCallLAPACKInfo("LAPACKgbtrf", LAPACKgbtrf_(&n, &n, &kl, &ku, ab, &bld, piv, &info));
  PetscCallLAPACKInfo("LAPACKgbtrs", LAPACKgbtrs_("N", &n, &kl, &ku, &one, ab, &bld, piv, xa, &n, &info));
  PetscCall(VecRestoreArray(x, &xa));
  PetscCall(PetscFree(ab));
  PetscCall(PetscFree(piv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Backward errors are within 100 times those of LAPACK, without a step of refinement, and plain factors are worse;
  several partitions, refined, too
*/
static PetscErrorCode TestLapack(void)
{
  /* seeds last */
  const PetscInt bands[][3] = {{1, 2, 0}, {4, 4, 8}, {7, 16, 2}, {50, 30, 3}, {60, 60, 4}, {130, 130, 5}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    const PetscInt n = PetscDefined(USE_REAL_SINGLE) ? 151 : 1501; /* solutions of longer ones overflow there */
    Case           c = {n, bands[k][0], bands[k][1], 1, bands[k][2], -1, PC_SPIKE_AUTO, SMALL, n};
    Mat            A;
    PC             pc;
    Vec            x, b;
    PetscReal      lapack, ours, plain;
    PCSpikeInfo    info;
    char           where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "band %" PetscInt_FMT ",%" PetscInt_FMT, c.kl, c.ku));
    PetscCall(Create(&c, MATAIJ, &A, &pc));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 9));
    PetscCall(SolveByLapack(&c, b, x));
    PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &lapack));
    PetscCall(PCApply(pc, b, x));
    PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &ours));
    PetscCall(SpikeTestSmall(ours, 100 * PetscMax(lapack, EPS / 16), "backward error", where));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.growth >= 1.0 && info.growth < 1e4 && !info.boosted), "%s: growth %g",
                             where, (double)info.growth));
    PetscCall(PCSpikeSetPivoting(pc, PETSC_FALSE));
    PetscCall(PCApply(pc, b, x));
    PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &plain));
    /* in single precision rows may be exchanged all the same, by a trial */
    PetscCall(SpikeTestCheck((PetscBool)(!(plain < 3 * ours) || PetscDefined(USE_REAL_SINGLE)),
                             "%s: %g without pivoting, %g with it", where, (double)plain, (double)ours));
    PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
    PetscCall(PCSpikeSetLocalPartitions(pc, 4));
    PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
    PetscCall(PCSpikeSetRefinementTolerance(pc, 10 * EPS));
    PetscCall(PCSpikeSetMaxRefinements(pc, 4));
    PetscCall(PCApply(pc, b, x));
    PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, x, &ours));
    PetscCall(SpikeTestSmall(ours, 100 * PetscMax(lapack, EPS / 16), "backward error of 4 partitions", where));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column without entries: a failure that names the row, a boosted pivot, and no trace of them later */
static PetscErrorCode TestSingular(void)
{
  const PetscInt bands[][2] = {{2, 3}, {9, 5}, {0, 4}, {60, 50}};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    Case           c = {size * 150, bands[k][0], bands[k][1], 1, (PetscInt)k, 71, PC_SPIKE_FULL, SMALL, 150};
    Mat            A;
    PC             pc;
    PCFailedReason reason;
    PCSpikeInfo    info;
    const PetscInt most = PetscDefined(USE_REAL_SINGLE) ? 2 : 1; /* small ones that rounding leaves */
    char           where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "singular band %" PetscInt_FMT ",%" PetscInt_FMT, c.kl, c.ku));
    PetscCall(Create(&c, MATAIJ, &A, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(
      SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT), "%s: %s", where, PCFailedReasons[reason]));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.zeropivot_row == 71), "%s: zero pivot in row %" PetscInt_FMT, where,
                             info.zeropivot_row));
    PetscCall(PCFactorSetShiftType(pc, (MatFactorShiftType)PETSC_DECIDE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_NOERROR && info.boosted >= 1 && info.boosted <= most),
                             "%s: %s, boosted %" PetscInt_FMT, where, PCFailedReasons[reason], info.boosted));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    c.bad = -1;
    PetscCall(Fill(&c, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_NOERROR), "%s: %s afterwards", where, PCFailedReasons[reason]));
    if (size == 1) PetscCall(CheckOperator(&c, pc, where));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without pivoting and with it in turn, from a MATDIA too, and other partitions; what is refused; what is said */
static PetscErrorCode TestChanges(void)
{
  PetscMPIInt    size;
  Mat            A, B;
  PC             pc;
  PCFailedReason reason;
  PetscErrorCode ierr;
  Vec            x, y, b;
  PetscReal      eta;
  char           text[4096];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  Case c = {size * 120, 3, 2, 2, 5, -1, PC_SPIKE_FULL, HOLES, 120};
  PetscCall(Create(&c, MATAIJ, &A, &pc));
  PetscCall(PCSpikeSetPivoting(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_NUMERIC_ZEROPIVOT), "zero diagonal, no pivoting: %s",
                           PCFailedReasons[reason]));
  PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
  PetscCall(CheckOperator(&c, pc, "with pivoting"));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(SpikeTestCheck((PetscBool)(strstr(text, "pivoting: rows exchanged inside each partition") != NULL),
                           "the view does not say it"));
  c.local = 3;
  PetscCall(PCSpikeSetLocalPartitions(pc, 3));
  PetscCall(CheckOperator(&c, pc, "other partitions"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(CheckOperator(&c, pc, "after PCReset()"));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 2));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatConvert(A, MATDIA, MAT_INITIAL_MATRIX, &B));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCApply(pc, b, y));
  PetscCall(SpikeTestBackwardError(A, PETSC_FALSE, b, y, &eta));
  PetscCall(SpikeTestSmall(eta, 1e5 * EPS, "backward error", "from a MATDIA"));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_BF16));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_INCOMP), "16 bits: error %d", (int)ierr));
  PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
  PetscCall(CheckOperator(&c, pc, "after an error"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Pairs of rows of a dominant band have changed places: spikes fall, and only rows near the ends of partitions are
  corrected, some of them with values that the exchanges of a panel carry beyond the window
*/
static PetscErrorCode TestWindows(void)
{
  const PetscInt  bands[][2] = {{1, 2}, {3, 3}, {9, 6}, {20, 33}};
  const PetscReal window     = PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-8;
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    SpikeTestBand band = {size * 4000, bands[k][0], bands[k][1], 3.0, SPIKE_TEST_RANDOM, 3};
    Mat           A;
    PC            pc;
    PCSpikeInfo   info;
    PetscInt      start, end;
    PetscReal     error = 0.0;
    char          where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "pairs, band %" PetscInt_FMT ",%" PetscInt_FMT, band.kl, band.ku));
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, 4000, 4000, band.n, band.n));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(MatSetUp(A));
    PetscCall(MatGetOwnershipRange(A, &start, &end));
    for (PetscInt i = start; i < end; i++)
      for (PetscInt j = PetscMax(0, (i ^ 1) - band.kl); j <= PetscMin(band.n - 1, (i ^ 1) + band.ku); j++)
        PetscCall(MatSetValue(A, i, j, SpikeTestBandEntry(&band, i ^ 1, j), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED));
    PetscCall(PCSpikeSetLocalPartitions(pc, 4));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
    PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
    PetscCall(PCSpikeSetWindowTolerance(pc, window));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestSmall(info.decay, window, "far ends of the spikes", where));
    PetscCall(SpikeTestInverse(pc, A, 0.0, &error));
    PetscCall(SpikeTestSmall(error, 10 * window, "residual", where));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscInt    cases = 60;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(TestRandom(cases));
  if (size == 1) PetscCall(TestLapack());
  PetscCall(TestSingular());
  PetscCall(TestWindows());
  PetscCall(TestChanges());
  PetscCall(SpikeTestEnd("spike_pivoting"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_pivoting_1.out
      nsize: {{1 2 3 5}}
      test:
         suffix: 1
      test:
         suffix: isa
         nsize: 1
         args: -spike_host_isa base
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
