/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pieces.cu: few systems on CUDA devices, each by several lanes of a warp: the blocks that couple their pieces, and
  solves (batch.h has the formulas). What passes between pieces goes from lane to lane, parts - 1 steps for all systems
  of a warp at once.
*/
#include "pivots.cuh"
#include "solve.cuh"
#include "kernels/common/cuda/memory.cuh"

/* What the lanes of a warp know of their pieces; what other lanes have is 0 where a lane is not coupled to them */
template <int H>
struct SpikePiece {
  PetscScalar *blocks; /* of this lane, where they are or a copy in shared memory */
  PetscInt     len;
  int          parts;
  bool         before, after;

  __device__ SpikePiece(const SpikeBatchGroups &t, PetscInt group) :
    blocks(t.block(group, 0, 0, 0, threadIdx.x)),
    len(t.len[group * SPIKE_BATCH_LANES + threadIdx.x]),
    parts(t.parts),
    before(t.before(threadIdx.x) && len > 0),
    after(t.after(group, threadIdx.x))
  {
  }
  __device__ void load(int k, PetscScalar m[H][H]) const
  {
    SpikeUnroll2(i, H, j, H) m[i][j] = blocks[((k * H + i) * H + j) * SPIKE_BATCH_LANES];
  }
  __device__ void store(int k, const PetscScalar m[H][H]) const
  {
    SpikeUnroll2(i, H, j, H) blocks[((k * H + i) * H + j) * SPIKE_BATCH_LANES] = m[i][j];
  }
  __device__ void fromBefore(const PetscScalar v[H], PetscScalar w[H]) const
  {
    SpikeUnroll(i, H) {
      const PetscScalar its = SpikeShfl(v[i], ((int)threadIdx.x + 31) % 32);

      w[i] = before ? its : PetscScalar(0.0);
    }
  }
  __device__ void fromAfter(const PetscScalar v[H], PetscScalar w[H]) const
  {
    SpikeUnroll(i, H) {
      const PetscScalar its = SpikeShfl(v[i], ((int)threadIdx.x + 1) % 32);

      w[i] = after ? its : PetscScalar(0.0);
    }
  }
};

/* y <- y + sign m v, or m^T v */
template <int H>
__device__ static inline void SpikePieceAdd(PetscScalar sign, const PetscScalar m[H][H], const PetscScalar v[H],
                                            PetscScalar y[H])
{
  SpikeUnroll2(i, H, j, H) y[i] = SpikeFma(sign * m[i][j], v[j], y[i]);
}

template <int H>
__device__ static inline void SpikePieceAddTrans(PetscScalar sign, const PetscScalar m[H][H], const PetscScalar v[H],
                                                 PetscScalar y[H])
{
  SpikeUnroll2(i, H, j, H) y[j] = SpikeFma(sign * m[i][j], v[i], y[j]);
}

/* c <- add + sign a b; add NULL: 0 */
template <int H>
__device__ static inline void SpikePieceTimes(const PetscScalar (*add)[H], PetscScalar sign, const PetscScalar a[H][H],
                                              const PetscScalar b[H][H], PetscScalar c[H][H])
{
  SpikeUnroll2(i, H, j, H) {
    PetscScalar sum = PetscScalar(0.0);

    SpikeUnroll(k, H) sum = SpikeFma(a[i][k], b[k][j], sum);
    c[i][j] = SpikeFma(sign, sum, add ? add[i][j] : PetscScalar(0.0));
  }
}

