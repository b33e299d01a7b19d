/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult.cuh: the CUDA backend's copies of a matrix, and the loops over their rows, for any kernel that wants products of
  rows in registers
*/
#pragma once

#include "krylov.cuh"
#include "places.cuh"
#include "kernels/dia/cuda/dia.cuh"

/*
  In slices of 32 / T rows, T lanes a row. Lane r T + t has the entries t, t + T, ... of row r of the slice, in as many
  chunks of 32 places as its longest row needs. A place after the end of a row has the value 0 and the row's own number
  as column, because x is read there anyway.
*/
typedef struct {
  PetscInt     n;
  int          T;
  bool         leaving; /* of SpikePlacePolicy() */
  PetscInt     slices;
  PetscInt64   chunks;
  PetscInt64  *start; /* [slices + 1] first chunk of each slice */
  int         *col;   /* [32 chunks]                            */
  PetscScalar *val;   /* [32 chunks]                            */
} SpikeKrylovSell;

/*
  By diagonals: val[d ld + i] = A(i, i + offset[d]), 0 where A has no entry; places of columns outside of A are not read
*/
typedef struct {
  /* rows, and columns; begin, end: the rows of a product, all of them unless some have columns of other ranks */
  PetscInt     n, begin, end;
  int          T, count;
  bool         leaving; /* of SpikePlacePolicy() */
  PetscInt64   ld;
  PetscInt    *offset; /* [count] ascending */
  PetscScalar *val;    /* [count ld]        */
} SpikeKrylovDia;

/*
  Columns of other ranks, in CSR: the rows, or block rows, that have some, ascending, T lanes each. Bit i % 32 of
  mask[i / 32] is set where row i is, or is in, one of them
*/
typedef struct {
  PetscInt     count;
  int          T;
  PetscInt    *row, *at, *aj; /* [count], [count + 1], [at[count]] */
  PetscScalar *aa;
  unsigned    *mask;
} SpikeKrylovOff;

/* Rows of a lane, 32 apart, whose narrow values of a diagonal lie side by side: one load has them; and of a warp */
#define SPIKE_NARROW_ROWS  4
#define SPIKE_NARROW_PATCH (32 * SPIKE_NARROW_ROWS)

/*
  The same with values of type V, and c_i of each row i: it goes last into the sum of the row. In slices they are in the
  places of those of M, which are not read. By diagonals they lie in patches of rows, one diagonal of a patch after the
  other: SpikeNarrowPlace(). Places of rows after the last one hold zeros
*/
template <typename M, typename V>
struct SpikeNarrowOf : M {
  using Value = V;

  const V           *low;
  const SpikeSingle *correction;
};

/* Of `count` diagonals, the place of number d in this row */
static inline PetscInt64 __host__ __device__ SpikeNarrowPlace(int count, int d, PetscInt row)
{
  const PetscInt patch = row / SPIKE_NARROW_PATCH, i = row % SPIKE_NARROW_PATCH;

  return (((PetscInt64)patch * count + d) * 32 + i % 32) * SPIKE_NARROW_ROWS + i / 32;
}

/* Rows of whole patches */
static inline PetscInt64 __host__ __device__ SpikeNarrowPatchedRows(const SpikeKrylovDia &m)
{
  return ((PetscInt64)m.n + SPIKE_NARROW_PATCH - 1) / SPIKE_NARROW_PATCH * SPIKE_NARROW_PATCH;
}

static inline const PetscScalar *__host__ __device__ SpikeValues(const SpikeKrylovSell &m)
{
  return m.val;
}

template <typename V>
static inline const V *__host__ __device__ SpikeValues(const SpikeNarrowOf<SpikeKrylovSell, V> &m)
{
  return m.low;
}

/* The value of diagonal d in a row */
__device__ static __forceinline__ PetscScalar SpikeValue(const SpikeKrylovDia &m, int d, PetscInt row)
{
  return m.val[d * m.ld + row];
}

template <typename V>
__device__ static __forceinline__ PetscScalar SpikeValue(const SpikeNarrowOf<SpikeKrylovDia, V> &m, int d, PetscInt row)
{
  return SpikeLoad(m.low + SpikeNarrowPlace(m.count, d, row));
}

