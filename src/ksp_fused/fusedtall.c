/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedtall.c: block methods for several right-hand sides: tall blocks, small matrices and where those are */
#include "fusedrhs.h"

#define KSP_FUSED_TALL_MAXTASKS 4
#define KSP_FUSED_TALL_PRECISION \
  ((PetscSpikePrecision)(PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE))

PetscErrorCode KSPFusedTallDestroy(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  if (c->tall.k) {
    PetscCall((*c->tall.k->release)(&c->tall, (void **)&c->small));
    PetscCall((*c->tall.k->destroy)(&c->tall));
  }
  if (c->directions.k) PetscCall((*c->directions.k->destroy)(&c->directions));
  PetscCall(PetscFree(c->hostsmall));
  PetscCall(PetscMemzero(&c->tall, sizeof(c->tall)));
  PetscCall(PetscMemzero(&c->directions, sizeof(c->directions)));
  c->small = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for c->room columns, or as many as a block has, beside that for the steps of columns */
PetscErrorCode KSPFusedTallSetUp(KSP ksp)
{
  KSPFusedRhs   *c    = ((KSPFused *)ksp->data)->columnsolve;
  const PetscInt most = PetscMin(c->room, (PetscInt)SPIKE_BLOCK_MAXM);
  const size_t   size = SpikeBlockCGSize(most);

  PetscFunctionBegin;
  if (c->tall.k) PetscFunctionReturn(PETSC_SUCCESS);
  c->directions.k        = c->s.k;
  c->directions.m        = most;
  c->directions.ondevice = c->s.ondevice;
  PetscCall((*c->directions.k->create)(&c->directions));
  PetscCall((*c->directions.k->push)(&c->directions, most)); /* all zero */
  c->tall.k = SpikeBlockKernelsFind(c->s.k->memtype);
  PetscCheck(c->tall.k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "No kernels for tall blocks where the vectors are");
  PetscCall((*c->tall.k->create)(&c->tall));
  PetscCall((*c->tall.k->alloc)(&c->tall, size * sizeof(PetscScalar), (void **)&c->small));
  if (!PetscMemTypeHost(c->s.k->memtype) && !c->s.ondevice) PetscCall(PetscMalloc1(size, &c->hostsmall));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTallTasks_Private(KSP ksp, PetscBool chain, PetscInt count, const KSPFusedTall tasks[])
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->columnsolve;
  SpikeBlockTask t[KSP_FUSED_TALL_MAXTASKS];
  Vec            v[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscScalar   *a[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscBool      read[2 * KSP_FUSED_TALL_MAXTASKS], written[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscInt       nv = 0, n, at[2 * KSP_FUSED_TALL_MAXTASKS], ld;

  PetscFunctionBegin;
  PetscAssert(count <= KSP_FUSED_TALL_MAXTASKS, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "%" PetscInt_FMT " tasks", count);
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  for (PetscInt i = 0; i < 2 * count; i++) { /* each block once */
    const KSPFusedTall *task  = &tasks[i / 2];
    const PetscBool     isout = (PetscBool)(i % 2 && task->op == SPIKE_BLOCK_AXPY);
    PetscInt            k     = 0;

    while (k < nv && v[k] != (i % 2 ? task->Y : task->X)) k++;
    if (k == nv) {
      v[nv]       = i % 2 ? task->Y : task->X;
      read[nv]    = PETSC_FALSE;
      written[nv] = PETSC_FALSE;
      nv++;
    }
    at[i] = k;
    if (isout) written[k] = PETSC_TRUE;
    if (!isout || task->mode != SPIKE_BLOCK_SET) read[k] = PETSC_TRUE;
  }
  for (PetscInt k = 0; k < nv; k++) PetscCall(KSPFusedRhsFetch(ksp, v[k], read[k], written[k], &a[k], &ld));
  PetscCall(PetscMemzero(t, sizeof(t)));
  for (PetscInt i = 0; i < count; i++) {
    PetscScalar *small = c->small + (size_t)tasks[i].small * c->width * c->width;

    t[i].op   = tasks[i].op;
    t[i].mode = tasks[i].mode;
    t[i].n    = n;
    t[i].k = t[i].m = c->width;
    t[i].X          = a[at[2 * i]];
    t[i].ldx        = c->ld;
    if (tasks[i].op == SPIKE_BLOCK_AXPY) {
      t[i].Z   = small;
      t[i].ldz = c->width;
      t[i].Y   = a[at[2 * i + 1]];
      t[i].ldy = c->ld;
    } else {
      t[i].Z   = a[at[2 * i + 1]];
      t[i].ldz = c->ld;
      t[i].Y   = small;
      t[i].ldy = c->width;
    }
  }
  PetscCall((*c->tall.k->begin)(&c->tall));
  if (chain) PetscCall((*c->tall.k->chain)(&c->tall, KSP_FUSED_TALL_PRECISION, t));
  else PetscCall((*c->tall.k->run)(&c->tall, KSP_FUSED_TALL_PRECISION, count, t));
  PetscCall((*c->tall.k->end)(&c->tall));
  PetscCall(KSPFusedRhsGiveBack(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedTallRun(KSP ksp, PetscInt count, const KSPFusedTall tasks[])
{
  PetscFunctionBegin;
  PetscCall(KSPFusedTallTasks_Private(ksp, PETSC_FALSE, count, tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedTallChain(KSP ksp, const KSPFusedTall tasks[2])
{
  PetscFunctionBegin;
  PetscCall(KSPFusedTallTasks_Private(ksp, PETSC_TRUE, 2, tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedTallRecur(KSP ksp, SpikeBlockCGStep step, PetscInt sums, int norms)
{
  KSPFused      *f     = (KSPFused *)ksp->data;
  KSPFusedRhs   *c     = f->columnsolve;
  const PetscInt m     = c->width;
  const size_t   bytes = (size_t)m * m * sizeof(PetscScalar);
  PetscScalar   *small = c->hostsmall ? c->hostsmall : c->small;

  PetscFunctionBegin;
  if (c->s.ondevice) {
    PetscCall((*c->s.k->blockcg)(&c->s, step, m, norms, c->small));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->hostsmall) PetscCall((*c->tall.k->copy)(&c->tall, PETSC_FALSE, PETSC_TRUE, small, c->small, sums * bytes));
  if (f->size > 1)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, small, (PetscMPIInt)(sums * m * m), MPIU_SCALAR, MPIU_SUM,
                                PetscObjectComm((PetscObject)ksp)));
  PetscCall((*SpikeKrylovRhsKernels_Host.blockcg)(&c->s, step, m, norms, small));
  if (c->hostsmall)
    PetscCall((*c->tall.k->copy)(&c->tall, PETSC_TRUE, PETSC_FALSE, c->small + SPIKE_BLOCKCG_T * m * m,
                                 small + SPIKE_BLOCKCG_T * m * m, (SPIKE_BLOCKCG_EC + 1 - SPIKE_BLOCKCG_T) * bytes));
  PetscCall((*c->s.k->push)(&c->s, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
