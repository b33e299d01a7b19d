/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudahalf.cu: tests of the device's conversions between single precision and 16 bits (band_tiles.cuh) against the
  host's; prints TAP
*/
static char
  help[] = "Tests of the conversions of the CUDA backend to and from bf16 and fp16, on the device and on the host.\n\n";

#include "kernels/band/cuda/band_tiles.cuh"
#include "kernels/common/host/half.h"
#include "devicearrays.cuh"

#define COUNT  (65536 * 4)
#define STEP   521 /* every STEPth number of single precision, in PASSES passes over a bit more than all */
#define PASSES 32

/* 2 i: bf16, 2 i + 1: fp16 */
__host__ __device__ static inline void Convert(unsigned int first, unsigned int i, unsigned short *bits, float *back)
{
  const unsigned int b = first + STEP * i;
  float              v;

  memcpy(&v, &b, sizeof(v));
  bits[2 * i]     = SpikeNarrowBits<true>(v);
  bits[2 * i + 1] = SpikeNarrowBits<false>(v);
  back[2 * i]     = SpikeNarrowValue<true>((unsigned short)i);
  back[2 * i + 1] = SpikeNarrowValue<false>((unsigned short)i);
}

__global__ void __launch_bounds__(256) ConvertKernel(unsigned int first, unsigned short *bits, float *back)
{
  Convert(first, blockIdx.x * 256 + threadIdx.x, bits, back);
}

/* Numbers that are not those of the host; NaN is any NaN */
static PetscInt Compare(unsigned int first, const unsigned short *bits, const float *back)
{
  PetscInt bad = 0;

  for (unsigned int i = 0; i < COUNT; i++) {
    const unsigned short h = (unsigned short)i;
    const float          v = SpikeFloatOfBits(first + STEP * i), w[] = {SpikeFromBF16(h), SpikeFromFP16(h)};
    const unsigned short to[] = {SpikeToBF16(v), SpikeToFP16(v)};

    for (int k = 0; k < 2; k++) {
      const float there = k ? SpikeFromFP16(bits[2 * i + k]) : SpikeFromBF16(bits[2 * i + k]);

      if (v != v ? there == there : bits[2 * i + k] != to[k]) bad++;
      if (w[k] != w[k] ? back[2 * i + k] == back[2 * i + k]
                       : SpikeBitsOfFloat(back[2 * i + k]) != SpikeBitsOfFloat(w[k]))
        bad++;
    }
  }
  return bad;
}

int main(int argc, char **argv)
{
  int                         devices = 0;
  PetscInt                    bad[2]  = {0, 0};
  unsigned short             *dbits;
  float                      *dback;
  std::vector<unsigned short> bits(2 * COUNT);
  std::vector<float>          back(2 * COUNT);

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  for (unsigned int pass = 0; pass < PASSES; pass++) {
    const unsigned int first = pass * STEP * COUNT;

    for (unsigned int i = 0; i < COUNT; i++) Convert(first, i, bits.data(), back.data());
    bad[0] += Compare(first, bits.data(), back.data());
    if (!devices) continue;
    if (!pass) {
      CheckCUDA(cudaMalloc((void **)&dbits, bits.size() * sizeof(bits[0])));
      CheckCUDA(cudaMalloc((void **)&dback, back.size() * sizeof(back[0])));
    }
    ConvertKernel<<<COUNT / 256, 256>>>(first, dbits, dback);
    CheckCUDA(cudaGetLastError());
    CheckCUDA(cudaMemcpy(bits.data(), dbits, bits.size() * sizeof(bits[0]), cudaMemcpyDeviceToHost));
    CheckCUDA(cudaMemcpy(back.data(), dback, back.size() * sizeof(back[0]), cudaMemcpyDeviceToHost));
    bad[1] += Compare(first, bits.data(), back.data());
    if (pass + 1 == PASSES) {
      CheckCUDA(cudaFree(dbits));
      CheckCUDA(cudaFree(dback));
    }
  }
  printf("%s 1 - bf16 and fp16 by the host's functions of CUDA # %d cases, %d bad\n", bad[0] ? "not ok" : "ok",
         4 * COUNT * PASSES, (int)bad[0]);
  if (devices)
    printf("%s 2 - bf16 and fp16 on the device # %d cases, %d bad\n", bad[1] ? "not ok" : "ok", 4 * COUNT * PASSES,
           (int)bad[1]);
  else printf("ok 2 - bf16 and fp16 on the device # SKIP no GPU on this machine\n");
  printf("1..2\n");
  PetscCall(PetscFinalize());
  return bad[0] || bad[1] ? 1 : 0;
}
