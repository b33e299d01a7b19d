/* SPDX-License-Identifier: BSD-2-Clause */
/* periodic.cu: the CUDA backend of periodic.h */
#include <petscdevice_cuda.h>
#if defined(PETSC_USE_COMPLEX)
  #include <thrust/complex.h>
#endif
#include <petscspike.h>
extern "C" {
#include "kernels/band/periodic.h"
}

#define SPIKE_PERIODIC_ROWS    256 /* of a piece, which a warp updates */
#define SPIKE_PERIODIC_THREADS 256

static unsigned SpikePeriodicThreadBlocks(PetscCount threads)
{
  return (unsigned)((threads + SPIKE_PERIODIC_THREADS - 1) / SPIKE_PERIODIC_THREADS);
}

/* A thread for each entry of ends, then one for each entry that has to be zero. All that set joined set it to 1 */
__global__ static void SpikePeriodicGather_Kernel(PetscInt nsys, PetscInt corners, PetscInt nzeros0, PetscInt nzeros,
                                                  const PetscInt *entries, const PetscInt *zeros,
                                                  const PetscScalar *aa0, const PetscScalar *aa1, PetscScalar *ends,
                                                  SpikePeriodicReport *report)
{
  PetscCount t = blockIdx.x * (PetscCount)blockDim.x + threadIdx.x;

  if (t < 4 * (PetscCount)nsys) {
    const bool corner = t % 4 == 1 || t % 4 == 2;

    ends[t] = SpikePeriodicEntry(corner && corners ? aa1 : aa0, entries[t]);
    return;
  }
  t -= 4 * (PetscCount)nsys;
  if (t < nzeros && (t < nzeros0 ? aa0 : aa1)[zeros[t]] != (PetscScalar)0.0) report->joined = 1;
}

static PetscErrorCode SpikePeriodicGather_CUDA(const SpikeBand *s, SpikePeriodic *p, PetscInt nparts,
                                               const SpikeCSR parts[])
{
  const PetscInt nzeros = p->nzeros[0] + p->nzeros[1];

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(p->report, 0, sizeof(*p->report), (cudaStream_t)s->stream));
  if (!p->nsys && !nzeros) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePeriodicGather_Kernel<<<SpikePeriodicThreadBlocks(4 * (PetscCount)p->nsys + nzeros), SPIKE_PERIODIC_THREADS, 0,
                               (cudaStream_t)s->stream>>>(p->nsys, p->corners, p->nzeros[0], nzeros, p->entries,
                                                          p->zeros, parts[0].aa, parts[nparts - 1].aa, p->ends,
                                                          p->report);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread for each system: its entries in the copies of the values are its own */
__global__ static void SpikePeriodicSplit_Kernel(PetscInt nsys, const PetscInt *entries, const PetscScalar *ends,
                                                 PetscScalar *uv, PetscScalar *values, PetscScalar *corners)
{
  const PetscInt i = blockIdx.x * (PetscInt)blockDim.x + threadIdx.x;
  PetscScalar    e[4], w[4], diag[2];

  if (i >= nsys) return;
  for (int k = 0; k < 4; k++) e[k] = ends[4 * (PetscCount)i + k];
  SpikePeriodicSplit(e, w, diag);
  for (int k = 0; k < 4; k++) uv[4 * (PetscCount)i + k] = w[k];
  for (int end = 0; end < 2; end++) {
    const PetscInt d = entries[4 * (PetscCount)i + 3 * end], c = entries[4 * (PetscCount)i + 1 + end];

    if (d >= 0) values[d] = diag[end];
    if (c >= 0 && SpikePeriodicFinite(PetscAbsScalar(corners[c]))) corners[c] = 0.0;
  }
}

