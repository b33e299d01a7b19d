/* SPDX-License-Identifier: BSD-2-Clause */
/*
  lookcase.h: what looks at random patterns find, against searches that take each figure by itself; for hostlook.c and
  devicelook.c, which set `kernels` and `memory`
*/
#include "tap.h"
#include "random.h"
#include "kernels/band/look.h"

static const SpikeLookKernels *kernels;
static const SpikeDIAKernels  *memory;

#define GHOSTS 5 /* columns of a rank on each side */

typedef struct {
  PetscInt     n, nparts, nghost;
  PetscInt    *ai[2], *aj[2], colmap[2 * GHOSTS];
  PetscScalar *aa[2];
} Matrix;

/* What a pattern is made of; shares of 1 */
typedef struct {
  const char *name;
  PetscInt    kl, ku;
  PetscReal   filled;  /* of the places in the band                                            */
  PetscReal   zeros;   /* of the entries that are stored                                       */
  PetscReal   far;     /* of the rows: an entry anywhere                                       */
  PetscReal   without; /* of the rows: no diagonal entry                                       */
  PetscReal   small;   /* of the rows: a small one                                             */
  PetscReal   cut;     /* of the rows: nothing in the band goes over them                      */
  PetscBool   mixed;   /* columns of a row do not ascend                                       */
  PetscInt    only;    /* -1: below and on the diagonal alone, 1: above, 0: all                */
} Pattern;

static const Pattern patterns[] =
  {{"full band", 3, 5, 1, 0, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"tridiagonal", 1, 1, 1, 0, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"tridiagonal systems", 1, 1, 1, 0, 0, 0, 0, (PetscReal)0.1, PETSC_FALSE, 0},
   {"systems of one row", 1, 1, 1, 0, 0, 0, 0, 1, PETSC_FALSE, 0},
   {"systems of K = 4", 4, 3, 1, 0, 0, 0, 0, (PetscReal)0.05, PETSC_FALSE, 0},
   {"wide band", 31, 40, 1, 0, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"wide band, zeros", 31, 40, 1, (PetscReal)0.01, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"half of a band", 17, 9, (PetscReal)0.5, (PetscReal)0.2, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"few entries", 12, 12, (PetscReal)0.03, (PetscReal)0.3, 0, (PetscReal)0.5, 0, 0, PETSC_FALSE, 0},
   {"far entries", 8, 8, 1, 0, (PetscReal)0.02, 0, 0, 0, PETSC_FALSE, 0},
   {"far zeros", 8, 8, (PetscReal)0.9, (PetscReal)0.5, (PetscReal)0.1, 0, 0, 0, PETSC_FALSE, 0},
   {"small diagonal entries", 20, 20, 1, 0, 0, 0, (PetscReal)0.01, 0, PETSC_FALSE, 0},
   {"no diagonal entries", 5, 2, 1, 0, 0, (PetscReal)0.02, 0, 0, PETSC_FALSE, 0},
   {"columns that do not ascend", 14, 11, (PetscReal)0.8, (PetscReal)0.1, (PetscReal)0.01, (PetscReal)0.01,
    (PetscReal)0.01, (PetscReal)0.01, PETSC_TRUE, 0},
   {"lower triangle", 9, 0, (PetscReal)0.3, 0, 0, 0, 0, 0, PETSC_FALSE, -1},
   {"upper triangle", 0, 9, (PetscReal)0.3, 0, 0, 0, 0, 0, PETSC_FALSE, 1},
   {"lower triangle, far", 2, 0, (PetscReal)0.3, 0, (PetscReal)0.01, 0, 0, (PetscReal)0.3, PETSC_FALSE, -1},
   {"upper triangle, far", 0, 2, (PetscReal)0.3, 0, (PetscReal)0.01, 0, 0, (PetscReal)0.3, PETSC_FALSE, 1},
   {"zeros alone", 3, 3, 1, 1, 0, 0, 0, 0, PETSC_FALSE, 0},
   {"nothing", 3, 3, 0, 0, 0, 1, 0, 0, PETSC_FALSE, 0}};

static PetscBool Chance(PetscReal share)
{
  return (PetscBool)((PetscReal)(0.5 * (Uniform() + 1)) < share);
}

