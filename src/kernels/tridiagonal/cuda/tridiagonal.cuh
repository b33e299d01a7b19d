/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tridiagonal.cuh: what the files of the CUDA backend of tridiagonal.h share: patches of rows that a thread block
  holds in registers, prefixes, pivots
*/
#pragma once

#include "kernels/tridiagonal/tridiagonal.h"
#include "kernels/common/cuda/memory.cuh"
#include "kernels/common/cuda/warp.cuh"

#define SPIKE_TRI_THREADS 256
#define SPIKE_TRI_ROWS    4                                    /* of a thread */
#define SPIKE_TRI_PATCH   (SPIKE_TRI_THREADS * SPIKE_TRI_ROWS) /* of a block  */
#define SPIKE_TRI_WARPS   (SPIKE_TRI_THREADS / 32)

/*
  Kinds of a row, as bits: first (HEAD) or last (TAIL) of a piece; a separator is above it, below it; it is one (SEP)
*/
enum {
  SPIKE_TRI_HEAD  = 1,
  SPIKE_TRI_ABOVE = 2,
  SPIKE_TRI_TAIL  = 4,
  SPIKE_TRI_BELOW = 8,
  SPIKE_TRI_SEP   = 16
};

typedef enum {
  SPIKE_TRI_PREFIX,
  SPIKE_TRI_SHARED,
  SPIKE_TRI_THOMAS,
  SPIKE_TRI_TWOWAY,
  SPIKE_TRI_PIVOTED
} SpikeTriHow;

/* The first bad pivot's row, ~0 for none, and the number of boosted ones; badvalue, its magnitude, on the host alone */
typedef struct {
  unsigned long long badrow, nboost;
  PetscReal          badvalue;
} SpikeTriReport;

/*
  What kernels know. A patch is rows first[k] <= i < first[k + 1], `patch` at most: whole systems, or a part of a long
  one. The last row of a part is separator sep[k]; -1 for the last part and for whole systems. A piece is a whole system
  or an interior. l, r, v of interiors as in THOMAS, with l = dl and v = du r in rows next to a separator. For the
  transposed system separator s has l_s = dl_s r_(s-1) and v_s = du_s.
*/
struct SpikeTriPatches {
  PetscInt        n, npatches, nsep, npieces, switchpoint;
  PetscInt       *first, *sep;       /* [npatches + 1], [npatches]                                         */
  PetscInt       *seprow, *seppatch; /* [nsep]                                                         */
  PetscInt       *piece;             /* [3 npieces] patch, first row, row after the last; not PREFIX     */
  unsigned char  *kind;              /* [n]                                                            */
  PetscScalar    *l, *r, *v;         /* [n]                                                            */
  PetscScalar    *u;                 /* [n] TWOWAY: 1 / u; PIVOTED: the second diagonal above the main one */
  unsigned char  *swapped;           /* [n] PIVOTED                                                    */
  PetscScalar    *za, *zb;           /* [n] as in the host's PARTITION; NULL without separators         */
  PetscScalar    *zat, *zbt;         /* [n] PIVOTED: the same of the transposed systems                 */
  PetscInt       *wa, *wb;           /* [npatches] rows at the top and the bottom over which they are read */
  PetscScalar    *dl, *d, *du;       /* [n] of the matrix; NULL with PREFIX and THOMAS                  */
  SpikeTriReport *report;
  PetscReal      *badvalue;   /* [npatches] magnitude of the first bad pivot of a patch that has any */
  PetscReal       tol, boost; /* of the last setup, in units of *unit where that is not 0; unit NULL: of 1 */
  const double   *unit;
};

/* SpikeTridiagonal.data; the last line is on the host */
struct SpikeTriCUDA : SpikeTriPatches {
  SpikeTriHow      how; /* who solves the pieces */
  PetscInt         batch, patch, longest;
  PetscScalar     *reduced; /* [3 nsep] the separators' system, [2 nsep] their couplings, [batch nsep] columns, ends */
  SpikeTridiagonal child;   /* the separators' system */
  SpikeTriReport  *hostreport;
  PetscInt        *redstart, *hostseprow, *hostfirst;
};

/* A piece of rows lo <= i < hi of patch k, and the separators beside it */
struct SpikeTriPart {
  PetscInt k, lo, hi, above, below;

  __device__ SpikeTriPart(const SpikeTriPatches &tri, PetscInt number) :
    k(tri.piece[3 * number]), lo(tri.piece[3 * number + 1]), hi(tri.piece[3 * number + 2])
  {
    above = k && lo == tri.first[k] ? tri.sep[k - 1] : -1;
    below = hi == tri.first[k + 1] - 1 ? tri.sep[k] : -1;
  }
};

