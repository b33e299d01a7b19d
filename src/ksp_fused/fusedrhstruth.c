/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhstruth.c: true residuals of the leading columns, what they are compared with, and guesses */
#include "fusedrhstruth.h"
#include "fusedrhssteps.h"
#include "fusedtruth.h"
#include <petsc/private/pcimpl.h>

/* y_i <- a x_i + b y_i for the leading columns i, or for the wanted ones among them */
PetscErrorCode KSPFusedRhsLeading(KSP ksp, PetscScalar a, Mat X, PetscScalar b, Mat Y, const PetscBool wanted[])
{
  KSPFusedRhs *c     = ((KSPFused *)ksp->data)->rhs;
  PetscInt     count = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->width; i++)
    if (!wanted || wanted[i]) c->from[count++] = i;
  if (count) PetscCall(KSPFusedRhsCombine(ksp, count, a, X, c->from, b, Y, c->from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which right-hand sides the leading columns are */
const PetscInt *KSPFusedRhsNumbers(KSPFusedRhs *c)
{
  for (PetscInt i = 0; i < c->width; i++) c->to[i] = c->one[i].column;
  return c->to;
}

/*
  The block of residuals <- true residuals of the leading columns, preconditioned where the method's are. first: x are
  the initial guesses. Else, where x are corrections, the solutions, guess + B x, are left in scratch[0]. No column has
  a reason after it.
*/
PetscErrorCode KSPFusedRhsTrueResidual(KSP ksp, PetscBool first)
{
  KSPFused       *f    = (KSPFused *)ksp->data;
  KSPFusedRhs    *c    = f->rhs;
  const PetscBool left = (PetscBool)(ksp->pc_side == PC_LEFT && f->method->residual_preconditioned),
                  zero = (PetscBool)(first && ksp->guess_zero);
  Mat R = c->view[0], X = c->view[ksp->nwork], W, T;
  Vec x = c->x;

  PetscFunctionBegin;
  if (!first) PetscCall(KSPFusedSettle(ksp));
  PetscCall(KSPFusedRhsGetBlock(ksp, ksp->work[f->method->scratch[0]], &W));
  PetscCall(KSPFusedRhsGetBlock(ksp, ksp->work[f->method->scratch[1]], &T));
  if (!left) T = R;
  if (!first && KSPFusedIsCorrection(ksp)) {
    PetscCall(KSPFusedRhsPCApply(ksp, X, W));
    if (c->useguess) PetscCall(KSPFusedRhsLeading(ksp, 1.0, c->view[ksp->nwork + 1], 1.0, W, NULL));
    x = ksp->work[f->method->scratch[0]];
  }
  if (!zero) {
    /* a product by the copy skips columns with a reason */
    for (PetscInt i = 0; i < c->width; i++) c->s.scalars[i].reason = 0;
    if (f->product.own) PetscCall((*c->s.k->push)(&c->s, c->width));
    PetscCall(KSPFusedMult(ksp, x, left ? ksp->work[f->method->scratch[1]] : ksp->work[0]));
  }
  /* b - A x */
  PetscCall(KSPFusedRhsCombine(ksp, c->width, 1.0, c->rhs, KSPFusedRhsNumbers(c), zero ? 0.0 : -1.0, T, c->slot));
  if (left) PetscCall(KSPFusedRhsPCApply(ksp, T, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| of the leading columns, after KSPFusedRhsTrueResidual(), where the test has another norm */
PetscErrorCode KSPFusedRhsTruth(KSP ksp)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;
  Mat          T;
  Vec          t;

  PetscFunctionBegin;
  if (KSPFusedTestsTruth(ksp) || !KSPFusedIsTested(ksp)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsGetBlock(ksp, KSPFusedTruth(ksp), &T));
  for (PetscInt i = 0; i < c->width; i++) {
    PetscCall(MatDenseGetColumnVecRead(T, i, &t));
    PetscCall(KSPFusedNorm(ksp, t, &c->one[i].truth));
    PetscCall(MatDenseRestoreColumnVecRead(T, i, &t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ||b - A x|| of a column is compared with: KSPFusedGetBound(); the tolerance where the test has this norm */
PetscErrorCode KSPFusedRhsGetBound(KSP ksp, const KSPFusedOneRhs *one, PetscReal *bound)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;
  Vec          b;

  PetscFunctionBegin;
  *bound = one->goal;
  if (KSPFusedTestsTruth(ksp)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetColumnVecRead(c->rhs, one->column, &b));
  PetscCall(KSPFusedGetBound(ksp, b, one->first, bound));
  PetscCall(MatDenseRestoreColumnVecRead(c->rhs, one->column, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the wanted columns x becomes the guess, and the correction is 0 */
PetscErrorCode KSPFusedRhsSetGuess(KSP ksp, Mat X, const PetscBool wanted[])
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsLeading(ksp, 1.0, X, 0.0, c->view[ksp->nwork + 1], wanted));
  PetscCall(KSPFusedRhsLeading(ksp, 0.0, NULL, 0.0, c->view[ksp->nwork], wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether b and x of the column in slot i are to be divided by a unit, in a solve of its own: KSPFusedGetUnit() */
PetscErrorCode KSPFusedRhsIsAlone(KSP ksp, PetscInt i, PetscBool *alone)
{
  KSPFusedRhs    *c    = ((KSPFused *)ksp->data)->rhs;
  const PetscReal norm = c->s.scalars[i].norm;
  PetscReal       unit;
  Vec             b, r;

  PetscFunctionBegin;
  *alone = PETSC_FALSE;
  if (KSPFusedHasSquare(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetColumnVecRead(c->rhs, c->one[i].column, &b));
  PetscCall(MatDenseGetColumnVecRead(c->view[0], i, &r));
  PetscCall(KSPFusedGetUnit(ksp, norm, b, r, &unit));
  PetscCall(MatDenseRestoreColumnVecRead(c->view[0], i, &r));
  PetscCall(MatDenseRestoreColumnVecRead(c->rhs, c->one[i].column, &b));
  *alone = (PetscBool)(unit != 1.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}
