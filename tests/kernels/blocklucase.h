/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blocklucase.h: for tests of factors of blocks with any backend: matrices, dense references of patterns, factors and
  solves
*/
#pragma once

#include "blockcase.h"

#define MAXTASKS 8

typedef struct {
  PetscInt ntasks, sizes[MAXTASKS];
} Tasks;

/* A block matrix in both forms, on the host and in the backend's memory */
typedef struct {
  PetscInt     bs, nb, ntasks, start[MAXTASKS + 1];
  PetscInt    *bi, *bj, *ai, *aj, *dbi, *dbj, *dai, *daj, *newrow;
  PetscScalar *ba, *aa, *dba, *daa;
  PetscInt    *dense; /* [nb nb] index of the block, -1 where there is none */
} Matrix;

static inline PetscErrorCode Up(SpikeBlock *b, const void *from, size_t bytes, void **to)
{
  PetscFunctionBegin;
  PetscCall((*b->k->alloc)(b, bytes, to));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, *to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CSR of numbers from the blocks; entries of a row in the order of the blocks */
static inline void MatrixToNumbers(Matrix *A)
{
  const PetscInt bs = A->bs;
  PetscInt       n  = 0;

  A->ai[0] = 0;
  for (PetscInt i = 0; i < A->nb; i++) {
    for (PetscInt r = 0; r < bs; r++) {
      for (PetscInt k = A->bi[i]; k < A->bi[i + 1]; k++) {
        for (PetscInt c = 0; c < bs; c++, n++) {
          A->aj[n] = A->bj[k] * bs + c;
          A->aa[n] = A->ba[((PetscCount)k * bs + c) * bs + r];
        }
      }
      A->ai[i * bs + r + 1] = n;
    }
  }
}

/* Values: diagonal blocks are dominant, but their large elements lie beside the diagonal, so that rows are exchanged */
static inline void MatrixValues(Matrix *A)
{
  const PetscInt bs = A->bs;

  for (PetscInt i = 0; i < A->nb; i++) {
    for (PetscInt k = A->bi[i]; k < A->bi[i + 1]; k++) {
      for (PetscInt c = 0; c < bs; c++) {
        for (PetscInt r = 0; r < bs; r++) {
          PetscScalar *a = &A->ba[((PetscCount)k * bs + c) * bs + r];

          *a = (PetscScalar)RandomDouble();
          if (A->bj[k] == i && (r + 1 + i % 2) % bs == c) *a += (PetscReal)(1.5 * bs * (A->bi[i + 1] - A->bi[i]));
        }
      }
    }
  }
  MatrixToNumbers(A);
}

static inline PetscErrorCode MatrixUp(SpikeBlock *b, Matrix *A)
{
  const size_t blocks = (size_t)A->bi[A->nb], n = blocks * A->bs * A->bs;

  PetscFunctionBegin;
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, A->dba, A->ba, n * sizeof(PetscScalar)));
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, A->daa, A->aa, n * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  about perrow blocks in a row, or with 0 those of a grid: no two neighbours of a block are neighbours; order: 0 none, 1
  rows of each task reversed, 2 multicolor
