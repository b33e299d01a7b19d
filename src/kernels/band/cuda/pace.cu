/* SPDX-License-Identifier: BSD-2-Clause */
/* pace.cu: how fast the device in hand is, beside the one that the model of partitions was fitted to */
#include "band.cuh"

#define SPIKE_PACE_REPEAT   5
#define SPIKE_PACE_LAUNCHES 64
#define SPIKE_PACE_STEPS    4096

/* What an H200 takes: us a launch, ns for 1000 bytes of a copy, ns a step of SpikePaceSteps_Kernel() */
static const SpikePace reference = {4.0, 0.26, 40.0};

static __global__ void SpikePaceLaunch_Kernel(void) { }

/* A step of a sweep as one warp has it: a value from another lane's place in shared memory, and a multiplication */
static __global__ void SpikePaceSteps_Kernel(PetscReal factor, PetscReal *out)
{
  __shared__ PetscReal shared[32];
  const int            lane = threadIdx.x;
  PetscReal            v    = lane;

  for (int i = 0; i < SPIKE_PACE_STEPS; i++) {
    shared[lane] = v;
    __syncwarp();
    v = factor * shared[(lane + 1) % 32] + v;
    v += __shfl_xor_sync(0xFFFFFFFFu, v, 1);
    __syncwarp();
  }
  out[lane] = v;
}

/* The least of some runs, for others may use the device too; ms. what: 0 launches, 1 a copy, 2 steps */
static PetscErrorCode SpikePaceTime_Private(int what, char *room, size_t bytes, cudaStream_t stream, PetscReal *ms)
{
  cudaEvent_t begin, end;
  float       t;

  PetscFunctionBegin;
  *ms = PETSC_MAX_REAL;
  PetscCallCUDA(cudaEventCreate(&begin));
  PetscCallCUDA(cudaEventCreate(&end));
  for (int k = 0; k <= SPIKE_PACE_REPEAT; k++) { /* the first one is not counted */
    PetscCallCUDA(cudaEventRecord(begin, stream));
    if (what == 0)
      for (int i = 0; i < SPIKE_PACE_LAUNCHES; i++) SpikePaceLaunch_Kernel<<<1, 32, 0, stream>>>();
    if (what == 1) PetscCallCUDA(cudaMemcpyAsync(room, room + bytes, bytes, cudaMemcpyDeviceToDevice, stream));
    if (what == 2) SpikePaceSteps_Kernel<<<1, 32, 0, stream>>>((PetscReal)1e-3, (PetscReal *)room);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaEventRecord(end, stream));
    PetscCallCUDA(cudaEventSynchronize(end));
    PetscCallCUDA(cudaEventElapsedTime(&t, begin, end));
    if (k) *ms = PetscMin(*ms, (PetscReal)t);
  }
  PetscCallCUDA(cudaEventDestroy(begin));
  PetscCallCUDA(cudaEventDestroy(end));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  To the nearest power of 2 to the 1/steps, so that choices do not change with the noise of a measurement. Launches are
  the host's work: 3.4 to 4.9 us were measured beside the same device
*/
static PetscReal SpikePaceRound_Private(PetscReal ratio, int steps)
{
  return PetscPowReal(2, PetscFloorReal(steps * PetscLog2Real(ratio) + (PetscReal)0.5) / steps);
}

/* A copy of twice the L2 cache; where there is no memory for it nothing is measured, and the pace is the reference's */
static PetscErrorCode SpikePaceMeasure_Private(const SpikeDevice *gpu, SpikePace *pace, PetscBool *measured)
{
  const size_t bytes = PetscMax((size_t)gpu->cache * 2, (size_t)1 << 24);
  cudaStream_t stream;
  char        *room;
  PetscReal    launches, copy, steps;

  PetscFunctionBegin;
  *measured    = PETSC_FALSE;
  pace->launch = pace->memory = pace->step = 1;
  if (cudaMalloc((void **)&room, 2 * bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    PetscCall(PetscInfo(NULL,
                        "No memory for a measurement of the device (%zu bytes): the speed of the model is taken\n",
                        2 * bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallCUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  PetscCallCUDA(cudaMemsetAsync(room, 0, 2 * bytes, stream));
  PetscCall(SpikePaceTime_Private(0, room, bytes, stream, &launches));
  PetscCall(SpikePaceTime_Private(1, room, bytes, stream, &copy));
  PetscCall(SpikePaceTime_Private(2, room, bytes, stream, &steps));
  PetscCallCUDA(cudaStreamDestroy(stream));
  PetscCallCUDA(cudaFree(room));
  *measured = PETSC_TRUE;
  launches *= (PetscReal)1e3 / SPIKE_PACE_LAUNCHES;
  copy *= (PetscReal)1e9 / (2 * (PetscReal)bytes);
  steps *= (PetscReal)1e6 / SPIKE_PACE_STEPS;
  pace->launch = SpikePaceRound_Private(launches / reference.launch, 1);
  pace->memory = SpikePaceRound_Private(copy / reference.memory, 2);
  pace->step   = SpikePaceRound_Private(steps / reference.step, 2);
  PetscCall(PetscInfo(NULL, "Measured: %g us a launch, %g ns for 1000 bytes of a copy, %g ns a dependent step\n",
                      (double)launches, (double)copy, (double)steps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Known of the last device that was asked for, or from a file, or measured, a few ms */
PetscErrorCode SpikePace_CUDA(const SpikeDevice *gpu, SpikePace *pace)
{
  static SpikePace last;
  static int       number = -1;
  cudaDeviceProp   properties;
  PetscBool        known;
  char             name[320];
  int              driver;

  PetscFunctionBegin;
  if (number != gpu->number) {
    PetscCallCUDA(cudaGetDeviceProperties(&properties, gpu->number));
    PetscCallCUDA(cudaDriverGetVersion(&driver));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s-cuda%d-%s", properties.name, driver,
                            PetscDefined(USE_REAL_SINGLE) ? "single" : "double"));
    PetscCall(SpikePaceRead(name, &last, &known));
    if (!known) {
      PetscCall(SpikePaceMeasure_Private(gpu, &last, &known));
      if (known) PetscCall(SpikePaceWrite(name, &last));
    }
    PetscCall(PetscInfo(NULL, "Times of %s over those of the model of partitions: launches %g, memory %g, steps %g\n",
                        properties.name, (double)last.launch, (double)last.memory, (double)last.step));
    if (known) number = gpu->number; /* else the next setup may find the memory */
  }
  *pace = last;
  PetscFunctionReturn(PETSC_SUCCESS);
}