/* c_i, or nothing: on its way while the row is summed. x_i comes after that: a cache has it, other rows have used it */
struct SpikeNoCorrection { };

__device__ static __forceinline__ SpikeNoCorrection SpikeCorrection(const SpikeKrylovSell &, PetscInt)
{
  return {};
}

__device__ static __forceinline__ SpikeNoCorrection SpikeCorrection(const SpikeKrylovDia &, PetscInt)
{
  return {};
}

template <typename M, typename V>
__device__ static __forceinline__ SpikeSingle SpikeCorrection(const SpikeNarrowOf<M, V> &m, PetscInt row)
{
  return m.correction[row];
}

/* The sum of row i with c_i x_i */
template <typename X>
__device__ static __forceinline__ PetscScalar SpikeCorrected(SpikeNoCorrection, PetscScalar sum, PetscInt, X &&)
{
  return sum;
}

template <typename X>
__device__ static __forceinline__ PetscScalar SpikeCorrected(SpikeSingle c, PetscScalar sum, PetscInt row, X &&x)
{
  return SpikeFma(PetscScalar(c), x(row, true), sum);
}

typedef struct {
  SpikeKrylovCopy base;
  PetscInt        nz;
  SpikeKrylovSell sell;
  SpikeKrylovDia  dia;
  bool            coupled; /* off, beside sell or dia, has columns of other ranks; loan supplies them */
  SpikeKrylovOff  off;     /* of blocks that are lent: block rows, and no entries */
  int             diaoffset[SPIKE_KRYLOV_MAXDIAGONALS]; /* those of dia, for the host */
  bool            borrowed;                             /* dia lies in the memory of a matrix: */
  SpikeKrylovLoan loan;

  const SpikeStencil *stencil; /* that is lent, or NULL */

  /* narrow: values of the type of base.precision, c of each row, and room for what is seen of values; else NULL */
  void        *low;
  SpikeSingle *correction;
  int         *seen; /* [2] */
} SpikeKrylovCopyCUDA;

