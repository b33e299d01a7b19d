/* SPDX-License-Identifier: BSD-2-Clause */
/* filldia.cu: the device's band and coupling blocks from a matrix by diagonals */
#include "kernels/dia/cuda/dia.cuh"
#include "fill.cuh"
#include <cfloat>
#include <cmath>

#define SPIKE_FILLDIA_THREADS 256
#define SPIKE_FILLDIA_SHARED  76000 /* bytes: a larger slab holds some rows of a tile row only, */
#define SPIKE_FILLDIA_SMALL   18000 /* up to here it holds several tile rows */

/* Source and destination of a fill */
struct SpikeFillDia {
  SpikeTiles         t;
  SpikeFillDiagonals A;
  PetscScalar       *B, *C; /* NULL: couplings are left out */
  /*
    a unit of work: `rows` of the GT rows of one tile row of a group, or tilerows whole tile rows; slices of a tile row,
    units along a partition
  */
  int    rows, tilerows, slices, pieces;
  int    magic;
  double max; /* above it the type of the factors overflows */
};

/*
  A block assembles a unit of the band in shared memory and writes it there in whole lines, as SpikeFillKernel() does. A
  thread has one row, and every so manieth diagonal of it: neighbouring threads read neighbouring numbers of a diagonal,
  and write neighbouring rows. A row's parts of sums are added in the order of the threads that share it; units belong
  to blocks by number: all sums have one order.
*/
template <typename F>
__global__ void __launch_bounds__(SPIKE_FILLDIA_THREADS)
  SpikeFillDiaKernel(const __grid_constant__ SpikeFillDia f, F *band, SpikeFillSeen *seen)
{
  extern __shared__ __align__(16) char shared[];
  const SpikeTiles                    &t    = f.t;
  double                              *part = (double *)shared; /* [threads] */
  F                                   *slab = (F *)(part + SPIKE_FILLDIA_THREADS);
  /* even: places of a diagonal lie in different banks */
  const int T = t.T, GT = t.G * T, columns = (t.QL + t.QU) * T + 1, all = f.rows * f.tilerows, ld = (all + 1) / 2 * 2;
  const int y = threadIdx.x % all, sub = threadIdx.x / all, subs = SPIKE_FILLDIA_THREADS / all, j = y / f.rows;
  const PetscInt64 units = (PetscInt64)t.groups() * f.pieces * f.slices;
  SpikeFillSeen    mine  = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  for (int k = threadIdx.x; k < columns * ld; k += SPIKE_FILLDIA_THREADS) slab[k] = F(0.0);
  for (PetscInt64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const PetscInt64 rest  = unit / f.slices;
    const PetscInt   group = (PetscInt)(rest / f.pieces);
    const int        index = (int)(rest % f.pieces) * f.tilerows + j, x = (int)(unit % f.slices) * f.rows + y % f.rows,
              r = x % T, li = index * T + r;
    const bool     exists = sub < subs && index < t.tilerows && x < GT;
    const PetscInt p      = group * t.G + x / T;
    const PetscInt first = exists && p < t.np ? t.start[p] : 0, end = exists && p < t.np ? t.start[p + 1] : 0,
                   i        = first + li;
    const bool        valid = i < end;
    const SpikeFillAt at    = {p, i, end, li, r, (unsigned long long)i};
    double            sum   = 0.0;

    __syncthreads();
    for (int d0 = sub; valid && d0 < f.A.count; d0 += 4 * subs) {
      PetscScalar v[4];

#pragma unroll
      /* four loads on their way at once */
      for (int u = 0; u < 4; u++)
        v[u] = d0 + u * subs < f.A.count ? f.A.val[(d0 + u * subs) * f.A.ld + i] : PetscScalar(0.0);
      SpikeUnroll(u, 4) {
        const PetscReal abs = SpikeAbs(v[u]);
        PetscInt        d;

        if (v[u] == PetscScalar(0.0)) continue;
        d = f.A.offset[d0 + u * subs];
        sum += abs;
        SpikeFillEntry(t, f.magic, f.max, f.B, f.C, at, v[u], abs, d, slab + y, ld, mine);
      }
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (exists) {
      const PetscInt64 tilerow = (PetscInt64)group * t.tilerows + index;
      F               *to = band + tilerow * t.rowsize + x, *from = slab + y;

      for (int c = sub; c < columns; c += subs) {
        to[(PetscInt64)c * GT] = valid ? from[c * ld] : c == columns - 1 ? F(1.0) : F(0.0);
        from[c * ld]           = F(0.0);
      }
      if (sub == 0) /* numbers that round a tile row up */
        for (PetscInt64 k = (PetscInt64)columns * GT + x; k < t.rowsize; k += GT) to[k - x] = F(0.0);
    }
    if (valid && sub == 0) {
      sum = 0.0;
      for (int k = 0; k < subs; k++) sum += part[k * all + y];
      mine.sum += sum;
      mine.norm = mine.norm < sum ? sum : mine.norm;
      if (sum == 0.0) mine.zerorow = min(mine.zerorow, (unsigned long long)i);
    }
  }
  __syncthreads();
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = mine;
}

template <typename F>
static PetscErrorCode SpikeFillDia_Private(SpikeBand *s, SpikeFillDia f)
{
  SpikeCUDA         *h       = (SpikeCUDA *)s->data;
  const cudaStream_t stream  = (cudaStream_t)s->stream;
  const int          columns = (f.t.QL + f.t.QU) * f.t.T + 1, GT = f.t.G * f.t.T;
  int                residents, blocks;
  size_t             bytes;

  PetscFunctionBegin;
  f.rows = GT;
  while (f.rows > 4 && columns * (f.rows + 1) * sizeof(F) > SPIKE_FILLDIA_SHARED) f.rows = (f.rows + 1) / 2;
  f.tilerows = f.rows < GT ? 1
                           : PetscMax(1, PetscMin(PetscMin(f.t.tilerows, SPIKE_FILLDIA_THREADS / GT),
                                                  SPIKE_FILLDIA_SMALL / (columns * GT * (int)sizeof(F))));
  f.slices   = (GT + f.rows - 1) / f.rows;
  f.pieces   = (f.t.tilerows + f.tilerows - 1) / f.tilerows;
  bytes      = PetscMax(SPIKE_FILLDIA_THREADS * sizeof(double) +
                          (size_t)columns * ((f.rows * f.tilerows + 1) / 2 * 2) * sizeof(F),
                        SPIKE_FILLDIA_THREADS / 2 * sizeof(SpikeFillSeen));
  PetscCall(SpikeKernelFit((const void *)SpikeFillDiaKernel<F>, SPIKE_FILLDIA_THREADS, bytes, &residents));
  blocks = (int)PetscMin((PetscInt64)f.t.groups() * f.pieces * f.slices,
                         (PetscInt64)PetscMin(SpikeFillBlocks(&f.t), h->gpu->multiprocessors * residents));
  SpikeFillDiaKernel<F><<<blocks, SPIKE_FILLDIA_THREADS, bytes, stream>>>(f, (F *)s->band, (SpikeFillSeen *)h->scratch);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(SpikeFillSum_CUDA(s, blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Enqueued: the numbers of st come with finish() */
PetscErrorCode SpikeFillDIA_CUDA(SpikeBand *s, const SpikeDIA *A, SpikeFillStats *st)
{
  SpikeCUDA   *h = (SpikeCUDA *)s->data;
  SpikeFillDia f;

  PetscFunctionBegin;
  PetscCheck(A->n == s->n && A->m == s->n, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A band of %" PetscInt_FMT " rows from diagonals of %" PetscInt_FMT, s->n, A->n);
  SpikeFillUnseen(st);
  SpikeForget(h);
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  h->fillstats = st;
  f.A.val      = A->val;
  f.A.offset   = ((const SpikeDIACUDA *)A->data)->offset;
  f.A.ld       = SpikeDIALd(A);
  f.A.count    = (int)A->count;
  if (h->tri) PetscCall(SpikeTriFillDiagonals_CUDA(s, &f.A));
  else if (h->batch) PetscCall(SpikeBatchFillDiagonals_CUDA(s, &f.A));
  if (h->tri || h->batch) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFillCouplings_CUDA(s));
  f.t     = SpikeFillTiles(s);
  f.B     = s->dB;
  f.C     = s->dC;
  f.magic = SpikeFillMagic(h->t.T);
  f.max   = SpikePrecisionBound(s->precision);
  SpikeDispatchPrecision(s->precision, PetscCall(SpikeFillDia_Private<F>(s, f)));
  PetscCall(SpikeFillJoined_CUDA(s, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
