/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_tips.cu: tips of the spikes, and how far the spikes reach */
#include "spike_cuda.cuh"
#include "lu.cuh"
#include "warp.cuh"

/*
  The backend has no UL factorization: the leading corner of l rows has the factors' leading corners as its own, so W of the corner is
  U_ll^-1 Y, Y = L_ll^-1 [C; 0], forward and backward over l rows. Both tips are thus made after the factorization, by righttips().

  The rows behind l add to Wt what W has fallen by there times what comes back up to the top. A block of threads with the spike's columns measures both and
  chooses l: forward until W has fallen below sqrt(eps) of its end, then backward, with one more column that starts as random signs behind row l
  and leaves at the top what comes back. Where the product is above rounding it goes on forward, as far as this number asks for. W_i is taken
  to fall as Y_i / U_ii does, which no scaling of rows changes.

  What remains is the reach of the spikes, down to the tolerance of the corrections: the recurrences of Y (with L) and V (with U alone, above the tip) go
  on with one combination of the columns. A block reads a tile once for all of its columns, into shared memory, some tiles ahead of their use; a warp has
  8 NT columns of X, the last tile rows of which are in shared memory. Y is kept in SpikeCUDA.spike. Products are in double precision.

  A first launch gives every block room for SPIKE_TIPS_ROWS K rows of Y; spikes that need more are listed and done by a second one, with few blocks.
*/
#define SPIKE_TIPS_ROWS  12
#define SPIKE_TIPS_WARPS 9

typedef struct {
  SpikeTiles         t;
  const void        *band;
  const PetscScalar *B, *C;
  PetscScalar       *Vb, *Wt, *work;
  PetscReal          eps, tol;
  int                blocks, ncols; /* blocks of columns of a spike, and columns of a block                          */
  int                tiles;         /* of 8 columns, with that of signs                                              */
  int                slots;         /* tile rows of X in shared memory                                               */
  int                rows;          /* tile rows of Y that a block has room for                                      */
  int                most;          /* tile rows that a spike is followed over                                       */
  int                again;         /* the second launch                                                             */
  int               *window;        /* [2 np]                                                                        */
  int               *corner;        /* [np]                                                                          */
  int               *count, *list;  /* of the spikes for the second launch                                           */
  PetscReal         *rate;          /* [2 (np + 1) blocks] of W, then of V                                           */
} SpikeTipsArgs;

/* Random signs against an alternating or a constant vector, which a spike may have as its null vector */
__device__ static inline SpikeArith SpikeSign(unsigned long long i)
{
  i = (i + 1) * 0x9E3779B97F4A7C15ULL;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9ULL;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBULL;
  return i >> 63 ? 1.0 : -1.0;
}

/* BYTES bytes to shared memory; done when the group that it is in is waited for */
template <int BYTES>
__device__ static inline void SpikeCopyAsync(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(BYTES) : "memory");
#else
  memcpy(to, from, BYTES);
#endif
}

__device__ static inline void SpikeCopyCommit()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int PENDING>
__device__ static inline void SpikeCopyWait()
{
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* Magnitudes for decisions: the upper half of |v|, in the order of unsigned numbers; NaN is largest */
__device__ static inline unsigned SpikeMagnitude(double v)
{
  unsigned long long bits;

  v = fabs(v);
  memcpy(&bits, &v, 8);
  return (unsigned)(bits >> 32);
}

#if defined(PETSC_USE_COMPLEX)
__device__ static inline unsigned SpikeMagnitude(SpikeArith v)
{
  return SpikeMagnitude(fabs(v.real()) + fabs(v.imag()));
}
#endif

__device__ static inline double SpikeMagnitudeValue(unsigned m)
{
  const unsigned long long bits = (unsigned long long)m << 32;
  double                   v;

  memcpy(&v, &bits, 8);
  return v;
}

__device__ static inline unsigned SpikeWarpMaxUnsigned(unsigned v)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(SPIKE_WARP, v);
#else
  return SpikeWarpMax(v);
#endif
}

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

#if defined(PETSC_USE_COMPLEX)
template <typename F>
__device__ static inline void SpikePair(const thrust::complex<F> *p, SpikeArith &a, SpikeArith &b)
{
  a = SpikeArith(p[0].real(), p[0].imag());
  b = SpikeArith(p[1].real(), p[1].imag());
}
#endif

