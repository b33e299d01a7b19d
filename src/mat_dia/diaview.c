/* SPDX-License-Identifier: BSD-2-Clause */
/* diaview.c: MATDIA in viewers, from files, and what is counted and measured of it */
#include "diaimpl.h"

/* Numbers of diagonals and of places; entries are viewed as those of MATAIJ, so that files are the same */
PetscErrorCode MatView_DIA(Mat A, PetscViewer viewer)
{
  Mat_DIA          *a = (Mat_DIA *)A->data;
  PetscBool         isascii;
  PetscViewerFormat format;
  Mat               aij;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii) {
    PetscCall(PetscViewerGetFormat(viewer, &format));
    if (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL ||
        format == PETSC_VIEWER_ASCII_FACTOR_INFO) {
      PetscInt  local[2] = {a->dia.count, -a->dia.count}, global[2];
      PetscReal bytes    = (PetscReal)a->dia.places * sizeof(PetscScalar);

      PetscCallMPI(MPIU_Allreduce(local, global, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
      if (global[0] == -global[1])
        PetscCall(PetscViewerASCIIPrintf(viewer, "diagonals: %" PetscInt_FMT ", %g bytes of values\n", global[0],
                                         (double)bytes));
      else
        PetscCall(PetscViewerASCIIPrintf(viewer,
                                         "diagonals: %" PetscInt_FMT " to %" PetscInt_FMT
                                         " on a rank, %g bytes of values\n",
                                         -global[1], global[0], (double)bytes));
      PetscCall(PetscViewerASCIIPrintf(viewer, "schedule: %s\n", MatDIAScheduleTypes[a->schedule]));
      PetscCall(MatHaloView_Private(&a->halo, viewer));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &aij));
  PetscCall(PetscObjectSetName((PetscObject)aij, ((PetscObject)A)->name));
  PetscUseTypeMethod(aij, view, viewer); /* the head has been printed */
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatLoad_DIA(Mat A, PetscViewer viewer)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &aij));
  PetscCall(MatSetOptionsPrefix(aij, ((PetscObject)A)->prefix));
  PetscCall(PetscObjectSetName((PetscObject)aij, ((PetscObject)A)->name));
  PetscCall(MatSetSizes(aij, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(aij, ((Mat_DIA *)A->data)->seq ? MATSEQAIJ : MATMPIAIJ));
  PetscCall(MatLoad(aij, viewer));
  if (A->rmap->N < 0 || A->rmap->n < 0 || A->cmap->N < 0 || A->cmap->n < 0) {
    PetscCall(MatSetSizes(A, aij->rmap->n, aij->cmap->n, aij->rmap->N, aij->cmap->N));
  }
  PetscCall(MatSetBlockSizesFromMats(A, aij, aij));
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatDIAFromAIJ_Private(A, aij));
  A->preallocated = A->assembled = PETSC_TRUE;
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetInfo_DIA(Mat A, MatInfoType type, MatInfo *info)
{
  Mat_DIA       *a        = (Mat_DIA *)A->data;
  PetscLogDouble local[3] = {(PetscLogDouble)a->nz, (PetscLogDouble)a->dia.count * A->rmap->n,
                             (PetscLogDouble)a->dia.places * sizeof(PetscScalar)},
                 global[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (type == MAT_LOCAL) PetscCall(PetscArraycpy(global, local, 3));
  else
    PetscCallMPI(MPIU_Allreduce(local, global, 3, MPIU_PETSCLOGDOUBLE, type == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM,
                                PetscObjectComm((PetscObject)A)));
  info->block_size   = PetscAbsInt(A->rmap->bs);
  info->nz_used      = global[0];
  info->nz_allocated = global[1];
  info->nz_unneeded  = global[1] - global[0];
  info->memory       = global[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
