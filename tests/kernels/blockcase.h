/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockcase.h: for tests of block.h with any backend: arrays of both precisions, results, tall blocks and sparse
  products against sums in double precision
*/
#pragma once

#include "kernels/band/host/host.h"
#include "kernels/block/block.h"
#include "../guard.h"
#include "random.h"
#include <math.h>

static const PetscSpikePrecision precisions[] = {PETSC_SPIKE_PRECISION_DOUBLE, PETSC_SPIKE_PRECISION_SINGLE};

static PetscInt number = 0, failed = 0, checks = 0, failures = 0;
static double   worst = 0;

/* value: an error in units of its bound; NaN fails */
static inline void Check(double value, const char where[])
{
  checks++;
  if (!(value <= worst)) worst = value;
  if (value <= 1) return;
  if (failures++ < 10) printf("# %s: %g\n", where, value);
}

static inline void Report(const char what[])
{
  if (GuardDamage()) Check(1e30, "written outside of an array");
  guard.damaged = 0;
  if (failures || !checks) failed++;
  printf("%s %d - %s # %" PetscInt_FMT " checks, worst error %.2g of its bound\n",
         failures || !checks ? "not ok" : "ok", (int)++number, what, checks, worst);
  checks = failures = 0;
  worst             = 0;
}

static inline SpikeDouble RandomDouble(void)
{
#if defined(PETSC_USE_COMPLEX)
  const double re = Uniform();

  return re + Uniform() * 1.0i;
#else
  return Uniform();
#endif
}

static inline double Magnitude(SpikeDouble a)
{
#if defined(PETSC_USE_COMPLEX)
  return cabs(a);
#else
  return fabs(a);
#endif
}

static inline SpikeDouble Conjugated(SpikeDouble a)
{
#if defined(PETSC_USE_COMPLEX)
  return conj(a);
#else
  return a;
#endif
}

