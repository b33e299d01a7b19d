/* SPDX-License-Identifier: BSD-2-Clause */
/* mult.cu: products with a matrix by diagonals, its transpose, and the messages that they need */
#include "dia.cuh"

/* As arguments of a launch: read through the constant cache */
typedef struct {
  PetscInt offset[SPIKE_DIA_SHORT];
} SpikeDIAFewOffsets;

/*
  A thread a row: a warp reads whole lines of each diagonal, and x from neighbouring places. A row is summed in the
  order of its diagonals: deterministic, whichever rank has it. Reads count (n + 1) values and x, which caches keep;
  writes n. SPIKE_DIA_RESIDENT bounds the registers, because loads in flight count most:
  benchmarks/results/dia-registers.txt
*/
template <bool SHORT>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS, SPIKE_DIA_RESIDENT)
  SpikeDIAMultKernel(const __grid_constant__ SpikeDIAFewOffsets brief, const PetscInt *__restrict__ offset, int count,
                     PetscInt64 ld, PetscInt begin, PetscInt end, PetscInt low, PetscInt high, PetscInt m,
                     const PetscScalar *__restrict__ val, const PetscScalar *__restrict__ x, const PetscScalar *z,
                     PetscScalar *y)
{
  const PetscInt64   row = begin + SpikeDIAThread();
  const PetscInt     i   = (PetscInt)row;
  const PetscScalar *a0  = val + row;

  if (row >= end) return;
  if (i >= low && i < high) { /* a column on each diagonal: nothing to ask but whether there is one more */
    y[i] = SpikeDIASum<1>(0, count, z ? z[i] : PetscScalar(0.0),
                          [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
                            *a = there ? a0[d * ld] : PetscScalar(0.0);
                            *b = there ? x[i + (SHORT ? brief.offset[d] : offset[d])] : PetscScalar(0.0);
                          });
    return;
  }
  y[i] = SpikeDIASum<1>(0, count, z ? z[i] : PetscScalar(0.0), [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
    const PetscInt j      = there ? i + (SHORT ? brief.offset[d] : offset[d]) : -1;
    const bool     inside = j >= 0 && j < m;

    *a = inside ? a0[d * ld] : PetscScalar(0.0);
    *b = inside ? x[j] : PetscScalar(0.0);
  });
}

/* Rows at the ends, which have columns of other ranks: only rows of a diagonal with entries are read */
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAMultEndKernel(const SpikeDIATable *__restrict__ table, int count, PetscInt64 ld, PetscInt begin, PetscInt end,
                        const PetscScalar *__restrict__ val, const PetscScalar *__restrict__ x,
                        const PetscScalar *__restrict__ ghost, const PetscScalar *z, PetscScalar *y)
{
  const PetscInt64   row = begin + SpikeDIAThread();
  const PetscInt     i   = (PetscInt)row;
  const PetscScalar *a0  = val + row;

  if (row >= end) return;
  y[i] = SpikeDIASum<1>(0, count, z ? z[i] : PetscScalar(0.0), [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
    *a = *b = 0.0;
    if (there) {
      const SpikeDIATable t = table[d];

      if (i >= t.first && i < t.last) {
        *a = a0[d * ld];
        *b = SpikeDIAEntry(t, i, x, ghost);
      }
    }
  });
}

