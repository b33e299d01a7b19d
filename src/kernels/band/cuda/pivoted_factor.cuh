/* SPDX-License-Identifier: BSD-2-Clause */
/* pivoted_factor.cuh: the kernel of the factorization with row exchanges */
#pragma once

#include "pivoted.cuh"
#include "factor.cuh"

/*
  A thread block for a partition. Its front has the rows j .. j + m - 1 and the columns j .. j + W + hu - 1 of what is
  left of A, rows and columns at places modulo its size: in shared memory, or in a piece of global memory that the L2
  cache holds. A step of W columns:

      front <- the W rows that come in; the columns that come in are zero above them
      panel      a thread has a row of W columns in registers. Each warp offers the row with its largest entry; after
                 a barrier all take the first of the largest, the pivot's thread the row that was in its place
      U12        a thread has a column: L11^-1 of the rows that the exchanges have put first
      A22        a warp has 32 rows of L21 in registers, and takes columns of the front in turn. Row r reads row
                 perm[r], which is itself or one of the first W, that are not written any more

  Flops 2 n kl (kl + ku). Reads the raw band once and writes the factors once. Two runs have the same bits: nothing
  depends on the order of threads.
*/
struct SpikePivotedFactorArgs {
  SpikeTiles         t;
  SpikePivoted       v;
  const PetscScalar *band;
  PetscScalar       *fronts;  /* NULL: in shared memory */
  int                columns; /* of U12 at a time       */
  SpikePivotPolicy   policy;
  SpikeStatus       *status;
  double            *badvalue;
};

/* Elements and threads of the shared memory of a block; places of U12 are two apart from their neighbours */
struct SpikePivotedPlaces {
  int    ld, frontcolumns, ldu;   /* of the front, and of U12              */
  size_t panel, u, offers, front; /* elements                               */
  size_t bytes;                   /* all together, and what follows of them */
  size_t keys, rows;

  __host__ __device__ SpikePivotedPlaces(const SpikePivoted &v, int columns, int warps, bool global)
  {
    ld           = v.m | 1;
    frontcolumns = v.W + v.hu;
    ldu          = v.W + 16 / (int)sizeof(PetscReal);
    panel        = ((size_t)v.m * v.W + 3) / 4 * 4;
    u            = (size_t)columns * ldu;
    offers       = 2 * (size_t)(warps + 1) * v.W; /* of each warp, and the row that gives way; in turn two of them */
    front        = global ? 0 : (size_t)ld * frontcolumns;
    keys         = ((panel + u + offers + front) * sizeof(PetscScalar) + 15) / 16 * 16;
    rows         = keys + 2 * (size_t)warps * sizeof(unsigned long long);
    bytes        = rows + (4 * (size_t)warps + 2 + v.m) * sizeof(int);
  }
};

/*
  The order of candidates: zero for none, 1 for what is not a number, then by |re| + |im|, by which LAPACK compares too
*/
__device__ static inline unsigned long long SpikePivotedKey(bool candidate, PetscScalar a)
{
#if defined(PETSC_USE_COMPLEX)
  const double size = (double)(fabs(a.real()) + fabs(a.imag()));
#else
  const double   size    = (double)fabs(a);
#endif

  return !candidate ? 0 : size == size ? (unsigned long long)__double_as_longlong(size) + 2 : 1;
}

/* The lane with the largest key, the first of them */
__device__ static inline int SpikePivotedLargest(unsigned long long key)
{
  const unsigned high = (unsigned)(key >> 32);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  const unsigned highest = __reduce_max_sync(SPIKE_WARP, high), low = high == highest ? (unsigned)key : 0,
                 lowest = __reduce_max_sync(SPIKE_WARP, low);
#else
  const unsigned highest = SpikeWarpMax(high), low = high == highest ? (unsigned)key : 0, lowest = SpikeWarpMax(low);
#endif

  return __ffs((int)__ballot_sync(SPIKE_WARP, high == highest && low == lowest)) - 1;
}

