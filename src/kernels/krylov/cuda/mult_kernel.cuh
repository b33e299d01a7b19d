/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_kernel.cuh: the kernel of products with a step in the epilogue, for any rows, and its launches */
#pragma once

#include "mult.cuh"

/*
  y = A x, or D A x with the diagonal matrix D in scale, then the sums of a step that writes nothing; vector `own` of
  the step is y. Deterministic. Rows that wait for columns of other ranks keep their sums in y for the next kernel
*/
template <int STEP, class ROWS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, ROWS::LANES > 1 || STEP == SPIKE_KRYLOV_NSTEPS ? 0 : 4)
  SpikeKrylovMultKernel(ROWS m, const PetscScalar *__restrict__ scale, const PetscScalar *__restrict__ x,
                        PetscScalar *__restrict__ y, SpikeKrylovVectors v, int own, bool recur, unsigned front,
                        unsigned total, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X                             = SpikeKrylovTraits<STEP>;
  constexpr int                    ND = X::nd ? X::nd : 1;
  PetscScalar                      d[ND];
  __shared__ PetscScalar           shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ typename ROWS::Shared rows;

  m.prepare(rows);
  SpikeAwait();
  if (device->s.reason) return;
  const SpikeKrylovFactors f = device->s.f;

  SpikeUnroll(k, ND) d[k] = 0.0;
  m.each(rows, (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, (PetscInt)gridDim.x * blockDim.x, SpikeKrylovEntries{x},
         SpikeKrylovNothing{}, [&](PetscInt row, PetscScalar sum, SpikeKrylovNothing) {
           PetscScalar e[X::nv];

           if constexpr (SpikeKrylovIsInside<ROWS>) {
             if (m.waits(row)) {
               y[row] = sum;
               return;
             }
           }
           if (scale) sum = SpikeKrylovMul(scale[row], sum);
           y[row] = sum;
           SpikeUnroll(k, X::nv)
             if ((X::read >> k) & 1) e[k] = k == own ? sum : v.v[k][row];
           X::row(&f, e, d);
         });
  if constexpr (X::nd > 0)
    SpikeKrylovFinish<STEP>(d, shared, recur, device, partials, mail, front + blockIdx.x, total ? total : gridDim.x);
}

template <int STEP, class ROWS>
static PetscErrorCode SpikeKrylovMultStart(const SpikeKrylovCUDA *h, const ROWS &m, const SpikeKrylovMultArgs *a,
                                           PetscInt blocks)
{
  PetscFunctionBegin;
  if (!a) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(SpikeLaunchBehind(SpikeKrylovMultKernel<STEP, ROWS>, dim3((unsigned)blocks), dim3(SPIKE_KRYLOV_THREADS),
                                  0, h->stream, m, a->scale, a->x, a->y, a->v, a->own, a->recur, (unsigned)a->front,
                                  (unsigned)a->total, h->device, h->partials, h->devicemail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEP, class ROWS>
static PetscErrorCode SpikeKrylovMultLaunch(const SpikeKrylovCUDA *h, const ROWS &m, PetscInt warps,
                                            const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  int resident;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovResident(SpikeKrylovMultKernel<STEP, ROWS>, &resident));
  *blocks = SpikeKrylovGrid(PetscMin(SpikeKrylovMostBlocks(h), resident * h->gpu->multiprocessors), warps,
                            SPIKE_KRYLOV_THREADS / 32);
  PetscCall((SpikeKrylovMultStart<STEP, ROWS>(h, m, a, *blocks)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With columns of other ranks: all rows by inside(args, &blocks) while the halo travels, without arguments only their
  blocks; then, where there are some, the rows that have waited: each(), with ghost set. The last thread block of both
  makes the sums
*/
template <int STEP, class ROWS, typename F>
static PetscErrorCode SpikeKrylovMultWaiting(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, ROWS waiting,
                                             PetscInt warps, const SpikeKrylovMultArgs *args, F &&inside)
{
  SpikeKrylovMultArgs a = *args;
  PetscInt            front, behind;

  PetscFunctionBegin;
  if (c->off.count) {
    PetscCall(inside((const SpikeKrylovMultArgs *)NULL, &front));
    PetscCall(SpikeKrylovMultLaunch<STEP>(h, waiting, warps, NULL, &behind));
    a.total = front + behind;
  }
  PetscCall((*c->loan.begin)(c->loan.owner, (void *)h->stream, a.x, &waiting.ghost));
  PetscCall(inside(&a, &front));
  PetscCall((*c->loan.end)(c->loan.owner, (void *)h->stream, a.x));
  if (!c->off.count) PetscFunctionReturn(PETSC_SUCCESS);
  a.front = front;
  PetscCall(SpikeKrylovMultLaunch<STEP>(h, waiting, warps, &a, &behind));
  PetscFunctionReturn(PETSC_SUCCESS);
}
