/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudaconvert.c: MATBAIJCUDA to other types and from them; matrices that PETSc makes from it, as MATBAIJ, become
  MATBAIJCUDA
*/
#include "baijcudaimpl.h"
#include "common/agree.h"
#include "common/matconvert.h"

static MatType MatBAIJCUDAType_Private(PetscBool mpi)
{
  return mpi ? MATMPIBAIJCUDA : MATSEQBAIJCUDA;
}

/* A matrix of type MATBAIJ becomes one of ours in place; another type, and NULL, stay */
static PetscErrorCode MatBAIJCUDAAdopt_Private(Mat A, PetscBool bound)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQBAIJ, &seq));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIBAIJ, &mpi));
  if (seq || mpi) PetscCall(MatBAIJCUDAInstall_Private(A, MatBAIJCUDAType_Private(mpi)));
  PetscCall(MatBAIJCUDAIs_Private(A, &seq));
  if (seq && bound) PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the blocks of two MATSEQBAIJ, each of PETSc's type or ours, are in the same places */
static PetscErrorCode MatBAIJCUDASameBlocks_Private(Mat A, Mat B, PetscBool *same)
{
  const PetscInt *ai, *aj, *bi, *bj;
  PetscInt        ma, mb;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_TRUE, &ma, &ai, &aj, &done));
  PetscCall(MatGetRowIJ(B, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
  *same = (PetscBool)(ma == mb);
  if (*same && ma) PetscCall(PetscArraycmp(ai, bi, ma + 1, same));
  if (*same && ma) PetscCall(PetscArraycmp(aj, bj, ai[ma], same));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_TRUE, &ma, &ai, &aj, &done));
  PetscCall(MatRestoreRowIJ(B, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: the same of A and B, and whether both are for one rank or both for several */
static PetscErrorCode MatBAIJCUDASamePattern_Private(Mat A, Mat B, PetscBool *same)
{
  const PetscInt *garray[2];
  const PetscInt  bs = A->rmap->bs;
  Mat             parts[2][2];
  PetscBool       mpi[2];

  PetscFunctionBegin;
  *same = (PetscBool)(bs == B->rmap->bs && A->cmap->bs == B->cmap->bs && A->assembled && B->assembled);
  for (int k = 0; k < 2; k++)
    PetscCall(PetscObjectTypeCompareAny((PetscObject)(k ? B : A), &mpi[k], MATMPIBAIJ, MATMPIBAIJCUDA, ""));
  *same = (PetscBool)(*same && mpi[0] == mpi[1]);
  if (*same && !mpi[0]) PetscCall(MatBAIJCUDASameBlocks_Private(A, B, same));
  else if (*same) {
    for (int k = 0; k < 2; k++) PetscCall(SpikeMatMPIBAIJGetSeqBAIJ(k ? B : A, &parts[k][0], &parts[k][1], &garray[k]));
    *same = (PetscBool)(parts[0][1]->cmap->n == parts[1][1]->cmap->n);
    if (*same) PetscCall(PetscArraycmp(garray[0], garray[1], parts[0][1]->cmap->n / bs, same));
    for (int p = 0; p < 2 && *same; p++) PetscCall(MatBAIJCUDASameBlocks_Private(parts[0][p], parts[1][p], same));
  }
  PetscCall(SpikePetscObjectAgree((PetscObject)A, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: of a conversion into *B that is reused and has the pattern of A values are copied, and all is *done */
static PetscErrorCode MatBAIJCUDAReuse_Private(Mat A, MatReuse reuse, const Mat *B, PetscBool *done)
{
  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (reuse == MAT_REUSE_MATRIX) PetscCall(MatBAIJCUDASamePattern_Private(A, *B, done));
  if (*done) PetscCall(MatCopy(A, *B, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSEQBAIJ and MATMPIBAIJ to ours: their blocks stay where they are */
static PetscErrorCode MatConvert_BAIJ_BAIJCUDA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat       C = A;
  PetscBool done;

  PetscFunctionBegin;
  (void)newtype; /* the root name, perhaps */
  PetscCall(MatBAIJCUDAReuse_Private(A, reuse, B, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (reuse != MAT_INPLACE_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatBAIJCUDAAdopt_Private(C, PETSC_FALSE));
  SpikeMatConvertRenew(C, reuse, B);
  PetscCall(SpikeMatConvertEnd(A, C, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* And back */
static PetscErrorCode MatConvert_BAIJCUDA_BAIJ(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat       C = A;
  PetscBool done;

  PetscFunctionBegin;
  (void)newtype;
  PetscCall(MatBAIJCUDAReuse_Private(A, reuse, B, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAToHost_Private(A)); /* else a duplicate would have them in the memory of the backend first */
  if (reuse != MAT_INPLACE_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatBAIJCUDARemove_Private(C));
  SpikeMatConvertRenew(C, reuse, B);
  PetscCall(SpikeMatConvertEnd(A, C, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To any other type, as MATBAIJ goes there: by a function that it knows, or by a copy as MATBAIJ */
PetscErrorCode MatConvert_BAIJCUDA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  const char *const prefix[]                               = {"seq", "mpi", ""};
  PetscErrorCode (*convert)(Mat, MatType, MatReuse, Mat *) = NULL;
  const PetscBool mpi                                      = MatBAIJCUDA_Private(A)->mpi;
  char            name[256];
  PetscBool       ours, baij;
  Mat             C;

  PetscFunctionBegin;
  PetscCall(PetscStrcmpAny(newtype, &baij, MATBAIJ, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) {
    PetscCall(MatConvert_BAIJCUDA_BAIJ(A, newtype, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAByCoordinates_Private(A, newtype, &ours));
  if (ours) {
    PetscCall(MatConvert_BAIJCUDA_AIJCUSPARSE(A, newtype, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAToHost_Private(A));
  for (int k = 0; k < 3 && !convert; k++) {
    PetscCall(
      PetscSNPrintf(name, sizeof(name), "MatConvert_%s_%s%s_C", mpi ? MATMPIBAIJ : MATSEQBAIJ, prefix[k], newtype));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &convert));
  }
  if (convert) {
    PetscCall((*convert)(A, newtype, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert_BAIJCUDA_BAIJ(A, MATBAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(SpikeMatConvertBy(A, C, newtype, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any type by MATBAIJ, with the block size of A, but from MATAIJCUSPARSE without */
PetscErrorCode MatConvertFrom_BAIJCUDA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat         C;
  PetscBool   mpi, root, baij, done;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (baij) {
    PetscCall(MatConvert_BAIJ_BAIJCUDA(A, newtype, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscStrcmp(newtype, MATBAIJCUDA, &root));
  PetscCall(PetscStrbeginswith(root ? ((PetscObject)A)->type_name : newtype, "mpi", &mpi));
  mpi = (PetscBool)(mpi || size > 1);
  PetscCall(MatConvert_AIJCUSPARSE_BAIJCUDA(A, MatBAIJCUDAType_Private(mpi), reuse, B, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, mpi ? MATMPIBAIJ : MATSEQBAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatBAIJCUDAInstall_Private(C, MatBAIJCUDAType_Private(mpi)));
  PetscCall(MatBAIJCUDAReuse_Private(C, reuse, B, &done));
  if (done) {
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SpikeMatConvertRenew(C, reuse, B);
  PetscCall(SpikeMatConvertEnd(A, C, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDuplicate_BAIJCUDA(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_BAIJCUDA   *c     = MatBAIJCUDA_Private(A);
  const PetscBool ahead = (PetscBool)(c->ahead && op == MAT_COPY_VALUES);

  PetscFunctionBegin;
  /* PETSc duplicates the parts of a MATMPIBAIJCUDA by this function */
  PetscCall((*c->ops.duplicate)(A, ahead && !c->mpi ? MAT_DO_NOT_COPY_VALUES : op, B));
  PetscCall(MatBAIJCUDAAdopt_Private(*B, c->bound));
  PetscCall(MatBAIJCUDAWrap_Private(*B));
  if (!c->mpi) { /* PETSc gives a duplicate its products for blocks of any size, which copy vectors of all ranks */
    MatBAIJCUDA_Private(*B)->ops.mult    = c->ops.mult;
    MatBAIJCUDA_Private(*B)->ops.multadd = c->ops.multadd;
  }
  MatBAIJCUDA_Private(*B)->made = c->made; /* the same pattern */
  PetscCall(MatBAIJCUDACOOShare_Private(A, *B));
  if (ahead && !c->mpi) PetscCall(MatBAIJCUDACopyAhead_Private(A, *B));
  else if (ahead) MatBAIJCUDA_Private(*B)->ahead = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With another pattern PETSc puts a new MATMPIBAIJ into Y, which has to be of that type then */
PetscErrorCode MatAXPY_BAIJCUDA(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  Mat_BAIJCUDA   *c     = MatBAIJCUDA_Private(Y);
  const PetscBool bound = c->bound;
  PetscBool       is;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAToHost_Private(Y));
  PetscCall(MatBAIJCUDAIs_Private(X, &is));
  if (is) PetscCall(MatBAIJCUDAToHost_Private(X));
  if (!c->mpi || str == SAME_NONZERO_PATTERN) {
    PetscCall((*c->ops.axpy)(Y, a, X, str));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDARemove_Private(Y));
  PetscUseTypeMethod(Y, axpy, a, X, str);
  PetscCall(MatBAIJCUDAAdopt_Private(Y, bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors in place are PETSc's, of its type: A has no products then */
PetscErrorCode MatLUFactor_BAIJCUDA(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDARemove_Private(A));
  PetscUseTypeMethod(A, lufactor, row, col, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatILUFactor_BAIJCUDA(Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDARemove_Private(A));
  PetscUseTypeMethod(A, ilufactor, row, col, info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDAReused_Private(MatReuse reuse, Mat B)
{
  PetscBool is;

  PetscFunctionBegin;
  if (reuse != MAT_REUSE_MATRIX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAIs_Private(B, &is));
  if (is) PetscCall(MatBAIJCUDAToHost_Private(B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: whether an index set has whole blocks of the matrix, which MATBAIJ wants */
static PetscErrorCode MatBAIJCUDAHasBlocks_Private(Mat A, IS is, PetscBool *whole)
{
  const PetscInt  bs = A->rmap->bs;
  const PetscInt *i;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(ISGetLocalSize(is, &n));
  PetscCall(ISGetIndices(is, &i));
  *whole = (PetscBool)(n % bs == 0);
  for (PetscInt k = 0; k < n && *whole; k++)
    if (k % bs ? i[k] != i[k - 1] + 1 : i[k] % bs) *whole = PETSC_FALSE;
  PetscCall(ISRestoreIndices(is, &i));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, whole, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: A as AIJ, on the device where A goes there so. It stays with A, for the next field and the next values: a
  setup of PCFIELDSPLIT with n fields converts once, and plans only in a new pattern
*/
static PetscErrorCode MatBAIJCUDAGetAIJ_Private(Mat A, Mat *aij)
{
  Mat_BAIJCUDA      *c         = MatBAIJCUDA_Private(A);
  PetscObjectState   values[3] = {0, 0, 0};
  Mat                parts[2]  = {A, NULL};
  PetscBool          device, same[2];
  MatBAIJCUDAPattern now;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAByCoordinates_Private(A, "aijcusparse", &device));
  if (c->mpi) PetscCall(MatBAIJCUDAGetChangedParts_Private(A, parts));
  PetscCall(MatBAIJCUDAGetPattern_Private(parts, &now));
  PetscCall(PetscObjectStateGet((PetscObject)A, &values[2]));
  for (int k = 0; k < 2; k++)
    if (parts[k]) PetscCall(PetscObjectStateGet((PetscObject)parts[k], &values[k]));
  same[0] = (PetscBool)(c->aij && c->aijdevice == device && !memcmp(&c->aijpattern, &now, sizeof(now)));
  same[1] = (PetscBool)(same[0] && !memcmp(c->aijvalues, values, sizeof(values)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, same, 2, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!same[0]) PetscCall(MatDestroy(&c->aij));
  if (!same[1])
    PetscCall(MatConvert(A, device ? "aijcusparse" : MATAIJ, same[0] ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &c->aij));
  c->aijdevice  = device;
  c->aijpattern = now;
  PetscCall(PetscArraycpy(c->aijvalues, values, 3));
  *aij = c->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fields inside of blocks, as those of PCFIELDSPLIT, are submatrices of the matrix as AIJ */
static PetscErrorCode MatBAIJCUDASubMatrixAIJ_Private(Mat A, IS row, IS col, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(PetscInfo(A, "The submatrix does not have whole blocks: it is one of type aij\n"));
  PetscCall(MatBAIJCUDAGetAIJ_Private(A, &C));
  PetscCall(MatCreateSubMatrix(C, row, col, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateSubMatrix_BAIJCUDA(Mat A, IS row, IS col, MatReuse reuse, Mat *B)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscBool     whole[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAHasBlocks_Private(A, row, &whole[0]));
  PetscCall(MatBAIJCUDAHasBlocks_Private(A, col, &whole[1]));
  if (!whole[0] || !whole[1]) {
    PetscCall(MatBAIJCUDASubMatrixAIJ_Private(A, row, col, reuse, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAToHost_Private(A));
  PetscCall(MatBAIJCUDAReused_Private(reuse, *B));
  PetscCall((*c->ops.createsubmatrix)(A, row, col, reuse, B));
  PetscCall(MatBAIJCUDAAdopt_Private(*B, c->bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateSubMatrices_BAIJCUDA(Mat A, PetscInt n, const IS row[], const IS col[], MatReuse reuse,
                                             Mat *B[])
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAToHost_Private(A));
  for (PetscInt k = 0; k < n; k++)
    if (reuse == MAT_REUSE_MATRIX) PetscCall(MatBAIJCUDAReused_Private(reuse, (*B)[k]));
  PetscCall((*c->ops.createsubmatrices)(A, n, row, col, reuse, B));
  for (PetscInt k = 0; k < n; k++) PetscCall(MatBAIJCUDAAdopt_Private((*B)[k], c->bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc destroys submatrices by its own function for MATSEQBAIJ, past ours: what is ours goes first */
PetscErrorCode MatDestroySubMatrices_BAIJCUDA(PetscInt n, Mat *B[])
{
  PetscErrorCode (*destroy)(PetscInt, Mat *[]) = NULL;
  PetscBool is;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MatBAIJCUDAIs_Private((*B)[k], &is));
    if (!is) continue;
    destroy = MatBAIJCUDA_Private((*B)[k])->ops.destroysubmatrices;
    if (((PetscObject)(*B)[k])->refct == 1) PetscCall(MatBAIJCUDARemove_Private((*B)[k]));
  }
  PetscCall((*destroy)(n, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
