/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Periodic tridiagonal systems in PCSPIKE: found, solved, transposed, refilled, given up, "
                     "singular; one that is the whole matrix, and many.\n\n";

#include "spiketest.h"

#define MAX_LINES 64

/* Lines one after the other: each a system with both corners, one of them or none, the zero ones stored */
typedef enum {
  CORNERS_BOTH,
  CORNERS_UPPER,
  CORNERS_LOWER,
  CORNERS_NONE,
  NCORNERS
} Corners;

typedef struct {
  PetscInt  nlines, start[MAX_LINES + 1];
  Corners   corners[MAX_LINES];
  PetscInt  seed;
  PetscInt  bare;     /* line whose corners are zero, -1: none                           */
  PetscInt  couple;   /* row that is coupled to the one before it, though a line begins there */
  PetscInt  far;      /* line with an entry from its first row to its third but one          */
  PetscInt  singular; /* line of constant rows that add up to zero                           */
  PetscReal first;    /* first diagonal entries are multiplied by it                          */
} Lines;

static void LinesCreate(PetscInt nlines, PetscInt length, Lines *c)
{
  c->nlines   = nlines;
  c->start[0] = 0;
  for (PetscInt k = 0; k < nlines; k++) {
    c->start[k + 1] = c->start[k] + (length ? length : 3 + (k * 37) % 60);
    c->corners[k]   = (Corners)(k % NCORNERS);
  }
  c->seed = 1;
  c->bare = c->couple = c->far = c->singular = -1;
  c->first                                   = 1.0;
}

static PetscInt LineOf(const Lines *c, PetscInt row)
{
  PetscInt k = 0;

  while (row >= c->start[k + 1]) k++;
  return k;
}

/* *stored: whether the pattern has this entry */
static PetscScalar LinesEntry(const Lines *c, PetscInt i, PetscInt j, PetscBool *stored)
{
  const PetscInt k = LineOf(c, i), f = c->start[k], l = c->start[k + 1] - 1, same = j >= f && j <= l,
                 d    = PetscAbsInt(i - j);
  const PetscScalar v = c->singular == k ? -1.0 : (PetscScalar)0.7 * SpikeTestScalar(c->seed, i, j);

  *stored = PETSC_TRUE;
  if (!d)
    return c->singular == k ? 2.0
                            : (SpikeTestUniform(c->seed, i, -1) > 0.0 ? 1.0 : -1.0) *
                                (3.0 + SpikeTestUniform(c->seed, i, i)) * (i == f ? c->first : 1.0);
  if (d == 1) return same || PetscMax(i, j) == c->couple ? v : 0.0;
  if (i == f && j == l)
    return k == c->bare || c->corners[k] == CORNERS_LOWER || c->corners[k] == CORNERS_NONE ? 0.0 : v;
  if (i == l && j == f)
    return k == c->bare || c->corners[k] == CORNERS_UPPER || c->corners[k] == CORNERS_NONE ? 0.0 : v;
  if (i == f && j == l - 2 && l - f > 5) return k == c->far ? (PetscScalar)0.3 : 0.0;
  *stored = PETSC_FALSE;
  return 0.0;
}