/*
  Memory for a copy, which a solver can do without: *there is false, and the memory NULL, where the device has none left
*/
static inline PetscErrorCode SpikeKrylovCopyAlloc(void **memory, size_t bytes, bool *there)
{
  const cudaError_t error = cudaMalloc(memory, bytes);

  PetscFunctionBegin;
  *there = error == cudaSuccess;
  if (!*there) {
    *memory = NULL;
    (void)cudaGetLastError();
    if (error != cudaErrorMemoryAllocation) PetscCallCUDA(error);
    PetscCall(
      PetscInfo(NULL, "No memory for the device's own copy of a matrix (%zu bytes): products without it\n", bytes));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt SpikeKrylovCopyRows(const SpikeKrylovCopyCUDA *c)
{
  if (c->stencil) return SpikeStencilSize(c->stencil);
  if (c->loan.block) return c->loan.block->mb * c->loan.block->bs;
  return c->base.form == KSP_FUSED_SPMV_DIA ? c->dia.n : c->sell.n;
}

/* call(step) with the step as a constant: those that a product can have in its epilogue, or SPIKE_KRYLOV_NSTEPS */
template <typename F>
static inline PetscErrorCode SpikeKrylovMultDispatch(SpikeKrylovStep step, F &&call)
{
  PetscFunctionBegin;
  switch (step) {
#define SPIKE_MULT_CASE(ID) \
  case ID: \
    PetscCall(call(std::integral_constant<int, ID>())); \
    break;
    SPIKE_MULT_CASE(SPIKE_BCGS_ALPHA)
    SPIKE_MULT_CASE(SPIKE_BCGS_OMEGA)
    SPIKE_MULT_CASE(SPIKE_BCGS_OMEGA_RHO)
    SPIKE_MULT_CASE(SPIKE_CG_ALPHA)
    SPIKE_MULT_CASE(SPIKE_CG1_BETA)
    SPIKE_MULT_CASE(SPIKE_KRYLOV_NSTEPS)
#undef SPIKE_MULT_CASE
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %s has no product", SpikeKrylovSteps[step].name);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No step: the product alone */
template <>
struct SpikeKrylovTraits<SPIKE_KRYLOV_NSTEPS> {
  static constexpr int                   nv = 1, nd = 0;
  static constexpr unsigned              read = 0, written = 0;
  __device__ static __forceinline__ void row(const SpikeKrylovFactors *, PetscScalar[], PetscScalar[]) { }
};

/* What a product and its step work on; NULL where the number of blocks is all that is asked for */
typedef struct {
  const PetscScalar *scale, *x;
  PetscScalar       *y;
  SpikeKrylovVectors v;
  int                own;
  bool               recur;
  PetscInt           before, total; /* blocks of the previous kernel, and of both, where two share a step */
} SpikeKrylovMultArgs;

/* Nothing to fetch for a row */
struct SpikeKrylovNothing {
  __device__ __forceinline__ SpikeKrylovNothing operator()(PetscInt) const { return {}; }
};

/*
  f(i, (A x)_i, fetch(i)) for each row i once, in some thread. Loads of fetch() are on their way while the row is
  summed. `threads` threads call it, in whole warps, each with a number of its own, after all threads of the thread
  block have called prepare(). x(j, inside) is x_j; where inside is false it is 0 and reads nothing. Which thread has
  which rows depends on `threads` alone. Reads each place of the copy once, (8 + 4) bytes in slices and 8 by diagonals
  in double precision, and x as often as the caches lose it.
*/
template <int T, class M = SpikeKrylovSell>
struct SpikeSellRows {
  static constexpr int LANES = T;

  M m;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads, X &&x, G &&fetch,
                                       F &&f) const
  {
    constexpr int            rows   = 32 / T;
    const int                lane   = threadIdx.x % 32;
    const unsigned long long policy = SpikePlacePolicy(m.leaving);

    for (PetscInt s = number / 32; s < m.slices; s += threads / 32) {
      const PetscInt64     begin = m.start[s], end = m.start[s + 1];
      const PetscInt       row = s * rows + lane / T;
      const auto          *val = SpikeValues(m);
      PetscScalar          sum = 0.0;
      decltype(fetch(row)) fetched;

      decltype(SpikeCorrection(m, row)) correction;

      if (lane % T == 0 && row < m.n) {
        fetched    = fetch(row);
        correction = SpikeCorrection(m, row);
      }

      for (PetscInt64 c = begin; c < end; c += SPIKE_MULT_BATCH) {
        PetscScalar a[SPIKE_MULT_BATCH], b[SPIKE_MULT_BATCH];
        int         col[SPIKE_MULT_BATCH];

        SpikeUnroll(u, SPIKE_MULT_BATCH) col[u] = c + u < end ? SpikeLoadPlace(m.col + 32 * (c + u) + lane, policy) : 0;
        SpikeUnroll(u, SPIKE_MULT_BATCH) {
          a[u] = 0.0;
          if (c + u < end) {
            const auto place = SpikeLoadPlace(val + 32 * (c + u) + lane, policy);

            a[u] = SpikeLoad(&place);
          }
          b[u] = x(col[u], c + u < end);
        }
        SpikeUnroll(u, SPIKE_MULT_BATCH) sum = SpikeFma(a[u], b[u], sum);
      }
#pragma unroll
      for (int t = T / 2; t; t /= 2) sum += SpikeShfl(sum, lane ^ t);
      if (lane % T == 0 && row < m.n) f(row, SpikeCorrected(correction, sum, row, x), fetched);
    }
  }
};

template <class M>
constexpr bool SpikeIsNarrow = false;
template <class M, typename V>
constexpr bool SpikeIsNarrow<SpikeNarrowOf<M, V>> = true;

/* The same of rows, of which some have no such m */
template <class MATRIX, class = void>
constexpr bool SpikeHasNarrow = false;
template <class MATRIX>
constexpr bool SpikeHasNarrow<MATRIX, std::enable_if_t<SpikeIsNarrow<decltype(MATRIX::m)>>> = true;

/* Offsets in shared memory, for those that sum rows by them */
template <class M>
struct SpikeDIATabled {
  M m;

  struct SharedMemory {
    PetscInt offset[SPIKE_KRYLOV_MAXDIAGONALS];
  };

  __device__ __forceinline__ void prepare(SharedMemory &shared) const
  {
    for (int d = threadIdx.x; d < m.count; d += blockDim.x) shared.offset[d] = m.offset[d];
    __syncthreads();
  }
};

/* T lanes a row: lane t has the diagonals t, t + T, ... Rounds are those of whole warps, which meet in the shuffles */
template <int T>
struct SpikeDIARows : SpikeDIATabled<SpikeKrylovDia> {
  static constexpr int LANES = T;

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscInt number, PetscInt threads, X &&x, G &&fetch,
                                       F &&f) const
  {
    const PetscInt           per    = threads / T;
    const unsigned long long policy = SpikePlacePolicy(m.leaving);

    for (PetscInt first = m.begin + number / 32 * (32 / T); first < m.end; first += per) {
      const int            lane = threadIdx.x % 32, t = lane % T;
      const PetscInt       row = first + lane / T;
      const PetscScalar   *val = m.val + row;
      PetscScalar          sum = 0.0;
      decltype(fetch(row)) fetched;

      if (t == 0 && row < m.end) fetched = fetch(row);
      if (row < m.end)
        sum = SpikeDIASum<T>(t, m.count, sum, [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
          const PetscInt j      = there ? row + shared.offset[d] : -1;
          const bool     inside = j >= 0 && j < m.n;

          *a = inside ? SpikeLoadPlace(val + d * m.ld, policy) : PetscScalar(0.0);
          *b = x(j, inside);
        });
#pragma unroll
      for (int k = T / 2; k; k /= 2) sum += SpikeShfl(sum, lane ^ k);
      if (t == 0 && row < m.end) f(row, sum, fetched);
    }
  }
};

/*
  A piece of `rows` neighbouring rows for each thread block: of a matrix that no cache holds, places then lie in few
  pages of memory at a time, and x of a row serves those beside it on the same multiprocessor (gbcg-cuda.txt)
*/
struct SpikeDIAPieces : SpikeDIATabled<SpikeKrylovDia> {
  static constexpr int LANES = 1;

  PetscInt rows;

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscInt number, PetscInt, X &&x, G &&fetch,
                                       F &&f) const
  {
    const PetscInt64 from  = m.begin + (PetscInt64)(number / SPIKE_KRYLOV_THREADS) * rows;
    const PetscInt   count = (PetscInt)PetscMin((PetscInt64)rows, m.end - from);

    for (PetscInt k = number % SPIKE_KRYLOV_THREADS; k < count; k += SPIKE_KRYLOV_THREADS) {
      const PetscInt     row     = (PetscInt)from + k;
      const PetscScalar *val     = m.val + row;
      const auto         fetched = fetch(row);

      f(row,
        SpikeDIASum<1>(0, m.count, PetscScalar(0.0),
                       [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
                         const PetscInt j      = there ? row + shared.offset[d] : -1;
                         const bool     inside = j >= 0 && j < m.n;

                         *a = inside ? SpikeLoadOnce(val + d * m.ld) : PetscScalar(0.0);
                         *b = x(j, inside);
                       }),
        fetched);
    }
  }
};

/*
  Narrow values of so many diagonals are on their way at once, 16 bytes of a row; the entries of x of as many diagonals
*/
template <typename V>
constexpr int SpikeNarrowAhead = PetscMax(1, 16 / (int)sizeof(V));
#define SPIKE_NARROW_BATCH 4

/* The narrow values of a diagonal in the rows of a lane */
template <typename V>
__device__ static __forceinline__ void SpikeNarrowLoad(const V *low, V a[SPIKE_NARROW_ROWS])
{
  constexpr int each = PetscMin(SPIKE_NARROW_ROWS, 16 / (int)sizeof(V));

  SpikeUnroll(k, SPIKE_NARROW_ROWS / each) SpikeLoadStream<V, each>(low + k * each, a + k * each);
}

/*
  A narrow copy by diagonals: a warp a patch, a lane SPIKE_NARROW_ROWS rows, 32 apart, so that a load of values is as
  wide as one of two numbers in double precision, and x of a diagonal is at a fixed distance from row to row. Sums are
  over all diagonals, in their order. Reads each place once, with zeros where columns are outside of A
*/
template <class M>
struct SpikeDIAPatches : SpikeDIATabled<M> {
  static constexpr int LANES = 1;

  using typename SpikeDIATabled<M>::SharedMemory;
  using SpikeDIATabled<M>::m;
  using V = typename M::Value;

  /* Of rows row, row + 32, ...; whole: all columns of all rows of the patch are columns of A */
  template <bool WHOLE, typename X>
  __device__ __forceinline__ void sum(const SharedMemory &shared, PetscInt row, PetscScalar sums[], X &&x) const
  {
    constexpr int ahead = SpikeNarrowAhead<V>, batch = PetscMin(ahead, SPIKE_NARROW_BATCH);
    const V      *low = m.low + SpikeNarrowPlace(m.count, 0, row);

    for (int d = 0; d < m.count; d += ahead) {
      V a[ahead][SPIKE_NARROW_ROWS];

      SpikeUnroll(u, ahead)
        if (d + u < m.count) SpikeNarrowLoad(low + (PetscInt64)(d + u) * SPIKE_NARROW_PATCH, a[u]);
      SpikeUnroll(w, ahead / batch) {
        PetscScalar b[batch][SPIKE_NARROW_ROWS];

        if (d + w * batch >= m.count) break;
        SpikeUnroll(u, batch) {
          const int      k = d + w * batch + u;
          const PetscInt j = row + shared.offset[PetscMin(k, m.count - 1)];

          SpikeUnroll(r, SPIKE_NARROW_ROWS) {
            const PetscInt c = j + 32 * r;

            b[u][r] = x(c, WHOLE || (c >= 0 && c < m.n));
          }
        }
        SpikeUnroll(u, batch)
          if (d + w * batch + u < m.count)
            SpikeUnroll(r, SPIKE_NARROW_ROWS) sums[r] = SpikeFma(SpikeLoad(&a[w * batch + u][r]), b[u][r], sums[r]);
      }
    }
  }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscInt number, PetscInt threads, X &&x, G &&fetch,
                                       F &&f) const
  {
    for (PetscInt64 patch = m.begin / SPIKE_NARROW_PATCH + number / 32; patch * SPIKE_NARROW_PATCH < m.end;
         patch += threads / 32) {
      const PetscInt64     begin = patch * SPIKE_NARROW_PATCH, last = begin + SPIKE_NARROW_PATCH - 1;
      const PetscInt       row = (PetscInt)begin + threadIdx.x % 32;
      decltype(fetch(row)) fetched[SPIKE_NARROW_ROWS];
      SpikeSingle          correction[SPIKE_NARROW_ROWS];
      PetscScalar          sums[SPIKE_NARROW_ROWS];

      SpikeUnroll(r, SPIKE_NARROW_ROWS) {
        const PetscInt i = row + 32 * r;

        sums[r] = 0.0;
        if (i < m.begin || i >= m.end) continue;
        fetched[r]    = fetch(i);
        correction[r] = m.correction[i];
      }
      if (m.count && begin + shared.offset[0] >= 0 && last + shared.offset[m.count - 1] < m.n)
        sum<true>(shared, row, sums, x);
      else sum<false>(shared, row, sums, x);
      SpikeUnroll(r, SPIKE_NARROW_ROWS) {
        const PetscInt i = row + 32 * r;

        if (i >= m.begin && i < m.end) f(i, SpikeCorrected(correction[r], sums[r], i, x), fetched[r]);
      }
    }
  }
};

