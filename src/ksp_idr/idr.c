/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.c: IDR(s) with biorthogonalization on the frame of fused methods */
#include "idrimpl.h"
#include "ksp_fused/fusedsteps.h"
#include <petsc/private/pcimpl.h>

static PetscBool  cite = PETSC_FALSE;
static const char citation[] =
  "@article{VanGijzenSonneveld2011,\n"
  "  title   = {Algorithm 913: an elegant {IDR(s)} variant that efficiently exploits biorthogonality properties},\n"
  "  author  = {Martin B. van Gijzen and Peter Sonneveld},\n"
  "  journal = {ACM Transactions on Mathematical Software},\n"
  "  volume  = {38},\n"
  "  number  = {1},\n"
  "  year    = {2011}\n"
  "}\n"
  "@article{AnztKreutzerPoncePetersonWelleinDongarra2016,\n"
  "  title   = {Optimization and performance evaluation of the {IDR} iterative {Krylov} solver on {GPUs}},\n"
  "  author  = {Hartwig Anzt and Moritz Kreutzer and Eduardo Ponce and Gregory D. Peterson and Gerhard Wellein and "
  "Jack Dongarra},\n"
  "  journal = {The International Journal of High Performance Computing Applications},\n"
  "  doi     = {10.1177/1094342016646844},\n"
  "  year    = {2016}\n"
  "}\n";

/*
  R is the residual of vec_sol, which the test sees. With smoothing RI and XI are residual and iterate of the
  recurrence. G, U and P follow
*/
enum {
  R,
  T,
  W,
  RI,
  XI
};

static inline Vec KSPIDRFusedR(KSP ksp)
{
  return ksp->work[KSPIDRFusedData(ksp)->smoothing ? RI : R];
}

static inline Vec KSPIDRFusedX(KSP ksp)
{
  return KSPIDRFusedData(ksp)->smoothing ? ksp->work[XI] : ksp->vec_sol;
}

static KSPIDRFusedFill KSPIDRFusedFillBy(KSP ksp)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  if (KSPIDRFusedData(ksp)->rand || f->ops != &KSPFusedOps_Vector) return KSP_IDRFUSED_FILL_PETSC;
  return f->basis.usevec ? KSP_IDRFUSED_FILL_STEPS_PETSC : KSP_IDRFUSED_FILL_STEPS;
}

/*
  P <- orthonormal vectors of its span, by functions of PETSc: once with a PetscRandom, as KSPIDR does it, else twice
*/
static PetscErrorCode KSPIDRFusedOrthonormalizeVec_Private(KSP ksp)
{
  KSPIDRFused             *idr    = KSPIDRFusedData(ksp);
  const KSPConvergedReason reason = ksp->reason;
  PetscScalar             *dots;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(idr->ncolumns, &dots));
  /* a preconditioner may have failed, on this rank alone; PETSc's functions do nothing then */
  ksp->reason = KSP_CONVERGED_ITERATING;
  for (PetscInt k = 0; k < idr->ncolumns; k++) {
    PetscCall(SpikeKSPOrthogonalize(ksp, idr->P, k, dots));
    if (!idr->rand) PetscCall(SpikeKSPOrthogonalize(ksp, idr->P, k, dots));
    PetscCall(VecNormalize(idr->P[k], NULL));
  }
  ksp->reason = reason;
  PetscCall(PetscFree(dots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same by basis steps, whose kernels the iteration needs anyway: t = p_k - sum p_j (p_j^H p_k), and once more from t
  with 1 / ||t||, over j < k. What the second pass takes off is rounding, so that its norm is that of t. Only where
  steps are those of one right-hand side
*/
static PetscErrorCode KSPIDRFusedOrthonormalize_Private(KSP ksp)
{
  KSPFused    *f   = (KSPFused *)ksp->data;
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  Vec          t   = ksp->work[T];

  PetscFunctionBegin;
  f->basis.wide = PETSC_TRUE;
  for (PetscInt k = 0; k < idr->ncolumns; k++) {
    const SpikeIDRRecurrence sums = {SPIKE_IDR_SHADOW, idr->ncolumns, k, 0, k, 0.0};

    for (PetscInt pass = 0; pass < 2; pass++) {
      const Vec     from = pass ? t : idr->P[k], to = pass ? idr->P[k] : t;
      KSPFusedBasis dots = {0, k, idr->P, NULL, NULL, NULL, NULL, from, NULL, NULL, NULL, NULL, NULL},
                    less = {0,    k,    idr->P, NULL, idr->d.alpha, pass ? idr->d.beta : NULL, NULL, to,
                            NULL, from, NULL,   NULL, NULL};

      PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_DOTS, &dots, NULL, &sums, PETSC_FALSE));
      PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_COMBINE, &less, NULL, NULL, PETSC_FALSE));
    }
  }
  f->basis.wide = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  P <- random vectors, orthonormal: with a PetscRandom as KSPIDR does it, to the last bit. Where products read a narrow
  copy of the matrix they are rounded to bf16 then: any vectors may be P. work[T], alpha and beta are lost
