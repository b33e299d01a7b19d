/* SPDX-License-Identifier: BSD-2-Clause */
/* factor.cuh: what the factorization kernels share: pivots, LU of one tile with both inverses, products of fragments */
#pragma once

#include "band_tiles.cuh"
#include <cfloat>

/* Arithmetic of the factorization: always double, whatever the precision of the factors */
typedef SpikeDouble SpikeArith;

struct SpikePivotPolicy {
  double tol, boost, max, least; /* least: normal number of the factors, below which tol and boost do not go */
  /* tol and boost are fractions of it, or of 1 where it is 0; NULL: they are not */
  const double *norm;
};

/* The policy with magnitudes for tol and boost, which a kernel begins with */
__device__ static inline SpikePivotPolicy SpikePivotAbsolute(SpikePivotPolicy policy)
{
  const double norm = policy.norm && *policy.norm > 0.0 ? *policy.norm : 1.0;

  policy.tol   = policy.tol * norm > policy.least ? policy.tol * norm : policy.least;
  policy.boost = policy.boost * norm > policy.least ? policy.boost * norm : policy.boost > 0.0 ? policy.least : 0.0;
  return policy;
}

#define SPIKE_FACTOR_STATIC 2816 /* bytes of shared memory that the kernels have by themselves, at most */

#define SPIKE_FACTOR_PART 8 /* tiles of U at a time where a row of them is too much */

/* T > 16: tiles where no front fits: the diagonal one, its inverse, L's, and those of U, or of a part of it */
static inline int SpikeFactorPlaces(const SpikeTiles *t, bool split)
{
  return 2 + t->QL + (split ? SPIKE_FACTOR_PART : t->QU);
}

/* factor_small.cu: T <= 16 */
PETSC_INTERN PetscErrorCode SpikeFactorSmall_CUDA(SpikeBand *, const SpikePivotPolicy *);

/* T > 16: factor_double.cu, factor_single.cu, factor_half.cu have those of this type */
template <typename F>
PetscErrorCode SpikeFactorLarge(SpikeBand *, const SpikePivotPolicy &);

/*
  factor_cluster.cu: T > 24, in double precision, where a cluster of thread blocks has room for the tiles of a step that
  one has not; *done <- whether it was such a band, and a device that has clusters
*/
PETSC_INTERN PetscErrorCode SpikeFactorCluster_CUDA(SpikeBand *, const SpikePivotPolicy *, bool *done);

/* factor_cholesky.cu: of the bands for which SpikeFactorIsCholesky_CUDA() is true */
PETSC_INTERN PetscErrorCode SpikeFactorCholesky_CUDA(SpikeBand *, const SpikePivotPolicy *);

/* Pivots of one partition: the first bad row, counted from the partition's first, or -1 */
struct SpikePivotState {
  int    badrow, nboost;
  double badvalue;
};

/* One thread of a partition reports; badvalue: [np] */
__device__ static inline void SpikeReportPivots(const SpikeTiles &t, PetscInt p, const SpikePivotState &st,
                                                SpikeStatus *status, double *badvalue)
{
  if (st.badrow >= 0) {
    badvalue[p] = st.badvalue;
    atomicMax(&status->badrow, ~((unsigned long long)t.start[p] + st.badrow));
  }
  if (st.nboost) atomicAdd(&status->nboost, (unsigned long long)st.nboost);
}

__device__ static inline double SpikeArithAbs(double a)
{
  return fabs(a);
}

