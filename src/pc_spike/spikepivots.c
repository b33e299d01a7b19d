/* SPDX-License-Identifier: BSD-2-Clause */
/* spikepivots.c: the factorization of a filled band, and what its pivots say */
#include "spikeimpl.h"

/*
  Factors, tips and reduced systems from the filled band. If late, the norm that fill saw is not known yet: tolerances
  are relative to it, and factor() multiplies them by it. A failure stays on its rank; the messages go on, so that no
  rank waits for ever.
*/
PetscErrorCode PCSpikeNumeric_Private(PC pc, PetscBool late, const SpikeFillStats *st, PCSpikePivots *pv)
{
  PC_Spike         *s       = (PC_Spike *)pc->data;
  SpikeBand        *b       = &s->band;
  const PetscReal   epsilon = SpikePrecisionEpsilon(b->precision);
  const PetscReal   amount  = PCSpikeShift_Private(s, epsilon);
  const PetscReal   scale   = late || !(st->norm > 0.0) ? 1.0 : st->norm;
  const PetscBool   tips    = (PetscBool)(b->coupled && (!SpikeFaulty(SPIKE_FAULT_STALE_TIPS) || !pc->setupcalled));
  const SpikeEvents events  = {PC_Spike_Factor, PC_Spike_Tips};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(pv, sizeof(*pv)));
  pv->partition.tol      = s->zeropivot * scale;
  pv->partition.relative = late;
  pv->partition.badrow   = -1;
  pv->reduced.tol        = s->zeropivot;
  pv->reduced.badrow     = -1;
  pv->corner             = pv->partition;
  /* tips are those of the matrix as it is: the least change */
  pv->corner.boost = (s->shiftamount == (PetscReal)PETSC_DECIDE ? PetscSqrtReal(epsilon) : amount) * scale;
  if (PCSpikeBoosts_Private(s) && (!PCSpikeBorderAsks_Private(s) || PCSpikeExchanges_Private(s))) {
    pv->partition.boost = amount * scale;
    pv->reduced.boost   = amount;
  }
  b->window = PCSpikeRefineWindow_Private(s);
  PetscCall((*b->k->begin)(b));
  b->events = &events;
  PetscCall(
    (*b->k->factor)(b, &pv->partition, tips && !s->full ? &pv->corner : NULL, tips && !s->full ? s->falloff : NULL));
  b->events = NULL;
  if (b->coupled && s->full) PetscCall(PCSpikeFullSetUp_Private(pc, &pv->reduced));
  else if (b->coupled) {
    if (b->full) s->shape++;
    b->full = PETSC_FALSE;
    PetscCall(PetscLogEventBegin(PC_Spike_Tips, pc, 0, 0, 0));
    PetscCall(PCSpikeExchangeSetupTips_Private(pc));
    PetscCall(PetscLogEventEnd(PC_Spike_Tips, pc, 0, 0, 0));
    PetscCall(PetscLogEventBegin(PC_Spike_Reduced, pc, 0, 0, 0));
    if (!SpikeFaulty(SPIKE_FAULT_STALE_REDUCED) || !pc->setupcalled)
      PetscCall((*b->k->reduced)(b, 0, b->np + 1, &pv->reduced));
    if (SpikeFaulty(SPIKE_FAULT_SWAPPED_TIPS))
      PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_TRUE, b->dWt, 0, b->dVb, 0,
                                (size_t)(b->np + 1) * b->kl * b->ku * sizeof(PetscScalar), 1));
    PetscCall(PetscLogEventEnd(PC_Spike_Reduced, pc, 0, 0, 0));
  }
  if (b->k->finish) PetscCall((*b->k->finish)(b));
  PetscCall(PCSpikeChooseCoupling_Private(pc, &pv->partition, &pv->reduced));
  PetscCall((*b->k->end)(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What can be done about a zero pivot: that of RD fails where others are boosted */
static PetscErrorCode PCSpikeRemedy_Private(PC pc, char remedy[], size_t length)
{
  PC_Spike   *s   = (PC_Spike *)pc->data;
  const char *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  if (!PCSpikeBoosts_Private(s))
    PetscCall(PetscSNPrintf(remedy, length, "boost pivots by -%spc_spike_shift_type auto, ", pre));
  else if (s->band.nsystems && s->band.local == PC_SPIKE_TRIDIAGONAL_RD)
    PetscCall(PetscSNPrintf(remedy, length, "boost pivots by another -%spc_spike_tridiagonal_type than rd, ", pre));
  else remedy[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the pivots say of the factors, and the falloff of truncation */
PetscErrorCode PCSpikeJudge_Private(PC pc, Mat A, const SpikeFillStats *st, const PCSpikePivots *pv)
{
  PC_Spike        *s     = (PC_Spike *)pc->data;
  const SpikeBand *b     = &s->band;
  const char      *pre   = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  SpikePivot       pivot = pv->partition, reduced = pv->reduced;
  char             remedy[128];

  PetscFunctionBegin;
  s->info.boosted       = pivot.nboost + (b->coupled ? reduced.nboost : 0);
  s->info.cornerboosted = b->coupled ? pv->corner.nboost : 0;
  if (s->info.periodic) s->info.boosted += s->cyclic.report.nboost;
  s->info.boosted += s->border.nboost;
  PetscCall(PCFactoredBoosted_Private(pc, s->info.boosted));
  s->info.decay = PCSpikeDecay_Private(s);
  PetscCall(PCSpikeRemedy_Private(pc, remedy, sizeof(remedy)));
  if (SpikeFaulty(SPIKE_FAULT_NOT_FAILED)) pivot.badrow = reduced.badrow = -1;
  if (pivot.badrow >= 0) PetscCall(PCSpikeLinesFetch_Private(pc));
  /* too large, or not a number; a backend may know more of it than the factors hold */
  if (pivot.badrow >= 0 && !(pivot.badvalue <= pivot.tol)) {
    PetscCall(
      PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                             "Overflow in the factors at row %" PetscInt_FMT
                             ": scale the matrix%s, or use -%spc_type lu",
                             PCSpikeOriginalRow_Private(s, A, pivot.badrow),
                             b->precision == PETSC_SPIKE_PRECISION_DOUBLE ? "" : ", use factors in double precision",
                             pre));
  } else if (pivot.badrow >= 0) {
    const PetscInt row = PCSpikeOriginalRow_Private(s, A, pivot.badrow);

    s->info.zeropivot_row   = row;
    s->info.zeropivot_value = pivot.badvalue;
    if (b->cholesky) PetscCall(PCSpikeNotDefinite_Private(pc, row, &pivot));
    else
      PetscCall(
        PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                               "Zero pivot in row %" PetscInt_FMT
                               "%s: magnitude %g is not above %g, the zero pivot tolerance %g times the norm %g; "
                               "%s%s%s%sbring large entries to the diagonal, or use -%spc_type lu",
                               row, st->zerorow >= 0 && row == st->zerorow ? ", which has no nonzero entry" : "",
                               (double)pivot.badvalue, (double)pivot.tol, (double)s->zeropivot,
                               st->norm > 0.0 ? (double)st->norm : 1.0, remedy, b->pivoting ? "" : "exchange rows by -",
                               b->pivoting ? "" : pre, b->pivoting ? "" : "pc_spike_pivoting, ", pre));
  } else if (b->coupled && reduced.badrow >= 0) {
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                                     "Zero pivot in the reduced system of the interface at row %" PetscInt_FMT
                                     ": magnitude %g is not above the zero pivot tolerance %g; the matrix may be "
                                     "singular: %suse other -%spc_spike_local_partitions or -%spc_spike_type block",
                                     b->start[reduced.badrow] + A->rmap->rstart, (double)reduced.badvalue,
                                     (double)s->zeropivot, remedy, pre, pre));
  } else if (s->cyclic.found && s->cyclic.report.bad >= 0 && !SpikeFaulty(SPIKE_FAULT_NOT_FAILED)) {
    const PetscInt first = s->cyclic.across ? 0 : s->cyclic.rows[2 * s->cyclic.report.bad] + A->rmap->rstart;

    PetscCall(
      PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                             "Zero pivot in the rank-one update of the periodic system that begins at row "
                             "%" PetscInt_FMT
                             ": magnitude %g is not above the zero pivot tolerance %g, or not finite; the matrix may "
                             "be singular: %suse -%spc_type lu",
                             first, (double)s->cyclic.report.badvalue, (double)s->zeropivot, remedy, pre));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
