/* SPDX-License-Identifier: BSD-2-Clause */
/*
  once.cu: setup and apply at once, without factors: a thread solves a chunk, a thread block the separators of its
  chunks by PCR, the separators of thread blocks by recursion. The library keeps factors; papers that solve each system
  once are compared with this
*/
#include "once.h"
#include "kernels/tridiagonal/cuda/tridiagonal.cuh"
#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/launch.cuh"

#define ONCE_CHUNK  8
#define ONCE_CHUNKS (SPIKE_TRI_PATCH / ONCE_CHUNK) /* threads of a block */

/*
  What a patch says about its separators x_above and x_below. [0]: its first row, x = y - p x_above - q x_below; [1]:
  the row of x_below itself, p x_above + q x_below + du x_first of the next patch = y
*/
struct OnceEnds {
  PetscScalar y[2], p[2], q[2];
};

/* What the kernels know: the patches of the library, whose factors they do not read, and ends[npatches] */
struct OncePatches : SpikeTriPatches {
  OnceEnds *ends;
};

/*
  The rows of a patch of four arrays, in granules of 16 bytes or one number. The places of granules in a chunk are
  permuted so that eight threads that read the same granule of their chunks meet no bank twice. Then the separators,
  twice
*/
struct OnceShared {
  enum {
    NUMBERS  = sizeof(PetscScalar) < 16 ? 16 / sizeof(PetscScalar) : 1, /* of a granule */
    GRANULES = ONCE_CHUNK / NUMBERS                                     /* of a chunk   */
  };
  alignas(16) PetscScalar row[4][SPIKE_TRI_PATCH];
  PetscScalar a[2][ONCE_CHUNKS], c[2][ONCE_CHUNKS], y[2][ONCE_CHUNKS];
};

__device__ static __forceinline__ int OncePlace(int chunk, int granule)
{
  return OnceShared::NUMBERS *
         (OnceShared::GRANULES * chunk + (granule ^ ((chunk * OnceShared::GRANULES / 8) & (OnceShared::GRANULES - 1))));
}

/*
  A patch of an array to shared memory, without rows from hi on. All threads; they wait for the copies and meet
  afterwards
*/
__device__ static __forceinline__ void OnceFetch(const PetscScalar *v, PetscInt lo, PetscInt hi, bool wide,
                                                 PetscScalar *to)
{
  SpikeUnroll(k, OnceShared::GRANULES) {
    const int g      = (int)threadIdx.x + k * ONCE_CHUNKS,
              at     = OncePlace(g / OnceShared::GRANULES, g % OnceShared::GRANULES);
    const PetscInt i = lo + g * OnceShared::NUMBERS;

    if (wide && i + OnceShared::NUMBERS <= hi)
      SpikeCopyAsync<OnceShared::NUMBERS * sizeof(PetscScalar), true>(to + at, v + i);
    else {
      SpikeUnroll(e, OnceShared::NUMBERS)
        if (i + e < hi) to[at + e] = v[i + e];
    }
  }
}

__device__ static __forceinline__ void OnceRows(const PetscScalar *from, PetscScalar v[])
{
  struct alignas(OnceShared::NUMBERS * sizeof(PetscScalar)) Granule {
    PetscScalar e[OnceShared::NUMBERS];
  };

  SpikeUnroll(q, OnceShared::GRANULES) {
    const Granule g = *(const Granule *)(from + OncePlace((int)threadIdx.x, q));

    SpikeUnroll(e, OnceShared::NUMBERS) v[q * OnceShared::NUMBERS + e] = g.e[e];
  }
}

#define ONCE_SEPARATOR (1ull << 62)

/*
  The first bad divisor u of a thread: its row and magnitude. Separators count after all other rows, whose bad divisors
  make them bad
*/
struct OnceBad {
  unsigned long long row;
  PetscReal          size;
};

__device__ static __forceinline__ void OnceCheck(PetscReal size, PetscReal tol, unsigned long long row, OnceBad &bad)
{
  if (!(size > tol && size <= PETSC_MAX_REAL) && bad.row == ~0ull) bad = {row, size};
}