*/
static inline PetscErrorCode MatrixCreate(SpikeBlock *b, PetscInt bs, const Tasks *tasks, PetscInt perrow, int order,
                                          Matrix *A)
{
  PetscInt n = 0, nb;

  PetscFunctionBegin;
  A->bs       = bs;
  A->ntasks   = tasks->ntasks;
  A->start[0] = 0;
  for (PetscInt t = 0; t < tasks->ntasks; t++) A->start[t + 1] = A->start[t] + tasks->sizes[t];
  A->nb = nb = A->start[tasks->ntasks];
  PetscCall(PetscMalloc1(nb + 1, &A->bi));
  PetscCall(PetscMalloc1(nb * bs + 1, &A->ai));
  PetscCall(PetscMalloc1((size_t)nb * nb, &A->dense));
  A->bi[0] = 0;
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt j = 0; j < nb; j++) {
      const PetscInt d = PetscAbsInt(i - j);

      if (perrow) A->dense[i * nb + j] = j == i || Uniform() < 2.0 * (perrow - 1) / PetscMin(nb, 30) - 1.0 ? n++ : -1;
      else A->dense[i * nb + j] = d == 0 || d == 1 || d == 4 || d == 10 || d == 12 ? n++ : -1;
    }
    A->bi[i + 1] = n;
  }
  PetscCall(PetscMalloc1(n, &A->bj));
  PetscCall(PetscMalloc1((size_t)n * bs * bs, &A->ba));
  PetscCall(PetscMalloc1((size_t)n * bs * bs, &A->aa));
  PetscCall(PetscMalloc1((size_t)n * bs * bs, &A->aj));
  for (PetscInt e = 0; e < nb * nb; e++)
    if (A->dense[e] >= 0) A->bj[A->dense[e]] = e % nb;
  MatrixValues(A);
  A->newrow = NULL;
  if (order) PetscCall(PetscMalloc1(nb, &A->newrow));
  if (order == 1) {
    for (PetscInt t = 0; t < A->ntasks; t++)
      for (PetscInt i = A->start[t]; i < A->start[t + 1]; i++) A->newrow[i] = A->start[t] + A->start[t + 1] - 1 - i;
  } else if (order == 2) {
    PetscInt ncolors;

    PetscCall(SpikeBlockMulticolor(nb, A->ntasks, A->start, A->bi, A->bj, A->newrow, &ncolors));
  }
  PetscCall(Up(b, A->bi, (nb + 1) * sizeof(PetscInt), (void **)&A->dbi));
  PetscCall(Up(b, A->bj, n * sizeof(PetscInt), (void **)&A->dbj));
  PetscCall(Up(b, A->ai, (nb * bs + 1) * sizeof(PetscInt), (void **)&A->dai));
  PetscCall(Up(b, A->aj, (size_t)n * bs * bs * sizeof(PetscInt), (void **)&A->daj));
  PetscCall(Up(b, A->ba, (size_t)n * bs * bs * sizeof(PetscScalar), (void **)&A->dba));
  PetscCall(Up(b, A->aa, (size_t)n * bs * bs * sizeof(PetscScalar), (void **)&A->daa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatrixDestroy(SpikeBlock *b, Matrix *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->bi));
  PetscCall(PetscFree(A->bj));
  PetscCall(PetscFree(A->ai));
  PetscCall(PetscFree(A->aj));
  PetscCall(PetscFree(A->ba));
  PetscCall(PetscFree(A->aa));
  PetscCall(PetscFree(A->dense));
  PetscCall(PetscFree(A->newrow));
  PetscCall((*b->k->release)(b, (void **)&A->dbi));
  PetscCall((*b->k->release)(b, (void **)&A->dbj));
  PetscCall((*b->k->release)(b, (void **)&A->dai));
  PetscCall((*b->k->release)(b, (void **)&A->daj));
  PetscCall((*b->k->release)(b, (void **)&A->dba));
  PetscCall((*b->k->release)(b, (void **)&A->daa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline SpikeBlockCSR MatrixCSR(const Matrix *A, PetscBool blocks)
{
  SpikeBlockCSR csr;

  csr.bs = blocks ? A->bs : 1;
  csr.ai = blocks ? A->dbi : A->dai;
  csr.aj = blocks ? A->dbj : A->daj;
  csr.aa = blocks ? A->dba : A->daa;
  return csr;
}

/* Index of the block of L (0), D (1) or U (2) at (i, j) of the factors, -1 where they have none */
static inline PetscInt PatternFind(const SpikeBlockPattern *p, PetscInt i, PetscInt j)
{
  const PetscInt *ri = j < i ? p->li : p->ui, *rj = j < i ? p->lj : p->uj;

  if (i == j) return i;
  for (PetscInt k = ri[i]; k < ri[i + 1]; k++)
    if (rj[k] == j) return k;
  return -1;
}

/*
  The pattern against levels of fill of dense matrices; level sets: a row is exactly one after the last that it waits
  for
*/
static inline PetscErrorCode PatternCheck(const Matrix *A, const SpikeBlockPattern *p, const char where[])
{
  const PetscInt nb = A->nb, far = 1000000;
  PetscInt      *lev, *task, *level, kept = 0, dropped = 0, bad = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)nb * nb, &lev));
  PetscCall(PetscMalloc1(nb, &task));
  PetscCall(PetscMalloc1(nb, &level));
  for (PetscInt t = 0; t < A->ntasks; t++)
    for (PetscInt i = A->start[t]; i < A->start[t + 1]; i++) task[i] = t;
  for (PetscInt e = 0; e < nb * nb; e++) lev[e] = far;
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt j = 0; j < nb; j++) {
      if (A->dense[i * nb + j] < 0) continue;
      if (task[i] != task[j]) dropped++;
      else {
        kept++;
        lev[(A->newrow ? A->newrow[i] : i) * nb + (A->newrow ? A->newrow[j] : j)] = 0;
      }
    }
  }
  for (PetscInt i = 0; i < nb; i++) {
    lev[i * nb + i] = 0;
    for (PetscInt k = 0; k < i; k++) {
      if (lev[i * nb + k] == far || lev[i * nb + k] > p->levels) continue;
      for (PetscInt j = k + 1; j < nb; j++) {
        const PetscInt fill = lev[k * nb + j] == far || lev[k * nb + j] > p->levels ? far
                            : p->levels == PETSC_INT_MAX                            ? 0
                                                         : lev[i * nb + k] + lev[k * nb + j] + 1;

        lev[i * nb + j] = PetscMin(lev[i * nb + j], fill);
      }
    }
    for (PetscInt k = 0; k < nb; k++)
      if (lev[i * nb + k] > p->levels || lev[i * nb + k] == far) lev[i * nb + k] = far;
  }
  for (PetscInt i = 0; i < nb; i++) {
    PetscInt n = 0;

    for (PetscInt j = 0; j < nb; j++) {
      bad += (lev[i * nb + j] != far) != (PatternFind(p, i, j) >= 0);
      n += lev[i * nb + j] != far;
    }
    bad += n != p->li[i + 1] - p->li[i] + p->ui[i + 1] - p->ui[i] + 1;
    for (PetscInt k = p->li[i] + 1; k < p->li[i + 1]; k++) bad += p->lj[k] <= p->lj[k - 1];
    for (PetscInt k = p->ui[i] + 1; k < p->ui[i + 1]; k++) bad += p->uj[k] <= p->uj[k - 1];
  }
  bad += kept != p->kept || dropped != p->dropped || p->missing != -1;
  for (int upper = 0; upper < 2; upper++) {
    const PetscInt *ri = upper ? p->ui : p->li, *rj = upper ? p->uj : p->lj;

    for (PetscInt i = 0; i < nb; i++) level[i] = -1;
    for (PetscInt l = 0; l < p->nlevels[upper]; l++) {
      for (PetscInt s = p->levelptr[upper][l]; s < p->levelptr[upper][l + 1]; s++) {
        const PetscInt i    = p->levelrow[upper][s];
        PetscInt       last = -1;

        for (PetscInt k = ri[i]; k < ri[i + 1]; k++) last = PetscMax(last, level[rj[k]] < 0 ? far : level[rj[k]]);
        bad += last != l - 1 || level[i] >= 0 || (s > p->levelptr[upper][l] && i <= p->levelrow[upper][s - 1]);
        level[i] = l;
      }
    }
    bad += p->levelptr[upper][0] != 0 || p->levelptr[upper][p->nlevels[upper]] != nb;
  }
  Check(bad ? 1e30 : 0, where);
  PetscCall(PetscFree(lev));
  PetscCall(PetscFree(task));
  PetscCall(PetscFree(level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors on the host */
typedef struct {
  PetscScalar *L, *D, *U;
} Factors;

static inline PetscErrorCode FactorsGet(SpikeBlock *b, SpikeBlockLU *lu, Factors *f)
{
  const SpikeBlockPattern *p    = lu->p;
  const size_t             step = (size_t)p->bs * p->bs;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->li[p->nb] * step, &f->L));
  PetscCall(PetscMalloc1(p->nb * step, &f->D));
  PetscCall(PetscMalloc1(p->ui[p->nb] * step, &f->U));
  PetscCall((*b->k->luget)(lu, f->L, f->D, f->U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FactorsDestroy(Factors *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->L));
  PetscCall(PetscFree(f->D));
  PetscCall(PetscFree(f->U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  (L D)(D^-1)(D + U) = A on the pattern: in block (i, j), with P = A_ij - sum over k < min(i,j) of L_ik U_kj:  U_ij = P
  above the diagonal, D_i^-1 P = I on it, L_ij = P D_j^-1 below. The error is taken against the magnitudes of what goes
  into it.
*/
static inline PetscErrorCode FactorsCheck(const Matrix *A, const SpikeBlockPattern *p, PetscSpikePrecision precision,
                                          const Factors *f, const char where[])
{
  const PetscInt bs = p->bs, nb = p->nb;
  const size_t   step = (size_t)bs * bs;
  SpikeDouble   *P;
  double        *S, bad = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(step, &P, step, &S));
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt j = 0; j < nb; j++) {
      const PetscInt at = PatternFind(p, i, j),
                     e  = A->dense[(p->oldrow ? p->oldrow[i] : i) * nb + (p->oldrow ? p->oldrow[j] : j)];

      if (at < 0) continue;
      for (size_t t = 0; t < step; t++) {
        P[t] = e < 0 ? 0
                     : (precision == PETSC_SPIKE_PRECISION_DOUBLE ? (SpikeDouble)A->ba[e * step + t]
                                                                  : (SpikeDouble)(SpikeSingle)A->ba[e * step + t]);
        S[t] = Magnitude(P[t]);
      }
      for (PetscInt k = 0; k < PetscMin(i, j); k++) {
        const PetscInt l = PatternFind(p, i, k), u = PatternFind(p, k, j);

        if (l < 0 || u < 0) continue;
        for (PetscInt c = 0; c < bs; c++)
          for (PetscInt r = 0; r < bs; r++)
            for (PetscInt q = 0; q < bs; q++) {
              const SpikeDouble a = (SpikeDouble)f->L[l * step + q * bs + r] * (SpikeDouble)f->U[u * step + c * bs + q];

              P[c * bs + r] -= a;
              S[c * bs + r] += Magnitude(a);
            }
      }
      for (PetscInt c = 0; c < bs; c++) {
        for (PetscInt r = 0; r < bs; r++) {
          SpikeDouble s    = 0;
          double      size = 0, error, bound;

          if (j > i) {
            error = Magnitude(P[c * bs + r] - (SpikeDouble)f->U[at * step + c * bs + r]);
            size  = S[c * bs + r];
          } else {
            for (PetscInt q = 0; q < bs; q++) {
              if (i == j) {
                s += (SpikeDouble)f->D[i * step + q * bs + r] * P[c * bs + q];
                size += Magnitude((SpikeDouble)f->D[i * step + q * bs + r]) * S[c * bs + q];
              } else {
                s += P[q * bs + r] * (SpikeDouble)f->D[j * step + c * bs + q];
                size += S[q * bs + r] * Magnitude((SpikeDouble)f->D[j * step + c * bs + q]);
              }
            }
            if (i == j) error = Magnitude(s - (r == c ? 1.0 : 0.0));
            else error = Magnitude(s - (SpikeDouble)f->L[at * step + c * bs + r]);
            size += 1e-3;
          }
          bound = PetscMax(Epsilon(precision), Epsilon(PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                                     : PETSC_SPIKE_PRECISION_DOUBLE)) *
                  (10 + bs) * size;
          if (!(error <= bound)) bad = 1e10;
          if (bound > 0 && error / bound > bad) bad = error / bound;
        }
      }
    }
  }
  Check(bad, where);
  PetscCall(PetscFree2(P, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- M^-1 b or with the transpose, n numbers in the order of the matrix, from the factors in double precision */
static inline PetscErrorCode FactorsSolve(const SpikeBlockPattern *p, const Factors *f, SpikeBlockTrans trans,
                                          const PetscScalar *b, SpikeDouble *x)
{
  const PetscInt bs = p->bs, nb = p->nb;
  const size_t   step = (size_t)bs * bs;
  SpikeDouble   *w, t[SPIKE_BLOCK_MAXBS];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)nb * bs, &w));
  for (PetscInt i = 0; i < nb; i++)
    for (PetscInt r = 0; r < bs; r++) w[i * bs + r] = b[(p->oldrow ? p->oldrow[i] : i) * bs + r];
#define BLOCK(a, k, r, q) \
  (trans == SPIKE_BLOCK_PLAIN        ? (SpikeDouble)(a)[(k)*step + (q)*bs + (r)] \
   : trans == SPIKE_BLOCK_TRANSPOSED ? (SpikeDouble)(a)[(k)*step + (r)*bs + (q)] \
                                     : Conjugated((SpikeDouble)(a)[(k)*step + (r)*bs + (q)]))
#define INVERSE(i) \
  do { \
    for (PetscInt r = 0; r < bs; r++) { \
      t[r] = 0; \
      for (PetscInt q = 0; q < bs; q++) t[r] += BLOCK(f->D, i, r, q) * w[(i)*bs + q]; \
    } \
    for (PetscInt r = 0; r < bs; r++) w[(i)*bs + r] = t[r]; \
  } while (0)
  if (trans == SPIKE_BLOCK_PLAIN) {
    for (PetscInt i = 0; i < nb; i++)
      for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++)
        for (PetscInt r = 0; r < bs; r++)
          for (PetscInt q = 0; q < bs; q++) w[i * bs + r] -= BLOCK(f->L, k, r, q) * w[p->lj[k] * bs + q];
    for (PetscInt i = nb - 1; i >= 0; i--) {
      for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++)
        for (PetscInt r = 0; r < bs; r++)
          for (PetscInt q = 0; q < bs; q++) w[i * bs + r] -= BLOCK(f->U, k, r, q) * w[p->uj[k] * bs + q];
      INVERSE(i);
    }
  } else {
    for (PetscInt i = 0; i < nb; i++) {
      INVERSE(i);
      for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++)
        for (PetscInt r = 0; r < bs; r++)
          for (PetscInt q = 0; q < bs; q++) w[p->uj[k] * bs + r] -= BLOCK(f->U, k, r, q) * w[i * bs + q];
    }
    for (PetscInt i = nb - 1; i >= 0; i--)
      for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++)
        for (PetscInt r = 0; r < bs; r++)
          for (PetscInt q = 0; q < bs; q++) w[p->lj[k] * bs + r] -= BLOCK(f->L, k, r, q) * w[i * bs + q];
  }
