/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fill.cu: the device's fill of band and coupling blocks from CSR on the device: by a map of the pattern, or, where
  there is none, from the column of each entry
*/
#include "fill.cuh"
#include <cfloat>
#include <cmath>

#define SPIKE_FILL_SHARED 76000

/* Destination and shape of a fill */
struct SpikeFillTarget {
  SpikeTiles      t;
  PetscScalar    *B, *C; /* NULL: couplings are left out */
  const PetscInt *newrow, *oldrow;
  int             rows;  /* rows of a unit of work */
  int             lanes; /* that share a row of the matrix */
  int             magic; /* SpikeFillMagic() */
  double          max;   /* above it the type of the factors overflows */
  const int      *again; /* not NULL: nothing is to do where this is 0 */
};

/*
  A block assembles `rows` rows of a tile row of a group at a time in shared memory, column after column as the band
  stores them, and writes them there: the band is written once, in whole lines. `lanes` threads read a row of the
  matrix. The shape of the grid fixes the order of the sums.
*/
template <typename F>
__global__ void __launch_bounds__(256)
  SpikeFillKernel(const __grid_constant__ SpikeFillTarget f, const __grid_constant__ SpikeFillCSR A, F *band,
                  SpikeFillSeen *seen)
{
  extern __shared__ char shared[];
  F                     *slab = (F *)shared;
  const SpikeTiles      &t    = f.t;
  const int              T = t.T, GT = t.G * T, columns = (t.QL + t.QU) * T + 1, ld = f.rows + 1;
  const int              pieces = (GT + f.rows - 1) / f.rows, sub = threadIdx.x / f.lanes, subs = blockDim.x / f.lanes,
            sublane        = threadIdx.x % f.lanes;
  const PetscInt64   units = (PetscInt64)t.groups() * t.tilerows * pieces;
  const unsigned int team  = (f.lanes == 32 ? ~0u : (1u << f.lanes) - 1) << (threadIdx.x % 32 / f.lanes * f.lanes);
  SpikeFillSeen      mine  = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  if (f.again && !*f.again) return;
  for (PetscInt64 unit = blockIdx.x; unit < units; unit += gridDim.x) {
    const PetscInt64 tilerow = unit / pieces;
    const PetscInt   group   = (PetscInt)(tilerow / t.tilerows);
    const int        index = (int)(tilerow % t.tilerows), x0 = (int)(unit % pieces) * f.rows, nx = min(f.rows, GT - x0);
    F               *out = band + tilerow * t.rowsize + x0;

    for (int k = threadIdx.x; k < columns * ld; k += blockDim.x) slab[k] = F(0.0);
    __syncthreads();
    for (int x = sub; x < nx; x += subs) {
      const int      m = (x0 + x) / T, r = (x0 + x) % T, li = index * T + r;
      const PetscInt p     = group * t.G + m;
      const PetscInt first = p < t.np ? t.start[p] : 0, end = p < t.np ? t.start[p + 1] : 0, i = first + li;
      double         rowsum = 0.0;
      PetscInt       row;

      if (i >= end) { /* after the end of the partition */
        if (sublane == 0) slab[(columns - 1) * ld + x] = F(1.0);
        continue;
      }
      row                  = f.oldrow ? f.oldrow[i] : i;
      const SpikeFillAt at = {p, i, end, li, r, (unsigned long long)row};

      for (int part = 0; part < A.nparts; part++) {
        const SpikeCSR &P    = A.part[part];
        const PetscInt  end1 = P.ai[row + 1];

        for (PetscInt k0 = P.ai[row] + sublane; k0 < end1; k0 += 4 * f.lanes) {
          PetscScalar v[4];
          PetscInt    col[4];

          SpikeUnroll(u, 4) { /* four loads on their way at once */
            const PetscInt k = k0 + u * f.lanes;

            v[u]   = k < end1 ? P.aa[k] : PetscScalar(0.0);
            col[u] = k < end1 ? P.aj[k] : 0;
          }
          SpikeUnroll(u, 4) {
            const PetscReal abs = PetscAbsScalar(v[u]);
            PetscInt        d;

            if (k0 + u * f.lanes >= end1) continue;
            d = SpikeFillDistance(P, col[u], f.newrow, i);
            rowsum += abs;
            SpikeFillEntry(t, f.magic, f.max, f.B, f.C, at, v[u], abs, d, slab + x, ld, mine);
          }
        }
      }
      for (int step2 = f.lanes / 2; step2 > 0; step2 /= 2) rowsum += __shfl_xor_sync(team, rowsum, step2, f.lanes);
      if (sublane == 0) {
        mine.sum += rowsum;
        mine.norm = mine.norm < rowsum ? rowsum : mine.norm;
        if (rowsum == 0.0) mine.zerorow = min(mine.zerorow, (unsigned long long)row);
      }
    }
    __syncthreads();
    if (nx == GT) {
      for (int k = threadIdx.x; k < columns * GT; k += blockDim.x) out[k] = slab[k / GT * ld + k % GT];
    } else {
      for (int k = threadIdx.x; k < columns * nx; k += blockDim.x)
        out[(PetscInt64)(k / nx) * GT + k % nx] = slab[k / nx * ld + k % nx];
    }
    if (x0 == 0)
      for (PetscInt64 k = (PetscInt64)columns * GT + threadIdx.x; k < t.rowsize; k += blockDim.x) out[k] = F(0.0);
    __syncthreads();
  }
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (threadIdx.x == 0) seen[blockIdx.x] = mine;
}

