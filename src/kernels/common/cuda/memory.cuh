/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.cuh: the stream of a call, and memory of the device */
#pragma once

#include <petscdevice_cuda.h>

/* The stream that the caller has given, or PETSc's current one where it is NULL */
static inline PetscErrorCode SpikeStreamOr(void *given, cudaStream_t *stream)
{
  PetscFunctionBegin;
  if (given) *stream = (cudaStream_t)given;
  else PetscCall(PetscGetCurrentCUDAStream(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an allocation has returned. CUDA keeps an error as its last one, which the next launch would take for its own */
static inline PetscErrorCode SpikeAllocated_CUDA(cudaError_t error)
{
  PetscFunctionBegin;
  if (error != cudaSuccess) (void)cudaGetLastError();
  PetscCallCUDA(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each *ptr <- count elements of the device's memory, NULL for none */
template <typename... X>
static PetscErrorCode SpikeMalloc_CUDA(PetscCount count, X **...ptr)
{
  const struct {
    void **ptr;
    size_t size;
  } list[] = {{(void **)ptr, sizeof(X)}...};

  PetscFunctionBegin;
  for (const auto &p : list) {
    *p.ptr = NULL;
    if (count > 0) PetscCall(SpikeAllocated_CUDA(cudaMalloc(p.ptr, (size_t)count * p.size)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *ptr of an optional thing: *fits <- whether the device has room for it, *ptr NULL where it has not */
template <typename X>
static PetscErrorCode SpikeTryMalloc_CUDA(PetscCount count, X **ptr, bool *fits)
{
  const cudaError_t error = cudaMalloc((void **)ptr, (size_t)count * sizeof(X));

  PetscFunctionBegin;
  *fits = error == cudaSuccess;
  if (error == cudaErrorMemoryAllocation) {
    *ptr = NULL;
    (void)cudaGetLastError();
  } else PetscCall(SpikeAllocated_CUDA(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As SpikeMalloc_CUDA(), with zeros, which the stream writes */
template <typename... X>
static PetscErrorCode SpikeCalloc_CUDA(PetscCount count, cudaStream_t stream, X **...ptr)
{
  PetscFunctionBegin;
  PetscCall(SpikeMalloc_CUDA(count, ptr...));
  if (count > 0)
    for (const cudaError_t error : {cudaMemsetAsync((void *)*ptr, 0, (size_t)count * sizeof(X), stream)...})
      PetscCallCUDA(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  pinned.cu: pinned memory of the host, mapped to devices. Whoever gives it back has waited for the device, if only by
  SpikeFree_CUDA()
*/
PETSC_INTERN PetscErrorCode SpikePinnedTake_CUDA(size_t bytes, void **);
PETSC_INTERN PetscErrorCode SpikePinnedGive_CUDA(void *);

/* *ptr <- count elements of pinned memory of the host */
template <typename X>
static PetscErrorCode SpikeMallocHost_CUDA(PetscCount count, X **ptr)
{
  PetscFunctionBegin;
  PetscCall(SpikePinnedTake_CUDA((size_t)count * sizeof(X), (void **)ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same, as host and device see it */
template <typename X>
static PetscErrorCode SpikeMallocMapped_CUDA(PetscCount count, X **host, X **device)
{
  PetscFunctionBegin;
  PetscCall(SpikeMallocHost_CUDA(count, host));
  PetscCallCUDA(cudaHostGetDevicePointer((void **)device, (void *)*host, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first with a copy of from[], on the host, which is the caller's again when the stream has been waited for */
template <typename X>
static PetscErrorCode SpikeMallocCopy_CUDA(PetscCount count, const X *from, cudaStream_t stream, X **ptr)
{
  PetscFunctionBegin;
  PetscCall(SpikeMalloc_CUDA(count, ptr));
  if (count > 0) {
    PetscCallCUDA(cudaMemcpyAsync(*ptr, from, (size_t)count * sizeof(X), cudaMemcpyHostToDevice, stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)count * sizeof(X)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Frees all of a list of pointers, of any types */
template <typename... X>
static PetscErrorCode SpikeFree_CUDA(X *...ptr)
{
  PetscFunctionBegin;
  for (void *p : {(void *)ptr...}) PetscCallCUDA(cudaFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of pinned memory of the host */
template <typename... X>
static PetscErrorCode SpikeFreeHost_CUDA(X *...ptr)
{
  PetscFunctionBegin;
  for (void *p : {(void *)ptr...}) PetscCall(SpikePinnedGive_CUDA(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
