/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Random cases of MATGRIDSTENCIL: grids, boundaries, stencils, coefficients, products.\n\n";

#include "gridcase.h"
#include "fuzz.h"

/* A grid that the DMDA can split over the ranks, however it does */
static PetscErrorCode MakeGrid(Fuzz *f, GridCase *c)
{
  PetscInt    points = 1;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  c->dim    = FuzzInt(f, 1, 3);
  c->dof    = FuzzChance(f, 60) ? 1 : FuzzInt(f, 2, 4);
  c->width  = FuzzChance(f, 70) ? 1 : 2;
  c->type   = FuzzChance(f, 50) ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX;
  c->layers = FuzzChance(f, 40);
  c->seed   = FuzzInt(f, 0, 10000);
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt least = size > 1 ? c->width * size : 1,
                   most  = c->dim == 1 ? 120
                         : c->dim == 2 ? 24
                                       : 9,
                   end   = FuzzChance(f, 80) ? most : least + 2;

    c->size[d] = d < c->dim ? FuzzInt(f, least, PetscMax(least, end)) : 1;
    c->b[d]    = DM_BOUNDARY_NONE;
    if (d < c->dim && FuzzChance(f, 50)) {
      const PetscInt kind = FuzzInt(f, 0, 2);

      /* periods of fewer points than both sides reach, and mirrors in 3 dimensions or at corners, are not in PETSc */
      if (!kind && c->size[d] > 2 * c->width) c->b[d] = DM_BOUNDARY_PERIODIC;
      else if (kind == 1) c->b[d] = DM_BOUNDARY_GHOSTED;
      else if (c->dim == 1 || (c->dim == 2 && c->type == DMDA_STENCIL_STAR)) {
        if (c->size[d] > (c->width + 1) * size) c->b[d] = DM_BOUNDARY_MIRROR;
      }
    }
    c->size[d] = PetscMax(c->size[d], d < c->dim ? c->width : 1);
    points *= c->size[d];
  }
  while (c->dof > 1 && points * c->dof > 2000) c->dof--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets within the stencil of the grid, each once, in any order */
static PetscInt MakeOffsets(Fuzz *f, const GridCase *c, MatStencil o[])
{
  const PetscInt w = c->width, percent = FuzzInt(f, 10, 100);
  PetscInt       n = 0;

  for (PetscInt k = -w; k <= w; k++)
    for (PetscInt j = -w; j <= w; j++)
      for (PetscInt i = -w; i <= w; i++) {
        const PetscInt turns = (i != 0) + (j != 0) + (k != 0);

        if ((c->dim < 2 && j) || (c->dim < 3 && k) || (c->type == DMDA_STENCIL_STAR && turns > 1)) continue;
        if (n >= 60 || !FuzzChance(f, percent)) continue;
        o[n].i   = i;
        o[n].j   = j;
        o[n].k   = k;
        o[n++].c = 0;
      }
  if (!n) {
    PetscCallAbort(PETSC_COMM_SELF, PetscMemzero(o, sizeof(*o)));
    n = 1;
  }
  for (PetscInt k = n - 1; k > 0; k--) {
    const PetscInt   other = FuzzInt(f, 0, k);
    const MatStencil t     = o[k];

    o[k]     = o[other];
    o[other] = t;
  }
  return n;
}

