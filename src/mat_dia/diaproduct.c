/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diaproduct.c: products of MATDIA with other matrices, as P^T A P of multigrid: those of its copy as MATAIJ. Products
  with a dense matrix are columns of MatMult()
*/
#include "diaimpl.h"

/* Of a product: copies in the place of its factors, NULL where a factor is none of ours, and its phase */
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

static PetscErrorCode MatProductNumeric_DIA(Mat D)
{
  Mat           *factor[3], before[3], aij;
  MatDIAProduct *p;

  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)D, productkey, &p));
  PetscCheck(p, PetscObjectComm((PetscObject)D), PETSC_ERR_PLIB, "The product has lost its copies");
  MatDIAProductFactors_Private(D->product, factor);
  for (int k = 0; k < 3; k++) {
    before[k] = *factor[k];
    if (!p->copy[k]) continue;
    PetscCall(MatDIAGetAIJ_Private(before[k], &aij));
    PetscCheck(aij == p->copy[k], PetscObjectComm((PetscObject)D), PETSC_ERR_ARG_WRONG,
               "The pattern of a MATDIA has changed since the symbolic phase of this product: make the product anew, "
               "with MAT_INITIAL_MATRIX");
    *factor[k] = aij;
  }
  D->ops->productnumeric = p->numeric;
  PetscCall((*p->numeric)(D));
  p->numeric             = D->ops->productnumeric;
  D->ops->productnumeric = MatProductNumeric_DIA;
  for (int k = 0; k < 3; k++) *factor[k] = before[k];
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

static PetscErrorCode MatProductSymbolic_DIA(Mat D)
{
  Mat           *factor[3], before[3];
  MatDIAProduct *p;
  PetscBool      is;

  PetscFunctionBegin;
  PetscCall(PetscInfo(D, "The product is that of copies as MATAIJ\n"));
  PetscCall(PetscNew(&p));
  MatDIAProductFactors_Private(D->product, factor);
  for (int k = 0; k < 3; k++) {
    before[k] = *factor[k];
    if (!before[k]) continue;
    PetscCall(MatDIAIs_Private(before[k], &is));
    if (!is) continue;
    PetscCall(MatDIAGetAIJ_Private(before[k], &p->copy[k]));
    PetscCall(PetscObjectReference((PetscObject)p->copy[k]));
    *factor[k] = p->copy[k];
  }
  PetscCall(MatDIAProductSameType_Private(factor, p->copy));
  PetscCall(MatProductSetFromOptions(D));
  PetscCall(MatProductSymbolic(D));
  p->numeric             = D->ops->productnumeric;
  D->ops->productnumeric = MatProductNumeric_DIA;
  MatDIAProductFactors_Private(D->product, factor);
  for (int k = 0; k < 3; k++) *factor[k] = before[k];
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
