/* SPDX-License-Identifier: BSD-2-Clause */
/*
  onekernel.cu: CR, PCR, RD and CR-PCR as in Zhang, Cohen, Owens, PPoPP 2010: a thread block reads its system into
  shared memory, solves it there in place, and writes x. The library has other forms of them. Without some of their
  parts they say where the time of the whole goes (the slides' "manual differential method")
*/
#include "onekernel.h"
#include "kernels/common/cuda/device.cuh"
#include "kernels/common/cuda/unroll.cuh"
#include <cstring>

/* dl x_above + d x + du x_below = b */
struct OneRow {
  PetscScalar a, b, c, d;
};

/* Rows in shared memory: four arrays of n numbers, and the solution */
struct OneRows {
  int          n;
  PetscScalar *a, *b, *c, *d, *x;
};

/* The row that a thread changes in a step, and the two that it eliminates or knows */
struct OnePlaces {
  int i, above, below;
};

/* What a thread carries through all steps. nothing: 0, which the compiler does not know */
struct OneThread {
  int      t, nothing;
  unsigned places; /* of CONTROL: what its steps would have used */
};

__device__ static __forceinline__ OneRow OneGet(const OneRows &s, int i)
{
  return {s.a[i], s.b[i], s.c[i], s.d[i]};
}

__device__ static __forceinline__ void OnePut(const OneRows &s, int i, const OneRow &row)
{
  s.a[i] = row.a;
  s.b[i] = row.b;
  s.c[i] = row.c;
  s.d[i] = row.d;
}

/* ---- In place of what is left out ---- */

/*
  In place of arithmetic: exclusive or of all bits, an instruction for three numbers of 32 bits. No load of them can be
  left out, and the result waits for all
*/
__device__ static __forceinline__ PetscScalar OneMix(const PetscScalar &p)
{
  return p;
}

template <typename... More>
__device__ static __forceinline__ PetscScalar OneMix(const PetscScalar &p, const PetscScalar &q, const More &...more)
{
  constexpr int WORDS = (int)(sizeof(PetscScalar) / sizeof(unsigned));
  unsigned      u[WORDS], v[WORDS];
  PetscScalar   r;

  memcpy(u, &p, sizeof(p));
  memcpy(v, &q, sizeof(q));
  SpikeUnroll(k, WORDS) u[k] ^= v[k];
  memcpy(&r, u, sizeof(r));
  return OneMix(r, more...);
}

__device__ static __forceinline__ unsigned OneWord(const PetscScalar &p)
{
  constexpr int WORDS = (int)(sizeof(PetscScalar) / sizeof(unsigned));
  unsigned      u[WORDS], all = 0;

  memcpy(u, &p, sizeof(p));
  SpikeUnroll(k, WORDS) all ^= u[k];
  return all;
}

/* A number with a word mixed in */
__device__ static __forceinline__ PetscScalar OneMixWord(const PetscScalar &p, unsigned word)
{
  unsigned    u[sizeof(PetscScalar) / sizeof(unsigned)] = {word};
  PetscScalar q;

  memcpy(&q, u, sizeof(q));
  return OneMix(p, q);
}

/* In place of an access to shared memory: the thread computes the places */
__device__ static __forceinline__ void OneKeep(OneThread &me, const OnePlaces &p)
{
  me.places ^= (unsigned)(p.i ^ p.above ^ p.below);
}

/* ---- Steps ---- */

template <OneKernelParts PARTS>
constexpr bool OneConsecutive = PARTS == ONEKERNEL_SHARED || PARTS == ONEKERNEL_ARITHMETIC;

/*
  In place of any places in CR: consecutive rows for consecutive threads, of which there are at most n / 2. They change
  rows of the first half and read those of the second, which are never changed: rows stay dominant, so that no division
  meets a number that it takes longer for. They seem to depend on the stride, as those of the algorithm do
*/
__device__ static __forceinline__ OnePlaces OneNext(const OneThread &me, int n, int stride)
{
  const int i = me.t + (stride & me.nothing), above = i + (n >> 1);

  return {i, above, min(above + 1, n - 1)};
}

