/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.cu: the reduced system of full SPIKE, partitions merged two by two (band.h), all of a level at once */
#include "band.cuh"
#include "block_columns.cuh"
#include "block_times.cuh"
#include "merge.cuh"
#include "sweep_owner.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

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

  __device__ PetscScalar *of(const SpikeLevel &level, int i) const
  {
    return a + (which == SPIKE_AT_Q ? level.q(i) : which == SPIKE_AT_S ? level.s(i) : level.e(i)) * apart;
  }
};

/* C <- alpha A B + C0 + beta I, m x k times k x n; C0.a NULL: without C0 */
struct SpikeMergeProduct {
  SpikeMergeMatrix A, B, C0, C;
  int              m, n, k;
  PetscReal        alpha, beta;
};

struct SpikeMergeProducts {
  SpikeMergeProduct of[4];
};

/*
  blockIdx.z: which product, .y: which interface, from `first` on, .x: which 32 x 32 tile of C. A thread has 2 x 2
  elements, rows and columns 16 apart; pieces of 32 columns of A and rows of B go through shared memory, the next one on
  its way while one is multiplied. Sums in the order of k.
*/
#define SPIKE_MERGE_TILE    32
#define SPIKE_MERGE_THREADS 256

__global__ static void __launch_bounds__(SPIKE_MERGE_THREADS)
  SpikeMergeProducts_Kernel(const __grid_constant__ SpikeLevel level, const __grid_constant__ SpikeMergeProducts all,
                            int first)
{
  constexpr int            T = SPIKE_MERGE_TILE, LOADS = T * T / SPIKE_MERGE_THREADS;
  __shared__ PetscScalar   sa[T][T + 1], sb[T][T + 1];
  const SpikeMergeProduct &w    = all.of[blockIdx.z];
  const int                rows = (w.m + T - 1) / T, columns = (w.n + T - 1) / T, at = first + (int)blockIdx.y;
  const int                i0 = (int)blockIdx.x % PetscMax(rows, 1) * T, j0 = (int)blockIdx.x / PetscMax(rows, 1) * T,
            lane = threadIdx.x % T, warp = threadIdx.x / T, tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  PetscScalar        a[LOADS], b[LOADS];
  SpikeDouble        acc[2][2];
  const PetscScalar *A, *B;

  if ((int)blockIdx.x >= rows * columns) return;
  A = w.A.of(level, at) + PetscMin(i0 + lane, w.m - 1);
  B = w.B.of(level, at);
  SpikeUnroll2(i, 2, j, 2) acc[i][j] = 0.0;
  /* without conditions on the loads: what lies outside is the last one inside, times zero */
  auto fetch = [&](int k0) {
    SpikeUnroll(l, LOADS) {
      const int k = k0 + warp + l * (SPIKE_MERGE_THREADS / T), kb = k0 + lane,
                j = j0 + warp + l * (SPIKE_MERGE_THREADS / T);

      a[l] = A[(PetscCount)PetscMin(k, w.k - 1) * w.A.ld];
      b[l] = B[PetscMin(kb, w.k - 1) + (PetscCount)PetscMin(j, w.n - 1) * w.B.ld];
      if (k >= w.k) a[l] = 0.0;
      if (kb >= w.k) b[l] = 0.0;
    }
  };

  if (w.k > 0) fetch(0);
  for (int k0 = 0; k0 < w.k; k0 += T) {
    SpikeUnroll(l, LOADS) {
      sa[warp + l * (SPIKE_MERGE_THREADS / T)][lane] = a[l];
      sb[warp + l * (SPIKE_MERGE_THREADS / T)][lane] = b[l];
    }
    __syncthreads();
    if (k0 + T < w.k) fetch(k0 + T);
#pragma unroll 8
    for (int k = 0; k < T; k++) {
      const SpikeDouble x0 = SpikeDouble(sa[k][tx]), x1 = SpikeDouble(sa[k][tx + 16]), y0 = SpikeDouble(sb[ty][k]),
                        y1 = SpikeDouble(sb[ty + 16][k]);

      acc[0][0] = acc[0][0] + x0 * y0;
      acc[0][1] = acc[0][1] + x0 * y1;
      acc[1][0] = acc[1][0] + x1 * y0;
      acc[1][1] = acc[1][1] + x1 * y1;
    }
    __syncthreads();
  }
  SpikeUnroll2(i, 2, j, 2) {
    const int row = i0 + tx + 16 * i, column = j0 + ty + 16 * j;

    if (row < w.m && column < w.n) {
      SpikeDouble v = w.alpha < 0 ? SpikeDouble(0.0) - acc[i][j] : acc[i][j];

      if (row == column) v = v + (double)w.beta;
      if (w.C0.a) v = v + SpikeDouble(w.C0.of(level, at)[row + (PetscCount)column * w.C0.ld]);
      w.C.of(level, at)[row + (PetscCount)column * w.C.ld] = (PetscScalar)v;
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
  for (unsigned first = 0; first < interfaces; first += 65535) {
    SpikeMergeProducts_Kernel<<<dim3(tiles, PetscMin(interfaces - first, 65535u), (unsigned)count), SPIKE_MERGE_THREADS,
                                0, (cudaStream_t)s->stream>>>(level, all, (int)first);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMerge_CUDA(SpikeBand *s, SpikePivot *pivot)
{
  const int        kl = (int)s->kl, ku = (int)s->ku, h = kl + ku;
  const PetscCount square = (PetscCount)ku * ku, below = (PetscCount)kl * kl, tip = (PetscCount)kl * ku,
                   pair = (PetscCount)h * h, all = SPIKE_MERGED * pair, column = (PetscCount)kl * h;
  PetscScalar *inverse = s->dmerged + SPIKE_MERGED_INVERSE * pair, *out = s->dmerged + SPIKE_MERGED_OUT * pair,
              *PQ             = s->dmerged + SPIKE_MERGED_PQ * pair;
  const SpikeMergeMatrix none = {NULL, 0, 1, SPIKE_AT_Q}, Vt = {s->dVt, square, ku, SPIKE_AT_Q},
                         Wb = {s->dWb, below, kl, SPIKE_AT_Q}, Vb = {s->dVb, tip, kl, SPIKE_AT_Q},
                         Wt = {s->dWt, tip, ku, SPIKE_AT_Q}, R = {s->dR, square, ku, SPIKE_AT_Q},
                         Vte = {s->dVt, square, ku, SPIKE_AT_E}, Vbe = {s->dVb, tip, kl, SPIKE_AT_E},
                         Wbs = {s->dWb, below, kl, SPIKE_AT_S}, Wts = {s->dWt, tip, ku, SPIKE_AT_S};
  /* M^-1 by rows w and y and columns w and y; so E M^-1, whose rows are g_t at s and g_b at e, and [P Q] */
  const SpikeMergeMatrix ww = {inverse, all, h, SPIKE_AT_Q}, wy = {inverse + column, all, h, SPIKE_AT_Q},
                         yw = {inverse + kl, all, h, SPIKE_AT_Q}, yy = {inverse + column + kl, all, h, SPIKE_AT_Q},
                         atop = {out, all, h, SPIKE_AT_Q}, under = {out + ku, all, h, SPIKE_AT_Q},
                         P = {PQ, all, h, SPIKE_AT_Q}, Q = {PQ + column, all, h, SPIKE_AT_Q},
                         Py = {PQ + kl, all, h, SPIKE_AT_Q}, Qy = {PQ + column + kl, all, h, SPIKE_AT_Q};
  const SpikeMergeProducts first  = {{{R, Wt, none, yw, ku, kl, ku, -1, 0},
                                      {Vb, R, none, wy, kl, ku, ku, -1, 0},
                                      {R, R, R, yy, ku, ku, 0, 1, 0}}},
                           second = {{{Vb, yw, none, ww, kl, kl, ku, -1, 1}}},
                           third  = {{{ww, Wbs, none, P, h, kl, kl, 1, 0},
                                      {wy, Vte, none, Q, h, ku, ku, 1, 0},
                                      {Vt, yw, none, atop, ku, h, ku, 1, 0},
                                      {Wb, ww, none, under, kl, h, kl, 1, 0}}},
                           fourth = {{{Vt, Py, Wts, Wts, ku, kl, ku, -1, 0},
                                      {Vt, Qy, none, Vte, ku, ku, ku, -1, 0},
                                      {Wb, Q, Vbe, Vbe, kl, ku, kl, -1, 0},
                                      {Wb, P, none, Wbs, kl, kl, kl, -1, 0}}};

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!s->n || !h) PetscFunctionReturn(PETSC_SUCCESS);
  /* spikes() makes no tips at inactive interfaces, and what an earlier setup left there may not be finite */
  if (!s->active[0] && below)
    PetscCallCUDA(cudaMemsetAsync(s->dWb, 0, below * sizeof(PetscScalar), (cudaStream_t)s->stream));
  if (!s->active[s->np] && square)
    PetscCallCUDA(cudaMemsetAsync(s->dVt + s->np * square, 0, square * sizeof(PetscScalar), (cudaStream_t)s->stream));
  for (PetscInt l = 1; l < s->np; l *= 2) {
    const SpikeLevel level      = {s->np, l};
    const unsigned   interfaces = (unsigned)((s->np - l + 2 * l - 1) / (2 * l));

    PetscCall(SpikeMergeInvert_CUDA(s, l, pivot));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 3, first));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 1, second));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 4, third));
    PetscCall(SpikeMergeProducts_Private(s, level, interfaces, 4, fourth));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct SpikeMergedArgs {
  SpikeTiles         t;
  SpikeLevel         level;
  const PetscScalar *merged;
  PetscScalar       *tips, *solution; /* solution: of interfaces 0 < q < np */
  PetscCount         ldt;
  int                rows; /* of the result that a thread block makes */
};

