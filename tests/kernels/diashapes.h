/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diashapes.h: a backend of dia.h against plain sums, with columns of other ranks on both sides; for hostdia.c and
  devicedia.c, which set `kernels`
*/
#include "kernels/dia/dia.h"
#include "tap.h"
#include "random.h"

#define MARGIN       71 /* not numbers around each vector */
#define GHOSTS       90 /* columns of others on each side */
#define MAXDIAGONALS 44 /* diagonals               */
#define TOL          ((PetscReal)(64 * PETSC_MACHINE_EPSILON))

static const SpikeDIAKernels *kernels; /* under test */

/* offsets beyond GHOSTS reach no column; low and high say whether there are ranks before and after */
typedef struct {
  const char *name;
  PetscInt    n, m, count, offset[MAXDIAGONALS], gap;
  PetscBool   low, high;
} Shape;

/* 3 k - 60: more diagonals than a launch takes with it */
#define MANY \
  { \
    -60, -57, -54, -51, -48, -45, -42, -39, -36, -33, -30, -27, -24, -21, -18, -15, -12, -9, -6, -3, 0, 3, 6, 9, 12, \
      15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, 48, 51, 54, 57, 60 \
  }

static const Shape shapes[] =
  {{"empty", 0, 0, 2, {-1, 0}, 0, PETSC_FALSE, PETSC_FALSE},
   {"one row", 1, 1, 3, {-1, 0, 1}, 0, PETSC_TRUE, PETSC_TRUE},
   {"no columns", 70, 0, 3, {-70, -3, 10}, 0, PETSC_TRUE, PETSC_TRUE},
   {"alone", 200, 200, 5, {-20, -1, 0, 1, 20}, 0, PETSC_FALSE, PETSC_FALSE},
   {"first", 300, 300, 5, {-20, -1, 0, 1, 20}, 0, PETSC_FALSE, PETSC_TRUE},
   {"middle", 321, 321, 7, {-80, -20, -1, 0, 1, 20, 80}, 0, PETSC_TRUE, PETSC_TRUE},
   {"last, holes", 257, 257, 4, {-64, -1, 3, 64}, 5, PETSC_TRUE, PETSC_FALSE},
   {"short", 65, 65, 4, {-90, -64, 0, 89}, 3, PETSC_TRUE, PETSC_TRUE},
   {"far corners", 400, 400, 5, {-390, -1, 0, 1, 390}, 0, PETSC_FALSE, PETSC_FALSE},
   {"more columns", 130, 250, 4, {-40, 0, 119, 160}, 0, PETSC_TRUE, PETSC_TRUE},
   {"more rows", 250, 130, 4, {-160, -90, 0, 20}, 4, PETSC_TRUE, PETSC_TRUE},
   {"full register", 512, 512, 10, {-9, -8, -5, -1, 0, 1, 2, 3, 8, 9}, 0, PETSC_TRUE, PETSC_TRUE},
   {"many", 513, 513, 41, MANY, 7, PETSC_TRUE, PETSC_FALSE},
   /* the last one: not where each number costs time */
   {"long", 66000, 5, 5, {-65990, -65536, -40000, -3, 0}, 0, PETSC_TRUE, PETSC_TRUE}};

/* Columns -GHOSTS <= j < m + GHOSTS as far as there are ranks */
static PetscBool Has(const Shape *s, PetscInt i, PetscInt d)
{
  const PetscInt j = i + s->offset[d];

  return (PetscBool)(j >= (s->low ? -GHOSTS : 0) && j < s->m + (s->high ? GHOSTS : 0) &&
                     !(s->gap && (2 * i + d) % s->gap == 1));
}

/* An array of the backend */
static void *PutThere(const void *host, size_t bytes)
{
  void *there = NULL;

  PetscCallAbort(PETSC_COMM_SELF, (*kernels->alloc)(bytes, &there));
  PetscCallAbort(PETSC_COMM_SELF, (*kernels->move)(NULL, PETSC_TRUE, there, host, bytes));
  return there;
}

