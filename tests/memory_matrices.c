/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Out of memory at each allocation of MATDIA, MATBAIJCUDA and MATGRIDSTENCIL in turn: an error or a right "
           "product, and the same matrix works when memory is there again.\n\
  -device       allocations of CUDA fail, by the library of tests/device, in place of PetscMalloc()\n\
  -only NAME    cases with this in their names\n\n";

#define _GNU_SOURCE
#include "memorycase.h"
#include "gridcase.h"
#include <dlfcn.h>

typedef enum {
  WORK_ASSEMBLY,
  WORK_COO,
  WORK_CONVERT,
  WORK_INPLACE,
  WORK_BACK,
  WORK_DUPLICATE,
  WORK_PATTERN,
  WORK_TRANSPOSE,
  WORK_PRODUCT, /* with a dense matrix */
  WORK_CONSTANT,
  WORK_VARIABLE
} Work;

typedef struct {
  const char *name;
  Work        work;
  PetscBool   again; /* a matrix that failed is set again; else made anew */
  PetscInt    bs;    /* of MATBAIJCUDA, 0: MATDIA */
} MatCase;

static const MatCase cases[] = {
  {"dia, assembly", WORK_ASSEMBLY, PETSC_TRUE},
  {"dia, coo", WORK_COO, PETSC_TRUE},
  {"dia, conversion", WORK_CONVERT, PETSC_FALSE},
  {"dia, conversion in place", WORK_INPLACE, PETSC_TRUE},
  {"dia, conversion to aij", WORK_BACK, PETSC_FALSE},
  {"dia, copy", WORK_DUPLICATE, PETSC_FALSE},
  {"dia, another pattern", WORK_PATTERN, PETSC_TRUE},
  {"dia, transpose", WORK_TRANSPOSE, PETSC_FALSE},
  {"gridstencil, constant", WORK_CONSTANT, PETSC_TRUE},
  {"gridstencil, vectors", WORK_VARIABLE, PETSC_TRUE},
  {"baijcuda, assembly", WORK_ASSEMBLY, PETSC_TRUE, 2},
  {"baijcuda, coo", WORK_COO, PETSC_TRUE, 4},
  {"baijcuda, conversion", WORK_CONVERT, PETSC_FALSE, 4},
  {"baijcuda, conversion in place", WORK_INPLACE, PETSC_TRUE, 2},
  {"baijcuda, conversion to aij", WORK_BACK, PETSC_FALSE, 4},
  {"baijcuda, copy", WORK_DUPLICATE, PETSC_FALSE, 4},
  {"baijcuda, another pattern", WORK_PATTERN, PETSC_TRUE, 4},
  {"baijcuda, transpose", WORK_TRANSPOSE, PETSC_FALSE, 4},
  {"baijcuda, product", WORK_PRODUCT, PETSC_FALSE, 4},
};

/* What cases start from, made while memory does not fail */
typedef struct {
  const MatCase *c;
  SpikeTestBand  band;
  Mat            A, D; /* the band as AIJ, and of the type of the case */
  GridCase       grid;
  DM             da;
  PetscInt       npoints;
  MatStencil     points[32];
} Given;

static MatType Type(const Given *g)
{
  return g->c->bs ? MATBAIJCUDA : SpikeTestDiaType();
}

/* AIJ where the matrices of the case are: with the host's kernels or on the device */
static MatType TypeAIJ(void)
{
  return devicefail ? MATAIJCUSPARSE : MATAIJ;
}

