/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedstate.c: the state of a solver in a backend, the products of A, and arrays of vectors */
#include "fusedstate.h"
#include "adapters.h"
#include "common/agree.h"
#include "common/array.h"
#include "fusedranks.h"
#include <petsc/private/pcimpl.h>

/*
  Post number k, counted from 0 at each solve, lies in ring[k % 4]: the host reads post k before it makes post k + 4
*/
PetscErrorCode KSPFusedPost(KSPFused *f)
{
  SpikeKrylovPost *post = &f->run.ring[f->run.posted++ % 4];

  PetscFunctionBegin;
  post->it       = f->s.scalars->it;
  post->norm     = f->s.scalars->norm;
  post->replaced = f->s.scalars->replaced;
  post->reason   = f->s.scalars->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The array of v in the memory of the backend; read and written say what is done with it. On the host VecGetArray()
  brings the values of any Vec there. Elsewhere the values are there already
*/
PetscErrorCode KSPFusedGetArray(KSP ksp, Vec v, PetscBool read, PetscBool written, PetscScalar **a)
{
  const SpikeKrylovKernels *k = ((KSPFused *)ksp->data)->s.k;
  PetscMemType              memtype;

  PetscFunctionBegin;
  if (PetscMemTypeHost(k->memtype)) {
    if (!written) PetscCall(VecGetArrayRead(v, (const PetscScalar **)a));
    else if (read) PetscCall(VecGetArray(v, a));
    else PetscCall(VecGetArrayWrite(v, a));
  } else {
    if (!written) PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)a, &memtype));
    else if (read) PetscCall(VecGetArrayAndMemType(v, a, &memtype));
    else PetscCall(VecGetArrayWriteAndMemType(v, a, &memtype));
    PetscCheck(SpikeKrylovKernelsFind(memtype) == k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "A work vector has left the device during a solve");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Clears the pointer */
