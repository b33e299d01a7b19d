/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedbasis.c: basis steps of one vector, and their sums */
#include "fusedbasis.h"
#include "fusedstate.h"
#include <petsc/private/vecimpl.h>

#define KSP_FUSED_SINGLES 7 /* most vectors of a step and a product that are in no basis */
#define KSP_FUSED_CARRY   4 /* most sums that wait for the next reduction */

/* Room for bases of s vectors, and for `small` scalars in the memory of the kernels */
PetscErrorCode KSPFusedBasisSetUp(KSP ksp, PetscInt s, PetscInt small)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCall(KSPFusedBasisDestroy(f));
  PetscCall(PetscMalloc4(4 * s, &f->basis.columns, s, &f->basis.factors, s + 3 + KSP_FUSED_CARRY, &f->basis.sums,
                         4 * s + KSP_FUSED_SINGLES, &f->basis.slots));
  f->basis.ncolumns = s;
  f->basis.nsmall   = small;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedBasisDestroy(KSPFused *f)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedDestroyGraphs(f));
  PetscCall(PetscFree4(f->basis.columns, f->basis.factors, f->basis.sums, f->basis.slots));
  PetscCall(VecDestroy(&f->basis.work));
  f->basis.ncolumns = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- y + a sum c_j x_j over m columns */
