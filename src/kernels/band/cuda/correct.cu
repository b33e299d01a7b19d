/* SPDX-License-Identifier: BSD-2-Clause */
/* correct.cu: reduced systems, corrections and reordering of an apply */
#include "sweep.cuh"
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

  PetscFunctionBegin;
  if (!ku || q0 >= q1 || !nrhs) PetscFunctionReturn(PETSC_SUCCESS); /* without ku, x_b = g_b */
  PetscCheck(K <= SPIKE_CUDA_MAX_BANDWIDTH, PETSC_COMM_SELF, PETSC_ERR_SUP, "Half-bandwidth %d", K);
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