/*
  row - (a / b_above) above - (c / b_below) below: coupled to the rows that those two are coupled to. 12 numbers are
  read. a of a first row and c of a last one are 0, whichever rows are above and below of them
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ OneRow OneReduce(const OneRow &row, const OneRow &above, const OneRow &below)
{
  if constexpr (PARTS < ONEKERNEL_ARITHMETIC)
    return {OneMix(row.a, above.a, below.a), OneMix(row.b, above.b, below.b), OneMix(row.c, above.c, below.c),
            OneMix(row.d, above.d, below.d)};
  else {
    const PetscScalar g = row.a * ((PetscScalar)1.0 / above.b), h = row.c * ((PetscScalar)1.0 / below.b);

    return {-g * above.a, row.b - g * above.c - h * below.a, -h * below.c, row.d - g * above.d - h * below.d};
  }
}

/*
  CR's reduction: with stride s rows 2 s t + 2 s - 1 eliminate those s above and below, until `left` rows are left.
  Returns the stride of these: row t of them is row stride t + stride - 1. A step changes rows that no other thread
  reads in it: one barrier
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ int OneForward(const OneRows &s, int left, OneThread &me)
{
  int stride = 1;

#pragma unroll 1
  for (int count = s.n >> 1; count >= left; count >>= 1, stride <<= 1) {
    if (me.t < count) {
      const int i = 2 * stride * me.t + 2 * stride - 1;
      OnePlaces p = {i, i - stride, min(i + stride, s.n - 1)};

      if (OneConsecutive<PARTS>) p = OneNext(me, s.n, stride);
      if constexpr (PARTS >= ONEKERNEL_SHARED)
        OnePut(s, p.i, OneReduce<PARTS>(OneGet(s, p.i), OneGet(s, p.above), OneGet(s, p.below)));
      else OneKeep(me, p);
    }
    __syncthreads();
  }
  return stride;
}

/*
  CR's substitution: with stride s, s / 2, ... 2 rows s t + s / 2 - 1 follow from those s / 2 above and below, as many
  as are known: left, 2 left, ... A first row has none above; a = 0 times x below in its place
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ void OneBackward(const OneRows &s, int left, int stride, OneThread &me)
{
#pragma unroll 1
  for (int count = left; count < s.n; count <<= 1, stride >>= 1) {
    if (me.t < count) {
      const int half = stride >> 1, i = stride * me.t + half - 1;
      OnePlaces p = {i, me.t ? i - half : i + half, i + half};

      if (OneConsecutive<PARTS>) p = OneNext(me, s.n, stride);
      if constexpr (PARTS >= ONEKERNEL_SHARED) {
        /* the second half of x is not there without the other rows */
        const PetscScalar *known = OneConsecutive<PARTS> ? s.d : s.x;
        const OneRow       row   = OneGet(s, p.i);
        const PetscScalar  xa = known[p.above], xb = known[p.below];

        if constexpr (PARTS == ONEKERNEL_SHARED) s.x[p.i] = OneMix(row.a, row.b, row.c, row.d, xa, xb);
        else s.x[p.i] = (row.d - row.a * xa - row.c * xb) * ((PetscScalar)1.0 / row.b);
      } else OneKeep(me, p);
    }
    __syncthreads();
  }
}

