/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudarhs.cu: tests of the CUDA backend of rhs.h against the host's loops, and of its recurrences on the device;
  prints TAP
*/
static char help[] = "Steps over several right-hand sides of the CUDA backend of the fused Krylov methods.\n\
  -share <k,m> : every m-th case from case k on, for memory checkers, which take minutes for all\n\
  -small       : few sizes, for memory checkers\n\n";

#include <petscdevice_cuda.h>
#include "kernels/krylov/rhs.h"

static PetscErrorCode Make(PetscScalar **there, PetscInt count)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)there, PetscMax(1, count) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Put(PetscScalar there[], const PetscScalar host[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(there, host, count * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(PetscScalar host[], const PetscScalar there[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(host, there, count * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Drop(PetscScalar there[])
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeIndices(PetscInt **there, const PetscInt host[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)there, PetscMax(1, count) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMemcpy(*there, host, count * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DropIndices(PetscInt there[])
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "rhscase.h"
#include "rhsmultcase.h"
#include "blockcgcase.h"

/*
  The scalars that the device makes of the sums of a step, against those that the host makes of the sums that the device
  gives it; and after an exchange of columns
*/
static PetscErrorCode TestRecurrences(SpikeKrylovRhs *cuda, SpikeKrylovRhs *ondevice, PetscInt n)
{
  const SpikeKrylovStep steps[] = {SPIKE_BCGS_START, SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA, SPIKE_BCGS_X,
                                   SPIKE_CG_START,   SPIKE_CG_ALPHA,   SPIKE_CG_BETA};
  const PetscInt        a[] = {1}, b[] = {5};
  PetscInt              ld[SPIKE_KRYLOV_MAXVECTORS];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < SPIKE_KRYLOV_MAXVECTORS; k++) ld[k] = n;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(steps); k++) {
    const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[steps[k]];

    for (int side = 0; side < 2; side++) {
      SpikeKrylovRhs *s = side ? ondevice : cuda;
      Blocks          v;

      PetscCall(MakeBlocks(n, n, info->nvectors, &v));
      for (PetscInt c = 0; c < ROOM; c++) {
        memset((void *)&s->scalars[c], 0, sizeof(s->scalars[c]));
        s->scalars[c].rho = s->scalars[c].f.alpha = s->scalars[c].f.omega = PetscAbsScalar(NumberAt(25, c)) + 0.5;
        s->scalars[c].rpinverse                                           = 1.0;
        s->scalars[c].reason = c == WIDTH / 2 ? (int)KSP_CONVERGED_RTOL : 0;
      }
      PetscCall((*s->k->push)(s, ROOM));
      PetscCall((*s->k->step)(s, WIDTH, steps[k], n, v.there, ld));
      if (side) PetscCall((*s->k->pull)(s, WIDTH));
      else {
        PetscCall((*s->k->sums)(s, WIDTH, info->ndots));
        for (PetscInt c = 0; c < WIDTH; c++)
          if (!s->scalars[c].reason) SpikeKrylovRecur(steps[k], &s->scalars[c], s->sums + c * info->ndots);
      }
      PetscCall(DropBlocks(&v));
    }
    for (PetscInt c = 0; c < WIDTH; c++)
      Check((PetscBool)!memcmp(&cuda->scalars[c], &ondevice->scalars[c], sizeof(cuda->scalars[c])), info->name, n,
            "scalars on the device");
    PetscCall((*ondevice->k->swap)(ondevice, 1, a, b, 0, 0, NULL, n));
    for (PetscInt c = 0; c < ROOM; c++) ondevice->scalars[c].norm = -1.0;
    PetscCall((*ondevice->k->pull)(ondevice, ROOM));
    Check((PetscBool)!memcmp(&cuda->scalars[1], &ondevice->scalars[5], sizeof(cuda->scalars[1])), info->name, n,
          "scalars on the device after an exchange");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The small matrices that the device makes of inner products with shared vectors, as above; those of a column with a
  reason, and of columns after the width, stay
*/
static PetscErrorCode TestSmall(SpikeKrylovRhs *cuda, SpikeKrylovRhs *ondevice, PetscInt n)
{
  const SpikeIDRRecurrence residual = {SPIKE_IDR_RESIDUAL, SHADE, 0, 0, 1, 0.0};
  const PetscInt           nsums = SHADE + 1, count = ROOM * cuda->nsmall;
  PetscScalar             *got;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, &got));
  for (int side = 0; side < 2; side++) {
    SpikeKrylovRhs  *s = side ? ondevice : cuda;
    SpikeKrylovBasis b;
    Blocks           v;

    PetscCall(MakeBlocks(n, n, SHADE + 1, &v));
    memset((void *)&b, 0, sizeof(b));
    b.n    = n;
    b.last = SHADE;
    b.A    = v.there;
    b.y    = v.there[SHADE];
    for (PetscInt c = 0; c < ROOM; c++) {
      memset((void *)&s->scalars[c], 0, sizeof(s->scalars[c]));
      s->scalars[c].reason = c == WIDTH / 2 ? (int)KSP_CONVERGED_RTOL : 0;
      for (PetscInt i = 0; i < s->nsmall && !side; i++)
        cuda->hostsmall[c * s->nsmall + i] = NumberAt(23 + c, i) + PetscScalar(3.0);
    }
    if (side) PetscCall(Put(s->small, got, count));
    else PetscCall(PetscArraycpy(got, s->hostsmall, count));
    PetscCall((*s->k->push)(s, ROOM));
    PetscCall((*s->k->basisstep)(s, WIDTH, SPIKE_KRYLOV_DOTS, &b, 0, n, NULL, &residual));
    if (side) PetscCall((*s->k->pull)(s, ROOM));
    else {
      PetscCall((*s->k->sums)(s, WIDTH, nsums));
      for (PetscInt c = 0; c < WIDTH; c++)
        if (!s->scalars[c].reason)
          SpikeIDRRecur(&residual, &s->scalars[c], s->hostsmall + c * s->nsmall, s->sums + c * nsums);
    }
    PetscCall(DropBlocks(&v));
  }
  PetscCall(Get(got, ondevice->small, count));
  for (PetscInt i = 0; i < count; i++)
    Check((PetscBool)(PetscAbsScalar(got[i] - cuda->hostsmall[i]) <=
                      20 * PETSC_MACHINE_EPSILON * PetscAbsScalar(cuda->hostsmall[i])),
          "recurrence", n, "small matrices on the device");
  for (PetscInt c = 0; c < ROOM; c++)
    Check((PetscBool)!memcmp(&cuda->scalars[c], &ondevice->scalars[c], sizeof(cuda->scalars[c])), "recurrence", n,
          "scalars on the device");
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {0, 1, 7, 64, 513, 4099, 300001};
  SpikeKrylovRhs s, d;
  SpikeKrylov    single;
  PetscBool      small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(ShareGet());
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&d, sizeof(d)));
  PetscCall(PetscMemzero(&single, sizeof(single)));
  s.k        = &SpikeKrylovRhsKernels_CUDA;
  s.m        = ROOM;
  s.ncolumns = DOTS;
  s.nsmall   = SpikeIDRSize(SHADE);
  d          = s;
  d.ondevice = PETSC_TRUE;
  single.k   = &SpikeKrylovKernels_CUDA;
  PetscCall((*s.k->create)(&s));
  PetscCall((*d.k->create)(&d));
  PetscCall((*single.k->create)(&single));
  PetscCall(TestBackend(&s, &single, sizes, small ? 5 : PETSC_STATIC_ARRAY_LENGTH(sizes)));
  PetscCall(TestMany(s.k, &single, small ? 6 : 8));
  for (PetscInt n : {1, 513, 100001})
    if ((!small || n < 1000) && ShareNext()) {
      PetscCall(TestRecurrences(&s, &d, n));
      PetscCall(TestSmall(&s, &d, n));
    }
  Line("recurrences on the device");
  if (ShareNext()) PetscCall(TestBlockCG(s.k));
  PetscCall((*single.k->destroy)(&single));
  PetscCall((*d.k->destroy)(&d));
  PetscCall((*s.k->destroy)(&s));
  printf("1..%d # %ld checks\n", (int)line, (long)checks);
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