/*
  inverse <- m^-1 by Gauss and Jordan with row exchanges; m is spoiled. SpikePivot says what is bad, and what becomes of
  it; such a pivot is of the first row of the piece
*/
template <int H>
__device__ static inline void SpikePieceInvert(PetscReal tol, PetscReal boost, PetscScalar m[H][H],
                                               PetscScalar inverse[H][H], SpikeBatchSeen &seen)
{
  PetscReal most = (PetscReal)1.0;

  SpikeUnroll2(i, H, j, H) {
    const PetscReal abs = SpikeAbs(m[i][j]);

    inverse[i][j] = PetscScalar(i == j ? 1.0 : 0.0);
    most          = abs > most ? abs : most;
  }
  SpikeUnroll(k, H) {
    PetscScalar pivot;
    PetscReal   abs;

    SpikeUnroll(i, H) {
      if (i <= k) continue;
      const bool larger = SpikeAbs(m[i][k]) > SpikeAbs(m[k][k]);

      SpikeUnroll(j, H) {
        const PetscScalar a = m[k][j], b = inverse[k][j];

        m[k][j]       = larger ? m[i][j] : a;
        m[i][j]       = larger ? a : m[i][j];
        inverse[k][j] = larger ? inverse[i][j] : b;
        inverse[i][j] = larger ? b : inverse[i][j];
      }
    }
    pivot = m[k][k];
    abs   = SpikeAbs(pivot);
    if (!(abs > tol * most && abs <= PETSC_MAX_REAL)) {
      if (boost > (PetscReal)0.0 && abs <= tol * most) {
        pivot = abs > (PetscReal)0.0 ? pivot * (boost * most / abs) : PetscScalar(boost * most);
        seen.nboost++;
      } else {
        if (seen.bad < 0) {
          seen.bad      = 0;
          seen.badvalue = abs;
        }
        pivot = PetscScalar(1.0);
      }
    }
    pivot = PetscScalar(1.0) / pivot;
    SpikeUnroll(j, H) {
      m[k][j]       = SpikeBatchMultiply(m[k][j], pivot);
      inverse[k][j] = SpikeBatchMultiply(inverse[k][j], pivot);
    }
    SpikeUnroll(i, H) {
      const PetscScalar f = m[i][k];

      if (i == k) continue;
      SpikeUnroll(j, H) {
        m[i][j]       = SpikeBatchFnma(f, m[k][j], m[i][j]);
        inverse[i][j] = SpikeBatchFnma(f, inverse[k][j], inverse[i][j]);
      }
    }
  }
}

