/* SPDX-License-Identifier: BSD-2-Clause */
/*
  factor.cu: setup of the CUDA backend of tridiagonal.h: factors of the patches, the system of the separators, reports
*/
#include "tridiagonal.cuh"

/*
  l, r, v of a patch. Where a pivot is bad, one thread does the patch again, row by row, for a boosted or replaced pivot
  changes the rows after it. Reads 3 words and a byte a row, writes 3.
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriFactor_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl, const PetscScalar *d,
                        const PetscScalar *du, bool wide)
{
  const PetscInt lo = tri.first[blockIdx.x], hi = tri.first[blockIdx.x + 1],
                 i = lo + SPIKE_TRI_ROWS * (PetscInt)threadIdx.x;
  PetscScalar                ll[SPIKE_TRI_ROWS], dd[SPIKE_TRI_ROWS], uu[SPIKE_TRI_ROWS], before;
  const PetscReal            tol = SpikeTriTol(tri);
  int                        what[SPIKE_TRI_ROWS];
  __shared__ SpikeTriMoebius shared[SPIKE_TRI_WARPS];

  wide           = wide && lo % 2 == 0;
  before         = SpikeTriRows(tri.kind, dl, d, du, i, lo, hi, wide, what, ll, dd, uu);
  const bool bad = SpikeTriPivots(what, before, i == lo, ll, dd, uu, tol, shared);

  if (!__syncthreads_or(bad ? 1 : 0)) {
    SpikeTriStore(tri.l, i, hi, lo % 2 == 0, ll);
    SpikeTriStore(tri.r, i, hi, lo % 2 == 0, dd);
    SpikeTriStore(tri.v, i, hi, lo % 2 == 0, uu);
  } else if (!threadIdx.x)
    SpikeTriSerial(tri.kind, dl, d, du, lo, hi, tol, SpikeTriBoost(tri), tri.l, tri.r, tri.v, tri.report,
                   tri.badvalue + blockIdx.x);
}

/*
  Rows of a window: the distance from its end of the last number of z, of m rows, that is not small; all threads get it
*/
__device__ static __forceinline__ PetscInt SpikeTriReach(const PetscReal size[], const PetscInt distance[], PetscInt m,
                                                         PetscReal shared[], int *reach)
{
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  PetscReal most = 0.0;

  SpikeUnroll(j, SPIKE_TRI_ROWS) most = fmax(most, size[j]);
  most = SpikeWarpMax(most);
  __syncthreads();
  if (!lane) shared[warp] = most;
  if (!threadIdx.x) *reach = 1;
  __syncthreads();
  for (int w = 0; w < SPIKE_TRI_WARPS; w++) most = fmax(most, shared[w]);
  SpikeUnroll(j, SPIKE_TRI_ROWS)
    if (size[j] > most * PETSC_MACHINE_EPSILON / m) atomicMax(reach, (int)distance[j] + 1);
  __syncthreads();
  return *reach;
}

/*
  za = du_s A_I^-T e_first, s above the interior, and zb = dl_s A_I^-T e_last, s below it, with their windows. A thread
  block a patch; nothing without separators. Reads 6 words a row, writes 2
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriReachers_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl, const PetscScalar *d,
                          const PetscScalar *du)
{
  const PetscInt k = (PetscInt)blockIdx.x, lo = tri.first[k], above = k ? tri.sep[k - 1] : -1, below = tri.sep[k],
                 hi = tri.first[k + 1] - (below >= 0 ? 1 : 0), i = lo + SPIKE_TRI_ROWS * (PetscInt)threadIdx.x;
  PetscScalar             p[SPIKE_TRI_ROWS], q[SPIKE_TRI_ROWS], s[SPIKE_TRI_ROWS], z[SPIKE_TRI_ROWS];
  PetscReal               weight[SPIKE_TRI_ROWS], size[SPIKE_TRI_ROWS];
  PetscInt                distance[SPIKE_TRI_ROWS];
  __shared__ SpikeTriLine shared[SPIKE_TRI_WARPS];
  __shared__ PetscReal    most[SPIKE_TRI_WARPS];
  __shared__ int          reach;

  if (above < 0 && below < 0) return;
  SpikeTriLoad(tri.v, i - 1, lo, hi - 1, false, p);
  SpikeTriLoad(tri.l, i + 1, lo + 1, hi, false, q);
  SpikeTriLoad(tri.r, i, lo, hi, false, s);
  SpikeUnroll(j, SPIKE_TRI_ROWS) {
    const PetscInt row = i + j;

    weight[j] = row < hi ? fmax(SpikeAbs(d[row]), fmax(row > lo ? SpikeAbs(dl[row]) : (PetscReal)0.0,
                                                       row + 1 < hi ? SpikeAbs(du[row]) : (PetscReal)0.0))
                         : (PetscReal)0.0;
  }
  for (int side = 0; side < 2; side++) {
    if ((side ? below : above) < 0) continue;
    SpikeUnroll(j, SPIKE_TRI_ROWS)
      z[j] = i + j == (side ? hi - 1 : lo) ? (side ? dl[hi] : du[lo - 1]) : PetscScalar(0.0);
    SpikeTriSweep(z, p, s, q, 0.0, 0.0, shared);
    SpikeUnroll(j, SPIKE_TRI_ROWS) {
      size[j]     = i + j < hi ? SpikeAbs(z[j]) * weight[j] : (PetscReal)0.0;
      distance[j] = side ? hi - 1 - (i + j) : i + j - lo;
    }
    const PetscInt rows = SpikeTriReach(size, distance, hi - lo, most, &reach);

    if (!threadIdx.x) (side ? tri.wb : tri.wa)[k] = rows;
    SpikeUnroll(j, SPIKE_TRI_ROWS)
      if (i + j < hi && (distance[j] < rows || i + j == (side ? lo : hi - 1))) (side ? tri.zb : tri.za)[i + j] = z[j];
    __syncthreads();
  }
}

/* The separators' system, and the couplings of the rows next to them */
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriSchur_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl, const PetscScalar *d,
                       const PetscScalar *du, PetscScalar *sl, PetscScalar *sd, PetscScalar *su, PetscScalar *edge)
{
  const PetscInt s = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (s >= tri.nsep) return;
  const PetscInt k = tri.seppatch[s], lo = tri.first[k], row = tri.first[k + 1] - 1,
                 end = tri.first[k + 2] - (tri.sep[k + 1] >= 0 ? 2 : 1);

  edge[2 * s]     = du[row - 1];
  edge[2 * s + 1] = dl[row + 1];
  sd[s]           = d[row] - du[row - 1] * tri.zb[row - 1] - dl[row + 1] * tri.za[row + 1];
  su[s]           = tri.sep[k + 1] >= 0 ? -du[end] * tri.za[end] : PetscScalar(0.0);
  sl[s]           = k && tri.sep[k - 1] >= 0 ? -dl[lo] * tri.zb[lo] : PetscScalar(0.0);
}

