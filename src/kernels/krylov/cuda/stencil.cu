/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.cu: products by a stencil that is lent, with a step in the epilogue */
#include "stencil.cuh"

/* What a step reads of a row besides y, on its way while the row is summed */
template <int NVEC>
struct SpikeKrylovFetched {
  PetscScalar e[NVEC], scale;
};

/*
  The vector of a step that is y, and the one that is x or -1, in most products: known to the compiler, it takes no
  registers
*/
__host__ __device__ constexpr int SpikeKrylovStencilOwn(int step)
{
  return step == SPIKE_CG1_BETA ? 2 : 1;
}

__host__ __device__ constexpr int SpikeKrylovStencilFrom(int step)
{
  return step == SPIKE_CG_ALPHA || step == SPIKE_BCGS_OMEGA || step == SPIKE_BCGS_OMEGA_RHO
         ? 0
         : (step == SPIKE_CG1_BETA ? 1 : -1);
}

/* Whether rows bring vectors of the step that are neither */
template <int STEPID>
constexpr bool SpikeKrylovStencilMore()
{
  return (SpikeKrylovTraits<STEPID>::read & ~(1u << SpikeKrylovStencilOwn(STEPID)) &
          ~(SpikeKrylovStencilFrom(STEPID) < 0 ? 0u : 1u << SpikeKrylovStencilFrom(STEPID))) != 0;
}

/*
  As SpikeKrylovMultKernel(). KNOWNVECTORS, of fast stencils: scale is NULL, y and x are those vectors, and x is not
  fetched again. Reads x, the coefficients where each point has its own, and the other vectors of the step; writes y.
  Deterministic
*/
template <int STEPID, bool KNOWNVECTORS, class MATRIX>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, MATRIX::WITHSTEP)
  SpikeKrylovStencilKernel(const __grid_constant__ MATRIX m, const PetscScalar *scale, const PetscScalar *x,
                           PetscScalar *__restrict__ y, SpikeKrylovVectors v, int place, bool recur, unsigned before,
                           unsigned total, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X                = SpikeKrylovTraits<STEPID>;
  constexpr int     NDOT = X::nd ? X::nd : 1, SOURCE = KNOWNVECTORS ? SpikeKrylovStencilFrom(STEPID) : -1;
  const int         own = KNOWNVECTORS ? SpikeKrylovStencilOwn(STEPID) : place;
  PetscScalar       d[NDOT];
  extern __shared__ __align__(16) unsigned char stencilplanes[];
  __shared__ PetscScalar                        shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ typename MATRIX::SharedMemory      rows;

  m.prepare(rows);
  SpikeAwait();
  if (device->s.reason) return;
  const SpikeKrylovFactors f = device->s.f;

  SpikeUnroll(k, NDOT) d[k] = 0.0;
  const auto fetch = [&](PetscCount row) {
    SpikeKrylovFetched<X::nv> r;

    if (!KNOWNVECTORS && scale) r.scale = scale[row];
    SpikeUnroll(k, X::nv)
      if (((X::read >> k) & 1) && k != own && k != SOURCE) r.e[k] = v.v[k][row];
    return r;
  };
  const auto ahead = [&](PetscCount row) {
    if (!KNOWNVECTORS && scale) SpikePrefetch(scale + row);
    SpikeUnroll(k, X::nv)
      if (((X::read >> k) & 1) && k != own && k != SOURCE) SpikePrefetch(v.v[k] + row);
  };
  m.each(rows, (PetscScalar *)stencilplanes, x, fetch, ahead,
         [&](PetscCount row, PetscScalar sum, const SpikeKrylovFetched<X::nv> &r, auto &&here) {
           PetscScalar e[X::nv];

           if (!KNOWNVECTORS && scale) sum = SpikeKrylovMul(r.scale, sum);
           y[row] = sum;
           SpikeUnroll(k, X::nv)
             if ((X::read >> k) & 1) e[k] = k == own ? sum : (k == SOURCE ? here() : r.e[k]);
           X::row(&f, e, d);
         });
  if constexpr (X::nd > 0)
    SpikeKrylovFinish<STEPID>(d, shared, recur, device, partials, mail, before + blockIdx.x, total ? total : gridDim.x);
}