/*
  A step of the way up or down (mergedtips() in band.h): blockIdx.x which interface, .y which right-hand side, .z which
  rows of the result. What comes up is subtracted in the tips, and interface q keeps its own; what comes down goes to
  `solution`. Reads M^-1 once, of E M^-1 and [P Q] one on the way up and the other one on the way down. Shared memory:
  2 (kl + ku) values and one a thread.
*/
template <bool TRANSPOSED, bool UPWARDS>
__global__ void __launch_bounds__(256) SpikeMerged_Kernel(const __grid_constant__ SpikeMergedArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const SpikeTiles                             &t = a.t;
  const int          kl = t.kl, ku = t.ku, h = kl + ku, r0 = (int)blockIdx.z * a.rows, m = PetscMin(a.rows, h - r0);
  const PetscInt     q = a.level.q(blockIdx.x), s = a.level.s(blockIdx.x), e = a.level.e(blockIdx.x);
  const PetscCount   pair = (PetscCount)h * h, column = blockIdx.y * a.ldt;
  const PetscScalar *M = a.merged + q * SPIKE_MERGED * pair, *E = M + SPIKE_MERGED_OUT * pair,
                    *PQ = M + SPIKE_MERGED_PQ * pair, *A = UPWARDS == TRANSPOSED ? PQ : E;
  PetscScalar *g = (PetscScalar *)shared, *outer = g + h, *part = outer + h, *tips = a.tips + column,
              *to = a.solution + column + q * (PetscCount)h;
  /* that they have */
  const PetscScalar *S = s ? a.solution + column : tips, *T = e < t.np ? a.solution + column : tips;
  const bool         left = t.active[s], right = t.active[e];

  SpikeRelease();
  if (m <= 0) {
    SpikeAwait();
    return;
  }
  /* the slice of a matrix: rows r0 and on, transposed columns */
  for (int which = UPWARDS ? 1 : 0; which < 2; which++) {
    const PetscScalar *B = (which ? (UPWARDS ? A : (TRANSPOSED ? E : PQ)) : M) + (TRANSPOSED ? (PetscCount)r0 * h : r0);

    if (TRANSPOSED)
      for (int i = threadIdx.x; i < (m * h + 15) / 16; i += blockDim.x) SpikePrefetch(B + 16 * i);
    else
      for (int i = threadIdx.x; i < h * ((m + 15) / 16 + 1); i += blockDim.x)
        SpikePrefetch(B + (PetscCount)(i % h) * h + PetscMin(16 * (i / h), m - 1));
  }
  SpikeAwait();
  for (int i = threadIdx.x; i < h; i += blockDim.x) {
    g[i] = tips[q * (PetscCount)h + i];
    if (!UPWARDS) { /* x_b at s and x_t at e; transposed u_t at s, u_b at e, in the order of the rows of E M^-1 */
      const bool     first = TRANSPOSED ? i < ku : i < kl;
      const PetscInt at    = first ? s : e;
      const int      k     = TRANSPOSED ? (first ? kl + i : i - ku) : i;

      outer[i] = (first ? left : right) ? (first ? S : T)[at * (PetscCount)h + k] : (PetscScalar)0.0;
    }
  }
  __syncthreads();
  if (UPWARDS) {
    SpikeBlockTimes<TRANSPOSED>(TRANSPOSED ? h : m, TRANSPOSED ? m : h, A + (TRANSPOSED ? (PetscCount)r0 * h : r0), h,
                                g, part, [&](int i, PetscScalar v) {
                                  const int  r     = r0 + i;
                                  const bool first = TRANSPOSED ? r < kl : r < ku; /* at s */

                                  /* g_t at s, g_b at e; transposed g_b at s, g_t at e */
                                  if (first && left) tips[s * (PetscCount)h + (TRANSPOSED ? r : kl + r)] -= v;
                                  if (!first && right) tips[e * (PetscCount)h + (TRANSPOSED ? r : r - ku)] -= v;
                                });
  } else {
    SpikeBlockTimes<TRANSPOSED>(TRANSPOSED ? h : m, TRANSPOSED ? m : h, M + (TRANSPOSED ? (PetscCount)r0 * h : r0), h,
                                g, part, [&](int i, PetscScalar v) { to[r0 + i] = v; });
    __syncthreads();
    SpikeBlockTimes<TRANSPOSED>(TRANSPOSED ? h : m, TRANSPOSED ? m : h,
                                (TRANSPOSED ? E : PQ) + (TRANSPOSED ? (PetscCount)r0 * h : r0), h, outer, part,
                                [&](int i, PetscScalar v) { to[r0 + i] -= v; });
  }
}

