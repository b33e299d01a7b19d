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

template <typename S>
__device__ static inline void SpikePairPut(S *p, SpikeArith a, SpikeArith b)
{
#if !defined(PETSC_USE_COMPLEX)
  if constexpr (sizeof(S) == sizeof(double)) *(double2 *)p = make_double2(a, b);
  else *(float2 *)p = make_float2((float)a, (float)b);
#else
  p[0] = S(a);
  p[1] = S(b);
#endif
}

typedef enum {
  SPIKE_PART_ALL,
  SPIKE_PART_ON_ABOVE, /* columns c >= r: the lower corner                  */
  SPIKE_PART_ON_BELOW, /* c <= r: the upper corner                          */
  SPIKE_PART_BELOW,    /* c < r: the triangle that the lower corner carries */
  SPIKE_PART_ABOVE     /* c > r                                             */
} SpikePart;

template <int PART>
__device__ static constexpr bool SpikeHasPart(int r, int c)
{
  return PART == SPIKE_PART_ALL || (PART == SPIKE_PART_ON_ABOVE ? c >= r : PART == SPIKE_PART_ON_BELOW ? c <= r : PART == SPIKE_PART_BELOW ? c < r : c > r);
}

/* Columns in memory: row r of a tile row is their row k0 + r, if they have it */
struct SpikePanel {
  PetscScalar *a; /* NULL: none */
  int          ld, k0, rows;
};

/*
  The columns of one spike. MB: blocks of 16 rows of a tile; NT: blocks of 8 columns of a warp. Tiles and X are column-major, the rows and columns from T on are zero.
  In the notation of lu.cuh a lane has rows 2g and 2g + 1 in place of g and g + 8, and columns of a tile 2q and 2q + 1 in place of q and q + 4:
  they are neighbours in memory. Leading dimensions: no two lanes that load together use the same bank.
*/
template <typename F, int MB, int NT, int STAGES>
struct SpikeColumns {
  static constexpr int ROWS = 16 * MB, LD = ROWS + (sizeof(F) >= 8 ? 16 / (int)sizeof(F) : 4), LDX = ROWS + 8, TILE = ROWS * LD;

  const SpikeTipsArgs &a;
  F                   *stage;
  SpikeArith          *X;
  unsigned            *norm; /* [2][SPIKE_TIPS_WARPS] */
  const F             *band, *diag;
  int                  T, lane, warp, g, q4, parity;
  int                  piece, c0, r0, dc, dr;   /* bytes that are copied at once; where this thread begins in a tile, and goes on */
  int                  fj, fq, fbuffer, buffer; /* the next tile to load and where, where the next one to use is */

  __device__ SpikeColumns(const SpikeTipsArgs &args, unsigned char *shared, unsigned *reduce) : a(args), stage((F *)shared), X((SpikeArith *)(stage + STAGES * TILE)), norm(reduce), T(args.t.T), lane(threadIdx.x & 31), warp(threadIdx.x >> 5), g(lane >> 2), q4(lane & 3), parity(0)
  {
    const int bytes = T * (int)sizeof(F);
    int       E, pieces;

    piece  = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4;
    E      = PetscMax(1, piece / (int)sizeof(F));
    pieces = T / E;
    c0     = threadIdx.x / pieces;
    r0     = ((int)threadIdx.x - c0 * pieces) * E;
    dc     = blockDim.x / pieces;
    dr     = (blockDim.x - dc * pieces) * E;
    for (int e = threadIdx.x; e < STAGES * TILE; e += blockDim.x) stage[e] = F(0.0);
  }
  __device__ SpikeArith *slot(int j) const { return X + (j % a.slots) * a.tiles * 8 * LDX; }
  __device__ SpikeArith *mine(int j) const { return slot(j) + warp * NT * 8 * LDX; }