static PetscErrorCode SpikePeriodicSplit_CUDA(const SpikeBand *s, SpikePeriodic *p, const SpikeCSR parts[])
{
  PetscFunctionBegin;
  for (PetscInt part = 0; part < p->npatched; part++) {
    if (p->nnz[part])
      PetscCallCUDA(cudaMemcpyAsync(p->values[part], parts[part].aa, p->nnz[part] * sizeof(PetscScalar),
                                    cudaMemcpyDeviceToDevice, (cudaStream_t)s->stream));
  }
  if (!p->nsys) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePeriodicSplit_Kernel<<<SpikePeriodicThreadBlocks(p->nsys), SPIKE_PERIODIC_THREADS, 0,
                              (cudaStream_t)s->stream>>>(p->nsys, p->entries, p->ends, p->uv, p->values[0],
                                                         p->values[p->corners]);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread for each end of a system */
__global__ static void SpikePeriodicEnds_Kernel(PetscCount count, PetscInt offset, const PetscInt *rows,
                                                const PetscScalar *uv, PetscScalar *x)
{
  const PetscCount i = blockIdx.x * (PetscCount)blockDim.x + threadIdx.x;

  if (i < count && rows[i] >= 0) x[rows[i]] = uv[4 * (i / 2) + offset + i % 2];
}

static PetscErrorCode SpikePeriodicEnds_CUDA(const SpikeBand *s, const SpikePeriodic *p, PetscBool trans,
                                             PetscScalar *x)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(x, 0, s->n * sizeof(PetscScalar), (cudaStream_t)s->stream));
  if (!p->nsys) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePeriodicEnds_Kernel<<<SpikePeriodicThreadBlocks(2 * (PetscCount)p->nsys), SPIKE_PERIODIC_THREADS, 0,
                             (cudaStream_t)s->stream>>>(2 * (PetscCount)p->nsys, trans ? 2 : 0, p->rows, p->uv, x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A thread for each end of a system and right-hand side */
__global__ static void SpikePeriodicDots_Kernel(PetscCount count, PetscInt offset, const PetscInt *rows,
                                                const PetscScalar *uv, const PetscScalar *x, PetscCount ldx,
                                                PetscScalar *dots)
{
  const PetscCount i = blockIdx.x * (PetscCount)blockDim.x + threadIdx.x;

  if (i < count)
    dots[blockIdx.y * count + i] = rows[i] < 0 ? (PetscScalar)0.0
                                               : uv[4 * (i / 2) + offset + i % 2] * x[blockIdx.y * ldx + rows[i]];
}

static PetscErrorCode SpikePeriodicDots_CUDA(const SpikeBand *s, SpikePeriodic *p, PetscBool trans, PetscInt nrhs,
                                             const PetscScalar *x, PetscCount ldx)
{
  const dim3 grid(SpikePeriodicThreadBlocks(2 * (PetscCount)p->nsys), (unsigned)nrhs);

  PetscFunctionBegin;
  if (!p->nsys || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePeriodicDots_Kernel<<<grid, SPIKE_PERIODIC_THREADS, 0, (cudaStream_t)s->stream>>>(2 * (PetscCount)p->nsys,
                                                                                         trans ? 0 : 2, p->rows, p->uv,
                                                                                         x, ldx, p->dots);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(2.0 * nrhs * p->nsys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block for all systems; what is added up and compared are integers */
__global__ static void SpikePeriodicClose_Kernel(PetscInt nsys, const PetscScalar *dots, PetscReal tol, PetscReal boost,
                                                 PetscScalar *inv, SpikePeriodicReport *report)
{
  __shared__ unsigned long long nboost, bad;
  PetscScalar                   v;
  PetscReal                     value;

  if (!threadIdx.x) {
    nboost = 0;
    bad    = (unsigned long long)nsys;
  }
  __syncthreads();
  for (PetscInt i = threadIdx.x; i < nsys; i += blockDim.x) {
    const int what = SpikePeriodicClose(dots + 2 * (PetscCount)i, tol, boost, &v, &value);

    inv[i] = v;
    if (what == 1) atomicAdd(&nboost, 1ull);
    if (what == 2) atomicMin(&bad, (unsigned long long)i);
  }
  __syncthreads();
  if (threadIdx.x) return;
  report->nboost = (PetscInt)nboost;
  report->bad    = bad < (unsigned long long)nsys ? (PetscInt)bad : -1;
  if (report->bad < 0) return;
  (void)SpikePeriodicClose(dots + 2 * (PetscCount)bad, tol, boost, &v, &value);
  report->badvalue = value;
}

static PetscErrorCode SpikePeriodicClose_CUDA(const SpikeBand *s, SpikePeriodic *p, PetscReal tol, PetscReal boost)
{
  PetscFunctionBegin;
  SpikePeriodicClose_Kernel<<<1, 1024, 0, (cudaStream_t)s->stream>>>(p->nsys, p->dots, tol, boost, p->inv, p->report);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A warp for each piece and right-hand side; a row belongs to one lane. Moves q, and x twice */
__global__ static void SpikePeriodicUpdate_Kernel(PetscInt npieces, PetscInt nsys, const PetscInt *pieces,
                                                  const PetscScalar *dots, const PetscScalar *inv, const PetscScalar *q,
                                                  PetscScalar *x, PetscCount ldx)
{
  const PetscCount k = (blockIdx.x * (PetscCount)blockDim.x + threadIdx.x) >> 5;

  if (k >= npieces) return;
  dots += blockIdx.y * 2 * (PetscCount)nsys;
  x += blockIdx.y * ldx;
  const PetscInt    system = pieces[3 * k], end = pieces[3 * k + 2];
  const PetscScalar factor = (dots[2 * (PetscCount)system] + dots[2 * (PetscCount)system + 1]) * inv[system];

  for (PetscInt r = pieces[3 * k + 1] + (threadIdx.x & 31); r < end; r += 32) x[r] -= factor * q[r];
}

static PetscErrorCode SpikePeriodicUpdate_CUDA(const SpikeBand *s, const SpikePeriodic *p, PetscBool trans,
                                               PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  const dim3 grid(SpikePeriodicThreadBlocks(32 * (PetscCount)p->npieces), (unsigned)nrhs);

  PetscFunctionBegin;
  if (!p->npieces || !nrhs) PetscFunctionReturn(PETSC_SUCCESS);
  SpikePeriodicUpdate_Kernel<<<grid, SPIKE_PERIODIC_THREADS, 0, (cudaStream_t)s->stream>>>(p->npieces, p->nsys,
                                                                                           p->pieces, p->dots, p->inv,
                                                                                           p->q[trans ? 1 : 0], x, ldx);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuFlops(2.0 * nrhs * s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikePeriodicKernels SpikePeriodicKernels_CUDA = {
  /* rows */ SPIKE_PERIODIC_ROWS,
  /* gather */ SpikePeriodicGather_CUDA,
  /* split */ SpikePeriodicSplit_CUDA,
  /* ends */ SpikePeriodicEnds_CUDA,
  /* dots */ SpikePeriodicDots_CUDA,
  /* close */ SpikePeriodicClose_CUDA,
  /* update */ SpikePeriodicUpdate_CUDA,
};
