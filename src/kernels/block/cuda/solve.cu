/* SPDX-License-Identifier: BSD-2-Clause */
/* solve.cu: both triangular solves, all rows of all tasks in one launch */
#include "lu.cuh"

#define SPIKE_BLOCK_SOLVE_THREADS 128

/*
  Work vectors begin with all bits set, a number that no arithmetic makes: a value is there as soon as it is another
  one, and nothing else says so. Values of one word at a time.
*/
template <typename R>
__device__ static __forceinline__ bool SpikeBlockIsThere(R v)
{
  if constexpr (sizeof(R) == 8) return __double_as_longlong(v) != -1ll;
  else return __float_as_int(v) != -1;
}

/*
  Of two words side by side, what is not there yet is looked at once more: without a branch, so that many are under way
  at once
*/
template <typename R>
__device__ static __forceinline__ void SpikeBlockPollWords(R *v0, R *v1, const R *p)
{
#if defined(__CUDA_ARCH__)
  const unsigned looks = !SpikeBlockIsThere(*v0) || !SpikeBlockIsThere(*v1);

  if constexpr (sizeof(R) == 8)
    asm volatile("{\n\t.reg .pred w;\n\tsetp.ne.u32 w, %3, 0;\n\t@w ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];\n\t}"
                 : "+d"(*v0), "+d"(*v1)
                 : "l"(p), "r"(looks)
                 : "memory");
  else
    asm volatile("{\n\t.reg .pred w;\n\tsetp.ne.u32 w, %3, 0;\n\t@w ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];\n\t}"
                 : "+f"(*v0), "+f"(*v1)
                 : "l"(p), "r"(looks)
                 : "memory");
#else
  if (!SpikeBlockIsThere(*v0) || !SpikeBlockIsThere(*v1)) {
    *v0 = __ldcg(p);
    *v1 = __ldcg(p + 1);
  }
#endif
}

/* A NaN of the caller's with all bits set is another NaN then */
__device__ static __forceinline__ PetscReal SpikeBlockNumber(PetscReal v)
{
  if (!SpikeBlockIsThere(v)) {
    if constexpr (sizeof(PetscReal) == 8) v = (PetscReal)__longlong_as_double(0x7ff8000000000000ll);
    else v = (PetscReal)__int_as_float(0x7fc00000);
  }
  return v;
}

template <typename R>
__device__ static __forceinline__ void SpikeBlockLeaveWords(R *p, R v0, R v1)
{
  v0 = SpikeBlockNumber(v0);
  v1 = SpikeBlockNumber(v1);
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 8)
    asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" : : "l"(p), "d"(v0), "d"(v1) : "memory");
  else asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" : : "l"(p), "f"(v0), "f"(v1) : "memory");
#else
  p[0] = v0;
  p[1] = v1;
#endif
}

/* Two values of a column, rows 2 n and 2 n + 1 of a block */
struct SpikeBlockPair {
  PetscScalar v[2];

  __device__ __forceinline__ void missing(void)
  {
    PetscReal r;

    if constexpr (sizeof(PetscReal) == 8) r = (PetscReal)__longlong_as_double(-1ll);
    else r = (PetscReal)__int_as_float(-1);
#if defined(PETSC_USE_COMPLEX)
    v[0] = v[1] = PetscScalar(r, r);
#else
    v[0] = v[1] = r;
#endif
  }
  __device__ __forceinline__ void zero(void)
  {
    v[0] = v[1] = 0.0;
  }
#if defined(PETSC_USE_COMPLEX)
  __device__ __forceinline__ bool there(void) const
  {
    return SpikeBlockIsThere(v[0].real()) && SpikeBlockIsThere(v[0].imag()) && SpikeBlockIsThere(v[1].real()) &&
           SpikeBlockIsThere(v[1].imag());
  }
  __device__ __forceinline__ void poll(const PetscScalar *p)
  {
  #pragma unroll
    for (int h = 0; h < 2; h++) {
      PetscReal re = v[h].real(), im = v[h].imag();

      SpikeBlockPollWords(&re, &im, (const PetscReal *)(p + h));
      v[h] = PetscScalar(re, im);
    }
  }
  __device__ __forceinline__ void leave(PetscScalar *p) const
  {
  #pragma unroll
    for (int h = 0; h < 2; h++) SpikeBlockLeaveWords((PetscReal *)(p + h), v[h].real(), v[h].imag());
  }
#else
  __device__ __forceinline__ bool there(void) const
  {
    return SpikeBlockIsThere(v[0]) && SpikeBlockIsThere(v[1]);
  }
  __device__ __forceinline__ void poll(const PetscScalar *p)
  {
    SpikeBlockPollWords(&v[0], &v[1], p);
  }
  __device__ __forceinline__ void leave(PetscScalar *p) const
  {
    SpikeBlockLeaveWords(p, v[0], v[1]);
  }
#endif
};

