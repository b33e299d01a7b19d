/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencil.c: MATGRIDSTENCIL: creation on a DMDA, coefficients */
#include "gridstencilimpl.h"

static PetscErrorCode MatDestroy_GridStencil(Mat A)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(MatGridStencilUse_Private(A, NULL));
  PetscCall(PetscFree(a->coef));
  PetscCall(PetscFree(a->offset));
  PetscCall(PetscFree(a->stencil));
  PetscCall(DMDestroy(&a->da));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_aij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_seqaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_mpiaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_gridstencilcuda_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_gridstencil_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_gridstencil_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_gridstencilcuda_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_aij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_seqaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_mpiaij_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "PetscSpikeGetEnqueue_C", NULL));
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
  the same pass, but where it needs points of others or of its own other end by the `DMDA`.

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

  A->ops->mult                   = MatMult_GridStencil;
  A->ops->multadd                = MatMultAdd_GridStencil;
  A->ops->multtranspose          = MatMultTranspose_GridStencil;
  A->ops->multtransposeadd       = MatMultTransposeAdd_GridStencil;
  A->ops->multhermitiantranspose = MatMultHermitianTranspose_GridStencil;
  A->ops->getdiagonal            = MatGetDiagonal_GridStencil;
  A->ops->scale                  = MatScale_GridStencil;
  A->ops->norm                   = MatNorm_GridStencil;
  A->ops->setup                  = MatSetUp_GridStencil;
  A->ops->setfromoptions         = MatSetFromOptions_GridStencil;
  A->ops->duplicate              = MatDuplicate_GridStencil;
  A->ops->destroy                = MatDestroy_GridStencil;
  A->ops->view                   = MatView_GridStencil;
  A->ops->convert                = MatConvert_GridStencil;
  A->ops->bindtocpu              = MatBindToCPU_GridStencil;
  A->assembled                   = PETSC_FALSE;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_aij_C", MatConvert_GridStencil_AIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_seqaij_C", MatConvert_GridStencil_AIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_mpiaij_C", MatConvert_GridStencil_AIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_gridstencilcuda_C",
                                       MatConvert_GridStencil_GridStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_gridstencil_C",
                                       MatConvert_GridStencil_GridStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencil_gridstencil_C",
                                       MatConvert_GridStencil_GridStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_gridstencilcuda_C",
                                       MatConvert_GridStencil_GridStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_aij_C", MatConvert_GridStencil_AIJ));
  PetscCall(
    PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_seqaij_C", MatConvert_GridStencil_AIJ));
  PetscCall(
    PetscObjectComposeFunction((PetscObject)A, "MatConvert_gridstencilcuda_mpiaij_C", MatConvert_GridStencil_AIJ));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "PetscSpikeGetEnqueue_C", PetscSpikeGetEnqueue_GridStencil));
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATGRIDSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

PetscErrorCode MatGridStencilCreate_Private(DM da, PetscInt n, const MatStencil offsets[], MatType type, Mat *A)
{
  Mat_GridStencil *a;
  PetscInt         nlocal, N, dof;
  Vec              x;

  PetscFunctionBegin;
  PetscCall(DMSetUp(da));
  PetscCall(MatGridStencilCheck_Private(da, n, offsets));
  PetscCall(DMGetGlobalVector(da, &x));
  PetscCall(VecGetLocalSize(x, &nlocal));
  PetscCall(VecGetSize(x, &N));
  PetscCall(DMRestoreGlobalVector(da, &x));
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)da), A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, N, N));
  PetscCall(MatSetBlockSize(*A, dof));
  PetscCall(MatSetType(*A, type));
  a = (Mat_GridStencil *)(*A)->data;
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
  PetscCall(MatSetUp(*A));
  PetscCall(MatGridStencilSetBoxes_Private(*A));
  PetscCall(MatSetDM(*A, da));
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
  MatType   type;

  PetscFunctionBegin;
  PetscCall(MatDIACite_Private());
  PetscValidHeader(da, 1);
  PetscAssertPointer(offsets, 3);
  PetscAssertPointer(A, 4);
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_WRONG, "A grid stencil needs a DM of type DMDA");
  PetscCall(MatGridStencilGetType_Private(da, &type));
  PetscCall(MatGridStencilCreate_Private(da, n, offsets, type, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscBool        is;

  PetscFunctionBegin;
  PetscCall(MatGridStencilIs_Private(A, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "The matrix is not a MATGRIDSTENCIL");
  PetscCheck(a->da, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "A MATGRIDSTENCIL is made by MatCreateGridStencil(), from a DMDA and the points of the stencil");
  PetscCall(PetscFree(a->coef));
  a->ncoef = (PetscCount)a->s.count * a->s.dof * (constant ? a->s.dof : A->rmap->n);
  PetscCall(PetscMalloc1(a->ncoef, &a->coef));
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
- values - for each point of the stencil, in the order of `MatCreateGridStencil()`, a block of `dof` x `dof` numbers by
           rows: from the unknowns of the neighbour to those of the point

  Level: beginner

  Note:
  Whether the matrix is symmetric, or Hermitian, follows from the numbers, and the matrix then says so
  (`MatIsSymmetricKnown()`). Mirrored boundaries are taken for unsymmetric.

.seealso: [](ch_matrices), `MATGRIDSTENCIL`, `MatCreateGridStencil()`, `MatGridStencilSetCoefficientVecs()`
@*/
PetscErrorCode MatGridStencilSetCoefficients(Mat A, const PetscScalar values[])
{
  Mat_GridStencil *a;
  PetscBool        symmetric, hermitian;

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
  The numbers are copied. Call it again for new ones.

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