#undef BLOCK
#undef INVERSE
  for (PetscInt i = 0; i < nb; i++)
    for (PetscInt r = 0; r < bs; r++) x[(p->oldrow ? p->oldrow[i] : i) * bs + r] = w[i * bs + r];
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solves with nrhs columns against the dense ones; each column has the bits that it has alone and in place; nothing is
  written between columns
*/
static inline PetscErrorCode SolveCheck(SpikeBlock *b, SpikeBlockLU *lu, const Factors *f, SpikeBlockTrans trans,
                                        PetscInt nrhs, const char where[])
{
  const PetscInt n = lu->p->nb * lu->p->bs, ldb = n + 3, ldx = n + 1;
  PetscScalar   *rhs, *x, *y, *db, *dx;
  SpikeDouble   *ref;
  double         bad  = 0;
  PetscBool      same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)ldb * nrhs, &rhs));
  PetscCall(PetscMalloc1((size_t)ldx * nrhs, &x));
  PetscCall(PetscMalloc1(n, &y));
  PetscCall(PetscMalloc1(n, &ref));
  for (PetscInt c = 0; c < nrhs; c++)
    for (PetscInt i = 0; i < n; i++) rhs[c * ldb + i] = (PetscScalar)RandomDouble();
  PetscCall(Up(b, rhs, (size_t)ldb * nrhs * sizeof(PetscScalar), (void **)&db));
  PetscCall(Up(b, x, (size_t)ldx * nrhs * sizeof(PetscScalar), (void **)&dx));
  PetscCall((*b->k->lusolve)(lu, trans, nrhs, db, ldb, dx, ldx));
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, x, dx, (size_t)ldx * nrhs * sizeof(PetscScalar)));
  for (PetscInt c = 0; c < nrhs; c++) {
    double size = 0, error = 0;

    PetscCall(FactorsSolve(lu->p, f, trans, rhs + c * ldb, ref));
    for (PetscInt i = 0; i < n; i++) {
      const double e = Magnitude((SpikeDouble)x[c * ldx + i] - ref[i]);

      size  = PetscMax(size, Magnitude(ref[i]));
      error = e <= error ? error : e; /* NaN stays */
    }
    if (n && !(error <= 1e10)) bad = 1e30;
    if (n) bad = PetscMax(bad, error / (50 * PETSC_MACHINE_EPSILON * size));
    for (PetscInt i = n; i < ldx; i++) same = (PetscBool)(same && x[c * ldx + i] != x[c * ldx + i]);
    PetscCall((*b->k->lusolve)(lu, trans, 1, db + c * ldb, ldb, db + c * ldb, ldb));
    PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, y, db + c * ldb, n * sizeof(PetscScalar)));
    if (n) same = (PetscBool)(same && !memcmp(y, x + c * ldx, n * sizeof(PetscScalar)));
  }
  Check(bad, where);
  Check(same ? 0 : 1e30, where);
  PetscCall((*b->k->release)(b, (void **)&db));
  PetscCall((*b->k->release)(b, (void **)&dx));
  PetscCall(PetscFree(rhs));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fill() and factor(), and their end */
static inline PetscErrorCode Factor(SpikeBlock *b, SpikeBlockLU *lu, const SpikeBlockCSR *csr, SpikeBlockFillStats *st,
                                    SpikePivot *pivot)
{
  PetscFunctionBegin;
  PetscCall((*b->k->lufill)(lu, csr, st));
  PetscCall((*b->k->lufactor)(lu, pivot));
  if (b->k->lufinish) PetscCall((*b->k->lufinish)(lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CreateLU(SpikeBlock *b, const SpikeBlockPattern *p, PetscSpikePrecision precision,
                                      PetscInt maxrhs, SpikeBlockLU *lu)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(lu, sizeof(*lu)));
  lu->p         = p;
  lu->precision = precision;
  lu->maxrhs    = maxrhs;
  lu->trans     = PETSC_TRUE;
  lu->b         = b;
  PetscCall((*b->k->lucreate)(lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void PivotSet(SpikePivot *pivot, PetscReal tol, PetscReal boost, PetscBool relative)
{
  memset(pivot, 0, sizeof(*pivot));
  pivot->tol      = tol;
  pivot->boost    = boost;
  pivot->relative = relative;
  pivot->badrow   = -1;
}