/* One of the two solves; D is applied at the end of a row, where it is */
typedef struct {
  const PetscInt *aj, *at;
  int             upper; /* values are those of U, not of L */
  bool            diagonal;
} SpikeBlockSolvePhase;

typedef struct {
  PetscInt             nb;
  int                  bs, m; /* columns */
  int                  shift; /* log2 of the warps that share the columns of a row, 8 for each */
  bool                 conjugate;
  SpikeBlockSolvePhase phase[2];
  const SpikeBlockRow *rows; /* [2 nb] those of phase 0, then those of phase 1, each in the order of levels */
  const PetscScalar   *b;
  PetscScalar         *x, *work;
  PetscCount           ldb, ldx;
} SpikeBlockSolve;

/* Columns of entries of a row, a lane each, and where their values are */
template <bool TRANS>
struct SpikeBlockEntries {
  PetscInt j = 0, at = 0;

  __device__ __forceinline__ void load(const SpikeBlockSolvePhase &phase, const SpikeBlockRow &row, PetscInt from)
  {
    const PetscInt e = from + (PetscInt)(threadIdx.x & 31);

    if (e < row.count) {
      j = phase.aj[row.first + e];
      if (TRANS) at = phase.at[row.first + e];
    }
  }
};

/*
  A warp has a row of both solves in turn. All warps are there at once (a cooperative launch), so that the first row
  that is not done has all that it waits for. Per row  v = rhs - sum A_ij x_j,  x = D v where the phase has the diagonal
  blocks, by products of transposed 4 x 8 pieces, RT of rows and NT of columns: sums have a column in four lanes, two
  rows in each, and so are stored, loaded, and multiplied by D. A step is 8 columns of A, in two products that take
  every second of them; of blocks of up to 4 it is two entries. What a row does not wait for is loaded before anything
  is waited for: D, and AHEAD steps of A, as many as most rows have; its record and its columns come while the row
  before is worked on. What is waited for is under way at once, WAIT steps of it. The two products of a step have sums
  of their own (ACC), half as long a chain. Blocks of up to 4 are a matter of latency, not of bytes: with more than 8
  columns more warps than one have a row, each its 8 columns. Work vectors are column-major, a block row has an even
  number of rows in them. Bytes: factors once, rhs, x, and the work vectors twice. A column's sums do not depend on the
  others.
*/
template <int RT, int NT, bool TRANS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_SOLVE_THREADS, RT <= 2 && RT * NT <= 4 ? 3 : 1)
  SpikeBlockSolve_Kernel(const __grid_constant__ SpikeBlockSolve s, SpikeBlockParts<V> f)
{
  constexpr int AHEAD = RT == 1 ? 3
                      : RT == 2 ? 6
                      : NT == 1 ? 2
                                : 1,
                WAIT = RT == 2 && NT > 1 ? (NT == 2 ? 3 : 2) : AHEAD, ACC = RT <= 2 ? 2 : 1;
  constexpr bool EARLY = RT <= 2 || NT == 1; /* D is loaded before the waits */
  const int      shift = RT == 1 && NT == 1 ? s.shift : 0;
  const int      l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, bs = s.bs, half = (bs + 1) / 2;
  const bool     two = RT == 1 && bs <= 4;
  /* of an entry; of two entries; first column of the lane */
  const int        steps = two ? 1 : (bs + 7) / 8, which = two ? q / 2 : 0, from = two ? 2 * (q % 2) : 2 * q;
  const PetscCount b2 = (PetscCount)bs * bs, ldw = 2 * (PetscCount)s.nb * half, size = s.m * ldw,
                   end   = 2 * (PetscCount)s.nb << shift;
  const PetscCount warps = (PetscCount)gridDim.x * (blockDim.x / 32),
                   begin = (PetscCount)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;

  SpikeBlockRow row  = SpikeBlockRowLoad(s.rows, begin >> shift, end >> shift),
                next = SpikeBlockRowLoad(s.rows, (begin + warps) >> shift, end >> shift);
  SpikeBlockEntries<TRANS> entries, nextentries;

  entries.load(s.phase[begin >> shift >= s.nb], row, 0);
  for (PetscCount t = begin; t < end; t += warps) {
    const int                   number = t >> shift >= s.nb, col0 = 8 * (int)(t & ((1 << shift) - 1)), m = s.m - col0;
    const SpikeBlockSolvePhase &phase = s.phase[number];
    const PetscInt              first = row.first, count = row.count;
    const PetscCount            old = (PetscCount)row.other * bs;
    const V                    *A = phase.upper ? f.U : f.L, *D = f.D + row.i * b2;
    /* what this phase makes, the lane's column */
    PetscScalar        *mine  = s.work + number * size + (col0 + g) * ldw;
    const PetscCount    here  = 2 * (PetscCount)row.i * half + 2 * q;
    const SpikeBlockRow after = SpikeBlockRowLoad(s.rows, (t + 2 * warps) >> shift, end >> shift);
    SpikeMMA            c[ACC][RT][NT];
    V                   d[RT][2][RT];
    PetscInt            e        = 0;
    int                 k        = 0; /* the next step: entry, and columns from 8 k on */
    const auto          diagonal = [&](int k8, int h, int r) {
      const int at = 8 * r + g, column = 8 * k8 + 2 * q + h;

      return at < bs && column < bs
                      ? SpikeBlockConj(TRANS ? D[column + at * bs] : D[at + column * bs], TRANS && s.conjugate)
                      : V(0.0);
    };

    nextentries.load(s.phase[(t + warps) >> shift >= s.nb], next, 0);
    if (EARLY && phase.diagonal) {
#pragma unroll
      for (int k8 = 0; k8 < RT; k8++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
          for (int r = 0; r < RT; r++) d[k8][h][r] = diagonal(k8, h, r);
    }
    for (bool begun = false;;) {
      const PetscCount left = (PetscCount)(two ? (count - e + 1) / 2 : count - e) * steps - k;
      V                a[AHEAD][2][RT];
      PetscInt         at[AHEAD]; /* half of where the lane's values are in a column, -1 where it has none */
      bool             missing;

#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
#pragma unroll
        for (int r = 0; r < RT; r++) a[u][0][r] = a[u][1][r] = V(0.0);
        at[u] = -1;
        if (u < left) {
          const int      lane = (int)(e & 31) + which, column = 8 * k + from;
          const PetscInt col   = __shfl_sync(SPIKE_WARP, entries.j, lane),
                         place = TRANS ? __shfl_sync(SPIKE_WARP, entries.at, lane) : first + e + which;

          if (e + which < count && column < bs) {
            const V *p = A + place * b2;

#pragma unroll
            for (int h = 0; h < 2; h++)
              if (column + h < bs) {
#pragma unroll
                for (int r = 0; r < RT; r++)
                  if (8 * r + g < bs)
                    a[u][h][r] = -SpikeBlockConj(TRANS ? p[column + h + (8 * r + g) * bs]
                                                       : p[8 * r + g + (column + h) * bs],
                                                 TRANS && s.conjugate);
              }
            at[u] = col * half + column / 2;
          }
          if (++k == steps) {
            k = 0;
            e += two ? 2 : 1;
            if ((e & 31) == 0) entries.load(phase, row, e);
          }
        }
      }
      if (!begun) { /* the right-hand side, from b or from the phase before */
        SpikeBlockPair v[RT][NT];

#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++) {
            v[r][j].zero();
            if (8 * r + 2 * q < bs && 8 * j + g < m) {
              if (number) v[r][j].missing();
              else {
#pragma unroll
                for (int h = 0; h < 2; h++)
                  if (8 * r + 2 * q + h < bs) v[r][j].v[h] = s.b[old + 8 * r + 2 * q + h + (col0 + 8 * j + g) * s.ldb];
              }
            }
          }
        if (number) {
          do {
            missing = false;
#pragma unroll
            for (int r = 0; r < RT; r++)
#pragma unroll
              for (int j = 0; j < NT; j++) v[r][j].poll(mine - size + here + 8 * r + 8 * j * ldw);
#pragma unroll
            for (int r = 0; r < RT; r++)
#pragma unroll
              for (int j = 0; j < NT; j++) missing = missing || !v[r][j].there();
          } while (__any_sync(SPIKE_WARP, missing));
        }
#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++) {
#pragma unroll
            for (int h = 0; h < 2; h++) c[0][r][j].put(h, v[r][j].v[h]);
            if (ACC == 2) c[ACC - 1][r][j].clear();
          }
        begun = true;
      }
#pragma unroll
      for (int w = 0; w < AHEAD; w += WAIT)
        if (w < left) {
          SpikeBlockPair x[WAIT][NT];

#pragma unroll
          for (int u = 0; u < WAIT; u++)
#pragma unroll
            for (int j = 0; j < NT; j++) {
              x[u][j].zero();
              if (at[w + u] >= 0 && 8 * j + g < m) x[u][j].missing();
            }
          do {
            missing = false;
#pragma unroll
            for (int u = 0; u < WAIT; u++)
#pragma unroll
              for (int j = 0; j < NT; j++) x[u][j].poll(mine + 2 * (PetscCount)at[w + u] + 8 * j * ldw);
#pragma unroll
            for (int u = 0; u < WAIT; u++)
#pragma unroll
              for (int j = 0; j < NT; j++) missing = missing || !x[u][j].there();
          } while (__any_sync(SPIKE_WARP, missing));
#pragma unroll
          for (int u = 0; u < WAIT; u++)
            if (w + u < left) {
#pragma unroll
              for (int h = 0; h < 2; h++)
#pragma unroll
                for (int r = 0; r < RT; r++)
#pragma unroll
                  for (int j = 0; j < NT; j++) c[h % ACC][r][j].add(x[u][j].v[h], a[w + u][h][r]);
            }
        }
      if (left <= AHEAD) break;
    }
    if (ACC == 2) {
#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
          for (int h = 0; h < 2; h++) c[0][r][j].put(h, c[0][r][j].get(h) + c[ACC - 1][r][j].get(h));
    }
    if (phase.diagonal) {
      SpikeMMA y[RT][NT];

#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++) y[r][j].clear();
#pragma unroll
      for (int k8 = 0; k8 < RT; k8++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
          for (int r = 0; r < RT; r++) {
            const V a = EARLY ? d[k8][h][r] : diagonal(k8, h, r);

#pragma unroll
            for (int j = 0; j < NT; j++) y[r][j].add(PetscScalar(c[0][k8][j].get(h)), a);
          }
#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++) c[0][r][j] = y[r][j];
    }
#pragma unroll
    for (int r = 0; r < RT; r++)
#pragma unroll
      for (int j = 0; j < NT; j++)
        if (8 * r + 2 * q < bs && 8 * j + g < m) {
          SpikeBlockPair v;

#pragma unroll
          for (int h = 0; h < 2; h++) v.v[h] = PetscScalar(c[0][r][j].get(h));
          v.leave(mine + here + 8 * r + 8 * j * ldw);
        }
    if (number) {
#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
          for (int h = 0; h < 2; h++)
            if (8 * r + 2 * q + h < bs && 8 * j + g < m)
              s.x[old + 8 * r + 2 * q + h + (col0 + 8 * j + g) * s.ldx] = PetscScalar(c[0][r][j].get(h));
    }
    row     = next;
    next    = after;
    entries = nextentries;
    __syncwarp();
  }
}