typedef enum {
  SPIKE_PART_ALL,
  SPIKE_PART_ON_ABOVE, /* columns c >= r: the lower corner                  */
  SPIKE_PART_ON_BELOW, /* c <= r: the upper corner                          */
  SPIKE_PART_BELOW,    /* c < r: the triangle that the lower corner carries */
  SPIKE_PART_ABOVE     /* c > r                                             */
} SpikePart;

template <int PART>
__device__ static inline bool SpikeHasPart(int r, int c)
{
  return PART == SPIKE_PART_ALL || (PART == SPIKE_PART_ON_ABOVE ? c >= r : PART == SPIKE_PART_ON_BELOW ? c <= r : PART == SPIKE_PART_BELOW ? c < r : c > r);
}

/*
  The columns of one spike. MB: blocks of 16 rows of a tile; NT: blocks of 8 columns of a warp. Tiles and X are column-major, the rows and columns from T on are zero.
  In the notation of lu.cuh a lane has rows 2g and 2g + 1 in place of g and g + 8, and columns of a tile 2q and 2q + 1 in place of q and q + 4:
  they are neighbours in memory. Leading dimensions: no two lanes that load together use the same bank.
*/
template <typename F, int MB, int NT>
struct SpikeColumns {
  static constexpr int ROWS = 16 * MB, LD = ROWS + (sizeof(F) >= 8 ? 16 / (int)sizeof(F) : 4), LDX = ROWS + 8, STAGES = MB == 2 && NT == 1 ? 2 : 3, TILE = ROWS * LD;

  const SpikeTipsArgs &a;
  F                   *stage;
  SpikeArith          *X;
  unsigned            *norm; /* [2][2 SPIKE_TIPS_WARPS] */
  const F             *band, *diag;
  int                  T, lane, warp, g, q4;
  int                  fj, fq, fbuffer, buffer, parity; /* the next tile to load and where, where the next one to use is */

  __device__ SpikeColumns(const SpikeTipsArgs &args, unsigned char *shared, unsigned *reduce) : a(args), stage((F *)shared), X((SpikeArith *)(stage + STAGES * TILE)), norm(reduce), T(args.t.T), lane(threadIdx.x & 31), warp(threadIdx.x >> 5), g(lane >> 2), q4(lane & 3), parity(0)
  {
    for (int e = threadIdx.x; e < STAGES * TILE; e += blockDim.x) stage[e] = F(0.0);
  }
  __device__ SpikeArith *slot(int j) const { return X + (j % a.slots) * a.tiles * 8 * LDX; }
  __device__ SpikeArith *mine(int j) const { return slot(j) + warp * NT * 8 * LDX; }

