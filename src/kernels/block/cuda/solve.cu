/* SPDX-License-Identifier: BSD-2-Clause */
/* solve.cu: both triangular solves, all rows of all tasks in one launch */
#include "lu.cuh"

/*
  Work vectors begin with all bits set, a number that no arithmetic makes: a value is there as soon as it differs,
  without a flag. Values of one word at a time.
*/
template <typename R>
__device__ static __forceinline__ bool SpikeBlockIsThere(R v)
{
  if constexpr (sizeof(R) == 8) return __double_as_longlong(v) != -1ll;
  else return __float_as_int(v) != -1;
}

/* Loads two words side by side once more where one is missing; without a branch, so that many loads go at once */
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

/* Two values of a column, rows 2 n and 2 n + 1 of a block, as words */
struct SpikeBlockPair {
  static constexpr int WORDS = 2 * (int)(sizeof(PetscScalar) / sizeof(PetscReal));

  PetscReal w[WORDS];

  __device__ __forceinline__ void fill(PetscReal v)
  {
    SpikeUnroll(i, WORDS) w[i] = v;
  }
  __device__ __forceinline__ void missing(void)
  {
    if constexpr (sizeof(PetscReal) == 8) fill((PetscReal)__longlong_as_double(-1ll));
    else fill((PetscReal)__int_as_float(-1));
  }
#if defined(PETSC_USE_COMPLEX)
  __device__ __forceinline__ PetscScalar get(int h) const
  {
    return PetscScalar(w[2 * h], w[2 * h + 1]);
  }
  __device__ __forceinline__ void put(int h, PetscScalar v)
  {
    w[2 * h]     = v.real();
    w[2 * h + 1] = v.imag();
  }
#else
  __device__ __forceinline__ PetscScalar get(int h) const
  {
    return w[h];
  }
  __device__ __forceinline__ void put(int h, PetscScalar v)
  {
    w[h] = v;
  }
#endif
  __device__ __forceinline__ bool there(void) const
  {
    bool all = true;

    SpikeUnroll(i, WORDS) all = all && SpikeBlockIsThere(w[i]);
    return all;
  }
  __device__ __forceinline__ void poll(const PetscScalar *p)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) SpikeBlockPollWords(&w[i], &w[i + 1], (const PetscReal *)p + i);
  }
  __device__ __forceinline__ void leave(PetscScalar *p) const
  {
#pragma unroll
    for (int i = 0; i < WORDS; i += 2) SpikeBlockLeaveWords((PetscReal *)p + i, w[i], w[i + 1]);
  }
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
template <bool TRANSPOSED>
struct SpikeBlockEntries {
  PetscInt j = 0, at = 0;

  __device__ __forceinline__ void load(const SpikeBlockSolvePhase &phase, const SpikeBlockRow &row, PetscInt from)
  {
    const PetscInt e = from + (PetscInt)(threadIdx.x & 31);

    if (e < row.count) {
      j = phase.aj[row.first + e];
      if (TRANSPOSED) at = phase.at[row.first + e];
    }
  }
};

/*
  A lane's part of a row: of A's pieces rows 8 r + g and columns from `from` on in each step; of the sums rows 8 r + 2 q
  and the next, column 8 j + g. two: blocks of up to 4, of which a step has two entries, this lane entry `which`. m:
  columns; col0: the first one of this warp; ldw: words between columns of the work vectors
*/
template <int RT, int C8, bool TRANSPOSED, typename V>
struct SpikeBlockSolveLane {
  using P                    = SpikeBlockSolvePolicy<RT, C8>;
  static constexpr int AHEAD = P::AHEAD, WAIT = P::WAIT, ACC = P::ACC;

  int        g, q, bs, half, steps, which, from, m, col0;
  bool       two, conjugate;
  PetscCount ldw;

  __device__ __forceinline__ SpikeBlockSolveLane(const SpikeBlockSolve &s) :
    g((int)(threadIdx.x & 31) / 4),
    q((int)threadIdx.x % 4),
    bs(s.bs),
    half((bs + 1) / 2),
    m(s.m),
    col0(0),
    two(RT == 1 && bs <= 4),
    conjugate(s.conjugate),
    ldw(2 * (PetscCount)s.nb * half)
  {
    steps = two ? 1 : (bs + 7) / 8;
    which = two ? q / 2 : 0;
    from  = two ? 2 * (q % 2) : 2 * q;
  }
  /* element (row, column) of a block, or of its transpose */
  __device__ __forceinline__ V element(const V *A, int row, int column) const
  {
    return SpikeBlockConj(TRANSPOSED ? A[column + row * bs] : A[row + column * bs], TRANSPOSED && conjugate);
  }
  __device__ __forceinline__ bool mine(int r, int j) const { return 8 * r + 2 * q < bs && 8 * j + g < m; }

