/* SPDX-License-Identifier: BSD-2-Clause */
/* narrow.cu: copies of the device with values of fewer bytes */
#include "mult.cuh"

/* What a thread has seen: the largest magnitude, as an integer, and whether a value has lost a digit */
typedef struct {
  int size, rounded;
} SpikeNarrowSeen;

/*
  seen[0] <- the largest magnitude of all threads: as integers, numbers that are not negative have their order, NaN
  last; seen[1] is set where a value has lost a digit
*/
__device__ static __forceinline__ void SpikeNarrowTell(SpikeNarrowSeen mine, int *seen)
{
  const int size = SpikeWarpMax(mine.size), rounded = SpikeWarpMax(mine.rounded);

  if (threadIdx.x % 32) return;
  if (size > ((volatile int *)seen)[0]) atomicMax(&seen[0], size);
  if (rounded && !((volatile int *)seen)[1]) atomicMax(&seen[1], 1);
}

/* A value in the type V, and what rounding takes from it is added to taken */
template <typename V>
__device__ static __forceinline__ V SpikeNarrowed(PetscScalar v, PetscScalar *taken, SpikeNarrowSeen *mine)
{
  const V           narrow = V(v);
  const PetscScalar lost   = v - SpikeLoad(&narrow);

  *taken += lost;
  mine->size = max(mine->size, __float_as_int((float)SpikeAbs(v)));
  if (lost != PetscScalar(0.0)) mine->rounded = 1;
  return narrow;
}

/* A thread a row, also those after the last one of a patch. Reads each value once, writes each place once */
template <typename V>
__global__ static void SpikeNarrowDIA(SpikeKrylovDia m, V *__restrict__ low, SpikeSingle *__restrict__ correction,
                                      int           *seen)
{
  SpikeNarrowSeen mine = {0, 0};

  const PetscInt64 rows = SpikeNarrowPatchedRows(m);

  for (PetscInt64 i = (PetscInt64)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
       i += (PetscInt64)gridDim.x * blockDim.x) {
    PetscScalar taken = 0.0;

    for (int d = 0; d < m.count; d++)
      low[SpikeNarrowPlace(m.count, d, (PetscInt)i)] = i < m.n ? SpikeNarrowed<V>(m.val[d * m.ld + i], &taken, &mine)
                                                               : V(PetscScalar(0.0));
    if (i < m.n) correction[i] = SpikeSingle(taken);
  }
  SpikeNarrowTell(mine, seen);
}

/* A warp a slice: the lanes of a row add up what they have taken */
template <typename V>
__global__ static void SpikeNarrowSell(SpikeKrylovSell m, V *__restrict__ low, SpikeSingle *__restrict__ correction,
                                       int            *seen)
{
  const int       lane = threadIdx.x % 32, rows = 32 / m.T;
  SpikeNarrowSeen mine = {0, 0};

  for (PetscInt s = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 32; s < m.slices;
       s += (PetscInt)gridDim.x * blockDim.x / 32) {
    const PetscInt row   = s * rows + lane / m.T;
    PetscScalar    taken = 0.0;

    for (PetscInt64 c = m.start[s]; c < m.start[s + 1]; c++)
      low[32 * c + lane] = SpikeNarrowed<V>(m.val[32 * c + lane], &taken, &mine);
    for (int t = m.T / 2; t; t /= 2) taken += SpikeShfl(taken, lane ^ t);
    if (lane % m.T == 0 && row < m.n) correction[row] = SpikeSingle(taken);
  }
  SpikeNarrowTell(mine, seen);
}

template <typename V>
static PetscErrorCode SpikeNarrowLaunch(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c)
{
  const bool     dia    = c->base.form == KSP_FUSED_SPMV_DIA;
  const unsigned blocks = (unsigned)(dia ? SpikeKrylovGrid(8 * h->gpu->multiprocessors, c->dia.n, 256)
                                         : SpikeKrylovGrid(32 * h->gpu->multiprocessors, c->sell.slices, 8));

  PetscFunctionBegin;
  if (dia) SpikeNarrowDIA<V><<<blocks, 256, 0, h->stream>>>(c->dia, (V *)c->low, c->correction, c->seen);
  else SpikeNarrowSell<V><<<blocks, 256, 0, h->stream>>>(c->sell, (V *)c->low, c->correction, c->seen);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values anew: the host waits for the largest magnitude */
static PetscErrorCode SpikeNarrowFill(const SpikeKrylovCUDA *h, SpikeKrylovCopyCUDA *c, bool *fits)
{
  int   seen[2];
  float most;

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(c->seen, 0, sizeof(seen), h->stream));
  if (c->base.precision == PETSC_SPIKE_PRECISION_BF16) PetscCall(SpikeNarrowLaunch<SpikeBF16>(h, c));
  else PetscCall(SpikeNarrowLaunch<SpikeSingle>(h, c));
  PetscCallCUDA(cudaMemcpyAsync(seen, c->seen, sizeof(seen), cudaMemcpyDeviceToHost, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  memcpy(&most, seen, sizeof(most));
  c->base.exact = seen[1] ? PETSC_FALSE : PETSC_TRUE;
  *fits         = most <= (float)SPIKE_NARROW_LARGEST && most >= (float)SPIKE_NARROW_SMALLEST;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of `places` values in the precision of c */
static PetscErrorCode SpikeNarrowMake(SpikeKrylovCopyCUDA *c, PetscInt64 places, size_t size, bool *made)
{
  const size_t rows = (size_t)SpikeKrylovCopyRows(c);

  PetscFunctionBegin;
  PetscCall(SpikeKrylovCopyAlloc(&c->low, (size_t)places * size, made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&c->correction, rows * sizeof(*c->correction), made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&c->seen, 2 * sizeof(*c->seen), made));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank without rows has nothing to narrow, and a copy like any other */
PetscErrorCode SpikeKrylovNarrow_CUDA(SpikeKrylov *s, const void *copy, PetscSpikePrecision precision, PetscBool always,
                                      void **narrow)
{
  const SpikeKrylovCUDA     *h    = (const SpikeKrylovCUDA *)s->data;
  const SpikeKrylovCopyCUDA *from = (const SpikeKrylovCopyCUDA *)copy;
  const bool                 dia  = from->base.form == KSP_FUSED_SPMV_DIA;
  const size_t               size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
  SpikeKrylovCopyCUDA       *c    = (SpikeKrylovCopyCUDA *)*narrow;
  bool                       fits = true;

  PetscFunctionBegin;
  if (!c) {
    if (from->stencil || from->loan.block || from->coupled || size >= sizeof(PetscScalar) ||
        (!always && from->base.bytes < (PetscInt64)h->gpu->cache))
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscNew(&c));
    *narrow           = (void *)c;
    *c                = *from;
    c->base.narrow    = PETSC_TRUE;
    c->base.precision = precision;
    c->base.exact     = PETSC_TRUE;
    PetscCall(
      SpikeNarrowMake(c, dia ? SpikeNarrowPatchedRows(c->dia) * c->dia.count : 32 * c->sell.chunks, size, &fits));
    c->base.bytes = (PetscInt64)sizeof(SpikeSingle) * SpikeKrylovCopyRows(c) +
                    (dia ? (PetscInt64)size * c->dia.count * c->dia.n
                         : 32 * c->sell.chunks * (PetscInt64)(size + sizeof(int)));
  }
  if (fits && SpikeKrylovCopyRows(c)) PetscCall(SpikeNarrowFill(h, c, &fits));
  if (!fits) PetscCall(SpikeKrylovDestroyCopy_CUDA(s, narrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}
