/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencil.c: MATGRIDSTENCIL: creation, options, destruction */
#include "gridstencilimpl.h"

/* Functions that others find by their names */
static PetscErrorCode MatGridStencilCompose_Private(Mat A, PetscBool compose)
{
  static const struct {
    const char       *name;
    PetscErrorCodeFn *function;
  } list[] = {
    {"MatConvert_gridstencil_aij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"MatConvert_gridstencil_seqaij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"MatConvert_gridstencil_mpiaij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"MatConvert_gridstencil_gridstencilcuda_C", (PetscErrorCodeFn *)MatConvert_GridStencil_GridStencil},
    {"MatConvert_gridstencilcuda_gridstencil_C", (PetscErrorCodeFn *)MatConvert_GridStencil_GridStencil},
    {"MatConvert_gridstencil_gridstencil_C", (PetscErrorCodeFn *)MatConvert_GridStencil_GridStencil},
    {"MatConvert_gridstencilcuda_gridstencilcuda_C", (PetscErrorCodeFn *)MatConvert_GridStencil_GridStencil},
    {"MatConvert_gridstencilcuda_aij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"MatConvert_gridstencilcuda_seqaij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"MatConvert_gridstencilcuda_mpiaij_C", (PetscErrorCodeFn *)MatConvert_GridStencil_AIJ},
    {"PetscSpikeGetEnqueue_C", (PetscErrorCodeFn *)PetscSpikeGetEnqueue_GridStencil},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(list); k++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, list[k].name, compose ? list[k].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_GridStencil(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(MatGridStencilUse_Private(A, NULL));
  PetscCall(PetscFree(a->coef));
  PetscCall(PetscFree(a->offset));
  PetscCall(PetscFree(a->stencil));
  PetscCall(DMDestroy(&a->da));
  PetscCall(MatGridStencilCompose_Private(A, PETSC_FALSE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetFromOptions_GridStencil(Mat A, PetscOptionItems PetscOptionsObject)
{
  Mat_GridStencil  *a      = (Mat_GridStencil *)A->data;
  const char *const list[] = {"own", "dm"};
  PetscInt          which = a->usedm ? 1 : 0, pernode = a->halo.pernode;
  PetscBool         set, setnode;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "MATGRIDSTENCIL options");
  PetscCall(PetscOptionsEList("-mat_gridstencil_halo", "How points around the box of a rank come", "MATGRIDSTENCIL",
                              list, 2, list[which], &which, &set));
  PetscCall(PetscOptionsInt("-mat_gridstencil_ranks_per_node", "Ranks that count as one node, 0: as MPI has it",
                            "MATGRIDSTENCIL", pernode, &pernode, &setnode));
  PetscOptionsHeadEnd();
  if (setnode) PetscCall(MatHaloSetRanksPerNode_Private(&a->halo, pernode, (PetscObject)A));
  if (!set || (which == 1) == a->usedm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGridStencilHaloDestroy_Private(A));
  PetscCall(VecDestroy(&a->around));
  a->usedm = (PetscBool)(which == 1);
  PetscCall(MatGridStencilChanged_Private(A)); /* another product to lend */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetUp_GridStencil(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(((Mat_GridStencil *)A->data)->da, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "A MATGRIDSTENCIL is made by MatCreateGridStencil(), from a DMDA and the points of the stencil");
  A->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct _MatOps MatOps_GridStencil = {
  .mult                   = MatMult_GridStencil,
  .multadd                = MatMultAdd_GridStencil,
  .multtranspose          = MatMultTranspose_GridStencil,
  .multtransposeadd       = MatMultTransposeAdd_GridStencil,
  .multhermitiantranspose = MatMultHermitianTranspose_GridStencil,
  .getdiagonal            = MatGetDiagonal_GridStencil,
  .scale                  = MatScale_GridStencil,
  .norm                   = MatNorm_GridStencil,
  .setup                  = MatSetUp_GridStencil,
  .setfromoptions         = MatSetFromOptions_GridStencil,
  .duplicate              = MatDuplicate_GridStencil,
  .destroy                = MatDestroy_GridStencil,
  .view                   = MatView_GridStencil,
  .convert                = MatConvert_GridStencil,
  .bindtocpu              = MatBindToCPU_GridStencil,
};

/*MC
  MATGRIDSTENCIL = "gridstencil" - A stencil on the grid of a `DMDA`, with constant coefficients or coefficients for
  each point: no matrix is stored

  Options Database Keys:
+ -mat_gridstencil_halo (own|dm)        - how points around the box of a rank come in products, read by
                                        `MatSetFromOptions()`
- -mat_gridstencil_ranks_per_node ranks - that many consecutive ranks count as one node, 0 (the default) for those that
                                          MPI finds on one: messages to other nodes and those inside of one travel at
                                          once; read by `MatSetFromOptions()`

  Level: beginner

  Notes:
  It is made by `MatCreateGridStencil()`, and is of use when it has coefficients. It is the matrix that
  `MatSetValuesStencil()` with `ADD_VALUES` would assemble: points outside of the grid are left out where the boundary
  of the `DMDA` is `DM_BOUNDARY_NONE` or `DM_BOUNDARY_GHOSTED`, are those at the other end with `DM_BOUNDARY_PERIODIC`,
  and those inside with `DM_BOUNDARY_MIRROR`. A product with constant coefficients reads and writes vectors alone.

  Products, transposed ones and the diagonal (`PCJACOBI`) are its own. What needs entries converts it: `PCSPIKE`,
  `MatConvert()` to `MATAIJ`, and by that to any other type.

  Points of other ranks come in one message from each neighbour while those are computed that need none; with
  `-mat_gridstencil_halo dm` they come by `DMGlobalToLocalBegin()`, as they do in transposed products. The fused Krylov
  methods (`KSPCGFUSED`, `KSPBCGSFUSED`, `KSPIDRFUSED`) multiply by the stencil themselves, with their inner products in
  the same pass, except where the stencil takes points of other ranks, or of its own other end, by the `DMDA`.

.seealso: [](ch_matrices), `Mat`, `DMDA`, `MATDIA`, `MATGRIDSTENCILCUDA`, `MatCreateGridStencil()`,
`MatGridStencilSetCoefficients()`, `MatGridStencilSetCoefficientVecs()`
M*/
PetscErrorCode MatCreate_GridStencil(Mat A)
{
  Mat_GridStencil *a;

  PetscFunctionBegin;
  PetscCall(PetscNew(&a));
  A->data = (void *)a;
  a->k = a->native = &SpikeStencilKernels_Host;

  *A->ops      = MatOps_GridStencil;
  A->assembled = PETSC_FALSE;
  PetscCall(MatGridStencilCompose_Private(A, PETSC_TRUE));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATGRIDSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATGRIDSTENCILCUDA = "gridstencilcuda" - A `MATGRIDSTENCIL` whose products are computed on a CUDA device

  Options Database Keys:
+ -mat_type gridstencilcuda - for `MatCreateGridStencil()`
. -dm_mat_type gridstencilcuda - the same, asked of the `DMDA` in `DMSetFromOptions()`
- -dm_vec_type cuda - vectors of the `DMDA`, and with them its stencils

  Level: beginner

  Notes:
  Vectors are of type `VECCUDA`. `MatConvert()` makes it from a `MATGRIDSTENCIL` and the other way, `MatBindToCPU()`
  makes it work on the host.

  Coefficients are set and kept on the host; the first product after that copies them to the device. Products,
  transposed ones and the diagonal are computed there, and nothing is copied then. On one rank without periodic or
  mirrored boundaries a product is one kernel. With constant coefficients and one unknown, stencils of 5 and 9 points in
  two and of 7 and 27 in three dimensions have kernels that read x about once and write y once.

  Points of other ranks come by NCCL where each rank has a device of its own, else by MPI, through the host where that
  is not aware of GPUs (`-use_gpu_aware_mpi`), as those of a `MATDIA` do. A product is then one kernel for the points
  inside and one for those at the surface, a third one that packs what others want, and a fourth one where what comes
  has not the order of the points around the box: between layers along the last dimension it has.

.seealso: [](ch_matrices), `Mat`, `DMDA`, `MATGRIDSTENCIL`, `MATDIA`, `VECCUDA`, `MatCreateGridStencil()`,
`MatBindToCPU()`
M*/
PetscErrorCode MatCreate_GridStencilCUDA(Mat A)
{
  const SpikeStencilKernels *k = SpikeStencilKernelsFind(PETSC_MEMTYPE_CUDA);

  PetscFunctionBegin;
  PetscCheck(k, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "petscspike was built without CUDA: take MATGRIDSTENCIL");
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(MatCreate_GridStencil(A));
  ((Mat_GridStencil *)A->data)->k = ((Mat_GridStencil *)A->data)->native = k;
  SpikeMatSetBoundToCPU(A, PETSC_FALSE);
  PetscCall(MatSetVecType(A, VECCUDA));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATGRIDSTENCILCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
