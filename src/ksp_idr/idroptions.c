/* SPDX-License-Identifier: BSD-2-Clause */
/* idroptions.c: options, setters and getters, and view of KSPIDRFUSED; what KSPIDR has goes by its functions */
#include "idrimpl.h"

const char *const KSPIDRFusedOrthogTypes[] =
  {"CLASSICAL", "MODIFIED", "TWICE", "KSPIDRFusedOrthogType", "KSP_IDRFUSED_ORTHOG_", NULL};

/*@
  KSPIDRFusedSetSmoothing - Whether residuals are smoothed

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPIDRFUSED`
- flg - `PETSC_TRUE` to smooth them (default `PETSC_FALSE`)

  Options Database Key:
. -ksp_idrfused_smoothing (true|false) - smooth them

  Level: intermediate

  Note:
  Of all points on the line from the last smoothed iterate to the iterate of IDR(s) the one with the smallest residual
  is the solution, so norms never rise; the test sees them. It takes two work vectors and 4 words of traffic a row and
  product: it is done by the update of the next product, and its inner products are part of the reductions that there
  are.

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedGetSmoothing()`
@*/
PetscErrorCode KSPIDRFusedSetSmoothing(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPIDRFusedSetSmoothing_C", (KSP, PetscBool), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedGetSmoothing - What `KSPIDRFusedSetSmoothing()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_TRUE` to smooth them (default `PETSC_FALSE`)

  Level: intermediate

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedSetSmoothing()`
@*/
PetscErrorCode KSPIDRFusedGetSmoothing(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPIDRFusedGetSmoothing_C", (KSP, PetscBool *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedGetSmoothing_IDRFused(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = KSPIDRFusedData(ksp)->smoothing;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedSetSmoothing_IDRFused(KSP ksp, PetscBool flg)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  if (idr->smoothing != flg) ksp->setupstage = KSP_SETUP_NEW;
  idr->smoothing = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedSetOrthogType - How a direction is made orthogonal to the shadow vectors before it

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPIDRFUSED`
- type - `KSP_IDRFUSED_ORTHOG_CLASSICAL` (default), `KSP_IDRFUSED_ORTHOG_MODIFIED` or `KSP_IDRFUSED_ORTHOG_TWICE`

  Options Database Key:
. -ksp_idrfused_orthog (classical|modified|twice) - the form

  Level: intermediate

  Note:
  The classical form has one reduction a product, the modified one, which is that of `KSPIDR`, up to s, and the third
  one two. On hard problems the first may leave a digit less between recurrence and truth.

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedGetOrthogType()`
@*/
PetscErrorCode KSPIDRFusedSetOrthogType(KSP ksp, KSPIDRFusedOrthogType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, type, 2);
  PetscTryMethod(ksp, "KSPIDRFusedSetOrthogType_C", (KSP, KSPIDRFusedOrthogType), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedGetOrthogType - What `KSPIDRFusedSetOrthogType()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPIDRFUSED`

  Output Parameter:
. type - `KSP_IDRFUSED_ORTHOG_CLASSICAL` (default), `KSP_IDRFUSED_ORTHOG_MODIFIED` or `KSP_IDRFUSED_ORTHOG_TWICE`

  Level: intermediate

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedSetOrthogType()`
@*/
PetscErrorCode KSPIDRFusedGetOrthogType(KSP ksp, KSPIDRFusedOrthogType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(ksp, "KSPIDRFusedGetOrthogType_C", (KSP, KSPIDRFusedOrthogType *), (ksp, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedGetOrthogType_IDRFused(KSP ksp, KSPIDRFusedOrthogType *type)
{
  PetscFunctionBegin;
  *type = KSPIDRFusedData(ksp)->orthog;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedSetOrthogType_IDRFused(KSP ksp, KSPIDRFusedOrthogType type)
{
  PetscFunctionBegin;
  KSPIDRFusedData(ksp)->orthog           = type;
  ((KSPFused *)ksp->data)->graph.variant = (PetscInt)type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedSetFlexible - Whether right preconditioning may be by an operator that varies

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPIDRFUSED`
- flg - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default) to go by the type of the
        preconditioner

  Options Database Key:
. -ksp_idrfused_flexible (true|false|unknown) - the form

  Level: intermediate

  Notes:
  In the flexible form directions are kept as the preconditioner B has returned them, $u_k = \omega B (r - G c) + U c$,
  $g_k = A u_k$, so that $r = b - A x$ whatever B is, and x is the solution at any time: B is applied once a product as
  else, and no more at the end. The other form updates a correction in the space before B, and applies B to that at the
  end: it needs a B that is one linear operator. Where it is, both give the same iterates, up to rounding.

  By default B counts as fixed where it is one of PETSc's pointwise, relaxation or factorization preconditioners, or
  `PCSPIKE`; any other (`PCKSP`, `PCSHELL`, `PCMG`, `PCBJACOBI`, ...) may vary, and the flexible form is taken. It moves
  3 words more a row and product. Left preconditioning and `PCNONE` have no such form.

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedGetFlexible()`, `KSPFGMRES`, `PCKSP`
@*/
PetscErrorCode KSPIDRFusedSetFlexible(KSP ksp, PetscBool3 flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPIDRFusedSetFlexible_C", (KSP, PetscBool3), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedGetFlexible - What `KSPIDRFusedSetFlexible()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default)

  Level: intermediate

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedSetFlexible()`
@*/
PetscErrorCode KSPIDRFusedGetFlexible(KSP ksp, PetscBool3 *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPIDRFusedGetFlexible_C", (KSP, PetscBool3 *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedGetFlexible_IDRFused(KSP ksp, PetscBool3 *flg)
{
  PetscFunctionBegin;
  *flg = ((KSPFused *)ksp->data)->options.flexible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedSetFlexible_IDRFused(KSP ksp, PetscBool3 flg)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.flexible = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedSetPetscVectors - Whether vector operations are PETSc's functions

  Logically Collective

  Input Parameters:
+ ksp - the Krylov solver, of type `KSPIDRFUSED`
- flg - `PETSC_TRUE` for `VecMAXPY()` and its like (default `PETSC_FALSE`)

  Options Database Key:
. -ksp_idrfused_petsc_vectors (true|false) - PETSc's functions

  Level: intermediate

  Note:
  By default kernels of this library are used where it has some for vectors of their kind, and PETSc's functions
  elsewhere.

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedGetPetscVectors()`
@*/
PetscErrorCode KSPIDRFusedSetPetscVectors(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscValidLogicalCollectiveBool(ksp, flg, 2);
  PetscTryMethod(ksp, "KSPIDRFusedSetPetscVectors_C", (KSP, PetscBool), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  KSPIDRFusedGetPetscVectors - What `KSPIDRFusedSetPetscVectors()` has set

  Not Collective

  Input Parameter:
. ksp - the Krylov solver, of type `KSPIDRFUSED`

  Output Parameter:
. flg - `PETSC_TRUE` for `VecMAXPY()` and its like (default `PETSC_FALSE`)

  Level: intermediate

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedSetPetscVectors()`
@*/
PetscErrorCode KSPIDRFusedGetPetscVectors(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(ksp, KSP_CLASSID, 1);
  PetscAssertPointer(flg, 2);
  PetscUseMethod(ksp, "KSPIDRFusedGetPetscVectors_C", (KSP, PetscBool *), (ksp, flg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedGetPetscVectors_IDRFused(KSP ksp, PetscBool *flg)
{
  PetscFunctionBegin;
  *flg = ((KSPFused *)ksp->data)->options.petsc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRFusedSetPetscVectors_IDRFused(KSP ksp, PetscBool flg)
{
  PetscFunctionBegin;
  ((KSPFused *)ksp->data)->options.petsc = flg;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRSetS_IDRFused(KSP ksp, PetscInt s)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  PetscCheck(s >= 1, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "Dimension of the shadow space %" PetscInt_FMT " is less than 1", s);
  if (idr->s != s) ksp->setupstage = KSP_SETUP_NEW;
  idr->s = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRGetS_IDRFused(KSP ksp, PetscInt *s)
{
  PetscFunctionBegin;
  *s = KSPIDRFusedData(ksp)->s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRSetCosine_IDRFused(KSP ksp, PetscReal cosine)
{
  PetscFunctionBegin;
  PetscCheck(cosine >= 0.0 && cosine < 1.0, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_OUTOFRANGE,
             "Cosine %g is not in [0, 1)", (double)cosine);
  KSPIDRFusedData(ksp)->cosine = cosine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRGetCosine_IDRFused(KSP ksp, PetscReal *cosine)
{
  PetscFunctionBegin;
  *cosine = KSPIDRFusedData(ksp)->cosine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shadow space is filled anew, from this generator */
static PetscErrorCode KSPIDRSetRandom_IDRFused(KSP ksp, PetscRandom rand)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)rand));
  PetscCall(PetscRandomDestroy(&idr->rand));
  idr->rand   = rand;
  idr->filled = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPIDRGetRandom_IDRFused(KSP ksp, PetscRandom *rand)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);

  PetscFunctionBegin;
  if (!idr->rand) {
    PetscCall(PetscRandomCreate(PetscObjectComm((PetscObject)ksp), &idr->rand));
    PetscCall(PetscObjectIncrementTabLevel((PetscObject)idr->rand, (PetscObject)ksp, 1));
    PetscCall(PetscRandomSetOptionsPrefix(idr->rand, ((PetscObject)ksp)->prefix));
    PetscCall(PetscObjectAppendOptionsPrefix((PetscObject)idr->rand, "ksp_idr_"));
    PetscCall(PetscObjectSetOptions((PetscObject)idr->rand, ((PetscObject)ksp)->options));
    idr->filled = 0;
  }
  *rand = idr->rand;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *KSPIDRFusedBool3Name(PetscBool3 flg)
{
  return flg == PETSC_BOOL3_UNKNOWN ? "unknown" : (flg == PETSC_BOOL3_TRUE ? "true" : "false");
}

PetscErrorCode KSPSetFromOptions_IDRFused(KSP ksp, PetscOptionItems PetscOptionsObject)
{
  KSPIDRFused *idr    = KSPIDRFusedData(ksp);
  PetscInt     s      = idr->s;
  PetscReal    cosine = idr->cosine;
  PetscEnum    orthog = (PetscEnum)idr->orthog;
  PetscBool    set, type, seed, flg = idr->smoothing;
  PetscRandom  rand;
  PetscBool3   flexible = ((KSPFused *)ksp->data)->options.flexible;
  char         text[64];

  PetscFunctionBegin;
  PetscCall(KSPSetFromOptions_Fused(ksp, PetscOptionsObject));
  PetscOptionsHeadBegin(PetscOptionsObject, "Fused IDR(s) options");
  PetscCall(PetscOptionsBoundedInt("-ksp_idr_s", "Dimension of the shadow space", "KSPIDRSetS", s, &s, &set, 1));
  if (set) PetscCall(KSPIDRSetS(ksp, s));
  PetscCall(PetscOptionsRangeReal("-ksp_idr_cosine", "Least cosine that omega believes, 0 for none", "KSPIDRSetCosine",
                                  cosine, &cosine, &set, 0.0, 1.0));
  if (set) PetscCall(KSPIDRSetCosine(ksp, cosine));
  PetscCall(
    PetscOptionsBool("-ksp_idrfused_smoothing", "Residual smoothing", "KSPIDRFusedSetSmoothing", flg, &flg, &set));
  if (set) PetscCall(KSPIDRFusedSetSmoothing(ksp, flg));
  PetscCall(PetscOptionsEnum("-ksp_idrfused_orthog", "Projection of directions", "KSPIDRFusedSetOrthogType",
                             KSPIDRFusedOrthogTypes, orthog, &orthog, &set));
  if (set) PetscCall(KSPIDRFusedSetOrthogType(ksp, (KSPIDRFusedOrthogType)orthog));
  /* PetscOptionsBool3() takes the name of the value from an array, where what is unknown is number -1 */
  PetscCall(PetscOptionsString("-ksp_idrfused_flexible",
                               "Right preconditioning by an operator that may vary: true, false or unknown",
                               "KSPIDRFusedSetFlexible", KSPIDRFusedBool3Name(flexible), text, sizeof(text), NULL));
  PetscCall(PetscOptionsGetBool3(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_idrfused_flexible",
                                 &flexible, &set));
  if (set) PetscCall(KSPIDRFusedSetFlexible(ksp, flexible));
  flg = ((KSPFused *)ksp->data)->options.petsc;
  PetscCall(PetscOptionsBool("-ksp_idrfused_petsc_vectors", "Vector operations by PETSc's functions",
                             "KSPIDRFusedSetPetscVectors", flg, &flg, &set));
  if (set) PetscCall(KSPIDRFusedSetPetscVectors(ksp, flg));
  PetscOptionsHeadEnd();
  PetscCall(
    PetscOptionsHasName(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_idr_random_type", &type));
  PetscCall(
    PetscOptionsHasName(((PetscObject)ksp)->options, ((PetscObject)ksp)->prefix, "-ksp_idr_random_seed", &seed));
  if (type || seed || idr->rand) {
    PetscCall(KSPIDRGetRandom(ksp, &rand));
    PetscCall(PetscRandomSetFromOptions(rand));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPView_IDRFused(KSP ksp, PetscViewer viewer)
{
  KSPIDRFused *idr = KSPIDRFusedData(ksp);
  PetscBool    isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (!isascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  s (shadow space dimension) = %" PetscInt_FMT ", projection %s%s\n",
                                   idr->s,
                                   idr->orthog == KSP_IDRFUSED_ORTHOG_CLASSICAL
                                     ? "classical"
                                     : (idr->orthog == KSP_IDRFUSED_ORTHOG_MODIFIED ? "modified" : "classical, twice"),
                                   idr->smoothing ? ", smoothed residuals" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "  omega stabilization cosine threshold = %g\n", (double)idr->cosine));
  if (((KSPFused *)ksp->data)->pc.flexible) PetscCall(PetscViewerASCIIPrintf(viewer, "  flexible\n"));
  if (idr->rand) {
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(PetscRandomView(idr->rand, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
  }
  PetscCall(KSPView_Fused(ksp, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Composes the methods of the setters and getters, or takes them away */
PetscErrorCode KSPIDRFusedComposeMethods_Private(KSP ksp, PetscBool compose)
{
  PetscObject o = (PetscObject)ksp;

  PetscFunctionBegin;
#define KSPIDRFusedCompose(name) PetscCall(PetscObjectComposeFunction(o, #name "_C", compose ? name##_IDRFused : NULL))
  KSPIDRFusedCompose(KSPIDRSetS);
  KSPIDRFusedCompose(KSPIDRGetS);
  KSPIDRFusedCompose(KSPIDRSetCosine);
  KSPIDRFusedCompose(KSPIDRGetCosine);
  KSPIDRFusedCompose(KSPIDRSetRandom);
  KSPIDRFusedCompose(KSPIDRGetRandom);
  KSPIDRFusedCompose(KSPIDRFusedSetSmoothing);
  KSPIDRFusedCompose(KSPIDRFusedGetSmoothing);
  KSPIDRFusedCompose(KSPIDRFusedSetOrthogType);
  KSPIDRFusedCompose(KSPIDRFusedGetOrthogType);
  KSPIDRFusedCompose(KSPIDRFusedSetFlexible);
  KSPIDRFusedCompose(KSPIDRFusedGetFlexible);
  KSPIDRFusedCompose(KSPIDRFusedSetPetscVectors);
  KSPIDRFusedCompose(KSPIDRFusedGetPetscVectors);
#undef KSPIDRFusedCompose
  PetscFunctionReturn(PETSC_SUCCESS);
}
