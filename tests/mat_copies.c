/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "What -log_view counts as copies in products of MATDIACUDA and MATGRIDSTENCILCUDA: each vector on the "
           "host once, and nothing else.\n\
  -dia_type diacuda -dm_vec_type cuda: on a device; without them nothing may be copied\n\n";

#include "gridcase.h"

/* Bytes to the device and from it so far, by PETSc's log */
static void Counted(PetscLogDouble bytes[2])
{
  bytes[0] = bytes[1] = 0.0;
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  bytes[0] = petsc_ctog_sz;
  bytes[1] = petsc_gtoc_sz;
#endif
}

/* y <- A x, or y <- z + A x */
static PetscErrorCode Product(Mat A, PetscInt op, Vec x, Vec z, Vec y)
{
  PetscFunctionBegin;
  if (op == 0) PetscCall(MatMult(A, x, y));
  else PetscCall(MatMultAdd(A, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMat(Mat A, const char name[])
{
  PetscLogDouble before[2], after[2];
  MatType        type;
  PetscBool      device;
  PetscReal      diff, norm;
  PetscInt       n;
  Vec            x[2], y[2], z[2], ref;
  char           where[96];

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  device = (PetscBool)(strstr(type, "cuda") != NULL);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x[0], &y[0]));
  PetscCall(VecDuplicate(x[0], &z[0]));
  PetscCall(VecDuplicate(x[0], &ref));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &x[1]));
  PetscCall(VecDuplicate(x[1], &y[1]));
  PetscCall(VecDuplicate(x[1], &z[1]));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(SpikeTestSetRandom(x[i], 3));
    PetscCall(SpikeTestSetRandom(z[i], 4));
  }
  for (PetscInt op = 0; op < 2; op++) {
    PetscCall(Product(A, op, x[0], z[0], ref)); /* what is made once is made; vectors are where they belong */
    PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
    for (PetscInt k = 0; k < (op ? 8 : 4); k++) {
      const PetscLogDouble vector = device ? (PetscLogDouble)n * sizeof(PetscScalar) : 0.0;
      const Vec            v = x[k & 1], w = y[k >> 1 & 1], u = z[k >> 2];

      for (PetscInt pass = 0; pass < 2; pass++) { /* each product copies anew */
        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, product %" PetscInt_FMT ", x y z on the host %d%d%d", name,
                                op, (int)(k & 1), (int)(k >> 1 & 1), (int)(k >> 2)));
        Counted(before);
        PetscCall(Product(A, op, v, u, w));
        Counted(after);
        PetscCall(SpikeTestCheck((PetscBool)(after[0] - before[0] == vector * ((k & 1) + (k >> 2))),
                                 "%s: %g bytes to the device", where, after[0] - before[0]));
        PetscCall(SpikeTestCheck((PetscBool)(after[1] - before[1] == vector * (k >> 1 & 1)),
                                 "%s: %g bytes from the device", where, after[1] - before[1]));
      }
      PetscCall(VecCopy(w, z[0])); /* a place for the difference */
      PetscCall(VecAXPY(z[0], -1.0, ref));
      PetscCall(VecNorm(z[0], NORM_INFINITY, &diff));
      PetscCall(SpikeTestSmall(diff, 10 * PETSC_MACHINE_EPSILON * norm, "distance from vectors of the matrix", where));
      PetscCall(VecCopy(z[1], z[0]));
      PetscCall(Product(A, op, x[0], z[0], y[0]));
    }
  }
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
    PetscCall(VecDestroy(&z[i]));
  }
  PetscCall(VecDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const SpikeTestBand band = {997, 3, 2, 1.5, SPIKE_TEST_RANDOM, 5};
  const GridCase      grid =
    {2, {33, 17, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR,
     5, PETSC_FALSE, 3};
  MatStencil points[32];
  PetscInt   npoints;
  Mat        A;
  DM         da;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(SpikeTestBandMat(PETSC_COMM_SELF, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatConvert(A, SpikeTestDiaType(), MAT_INPLACE_MATRIX, &A));
  PetscCall(TestMat(A, "diagonals"));
  PetscCall(MatDestroy(&A));
  PetscCall(GridCreate(&grid, &da));
  npoints = GridOffsets(&grid, points);
  for (PetscInt constant = 0; constant < 2; constant++) {
    PetscCall(MatCreateGridStencil(da, npoints, points, &A));
    PetscCall(GridSetCoefficients(&grid, da, npoints, (PetscBool)constant, A));
    PetscCall(TestMat(A, constant ? "stencil" : "stencil, coefficients of points"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(DMDestroy(&da));
  PetscCall(SpikeTestEnd("mat_copies"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/mat_copies_1.out
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -dia_type diacuda -dm_vec_type cuda

TEST*/
