/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedprecisionoptions.c: option, setter and getter, and view of products in a lower precision */
#include "fusedprecisionoptions.h"
#include "fusedprecision.h"

const char *const KSPFusedPrecisions[] =
  {"DOUBLE", "SINGLE", "BF16", "AUTO", "KSPFusedPrecision", "KSP_FUSED_PRECISION_", NULL};

/*@
  KSPFusedSetPrecision - Precision of the values of the matrix in the products of the iterations, of the factors of
  `PCSPIKE`, and of the diagonal of `PCJACOBI`

  Logically Collective

  Input Parameters:
+ ksp       - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`
- precision - `KSP_FUSED_PRECISION_DOUBLE` (default), `KSP_FUSED_PRECISION_SINGLE`, `KSP_FUSED_PRECISION_BF16` or
              `KSP_FUSED_PRECISION_AUTO`

  Options Database Key:
. -ksp_fused_precision (double|single|bf16|auto) - the precision

  Level: intermediate

  Notes:
  Where products wait for the values of the matrix, as with large grids, fewer bytes are less time. Vectors, inner
  products and the arithmetic stay in `PetscScalar`, and so does the solution: the true residual, by `MatMult()` with
  the caller's matrix, replaces that of the iterations whenever its norm has fallen by a factor of ten, without a new
  start, and at the end it has to be below the tolerance itself. So the solution is as good as without; the iterations
  are a few more. Shadow vectors of `KSPIDRFUSED` have 16 bits a real number then: their space is arbitrary, and is
  another one than that of `PetscScalar`.

  A preconditioner `PCSPIKE` of this KSP has factors in single precision then, with bf16 on a device those of
  a part of the matrix have 16 bits, except with `KSPCGFUSED`. On a device those of the whole matrix have full
  precision, which is faster there. Factors of the whole matrix, and of one that is known to be
  definite, never have 16 bits: a method takes twice the iterations. `PCSpikeSetPrecision()` wins, whatever it sets.
  `PCSPIKE` keeps full precision, as -info and its view say, where row exchanges, a direct solve, a border, a batch,
  periodic or tridiagonal systems need it, where pivots are small, and where the factors of a setup from scratch turn
  out to be wrong. Where it has factors of the whole matrix, in any precision, products stay in `PetscScalar`: an
  iteration or two are left, of which the residual that is replaced would take more than it gains. Factors that do not
  bring the solution nearer, by a hundred in six iterations where they are of the whole matrix, by two in a hundred
  elsewhere, are given up for those of `PetscScalar`: `KSPView()` and -info say so, and until the matrix has other
  values they are not tried again. With several columns in `KSPMatSolve()` factors have full precision.

  The diagonal of `PCJACOBI` is rounded to single precision while products read such a copy. It is another diagonal
  preconditioner then, the same one from the first residual to the solution, which it does not limit; `KSPView()` and
  -info say so. It stays in `PetscScalar` where an entry is beyond 1e-37 to 1e37, and with a null space.

  It takes a copy of the matrix by the backend, or a `MATDIA` (`KSPFusedSetSpMVType()`), of which a second copy is
  made, with 1/2 or 1/4 of the bytes and 4 more a row, 8 with complex numbers. Elsewhere the solve has `PetscScalar`,
  and -info says why: with shells and other matrices that have no copy, with `MATGRIDSTENCIL` and `MATBAIJCUDA`, with
  `MATAIJ` on several ranks, transposed, in `KSPMatSolve()` with several columns, for values beyond 1e-30 to 1e37, and
  where `PetscScalar` has no more digits than that. Reductions are plain then, and no kernel makes many iterations
  (`KSPFusedSetPersistent()`). The norms of `KSPCGFUSED` are best those of $b - A x$; with others a claim that is
  refuted leads to a new start.

  Rounding leaves the sums of the rows of the matrix as they are, by a number in single precision for each row, with
  complex numbers in both parts. That keeps operators of diffusion what they are, whatever their condition. It does
  not where vectors with small products are no constants, as with entries of other signs or phases (D A D^H, D of
  magnitude 1): with bf16 the iterations may be several times as many, where eigenvalues are small beside the
  rounding. Where the iterations stagnate, break down, or find the matrix indefinite, the method goes on by itself
  from the true residual with `PetscScalar`: `KSPView()`, -info and `KSPFusedInfo` say so, and solves with the same
  values of the matrix do not try it again.

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetPrecision()`, `KSPFusedPrecision`, `KSPFusedGetInfo()`,
`PCSpikeSetPrecision()`
@*/
PetscErrorCode KSPFusedSetPrecision(KSP ksp, KSPFusedPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, precision, 2);
  PetscTryMethod(ksp, "KSPFusedSetPrecision_C", (KSP, KSPFusedPrecision), (ksp, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedSetPrecision_Fused(KSP ksp, KSPFusedPrecision precision)
{
  KSPFused *f = (KSPFused *)ksp->data;

  PetscFunctionBegin;
  PetscCheck(precision >= KSP_FUSED_PRECISION_DOUBLE && precision <= KSP_FUSED_PRECISION_AUTO,
             PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE, "Unknown precision %d", (int)precision);
  f->options.precision = precision;
  f->product.wornmat = f->product.singlemat = 0; /* what has gone wrong may be tried again */
  f->factors.anew                           = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPFusedGetPrecision - What `KSPFusedSetPrecision()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPBCGSFUSED`, `KSPCGFUSED` or `KSPIDRFUSED`

  Output Parameter:
. precision - `KSP_FUSED_PRECISION_DOUBLE` (default), `KSP_FUSED_PRECISION_SINGLE`, `KSP_FUSED_PRECISION_BF16` or
              `KSP_FUSED_PRECISION_AUTO`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetPrecision()`, `KSPFusedGetInfo()`
@*/
PetscErrorCode KSPFusedGetPrecision(KSP ksp, KSPFusedPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(precision, 2);
  PetscUseMethod(ksp, "KSPFusedGetPrecision_C", (KSP, KSPFusedPrecision *), (ksp, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedGetPrecision_Fused(KSP ksp, KSPFusedPrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((KSPFused *)ksp->data)->options.precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedPrecisionSetFromOptions(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  PetscEnum precision = (PetscEnum)((KSPFused *)ksp->data)->options.precision;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-ksp_fused_precision", "Values of the matrix in products, factors",
                             "KSPFusedSetPrecision", KSPFusedPrecisions, precision, &precision, &set));
  if (set) PetscCall(KSPFusedSetPrecision(ksp, (KSPFusedPrecision)precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was asked for, where that is not the default, and what the last solve had */
PetscErrorCode KSPFusedPrecisionView(KSP ksp, PetscViewer viewer)
{
  const KSPFused *f = (const KSPFused *)ksp->data;

  PetscFunctionBegin;
  if (f->options.precision == KSP_FUSED_PRECISION_DOUBLE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  products with values in precision %s",
                                   KSPFusedPrecisionNames[f->options.precision]));
  if (f->info.backend[0]) {
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    if (f->info.widened) PetscCall(PetscViewerASCIIPrintf(viewer, ", in the last solve given up for PetscScalar"));
    else if (f->info.precision == KSP_FUSED_PRECISION_DOUBLE)
      PetscCall(PetscViewerASCIIPrintf(viewer, ", in the last solve PetscScalar"));
    else
      PetscCall(PetscViewerASCIIPrintf(viewer, ", in the last solve %s%s%s, residual replaced %" PetscInt_FMT " times",
                                       KSPFusedPrecisionNames[f->info.precision],
                                       KSPFusedHasNarrowShadow(f) ? ", shadow vectors with 16 bits" : "",
                                       f->pc.single ? ", the diagonal of the preconditioner in single" : "",
                                       f->info.replacements));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedPrecisionComposeMethods(KSP ksp, PetscBool compose)
{
  PetscObject o = (PetscObject)ksp;

  PetscFunctionBegin;
#define KSPFusedCompose(name) PetscCall(PetscObjectComposeFunction(o, #name "_C", compose ? name##_Fused : NULL))
  KSPFusedCompose(KSPFusedSetPrecision);
  KSPFusedCompose(KSPFusedGetPrecision);
#undef KSPFusedCompose
  PetscFunctionReturn(PETSC_SUCCESS);
}
