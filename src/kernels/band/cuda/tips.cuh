/* SPDX-License-Identifier: BSD-2-Clause */
/* tips.cuh: the columns of one spike, swept by a thread block */
#pragma once

#include "factor.cuh"
#include "kernels/common/cuda/warp.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

#define SPIKE_TIPS_WARPS 9 /* of a thread block, at most */

typedef struct {
  SpikeTiles         t;
  const void        *band;
  const PetscScalar *B, *C;
  PetscScalar       *Vb, *Wt, *work;
  PetscReal          eps, tol;
  int                blocks, ncols; /* blocks of columns of a spike, and columns of a block                          */
  int                tiles;         /* of 8 columns, with that of signs where there is one                           */
  int                slots;         /* tile rows of X in shared memory                                               */
  int                rows;          /* tile rows of Y that a block has room for, one of the first `big`              */
  int                big;           /* thread blocks; those after have room for right spikes only                   */
  int                most;          /* tile rows that a spike is followed over                                       */
  int                again;         /* the second launch                                                             */
  int               *window;        /* [2 np]                                                                        */
  int               *count, *list;  /* of the spikes for the second launch                                           */
  int               *ticket;        /* [2] where corners are known: the next left and right unit of the first launch */
  PetscReal          small;         /* what rows after a corner may add to a left tip                               */
  int               *corner;        /* [np + 1] tile rows of the corners, where tips_reach.cuh finds them, else NULL */
  PetscReal         *rate;          /* [2 (np + 1) rates] of W, then of V                                            */
  int                rates;         /* at least `blocks`                                                             */
} SpikeTipsArgs;

/* Columns of a thread block and what goes with them */
struct SpikeTipsPlan {
  int    blocks, ncols, tiles, slots, threads, rows, most, pairs; /* pairs: 2 tiles a warp, else 1 */
  size_t shared;
};

/* tips.cu: as few blocks of columns as fit */
PETSC_INTERN void SpikeTipsPlan_CUDA(const SpikeBand *, const SpikeTiles *, const SpikeDevice *, SpikeTipsPlan *);

/* blocks of rows of a tile, of columns of a warp, tiles in shared memory */
#define SPIKE_TIPS_SHAPE(C8) 2, C8, 4

typedef void (*SpikeTipsKernel)(const SpikeTipsArgs);

/* tips_small.cu: both tips of bands of one tile on a side, T <= 16 */
PETSC_INTERN PetscErrorCode SpikeTipsSmall_CUDA(PetscSpikePrecision, const SpikeTipsArgs *, cudaStream_t);

/*
  tips_double.cu, tips_single.cu, tips_half.cu, T > 16: of bands of few tiles on a side both tips, of others the kernel,
  with one block of 8 columns a warp or two
*/
template <typename F>
PetscErrorCode SpikeTipsNarrow(const SpikeTipsArgs &, cudaStream_t);
template <typename F>
SpikeTipsKernel SpikeTipsKernelOf(bool pairs);

/* tips_reach.cu: the corners before the tips, or the reach of all spikes beside and after */
PETSC_INTERN PetscErrorCode SpikeReach_CUDA(const SpikeTipsArgs *, bool atcorner, cudaStream_t);

/* Random signs against an alternating or a constant vector, which a spike may have as its null vector */
__device__ static inline SpikeArith SpikeSign(unsigned long long i)
{
  i = (i + 1) * 0x9E3779B97F4A7C15ULL;
  i = (i ^ (i >> 30)) * 0xBF58476D1CE4E5B9ULL;
  i = (i ^ (i >> 27)) * 0x94D049BB133111EBULL;
  return i >> 63 ? 1.0 : -1.0;
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

/* Logarithm of the factor by which a spike falls a row, from its largest at both ends of a distance */
__device__ static inline double SpikeRate(double near, double far, double rows)
{
  return near == 0.0 || far == 0.0 ? (double)PETSC_MIN_REAL : PetscMin(log(far / near) / rows, 0.0);
}

/*
  How far a spike has fallen, row after row from its end; the same in all threads but for the history, which one of them
  keeps
*/
struct SpikeFall {
  double  head, tol;
  double *history; /* [32] */
  bool    keeper;
  int     tip, last, seen, fallen;

  __device__ SpikeFall(double *h, bool keeper_, int tip_, double tol_) :
    head(0.0), tol(tol_), history(h), keeper(keeper_), tip(tip_), last(0), seen(0), fallen(0)
  {
  }
  __device__ void add(double m)
  {
    if (keeper) history[seen & 31] = m;
    if (seen < tip) head = PetscMax(head, m);
    seen++;
    if (seen <= tip || !(m <= tol * head)) last = seen;
    if (seen - last >= tip) fallen = 1;
  }
  /* largest of the last rows, in the others after a barrier */
  __device__ double recent(int rows) const
  {
    double m = 0.0;

    for (int i = 1; i <= PetscMin(rows, seen); i++) m = history[(seen - i) & 31] <= m ? m : history[(seen - i) & 31];
    return m;
  }
  __device__ double rate(int T) const { return SpikeRate(head, recent(tip), PetscMax(seen - tip, 1) * (double)T); }
};

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
  return PART == SPIKE_PART_ALL || (PART == SPIKE_PART_ON_ABOVE   ? c >= r
                                    : PART == SPIKE_PART_ON_BELOW ? c <= r
                                    : PART == SPIKE_PART_BELOW    ? c < r
                                                                  : c > r);
}

