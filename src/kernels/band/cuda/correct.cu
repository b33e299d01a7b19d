/* SPDX-License-Identifier: BSD-2-Clause */
/* correct.cu: reduced systems, corrections and reordering of an apply */
#include "sweep.cuh"
#include "block_columns.cuh"
#include "block_times.cuh"

/*
  A block for each active interface and right-hand side, with R^-1 in dR:

                  x_t <- R^-1 (g_t - Wt g_b),    x_b <- g_b - Vb x_t
      transposed  z_t <- R^-T (u_t - Vb^T u_b),  z_b <- u_b - Wt^T z_t

  The matrices are prefetched at once, before the first of them is needed. Reads each of them, and the tips, once;
  writes the tips. Shared memory: kl + 2 ku numbers and one a thread.
*/
template <bool TRANSPOSED>
__global__ void __launch_bounds__(1024, 1)
  SpikeSolveTips_Kernel(const __grid_constant__ SpikeTiles t, PetscInt q0, const PetscScalar *dVb,
                        const PetscScalar *dWt, const PetscScalar *dR, PetscScalar *tips, PetscCount ldt)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int                                     kl = t.kl, ku = t.ku;
  PetscScalar       *below = (PetscScalar *)shared, *above = below + kl, *solved = above + ku, *part = solved + ku;
  const PetscInt     q  = q0 + blockIdx.x;
  const PetscScalar *Vb = dVb + q * (PetscCount)kl * ku, *Wt = dWt + q * (PetscCount)kl * ku,
                    *R = dR + q * (PetscCount)ku * ku;
  PetscScalar *tip     = tips + blockIdx.y * ldt + q * (PetscCount)(kl + ku);

  SpikeRelease();
  if (t.active[q]) SpikePrefetchReduced(t, dVb, dWt, dR, q, q + 1);
  SpikeAwait();
  if (!t.active[q]) return;
  for (int i = threadIdx.x; i < kl; i += blockDim.x) below[i] = tip[i];
  for (int i = threadIdx.x; i < ku; i += blockDim.x) above[i] = tip[kl + i];
  __syncthreads();
  if (TRANSPOSED) SpikeBlockTimes<true>(kl, ku, Vb, kl, below, part, [&](int i, PetscScalar v) { above[i] -= v; });
  else SpikeBlockTimes<false>(ku, kl, Wt, ku, below, part, [&](int i, PetscScalar v) { above[i] -= v; });
  __syncthreads();
  SpikeBlockTimes<TRANSPOSED>(ku, ku, R, ku, above, part, [&](int i, PetscScalar v) { tip[kl + i] = solved[i] = v; });
  __syncthreads();
  if (TRANSPOSED)
    SpikeBlockTimes<true>(ku, kl, Wt, ku, solved, part, [&](int i, PetscScalar v) { tip[i] = below[i] - v; });
  else SpikeBlockTimes<false>(kl, ku, Vb, kl, solved, part, [&](int i, PetscScalar v) { tip[i] = below[i] - v; });
}

#define SPIKE_TIPS_WARPS 16 /* of a block for several right-hand sides, at most */

