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

template <typename R>
__device__ static __forceinline__ R SpikeBlockPoll(const R *p)
{
#if defined(__CUDA_ARCH__)
  R v;

  if constexpr (sizeof(R) == 8) asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p) : "memory");
  else asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
#else
  return __ldcg(p);
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
__device__ static __forceinline__ PetscScalar SpikeBlockPoll(const PetscScalar *p)
{
  const PetscReal re = SpikeBlockPoll((const PetscReal *)p);

  return PetscScalar(re, SpikeBlockPoll((const PetscReal *)p + 1));
}
__device__ static __forceinline__ void SpikeBlockLeave(PetscScalar *p, PetscScalar v)
{
  SpikeBlockLeave((PetscReal *)p, v.real());
  SpikeBlockLeave((PetscReal *)p + 1, v.imag());
}
#endif

/* One of the two solves: rows in the order of order[], or in reverse; D is applied at the end of a row, where it is */
typedef struct {
  const PetscInt *order;
  SpikeBlockRows  rows;
  int             upper; /* values are those of U, not of L */
  bool            reverse, diagonal;
} SpikeBlockSolvePhase;

typedef struct {
  PetscInt             nb;
  int                  bs, m; /* columns */
  bool                 conjugate;
  SpikeBlockSolvePhase phase[2];
  const PetscInt      *oldrow;
  const PetscScalar   *b;
  PetscScalar         *x, *work;
  PetscCount           ldb, ldx;
} SpikeBlockSolve;

