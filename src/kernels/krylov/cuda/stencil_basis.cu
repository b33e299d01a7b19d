/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil_basis.cu: products by a stencil that have the inner products of a basis step in the epilogue */
#include "stencil.cuh"

/*
  As SpikeBasisMultKernel(): y = A x, and the DOTS of this y over M columns, which are on their way while the rows are
  summed. Deterministic
*/
template <int M, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, ROWS::WITHSTEP)
  SpikeBasisStencilKernel(const __grid_constant__ ROWS m, const PetscScalar *__restrict__ x,
                          PetscScalar *__restrict__ y, SpikeBasisPointers<M> p, const PetscScalar *z, SpikeBasisEnd e)
{
  PetscScalar       d[M + 3];
  extern __shared__ __align__(16) unsigned char stencilplanes[];
  __shared__ typename ROWS::Shared              rows;

  m.prepare(rows);
  SpikeAwait();
  if (e.device->s.reason) return;
#pragma unroll
  for (int k = 0; k < M + 3; k++) d[k] = 0.0;
  struct Row {
    PetscScalar p[M];
  };

  const auto fetch = [&](PetscCount row) {
    Row r;

#pragma unroll
    for (int j = 0; j < M; j++) r.p[j] = p.v[j][row];
    return r;
  };
  const auto ahead = [&](PetscCount row) {
#pragma unroll
    for (int j = 0; j < M; j++) SpikePrefetch(p.v[j] + row);
  };
  m.each(rows, (PetscScalar *)stencilplanes, x, fetch, ahead,
         [&](PetscCount row, PetscScalar sum, const Row &r, auto &&) {
#pragma unroll
           for (int j = 0; j < M; j++) d[j] += SpikeKrylovDot(r.p[j], sum);
           y[row] = sum;
           SpikeBasisDotsRow<M>(row, sum, z, d);
         });
  SpikeBasisSums<M, 3>(d, M, z ? 3 : 1, e, 0);
}

template <int M, class ROWS>
static PetscErrorCode SpikeBasisStencilLaunch(const SpikeKrylovCUDA *h, const ROWS &rows, const SpikeStencilPlan &plan,
                                              const PetscScalar *x, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  SpikeBasisPointers<M> p;

  PetscFunctionBegin;
  for (int j = 0; j < M; j++) p.v[j] = b->A[b->first + j];
  PetscCallCUDA(SpikeLaunchBehind(SpikeBasisStencilKernel<M, ROWS>, dim3(plan.blocks), dim3(SPIKE_KRYLOV_THREADS),
                                  PetscMax(plan.shared, SpikeBasisShared(e)), h->stream, rows, x, b->y, p, b->z, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int M>
static PetscErrorCode SpikeBasisStencilColumns(const SpikeKrylovCUDA *h, const SpikeStencilPlan &p,
                                               const PetscScalar *x, const SpikeKrylovBasis *b, const SpikeBasisEnd &e)
{
  PetscFunctionBegin;
  PetscCall(SpikeStencilDispatch(p, [&](const auto &rows) { return SpikeBasisStencilLaunch<M>(h, rows, p, x, b, e); }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many columns as SpikeStencilTakes() says, of a matrix with at least one row */
PetscErrorCode SpikeKrylovStencilBasisMult_CUDA(const SpikeKrylovCUDA *h, const SpikeStencil *S, const PetscScalar *x,
                                                const SpikeKrylovBasis *b, const SpikeBasisEnd *e)
{
  const PetscInt   begin[] = {0, 0, 0}, n = b->last - b->first;
  SpikeStencilPlan p;

  PetscFunctionBegin;
  PetscCall(SpikeStencilPlan_CUDA(S, begin, S->size, S->size[0], S->size[0] * S->size[1], true, true, &p));
  if (n == 1) PetscCall(SpikeBasisStencilColumns<1>(h, p, x, b, *e));
  else if (n == 2) PetscCall(SpikeBasisStencilColumns<2>(h, p, x, b, *e));
  else PetscCall(SpikeBasisStencilColumns<4>(h, p, x, b, *e));
  PetscFunctionReturn(PETSC_SUCCESS);
}