/* Pivots up to SpikeTriTol() are bad. They become SpikeTriBoost(), or where that is 0 are reported */
__device__ static __forceinline__ PetscReal SpikeTriUnit(const SpikeTriPatches &tri)
{
  return tri.unit && *tri.unit > 0.0 ? (PetscReal)*tri.unit : (PetscReal)1.0;
}
__device__ static __forceinline__ PetscReal SpikeTriTol(const SpikeTriPatches &tri)
{
  return PetscMax(tri.tol * SpikeTriUnit(tri), PETSC_REAL_MIN);
}
__device__ static __forceinline__ PetscReal SpikeTriBoost(const SpikeTriPatches &tri)
{
  return tri.boost * SpikeTriUnit(tri);
}

/* Thread blocks for n items, a thread each */
static inline unsigned SpikeTriThreadBlocks(PetscCount n)
{
  return (unsigned)((n - 1) / SPIKE_TRI_THREADS + 1);
}

/* ---- Prefixes ---- */
/* y = a y_in + b */
struct SpikeTriLine {
  PetscScalar a, b;
};

/* g after f: g(f(y)) */
__device__ static __forceinline__ SpikeTriLine SpikeTriAfter(const SpikeTriLine &g, const SpikeTriLine &f)
{
  return {g.a * f.a, SpikeFma(g.a, f.b, g.b)};
}

/*
  y as it comes into each thread's line: `in`, after the lines of all threads before it (UPWARDS) or after it. All
  threads of the thread block call it; shared: SPIKE_TRI_WARPS lines
*/
template <bool UPWARDS>
__device__ static __forceinline__ PetscScalar SpikeTriInto(SpikeTriLine f, PetscScalar in, SpikeTriLine shared[])
{
  const int    lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  SpikeTriLine e;

#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int          from = UPWARDS ? lane - d : lane + d;
    const SpikeTriLine g    = {SpikeShfl(f.a, from & 31), SpikeShfl(f.b, from & 31)};

    if (from >= 0 && from < 32) f = SpikeTriAfter(f, g);
  }
  e.a = SpikeShfl(f.a, (UPWARDS ? lane - 1 : lane + 1) & 31);
  e.b = SpikeShfl(f.b, (UPWARDS ? lane - 1 : lane + 1) & 31);
  if (lane == (UPWARDS ? 31 : 0)) shared[warp] = f;
  __syncthreads();
  for (int w = UPWARDS ? 0 : SPIKE_TRI_WARPS - 1; w != warp; w += UPWARDS ? 1 : -1)
    in = SpikeFma(shared[w].a, in, shared[w].b);
  __syncthreads();
  return lane == (UPWARDS ? 0 : 31) ? in : SpikeFma(e.a, in, e.b);
}

/*
  y_i = b_i - p_i y_(i-1) from `above`, then b_i <- x_i = r_i y_i - q_i x_(i+1) from `below`, over the rows of all
  threads
*/
__device__ static __forceinline__ void SpikeTriSweep(PetscScalar b[], const PetscScalar p[], const PetscScalar r[],
                                                     const PetscScalar q[], PetscScalar above, PetscScalar below,
                                                     SpikeTriLine shared[])
{
  SpikeTriLine f = {1.0, 0.0};
  PetscScalar  y;

  SpikeUnroll(j, SPIKE_TRI_ROWS) f = {-p[j] * f.a, SpikeFma(-p[j], f.b, b[j])};
  y = SpikeTriInto<true>(f, above, shared);
  SpikeUnroll(j, SPIKE_TRI_ROWS) b[j] = y = SpikeFma(-p[j], y, b[j]);
  f = {1.0, 0.0};
#pragma unroll
  for (int j = SPIKE_TRI_ROWS - 1; j >= 0; j--) f = {-q[j] * f.a, SpikeFma(-q[j], f.b, r[j] * b[j])};
  y = SpikeTriInto<false>(f, below, shared);
#pragma unroll
  for (int j = SPIKE_TRI_ROWS - 1; j >= 0; j--) b[j] = y = SpikeFma(-q[j], y, r[j] * b[j]);
}

