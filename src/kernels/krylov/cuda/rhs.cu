/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs.cu: the CUDA backend of rhs.h: state, steps, sums, exchange of columns */
#include "rhs.cuh"

#define SPIKE_RHS_PAIRS 64 /* of columns that change places in one launch */

SpikeRhsState SpikeRhsStateOf(const SpikeKrylovRhs *s)
{
  const SpikeRhsCUDA *d = (const SpikeRhsCUDA *)s->data;
  SpikeRhsState       state;

  state.device   = d->device;
  state.mail     = d->devicemail;
  state.partials = d->partials;
  state.stride   = d->stride;
  state.recur    = s->ondevice ? true : false;
  return state;
}

/* One step on n rows of column blockIdx.y. Words moved: the list in scalars.h. Nothing is done where a reason is set */
template <int STEPID>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsKernel(PetscInt n, SpikeRhsVectors v, bool wide, SpikeRhsState state)
{
  using X                     = SpikeKrylovTraits<STEPID>;
  constexpr int          NDOT = X::nd ? X::nd : 1;
  const int              c    = blockIdx.y;
  PetscScalar            d[NDOT];
  SpikeKrylovVectors     w;
  __shared__ PetscScalar shared[SPIKE_KRYLOV_THREADS / 32];

  SpikeAwait();
  if (state.device[c].s.reason) return;
  const SpikeKrylovFactors f = state.device[c].s.f;

  SpikeUnroll(k, X::nv) w.v[k] = v.v[k] + c * v.ld[k];
  SpikeUnroll(k, NDOT) d[k] = 0.0;
  SpikeKrylovEach<X::nv, X::read, X::written>((PetscInt)blockIdx.x * blockDim.x + threadIdx.x,
                                              (PetscInt)gridDim.x * blockDim.x, n, w, wide,
                                              [&](PetscScalar e[]) { X::row(&f, e, d); });
  if constexpr (X::nd > 0) SpikeRhsFinish<STEPID>(d, shared, state, c, blockIdx.x, gridDim.x);
}

