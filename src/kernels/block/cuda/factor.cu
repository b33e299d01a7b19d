/* SPDX-License-Identifier: BSD-2-Clause */
/* factor.cu: the factorization, all rows of all tasks in one launch */
#include "short.cuh"

/*
  D <- D^-1 by Gauss-Jordan elimination with row exchanges, by a warp: lanes r, r + bs, ... have row r. M is the block
  in shared memory, rows ld apart. Returns the first step with a bad pivot that is not boosted, bs if none; value is its
  magnitude.
*/
__device__ static int SpikeBlockInvert(int bs, int ld, SpikeBlockSum *M, double tol, double boost, int *nboost,
                                       double *value)
{
  const int l = (int)(threadIdx.x & 31), r = l % bs, part = l / bs, parts = 32 / bs;
  int       first = bs, exchange = 0; /* lane p: the row that was exchanged in step p */

  for (int p = 0; p < bs; p++) {
    double best = -1.0;
    int    at   = l;

    if (l >= p && l < bs) {
      best = (double)PetscAbsScalar(M[l * ld + p]);
      if (!(best - best == 0.0)) best = DBL_MAX; /* NaN is found */
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
      for (int c = part; c < bs; c += parts)
        M[r * ld + c] = c == p ? -factor * inverse : M[r * ld + c] - factor * M[p * ld + c];
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
  For k ascending: L_ik <- A_ik D_k^-1 in S, shared; then each warp takes blocks of U's row k, finds their places in row
  i and subtracts L_ik U_kj there. So a block is updated in the order of k. All threads of the thread block call it, and
  have met when it returns. Bytes: for each entry of L a row of U and an inverse from the L2 cache; each block of row i
  once, and once more for each update.
*/
template <typename V>
__device__ static __forceinline__ void SpikeBlockRowUpdate(const SpikeBlockRow &row, int bs, const SpikeBlockRows &L,
                                                           const SpikeBlockRows &U, const SpikeBlockParts<V> &f,
                                                           const unsigned *done, V *S)
{
  const int w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4,
            warps      = (int)(blockDim.x / 32);
  const int      tiles = (bs + 7) / 8, steps = (bs + 3) / 4, b2 = bs * bs;
  const PetscInt i = row.i, end = row.first + row.count, ubegin = U.ai[i], uend = U.ai[i + 1];

  for (PetscInt p = row.first; p < end; p++) {
    const PetscInt k = L.aj[p], kbegin = U.ai[k], kend = U.ai[k + 1];
    V             *A = f.L + (PetscCount)p * b2;
    const V       *D = f.D + (PetscCount)k * b2;
    /* where the block of U's row k that the lane looks at belongs in row i, 0: nowhere */
    const auto target = [&](PetscInt e) {
      unsigned long long to = 0;

      if (e < kend) {
        const PetscInt        j    = U.aj[e];
        const SpikeBlockRows &rows = j < i ? L : U;

        if (j == i) to = (unsigned long long)(f.D + (PetscCount)i * b2);
        else {
          const PetscInt last = j < i ? end : uend, at = SpikeBlockSearch(rows.aj, j < i ? p + 1 : ubegin, last, j);

          if (at < last) to = (unsigned long long)((j < i ? f.L : f.U) + (PetscCount)at * b2);
        }
      }
      return to;
    };
    unsigned long long to = target(kbegin + 32 * w + l);

    SpikeBlockAwait(done + k, l == 0);
    __syncthreads(); /* the updates before are done, and S is free */
    for (int tile = w; tile < tiles * tiles; tile += warps) {
      const int i0 = 8 * (tile % tiles), j0 = 8 * (tile / tiles);
      SpikeMMA  c;

      c.clear();
      for (int s = 0; s < steps; s++) {
        const int k0 = 4 * s + q;
        const V   a  = k0 < bs && i0 + g < bs ? A[i0 + g + k0 * bs] : V(0.0);
        const V   b  = k0 < bs && j0 + g < bs ? SpikeBlockFresh(D + k0 + (j0 + g) * bs) : V(0.0);

        c.add(a, b);
      }
      SpikeUnroll(e, 2)
        if (i0 + g < bs && j0 + 2 * q + e < bs) S[i0 + g + (j0 + 2 * q + e) * bs] = V(c.get(e));
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < b2; e += (int)blockDim.x) A[e] = S[e];
    for (PetscInt e0 = kbegin + 32 * w; e0 < kend; e0 += 32 * warps) {
      for (unsigned hits = __ballot_sync(SPIKE_WARP, to != 0); hits; hits &= hits - 1) {
        const int lane = __ffs((int)hits) - 1;
        V        *C    = (V *)__shfl_sync(SPIKE_WARP, to, lane);
        const V  *B    = f.U + (PetscCount)(e0 + lane) * b2;

        for (int tile = 0; tile < tiles * tiles; tile++) {
          const int i0 = 8 * (tile % tiles), j0 = 8 * (tile / tiles);
          SpikeMMA  c;

          c.clear();
          SpikeUnroll(e, 2)
            if (i0 + g < bs && j0 + 2 * q + e < bs) c.put(e, C[i0 + g + (j0 + 2 * q + e) * bs]);
          for (int s = 0; s < steps; s++) {
            const int k0 = 4 * s + q;
            const V   a  = k0 < bs && i0 + g < bs ? -S[i0 + g + k0 * bs] : V(0.0);
            const V   b  = k0 < bs && j0 + g < bs ? SpikeBlockFresh(B + k0 + (j0 + g) * bs) : V(0.0);

            c.add(a, b);
          }
          SpikeUnroll(e, 2)
            if (i0 + g < bs && j0 + 2 * q + e < bs) C[i0 + g + (j0 + 2 * q + e) * bs] = V(c.get(e));
        }
      }
      to = target(e0 + 32 * warps + l);
      __syncwarp();
    }
  }
  __syncthreads();
}

/* What a factorization knows. Values are those of V, sums in double precision */
template <typename V>
struct SpikeBlockFactor {
  PetscInt             nb;
  int                  bs;
  const SpikeBlockRow *rows; /* in the order of levels */
  SpikeBlockRows       L, U;
  const PetscInt      *back;
  SpikeBlockParts<V>   parts;
  unsigned            *done; /* [nb] zero */
  double              *badvalue;
  SpikeBlockReport    *report;
  double               tol, boost;
  bool                 relative;

  SpikeBlockFactor(const SpikeBlockLU *lu, const SpikePivot *pivot) : parts(lu)
  {
    const SpikeBlockLUCUDA *h = (const SpikeBlockLUCUDA *)lu->data;

    nb       = lu->p->nb;
    bs       = (int)lu->p->bs;
    rows     = h->factor;
    L        = h->L;
    U        = h->U;
    back     = h->back;
    done     = h->done;
    badvalue = h->badvalue;
    report   = h->report;
    tol      = (double)pivot->tol;
    boost    = (double)pivot->boost;
    relative = pivot->relative ? true : false;
  }

  __device__ __forceinline__ double unit(void) const
  {
    const double norm = relative ? __longlong_as_double((long long)report->norm) : 1.0;

    return norm > 0.0 ? norm : 1.0;
  }

  /* One thread for a row */
  __device__ __forceinline__ void tell(PetscInt i, int nboost, int first, double value) const
  {
    if (nboost) atomicAdd(&report->nboost, (unsigned long long)nboost);
    if (first < bs) {
      badvalue[i] = value;
      atomicMin(&report->pivotrow, (unsigned long long)i * bs + first);
    }
  }
};

/*
  A thread block has rows blockIdx.x, blockIdx.x + gridDim.x, ... All thread blocks are there at once (a cooperative
  launch): the first row that is not done has all that it waits for, so rows may wait for rows. Deterministic
*/
template <typename V>
__global__ void __launch_bounds__(32 * SPIKE_BLOCK_FACTOR_MOST)
  SpikeBlockFactor_Kernel(const __grid_constant__ SpikeBlockFactor<V> s)
{
  extern __shared__ SpikeBlockSum shared[];
  const int    w = (int)(threadIdx.x / 32), l = (int)(threadIdx.x & 31), bs = s.bs, b2 = bs * bs, ld = bs + 1;
  const double unit = s.unit(), tol = s.tol * unit, boost = s.boost * unit;

  for (PetscCount t = blockIdx.x; t < s.nb; t += gridDim.x) {
    const SpikeBlockRow row = s.rows[t];

    SpikeBlockRowUpdate(row, bs, s.L, s.U, s.parts, s.done, (V *)shared);
    if (w == 0) {
      V     *D      = s.parts.D + (PetscCount)row.i * b2;
      int    nboost = 0, first;
      double value  = 0.0;

      for (int e = l; e < b2; e += 32) shared[e % bs * ld + e / bs] = SpikeBlockSum(D[e]);
      __syncwarp();
      first = SpikeBlockInvert(bs, ld, shared, tol, boost, &nboost, &value);
      for (int e = l; e < b2; e += 32) D[e] = V(shared[e % bs * ld + e / bs]);
      if (l == 0) s.tell(row.i, nboost, first, value);
    }
    __threadfence(); /* the row's blocks of U are those of all warps */
    __syncthreads();
    if (threadIdx.x == 0) SpikeBlockPost(s.done + row.i);
  }
}

/*
  The same for short rows and blocks of BLOCKSIZE, a warp a row. The inverse is in registers; the record and columns of
  a row come while the warp works on the row before; rows that update only their diagonal block are all in registers
*/
template <int BLOCKSIZE, typename V>
__global__ void __launch_bounds__(32) SpikeBlockFactorShort_Kernel(const __grid_constant__ SpikeBlockFactor<V> s)
{
  __shared__ SpikeBlockSum M[BLOCKSIZE * (BLOCKSIZE + 1)];
  const int                l    = (int)(threadIdx.x & 31);
  const double             unit = s.unit(), tol = s.tol * unit, boost = s.boost * unit;
  SpikeBlockRow            row = SpikeBlockRowLoad(s.rows, blockIdx.x, s.nb),
                next           = SpikeBlockRowLoad(s.rows, (PetscCount)blockIdx.x + gridDim.x, s.nb);
  PetscInt column = l < row.count ? s.L.aj[row.first + l] : 0, back = l < row.count ? s.back[row.first + l] : -1;

  for (PetscCount t = blockIdx.x; t < s.nb; t += gridDim.x) {
    const SpikeBlockRow after      = SpikeBlockRowLoad(s.rows, t + 2 * (PetscCount)gridDim.x, s.nb);
    const PetscInt      nextcolumn = l < next.count ? s.L.aj[next.first + l] : 0,
                   nextback        = l < next.count ? s.back[next.first + l] : -1;
    V                           *D = s.parts.D + (PetscCount)row.i * BLOCKSIZE * BLOCKSIZE;
    SpikeBlockInverse<BLOCKSIZE> inverse;
    constexpr int                OWNCOLUMNS = SpikeBlockInverse<BLOCKSIZE>::OWNCOLUMNS;

    if (row.other) {
      SpikeBlockRowAlone<BLOCKSIZE>(row, column, back, s.parts, s.done, M);
      __syncwarp();
      SpikeUnroll(c, OWNCOLUMNS) inverse.a[c] = M[inverse.row() * (BLOCKSIZE + 1) + inverse.part() * OWNCOLUMNS + c];
    } else {
      SpikeBlockRowUpdate(row, BLOCKSIZE, s.L, s.U, s.parts, s.done, (V *)M);
      SpikeUnroll(c, OWNCOLUMNS)
        inverse.a[c] = SpikeBlockSum(D[inverse.row() + (inverse.part() * OWNCOLUMNS + c) * BLOCKSIZE]);
    }
    inverse.invert(tol, boost);
    inverse.store(D);
    __syncwarp();
    if (l == 0) {
      SpikeBlockPost(s.done + row.i);
      s.tell(row.i, inverse.nboost, inverse.bad, inverse.value);
    }
    row    = next;
    next   = after;
    column = nextcolumn;
    back   = nextback;
    __syncwarp();
  }
}

template <typename V, typename K>
static PetscErrorCode SpikeBlockFactor_Launch(const SpikeBlockLU *lu, const SpikePivot *pivot, K kernel, int warps,
                                              size_t bytes, cudaStream_t stream)
{
  const SpikeBlockLUCUDA *h = (const SpikeBlockLUCUDA *)lu->data;
  SpikeBlockFactor<V>     s(lu, pivot);
  void                   *arguments[] = {&s};
  int                     resident;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, 32 * warps, bytes, &resident));
  PetscCallCUDA(cudaLaunchCooperativeKernel((const void *)kernel,
                                            dim3((unsigned)PetscMin(s.nb, (PetscInt)resident * h->multiprocessors)),
                                            dim3(32 * warps), arguments, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V>
static PetscErrorCode SpikeBlockFactor_Private(const SpikeBlockLU *lu, const SpikePivot *pivot, cudaStream_t stream)
{
  const SpikeBlockLUCUDA *h  = (const SpikeBlockLUCUDA *)lu->data;
  const PetscInt          bs = lu->p->bs;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(h->done, 0, (size_t)lu->p->nb * sizeof(*h->done), stream));
  if (h->back && bs == 4)
    PetscCall(SpikeBlockFactor_Launch<V>(lu, pivot, SpikeBlockFactorShort_Kernel<4, V>, 1, 0, stream));
  else if (h->back && bs == 8)
    PetscCall(SpikeBlockFactor_Launch<V>(lu, pivot, SpikeBlockFactorShort_Kernel<8, V>, 1, 0, stream));
  else if (h->back && bs == 16)
    PetscCall(SpikeBlockFactor_Launch<V>(lu, pivot, SpikeBlockFactorShort_Kernel<16, V>, 1, 0, stream));
  else
    PetscCall(SpikeBlockFactor_Launch<V>(lu, pivot, SpikeBlockFactor_Kernel<V>,
                                         SpikeBlockFactorWarps(bs, h->back != NULL),
                                         (size_t)bs * (bs + 1) * sizeof(SpikeBlockSum), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUFactor_CUDA(SpikeBlockLU *lu, SpikePivot *pivot)
{
  SpikeBlockLUCUDA *h = (SpikeBlockLUCUDA *)lu->data;
  cudaStream_t      stream;

  PetscFunctionBegin;
  h->pivot = pivot;
  if (!lu->p->nb) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
  if (lu->precision == PETSC_SPIKE_PRECISION_DOUBLE)
    PetscCall(SpikeBlockFactor_Private<SpikeDouble>(lu, pivot, stream));
  else PetscCall(SpikeBlockFactor_Private<SpikeSingle>(lu, pivot, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