/*
  Tips of the spikes W and V of a piece in one pass over its rows. With y the columns of L^-1 [C; 0], and g those of
  U^-T [I; 0], which say what a row of L^-1 b adds to the first rows of D^-1 b: Wt = g^T y, Wb = Ub^-1 yb; of V, whose
  right-hand side has its last H rows alone, yb = Lb^-1 B, Vt = gb^T yb, Vb = Ub^-1 yb. Lb, Ub: the last H rows and
  columns
*/
template <typename B, int H>
__device__ static inline void SpikePieceTips(const SpikeBatchGroups &t, const SpikePiece<H> &p, const PetscScalar *a,
                                             PetscScalar Wt[H][H], PetscScalar Wb[H][H], PetscScalar Vt[H][H],
                                             PetscScalar Vb[H][H])
{
  const int               kl = B::kl(t), ku = B::ku(t), width = B::width(t);
  PetscScalar             C[H][H], y[H][H], gb[H][H]; /* of the last H rows: y[H - 1] and gb[H - 1] of the last one */
  SpikeBatchUpperTrans<H> g[H];

  p.load(SPIKE_BATCH_C, C);
  SpikeUnroll2(i, H, j, H) {
    y[i][j] = gb[i][j] = Wt[i][j] = PetscScalar(0.0);
    g[i].w[j]                     = PetscScalar(0.0);
  }
  for (PetscInt i = 0; i < p.len; i++) {
    PetscScalar l[H], u[H + 1], row[H], grow[H];

    SpikeBatchLoad<H>(a, (PetscInt64)i * width, H - kl, H, l);
    SpikeBatchLoad<H + 1>(a + kl * SPIKE_BATCH_LANES, (PetscInt64)i * width, 0, ku + 1, u);
    SpikeUnroll(c, H) {
      row[c] = PetscScalar(0.0);
      SpikeUnroll(r, H) row[c] = i == r ? C[r][c] : row[c];
      SpikeUnroll(e, H) row[c] = SpikeBatchFnma(l[e], y[e][c], row[c]); /* l[e] multiplies row i - H + e */
    }
    SpikeUnroll(r, H) grow[r] = g[r].step(PetscScalar(i == r ? 1.0 : 0.0), u);
    SpikeUnroll2(r, H, c, H) Wt[r][c] = SpikeFma(grow[r], row[c], Wt[r][c]);
    SpikeUnroll2(e, H - 1, c, H) {
      y[e][c]  = y[e + 1][c];
      gb[e][c] = gb[e + 1][c];
    }
    SpikeUnroll(c, H) {
      y[H - 1][c]  = row[c];
      gb[H - 1][c] = grow[c];
    }
  }
  p.load(SPIKE_BATCH_B, C);
  SpikeUnroll2(r, H, c, H) {
    Wb[r][c] = y[r][c];
    Vb[r][c] = C[r][c];
    Vt[r][c] = PetscScalar(0.0);
  }
  SpikeUnroll(r, H) { /* Lb, then gb */
    PetscScalar l[H];

    SpikeBatchLoad<H>(a, (PetscInt64)max(p.len - H + r, (PetscInt)0) * width, H - kl, H, l);
    SpikeUnroll2(e, H, c, H)
      if (r - H + e >= 0) Vb[r][c] = SpikeBatchFnma(l[e], Vb[r - H + e < 0 ? 0 : r - H + e][c], Vb[r][c]);
    SpikeUnroll2(k, H, c, H) Vt[k][c] = SpikeFma(gb[r][k], Vb[r][c], Vt[k][c]);
  }
  SpikeUnroll(s, H) { /* Ub */
    constexpr int last = H - 1;
    const int     r    = last - s;
    PetscScalar   u[H + 1];

    SpikeBatchLoad<H + 1>(a + kl * SPIKE_BATCH_LANES, (PetscInt64)max(p.len - 1 - s, (PetscInt)0) * width, 0, ku + 1,
                          u);
    SpikeUnroll(c, H) {
      SpikeUnroll(d, H)
        if (d < s) {
          Wb[r][c] = SpikeBatchFnma(u[d + 1], Wb[r + d + 1 > last ? last : r + d + 1][c], Wb[r][c]);
          Vb[r][c] = SpikeBatchFnma(u[d + 1], Vb[r + d + 1 > last ? last : r + d + 1][c], Vb[r][c]);
        }
      Wb[r][c] = SpikeBatchMultiply(Wb[r][c], u[0]);
      Vb[r][c] = SpikeBatchMultiply(Vb[r][c], u[0]);
    }
  }
  SpikeUnroll2(r, H, c, H) { /* not 0 times what overflows */
    if (!p.before) Wt[r][c] = Wb[r][c] = PetscScalar(0.0);
    if (!p.after) Vt[r][c] = Vb[r][c] = PetscScalar(0.0);
  }
}

/*
  A warp a group: tips of all pieces at once, then the elimination from piece to piece. Reads the factors once, and
  writes six blocks for each piece. A system of one piece has zero spikes
*/
template <typename B>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES)
  SpikeBatchCouple_Kernel(const __grid_constant__ SpikeBatchGroups t, const __grid_constant__ SpikeBatchPolicy policy,
                          double *badvalue, SpikeBatchReport *report)
{
  constexpr int       H     = B::KLMAX;
  const PetscInt      group = (PetscInt)blockIdx.x, lane = group * SPIKE_BATCH_LANES + threadIdx.x;
  const SpikePiece<H> p(t, group);
  SpikeBatchSeen      seen = SpikeBatchSeenBegin(policy);
  PetscScalar         Wt[H][H], Wb[H][H], Vt[H][H], Vb[H][H], Q[H][H];

  if (!t.rows[group]) return;
  SpikePieceTips<B, H>(t, p, t.a + t.off[group] + threadIdx.x, Wt, Wb, Vt, Vb);
  SpikeUnroll2(i, H, j, H) Q[i][j] = PetscScalar(0.0);
  for (int c = 0; c < t.parts; c++) {
    PetscScalar last[H][H]; /* Q of the piece before */

    SpikeUnroll(i, H) p.fromBefore(Q[i], last[i]);
    if ((int)threadIdx.x % t.parts == c) {
      PetscScalar N[H][H], D[H][H], F[H][H], E[H][H];

      SpikePieceTimes<H>(NULL, PetscScalar(-1.0), Wt, last, N);
      SpikeUnroll(i, H) N[i][i] += PetscScalar(1.0);
      SpikePieceInvert<H>((PetscReal)policy.tol, (PetscReal)policy.boost, N, D, seen);
      SpikePieceTimes<H>(NULL, PetscScalar(1.0), last, D, N);
      SpikePieceTimes<H>(NULL, PetscScalar(1.0), Wb, N, F);
      SpikePieceTimes<H>(Wb, PetscScalar(1.0), F, Wt, E);
      SpikePieceTimes<H>(Vb, PetscScalar(1.0), F, Vt, Q);
      p.store(SPIKE_BATCH_F, F);
      p.store(SPIKE_BATCH_E, E);
      p.store(SPIKE_BATCH_D, D);
      p.store(SPIKE_BATCH_Q, Q);
      SpikePieceTimes<H>(NULL, PetscScalar(1.0), D, Wt, E);
      SpikePieceTimes<H>(NULL, PetscScalar(1.0), D, Vt, F);
      p.store(SPIKE_BATCH_DW, E);
      p.store(SPIKE_BATCH_G, F);
    }
    __syncwarp();
  }
  if (report->badrow) seen.bad = -1; /* factors of some piece mean nothing, and this kernel does not change it */
  SpikeBatchSeenEnd(seen, t.first[lane], lane, badvalue, &report->badpiece, &report->nboost);
}