/* v[0], ..., v[3] <- a[i + j], those outside of [lo, hi) 0; two loads of 16 bytes in double precision where wide */
__device__ static __forceinline__ void SpikeTriLoad(const PetscScalar *a, PetscInt i, PetscInt lo, PetscInt hi,
                                                    bool wide, PetscScalar v[])
{
  if (wide && i >= lo && i + SPIKE_TRI_ROWS <= hi) {
    struct alignas(2 * sizeof(PetscReal)) Pair {
      PetscScalar e[2];
    };
    const Pair *w = (const Pair *)(a + i);

    SpikeUnroll(j, SPIKE_TRI_ROWS / 2) {
      const Pair z = w[j];

      v[2 * j]     = z.e[0];
      v[2 * j + 1] = z.e[1];
    }
  } else {
    SpikeUnroll(j, SPIKE_TRI_ROWS) v[j] = i + j >= lo && i + j < hi ? a[i + j] : PetscScalar(0.0);
  }
}

__device__ static __forceinline__ void SpikeTriStore(PetscScalar *a, PetscInt i, PetscInt hi, bool wide,
                                                     const PetscScalar v[])
{
  if (wide && i + SPIKE_TRI_ROWS <= hi) {
    struct alignas(2 * sizeof(PetscReal)) Pair {
      PetscScalar e[2];
    };
    Pair *w = (Pair *)(a + i);

    SpikeUnroll(j, SPIKE_TRI_ROWS / 2) w[j] = {{v[2 * j], v[2 * j + 1]}};
  } else {
    SpikeUnroll(j, SPIKE_TRI_ROWS)
      if (i + j < hi) a[i + j] = v[j];
  }
}

/* ---- Pivots ---- */
/* [a b; c d], of a product with a row that begins anew: its left factors alone */
struct SpikeTriMoebius {
  PetscScalar a, b, c, d;
  int         anew;
};

__device__ static __forceinline__ PetscReal SpikeTriAbs1(PetscScalar v)
{
#if defined(PETSC_USE_COMPLEX)
  return fabs(v.real()) + fabs(v.imag());
#else
  return fabs(v);
#endif
}

/* Times the power of two that takes the largest number to [1, 2); some other factor where it is 0 or not finite */
__device__ static __forceinline__ void SpikeTriScale(SpikeTriMoebius &m)
{
  const PetscReal most = fmax(fmax(SpikeTriAbs1(m.a), SpikeTriAbs1(m.b)), fmax(SpikeTriAbs1(m.c), SpikeTriAbs1(m.d)));
#if defined(PETSC_USE_REAL_SINGLE)
  const PetscReal scale = __int_as_float(0x7f000000 - PetscMin(__float_as_int(most) & 0x7f800000, 0x7e800000));
#else
  const PetscReal scale = __hiloint2double(0x7fe00000 - PetscMin(__double2hiint(most) & 0x7ff00000, 0x7fd00000), 0);
#endif

  m.a *= scale;
  m.b *= scale;
  m.c *= scale;
  m.d *= scale;
}

__device__ static __forceinline__ SpikeTriMoebius SpikeTriAfter(const SpikeTriMoebius &g, const SpikeTriMoebius &f)
{
  SpikeTriMoebius h;

  if (g.anew) return g;
  h.a    = SpikeFma(g.a, f.a, g.b * f.c);
  h.b    = SpikeFma(g.a, f.b, g.b * f.d);
  h.c    = SpikeFma(g.c, f.a, g.d * f.c);
  h.d    = SpikeFma(g.c, f.b, g.d * f.d);
  h.anew = f.anew;
  SpikeTriScale(h);
  return h;
}

__device__ static __forceinline__ SpikeTriMoebius SpikeTriShflMoebius(const SpikeTriMoebius &f, int lane)
{
  return {SpikeShfl(f.a, lane), SpikeShfl(f.b, lane), SpikeShfl(f.c, lane), SpikeShfl(f.d, lane),
          __shfl_sync(SPIKE_WARP, f.anew, lane)};
}

/* u, or what replaces it */
__device__ static PetscScalar SpikeTriDivisor(PetscScalar u, PetscReal tol, PetscReal boost, PetscInt row,
                                              SpikeTriReport *report, PetscReal *badvalue, PetscInt *badrow)
{
  const PetscReal size = SpikeAbs(u);

  if (size > tol && size <= PETSC_MAX_REAL) return u;
  if (boost > 0.0 && size <= tol) {
    atomicAdd(&report->nboost, 1ull);
    return size > 0.0 ? u * (boost / size) : PetscScalar(boost);
  }
  if (*badrow < 0) {
    *badrow   = row;
    *badvalue = size;
  }
  return 1.0;
}

