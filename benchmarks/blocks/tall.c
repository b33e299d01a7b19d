/* SPDX-License-Identifier: BSD-2-Clause */
/* tall.c: block dot Y += X^H Z and block axpy Y += X Z, of one or many tasks, by the kernels of a place and by BLAS */
#include "tall.h"
#include "../common/symbols.h"

#define OP_MIXED SPIKE_BLOCK_NOPS /* dot and axpy in turn, of rows 1/4 to 4/4 of n */

static const char *TallName(SpikeBlockOp op)
{
  return op == SPIKE_BLOCK_DOT ? "dot" : op == SPIKE_BLOCK_AXPY ? "axpy" : "mixed";
}

PetscErrorCode TallCreate(Place *p, PetscSpikePrecision precision, PetscInt n, PetscInt m, PetscInt ntasks, Tall *t)
{
  const size_t size = NumberBytes(precision);

  PetscFunctionBeginUser;
  t->p         = p;
  t->precision = precision;
  t->n         = n;
  t->m         = m;
  t->ntasks    = ntasks;
  t->copies    = CopiesOf(p, 2.0 * (double)n * (double)m * (double)ntasks * (double)size, MAXCOPIES);
  PetscCall((*p->b.k->alloc)(&p->b, 2 * (size_t)n * m * ntasks * t->copies * size, (void **)&t->big));
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)m * m * ntasks * t->copies * size, (void **)&t->small));
  PetscCall(PetscMalloc1(t->copies * ntasks, &t->tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TallDestroy(Tall *t)
{
  PetscFunctionBeginUser;
  PetscCall((*t->p->b.k->release)(&t->p->b, (void **)&t->big));
  PetscCall((*t->p->b.k->release)(&t->p->b, (void **)&t->small));
  PetscCall(PetscFree(t->tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TallSet(Tall *t, SpikeBlockOp op, PetscBool rowmajor)
{
  const size_t size = NumberBytes(t->precision), tall = (size_t)t->n * t->m * size, small = (size_t)t->m * t->m * size;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < t->copies * t->ntasks; i++) {
    SpikeBlockTask *s = &t->tasks[i];

    PetscCall(PetscMemzero(s, sizeof(*s)));
    s->op       = op == OP_MIXED ? (i % t->ntasks % 2 ? SPIKE_BLOCK_AXPY : SPIKE_BLOCK_DOT) : op;
    s->mode     = SPIKE_BLOCK_ADD;
    s->rowmajor = rowmajor;
    s->n        = op == OP_MIXED ? t->n / 4 * (1 + i % t->ntasks % 4) : t->n;
    s->k = s->m = t->m;
    s->X        = t->big + 2 * i * tall;
    s->ldx = s->ldz = s->ldy = rowmajor ? t->m : t->n;
    if (s->op == SPIKE_BLOCK_DOT) {
      s->Z   = t->big + (2 * i + 1) * tall;
      s->Y   = t->small + i * small;
      s->ldy = t->m;
    } else {
      s->Z   = t->small + i * small;
      s->Y   = t->big + (2 * i + 1) * tall;
      s->ldz = t->m;
    }
  }
  PetscCall(FillPlace(t->p, t->precision, 2 * (PetscCount)t->n * t->m * t->ntasks * t->copies, t->big));
  PetscCall(FillPlace(t->p, t->precision, (PetscCount)t->m * t->m * t->ntasks * t->copies, t->small));
  t->have = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least traffic of a copy: dot reads X and Z, axpy reads X and Y and writes Y */
static double TallBytes(const Tall *t)
{
  double bytes = 0.0;

  for (PetscInt i = 0; i < t->ntasks; i++)
    bytes += (t->tasks[i].op == SPIKE_BLOCK_DOT ? 2.0 : 3.0) * (double)t->tasks[i].n * (double)t->m *
             (double)NumberBytes(t->precision);
  return bytes;
}

/* ---- Errors ---- */

/* out[r + c count] <- rows first <= r + first of a tall block */
static PetscErrorCode TallRows(Tall *t, const SpikeBlockTask *s, const void *X, PetscInt first, PetscInt count,
                               SpikeDouble *out)
{
  const size_t size = NumberBytes(t->precision);
  char        *raw;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1((size_t)count * t->m * size, &raw));
  if (s->rowmajor)
    PetscCall(Download(t->p, (const char *)X + (size_t)first * t->m * size, (size_t)count * t->m * size, raw));
  for (PetscInt c = 0; c < t->m && !s->rowmajor; c++)
    PetscCall(Download(t->p, (const char *)X + ((size_t)c * t->n + first) * size, (size_t)count * size,
                       raw + (size_t)c * count * size));
  for (PetscInt c = 0; c < t->m; c++)
    for (PetscInt r = 0; r < count; r++)
      out[r + (PetscCount)c * count] = NumberGet(t->precision, raw,
                                                 s->rowmajor ? (PetscCount)r * t->m + c : r + (PetscCount)c * count);
  PetscCall(PetscFree(raw));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TallSmall(Tall *t, const void *Y, SpikeDouble *out)
{
  char raw[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM * sizeof(SpikeDouble)];

  PetscFunctionBeginUser;
  PetscCall(Download(t->p, Y, (size_t)t->m * t->m * NumberBytes(t->precision), raw));
  for (PetscInt i = 0; i < t->m * t->m; i++) out[i] = NumberGet(t->precision, raw, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Largest error of Y += X^H Z in units of rounding and of |Y| + |X|^H |Z|; where that is much work for the host, of what
  differs from the first result of the case, NAN for that one itself. turned: Y has been made as its transpose
*/
static PetscErrorCode TallDotError(Tall *t, const SpikeBlockTask *s, BlockWork work, void *ctx, PetscBool turned,
                                   double *error)
{
  const PetscInt  m   = t->m;
  const PetscBool all = (PetscBool)((double)s->n * m * m <= 2e7);
  SpikeDouble    *X, *Z, Y[2][SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM], sum[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];
  double          size[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];

  PetscFunctionBeginUser;
  PetscCall(FillPlace(t->p, t->precision, (PetscCount)m * m * t->ntasks * t->copies, t->small));
  PetscCall(TallSmall(t, s->Y, Y[0]));
  PetscCall((*work)(ctx, 0));
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCall(TallSmall(t, s->Y, Y[1]));
  for (PetscInt i = 0; i < m * m; i++) {
    sum[i]  = 0.0;
    size[i] = 1.0;
  }
  if (all) {
    PetscCall(PetscMalloc2((size_t)s->n * m, &X, (size_t)s->n * m, &Z));
    PetscCall(TallRows(t, s, s->X, 0, s->n, X));
    PetscCall(TallRows(t, s, s->Z, 0, s->n, Z));
    for (PetscInt j = 0; j < m; j++)
      for (PetscInt i = 0; i < m; i++) {
        const SpikeDouble *x = X + (PetscCount)i * s->n, *z = Z + (PetscCount)j * s->n;

        for (PetscInt begin = 0; begin < s->n; begin += 256) { /* in pieces, for digits that the results may have */
          SpikeDouble part = 0.0;

          for (PetscInt r = begin; r < PetscMin(begin + 256, s->n); r++) {
            part += Conjugate(x[r]) * z[r];
            size[i + j * m] += Magnitude(x[r]) * Magnitude(z[r]);
          }
          sum[i + j * m] += part;
        }
      }
    PetscCall(PetscFree2(X, Z));
  }
  *error = all || t->have ? 0.0 : NAN;
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      const PetscInt    at  = turned ? j + i * m : i + j * m;
      const SpikeDouble got = Y[1][at] - Y[0][at], ref = all ? sum[i + j * m] : t->first[i + j * m];
      const double      e = Magnitude(got - ref) /
                       (PrecisionRounding(t->precision) * (all ? size[i + j * m] : 0.25 * (double)s->n));

      if (!all && !t->have) t->first[i + j * m] = got;
      else if (!(e <= *error)) *error = e;
    }
  t->have = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of Y += X Z, in the first and last rows */
static PetscErrorCode TallAxpyError(Tall *t, const SpikeBlockTask *s, BlockWork work, void *ctx, double *error)
{
  const PetscInt m = t->m, count = PetscMin(s->n, 100);
  SpikeDouble   *X, *Y, *W, Z[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(count * m, &X, count * m, &Y, count * m, &W));
  PetscCall(TallSmall(t, s->Z, Z));
  *error = 0.0;
  for (int end = 0; end < 2; end++) {
    const PetscInt first = end ? s->n - count : 0;

    PetscCall(TallRows(t, s, s->X, first, count, X));
    PetscCall(TallRows(t, s, s->Y, first, count, Y));
    PetscCall((*work)(ctx, 0));
    PetscCall((*t->p->b.k->synchronize)(&t->p->b));
    PetscCall(TallRows(t, s, s->Y, first, count, W));
    for (PetscInt j = 0; j < m; j++)
      for (PetscInt r = 0; r < count; r++) {
        SpikeDouble v    = Y[r + j * count];
        double      size = Magnitude(v), e;

        for (PetscInt i = 0; i < m; i++) {
          v += X[r + i * count] * Z[i + j * m];
          size += Magnitude(X[r + i * count]) * Magnitude(Z[i + j * m]);
        }
        e = Magnitude(W[r + j * count] - v) / (PrecisionRounding(t->precision) * size);
        if (!(e <= *error)) *error = e;
      }
  }
  PetscCall(PetscFree3(X, Y, W));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last task of each operation */
PetscErrorCode TallError(Tall *t, BlockWork work, void *ctx, PetscBool turned, double *error)
{
  double e;

  PetscFunctionBeginUser;
  *error = NAN;
  for (PetscInt i = t->ntasks - 1; i >= 0 && i >= t->ntasks - 2; i--) {
    if (i + 1 < t->ntasks && t->tasks[i].op == t->tasks[i + 1].op) break;
    if (t->tasks[i].op == SPIKE_BLOCK_DOT) PetscCall(TallDotError(t, &t->tasks[i], work, ctx, turned, &e));
    else PetscCall(TallAxpyError(t, &t->tasks[i], work, ctx, &e));
    if (isnan(*error) || e > *error) *error = e;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Who computes ---- */

PetscErrorCode TallOurs(void *ctx, PetscInt k)
{
  Tall *t = (Tall *)ctx;

  PetscFunctionBeginUser;
  PetscCall((*t->p->b.k->run)(&t->p->b, t->precision, t->ntasks, t->tasks + k * t->ntasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

Product TallProduct(const SpikeBlockTask *s)
{
  Product   g;
  const int n = (int)s->n, m = (int)s->m;

  if (s->op == SPIKE_BLOCK_DOT) {
    g.opa = s->rowmajor ? 'N' : 'C';
    g.opb = s->rowmajor ? 'C' : 'N';
    g.A   = s->rowmajor ? s->Z : s->X;
    g.B   = s->rowmajor ? s->X : s->Z;
    g.m = g.n = m;
    g.k       = n;
    g.lda = g.ldb = (int)s->ldx;
    g.ldc         = m;
  } else {
    g.opa = s->rowmajor ? 'T' : 'N';
    g.opb = 'N';
    g.A   = s->rowmajor ? s->Z : s->X;
    g.B   = s->rowmajor ? s->X : s->Z;
    g.m   = s->rowmajor ? m : n;
    g.n   = s->rowmajor ? n : m;
    g.k   = m;
    g.lda = s->rowmajor ? m : (int)s->ldx;
    g.ldb = s->rowmajor ? (int)s->ldx : m;
    g.ldc = (int)s->ldy;
  }
  g.C = s->Y;
  return g;
}

/* xGEMM of the BLAS that PETSc is linked with, of either precision */
typedef struct {
  Tall *t;
  void (*gemm)(const char *, const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscBLASInt *,
               const void *, const void *, const PetscBLASInt *, const void *, const PetscBLASInt *, const void *,
               void *, const PetscBLASInt *);
  SpikeDouble one;
  SpikeSingle single;
} TallBLAS;

static PetscErrorCode TallBLASWork(void *ctx, PetscInt k)
{
  TallBLAS   *s = (TallBLAS *)ctx;
  const void *one;

  PetscFunctionBeginUser;
  one = s->t->precision == PETSC_SPIKE_PRECISION_DOUBLE ? (const void *)&s->one : (const void *)&s->single;
  for (PetscInt i = 0; i < s->t->ntasks; i++) {
    const Product      g = TallProduct(&s->t->tasks[k * s->t->ntasks + i]);
    const PetscBLASInt m = g.m, n = g.n, l = g.k, lda = g.lda, ldb = g.ldb, ldc = g.ldc;

    (*s->gemm)(&g.opa, &g.opb, &m, &n, &l, one, g.A, &lda, g.B, &ldb, one, g.C, &ldc);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TallBLASLine(Tall *t, const Key *key)
{
  TallBLAS s       = {t, NULL, 1.0, 1.0f};
  char     name[8] = "xgemm_";
  double   ms      = NAN, error;

  PetscFunctionBeginUser;
  name[0] = (char)(PrecisionLetter(t->precision) - 'A' + 'a');
  if (!FindSymbol(RTLD_DEFAULT, name, &s.gemm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*t->p->time)(t->p, t->copies, NULL, TallBLASWork, &s, &ms, NULL));
  PetscCall(TallError(t, TallBLASWork, &s, key->rowmajor, &error));
  PetscCall(Report(t->p, key, "BLAS", ms, NAN, error, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TallCell(Tall *t, Key *key, SpikeBlockOp op, PetscBool rowmajor, TallPeers peers)
{
  double ms = NAN, graph = NAN, error;

  PetscFunctionBeginUser;
  key->op        = TallName(op);
  key->rowmajor  = rowmajor;
  key->precision = t->precision;
  key->bs        = 0;
  key->n         = t->n;
  key->m         = t->m;
  key->tasks     = t->ntasks;
  PetscCall(TallSet(t, op, rowmajor));
  key->bytes = TallBytes(t);
  PetscCall((*t->p->time)(t->p, t->copies, NULL, TallOurs, t, &ms, &graph));
  PetscCall(TallError(t, TallOurs, t, PETSC_FALSE, &error));
  PetscCall(Report(t->p, key, "ours", ms, graph, error, ""));
  PetscCall((*peers)(t, key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One task of each size */
PetscErrorCode TallPart(Place *p, PetscBool dot, PetscBool axpy, TallPeers peers)
{
  const Run *run = p->run;
  Key        key = {NULL};
  Tall       t;

  PetscFunctionBeginUser;
  PetscCall(Heading(p, "Block dot and block axpy"));
  key.part = "tall";
  for (int precision = 0; precision < 2; precision++)
    for (PetscInt i = 0; i < run->nn; i++)
      for (PetscInt j = 0; j < run->nm; j++) {
        if (p->beside && run->m[j] != 4 && run->m[j] != 8 && run->m[j] != 16) continue;
        PetscCall(TallCreate(p, precision ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE, run->n[i],
                             run->m[j], 1, &t));
        for (int row = 0; row < (p->beside ? 1 : 2); row++) {
          if (dot) PetscCall(TallCell(&t, &key, SPIKE_BLOCK_DOT, row ? PETSC_TRUE : PETSC_FALSE, peers));
          if (axpy) PetscCall(TallCell(&t, &key, SPIKE_BLOCK_AXPY, row ? PETSC_TRUE : PETSC_FALSE, peers));
        }
        PetscCall(TallDestroy(&t));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many tasks of run->taskrows rows at once, column-major */
PetscErrorCode TallTasks(Place *p, TallPeers peers)
{
  const Run *run = p->run;
  Key        key = {NULL};
  Tall       t;

  PetscFunctionBeginUser;
  PetscCall(Heading(p, "Many block dots and block axpys"));
  key.part = "tasks";
  for (int precision = 0; precision < 2; precision++)
    for (PetscInt j = 0; j < run->ntallm; j++)
      for (PetscInt i = 0; i < run->ntasks; i++) {
        const PetscInt m = run->tallm[j];

        if (p->beside && run->ntasks > 1 && run->tasks[i] != 1 && run->tasks[i] != 32) continue;
        PetscCall(TallCreate(p, precision ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE, run->taskrows,
                             m, run->tasks[i], &t));
        PetscCall(TallCell(&t, &key, SPIKE_BLOCK_DOT, PETSC_FALSE, peers));
        PetscCall(TallCell(&t, &key, SPIKE_BLOCK_AXPY, PETSC_FALSE, peers));
        if (run->tasks[i] > 1 && m == 8) PetscCall(TallCell(&t, &key, OP_MIXED, PETSC_FALSE, peers));
        PetscCall(TallDestroy(&t));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}
