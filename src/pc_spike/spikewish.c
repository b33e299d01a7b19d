/* SPDX-License-Identifier: BSD-2-Clause */
/* spikewish.c: factors of PCSPIKE in the precision that its solver wishes */
#include "spikeimpl.h"

/*
  A wish is taken where full precision would have plain factors: L U of a band, without row exchanges. It is dropped

      by options       the user has set a precision, or what goes with that of vectors alone
      by the band      tridiagonal systems, a batch, periodic systems, paths, a border, row exchanges
      after a setup    entries that do not fit, pivots that are boosted or bad, growth in factors above
                       SPIKE_WISH_GROWTH times the norm, factors that are wrong by more than SPIKE_WISH_WHOLE, or
                       SPIKE_WISH_PART where they are not of the whole matrix by intent: trials and row exchanges are
                       for factors in full precision, which get their chance by that

  for the pattern, and refused by the solver for the values. On a GPU factors of the whole matrix have full precision:
  with those in single precision a setup takes 1.34 times as long, a solve by BiCGStab 0.87, by IDR(4), which makes an
  iteration more, 1.49 (benchmarks/results/precision-cuda.txt). Factors of the whole matrix in bf16 leave about 2e-3 of
  a residual, those in single precision 1e-7: a Krylov method takes twice as many applications with the former, which
  are less than twice as fast (benchmarks/results/solve.txt). So bf16 is for factors of a part of the matrix, whose
  number of iterations does not come from rounding, on a device: the host's kernels for 16 bits are slower than those
  for 32. Factors of a matrix that is known to be definite have single precision too: L and U of 16 bits are no longer
  those of a hermitian matrix.
*/
#define SPIKE_WISH_WHOLE  0.1
#define SPIKE_WISH_PART   10.0
#define SPIKE_WISH_GROWTH 1e4

/* What options have against it; NULL: nothing */
static const char *PCSpikeWishOptions_Private(const PC_Spike *s)
{
  if (s->refine.direct == PETSC_BOOL3_TRUE) return "a direct solve";
  if (s->pivoting) return "rows are exchanged";
  if (s->tridiagonal != PC_SPIKE_TRIDIAGONAL_AUTO) return "an algorithm for tridiagonal systems is set";
  if (s->batch.type == PC_SPIKE_BATCH_ALWAYS) return "a batch of systems is asked for";
  if (s->wish.refused) return "with these values the solver could not do with them";
  return NULL;
}

/* Whether this is the matrix for whose values the solver has refused it; before rows are gathered */
PetscErrorCode PCSpikeWishLook_Private(PC pc)
{
  PCSpikeWish     *w = &((PC_Spike *)pc->data)->wish;
  PetscObjectId    id;
  PetscObjectState state;

  PetscFunctionBegin;
  w->refused = PETSC_FALSE;
  if (!w->mat) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &id));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  w->refused = (PetscBool)(w->mat == id && w->state == state);
  PetscCall(PCFactoredAgree_Private(pc, &w->refused));
  if (!w->refused) w->mat = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The precision that this setup begins with; another one than the last setup began with is one from scratch */
PetscErrorCode PCSpikeWishBegin_Private(PC pc, PetscBool *reuse)
{
  PC_Spike           *s      = (PC_Spike *)pc->data;
  PCSpikeWish        *w      = &s->wish;
  PetscSpikePrecision target = w->user;

  PetscFunctionBegin;
  if (!w->set && w->asked != w->user) {
    const char *why = PCSpikeWishOptions_Private(s);

    PetscCall(PCFactoredAgree_Private(pc, reuse));
    if (!*reuse && s->again == SPIKE_AGAIN_NOT) w->dropped = PETSC_FALSE;
    if (why) w->why = why;
    else if (!w->dropped) target = w->asked;
  }
  if (target != w->target) *reuse = PETSC_FALSE;
  w->target = target;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full precision after all, before there are factors */
PetscErrorCode PCSpikeWishDrop_Private(PC pc, const char why[])
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "Factors not in %s precision, as the solver wishes: %s\n",
                      PetscSpikePrecisionNames[s->wish.asked], why));
  s->wish.why  = why;
  s->precision = s->band.precision = s->wish.user;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When the band is chosen, before anything depends on the precision of its factors */
PetscErrorCode PCSpikeWishChoose_Private(PC pc)
{
  PC_Spike    *s   = (PC_Spike *)pc->data;
  PCSpikeWish *w   = &s->wish;
  const char  *why = NULL;

  PetscFunctionBegin;
  w->whole = (PetscBool)(s->givenkl == PETSC_DECIDE && s->dropoff == 0.0 && !s->info.cut && !s->apart &&
                         !s->lines.active && s->type != PC_SPIKE_BLOCK && s->type != PC_SPIKE_TRUNCATED);
  if (!PCSpikeWishIsLow_Private(s)) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMax(s->band.kl, s->band.ku) <= 1) why = "half-bandwidths are at most 1";
  else if (s->border.T) why = "the band has a border";
  else if (s->cyclic.found) why = "systems are periodic";
  else if (s->lines.active) why = "systems are paths";
  else if (PCSpikeExchanges_Private(s)) why = "rows are exchanged";
  else if (w->whole && !PetscMemTypeHost(s->band.k->memtype)) why = "those of the whole matrix are no faster on a GPU";
  if (why) PetscCall(PCSpikeWishDrop_Private(pc, why));
  else if (SpikePrecisionBytes(s->precision) < 4) {
    if (w->whole) w->why = "they are of the whole matrix";
    else if (s->definite) w->why = "the matrix is definite";
    else if (PetscMemTypeHost(s->band.k->memtype)) w->why = "kernels of the host are faster with it";
    else PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscInfo(pc, "Factors in single precision, not in %s, as the solver wishes: %s\n",
                        PetscSpikePrecisionNames[w->asked], w->why));
    s->precision = s->band.precision = PETSC_SPIKE_PRECISION_SINGLE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lower precision does not do for this pattern: the setup begins again */