/*
  Rows before `begin` and from `end` on, whose columns other ranks may have; x(j, inside) is for those of this rank
*/
template <class M = SpikeKrylovDia>
struct SpikeDIAEnds {
  static constexpr int LANES = 1;

  M                    m;
  const SpikeDIATable *table;
  const PetscScalar   *ghost;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads, X &&x, G &&fetch,
                                       F &&f) const
  {
    for (PetscInt k = number; k < m.begin + m.n - m.end; k += threads) {
      const PetscInt    row        = k < m.begin ? k : m.end + k - m.begin;
      const auto        fetched    = fetch(row);
      const auto        correction = SpikeCorrection(m, row);
      const PetscScalar sum        = SpikeDIASum<1>(0, m.count, PetscScalar(0.0),
                                             [&](int d, bool there, PetscScalar *a, PetscScalar *b) {
                                               *a = *b = 0.0;
                                               if (there) {
                                                 const SpikeDIATable t = table[d];

                                                 if (row >= t.first && row < t.last) {
                                                   const PetscInt j = row + t.offset;

                                                   *a = SpikeValue(m, d, row);
                                                   *b = row >= t.own && row < t.upper
                                                               ? x(j, true)
                                                               : ghost[j + (row < t.own ? t.below : t.above)];
                                                 }
                                               }
                                             });

      f(row, SpikeCorrected(correction, sum, row, x), fetched);
    }
  }
};