/* What a warp copies to shared memory before a solve, besides its part of the vector */
typedef enum {
  SPIKE_PIECES_VECTOR,
  SPIKE_PIECES_BLOCKS,
  SPIKE_PIECES_ALL /* blocks and factors */
} SpikePiecesStage;

/* N elements of row i, of which those from lo to hi - 1 are there, the others being zero; from any memory */
template <int N>
__device__ static inline void SpikePieceRow(const PetscScalar *a, PetscInt64 row, int lo, int hi, PetscScalar f[N])
{
  const PetscScalar *from = a + row * SPIKE_BATCH_LANES;

  SpikeUnroll(d, N) {
    f[d] = PetscScalar(0.0);
    if (d >= lo && d < hi) f[d] = from[(d - lo) * SPIKE_BATCH_LANES];
  }
}

/* count numbers, which begin at a multiple of 16 bytes and fill as many, to shared memory by a warp */
__device__ static inline void SpikePieceStage(PetscScalar *to, const PetscScalar *from, PetscInt64 count)
{
  constexpr int each = 16 / (int)sizeof(PetscScalar);

#pragma unroll 4
  for (PetscInt64 k = (PetscInt64)threadIdx.x * each; k < count; k += SPIKE_BATCH_LANES * each)
    SpikeCopyAsync<16, true>(to + k, from + k);
}

/*
  One pass over the rows of the pieces of a warp, downwards or up: f(row, what the pass makes of it). input(row): what
  the pass takes
*/
template <typename P, bool UPWARDS, typename I, typename F>
__device__ static inline void SpikePiecePass(PetscInt m, const PetscScalar *a, int width, int lo, int hi, I &&input,
                                             F &&f)
{
  constexpr int ROWSAHEAD = SpikeBatchRowsAhead<P::N>::value;
  PetscScalar   next[ROWSAHEAD][P::N];
  P             p;

  auto row = [&](PetscInt k) { return (PetscInt64)(UPWARDS ? m - 1 - min(k, m - 1) : min(k, m - 1)) * width; };

  SpikeUnroll(d, (int)(sizeof(p.w) / sizeof(p.w[0]))) p.w[d] = PetscScalar(0.0);
  SpikeUnroll(r, ROWSAHEAD) SpikePieceRow<P::N>(a, row(r), lo, hi, next[r]);
  for (PetscInt k0 = 0; k0 < m; k0 += ROWSAHEAD) {
    SpikeUnroll(r, ROWSAHEAD) {
      const PetscInt i = UPWARDS ? m - 1 - k0 - r : k0 + r;

      if (k0 + r < m) f(i, p.step(input(i), next[r]));
      SpikePieceRow<P::N>(a, row(k0 + r + ROWSAHEAD), lo, hi, next[r]);
    }
  }
}

