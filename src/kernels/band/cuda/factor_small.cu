/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_small.cu: the factorization with T <= 16 */
#include "factor.cuh"

/*
  T <= 16: a warp holds G partitions, a lane one row of each tile. Step j, with rows k of the step before in shared
  memory:
    L_j,j-1 = A_j,j-1 U^-1_j-1    D = D_jj - L_j,j-1 U_j-1,j    D -> L^-1, U^-1    U_j,j+1 = L^-1 A_j,j+1
  A row in shared memory is that of the upper tile as stored: U_j,j+1 on and below the diagonal, U^-1 above it, its
  diagonal after. Reads and writes the band once: 2 (2 T + 1) n numbers.
*/
#define SPIKE_SMALL_WARPS 2

template <int TMAX>
struct SpikeSmallShared {
  static constexpr int LD = TMAX + 2; /* with two numbers between the rows of two members: no bank conflicts */
  SpikeArith           row[SPIKE_SMALL_WARPS][32 * LD + 64];
  /* T > TMAX / 2, or any up to 4 */
  SpikeArith pivot[SPIKE_SMALL_WARPS][(TMAX == 4 ? 32 : 32 / (TMAX / 2 + 1)) * (2 * TMAX + 2)];
};

template <typename F, int TMAX>
__global__ void __launch_bounds__(32 * SPIKE_SMALL_WARPS)
  SpikeFactorSmall(SpikeTiles t, F *band, SpikePivotPolicy given, SpikeStatus *status, double *badvalue)
{
  const SpikePivotPolicy         policy = SpikePivotAbsolute(given);
  typedef SpikeSmallShared<TMAX> SharedMemory;
  __shared__ SharedMemory        sh;
  const int                      warp = threadIdx.x / 32, lane = threadIdx.x % 32, T = t.T, GT = t.G * T;
  const PetscInt                 group = (PetscInt)blockIdx.x * SPIKE_SMALL_WARPS + warp;
  const bool                     has   = lane < GT;
  const int                      m = has ? lane / T : 0, r = has ? lane % T : T;
  const PetscInt                 p    = group * t.G + m;
  const int                      rows = group < t.groups() && p < t.np ? (int)(t.start[p + 1] - t.start[p]) : 0;
  const bool                     low = t.QL > 0, up = t.QU > 0;
  const int                      utile = t.QL * T * GT, dtile = (t.QL + t.QU) * T * GT;
  SpikeArith                    *mine = sh.row[warp] + lane * SharedMemory::LD + 2 * (lane / T),
             *member                  = sh.row[warp] + m * T * SharedMemory::LD + 2 * m;
  SpikeArith     *buffer              = sh.pivot[warp] + m * (2 * TMAX + 2);
  F              *row                 = band + group * t.tilerows * t.rowsize;
  SpikePivotState st                  = {-1, 0, 0.0};
  F               nl[TMAX], nu[TMAX], nd; /* row of the next step, on its way */

  if (group >= t.groups()) return;
  auto load = [&](const F *next) {
    SpikeUnroll(c, TMAX) {
      nl[c] = has && low && c < T ? next[c * GT + lane] : F(0.0);
      nu[c] = has && up && c < T ? next[utile + c * GT + lane] : F(0.0);
    }
    nd = has ? next[dtile + lane] : F(1.0);
  };

  load(row);
  SpikeUnroll(c, SharedMemory::LD) mine[c] = SpikeArith(0.0);
  for (int j = 0; j < t.tilerows; j++, row += t.rowsize) {
    SpikeArith a[TMAX], d[TMAX], x[TMAX];

    SpikeUnroll(c, TMAX) {
      a[c] = r <= c ? SpikeArith(nl[c]) : SpikeArith(0.0);
      d[c] = r > c ? SpikeArith(nl[c]) : r < c ? SpikeArith(nu[c]) : SpikeArith(nd);
      x[c] = SpikeArith(0.0);
    }
    __syncwarp();
    SpikeUnroll(k, TMAX) {
      if (k < T) {
        const SpikeArith *w = member + k * SharedMemory::LD;

        x[k] = SpikeMinus(x[k], -a[k], w[TMAX]);
        SpikeUnroll(c, TMAX) {
          if (c <= k) d[c] = SpikeMinus(d[c], x[k], w[c]);
          else x[c] = SpikeMinus(x[c], -a[k], w[c]);
        }
      }
    }
    __syncwarp();
    SpikeUnroll(c, TMAX) {
      a[c]    = c <= r ? SpikeArith(nu[c]) : SpikeArith(0.0);
      mine[c] = a[c];
    }
    if (j + 1 < t.tilerows) load(row + t.rowsize);
    __syncwarp();
    SpikeTileInvert<TMAX>(d, r, T, buffer, j * T, rows, policy, st);
    SpikeUnroll(k, TMAX - 1) {
      if (k < T) {
        const SpikeArith *w = member + k * SharedMemory::LD, l = k < r ? d[k] : SpikeArith(0.0);

        SpikeUnroll(c, k + 1) a[c] = SpikeMinus(a[c], -l, w[c]);
      }
    }
    __syncwarp();
    SpikeUnroll(c, TMAX) {
      const SpikeArith upper = c <= r ? a[c] : d[c];

      mine[c] = upper;
      if (c == r) mine[TMAX] = d[c];
      if (has && c < T) {
        if (low) row[c * GT + lane] = F(r <= c ? x[c] : d[c]);
        if (up) row[utile + c * GT + lane] = F(upper);
        if (c == r) row[dtile + lane] = F(d[c]);
      }
    }
  }
  if (has && r == 0 && p < t.np) SpikeReportPivots(t, p, st, status, badvalue);
}

template <typename F>
static void SpikeFactorSmall_Private(SpikeBand *s, const SpikePivotPolicy &policy)
{
  SpikeCUDA         *h      = (SpikeCUDA *)s->data;
  const cudaStream_t stream = (cudaStream_t)s->stream;
  const int          T      = h->t.T;
  const unsigned int blocks = (unsigned int)((h->t.groups() + SPIKE_SMALL_WARPS - 1) / SPIKE_SMALL_WARPS);

  if (T <= 4)
    SpikeFactorSmall<F, 4>
      <<<blocks, 32 * SPIKE_SMALL_WARPS, 0, stream>>>(h->t, (F *)s->band, policy, &h->report->factor, h->badvalue);
  else if (T <= 8)
    SpikeFactorSmall<F, 8>
      <<<blocks, 32 * SPIKE_SMALL_WARPS, 0, stream>>>(h->t, (F *)s->band, policy, &h->report->factor, h->badvalue);
  else
    SpikeFactorSmall<F, 16>
      <<<blocks, 32 * SPIKE_SMALL_WARPS, 0, stream>>>(h->t, (F *)s->band, policy, &h->report->factor, h->badvalue);
}

PetscErrorCode SpikeFactorSmall_CUDA(SpikeBand *s, const SpikePivotPolicy *policy)
{
  PetscFunctionBegin;
  SpikeDispatchPrecision(s->precision, SpikeFactorSmall_Private<F>(s, *policy));
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