/* Rows of a copy some of which wait for columns of other ranks: the kernel leaves their sums in y, and no more */
template <class MATRIX>
struct SpikeKrylovInside : MATRIX {
  const unsigned *mask;

  __device__ __forceinline__ bool waits(PetscInt row) const { return (mask[row / 32] >> (row % 32)) & 1; }
};

template <class MATRIX>
constexpr bool SpikeKrylovIsInside = false;
template <class MATRIX>
constexpr bool SpikeKrylovIsInside<SpikeKrylovInside<MATRIX>> = true;

/* Those rows: what the kernel before has left in y, and the columns of other ranks. Rounds are those of whole warps */
struct SpikeKrylovOffRows {
  static constexpr int LANES = 32;

  SpikeKrylovOff     m;
  const PetscScalar *ghost, *left; /* left is y */

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename X, typename G, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscInt number, PetscInt threads, X &&, G &&fetch,
                                       F &&f) const
  {
    const int lane = threadIdx.x % 32, t = lane % m.T;

    for (PetscInt first = number / 32 * (32 / m.T); first < m.count; first += threads / m.T) {
      const PetscInt k = first + lane / m.T, end = k < m.count ? m.at[k + 1] : 0;
      PetscScalar    sum = 0.0;

      for (PetscInt e = k < m.count ? m.at[k] + t : 0; e < end; e += m.T) sum = SpikeFma(m.aa[e], ghost[m.aj[e]], sum);
      for (int d = m.T / 2; d; d /= 2) sum += SpikeShfl(sum, lane ^ d);
      if (k < m.count && !t) {
        const PetscInt row = m.row[k];

        f(row, SpikeKrylovLoad(left + row) + sum, fetch(row));
      }
    }
  }
};