/*
  Rows t and t + m / 2 of PCR, or the two that CR leaves, are coupled to each other alone. In `rows` they are at
  step t + step - 1, in x at stride t + stride - 1. m / 2 threads
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ void OnePairs(const OneRows &rows, int m, int step, PetscScalar *x, int stride,
                                                OneThread &me)
{
  if (me.t < m >> 1) {
    const int i = step * me.t + step - 1, j = i + step * (m >> 1), xi = stride * me.t + stride - 1,
              xj = xi + stride * (m >> 1);

    if constexpr (PARTS >= ONEKERNEL_SHARED) {
      const PetscScalar bi = rows.b[i], ci = rows.c[i], di = rows.d[i], aj = rows.a[j], bj = rows.b[j], dj = rows.d[j];

      if constexpr (PARTS == ONEKERNEL_SHARED) {
        x[xi] = OneMix(bi, di, aj, dj);
        x[xj] = OneMix(ci, di, bj, dj);
      } else {
        const PetscScalar r = (PetscScalar)1.0 / (bi * bj - ci * aj);

        x[xi] = (bj * di - ci * dj) * r;
        x[xj] = (bi * dj - aj * di) * r;
      }
    } else OneKeep(me, {i ^ j, xi, xj});
  }
  __syncthreads();
}

/*
  PCR: with stride s all of m rows eliminate those s above and below, until pairs are left; one thread has one row. Rows
  that others read are changed: a barrier before and one after it. No bank conflicts. x as in OnePairs()
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ void OneParallel(const OneRows &rows, int m, PetscScalar *x, int xstride,
                                                   OneThread &me)
{
#pragma unroll 1
  for (int stride = 1; stride < m >> 1; stride <<= 1) {
    const OnePlaces p = {me.t, max(me.t - stride, 0), min(me.t + stride, m - 1)};
    OneRow          row{};

    if (me.t < m) {
      if constexpr (PARTS >= ONEKERNEL_SHARED)
        row = OneReduce<PARTS>(OneGet(rows, p.i), OneGet(rows, p.above), OneGet(rows, p.below));
      else OneKeep(me, p);
    }
    __syncthreads();
    if constexpr (PARTS >= ONEKERNEL_SHARED)
      if (me.t < m) OnePut(rows, p.i, row);
    __syncthreads();
  }
  OnePairs<PARTS>(rows, m, 1, x, xstride, me);
}

/*
  RD: (x_(i+1), x_i, 1) = B_i (x_i, x_(i-1), 1), B_i = [-b/c -a/c d/c; 1 0 0; 0 0 1], x_(-1) = 0, and c = 1 in the last
  row, after which x_n = 0. Prefixes C_i = B_i ... B_0 by a scan in place, with stride s: C_i <- C_i C_(i-s): the first
  two rows of each, v[0 .. 5]. 6 arrays of n numbers, two barriers a step, no bank conflicts. C grows as fast as the
  solutions of the recurrence do: dominant systems lose all digits, long ones overflow. Returns x of the thread's row
*/
template <OneKernelParts PARTS>
__device__ static __forceinline__ PetscScalar OneDouble(PetscScalar *v, int n, OneRow row, OneThread &me)
{
  const int   t = me.t;
  PetscScalar C[6], L[6];

  if constexpr (PARTS >= ONEKERNEL_SHARED) {
    if (t == n - 1) row.c = 1.0;
    if constexpr (PARTS == ONEKERNEL_SHARED) {
      C[0] = OneMix(row.b, row.c);
      C[1] = OneMix(row.a, row.c);
      C[2] = OneMix(row.d, row.c);
    } else {
      const PetscScalar r = (PetscScalar)1.0 / row.c;

      C[0] = -row.b * r;
      C[1] = -row.a * r;
      C[2] = row.d * r;
    }
    C[3] = 1.0;
    C[4] = C[5] = 0.0;
    SpikeUnroll(k, 6) v[k * n + t] = C[k];
  }
  __syncthreads();
#pragma unroll 1
  for (int stride = 1; stride < n; stride <<= 1) {
    if (t >= stride) {
      if constexpr (PARTS >= ONEKERNEL_SHARED) {
        SpikeUnroll(k, 6) C[k] = v[k * n + t];
        SpikeUnroll(k, 6) L[k] = v[k * n + t - stride];
        if constexpr (PARTS == ONEKERNEL_SHARED) {
          SpikeUnroll(k, 6) L[k] = OneMix(C[k], L[k]);
        } else {
          SpikeUnroll(r, 2) {
            const PetscScalar p = C[3 * r], q = C[3 * r + 1];

            SpikeUnroll(k, 3) C[3 * r + k] = k < 2 ? p * L[k] + q * L[3 + k] : p * L[k] + q * L[3 + k] + C[3 * r + k];
          }
          SpikeUnroll(k, 6) L[k] = C[k];
        }
      } else OneKeep(me, {t, t - stride, 0});
    }
    __syncthreads();
    if constexpr (PARTS >= ONEKERNEL_SHARED)
      if (t >= stride) {
        SpikeUnroll(k, 6) v[k * n + t] = L[k];
      }
    __syncthreads();
  }
  if constexpr (PARTS >= ONEKERNEL_SHARED) {
    const PetscScalar p = v[n - 1], r = v[3 * n - 1], u = v[3 * n + t], w = v[5 * n + t];

    if constexpr (PARTS == ONEKERNEL_SHARED) return OneMix(p, r, u, w);
    else return w - u * (r * ((PetscScalar)1.0 / p));
  }
  return row.d;
}

