/* SPDX-License-Identifier: BSD-2-Clause */
/* mult.cu: copies of a matrix in the forms of the backend, and who makes their products with a step in the epilogue */
#include "mult.cuh"

/* entries over places from which a copy by diagonals is taken unasked: 8 bytes a place against 12 an entry */
#define SPIKE_DIA_FILL 0.85

/*
  Whether places of a copy, so many bytes of them, are to leave the L2 cache first: where the vectors that an iteration
  reads again, four of n or those of IDR(s), fit there, and these places not beside them. CG with 7 and 27 points takes
  0.87 and 0.95 of the time then for a million rows, and would take 1.04 and 1.01 for eight million (krylov.txt)
*/
static bool SpikeKrylovIsLeaving(const SpikeKrylov *s, PetscInt n, double bytes)
{
  const double cache   = ((const SpikeKrylovCUDA *)s->data)->gpu->cache,
               vectors = (s->ncolumns ? 3.0 * s->ncolumns + 3.0 : 4.0) * sizeof(PetscScalar) * n;

  return vectors <= cache && vectors + bytes > 0.6 * cache;
}

PetscErrorCode SpikeKrylovCopy_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *csr, KSPFusedSpMVType form, void **copy)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;
  SpikeKrylovCopyCUDA   *c;
  bool                   made = false;

  PetscFunctionBegin;
  *copy = NULL;
  if ((PetscInt64)csr->n > INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy = (void *)c;
  c->nz = csr->nz;
  if (form != KSP_FUSED_SPMV_SELL && csr->nz) {
    PetscCall(SpikeDIAMake(h, csr, form == KSP_FUSED_SPMV_DIA ? 0.0 : SPIKE_DIA_FILL, &c->dia, c->diaoffset, &made));
    c->base.form   = KSP_FUSED_SPMV_DIA;
    c->base.bytes  = (PetscInt64)c->dia.count * c->dia.n * (PetscInt64)sizeof(PetscScalar);
    c->dia.leaving = SpikeKrylovIsLeaving(s, c->dia.n, (double)c->base.bytes);
  }
  if (!made && (form != KSP_FUSED_SPMV_DIA || !csr->nz)) {
    PetscCall(SpikeSellMake(h, csr, &c->sell, &made));
    c->base.form    = KSP_FUSED_SPMV_SELL;
    c->base.bytes   = 32 * c->sell.chunks * (PetscInt64)(sizeof(PetscScalar) + sizeof(int));
    c->sell.leaving = SpikeKrylovIsLeaving(s, c->sell.n, (double)c->base.bytes);
  }
  if (!made) PetscCall(SpikeKrylovDestroyCopy_CUDA(s, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices with more diagonals than a thread block keeps offsets of are refused */
PetscErrorCode SpikeKrylovBorrow_CUDA(SpikeKrylov *s, const SpikeKrylovLoan *loan, void **copy)
{
  const SpikeDIA      *A = loan->dia;
  SpikeKrylovCopyCUDA *c;

  PetscFunctionBegin;
  *copy = NULL;
  if ((s->ondevice && (A->n < 1 || A->count < 1)) || A->n != A->m || A->count > SPIKE_KRYLOV_MAXDIAGONALS ||
      (PetscInt64)A->n > INT_MAX)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->borrowed   = true;
  c->nz         = (PetscInt)PetscMin(loan->nz, (PetscInt64)PETSC_INT_MAX); /* flops are counted by it */
  c->loan       = *loan;
  c->dia.n      = A->n;
  c->dia.begin  = A->ibegin;
  c->dia.end    = A->iend;
  c->dia.count  = (int)A->count;
  c->dia.ld     = SpikeDIALd(A);
  c->dia.T      = SpikeDIALanes(A->n, c->dia.count);
  c->dia.offset = ((const SpikeDIACUDA *)A->data)->offset;
  c->dia.val    = A->val;
  for (int k = 0; k < c->dia.count; k++) c->diaoffset[k] = (int)A->offset[k];
  c->base.form   = KSP_FUSED_SPMV_DIA;
  c->base.bytes  = (PetscInt64)A->count * A->n * (PetscInt64)sizeof(PetscScalar);
  c->dia.leaving = SpikeKrylovIsLeaving(s, A->n, (double)c->base.bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRefill_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *csr, void *copy)
{
  const SpikeKrylovCUDA     *h = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c = (const SpikeKrylovCopyCUDA *)copy;

  PetscFunctionBegin;
  if (c->base.form == KSP_FUSED_SPMV_DIA) PetscCall(SpikeDIAFill(h, csr, &c->dia));
  else if (csr->nz) PetscCall(SpikeSellFill(h, csr, &c->sell, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovDestroyCopy_CUDA(SpikeKrylov *s, void **copy)
{
  SpikeKrylovCopyCUDA *c = (SpikeKrylovCopyCUDA *)*copy;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(c->low, c->correction, c->seen));
  if (!c->base.narrow) { /* else they are those of another copy */
    PetscCall(SpikeFree_CUDA(c->sell.start, c->sell.col, c->sell.val));
    PetscCall(SpikeFree_CUDA(c->off.row, c->off.at, c->off.aj, c->off.aa, c->off.mask));
    if (!c->borrowed) PetscCall(SpikeFree_CUDA(c->dia.offset, c->dia.val));
  }
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovMult_CUDA(SpikeKrylov *s, const void *copy, SpikeKrylovStep step, const PetscScalar *scale,
                                    const PetscScalar *x, PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovCUDA     *h    = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c    = (const SpikeKrylovCopyCUDA *)copy;
  SpikeKrylovMultArgs        a    = {scale, x, y, {}, -1, s->ondevice ? true : false, 0, 0};
  const int                  n    = step < SPIKE_KRYLOV_NSTEPS ? (int)SpikeKrylovSteps[step].nvectors : 0;
  const PetscInt             rows = SpikeKrylovCopyRows(c);
  PetscInt                   blocks;

  PetscFunctionBegin;
  /* the same on all ranks: no halo either */
  if (!s->ondevice && s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < n; k++) {
    a.v.v[k] = v[k];
    if (v[k] == y) a.own = k;
  }
  PetscCall(PetscLogGpuTimeBegin());
  if (c->stencil) PetscCall(SpikeKrylovStencilMult_CUDA(h, c, step, &a));
  else if (c->loan.block) PetscCall(SpikeKrylovBlocksMult_CUDA(h, c, step, &a));
  else if (c->base.narrow) PetscCall(SpikeKrylovMultNarrow_CUDA(h, c, step, &a, &blocks));
  else if (c->coupled || c->loan.begin || c->off.count) PetscCall(SpikeKrylovMultRanks_CUDA(h, c, step, &a, &blocks));
  else PetscCall(SpikeKrylovMultStep_CUDA(h, c, step, &a, &blocks));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(
    PetscLogGpuFlops(2.0 * c->nz + (scale ? 1.0 : 0.0) * rows + (n ? SpikeKrylovSteps[step].flops : 0.0) * rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}