  template <int BYTES>
  __device__ void copy(F *to, const F *from) const
  {
    constexpr int E       = BYTES < (int)sizeof(F) ? 1 : BYTES / (int)sizeof(F);
    const int     pieces = T / E, dc = blockDim.x / pieces, dr = (blockDim.x - dc * pieces) * E;
    const int     column = a.t.G * T; /* of the band */
    int           c = threadIdx.x / pieces, r = ((int)threadIdx.x - c * pieces) * E;

    while (c < T) {
      SpikeCopyAsync<(BYTES < (int)sizeof(F) ? (int)sizeof(F) : BYTES)>(to + c * LD + r, from + (PetscInt64)c * column + r);
      c += dc;
      r += dr;
      if (r >= T) {
        r -= T;
        c++;
      }
    }
  }
  template <bool BACK>
  __device__ void fetch()
  {
    const int Q = BACK ? a.t.QU : a.t.QL;

    if (Q && fj >= 0 && fj < a.t.steps) {
      const F *from = band + fj * a.t.stepsize + a.t.tile((BACK ? a.t.QL : 0) + fq - 1);
      F       *to   = stage + fbuffer * TILE;

      if (T * sizeof(F) % 16 == 0) copy<16>(to, from);
      else if (T * sizeof(F) % 8 == 0) copy<8>(to, from);
      else copy<4>(to, from);
    }
    SpikeCopyCommit();
    if (++fbuffer == STAGES) fbuffer = 0;
    if (++fq > Q) {
      fq = 1;
      fj += BACK ? -1 : 1;
    }
  }
  /* Tiles from row j on, in the order in which step() asks for them */
  template <bool BACK>
  __device__ void begin(int j)
  {
    SpikeCopyWait<0>();
    __syncthreads();
    fj      = j;
    fq      = 1;
    fbuffer = buffer = 0;
    for (int i = 0; i < STAGES - 1; i++) fetch<BACK>();
  }
  template <bool BACK>
  __device__ const F *next()
  {
    const F *tile = stage + buffer * TILE;

    SpikeCopyWait<STAGES - 2>();
    __syncthreads(); /* the tile is there for all, and all are done with the one before */
    fetch<BACK>();
    if (++buffer == STAGES) buffer = 0;
    return tile;
  }
  /* acc += a part of the tile times x */
  template <int PART>
  __device__ void product(const F *tile, const SpikeArith *x, int nt, SpikeArith acc[MB][NT][4]) const
  {
#pragma unroll
    for (int k = 0; k < ROWS; k += 8) {
      if (k < T) {
        SpikeArith b[NT][2];

#pragma unroll
        for (int n = 0; n < NT; n++) SpikePair(x + (n < nt ? 8 * n + g : g) * LDX + k + 2 * q4, b[n][0], b[n][1]);
#pragma unroll
        for (int m = 0; m < MB; m++) {
          const int  r = 16 * m + 2 * g, c = k + 2 * q4;
          SpikeArith e[4];

          if (!SpikeHasPart<PART>(16 * m + 15, k) && !SpikeHasPart<PART>(16 * m, k + 7)) continue; /* a block of zeros */
          SpikePair(tile + c * LD + r, e[0], e[1]);
          SpikePair(tile + (c + 1) * LD + r, e[2], e[3]);
          if (PART != SPIKE_PART_ALL) {
            if (!SpikeHasPart<PART>(r, c)) e[0] = 0.0;
            if (!SpikeHasPart<PART>(r + 1, c)) e[1] = 0.0;
            if (!SpikeHasPart<PART>(r, c + 1)) e[2] = 0.0;
            if (!SpikeHasPart<PART>(r + 1, c + 1)) e[3] = 0.0;
          }
#pragma unroll
          for (int n = 0; n < NT; n++) {
            if (n < nt) SpikeMMA(acc[m][n], e, b[n]);
          }
        }
      }
    }
  }
  /* f(m, n, h, first row of the pair, column of the block of threads, v, w) for the pairs of neighbours (v, w) in a column that this lane has */
  template <typename FUNCTION>
  __device__ void pairs(int nt, SpikeArith acc[MB][NT][4], FUNCTION f) const
  {
#pragma unroll
    for (int m = 0; m < MB; m++) {
#pragma unroll
      for (int n = 0; n < NT; n++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          if (n < nt) f(m, 16 * m + 2 * g, (warp * NT + n) * 8 + 2 * q4 + h, acc[m][n][h], acc[m][n][2 + h]);
        }
      }
    }
  }
  __device__ void put(SpikeArith *x, int nt, SpikeArith acc[MB][NT][4]) const
  {
    pairs(nt, acc, [&](int, int r, int c, SpikeArith &v, SpikeArith &w) {
      SpikeArith *to = x + (c - warp * NT * 8) * LDX + r;

      to[0] = v;
      to[1] = w;
    });
  }
  /*
    Tile row j of Y or X in the slot of j, given the rows before from the row `from` on (backward: all; what lies behind the end is in the slots): rhs(row, column)
    is the right-hand side, take(row, column, v) sees the result. Warps without columns (nt = 0) only help to load. Returns the lane's largest
    result in columns left of `real`, on the scale of W or V, and in signs that of the column `real`.
  */
  template <bool BACK, typename RHS, typename TAKE>
  __device__ unsigned step(int j, int from, int nt, int real, unsigned *signs, RHS rhs, TAKE take)
  {
    const int   Q = BACK ? a.t.QU : a.t.QL;
    SpikeArith  acc[MB][NT][4], d[MB][2]; /* acc: minus the right-hand side, plus the products */
    SpikeArith *x = mine(j);
    unsigned    largest = 0, probe = 0;
    const F    *tile    = NULL;

#pragma unroll
    for (int m = 0; m < MB; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int r = 16 * m + 2 * g + h;

        d[m][h] = r < T && nt ? SpikeArith(diag[j * a.t.stepsize + r]) : SpikeArith(0.0);
      }
    }
    pairs(nt, acc, [&](int, int r, int c, SpikeArith &v, SpikeArith &w) {
      v = -rhs(r, c);
      w = -rhs(r + 1, c);
    });
    for (int q = 1; q <= Q; q++) {
      const int neighbour = BACK ? j + q : j - q;

      tile = next<BACK>();
      if (nt && (BACK || neighbour >= from)) {
        if (q < Q) product<SPIKE_PART_ALL>(tile, mine(neighbour), nt, acc);
        else product<BACK ? SPIKE_PART_ON_BELOW : SPIKE_PART_ON_ABOVE>(tile, mine(neighbour), nt, acc);
      }
    }
    if (nt) {
#pragma unroll
      for (int m = 0; m < MB; m++) {
#pragma unroll
        for (int n = 0; n < NT; n++) {
#pragma unroll
          for (int e = 0; e < 4; e++) acc[m][n][e] = -acc[m][n][e];
        }
      }
      __syncwarp();
      if (Q) {
        put(x, nt, acc);
        __syncwarp();
      }
      if (BACK) pairs(nt, acc, [&](int m, int, int, SpikeArith &v, SpikeArith &w) {
        v = v * d[m][0];
        w = w * d[m][1];
      });
      if (Q) product<BACK ? SPIKE_PART_ABOVE : SPIKE_PART_BELOW>(tile, x, nt, acc);
      __syncwarp();
      put(x, nt, acc);
      pairs(nt, acc, [&](int m, int r, int c, SpikeArith v, SpikeArith w) {
        const unsigned size = PetscMax(SpikeMagnitude(BACK ? v : v * d[m][0]), SpikeMagnitude(BACK ? w : w * d[m][1]));

        if (c < real) largest = PetscMax(largest, size);
        else if (c == real) probe = PetscMax(probe, size);
        take(r, c, v);
        take(r + 1, c, w);
      });
      __syncwarp();
    }
    if (signs) *signs = PetscMax(*signs, probe);
    return largest;
  }
  /* Largest magnitude of a block of threads */
  __device__ double reduce(unsigned v)
  {
    unsigned *n = norm + parity * SPIKE_TIPS_WARPS;

    v = SpikeWarpMaxUnsigned(v);
    if (!lane) n[warp] = v;
    __syncthreads();
    for (int w = 0; w < (int)blockDim.x / 32; w++) v = PetscMax(v, n[w]);
    parity = !parity;
    return SpikeMagnitudeValue(v);
  }
  /* All slots, first column of signs or -1; between two begin()s */
  __device__ void clear(int signs) const
  {
    for (int e = threadIdx.x; e < a.slots * a.tiles * 8 * LDX; e += blockDim.x) {
      const int r = e % LDX, c = e / LDX % (a.tiles * 8);

      X[e] = c == signs && r < T ? SpikeSign(e) : SpikeArith(0.0);
    }
  }
};