/*
  The rows of a thread: f, d, c of the matrix, y of the right-hand side; 0, 1, 0, 0 beyond hi; no coupling of systems
*/
__device__ static __forceinline__ void OnceLoad(const OncePatches &tri, const OnceShared &held, PetscInt i, PetscInt hi,
                                                bool above, bool below, PetscScalar f[], PetscScalar d[],
                                                PetscScalar c[], PetscScalar y[])
{
  OnceRows(held.row[0], f);
  OnceRows(held.row[1], d);
  OnceRows(held.row[2], c);
  OnceRows(held.row[3], y);
  if (!below) { /* else one system has all rows */
    SpikeUnroll(j, ONCE_CHUNK) {
      const int is = i + j < hi ? (int)tri.kind[i + j] : -1;

      if (is < 0 || (is & (SPIKE_TRI_HEAD | SPIKE_TRI_ABOVE)) == SPIKE_TRI_HEAD) f[j] = 0.0;
      if (is < 0 || (is & (SPIKE_TRI_TAIL | SPIKE_TRI_BELOW)) == SPIKE_TRI_TAIL) c[j] = 0.0;
      if (is < 0) {
        d[j] = 1.0;
        y[j] = 0.0;
      }
    }
  } else if (!threadIdx.x && !above) f[0] = 0.0;
}

/*
  The separators' system x_t + A x_(t-s) + C x_(t+s) = Y, a row for each of `rows` threads, for s = 1, 2, 4, ... until
  no row is coupled, or all couplings are below PETSC_MACHINE_EPSILON / SPIKE_TRI_PATCH: less than a rounding of the
  largest x is lost. size: magnitude of the pivot so far; row: for the report
*/
__device__ static __forceinline__ void OncePCR(OnceShared &held, int rows, PetscReal tol, PetscReal size,
                                               unsigned long long row, PetscScalar &A, PetscScalar &C, PetscScalar &Y,
                                               OnceBad &bad)
{
  const int t = (int)threadIdx.x;

#pragma unroll 1
  for (int s = 1, w = 0; s < ONCE_CHUNKS; s *= 2, w ^= 1) {
    held.a[w][t] = A;
    held.c[w][t] = C;
    held.y[w][t] = Y;
    if (!__syncthreads_or(t < rows &&
                          !(SpikeTriAbs1(A) + SpikeTriAbs1(C) <= PETSC_MACHINE_EPSILON / SPIKE_TRI_PATCH))) {
      if (t < rows) A = C = 0.0;
      break;
    }
    if (t < rows) {
      const bool        up = t >= s, down = t + s < rows;
      const PetscScalar g = -A, h = -C, ca = up ? held.a[w][t - s] : PetscScalar(-1.0),
                        ac = down ? held.c[w][t + s] : PetscScalar(-1.0);
      PetscScalar u        = 1.0, r;

      if (up) {
        u = SpikeFma(g, held.c[w][t - s], u);
        Y = SpikeFma(g, held.y[w][t - s], Y);
      }
      if (down) {
        u = SpikeFma(h, held.a[w][t + s], u);
        Y = SpikeFma(h, held.y[w][t + s], Y);
      }
      size *= SpikeAbs(u);
      OnceCheck(size, tol, row, bad);
      r = (PetscScalar)1.0 / u;
      A = g * ca * r;
      C = h * ac * r;
      Y *= r;
    }
  }
}

/* The first bad number of the patch, if any, to the report. All threads of the thread block */
__device__ static __forceinline__ void OnceReport(const OncePatches &tri, const OnceBad &bad)
{
  __shared__ unsigned long long lowest;

  if (!__syncthreads_or(bad.row != ~0ull)) return;
  if (!threadIdx.x) lowest = ~0ull;
  __syncthreads();
  atomicMin(&lowest, bad.row);
  __syncthreads();
  if (lowest == bad.row) {
    tri.badvalue[blockIdx.x] = bad.size;
    atomicMin(&tri.report->badrow, lowest & ~ONCE_SEPARATOR);
  }
}