__global__ void __launch_bounds__(256) SpikeFillSum(int blocks, const SpikeFillSeen *seen, SpikeStatus *status)
{
  __shared__ char shared[128 * sizeof(SpikeFillSeen)];
  SpikeFillSeen   mine = {0.0, 0.0, 0.0, 0.0, ~0ull, ~0ull, ~0ull};

  for (int k = threadIdx.x; k < blocks; k += blockDim.x) SpikeSeenMerge(mine, seen[k]);
  SpikeSeenReduce(mine, (SpikeFillSeen *)shared);
  if (threadIdx.x == 0) SpikeSeenStatus(mine, status);
}

__global__ void __launch_bounds__(256) SpikeInvertOrder(PetscInt n, const PetscInt *newrow, PetscInt *oldrow)
{
  for (PetscInt r = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; r < n; r += (PetscInt)gridDim.x * blockDim.x)
    oldrow[newrow[r]] = r;
}

/* What the blocks of a fill have left in the scratch memory, into the report */
PetscErrorCode SpikeFillSum_CUDA(SpikeBand *s, int blocks)
{
  SpikeCUDA *h = (SpikeCUDA *)s->data;

  PetscFunctionBegin;
  SpikeFillSum<<<1, 256, 0, (cudaStream_t)s->stream>>>(blocks, (const SpikeFillSeen *)h->scratch, &h->report->fill);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFillCouplings_CUDA(SpikeBand *s)
{
  const size_t interface = ((size_t)s->np + 1) * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (s->dB && s->ku) PetscCallCUDA(cudaMemsetAsync(s->dB, 0, interface * s->ku * s->ku, (cudaStream_t)s->stream));
  if (s->dC && s->kl) PetscCallCUDA(cudaMemsetAsync(s->dC, 0, interface * s->kl * s->kl, (cudaStream_t)s->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  *joined <- the complement of the first row, in the order of the matrix, with a nonzero entry of B or C of an interface
  0 < q < np. Reads B and C once
*/
__global__ void __launch_bounds__(256)
  SpikeFillJoined_Kernel(const __grid_constant__ SpikeTiles t, const PetscScalar *B, const PetscScalar *C,
                         const PetscInt *oldrow, unsigned long long *joined)
{
  const PetscInt64 kk = (PetscInt64)t.kl * t.kl, uu = (PetscInt64)t.ku * t.ku, all = (t.np - 1) * (kk + uu);

  for (PetscInt64 e = (PetscInt64)blockIdx.x * blockDim.x + threadIdx.x; e < all;
       e += (PetscInt64)gridDim.x * blockDim.x) {
    const PetscInt    q   = (PetscInt)(e / (kk + uu)) + 1;
    const PetscInt64  at  = e % (kk + uu);
    const bool        inB = at < uu;
    const PetscInt    i   = t.start[q] + (inB ? (PetscInt)(at % t.ku) - t.ku : (PetscInt)((at - uu) % t.kl));
    const PetscScalar v   = inB ? B[q * uu + at] : C[q * kk + at - uu];

    if (v != PetscScalar(0.0)) atomicMax(joined, ~(unsigned long long)(oldrow ? oldrow[i] : i));
  }
}

/* With SpikeBand.cut, after B and C are filled: what finish() tells as SpikeFillStats.joined */
PetscErrorCode SpikeFillJoined_CUDA(SpikeBand *s, const PetscInt *oldrow)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const PetscInt64   all    = (s->np - 1) * ((PetscInt64)s->kl * s->kl + (PetscInt64)s->ku * s->ku);

  PetscFunctionBegin;
  if (!s->cut) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemsetAsync(&h->report->fill.nboost, 0, sizeof(h->report->fill.nboost), stream));
  if (!all) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeFillJoined_Kernel<<<(unsigned int)PetscMin((all + 255) / 256, 1024), 256, 0, stream>>>(h->t, s->dB, s->dC,
                                                                                              oldrow,
                                                                                              &h->report->fill.nboost);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t SpikeFillScratch_CUDA(const SpikeTiles *t)
{
  const size_t filled = t->T > 16 && t->QL <= 1 && t->QU <= 1 ? t->np * sizeof(SpikeFilledSeen) : 0;

  return PetscMax(filled, (size_t)SpikeFillBlocks(t) * sizeof(SpikeFillSeen));
}

template <typename F>
static PetscErrorCode SpikeFillByColumn_Private(SpikeBand *s, SpikeFillTarget f, const SpikeFillCSR &A)
{
  SpikeCUDA         *h       = (SpikeCUDA *)s->data;
  const cudaStream_t stream  = (cudaStream_t)s->stream;
  const int          columns = (f.t.QL + f.t.QU) * f.t.T + 1, GT = f.t.G * f.t.T, width = f.t.kl + f.t.ku + 1;
  int                residents, threads, blocks;
  size_t             bytes;

  PetscFunctionBegin;
  if (!f.again) PetscCall(SpikeFillCouplings_CUDA(s));
  f.rows  = GT;
  f.lanes = 2;
  while (f.lanes < 32 && 5 * f.lanes < width) f.lanes *= 2;
  while (f.rows > 4 && columns * (f.rows + 1) * sizeof(F) > SPIKE_FILL_SHARED) f.rows = (f.rows + 1) / 2;
  threads = columns * f.rows >= 1024 ? 256 : 128;
  bytes   = PetscMax(columns * (f.rows + 1) * sizeof(F), threads / 2 * sizeof(SpikeFillSeen));
  PetscCall(SpikeKernelFit((const void *)SpikeFillKernel<F>, threads, bytes, &residents));
  blocks = (int)PetscMin((PetscInt64)f.t.groups() * f.t.tilerows * ((GT + f.rows - 1) / f.rows),
                         (PetscInt64)PetscMin(SpikeFillBlocks(&f.t), h->gpu->multiprocessors * residents));
  SpikeFillKernel<F><<<blocks, threads, bytes, stream>>>(f, A, (F *)s->band, (SpikeFillSeen *)h->scratch);
  PetscCallCUDA(cudaGetLastError());
  if (!f.again) PetscCall(SpikeFillSum_CUDA(s, blocks)); /* else they are there */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeFillColumns_Private(SpikeBand *s, const SpikeFillCSR &A, const PetscInt *newrow,
                                               const int *again)
{
  const SpikeCUDA      *h = (const SpikeCUDA *)s->data;
  const SpikeFillTarget f = {SpikeFillTiles(s),
                             s->dB,
                             s->dC,
                             newrow,
                             newrow ? h->oldrow : NULL,
                             0,
                             0,
                             SpikeFillMagic(h->t.T),
                             SpikePrecisionBound(s->precision),
                             again};

  PetscFunctionBegin;
  SpikeDispatchPrecision(s->precision, PetscCall(SpikeFillByColumn_Private<F>(s, f, A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFillAgain_CUDA(SpikeBand *s)
{
  SpikeCUDA   *h = (SpikeCUDA *)s->data;
  SpikeFillCSR A = {};

  PetscFunctionBegin;
  A.part[0] = h->left;
  A.nparts  = 1;
  PetscCall(SpikeFillColumns_Private(s, A, NULL, &h->report->again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFill_CUDA(SpikeBand *s, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow,
                              SpikeFillStats *st)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  SpikeFillCSR       A      = {};

  PetscFunctionBegin;
  SpikeFillUnseen(st);
  SpikeForget(h);
  PetscCheck(newrow || !s->rowplace, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows have places, columns have none");
  PetscCheck(nparts <= 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " pieces of a matrix", nparts);
  if (!s->n) PetscFunctionReturn(PETSC_SUCCESS);
  A.nparts = (int)nparts;
  for (PetscInt k = 0; k < nparts; k++) A.part[k] = parts[k];
  if (newrow && !h->oldrow) {
    const PetscInt *place = s->rowplace ? s->rowplace : newrow;

    PetscCall(SpikeMalloc_CUDA(s->n, &h->oldrow));
    SpikeInvertOrder<<<(unsigned int)PetscMin((s->n + 255) / 256, 1024), 256, 0, stream>>>(s->n, place, h->oldrow);
    PetscCallCUDA(cudaGetLastError());
  }
  h->fillstats = st;
  if (h->tri) PetscCall(SpikeTriFillSystems_CUDA(s, &A, newrow));
  else if (h->batch) PetscCall(SpikeBatchFillSystems_CUDA(s, &A, newrow));
  if (h->tri || h->batch) PetscFunctionReturn(PETSC_SUCCESS);
  if (!h->map.state) PetscCall(SpikeFillMapCreate_CUDA(s, &A, newrow));
  if (h->map.state == 2 && SpikeFactorFills_CUDA(s, &A, newrow)) h->left = A.part[0];
  else if (h->map.state == 1) PetscCall(SpikeFillByMap_CUDA(s, &A, newrow));
  else PetscCall(SpikeFillColumns_Private(s, A, newrow, NULL));
  PetscCall(SpikeFillJoined_CUDA(s, newrow ? h->oldrow : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
