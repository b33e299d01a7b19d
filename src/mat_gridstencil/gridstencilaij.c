/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilaij.c: the entries of MATGRIDSTENCIL: its diagonal, and what it is as AIJ */
#include "gridstencilimpl.h"
#include "common/matconvert.h"

/*
  A row of block entries: columns, global, of the dof unknowns of each neighbour, -1 where there is none. Mirrors and
  short periods make two of them the same. number: the point, i fastest; p: its indices
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
  SpikeArray             there;
  PetscInt               p[3], column[SPIKE_STENCIL_MOST], center = 0, n = 0;
  PetscBool              only = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatGridStencilCenter_Private(A, &center, &only));
  if (only) {
    if (center == S->count) PetscCall(VecSet(v, 0.0));
    else {
      PetscCall(MatGridStencilReady_Private(A));
      PetscCall(SpikeArrayGet(v, a->k->memtype, SPIKE_WRITE, &there));
      PetscCall(MatGridStencilBegin_Private(a));
      PetscCall((*a->k->diagonal)(S, center, there.a));
      PetscCall(MatGridStencilEnd_Private(a, 0.0));
      PetscCall(SpikeArrayRestore(&there));
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
                                           (PetscCount)p[0] * SpikeStencilStride(S)];
      }
  PetscCall(VecRestoreArrayWrite(v, &d));
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
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
                                            (PetscCount)p[0] * SpikeStencilStride(S)],
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
  PetscCall(SpikeMatConvertBy(A, C, newtype, reuse, B));
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
