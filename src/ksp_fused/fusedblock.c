/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedblock.c: steps over blocks of vectors, and their sums */
#include "fused.h"
#include <petsc/private/vecimpl.h>

/* Room for blocks of s columns */
PetscErrorCode KSPFusedBlockSetUp(KSP ksp, PetscInt s)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPFusedBlockDestroy(f));
  PetscCall(PetscMalloc3(2 * s, &f->columns, s, &f->factors, s + 4, &f->sums));
  PetscCall(PetscArrayzero(f->sums, s + 4));
  f->ncolumns = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedBlockDestroy(KSPFused *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(f->columns, f->factors, f->sums));
  PetscCall(VecDestroy(&f->blockwork));
  f->ncolumns = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- y + a sum c_j x_j over m columns */
static PetscErrorCode KSPFusedMAXPY_Private(KSPFused *f, Vec y, PetscInt m, PetscScalar a, const PetscScalar c[], Vec x[])
{
  PetscFunctionBegin;
  if (m <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < m; j++) f->factors[j] = a * c[j];
  PetscCall(VecMAXPY(y, m, f->factors, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* conj(x) y over the rows of this rank */
static PetscErrorCode KSPFusedDotLocal_Private(Vec x, Vec y, PetscScalar *dot)
{
  PetscInt n;

  PetscFunctionBegin;
  *dot = 0.0;
  PetscCall(VecGetLocalSize(y, &n));
  if (n) PetscUseTypeMethod(y, dot_local, x, dot);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By PETSc's functions, wherever the vectors are */
static PetscErrorCode KSPFusedBlockStepVec_Private(KSP ksp, SpikeKrylovBlockStep step, const KSPFusedBlock *b, PetscScalar sums[])
{
  KSPFused      *f = (KSPFused *)ksp->data;
  const PetscInt m = b->last - b->first;
  Vec           *A = m ? b->A + b->first : NULL, *B = m && b->B ? b->B + b->first : NULL;
  PetscInt       n, over;

  PetscFunctionBegin;
  switch (step) {
  case SPIKE_KRYLOV_DOTS:
    PetscCall(VecGetLocalSize(b->y, &n));
    for (PetscInt j = 0; j < m; j++) sums[j] = 0.0;
    if (m && n) PetscUseTypeMethod(b->y, mdot_local, m, A, sums);
    PetscCall(KSPFusedDotLocal_Private(b->y, b->y, &sums[m]));
    if (b->z) {
      PetscCall(KSPFusedDotLocal_Private(b->z, b->z, &sums[m + 1]));
      PetscCall(KSPFusedDotLocal_Private(b->y, b->z, &sums[m + 2]));
    }
    break;
  case SPIKE_KRYLOV_COMBINE:
    over = m && B[0] == b->y ? 1 : 0;
    if (over) PetscCall(VecAXPBY(b->y, b->a, b->c[0], b->r));
    else {
      PetscCall(VecCopy(b->r, b->y));
      PetscCall(VecScale(b->y, b->a));
    }
    PetscCall(KSPFusedMAXPY_Private(f, b->y, m - over, 1.0, m ? b->c + over : NULL, m ? B + over : NULL));
    PetscCall(KSPFusedMAXPY_Private(f, b->y, m, -b->a, b->c, A));
    break;
  case SPIKE_KRYLOV_UPDATE:
    PetscCall(KSPFusedMAXPY_Private(f, b->z, m, -1.0, b->c, A));
    PetscCall(KSPFusedMAXPY_Private(f, b->y, m, -1.0, b->c, B));
    if (!b->x) break;
    PetscCall(VecAXPY(b->x, b->a, b->y));
    PetscCall(VecAXPY(b->r, -b->a, b->z));
    if (b->q) {
      if (!f->blockwork) PetscCall(VecDuplicate(b->r, &f->blockwork));
      PetscCall(VecWAXPY(f->blockwork, -1.0, b->r, b->q));
      PetscCall(KSPFusedDotLocal_Private(f->blockwork, b->q, &sums[0]));
      PetscCall(KSPFusedDotLocal_Private(f->blockwork, f->blockwork, &sums[1]));
    } else PetscCall(KSPFusedDotLocal_Private(b->r, b->r, &sums[0]));
    break;
  default:
    PetscCall(VecAXPBY(b->q, b->a, (PetscScalar)1.0 - b->a, b->r));
    PetscCall(VecAXPBY(b->y, b->a, (PetscScalar)1.0 - b->a, b->x));
    PetscCall(KSPFusedDotLocal_Private(b->q, b->q, &sums[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define KSP_FUSED_SINGLES 5

/* In one pass over the arrays, which are in the host's memory. A vector that is there twice is fetched once */
static PetscErrorCode KSPFusedBlockStepHost_Private(KSP ksp, SpikeKrylovBlockStep step, const KSPFusedBlock *b, PetscScalar sums[])
{
  KSPFused          *f      = (KSPFused *)ksp->data;
  const PetscInt     m      = b->last - b->first;
  const PetscBool    update = (PetscBool)(step == SPIKE_KRYLOV_UPDATE), smooth = (PetscBool)(step == SPIKE_KRYLOV_SMOOTH);
  Vec                v[KSP_FUSED_SINGLES]       = {b->r, b->x, b->q, b->z, b->y};
  const PetscBool    written[KSP_FUSED_SINGLES] = {update, update, smooth, (PetscBool)(update && m), (PetscBool)((update && m) || smooth || step == SPIKE_KRYLOV_COMBINE)};
  PetscScalar       *a[KSP_FUSED_SINGLES];
  const PetscScalar *array;
  SpikeKrylovBlock   h;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < KSP_FUSED_SINGLES; k++) {
    a[k] = NULL;
    if (!v[k]) continue;
    if (k && v[k] == v[0]) a[k] = a[0];
    else if (written[k]) PetscCall(VecGetArray(v[k], &a[k]));
    else {
      PetscCall(VecGetArrayRead(v[k], &array));
      a[k] = (PetscScalar *)array;
    }
  }
  h.first = 0;
  h.last  = m;
  h.A     = f->columns;
  h.B     = f->columns + f->ncolumns;
  h.c     = b->c;
  h.a     = b->a;
  h.r     = a[0];
  h.x     = a[1];
  h.q     = a[2];
  h.z     = a[3];
  h.y     = a[4];
  PetscCall(VecGetLocalSize(b->y, &h.n));
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(VecGetArrayRead(b->A[b->first + j], &array));
    h.A[j] = (PetscScalar *)array;
    if (!b->B) continue;
    if (b->B[b->first + j] == b->y) h.B[j] = h.y;
    else {
      PetscCall(VecGetArrayRead(b->B[b->first + j], &array));
      h.B[j] = (PetscScalar *)array;
    }
  }
  if (h.n) PetscCall(SpikeKrylovBlockStep_Host(step, &h, sums));
  else PetscCall(PetscArrayzero(sums, f->ncolumns + 3)); /* arrays may be NULL, but are fetched: states count the same on all ranks */
  for (PetscInt j = 0; j < m; j++) {
    array = h.A[j];
    PetscCall(VecRestoreArrayRead(b->A[b->first + j], &array));
    if (!b->B || b->B[b->first + j] == b->y) continue;
    array = h.B[j];
    PetscCall(VecRestoreArrayRead(b->B[b->first + j], &array));
  }
  for (PetscInt k = KSP_FUSED_SINGLES - 1; k >= 0; k--) {
    if (!v[k] || (k && v[k] == v[0])) continue;
    if (written[k]) PetscCall(VecRestoreArray(v[k], &a[k]));
    else {
      array = a[k];
      PetscCall(VecRestoreArrayRead(v[k], &array));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step; nothing once a reason is set. The sums of this rank wait for KSPFusedBlockReduce() or KSPFusedBlockNorm() */
PetscErrorCode KSPFusedBlockStep(KSP ksp, SpikeKrylovBlockStep step, const KSPFusedBlock *b)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscAssert(b->last - b->first <= f->ncolumns, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB, "A block of %" PetscInt_FMT " columns, room for %" PetscInt_FMT, b->last - b->first, f->ncolumns);
  if (f->s.scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->usevec) PetscCall(KSPFusedBlockStepVec_Private(ksp, step, b, f->sums + 1));
  else PetscCall(KSPFusedBlockStepHost_Private(ksp, step, b, f->sums + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The n sums of the last step over all ranks, with the norm that waits, which is posted. NULL when a reason is set, by that norm or before */
PetscErrorCode KSPFusedBlockReduce(KSP ksp, PetscInt n, PetscScalar **sums)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  const PetscInt c = f->carried ? 1 : 0;

  PetscFunctionBegin;
  *sums = NULL;
  if (f->s.scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (c) f->sums[0] = f->carry[0];
  if (f->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, f->sums + 1 - c, (PetscMPIInt)(c + n), MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)ksp)));
  if (c) {
    f->carried = PETSC_FALSE;
    SpikeKrylovTestNorm(f->s.scalars, PetscSqrtReal(PetscRealPart(f->sums[0])));
    PetscCall(KSPFusedPost(f));
  }
  if (!f->s.scalars->reason) *sums = f->sums + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The end of an iteration, by the square of its norm, on this rank or over all: counts it and posts, now or with the next reduction */
PetscErrorCode KSPFusedBlockNorm(KSP ksp, PetscScalar square, PetscBool reduced, PetscBool defer)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->s.scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (defer && !reduced && f->size > 1) {
    f->carry[0] = square;
    f->carried  = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!reduced && f->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &square, 1, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)ksp)));
  SpikeKrylovTestNorm(f->s.scalars, PetscSqrtReal(PetscRealPart(square)));
  PetscCall(KSPFusedPost(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
