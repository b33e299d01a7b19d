/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_sweep.cuh: triangular sweeps over the factors of a partition with row exchanges, by a thread block */
#pragma once

#include "pivoted.cuh"

/*
  Panels k0 <= k < k1, of R columns of x at once, nc of them real, in memory that the block alone writes; rows of the
  partition are the rows of x, those from `rows` on are not there: zero, and not written. With j = k W, x1 the rows of
  the panel, x2 those after it:

      lower     [x1; x2] <- P [x1; x2],  x1 <- L11^-1 x1,  x2 <- x2 - L21 x1        rising k
      upper     x1 <- U11^-1 (x1 - U12 x2)                                          falling k
      uppert    x1 <- U11^-T x1,  x2 <- x2 - U12^T x1                               rising k
      lowert    x1 <- L11^-T (x1 - L21^T x2),  [x1; x2] <- P^T [x1; x2]             falling k

  Triangles are solved by a warp for each column, a row a lane. A column has the same bits alone and with others.
*/
template <int W, int R>
struct SpikePivotedSweep {
  static constexpr int LD = W + 1; /* of the triangles: no bank conflicts by rows or columns */

  const PetscScalar    *factors;
  const unsigned short *perm;
  PetscInt64            record;
  int                   kl, hu, m, nc;
  PetscScalar          *x;
  PetscCount            ldx;
  PetscScalar          *triangle, *y, *part; /* shared: [W LD], [R W], [warps R W] */
  int                   lane, warp, warps;

  static size_t shared(int threads) { return ((size_t)W * LD + (size_t)R * W * (1 + threads / 32)) * sizeof(*x); }

  __device__ SpikePivotedSweep(const SpikePivoted &v, PetscInt p, unsigned char *places)
  {
    factors  = v.factors + v.panel(p, 0);
    perm     = v.perm + v.exchanges(p, 0);
    record   = v.record;
    kl       = v.kl;
    hu       = v.hu;
    m        = v.m;
    triangle = (PetscScalar *)places;
    y        = triangle + W * LD;
    part     = y + R * W;
    lane     = threadIdx.x % 32;
    warp     = threadIdx.x / 32;
    warps    = blockDim.x / 32;
  }

  __device__ const PetscScalar *panel(int k) const { return factors + k * record; }

  /* L11, U11 and the inverses of the pivots, after a barrier */
  __device__ void gettriangle(const PetscScalar *f) const
  {
    for (int e = threadIdx.x; e < W * W; e += blockDim.x) triangle[e / W * LD + e % W] = f[e / W * m + e % W];
  }

  /* Half a panel's record is on its way to the L2 cache */
  __device__ void ahead(const PetscScalar *f, int elements) const
  {
    constexpr int LINE = (int)(128 / sizeof(PetscScalar));

    for (int e = threadIdx.x * LINE; e < elements; e += blockDim.x * LINE) SpikePrefetch(f + e);
  }

  __device__ PetscScalar get(int row, int rows, int c) const
  {
    return row < rows ? x[row + c * ldx] : (PetscScalar)0.0;
  }

  __device__ void lower(int k0, int k1, int rows) const
  {
    const int r = threadIdx.x;

    for (int k = k0; k < k1; k++) {
      const PetscScalar *f = panel(k);
      const int          j = k * W, row = j + r;
      const bool         is = r < m && row < rows;
      PetscScalar        v[R], l[W];

      if (k + 1 < k1) ahead(f + record, W * m);
      gettriangle(f);
      if (is) {
        const int from = j + perm[(PetscInt64)k * m + r];

        SpikeUnroll(c, R) v[c] = c < nc ? x[from + c * ldx] : (PetscScalar)0.0;
        if (r >= W)
          SpikeUnroll(i, W) l[i] = f[i * m + r];
      } else
        SpikeUnroll(c, R) v[c] = (PetscScalar)0.0;
      if (r < W)
        SpikeUnroll(c, R) y[c * W + r] = v[c];
      __syncthreads();
      for (int c = warp; c < nc; c += warps) {
        PetscScalar z = lane < W ? y[c * W + lane] : (PetscScalar)0.0;

        SpikeUnroll(i, W - 1) {
          const PetscScalar s = SpikeShfl(z, i);

          if (lane > i && lane < W) z = SpikePivotedMinus(z, triangle[i * LD + lane], s);
        }
        if (lane < W) {
          y[c * W + lane] = z;
          if (j + lane < rows) x[j + lane + c * ldx] = z;
        }
      }
      __syncthreads();
      if (is && r >= W) {
        SpikeUnroll(c, R) {
          if (c < nc) {
            SpikeUnroll(i, W) v[c] = SpikePivotedMinus(v[c], l[i], y[c * W + i]);
            x[row + c * ldx] = v[c];
          }
        }
      }
      __syncthreads();
    }
  }