/* Waits for the stream; a report with something in it is reset */
PetscErrorCode SpikeTriReport_CUDA(SpikeTridiagonal *t, SpikePivot *pivot)
{
  SpikeTriCUDA        *h   = (SpikeTriCUDA *)t->data;
  const SpikeTriReport nil = {~0ull, 0};
  SpikeTriReport       r;
  SpikePivot           child;
  cudaStream_t         stream;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  if (!h->npatches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeTriStream_CUDA(t, &stream));
  PetscCallCUDA(cudaMemcpyAsync(h->hostreport, h->report, sizeof(r), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  r             = *h->hostreport;
  pivot->nboost = (PetscInt)r.nboost;
  if (r.badrow != nil.badrow) {
    PetscInt k = 0, end = h->npatches;

    while (end - k > 1) { /* its patch */
      const PetscInt middle = k + (end - k) / 2;

      if ((unsigned long long)h->hostfirst[middle] <= r.badrow) k = middle;
      else end = middle;
    }
    pivot->badrow = (PetscInt)r.badrow;
    PetscCallCUDA(
      cudaMemcpyAsync(&h->hostreport->badvalue, h->badvalue + k, sizeof(PetscReal), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    pivot->badvalue = h->hostreport->badvalue;
  }
  if (r.nboost || r.badrow != nil.badrow) {
    *h->hostreport = nil;
    PetscCallCUDA(cudaMemcpyAsync(h->report, h->hostreport, sizeof(r), cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  child = *pivot;
  PetscCall((*h->child.k->report)(&h->child, &child));
  pivot->nboost += child.nboost;
  if (child.badrow >= 0 && pivot->badrow < 0) {
    pivot->badrow   = h->hostseprow[child.badrow];
    pivot->badvalue = child.badvalue;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tol and boost of the setups to come are in units of *unit, on the device */
PetscErrorCode SpikeTriUnit_CUDA(SpikeTridiagonal *t, const double *unit)
{
  SpikeTriCUDA *h = (SpikeTriCUDA *)t->data;

  PetscFunctionBegin;
  h->unit = unit;
  if (h->nsep) PetscCall(SpikeTriUnit_CUDA(&h->child, unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriSetUp_CUDA(SpikeTridiagonal *t, const PetscScalar *dl, const PetscScalar *d,
                                  const PetscScalar *du, SpikePivot *pivot)
{
  SpikeTriCUDA *h  = (SpikeTriCUDA *)t->data;
  PetscScalar  *sl = h->reduced, *sd = sl + h->nsep, *su = sd + h->nsep, *edge = su + h->nsep;
  const bool    wide = ((size_t)dl | (size_t)d | (size_t)du) % (2 * sizeof(PetscReal)) == 0;
  cudaStream_t  stream;

  PetscFunctionBegin;
  t->maxwindow = 0.0;
  h->tol       = pivot->tol;
  h->boost     = pivot->boost;
  if (!h->npatches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeTriStream_CUDA(t, &stream));
  if (h->dl) {
    const size_t bytes = (size_t)h->n * sizeof(PetscScalar);

    PetscCallCUDA(cudaMemcpyAsync(h->dl, dl, bytes, cudaMemcpyDeviceToDevice, stream));
    PetscCallCUDA(cudaMemcpyAsync(h->d, d, bytes, cudaMemcpyDeviceToDevice, stream));
    PetscCallCUDA(cudaMemcpyAsync(h->du, du, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  if (h->how == SPIKE_TRI_SHARED) PetscCall(SpikeTriPiecesCheck_CUDA(h, stream));
  else PetscCall(SpikeTriSerialSetUp_CUDA(h, dl, d, du, stream));
  if (h->how != SPIKE_TRI_PIVOTED && (!h->dl || h->nsep))
    SpikeTriFactor_Kernel<<<(unsigned)h->npatches, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, d, du, wide);
  PetscCallCUDA(cudaGetLastError());
  if (h->nsep) {
    if (h->how != SPIKE_TRI_PIVOTED)
      SpikeTriReachers_Kernel<<<(unsigned)h->npatches, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, d, du);
    PetscCallCUDA(cudaGetLastError());
    SpikeTriSchur_Kernel<<<SpikeTriThreadBlocks(h->nsep), SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, d, du, sl, sd, su,
                                                                                          edge);
    PetscCallCUDA(cudaGetLastError());
    PetscCall((*h->child.k->setup)(&h->child, sl, sd, su, pivot));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
