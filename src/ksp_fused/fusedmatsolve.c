/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedmatsolve.c: KSPMatSolve(): all columns together, as a block, or one by one */
#include "fusedmatsolve.h"
#include "fusedfactors.h"
#include "fusedplace.h"
#include "fusedrhs.h"
#include "fusedrhsmat.h"
#include "common/array.h"
#include "common/ordered.h"
#include <petsc/private/pcimpl.h>

static inline PetscBool KSPFusedIsIndefinite(KSPConvergedReason reason)
{
  return (PetscBool)(reason == KSP_DIVERGED_INDEFINITE_MAT || reason == KSP_DIVERGED_INDEFINITE_PC ||
                     reason == KSP_CONVERGED_NEG_CURVE);
}

/* Where a vector, right-hand sides and solutions are */
static PetscErrorCode KSPFusedMemTypes_Private(Vec x, Mat B, Mat X, PetscMemType memtype[3])
{
  const PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(SpikeVecGetMemType(x, &memtype[0]));
  PetscCall(MatDenseGetArrayReadAndMemType(B, &array, &memtype[1]));
  PetscCall(MatDenseRestoreArrayReadAndMemType(B, &array));
  PetscCall(MatDenseGetArrayReadAndMemType(X, &array, &memtype[2]));
  PetscCall(MatDenseRestoreArrayReadAndMemType(X, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A right-hand side and a solution where the vectors of A are, if B or X is not there, else nothing: products of a
  matrix on a device do not see what is written to a vector of the host
*/
static PetscErrorCode KSPFusedVecsThere_Private(KSP ksp, Mat B, Mat X, Vec there[2])
{
  PetscMemType memtype[3];
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatCreateVecs(A, &there[1], &there[0]));
  PetscCall(KSPFusedMemTypes_Private(there[0], B, X, memtype));
  if (PetscMemTypeHost(memtype[0]) == PetscMemTypeHost(memtype[1]) &&
      PetscMemTypeHost(memtype[0]) == PetscMemTypeHost(memtype[2])) {
    PetscCall(VecDestroy(&there[0]));
    PetscCall(VecDestroy(&there[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Column by column, as KSPMatSolve() does it for methods that know of one right-hand side; or, with rest, the columns
  without a reason
*/
static PetscErrorCode KSPFusedSolveSingle_Private(KSP ksp, PetscBool rest, Mat B, Mat X)
{
  KSPFused          *f      = (KSPFused *)ksp->data;
  KSPFusedRhs       *c      = f->rhs;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  const PetscBool    zero   = ksp->guess_zero;
  PetscInt           its    = 0;
  Vec                b, x, there[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(KSPFusedVecsThere_Private(ksp, B, X, there));
  for (PetscInt i = 0; i < c->nresults; i++) {
    if (rest && c->reasons[i]) continue;
    PetscCall(MatDenseGetColumnVecRead(B, i, &b));
    if (zero) PetscCall(MatDenseGetColumnVecWrite(X, i, &x));
    else PetscCall(MatDenseGetColumnVec(X, i, &x));
    if (there[0]) {
      PetscCall(VecCopy(b, there[0]));
      if (!zero) PetscCall(VecCopy(x, there[1]));
    }
    if (SpikeKSPIsTransposeRequested(ksp))
      PetscCall(KSPSolveTranspose(ksp, there[0] ? there[0] : b, there[1] ? there[1] : x));
    else PetscCall(KSPSolve(ksp, there[0] ? there[0] : b, there[1] ? there[1] : x));
    if (there[1]) PetscCall(VecCopy(there[1], x));
    if (zero) PetscCall(MatDenseRestoreColumnVecWrite(X, i, &x));
    else PetscCall(MatDenseRestoreColumnVec(X, i, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, i, &b));
    c->its[i]     = ksp->its;
    c->reasons[i] = ksp->reason;
    c->norms[i]   = ksp->rnorm;
  }
  PetscCall(VecDestroy(&there[0]));
  PetscCall(VecDestroy(&there[1]));
  for (PetscInt i = 0; i < c->nresults; i++) {
    its = PetscMax(its, c->its[i]);
    if (!reason || c->reasons[i] < reason) reason = c->reasons[i];
  }
  ksp->its    = its;
  ksp->reason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether all columns can go together: vectors of A and blocks lie in one memory that has a backend for columns, the
  test is one that a column has for itself, and nothing that a single solve does before and after it is missing here:
  KSPMatSolve() calls neither PCPreSolve() nor what was set with KSPSetPreSolve(), and knows no KSPGuess.
*/
static PetscErrorCode KSPFusedRhsSuit_Private(KSP ksp, Mat B, Mat X, PetscBool *suits)
{
  KSPFused    *f  = (KSPFused *)ksp->data;
  const PC     pc = ksp->pc;
  PetscMemType memtype[3];
  PetscBool    together = PETSC_FALSE; /* PCPreSolve() has nothing to do */

  PetscFunctionBegin;
  *suits = (PetscBool)(f->options.matsolve != KSP_FUSED_MATSOLVE_SINGLE && f->rhs->nresults > 1 &&
                       !f->options.replacement && !f->options.petsc &&
                       (ksp->converged == KSPConvergedDefault || ksp->converged == KSPConvergedSkip));
  *suits = (PetscBool)(*suits && !ksp->guess && !ksp->guess_knoll && !SpikeKSPHasSolveHooks(ksp));
  PetscTryMethod(pc, "PetscSpikeColumnsTogether_C", (PC, PetscBool *), (pc, &together));
  *suits = (PetscBool)(*suits && ((!pc->ops->presolve && !pc->ops->postsolve) || together) && !pc->ops->applyBA &&
                       !pc->ops->applyBAtranspose);
  if (!*suits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedMemTypes_Private(ksp->work[0], B, X, memtype));
  for (int i = 0; i < 3; i++)
    if (!SpikeKrylovRhsKernelsFind(memtype[i]) || SpikeKrylovKernelsFind(memtype[i])->maxcolumns < f->basis.ncolumns ||
        SpikeKrylovRhsKernelsFind(memtype[i]) != SpikeKrylovRhsKernelsFind(memtype[0]))
      *suits = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A block method in even parts, because tall matrices have at most SPIKE_BLOCK_MAXM columns there. Figures and
  history are those of all, and of the last
*/
static PetscErrorCode KSPFusedSolveParts_Private(KSP ksp, Mat B, Mat X)
{
  KSPFusedRhs       *c = ((KSPFused *)ksp->data)->rhs;
  const PetscInt     m = c->nresults, parts = (m + SPIKE_BLOCK_MAXM - 1) / SPIKE_BLOCK_MAXM;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt           its    = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < parts; k++) {
    const PetscInt first = k * (m / parts) + PetscMin(k, m % parts),
                   end   = (k + 1) * (m / parts) + PetscMin(k + 1, m % parts);
    Mat b, x, whole;

    c->first = first;
    PetscCall(MatDenseGetSubMatrix(B, PETSC_DECIDE, PETSC_DECIDE, first, end, &b));
    PetscCall(MatDenseGetSubMatrix(X, PETSC_DECIDE, PETSC_DECIDE, first, end, &x));
    if (ksp->res_hist_reset) ksp->res_hist_len = 0;
    whole = SpikeKSPSwapMatRhs(ksp, b);
    PetscCall(KSPFusedSolveColumns(ksp, b, x));
    SpikeKSPSwapMatRhs(ksp, whole);
    PetscCall(MatDenseRestoreSubMatrix(X, &x));
    PetscCall(MatDenseRestoreSubMatrix(B, &b));
    its = PetscMax(its, ksp->its);
    if (!reason || ksp->reason < reason) reason = ksp->reason;
  }
  ksp->its    = its;
  ksp->reason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Single solves of the columns without a reason. The history stays that of the columns that went together; the norm at
  its end, as that of the KSP, is the Frobenius norm of all
*/
static PetscErrorCode KSPFusedSolveRest_Private(KSP ksp, Mat B, Mat X)
{
  KSPFusedRhs     *c     = ((KSPFused *)ksp->data)->rhs;
  const PetscCount count = ksp->res_hist_len, most = ksp->res_hist_max;
  PetscInt         left = 0;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->nresults; i++) left += c->reasons[i] ? 0 : 1;
  if (!left) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(ksp, "%" PetscInt_FMT " columns are solved one by one\n", left));
  ksp->res_hist_max = 0;
  ierr              = KSPFusedSolveSingle_Private(ksp, PETSC_TRUE, B, X);
  ksp->res_hist_max = most;
  ksp->res_hist_len = count;
  PetscCall(ierr);
  ksp->rnorm = 0.0;
  for (PetscInt i = 0; i < c->nresults; i++) ksp->rnorm = (PetscReal)hypot(ksp->rnorm, c->norms[i]);
  KSPFusedReplaceLastNorm(ksp);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A block method, and single solves of what it leaves: one column that meets an operator or preconditioner that is not
  definite ends all, and the space of another one may be definite
*/
static PetscErrorCode KSPFusedSolveBlock_Private(KSP ksp, Mat B, Mat X)
{
  KSPFused    *f     = (KSPFused *)ksp->data;
  KSPFusedRhs *c     = f->rhs;
  Mat          guess = NULL;
  Vec          x, y;

  PetscFunctionBegin;
  PetscCheck(!f->options.symmetric, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "Block CG is for Hermitian operators, not complex symmetric ones (KSPCGSetType()): take "
             "-ksp_fused_matsolve columns");
  if (!ksp->guess_zero) PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &guess));
  if (c->nresults > SPIKE_BLOCK_MAXM) PetscCall(KSPFusedSolveParts_Private(ksp, B, X));
  else PetscCall(KSPFusedSolveColumns(ksp, B, X));
  for (PetscInt i = 0; i < c->nresults; i++) {
    if (!KSPFusedIsIndefinite(c->reasons[i])) continue;
    PetscCall(PetscInfo(ksp, "Column %" PetscInt_FMT " of the block has ended with %s\n", i,
                        KSPConvergedReasons[c->reasons[i]]));
    c->reasons[i] = KSP_CONVERGED_ITERATING;
    if (!guess) continue;
    PetscCall(MatDenseGetColumnVecRead(guess, i, &y));
    PetscCall(MatDenseGetColumnVecWrite(X, i, &x));
    PetscCall(VecCopy(y, x));
    PetscCall(MatDenseRestoreColumnVecWrite(X, i, &x));
    PetscCall(MatDenseRestoreColumnVecRead(guess, i, &y));
  }
  PetscCall(MatDestroy(&guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedMatSolveOrdered_Private(KSP ksp, Mat B, Mat X)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->rhs->together && f->options.matsolve == KSP_FUSED_MATSOLVE_BLOCK)
    PetscCall(KSPFusedSolveBlock_Private(ksp, B, X));
  else if (f->rhs->together) PetscCall(KSPFusedSolveColumns(ksp, B, X));
  else PetscCall(KSPFusedSolveSingle_Private(ksp, PETSC_FALSE, B, X));
  PetscCall(KSPFusedSolveRest_Private(ksp, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPMatSolve_Fused(KSP ksp, Mat B, Mat X)
{
  KSPFused      *f = (KSPFused *)ksp->data;
  KSPFusedRhs   *c;
  SpikeOrdered   ordered;
  PetscBool      there;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(SpikeKSPBegin(ksp));
  PetscCall(KSPFusedPlaceWork(ksp, &there));
  if (ksp->res_hist_reset) ksp->res_hist_len = 0; /* a PETSc before 3.26 does so for single solves only */
  if (!f->rhs) PetscCall(PetscNew(&f->rhs));
  c = f->rhs;
  PetscCall(MatGetSize(B, NULL, &c->nresults));
  if (c->roomresults < c->nresults) {
    PetscCall(PetscFree3(c->its, c->reasons, c->norms));
    PetscCall(PetscMalloc3(c->nresults, &c->its, c->nresults, &c->reasons, c->nresults, &c->norms));
    c->roomresults = c->nresults;
  }
  if (!c->nresults) {
    ksp->its    = 0;
    ksp->reason = KSP_CONVERGED_ATOL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(KSPFusedRhsSuit_Private(ksp, B, X, &c->together));
  PetscCall(PetscInfo(ksp, "%" PetscInt_FMT " right-hand sides, %s\n", c->nresults,
                      c->together ? "all columns together" : "column by column"));
  if (c->together) PetscCall(KSPFusedSetFactors(ksp, PETSC_FALSE));
  c->first = 0;
  PetscCall(SpikeOrderedBeginMat(X, &ordered));
  ierr = KSPFusedMatSolveOrdered_Private(ksp, B, X);
  PetscCall(SpikeOrderedEnd(&ordered));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