  __device__ void upper(int k0, int k1, int rows) const
  {
    const int r = threadIdx.x % W, group = threadIdx.x / W, groups = blockDim.x / W;

    for (int k = k1 - 1; k >= k0; k--) {
      const PetscScalar *f = panel(k), *u = f + W * m;
      const int          j = k * W, after = PetscMin(hu, rows - j - W);
      PetscScalar        sum[R];

      if (k > k0) ahead(u - record, W * hu);
      gettriangle(f);
      SpikeUnroll(c, R) sum[c] = (PetscScalar)0.0;
#pragma unroll 4
      for (int t = group; t < after; t += groups) {
        const PetscScalar a = -u[t * W + r];

        SpikeUnroll(c, R)
          if (c < nc) sum[c] = SpikePivotedMinus(sum[c], a, x[j + W + t + c * ldx]);
      }
      SpikeUnroll(c, R) {
        if (c < nc) {
          for (int d = W; d < 32; d *= 2) sum[c] += SpikeShfl(sum[c], lane ^ d);
          if (lane < W) part[(warp * R + c) * W + lane] = sum[c];
        }
      }
      __syncthreads();
      for (int c = warp; c < nc; c += warps) {
        PetscScalar z = lane < W ? get(j + lane, rows, c) : (PetscScalar)0.0;

        if (lane < W)
          for (int w = 0; w < warps; w++) z -= part[(w * R + c) * W + lane];
        SpikeUnroll(i, W) {
          const int         e = W - 1 - i;
          const PetscScalar s = SpikeShfl(z, e) * triangle[e * LD + e];

          if (lane < e) z = SpikePivotedMinus(z, triangle[e * LD + lane], s);
          else if (lane == e) z = s;
        }
        if (lane < W && j + lane < rows) x[j + lane + c * ldx] = z;
      }
      __syncthreads();
    }
  }

  __device__ void uppert(int k0, int k1, int rows) const
  {
    for (int k = k0; k < k1; k++) {
      const PetscScalar *f = panel(k), *u = f + W * m;
      const int          j = k * W, after = PetscMin(hu, rows - j - W);

      if (k + 1 < k1) ahead(u + record, W * hu);
      gettriangle(f);
      __syncthreads();
      for (int c = warp; c < nc; c += warps) {
        PetscScalar z = lane < W ? get(j + lane, rows, c) : (PetscScalar)0.0;

        SpikeUnroll(i, W) {
          const PetscScalar s = SpikeShfl(z, i) * triangle[i * LD + i];

          if (lane > i && lane < W) z = SpikePivotedMinus(z, triangle[lane * LD + i], s);
          else if (lane == i) z = s;
        }
        if (lane < W) {
          y[c * W + lane] = z;
          if (j + lane < rows) x[j + lane + c * ldx] = z;
        }
      }
      __syncthreads();
      for (int t = threadIdx.x; t < after; t += blockDim.x) {
        PetscScalar a[W];

        SpikeUnroll(i, W) a[i] = u[t * W + i];
        SpikeUnroll(c, R) {
          if (c < nc) {
            PetscScalar z = x[j + W + t + c * ldx];

            SpikeUnroll(i, W) z = SpikePivotedMinus(z, a[i], y[c * W + i]);
            x[j + W + t + c * ldx] = z;
          }
        }
      }
      __syncthreads();
    }
  }

  __device__ void lowert(int k0, int k1, int rows) const
  {
    const int r = threadIdx.x;

    for (int k = k1 - 1; k >= k0; k--) {
      const PetscScalar *f = panel(k);
      const int          j = k * W, row = j + r, below = PetscMin(kl, rows - j - W);
      const bool         is = r < m && row < rows;
      PetscScalar        v[R];

      if (k > k0) ahead(f - record, W * m);
      gettriangle(f);
      for (int e = warp; e < W; e += warps) { /* column e of L21 */
        PetscScalar sum[R];

        SpikeUnroll(c, R) sum[c] = (PetscScalar)0.0;
        for (int i = lane; i < below; i += 32) {
          const PetscScalar a = -f[e * m + W + i];

          SpikeUnroll(c, R)
            if (c < nc) sum[c] = SpikePivotedMinus(sum[c], a, x[j + W + i + c * ldx]);
        }
        SpikeUnroll(c, R) {
          if (c < nc) {
            sum[c] = SpikeWarpSum(sum[c]);
            if (!lane) y[c * W + e] = get(j + e, rows, c) - sum[c];
          }
        }
      }
      __syncthreads();
      for (int c = warp; c < nc; c += warps) {
        PetscScalar z = lane < W ? y[c * W + lane] : (PetscScalar)0.0;

        SpikeUnroll(i, W - 1) {
          const int         e = W - 1 - i;
          const PetscScalar s = SpikeShfl(z, e);

          if (lane < e) z = SpikePivotedMinus(z, triangle[lane * LD + e], s);
        }
        if (lane < W) y[c * W + lane] = z;
      }
      __syncthreads();
      if (is)
        SpikeUnroll(c, R) v[c] = c >= nc ? (PetscScalar)0.0 : r < W ? y[c * W + r] : x[row + c * ldx];
      __syncthreads();
      if (is) {
        const int to = j + perm[(PetscInt64)k * m + r];

        SpikeUnroll(c, R)
          if (c < nc) x[to + c * ldx] = v[c];
      }
      __syncthreads();
    }
  }
};
