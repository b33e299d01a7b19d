/* SPDX-License-Identifier: BSD-2-Clause */
/*
  shared.cu: algorithms on one piece, a system or an interior, at a time: cyclic reduction and its hybrids in shared
  memory
*/
#include "tridiagonal.cuh"
#include "kernels/common/cuda/device.cuh"

/* u, or what replaces it, as in setup */
__device__ static __forceinline__ PetscScalar SpikeTriReplaced(PetscScalar u, PetscReal tol, PetscReal boost)
{
  const PetscReal size = SpikeAbs(u);

  if (size > tol && size <= PETSC_MAX_REAL) return u;
  if (boost > (PetscReal)0.0 && size <= tol) return size > (PetscReal)0.0 ? u * (boost / size) : PetscScalar(boost);
  return 1.0;
}

/* Rows of a piece in shared memory, and of a setup what it has to report */
struct SpikeTriPiece {
  PetscScalar    *a, *b, *c, *y;
  PetscInt        m, row; /* row: of the first                                           */
  PetscReal       tol, boost;
  SpikeTriReport *report; /* NULL in an apply                                            */
  PetscReal      *badvalue;
  int            *bad; /* shared: the first bad row of the step that had one first, or m */
};

/*
  Makes count rows begin, begin + step, ... ready to be divided by, and reports. All threads of the thread block call it
*/
__device__ static void SpikeTriDivide(const SpikeTriPiece &p, PetscInt begin, PetscInt step, PetscInt count)
{
  bool first;

  if (!p.report) { /* setup has looked at them */
    for (PetscInt k = threadIdx.x; k < count; k += blockDim.x)
      p.b[begin + step * k] = SpikeTriReplaced(p.b[begin + step * k], p.tol, p.boost);
    __syncthreads();
    return;
  }
  first = *p.bad == (int)p.m;
  __syncthreads();
  for (PetscInt k = threadIdx.x; k < count; k += blockDim.x) {
    const PetscInt  i    = begin + step * k;
    const PetscReal size = SpikeAbs(p.b[i]);

    if (!(size > p.tol && size <= PETSC_MAX_REAL)) {
      if (p.boost > (PetscReal)0.0 && size <= p.tol) atomicAdd(&p.report->nboost, 1ull);
      else if (first) atomicMin(p.bad, (int)i);
    }
  }
  __syncthreads();
  if (first && *p.bad < (int)p.m && !threadIdx.x) {
    *p.badvalue = SpikeAbs(p.b[*p.bad]);
    atomicMin(&p.report->badrow, (unsigned long long)(p.row + *p.bad));
  }
  __syncthreads();
  for (PetscInt k = threadIdx.x; k < count; k += blockDim.x)
    p.b[begin + step * k] = SpikeTriReplaced(p.b[begin + step * k], p.tol, p.boost);
  __syncthreads();
}

/*
  y <- A^-1 y. While more than `switchpoint` rows are left, s = 1, 2, 4, ...: rows s - 1, 3 s - 1, ... are eliminated
  from those between them. From the rows left, s - 1, 2 s - 1, ..., neighbours at distance s d are eliminated, all at
  once, d = 1, 2, 4, ..., until each stands alone; then back.
*/
__device__ static void SpikeTriReduceRows(const SpikeTriPiece &p, PetscInt switchpoint)
{
  constexpr int MOST = SPIKE_TRI_PATCH / SPIKE_TRI_THREADS;
  PetscInt      s = 1, count = p.m;

  for (; count > PetscMax(switchpoint, 1); s *= 2, count /= 2) {
    SpikeTriDivide(p, s - 1, 2 * s, count - count / 2);
    for (PetscInt k = threadIdx.x; k < count / 2; k += blockDim.x) {
      const PetscInt    i = 2 * s - 1 + 2 * s * k, up = i - s, down = i + s < p.m ? i + s : -1;
      const PetscScalar f = p.a[i] / p.b[up], g = down >= 0 ? p.c[i] / p.b[down] : PetscScalar(0.0);

      p.b[i] -= f * p.c[up] + (down >= 0 ? g * p.a[down] : PetscScalar(0.0));
      p.y[i] -= f * p.y[up] + (down >= 0 ? g * p.y[down] : PetscScalar(0.0));
      p.a[i] = -f * p.a[up];
      p.c[i] = down >= 0 ? -g * p.c[down] : PetscScalar(0.0);
    }
    __syncthreads();
  }
  for (PetscInt d = 1; d < count; d *= 2) {
    PetscScalar a[MOST], b[MOST], c[MOST], y[MOST];

    SpikeTriDivide(p, s - 1, s, count);
    SpikeUnroll(j, MOST) {
      const PetscInt k = (PetscInt)threadIdx.x + j * SPIKE_TRI_THREADS, i = s - 1 + s * k, up = i - s * d,
                     down = i + s * d;

      if (k < count) {
        const PetscScalar f = k >= d ? p.a[i] / p.b[up] : PetscScalar(0.0),
                          g = k + d < count ? p.c[i] / p.b[down] : PetscScalar(0.0);

        a[j] = k >= d ? -f * p.a[up] : PetscScalar(0.0);
        c[j] = k + d < count ? -g * p.c[down] : PetscScalar(0.0);
        b[j] = p.b[i] - (k >= d ? f * p.c[up] : PetscScalar(0.0)) - (k + d < count ? g * p.a[down] : PetscScalar(0.0));
        y[j] = p.y[i] - (k >= d ? f * p.y[up] : PetscScalar(0.0)) - (k + d < count ? g * p.y[down] : PetscScalar(0.0));
      }
    }
    __syncthreads();
    SpikeUnroll(j, MOST) {
      const PetscInt k = (PetscInt)threadIdx.x + j * SPIKE_TRI_THREADS, i = s - 1 + s * k;

      if (k < count) {
        p.a[i] = a[j];
        p.b[i] = b[j];
        p.c[i] = c[j];
        p.y[i] = y[j];
      }
    } /* of others nothing is read before the next barrier */
  }
  SpikeTriDivide(p, s - 1, s, count);
  for (PetscInt k = threadIdx.x; k < count; k += blockDim.x) p.y[s - 1 + s * k] /= p.b[s - 1 + s * k];
  __syncthreads();
  while (s > 1) {
    s /= 2;
    for (PetscInt i = s - 1 + 2 * s * (PetscInt)threadIdx.x; i < p.m; i += 2 * s * (PetscInt)blockDim.x) {
      PetscScalar sum = p.y[i];

      if (i >= s) sum -= p.a[i] * p.y[i - s];
      if (i + s < p.m) sum -= p.c[i] * p.y[i + s];
      p.y[i] = sum / p.b[i];
    }
    __syncthreads();
  }
}

