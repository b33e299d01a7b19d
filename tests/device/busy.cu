/* SPDX-License-Identifier: BSD-2-Clause */
/*
  busy.cu: a library to be loaded into a program (LD_PRELOAD). As soon as the program has a CUDA context, kernels on a
  stream of their own keep the shared memory of all multiprocessors busy, about half of the time, beside the program's
  own kernels: what rests on how long a load takes is seen then. tests/device.sh uses it.

    SPIKE_DEVICE_BUSY_THREADS=512   threads of each of their thread blocks, of which a multiprocessor gets one

  At the end it prints how often they ran, and fails if they never did.
*/
#include <cuda.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUSY_CYCLES 2000000ll /* of each kernel: about a millisecond */
#define BUSY_PAUSE  1000      /* microseconds after it */

/* The loads of a warp all go to one bank */
__global__ void Busy_Kernel(long long cycles, double *out)
{
  __shared__ double s[32 * 32];
  const long long   start = clock64();
  const int         lane  = threadIdx.x & 31;
  volatile double  *v     = s + 32 * lane;
  double            sum   = 0.0;

  for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) s[i] = i;
  __syncthreads();
  while (clock64() - start < cycles)
#pragma unroll
    for (int k = 0; k < 32; k++) sum += v[k];
  if (sum < 0.0) *out = sum; /* never */
}

static pthread_t     thread;
static volatile bool stop;
static long          launches;
static bool          begun;

static bool HasContext(void)
{
  CUdevice     device;
  unsigned int flags;
  int          active = 0;

  return cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
         cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

static void *Busy(void *)
{
  const char  *text    = getenv("SPIKE_DEVICE_BUSY_THREADS");
  const int    threads = text && *text ? atoi(text) : 512;
  int          blocks  = 0;
  double      *out     = NULL;
  cudaStream_t stream;

  while (!stop && !HasContext()) usleep(1000);
  if (stop || cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0) != cudaSuccess ||
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaMalloc((void **)&out, sizeof(*out)) != cudaSuccess)
    return NULL;
  begun = true;
  while (!stop) {
    Busy_Kernel<<<blocks, threads, 0, stream>>>(BUSY_CYCLES, out);
    if (cudaStreamSynchronize(stream) != cudaSuccess) break;
    launches++;
    usleep(BUSY_PAUSE);
  }
  return NULL;
}

__attribute__((constructor)) static void Begin(void)
{
  (void)pthread_create(&thread, NULL, Busy, NULL);
}

__attribute__((destructor)) static void End(void)
{
  stop = true;
  (void)pthread_join(thread, NULL);
  if (!begun) return; /* a program without CUDA */
  fprintf(stderr, "busy: %ld kernels kept shared memory busy\n", launches);
  if (!launches) _exit(98);
}