/* ---- Kernels ---- */

/* Rows of a thread: as many as the algorithm has threads for in its first step */
template <OneKernelType TYPE>
constexpr int OnePer = TYPE == ONEKERNEL_CR || TYPE == ONEKERNEL_CRPCR ? 2 : 1;

/*
  x <- A^-1 b: a thread block has a system of n rows and n / OnePer threads. Reads 4 words a row, writes one. In shared
  memory: 5 words a row; RD 6; CR-PCR 4 more for each of `left` rows, which PCR has consecutively.

  Without parts x is written too, of what was read, so that all of it has to be read.
*/
template <OneKernelType TYPE, OneKernelParts PARTS>
__global__ void __launch_bounds__(ONEKERNEL_ROWS / OnePer<TYPE>)
  OneKernel_Kernel(int n, int left, int nothing, const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du,
                   const PetscScalar *b, PetscScalar *x)
{
  if constexpr (PARTS > ONEKERNEL_LAUNCH) {
    extern __shared__ __align__(16) unsigned char shared[];
    constexpr int                                 PER = OnePer<TYPE>;
    const PetscCount                              at  = (PetscCount)blockIdx.x * n + threadIdx.x;
    PetscScalar                                  *v   = (PetscScalar *)shared, value[PER];
    const OneRows                                 s   = {n, v, v + n, v + 2 * n, v + 3 * n, v + 4 * n};
    OneThread                                     me  = {(int)threadIdx.x, nothing, 0};
    OneRow                                        row[PER];

    SpikeUnroll(k, PER) {
      const PetscCount i = at + k * blockDim.x;

      row[k] = {dl[i], d[i], du[i], b[i]};
      if constexpr (PARTS < ONEKERNEL_SHARED) value[k] = OneMix(row[k].a, row[k].b, row[k].c, row[k].d);
    }
    if constexpr (PARTS == ONEKERNEL_CONTROL) { /* steps begin when all is read, as where it goes to shared memory */
      unsigned word = 1;

      SpikeUnroll(k, PER) word |= OneWord(value[k]);
      if (word == (unsigned)nothing) x[at] = value[0]; /* never */
    }
    if constexpr (PARTS > ONEKERNEL_GLOBAL) {
      if constexpr (TYPE == ONEKERNEL_RD) {
        const PetscScalar solved = OneDouble<PARTS>(v, n, row[0], me);

        if constexpr (PARTS >= ONEKERNEL_SHARED) value[0] = solved;
      } else {
        int stride = 1;

        if constexpr (PARTS >= ONEKERNEL_SHARED) {
          SpikeUnroll(k, PER) OnePut(s, me.t + k * (int)blockDim.x, row[k]);
        }
        __syncthreads();
        if constexpr (TYPE != ONEKERNEL_PCR) stride = OneForward<PARTS>(s, left, me);
        const int places = OneConsecutive<PARTS> ? 1 + (stride & nothing) : stride;

        if constexpr (TYPE == ONEKERNEL_PCR) OneParallel<PARTS>(s, n, s.x, 1, me);
        if constexpr (TYPE == ONEKERNEL_CR) OnePairs<PARTS>(s, 2, places, s.x, places, me);
        if constexpr (TYPE == ONEKERNEL_CRPCR) {
          PetscScalar  *w    = v + 5 * n;
          const OneRows rest = {left, w, w + left, w + 2 * left, w + 3 * left, NULL};
          const int     i    = places * me.t + places - 1;

          if (me.t < left) {
            if constexpr (PARTS >= ONEKERNEL_SHARED) OnePut(rest, me.t, OneGet(s, i));
            else OneKeep(me, {i, 0, 0});
          }
          __syncthreads();
          OneParallel<PARTS>(rest, left, s.x, places, me);
        }
        if constexpr (TYPE != ONEKERNEL_PCR) OneBackward<PARTS>(s, left, stride, me);
        if constexpr (PARTS >= ONEKERNEL_SHARED) {
          value[0] = s.x[me.t];
          if constexpr (PER > 1) /* of the second half, see OneBackward() */
            value[PER - 1] = (OneConsecutive<PARTS> ? s.d : s.x)[me.t + (int)blockDim.x];
        }
      }
    }
    if constexpr (PARTS == ONEKERNEL_CONTROL) value[0] = OneMixWord(value[0], me.places);
    SpikeUnroll(k, PER) x[at + k * blockDim.x] = value[k];
  }
}