/* x <- the rows y of all threads, by shared memory where wide */
__device__ static __forceinline__ void OnceStore(PetscInt lo, PetscInt hi, bool wide, const PetscScalar y[],
                                                 OnceShared &held, PetscScalar *x)
{
  constexpr int  NUMBERS = OnceShared::NUMBERS, GRANULES = OnceShared::GRANULES;
  const int      t = (int)threadIdx.x;
  const PetscInt i = lo + ONCE_CHUNK * t;

  if (wide) {
    struct alignas(NUMBERS * sizeof(PetscScalar)) Granule {
      PetscScalar e[NUMBERS];
    };

    SpikeUnroll(q, GRANULES) {
      Granule g;

      SpikeUnroll(e, NUMBERS) g.e[e] = y[q * NUMBERS + e];
      *(Granule *)(held.row[0] + OncePlace(t, q)) = g;
    }
    __syncthreads();
    SpikeUnroll(q, GRANULES) {
      const int      at = t + q * ONCE_CHUNKS;
      const PetscInt r  = lo + at * NUMBERS;
      const Granule  g  = *(const Granule *)(held.row[0] + OncePlace(at / GRANULES, at % GRANULES));

      if (r + NUMBERS <= hi) *(Granule *)(x + r) = g;
      else {
        SpikeUnroll(e, NUMBERS)
          if (r + e < hi) x[r + e] = g.e[e];
      }
    }
  } else {
    SpikeUnroll(j, ONCE_CHUNK)
      if (i + j < hi) x[i + j] = y[j];
  }
}