/*
  A warp has a row of both solves in turn: first those of phase 0, then those of phase 1, each in the order of levels. All warps are there at once (a cooperative launch), so that the first row that is not done
  has all that it waits for. Per row  v = rhs - sum A_ij x_j,  x = D v  where the phase has the diagonal blocks, by products of 8 x 4 pieces: RT of rows, NT of columns. The pieces of A are loaded before
  those of x are waited for, AHEAD of them at a time. Bytes: factors once, rhs, x, and the work vectors twice. A column's sums do not depend on the others.
*/
template <int RT, int NT, bool TRANS, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_SOLVE_THREADS) SpikeBlockSolve_Kernel(const __grid_constant__ SpikeBlockSolve s, SpikeBlockParts<V> f)
{
  constexpr int    AHEAD = RT * NT == 1 ? 4 : RT * NT <= 4 ? 2 : 1;
  const int        l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, bs = s.bs, steps = (bs + 3) / 4;
  const PetscCount b2 = (PetscCount)bs * bs, size = (PetscCount)s.nb * bs * s.m;
  const PetscCount warps = (PetscCount)gridDim.x * (blockDim.x / 32);

  for (PetscCount t = (PetscCount)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; t < 2 * (PetscCount)s.nb; t += warps) {
    const int                   number = t < s.nb ? 0 : 1;
    const SpikeBlockSolvePhase &phase  = s.phase[number];
    const PetscCount            place  = number ? t - s.nb : t;
    const PetscInt              i = phase.order[phase.reverse ? s.nb - 1 - place : place], first = phase.rows.ai[i], count = phase.rows.ai[i + 1] - first;
    const PetscCount            old  = (PetscCount)(s.oldrow ? s.oldrow[i] : i) * bs;
    const V                    *A    = phase.upper ? f.U : f.L;
    PetscScalar                *mine = s.work + number * size; /* what this phase makes */
    SpikeMma                    c[RT][NT];
    PetscInt                    e = 0;
    int                         k = 0; /* the next step: entry, and columns from 4 k on */

    for (bool begun = false;;) {
      V           a[AHEAD][RT];
      PetscScalar x[AHEAD][NT];
      PetscCount  at[AHEAD]; /* of the lane's number of the entry's row in x, -1 where there is none */

#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        const bool there = e < count && 4 * k + q < bs;

        at[u] = -1;
#pragma unroll
        for (int r = 0; r < RT; r++) a[u][r] = V(0.0);
        if (there) {
          const V *p = A + (TRANS ? (PetscCount)phase.rows.at[first + e] : (PetscCount)first + e) * b2;

          at[u] = ((PetscCount)phase.rows.aj[first + e] * bs + 4 * k + q) * s.m;
#pragma unroll
          for (int r = 0; r < RT; r++)
            if (8 * r + g < bs) a[u][r] = -SpikeBlockConj(TRANS ? p[4 * k + q + (8 * r + g) * bs] : p[8 * r + g + (4 * k + q) * bs], TRANS && s.conjugate);
        }
        if (e < count && ++k == steps) {
          k = 0;
          e++;
        }
      }
      if (!begun) { /* the right-hand side, from b or from the phase before */
#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++)
#pragma unroll
            for (int d = 0; d < 2; d++) {
              const int   row = 8 * r + g, column = 8 * j + 2 * q + d;
              PetscScalar v = 0.0;

              if (row < bs && column < s.m) {
                if (number == 0) v = s.b[old + row + column * s.ldb];
                else {
                  const PetscScalar *from = s.work + ((PetscCount)i * bs + row) * s.m + column;

                  while (!SpikeBlockIsThere(v = SpikeBlockPoll(from))) { }
                }
              }
              c[r][j].put(d, v);
            }
        begun = true;
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int j = 0; j < NT; j++) x[u][j] = at[u] >= 0 && 8 * j + g < s.m ? SpikeBlockPoll(mine + at[u] + 8 * j + g) : PetscScalar(0.0);
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int j = 0; j < NT; j++)
          while (!SpikeBlockIsThere(x[u][j])) x[u][j] = SpikeBlockPoll(mine + at[u] + 8 * j + g);
      __syncwarp();
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
          for (int j = 0; j < NT; j++) c[r][j].add(a[u][r], x[u][j]);
      if (e >= count) break;
    }
    if (phase.diagonal) {
      const V *D = f.D + (PetscCount)i * b2;
      SpikeMma y[RT][NT];

#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++) y[r][j].clear();
#pragma unroll
      for (int k4 = 0; k4 < 2 * RT; k4++) {
        if (k4 < steps) {
          PetscScalar v[NT];

#pragma unroll
          for (int j = 0; j < NT; j++) { /* B(q, g): from the lane that has row 4 (k4 % 2) + q of tile k4 / 2, column g */
            const int         from = (4 * (k4 % 2) + q) * 4 + g / 2;
            const PetscScalar even = SpikeShfl(PetscScalar(c[k4 / 2][j].get(0)), from), odd = SpikeShfl(PetscScalar(c[k4 / 2][j].get(1)), from);

            v[j] = g % 2 ? odd : even;
          }
#pragma unroll
          for (int r = 0; r < RT; r++) {
            const int row = 8 * r + g, column = 4 * k4 + q;
            const V   a = row < bs && column < bs ? SpikeBlockConj(TRANS ? D[column + row * bs] : D[row + column * bs], TRANS && s.conjugate) : V(0.0);

#pragma unroll
            for (int j = 0; j < NT; j++) y[r][j].add(a, v[j]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < RT; r++)
#pragma unroll
        for (int j = 0; j < NT; j++) c[r][j] = y[r][j];
    }
#pragma unroll
    for (int r = 0; r < RT; r++)
#pragma unroll
      for (int j = 0; j < NT; j++)
#pragma unroll
        for (int d = 0; d < 2; d++) {
          const int row = 8 * r + g, column = 8 * j + 2 * q + d;

          if (row < bs && column < s.m) {
            const PetscScalar v = PetscScalar(c[r][j].get(d));

            SpikeBlockLeave(mine + ((PetscCount)i * bs + row) * s.m + column, v);
            if (number) s.x[old + row + column * s.ldx] = v;
          }
        }
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
  s.oldrow    = h->oldrow;
  s.work      = h->work;
  s.ldb       = ldb;
  s.ldx       = ldx;
  if (trans == SPIKE_BLOCK_PLAIN) {
    const SpikeBlockSolvePhase lower = {h->order[0], h->L, 0, false, false}, upper = {h->order[1], h->U, 1, false, true};

    s.phase[0] = lower;
    s.phase[1] = upper;
  } else { /* who comes late in the order of U has rows of U^T to wait for in the levels behind, and so with L */
    const SpikeBlockSolvePhase upper = {h->order[1], h->UT, 1, true, true}, lower = {h->order[0], h->LT, 0, true, false};

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
