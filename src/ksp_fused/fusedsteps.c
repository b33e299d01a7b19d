/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsteps.c: the operations of one vector: steps and their reductions, products and preconditioners */
#include "fusedsteps.h"
#include <petsc/private/matimpl.h>
#include "adapters.h"
#include "fusedbasis.h"
#include "fuseddiagonal.h"
#include "fusedstate.h"
#include <petsc/private/pcimpl.h>

/*
  One reduction over all ranks for the sums of a step and of the one that it carries; then the recurrences of both, in
  order
*/
static PetscErrorCode KSPFusedReduce_Private(KSP ksp, SpikeKrylovStep step, PetscBool defer)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  const PetscInt n = SpikeKrylovSteps[step].ndots;
  PetscInt       c = 0;
  PetscScalar    sums[2 * SPIKE_KRYLOV_MAXDOTS];

  PetscFunctionBegin;
  if (SpikeKrylovIdles(step, f->s.scalars)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*f->s.k->sums)(&f->s, step));
  if (defer) {
    PetscCall(PetscArraycpy(f->run.carry, f->s.local, n));
    f->run.carried     = PETSC_TRUE;
    f->run.carriedstep = step;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (f->run.carried) {
    c = SpikeKrylovSteps[f->run.carriedstep].ndots;
    PetscCall(PetscArraycpy(sums, f->run.carry, c));
  }
  PetscCall(PetscArraycpy(sums + c, f->s.local, n));
  if (f->size > 1)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)(c + n), MPIU_SCALAR, MPIU_SUM,
                                PetscObjectComm((PetscObject)ksp)));
  if (f->run.carried) {
    f->run.carried = PETSC_FALSE;
    if (SpikeKrylovRecur(f->run.carriedstep, f->s.scalars, sums)) PetscCall(KSPFusedPost(f));
  }
  if ((!f->s.scalars->reason || step == SPIKE_CG_SETTLE) && SpikeKrylovRecur(step, f->s.scalars, sums + c))
    PetscCall(KSPFusedPost(f));
  PetscCall((*f->s.k->push)(&f->s, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One step on its vectors. With x the backend's copy of A makes y <- A x first, or y <- D A x, where scale is the
  diagonal matrix D, in single precision beside a narrow copy. Each step gets and restores the arrays, because a
  preconditioner in between may work on the other side. A vector that is there twice is read twice. defer: the sums wait
  for the next step with sums, on several ranks.
*/
static PetscErrorCode KSPFusedEnqueue_Private(KSP ksp, SpikeKrylovStep step, PetscBool defer, const Vec vec[],
                                              Vec scale, Vec x, Vec y)
{
  KSPFused                 *f     = (KSPFused *)ksp->data;
  const SpikeKrylovStepInfo none  = {"product", 0, 0, 0, 0, 0.0},
                            *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : &none;
  PetscScalar *v[SPIKE_KRYLOV_MAXVECTORS + 3], *w[SPIKE_KRYLOV_MAXVECTORS + 3];
  Vec          all[SPIKE_KRYLOV_MAXVECTORS + 3];
  unsigned     read = info->read, written = info->written;
  PetscInt     n, count                   = info->nvectors;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    all[k] = vec[k];
    if (x && vec[k] == y) { /* written by the product, read in registers */
      read &= ~(1u << k);
      written |= 1u << k;
    }
  }
  if (x) {
    all[count]     = x;
    all[count + 1] = y;
    read |= 1u << count;
    written |= 1u << (count + 1);
    count += 2;
    if (scale) {
      all[count] = scale;
      read |= 1u << count++;
    }
  }
  PetscCall(VecGetLocalSize(all[0], &n));
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(KSPFusedGetArray(ksp, all[k], (PetscBool)((read >> k) & 1), (PetscBool)((written >> k) & 1), &v[k]));
    w[k] = v[k]; /* giving back clears the pointer */
  }
  if (x)
    PetscCall((*f->s.k->mult)(&f->s, KSPFusedCopyInUse(&f->product), step, scale ? v[info->nvectors + 2] : NULL,
                              v[info->nvectors], v[info->nvectors + 1], v));
  else if (f->pc.single && SpikeKrylovDiagonal(step) >= 0) PetscCall((*f->s.k->singlestep)(&f->s, step, n, v));
  else PetscCall((*f->s.k->step)(&f->s, step, n, v));
  for (PetscInt k = count - 1; k >= 0; k--)
    PetscCall(KSPFusedRestoreArray(ksp, all[k], (PetscBool)((read >> k) & 1), (PetscBool)((written >> k) & 1), &w[k]));
  if (info->ndots && !f->s.ondevice) PetscCall(KSPFusedReduce_Private(ksp, step, (PetscBool)(defer && f->size > 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step */
static PetscErrorCode KSPFusedStep_Vector(KSP ksp, SpikeKrylovStep step, PetscBool defer, const Vec v[])
{
  PetscFunctionBegin;
  PetscCall(KSPFusedEnqueue_Private(ksp, step, defer, v, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x */
static PetscErrorCode KSPFusedMult_Vector(KSP ksp, Vec x, Vec y)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  PetscScalar *xa, *ya;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (f->product.own) PetscCall(KSPFusedEnqueue_Private(ksp, SPIKE_KRYLOV_NSTEPS, PETSC_FALSE, NULL, NULL, x, y));
  else if (f->product.enqueue.run) {
    PetscCall(PetscLogEventBegin(MAT_Mult, A, x, y, 0));
    PetscCall(KSPFusedGetArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &xa));
    PetscCall(KSPFusedGetArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &ya));
    PetscCall(
      (*f->product.enqueue.run)((PetscObject)A, PETSC_FALSE, f->s.k->stream ? (*f->s.k->stream)(&f->s) : NULL, xa, ya));
    PetscCall(KSPFusedRestoreArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &ya));
    PetscCall(KSPFusedRestoreArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &xa));
    PetscCall(PetscLogEventEnd(MAT_Mult, A, x, y, 0));
  } else PetscCall(KSP_MatMult(ksp, A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x and a step that reads y */
static PetscErrorCode KSPFusedMultStep_Vector(KSP ksp, Vec x, Vec y, SpikeKrylovStep step, const Vec v[])
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->product.own) PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, v, NULL, x, y));
  else {
    PetscCall(KSPFusedMult_Vector(ksp, x, y));
    PetscCall(KSPFusedStep_Vector(ksp, step, PETSC_FALSE, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- B x, on the backend's stream where B enqueues its own work, or is a diagonal matrix */
static PetscErrorCode KSPFusedPCApply_Vector(KSP ksp, Vec x, Vec y)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  PetscScalar *xa, *ya, *out;

  PetscFunctionBegin;
  if (f->pc.diagonal) {
    const Vec v[] = {f->pc.diagonal, x, y};

    PetscCall(KSPFusedStep_Vector(ksp, SPIKE_DIAGONAL, PETSC_FALSE, v));
  } else if (f->pc.enqueue.run) {
    PetscCall(PetscLogEventBegin(PC_Apply, ksp->pc, x, y, 0));
    PetscCall(KSPFusedGetArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &xa));
    PetscCall(KSPFusedGetArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &ya));
    out = ya;
    PetscCall((*f->pc.enqueue.run)((PetscObject)ksp->pc, PETSC_FALSE, (*f->s.k->stream)(&f->s), xa, out));
    PetscCall(KSPFusedRestoreArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &ya));
    PetscCall(KSPFusedRestoreArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &xa));
    PetscCall(PetscLogEventEnd(PC_Apply, ksp->pc, x, y, 0));
  } else {
    PetscCall(KSP_PCApply(ksp, x, y));
    PetscCall(KSPFusedRemoveNullSpace(ksp, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- B A x or A B x. A preconditioner that enqueues its own work has no null space to remove */
static PetscErrorCode KSPFusedApply_Vector(KSP ksp, Vec x, Vec y, Vec work)
{
  KSPFused       *f     = (KSPFused *)ksp->data;
  const PetscBool known = (PetscBool)(f->pc.diagonal || f->pc.enqueue.run);

  PetscFunctionBegin;
  if (f->pc.identity) PetscCall(KSPFusedMult_Vector(ksp, x, y));
  else if (!known && (!f->product.own || ksp->pc->ops->applyBA)) PetscCall(KSP_PCApplyBAorAB(ksp, x, y, work));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply_Vector(ksp, x, work));
    PetscCall(KSPFusedMult_Vector(ksp, work, y));
    if (!known) PetscCall(KSP_RemoveNullSpace(ksp, y));
  } else {
    PetscCall(KSPFusedMult_Vector(ksp, x, work));
    PetscCall(KSPFusedPCApply_Vector(ksp, work, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y <- B A x or A B x and a step that reads y: one pass where the backend's product comes last, or B is a diagonal
  matrix. No null space is removed after a product that comes last
*/
static PetscErrorCode KSPFusedApplyStep_Vector(KSP ksp, Vec x, Vec y, Vec work, SpikeKrylovStep step, const Vec v[])
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->product.own && (f->pc.identity || (KSPFusedMultScales(f) && ksp->pc_side == PC_LEFT)))
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, v, f->pc.identity ? NULL : f->pc.diagonal, x, y));
  else if (f->product.own && (f->pc.diagonal || f->pc.enqueue.run || !ksp->pc->ops->applyBA) &&
           ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply_Vector(ksp, x, work));
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, v, NULL, work, y));
  } else {
    PetscCall(KSPFusedApply_Vector(ksp, x, y, work));
    PetscCall(KSPFusedStep_Vector(ksp, step, PETSC_FALSE, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *KSPFusedSmall_Vector(KSPFused *f)
{
  return f->s.small;
}

/* Where x is a correction: guess + B x, and the guess only where this solve has one */
static PetscErrorCode KSPFusedBuildSolution_Vector(KSP ksp, Vec v, Vec *V)
{
  KSPFused       *f      = (KSPFused *)ksp->data;
  const PetscBool scaled = (PetscBool)(f->run.unit != 1.0);

  PetscFunctionBegin;
  PetscCall(KSPFusedSettle(ksp));
  if (!v && (scaled || KSPFusedIsCorrection(ksp))) {
    if (!f->run.built) PetscCall(VecDuplicate(ksp->work[0], &f->run.built));
    v = f->run.built;
  }
  if (f->pc.flexible) {
    if (v) PetscCall(VecCopy(ksp->vec_sol, v));
    *V = v ? v : ksp->vec_sol;
  } else {
    if (f->pc.single && KSPFusedIsCorrection(ksp)) {
      if (!f->run.built) PetscCall(VecDuplicate(ksp->work[0], &f->run.built));
      PetscCall(KSPFusedApplyB(ksp, ksp->vec_sol, f->run.built)); /* v may lie elsewhere */
      if (v != f->run.built) PetscCall(VecCopy(f->run.built, v));
      *V = v;
    } else PetscCall(KSPBuildSolutionDefault(ksp, v, V));
    PetscCall(KSPFusedRemoveNullSpace(ksp, *V));
    if (ksp->pc_side == PC_RIGHT && f->run.useguess) PetscCall(VecAXPY(*V, 1.0, f->run.guess));
  }
  if (scaled) {
    PetscCall(VecScale(*V, f->run.unit));
    PetscCall(PetscObjectStateIncrease((PetscObject)*V)); /* norms that it has kept may have overflowed */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedCopy_Vector(KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  (void)ksp;
  PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const KSPFusedOps KSPFusedOps_Vector = {
  .step           = KSPFusedStep_Vector,
  .mult           = KSPFusedMult_Vector,
  .multstep       = KSPFusedMultStep_Vector,
  .pcapply        = KSPFusedPCApply_Vector,
  .apply          = KSPFusedApply_Vector,
  .applystep      = KSPFusedApplyStep_Vector,
  .copy           = KSPFusedCopy_Vector,
  .basisstep      = KSPFusedBasisStep_Vector,
  .basisapplydots = KSPFusedBasisApplyDots_Vector,
  .small          = KSPFusedSmall_Vector,
  .buildsolution  = KSPFusedBuildSolution_Vector,
};