/* A barrier of some of a block's warps */
__device__ static inline void SpikeBarrierWait(int barrier, int threads)
{
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/* 1 / p to about one rounding: the hardware's 20 bits, r, are refined by r (1 + e + e^2), e = 1 - p r */
__device__ static inline double SpikeReciprocal(double p)
{
  double r, e;

  if (!(fabs(p) > 1e-290 && fabs(p) < 1e290)) return 1.0 / p;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(p));
  e = fma(-p, r, 1.0);
  e = fma(e, e, e);
  return fma(r, e, r);
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline double SpikeArithAbs(SpikeArith a)
{
  return hypot(a.real(), a.imag());
}

__device__ static inline SpikeArith SpikeReciprocal(SpikeArith p)
{
  return SpikeArith(1.0) / p;
}
#endif

/* c - a b */
__device__ static inline double SpikeMinus(double c, double a, double b)
{
  return fma(-a, b, c);
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline SpikeArith SpikeMinus(SpikeArith c, SpikeArith a, SpikeArith b)
{
  return SpikeArith(fma(a.imag(), b.imag(), fma(-a.real(), b.real(), c.real())),
                    fma(-a.imag(), b.real(), fma(-a.real(), b.imag(), c.imag())));
}
#endif

/*
  Accepts, boosts or refuses the pivot of a row and returns its inverse; after a refused one the partition's numbers
  mean nothing
*/
__device__ static inline SpikeArith SpikePivotInverse(SpikeArith p, int row, int rows, const SpikePivotPolicy &policy,
                                                      SpikePivotState &st)
{
  if (row < rows) { /* rows after the end of the partition have ones, of any tolerance */
    const double abs = SpikeArithAbs(p);

    if (!(abs > policy.tol) || abs > policy.max) {
      if (st.badrow < 0 && policy.boost > 0.0 && abs <= policy.max) {
        p = abs > 0.0 ? p * (policy.boost / abs) : SpikeArith(policy.boost);
        st.nboost++;
      } else {
        if (st.badrow < 0) {
          st.badrow   = row;
          st.badvalue = abs;
        }
        p = SpikeArith(1.0);
      }
    }
  }
  return SpikeReciprocal(p);
}

/* A pivot of a positive definite matrix: 1 / p, or 1 where it is refused, with its sign for the report */
__device__ static inline double SpikePivotPositive(double p, int row, int rows, const SpikePivotPolicy &policy,
                                                   SpikePivotState &st)
{
  if (row < rows && (!(p > policy.tol) || p > policy.max)) {
    if (st.badrow < 0) {
      st.badrow   = row;
      st.badvalue = p;
    }
    p = 1.0;
  }
  return SpikeReciprocal(p);
}

/*
  A tile D = L U, one row a lane (row r of the tile in a[], T of them): a <- strictly lower part of L^-1, U^-1 in the
  upper part.

  Elimination and both inverses run together, pivot after pivot. Before pivot k the columns c < k of row r > k hold
  L^-1, those of row r < k hold diag(U) U^-1; the columns c >= k of rows r >= k what is left of D, those of rows r < k
  hold diag(U) times the product of U^-1's leading part with U. With t = a_rk / a_kk the step is  a_rc -= t a_kc  for c
  > k and all r != k, and for c < k and r > k;  a_rk <- -t.  The rows r <= k are divided by their pivots at the end.
  Registers need constant indices: columns are handled in blocks of 8, and the block of the pivot is rotated to the
  front.

  buffer: [2 TMAX] of the lanes that share the tile. A lane that has no row calls with r = T.
*/
template <int TMAX>
__device__ static inline void SpikeTileInvert(SpikeArith (&a)[TMAX], int r, int T, SpikeArith *buffer, int row0,
                                              int rows, const SpikePivotPolicy &policy, SpikePivotState &st)
{
  constexpr int BK = TMAX < 8 ? TMAX : 8, SIDEBLOCKS = TMAX / BK;
  SpikeArith    mine = SpikeArith(1.0);

#pragma unroll 1
  for (int b = 0; b < SIDEBLOCKS; b++) {
    SpikeUnroll(kk, BK) {
      const int   k = b * BK + kk;
      SpikeArith *w = buffer + (kk & 1) * TMAX;

      if (k < T) {
        SpikeArith inv, t, lower;

        if (r == k) {
          SpikeUnroll(i, TMAX) w[i] = a[i];
        }
        __syncwarp();
        inv   = SpikePivotInverse(w[kk], row0 + k, rows, policy, st);
        t     = r == k ? SpikeArith(0.0) : a[kk] * inv;
        lower = r > k ? t : SpikeArith(0.0);
        SpikeUnroll(g, SIDEBLOCKS) {
          const SpikeArith tg = g >= SIDEBLOCKS - b ? lower : t; /* blocks rotated to the back lie left of the pivot */

          SpikeUnrollFrom(i, g * BK, (g + 1) * BK) {
            if (i != kk) a[i] = SpikeMinus(a[i], i < kk ? lower : tg, w[i]);
          }
        }
        if (r == k) mine = inv;
        else a[kk] = -t;
      }
    }
    if (SIDEBLOCKS > 1) {
      SpikeArith first[BK];

      SpikeUnroll(i, BK) first[i] = a[i];
      SpikeUnroll(i, TMAX - BK) a[i] = a[i + BK];
      SpikeUnroll(i, BK) a[TMAX - BK + i] = first[i];
    }
  }
  SpikeUnroll(c, TMAX) a[c] = c > r ? a[c] * mine : c == r && r < T ? mine : a[c];
}

/*
  Fragments of 16 x 8 (a, c) and 8 x 8 (b) blocks. With g = lane / 4 and q = lane % 4 a lane has
    a: (g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4)    b: (q, g), (q + 4, g)    c: (g, 2q), (g, 2q + 1), (g + 8, 2q),
                                                         (g + 8, 2q + 1)
*/
__device__ static inline void SpikeTileMMA(double (&c)[4], const double (&a)[4], const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
  for (int h = 0; h < 2; h++)
    for (int k = 0; k < 2; k++)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[2 * h]), "+d"(c[2 * h + 1])
          : "d"(a[h + 2 * k]), "d"(b[k]));
#else
  const int lane = threadIdx.x & 31, row = lane & 28, col = lane & 3;

  for (int k = 0; k < 8; k++) {
    const double a0 = __shfl_sync(0xFFFFFFFFu, a[2 * (k / 4)], row + k % 4),
                 a1 = __shfl_sync(0xFFFFFFFFu, a[2 * (k / 4) + 1], row + k % 4);
    const double b0 = __shfl_sync(0xFFFFFFFFu, b[k / 4], 8 * col + k % 4),
                 b1 = __shfl_sync(0xFFFFFFFFu, b[k / 4], 8 * col + 4 + k % 4);

    c[0] = fma(a0, b0, c[0]);
    c[1] = fma(a0, b1, c[1]);
    c[2] = fma(a1, b0, c[2]);
    c[3] = fma(a1, b1, c[3]);
  }
#endif
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline void SpikeTileMMA(SpikeArith (&c)[4], const SpikeArith (&a)[4], const SpikeArith (&b)[2])
{
  double re[4], im[4], ar[4], ai[4], an[4], br[2], bi[2];

  for (int i = 0; i < 4; i++) {
    re[i] = c[i].real();
    im[i] = c[i].imag();
    ar[i] = a[i].real();
    ai[i] = a[i].imag();
    an[i] = -ai[i];
  }
  for (int i = 0; i < 2; i++) {
    br[i] = b[i].real();
    bi[i] = b[i].imag();
  }
  SpikeTileMMA(re, ar, br);
  SpikeTileMMA(re, an, bi);
  SpikeTileMMA(im, ar, bi);
  SpikeTileMMA(im, ai, br);
  for (int i = 0; i < 4; i++) c[i] = SpikeArith(re[i], im[i]);
}
#endif

/* Two neighbours in shared memory */
__device__ static inline void SpikePair(const double *p, SpikeArith &a, SpikeArith &b)
{
#if !defined(PETSC_USE_COMPLEX)
  const double2 v = *(const double2 *)p;

  a = v.x;
  b = v.y;
#else
  a = p[0];
  b = p[1];
#endif
}

__device__ static inline void SpikePair(const float *p, SpikeArith &a, SpikeArith &b)
{
  const float2 v = *(const float2 *)p;

  a = (double)v.x;
  b = (double)v.y;
}

template <bool BF>
__device__ static inline void SpikePair(const SpikeNarrow<BF> *p, SpikeArith &a, SpikeArith &b)
{
#if !defined(PETSC_USE_COMPLEX)
  const ushort2 v = *(const ushort2 *)p;

  a = SpikeNarrowValue<BF>(v.x);
  b = SpikeNarrowValue<BF>(v.y);
#else
  a = p[0];
  b = p[1];
#endif
}

#if defined(PETSC_USE_COMPLEX)
template <typename F>
__device__ static inline void SpikePair(const thrust::complex<F> *p, SpikeArith &a, SpikeArith &b)
{
  a = SpikeArith(p[0].real(), p[0].imag());
  b = SpikeArith(p[1].real(), p[1].imag());
}
#endif

template <typename F>
__device__ static inline void SpikePair(const F *p, SpikeArith (&b)[2])
{
  SpikePair(p, b[0], b[1]);
}

__device__ static inline double SpikeShuffle(double v, int lane)
{
  return __shfl_sync(0xFFFFFFFFu, v, lane);
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline SpikeArith SpikeShuffle(SpikeArith v, int lane)
{
  return SpikeArith(__shfl_sync(0xFFFFFFFFu, v.real(), lane), __shfl_sync(0xFFFFFFFFu, v.imag(), lane));
}
#endif

/*
  The same for a tile of N8 x N8 blocks of 8 x 8 in c fragments: lane (g, q) has d[m][n][e] = element (8 m + g, 8 n + 2
  q + e). The result goes to s, column-major with leading dimension ld: row k of L^-1 when its pivot comes, which also
  hands the row to all lanes, and column k of U^-1 at pivot k. What is left in registers of columns c < k in rows r <= k
  is not used again. The rows and columns from T on must be zero; they are not written.
*/
template <int N8>
__device__ static inline void SpikeSquareInvert(SpikeArith (&d)[N8][N8][2], SpikeArith *s, int ld, int T, int row0,
                                                int rows, const SpikePivotPolicy &policy, SpikePivotState &st)
{
  const int  lane = threadIdx.x & 31, g = lane >> 2, q = lane & 3;
  SpikeArith mine[N8]; /* inverses of the pivots of rows 8 m + g */

  SpikeUnroll(b, N8) {
#pragma unroll 1
    for (int pair = 0; pair < 4; pair++) {
      SpikeUnroll(e0, 2) {
        const int kk = 2 * pair + e0, k = 8 * b + kk;

        if (k < T) {
          SpikeArith p, inv, t[N8], w[N8][2], *row = s + 2 * q * ld + k;

          if (g == kk) {
            SpikeUnroll2(n, N8, e, 2) row[(8 * n + e) * ld] = d[b][n][e];
          }
          p = SpikeShuffle(d[b][b][e0], 4 * kk + pair);
          SpikeUnroll(m, N8) t[m] = SpikeShuffle(d[m][b][e0], 4 * g + pair);
          __syncwarp();
          SpikeUnroll2(n, N8, e, 2) w[n][e] = row[(8 * n + e) * ld];
          inv = SpikePivotInverse(p, row0 + k, rows, policy, st);
          SpikeUnroll(m, N8) t[m] = t[m] * inv;
          if (g == kk) {
            t[b]    = SpikeArith(0.0);
            mine[b] = inv;
          }
          SpikeUnroll3(m, N8, n, N8, e, 2)
            if (m >= b || n >= b) d[m][n][e] = SpikeMinus(d[m][n][e], t[m], w[n][e]);
          if (q == pair) {
            SpikeUnroll(m, N8) {
              d[m][b][e0] = -t[m];
              if (m < b || (m == b && g < kk)) s[k * ld + 8 * m + g] = -t[m] * mine[m];
            }
          }
        }
      }
    }
  }
  __syncwarp();
  SpikeUnroll(m, N8)
    if (q == 0 && 8 * m + g < T) s[(8 * m + g) * ld + 8 * m + g] = mine[m];
  __syncwarp();
}
