/* SPDX-License-Identifier: BSD-2-Clause */
/* device.cu: devices and kernels that have been asked for what they have */
#include "device.cuh"

#include <unordered_map>

#define SPIKE_CLUSTER_PORTABLE 8 /* thread blocks of a cluster that any kernel may have */

typedef struct {
  cudaFuncAttributes has;
  int                threads, resident; /* of the last question; 0 threads before the first */
  size_t             shared;
  int                blocks; /* of the last cluster, 0 before the first; with so many threads and so much memory */
  int                clusterthreads;
  size_t             clustershared;
  int                clusters; /* that the device holds at once */
  bool               large;    /* whether it may have more blocks than portable ones */
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

/* The attribute has to outlive the configuration */
static cudaLaunchConfig_t SpikeClusterConfig(PetscInt clusters, int blocks, int threads, size_t shared,
                                             cudaStream_t stream, cudaLaunchAttribute *attribute)
{
  cudaLaunchConfig_t config = {};

  attribute->id               = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim.x = (unsigned)blocks;
  attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
  config.gridDim                                            = dim3((unsigned)(clusters * blocks));
  config.blockDim                                           = dim3((unsigned)threads);
  config.dynamicSmemBytes                                   = shared;
  config.stream                                             = stream;
  config.attrs                                              = attribute;
  config.numAttrs                                           = 1;
  return config;
}

PetscErrorCode SpikeKernelCluster(const void *kernel, int blocks, int threads, size_t shared, int *clusters)
{
  SpikeDevice       *d;
  SpikeKernelRecord *k;

  PetscFunctionBegin;
  *clusters = 0;
  PetscCallCUDA(SpikeKernelFind(kernel, &d, &k));
  if (d->major < 9 || k->has.ptxVersion < 90) PetscFunctionReturn(PETSC_SUCCESS);
  if (k->blocks != blocks || k->clusterthreads != threads || k->clustershared != shared) {
    int resident, held = 0;

    k->blocks = 0;
    PetscCall(SpikeKernelResident(kernel, threads, shared, &resident));
    if (resident > 0) {
      cudaLaunchAttribute      attribute;
      const cudaLaunchConfig_t config = SpikeClusterConfig(1, blocks, threads, shared, NULL, &attribute);
      cudaError_t              error  = cudaSuccess;

      if (blocks > SPIKE_CLUSTER_PORTABLE && !k->large) {
        error    = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
        k->large = error == cudaSuccess;
      }
      if (error == cudaSuccess) error = cudaOccupancyMaxActiveClusters(&held, kernel, &config);
      if (error != cudaSuccess) { /* a size that the device does not have */
        held = 0;
        (void)cudaGetLastError();
      }
    }
    k->clusters       = held;
    k->blocks         = blocks;
    k->clusterthreads = threads;
    k->clustershared  = shared;
  }
  *clusters = k->clusters;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeLaunchCluster(const void *kernel, PetscInt clusters, int blocks, int threads, size_t shared,
                                  cudaStream_t stream, void **arguments)
{
  cudaLaunchAttribute      attribute;
  const cudaLaunchConfig_t config = SpikeClusterConfig(clusters, blocks, threads, shared, stream, &attribute);

  PetscFunctionBegin;
  PetscCallCUDA(cudaLaunchKernelExC(&config, kernel, arguments));
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
