/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diaassembly.c: entries of MATDIA from MatSetValues() and MatSetValuesCOO(), collected in an AIJ matrix and converted
  when an assembly ends
*/
#include "diaimpl.h"
#include <petscdmda.h>

/*
  The hash table that collects entries of a MATMPIAIJCUSPARSE before its preallocation (PETSc 3.26.1) reads complex
  values of other ranks as aligned ones, which the stash does not align: a segmentation violation
*/
static PetscBool MatDIAHashesOnHost_Private(Mat A)
{
  return (PetscBool)(PetscDefined(USE_COMPLEX) && !((Mat_DIA *)A->data)->seq);
}

/*
  An empty AIJ matrix with what was asked of A, whose values are to be where those of A are; hash: it will have no
  preallocation. Collective
*/
static PetscErrorCode MatDIANewAIJ_Private(Mat A, PetscBool hash, Mat *aij)
{
  Mat_DIA        *a    = (Mat_DIA *)A->data;
  const PetscBool host = (PetscBool)(PetscMemTypeHost(MatDIAMemType_Private(A)) ||
                                     (hash && MatDIAHashesOnHost_Private(A)));

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), aij));
  PetscCall(MatSetSizes(*aij, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*aij, A, A));
  PetscCall(MatSetType(*aij, a->seq ? (host ? MATSEQAIJ : MATSEQAIJCUSPARSE) : (host ? MATMPIAIJ : MATMPIAIJCUSPARSE)));
  (*aij)->nooffprocentries = A->nooffprocentries;
  for (PetscInt k = 0; k < a->options.n; k++) PetscCall(MatSetOption(*aij, a->options.op[k], a->options.flag[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The pattern that the DMDA of A gives a MATAIJ, with zeros, or its preallocation alone. For a grid in one dimension on
  one process DMCreateMatrix() takes each matrix that has MatSeqAIJSetPreallocation() for a MATSEQAIJ and writes into
  its structs: on one process MATDIA does not have that function, and asks here for what it would bring
*/
static PetscErrorCode MatDIASetUpByDMDA_Private(Mat A, DM da)
{
  Mat_DIA        *a    = (Mat_DIA *)A->data;
  const PetscBool host = (PetscBool)PetscMemTypeHost(MatDIAMemType_Private(A));
  PetscBool       is;
  char           *type;
  MatType         before;
  Mat             aij;

  PetscFunctionBegin;
  PetscCall(DMGetMatType(da, &before));
  PetscCall(PetscStrallocpy(before, &type));
  PetscCall(DMSetMatType(da, host ? MATAIJ : MATAIJCUSPARSE));
  PetscCall(DMCreateMatrix(da, &aij));
  PetscCall(DMSetMatType(da, type));
  PetscCall(PetscFree(type));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)aij, &is, MATSEQAIJ, MATMPIAIJ, ""));
  if (is && aij->rmap->n == A->rmap->n && aij->cmap->n == A->cmap->n && (aij->assembled || aij->preallocated)) {
    if (aij->assembled) {
      PetscCall(MatDIAFromAIJ_Private(A, aij));
      PetscCall(MatSetOption_DIA(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE)); /* as DMCreateMatrix() does */
      A->assembled = PETSC_TRUE;
    } else {
      PetscCall(PetscObjectReference((PetscObject)aij));
      a->aij = aij;
    }
  }
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Inside of DMCreateMatrix() on one process; -mat_type would make the matrix that the DMDA is asked for a MATDIA again
*/
static PetscErrorCode MatDIAGetDMDA_Private(Mat A, DM *da)
{
  PetscMPIInt size;
  PetscBool   is, option;
  MatType     type;
  DM          dm;

  PetscFunctionBegin;
  *da = NULL;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDM(A, &dm));
  if (!dm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetMatType(dm, &type));
  PetscCall(PetscStrcmpAny(type, &is, MATDIA, MATSEQDIA, MATMPIDIA, MATDIACUDA, MATSEQDIACUDA, MATMPIDIACUDA, ""));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_type", &option));
  if (is && !option) *da = dm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetUp_DIA(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  DM       da;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  if (!a->aij) {
    PetscCall(MatDIAGetDMDA_Private(A, &da));
    if (da) PetscCall(MatDIASetUpByDMDA_Private(A, da));
  }
  if (!a->aij && !A->assembled) {
    PetscCall(MatDIANewAIJ_Private(A, PETSC_TRUE, &a->aij));
    PetscCall(MatSetUp(a->aij));
  }
  A->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The assembled entries as AIJ, which takes new ones wherever they lie; collective */
static PetscErrorCode MatDIACollect_Private(Mat A)
{
  Mat_DIA        *a    = (Mat_DIA *)A->data;
  const MatOption open = MAT_NEW_NONZERO_ALLOCATION_ERR;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &a->aij));
  PetscCall(MatSetOption(a->aij, open, PETSC_FALSE));
  a->aij->nooffprocentries = A->nooffprocentries;
  for (PetscInt k = 0; k < a->options.n; k++) PetscCall(MatSetOption(a->aij, a->options.op[k], a->options.flag[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Not collective: where there is no AIJ matrix, or an old one, entries wait for the assembly, which all ranks take part
  in
*/
PetscErrorCode MatSetValues_DIA(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt cols[],
                                const PetscScalar v[], InsertMode mode)
{
  Mat_DIA        *a      = (Mat_DIA *)A->data;
  const PetscBool byrows = MatDIAOption_Private(&a->options, MAT_ROW_ORIENTED, PETSC_TRUE);
  MatDIAEntry    *entry;

  PetscFunctionBegin;
  if (a->aij) {
    PetscCall(MatSetValues(a->aij, m, rows, n, cols, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  a->mode = mode;
  if (!a->entries) PetscCall(PetscSegBufferCreate(sizeof(MatDIAEntry), 1024, &a->entries));
  for (PetscInt i = 0; i < m; i++) {
    if (rows[i] < 0) continue;
    PetscCheck(rows[i] < A->rmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Row too large: row %" PetscInt_FMT " max %" PetscInt_FMT, rows[i], A->rmap->N - 1);
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar value = v ? v[byrows ? i * n + j : i + j * m] : (PetscScalar)0.0;

      if (cols[j] < 0) continue; /* zeros wait too: AIJ knows whether there is an entry to overwrite */
      PetscCheck(cols[j] < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "Column too large: col %" PetscInt_FMT " max %" PetscInt_FMT, cols[j], A->cmap->N - 1);
      PetscCall(PetscSegBufferGet(a->entries, 1, &entry));
      entry->row   = rows[i];
      entry->col   = cols[j];
      entry->value = value;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that wait, in the order in which they came, into aij; one by one, so that MAT_ROW_ORIENTED does not matter */
static PetscErrorCode MatDIAReplay_Private(Mat A)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  PetscCount     n, refused = 0;
  PetscInt       at[2] = {-1, -1};
  PetscErrorCode ierr  = PETSC_SUCCESS;
  MatDIAEntry   *entry;

  PetscFunctionBegin;
  if (a->entries) {
    PetscCall(PetscSegBufferGetSize(a->entries, &n));
    PetscCall(PetscSegBufferExtractInPlace(a->entries, &entry));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    for (PetscCount k = 0; k < n; k++) {
      ierr = MatSetValues(a->aij, 1, &entry[k].row, 1, &entry[k].col, &entry[k].value, a->mode);
      if (!ierr) continue;
      if (ierr != PETSC_ERR_ARG_OUTOFRANGE) break;
      ierr = PETSC_SUCCESS;
      if (!refused++) {
        at[0] = entry[k].row;
        at[1] = entry[k].col;
      }
    }
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscSegBufferDestroy(&a->entries));
    PetscCall(ierr);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &refused, 1, MPIU_COUNT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCheck(!refused, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscCount_FMT " entries are outside of the pattern, on the first rank from (%" PetscInt_FMT
             ",%" PetscInt_FMT ") on, -1 for none: MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE) allows "
             "them. The others are in the matrix after another assembly",
             refused, at[0], at[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAssemblyBegin_DIA(Mat A, MatAssemblyType type)
{
  Mat_DIA  *a       = (Mat_DIA *)A->data;
  PetscBool waiting = (PetscBool)(a->entries != NULL);

  PetscFunctionBegin;
  if (!a->aij) {
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &waiting, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
    a->idle = (PetscBool)!waiting;
    if (!waiting) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(MatDIACollect_Private(A));
  } else a->idle = PETSC_FALSE;
  PetscCall(MatDIAReplay_Private(A));
  PetscCall(MatAssemblyBegin(a->aij, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCGAMG gives its interpolations the type of the matrix, and their entries lie on as many diagonals as there are
  aggregates: a matrix that is not square, and would not fit, becomes the MATAIJ that has collected its entries
*/
static PetscErrorCode MatDIABecomeAIJ_Private(Mat A, PetscBool *became)
{
  Mat_DIA  *a = (Mat_DIA *)A->data;
  Mat       aij;
  PetscBool fits;

  PetscFunctionBegin;
  *became = PETSC_FALSE;
  if (A->rmap->N == A->cmap->N) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIAFitsAIJ_Private(A, a->aij, &fits));
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(A, "A matrix that is not square has too many diagonals for MATDIA, and becomes MATAIJ\n"));
  aij    = a->aij;
  a->aij = NULL;
#if PetscDefined(HAVE_CUDA)
  if (!PetscMemTypeHost(MatDIAMemType_Private(A)) && MatDIAHashesOnHost_Private(A))
    PetscCall(MatConvert(aij, MATMPIAIJCUSPARSE, MAT_INPLACE_MATRIX, &aij));
#endif
  if (((PetscObject)A)->name) PetscCall(PetscObjectSetName((PetscObject)aij, ((PetscObject)A)->name));
  PetscCall(MatSetOptionsPrefix(aij, ((PetscObject)A)->prefix));
  PetscCall(MatHeaderReplace(A, &aij));
  *became = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAssemblyEnd_DIA(Mat A, MatAssemblyType type)
{
  Mat_DIA  *a = (Mat_DIA *)A->data;
  PetscBool became;

  PetscFunctionBegin;
  if (a->idle) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAssemblyEnd(a->aij, type));
  if (type == MAT_FLUSH_ASSEMBLY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIABecomeAIJ_Private(A, &became));
  if (became) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIAFromAIJ_Private(A, a->aij));
  PetscCall(MatDestroy(&a->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What AIJ does about entries is asked of it; the rest PETSc keeps in the matrix */
PetscErrorCode MatSetOption_DIA(Mat A, MatOption op, PetscBool flag)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  MatDIAOptions *o = &a->options;
  PetscInt       n = 0;

  PetscFunctionBegin;
  switch (op) {
  case MAT_ROW_ORIENTED:
  case MAT_NEW_NONZERO_LOCATIONS:
  case MAT_NEW_NONZERO_LOCATION_ERR:
  case MAT_NEW_NONZERO_ALLOCATION_ERR:
  case MAT_KEEP_NONZERO_PATTERN:
  case MAT_IGNORE_ZERO_ENTRIES:
  case MAT_IGNORE_OFF_PROC_ENTRIES:
    for (PetscInt k = 0; k < o->n; k++) /* an option that is set again moves to the end */
      if (o->op[k] != op) {
        o->op[n]     = o->op[k];
        o->flag[n++] = o->flag[k];
      }
    o->op[n]   = op;
    o->flag[n] = flag;
    o->n       = n + 1;
    if (a->aij) PetscCall(MatSetOption(a->aij, op, flag));
    break;
  default:
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that have been collected go too; their places stay */
PetscErrorCode MatZeroEntries_DIA(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  if (a->built) PetscCall((*a->dia.k->zero)(&a->dia));
  if (a->aij) PetscCall(MatZeroEntries(a->aij));
  PetscCall(PetscSegBufferDestroy(&a->entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetPreallocationCOO_DIA(Mat A, PetscCount n, PetscInt rows[], PetscInt cols[])
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(PetscSegBufferDestroy(&a->entries));
  PetscCall(MatDestroy(&a->aij));
  PetscCall(MatDestroy(&a->coo));
  PetscCall(MatDIANewAIJ_Private(A, PETSC_FALSE, &a->coo));
  PetscCall(MatSetPreallocationCOO(a->coo, n, rows, cols));
  A->preallocated = PETSC_TRUE;
  PetscCall(MatDIAFromAIJ_Private(A, a->coo));
  a->cooshape  = a->shape;
  A->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values are added to those of A, which may have entries in other places since */
static PetscErrorCode MatDIAAddCOO_Private(Mat A, const PetscScalar v[])
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  Mat      sum, add;

  PetscFunctionBegin;
  if (a->cooshape == a->shape) { /* no others */
    PetscCall(MatDIAToAIJ_Private(A, MAT_REUSE_MATRIX, &a->coo));
    PetscCall(MatSetValuesCOO(a->coo, v, ADD_VALUES));
    PetscCall(MatDIAFromAIJ_Private(A, a->coo));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &sum));
  PetscCall(MatSetOption(sum, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValuesCOO(a->coo, v, INSERT_VALUES));
  PetscCall(MatConvert(a->coo, ((PetscObject)sum)->type_name, MAT_INITIAL_MATRIX, &add));
  PetscCall(MatAXPY(sum, 1.0, add, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&add));
  PetscCall(MatDIAFromAIJ_Private(A, sum));
  PetscCall(MatDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesCOO_DIA(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCheck(a->coo, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "MatSetValuesCOO() needs the coordinates first: call MatSetPreallocationCOO()");
  if (mode == ADD_VALUES) PetscCall(MatDIAAddCOO_Private(A, v));
  else {
    PetscCall(MatSetValuesCOO(a->coo, v, mode));
    PetscCall(MatDIAFromAIJ_Private(A, a->coo));
    a->cooshape = a->shape;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room in the AIJ matrix that collects; values that there are go, as with MATAIJ */
static PetscErrorCode MatDIAPreallocate_Private(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(PetscSegBufferDestroy(&a->entries));
  PetscCall(MatDestroy(&a->aij));
  PetscCall(MatDestroy(&a->coo));
  PetscCall(MatDIANewAIJ_Private(A, PETSC_FALSE, &a->aij));
  A->preallocated  = PETSC_TRUE;
  A->assembled     = PETSC_FALSE;
  A->was_assembled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMPIAIJSetPreallocation_DIA(Mat A, PetscInt dnz, const PetscInt dnnz[], PetscInt onz,
                                                    const PetscInt onnz[])
{
  PetscFunctionBegin;
  PetscCall(MatDIAPreallocate_Private(A));
  PetscCall(MatMPIAIJSetPreallocation(((Mat_DIA *)A->data)->aij, dnz, dnnz, onz, onnz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAComposeAssembly_Private(Mat A, PetscBool compose)
{
  static const MatDIAFunction coo[] = {
    {"MatSetPreallocationCOO_C", (PetscErrorCodeFn *)MatSetPreallocationCOO_DIA},
    {"MatSetValuesCOO_C", (PetscErrorCodeFn *)MatSetValuesCOO_DIA},
  };
  /* the matrices of a DM ask for these before they preallocate */
  static const MatDIAFunction several[] = {
    {"MatMPIAIJSetPreallocation_C", (PetscErrorCodeFn *)MatMPIAIJSetPreallocation_DIA},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatDIACompose_Private(A, compose, PETSC_STATIC_ARRAY_LENGTH(coo), coo));
  PetscCall(MatDIACompose_Private(A, (PetscBool)(compose && size > 1), PETSC_STATIC_ARRAY_LENGTH(several), several));
  PetscFunctionReturn(PETSC_SUCCESS);
}
