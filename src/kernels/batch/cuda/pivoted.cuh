/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivoted.cuh: the substitutions of a batch with row exchanges on CUDA devices, as those of solve.cuh. Both passes with
  L have rows i to i + KLMAX of a lane in registers, with KLMAX >= kl, and multipliers that are not there are zero: of
  an exchange only the number is known at run time, and each register in turn asks whether it is meant. So one vector is
  read KLMAX rows before the other is written, at most half a patch.

  Reads factors, exchanges and b once, writes x; where vectors are too long for shared memory also writes and reads y.
  Each lane has the same bits whatever the others do and however many columns there are.
*/
#pragma once

#include "solve.cuh"

/*
  L y = P b: rows i and i + e change places, then y_i = b_i, b_(i+r) -= l_r y_i. f[KLMAX - r] = l_r, the multiplier of
  row i + r in step i
*/
template <int KLMAX>
struct SpikeBatchLowerPivoted {
  static constexpr int N = KLMAX;
  PetscScalar          w[KLMAX]; /* w[d]: row i + d */

  /* b: row i + KLMAX. Row i */
  __device__ PetscScalar step(PetscScalar b, const PetscScalar f[], int e)
  {
    const PetscScalar first = w[0];
    PetscScalar       y     = e == KLMAX ? b : first;

    SpikeUnrollFrom(r, 1, KLMAX) y = e == r ? w[r] : y;
    SpikeUnrollFrom(r, 1, KLMAX + 1) {
      const PetscScalar below = r < KLMAX ? w[r < KLMAX ? r : 0] : b;

      w[r - 1] = SpikeBatchFnma(f[KLMAX - r], y, e == r ? first : below);
    }
    return y;
  }
};

/* P^T L^-T: x_i = y_i - sum_r l_r x_(i+r), then rows i and i + e change places */
template <int KLMAX>
struct SpikeBatchLowerPivotedTrans {
  static constexpr int N = KLMAX;
  PetscScalar          w[KLMAX]; /* w[d]: row i + 1 + d */

  /* y: row i. Row i + KLMAX */
  __device__ PetscScalar step(PetscScalar y, const PetscScalar f[], int e)
  {
    PetscScalar last;

    SpikeUnrollFrom(r, 1, KLMAX + 1) y = SpikeBatchFnma(f[KLMAX - r], w[r - 1], y);
    const PetscScalar x = y;

    SpikeUnrollFrom(r, 1, KLMAX + 1) {
      y        = e == r ? w[r - 1] : y;
      w[r - 1] = e == r ? x : w[r - 1];
    }
    last = w[KLMAX - 1];
    SpikeUnrollFrom(r, 1, KLMAX) w[KLMAX - r] = w[KLMAX - 1 - r];
    w[0] = y;
    return last;
  }
};

/*
  One of these passes, as SpikeBatchPass(): downwards with LowerPivoted, upwards with LowerPivotedTrans. exchange: that
  of row 0. A patch goes out when one row after it, or above, has been worked on that far that none of its rows is in
  registers, so that one more of them is worked on
*/
template <typename P, bool UPWARDS, typename V>
__device__ static inline void SpikeBatchPassPivoted(const V &v, PetscInt m, const PetscScalar *a, int width, int kl,
                                                    const unsigned char *exchange, const PetscScalar *from,
                                                    PetscScalar *to)
{
  constexpr int KLMAX = P::N, ROWSAHEAD = SpikeBatchRowsAhead<KLMAX>::value,
                FIRST = UPWARDS ? SPIKE_BATCH_AHEAD : SPIKE_BATCH_AHEAD + 1; /* patches before the first step */
  static_assert(KLMAX <= SPIKE_BATCH_PATCH, "rows of two patches are in registers");
  PetscScalar f[ROWSAHEAD][KLMAX];
  int         e[ROWSAHEAD];
  P           p;

  auto load = [&](PetscInt i, int r) {
    const PetscInt64 row = max((PetscInt)0, min(m - 1, i));

    SpikeBatchLoad<KLMAX>(a, row * width, KLMAX - kl, KLMAX, f[r]);
    e[r] = exchange[row * SPIKE_BATCH_LANES];
  };

  SpikeUnroll(d, KLMAX) p.w[d] = PetscScalar(0.0);
  if (from)
    for (int k = 0; k < FIRST; k++) v.fetch(UPWARDS ? v.patches - 1 - k : k, from);
  SpikeUnroll(r, ROWSAHEAD) load(UPWARDS ? v.patches * SPIKE_BATCH_PATCH - 1 - r : r, r);
  for (PetscInt step = 0; step < v.patches; step++) {
    const PetscInt k     = UPWARDS ? v.patches - 1 - step : step;
    PetscScalar   *patch = v.at(k) + threadIdx.x, *after = v.at(k + 1) + threadIdx.x;

    if (from) {
      v.fetch(UPWARDS ? k - FIRST : k + FIRST, from);
      v.wait(); /* downwards patch k + 1 is there too */
    }
    if constexpr (!UPWARDS)
      if (!step) {
        SpikeUnroll(d, KLMAX) p.w[d] = patch[d * SPIKE_BATCH_LD];
      }
    for (int r0 = 0; r0 < SPIKE_BATCH_PATCH; r0 += ROWSAHEAD) {
      SpikeUnroll(r, ROWSAHEAD) {
        const int      x   = UPWARDS ? SPIKE_BATCH_PATCH - 1 - r0 - r : r0 + r;
        const PetscInt i   = k * SPIKE_BATCH_PATCH + x;
        PetscScalar   *far = x + KLMAX < SPIKE_BATCH_PATCH ? patch + (x + KLMAX) * SPIKE_BATCH_LD
                                                           : after + (x + KLMAX - SPIKE_BATCH_PATCH) * SPIKE_BATCH_LD;

        if (i < m && UPWARDS) {
          const PetscScalar out = p.step(patch[x * SPIKE_BATCH_LD], f[r], e[r]);

          if (i + KLMAX < m) *far = out;
        } else if (i < m) {
          const PetscScalar in = i + KLMAX < m ? *far : PetscScalar(0.0);

          patch[x * SPIKE_BATCH_LD] = p.step(in, f[r], e[r]);
        }
        load(UPWARDS ? i - ROWSAHEAD : i + ROWSAHEAD, r);
      }
    }
    if (to && !UPWARDS) v.store(k, to);
    if (to && UPWARDS && k + 1 < v.patches) v.store(k + 1, to);
  }
  if constexpr (UPWARDS) {
    SpikeUnroll(d, KLMAX)
      if (d < m) v.at(0)[threadIdx.x + d * SPIKE_BATCH_LD] = p.w[d];
    if (to) v.store(0, to);
  }
}

