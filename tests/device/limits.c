/* SPDX-License-Identifier: BSD-2-Clause */
/*
  limits.c: a library to be loaded before CUDA's runtime (LD_PRELOAD): the GPU at hand then has less than it has, so
  that what smaller devices meet is seen on a large one. tests/device.sh uses it.

    SPIKE_DEVICE_SHARED=101376        bytes of shared memory that a thread block can have at most
    SPIKE_DEVICE_MULTIPROCESSORS=20   multiprocessors that the device says it has
    SPIKE_DEVICE_CAPABILITY=75        compute capability 7.5
    SPIKE_DEVICE_REFUSED=1            prints at the end how many calls wanted more than that, and fails if one did

  SpikeDeviceFail(k) lets the k-th allocation of libpetscspike.so from then on fail, counted from 1; 0: none. It returns
  how many there were since the last call. tests/memory.c and tests/memory_matrices.c call it.

  SpikeDeviceHeld() returns the bytes of the device that this process has allocated and not freed, whatever others have
  there. tests/kernels/cudacapture.cu calls it.
*/
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The function of CUDA's runtime under the one of this library that has the same name */
#define ORIGINAL(name) ((__typeof__(&name))FindOriginal(#name))

static void *FindOriginal(const char name[])
{
  void *function = dlsym(RTLD_NEXT, name);

  if (!function) {
    fprintf(stderr, "limits: CUDA's runtime has no %s\n", name);
    abort();
  }
  return function;
}

static long Limit(const char name[], long otherwise)
{
  const char *text = getenv(name);

  return text && *text ? atol(text) : otherwise;
}

static long SharedLimit(void)
{
  return Limit("SPIKE_DEVICE_SHARED", 1l << 30);
}

static long refused;

__attribute__((destructor)) static void Report(void)
{
  if (!Limit("SPIKE_DEVICE_REFUSED", 0) || !refused) return;
  fprintf(stderr, "limits: %ld calls wanted more than %ld bytes of shared memory\n", refused, SharedLimit());
  _exit(97);
}

static cudaError_t Refuse(void)
{
  refused++;
  return cudaErrorInvalidValue;
}

/* Static shared memory of a kernel */
static long StaticOf(const void *kernel)
{
  struct cudaFuncAttributes has;

  return ORIGINAL(cudaFuncGetAttributes)(&has, kernel) == cudaSuccess ? (long)has.sharedSizeBytes : 0;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
  const cudaError_t error = ORIGINAL(cudaDeviceGetAttribute)(value, attribute, device);

  if (error != cudaSuccess) return error;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin && *value > SharedLimit()) *value = (int)SharedLimit();
  if (attribute == cudaDevAttrMaxSharedMemoryPerMultiprocessor && *value > SharedLimit() + 1024)
    *value = (int)SharedLimit() + 1024;
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = (int)Limit("SPIKE_DEVICE_CAPABILITY", 10l * *value) / 10;
  if (attribute == cudaDevAttrComputeCapabilityMinor) *value = (int)Limit("SPIKE_DEVICE_CAPABILITY", *value) % 10;
  if (attribute == cudaDevAttrMultiProcessorCount) *value = (int)Limit("SPIKE_DEVICE_MULTIPROCESSORS", *value);
  return error;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value + StaticOf(kernel) > SharedLimit())
    return Refuse();
  return ORIGINAL(cudaFuncSetAttribute)(kernel, attribute, value);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                   size_t shared, unsigned int flags)
{
  const cudaError_t error = ORIGINAL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(blocks, kernel, threads,
                                                                                             shared, flags);
  const long        each  = (long)shared + StaticOf(kernel) + 1024; /* CUDA takes 1024 bytes of each thread block's */

  if (error == cudaSuccess && *blocks > (SharedLimit() + 1024) / each) *blocks = (int)((SharedLimit() + 1024) / each);
  return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared)
{
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, shared, 0);
}

/* A launch that wants more than there is is one that a smaller device refuses */
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **arguments, size_t shared,
                             cudaStream_t stream)
{
  if (shared > 48 * 1024 && (long)shared + StaticOf(kernel) > SharedLimit()) return Refuse();
  return ORIGINAL(cudaLaunchKernel)(kernel, grid, threads, arguments, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments)
{
  const size_t shared = config->dynamicSmemBytes;

  if (shared > 48 * 1024 && (long)shared + StaticOf(kernel) > SharedLimit()) return Refuse();
  return ORIGINAL(cudaLaunchKernelExC)(config, kernel, arguments);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config)
{
  const cudaError_t error = ORIGINAL(cudaOccupancyMaxActiveClusters)(clusters, kernel, config);

  if (error == cudaSuccess && (long)config->dynamicSmemBytes + StaticOf(kernel) > SharedLimit()) *clusters = 0;
  return error;
}

/* Allocations */
static long allocations, failing;

long SpikeDeviceFail(long k)
{
  const long before = allocations;

  allocations = 0;
  failing     = k;
  return before;
}

/* Whether the code at this address is ours: what PETSc's functions do without memory is theirs */
static int Ours(void *address)
{
  Dl_info info;

  return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libpetscspike");
}

/* An allocation of this size fails as any other does that has no memory, with CUDA's last error set */
#define SPOILED(size) (Ours(__builtin_return_address(0)) && ++allocations == failing ? (size_t)1 << 60 : (size))

/* What is allocated on the device; the tests do that on one thread */
static struct Block {
  void  *p;
  size_t size;
} * blocks;
static size_t nblocks, room, held;

static cudaError_t Hold(cudaError_t error, void *p, size_t size)
{
  if (error != cudaSuccess || !p) return error;
  if (nblocks == room) {
    room   = room ? 2 * room : 256;
    blocks = realloc(blocks, room * sizeof(*blocks));
    if (!blocks) abort();
  }
  blocks[nblocks].p      = p;
  blocks[nblocks++].size = size;
  held += size;
  return error;
}

static void Release(const void *p)
{
  for (size_t k = nblocks; k-- > 0;) {
    if (blocks[k].p != p) continue;
    held -= blocks[k].size;
    blocks[k] = blocks[--nblocks];
    return;
  }
}

size_t SpikeDeviceHeld(void)
{
  return held;
}

cudaError_t cudaMalloc(void **p, size_t size)
{
  const cudaError_t error = ORIGINAL(cudaMalloc)(p, SPOILED(size));

  return Hold(error, error == cudaSuccess ? *p : NULL, size);
}

cudaError_t cudaMallocAsync(void **p, size_t size, cudaStream_t stream)
{
  const cudaError_t error = ORIGINAL(cudaMallocAsync)(p, SPOILED(size), stream);

  return Hold(error, error == cudaSuccess ? *p : NULL, size);
}

cudaError_t cudaFree(void *p)
{
  Release(p);
  return ORIGINAL(cudaFree)(p);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
  Release(p);
  return ORIGINAL(cudaFreeAsync)(p, stream);
}

cudaError_t cudaMallocHost(void **p, size_t size)
{
  return ORIGINAL(cudaMallocHost)(p, SPOILED(size));
}

cudaError_t cudaHostAlloc(void **p, size_t size, unsigned int flags)
{
  return ORIGINAL(cudaHostAlloc)(p, SPOILED(size), flags);
}
