/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefine.c: PCSPIKE as a direct solver: backward errors of its solves, and steps of iterative refinement */
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

static PetscInt PCSpikeRefineSteps_Private(const PC_Spike *s)
{
  if (s->refine.max != PETSC_DECIDE) return s->refine.max;
  return s->precision == PETSC_SPIKE_PRECISION_BF16 || s->precision == PETSC_SPIKE_PRECISION_FP16 ? 10 : 2;
}

static PetscReal PCSpikeRefineTolerance_Private(const PC_Spike *s)
{
  if (s->refine.tol != (PetscReal)PETSC_DECIDE) return s->refine.tol;
  return PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;
}

/*
  Whether the backward error of a solve says nothing. With boosted pivots a singular matrix has solutions so large that
  it is small all the same: those that leave more of b than the square root of the machine epsilon, and are larger than
  b by more than the inverse of that
*/
static PetscBool PCSpikeRefineIsHollow_Private(const PC_Spike *s, PetscReal eta)
{
  const PetscReal root = PetscSqrtReal(PETSC_MACHINE_EPSILON);

  return (PetscBool)(s->boosted && eta >= 0.0 && s->refine.residual > root && root * s->refine.residual > eta);
}

/* Whether a solve with this backward error is none; a shift type that was set asks for what boosted pivots give */
static PetscBool PCSpikeRefineMisses_Private(const PC_Spike *s, PetscReal eta)
{
  return (PetscBool)(eta > PCSpikeRefineTolerance_Private(s) ||
                     (s->shifttype == (MatFactorShiftType)PETSC_DECIDE && PCSpikeRefineIsHollow_Private(s, eta)));
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
static PetscErrorCode PCSpikeRefineChecks_Private(PC pc, PetscBool trans, PetscBool *checks)
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

/*
  A backward error that stays above the tolerance is a failure of the preconditioner: of one solve, which the next one
  forgets, or of a setup. A shift type that was set asks for the result of boosted pivots as it is.
*/
static PetscErrorCode PCSpikeFail_Private(PC pc, PetscBool forget)
{
  PC_Spike   *s    = (PC_Spike *)pc->data;
  const char *pre  = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  const char *what = forget ? "a solve" : "a solve with random values";
  const char *why  = s->boosted                           ? "zero pivots were boosted"
                   : s->info.cut && s->info.dropped > 0.0 ? "the band was cut, and entries are outside of it"
                   : s->apart && s->info.dropped > 0.0
                     ? "each rank has ordered its rows, and couplings between ranks are "
                       "outside the band"
                   : s->ex.across || s->band.np > 1 ? "there are several partitions"
                                                    : "pivots are small or the precision of the factors is low";

  PetscFunctionBegin;
  if (s->boosted && s->shifttype != (MatFactorShiftType)PETSC_DECIDE) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->info.backward_error <= PCSpikeRefineTolerance_Private(s))
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                                     "Zero pivots were boosted, and %s leaves %g of its right-hand side: the matrix is "
                                     "singular, or nearly; attach its null space (MatSetNullSpace()) and take an "
                                     "iterative -%sksp_type, such as bcgsfused",
                                     what, (double)s->refine.residual, pre));
  else
    PetscCall(PCFactoredFail_Private(pc, s->boosted ? PC_FACTOR_NUMERIC_ZEROPIVOT : PC_FACTOR_OTHER,
                                     s->boosted ? PETSC_ERR_MAT_LU_ZRPVT : PETSC_ERR_NOT_CONVERGED,
                                     "The backward error of %s is %g, above %g, after at most %" PetscInt_FMT
                                     " steps of refinement: %s; take -%spc_type spike with an iterative -%sksp_type, "
                                     "such as bcgsfused, or allow more -%spc_spike_max_refinements or a larger "
                                     "-%spc_spike_refinement_tol",
                                     what, (double)s->info.backward_error, (double)PCSpikeRefineTolerance_Private(s),
                                     PCSpikeRefineSteps_Private(s), why, pre, pre, pre, pre));
  s->refused = forget;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the factors are good on all ranks */
static PetscErrorCode PCSpikeIsNumeric_Private(PC pc, PetscBool *numeric)
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
static PetscErrorCode PCSpikeRefineReserve_Private(PC pc, Vec b)
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
static PetscErrorCode PCSpikeRefine_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
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

