/* SPDX-License-Identifier: BSD-2-Clause */
/* spikequality.c: how good the factors of PCSPIKE are: an estimate of ||I - A M^-1||, and their growth */
#include "spikeimpl.h"
#include "common/petsccompat.h"

#define SPIKE_PROBES      2
#define SPIKE_PROBE_STEPS 2

/* Uniform in [-1, 1), and the first probe in [1/2, 3/2), not without its mean; the same on any number of ranks */
static PetscReal PCSpikeRandom_Private(PetscInt probe, PetscInt i)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * (2 * (unsigned long long)i + (unsigned long long)probe + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (PetscReal)((double)(z >> 40) / (probe ? 8388608.0 : 16777216.0) + (probe ? -1.0 : 0.5));
}

static PetscErrorCode PCSpikeSetProbe_Private(Vec v, PetscInt probe)
{
  PetscScalar *a;
  PetscInt     start, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &start, &end));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt i = start; i < end; i++) a[i - start] = PCSpikeRandom_Private(probe, i);
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side with random values, made once; with it the work vectors r and d */
PetscErrorCode PCSpikeGetProbe_Private(PC pc, Vec *v)
{
  PCSpikeRefinement *f = &((PC_Spike *)pc->data)->refine;

  PetscFunctionBegin;
  PetscCall(PCSpikeRefineVectors_Private(pc));
  if (!f->probe) {
    PetscCall(VecDuplicate(f->r, &f->probe));
    PetscCall(PCSpikeSetProbe_Private(f->probe, 0));
  }
  *v = f->probe;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The largest ||E v|| / ||v|| for E = I - A M^-1, random vectors v, and E v in place of v: a lower bound of ||E||. Not
  finite values count as infinity
*/
static PetscErrorCode PCSpikeEstimate_Private(PC pc, PetscReal *estimate)
{
  PCSpikeRefinement *f = &((PC_Spike *)pc->data)->refine;
  Vec                first, v;
  PetscReal          norm, next;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetProbe_Private(pc, &first));
  if (!f->b) PetscCall(VecDuplicate(first, &f->b));
  v         = f->b;
  *estimate = 0.0;
  for (PetscInt p = 0; p < SPIKE_PROBES; p++) {
    if (p) PetscCall(PCSpikeSetProbe_Private(v, p));
    else PetscCall(VecCopy(first, v));
    PetscCall(VecNorm(v, NORM_2, &norm));
    for (PetscInt k = 0; k < SPIKE_PROBE_STEPS && norm > 0.0; k++) {
      PetscCall(VecScale(v, 1.0 / norm));
      PetscCall(PCSpikeApply_Private(pc, PETSC_FALSE, v, f->d));
      PetscCall(MatMult(PCSpikeRefineMatrix_Private(pc), f->d, f->r));
      PetscCall(VecAXPY(v, -1.0, f->r));
      PetscCall(VecNorm(v, NORM_2, &next));
      if (PetscIsInfOrNanReal(next)) *estimate = PETSC_MAX_REAL;
      else *estimate = PetscMax(*estimate, next);
      norm = PetscIsInfOrNanReal(next) ? 0.0 : next;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How wrong factors are, on what has a solution if the matrix is singular: the larger one of ||E v|| / ||v|| for v = A
  w, w random, and for E v in place of v, with E = I - A M^-1; and of the backward errors of these two solves. backward
  may be NULL
*/
PetscErrorCode PCSpikeError_Private(PC pc, PetscReal *error, PetscReal *backward)
{
  PC_Spike          *s = (PC_Spike *)pc->data;
  PCSpikeRefinement *f = &s->refine;
  const Mat          A = PCSpikeRefineMatrix_Private(pc);
  Vec                w, v;
  const PetscReal    anorm = PetscMin(f->norm, PETSC_MAX_REAL); /* no infinity */
  PetscReal          norm, next, xnorm, scale, most = 0.0;

  PetscFunctionBegin;
  *error      = 0.0;
  s->factored = s->numeric = PETSC_TRUE; /* they are, and may be applied */
  PetscCall(PCSpikeGetProbe_Private(pc, &w));
  PetscCall(VecDuplicate(w, &v));
  PetscCall(MatMult(A, w, v));
  PetscCall(VecNorm(v, NORM_2, &norm));
  for (int k = 0; k < 2 && norm > 0.0; k++, norm = next) {
    PetscCall(VecScale(v, 1.0 / norm));
    PetscCall(PCSpikeApply_Private(pc, PETSC_FALSE, v, f->d));
    PetscCall(VecNorm(f->d, NORM_2, &xnorm));
    next  = xnorm;
    scale = PetscMax(1.0, xnorm);
    if (!PetscIsInfOrNanReal(next)) {
      PetscCall(MatMult(A, f->d, f->r));
      PetscCall(VecAXPY(v, -1.0, f->r));
      PetscCall(VecNorm(v, NORM_2, &next));
    }
    if (PetscIsInfOrNanReal(next)) next = PETSC_MAX_REAL;
    *error = PetscMax(*error, next);
    most   = PetscMax(most, next == PETSC_MAX_REAL ? next : (next / scale) / (1.0 / scale + anorm * (xnorm / scale)));
    if (next == PETSC_MAX_REAL) break;
  }
  PetscCall(VecDestroy(&v));
  if (backward) *backward = most;
  s->factored = s->numeric = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |u_ij| / max |a_ij| over all ranks, -1 where one cannot tell */
static PetscErrorCode PCSpikeGrowth_Private(PC pc, PetscReal *growth)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  const Mat A = s->border.T ? s->border.T : PCSpikeRefineMatrix_Private(pc);
  PetscReal u = -1.0, both[2], a;
  PetscBool has;
  Vec       v;

  PetscFunctionBegin;
  *growth = -1.0;
  PetscCall(MatHasOperation(A, MATOP_GET_ROW_MAX_ABS, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*s->band.k->begin)(&s->band));
  PetscCall((*s->band.k->growth)(&s->band, &u));
  PetscCall((*s->band.k->end)(&s->band));
  both[0] = u;
  both[1] = -u;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, both, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  if (both[1] > 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->matching.active) PetscCall(PCSpikeMatchingLargest_Private(pc, &a));
  else {
    const PetscBool other = (PetscBool)(s->border.across || (s->border.T && s->gather.A)); /* than rows of Pmat */

    if (other) PetscCall(MatCreateVecs(A, NULL, &v));
    else v = s->refine.r;
    PetscCall(MatGetRowMaxAbs(A, v, NULL));
    PetscCall(VecNorm(v, NORM_INFINITY, &a));
    if (other) PetscCall(VecDestroy(&v));
  }
  if (a > 0.0) *growth = both[0] / a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the info and the view tell of the factors, once for each setup; collective */
PetscErrorCode PCSpikeMeasure_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscBool good, has, numeric;

  PetscFunctionBegin;
  if (!s->refine.estimate || s->refine.measured || !s->built || !s->factored) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikePCIsCurrent(pc, &good));
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  if (!good || !has) PetscFunctionReturn(PETSC_SUCCESS);
  good = (PetscBool)(s->numeric || s->refused);
  PetscCall(PCFactoredAgree_Private(pc, &good));
  s->refine.measured = PETSC_TRUE;
  if (!good) PetscFunctionReturn(PETSC_SUCCESS);
  numeric    = s->numeric;
  s->numeric = PETSC_TRUE; /* a solve that failed marks no vector here */
  PetscCall(PCSpikeEstimate_Private(pc, &s->info.inverse_error));
  s->numeric = numeric;
  PetscCall(PCSpikeGrowth_Private(pc, &s->info.growth));
  PetscFunctionReturn(PETSC_SUCCESS);
}
