/* SPDX-License-Identifier: BSD-2-Clause */
/* diaconvert.c: MATDIA to other types and from them, and copies of it */
#include "diaimpl.h"
#include "common/matconvert.h"

static PetscErrorCode MatConvert_DIA_AIJ(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  (void)newtype;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatHeaderReplace(A, &C));
  } else PetscCall(MatDIAToAIJ_Private(A, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To any other type by AIJ */
PetscErrorCode MatConvert_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(SpikeMatConvertBy(A, C, newtype, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any type by AIJ; what is AIJ already is read where it is */
PetscErrorCode MatConvertFrom_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat            C, aij = A;
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, MATSEQAIJ, MATMPIAIJ, ""));
  if (!is) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &aij));
  if (reuse == MAT_REUSE_MATRIX) C = *B;
  else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
    PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(C, A, A));
    PetscCall(MatSetOptionsPrefix(C, ((PetscObject)A)->prefix));
    PetscCall(MatSetType(C, newtype));
    PetscCall(MatDIASetFromOptions_Private(C));
    PetscCall(PetscLayoutSetUp(C->rmap));
    PetscCall(PetscLayoutSetUp(C->cmap));
  }
  ierr = MatDIAFromAIJ_Private(C, aij);
  if (!is) PetscCall(MatDestroy(&aij));
  if (ierr && reuse != MAT_REUSE_MATRIX) PetscCall(MatDestroy(&C)); /* of a matrix that is refused nothing stays */
  PetscCall(ierr);
  C->preallocated = C->assembled = PETSC_TRUE;
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As another of our types too */
static PetscErrorCode MatDIADuplicate_Private(Mat A, MatType type, MatDuplicateOption op, Mat *B)
{
  Mat_DIA        *a = (Mat_DIA *)A->data, *b;
  Mat             C;
  MatDIAStructure s;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
  PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(C, A, A));
  PetscCall(MatSetType(C, type));
  if (a->cuda && SpikeMatIsBoundToCPU(A)) PetscCall(MatBindToCPU(C, PETSC_TRUE));
  PetscCall(PetscLayoutReference(A->rmap, &C->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &C->cmap));
  b           = (Mat_DIA *)C->data;
  b->schedule = a->schedule;
  b->maxfill  = a->maxfill;
  b->options  = a->options;

  b->halo.pernode = a->halo.pernode;
  if (a->built) {
    s.count  = a->dia.count;
    s.offset = a->dia.offset;
    s.first  = a->dia.first;
    s.last   = a->dia.last;
    s.nz     = a->nz;
    PetscCall(PetscMalloc1(MatDIAMaskLength(A->rmap->n, s.count), &s.mask));
    PetscCall(PetscArraycpy(s.mask, a->mask, MatDIAMaskLength(A->rmap->n, s.count)));
    PetscCall(MatDIASetStructure_Private(C, &s));
    if (op == MAT_COPY_VALUES) PetscCall(MatDIAMove_Private(&a->dia, &b->dia));
    else PetscCall((*b->dia.k->zero)(&b->dia));
    C->preallocated = PETSC_TRUE;
    C->assembled    = PETSC_TRUE;
  }
  if (a->coo && a->cuda == b->cuda) { /* coordinates go along, as with MATAIJ: coo holds no values of A */
    PetscCall(PetscObjectReference((PetscObject)a->coo));
    b->coo      = a->coo;
    b->cooshape = a->cooshape == a->shape ? b->shape : 0;
  }
  *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDuplicate_DIA(Mat A, MatDuplicateOption op, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDIADuplicate_Private(A, ((PetscObject)A)->type_name, op, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the host to the device, and back */
static PetscErrorCode MatConvert_DIA_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *B, DIFFERENT_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDIADuplicate_Private(A, newtype, MAT_COPY_VALUES, &C));
  PetscCall(MatSetOptionsPrefix(C, ((PetscObject)A)->prefix));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAComposeConvert_Private(Mat A, PetscBool compose)
{
  static const MatDIAFunction list[] = {
    {"MatConvert_seqdia_seqaij_C", (PetscErrorCodeFn *)MatConvert_DIA_AIJ},
    {"MatConvert_mpidia_mpiaij_C", (PetscErrorCodeFn *)MatConvert_DIA_AIJ},
    {"MatConvert_seqdiacuda_seqaij_C", (PetscErrorCodeFn *)MatConvert_DIA_AIJ},
    {"MatConvert_mpidiacuda_mpiaij_C", (PetscErrorCodeFn *)MatConvert_DIA_AIJ},
    {"MatConvert_seqdia_seqdiacuda_C", (PetscErrorCodeFn *)MatConvert_DIA_DIA},
    {"MatConvert_mpidia_mpidiacuda_C", (PetscErrorCodeFn *)MatConvert_DIA_DIA},
    {"MatConvert_seqdiacuda_seqdia_C", (PetscErrorCodeFn *)MatConvert_DIA_DIA},
    {"MatConvert_mpidiacuda_mpidia_C", (PetscErrorCodeFn *)MatConvert_DIA_DIA},
  };

  PetscFunctionBegin;
  PetscCall(MatDIACompose_Private(A, compose, PETSC_STATIC_ARRAY_LENGTH(list), list));
  PetscFunctionReturn(PETSC_SUCCESS);
}