*/
static PetscErrorCode KSPIDRFusedFill_Private(KSP ksp)
{
  KSPFused                 *f          = (KSPFused *)ksp->data;
  KSPIDRFused              *idr        = KSPIDRFusedData(ksp);
  const PetscInt            generation = idr->generation;
  const SpikeKrylovKernels *kernels;
  PetscScalar              *a;
  PetscInt                  start, end;
  PetscMemType              memtype;

  PetscFunctionBegin;
  idr->filled   = 0;
  f->basis.wide = PETSC_FALSE; /* an error may have left it */
  for (PetscInt k = 0; k < idr->ncolumns; k++) {
    if (idr->rand) PetscCall(VecSetRandom(idr->P[k], idr->rand));
    else {
      PetscCall(VecGetOwnershipRange(idr->P[k], &start, &end));
      PetscCall(VecGetArrayWriteAndMemType(idr->P[k], &a, &memtype));
      kernels = SpikeKrylovKernelsFind(memtype);
      if (kernels) PetscCall((*kernels->shadow)(end - start, start, k, generation, a));
      PetscCall(VecRestoreArrayWriteAndMemType(idr->P[k], &a));
      if (!kernels) {
        PetscCall(VecGetArrayWrite(idr->P[k], &a));
        PetscCall((*SpikeKrylovKernelsFind(PETSC_MEMTYPE_HOST)->shadow)(end - start, start, k, generation, a));
        PetscCall(VecRestoreArrayWrite(idr->P[k], &a));
      }
    }
  }
  if (KSPIDRFusedFillBy(ksp) == KSP_IDRFUSED_FILL_PETSC) PetscCall(KSPIDRFusedOrthonormalizeVec_Private(ksp));
  else PetscCall(KSPIDRFusedOrthonormalize_Private(ksp));
  idr->fillby = KSPIDRFusedFillBy(ksp);
  idr->narrow = KSPFusedHasNarrowShadow(f);
  for (PetscInt k = 0; idr->narrow && k < idr->ncolumns; k++)
    PetscCall(KSPFusedBasisToShadow(ksp, idr->P[k], ksp->work[T]));
  PetscCall(PetscObjectGetId((PetscObject)idr->P[0], &idr->filled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_IDRFused(KSP ksp)
{
  KSPFused    *f   = (KSPFused *)ksp->data;
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  PetscInt     s, n, first = idr->smoothing ? XI + 1 : W + 1;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  s = PetscMax(1, PetscMin(idr->s, n)); /* no more shadow vectors than rows are independent */
  PetscCall(KSPFusedSetWorkVecs(ksp, first + 3 * s));
  idr->G          = ksp->work + first;
  idr->U          = idr->G + s;
  idr->P          = idr->U + s;
  idr->ncolumns   = s;
  idr->filled     = 0;
  idr->generation = 0;
  PetscCall(KSPFusedBasisSetUp(ksp, s, SpikeIDRSize(s)));
  f->basis.nshared = s; /* P */
  f->graph.period  = s + 1;
  f->graph.steady  = s; /* in the first cycle G and U are 0, and not read */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = P^H r, norm */
static PetscErrorCode KSPFusedStart_IDR(KSP ksp)
{
  KSPFused                *f   = (KSPFused *)ksp->data;
  KSPIDRFused             *idr = KSPIDRFusedData(ksp);
  const PetscInt           s = idr->ncolumns, first = idr->smoothing ? XI + 1 : W + 1;
  const SpikeIDRRecurrence begin = {SPIKE_IDR_START, s, 0, 0, s, idr->cosine};
  KSPFusedBasis            block = {0, s, NULL, NULL, NULL, NULL, NULL, ksp->work[R], NULL, NULL, NULL};
  PetscObjectId            id;

  PetscFunctionBegin;
  idr->G       = ksp->work + first;
  idr->U       = idr->G + s;
  idr->P       = idr->U + s;
  idr->d       = SpikeIDRLayout(s, KSPFusedSmall(f));
  idr->settled = 0;
  if (!ksp->its && !f->info.restarts && idr->generation && !idr->rand) { /* each solve begins with the same ones */
    idr->generation = 0;
    idr->filled     = 0;
  }
  PetscCall(PetscObjectGetId((PetscObject)idr->P[0], &id));
  if (id != idr->filled || idr->narrow != KSPFusedHasNarrowShadow(f) || idr->fillby != KSPIDRFusedFillBy(ksp))
    PetscCall(KSPIDRFusedFill_Private(ksp));
  block.A = idr->P;
  PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_DOTS, &block, NULL, &begin, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_k = omega (r - G c) + U c of iteration `since`, counted from the last start */
static KSPFusedBasis KSPIDRFusedCombine(KSP ksp, PetscInt since)
{
  KSPIDRFused        *idr = KSPIDRFusedData(ksp);
  const PetscInt      s = idr->ncolumns, k = since % (s + 1);
  const KSPFusedBasis combine =
    {since < s ? s : k, s, idr->G, idr->U, idr->d.c + k, idr->d.omega, NULL, idr->U[k], NULL, KSPIDRFusedR(ksp), NULL};

  return combine;
}

/* The end of a step and the begin of the next are one pass, if nothing between them changes r or f */
static PetscBool KSPIDRFusedJoins(KSP ksp)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  return (PetscBool)(f->run.merged && !f->pc.flexible);
}

/* u_k = omega B (r - G c) + U c */
static PetscErrorCode KSPIDRFusedCombineFlexible_Private(KSP ksp, PetscInt since)
{
  KSPFusedBasis inner = KSPIDRFusedCombine(ksp, since), outer = inner;
  Vec          *w = ksp->work;

  PetscFunctionBegin;
  inner.B = NULL;
  inner.a = NULL;
  inner.y = w[T];
  outer.A = NULL;
  outer.r = w[W];
  if (inner.last > inner.first)
    PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_COMBINE, &inner, NULL, NULL, PETSC_FALSE));
  PetscCall(KSPFusedPCApply(ksp, inner.last > inner.first ? w[T] : inner.r, w[W]));
  PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_COMBINE, &outer, NULL, NULL, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The product of step k, and the projection of g_k and u_k. Classical: all sums at once; the update waits for the tail.
  Twice: once more before that. Modified: one p_i after the other. Each sum of the last reduction becomes a number of M.
*/
static PetscErrorCode KSPIDRFusedProject_Private(KSP ksp, PetscInt k)
{
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt s = idr->ncolumns, passes = k && idr->orthog == KSP_IDRFUSED_ORTHOG_TWICE
                                             ? 1
                                             : (idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? k : 0);
  const PetscInt first = idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? k : 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= passes; i++) {
    const PetscBool          last = (PetscBool)(i == passes);
    const PetscInt           a = last ? first : i, b = last ? s : (first ? i + 1 : k); /* p_a to p_(b-1) */
    const SpikeIDRRecurrence sums = {last ? SPIKE_IDR_COLUMN : SPIKE_IDR_PROJECT, s, k, a, b, 0.0};
    KSPFusedBasis            dots = {a, b, idr->P, NULL, NULL, NULL, NULL, idr->G[k], NULL, NULL, NULL},
                  update = {a, b, idr->G, idr->U, idr->d.alpha + a, NULL, NULL, idr->U[k], idr->G[k], NULL, NULL};

    if (!i) PetscCall(KSPFusedBasisApplyDots(ksp, idr->U[k], ksp->work[W], &dots, &sums)); /* g_k = K u_k */
    else PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_DOTS, &dots, NULL, &sums, PETSC_FALSE));
    if (!last) PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_UPDATE, &update, NULL, NULL, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Words of n that a cycle of s + 1 products moves besides them, classical and merged: the sums of step k read P and g_k,
  those of omega P, t and r; the update of step k, with the combination of the next step, reads all columns of G and U
  but one, reads and writes g_k, u_k, r, x (in step 0 only r, x), and writes u_(k+1); that of omega reads t, G, U, reads
  and writes r, x, and writes u_0. Together 3 s^2 + 11 s + 5 (19, 39, 97, 285 for s = 1, 2, 4, 8), in 2 s + 2 kernels,
  of which s + 1 are the products themselves where these are our own; that saves s + 1 words. In the first cycle G and U
  are 0 and not read. Merged: s + 1 reductions, in which f comes from P^H t and norms join the next reduction, so that
  with several ranks the last product is one too many; plain: 2 (s + 1), with f = P^H r. Smoothing adds 4 words a
  product: it is one product late, and is done by the update of the next product, whose sums have what its own factor
  and norm follow from. Where P is bf16, s (s + 1) of these words are s (s + 1) / 4.

  Of m right-hand sides together each has these words. Where a backend reads P once for all of them, as the host's does,
  s (s + 1) of them are s (s + 1) / m for each (26 in sums, with s = 4 and m = 16, become 7.25).
*/
static PetscErrorCode KSPFusedHead_IDR(KSP ksp)
{
  KSPFused      *f   = (KSPFused *)ksp->data;
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt s = idr->ncolumns, k = f->run.since % (s + 1), m = f->run.merged ? s : 0;
  Vec           *w = ksp->work, r = KSPIDRFusedR(ksp);

  PetscFunctionBegin;
  if (f->run.since) f->run.fromzero = PETSC_FALSE;
  if (!f->run.since && idr->smoothing) {
    PetscCall(KSPFusedCopy(ksp, w[R], w[RI]));
    PetscCall(KSPFusedCopy(ksp, ksp->vec_sol, w[XI]));
  }
  if (k < s) {
    const KSPFusedBasis combine = KSPIDRFusedCombine(ksp, f->run.since);

    if (f->pc.flexible) PetscCall(KSPIDRFusedCombineFlexible_Private(ksp, f->run.since));
    else if (!f->run.since || !KSPIDRFusedJoins(ksp))
      PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_COMBINE, &combine, NULL, NULL, PETSC_FALSE));
    PetscCall(KSPIDRFusedProject_Private(ksp, k));
  } else {
    const KSPFusedBasis      dots = {0, m, idr->P, NULL, NULL, NULL, NULL, w[T], r, NULL, NULL};
    const SpikeIDRRecurrence sums = {SPIKE_IDR_OMEGA, s, 0, 0, m, 0.0};

    if (f->pc.flexible) PetscCall(KSPFusedPCApply(ksp, r, w[W]));
    PetscCall(KSPFusedBasisApplyDots(ksp, f->pc.flexible ? w[W] : r, w[W], &dots, &sums)); /* t = K r */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = P^H r; norm: its norm is that of the iteration */
static PetscErrorCode KSPIDRFusedSetResidual_Private(KSP ksp, PetscInt k, PetscBool norm)
{
  KSPIDRFused        *idr  = KSPIDRFusedData(ksp);
  const KSPFusedBasis dots = {0, idr->ncolumns, idr->P, NULL, NULL, NULL, NULL, KSPIDRFusedR(ksp), NULL, NULL, NULL};
  const SpikeIDRRecurrence sums = {SPIKE_IDR_RESIDUAL, idr->ncolumns, k, 0, norm ? 1 : 0, 0.0};

  PetscFunctionBegin;
  PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_DOTS, &dots, NULL, &sums, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTail_IDR(KSP ksp)
{
  KSPFused       *f   = (KSPFused *)ksp->data;
  KSPIDRFused    *idr = KSPIDRFusedData(ksp);
  const PetscInt  s = idr->ncolumns, k = f->run.since % (s + 1), next = (f->run.since + 1) % (s + 1);
  Vec            *w = ksp->work, x = KSPIDRFusedX(ksp), r = KSPIDRFusedR(ksp), q = idr->smoothing ? w[R] : NULL;
  const PetscBool omega = (PetscBool)(k == s), defer = (PetscBool)(f->run.merged && f->run.more),
                  joins            = (PetscBool)(KSPIDRFusedJoins(ksp) && next < s);
  const KSPFusedBasis      update  = {0,
                                omega || idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? 0 : k,
                                      idr->G,
                                      idr->U,
                                      idr->d.alpha,
                                omega ? idr->d.omega : idr->d.beta,
                                      x,
                                omega ? (f->pc.flexible ? w[W] : r) : idr->U[k],
                                omega ? w[T] : idr->G[k],
                                r,
                                      q,
                                q ? ksp->vec_sol : NULL,
                                      idr->d.gamma};
  const KSPFusedBasis      combine = joins ? KSPIDRFusedCombine(ksp, f->run.since + 1) : update;
  const SpikeIDRRecurrence norm    = {q ? SPIKE_IDR_SMOOTH : SPIKE_IDR_NORM, s, k, 0, 0, 0.0};
  const PetscBool          plain   = (PetscBool)(omega && !f->run.merged);

  PetscFunctionBegin;
  /* g_k -= G alpha, u_k -= U alpha; x += beta u_k, r -= beta g_k, or with omega, r (or B r) and t */
  PetscCall(
    KSPFusedBasisStep(ksp, SPIKE_KRYLOV_UPDATE, &update, joins ? &combine : NULL, plain && !q ? NULL : &norm, defer));
  if (plain) PetscCall(KSPIDRFusedSetResidual_Private(ksp, 0, (PetscBool)!q));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothing lags: vec_sol becomes the point with the smallest residual on the line from it to x */
static PetscErrorCode KSPFusedSettle_IDR(KSP ksp)
{
  KSPFused                *f        = (KSPFused *)ksp->data;
  KSPIDRFused             *idr      = KSPIDRFusedData(ksp);
  const SpikeIDRRecurrence smoothed = {SPIKE_IDR_SMOOTHED, idr->ncolumns, 0, 0, 0, 0.0};
  KSPFusedBasis            smooth   = {0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};

  PetscFunctionBegin;
  if (!idr->smoothing || f->run.since == idr->settled) PetscFunctionReturn(PETSC_SUCCESS);
  smooth.x = ksp->work[XI];
  smooth.r = ksp->work[RI];
  smooth.q = ksp->work[R];
  smooth.p = ksp->vec_sol;
  smooth.g = idr->d.gamma;
  PetscCall(KSPFusedBasisStep(ksp, SPIKE_KRYLOV_SMOOTH, &smooth, NULL, &smoothed, PETSC_FALSE));
  idr->settled = f->run.since;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedReplace_IDR(KSP ksp)
{
  KSPFused    *f   = (KSPFused *)ksp->data;
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  Vec          x   = ksp->vec_sol;

  PetscFunctionBegin;
  if (idr->smoothing) {
    ksp->vec_sol = ksp->work[XI];
    PetscCall(KSPFusedTrueResidual(ksp, ksp->work[RI]));
    ksp->vec_sol = x;
  }
  PetscCall(KSPIDRFusedSetResidual_Private(ksp, f->run.since % (idr->ncolumns + 1), PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At the start that follows */
static PetscErrorCode KSPFusedRenew_IDR(KSP ksp)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "A new shadow space\n"));
  idr->generation++;
  idr->filled = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After the first iteration x = beta u_0, and the product has left B u_0 in W. So B x = beta W: with a preconditioner
  that solves the system this saves half of all applications
*/
static PetscErrorCode KSPFusedUnwind_IDR(KSP ksp, Vec w, PetscBool *done)
{
  KSPFused    *f   = (KSPFused *)ksp->data;
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  PetscScalar  xu;
  PetscReal    uu;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (f->pc.identity || idr->smoothing || ksp->transpose_solve || ksp->pc->ops->applyBA)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDotNorm2(ksp->vec_sol, idr->U[0], &xu, &uu));
  if (PetscIsInfOrNanScalar(xu) || PetscIsInfOrNanReal(uu) || uu <= PETSC_REAL_MIN / PetscSqr(PETSC_MACHINE_EPSILON))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (w != ksp->work[W]) PetscCall(VecCopy(ksp->work[W], w));
  PetscCall(VecScale(w, xu / uu));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool KSPFusedHasWhole_IDR(KSP ksp)
{
  const KSPFused    *f   = (const KSPFused *)ksp->data;
  const KSPIDRFused *idr = KSPIDRFusedData(ksp);
  const PetscInt     s   = idr->ncolumns;

  return (PetscBool)(f->pc.identity && KSPIDRFusedJoins(ksp) && !f->basis.usevec && !idr->smoothing &&
                     idr->orthog == KSP_IDRFUSED_ORTHOG_CLASSICAL && (s == 1 || s == 2 || s == 4 || s == 8));
}

static const KSPFusedMethod KSPFusedMethod_IDR = {
  .name                    = "IDR",
  .plain                   = KSPIDR,
  .nwork                   = 0, /* KSPSetUp_IDRFused() */
  .scratch                 = {W, T},
  .residual_preconditioned = PETSC_TRUE,
  .start                   = KSPFusedStart_IDR,
  .head                    = KSPFusedHead_IDR,
  .tail                    = KSPFusedTail_IDR,
  .replace                 = KSPFusedReplace_IDR,
  .basis                   = PETSC_TRUE,
  .settle                  = KSPFusedSettle_IDR,
  .renew                   = KSPFusedRenew_IDR,
  .whole                   = SPIKE_KRYLOV_IDR,
  .haswhole                = KSPFusedHasWhole_IDR,
  .unwind                  = KSPFusedUnwind_IDR,
};

static PetscErrorCode KSPReset_IDRFused(KSP ksp)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  idr->G = idr->U = idr->P = NULL;
  idr->filled              = 0;
  PetscCall(KSPReset_Fused(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPDestroy_IDRFused(KSP ksp)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  PetscCall(KSPReset_IDRFused(ksp));
  PetscCall(PetscRandomDestroy(&idr->rand));
  PetscCall(KSPIDRFusedComposeMethods_Private(ksp, PETSC_FALSE));
  PetscCall(PetscFree(((KSPFused *)ksp->data)->data));
  PetscCall(KSPDestroy_Fused(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  KSPIDRFUSED - IDR(s) with biorthogonalization {cite}`gijzen:2011`, one reduction a product, residual smoothing and
  recovery from breakdowns

  Options Database Keys:
+ -ksp_idr_s s                                         - dimension of the shadow space, default 4, `KSPIDRSetS()`
. -ksp_idr_cosine c                                    - least cosine of the angle between residual and its image that
                                                       omega believes, default 0.7, 0 for none, `KSPIDRSetCosine()`
. -ksp_idr_random_type type                            - fill the shadow space with a `PetscRandom`, as `KSPIDR` does,
                                                       `KSPIDRSetRandom()`
. -ksp_idr_random_seed seed                            - the same, with a seed
. -ksp_idrfused_smoothing (true|false)                 - residual smoothing, `KSPIDRFusedSetSmoothing()`
. -ksp_idrfused_orthog (classical|modified|twice)      - how a direction is made orthogonal to shadow vectors,
                                                       `KSPIDRFusedSetOrthogType()`
. -ksp_idrfused_flexible (true|false|unknown)          - right preconditioning by an operator that may vary,
                                                       `KSPIDRFusedSetFlexible()`
. -ksp_idrfused_petsc_vectors (true|false)             - vector operations by PETSc's functions,
                                                       `KSPIDRFusedSetPetscVectors()`
. -ksp_fused_reductions (merged|plain)                 - s + 1 reductions in a cycle of s + 1 products, or twice as
                                                       many, `KSPFusedSetReductions()`
. -ksp_fused_check_true_residual (true|false)          - compute the true residual at convergence,
                                                       `KSPFusedSetCheckTrueResidual()`
. -ksp_fused_residual_replacement k                    - replace the residual by the true one every k iterations,
                                                       `KSPFusedSetResidualReplacement()`
. -ksp_fused_lockstep (true|false)                     - wait for each iteration, `KSPFusedSetLockstep()`
. -ksp_fused_matsolve (columns|single)                 - several right-hand sides in `KSPMatSolve()`: all columns
                                                       together, or one by one, `KSPFusedSetMatSolveType()`
. -ksp_fused_spmv (auto|petsc|dia|sell|stencil|blocks) - who makes the products, `KSPFusedSetSpMVType()`
. -ksp_fused_precision (double|single|bf16|auto)       - values of the matrix in products, `KSPFusedSetPrecision()`
. -ksp_fused_graph (auto|off)                          - CUDA graphs where nothing but kernels of our own is launched,
                                                       `KSPFusedSetGraph()`
. -ksp_fused_persistent (auto|off|on)                  - many iterations in one kernel, `KSPFusedSetPersistent()`
- -ksp_fused_converged_infinity                        - test the infinity norm, `KSPFusedConvergedInfinity()`

  Level: intermediate

  Notes:
  Options and functions of `KSPIDR` work on this method too. With the same shadow space (a `PetscRandom` of the
  same type and seed) iterates are those of `KSPIDR` with the same side, up to rounding. Preconditioning is from the
  right by default, and the test sees the norm of $b - A x$; with `KSPSetPCSide()` or `KSPSetNormType()` the sides and
  norms are those of `KSPIDR`: left preconditioning with the preconditioned norm, right preconditioning with the
  unpreconditioned one, none with both. From either side the solution has no part in the null space of
  `MatSetNullSpace()`. An iteration is one product with its preconditioner. Any `Mat` and any `PC` work, on the right
  one that varies too (`KSPIDRFusedSetFlexible()`). Without a `PetscRandom` the shadow space depends on the size of the
  problem alone, not on the number of ranks. `KSPIDRGetRandom()` makes a `PetscRandom`, which is used from then on. More
  shadow vectors than rows are not used.

  In the merged form, the default except in single precision, all inner products of a product are in one
  reduction, with the norm of the residual before: on several ranks the method learns of its convergence one product
  late. In the plain form $P^H r$ is computed in each cycle, as by `KSPIDR`. With residual replacement the plain form is
  taken. In single precision the merged form stagnates where s is 4 or more and residuals rise in between, unless it
  makes directions orthogonal twice (`KSPIDRFusedSetOrthogType()`).

  A breakdown leads to a new shadow space and a new start from the true residual, and to `KSP_DIVERGED_BREAKDOWN` where
  that has been tried since the last iteration that was completed. What `KSPBCGSFUSED` says about the true residual
  holds here too.

  With `KSPFusedSetPrecision()`, in double precision and for one right-hand side, shadow vectors are rounded to bf16,
  also those of a `PetscRandom`: 16 bits a real number, of a complex one in both parts. All other vectors stay as they
  are.

  There are kernels of its own for vectors on the host and on CUDA devices, there for up to 32 columns; vectors of other
  kinds are moved by PETSc's functions (`VecMAXPY()` and local inner products). On one device s x s systems, the
  convergence test and the shadow space stay there too, and the host runs one iteration ahead, as it does with
  `KSPBCGSFUSED`. The solution and the residual of smoothing lag by one iteration while nobody looks at them.

.seealso: [](ch_ksp), `KSPIDR`, `KSPBCGSFUSED`, `KSPCreate()`, `KSPSetType()`, `KSPIDRSetS()`, `KSPIDRSetCosine()`,
`KSPIDRSetRandom()`, `KSPIDRFusedSetSmoothing()`, `KSPIDRFusedSetOrthogType()`, `KSPIDRFusedSetFlexible()`,
`KSPIDRFusedSetPetscVectors()`, `KSPFusedSetReductions()`, `KSPFusedSetCheckTrueResidual()`,
`KSPFusedSetResidualReplacement()`, `KSPFusedSetPrecision()`, `KSPFusedConvergedInfinity()`, `KSPFusedGetInfo()`,
`KSPMatSolve()`, `KSPFusedSetMatSolveType()`, `KSPFusedGetColumns()`
M*/
PetscErrorCode KSPCreate_IDRFused(KSP ksp)
{
  KSPIDRFused *idr;
  KSPFused    *f;

  PetscFunctionBegin;
  PetscCall(KSPCreate_Fused(ksp, &KSPFusedMethod_IDR));
  f = (KSPFused *)ksp->data;
  PetscCall(PetscNew(&idr));
  f->data = idr;
  /* P^H r by recurrence loses too many of so few digits */
  f->options.reductions = PetscDefined(USE_REAL_SINGLE) ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED;
  f->options.flexible   = PETSC_BOOL3_UNKNOWN;
  idr->s                = 4;
  idr->cosine           = 0.7;
  idr->orthog           = KSP_IDRFUSED_ORTHOG_CLASSICAL;

  ksp->ops->setup          = KSPSetUp_IDRFused;
  ksp->ops->reset          = KSPReset_IDRFused;
  ksp->ops->destroy        = KSPDestroy_IDRFused;
  ksp->ops->view           = KSPView_IDRFused;
  ksp->ops->setfromoptions = KSPSetFromOptions_IDRFused;
  PetscCall(KSPIDRFusedComposeMethods_Private(ksp, PETSC_TRUE));
  /* the largest number that side and norm of the user leave is taken */
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 4));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