  __device__ void fetch(bool back)
  {
    const int Q = back ? a.t.QU : a.t.QL;

    if (Q && fj >= 0 && fj < a.t.steps) {
      const F  *from   = band + fj * a.t.stepsize + a.t.tile((back ? a.t.QL : 0) + fq - 1);
      F        *to     = stage + fbuffer * TILE;
      const int column = a.t.G * T;

      for (int c = c0, r = r0; c < T;) {
        F       *t = to + c * LD + r;
        const F *f = from + c * column + r;

        if (piece == 16) SpikeCopyAsync<16>(t, f);
        else if (piece == 8) SpikeCopyAsync<8>(t, f);
        else SpikeCopyAsync<4>(t, f);
        c += dc;
        r += dr;
        if (r >= T) {
          r -= T;
          c++;
        }
      }
    }
    SpikeCopyCommit();
    if (++fbuffer == STAGES) fbuffer = 0;
    if (++fq > Q) {
      fq = 1;
      fj += back ? -1 : 1;
    }
  }
  /* Tiles from row j on, in the order in which step() asks for them */
  __device__ void begin(bool back, int j)
  {
    SpikeCopyWait<0>();
    __syncthreads();
    fj      = j;
    fq      = 1;
    fbuffer = buffer = 0;
#pragma unroll 1
    for (int i = 0; i < STAGES - 1; i++) fetch(back);
  }
  __device__ const F *next(bool back)
  {
    const F *tile = stage + buffer * TILE;

    SpikeCopyWait<STAGES - 2>();
    __syncthreads(); /* the tile is there for all, and all are done with the one before */
    fetch(back);
    if (++buffer == STAGES) buffer = 0;
    return tile;
  }
  /* acc += a part of the tile times x */
  template <int PART>
  __device__ void product(const F *tile, const SpikeArith *x, int nt, SpikeArith acc[MB][NT][4]) const
  {
    tile += 2 * q4 * LD + 2 * g;
    x += g * LDX + 2 * q4;
#pragma unroll
    for (int k = 0; k < ROWS; k += 8) {
      if (k < T) {
        SpikeArith b[NT][2];

#pragma unroll
        for (int n = 0; n < NT; n++) {
          if (n < nt) SpikePair(x + 8 * n * LDX + k, b[n][0], b[n][1]);
        }
#pragma unroll
        for (int m = 0; m < MB; m++) {
          const F   *p = tile + k * LD + 16 * m;
          SpikeArith e[4];

          if (!SpikeHasPart<PART>(16 * m + 15, k) && !SpikeHasPart<PART>(16 * m, k + 7)) continue; /* a block of zeros */
          SpikePair(p, e[0], e[1]);
          SpikePair(p + LD, e[2], e[3]);
          if (!SpikeHasPart<PART>(16 * m + 15, k) || !SpikeHasPart<PART>(16 * m, k + 7)) {
#pragma unroll
            for (int h = 0; h < 4; h++)
              if (!SpikeHasPart<PART>(16 * m + 2 * g + (h & 1), k + 2 * q4 + (h >> 1))) e[h] = 0.0;
          }
#pragma unroll
          for (int n = 0; n < NT; n++) {
            if (n < nt) SpikeMMA(acc[m][n], e, b[n]);
          }
        }
      }
    }
  }
  /* The columns of this warp in shared memory or in Y, all rows of the padded tile */
  template <typename S>
  __device__ void put(S *x, int ld, int nt, const SpikeArith acc[MB][NT][4]) const
  {
    x += 2 * q4 * ld + 2 * g;
#pragma unroll
    for (int n = 0; n < NT; n++) {
      if (n < nt) {
#pragma unroll
        for (int m = 0; m < MB; m++) {
#pragma unroll
          for (int h = 0; h < 2; h++) SpikePairPut(x + (8 * n + h) * ld + 16 * m, acc[m][n][h], acc[m][n][2 + h]);
        }
      }
    }
  }
  /*
    Tile row j of Y (forward) or X (back) in the slot of j, given the rows before from the row `from` on (back: all; what lies behind the end is in the slots). The
    right-hand side is `rhs`, or back what the first ny blocks of columns have in y; forward y gets the result, and so does `result`. Warps without
    columns (nt = 0) only help to load. Returns the lane's largest result in columns left of `real`, on the scale of W or V, and in signs that of the column
    `real`. Loads have no conditions, which would make each wait for the one before.
  */
  template <bool BACK>
  __device__ unsigned step(int j, int from, int nt, int ny, int real, bool measure, PetscScalar *y, const SpikePanel &rhs, const SpikePanel &result, unsigned *signs)
  {
    const int   Q = BACK ? a.t.QU : a.t.QL;
    SpikeArith  b[MB][NT][4], acc[MB][NT][4], d[MB][2];
    SpikeArith *x = mine(j);
    unsigned    largest = 0;
    const F    *tile = NULL, *dj = diag + j * a.t.stepsize;

#pragma unroll
    for (int m = 0; m < MB; m++) {
#pragma unroll
      for (int h = 0; h < 2; h++) d[m][h] = SpikeArith(dj[PetscMin(16 * m + 2 * g + h, T - 1)]);
#pragma unroll
      for (int n = 0; n < NT; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          acc[m][n][e] = 0.0;
          b[m][n][e]   = 0.0;
        }
      }
    }
    if (BACK && ny) {
      const PetscScalar *from = y + (warp * NT * 8 + 2 * q4) * ROWS + 2 * g;

#pragma unroll
      for (int n = 0; n < NT; n++) {
        if (n < ny) {
#pragma unroll
          for (int m = 0; m < MB; m++) {
#pragma unroll
            for (int h = 0; h < 2; h++) SpikePair(from + (8 * n + h) * ROWS + 16 * m, b[m][n][h], b[m][n][2 + h]);
          }
        }
      }
    }
    if (!BACK && rhs.a && nt) {
#pragma unroll
      for (int n = 0; n < NT; n++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
          const int          c      = (warp * NT + n) * 8 + 2 * q4 + h;
          const PetscScalar *column = rhs.a + PetscMin(c, real - 1) * rhs.ld;

#pragma unroll
          for (int m = 0; m < MB; m++) {
#pragma unroll
            for (int i = 0; i < 2; i++) {
              const int r = 16 * m + 2 * g + i, k = rhs.k0 + r;

              b[m][n][2 * i + h] = SpikeArith(column[PetscMax(0, PetscMin(k, rhs.rows - 1))]);
              if (c >= real || r >= T || k < 0 || k >= rhs.rows) b[m][n][2 * i + h] = 0.0;
            }
          }
        }
      }
    }