/*
  Accepts, boosts or refuses the pivot of a row, and returns its inverse: the host's ops_pivot.h; 1 after a refused one
*/
__device__ static inline PetscScalar SpikePivotedInverse(PetscScalar p, int row, int rows,
                                                         const SpikePivotPolicy &policy, SpikePivotState &st)
{
  const double abs = (double)SpikeAbs(p);

  if (row >= rows) return (PetscScalar)1.0;
  if (!(abs > policy.tol && abs <= policy.max)) {
    if (st.badrow < 0 && policy.boost > 0.0 && abs <= policy.max) {
      p = abs > 0.0 ? (PetscReal)policy.boost * (p / (PetscReal)abs) : (PetscScalar)(PetscReal)policy.boost;
      st.nboost++;
    } else {
      if (st.badrow < 0) {
        st.badrow   = row;
        st.badvalue = abs;
      }
      p = (PetscScalar)1.0;
    }
  }
  return (PetscScalar)1.0 / p;
}

/*
  Entries (i, k), (i, k + by), ... of a partition of n rows whose raw band begins at `band`; ones on the diagonal after
  its rows
*/
struct SpikePivotedRow {
  const SpikeTiles  &t;
  const PetscScalar *row; /* of tiles */
  int                n, i, k, by, ti, r, tk, c;

  __device__ SpikePivotedRow(const SpikeTiles &tiles, const PetscScalar *band, int rows, int i0, int k0, int stride) :
    t(tiles), n(rows), i(i0), k(k0), by(stride)
  {
    ti  = i / t.T;
    r   = i - ti * t.T;
    tk  = k / t.T;
    c   = k - tk * t.T;
    row = band + ti * t.rowsize;
  }

  __device__ PetscScalar next()
  {
    const int   d = k - i, q = ti == tk ? (r > c ? t.QL - 1 : t.QL + t.QU - 1)
                             : tk < ti  ? ti - tk - 1
                                        : t.QL + tk - ti - 1;
    PetscScalar a = (PetscScalar)(d ? 0.0 : 1.0);

    if (i < n && k < n) {
      if (!d) a = row[t.tile(t.QL + t.QU) + r];
      else if (d >= -t.kl && d <= t.ku) a = row[((PetscInt64)q * t.T + c) * t.G * t.T + r];
    }
    k += by;
    for (c += by; c >= t.T; c -= t.T) tk++;
    return a;
  }
};

/* Where rows and columns of the front are: a ring */
struct SpikePivotedRing {
  int row0, col0, rows, columns;

  __device__ int  row(int r) const { return r + row0 < rows ? r + row0 : r + row0 - rows; }
  __device__ int  column(int c) const { return c + col0 < columns ? c + col0 : c + col0 - columns; }
  __device__ void forward(int W)
  {
    row0 = row(W) % rows;
    col0 = column(W) % columns;
  }
};

/* The rows that come in at column j: all of them at the first one */
template <int W>
__device__ static inline void SpikePivotedRows(const SpikeTiles &t, const SpikePivoted &v, const PetscScalar *band,
                                               int n, int j, const SpikePivotedRing &ring, int ld, PetscScalar *front)
{
  const int columns = W + v.hu, r = threadIdx.x % W, stride = blockDim.x / W; /* of columns: threads are 32 and more */
  SpikePivotedRow in(t, band, n, j + v.kl + r, j + threadIdx.x / W, stride);

  for (int c = threadIdx.x / W; c < columns; c += stride) front[ring.column(c) * ld + ring.row(v.kl + r)] = in.next();
  if (!v.kl) return;
  if (j) {
    for (int e = threadIdx.x; e < v.kl * W; e += blockDim.x)
      front[ring.column(v.hu + e / v.kl) * ld + ring.row(e % v.kl)] = (PetscScalar)0.0;
    return;
  }
  for (int e = threadIdx.x; e < v.kl * columns; e += blockDim.x) {
    SpikePivotedRow one(t, band, n, e % v.kl, e / v.kl, 0);

    front[ring.column(e / v.kl) * ld + ring.row(e % v.kl)] = one.next();
  }
}

