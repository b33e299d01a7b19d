/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilops.c: products of MATGRIDSTENCIL, its diagonal, and what it is as AIJ */
#include "gridstencilimpl.h"

/* The ends of y = A x + z by the points around the box that the DMDA brings */
static PetscErrorCode MatGridStencilEndsByDM_Private(Mat A, Vec x, const PetscScalar *z, PetscScalar *y)
{
  Mat_GridStencil   *a = (Mat_GridStencil *)A->data;
  const PetscScalar *ga;

  PetscFunctionBegin;
  PetscCall(DMGlobalToLocalEnd(a->da, x, INSERT_VALUES, a->around));
  PetscCall(MatGridStencilGetRead_Private(A, a->around, &ga));
  PetscCall(MatGridStencilBegin_Private(a));
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(&a->s, b, begin, end);
    PetscCall((*a->k->mult)(&a->s, begin, end, ga + a->gfirst * a->s.dof, a->gj, a->gk, z, y));
  }
  PetscCall(MatGridStencilEnd_Private(a, 0.0));
  PetscCall(MatGridStencilRestoreRead_Private(A, a->around, &ga));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z, z NULL for 0: points inside while those around the box come */
static PetscErrorCode MatGridStencilMult_Private(Mat A, Vec x, Vec z, Vec y)
{
  Mat_GridStencil   *a    = (Mat_GridStencil *)A->data;
  const PetscBool    bydm = (PetscBool)(a->ghosts && a->usedm), byhalo = (PetscBool)(a->ghosts && !a->usedm);
  const PetscScalar *xa, *za                                           = NULL;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(MatGridStencilReady_Private(A));
  PetscCall(MatGridStencilHaloCreate_Private(A));
  if (bydm && !a->around) PetscCall(MatGridStencilCreateLocalVec_Private(A, &a->around)); /* zeros where no point is */
  if (bydm) PetscCall(DMGlobalToLocalBegin(a->da, x, INSERT_VALUES, a->around));
  PetscCall(MatGridStencilGetRead_Private(A, x, &xa));
  if (z && z != y) PetscCall(MatGridStencilGetRead_Private(A, z, &za));
  PetscCall(MatGridStencilGetWrite_Private(A, y, (PetscBool)(z == y), &ya));
  if (z == y) za = ya;
  PetscCall(MatGridStencilBegin_Private(a));
  if (byhalo) PetscCall(MatGridStencilHaloBegin_Private(A, xa));
  PetscCall((*a->k->mult)(&a->s, a->s.ibegin, a->s.iend, xa, a->s.size[0], a->s.size[0] * a->s.size[1], za, ya));
  PetscCall(MatGridStencilEnd_Private(a, (PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * a->s.count * a->s.dof * A->rmap->n));
  if (byhalo) {
    PetscCall(MatGridStencilHaloEnd_Private(A, xa));
    PetscCall(MatGridStencilBegin_Private(a));
    PetscCall((*a->k->multends)(&a->s, xa, a->ghost, za, ya));
    PetscCall(MatGridStencilEnd_Private(a, 0.0));
  }
  PetscCall(MatGridStencilRestoreRead_Private(A, x, &xa));
  if (bydm) PetscCall(MatGridStencilEndsByDM_Private(A, x, za, ya));
  PetscCall(MatGridStencilRestoreWrite_Private(A, y, (PetscBool)(z == y), &ya));
  if (z && z != y) PetscCall(MatGridStencilRestoreRead_Private(A, z, &za));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y += A^T x, or A^H x: all of it goes into the box and the points around it, and those are added up where they belong
*/
static PetscErrorCode MatGridStencilMultTranspose_Private(Mat A, PetscBool conjugate, Vec x, Vec y)
{
  Mat_GridStencil   *a = (Mat_GridStencil *)A->data;
  const PetscScalar *xa;
  PetscScalar       *ba;

  PetscFunctionBegin;
  PetscCall(MatGridStencilReady_Private(A));
  if (!a->back) PetscCall(MatGridStencilCreateLocalVec_Private(A, &a->back));
  PetscCall(VecSet(a->back, 0.0));
  PetscCall(MatGridStencilGetRead_Private(A, x, &xa));
  PetscCall(MatGridStencilGetWrite_Private(A, a->back, PETSC_TRUE, &ba));
  PetscCall(MatGridStencilBegin_Private(a));
  PetscCall((*a->k->multtranspose)(&a->s, conjugate, xa, ba + a->gfirst * a->s.dof, a->gj, a->gk));
  PetscCall(MatGridStencilEnd_Private(a, (PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * a->s.count * a->s.dof * A->rmap->n));
  PetscCall(MatGridStencilRestoreWrite_Private(A, a->back, PETSC_TRUE, &ba));
  PetscCall(MatGridStencilRestoreRead_Private(A, x, &xa));
  PetscCall(DMLocalToGlobalBegin(a->da, a->back, ADD_VALUES, y));
  PetscCall(DMLocalToGlobalEnd(a->da, a->back, ADD_VALUES, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMult_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGridStencilMult_Private(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultAdd_GridStencil(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGridStencilMult_Private(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTranspose_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultTransposeAdd_GridStencil(Mat A, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (y != z) PetscCall(VecCopy(z, y));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatMultHermitianTranspose_GridStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatGridStencilMultTranspose_Private(A, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A row of block entries: columns, global, of the dof unknowns of each neighbour, -1 where there is none. Mirrors and
  short periods make two of them the same. number: the point, i fastest; p: its numbers
*/
static void MatGridStencilNeighbours_Private(const Mat_GridStencil *a, const PetscInt global[], const PetscInt p[3],
                                             PetscInt column[])
{
  const SpikeStencil *S = &a->s;

  for (PetscInt s = 0; s < S->count; s++) {
    PetscCount at     = a->gfirst;
    PetscBool  exists = PETSC_TRUE;

    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt q = p[d] + S->offset[3 * s + d];

      if (q < S->lo[d] || q >= S->hi[d]) exists = PETSC_FALSE;
      at += (PetscCount)q * (d ? (d == 1 ? a->gj : a->gk) : 1);
    }
    column[s] = exists ? global[at * S->dof] : -1;
  }
}

/*
  Whether a point is in its own stencil by the offset 0 alone, and the number of that, count where it is not there: no
  mirror shows it, and no period is as short as an offset
*/
static PetscErrorCode MatGridStencilCenter_Private(Mat A, PetscInt *center, PetscBool *only)
{
  const Mat_GridStencil *a = (const Mat_GridStencil *)A->data;
  DMBoundaryType         b[3];
  PetscInt               grid[3], dim;

  PetscFunctionBegin;
  PetscCall(
    DMDAGetInfo(a->da, &dim, &grid[0], &grid[1], &grid[2], NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  *center = a->s.count;
  *only   = PETSC_TRUE;
  for (PetscInt s = 0; s < a->s.count; s++) {
    const PetscInt *o = a->offset + 3 * s;

    if (!o[0] && !o[1] && !o[2]) *center = s;
    for (PetscInt d = 0; d < dim; d++)
      if (b[d] == DM_BOUNDARY_MIRROR || (b[d] == DM_BOUNDARY_PERIODIC && PetscAbsInt(o[d]) >= grid[d]))
        *only = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetDiagonal_GridStencil(Mat A, Vec v)
{
  Mat_GridStencil       *a = (Mat_GridStencil *)A->data;
  const SpikeStencil    *S = &a->s;
  ISLocalToGlobalMapping map;
  const PetscInt        *global;
  PetscScalar           *d;
  PetscInt               p[3], column[SPIKE_STENCIL_MOST], center = 0, n = 0;
  PetscBool              only = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGridStencilCenter_Private(A, &center, &only));
  if (only) {
    if (center == S->count) PetscCall(VecSet(v, 0.0));
    else {
      PetscCall(MatGridStencilReady_Private(A));
      PetscCall(MatGridStencilGetWrite_Private(A, v, PETSC_FALSE, &d));
      PetscCall(MatGridStencilBegin_Private(a));
      PetscCall((*a->k->diagonal)(S, center, d));
      PetscCall(MatGridStencilEnd_Private(a, 0.0));
      PetscCall(MatGridStencilRestoreWrite_Private(A, v, PETSC_FALSE, &d));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMGetLocalToGlobalMapping(a->da, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &global));
  PetscCall(VecGetArrayWrite(v, &d));
  PetscCall(PetscArrayzero(d, A->rmap->n));
  for (p[2] = 0; p[2] < S->size[2]; p[2]++)
    for (p[1] = 0; p[1] < S->size[1]; p[1]++)
      for (p[0] = 0; p[0] < S->size[0]; p[0]++, n++) {
        MatGridStencilNeighbours_Private(a, global, p, column);
        for (PetscInt s = 0; s < S->count; s++)
          if (column[s] == A->rmap->rstart + n * S->dof)
            for (PetscInt c = 0; c < S->dof; c++)
              d[n * S->dof + c] += S->coef[SpikeStencilCoef(S, s, c, c, n / S->size[0]) +
                                           (PetscCount)p[0] * SpikeStencilStep(S)];
      }
  PetscCall(VecRestoreArrayWrite(v, &d));
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatScale_GridStencil(Mat A, PetscScalar f)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  for (PetscCount k = 0; k < a->ncoef; k++) a->coef[k] *= f;
  PetscCall(MatGridStencilChanged_Private(A));
  PetscCall(PetscLogFlops((PetscReal)a->ncoef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGridStencilFill_Private(Mat A, Mat B)
{
  Mat_GridStencil       *a = (Mat_GridStencil *)A->data;
  const SpikeStencil    *S = &a->s;
  ISLocalToGlobalMapping map;
  const PetscInt        *global;
  PetscInt               p[3], column[SPIKE_STENCIL_MOST], n = 0;

  PetscFunctionBegin;
  PetscCall(DMGetLocalToGlobalMapping(a->da, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &global));
  for (p[2] = 0; p[2] < S->size[2]; p[2]++)
    for (p[1] = 0; p[1] < S->size[1]; p[1]++)
      for (p[0] = 0; p[0] < S->size[0]; p[0]++, n++) {
        MatGridStencilNeighbours_Private(a, global, p, column);
        for (PetscInt s = 0; s < S->count; s++)
          for (PetscInt c = 0; column[s] >= 0 && c < S->dof; c++)
            for (PetscInt e = 0; e < S->dof; e++)
              PetscCall(MatSetValue(B, A->rmap->rstart + n * S->dof + c, column[s] + e,
                                    S->coef[SpikeStencilCoef(S, s, c, e, n / S->size[0]) +
                                            (PetscCount)p[0] * SpikeStencilStep(S)],
                                    ADD_VALUES));
      }
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix that MatSetValuesStencil() would assemble */
PetscErrorCode MatConvert_GridStencil_AIJ(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    C = *B;
    PetscCall(MatZeroEntries(C));
  } else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
    PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(C, A, A));
    PetscCall(MatSetType(C, newtype));
    PetscCall(MatSetUp(C));
    PetscCall(MatSetOption(C, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  }
  PetscCall(MatGridStencilFill_Private(A, C));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_GridStencil(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatConvert_GridStencil_AIJ(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatConvert(C, newtype, MAT_INPLACE_MATRIX, &C));
    PetscCall(MatHeaderReplace(A, &C));
  } else {
    PetscCall(MatConvert(C, newtype, reuse, B));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatNorm_GridStencil(Mat A, NormType type, PetscReal *norm)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatConvert_GridStencil_AIJ(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(B, type, norm));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stencil; entries are viewed as those of MATAIJ */
PetscErrorCode MatView_GridStencil(Mat A, PetscViewer viewer)
{
  Mat_GridStencil  *a = (Mat_GridStencil *)A->data;
  PetscBool         isascii;
  PetscViewerFormat format = PETSC_VIEWER_DEFAULT;
  Mat               B;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii) PetscCall(PetscViewerGetFormat(viewer, &format));
  if (isascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL ||
                  format == PETSC_VIEWER_ASCII_FACTOR_INFO || !A->assembled)) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " points, %" PetscInt_FMT " unknowns each, %s\n",
                                     a->s.count, a->s.dof,
                                     !a->coef
                                       ? "no coefficients"
                                       : (a->s.constant ? "constant coefficients" : "coefficients for each point")));
    PetscCall(MatHaloView_Private(&a->halo, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert_GridStencil_AIJ(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(PetscObjectSetName((PetscObject)B, ((PetscObject)A)->name));
  PetscUseTypeMethod(B, view, viewer); /* the head has been printed */
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDuplicate_GridStencil(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data, *b;

  PetscFunctionBegin;
  PetscCall(MatGridStencilCreate_Private(a->da, a->s.count, a->stencil, ((PetscObject)A)->type_name, B));
  b        = (Mat_GridStencil *)(*B)->data;
  b->usedm = a->usedm;

  b->halo.pernode = a->halo.pernode;
  if (a->coef) {
    b->ncoef      = a->ncoef;
    b->s.constant = a->s.constant;
    PetscCall(PetscCalloc1(b->ncoef, &b->coef));
    b->s.coef       = b->coef;
    (*B)->assembled = PETSC_TRUE;
    if (op == MAT_COPY_VALUES) PetscCall(PetscArraycpy(b->coef, a->coef, a->ncoef));
    PetscCall(MatGridStencilChanged_Private(*B));
  }
  if (MatIsBoundToCPU_Spike(A) && a->native != &SpikeStencilKernels_Host) PetscCall(MatBindToCPU(*B, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
