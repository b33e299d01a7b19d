/* SPDX-License-Identifier: BSD-2-Clause */
/* rhs_basis.cu: the basis steps of basis.cu over several right-hand sides */
#include "rhs_dots.cuh"
#include "basis_moves.cuh"

template <int M, int C>
static PetscErrorCode SpikeRhsDotsLaunch(const SpikeRhsCUDA *d, PetscInt n, const SpikeRhsDotsArgs &b, bool wide,
                                         const SpikeBasisEnd &e)
{
  const dim3 grid((unsigned)((b.width + C - 1) / C), SpikeRhsBlocks(d, SpikeKrylovRounds(n, wide)));

  PetscFunctionBegin;
  PetscCallCUDA(SpikeLaunchEarly(SpikeRhsDots<M, C>, grid, dim3(SPIKE_KRYLOV_THREADS), C * SpikeBasisShared(e),
                                 d->h.stream, n, b, wide, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A right-hand side alone where vectors are not shared, or the small matrices of a group are many. Without vectors there
  is no ldA to go by
*/
static PetscErrorCode SpikeRhsDotsSelect(const SpikeRhsCUDA *d, PetscInt n, const SpikeRhsDotsArgs &b, bool wide,
                                         const SpikeBasisEnd &e)
{
  const bool alone = e.recurrence.s > 8;

  PetscFunctionBegin;
  if (b.m == 0 && alone) PetscCall((SpikeRhsDotsLaunch<0, 1>(d, n, b, wide, e)));
  else if (b.m == 0) PetscCall((SpikeRhsDotsLaunch<0, SpikeRhsGroup<0>::C>(d, n, b, wide, e)));
  else if (b.ldA || alone) PetscCall((SpikeRhsDotsLaunch<8, 1>(d, n, b, wide, e)));
  else if (b.m == 1) PetscCall((SpikeRhsDotsLaunch<1, SpikeRhsGroup<1>::C>(d, n, b, wide, e)));
  else if (b.m == 2) PetscCall((SpikeRhsDotsLaunch<2, SpikeRhsGroup<2>::C>(d, n, b, wide, e)));
  else if (b.m <= 4) PetscCall((SpikeRhsDotsLaunch<4, SpikeRhsGroup<4>::C>(d, n, b, wide, e)));
  else PetscCall((SpikeRhsDotsLaunch<8, SpikeRhsGroup<8>::C>(d, n, b, wide, e)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static SpikeBasisEnd SpikeRhsEnd(const SpikeKrylovRhs *s, SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                 const SpikeIDRRecurrence *recurrence)
{
  const SpikeRhsCUDA *d = (const SpikeRhsCUDA *)s->data;
  SpikeBasisEnd       e;

  memset((void *)&e, 0, sizeof(e));
  if (recurrence) {
    e.recurrence = *recurrence;
    e.nsums = (int)SpikeKrylovBasisSums(step, b->last - b->first, (PetscBool)(b->z != NULL), (PetscBool)(b->q != NULL));
    e.recur = s->ondevice ? true : false;
  }
  e.device   = d->device;
  e.mail     = d->devicemail;
  e.partials = d->partials;
  e.small    = s->small;
  e.sums     = d->devicebasissums;
  e.stride   = d->stride;
  e.mostsums = SpikeKrylovRhsSums(s);
  e.nsmall   = s->nsmall;
  return e;
}

PetscErrorCode SpikeKrylovRhsBasisStep_CUDA(SpikeKrylovRhs *s, PetscInt width, SpikeKrylovBasisStep step,
                                            const SpikeKrylovBasis *b, PetscInt ldA, PetscInt ld,
                                            const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  SpikeRhsCUDA       *d = (SpikeRhsCUDA *)s->data;
  const PetscInt      m = b->last - b->first, n = b->n;
  const SpikeBasisEnd e    = SpikeRhsEnd(s, step, b, recurrence);
  bool                wide = ldA * sizeof(PetscScalar) % (2 * sizeof(PetscReal)) == 0 &&
              ld * sizeof(PetscScalar) % (2 * sizeof(PetscReal)) == 0;

  PetscFunctionBegin;
  PetscAssert(m <= s->ncolumns && s->ncolumns <= SPIKE_BASIS_MOST, PETSC_COMM_SELF, PETSC_ERR_PLIB,
              "A basis of %" PetscInt_FMT " vectors, room for %" PetscInt_FMT, m, s->ncolumns);
  d->basis = true;
  d->all   = step == SPIKE_KRYLOV_SMOOTH;
  PetscCall(PetscLogGpuTimeBegin());
  if (step == SPIKE_KRYLOV_DOTS) {
    SpikeRhsDotsArgs dots = {};

    dots.y     = b->y;
    dots.z     = b->z;
    dots.ldA   = ldA;
    dots.ld    = ld;
    dots.m     = (int)m;
    dots.width = (int)width;
    wide       = wide && SpikeBasisWide(dots.y) && SpikeBasisWide(dots.z);
    for (PetscInt j = 0; j < m; j++) {
      dots.A[j] = b->A[b->first + j];
      wide      = wide && SpikeBasisWide(dots.A[j]);
    }
    PetscCall(SpikeRhsDotsSelect(d, n, dots, wide, e));
  } else if (step == SPIKE_KRYLOV_SMOOTH)
    PetscCall(SpikeBasisSmooth_CUDA(&d->h, dim3(SpikeRhsBlocks(d, n), (unsigned)width), b, ld, e));
  else {
    SpikeBasisMoves<-1, -1> moves;

    if (step == SPIKE_KRYLOV_UPDATE) wide = SpikeMovesMake(b, combine, &moves) && wide;
    else wide = SpikeMovesMake(NULL, b, &moves) && wide;
    moves.ld = ld;
    PetscCall(SpikeBasisLaunch(SpikeBasisMove<-1, -1, true>, &d->h,
                               dim3(SpikeRhsBlocks(d, SpikeKrylovRounds(n, wide)), (unsigned)width), e, n, moves, wide,
                               e));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops(SpikeKrylovBasisFlops(step, b, combine) * n * width));
  PetscFunctionReturn(PETSC_SUCCESS);
}