/* How far a spike has fallen, row after row from its end; the same in all threads but for the history, which thread 0 has */
struct SpikeFall {
  double head, tol;
  double *history; /* [32] */
  int    tip, last, seen, fallen;

  __device__ SpikeFall(double *h, int tip_, double tol_) : head(0.0), tol(tol_), history(h), tip(tip_), last(0), seen(0), fallen(0) { }
  __device__ void add(double m)
  {
    if (!threadIdx.x) history[seen & 31] = m;
    if (seen < tip) head = PetscMax(head, m);
    seen++;
    if (seen <= tip || !(m <= tol * head)) last = seen;
    if (seen - last >= tip) fallen = 1;
  }
  /* largest of the last rows, in all threads after a barrier */
  __device__ double recent(int rows) const
  {
    double m = 0.0;

    for (int i = 1; i <= PetscMin(rows, seen); i++) m = history[(seen - i) & 31] <= m ? m : history[(seen - i) & 31];
    return m;
  }
  __device__ double rate(int T) const
  {
    const double m = recent(tip);

    if (head == 0.0 || m == 0.0) return (double)PETSC_MIN_REAL;
    return PetscMin(log(m / head) / (PetscMax(seen - tip, 1) * (double)T), 0.0);
  }
};

template <typename F, int MB, int NT>
__global__ void __launch_bounds__(MB == 1 ? 96 : 32 * SPIKE_TIPS_WARPS, MB == 1 ? 10 : NT == 1 ? 3 : 1) SpikeTips_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  typedef SpikeColumns<F, MB, NT> Columns;
  constexpr int                   LDX = Columns::LDX;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  __shared__ double                             history[32];
  const SpikeTiles                             &t = a.t;
  const int                                     T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks, units = a.again ? *a.count : 2 * half;
  Columns                                       s(a, shared, norms);
  PetscScalar                                  *Y = a.work + (PetscInt64)blockIdx.x * a.rows * T * a.ncols;
  auto                                          nothing = [](int, int, SpikeArith) { };
  auto                                          zero    = [](int, int) { return SpikeArith(0.0); };

  for (int i = blockIdx.x; i < units; i += gridDim.x) {
    const int      unit = a.again ? a.list[i] : i;
    const bool     right = unit >= half;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int      col0 = (unit % a.blocks) * a.ncols, spike = right ? ku : kl, nc = PetscMin(a.ncols, spike - col0), first = s.warp * NT * 8;

    if (!threadIdx.x && !a.again) a.rate[unit] = PETSC_MIN_REAL;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    const PetscInt n  = t.start[p + 1] - t.start[p];
    const int      J  = (int)((n + T - 1) / T), most = PetscMin(J, a.most);
    const int      nt = PetscMax(0, PetscMin(NT, (nc - first + 7) / 8)), ntsigns = PetscMax(0, PetscMin(NT, (nc + 1 - first + 7) / 8)), ntone = s.warp ? 0 : 1;
    SpikeFall      fall(history, right ? PetscMin(Q + (n % T ? 1 : 0), J) : PetscMin(Q, J), (double)a.tol);

    s.band = (const F *)a.band + t.group(p) + (p % t.G) * T;
    s.diag = s.band + t.tile(t.QL + t.QU);
    __syncthreads(); /* all are done with the spike before */
    s.clear(-1);
    if (!right) {
      const PetscScalar *C = a.C + q * (PetscCount)kl * kl;
      int                l = 0, cap = PetscMin(PetscMin(8 * Q, a.rows), most), below = 0, enough = 0;
      double             target = -1.0;

      for (;;) {
        double   wt, ret = 0.0, far;
        unsigned top = 0, signs = 0;

        s.template begin<false>(l);
        while (l < cap && !(l >= PetscMin(2 * fall.tip, most) && below >= PetscMax(t.QL, 1))) {
          const unsigned m = s.template step<false>(
            l, 0, nt, nc, NULL,
            [&](int r, int c) {
              const int k = l * T + r;

              return r < T && k < kl && c < nc ? SpikeArith(C[k + (PetscCount)(col0 + c) * kl]) : SpikeArith(0.0);
            },
            [&](int r, int c, SpikeArith v) {
              if (r < T && c < nc) Y[((PetscInt64)l * a.ncols + c) * T + r] = (PetscScalar)v;
            });
          const double norm = s.reduce(m);

          fall.add(norm);
          l++;
          below = fall.seen > fall.tip && norm <= (target < 0.0 ? sqrt((double)a.eps) * fall.head : target) ? below + 1 : 0;
        }
        s.template begin<true>(l - 1);
        s.clear(nc);
        __syncthreads();
        far = fall.recent(PetscMax(t.QL, 1));
        for (int j = l - 1; j >= 0; j--) {
          const unsigned m = s.template step<true>(
            j, 0, ntsigns, nc, j < PetscMax(t.QU, 1) ? &signs : NULL, [&](int r, int c) { return r < T && c < nc ? SpikeArith(Y[((PetscInt64)j * a.ncols + c) * T + r]) : SpikeArith(0.0); },
            [&](int r, int c, SpikeArith v) {
              const int k = j * T + r;

              if (r < T && k < ku && k < n && c < nc) a.Wt[q * (PetscCount)kl * ku + k + (PetscCount)(col0 + c) * ku] = (PetscScalar)v;
            });

          if (j < t.QU) top = PetscMax(top, m);
        }
        wt     = s.reduce(top);
        ret    = s.reduce(signs);
        enough = l == most || ret * far <= 8.0 * a.eps * wt;
        if (enough || l >= a.rows) break;
        target = 4.0 * a.eps * wt / ret;
        below  = 0;
        cap    = PetscMin(PetscMin(2 * l, a.rows), most);
        __syncthreads();
        s.clear(-1);
        __syncthreads();
        for (int k = 1; k <= PetscMin(t.QL, l); k++) {
          for (int e = threadIdx.x; e < T * nc; e += blockDim.x) s.slot(l - k)[e / T * LDX + e % T] = SpikeArith(Y[(PetscInt64)(l - k) * a.ncols * T + e]);
        }
      }
      if (!enough) { /* the other launch has more room */
        if (!threadIdx.x) a.list[atomicAdd(a.count, 1)] = unit;
        __syncthreads();
        continue;
      }
      if (!threadIdx.x) atomicMax(a.corner + p, l);
      if (!fall.fallen && l < most) {
        double size = fall.recent(1), scale = 0.0;

        /* a combination of the columns, from the last row on again, which shows its size */
        __syncthreads();
        s.clear(-1);
        __syncthreads();
        for (int k = 2; k <= PetscMin(t.QL + 1, l); k++) {
          for (int r = threadIdx.x; r < T; r += blockDim.x) {
            SpikeArith v = 0.0;

            for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * SpikeArith(Y[((PetscInt64)(l - k) * a.ncols + c) * T + r]);
            s.slot(l - k)[r] = v;
          }
        }
        s.template begin<false>(l - 1);
        for (int j = l - 1; j < most && !fall.fallen; j++) {
          const double norm = s.reduce(s.template step<false>(j, 0, ntone, 1, NULL, zero, nothing));

          if (j == l - 1) scale = norm == 0.0 ? 0.0 : size / norm;
          else fall.add(scale * norm);
        }
      }
    } else {
      const PetscScalar *B  = a.B + q * (PetscCount)ku * ku;
      const int          f0 = (int)((n - ku) / T), b0 = J - fall.tip;

      s.template begin<false>(f0);
      for (int j = f0; j < J; j++)
        s.template step<false>(
          j, f0, nt, nc, NULL,
          [&](int r, int c) {
            const PetscInt k = (PetscInt)j * T + r - (n - ku);

            return r < T && k >= 0 && k < ku && c < nc ? SpikeArith(B[k + (PetscCount)(col0 + c) * ku]) : SpikeArith(0.0);
          },
          [&](int r, int c, SpikeArith v) {
            if (r < T && c < nc) Y[((PetscInt64)(j - f0) * a.ncols + c) * T + r] = (PetscScalar)v;
          });
      s.template begin<true>(J - 1);
      s.clear(-1);
      __syncthreads();
      for (int j = J - 1; j >= b0; j--) {
        const unsigned m = s.template step<true>(
          j, 0, nt, nc, NULL, [&](int r, int c) { return j >= f0 && r < T && c < nc ? SpikeArith(Y[((PetscInt64)(j - f0) * a.ncols + c) * T + r]) : SpikeArith(0.0); },
          [&](int r, int c, SpikeArith v) {
            const PetscInt k = (PetscInt)j * T + r, tip = k - (n - kl);

            if (r < T && k < n && tip >= 0 && c < nc) a.Vb[q * (PetscCount)kl * ku + tip + (PetscCount)(col0 + c) * kl] = (PetscScalar)v;
          });

        fall.add(s.reduce(m));
      }
      if (!fall.fallen && fall.seen < most) {
        const int rows = PetscMin(t.QU, J - b0);
        unsigned  size = 0;
        double    scale, before;

        for (int e = threadIdx.x; e < rows * T; e += blockDim.x) {
          const SpikeArith *x = s.slot(b0 + e / T) + e % T;
          SpikeArith        v = 0.0;

          for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * x[c * LDX];
          Y[e] = (PetscScalar)v;
          size = PetscMax(size, SpikeMagnitude(v));
        }
        scale  = s.reduce(size);
        before = fall.recent(PetscMax(rows, 1));
        scale  = scale == 0.0 ? 0.0 : before / scale;
        s.clear(-1);
        __syncthreads();
        for (int e = threadIdx.x; e < rows * T; e += blockDim.x) s.slot(b0 + e / T)[e % T] = SpikeArith(Y[e]);
        s.template begin<true>(b0 - 1);
        for (int j = b0 - 1; j >= J - most && !fall.fallen; j--) fall.add(scale * s.reduce(s.template step<true>(j, 0, ntone, 1, NULL, zero, nothing)));
      }
    }
    if (!threadIdx.x) {
      a.rate[unit] = (PetscReal)fall.rate(T);
      atomicMax(a.window + 2 * p + right, fall.fallen ? PetscMin(fall.last, J) : J);
    }
  }
}

