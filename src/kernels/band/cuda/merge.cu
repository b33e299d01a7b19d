/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.cu: the reduced system of full SPIKE, partitions merged two by two (band.h), all of a level at once */
#include "band.cuh"
#include "block_times.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

/* Interface q of a level whose segments have l partitions, and the outer ends of its two segments */
struct SpikeLevel {
  PetscInt np, l;

  __device__ PetscInt q(int i) const { return l + 2 * l * (PetscInt)i; }
  __device__ PetscInt at(int i, int which) const /* SPIKE_AT_Q, _S, _E */
  {
    return which == 0 ? q(i) : which == 1 ? q(i) - l : PetscMin(q(i) + l, np);
  }
};

enum {
  SPIKE_AT_Q,
  SPIKE_AT_S,
  SPIKE_AT_E
};

/* A matrix for each interface, `apart` elements from one to the next: that of interface q, s or e */
struct SpikeMergeMatrix {
  PetscScalar *a;
  PetscCount   apart;
  int          ld, which;

  __device__ PetscScalar *of(const SpikeLevel &level, int i) const { return a + level.at(i, which) * apart; }
};

/* C <- alpha A B + C0, m x k times k x n; C0.a NULL: zero */
struct SpikeMergeProduct {
  SpikeMergeMatrix A, B, C0, C;
  int              m, n, k;
  PetscReal        alpha;
};

struct SpikeMergeProducts {
  SpikeMergeProduct of[4];
};

/*
  blockIdx.z: which product, .y: which interface, .x: which 64 x 64 tile of C. A thread has 4 x 4 elements, rows and
  columns 16 apart; pieces of 16 columns of A and rows of B go through shared memory. Sums in the order of k.
*/
#define SPIKE_MERGE_TILE    64
#define SPIKE_MERGE_THREADS 256

__global__ static void __launch_bounds__(SPIKE_MERGE_THREADS)
  SpikeMergeProducts_Kernel(const __grid_constant__ SpikeLevel level, const __grid_constant__ SpikeMergeProducts all)
{
  __shared__ PetscScalar   sa[16][SPIKE_MERGE_TILE + 1], sb[16][SPIKE_MERGE_TILE + 1];
  const SpikeMergeProduct &w    = all.of[blockIdx.z];
  const int                rows = (w.m + SPIKE_MERGE_TILE - 1) / SPIKE_MERGE_TILE,
            columns             = (w.n + SPIKE_MERGE_TILE - 1) / SPIKE_MERGE_TILE;
  const int          i0 = (int)blockIdx.x % PetscMax(rows, 1) * SPIKE_MERGE_TILE,
            j0          = (int)blockIdx.x / PetscMax(rows, 1) * SPIKE_MERGE_TILE;
  const int          tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const PetscScalar *A = w.A.of(level, blockIdx.y), *B = w.B.of(level, blockIdx.y);
  SpikeDouble         acc[4][4];

  if ((int)blockIdx.x >= rows * columns) return;
  SpikeUnroll2(i, 4, j, 4) acc[i][j] = 0.0;
  for (int k0 = 0; k0 < w.k; k0 += 16) {
    for (int e = threadIdx.x; e < 16 * SPIKE_MERGE_TILE; e += SPIKE_MERGE_THREADS) {
      const int i = e % SPIKE_MERGE_TILE, k = e / SPIKE_MERGE_TILE, kb = e % 16, j = e / 16;

      sa[k][i]  = i0 + i < w.m && k0 + k < w.k ? A[i0 + i + (PetscCount)(k0 + k) * w.A.ld] : (PetscScalar)0.0;
      sb[kb][j] = j0 + j < w.n && k0 + kb < w.k ? B[k0 + kb + (PetscCount)(j0 + j) * w.B.ld] : (PetscScalar)0.0;
    }
    __syncthreads();
    for (int k = 0; k < 16; k++) {
      SpikeDouble a[4], b[4];

      SpikeUnroll(i, 4) {
        a[i] = SpikeDouble(sa[k][tx + 16 * i]);
        b[i] = SpikeDouble(sb[k][ty + 16 * i]);
      }
      SpikeUnroll2(i, 4, j, 4) acc[i][j] = acc[i][j] + a[i] * b[j];
    }
    __syncthreads();
  }
  SpikeUnroll2(i, 4, j, 4) {
    const int row = i0 + tx + 16 * i, column = j0 + ty + 16 * j;

    if (row < w.m && column < w.n) {
      SpikeDouble v = w.alpha < 0 ? SpikeDouble(0.0) - acc[i][j] : acc[i][j];

      if (w.C0.a) v = v + SpikeDouble(w.C0.of(level, blockIdx.y)[row + (PetscCount)column * w.C0.ld]);
      w.C.of(level, blockIdx.y)[row + (PetscCount)column * w.C.ld] = (PetscScalar)v;
    }
  }
}

