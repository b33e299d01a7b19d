/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE, MATDIA and KSPBCGSFUSED in a PetscDeviceContext that the user has made current, with a stream "
           "that no other one waits for: all of their work is in that stream.\n\n";

#include "spiketest.h"
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

/* x <- b, in the current stream. PETSc's operations of vectors take the default one */
static PetscErrorCode CopyInStream(PetscBool device, Vec b, Vec x)
{
  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  if (device) {
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           n;
    cudaStream_t       stream;

    PetscCall(PetscGetCurrentCUDAStream(&stream));
    PetscCall(VecGetLocalSize(b, &n));
    PetscCall(VecGetArrayReadAndMemType(b, &from, NULL));
    PetscCall(VecGetArrayWriteAndMemType(x, &to, NULL));
    PetscCallCUDA(cudaMemcpyAsync(to, from, (size_t)n * sizeof(*to), cudaMemcpyDeviceToDevice, stream));
    PetscCall(VecRestoreArrayWriteAndMemType(x, &to));
    PetscCall(VecRestoreArrayReadAndMemType(b, &from));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)device;
  PetscCall(VecCopy(b, x));
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

/* y <- one of the operations that are tested, of x */
static PetscErrorCode Operate(PetscInt what, Mat A, PC pc, KSP ksp, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (what == 0) PetscCall(PCApply(pc, x, y));
  if (what == 1) PetscCall(PCApplyTranspose(pc, x, y));
  if (what == 2) PetscCall(MatMult(A, x, y));
  if (what == 3) PetscCall(KSPSolve(ksp, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestContext(PetscInt partitions, PCSpikeType type)
{
  const char        *names[] = {"PCApply()", "PCApplyTranspose()", "MatMult()", "KSPSolve()"};
  SpikeTestBand      band    = {5000, 3, 2, 1.3, SPIKE_TEST_RANDOM, 7};
  Mat                A;
  Vec                b, x, y, ref[4], again[4];
  KSP                ksp;
  PC                 pc;
  PetscDeviceContext before, context;
  PetscBool          device, host;
  PetscReal          diff, norm;

  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, SpikeTestDiaType(), &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &host, VECSEQ, VECMPI, ""));
  device = (PetscBool)!host;
  PetscCall(SpikeTestSetRandom(b, 8));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGSFUSED));
  PetscCall(KSPSetTolerances(ksp, 1e3 * PETSC_MACHINE_EPSILON, PETSC_CURRENT, PETSC_CURRENT, 50));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetLocalPartitions(pc, partitions));
  PetscCall(PCSpikeSetType(pc, type));
  PetscCall(KSPSetUp(ksp));
  for (PetscInt k = 0; k < 4; k++) { /* in the context that there was */
    PetscCall(VecDuplicate(x, &ref[k]));
    PetscCall(VecDuplicate(x, &again[k]));
    PetscCall(Operate(k, A, pc, ksp, b, ref[k]));
  }
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSynchronize(before));
  PetscCall(PetscDeviceContextCreate(&context));
  PetscCall(PetscDeviceContextSetStreamType(context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(context));
  PetscCall(PetscDeviceContextSetCurrentContext(context));
  for (PetscInt setup = 0; setup < 2; setup++) {
    if (setup) { /* a refill in the new context too */
      PetscCall(PetscObjectStateIncrease((PetscObject)A));
      PetscCall(KSPSetUp(ksp));
    }
    for (PetscInt k = 0; k < 4; k++) {
      PetscCall(VecSet(x, 0.0));
      PetscCall(VecSet(again[k], 0.0));
      PetscCall(Wait(device));
      PetscCall(Delay(device));
      PetscCall(CopyInStream(device, b, x));
      PetscCall(Operate(k, A, pc, ksp, x, again[k]));
      PetscCall(Wait(device));
      PetscCall(VecWAXPY(y, -1.0, ref[k], again[k]));
      PetscCall(VecNorm(y, NORM_INFINITY, &diff));
      PetscCall(VecNorm(ref[k], NORM_INFINITY, &norm));
      PetscCall(SpikeTestSmall(diff, (k == 3 ? 1e6 : 1e3) * PETSC_MACHINE_EPSILON * norm,
                               "difference to the root context", names[k]));
    }
  }
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(PetscDeviceContextDestroy(&context));
  for (PetscInt k = 0; k < 4; k++) { /* and back */
    PetscCall(Operate(k, A, pc, ksp, b, again[k]));
    PetscCall(VecAXPY(again[k], -1.0, ref[k]));
    PetscCall(VecNorm(again[k], NORM_INFINITY, &diff));
    PetscCall(VecNorm(ref[k], NORM_INFINITY, &norm));
    PetscCall(
      SpikeTestSmall(diff, (k == 3 ? 1e6 : 1e3) * PETSC_MACHINE_EPSILON * norm, "difference back in it", names[k]));
    PetscCall(VecDestroy(&ref[k]));
    PetscCall(VecDestroy(&again[k]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestContext(1, PC_SPIKE_AUTO));
  PetscCall(TestContext(6, PC_SPIKE_TRUNCATED));
  PetscCall(TestContext(6, PC_SPIKE_FULL));
  PetscCall(SpikeTestEnd("spike_context"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_context_1.out
      test:
         suffix: 1
         nsize: {{1 2}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -dia_type diacuda

TEST*/