static PetscErrorCode SpikeKrylovRhsStep_CUDA(SpikeKrylovRhs *s, PetscInt width, SpikeKrylovStep step, PetscInt n,
                                              PetscScalar *const v[], const PetscInt ld[])
{
  SpikeRhsCUDA              *d    = (SpikeRhsCUDA *)s->data;
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
  bool                       wide = SpikeKrylovIsWide(info->nvectors, v);
  SpikeRhsVectors            w;
  dim3                       grid;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < info->nvectors; k++) {
    w.v[k]  = v[k];
    w.ld[k] = ld[k];
    wide    = wide && ld[k] * sizeof(PetscScalar) % alignof(SpikeKrylovPair) == 0;
  }
  grid     = dim3(SpikeRhsBlocks(d, wide ? n / 2 + n % 2 : n), (unsigned)width);
  d->basis = d->all = false;
  PetscCall(PetscLogGpuTimeBegin());
  switch (step) {
#define SPIKE_RHS_CASE(ID, ...) \
  case SPIKE_##ID: \
    PetscCallCUDA(SpikeLaunchEarly(SpikeRhsKernel<SPIKE_##ID>, grid, dim3(SPIKE_KRYLOV_THREADS), 0, d->h.stream, n, w, \
                                   wide, SpikeRhsStateOf(s))); \
    break;
    SPIKE_KRYLOV_STEPS(SPIKE_RHS_CASE)
#undef SPIKE_RHS_CASE
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "No step %d", (int)step);
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(info->flops * n * width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A column with a reason has no sums, except of SMOOTH. Here the host's reasons are those of the kernels */
static PetscErrorCode SpikeKrylovRhsSums_CUDA(SpikeKrylovRhs *s, PetscInt width, PetscInt nsums)
{
  SpikeRhsCUDA  *d    = (SpikeRhsCUDA *)s->data;
  const PetscInt most = SpikeKrylovRhsSums(s);

  PetscFunctionBegin;
  for (PetscInt c = 0; c < width; c++) {
    const volatile PetscReal *sums = d->basis ? d->basissums + 2 * c * most : d->mail[c].sums;
    const bool                has  = d->all || !s->scalars[c].reason;

    if (has) PetscCall(SpikeKrylovSpin_CUDA(&d->h, &d->mail[c].summed, d->summed[c]++));
    for (PetscInt k = 0; k < nsums; k++) s->sums[c * nsums + k] = has ? SpikeKrylovTake(sums, k) : PetscScalar(0.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's scalars are in pageable memory: CUDA has copied them when this returns, and the host may change them */
static PetscErrorCode SpikeKrylovRhsPush_CUDA(SpikeKrylovRhs *s, PetscInt width)
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&d->h.stream));
  PetscCallCUDA(cudaMemcpy2DAsync(&d->device[0].s, sizeof(*d->device), s->scalars, sizeof(*s->scalars),
                                  sizeof(*s->scalars), width, cudaMemcpyHostToDevice, d->h.stream));
  if (s->hostsmall)
    PetscCallCUDA(cudaMemcpyAsync(s->small, s->hostsmall, (size_t)width * s->nsmall * sizeof(PetscScalar),
                                  cudaMemcpyHostToDevice, d->h.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsPull_CUDA(SpikeKrylovRhs *s, PetscInt width)
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  if (!s->ondevice) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpy2DAsync(s->scalars, sizeof(*s->scalars), &d->device[0].s, sizeof(*d->device),
                                  sizeof(*s->scalars), width, cudaMemcpyDeviceToHost, d->h.stream));
  PetscCallCUDA(cudaStreamSynchronize(d->h.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  int a[SPIKE_RHS_PAIRS], b[SPIKE_RHS_PAIRS];
} SpikeRhsPairs;

/* x[a], x[b] <- x[b], x[a], n values each, of the pair blockIdx.y */
template <typename X>
__global__ static void SpikeRhsSwap(SpikeRhsPairs pairs, X *x, PetscInt n, PetscInt64 ld)
{
  X *p = x + pairs.a[blockIdx.y] * ld, *q = x + pairs.b[blockIdx.y] * ld;

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x) {
    const X t = p[i];

    p[i] = q[i];
    q[i] = t;
  }
}

/* y_b <- a x_a + b y_b of the pair blockIdx.y */
__global__ static void SpikeRhsCombine(SpikeRhsPairs pairs, PetscInt n, SpikeScalar a, const PetscScalar *x,
                                       PetscInt64 ldx, SpikeScalar b, PetscScalar *y, PetscInt64 ldy)
{
  const PetscScalar *u    = x + pairs.a[blockIdx.y] * ldx;
  PetscScalar       *v    = y + pairs.b[blockIdx.y] * ldy;
  const bool         hasx = a != PetscScalar(0.0), hasy = b != PetscScalar(0.0);

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x)
    v[i] = (hasx ? SpikeKrylovMul(a, u[i]) : PetscScalar(0.0)) + (hasy ? SpikeKrylovMul(b, v[i]) : PetscScalar(0.0));
}

static PetscErrorCode SpikeKrylovRhsCombine_CUDA(SpikeKrylovRhs *s, PetscInt count, PetscInt n, PetscScalar a,
                                                 const PetscScalar *x, PetscInt ldx, const PetscInt cx[], PetscScalar b,
                                                 PetscScalar *y, PetscInt ldy, const PetscInt cy[])
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&d->h.stream));
  for (PetscInt first = 0; first < count; first += SPIKE_RHS_PAIRS) {
    const PetscInt some = PetscMin((PetscInt)SPIKE_RHS_PAIRS, count - first);
    SpikeRhsPairs  pairs;

    for (PetscInt i = 0; i < some; i++) {
      pairs.a[i] = cx ? (int)cx[first + i] : 0;
      pairs.b[i] = (int)cy[first + i];
    }
    SpikeRhsCombine<<<dim3(SpikeRhsBlocks(d, n), (unsigned)some), SPIKE_KRYLOV_THREADS, 0, d->h.stream>>>(pairs, n, a,
                                                                                                          x,
                                                                                                          (PetscInt64)
                                                                                                            ldx,
                                                                                                          b, y,
                                                                                                          (PetscInt64)
                                                                                                            ldy);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tickets and counts of sums stay with the place: they belong to its mail */
__global__ static void SpikeRhsSwapScalars(SpikeRhsPairs pairs, SpikeKrylovDevice *device)
{
  SpikeKrylovDevice *p = device + pairs.a[blockIdx.x], *q = device + pairs.b[blockIdx.x];

  const SpikeKrylovScalars t = p->s;

  p->s = q->s;
  q->s = t;
}

static PetscErrorCode SpikeKrylovRhsSwap_CUDA(SpikeKrylovRhs *s, PetscInt n, const PetscInt a[], const PetscInt b[],
                                              PetscInt rows, PetscInt nblocks, PetscScalar *const v[], PetscInt ld)
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  for (PetscInt first = 0; first < n; first += SPIKE_RHS_PAIRS) {
    const PetscInt count = PetscMin((PetscInt)SPIKE_RHS_PAIRS, n - first);
    SpikeRhsPairs  pairs;

    for (PetscInt i = 0; i < count; i++) {
      pairs.a[i] = (int)a[first + i];
      pairs.b[i] = (int)b[first + i];
    }
    for (PetscInt k = 0; k < nblocks && rows; k++)
      SpikeRhsSwap<<<dim3(SpikeRhsBlocks(d, rows), (unsigned)count), SPIKE_KRYLOV_THREADS, 0,
                     d->h.stream>>>(pairs, v[k], rows, (PetscInt64)ld);
    if (s->nsmall)
      SpikeRhsSwap<<<dim3(1, (unsigned)count), SPIKE_KRYLOV_THREADS, 0, d->h.stream>>>(pairs, s->small, s->nsmall,
                                                                                       (PetscInt64)s->nsmall);
    SpikeRhsSwapScalars<<<(unsigned)count, 1, 0, d->h.stream>>>(pairs, d->device);
    PetscCallCUDA(cudaGetLastError());
  }
  for (PetscInt i = 0; i < n; i++) {
    const SpikeKrylovScalars t = s->scalars[a[i]];

    s->scalars[a[i]] = s->scalars[b[i]];
    s->scalars[b[i]] = t;
    for (PetscInt k = 0; s->hostsmall && k < s->nsmall; k++) {
      PetscScalar *x      = s->hostsmall + (PetscCount)a[i] * s->nsmall + k,
                  *y      = s->hostsmall + (PetscCount)b[i] * s->nsmall + k;
      const PetscScalar u = *x;

      *x = *y;
      *y = u;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsDestroy_CUDA(SpikeKrylovRhs *s)
{
  SpikeRhsCUDA *d = (SpikeRhsCUDA *)s->data;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaStreamSynchronize(d->h.stream));
  PetscCall(SpikeFree_CUDA(d->device, d->partials, s->small));
  PetscCall(SpikeFreeHost_CUDA(d->mail, d->basissums));
  PetscCall(PetscFree(d->summed));
  PetscCall(PetscFree(s->scalars));
  PetscCall(PetscFree(s->hostsmall));
  PetscCall(PetscFree(s->sums));
  PetscCall(PetscFree(s->data));
  s->small = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovRhsCreate_CUDA(SpikeKrylovRhs *s)
{
  const PetscInt most = SpikeKrylovRhsSums(s);
  SpikeRhsCUDA  *d;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  s->data = d;
  PetscCall(PetscGetCurrentCUDAStream(&d->h.stream));
  PetscCall(SpikeDeviceGet(&d->h.gpu));
  d->stride = (PetscInt64)most * 2 * d->h.gpu->multiprocessors;
  PetscCall(SpikeCalloc_CUDA(s->m, d->h.stream, &d->device));
  PetscCall(SpikeMalloc_CUDA((PetscCount)s->m * d->stride, &d->partials));
  PetscCall(SpikeMallocMapped_CUDA(s->m, &d->mail, &d->devicemail));
  memset((void *)d->mail, 0, s->m * sizeof(*d->mail));
  PetscCall(SpikeMallocMapped_CUDA((PetscCount)2 * s->m * most, &d->basissums, &d->devicebasissums));
  PetscCall(PetscCalloc1(s->m, &d->summed));
  PetscCall(PetscCalloc1(s->m, &s->scalars));
  PetscCall(PetscCalloc1((size_t)s->m * most, &s->sums));
  if (s->nsmall) {
    PetscCall(SpikeCalloc_CUDA((PetscCount)s->m * s->nsmall, d->h.stream, &s->small));
    if (!s->ondevice) PetscCall(PetscCalloc1((size_t)s->m * s->nsmall, &s->hostsmall));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovRhsKernels SpikeKrylovRhsKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* create */ SpikeKrylovRhsCreate_CUDA,
  /* destroy */ SpikeKrylovRhsDestroy_CUDA,
  /* push */ SpikeKrylovRhsPush_CUDA,
  /* pull */ SpikeKrylovRhsPull_CUDA,
  /* step */ SpikeKrylovRhsStep_CUDA,
  /* basisstep */ SpikeKrylovRhsBasisStep_CUDA,
  /* sums */ SpikeKrylovRhsSums_CUDA,
  /* swap */ SpikeKrylovRhsSwap_CUDA,
  /* combine */ SpikeKrylovRhsCombine_CUDA,
  /* mult */ SpikeKrylovRhsMult_CUDA,
  /* blockcg */ SpikeKrylovRhsBlockCG_CUDA,
};
