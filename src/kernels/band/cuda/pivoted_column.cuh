/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_column.cuh: triangular sweeps over the factors of a partition with row exchanges, a column by a thread */
#pragma once

#include "pivoted.cuh"

#define SPIKE_PIVOTED_CHUNK  32 /* rows of L21 or columns of U12 that are staged together */
#define SPIKE_PIVOTED_RING   4  /* chunks in shared memory                                */
#define SPIKE_PIVOTED_FLIGHT 16 /* rows that a thread loads before it works on them       */

/*
  As lower() and upper() of SpikePivotedSweep, for many columns: each thread has one of its own, row i at x[i ld], and
  waits for no other. All threads of the block bring the factors to shared memory, a few chunks ahead: for lower() of a
  panel its triangle and exchanges and then rows of L21, for upper() columns of U12 and then the triangle. Threads
  without a column (x is NULL) only help with that. Reads a panel once for all columns, and a column's rows once or
  twice, SPIKE_PIVOTED_FLIGHT of them on their way at once: they come from the L2 cache. A column has the same bits
  alone and with others.
*/
template <int W>
struct SpikePivotedColumn {
  static constexpr int CHUNKSIZE = W * SPIKE_PIVOTED_CHUNK; /* elements */

  const PetscScalar    *factors;
  const unsigned short *perm;
  PetscInt64            record;
  int                   kl, hu, m;
  PetscScalar          *x;
  PetscCount            ld;
  unsigned char        *ring; /* shared: [SPIKE_PIVOTED_RING slot(m)] bytes */
  int                   in, out, panel, part, left, parts;
  bool                  rising;

  /* Bytes of a chunk, and after it of exchanges, from an address that 4 divides on */
  __host__ __device__ static int slot(int m)
  {
    return CHUNKSIZE * (int)sizeof(PetscScalar) + ((m + 1) * (int)sizeof(short) + 15) / 16 * 16;
  }

  static size_t shared(int m) { return (size_t)SPIKE_PIVOTED_RING * slot(m); }

  __device__ SpikePivotedColumn(const SpikePivoted &v, PetscInt p, unsigned char *places)
  {
    factors = v.factors + v.panel(p, 0);
    perm    = v.perm + v.exchanges(p, 0);
    record  = v.record;
    kl      = v.kl;
    hu      = v.hu;
    m       = v.m;
    ring    = places;
  }

  __device__ static int chunks(int n) { return (n + SPIKE_PIVOTED_CHUNK - 1) / SPIKE_PIVOTED_CHUNK; }

  /* The exchanges of a panel, and whether their address is 2 after one that 4 divides */
  __device__ const unsigned short *exchanges(int k) const { return perm + (PetscInt64)k * m; }
  __device__ int                   odd(int k) const { return (int)((size_t)exchanges(k) / 2 % 2); }

  /* The copies of one more chunk begin, where there is one */
  __device__ void put()
  {
    if (left) {
      const PetscScalar *f  = factors + panel * record;
      PetscScalar       *to = (PetscScalar *)(ring + in * slot(m));

      if (part == (rising ? 0 : parts - 1)) { /* the triangle */
        for (int e = threadIdx.x; e < W * W; e += blockDim.x)
          SpikeCopyAsync<sizeof(PetscScalar)>(to + e, f + e / W * m + e % W);
        if (rising)
          for (int e = threadIdx.x; e < (m + 1 + odd(panel)) / 2; e += blockDim.x)
            SpikeCopyAsync<4>((unsigned short *)(to + CHUNKSIZE) + 2 * e, exchanges(panel) - odd(panel) + 2 * e);
      } else if (rising) {
        const int r0 = (part - 1) * SPIKE_PIVOTED_CHUNK, count = PetscMin(SPIKE_PIVOTED_CHUNK, kl - r0);

        for (int e = threadIdx.x; e < CHUNKSIZE; e += blockDim.x) {
          const int i = e / SPIKE_PIVOTED_CHUNK, r = e % SPIKE_PIVOTED_CHUNK;

          if (r < count) SpikeCopyAsync<sizeof(PetscScalar)>(to + e, f + i * m + W + r0 + r);
        }
      } else {
        constexpr int      V  = (int)(16 / sizeof(PetscScalar));
        const int          t0 = part * SPIKE_PIVOTED_CHUNK, count = W * PetscMin(SPIKE_PIVOTED_CHUNK, hu - t0);
        const PetscScalar *u = f + W * m + t0 * W;

        for (int e = threadIdx.x * V; e < count; e += blockDim.x * V) SpikeCopyAsync<16>(to + e, u + e);
      }
      in = (in + 1) % SPIKE_PIVOTED_RING;
      if (++part == parts) {
        part = 0;
        panel += rising ? 1 : -1;
        left--;
      }
    }
    SpikeCopyCommit();
  }

  /* Panels k0 <= k < k1 are to come. All threads are done with what came before */
  __device__ void begin(bool up, int k0, int k1)
  {
    rising = up;
    parts  = 1 + chunks(up ? kl : hu);
    part   = 0;
    panel  = up ? k0 : k1 - 1;
    left   = PetscMax(k1 - k0, 0);
    in = out = 0;
    SpikeCopyWait();
    __syncthreads();
    for (int i = 0; i < SPIKE_PIVOTED_RING - 1; i++) put();
  }

  /* The next chunk: all threads are done with the one before the last */
  __device__ const PetscScalar *next()
  {
    const PetscScalar *chunk = (const PetscScalar *)(ring + out * slot(m));

    SpikeCopyWaitGroups<SPIKE_PIVOTED_RING - 2>();
    __syncthreads();
    put();
    out = (out + 1) % SPIKE_PIVOTED_RING;
    return chunk;
  }