/*
  x <- A_I^-1 b, or A_I^-T b, with xs of the separators beside it: a thread block a piece and column. ends: only the
  first and the last number of this are written, and xs is NULL. check: no b and no x; the divisors go to the report.
  Reads 4 words a row and writes one; dl, d, du are those of the matrix.
*/
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPiece_Kernel(const __grid_constant__ SpikeTriPatches tri, bool check, const PetscScalar *xs,
                       const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx, PetscScalar *ends)
{
  extern __shared__ __align__(16) unsigned char shared[];
  PetscScalar                                  *memory = (PetscScalar *)shared;
  const SpikeTriPart                            part(tri, (PetscInt)blockIdx.x);
  const PetscInt      k = part.k, lo = part.lo, hi = part.hi, m = hi - lo, above = part.above, below = part.below;
  const PetscCount    column = blockIdx.y;
  __shared__ int      bad;
  const SpikeTriPiece p = {memory,
                           memory + m,
                           memory + 2 * m,
                           memory + 3 * m,
                           m,
                           lo,
                           SpikeTriTol(tri),
                           SpikeTriBoost(tri),
                           check ? tri.report : NULL,
                           tri.badvalue + k,
                           &bad};

  if (!threadIdx.x) bad = (int)m;
  for (PetscInt i = threadIdx.x; i < m; i += blockDim.x) {
    const PetscInt    row = lo + i;
    const bool        up = i || above >= 0, down = i + 1 < m || below >= 0;
    const PetscScalar a = up ? (TRANSPOSED ? tri.du[row - 1] : tri.dl[row]) : PetscScalar(0.0),
                      c = down ? (TRANSPOSED ? tri.dl[row + 1] : tri.du[row]) : PetscScalar(0.0);
    PetscScalar y       = check ? PetscScalar(0.0) : b[column * ldb + row];

    if (!i && above >= 0 && xs) y -= a * xs[column * tri.nsep + above];
    if (i + 1 == m && below >= 0 && xs) y -= c * xs[column * tri.nsep + below];
    p.a[i] = i ? a : PetscScalar(0.0);
    p.b[i] = tri.d[row];
    p.c[i] = i + 1 < m ? c : PetscScalar(0.0);
    p.y[i] = y;
  }
  __syncthreads();
  SpikeTriReduceRows(p, tri.switchpoint);
  if (check) return;
  if (ends) {
    if (!threadIdx.x && lo == tri.first[k]) ends[2 * (column * tri.npatches + k)] = p.y[0];
    if (!threadIdx.x && below >= 0) ends[2 * (column * tri.npatches + k) + 1] = p.y[m - 1];
  } else {
    for (PetscInt i = threadIdx.x; i < m; i += blockDim.x) x[column * ldx + lo + i] = p.y[i];
    if (!threadIdx.x && below >= 0) x[column * ldx + hi] = xs[column * tri.nsep + below];
  }
}

/* The divisors, into the report */
PetscErrorCode SpikeTriPiecesCheck_CUDA(SpikeTriCUDA *h, cudaStream_t stream)
{
  const int shared = (int)(4 * (size_t)h->longest * sizeof(PetscScalar));

  PetscFunctionBegin;
  PetscCall(SpikeKernelFit((const void *)SpikeTriPiece_Kernel<false>, SPIKE_TRI_THREADS, (size_t)shared));
  PetscCall(SpikeKernelFit((const void *)SpikeTriPiece_Kernel<true>, SPIKE_TRI_THREADS, (size_t)shared));
  SpikeTriPiece_Kernel<false>
    <<<(unsigned)h->npieces, SPIKE_TRI_THREADS, shared, stream>>>(*h, true, NULL, NULL, 0, NULL, 0, NULL);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The interiors; ends as in SpikeTriApply_Kernel() */
PetscErrorCode SpikeTriPieces_CUDA(SpikeTriCUDA *h, PetscBool trans, PetscInt columns, const PetscScalar *xs,
                                   const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx,
                                   PetscScalar *ends, cudaStream_t stream)
{
  const auto kernel = trans ? SpikeTriPiece_Kernel<true> : SpikeTriPiece_Kernel<false>;

  PetscFunctionBegin;
  kernel<<<dim3((unsigned)h->npieces, (unsigned)columns), SPIKE_TRI_THREADS,
           4 * (size_t)h->longest * sizeof(PetscScalar), stream>>>(*h, false, xs, b, ldb, x, ldx, ends);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