/* The first `count` of the products, of all interfaces of a level */
static PetscErrorCode SpikeMergeProducts_Private(SpikeBand *s, const SpikeLevel &level, unsigned interfaces, int count,
                                                 const SpikeMergeProducts &all)
{
  unsigned tiles = 0;

  PetscFunctionBegin;
  for (int i = 0; i < count; i++) {
    const SpikeMergeProduct &w = all.of[i];

    tiles = PetscMax(tiles, (unsigned)(((w.m + SPIKE_MERGE_TILE - 1) / SPIKE_MERGE_TILE) *
                                       ((w.n + SPIKE_MERGE_TILE - 1) / SPIKE_MERGE_TILE)));
    PetscCall(PetscLogGpuFlops(2.0 * interfaces * w.m * w.n * w.k));
  }
  if (!tiles) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeMergeProducts_Kernel<<<dim3(tiles, interfaces, (unsigned)count), SPIKE_MERGE_THREADS, 0,
                              (cudaStream_t)s->stream>>>(level, all);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMerge_CUDA(SpikeBand *s, SpikePivot *pivot)
{
  const int        kl = (int)s->kl, ku = (int)s->ku, h = kl + ku;
  const PetscCount square = (PetscCount)ku * ku, below = (PetscCount)kl * kl, tip = (PetscCount)kl * ku,
                   pair = (PetscCount)h * h + tip;
  /* Wt Wb_s lies behind [P Q] */
  const SpikeMergeMatrix none = {NULL, 0, 1, SPIKE_AT_Q}, Vt = {s->dVt, square, ku, SPIKE_AT_Q},
                         Wb = {s->dWb, below, kl, SPIKE_AT_Q}, Vb = {s->dVb, tip, kl, SPIKE_AT_Q},
                         Wt = {s->dWt, tip, ku, SPIKE_AT_Q}, R = {s->dR, square, ku, SPIKE_AT_Q},
                         Vte = {s->dVt, square, ku, SPIKE_AT_E}, Vbe = {s->dVb, tip, kl, SPIKE_AT_E},
                         Wbs = {s->dWb, below, kl, SPIKE_AT_S}, Wts = {s->dWt, tip, ku, SPIKE_AT_S},
                         Pw = {s->dPQ, pair, h, SPIKE_AT_Q}, Py = {s->dPQ + kl, pair, h, SPIKE_AT_Q},
                         Qw = {s->dPQ + (PetscCount)kl * h, pair, h, SPIKE_AT_Q},
                         Qy = {s->dPQ + (PetscCount)kl * h + kl, pair, h, SPIKE_AT_Q},
                         X  = {s->dPQ + (PetscCount)h * h, pair, ku, SPIKE_AT_Q};
  const SpikeMergeProducts first = {{{Wt, Wbs, none, X, ku, kl, kl, 1}, {R, Vte, none, Qy, ku, ku, ku, 1}}},
                           second = {{{R, X, none, Py, ku, kl, ku, -1}, {Vb, Qy, none, Qw, kl, ku, ku, -1}}},
                           third = {{{Vb, Py, Wbs, Pw, kl, kl, ku, -1}}},
                           fourth = {{{Vt, Py, Wts, Wts, ku, kl, ku, -1},
                                      {Vt, Qy, none, Vte, ku, ku, ku, -1},
                                      {Wb, Qw, Vbe, Vbe, kl, ku, kl, -1},
                                      {Wb, Pw, none, Wbs, kl, kl, kl, -1}}};

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!s->n || !h) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt l = 1; l < s->np; l *= 2) {
    const SpikeLevel level      = {s->np, l};
    const unsigned   interfaces = (unsigned)((s->np - l + 2 * l - 1) / (2 * l));

    PetscCall(SpikeReducedStrided_CUDA(s, l, s->np, 2 * l, pivot));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 2, first));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 2, second));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 1, third));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 4, fourth));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct SpikeMergedArgs {
  SpikeTiles         t;
  SpikeLevel         level;
  const PetscScalar *Vb, *Wt, *R, *Vt, *Wb, *PQ;
  PetscScalar       *tips;
  PetscCount         ldt;
};

/* Lines of a matrix of n elements on their way to the L2 cache, by all threads of a block */
__device__ static inline void SpikeMergePrefetch(const PetscScalar *A, PetscCount n)
{
  const int line = 128 / (int)sizeof(PetscScalar);

  for (PetscCount i = (PetscCount)threadIdx.x * line; i < n; i += blockDim.x * line) SpikePrefetch(A + i);
}

