/* SPDX-License-Identifier: BSD-2-Clause */
/*
  band_block.h: for the tests of the kernels on one band block: random dominant bands with guards around them, in either
  precision; bounds; results
*/
#pragma once

#include "kernels/band/band.h"
#include "kernels/band/host/ops.h"
#include "kernels/common/host/half.h"
#include "random.h"
#include <float.h>

/*
  references are computed in this type; entries of the test matrices are exact in the precision of the factors, of
  vectors in single precision
*/
#if defined(PETSC_USE_COMPLEX)
typedef long double _Complex Wide;
  #define SPIKE_PARTS 2
#else
typedef long double Wide;
  #define SPIKE_PARTS 1
#endif

typedef struct {
  const SpikeBandOps *ops;
  double              epsF, epsS; /* of the factors, of the vectors */
  double              tiny;       /* smallest number of the factors, where that is not far below all entries */
  PetscSpikePrecision precision;  /* of the factors */
} Ctx;

/* a band block with pads and guards around it; f points to the array itself */
typedef struct {
  PetscInt n, kl, ku;
  size_t   len, pad, guard; /* elements */
  char    *alloc, *f, *start;
} Block;

/*
  of rows and columns of references, which take long: AddressSanitizer looks at memory, and numbers are tested without
*/
#if defined(__SANITIZE_ADDRESS__)
  #define EVERY 5
#else
  #define EVERY 1
#endif

static int ntests = 0, nfailed = 0;

static inline void Report(const Ctx *c, const char *what, PetscInt ncases, PetscInt nbad, double worst)
{
  ntests++;
  if (nbad) nfailed++;
  PetscCallAbort(PETSC_COMM_SELF, PetscPrintf(PETSC_COMM_SELF, "%s %d - %s: %s # %" PetscInt_FMT " cases",
                                              nbad ? "not ok" : "ok", ntests, c->ops->name, what, ncases));
  if (nbad) PetscCallAbort(PETSC_COMM_SELF, PetscPrintf(PETSC_COMM_SELF, ", %" PetscInt_FMT " bad", nbad));
  if (worst >= 0)
    PetscCallAbort(PETSC_COMM_SELF, PetscPrintf(PETSC_COMM_SELF, ", worst error %.2g of its bound", worst));
  PetscCallAbort(PETSC_COMM_SELF, PetscPrintf(PETSC_COMM_SELF, "\n"));
}

static inline void Diagnose(const char *what, const Block *b, PetscInt nrhs, double value)
{
  PetscCallAbort(PETSC_COMM_SELF, PetscPrintf(PETSC_COMM_SELF,
                                              "# %s: n %" PetscInt_FMT ", kl %" PetscInt_FMT ", ku %" PetscInt_FMT
                                              ", nrhs %" PetscInt_FMT ": %g\n",
                                              what, b->n, b->kl, b->ku, nrhs, value));
}

static inline Wide RandomWide(void)
{
#if defined(PETSC_USE_COMPLEX)
  const double re = Uniform(), im = Uniform();

  return re + im * (Wide)PETSC_i;
#else
  return Uniform();
#endif
}

static inline double Abs(Wide x)
{
#if defined(PETSC_USE_COMPLEX)
  return (double)__builtin_cabsl(x);
#else
  return (double)(x < 0 ? -x : x);
#endif
}

static inline double AbsReal(Wide x)
{
#if defined(PETSC_USE_COMPLEX)
  return (double)__real__ x;
#else
  return (double)x;
#endif
}

/* element i of an array of factors */
static inline Wide Get(const Ctx *c, const char *f, PetscCount i)
{
  const size_t m = (size_t)i * SPIKE_PARTS;
  long double  part[SPIKE_PARTS];

  for (size_t k = 0; k < SPIKE_PARTS; k++) {
    if (c->precision == PETSC_SPIKE_PRECISION_DOUBLE) part[k] = ((const double *)f)[m + k];
    else if (c->precision == PETSC_SPIKE_PRECISION_SINGLE) part[k] = ((const float *)f)[m + k];
    else if (c->precision == PETSC_SPIKE_PRECISION_BF16) part[k] = SpikeFromBF16(((const unsigned short *)f)[m + k]);
    else part[k] = SpikeFromFP16(((const unsigned short *)f)[m + k]);
  }
  return *(const Wide *)part;
}