/*
  x <- A^-1 b without factors. Reads 4 words a row, and a byte where systems end inside of a patch; writes one.

  A thread eliminates all rows of its chunk but the last, the separator, and keeps their coupling f to the separator
  before: x_j = y_j - f_j x_before - c_j x_(j+1). The separators' system, each row divided by its diagonal, is solved by
  PCR. A separator of patches is not a row of it but a boundary value, and couplings to it stay.

  ONLYENDS: writes no x, but what the ends of the patch say about the separators of patches. A bad divisor is reported.
  after:
  dl, d, du and b were written by the kernel before the first of this chain; else the patch is fetched before the
  previous kernel has ended. Deterministic.
*/
template <bool ONLYENDS>
__global__ void __launch_bounds__(ONCE_CHUNKS, 4)
  Once_Kernel(const __grid_constant__ OncePatches tri, const PetscScalar *dl, const PetscScalar *d,
              const PetscScalar *du, bool wide, bool after, PetscReal tol, const PetscScalar *xs, const PetscScalar *b,
              PetscScalar *x)
{
  extern __shared__ __align__(16) unsigned char shared[];
  constexpr int                                 LAST = ONCE_CHUNK - 1;
  OnceShared                                   &held = *(OnceShared *)shared;
  const int                                     k = (int)blockIdx.x, t = (int)threadIdx.x;
  const PetscInt lo = tri.first[k], hi = tri.first[k + 1], above = k ? tri.sep[k - 1] : -1, below = tri.sep[k],
                 i = lo + ONCE_CHUNK * t;
  /* of the separators' system */
  const int                rows = below >= 0 ? ONCE_CHUNKS - 1 : ONCE_CHUNKS;
  const unsigned long long row  = ONCE_SEPARATOR + (unsigned long long)(i + LAST);
  OnceBad                  bad  = {~0ull, 0.0};
  PetscScalar f[ONCE_CHUNK], d_[ONCE_CHUNK], c[ONCE_CHUNK], y[ONCE_CHUNK], ff, cc, yy, low, diagonal, A, C, Y;
  PetscReal   size = 0.0;

  SpikeRelease();
  if (after) SpikeAwait();
  if (ONLYENDS && above < 0 && below < 0) return;
  wide = wide && (lo % OnceShared::NUMBERS == 0 || OnceShared::NUMBERS == 1);
  OnceFetch(dl, lo, hi, wide, held.row[0]);
  OnceFetch(d, lo, hi, wide, held.row[1]);
  OnceFetch(du, lo, hi, wide, held.row[2]);
  OnceFetch(b, lo, hi, wide, held.row[3]);
  SpikeCopyWait();
  if (!after) SpikeAwait();
  __syncthreads();
  OnceLoad(tri, held, i, hi, above >= 0, below >= 0, f, d_, c, y);

  SpikeUnroll(j, LAST) {
    const PetscScalar m = f[j], u = j ? SpikeFma(-m, c[j ? j - 1 : 0], d_[j]) : d_[j], r = (PetscScalar)1.0 / u;

    OnceCheck(SpikeAbs(u), tol, (unsigned long long)(i + j), bad);
    c[j] *= r;
    y[j] = j ? SpikeFma(-m, y[j ? j - 1 : 0], y[j]) * r : y[j] * r;
    f[j] = j ? -m * f[j ? j - 1 : 0] * r : m * r;
  }
  yy = y[LAST - 1];
  ff = f[LAST - 1];
  cc = c[LAST - 1];
#pragma unroll
  for (int j = LAST - 2; j >= 0; j--) { /* the first row of the chunk: x = yy - ff x_before - cc x_separator */
    yy = SpikeFma(-c[j], yy, y[j]);
    ff = SpikeFma(-c[j], ff, f[j]);
    cc = -c[j] * cc;
  }
  held.a[1][t] = ff;
  held.c[1][t] = cc;
  held.y[1][t] = yy;
  __syncthreads();
  low      = -f[LAST] * f[LAST - 1];
  diagonal = SpikeFma(-f[LAST], c[LAST - 1], d_[LAST]);
  Y        = SpikeFma(-f[LAST], y[LAST - 1], y[LAST]);
  C        = 0.0;
  if (t + 1 < ONCE_CHUNKS) {
    diagonal = SpikeFma(-c[LAST], held.a[1][t + 1], diagonal);
    Y        = SpikeFma(-c[LAST], held.y[1][t + 1], Y);
    C        = -c[LAST] * held.c[1][t + 1];
  }
  A = low;
  if (t < rows) {
    const PetscScalar r = (PetscScalar)1.0 / diagonal;

    size = SpikeAbs(diagonal);
    OnceCheck(size, tol, row, bad);
    A *= r;
    C *= r;
    Y *= r;
    if (!ONLYENDS) { /* boundary values are known */
      if (!t && above >= 0) Y = SpikeFma(-A, xs[above], Y);
      if (t + 1 == rows && below >= 0) Y = SpikeFma(-C, xs[below], Y);
      if (!t) A = 0.0;
      if (t + 1 == rows) C = 0.0;
    }
  }
  OncePCR(held, rows, tol, size, row, A, C, Y, bad);
  /* the buffer that is not read any more, and what is read after the next barrier */
  __syncthreads();
  held.a[0][t] = A;
  held.c[0][t] = C;
  held.y[0][t] = Y = !ONLYENDS && t >= rows ? xs[below] : Y;
  OnceReport(tri, bad);
  if (ONLYENDS) {
    OnceEnds *ends = &tri.ends[k];

    if (!t) {
      ends->y[0] = SpikeFma(-cc, Y, yy);
      ends->p[0] = SpikeFma(-cc, A, ff);
      ends->q[0] = -cc * C;
    }
    if (t == rows && below >= 0) {
      ends->y[1] = SpikeFma(-low, held.y[0][t - 1], SpikeFma(-f[LAST], y[LAST - 1], y[LAST]));
      ends->p[1] = -low * held.a[0][t - 1];
      ends->q[1] = SpikeFma(-low, held.c[0][t - 1], diagonal);
    }
  } else {
    const PetscScalar before = t ? held.y[0][t - 1] : above >= 0 ? xs[above] : PetscScalar(0.0);

    y[LAST] = Y;
#pragma unroll
    for (int j = LAST - 1; j >= 0; j--) y[j] = SpikeFma(-c[j], y[j + 1], SpikeFma(-f[j], before, y[j]));
    OnceStore(lo, hi, wide, y, held, x);
  }
}

