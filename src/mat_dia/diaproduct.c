/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diaproduct.c: products of MATDIA with other matrices, as P^T A P of multigrid: those of its copy as MATAIJ. Products
  with a dense matrix are columns of MatMult()
*/
#include "diaimpl.h"
#include "common/matpattern.h"

/* Of a product: copies in the place of its factors, NULL where PETSc has a factor that is none of ours; its phase */
typedef struct {
  Mat copy[3];
  PetscErrorCode (*numeric)(Mat);
} MatDIAProduct;

static const char productkey[] = "MatDIA_Product";

static PetscErrorCode MatDIAProductDestroy_Private(PetscCtxRt ctx)
{
  MatDIAProduct *p = *(MatDIAProduct **)ctx;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&p->copy[k]));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the factors of a product stand */
static void MatDIAProductFactors_Private(Mat_Product *product, Mat *factor[3])
{
  factor[0] = &product->A;
  factor[1] = &product->B;
  factor[2] = &product->C;
}

/* The copy stands in the place of a factor, for which *before has the reference of the product */
static PetscErrorCode MatDIAProductPut_Private(Mat copy, Mat *factor, Mat *before)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)copy));
  *before = *factor;
  *factor = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The factors come back to their places, but where PETSc has put another matrix there, such as a transposed one, which
  stays, and of whose factor nothing is known from then on
*/
static PetscErrorCode MatDIAProductTake_Private(Mat D, MatDIAProduct *p, Mat before[3])
{
  Mat *factor[3];

  PetscFunctionBegin;
  MatDIAProductFactors_Private(D->product, factor);
  for (int k = 0; k < 3; k++) {
    if (!before[k]) continue;
    if (*factor[k] == p->copy[k]) {
      PetscCall(MatDestroy(factor[k]));
      *factor[k] = before[k];
    } else {
      PetscCall(MatDestroy(&before[k]));
      PetscCall(MatDestroy(&p->copy[k]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_DIA(Mat D)
{
  Mat           *factor[3], before[3] = {NULL, NULL, NULL}, aij;
  MatDIAProduct *p;
  PetscBool      same;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)D, productkey, &p));
  PetscCheck(p, PetscObjectComm((PetscObject)D), PETSC_ERR_PLIB, "The product has lost its copies");
  MatDIAProductFactors_Private(D->product, factor);
  for (int k = 0; k < 3; k++) { /* a factor may be another matrix than it was in the symbolic phase, of its pattern */
    if (!p->copy[k]) continue;
    PetscCall(MatDIAGetAIJ_Private(*factor[k], &aij));
    if (aij == p->copy[k]) continue;
    PetscCall(SpikeMatSamePattern(aij, p->copy[k], &same));
    PetscCheck(same, PetscObjectComm((PetscObject)D), PETSC_ERR_ARG_WRONG,
               "A MATDIA has another pattern than in the symbolic phase of this product: make the product anew, with "
               "MAT_INITIAL_MATRIX");
    PetscCall(PetscObjectReference((PetscObject)aij));
    PetscCall(MatDestroy(&p->copy[k]));
    p->copy[k] = aij;
  }
  for (int k = 0; k < 3; k++)
    if (p->copy[k]) PetscCall(MatDIAProductPut_Private(p->copy[k], factor[k], &before[k]));
  D->ops->productnumeric = p->numeric;
  ierr                   = (*p->numeric)(D);
  p->numeric             = D->ops->productnumeric;
  D->ops->productnumeric = MatProductNumeric_DIA;
  PetscCall(MatDIAProductTake_Private(D, p, before));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc multiplies two MATMPIAIJCUSPARSE, or two MATMPIAIJ, and none of one with one of the other */
static PetscErrorCode MatDIAProductSameType_Private(Mat *const factor[3], const Mat copy[3])
{
  PetscBool cusparse = PETSC_FALSE, is;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    if (!*factor[k] || copy[k]) continue;
    PetscCall(PetscObjectTypeCompare((PetscObject)*factor[k], MATMPIAIJCUSPARSE, &is));
    cusparse = (PetscBool)(cusparse || is);
  }
  if (!cusparse) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 3; k++) {
    Mat aij = copy[k];

    if (aij) PetscCall(MatConvert(aij, MATMPIAIJCUSPARSE, MAT_INPLACE_MATRIX, &aij));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_DIA(Mat);

/* PETSc's phases with copies in the place of all MATDIA, also of those that come out of a MATTRANSPOSEVIRTUAL */
static PetscErrorCode MatDIAProductSymbolic_Private(Mat D, MatDIAProduct *p, Mat before[3])
{
  Mat      *factor[3];
  PetscBool is;

  PetscFunctionBegin;
  for (int round = 0; round < 3; round++) {
    MatDIAProductFactors_Private(D->product, factor);
    for (int k = 0; k < 3; k++) {
      if (!*factor[k] || p->copy[k]) continue;
      PetscCall(MatDIAIs_Private(*factor[k], &is));
      if (!is) continue;
      PetscCall(MatDIAGetAIJ_Private(*factor[k], &p->copy[k]));
      PetscCall(PetscObjectReference((PetscObject)p->copy[k]));
      PetscCall(MatDIAProductPut_Private(p->copy[k], factor[k], &before[k]));
    }
    PetscCall(MatDIAProductSameType_Private(factor, p->copy));
    PetscCall(MatProductSetFromOptions(D));
    if (D->ops->productsymbolic != MatProductSymbolic_DIA) break;
  }
  PetscCall(MatProductSymbolic(D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_DIA(Mat D)
{
  Mat            before[3] = {NULL, NULL, NULL};
  MatDIAProduct *p;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscInfo(D, "The product is that of copies as MATAIJ\n"));
  PetscCall(PetscNew(&p));
  ierr = MatDIAProductSymbolic_Private(D, p, before);
  PetscCall(MatDIAProductTake_Private(D, p, before));
  if (ierr) PetscCall(MatDIAProductDestroy_Private((PetscCtxRt)&p));
  PetscCall(ierr);
  p->numeric             = D->ops->productnumeric;
  D->ops->productnumeric = MatProductNumeric_DIA;
  PetscCall(PetscObjectContainerCompose((PetscObject)D, productkey, p, MatDIAProductDestroy_Private));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc asks with any factors of which one is a MATDIA; it loops over the columns of dense ones by itself */
static PetscErrorCode MatProductSetFromOptions_DIA(Mat D)
{
  const MatProductType type = D->product->type;
  PetscBool            dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)D->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (dense && (type == MATPRODUCT_AB || type == MATPRODUCT_AtB)) PetscFunctionReturn(PETSC_SUCCESS);
  D->ops->productsymbolic = MatProductSymbolic_DIA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAComposeProduct_Private(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C",
                                       compose ? MatProductSetFromOptions_DIA : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