PetscErrorCode PCSpikeWishReject_Private(PC pc, const char why[], PetscBool *again)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  *again = PCSpikeWishIsLow_Private(s);
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeWishDrop_Private(pc, why));
  s->wish.dropped = PETSC_TRUE;
  s->again        = SPIKE_AGAIN_PRECISION;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a factorization: whether its pivots, and growth or errors, are those of plain factors. Two applications and
  three products measure errors, more than a refill takes, so that for later values of a pattern only growth is looked
  at, where the fill has found rows that are not dominant
*/
PetscErrorCode PCSpikeWishAfter_Private(PC pc, PetscBool reuse, const SpikeFillStats *st, const PCSpikePivots *pivots,
                                        PetscBool *again)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  const PetscReal most = s->wish.whole ? SPIKE_WISH_WHOLE : SPIKE_WISH_PART;
  PetscBool       bad, has;
  PetscReal       error, growth = -1.0;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!PCSpikeWishIsLow_Private(s)) PetscFunctionReturn(PETSC_SUCCESS);
  bad = (PetscBool)(pivots->partition.nboost > 0 || pivots->partition.badrow >= 0 ||
                    (s->band.coupled && (pivots->reduced.nboost > 0 || pivots->reduced.badrow >= 0)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  if (bad) {
    PetscCall(PCSpikeWishReject_Private(pc, "pivots are small, or not finite", again));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (reuse) {
    if (st->weak <= 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall((*s->band.k->begin)(&s->band));
    PetscCall((*s->band.k->growth)(&s->band, &growth));
    PetscCall((*s->band.k->end)(&s->band));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &growth, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
    if (!(growth <= SPIKE_WISH_GROWTH * st->norm)) PetscCall(PCSpikeWishReject_Private(pc, "factors grow", again));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeError_Private(pc, &error, NULL));
  PetscCall(
    PetscInfo(pc, "Factors in %s precision are wrong by %g\n", PetscSpikePrecisionNames[s->precision], (double)error));
  if (!(error <= most)) PetscCall(PCSpikeWishReject_Private(pc, "they would be wrong", again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscSpikeWishPrecision_Spike(PC pc, PetscSpikePrecision precision, PetscBool anew)
{
  PC_Spike       *s     = (PC_Spike *)pc->data;
  PCSpikeWish    *w     = &s->wish;
  const PetscBool other = (PetscBool)(precision != w->asked),
                  again = (PetscBool)(anew && (w->dropped || w->mat) && precision != w->user);

  PetscFunctionBegin;
  w->asked = precision;
  if (anew || other) w->mat = 0;
  if (!w->set && (other || again)) PetscCall(PCSpikeChanged_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscSpikeWishRefuse_Spike(PC pc)
{
  PC_Spike    *s = (PC_Spike *)pc->data;
  PCSpikeWish *w = &s->wish;

  PetscFunctionBegin;
  if (!PCSpikeWishIsLow_Private(s)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId((PetscObject)pc->pmat, &w->mat));
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &w->state));
  PetscCall(PCSpikeChanged_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PetscSpikeGetWish_Spike(PC pc, SpikeWish *wish)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  wish->low       = (PetscBool)(pc->setupcalled && PCSpikeWishIsLow_Private(s));
  wish->precision = s->precision;
  wish->whole     = (PetscBool)(pc->setupcalled && s->wish.whole && s->info.dropped == 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solver wishes, and what came of it */
PetscErrorCode PCSpikeWishView_Private(PC pc, PetscViewer viewer)
{
  const PC_Spike    *s = (const PC_Spike *)pc->data;
  const PCSpikeWish *w = &s->wish;

  PetscFunctionBegin;
  if (w->set || w->asked == w->user || !pc->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->precision == w->asked)
    PetscCall(PetscViewerASCIIPrintf(viewer, "  in the precision that the Krylov method has asked for\n"));
  else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  not in %s precision, as the Krylov method has asked for: %s\n",
                                     PetscSpikePrecisionNames[w->asked], w->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeWishMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PetscSpikeWishPrecision_C", PetscSpikeWishPrecision_Spike);
  SpikeCompose("PetscSpikeWishRefuse_C", PetscSpikeWishRefuse_Spike);
  SpikeCompose("PetscSpikeGetWish_C", PetscSpikeGetWish_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
