/* SPDX-License-Identifier: BSD-2-Clause */
/* block.c: the host backend of block.h: its table, tall blocks and sparse products; factors are in lu.c */
#include "host.h"
#include "kernels/common/host/memory.h"

static PetscErrorCode SpikeBlockCreate_Host(SpikeBlock *b)
{
  PetscFunctionBegin;
  b->data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatDestroy_Host(SpikeBlock *b, SpikeBlockMat *A)
{
  SpikeBlockMatHost *h = (SpikeBlockMatHost *)A->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(h->bi));
  PetscCall(PetscFree(h->bj));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatCreate_Host(SpikeBlock *b, PetscInt bs, PetscInt mb, PetscInt nb,
                                               const PetscInt bi[], const PetscInt bj[], PetscBool trans,
                                               SpikeBlockMat *A)
{
  SpikeBlockMatHost *h;

  PetscFunctionBegin;
  PetscCheck(bs >= 1 && bs <= SPIKE_BLOCK_MAXBS, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Blocks of %" PetscInt_FMT " x %" PetscInt_FMT ": sizes from 1 to %d are served", bs, bs,
             SPIKE_BLOCK_MAXBS);
  A->bs = bs;
  A->mb = mb;
  A->nb = nb;
  A->a  = NULL;
  PetscCall(PetscNew(&h));
  A->data = h;
  PetscCall(PetscMalloc1(mb + 1, &h->bi));
  PetscCall(PetscMalloc1(bi[mb], &h->bj));
  PetscCall(PetscArraycpy(h->bi, bi, mb + 1));
  PetscCall(PetscArraycpy(h->bj, bj, bi[mb]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockMatPattern_Host(const SpikeBlockMat *A, const PetscInt **bi, const PetscInt **bj)
{
  const SpikeBlockMatHost *h = (const SpikeBlockMatHost *)A->data;

  PetscFunctionBegin;
  *bi = h->bi;
  *bj = h->bj;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockPack_Host(SpikeBlock *b, PetscInt bs, PetscInt n, const PetscInt index[],
                                          const PetscScalar x[], PetscScalar y[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt r = 0; r < bs; r++) y[(PetscCount)i * bs + r] = x[(PetscCount)index[i] * bs + r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockUnpackAdd_Host(SpikeBlock *b, PetscInt bs, PetscInt n, const PetscInt index[],
                                               const PetscScalar y[], PetscScalar x[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt r = 0; r < bs; r++) x[(PetscCount)index[i] * bs + r] += y[(PetscCount)i * bs + r];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockAssemble_Host(SpikeBlock *b, PetscCount n, const PetscCount first[],
                                              const PetscCount from[], const PetscScalar v[], PetscBool add,
                                              PetscScalar a[])
{
  PetscFunctionBegin;
  for (PetscCount p = 0; p < n; p++) {
    PetscScalar sum = add ? a[p] : 0.0;

    for (PetscCount k = first[p]; k < first[p + 1]; k++) sum += v[from[k]];
    a[p] = sum;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockRun_Host(SpikeBlock *b, PetscSpikePrecision precision, PetscInt count,
                                         const SpikeBlockTask tasks[])
{
  const SpikeBlockLoops *loops = SpikeBlockLoopsGet(precision);
  PetscLogDouble         flops = 0.0;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < count; t++) {
    const SpikeBlockTask *s      = &tasks[t];
    const PetscBool       sparse = (PetscBool)(s->op != SPIKE_BLOCK_AXPY && s->op != SPIKE_BLOCK_DOT);

    PetscCheck(s->m >= 1 && s->m <= SPIKE_BLOCK_MAXM && (sparse || (s->k >= 1 && s->k <= SPIKE_BLOCK_MAXM)),
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Task %" PetscInt_FMT " has blocks of %" PetscInt_FMT " and %" PetscInt_FMT
               " columns: 1 to %d are served",
               t, s->k, s->m, SPIKE_BLOCK_MAXM);
    if (s->op == SPIKE_BLOCK_MULT) SpikeBlockOfSize(loops->mult, s->A->bs)(s);
    else if (sparse) SpikeBlockOfSize(loops->multt, s->A->bs)(s);
    else (*loops->run)(s);
    flops += sparse ? 2.0 * ((const SpikeBlockMatHost *)s->A->data)->bi[s->A->mb] * s->A->bs * s->A->bs * s->m
                    : 2.0 * s->n * s->k * s->m;
  }
  PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SPIKE_BLOCK_CHAIN 256 /* rows of a chain that are in cache */

static PetscErrorCode SpikeBlockChain_Host(SpikeBlock *b, PetscSpikePrecision precision, const SpikeBlockTask tasks[2])
{
  const size_t size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));

  PetscFunctionBegin;
  PetscCheck(tasks[0].op == SPIKE_BLOCK_AXPY && tasks[1].op == SPIKE_BLOCK_AXPY && tasks[0].n == tasks[1].n,
             PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP, "A chain is of two AXPY on the same rows");
  for (PetscInt i = 0; i < tasks[0].n; i += SPIKE_BLOCK_CHAIN) {
    SpikeBlockTask some[2] = {tasks[0], tasks[1]};

    for (int t = 0; t < 2; t++) {
      some[t].n = PetscMin(SPIKE_BLOCK_CHAIN, tasks[0].n - i);
      some[t].X = (const char *)tasks[t].X + i * (tasks[t].rowmajor ? tasks[t].ldx : 1) * size;
      some[t].Y = (char *)tasks[t].Y + i * (tasks[t].rowmajor ? tasks[t].ldy : 1) * size;
      PetscCall(SpikeBlockRun_Host(b, precision, 1, &some[t]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockNothing_Host(SpikeBlock *b)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockAlloc_Host(SpikeBlock *b, size_t bytes, void **p)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc(bytes, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockRelease_Host(SpikeBlock *b, void **p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeBlockCopy_Host(SpikeBlock *b, PetscBool todevice, PetscBool fromdevice, void *dst,
                                          const void *src, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(dst, src, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeBlockKernels SpikeBlockKernels_Host = {.name        = "host",
                                                  .memtype     = PETSC_MEMTYPE_HOST,
                                                  .enqueues    = PETSC_FALSE,
                                                  .create      = SpikeBlockCreate_Host,
                                                  .destroy     = SpikeBlockNothing_Host,
                                                  .matcreate   = SpikeBlockMatCreate_Host,
                                                  .matdestroy  = SpikeBlockMatDestroy_Host,
                                                  .matpattern  = SpikeBlockMatPattern_Host,
                                                  .pack        = SpikeBlockPack_Host,
                                                  .unpackadd   = SpikeBlockUnpackAdd_Host,
                                                  .assemble    = SpikeBlockAssemble_Host,
                                                  .run         = SpikeBlockRun_Host,
                                                  .chain       = SpikeBlockChain_Host,
                                                  .lubytes     = SpikeBlockLUBytes_Host,
                                                  .lucreate    = SpikeBlockLUCreate_Host,
                                                  .ludestroy   = SpikeBlockLUDestroy_Host,
                                                  .lureserve   = SpikeBlockLUReserve_Host,
                                                  .lufill      = SpikeBlockLUFill_Host,
                                                  .lufactor    = SpikeBlockLUFactor_Host,
                                                  .lusolve     = SpikeBlockLUSolve_Host,
                                                  .luget       = SpikeBlockLUGet_Host,
                                                  .memory      = SpikeMemory_Host,
                                                  .begin       = SpikeBlockNothing_Host,
                                                  .end         = SpikeBlockNothing_Host,
                                                  .alloc       = SpikeBlockAlloc_Host,
                                                  .release     = SpikeBlockRelease_Host,
                                                  .copy        = SpikeBlockCopy_Host,
                                                  .synchronize = SpikeBlockNothing_Host};