static PetscErrorCode KSPFusedMAXPY_Private(KSPFused *f, Vec y, PetscInt m, PetscScalar a, const PetscScalar c[],
                                            Vec x[])
{
  PetscFunctionBegin;
  if (m <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < m; j++) f->basis.factors[j] = a * c[j];
  PetscCall(VecMAXPY(y, m, f->basis.factors, x));
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

/* q -= g (q - r); p -= g (p - x) */
static PetscErrorCode KSPFusedNearer_Private(KSPFused *f, const KSPFusedBasis *b)
{
  const PetscScalar g = *b->g;

  PetscFunctionBegin;
  if (!f->basis.work) PetscCall(VecDuplicate(b->r, &f->basis.work));
  PetscCall(VecWAXPY(f->basis.work, -1.0, b->r, b->q));
  PetscCall(VecAXPY(b->q, -g, f->basis.work));
  PetscCall(VecWAXPY(f->basis.work, -1.0, b->x, b->p));
  PetscCall(VecAXPY(b->p, -g, f->basis.work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By PETSc's functions, wherever the vectors are */
static PetscErrorCode KSPFusedBasisStepVec_Private(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                                   PetscScalar sums[])
{
  KSPFused         *f = (KSPFused *)ksp->data;
  const PetscInt    m = b->last - b->first;
  const PetscScalar a = b->a ? *b->a : (PetscScalar)1.0;
  Vec              *A = m && b->A ? b->A + b->first : NULL, *B = m && b->B ? b->B + b->first : NULL;
  PetscInt          n, over;

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
    over = B && B[0] == b->y ? 1 : 0;
    if (over) PetscCall(VecAXPBY(b->y, a, b->c[0], b->r));
    else {
      PetscCall(VecCopy(b->r, b->y));
      PetscCall(VecScale(b->y, a));
    }
    if (B) PetscCall(KSPFusedMAXPY_Private(f, b->y, m - over, 1.0, b->c + over, B + over));
    if (A) PetscCall(KSPFusedMAXPY_Private(f, b->y, m, -a, b->c, A));
    break;
  case SPIKE_KRYLOV_UPDATE:
    PetscCall(KSPFusedMAXPY_Private(f, b->z, m, -1.0, b->c, A));
    PetscCall(KSPFusedMAXPY_Private(f, b->y, m, -1.0, b->c, B));
    if (!b->x) break;
    if (b->q) PetscCall(KSPFusedNearer_Private(f, b));
    PetscCall(VecAXPY(b->x, a, b->y));
    PetscCall(VecAXPY(b->r, -a, b->z));
    if (b->q) {
      PetscCall(VecWAXPY(f->basis.work, -1.0, b->r, b->q));
      PetscCall(KSPFusedDotLocal_Private(f->basis.work, b->q, &sums[0]));
      PetscCall(KSPFusedDotLocal_Private(f->basis.work, f->basis.work, &sums[1]));
      PetscCall(KSPFusedDotLocal_Private(b->q, b->q, &sums[2]));
      PetscCall(KSPFusedDotLocal_Private(b->r, b->r, &sums[3]));
    } else PetscCall(KSPFusedDotLocal_Private(b->r, b->r, &sums[0]));
    break;
  default:
    PetscCall(KSPFusedNearer_Private(f, b));
    PetscCall(KSPFusedDotLocal_Private(b->q, b->q, &sums[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The array of v: that of a slot that has v, or of a new one; read and written say what is done with it. Without rows
  another pointer, because NULL says that a step has no such vector
*/
static PetscErrorCode KSPFusedFetch_Private(KSP ksp, Vec v, PetscBool read, PetscBool written, PetscScalar **a)
{
  KSPFusedBasisRoom *b    = &((KSPFused *)ksp->data)->basis;
  KSPFusedSlot      *slot = &b->slots[b->nslots];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < (b->nsingles ? b->nsingles : b->nslots); k++) {
    if (b->slots[k].v == v) {
      *a = b->slots[k].a ? b->slots[k].a : b->sums;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  slot->v       = v;
  slot->read    = read;
  slot->written = written;
  PetscCall(KSPFusedGetArray(ksp, v, read, written, &slot->a));
  *a = slot->a ? slot->a : b->sums;
  b->nslots++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGiveBack_Private(KSP ksp)
{
  KSPFusedBasisRoom *b = &((KSPFused *)ksp->data)->basis;

  PetscFunctionBegin;
  while (b->nslots) {
    KSPFusedSlot *slot = &b->slots[--b->nslots];

    PetscCall(KSPFusedRestoreArray(ksp, slot->v, slot->read, slot->written, &slot->a));
  }
  b->nsingles = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of a step that are in no basis: those that it writes, or with written false the others */
static PetscErrorCode KSPFusedFetchSingles_Private(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                                   PetscBool written, SpikeKrylovBasis *h)
{
  const PetscBool update  = (PetscBool)(step == SPIKE_KRYLOV_UPDATE),
                  combine = (PetscBool)(step == SPIKE_KRYLOV_COMBINE),
                  smooth  = (PetscBool)(step == SPIKE_KRYLOV_SMOOTH);
  const PetscBool moves   = (PetscBool)(update && b->last > b->first),
                  over    = (PetscBool)(combine && b->last > b->first && b->B && b->B[b->first] == b->y);
  const Vec       v[]     = {b->r, b->x, b->q, b->p, b->z, b->y};
  const PetscBool w[]     = {update,
                             update,
                             (PetscBool)(update || smooth),
                             (PetscBool)(update || smooth),
                             moves,
                             (PetscBool)(moves || combine)};
  PetscScalar   **a[]     = {&h->r, &h->x, &h->q, &h->p, &h->z, &h->y};

  PetscFunctionBegin;
  for (int k = 0; k < 6; k++) {
    if (v[k] && w[k] == written)
      PetscCall(KSPFusedFetch_Private(ksp, v[k], (PetscBool)(!combine || k < 5 || over), w[k], a[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of its bases, and what is no vector */
static PetscErrorCode KSPFusedFetchColumns_Private(KSP ksp, const KSPFusedBasis *b, PetscScalar **columns,
                                                   SpikeKrylovBasis *h)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  h->first  = 0;
  h->last   = b->last - b->first;
  h->A      = b->A ? columns : NULL;
  h->B      = b->B ? columns + f->basis.ncolumns : NULL;
  h->c      = b->c;
  h->a      = b->a;
  h->g      = b->g;
  h->narrow = (PetscBool)(KSPFusedHasNarrowShadow(f) && !f->basis.wide);
  for (PetscInt j = 0; j < h->last; j++) {
    if (b->A) PetscCall(KSPFusedFetch_Private(ksp, b->A[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->A[j]));
    if (b->B) PetscCall(KSPFusedFetch_Private(ksp, b->B[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->B[j]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass of the backend over the arrays. With x after y <- A x; of the step's vectors only z may be x */
static PetscErrorCode KSPFusedBasisEnqueue_Private(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                                   const KSPFusedBasis *combine, Vec x,
                                                   const SpikeIDRRecurrence *recurrence)
{
  KSPFused        *f = (KSPFused *)ksp->data;
  SpikeKrylovBasis h, g;
  PetscScalar     *ax;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&h, sizeof(h)));
  PetscCall(PetscMemzero(&g, sizeof(g)));
  PetscCall(VecGetLocalSize(b->r ? b->r : b->y, &h.n));
  g.n = h.n;
  if (x) PetscCall(KSPFusedFetch_Private(ksp, b->y, PETSC_FALSE, PETSC_TRUE, &h.y));
  for (int written = 1; written >= 0; written--) {
    PetscCall(KSPFusedFetchSingles_Private(ksp, step, b, (PetscBool)written, &h));
    if (combine) PetscCall(KSPFusedFetchSingles_Private(ksp, SPIKE_KRYLOV_COMBINE, combine, (PetscBool)written, &g));
  }
  if (x) PetscCall(KSPFusedFetch_Private(ksp, x, PETSC_TRUE, PETSC_FALSE, &ax));
  f->basis.nsingles = f->basis.nslots; /* vectors of bases are looked for among these only */
  PetscCall(KSPFusedFetchColumns_Private(ksp, b, f->basis.columns, &h));
  if (combine) PetscCall(KSPFusedFetchColumns_Private(ksp, combine, f->basis.columns + 2 * f->basis.ncolumns, &g));
  if (x) PetscCall((*f->s.k->basismult)(&f->s, KSPFusedCopyInUse(&f->product), ax, &h, recurrence));
  else PetscCall((*f->s.k->basisstep)(&f->s, step, &h, combine ? &g : NULL, recurrence));
  PetscCall(KSPFusedGiveBack_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v becomes a narrow vector of DOTS, in the first part of its array. room: a vector like it, whose values are lost */
PetscErrorCode KSPFusedBasisToShadow(KSP ksp, Vec v, Vec room)
{
  PetscScalar *from, *to;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(KSPFusedGetArray(ksp, v, PETSC_TRUE, PETSC_FALSE, &from));
  PetscCall(KSPFusedGetArray(ksp, room, PETSC_TRUE, PETSC_TRUE, &to));
  PetscCall((*((KSPFused *)ksp->data)->s.k->toshadow)(n, from, to));
  PetscCall(KSPFusedRestoreArray(ksp, room, PETSC_TRUE, PETSC_TRUE, &to));
  PetscCall(KSPFusedRestoreArray(ksp, v, PETSC_TRUE, PETSC_FALSE, &from));
  PetscCall(VecCopy(room, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What follows from the sums of a step, on the host: over all ranks, with those that a step before has left for this
  reduction. With defer, where there is a reduction to be saved, they are left for the next one.
*/
static PetscErrorCode KSPFusedBasisRecur_Private(KSP ksp, PetscInt n, const SpikeIDRRecurrence *recurrence,
                                                 PetscBool defer)
{
  KSPFused      *f    = (KSPFused *)ksp->data;
  const PetscInt c    = f->run.carried ? f->run.ncarried : 0;
  PetscScalar   *sums = f->basis.sums + KSP_FUSED_CARRY;

  PetscFunctionBegin;
  if (!f->basis.usevec) PetscCall((*f->s.k->basissums)(&f->s, n, sums));
  if (defer && f->size > 1) {
    PetscAssert(n <= KSP_FUSED_CARRY && !c, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
                "A reduction of %" PetscInt_FMT " sums cannot wait", n);
    PetscCall(PetscArraycpy(f->run.carry, sums, n));
    f->run.ncarried     = n;
    f->run.carried      = PETSC_TRUE;
    f->run.carriedbasis = *recurrence;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArraycpy(sums - c, f->run.carry, c));
  if (f->size > 1)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums - c, (PetscMPIInt)(c + n), MPIU_SCALAR, MPIU_SUM,
                                PetscObjectComm((PetscObject)ksp)));
  if (c) {
    f->run.carried = PETSC_FALSE;
    if (SpikeIDRRecur(&f->run.carriedbasis, f->s.scalars, f->s.hostsmall, sums - c)) PetscCall(KSPFusedPost(f));
  }
  if ((!f->s.scalars->reason || recurrence->op == SPIKE_IDR_SMOOTHED) &&
      SpikeIDRRecur(recurrence, f->s.scalars, f->s.hostsmall, sums))
    PetscCall(KSPFusedPost(f));
  PetscCall((*f->s.k->basispush)(&f->s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedBasisStep_Vector(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                        const KSPFusedBasis *combine, const SpikeIDRRecurrence *recurrence,
                                        PetscBool defer)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (!f->s.ondevice && f->s.scalars->reason && step != SPIKE_KRYLOV_SMOOTH) PetscFunctionReturn(PETSC_SUCCESS);
  if (f->basis.usevec) {
    PetscCall(KSPFusedBasisStepVec_Private(ksp, step, b, f->basis.sums + KSP_FUSED_CARRY));
    if (combine) PetscCall(KSPFusedBasisStepVec_Private(ksp, SPIKE_KRYLOV_COMBINE, combine, NULL));
  } else PetscCall(KSPFusedBasisEnqueue_Private(ksp, step, b, combine, NULL, recurrence));
  if (recurrence && !f->s.ondevice)
    PetscCall(KSPFusedBasisRecur_Private(ksp,
                                         SpikeKrylovBasisSums(step, b->last - b->first, (PetscBool)(b->z != NULL),
                                                              (PetscBool)(b->q != NULL)),
                                         recurrence, defer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The backend's product comes last without a preconditioner, where that has been applied before, or is on the right; its
  sums are those of dots then, in the same pass
*/
PetscErrorCode KSPFusedBasisApplyDots_Vector(KSP ksp, Vec x, Vec work, const KSPFusedBasis *dots,
                                             const SpikeIDRRecurrence *recurrence)
{
  KSPFused       *f     = (KSPFused *)ksp->data;
  const PetscBool first = (PetscBool)(f->pc.identity || f->pc.flexible),
                  right = (PetscBool)(ksp->pc_side == PC_RIGHT &&
                                      (f->pc.diagonal || f->pc.enqueue.run || !ksp->pc->ops->applyBA));

  PetscFunctionBegin;
  if (f->product.own && f->s.k->basismult && (first || right)) {
    if (!f->s.ondevice && f->s.scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
    if (!first) PetscCall(KSPFusedPCApply(ksp, x, work));
    PetscCall(KSPFusedBasisEnqueue_Private(ksp, SPIKE_KRYLOV_DOTS, dots, NULL, first ? x : work, recurrence));
    if (!f->s.ondevice)
      PetscCall(KSPFusedBasisRecur_Private(ksp,
                                           SpikeKrylovBasisSums(SPIKE_KRYLOV_DOTS, dots->last - dots->first,
                                                                (PetscBool)(dots->z != NULL), PETSC_FALSE),
                                           recurrence, PETSC_FALSE));
  } else {
    if (f->pc.flexible) PetscCall(KSPFusedMult(ksp, x, dots->y));
    else PetscCall(KSPFusedApply(ksp, x, dots->y, work));
    PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_DOTS, dots, NULL, recurrence, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
