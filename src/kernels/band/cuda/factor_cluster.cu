/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_cluster.cu: factors in double precision of wide bands, by clusters of thread blocks */
#include "band.cuh"
#include "factor.cuh"
#if !defined(PETSC_USE_COMPLEX)
  #include "factor_cluster.cuh"

/* Tiles of a step in a thread block of a cluster of so many */
static int SpikeClusterTiles_Private(const SpikeTiles *t, int size)
{
  return (t->QL + 1) * ((t->QU + size) / size);
}

/* Thread blocks of a cluster, 1 where there are none */
static int SpikeClusterSize_Private(const SpikeTiles *t, PetscSpikePrecision precision, const SpikeDevice *gpu)
{
  const int most = (int)((gpu->shared - SPIKE_FACTOR_STATIC) / (SpikeTileShape<4>::NPLACES * sizeof(double)));
  int       size = 1;

  if (t->T <= 24 || !t->QL || !t->QU || gpu->major < 9 || precision != PETSC_SPIKE_PRECISION_DOUBLE) return 1;
  while (size <= SPIKE_CLUSTER_FACTOR_MOST && SpikeClusterTiles_Private(t, size) > most) size++;
  return size <= SPIKE_CLUSTER_FACTOR_MOST ? size : 1;
}

/* The kernel for these tiles, its shared memory, and how many clusters the device holds at once */
static PetscErrorCode SpikeClusterKernel_Private(const SpikeTiles *t, int size, const void **kernel, size_t *bytes,
                                                 int *clusters)
{
  PetscFunctionBegin;
  *kernel = t->T < 32 ? (const void *)SpikeFactorCluster<double, 4, false>
                      : (const void *)SpikeFactorCluster<double, 4, true>;
  *bytes  = SpikeClusterTiles_Private(t, size) * SpikeTileShape<4>::NPLACES * sizeof(double);
  PetscCall(SpikeKernelCluster(*kernel, size, 32 * SPIKE_CLUSTER_FACTOR_WARPS, *bytes, clusters));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFactorClusters_CUDA(const SpikeTiles *t, PetscSpikePrecision precision, const SpikeDevice *gpu,
                                        PetscInt *clusters)
{
  const int   size = SpikeClusterSize_Private(t, precision, gpu);
  const void *kernel;
  size_t      bytes;
  int         held = 0;

  PetscFunctionBegin;
  if (size > 1) PetscCall(SpikeClusterKernel_Private(t, size, &kernel, &bytes, &held));
  *clusters = held;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeFactorCluster_CUDA(SpikeBand *s, const SpikePivotPolicy *policy, bool *done)
{
  SpikeCUDA       *h           = (SpikeCUDA *)s->data;
  const int        size        = SpikeClusterSize_Private(&h->t, s->precision, h->gpu);
  double          *band        = (double *)s->band;
  SpikeStatus     *status      = &h->report->factor;
  SpikePivotPolicy given       = *policy;
  void            *arguments[] = {&h->t, &band, &given, &status, &h->badvalue};
  const void      *kernel;
  size_t           bytes;
  int              clusters = 0;

  PetscFunctionBegin;
  if (size > 1) PetscCall(SpikeClusterKernel_Private(&h->t, size, &kernel, &bytes, &clusters));
  *done = clusters > 0;
  if (*done)
    PetscCall(SpikeLaunchCluster(kernel, s->np, size, 32 * SPIKE_CLUSTER_FACTOR_WARPS, bytes, (cudaStream_t)s->stream,
                                 arguments));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else
/* Complex numbers have kernels of their own */
PetscErrorCode SpikeFactorClusters_CUDA(const SpikeTiles *, PetscSpikePrecision, const SpikeDevice *,
                                        PetscInt *clusters)
{
  *clusters = 0;
  return PETSC_SUCCESS;
}

PetscErrorCode SpikeFactorCluster_CUDA(SpikeBand *, const SpikePivotPolicy *, bool *done)
{
  *done = false;
  return PETSC_SUCCESS;
}
#endif
