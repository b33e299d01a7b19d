/* SPDX-License-Identifier: BSD-2-Clause */
/* merge_invert.cu: R^-1 of the interfaces of a level, for full SPIKE */
#include "band.cuh"
#include "merge.cuh"

/*
  R = I - Wt Vb and its inverse by Gauss-Jordan elimination with row exchanges, a thread block for an interface. Levels
  near the last have few interfaces, so that the time of one counts: the matrix is in registers, element (i, j) in lane
  i % 32 of warp j % 16, and a pivot costs one barrier. Its warp looks for it, and leaves the multipliers in shared
  memory:

      a_kj <- a_pj / pivot,   a_pj <- a_kj,   a_ij <- a_ij - c_i a_kj        in the columns j != k
      a_kk <- 1 / pivot,      a_ik <- -c_i / pivot

  The pivots are those of L U. A boosted one counts for U alone: the rows below are eliminated with the pivot as it was.
  The columns of the inverse are in the order of the exchanged rows. Reads Wt and Vb once, writes R^-1 once.
*/
#define SPIKE_MERGE_WARPS 16

struct SpikeMergeShared {
  PetscScalar c[2][8 * SPIKE_MERGE_WARPS], d[2];
  PetscReal   scale[SPIKE_MERGE_WARPS];
  int         p[2], row[8 * SPIKE_MERGE_WARPS];
};

/* |v| in the order of unsigned numbers, to 20 bits after the first */
__device__ static __forceinline__ unsigned SpikeUpperBits(PetscReal v)
{
  return sizeof(PetscReal) == 8 ? (unsigned)__double2hiint((double)v) : __float_as_uint((float)v);
}

/*
  v, of which the compiler is not to know where it comes from: it would put an array with a choice among it in memory
*/
__device__ static __forceinline__ PetscReal SpikeInRegister(PetscReal v)
{
#if defined(PETSC_USE_REAL_SINGLE)
  asm("" : "+f"(v));
#else
  asm("" : "+d"(v));
#endif
  return v;
}

#if defined(PETSC_USE_COMPLEX)
__device__ static __forceinline__ PetscScalar SpikeInRegister(PetscScalar v)
{
  return PetscScalar(SpikeInRegister(v.real()), SpikeInRegister(v.imag()));
}
#endif

/* Element r of column j, in all lanes */
template <int NI, int NJ>
__device__ static __forceinline__ PetscScalar SpikeMergeElement(const PetscScalar (&a)[NI][NJ], int r, int j)
{
  PetscScalar v = a[0][j];

  SpikeUnrollFrom(i, 1, NI) {
    const PetscScalar w = SpikeInRegister(a[i][j]);

    v = i == r >> 5 ? w : v;
  }
  return SpikeShfl(v, r & 31);
}

/*
  The pivot of column k, which is column jl of the warp: a <- its elements of the inverse so far, and what others need
*/
template <int NI, int NJ>
__device__ static __forceinline__ void SpikeMergePivot(PetscScalar (&a)[NI][NJ], int jl, int k, int n, PetscInt q,
                                                       PetscReal tol, PetscReal boost, PetscReal scale,
                                                       const SpikeReducedStatus &st, SpikeMergeShared &sh, bool &bad)
{
  const int   lane = threadIdx.x & 31;
  unsigned    best = 0, most;
  int         p    = k;
  PetscScalar was, above, is, d, ratio;

  /* the largest by the upper half of the bits, the first of equals; NaN is larger than all */
  SpikeUnroll(i, NI) {
    const int      r = lane + 32 * i;
    const unsigned v = r >= k && r < n ? SpikeUpperBits(SpikeAbs(a[i][jl])) + 1 : 0;

    if (v > best) best = v, p = r;
  }
  most  = __reduce_max_sync(SPIKE_WARP, best);
  p     = __shfl_sync(SPIKE_WARP, p, __ffs(__ballot_sync(SPIKE_WARP, best == most)) - 1);
  was   = SpikeMergeElement(a, p, jl);
  above = SpikeMergeElement(a, k, jl);
  is    = SpikeReducedPivot(was, tol, boost, scale, q, st, lane == 0, bad);
  d     = (PetscScalar)1.0 / is;
  ratio = was == is ? (PetscScalar)1.0 : SpikeAbs(was) > 0.0 ? is / was : (PetscScalar)0.0;
  SpikeUnroll(i, NI) {
    const int         r = lane + 32 * i;
    const PetscScalar v = r == p ? above : a[i][jl], c = r > k ? v * ratio : v;

    if (r < n) sh.c[k & 1][r] = c;
    a[i][jl] = r == k ? d : -c * d;
  }
  if (lane == 0) {
    sh.p[k & 1] = p;
    sh.d[k & 1] = d;
  }
}

