/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diafactor.c: factors of MATDIA on one process: those that PETSc computes of its copy as MATAIJ. F is of a type of
  PETSc; the phases that read A are ours for the time of a call, and hand the copy on to those of PETSc
*/
#include "diaimpl.h"

/* The phases of F that are PETSc's; in a container of F */
typedef struct {
  PetscErrorCode (*lusymbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);
  PetscErrorCode (*ilusymbolic)(Mat, Mat, IS, IS, const MatFactorInfo *);
  PetscErrorCode (*choleskysymbolic)(Mat, Mat, IS, const MatFactorInfo *);
  PetscErrorCode (*iccsymbolic)(Mat, Mat, IS, const MatFactorInfo *);
  PetscErrorCode (*lunumeric)(Mat, Mat, const MatFactorInfo *);
  PetscErrorCode (*choleskynumeric)(Mat, Mat, const MatFactorInfo *);
} MatDIAPhases;

static const char phaseskey[] = "MatDIA_Phases";

/* What is to be factored: a F that was made for a MATDIA may meet a MATAIJ later */
static PetscErrorCode MatDIAGetFactored_Private(Mat F, Mat A, MatDIAPhases **p, Mat *aij)
{
  PetscBool is;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)F, phaseskey, p));
  PetscCheck(*p, PetscObjectComm((PetscObject)F), PETSC_ERR_PLIB, "The factor was not made for a MATDIA");
  *aij = A;
  PetscCall(MatDIAIs_Private(A, &is));
  if (is) PetscCall(MatDIAGetAIJ_Private(A, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorNumeric_DIA(Mat, Mat, const MatFactorInfo *);
static PetscErrorCode MatCholeskyFactorNumeric_DIA(Mat, Mat, const MatFactorInfo *);

/* Symbolic and numeric phases choose the next numeric one: it is kept, and ours takes its place */
static void MatDIAKeepNumeric_Private(Mat F, MatDIAPhases *p)
{
  if (F->ops->lufactornumeric) {
    p->lunumeric            = F->ops->lufactornumeric;
    F->ops->lufactornumeric = MatLUFactorNumeric_DIA;
  }
  if (F->ops->choleskyfactornumeric) {
    p->choleskynumeric            = F->ops->choleskyfactornumeric;
    F->ops->choleskyfactornumeric = MatCholeskyFactorNumeric_DIA;
  }
}

static PetscErrorCode MatLUFactorNumeric_DIA(Mat F, Mat A, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  F->ops->lufactornumeric = p->lunumeric;
  PetscCall((*p->lunumeric)(F, aij, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCholeskyFactorNumeric_DIA(Mat F, Mat A, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  F->ops->choleskyfactornumeric = p->choleskynumeric;
  PetscCall((*p->choleskynumeric)(F, aij, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorSymbolic_DIA(Mat F, Mat A, IS row, IS col, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  PetscCall((*p->lusymbolic)(F, aij, row, col, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatILUFactorSymbolic_DIA(Mat F, Mat A, IS row, IS col, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  PetscCall((*p->ilusymbolic)(F, aij, row, col, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCholeskyFactorSymbolic_DIA(Mat F, Mat A, IS perm, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  PetscCall((*p->choleskysymbolic)(F, aij, perm, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatICCFactorSymbolic_DIA(Mat F, Mat A, IS perm, const MatFactorInfo *info)
{
  MatDIAPhases *p;
  Mat           aij;

  PetscFunctionBegin;
  PetscCall(MatDIAGetFactored_Private(F, A, &p, &aij));
  PetscCall((*p->iccsymbolic)(F, aij, perm, info));
  MatDIAKeepNumeric_Private(F, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A may have no values yet: an empty MATAIJ of its sizes is asked. NULL where PETSc has no such factor */
static PetscErrorCode MatGetFactor_DIA(Mat A, MatFactorType type, Mat *F)
{
  Mat           aij;
  MatDIAPhases *p;

  PetscFunctionBegin;
  PetscCall(PetscInfo(A, "Factors are PETSc's, of a copy as MATAIJ on the host\n"));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &aij));
  PetscCall(MatSetSizes(aij, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(aij, A, A));
  PetscCall(MatSetType(aij, MATSEQAIJ));
  PetscCall(MatSetUp(aij));
  PetscCall(MatPropagateSymmetryOptions(A, aij));
  PetscCall(MatGetFactor(aij, MATSOLVERPETSC, type, F));
  PetscCall(MatDestroy(&aij));
  if (!*F) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&p));
  p->lusymbolic       = (*F)->ops->lufactorsymbolic;
  p->ilusymbolic      = (*F)->ops->ilufactorsymbolic;
  p->choleskysymbolic = (*F)->ops->choleskyfactorsymbolic;
  p->iccsymbolic      = (*F)->ops->iccfactorsymbolic;
  if (p->lusymbolic) (*F)->ops->lufactorsymbolic = MatLUFactorSymbolic_DIA;
  if (p->ilusymbolic) (*F)->ops->ilufactorsymbolic = MatILUFactorSymbolic_DIA;
  if (p->choleskysymbolic) (*F)->ops->choleskyfactorsymbolic = MatCholeskyFactorSymbolic_DIA;
  if (p->iccsymbolic) (*F)->ops->iccfactorsymbolic = MatICCFactorSymbolic_DIA;
  PetscCall(PetscObjectContainerCompose((PetscObject)*F, phaseskey, p, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc factors of MATSEQAIJ without another package; MATSEQDIACUDA begins with the same name, and is found so */
PetscErrorCode MatDIARegisterFactors(void)
{
  const MatFactorType types[] = {MAT_FACTOR_LU, MAT_FACTOR_ILU, MAT_FACTOR_CHOLESKY, MAT_FACTOR_ICC};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++)
    PetscCall(MatSolverTypeRegister(MATSOLVERPETSC, MATSEQDIA, types[k], MatGetFactor_DIA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
