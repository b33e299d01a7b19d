/* SPDX-License-Identifier: BSD-2-Clause */
/* spikemissed.c: which refined solves of PCSPIKE are none, and what follows: other setups, a failure, or neither */
#include "spikeimpl.h"

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
PetscBool PCSpikeRefineMisses_Private(const PC_Spike *s, PetscReal eta)
{
  return (PetscBool)(eta > PCSpikeRefineTolerance_Private(s) ||
                     (s->shifttype == (MatFactorShiftType)PETSC_DECIDE && PCSpikeRefineIsHollow_Private(s, eta)));
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

/*
  The end of a solve for one or many right-hand sides; eta: the largest, negative where nothing is known; misses: one of
  them is none
*/
PetscErrorCode PCSpikeRefined_Private(PC pc, PetscReal eta, PetscBool misses)
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
  refinement comes nearer in more steps than it may take. A tolerance below rounding is met by nothing; what boosted
  pivots leave may be more. The same on all ranks
*/
static PetscErrorCode PCSpikeRefineMissed_Private(PC pc, PetscReal eta, PetscBool *again)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineExact_Private(pc, eta, again));
  if (*again || !PCSpikeRefineMisses_Private(s, eta)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->boosted && eta <= SPIKE_BACKWARD_ROUNDING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeTrialMissed_Private(pc, again));
  if (*again) PetscCall(PetscInfo(pc, "Backward error %g of a solve: setting up in another way\n", (double)eta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, whose backward error is *eta, once more after other setups, while they are worth it; each is made once */
PetscErrorCode PCSpikeRefineAgain_Private(PC pc, PetscBool trans, Vec b, Vec x, PetscReal *eta)
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