/* Columns of a block of threads and what goes with them */
struct SpikeTipsPlan {
  int    blocks, ncols, tiles, slots, threads, rows, most;
  size_t shared;
};

template <typename F, int MB, int NT>
static size_t SpikeTipsShared_Private(const SpikeTipsPlan *plan)
{
  typedef SpikeColumns<F, MB, NT> Columns;

  return Columns::STAGES * Columns::TILE * sizeof(F) + (size_t)plan->slots * plan->tiles * 8 * Columns::LDX * sizeof(SpikeArith);
}

static void SpikeTipsPlan_Private(const SpikeBand *s, const SpikeTiles *t, SpikeTipsPlan *plan)
{
  const int Q = PetscMax(t->QL, t->QU), K = PetscMax(PetscMax(t->kl, t->ku), 1), NT = t->T > 16 && Q > 2 ? 2 : 1;

  plan->slots = PetscMax(Q, 1);
  for (plan->blocks = (K + 63) / 64;; plan->blocks++) {
    plan->ncols   = (K + plan->blocks - 1) / plan->blocks;
    plan->tiles   = (plan->ncols + 1 + 7) / 8;
    plan->threads = (plan->tiles + NT - 1) / NT * 32;
    if (t->T <= 16) plan->shared = s->is_double ? SpikeTipsShared_Private<SpikeDouble, 1, 1>(plan) : SpikeTipsShared_Private<SpikeSingle, 1, 1>(plan);
    else if (NT == 1) plan->shared = s->is_double ? SpikeTipsShared_Private<SpikeDouble, 2, 1>(plan) : SpikeTipsShared_Private<SpikeSingle, 2, 1>(plan);
    else plan->shared = s->is_double ? SpikeTipsShared_Private<SpikeDouble, 2, 2>(plan) : SpikeTipsShared_Private<SpikeSingle, 2, 2>(plan);
    if (plan->shared <= 220 * 1024 || plan->ncols == 1) break;
  }
  plan->most = (int)PetscMin((SpikeMaxCorner(t->kl, t->ku) + t->T - 1) / t->T, t->steps);
  plan->rows = PetscMax(PetscMin(SPIKE_TIPS_ROWS * Q, plan->most), Q + 2);
}