/*
  A step of the way up or down at one interface for one right-hand side (blockIdx.y), by a thread block:

      up          [w; y] <- [I Vb; Wt I]^-1 g;      g_t at s -= Vt y;    g_b at e -= Wb w
      down        [w; y] -= [P Q] [x_b at s; x_t at e]
      up, transposed      g_b at s, g_t at e -= [P Q]^T g
      down, transposed    [w; y] <- [I Vb; Wt I]^-T (g - [Wb^T u_b at e; Vt^T u_t at s])

  with R^-1 in dR. Reads each matrix once. Shared memory: 2 (kl + ku) values and one a thread.
*/
template <bool TRANS, bool UP>
__global__ void __launch_bounds__(1024, 1) SpikeMerged_Kernel(const __grid_constant__ SpikeMergedArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const SpikeTiles &t = a.t;
  const int         kl = t.kl, ku = t.ku, h = kl + ku;
  const PetscInt    q = a.level.q(blockIdx.x), s = a.level.at(blockIdx.x, SPIKE_AT_S),
                 e    = a.level.at(blockIdx.x, SPIKE_AT_E);
  const PetscScalar *Vb = a.Vb + q * (PetscCount)kl * ku, *Wt = a.Wt + q * (PetscCount)kl * ku,
                    *R = a.R + q * (PetscCount)ku * ku, *Vt = a.Vt + q * (PetscCount)ku * ku,
                    *Wb = a.Wb + q * (PetscCount)kl * kl, *PQ = a.PQ + q * ((PetscCount)h * h + (PetscCount)kl * ku);
  PetscScalar *below = (PetscScalar *)shared, *above = below + kl, *other = above + ku, *part = other + h;
  PetscScalar *tq = a.tips + blockIdx.y * a.ldt + q * (PetscCount)h, *ts = a.tips + blockIdx.y * a.ldt + s * (PetscCount)h,
              *te = a.tips + blockIdx.y * a.ldt + e * (PetscCount)h;
  const bool left = t.active[s], right = t.active[e];

  if (TRANS == UP) SpikeMergePrefetch(PQ, (PetscCount)h * h);
  else {
    SpikeMergePrefetch(Wt, (PetscCount)kl * ku);
    SpikeMergePrefetch(R, (PetscCount)ku * ku);
    SpikeMergePrefetch(Vb, (PetscCount)kl * ku);
    SpikeMergePrefetch(Vt, (PetscCount)ku * ku);
    SpikeMergePrefetch(Wb, (PetscCount)kl * kl);
  }
  SpikeAwait();
  /* below and above are one after the other */
  for (int i = threadIdx.x; i < h; i += blockDim.x) {
    const PetscScalar *outer = i < kl ? ts : te, *inner = i < kl ? te : ts;

    below[i] = TRANS || UP ? tq[i] : (i < kl ? left : right) ? outer[i] : (PetscScalar)0.0;
    other[i] = TRANS && !UP && (i < kl ? right : left) ? inner[i] : (PetscScalar)0.0;
  }
  __syncthreads();
  if (!TRANS && !UP) SpikeBlockTimes<false>(h, h, PQ, h, below, part, [&](int i, PetscScalar v) { tq[i] -= v; });
  else if (TRANS && UP) {
    SpikeBlockTimes<true>(h, h, PQ, h, below, part, [&](int i, PetscScalar v) {
      if (i < kl ? left : right) (i < kl ? ts : te)[i] -= v;
    });
  } else if (TRANS) {
    SpikeBlockTimes<true>(kl, kl, Wb, kl, other, part, [&](int i, PetscScalar v) { below[i] -= v; });
    SpikeBlockTimes<true>(ku, ku, Vt, ku, other + kl, part, [&](int i, PetscScalar v) { above[i] -= v; });
    __syncthreads();
    SpikeBlockTimes<true>(kl, ku, Vb, kl, below, part, [&](int i, PetscScalar v) { above[i] -= v; });
    __syncthreads();
    SpikeBlockTimes<true>(ku, ku, R, ku, above, part, [&](int i, PetscScalar v) { tq[kl + i] = other[i] = v; });
    __syncthreads();
    SpikeBlockTimes<true>(ku, kl, Wt, ku, other, part, [&](int i, PetscScalar v) { tq[i] = below[i] - v; });
  } else {
    SpikeBlockTimes<false>(ku, kl, Wt, ku, below, part, [&](int i, PetscScalar v) { above[i] -= v; });
    __syncthreads();
    SpikeBlockTimes<false>(ku, ku, R, ku, above, part, [&](int i, PetscScalar v) { tq[kl + i] = other[i] = v; });
    __syncthreads();
    SpikeBlockTimes<false>(kl, ku, Vb, kl, other, part, [&](int i, PetscScalar v) { tq[i] = below[i] = below[i] - v; });
    __syncthreads();
    if (left) SpikeBlockTimes<false>(ku, ku, Vt, ku, other, part, [&](int i, PetscScalar v) { ts[kl + i] -= v; });
    if (right) SpikeBlockTimes<false>(kl, kl, Wb, kl, below, part, [&](int i, PetscScalar v) { te[i] -= v; });
  }
}