/*
  The same for up to 8 G right-hand sides at once, blockIdx.y which: a thread block for each active interface, a warp
  for 8 rows of each product (block_columns.cuh). Reads each matrix once, and the tips twice; writes the tips once. The
  first columns of all three matrices come to registers, and the others to the L2 cache, before the previous kernel has
  ended; then there are three products of which one needs the one before, each a chain of K / 4 steps. Shared memory:
  two columns for each right-hand side: [g_b, later x_t] and [g_t, later g_t - Wt g_b].
*/
template <bool TRANSPOSED, int G>
__global__ void __launch_bounds__(32 * SPIKE_TIPS_WARPS, 1)
  SpikeSolveColumns_Kernel(const __grid_constant__ SpikeTiles t, PetscInt q0, int nrhs, int pitch,
                           const PetscScalar *dVb, const PetscScalar *dWt, const PetscScalar *dR, PetscScalar *tips,
                           PetscCount ldt)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const int kl = t.kl, ku = t.ku, h = kl + ku, lane = threadIdx.x & 31, warp = threadIdx.x >> 5,
            warps = blockDim.x >> 5, first = SPIKE_COLUMNS * G * (int)blockIdx.y,
            nc          = PetscMin(SPIKE_COLUMNS * G, nrhs - first);
  const PetscInt     q  = q0 + blockIdx.x;
  const PetscScalar *Vb = dVb + q * (PetscCount)kl * ku, *Wt = dWt + q * (PetscCount)kl * ku,
                    *R = dR + q * (PetscCount)ku * ku;
  PetscScalar *below = (PetscScalar *)shared, *above = below + SPIKE_COLUMNS * G * pitch,
              *tip                              = tips + first * ldt + q * (PetscCount)h;
  SpikeColumnsProduct<TRANSPOSED, G, 1> toabove = {{{TRANSPOSED ? Vb : Wt, TRANSPOSED ? kl : ku, ku, kl}}},
                                        inverse = {{{R, ku, ku, ku}}},
                                        tobelow = {{{TRANSPOSED ? Wt : Vb, TRANSPOSED ? ku : kl, kl, ku}}};

  SpikeRelease();
  if (t.active[q]) {
    if (PetscMax(kl, ku) > SpikeColumnsPiece::WIDTH) SpikePrefetchReduced(t, dVb, dWt, dR, q, q + 1);
    toabove.start(1);
    inverse.start(1);
    tobelow.start(1);
    toabove.load();
    inverse.load();
    tobelow.load();
  }
  SpikeAwait();
  if (!t.active[q]) return;
  for (int i = lane; i < h; i += 32)
    for (int c0 = warp; c0 < SPIKE_COLUMNS * G; c0 += 4 * warps) {
      PetscScalar v[4];

      SpikeUnroll(j, 4) v[j] = tip[PetscMin(c0 + j * warps, nc - 1) * ldt + i];
      SpikeUnroll(j, 4)
        if (c0 + j * warps < SPIKE_COLUMNS * G) (i < kl ? below + i : above + i - kl)[(c0 + j * warps) * pitch] = v[j];
    }
  for (int e = threadIdx.x; e < 4 * SPIKE_COLUMNS * G; e += blockDim.x) /* up to a multiple of 4 */
    if (kl / 4 * 4 + e % 4 >= kl) below[e / 4 * pitch + kl / 4 * 4 + e % 4] = 0.0;
  __syncthreads();
  toabove.run(below, pitch, NULL, [&](int i, int c, PetscScalar v) {
    above[c * pitch + i] = i < ku ? above[c * pitch + i] - v : (PetscScalar)0.0;
  });
  __syncthreads();
  inverse.run(above, pitch, NULL, [&](int i, int c, PetscScalar v) {
    below[c * pitch + i] = v;
    if (i < ku && c < nc) tip[c * ldt + kl + i] = v;
  });
  __syncthreads();
  tobelow.run(below, pitch, NULL, [&](int i, int c, PetscScalar v) {
    if (i < kl && c < nc) tip[c * ldt + i] -= v;
  });
}