/*
  The panel at column j, row threadIdx.x in a[]: eliminated, with its row before the exchanges in *from. offers: of each
  warp the row with its largest entry, then the row that gives way, of steps in turn
*/
template <int W>
__device__ static inline void SpikePivotedPanel(const SpikePivoted &v, int n, int j, PetscScalar (&a)[W], int *from,
                                                PetscScalar *offers, unsigned long long *keys, int *rows,
                                                const SpikePivotPolicy &policy, SpikePivotState &st)
{
  const int r = threadIdx.x, lane = r % 32, warp = r / 32, warps = blockDim.x / 32, working = (v.m + 31) / 32;

  *from = r;
  SpikeUnroll(c, W) {
    const int           turn  = c & 1;
    PetscScalar        *offer = offers + turn * (warps + 1) * W, *away = offer + warps * W;
    unsigned long long *key = keys + turn * warps;
    int                *row = rows + turn * (2 * warps + 1), *origin = row + warps; /* origin[warps]: of the row away */

    if (warp < working) {
      const unsigned long long mine = SpikePivotedKey(r < v.m && r >= c && (j + r < n || r == c), a[c]);

      if (lane == SpikePivotedLargest(mine)) {
        SpikeUnroll(k, W) offer[warp * W + k] = a[k];
        key[warp]    = mine;
        row[warp]    = r;
        origin[warp] = *from;
      }
      if (r == c) {
        SpikeUnroll(k, W) away[k] = a[k];
        origin[warps] = *from;
      }
    }
    __syncthreads();
    if (warp < working) {
      int best = 0;

      for (int w = 1; w < working; w++)
        if (key[w] > key[best]) best = w;
      const PetscScalar *u     = offer + best * W;
      const int          pivot = row[best];
      const PetscScalar  inv   = SpikePivotedInverse(u[c], j + c, n, policy, st);

      if (pivot != c && r == pivot) {
        SpikeUnroll(k, W) a[k] = away[k];
        *from = origin[warps];
      } else if (pivot != c && r == c) {
        SpikeUnroll(k, W) a[k] = u[k];
        *from = origin[best];
      }
      if (r == c) a[c] = inv;
      else if (r > c) {
        const PetscScalar l = a[c] * inv;

        a[c] = l;
        SpikeUnrollFrom(k, c + 1, W) a[k] = SpikePivotedMinus(a[k], l, u[k]);
      }
    }
  }
}

/* Columns first <= . < first + count after the panel: U12, by columns, with its first column at u */
template <int W>
__device__ static inline void SpikePivotedUpper(const SpikePivoted &v, int first, int count,
                                                const SpikePivotedRing &ring, int ld, const PetscScalar *front,
                                                const PetscScalar *panel, const int *perm, int ldu, PetscScalar *u)
{
  for (int t = threadIdx.x; t < count; t += blockDim.x) {
    const PetscScalar *from = front + ring.column(W + first + t) * ld;
    PetscScalar        x[W];

    SpikeUnroll(k, W) x[k] = from[ring.row(perm[k])];
    SpikeUnroll(k, W - 1)
      SpikeUnrollFrom(i, k + 1, W) x[i] = SpikePivotedMinus(x[i], panel[k * v.m + i], x[k]);
    SpikeUnroll(k, W) u[t * ldu + k] = x[k];
  }
}

