/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostkrylov.c: tests of the host backend's copies of a matrix, those with fewer digits too, and their products with a
  step after them, against a plain product, for each instruction set; prints TAP
*/
static char help[] = "Products of the host backend of the fused Krylov methods against a plain product.\n\n";

#include "kernels/krylov/krylov.h"
#include "kernels/band/host/ops.h"
#include "tap.h"
#include "random.h"
#include "narrowcase.h"

static PetscErrorCode ThereAgain(const void *from, size_t bytes, void *there)
{
  PetscFunctionBegin;
  if (bytes) memcpy(there, from, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PutThere(const void *from, size_t bytes, void **there)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes, (char **)there));
  if (bytes) memcpy(*there, from, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetHere(const void *there, size_t bytes, void *to)
{
  PetscFunctionBegin;
  if (bytes) memcpy(to, there, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gone(void *there)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define OffCheck(ok, where, what)                      Check(ok, where, what)
#define OffCount(s, copy, x, basis, recurrence, where) PETSC_SUCCESS /* the host has no such products */
#include "offcase.h"

/* not numbers around each vector: a place outside of the matrix whose factor is read shows, for its value is 0 */
#define MARGIN 300

/* Offsets of the diagonals of a pattern, ascending; every `gap`-th entry is not there, where gap is not 0 */
typedef struct {
  const char *name;
  PetscInt    count, offset[160], gap;
} Pattern;

static void Stencil(Pattern *p, const char name[], PetscInt points, PetscInt gap)
{
  p->name  = name;
  p->count = points;
  p->gap   = gap;
  for (PetscInt k = 0; k < points; k++) {
    const PetscInt m = k - points / 2;

    p->offset[k] = m + m / 3 * 5; /* in groups of three */
  }
}

/* Rows with their columns in rising order, or, where turned, in falling order */
static PetscErrorCode MakeCSR(const Pattern *p, PetscInt n, PetscBool turned, SpikeKrylovCSR *csr)
{
  PetscInt    *ai, *aj, nz = 0, seen = 0;
  PetscScalar *aa;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, &ai));
  PetscCall(PetscMalloc1(n * p->count + 1, &aj));
  PetscCall(PetscMalloc1(n * p->count + 1, &aa));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt k = 0; k < p->count; k++) {
      const PetscInt j = i + p->offset[turned ? p->count - 1 - k : k];

      if (j >= 0 && j < n && (!p->gap || ++seen % p->gap)) aj[nz++] = j;
    }
    ai[i + 1] = nz;
  }
  csr->n  = n;
  csr->nz = nz;
  csr->ai = ai;
  csr->aj = aj;
  csr->aa = aa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyCSR(SpikeKrylovCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(csr->ai));
  PetscCall(PetscFree(csr->aj));
  PetscCall(PetscFree(csr->aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x or D A x, and the sum of the magnitudes of what is added up in each row */
static void Plain(const SpikeKrylovCSR *csr, const PetscScalar scale[], const PetscScalar x[], PetscScalar y[],
                  PetscReal size[])
{
  for (PetscInt i = 0; i < csr->n; i++) {
    y[i]    = 0.0;
    size[i] = 0.0;
    for (PetscInt k = csr->ai[i]; k < csr->ai[i + 1]; k++) {
      y[i] += csr->aa[k] * x[csr->aj[k]];
      size[i] += PetscAbsScalar(csr->aa[k] * x[csr->aj[k]]);
    }
    if (scale) {
      y[i] *= scale[i];
      size[i] *= PetscAbsScalar(scale[i]);
    }
  }
}

/* expected: whether a copy is to be made of such a matrix with that form asked for */
static PetscErrorCode TestMult(SpikeKrylov *s, const Pattern *p, PetscInt n, KSPFusedSpMVType form, PetscBool expected)
{
  const SpikeKrylovStep steps[] = {SPIKE_KRYLOV_NSTEPS,  SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA,
                                   SPIKE_BCGS_OMEGA_RHO, SPIKE_CG_ALPHA,   SPIKE_CG1_BETA};
  /* which vector of the step y is, and x */
  const PetscInt own[] = {0, 1, 1, 1, 1, 2}, from[] = {-1, -1, 0, 0, 0, 1};
  const PetscInt ld = n + 2 * MARGIN;
  SpikeKrylovCSR csr;
  PetscScalar   *v, *y, *z;
  PetscReal     *size;
  void          *copy = NULL;
  char           where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, n %" PetscInt_FMT ", %s", p->name, n, KSPFusedSpMVTypes[form]));
  PetscCall(MakeCSR(p, n, (PetscBool)(n % 2), &csr));
  PetscCall(PetscMalloc1(5 * ld, &v));
  PetscCall(PetscMalloc1(n, &y));
  PetscCall(PetscMalloc2(n, &z, n, &size));
  memset(v, 0xff, 5 * ld * sizeof(*v)); /* not numbers */
  for (PetscInt k = 0; k < 5; k++)
    for (PetscInt i = 0; i < n; i++) v[k * ld + MARGIN + i] = NumberAt(30 + k, i);
  for (PetscInt fill = 0; fill < 2; fill++) { /* the second with new values */
    for (PetscInt k = 0; k < csr.nz; k++) ((PetscScalar *)csr.aa)[k] = NumberAt(40 + fill, k);
    if (fill) PetscCall((*s->k->refill)(s, &csr, copy));
    else PetscCall((*s->k->copy)(s, &csr, form, &copy));
    Check((PetscBool)((copy != NULL) == expected), where, copy ? "a copy was made" : "no copy was made");
    if (!copy) break;
    Check((PetscBool)(((SpikeKrylovCopy *)copy)->form == KSP_FUSED_SPMV_DIA &&
                      ((SpikeKrylovCopy *)copy)->bytes == (PetscInt64)p->count * n * (PetscInt64)sizeof(PetscScalar)),
          where, "form or bytes of the copy");
    for (PetscInt ks = 0; ks < 2 * (PetscInt)PETSC_STATIC_ARRAY_LENGTH(steps); ks++) {
      const PetscInt             k     = ks / 2;
      const SpikeKrylovStepInfo *info  = steps[k] < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[steps[k]] : NULL;
      const PetscScalar         *scale = ks % 2 ? v + 4 * ld + MARGIN : NULL,
                        *x             = v + MARGIN + (from[k] < 0 ? 3 : from[k]) * ld;
      PetscScalar *w[SPIKE_KRYLOV_MAXVECTORS], sums[SPIKE_KRYLOV_MAXDOTS], first[SPIKE_KRYLOV_MAXDOTS];
      PetscReal    most = 0.0;
      PetscBool    good = PETSC_TRUE, same = PETSC_TRUE;

      Plain(&csr, scale, x, z, size);
      for (PetscInt m = 0; info && m < info->nvectors; m++) w[m] = m == own[k] ? y : v + MARGIN + m * ld;
      for (PetscInt run = 0; run < 2; run++) {
        memset(y, 0xff, n * sizeof(*y));
        memset(s->local, 0xff, sizeof(s->local));
        PetscCall((*s->k->mult)(s, copy, steps[k], scale, x, y, w));
        for (PetscInt m = 0; info && m < info->ndots; m++) {
          same = (PetscBool)(same && (!run || first[m] == s->local[m]));

          first[m] = s->local[m];
        }
      }
      for (PetscInt i = 0; i < n; i++) {
        good = (PetscBool)(good && PetscAbsScalar(y[i] - z[i]) <= 4 * (p->count + 2) * PETSC_MACHINE_EPSILON * size[i]);
        most = PetscMax(most, size[i]);
      }
      Check(good, where, info ? info->name : "product");
      if (!info) continue;
      Check(same, where, "a sum differs in a second run");
      (*SpikeKrylovLoops_base[steps[k]])(n, &s->scalars->f, w, sums);
      for (PetscInt m = 0; m < info->ndots; m++)
        Check((PetscBool)(PetscAbsScalar(sums[m] - s->local[m]) <= 4 * PETSC_MACHINE_EPSILON * n * PetscSqr(most + 2)),
              where, "a sum after a product");
    }
    s->scalars->reason = KSP_CONVERGED_RTOL;
    y[0] = s->local[0] = 17.0;
    PetscCall((*s->k->mult)(s, copy, SPIKE_KRYLOV_NSTEPS, NULL, v + MARGIN, y, NULL));
    Check((PetscBool)(y[0] == (PetscScalar)17.0 && s->local[0] == (PetscScalar)17.0), where,
          "a product after a reason did something");
    s->scalars->reason = 0;
  }
  PetscCall((*s->k->destroycopy)(s, &copy));
  Check((PetscBool)!copy, where, "a copy that is destroyed");
  PetscCall(DestroyCSR(&csr));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree2(z, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of a copy with fewer digits, alone and with D and a step after them: D has single precision */
static PetscErrorCode NarrowProducts(SpikeKrylov *s, const SpikeKrylovCSR *csr, PetscSpikePrecision precision,
                                     const void *narrow, const PetscScalar v[], PetscInt ld, const char where[])
{
  const PetscScalar *x = v + MARGIN, *scale = v + 2 * ld + MARGIN;
  PetscScalar       *y, *low, *w[3], sums[SPIKE_KRYLOV_MAXDOTS];
  float             *single;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(csr->n, &y, csr->nz, &low, REAL_PARTS * csr->n, &single));
  NarrowDiagonal(csr->n, scale, single);
  NarrowNumbers(precision, csr->nz, csr->aa, low);
  w[0] = (PetscScalar *)x;
  w[1] = y;
  w[2] = (PetscScalar *)v + ld + MARGIN;
  for (PetscInt k = 0; k < 2; k++) {
    const SpikeKrylovStep step = k ? SPIKE_BCGS_OMEGA_RHO : SPIKE_KRYLOV_NSTEPS;
    PetscBool             good = PETSC_TRUE;
    PetscReal             most = 0.0;

    memset(y, 0xff, csr->n * sizeof(*y));
    PetscCall((*s->k->mult)(s, narrow, step, k ? (const PetscScalar *)single : NULL, x, y, w));
    for (PetscInt i = 0; i < csr->n; i++) {
      const PetscInt  entries = csr->ai[i + 1] - csr->ai[i];
      PetscReal       size, slack;
      const PetscReal d = k ? PetscAbsScalar(scale[i]) : 1.0;
      PetscScalar     z = NarrowRow(i, csr->ai[i], csr->ai[i + 1], csr->aj, csr->aa, low, x, &size, &slack);

      if (k) z *= NarrowNumber(PETSC_SPIKE_PRECISION_SINGLE, scale[i]);
      good = (PetscBool)(good &&
                         PetscAbsScalar(y[i] - z) <= d * (4 * (entries + 3) * PETSC_MACHINE_EPSILON * size + slack));
      most = PetscMax(most, d * size);
    }
    Check(good, where, k ? "D A~ x" : "A~ x");
    if (!k) continue;
    (*SpikeKrylovLoops_base[step])(csr->n, &s->scalars->f, w, sums);
    for (PetscInt m = 0; m < SpikeKrylovSteps[step].ndots; m++)
      Check((PetscBool)(PetscAbsScalar(sums[m] - s->local[m]) <=
                        4 * PETSC_MACHINE_EPSILON * csr->n * PetscSqr(most + 2)),
            where, "a sum after a product");
  }
  PetscCall(PetscFree3(y, low, single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies with fewer digits of a copy; new values in place; what has none */
static PetscErrorCode TestNarrow(SpikeKrylov *s, const Pattern *p, PetscInt n, PetscSpikePrecision precision)
{
  const PetscInt  ld     = n + 2 * MARGIN;
  const PetscBool exists = NarrowExists(precision);
  SpikeKrylovCSR  csr;
  PetscScalar    *v, *aa;
  void           *copy = NULL, *narrow = NULL, *first = NULL;
  char            where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %" PetscInt_FMT " diagonals, n %" PetscInt_FMT ", %s", p->name,
                          p->count, n, PetscSpikePrecisions[precision]));
  PetscCall(MakeCSR(p, n, (PetscBool)(n % 2), &csr));
  aa = (PetscScalar *)csr.aa;
  PetscCall(PetscMalloc1(3 * ld, &v));
  memset(v, 0xff, 3 * ld * sizeof(*v)); /* not numbers */
  for (PetscInt k = 0; k < 3; k++)
    for (PetscInt i = 0; i < n; i++) v[k * ld + MARGIN + i] = NumberAt(50 + k, i);
  for (PetscInt k = 0; k < csr.nz; k++) aa[k] = NumberAt(60, k);
  PetscCall((*s->k->copy)(s, &csr, KSP_FUSED_SPMV_DIA, &copy));
  PetscCall((*s->k->narrow)(s, copy, precision, PETSC_FALSE, &narrow));
  Check((PetscBool)!narrow, where, "a copy that a cache holds was made narrow unasked");
  for (PetscInt fill = 0; fill < 2; fill++) {
    if (fill) {
      for (PetscInt k = 0; k < csr.nz; k++) aa[k] = (PetscReal)ldexp(1.0, 20) * NumberAt(61, k);
      PetscCall((*s->k->refill)(s, &csr, copy));
    }
    PetscCall((*s->k->narrow)(s, copy, precision, PETSC_TRUE, &narrow));
    Check((PetscBool)((narrow != NULL) == exists), where, narrow ? "a narrow copy was made" : "none was made");
    if (!narrow) break;
    Check((PetscBool)(!fill || first == narrow), where, "another copy for new values");
    first = narrow;
    Check((PetscBool)(((SpikeKrylovCopy *)narrow)->narrow && ((SpikeKrylovCopy *)narrow)->precision == precision &&
                      ((SpikeKrylovCopy *)narrow)->bytes < ((SpikeKrylovCopy *)copy)->bytes + 4 * (n + 1) * 2),
          where, "what the copy says of itself");
    PetscCall(NarrowProducts(s, &csr, precision, narrow, v, ld, where));
  }
  if (narrow) {
    Check((PetscBool) !((SpikeKrylovCopy *)narrow)->exact, where, "random values that lose no digit");
    for (PetscInt k = 0; k < csr.nz; k++) aa[k] = (PetscReal)(k % 8) - 4;
    PetscCall((*s->k->refill)(s, &csr, copy));
    PetscCall((*s->k->narrow)(s, copy, precision, PETSC_TRUE, &narrow));
    Check((PetscBool)(narrow && ((SpikeKrylovCopy *)narrow)->exact), where, "small integers that lose a digit");
  }
  for (PetscInt bad = 0; bad < 5 && exists; bad++) {
    const PetscReal values[] = {0.0, 1e-33, 1e38, (PetscReal)HUGE_VAL, (PetscReal)NAN};

    for (PetscInt k = 0; k < csr.nz; k++) aa[k] = bad > 2 ? 1.0 : values[bad];
    if (bad > 2) aa[csr.nz / 2] = values[bad];
    PetscCall((*s->k->refill)(s, &csr, copy));
    PetscCall((*s->k->narrow)(s, copy, precision, PETSC_TRUE, &narrow));
    Check((PetscBool)!narrow, where, "a narrow copy of values without one");
  }
  if (narrow) PetscCall((*s->k->destroycopy)(s, &narrow));
  PetscCall((*s->k->destroycopy)(s, &copy));
  PetscCall(DestroyCSR(&csr));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For one instruction set */
static PetscErrorCode TestNarrowISA(SpikeKrylov *s)
{
  const PetscInt            sizes[] = {1, 2, 63, 64, 65, 129, 513, 1337, 5000};
  const PetscSpikePrecision lower[] = {PETSC_SPIKE_PRECISION_SINGLE, PETSC_SPIKE_PRECISION_BF16};
  Pattern                   p;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    for (int l = 0; l < 2; l++) {
      for (PetscInt points = 3; points <= 27 && sizes[k] > 64; points += 4) {
        Stencil(&p, "stencil", points, 0);
        PetscCall(TestNarrow(s, &p, sizes[k], lower[l]));
        Stencil(&p, "stencil with gaps", points, 7);
        PetscCall(TestNarrow(s, &p, sizes[k], lower[l]));
      }
      p.name      = "diagonal";
      p.gap       = 0;
      p.count     = 1;
      p.offset[0] = 0;
      PetscCall(TestNarrow(s, &p, sizes[k], lower[l]));
      p.name      = "no main diagonal"; /* the correction makes one */
      p.count     = 2;
      p.offset[0] = -1;
      p.offset[1] = 1;
      if (sizes[k] > 2) PetscCall(TestNarrow(s, &p, sizes[k], lower[l]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For one instruction set */
static PetscErrorCode TestISA(SpikeKrylov *s)
{
  const PetscInt sizes[] = {1, 2, 15, 63, 64, 65, 127, 128, 511, 512, 513, 1024, 1337, 5000};
  Pattern        p;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    const PetscInt n = sizes[k];

    for (PetscInt points = 3; points <= 27 && n > 15; points += 4) {
      Stencil(&p, "stencil", points, 0);
      if (n > 64 || points < 8) PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_DIA, PETSC_TRUE));
      if (n > 500) PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_AUTO, PETSC_TRUE));
      Stencil(&p, "stencil with gaps", points, 11);
      if (n > 500) PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_AUTO, PETSC_TRUE));
      Stencil(&p, "half of a stencil", points, 2);
      if (n > 500) PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_AUTO, PETSC_FALSE));
      if (n > 500) PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_DIA, PETSC_TRUE));
      PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_SELL, PETSC_FALSE));
    }
    p.gap       = 0;
    p.name      = "diagonal";
    p.count     = 1;
    p.offset[0] = 0;
    PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_AUTO, PETSC_TRUE));
    if (n < 3) continue;
    p.name      = "corners";
    p.count     = 2;
    p.offset[0] = 1 - n;
    p.offset[1] = n - 1;
    PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_DIA, PETSC_TRUE));
    p.name      = "strictly lower";
    p.offset[0] = -PetscMin(n - 1, 70);
    p.offset[1] = -1;
    PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_DIA, PETSC_TRUE));
    p.name      = "strictly upper";
    p.offset[0] = 1;
    p.offset[1] = PetscMin(n - 1, 70);
    PetscCall(TestMult(s, &p, n, KSP_FUSED_SPMV_DIA, PETSC_TRUE));
  }
  for (PetscInt count = 128; count <= 129; count++) {
    p.name  = "many diagonals";
    p.count = count;
    for (PetscInt k = 0; k < count; k++) p.offset[k] = k - 60;
    PetscCall(TestMult(s, &p, 3000, KSP_FUSED_SPMV_AUTO, (PetscBool)(count == 128)));
    PetscCall(TestMult(s, &p, 300, KSP_FUSED_SPMV_DIA, (PetscBool)(count == 128)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* r = b - r and its sums, whose formulas every backend shares; not numbers around r */
static PetscErrorCode TestResidual(SpikeKrylov *s)
{
  const PetscInt sizes[] = {0, 1, 2, 7, 8, 15, 16, 33, 1000};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
    const PetscInt n       = sizes[k];
    PetscReal      sums[3] = {0.0, 0.0, 0.0};
    PetscScalar   *b, *x, *r, *v[3];

    PetscCall(PetscMalloc3(n, &b, n, &x, n + 2, &r));
    r[0] = r[n + 1] = NAN;
    for (PetscInt i = 0; i < n; i++) {
      b[i]     = NumberAt(30, i);
      x[i]     = NumberAt(31, i);
      r[i + 1] = NumberAt(32, i);
      sums[0] += PetscSqr(PetscAbsScalar(b[i] - r[i + 1]));
      sums[1] += PetscSqr(PetscAbsScalar(x[i]));
      sums[2] += PetscSqr(PetscAbsScalar(b[i]));
    }
    v[0] = b;
    v[1] = x;
    v[2] = r + 1;
    PetscCall((*s->k->step)(s, SPIKE_RESIDUAL, n, v));
    PetscCall((*s->k->sums)(s, SPIKE_RESIDUAL));
    for (PetscInt j = 0; j < 3; j++)
      Check((PetscBool)(PetscAbsScalar(s->local[j] - sums[j]) <= NUMBERS_SIZE * 10 * (n + 1) * PETSC_MACHINE_EPSILON),
            "residual", "a sum of squares");
    for (PetscInt i = 0; i < n; i++)
      Check((PetscBool)(r[i + 1] == b[i] - NumberAt(32, i) && x[i] == NumberAt(31, i) && b[i] == NumberAt(30, i)),
            "residual", "a row");
    Check((PetscBool)(PetscIsNanScalar(r[0]) && PetscIsNanScalar(r[n + 1])), "residual", "what lies beside r");
    PetscCall(PetscFree3(b, x, r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Steps with a diagonal matrix in single precision: vectors and sums are those of the same step with the rounded matrix;
  no place beside an array is written, none of d is written at all. A reason stops them, and not bysingle()
*/
static PetscErrorCode TestSingle(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n)
{
  const SpikeKrylovStepInfo *info     = &SpikeKrylovSteps[step];
  const PetscInt             diagonal = SpikeKrylovDiagonal(step), ld = n + 2;
  PetscScalar *a, *b, *v[SPIKE_KRYLOV_MAXVECTORS], *w[SPIKE_KRYLOV_MAXVECTORS], sums[SPIKE_KRYLOV_MAXDOTS];
  float       *d, *want;
  const size_t bytes = (size_t)(REAL_PARTS * n + 1) * sizeof(*d);

  PetscFunctionBegin;
  PetscCall(
    PetscMalloc4(info->nvectors * ld, &a, info->nvectors * ld, &b, REAL_PARTS * n + 1, &d, REAL_PARTS * n + 1, &want));
  memset(a, 0xff, info->nvectors * ld * sizeof(*a)); /* not numbers */
  for (PetscInt k = 0; k < info->nvectors; k++) {
    v[k] = a + k * ld + 1;
    w[k] = b + k * ld + 1;
    for (PetscInt i = 0; i < n && (info->read >> k) & 1; i++) v[k][i] = NumberAt(70 + k, i);
  }
  memset(d, 0xff, bytes);
  memset(want, 0xff, bytes);
  NarrowDiagonal(n, v[diagonal], want);
  PetscCall((*s->k->tosingle)(n, v[diagonal], d));
  Check((PetscBool)!memcmp(d, want, bytes), info->name, "a diagonal in single precision");
  for (PetscInt i = 0; i < n; i++) v[diagonal][i] = NarrowNumber(PETSC_SPIKE_PRECISION_SINGLE, v[diagonal][i]);
  PetscCall(PetscArraycpy(b, a, info->nvectors * ld));
  w[diagonal] = (PetscScalar *)d;
  PetscCall((*s->k->step)(s, step, n, v));
  for (PetscInt k = 0; k < info->ndots; k++) sums[k] = s->local[k];
  PetscCall((*s->k->singlestep)(s, step, n, w));
  for (PetscInt k = 0; k < info->ndots; k++)
    Check((PetscBool)(PetscAbsScalar(sums[k] - s->local[k]) <= NUMBERS_SIZE * 64 * PETSC_MACHINE_EPSILON * (1 + n)),
          info->name, "a sum with a diagonal in single precision");
  for (PetscInt i = 0; i < info->nvectors * ld; i++) {
    const PetscBool inside = (PetscBool)(i % ld > 0 && i % ld <= n && !PetscIsNanScalar(a[i]));

    Check((PetscBool)(inside ? PetscAbsScalar(a[i] - b[i]) <= 16 * PETSC_MACHINE_EPSILON * (1 + PetscAbsScalar(a[i]))
                             : PetscIsNanScalar(b[i]) && PetscIsNanScalar(a[i])),
          info->name, "a row with a diagonal in single precision");
  }
  Check((PetscBool)!memcmp(d, want, bytes), info->name, "a diagonal in single precision is written");
  s->scalars->reason = KSP_CONVERGED_RTOL;
  PetscCall(PetscArraycpy(b, a, info->nvectors * ld));
  PetscCall((*s->k->singlestep)(s, step, n, w));
  Check((PetscBool)!memcmp(a, b, info->nvectors * ld * sizeof(*a)), info->name, "a step after a reason did something");
  w[0] = b + (diagonal ? 1 : ld + 1); /* x, a vector that is not d */
  w[1] = b + 2 * ld + 1;
  for (PetscInt i = 0; i < n; i++) w[0][i] = NumberAt(80, i);
  PetscCall((*s->k->bysingle)(n, d, w[0], w[1]));
  for (PetscInt i = 0; i < n; i++)
    Check((PetscBool)(PetscAbsScalar(w[1][i] - NumberAt(80, i) * v[diagonal][i]) <= 8 * PETSC_MACHINE_EPSILON * 4),
          info->name, "D x in single precision, whatever the reason");
  s->scalars->reason = 0;
  PetscCall(PetscFree4(a, b, d, want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps, and which of them have such a matrix */
static PetscErrorCode TestSingles(SpikeKrylov *s)
{
  const PetscInt sizes[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 33, 1000, 1337};
  PetscInt       count   = 0;

  PetscFunctionBegin;
  for (int step = 0; step < SPIKE_KRYLOV_NSTEPS; step++) {
    if (SpikeKrylovDiagonal(step) < 0) continue;
    count++;
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
      PetscCall(TestSingle(s, (SpikeKrylovStep)step, sizes[k]));
  }
  Check((PetscBool)(count == 4), "single", "steps with a diagonal matrix");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SpikeKrylov s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    char what[64];

    if (!SpikeISASet((SpikeISA)isa)) continue;
    PetscCall(PetscMemzero(&s, sizeof(s)));
    s.k = &SpikeKrylovKernels_Host;
    PetscCall((*s.k->create)(&s));
    s.scalars->f.alpha = NumberAt(20, 0);
    s.scalars->f.beta  = NumberAt(20, 1);
    s.scalars->f.omega = NumberAt(20, 2);
    s.scalars->f.scale = NumberAt(20, 3);
    s.scalars->f.lag   = NumberAt(20, 4);
    PetscCall(TestISA(&s));
    PetscCall(TestOffs(&s, 10000, PETSC_FALSE, KSP_FUSED_SPMV_DIA));
    PetscCall(TestLent(&s, 10000, PETSC_FALSE));
    PetscCall(TestNarrowISA(&s));
    PetscCall(TestResidual(&s));
    PetscCall(TestSingles(&s));
    PetscCall((*s.k->destroy)(&s));
    Check((PetscBool)(!GuardDamage() && !guard.nblocks), "memory", "written outside of an array, or left");
    guard.damaged = 0;
    PetscCall(PetscSNPrintf(what, sizeof(what), "products with steps, instruction set %d", isa));
    Report(what);
  }
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