/* Results on the device, read back as one piece: rate, corner, count; behind them the list */
static size_t SpikeTipsBytes_Private(const SpikeTiles *t, const SpikeTipsPlan *plan)
{
  return 2 * (size_t)(t->np + 1) * plan->blocks * sizeof(PetscReal) + ((size_t)t->np + 1) * sizeof(int);
}

/* Room for Y in as many blocks as run at once, or in an eighth of the band's memory or 32 MB; for the longest corner in one of them; and for the reduced systems */
void SpikeTipsWork_CUDA(const SpikeBand *s, const SpikeTiles *t, PetscInt64 *elements, size_t *scratch)
{
  const PetscInt64 band = t->groups() * (PetscInt64)t->steps * t->stepsize;
  PetscInt64       together, row;
  SpikeTipsPlan    plan;

  *elements = 0;
  *scratch  = 0;
  if (!s->coupled) return;
  SpikeTipsPlan_Private(s, t, &plan);
  row       = (PetscInt64)t->T * plan.ncols;
  together  = PetscMin(2 * (t->np + 1) * (PetscInt64)plan.blocks, 132 * PetscMin(PetscMin(32, 2048 / plan.threads), 220 * 1024 / (PetscInt64)plan.shared));
  *elements = PetscMin(together * plan.rows * row, PetscMax(band / 8, 4194304));
  *elements = PetscMax(PetscMax(*elements, PetscMax(plan.most, plan.rows) * row), SpikeReducedWork_CUDA(s));
  *scratch  = SpikeTipsBytes_Private(t, &plan) + 2 * (size_t)(t->np + 1) * plan.blocks * sizeof(int);
  *scratch  = PetscMax(*scratch, SpikeReducedScratch_CUDA(s));
}

