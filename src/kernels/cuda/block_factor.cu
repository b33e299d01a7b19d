/* SPDX-License-Identifier: BSD-2-Clause */
/* block_factor.cu: the factorization, all rows of all tasks in one launch */
#include "block_lu.cuh"

#define SPIKE_BLOCK_FACTOR_MOST 8 /* warps of a row, at most */

/*
  D <- D^-1 by Gauss-Jordan elimination with row exchanges, by a warp: the lanes r, r + bs, ... have row r. M is the block in shared memory, ld of a row. Returns the first step with a bad pivot that is
  not boosted, or bs; value is its magnitude.
*/
__device__ static int SpikeBlockInvert(int bs, int ld, SpikeBlockSum *M, double tol, double boost, int *nboost, double *value)
{
  const int l = (int)(threadIdx.x & 31), r = l % bs, part = l / bs, parts = 32 / bs;
  int       first = bs, exchange = 0; /* lane p: the row that was exchanged in step p */

  for (int p = 0; p < bs; p++) {
    double best = -1.0;
    int    at   = l;

    if (l >= p && l < bs) {
      best = (double)PetscAbsScalar(M[l * ld + p]);
      if (!(best - best == 0.0)) best = DBL_MAX; /* what is no number is found */
    }
    for (int d = 16; d; d /= 2) {
      const double other = __shfl_xor_sync(SPIKE_WARP, best, d);
      const int    place = __shfl_xor_sync(SPIKE_WARP, at, d);

      if (other > best || (other == best && place < at)) {
        best = other;
        at   = place;
      }
    }
    if (l == p) exchange = at;
    if (at != p && l < bs) {
      const SpikeBlockSum v = M[p * ld + l];

      M[p * ld + l]  = M[at * ld + l];
      M[at * ld + l] = v;
    }
    __syncwarp();
    SpikeBlockSum pivot = M[p * ld + p];
    const double  mag   = (double)PetscAbsScalar(pivot);

    if (!(mag > tol) || !(mag - mag == 0.0)) {
      if (boost > 0.0 && mag - mag == 0.0) {
        pivot = mag > 0.0 ? pivot * (boost / mag) : SpikeBlockSum(boost);
        ++*nboost;
      } else {
        if (first == bs) {
          first  = p;
          *value = mag;
        }
        pivot = 1.0;
      }
    }
    const SpikeBlockSum inverse = SpikeBlockSum(1.0) / pivot;

    __syncwarp();
    if (l < bs) M[p * ld + l] = l == p ? inverse : M[p * ld + l] * inverse;
    __syncwarp();
    const SpikeBlockSum factor = part < parts ? M[r * ld + p] : SpikeBlockSum(0.0);

    __syncwarp();
    if (part < parts && r != p)
      for (int c = part; c < bs; c += parts) M[r * ld + c] = c == p ? -factor * inverse : M[r * ld + c] - factor * M[p * ld + c];
    __syncwarp();
  }
  for (int p = bs - 1; p >= 0; p--) {
    const int at = __shfl_sync(SPIKE_WARP, exchange, p);

    if (at != p && l < bs) {
      const SpikeBlockSum v = M[l * ld + p];

      M[l * ld + p]  = M[l * ld + at];
      M[l * ld + at] = v;
    }
    __syncwarp();
  }
  return first;
}

