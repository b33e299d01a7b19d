/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedprecision.c: products in a lower precision, and when the true residual replaces theirs */
#include "fusedprecision.h"
#include "common/agree.h"
#include "fusedgraph.h"
#include "fusedstate.h"
#include "fusedtruth.h"

/*
  ||r|| over the largest since the last replacement at which the next one is due: at most, and in single precision as
  long as true norms do not differ from those of the recurrence. Each one disturbs a method a little, IDR more
*/
#define KSP_FUSED_UPDATE 0.1
#define KSP_FUSED_SELDOM 1e-4
/*
  A true norm that is so many times the norm of the recurrence shows E; more often then. Where it also is more than half
  of that at the replacement before, the solve stalls: how often in a row ends it
*/
#define KSP_FUSED_SHOWS  2.0
#define KSP_FUSED_STALL  0.5
#define KSP_FUSED_STALLS 2
/* replacements, over the powers of the factor by which the true norm has fallen, that are too many; and some more */
#define KSP_FUSED_RESTLESS 2.0
#define KSP_FUSED_PATIENCE 4.0
/* claims of a solve that may be refuted */
#define KSP_FUSED_CLAIMS 8

const char *const KSPFusedPrecisionNames[] = {"double", "single", "bf16", "auto"};

/* The copy in this precision, with the values of A; NULL where there can be none */
static PetscErrorCode KSPFusedFillNarrow_Private(KSPFused *f, PetscSpikePrecision precision, PetscBool always)
{
  KSPFusedProduct *p = &f->product;

  PetscFunctionBegin;
  if (p->low && (p->lowprecision != precision || !p->lowready)) {
    PetscCall(KSPFusedDestroyGraphs(f));
    PetscCall((*f->s.k->destroycopy)(&f->s, &p->low));
  }
  if (p->low && p->lowvalues == p->values) PetscFunctionReturn(PETSC_SUCCESS);
  p->lowready     = PETSC_FALSE;
  p->lowprecision = precision;
  PetscCall((*f->s.k->narrow)(&f->s, p->copy, precision, always, &p->low));
  p->lowready  = PETSC_TRUE;
  p->lowvalues = p->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What was asked for. By itself bf16 where no value on any rank loses a digit, else single precision, also for later
  values of this matrix. Collective
*/
static PetscErrorCode KSPFusedMakeNarrow_Private(KSP ksp)
{
  KSPFused               *f         = (KSPFused *)ksp->data;
  KSPFusedProduct        *p         = &f->product;
  const KSPFusedPrecision asked     = f->options.precision;
  const PetscBool         automatic = (PetscBool)(asked == KSP_FUSED_PRECISION_AUTO);
  PetscBool               fits      = (PetscBool)(asked == KSP_FUSED_PRECISION_BF16);

  PetscFunctionBegin;
  if (automatic && p->singlemat != p->mat) {
    PetscCall(KSPFusedFillNarrow_Private(f, PETSC_SPIKE_PRECISION_BF16, PETSC_FALSE));
    fits = (PetscBool)(p->low && ((const SpikeKrylovCopy *)p->low)->exact);
    PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &fits));
    if (!fits) p->singlemat = p->mat;
  }
  PetscCall(KSPFusedFillNarrow_Private(f, fits ? PETSC_SPIKE_PRECISION_BF16 : PETSC_SPIKE_PRECISION_SINGLE,
                                       (PetscBool)!automatic));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether the products of this solve read a copy with fewer digits; makes it, or fills it with new values. Where there
  can be none the solve has PetscScalar, and -info says why
*/
PetscErrorCode KSPFusedSetNarrow(KSP ksp)
{
  KSPFused               *f     = (KSPFused *)ksp->data;
  KSPFusedProduct        *p     = &f->product;
  const KSPFusedPrecision asked = f->options.precision;
  const char             *why   = NULL;

  PetscFunctionBegin;
  p->narrow = p->rounds = PETSC_FALSE;
  f->info.precision     = KSP_FUSED_PRECISION_DOUBLE;
  f->info.widened       = PETSC_FALSE;
  if (asked == KSP_FUSED_PRECISION_DOUBLE) PetscFunctionReturn(PETSC_SUCCESS);
  if (!p->own) why = "products are not by a copy of the matrix, or by its diagonals";
  else if (f->info.product == KSP_FUSED_SPMV_STENCIL || f->info.product == KSP_FUSED_SPMV_BLOCKS)
    why = "the matrix lends its stencil, or its blocks";
  else if (f->info.copy && f->size > 1) why = "columns of other ranks are beside the copy";
  else if (f->factors.whole) why = "the preconditioner has factors of the whole matrix, and few products are left";
  else if (!f->s.k->narrow) why = "the backend has none";
  else if (p->wornmat == p->mat && p->wornvalues == p->values) why = "the solve before could not do with it";
  else {
    PetscCall(KSPFusedMakeNarrow_Private(ksp));
    if (!p->low)
      why = asked == KSP_FUSED_PRECISION_AUTO ? "a cache holds the matrix, or its values cannot have fewer digits"
                                              : "its values cannot have fewer digits";
  }
  p->narrow = (PetscBool)!why;
  PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &p->narrow));
  if (!p->narrow) {
    PetscCall(PetscInfo(ksp, "No copy of the matrix in a lower precision: %s\n", why ? why : "not on all ranks"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  f->info.precision = p->lowprecision == PETSC_SPIKE_PRECISION_BF16 ? KSP_FUSED_PRECISION_BF16
                                                                    : KSP_FUSED_PRECISION_SINGLE;
  p->rounds         = (PetscBool) !((const SpikeKrylovCopy *)p->low)->exact;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &p->rounds, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)ksp)));
  if (!p->rounds) PetscFunctionReturn(PETSC_SUCCESS);
  f->run.update.factor = p->lowprecision == PETSC_SPIKE_PRECISION_SINGLE ? KSP_FUSED_SELDOM : KSP_FUSED_UPDATE;
  f->run.merged        = PETSC_FALSE; /* its recurrences run on into the next iteration */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a start from the true residual, of this norm */
