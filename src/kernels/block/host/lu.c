/* SPDX-License-Identifier: BSD-2-Clause */
/* lu.c: factors of blocks on the host: memory, factorization, solves */
#include "host.h"
#include "kernels/common/host/factors.h"

const SpikeBlockLoops *SpikeBlockLoopsGet(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? SpikeISAOf(&SpikeBlockLoops_double)
                                                   : SpikeISAOf(&SpikeBlockLoops_single);
}

const SpikeBlockSweeps *SpikeBlockSweepsGet(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? SpikeISAOf(&SpikeBlockSweeps_double)
                                                   : SpikeISAOf(&SpikeBlockSweeps_single);
}

static size_t BlockBytes(const SpikeBlockLU *lu)
{
  return (size_t)lu->p->bs * lu->p->bs * SpikePrecisionBytes(lu->precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
}

PetscErrorCode SpikeBlockLUBytes_Host(const SpikeBlockLU *lu, PetscReal *factors, PetscReal *extra)
{
  const SpikeBlockPattern *p = lu->p;

  PetscFunctionBegin;
  *factors = (PetscReal)BlockBytes(lu) * ((PetscReal)p->li[p->nb] + p->ui[p->nb] + p->nb);
  *extra   = (PetscReal)p->nb * sizeof(void *) +
           (p->newrow ? (PetscReal)lu->maxrhs * p->nb * p->bs * sizeof(PetscScalar) : 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUCreate_Host(SpikeBlockLU *lu)
{
  const SpikeBlockPattern *p    = lu->p;
  const size_t             size = BlockBytes(lu);
  SpikeBlockLUHost        *h;

  PetscFunctionBegin;
  PetscCheck(lu->precision == PETSC_SPIKE_PRECISION_DOUBLE || lu->precision == PETSC_SPIKE_PRECISION_SINGLE,
             PETSC_COMM_SELF, PETSC_ERR_SUP, "Factors of blocks are in double or single precision, not %s",
             PetscSpikePrecisions[lu->precision]);
  PetscCheck(p->bs >= 1 && p->bs <= SPIKE_BLOCK_MAXBS, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Blocks of %" PetscInt_FMT " x %" PetscInt_FMT ": sizes from 1 to %d are served", p->bs, p->bs,
             SPIKE_BLOCK_MAXBS);
  PetscCall(PetscNew(&h));
  lu->data = h;
  PetscCall(PetscMalloc(p->li[p->nb] * size, &h->l));
  PetscCall(PetscMalloc(p->nb * size, &h->d));
  PetscCall(PetscMalloc(p->ui[p->nb] * size, &h->u));
  PetscCall(PetscCalloc1(p->nb, &h->where));
  if (p->newrow) PetscCall(PetscMalloc1((size_t)lu->maxrhs * p->nb * p->bs, &h->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUDestroy_Host(SpikeBlockLU *lu)
{
  SpikeBlockLUHost *h = (SpikeBlockLUHost *)lu->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(h->l));
  PetscCall(PetscFree(h->d));
  PetscCall(PetscFree(h->u));
  PetscCall(PetscFree(h->where));
  PetscCall(PetscFree(h->work));
  PetscCall(PetscFree(lu->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUReserve_Host(SpikeBlockLU *lu, PetscInt maxrhs)
{
  SpikeBlockLUHost *h = (SpikeBlockLUHost *)lu->data;
  PetscScalar      *work;

  PetscFunctionBegin;
  if (maxrhs <= lu->maxrhs) PetscFunctionReturn(PETSC_SUCCESS);
  if (lu->p->newrow) {
    PetscCall(PetscMalloc1((size_t)maxrhs * lu->p->nb * lu->p->bs, &work));
    PetscCall(PetscFree(h->work));
    h->work = work;
  }
  lu->maxrhs = maxrhs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUFactor_Host(SpikeBlockLU *lu, SpikePivot *pivot)
{
  SpikeBlockLUHost *h     = (SpikeBlockLUHost *)lu->data;
  const PetscReal   scale = pivot->relative && h->norm > 0.0 ? h->norm : 1.0;

  PetscFunctionBegin;
  pivot->tol *= scale;
  pivot->boost *= scale;
  pivot->nboost   = 0;
  pivot->badrow   = -1;
  pivot->badvalue = 0.0;
  SpikeBlockOfSize(SpikeBlockLoopsGet(lu->precision)->factor, lu->p->bs)(lu->p, h, pivot);
  PetscCall(PetscLogFlops(2.0 * h->products * lu->p->bs * lu->p->bs * lu->p->bs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of rows from the order of the matrix to that of the factors, or back */
static void Gather(const SpikeBlockPattern *p, const PetscInt *from, PetscInt nrhs, const PetscScalar *x,
                   PetscCount ldx, PetscScalar *y, PetscCount ldy)
{
  for (PetscInt c = 0; c < nrhs; c++) {
    for (PetscInt i = 0; i < p->nb; i++) {
      const PetscScalar *s = x + c * ldx + (PetscCount)(from ? from[i] : i) * p->bs;
      PetscScalar       *d = y + c * ldy + (PetscCount)i * p->bs;

      for (PetscInt k = 0; k < p->bs; k++) d[k] = s[k];
    }
  }
}

PetscErrorCode SpikeBlockLUSolve_Host(SpikeBlockLU *lu, SpikeBlockTrans trans, PetscInt nrhs, const PetscScalar *b,
                                      PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const SpikeBlockPattern *p     = lu->p;
  const SpikeBlockLUHost  *h     = (const SpikeBlockLUHost *)lu->data;
  const SpikeBlockSweeps  *sweep = SpikeBlockSweepsGet(lu->precision);
  const PetscBool          conj  = (PetscBool)(trans == SPIKE_BLOCK_HERMITIAN);
  const PetscInt           batch = p->newrow ? lu->maxrhs : nrhs;

  PetscFunctionBegin;
  for (PetscInt c = 0, m; c < nrhs; c += m) {
    const PetscScalar *bc = b + c * ldb;
    PetscScalar       *xc = x + c * ldx, *w = p->newrow ? h->work : xc;
    const PetscCount   ldw = p->newrow ? (PetscCount)p->nb * p->bs : ldx;

    m = PetscMin(batch, nrhs - c);
    if (trans == SPIKE_BLOCK_PLAIN) {
      SpikeBlockOfSize(sweep->lower, p->bs)(p, h, m, bc, ldb, w, ldw);
      SpikeBlockOfSize(sweep->upper, p->bs)(p, h, m, w, ldw);
    } else {
      if (bc != w) Gather(p, p->oldrow, m, bc, ldb, w, ldw);
      SpikeBlockOfSize(sweep->lowert, p->bs)(p, h, conj, m, w, ldw);
      SpikeBlockOfSize(sweep->uppert, p->bs)(p, h, conj, m, w, ldw);
    }
    if (p->newrow) Gather(p, p->newrow, m, w, ldw, xc, ldx);
  }
  PetscCall(PetscLogFlops(2.0 * nrhs * p->bs * p->bs * ((PetscLogDouble)p->li[p->nb] + p->ui[p->nb] + p->nb)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUGet_Host(SpikeBlockLU *lu, PetscScalar *L, PetscScalar *D, PetscScalar *U)
{
  const SpikeBlockLUHost  *h      = (const SpikeBlockLUHost *)lu->data;
  const SpikeBlockPattern *p      = lu->p;
  const PetscCount         stride = (PetscCount)p->bs * p->bs;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < p->li[p->nb] * stride; k++) L[k] = SpikeHostGet(lu->precision, h->l, k);
  for (PetscInt i = 0; i < p->nb; i++)
    for (PetscCount e = 0; e < stride; e++)
      D[i * stride + e] = SpikeHostGet(lu->precision, h->d, (p->nb - 1 - i) * stride + e);
  for (PetscInt k = 0; k < p->ui[p->nb]; k++)
    for (PetscCount e = 0; e < stride; e++)
      U[k * stride + e] = SpikeHostGet(lu->precision, h->u, (p->ui[p->nb] - 1 - k) * stride + e);
  PetscFunctionReturn(PETSC_SUCCESS);
}