/* Only notes where the falloff goes: the left tips are made from the factors, with the right ones */
PetscErrorCode SpikeLeftTips_CUDA(SpikeBand *s, SpikePivot *pivot, PetscReal falloff[])
{
  PetscFunctionBegin;
  ((SpikeCUDA *)s->data)->leftfalloff = falloff;
  pivot->nboost                       = 0;
  for (PetscInt q = 0; q <= s->np; q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < s->np; p++) s->wtop[p] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename F, int MB, int NT>
static PetscErrorCode SpikeTipsLaunch_Private(const SpikeCUDA *h, const SpikeTipsPlan *plan, SpikeTipsArgs *a, cudaStream_t stream)
{
  const PetscInt64 units = 2 * (PetscInt64)(a->t.np + 1) * a->blocks, row = (PetscInt64)a->t.T * a->ncols;

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(SpikeTips_Kernel<F, MB, NT>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan->shared));
  for (a->again = 0; a->again < 2; a->again++) {
    a->rows = a->again ? plan->most : plan->rows;
    SpikeTips_Kernel<F, MB, NT><<<(unsigned)PetscMin(units, h->spikesize / (a->rows * row)), plan->threads, plan->shared, stream>>>(*a);
    PetscCallCUDA(cudaGetLastError());
    if (plan->rows >= plan->most) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeRightTips_CUDA(SpikeBand *s, PetscReal falloff[])
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const SpikeTiles  *t      = &h->t;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt     np     = s->np;
  const int          Q      = PetscMax(t->QL, t->QU);
  SpikeTipsPlan      plan;
  SpikeTipsArgs      a = {};
  PetscReal         *rate, flops = 0.0;
  int               *corner, *window;
  size_t             bytes;

  PetscFunctionBegin;
  h->windowrows = 0.0;
  for (PetscInt q = 0; q <= np; q++) falloff[q] = PETSC_MIN_REAL;
  for (PetscInt p = 0; p < np; p++) s->wtop[p] = s->wbot[p] = 0;
  if (!s->coupled || !Q || !s->n) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeTipsPlan_Private(s, t, &plan);
  bytes    = SpikeTipsBytes_Private(t, &plan);
  a.t      = *t;
  a.band   = s->band;
  a.B      = s->dB;
  a.C      = s->dC;
  a.Vb     = s->dVb;
  a.Wt     = s->dWt;
  a.work   = h->spike;
  a.eps    = PetscMax(s->is_double ? (PetscReal)2.2e-16 : (PetscReal)6.0e-8, PETSC_MACHINE_EPSILON);
  a.tol    = PetscMax(s->window, a.eps) / 4;
  a.blocks = plan.blocks;
  a.ncols  = plan.ncols;
  a.tiles  = plan.tiles;
  a.slots  = plan.slots;
  a.most   = plan.most;
  a.window = h->window;
  a.rate   = (PetscReal *)h->scratch;
  a.corner = (int *)(a.rate + 2 * (np + 1) * plan.blocks);
  a.count  = a.corner + np;
  a.list   = a.count + 1;
  PetscCallCUDA(cudaMemsetAsync(h->window, 0, 2 * (size_t)np * sizeof(int), stream));
  PetscCallCUDA(cudaMemsetAsync(a.corner, 0, ((size_t)np + 1) * sizeof(int), stream));
  if (t->T <= 16) {
    if (s->is_double) PetscCall((SpikeTipsLaunch_Private<SpikeDouble, 1, 1>(h, &plan, &a, stream)));
    else PetscCall((SpikeTipsLaunch_Private<SpikeSingle, 1, 1>(h, &plan, &a, stream)));
  } else if (Q <= 2) {
    if (s->is_double) PetscCall((SpikeTipsLaunch_Private<SpikeDouble, 2, 1>(h, &plan, &a, stream)));
    else PetscCall((SpikeTipsLaunch_Private<SpikeSingle, 2, 1>(h, &plan, &a, stream)));
  } else {
    if (s->is_double) PetscCall((SpikeTipsLaunch_Private<SpikeDouble, 2, 2>(h, &plan, &a, stream)));
    else PetscCall((SpikeTipsLaunch_Private<SpikeSingle, 2, 2>(h, &plan, &a, stream)));
  }
  rate   = (PetscReal *)h->hostscratch;
  corner = (int *)(rate + 2 * (np + 1) * plan.blocks);
  window = corner + np + 1;
  PetscCallCUDA(cudaMemcpyAsync(rate, a.rate, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaMemcpyAsync(window, h->window, 2 * (size_t)np * sizeof(int), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogGpuToCpuScalar((PetscLogDouble)(bytes + 2 * (size_t)np * sizeof(int))));
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt n = s->start[p + 1] - s->start[p], J = (n + t->T - 1) / t->T;

    s->wtop[p] = PetscMin(n, (PetscInt)window[2 * p] * t->T);
    s->wbot[p] = n - PetscMin(n, (J - window[2 * p + 1]) * t->T);
    h->windowrows += PetscMin(n, s->wtop[p] + s->wbot[p]);
    flops += (4.0 * t->kl + 4.0 * t->ku) * t->kl * corner[p] * t->T + 4.0 * t->kl * t->ku * t->ku;
  }
  for (PetscInt q = 0; q <= np; q++) {
    for (int b = 0; b < plan.blocks; b++) {
      if (h->leftfalloff) h->leftfalloff[q] = PetscMax(h->leftfalloff[q], rate[q * plan.blocks + b]);
      falloff[q] = PetscMax(falloff[q], rate[(np + 1 + q) * plan.blocks + b]);
    }
  }
  PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}
