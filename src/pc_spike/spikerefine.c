/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefine.c: backward errors of PCSPIKE's solves, and steps of iterative refinement */
#include "spikeimpl.h"
#include "common/ordered.h"
#include "common/petsccompat.h"
#include "common/place.h"

/*
  A solve x <- M^-1 b is checked by its backward error

      eta = ||b - A x|| / (||A|| ||x|| + ||b||),    2-norms of vectors, infinity norm of A = Pmat

  and while eta is above the tolerance x <- x + M^-1 (b - A x) follows, as long as a step takes a tenth of eta at least.
  So it does while ||b - A x|| / ||b|| is above 100 times the tolerance, if eta is more than rounding: where x is large
  a small eta leaves a residual that is not. The same with A^T, whose 1-norm is the infinity norm of A. Sums of squares
  keep a NaN on any rank, which maxima may lose; where a sum without a NaN leaves the range of numbers, or is 0, all
  three vectors are measured by their largest elements.
*/

/* A: Pmat, or its copy where that was converted, which has all products; not the rows on other ranks */
Mat PCSpikeRefineMatrix_Private(PC pc)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  if (s->gather.A) return s->gather.pmat ? s->gather.pmat : pc->pmat;
  return s->aij ? s->aij : pc->pmat;
}

PetscErrorCode PCSpikeRefineReset_Private(PC pc)
{
  PCSpikeRefinement *f = &((PC_Spike *)pc->data)->refine;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&f->r));
  PetscCall(VecDestroy(&f->d));
  PetscCall(VecDestroy(&f->x));
  PetscCall(VecDestroy(&f->b));
  PetscCall(VecDestroy(&f->probe));
  f->reserved = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup begins: nothing is known of its solves */
PetscErrorCode PCSpikeRefineBegin_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  s->refine.measured     = PETSC_FALSE;
  s->refine.stands       = 0;
  s->refine.residual     = 0.0;
  s->trial.suspect       = PETSC_FALSE;
  s->trial.poor          = PETSC_FALSE;
  s->info.solves         = 0;
  s->info.refinements    = 0;
  s->info.unsolved       = 0;
  s->info.backward_error = -1.0;
  s->info.inverse_error  = -1.0;
  s->info.growth         = -1.0;
  s->info.zeropivot_row  = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt PCSpikeRefineSteps_Private(const PC_Spike *s)
{
  if (s->refine.max != PETSC_DECIDE) return s->refine.max;
  return s->precision == PETSC_SPIKE_PRECISION_BF16 || s->precision == PETSC_SPIKE_PRECISION_FP16 ? 10 : 2;
}

PetscReal PCSpikeRefineTolerance_Private(const PC_Spike *s)
{
  if (s->refine.tol != (PetscReal)PETSC_DECIDE) return s->refine.tol;
  return PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;
}

/*
  Truncated spikes are corrected down to the window tolerance, so that an application is exact to that: a direct solve
  takes a step of refinement, which is another application and a product with A. Where the far ends that truncation
  neglects are below about the tolerance of the solve, spikes that are followed down to that leave nothing to refine.
  The setups after a solve that took a step follow them (PETSC_BOOL3_TRUE), until the pattern changes, another method
  solves, or a window tolerance is set. Not so (PETSC_BOOL3_FALSE) where it does not help: a solve misses the tolerance
  all the same before its steps, or two in a row take one for their residuals. One alone may be a right-hand side with a
  large solution, of many to come
*/
#define SPIKE_FOLLOW 0.1 /* of the tolerance of solves */

/* Nothing is known of a new pattern */
void PCSpikeRefineForget_Private(PC_Spike *s)
{
  s->refine.follow = PETSC_BOOL3_UNKNOWN;
  s->refine.missed = 0;
}

/* The window tolerance of the setup that is under way, the same on all ranks */
PetscReal PCSpikeRefineWindow_Private(const PC_Spike *s)
{
  const PetscReal tol = SPIKE_FOLLOW * PCSpikeRefineTolerance_Private(s);

  if (s->band.cholesky) return 0.0; /* an application is hermitian to rounding */
  if (s->refine.follow != PETSC_BOOL3_TRUE || s->windowset || SpikePrecisionEpsilon(s->precision) > tol)
    return s->window;
  return PetscMin(s->window, tol);
}