static PetscInt Below(PetscInt n)
{
  return PetscMin((PetscInt)(0.5 * (Uniform() + 1) * (double)n), n - 1);
}

static void Add(Matrix *A, int part, PetscInt row, PetscInt col, PetscScalar value)
{
  for (PetscInt k = A->ai[part][row]; k < A->ai[part][row + 1]; k++)
    if (A->aj[part][k] == col) return;
  A->aj[part][A->ai[part][row + 1]]   = col;
  A->aa[part][A->ai[part][row + 1]++] = value;
}

static PetscScalar ValueOf(const Pattern *p)
{
  const PetscScalar v = Random();

  return Chance(p->zeros) ? (PetscScalar)0.0 : v == (PetscScalar)0.0 ? (PetscScalar)1.0 : v;
}

/* Insertion sort by column, or one entry to another place */
static void Order(PetscInt count, PetscInt *aj, PetscScalar *aa, PetscBool mixed)
{
  for (PetscInt k = 1; k < count; k++)
    for (PetscInt l = k; l > 0 && aj[l] < aj[l - 1]; l--) {
      const PetscInt    j = aj[l];
      const PetscScalar a = aa[l];

      aj[l]     = aj[l - 1];
      aa[l]     = aa[l - 1];
      aj[l - 1] = j;
      aa[l - 1] = a;
    }
  if (mixed && count > 1) {
    const PetscInt    k = Below(count), l = Below(count), j = aj[k];
    const PetscScalar a = aa[k];

    aj[k] = aj[l];
    aa[k] = aa[l];
    aj[l] = j;
    aa[l] = a;
  }
}

