/* SPDX-License-Identifier: BSD-2-Clause */
/*
  petsccompat.h: all that PETSc 3.24, 3.25 and 3.26 have differently, but for what users of petscspike.h need. Sources
  are written for 3.26: what an older PETSc lacks is defined here under PETSc's own name, and what has another form
  there goes by a function with the suffix _Spike
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include <petscblaslapack.h>
#include <petscsnes.h>
#include <petscspike.h>

#if PETSC_VERSION_MAJOR != 3 || PETSC_VERSION_MINOR < 24 || PETSC_VERSION_MINOR > 26
  #error "petscspike is for PETSc 3.24, 3.25 and 3.26"
#endif

/* 3.26 has an IDR(s) of its own; a type of that name in an older PETSc is not found at run time */
#if !defined(KSPIDR)
  #define KSPIDR "idr"
#endif

static inline PetscErrorCode SpikeKSPHasType(KSPType type, PetscBool *has)
{
  PetscErrorCode (*create)(KSP);

  PetscFunctionBegin;
  PetscCall(KSPInitializePackage());
  PetscCall(PetscFunctionListFind(KSPList, type, &create));
  *has = (PetscBool)(create != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_LT(3, 26, 0)
/*
  A dense matrix becomes infinite on ranks with a flag, and has another state on all. MatSetInf() of an older PETSc is
  an error, because no dense matrix has the operation
*/
static inline PetscErrorCode MatFlag(Mat A, PetscInt flg)
{
  Mat      local;
  PetscInt m;
  Vec      v;

  PetscFunctionBegin;
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDenseGetLocalMatrix(A, &local));
  PetscCall(MatGetSize(local, NULL, &m));
  for (PetscInt i = 0; i < m; i++) {
    PetscCall(MatDenseGetColumnVecWrite(local, i, &v));
    PetscCall(VecFlag(v, flg));
    PetscCall(MatDenseRestoreColumnVecWrite(local, i, &v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of preconditioned vectors, as KSP_PCApply() leaves a vector */
static inline PetscErrorCode KSP_RemoveNullSpaceMat(KSP ksp, Mat Y)
{
  PetscInt m;
  Vec      y;

  PetscFunctionBegin;
  PetscCall(MatGetSize(Y, NULL, &m));
  for (PetscInt i = 0; i < m && ksp->pc_side == PC_LEFT; i++) {
    PetscCall(MatDenseGetColumnVec(Y, i, &y));
    if (ksp->transpose_solve) PetscCall(KSP_RemoveNullSpaceTranspose(ksp, y));
    else PetscCall(KSP_RemoveNullSpace(ksp, y));
    PetscCall(MatDenseRestoreColumnVec(Y, i, &y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

  /* A LAPACK routine whose last argument is &info; the macro declares info */
  #define PetscCallLAPACKInfo(name, routine) \
    do { \
      PetscBLASInt info = 0; \
      PetscCallBLAS(name, routine); \
      PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK routine %s: info = %d", name, (int)info); \
    } while (0)
#endif

/*
  Whether the last PCSetUp() saw the values that the matrix has now; PCSetOperators() forgets the state of another one
*/
static inline PetscErrorCode SpikePCIsCurrent(PC pc, PetscBool *current)
{
#if PETSC_VERSION_LT(3, 26, 0)
  PetscObjectState state;
#else
  MatState state;
#endif

  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 26, 0)
  PetscCall(PetscObjectStateGet((PetscObject)pc->pmat, &state));
  *current = (PetscBool)(state == pc->matstate);
#else
  PetscCall(MatGetState(pc->pmat, &state));
  PetscCall(MatStateCompare(state, pc->matstate, current));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether KSPMatSolveTranspose() was called. An older PETSc refuses an explicit transpose there */
static inline PetscBool SpikeKSPIsTransposeRequested(KSP ksp)
{
#if PETSC_VERSION_LT(3, 26, 0)
  return ksp->transpose_solve;
#else
  return ksp->transpose.solve_requested;
#endif
}

/*
  Whether a KSPSolve() does more before and after the method than a KSPMatSolve(): functions of the user; in 3.26 those
  of SNES for inexact Newton methods, which it sets as functions of the user before; in an older PETSc
  KSPSetDiagonalScale()
*/
static inline PetscBool SpikeKSPHasSolveHooks(KSP ksp)
{
#if PETSC_VERSION_LT(3, 26, 0)
  return (PetscBool)(ksp->presolve || ksp->postsolve || ksp->dscale);
#else
  return (PetscBool)(ksp->presolve || ksp->postsolve || ksp->presolve_ew || ksp->postsolve_ew);
#endif
}

/*
  Whether a SNES made this KSP: its function before each solve, for inexact Newton methods, knows its SNES. A TAO has
  another one there. In an older PETSc it is the function of the user, who may have set another one, or of PCBDDC
*/
static inline PetscErrorCode SpikeKSPIsOfSNES(KSP ksp, PetscBool *is)
{
#if PETSC_VERSION_LT(3, 26, 0)
  static KSPPSolveFn *inexact = NULL;
#else
  const char *name;
#endif

  PetscFunctionBegin;
  *is = PETSC_FALSE;
#if PETSC_VERSION_LT(3, 26, 0)
  if (!ksp->presolve) PetscFunctionReturn(PETSC_SUCCESS);
  if (!inexact) { /* PETSc exports no name of it */
    SNES snes;
    KSP  of;

    PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
    PetscCall(SNESGetKSP(snes, &of));
    inexact = of->presolve;
    PetscCall(SNESDestroy(&snes));
  }
  *is = (PetscBool)(ksp->presolve == inexact);
#else
  if (!ksp->presolve_ew || !ksp->prectx_ew) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetClassName((PetscObject)ksp->prectx_ew, &name));
  PetscCall(PetscStrcmp(name, "SNES", is));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The block of right-hand sides that KSPConvergedDefault() sees becomes B; returns what it was. An older PETSc has no
  test of blocks
*/
static inline Mat SpikeKSPSwapMatRhs(KSP ksp, Mat B)
{
#if PETSC_VERSION_LT(3, 26, 0)
  (void)ksp;
  (void)B;
  return NULL;
#else
  Mat was = ksp->mat_rhs;

  ksp->mat_rhs = B;
  return was;
#endif
}

/*
  V[k] <- V[k] - sum over j < k of V[j] (V[j]^H V[k]), by -ksp_orthogonalization. An older PETSc has that choice in
  GMRES only: classical Gram-Schmidt then, as is the default of 3.26. dots: room for k inner products
*/
static inline PetscErrorCode SpikeKSPOrthogonalize(KSP ksp, Vec V[], PetscInt k, PetscScalar dots[])
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 26, 0)
  (void)ksp;
  PetscCall(VecMDot(V[k], k, V, dots));
  for (PetscInt j = 0; j < k; j++) dots[j] = -dots[j];
  PetscCall(VecMAXPY(V[k], k, dots, V));
#else
  PetscCall((*ksp->orthog)(ksp, V, k, NULL, dots));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a method begins with in an older PETSc. KSPSetUp() of 3.26 sets the preconditioner up whenever values have
  changed since, and says that it failed; an older one does so after KSPSetOperators() only and leaves the rest to
  PCApply(), which a fused method need not call. PCSetDiagonalScale() is gone since 3.26; PETSc's own methods refuse it
  likewise
*/
static inline PetscErrorCode SpikeKSPBegin(KSP ksp)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 26, 0)
  PetscCheck(!ksp->pc->diagonalscale, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "Krylov method %s does not support PCSetDiagonalScale()", ((PetscObject)ksp)->type_name);
  ksp->reason = KSP_CONVERGED_ITERATING; /* it may be that of the last setup */
  PetscCall(PCSetUp(ksp->pc));
  PetscCall(KSPSetUpOnBlocks(ksp)); /* takes the reason of the PC */
#else
  (void)ksp;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  For PCCreate_XXX(). In an older PETSc a KSPSolve() with other methods asks for a failure of
  the preconditioner before PCApply() sets it up with values that have changed: so a setup that failed would fail all
  solves until KSPSetOperators(). The set up on blocks comes before that question
*/
static inline void SpikePCSetUpEarly(PC pc)
{
#if PETSC_VERSION_LT(3, 26, 0)
  pc->ops->setuponblocks = PCSetUp;
#else
  (void)pc;
#endif
}

/*
  Whether a MATSEQAIJCUSPARSE has its indices as PetscInt on the device: before 3.26 they have 32 bits there, also where
  PetscInt has 64. Such a matrix counts as one on the host
*/
static inline PetscBool SpikeMatCUSPARSEHasPetscInt(void)
{
  return (PetscBool)(PETSC_VERSION_GE(3, 26, 0) || !PetscDefined(USE_64BIT_INDICES));
}

/*
  Whether the DM of the KSP makes its matrix; it makes no right-hand side and no initial guess. Since 3.25 each has its
  own switch
*/
static inline PetscErrorCode SpikeKSPSetDMMakesMatrix(KSP ksp, PetscBool makes)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0)
  PetscCall(KSPSetDMActive(ksp, makes));
#else
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_OPERATOR, makes));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}
