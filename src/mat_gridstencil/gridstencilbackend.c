/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilbackend.c: where a MATGRIDSTENCIL works, MATGRIDSTENCILCUDA */
#include "gridstencilimpl.h"

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
  MatSetBoundToCPU_Spike(A, PETSC_FALSE);
  PetscCall(MatSetVecType(A, VECCUDA));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATGRIDSTENCILCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the two a DMDA asks for */
PetscErrorCode MatGridStencilGetType_Private(DM da, MatType *type)
{
  MatType   mattype;
  VecType   vectype;
  char      option[64];
  PetscBool cuda, set, host;

  PetscFunctionBegin;
  PetscCall(DMGetMatType(da, &mattype));
  PetscCall(DMGetVecType(da, &vectype));
  PetscCall(PetscStrcmpAny(vectype, &cuda, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(PetscStrcmp(mattype, MATGRIDSTENCIL, &host));
  if (host) cuda = PETSC_FALSE;
  PetscCall(PetscStrcmp(mattype, MATGRIDSTENCILCUDA, &set));
  if (set) cuda = PETSC_TRUE;
  PetscCall(PetscOptionsGetString(((PetscObject)da)->options, NULL, "-mat_type", option, sizeof(option), &set));
  if (set) {
    PetscCall(PetscStrcmp(option, MATGRIDSTENCIL, &host));
    PetscCall(PetscStrcmp(option, MATGRIDSTENCILCUDA, &set));
    if (host || set) cuda = set;
  }
  *type = cuda ? MATGRIDSTENCILCUDA : MATGRIDSTENCIL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other kernels, NULL for none: what was kept for those before is no more */
PetscErrorCode MatGridStencilUse_Private(Mat A, const SpikeStencilKernels *k)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (a->k == k) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->k) PetscCall(MatGridStencilHaloDestroy_Private(A));
  if (a->k && a->k->reset) PetscCall((*a->k->reset)(&a->s));
  PetscCall(VecDestroy(&a->around));
  PetscCall(VecDestroy(&a->back));
  a->k = k;
  PetscCall(MatGridStencilChanged_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilChanged_Private(Mat A)
{
  static PetscObjectState shapes = 0;
  Mat_GridStencil        *a      = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  a->s.coef = a->coef;
  a->ready  = PETSC_FALSE;
  a->shape  = ++shapes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The kernels have the coefficients */
PetscErrorCode MatGridStencilReady_Private(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (!a->ready && a->k->setup) PetscCall((*a->k->setup)(&a->s));
  a->ready = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBindToCPU_GridStencil(Mat A, PetscBool flg)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (a->native == &SpikeStencilKernels_Host) PetscFunctionReturn(PETSC_SUCCESS);
  MatSetBoundToCPU_Spike(A, flg);
  PetscCall(MatGridStencilUse_Private(A, flg ? &SpikeStencilKernels_Host : a->native));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between MATGRIDSTENCIL and MATGRIDSTENCILCUDA */
PetscErrorCode MatConvert_GridStencil_GridStencil(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data, *b;
  Mat              C;

  PetscFunctionBegin;
  PetscCheck(a->da, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "A MATGRIDSTENCIL is made by MatCreateGridStencil(), from a DMDA and the points of the stencil");
  if (reuse == MAT_REUSE_MATRIX) {
    b = (Mat_GridStencil *)(*B)->data;
    PetscCheck(b->s.count == a->s.count && b->ncoef == a->ncoef && b->s.constant == a->s.constant,
               PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
               "The matrix to reuse has another stencil: take MAT_INITIAL_MATRIX");
    PetscCall(PetscArraycpy(b->coef, a->coef, a->ncoef));
    PetscCall(MatGridStencilChanged_Private(*B));
    PetscCall(PetscObjectStateIncrease((PetscObject)*B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGridStencilCreate_Private(a->da, a->s.count, a->stencil, newtype, &C));
  b        = (Mat_GridStencil *)C->data;
  b->usedm = a->usedm;

  b->halo.pernode = a->halo.pernode;
  if (a->coef) {
    b->ncoef      = a->ncoef;
    b->s.constant = a->s.constant;
    C->assembled  = PETSC_TRUE;
    C->symmetric  = A->symmetric;
    C->hermitian  = A->hermitian;
    C->spd        = A->spd;
    PetscCall(PetscMalloc1(b->ncoef, &b->coef));
    PetscCall(PetscArraycpy(b->coef, a->coef, a->ncoef));
    PetscCall(MatGridStencilChanged_Private(C));
  }
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of the rank's box and the points around it, where the kernels work */
PetscErrorCode MatGridStencilCreateLocalVec_Private(Mat A, Vec *v)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  PetscInt         size[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetGhostCorners(a->da, NULL, NULL, NULL, &size[0], &size[1], &size[2]));
  PetscCall(VecCreate(PETSC_COMM_SELF, v));
  PetscCall(VecSetSizes(*v, size[0] * size[1] * size[2] * a->s.dof, PETSC_DETERMINE));
  PetscCall(VecSetBlockSize(*v, a->s.dof));
  PetscCall(VecSetType(*v, PetscMemTypeCUDA(a->k->memtype) ? VECCUDA : VECSTANDARD));
  PetscCall(VecSet(*v, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGridStencilCheckMemType_Private(Mat A, PetscMemType memtype)
{
  PetscFunctionBegin;
  PetscCheck(PetscMemTypeCUDA(memtype), PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "A MATGRIDSTENCILCUDA multiplies vectors of type VECCUDA that are not bound to the CPU: take such, or "
             "bind the matrix by MatBindToCPU()");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilGetRead_Private(Mat A, Vec x, const PetscScalar **array)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  if (PetscMemTypeHost(((Mat_GridStencil *)A->data)->k->memtype)) PetscCall(VecGetArrayRead(x, array));
  else {
    PetscCall(VecGetArrayReadAndMemType(x, array, &memtype));
    PetscCall(MatGridStencilCheckMemType_Private(A, memtype));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilRestoreRead_Private(Mat A, Vec x, const PetscScalar **array)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(((Mat_GridStencil *)A->data)->k->memtype)) PetscCall(VecRestoreArrayRead(x, array));
  else PetscCall(VecRestoreArrayReadAndMemType(x, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* read: what is there is wanted too */
PetscErrorCode MatGridStencilGetWrite_Private(Mat A, Vec y, PetscBool read, PetscScalar **array)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  if (PetscMemTypeHost(((Mat_GridStencil *)A->data)->k->memtype)) {
    if (read) PetscCall(VecGetArray(y, array));
    else PetscCall(VecGetArrayWrite(y, array));
  } else {
    if (read) PetscCall(VecGetArrayAndMemType(y, array, &memtype));
    else PetscCall(VecGetArrayWriteAndMemType(y, array, &memtype));
    PetscCall(MatGridStencilCheckMemType_Private(A, memtype));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilRestoreWrite_Private(Mat A, Vec y, PetscBool read, PetscScalar **array)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(((Mat_GridStencil *)A->data)->k->memtype)) {
    if (read) PetscCall(VecRestoreArray(y, array));
    else PetscCall(VecRestoreArrayWrite(y, array));
  } else {
    if (read) PetscCall(VecRestoreArrayAndMemType(y, array));
    else PetscCall(VecRestoreArrayWriteAndMemType(y, array));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilBegin_Private(Mat_GridStencil *a)
{
  PetscFunctionBegin;
  if (a->k->begin) PetscCall((*a->k->begin)(&a->s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilEnd_Private(Mat_GridStencil *a, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (a->k->end) PetscCall((*a->k->end)(&a->s));
  if (PetscMemTypeHost(a->k->memtype)) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
