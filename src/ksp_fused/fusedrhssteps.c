/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhssteps.c: the operations of several right-hand sides, with tall matrices in place of vectors */
#include "fusedrhssteps.h"
#include "fusedrhsmat.h"

/*
  One reduction over all ranks for the sums of a step of all columns. Then column by column SpikeIDRRecur() with a
  recurrence, else SpikeKrylovRecur()
*/
static PetscErrorCode KSPFusedRhsReduce_Private(KSP ksp, SpikeKrylovStep step, PetscInt n,
                                                const SpikeIDRRecurrence *recurrence)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->rhs;
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

static PetscErrorCode KSPFusedStep_Rhs(KSP ksp, SpikeKrylovStep step, PetscBool defer, const Vec vec[])
{
  KSPFusedRhs               *c    = ((KSPFused *)ksp->data)->rhs;
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  PetscScalar               *v[SPIKE_KRYLOV_MAXVECTORS];
  PetscInt                   n, ld[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  (void)defer;
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  for (PetscInt k = 0; k < info->nvectors; k++)
    PetscCall(KSPFusedRhsGetArray(ksp, vec[k], (PetscBool)((info->read >> k) & 1),
                                  (PetscBool)((info->written >> k) & 1), &v[k], &ld[k]));
  PetscCall((*c->s.k->step)(KSPFusedRhsOperands(c), c->width, step, n, v, ld));
  PetscCall(KSPFusedRhsRestoreArrays(ksp));
  if (info->ndots) PetscCall(KSPFusedRhsReduce_Private(ksp, step, info->ndots, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Y <- A X, or Y <- D A X where scale is the diagonal matrix D, by the copy of A, with the sums of a step that reads Y
*/
static PetscErrorCode KSPFusedRhsCopyMult_Private(KSP ksp, Vec x, Vec y, Vec scale, SpikeKrylovStep step,
                                                  const Vec vec[])
{
  KSPFused                 *f     = (KSPFused *)ksp->data;
  KSPFusedRhs              *c     = f->rhs;
  const SpikeKrylovStepInfo none  = {"product", 0, 0, 0, 0, 0.0},
                            *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : &none;
  PetscScalar *ax, *ay, *ad = NULL, *v[SPIKE_KRYLOV_MAXVECTORS];
  PetscInt     ldxy, ldd, ld[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsGetArray(ksp, y, PETSC_FALSE, PETSC_TRUE, &ay, &ldxy));
  PetscCall(KSPFusedRhsGetArray(ksp, x, PETSC_TRUE, PETSC_FALSE, &ax, &ldxy));
  if (scale) PetscCall(KSPFusedRhsGetArray(ksp, scale, PETSC_TRUE, PETSC_FALSE, &ad, &ldd));
  for (PetscInt k = 0; k < info->nvectors; k++) {
    v[k]  = ay;
    ld[k] = ldxy;
    if (vec[k] != y) PetscCall(KSPFusedRhsGetArray(ksp, vec[k], PETSC_TRUE, PETSC_FALSE, &v[k], &ld[k]));
  }
  PetscCall((*c->s.k->mult)(KSPFusedRhsOperands(c), f->product.copy, c->width, step, ad, ax, ay, ldxy, v, ld));
  PetscCall(KSPFusedRhsRestoreArrays(ksp));
  if (info->ndots) PetscCall(KSPFusedRhsReduce_Private(ksp, step, info->ndots, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- A X, by the copy of A where there is one */
static PetscErrorCode KSPFusedMult_Rhs(KSP ksp, Vec x, Vec y)
{
  Mat X, Y;

  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->product.own)
    PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, NULL, SPIKE_KRYLOV_NSTEPS, NULL));
  else {
    PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
    PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
    PetscCall(KSPFusedRhsMatMult(ksp, X, Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- A X and a step that reads Y */
static PetscErrorCode KSPFusedMultStep_Rhs(KSP ksp, Vec x, Vec y, SpikeKrylovStep step, const Vec vec[])
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->product.own) PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, NULL, step, vec));
  else {
    PetscCall(KSPFusedMult_Rhs(ksp, x, y));
    PetscCall(KSPFusedStep_Rhs(ksp, step, PETSC_FALSE, vec));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B X */
static PetscErrorCode KSPFusedPCApply_Rhs(KSP ksp, Vec x, Vec y)
{
  KSPFused *f = (KSPFused *)ksp->data;
  Mat       X, Y;

  PetscFunctionBegin;
  if (f->pc.diagonal) {
    const Vec v[] = {f->pc.diagonal, x, y};

    PetscCall(KSPFusedStep_Rhs(ksp, SPIKE_DIAGONAL, PETSC_FALSE, v));
  } else {
    PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
    PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
    PetscCall(KSPFusedRhsPCApply(ksp, X, Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B A X or A B X */
static PetscErrorCode KSPFusedApply_Rhs(KSP ksp, Vec x, Vec y, Vec work)
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->pc.identity) PetscCall(KSPFusedMult_Rhs(ksp, x, y));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply_Rhs(ksp, x, work));
    PetscCall(KSPFusedMult_Rhs(ksp, work, y));
  } else {
    PetscCall(KSPFusedMult_Rhs(ksp, x, work));
    PetscCall(KSPFusedPCApply_Rhs(ksp, work, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B A X or A B X and a step that reads Y */
static PetscErrorCode KSPFusedApplyStep_Rhs(KSP ksp, Vec x, Vec y, Vec work, SpikeKrylovStep step, const Vec vec[])
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->pc.identity) PetscCall(KSPFusedMultStep_Rhs(ksp, x, y, step, vec));
  else if (ksp->pc_side == PC_RIGHT) {
    PetscCall(KSPFusedPCApply_Rhs(ksp, x, work));
    PetscCall(KSPFusedMultStep_Rhs(ksp, work, y, step, vec));
  } else if (f->product.own && f->pc.diagonal)
    PetscCall(KSPFusedRhsCopyMult_Private(ksp, x, y, f->pc.diagonal, step, vec));
  else {
    PetscCall(KSPFusedApply_Rhs(ksp, x, y, work));
    PetscCall(KSPFusedStep_Rhs(ksp, step, PETSC_FALSE, vec));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of a basis step; columns: room for pointers to A and B. ldA: leading dimension of A */
static PetscErrorCode KSPFusedRhsFetchBasis_Private(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                                    PetscScalar **columns, SpikeKrylovBasis *h, PetscInt *ldA)
{
  KSPFusedRhs    *c       = ((KSPFused *)ksp->data)->rhs;
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
    if (v[k]) PetscCall(KSPFusedRhsGetArray(ksp, v[k], PETSC_TRUE, w[k], a[k], &ld));
  for (PetscInt j = 0; j < h->last; j++) {
    if (b->A) PetscCall(KSPFusedRhsGetArray(ksp, b->A[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->A[j], ldA));
    if (b->B) PetscCall(KSPFusedRhsGetArray(ksp, b->B[b->first + j], PETSC_TRUE, PETSC_FALSE, &h->B[j], &ld));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedBasisStep_Rhs(KSP ksp, SpikeKrylovBasisStep step, const KSPFusedBasis *b,
                                            const KSPFusedBasis *combine, const SpikeIDRRecurrence *recurrence,
                                            PetscBool defer)
{
  KSPFusedRhs     *c = ((KSPFused *)ksp->data)->rhs;
  SpikeKrylovBasis h, g;
  PetscInt         ldA, ldg = c->ld;

  PetscFunctionBegin;
  (void)defer;
  PetscCall(KSPFusedRhsFetchBasis_Private(ksp, step, b, c->columns, &h, &ldA));
  if (combine)
    PetscCall(
      KSPFusedRhsFetchBasis_Private(ksp, SPIKE_KRYLOV_COMBINE, combine, c->columns + 2 * c->s.ncolumns, &g, &ldg));
  PetscAssert(ldg == c->ld, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
              "A combination of vectors that all columns share");
  PetscCall((*c->s.k->basisstep)(&c->s, c->width, step, &h, ldA, c->ld, combine ? &g : NULL, recurrence));
  PetscCall(KSPFusedRhsRestoreArrays(ksp));
  if (recurrence)
    PetscCall(KSPFusedRhsReduce_Private(ksp, SPIKE_KRYLOV_NSTEPS,
                                        SpikeKrylovBasisSums(step, h.last - h.first, (PetscBool)(h.z != NULL),
                                                             (PetscBool)(h.q != NULL)),
                                        recurrence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- X */
static PetscErrorCode KSPFusedCopy_Rhs(KSP ksp, Vec x, Vec y)
{
  Mat X, Y;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsGetBlock(ksp, x, &X));
  PetscCall(KSPFusedRhsGetBlock(ksp, y, &Y));
  PetscCall(MatCopy(X, Y, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedBasisApplyDots_Rhs(KSP ksp, Vec x, Vec work, const KSPFusedBasis *dots,
                                                 const SpikeIDRRecurrence *recurrence)
{
  PetscFunctionBegin;
  if (((KSPFused *)ksp->data)->pc.flexible) PetscCall(KSPFusedMult_Rhs(ksp, x, dots->y));
  else PetscCall(KSPFusedApply_Rhs(ksp, x, dots->y, work));
  PetscCall(KSPFusedBasisStep_Rhs(ksp, SPIKE_KRYLOV_DOTS, dots, NULL, recurrence, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *KSPFusedSmall_Rhs(KSPFused *f)
{
  return f->rhs->s.small;
}

static PetscErrorCode KSPFusedBuildSolution_Rhs(KSP ksp, Vec v, Vec *V)
{
  PetscFunctionBegin;
  (void)v;
  (void)V;
  SETERRQ(PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
          "KSPMatSolve() has no single solution or residual while all columns iterate together: take "
          "-ksp_fused_matsolve single, or monitors that ask for neither");
}

const KSPFusedOps KSPFusedOps_Rhs = {
  .step           = KSPFusedStep_Rhs,
  .mult           = KSPFusedMult_Rhs,
  .multstep       = KSPFusedMultStep_Rhs,
  .pcapply        = KSPFusedPCApply_Rhs,
  .apply          = KSPFusedApply_Rhs,
  .applystep      = KSPFusedApplyStep_Rhs,
  .copy           = KSPFusedCopy_Rhs,
  .basisstep      = KSPFusedBasisStep_Rhs,
  .basisapplydots = KSPFusedBasisApplyDots_Rhs,
  .small          = KSPFusedSmall_Rhs,
  .buildsolution  = KSPFusedBuildSolution_Rhs,
};
