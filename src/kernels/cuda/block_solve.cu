/* SPDX-License-Identifier: BSD-2-Clause */
/* block_solve.cu: both triangular solves, all rows of all tasks in one launch */
#include "block_lu.cuh"

#define SPIKE_BLOCK_SOLVE_THREADS 128

/*
  Work vectors begin with all bits set, a number that no arithmetic makes: a value is there as soon as it is another one, and nothing else says so. Values of one word at a time.
*/
template <typename R>
__device__ static __forceinline__ bool SpikeBlockIsThere(R v)
{
  if constexpr (sizeof(R) == 8) return __double_as_longlong(v) != -1ll;
  else return __float_as_int(v) != -1;
}

/* What is not there yet is looked at once more: without a branch, so that many are under way at once */
template <typename R>
__device__ static __forceinline__ void SpikeBlockPoll(R *v, const R *p)
{
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 8) asm volatile("{\n\t.reg .pred w;\n\t.reg .b64 b;\n\tmov.b64 b, %0;\n\tsetp.eq.s64 w, b, -1;\n\t@w ld.relaxed.gpu.global.f64 %0, [%1];\n\t}" : "+d"(*v) : "l"(p) : "memory");
  else asm volatile("{\n\t.reg .pred w;\n\t.reg .b32 b;\n\tmov.b32 b, %0;\n\tsetp.eq.s32 w, b, -1;\n\t@w ld.relaxed.gpu.global.f32 %0, [%1];\n\t}" : "+f"(*v) : "l"(p) : "memory");
#else
  if (!SpikeBlockIsThere(*v)) *v = __ldcg(p);
#endif
}

__device__ static __forceinline__ PetscScalar SpikeBlockMissing(void)
{
  PetscReal v;

  if constexpr (sizeof(PetscReal) == 8) v = (PetscReal)__longlong_as_double(-1ll);
  else v = (PetscReal)__int_as_float(-1);
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(v, v);
#else
  return v;
#endif
}

/* A NaN of the caller's with all bits set is another NaN then */
template <typename R>
__device__ static __forceinline__ void SpikeBlockLeave(R *p, R v)
{
  if (!SpikeBlockIsThere(v)) {
    if constexpr (sizeof(R) == 8) v = __longlong_as_double(0x7ff8000000000000ll);
    else v = __int_as_float(0x7fc00000);
  }
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(R) == 8) asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" : : "l"(p), "d"(v) : "memory");
  else asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" : : "l"(p), "f"(v) : "memory");
#else
  *p = v;
#endif
}

#if defined(PETSC_USE_COMPLEX)
__device__ static __forceinline__ bool SpikeBlockIsThere(PetscScalar v)
{
  return SpikeBlockIsThere(v.real()) && SpikeBlockIsThere(v.imag());
}
__device__ static __forceinline__ void SpikeBlockPoll(PetscScalar *v, const PetscScalar *p)
{
  PetscReal re = v->real(), im = v->imag();

  SpikeBlockPoll(&re, (const PetscReal *)p);
  SpikeBlockPoll(&im, (const PetscReal *)p + 1);
  *v = PetscScalar(re, im);
}
__device__ static __forceinline__ void SpikeBlockLeave(PetscScalar *p, PetscScalar v)
{
  SpikeBlockLeave((PetscReal *)p, v.real());
  SpikeBlockLeave((PetscReal *)p + 1, v.imag());
}
#endif

/* One of the two solves; D is applied at the end of a row, where it is */
typedef struct {
  const PetscInt *aj, *at;
  int             upper; /* values are those of U, not of L */
  bool            diagonal;
} SpikeBlockSolvePhase;

