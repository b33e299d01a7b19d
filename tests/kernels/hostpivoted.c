/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostpivoted.c: tests of the host's band kernels with row exchanges (src/kernels/band/host/ops.h), on one band block
*/
static char help[] = "Tests of the band kernels with row exchanges, of each instruction set.\n\n";

#include "kernels/band/band.h"
#include "kernels/band/host/ops.h"
#include "random.h"

#define GUARD 200 /* elements around arrays */
#define EPS   ((double)PETSC_MACHINE_EPSILON)

typedef enum {
  TEST_SOLVE,
  TEST_SOLVE_T,
  TEST_COLUMNS,
  TEST_RANGES,
  TEST_PARTS,
  TEST_PIVOTS,
  TEST_SINGULAR,
  TEST_NOTNUMBER,
  TEST_EXTENT,
  NTOPICS
} Topic;
static const char *const topics[] = {"solves: small backward errors",
                                     "transposed solves: small backward errors",
                                     "many columns have the bits of each",
                                     "ranges have the bits of whole sweeps",
                                     "parts of the factors give the ends of solutions",
                                     "the pivot is the first of the largest, and multipliers are at most 1",
                                     "singular bands: boosted, or the row",
                                     "values that are not numbers, or too large, are bad pivots",
                                     "nothing written outside of vectors"};

static int ntests, nfailed, ncases[NTOPICS], nbad[NTOPICS];
/* value: an error in units of its bound; NaN fails */
static void Check(Topic t, double value, PetscInt n, PetscInt kl, PetscInt ku, const char what[])
{
  ncases[t]++;
  if (value <= 1) return;
  if (nbad[t]++ < 5) printf("# %s: n %d, kl %d, ku %d, %s: %g\n", topics[t], (int)n, (int)kl, (int)ku, what, value);
}

/* A band, its factors, right-hand sides and solutions with NaN around them */
typedef struct {
  const SpikeBandOps *ops;
  PetscInt            n, kl, ku, nrhs;
  PetscCount          ld, diag, ldx;
  PetscScalar        *dense, *alloc, *a, *b, *x, *y;
  void               *work;
  SpikeBandPivot      pivot;
  SpikeBandFactors    f;
} Band;

static double Abs(PetscScalar v)
{
  return (double)PetscAbsScalar(v);
}

static void Nan(PetscScalar *x, PetscCount n)
{
  for (PetscCount i = 0; i < n; i++) x[i] = (PetscReal)NAN;
}

static PetscScalar *Get(PetscCount n)
{
  PetscScalar *p = (PetscScalar *)malloc(((size_t)n + 2 * GUARD) * sizeof(*p));

  Nan(p, n + 2 * GUARD);
  return p + GUARD;
}

static void Put(PetscScalar *p)
{
  free(p - GUARD);
}

static void Create(const SpikeBandOps *ops, PetscInt n, PetscInt kl, PetscInt ku, PetscInt nrhs, Band *B)
{
  const PetscCount elements = SpikeBandElements(ops, n, kl, ku), pad = SPIKE_BAND_PAD(kl, ku);

  B->ops   = ops;
  B->n     = n;
  B->kl    = kl;
  B->ku    = ku;
  B->nrhs  = nrhs;
  B->ld    = SpikeBandLd(ops, kl, ku);
  B->diag  = SpikeBandDiagonal(ops, kl, ku);
  B->ldx   = n + 3;
  B->dense = (PetscScalar *)calloc((size_t)n * n + 1, sizeof(PetscScalar));
  B->alloc = (PetscScalar *)calloc((size_t)(elements + 2 * pad), sizeof(PetscScalar));
  B->a     = B->alloc + pad;
  B->b     = Get(B->ldx * nrhs);
  B->x     = Get(B->ldx * nrhs);
  B->y     = Get(B->ldx * nrhs);
  B->work  = malloc(ops->lu_worksize(kl, ku) + 64);
  B->f     = SpikeBandWhole(n, kl, ku, B->a);
  memset(&B->pivot, 0, sizeof(B->pivot));
  B->pivot.tol  = 0;
  B->pivot.work = (char *)B->work + ((64 - ((size_t)B->work & 63)) & 63);
  for (PetscInt c = 0; c < nrhs; c++)
    for (PetscInt i = 0; i < n; i++) B->b[i + c * B->ldx] = Random();
}

static void Destroy(Band *B)
{
  free(B->dense);
  free(B->alloc);
  Put(B->b);
  Put(B->x);
  Put(B->y);
  free(B->work);
}

static void Set(Band *B, PetscInt i, PetscInt j, PetscScalar v)
{
  B->dense[i + (PetscCount)j * B->n] = v;
  B->a[j * B->ld + B->diag + i - j]  = v;
}