PetscErrorCode SpikeDIAMult_CUDA(const SpikeDIA *A, PetscInt begin, PetscInt end, const PetscScalar *x,
                                 const PetscScalar *ghost, const PetscScalar *z, PetscScalar *y)
{
  const SpikeDIACUDA *h  = (const SpikeDIACUDA *)A->data;
  const PetscInt64    ld = SpikeDIALd(A), first = A->count ? A->offset[0] : 0,
                   last    = A->count ? A->offset[A->count - 1] : 0;
  const PetscInt low       = (PetscInt)PetscMin(PetscMax(-first, (PetscInt64)0), (PetscInt64)A->n),
                 high      = (PetscInt)PetscMax(PetscMin(A->m - last, (PetscInt64)A->n), (PetscInt64)0);
  const int          count = (int)A->count;
  SpikeDIAFewOffsets brief = {};

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (begin < A->ibegin || end > A->iend)
    PetscCall(SpikeDIALaunch(A, (PetscInt64)end - begin, SpikeDIAMultEndKernel, h->table, count, ld, begin, end, A->val,
                             x, ghost, z, y));
  else {
    const bool few = count <= SPIKE_DIA_SHORT;

    for (int d = 0; few && d < count; d++) brief.offset[d] = A->offset[d];
    PetscCall(SpikeDIALaunch(A, (PetscInt64)end - begin, few ? SpikeDIAMultKernel<true> : SpikeDIAMultKernel<false>,
                             brief, h->offset, count, ld, begin, end, low, high, A->m, A->val, x, z, y));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread a column; its rows in ascending order are those of the last diagonal first */
template <bool CONJ>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIATransposeKernel(const PetscInt *__restrict__ offset, int count, PetscInt64 ld, PetscInt n, PetscInt m,
                          const PetscScalar *__restrict__ val, const PetscScalar *__restrict__ x, const PetscScalar *z,
                          PetscScalar *y)
{
  const PetscInt64 column = SpikeDIAThread();
  const PetscInt   j      = (PetscInt)column;

  if (column >= m) return;
  y[j] = SpikeDIASum<1>(0, count, z ? z[j] : PetscScalar(0.0), [&](int k, bool there, PetscScalar *a, PetscScalar *b) {
    const int         d      = count - 1 - k;
    const PetscInt    i      = there ? j - offset[d] : -1;
    const bool        inside = i >= 0 && i < n;
    const PetscScalar v      = inside ? val[d * ld + i] : PetscScalar(0.0);

    *a = CONJ ? PetscConj(v) : v;
    *b = inside ? x[i] : PetscScalar(0.0);
  });
}

PetscErrorCode SpikeDIAMultTranspose_CUDA(const SpikeDIA *A, PetscBool conjugate, const PetscScalar *x,
                                          const PetscScalar *z, PetscScalar *y)
{
  const SpikeDIACUDA *h = (const SpikeDIACUDA *)A->data;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(SpikeDIALaunch(A, A->m, conjugate ? SpikeDIATransposeKernel<true> : SpikeDIATransposeKernel<false>,
                           h->offset, (int)A->count, SpikeDIALd(A), A->n, A->m, A->val, x, z, y));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread a column of others */
template <bool CONJ>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIATransposeGhostKernel(const SpikeDIATable *__restrict__ table, int count, PetscInt64 ld, PetscInt nghost,
                               const PetscScalar *__restrict__ val, const PetscScalar *__restrict__ x,
                               PetscScalar *ghost)
{
  const PetscInt64 column = SpikeDIAThread();
  const PetscInt   g      = (PetscInt)column;

  if (column >= nghost) return;
  ghost[g] = SpikeDIASum<1>(0, count, PetscScalar(0.0), [&](int k, bool there, PetscScalar *a, PetscScalar *b) {
    *a = *b = 0.0;
    if (there) {
      const int           d   = count - 1 - k;
      const SpikeDIATable t   = table[d];
      const PetscInt      low = g - t.below - t.offset, high = g - t.above - t.offset;
      const bool          below = low >= t.first && low < t.own, above = high >= t.upper && high < t.last;

      if (below || above) {
        const PetscInt i = below ? low : high;

        *a = CONJ ? PetscConj(val[d * ld + i]) : val[d * ld + i];
        *b = x[i];
      }
    }
  });
}

PetscErrorCode SpikeDIAMultTransposeGhost_CUDA(const SpikeDIA *A, PetscBool conjugate, const PetscScalar *x,
                                               PetscScalar *ghost)
{
  const SpikeDIACUDA *h = (const SpikeDIACUDA *)A->data;

  PetscFunctionBegin;
  PetscCall(SpikeDIALaunch(A, A->nghost,
                           conjugate ? SpikeDIATransposeGhostKernel<true> : SpikeDIATransposeGhostKernel<false>,
                           h->table, (int)A->count, SpikeDIALd(A), A->nghost, A->val, x, ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define SPIKE_DIA_RUNS 16 /* of a launch */

typedef struct {
  SpikeDIARun run[SPIKE_DIA_RUNS];
} SpikeDIARuns;

template <bool ADDTO>
__global__ void __launch_bounds__(SPIKE_DIA_THREADS)
  SpikeDIAPackKernel(const __grid_constant__ SpikeDIARuns runs, const PetscScalar *__restrict__ from,
                     PetscScalar *__restrict__ to)
{
  const PetscInt64 k = SpikeDIAThread(), first = runs.run[blockIdx.y].first, at = runs.run[blockIdx.y].at;

  if (k >= runs.run[blockIdx.y].length) return;
  if (ADDTO) to[first + k] += from[at + k];
  else to[at + k] = from[first + k];
}

PetscErrorCode SpikeDIAPack_CUDA(const SpikeDIA *A, PetscInt nruns, const SpikeDIARun runs[], const PetscScalar *x,
                                 PetscScalar *message)
{
  SpikeDIARuns some;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!nruns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(A->stream, &stream));
  for (PetscInt k = 0; k < nruns; k += SPIKE_DIA_RUNS) {
    const PetscInt count   = PetscMin((PetscInt)SPIKE_DIA_RUNS, nruns - k);
    PetscInt       longest = 0;

    for (PetscInt r = 0; r < count; r++) {
      some.run[r] = runs[k + r];
      longest     = PetscMax(longest, some.run[r].length);
    }
    SpikeDIAPackKernel<false>
      <<<dim3(SpikeDIAThreadBlocks(longest), (unsigned)count), SPIKE_DIA_THREADS, 0, stream>>>(some, x, message);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs of two ranks may have columns in common: one after the other, in their order */
PetscErrorCode SpikeDIAUnpackAdd_CUDA(const SpikeDIA *A, PetscInt nruns, const SpikeDIARun runs[],
                                      const PetscScalar *message, PetscScalar *x)
{
  SpikeDIARuns one;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < nruns; k++) {
    one.run[0] = runs[k];
    PetscCall(SpikeDIALaunch(A, runs[k].length, SpikeDIAPackKernel<true>, one, message, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