#pragma unroll 1
    for (int q = 1; q <= Q; q++) {
      const int neighbour = BACK ? j + q : j - q;

      tile = next(BACK);
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
          for (int e = 0; e < 4; e++) acc[m][n][e] = b[m][n][e] - acc[m][n][e];
        }
      }
      __syncwarp();
      if (Q) {
        put(x, LDX, nt, acc);
        __syncwarp();
      }
      if (BACK) {
#pragma unroll
        for (int m = 0; m < MB; m++) {
#pragma unroll
          for (int n = 0; n < NT; n++) {
#pragma unroll
            for (int e = 0; e < 4; e++) acc[m][n][e] = acc[m][n][e] * d[m][e >> 1];
          }
        }
      }
      if (Q) product<BACK ? SPIKE_PART_ABOVE : SPIKE_PART_BELOW>(tile, x, nt, acc);
      __syncwarp();
      put(x, LDX, nt, acc);
      if (!BACK && y) put(y + warp * NT * 8 * ROWS, ROWS, nt, acc);
      if (measure) {
#pragma unroll
        for (int n = 0; n < NT; n++) {
#pragma unroll
          for (int h = 0; h < 2; h++) {
            const int c    = (warp * NT + n) * 8 + 2 * q4 + h;
            unsigned  most = 0;

#pragma unroll
            for (int m = 0; m < MB; m++) {
#pragma unroll
              for (int i = 0; i < 2; i++) most = PetscMax(most, SpikeMagnitude(BACK ? acc[m][n][2 * i + h] : acc[m][n][2 * i + h] * d[m][i]));
            }
            if (n < nt && c < real) largest = PetscMax(largest, most);
            else if (n < nt && c == real) *signs = PetscMax(*signs, most);
          }
        }
      }
      if (BACK && result.a) {
#pragma unroll
        for (int n = 0; n < NT; n++) {
#pragma unroll
          for (int e = 0; e < 4 * MB; e++) {
            const int c = (warp * NT + n) * 8 + 2 * q4 + (e & 1), r = 16 * (e / 4) + 2 * g + (e / 2 & 1), k = result.k0 + r;

            if (n < nt && c < real && r < T && k >= 0 && k < result.rows) result.a[c * result.ld + k] = (PetscScalar)acc[e / 4][n][e & 3];
          }
        }
      }
      __syncwarp();
    }
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
  /* All slots, between barriers; signs: the column that gets some, or -1 */
  __device__ void clear(int signs) const
  {
    const int columns = a.tiles * 8;

    for (int e = threadIdx.x; e < a.slots * columns * LDX; e += blockDim.x) X[e] = 0.0;
    if (signs < 0) return;
    __syncthreads();
    for (int e = threadIdx.x; e < a.slots * ROWS; e += blockDim.x)
      if (e % ROWS < T) X[(e / ROWS * columns + signs) * LDX + e % ROWS] = SpikeSign(e);
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

typedef enum {
  SPIKE_FORWARD,
  SPIKE_BACKWARD,
  SPIKE_FOLLOW,
  SPIKE_DONE
} SpikePhase;

template <typename F, int MB, int NT, int STAGES>
__global__ void __launch_bounds__(MB == 1 ? 32 : 32 * SPIKE_TIPS_WARPS, MB == 1 ? 12 : 1) SpikeTips_Kernel(const __grid_constant__ SpikeTipsArgs a)
{
  typedef SpikeColumns<F, MB, NT, STAGES> Columns;
  constexpr int                   LDX = Columns::LDX;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ unsigned                           norms[2 * SPIKE_TIPS_WARPS];
  __shared__ double                             history[32];
  const SpikeTiles                             &t = a.t;
  const int                                     T = t.T, kl = t.kl, ku = t.ku, Q = PetscMax(t.QL, t.QU), half = (int)(t.np + 1) * a.blocks, units = a.again ? *a.count : 2 * half;
  Columns                                       s(a, shared, norms);
  constexpr int                                 ROWS = Columns::ROWS;
  const int                                     size = a.tiles * 8 * ROWS; /* of a tile row of Y: columns of ROWS numbers */
  const double                                  root = sqrt((double)a.eps), small = (8.0 + 0.25 * PetscMax(kl, ku)) * (double)a.eps;
  PetscScalar                                  *Y    = a.work + (PetscInt64)blockIdx.x * a.rows * size;

  for (int i = blockIdx.x; i < units; i += gridDim.x) {
    const int      unit  = a.again ? a.list[i] : i;
    const bool     right = unit >= half;
    const PetscInt q = (unit - (right ? half : 0)) / a.blocks, p = right ? q - 1 : q;
    const int      h = right ? ku : kl, col0 = (unit % a.blocks) * a.ncols, nc = PetscMin(a.ncols, h - col0), first = s.warp * NT * 8;

    if (!threadIdx.x && !a.again) a.rate[unit] = PETSC_MIN_REAL;
    if (!t.active[q] || p < 0 || p >= t.np || nc <= 0) continue;
    const int    n = (int)(t.start[p + 1] - t.start[p]), J = (n + T - 1) / T, most = PetscMin(J, a.most);
    SpikeFall    fall(history, right ? PetscMin(Q + (n % T ? 1 : 0), J) : PetscMin(Q, J), (double)a.tol);
    const int    f0   = right ? (n - ku) / T : 0;       /* rows of Y: f0 <= j < f1 */
    const int    last = right ? J - fall.tip : 0;       /* of the way back         */
    PetscScalar *A    = (PetscScalar *)(right ? a.B : a.C) + q * (PetscCount)h * h + (PetscCount)col0 * h, *tip = (right ? a.Vb : a.Wt) + q * (PetscCount)kl * ku + (PetscCount)col0 * (right ? kl : ku);
    int          f1 = right ? J : 0, j = f0, phase = SPIKE_FORWARD, below = 0, stop = right ? J : PetscMin(a.rows, most);
    double       target = -1.0, scale = 0.0, reference = 0.0;

    s.band = (const F *)a.band + t.group(p) + (p % t.G) * T;
    s.diag = s.band + t.tile(t.QL + t.QU);
    while (phase != SPIKE_DONE) {
      const bool back  = phase == SPIKE_BACKWARD || (phase == SPIKE_FOLLOW && right);
      const int  cols  = phase == SPIKE_FOLLOW ? 1 : phase == SPIKE_BACKWARD && !right ? nc + 1 : nc, nt = PetscMax(0, PetscMin(NT, (cols - first + 7) / 8)), real = phase == SPIKE_FOLLOW ? 1 : nc;
      unsigned   top = 0, signs = 0;
      double     wt, ret, far;

      /* X before the first row */
      __syncthreads();
      s.clear(phase == SPIKE_BACKWARD && !right ? nc : -1);
      __syncthreads();
      if (phase == SPIKE_FORWARD) {
        for (int k = 1; k <= PetscMin(t.QL, j - f0); k++) {
          for (int e = threadIdx.x; e < T * nc; e += blockDim.x) s.slot(j - k)[e / T * LDX + e % T] = SpikeArith(Y[(j - k) * size + e / T * ROWS + e % T]);
        }
      } else if (phase == SPIKE_FOLLOW && !right) {
        for (int k = 1; k <= PetscMin(t.QL, j); k++) {
          for (int r = threadIdx.x; r < T; r += blockDim.x) {
            SpikeArith v = 0.0;

            for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * SpikeArith(Y[(j - k) * size + c * ROWS + r]);
            s.slot(j - k)[r] = v;
          }
        }
      } else if (phase == SPIKE_FOLLOW) {
        for (int k = 1; k <= PetscMin(t.QU, J - 1 - j); k++) {
          for (int r = threadIdx.x; r < T; r += blockDim.x) s.slot(j + k)[r] = SpikeArith(Y[(k - 1) * T + r]);
        }
      }
      s.begin(back, j);
      for (bool go = true; go;) {
        PetscScalar *y = phase == SPIKE_FOLLOW ? NULL : Y + (j - f0) * size;
        SpikePanel   rhs = {NULL, h, right ? j * T - (n - ku) : j * T, h}, result = {NULL, right ? kl : ku, right ? j * T - (n - kl) : j * T, right ? kl : ku};
        unsigned     m;

        if (phase == SPIKE_FORWARD && (right || j < t.QL)) rhs.a = A;
        if (phase == SPIKE_BACKWARD && (right || j < t.QU) && kl && ku) result.a = tip;
        if (back) m = s.template step<true>(j, f0, nt, phase == SPIKE_BACKWARD && j >= f0 ? PetscMax(0, PetscMin(NT, (nc - first + 7) / 8)) : 0, real, right || j < PetscMax(t.QU, 1), y, rhs, result, &signs);
        else m = s.template step<false>(j, f0, nt, 0, real, !right, y, rhs, result, &signs);
        if (phase == SPIKE_FORWARD) {
          if (!right) {
            const double norm = s.reduce(m);

            fall.add(norm);
            below = fall.seen > fall.tip && norm <= (target < 0.0 ? root * fall.head : target) ? below + 1 : 0;
          }
          j++;
          go = j < stop && !(!right && j >= PetscMin(2 * fall.tip, most) && below >= PetscMax(t.QL, 1));
        } else if (phase == SPIKE_BACKWARD) {
          if (right) fall.add(s.reduce(m));
          else if (j < t.QU) top = PetscMax(top, m);
          j--;
          go = j >= last;
        } else {
          const double norm = s.reduce(m);

          if (right) fall.add(scale * norm);
          else if (j == f1 - 1) scale = norm == 0.0 ? 0.0 : reference / norm; /* the last row of Y once more, which shows the size of the combination */
          else fall.add(scale * norm);
          j += right ? -1 : 1;
          go = !fall.fallen && (right ? j >= J - most : j < most);
        }
      }
      if (phase == SPIKE_FORWARD) {
        f1    = j;
        j     = f1 - 1;
        phase = SPIKE_BACKWARD;
      } else if (phase == SPIKE_FOLLOW) phase = SPIKE_DONE;
      else if (right) {
        const int rows    = PetscMin(t.QU, J - last);
        unsigned  largest = 0;

        phase = fall.fallen || fall.seen >= most ? SPIKE_DONE : SPIKE_FOLLOW;
        if (phase == SPIKE_FOLLOW) { /* a combination of the columns, and its size */
          for (int e = threadIdx.x; e < rows * T; e += blockDim.x) {
            const SpikeArith *x = s.slot(last + e / T) + e % T;
            SpikeArith        v = 0.0;

            for (int c = 0; c < nc; c++) v = v + SpikeSign(c) * x[c * LDX];
            Y[e]    = (PetscScalar)v;
            largest = PetscMax(largest, SpikeMagnitude(v));
          }
          scale = s.reduce(largest);
          scale = scale == 0.0 ? 0.0 : fall.recent(PetscMax(rows, 1)) / scale;
        }
      } else {
        wt  = s.reduce(top);
        ret = s.reduce(signs);
        far = fall.recent(PetscMax(t.QL, 1));
        if (f1 == most || ret * far <= small * wt) {
          phase = fall.fallen || f1 == most ? SPIKE_DONE : SPIKE_FOLLOW;
          if (!threadIdx.x) atomicMax(a.corner + p, f1);
          reference = fall.recent(1);
          j         = f1 - 1;
        } else if (f1 >= a.rows) { /* the other launch has more room */
          phase = SPIKE_DONE;
          below = -1;
          if (!threadIdx.x) a.list[atomicAdd(a.count, 1)] = unit;
        } else {
          target = 0.5 * small * wt / ret;
          below  = 0;
          stop   = PetscMin(PetscMin(2 * f1, a.rows), most);
          j      = f1;
          phase  = SPIKE_FORWARD;
        }
      }
    }
    if (!threadIdx.x && below >= 0) {
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

/* The kernel for a shape: call(blocks of rows, blocks of columns a warp, tiles in shared memory) */
#define SpikeTipsDispatch(plan, T, call) \
  do { \
    if ((T) <= 16) { \
      constexpr int MB = 1, NT = 3, STAGES = 3; \
      call; \
    } else if ((plan)->slots <= 2) { \
      constexpr int MB = 2, NT = 1, STAGES = 2; \
      call; \
    } else if ((plan)->ncols <= 64) { \
      constexpr int MB = 2, NT = 1, STAGES = 4; \
      call; \
    } else { \
      constexpr int MB = 2, NT = 2, STAGES = 4; \
      call; \
    } \
  } while (0)

template <typename F, int MB, int NT, int STAGES>
static void SpikeTipsShape_Private(SpikeTipsPlan *plan)
{
  typedef SpikeColumns<F, MB, NT, STAGES> Columns;

  plan->threads = (plan->tiles + NT - 1) / NT * 32;
  plan->shared  = STAGES * Columns::TILE * sizeof(F) + (size_t)plan->slots * plan->tiles * 8 * Columns::LDX * sizeof(SpikeArith);
}

/* As few blocks of columns as fit */
static void SpikeTipsPlan_Private(const SpikeBand *s, const SpikeTiles *t, SpikeTipsPlan *plan)
{
  const int Q = PetscMax(t->QL, t->QU), K = PetscMax(PetscMax(t->kl, t->ku), 1);

  plan->slots = PetscMax(Q, 1);
  for (plan->blocks = (K + 63) / 64;; plan->blocks++) {
    plan->ncols = (K + plan->blocks - 1) / plan->blocks;
    plan->tiles = (plan->ncols + 1 + 7) / 8;
    if (s->is_double) SpikeTipsDispatch(plan, t->T, (SpikeTipsShape_Private<SpikeDouble, MB, NT, STAGES>(plan)));
    else SpikeTipsDispatch(plan, t->T, (SpikeTipsShape_Private<SpikeSingle, MB, NT, STAGES>(plan)));
    if (plan->shared <= 226 * 1024 || plan->ncols == 1) break;
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
  row       = (t->T <= 16 ? 16 : 32) * (PetscInt64)plan.tiles * 8;
  together  = PetscMin(2 * (t->np + 1) * (PetscInt64)plan.blocks, 132 * PetscMax(1, PetscMin(PetscMin(32, 2048 / plan.threads), 226 * 1024 / (PetscInt64)plan.shared)));
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

template <typename F, int MB, int NT, int STAGES>
static PetscErrorCode SpikeTipsLaunch_Private(const SpikeCUDA *h, const SpikeTipsPlan *plan, SpikeTipsArgs *a, cudaStream_t stream)
{
  const PetscInt64 units = 2 * (PetscInt64)(a->t.np + 1) * a->blocks, row = 16 * MB * (PetscInt64)a->tiles * 8;

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(SpikeTips_Kernel<F, MB, NT, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan->shared));
  for (a->again = 0; a->again < 2; a->again++) {
    a->rows = a->again ? plan->most : plan->rows;
    SpikeTips_Kernel<F, MB, NT, STAGES><<<(unsigned)PetscMin(units, h->spikesize / (a->rows * row)), plan->threads, plan->shared, stream>>>(*a);
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
  if (s->is_double) SpikeTipsDispatch(&plan, t->T, PetscCall((SpikeTipsLaunch_Private<SpikeDouble, MB, NT, STAGES>(h, &plan, &a, stream))));
  else SpikeTipsDispatch(&plan, t->T, PetscCall((SpikeTipsLaunch_Private<SpikeSingle, MB, NT, STAGES>(h, &plan, &a, stream))));
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