/* Columns in memory: row r of a tile row is their row k0 + r, if they have it */
struct SpikePanel {
  PetscScalar *a; /* NULL: none */
  int          ld, k0, rows;
};

/*
  The columns of one spike. MB: blocks of 16 rows of a tile; C8: blocks of 8 columns of a warp. Tiles and X are
  column-major, the rows and columns from T on are zero. In the notation of factor.cuh a lane has rows 2g and 2g + 1 in
  place of g and g + 8, and columns of a tile 2q and 2q + 1 in place of q and q + 4:
  they are neighbours in memory. Leading dimensions: no two lanes that load together use the same bank.
*/
template <typename F, int MB, int C8, int NBUFFERS>
struct SpikeRhs {
  static constexpr int ROWROOM = 16 * MB,
                       TILELD  = ROWROOM + (sizeof(F) >= 8   ? 16 / (int)sizeof(F)
                                            : sizeof(F) == 2 ? 8
                                                             : 4),
                       LDX = ROWROOM + 8, TILESIZE = ROWROOM * TILELD, BUFFERS = NBUFFERS;

  const SpikeTipsArgs &a;
  F                   *buffers;
  SpikeArith          *X;
  unsigned            *norm; /* [2][SPIKE_TIPS_WARPS] */
  const F             *band, *diag;
  int                  T, lane, warp, g, q4, parity;
  int                  below, above; /* tiles with entries, SpikeTiles.own */
  /* bytes that are copied at once; where this thread begins in a tile, and goes on */
  int piece, c0, r0, dc, dr;
  int fj, fq, fbuffer, buffer; /* the next tile to load and where, where the next one to use is */

  __device__ SpikeRhs(const SpikeTipsArgs &args, unsigned char *shared, unsigned *reduce) :
    a(args),
    buffers((F *)shared),
    X((SpikeArith *)(buffers + NBUFFERS * TILESIZE)),
    norm(reduce),
    T(args.t.T),
    lane(threadIdx.x & 31),
    warp(threadIdx.x >> 5),
    g(lane >> 2),
    q4(lane & 3),
    parity(0)
  {
    const int bytes = T * (int)sizeof(F);
    int       E, pieces;

    piece  = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 2;
    E      = PetscMax(1, piece / (int)sizeof(F));
    pieces = T / E;
    c0     = threadIdx.x / pieces;
    r0     = ((int)threadIdx.x - c0 * pieces) * E;
    dc     = blockDim.x / pieces;
    dr     = (blockDim.x - dc * pieces) * E;
    for (int e = threadIdx.x; e < NBUFFERS * TILESIZE; e += blockDim.x) buffers[e] = F(0.0);
  }
  __device__ SpikeArith *slot(int j) const { return X + (j % a.slots) * a.tiles * 8 * LDX; }
  __device__ SpikeArith *mine(int j) const { return slot(j) + warp * C8 * 8 * LDX; }