/*
  With h the first and the last rows of D^-1 b (plain), or D^-T b: what is to be subtracted from the first and the last
  rows of b before the second solve
*/
template <int H>
__device__ static inline void SpikePieceChain(const SpikePiece<H> &p, const PetscScalar top[H],
                                              const PetscScalar bottom[H], PetscScalar first[H], PetscScalar last[H])
{
  const PetscScalar one = PetscScalar(1.0), minus = PetscScalar(-1.0);
  PetscScalar       m[H][H], g[H], q[H], from[H], own[H];

  p.load(SPIKE_BATCH_F, m); /* p = g_b + F g_t - E p */
  SpikeUnroll(i, H) own[i] = bottom[i];
  SpikePieceAdd<H>(one, m, top, own);
  p.load(SPIKE_BATCH_E, m);
  SpikeUnroll(i, H) q[i] = own[i];
  for (int c = 1; c < p.parts; c++) { /* after c steps the first c + 1 pieces have theirs */
    p.fromBefore(q, from);
    SpikeUnroll(i, H) q[i] = own[i];
    SpikePieceAdd<H>(minus, m, from, q);
  }
  p.load(SPIKE_BATCH_D, m); /* t = D' g_t - D' W_t p - G t */
  SpikeUnroll(i, H) own[i] = PetscScalar(0.0);
  SpikePieceAdd<H>(one, m, top, own);
  p.load(SPIKE_BATCH_DW, m);
  p.fromBefore(q, from);
  SpikePieceAdd<H>(minus, m, from, own);
  p.load(SPIKE_BATCH_G, m);
  SpikeUnroll(i, H) g[i] = own[i];
  for (int c = 1; c < p.parts; c++) {
    p.fromAfter(g, from);
    SpikeUnroll(i, H) g[i] = own[i];
    SpikePieceAdd<H>(minus, m, from, g);
  }
  p.load(SPIKE_BATCH_Q, m); /* s = p - Q t */
  p.fromAfter(g, from);
  SpikePieceAdd<H>(minus, m, from, q);
  p.load(SPIKE_BATCH_B, m);
  SpikeUnroll(i, H) last[i] = first[i] = PetscScalar(0.0);
  SpikePieceAdd<H>(one, m, from, last);
  p.load(SPIKE_BATCH_C, m);
  p.fromBefore(q, from);
  SpikePieceAdd<H>(one, m, from, first);
}

/* The adjoint of the lines of SpikePieceChain(), the last one first: s and t are what C and B, transposed, make of h */
template <int H>
__device__ static inline void SpikePieceChainTrans(const SpikePiece<H> &p, const PetscScalar top[H],
                                                   const PetscScalar bottom[H], PetscScalar first[H],
                                                   PetscScalar last[H])
{
  const PetscScalar one = PetscScalar(1.0), minus = PetscScalar(-1.0);
  PetscScalar       m[H][H], t[H], s[H], from[H], own[H], its[H];

  p.load(SPIKE_BATCH_C, m);
  SpikeUnroll(i, H) its[i] = PetscScalar(0.0);
  SpikePieceAddTrans<H>(one, m, top, its);
  p.fromAfter(its, s); /* of the piece after this one */
  p.load(SPIKE_BATCH_B, m);
  SpikeUnroll(i, H) its[i] = PetscScalar(0.0);
  SpikePieceAddTrans<H>(one, m, bottom, its);
  p.load(SPIKE_BATCH_Q, m);
  SpikePieceAddTrans<H>(minus, m, s, its);
  p.fromBefore(its, own);
  p.load(SPIKE_BATCH_G, m); /* t of the next piece <- t - G^T t */
  SpikeUnroll(i, H) t[i] = own[i];
  for (int c = 1; c < p.parts; c++) {
    SpikeUnroll(i, H) its[i] = PetscScalar(0.0);
    SpikePieceAddTrans<H>(minus, m, t, its);
    p.fromBefore(its, from);
    SpikeUnroll(i, H) t[i] = own[i] + from[i];
  }
  p.load(SPIKE_BATCH_DW, m);
  SpikeUnroll(i, H) its[i] = PetscScalar(0.0);
  SpikePieceAddTrans<H>(minus, m, t, its);
  p.fromAfter(its, from);
  SpikeUnroll(i, H) own[i] = s[i] + from[i];
  p.load(SPIKE_BATCH_E, m); /* p of the piece before <- p - E^T p */
  SpikeUnroll(i, H) s[i] = own[i];
  for (int c = 1; c < p.parts; c++) {
    SpikeUnroll(i, H) its[i] = PetscScalar(0.0);
    SpikePieceAddTrans<H>(minus, m, s, its);
    p.fromAfter(its, from);
    SpikeUnroll(i, H) s[i] = own[i] + from[i];
  }
  SpikeUnroll(i, H) {
    last[i]  = s[i];
    first[i] = PetscScalar(0.0);
  }
  p.load(SPIKE_BATCH_D, m);
  SpikePieceAddTrans<H>(one, m, t, first);
  p.load(SPIKE_BATCH_F, m);
  SpikePieceAddTrans<H>(one, m, s, first);
}