/* The multiplier of a row and its pivot, from du and 1 / u of the row before it */
__device__ static __forceinline__ PetscScalar SpikeTriRow(int kind, PetscScalar dl, PetscScalar d, PetscScalar before,
                                                          PetscScalar rbefore, PetscScalar *l)
{
  if (kind & SPIKE_TRI_SEP) {
    *l = dl * rbefore;
    return 1.0;
  }
  *l = kind & SPIKE_TRI_HEAD ? (kind & SPIKE_TRI_ABOVE ? dl : PetscScalar(0.0)) : dl * rbefore;
  return kind & SPIKE_TRI_HEAD ? d : SpikeFma(-*l, before, d);
}

/*
  One thread: the rows of a patch one by one, for a boosted or replaced pivot changes the rows after it. Reports, and
  writes l, r, v where they are not NULL
*/
__device__ static __noinline__ void SpikeTriSerial(const unsigned char *kind, const PetscScalar *dl,
                                                   const PetscScalar *d, const PetscScalar *du, PetscInt lo,
                                                   PetscInt hi, PetscReal tol, PetscReal boost, PetscScalar *l,
                                                   PetscScalar *r, PetscScalar *v, SpikeTriReport *report,
                                                   PetscReal *badvalue)
{
  PetscInt    badrow = -1;
  PetscReal   value  = 0.0;
  PetscScalar before = 0.0, rbefore = 0.0;

  for (PetscInt row = lo; row < hi; row++) {
    const int   is = kind[row];
    PetscScalar m, u = SpikeTriRow(is, is & SPIKE_TRI_HEAD && !(is & SPIKE_TRI_ABOVE) ? PetscScalar(0.0) : dl[row],
                                   d[row], before, rbefore, &m);

    if (!(is & SPIKE_TRI_SEP)) u = SpikeTriDivisor(u, tol, boost, row, report, &value, &badrow);
    before  = is & SPIKE_TRI_TAIL && !(is & SPIKE_TRI_BELOW) ? PetscScalar(0.0) : du[row];
    rbefore = (PetscScalar)1.0 / u;
    if (l) {
      l[row] = m;
      r[row] = rbefore;
      v[row] = is & SPIKE_TRI_SEP ? before : before * rbefore;
    }
  }
  if (badrow >= 0) {
    *badvalue = value;
    atomicMin(&report->badrow, (unsigned long long)badrow);
  }
}

/*
  l, r, v of the rows of all threads, in place of dl, d, du: pivots by prefix products of 2 x 2 matrices over the
  threads, then row by row in each. what[]: kinds of the rows; before: du before them. Returns whether a pivot of this
  thread is bad.
*/
__device__ static __forceinline__ bool SpikeTriPivots(const int what[], PetscScalar before, bool first,
                                                      PetscScalar ll[], PetscScalar dd[], PetscScalar uu[],
                                                      PetscReal tol, SpikeTriMoebius shared[])
{
  const int       lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  PetscScalar     rbefore = 0.0;
  SpikeTriMoebius f       = {1.0, 0.0, 0.0, 1.0, 0}, g;
  bool            bad     = false;

  SpikeUnroll(j, SPIKE_TRI_ROWS) {
    if (what[j] & (SPIKE_TRI_HEAD | SPIKE_TRI_SEP))
      f = {what[j] & SPIKE_TRI_SEP ? PetscScalar(1.0) : dd[j], 0.0, 1.0, 0.0, 1};
    else if (what[j] >= 0) { /* [d -dl du; 1 0] f */
      const PetscScalar m = -ll[j] * (j ? uu[j ? j - 1 : 0] : before), a = f.a, b = f.b;

      f.a = SpikeFma(dd[j], a, m * f.c);
      f.b = SpikeFma(dd[j], b, m * f.d);
      f.c = a;
      f.d = b;
    }
  }
  SpikeTriScale(f);
  g = f;
#pragma unroll
  for (int k = 1; k < 32; k *= 2) {
    const SpikeTriMoebius h = SpikeTriShflMoebius(g, (lane - k) & 31);

    if (lane >= k) g = SpikeTriAfter(g, h);
  }
  if (lane == 31) shared[warp] = g;
  g = SpikeTriShflMoebius(g, (lane - 1) & 31);
  if (!lane) g = {1.0, 0.0, 0.0, 1.0, 0};
  __syncthreads();
  f = shared[lane < SPIKE_TRI_WARPS ? lane : 0];
#pragma unroll
  for (int k = 1; k < SPIKE_TRI_WARPS; k *= 2) {
    const SpikeTriMoebius h = SpikeTriShflMoebius(f, (lane - k) & 31);

    if (lane >= k) f = SpikeTriAfter(f, h);
  }
  f = SpikeTriShflMoebius(f, (warp - 1) & 31);
  if (warp) g = SpikeTriAfter(g, f);
  __syncthreads();
  if (!first && what[0] >= 0) { /* applied to [1; 0]; a patch begins anew */
    rbefore = g.c / g.a;
    bad     = !(what[0] & SPIKE_TRI_HEAD) && !(SpikeAbs(rbefore) * tol < (PetscReal)1.0 && rbefore == rbefore);
  }
  SpikeUnroll(j, SPIKE_TRI_ROWS) {
    if (what[j] >= 0) {
      const PetscScalar u    = SpikeTriRow(what[j], ll[j], dd[j], before, rbefore, &ll[j]);
      const PetscReal   size = SpikeAbs(u);

      bad     = bad || !(size > tol && size <= PETSC_MAX_REAL);
      before  = uu[j];
      rbefore = what[j] & SPIKE_TRI_SEP ? PetscScalar(1.0) : (PetscScalar)1.0 / u;
      dd[j]   = rbefore;
      uu[j]   = what[j] & SPIKE_TRI_SEP                                  ? uu[j]
              : what[j] & SPIKE_TRI_TAIL && !(what[j] & SPIKE_TRI_BELOW) ? PetscScalar(0.0)
                                                                         : uu[j] * rbefore;
    } else ll[j] = dd[j] = uu[j] = 0.0;
  }
  return bad;
}

