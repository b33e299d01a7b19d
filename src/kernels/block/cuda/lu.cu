/* SPDX-License-Identifier: BSD-2-Clause */
/* lu.cu: factors of the CUDA backend of block.h: memory, order of rows, reports */
#include "lu.cuh"

PetscErrorCode SpikeBlockTransposeRows_CUDA(PetscInt mb, PetscInt nb, const PetscInt ai[], const PetscInt aj[],
                                            cudaStream_t stream, PetscInt **dti, PetscInt **dtj, PetscInt **dtp,
                                            PetscInt **hti)
{
  const PetscInt nz = mb ? ai[mb] : 0;
  PetscInt      *ti, *tj, *tp;

  PetscFunctionBegin;
  PetscCall(SpikeBlockTransposePattern(mb, nb, ai, aj, &ti, &tj, &tp));
  PetscCall(SpikeMallocCopy_CUDA(nb + 1, ti, stream, dti));
  PetscCall(SpikeMallocCopy_CUDA(nz, tj, stream, dtj));
  PetscCall(SpikeMallocCopy_CUDA(nz, tp, stream, dtp));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (hti) *hti = ti;
  else PetscCall(PetscFree(ti));
  PetscCall(PetscFree(tj));
  PetscCall(PetscFree(tp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static size_t SpikeBlockElement_Private(const SpikeBlockLU *lu)
{
  return SpikePrecisionBytes(lu->precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
}

PetscErrorCode SpikeBlockLUBytes_CUDA(const SpikeBlockLU *lu, PetscReal *factors, PetscReal *extra)
{
  const SpikeBlockPattern *p  = lu->p;
  const PetscReal          nl = p->nb ? (PetscReal)p->li[p->nb] : 0, nz = nl + (p->nb ? (PetscReal)p->ui[p->nb] : 0),
                  nb = (PetscReal)p->nb;

  PetscFunctionBegin;
  *factors = (nz + nb) * (PetscReal)p->bs * (PetscReal)p->bs * (PetscReal)SpikeBlockElement_Private(lu);
  *extra   = sizeof(PetscInt) * (nz + nl + 2 * nb + (lu->trans ? 2 * nz + 2 * nb : 0) + (p->newrow ? nb : 0)) +
           sizeof(SpikeBlockRow) * (lu->trans ? 5 : 3) * nb + 12 * nb +
           2.0 * sizeof(PetscScalar) * nb * (PetscReal)(p->bs + p->bs % 2) *
             (PetscReal)PetscMin(lu->maxrhs, SPIKE_BLOCK_MAXM);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was reserved before stays where there is no memory for more */
PetscErrorCode SpikeBlockLUReserve_CUDA(SpikeBlockLU *lu, PetscInt maxrhs)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;
  PetscScalar      *work;

  PetscFunctionBegin;
  maxrhs = PetscMax(maxrhs, 1);
  PetscCall(
    SpikeMalloc_CUDA(2 * (PetscCount)lu->p->nb * (lu->p->bs + lu->p->bs % 2) * PetscMin(maxrhs, SPIKE_BLOCK_MAXM),
                     &work));
  PetscCallCUDA(cudaFree(h->work));
  h->work    = work;
  lu->maxrhs = maxrhs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Records of the rows of both solves, in order[] of each, reversed for transposed ones; ai is that of the rows */
static PetscErrorCode SpikeBlockSolveRows_Private(const SpikeBlockPattern *p, PetscBool reverse,
                                                  const PetscInt *order[], const PetscInt *ai[], cudaStream_t stream,
                                                  SpikeBlockRow **rows)
{
  SpikeBlockRow *host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * (size_t)p->nb, &host));
  for (int n = 0; n < 2; n++) {
    for (PetscInt t = 0; t < p->nb; t++) {
      const PetscInt i = order[n][reverse ? p->nb - 1 - t : t];
      SpikeBlockRow *r = &host[(PetscCount)n * p->nb + t];

      r->i     = i;
      r->first = ai[n][i];
      r->count = ai[n][i + 1] - ai[n][i];
      r->other = p->oldrow ? p->oldrow[i] : i;
    }
  }
  PetscCall(SpikeMallocCopy_CUDA(2 * (PetscCount)p->nb, host, stream, rows));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Records of the rows of the factorization. Row i updates block (i, j) for each k of its row of L whose row of U has
  column j. Marks find these, up to the first one beside the diagonal; where rows are long nobody looks.
*/
static PetscErrorCode SpikeBlockFactorRows_Private(const SpikeBlockPattern *p, cudaStream_t stream,
                                                   SpikeBlockRow **rows, PetscInt **back)
{
  const PetscBool look = (PetscBool)(p->nb &&
                                     ((PetscReal)p->li[p->nb] + (PetscReal)p->ui[p->nb]) / p->nb <= SPIKE_BLOCK_SHORT);
  SpikeBlockRow  *host;
  PetscInt       *where, *mark;
  PetscBool      *alone; /* updates its own diagonal block only */

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->nb, &host));
  PetscCall(PetscMalloc3(p->nb, &mark, p->nb, &alone, p->li[p->nb] + 1, &where));
  where[p->li[p->nb]] = -1;
  for (PetscInt i = 0; i < p->nb; i++) mark[i] = -1;
  for (PetscInt i = 0; i < p->nb; i++) {
    alone[i] = look;
    for (PetscInt e = p->li[i]; e < p->li[i + 1]; e++) mark[p->lj[e]] = i;
    for (PetscInt e = p->ui[i]; e < p->ui[i + 1]; e++) mark[p->uj[e]] = i;
    for (PetscInt e = p->li[i]; e < p->li[i + 1]; e++) {
      const PetscInt k = p->lj[e];

      where[e] = -1;
      for (PetscInt u = p->ui[k]; u < p->ui[k + 1] && alone[i]; u++) {
        if (p->uj[u] == i) where[e] = u;
        else if (mark[p->uj[u]] == i) alone[i] = PETSC_FALSE;
      }
    }
  }
  for (PetscInt t = 0; t < p->nb; t++) {
    const PetscInt i = p->levelrow[0][t], count = p->li[i + 1] - p->li[i];
    PetscBool      simple = (PetscBool)(alone[i] && count <= 32);

    for (PetscInt e = p->li[i]; e < p->li[i + 1]; e++) simple = (PetscBool)(simple && alone[p->lj[e]]);
    host[t].i     = i;
    host[t].first = p->li[i];
    host[t].count = count;
    host[t].other = simple;
  }
  PetscCall(SpikeMallocCopy_CUDA(p->nb, host, stream, rows));
  if (look) PetscCall(SpikeMallocCopy_CUDA(p->li[p->nb] + 1, where, stream, back));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree(host));
  PetscCall(PetscFree3(mark, alone, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes what transposed solves need. In the order of U reversed, rows of U^T come after the rows that they wait for */
PetscErrorCode SpikeBlockLUTransposed_CUDA(SpikeBlockLU *lu)
{
  SpikeBlockLUCUDA        *h        = (SpikeBlockLUCUDA *)lu->data;
  const SpikeBlockPattern *p        = lu->p;
  const PetscInt          *order[2] = {p->levelrow[1], p->levelrow[0]}, *ai[2];
  PetscInt                *ti[2];
  cudaStream_t             stream;

  PetscFunctionBegin;
  if (h->LT.ai) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  PetscCall(SpikeBlockTransposeRows_CUDA(p->nb, p->nb, p->ui, p->uj, stream, &h->UT.ai, &h->UT.aj, &h->UT.at, &ti[0]));
  PetscCall(SpikeBlockTransposeRows_CUDA(p->nb, p->nb, p->li, p->lj, stream, &h->LT.ai, &h->LT.aj, &h->LT.at, &ti[1]));
  for (int n = 0; n < 2; n++) ai[n] = ti[n];
  PetscCall(SpikeBlockSolveRows_Private(p, PETSC_TRUE, order, ai, stream, &h->solve[1]));
  for (int n = 0; n < 2; n++) PetscCall(PetscFree(ti[n]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUCreate_CUDA(SpikeBlockLU *lu)
{
  const SpikeBlockPattern *p        = lu->p;
  const PetscInt          *order[2] = {p->levelrow[0], p->levelrow[1]}, *ai[2] = {p->li, p->ui};
  SpikeBlockLUCUDA        *h;
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  PetscCall(PetscNew(&h));
  lu->data           = h;
  h->multiprocessors = ((const SpikeBlockCUDA *)lu->b->data)->multiprocessors;
  h->nl              = p->li[p->nb];
  h->nu              = p->ui[p->nb];
  PetscCall(SpikeMallocCopy_CUDA(p->nb + 1, p->li, stream, &h->L.ai));
  PetscCall(SpikeMallocCopy_CUDA(h->nl, p->lj, stream, &h->L.aj));
  PetscCall(SpikeMallocCopy_CUDA(p->nb + 1, p->ui, stream, &h->U.ai));
  PetscCall(SpikeMallocCopy_CUDA(h->nu, p->uj, stream, &h->U.aj));
  if (p->newrow) PetscCall(SpikeMallocCopy_CUDA(p->nb, p->newrow, stream, &h->newrow));
  PetscCall(SpikeBlockSolveRows_Private(p, PETSC_FALSE, order, ai, stream, &h->solve[0]));
  PetscCall(SpikeBlockFactorRows_Private(p, stream, &h->factor, &h->back));
  PetscCall(SpikeMalloc_CUDA((h->nl + h->nu + p->nb) * p->bs * p->bs * (PetscCount)SpikeBlockElement_Private(lu),
                             (char **)&h->factors));
  PetscCall(SpikeMalloc_CUDA(p->nb, &h->done));
  PetscCall(SpikeMalloc_CUDA(p->nb, &h->badvalue));
  PetscCall(SpikeMalloc_CUDA(1, &h->report));
  PetscCall(SpikeMallocHost_CUDA(1, &h->hostreport));
  PetscCall(SpikeBlockLUReserve_CUDA(lu, lu->maxrhs));
  if (lu->trans) PetscCall(SpikeBlockLUTransposed_CUDA(lu));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUDestroy_CUDA(SpikeBlockLU *lu)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  for (const SpikeBlockRows *r : {&h->L, &h->U, &h->LT, &h->UT}) PetscCall(SpikeFree_CUDA(r->ai, r->aj, r->at));
  PetscCall(SpikeFree_CUDA(h->newrow, h->solve[0], h->solve[1], h->factor, h->back, (char *)h->factors, h->work,
                           h->done, h->badvalue, h->report));
  PetscCall(SpikeFreeHost_CUDA(h->hostreport));
  PetscCall(PetscFree(lu->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUFinish_CUDA(SpikeBlockLU *lu)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;
  SpikeBlockReport *r = h->hostreport;
  cudaStream_t      stream;
  double            norm, value;

  PetscFunctionBegin;
  if (!h->fillstats && !h->pivot) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  PetscCallCUDA(cudaMemcpyAsync(r, h->report, sizeof(*r), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar(sizeof(*r)));
  memcpy(&norm, &r->norm, sizeof(norm));
  if (h->fillstats) {
    h->fillstats->norm        = (PetscReal)norm;
    h->fillstats->badrow      = ~r->badrow ? (PetscInt)r->badrow : -1;
    h->fillstats->overflowrow = ~r->overflowrow ? (PetscInt)r->overflowrow : -1;
  }
  if (h->pivot) {
    SpikePivot *pivot = h->pivot;

    if (pivot->relative) {
      pivot->tol *= norm > 0.0 ? (PetscReal)norm : (PetscReal)1.0;
      pivot->boost *= norm > 0.0 ? (PetscReal)norm : (PetscReal)1.0;
      pivot->relative = PETSC_FALSE;
    }
    pivot->nboost = (PetscInt)r->nboost;
    pivot->badrow = ~r->pivotrow ? (PetscInt)r->pivotrow : -1;
    if (pivot->badrow >= 0) {
      PetscCallCUDA(cudaMemcpyAsync(&value, h->badvalue + pivot->badrow / lu->p->bs, sizeof(value),
                                    cudaMemcpyDeviceToHost, stream));
      PetscCallCUDA(cudaStreamSynchronize(stream));
      PetscCall(PetscLogGpuToCpuScalar(sizeof(value)));
      pivot->badvalue = (PetscReal)value;
    }
  }
  h->fillstats = NULL;
  h->pivot     = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V>
static PetscErrorCode SpikeBlockLUGet_Private(const V *from, PetscCount count, cudaStream_t stream, PetscScalar *to)
{
  V *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, &v));
  if (count)
    PetscCallCUDA(
      cudaMemcpyAsync((void *)v, (const void *)from, (size_t)count * sizeof(V), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscCount i = 0; i < count; i++) to[i] = (PetscScalar)v[i];
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V>
static PetscErrorCode SpikeBlockLUGetAll_Private(SpikeBlockLU *lu, PetscScalar *L, PetscScalar *D, PetscScalar *U)
{
  const SpikeBlockLUCUDA  *h  = (const SpikeBlockLUCUDA *)lu->data;
  const PetscCount         b2 = (PetscCount)lu->p->bs * lu->p->bs;
  const SpikeBlockParts<V> f(lu);
  cudaStream_t             stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  PetscCall(SpikeBlockLUGet_Private(f.L, h->nl * b2, stream, L));
  PetscCall(SpikeBlockLUGet_Private(f.D, lu->p->nb * b2, stream, D));
  PetscCall(SpikeBlockLUGet_Private(f.U, h->nu * b2, stream, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUGet_CUDA(SpikeBlockLU *lu, PetscScalar *L, PetscScalar *D, PetscScalar *U)
{
  PetscFunctionBegin;
  if (lu->precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockLUGetAll_Private<SpikeDouble>(lu, L, D, U));
  else PetscCall(SpikeBlockLUGetAll_Private<SpikeSingle>(lu, L, D, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}
