/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_ring.cuh: pieces of the band on their way to shared memory, some ahead of their use */
#pragma once

#include "kernels/common/cuda/async.cuh"

#define SPIKE_RING_DEPTH 6   /* at most */
#define SPIKE_RING_AFTER 128 /* bytes after the last slot that may be read, for nothing */

/*
  A warp's ring of slots in shared memory. A piece is asked for by put(), in the order in which get() finds it; between
  the end of the use of a slot and the put() that fills it again lies a __syncwarp(). The copies are made by the memory
  system (one bulk copy a piece from compute capability 9.0 on, else 16 bytes a lane at a time), which an mbarrier of
  the slot tells the warp. Pieces are copied from the multiple of 16 bytes before them to the one after them; ALIGNED:
  they are such pieces themselves.

  A bulk copy is not in order with loads of shared memory that were issued before it: on a multiprocessor that is busy
  with loads of others they have been seen to find the piece after theirs. put() has a fence between the two
*/
template <bool ALIGNED>
struct SpikeRing {
  unsigned char      *slots;
  unsigned long long *full; /* mbarriers */
  int                 depth, pitch, in, out;
  unsigned            phase, lead; /* of the slots at `out`; 4 bits a slot: bytes before the piece */

  /* Bytes of a slot for pieces of so many, and of the rings of all warps of a block */
  __host__ __device__ static int    SlotPitch(int bytes) { return (bytes + (ALIGNED ? 0 : 15) + 15) / 16 * 16; }
  __host__ __device__ static size_t RingBytes(int warps, int depth, int bytes)
  {
    return (size_t)warps * depth * (SlotPitch(bytes) + 8) + 16 + SPIKE_RING_AFTER;
  }

  /*
    The ring of a warp, made by all of its threads, with a barrier after it before the first put(); not made: what
    another warp has, of which this one gets the pieces too
  */
  __device__ SpikeRing(unsigned char *shared, int warp, int warps, int depth_, int bytes, bool make = true) :
    depth(depth_), pitch(SlotPitch(bytes)), in(0), out(0), phase(0), lead(0)
  {
    full  = (unsigned long long *)shared + warp * depth;
    slots = shared + (warps * depth + 1) / 2 * 16 + (size_t)warp * depth * pitch;
    if (make && !(threadIdx.x & 31)) {
#if __CUDA_ARCH__ >= 900
      for (int k = 0; k < depth; k++) SpikeMbarrierInit(full + k, 1);
#else
      for (int k = 0; k < depth; k++) SpikeMbarrierInit(full + k, 32);
#endif
    }
  }
  __device__ void put(const void *piece, int bytes)
  {
    const int before = ALIGNED ? 0 : (int)((size_t)piece & 15), n = ALIGNED ? bytes : (before + bytes + 15) / 16 * 16;
    const unsigned char *from = (const unsigned char *)piece - before;
    unsigned char       *to   = slots + in * pitch;

#if __CUDA_ARCH__ >= 900
    if (!(threadIdx.x & 31)) {
      SpikeCopyBulkFence();
      SpikeMbarrierExpect(full + in, (unsigned)n);
      SpikeCopyBulk(to, from, (unsigned)n, full + in);
    }
#else
    for (int i = 16 * (threadIdx.x & 31); i < n; i += 16 * 32) SpikeCopyAsync<16, true>(to + i, from + i);
  #if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(SpikeMbarrierAddress(full + in)) : "memory");
  #endif
#endif
    if (!ALIGNED) lead = (lead & ~(15u << 4 * in)) | (unsigned)before << 4 * in;
    if (++in == depth) in = 0;
  }
  /* As if so many pieces had been got */
  __device__ void skip(int pieces)
  {
    out   = pieces % depth;
    phase = pieces / depth & 1;
  }
  /* The next piece, when it is there; from: what put() was given by the other warp, if it was another one */
  __device__ const void *get(const void *from = NULL)
  {
    const void *piece = slots + out * pitch +
                        (ALIGNED ? 0
                         : from  ? (unsigned)(size_t)from & 15u
                                 : lead >> 4 * out & 15u);

#if __CUDA_ARCH__ >= 800
    SpikeMbarrierWait(full + out, phase);
#else
    __syncwarp();
#endif
    if (++out == depth) {
      out = 0;
      phase ^= 1;
    }
    return piece;
  }
};