  /* x[first .. first + N) <- itself - L z, rows t .. t + N of a chunk */
  template <int N>
  __device__ void eliminate(const PetscScalar *L, int t, int first, const PetscScalar (&z)[W]) const
  {
    constexpr int V = N < (int)(16 / sizeof(PetscScalar)) ? 1 : (int)(16 / sizeof(PetscScalar));
    PetscScalar   v[N];

    SpikeUnroll(i, N) v[i] = x[(first + i) * ld];
    SpikeUnroll(k, W) {
      SpikeUnroll(i, N / V) {
        PetscScalar l[V];

        if (V == 1) l[0] = L[k * SPIKE_PIVOTED_CHUNK + t + i];
        else SpikePivotedQuad<V>(L + k * SPIKE_PIVOTED_CHUNK + t + i * V, l);
        SpikeUnroll(e, V) v[i * V + e] = SpikePivotedMinus(v[i * V + e], l[e], z[k]);
      }
    }
    SpikeUnroll(i, N) x[(first + i) * ld] = v[i];
  }

  /* z -= U x[first .. first + N), N columns of a chunk */
  template <int N>
  __device__ void collect(const PetscScalar *U, int first, PetscScalar (&z)[W]) const
  {
    constexpr int V = (int)(16 / sizeof(PetscScalar));
    PetscScalar   y[N];

    SpikeUnroll(t, N) y[t] = x[(first + t) * ld];
    SpikeUnroll(t, N) {
      SpikeUnroll(i, W / V) {
        PetscScalar u[V];

        SpikePivotedQuad<V>(U + t * W + i * V, u);
        SpikeUnroll(e, V) z[i * V + e] = SpikePivotedMinus(z[i * V + e], u[e], y[t]);
      }
    }
  }

  /* [x1; x2] <- P [x1; x2],  x1 <- L11^-1 x1,  x2 <- x2 - L21 x1 of panels k0 <= k < k1, rows before `rows` */
  __device__ void lower(int k0, int k1, int rows)
  {
    begin(true, k0, k1);
    for (int k = k0; k < k1; k++) {
      const PetscScalar    *triangle = next();
      const unsigned short *from     = (const unsigned short *)(triangle + CHUNKSIZE) + odd(k);
      const int             j        = k * W;
      PetscScalar           z[W];

      if (x) {
        SpikeUnroll(i, W) z[i] = j + i < rows ? x[(j + from[i]) * ld] : (PetscScalar)0.0;
        /* a row after the panel that comes first has one of the first W in its place */
        for (int i = 0; i < W; i += 8) {
          PetscScalar moved[8];

          SpikeUnroll(e, 8)
            if (from[i + e] >= W) moved[e] = x[(j + from[from[i + e]]) * ld];
          SpikeUnroll(e, 8)
            if (from[i + e] >= W) x[(j + from[i + e]) * ld] = moved[e];
        }
        SpikeUnroll(e, W - 1)
          SpikeUnrollFrom(i, e + 1, W) z[i] = SpikePivotedMinus(z[i], triangle[e * W + i], z[e]);
        SpikeUnroll(i, W)
          if (j + i < rows) x[(j + i) * ld] = z[i];
      }
      for (int q = 0; q < parts - 1; q++) {
        const PetscScalar *L  = next();
        const int          r0 = q * SPIKE_PIVOTED_CHUNK, first = j + W + r0,
                  count = PetscMin(PetscMin(SPIKE_PIVOTED_CHUNK, kl - r0), rows - first);
        int t           = 0;

        if (!x) continue;
        for (; t + SPIKE_PIVOTED_FLIGHT <= count; t += SPIKE_PIVOTED_FLIGHT)
          eliminate<SPIKE_PIVOTED_FLIGHT>(L, t, first + t, z);
        for (; t + 4 <= count; t += 4) eliminate<4>(L, t, first + t, z);
        for (; t < count; t++) eliminate<1>(L, t, first + t, z);
      }
    }
  }

  /* x1 <- U11^-1 (x1 - U12 x2) of panels k1 > k >= k0 */
  __device__ void upper(int k0, int k1, int rows)
  {
    begin(false, k0, k1);
    for (int k = k1 - 1; k >= k0; k--) {
      const int          j = k * W;
      const PetscScalar *triangle;
      PetscScalar        z[W];

      SpikeUnroll(i, W) z[i] = x && j + i < rows ? x[(j + i) * ld] : (PetscScalar)0.0;
      for (int q = 0; q < parts - 1; q++) {
        const PetscScalar *U     = next();
        const int          first = j + W + q * SPIKE_PIVOTED_CHUNK,
                  count          = PetscMin(PetscMin(SPIKE_PIVOTED_CHUNK, hu - q * SPIKE_PIVOTED_CHUNK), rows - first);

        int t = 0;

        if (!x) continue;
        for (; t + SPIKE_PIVOTED_FLIGHT <= count; t += SPIKE_PIVOTED_FLIGHT)
          collect<SPIKE_PIVOTED_FLIGHT>(U + t * W, first + t, z);
        for (; t + 4 <= count; t += 4) collect<4>(U + t * W, first + t, z);
        for (; t < count; t++) collect<1>(U + t * W, first + t, z);
      }
      triangle = next();
      if (!x) continue;
      SpikeUnroll(e, W) {
        const int i = W - 1 - e;

        z[i] *= triangle[i * W + i];
        SpikeUnroll(r, i) z[r] = SpikePivotedMinus(z[r], triangle[i * W + r], z[i]);
      }
      SpikeUnroll(i, W)
        if (j + i < rows) x[(j + i) * ld] = z[i];
    }
  }
};