/* Random, the diagonal small: no pivots in their places. A triangle needs its diagonal. */
static void Fill(Band *B)
{
  const PetscReal other = B->kl && B->ku ? 1 : (PetscReal)0.5 / (1 + B->kl + B->ku);

  for (PetscInt j = 0; j < B->n; j++)
    for (PetscInt i = PetscMax(0, j - B->ku); i <= PetscMin(B->n - 1, j + B->kl); i++)
      Set(B, i, j,
          i == j ? (B->kl && B->ku ? (PetscReal)0.01 * Random() : 1 + (PetscReal)0.25 * Random()) : other * Random());
}

/* The largest |b - op(A) x| in units of 100 EPS (||A|| ||x|| + ||b||), column c, infinity norms */
static double Backward(const Band *B, PetscBool trans, PetscInt c, const PetscScalar *xs)
{
  const PetscInt     n = B->n;
  const PetscScalar *x = xs + c * B->ldx, *b = B->b + c * B->ldx;
  double             worst = 0, norm = 0, xnorm = 0, bnorm = 0;

  for (PetscInt i = 0; i < n; i++) {
    PetscScalar r   = b[i];
    double      sum = 0;

    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar v = trans ? B->dense[j + (PetscCount)i * n] : B->dense[i + (PetscCount)j * n];

      r -= v * x[j];
      sum += Abs(v);
    }
    norm  = PetscMax(norm, sum);
    xnorm = PetscMax(xnorm, Abs(x[i]));
    bnorm = PetscMax(bnorm, Abs(b[i]));
    if (!(Abs(r) <= worst)) worst = Abs(r);
  }
  return n ? worst / (100 * EPS * (norm * xnorm + bnorm)) : 0;
}

static void CheckGuards(const Band *B, const PetscScalar *x)
{
  double touched = 0;

  for (PetscInt i = 1; i <= GUARD; i++)
    if (x[-i] == x[-i] || x[B->ldx * B->nrhs + i - 1] == x[B->ldx * B->nrhs + i - 1]) touched = 2;
  for (PetscInt c = 0; c < B->nrhs; c++)
    for (PetscInt i = B->n; i < B->ldx; i++)
      if (x[i + c * B->ldx] == x[i + c * B->ldx]) touched = 2;
  Check(TEST_EXTENT, touched, B->n, B->kl, B->ku, "vector");
}

static double Same(const Band *B, PetscInt first, PetscInt cols, const PetscScalar *x, const PetscScalar *y)
{
  for (PetscInt c = 0; c < cols; c++)
    if (B->n && memcmp(x + c * B->ldx + first, y + c * B->ldx + first, sizeof(*x) * (size_t)(B->n - first))) return 2;
  return 0;
}

static void Solve(Band *B, PetscBool trans, PetscInt nrhs, PetscScalar *x)
{
  if (trans) {
    B->ops->upper_t(B->f, nrhs, B->b, B->ldx, x, B->ldx);
    B->ops->lower_t(B->f, 0, B->n, nrhs, x, B->ldx);
  } else {
    B->ops->lower(B->f, 0, B->n, nrhs, B->b, B->ldx, x, B->ldx);
    B->ops->upper(B->f, 0, B->n, nrhs, x, B->ldx);
  }
}

