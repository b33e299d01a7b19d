/* SPDX-License-Identifier: BSD-2-Clause */
/*
  offcase.h: products of a copy with columns of other ranks beside it, y = A x + O ghost, and of blocks that are lent,
  with steps in the epilogue, against plain loops, for any backend. Who includes it has defined

    There(from, bytes, &there)       memory of the backend with these values
    ThereAgain(from, bytes, there)   other values in it
    Here(there, bytes, to)           back
    Gone(there)                      and away
    OffCheck(ok, where, what)
    OffCount(state, copy, x, basis, recurrence, where)   of products with a basis step: how many kernels they are
*/
#pragma once

#include "kernels/krylov/krylov.h"
#include "random.h"
#include "share.h"

/* The sender: ghost[] is not a number until end(), which a product calls once, after begin() */
typedef struct {
  PetscInt     begun, ended;
  PetscScalar *ghost, *values; /* of the backend, and what they become, on the host */
  PetscInt     n;
} OffHalo;

/* Nothing is sent or written: a product is not run */
static PetscBool offidle = PETSC_FALSE;

static PetscErrorCode OffWrite(OffHalo *h, const PetscScalar *values)
{
  PetscFunctionBegin;
  if (h->n) PetscCall(ThereAgain(values, (size_t)h->n * sizeof(*values), h->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OffBegin(void *owner, void *stream, const PetscScalar *x, const PetscScalar **ghost)
{
  OffHalo     *h = (OffHalo *)owner;
  PetscScalar *nan;

  PetscFunctionBegin;
  (void)stream;
  (void)x;
  *ghost = h->ghost;
  if (offidle) PetscFunctionReturn(PETSC_SUCCESS);
  h->begun++;
  PetscCall(PetscMalloc1(h->n, &nan));
  if (h->n) memset((void *)nan, 0xff, (size_t)h->n * sizeof(*nan));
  PetscCall(OffWrite(h, nan));
  PetscCall(PetscFree(nan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OffEnd(void *owner, void *stream, const PetscScalar *x)
{
  OffHalo *h = (OffHalo *)owner;

  PetscFunctionBegin;
  (void)stream;
  (void)x;
  if (offidle) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->begun == h->ended + 1) h->ended++;
  PetscCall(OffWrite(h, h->values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of matrix number k, 0 for A by diagonals in n columns, else O, in the rows that have some */
static PetscInt OffRow(PetscInt k, PetscInt n, PetscInt nghost, PetscInt ndiags, PetscInt every, PetscInt each,
                       PetscInt i, PetscInt aj[])
{
  PetscInt m = 0;

  if (!k) {
    for (PetscInt d = 0; d < ndiags; d++) {
      const PetscInt j = i + 3 * (d - ndiags / 2);

      if (j >= 0 && j < n) aj[m++] = j;
    }
  } else if (every && (i % every == 0 || i >= n - 2)) {
    const PetscInt count = 1 + (PetscInt)((PetscInt64)i * 7919 % each);

    for (PetscInt e = 0; e < count; e++) aj[m++] = (i * 31 + e * 17) % nghost;
  }
  return m;
}

/*
  A product with a step beside y, twice with the same sums. v: vectors of the step here, dv: there, of which `own` is
  the product; x at dv + at. size: sums of magnitudes of the rows, at most `most`; an error may be units of rounding of
  it
*/
static PetscErrorCode OffBeside(SpikeKrylov *s, const void *copy, SpikeKrylovStep step, PetscInt own, PetscInt n,
                                const PetscScalar *scale, ptrdiff_t at, PetscScalar *v, PetscScalar *dv, PetscScalar *y,
                                PetscScalar *dy, PetscScalar *got, const PetscReal size[], PetscReal most,
                                PetscInt units, const char where[])
{
  const SpikeKrylovStepInfo *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  PetscScalar *there[SPIKE_KRYLOV_MAXVECTORS], *here[SPIKE_KRYLOV_MAXVECTORS], sums[SPIKE_KRYLOV_MAXDOTS] = {0.0},
                                                                               first[SPIKE_KRYLOV_MAXDOTS];
  PetscBool good = PETSC_TRUE, same = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt m = 0; info && m < info->nvectors; m++) {
    there[m] = m == own ? dy : dv + m * n;
    here[m]  = m == own ? y : v + m * n;
  }
  for (PetscInt run = 0; run < 2; run++) {
    if (n) memset((void *)got, 0xff, (size_t)n * sizeof(*got));
    if (n) PetscCall(ThereAgain(got, (size_t)n * sizeof(*got), dy));
    PetscCall((*s->k->mult)(s, copy, step, scale, dv + at, dy, there));
    if (info) PetscCall((*s->k->sums)(s, step));
    PetscCall(GetHere(dy, (size_t)n * sizeof(*got), got));
    for (PetscInt i = 0; i < n; i++)
      good = (PetscBool)(good && PetscAbsScalar(got[i] - y[i]) <= units * PETSC_MACHINE_EPSILON * size[i]);
    for (PetscInt m = 0; info && m < info->ndots; m++) {
      same     = (PetscBool)(same && (!run || first[m] == s->local[m]));
      first[m] = s->local[m];
    }
  }
  OffCheck(good, where, info ? info->name : "product");
  if (!info) PetscFunctionReturn(PETSC_SUCCESS);
  OffCheck(same, where, "a sum differs in a second run");
  if (n) (*SpikeKrylovLoops_base[step])(n, &s->scalars->f, here, sums);
  for (PetscInt m = 0; m < info->ndots; m++)
    OffCheck((PetscBool)(PetscAbsScalar(sums[m] - s->local[m]) <=
                         4 * PETSC_MACHINE_EPSILON * (n + 1) * PetscSqr(most + 2)),
             where, "a sum after a product");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same with the inner products of a basis step, y with vectors of v and, with z, with one more: numbers of vectors
  that a product takes, and one that it leaves to a step after it
*/
static PetscErrorCode OffBasis(SpikeKrylov *s, const void *copy, PetscInt n, ptrdiff_t at, PetscScalar *v,
                               PetscScalar *dv, const PetscScalar *y, PetscScalar *dy, PetscScalar *got,
                               const PetscReal size[], PetscReal most, PetscInt units, const char where[])
{
  const SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0};
  const PetscInt           counts[]   = {1, 2, 3, 4, 8};
  PetscScalar              first[11];

  PetscFunctionBegin;
  if (!s->k->basismult || n > 1000000) PetscFunctionReturn(PETSC_SUCCESS); /* of so many rows it takes long */
  if (s->ncolumns < 8) PetscCall((*s->k->basiscreate)(s, 8, SpikeIDRSize(8)));
  for (size_t run = 0; run < 4 * PETSC_STATIC_ARRAY_LENGTH(counts); run++) { /* each twice, without z and with it */
    const PetscInt     m = counts[run / 4], nsums = m + (run / 2 % 2 ? 3 : 1);
    const PetscScalar *z = run / 2 % 2 ? v + n : NULL;
    PetscScalar        sums[11], wanted[11], *A[8];
    SpikeKrylovBasis   b;
    PetscBool          good = PETSC_TRUE;

    memset((void *)&b, 0, sizeof(b));
    b.n    = n;
    b.last = m;
    b.A    = A;
    b.y    = dy;
    b.z    = z ? dv + n : NULL;
    for (PetscInt j = 0; j < m; j++) A[j] = dv + j % 5 * n;
    if (run % 2 == 0 && n < 10000) PetscCall(OffCount(s, copy, dv + at, &b, &recurrence, where));
    if (n) memset((void *)got, 0xff, (size_t)n * sizeof(*got));
    if (n) PetscCall(ThereAgain(got, (size_t)n * sizeof(*got), dy));
    PetscCall((*s->k->basismult)(s, copy, dv + at, &b, &recurrence));
    PetscCall((*s->k->basissums)(s, nsums, sums));
    PetscCall(GetHere(dy, (size_t)n * sizeof(*got), got));
    for (PetscInt k = 0; k < nsums; k++) wanted[k] = 0.0;
    for (PetscInt begin = 0; begin < n; begin += 1000) { /* by pieces: one sum over all rows rounds more than ours */
      PetscScalar piece[11] = {0.0};

      for (PetscInt i = begin; i < PetscMin(n, begin + 1000); i++) {
        good = (PetscBool)(good && PetscAbsScalar(got[i] - y[i]) <= units * PETSC_MACHINE_EPSILON * size[i]);
        for (PetscInt j = 0; j < m; j++) piece[j] += PetscConj(v[j % 5 * n + i]) * y[i];
        piece[m] += PetscConj(y[i]) * y[i];
        if (z) piece[m + 1] += PetscConj(z[i]) * z[i];
        if (z) piece[m + 2] += PetscConj(y[i]) * z[i];
      }
      for (PetscInt k = 0; k < nsums; k++) wanted[k] += piece[k];
    }
    OffCheck(good, where, "product with inner products");
    for (PetscInt k = 0; k < nsums; k++) {
      OffCheck((PetscBool)(PetscAbsScalar(sums[k] - wanted[k]) <=
                           4 * PETSC_MACHINE_EPSILON * (n + 1) * PetscSqr(most + 2)),
               where, "an inner product after a product");
      OffCheck((PetscBool)(run % 2 == 0 || first[k] == sums[k]), where, "an inner product differs in a second run");
      first[k] = sums[k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a rank's own columns (k = 0) or of others' (1), on the host and in csr where the kernels want it */
static PetscErrorCode OffMatrix(int k, PetscInt n, PetscInt nghost, PetscInt ndiags, PetscInt every, PetscInt each,
                                PetscInt **ai, PetscInt **aj, PetscScalar **aa, SpikeKrylovCSR *csr)
{
  const PetscInt most = k ? each : ndiags;
  PetscInt       nz   = 0;
  void          *there[3];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n + 1, ai));
  PetscCall(PetscMalloc1(n * most + 1, aj));
  PetscCall(PetscMalloc1(n * most + 1, aa));
  for (PetscInt i = 0; i < n; i++) {
    nz += OffRow(k, n, nghost, ndiags, every, each, i, *aj + nz);
    (*ai)[i + 1] = nz;
  }
  for (PetscInt e = 0; e < nz; e++) (*aa)[e] = NumberAt(50 + k, e);
  csr->n  = n;
  csr->nz = nz;
  csr->ai = csr->aj = NULL;
  csr->aa           = NULL;
  if (!nz) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PutThere(*ai, (size_t)(n + 1) * sizeof(PetscInt), &there[0]));
  PetscCall(PutThere(*aj, (size_t)nz * sizeof(PetscInt), &there[1]));
  PetscCall(PutThere(*aa, (size_t)nz * sizeof(PetscScalar), &there[2]));
  csr->ai = (const PetscInt *)there[0];
  csr->aj = (const PetscInt *)there[1];
  csr->aa = (const PetscScalar *)there[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ndiags: diagonals of A, 0: A has no entries. Every `every`-th row and the last two have up to `each` columns of
  others; 0: none has
*/
static PetscErrorCode TestOff(SpikeKrylov *s, PetscInt n, PetscInt ndiags, PetscInt every, PetscInt each,
                              KSPFusedSpMVType form)
{
  const SpikeKrylovStep steps[] = {SPIKE_KRYLOV_NSTEPS,  SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA,
                                   SPIKE_BCGS_OMEGA_RHO, SPIKE_CG_ALPHA,   SPIKE_CG1_BETA};
  const int             own[] = {0, 1, 1, 1, 1, 2}, from[] = {-1, -1, 0, 0, 0, 1}; /* which vector y is, and x */
  const PetscInt        nghost = every && n ? 1 + n / 2 : 0;
  const PetscBool       few    = (PetscBool)(n > 1000000); /* tests of so many rows take long */
  PetscInt             *ai[2], *aj[2];
  PetscScalar          *aa[2], *v, *dv, *y, *dy, *got, *ghost;
  PetscReal            *size;
  SpikeKrylovCSR        csr[2];
  SpikeKrylovLoan       loan;
  OffHalo               halo;
  PetscBool             coupled = PETSC_FALSE;
  void                 *copy = NULL, *narrow = NULL;
  char                  where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "columns of others, n %" PetscInt_FMT ", %" PetscInt_FMT " diagonals, every %" PetscInt_FMT
                          ", each %" PetscInt_FMT ", %s",
                          n, ndiags, every, each, KSPFusedSpMVTypes[form]));
  for (int k = 0; k < 2; k++) PetscCall(OffMatrix(k, n, nghost, ndiags, every, each, &ai[k], &aj[k], &aa[k], &csr[k]));
  PetscCall(PetscMalloc1(5 * n + 1, &v));
  PetscCall(PetscMalloc1(n + 1, &y));
  PetscCall(PetscMalloc1(n + 1, &got));
  PetscCall(PetscMalloc1(n + 1, &size));
  PetscCall(PetscMalloc1(nghost + 1, &ghost));
  for (PetscInt i = 0; i < 5 * n; i++) v[i] = NumberAt(60, i);
  for (PetscInt i = 0; i < nghost; i++) ghost[i] = NumberAt(61, i);
  PetscCall(PutThere(v, (size_t)(5 * n + 1) * sizeof(*v), (void **)&dv));
  PetscCall(PutThere(v, (size_t)(n + 1) * sizeof(*y), (void **)&dy));
  halo.begun = halo.ended = 0;
  halo.n                  = nghost;
  halo.values             = ghost;
  PetscCall(PutThere(ghost, (size_t)(nghost + 1) * sizeof(*ghost), (void **)&halo.ghost));
  loan.dia           = NULL;
  loan.nz            = 0;
  loan.owner         = (void *)&halo;
  loan.begin         = OffBegin;
  loan.end           = OffEnd;
  s->scalars->reason = 0;
  PetscCall((*s->k->push)(s, PETSC_FALSE));
  PetscCall((*s->k->copy)(s, &csr[0], form, &copy));
  if (copy) PetscCall((*s->k->couple)(s, &csr[1], &loan, copy, &coupled));
  OffCheck((PetscBool)(copy && coupled), where, "no copy");
  if (copy && coupled) PetscCall((*s->k->narrow)(s, copy, PETSC_SPIKE_PRECISION_BF16, PETSC_TRUE, &narrow));
  OffCheck((PetscBool)!narrow, where, "a narrow copy without the columns of others");
  for (PetscInt fill = 0; fill < (few ? 1 : 2) && copy && coupled; fill++) { /* the second with new values */
    for (int k = 0; k < 2 && fill; k++) {
      for (PetscInt e = 0; e < csr[k].nz; e++) aa[k][e] = NumberAt(70 + k, e);
      if (csr[k].nz) PetscCall(ThereAgain(aa[k], (size_t)csr[k].nz * sizeof(PetscScalar), (void *)csr[k].aa));
      PetscCall((*(k ? s->k->recouple : s->k->refill))(s, &csr[k], copy));
    }
    for (size_t ks = 0; ks < 2 * PETSC_STATIC_ARRAY_LENGTH(steps); ks++) {
      const size_t       k     = ks / 2;
      const PetscScalar *scale = ks % 2 ? v + 4 * n : NULL, *x = v + (from[k] < 0 ? 3 : from[k]) * n;
      PetscReal          most = 1.0;

      if (few && scale && k != 1) continue;
      for (PetscInt i = 0; i < n; i++) {
        y[i]    = 0.0;
        size[i] = 0.0;
        for (int part = 0; part < 2; part++)
          for (PetscInt e = ai[part][i]; e < ai[part][i + 1]; e++) {
            const PetscScalar a = aa[part][e] * (part ? ghost : x)[aj[part][e]];

            y[i] += a;
            size[i] += PetscAbsScalar(a);
          }
        if (scale) {
          y[i] *= scale[i];
          size[i] *= PetscAbsScalar(scale[i]);
        }
        most = PetscMax(most, size[i]);
      }
      PetscCall(OffBeside(s, copy, steps[k], own[k], n, scale ? dv + 4 * n : NULL, x - v, v, dv, y, dy, got, size, most,
                          8 * (ndiags + each + 2), where));
      if (!ks) PetscCall(OffBasis(s, copy, n, x - v, v, dv, y, dy, got, size, most, 8 * (ndiags + each + 2), where));
    }
  }
  OffCheck((PetscBool)(halo.begun == halo.ended && halo.begun > 0), where, "messages");
  PetscCall((*s->k->destroycopy)(s, &copy));
  for (int k = 0; k < 2; k++) {
    if (csr[k].nz) {
      PetscCall(Gone((void *)csr[k].ai));
      PetscCall(Gone((void *)csr[k].aj));
      PetscCall(Gone((void *)csr[k].aa));
    }
    PetscCall(PetscFree(ai[k]));
    PetscCall(PetscFree(aj[k]));
    PetscCall(PetscFree(aa[k]));
  }
  PetscCall(Gone(dv));
  PetscCall(Gone(dy));
  PetscCall(Gone(halo.ghost));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(got));
  PetscCall(PetscFree(size));
  PetscCall(PetscFree(ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ranks without rows, without entries of their own, without columns of others, with few and with many of them; small:
  some of each
*/
static PetscErrorCode TestOffs(SpikeKrylov *s, PetscInt most, PetscBool small, KSPFusedSpMVType form)
{
  const PetscInt sizes[] = {0, 1, 2, 31, 33, 300, 512, 513, 3000, 70001, 500003}, every[] = {0, 1, 7, 1100, 100000},
                 each[] = {1, 5, 40, 200};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes) && sizes[k] <= most; k++)
    for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(every); e++)
      for (size_t c = 0; c < (every[e] ? PETSC_STATIC_ARRAY_LENGTH(each) : 1); c++) {
        if (sizes[k] > 10000 && every[e] < 1000 && each[c] > 5) continue;
        if (sizes[k] > 100000 && every[e] && each[c] != 5) continue;
        if (small && (k % 2 == 0 || sizes[k] == 31 || e > 3 || c % 2)) continue;
        if (!ShareNext()) continue;
        PetscCall(TestOff(s, sizes[k], 7, every[e], each[c], form));
        if (sizes[k] < 10000 && (!small || sizes[k] == 300))
          PetscCall(TestOff(s, sizes[k], 0, every[e], each[c], form));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same of a matrix of mb block rows that is lent, with columns of others in every `every`-th block row where that is
  not 0. many: begin() is there though no row needs it
*/
static PetscErrorCode TestLentBlocks(SpikeKrylov *s, PetscInt bs, PetscInt mb, PetscInt every, PetscBool many)
{
  const SpikeKrylovStep steps[] = {SPIKE_KRYLOV_NSTEPS,  SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA,
                                   SPIKE_BCGS_OMEGA_RHO, SPIKE_CG_ALPHA,   SPIKE_CG1_BETA};
  const int             own[] = {0, 1, 1, 1, 1, 2}, from[] = {-1, -1, 0, 0, 0, 1}; /* which vector y is, and x */
  const PetscInt        n = mb * bs, nghost = every ? 1 + mb / 2 : 0;
  PetscInt             *bi[2], *bj[2];
  PetscScalar          *a[2], *v, *dv, *y, *dy, *got, *ghost;
  PetscReal            *size;
  SpikeBlock            b;
  SpikeBlockMat         A[2];
  SpikeKrylovLoan       loan;
  OffHalo               halo;
  void                 *copy = NULL, *narrow = NULL;
  char                  where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "blocks of %" PetscInt_FMT ", %" PetscInt_FMT
                          " rows of them, others' in every %" PetscInt_FMT,
                          bs, mb, every));
  memset((void *)&b, 0, sizeof(b));
  memset((void *)A, 0, sizeof(A));
  memset((void *)&loan, 0, sizeof(loan));
  b.k = SpikeBlockKernelsFind(s->k->memtype);
  PetscCall((*b.k->create)(&b));
  for (int k = 0; k < 2; k++) {
    PetscInt nz = 0;
    void    *there;

    PetscCall(PetscCalloc1(mb + 1, &bi[k]));
    PetscCall(PetscMalloc1(8 * mb + 1, &bj[k]));
    for (PetscInt i = 0; i < mb; i++) { /* rows of different lengths, some without a block */
      const PetscInt count = k ? (every && i % every == 0 ? 1 + i % 3 : 0) : (i % 11 == 5 ? 0 : 1 + (i * 5) % 8);

      for (PetscInt e = 0; e < count; e++) bj[k][nz++] = (i * 13 + e * 7) % (k ? nghost : mb);
      bi[k][i + 1] = nz;
    }
    PetscCall(PetscMalloc1(nz * bs * bs + 1, &a[k]));
    for (PetscInt e = 0; e <= nz * bs * bs; e++) a[k][e] = NumberAt(80 + k, e);
    PetscCall((*b.k->matcreate)(&b, bs, mb, k ? nghost : mb, bi[k], bj[k], PETSC_FALSE, &A[k]));
    PetscCall(PutThere(a[k], (size_t)(nz * bs * bs + 1) * sizeof(PetscScalar), &there));
    A[k].a = there;
    loan.nz += (PetscInt64)nz * bs * bs;
  }
  PetscCall(PetscMalloc1(5 * n + 1, &v));
  PetscCall(PetscMalloc1(n + 1, &y));
  PetscCall(PetscMalloc1(n + 1, &got));
  PetscCall(PetscMalloc1(n + 1, &size));
  PetscCall(PetscMalloc1(nghost * bs + 1, &ghost));
  for (PetscInt i = 0; i < 5 * n; i++) v[i] = NumberAt(60, i);
  for (PetscInt i = 0; i < nghost * bs; i++) ghost[i] = NumberAt(61, i);
  PetscCall(PutThere(v, (size_t)(5 * n + 1) * sizeof(*v), (void **)&dv));
  PetscCall(PutThere(v, (size_t)(n + 1) * sizeof(*y), (void **)&dy));
  halo.begun = halo.ended = 0;
  halo.n                  = nghost * bs;
  halo.values             = ghost;
  PetscCall(PutThere(ghost, (size_t)(nghost * bs + 1) * sizeof(*ghost), (void **)&halo.ghost));
  loan.block = &A[0];
  if (every || many) {
    loan.off   = &A[1];
    loan.owner = (void *)&halo;
    loan.begin = OffBegin;
    loan.end   = OffEnd;
  }
  s->scalars->reason = 0;
  PetscCall((*s->k->push)(s, PETSC_FALSE));
  PetscCall((*s->k->borrowblocks)(s, &loan, &copy));
  OffCheck((PetscBool)(copy && ((SpikeKrylovCopy *)copy)->form == KSP_FUSED_SPMV_BLOCKS), where, "not borrowed");
  if (copy) PetscCall((*s->k->narrow)(s, copy, PETSC_SPIKE_PRECISION_BF16, PETSC_TRUE, &narrow));
  OffCheck((PetscBool)!narrow, where, "a narrow copy of blocks");
  for (size_t ks = 0; copy && ks < 2 * PETSC_STATIC_ARRAY_LENGTH(steps); ks++) {
    const size_t       k     = ks / 2;
    const PetscScalar *scale = ks % 2 ? v + 4 * n : NULL, *x = v + (from[k] < 0 ? 3 : from[k]) * n;
    PetscReal          most = 1.0;

    for (PetscInt i = 0; i < n; i++) {
      y[i]    = 0.0;
      size[i] = 0.0;
      for (int part = 0; part < 2; part++)
        for (PetscInt e = bi[part][i / bs]; e < bi[part][i / bs + 1]; e++)
          for (PetscInt c = 0; c < bs; c++) {
            const PetscScalar p = a[part][(e * bs + c) * bs + i % bs] * (part ? ghost : x)[bj[part][e] * bs + c];

            y[i] += p;
            size[i] += PetscAbsScalar(p);
          }
      if (scale) {
        y[i] *= scale[i];
        size[i] *= PetscAbsScalar(scale[i]);
      }
      most = PetscMax(most, size[i]);
    }
    PetscCall(OffBeside(s, copy, steps[k], own[k], n, scale ? dv + 4 * n : NULL, x - v, v, dv, y, dy, got, size, most,
                        100 * bs, where));
    if (!ks) PetscCall(OffBasis(s, copy, n, x - v, v, dv, y, dy, got, size, most, 100 * bs, where));
  }
  OffCheck((PetscBool)(halo.begun == halo.ended && (halo.begun > 0) == (every || many)), where, "messages");
  PetscCall((*s->k->destroycopy)(s, &copy));
  for (int k = 0; k < 2; k++) {
    PetscCall(Gone((void *)A[k].a));
    PetscCall((*b.k->matdestroy)(&b, &A[k]));
    PetscCall(PetscFree(bi[k]));
    PetscCall(PetscFree(bj[k]));
    PetscCall(PetscFree(a[k]));
  }
  PetscCall((*b.k->destroy)(&b));
  PetscCall(Gone(dv));
  PetscCall(Gone(dy));
  PetscCall(Gone(halo.ghost));
  PetscCall(PetscFree(v));
  PetscCall(PetscFree(y));
  PetscCall(PetscFree(got));
  PetscCall(PetscFree(size));
  PetscCall(PetscFree(ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLent(SpikeKrylov *s, PetscInt most, PetscBool small)
{
  const PetscInt sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 32}, rows[] = {1, 2, 7, 130, 1300, 70001},
                 every[] = {0, 1, 5, 700};

  PetscFunctionBegin;
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(sizes); b++) {
    if (ShareNext()) PetscCall(TestLentBlocks(s, sizes[b], 0, 0, PETSC_TRUE)); /* a rank without rows */
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(rows) && rows[k] <= most; k++)
      for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(every); e++) {
        if (rows[k] * sizes[b] * sizes[b] > PetscMin(2000000, 20 * most)) continue;
        if ((small && (k < 2 || e % 2)) || !ShareNext()) continue;
        PetscCall(TestLentBlocks(s, sizes[b], rows[k], every[e], (PetscBool)(rows[k] == 7)));
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