/*
  The separators' system and its right-hand side, from the ends of the patches beside them; x_first of a patch = y - p
  x_above - q x_below
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  OnceCondense_Kernel(const __grid_constant__ OncePatches tri, const PetscScalar *du, PetscScalar *sl, PetscScalar *sd,
                      PetscScalar *su, PetscScalar *sb)
{
  const PetscInt s = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  SpikeRelease();
  SpikeAwait();
  if (s >= tri.nsep) return;
  const PetscInt    k = tri.seppatch[s];
  const PetscScalar u = du[tri.first[k + 1] - 1];
  const OnceEnds    a = tri.ends[k], c = tri.ends[k + 1];

  sl[s] = a.p[1];
  sd[s] = SpikeFma(-u, c.p[0], a.q[1]);
  su[s] = -u * c.q[0];
  sb[s] = SpikeFma(-u, c.y[0], a.y[1]);
}

/*
  inner: of the separators, after the kernel that writes their system. ends: those of this level, then of its child's
*/
static PetscErrorCode Once_Private(const SpikeTridiagonal *t, bool inner, OnceEnds *ends, const PetscScalar *dl,
                                   const PetscScalar *d, const PetscScalar *du, PetscReal tol, const PetscScalar *b,
                                   PetscScalar *x, cudaStream_t stream)
{
  const SpikeTriCUDA *h  = (const SpikeTriCUDA *)t->data;
  PetscScalar        *sl = h->reduced, *sd = sl + h->nsep, *su = sd + h->nsep,
              *xs        = h->nsep ? su + 3 * (PetscCount)h->nsep : NULL;
  const bool     wide    = ((size_t)dl | (size_t)d | (size_t)du | (size_t)b | (size_t)x) % 16 == 0;
  const unsigned patches = (unsigned)h->npatches, shared = (unsigned)sizeof(OnceShared);
  const auto     begin = h->nsep ? Once_Kernel<true> : Once_Kernel<false>;
  OncePatches    tri;

  PetscFunctionBeginUser;
  (SpikeTriPatches &)tri = *h;
  tri.ends               = ends;
  if (inner)
    PetscCallCUDA(
      SpikeLaunchEarly(begin, patches, ONCE_CHUNKS, shared, stream, tri, dl, d, du, wide, true, tol, xs, b, x));
  else begin<<<patches, ONCE_CHUNKS, shared, stream>>>(tri, dl, d, du, wide, true, tol, xs, b, x);
  PetscCallCUDA(cudaGetLastError());
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(SpikeLaunchEarly(OnceCondense_Kernel, SpikeTriThreadBlocks(h->nsep), SPIKE_TRI_THREADS, 0, stream, tri,
                                 du, sl, sd, su, xs));
  PetscCall(Once_Private(&h->child, true, ends + h->npatches, sl, sd, su, tol, xs, xs, stream));
  PetscCallCUDA(SpikeLaunchEarly(Once_Kernel<false>, patches, ONCE_CHUNKS, shared, stream, tri, dl, d, du, wide, inner,
                                 tol, xs, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OnceSolve(Once *o, const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du, SpikePivot *pivot,
                         const PetscScalar *b, PetscScalar *x)
{
  SpikeTridiagonal   *t = o->t;
  const SpikeTriCUDA *h = (const SpikeTriCUDA *)t->data;
  cudaStream_t        stream;

  PetscFunctionBeginUser;
  /* pivots that are replaced change those after them: a matter of factors */
  if (pivot->boost > 0.0 || h->how != SPIKE_TRI_PREFIX || t->type == PC_SPIKE_TRIDIAGONAL_RD) {
    PetscCall((*t->k->setup)(t, dl, d, du, pivot));
    PetscCall((*t->k->apply)(t, PETSC_FALSE, 1, b, h->n, x, h->n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!h->npatches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeTriStream_CUDA(t, &stream));
  PetscCall(Once_Private(t, false, (OnceEnds *)o->ends, dl, d, du, PetscMax(pivot->tol, PETSC_REAL_MIN), b, x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OnceCreate(SpikeTridiagonal *t, Once *o)
{
  size_t count = 0;

  PetscFunctionBeginUser;
  o->t    = t;
  o->ends = NULL;
  PetscCall(SpikeKernelFit((const void *)Once_Kernel<true>, ONCE_CHUNKS, sizeof(OnceShared)));
  PetscCall(SpikeKernelFit((const void *)Once_Kernel<false>, ONCE_CHUNKS, sizeof(OnceShared)));
  for (const SpikeTriCUDA *h = (const SpikeTriCUDA *)t->data; h->nsep; h = (const SpikeTriCUDA *)h->child.data)
    count += (size_t)h->npatches;
  if (count) PetscCallCUDA(cudaMalloc(&o->ends, count * sizeof(OnceEnds)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OnceDestroy(Once *o)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaFree(o->ends));
  o->ends = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
