/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_own.c: partitions of PCSPIKE with smaller half-bandwidths than the band */
static char help[] = "Bands that are narrow in some partitions, diagonal or triangular in others, against dense\n\
references: all types, transposes, several right-hand sides, Cholesky, row exchanges, lower precisions, orderings,\n\
values that fill the pattern later, new patterns.\n\n";

#include "spiketest.h"
#include "viewtext.h"

#define KINDS 4

/* Sections of m rows; alone: nothing couples it to its neighbours */
typedef struct {
  PetscInt  kl, ku, own[KINDS][2];
  PetscBool alone[KINDS];
} Shape;

static const Shape shapes[] =
  {{7, 5, {{2, 1}, {7, 5}, {0, 0}, {5, 5}}, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
   {8, 8, {{8, 7}, {3, 8}, {8, 8}, {1, 0}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {33, 20, {{3, 2}, {33, 20}, {0, 1}, {12, 9}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {12, 40, {{12, 10}, {1, 40}, {9, 9}, {0, 0}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE}},
   {0, 4, {{0, 1}, {0, 4}, {0, 0}, {0, 2}}, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
   {4, 0, {{1, 0}, {4, 0}, {0, 0}, {2, 0}}, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
   {1, 0, {{1, 0}, {1, 0}, {1, 0}, {1, 0}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {12, 12, {{2, 2}, {12, 12}, {0, 0}, {9, 9}}, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
   {24, 24, {{24, 24}, {10, 10}, {3, 3}, {1, 1}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}}};

typedef struct {
  const Shape *shape;
  PetscInt     m, sections, local, seed;
  PetscReal    diagonal;  /* over the sum of the others of a row                                                */
  PetscBool    stored;    /* the whole band, with zeros                                                         */
  PetscBool    wide;      /* all sections have the half-bandwidths of the band                                  */
  PetscBool    hermitian; /* kl = ku                                                                            */
  PetscBool    pivoting;
  PetscInt     given; /* half-bandwidths that are asked for, beyond those of the band; 0: none are */
} Case;

static PetscBool IsAlone(const Case *c, PetscInt p)
{
  return (PetscBool)(c->local > 1 && c->shape->alone[p % KINDS]); /* else no cut moves a partition */
}

static void GetOwn(const Case *c, PetscInt p, PetscInt own[2])
{
  const PetscInt *of = c->shape->own[p % KINDS];

  own[0] = PetscMin(c->wide ? c->shape->kl : of[0], c->m - 1);
  own[1] = PetscMin(c->wide ? c->shape->ku : of[1], c->m - 1);
}

static PetscBool IsEntry(const Case *c, PetscInt i, PetscInt j)
{
  const PetscInt p = i / c->m, q = j / c->m;
  PetscInt       own[2] = {c->shape->kl, c->shape->ku};

  if (p == q) GetOwn(c, p, own);
  else if (IsAlone(c, p) || IsAlone(c, q)) return PETSC_FALSE;
  return (PetscBool)(i - j <= own[0] && j - i <= own[1]);
}

static PetscScalar Entry(const Case *c, PetscInt i, PetscInt j)
{
  const PetscInt n = c->m * c->sections;
  PetscInt       own[2];
  PetscReal      sum = 0.0;

  if (!IsEntry(c, i, j)) return 0.0;
  if (i != j) return c->hermitian && j < i ? PetscConj(Entry(c, j, i)) : SpikeTestScalar(c->seed, i, j);
  for (PetscInt k = PetscMax(0, i - c->shape->kl); k <= PetscMin(n - 1, i + c->shape->ku); k++)
    if (k != i) sum += PetscAbsScalar(Entry(c, i, k));
  GetOwn(c, i / c->m, own);
  /* row exchanges are no help where nothing is below the diagonal, or above it */
  if (sum > 0.0) return (own[0] && own[1] ? c->diagonal : PetscMax(c->diagonal, 1.5)) * sum;
  return 1.0 + (PetscReal)0.25 * SpikeTestUniform(c->seed, i, i);
}

static PetscErrorCode Fill(const Case *c, Mat A)
{
  const PetscInt n = c->m * c->sections;
  PetscInt       start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - c->shape->kl); j <= PetscMin(n - 1, i + c->shape->ku); j++)
      if (c->stored || IsEntry(c, i, j)) PetscCall(MatSetValue(A, i, j, Entry(c, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const Case *c, MatType type, PCSpikeType coupling, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, c->m * c->local, c->m * c->local, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SpikeTestSetMatType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(c, *A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSpikeSetType(*pc, coupling));
  PetscCall(PCSpikeSetLocalPartitions(*pc, c->local));
  PetscCall(PCSpikeSetWindowTolerance(*pc, 0.0));
  PetscCall(PCSpikeSetPivoting(*pc, c->pivoting));
  if (c->given)
    PetscCall(PCSpikeSetBandwidth(*pc, PetscMax(c->shape->kl + c->given, 0), PetscMax(c->shape->ku + c->given, 0)));
  PetscCall(PCSpikeSetMatchingType(*pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Diagonals in a step of half-bandwidths that saves time, 0: none does. On a device a tile of several on a side */
static PetscInt Unit(const Case *c, const PCSpikeInfo *info)
{
  const PetscInt K = PetscMax(info->kl, info->ku), tiles = (K + 31) / 32;
  PetscInt       T = tiles ? (K + tiles - 1) / tiles : 1;
  PetscBool      host;

  if (PetscStrcmp(info->backend, "host", &host) || host) return 1;
  if (T > 10) T = (T + 1) / 2 * 2;
  return c->pivoting || K <= T ? 0 : T;
}

static PetscBool IsFewer(const PetscInt own[2], const PCSpikeInfo *info, PetscInt unit)
{
  return (PetscBool)(unit && ((own[0] + unit - 1) / unit < (info->kl + unit - 1) / unit ||
                              (own[1] + unit - 1) / unit < (info->ku + unit - 1) / unit));
}

/* What the view says of the half-bandwidths of partitions, where those of a rank save time, else nothing */
static PetscErrorCode CheckView(PC pc, const Case *c, const char where[])
{
  PetscInt    least[2] = {PETSC_INT_MAX, PETSC_INT_MAX}, most[2] = {0, 0}, unit;
  char        text[8192], line[128];
  PCSpikeInfo info;
  PetscBool   any = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetInfo(pc, &info));
  unit = Unit(c, &info);
  for (PetscInt first = 0; first < c->sections; first += c->local) { /* the sections of a rank */
    PetscBool fewer = PETSC_FALSE;
    PetscInt  own[2];

    for (PetscInt p = first; p < first + c->local; p++) {
      GetOwn(c, p, own);
      if (IsFewer(own, &info, unit)) fewer = any = PETSC_TRUE;
    }
    for (PetscInt p = first; p < first + c->local; p++) {
      GetOwn(c, p, own);
      for (int side = 0; side < 2; side++) {
        const PetscInt k = fewer ? own[side] : side ? info.ku : info.kl;

        least[side] = PetscMin(least[side], k);
        most[side]  = PetscMax(most[side], k);
      }
    }
  }
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscSNPrintf(line, sizeof(line),
                          "half-bandwidths inside of partitions %" PetscInt_FMT ",%" PetscInt_FMT " to %" PetscInt_FMT
                          ",%" PetscInt_FMT "\n",
                          least[0], least[1], most[0], most[1]));
  if (c->pivoting && PetscMax(c->shape->kl, c->shape->ku) == 1) PetscFunctionReturn(PETSC_SUCCESS); /* by systems */
  if (!any) PetscCall(SpikeTestCheck((PetscBool)!strstr(text, "inside of partitions"), "%s: view\n%s", where, text));
  else
    PetscCall(SpikeTestCheck((PetscBool)(strstr(text, line) != NULL), "%s: no %s in the view\n%s", where, line, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator, its transpose and several columns against dense references */
static PetscErrorCode TestOperator(const Case *c, MatType type, PCSpikeType coupling, PetscSpikePrecision precision,
                                   const char where[])
{
  const PetscReal tols[] = {PetscDefined(USE_REAL_SINGLE) ? 1e-3
                            : c->pivoting                 ? 1e-7
                                                          : 1e-10,
                            (PetscReal)1e-3, (PetscReal)0.2, (PetscReal)0.03};
  const PetscReal roundings[] = {100 * PETSC_MACHINE_EPSILON, (PetscReal)1.2e-5, (PetscReal)0.04, (PetscReal)0.005};
  const PetscReal tol = tols[precision], rounding = roundings[precision];
  const PetscInt  n = c->m * c->sections, np = c->sections, kl = PetscMax(c->shape->kl + PetscMin(c->given, 0), 0),
                 ku = PetscMax(c->shape->ku + PetscMin(c->given, 0), 0);
  PetscInt      *start, whole[2] = {0, n};
  PetscScalar   *a, *ref, *m;
  PCFailedReason reason;
  PetscBool      aij;
  Mat            A;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n * n, &a, n * n, &ref, n * n, &m, np + 1, &start));
  for (PetscInt p = 0; p <= np; p++) start[p] = p * c->m;
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) a[i + j * n] = j - i > c->shape->ku || i - j > c->shape->kl ? 0.0 : Entry(c, i, j);
  if (coupling == PC_SPIKE_FULL) PetscCall(SpikeTestReference(n, a, kl, ku, 1, whole, PETSC_FALSE, ref));
  else PetscCall(SpikeTestReference(n, a, kl, ku, np, start, (PetscBool)(coupling == PC_SPIKE_TRUNCATED), ref));
  PetscCall(Create(c, type, coupling, &A, &pc));
  PetscCall(PCSpikeSetPrecision(pc, precision));
  if (c->hermitian) {
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
  }
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason == PC_NOERROR), "%s: %s", where, PCFailedReasons[reason]));
  PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
  PetscCall(SpikeTestCompare(n, np, start, m, ref, PETSC_FALSE, tol, rounding, where));
  PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m));
  PetscCall(SpikeTestCompare(n, np, start, m, ref, PETSC_TRUE, tol, rounding, where));
  PetscCall(SpikeTestAdjoint(pc, PetscMin(tol, 1000 * rounding), where));
  PetscCall(SpikeTestColumns(pc, 11, PetscMin(tol, rounding), where));
  /* MATDIA knows the ends of the diagonals of a rank, not holes in them */
  PetscCall(PetscStrcmp(type, MATAIJ, &aij));
  if ((aij || c->local == 1 || c->sections == 2) && !c->stored && !c->given) PetscCall(CheckView(pc, c, where));
  PetscCall(PetscFree4(a, ref, m, start));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscSpikePrecision best = SPIKE_TEST_PRECISION;

/* All that may be asked for with one shape, in sections of m rows; few: only a part of it */
static PetscErrorCode TestShape(const Shape *shape, PetscInt m, PetscInt local, PetscMPIInt size, PCSpikeType coupling,
                                PetscBool few, const char where[])
{
  const Case plain = {shape,       m,           size * local, local,       17 + m, 1.5,
                      PETSC_FALSE, PETSC_FALSE, PETSC_FALSE,  PETSC_FALSE, 0};
  Case       c     = plain;
  char       text[256];

  PetscFunctionBegin;
  PetscCall(TestOperator(&c, MATAIJ, coupling, best, where));
  if (shape->own[0][0] == shape->own[0][1] && shape->own[1][0] == shape->own[1][1]) { /* the others too */
    c.hermitian = PETSC_TRUE;
    PetscCall(PetscSNPrintf(text, sizeof(text), "%s, Cholesky", where));
    for (int precision = best; precision <= (size > 1 ? best + 1 : PETSC_SPIKE_PRECISION_FP16); precision++)
      PetscCall(TestOperator(&c, MATAIJ, coupling, (PetscSpikePrecision)precision, text));
    c = plain;
  }
  if (few) PetscFunctionReturn(PETSC_SUCCESS);
  for (int precision = best + 1; precision <= (size > 1 ? best + 1 : PETSC_SPIKE_PRECISION_FP16); precision++)
    PetscCall(TestOperator(&c, MATAIJ, coupling, (PetscSpikePrecision)precision, where));
  c.pivoting = PETSC_TRUE;
  c.diagonal = 0.4;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, row exchanges", where));
  PetscCall(TestOperator(&c, MATAIJ, coupling, best, text));
  c          = plain;
  c.given    = 3;
  c.diagonal = 2.5;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, larger half-bandwidths", where));
  if (m >= PetscMax(shape->kl, shape->ku) + 3) PetscCall(TestOperator(&c, MATAIJ, coupling, best, text));
  c.given = -2;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, smaller half-bandwidths", where));
  if (PetscMax(shape->kl, shape->ku) > 3) PetscCall(TestOperator(&c, MATAIJ, coupling, best, text));
  c = plain;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, by diagonals", where));
  PetscCall(TestOperator(&c, SpikeTestDiaType(), coupling, best, text));
  c.stored = PETSC_TRUE;
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, by diagonals with zeros", where));
  PetscCall(TestOperator(&c, SpikeTestDiaType(), coupling, best, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperators(PetscMPIInt size)
{
  const PCSpikeType types[]  = {PC_SPIKE_TRUNCATED, PC_SPIKE_FULL, PC_SPIKE_BLOCK};
  const PetscInt    locals[] = {1, 2, 4};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++)
    for (PetscInt l = 0; l < 3; l++)
      for (PetscInt t = 0; t < 3; t++)
        for (PetscInt rows = 0; rows < 3; rows++) {
          const PetscInt K = PetscMax(shapes[k].kl, shapes[k].ku), m = !rows ? K : rows == 1 ? K + 1 : 2 * K + 9;
          char           where[128];

          /* on several ranks, which take long, what is new between them */
          if (size * locals[l] == 1 || (K > 12 && (rows == 1 || size * locals[l] > 4))) continue;
          if (size > 1 && (rows == 1 || types[t] == PC_SPIKE_BLOCK || locals[l] > (rows ? 1 : 2))) continue;
          PetscCall(PetscSNPrintf(where, sizeof(where), "shape %d, %d partitions a rank of %d rows, %s", (int)k,
                                  (int)locals[l], (int)m, PCSpikeTypes[types[t]]));
          PetscCall(TestShape(&shapes[k], m, locals[l], size, types[t], (PetscBool)(rows < 2), where));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An application is the inverse; refills and setups from scratch so far, -1: not asked */
static PetscErrorCode CheckInverse(PC pc, PetscInt refills, PetscInt rebuilds, const char where[])
{
  PCSpikeInfo info;
  PetscReal   error = 0.0;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-10, "error", where));
  PetscCall(SpikeTestCheck((PetscBool)(refills < 0 || (info.refills == refills && info.rebuilds == rebuilds)),
                           "%s: %" PetscInt_FMT " refills, %" PetscInt_FMT " setups", where, info.refills,
                           info.rebuilds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bands of several tiles on a side, with few, most or all of them in a section */
static const Shape wide[] =
  {{40, 50, {{40, 50}, {9, 7}, {30, 3}, {2, 40}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {100, 70, {{3, 2}, {100, 70}, {40, 1}, {64, 33}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {96, 96, {{96, 96}, {40, 40}, {5, 5}, {33, 33}}, {PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}},
   {20, 150, {{1, 1}, {20, 100}, {20, 150}, {7, 33}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {0, 130, {{0, 1}, {0, 130}, {0, 70}, {0, 20}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {110, 0, {{110, 0}, {30, 0}, {1, 0}, {70, 0}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
   {300, 260, {{9, 20}, {300, 260}, {130, 64}, {257, 1}}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}}};

/* Applications, transposed ones and those to several vectors, with the pattern of the sections and with the band's */
static PetscErrorCode CompareStored(const Case *own, MatType type, PCSpikeType coupling, PetscSpikePrecision precision,
                                    const char where[])
{
  const PetscReal roundings[] = {1000 * PETSC_MACHINE_EPSILON, (PetscReal)1e-4, (PetscReal)0.1, (PetscReal)0.02};
  Case            c           = *own;
  Mat             A[2], B, X[2];
  Vec             b, x[2];
  PC              pc[2];
  PetscReal       norm, diff;
  PetscInt        rows;
  VecType         vectype;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    c.stored = (PetscBool)k;
    PetscCall(Create(&c, type, coupling, &A[k], &pc[k]));
    PetscCall(PCSpikeSetPrecision(pc[k], precision));
    if (c.hermitian) {
      PetscCall(MatSetOption(A[k], MAT_SPD, PETSC_TRUE));
      PetscCall(PCSpikeSetFactorType(pc[k], PC_SPIKE_FACTOR_CHOLESKY));
    }
    PetscCall(PCSetFromOptions(pc[k]));
    PetscCall(PCSetUp(pc[k]));
  }
  c.stored = PETSC_FALSE;
  PetscCall(CheckView(pc[0], &c, where));
  PetscCall(MatCreateVecs(A[0], &x[0], &b));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (int trans = 0; trans < 2; trans++) {
    for (int k = 0; k < 2; k++) PetscCall(trans ? PCApplyTranspose(pc[k], b, x[k]) : PCApply(pc[k], b, x[k]));
    PetscCall(VecNorm(x[1], NORM_INFINITY, &norm));
    PetscCall(VecAXPY(x[0], -1.0, x[1]));
    PetscCall(VecNorm(x[0], NORM_INFINITY, &diff));
    PetscCall(SpikeTestSmall(diff / norm, roundings[precision], trans ? "transposed" : "applied", where));
  }
  PetscCall(VecGetLocalSize(b, &rows));
  PetscCall(VecGetType(b, &vectype));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, rows, PETSC_DECIDE, PETSC_DECIDE, 9, -1, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X[k]));
    PetscCall(PCMatApply(pc[k], B, X[k]));
  }
  PetscCall(MatNorm(X[1], NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(X[0], -1.0, X[1], SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(X[0], NORM_FROBENIUS, &diff));
  PetscCall(SpikeTestSmall(diff / norm, roundings[precision], "several vectors", where));
  PetscCall(MatDestroy(&B));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&X[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(PCDestroy(&pc[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWide(PetscMPIInt size)
{
  const PetscInt local = size > 1 ? 2 : 4;

  PetscFunctionBegin;
  for (size_t k = 0; k<PETSC_STATIC_ARRAY_LENGTH(wide); k += size> 1 ? 3 : 1)
    for (int t = 0; t < 2; t++) {
      const Shape      *shape = &wide[k];
      const PetscInt    K     = PetscMax(shape->kl, shape->ku);
      const PCSpikeType type  = t ? PC_SPIKE_FULL : PC_SPIKE_TRUNCATED;
      Case              c     = {shape,       K + 11 + (PetscInt)k, size * local, local,       23, 1.5,
                                 PETSC_FALSE, PETSC_FALSE,          PETSC_FALSE,  PETSC_FALSE, 0};
      char              where[128];

      PetscCall(PetscSNPrintf(where, sizeof(where), "wide shape %d, %s", (int)k, PCSpikeTypes[type]));
      for (int p = best; p <= (K > 200 || size > 1 ? best + 1 : PETSC_SPIKE_PRECISION_FP16); p++)
        PetscCall(CompareStored(&c, MATAIJ, type, (PetscSpikePrecision)p, where));
      PetscCall(PetscSNPrintf(where, sizeof(where), "wide shape %d, %s, Cholesky", (int)k, PCSpikeTypes[type]));
      c.hermitian = (PetscBool)(shape->own[0][0] == shape->own[0][1] && shape->own[1][0] == shape->own[1][1]);
      if (c.hermitian) PetscCall(CompareStored(&c, MATAIJ, type, best, where));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band that is wide in its first half, in as many partitions as the library takes, entries looked at where they are
*/
static PetscErrorCode TestHalves(MatType type)
{
  const PetscInt n = 12000, half[2] = {100, 20};
  PCSpikeInfo    info;
  PetscReal      error;
  char           text[8192];
  Mat            A;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(SpikeTestSetMatType(A, type));
  PetscCall(MatSetUp(A));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt K   = half[i >= n / 2];
    PetscReal      sum = 1.0;

    for (PetscInt j = PetscMax(0, i - K); j <= PetscMin(n - 1, i + K); j++) {
      const PetscScalar v = SpikeTestScalar(7, i, j);

      if (j == i) continue;
      sum += PetscAbsScalar(v);
      PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
    PetscCall(MatSetValue(A, i, i, 1.5 * sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(SpikeTestCheck((PetscBool)((info.partitions > 1) ==
                                       (strstr(text, "inside of partitions 20,20 to 100,100") != NULL)),
                           "%" PetscInt_FMT " partitions, the view\n%s", info.partitions, text));
  PetscCall(SpikeTestInverse(pc, NULL, 0.0, &error));
  PetscCall(SpikeTestSmall(error, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-7, "error", "halves"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values, some in places of the pattern that had zeros */
static PetscErrorCode TestValues(const Shape *shape, PetscInt m, PetscInt local, PetscMPIInt size, MatType type)
{
  Case c = {shape, m, size * local, local, 5, 1.5, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0};
  Mat  A;
  PC   pc;

  PetscFunctionBegin;
  for (PetscInt stored = 0; stored < 2; stored++) {
    c.stored = (PetscBool)stored;
    c.wide   = PETSC_FALSE;
    PetscCall(Create(&c, type, PC_SPIKE_FULL, &A, &pc));
    PetscCall(PCSetFromOptions(pc));
    for (PetscInt turn = 0; turn < 3; turn++) {
      c.seed = 5 + turn;
      c.wide = (PetscBool)(stored && turn == 1);
      PetscCall(Fill(&c, A));
      PetscCall(CheckInverse(pc, turn, 1, stored ? "values in place of zeros" : "other values"));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Patterns that change, of other matrices and of the same one */
static PetscErrorCode TestPatterns(PetscInt local, PetscMPIInt size)
{
  Case c = {&shapes[0], 40, size * local, local, 5, 1.5, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0};
  Mat  A, B;
  PC   pc, other;

  PetscFunctionBegin;
  PetscCall(Create(&c, MATAIJ, PC_SPIKE_FULL, &A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(CheckInverse(pc, 0, 1, "first pattern"));
  PetscCall(CheckView(pc, &c, "first pattern"));
  c.wide = PETSC_TRUE;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Fill(&c, A));
  PetscCall(CheckInverse(pc, 0, 2, "a larger pattern"));
  PetscCall(CheckView(pc, &c, "a larger pattern"));
  c.wide  = PETSC_FALSE;
  c.shape = &shapes[1];
  PetscCall(Create(&c, MATAIJ, PC_SPIKE_FULL, &B, &other));
  PetscCall(PCDestroy(&other));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(CheckInverse(pc, 0, 3, "another matrix"));
  PetscCall(CheckView(pc, &c, "another matrix"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in another order, which RCM undoes, and rows that a matching permutes and scales; on one rank each */
static PetscErrorCode TestOrders(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 3; k++) {
    Case      c = {&shapes[k], 90, 4, 4, 5, 1.5, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0};
    Mat       A, P;
    PC        pc;
    IS        rows, columns;
    PetscInt *index, n;

    for (PetscInt matching = 0; matching < 2; matching++) {
      PetscCall(Create(&c, MATAIJ, PC_SPIKE_FULL, &A, &pc));
      PetscCall(MatGetSize(A, &n, NULL));
      PetscCall(PetscMalloc1(n, &index));
      for (PetscInt i = 0; i < n; i++) index[i] = matching ? i ^ 1 : (i * 7) % n; /* n is even, and no multiple of 7 */
      PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, index, PETSC_OWN_POINTER, &columns));
      PetscCall(ISSetPermutation(columns));
      if (matching) PetscCall(ISCreateStride(PETSC_COMM_SELF, n, 0, 1, &rows));
      else PetscCall(ISDuplicate(columns, &rows));
      PetscCall(ISSetPermutation(rows));
      PetscCall(MatPermute(A, rows, columns, &P));
      PetscCall(PCSetOperators(pc, P, P));
      if (matching) PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
      else PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
      PetscCall(PCSetFromOptions(pc));
      for (PetscInt turn = 0; turn < 2; turn++) {
        PetscCall(CheckInverse(pc, -1, 0, matching ? "with a matching" : "after RCM"));
        PetscCall(MatScale(P, 3.0));
      }
      PetscCall(ISDestroy(&rows));
      PetscCall(ISDestroy(&columns));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&P));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestOperators(size));
  for (size_t k = 0; k<PETSC_STATIC_ARRAY_LENGTH(shapes); k += size> 1 ? 2 : 1)
    for (PetscInt local = 2; local <= (size > 1 ? 2 : 4); local += 2) {
      PetscCall(TestValues(&shapes[k], 50, local, size, MATAIJ));
      PetscCall(TestValues(&shapes[k], 50, local, size, SpikeTestDiaType()));
    }
  PetscCall(TestPatterns(4, size));
  PetscCall(TestWide(size));
  if (size == 1) {
    PetscCall(TestOrders());
    PetscCall(TestHalves(MATAIJ));
    PetscCall(TestHalves(SpikeTestDiaType()));
  }
  PetscCall(SpikeTestEnd("spike_own"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_own_1.out
      nsize: {{1 2 3}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -dia_type diacuda

TEST*/
