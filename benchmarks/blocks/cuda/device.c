/* SPDX-License-Identifier: BSD-2-Clause */
/* device.c: the place on CUDA */
#include "device.h"

static PetscErrorCode DeviceTime(Place *p, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
                                 double *graph)
{
  Clock clock = ((DevicePlace *)p->device)->clock;

  PetscFunctionBeginUser;
  clock.copies = copies;
  PetscCall(ClockTime(&clock, restore, restore ? PETSC_TRUE : PETSC_FALSE, work, ctx, ms, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DevicePlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p)
{
  DevicePlace          *d;
  struct cudaDeviceProp prop;
  cudaStream_t         *stream;
  PetscReal             rate;
  int                   driver, runtime, device;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PetscNew(&d));
  p->name    = "cuda";
  p->run     = run;
  p->cold    = cold;
  p->seconds = seconds;
  p->time    = DeviceTime;
  p->device  = d;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscDeviceContextGetCurrentContext(&d->before));
  PetscCall(PetscDeviceContextCreate(&d->dctx));
  PetscCall(PetscDeviceContextSetStreamType(d->dctx, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(d->dctx));
  PetscCall(PetscDeviceContextSetCurrentContext(d->dctx));
  PetscCall(PetscDeviceContextGetStreamHandle(d->dctx, (void **)&stream));
  d->clock.repeat  = run->repeat;
  d->clock.seconds = seconds;
  d->clock.longest = 5.0;
  d->clock.stream  = *stream;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventCreate(&d->clock.event[k]));
  p->b.k      = &SpikeBlockKernels_CUDA;
  p->b.stream = (void *)*stream;
  PetscCall((*p->b.k->create)(&p->b));
  PetscCallCUDA(cudaEventCreateWithFlags(&d->begun, cudaEventDisableTiming));
  for (int k = 0; k < MAXSTREAMS; k++) {
    PetscCallCUDA(cudaStreamCreateWithFlags(&d->stream[k], cudaStreamNonBlocking));
    PetscCallCUDA(cudaEventCreateWithFlags(&d->done[k], cudaEventDisableTiming));
    d->b[k].k      = p->b.k;
    d->b[k].stream = (void *)d->stream[k];
    PetscCall((*p->b.k->create)(&d->b[k]));
  }
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCallCUDA(cudaDriverGetVersion(&driver));
  PetscCallCUDA(cudaRuntimeGetVersion(&runtime));
  PetscCall(CopyRate(*stream, &rate));
  p->rate = (double)rate;
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF,
                "block kernels on %s, driver for CUDA %d, runtime %d; a copy moves %.0f GB/s; medians of %" PetscInt_FMT
                "\n",
                prop.name, driver, runtime, 1e-9 * p->rate, run->repeat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DevicePlaceDestroy(Place *p)
{
  DevicePlace *d = (DevicePlace *)p->device;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaDeviceSynchronize());
  for (int k = 0; k < MAXSTREAMS; k++) {
    PetscCall((*p->b.k->destroy)(&d->b[k]));
    PetscCallCUDA(cudaEventDestroy(d->done[k]));
    PetscCallCUDA(cudaStreamDestroy(d->stream[k]));
  }
  PetscCallCUDA(cudaEventDestroy(d->begun));
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventDestroy(d->clock.event[k]));
  PetscCall((*p->b.k->destroy)(&p->b));
  PetscCall(PetscDeviceContextSetCurrentContext(d->before));
  PetscCall(PetscDeviceContextDestroy(&d->dctx));
  PetscCall(PetscFree(p->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Streams 0 .. count - 1 wait for what is enqueued; and what is enqueued next waits for them */
PetscErrorCode Fork(DevicePlace *d, PetscInt count)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaEventRecord(d->begun, d->clock.stream));
  for (PetscInt i = 0; i < count; i++) PetscCallCUDA(cudaStreamWaitEvent(d->stream[i], d->begun, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Join(DevicePlace *d, PetscInt count)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < count; i++) {
    PetscCallCUDA(cudaEventRecord(d->done[i], d->stream[i]));
    PetscCallCUDA(cudaStreamWaitEvent(d->clock.stream, d->done[i], 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
