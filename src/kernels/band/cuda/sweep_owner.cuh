/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep_owner.cuh: the vectors of a sweep in memory, and the right-hand sides of corrections */
#pragma once

#include "sweep.cuh"

/* What the owner of a row knows about its partition */
struct SpikeOwner {
  PetscInt           n; /* rows; 0 for a lane without a partition */
  int                r; /* row in a tile                           */
  bool               top, bottom;
  const PetscScalar *b;
  PetscScalar       *y, *x, *tipbelow, *tipabove;

  __device__ SpikeOwner(const SpikeSweepArgs &a, const SpikeRange &range, PetscInt p, int row, bool active, int column,
                        bool tips)
  {
    const SpikeTiles &t     = a.t;
    const bool        here  = active && p >= a.p0 && p < a.p1;
    const PetscInt    start = here ? t.start[p] : 0;

    r        = row;
    n        = here ? t.start[p + 1] - start : 0;
    top      = here && range.top && t.active[p] && (!a.window || a.window[2 * p]);
    bottom   = here && range.bottom && t.active[p + 1] && (!a.window || a.window[2 * p + 1]);
    b        = a.b + column * a.ldb + start;
    y        = a.y + column * a.ldy + start;
    x        = a.x + column * a.ldx + start;
    tipabove = tipbelow = NULL;
    if (here && tips) {
      PetscScalar *tip = a.tips + column * a.ldt + p * (PetscCount)(t.kl + t.ku);

      if (t.active[p]) tipabove = tip + t.kl;
      if (t.active[p + 1]) tipbelow = tip + t.kl + t.ku;
    }
  }
  /* r_j of a correction was left in y */
  __device__ PetscScalar rhs(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i >= n) return 0.0;
    if (!a.correct) return b[i];
    return (top && i < a.ht) || (bottom && i >= n - a.hb) ? y[i] : (PetscScalar)0.0;
  }
  __device__ void put(const SpikeSweepArgs &a, int j, PetscScalar v) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i < n) y[i] = v;
  }
  __device__ PetscScalar get(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    return i < n ? y[i] : (PetscScalar)0.0;
  }
  /* what a correction subtracts from */
  __device__ PetscScalar old(const SpikeSweepArgs &a, int j) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    return a.correct && i < n ? x[i] : (PetscScalar)0.0;
  }
  __device__ void result(const SpikeSweepArgs &a, int j, PetscScalar v, PetscScalar before) const
  {
    const PetscInt i = (PetscInt)j * a.t.T + r;

    if (i >= n) return;
    x[i] = a.correct ? before - v : v;
    if (tipabove && i < a.t.ku) tipabove[i] = v;
    if (tipbelow && i >= n - a.t.kl) tipbelow[i - (n - a.t.kl)] = v;
  }
};

/*
  sum of A_c x_c over c0 <= c < c1, for a row of a matrix of h rows and columns; a warp asks for columns in large pieces
  at once, without conditions, and those that no lane needs are left out
*/
__device__ static inline PetscScalar SpikeTriangleTimes(const PetscScalar *A, int h, int c0, int c1,
                                                        const PetscScalar *x)
{
  constexpr int PIECE = sizeof(PetscScalar) > 8 ? 8 : 16;
  PetscScalar   v     = 0.0;

  for (int c = c0 / PIECE * PIECE; c < c1; c += PIECE) {
    PetscScalar w[PIECE], xc[PIECE];

    SpikeUnroll(k, PIECE) {
      w[k]  = A[(PetscCount)PetscMin(c + k, h - 1) * h];
      xc[k] = x[PetscMin(c + k, h - 1)];
    }
    SpikeUnroll(k, PIECE)
      if (c + k >= c0 && c + k < c1) v = SpikeFma(w[k], xc[k], v);
  }
  return v;
}

/*
  r of a correction, by all threads of a block: C x_b and B x_t, transposed x_t and x_b, left at place(member, row)
  where that is not NULL; those from the two ends of a partition may share rows, where they are added.
*/
template <bool TRANSPOSED, typename P>
__device__ static void SpikeCorrectionRHS(const SpikeSweepArgs &a, const SpikeRange &range, PetscInt p, int column,
                                          P place)
{
  const SpikeTiles &t = a.t;

  for (int end = 0; end < 2; end++) {
    const int h = end ? a.hb : a.ht;

    for (int k = threadIdx.x; (end ? range.bottom : range.top) && k < t.G * h; k += blockDim.x) {
      const int      m = k / h, i = k % h;
      const PetscInt r = p + m, q = r + end; /* partition, and its interface at this end */

      if (r >= a.p0 && r < a.p1 && t.active[q] && (!a.window || a.window[2 * r + end])) {
        const PetscScalar *below = a.tips + column * a.ldt + q * (PetscCount)(t.kl + t.ku), *above = below + t.kl;
        const PetscInt     row = end ? t.start[q] - t.start[r] - h + i : i;
        PetscScalar       *y   = place(m, row), v;

        if (TRANSPOSED) v = end ? below[i] : above[i];
        else
          v = SpikeTriangleTimes((end ? a.B : a.C) + q * (PetscCount)h * h + i, h, end ? 0 : i, end ? i + 1 : h,
                                 end ? above : below); /* B is lower triangular, C upper triangular */
        if (end && range.top && t.active[r] && (!a.window || a.window[2 * r]) && row < a.ht)
          v += y ? *y : (PetscScalar)0.0;
        if (y) *y = v;
      }
    }
    __syncthreads();
  }
}