/* Lines are inside ranks, unless there is one only, whose rows all ranks share */
static PetscErrorCode LinesMat(const Lines *c, Mat *A)
{
  PetscMPIInt    size, rank;
  const PetscInt n      = c->start[c->nlines];
  PetscInt       nlocal = PETSC_DECIDE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (c->nlines > 1) nlocal = c->start[(rank + 1) * c->nlines / size] - c->start[rank * c->nlines / size];
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 6, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 6, NULL, 6, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinesSet(const Lines *c, Mat A)
{
  const PetscInt n = c->start[c->nlines];
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt k = LineOf(c, i), f = c->start[k], l = c->start[k + 1] - 1, far[3] = {f, l, l - 2};
    PetscBool      stored;

    for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(n - 1, i + 1); j++)
      PetscCall(MatSetValue(A, i, j, LinesEntry(c, i, j, &stored), INSERT_VALUES));
    for (PetscInt t = 0; t < 3; t++) {
      const PetscScalar v = far[t] >= 0 && PetscAbsInt(far[t] - i) > 1 ? LinesEntry(c, i, far[t], &stored) : 0.0;

      if (far[t] >= 0 && PetscAbsInt(far[t] - i) > 1 && stored) PetscCall(MatSetValue(A, i, far[t], v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  |A x - b| / (|b| + |A| |x|), x = M^-1 b, the same transposed and of many columns at once, and that the two applies are
  adjoint
*/
static PetscErrorCode CheckInverse(PC pc, Mat A, PetscReal tol, const char where[])
{
  const PetscInt columns[] = {1, 3, 20};
  Vec            b, x, r;
  PetscReal      norm, anorm, bnorm, xnorm;
  PetscInt       nlocal, n;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(MatGetLocalSize(A, &nlocal, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestInverse(pc, A, anorm, &norm));
  PetscCall(SpikeTestSmall(norm, tol, "residual", where));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++) {
    Mat B, X;

    PetscCall(MatCreateDense(PETSC_COMM_WORLD, nlocal, PETSC_DECIDE, n, columns[k], NULL, &B));
    PetscCall(MatSetRandom(B, NULL));
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    for (PetscInt trans = 0; trans < 2; trans++) {
      PetscCall(trans ? PCMatApplyTranspose(pc, B, X) : PCMatApply(pc, B, X));
      for (PetscInt j = 0; j < columns[k]; j++) {
        Vec bj, xj;

        PetscCall(MatDenseGetColumnVecRead(B, j, &bj)); /* on the host: copies are where A wants them */
        PetscCall(VecCopy(bj, b));
        PetscCall(MatDenseRestoreColumnVecRead(B, j, &bj));
        PetscCall(MatDenseGetColumnVecRead(X, j, &xj));
        PetscCall(VecCopy(xj, x));
        PetscCall(MatDenseRestoreColumnVecRead(X, j, &xj));
        PetscCall(trans ? MatMultTranspose(A, x, r) : MatMult(A, x, r));
        PetscCall(VecAXPY(r, -1.0, b));
        PetscCall(VecNorm(r, NORM_2, &norm));
        PetscCall(VecNorm(b, NORM_2, &bnorm));
        PetscCall(VecNorm(x, NORM_2, &xnorm));
        PetscCall(SpikeTestSmall(norm, tol * (bnorm + anorm * xnorm),
                                 trans ? "transposed residual of columns" : "residual of columns", where));
      }
    }
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(SpikeTestAdjoint(pc, tol, where));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  That so many periodic systems were found, the band is tridiagonal and nothing was dropped or reordered; 0: none is to
  be found
*/
static PetscErrorCode CheckFound(PC pc, PetscInt periodic, const char where[])
{
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.periodic == periodic),
                           "%s: %" PetscInt_FMT " periodic systems, %" PetscInt_FMT " expected", where, info.periodic,
                           periodic));
  if (periodic)
    PetscCall(SpikeTestCheck((PetscBool)(info.kl == 1 && info.ku == 1 && !info.reordered && info.dropped == 0.0),
                             "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT ", reordered %d, dropped %g", where,
                             info.kl, info.ku, (int)info.reordered, (double)info.dropped));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Tolerance(void)
{
  PetscMPIInt size;

  if (MPI_Comm_size(PETSC_COMM_WORLD, &size)) return 0.0;
  /* windows end at 1e-8 of the spikes */
  return size == 1 ? 200 * PETSC_MACHINE_EPSILON : PetscMax(1e-7, 200 * PETSC_MACHINE_EPSILON);
}

/*
  Partitions of a rank with rows start[0] to start[np] that begin where nothing couples rows i - 1 and i: at the place
  that is nearest to an equal share of what is left, of lengths from a half to five quarters of the mean
*/
static void MoveToCuts(PetscInt n, const PetscScalar a[], PetscInt np, PetscInt start[])
{
  const PetscInt end = start[np], mean = (end - start[0]) / np, least = PetscMax((mean + 1) / 2, 1),
                 most = mean + ((end - start[0]) % np ? 1 : 0) + mean / 4;

  for (PetscInt p = 1; p < np; p++) {
    const PetscInt rest = np - p, share = (end - start[p - 1] + rest) / (rest + 1);
    PetscInt       best = -1;

    for (PetscInt i = start[p - 1] + least; i <= start[p - 1] + most; i++) {
      const PetscInt from = PetscAbsInt(i - start[p - 1] - share);

      if (end - i < rest * least || end - i > rest * most) continue;
      if (a[i + (i - 1) * n] != (PetscScalar)0.0 || a[i - 1 + i * n] != (PetscScalar)0.0) continue;
      if (best < 0 || from < PetscAbsInt(best - start[p - 1] - share)) best = i;
    }
    start[p] = best < 0 ? start[p - 1] + share : best;
  }
}

/* The operator against the inverse of the diagonal blocks of A, even[p] to even[p + 1] each, or at cuts, by LAPACK */
static PetscErrorCode CheckBlocks(PC pc, Mat A, PetscInt np, const PetscInt even[], PetscReal tol, const char where[])
{
  PetscScalar *a, *ref, *op;
  PetscInt     n, r0, r1, start[16];
  PetscReal    diff, norm;
  PetscMPIInt  size;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscCalloc3(n * n, &a, n * n, &ref, n * n, &op));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  for (PetscInt i = r0; i < r1; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           count;

    PetscCall(MatGetRow(A, i, &count, &cols, &vals));
    for (PetscInt k = 0; k < count; k++) a[i + cols[k] * n] = vals[k];
    PetscCall(MatRestoreRow(A, i, &count, &cols, &vals));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, a, n * n, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscArraycpy(start, even, np + 1));
  for (PetscInt p = 0; np > size && p < np; p += np / size) MoveToCuts(n, a, np / size, start + p);
  for (PetscInt p = 0; p < np; p++)
    PetscCall(SpikeTestInvert(start[p + 1] - start[p], a + start[p] * (n + 1), n, ref + start[p] * (n + 1), n));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall(SpikeTestOperator(pc, (PetscBool)trans, op));
    SpikeTestDifference(n, 0, n, 0, n, op, ref, (PetscBool)trans, &diff, &norm);
    PetscCall(
      SpikeTestSmall(diff, tol * norm, trans ? "error of the transposed operator" : "error of the operator", where));
  }
  PetscCall(PetscFree3(a, ref, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One system that is the whole matrix: any size, both corners or one, first diagonal entries of any size, partitions. On
  several ranks spikes are as long as partitions: few rows leave much of them
*/
static PetscErrorCode TestWhole(void)
{
  const PetscInt  sizes[]  = {3, 4, 5, 16, 33, 1501};
  const PetscReal firsts[] = {1.0, 0.0, 1e-9, 5.0};
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    for (PetscInt corners = 0; corners < CORNERS_NONE; corners++) {
      for (size_t f = 0; f < PETSC_STATIC_ARRAY_LENGTH(firsts); f++) {
        for (PetscInt partitions = 1; partitions <= (sizes[k] > 100 ? 3 : 1); partitions += 2) {
          const PetscInt  ends[] = {0, sizes[k]};
          const PetscBool exact  = (PetscBool)(size == 1 && partitions == 1);
          Lines           c;
          Mat             A;
          PC              pc;
          char            where[96];

          LinesCreate(1, sizes[k], &c);
          c.corners[0] = (Corners)corners;
          c.first      = firsts[f];
          /* as good as singular, or so near to it that it shows */
          if (corners != CORNERS_BOTH && firsts[f] < 1.0) continue;
          PetscCall(PetscSNPrintf(where, sizeof(where),
                                  "%" PetscInt_FMT " rows, corners %d, first %g, %" PetscInt_FMT " partitions",
                                  sizes[k], (int)corners, (double)firsts[f], partitions));
          PetscCall(LinesMat(&c, &A));
          PetscCall(LinesSet(&c, A));
          PetscCall(CreatePC(A, &pc));
          PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
          PetscCall(PCSetUp(pc));
          PetscCall(CheckFound(pc, 1, where));
          if (exact || sizes[k] > 100)
            PetscCall(CheckInverse(pc, A, exact ? 50 * Tolerance() : PetscMax(1e-6, Tolerance()), where));
          else PetscCall(SpikeTestAdjoint(pc, Tolerance(), where));
          if (exact && sizes[k] < 100) PetscCall(CheckBlocks(pc, A, 1, ends, 50 * Tolerance(), where));
          PetscCall(PCDestroy(&pc));
          PetscCall(MatDestroy(&A));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Corners with which the usual gamma makes T singular, a(f,f) a(l,l) = -a(f,l) a(l,f); and a periodic Laplacian with a
  shift of 1e-3, |A^-1| = 1000, whose q falls by exp(-0.03) a row only, so that every row of the update counts: on one
  rank, for truncation would show on several.
*/
static PetscErrorCode TestCirculant(PetscBool slow)
{
  const PetscInt n     = slow ? 1500 : 400;
  const char    *where = slow ? "slow" : "gamma";
  PetscMPIInt    size;
  PetscInt       start, end;
  Mat            A;
  PC             pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (slow && size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 3, NULL, 3, NULL));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    const PetscInt cols[3] = {i, (i + 1) % n, (i + n - 1) % n};
    PetscScalar    v[3]    = {2.0, 0.25, 0.25};

    if (slow) {
      v[0] = 2.001;
      v[1] = v[2] = -1.0;
    } else if (i == 0) v[2] = 2.0;
    else if (i == n - 1) v[1] = -2.0;
    PetscCall(MatSetValues(A, 1, &i, 3, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(CheckInverse(pc, A, Tolerance(), where));
  PetscCall(CheckFound(pc, 1, where));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many lines have a corner */
static PetscInt CountPeriodic(const Lines *c)
{
  PetscInt count = 0;

  for (PetscInt k = 0; k < c->nlines; k++) count += c->corners[k] != CORNERS_NONE && k != c->bare;
  return count;
}

/* Many systems: partitions that cut them, precisions, orderings and bandwidths that are asked for, the block variant */
static PetscErrorCode TestMany(void)
{
  const PetscReal coarse[] = {1e-11, 1e-5, 0.2, 0.05};
  Lines           c, d;
  Mat             A, T;
  PC              pc;
  PCSpikeInfo     info;
  PetscMPIInt     size;
  const PetscInt *range;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  LinesCreate(40, 0, &c);
  n = c.start[c.nlines];
  PetscCall(LinesMat(&c, &A));
  PetscCall(LinesSet(&c, A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(CheckInverse(pc, A, Tolerance(), "many"));
  PetscCall(CheckFound(pc, CountPeriodic(&c), "many"));
  PetscCall(PCSpikeSetLocalPartitions(pc, 5));
  PetscCall(CheckInverse(pc, A, PetscMax(1e-6, Tolerance()), "many, 5 partitions"));
  PetscCall(CheckFound(pc, CountPeriodic(&c), "many, 5 partitions"));
  PetscCall(PCSpikeSetLocalPartitions(pc, PETSC_DECIDE));
  for (PetscInt precision = PetscDefined(USE_REAL_SINGLE) ? 1 : 0; precision < 4; precision++) {
    PetscCall(PCSpikeSetPrecision(pc, (PetscSpikePrecision)precision));
    PetscCall(CheckInverse(pc, A, PetscMax(coarse[precision], Tolerance()), PetscSpikePrecisions[precision]));
    PetscCall(CheckFound(pc, CountPeriodic(&c), PetscSpikePrecisions[precision]));
  }
  PetscCall(PCSpikeSetPrecision(pc, SPIKE_TEST_PRECISION));
  for (PetscInt t = 0; t <= PC_SPIKE_TRIDIAGONAL_PARTITION; t++) {
    PetscCall(PCSpikeSetTridiagonalType(pc, (PCSpikeTridiagonalType)t));
    PetscCall(CheckInverse(pc, A, Tolerance(), PCSpikeTridiagonalTypes[t]));
  }
  PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_AUTO));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(CheckInverse(pc, A, Tolerance(), "natural"));
  PetscCall(CheckFound(pc, CountPeriodic(&c), "natural"));
  if (size == 1) { /* an ordering that is asked for has corners in other places */
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    PetscCall(CheckInverse(pc, A, Tolerance(), "rcm, or a border"));
    PetscCall(PCSpikeSetMaxBorder(pc, 0));
    PetscCall(CheckInverse(pc, A, Tolerance(), "rcm"));
    PetscCall(CheckFound(pc, 0, "rcm"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.reordered && info.kl > 1),
                             "rcm: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, info.kl, info.ku));
    PetscCall(PCSpikeSetMaxBorder(pc, PETSC_DECIDE));
  }
  PetscCall(PCFactorSetMatOrderingType(pc, "auto"));

  /* half-bandwidths that are asked for have no corners */
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &T));
  d = c;
  for (PetscInt k = 0; k < c.nlines; k++) d.corners[k] = CORNERS_NONE;
  PetscCall(LinesSet(&d, T));
  PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
  PetscCall(CheckInverse(pc, T, Tolerance(), "bandwidth"));
  PetscCall(CheckFound(pc, 0, "bandwidth"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.dropped > 0.0), "bandwidth: nothing is dropped"));
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));

  /* and a share that may be dropped is, with the corners in it */
  PetscCall(PCSpikeSetDropoff(pc, 0.02));
  PetscCall(CheckInverse(pc, T, Tolerance(), "drop-off"));
  PetscCall(CheckFound(pc, 0, "drop-off"));
  PetscCall(PCSpikeSetDropoff(pc, 1e-4));
  PetscCall(CheckInverse(pc, A, Tolerance(), "a small drop-off"));
  PetscCall(CheckFound(pc, CountPeriodic(&c), "a small drop-off"));
  PetscCall(PCSpikeSetDropoff(pc, 0.0));
  PetscCall(MatDestroy(&T));

  /* blocks: what couples partitions is left out, corners too */
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  for (PetscInt partitions = 1; partitions <= 4; partitions += 3) {
    PetscInt start[16], np;

    PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
    PetscCall(PCSetUp(pc));
    PetscCall(MatGetOwnershipRanges(A, &range));
    SpikeTestPartitions(size, range, partitions, &np, start);
    PetscCall(CheckBlocks(pc, A, np, start, 50 * Tolerance(), "blocks of many"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.kl == 1 && info.dropped == 0.0 && info.periodic > 0),
                             "blocks: half-bandwidth %" PetscInt_FMT ", dropped %g", info.kl, (double)info.dropped));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));

  LinesCreate(1, 300, &c);
  n = c.start[1];
  PetscCall(LinesMat(&c, &A));
  PetscCall(LinesSet(&c, A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
  PetscCall(PCSetUp(pc));
  PetscCall(MatGetOwnershipRanges(A, &range));
  PetscCall(SpikeTestCheck((PetscBool)(range[size] == n), "blocks: %" PetscInt_FMT " rows", range[size]));
  PetscCall(PCSpikeSetLocalPartitions(pc, 1));
  PetscCall(PCSetUp(pc));
  PetscCall(CheckBlocks(pc, A, size, range, 50 * Tolerance(), "blocks of one"));
  PetscCall(CheckFound(pc, size == 1 ? 1 : 0, "blocks of one"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values with the same pattern: refilled as long as what was found holds, and chosen again where it does not */
static PetscErrorCode TestRefill(PetscInt nlines)
{
  const char *where = nlines > 1 ? "refill of many" : "refill of one";
  Lines       c;
  Mat         A;
  PC          pc;
  PCSpikeInfo before, after;

  PetscFunctionBegin;
  LinesCreate(nlines, nlines > 1 ? 0 : 600, &c);
  PetscCall(LinesMat(&c, &A));
  PetscCall(LinesSet(&c, A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(CheckInverse(pc, A, Tolerance(), where));
  PetscCall(PCSpikeGetInfo(pc, &before));
  for (PetscInt step = 0; step < 4; step++) { /* other values, corners vanish, come back, first diagonal entry zero */
    c.seed  = 2 + step;
    c.bare  = step == 1 ? 0 : -1;
    c.first = step == 3 ? 0.0 : 1.0;
    PetscCall(LinesSet(&c, A));
    if (step == 3) {
      PetscCall(PCSetUp(pc));
      c.first = 1.0;
      continue; /* lines with one corner are nearly singular then: only that it can be refilled again */
    }
    PetscCall(CheckInverse(pc, A, Tolerance(), where));
    PetscCall(PCSpikeGetInfo(pc, &after));
    PetscCall(
      SpikeTestCheck((PetscBool)(after.rebuilds == before.rebuilds && after.refills == before.refills + step + 1),
                     "%s: step %" PetscInt_FMT " is not a refill", where, step));
    PetscCall(CheckFound(pc, before.periodic, where));
  }
  c.seed = 6;
  PetscCall(LinesSet(&c, A));
  PetscCall(CheckInverse(pc, A, Tolerance(), where));
  PetscCall(CheckFound(pc, before.periodic, where));
  if (nlines > 1) {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    c.couple = c.start[1]; /* of two lines */
    PetscCall(LinesSet(&c, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "coupled"));
    PetscCall(CheckFound(pc, 0, "coupled"));
    PetscCall(PCSpikeGetInfo(pc, &after));
    PetscCall(SpikeTestCheck((PetscBool)(after.rebuilds == before.rebuilds + 1), "coupled: not chosen again"));
    c.couple = -1;
    PetscCall(LinesSet(&c, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "apart again"));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "from scratch"));
    PetscCall(CheckFound(pc, before.periodic, "from scratch"));
    c.far = 1; /* inside of a line */
    PetscCall(LinesSet(&c, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "another entry"));
    PetscCall(CheckFound(pc, 0, "another entry"));
    c.far = -1;

    /* corners that were all zero when the band was chosen */
    for (PetscInt k = 0; k < c.nlines; k++) c.corners[k] = CORNERS_NONE;
    PetscCall(LinesSet(&c, A));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "no corners"));
    PetscCall(CheckFound(pc, 0, "no corners"));
    c.corners[3] = CORNERS_LOWER;
    PetscCall(LinesSet(&c, A));
    PetscCall(CheckInverse(pc, A, Tolerance(), "a corner appears"));
    PetscCall(CheckFound(pc, 1, "a corner appears"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular system among others, boosted and not; a corner that is no number; good values after both */
static PetscErrorCode TestFailures(void)
{
  Lines          c;
  Mat            A;
  PC             pc;
  Vec            x, y;
  PCFailedReason reason;
  PCSpikeInfo    info;
  PetscReal      norm;
  PetscInt       r0, r1;

  PetscFunctionBegin;
  LinesCreate(12, 4, &c);
  for (PetscInt k = 0; k < c.nlines; k++) c.corners[k] = CORNERS_BOTH;
  PetscCall(LinesMat(&c, &A));
  PetscCall(MatGetOwnershipRange(A, &r0, &r1));
  c.singular = 7;
  PetscCall(LinesSet(&c, A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(x, 1));
  PetscCall(CreatePC(A, &pc));
  for (PetscInt boost = 0; boost < 2; boost++) {
    PetscCall(PCFactorSetShiftType(pc, boost ? MAT_SHIFT_NONZERO : MAT_SHIFT_NONE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == (boost ? PC_NOERROR : PC_FACTOR_NUMERIC_ZEROPIVOT)),
                             "singular, boost %d: failed reason %d", (int)boost, (int)reason));
    PetscCall(PCApply(pc, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm));
    PetscCall(SpikeTestCheck((PetscBool)((norm <= PETSC_MAX_REAL) == boost), "singular, boost %d: norm of an apply %g",
                             (int)boost, (double)norm));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.boosted == boost), "singular: %" PetscInt_FMT " pivots are boosted",
                             info.boosted));
  }
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  c.singular = -1;
  PetscCall(LinesSet(&c, A));
  PetscCall(CheckInverse(pc, A, 50 * Tolerance(), "after a singular one"));
  PetscCall(CheckFound(pc, 12, "after a singular one"));
  for (PetscInt k = 0; k < 2; k++) {
    const PetscInt    i = k ? c.start[3] - 1 : c.start[2], j = k ? c.start[2] : c.start[3] - 1;
    const PetscScalar zero = 0.0;

    if (i >= r0 && i < r1) PetscCall(MatSetValue(A, i, j, 1.0 / zero, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_OTHER), "infinite corner %d: failed reason %d", (int)k,
                             (int)reason));
    PetscCall(LinesSet(&c, A));
    PetscCall(CheckInverse(pc, A, 50 * Tolerance(), "after an infinite corner"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -view: what PCView() says */
static PetscErrorCode TestView(void)
{
  Lines c;
  Mat   A;
  PC    pc;

  PetscFunctionBegin;
  LinesCreate(8, 0, &c);
  PetscCall(LinesMat(&c, &A));
  PetscCall(LinesSet(&c, A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool view = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  if (view) PetscCall(TestView());
  else {
    PetscCall(TestWhole());
    PetscCall(TestCirculant(PETSC_FALSE));
    PetscCall(TestCirculant(PETSC_TRUE));
    PetscCall(TestMany());
    PetscCall(TestRefill(1));
    PetscCall(TestRefill(20));
    PetscCall(TestFailures());
    PetscCall(SpikeTestEnd("spike_periodic"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_periodic_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

   test:
      suffix: view
      requires: double
      args: -view
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
              -e "s@[0-9]* bytes@N bytes@g" -e "s@|a_ij| [0-9].*e.*@|a_ij| N@" -e "s@M^-1|| .*@M^-1|| N@"

TEST*/