static inline void Put(const Ctx *c, char *f, PetscCount i, Wide v)
{
  const size_t       m    = (size_t)i * SPIKE_PARTS;
  const long double *part = (const long double *)&v;

  for (size_t k = 0; k < SPIKE_PARTS; k++) {
    if (c->precision == PETSC_SPIKE_PRECISION_DOUBLE) ((double *)f)[m + k] = (double)part[k];
    else if (c->precision == PETSC_SPIKE_PRECISION_SINGLE) ((float *)f)[m + k] = (float)part[k];
    else if (c->precision == PETSC_SPIKE_PRECISION_BF16) ((unsigned short *)f)[m + k] = SpikeToBF16((float)part[k]);
    else ((unsigned short *)f)[m + k] = SpikeToFP16((float)part[k]);
  }
}

static inline Wide Rounded(const Ctx *c, Wide v)
{
  char f[2 * sizeof(double)];

  Put(c, f, 0, v);
  return Get(c, f, 0);
}

/*
  Roundings in a sum of k products that the bounds allow for: entries of factors of 16 bits are rounded once, and the
  products are not
*/
static inline double Terms(const Ctx *c, PetscInt k)
{
  return c->precision > PETSC_SPIKE_PRECISION_SINGLE ? 2 : 8 + k;
}

static inline PetscBool Inside(PetscInt n, PetscInt kl, PetscInt ku, PetscInt i, PetscInt j)
{
  return (PetscBool)(i >= 0 && i < n && i - j <= kl && j - i <= ku);
}

/* index of a_ij */
static inline PetscCount PlaceOf(const Block *b, PetscInt i, PetscInt j)
{
  return (PetscCount)j * ((PetscCount)b->kl + b->ku + 1) + b->ku + i - j;
}

/* index of element (i, j) of the factors */
static inline PetscCount FactorAt(const Ctx *c, const Block *b, PetscInt i, PetscInt j)
{
  return SpikeBandIndex(b->n, b->kl, b->ku, c->ops->size, i, j);
}

