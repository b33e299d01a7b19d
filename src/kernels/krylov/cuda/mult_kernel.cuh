/* SPDX-License-Identifier: BSD-2-Clause */
/* mult_kernel.cuh: the kernel of products with a step in the epilogue, for any rows and values, and its launches */
#pragma once

#include "mult.cuh"

/* rows of a block, at least, where each has a piece; 1024 are as fast with 27 diagonals, slower with 7 */
#define SPIKE_DIA_PIECE 4096
/* times that pieces fill the device, at least: the last one ends ragged                              */
#define SPIKE_DIA_WAVES 8

/* Thread blocks of a multiprocessor, with a step: what the registers of its sums, and of values ahead, leave */
template <class MATRIX>
constexpr int SpikeMultResident = SpikeHasNarrow<MATRIX> ? 3 : 4;

/* Elements of the diagonal matrix in scale: beside narrow values single precision */
template <class MATRIX>
using SpikeMultScale = std::conditional_t<SpikeHasNarrow<MATRIX>, SpikeSingle, PetscScalar>;

/*
  y = A x, or D A x with the diagonal matrix D in scale, then the sums of a step that writes nothing; vector `own` of
  the step is y. Deterministic. Rows that wait for columns of other ranks keep their sums in y for the next kernel
*/
template <int STEPID, class MATRIX>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS,
                                  MATRIX::LANES > 1 || STEPID == SPIKE_KRYLOV_NSTEPS ? 0 : SpikeMultResident<MATRIX>)
  SpikeKrylovMultKernel(MATRIX m, const SpikeMultScale<MATRIX> *scale, const PetscScalar *x,
                        PetscScalar *__restrict__ y, SpikeKrylovVectors v, int own, bool recur, unsigned before,
                        unsigned total, SpikeKrylovDevice *device, PetscScalar *partials, SpikeKrylovMail *mail)
{
  using X                                       = SpikeKrylovTraits<STEPID>;
  constexpr int                            NDOT = X::nd ? X::nd : 1;
  PetscScalar                              d[NDOT];
  __shared__ PetscScalar                   shared[SPIKE_KRYLOV_THREADS / 32];
  __shared__ typename MATRIX::SharedMemory rows;

  m.prepare(rows);
  SpikeAwait();
  if (device->s.reason) return;
  const SpikeKrylovFactors f = device->s.f;

  SpikeUnroll(k, NDOT) d[k] = 0.0;
  m.each(rows, (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, (PetscInt)gridDim.x * blockDim.x, SpikeKrylovEntries{x},
         SpikeKrylovNothing{}, [&](PetscInt row, PetscScalar sum, SpikeKrylovNothing) {
           PetscScalar e[X::nv];

           if constexpr (SpikeKrylovIsInside<MATRIX>) {
             if (m.waits(row)) {
               y[row] = sum;
               return;
             }
           }
           if (scale) sum = SpikeKrylovMul(SpikeLoad(scale + row), sum);
           y[row] = sum;
           SpikeUnroll(k, X::nv)
             if ((X::read >> k) & 1) e[k] = k == own ? sum : v.v[k][row];
           X::row(&f, e, d);
         });
  if constexpr (X::nd > 0)
    SpikeKrylovFinish<STEPID>(d, shared, recur, device, partials, mail, before + blockIdx.x, total ? total : gridDim.x);
}

template <int STEPID, class MATRIX>
static PetscErrorCode SpikeKrylovMultStart(const SpikeKrylovCUDA *h, const MATRIX &m, const SpikeKrylovMultArgs *a,
                                           PetscInt blocks)
{
  PetscFunctionBegin;
  if (!a) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(SpikeLaunchEarly(SpikeKrylovMultKernel<STEPID, MATRIX>, dim3((unsigned)blocks),
                                 dim3(SPIKE_KRYLOV_THREADS), 0, h->stream, m, (const SpikeMultScale<MATRIX> *)a->scale,
                                 a->x, a->y, a->v, a->own, a->recur, (unsigned)a->before, (unsigned)a->total, h->device,
                                 h->partials, h->devicemail));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEPID, class MATRIX>
static PetscErrorCode SpikeKrylovMultLaunch(const SpikeKrylovCUDA *h, const MATRIX &m, PetscInt warps,
                                            const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  int resident;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovResident(SpikeKrylovMultKernel<STEPID, MATRIX>, &resident));
  *blocks = SpikeKrylovGrid(PetscMin(SpikeKrylovMostBlocks(h), resident * h->gpu->multiprocessors), warps,
                            SPIKE_KRYLOV_THREADS / 32);
  PetscCall((SpikeKrylovMultStart<STEPID, MATRIX>(h, m, a, *blocks)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With columns of other ranks: all rows by inside(args, &blocks) while the halo travels, without arguments only their
  blocks; then, where there are some, the rows that have waited: each(), with ghost set. The last thread block of both
  makes the sums
*/
template <int STEPID, class MATRIX, typename F>
static PetscErrorCode SpikeKrylovMultWaiting(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c, MATRIX waiting,
                                             PetscInt warps, const SpikeKrylovMultArgs *args, F &&inside)
{
  SpikeKrylovMultArgs a = *args;
  PetscInt            before, after;

  PetscFunctionBegin;
  if (c->off.count) {
    PetscCall(inside((const SpikeKrylovMultArgs *)NULL, &before));
    PetscCall(SpikeKrylovMultLaunch<STEPID>(h, waiting, warps, NULL, &after));
    a.total = before + after;
  }
  PetscCall((*c->loan.begin)(c->loan.owner, (void *)h->stream, a.x, &waiting.ghost));
  PetscCall(inside(&a, &before));
  PetscCall((*c->loan.end)(c->loan.owner, (void *)h->stream, a.x));
  if (!c->off.count) PetscFunctionReturn(PETSC_SUCCESS);
  a.before = before;
  PetscCall(SpikeKrylovMultLaunch<STEPID>(h, waiting, warps, &a, &after));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Products in pieces, for those with a step: its sums leave fewer thread blocks resident than a product alone has.
  *blocks is 0 where there are too few rows for pieces
*/
template <int STEPID, bool RANKS>
static PetscErrorCode SpikeKrylovMultPieces(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                            const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  const SpikeKrylovDia &m = c->dia;

  PetscFunctionBegin;
  *blocks = 0;
  if constexpr (STEPID != SPIKE_KRYLOV_NSTEPS) {
    int            resident;
    const PetscInt n    = m.end - m.begin,
                   rows = PetscMax(SPIKE_DIA_PIECE, (n / SPIKE_KRYLOV_MAXPIECES + SPIKE_KRYLOV_THREADS) /
                                                      SPIKE_KRYLOV_THREADS * SPIKE_KRYLOV_THREADS);

    PetscCall(SpikeKrylovResident(SpikeKrylovMultKernel<STEPID, SpikeDIAPieces>, &resident));
    if (m.T > 1 || n / SPIKE_DIA_PIECE < SPIKE_DIA_WAVES * resident * h->gpu->multiprocessors)
      PetscFunctionReturn(PETSC_SUCCESS);
    *blocks = n / rows + (n % rows ? 1 : 0);
    PetscCall(SpikeKrylovSomeDispatch<RANKS>(c, SpikeDIAPieces{{m}, rows}, [&](const auto &pieces) {
      return SpikeKrylovMultStart<STEPID>(h, pieces, a, *blocks);
    }));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename V, int STEPID, bool RANKS>
static PetscErrorCode SpikeKrylovMultForm(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                          const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  if constexpr (std::is_same_v<V, PetscScalar>)
    if (c->base.form == KSP_FUSED_SPMV_DIA) {
      PetscCall((SpikeKrylovMultPieces<STEPID, RANKS>(h, c, a, blocks)));
      if (*blocks) PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscCall(SpikeKrylovRowsDispatch<V>(c, [&](const auto &rows, PetscInt warps) {
    return SpikeKrylovSomeDispatch<RANKS>(c, rows, [&](const auto &some) {
      return SpikeKrylovMultLaunch<STEPID>(h, some, warps, a, blocks);
    });
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With other ranks: the interior while the halo travels, then the ends. The last thread block of both makes the sums */
template <typename V, int STEPID>
static PetscErrorCode SpikeKrylovMultLoan(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                          const SpikeKrylovMultArgs *args)
{
  using Ends                = SpikeDIAEnds<decltype(SpikeDIAOf<V>(c))>;
  const PetscInt      warps = (c->dia.begin + c->dia.n - c->dia.end + 31) / 32;
  Ends                ends  = {SpikeDIAOf<V>(c), ((const SpikeDIACUDA *)c->loan.dia->data)->table, NULL};
  SpikeKrylovMultArgs a     = *args;
  PetscInt            inside, outside;

  PetscFunctionBegin;
  PetscCall((SpikeKrylovMultForm<V, STEPID, true>(h, c, NULL, &inside)));
  PetscCall((SpikeKrylovMultLaunch<STEPID, Ends>(h, ends, warps, NULL, &outside)));
  a.total = inside + outside;
  PetscCall((*c->loan.begin)(c->loan.owner, (void *)h->stream, a.x, &ends.ghost));
  PetscCall((SpikeKrylovMultForm<V, STEPID, true>(h, c, &a, &inside)));
  PetscCall((*c->loan.end)(c->loan.owner, (void *)h->stream, a.x));
  a.before = inside;
  PetscCall((SpikeKrylovMultLaunch<STEPID, Ends>(h, ends, warps, &a, &outside)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int STEPID>
static PetscErrorCode SpikeKrylovMultCoupled(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                             const SpikeKrylovMultArgs *a)
{
  const PetscInt each = 32 / PetscMax(1, c->off.T);

  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultWaiting<STEPID>(h, c, SpikeKrylovOffRows{c->off, NULL, a->y},
                                           (c->off.count + each - 1) / each, a,
                                           [&](const SpikeKrylovMultArgs *args, PetscInt *blocks) {
                                             return SpikeKrylovMultForm<PetscScalar, STEPID, true>(h, c, args, blocks);
                                           }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpikeKrylovMultStep_CUDA() of a copy with values of type V */
template <typename V>
static PetscErrorCode SpikeKrylovMultValues(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                            SpikeKrylovStep step, const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    return SpikeKrylovMultForm<V, decltype(constant)::value, false>(h, c, a, blocks);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpikeKrylovMultRanks_CUDA() of one */
template <typename V>
static PetscErrorCode SpikeKrylovMultRanksValues(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                                 SpikeKrylovStep step, const SpikeKrylovMultArgs *a, PetscInt *blocks)
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovMultDispatch(step, [&](auto constant) {
    constexpr int STEPID = decltype(constant)::value;

    if constexpr (std::is_same_v<V, PetscScalar>)
      if (c->coupled) return SpikeKrylovMultCoupled<STEPID>(h, c, a);
    return c->loan.begin ? SpikeKrylovMultLoan<V, STEPID>(h, c, a)
                         : SpikeKrylovMultForm<V, STEPID, true>(h, c, a, blocks);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}