template <typename B, bool TRANSPOSED, bool INSHARED>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES)
  SpikeBatchSolvePivoted_Kernel(const __grid_constant__ SpikeBatchGroups t, int nrhs, const PetscScalar *b,
                                PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  extern __shared__ __align__(16) char shared[];
  constexpr int                        KLMAX = B::KLMAX, FUMAX = B::KLMAX + B::KUMAX;
  const PetscInt       group = (PetscInt)(blockIdx.x / nrhs), lane = group * SPIKE_BATCH_LANES + threadIdx.x;
  const int            col = (int)(blockIdx.x % nrhs), kl = B::kl(t), fu = kl + B::ku(t), width = t.width;
  const PetscInt       m = t.rows[group], patches = (m + SPIKE_BATCH_PATCH - 1) / SPIKE_BATCH_PATCH;
  const PetscScalar   *a = t.a + t.off[group] + threadIdx.x, *diagonal = a + kl * SPIKE_BATCH_LANES;
  const unsigned char *exchange = t.exchange + t.off[group] / width + threadIdx.x;
  const PetscScalar   *bc       = b + col * ldb;
  PetscScalar         *xc = x + col * ldx, *between = INSHARED ? NULL : xc;

  const SpikeBatchVector<INSHARED, SPIKE_BATCH_AHEAD + 2> v = {(PetscScalar *)shared, t.first[lane], t.len[lane],
                                                               patches};

  if (!m) return;
  if (TRANSPOSED) SpikeBatchPass<SpikeBatchUpperTrans<FUMAX>, false>(v, m, diagonal, width, 0, fu + 1, bc, between);
  else SpikeBatchPassPivoted<SpikeBatchLowerPivoted<KLMAX>, false>(v, m, a, width, kl, exchange, bc, between);
  if (!INSHARED) SpikeBatchBetween();
  if (TRANSPOSED)
    SpikeBatchPassPivoted<SpikeBatchLowerPivotedTrans<KLMAX>, true>(v, m, a, width, kl, exchange, between, xc);
  else SpikeBatchPass<SpikeBatchUpper<FUMAX>, true>(v, m, diagonal, width, 0, fu + 1, between, xc);
}

template <bool TRANSPOSED>
static PetscErrorCode SpikeBatchSolvePivoted(const SpikeBatchCUDA *h, PetscInt nrhs, const PetscScalar *b,
                                             PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchDispatchPivoted(h->g, [&](auto band) {
    typedef decltype(band) B;

    return SpikeBatchSolveColumns(h, SpikeBatchSolvePivoted_Kernel<B, TRANSPOSED, true>,
                                  SpikeBatchSolvePivoted_Kernel<B, TRANSPOSED, false>, SPIKE_BATCH_AHEAD + 2, nrhs, b,
                                  ldb, x, ldx, stream);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