typedef struct {
  const Shape *s;
  SpikeDIA     A;
  PetscInt    *ai, *aj[2], *colmap; /* two pieces: own columns, others' */
  PetscInt    *bi;
  PetscScalar *aa[2];
  PetscScalar *dense; /* (i, j) at i width + j + GHOSTS */
  PetscInt     width, nruns;
  SpikeDIARun  runs[2];
} Case;

static PetscScalar *Dense(const Case *c, PetscInt i, PetscInt j)
{
  return &c->dense[(PetscCount)i * c->width + j + GHOSTS];
}

/* All columns of others are wanted: one run on each side */
static PetscErrorCode CaseCreate(const Shape *s, Case *c)
{
  PetscInt k[2] = {0, 0}, at = 0, first[MAXDIAGONALS], last[MAXDIAGONALS];
  SpikeCSR parts[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->s     = s;
  c->width = s->m + 2 * GHOSTS;
  PetscCall(PetscCalloc1((PetscCount)s->n * c->width + 1, &c->dense));
  PetscCall(PetscCalloc1(s->n + 1, &c->ai));
  PetscCall(PetscCalloc1(s->n + 1, &c->bi));
  PetscCall(PetscMalloc1(2 * GHOSTS, &c->colmap));
  for (int p = 0; p < 2; p++) {
    PetscCall(PetscMalloc1(s->n * s->count + 1, &c->aj[p]));
    PetscCall(PetscMalloc1(s->n * s->count + 1, &c->aa[p]));
  }
  for (PetscInt g = 0; g < 2 * GHOSTS; g++) c->colmap[g] = 1000 + (g < GHOSTS ? g - GHOSTS : s->m + g - GHOSTS);
  for (PetscInt d = 0; d < s->count; d++) {
    first[d] = s->n;
    last[d]  = 0;
  }
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt d = 0; d < s->count; d++) {
      const PetscInt j = i + s->offset[d], p = j < 0 || j >= s->m;

      if (!Has(s, i, d)) continue;
      first[d]         = PetscMin(first[d], i);
      last[d]          = i + 1;
      *Dense(c, i, j)  = NumberAt(1, MAXDIAGONALS * i + d);
      c->aa[p][k[p]]   = *Dense(c, i, j);
      c->aj[p][k[p]++] = p ? (j < 0 ? j + GHOSTS : j - s->m + GHOSTS) : j;
    }
    c->ai[i + 1] = k[0];
    c->bi[i + 1] = k[1];
  }
  for (int p = 0; p < 2; p++) { /* on the host, where offsets are looked for */
    parts[p].ai     = p ? c->bi : c->ai;
    parts[p].aj     = c->aj[p];
    parts[p].aa     = c->aa[p];
    parts[p].colmap = p ? c->colmap : NULL;
    parts[p].shift  = p ? -1000 : 0;
  }
  {
    PetscInt count, offset[MAXDIAGONALS + 2], most = MAXDIAGONALS + 1;

    SpikeDIAOffsets(s->n, 2, parts, most, &count, offset);
    Check((PetscBool)(count <= s->count), s->name, "number of offsets");
    for (PetscInt k2 = 0, d = 0; k2 < count; k2++, d++) {
      while (d < s->count && !last[d]) d++;
      Check((PetscBool)(d < s->count && offset[k2] == s->offset[d]), s->name, "offsets");
    }
    if (count > 1) {
      SpikeDIAOffsets(s->n, 2, parts, count - 1, &most, offset);
      Check((PetscBool)(most == count), s->name, "more offsets than there is room for");
    }
  }
  PetscCall(SpikeDIACreate(kernels, s->n, s->m, s->count, s->offset, &c->A));
  PetscCall(SpikeDIASetExtents(&c->A, first, last));
  for (PetscInt side = 0; side < 2; side++) {
    if (side ? !s->high : !s->low) continue;
    c->runs[c->nruns].first  = side ? s->m : -GHOSTS;
    c->runs[c->nruns].length = GHOSTS;
    c->runs[c->nruns++].at   = at;
    at += GHOSTS;
  }
  PetscCall(SpikeDIASetGhosts(&c->A, c->nruns, c->runs));
  Check((PetscBool)(c->A.nghost == at), s->name, "number of ghosts");
  for (int p = 0; p < 2; p++) {
    parts[p].ai = (const PetscInt *)PutThere(parts[p].ai, (size_t)(s->n + 1) * sizeof(PetscInt));
    parts[p].aj = (const PetscInt *)PutThere(parts[p].aj, (size_t)k[p] * sizeof(PetscInt));
    parts[p].aa = (const PetscScalar *)PutThere(parts[p].aa, (size_t)k[p] * sizeof(PetscScalar));
    if (p) parts[p].colmap = (const PetscInt *)PutThere(parts[p].colmap, 2 * GHOSTS * sizeof(PetscInt));
  }
  PetscCall((*c->A.k->fill)(&c->A, 2, parts));
  for (int p = 0; p < 2; p++) {
    PetscCall((*kernels->release)((void **)&parts[p].ai));
    PetscCall((*kernels->release)((void **)&parts[p].aj));
    PetscCall((*kernels->release)((void **)&parts[p].aa));
    if (p) PetscCall((*kernels->release)((void **)&parts[p].colmap));
  }
  for (PetscInt i = 0; i < s->n; i++) /* rows between those at the ends need no ghosts, and as many as can be */
    for (PetscInt j = -GHOSTS; j < s->m + GHOSTS; j++)
      if (*Dense(c, i, j) != (PetscScalar)0.0 && (j < 0 || j >= s->m))
        Check((PetscBool)(i < c->A.ibegin || i >= c->A.iend), s->name, "an interior row needs ghosts");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(SpikeDIADestroy(&c->A));
  for (int p = 0; p < 2; p++) {
    PetscCall(PetscFree(c->aj[p]));
    PetscCall(PetscFree(c->aa[p]));
  }
  PetscCall(PetscFree(c->ai));
  PetscCall(PetscFree(c->bi));
  PetscCall(PetscFree(c->colmap));
  PetscCall(PetscFree(c->dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Number of column j, -GHOSTS <= j < m + GHOSTS, in x or in ghost */
static PetscScalar *Column(const Case *c, PetscScalar *x, PetscScalar *ghost, PetscInt j)
{
  if (j >= 0 && j < c->s->m) return x + j;
  for (PetscInt k = 0; k < c->nruns; k++)
    if (j >= c->runs[k].first && j < c->runs[k].first + c->runs[k].length)
      return ghost + c->runs[k].at + j - c->runs[k].first;
  return NULL;
}

/* A vector of numbers with NaN around it, and the same in the backend's memory */
typedef struct {
  PetscInt     n;
  PetscScalar *host, *x;       /* x after the margin */
  PetscScalar *memory, *there; /* likewise            */
} Vector;

/* What the host has goes to the backend */
static PetscErrorCode Send(Vector *v)
{

  PetscFunctionBegin;
  PetscCall((*kernels->move)(NULL, PETSC_TRUE, v->memory, v->host, (size_t)(v->n + 2 * MARGIN) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the backend has comes back; nothing has been written around it */
static PetscErrorCode Fetch(Vector *v)
{
  const unsigned char *byte = (const unsigned char *)v->host;
  const size_t         size = sizeof(PetscScalar);
  PetscBool            same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall((*kernels->move)(NULL, PETSC_FALSE, v->host, v->memory, (size_t)(v->n + 2 * MARGIN) * size));
  for (size_t k = 0; k < MARGIN * size; k++)
    same = (PetscBool)(same && byte[k] == 0xFF && byte[(MARGIN + (size_t)v->n) * size + k] == 0xFF);
  Check(same, "vector", "written outside of it");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* seed 0: no numbers */
static PetscErrorCode Make(PetscInt n, PetscInt seed, Vector *v)
{
  PetscFunctionBegin;
  v->n = n;
  PetscCall(PetscMalloc1(n + 2 * MARGIN, &v->host));
  memset(v->host, 0xFF, (size_t)(n + 2 * MARGIN) * sizeof(*v->host));
  v->x = v->host + MARGIN;
  for (PetscInt i = 0; seed && i < n; i++) v->x[i] = NumberAt(seed, i);
  PetscCall((*kernels->alloc)((size_t)(n + 2 * MARGIN) * sizeof(PetscScalar), (void **)&v->memory));
  v->there = v->memory + MARGIN;
  PetscCall(Send(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Drop(Vector *v)
{
  PetscFunctionBegin;
  PetscCall(Fetch(v));
  PetscCall(PetscFree(v->host));
  PetscCall((*kernels->release)((void **)&v->memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |a_ij| of the case is below 3 */
static void Near(const Case *c, PetscScalar value, PetscScalar wanted, const char what[])
{
  Check((PetscBool)(PetscAbsScalar(value - wanted) <= TOL * 30 * PetscMax(1, c->s->count)), c->s->name, what);
}

static PetscErrorCode TestMult(Case *c)
{
  const PetscInt n = c->s->n, m = c->s->m;
  Vector         x, g, z, y;

  PetscFunctionBegin;
  PetscCall(Make(m, 3, &x));
  PetscCall(Make(c->A.nghost, 4, &g));
  PetscCall(Make(n, 5, &z));
  for (int add = 0; add < 3; add++) { /* y = A x, A x + z, A x + y */
    const PetscScalar *plus;

    PetscCall(Make(n, add == 2 ? 5 : 0, &y));
    plus = add == 2 ? y.there : (add ? z.there : NULL);
    PetscCall((*c->A.k->mult)(&c->A, c->A.ibegin, c->A.iend, x.there, NULL, plus, y.there));
    PetscCall((*c->A.k->mult)(&c->A, 0, c->A.ibegin, x.there, g.there, plus, y.there));
    PetscCall((*c->A.k->mult)(&c->A, c->A.iend, n, x.there, g.there, plus, y.there));
    PetscCall(Fetch(&y));
    for (PetscInt i = 0; i < n; i++) {
      PetscScalar sum = add ? z.x[i] : (PetscScalar)0.0;

      for (PetscInt j = -GHOSTS; j < m + GHOSTS; j++)
        if (*Dense(c, i, j) != (PetscScalar)0.0) sum += *Dense(c, i, j) * *Column(c, x.x, g.x, j);
      Near(c, y.x[i], sum, "product");
    }
    PetscCall(Drop(&y));
  }
  PetscCall(Drop(&x));
  PetscCall(Drop(&g));
  PetscCall(Drop(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTranspose(Case *c)
{
  const PetscInt n = c->s->n, m = c->s->m;
  Vector         x, g, z, y;

  PetscFunctionBegin;
  PetscCall(Make(n, 6, &x));
  PetscCall(Make(m, 7, &z));
  for (int add = 0; add < 3; add++) {
    for (int conjugate = 0; conjugate < 2; conjugate++) {
      PetscCall(Make(m, add == 2 ? 7 : 0, &y));
      PetscCall(Make(c->A.nghost, 0, &g));
      PetscCall((*c->A.k->multtransposeghost)(&c->A, (PetscBool)conjugate, x.there, g.there));
      PetscCall((*c->A.k->multtranspose)(&c->A, (PetscBool)conjugate, x.there,
                                         add == 2 ? y.there : (add ? z.there : NULL), y.there));
      PetscCall(Fetch(&y));
      PetscCall(Fetch(&g));
      for (PetscInt j = c->s->low ? -GHOSTS : 0; j < m + (c->s->high ? GHOSTS : 0); j++) {
        PetscScalar sum = add && j >= 0 && j < m ? z.x[j] : (PetscScalar)0.0;

        for (PetscInt i = 0; i < n; i++)
          if (*Dense(c, i, j) != (PetscScalar)0.0)
            sum += (conjugate ? PetscConj(*Dense(c, i, j)) : *Dense(c, i, j)) * x.x[i];
        Near(c, *Column(c, y.x, g.x, j), sum, "transposed product");
      }
      PetscCall(Drop(&y));
      PetscCall(Drop(&g));
    }
  }
  PetscCall(Drop(&x));
  PetscCall(Drop(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Entries(Case *c, const char what[])
{
  const PetscInt most = 300; /* rows at once */
  PetscScalar   *rows, *row;

  PetscCallAbort(PETSC_COMM_SELF, PetscMalloc1(most * c->s->count, &rows));
  for (PetscInt i = 0; i < c->s->n; i++) {
    if (i % most == 0) PetscCallAbort(PETSC_COMM_SELF, (*c->A.k->get)(&c->A, i, PetscMin(c->s->n, i + most), rows));
    row = rows + i % most * c->s->count;
    for (PetscInt d = 0; d < c->s->count; d++) {
      const PetscInt j = i + c->s->offset[d];

      Near(c, row[d], Has(c->s, i, d) ? *Dense(c, i, j) : (PetscScalar)0.0, what);
    }
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(rows));
}

static PetscErrorCode TestEntries(Case *c)
{
  const PetscInt n = c->s->n, m = c->s->m, count = c->s->count;
  PetscScalar   *rows;
  Vector         l, r, g, v;
  PetscReal     *sum, *ghost, squares = 0.0, wanted = 0.0;
  SpikeDIA       B;

  PetscFunctionBegin;
  Entries(c, "fill() and get()");
  PetscCall(PetscMalloc1(n * count + 1, &rows));
  PetscCall((*c->A.k->get)(&c->A, 0, n, rows));
  PetscCall(SpikeDIACreate(c->A.k, n, m, count, c->s->offset, &B));
  PetscCall(SpikeDIASetExtents(&B, c->A.first, c->A.last));
  PetscCall((*B.k->zero)(&B));
  PetscCall((*B.k->put)(&B, 0, n, rows));
  PetscCall((*c->A.k->zero)(&c->A));
  PetscCall((*c->A.k->copy)(&c->A, &B));
  Entries(c, "put() and copy()");
  PetscCall((*c->A.k->scale)(&c->A, -0.5));
  PetscCall((*c->A.k->axpy)(&c->A, 1.5, &B));
  Entries(c, "scale() and axpy()");
  PetscCall((*c->A.k->conjugate)(&c->A));
  for (PetscInt k = 0; k < (PetscInt)n * c->width; k++) c->dense[k] = PetscConj(c->dense[k]);
  Entries(c, "conjugate()");
  PetscCall((*c->A.k->conjugate)(&c->A));
  for (PetscInt k = 0; k < (PetscInt)n * c->width; k++) c->dense[k] = PetscConj(c->dense[k]);
  PetscCall(SpikeDIADestroy(&B));

  PetscCall(Make(n, 8, &l));
  PetscCall(Make(m, 9, &r));
  PetscCall(Make(c->A.nghost, 10, &g));
  PetscCall((*c->A.k->diagonalscale)(&c->A, l.there, r.there, g.there));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = -GHOSTS; j < m + GHOSTS; j++)
      if (*Dense(c, i, j) != (PetscScalar)0.0) *Dense(c, i, j) *= l.x[i] * *Column(c, r.x, g.x, j);
  Entries(c, "diagonalscale()");

  PetscCall(PetscMalloc1(PetscMax(n, m) + 1, &sum));
  PetscCall(PetscMalloc1(c->A.nghost + 1, &ghost));
  PetscCall((*c->A.k->sums)(&c->A, SPIKE_DIA_ROWSUMS, sum, NULL));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal s = 0.0;

    for (PetscInt j = -GHOSTS; j < m + GHOSTS; j++) {
      s += PetscAbsScalar(*Dense(c, i, j));
      wanted += PetscRealPart(*Dense(c, i, j) * PetscConj(*Dense(c, i, j)));
    }
    Near(c, sum[i], s, "sums of rows");
  }
  PetscCall((*c->A.k->sums)(&c->A, SPIKE_DIA_SQUARES, &squares, NULL));
  Check((PetscBool)(PetscAbsReal(squares - wanted) <= TOL * 10 * wanted), c->s->name, "sum of squares");
  PetscCall((*c->A.k->sums)(&c->A, SPIKE_DIA_COLUMNSUMS, sum, ghost));
  for (PetscInt j = c->s->low ? -GHOSTS : 0; j < m + (c->s->high ? GHOSTS : 0); j++) {
    PetscReal s = 0.0;

    for (PetscInt i = 0; i < n; i++) s += PetscAbsScalar(*Dense(c, i, j));
    for (PetscInt k = 0; k < c->nruns; k++)
      if (j >= c->runs[k].first && j < c->runs[k].first + c->runs[k].length)
        Near(c, ghost[c->runs[k].at + j - c->runs[k].first], s, "sums of others' columns");
    if (j >= 0 && j < m) Near(c, sum[j], s, "sums of columns");
  }

  PetscCall(Make(n, 0, &v));
  PetscCall((*c->A.k->getdiagonal)(&c->A, count, v.there));
  PetscCall(Fetch(&v));
  for (PetscInt i = 0; i < n; i++) Near(c, v.x[i], 0.0, "getdiagonal() of none");
  for (PetscInt d = 0; d < count; d++) {
    PetscCall((*c->A.k->getdiagonal)(&c->A, d, v.there));
    PetscCall(Fetch(&v));
    for (PetscInt i = 0; i < n; i++)
      Near(c, v.x[i], Has(c->s, i, d) ? *Dense(c, i, i + c->s->offset[d]) : (PetscScalar)0.0, "getdiagonal()");
    if (c->s->gap) continue;
    PetscCall((*c->A.k->setdiagonal)(&c->A, d, PETSC_TRUE, 2.0, l.there));
    for (PetscInt i = 0; i < n; i++)
      if (Has(c->s, i, d)) *Dense(c, i, i + c->s->offset[d]) += 2.0 * l.x[i];
    if (d % 2) {
      PetscCall((*c->A.k->setdiagonal)(&c->A, d, PETSC_FALSE, 0.25, NULL));
      for (PetscInt i = 0; i < n; i++)
        if (Has(c->s, i, d)) *Dense(c, i, i + c->s->offset[d]) = 0.25;
    }
  }
  Entries(c, "setdiagonal()");
  PetscCall(Drop(&v));
  PetscCall(PetscFree(sum));
  PetscCall(PetscFree(ghost));
  PetscCall(PetscFree(rows));
  PetscCall(Drop(&l));
  PetscCall(Drop(&r));
  PetscCall(Drop(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPack(Case *c)
{
  const SpikeDIARun runs[] = {{5, 3, 0}, {0, 2, 3}, {6, 20, 10}};
  Vector            x, message;

  PetscFunctionBegin;
  if (c->s->m < 60) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Make(c->s->m, 11, &x));
  PetscCall(Make(30, 0, &message));
  PetscCall((*c->A.k->pack)(&c->A, 3, runs, x.there, message.there));
  PetscCall(Fetch(&message));
  for (int k = 0; k < 3; k++)
    for (PetscInt j = 0; j < runs[k].length; j++)
      Check((PetscBool)(message.x[runs[k].at + j] == x.x[runs[k].first + j]), c->s->name, "pack()");
  PetscCall((*c->A.k->unpackadd)(&c->A, 3, runs, message.there, x.there));
  PetscCall(Fetch(&x));
  for (PetscInt j = 0; j < c->s->m; j++) { /* a run of another rank may have the same columns */
    const PetscInt times = 1 + (j < 2) + (j >= 5 && j < 8) + (j >= 6 && j < 26);

    Check((PetscBool)(x.x[j] == (PetscReal)times * NumberAt(11, j)), c->s->name, "unpackadd()");
  }
  PetscCall(Drop(&x));
  PetscCall(Drop(&message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it, for the first `count` shapes */
PETSC_UNUSED static PetscErrorCode TestShapes(size_t count)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < count; k++) {
    Case c;

    PetscCall(CaseCreate(&shapes[k], &c));
    PetscCall(TestMult(&c));
    PetscCall(TestTranspose(&c));
    PetscCall(TestPack(&c));
    PetscCall(TestEntries(&c));
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
