/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.c: MATDIA: creation and destruction */
#include "diaimpl.h"
#include <petscdevice.h>

/* What others find by its name */
static PetscErrorCode MatDIAComposeAll_Private(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  PetscCall(MatDIAComposeOptions_Private(A, compose));
  PetscCall(MatDIAComposeConvert_Private(A, compose));
  PetscCall(MatDIAComposeAssembly_Private(A, compose));
  PetscCall(MatDIAComposeByAIJ_Private(A, compose));
  PetscCall(MatDIAComposeProduct_Private(A, compose));
  PetscCall(
    PetscObjectComposeFunction((PetscObject)A, "PetscSpikeGetEnqueue_C", compose ? PetscSpikeGetEnqueue_DIA : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_DIA(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDIAReset_Private(A));
  PetscCall(MatDestroy(&a->aij));
  PetscCall(MatDestroy(&a->coo));
  PetscCall(PetscFree(a->inverse));
  PetscCall(PetscSegBufferDestroy(&a->entries));
  PetscCall(MatDIAComposeAll_Private(A, PETSC_FALSE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetCurrentMemType_DIA(Mat A, PetscMemType *memtype)
{
  PetscFunctionBegin;
  *memtype = MatDIAMemType_Private(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct _MatOps MatOps_DIA = {
  .setvalues                   = MatSetValues_DIA,
  .getrow                      = MatGetRow_DIA,
  .restorerow                  = MatRestoreRow_DIA,
  .mult                        = MatMult_DIA,
  .multadd                     = MatMultAdd_DIA,
  .multtranspose               = MatMultTranspose_DIA,
  .multtransposeadd            = MatMultTransposeAdd_DIA,
  .multhermitiantranspose      = MatMultHermitianTranspose_DIA,
  .multhermitiantransposeadd   = MatMultHermitianTransposeAdd_DIA,
  .transpose                   = MatTranspose_DIA,
  .getinfo                     = MatGetInfo_DIA,
  .equal                       = MatEqual_DIA,
  .getdiagonal                 = MatGetDiagonal_DIA,
  .diagonalscale               = MatDiagonalScale_DIA,
  .norm                        = MatNorm_DIA,
  .assemblybegin               = MatAssemblyBegin_DIA,
  .assemblyend                 = MatAssemblyEnd_DIA,
  .setoption                   = MatSetOption_DIA,
  .zeroentries                 = MatZeroEntries_DIA,
  .zerorows                    = MatZeroRows_DIA,
  .zerorowscolumns             = MatZeroRowsColumns_DIA,
  .setup                       = MatSetUp_DIA,
  .duplicate                   = MatDuplicate_DIA,
  .axpy                        = MatAXPY_DIA,
  .createsubmatrices           = MatCreateSubMatrices_DIA,
  .createsubmatrix             = MatCreateSubMatrix_DIA,
  .getmultiprocblock           = MatGetMultiProcBlock_DIA,
  .increaseoverlap             = MatIncreaseOverlap_DIA,
  .copy                        = MatCopy_DIA,
  .scale                       = MatScale_DIA,
  .shift                       = MatShift_DIA,
  .diagonalset                 = MatDiagonalSet_DIA,
  .conjugate                   = MatConjugate_DIA,
  .destroy                     = MatDestroy_DIA,
  .view                        = MatView_DIA,
  .load                        = MatLoad_DIA,
  .convert                     = MatConvert_DIA,
  .convertfrom                 = MatConvertFrom_DIA,
  .setfromoptions              = MatSetFromOptions_DIA,
  .getcurrentmemtype           = MatGetCurrentMemType_DIA,
  .getvalues                   = MatGetValues_DIA,
  .sor                         = MatSOR_DIA,
  .issymmetric                 = MatIsSymmetric_DIA,
  .ishermitian                 = MatIsHermitian_DIA,
  .getrowmaxabs                = MatGetRowMaxAbs_DIA,
  .getrowminabs                = MatGetRowMinAbs_DIA,
  .getrowmax                   = MatGetRowMax_DIA,
  .getrowmin                   = MatGetRowMin_DIA,
  .getrowsumabs                = MatGetRowSumAbs_DIA,
  .creategraph                 = MatCreateGraph_DIA,
  .getrowij                    = MatGetRowIJ_DIA,
  .restorerowij                = MatRestoreRowIJ_DIA,
  .fdcoloringcreate            = MatFDColoringCreate_DIA,
  .fdcoloringsetup             = MatFDColoringSetUp_DIA,
  .fdcoloringapply             = MatFDColoringApply_DIA,
  .invertblockdiagonal         = MatInvertBlockDiagonal_DIA,
  .invertvariableblockdiagonal = MatInvertVariableBlockDiagonal_DIA,
};

static PetscErrorCode MatCreate_DIA_Private(Mat A, MatType type, PetscBool seq, PetscBool cuda)
{
  Mat_DIA    *a;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(!seq || size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "%s is for one process, and this communicator has %d: use %s or %s", cuda ? "MATSEQDIACUDA" : "MATSEQDIA",
             size, cuda ? "MATDIACUDA" : "MATDIA", cuda ? "MATMPIDIACUDA" : "MATMPIDIA");
  PetscCall(PetscNew(&a));
  A->data     = (void *)a;
  a->seq      = seq;
  a->cuda     = cuda;
  a->schedule = MAT_DIA_SCHEDULE_OVERLAP;
  a->maxfill  = 10.0;

  *A->ops       = MatOps_DIA;
  A->assembled  = PETSC_FALSE;
  A->insertmode = NOT_SET_VALUES;
  if (size == 1) { /* PCGAMG asks for sizes after MatSeqAIJSetPreallocation(), which is not there */
    const PetscLayout both[] = {A->rmap, A->cmap};

    for (int k = 0; k < 2; k++) {
      if (both[k]->N < 0) both[k]->N = both[k]->n;
      if (both[k]->n < 0) both[k]->n = both[k]->N;
    }
  }
  if (!seq) {
    A->ops->getdiagonalblock     = MatGetDiagonalBlock_DIA;
    A->ops->createsubmatricesmpi = MatCreateSubMatricesMPI_DIA;
  }
  if (cuda) {
    A->ops->bindtocpu = MatBindToCPU_DIA;
    SpikeMatSetBoundToCPU(A, PETSC_FALSE); /* new matrices are bound */
    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECCUDA, &A->defaultvectype));
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscCall(MatDIAComposeAll_Private(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATDIA = "dia" - A matrix that is stored by diagonals: for matrices of regular grids, whose entries lie on a few full
  diagonals. `MATSEQDIA` on a communicator of one process, `MATMPIDIA` on others

  Options Database Keys:
+ -mat_type dia                        - sets the type in `MatSetFromOptions()`
. -mat_dia_schedule (overlap|twophase) - exchange between ranks, see `MatDIASetSchedule()`
. -mat_dia_max_fill fill               - how many places there may be for an entry, see `MatDIASetMaxFill()`
- -mat_dia_ranks_per_node ranks        - that many consecutive ranks count as one node in exchanges, 0 (the default) for
                                       those that MPI finds on one; read by `MatSetFromOptions()`

  Level: beginner

  Notes:
  A product reads one value for each place of a diagonal and no column indices: for real numbers in double precision
  two thirds of what `MATAIJ` reads, where the diagonals are full, in streams. Entries are assembled by
  `MatSetValues()`, `MatSetPreallocationCOO()`, `MatLoad()`, `DMCreateMatrix()` (`-dm_mat_type dia`) or `MatConvert()`,
  in any order: they are collected in a `MATAIJ`, which is converted at the end of an assembly. What `MATAIJ` holds as
  an entry stays one, also where its value is zero.

  Each rank stores the diagonals that its rows have. For a product a rank sends one message to each rank whose rows
  reach its part of the vector, and receives one from each whose part it reaches; rows that reach no other rank's are
  computed meanwhile. Row sums are in the order of the columns, so that a product has the same bits on any number of
  ranks. On a grid the ranks should have whole layers of it: with a `DMDA` in 2 or 3 dimensions `-da_processors_x 1`
  (and `-da_processors_y 1`), else each line of a rank brings diagonals of its own.

  `KSPBCGSFUSED`, `KSPCGFUSED` and `KSPIDRFUSED` multiply by it with their inner products in the product, on any number
  of ranks, and make no copy of their own. `PCJACOBI` takes its diagonal, `PCBJACOBI` its diagonal blocks; `PCSPIKE`
  fills its band from the diagonals, without a copy where the band is in natural order. On a copy as `MATAIJ`, which is
  kept until values change, PETSc does what `MATDIA` has no kernels for: `PCLU`, `PCILU`, `PCCHOLESKY` and `PCICC` on
  one process and in the blocks of `PCBJACOBI` and `PCASM`, `MatSOR()`, `MatPtAP()` and other products with matrices
  that are not dense, `PCGAMG`, `PCGASM`. Packages as MUMPS, and factors in place, want `MATAIJ`. A matrix that is not
  square, such as an interpolation of `PCGAMG`, becomes a `MATAIJ` when it is assembled with too many diagonals.

  A place without an entry holds zero, and a product multiplies with it: where the vector has an infinity or a NaN, rows
  without an entry for it may become NaN.

.seealso: [](ch_matrices), `Mat`, `MATSEQDIA`, `MATMPIDIA`, `MATGRIDSTENCIL`, `MatDIAGetDiagonals()`,
`MatDIASetSchedule()`, `MatDIASetMaxFill()`, `KSPBCGSFUSED`, `KSPCGFUSED`, `PCSPIKE`
M*/

/*MC
  MATSEQDIA = "seqdia" - `MATDIA` on a communicator of one process

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATDIA`, `MATMPIDIA`
M*/
PetscErrorCode MatCreate_SeqDIA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_DIA_Private(A, MATSEQDIA, PETSC_TRUE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATMPIDIA = "mpidia" - `MATDIA` on any communicator

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATDIA`, `MATSEQDIA`
M*/
PetscErrorCode MatCreate_MPIDIA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_DIA_Private(A, MATMPIDIA, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATDIACUDA = "diacuda" - `MATDIA` on GPUs, by CUDA: `MATSEQDIACUDA` on a communicator of one process, `MATMPIDIACUDA`
  on others

  Options Database Keys:
+ -mat_type diacuda                    - sets the type in `MatSetFromOptions()`
. -mat_dia_schedule (overlap|twophase) - exchange between ranks, see `MatDIASetSchedule()`
. -mat_dia_max_fill fill               - how many places there may be for an entry, see `MatDIASetMaxFill()`
- -mat_dia_ranks_per_node ranks        - that many consecutive ranks count as one node in exchanges, 0 (the default) for
                                       those that MPI finds on one; read by `MatSetFromOptions()`

  Level: beginner

  Notes:
  All that is said of `MATDIA` holds. Its vectors are of type `VECCUDA`. Values are on the device, diagonal by diagonal:
  a product reads each of them once, and on one GPU nothing passes between host and device. Entries are collected in a
  `MATAIJCUSPARSE`; values that `MatSetValuesCOO()` or a `MATAIJCUSPARSE` has on the device stay there. What changes the
  pattern, and `MatGetRow()`, work on the host. After `MatBindToCPU()` values, and products, are on the host.

  On several ranks what others need of a vector is packed on the device and travels beside the product of the rows that
  need nothing: by NCCL where each rank has a GPU of its own and the library was built with NCCL, by MPI from the memory
  of the device with `-use_gpu_aware_mpi`, else through pinned memory of the host. `-info` says which. Messages to other
  nodes and those inside of one travel at once, on streams and by communicators of their own.

  `KSPBCGSFUSED`, `KSPCGFUSED` and `KSPIDRFUSED` multiply by it with their inner products in the product, for up to 128
  diagonals.

.seealso: [](ch_matrices), `Mat`, `MATDIA`, `MATSEQDIACUDA`, `MATMPIDIACUDA`, `MATAIJCUSPARSE`, `MatDIAGetDiagonals()`,
`MatBindToCPU()`
M*/

/*MC
  MATSEQDIACUDA = "seqdiacuda" - `MATDIACUDA` on a communicator of one process

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATDIACUDA`, `MATMPIDIACUDA`
M*/
PetscErrorCode MatCreate_SeqDIACUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_DIA_Private(A, MATSEQDIACUDA, PETSC_TRUE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATMPIDIACUDA = "mpidiacuda" - `MATDIACUDA` on any communicator

  Level: beginner

.seealso: [](ch_matrices), `Mat`, `MATDIACUDA`, `MATSEQDIACUDA`
M*/
PetscErrorCode MatCreate_MPIDIACUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_DIA_Private(A, MATMPIDIACUDA, PETSC_FALSE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
