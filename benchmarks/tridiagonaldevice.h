/* SPDX-License-Identifier: BSD-2-Clause */
/* tridiagonaldevice.h: for benchmarks/tridiagonal: a case in the memory of a device, times of what is enqueued for it, by calls and by CUDA graphs */
#pragma once

#include "tridiagonalrun.h"
#include <petscdevice_cuda.h>

/* Copies of a case on the device, dl of first rows and du of last ones 0, for cuSPARSE */
typedef struct {
  const Run   *run;
  const Case  *c;
  PetscInt     copies;
  PetscCount   n;
  cudaStream_t stream;
  cudaEvent_t  event[2];
  PetscScalar *dl, *d, *du, *b, *x; /* [copies n] */
} Device;

/* Enqueues what is to be timed for one copy */
typedef PetscErrorCode (*Work)(void *ctx, PetscInt copy);

static PetscErrorCode TimeRounds(Device *dev, PetscInt rounds, Work work, void *ctx, cudaGraphExec_t exec, double *ms)
{
  float elapsed;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaStreamSynchronize(dev->stream));
  PetscCallCUDA(cudaEventRecord(dev->event[0], dev->stream));
  for (PetscInt r = 0; r < rounds; r++) {
    if (exec) PetscCallCUDA(cudaGraphLaunch(exec, dev->stream));
    for (PetscInt k = 0; k < dev->copies && !exec; k++) PetscCall((*work)(ctx, k));
  }
  PetscCallCUDA(cudaEventRecord(dev->event[1], dev->stream));
  PetscCallCUDA(cudaEventSynchronize(dev->event[1]));
  PetscCallCUDA(cudaEventElapsedTime(&elapsed, dev->event[0], dev->event[1]));
  *ms = (double)elapsed / ((double)rounds * (double)dev->copies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One graph of the work for all copies; NULL where something in it cannot be captured */
static PetscErrorCode Capture(Device *dev, Work work, void *ctx, cudaGraphExec_t *exec)
{
  cudaGraph_t    graph = NULL;
  PetscErrorCode ierr  = PETSC_SUCCESS;
  cudaError_t    status;

  PetscFunctionBeginUser;
  *exec = NULL;
  PetscCallCUDA(cudaStreamSynchronize(dev->stream));
  PetscCallCUDA(cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (PetscInt k = 0; k < dev->copies && !ierr; k++) ierr = (*work)(ctx, k);
  PetscCall(PetscPopErrorHandler());
  status = cudaStreamEndCapture(dev->stream, &graph);
  if (!ierr && status == cudaSuccess && graph && cudaGraphInstantiate(exec, graph, 0) != cudaSuccess) *exec = NULL;
  (void)cudaGetLastError();
  if (graph) PetscCallCUDA(cudaGraphDestroy(graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Medians, a copy: of calls one behind the other, which wait for the host where they are short, and of a graph with all copies. restore() makes the input anew before each measurement; where what is
   enqueued has destroyed it (single), a measurement has each copy once, else as many rounds as make up 3 ms */
static PetscErrorCode TimeWork(Device *dev, Work restore, PetscBool single, Work work, void *ctx, double *ms, double *graph)
{
  double          t[MAXREPEAT], once = 0.0;
  PetscInt        rounds = 1;
  cudaGraphExec_t exec   = NULL;
  PetscLogDouble  begin, now;

  PetscFunctionBeginUser;
  for (int way = 0; way < 2; way++) {
    int count = 0;

    if (way) PetscCall(Capture(dev, work, ctx, &exec));
    if (way && !exec) break;
    PetscCall(PetscTime(&begin));
    for (int r = -2; r < (int)dev->run->repeat; r++) {
      for (PetscInt k = 0; k < dev->copies && restore; k++) PetscCall((*restore)(ctx, k));
      PetscCall(TimeRounds(dev, rounds, work, ctx, exec, &once));
      if (r == -1 && !single && !way) rounds = (PetscInt)PetscMax(1.0, PetscMin(16.0, 3.0 / (once * (double)dev->copies)));
      if (r >= 0) t[count++] = once;
      PetscCall(PetscTime(&now));
      if (count && now - begin > dev->run->seconds) break;
    }
    *(way ? graph : ms) = Median(count, t);
  }
  if (exec) PetscCallCUDA(cudaGraphExecDestroy(exec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceArray(PetscCount count, PetscScalar **p)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc((void **)p, (size_t)PetscMax(count, 1) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceCreate(const Run *run, const Case *c, cudaStream_t stream, Device *dev)
{
  const PetscReal    words  = 5.0 * c->n * sizeof(PetscScalar);
  PetscScalar *const from[] = {c->dl, c->d, c->du, c->b};
  PetscScalar      **to[]   = {&dev->dl, &dev->d, &dev->du, &dev->b, &dev->x};

  PetscFunctionBeginUser;
  dev->run    = run;
  dev->c      = c;
  dev->n      = c->n;
  dev->stream = stream;
  dev->copies = (PetscInt)PetscMax(1.0, PetscMin((PetscReal)MAXCOPIES, PetscCeilReal(run->cold * 1e6 / words)));
  for (PetscInt i = 0; i < c->nsys; i++) c->dl[c->start[i]] = c->du[c->start[i + 1] - 1] = 0.0;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventCreate(&dev->event[k]));
  for (int k = 0; k < 5; k++) {
    PetscCall(DeviceArray(dev->copies * dev->n, to[k]));
    for (PetscInt i = 0; i < dev->copies; i++) PetscCallCUDA(cudaMemcpy(*to[k] + i * dev->n, i ? *to[k] : from[k % 4], dev->n * sizeof(PetscScalar), i ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice));
  }
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceDestroy(Device *dev)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventDestroy(dev->event[k]));
  PetscCallCUDA(cudaFree(dev->dl));
  PetscCallCUDA(cudaFree(dev->d));
  PetscCallCUDA(cudaFree(dev->du));
  PetscCallCUDA(cudaFree(dev->b));
  PetscCallCUDA(cudaFree(dev->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of copy 0 as it is in dev->x */
static PetscErrorCode DeviceError(Device *dev, double *error)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaStreamSynchronize(dev->stream));
  PetscCallCUDA(cudaMemcpy(dev->c->x, dev->x, dev->n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  *error = CaseError(dev->c, dev->c->x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second, read and written, of a copy that no cache helps */
static PetscErrorCode CopyRate(cudaStream_t stream, PetscReal *rate)
{
  const size_t bytes = (size_t)1 << 30;
  void        *from, *to;
  cudaEvent_t  event[2];
  double       t[20];
  float        ms;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc(&from, bytes));
  PetscCallCUDA(cudaMalloc(&to, bytes));
  PetscCallCUDA(cudaMemset(from, 0, bytes));
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventCreate(&event[k]));
  for (int r = -2; r < 20; r++) {
    PetscCallCUDA(cudaEventRecord(event[0], stream));
    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
    PetscCallCUDA(cudaEventRecord(event[1], stream));
    PetscCallCUDA(cudaEventSynchronize(event[1]));
    PetscCallCUDA(cudaEventElapsedTime(&ms, event[0], event[1]));
    if (r >= 0) t[r] = (double)ms;
  }
  *rate = (PetscReal)(2e3 * (double)bytes / Median(20, t));
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventDestroy(event[k]));
  PetscCallCUDA(cudaFree(from));
  PetscCallCUDA(cudaFree(to));
  PetscFunctionReturn(PETSC_SUCCESS);
}
