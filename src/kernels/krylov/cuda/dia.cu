/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.cu: the backend's own copy of a matrix by diagonals */
#include "mult.cuh"

#include <algorithm>

#define SPIKE_DIA_SEEN  512 /* places for offsets, a power of two */
#define SPIKE_DIA_EMPTY INT_MIN

/*
  Offsets j - i that have been seen; count may pass SPIKE_KRYLOV_MAXDIAGONALS by as many as there are threads, and the
  table never fills
*/
typedef struct {
  int count;
  int offset[SPIKE_DIA_SEEN];
} SpikeDIASeen;

/*
  The order in which offsets come does not matter: the host sorts them. A table that has more than
  SPIKE_KRYLOV_MAXDIAGONALS takes no more
*/
__device__ static void SpikeDIAInsert(SpikeDIASeen *t, int offset)
{
  unsigned place = (unsigned)offset * 2654435761u >> 23; /* 9 bits */

  while (*(volatile int *)&t->count <= SPIKE_KRYLOV_MAXDIAGONALS) {
    int there = *(volatile int *)&t->offset[place];

    if (there == SPIKE_DIA_EMPTY) {
      there = atomicCAS(&t->offset[place], SPIKE_DIA_EMPTY, offset);
      if (there == SPIKE_DIA_EMPTY) {
        atomicAdd(&t->count, 1);
        return;
      }
    }
    if (there == offset) return;
    place = (place + 1) % SPIKE_DIA_SEEN;
  }
}

/* A thread a row. Each block collects in its own table first */
__global__ static void SpikeDIALook(PetscInt      n, const PetscInt *__restrict__ ai, const PetscInt *__restrict__ aj,
                                    SpikeDIASeen *all)
{
  __shared__ SpikeDIASeen mine;

  for (int k = threadIdx.x; k < SPIKE_DIA_SEEN; k += blockDim.x) mine.offset[k] = SPIKE_DIA_EMPTY;
  if (!threadIdx.x) mine.count = 0;
  __syncthreads();
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x) {
    if (*(volatile int *)&mine.count > SPIKE_KRYLOV_MAXDIAGONALS) break;
    for (PetscInt k = ai[i]; k < ai[i + 1]; k++) SpikeDIAInsert(&mine, (int)(aj[k] - i));
  }
  __syncthreads();
  for (int k = threadIdx.x; k < SPIKE_DIA_SEEN; k += blockDim.x)
    if (mine.offset[k] != SPIKE_DIA_EMPTY) SpikeDIAInsert(all, mine.offset[k]);
}

/*
  A thread a row, whose columns are sorted as a rule: each diagonal is looked for after the previous one. Other places
  have been set to 0
*/
__global__ static void SpikeDIAPlace(SpikeKrylovDia m, const PetscInt *__restrict__ ai, const PetscInt *__restrict__ aj,
                                     const PetscScalar *__restrict__ aa)
{
  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < m.n; i += (PetscInt)gridDim.x * blockDim.x) {
    int d = 0;

    for (PetscInt k = ai[i]; k < ai[i + 1]; k++) {
      const int offset = (int)(aj[k] - i);

      for (int tried = 0; tried < m.count && m.offset[d] != offset; tried++) d = d + 1 < m.count ? d + 1 : 0;
      m.val[d * m.ld + i] = aa[k];
    }
  }
}

PetscErrorCode SpikeDIAFill(const SpikeKrylovCUDA *h, const SpikeKrylovCSR *csr, const SpikeKrylovDia *m)
{
  const PetscInt blocks = SpikeKrylovGrid(8 * h->gpu->multiprocessors, m->n, 256);

  PetscFunctionBegin;
  SpikeDIAPlace<<<(unsigned)blocks, 256, 0, h->stream>>>(*m, csr->ai, csr->aj, csr->aa);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lanes that a row is summed by: more where there are too few rows to fill the device */
int SpikeDIALanes(PetscInt n, int count)
{
  return n < 60000 || (n < 400000 && count > 32) ? 4 : 1;
}

/*
  Setup: the list of diagonals comes to the host once, and goes back sorted; hostoffset[] is the host's. least: entries
  over places of the copy that it takes
*/
PetscErrorCode SpikeDIAMake(const SpikeKrylovCUDA *h, const SpikeKrylovCSR *csr, PetscReal least, SpikeKrylovDia *m,
                            int hostoffset[], bool *made)
{
  const PetscInt blocks = SpikeKrylovGrid(8 * h->gpu->multiprocessors, csr->n, 256);
  SpikeDIASeen   table, *all;
  PetscInt       offset[SPIKE_KRYLOV_MAXDIAGONALS];

  PetscFunctionBegin;
  table.count = 0;
  for (int k = 0; k < SPIKE_DIA_SEEN; k++) table.offset[k] = SPIKE_DIA_EMPTY;
  PetscCall(SpikeKrylovCopyAlloc((void **)&all, sizeof(*all), made));
  if (!*made) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync(all, &table, sizeof(table), cudaMemcpyHostToDevice, h->stream));
  SpikeDIALook<<<(unsigned)blocks, 256, 0, h->stream>>>(csr->n, csr->ai, csr->aj, all);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&table, all, sizeof(table), cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCallCUDA(cudaFree(all));
  *made = table.count > 0 && table.count <= SPIKE_KRYLOV_MAXDIAGONALS && csr->nz >= least * table.count * csr->n;
  if (!*made) PetscFunctionReturn(PETSC_SUCCESS);
  std::sort(table.offset, table.offset + SPIKE_DIA_SEEN); /* empty places come first */
  m->n     = csr->n;
  m->begin = 0;
  m->end   = csr->n;
  m->count = table.count;
  m->ld    = ((PetscInt64)csr->n + 31) / 32 * 32;
  m->T     = SpikeDIALanes(m->n, m->count);
  PetscCall(SpikeKrylovCopyAlloc((void **)&m->offset, m->count * sizeof(*m->offset), made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->val, m->count * m->ld * sizeof(*m->val), made));
  if (!*made) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < m->count; d++) offset[d] = hostoffset[d] = table.offset[SPIKE_DIA_SEEN - m->count + d];
  PetscCallCUDA(cudaMemcpyAsync(m->offset, offset, m->count * sizeof(*m->offset), cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaMemsetAsync(m->val, 0, m->count * m->ld * sizeof(*m->val), h->stream));
  PetscCall(SpikeDIAFill(h, csr, m));
  PetscCallCUDA(cudaStreamSynchronize(h->stream)); /* the list lies on the stack */
  PetscFunctionReturn(PETSC_SUCCESS);
}
