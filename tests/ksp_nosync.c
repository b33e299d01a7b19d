/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_nosync.c: a solve on the device makes as many calls that synchronize or allocate with 30 iterations as with 1000:
  none in its iterations
*/
static char help[] = "Counts CUDA calls that synchronize or allocate in the iterations of fused Krylov methods.\n\n";

#define _GNU_SOURCE
#include "ksptest.h"
#include <dlfcn.h>

#if PetscDefined(HAVE_CUDA)
static PetscInt synchronizations = 0, allocations = 0;

/* These come before those of the CUDA library for all libraries of the program, and call them; types are opaque here */
  #define Count(counter, name, parameters, arguments) \
    PETSC_EXTERN int name parameters; \
    int name              parameters \
    { \
      static int(*real) parameters = NULL; \
\
      if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
      counter++; \
      return (*real)arguments; \
    }
Count(synchronizations, cudaStreamSynchronize, (void *stream), (stream))
  Count(synchronizations, cudaDeviceSynchronize, (void), ())
    Count(synchronizations, cudaEventSynchronize, (void *event), (event))
      Count(synchronizations, cudaMemcpy, (void *to, const void *from, size_t bytes, int kind), (to, from, bytes, kind))
        Count(allocations, cudaMalloc, (void **p, size_t bytes), (p, bytes))
          Count(allocations, cudaMallocAsync, (void **p, size_t bytes, void *stream), (p, bytes, stream))
            Count(allocations, cudaMallocHost, (void **p, size_t bytes), (p, bytes))
              Count(allocations, cudaHostAlloc, (void **p, size_t bytes, unsigned int flags), (p, bytes, flags))
                Count(allocations, cudaFree, (void *p), (p))
#else
static PetscInt synchronizations = 0, allocations = 0;
#endif

                  static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscInt its, PetscInt counts[2])
{
  KSPConvergedReason reason;
  PetscInt           done;

  PetscFunctionBegin;
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, its));
  synchronizations = allocations = 0;
  PetscCall(KSPSolve(ksp, b, x));
  counts[0] = synchronizations;
  counts[1] = allocations;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &done));
  PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_ITS && done == its),
                           "%s after %" PetscInt_FMT " iterations", KSPConvergedReasons[reason], done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const KSPType types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED, KSPBCGS};
  const PCType  pcs[]   = {PCNONE, PCJACOBI, PCSPIKE};
  PetscBool     device  = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(KSPTestOnDevice(&device));
  for (PetscInt t = 0; t < 4; t++)
    for (PetscInt p = 0; p < (t < 2 ? 3 : 2); p++) /* the third: in one kernel where it can be */
      for (PetscInt form = 0; form < (t < 2 ? 3 : (t < 3 ? 2 : 1)); form++) {
        Mat      A;
        Vec      x, b;
        KSP      ksp;
        PC       pc;
        PetscInt few[2] = {0, 0}, many[2] = {0, 0};

        PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 700, device && form < 2 ? 700 : 10, PETSC_DECIDE, 1e-6, &A));
        PetscCall(MatCreateVecs(A, &x, &b));
        PetscCall(SpikeTestSetRandom(b, 41));
        PetscCall(KSPTestCreate(types[t], pcs[p], A, &ksp));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSpikeSetBandwidth(pc, 1, 1)); /* far from a direct solver */
        PetscCall(KSPFusedSetPersistent(ksp, form == 2 ? KSP_FUSED_PERSISTENT_ON : KSP_FUSED_PERSISTENT_OFF));
        PetscCall(KSPFusedSetReductions(ksp, form == 1 ? KSP_FUSED_REDUCTIONS_MERGED : KSP_FUSED_REDUCTIONS_PLAIN));
        PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
        PetscCall(Solve(ksp, b, x, 30, few));
        PetscCall(Solve(ksp, b, x, 30, few));
        PetscCall(Solve(ksp, b, x, t < 3 && device ? 1000 : 60, many));
        if (t < 3) {
          /*
            complex or single numbers: 1000 iterations are so many that a recurrence breaks down, and a new start has a
            product of PETSc's, which allocates
          */
          KSPFusedInfo info;

          PetscCall(KSPFusedGetInfo(ksp, &info));
          PetscCall(SpikeTestCheck((PetscBool)((few[0] == many[0] && few[1] == many[1]) ||
                                               (!(PetscDefined(USE_REAL_DOUBLE) && !PetscDefined(USE_COMPLEX)) &&
                                                info.restarts)),
                                   "%s, %s, form %" PetscInt_FMT ": %" PetscInt_FMT
                                   " synchronizations and %" PetscInt_FMT
                                   " allocations in 30 iterations, %" PetscInt_FMT " and %" PetscInt_FMT " in more",
                                   types[t], pcs[p], form, few[0], few[1], many[0], many[1]));
          PetscCall(SpikeTestCheck((PetscBool)((info.persistent > 0) == (device && info.copy && form == 2 && p < 2)),
                                   "%s, %s, form %" PetscInt_FMT ": %" PetscInt_FMT " iterations in one kernel",
                                   types[t], pcs[p], form, info.persistent));
          PetscCall(SpikeTestCheck((PetscBool)(info.lockstep != device), "%s, %s: lockstep %d on the %s", types[t],
                                   pcs[p], info.lockstep, device ? "device" : "host"));
        } else
          PetscCall(
            SpikeTestCheck((PetscBool)(!device || many[0] > few[0]), "%s: the counters count nothing", types[t]));
        PetscCall(KSPDestroy(&ksp));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&b));
        PetscCall(MatDestroy(&A));
      }
  PetscCall(SpikeTestEnd("ksp_nosync"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_nosync_1.out
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -product petsc
      test:
         suffix: cudacopy
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