/* What a product of A with random vectors gives against B, which PETSc has assembled, times s */
static PetscErrorCode CheckProduct(Fuzz *f, Mat A, Mat B, PetscScalar s, const char where[])
{
  const PetscInt op = FuzzInt(f, 0, 6), seed = FuzzInt(f, 0, 1000);
  const char    *names[] = {"MatMult",
                            "MatMultAdd",
                            "MatMultTranspose",
                            "MatMultTransposeAdd",
                            "hermitian transpose",
                            "MatMultAdd in place",
                            "MatGetDiagonal"};
  Vec            x, y, z, ref;
  PetscReal      diff, na, nx, nz;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &ref));
  PetscCall(SpikeTestSetRandom(x, seed));
  PetscCall(SpikeTestSetRandom(z, seed + 1));
  PetscCall(SpikeTestSetRandom(y, seed + 2));
  switch (op) {
  case 0:
    PetscCall(MatMult(A, x, y));
    PetscCall(MatMult(B, x, ref));
    break;
  case 1:
  case 5:
    if (op == 5) PetscCall(VecCopy(z, y));
    PetscCall(MatMultAdd(A, x, op == 5 ? y : z, y));
    PetscCall(MatMult(B, x, ref));
    break;
  case 2:
    PetscCall(MatMultTranspose(A, x, y));
    PetscCall(MatMultTranspose(B, x, ref));
    break;
  case 3:
    PetscCall(MatMultTransposeAdd(A, x, z, y));
    PetscCall(MatMultTranspose(B, x, ref));
    break;
  case 4:
    PetscCall(MatMultHermitianTranspose(A, x, y));
    PetscCall(MatMultHermitianTranspose(B, x, ref));
    break;
  default:
    PetscCall(MatGetDiagonal(A, y));
    PetscCall(MatGetDiagonal(B, ref));
  }
  PetscCall(VecScale(ref, op == 4 ? PetscConj(s) : s));
  if (op == 1 || op == 3 || op == 5) PetscCall(VecAXPY(ref, 1.0, z));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &na));
  PetscCall(VecNorm(x, NORM_INFINITY, &nx));
  PetscCall(VecNorm(z, NORM_INFINITY, &nz));
  PetscCall(VecAXPY(ref, -1.0, y));
  PetscCall(VecNorm(ref, NORM_INFINITY, &diff));
  PetscCall(FuzzSmall(diff, 500 * PETSC_MACHINE_EPSILON * (PetscAbsScalar(s) * na * nx + nz), names[op], where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of A against those of B, times s */
static PetscErrorCode CheckEntries(Mat A, Mat B, PetscScalar s, const char where[])
{
  PetscReal diff, norm[2];
  Mat       C;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatAXPY(C, -s, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &diff));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm[0]));
  PetscCall(FuzzSmall(diff, 100 * PETSC_MACHINE_EPSILON * PetscAbsScalar(s) * norm[0], "entries", where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[0]));
  PetscCall(MatNorm(B, NORM_INFINITY, &norm[1]));
  PetscCall(FuzzSmall(PetscAbsReal(norm[0] - PetscAbsScalar(s) * norm[1]),
                      100 * PETSC_MACHINE_EPSILON * PetscAbsScalar(s) * norm[1], "norm", where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetHalo(Mat A, const char halo[])
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", halo));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_gridstencil_halo"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const PetscInt changes  = FuzzInt(f, 0, 6);
  PetscBool      constant = FuzzChance(f, 60), stencil = PETSC_TRUE;
  PetscScalar    s = 1.0;
  GridCase       c;
  MatStencil     o[64];
  PetscInt       n;
  DM             da;
  Mat            A, B, C;
  char           where[192];

  PetscFunctionBegin;
  PetscCall(MakeGrid(f, &c));
  n = MakeOffsets(f, &c, o);
  PetscCall(GridCreate(&c, &da));
  PetscCall(MatCreateGridStencil(da, n, o, &A));
  if (FuzzChance(f, 30)) PetscCall(SetHalo(A, "dm"));
  PetscCall(GridSetCoefficients(&c, da, n, constant, A));
  PetscCall(GridAssemble(&c, da, n, o, constant, &B));
  for (PetscInt k = 0; k <= changes; k++) {
    const PetscInt op = k ? FuzzInt(f, 0, stencil ? 5 : 1) : -1;

    switch (op) {
    case 0:
      PetscCall(MatScale(A, -0.5));
      s *= -0.5;
      break;
    case 1:
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
      PetscCall(MatDestroy(&A));
      A = C;
      break;
    case 2: /* other coefficients */
    case 3:
      if (op == 3) constant = (PetscBool)!constant;
      c.seed++;
      s = 1.0;
      PetscCall(GridSetCoefficients(&c, da, n, constant, A));
      PetscCall(MatDestroy(&B));
      PetscCall(GridAssemble(&c, da, n, o, constant, &B));
      break;
    case 4:
      PetscCall(SetHalo(A, FuzzChance(f, 50) ? "dm" : "own"));
      break;
    case 5:
      PetscCall(MatConvert(A, f->device ? "diacuda" : MATDIA, MAT_INPLACE_MATRIX, &A));
      stencil = PETSC_FALSE;
    }
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%" PetscInt_FMT "D, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                            ", %s %s %s, dof %" PetscInt_FMT ", %" PetscInt_FMT " points of width %" PetscInt_FMT
                            "%s, change %" PetscInt_FMT ": %" PetscInt_FMT,
                            c.dim, c.size[0], c.size[1], c.size[2], DMBoundaryTypes[c.b[0]], DMBoundaryTypes[c.b[1]],
                            DMBoundaryTypes[c.b[2]], c.dof, n, c.width, constant ? ", constant" : "", k, op));
    for (PetscInt p = 0; p < 3; p++) PetscCall(CheckProduct(f, A, B, s, where));
    if (FuzzChance(f, 30)) PetscCall(CheckEntries(A, B, s, where));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool device = PETSC_FALSE, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fuzz_device", &device, NULL));
  if (device) PetscCall(PetscOptionsSetValue(NULL, "-dm_vec_type", "cuda"));
  /* MATDIA refuses small grids that many ranks cut into many diagonals */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_dia_max_fill", &set));
  if (!set) PetscCall(PetscOptionsSetValue(NULL, "-mat_dia_max_fill", "1e6"));
  PetscCall(FuzzRun("fuzz_gridstencil", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_gridstencil_1.out
      test:
         suffix: 1
         args: -n 100
      test:
         suffix: ranks
         nsize: {{2 3 4 5}}
         args: -n 30 -first 100
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 100 -fuzz_device
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -n 20 -first 200 -fuzz_device

TEST*/
