/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "MATGRIDSTENCIL against the matrix that MatSetValuesStencil() assembles.\n\n";

#include "gridcase.h"
#include "ksptest.h"

#define TOL (500 * PETSC_MACHINE_EPSILON)

static const GridCase cases[] = {
  {1, {40, 1, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 3, PETSC_FALSE},
  {1, {41, 1, 1}, 2, 1, {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 3, PETSC_FALSE},
  {1, {30, 1, 1}, 1, 2, {DM_BOUNDARY_MIRROR, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 13, PETSC_FALSE},
  {1, {30, 1, 1}, 1, 2, {DM_BOUNDARY_GHOSTED, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 2, PETSC_FALSE},
  {2, {150, 9, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 5, PETSC_FALSE},
  {2, {23, 11, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 9, PETSC_TRUE},
  {2, {14, 12, 1}, 3, 1, {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 9, PETSC_FALSE},
  {2,
   {14, 13, 1},
   1,
   2,
   {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE},
   DMDA_STENCIL_STAR,
   13,
   PETSC_FALSE},
  {2, {14, 13, 1}, 2, 1, {DM_BOUNDARY_MIRROR, DM_BOUNDARY_MIRROR, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 5, PETSC_FALSE},
  {2,
   {13, 15, 1},
   1,
   1,
   {DM_BOUNDARY_GHOSTED, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE},
   DMDA_STENCIL_BOX,
   9,
   PETSC_FALSE},
  {2, {12, 12, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 1, PETSC_FALSE},
  {3, {10, 9, 8}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 7, PETSC_FALSE},
  {3, {70, 6, 12}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 27, PETSC_TRUE},
  {3,
   {7, 8, 9},
   2,
   1,
   {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC},
   DMDA_STENCIL_BOX,
   27,
   PETSC_FALSE},
  {3,
   {9, 7, 8},
   1,
   1,
   {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_GHOSTED},
   DMDA_STENCIL_STAR,
   7,
   PETSC_FALSE},
  {3, {9, 9, 11}, 1, 2, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC}, DMDA_STENCIL_BOX, 2, PETSC_FALSE}};

static PetscErrorCode Near(Vec x, Vec y, const char what[], const char where[])
{
  PetscReal error, norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(SpikeTestSmall(error, TOL * PetscMax(norm, 1.0), what, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(Mat A, Mat B, const char where[])
{
  Vec         x, y, z, w;
  Mat         C;
  PetscReal   error, norm;
  PetscScalar nan = 0.0;

  PetscFunctionBegin;
  nan /= 0.0;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &w));
  PetscCall(SpikeTestSetRandom(x, 3));
  PetscCall(SpikeTestSetRandom(z, 4));
  PetscCall(VecSet(w, nan));
  PetscCall(MatMult(B, x, y));
  PetscCall(MatMult(A, x, w));
  PetscCall(Near(w, y, "MatMult()", where));
  PetscCall(MatMultAdd(B, x, z, y));
  PetscCall(MatMultAdd(A, x, z, w));
  PetscCall(Near(w, y, "MatMultAdd()", where));
  PetscCall(VecCopy(z, w));
  PetscCall(MatMultAdd(A, x, w, w));
  PetscCall(Near(w, y, "MatMultAdd() in place", where));
  PetscCall(VecSet(w, nan));
  PetscCall(MatMultTranspose(B, x, y));
  PetscCall(MatMultTranspose(A, x, w));
  PetscCall(Near(w, y, "MatMultTranspose()", where));
  PetscCall(MatMultTransposeAdd(B, x, z, y));
  PetscCall(MatMultTransposeAdd(A, x, z, w));
  PetscCall(Near(w, y, "MatMultTransposeAdd()", where));
  PetscCall(MatMultHermitianTranspose(B, x, y));
  PetscCall(MatMultHermitianTranspose(A, x, w));
  PetscCall(Near(w, y, "MatMultHermitianTranspose()", where));
  PetscCall(MatGetDiagonal(B, y));
  PetscCall(MatGetDiagonal(A, w));
  PetscCall(Near(w, y, "MatGetDiagonal()", where));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
  PetscCall(MatAXPY(C, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(C, NORM_FROBENIUS, &error));
  PetscCall(SpikeTestSmall(error, TOL * norm, "entries", where));
  PetscCall(MatDestroy(&C));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of others by messages of our own and by the DMDA: the same bits */
static PetscErrorCode TestHalo(Mat A, const char where[])
{
  Mat       C;
  Vec       x, y[2];
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(SpikeTestSetRandom(x, 6));
  PetscCall(MatMult(A, x, y[0]));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", "dm"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatMult(A, x, y[1]));
  PetscCall(VecEqual(y[0], y[1], &equal));
  PetscCall(SpikeTestCheck(equal, "%s: products with points by the DMDA differ", where));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", "own"));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_gridstencil_halo"));
  for (int k = 0; k < 3; k++) { /* the same memory again, and for other numbers */
    PetscCall(VecScale(x, -2.0));
    PetscCall(MatMultAdd(A, x, y[0], y[0]));
    PetscCall(MatMultAdd(C, x, y[1], y[1]));
    PetscCall(VecEqual(y[0], y[1], &equal));
    PetscCall(SpikeTestCheck(equal, "%s: products with points by the DMDA differ, %d", where, k));
  }
  PetscCall(MatDestroy(&C));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y[0]));
  PetscCall(VecDestroy(&y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A again as a matrix of the other type, and where it is bound to the host; nothing is copied between host and device by
  a product
*/
static PetscErrorCode TestTypes(Mat A, Mat B, const char where[])
{
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  PetscLogDouble bytes;
#endif
  PetscMPIInt size;
  PetscBool   cuda, is;
  MatType     type;
  Mat         C;
  Vec         x, y;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &cuda));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATGRIDSTENCILCUDA, &is));
  PetscCall(MatGetType(A, &type));
  PetscCall(SpikeTestCheck((PetscBool)(is == cuda), "%s: type %s", where, type));
  if (!cuda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, MATGRIDSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatGetType(C, &type));
  PetscCall(SpikeTestCheck((PetscBool)!strcmp(type, MATGRIDSTENCIL), "%s: converted to %s", where, type));
  PetscCall(Compare(C, B, where));
  PetscCall(MatConvert(C, MATGRIDSTENCILCUDA, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatGetType(C, &type));
  PetscCall(SpikeTestCheck((PetscBool)!strcmp(type, MATGRIDSTENCILCUDA), "%s: converted in place to %s", where, type));
  PetscCall(Compare(C, B, where));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatConvert(A, MATGRIDSTENCILCUDA, MAT_REUSE_MATRIX, &C));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatScale(C, 0.5));
  PetscCall(MatBindToCPU(C, PETSC_TRUE));
  PetscCall(Compare(C, B, where));
  PetscCall(MatBindToCPU(C, PETSC_FALSE));
  PetscCall(Compare(C, B, where));
  PetscCall(MatCreateVecs(C, &x, &y));
  PetscCall(SpikeTestSetRandom(x, 5));
  PetscCall(MatMult(C, x, y));
  PetscCall(MatMultTranspose(C, x, y));
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  bytes = petsc_ctog_sz + petsc_gtoc_sz;
  PetscCall(MatMult(C, x, y));
  PetscCall(MatMultTranspose(C, x, y));
  PetscCall(SpikeTestCheck((PetscBool)(size > 1 || petsc_ctog_sz + petsc_gtoc_sz == bytes),
                           "%s: a product has copied %g bytes", where,
                           (double)(petsc_ctog_sz + petsc_gtoc_sz - bytes)));
#endif
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const GridCase *c, const char where[])
{
  DM         da;
  Mat        A, B[2], C;
  MatStencil o[64];
  PetscInt   n = GridOffsets(c, o), count;
  PetscReal  norm[2];

  PetscFunctionBegin;
  PetscCall(GridCreate(c, &da));
  PetscCall(MatCreateGridStencil(da, n, o, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatGridStencilGetStencil(A, &count, NULL));
  PetscCall(SpikeTestCheck((PetscBool)(count == n), "%s: %" PetscInt_FMT " points", where, count));
  for (PetscInt constant = 1; constant >= 0; constant--) {
    PetscCall(GridAssemble(c, da, n, o, (PetscBool)constant, &B[constant]));
    PetscCall(GridSetCoefficients(c, da, n, (PetscBool)constant, A));
    PetscCall(Compare(A, B[constant], where));
    PetscCall(TestTypes(A, B[constant], where));
    PetscCall(TestHalo(A, where));
  }
  PetscCall(MatScale(A, -0.5));
  PetscCall(MatScale(B[0], -0.5));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(Compare(C, B[0], where));
  PetscCall(GridSetCoefficients(c, da, n, PETSC_TRUE, C)); /* and the other way */
  PetscCall(Compare(C, B[1], where));
  PetscCall(MatConvert(C, MATDIA, MAT_INPLACE_MATRIX, &C));
  PetscCall(Compare(C, B[1], where));
  PetscCall(MatDestroy(&C));
  PetscCall(MatNorm(A, NORM_1, &norm[0]));
  PetscCall(MatNorm(B[0], NORM_1, &norm[1]));
  PetscCall(SpikeTestSmall(PetscAbsReal(norm[0] - norm[1]), TOL * norm[1], "norm", where));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B[0]));
  PetscCall(MatDestroy(&B[1]));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const GridCase solves[] =
  {{3, {12, 10, 9}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 7, PETSC_TRUE},
   {3, {17, 6, 40}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 27, PETSC_TRUE},
   {3,
    {17, 9, 20},
    1,
    1,
    {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC},
    DMDA_STENCIL_STAR,
    7,
    PETSC_FALSE},
   {3, {10, 9, 8}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_BOX, 27, PETSC_FALSE},
   {2,
    {20, 18, 1},
    2,
    1,
    {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE},
    DMDA_STENCIL_BOX,
    9,
    PETSC_FALSE}};

/*
  -Laplace + shift of each unknown, solved by the methods that are made for it, and by PCSPIKE; by products that are
  lent, and not where the DMDA brings points of others
*/
static PetscErrorCode TestSolve(const GridCase *grid, const char where[])
{
  const char *const methods[][2] = {{KSPCGFUSED, PCJACOBI}, {KSPCGFUSED, PCNONE}, {KSPBCGSFUSED, PCJACOBI},
                                    {KSPIDRFUSED, PCNONE},  {KSPGMRES, PCSPIKE},  {KSPCG, PCJACOBI}};
  DM                da;
  Mat               A;
  Vec               b, x;
  MatStencil        o[64];
  PetscInt          n = GridOffsets(grid, o), dof = grid->dof;
  PetscScalar       v[27 * 4];
  PetscBool         set, symmetric, is, around;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GridCreate(grid, &da));
  PetscCall(MatCreateGridStencil(da, n, o, &A));
  PetscCall(MatSetFromOptions(A));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATGRIDSTENCILCUDA, &is));
  around = (PetscBool)(size > 1 || grid->b[0] != DM_BOUNDARY_NONE);
  for (PetscInt s = 0; s < n; s++)
    for (PetscInt c = 0; c < dof; c++)
      for (PetscInt e = 0; e < dof; e++)
        v[(s * dof + c) * dof + e] = c != e ? 0.0 : (o[s].i || o[s].j || o[s].k ? -1.0 : n - 1 + 0.1);
  PetscCall(MatGridStencilSetCoefficients(A, v));
  PetscCall(MatIsSymmetricKnown(A, &set, &symmetric));
  PetscCall(SpikeTestCheck((PetscBool)(set && symmetric), "%s: a symmetric stencil is not known to be", where));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 8));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(methods); k++) {
    KSPFusedInfo info;
    KSP          ksp;

    if (k == 4 && grid != solves) continue; /* periods are no bands */
    PetscCall(KSPTestCreate(methods[k][0], methods[k][1], A, &ksp));
    PetscCall(VecSet(x, 0.0));
    PetscCall(SpikeTestSolve(ksp, b, x, methods[k][0]));
    if (k < 4) { /* and with other coefficients, and points of others by another way, in the same solver */
      PetscCall(KSPFusedGetInfo(ksp, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.product == KSP_FUSED_SPMV_STENCIL && !info.copy), "%s: %s: product %d",
                               where, methods[k][0], (int)info.product));
      PetscCall(SpikeTestCheck((PetscBool)(!is || !strcmp(info.backend, "cuda")), "%s: %s: backend %s", where,
                               methods[k][0], info.backend));
      if (is && size == 1 && k < 3) {
        const PetscBool kernel = (PetscBool)(dof == 1 && !around);
        PetscInt        its, steps;

        PetscCall(SpikeTestCheck((PetscBool)((info.persistent > 0) == kernel && (info.replayed > 0) == !kernel),
                                 "%s: %s: %" PetscInt_FMT " iterations in one kernel, %" PetscInt_FMT " by graphs",
                                 where, methods[k][0], info.persistent, info.replayed));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        PetscCall(KSPFusedSetPersistent(ksp, KSP_FUSED_PERSISTENT_OFF));
        PetscCall(VecSet(x, 0.0));
        PetscCall(SpikeTestSolve(ksp, b, x, methods[k][0]));
        PetscCall(KSPGetIterationNumber(ksp, &steps));
        PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its - steps) <= 1 + steps / 10),
                                 "%s: %s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " in one kernel", where,
                                 methods[k][0], steps, its));
        PetscCall(KSPFusedSetPersistent(ksp, KSP_FUSED_PERSISTENT_AUTO));
      }
      PetscCall(MatScale(A, 3.0));
      PetscCall(SpikeTestSolve(ksp, b, x, methods[k][0]));
      PetscCall(MatGridStencilSetCoefficients(A, v));
      PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", "dm"));
      PetscCall(MatSetFromOptions(A));
      PetscCall(VecSet(x, 0.0));
      PetscCall(SpikeTestSolve(ksp, b, x, methods[k][0]));
      PetscCall(KSPFusedGetInfo(ksp, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.product == (around ? KSP_FUSED_SPMV_PETSC : KSP_FUSED_SPMV_STENCIL)),
                               "%s: %s: product %d with points by the DMDA", where, methods[k][0], (int)info.product));
      PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", "own"));
      PetscCall(MatSetFromOptions(A));
      PetscCall(PetscOptionsClearValue(NULL, "-mat_gridstencil_halo"));
      PetscCall(VecSet(x, 0.0));
      PetscCall(SpikeTestSolve(ksp, b, x, methods[k][0]));
    }
    if (k == 2 && dof == 1) { /* a coefficient of its own for each point */
      Vec coef[27];

      for (PetscInt i = 0; i < n; i++) {
        PetscCall(VecDuplicate(b, &coef[i]));
        PetscCall(SpikeTestSetRandom(coef[i], 20 + i));
        PetscCall(VecScale(coef[i], 0.05 / (PetscReal)n));
        PetscCall(VecShift(coef[i], v[i]));
      }
      PetscCall(MatGridStencilSetCoefficientVecs(A, coef));
      for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&coef[i]));
      PetscCall(VecSet(x, 0.0));
      PetscCall(SpikeTestSolve(ksp, b, x, "coefficients of points"));
      PetscCall(MatGridStencilSetCoefficients(A, v));
    }
    PetscCall(KSPDestroy(&ksp));
  }
  v[0] = -0.5;
  PetscCall(MatGridStencilSetCoefficients(A, v));
  PetscCall(MatIsSymmetricKnown(A, &set, &symmetric));
  PetscCall(
    SpikeTestCheck((PetscBool)(!set || !symmetric), "%s: an unsymmetric stencil is taken for symmetric", where));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stencils that do not fit the grid, and matrices that are not ready */