PetscErrorCode KSPFusedRestoreArray(KSP ksp, Vec v, PetscBool read, PetscBool written, PetscScalar **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(((KSPFused *)ksp->data)->s.k->memtype)) {
    if (!written) PetscCall(VecRestoreArrayRead(v, (const PetscScalar **)a));
    else if (read) PetscCall(VecRestoreArray(v, a));
    else PetscCall(VecRestoreArrayWrite(v, a));
  } else {
    if (!written) PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)a));
    else if (read) PetscCall(VecRestoreArrayAndMemType(v, a));
    else PetscCall(VecRestoreArrayWriteAndMemType(v, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedDestroyGraphs(KSPFused *f)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; f->graph.graphs && i < f->graph.period; i++)
    PetscCall((*f->s.k->destroygraph)(&f->s, &f->graph.graphs[i]));
  if (f->graph.many) PetscCall((*f->s.k->destroygraph)(&f->s, &f->graph.many));
  PetscCall(PetscFree(f->graph.graphs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state in the backend, and what was made with it */
PetscErrorCode KSPFusedDestroyState(KSPFused *f)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedDestroyGraphs(f));
  if (f->product.copy) PetscCall(KSPFusedDestroyCopy(f));
  PetscCall(KSPFusedRanksReset(f));
  if (f->s.k) PetscCall((*f->s.k->destroy)(&f->s));
  PetscCall(VecDestroy(&f->pc.store));
  f->pc.diagonal = NULL;
  f->pc.single   = PETSC_FALSE;
  PetscCall(PetscMemzero(&f->s, sizeof(f->s)));
  PetscCall(PetscMemzero(&f->product, sizeof(f->product)));
  PetscCall(PetscFree(f->graph.arrays));
  PetscCall(PetscMemzero(&f->graph.made, sizeof(f->graph.made)));
  f->graph.narrays = 0;
  f->ready = f->run.usegraph = f->run.usewhole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The state in the backend that holds all vectors, x and work vectors that are like the first one; without one in the
  host's. The state of the solve before is kept where it fits. Scalars stay on the device (ondevice) on one rank, where
  the backend can wait for its posts
*/
static PetscErrorCode KSPFusedSetBackend_Private(KSP ksp)
{
  KSPFused                 *f = (KSPFused *)ksp->data;
  const SpikeKrylovKernels *k;
  PetscBool                 ondevice;
  PetscMemType              memtype[2];

  PetscFunctionBegin;
  PetscCall(SpikeVecGetMemType(ksp->vec_sol, &memtype[0]));
  PetscCall(SpikeVecGetMemType(ksp->work[0], &memtype[1]));
  k = SpikeKrylovKernelsFind(memtype[0]);
  if (SpikeKrylovKernelsFind(memtype[1]) != k) k = NULL;
  f->basis.usevec = (PetscBool)(f->method->basis && (f->options.petsc || !k || f->basis.ncolumns > k->maxcolumns));
  if (!k || f->basis.usevec) k = SpikeKrylovKernelsFind(PETSC_MEMTYPE_HOST);
  ondevice = (PetscBool)(k->wait && f->size == 1);
  if (!f->ready || f->s.k != k || f->s.ondevice != ondevice) {
    PetscCall(KSPFusedDestroyState(f));
    f->s.k        = k;
    f->s.ondevice = ondevice;
    PetscCall((*k->create)(&f->s));
    f->ready = PETSC_TRUE;
  }
  if (f->method->basis && f->s.ncolumns != f->basis.ncolumns) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall((*f->s.k->basiscreate)(&f->s, f->basis.ncolumns, f->basis.nsmall));
  }
  PetscCall(PetscStrncpy(f->info.backend, f->basis.usevec ? "petsc" : k->name, sizeof(f->info.backend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products of a matrix that lends its diagonals, its blocks or its stencil: nothing is copied. New values are in the
  same memory, or the shape is another one
*/
static PetscErrorCode KSPFusedBorrow_Private(KSPFused *f, PetscObjectId id, const SpikeEnqueue *e)
{
  PetscFunctionBegin;
  if (f->product.mat != id || !f->product.borrowed || f->product.nonzero != e->shape || !f->product.copy) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall(KSPFusedDestroyCopy(f));
    if (e->stencil) PetscCall((*f->s.k->borrowstencil)(&f->s, e->stencil, &e->product, &f->product.copy));
    else if (e->product.block) PetscCall((*f->s.k->borrowblocks)(&f->s, &e->product, &f->product.copy));
    else PetscCall((*f->s.k->borrow)(&f->s, &e->product, &f->product.copy));
  }
  f->product.nonzero = e->shape;
  f->product.values  = e->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend's copy of A: made for another A or pattern, filled for other values */
static PetscErrorCode KSPFusedCopy_Private(KSPFused *f, Mat A, PetscObjectId id)
{
  SpikeKrylovCSR   csr;
  SpikeCSR         piece;
  PetscObjectState nonzero, values;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(A, &nonzero));
  PetscCall(PetscObjectStateGet((PetscObject)A, &values));
  if (f->product.mat != id || f->product.borrowed || f->product.nonzero != nonzero ||
      f->product.spmv != f->options.spmv) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall(KSPFusedDestroyCopy(f));
    PetscCall(KSPFusedGetCSR(A, f->s.k->memtype, &csr, &piece));
    if (csr.nz) PetscCall((*f->s.k->copy)(&f->s, &csr, f->options.spmv, &f->product.copy));
    PetscCall(KSPFusedRestoreCSR(A, f->s.k->memtype, &piece));
  } else if (f->product.values != values && f->product.copy) {
    PetscCall(KSPFusedGetCSR(A, f->s.k->memtype, &csr, &piece));
    PetscCall((*f->s.k->refill)(&f->s, &csr, f->product.copy));
    PetscCall(KSPFusedRestoreCSR(A, f->s.k->memtype, &piece));
  }
  f->product.nonzero = nonzero;
  f->product.values  = values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A makes its product on the stream of the method, on one rank, from raw pointers. Graphs of before call it with what it
  had in memory then
*/
static PetscErrorCode KSPFusedSetEnqueued_Private(KSPFused *f, PetscObjectId id, const SpikeEnqueue *e)
{
  const PetscBool same = (PetscBool)(f->product.enqueue.run == e->run && f->product.mat == id &&
                                     f->product.enqueue.shape == e->shape);

  PetscFunctionBegin;
  if (!same) PetscCall(KSPFusedDestroyGraphs(f));
  PetscCall(KSPFusedDestroyCopy(f));
  f->product.enqueue  = *e;
  f->product.mat      = id;
  f->product.borrowed = PETSC_FALSE;
  f->product.nonzero  = -1; /* of no copy */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Who makes the products of this solve: a loan of A, a copy of A or of its parts, A itself on the stream of the method,
  or MatMult()
*/
static PetscErrorCode KSPFusedSetProduct_Private(KSP ksp)
{
  KSPFused              *f    = (KSPFused *)ksp->data;
  const KSPFusedSpMVType spmv = f->options.spmv;
  Mat                    A;
  SpikeEnqueue           e, enqueued;
  PetscObjectId          id;
  PetscBool              known = PETSC_FALSE, able, copies, lent;

  PetscFunctionBegin;
  f->product.own    = PETSC_FALSE;
  f->product.narrow = f->product.rounds = PETSC_FALSE;
  enqueued                              = f->product.enqueue;
  f->product.enqueue.run                = NULL;
  if (spmv == KSP_FUSED_SPMV_PETSC || ksp->transpose_solve) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  able = (PetscBool)(f->s.k->copy && !f->basis.usevec);
  PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &able));
  if (!able) PetscFunctionReturn(PETSC_SUCCESS);
  copies = (PetscBool)(spmv != KSP_FUSED_SPMV_STENCIL && spmv != KSP_FUSED_SPMV_BLOCKS);
  if (f->size > 1 && copies) PetscCall(KSPFusedRanksKnow(ksp, A, &known));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(KSPFusedGetProduct(A, f->s.k->memtype, &e));
  if (!f->s.k->borrow || (spmv != KSP_FUSED_SPMV_AUTO && spmv != KSP_FUSED_SPMV_DIA)) e.product.dia = NULL;
  if (!f->s.k->borrowstencil || (spmv != KSP_FUSED_SPMV_AUTO && spmv != KSP_FUSED_SPMV_STENCIL)) e.stencil = NULL;
  if (!f->s.k->borrowblocks || (spmv != KSP_FUSED_SPMV_AUTO && spmv != KSP_FUSED_SPMV_BLOCKS)) e.product.block = NULL;
  lent = (PetscBool)(e.product.dia || e.product.block || e.stencil);
  if (!lent && f->size == 1 && copies) PetscCall(KSPFusedIsKnown(A, f->s.k->memtype, &known));
  if (!lent && !known) {
    f->product.enqueue = enqueued; /* of the solve before */
    if (e.run && e.capturable && f->size == 1 && e.memtype == f->s.k->memtype && spmv == KSP_FUSED_SPMV_AUTO)
      PetscCall(KSPFusedSetEnqueued_Private(f, id, &e));
    else f->product.enqueue.run = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (lent) PetscCall(KSPFusedBorrow_Private(f, id, &e));
  else if (f->size > 1) PetscCall(KSPFusedRanksCopy(ksp, A, id));
  else PetscCall(KSPFusedCopy_Private(f, A, id));
  f->product.mat      = id;
  f->product.spmv     = spmv;
  f->product.borrowed = lent;
  f->product.own      = (PetscBool)(f->product.copy != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Backend, form and product of this solve */
PetscErrorCode KSPFusedSetForm(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscBool varies;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &f->size));
  PetscCall(PetscMemzero(&f->info, sizeof(f->info)));
  f->info.truenorm = f->info.unpreconditioned = -1.0;
  f->info.unit                                = f->run.unit;
  PetscCall(KSPFusedSetBackend_Private(ksp));
  if (ksp->lagnorm)
    PetscCall(PetscInfo(ksp, "KSPSetLagNorm() changes nothing: the norm of an iteration is summed with its inner "
                             "products, and belongs to its solution\n"));
  PetscCall(KSPFusedIsIdentity(ksp, &f->pc.identity));
  PetscCall(KSPFusedMayVary(ksp, &varies));
  f->pc.flexible = (PetscBool)(ksp->pc_side == PC_RIGHT && !f->pc.identity &&
                               (f->options.flexible == PETSC_BOOL3_TRUE ||
                                (f->options.flexible == PETSC_BOOL3_UNKNOWN && varies)));
  f->run.merged  = (PetscBool)(f->options.reductions == KSP_FUSED_REDUCTIONS_MERGED && !f->options.replacement);
  PetscCall(KSPFusedSetProduct_Private(ksp));
  /* A backend may decline what is lent on one rank, as where that has no rows: MatMult() is collective */
  PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &f->product.own));
  f->info.copy    = (PetscBool)(f->product.own && !f->product.borrowed);
  f->info.product = f->product.own ? ((const SpikeKrylovCopy *)f->product.copy)->form : KSP_FUSED_SPMV_PETSC;
  f->run.carried = f->pc.scaled = f->run.lags = f->run.lagging = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
