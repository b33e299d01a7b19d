/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs_mult.cu: products of the copies of a matrix with several columns, with the sums of a step in the epilogue */
#include "rhs_mult.cuh"

/*
  The row sums of RHSEACH columns from a copy in slices: f(row, sums) in one lane of each row. Each place of the copy is
  read once
*/
template <int RHSEACH>
struct SpikeRhsSell {
  SpikeKrylovSell m;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads,
                                       const PetscScalar *const x[], F &&f) const
  {
    const int T = m.T, rows = 32 / T, lane = threadIdx.x % 32;

    for (PetscInt s = number / 32; s < m.slices; s += threads / 32) {
      const PetscInt64 end = m.start[s + 1];
      const PetscInt   row = s * rows + lane / T;
      PetscScalar      sum[RHSEACH];

      SpikeUnroll(k, RHSEACH) sum[k] = 0.0;
#pragma unroll 3
      for (PetscInt64 c = m.start[s]; c < end; c++) {
        const PetscScalar a   = m.val[32 * c + lane];
        const int         col = m.col[32 * c + lane];

        SpikeUnroll(k, RHSEACH) sum[k] = SpikeFma(a, x[k][col], sum[k]);
      }
      for (int t = T / 2; t; t /= 2) {
        SpikeUnroll(k, RHSEACH) sum[k] += SpikeShfl(sum[k], lane ^ t);
      }
      if (lane % T == 0 && row < m.n) f(row, sum);
    }
  }
};

/* By diagonals, a thread a row */
template <int RHSEACH>
struct SpikeRhsDia : SpikeDIATabled<SpikeKrylovDia> {
  template <typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscInt number, PetscInt threads,
                                       const PetscScalar *const x[], F &&f) const
  {
    for (PetscInt row = number; row < m.n; row += threads) {
      const PetscScalar *val = m.val + row;
      PetscScalar        sum[RHSEACH];

      SpikeUnroll(k, RHSEACH) sum[k] = 0.0;
#pragma unroll 3
      for (int d = 0; d < m.count; d++) {
        const PetscInt j = row + shared.offset[d];

        if (j >= 0 && j < m.n) {
          const PetscScalar a = val[d * m.ld];

          SpikeUnroll(k, RHSEACH) sum[k] = SpikeFma(a, x[k][j], sum[k]);
        }
      }
      f(row, sum);
    }
  }
};

/*
  y = A x, or D A x, for RHSEACH columns of the list, then the sums of a step that writes nothing. Groups of columns
  have neighbouring thread blocks, which read the same rows of the copy at about the same time: it comes from memory
  once, from the L2 cache once for each group. A column with a reason is summed where others of its group have none, and
  not stored.
*/
template <int STEPID, int RHSEACH, class MATRIX>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsMultKernel(MATRIX m, SpikeRhsProduct p, SpikeRhsState state)
{
  using X                                        = SpikeKrylovTraits<STEPID>;
  constexpr int                            NDOT  = X::nd ? X::nd : 1;
  const int                                first = blockIdx.x * RHSEACH;
  const PetscScalar                       *x[RHSEACH];
  bool                                     on[RHSEACH], any = false;
  int                                      column[RHSEACH];
  PetscScalar                              d[RHSEACH][NDOT];
  __shared__ PetscScalar                   shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ typename MATRIX::SharedMemory rows;

  m.prepare(rows);
  SpikeAwait();
  SpikeUnroll(k, RHSEACH) {
    column[k] = p.column[first + k < p.count ? first + k : first];
    on[k]     = first + k < p.count && !state.device[column[k]].s.reason;
    any       = any || on[k];
    x[k]      = p.x + column[k] * p.ld;
    SpikeUnroll(i, NDOT) d[k][i] = 0.0;
  }
  if (!any) return;
  m.each(rows, (PetscInt)blockIdx.y * blockDim.x + threadIdx.x, (PetscInt)gridDim.y * blockDim.x, x,
         [&](PetscInt row, PetscScalar sum[]) {
           SpikeUnroll(k, RHSEACH) {
             PetscScalar e[X::nv];

             if (!on[k]) continue;
             if (p.scale) sum[k] = SpikeKrylovMul(p.scale[row], sum[k]);
             p.y[column[k] * p.ld + row] = sum[k];
             if constexpr (X::nd > 0) {
               SpikeUnroll(i, X::nv)
                 if ((X::read >> i) & 1) e[i] = i == p.own ? sum[k] : p.v.v[i][column[k] * p.v.ld[i] + row];
               X::row(&state.device[column[k]].s.f, e, d[k]);
             }
           }
         });
  if constexpr (X::nd > 0) {
    SpikeUnroll(k, RHSEACH) {
      __syncthreads();
      if (on[k]) SpikeRhsFinish<STEPID>(d[k], shared, state, column[k], blockIdx.y, gridDim.y);
    }
  }
}

