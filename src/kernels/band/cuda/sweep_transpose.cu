/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_transpose.cu: transposed sweeps, for whole partitions and for corrections */
#include "block_columns.cuh"
#include "sweep_owner.cuh"

/*
  Transposed: a thread block for each group of partitions, warps in turn for the tiles. Lane l owns column l % T of
  member l / T and reads it from top to bottom. The halves of a corner tile are read at two different steps.
*/
template <typename F>
__global__ void __launch_bounds__(256) SpikeSweepTranspose_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  __shared__ PetscScalar ring[SPIKE_MAXTILES + 1][32], st[32], part[8][32];
  const SpikeTiles      &t = a.t;
  const int T = t.T, column = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscInt   group  = a.p0 / t.G + blockIdx.x;
  const bool       active = lane < T * t.G;
  const int        m = active ? lane / T : 0, c = active ? lane % T : 0;
  const SpikeRange range = SpikeGetRange(a, a.correct, group * t.G, 0);
  const int        nf = range.f1 - range.f0, ns = nf + range.f1 - range.b0, slots = PetscMax(t.QL, t.QU) + 1;
  const SpikeOwner own(a, range, group * t.G + m, c, active, column, false);
  const F         *band = (const F *)a.band + t.group(group * t.G) + ((PetscInt64)c * t.G + m) * T;
  const F         *diag = (const F *)a.band + t.group(group * t.G) + t.tile(t.QL + t.QU) + m * T + c;

  if (!ns) return;
  if (a.correct)
    SpikeCorrectionRHS<true>(a, range, group * t.G, column, [&](int m, PetscInt row) {
      return a.y + column * a.ldy + t.start[group * t.G + m] + row;
    });
  for (int s = 0; s < ns; s++) {
    const bool back = s >= nf;
    const int  j = back ? range.f1 - 1 - (s - nf) : range.f0 + s, Q = back ? t.QL : t.QU, tile0 = back ? 0 : t.QL,
              some = back ? t.below(group * t.G) : t.above(group * t.G);
    PetscScalar v = 0.0, old = 0.0;
    F           d = 1.0;

    if (!warp) {
      v   = back ? (j >= range.f0 ? own.get(a, j) : (PetscScalar)0.0) : own.rhs(a, j);
      old = back ? own.old(a, j) : (PetscScalar)0.0;
      if (!back && active) d = diag[j * t.rowsize];
    }
    /* U^T forward: tiles above the diagonal, of the rows before; L^T backward: tiles below it, of the rows after */
    PetscScalar sum = 0.0;

    for (int q = warp + 1; q <= Q; q += warps) {
      const int neighbour = back ? j + q : j - q;

      if (active && (q <= some || q == Q) && (back ? neighbour < range.f1 : neighbour >= range.f0)) {
        const F           *A = band + neighbour * t.rowsize + t.tile(tile0 + q - 1);
        const PetscScalar *x = ring[neighbour % slots] + m * T;
        /* the half of the corner that couples */
        const int r0 = q == Q && !back ? c : 0, r1 = q == Q && back ? c + 1 : T;

#pragma unroll 8
        for (int r = r0; r < r1; r++) sum = SpikeFma(SpikeLoad(A + r), x[r], sum);
      }
    }
    part[warp][lane] = sum;
    __syncthreads();
    if (!warp) {
      for (int k = 0; k < warps; k++) v -= part[k][lane];
      st[lane] = v;
      __syncwarp();
      v = SpikeFma((PetscScalar)d, v, 0.0);
      if (Q && active) {
        const F  *A  = band + j * t.rowsize + t.tile(tile0 + Q - 1);
        const int r0 = back ? c + 1 : 0, r1 = back ? T : c;

#pragma unroll 8
        for (int r = r0; r < r1; r++) v = SpikeFma(SpikeLoad(A + r), st[m * T + r], v);
      }
      if (back) own.result(a, j, v, old);
      else own.put(a, j, v);
      ring[j % slots][lane] = v;
    }
    __syncthreads();
  }
}

/* C_q^T g_top and B_q^T g_bottom of the partitions: a block for each of them, a warp for each number */
__global__ void __launch_bounds__(256) SpikeTipsTranspose_Kernel(const __grid_constant__ SpikeSweepArgs a)
{
  const SpikeTiles  &t = a.t;
  const PetscInt     p = a.p0 + blockIdx.x, n = t.start[p + 1] - t.start[p];
  const int          kl = t.kl, ku = t.ku, column = blockIdx.y, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
  const PetscScalar *g   = a.x + column * a.ldx + t.start[p];
  PetscScalar       *tip = a.tips + column * a.ldt + p * (PetscCount)(kl + ku);

  for (int c = threadIdx.x >> 5; c < kl + ku; c += warps) {
    const bool         top = c < kl;
    const int          h = top ? kl : ku, k = top ? c : c - kl;
    const PetscScalar *x = top ? g : g + n - ku,
                      *A = (top ? a.C + p * (PetscCount)h * h : a.B + (p + 1) * (PetscCount)h * h) + (PetscCount)k * h;
    PetscScalar v        = 0.0;

    if (!t.active[top ? p : p + 1]) continue;
    for (int r = lane; r < h; r += 32) v = SpikeFma(A[r], x[r], v);
    v = SpikeWarpSum(v);
    if (!lane) tip[top ? k : 2 * kl + ku + k] = v;
  }
}