  __device__ void fetch(bool back)
  {
    const int Q = back ? a.t.QU : a.t.QL;

    if (Q && fj >= 0 && fj < a.t.tilerows) {
      const F  *from   = band + fj * a.t.rowsize + a.t.tile((back ? a.t.QL : 0) + fq - 1);
      F        *to     = buffers + fbuffer * TILESIZE;
      const int column = a.t.G * T;

      if (piece == 16 && !dr) {
        F       *t = to + c0 * TILELD + r0;
        const F *f = from + c0 * column + r0;

        for (int c = c0; c < T; c += dc) {
          SpikeCopyAsync<16>(t, f);
          t += dc * TILELD;
          f += dc * column;
        }
      } else {
        for (int c = c0, r = r0; c < T;) {
          F       *t = to + c * TILELD + r;
          const F *f = from + c * column + r;

          if (piece == 16) SpikeCopyAsync<16>(t, f);
          else if (piece == 8) SpikeCopyAsync<8>(t, f);
          else if (piece == 4 || sizeof(F) > 2) SpikeCopyAsync<4>(t, f);
          else SpikeCopyAsync<2>(t, f);
          c += dc;
          r += dr;
          if (r >= T) {
            r -= T;
            c++;
          }
        }
      }
    }
    SpikeCopyCommit();
    if (++fbuffer == NBUFFERS) fbuffer = 0;
    fq = SpikeNextTile(fq, back ? above : below, Q);
    if (fq > Q) {
      fq = 1;
      fj += back ? -1 : 1;
    }
  }
  /* The spike is one of partition p */
  __device__ void partition(PetscInt p)
  {
    band  = (const F *)a.band + a.t.group(p) + (p % a.t.G) * T;
    diag  = band + a.t.tile(a.t.QL + a.t.QU);
    below = a.t.below(p);
    above = a.t.above(p);
  }
  /* Tiles from row j on, in the order in which step() asks for them */
  __device__ void begin(bool back, int j)
  {
    SpikeCopyWaitGroups<0>();
    __syncthreads();
    fj      = j;
    fq      = 1;
    fbuffer = buffer = 0;
#pragma unroll 1
    for (int i = 0; i < NBUFFERS - 1; i++) fetch(back);
  }
  __device__ const F *next(bool back)
  {
    const F *tile = buffers + buffer * TILESIZE;

    SpikeCopyWaitGroups<NBUFFERS - 2>();
    __syncthreads(); /* the tile is there for all, and all are done with the one before */
    fetch(back);
    if (++buffer == NBUFFERS) buffer = 0;
    return tile;
  }
  /* acc += a part of the tile times x */
  template <int PART>
  __device__ void product(const F *tile, const SpikeArith *x, int nt, SpikeArith acc[MB][C8][4]) const
  {
    tile += 2 * q4 * TILELD + 2 * g;
    x += g * LDX + 2 * q4;
#pragma unroll
    for (int k = 0; k < ROWROOM; k += 8) {
      if (k < T) {
        SpikeArith b[C8][2];

        SpikeUnroll(n, C8) {
          if (n < nt) SpikePair(x + 8 * n * LDX + k, b[n][0], b[n][1]);
        }
        SpikeUnroll(m, MB) {
          const F   *p = tile + k * TILELD + 16 * m;
          SpikeArith e[4];

          /* a block of zeros */
          if (!SpikeHasPart<PART>(16 * m + 15, k) && !SpikeHasPart<PART>(16 * m, k + 7)) continue;
          SpikePair(p, e[0], e[1]);
          SpikePair(p + TILELD, e[2], e[3]);
          if (!SpikeHasPart<PART>(16 * m + 15, k) || !SpikeHasPart<PART>(16 * m, k + 7)) {
            SpikeUnroll(h, 4)
              if (!SpikeHasPart<PART>(16 * m + 2 * g + (h & 1), k + 2 * q4 + (h >> 1))) e[h] = 0.0;
          }
          SpikeUnroll(n, C8) {
            if (n < nt) SpikeTileMMA(acc[m][n], e, b[n]);
          }
        }
      }
    }
  }
  /* The columns of this warp in shared memory or in Y, all rows of the padded tile */
  template <typename S>
  __device__ void put(S *x, int ld, int nt, const SpikeArith acc[MB][C8][4]) const
  {
    x += 2 * q4 * ld + 2 * g;
    SpikeUnroll(n, C8) {
      if (n < nt) {
        SpikeUnroll2(m, MB, h, 2) SpikePairPut(x + (8 * n + h) * ld + 16 * m, acc[m][n][h], acc[m][n][2 + h]);
      }
    }
  }
  /*
    Tile row j of Y (forward) or X (back) in the slot of j, given the rows before from the row `from` on (back: all;
    what lies after the end is in the slots). The right-hand side is `rhs`, or back what the first ny blocks of columns
    have in y; forward y gets the result, and so does `result`. Warps without columns (nt = 0) only help to load.
    Returns the lane's largest result in columns left of `real`, on the scale of W or V, and in signs that of the column
    `real`. Loads have no conditions, which would make each wait for the one before.
  */
  template <bool FROMEND>
  __device__ unsigned step(int j, int from, int nt, int ny, int real, bool measure, PetscScalar *y,
                           const SpikePanel &rhs, const SpikePanel &result, unsigned *signs)
  {
    const int   Q = FROMEND ? a.t.QU : a.t.QL;
    SpikeArith  b[MB][C8][4], acc[MB][C8][4], d[MB][2];
    SpikeArith *x       = mine(j);
    unsigned    largest = 0;
    const F    *tile = NULL, *dj = diag + j * a.t.rowsize;

    SpikeUnroll(m, MB) {
      SpikeUnroll(h, 2) d[m][h] = SpikeArith(dj[PetscMin(16 * m + 2 * g + h, T - 1)]);
      SpikeUnroll2(n, C8, e, 4) {
        acc[m][n][e] = 0.0;
        b[m][n][e]   = 0.0;
      }
    }
    if (FROMEND && ny) {
      const PetscScalar *from = y + (warp * C8 * 8 + 2 * q4) * ROWROOM + 2 * g;

      SpikeUnroll(n, C8) {
        if (n < ny) {
          SpikeUnroll2(m, MB, h, 2) SpikePair(from + (8 * n + h) * ROWROOM + 16 * m, b[m][n][h], b[m][n][2 + h]);
        }
      }
    }
    if (!FROMEND && rhs.a && nt) {
      SpikeUnroll2(n, C8, h, 2) {
        const int          c      = (warp * C8 + n) * 8 + 2 * q4 + h;
        const PetscScalar *column = rhs.a + PetscMin(c, real - 1) * rhs.ld;

        SpikeUnroll2(m, MB, i, 2) {
          const int r = 16 * m + 2 * g + i, k = rhs.k0 + r;

          b[m][n][2 * i + h] = SpikeArith(column[PetscMax(0, PetscMin(k, rhs.rows - 1))]);
          if (c >= real || r >= T || k < 0 || k >= rhs.rows) b[m][n][2 * i + h] = 0.0;
        }
      }
    }
#pragma unroll 1
    for (int q = 1; q <= Q; q = SpikeNextTile(q, FROMEND ? above : below, Q)) {
      const int neighbour = FROMEND ? j + q : j - q;

      tile = next(FROMEND);
      if (nt && (FROMEND || neighbour >= from)) {
        if (q < Q) product<SPIKE_PART_ALL>(tile, mine(neighbour), nt, acc);
        else product<FROMEND ? SPIKE_PART_ON_BELOW : SPIKE_PART_ON_ABOVE>(tile, mine(neighbour), nt, acc);
      }
    }
    if (nt) {
      SpikeUnroll3(m, MB, n, C8, e, 4) acc[m][n][e] = b[m][n][e] - acc[m][n][e];
      __syncwarp();
      if (Q) {
        put(x, LDX, nt, acc);
        __syncwarp();
      }
      if (FROMEND) {
        SpikeUnroll3(m, MB, n, C8, e, 4) acc[m][n][e] = acc[m][n][e] * d[m][e >> 1];
      }
      if (Q) product<FROMEND ? SPIKE_PART_ABOVE : SPIKE_PART_BELOW>(tile, x, nt, acc);
      __syncwarp();
      put(x, LDX, nt, acc);
      if (!FROMEND && y) put(y + warp * C8 * 8 * ROWROOM, ROWROOM, nt, acc);
      if (measure) {
        SpikeUnroll2(n, C8, h, 2) {
          const int c    = (warp * C8 + n) * 8 + 2 * q4 + h;
          unsigned  most = 0;

          SpikeUnroll2(m, MB, i, 2)
            most = PetscMax(most, SpikeMagnitude(FROMEND ? acc[m][n][2 * i + h] : acc[m][n][2 * i + h] * d[m][i]));
          if (n < nt && c < real) largest = PetscMax(largest, most);
          else if (n < nt && c == real) *signs = PetscMax(*signs, most);
        }
      }
      if (FROMEND && result.a) {
        SpikeUnroll2(n, C8, e, 4 * MB) {
          const int c = (warp * C8 + n) * 8 + 2 * q4 + (e & 1), r = 16 * (e / 4) + 2 * g + (e / 2 & 1),
                    k = result.k0 + r;

          if (n < nt && c < real && r < T && k >= 0 && k < result.rows)
            result.a[c * result.ld + k] = (PetscScalar)acc[e / 4][n][e & 3];
        }
      }
      __syncwarp();
    }
    return largest;
  }
  /* Largest magnitude of a thread block */
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
    for (int e = threadIdx.x; e < a.slots * ROWROOM; e += blockDim.x)
      if (e % ROWROOM < T) X[(e / ROWROOM * columns + signs) * LDX + e % ROWROOM] = SpikeSign(e);
  }
};
