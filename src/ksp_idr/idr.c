/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.c: IDR(s) with biorthogonalization on the frame of fused methods */
#include "idrimpl.h"

/* R is what the test sees: with smoothing the smoothed residual, that of vec_sol, and RI and XI are those of the recurrence. Then come G, U and P */
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

/* Bits that look random, from where a number stands: the same on any number of ranks; uniform in [-1, 1) */
static PetscReal KSPIDRFusedUniform(PetscInt row, PetscInt column, PetscInt generation)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)row + 1) + 0xD1B54A32D192ED03ULL * (unsigned long long)column + 0x8CB92BA72F3D8DD7ULL * (unsigned long long)generation;

  for (int k = 0; k < 2; k++) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
  }
  return (PetscReal)((double)(z >> 40) / 8388608.0 - 1.0);
}

/* P <- random vectors, orthonormal. With a PetscRandom as KSPIDR does it, to the last bit; else orthogonalized twice */
static PetscErrorCode KSPIDRFusedFill_Private(KSP ksp, PetscInt generation)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  PetscScalar *a, *dots;
  PetscInt     start, end;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(idr->d.s, &dots));
  for (PetscInt k = 0; k < idr->d.s; k++) {
    if (idr->rand) PetscCall(VecSetRandom(idr->P[k], idr->rand));
    else {
      PetscCall(VecGetOwnershipRange(idr->P[k], &start, &end));
      PetscCall(VecGetArrayWrite(idr->P[k], &a));
      for (PetscInt i = start; i < end; i++) {
#if PetscDefined(USE_COMPLEX)
        a[i - start] = PetscCMPLX(KSPIDRFusedUniform(i, 2 * k, generation), KSPIDRFusedUniform(i, 2 * k + 1, generation));
#else
        a[i - start] = KSPIDRFusedUniform(i, 2 * k, generation);
#endif
      }
      PetscCall(VecRestoreArrayWrite(idr->P[k], &a));
    }
  }
  for (PetscInt k = 0; k < idr->d.s; k++) {
    PetscCall((*ksp->orthog)(ksp, idr->P, k, NULL, dots));
    if (!idr->rand) PetscCall((*ksp->orthog)(ksp, idr->P, k, NULL, dots));
    PetscCall(VecNormalize(idr->P[k], NULL));
  }
  PetscCall(PetscFree(dots));
  PetscCall(PetscObjectGetId((PetscObject)idr->P[0], &idr->filled));
  idr->generation = generation;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSetUp_IDRFused(KSP ksp)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  PetscInt     s, n, first = idr->smoothing ? XI + 1 : W + 1;
  Mat          A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetSize(A, &n, NULL));
  s = PetscMax(1, PetscMin(idr->s, n)); /* no more shadow vectors than rows are independent */
  PetscCall(KSPSetWorkVecs(ksp, first + 3 * s));
  idr->G = ksp->work + first;
  idr->U = idr->G + s;
  idr->P = idr->U + s;
  PetscCall(PetscFree4(idr->d.M, idr->d.f, idr->d.c, idr->d.alpha));
  PetscCall(PetscMalloc4(s * s, &idr->d.M, s, &idr->d.f, s + 1, &idr->d.c, s, &idr->d.alpha));
  idr->d.s    = s;
  idr->filled = 0;
  PetscCall(KSPFusedBlockSetUp(ksp, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = P^H r, norm */
static PetscErrorCode KSPFusedStart_IDR(KSP ksp)
{
  KSPFused      *f   = (KSPFused *)ksp->data;
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt s = idr->d.s, first = idr->smoothing ? XI + 1 : W + 1;
  KSPFusedBlock  block = {0, s, NULL, NULL, NULL, 0.0, NULL, ksp->work[R], NULL, NULL, NULL};
  PetscScalar   *sums;
  PetscObjectId  id;

  PetscFunctionBegin;
  idr->G = ksp->work + first;
  idr->U = idr->G + s;
  idr->P = idr->U + s;
  PetscCall(PetscObjectGetId((PetscObject)idr->P[0], &id));
  if (id != idr->filled || (!ksp->its && !f->info.restarts && idr->generation && !idr->rand)) PetscCall(KSPIDRFusedFill_Private(ksp, 0));
  idr->d.cosine = idr->cosine;
  block.A       = idr->P;
  PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_DOTS, &block));
  PetscCall(KSPFusedBlockReduce(ksp, s + 1, &sums));
  SpikeIDRStart(&idr->d, sums);
  f->s.scalars->norm  = PetscSqrtReal(PetscRealPart(sums[s]));
  f->s.scalars->since = 0;
  PetscCall(KSPFusedPost(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The projection of g_k and u_k. Classical: all sums at once; the update waits for the tail. Twice: once more before that. Modified: one p_i after the other. Each sum of the last
  reduction becomes a number of M.
*/
static PetscErrorCode KSPIDRFusedProject_Private(KSP ksp, PetscInt k)
{
  KSPFused      *f   = (KSPFused *)ksp->data;
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt s = idr->d.s, passes = k && idr->orthog == KSP_IDRFUSED_ORTHOG_TWICE ? 1 : (idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? k : 0);
  const PetscInt first = idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? k : 0;
  PetscScalar   *sums;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= passes; i++) {
    const PetscBool last = (PetscBool)(i == passes);
    const PetscInt  a = last ? first : i, b = last ? s : (first ? i + 1 : k); /* p_a to p_(b-1) */
    KSPFusedBlock   dots = {a, b, idr->P, NULL, NULL, 0.0, NULL, idr->G[k], NULL, NULL, NULL}, update = {a, b, idr->G, idr->U, idr->d.alpha + a, 0.0, NULL, idr->U[k], idr->G[k], NULL, NULL};

    PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_DOTS, &dots));
    PetscCall(KSPFusedBlockReduce(ksp, b - a + 1, &sums));
    if (!sums) PetscFunctionReturn(PETSC_SUCCESS);
    if (!last) {
      SpikeIDRProject(&idr->d, a, b, b - a, sums);
      PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_UPDATE, &update));
    } else {
      SpikeIDRProject(&idr->d, a, k, s - a, sums);
      SpikeIDRColumn(&idr->d, f->s.scalars, k, sums + k - a, sums[s - a]);
      if (f->s.scalars->reason) PetscCall(KSPFusedPost(f));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Words of n that a cycle of s + 1 products moves besides them, classical: step k reads r, G(k:s), U(k:s) and writes u_k; reads P and g_k; reads G(0:k), U(0:k), and reads and writes
  g_k, u_k, r, x. Together 3 s^2 + 11 s, and 2 + s + 6 for omega: for s = 4, 102; in the first cycle G and U are 0 and not read. Merged: s + 1 reductions, in which f comes from P^H t and
  norms ride on the reduction behind them, so that with several ranks the last product is one too many; plain: 2 (s + 1), with f = P^H r. Smoothing adds 7 words and one reduction a product.
*/
static PetscErrorCode KSPFusedHead_IDR(KSP ksp)
{
  KSPFused      *f   = (KSPFused *)ksp->data;
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt s = idr->d.s, k = f->since % (s + 1), m = f->merged ? s : 0;
  Vec           *w = ksp->work, r = KSPIDRFusedR(ksp);
  PetscScalar   *sums;

  PetscFunctionBegin;
  if (!f->since && idr->smoothing) {
    PetscCall(VecCopy(w[R], w[RI]));
    PetscCall(VecCopy(ksp->vec_sol, w[XI]));
  }
  if (k < s) {
    KSPFusedBlock combine = {f->since < s ? s : k, s, idr->G, idr->U, idr->d.c + k, idr->d.omega, NULL, idr->U[k], NULL, r, NULL};

    PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_COMBINE, &combine)); /* u_k = omega (r - G c) + U c */
    PetscCall(KSPFusedApply(ksp, idr->U[k], idr->G[k], w[W]));         /* g_k = K u_k                 */
    PetscCall(KSPIDRFusedProject_Private(ksp, k));
  } else {
    KSPFusedBlock dots = {0, m, idr->P, NULL, NULL, 0.0, NULL, w[T], r, NULL, NULL};

    PetscCall(KSPFusedApply(ksp, r, w[T], w[W])); /* t = K r */
    PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_DOTS, &dots));
    PetscCall(KSPFusedBlockReduce(ksp, m + 3, &sums));
    if (!sums) PetscFunctionReturn(PETSC_SUCCESS);
    SpikeIDROmega(&idr->d, f->s.scalars, sums[m + 2], sums[m], sums[m + 1]);
    if (f->s.scalars->reason) PetscCall(KSPFusedPost(f));
    else if (m) { /* f -= omega P^H t */
      for (PetscInt i = 0; i < s; i++) sums[i] = idr->d.f[i] - idr->d.omega * sums[i];
      SpikeIDRSetResidual(&idr->d, 0, sums);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = P^H r, and its norm as well: both over all ranks */
static PetscErrorCode KSPIDRFusedSetResidual_Private(KSP ksp, PetscInt k, PetscScalar *square)
{
  KSPIDRFused  *idr  = KSPIDRFusedData(ksp);
  KSPFusedBlock dots = {0, idr->d.s, idr->P, NULL, NULL, 0.0, NULL, KSPIDRFusedR(ksp), NULL, NULL, NULL};
  PetscScalar  *sums;

  PetscFunctionBegin;
  PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_DOTS, &dots));
  PetscCall(KSPFusedBlockReduce(ksp, idr->d.s + 1, &sums));
  if (!sums) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeIDRSetResidual(&idr->d, k, sums);
  *square = sums[idr->d.s];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedTail_IDR(KSP ksp)
{
  KSPFused       *f   = (KSPFused *)ksp->data;
  KSPIDRFused    *idr = KSPIDRFusedData(ksp);
  const PetscInt  s = idr->d.s, k = f->since % (s + 1);
  Vec            *w = ksp->work, x = KSPIDRFusedX(ksp), r = KSPIDRFusedR(ksp), q = idr->smoothing ? w[R] : NULL;
  const PetscBool omega   = (PetscBool)(k == s);
  KSPFusedBlock   update  = {0, omega || idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? 0 : k, idr->G, idr->U, idr->d.alpha, omega ? idr->d.omega : idr->d.beta, x, omega ? r : idr->U[k], omega ? w[T] : idr->G[k], r, q};
  PetscBool       reduced = PETSC_FALSE;
  PetscScalar    *sums, square;

  PetscFunctionBegin;
  PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_UPDATE, &update)); /* g_k -= G alpha, u_k -= U alpha; x += beta u_k, r -= beta g_k, or with omega, r and t */
  square = f->sums[1];
  if (idr->smoothing) {
    KSPFusedBlock smooth = {0, 0, NULL, NULL, NULL, 0.0, x, ksp->vec_sol, NULL, r, q};

    PetscCall(KSPFusedBlockReduce(ksp, 2, &sums));
    if (!sums) PetscFunctionReturn(PETSC_SUCCESS);
    smooth.a = sums[1] == (PetscScalar)0.0 ? (PetscScalar)0.0 : sums[0] / sums[1];
    PetscCall(KSPFusedBlockStep(ksp, SPIKE_KRYLOV_SMOOTH, &smooth)); /* of all residuals between the smoothed one and r the smallest */
    square = f->sums[1];
  }
  if (omega && !f->merged) {
    PetscScalar own = 0.0;

    PetscCall(KSPIDRFusedSetResidual_Private(ksp, 0, &own));
    if (!idr->smoothing) {
      square  = own;
      reduced = PETSC_TRUE;
    }
  }
  PetscCall(KSPFusedBlockNorm(ksp, square, reduced, (PetscBool)(f->merged && f->more)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedReplace_IDR(KSP ksp)
{
  KSPFused      *f   = (KSPFused *)ksp->data;
  KSPIDRFused   *idr = KSPIDRFusedData(ksp);
  const PetscInt k   = f->since % (idr->d.s + 1);
  Vec            x   = ksp->vec_sol;
  PetscScalar    square;

  PetscFunctionBegin;
  if (f->s.scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  if (idr->smoothing) {
    ksp->vec_sol = ksp->work[XI];
    PetscCall(KSPFusedTrueResidual(ksp, ksp->work[RI]));
    ksp->vec_sol = x;
  }
  PetscCall(KSPIDRFusedSetResidual_Private(ksp, k, &square));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRenew_IDR(KSP ksp)
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(ksp, "A new shadow space\n"));
  PetscCall(KSPIDRFusedFill_Private(ksp, KSPIDRFusedData(ksp)->generation + 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const KSPFusedMethod KSPFusedMethod_IDR = {
  "IDR", 0, {W, T},
    PETSC_TRUE, KSPFusedStart_IDR, KSPFusedHead_IDR, KSPFusedTail_IDR, KSPFusedReplace_IDR, PETSC_TRUE, KSPFusedRenew_IDR
};

static PetscErrorCode KSPReset_IDRFused(KSP ksp)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  PetscCall(PetscFree4(idr->d.M, idr->d.f, idr->d.c, idr->d.alpha));
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
  KSPIDRFUSED - IDR(s) with biorthogonalization {cite}`gijzen:2011`, one reduction a product, residual smoothing and recovery from breakdowns

  Options Database Keys:
+ -ksp_idr_s s                                         - dimension of the shadow space, default 4, `KSPIDRSetS()`
. -ksp_idr_cosine c                                    - least cosine of the angle between residual and its image that omega believes, default 0.7, 0 for none, `KSPIDRSetCosine()`
. -ksp_idr_random_type type                            - fill the shadow space with a `PetscRandom`, as `KSPIDR` does, `KSPIDRSetRandom()`
. -ksp_idrfused_smoothing (true|false)                 - residual smoothing, `KSPIDRFusedSetSmoothing()`
. -ksp_idrfused_orthog (classical|modified|twice)      - how a direction is made orthogonal to shadow vectors, `KSPIDRFusedSetOrthogType()`
. -ksp_idrfused_petsc_vectors (true|false)             - vector operations by PETSc's functions, `KSPIDRFusedSetPetscVectors()`
. -ksp_fused_reductions (merged|plain)                 - s + 1 reductions in a cycle of s + 1 products, or twice as many, `KSPFusedSetReductions()`
. -ksp_fused_check_true_residual (true|false)          - compute the true residual at convergence, `KSPFusedSetCheckTrueResidual()`
. -ksp_fused_residual_replacement k                    - replace the residual by the true one every k iterations, `KSPFusedSetResidualReplacement()`
- -ksp_fused_converged_infinity                        - test the infinity norm, `KSPFusedConvergedInfinity()`

  Level: intermediate

  Notes:
  Options and functions of `KSPIDR` work on this method too. With the same shadow space (a `PetscRandom` of the same type and seed) iterates are those of `KSPIDR`, up to rounding,
  and so are sides and norms: left preconditioning with the preconditioned norm, right preconditioning with the unpreconditioned one, none with both. An iteration is one product with its
  preconditioner. Any `Mat` and any `PC` that does not change work; with a preconditioner that varies use `KSPFGMRES`. Without a `PetscRandom` the shadow space depends on the size of the problem
  alone, not on the number of ranks. `KSPIDRGetRandom()` makes a `PetscRandom`, which is used from then on. More shadow vectors than rows are not used.

  In the merged form, the default, all inner products of a product are in one reduction, with the norm of the residual before: on several ranks the method learns of its convergence
  one product late. In the plain form $P^H r$ is computed in each cycle, as by `KSPIDR`. With residual replacement the plain form is taken.

  A breakdown leads to a new shadow space and a new start from the true residual, and to `KSP_DIVERGED_BREAKDOWN` where that has been tried since the last iteration that was completed. What
  `KSPBCGSFUSED` says about the check of the true residual holds here too.

  There are kernels of its own for vectors on the host. With vectors on a device vector operations are those of PETSc, there (`VecMAXPY()` and local inner products), and solves are in
  lockstep: the iterates are right, the reductions as few, the speed is about that of `KSPIDR`. -ksp_fused_spmv and -ksp_fused_graph have no effect.

.seealso: [](ch_ksp), `KSPIDR`, `KSPBCGSFUSED`, `KSPCreate()`, `KSPSetType()`, `KSPIDRSetS()`, `KSPIDRSetCosine()`, `KSPIDRSetRandom()`, `KSPIDRFusedSetSmoothing()`, `KSPIDRFusedSetOrthogType()`,
          `KSPIDRFusedSetPetscVectors()`, `KSPFusedSetReductions()`, `KSPFusedSetCheckTrueResidual()`, `KSPFusedSetResidualReplacement()`, `KSPFusedConvergedInfinity()`, `KSPFusedGetInfo()`
M*/
PetscErrorCode KSPCreate_IDRFused(KSP ksp)
{
  KSPIDRFused *idr;
  KSPFused    *f;

  PetscFunctionBegin;
  PetscCall(KSPCreate_Fused(ksp, &KSPFusedMethod_IDR));
  f = (KSPFused *)ksp->data;
  PetscCall(PetscNew(&idr));
  f->data       = idr;
  f->reductions = KSP_FUSED_REDUCTIONS_MERGED;
  idr->s        = 4;
  idr->cosine   = 0.7;
  idr->orthog   = KSP_IDRFUSED_ORTHOG_CLASSICAL;

  ksp->ops->setup          = KSPSetUp_IDRFused;
  ksp->ops->reset          = KSPReset_IDRFused;
  ksp->ops->destroy        = KSPDestroy_IDRFused;
  ksp->ops->view           = KSPView_IDRFused;
  ksp->ops->setfromoptions = KSPSetFromOptions_IDRFused;
  PetscCall(KSPIDRFusedComposeMethods_Private(ksp, PETSC_TRUE));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_PRECONDITIONED, PC_LEFT, 3));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_UNPRECONDITIONED, PC_RIGHT, 2));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_LEFT, 1));
  PetscCall(KSPSetSupportedNorm(ksp, KSP_NORM_NONE, PC_RIGHT, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
