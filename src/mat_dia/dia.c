/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.c: MATDIA: creation, options, and what is asked of it from outside */
#include "diaimpl.h"
#include <petscdevice.h>

const char *const MatDIAScheduleTypes[] = {"overlap", "twophase", "MatDIAScheduleType", "MAT_DIA_SCHEDULE_", NULL};

PetscErrorCode MatDIAIs_Private(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, is, MATSEQDIA, MATMPIDIA, MATSEQDIACUDA, MATMPIDIACUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that belongs to a structure; what was set stays */
PetscErrorCode MatDIAReset_Private(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDIAHaloDestroy_Private(a));
  PetscCall(SpikeDIADestroy(&a->dia));
  PetscCall(PetscFree(a->mask));
  PetscCall(PetscFree(a->offsets));
  PetscCall(PetscFree3(a->cols, a->vals, a->row));
  PetscCall(MatDestroy(&a->block));
  a->nz    = 0;
  a->built = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetDiagonals_DIA(Mat A, PetscInt *count, const PetscInt *offsets[])
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCheck(a->built, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has no diagonals before it is assembled");
  if (count) *count = a->dia.count;
  if (offsets) *offsets = a->offsets;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIASetSchedule_DIA(Mat A, MatDIAScheduleType type)
{
  PetscFunctionBegin;
  ((Mat_DIA *)A->data)->schedule = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetSchedule_DIA(Mat A, MatDIAScheduleType *type)
{
  PetscFunctionBegin;
  *type = ((Mat_DIA *)A->data)->schedule;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIASetMaxFill_DIA(Mat A, PetscReal fill)
{
  PetscFunctionBegin;
  PetscCheck(fill >= 1.0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "The fill, places of the diagonals over entries, is at least 1, and %g was given", (double)fill);
  ((Mat_DIA *)A->data)->maxfill = fill;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetMaxFill_DIA(Mat A, PetscReal *fill)
{
  PetscFunctionBegin;
  *fill = ((Mat_DIA *)A->data)->maxfill;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatDIAGetDiagonals - Gets the diagonals that a `MATDIA` stores on this rank

  Not Collective

  Input Parameter:
. A - the matrix, of type `MATDIA` and assembled

  Output Parameters:
+ count   - how many there are (may be `NULL`)
- offsets - column minus row, in global numbers, of each of them, ascending (may be `NULL`); it belongs to the matrix
            and holds until its pattern changes

  Level: intermediate

  Note:
  Ranks store the diagonals in which their own rows have entries: in general others than their neighbours. A rank stores
  `count` values for each of its rows.

.seealso: [](ch_matrices), `MATDIA`, `MatDIASetMaxFill()`
@*/
PetscErrorCode MatDIAGetDiagonals(Mat A, PetscInt *count, const PetscInt *offsets[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscUseMethod(A, "MatDIAGetDiagonals_C", (Mat, PetscInt *, const PetscInt **), (A, count, offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIASetSchedule - Sets how the ranks of a `MATDIA` exchange the parts of the vector that a product needs from others

  Logically Collective

  Input Parameters:
+ A    - the matrix
- type - `MAT_DIA_SCHEDULE_OVERLAP` (the default) or `MAT_DIA_SCHEDULE_TWOPHASE`

  Options Database Key:
. -mat_dia_schedule (overlap|twophase) - sets it

  Level: advanced

  Note:
  Both send the same messages, one each way to each neighbour, and both compute the rows that need none of them in
  between. In two phases a rank exchanges with one neighbour at a time, which is kinder to networks whose links are half
  as fast when they carry messages of several pairs.

.seealso: [](ch_matrices), `MATDIA`, `MatDIAScheduleType`, `MatDIAGetSchedule()`
@*/
PetscErrorCode MatDIASetSchedule(Mat A, MatDIAScheduleType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(A, type, 2);
  PetscTryMethod(A, "MatDIASetSchedule_C", (Mat, MatDIAScheduleType), (A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIAGetSchedule - Gets how the ranks of a `MATDIA` exchange the parts of the vector that a product needs from others

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. type - `MAT_DIA_SCHEDULE_OVERLAP` or `MAT_DIA_SCHEDULE_TWOPHASE`

  Level: advanced

.seealso: [](ch_matrices), `MATDIA`, `MatDIAScheduleType`, `MatDIASetSchedule()`
@*/
PetscErrorCode MatDIAGetSchedule(Mat A, MatDIAScheduleType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(A, "MatDIAGetSchedule_C", (Mat, MatDIAScheduleType *), (A, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIASetMaxFill - Sets how many places, in units of the entries of the matrix, the diagonals of a `MATDIA` may have

  Logically Collective

  Input Parameters:
+ A    - the matrix
- fill - places over entries, at least 1; 10 by default

  Options Database Key:
. -mat_dia_max_fill fill - sets it

  Level: intermediate

  Note:
  A diagonal takes a number for each row of a rank that has an entry on it. A matrix whose entries lie on no few
  diagonals would take many times the memory of `MATAIJ`; assembly and `MatConvert()` refuse it with an error that names
  both. Below a megabyte on a rank nothing is refused.

.seealso: [](ch_matrices), `MATDIA`, `MatDIAGetMaxFill()`, `MatDIAGetDiagonals()`
@*/
PetscErrorCode MatDIASetMaxFill(Mat A, PetscReal fill)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveReal(A, fill, 2);
  PetscTryMethod(A, "MatDIASetMaxFill_C", (Mat, PetscReal), (A, fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatDIAGetMaxFill - Gets how many places, in units of the entries of the matrix, the diagonals of a `MATDIA` may have

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameter:
. fill - places over entries

  Level: intermediate

.seealso: [](ch_matrices), `MATDIA`, `MatDIASetMaxFill()`
@*/
PetscErrorCode MatDIAGetMaxFill(Mat A, PetscReal *fill)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(fill, 2);
  PetscUseMethod(A, "MatDIAGetMaxFill_C", (Mat, PetscReal *), (A, fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_DIA(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_DIA  *a       = (Mat_DIA *)A->data;
  PetscReal fill    = a->maxfill;
  PetscInt  pernode = a->halo.pernode;
  PetscBool set;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MATDIA options");
  PetscCall(PetscOptionsEnum("-mat_dia_schedule", "Exchange between ranks", "MatDIASetSchedule", MatDIAScheduleTypes,
                             (PetscEnum)a->schedule, (PetscEnum *)&a->schedule, NULL));
  PetscCall(PetscOptionsReal("-mat_dia_max_fill", "Places of the diagonals over entries, at most", "MatDIASetMaxFill",
                             fill, &fill, &set));
  if (set) PetscCall(MatDIASetMaxFill_DIA(A, fill));
  PetscCall(PetscOptionsInt("-mat_dia_ranks_per_node", "Ranks that count as one node, 0: as MPI has it", "MATDIA",
                            pernode, &pernode, &set));
  if (set) PetscCall(MatHaloSetRanksPerNode_Private(&a->halo, pernode, (PetscObject)A));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that a conversion makes, whose options nobody else asks for */
PetscErrorCode MatDIASetFromOptions_Private(Mat A)
{
  PetscFunctionBegin;
  PetscObjectOptionsBegin((PetscObject)A);
  PetscCall(MatSetFromOptions_DIA(A, PetscOptionsObject));
  PetscOptionsEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A function of A, or none */
#define MatDIACompose(name, function) \
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, compose ? function : NULL))

static PetscErrorCode MatDIACompose_Private(Mat A, PetscBool compose)
{
  PetscFunctionBegin;
  MatDIACompose("MatDIAGetDiagonals_C", MatDIAGetDiagonals_DIA);
  MatDIACompose("MatDIASetSchedule_C", MatDIASetSchedule_DIA);
  MatDIACompose("MatDIAGetSchedule_C", MatDIAGetSchedule_DIA);
  MatDIACompose("MatDIASetMaxFill_C", MatDIASetMaxFill_DIA);
  MatDIACompose("MatDIAGetMaxFill_C", MatDIAGetMaxFill_DIA);
  MatDIACompose("MatConvert_seqdia_seqaij_C", MatConvert_DIA_AIJ);
  MatDIACompose("MatConvert_mpidia_mpiaij_C", MatConvert_DIA_AIJ);
  MatDIACompose("MatConvert_seqdiacuda_seqaij_C", MatConvert_DIA_AIJ);
  MatDIACompose("MatConvert_mpidiacuda_mpiaij_C", MatConvert_DIA_AIJ);
  MatDIACompose("MatConvert_seqdia_seqdiacuda_C", MatConvert_DIA_DIA);
  MatDIACompose("MatConvert_mpidia_mpidiacuda_C", MatConvert_DIA_DIA);
  MatDIACompose("MatConvert_seqdiacuda_seqdia_C", MatConvert_DIA_DIA);
  MatDIACompose("MatConvert_mpidiacuda_mpidia_C", MatConvert_DIA_DIA);
  MatDIACompose("PetscSpikeGetEnqueue_C", PetscSpikeGetEnqueue_DIA);
  PetscCall(MatDIAComposeAssembly_Private(A, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_DIA(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDIAReset_Private(A));
  PetscCall(MatDestroy(&a->aij));
  PetscCall(PetscSegBufferDestroy(&a->entries));
  PetscCall(MatDIACompose_Private(A, PETSC_FALSE));
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

  A->ops->setvalues                 = MatSetValues_DIA;
  A->ops->getrow                    = MatGetRow_DIA;
  A->ops->restorerow                = MatRestoreRow_DIA;
  A->ops->mult                      = MatMult_DIA;
  A->ops->multadd                   = MatMultAdd_DIA;
  A->ops->multtranspose             = MatMultTranspose_DIA;
  A->ops->multtransposeadd          = MatMultTransposeAdd_DIA;
  A->ops->multhermitiantranspose    = MatMultHermitianTranspose_DIA;
  A->ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_DIA;
  A->ops->transpose                 = MatTranspose_DIA;
  A->ops->getinfo                   = MatGetInfo_DIA;
  A->ops->equal                     = MatEqual_DIA;
  A->ops->getdiagonal               = MatGetDiagonal_DIA;
  A->ops->diagonalscale             = MatDiagonalScale_DIA;
  A->ops->norm                      = MatNorm_DIA;
  A->ops->assemblybegin             = MatAssemblyBegin_DIA;
  A->ops->assemblyend               = MatAssemblyEnd_DIA;
  A->ops->setoption                 = MatSetOption_DIA;
  A->ops->zeroentries               = MatZeroEntries_DIA;
  A->ops->zerorows                  = MatZeroRows_DIA;
  A->ops->zerorowscolumns           = MatZeroRowsColumns_DIA;
  A->ops->setup                     = MatSetUp_DIA;
  A->ops->duplicate                 = MatDuplicate_DIA;
  A->ops->axpy                      = MatAXPY_DIA;
  A->ops->createsubmatrices         = MatCreateSubMatrices_DIA;
  A->ops->createsubmatrix           = MatCreateSubMatrix_DIA;
  A->ops->increaseoverlap           = MatIncreaseOverlap_DIA;
  A->ops->copy                      = MatCopy_DIA;
  A->ops->scale                     = MatScale_DIA;
  A->ops->shift                     = MatShift_DIA;
  A->ops->diagonalset               = MatDiagonalSet_DIA;
  A->ops->conjugate                 = MatConjugate_DIA;
  A->ops->destroy                   = MatDestroy_DIA;
  A->ops->view                      = MatView_DIA;
  A->ops->load                      = MatLoad_DIA;
  A->ops->convert                   = MatConvert_DIA;
  A->ops->convertfrom               = MatConvertFrom_DIA;
  A->ops->setfromoptions            = MatSetFromOptions_DIA;
  A->ops->getcurrentmemtype         = MatGetCurrentMemType_DIA;
  A->assembled                      = PETSC_FALSE;
  A->insertmode                     = NOT_SET_VALUES;
  if (!seq) A->ops->getdiagonalblock = MatGetDiagonalBlock_DIA;
  if (cuda) {
    A->ops->bindtocpu = MatBindToCPU_DIA;
    MatSetBoundToCPU_Spike(A, PETSC_FALSE); /* new matrices are bound */
    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
    PetscCall(PetscFree(A->defaultvectype));
    PetscCall(PetscStrallocpy(VECCUDA, &A->defaultvectype));
  }
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, type));
  PetscCall(MatDIACompose_Private(A, PETSC_TRUE));
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
  A product reads one number for each place of a diagonal and no column numbers: for real numbers in double precision
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
  fills its band from the diagonals, without a copy where the band is in natural order; `PCASM` takes it too, by a copy
  as `MATAIJ`. Factorizations want `MATAIJ`.

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