template <int STEPID, class MATRIX>
static PetscErrorCode SpikeKrylovStencilLaunch(const SpikeKrylovCUDA *h, const MATRIX &rows, unsigned blocks,
                                               size_t planes, const SpikeKrylovMultArgs *a)
{
  constexpr int from   = SpikeKrylovStencilFrom(STEPID);
  const bool    known  = !a->scale && (STEPID == SPIKE_KRYLOV_NSTEPS || (a->own == SpikeKrylovStencilOwn(STEPID) &&
                                                                     (from < 0 || a->v.v[PetscMax(from, 0)] == a->x)));
  auto          kernel = SpikeKrylovStencilKernel<STEPID, false, MATRIX>;

  PetscFunctionBegin;
  if constexpr (MATRIX::FAST) {
    if (known) kernel = SpikeKrylovStencilKernel<STEPID, true, MATRIX>;
  }
  PetscCallCUDA(SpikeLaunchEarly(kernel, dim3(blocks), dim3(SPIKE_KRYLOV_THREADS), planes, h->stream, rows, a->scale,
                                 a->x, a->y, a->v, a->own, a->recur, (unsigned)a->before, (unsigned)a->total, h->device,
                                 h->partials, h->devicemail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The points of a box */
template <int STEPID>
static PetscErrorCode SpikeKrylovStencilBox(const SpikeKrylovCUDA *h, const SpikeStencilPlan &p,
                                            const SpikeKrylovMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeStencilDispatch(p, [&](const auto &rows) {
    return SpikeKrylovStencilLaunch<STEPID>(h, rows, p.blocks, p.shared, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inside while points around the box come, then its ends. The last block of both makes the sums of the step */
template <int STEPID>
static PetscErrorCode SpikeKrylovStencilLoan(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                             const SpikeKrylovMultArgs *args)
{
  const SpikeStencil   *S     = c->stencil;
  const bool            empty = S->ibegin[0] >= S->iend[0] || S->ibegin[1] >= S->iend[1] || S->ibegin[2] >= S->iend[2];
  SpikeKrylovMultArgs   a     = *args;
  SpikeStencilPlan      p;
  SpikeStencilEndsTable ends;
  const PetscScalar    *ghost;
  unsigned              outside;

  PetscFunctionBegin;
  p.blocks = 0;
  if (!empty)
    PetscCall(SpikeStencilPlan_CUDA(S, S->ibegin, S->iend, S->size[0], S->size[0] * S->size[1], true,
                                    SpikeKrylovStencilMore<STEPID>() || a.scale, &p));
  PetscCall(SpikeStencilEndsPlan_CUDA(S, &ends, &outside));
  a.total = (PetscInt)(p.blocks + outside);
  PetscCall((*c->loan.begin)(c->loan.owner, (void *)h->stream, a.x, &ghost));
  if (!empty) PetscCall(SpikeKrylovStencilBox<STEPID>(h, p, &a));
  PetscCall((*c->loan.end)(c->loan.owner, (void *)h->stream, a.x));
  a.before   = (PetscInt)p.blocks;
  ends.ghost = ghost;
  if (S->dof == 1) PetscCall(SpikeKrylovStencilLaunch<STEPID>(h, SpikeStencilEnds<true>{ends}, outside, 0, &a));
  else PetscCall(SpikeKrylovStencilLaunch<STEPID>(h, SpikeStencilEnds<false>{ends}, outside, 0, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEPID>
static PetscErrorCode SpikeKrylovStencilStep(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                             const SpikeKrylovMultArgs *a)
{
  const SpikeStencil *S       = c->stencil;
  const PetscInt      begin[] = {0, 0, 0};
  SpikeStencilPlan    p;

  PetscFunctionBegin;
  if (c->loan.begin) PetscCall(SpikeKrylovStencilLoan<STEPID>(h, c, a));
  else {
    PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true,
                                    SpikeKrylovStencilMore<STEPID>() || a->scale, &p));
    PetscCall(SpikeKrylovStencilBox<STEPID>(h, p, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix has at least one row, or a loan that all ranks take part in */
PetscErrorCode SpikeKrylovStencilMult_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, SpikeKrylovStep step,
                                           const SpikeKrylovMultArgs *a)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    return SpikeKrylovStencilStep<decltype(constant)::value>(h, c, a);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBorrowStencil_CUDA(SpikeKrylov *s, const SpikeStencil *stencil, const SpikeKrylovLoan *loan,
                                             void **copy)
{
  SpikeKrylovCopyCUDA *c;

  PetscFunctionBegin;
  *copy = NULL;
  if (!loan->begin && (stencil->size[0] < 1 || stencil->size[1] < 1 || stencil->size[2] < 1))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->loan       = *loan;
  c->stencil    = stencil;
  c->nz         = (PetscInt)PetscMin((PetscInt64)PETSC_INT_MAX, SpikeStencilEntries(stencil));
  c->base.form  = KSP_FUSED_SPMV_STENCIL;
  c->base.bytes = stencil->constant ? 0 : (PetscInt64)SpikeStencilCoefs(stencil) * (PetscInt64)sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}