/*
  The end of a solve for one or many right-hand sides; eta: the largest, negative where nothing is known; misses: one of
  them is none
*/
static PetscErrorCode PCSpikeRefined_Private(PC pc, PetscReal eta, PetscBool misses)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (eta < 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  s->info.solves++;
  s->info.backward_error = eta;
  if (!misses) PetscFunctionReturn(PETSC_SUCCESS);
  s->info.unsolved++;
  PetscCall(PCSpikeFail_Private(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeRefineOrdered_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
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

/*
  Whether `auto` has truncated spikes, and a solve misses the tolerance for it: far ends are judged beside their tips,
  and these may be large where partitions are worse conditioned than the matrix. Then it couples exactly, from the next
  setup on, until the pattern changes. The same on all ranks
*/
static PetscErrorCode PCSpikeRefineExact_Private(PC pc, PetscReal eta, PetscBool *again)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!(eta > PCSpikeRefineTolerance_Private(s)) || s->type != PC_SPIKE_AUTO || s->coupling.exact)
    PetscFunctionReturn(PETSC_SUCCESS);
  *again = (PetscBool)(s->band.coupled && !s->band.full);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, again, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "Backward error %g of a solve with truncated spikes: setting up again with exact coupling\n",
                      (double)eta));
  s->coupling.exact = PETSC_TRUE;
  s->again          = SPIKE_AGAIN_COUPLING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a setup anew may be better than one of which a solve has this backward error: with exact coupling, with row
  exchanges, or in one partition. A trial finds factors with boosted pivots of use that are none for a direct solve:
  refinement comes nearer in more steps than it may take. The same on all ranks
*/
static PetscErrorCode PCSpikeRefineMissed_Private(PC pc, PetscReal eta, PetscBool *again)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeRefineExact_Private(pc, eta, again));
  if (*again || !PCSpikeRefineMisses_Private((const PC_Spike *)pc->data, eta)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeTrialMissed_Private(pc, eta, again));
  if (*again) PetscCall(PetscInfo(pc, "Backward error %g of a solve: setting up in another way\n", (double)eta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, whose backward error is *eta, once more after other setups, while they are worth it; each is made once */
static PetscErrorCode PCSpikeRefineAgain_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
{
  PC_Spike      *s      = (PC_Spike *)pc->data;
  const PetscInt stands = s->refine.stands;
  PetscBool      again;

  PetscFunctionBegin;
  for (;;) {
    const PCSpikeInfo info = s->info; /* the counts of solves go on */

    PetscCall(PCSpikeRefineMissed_Private(pc, *eta, &again));
    if (!again) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PCSpikeChanged_Private(pc));
    PetscCall(PCSetUp(pc));
    s->info.solves      = info.solves;
    s->info.refinements = info.refinements;
    s->info.unsolved    = info.unsolved;
    s->refine.stands    = stands;
    PetscCall(PCSpikeApply_Private(pc, trans, b, x));
    PetscCall(PCSpikeRefineOrdered_Private(pc, trans, b, x, eta));
  }
}

PetscErrorCode PCSpikeRefineVec_Private(PC pc, PetscBool trans, Vec b, Vec x)
{
  PetscBool checks;
  PetscReal eta;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineChecks_Private(pc, trans, &checks));
  if (!checks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Refine, pc, b, x, 0));
  PetscCall(PCSpikeRefineOrdered_Private(pc, trans, b, x, &eta));
  PetscCall(PetscLogEventEnd(PC_Spike_Refine, pc, b, x, 0));
  PetscCall(PCSpikeRefineAgain_Private(pc, trans, b, x, &eta));
  PetscCall(PCSpikeRefined_Private(pc, eta, PCSpikeRefineMisses_Private((const PC_Spike *)pc->data, eta)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column by column: most need no step, and the product with A is all that is left */
PetscErrorCode PCSpikeRefineMat_Private(PC pc, PetscBool trans, Mat B, Mat X)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool checks, misses = PETSC_FALSE;
  PetscInt  ncols;
  PetscReal eta, worst = -1.0, residual = 0.0;
  Vec       b, x;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineChecks_Private(pc, trans, &checks));
  if (!checks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Refine, pc, B, X, 0));
  PetscCall(MatGetSize(X, NULL, &ncols));
  for (PetscInt c = 0; c < ncols; c++) {
    PetscErrorCode ierr;

    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(MatDenseGetColumnVec(X, c, &x));
    ierr = PCSpikeRefineOrdered_Private(pc, trans, b, x, &eta);
    if (!ierr) ierr = PCSpikeRefineAgain_Private(pc, trans, b, x, &eta);
    PetscCall(MatDenseRestoreColumnVec(X, c, &x)); /* also where memory was short */
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    PetscCall(ierr);
    misses   = (PetscBool)(misses || PCSpikeRefineMisses_Private(s, eta));
    worst    = PetscMax(worst, eta);
    residual = PetscMax(residual, s->refine.residual);
  }
  s->refine.residual = residual;
  PetscCall(PetscLogEventEnd(PC_Spike_Refine, pc, B, X, 0));
  PetscCall(PCSpikeRefined_Private(pc, worst, misses));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where each application is a solve, a setup whose factors may be inexact is tried on one right-hand side: a
  factorization can fail, as with a MatSolverType, where a solve cannot say that it has. What solves need is taken here:
  a setup can fail for want of memory before other ranks wait. *again: the setup has to be made anew
