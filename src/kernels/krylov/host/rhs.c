/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs.c: the host backend of rhs.h: the loops of krylov.c, column by column */
#include "kernels/krylov/rhs.h"
#include "host.h"

/* KB_ROWS of basis.h: inner products are added up in such pieces there */
#define SPIKE_RHS_ROWS 1024
/* of vectors that all columns share, in a cache of the third level while the columns pass by */
#define SPIKE_RHS_BYTES ((PetscInt)4 << 20)
/* bytes of them that lie in that cache as it is: column after column is faster */
#define SPIKE_RHS_CACHE 16777216.0

static PetscErrorCode SpikeKrylovRhsDestroy_Host(SpikeKrylovRhs *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->scalars));
  PetscCall(PetscFree(s->small));
  PetscCall(PetscFree(s->sums));
  PetscCall(PetscFree(s->data));
  s->hostsmall = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* data: pointers to the columns of A and B of two basis steps */
static PetscErrorCode SpikeKrylovRhsCreate_Host(SpikeKrylovRhs *s)
{
  PetscFunctionBegin;
  s->ondevice = PETSC_FALSE;
  PetscCall(PetscCalloc1(s->m, &s->scalars));
  PetscCall(PetscCalloc1((size_t)s->m * s->nsmall, &s->small));
  PetscCall(PetscCalloc1((size_t)(s->m + 1) * SpikeKrylovRhsSums(s), &s->sums)); /* after them those of a piece */
  PetscCall(PetscMalloc1(4 * s->ncolumns, (PetscScalar ***)&s->data));
  s->hostsmall = s->small;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars and sums are where the host has them: push(), pull() and sums() */
static PetscErrorCode SpikeKrylovRhsStay_Host(SpikeKrylovRhs *s, PetscInt width)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsSums_Host(SpikeKrylovRhs *s, PetscInt width, PetscInt nsums)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsStep_Host(SpikeKrylovRhs *s, PetscInt width, SpikeKrylovStep step, PetscInt n,
                                              PetscScalar *const v[], const PetscInt ld[])
{
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  const SpikeKrylovLoop      loop = SpikeKrylovLoopsGet().step[step];
  PetscInt                   done = 0;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < width; c++) {
    PetscScalar *w[SPIKE_KRYLOV_MAXVECTORS];

    if (s->scalars[c].reason) continue;
    for (PetscInt k = 0; k < info->nvectors; k++) w[k] = v[k] + (PetscCount)c * ld[k];
    (*loop)(n, &s->scalars[c].f, w, s->sums + c * info->ndots);
    done++;
  }
  PetscCall(PetscLogFlops(info->flops * n * done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows of all columns before the next ones: vectors that columns share come from memory once. Bits are those of column
  after column
*/
static void SpikeKrylovRhsDots_Private(SpikeKrylovRhs *s, PetscInt width, const SpikeKrylovBasis *b, PetscInt ldA,
                                       PetscInt ld, PetscInt nsums)
{
  const SpikeKrylovBasisLoop loop = SpikeKrylovLoopsGet().basisstep[SPIKE_KRYLOV_DOTS];
  const PetscInt rows = SPIKE_RHS_ROWS * PetscMax(1, SPIKE_RHS_BYTES / (SPIKE_RHS_ROWS * (PetscInt)sizeof(PetscScalar) *
                                                                        PetscMax(1, b->last - b->first)));
  PetscScalar  **pointers = (PetscScalar **)s->data, *sums = s->sums + (PetscCount)s->m * SpikeKrylovRhsSums(s);

  for (PetscInt k = 0; k < width * nsums; k++)
    if (!s->scalars[k / nsums].reason) s->sums[k] = 0.0;
  for (PetscInt begin = 0, end; begin < b->n; begin = end) {
    end = begin + PetscMin(rows, b->n - begin);
    for (PetscInt c = 0; c < width; c++) {
      SpikeKrylovBasis h;

      if (s->scalars[c].reason) continue;
      h = SpikeKrylovBasisColumn(s, b, c, ldA, ld, pointers);
      h.y += begin;
      if (h.z) h.z += begin;
      for (PetscInt j = h.first; j < h.last; j++) h.A[j] += begin;
      for (PetscInt i = begin; i < end; i += h.n) {
        h.n = PetscMin((PetscInt)SPIKE_RHS_ROWS, end - i);
        (*loop)(&h, sums);
        for (PetscInt k = 0; k < nsums; k++) s->sums[c * nsums + k] += sums[k];
        h.y += h.n;
        if (h.z) h.z += h.n;
        for (PetscInt j = h.first; j < h.last; j++) h.A[j] += h.n;
      }
    }
  }
}

static PetscErrorCode SpikeKrylovRhsBasisStep_Host(SpikeKrylovRhs *s, PetscInt width, SpikeKrylovBasisStep step,
                                                   const SpikeKrylovBasis *b, PetscInt ldA, PetscInt ld,
                                                   const SpikeKrylovBasis   *combine,
                                                   const SpikeIDRRecurrence *recurrence)
{
  const PetscInt m     = b->last - b->first,
                 nsums = SpikeKrylovBasisSums(step, m, (PetscBool)(b->z != NULL), (PetscBool)(b->q != NULL));
  const PetscBool             pieces   = (PetscBool)(step == SPIKE_KRYLOV_DOTS &&
                                       (double)b->n * m * sizeof(PetscScalar) > SPIKE_RHS_CACHE);
  const SpikeKrylovBasisLoop *loops    = SpikeKrylovLoopsGet().basisstep;
  PetscScalar               **pointers = (PetscScalar **)s->data;
  PetscInt                    done     = 0;

  PetscFunctionBegin;
  if (pieces) SpikeKrylovRhsDots_Private(s, width, b, ldA, ld, nsums);
  for (PetscInt c = 0; c < width; c++) {
    SpikeKrylovBasis h;

    if (s->scalars[c].reason && step != SPIKE_KRYLOV_SMOOTH) continue;
    done++;
    if (pieces) continue;
    h = SpikeKrylovBasisColumn(s, b, c, ldA, ld, pointers);
    (*loops[step])(&h, s->sums + c * nsums);
    if (combine) {
      h = SpikeKrylovBasisColumn(s, combine, c, ld, ld, pointers + 2 * s->ncolumns);
      (*loops[SPIKE_KRYLOV_COMBINE])(&h, NULL);
    }
  }
  PetscCall(PetscLogFlops(SpikeKrylovBasisFlops(step, b, combine) * b->n * done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsSwap_Host(SpikeKrylovRhs *s, PetscInt n, const PetscInt a[], const PetscInt b[],
                                              PetscInt rows, PetscInt nblocks, PetscScalar *const v[], PetscInt ld)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const SpikeKrylovScalars scalars = s->scalars[a[i]];

    s->scalars[a[i]] = s->scalars[b[i]];
    s->scalars[b[i]] = scalars;
    for (PetscInt k = -1; k < nblocks; k++) { /* -1: the scalars of basis steps */
      PetscScalar *x = k < 0 ? s->small + (PetscCount)a[i] * s->nsmall : v[k] + (PetscCount)a[i] * ld,
                  *y = k < 0 ? s->small + (PetscCount)b[i] * s->nsmall : v[k] + (PetscCount)b[i] * ld;

      for (PetscInt j = 0; j < (k < 0 ? s->nsmall : rows); j++) {
        const PetscScalar t = x[j];

        x[j] = y[j];
        y[j] = t;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsCombine_Host(SpikeKrylovRhs *s, PetscInt count, PetscInt n, PetscScalar a,
                                                 const PetscScalar *x, PetscInt ldx, const PetscInt cx[], PetscScalar b,
                                                 PetscScalar *y, PetscInt ldy, const PetscInt cy[])
{
  const PetscScalar zero = 0.0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    const PetscScalar *u = a == zero ? NULL : x + (PetscCount)cx[k] * ldx;
    PetscScalar       *v = y + (PetscCount)cy[k] * ldy;

    if (u && a == (PetscScalar)1.0 && b == zero) PetscCall(PetscArraycpy(v, u, n));
    else {
      for (PetscInt i = 0; i < n; i++) v[i] = (u ? a * u[i] : zero) + (b == zero ? zero : b * v[i]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  SPIKE_MULT_ROWS rows at a time: the values of the copy come from memory once for all columns. Bits are those of
  SpikeKrylovMult_Host()
*/
static PetscErrorCode SpikeKrylovRhsMult_Host(SpikeKrylovRhs *s, const void *copy, PetscInt width, SpikeKrylovStep step,
                                              const PetscScalar *scale, const PetscScalar *x, PetscScalar *y,
                                              PetscInt ldxy, PetscScalar *const v[], const PetscInt ld[])
{
  const SpikeKrylovCopyHost *h     = (const SpikeKrylovCopyHost *)copy;
  const SpikeKrylovStepInfo *info  = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  const SpikeKrylovLoops     loops = SpikeKrylovLoopsGet();
  const PetscInt             n = h->loan.dia->n, nd = info ? info->ndots : 0;
  PetscInt                   done = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < width * nd; k++) s->sums[k] = 0.0;
  for (PetscInt i = 0, rows; i < n; i += rows) {
    rows = PetscMin((PetscInt)SPIKE_MULT_ROWS, n - i);
    for (PetscInt c = 0; c < width; c++) {
      const PetscCount shift = (PetscCount)c * ldxy;
      PetscScalar     *w[SPIKE_KRYLOV_MAXVECTORS];

      if (s->scalars[c].reason) continue;
      (*loops.dia->mult)(h->loan.dia, i, i + rows, x + shift, NULL, NULL, y + shift);
      for (PetscInt k = 0; info && k < info->nvectors; k++) w[k] = v[k] + (PetscCount)c * ld[k];
      SpikeKrylovMultStep_Host(&loops, &s->scalars[c].f, step, i, rows, scale, y + shift, w, s->sums + c * nd);
    }
  }
  for (PetscInt c = 0; c < width; c++) done += s->scalars[c].reason ? 0 : 1;
  PetscCall(PetscLogFlops(done * (2.0 * h->loan.nz + ((scale ? 1.0 : 0.0) + (info ? info->flops : 0.0)) * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsBlockCG_Host(SpikeKrylovRhs *s, SpikeBlockCGStep step, PetscInt m, int norms,
                                                 PetscScalar *small)
{
  SpikeBlockCGWork work;

  PetscFunctionBegin;
  SpikeBlockCGRecur(step, (int)m, norms, small, s->scalars, sizeof(*s->scalars), &work);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovRhsKernels SpikeKrylovRhsKernels_Host = {
  .name      = "host",
  .memtype   = PETSC_MEMTYPE_HOST,
  .create    = SpikeKrylovRhsCreate_Host,
  .destroy   = SpikeKrylovRhsDestroy_Host,
  .push      = SpikeKrylovRhsStay_Host,
  .pull      = SpikeKrylovRhsStay_Host,
  .step      = SpikeKrylovRhsStep_Host,
  .basisstep = SpikeKrylovRhsBasisStep_Host,
  .sums      = SpikeKrylovRhsSums_Host,
  .swap      = SpikeKrylovRhsSwap_Host,
  .combine   = SpikeKrylovRhsCombine_Host,
  .mult      = SpikeKrylovRhsMult_Host,
  .blockcg   = SpikeKrylovRhsBlockCG_Host,
};