static void TestSolves(const SpikeBandOps *ops, PetscInt n, PetscInt kl, PetscInt ku)
{
  const PetscInt nrhs = 1 + (PetscInt)((Uniform() + 1) * 9), panel = ops->panel(kl, ku);
  Band           B;

  Create(ops, n, kl, ku, nrhs, &B);
  Fill(&B);
  ops->lu(n, kl, ku, B.a, &B.pivot);
  Check(TEST_PIVOTS, B.pivot.badrow >= 0 || B.pivot.nboost ? 2 : 0, n, kl, ku, "bad pivot");
  for (PetscInt j = 0; j < n; j++) { /* multipliers */
    const PetscInt     j0 = j / panel * panel, m = PetscMin(n - j0, kl + PetscMin(panel, n - j0));
    const PetscScalar *l = B.a + j0 * B.ld + panel + (j - j0) * (PetscCount)(kl + panel);

    for (PetscInt i = j - j0 + 1; i < m; i++)
      Check(TEST_PIVOTS, Abs(l[i]) / (PetscDefined(USE_COMPLEX) ? 1.5 : 1 + 4 * EPS), n, kl, ku, "multiplier");
  }
  for (PetscInt trans = 0; trans < 2; trans++) {
    Nan(B.x, B.ldx * nrhs);
    Solve(&B, (PetscBool)trans, nrhs, B.x);
    for (PetscInt c = 0; c < nrhs; c++)
      Check(trans ? TEST_SOLVE_T : TEST_SOLVE, Backward(&B, (PetscBool)trans, c, B.x), n, kl, ku, "backward error");
    CheckGuards(&B, B.x);
    /* one by one */
    for (PetscInt c = 0; c < nrhs; c++) {
      if (trans) {
        ops->upper_t(B.f, 1, B.b + c * B.ldx, B.ldx, B.y + c * B.ldx, B.ldx);
        ops->lower_t(B.f, 0, n, 1, B.y + c * B.ldx, B.ldx);
      } else {
        ops->lower(B.f, 0, n, 1, B.b + c * B.ldx, B.ldx, B.y + c * B.ldx, B.ldx);
        ops->upper(B.f, 0, n, 1, B.y + c * B.ldx, B.ldx);
      }
    }
    Check(TEST_COLUMNS, Same(&B, 0, nrhs, B.x, B.y), n, kl, ku, trans ? "transposed" : "plain");
    /* the tip at the bottom first, and a forward sweep in two */
    if (n) {
      const PetscInt cut   = PetscMin((PetscInt)((Uniform() + 1) / 2 * (n + 1)), n);
      const PetscInt split = trans ? SpikeBandForward(ops, kl, ku, cut) : cut;

      for (PetscInt c = 0; c < nrhs; c++)
        for (PetscInt i = 0; i < n; i++) B.y[i + c * B.ldx] = B.b[i + c * B.ldx];
      if (trans) ops->upper_t(B.f, nrhs, B.y, B.ldx, B.y, B.ldx);
      else {
        ops->lower(B.f, 0, cut, nrhs, B.y, B.ldx, B.y, B.ldx);
        ops->lower(B.f, cut, n, nrhs, B.y, B.ldx, B.y, B.ldx);
      }
      if (trans) ops->lower_t(B.f, split, n, nrhs, B.y, B.ldx);
      else ops->upper(B.f, split, n, nrhs, B.y, B.ldx);
      Check(TEST_RANGES, Same(&B, cut, nrhs, B.x, B.y), n, kl, ku, trans ? "transposed head" : "head");
      if (trans) ops->lower_t(B.f, 0, split, nrhs, B.y, B.ldx);
      else ops->upper(B.f, 0, split, nrhs, B.y, B.ldx);
      Check(TEST_RANGES, Same(&B, 0, nrhs, B.x, B.y), n, kl, ku, trans ? "transposed" : "plain");
    }
  }
  /* right-hand sides that are zero up to row z: the end of the solution from a part of the factors */
  if (n) {
    const PetscInt z = PetscMin((PetscInt)((Uniform() + 1) / 2 * n), n - 1), f0 = SpikeBandForward(ops, kl, ku, z);
    const PetscInt r0 = SpikeBandPartBegin(ops, kl, ku, f0 / 2);

    for (PetscInt c = 0; c < nrhs; c++)
      for (PetscInt i = 0; i < z; i++) B.b[i + c * B.ldx] = 0;
    Solve(&B, PETSC_FALSE, nrhs, B.x);
    for (PetscInt c = 0; c < nrhs; c++)
      for (PetscInt i = 0; i < n; i++) B.y[i + c * B.ldx] = B.b[i + c * B.ldx];
    ops->lower(SpikeBandPart(B.f, f0, n - f0), 0, n - f0, nrhs, B.y + f0, B.ldx, B.y + f0, B.ldx);
    ops->upper(SpikeBandPart(B.f, r0, n - r0), 0, n - r0, nrhs, B.y + r0, B.ldx);
    Check(TEST_PARTS, Same(&B, r0, nrhs, B.x, B.y), n, kl, ku, "bottom");
    CheckGuards(&B, B.y);
  }
  Destroy(&B);
}

/* Of equal candidates the first: with 1 and -1 in a column nothing moves */
static void TestTies(const SpikeBandOps *ops, PetscInt kl)
{
  const PetscInt n = kl + 1, w = PetscMin(ops->panel(kl, 0), n);
  Band           B;
  int            swap[64];

  Create(ops, n, kl, 0, 1, &B);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = j; i < n; i++) Set(&B, i, j, (i * i + j) % 2 ? -1 : 1);
  ops->lu(n, kl, 0, B.a, &B.pivot);
  memcpy(swap, B.a, (size_t)w * sizeof(int));
  for (PetscInt c = 0; c < w; c++) Check(TEST_PIVOTS, swap[c] == c ? 0 : 2, n, kl, 0, "ties");
  Destroy(&B);
}

