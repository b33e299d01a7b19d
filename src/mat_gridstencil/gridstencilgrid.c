/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilgrid.c: MATGRIDSTENCIL from the grid of a DMDA, and copies of one */
#include "gridstencilimpl.h"

/*
  What the DMDA is asked for must be there: as many points around a box as the stencil reaches, corners too where it
  turns
*/
static PetscErrorCode MatGridStencilCheck_Private(DM da, PetscInt n, const MatStencil offsets[])
{
  MPI_Comm        comm = PetscObjectComm((PetscObject)da);
  PetscInt        dim, width;
  DMBoundaryType  b[3];
  DMDAStencilType type;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &width, &b[0], &b[1], &b[2], &type));
  PetscCheck(n >= 1 && n <= SPIKE_STENCIL_MOST, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "A stencil has 1 to %d points, and %" PetscInt_FMT " were given", SPIKE_STENCIL_MOST, n);
  for (PetscInt d = 0; d < dim; d++)
    PetscCheck(b[d] != DM_BOUNDARY_TWIST, comm, PETSC_ERR_SUP, "MATGRIDSTENCIL has no twisted boundaries");
  for (PetscInt s = 0; s < n; s++) {
    const PetscInt o[]   = {offsets[s].i, offsets[s].j, offsets[s].k};
    PetscInt       turns = 0;

    for (PetscInt d = 0; d < 3; d++) {
      PetscCheck(d < dim || !o[d], comm, PETSC_ERR_ARG_OUTOFRANGE,
                 "Point %" PetscInt_FMT " of the stencil is in dimension %" PetscInt_FMT
                 ", and the DMDA has %" PetscInt_FMT ": set the other members of MatStencil to 0",
                 s, d + 1, dim);
      PetscCheck(PetscAbsInt(o[d]) <= width, comm, PETSC_ERR_ARG_OUTOFRANGE,
                 "Point %" PetscInt_FMT " of the stencil is %" PetscInt_FMT
                 " away, and the stencil width of the DMDA is %" PetscInt_FMT ": create it with a larger one",
                 s, PetscAbsInt(o[d]), width);
      if (o[d]) turns++;
    }
    PetscCheck(turns <= 1 || type == DMDA_STENCIL_BOX, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "Point %" PetscInt_FMT " of the stencil is across a corner: create the DMDA with DMDA_STENCIL_BOX", s);
    for (PetscInt t = 0; t < s; t++)
      PetscCheck(offsets[t].i != o[0] || offsets[t].j != o[1] || offsets[t].k != o[2], comm, PETSC_ERR_ARG_OUTOFRANGE,
                 "Points %" PetscInt_FMT " and %" PetscInt_FMT " of the stencil are the same", t, s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes and strides of this rank */
static PetscErrorCode MatGridStencilSetBoxes_Private(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;
  SpikeStencil    *S = &a->s;
  DMBoundaryType   b[3];
  PetscInt         dim, grid[3], own[3], first[3], size[3];
  PetscBool        ghosts = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(
    DMDAGetInfo(a->da, &dim, &grid[0], &grid[1], &grid[2], NULL, NULL, NULL, &S->dof, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCall(DMDAGetCorners(a->da, &own[0], &own[1], &own[2], &S->size[0], &S->size[1], &S->size[2]));
  PetscCall(DMDAGetGhostCorners(a->da, &first[0], &first[1], &first[2], &size[0], &size[1], &size[2]));
  for (PetscInt d = 0; d < 3; d++) {
    const PetscBool none = (PetscBool)(d >= dim || b[d] == DM_BOUNDARY_NONE);
    PetscInt        low = 0, high = 0;

    for (PetscInt s = 0; s < S->count; s++) {
      low  = PetscMin(low, a->offset[3 * s + d]);
      high = PetscMax(high, a->offset[3 * s + d]);
    }
    S->lo[d]     = none ? -own[d] : first[d] - own[d];
    S->hi[d]     = none ? grid[d] - own[d] : first[d] + size[d] - own[d];
    S->ibegin[d] = none && !own[d] ? 0 : PetscMin(-low, S->size[d]);
    S->iend[d]   = none && own[d] + S->size[d] == grid[d] ? S->size[d] : PetscMax(S->ibegin[d], S->size[d] - high);
    S->ibegin[d] = PetscMin(S->ibegin[d], S->iend[d]);
    if (S->ibegin[d] > 0 || S->iend[d] < S->size[d]) ghosts = PETSC_TRUE;
  }
  a->gj     = size[0];
  a->gk     = size[0] * size[1];
  a->gfirst = (own[0] - first[0]) + (PetscCount)(own[1] - first[1]) * a->gj + (PetscCount)(own[2] - first[2]) * a->gk;
  PetscCallMPI(MPIU_Allreduce(&ghosts, &a->ghosts, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGridStencilCreate_Private(DM da, PetscInt n, const MatStencil offsets[], MatType type,
                                                   Mat *newmat)
{
  Mat_GridStencil *a;
  PetscInt         nlocal, N, dof;
  Vec              x;
  Mat              A; /* the caller gets a whole one, or none */

  PetscFunctionBegin;
  PetscCall(DMSetUp(da));
  PetscCall(MatGridStencilCheck_Private(da, n, offsets));
  PetscCall(DMGetGlobalVector(da, &x));
  PetscCall(VecGetLocalSize(x, &nlocal));
  PetscCall(VecGetSize(x, &N));
  PetscCall(DMRestoreGlobalVector(da, &x));
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)da), &A));
  PetscCall(MatSetSizes(A, nlocal, nlocal, N, N));
  PetscCall(MatSetBlockSize(A, dof));
  PetscCall(MatSetType(A, type));
  a = (Mat_GridStencil *)A->data;
  PetscCall(PetscObjectReference((PetscObject)da));
  a->da = da;
  PetscCall(PetscMalloc1(3 * n, &a->offset));
  PetscCall(PetscMalloc1(n, &a->stencil));
  for (PetscInt s = 0; s < n; s++) {
    a->stencil[s]        = offsets[s];
    a->offset[3 * s]     = offsets[s].i;
    a->offset[3 * s + 1] = offsets[s].j;
    a->offset[3 * s + 2] = offsets[s].k;
  }
  a->s.count  = n;
  a->s.offset = a->offset;
  PetscCall(MatSetUp(A));
  PetscCall(MatGridStencilSetBoxes_Private(A));
  PetscCall(MatSetDM(A, da));
  *newmat = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the two a DMDA asks for */
static PetscErrorCode MatGridStencilGetType_Private(DM da, MatType *type)
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

/*@
  MatCreateGridStencil - Creates a `MATGRIDSTENCIL`, a stencil on the grid of a `DMDA`

  Collective

  Input Parameters:
+ da      - the grid, a `DMDA` of 1, 2 or 3 dimensions with one or more unknowns at each point
. n       - number of points of the stencil
- offsets - where they are, relative to a point: members `i`, `j` and `k`; those of dimensions that there are not are 0,
            `c` is not looked at

  Output Parameter:
. A - the matrix

  Options Database Key:
. -mat_type (gridstencil|gridstencilcuda) - where it is

  Level: beginner

  Notes:
  The `DMDA` must have a stencil width of at least the largest offset, and `DMDA_STENCIL_BOX` where an offset has more
  than one member that is not 0.

  It is a `MATGRIDSTENCILCUDA` where the `DMDA` says so, by `DMSetMatType()`, or by `DMSetVecType()` with `VECCUDA`, and
  where `-mat_type gridstencilcuda` does; `MatConvert()` goes from one type to the other.

  The matrix has the layout of the vectors of `DMCreateGlobalVector()`. It is of use after
  `MatGridStencilSetCoefficients()` or `MatGridStencilSetCoefficientVecs()`.

.seealso: [](ch_matrices), `MATGRIDSTENCIL`, `MATGRIDSTENCILCUDA`, `DMDA`, `MatGridStencilSetCoefficients()`,
`MatGridStencilSetCoefficientVecs()`, `MatGridStencilGetStencil()`
@*/
PetscErrorCode MatCreateGridStencil(DM da, PetscInt n, const MatStencil offsets[], Mat *A)
{
  PetscBool isda;
  MatType   type = NULL;

  PetscFunctionBegin;
  PetscCall(MatHaloCite_Private());
  PetscValidHeader(da, 1);
  PetscAssertPointer(offsets, 3);
  PetscAssertPointer(A, 4);
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_WRONG, "A grid stencil needs a DM of type DMDA");
  PetscCall(MatGridStencilGetType_Private(da, &type));
  PetscCall(MatGridStencilCreate_Private(da, n, offsets, type, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatGridStencilGetStencil - Gets the points of the stencil of a `MATGRIDSTENCIL`

  Not Collective

  Input Parameter:
. A - the matrix

  Output Parameters:
+ n       - number of points (may be `NULL`)
- offsets - where they are (may be `NULL`); it belongs to the matrix

  Level: intermediate

  Note:
  The grid is that of `MatGetDM()`.

.seealso: [](ch_matrices), `MATGRIDSTENCIL`, `MatCreateGridStencil()`
@*/
PetscErrorCode MatGridStencilGetStencil(Mat A, PetscInt *n, const MatStencil *offsets[])
{
  PetscBool is;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(MatGridStencilIs_Private(A, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix is not a MATGRIDSTENCIL");
  if (n) *n = ((Mat_GridStencil *)A->data)->s.count;
  if (offsets) *offsets = ((Mat_GridStencil *)A->data)->stencil;
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
  if (SpikeMatIsBoundToCPU(A) && a->native != &SpikeStencilKernels_Host) PetscCall(MatBindToCPU(*B, PETSC_TRUE));
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