typedef void (*OneKernelFunction)(int, int, int, const PetscScalar *, const PetscScalar *, const PetscScalar *,
                                  const PetscScalar *, PetscScalar *);

#define ONEKERNELS(TYPE) \
  { \
    OneKernel_Kernel<TYPE, ONEKERNEL_LAUNCH>, OneKernel_Kernel<TYPE, ONEKERNEL_GLOBAL>, \
      OneKernel_Kernel<TYPE, ONEKERNEL_CONTROL>, OneKernel_Kernel<TYPE, ONEKERNEL_SHARED>, \
      OneKernel_Kernel<TYPE, ONEKERNEL_ARITHMETIC>, OneKernel_Kernel<TYPE, ONEKERNEL_ALL> \
  }

static const OneKernelFunction onekernels[NONEKERNEL][ONEKERNEL_NPARTS] = {ONEKERNELS(ONEKERNEL_CR),
                                                                           ONEKERNELS(ONEKERNEL_PCR),
                                                                           ONEKERNELS(ONEKERNEL_RD),
                                                                           ONEKERNELS(ONEKERNEL_CRPCR)};

PetscErrorCode OneKernelSolve(OneKernelType type, OneKernelParts parts, PetscInt nsys, PetscInt m, PetscInt left,
                              const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du, const PetscScalar *b,
                              PetscScalar *x, cudaStream_t stream)
{
  const OneKernelFunction kernel = onekernels[type][parts];
  const bool              halves = type == ONEKERNEL_CR || type == ONEKERNEL_CRPCR;
  const int               n = (int)m, threads = halves ? n / 2 : n, rest = type == ONEKERNEL_CRPCR ? (int)left : 2;
  const size_t            words = type == ONEKERNEL_RD    ? 6 * (size_t)n
                                : type == ONEKERNEL_CRPCR ? 5 * (size_t)n + 4 * (size_t)rest
                                                          : 5 * (size_t)n,
               shared           = words * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCheck(m >= 2 && m <= ONEKERNEL_ROWS && !(m & (m - 1)), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Systems of %" PetscInt_FMT " rows, but 2, 4, 8, ... %d are possible", m, ONEKERNEL_ROWS);
  PetscCheck(type != ONEKERNEL_CRPCR || (left >= 2 && left <= m / 2 && !(left & (left - 1))), PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "CR-PCR leaves %" PetscInt_FMT " of %" PetscInt_FMT " rows", left, m);
  if (!nsys) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeKernelFit((const void *)kernel, threads, shared));
  kernel<<<(unsigned)nsys, (unsigned)threads, shared, stream>>>(n, rest, 0, dl, d, du, b, x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
