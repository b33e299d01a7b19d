/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_columns.c: the host backend of columns.h: the loops of krylov_host.c, column by column */
#include "../columns.h"
#include "krylov_host.h"

#define SPIKE_COLUMNS_ROWS (2 * SPIKE_DIA_ROWS) /* of a copy that stay in cache while the columns pass */

static PetscErrorCode SpikeKrylovColumnsDestroy_Host(SpikeKrylovColumns *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->scalars));
  PetscCall(PetscFree(s->small));
  PetscCall(PetscFree(s->sums));
  PetscCall(PetscFree(s->data));
  s->hostsmall = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* data: pointers to the columns of A and B of two block steps */
static PetscErrorCode SpikeKrylovColumnsCreate_Host(SpikeKrylovColumns *s)
{
  PetscFunctionBegin;
  s->ondevice = PETSC_FALSE;
  PetscCall(PetscCalloc1(s->m, &s->scalars));
  PetscCall(PetscCalloc1((size_t)s->m * s->nsmall, &s->small));
  PetscCall(PetscCalloc1((size_t)s->m * SpikeKrylovColumnSums(s), &s->sums));
  PetscCall(PetscMalloc1(4 * s->ncolumns, (PetscScalar ***)&s->data));
  s->hostsmall = s->small;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scalars and sums are where the host has them: push(), pull() and sums() */
static PetscErrorCode SpikeKrylovColumnsStay_Host(SpikeKrylovColumns *s, PetscInt width)
{
  PetscFunctionBegin;
  (void)s;
  (void)width;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovColumnsSums_Host(SpikeKrylovColumns *s, PetscInt width, PetscInt nsums)
{
  PetscFunctionBegin;
  (void)s;
  (void)width;
  (void)nsums;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovColumnsStep_Host(SpikeKrylovColumns *s, PetscInt width, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[], const PetscInt ld[])
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
  PetscCall(PetscLogFlops(info->flops * (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * n * done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovColumnsBlockStep_Host(SpikeKrylovColumns *s, PetscInt width, SpikeKrylovBlockStep step, const SpikeKrylovBlock *b, PetscInt ldA, PetscInt ld, const SpikeKrylovBlock *combine, const SpikeIDRRecurrence *recurrence)
{
  const PetscInt              m = b->last - b->first, nsums = SpikeKrylovBlockSums(step, m, (PetscBool)(b->z != NULL), (PetscBool)(b->q != NULL));
  const PetscReal             flops[]  = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0, 4.0 * m + (b->x ? (b->q ? 19.0 : 6.0) : 0.0), 8.0};
  const SpikeKrylovBlockLoop *loops    = SpikeKrylovLoopsGet().blockstep;
  PetscScalar               **pointers = (PetscScalar **)s->data;
  PetscInt                    done     = 0;

  PetscFunctionBegin;
  (void)recurrence;
  for (PetscInt c = 0; c < width; c++) {
    SpikeKrylovBlock h;

    if (s->scalars[c].reason && step != SPIKE_KRYLOV_SMOOTH) continue;
    h = SpikeKrylovBlockColumn(s, b, c, ldA, ld, pointers);
    (*loops[step])(&h, s->sums + c * nsums);
    if (combine) {
      h = SpikeKrylovBlockColumn(s, combine, c, ld, ld, pointers + 2 * s->ncolumns);
      (*loops[SPIKE_KRYLOV_COMBINE])(&h, NULL);
    }
    done++;
  }
  PetscCall(PetscLogFlops((flops[step] + (combine ? 4.0 * (combine->last - combine->first) + 2.0 : 0.0)) * (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * b->n * done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovColumnsSwap_Host(SpikeKrylovColumns *s, PetscInt n, const PetscInt a[], const PetscInt b[], PetscInt rows, PetscInt nblocks, PetscScalar *const v[], PetscInt ld)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const SpikeKrylovScalars scalars = s->scalars[a[i]];

    s->scalars[a[i]] = s->scalars[b[i]];
    s->scalars[b[i]] = scalars;
    for (PetscInt k = -1; k < nblocks; k++) { /* -1: the scalars of block steps */
      PetscScalar *x = k < 0 ? s->small + (PetscCount)a[i] * s->nsmall : v[k] + (PetscCount)a[i] * ld, *y = k < 0 ? s->small + (PetscCount)b[i] * s->nsmall : v[k] + (PetscCount)b[i] * ld;

      for (PetscInt j = 0; j < (k < 0 ? s->nsmall : rows); j++) {
        const PetscScalar t = x[j];

        x[j] = y[j];
        y[j] = t;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPIKE_COLUMNS_ROWS rows at a time: the values of the copy come from memory once for all columns */
static PetscErrorCode SpikeKrylovColumnsMult_Host(SpikeKrylovColumns *s, const void *copy, PetscInt width, const PetscScalar *x, PetscInt ldx, PetscScalar *y, PetscInt ldy)
{
  const SpikeKrylovCopyHost *h    = (const SpikeKrylovCopyHost *)copy;
  const SpikeKrylovDiaLoop   loop = SpikeKrylovLoopsGet().dia;
  const PetscInt             n    = h->dia.n;
  PetscInt                   done = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i += SPIKE_COLUMNS_ROWS) {
    for (PetscInt c = 0; c < width; c++) {
      if (!s->scalars[c].reason) (*loop)(&h->dia, i, PetscMin(n, i + SPIKE_COLUMNS_ROWS), x + (PetscCount)c * ldx, y + (PetscCount)c * ldy);
    }
  }
  for (PetscInt c = 0; c < width; c++) done += s->scalars[c].reason ? 0 : 1;
  PetscCall(PetscLogFlops((PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * 2.0 * h->nz * done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovColumnKernels SpikeKrylovColumnKernels_Host = {.name = "host", .memtype = PETSC_MEMTYPE_HOST, .create = SpikeKrylovColumnsCreate_Host, .destroy = SpikeKrylovColumnsDestroy_Host, .push = SpikeKrylovColumnsStay_Host, .pull = SpikeKrylovColumnsStay_Host, .step = SpikeKrylovColumnsStep_Host, .blockstep = SpikeKrylovColumnsBlockStep_Host, .sums = SpikeKrylovColumnsSums_Host, .swap = SpikeKrylovColumnsSwap_Host, .mult = SpikeKrylovColumnsMult_Host};
