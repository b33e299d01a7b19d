/* SPDX-License-Identifier: BSD-2-Clause */
/* device.cu: devices and kernels that have been asked for what they have */
#include "device.cuh"

#include <unordered_map>

typedef struct {
  cudaFuncAttributes has;
  int                threads, resident; /* of the last question; 0 threads before the first */
  size_t             shared;
} SpikeKernelRecord;

struct SpikeDeviceRecord {
  SpikeDevice                                         device;
  std::unordered_map<const void *, SpikeKernelRecord> kernels;
};

static cudaError_t SpikeDeviceAsk(int number, SpikeDevice *d)
{
  int         cooperative;
  cudaError_t error;
  const struct {
    int           *value;
    cudaDeviceAttr attribute;
  } ask[] = {
    {&d->major, cudaDevAttrComputeCapabilityMajor},
    {&d->minor, cudaDevAttrComputeCapabilityMinor},
    {&d->multiprocessors, cudaDevAttrMultiProcessorCount},
    {&d->shared, cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {&d->cache, cudaDevAttrL2CacheSize},
    {&cooperative, cudaDevAttrCooperativeLaunch},
  };

  for (const auto &a : ask)
    if ((error = cudaDeviceGetAttribute(a.value, a.attribute, number)) != cudaSuccess) return error;
  d->number      = number;
  d->cooperative = cooperative != 0;
  return cudaSuccess;
}

/* References into the tables stay good when more is put there */
static cudaError_t SpikeDeviceFind(SpikeDeviceRecord **found)
{
  static std::unordered_map<int, SpikeDeviceRecord> devices;
  int                                               number;
  cudaError_t                                       error = cudaGetDevice(&number);

  if (error != cudaSuccess) return error;
  auto at = devices.find(number);
  if (at == devices.end()) {
    SpikeDeviceRecord d = {};

    error = SpikeDeviceAsk(number, &d.device);
    if (error != cudaSuccess) return error;
    at = devices.emplace(number, d).first;
  }
  *found = &at->second;
  return cudaSuccess;
}

static cudaError_t SpikeKernelFind(const void *kernel, SpikeDevice **device, SpikeKernelRecord **found)
{
  SpikeDeviceRecord *d;
  cudaError_t        error = SpikeDeviceFind(&d);

  if (error != cudaSuccess) return error;
  auto at = d->kernels.find(kernel);
  if (at == d->kernels.end()) {
    SpikeKernelRecord k = {};

    error = cudaFuncGetAttributes(&k.has, kernel);
    if (error != cudaSuccess) return error;
    at = d->kernels.emplace(kernel, k).first;
  }
  *device = &d->device;
  *found  = &at->second;
  return cudaSuccess;
}

PetscErrorCode SpikeDeviceGet(const SpikeDevice **device)
{
  SpikeDeviceRecord *d;

  PetscFunctionBegin;
  PetscCallCUDA(SpikeDeviceFind(&d));
  PetscCheck(d->device.major >= 8, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Device %d has compute capability %d.%d: GPU kernels of petscspike need 8.0 or later", d->device.number,
             d->device.major, d->device.minor);
  *device = &d->device;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKernelResident(const void *kernel, int threads, size_t shared, int *resident)
{
  SpikeDevice       *d;
  SpikeKernelRecord *k;

  PetscFunctionBegin;
  PetscCallCUDA(SpikeKernelFind(kernel, &d, &k));
  if (k->threads != threads || k->shared != shared) {
    const size_t most = (size_t)d->shared > k->has.sharedSizeBytes ? d->shared - k->has.sharedSizeBytes : 0;

    k->threads = 0;
    if (threads > k->has.maxThreadsPerBlock || shared > most) k->resident = 0;
    else {
      if (shared > (size_t)k->has.maxDynamicSharedSizeBytes) {
        PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most));
        k->has.maxDynamicSharedSizeBytes = (int)most;
      }
      PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k->resident, kernel, threads, shared));
    }
    k->threads = threads;
    k->shared  = shared;
  }
  *resident = k->resident;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKernelFit(const void *kernel, int threads, size_t shared, int *resident)
{
  int blocks;

  PetscFunctionBegin;
  PetscCall(SpikeKernelResident(kernel, threads, shared, &blocks));
  if (resident) *resident = blocks;
  if (blocks < 1) {
    const char        *name = "of petscspike";
    cudaDeviceProp     has;
    SpikeDevice       *d;
    SpikeKernelRecord *k;

    PetscCallCUDA(SpikeKernelFind(kernel, &d, &k));
    PetscCallCUDA(cudaGetDeviceProperties(&has, d->number));
#if CUDART_VERSION >= 12030
    PetscCallCUDA(cudaFuncGetName(&name, kernel));
#endif
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU,
            "Kernel %s wants %d threads and %zu bytes of shared memory, with %zu that it always has, for a thread "
            "block: device %d (%s) gives it %d threads and %d bytes",
            name, threads, shared, k->has.sharedSizeBytes, d->number, has.name, k->has.maxThreadsPerBlock, d->shared);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

cudaError_t SpikeKernelWaits(const void *kernel, bool *waits)
{
  SpikeDevice       *d;
  SpikeKernelRecord *k;
  const cudaError_t  error = SpikeKernelFind(kernel, &d, &k);

  if (error == cudaSuccess) *waits = k->has.ptxVersion >= 90;
  return error;
}