*/
PetscErrorCode PCSpikeRefineVerify_Private(PC pc, PetscBool *again)
{
  PC_Spike          *s = (PC_Spike *)pc->data;
  PCSpikeRefinement *f = &s->refine;
  PetscBool          checks;
  PetscMPIInt        flags[2];
  PetscReal          eta;
  Vec                b;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (f->direct != PETSC_BOOL3_TRUE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineChecks_Private(pc, PETSC_FALSE, &checks));
  if (!checks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineReserve_Private(pc, NULL));
  flags[0] = s->boosted || s->trial.suspect || s->info.cornerboosted || (s->info.decay > 1e-6 && !s->band.full) ||
             SpikePrecisionEpsilon(s->precision) > PETSC_MACHINE_EPSILON;
  flags[1] = !s->numeric;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 2, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  if (!flags[0] || flags[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeGetProbe_Private(pc, &b));
  if (!f->x) PetscCall(VecDuplicate(f->d, &f->x));
  PetscCall(PCSpikeApply_Private(pc, PETSC_FALSE, b, f->x));
  PetscCall(PCSpikeRefine_Private(pc, PETSC_FALSE, b, f->x, &eta));
  s->info.refinements = 0;
  if (!PCSpikeRefineMisses_Private(s, eta)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineMissed_Private(pc, eta, again));
  if (*again) PetscFunctionReturn(PETSC_SUCCESS);
  s->info.backward_error = eta;
  PetscCall(PCSpikeFail_Private(pc, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MATSOLVERSPIKE: whether the result of the last solve is good enough to be handed out. A backward error above the
  tolerance has to be below the square root of the machine epsilon, and where pivots were boosted so has the residual
*/
PetscErrorCode PCSpikeRefineStands_Private(PC pc, PetscBool *stands)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  const PetscReal most = PetscSqrtReal(PETSC_MACHINE_EPSILON), eta = s->info.backward_error;
  const PetscBool above = (PetscBool)(eta > PCSpikeRefineTolerance_Private(s));

  PetscFunctionBegin;
  if (above) *stands = (PetscBool)(eta <= most && !(s->boosted && s->refine.residual > most));
  else *stands = (PetscBool)!PCSpikeRefineIsHollow_Private(s, eta);
  if (!*stands || !above) PetscFunctionReturn(PETSC_SUCCESS);
  s->refine.stands++;
  PetscCall(PetscInfo(pc,
                      "The result of a solve stands, though its backward error %g is above the tolerance %g: it is at "
                      "most %.1e\n",
                      (double)eta, (double)PCSpikeRefineTolerance_Private(s), (double)most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A failure of one solve ends here */
PetscErrorCode PCSpikeRefineRestore_Private(PC pc, PetscBool *restored)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (restored) *restored = s->refused;
  if (s->refused) {
    s->refused       = PETSC_FALSE;
    s->numeric       = PETSC_TRUE;
    s->failtext[0]   = 0;
    pc->failedreason = PC_NOERROR;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Before a direct solve, or what may be one (unsure): where `auto` has dropped couplings between ranks, a setup that
  holds them; so are all later ones. Rows are not gathered for what may be many applications in parallel
*/
PetscErrorCode PCSpikeRefineWhole_Private(PC pc, PetscBool unsure)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (!s->traded || (s->gathers && unsure) || s->refine.direct != PETSC_BOOL3_UNKNOWN)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "A direct solve drops no couplings between ranks: setting up again\n"));
  s->whole = PETSC_TRUE;
  PetscCall(PCSpikeChanged_Private(pc));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the results of a solver are looked at by another one, which corrects them: one inside of a preconditioner,
  or of a method, is printed indented. So is that of a SNES, also of a TS, which takes results as they are: SNESKSPONLY
  has no second step
*/
static PetscErrorCode PCSpikeSolvesInside_Private(KSP ksp, PetscBool *inside)
{
  PetscInt  level;
  PetscBool snes;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &level));
  *inside = (PetscBool)(level != 0);
  if (!*inside) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKSPIsOfSNES(ksp, &snes));
  *inside = (PetscBool)!snes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A solve is about to begin, by KSPPREONLY or not, inside of another solver or not. Boosted pivots without a check, and
  without a shift type that was set, are refused
*/
PetscErrorCode PCSpikeSolveBegins_Private(PC pc, KSP ksp)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool restored, once, inside = PETSC_FALSE, checks, numeric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineRestore_Private(pc, &restored));
  if (restored) ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &once, KSPPREONLY, KSPNONE, ""));
  if (once) PetscCall(PCSpikeSolvesInside_Private(ksp, &inside));
  s->refine.armed   = (PetscBool)(once && !inside);
  s->refine.solving = PETSC_TRUE;
  if (!s->refine.armed && s->refine.direct == PETSC_BOOL3_UNKNOWN) PCSpikeRefineForget_Private(s);
  if (s->refine.armed) PetscCall(PCSpikeRefineWhole_Private(pc, PETSC_FALSE));
  if (!s->refine.armed || !s->boosted || s->shifttype != (MatFactorShiftType)PETSC_DECIDE)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeRefineChecks_Private(pc, ksp->transpose_solve, &checks));
  if (!checks) PetscCall(PCSpikeIsNumeric_Private(pc, &numeric));
  if (!checks && numeric) PetscCall(PCFactoredRefuse_Private(pc, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeSolveEnds_Private(PC pc)
{
  PetscFunctionBegin;
  ((PC_Spike *)pc->data)->refine.armed = ((PC_Spike *)pc->data)->refine.solving = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_Spike(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)b;
  (void)x;
  PetscCall(PCSpikeUnwatch_Private(pc));
  PetscCall(PCSpikeSolveBegins_Private(pc, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_Spike(PC pc, KSP ksp, Vec b, Vec x)
{
  PetscFunctionBegin;
  (void)ksp;
  (void)b;
  (void)x;
  PetscCall(PCSpikeSolveEnds_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this file knows, in the view */
PetscErrorCode PCSpikeRefineView_Private(PC pc, const PCSpikeInfo *info, PetscViewer viewer)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (info->growth >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  growth max |u_ij| / max |a_ij| %.1e\n", (double)info->growth));
  if (info->inverse_error >= 0.0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  estimate of ||I - A M^-1|| %.1e\n", (double)info->inverse_error));
  if (!info->solves) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  as a direct solver: solves %" PetscInt_FMT ", steps of refinement %" PetscInt_FMT
                                   ", backward error of the last %.1e\n",
                                   info->solves, info->refinements, (double)info->backward_error));
  if (s->refine.residual > 100 * PCSpikeRefineTolerance_Private(s))
    PetscCall(
      PetscViewerASCIIPrintf(viewer,
                             "  residual of the last %.1e of its right-hand side: the matrix is badly scaled, or "
                             "ill-conditioned, and the solution large\n",
                             (double)s->refine.residual));
  if (info->unsolved)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  solves with a backward error above %g: %" PetscInt_FMT "\n",
                                     (double)PCSpikeRefineTolerance_Private(s), info->unsolved));
  if (s->refine.stands)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  results of these that stand, with a backward error up to %.1e: %" PetscInt_FMT
                                     "\n",
                                     (double)PetscSqrtReal(PETSC_MACHINE_EPSILON), s->refine.stands));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Defaults, and the functions that a solver calls */
PetscErrorCode PCSpikeRefineInitialize_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  s->presolves       = PETSC_TRUE;
  s->refine.direct   = PETSC_BOOL3_UNKNOWN;
  s->refine.follow   = PETSC_BOOL3_UNKNOWN;
  s->refine.max      = PETSC_DECIDE;
  s->refine.tol      = (PetscReal)PETSC_DECIDE;
  s->refine.estimate = PETSC_TRUE;

  pc->ops->presolve      = PCPreSolve_Spike;
  pc->ops->postsolve     = PCPostSolve_Spike;
  pc->ops->setuponblocks = PCSetUpOnBlocks_Spike;
  PetscFunctionReturn(PETSC_SUCCESS);
}