/* A column of zeros: the step where nothing is left is that column's own or a later one of a square system */
static void TestSingular(const SpikeBandOps *ops, PetscInt n, PetscInt kl, PetscInt ku)
{
  const PetscInt bad = (PetscInt)((Uniform() + 1) / 2 * (n - 1));

  for (int boost = 0; boost < 2; boost++) {
    Band B;

    Create(ops, n, kl, ku, 1, &B);
    Fill(&B);
    for (PetscInt i = PetscMax(0, bad - ku); i <= PetscMin(n - 1, bad + kl); i++) Set(&B, i, bad, 0);
    B.pivot.boost = boost ? (PetscReal)0.125 : 0;
    ops->lu(n, kl, ku, B.a, &B.pivot);
    if (boost) {
      Check(TEST_SINGULAR, B.pivot.badrow == -1 && B.pivot.nboost == 1 ? 0 : 2, n, kl, ku, "boosted");
      Solve(&B, PETSC_FALSE, 1, B.x);
      for (PetscInt i = 0; i < n; i++) Check(TEST_SINGULAR, Abs(B.x[i]) < 1e30 ? 0 : 2, n, kl, ku, "finite");
    } else Check(TEST_SINGULAR, B.pivot.badrow == bad && B.pivot.badvalue == 0 ? 0 : 2, n, kl, ku, "row");
    Destroy(&B);
  }
}

static void TestNotNumber(const SpikeBandOps *ops, PetscInt n, PetscInt kl, PetscInt ku)
{
  for (int kind = 0; kind < 2; kind++) {
    Band           B;
    const PetscInt j = (PetscInt)((Uniform() + 1) / 2 * (n - 1)), i = PetscMax(0, PetscMin(n - 1, j + kl / 2 - ku / 3));

    Create(ops, n, kl, ku, 1, &B);
    Fill(&B);
    Set(&B, i, j, kind ? (PetscReal)INFINITY : (PetscReal)NAN);
    B.pivot.boost = (PetscReal)0.125; /* boosts what is zero, not that */
    ops->lu(n, kl, ku, B.a, &B.pivot);
    /* an entry above the diagonal of a lower right corner may never meet a pivot: then it is in U */
    if (kl && i >= j) Check(TEST_NOTNUMBER, B.pivot.badrow >= 0 ? 0 : 2, n, kl, ku, kind ? "infinity" : "NaN");
    Destroy(&B);
  }
}

int main(int argc, char **argv)
{
  const char *const isas[]     = {"base", "v3", "v4"};
  const PetscInt    bands[][2] = {{1, 1},   {0, 3},   {3, 0},   {2, 5},   {7, 7},     {8, 8},  {9, 4},
                                  {16, 15}, {31, 33}, {48, 50}, {65, 20}, {128, 130}, {140, 3}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    const SpikeBandOps *ops;

    if (!SpikeISASet((SpikeISA)isa)) {
      printf("ok %d - %s # SKIP this processor lacks it\n", ++ntests, isas[isa]);
      continue;
    }
    ops = SpikeBandGetPivotedOps();
    memset(ncases, 0, sizeof(ncases));
    memset(nbad, 0, sizeof(nbad));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
      const PetscInt kl = bands[k][0], ku = bands[k][1], K = PetscMax(kl, ku), w = ops->panel(kl, ku);
      const PetscInt sizes[] = {0, 1, 2, K, K + 1, w, w + 1, 2 * w + 3, 2 * K + w + 5, 150};

      for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) TestSolves(ops, sizes[s], kl, ku);
      if (kl) TestTies(ops, kl);
      /* nearly a triangle: so badly conditioned that other pivots are zero too */
      if (kl < 16 * (ku + 1)) TestSingular(ops, 2 * K + 20, kl, ku);
      TestNotNumber(ops, 2 * K + 20, kl, ku);
    }
    for (PetscInt k = 0; k < 200; k++) {
      const PetscInt kl = (PetscInt)((Uniform() + 1) * 15), ku = (PetscInt)((Uniform() + 1) * 15);

      /* a band that is nearly a lower triangle may be singular in single precision */
      TestSolves(ops, (PetscInt)((Uniform() + 1) * 60), kl, ku && ku < kl / 4 ? kl / 4 : ku);
    }
    for (int t = 0; t < NTOPICS; t++) {
      if (nbad[t]) nfailed++;
      printf("%s %d - %s: %s (%d cases)\n", nbad[t] || !ncases[t] ? "not ok" : "ok", ++ntests, isas[isa], topics[t],
             ncases[t]);
    }
  }
  printf("1..%d\n", ntests);
  PetscCall(PetscFinalize());
  return nfailed ? 1 : 0;
}