template <int RT, int NT, bool TRANS, typename V>
static PetscErrorCode SpikeBlockSolve_Launch(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  static int              resident = 0;
  const SpikeBlockLUCUDA *h        = (const SpikeBlockLUCUDA *)lu->data;
  const PetscInt          perblock = SPIKE_BLOCK_SOLVE_THREADS / 32;
  SpikeBlockParts<V>      f(lu);
  void                   *arguments[] = {s, &f};

  PetscFunctionBegin;
  PetscCall(SpikeBlockResident(SpikeBlockSolve_Kernel<RT, NT, TRANS, V>, SPIKE_BLOCK_SOLVE_THREADS, &resident));
  PetscCallCUDA(
    cudaLaunchCooperativeKernel((const void *)SpikeBlockSolve_Kernel<RT, NT, TRANS, V>,
                                dim3((unsigned)PetscMin((((PetscCount)s->nb << s->shift) + perblock - 1) / perblock,
                                                        (PetscCount)resident * h->multiprocessors)),
                                dim3(SPIKE_BLOCK_SOLVE_THREADS), arguments, 0, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int RT, bool TRANS, typename V>
static PetscErrorCode SpikeBlockSolve_Columns(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  s->shift = RT > 1 || s->bs > 4 || s->m <= 8 ? 0 : s->m <= 16 ? 1 : 2;
  if (s->m <= 8 || s->shift) PetscCall((SpikeBlockSolve_Launch<RT, 1, TRANS, V>(lu, s, stream)));
  else if (s->m <= 16) PetscCall((SpikeBlockSolve_Launch<RT, 2, TRANS, V>(lu, s, stream)));
  else PetscCall((SpikeBlockSolve_Launch<RT, 4, TRANS, V>(lu, s, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool TRANS, typename V>
static PetscErrorCode SpikeBlockSolve_Size(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->bs <= 8) PetscCall((SpikeBlockSolve_Columns<1, TRANS, V>(lu, s, stream)));
  else if (s->bs <= 16) PetscCall((SpikeBlockSolve_Columns<2, TRANS, V>(lu, s, stream)));
  else PetscCall((SpikeBlockSolve_Columns<4, TRANS, V>(lu, s, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockLUSolve_CUDA(SpikeBlockLU *lu, SpikeBlockTrans trans, PetscInt nrhs, const PetscScalar *b,
                                      PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  SpikeBlockLUCUDA        *h    = (SpikeBlockLUCUDA *)lu->data;
  const SpikeBlockPattern *p    = lu->p;
  const PetscInt           most = PetscMin(lu->maxrhs, SPIKE_BLOCK_MAXM);
  cudaStream_t             stream;
  SpikeBlockSolve          s;

  PetscFunctionBegin;
  if (!p->nb) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeBlockStream(lu->b, &stream));
  if (trans != SPIKE_BLOCK_PLAIN) PetscCall(SpikeBlockLUTransposed_CUDA(lu));
  s.nb        = p->nb;
  s.bs        = (int)p->bs;
  s.conjugate = trans == SPIKE_BLOCK_HERMITIAN;
  s.work      = h->work;
  s.ldb       = ldb;
  s.ldx       = ldx;
  s.rows      = h->solve[trans != SPIKE_BLOCK_PLAIN];
  if (trans == SPIKE_BLOCK_PLAIN) {
    const SpikeBlockSolvePhase lower = {h->L.aj, NULL, 0, false}, upper = {h->U.aj, NULL, 1, true};

    s.phase[0] = lower;
    s.phase[1] = upper;
  } else {
    const SpikeBlockSolvePhase upper = {h->UT.aj, h->UT.at, 1, true}, lower = {h->LT.aj, h->LT.at, 0, false};

    s.phase[0] = upper;
    s.phase[1] = lower;
  }
  for (PetscInt done = 0; done < nrhs; done += most) {
    s.m = (int)PetscMin(most, nrhs - done);
    s.b = b + done * ldb;
    s.x = x + done * ldx;
    PetscCallCUDA(cudaMemsetAsync((void *)h->work, 0xff,
                                  2 * (size_t)p->nb * (p->bs + p->bs % 2) * s.m * sizeof(PetscScalar), stream));
    if (lu->precision == PETSC_SPIKE_PRECISION_DOUBLE) {
      if (trans == SPIKE_BLOCK_PLAIN) PetscCall((SpikeBlockSolve_Size<false, SpikeDouble>(lu, &s, stream)));
      else PetscCall((SpikeBlockSolve_Size<true, SpikeDouble>(lu, &s, stream)));
    } else {
      if (trans == SPIKE_BLOCK_PLAIN) PetscCall((SpikeBlockSolve_Size<false, SpikeSingle>(lu, &s, stream)));
      else PetscCall((SpikeBlockSolve_Size<true, SpikeSingle>(lu, &s, stream)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