/*
  The same for up to 8 G right-hand sides at once, blockIdx.y which, by block_columns.cuh: reads the rows of a matrix
  that a thread block has once for all of them. The way down is one sum, [M^-1, -PQ] [g; outer], transposed with
  E M^-1 in the place of PQ. Shared memory: kl + ku values for each right-hand side, on the way down twice as many, and
  64 G sums of each warp where there are segments.
*/
#define SPIKE_MERGED_WARPS   16  /* of a thread block, at most */
#define SPIKE_MERGED_SEGMENT 128 /* columns of a sum that a warp makes, up to 8 segments */

template <bool TRANSPOSED, bool UPWARDS, int G>
__global__ void __launch_bounds__(32 * SPIKE_MERGED_WARPS, 1)
  SpikeMergedColumns_Kernel(const __grid_constant__ SpikeMergedArgs a, int nrhs, int pitch, int segments)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 PARTS = UPWARDS ? 1 : 2, COLUMNS = SPIKE_COLUMNS * G;
  const SpikeTiles                             &t = a.t;
  const int kl = t.kl, ku = t.ku, h = kl + ku, r0 = (int)blockIdx.z * a.rows, m = PetscMin(a.rows, h - r0),
            warp = threadIdx.x >> 5, warps = blockDim.x >> 5, lane = threadIdx.x & 31,
            nc       = PetscMin(COLUMNS, nrhs - COLUMNS * (int)blockIdx.y);
  const PetscInt   q = a.level.q(blockIdx.x), s = a.level.s(blockIdx.x), e = a.level.e(blockIdx.x);
  const PetscCount pair = (PetscCount)h * h, column = COLUMNS * blockIdx.y * a.ldt,
                   slice   = TRANSPOSED ? (PetscCount)r0 * h : r0;
  const PetscScalar *M     = a.merged + q * SPIKE_MERGED * pair + slice,
                    *other = M + (UPWARDS == TRANSPOSED ? SPIKE_MERGED_PQ : SPIKE_MERGED_OUT) * pair;
  PetscScalar *x = (PetscScalar *)shared, *tips = a.tips + column, *to = a.solution + column + q * (PetscCount)h + r0;
  SpikeDouble *part    = (SpikeDouble *)(x + PARTS * COLUMNS * pitch);
  const PetscScalar *S = s ? a.solution + column : tips, *T = e < t.np ? a.solution + column : tips;
  const bool         left = t.active[s], right = t.active[e];
  SpikeColumnsProduct<TRANSPOSED, G, PARTS> product;

  SpikeRelease();
  product.A[0]         = SpikeColumnsMatrix<TRANSPOSED>{UPWARDS ? other : M, h, m, h};
  product.A[PARTS - 1] = SpikeColumnsMatrix<TRANSPOSED>{other, h, m, h};
  product.start(segments);
  product.load();
  SpikeUnroll(p, PARTS) {
    const PetscScalar *B = product.A[p].A;

    if (TRANSPOSED)
      for (int i = threadIdx.x; i < (m * h + 15) / 16; i += blockDim.x) SpikePrefetch(B + 16 * i);
    else
      for (int i = threadIdx.x; i < h * ((m + 15) / 16 + 1); i += blockDim.x)
        SpikePrefetch(B + (PetscCount)(i % h) * h + PetscMin(16 * (i / h), m - 1));
  }
  SpikeAwait();
  for (int i = lane; i < (h + 3) / 4 * 4; i += 32) {
    /* as SpikeMerged_Kernel() has it */
    const bool         first = TRANSPOSED ? i < ku : i < kl, outer = i < h && (first ? left : right), here = i < h;
    const int          k    = TRANSPOSED ? (first ? kl + i : i - ku) : i;
    const PetscScalar *from = (first ? S : T) + (first ? s : e) * (PetscCount)h + k;

    for (int c0 = warp; c0 < COLUMNS; c0 += 4 * warps) {
      PetscScalar v[4], w[4];

      SpikeUnroll(j, 4) {
        const PetscCount c = PetscMin(c0 + j * warps, nc - 1) * a.ldt;

        v[j] = here ? tips[c + q * (PetscCount)h + i] : (PetscScalar)0.0;
        w[j] = !UPWARDS && outer ? -from[c] : (PetscScalar)0.0;
      }
      SpikeUnroll(j, 4)
        if (c0 + j * warps < COLUMNS) {
          x[(c0 + j * warps) * pitch + i] = v[j];
          if (!UPWARDS) x[(COLUMNS + c0 + j * warps) * pitch + i] = w[j];
        }
    }
  }
  __syncthreads();
  product.run(x, pitch, part, [&](int i, int c, PetscScalar v) {
    const int  r     = r0 + i;
    const bool first = TRANSPOSED ? r < kl : r < ku; /* at s */

    if (i >= m || c >= nc) return;
    if (!UPWARDS) to[c * a.ldt + i] = v;
    else if (first && left) tips[c * a.ldt + s * (PetscCount)h + (TRANSPOSED ? r : kl + r)] -= v;
    else if (!first && right) tips[c * a.ldt + e * (PetscCount)h + (TRANSPOSED ? r : r - ku)] -= v;
  });
}

