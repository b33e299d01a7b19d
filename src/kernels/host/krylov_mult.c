/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_mult.c: the host backend's copy of a matrix by diagonals, and its products with a step in the epilogue */
#include "krylov_host.h"

static int SpikeDiaCompare(const void *a, const void *b)
{
  const PetscInt i = *(const PetscInt *)a, j = *(const PetscInt *)b;

  return i < j ? -1 : i > j;
}

/* The place of an offset, count where it has none; rows are sorted as a rule: it is looked for behind the one before */
static inline PetscInt SpikeDiaFind(PetscInt count, const PetscInt offset[], PetscInt before, PetscInt wanted)
{
  PetscInt d = before;

  for (PetscInt tried = 0; tried < count; tried++) {
    d = d + 1 < count ? d + 1 : 0;
    if (offset[d] == wanted) return d;
  }
  return count;
}

/* Whether the columns of m entries are those of `before`, shifted by as many rows: most rows of a stencil are like others */
static inline PetscBool SpikeDiaSame(PetscInt m, const PetscInt aj[], const PetscInt before[], PetscInt shift)
{
  PetscInt differ = 0;

  for (PetscInt k = 0; k < m; k++) differ |= (aj[k] - shift) ^ before[k];
  return (PetscBool)!differ;
}

/* The offsets j - i of all entries, ascending; *count is 0 where there are more than most */
static void SpikeDiaOffsets(const SpikeKrylovCSR *csr, PetscInt most, PetscInt *count, PetscInt offset[])
{
  PetscInt n = 0;

  *count = 0;
  for (PetscInt i = 0; i < csr->n; i++) {
    const PetscInt m = csr->ai[i + 1] - csr->ai[i];
    PetscInt       d = n - 1;

    if (i && m == csr->ai[i] - csr->ai[i - 1] && SpikeDiaSame(m, csr->aj + csr->ai[i], csr->aj + csr->ai[i - 1], 1)) continue;
    for (PetscInt k = csr->ai[i]; k < csr->ai[i + 1]; k++) {
      d = SpikeDiaFind(n, offset, d, csr->aj[k] - i);
      if (d < n) continue;
      if (n == most) return;
      offset[n++] = csr->aj[k] - i;
    }
  }
  qsort(offset, (size_t)n, sizeof(*offset), SpikeDiaCompare);
  *count = n;
}

/* A block is set to 0 when its first row comes, in cache */
static void SpikeDiaFill(const SpikeKrylovCSR *csr, const SpikeKrylovDia *m)
{
  for (PetscInt i = 0; i < m->n; i++) {
    PetscScalar *val = m->val + (PetscCount)(i - i % SPIKE_DIA_ROWS) * m->count + i % SPIKE_DIA_ROWS;
    PetscInt     d   = m->count - 1;

    if (i % SPIKE_DIA_ROWS == 0) memset(val, 0, (size_t)m->count * SPIKE_DIA_ROWS * sizeof(*val));
    if (csr->ai[i + 1] - csr->ai[i] == m->count && SpikeDiaSame(m->count, csr->aj + csr->ai[i], m->offset, i)) {
      const PetscScalar *aa = csr->aa + csr->ai[i];

      for (PetscInt k = 0; k < m->count; k++) val[k * SPIKE_DIA_ROWS] = aa[k];
      continue;
    }
    for (PetscInt k = csr->ai[i]; k < csr->ai[i + 1]; k++) {
      d                       = SpikeDiaFind(m->count, m->offset, d, csr->aj[k] - i);
      val[d * SPIKE_DIA_ROWS] = csr->aa[k];
    }
  }
}