template <int STEPID, int RHSEACH>
static PetscErrorCode SpikeRhsMultLaunch(const SpikeKrylovRhs *s, const SpikeKrylovCopyCUDA *c,
                                         const SpikeRhsProduct &p)
{
  const SpikeRhsCUDA *d      = (const SpikeRhsCUDA *)s->data;
  const unsigned      groups = (unsigned)((p.count + RHSEACH - 1) / RHSEACH);
  const auto          launch = [&](const auto &rows, PetscInt threads) {
    const dim3 grid(groups, SpikeRhsBlocks(d, threads));

    return SpikeLaunchEarly(SpikeRhsMultKernel<STEPID, RHSEACH, std::decay_t<decltype(rows)>>, grid,
                                     dim3(SPIKE_KRYLOV_THREADS), 0, d->h.stream, rows, p, SpikeRhsStateOf(s));
  };

  PetscFunctionBegin;
  if (c->base.form == KSP_FUSED_SPMV_SELL) PetscCallCUDA(launch(SpikeRhsSell<RHSEACH>{c->sell}, 32 * c->sell.slices));
  else if constexpr (!SpikeRhsPatched) PetscCallCUDA(launch(SpikeRhsDia<RHSEACH>{{c->dia}}, c->dia.n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Eight columns of a product alone take 64 to 80 registers, with sums in its epilogue 128 to 184, and four columns 64 to
  102. The number of blocks, and with it the order of the sums, does not depend on that
*/
template <int STEPID>
static PetscErrorCode SpikeRhsMultSelect(const SpikeKrylovRhs *s, const SpikeKrylovCopyCUDA *c,
                                         const SpikeRhsProduct &p)
{
  constexpr int most = STEPID == SPIKE_KRYLOV_NSTEPS ? 8 : 4;

  PetscFunctionBegin;
  if (p.count == 1) PetscCall((SpikeRhsMultLaunch<STEPID, 1>(s, c, p)));
  else if (p.count == 2) PetscCall((SpikeRhsMultLaunch<STEPID, 2>(s, c, p)));
  else if (p.count <= 4) PetscCall((SpikeRhsMultLaunch<STEPID, 4>(s, c, p)));
  else PetscCall((SpikeRhsMultLaunch<STEPID, most>(s, c, p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Columns whose reason the host has not seen set, SPIKE_RHS_LIST in a launch. The kernel depends on the copy alone,
  because the order of sums depends on the kernel
*/
PetscErrorCode SpikeKrylovRhsMult_CUDA(SpikeKrylovRhs *s, const void *copy, PetscInt width, SpikeKrylovStep step,
                                       const PetscScalar *scale, const PetscScalar *x, PetscScalar *y, PetscInt ldxy,
                                       PetscScalar *const v[], const PetscInt ld[])
{
  SpikeRhsCUDA              *d     = (SpikeRhsCUDA *)s->data;
  const SpikeKrylovCopyCUDA *c     = (const SpikeKrylovCopyCUDA *)copy;
  const PetscInt             n     = c->base.form == KSP_FUSED_SPMV_DIA ? c->dia.n : c->sell.n;
  const bool                 tiled = SpikeRhsPatched && c->base.form == KSP_FUSED_SPMV_DIA;
  const int                  nv    = step < SPIKE_KRYLOV_NSTEPS ? (int)SpikeKrylovSteps[step].nvectors : 0;
  PetscInt                   done  = 0;
  SpikeRhsProduct            p;

  PetscFunctionBegin;
  memset((void *)&p, 0, sizeof(p));
  p.scale = scale;
  p.x     = x;
  p.y     = y;
  p.ld    = ldxy;
  p.own   = -1;
  for (int k = 0; k < nv; k++) {
    p.v.v[k]  = v[k];
    p.v.ld[k] = ld[k];
    if (v[k] == y) p.own = k;
  }
  d->basis = d->all = false;
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt i = 0; i < width;) {
    for (p.count = 0; i < width && p.count < SPIKE_RHS_LIST; i++)
      if (!s->scalars[i].reason) p.column[p.count++] = (int)i;
    if (!p.count) break;
    done += p.count;
    if (tiled) PetscCall(SpikeRhsPatches_CUDA(s, c, step, p));
    else
      PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
        return SpikeRhsMultSelect<decltype(constant)::value>(s, c, p);
      }));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(
    PetscLogGpuFlops(done * (2.0 * c->nz + (scale ? 1.0 : 0.0) * n + (nv ? SpikeKrylovSteps[step].flops : 0.0) * n)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
