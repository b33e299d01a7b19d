/* SPDX-License-Identifier: BSD-2-Clause */
static char help
  [] = "Our preconditioners, matrices and KSPBCGSFUSED in a PetscDeviceContext that the user has made current, with "
       "a stream that no other one waits for: all of their work is in that stream.\n\n";

#include "gridcase.h"
#if PetscDefined(HAVE_CUDA)
  #include <petscdevice_cuda.h>
  #include <unistd.h>

static void Sleep(void *ctx)
{
  (void)ctx;
  (void)usleep(30000);
}
#endif

/* What is enqueued from now on in the current stream begins later: work in another one would be done before it */
static PetscErrorCode Delay(PetscBool device)
{
  PetscFunctionBegin;
  (void)device;
#if PetscDefined(HAVE_CUDA)
  if (device) {
    cudaStream_t stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallCUDA(cudaLaunchHostFunc(stream, Sleep, NULL));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both arrays are where `device` says; a copy between those of a device is enqueued in the current stream */
static PetscErrorCode CopyArray(PetscBool device, PetscInt n, const PetscScalar *from, PetscScalar *to)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (device) {
    cudaStream_t stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCallCUDA(cudaMemcpyAsync(to, from, (size_t)n * sizeof(*to), cudaMemcpyDeviceToDevice, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  PetscCall(PetscArraycpy(to, from, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- b, in the current stream. PETSc's operations of vectors take the default one */
static PetscErrorCode CopyInStream(PetscBool device, Vec b, Vec x)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(VecGetArrayReadAndMemType(b, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(x, &to, NULL));
  PetscCall(CopyArray(device, n, from, to));
  PetscCall(VecRestoreArrayWriteAndMemType(x, &to));
  PetscCall(VecRestoreArrayReadAndMemType(b, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Wait(PetscBool device)
{
  PetscFunctionBegin;
  (void)device;
#if PetscDefined(HAVE_CUDA)
  if (device) PetscCallCUDA(cudaDeviceSynchronize());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix of a case. Those of PETSc's types work in its stream: only preconditioners of them are tested */
typedef enum {
  KIND_BAND,
  KIND_TRIDIAGONAL,
  KIND_BLOCKS,  /* MATBAIJCUDA */
  KIND_STENCIL, /* MATGRIDSTENCIL, with the products of a method alone */
  KIND_AIJ
} Kind;

typedef enum {
  APPLY,
  APPLYTRANSPOSE,
  MULT,
  SOLVE,
  MATSOLVE,
  NOPERATIONS
} Operation;

static const char *const names[] = {"PCApply()", "PCApplyTranspose()", "MatMult()", "KSPSolve()", "KSPMatSolve()"};

typedef struct {
  const char *name;
  Kind        kind;
  PCType      pc;
  PetscInt    partitions; /* of PCSPIKE */
  PCSpikeType type;
} Case;

static const Case cases[] = {{"one partition", KIND_BAND, PCSPIKE, 1, PC_SPIKE_AUTO},
                             {"truncated", KIND_BAND, PCSPIKE, 6, PC_SPIKE_TRUNCATED},
                             {"full", KIND_BAND, PCSPIKE, 6, PC_SPIKE_FULL},
                             {"tridiagonal", KIND_TRIDIAGONAL, PCSPIKE, PETSC_DECIDE, PC_SPIKE_AUTO},
                             {"tridiagonal, full", KIND_TRIDIAGONAL, PCSPIKE, 6, PC_SPIKE_FULL},
                             {"blocks", KIND_BLOCKS, PCBLOCKILU, 0, PC_SPIKE_AUTO},
                             {"blockilu of aij", KIND_AIJ, PCBLOCKILU, 0, PC_SPIKE_AUTO},
                             {"stencil", KIND_STENCIL, PCNONE, 0, PC_SPIKE_AUTO}};

typedef struct {
  const Case *c;
  PetscBool   device;
  DM          da;
  Mat         A, B, X; /* B, X: columns of KSPMatSolve() */
  KSP         ksp;
  PC          pc;
} Subject;

static PetscBool Tested(const Case *c, PetscInt operation)
{
  if (c->kind == KIND_AIJ) return (PetscBool)(operation <= APPLYTRANSPOSE);
  return (PetscBool)(c->kind != KIND_STENCIL || operation >= MULT);
}

/* Diagonally dominant by 2; the values go from the memory of the host */
static PetscErrorCode SetStencil(Subject *s, PetscBool create)
{
  const GridCase grid = {.dim = 3, .size = {17, 16, 15}, .dof = 1, .width = 1, .type = DMDA_STENCIL_STAR, .points = 7};
  MatStencil     o[8];
  PetscScalar    v[8];
  PetscInt       n;

  PetscFunctionBegin;
  n = GridOffsets(&grid, o);
  if (create) {
    PetscCall(GridCreate(&grid, &s->da));
    PetscCall(MatCreateGridStencil(s->da, n, o, &s->A));
  }
  for (PetscInt k = 0; k < n; k++) v[k] = o[k].i || o[k].j || o[k].k ? -1.0 - 0.1 * o[k].i : 12.0;
  PetscCall(MatGridStencilSetCoefficients(s->A, v));
  for (PetscInt k = 0; k < n; k++) v[k] = NAN; /* they have been read */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMat(Subject *s)
{
  SpikeTestBand band = {5000, 3, 2, 1.3, SPIKE_TEST_RANDOM, 7};

  PetscFunctionBegin;
  if (s->c->kind == KIND_STENCIL) {
    PetscCall(SetStencil(s, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->c->kind == KIND_TRIDIAGONAL) band.kl = band.ku = 1;
  if (s->c->kind == KIND_BLOCKS || s->c->kind == KIND_AIJ) {
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &s->A));
    PetscCall(MatSetBlockSize(s->A, 4));
    if (s->c->kind == KIND_BLOCKS) PetscCall(MatConvert(s->A, MATBAIJCUDA, MAT_INPLACE_MATRIX, &s->A));
  } else PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, SpikeTestDiaType(), &s->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Subject *s)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscCall(KSPSetType(s->ksp, KSPBCGSFUSED));
  PetscCall(KSPSetTolerances(s->ksp, 1e3 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 50));
  PetscCall(KSPGetPC(s->ksp, &s->pc));
  PetscCall(PCSetType(s->pc, s->c->pc));
  if (s->c->partitions) {
    PetscCall(PCSpikeSetLocalPartitions(s->pc, s->c->partitions));
    PetscCall(PCSpikeSetType(s->pc, s->c->type));
  }
  PetscCall(KSPSetUp(s->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns of B are x; y <- the last one of what solves for them. All in the current stream */
static PetscErrorCode SolveColumns(Subject *s, Vec x, Vec y)
{
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           n, ldb, ldx, m;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(MatGetSize(s->B, NULL, &m));
  PetscCall(MatDenseGetLDA(s->B, &ldb));
  PetscCall(MatDenseGetLDA(s->X, &ldx));
  PetscCall(VecGetArrayReadAndMemType(x, &from, NULL));
  PetscCall(MatDenseGetArrayWriteAndMemType(s->B, &to, NULL));
  for (PetscInt k = 0; k < m; k++) PetscCall(CopyArray(s->device, n, from, to + k * ldb));
  PetscCall(MatDenseRestoreArrayWriteAndMemType(s->B, &to));
  PetscCall(VecRestoreArrayReadAndMemType(x, &from));
  PetscCall(KSPMatSolve(s->ksp, s->B, s->X));
  PetscCall(MatDenseGetArrayReadAndMemType(s->X, &from, NULL));
  PetscCall(VecGetArrayWriteAndMemType(y, &to, NULL));
  PetscCall(CopyArray(s->device, n, from + (m - 1) * ldx, to));
  PetscCall(VecRestoreArrayWriteAndMemType(y, &to));
  PetscCall(MatDenseRestoreArrayReadAndMemType(s->X, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y <- one of the operations that are tested, of x */
static PetscErrorCode Operate(Subject *s, PetscInt what, Vec x, Vec y)
{
  KSPConvergedReason reason = KSP_CONVERGED_ITS;

  PetscFunctionBegin;
  if (what == APPLY) PetscCall(PCApply(s->pc, x, y));
  if (what == APPLYTRANSPOSE) PetscCall(PCApplyTranspose(s->pc, x, y));
  if (what == MULT) PetscCall(MatMult(s->A, x, y));
  if (what == SOLVE) PetscCall(KSPSolve(s->ksp, x, y));
  if (what == MATSOLVE) PetscCall(SolveColumns(s, x, y));
  if (what >= SOLVE) PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason > 0), "%s, %s: %s", s->c->name, names[what], KSPConvergedReasons[reason]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y is ref, by operations of PETSc in its stream */
static PetscErrorCode Compare(const Subject *s, PetscInt what, Vec y, Vec ref, const char when[])
{
  PetscReal diff, norm;
  char      where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s", s->c->name, names[what]));
  PetscCall(VecAXPY(y, -1.0, ref));
  PetscCall(VecNorm(y, NORM_INFINITY, &diff));
  PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
  PetscCall(SpikeTestSmall(diff, (what >= SOLVE ? 1e6 : 1e3) * PETSC_MACHINE_EPSILON * norm, when, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestContext(const Case *c)
{
  Subject            s = {.c = c};
  Vec                b, x, y, ref[NOPERATIONS];
  PetscDeviceContext before, context;
  PetscBool          host;
  VecType            type;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(CreateMat(&s));
  PetscCall(MatCreateVecs(s.A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &host, VECSEQ, VECMPI, ""));
  s.device = (PetscBool)!host;
  PetscCall(SpikeTestSetRandom(b, 8));
  PetscCall(VecGetType(b, &type));
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(
    MatCreateDenseFromVecType(PETSC_COMM_WORLD, type, n, PETSC_DECIDE, PETSC_DETERMINE, 3, PETSC_DECIDE, NULL, &s.B));
  PetscCall(MatDuplicate(s.B, MAT_DO_NOT_COPY_VALUES, &s.X));
  PetscCall(CreateSolver(&s));
  for (PetscInt k = 0; k < NOPERATIONS; k++) { /* in the context that there was */
    PetscCall(VecDuplicate(x, &ref[k]));
    if (Tested(c, k)) PetscCall(Operate(&s, k, b, ref[k]));
  }
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSynchronize(before));
  PetscCall(PetscDeviceContextCreate(&context));
  PetscCall(PetscDeviceContextSetStreamType(context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(context));
  PetscCall(PetscDeviceContextSetCurrentContext(context));
  for (PetscInt setup = 0; setup < 3; setup++) {
    if (setup == 1) { /* a refill in the new context too */
      if (c->kind == KIND_STENCIL) PetscCall(SetStencil(&s, PETSC_FALSE));
      PetscCall(PetscObjectStateIncrease((PetscObject)s.A));
      PetscCall(KSPSetUp(s.ksp));
    }
    if (setup == 2) PetscCall(CreateSolver(&s)); /* and all of a solver */
    for (PetscInt k = 0; k < NOPERATIONS; k++) {
      if (!Tested(c, k)) continue;
      PetscCall(VecSet(x, 0.0));
      PetscCall(VecSet(y, 0.0));
      PetscCall(Wait(s.device));
      PetscCall(Delay(s.device));
      PetscCall(CopyInStream(s.device, b, x));
      PetscCall(Operate(&s, k, x, y));
      PetscCall(Wait(s.device));
      PetscCall(Compare(&s, k, y, ref[k], "difference to the root context"));
    }
  }
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(PetscDeviceContextDestroy(&context));
  for (PetscInt k = 0; k < NOPERATIONS; k++) { /* and back */
    if (Tested(c, k)) {
      PetscCall(Operate(&s, k, b, y));
      PetscCall(Compare(&s, k, y, ref[k], "difference back in it"));
    }
    PetscCall(VecDestroy(&ref[k]));
  }
  PetscCall(KSPDestroy(&s.ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&s.B));
  PetscCall(MatDestroy(&s.X));
  PetscCall(MatDestroy(&s.A));
  PetscCall(DMDestroy(&s.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(TestContext(&cases[k]));
  PetscCall(SpikeTestEnd("spike_context"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_context_1.out
      test:
         suffix: 1
         requires: !cuda
         nsize: {{1 2}}
         args: -spike_host_baijcuda
      # a context of a PETSc with CUDA is one of a device, which must be there
      test:
         suffix: host
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -spike_host_baijcuda
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -dia_type diacuda -mat_type aijcusparse -dm_vec_type cuda

TEST*/