  __device__ __forceinline__ V diagonal(const V *D, int k8, int h, int r) const
  {
    const int at = 8 * r + g, column = 8 * k8 + 2 * q + h;

    return at < bs && column < bs ? element(D, at, column) : V(0.0);
  }

  /*
    The next AHEAD steps from step k of entry e on, of which `left` exist: a <- -A; at <- half of the place of the
    lane's values in a column, -1 where it has none
  */
  __device__ __forceinline__ void load(const SpikeBlockSolvePhase &phase, const SpikeBlockRow &row, const V *A,
                                       SpikeBlockEntries<TRANSPOSED> &entries, PetscCount left, PetscInt &e, int &k,
                                       V a[AHEAD][2][RT], PetscInt at[AHEAD]) const
  {
    SpikeUnroll(u, AHEAD) {
      SpikeUnroll(r, RT) a[u][0][r] = a[u][1][r] = V(0.0);
      at[u] = -1;
      if (u < left) {
        const int      lane = (int)(e & 31) + which, column = 8 * k + from;
        const PetscInt col   = __shfl_sync(SPIKE_WARP, entries.j, lane),
                       place = TRANSPOSED ? __shfl_sync(SPIKE_WARP, entries.at, lane) : row.first + e + which;

        if (e + which < row.count && column < bs) {
          const V *p = A + place * (PetscCount)bs * bs;

          SpikeUnroll(h, 2)
            if (column + h < bs) {
              SpikeUnroll(r, RT)
                if (8 * r + g < bs) a[u][h][r] = -element(p, 8 * r + g, column + h);
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
  }

  /* c <- the right-hand side, from b, or where `before` is not NULL from the phase before, which is waited for */
  __device__ __forceinline__ void begin(const PetscScalar *b, PetscCount ldb, const PetscScalar *before,
                                        SpikeMMA c[ACC][RT][C8]) const
  {
    SpikeBlockPair v[RT][C8];
    bool           missing;

    SpikeUnroll2(r, RT, j, C8) {
      v[r][j].fill(0.0);
      if (mine(r, j)) {
        if (before) v[r][j].missing();
        else {
          SpikeUnroll(h, 2)
            if (8 * r + 2 * q + h < bs) v[r][j].put(h, b[8 * r + 2 * q + h + (col0 + 8 * j + g) * ldb]);
        }
      }
    }
    if (before) {
      do {
        missing = false;
        SpikeUnroll2(r, RT, j, C8) v[r][j].poll(before + 8 * r + 8 * j * ldw);
        SpikeUnroll2(r, RT, j, C8) missing = missing || !v[r][j].there();
      } while (__any_sync(SPIKE_WARP, missing));
    }
    SpikeUnroll2(r, RT, j, C8) {
      SpikeUnroll(h, 2) c[0][r][j].put(h, v[r][j].get(h));
      if (ACC == 2) c[ACC - 1][r][j].clear();
    }
  }

  /* c <- c + a x for WAIT steps, `left` of them there, when their values of x are: x is the lane's column */
  __device__ __forceinline__ void update(const PetscScalar *x, PetscCount left, const V a[WAIT][2][RT],
                                         const PetscInt at[WAIT], SpikeMMA c[ACC][RT][C8]) const
  {
    SpikeBlockPair v[WAIT][C8];
    bool           missing;

    SpikeUnroll2(u, WAIT, j, C8) {
      v[u][j].fill(0.0);
      if (at[u] >= 0 && 8 * j + g < m) v[u][j].missing();
    }
    do {
      missing = false;
      SpikeUnroll2(u, WAIT, j, C8) v[u][j].poll(x + 2 * (PetscCount)at[u] + 8 * j * ldw);
      SpikeUnroll2(u, WAIT, j, C8) missing = missing || !v[u][j].there();
    } while (__any_sync(SPIKE_WARP, missing));
    SpikeUnroll(u, WAIT)
      if (u < left) {
        SpikeUnroll3(h, 2, r, RT, j, C8) c[h % ACC][r][j].add(v[u][j].get(h), a[u][h][r]);
      }
  }

  /* c <- D c; d: D where it was loaded early */
  __device__ __forceinline__ void scale(const V *D, const V d[RT][2][RT], SpikeMMA c[RT][C8]) const
  {
    SpikeMMA y[RT][C8];

    SpikeUnroll2(r, RT, j, C8) y[r][j].clear();
    SpikeUnroll3(k8, RT, h, 2, r, RT) {
      const V a = P::EARLY ? d[k8][h][r] : diagonal(D, k8, h, r);

      SpikeUnroll(j, C8) y[r][j].add(PetscScalar(c[k8][j].get(h)), a);
    }
    SpikeUnroll2(r, RT, j, C8) c[r][j] = y[r][j];
  }

  /* The row goes to who waits for it, and in the second phase to x */
  __device__ __forceinline__ void store(const SpikeMMA c[RT][C8], PetscScalar *work, PetscScalar *x,
                                        PetscCount ldx) const
  {
    SpikeUnroll2(r, RT, j, C8)
      if (mine(r, j)) {
        SpikeBlockPair v;

        SpikeUnroll(h, 2) v.put(h, PetscScalar(c[r][j].get(h)));
        v.leave(work + 8 * r + 8 * j * ldw);
      }
    if (!x) return;
    SpikeUnroll3(r, RT, j, C8, h, 2)
      if (8 * r + 2 * q + h < bs && 8 * j + g < m)
        x[8 * r + 2 * q + h + (col0 + 8 * j + g) * ldx] = PetscScalar(c[r][j].get(h));
  }
};

/*
  Both triangular solves. Warps take rows in turn, in the order of levels. All warps are there at once (a cooperative
  launch), so that the first row that is not done has all that it waits for.

  A row:  v = rhs - sum A_ij x_j,  x = D v in the phase with the diagonal blocks, by products of transposed 4 x 8
  pieces, RT of rows and C8 of columns. Then sums have a column in four lanes, two rows in each, which is how they are
  stored, loaded and multiplied by D. A step is 8 columns of A, in two products of every second column; each has sums of
  its own (ACC), half as long a chain. Loads that wait for no row come before any wait: D, and AHEAD steps of A, as many
  as most rows have; the record and the columns of a row come while the warp works on the row before. WAIT steps are
  polled at once.

  Blocks of up to 4 are bound by latency: with more than 8 columns 2^shift warps share a row, 8 columns each. Work
  vectors are column-major, with an even number of rows for each block row. Bytes: factors once, rhs, x, and the work
  vectors twice. The sums of a column do not depend on other columns.
*/
template <int RT, int C8, bool TRANSPOSED, typename V>
__global__ void __launch_bounds__(SPIKE_BLOCK_SOLVE_THREADS, SpikeBlockSolvePolicy<RT, C8>::LEAST)
  SpikeBlockSolve_Kernel(const __grid_constant__ SpikeBlockSolve s, SpikeBlockParts<V> f)
{
  using P                                          = SpikeBlockSolvePolicy<RT, C8>;
  constexpr int                              AHEAD = P::AHEAD, WAIT = P::WAIT, ACC = P::ACC;
  const int                                  shift = RT == 1 && C8 == 1 ? s.shift : 0;
  SpikeBlockSolveLane<RT, C8, TRANSPOSED, V> lane(s);
  const PetscCount b2 = (PetscCount)s.bs * s.bs, size = s.m * lane.ldw, end = 2 * (PetscCount)s.nb << shift;
  const PetscCount warps = (PetscCount)gridDim.x * (blockDim.x / 32),
                   begin = (PetscCount)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;

  SpikeBlockRow row  = SpikeBlockRowLoad(s.rows, begin >> shift, end >> shift),
                next = SpikeBlockRowLoad(s.rows, (begin + warps) >> shift, end >> shift);
  SpikeBlockEntries<TRANSPOSED> entries, nextentries;

  entries.load(s.phase[begin >> shift >= s.nb], row, 0);
  for (PetscCount t = begin; t < end; t += warps) {
    const int                   number = t >> shift >= s.nb;
    const SpikeBlockSolvePhase &phase  = s.phase[number];
    const PetscCount            old    = (PetscCount)row.other * s.bs;
    const V                    *A = phase.upper ? f.U : f.L, *D = f.D + row.i * b2;

    lane.col0 = 8 * (int)(t & ((1 << shift) - 1));
    lane.m    = s.m - lane.col0;
    /* what this phase makes, the lane's column; the lane's place in it */
    PetscScalar        *mine  = s.work + number * size + (lane.col0 + lane.g) * lane.ldw;
    const PetscCount    here  = 2 * (PetscCount)row.i * lane.half + 2 * lane.q;
    const SpikeBlockRow after = SpikeBlockRowLoad(s.rows, (t + 2 * warps) >> shift, end >> shift);
    SpikeMMA            c[ACC][RT][C8];
    V                   d[RT][2][RT];
    PetscInt            e = 0;
    int                 k = 0; /* the next step: entry, and columns from 8 k on */

    nextentries.load(s.phase[(t + warps) >> shift >= s.nb], next, 0);
    if (P::EARLY && phase.diagonal) {
      SpikeUnroll3(k8, RT, h, 2, r, RT) d[k8][h][r] = lane.diagonal(D, k8, h, r);
    }
    for (bool begun = false;; begun = true) {
      const PetscCount left = (PetscCount)(lane.two ? (row.count - e + 1) / 2 : row.count - e) * lane.steps - k;
      V                a[AHEAD][2][RT];
      PetscInt         at[AHEAD];

      lane.load(phase, row, A, entries, left, e, k, a, at);
      if (!begun) lane.begin(s.b + old, s.ldb, number ? mine - size + here : NULL, c);
#pragma unroll
      for (int w = 0; w < AHEAD; w += WAIT)
        if (w < left) lane.update(mine, left - w, a + w, at + w, c);
      if (left <= AHEAD) break;
    }
    if (ACC == 2) {
      SpikeUnroll3(r, RT, j, C8, h, 2) c[0][r][j].put(h, c[0][r][j].get(h) + c[ACC - 1][r][j].get(h));
    }
    if (phase.diagonal) lane.scale(D, d, c[0]);
    lane.store(c[0], mine + here, number ? s.x + old : NULL, s.ldx);
    row     = next;
    next    = after;
    entries = nextentries;
    __syncwarp();
  }
}

template <int RT, int C8, bool TRANSPOSED, typename V>
static PetscErrorCode SpikeBlockSolve_Launch(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  const SpikeBlockLUCUDA *h        = (const SpikeBlockLUCUDA *)lu->data;
  const PetscInt          perblock = SPIKE_BLOCK_SOLVE_THREADS / 32;
  const auto              kernel   = SpikeBlockSolve_Kernel<RT, C8, TRANSPOSED, V>;
  SpikeBlockParts<V>      f(lu);
  void                   *arguments[] = {s, &f};
  PetscCount              blocks      = (((PetscCount)s->nb << s->shift) + perblock - 1) / perblock;
  int                     resident;

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)kernel, SPIKE_BLOCK_SOLVE_THREADS, 0, &resident));
  blocks = PetscMin(blocks, (PetscCount)resident * h->multiprocessors);
  PetscCallCUDA(cudaLaunchCooperativeKernel((const void *)kernel, dim3((unsigned)blocks),
                                            dim3(SPIKE_BLOCK_SOLVE_THREADS), arguments, 0, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int RT, bool TRANSPOSED, typename V>
static PetscErrorCode SpikeBlockSolve_Columns(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  s->shift = SpikeBlockSolveShift(s->bs, s->m);
  if (s->m <= 8 || s->shift) PetscCall((SpikeBlockSolve_Launch<RT, 1, TRANSPOSED, V>(lu, s, stream)));
  else if (s->m <= 16) PetscCall((SpikeBlockSolve_Launch<RT, 2, TRANSPOSED, V>(lu, s, stream)));
  else PetscCall((SpikeBlockSolve_Launch<RT, 4, TRANSPOSED, V>(lu, s, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool TRANSPOSED, typename V>
static PetscErrorCode SpikeBlockSolve_Size(const SpikeBlockLU *lu, SpikeBlockSolve *s, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (s->bs <= 8) PetscCall((SpikeBlockSolve_Columns<1, TRANSPOSED, V>(lu, s, stream)));
  else if (s->bs <= 16) PetscCall((SpikeBlockSolve_Columns<2, TRANSPOSED, V>(lu, s, stream)));
  else PetscCall((SpikeBlockSolve_Columns<4, TRANSPOSED, V>(lu, s, stream)));
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
  PetscCall(SpikeStreamOr(lu->b->stream, &stream));
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
