/* SPDX-License-Identifier: BSD-2-Clause */
/* spikecoupling.c: whether the truncated spikes that PC_SPIKE_AUTO has taken are enough */
#include "spikeimpl.h"

/*
  PC_SPIKE_AUTO truncates by the far ends F of spikes beside their tips. What truncation leaves of a right-hand side is

      b - A x = C F z,    z = [I Vb; Wt I]^-1 [g_b; g_t],    g = D^-1 b

  with C the blocks that couple partitions: F is as large as the tips times what is neglected of them, and z as large as
  the inverse of the reduced systems. Neither is above a few units where rows are dominant, so that such matrices are
  not looked at. Of others both are estimated; where their product says that factors may be wrong by more than
  SPIKE_TRUNCATE_WRONG they are tried, and where they are, made with exact coupling. That is taken if it is
  SPIKE_TRUNCATE_GAIN times less wrong, because it costs more: where factors are of low precision, or are not those of
  the whole matrix, it is not. A pattern keeps what is decided.
*/
#define SPIKE_TRUNCATE_WRONG 1e-3
#define SPIKE_TRUNCATE_GAIN  10
#define SPIKE_TRUNCATE_SURE  1e-2 /* of SPIKE_TRUNCATE_WRONG: what estimates may be too small by */

/* Nothing is known of a new pattern */
void PCSpikeCouplingForget_Private(PC_Spike *s)
{
  s->coupling.exact = s->coupling.decided = PETSC_FALSE;
  s->coupling.error                       = -1.0;
}

/* The largest element of tips of this rank, and of z for g = [Vb s_t; Wt s_b]: s - [I Vb; Wt I]^-1 s, s of signs */
static PetscErrorCode SpikeCouplingSize_Private(SpikeBand *b, PetscReal *tips, PetscReal *inverse)
{
  const PetscInt     h = b->kl + b->ku;
  const PetscCount   m = (PetscCount)b->kl * b->ku;
  unsigned long long z = 1;

  PetscFunctionBegin;
  *tips = *inverse = 0.0;
  for (PetscInt q = 0; q <= b->np; q++) {
    if (!b->active[q]) continue;
    for (PetscCount k = q * m; k < (q + 1) * m; k++) {
      *tips = PetscMax(*tips, PetscAbsScalar(b->dWt[k]));
      *tips = PetscMax(*tips, PetscAbsScalar(b->dVb[k]));
    }
    for (PetscInt k = q * h; k < (q + 1) * h; k++) {
      z           = z * 6364136223846793005ULL + 1442695040888963407ULL;
      b->dtips[k] = z >> 63 ? 1.0 : -1.0;
    }
  }
  PetscCall((*b->k->solvetips)(b, PETSC_FALSE, 0, b->np + 1, 1));
  for (PetscInt q = 0; q <= b->np; q++)
    for (PetscInt k = q * h; b->active[q] && k < (q + 1) * h; k++)
      *inverse = PetscMax(*inverse, 1.0 + PetscAbsScalar(b->dtips[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether truncated spikes are to be tried, the same on all ranks. On a device nothing is estimated, and dominant rows
  are known by samples, in setups from scratch alone
*/
static PetscErrorCode PCSpikeCouplingDoubt_Private(PC pc, PetscBool reuse, const SpikeFillStats *st,
                                                   const PCSpikePivots *pivots, PetscBool *doubt)
{
  PC_Spike       *s     = (PC_Spike *)pc->data;
  SpikeBand      *b     = &s->band;
  const PetscReal least = PetscMax(b->window, SpikePrecisionEpsilon(b->precision));
  PetscReal       tips = 0.0, inverse = 0.0, bound[2] = {0.0, 0.0};
  PetscBool       has;

  PetscFunctionBegin;
  *doubt = PETSC_FALSE;
  if (s->type != PC_SPIKE_AUTO || s->coupling.decided) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->info.scarce || st->weak == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (b->coupled && !b->full) {
    const PetscReal neglected = PetscMax(PCSpikeDecay_Private(s), least);

    if (PetscMemTypeHost(b->k->memtype)) {
      PetscCall(SpikeCouplingSize_Private(b, &tips, &inverse));
      bound[0] = neglected * PetscMax(tips, 1.0) * inverse;
    } else if (!reuse && !(s->expected < 0.0)) bound[0] = PETSC_MAX_REAL;
    if (PetscIsInfOrNanReal(bound[0])) bound[0] = PETSC_MAX_REAL;
  }
  if (pivots->partition.badrow >= 0 || pivots->reduced.badrow >= 0 ||
      (s->border.T && (s->border.bad || !s->border.ready)) || (s->cyclic.found && s->cyclic.report.bad >= 0))
    bound[1] = 1.0; /* a failure */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bound, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  if (bound[1] > 0.0 || !(bound[0] > SPIKE_TRUNCATE_SURE * SPIKE_TRUNCATE_WRONG)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  *doubt = has;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeCouplingAfter_Private - After a factorization: tries truncated spikes, and exact coupling where they are poor

  Collective

  Input Parameters:
+ reuse  - of the pattern
. st     - what the fill saw, of all ranks
- pivots - those of the factors

  Output Parameter:
. again - the setup has to be made anew
*/
PetscErrorCode PCSpikeCouplingAfter_Private(PC pc, PetscBool reuse, const SpikeFillStats *st,
                                            const PCSpikePivots *pivots, PetscBool *again)
{
  PC_Spike        *s    = (PC_Spike *)pc->data;
  PCSpikeCoupling *c    = &s->coupling;
  const PetscReal  most = PetscMax(SPIKE_TRUNCATE_WRONG, 10 * SpikePrecisionEpsilon(s->precision));
  PetscBool        doubt, full;
  PetscReal        error;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (c->error >= 0.0 && !c->decided) { /* the setup that was asked for */
    c->decided = PETSC_TRUE;
    full       = s->band.full;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &full, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
    if (!full) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PCSpikeError_Private(pc, &error, NULL));
    PetscCall(PetscInfo(pc, "With exact coupling factors are wrong by %g\n", (double)error));
    *again = (PetscBool) !(SPIKE_TRUNCATE_GAIN * error <= c->error);
    if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
    c->exact = PETSC_FALSE;
    s->again = SPIKE_AGAIN_COUPLING;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeCouplingDoubt_Private(pc, reuse, st, pivots, &doubt));
  if (!doubt) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeError_Private(pc, &error, NULL));
  PetscCall(PetscInfo(pc, "With truncated spikes factors are wrong by %g\n", (double)error));
  if (error <= most) PetscFunctionReturn(PETSC_SUCCESS);
  c->error = error;
  c->exact = *again = PETSC_TRUE;
  s->again          = SPIKE_AGAIN_COUPLING;
  PetscFunctionReturn(PETSC_SUCCESS);
}
