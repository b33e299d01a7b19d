/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockscuda.h: for benchmarks/blocks: the place on CUDA, tasks on streams, and cuBLAS, from the library that PETSc is
  linked with
*/
#pragma once

#include "blockstall.h"
#include "devicetime.h"

#define MAXSTREAMS 64

/* Place.device: the clock, and streams that branch from its stream and come back */
typedef struct {
  Clock              clock;
  PetscDeviceContext dctx, before;
  cudaStream_t       stream[MAXSTREAMS];
  cudaEvent_t        begun, done[MAXSTREAMS];
  SpikeBlock         b[MAXSTREAMS];
} DevicePlace;

static PetscErrorCode DeviceTime(Place *p, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
                                 double *graph)
{
  Clock clock = ((DevicePlace *)p->device)->clock;

  PetscFunctionBeginUser;
  clock.copies = copies;
  PetscCall(ClockTime(&clock, restore, restore ? PETSC_TRUE : PETSC_FALSE, work, ctx, ms, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DevicePlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p)
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

static PetscErrorCode DevicePlaceDestroy(Place *p)
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
static PetscErrorCode Fork(DevicePlace *d, PetscInt count)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaEventRecord(d->begun, d->clock.stream));
  for (PetscInt i = 0; i < count; i++) PetscCallCUDA(cudaStreamWaitEvent(d->stream[i], d->begun, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Join(DevicePlace *d, PetscInt count)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < count; i++) {
    PetscCallCUDA(cudaEventRecord(d->done[i], d->stream[i]));
    PetscCallCUDA(cudaStreamWaitEvent(d->clock.stream, d->done[i], 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Task by task, a stream each */
static PetscErrorCode TallStreams(void *ctx, PetscInt k)
{
  Tall          *t     = (Tall *)ctx;
  DevicePlace   *d     = (DevicePlace *)t->p->device;
  const PetscInt count = PetscMin(t->ntasks, MAXSTREAMS);

  PetscFunctionBeginUser;
  PetscCall(Fork(d, count));
  for (PetscInt i = 0; i < t->ntasks; i++)
    PetscCall((*t->p->b.k->run)(&d->b[i % MAXSTREAMS], t->precision, 1, t->tasks + k * t->ntasks + i));
  PetscCall(Join(d, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- cuBLAS
  --------------------------------------------------------------------------------------------------------------------
*/
typedef struct {
  Tall       *t;
  void       *handle, *workspace;
  SpikeDouble one;
  SpikeSingle single;
  int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, const void *, int, const void *, void *,
              int);
  int (*batched)(void *, int, int, int, int, int, const void *, const void *, int, long long, const void *, int,
                 long long, const void *, void *, int, long long, int);
} CuBLAS;

static inline int Operation(char op)
{
  return op == 'N' ? 0 : op == 'T' ? 1 : 2;
}

static inline const void *CuBLASOne(const CuBLAS *s)
{
  return s->t->precision == PETSC_SPIKE_PRECISION_DOUBLE ? (const void *)&s->one : (const void *)&s->single;
}

/* Task by task, one behind the other */
static PetscErrorCode CuBLASWork(void *ctx, PetscInt k)
{
  CuBLAS *s = (CuBLAS *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->t->ntasks; i++) {
    const Product g  = TallProduct(&s->t->tasks[k * s->t->ntasks + i]);
    const int status = s->gemm(s->handle, Operation(g.opa), Operation(g.opb), g.m, g.n, g.k, CuBLASOne(s), g.A, g.lda,
                               g.B, g.ldb, CuBLASOne(s), g.C, g.ldc);

    PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS: status %d of gemm", status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuBLASBatched(void *ctx, PetscInt k)
{
  CuBLAS       *s      = (CuBLAS *)ctx;
  const Product g      = TallProduct(&s->t->tasks[k * s->t->ntasks]),
                next   = TallProduct(&s->t->tasks[k * s->t->ntasks + (s->t->ntasks > 1 ? 1 : 0)]);
  const ptrdiff_t size = (ptrdiff_t)NumberBytes(s->t->precision), a = ((const char *)next.A - (const char *)g.A) / size,
                  b = ((const char *)next.B - (const char *)g.B) / size, c = ((char *)next.C - (char *)g.C) / size;
  int status;

  PetscFunctionBeginUser;
  status = s->batched(s->handle, Operation(g.opa), Operation(g.opb), g.m, g.n, g.k, CuBLASOne(s), g.A, g.lda,
                      (long long)a, g.B, g.ldb, (long long)b, CuBLASOne(s), g.C, g.ldc, (long long)c,
                      (int)s->t->ntasks);
  PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS: status %d of gemmStridedBatched", status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line of the peer, or none where the library refuses */
static PetscErrorCode TallLine(Tall *t, const Key *key, const char solver[], BlockWork work, void *ctx,
                               PetscBool turned)
{
  double         ms = NAN, graph = NAN, error;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = (*work)(ctx, 0);
  PetscCall(PetscPopErrorHandler());
  if (ierr) {
    PetscCall(Report(t->p, key, solver, NAN, NAN, NAN, "refused"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*t->p->time)(t->p, t->copies, NULL, work, ctx, &ms, &graph));
  PetscCall(TallError(t, work, ctx, turned, &error));
  PetscCall(Report(t->p, key, solver, ms, graph, error, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuBLAS in the layout of the cell; of many tasks our own on streams too, and in one batch where all are the same */
static PetscErrorCode TallDevicePeers(Tall *t, const Key *key)
{
  /* what cuBLAS wants on this kind of device, its own: it can be captured then */
  const size_t workspace = (size_t)32 << 20;
  const char   letter    = PrecisionLetter(t->precision);
  CuBLAS       s;
  char         name[40];
  int (*create)(void **), (*destroy)(void *), (*setstream)(void *, cudaStream_t),
    (*setworkspace)(void *, void *, size_t);

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.t      = t;
  s.one    = 1.0;
  s.single = 1.0f;
  if (t->ntasks > 1) PetscCall(TallLine(t, key, "ours on streams", TallStreams, t, PETSC_FALSE));
  PetscCall(PetscSNPrintf(name, sizeof(name), "cublas%cgemm_v2", letter));
  if (!FindSymbol(RTLD_DEFAULT, "cublasCreate_v2", &create) ||
      !FindSymbol(RTLD_DEFAULT, "cublasDestroy_v2", &destroy) ||
      !FindSymbol(RTLD_DEFAULT, "cublasSetStream_v2", &setstream) ||
      !FindSymbol(RTLD_DEFAULT, "cublasSetWorkspace_v2", &setworkspace) || !FindSymbol(RTLD_DEFAULT, name, &s.gemm))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), "cublas%cgemmStridedBatched", letter));
  PetscCallCUDA(cudaMalloc(&s.workspace, workspace));
  PetscCheck(!create(&s.handle) && !setstream(s.handle, ((DevicePlace *)t->p->device)->clock.stream) &&
               !setworkspace(s.handle, s.workspace, workspace),
             PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  PetscCall(
    TallLine(t, key, t->ntasks > 1 ? "cuBLAS one by one" : "cuBLAS", CuBLASWork, &s, (PetscBool)(key->rowmajor)));
  if (t->ntasks > 1 && t->tasks[0].op == t->tasks[1].op && FindSymbol(RTLD_DEFAULT, name, &s.batched))
    PetscCall(TallLine(t, key, "cuBLAS batched", CuBLASBatched, &s, key->rowmajor));
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCheck(!destroy(s.handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  PetscCallCUDA(cudaFree(s.workspace));
  PetscFunctionReturn(PETSC_SUCCESS);
}
