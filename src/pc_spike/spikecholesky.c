/* SPDX-License-Identifier: BSD-2-Clause */
/* spikecholesky.c: L D L^H in place of L U in PCSPIKE: when it is taken, and its option */
#include "spikeimpl.h"

/* x^H A y = conj(y^H A x) for two random vectors, to rounding; the same on all ranks */
PetscErrorCode PCSpikeTestHermitian_Private(Mat A, PetscBool *hermitian)
{
  Vec         x, y, u;
  PetscRandom random;
  PetscScalar xay, yax;
  PetscReal   nx, ny, nu, scale;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &u));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)A), &random));
  PetscCall(PetscRandomSetType(random, PETSCRAND48));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(PetscRandomSetSeed(random, 0x12345678 + 7919 * (PetscInt64)rank)); /* ranks have values of their own */
  PetscCall(PetscRandomSeed(random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(VecSetRandom(y, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecNorm(x, NORM_2, &nx));
  PetscCall(VecNorm(y, NORM_2, &ny));
  PetscCall(MatMult(A, y, u));
  PetscCall(VecDot(u, x, &xay));
  PetscCall(VecNorm(u, NORM_2, &nu));
  scale = nx * nu;
  PetscCall(MatMult(A, x, u));
  PetscCall(VecDot(u, y, &yax));
  PetscCall(VecNorm(u, NORM_2, &nu));
  scale += ny * nu;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&u));
  /* of entries that are not finite the fill tells */
  *hermitian = (PetscBool) !(PetscAbsScalar(xay - PetscConj(yax)) > 1000 * PETSC_MACHINE_EPSILON * scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether options and matrix ask for L D L^H in this setup; reuse of a setup that has decided otherwise is taken back. A
  combination of options that cannot be is an error, where the type has been set.
*/
PetscErrorCode PCSpikeCholeskyBegin_Private(PC pc, PetscBool *reuse)
{
  PC_Spike       *s        = (PC_Spike *)pc->data;
  MPI_Comm        comm     = PetscObjectComm((PetscObject)pc);
  const char     *pre      = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool       definite = (PetscBool)(s->factortype == PC_SPIKE_FACTOR_CHOLESKY), known, spd;
  const PetscBool must     = definite,
                  boosts   = (PetscBool)(s->shifttype == MAT_SHIFT_NONZERO || s->shifttype == MAT_SHIFT_INBLOCKS);

  PetscFunctionBegin;
  if (s->factortype == PC_SPIKE_FACTOR_AUTO) {
    PetscCall(MatIsSPDKnown(pc->pmat, &known, &spd));
    definite = (PetscBool)(known && spd);
  }
  if (must) {
    PetscCheck(s->matching.type != PC_SPIKE_MATCHING_ALWAYS, comm, PETSC_ERR_ARG_INCOMP,
               "A matching permutes rows alone, after which the matrix is not hermitian: leave out "
               "-%spc_spike_matching_type always, or -%spc_spike_factor_type cholesky",
               pre, pre);
    PetscCheck(!s->pivoting, comm, PETSC_ERR_ARG_INCOMP,
               "Cholesky exchanges no rows: leave out -%spc_spike_pivoting, or -%spc_spike_factor_type cholesky", pre,
               pre);
    PetscCheck(s->tridiagonal == PC_SPIKE_TRIDIAGONAL_AUTO, comm, PETSC_ERR_ARG_INCOMP,
               "The algorithms for tridiagonal systems are LU: leave out -%spc_spike_tridiagonal_type, or "
               "-%spc_spike_factor_type cholesky",
               pre, pre);
    PetscCheck(s->userkl == s->userku, comm, PETSC_ERR_ARG_INCOMP,
               "Cholesky takes equal half-bandwidths, not %" PetscInt_FMT ",%" PetscInt_FMT
               ": use -%spc_spike_bandwidth %" PetscInt_FMT ", or leave out -%spc_spike_factor_type cholesky",
               s->userkl, s->userku, pre, PetscMax(s->userkl, s->userku), pre);
    PetscCheck(!boosts, comm, PETSC_ERR_ARG_INCOMP,
               "Cholesky boosts no pivots, below which others would become negative: leave out -%spc_spike_shift_type, "
               "or -%spc_spike_factor_type cholesky",
               pre, pre);
  } else if (s->matching.type == PC_SPIKE_MATCHING_ALWAYS || s->pivoting || s->userkl != s->userku || boosts)
    definite = PETSC_FALSE;
  if (definite != s->definite) *reuse = PETSC_FALSE;
  s->definite = definite;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where Cholesky was asked for and nothing is known of the matrix: a failure where it is not hermitian, on all ranks */
PetscErrorCode PCSpikeCholeskyCheck_Private(PC pc, PetscBool *good)
{
  const PC_Spike *s     = (const PC_Spike *)pc->data;
  const char     *pre   = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool       known = PETSC_FALSE, has;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  if (s->factortype != PC_SPIKE_FACTOR_CHOLESKY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsHermitianKnown(pc->pmat, &known, good));
  if (!known) {
    *good = PETSC_TRUE;
    PetscCall(MatHasOperation(pc->pmat, MATOP_MULT, &has));
    if (has) PetscCall(PCSpikeTestHermitian_Private(pc->pmat, good));
  }
  if (!*good)
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_ARG_WRONG,
                                     "The matrix is not hermitian, and Cholesky was asked for: use "
                                     "-%spc_spike_factor_type lu",
                                     pre));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  When the band is chosen, before partitions are. Half-bandwidth 1 of a matrix that is known to be positive definite
  keeps the kernels of tridiagonal systems, which are LU.
*/
PetscErrorCode PCSpikeCholeskyChoose_Private(PC pc)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  const PetscInt K = PetscMax(b->kl, b->ku);

  PetscFunctionBegin;
  b->cholesky = (PetscBool)(s->definite && !PCSpikeExchanges_Private(s));
  b->corner   = s->window;
  if (b->cholesky && s->factortype == PC_SPIKE_FACTOR_AUTO) {
    if (b->kl != b->ku) {
      b->cholesky = PETSC_FALSE;
      PetscCall(PetscInfo(pc,
                          "MAT_SPD says hermitian, but half-bandwidths are %" PetscInt_FMT ",%" PetscInt_FMT ": LU\n",
                          b->kl, b->ku));
    } else if (s->lines.active) {
      b->cholesky = PETSC_FALSE;
      PetscCall(PetscInfo(pc, "Paths: LU, of what need not be definite, and by the kernels for many systems\n"));
    } else if (PCSpikeExchanges_Private(s)) {
      b->cholesky = PETSC_FALSE;
      PetscCall(PetscInfo(pc, "Row exchanges: LU\n"));
    } else if (K == 1 && b->k->tridiagonal && SpikePrecisionBytes(b->precision) == sizeof(PetscReal)) {
      b->cholesky = PETSC_FALSE;
      PetscCall(PetscInfo(pc, "Half-bandwidth 1: LU, by the kernels for tridiagonal systems\n"));
    }
  }
  if (!b->cholesky) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!s->pivoting, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "Cholesky exchanges no rows: leave out -%spc_spike_pivoting, or -%spc_spike_factor_type cholesky",
             ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "",
             ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  s->info.kl = s->info.ku = b->kl = b->ku = K;
  PetscCall(PetscInfo(pc, "Factors by Cholesky%s\n", b->k->cholesky ? "" : ", kept as L and U on this device"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pivot that is not positive */
PetscErrorCode PCSpikeNotDefinite_Private(PC pc, PetscInt row, const SpikePivot *pivot)
{
  const PC_Spike *s   = (const PC_Spike *)pc->data;
  const char     *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_CH_ZRPVT,
                                   "Not positive definite%s: the pivot of row %" PetscInt_FMT
                                   " is %g, not above %g, the zero pivot tolerance %g times the norm; use "
                                   "-%spc_spike_factor_type lu",
                                   s->factortype == PC_SPIKE_FACTOR_AUTO ? ", as MAT_SPD says" : "", row,
                                   (double)pivot->badvalue, (double)pivot->tol, (double)s->zeropivot, pre));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeCholeskyView_Private(PC pc, PetscViewer viewer)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (!s->band.k || !s->band.cholesky) {
    if (s->factortype != PC_SPIKE_FACTOR_AUTO)
      PetscCall(PetscViewerASCIIPrintf(viewer, "  factorization %s\n",
                                       s->factortype == PC_SPIKE_FACTOR_LU ? "lu" : "cholesky"));
  } else
    PetscCall(PetscViewerASCIIPrintf(viewer, "  factorization cholesky: %s\n",
                                     s->band.k->cholesky ? "L D L^H, half of the bytes of LU"
                                                         : "positive pivots, L and U kept both on this device"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetFactorType_Spike(PC pc, PCSpikeFactorType type)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(type >= PC_SPIKE_FACTOR_AUTO && type <= PC_SPIKE_FACTOR_CHOLESKY, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Unknown PCSpikeFactorType %d", (int)type);
  if (s->factortype != type) PetscCall(PCSpikeChanged_Private(pc));
  s->factortype = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetFactorType_Spike(PC pc, PCSpikeFactorType *type)
{
  PetscFunctionBegin;
  *type = ((PC_Spike *)pc->data)->factortype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetFactorType - Whether partitions are factored as L U or, of a hermitian positive definite matrix, as L D L^H

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- type - `PC_SPIKE_FACTOR_AUTO` (the default), `PC_SPIKE_FACTOR_LU` or `PC_SPIKE_FACTOR_CHOLESKY`

  Options Database Key:
. -pc_spike_factor_type (auto|lu|cholesky) - the factorization

  Level: intermediate

  Notes:
  L D L^H with a unit lower triangular L and a diagonal D, the form of Cholesky's factorization without square roots,
  takes half of the bytes and of the operations of L U. It is stable without row exchanges. Of the entries inside a
  partition those on and below the diagonal are read. Both half-bandwidths become the larger one.

  `PC_SPIKE_FACTOR_AUTO` takes it where the matrix is known to be positive definite, by `MatSetOption()` with `MAT_SPD`,
  which PETSc forgets when values change, unless `MAT_SPD_ETERNAL` is set. Each setup looks anew. It leaves tridiagonal
  matrices to their own kernels, which are LU, and takes LU where options ask for what Cholesky has not: a matching, row
  exchanges, unequal half-bandwidths, boosted pivots. With `PC_SPIKE_FACTOR_CHOLESKY` a matrix of which nothing is known
  is tested in each setup, by two products with random vectors: one that is not hermitian ends the setup with
  `PC_FACTOR_OTHER`. What `MAT_SPD` says is not tested. With complex numbers a `MATSBAIJ` is symmetric, not hermitian,
  until `MAT_HERMITIAN` is set, after `MAT_SPD`.

  A pivot that is not positive, or not above the zero pivot tolerance, ends the setup with
  `PC_FACTOR_NUMERIC_ZEROPIVOT` and the row of the matrix: the matrix is not positive definite. No pivot is boosted, for
  below a small one all others would become negative.

  An application is hermitian to rounding, as `KSPCG` needs it: spikes are corrected down to rounding whatever
  `PCSpikeSetWindowTolerance()` says. It is positive definite with one partition, with `PC_SPIKE_BLOCK`, and with
  `PC_SPIKE_FULL`; with `PC_SPIKE_TRUNCATED` as long as what truncation neglects is small, of which `PC_SPIKE_AUTO`
  takes care.

  With exact coupling the spikes of both sides of a partition come from the same columns of its inverse. On a GPU L and
  U = D L^H are kept both: bytes are those of LU, M is hermitian to the rounding of the factors, pivots must be positive
  all the same, and -pc_view says so. Real factors in double and single precision are computed by L D L^T from half of
  the band where the half-bandwidth is above 32, others by LU. A left tip may there neglect what
  `PCSpikeSetWindowTolerance()` says, in all columns alike, which leaves M hermitian.

  References:
  Golub and Van Loan, Matrix Computations, 4th edition (2013), 4.1.2 and 4.3.5. Polizzi and Sameh, A parallel hybrid
  banded system solver: the SPIKE algorithm, Parallel Computing 32 (2006).

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetFactorType()`, `PCSpikeFactorType`, `MatSetOption()`, `MatIsSPDKnown()`,
`PCFactorSetShiftType()`, `KSPCG`, `PCCHOLESKY`
@*/
PetscErrorCode PCSpikeSetFactorType(PC pc, PCSpikeFactorType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCSpikeSetFactorType_C", (PC, PCSpikeFactorType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetFactorType - What `PCSpikeSetFactorType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. type - the factorization, `PC_SPIKE_FACTOR_AUTO` where none was set

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetFactorType()`
@*/
PetscErrorCode PCSpikeGetFactorType(PC pc, PCSpikeFactorType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCSpikeGetFactorType_C", (PC, PCSpikeFactorType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeCholeskyMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetFactorType_C", PCSpikeSetFactorType_Spike);
  SpikeCompose("PCSpikeGetFactorType_C", PCSpikeGetFactorType_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