/*
  Right-hand sides in groups of 16, or 8 where there are no more or shared memory holds no more; *done: it holds them
*/
static PetscErrorCode SpikeSolveColumns_Private(SpikeBand *s, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs,
                                                bool *done)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  const int        K = (int)PetscMax(s->kl, s->ku), tiles = (K + 7) / 8, pitch = SpikeColumnsPitch(K),
            turns = (tiles + SPIKE_TIPS_WARPS - 1) / SPIKE_TIPS_WARPS, threads = 32 * ((tiles + turns - 1) / turns);
  const PetscCount ldt = (PetscCount)(s->np + 1) * (s->kl + s->ku);

  PetscFunctionBegin;
  *done = false;
  for (int groups = nrhs > SPIKE_COLUMNS ? 2 : 1; groups > 0 && !*done; groups--) {
    const bool   two     = groups > 1;
    const int    columns = SPIKE_COLUMNS * groups;
    const size_t shared  = (size_t)2 * columns * pitch * sizeof(PetscScalar);
    const auto   kernel  = trans ? (two ? SpikeSolveColumns_Kernel<true, 2> : SpikeSolveColumns_Kernel<true, 1>)
                                 : (two ? SpikeSolveColumns_Kernel<false, 2> : SpikeSolveColumns_Kernel<false, 1>);
    int          resident;

    PetscCall(SpikeKernelResident((const void *)kernel, threads, shared, &resident));
    if (!resident) continue;
    PetscCallCUDA(SpikeLaunchEarly(kernel, dim3((unsigned)(q1 - q0), (unsigned)((nrhs + columns - 1) / columns)),
                                   dim3(threads), shared, (cudaStream_t)s->stream, h->t, q0, (int)nrhs, pitch, s->dVb,
                                   s->dWt, s->dR, s->dtips, ldt));
    *done = true;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeSolveTips_CUDA(SpikeBand *s, PetscBool trans, PetscInt q0, PetscInt q1, PetscInt nrhs)
{
  const SpikeCUDA *h  = (const SpikeCUDA *)s->data;
  const int        kl = (int)s->kl, ku = (int)s->ku, K = PetscMax(kl, ku),
            threads       = K <= 8  ? 32
                          : K <= 32 ? 128
                          : K <= 64 ? 256
                                    : 1024;
  const PetscCount ldt    = (PetscCount)(s->np + 1) * (kl + ku);
  const size_t     shared = (size_t)(kl + 2 * ku + threads) * sizeof(PetscScalar);
  const dim3       grid((unsigned)PetscMax(q1 - q0, 0), (unsigned)nrhs);
  bool             done = false;

  PetscFunctionBegin;
  if (!ku || q0 >= q1 || !nrhs) PetscFunctionReturn(PETSC_SUCCESS); /* without ku, x_b = g_b */
  PetscCheck(K <= SPIKE_CUDA_MAX_BANDWIDTH, PETSC_COMM_SELF, PETSC_ERR_SUP, "Half-bandwidth %d", K);
  if (nrhs > 1) PetscCall(SpikeSolveColumns_Private(s, trans, q0, q1, nrhs, &done));
  if (!done)
    PetscCallCUDA(SpikeLaunchEarly(trans ? SpikeSolveTips_Kernel<true> : SpikeSolveTips_Kernel<false>, grid, threads,
                                   shared, (cudaStream_t)s->stream, h->t, q0, s->dVb, s->dWt, s->dR, s->dtips, ldt));
  PetscCall(PetscLogGpuFlops((q1 - q0) * nrhs * (4.0 * kl * ku + 2.0 * ku * ku)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The sweeps of sweep.cuh over the windows, both ends of a partition at once; the transposed correction takes whole
  partitions
*/
PetscErrorCode SpikeCorrect_CUDA(SpikeBand *s, PetscBool trans, PetscInt p0, PetscInt p1, PetscInt nrhs, PetscScalar *x,
                                 PetscCount ldx)
{
  const SpikeCUDA *h = (const SpikeCUDA *)s->data;
  SpikeSweepArgs   a = {};

  PetscFunctionBegin;
  if (!s->coupled || p0 >= p1) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->tri) {
    PetscCall(SpikeTriCorrectSystems_CUDA(s, trans, p0, p1, nrhs, x, ldx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (h->pivoted) {
    PetscCall(SpikePivotedCorrect_CUDA(s, trans, p0, p1, nrhs, x, ldx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  a.p0      = p0;
  a.p1      = p1;
  a.correct = 1;
  a.x       = x;
  a.ldx     = ldx;
  a.y       = h->work;
  a.b       = h->work;
  a.ldb = a.ldy = s->n;
  a.window      = trans ? NULL : h->window;
  a.ht          = (int)(trans ? s->ku : s->kl);
  a.hb          = (int)(trans ? s->kl : s->ku);
  PetscCall(SpikeSweepLaunch_CUDA(s, trans, nrhs, &a));
  if (trans) PetscCall(PetscLogGpuFlops(nrhs * (2.0 * s->kl + 2.0 * s->ku + 2.0) * (s->start[p1] - s->start[p0])));
  else PetscCall(PetscLogGpuFlops(nrhs * (2.0 * s->kl + 2.0 * s->ku + 2.0) * h->windowrows * (p1 - p0) / s->np));
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ static void SpikePermute_Kernel(PetscInt n, bool gather, const PetscInt *newrow, const PetscReal *scale,
                                           const PetscScalar *x, PetscCount ldx, PetscScalar *y, PetscCount ldy)
{
  const PetscInt i = blockIdx.x * (PetscInt)blockDim.x + threadIdx.x;

  x += blockIdx.y * ldx;
  y += blockIdx.y * ldy;
  if (i >= n) return;
  const PetscInt  k = newrow ? newrow[i] : i;
  const PetscReal t = scale ? scale[i] : (PetscReal)1;

  y[gather ? i : k] = x[gather ? k : i] * t;
}

PetscErrorCode SpikePermute_CUDA(SpikeBand *s, PetscBool gather, const PetscInt *newrow, const PetscReal *scale,
                                 PetscInt nrhs, const PetscScalar *x, PetscCount ldx, PetscScalar *y, PetscCount ldy)
{
  PetscFunctionBegin;
  if (!s->n || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePermute_Kernel<<<dim3((unsigned)((s->n + 255) / 256), (unsigned)nrhs), 256, 0,
                        (cudaStream_t)s->stream>>>(s->n, (bool)gather, newrow, scale, x, ldx, y, ldy);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