/* x(j, inside) of a vector that nobody writes */
struct SpikeKrylovEntries {
  const PetscScalar *x;

  __device__ __forceinline__ PetscScalar operator()(PetscInt j, bool inside) const
  {
    return inside ? x[j] : PetscScalar(0.0);
  }
};

/*
  launch(rows) with these rows, or those of them that do not wait for columns of other ranks: none of a narrow copy does
*/
template <class MATRIX, typename L>
static PetscErrorCode SpikeKrylovInsideDispatch(const SpikeKrylovCopyCUDA *c, const MATRIX &rows, L &&launch)
{
  PetscFunctionBegin;
  if constexpr (!SpikeHasNarrow<MATRIX>) {
    if (c->off.count) {
      PetscCall(launch(SpikeKrylovInside<MATRIX>{rows, c->off.mask}));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall(launch(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same where RANKS says that there may be such columns; a file whose products have none lacks the kernels for them
*/
template <bool RANKS, class MATRIX, typename L>
static PetscErrorCode SpikeKrylovSomeDispatch(const SpikeKrylovCopyCUDA *c, const MATRIX &rows, L &&launch)
{
  PetscFunctionBegin;
  if constexpr (RANKS) PetscCall(SpikeKrylovInsideDispatch(c, rows, launch));
  else PetscCall(launch(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy by diagonals, or in slices, with values of type V */
template <typename V>
static inline auto SpikeDIAOf(const SpikeKrylovCopyCUDA *c)
{
  if constexpr (std::is_same_v<V, PetscScalar>) return c->dia;
  else return SpikeNarrowOf<SpikeKrylovDia, V>{c->dia, (const V *)c->low, c->correction};
}

template <typename V>
static inline auto SpikeSellOf(const SpikeKrylovCopyCUDA *c)
{
  if constexpr (std::is_same_v<V, PetscScalar>) return c->sell;
  else return SpikeNarrowOf<SpikeKrylovSell, V>{c->sell, (const V *)c->low, c->correction};
}

/* launch(rows, warps) with the loop over the rows of a copy, and how many warps that makes busy */
template <typename V = PetscScalar, typename L>
static PetscErrorCode SpikeKrylovRowsDispatch(const SpikeKrylovCopyCUDA *c, L &&launch)
{
  using Sell           = decltype(SpikeSellOf<V>(c));
  const PetscInt warps = (c->dia.end - c->dia.begin + 32 / PetscMax(1, c->dia.T) - 1) / (32 / PetscMax(1, c->dia.T));

  PetscFunctionBegin;
  if (c->base.form == KSP_FUSED_SPMV_DIA) {
    if constexpr (!std::is_same_v<V, PetscScalar>)
      PetscCall(launch(SpikeDIAPatches<SpikeNarrowOf<SpikeKrylovDia, V>>{{SpikeDIAOf<V>(c)}},
                       (c->dia.end - 1) / SPIKE_NARROW_PATCH - c->dia.begin / SPIKE_NARROW_PATCH + 1));
    else if (c->dia.T == 4) PetscCall(launch(SpikeDIARows<4>{{c->dia}}, warps));
    else PetscCall(launch(SpikeDIARows<1>{{c->dia}}, warps));
  } else if (c->sell.T == 4) PetscCall(launch(SpikeSellRows<4, Sell>{SpikeSellOf<V>(c)}, c->sell.slices));
  else PetscCall(launch(SpikeSellRows<1, Sell>{SpikeSellOf<V>(c)}, c->sell.slices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  mult_rows.cu: a product with this step in its epilogue, or without arguments only the blocks of its kernel. A process
  loads the code of a file with its first kernel: so products on several ranks are in mult_ranks.cu
*/
PETSC_INTERN PetscErrorCode SpikeKrylovMultStep_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                     SpikeKrylovStep, const SpikeKrylovMultArgs *, PetscInt *);
PETSC_INTERN PetscErrorCode SpikeKrylovMultRanks_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                      SpikeKrylovStep, const SpikeKrylovMultArgs *, PetscInt *);

/* mult_narrow.cu: the same of narrow copies */
PETSC_INTERN PetscErrorCode SpikeKrylovMultNarrow_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                       SpikeKrylovStep, const SpikeKrylovMultArgs *, PetscInt *);

/*
  cluster.cu: iterations as SpikeKrylovIterate_CUDA() makes them, by one cluster of thread blocks; *fits is false where
  that cannot be or is not expected to be faster
*/
PETSC_INTERN PetscErrorCode SpikeKrylovCluster_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                    const SpikeKrylovIterations *, PetscInt its, const PetscInt parts[],
                                                    bool *fits);

/*
  off.cu: row, at and mask of n rows of bs rows each, whose entries end where ai says; NULL: there are none. *made is
  false where there is no memory
*/
PETSC_INTERN PetscErrorCode SpikeKrylovOffPattern(const SpikeKrylovCUDA *, PetscInt n, PetscInt bs, const PetscInt *ai,
                                                  SpikeKrylovOff *, bool *made);

/* blocks.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovBlocksMult_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                       SpikeKrylovStep, const SpikeKrylovMultArgs *);

/* stencil.cu */
PETSC_INTERN PetscErrorCode SpikeKrylovStencilMult_CUDA(const SpikeKrylovCUDA *, const SpikeKrylovCopyCUDA *,
                                                        SpikeKrylovStep, const SpikeKrylovMultArgs *);

/*
  sell.cu, dia.cu. Make: *made is false where the form does not suit, or there is no memory. SpikeSellFill() writes
  values, and with `columns` the columns too
*/
PETSC_INTERN PetscErrorCode SpikeSellMake(const SpikeKrylovCUDA *, const SpikeKrylovCSR *, SpikeKrylovSell *,
                                          bool *made);
PETSC_INTERN PetscErrorCode SpikeSellFill(const SpikeKrylovCUDA *, const SpikeKrylovCSR *, const SpikeKrylovSell *,
                                          bool columns);
PETSC_INTERN PetscErrorCode SpikeDIAMake(const SpikeKrylovCUDA *, const SpikeKrylovCSR *, PetscReal least,
                                         SpikeKrylovDia *, int offset[], bool *made);
PETSC_INTERN int            SpikeDIALanes(PetscInt n, int count);
PETSC_INTERN PetscErrorCode SpikeDIAFill(const SpikeKrylovCUDA *, const SpikeKrylovCSR *, const SpikeKrylovDia *);
