/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_stencil.cu: products by a stencil that is lent, with a step in the epilogue */
#include "krylov_stencil.cuh"

/* What a step reads of a row besides y, on its way while the row is summed */
template <int NV>
struct SpikeKrylovFetched {
  PetscScalar e[NV], scale;
};

/* As SpikeKrylovMultKernel(). Moves x and y, the coefficients where each point has its own, and the other vectors of the step. Deterministic */
template <int STEP, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, ROWS::WITHSTEP) SpikeKrylovStencilKernel(const __grid_constant__ ROWS m, const PetscScalar *__restrict__ scale, const PetscScalar *__restrict__ x, PetscScalar *__restrict__ y, SpikeKrylovVectors v, int own, bool recur, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X              = SpikeKrylovTraits<STEP>;
  constexpr int     ND = X::nd ? X::nd : 1;
  PetscScalar       d[ND];
  extern __shared__ __align__(16) unsigned char stencilplanes[];
  __shared__ PetscScalar                        shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ typename ROWS::Shared              rows;

  m.prepare(rows);
  SpikeAwait();
  if (device->s.reason) return;
  const SpikeKrylovFactors f = device->s.f;

#pragma unroll
  for (int k = 0; k < ND; k++) d[k] = 0.0;
  const auto fetch = [&](PetscCount row) {
    SpikeKrylovFetched<X::nv> r;

    if (scale) r.scale = scale[row];
#pragma unroll
    for (int k = 0; k < X::nv; k++)
      if (((X::read >> k) & 1) && k != own) r.e[k] = v.v[k][row];
    return r;
  };
  m.each(rows, (PetscScalar *)stencilplanes, x, fetch, [&](PetscCount row, PetscScalar sum, const SpikeKrylovFetched<X::nv> &r) {
    PetscScalar e[X::nv];

    if (scale) sum = SpikeKrylovMul(r.scale, sum);
    y[row] = sum;
#pragma unroll
    for (int k = 0; k < X::nv; k++)
      if ((X::read >> k) & 1) e[k] = k == own ? sum : r.e[k];
    X::row(&f, e, d);
  });
  if constexpr (X::nd > 0) SpikeKrylovFinish<STEP>(d, shared, recur, device, partials, mail);
}

template <int STEP, class ROWS>
static PetscErrorCode SpikeKrylovStencilLaunch(const SpikeKrylovCUDA *h, const ROWS &rows, const SpikeStencilPlan &p, const SpikeKrylovMultArgs *a)
{
  PetscFunctionBegin;
  PetscCallCUDA(SpikeLaunchBehind(SpikeKrylovStencilKernel<STEP, ROWS>, dim3(p.blocks), dim3(SPIKE_KRYLOV_THREADS), p.shared, h->stream, rows, a->scale, a->x, a->y, a->v, a->own, a->recur, h->device, h->partials, h->devicemail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEP>
static PetscErrorCode SpikeKrylovStencilStep(const SpikeKrylovCUDA *h, const SpikeStencilPlan &p, const SpikeKrylovMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeStencilDispatch(p, [&](const auto &rows) { return SpikeKrylovStencilLaunch<STEP>(h, rows, p, a); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix has at least one row */
PetscErrorCode SpikeKrylovStencilMult_CUDA(const SpikeKrylovCUDA *h, const SpikeStencil *S, SpikeKrylovStep step, const SpikeKrylovMultArgs *a)
{
  const PetscInt   begin[] = {0, 0, 0};
  SpikeStencilPlan p;

  PetscFunctionBegin;
  PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true, &p));
#define SPIKE_MULT_CASE(NAME) \
  case NAME: \
    PetscCall(SpikeKrylovStencilStep<NAME>(h, p, a)); \
    break;
  switch (step) {
    SPIKE_KRYLOV_MULT_STEPS(SPIKE_MULT_CASE)
  default:
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "Step %s has no product", SpikeKrylovSteps[step].name);
  }
#undef SPIKE_MULT_CASE
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBorrowStencil_CUDA(SpikeKrylov *s, const SpikeStencil *stencil, void **copy)
{
  SpikeKrylovCopyCUDA *c;

  PetscFunctionBegin;
  (void)s;
  *copy = NULL;
  if (stencil->size[0] < 1 || stencil->size[1] < 1 || stencil->size[2] < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->stencil    = stencil;
  c->nz         = (PetscInt)PetscMin((PetscInt64)PETSC_INT_MAX, SpikeStencilEntries(stencil));
  c->base.form  = KSP_FUSED_SPMV_AUTO;
  c->base.bytes = stencil->constant ? 0 : (PetscInt64)SpikeStencilCoefs(stencil) * (PetscInt64)sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}