/*
  x <- A^-1 b, or A^-T b: a warp a group, for one right-hand side. A first solve of all pieces makes the first and the
  last rows of D^-1 b alone; the second begins with what the first half of it has left in shared memory. Reads b once,
  the factors twice, from shared memory with SPIKE_PIECES_ALL, the blocks, and writes x once
*/
template <typename B, bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_BATCH_LANES)
  SpikeBatchPieces_Kernel(const __grid_constant__ SpikeBatchGroups t, SpikePiecesStage stage, int nrhs,
                          const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  extern __shared__ __align__(16) char shared[];
  constexpr int                        H = B::KLMAX;
  const PetscInt     group = (PetscInt)(blockIdx.x / nrhs), lane = group * SPIKE_BATCH_LANES + threadIdx.x;
  const int          col = (int)(blockIdx.x % nrhs), kl = B::kl(t), ku = B::ku(t), width = B::width(t);
  const PetscInt     m = t.rows[group], patches = (m + SPIKE_BATCH_PATCH - 1) / SPIKE_BATCH_PATCH;
  const PetscScalar *a    = t.a + t.off[group] + threadIdx.x, *diagonal;
  PetscScalar       *free = (PetscScalar *)shared + patches * (SPIKE_BATCH_PATCH * SPIKE_BATCH_LD); /* after v */

  const SpikeBatchVector<true, 1> v = {(PetscScalar *)shared, t.first[lane], t.len[lane], patches};
  SpikePiece<H>                   p(t, group);
  PetscScalar                    *rows = v.at(0) + threadIdx.x, top[H], bottom[H], first[H], last[H];
  const PetscInt                  end  = p.len - H; /* first row of the last H */

  auto vector = [&](PetscInt i) -> PetscScalar & { return rows[i * SPIKE_BATCH_LD]; };
  auto given  = [&](PetscInt i) { return vector(i); };
  auto keep   = [&](PetscInt i, PetscScalar value) { vector(i) = value; };
  /* first and last rows of D^-1 b */
  auto ends = [&](PetscInt i, PetscScalar value) {
    SpikeUnroll(r, H) {
      if (i == r) top[r] = value;
      if (i == end + r) bottom[r] = value;
    }
  };
  /* what other pieces add to b */
  auto coupling = [&](PetscInt i) {
    PetscScalar value = PetscScalar(0.0);

    SpikeUnroll(r, H) {
      if (i == r) value += first[r];
      if (i == end + r) value += last[r];
    }
    return value;
  };
  auto subtract = [&](PetscInt i, PetscScalar value) { vector(i) -= value; };

  if (!m) return;
  if (stage == SPIKE_PIECES_ALL) {
    SpikePieceStage(free, t.a + t.off[group], (PetscInt64)m * width * SPIKE_BATCH_LANES);
    a = free + threadIdx.x;
    free += m * width * SPIKE_BATCH_LANES;
  }
  if (stage >= SPIKE_PIECES_BLOCKS) {
    SpikePieceStage(free, t.block(group, 0, 0, 0, 0), SPIKE_BATCH_BLOCKS * H * H * SPIKE_BATCH_LANES);
    p.blocks = free + threadIdx.x;
  }
  diagonal = a + kl * SPIKE_BATCH_LANES;
  for (PetscInt k = 0; k < patches; k++) v.fetch(k, b + col * ldb);
  SpikeCopyWait();
  __syncwarp();
  SpikeUnroll(r, H) top[r] = bottom[r] = PetscScalar(0.0);
  if (TRANSPOSED) {
    typedef SpikeBatchUpperTrans<H> Down;
    typedef SpikeBatchLowerTrans<H> Up;

    SpikePiecePass<Down, false>(m, diagonal, width, 0, ku + 1, given, keep);
    SpikePiecePass<Up, true>(m, a, width, H - kl, H, given, ends);
    SpikePieceChainTrans<H>(p, top, bottom, first, last);
    SpikePiecePass<Down, false>(m, diagonal, width, 0, ku + 1, coupling, subtract);
    SpikePiecePass<Up, true>(m, a, width, H - kl, H, given, keep);
  } else {
    typedef SpikeBatchLower<H> Down;
    typedef SpikeBatchUpper<H> Up;

    SpikePiecePass<Down, false>(m, a, width, H - kl, H, given, keep);
    SpikePiecePass<Up, true>(m, diagonal, width, 0, ku + 1, given, ends);
    SpikePieceChain<H>(p, top, bottom, first, last);
    SpikePiecePass<Down, false>(m, a, width, H - kl, H, coupling, subtract);
    SpikePiecePass<Up, true>(m, diagonal, width, 0, ku + 1, given, keep);
  }
  for (PetscInt k = 0; k < patches; k++) v.store(k, x + col * ldx);
}