typedef struct {
  PetscInt             nb;
  int                  bs, m; /* columns */
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
  A warp has a row of both solves in turn. All warps are there at once (a cooperative launch), so that the first row that is not done has all that it waits for. Per row  v = rhs - sum A_ij x_j,  x = D v
  where the phase has the diagonal blocks, by products of transposed 4 x 8 pieces: RT of rows, NT of columns; the sum's registers are the operand of D then, with D's columns in their order. What a row does not wait for
  is loaded before anything is waited for: D, and AHEAD pieces of A, more than most rows have; its record and its columns come while the row before is worked on. All that is waited for is under way at once. Even and odd
  pieces have sums of their own (ACC), half as long a chain. Bytes: factors once, rhs, x, and the work vectors twice. A column's sums do not depend on the others.
*/
template <int RT, int NT, bool TRANS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_SOLVE_THREADS) SpikeBlockSolve_Kernel(const __grid_constant__ SpikeBlockSolve s, SpikeBlockParts<V> f)
{
  constexpr int    AHEAD = RT == 1 ? 6 : RT == 2 ? (NT == 1 ? 12 : NT == 2 ? 8 : 4) : NT == 1 ? 4 : NT == 2 ? 2 : 1, ACC = RT <= 2 ? 2 : 1;
  constexpr bool   EARLY = RT <= 2 || NT == 1; /* D is loaded before the waits */
  const int        l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, bs = s.bs, steps = (bs + 3) / 4;
  const PetscCount b2 = (PetscCount)bs * bs, size = (PetscCount)s.nb * bs * s.m, end = 2 * (PetscCount)s.nb;
  const PetscCount warps = (PetscCount)gridDim.x * (blockDim.x / 32), begin = (PetscCount)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;

  SpikeBlockRow            row = SpikeBlockRowLoad(s.rows, begin, end), next = SpikeBlockRowLoad(s.rows, begin + warps, end);
  SpikeBlockEntries<TRANS> entries, nextentries;

  entries.load(s.phase[begin >= s.nb], row, 0);
  for (PetscCount t = begin; t < end; t += warps) {
    const int                   number = t >= s.nb;
    const SpikeBlockSolvePhase &phase  = s.phase[number];
    const PetscInt              i = row.i, first = row.first, count = row.count;
    const PetscCount            old = (PetscCount)row.other * bs;
    const V                    *A = phase.upper ? f.U : f.L, *D = f.D + (PetscCount)i * b2;
    PetscScalar                *mine  = s.work + number * size; /* what this phase makes */
    const SpikeBlockRow         after = SpikeBlockRowLoad(s.rows, t + 2 * warps, end);
    SpikeMma                    c[ACC][RT][NT];
    V                           d[RT][2][RT];
    PetscInt                    e        = 0;
    int                         k        = 0; /* the next piece: entry, and columns from 4 k on */
    const auto                  diagonal = [&](int k8, int h, int r) {
      const int at = 8 * r + g, column = 8 * k8 + 2 * q + h;

      return at < bs && column < bs ? SpikeBlockConj(TRANS ? D[column + at * bs] : D[at + column * bs], TRANS && s.conjugate) : V(0.0);
    };

    nextentries.load(s.phase[t + warps >= s.nb], next, 0);
    if (EARLY && phase.diagonal) {
#pragma unroll
      for (int k8 = 0; k8 < RT; k8++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
          for (int r = 0; r < RT; r++) d[k8][h][r] = diagonal(k8, h, r);
    }
    for (bool begun = false;;) {
      const PetscCount left = (PetscCount)(count - e) * steps - k; /* pieces */
      V                a[AHEAD][RT];
      PetscScalar      x[AHEAD][NT];
      PetscInt         at[AHEAD]; /* the lane's number of the entry's row in x, -1 where there is none */
      bool             missing;

#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        at[u] = -1;
#pragma unroll
        for (int r = 0; r < RT; r++) a[u][r] = V(0.0);
        if (u < left) {
          const PetscInt j = __shfl_sync(SPIKE_WARP, entries.j, (int)(e & 31)), place = TRANS ? __shfl_sync(SPIKE_WARP, entries.at, (int)(e & 31)) : first + e;

          if (4 * k + q < bs) {
            const V *p = A + (PetscCount)place * b2;

            at[u] = j * bs + 4 * k + q;
#pragma unroll
            for (int r = 0; r < RT; r++)
              if (8 * r + g < bs) a[u][r] = -SpikeBlockConj(TRANS ? p[4 * k + q + (8 * r + g) * bs] : p[8 * r + g + (4 * k + q) * bs], TRANS && s.conjugate);
          }
          if (++k == steps) {
            k = 0;
            if ((++e & 31) == 0) entries.load(phase, row, e);
          }
        }
      }
      if (!begun) { /* the right-hand side, from b or from the phase before */
        PetscScalar v[RT][NT][2];

#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
              const int at = 8 * r + 2 * q + h, column = 8 * j + g;

              v[r][j][h] = 0.0;
              if (at < bs && column < s.m) v[r][j][h] = number ? SpikeBlockMissing() : s.b[old + at + column * s.ldb];
            }
        if (number) {
          do {
            missing = false;
#pragma unroll
            for (int r = 0; r < RT; r++)
#pragma unroll
              for (int j = 0; j < NT; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) SpikeBlockPoll(&v[r][j][h], s.work + ((PetscCount)i * bs + 8 * r + 2 * q + h) * s.m + 8 * j + g);
#pragma unroll
            for (int r = 0; r < RT; r++)
#pragma unroll
              for (int j = 0; j < NT; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) missing = missing || !SpikeBlockIsThere(v[r][j][h]);
          } while (__any_sync(SPIKE_WARP, missing));
        }
#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++) {
#pragma unroll
            for (int h = 0; h < 2; h++) c[0][r][j].put(h, v[r][j][h]);
            if (ACC == 2) c[ACC - 1][r][j].clear();
          }
        begun = true;
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int j = 0; j < NT; j++) x[u][j] = at[u] >= 0 && 8 * j + g < s.m ? SpikeBlockMissing() : PetscScalar(0.0);
      if (left > 0) {
        do {
          missing = false;
#pragma unroll
          for (int u = 0; u < AHEAD; u++)
#pragma unroll
            for (int j = 0; j < NT; j++) SpikeBlockPoll(&x[u][j], mine + (PetscCount)at[u] * s.m + 8 * j + g);
#pragma unroll
          for (int u = 0; u < AHEAD; u++)
#pragma unroll
            for (int j = 0; j < NT; j++) missing = missing || !SpikeBlockIsThere(x[u][j]);
        } while (__any_sync(SPIKE_WARP, missing));
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (u < left) {
#pragma unroll
          for (int r = 0; r < RT; r++)
#pragma unroll
            for (int j = 0; j < NT; j++) c[u % ACC][r][j].add(x[u][j], a[u][r]);
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
      SpikeMma y[RT][NT];

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
#pragma unroll
        for (int h = 0; h < 2; h++)
          if (8 * r + 2 * q + h < bs && 8 * j + g < s.m) SpikeBlockLeave(mine + ((PetscCount)i * bs + 8 * r + 2 * q + h) * s.m + 8 * j + g, PetscScalar(c[0][r][j].get(h)));
    if (number) {
#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++)
#pragma unroll
          for (int h = 0; h < 2; h++)
            if (8 * r + 2 * q + h < bs && 8 * j + g < s.m) s.x[old + 8 * r + 2 * q + h + (8 * j + g) * s.ldx] = PetscScalar(c[0][r][j].get(h));
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
  PetscCallCUDA(cudaLaunchCooperativeKernel((const void *)SpikeBlockSolve_Kernel<RT, NT, TRANS, V>, dim3((unsigned)PetscMin((s->nb + perblock - 1) / perblock, (PetscInt)resident * h->multiprocessors)), dim3(SPIKE_BLOCK_SOLVE_THREADS), arguments, 0, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int RT, bool TRANS, typename V>
static PetscErrorCode SpikeBlockSolve_Columns(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->m <= 8) PetscCall((SpikeBlockSolve_Launch<RT, 1, TRANS, V>(lu, s, stream)));
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

PetscErrorCode SpikeBlockLUSolve_CUDA(SpikeBlockLU *lu, SpikeBlockTrans trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
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
    PetscCallCUDA(cudaMemsetAsync((void *)h->work, 0xff, 2 * (size_t)p->nb * p->bs * s.m * sizeof(PetscScalar), stream));
    if (lu->precision == PC_SPIKE_PRECISION_DOUBLE) {
      if (trans == SPIKE_BLOCK_PLAIN) PetscCall((SpikeBlockSolve_Size<false, SpikeDouble>(lu, &s, stream)));
      else PetscCall((SpikeBlockSolve_Size<true, SpikeDouble>(lu, &s, stream)));
    } else {
      if (trans == SPIKE_BLOCK_PLAIN) PetscCall((SpikeBlockSolve_Size<false, SpikeSingle>(lu, &s, stream)));
      else PetscCall((SpikeBlockSolve_Size<true, SpikeSingle>(lu, &s, stream)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