/* What cases of a type start from */
static PetscErrorCode Prepare(Given *g)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&g->A));
  PetscCall(MatDestroy(&g->D));
  g->band.n = g->c->bs ? 96 : 97;
  PetscCall(SpikeTestBandMat(PETSC_COMM_SELF, &g->band, PETSC_DECIDE, MATAIJ, &g->A));
  if (g->c->bs) PetscCall(MatSetBlockSize(g->A, g->c->bs));
  PetscCall(MatConvert(g->A, Type(g), MAT_INITIAL_MATRIX, &g->D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The assembly of a band, again when *M has one */
static PetscErrorCode Assemble(Given *g, Mat *M)
{
  SpikeTestBand wider = g->band;

  PetscFunctionBegin;
  if (!*M) {
    PetscCall(MatCreate(PETSC_COMM_SELF, M));
    PetscCall(MatSetSizes(*M, g->band.n, g->band.n, g->band.n, g->band.n));
    if (g->c->bs) PetscCall(MatSetBlockSize(*M, g->c->bs));
  }
  PetscCall(MatSetType(*M, Type(g)));
  if (g->c->bs) PetscCall(MatSetUp(*M));
  PetscCall(MatSetOption(*M, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  if (g->c->work == WORK_COO) {
    PetscInt    *i, n = g->band.n;
    PetscScalar *v;

    PetscCall(PetscMalloc2(4 * n, &i, 2 * n, &v));
    for (PetscInt k = 0; k < n; k++) {
      i[k] = i[2 * n + k] = k;
      i[n + k]            = k;
      i[3 * n + k]        = PetscMin(k + 3, n - 1);
      v[k]                = SpikeTestScalar(1, k, 0);
      v[n + k]            = SpikeTestScalar(2, k, 0);
    }
    PetscCall(MatSetPreallocationCOO(*M, 2 * n, i, i + 2 * n));
    PetscCall(MatSetValuesCOO(*M, v, INSERT_VALUES));
    PetscCall(PetscFree2(i, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(SpikeTestBandSet(&g->band, 1.0, *M));
  if (g->c->work == WORK_PATTERN) {
    wider.ku++;
    PetscCall(SpikeTestBandSet(&wider, 1.0, *M));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = M x by the first column of a product with a dense matrix on the host */
static PetscErrorCode Product(Mat M, Vec x, Vec y)
{
  const PetscScalar *xa;
  PetscScalar       *a;
  PetscInt           n;
  Mat                X, Y;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 3, NULL, &X));
  PetscCall(MatDenseGetArrayWrite(X, &a));
  PetscCall(VecGetArrayRead(x, &xa));
  for (PetscInt k = 0; k < 3; k++) PetscCall(PetscArraycpy(a + k * n, xa, n));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(MatDenseRestoreArrayWrite(X, &a));
  PetscCall(MatMatMult(M, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &Y));
  PetscCall(MatGetColumnVector(Y, y, 0));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a case, and what is done with it. *M is NULL, or what was left by an attempt that failed */
static PetscErrorCode Do(Given *g, Mat *M, Vec x, Vec y)
{
  PetscBool aij;

  PetscFunctionBegin;
  switch (g->c->work) {
  case WORK_ASSEMBLY:
  case WORK_COO:
  case WORK_PATTERN:
    PetscCall(Assemble(g, M));
    break;
  case WORK_CONVERT:
    PetscCall(MatConvert(g->A, Type(g), MAT_INITIAL_MATRIX, M));
    break;
  case WORK_INPLACE:
    if (!*M) {
      PetscCall(MatCreate(PETSC_COMM_SELF, M));
      PetscCall(MatSetSizes(*M, g->band.n, g->band.n, g->band.n, g->band.n));
      if (g->c->bs) PetscCall(MatSetBlockSize(*M, g->c->bs));
      PetscCall(MatSetType(*M, MATAIJ));
      PetscCall(SpikeTestBandSet(&g->band, 1.0, *M));
    }
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)*M, MATSEQAIJ, &aij));
    if (aij) PetscCall(MatConvert(*M, Type(g), MAT_INPLACE_MATRIX, M));
    break;
  case WORK_BACK:
    PetscCall(MatConvert(g->D, g->c->bs ? TypeAIJ() : MATAIJ, MAT_INITIAL_MATRIX, M));
    break;
  case WORK_DUPLICATE:
    PetscCall(MatDuplicate(g->D, MAT_COPY_VALUES, M));
    break;
  case WORK_TRANSPOSE:
    PetscCall(MatTranspose(g->D, MAT_INITIAL_MATRIX, M));
    break;
  case WORK_PRODUCT:
    PetscCall(MatDuplicate(g->D, MAT_COPY_VALUES, M));
    PetscCall(Product(*M, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  default:
    if (!*M) PetscCall(MatCreateGridStencil(g->da, g->npoints, g->points, M));
    PetscCall(GridSetCoefficients(&g->grid, g->da, g->npoints, (PetscBool)(g->c->work == WORK_CONSTANT), *M));
  }
  PetscCall(MatMultTranspose(*M, x, y));
  PetscCall(MatMult(*M, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the case has, as AIJ by PETSc alone */
static PetscErrorCode Reference(Given *g, Mat *R)
{
  const PetscInt n    = g->band.n;
  SpikeTestBand  band = g->band;

  PetscFunctionBegin;
  if (g->c->work >= WORK_CONSTANT) {
    PetscCall(GridAssemble(&g->grid, g->da, g->npoints, g->points, (PetscBool)(g->c->work == WORK_CONSTANT), R));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (g->c->work == WORK_PATTERN) band.ku++;
  if (g->c->work == WORK_COO) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 2, NULL, R));
    for (PetscInt k = 0; k < n; k++) {
      PetscCall(MatSetValue(*R, k, k, SpikeTestScalar(1, k, 0), ADD_VALUES));
      PetscCall(MatSetValue(*R, k, PetscMin(k + 3, n - 1), SpikeTestScalar(2, k, 0), ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*R, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*R, MAT_FINAL_ASSEMBLY));
  } else PetscCall(SpikeTestBandMat(PETSC_COMM_SELF, &band, PETSC_DECIDE, MATAIJ, R));
  if (g->c->work == WORK_TRANSPOSE) PetscCall(MatTranspose(*R, MAT_INPLACE_MATRIX, R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProduct(Given *g, Vec y, Vec ref, const char when[], PetscInt k)
{
  PetscReal norm, diff;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(ref, &d));
  PetscCall(VecCopy(y, d));
  PetscCall(VecAXPY(d, -1.0, ref));
  PetscCall(VecNorm(d, NORM_INFINITY, &diff));
  PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
  PetscCall(SpikeTestCheck((PetscBool)(diff <= 100 * PETSC_MACHINE_EPSILON * norm),
                           "%s, %s allocation %" PetscInt_FMT ": the product differs by %g", g->c->name, when, k,
                           (double)diff));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PetscCallCUDA() has two errors for what CUDA says of its memory */
static PetscBool OutOfMemory(PetscErrorCode ierr)
{
  if (devicefail) return (PetscBool)(ierr == PETSC_ERR_GPU_RESOURCE || ierr == PETSC_ERR_GPU || ierr == PETSC_ERR_MEM);
  return (PetscBool)(ierr == PETSC_ERR_MEM);
}

static PetscErrorCode TestCase(Given *g)
{
  Mat      M, R;
  Vec      x, y, ref;
  PetscInt had = 0;

  PetscFunctionBegin;
  PetscCall(Prepare(g));
  PetscCall(Reference(g, &R));
  PetscCall(MatCreateVecs(R, &x, &ref));
  PetscCall(VecDuplicate(ref, &y));
  PetscCall(SpikeTestSetRandom(x, 3));
  PetscCall(MatMult(R, x, ref));
  for (PetscInt k = 0; k <= had; k++) {
    PetscErrorCode ierr;
    PetscInt       made;

    M = NULL;
    PetscCall(Prepare(g)); /* what is left of the attempt before goes */
    PetscCall(VecSet(y, 0.0));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    (void)TestFail(k);
    ierr = Do(g, &M, x, y);
    made = TestFail(0);
    had  = PetscMax(had, made);
    PetscCall(PetscPopErrorHandler());
    PetscCall(SpikeTestCheck((PetscBool)(k || !ierr), "%s: error %d though nothing failed", g->c->name, (int)ierr));
    PetscCall(SpikeTestCheck((PetscBool)(!ierr || OutOfMemory(ierr)), "%s, allocation %" PetscInt_FMT ": error %d",
                             g->c->name, k, (int)ierr));
    if (!ierr) PetscCall(CheckProduct(g, y, ref, "without", k));
    else {
      if (!g->c->again) M = NULL;        /* half of a matrix, which PETSc's function has not given back */
      for (PetscInt v = 0; v < 2; v++) { /* an error leaves vectors locked */
        PetscCall(VecDestroy(v ? &x : &y));
        PetscCall(MatCreateVecs(R, v ? &x : NULL, v ? NULL : &y));
      }
      PetscCall(SpikeTestSetRandom(x, 3));
      ierr = Do(g, &M, x, y);
      PetscCall(SpikeTestCheck((PetscBool)!ierr,
                               "%s: error %d after allocation %" PetscInt_FMT " of %" PetscInt_FMT
                               " failed and memory is back",
                               g->c->name, (int)ierr, k, had));
      if (!ierr) PetscCall(CheckProduct(g, y, ref, "after", k));
    }
    PetscCall(MatDestroy(&M));
  }
  /* what has its values on the device becomes a matrix of PETSc's without more memory of ours there */
  PetscCall(SpikeTestCheck((PetscBool)(had > 0 || (devicefail && g->c->work == WORK_BACK)), "%s: nothing was allocated",
                           g->c->name));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&ref));
  PetscCall(MatDestroy(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Given     g        = {.band = {97, 3, 2, 1.5, SPIKE_TEST_RANDOM, 5}};
  char      only[64] = "";
  PetscBool device   = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  if (device) {
    *(void **)&devicefail = dlsym(RTLD_DEFAULT, "SpikeDeviceFail");
    PetscCheck(devicefail, PETSC_COMM_SELF, PETSC_ERR_USER, "-device wants the library of tests/device/limits.c");
  }
  g.grid = (GridCase){2,
                      {9, 7, 1},
                      2,
                      1,
                      {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE},
                      DMDA_STENCIL_STAR,
                      5,
                      PETSC_FALSE,
                      3};
  PetscCall(GridCreate(&g.grid, &g.da));
  g.npoints = GridOffsets(&g.grid, g.points);
  GuardStart();
  PetscTrMalloc = Malloc;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    if (*only && !strstr(cases[k].name, only)) continue;
    g.c = &cases[k];
    PetscCall(TestCase(&g));
  }
  PetscCall(SpikeTestCheck((PetscBool)!GuardDamage(), "written outside of arrays"));
  PetscCall(MatDestroy(&g.A));
  PetscCall(MatDestroy(&g.D));
  PetscCall(DMDestroy(&g.da));
  PetscCall(SpikeTestEnd("memory_matrices"));
  PetscCall(PetscFinalize());
  return spiketest_failures ? 1 : 0;
}

/*TEST

   # an error leaves objects of PETSc's functions behind
   test:
      suffix: 1
      args: -malloc_dump no -spike_host_baijcuda
      filter: grep -v -E "PetscFunctionList|function name:"

TEST*/