PetscErrorCode SpikeBatchCouple_CUDA(SpikeBatchCUDA *h, const SpikeBatchPolicy &policy, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(SpikeBatchDispatchPieces(h->g, [&](auto band) {
    SpikeBatchCouple_Kernel<decltype(band)>
      <<<(unsigned int)h->g.ngroups, SPIKE_BATCH_LANES, 0, stream>>>(h->g, policy, h->badvalue, h->report);
    return PETSC_SUCCESS;
  }));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Copies to shared memory are for groups that are all on the device at once: the factors of each arrive together with
  its part of b then, and are read twice there
*/
PetscErrorCode SpikeBatchSolvePieces_CUDA(const SpikeBatchCUDA *h, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                          PetscCount ldb, PetscScalar *x, PetscCount ldx, cudaStream_t stream)
{
  const PetscInt most    = PetscMax(1, PETSC_INT32_MAX / PetscMax(h->g.ngroups, 1)); /* blocks of a launch */
  const PetscInt patches = (h->longest + SPIKE_BATCH_PATCH - 1) / SPIKE_BATCH_PATCH;
  const size_t   vector  = (size_t)patches * SPIKE_BATCH_PATCH * SPIKE_BATCH_LD * sizeof(PetscScalar),
               blocks    = (size_t)SPIKE_BATCH_BLOCKS * h->g.h * h->g.h * SPIKE_BATCH_LANES * sizeof(PetscScalar),
               all       = blocks + (size_t)h->longest * h->g.width * SPIKE_BATCH_LANES * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(SpikeBatchDispatchPieces(h->g, [&](auto band) {
    typedef decltype(band) P;

    const auto kernel = trans ? SpikeBatchPieces_Kernel<P, true> : SpikeBatchPieces_Kernel<P, false>;

    for (PetscInt c = 0; c < nrhs; c += most) {
      const PetscInt count   = PetscMin(most, nrhs - c);
      const size_t   each    = (size_t)(((PetscInt64)h->g.ngroups * count - 1) / h->gpu->multiprocessors + 1),
                   room      = (size_t)h->gpu->shared / each;
      SpikePiecesStage stage = SPIKE_PIECES_VECTOR;
      size_t           bytes = vector;

      if (vector + all <= room) {
        stage = SPIKE_PIECES_ALL;
        bytes = vector + all;
      } else if (vector + blocks <= room) {
        stage = SPIKE_PIECES_BLOCKS;
        bytes = vector + blocks;
      }
      PetscCall(SpikeKernelFit((const void *)kernel, SPIKE_BATCH_LANES, bytes));
      kernel<<<(unsigned int)(h->g.ngroups * count), SPIKE_BATCH_LANES, bytes, stream>>>(h->g, stage, (int)count,
                                                                                         b + c * ldb, ldb, x + c * ldx,
                                                                                         ldx);
      PetscCallCUDA(cudaGetLastError());
    }
    return PETSC_SUCCESS;
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
