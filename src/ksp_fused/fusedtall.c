/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedtall.c: products of tall matrices, and the small matrices of block methods */
#include "fusedtall.h"
#include "fusedrhsmat.h"

#define KSP_FUSED_TALL_MAXTASKS 4
#define KSP_FUSED_TALL_PRECISION \
  ((PetscSpikePrecision)(PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE))

static PetscErrorCode KSPFusedTallTasks_Private(KSP ksp, PetscBool chain, PetscInt count, const KSPFusedTall tasks[])
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->rhs;
  SpikeBlockTask t[KSP_FUSED_TALL_MAXTASKS];
  Vec            v[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscScalar   *a[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscBool      read[2 * KSP_FUSED_TALL_MAXTASKS], written[2 * KSP_FUSED_TALL_MAXTASKS];
  PetscInt       nv = 0, n, at[2 * KSP_FUSED_TALL_MAXTASKS], ld;

  PetscFunctionBegin;
  PetscAssert(count <= KSP_FUSED_TALL_MAXTASKS, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "%" PetscInt_FMT " tasks", count);
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  for (PetscInt i = 0; i < 2 * count; i++) { /* each matrix once */
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
  for (PetscInt k = 0; k < nv; k++) PetscCall(KSPFusedRhsGetArray(ksp, v[k], read[k], written[k], &a[k], &ld));
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
  PetscCall(KSPFusedRhsRestoreArrays(ksp));
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
  KSPFusedRhs   *c     = f->rhs;
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
  PetscCall((*SpikeKrylovRhsKernelsFind(PETSC_MEMTYPE_HOST)->blockcg)(&c->s, step, m, norms, small));
  if (c->hostsmall)
    PetscCall((*c->tall.k->copy)(&c->tall, PETSC_TRUE, PETSC_FALSE, c->small + SPIKE_BLOCKCG_T * m * m,
                                 small + SPIKE_BLOCKCG_T * m * m, (SPIKE_BLOCKCG_EC + 1 - SPIKE_BLOCKCG_T) * bytes));
  PetscCall((*c->s.k->push)(&c->s, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
