/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudaaij.c: MATBAIJCUDA to MATAIJCUSPARSE. The values of the blocks are the values of coordinates, in their order:
  PETSc plans once where they go, and takes them from the copy. And from MATAIJCUSPARSE, whose entries are coordinates
  of ours. Nothing but the plan passes the host
*/
#include "baijcudaimpl.h"
#include "common/agree.h"
#include "common/matconvert.h"
#include "common/matcsr.h"

/* Of the AIJ matrix: the pattern that it was made for, a MatBAIJCUDAPattern */
static const char patternkey[] = "MatBAIJCUDA_Pattern";

/* Whether a matrix goes to `type` so. With the host's kernels MATAIJ takes the place of MATAIJCUSPARSE, for tests */
PetscErrorCode MatBAIJCUDAByCoordinates_Private(Mat A, MatType type, PetscBool *is)
{
  PetscBool ours;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  PetscCall(MatBAIJCUDAIs_Private(A, &ours));
  if (!ours || !MatBAIJCUDAHasKernels_Private(A) || !A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(MatBAIJCUDA_Private(A)->k->memtype))
    PetscCall(PetscStrcmpAny(type, is, MATAIJ, MATSEQAIJ, MATMPIAIJ, ""));
  else PetscCall(PetscStrcmpAny(type, is, MATAIJCUSPARSE, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coordinates of the values of a part, in their order. garray NULL: block columns from `first` on */
static PetscErrorCode MatBAIJCUDACoordinates_Private(Mat A, Mat P, PetscInt first, const PetscInt garray[],
                                                     PetscInt i[], PetscInt j[])
{
  const PetscInt  bs = A->rmap->bs;
  const PetscInt *bi, *bj;
  PetscInt        mb;
  PetscCount      p = 0;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall((*MatBAIJCUDA_Private(P)->ops.getrowij)(P, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
  for (PetscInt row = 0; row < mb; row++)
    for (PetscInt k = bi[row]; k < bi[row + 1]; k++) {
      const PetscInt col = garray ? garray[bj[k]] : first + bj[k];

      for (PetscInt c = 0; c < bs; c++)
        for (PetscInt r = 0; r < bs; r++, p++) {
          i[p] = A->rmap->rstart + row * bs + r;
          j[p] = col * bs + c;
        }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of two parts one after the other, where the backend of A works; without copies where one part has all */
static PetscErrorCode MatBAIJCUDAJoin_Private(Mat A, const PetscCount n[2], const PetscScalar *const a[2],
                                              const PetscScalar **v)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (!n[0] || !n[1]) {
    *v = n[1] ? a[1] : a[0];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  if (c->njoined != n[0] + n[1]) {
    PetscCall((*c->k->release)(&c->b, (void **)&c->joined));
    c->njoined = 0;
    PetscCall((*c->k->alloc)(&c->b, (size_t)(n[0] + n[1]) * sizeof(PetscScalar), (void **)&c->joined));
    c->njoined = n[0] + n[1];
  }
  for (int k = 0; k < 2; k++)
    PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_TRUE, c->joined + (k ? n[0] : 0), a[k],
                            (size_t)n[k] * sizeof(PetscScalar)));
  *v = c->joined;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDAGetValues_Private(Mat A, const Mat parts[2], const PetscScalar **v)
{
  PetscCount         n[2] = {0, 0};
  const PetscScalar *a[2] = {NULL, NULL};

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (!parts[k]) continue;
    n[k] = MatBAIJCUDA_Private(parts[k])->nval;
    a[k] = MatBAIJCUDA_Private(parts[k])->val;
  }
  PetscCall(MatBAIJCUDAJoin_Private(A, n, a, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDACreateAIJ_Private(Mat A, MatType type, const Mat parts[2], const PetscInt garray[],
                                                   Mat *B)
{
  const PetscCount    nd = MatBAIJCUDA_Private(parts[0])->nval, no = parts[1] ? MatBAIJCUDA_Private(parts[1])->nval : 0;
  PetscInt           *i, *j;
  MatBAIJCUDAPattern *p;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatSetType(*B, type));
  PetscCall(PetscMalloc2(nd + no, &i, nd + no, &j));
  PetscCall(MatBAIJCUDACoordinates_Private(A, parts[0], A->cmap->rstart / A->rmap->bs, NULL, i, j));
  if (no) PetscCall(MatBAIJCUDACoordinates_Private(A, parts[1], 0, garray, i + nd, j + nd));
  PetscCall(MatSetPreallocationCOO(*B, nd + no, i, j));
  PetscCall(PetscFree2(i, j));
  PetscCall(PetscNew(&p));
  PetscCall(MatBAIJCUDAGetPattern_Private(parts, p));
  PetscCall(PetscObjectContainerCompose((PetscObject)*B, patternkey, p, PetscCtxDestroyDefault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_BAIJCUDA_AIJCUSPARSE(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  const PetscInt     *garray   = NULL;
  Mat                 parts[2] = {A, NULL}, C = NULL;
  MatBAIJCUDAPattern *p, now;
  const PetscScalar  *v = NULL;
  PetscBool           same;

  PetscFunctionBegin;
  if (MatBAIJCUDA_Private(A)->mpi) {
    PetscCall(MatBAIJCUDAUpdateParts_Private(A, PETSC_FALSE, parts));
    PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  } else PetscCall(MatBAIJCUDAUpdate_Private(A, PETSC_FALSE));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatBAIJCUDAGetPattern_Private(parts, &now));
    PetscCall(PetscObjectContainerQuery((PetscObject)*B, patternkey, &p));
    same = (PetscBool)(p && !memcmp(p, &now, sizeof(now)));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    if (same) C = *B;
  }
  if (!C) {
    PetscCall(MatBAIJCUDACreateAIJ_Private(A, newtype, parts, garray, &C));
    SpikeMatConvertRenew(C, reuse, B);
  }
  PetscCall(MatBAIJCUDAGetValues_Private(A, parts, &v));
  PetscCall(MatSetValuesCOO(C, v, INSERT_VALUES));
  PetscCall(SpikeMatConvertEnd(A, C, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: whether A, which has the backend of C in its memory, goes to C so. With the host's kernels MATAIJ takes
  the place of MATAIJCUSPARSE, for tests
*/
static PetscErrorCode MatBAIJCUDATakesEntries_Private(Mat C, Mat A, PetscBool *takes)
{
  const PetscBool host = (PetscBool)PetscMemTypeHost(MatBAIJCUDA_Private(C)->k->memtype);
  const PetscInt  bs   = C->rmap->bs;
  PetscMemType    there;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, takes, host ? MATSEQAIJ : MATSEQAIJCUSPARSE,
                                      host ? MATMPIAIJ : MATMPIAIJCUSPARSE, ""));
  if (!*takes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeMatGetMemType(A, &there));
  *takes = (PetscBool)(A->assembled && there == MatBAIJCUDA_Private(C)->k->memtype && bs <= SPIKE_BLOCK_MAXBS &&
                       A->rmap->n % bs == 0 && A->cmap->n % bs == 0);
  PetscCall(SpikePetscObjectAgree((PetscObject)A, takes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a part, and where i is not NULL their coordinates. garray NULL: columns from `first` on */
static PetscErrorCode MatBAIJCUDAEntries_Private(Mat A, Mat P, PetscInt first, const PetscInt garray[], PetscCount *n,
                                                 PetscInt i[], PetscInt j[])
{
  const PetscInt *ai, *aj;
  PetscInt        m;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(P, 0, PETSC_FALSE, PETSC_FALSE, &m, &ai, &aj, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "A matrix of type %s does not give its rows",
             ((PetscObject)P)->type_name);
  *n = m ? ai[m] : 0;
  for (PetscInt row = 0; i && row < m; row++)
    for (PetscInt k = ai[row]; k < ai[row + 1]; k++) {
      i[k] = A->rmap->rstart + row;
      j[k] = garray ? garray[aj[k]] : first + aj[k];
    }
  PetscCall(MatRestoreRowIJ(P, 0, PETSC_FALSE, PETSC_FALSE, &m, &ai, &aj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C <- the entries of A, by the plan that C has. Where A has its values is where the backend works */
static PetscErrorCode MatBAIJCUDATakeEntries_Private(Mat C, const Mat parts[2], const PetscCount n[2])
{
  const PetscMemType memtype = MatBAIJCUDA_Private(C)->k->memtype;
  const PetscScalar *a[2]    = {NULL, NULL}, *v;
  SpikeCSR           piece[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    if (!n[k]) continue;
    PetscCall(SpikeMatSeqAIJGetCSR(parts[k], memtype, &piece[k]));
    a[k] = piece[k].aa;
  }
  PetscCall(MatBAIJCUDAJoin_Private(C, n, a, &v));
  PetscCall(MatSetValuesCOO(C, v, INSERT_VALUES));
  for (int k = 0; k < 2; k++)
    if (n[k]) PetscCall(SpikeMatSeqAIJRestoreCSR(parts[k], memtype, &piece[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: MATAIJCUSPARSE to `type`, MATSEQBAIJCUDA or MATMPIBAIJCUDA, with the block size of A. The blocks are those
  that have entries of A. *done is false where this is not such a matrix. With MAT_REUSE_MATRIX and the same pattern
  nothing is planned, and no value passes the host
*/
PetscErrorCode MatConvert_AIJCUSPARSE_BAIJCUDA(Mat A, MatType type, MatReuse reuse, Mat *B, PetscBool *done)
{
  Mat                parts[2] = {A, NULL}, C = NULL;
  const PetscInt    *garray = NULL;
  PetscCount         n[2]   = {0, 0};
  PetscInt           bs, *i, *j;
  PetscBool          same = PETSC_FALSE, mpi;
  MatBAIJCUDAPattern now;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
  PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSize(C, bs));
  PetscCall(MatSetType(C, type));
  PetscCall(MatBAIJCUDATakesEntries_Private(C, A, done));
  if (!*done) {
    PetscCall(MatDestroy(&C));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &mpi, MATMPIAIJ, MATMPIAIJCUSPARSE, ""));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &parts[0], &parts[1], &garray));
  PetscCall(MatBAIJCUDAGetPattern_Private(parts, &now));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatBAIJCUDACOOIsFrom_Private(*B, &now, &same));
    same = (PetscBool)(same && (*B)->rmap->bs == bs);
    PetscCall(SpikePetscObjectAgree((PetscObject)A, &same));
  }
  for (int k = 0; k < 2; k++)
    if (parts[k]) PetscCall(MatBAIJCUDAEntries_Private(A, parts[k], 0, NULL, &n[k], NULL, NULL));
  if (same) {
    PetscCall(MatDestroy(&C));
    C = *B;
  } else {
    PetscCall(PetscMalloc2(n[0] + n[1], &i, n[0] + n[1], &j));
    PetscCall(MatBAIJCUDAEntries_Private(A, parts[0], A->cmap->rstart, NULL, &n[0], i, j));
    if (parts[1]) PetscCall(MatBAIJCUDAEntries_Private(A, parts[1], 0, garray, &n[1], i + n[0], j + n[0]));
    PetscCall(MatSetPreallocationCOO(C, n[0] + n[1], i, j));
    PetscCall(PetscFree2(i, j));
    PetscCall(MatBAIJCUDACOOSetSource_Private(C, &now));
    SpikeMatConvertRenew(C, reuse, B);
  }
  PetscCall(MatBAIJCUDATakeEntries_Private(C, parts, n));
  PetscCall(SpikeMatConvertEnd(A, C, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}