static PetscErrorCode Create(const Pattern *p, PetscInt n, PetscInt nparts, Matrix *A)
{
  const PetscInt most = n * (p->kl + p->ku + 2) + 2 * n;
  PetscInt       from = 0, after = n; /* the system that a row is in */

  PetscFunctionBeginUser;
  A->n      = n;
  A->nparts = nparts;
  for (int part = 0; part < 2; part++) {
    PetscCall(PetscMalloc1(n + 1, &A->ai[part]));
    PetscCall(PetscMalloc1(PetscMax(most, 1), &A->aj[part]));
    PetscCall(PetscMalloc1(PetscMax(most, 1), &A->aa[part]));
    A->ai[part][0] = 0;
  }
  for (PetscInt g = 0; g < 2 * GHOSTS; g++) A->colmap[g] = g < GHOSTS ? 1000 - GHOSTS + g : 1000 + n + g - GHOSTS;
  if (p->cut > 0) after = 0;
  for (PetscInt i = 0; i < n; i++) {
    if (i == after) {
      from = i;
      do after++;
      while (after < n && !Chance(p->cut));
    }
    for (int part = 0; part < 2; part++) A->ai[part][i + 1] = A->ai[part][i];
    for (PetscInt j = PetscMax(i - p->kl, from); j <= PetscMin(i + p->ku, after - 1); j++) {
      if (p->only * (j - i) < 0) continue;
      if (j == i && !Chance(p->without))
        Add(A, 0, i, i,
            Chance(p->small) ? (PetscScalar)1e-5 : 10 * ((PetscReal)1.5 + ValueOf(p)) * (PetscReal)(p->zeros < 1));
      else if (j != i && Chance(p->filled)) Add(A, 0, i, j, ValueOf(p));
    }
    if (Chance(p->far)) {
      const PetscInt j = Below(n);

      if (p->only * (j - i) >= 0) Add(A, 0, i, j, ValueOf(p));
    }
    if (nparts > 1 && Chance((PetscReal)0.1))
      for (PetscInt g = 0; g < 2 * GHOSTS; g++)
        if (Chance((PetscReal)0.3)) Add(A, 1, i, g, ValueOf(p));
    for (int part = 0; part < 2; part++)
      Order(A->ai[part][i + 1] - A->ai[part][i], A->aj[part] + A->ai[part][i], A->aa[part] + A->ai[part][i],
            (PetscBool)(p->mixed && Chance((PetscReal)0.2)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Matrix *A)
{
  PetscFunctionBeginUser;
  for (int part = 0; part < 2; part++) {
    PetscCall(PetscFree(A->ai[part]));
    PetscCall(PetscFree(A->aj[part]));
    PetscCall(PetscFree(A->aa[part]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array of the backend */
static void *PutThere(const void *host, size_t bytes)
{
  void *there = NULL;

  PetscCallAbort(PETSC_COMM_SELF, (*memory->alloc)(PetscMax(bytes, 8), &there));
  PetscCallAbort(PETSC_COMM_SELF, (*memory->move)(NULL, PETSC_TRUE, there, host, bytes));
  return there;
}

static PetscInt Distance(const Matrix *A, int part, PetscInt i, PetscInt k)
{
  return (part ? A->colmap[A->aj[part][k]] - 1000 : A->aj[part][k]) - i;
}

#define ForEntries(A, part, i, k) \
  for (int part = 0; part < (A)->nparts; part++) \
    for (PetscInt i = 0; i < (A)->n; i++) \
      for (PetscInt k = (A)->ai[part][i]; k < (A)->ai[part][i + 1]; k++)

static PetscBool Close(PetscReal a, PetscReal b, PetscReal scale)
{
  return (PetscBool)(PetscAbsReal(a - b) <= 100 * PETSC_MACHINE_EPSILON * scale);
}

/* Rows that no entry goes over, by counts of those that do */
static void CheckCuts(const Matrix *A, const SpikeLook *l, const char name[])
{
  PetscInt *over, count = 0, sum = 0;

  PetscCallAbort(PETSC_COMM_SELF, PetscCalloc1(A->n + 1, &over));
  for (PetscInt i = 0; i < A->n; i++)
    for (PetscInt k = A->ai[0][i]; k < A->ai[0][i + 1]; k++) {
      const PetscInt d = Distance(A, 0, i, k);

      if (A->aa[0][k] == (PetscScalar)0.0 || d < -l->within[0] || d > l->within[1]) continue;
      over[PetscMin(i, i + d) + 1]++;
      over[PetscMax(i, i + d) + 1]--;
    }
  for (PetscInt c = 1; c < A->n; c++) {
    sum += over[c];
    if (sum) continue;
    Check((PetscBool)(count < l->ncuts && l->cut[count] == c), name, "a cut is missing, or at another row");
    count++;
  }
  Check((PetscBool)(l->ncuts == count), name, "number of cuts");
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(over));
}

static void CheckRows(const Matrix *A, const SpikeLook *l, const char name[])
{
  PetscInt maxrow = 0, fullest = 0, stored = 0, weak = -1, reach[SPIKE_LOOK_STEPS] = {0};

  for (PetscInt i = 0; i < A->n; i++) {
    PetscInt  nonzeros = 0, own = 0, all = 0, far = 0;
    PetscReal diagonal = 0.0, most = 0.0;

    for (int part = 0; part < A->nparts; part++) {
      all += A->ai[part][i + 1] - A->ai[part][i];
      for (PetscInt k = A->ai[part][i]; k < A->ai[part][i + 1]; k++) {
        const PetscInt d = Distance(A, part, i, k);

        if (!part && !d) diagonal = PetscAbsScalar(A->aa[0][k]);
        if (!part) most = PetscMax(most, PetscAbsScalar(A->aa[0][k]));
        if (A->aa[part][k] == (PetscScalar)0.0) continue;
        far = PetscMax(far, PetscAbsInt(d));
        nonzeros++;
        if (!part) own++;
      }
    }
    maxrow  = PetscMax(maxrow, nonzeros);
    fullest = PetscMax(fullest, own);
    stored  = PetscMax(stored, all);
    if (diagonal < l->tiny * most && weak < 0) weak = i;
    for (int step = 0; nonzeros && step < SPIKE_LOOK_STEPS; step++)
      if (SpikeLookStep(step) >= far) {
        reach[step]++;
        break;
      }
  }
  Check((PetscBool)(l->maxrow == maxrow), name, "nonzeros of the fullest row");
  Check((PetscBool)(l->own == fullest), name, "nonzeros of the fullest row of the first piece");
  Check((PetscBool)(l->stored == stored), name, "entries of the longest row");
  Check((PetscBool)(l->weak == weak), name, "first weak row");
  for (int step = 0; step < SPIKE_LOOK_STEPS; step++)
    Check((PetscBool)(l->reach[step] == reach[step]), name, "rows of a step");
}

static void CheckSamples(const Matrix *A, const SpikeLook *l, const char name[])
{
  for (PetscInt s = 0; s < l->nsample; s++) {
    const PetscInt         i         = (PetscInt)((PetscInt64)s * A->n / l->nsample);
    const SpikeLookSample *sample    = &l->sample[s];
    PetscScalar            sum[2]    = {0.0, 0.0};
    PetscReal              square[2] = {0.0, 0.0}, scale[2] = {0.0, 0.0}, diagonal = 0.0;

    for (int part = 0; part < A->nparts; part++)
      for (PetscInt k = A->ai[part][i]; k < A->ai[part][i + 1]; k++) {
        const PetscScalar a = A->aa[part][k];
        const PetscInt    d = Distance(A, part, i, k);

        if (d == 0) diagonal = PetscAbsScalar(a);
        if (d == 0 || d < -l->within[0] || d > l->within[1]) continue;
        square[d > 0] += PetscSqr(PetscAbsScalar(a));
        scale[d > 0] += PetscAbsScalar(a);
        sum[d > 0] += a;
      }
    Check(Close(sample->diagonal, diagonal, diagonal), name, "diagonal of a sample");
    for (int side = 0; side < 2; side++) {
      Check(Close(sample->square[side], square[side], square[side]), name, "squares of a sample");
      Check(Close(sample->sum[side], PetscAbsScalar(sum[side]), scale[side]), name, "sum of a sample");
    }
  }
}

static void CheckLook(const Matrix *A, const SpikeLook *l, const char name[])
{
  PetscInt   kl = 0, ku = 0;
  PetscInt64 entries = 0, zeros = 0, others = 0;
  PetscReal *weight;

  PetscCallAbort(PETSC_COMM_SELF, PetscCalloc1(A->n + 2 * GHOSTS + 1, &weight));
  ForEntries(A, part, i, k)
  {
    const PetscInt d = Distance(A, part, i, k);

    entries++;
    zeros += A->aa[part][k] == (PetscScalar)0.0;
    if (A->aa[part][k] == (PetscScalar)0.0) continue;
    kl = PetscMax(kl, -d);
    ku = PetscMax(ku, d);
    weight[PetscAbsInt(d)] += PetscAbsScalar(A->aa[part][k]);
    if (part && d >= -l->within[0] && d <= l->within[1]) others++;
  }
  Check((PetscBool)(l->kl == kl && l->ku == ku), name, "half-bandwidths");
  Check((PetscBool)(l->entries == entries), name, "entries");
  Check((PetscBool)(l->zeros == zeros), name, "stored zeros");
  Check((PetscBool)(l->others == others), name, "couplings to other ranks");
  for (PetscInt d = 0; l->weigh && d <= PetscMax(kl, ku); d++)
    Check(Close(l->weight[d], weight[d], weight[d]), name, "sum of a distance");
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(weight));
  CheckRows(A, l, name);
  CheckCuts(A, l, name);
  CheckSamples(A, l, name);
}

/* A look at the matrix where the backend has its arrays */
static PetscErrorCode RunLook(const Matrix *A, const PetscInt within[2], PetscInt nsample, PetscBool weigh,
                              const char name[])
{
  SpikeCSR  parts[2];
  SpikeLook l;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&l, sizeof(l)));
  l.n         = A->n;
  l.within[0] = within[0];
  l.within[1] = within[1];
  l.tiny      = (PetscReal)1e-3;
  l.nsample   = PetscMin(nsample, A->n);
  l.weigh     = weigh;
  for (int p = 0; p < A->nparts; p++) {
    parts[p].ai     = (const PetscInt *)PutThere(A->ai[p], (size_t)(A->n + 1) * sizeof(PetscInt));
    parts[p].aj     = (const PetscInt *)PutThere(A->aj[p], (size_t)A->ai[p][A->n] * sizeof(PetscInt));
    parts[p].aa     = (const PetscScalar *)PutThere(A->aa[p], (size_t)A->ai[p][A->n] * sizeof(PetscScalar));
    parts[p].colmap = p ? (const PetscInt *)PutThere(A->colmap, sizeof(A->colmap)) : NULL;
    parts[p].shift  = p ? -1000 : 0;
    parts[p].r = parts[p].c = NULL;
  }
  PetscCall((*kernels->look)(&l, A->nparts, parts));
  for (int p = 0; p < A->nparts; p++) {
    PetscCall((*memory->release)((void **)&parts[p].ai));
    PetscCall((*memory->release)((void **)&parts[p].aj));
    PetscCall((*memory->release)((void **)&parts[p].aa));
    if (p) PetscCall((*memory->release)((void **)&parts[p].colmap));
  }
  CheckLook(A, &l, name);
  PetscCall(SpikeLookReset(&l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps and samples by themselves */
static inline void TestNumbers(void)
{
  const PetscInt sizes[] = {1, 2, 3, 1000, 1024, 1025, 1000003};

  for (int step = 0; step < SPIKE_LOOK_STEPS; step++) {
    const PetscInt d = SpikeLookStep(step);

    if (step && SpikeLookStep(step - 1) == d) break;
    Check((PetscBool)(!step || SpikeLookStep(step - 1) < d), "steps", "they ascend");
    if (d < PETSC_INT_MAX) {
      Check((PetscBool)(SpikeLookStepOf(d) == step), "steps", "a step is its own");
      Check((PetscBool)(SpikeLookStepOf(d + 1) == step + 1), "steps", "what is beyond is in the next");
    }
  }
  Check((PetscBool)(SpikeLookStep(SPIKE_LOOK_STEPS - 1) == PETSC_INT_MAX), "steps", "the last one holds all");
  Check((PetscBool)(SpikeLookStepOf(PETSC_INT_MAX) < SPIKE_LOOK_STEPS), "steps", "the largest distance has one");
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++) {
    const PetscInt n = sizes[s], nsample = PetscMin(n, 1024);
    PetscInt       k = 0;

    for (PetscInt i = 0; i < n; i++) {
      const PetscBool is = (PetscBool)(k < nsample && (PetscInt64)k * n / nsample == i);

      Check((PetscBool)(SpikeLookSampleOf(n, nsample, i) == (is ? k : -1)), "samples", "their rows");
      k += is;
    }
    Check((PetscBool)(k == nsample), "samples", "their number");
  }
}

static PetscErrorCode TestLooks(PetscInt most)
{
  const PetscInt        sizes[] = {0, 1, 2, 3, 31, 63, 64, 65, 130, 1023, 1025, 5000};
  const PetscInt        open[2] = {PETSC_INT_MAX, PETSC_INT_MAX}, one[2] = {1, 1}, other[2] = {3, 0};
  const PetscInt *const within[] = {open, one, other};

  PetscFunctionBeginUser;
  seed = 1;
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(patterns); p++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes) && sizes[s] <= most; s++)
      for (PetscInt nparts = 1; nparts <= 2; nparts++) {
        Matrix A;
        char   name[128];

        PetscCall(Create(&patterns[p], sizes[s], nparts, &A));
        for (int w = 0; w < 3; w++)
          for (int weigh = 0; weigh < 2; weigh++) {
            PetscCall(PetscSNPrintf(name, sizeof(name),
                                    "%s, n %" PetscInt_FMT ", pieces %" PetscInt_FMT ", within %d%s", patterns[p].name,
                                    sizes[s], nparts, w, weigh ? ", weighed" : ""));
            PetscCall(RunLook(&A, within[w], s % 3 ? 1024 : 37, (PetscBool)weigh, name));
          }
        PetscCall(Destroy(&A));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are none, and infinite ones, are nonzeros */
static PetscErrorCode TestStrange(void)
{
  const PetscInt open[2] = {PETSC_INT_MAX, PETSC_INT_MAX};
  Matrix         A;

  PetscFunctionBeginUser;
  seed = 77;
  for (int kind = 0; kind < 3; kind++) {
    PetscInt at;

    PetscCall(Create(&patterns[5], 700, 1, &A));
    at          = A.ai[0][350] + (kind == 2 ? 3 : 0);
    A.aa[0][at] = kind == 1 ? (PetscScalar)PETSC_INFINITY : (PetscScalar)(PETSC_INFINITY - PETSC_INFINITY);
    PetscCall(RunLook(&A, open, 0, PETSC_FALSE, kind == 1 ? "infinite entry" : "entry that is no number"));
    PetscCall(Destroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