/* fill: what the pads hold, and the slots outside the matrix */
static inline PetscErrorCode BlockCreate(const Ctx *c, PetscInt n, PetscInt kl, PetscInt ku, const Wide *a, Wide fill,
                                         Block *b)
{
  PetscFunctionBegin;
  b->n     = n;
  b->kl    = kl;
  b->ku    = ku;
  b->len   = (size_t)n * ((size_t)kl + ku + 1);
  b->pad   = (size_t)SPIKE_BAND_PAD(kl, ku);
  b->guard = 64;
  PetscCall(PetscMalloc((b->len + 2 * b->pad + 2 * b->guard) * c->ops->size + 64, (void **)&b->alloc));
  b->start = (char *)(((PETSC_UINTPTR_T)b->alloc + 63) & ~(PETSC_UINTPTR_T)63);
  b->f     = b->start + (b->pad + b->guard) * c->ops->size;
  for (size_t i = 0; i < b->len + 2 * (b->pad + b->guard); i++)
    Put(c, b->start, (PetscCount)i, i < b->guard || i >= b->guard + b->len + 2 * b->pad ? (Wide)12345 : fill);
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++)
      Put(c, b->f, PlaceOf(b, i, j), a[PlaceOf(b, i, j)]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Are guards, pads and slots outside the factors as they were created, bit by bit? Has each element of the factors a
  slot of its own? Where lu() stopped there are no factors, and any slot between the pads may hold anything.
*/
static inline PetscErrorCode BlockIntact(const Ctx *c, const Block *b, PetscBool factored, Wide fill, PetscBool *intact)
{
  char  g[2][16];
  char *used;

  PetscFunctionBegin;
  *intact = PETSC_TRUE;
  PetscCall(PetscCalloc1(b->len + 1, &used));
  for (PetscInt j = 0; j < b->n; j++) {
    for (PetscInt i = PetscMax(0, j - b->ku); i <= PetscMin(b->n - 1, j + b->kl); i++) {
      const PetscCount at = FactorAt(c, b, i, j);

      if (at < 0 || at >= (PetscCount)b->len || used[at]) *intact = PETSC_FALSE;
      else used[at] = 1;
    }
  }
  Put(c, g[0], 0, (Wide)12345);
  Put(c, g[1], 0, fill);
  for (size_t i = 0; i < b->len + 2 * (b->pad + b->guard); i++) {
    const PetscBool guard = (PetscBool)(i < b->guard || i >= b->guard + b->len + 2 * b->pad);

    if (i >= b->pad + b->guard && i < b->pad + b->guard + b->len && (!factored || used[i - b->pad - b->guard]))
      continue;
    if (memcmp(b->start + i * c->ops->size, g[guard ? 0 : 1], c->ops->size)) *intact = PETSC_FALSE;
  }
  PetscCall(PetscFree(used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BlockDestroy(Block *b)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(b->alloc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* random band, nonconstant and unsymmetric, |a_jj| at least twice the sums of the others in its row and column */
static inline PetscErrorCode RandomBand(const Ctx *c, PetscInt n, PetscInt kl, PetscInt ku, Wide **a)
{
  Block   b;
  double *row, *col;

  PetscFunctionBegin;
  b.n = n, b.kl = kl, b.ku = ku;
  PetscCall(PetscCalloc1((size_t)n * ((size_t)kl + ku + 1), a));
  PetscCall(PetscCalloc2(n, &row, n, &col));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = PetscMax(0, j - ku); i <= PetscMin(n - 1, j + kl); i++) {
      const Wide v = Rounded(c, RandomWide());

      (*a)[PlaceOf(&b, i, j)] = v;
      if (i != j) {
        row[i] += Abs(v);
        col[j] += Abs(v);
      }
    }
  }
  for (PetscInt j = 0; j < n; j++) {
    const Wide v = (*a)[PlaceOf(&b, j, j)];

    (*a)[PlaceOf(&b, j, j)] = Rounded(c, (2 * PetscMax(row[j], col[j]) + 0.5) * (1 + c->epsF)) *
                              (AbsReal(v) < 0 ? -1.0L : 1.0L);
#if defined(PETSC_USE_COMPLEX)
    (*a)[PlaceOf(&b, j, j)] += __imag__ v * (Wide)PETSC_i;
#endif
  }
  PetscCall(PetscFree2(row, col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Factor(const Ctx *c, Block *b, PetscReal tol, PetscReal boost, SpikeBandPivot *piv)
{
  char *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc(c->ops->lu_worksize(b->kl, b->ku) + 128, (void **)&work));
  memset(work, 0xFF, c->ops->lu_worksize(b->kl, b->ku) + 128); /* NaN: nothing may be assumed of it */
  piv->tol   = tol;
  piv->boost = boost;
  piv->work  = (void *)(((PETSC_UINTPTR_T)work + 63) & ~(PETSC_UINTPTR_T)63);
  c->ops->lu(b->n, b->kl, b->ku, b->f, piv);
  for (const char *p = (const char *)piv->work + c->ops->lu_worksize(b->kl, b->ku);
       p < work + c->ops->lu_worksize(b->kl, b->ku) + 128; p++)
    PetscCheck(*p == (char)0xFF, PETSC_COMM_SELF, PETSC_ERR_PLIB, "lu() wrote after its work space");
  piv->work = NULL;
  PetscCall(PetscFree(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline Wide LowerAt(const Ctx *c, const Block *b, PetscInt i, PetscInt j)
{
  return i == j ? 1 : Get(c, b->f, FactorAt(c, b, i, j));
}

static inline Wide UpperAt(const Ctx *c, const Block *b, PetscInt i, PetscInt j)
{
  const Wide u = Get(c, b->f, FactorAt(c, b, i, j));

  return i == j ? 1 / u : u;
}

/* max |A - L U| / (gamma |L| |U|), entry by entry, the bound of the error analysis of elimination */
static inline double ReconstructionError(const Ctx *c, const Block *b, const Wide *a)
{
  double worst = 0;

  for (PetscInt j = 0; j < b->n; j += EVERY) {
    for (PetscInt i = PetscMax(0, j - b->ku); i <= PetscMin(b->n - 1, j + b->kl); i++) {
      Wide   s  = -a[PlaceOf(b, i, j)];
      double as = 0, r;

      for (PetscInt k = PetscMax(0, PetscMax(i - b->kl, j - b->ku)); k <= PetscMin(i, j); k++) {
        const Wide t = LowerAt(c, b, i, k) * UpperAt(c, b, k, j);

        s += t;
        as += Abs(t);
      }
      r = Abs(s) /
          (c->epsF * Terms(c, PetscMin(b->kl, b->ku)) * (as + DBL_MIN) + c->tiny * (1 + Abs(UpperAt(c, b, j, j))));
      if (!(r <= worst)) worst = r;
    }
  }
  return worst;
}