/* and what is left below the panel */
template <int W>
__device__ static inline void SpikePivotedUpdate(const SpikePivoted &v, int first, int count,
                                                 const SpikePivotedRing &ring, int ld, PetscScalar *front,
                                                 const PetscScalar *panel, const int *perm, int ldu,
                                                 const PetscScalar *u)
{
  constexpr int V = (int)(16 / sizeof(PetscScalar)), TOGETHER = 4;
  const int     lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, groups = (v.kl + 31) / 32,
            shares = groups && warps > groups ? warps / groups : 1;

  for (int task = warp; task < groups * shares; task += warps) {
    /* lanes after the last row have row 0, which nobody writes: one that another lane writes would be a race */
    const int r = W + task % groups * 32 + lane, row = r < v.m ? r : 0, to = ring.row(row),
              from = ring.row(row ? perm[row] : 0);
    PetscScalar l[W];

    SpikeUnroll(k, W) l[k] = panel[k * v.m + row];
    for (int t = task / groups * TOGETHER; t < count; t += shares * TOGETHER) {
      PetscScalar x[TOGETHER], *column[TOGETHER];

      SpikeUnroll(i, TOGETHER) {
        const int k = t + i < count ? t + i : count - 1;

        column[i] = front + ring.column(W + first + k) * ld;
        x[i]      = column[i][from];
      }
      SpikeUnroll(k, W / V) {
        SpikeUnroll(i, TOGETHER) {
          PetscScalar w[V];

          SpikePivotedQuad<V>(u + (t + i < count ? t + i : count - 1) * ldu + k * V, w);
          SpikeUnroll(e, V) x[i] = SpikePivotedMinus(x[i], l[k * V + e], w[e]);
        }
      }
      SpikeUnroll(i, TOGETHER)
        if (t + i < count && r < v.m) column[i][to] = x[i];
    }
  }
}

template <int W, int NTHREADS, int ATONCE>
__global__ void __launch_bounds__(NTHREADS, ATONCE)
  SpikePivotedFactor_Kernel(const __grid_constant__ SpikePivotedFactorArgs a)
{
  extern __shared__ __align__(16) unsigned char shared[];
  const SpikePivotPolicy                        policy = SpikePivotAbsolute(a.policy);
  const SpikePivoted                           &v      = a.v;
  const int                                     warps  = blockDim.x / 32;
  const SpikePivotedPlaces                      places(v, a.columns, warps, a.fronts != NULL);
  PetscScalar *panel = (PetscScalar *)shared, *u = panel + places.panel, *offers = u + places.u,
              *front       = a.fronts ? a.fronts + blockIdx.x * ((PetscInt64)places.ld * places.frontcolumns)
                                      : offers + places.offers;
  unsigned long long *keys = (unsigned long long *)(shared + places.keys);
  int                *rows = (int *)(shared + places.rows), *perm = rows + 4 * warps + 2;

  for (PetscInt p = blockIdx.x; p < a.t.np; p += gridDim.x) {
    const int          n = (int)(a.t.start[p + 1] - a.t.start[p]), r = threadIdx.x, ld = places.ld;
    const PetscScalar *band = a.band + a.t.group(p) + (p % a.t.G) * a.t.T;
    SpikePivotedRing   ring = {0, 0, v.m, places.frontcolumns};
    SpikePivotState    st   = {-1, 0, 0.0};

    for (int k = 0, j = 0; j < n; k++, j += W) {
      PetscScalar    *to       = v.factors + v.panel(p, k), x[W];
      unsigned short *exchange = v.perm + v.exchanges(p, k);
      int             from;

      SpikePivotedRows<W>(a.t, v, band, n, j, ring, ld, front);
      __syncthreads();
      SpikeUnroll(c, W) x[c] = r < v.m ? front[ring.column(c) * ld + ring.row(r)] : (PetscScalar)0.0;
      SpikePivotedPanel<W>(v, n, j, x, &from, offers, keys, rows, policy, st);
      if (r < v.m) {
        SpikeUnroll(c, W) to[c * v.m + r] = panel[c * v.m + r] = x[c];
        perm[r]     = from;
        exchange[r] = (unsigned short)from;
      }
      __syncthreads();
      for (int first = 0; first < v.hu; first += a.columns) {
        const int count = PetscMin(a.columns, v.hu - first);

        SpikePivotedUpper<W>(v, first, count, ring, ld, front, panel, perm, places.ldu, u);
        __syncthreads();
        for (int e = threadIdx.x; e < W * count; e += blockDim.x)
          to[W * v.m + first * W + e] = u[e / W * places.ldu + e % W];
        SpikePivotedUpdate<W>(v, first, count, ring, ld, front, panel, perm, places.ldu, u);
        __syncthreads();
      }
      ring.forward(W);
    }
    if (!threadIdx.x) SpikeReportPivots(a.t, p, st, a.status, a.badvalue);
    __syncthreads();
  }
}