/* A level of mergedtips(); *done: shared memory holds it, for 16 or 8 right-hand sides at once */
template <bool TRANSPOSED, bool UPWARDS>
static PetscErrorCode SpikeMergedColumns_Private(SpikeBand *s, SpikeMergedArgs a, int interfaces, int nrhs, bool *done)
{
  const SpikeCUDA *d = (const SpikeCUDA *)s->data;
  const int        h = (int)(s->kl + s->ku), pitch = SpikeColumnsPitch(h), tiles = (h + 7) / 8,
            segments = PetscMin(8, (h + SPIKE_MERGED_SEGMENT - 1) / SPIKE_MERGED_SEGMENT),
            most     = SPIKE_MERGED_WARPS / segments; /* tiles of a thread block */

  PetscFunctionBegin;
  *done = false;
  for (int groups = nrhs > SPIKE_COLUMNS ? 2 : 1; groups > 0 && !*done; groups--) {
    const int columns = SPIKE_COLUMNS * groups, together = (nrhs + columns - 1) / columns,
              idle = 2 * d->gpu->multiprocessors / PetscMax(1, interfaces * together), /* two for a multiprocessor */
      own = PetscMin(most, (tiles + PetscMax(1, idle) - 1) / PetscMax(1, idle)), threads = 32 * own * segments;
    const size_t shared = (size_t)(UPWARDS ? 1 : 2) * columns * pitch * sizeof(PetscScalar) +
                          (segments > 1 ? (size_t)own * segments * 8 * columns * sizeof(SpikeDouble) : 0);
    const auto kernel = groups > 1 ? SpikeMergedColumns_Kernel<TRANSPOSED, UPWARDS, 2>
                                   : SpikeMergedColumns_Kernel<TRANSPOSED, UPWARDS, 1>;
    int        resident;

    PetscCall(SpikeKernelResident((const void *)kernel, threads, shared, &resident));
    if (!resident) continue;
    a.rows = 8 * own;
    PetscCallCUDA(SpikeLaunchEarly(kernel,
                                   dim3((unsigned)interfaces, (unsigned)together, (unsigned)((tiles + own - 1) / own)),
                                   dim3(threads), shared, (cudaStream_t)s->stream, a, nrhs, pitch, segments));
    *done = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many thread blocks for an interface as multiprocessors are idle, of 16 rows each at least */
PetscErrorCode SpikeMergedTips_CUDA(SpikeBand *s, PetscBool trans, PetscBool up, PetscInt nrhs)
{
  const SpikeCUDA *d = (const SpikeCUDA *)s->data;
  const int        h = (int)(s->kl + s->ku), threads = PetscMin(256, PetscMax(32, (h * h / 16 + 31) / 32 * 32));
  const PetscCount ldt    = (PetscCount)(s->np + 1) * h;
  const size_t     shared = (size_t)(2 * h + threads) * sizeof(PetscScalar);
  SpikeMergedArgs  a      = {d->t, {s->np, 1}, s->dmerged, s->dtips, s->dtips + s->maxrhs * ldt, ldt, h};
  PetscInt         top    = 1;

  PetscFunctionBegin;
  if (!s->n || !nrhs || !h) PetscFunctionReturn(PETSC_SUCCESS);
  while (2 * top < s->np) top *= 2;
  for (PetscInt l = up ? 1 : top; l > 0 && l < s->np; l = up ? 2 * l : l / 2) {
    const int interfaces = (int)((s->np - l + 2 * l - 1) / (2 * l)),
              slices     = PetscMax(1, PetscMin(d->gpu->multiprocessors / (interfaces * (int)nrhs), (h + 15) / 16));
    const auto kernel    = trans ? (up ? SpikeMerged_Kernel<true, true> : SpikeMerged_Kernel<true, false>)
                                 : (up ? SpikeMerged_Kernel<false, true> : SpikeMerged_Kernel<false, false>);
    bool       done      = false;

    a.level.l = l;
    if (nrhs > 1) {
      const auto columns = trans
                           ? (up ? SpikeMergedColumns_Private<true, true> : SpikeMergedColumns_Private<true, false>)
                           : (up ? SpikeMergedColumns_Private<false, true> : SpikeMergedColumns_Private<false, false>);

      PetscCall((*columns)(s, a, interfaces, (int)nrhs, &done));
    }
    if (done) continue;
    a.rows = (h + slices - 1) / slices;
    PetscCallCUDA(SpikeLaunchEarly(kernel, dim3((unsigned)interfaces, (unsigned)nrhs, (unsigned)slices), dim3(threads),
                                   shared, (cudaStream_t)s->stream, a));
  }
  PetscCall(PetscLogGpuFlops(nrhs * (s->np - 1.0) * (up ? 2.0 : 4.0) * h * h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z -= [C x_b; 0; B x_t], transposed [x_t; 0; x_b], by a thread block for a partition and right-hand side */
template <bool TRANSPOSED>
__global__ static void SpikeMergedRhs_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *B,
                                             const PetscScalar *C, const PetscScalar *tips, const PetscScalar *solution,
                                             PetscCount ldt, PetscScalar *z, PetscCount ldz)
{
  const PetscInt p = blockIdx.x, n = t.start[p + 1] - t.start[p];
  const int      h = t.kl + t.ku;

  z += blockIdx.y * ldz + t.start[p];
  tips += blockIdx.y * ldt;
  solution += blockIdx.y * ldt;
  for (int end = 0; end < 2; end++) {
    const int rows = end == TRANSPOSED ? t.kl : t.ku; /* that a side has: of C and of x_b kl, of B and of x_t ku */
    /* below the cut at the top, above the cut at the bottom; transposed the other sides */
    const PetscScalar *x = (p + end > 0 && p + end < t.np ? solution : tips) + (p + end) * (PetscCount)h +
                           (end == TRANSPOSED ? 0 : t.kl);

    if (t.active[p + end])
      for (int i = threadIdx.x; i < rows; i += blockDim.x) {
        const PetscScalar *A = (end ? B : C) + (p + end) * (PetscCount)rows * rows + i;

        z[end ? n - rows + i : i] -= TRANSPOSED ? x[i]
                                                : SpikeTriangleTimes(A, rows, end ? 0 : i, end ? i + 1 : rows, x);
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
  const PetscCount   ldt    = (PetscCount)(s->np + 1) * (s->kl + s->ku);
  const auto         kernel = trans ? SpikeMergedRhs_Kernel<true> : SpikeMergedRhs_Kernel<false>;

  PetscFunctionBegin;
  if (!s->n || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(
    SpikeCopy2D(s->dwork, bytes, b, ldb * sizeof(PetscScalar), bytes, (size_t)nrhs, cudaMemcpyDeviceToDevice, stream));
  kernel<<<grid, threads, 0, stream>>>(h->t, s->dB, s->dC, s->dtips, s->dtips + s->maxrhs * ldt, ldt, s->dwork, s->n);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(nrhs * s->np * (1.0 * s->kl * s->kl + 1.0 * s->ku * s->ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