/* After a solve, collective; a rank without rows may have no interfaces */
static PetscErrorCode PCSpikeRefineFollow_Private(PC pc)
{
  PC_Spike          *s    = (PC_Spike *)pc->data;
  PCSpikeRefinement *f    = &s->refine;
  const SpikeBand   *b    = &s->band;
  PetscReal          most = b->coupled && !b->full && !b->cholesky ? PCSpikeDecay_Private(s) : -1.0;

  PetscFunctionBegin;
  if (f->follow == PETSC_BOOL3_TRUE && b->window < s->window) {
    f->missed = f->steps ? f->missed + 1 : 0;
    if (f->steps && (f->above || f->missed > 1)) f->follow = PETSC_BOOL3_FALSE;
  }
  if (f->follow != PETSC_BOOL3_UNKNOWN || !f->steps) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  if (most >= 0.0 && most <= PCSpikeRefineTolerance_Private(s) / SPIKE_FOLLOW) f->follow = PETSC_BOOL3_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a solve is checked, the same on all ranks. Where the options ask for less than A (entries outside the band,
  no coupling) M^-1 b is what is wanted; factors of another matrix, as with KSPSetReusePreconditioner(), solve nothing
  of this one
*/
PetscErrorCode PCSpikeRefineChecks_Private(PC pc, PetscBool trans, PetscBool *checks)
{
  PC_Spike   *s = (PC_Spike *)pc->data;
  const Mat   A = PCSpikeRefineMatrix_Private(pc);
  PetscMPIInt size;
  PetscBool   has;

  PetscFunctionBegin;
  *checks = s->refine.direct == PETSC_BOOL3_UNKNOWN ? s->refine.armed : PetscBool3ToBool(s->refine.direct);
  if (!*checks || !s->built || !s->factored || !PCSpikeRefineSteps_Private(s)) *checks = PETSC_FALSE;
  if (!*checks) PetscFunctionReturn(PETSC_SUCCESS);
  *checks = PETSC_FALSE;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (PetscIsNanReal(s->refine.norm)) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->info.dropped > 0.0 && !s->apart && !(s->info.cut && s->maxband == PETSC_DECIDE))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (s->type == PC_SPIKE_BLOCK && (size > 1 || s->band.np > 1)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikePCIsCurrent(pc, checks));
  PetscCall(MatHasOperation(A, trans ? MATOP_MULT_TRANSPOSE : MATOP_MULT, &has));
  if (!has) *checks = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  r <- b - A x, and its backward error, PETSC_MAX_REAL where x or r is not finite; *bnorm of b is computed where it is
  negative. *wants: one more step may be of use
*/
static PetscErrorCode PCSpikeBackwardError_Private(PC pc, PetscBool trans, Vec b, Vec x, Vec r, PetscReal *bnorm,
                                                   PetscReal *eta, PetscBool *wants)
{
  const PetscReal tol   = PCSpikeRefineTolerance_Private((const PC_Spike *)pc->data);
  const PetscReal norm  = PetscMin(((PC_Spike *)pc->data)->refine.norm, PETSC_MAX_REAL); /* no infinity */
  const PetscBool first = (PetscBool)(*bnorm < 0.0);
  /* numbers of a subnormal size have few digits, of which a residual is made all the same */
  const PetscReal least = 4 * PETSC_REAL_MIN * PETSC_MACHINE_EPSILON;
  PetscReal       norms[3], xnorm, rnorm, most, scale;

  PetscFunctionBegin;
  PetscCall(PCSpikeResidual_Private(pc, trans, first, b, x, r, norms));
  rnorm = norms[0];
  xnorm = norms[1];
  if (first) *bnorm = norms[2];
  most = *bnorm;
  if (!PetscIsNanReal(xnorm + rnorm + most) &&
      (PetscIsInfReal(xnorm + rnorm + most) || xnorm == 0.0 || rnorm == 0.0 || most == 0.0)) {
    PetscCall(VecNorm(x, NORM_INFINITY, &xnorm)); /* squares may have left the range of numbers */
    PetscCall(VecNorm(r, NORM_INFINITY, &rnorm));
    PetscCall(VecNorm(b, NORM_INFINITY, &most));
  }
  scale = PetscMax(xnorm, most);
  if (PetscIsInfOrNanReal(xnorm) || PetscIsInfOrNanReal(rnorm)) *eta = PETSC_MAX_REAL;
  else if (rnorm == 0.0 || (xnorm < 1.0 && most < 1.0 && rnorm <= least * (1.0 + norm))) *eta = 0.0;
  else *eta = scale > 0.0 ? (rnorm / scale) / (norm * (xnorm / scale) + most / scale) : PETSC_MAX_REAL;
  ((PC_Spike *)pc->data)->refine.looked = most > 0.0 ? rnorm / most : rnorm > 0.0 ? PETSC_MAX_REAL : 0.0;
  *wants = (PetscBool)(*eta > tol || (rnorm > 100 * tol * most && *eta > 16 * PETSC_MACHINE_EPSILON));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the factors are good on all ranks */
PetscErrorCode PCSpikeIsNumeric_Private(PC pc, PetscBool *numeric)
{
  PetscFunctionBegin;
  *numeric = ((PC_Spike *)pc->data)->numeric;
  PetscCall(PCFactoredAgree_Private(pc, numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether b is of the type of Pmat's vectors, and where they are */
static PetscErrorCode PCSpikeRefineIsSame_Private(const PCSpikeRefinement *f, Vec b, PetscBool *same)
{
  PetscBool on[2];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)b, ((PetscObject)f->r)->type_name, same));
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeVecIsOnDevice(b, &on[0]));
  PetscCall(SpikeVecIsOnDevice(f->r, &on[1]));
  *same = (PetscBool)(on[0] == on[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work vectors r and d. The matrix may have gone to a device since they were made */
PetscErrorCode PCSpikeRefineVectors_Private(PC pc)
{
  PCSpikeRefinement *f = &((PC_Spike *)pc->data)->refine;
  const Mat          A = PCSpikeRefineMatrix_Private(pc);
  PetscBool          device, there;

  PetscFunctionBegin;
  if (f->r) {
    PetscCall(SpikeMatWantsDeviceVecs(A, &device));
    PetscCall(SpikeVecIsOnDevice(f->r, &there));
    if (device && !there) PetscCall(PCSpikeRefineReset_Private(pc));
  }
  if (!f->r) PetscCall(MatCreateVecs(A, &f->d, &f->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work vectors and sums for residuals; and vectors for b, if there is one, of another type than Pmat has */
PetscErrorCode PCSpikeRefineReserve_Private(PC pc, Vec b)
{
  PCSpikeRefinement *f = &((PC_Spike *)pc->data)->refine;
  PetscBool          same;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineVectors_Private(pc));
  PetscCall(PCSpikeResidualReserve_Private(pc));
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineIsSame_Private(f, b, &same));
  if (!same && !f->b) PetscCall(VecDuplicate(f->r, &f->b));
  if (!same && !f->x) PetscCall(VecDuplicate(f->d, &f->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x = M^-1 b is refined. *eta: the backward error at the end; negative where b is not finite, or the factors have
  failed on a rank, which is a failure of its own.

  A step that does not help is looked at twice, and so is x: a product can be wrong once. That of MATMPIAIJCUSPARSE in
  PETSc 3.26 with CUDA 13.0, of processes that share a busy GPU, now and then lacks one of its two summands in the
  last row of a rank.
*/
PetscErrorCode PCSpikeRefine_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
{
  PC_Spike          *s     = (PC_Spike *)pc->data;
  PCSpikeRefinement *f     = &s->refine;
  const PetscInt     steps = PCSpikeRefineSteps_Private(s);
  const PetscReal    tol   = PCSpikeRefineTolerance_Private(s);
  PetscReal          bnorm = -1.0, before, now;
  PetscInt           k     = 0;
  PetscBool          bsame, xsame, numeric, wants, more;
  Vec                bw = b, xw = x;

  PetscFunctionBegin;
  f->steps = 0;
  f->above = PETSC_FALSE;
  PetscCall(PCSpikeRefineReserve_Private(pc, b));
  PetscCall(PCSpikeRefineReserve_Private(pc, x));
  PetscCall(PCSpikeRefineIsSame_Private(f, b, &bsame));
  PetscCall(PCSpikeRefineIsSame_Private(f, x, &xsame));
  if (!bsame) PetscCall(VecCopy(b, bw = f->b));
  if (!xsame) PetscCall(VecCopy(x, xw = f->x));
  PetscCall(PCSpikeBackwardError_Private(pc, trans, bw, xw, f->r, &bnorm, &before, &wants));
  *eta        = before;
  f->above    = (PetscBool)(before > tol);
  f->residual = f->looked;
  if (before == PETSC_MAX_REAL) {
    PetscCall(PCSpikeIsNumeric_Private(pc, &numeric));
    if (!numeric || PetscIsInfOrNanReal(bnorm)) *eta = -1.0;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscBool helps = PETSC_TRUE; k < steps && helps && wants; before = *eta) {
    PetscCall(PCSpikeApply_Private(pc, trans, f->r, f->d));
    PetscCall(VecAXPY(f->d, 1.0, xw));
    for (PetscInt look = 0; look < 3; look++) { /* d twice, then x once more */
      const PetscBool step = (PetscBool)(look < 2);

      PetscCall(PCSpikeBackwardError_Private(pc, trans, bw, step ? f->d : xw, f->r, &bnorm, &now, &more));
      helps = (PetscBool)(now <= 0.9 * before || (now < before && !more));
      if (!helps) continue;
      if (look)
        PetscCall(PetscInfo(pc,
                            "Two products of the matrix with one vector differ: backward error %g the second time\n",
                            (double)now));
      if (step) {
        PetscCall(VecCopy(f->d, xw));
        k++;
      }
      *eta        = now;
      f->residual = f->looked;
      wants       = more;
      break;
    }
  }
  if (k && !xsame) PetscCall(VecCopy(xw, x));
  f->steps = k;
  s->info.refinements += k;
  PetscCall(PetscInfo(pc,
                      "Backward error %g, residual %g of the right-hand side, after %" PetscInt_FMT
                      " steps of refinement%s\n",
                      (double)*eta, (double)f->residual, k, *eta > tol ? ": above the tolerance" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeRefineOrdered_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
{
  SpikeOrdered   ordered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(SpikeOrderedBegin(x, &ordered));
  ierr = PCSpikeRefine_Private(pc, trans, b, x, eta);
  PetscCall(SpikeOrderedEnd(&ordered));
  PetscCall(ierr);
  PetscCall(PCSpikeRefineFollow_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
