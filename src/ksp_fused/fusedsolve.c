/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsolve.c: the loop of the fused methods: posts, restarts, the true residual */
#include "fused.h"
#include <petsc/private/pcimpl.h>
#include <petsc/private/logimpl.h>

/* Where a solve is */
typedef struct {
  PetscInt  launched; /* iterations launched and not yet reported                  */
  PetscInt  ahead;    /* how many more than the one that the host waits for       */
  PetscInt  started;  /* iteration of the last start                               */
  PetscReal truth;    /* true residual norm at the last start that Verify made    */
  PetscReal rate;     /* by what the last iteration multiplied the norm            */
  PetscBool solution; /* x is the solution, not the correction                     */
} KSPFusedProgress;

/*
  Post number k, counted from 0 at each solve, lies in ring[k % 4]: the host reads each before the fourth after it can
  be made
*/
PetscErrorCode KSPFusedPost(KSPFused *f)
{
  SpikeKrylovPost *post = &f->ring[f->posted++ % 4];

  PetscFunctionBegin;
  post->it     = f->s.scalars->it;
  post->norm   = f->s.scalars->norm;
  post->reason = f->s.scalars->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedWait_Private(KSPFused *f, SpikeKrylovPost *post)
{
  PetscFunctionBegin;
  if (f->s.ondevice) PetscCall((*f->s.k->wait)(&f->s, post));
  else {
    PetscAssert(f->nread < f->posted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No step has posted");
    *post = f->ring[f->nread % 4];
  }
  f->nread++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As KSPCheckNorm() does: a preconditioner may have failed, on some ranks */
static PetscErrorCode KSPFusedNotFinite_Private(KSP ksp)
{
  PCFailedReason pcreason;

  PetscFunctionBegin;
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "KSPSolve has not converged due to infinity or NaN");
  PetscCall(PCReduceFailedReason(ksp->pc));
  PetscCall(PCGetFailedReason(ksp->pc, &pcreason));
  PetscCall(VecFlag(ksp->vec_sol, pcreason));
  ksp->reason = pcreason ? KSP_DIVERGED_PC_FAILED : KSP_DIVERGED_NANORINF;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A reason that a step has set, beside RESTART */
static PetscErrorCode KSPFusedSetReason_Private(KSP ksp, int reason)
{
  PetscFunctionBegin;
  if (reason == KSP_DIVERGED_NANORINF) PetscCall(KSPFusedNotFinite_Private(ksp));
  else if (reason == KSP_DIVERGED_INDEFINITE_MAT && ksp->converged_neg_curve) ksp->reason = KSP_CONVERGED_NEG_CURVE;
  else ksp->reason = (KSPConvergedReason)reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that was made for the key, and the key */
PetscErrorCode KSPFusedDestroyState_Private(KSPFused *f)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedDestroyGraphs(f));
  if (f->copy) PetscCall((*f->s.k->destroycopy)(&f->s, &f->copy));
  if (f->s.k) PetscCall((*f->s.k->destroy)(&f->s));
  PetscCall(VecDestroy(&f->store));
  PetscCall(PetscMemzero(&f->s, sizeof(f->s)));
  PetscCall(PetscFree(f->key.arrays));
  PetscCall(PetscMemzero(&f->key, sizeof(f->key)));
  f->usecopy = f->usegraph = f->usewhole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state in the backend that holds the vectors, if all do; it is kept while the key fits */
static PetscErrorCode KSPFusedSetBackend_Private(KSP ksp)
{
  KSPFused                 *f = (KSPFused *)ksp->data;
  const SpikeKrylovKernels *k = NULL;
  KSPFusedKey               key;
  Vec                       x;
  PetscMemType              memtype;
  const PetscScalar        *array;

  PetscFunctionBegin;
  for (PetscInt i = -1; i < ksp->nwork; i++) {
    const SpikeKrylovKernels *ki;

    x = i < 0 ? ksp->vec_sol : ksp->work[i];
    PetscCall(VecGetArrayReadAndMemType(x, &array, &memtype));
    PetscCall(VecRestoreArrayReadAndMemType(x, &array));
    ki = SpikeKrylovKernelsFind(memtype);
    k  = i < 0 || ki == k ? ki : NULL;
  }
  f->usevec    = (PetscBool)(f->method->blocks && (f->petsc || !k || f->ncolumns > k->maxcolumns));
  key.kernels  = k && !f->usevec ? k : &SpikeKrylovKernels_Host;
  key.ondevice = (PetscBool)(key.kernels != &SpikeKrylovKernels_Host && f->size == 1);
  if (f->key.kernels != key.kernels || f->key.ondevice != key.ondevice) {
    PetscCall(KSPFusedDestroyState_Private(f));
    f->s.k        = key.kernels;
    f->s.ondevice = key.ondevice;
    PetscCall((*f->s.k->create)(&f->s));
    f->key.kernels  = key.kernels;
    f->key.ondevice = key.ondevice;
  }
  if (f->method->blocks && f->s.ncolumns != f->ncolumns) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall((*f->s.k->basiscreate)(&f->s, f->ncolumns, f->nsmall));
  }
  PetscCall(PetscStrncpy(f->info.backend, f->usevec ? "petsc" : key.kernels->name, sizeof(f->info.backend)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products of a matrix that is stored by diagonals, or of a stencil: nothing is copied. New values lie in the same
  memory, or are another shape
*/
static PetscErrorCode KSPFusedBorrow_Private(KSPFused *f, PetscObjectId id, const SpikeEnqueue *e)
{
  PetscFunctionBegin;
  if (f->key.mat != id || !f->key.borrowed || f->key.nonzero != e->shape || !f->copy) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall((*f->s.k->destroycopy)(&f->s, &f->copy));
    if (e->stencil) PetscCall((*f->s.k->borrowstencil)(&f->s, e->stencil, &e->product, &f->copy));
    else PetscCall((*f->s.k->borrow)(&f->s, &e->product, &f->copy));
  }
  f->key.nonzero = e->shape;
  f->key.values  = e->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend's copy of A: made when A or its pattern is another one, filled when its values are */
static PetscErrorCode KSPFusedCopy_Private(KSPFused *f, Mat A, PetscObjectId id)
{
  SpikeKrylovCSR   csr;
  SpikeCSR         piece;
  PetscObjectState nonzero, values;

  PetscFunctionBegin;
  PetscCall(MatGetNonzeroState(A, &nonzero));
  PetscCall(PetscObjectStateGet((PetscObject)A, &values));
  if (f->key.mat != id || f->key.borrowed || f->key.nonzero != nonzero || f->key.spmv != f->spmv) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall((*f->s.k->destroycopy)(&f->s, &f->copy));
    PetscCall(KSPFusedGetCSR(A, f->s.k->memtype, &csr, &piece));
    PetscCall((*f->s.k->copy)(&f->s, &csr, f->spmv, &f->copy));
    PetscCall(KSPFusedRestoreCSR(A, f->s.k->memtype, &piece));
  } else if (f->key.values != values && f->copy) {
    PetscCall(KSPFusedGetCSR(A, f->s.k->memtype, &csr, &piece));
    PetscCall((*f->s.k->refill)(&f->s, &csr, f->copy));
    PetscCall(KSPFusedRestoreCSR(A, f->s.k->memtype, &piece));
  }
  f->key.nonzero = nonzero;
  f->key.values  = values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whose products this solve has */
static PetscErrorCode KSPFusedSetProduct_Private(KSP ksp)
{
  KSPFused     *f = (KSPFused *)ksp->data;
  Mat           A;
  SpikeEnqueue  e;
  PetscObjectId id;
  PetscBool     known = PETSC_FALSE, lent;

  PetscFunctionBegin;
  f->usecopy = PETSC_FALSE;
  if (f->spmv == KSP_FUSED_SPMV_PETSC || !f->s.k->copy || f->usevec || ksp->transpose_solve)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(KSPFusedGetProduct(A, f->s.k->memtype, &e));
  if (!f->s.k->borrow || f->spmv == KSP_FUSED_SPMV_SELL) e.product.dia = NULL;
  if (!f->s.k->borrowstencil || f->spmv != KSP_FUSED_SPMV_AUTO) e.stencil = NULL;
  lent = (PetscBool)(e.product.dia || e.stencil);
  if (!lent && f->size == 1) PetscCall(KSPFusedIsKnown(A, f->s.k->memtype, &known));
  if (!lent && !known) PetscFunctionReturn(PETSC_SUCCESS);
  if (lent) PetscCall(KSPFusedBorrow_Private(f, id, &e));
  else PetscCall(KSPFusedCopy_Private(f, A, id));
  f->key.mat      = id;
  f->key.spmv     = f->spmv;
  f->key.borrowed = lent;
  f->key.stencil  = (PetscBool)(e.stencil != NULL);
  f->usecopy      = (PetscBool)(f->copy != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where all that an iteration launches is ours, iterations but the first after a start are graphs. They hold for these
  vectors and this form: what they were made for is compared at the start of each solve.
*/
static PetscErrorCode KSPFusedSetGraph_Private(KSP ksp)
{
  KSPFused          *f = (KSPFused *)ksp->data;
  const PetscScalar *array, **arrays;
  const PetscInt     n = ksp->nwork + 1;
  PetscMemType       memtype;
  KSPFusedGraphKey   pc;

  PetscFunctionBegin;
  f->usegraph = (PetscBool)(f->graphs && f->s.ondevice && f->s.k->capture && f->usecopy &&
                            (f->identity || f->diagonal || (f->pc.run && f->pc.capturable)) && !f->replacement &&
                            !PetscLogGpuTimeFlag);
  if (!f->usegraph) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &arrays));
  for (PetscInt i = 0; i < n; i++) {
    Vec x = i ? ksp->work[i - 1] : ksp->vec_sol;

    PetscCall(VecGetArrayReadAndMemType(x, &array, &memtype));
    arrays[i] = array;
    PetscCall(VecRestoreArrayReadAndMemType(x, &array));
  }
  PetscCall(PetscMemzero(&pc, sizeof(pc)));
  PetscCall(PetscObjectGetId((PetscObject)ksp->pc, &pc.id));
  pc.shape     = f->pc.shape;
  pc.side      = ksp->pc_side;
  pc.identity  = f->identity;
  pc.symmetric = f->symmetric;
  pc.flexible  = f->flexible;
  pc.scaled    = f->scaled;
  pc.lags      = f->lags;
  if (f->diagonal) {
    PetscCall(VecGetArrayReadAndMemType(f->diagonal, &array, &memtype));
    pc.diagonal = array;
    PetscCall(VecRestoreArrayReadAndMemType(f->diagonal, &array));
  }
  if (f->key.narrays != n || memcmp(arrays, f->key.arrays, n * sizeof(*arrays)) || f->key.merged != f->merged ||
      f->key.variant != f->variant || memcmp(&pc, &f->key.pc, sizeof(pc)))
    PetscCall(KSPFusedDestroyGraphs(f));
  PetscCall(PetscFree(f->key.arrays));
  f->key.arrays  = arrays;
  f->key.narrays = n;
  f->key.merged  = f->merged;
  f->key.variant = f->variant;
  f->key.pc      = pc;
  if (!f->graph) PetscCall(PetscCalloc1(f->period, &f->graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w <- B x where that needs no application of B, once */
static PetscErrorCode KSPFusedUnwind_Private(KSP ksp, Vec w, PetscBool *done)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (f->method->unwind && f->since == 1 && f->fromzero) PetscCall((*f->method->unwind)(ksp, w, done));
  f->fromzero = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  r <- the true residual of the iterate, preconditioned where the method's is. Where x is a correction the solution,
  guess + B x, is left in scratch[0]; with left preconditioning b - A x is, in scratch[1].
*/
PetscErrorCode KSPFusedTrueResidual(KSP ksp, Vec r)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Vec       x = ksp->vec_sol, w = ksp->work[f->method->scratch[0]], t = ksp->work[f->method->scratch[1]];
  Mat       A;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(KSPFusedSettle(ksp));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedUnwind_Private(ksp, w, &done));
    if (!done) PetscCall(KSP_PCApply(ksp, x, w));
    if (f->useguess) PetscCall(VecAXPY(w, 1.0, f->guess));
    PetscCall(KSP_MatMult(ksp, A, w, t));
    PetscCall(VecWAXPY(r, -1.0, t, ksp->vec_rhs));
  } else if (ksp->pc_side == PC_LEFT && f->method->residual_preconditioned) {
    PetscCall(KSP_MatMult(ksp, A, x, t));
    PetscCall(VecAYPX(t, -1.0, ksp->vec_rhs));
    PetscCall(KSP_PCApply(ksp, t, r));
  } else {
    PetscCall(KSP_MatMult(ksp, A, x, r));
    PetscCall(VecAYPX(r, -1.0, ksp->vec_rhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The recurrences from the residual in work[0] */
static PetscErrorCode KSPFusedStart_Private(KSP ksp, SpikeKrylovPost *post)
{
  KSPFused           *f = (KSPFused *)ksp->data;
  SpikeKrylovScalars *s = f->s.scalars;

  PetscFunctionBegin;
  s->it       = ksp->its;
  s->reason   = 0;
  s->t.norm   = (int)ksp->normtype;
  f->since    = 0;
  f->fromzero = PETSC_FALSE;
  PetscCall((*f->s.k->push)(&f->s, PETSC_FALSE));
  PetscCall((*f->method->start)(ksp));
  PetscCall(KSPFusedWait_Private(f, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One post through history, monitors and the test of the KSP */
static PetscErrorCode KSPFusedReport_Private(KSP ksp, const SpikeKrylovPost *post)
{
  const PetscReal norm = ksp->normtype == KSP_NORM_NONE ? 0.0 : post->norm;

  PetscFunctionBegin;
  PetscCall(PetscObjectSAWsTakeAccess((PetscObject)ksp));
  ksp->its   = post->it;
  ksp->rnorm = norm;
  PetscCall(PetscObjectSAWsGrantAccess((PetscObject)ksp));
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, post->it, norm));
  PetscCall((*ksp->converged)(ksp, post->it, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x becomes the guess, and the correction 0 */
static PetscErrorCode KSPFusedSetGuess_Private(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (!f->guess) PetscCall(VecDuplicate(ksp->vec_sol, &f->guess));
  PetscCall(VecCopy(ksp->vec_sol, f->guess));
  PetscCall(VecSet(ksp->vec_sol, 0.0));
  f->useguess = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the true residual is what the test took it for. Where it is not: back to iterating from it, or a negative
  reason
*/
static PetscErrorCode KSPFusedVerify_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused                *f      = (KSPFused *)ksp->data;
  const KSPConvergedReason reason = ksp->reason;
  /* the norm is that of work[0], and no start is needed to know it */
  const PetscBool two  = f->method->residual_preconditioned;
  SpikeKrylovPost post = {0, 0.0, 0};

  PetscFunctionBegin;
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall(
    VecNorm(ksp->work[ksp->pc_side == PC_LEFT && two ? f->method->scratch[1] : 0], NORM_2, &f->info.unpreconditioned));
  if (KSPFusedIsCorrection(ksp)) {
    PetscCall(VecCopy(ksp->work[f->method->scratch[0]], ksp->vec_sol));
    p->solution = PETSC_TRUE;
  }
  if (two && ksp->pc_side == PC_RIGHT) post.norm = f->info.unpreconditioned;
  else if (two) PetscCall(VecNorm(ksp->work[0], NORM_2, &post.norm));
  else PetscCall(KSPFusedStart_Private(ksp, &post));
  f->info.truenorm = post.norm;
  if (post.norm <= 10.0 * PetscMax(ksp->ttol, ksp->rnorm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "Residual norm is %g by recurrence and %g in truth, the tolerance %g\n", (double)ksp->rnorm,
                      (double)post.norm, (double)ksp->ttol));
  if (post.norm <= 0.5 * p->truth && ksp->its < ksp->max_it) {
    p->truth    = post.norm;
    ksp->reason = KSP_CONVERGED_ITERATING;
    f->info.restarts++;
    if (two) PetscCall(KSPFusedStart_Private(ksp, &post));
    if (KSPFusedIsCorrection(ksp)) {
      PetscCall(KSPFusedSetGuess_Private(ksp));
      p->solution = PETSC_FALSE;
      f->fromzero = PETSC_TRUE;
    }
    if (post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));
  } else {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
               "KSPSolve has not converged: %s by recurrence, but the true residual norm is %g, the tolerance %g",
               KSPConvergedReasons[reason], (double)post.norm, (double)ksp->ttol);
    ksp->rnorm  = post.norm;
    ksp->reason = KSP_DIVERGED_BREAKDOWN;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A breakdown: once more from the true residual if any iteration was completed since the last start */
static PetscErrorCode KSPFusedRestart_Private(KSP ksp, PetscInt *started)
{
  KSPFused       *f = (KSPFused *)ksp->data;
  SpikeKrylovPost post;

  PetscFunctionBegin;
  if (ksp->its > *started) f->renewals = 0;
  if (ksp->its == *started && !(f->method->renew && !f->renewals)) {
    PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
               "KSPSolve breakdown in iteration %" PetscInt_FMT ", and no new start helps", ksp->its + 1);
    PetscCall(PetscInfo(ksp, "Breakdown in iteration %" PetscInt_FMT ", and no new start helps\n", ksp->its + 1));
    ksp->reason = KSP_DIVERGED_BREAKDOWN;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(
    PetscInfo(ksp, "Breakdown after %" PetscInt_FMT " iterations: a new start from the true residual\n", ksp->its));
  *started = ksp->its;
  f->info.restarts++;
  if (f->method->renew) {
    f->renewals++;
    PetscCall((*f->method->renew)(ksp));
  }
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall(KSPFusedStart_Private(ksp, &post));
  if (PetscIsInfOrNanReal(post.norm)) PetscCall(KSPFusedNotFinite_Private(ksp));
  else if (post.norm == 0.0) ksp->reason = KSP_CONVERGED_ATOL;
  else if (post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rest of iteration `it`, counted from 1 */
static PetscErrorCode KSPFusedTail_Private(KSP ksp, PetscInt it)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  f->more = (PetscBool)(it < ksp->max_it);
  PetscCall((*f->method->tail)(ksp));
  f->since++;
  f->info.launched++;
  if (f->replacement && f->more && it % f->replacement == 0) {
    PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
    PetscCall((*f->method->replace)(ksp));
    f->info.replacements++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph has no states: norms of vectors that are kept, and their copies on the host, are those of before */
static PetscErrorCode KSPFusedTouch_Private(KSP ksp)
{
  PetscScalar *array;
  PetscMemType memtype;

  PetscFunctionBegin;
  for (PetscInt i = -1; i < ksp->nwork; i++) {
    Vec x = i < 0 ? ksp->vec_sol : ksp->work[i];

    PetscCall(VecGetArrayAndMemType(x, &array, &memtype));
    PetscCall(VecRestoreArrayAndMemType(x, &array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iteration `it` from the graph, which is made where there is none; not launched where that fails, and then not tried
  again in this solve
*/
static PetscErrorCode KSPFusedReplay_Private(KSP ksp, PetscInt it)
{
  KSPFused *f     = (KSPFused *)ksp->data;
  void    **graph = &f->graph[f->since % f->period], *begun;

  PetscFunctionBegin;
  if (!*graph) {
    PetscCall((*f->s.k->capture)(&f->s, PETSC_TRUE, &begun));
    f->more = (PetscBool)(it < ksp->max_it);
    PetscCall((*f->method->head)(ksp));
    PetscCall((*f->method->tail)(ksp));
    PetscCall((*f->s.k->capture)(&f->s, PETSC_FALSE, graph));
    if (!*graph) {
      PetscCall(PetscInfo(ksp, "The iteration cannot be captured in a graph\n"));
      f->usegraph = PETSC_FALSE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall((*f->s.k->replay)(&f->s, *graph));
  f->lagging = f->lags;
  if (f->info.lockstep) PetscCall(KSPFusedTouch_Private(ksp)); /* else nobody looks before the end */
  f->since++;
  f->info.launched++;
  f->info.replayed++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  At most `its` iterations in one launch, after which p and v are where they were, or the solve ends; 0 where the
  backend does not want it, and then not tried again in this solve
*/
static PetscErrorCode KSPFusedIterate_Private(KSP ksp, PetscInt its, PetscInt *launched)
{
  KSPFused             *f = (KSPFused *)ksp->data;
  SpikeKrylovIterations iterations;
  PetscScalar          *array;
  PetscMemType          memtype;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&iterations, sizeof(iterations)));
  PetscCall(VecGetLocalSize(ksp->vec_sol, &iterations.n));
  iterations.method    = f->method->whole;
  iterations.right     = (PetscBool)(ksp->pc_side == PC_RIGHT);
  iterations.symmetric = f->symmetric;
  iterations.always    = (PetscBool)(f->persistent == KSP_FUSED_PERSISTENT_ON);
  for (PetscInt i = 0; i <= ksp->nwork; i++) {
    Vec x = i ? ksp->work[i - 1] : ksp->vec_sol;

    PetscCall(VecGetArrayAndMemType(x, &array, &memtype));
    iterations.v[i] = array;
    PetscCall(VecRestoreArrayAndMemType(x, &array));
    PetscCheck(PetscMemTypeCUDA(memtype), PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
               "A work vector has left the device during a solve");
  }
  if (f->diagonal) {
    const PetscScalar *diagonal;

    PetscCall(VecGetArrayReadAndMemType(f->diagonal, &diagonal, &memtype));
    iterations.diagonal = diagonal;
    PetscCall(VecRestoreArrayReadAndMemType(f->diagonal, &diagonal));
  }
  PetscCall((*f->s.k->iterate)(&f->s, f->copy, &iterations, its, launched));
  f->since += *launched;
  f->info.launched += *launched;
  if (!*launched) f->usewhole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a post means. Sets a reason, or returns with restarted when the recurrences begin anew: nothing that was launched
  counts then. solution: x is the solution, not the correction of right preconditioning.
*/
static PetscErrorCode KSPFusedHandle_Private(KSP ksp, const SpikeKrylovPost *post, KSPFusedProgress *p)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  p->launched--;
  if (post->it > ksp->its) {
    if (f->usewhole) f->info.persistent++;
    p->rate = ksp->rnorm > 0.0 ? PetscMin(1.0, post->norm / ksp->rnorm) : 1.0;
    PetscCall(KSPFusedReport_Private(ksp, post));
  }
  if (!ksp->reason && post->reason) {
    if (post->reason == SPIKE_KRYLOV_RESTART) {
      PetscCall(KSPFusedRestart_Private(ksp, &p->started));
      p->launched = 0;
    } else PetscCall(KSPFusedSetReason_Private(ksp, post->reason));
  }
  PetscCheck(!ksp->reason || !p->launched || post->reason, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
             "The host found %s where the device did not", KSPConvergedReasons[ksp->reason]);
  if ((ksp->reason == KSP_CONVERGED_RTOL || ksp->reason == KSP_CONVERGED_ATOL) && f->checktrue &&
      ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE) {
    PetscCall(KSPFusedVerify_Private(ksp, p));
    if (!ksp->reason) {
      p->launched = 0;
      p->started  = ksp->its;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Backend, form and product of this solve */
PetscErrorCode KSPFusedSetForm(KSP ksp)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscBool varies;

  PetscFunctionBegin;
  f->running = PETSC_FALSE; /* where an error has ended a solve for columns */
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &f->size));
  PetscCall(PetscMemzero(&f->info, sizeof(f->info)));
  f->info.truenorm = f->info.unpreconditioned = -1.0;
  PetscCall(KSPFusedSetBackend_Private(ksp));
  PetscCall(KSPFusedIsIdentity(ksp, &f->identity));
  PetscCall(KSPFusedMayVary(ksp, &varies));
  f->flexible = (PetscBool)(ksp->pc_side == PC_RIGHT && !f->identity &&
                            (f->wantflexible == PETSC_BOOL3_TRUE ||
                             (f->wantflexible == PETSC_BOOL3_UNKNOWN && varies)));
  f->merged   = (PetscBool)(f->reductions == KSP_FUSED_REDUCTIONS_MERGED && !f->replacement);
  PetscCall(KSPFusedSetProduct_Private(ksp));
  f->info.copy    = (PetscBool)(f->usecopy && !f->key.borrowed);
  f->info.product = f->usecopy ? ((const SpikeKrylovCopy *)f->copy)->form : KSP_FUSED_SPMV_PETSC;
  f->carried = f->scaled = f->lags = f->lagging = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residual, backend, form and test of this solve; iteration 0 */
static PetscErrorCode KSPFusedBegin_Private(KSP ksp, KSPFusedProgress *p)
{
  KSPFused       *f         = (KSPFused *)ksp->data;
  const PetscBool isdefault = (PetscBool)(ksp->converged == KSPConvergedDefault),
                  skip      = (PetscBool)(ksp->converged == KSPConvergedSkip);
  Vec                 x = ksp->vec_sol, r = ksp->work[0];
  SpikeKrylovScalars *s;
  SpikeKrylovPost     post;
  PetscBool           never;

  PetscFunctionBegin;
  PetscCall(KSPFusedSetForm(ksp));
  f->lags = (PetscBool)(f->method->lags && !f->merged && !f->lockstep && !ksp->numbermonitors && (isdefault || skip));
  PetscCall(KSPFusedKnowPC(ksp));
  PetscCall(KSPFusedNeverWaits(ksp, &never));
  p->ahead         = f->s.ondevice && never && !f->lockstep && !ksp->numbermonitors && (isdefault || skip) ? 1 : 0;
  f->info.lockstep = (PetscBool)!p->ahead;
  PetscCall(KSPFusedSetGraph_Private(ksp));
  f->usewhole = (PetscBool)(f->persistent != KSP_FUSED_PERSISTENT_OFF && f->method->whole && f->s.k->iterate &&
                            p->ahead && f->usecopy && (f->identity || f->diagonal) && !f->merged && !f->replacement &&
                            !PetscLogGpuTimeFlag);
  f->since    = 0;
  f->renewals = 0;
  f->useguess = PETSC_FALSE;
  f->nread = f->posted = 0;
  s                    = f->s.scalars;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->f.symmetric = f->symmetric ? 1.0 : 0.0;
  s->f.scale     = f->scaled ? f->scale : 1.0;
  ksp->its       = 0;

  if (f->method->residual_preconditioned)
    PetscCall(
      KSPInitialResidual(ksp, x, ksp->work[f->method->scratch[0]], ksp->work[f->method->scratch[1]], r, ksp->vec_rhs));
  else {
    if (!ksp->guess_zero) PetscCall(KSPFusedTrueResidual(ksp, r));
    else PetscCall(VecCopy(ksp->vec_rhs, r));
    PetscCall(VecFlag(r, ksp->reason == KSP_DIVERGED_PC_FAILED));
  }
  if (KSPFusedIsCorrection(ksp) && !ksp->guess_zero) PetscCall(KSPFusedSetGuess_Private(ksp));
  PetscCall(KSPFusedStart_Private(ksp, &post));
  f->fromzero = KSPFusedIsCorrection(ksp);
  ksp->rnorm  = post.norm;
  if (PetscIsInfOrNanReal(post.norm)) {
    PetscCall(KSPFusedNotFinite_Private(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(KSPFusedReport_Private(ksp, &post));
  if (!ksp->reason && post.norm == 0.0) ksp->reason = KSP_CONVERGED_ATOL; /* where no test looks at norms */
  if (!ksp->reason && post.reason) PetscCall(KSPFusedSetReason_Private(ksp, post.reason));

  s->t.test = isdefault ? SPIKE_KRYLOV_TEST_DEFAULT : (skip ? SPIKE_KRYLOV_TEST_SKIP : SPIKE_KRYLOV_TEST_HOST);
  if (isdefault) {
    s->t.ttol    = ksp->ttol;
    s->t.abstol  = ksp->abstol;
    s->t.dtol    = ksp->divtol * ksp->rnorm0;
    s->t.minit   = ksp->min_it;
    s->t.chknorm = ksp->chknorm;
  }
  PetscCall((*f->s.k->push)(&f->s, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How many iterations more than the one that the host waits for it launches: none where that may be the last, the first
  of all, or one that reaches the tolerance at the rate of that before it
*/
static PetscInt KSPFusedAhead_Private(KSP ksp, const KSPFusedProgress *p)
{
  const PetscBool tested = (PetscBool)(ksp->converged == KSPConvergedDefault && ksp->normtype != KSP_NORM_NONE);

  return p->ahead && !(tested && (!ksp->its || p->rate * ksp->rnorm <= ksp->ttol)) ? p->ahead : 0;
}

PetscErrorCode KSPSolve_Fused(KSP ksp)
{
  KSPFused        *f = (KSPFused *)ksp->data;
  KSPFusedProgress p = {0, 0, 0, PETSC_MAX_REAL, 1.0, PETSC_FALSE};
  SpikeKrylovPost  post;

  PetscFunctionBegin;
  PetscCall(KSPFusedBegin_Private(ksp, &p));
  while (!ksp->reason) {
    while ((p.launched <= KSPFusedAhead_Private(ksp, &p) || f->carried) && ksp->its + p.launched < ksp->max_it) {
      const PetscBool carried = f->carried;

      if (f->usewhole) {
        if (p.launched) break;
        PetscCall(KSPFusedIterate_Private(ksp, ksp->max_it - ksp->its, &p.launched));
        if (p.launched) break;
      }
      if (f->usegraph && f->since >= f->steady) {
        PetscCall(KSPFusedReplay_Private(ksp, ksp->its + p.launched + 1));
        if (f->usegraph) {
          p.launched++;
          continue;
        }
      }
      PetscCall((*f->method->head)(ksp));
      if (carried) { /* the iteration before is known now, before x changes */
        PetscCall(KSPFusedWait_Private(f, &post));
        PetscCall(KSPFusedHandle_Private(ksp, &post, &p));
        if (ksp->reason || !f->since) break;
      }
      PetscCall(KSPFusedTail_Private(ksp, ksp->its + ++p.launched));
    }
    if (ksp->reason || (!p.launched && ksp->its < ksp->max_it)) continue;
    if (!p.launched) {
      ksp->reason = KSP_DIVERGED_ITS;
      break;
    }
    PetscCall(KSPFusedWait_Private(f, &post));
    PetscCall(KSPFusedHandle_Private(ksp, &post, &p));
  }
  PetscCall(KSPFusedSettle(ksp));
  if (KSPFusedIsCorrection(ksp) && !p.solution) {
    Vec       t = ksp->work[f->method->scratch[1]];
    PetscBool done;

    PetscCall(KSPFusedUnwind_Private(ksp, t, &done));
    if (done) PetscCall(VecCopy(t, ksp->vec_sol));
    else PetscCall(KSPUnwindPreconditioner(ksp, ksp->vec_sol, t));
    if (f->useguess) PetscCall(VecAXPY(ksp->vec_sol, 1.0, f->guess));
  }
  f->useguess = PETSC_FALSE;
  if (f->info.replayed) PetscCall(KSPFusedTouch_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