/*
  A block of threads has rows blockIdx.x, + gridDim.x, ... in the order of levels. All blocks are there at once (a cooperative launch): the first row that is not done yet has all that it waits for, so that
  rows may wait for rows. L_ik <- A_ik D_k^-1 in S, shared; then each warp takes blocks of U's row k, looks up where they belong in row i, and subtracts L_ik U_kj there. Values are those of V, sums in double precision.
  Bytes: per entry of L a row of U and an inverse from the second-level cache, each block of row i once and once more for each update. Deterministic: a block is updated in the order of k.
*/
template <typename V>
__global__ void __launch_bounds__(32 * SPIKE_BLOCK_FACTOR_MOST) SpikeBlockFactor_Kernel(PetscInt nb, int bs, const PetscInt *order, SpikeBlockRows L, SpikeBlockRows U, SpikeBlockParts<V> f, unsigned *done, unsigned epoch, double *badvalue, SpikeBlockReport *report, double tol, double boost, bool relative)
{
  extern __shared__ SpikeBlockSum shared[];
  const int                       w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, warps = (int)(blockDim.x / 32);
  const int                       tiles = (bs + 7) / 8, steps = (bs + 3) / 4, b2 = bs * bs, ld = bs + 1;
  V                              *S = (V *)shared;

  if (relative) {
    const double norm = __longlong_as_double((long long)report->norm), unit = norm > 0.0 ? norm : 1.0;

    tol *= unit;
    boost *= unit;
  }
  for (PetscInt t = (PetscInt)blockIdx.x; t < nb; t += (PetscInt)gridDim.x) {
    const PetscInt i = order[t], begin = L.ai[i], end = L.ai[i + 1], ubegin = U.ai[i], uend = U.ai[i + 1];

    for (PetscInt p = begin; p < end; p++) {
      const PetscInt k = L.aj[p];
      V             *A = f.L + (PetscCount)p * b2;
      const V       *D = f.D + (PetscCount)k * b2;

      SpikeBlockAwait(done + k, epoch);
      __syncthreads(); /* the updates before are done, and S is free */
      for (int tile = w; tile < tiles * tiles; tile += warps) {
        const int i0 = 8 * (tile % tiles), j0 = 8 * (tile / tiles);
        SpikeMma  c;

        c.clear();
        for (int s = 0; s < steps; s++) {
          const int k0 = 4 * s + q;
          const V   a  = k0 < bs && i0 + g < bs ? A[i0 + g + k0 * bs] : V(0.0);
          const V   b  = k0 < bs && j0 + g < bs ? SpikeBlockFresh(D + k0 + (j0 + g) * bs) : V(0.0);

          c.add(a, b);
        }
#pragma unroll
        for (int e = 0; e < 2; e++)
          if (i0 + g < bs && j0 + 2 * q + e < bs) S[i0 + g + (j0 + 2 * q + e) * bs] = V(c.get(e));
      }
      __syncthreads();
      for (int e = (int)threadIdx.x; e < b2; e += (int)blockDim.x) A[e] = S[e];
      for (PetscInt e0 = U.ai[k] + 32 * w; e0 < U.ai[k + 1]; e0 += 32 * warps) {
        unsigned long long to = 0;

        if (e0 + l < U.ai[k + 1]) {
          const PetscInt        j    = U.aj[e0 + l];
          const SpikeBlockRows &rows = j < i ? L : U;

          if (j == i) to = (unsigned long long)(f.D + (PetscCount)i * b2);
          else {
            const PetscInt last = j < i ? end : uend, at = SpikeBlockSearch(rows.aj, j < i ? p + 1 : ubegin, last, j);

            if (at < last) to = (unsigned long long)((j < i ? f.L : f.U) + (PetscCount)at * b2);
          }
        }
        for (unsigned hits = __ballot_sync(SPIKE_WARP, to != 0); hits; hits &= hits - 1) {
          const int lane = __ffs((int)hits) - 1;
          V        *C    = (V *)__shfl_sync(SPIKE_WARP, to, lane);
          const V  *B    = f.U + (PetscCount)(e0 + lane) * b2;

          for (int tile = 0; tile < tiles * tiles; tile++) {
            const int i0 = 8 * (tile % tiles), j0 = 8 * (tile / tiles);
            SpikeMma  c;

            c.clear();
#pragma unroll
            for (int e = 0; e < 2; e++)
              if (i0 + g < bs && j0 + 2 * q + e < bs) c.put(e, C[i0 + g + (j0 + 2 * q + e) * bs]);
            for (int s = 0; s < steps; s++) {
              const int k0 = 4 * s + q;
              const V   a  = k0 < bs && i0 + g < bs ? -S[i0 + g + k0 * bs] : V(0.0);
              const V   b  = k0 < bs && j0 + g < bs ? SpikeBlockFresh(B + k0 + (j0 + g) * bs) : V(0.0);

              c.add(a, b);
            }
#pragma unroll
            for (int e = 0; e < 2; e++)
              if (i0 + g < bs && j0 + 2 * q + e < bs) C[i0 + g + (j0 + 2 * q + e) * bs] = V(c.get(e));
          }
        }
        __syncwarp();
      }
    }
    __syncthreads();
    if (w == 0) {
      V     *D      = f.D + (PetscCount)i * b2;
      int    nboost = 0, first;
      double value  = 0.0;

      for (int e = l; e < b2; e += 32) shared[e % bs * ld + e / bs] = SpikeBlockSum(D[e]);
      __syncwarp();
      first = SpikeBlockInvert(bs, ld, shared, tol, boost, &nboost, &value);
      for (int e = l; e < b2; e += 32) D[e] = V(shared[e % bs * ld + e / bs]);
      if (l == 0) {
        if (nboost) atomicAdd(&report->nboost, (unsigned long long)nboost);
        if (first < bs) {
          badvalue[i] = value;
          atomicMin(&report->pivotrow, (unsigned long long)i * bs + first);
        }
      }
    }
    SpikeBlockPost(done + i, epoch);
  }
}

template <typename V>
static PetscErrorCode SpikeBlockFactor_Private(SpikeBlockLU *lu, const SpikePivot *pivot, cudaStream_t stream)
{
  SpikeBlockLUCUDA        *h     = (SpikeBlockLUCUDA *)lu->data;
  const SpikeBlockPattern *p     = lu->p;
  const int                warps = p->nb && (h->nl + h->nu) / p->nb > 32 ? SPIKE_BLOCK_FACTOR_MOST : p->bs > 16 ? 4 : 1; /* long rows have many updates */
  const size_t             bytes = (size_t)p->bs * (p->bs + 1) * sizeof(SpikeBlockSum);
  PetscInt                 nb    = p->nb;
  int                      bs    = (int)p->bs, resident;
  SpikeBlockParts<V>       f(lu);
  double                   tol = (double)pivot->tol, boost = (double)pivot->boost;
  bool                     relative = pivot->relative ? true : false;

  PetscFunctionBegin;
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, SpikeBlockFactor_Kernel<V>, 32 * warps, bytes));
  void *arguments[] = {&nb, &bs, &h->order[0], &h->L, &h->U, &f, &h->done, &h->epoch, &h->badvalue, &h->report, &tol, &boost, &relative};

  PetscCallCUDA(cudaLaunchCooperativeKernel((const void *)SpikeBlockFactor_Kernel<V>, dim3((unsigned)PetscMin(nb, (PetscInt)resident * h->multiprocessors)), dim3(32 * warps), arguments, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUFactor_CUDA(SpikeBlockLU *lu, SpikePivot *pivot)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;
  cudaStream_t      stream;

  PetscFunctionBegin;
  h->pivot = pivot;
  if (!lu->p->nb) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeBlockStream(lu->b, &stream));
  h->epoch++;
  if (lu->precision == PC_SPIKE_PRECISION_DOUBLE) PetscCall(SpikeBlockFactor_Private<SpikeDouble>(lu, pivot, stream));
  else PetscCall(SpikeBlockFactor_Private<SpikeSingle>(lu, pivot, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
