/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsteps.c: steps of the fused methods, products and preconditioners, and reductions behind them */
#include "fused.h"
#include <petsc/private/pcimpl.h>
#include <stdarg.h>

/*
  The sums of a step and of the one that it carries, over all ranks in one reduction; then their recurrences, in order
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
    PetscCall(PetscArraycpy(f->carry, f->s.local, n));
    f->carried     = PETSC_TRUE;
    f->carriedstep = step;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (f->carried) {
    c = SpikeKrylovSteps[f->carriedstep].ndots;
    PetscCall(PetscArraycpy(sums, f->carry, c));
  }
  PetscCall(PetscArraycpy(sums + c, f->s.local, n));
  if (f->size > 1)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, (PetscMPIInt)(c + n), MPIU_SCALAR, MPIU_SUM,
                                PetscObjectComm((PetscObject)ksp)));
  if (f->carried) {
    f->carried = PETSC_FALSE;
    if (SpikeKrylovRecur(f->carriedstep, f->s.scalars, sums)) PetscCall(KSPFusedPost(f));
  }
  if ((!f->s.scalars->reason || step == SPIKE_CG_SETTLE) && SpikeKrylovRecur(step, f->s.scalars, sums + c))
    PetscCall(KSPFusedPost(f));
  PetscCall((*f->s.k->push)(&f->s, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One step on its vectors, behind y <- A x, or y <- D A x with the diagonal matrix D in scale, by the backend's copy of
  A where there is an x. Arrays are fetched and given back each time: a preconditioner may have worked on the other
  side. A vector that is there twice is read twice. With defer the sums wait for those of the next step that has some,
  where there is a reduction to be saved.
*/
static PetscErrorCode KSPFusedEnqueue_Private(KSP ksp, SpikeKrylovStep step, PetscBool defer, const Vec vec[],
                                              Vec scale, Vec x, Vec y)
{
  KSPFused                 *f     = (KSPFused *)ksp->data;
  const SpikeKrylovStepInfo none  = {"product", 0, 0, 0, 0, 0.0},
                            *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : &none;
  const PetscBool host            = (PetscBool)(f->s.k == &SpikeKrylovKernels_Host);
  PetscScalar    *v[SPIKE_KRYLOV_MAXVECTORS + 3], *w[SPIKE_KRYLOV_MAXVECTORS + 3];
  Vec             all[SPIKE_KRYLOV_MAXVECTORS + 3];
  unsigned        read = info->read, written = info->written;
  PetscInt        n, count                   = info->nvectors;
  PetscMemType    memtype;

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
    const PetscBool isread = (PetscBool)((read >> k) & 1), iswritten = (PetscBool)((written >> k) & 1);

    if (host) {
      if (!iswritten) PetscCall(VecGetArrayRead(all[k], (const PetscScalar **)&v[k]));
      else if (isread) PetscCall(VecGetArray(all[k], &v[k]));
      else PetscCall(VecGetArrayWrite(all[k], &v[k]));
    } else {
      if (!iswritten) PetscCall(VecGetArrayReadAndMemType(all[k], (const PetscScalar **)&v[k], &memtype));
      else if (isread) PetscCall(VecGetArrayAndMemType(all[k], &v[k], &memtype));
      else PetscCall(VecGetArrayWriteAndMemType(all[k], &v[k], &memtype));
      PetscCheck(PetscMemTypeCUDA(memtype), PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
                 "A work vector has left the device during a solve");
    }
    w[k] = v[k]; /* giving back clears the pointer */
  }
  if (x)
    PetscCall((*f->s.k->mult)(&f->s, f->copy, step, scale ? v[info->nvectors + 2] : NULL, v[info->nvectors],
                              v[info->nvectors + 1], v));
  else PetscCall((*f->s.k->step)(&f->s, step, n, v));
  for (PetscInt k = count - 1; k >= 0; k--) {
    const PetscBool isread = (PetscBool)((read >> k) & 1), iswritten = (PetscBool)((written >> k) & 1);

    if (host) {
      if (!iswritten) PetscCall(VecRestoreArrayRead(all[k], (const PetscScalar **)&w[k]));
      else if (isread) PetscCall(VecRestoreArray(all[k], &w[k]));
      else PetscCall(VecRestoreArrayWrite(all[k], &w[k]));
    } else {
      if (!iswritten) PetscCall(VecRestoreArrayReadAndMemType(all[k], (const PetscScalar **)&w[k]));
      else if (isread) PetscCall(VecRestoreArrayAndMemType(all[k], &w[k]));
      else PetscCall(VecRestoreArrayWriteAndMemType(all[k], &w[k]));
    }
  }
  if (info->ndots && !f->s.ondevice) PetscCall(KSPFusedReduce_Private(ksp, step, (PetscBool)(defer && f->size > 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define KSPFusedVectors(step, last) \
  Vec     vec[SPIKE_KRYLOV_MAXVECTORS] = {NULL}; \
  va_list args; \
\
  PetscFunctionBegin; \
  va_start(args, last); \
  for (PetscInt k = 0; k < SpikeKrylovSteps[step].nvectors; k++) vec[k] = va_arg(args, Vec); \
  va_end(args)

/* One step; its vectors follow */
PetscErrorCode KSPFusedStep(KSP ksp, SpikeKrylovStep step, PetscBool defer, ...)
{
  KSPFusedVectors(step, defer);
  if (((KSPFused *)ksp->data)->running) PetscCall(KSPFusedRhsStep(ksp, step, vec));
  else PetscCall(KSPFusedEnqueue_Private(ksp, step, defer, vec, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x */
PetscErrorCode KSPFusedMult(KSP ksp, Vec x, Vec y)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Mat       A;

  PetscFunctionBegin;
  if (f->running) PetscCall(KSPFusedRhsMult(ksp, x, y));
  else if (f->usecopy) PetscCall(KSPFusedEnqueue_Private(ksp, SPIKE_KRYLOV_NSTEPS, PETSC_FALSE, NULL, NULL, x, y));
  else {
    PetscCall(PCGetOperators(ksp->pc, &A, NULL));
    PetscCall(KSP_MatMult(ksp, A, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- A x and a step that reads y, whose vectors follow */
PetscErrorCode KSPFusedMultStep(KSP ksp, Vec x, Vec y, SpikeKrylovStep step, ...)
{
  KSPFused *f = (KSPFused *)ksp->data;
  KSPFusedVectors(step, step);

  if (f->running) PetscCall(KSPFusedRhsMultStep(ksp, x, y, step, vec));
  else if (f->usecopy) PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, vec, NULL, x, y));
  else {
    PetscCall(KSPFusedMult(ksp, x, y));
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, vec, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- B x, on the backend's stream where B says how, or is a diagonal matrix */
PetscErrorCode KSPFusedPCApply(KSP ksp, Vec x, Vec y)
{
  KSPFused          *f = (KSPFused *)ksp->data;
  const PetscScalar *xa;
  PetscScalar       *ya, *out;
  PetscMemType       memtype;

  PetscFunctionBegin;
  if (f->running) PetscCall(KSPFusedRhsPC(ksp, x, y));
  else if (f->diagonal) PetscCall(KSPFusedStep(ksp, SPIKE_DIAGONAL, PETSC_FALSE, f->diagonal, x, y));
  else if (f->pc.run) {
    PetscCall(PetscLogEventBegin(PC_Apply, ksp->pc, x, y, 0));
    PetscCall(VecGetArrayReadAndMemType(x, &xa, &memtype));
    PetscCall(VecGetArrayWriteAndMemType(y, &ya, &memtype));
    out = ya;
    PetscCall((*f->pc.run)((PetscObject)ksp->pc, PETSC_FALSE, (*f->s.k->stream)(&f->s), xa, out));
    PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
    PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
    PetscCall(PetscLogEventEnd(PC_Apply, ksp->pc, x, y, 0));
  } else PetscCall(KSP_PCApply(ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- B A x or A B x. What B enqueues itself has no null space behind it */
PetscErrorCode KSPFusedApply(KSP ksp, Vec x, Vec y, Vec work)
{
  KSPFused       *f     = (KSPFused *)ksp->data;
  const PetscBool known = (PetscBool)(f->diagonal || f->pc.run);

  PetscFunctionBegin;
  if (f->running) PetscCall(KSPFusedRhsApply(ksp, x, y, work));
  else if (f->identity) PetscCall(KSPFusedMult(ksp, x, y));
  else if (!known && (!f->usecopy || ksp->pc->ops->applyBA)) PetscCall(KSP_PCApplyBAorAB(ksp, x, y, work));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply(ksp, x, work));
    PetscCall(KSPFusedMult(ksp, work, y));
    if (!known) PetscCall(KSP_RemoveNullSpace(ksp, y));
  } else {
    PetscCall(KSPFusedMult(ksp, x, work));
    PetscCall(KSPFusedPCApply(ksp, work, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y <- B A x or A B x and a step that reads y, whose vectors follow: one pass where the product is the last of it, or B
  is a diagonal matrix
*/
PetscErrorCode KSPFusedApplyStep(KSP ksp, Vec x, Vec y, Vec work, SpikeKrylovStep step, ...)
{
  KSPFused *f = (KSPFused *)ksp->data;
  KSPFusedVectors(step, step);

  if (f->running) PetscCall(KSPFusedRhsApplyStep(ksp, x, y, work, step, vec));
  else if (f->usecopy && (f->identity || (f->diagonal && ksp->pc_side == PC_LEFT)))
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, vec, f->identity ? NULL : f->diagonal, x, y));
  else if (f->usecopy && (f->diagonal || f->pc.run) && ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply(ksp, x, work));
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, vec, NULL, work, y));
  } else {
    PetscCall(KSPFusedApply(ksp, x, y, work));
    PetscCall(KSPFusedEnqueue_Private(ksp, step, PETSC_FALSE, vec, NULL, NULL, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedCopy(KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->running) PetscCall(KSPFusedRhsCopy(ksp, x, y));
  else PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
