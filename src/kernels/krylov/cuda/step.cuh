/* SPDX-License-Identifier: BSD-2-Clause */
/* step.cuh: the kernel of one step, and its launches */
#pragma once

#include "krylov.cuh"

/*
  One step on n rows. Words moved: the list in scalars.h. Nothing is done when a reason is set.

  Vector number SINGLE is a diagonal matrix in single precision; -1: there is none. The grid, and with it the order of
  the sums, depends on n, on the number of multiprocessors and on alignment alone.
*/
template <int STEPID, int SINGLE>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeKrylovKernel(PetscInt n, SpikeKrylovVectors v, bool wide, bool recur, SpikeKrylovDevice *device,
                    PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X                     = SpikeKrylovTraits<STEPID>;
  constexpr int          NDOT = X::nd ? X::nd : 1;
  PetscScalar            d[NDOT];
  __shared__ PetscScalar shared[SPIKE_KRYLOV_THREADS / 32];

  SpikeAwait();
  if (SpikeKrylovIdles(STEPID, &device->s)) return;
  const SpikeKrylovFactors f = device->s.f;

  SpikeUnroll(k, NDOT) d[k] = 0.0;
  SpikeKrylovEach<X::nv, X::read, X::written, SINGLE>((PetscInt)blockIdx.x * blockDim.x + threadIdx.x,
                                                      (PetscInt)gridDim.x * blockDim.x, n, v, wide,
                                                      [&](PetscScalar e[]) { X::row(&f, e, d); });
  if constexpr (X::nd > 0) SpikeKrylovFinish<STEPID>(d, shared, recur, device, partials, mail, blockIdx.x, gridDim.x);
}

/* v is NULL where the number of blocks is all that is asked for */
template <int STEPID, int SINGLE = -1>
static PetscErrorCode SpikeKrylovLaunch(const SpikeKrylovCUDA *h, PetscInt n, const SpikeKrylovVectors *v, bool wide,
                                        bool recur, PetscInt *blocks)
{
  int resident;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovResident(SpikeKrylovKernel<STEPID, SINGLE>, &resident));
  *blocks = SpikeKrylovGrid(h->gpu->multiprocessors * PetscMin(resident, SpikeKrylovTraits<STEPID>::nd ? 4 : 8),
                            SpikeKrylovRounds(n, wide), SPIKE_KRYLOV_THREADS);
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(SpikeLaunchEarly((SpikeKrylovKernel<STEPID, SINGLE>), dim3((unsigned)*blocks),
                                 dim3(SPIKE_KRYLOV_THREADS), 0, h->stream, n, *v, wide, recur, h->device, h->partials,
                                 h->devicemail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* step(), with launch() as SpikeKrylovStepLaunch_CUDA() */
template <typename L>
static PetscErrorCode SpikeKrylovStepStart(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[],
                                           L &&launch)
{
  SpikeKrylovCUDA           *h    = (SpikeKrylovCUDA *)s->data;
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  SpikeKrylovVectors         vectors;
  PetscInt                   blocks;

  PetscFunctionBegin;
  if (!s->ondevice && SpikeKrylovIdles(step, s->scalars)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < info->nvectors; k++) vectors.v[k] = v[k];
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(launch(h, step, n, &vectors, SpikeKrylovIsWide(info->nvectors, v), s->ondevice ? true : false, &blocks));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(info->flops * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