void KSPFusedBeginUpdates(KSP ksp, PetscReal norm)
{
  KSPFusedUpdate *u = &((KSPFused *)ksp->data)->run.update;

  u->since  = ksp->its;
  u->due    = 0;
  u->stalls = 0;
  u->count  = 0;
  u->truth = u->norm = u->most = u->least = norm;
  u->worn                                 = PETSC_FALSE;
  u->start                                = norm;
  if (!ksp->its) {
    u->initial = norm;
    u->claims  = 0;
  }
}

/* Replacements over those that a method makes which does not mind them */
static PetscBool KSPFusedIsRestless(const KSPFusedUpdate *u)
{
  const PetscReal times = PetscLogReal(u->start / u->least) / PetscLogReal((PetscReal)1.0 / u->factor);

  return (PetscBool)(u->least > 0.0 && u->start > 0.0 && u->count > KSP_FUSED_RESTLESS * times + KSP_FUSED_PATIENCE);
}

/*
  What iteration ksp->its has left: is its residual to be replaced, after the next iteration? The first post after a
  replacement tells how large the true residual was
*/
void KSPFusedObserve(KSP ksp, const SpikeKrylovPost *post)
{
  KSPFusedUpdate *u = &((KSPFused *)ksp->data)->run.update;

  if (u->due || ksp->its <= u->since) { /* the last of these is that of the residual which was replaced */
    u->norm = post->norm;
    return;
  }
  if (u->most == 0.0) {
    const PetscBool shows = (PetscBool)(post->replaced > KSP_FUSED_SHOWS * u->norm);

    if (shows) u->factor = KSP_FUSED_UPDATE;
    u->stalls = shows && post->replaced > KSP_FUSED_STALL * u->truth ? u->stalls + 1 : 0;
    u->truth  = post->replaced;
    u->least  = PetscMin(u->least, post->replaced);
    u->worn   = (PetscBool)(u->stalls >= KSP_FUSED_STALLS || KSPFusedIsRestless(u));
  }
  u->norm = post->norm;
  u->most = PetscMax(u->most, post->norm);
  if (u->worn || post->norm <= u->factor * u->most) u->due = ksp->its + 1;
}

static void KSPFusedReplaced_Private(KSPFused *f, PetscInt it)
{
  f->run.update.since = it;
  f->run.update.due   = 0;
  f->run.update.most  = 0.0;
  f->run.update.count++;
  f->info.replacements++;
}

/* r <- b - A x after iteration `it`, which may still run on a device */
PetscErrorCode KSPFusedUpdateResidual(KSP ksp, PetscInt it)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->info.replayed) PetscCall(KSPFusedTouch(ksp));
  PetscCall(KSPFusedTrueResidual(ksp, ksp->work[0]));
  PetscCall((*f->method->replace)(ksp));
  KSPFusedReplaced_Private(f, it);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The true norm is above its tolerance, where the test has seen one below it; again: the iterations may go on so */
PetscErrorCode KSPFusedRefuteUpdate(KSP ksp, PetscReal norm, PetscBool *again)
{
  KSPFusedUpdate *u = &((KSPFused *)ksp->data)->run.update;

  PetscFunctionBegin;
  *again = (PetscBool)(u->claims++ < KSP_FUSED_CLAIMS);
  PetscCall(PetscInfo(ksp, "Iteration %" PetscInt_FMT ": norm of the test %g, in truth %g, the tolerance %g\n",
                      ksp->its, (double)ksp->rnorm, (double)norm, (double)ksp->ttol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a claim that is refuted, with the true residual in work[0]: takes the reason back. `launched` iterations came
  after it and did nothing
*/
PetscErrorCode KSPFusedResume(KSP ksp, PetscInt launched)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  ksp->reason          = KSP_CONVERGED_ITERATING;
  f->s.scalars->reason = 0;
  f->run.since -= launched;
  PetscCall((*f->s.k->resume)(&f->s));
  PetscCall((*f->method->replace)(ksp));
  KSPFusedReplaced_Private(f, ksp->its);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscScalar from now on; the caller starts the method again */
PetscErrorCode KSPFusedWiden(KSP ksp)
{
  KSPFused        *f = (KSPFused *)ksp->data;
  KSPFusedProduct *p = &f->product;

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp,
                      "Iteration %" PetscInt_FMT
                      ": products in %s precision no longer bring the solution nearer, those "
                      "of PetscScalar go on\n",
                      ksp->its, KSPFusedPrecisionNames[f->info.precision]));
  p->narrow = p->rounds = PETSC_FALSE;
  p->wornmat            = p->mat;
  p->wornvalues         = p->values;
  f->info.precision     = KSP_FUSED_PRECISION_DOUBLE;
  f->info.widened       = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