/*
  Unasked where at least half of the places by diagonals have entries: with real numbers in double precision at most 4/3 of the bytes of the matrix. Faster than MatMult() down to a third by measurement, for values
  come in one stream and without columns, and vectors of rows need no gather.
*/
PetscErrorCode SpikeKrylovCopy_Host(SpikeKrylov *s, const SpikeKrylovCSR *csr, KSPFusedSpMVType form, void **copy)
{
  PetscInt             most = SPIKE_DIA_MOST, count = 0, offset[SPIKE_DIA_MOST];
  SpikeKrylovCopyHost *c;

  PetscFunctionBegin;
  (void)s;
  *copy = NULL;
  if (csr->n < 1 || csr->nz < 1 || form == KSP_FUSED_SPMV_SELL) PetscFunctionReturn(PETSC_SUCCESS);
  if (form != KSP_FUSED_SPMV_DIA) most = PetscMin(most, (PetscInt)(2 * (PetscInt64)csr->nz / csr->n));
  SpikeDiaOffsets(csr, most, &count, offset);
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->nz         = csr->nz;
  c->base.form  = KSP_FUSED_SPMV_DIA;
  c->base.bytes = (PetscInt64)count * csr->n * (PetscInt64)sizeof(PetscScalar);
  c->dia.n      = csr->n;
  c->dia.count  = count;
  PetscCall(PetscMalloc1(count, &c->dia.offset));
  PetscCall(PetscArraycpy(c->dia.offset, offset, count));
  PetscCall(PetscMalloc1((PetscCount)count * ((csr->n + SPIKE_DIA_ROWS - 1) / SPIKE_DIA_ROWS) * SPIKE_DIA_ROWS * sizeof(PetscScalar) + 63, (char **)&c->dia.memory));
  c->dia.val = (PetscScalar *)((char *)c->dia.memory + ((64 - ((size_t)c->dia.memory & 63)) & 63));
  SpikeDiaFill(csr, &c->dia);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRefill_Host(SpikeKrylov *s, const SpikeKrylovCSR *csr, void *copy)
{
  PetscFunctionBegin;
  (void)s;
  SpikeDiaFill(csr, &((SpikeKrylovCopyHost *)copy)->dia);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovDestroyCopy_Host(SpikeKrylov *s, void **copy)
{
  SpikeKrylovCopyHost *c = (SpikeKrylovCopyHost *)*copy;

  PetscFunctionBegin;
  (void)s;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(c->dia.offset));
  PetscCall(PetscFree(c->dia.memory));
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPIKE_MULT_ROWS rows at a time: the step finds them, and their rows of x, in cache. Sums are those of the groups, in their order */
PetscErrorCode SpikeKrylovMult_Host(SpikeKrylov *s, const void *copy, SpikeKrylovStep step, const PetscScalar *scale, const PetscScalar *x, PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovCopyHost *c     = (const SpikeKrylovCopyHost *)copy;
  const SpikeKrylovStepInfo *info  = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  const SpikeKrylovLoops     loops = SpikeKrylovLoopsGet();
  const PetscInt             n = c->dia.n, nd = info ? info->ndots : 0;

  PetscFunctionBegin;
  if (s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < nd; k++) s->local[k] = 0.0;
  for (PetscInt i = 0, rows; i < n; i += rows) {
    PetscScalar *w[SPIKE_KRYLOV_MAXVECTORS], sums[SPIKE_KRYLOV_MAXDOTS];

    rows = PetscMin((PetscInt)SPIKE_MULT_ROWS, n - i);
    (*loops.dia)(&c->dia, i, i + rows, x, y);
    if (scale) {
      PetscScalar *const d[] = {(PetscScalar *)scale + i, y + i, y + i};

      (*loops.step[SPIKE_DIAGONAL])(rows, &s->scalars->f, d, NULL);
    }
    if (info) {
      for (PetscInt k = 0; k < info->nvectors; k++) w[k] = v[k] + i;
      (*loops.step[step])(rows, &s->scalars->f, w, sums);
      for (PetscInt k = 0; k < nd; k++) s->local[k] += sums[k];
    }
  }
  PetscCall(PetscLogFlops((PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * (2.0 * c->nz + ((scale ? 1.0 : 0.0) + (info ? info->flops : 0.0)) * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