template <int NI, int NJ>
__global__ static void __launch_bounds__(32 * SPIKE_MERGE_WARPS, 1)
  SpikeMergeInvert_Kernel(int kl, int n, const __grid_constant__ SpikeLevel level, PetscReal tol, PetscReal boost,
                          const PetscScalar *dVb, const PetscScalar *dWt, PetscScalar *dR, SpikeReducedStatus st)
{
  constexpr int               K = NI * NJ > 18 ? 1 : 4;
  __shared__ SpikeMergeShared sh;
  const int                   lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const PetscInt              q  = level.q(blockIdx.x);
  const PetscScalar          *Vb = dVb + q * (PetscCount)kl * n, *Wt = dWt + q * (PetscCount)kl * n;
  PetscScalar                 a[NI][NJ];
  PetscReal                   scale = 1.0;
  bool                        bad   = false;

  SpikeUnroll2(i, NI, j, NJ) a[i][j] = lane + 32 * i == warp + SPIKE_MERGE_WARPS * j ? 1.0 : 0.0;
  /* loads of some k at once, as many as registers are free, without conditions */
  for (int k0 = 0; k0 < kl; k0 += K) {
    PetscScalar w[K][NI], v[K][NJ];

    SpikeUnroll(t, K) {
      const int k = PetscMin(k0 + t, kl - 1);

      SpikeUnroll(i, NI) w[t][i] = -Wt[PetscMin(lane + 32 * i, n - 1) + (PetscCount)k * n];
      SpikeUnroll(j, NJ) v[t][j] = Vb[k + (PetscCount)PetscMin(warp + SPIKE_MERGE_WARPS * j, n - 1) * kl];
    }
    SpikeUnroll3(t, K, i, NI, j, NJ)
      if (k0 + t < kl) a[i][j] = SpikeFma(w[t][i], v[t][j], a[i][j]);
  }
  SpikeUnroll2(i, NI, j, NJ)
    if (lane + 32 * i < n && warp + SPIKE_MERGE_WARPS * j < n) scale = PetscMax(scale, SpikeAbs(a[i][j]));
  scale = SpikeWarpMax(scale);
  if (lane == 0) sh.scale[warp] = scale;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sh.row[i] = i;
  __syncthreads();
  for (int w = 0; w < SPIKE_MERGE_WARPS; w++) scale = PetscMax(scale, sh.scale[w]);
  SpikeUnroll(jl, NJ) {
    for (int w = 0; w < SPIKE_MERGE_WARPS && jl * SPIKE_MERGE_WARPS + w < n; w++) {
      const int   k = jl * SPIKE_MERGE_WARPS + w;
      PetscScalar c[NI], d;
      int         p;

      if (warp == w) SpikeMergePivot(a, jl, k, n, q, tol, boost, scale, st, sh, bad);
      __syncthreads();
      p = sh.p[k & 1];
      d = sh.d[k & 1];
      SpikeUnroll(i, NI) c[i] = sh.c[k & 1][PetscMin(lane + 32 * i, n - 1)];
      SpikeUnroll(j, NJ) {
        if (j != jl || warp != w) {
          const PetscScalar below = SpikeMergeElement(a, k, j), m = SpikeMergeElement(a, p, j) * d;

          SpikeUnroll(i, NI) {
            const int         r = lane + 32 * i;
            const PetscScalar v = r == p ? below : a[i][j];

            a[i][j] = r == k ? m : SpikeFma(-c[i], m, v);
          }
        }
      }
      if (threadIdx.x == blockDim.x - 1) { /* where the rows came from */
        const int r = sh.row[k];

        sh.row[k] = sh.row[p];
        sh.row[p] = r;
      }
    }
  }
  __syncthreads();
  dR += q * (PetscCount)n * n;
  SpikeUnroll(j, NJ) {
    const int column = warp + SPIKE_MERGE_WARPS * j;

    if (column < n) {
      SpikeUnroll(i, NI)
        if (lane + 32 * i < n) dR[lane + 32 * i + (PetscCount)sh.row[column] * n] = a[i][j];
    }
  }
}

template <int NI, int NJ>
static PetscErrorCode SpikeMergeInvert_Private(SpikeBand *s, const SpikeLevel &level, const SpikePivot *pivot)
{
  const SpikeCUDA         *h          = (const SpikeCUDA *)s->data;
  const unsigned           interfaces = (unsigned)((s->np - level.l + 2 * level.l - 1) / (2 * level.l));
  const SpikeReducedStatus st         = {&h->report->reduced, h->badvalue + s->np, SpikeReducedLevel(level.l)};

  PetscFunctionBegin;
  SpikeMergeInvert_Kernel<NI, NJ>
    <<<interfaces, 32 * SPIKE_MERGE_WARPS, 0, (cudaStream_t)s->stream>>>((int)s->kl, (int)s->ku, level, pivot->tol,
                                                                         pivot->boost, s->dVb, s->dWt, s->dR, st);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What does not fit in registers is done as the systems of truncated SPIKE are, in the L2 cache */
PetscErrorCode SpikeMergeInvert_CUDA(SpikeBand *s, PetscInt l, SpikePivot *pivot)
{
  const SpikeLevel level = {s->np, l};
  const int        n = (int)s->ku, most = PetscDefined(USE_COMPLEX) ? 96 : 128;

  PetscFunctionBegin;
  if (n > most) {
    PetscCall(SpikeReducedStrided_CUDA(s, l, s->np, 2 * l, pivot));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (n <= 16) PetscCall((SpikeMergeInvert_Private<1, 1>(s, level, pivot)));
  else if (n <= 32) PetscCall((SpikeMergeInvert_Private<1, 2>(s, level, pivot)));
  else if (n <= 64) PetscCall((SpikeMergeInvert_Private<2, 4>(s, level, pivot)));
  else if (n <= 96) PetscCall((SpikeMergeInvert_Private<3, 6>(s, level, pivot)));
#if !defined(PETSC_USE_COMPLEX)
  else PetscCall((SpikeMergeInvert_Private<4, 8>(s, level, pivot)));
#endif
  ((SpikeCUDA *)s->data)->reducedpivot = pivot;
  PetscCall(PetscLogGpuFlops(((s->np - l + 2 * l - 1) / (2 * l)) * (2.0 * s->kl * n * n + 2.0 * n * n * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
