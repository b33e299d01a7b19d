/* SPDX-License-Identifier: BSD-2-Clause */
/* baijcuda.c: MATBAIJCUDA: registration, creation and destruction */
#include "baijcudaimpl.h"
#include <petscdevice.h>

/* Where copies are; set at registration */
static const SpikeBlockKernels *MatBAIJCUDAKernels = NULL;

static PetscErrorCode MatGetCurrentMemType_BAIJCUDA(Mat A, PetscMemType *memtype)
{
  PetscFunctionBegin;
  *memtype = MatBAIJCUDAHasKernels_Private(A) ? MatBAIJCUDA_Private(A)->k->memtype : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's functions that ours replace by their names. Factors that PETSc makes from A come with ours, and are none of
  ours otherwise
*/
static struct {
  PetscErrorCode (*setpreallocation)(Mat, PetscInt, PetscInt, const PetscInt[]);
  PetscErrorCode (*getarray)(Mat, PetscScalar **);
  PetscErrorCode (*storevalues)(Mat);
  PetscErrorCode (*retrievevalues)(Mat);
} petsc;

/* PETSc chooses its product in the preallocation, and leaves the nonzero state as it was */
static PetscErrorCode MatSeqBAIJSetPreallocation_SeqBAIJCUDA(Mat A, PetscInt bs, PetscInt nz, const PetscInt nnz[])
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscBool     is;

  PetscFunctionBegin;
  PetscCall((*petsc.setpreallocation)(A, bs, nz, nnz));
  PetscCall(MatBAIJCUDAIs_Private(A, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  c->pattern = c->values = -1;
  c->made                = SpikeNewShape(1);
  c->ahead               = PETSC_FALSE;
  PetscCall(MatBAIJCUDAWrap_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSeqBAIJGetArray_SeqBAIJCUDA(Mat A, PetscScalar **a)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAFetch_Private(A));
  PetscCall((*petsc.getarray)(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatStoreValues_SeqBAIJCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAFetch_Private(A));
  PetscCall((*petsc.storevalues)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_SeqBAIJCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAFetch_Private(A));
  PetscCall((*petsc.retrievevalues)(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions that others find by their names. Those of PETSc that ours replace come back, where the matrix stays */
static PetscErrorCode MatBAIJCUDACompose_Private(Mat A, PetscBool compose, PetscBool stays)
{
  Mat_BAIJCUDA *c   = MatBAIJCUDA_Private(A);
  PetscObject   obj = (PetscObject)A;

  PetscFunctionBegin;
#define MatBAIJCUDAComposeOne(name, f) PetscCall(PetscObjectComposeFunction(obj, name, compose ? f : NULL))
  MatBAIJCUDAComposeOne("MatProductSetFromOptions_seqbaijcuda_seqdense_C", MatProductSetFromOptions_BAIJCUDA_Dense);
  MatBAIJCUDAComposeOne("MatProductSetFromOptions_seqbaijcuda_seqdensecuda_C", MatProductSetFromOptions_BAIJCUDA_Dense);
  MatBAIJCUDAComposeOne("MatProductSetFromOptions_mpibaijcuda_mpidense_C", MatProductSetFromOptions_BAIJCUDA_Dense);
  MatBAIJCUDAComposeOne("MatProductSetFromOptions_mpibaijcuda_mpidensecuda_C", MatProductSetFromOptions_BAIJCUDA_Dense);
  MatBAIJCUDAComposeOne("MatSeqBAIJGetCSR_Spike_C", MatSeqBAIJGetCSR_SeqBAIJCUDA);
  MatBAIJCUDAComposeOne("PetscSpikeGetEnqueue_C", PetscSpikeGetEnqueue_BAIJCUDA);
  MatBAIJCUDAComposeOne("MatConvertIsReused_Spike_C", MatBAIJCUDAByCoordinates_Private);
  MatBAIJCUDAComposeOne("MatSetPreallocationCOO_C", MatSetPreallocationCOO_BAIJCUDA);
#undef MatBAIJCUDAComposeOne
  if (!compose) PetscCall(PetscObjectComposeFunction(obj, "MatSetValuesCOO_C", NULL));
  if (c->mpi) PetscFunctionReturn(PETSC_SUCCESS);
#define MatBAIJCUDAReplace(name, kept, f) \
  do { \
    if (compose) { /* a duplicate comes with ours */ \
      if (!petsc.kept) PetscCall(PetscObjectQueryFunction(obj, name, &petsc.kept)); \
      PetscCall(PetscObjectComposeFunction(obj, name, f)); \
    } else PetscCall(PetscObjectComposeFunction(obj, name, stays ? petsc.kept : NULL)); \
  } while (0)
  MatBAIJCUDAReplace("MatSeqBAIJSetPreallocation_C", setpreallocation, MatSeqBAIJSetPreallocation_SeqBAIJCUDA);
  MatBAIJCUDAReplace("MatSeqBAIJGetArray_C", getarray, MatSeqBAIJGetArray_SeqBAIJCUDA);
  MatBAIJCUDAReplace("MatStoreValues_C", storevalues, MatStoreValues_SeqBAIJCUDA);
  MatBAIJCUDAReplace("MatRetrieveValues_C", retrievevalues, MatRetrieveValues_SeqBAIJCUDA);
#undef MatBAIJCUDAReplace
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDATakeAway_Private(Mat, PetscBool);

/* MatHeaderMerge() has taken the list of functions away before: nothing may come into a new one */
static PetscErrorCode MatDestroy_BAIJCUDA(Mat A)
{
  PetscErrorCode (*destroy)(Mat) = MatBAIJCUDA_Private(A)->ops.destroy;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDATakeAway_Private(A, PETSC_FALSE));
  PetscCall((*destroy)(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of PETSc's type MATSEQBAIJ or MATMPIBAIJ, of whatever state, becomes `type` */
PetscErrorCode MatBAIJCUDAInstall_Private(Mat A, MatType type)
{
  Mat_BAIJCUDA *c;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c));
  PetscCall(PetscStrcmp(type, MATMPIBAIJCUDA, &c->mpi));
  c->k       = MatBAIJCUDAKernels;
  c->made    = SpikeNewShape(1);
  c->pattern = c->values = -1;
  c->ops                 = *A->ops;
  A->spptr               = (void *)c;
  PetscCall(MatBAIJCUDAWrap_Private(A));
  A->ops->destroy           = MatDestroy_BAIJCUDA;
  A->ops->bindtocpu         = MatBAIJCUDABind_Private;
  A->ops->getcurrentmemtype = MatGetCurrentMemType_BAIJCUDA;
  A->ops->convertfrom       = MatConvertFrom_BAIJCUDA;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscCall(MatBAIJCUDACompose_Private(A, PETSC_TRUE, PETSC_TRUE));
  SpikeMatSetBoundToCPU(A, PETSC_FALSE);
  if (c->mpi) PetscCall(MatBAIJCUDAWatchParts_Private(A, PETSC_FALSE));
  if (!PetscMemTypeHost(c->k->memtype)) {
    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECCUDA, &A->defaultvectype));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDATakeAway_Private(Mat A, PetscBool stays)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (stays) PetscCall(MatBAIJCUDAToHost_Private(A));
  PetscCall(MatBAIJCUDACompose_Private(A, PETSC_FALSE, stays));
  PetscCall(MatBAIJCUDACOOReset_Private(A));
  PetscCall(MatHaloListReset_Private(&c->list));
  PetscCall(MatBAIJCUDAReset_Private(A));
  PetscCall(MatBAIJCUDAUnwrap_Private(A));
  A->ops->destroy           = c->ops.destroy;
  A->ops->bindtocpu         = c->ops.bindtocpu;
  A->ops->getcurrentmemtype = c->ops.getcurrentmemtype;
  A->ops->convertfrom       = c->ops.convertfrom;
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, c->mpi ? MATMPIBAIJ : MATSEQBAIJ));
  if (!PetscMemTypeHost(c->k->memtype)) {
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECSTANDARD, &A->defaultvectype));
    SpikeMatSetBoundToCPU(A, PETSC_TRUE);
  }
  PetscCall(PetscFree(A->spptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* And back: PETSc's values are right after it */
PetscErrorCode MatBAIJCUDARemove_Private(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDATakeAway_Private(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATBAIJCUDA = "baijcuda" - `MATBAIJ` on GPUs, by CUDA: matrices of dense blocks of 1 to 32 rows. `MATSEQBAIJCUDA` on a
  communicator of one process, `MATMPIBAIJCUDA` on others

  Options Database Key:
. -mat_type baijcuda - sets the type in `MatSetFromOptions()`

  Level: beginner

  Notes:
  The matrix is a `MATBAIJ`, and all that PETSc does with one works: assembly, `MatGetRow()`, factorizations,
  submatrices, viewers and files. Beside it is a copy of the blocks on the device, for products with vectors, with the
  transpose and with dense matrices. Operations that PETSc does on the host change the values there, and the next
  product copies them to the device in one piece. Its vectors are of type `VECCUDA`; vectors on the host are copied in
  each product. A product reads the index of a block once for its bs x bs values, which `MATAIJCUSPARSE` reads for each
  value.

  `MatSetValuesCOO()` with coordinates of rows of this rank only puts values into the blocks on the device; with values
  in the memory of the device nothing passes the host, nor in `MatScale()`, `MatGetDiagonal()` and `MatDuplicate()`
  after it. PETSc's operations fetch them when they need them. Those of packages that read the blocks of a `MATBAIJ`
  past its operations do not: call `MatBindToCPU()` before them.

  On several ranks what others need of a vector is packed on the device and travels beside the product of the columns of
  this rank, as with `MATDIACUDA`; of all columns of a dense matrix in one message to each rank.

  `MatConvert()` from `MATAIJCUSPARSE`, with the block size of that matrix, and to it goes by the values on the device.
  With `MAT_REUSE_MATRIX` and the same pattern nothing is planned again. A matrix that was made so keeps the plan.

  `PCBLOCKILU` fills its factors from the blocks on the device. Blocks of more than 32 rows have PETSc's products on the
  host, and `-info` says so. After `MatBindToCPU()` all is on the host.

.seealso: [](ch_matrices), `Mat`, `MATBAIJ`, `MATSEQBAIJCUDA`, `MATMPIBAIJCUDA`, `MATDIACUDA`, `MATAIJCUSPARSE`,
`PCBLOCKILU`, `MatSetValues()`, `MatSetValuesCOO()`, `MatBindToCPU()`
M*/

/*MC
  MATSEQBAIJCUDA = "seqbaijcuda" - `MATBAIJCUDA` on a communicator of one process

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATBAIJCUDA`, `MATMPIBAIJCUDA`
M*/
static PetscErrorCode MatCreate_SeqBAIJCUDA(Mat A)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "MATSEQBAIJCUDA is for one process, and this communicator has %d: use MATBAIJCUDA or MATMPIBAIJCUDA",
             size);
  PetscCall(MatSetType(A, MATSEQBAIJ));
  PetscCall(MatBAIJCUDAInstall_Private(A, MATSEQBAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATMPIBAIJCUDA = "mpibaijcuda" - `MATBAIJCUDA` on any communicator

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATBAIJCUDA`, `MATSEQBAIJCUDA`
M*/
static PetscErrorCode MatCreate_MPIBAIJCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetType(A, MATMPIBAIJ));
  PetscCall(MatBAIJCUDAInstall_Private(A, MATMPIBAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the library has a device; or, for tests, with the host's kernels and copies in its memory */
PetscErrorCode MatBAIJCUDARegister(PetscBool host)
{
  PetscFunctionBegin;
  MatBAIJCUDAKernels = SpikeBlockKernelsFind(host ? PETSC_MEMTYPE_HOST : PETSC_MEMTYPE_CUDA);
  if (!MatBAIJCUDAKernels) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatRegisterRootName(MATBAIJCUDA, MATSEQBAIJCUDA, MATMPIBAIJCUDA));
  PetscCall(MatRegister(MATSEQBAIJCUDA, MatCreate_SeqBAIJCUDA));
  PetscCall(MatRegister(MATMPIBAIJCUDA, MatCreate_MPIBAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