static inline double Epsilon(PetscSpikePrecision p)
{
  return p == PETSC_SPIKE_PRECISION_DOUBLE ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

static inline size_t NumberSize(PetscSpikePrecision p)
{
  return p == PETSC_SPIKE_PRECISION_DOUBLE ? sizeof(SpikeDouble) : sizeof(SpikeSingle);
}

/* An array of either precision: on the host as a, in the backend's memory as d */
typedef struct {
  PetscSpikePrecision precision;
  size_t              n;
  void               *a, *d;
} Array;

static inline SpikeDouble Get(const Array *x, size_t i)
{
  return x->precision == PETSC_SPIKE_PRECISION_DOUBLE ? ((SpikeDouble *)x->a)[i]
                                                      : (SpikeDouble)((SpikeSingle *)x->a)[i];
}

static inline void Put(Array *x, size_t i, SpikeDouble v)
{
  if (x->precision == PETSC_SPIKE_PRECISION_DOUBLE) ((SpikeDouble *)x->a)[i] = v;
  else ((SpikeSingle *)x->a)[i] = (SpikeSingle)v;
}

/* All NaN at first */
static inline PetscErrorCode ArrayCreate(SpikeBlock *b, PetscSpikePrecision precision, size_t n, Array *x)
{
  PetscFunctionBegin;
  x->precision = precision;
  x->n         = n;
  PetscCall(PetscMalloc(n * NumberSize(precision), &x->a));
  if (n) memset(x->a, 0xFF, n * NumberSize(precision));
  PetscCall((*b->k->alloc)(b, n * NumberSize(precision), &x->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ArrayDestroy(SpikeBlock *b, Array *x)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(x->a));
  PetscCall((*b->k->release)(b, &x->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ArrayUp(SpikeBlock *b, Array *x)
{
  PetscFunctionBegin;
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, x->d, x->a, x->n * NumberSize(x->precision)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ArrayDown(SpikeBlock *b, const Array *x, void *to)
{
  PetscFunctionBegin;
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, to, x->d, x->n * NumberSize(x->precision)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n x m with leading dimension ld; NaN between */
static inline size_t IndexOf(PetscBool rowmajor, PetscInt i, PetscInt j, PetscCount ld)
{
  return (size_t)(rowmajor ? i * ld + j : i + j * ld);
}

static inline PetscErrorCode TallCreate(SpikeBlock *b, PetscSpikePrecision precision, PetscBool rowmajor, PetscInt n,
                                        PetscInt m, PetscInt pad, PetscCount *ld, Array *x)
{
  PetscFunctionBegin;
  *ld = (rowmajor ? m : n) + pad;
  PetscCall(ArrayCreate(b, precision, (size_t)*ld * (rowmajor ? n : m), x));
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < n; i++) Put(x, IndexOf(rowmajor, i, j, *ld), RandomDouble());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sparse matrix of blocks, and its blocks on the host */
typedef struct {
  PetscInt  bs, mb, nb, *bi, *bj;
  PetscInt *dense; /* [mb nb] index of the block, -1 where there is none */
} Sparse;

static inline PetscErrorCode SparseCreate(PetscInt bs, PetscInt mb, PetscInt nb, PetscInt perrow, Sparse *s)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  s->bs = bs;
  s->mb = mb;
  s->nb = nb;
  PetscCall(PetscMalloc1(mb + 1, &s->bi));
  PetscCall(PetscMalloc1((size_t)mb * nb, &s->dense));
  for (PetscInt i = 0; i < mb * nb; i++) s->dense[i] = -1;
  s->bi[0] = 0;
  for (PetscInt i = 0; i < mb; i++) {
    for (PetscInt j = 0; j < nb; j++)
      if (i % 7 != 5 && Uniform() < 2.0 * perrow / nb - 1.0) s->dense[i * nb + j] = n++;
    s->bi[i + 1] = n;
  }
  PetscCall(PetscMalloc1(n, &s->bj));
  for (PetscInt i = 0; i < mb * nb; i++)
    if (s->dense[i] >= 0) s->bj[s->dense[i]] = i % nb;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SparseDestroy(Sparse *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->bi));
  PetscCall(PetscFree(s->bj));
  PetscCall(PetscFree(s->dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One task with its arrays */
typedef struct {
  SpikeBlockTask task;
  Array          X, Z, Y, A;
  Sparse         S;
  SpikeBlockMat  mat;
  PetscBool      inplace;
  void          *before, *alone; /* Y before, and after the task alone */
} Case;

static inline PetscBool IsSparse(SpikeBlockOp op)
{
  return (PetscBool)(op != SPIKE_BLOCK_AXPY && op != SPIKE_BLOCK_DOT);
}

/* Of sparse products k > 0 is the number of block columns; with -k of them all rows are full, but each seventh empty */
static inline PetscErrorCode CaseCreate(SpikeBlock *b, PetscSpikePrecision precision, SpikeBlockOp op,
                                        SpikeBlockMode mode, PetscBool rowmajor, PetscInt n, PetscInt k, PetscInt m,
                                        PetscInt bs, PetscBool inplace, PetscInt pad, Case *c)
{
  SpikeBlockTask *t = &c->task;
  PetscInt        rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  t->op       = op;
  t->mode     = mode;
  t->rowmajor = rowmajor;
  t->n        = n;
  t->k        = k;
  t->m        = m;
  c->inplace  = inplace;
  if (op == SPIKE_BLOCK_AXPY) {
    PetscCall(TallCreate(b, precision, rowmajor, n, k, pad, &t->ldx, &c->X));
    PetscCall(TallCreate(b, precision, PETSC_FALSE, k, m, pad, &t->ldz, &c->Z));
    if (!inplace) PetscCall(TallCreate(b, precision, rowmajor, n, m, 2 * pad, &t->ldy, &c->Y));
    else t->ldy = t->ldx;
  } else if (op == SPIKE_BLOCK_DOT) {
    PetscCall(TallCreate(b, precision, rowmajor, n, k, pad, &t->ldx, &c->X));
    if (!inplace) PetscCall(TallCreate(b, precision, rowmajor, n, m, 2 * pad, &t->ldz, &c->Z));
    else t->ldz = t->ldx;
    PetscCall(TallCreate(b, precision, PETSC_FALSE, k, m, pad, &t->ldy, &c->Y));
  } else {
    const PetscInt nb = n / bs, other = k ? PetscAbs(k) : PetscMax(nb - 3, 1), perrow = k < 0 ? -k : 5;

    if (op == SPIKE_BLOCK_MULT) PetscCall(SparseCreate(bs, nb, other, perrow, &c->S));
    else PetscCall(SparseCreate(bs, other, nb, perrow, &c->S));
    rows = (op == SPIKE_BLOCK_MULT ? c->S.nb : c->S.mb) * bs;
    t->n = nb * bs;
    PetscCall(TallCreate(b, precision, rowmajor, rows, m, pad, &t->ldx, &c->X));
    PetscCall(TallCreate(b, precision, rowmajor, t->n, m, 2 * pad, &t->ldy, &c->Y));
    PetscCall(ArrayCreate(b, precision, (size_t)c->S.bi[c->S.mb] * bs * bs, &c->A));
    for (size_t i = 0; i < c->A.n; i++) Put(&c->A, i, RandomDouble());
    PetscCall(ArrayUp(b, &c->A));
    PetscCall(
      (*b->k->matcreate)(b, bs, c->S.mb, c->S.nb, c->S.bi, c->S.bj, (PetscBool)(op != SPIKE_BLOCK_MULT), &c->mat));
    c->mat.a = c->A.d;
    t->A     = &c->mat;
  }
  if (mode == SPIKE_BLOCK_SET && !inplace) {
    for (size_t i = 0; i < c->Y.n; i++) Put(&c->Y, i, (SpikeDouble)NAN); /* what is set is not read */
  }
  PetscCall(ArrayUp(b, &c->X));
  if (c->Z.a) PetscCall(ArrayUp(b, &c->Z));
  if (c->Y.a) PetscCall(ArrayUp(b, &c->Y));
  t->X = c->X.d;
  t->Z = c->Z.a ? c->Z.d : c->X.d;
  t->Y = c->Y.a ? c->Y.d : c->X.d;
  {
    const Array *y = c->Y.a ? &c->Y : &c->X;

    PetscCall(PetscMalloc(y->n * NumberSize(precision), &c->before));
    PetscCall(PetscMalloc(y->n * NumberSize(precision), &c->alone));
    if (y->n) memcpy(c->before, y->a, y->n * NumberSize(precision));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CaseDestroy(SpikeBlock *b, Case *c)
{
  PetscFunctionBegin;
  if (c->X.a) PetscCall(ArrayDestroy(b, &c->X));
  if (c->Y.a) PetscCall(ArrayDestroy(b, &c->Y));
  if (c->Z.a) PetscCall(ArrayDestroy(b, &c->Z));
  if (IsSparse(c->task.op)) {
    PetscCall(ArrayDestroy(b, &c->A));
    PetscCall((*b->k->matdestroy)(b, &c->mat));
    PetscCall(SparseDestroy(&c->S));
  }
  PetscCall(PetscFree(c->before));
  PetscCall(PetscFree(c->alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Element (i, j) of the product, and the sum of the magnitudes in it */
static inline SpikeDouble CaseElement(const Case *c, PetscInt i, PetscInt j, double *size, PetscInt *terms)
{
  const SpikeBlockTask *t = &c->task;
  const Array          *Z = c->Z.a ? &c->Z : &c->X;
  SpikeDouble           s = 0;

  *size  = 0;
  *terms = 0;
  if (t->op == SPIKE_BLOCK_AXPY || t->op == SPIKE_BLOCK_DOT) {
    const PetscBool axpy = (PetscBool)(t->op == SPIKE_BLOCK_AXPY);

    for (PetscInt r = 0; r < (axpy ? t->k : t->n); r++) {
      const SpikeDouble p = axpy ? Get(&c->X, IndexOf(t->rowmajor, i, r, t->ldx)) *
                                     Get(Z, IndexOf(PETSC_FALSE, r, j, t->ldz))
                                 : Conjugated(Get(&c->X, IndexOf(t->rowmajor, r, i, t->ldx))) *
                                     Get(Z, IndexOf(t->rowmajor, r, j, t->ldz));

      s += p;
      *size += Magnitude(p);
      ++*terms;
    }
  } else {
    const PetscInt  bs = c->S.bs, row = i / bs;
    const PetscBool trans = (PetscBool)(t->op != SPIKE_BLOCK_MULT);

    for (PetscInt k = 0; k < (trans ? c->S.mb : c->S.nb); k++) {
      const PetscInt e = trans ? c->S.dense[k * c->S.nb + row] : c->S.dense[row * c->S.nb + k];

      for (PetscInt r = 0; r < bs && e >= 0; r++) {
        const size_t      at = (size_t)e * bs * bs + (trans ? (i % bs) * bs + r : r * bs + i % bs);
        const SpikeDouble a  = Get(&c->A, at);
        const SpikeDouble p  = (t->op == SPIKE_BLOCK_MULT_HERMITIAN ? Conjugated(a) : a) *
                              Get(&c->X, IndexOf(t->rowmajor, k * bs + r, j, t->ldx));

        s += p;
        *size += Magnitude(p);
        ++*terms;
      }
    }
  }
  return s;
}

/* Y against sums in double precision, what lies between the columns as it was; then the same bits as `alone` */
static inline PetscErrorCode CaseCheck(SpikeBlock *b, Case *c, PetscBool alone)
{
  static const char *const ops[] = {"axpy", "dot", "mult", "mult^T", "mult^H"}, *const modes[] = {"=", "+=", "-="};
  const SpikeBlockTask *t    = &c->task;
  Array                 now  = c->Y.a ? c->Y : c->X, was;
  const PetscInt        rows = t->op == SPIKE_BLOCK_DOT ? t->k : t->n, m = t->m;
  const PetscBool       rowmajor = (PetscBool)(t->rowmajor && t->op != SPIKE_BLOCK_DOT);
  const size_t          bytes    = now.n * NumberSize(now.precision);
  double                bad      = 0;
  char                  where[256];
  void                 *kept;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s %s, %s, %s-major, n %" PetscInt_FMT " k %" PetscInt_FMT " m %" PetscInt_FMT
                          " bs %" PetscInt_FMT "%s",
                          ops[t->op], modes[t->mode],
                          now.precision == PETSC_SPIKE_PRECISION_DOUBLE ? "double" : "single",
                          t->rowmajor ? "row" : "column", t->n, t->k, m, c->S.bs, c->inplace ? ", in place" : ""));
  PetscCall(PetscMalloc(bytes, &kept));
  if (!alone) {
    PetscCall(ArrayDown(b, &now, kept));
    Check(bytes && memcmp(kept, c->alone, bytes) ? 1e30 : 0, where);
    PetscCall(PetscFree(kept));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  was   = now;
  was.a = c->before;
  PetscCall(ArrayDown(b, &now, c->alone));
  now.a = c->alone;
  if (bytes) memcpy(kept, c->before, bytes);
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = 0; i < rows; i++) {
      const size_t at = IndexOf(rowmajor, i, j, t->ldy);
      double       size;
      PetscInt     terms;
      SpikeDouble  s = CaseElement(c, i, j, &size, &terms);
      Array        k = was;

      if (t->mode != SPIKE_BLOCK_SET) {
        s = t->mode == SPIKE_BLOCK_ADD ? Get(&was, at) + s : Get(&was, at) - s;
        size += Magnitude(Get(&was, at));
      }
      {
        const double error = Magnitude(Get(&now, at) - s),
                     bound = (4 + 2 * sqrt((double)terms)) * Epsilon(now.precision) * size;

        if (!(error <= bound)) bad = 1e10;
        if (bound > 0 && error / bound > bad) bad = error / bound;
      }
      k.a = kept;
      Put(&k, at, Get(&now, at)); /* what is left must be as it was */
    }
  }
  Check(bad, where);
  Check(bytes && memcmp(kept, c->alone, bytes) ? 1e30 : 0, where);
  PetscCall(PetscFree(kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* count cases, each alone; then, from the same Y, all in one batch */
static inline PetscErrorCode CasesRun(SpikeBlock *b, PetscSpikePrecision precision, PetscInt count, Case c[])
{
  SpikeBlockTask *tasks;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, &tasks));
  for (PetscInt i = 0; i < count; i++) {
    PetscCall((*b->k->run)(b, precision, 1, &c[i].task));
    PetscCall(CaseCheck(b, &c[i], PETSC_TRUE));
    tasks[i] = c[count - 1 - i].task;
  }
  for (PetscInt i = 0; i < count; i++) {
    Array y = c[i].Y.a ? c[i].Y : c[i].X;

    y.a = c[i].before;
    PetscCall(ArrayUp(b, &y));
  }
  PetscCall((*b->k->run)(b, precision, count, tasks));
  for (PetscInt i = 0; i < count; i++) PetscCall(CaseCheck(b, &c[i], PETSC_FALSE));
  PetscCall(PetscFree(tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}
