/* SPDX-License-Identifier: BSD-2-Clause */
/*
  devicetime.h: for benchmarks: times of what is enqueued on a device, by calls and by CUDA graphs; the rate of a copy
*/
#pragma once

#include "bandcase.h"
#include <petscdevice_cuda.h>

/* Enqueues what is to be timed for one copy of the data */
typedef PetscErrorCode (*Work)(void *ctx, PetscInt copy);

typedef struct {
  PetscInt     repeat, copies;
  PetscReal    seconds; /* so long after the first measurement none is begun      */
  PetscReal    longest; /* ms: no graph of what takes longer by calls, 0: always one */
  cudaStream_t stream;
  cudaEvent_t  event[2];
} Clock;

static inline PetscErrorCode ClockRounds(const Clock *c, PetscInt rounds, Work work, void *ctx, cudaGraphExec_t exec,
                                         double *ms)
{
  float elapsed;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaStreamSynchronize(c->stream));
  PetscCallCUDA(cudaEventRecord(c->event[0], c->stream));
  for (PetscInt r = 0; r < rounds; r++) {
    if (exec) PetscCallCUDA(cudaGraphLaunch(exec, c->stream));
    for (PetscInt k = 0; k < c->copies && !exec; k++) PetscCall((*work)(ctx, k));
  }
  PetscCallCUDA(cudaEventRecord(c->event[1], c->stream));
  PetscCallCUDA(cudaEventSynchronize(c->event[1]));
  PetscCallCUDA(cudaEventElapsedTime(&elapsed, c->event[0], c->event[1]));
  *ms = (double)elapsed / ((double)rounds * (double)c->copies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One graph of the work for all copies; NULL where something in it cannot be captured */
static inline PetscErrorCode ClockCapture(const Clock *c, Work work, void *ctx, cudaGraphExec_t *exec)
{
  cudaGraph_t    graph = NULL;
  PetscErrorCode ierr  = PETSC_SUCCESS;
  cudaError_t    status;

  PetscFunctionBeginUser;
  *exec = NULL;
  PetscCallCUDA(cudaStreamSynchronize(c->stream));
  PetscCallCUDA(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  for (PetscInt k = 0; k < c->copies && !ierr; k++) ierr = (*work)(ctx, k);
  PetscCall(PetscPopErrorHandler());
  status = cudaStreamEndCapture(c->stream, &graph);
  if (!ierr && status == cudaSuccess && graph && cudaGraphInstantiate(exec, graph, 0) != cudaSuccess) *exec = NULL;
  (void)cudaGetLastError();
  if (graph) PetscCallCUDA(cudaGraphDestroy(graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Medians, a copy: of calls one after the other, which wait for the host where they are short, and, where graph is not
  NULL, of a graph with all copies. restore() makes the input anew before each measurement; where what is enqueued has
  destroyed it (single), a measurement has each copy once, else as many rounds as make up 3 ms
*/
static inline PetscErrorCode ClockTime(const Clock *c, Work restore, PetscBool single, Work work, void *ctx, double *ms,
                                       double *graph)
{
  double          t[MAXREPEAT], once = 0.0;
  PetscInt        rounds = 1;
  cudaGraphExec_t exec   = NULL;
  PetscLogDouble  begin, now;

  PetscFunctionBeginUser;
  for (int way = 0; way < (graph ? 2 : 1); way++) {
    int count = 0;

    if (way && c->longest > 0.0 && *ms > (double)c->longest) break;
    if (way) PetscCall(ClockCapture(c, work, ctx, &exec));
    if (way && !exec) break;
    PetscCall(PetscTime(&begin));
    for (int r = -2; r < (int)c->repeat; r++) {
      for (PetscInt k = 0; k < c->copies && restore; k++) PetscCall((*restore)(ctx, k));
      PetscCall(ClockRounds(c, rounds, work, ctx, exec, &once));
      if (r == -1 && !single && !way)
        rounds = (PetscInt)PetscMax(1.0, PetscMin(16.0, 3.0 / (once * (double)c->copies)));
      if (r >= 0) t[count++] = once;
      PetscCall(PetscTime(&now));
      if (count && now - begin > c->seconds) break;
    }
    *(way ? graph : ms) = Median(count, t);
  }
  if (exec) PetscCallCUDA(cudaGraphExecDestroy(exec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second, read and written, of a copy that no cache helps */
static inline PetscErrorCode CopyRate(cudaStream_t stream, PetscReal *rate)
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
