/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.cu: the entries of a matrix into the factors */
#include "lu.cuh"

#include <float.h>

/* The block (i, j) of the factors, NULL where the pattern has none: column j is of another task then */
template <typename V>
__device__ static __forceinline__ V *SpikeBlockPlace(const SpikeBlockParts<V> &f, const SpikeBlockRows &L,
                                                     const SpikeBlockRows &U, PetscCount b2, PetscInt i, PetscInt j)
{
  if (i == j) return f.D + i * b2;
  const SpikeBlockRows &r    = j < i ? L : U;
  const PetscInt        last = r.ai[i + 1], k = SpikeBlockSearch(r.aj, r.ai[i], last, j);

  return k < last ? (j < i ? f.L : f.U) + k * b2 : NULL;
}

/* What a lane has seen of a row */
struct SpikeBlockSeen {
  double sum = 0.0;
  bool   bad = false, overflow = false;

  __device__ __forceinline__ void see(PetscScalar v, bool kept, double most)
  {
    const double re = (double)PetscRealPart(v), im = (double)PetscImaginaryPart(v);

    if (!(re - re == 0.0) || !(im - im == 0.0)) bad = true;
    else if (kept) {
      if (fabs(re) > most || fabs(im) > most) overflow = true;
      sum += (double)PetscAbsScalar(v);
    }
  }
};

/*
  A warp has a block row of the matrix: row by row where A is of scalars, all rows at once where A is of blocks: lanes
  r, r + bs, ... have row r. Rows are summed in the order of lanes. Bytes: A and the places in the factors once
*/
template <typename V>
__global__ void __launch_bounds__(128)
  SpikeBlockFill_Kernel(PetscInt nb, int bs, SpikeBlockCSR A, const PetscInt *newrow, SpikeBlockRows L,
                        SpikeBlockRows U, SpikeBlockParts<V> f, SpikeBlockReport *report, double most)
{
  const PetscInt   ib = (PetscInt)(((PetscCount)blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int        l  = (int)(threadIdx.x & 31);
  const PetscCount b2 = (PetscCount)bs * bs;

  if (ib >= nb) return;
  const PetscInt i     = newrow ? newrow[ib] : ib;
  const int      parts = A.bs > 1 ? 32 / bs : 32; /* lanes of a row of scalars */
  double         norm  = 0.0;

  for (int r0 = 0; r0<bs; r0 += A.bs> 1 ? bs : 1) {
    SpikeBlockSeen seen;
    int            r = r0;

    if (A.bs > 1) {
      const int part = l / bs;

      r = l % bs;
      if (part < parts)
        for (PetscInt k = A.ai[ib]; k < A.ai[ib + 1]; k++) {
          V *to = SpikeBlockPlace(f, L, U, b2, i, newrow ? newrow[A.aj[k]] : A.aj[k]);

          for (int c = part; c < bs; c += parts) {
            const PetscScalar v = A.aa[k * b2 + r + c * bs];

            seen.see(v, to != NULL, most);
            if (to) to[r + c * bs] = V(v);
          }
        }
    } else {
      const PetscCount row = (PetscCount)ib * bs + r;

      for (PetscInt k = A.ai[row] + l; k < A.ai[row + 1]; k += 32) {
        const PetscInt jb = A.aj[k] / bs;
        V             *to = SpikeBlockPlace(f, L, U, b2, i, newrow ? newrow[jb] : jb);

        seen.see(A.aa[k], to != NULL, most);
        if (to) to[r + (PetscCount)(A.aj[k] % bs) * bs] = V(A.aa[k]);
      }
    }
    __syncwarp();
    const unsigned bad = __ballot_sync(SPIKE_WARP, seen.bad), overflow = __ballot_sync(SPIKE_WARP, seen.overflow);
    double         sum = 0.0;

    if (A.bs > 1) {
      for (int p = 0; p < parts; p++) sum += __shfl_sync(SPIKE_WARP, seen.sum, l % bs + p * bs);
    } else {
      for (int p = 0; p < 32; p++) sum += __shfl_sync(SPIKE_WARP, seen.sum, p);
    }
    /* *row <- the smallest row of the lanes that have seen something, if any */
    const auto first_of = [&](unsigned lanes, unsigned long long *row) {
      int first = bs;

      if (!lanes) return;
      for (int k = 0; k < 32; k++)
        if ((lanes >> k) & 1) first = PetscMin(first, A.bs > 1 ? k % bs : r);
      if (l == 0) atomicMin(row, (unsigned long long)ib * bs + first);
    };

    first_of(bad, &report->badrow);
    first_of(overflow, &report->overflowrow);
    norm = sum > norm ? sum : norm;
  }
  norm = SpikeWarpMax(norm);
  if (l == 0) {
    if (!(norm - norm == 0.0)) norm = DBL_MAX; /* a sum of finite numbers */
    atomicMax(&report->norm, (unsigned long long)__double_as_longlong(norm));
  }
}

template <typename V>
static PetscErrorCode SpikeBlockFill_Private(SpikeBlockLU *lu, const SpikeBlockCSR *A, cudaStream_t stream)
{
  SpikeBlockLUCUDA        *h = (SpikeBlockLUCUDA *)lu->data;
  const SpikeBlockPattern *p = lu->p;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(h->factors, 0, (size_t)(h->nl + h->nu + p->nb) * p->bs * p->bs * sizeof(V), stream));
  if (p->nb) {
    SpikeBlockFill_Kernel<V><<<(unsigned)((p->nb + 3) / 4), 128, 0, stream>>>(p->nb, (int)p->bs, *A, h->newrow, h->L,
                                                                              h->U, SpikeBlockParts<V>(lu), h->report,
                                                                              SpikePrecisionMax(lu->precision));
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUFill_CUDA(SpikeBlockLU *lu, const SpikeBlockCSR *A, SpikeBlockFillStats *stats)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  PetscCallCUDA(cudaMemsetAsync(h->report, 0xff, offsetof(SpikeBlockReport, norm), stream));
  PetscCallCUDA(
    cudaMemsetAsync(&h->report->norm, 0, sizeof(SpikeBlockReport) - offsetof(SpikeBlockReport, norm), stream));
  if (lu->precision == PETSC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockFill_Private<SpikeDouble>(lu, A, stream));
  else PetscCall(SpikeBlockFill_Private<SpikeSingle>(lu, A, stream));
  h->fillstats = stats;
  PetscFunctionReturn(PETSC_SUCCESS);
}