#define SPIKE_GRAB_WARPS 16 /* of a block of SpikeTipsColumns_Kernel(), at most */

/*
  The same for up to 8 G right-hand sides at once, blockIdx.y which, by block_columns.cuh; blockIdx.z: C or B. Reads the
  matrix once. Shared memory: kl or ku values for each right-hand side.
*/
template <int G>
__global__ void __launch_bounds__(32 * SPIKE_GRAB_WARPS, 1)
  SpikeTipsColumns_Kernel(const __grid_constant__ SpikeSweepArgs a, int nrhs, int pitch)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 COLUMNS = SPIKE_COLUMNS * G;
  const SpikeTiles                             &t       = a.t;
  const bool                                    top     = blockIdx.z == 0;
  const PetscInt     p = a.p0 + blockIdx.x, n = t.start[p + 1] - t.start[p], q = top ? p : p + 1;
  const int          h = top ? t.kl : t.ku, first = COLUMNS * (int)blockIdx.y, nc = PetscMin(COLUMNS, nrhs - first);
  const int          warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  const PetscScalar *g                    = a.x + first * a.ldx + t.start[p] + (top ? 0 : n - h);
  PetscScalar       *tip                  = a.tips + first * a.ldt + q * (PetscCount)(t.kl + t.ku) + (top ? 0 : t.kl),
              *x                          = (PetscScalar *)shared;
  SpikeColumnsProduct<true, G, 1> product = {{{(top ? a.C : a.B) + q * (PetscCount)h * h, h, h, h}}};

  SpikeRelease();
  product.start(1);
  if (t.active[q]) product.load();
  SpikeAwait();
  if (!t.active[q]) return;
  for (int i = threadIdx.x & 31; i < (h + 3) / 4 * 4; i += 32)
    for (int c = warp; c < COLUMNS; c += warps)
      x[c * pitch + i] = i < h ? g[PetscMin(c, nc - 1) * a.ldx + i] : (PetscScalar)0.0;
  __syncthreads();
  product.run(x, pitch, NULL, [&](int i, int c, PetscScalar v) {
    if (i < h && c < nc) tip[c * a.ldt + i] = v;
  });
}

/* The tips of a transposed sweep that is on its way */
static PetscErrorCode SpikeTipsTranspose_Private(const SpikeSweepArgs *a, PetscInt nrhs, cudaStream_t stream)
{
  const SpikeTiles *t          = &a->t;
  const unsigned    partitions = (unsigned)(a->p1 - a->p0);
  const int         K = PetscMax(t->kl, t->ku), pitch = SpikeColumnsPitch(K);
  const dim3        threads(32 * PetscMin(SPIKE_GRAB_WARPS, (K + 7) / 8));
  bool              done = false;

  PetscFunctionBegin;
  for (int groups = nrhs == 1 ? 0 : nrhs > SPIKE_COLUMNS ? 2 : 1; groups > 0 && !done; groups--) {
    const int    columns = SPIKE_COLUMNS * groups;
    const size_t shared  = (size_t)columns * pitch * sizeof(PetscScalar);
    const auto   kernel  = groups > 1 ? SpikeTipsColumns_Kernel<2> : SpikeTipsColumns_Kernel<1>;
    int          resident;

    PetscCall(SpikeKernelResident((const void *)kernel, (int)threads.x, shared, &resident));
    if (!resident) continue;
    PetscCallCUDA(SpikeLaunchEarly(kernel, dim3(partitions, (unsigned)((nrhs + columns - 1) / columns), 2), threads,
                                   shared, stream, *a, (int)nrhs, pitch));
    done = true;
  }
  if (!done) {
    SpikeTipsTranspose_Kernel<<<dim3(partitions, (unsigned)nrhs), PetscMin(256, 32 * PetscMax(1, (t->kl + t->ku) / 8)),
                                0, stream>>>(*a);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeSweepTranspose_CUDA(PetscSpikePrecision precision, const SpikeSweepArgs *a, PetscInt nrhs,
                                        cudaStream_t stream)
{
  const SpikeTiles *t     = &a->t;
  const int         warps = PetscMax(1, PetscMin(PetscMax(t->QL, t->QU), 8));
  const dim3        grid((unsigned)((a->p1 - 1) / t->G - a->p0 / t->G + 1), (unsigned)nrhs);
  bool              done = false;

  PetscFunctionBegin;
  if (nrhs > 1) PetscCall(SpikeSweepColumnsTranspose_CUDA(precision, a, nrhs, stream, &done));
  if (!done) {
    SpikeDispatchPrecision(precision, (SpikeSweepTranspose_Kernel<F><<<grid, 32 * warps, 0, stream>>>(*a)));
    PetscCallCUDA(cudaGetLastError());
  }
  if (a->tips && !a->correct) PetscCall(SpikeTipsTranspose_Private(a, nrhs, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