/* Four rows of dl, d, du from i on, the kinds of those below hi, and du before them */
__device__ static __forceinline__ PetscScalar SpikeTriRows(const unsigned char *kind, const PetscScalar *dl,
                                                           const PetscScalar *d, const PetscScalar *du, PetscInt i,
                                                           PetscInt lo, PetscInt hi, bool wide, int what[],
                                                           PetscScalar ll[], PetscScalar dd[], PetscScalar uu[])
{
  PetscScalar before;

  SpikeTriLoad(dl, i, lo, hi, wide, ll);
  SpikeTriLoad(d, i, lo, hi, wide, dd);
  SpikeTriLoad(du, i, lo, hi, wide, uu);
  SpikeUnroll(j, SPIKE_TRI_ROWS) what[j] = i + j < hi ? (int)kind[i + j] : -1;
  before = SpikeShfl(uu[SPIKE_TRI_ROWS - 1], (threadIdx.x - 1) & 31);
  return threadIdx.x % 32 == 0 && i > lo && i < hi ? du[i - 1] : before;
}

/* tridiagonal.cu */
PETSC_INTERN PetscErrorCode SpikeTriStream_CUDA(SpikeTridiagonal *, cudaStream_t *);
PETSC_INTERN PetscErrorCode SpikeTriApply_CUDA(SpikeTridiagonal *, PetscBool, PetscInt, const PetscScalar *, PetscCount,
                                               PetscScalar *, PetscCount);
/* factor.cu */
PETSC_INTERN PetscErrorCode SpikeTriReport_CUDA(SpikeTridiagonal *, SpikePivot *);
PETSC_INTERN PetscErrorCode SpikeTriUnit_CUDA(SpikeTridiagonal *, const double *);
PETSC_INTERN PetscErrorCode SpikeTriSetUp_CUDA(SpikeTridiagonal *, const PetscScalar *, const PetscScalar *,
                                               const PetscScalar *, SpikePivot *);
/* shared.cu */
PETSC_INTERN PetscErrorCode SpikeTriPiecesCheck_CUDA(SpikeTriCUDA *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeTriPieces_CUDA(SpikeTriCUDA *, PetscBool, PetscInt, const PetscScalar *,
                                                const PetscScalar *, PetscCount, PetscScalar *, PetscCount,
                                                PetscScalar *, cudaStream_t);
/* serial.cu */
PETSC_INTERN PetscErrorCode SpikeTriSerialSetUp_CUDA(SpikeTriCUDA *, const PetscScalar *, const PetscScalar *,
                                                     const PetscScalar *, cudaStream_t);
PETSC_INTERN PetscErrorCode SpikeTriSerial_CUDA(SpikeTriCUDA *, PetscBool, PetscInt, const PetscScalar *,
                                                const PetscScalar *, PetscCount, PetscScalar *, PetscCount,
                                                cudaStream_t);
