/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilcoef.c: the coefficients of MATGRIDSTENCIL */
#include "gridstencilimpl.h"

PetscErrorCode MatGridStencilIs_Private(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, is, MATGRIDSTENCIL, MATGRIDSTENCILCUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers for the coefficients; the symmetry that is known of the matrix was that of those before */
static PetscErrorCode MatGridStencilReserve_Private(Mat A, PetscBool constant)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  PetscScalar     *coef;
  PetscCount       ncoef;
  PetscBool        is;

  PetscFunctionBegin;
  PetscCall(MatGridStencilIs_Private(A, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix is not a MATGRIDSTENCIL");
  PetscCheck(a->da, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "A MATGRIDSTENCIL is made by MatCreateGridStencil(), from a DMDA and the points of the stencil");
  ncoef = (PetscCount)a->s.count * a->s.dof * (constant ? a->s.dof : A->rmap->n);
  PetscCall(PetscMalloc1(ncoef, &coef)); /* where there is no memory, the coefficients before stay */
  PetscCall(PetscFree(a->coef));
  a->coef       = coef;
  a->ncoef      = ncoef;
  a->s.coef     = a->coef;
  a->s.constant = constant;
  A->assembled  = PETSC_TRUE;
  A->symmetric = A->hermitian = A->spd = PETSC_BOOL3_UNKNOWN;
  PetscCall(MatGridStencilChanged_Private(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether constant coefficients make A^T = A, or A^H = A: the block of each offset is that of the opposite one,
  transposed; mirrors break it
*/
static PetscErrorCode MatGridStencilSymmetric_Private(Mat A, PetscBool conjugate, PetscBool *symmetric)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  SpikeStencil    *S = &a->s;
  DMBoundaryType   b[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(a->da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  *symmetric = (PetscBool)(b[0] != DM_BOUNDARY_MIRROR && b[1] != DM_BOUNDARY_MIRROR && b[2] != DM_BOUNDARY_MIRROR);
  for (PetscInt s = 0; *symmetric && s < S->count; s++) {
    PetscInt t = 0;

    while (t < S->count && (S->offset[3 * t] != -S->offset[3 * s] || S->offset[3 * t + 1] != -S->offset[3 * s + 1] ||
                            S->offset[3 * t + 2] != -S->offset[3 * s + 2]))
      t++;
    *symmetric = (PetscBool)(t < S->count);
    for (PetscInt c = 0; *symmetric && c < S->dof; c++)
      for (PetscInt e = 0; *symmetric && e < S->dof; e++) {
        const PetscScalar v = S->coef[SpikeStencilCoef(S, t, e, c, 0)];

        *symmetric = (PetscBool)(S->coef[SpikeStencilCoef(S, s, c, e, 0)] == (conjugate ? PetscConj(v) : v));
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatGridStencilSetCoefficients - Sets coefficients of a `MATGRIDSTENCIL` that are the same for all points

  Logically Collective

  Input Parameters:
+ A      - the matrix
- values - for each point of the stencil, in the order of `MatCreateGridStencil()`, a block of `dof` x `dof` values by
           rows: from the unknowns of the neighbour to those of the point

  Level: beginner

  Note:
  Whether the matrix is symmetric, or Hermitian, follows from the values, and the matrix then says so
  (`MatIsSymmetricKnown()`). Mirrored boundaries are taken for unsymmetric.

.seealso: [](ch_matrices), `MATGRIDSTENCIL`, `MatCreateGridStencil()`, `MatGridStencilSetCoefficientVecs()`
@*/
PetscErrorCode MatGridStencilSetCoefficients(Mat A, const PetscScalar values[])
{
  Mat_GridStencil *a;
  PetscBool        symmetric = PETSC_FALSE, hermitian = PETSC_FALSE;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(values, 2);
  PetscCall(MatGridStencilReserve_Private(A, PETSC_TRUE));
  a = (Mat_GridStencil *)A->data;
  PetscCall(PetscArraycpy(a->coef, values, a->ncoef));
  PetscCall(MatGridStencilSymmetric_Private(A, PETSC_FALSE, &symmetric));
  PetscCall(MatGridStencilSymmetric_Private(A, PETSC_TRUE, &hermitian));
  if (symmetric) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  if (hermitian) PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatGridStencilSetCoefficientVecs - Sets coefficients of a `MATGRIDSTENCIL` that differ from point to point

  Collective

  Input Parameters:
+ A    - the matrix
- vecs - vectors of the `DMDA`, as of `DMCreateGlobalVector()`: for each point s of the stencil, in the order of
         `MatCreateGridStencil()`, `dof` of them; unknown c of vector s dof + e is the coefficient from unknown e of the
         neighbour to
         unknown c of the point

  Level: beginner

  Note:
  The values are copied. Call it again for new ones.

.seealso: [](ch_matrices), `MATGRIDSTENCIL`, `MatCreateGridStencil()`, `MatGridStencilSetCoefficients()`
@*/
PetscErrorCode MatGridStencilSetCoefficientVecs(Mat A, const Vec vecs[])
{
  Mat_GridStencil   *a;
  const PetscScalar *v;
  PetscInt           n, lines, length;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(vecs, 2);
  PetscCall(MatGridStencilReserve_Private(A, PETSC_FALSE));
  a      = (Mat_GridStencil *)A->data;
  lines  = a->s.size[1] * a->s.size[2];
  length = a->s.size[0] * a->s.dof;
  for (PetscInt k = 0; k < a->s.count * a->s.dof; k++) {
    PetscValidHeaderSpecific(vecs[k], VEC_CLASSID, 2);
    PetscCall(VecGetLocalSize(vecs[k], &n));
    PetscCheck(n == A->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Vector %" PetscInt_FMT " of coefficients has %" PetscInt_FMT
               " numbers on this rank, and those of the DMDA have %" PetscInt_FMT,
               k, n, A->rmap->n);
    PetscCall(VecGetArrayRead(vecs[k], &v));
    for (PetscInt l = 0; l < lines; l++)
      PetscCall(PetscArraycpy(a->coef + SpikeStencilCoef(&a->s, k / a->s.dof, 0, k % a->s.dof, l),
                              v + (PetscCount)l * length, length));
    PetscCall(VecRestoreArrayRead(vecs[k], &v));
  }
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