static PetscErrorCode TestErrors(void)
{
  const GridCase grid =
    {2, {12, 10, 1}, 1, 1, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, DMDA_STENCIL_STAR, 5, PETSC_FALSE};
  const MatStencil     bad[]    = {{0, 0, 2, 0}, /* too far: k, j, i, c */
                                   {1, 0, 0, 0}, /* in the third dimension */
                                   {0, 1, 1, 0}, /* across a corner */
                                   {0, 0, 0, 0}};
  const PetscErrorCode wanted[] = {PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE, PETSC_ERR_ARG_OUTOFRANGE};
  PetscErrorCode       ierr[6];
  DM                   da;
  Mat                  A, B, C;
  Vec                  x, y;

  PetscFunctionBegin;
  PetscCall(GridCreate(&grid, &da));
  PetscCall(MatCreateGridStencil(da, 1, bad + 3, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &B));
  PetscCall(MatSetSizes(B, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(B, MATGRIDSTENCIL));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (int k = 0; k < 3; k++) ierr[k] = MatCreateGridStencil(da, 1, bad + k, &C);
  ierr[3] = MatMult(A, x, y);
  ierr[4] = MatSetUp(B);
  ierr[5] = MatCreateGridStencil(da, 0, bad, &C);
  PetscCall(PetscPopErrorHandler());
  for (int k = 0; k < 3; k++)
    PetscCall(SpikeTestCheck((PetscBool)(ierr[k] == wanted[k]), "a bad stencil, %d: error %d", k, (int)ierr[k]));
  PetscCall(SpikeTestCheck((PetscBool)(ierr[3] == PETSC_ERR_ARG_WRONGSTATE && ierr[4] == PETSC_ERR_ARG_WRONGSTATE &&
                                       ierr[5] == PETSC_ERR_ARG_OUTOFRANGE),
                           "errors %d %d %d", (int)ierr[3], (int)ierr[4], (int)ierr[5]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    char where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "case %d", (int)k));
    PetscCall(TestCase(&cases[k], where));
  }
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(solves); k++) {
    char where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "solve %d", (int)k));
    PetscCall(TestSolve(&solves[k], where));
  }
  PetscCall(TestErrors());
  PetscCall(SpikeTestEnd("gridstencil"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/gridstencil_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 4 5}}
      test:
         suffix: base
         args: -spike_host_isa base
      test:
         suffix: nodes
         nsize: {{3 4}}
         args: -mat_gridstencil_ranks_per_node {{1 2}}
      test:
         suffix: cudanodes
         nsize: {{3 4}}
         requires: cuda gpurun
         args: -dm_vec_type cuda -mat_gridstencil_ranks_per_node {{1 2}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -dm_vec_type cuda

TEST*/
