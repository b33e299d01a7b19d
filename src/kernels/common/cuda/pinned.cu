/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pinned.cu: small pieces of pinned memory of the host, out of one allocation of the process, which takes a millisecond
  or more each. A piece that is given back may be taken again at once: nothing on a device may write to it then
*/
#include "memory.cuh"

#define SPIKE_PINNED_UNIT  256
#define SPIKE_PINNED_UNITS 1024
#define SPIKE_PINNED_MOST  512 /* units of one piece */

static struct {
  char          *memory;
  unsigned short taken[SPIKE_PINNED_UNITS]; /* of the first unit of a piece its length, of others of it 1; 0: free */
  int            pieces;
} pinned;

static PetscErrorCode SpikePinnedFinalize_Private(void)
{
  PetscFunctionBegin;
  if (!pinned.pieces) {
    PetscCallCUDA(cudaFreeHost(pinned.memory));
    pinned.memory = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first of so many free units after each other, -1: there are none */
static int SpikePinnedFind_Private(int units)
{
  for (int first = 0, at = 0; first + units <= SPIKE_PINNED_UNITS; first = at + 1) {
    for (at = first; at < first + units && !pinned.taken[at]; at++) { }
    if (at == first + units) return first;
  }
  return -1;
}

PetscErrorCode SpikePinnedTake_CUDA(size_t bytes, void **ptr)
{
  const int units = (int)PetscMax((size_t)1, PetscMin((bytes + SPIKE_PINNED_UNIT - 1) / SPIKE_PINNED_UNIT,
                                                      (size_t)SPIKE_PINNED_MOST + 1));
  int       first = -1;

  PetscFunctionBegin;
  *ptr = NULL;
  if (units <= SPIKE_PINNED_MOST && !pinned.memory) {
    PetscCall(SpikeAllocated_CUDA(cudaHostAlloc((void **)&pinned.memory, (size_t)SPIKE_PINNED_UNIT * SPIKE_PINNED_UNITS,
                                                cudaHostAllocMapped | cudaHostAllocPortable)));
    PetscCall(PetscRegisterFinalize(SpikePinnedFinalize_Private));
  }
  if (units <= SPIKE_PINNED_MOST) first = SpikePinnedFind_Private(units);
  if (first < 0) {
    PetscCall(SpikeAllocated_CUDA(cudaHostAlloc(ptr, bytes, cudaHostAllocMapped)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int k = 0; k < units; k++) pinned.taken[first + k] = (unsigned short)(k ? 1 : units);
  pinned.pieces++;
  *ptr = pinned.memory + (size_t)SPIKE_PINNED_UNIT * first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikePinnedGive_CUDA(void *ptr)
{
  const ptrdiff_t at = pinned.memory && ptr ? (char *)ptr - pinned.memory : -1;

  PetscFunctionBegin;
  if (at >= 0 && at < (ptrdiff_t)SPIKE_PINNED_UNIT * SPIKE_PINNED_UNITS) {
    const int first = (int)(at / SPIKE_PINNED_UNIT), units = pinned.taken[first];

    for (int k = 0; k < units; k++) pinned.taken[first + k] = 0;
    pinned.pieces--;
  } else PetscCallCUDA(cudaFreeHost(ptr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
