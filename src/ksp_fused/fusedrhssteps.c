/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhssteps.c: what fusedsteps.c and fusedbasis.c do, with blocks of columns in place of vectors */
#include "fusedrhs.h"

/* The array of a block, ld its leading dimension; of a vector that all columns share, ld 0 */
PetscErrorCode KSPFusedRhsFetch(KSP ksp, Vec v, PetscBool read, PetscBool written, PetscScalar **a, PetscInt *ld)
{
  KSPFused        *f    = (KSPFused *)ksp->data;
  KSPFusedRhs     *c    = f->columnsolve;
  KSPFusedRhsSlot *slot = &c->slots[c->nslots++];
  PetscMemType     memtype;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsGetBlock(ksp, v, &slot->block));
  slot->v       = v;
  slot->read    = read;
  slot->written = written;
  if (!slot->block) {
    PetscAssert(!written, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
                "A step writes a vector that all columns share");
    PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&slot->a, &memtype));
  } else if (!written) PetscCall(MatDenseGetArrayReadAndMemType(slot->block, (const PetscScalar **)&slot->a, &memtype));
  else if (read) PetscCall(MatDenseGetArrayAndMemType(slot->block, &slot->a, &memtype));
  else PetscCall(MatDenseGetArrayWriteAndMemType(slot->block, &slot->a, &memtype));
  PetscCheck(SpikeKrylovRhsKernelsFind(memtype) == c->s.k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "A block of work vectors has left its memory during a solve");
  *a  = slot->a ? slot->a : &c->nothing; /* without rows; NULL says that a step has no such vector */
  *ld = slot->block ? c->ld : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsGiveBack(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  while (c->nslots) {
    KSPFusedRhsSlot *slot = &c->slots[--c->nslots];

    if (!slot->block) PetscCall(VecRestoreArrayReadAndMemType(slot->v, (const PetscScalar **)&slot->a));
    else if (!slot->written) PetscCall(MatDenseRestoreArrayReadAndMemType(slot->block, (const PetscScalar **)&slot->a));
    else if (slot->read) PetscCall(MatDenseRestoreArrayAndMemType(slot->block, &slot->a));
    else PetscCall(MatDenseRestoreArrayWriteAndMemType(slot->block, &slot->a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The sums of a step of all columns, over all ranks in one reduction; then what follows from them, column by column: by
  SpikeIDRRecur() with a recurrence, else by SpikeKrylovRecur()
*/
static PetscErrorCode KSPFusedRhsReduce_Private(KSP ksp, SpikeKrylovStep step, PetscInt n,
                                                const SpikeIDRRecurrence *recurrence)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->columnsolve;
  PetscMPIInt  count;

  PetscFunctionBegin;
  if (c->s.ondevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*c->s.k->sums)(&c->s, c->width, n));
  PetscCall(PetscMPIIntCast((PetscCount)n * c->width, &count));
  if (f->size > 1)
    PetscCallMPI(
      MPIU_Allreduce(MPI_IN_PLACE, c->s.sums, count, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)ksp)));
  for (PetscInt i = 0; i < c->width; i++) {
    SpikeKrylovScalars *s = &c->s.scalars[i];

    if (recurrence && (!s->reason || recurrence->op == SPIKE_IDR_SMOOTHED))
      SpikeIDRRecur(recurrence, s, c->s.hostsmall + (PetscCount)i * c->s.nsmall, c->s.sums + i * n);
    else if (!recurrence && !s->reason) SpikeKrylovRecur(step, s, c->s.sums + i * n);
  }
  PetscCall((*c->s.k->push)(&c->s, c->width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsStep(KSP ksp, SpikeKrylovStep step, const Vec vec[])
{
  KSPFusedRhs               *c    = ((KSPFused *)ksp->data)->columnsolve;
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  PetscScalar               *v[SPIKE_KRYLOV_MAXVECTORS];
  PetscInt                   n, ld[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  for (PetscInt k = 0; k < info->nvectors; k++)
    PetscCall(KSPFusedRhsFetch(ksp, vec[k], (PetscBool)((info->read >> k) & 1), (PetscBool)((info->written >> k) & 1),
                               &v[k], &ld[k]));
  PetscCall((*c->s.k->step)(KSPFusedRhsOperands(c), c->width, step, n, v, ld));
  PetscCall(KSPFusedRhsGiveBack(c));
  if (info->ndots) PetscCall(KSPFusedRhsReduce_Private(ksp, step, info->ndots, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Y <- A X, or Y <- D A X with the diagonal matrix D in scale, by the copy of A, and the sums of a step that reads Y; or
  no step
*/
static PetscErrorCode KSPFusedRhsCopyMult_Private(KSP ksp, Vec x, Vec y, Vec scale, SpikeKrylovStep step,
                                                  const Vec vec[])
{
  KSPFused                 *f     = (KSPFused *)ksp->data;
  KSPFusedRhs              *c     = f->columnsolve;
  const SpikeKrylovStepInfo none  = {"product", 0, 0, 0, 0, 0.0},
                            *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : &none;
  PetscScalar *ax, *ay, *ad = NULL, *v[SPIKE_KRYLOV_MAXVECTORS];
  PetscInt     ldxy, ldd, ld[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsFetch(ksp, y, PETSC_FALSE, PETSC_TRUE, &ay, &ldxy));
  PetscCall(KSPFusedRhsFetch(ksp, x, PETSC_TRUE, PETSC_FALSE, &ax, &ldxy));
  if (scale) PetscCall(KSPFusedRhsFetch(ksp, scale, PETSC_TRUE, PETSC_FALSE, &ad, &ldd));
  for (PetscInt k = 0; k < info->nvectors; k++) {
    v[k]  = ay;
    ld[k] = ldxy;
    if (vec[k] != y) PetscCall(KSPFusedRhsFetch(ksp, vec[k], PETSC_TRUE, PETSC_FALSE, &v[k], &ld[k]));
  }
  PetscCall((*c->s.k->mult)(KSPFusedRhsOperands(c), f->copy, c->width, step, ad, ax, ay, ldxy, v, ld));
  PetscCall(KSPFusedRhsGiveBack(c));
  if (info->ndots) PetscCall(KSPFusedRhsReduce_Private(ksp, step, info->ndots, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- A X, by the copy of A where there is one */
PetscErrorCode KSPFusedRhsMult(KSP ksp, Vec x, Vec y)
{
  Mat X, Y;

  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->usecopy)
    PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, NULL, SPIKE_KRYLOV_NSTEPS, NULL));
  else {
    PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
    PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
    PetscCall(KSPFusedRhsMatMult(ksp, X, Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- A X and a step that reads Y */
PetscErrorCode KSPFusedRhsMultStep(KSP ksp, Vec x, Vec y, SpikeKrylovStep step, const Vec vec[])
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->usecopy) PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, NULL, step, vec));
  else {
    PetscCall(KSPFusedRhsMult(ksp, x, y));
    PetscCall(KSPFusedRhsStep(ksp, step, vec));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B X */
PetscErrorCode KSPFusedRhsPC(KSP ksp, Vec x, Vec y)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Mat       X, Y;

  PetscFunctionBegin;
  if (f->diagonal) {
    const Vec v[] = {f->diagonal, x, y};

    PetscCall(KSPFusedRhsStep(ksp, SPIKE_DIAGONAL, v));
  } else {
    PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
    PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
    PetscCall(KSPFusedRhsPCApply(ksp, X, Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B A X or A B X */
PetscErrorCode KSPFusedRhsApply(KSP ksp, Vec x, Vec y, Vec work)
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->identity) PetscCall(KSPFusedRhsMult(ksp, x, y));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedRhsPC(ksp, x, work));
    PetscCall(KSPFusedRhsMult(ksp, work, y));
  } else {
    PetscCall(KSPFusedRhsMult(ksp, x, work));
    PetscCall(KSPFusedRhsPC(ksp, work, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B A X or A B X and a step that reads Y */
PetscErrorCode KSPFusedRhsApplyStep(KSP ksp, Vec x, Vec y, Vec work, SpikeKrylovStep step, const Vec vec[])
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->identity) PetscCall(KSPFusedRhsMultStep(ksp, x, y, step, vec));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedRhsPC(ksp, x, work));
    PetscCall(KSPFusedRhsMultStep(ksp, work, y, step, vec));
  } else if (f->usecopy && f->diagonal) PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, f->diagonal, step, vec));
  else {
    PetscCall(KSPFusedRhsApply(ksp, x, y, work));
    PetscCall(KSPFusedRhsStep(ksp, step, vec));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of the blocks of a block step; columns: room for pointers to A and B. ldA: of A */
static PetscErrorCode KSPFusedRhsFetchBlock_Private(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                                    PetscScalar **columns, SpikeKrylovBasis *h, PetscInt *ldA)
{
  KSPFusedRhs    *c       = ((KSPFused *)ksp->data)->columnsolve;
  const PetscBool update  = (PetscBool)(step == SPIKE_KRYLOV_UPDATE),
                  combine = (PetscBool)(step == SPIKE_KRYLOV_COMBINE),
                  smooth  = (PetscBool)(step == SPIKE_KRYLOV_SMOOTH);
  const PetscBool moves   = (PetscBool)(update && b->last > b->first);
  const Vec       v[]     = {b->r, b->x, b->q, b->p, b->z, b->y};
  const PetscBool w[]     = {update,
                             update,
                             (PetscBool)(update || smooth),
                             (PetscBool)(update || smooth),
                             moves,
                             (PetscBool)(moves || combine)};
  PetscScalar   **a[]     = {&h->r, &h->x, &h->q, &h->p, &h->z, &h->y};
  PetscInt        ld;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(h, sizeof(*h)));
  PetscCall(VecGetLocalSize(ksp->work[0], &h->n));
  h->first = 0;
  h->last  = b->last - b->first;
  h->c     = b->c;
  h->a     = b->a;
  h->g     = b->g;
  h->A     = b->A ? columns : NULL;
  h->B     = b->B ? columns + c->s.ncolumns : NULL;
  *ldA     = c->ld;
  for (int k = 0; k < 6; k++)
    if (v[k]) PetscCall(KSPFusedRhsFetch(ksp, v[k], PETSC_TRUE, w[k], a[k], &ld));
  for (PetscInt j = 0; j < h->last; j++) {
    if (b->A) PetscCall(KSPFusedRhsFetch(ksp, b->A[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->A[j], ldA));
    if (b->B) PetscCall(KSPFusedRhsFetch(ksp, b->B[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->B[j], &ld));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsBlockStep(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                    const KSPFusedBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  KSPFusedRhs     *c = ((KSPFused *)ksp->data)->columnsolve;
  SpikeKrylovBasis h, g;
  PetscInt         ldA, ldg = c->ld;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsFetchBlock_Private(ksp, step, b, c->columns, &h, &ldA));
  if (combine)
    PetscCall(
      KSPFusedRhsFetchBlock_Private(ksp, SPIKE_KRYLOV_COMBINE, combine, c->columns + 2 * c->s.ncolumns, &g, &ldg));
  PetscAssert(ldg == c->ld, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "A combination of vectors that all columns share");
  PetscCall((*c->s.k->basisstep)(&c->s, c->width, step, &h, ldA, c->ld, combine ? &g : NULL, recurrence));
  PetscCall(KSPFusedRhsGiveBack(c));
  if (recurrence)
    PetscCall(KSPFusedRhsReduce_Private(ksp, SPIKE_KRYLOV_NSTEPS,
                                        SpikeKrylovBasisSums(step, h.last - h.first, (PetscBool)(h.z != NULL),
                                                             (PetscBool)(h.q != NULL)),
                                        recurrence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- X */
PetscErrorCode KSPFusedRhsCopy(KSP ksp, Vec x, Vec y)
{
  Mat X, Y;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
  PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
  PetscCall(MatCopy(X, Y, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}