PetscErrorCode SpikeMergedTips_CUDA(SpikeBand *s, PetscBool trans, PetscBool up, PetscInt nrhs)
{
  const SpikeCUDA *h  = (const SpikeCUDA *)s->data;
  const int        kl = (int)s->kl, ku = (int)s->ku, K = PetscMax(kl, ku),
            threads      = K <= 8  ? 32
                          : K <= 32 ? 128
                          : K <= 64 ? 256
                                    : 1024;
  const size_t    shared = (size_t)(2 * (kl + ku) + threads) * sizeof(PetscScalar);
  SpikeMergedArgs a      = {h->t, {s->np, 1}, s->dVb, s->dWt, s->dR, s->dVt, s->dWb, s->dPQ, s->dtips,
                            (PetscCount)(s->np + 1) * (kl + ku)};
  PetscInt        top    = 1;

  PetscFunctionBegin;
  if (!s->n || !nrhs || !K) PetscFunctionReturn(PETSC_SUCCESS);
  while (2 * top < s->np) top *= 2;
  for (PetscInt l = up ? 1 : top; up ? l < s->np : l > 0; l = up ? 2 * l : l / 2) {
    const dim3 grid((unsigned)((s->np - l + 2 * l - 1) / (2 * l)), (unsigned)nrhs);
    const auto kernel = trans ? (up ? SpikeMerged_Kernel<true, true> : SpikeMerged_Kernel<true, false>)
                              : (up ? SpikeMerged_Kernel<false, true> : SpikeMerged_Kernel<false, false>);

    if (l >= s->np) break;
    a.level.l = l;
    PetscCallCUDA(SpikeLaunchBehind(kernel, grid, dim3(threads), shared, (cudaStream_t)s->stream, a));
  }
  PetscCall(PetscLogGpuFlops(nrhs * (s->np - 1.0) * 6.0 * K * K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z -= [C x_b; 0; B x_t], transposed [x_t; 0; x_b], by a thread block for a partition and right-hand side */
template <bool TRANS>
__global__ static void SpikeMergedRhs_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *B,
                                             const PetscScalar *C, const PetscScalar *tips, PetscCount ldt,
                                             PetscScalar *z, PetscCount ldz)
{
  const PetscInt p = blockIdx.x, n = t.start[p + 1] - t.start[p];
  const int      h = t.kl + t.ku;

  z += blockIdx.y * ldz + t.start[p];
  tips += blockIdx.y * ldt + p * (PetscCount)h;
  for (int end = 0; end < 2; end++) {
    const int rows = end == TRANS ? t.kl : t.ku; /* that a side has: of C and of x_b kl, of B and of x_t ku */
    /* below the cut at the top, above the cut at the bottom; transposed the other sides */
    const PetscScalar *x = tips + end * h + (end == TRANS ? 0 : t.kl);

    if (t.active[p + end])
      for (int i = threadIdx.x; i < rows; i += blockDim.x) {
        PetscScalar v = 0.0;

        if (TRANS) v = x[i];
        else {
          const PetscScalar *A = (end ? B : C) + (p + end) * (PetscCount)rows * rows + i;

          for (int c = end ? 0 : i; c < (end ? i + 1 : rows); c++) v = SpikeFma(A[(PetscCount)c * rows], x[c], v);
        }
        z[end ? n - rows + i : i] -= v;
      }
    __syncthreads();
  }
}

PetscErrorCode SpikeMergedRhs_CUDA(SpikeBand *s, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb)
{
  const SpikeCUDA   *h      = (const SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const size_t       bytes  = s->n * sizeof(PetscScalar);
  const int          K = (int)PetscMax(s->kl, s->ku), threads = PetscMin(256, (K + 31) / 32 * 32);
  const dim3         grid((unsigned)s->np, (unsigned)nrhs);
  const PetscCount   ldt = (PetscCount)(s->np + 1) * (s->kl + s->ku);

  PetscFunctionBegin;
  if (!s->n || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpy2DAsync(s->dwork, bytes, b, ldb * sizeof(PetscScalar), bytes, nrhs, cudaMemcpyDeviceToDevice,
                                  stream));
  if (trans) SpikeMergedRhs_Kernel<true><<<grid, threads, 0, stream>>>(h->t, s->dB, s->dC, s->dtips, ldt, s->dwork, s->n);
  else SpikeMergedRhs_Kernel<false><<<grid, threads, 0, stream>>>(h->t, s->dB, s->dC, s->dtips, ldt, s->dwork, s->n);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(nrhs * s->np * (1.0 * s->kl * s->kl + 1.0 * s->ku * s->ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
