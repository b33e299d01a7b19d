/* SPDX-License-Identifier: BSD-2-Clause */
/* sell.cu: the backend's own copy of a matrix in slices of 32 lanes */
#include "mult.cuh"

#define SPIKE_SELL_PADDING 1.3 /* places over entries, at most; one slice more is allowed */

__global__ static void SpikeSellWidths(PetscInt slices, PetscInt n, int rows, int T, const PetscInt *__restrict__ ai,
                                       PetscInt64 *width)
{
  const PetscInt s       = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  PetscInt       longest = 0;

  if (s >= slices) return;
  for (PetscInt i = s * rows; i < PetscMin(n, (s + 1) * rows); i++) longest = PetscMax(longest, ai[i + 1] - ai[i]);
  width[s] = (longest + T - 1) / T;
}

/* A warp a slice. Reads each entry once, writes each place once; without columns values alone */
__global__ static void SpikeSellPlace(SpikeKrylovSell m, const PetscInt *__restrict__ ai,
                                      const PetscInt *__restrict__ aj, const PetscScalar *__restrict__ aa, bool columns)
{
  const int lane = threadIdx.x % 32, rows = 32 / m.T;

  for (PetscInt s = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 32; s < m.slices;
       s += (PetscInt)gridDim.x * blockDim.x / 32) {
    const PetscInt row = s * rows + lane / m.T, end = row < m.n ? ai[row + 1] : 0;
    PetscInt       k = row < m.n ? ai[row] + lane % m.T : 0;

    for (PetscInt64 c = m.start[s]; c < m.start[s + 1]; c++, k += m.T) {
      if (columns) m.col[32 * c + lane] = k < end ? (int)aj[k] : (int)PetscMin(row, m.n - 1);
      m.val[32 * c + lane] = k < end ? aa[k] : PetscScalar(0.0);
    }
  }
}

PetscErrorCode SpikeSellFill(const SpikeKrylovCUDA *h, const SpikeKrylovCSR *csr, const SpikeKrylovSell *m,
                             bool columns)
{
  const PetscInt blocks = SpikeKrylovGrid(32 * h->gpu->multiprocessors, m->slices, 8);

  PetscFunctionBegin;
  SpikeSellPlace<<<(unsigned)blocks, 256, 0, h->stream>>>(*m, csr->ai, csr->aj, csr->aa, columns);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setup: widths of the slices come to the host once, for their sums */
PetscErrorCode SpikeSellMake(const SpikeKrylovCUDA *h, const SpikeKrylovCSR *csr, SpikeKrylovSell *m, bool *made)
{
  const PetscReal mean = (PetscReal)csr->nz / PetscMax(1, csr->n);
  PetscInt64     *start, sum = 0;

  PetscFunctionBegin;
  m->n = csr->n;
  /* rows are padded to whole rounds of T lanes */
  m->T      = csr->n < 400000 && 4.0 * PetscCeilReal(mean / 4.0) <= 1.25 * mean ? 4 : 1;
  m->slices = (csr->n + 32 / m->T - 1) / (32 / m->T);
  PetscCall(SpikeKrylovCopyAlloc((void **)&m->start, (m->slices + 1) * sizeof(*m->start), made));
  if (!*made) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(m->slices + 1, &start));
  if (csr->nz) {
    SpikeSellWidths<<<(unsigned)((m->slices + 255) / 256), 256, 0, h->stream>>>(m->slices, m->n, 32 / m->T, m->T,
                                                                                csr->ai, m->start);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(start, m->start, m->slices * sizeof(*start), cudaMemcpyDeviceToHost, h->stream));
    PetscCallCUDA(cudaStreamSynchronize(h->stream));
  }
  for (PetscInt i = 0; i <= m->slices; i++) {
    const PetscInt64 width = i < m->slices ? start[i] : 0;

    start[i] = sum;
    sum += width;
  }
  m->chunks = sum;
  *made     = 32.0 * sum <= SPIKE_SELL_PADDING * csr->nz + 32.0 * (mean + 1.0);
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->col, 32 * sum * sizeof(*m->col), made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->val, 32 * sum * sizeof(*m->val), made));
  if (*made) {
    PetscCallCUDA(
      cudaMemcpyAsync(m->start, start, (m->slices + 1) * sizeof(*start), cudaMemcpyHostToDevice, h->stream));
    PetscCallCUDA(cudaStreamSynchronize(h->stream));
    if (csr->nz) PetscCall(SpikeSellFill(h, csr, m, true));
  }
  PetscCall(PetscFree(start));
  PetscFunctionReturn(PETSC_SUCCESS);
}
