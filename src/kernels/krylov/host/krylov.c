/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.c: the host backend of krylov.h */
#include "host.h"
#include "kernels/common/host/isa.h"

SpikeKrylovLoops SpikeKrylovLoopsGet(void)
{
  const SpikeKrylovLoops loops = {SpikeISAOf(SpikeKrylovLoops), SpikeISAOf(SpikeKrylovSingleLoops),
                                  SpikeISAOf(SpikeKrylovBasisLoops), SpikeISAOf(SpikeKrylovNarrowLoops),
                                  SpikeISAOf(&SpikeDIALoops)};

  return loops;
}

static PetscErrorCode SpikeKrylovBasisCreate_Host(SpikeKrylov *s, PetscInt ncolumns, PetscInt small)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->small));
  PetscCall(PetscFree(s->data));
  PetscCall(PetscCalloc1(small, &s->small));
  PetscCall(PetscMalloc1(ncolumns + 3, (PetscScalar **)&s->data));
  s->hostsmall = s->small;
  s->ncolumns  = ncolumns;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sums of the step lie in data */
static PetscErrorCode SpikeKrylovBasisStep_Host(SpikeKrylov *s, SpikeKrylovBasisStep step, const SpikeKrylovBasis *b,
                                                const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  const SpikeKrylovBasisLoop *loops = SpikeKrylovLoopsGet().basisstep;

  PetscFunctionBegin;
  if (s->scalars->reason && step != SPIKE_KRYLOV_SMOOTH) PetscFunctionReturn(PETSC_SUCCESS);
  (*loops[step])(b, (PetscScalar *)s->data);
  if (combine) (*loops[SPIKE_KRYLOV_COMBINE])(combine, NULL);
  PetscCall(PetscLogFlops(SpikeKrylovBasisFlops(step, b, combine) * b->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovBasisSums_Host(SpikeKrylov *s, PetscInt nsums, PetscScalar sums[])
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(sums, (PetscScalar *)s->data, nsums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovBasisPush_Host(SpikeKrylov *s)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovShadow_Host(PetscInt n, PetscInt start, PetscInt k, PetscInt generation,
                                             PetscScalar *p)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) p[i] = SpikeIDRShadow(start + i, k, generation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovToShadow_Host(PetscInt n, const PetscScalar *x, void *y)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) SpikeHostPut(PETSC_SPIKE_PRECISION_BF16, y, i, x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovCreate_Host(SpikeKrylov *s)
{
  PetscFunctionBegin;
  s->ondevice = PETSC_FALSE;
  PetscCall(PetscNew(&s->scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovDestroy_Host(SpikeKrylov *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->scalars));
  PetscCall(PetscFree(s->small));
  PetscCall(PetscFree(s->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovPush_Host(SpikeKrylov *s, PetscBool testonly)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovResume_Host(SpikeKrylov *s)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovLoop_Host(SpikeKrylov *s, SpikeKrylovLoop loop, SpikeKrylovStep step, PetscInt n,
                                           PetscScalar *const v[])
{
  PetscFunctionBegin;
  if (SpikeKrylovIdles(step, s->scalars)) PetscFunctionReturn(PETSC_SUCCESS);
  (*loop)(n, &s->scalars->f, v, s->local);
  PetscCall(PetscLogFlops(SpikeKrylovSteps[step].flops * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovStep_Host(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[])
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovLoop_Host(s, SpikeKrylovLoopsGet().step[step], step, n, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovSingleStep_Host(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n,
                                                 PetscScalar *const v[])
{
  PetscFunctionBegin;
  PetscCall(SpikeKrylovLoop_Host(s, SpikeKrylovLoopsGet().singlestep[step], step, n, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovToSingle_Host(PetscInt n, const PetscScalar *x, void *d)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) SpikeHostPut(PETSC_SPIKE_PRECISION_SINGLE, d, i, x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovBySingle_Host(PetscInt n, const void *d, const PetscScalar *x, PetscScalar *y)
{
  const SpikeKrylovFactors none = {0};
  PetscScalar *const       v[]  = {(PetscScalar *)d, (PetscScalar *)x, y};

  PetscFunctionBegin;
  (*SpikeKrylovLoopsGet().singlestep[SPIKE_DIAGONAL])(n, &none, v, NULL);
  PetscCall(PetscLogFlops(SpikeKrylovSteps[SPIKE_DIAGONAL].flops * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovSums_Host(SpikeKrylov *s, SpikeKrylovStep step)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovKernels SpikeKrylovKernels_Host = {
  .name          = "host",
  .memtype       = PETSC_MEMTYPE_HOST,
  .create        = SpikeKrylovCreate_Host,
  .destroy       = SpikeKrylovDestroy_Host,
  .push          = SpikeKrylovPush_Host,
  .step          = SpikeKrylovStep_Host,
  .tosingle      = SpikeKrylovToSingle_Host,
  .bysingle      = SpikeKrylovBySingle_Host,
  .singlestep    = SpikeKrylovSingleStep_Host,
  .sums          = SpikeKrylovSums_Host,
  .copy          = SpikeKrylovCopy_Host,
  .borrow        = SpikeKrylovBorrow_Host,
  .borrowstencil = SpikeKrylovBorrowStencil_Host,
  .borrowblocks  = SpikeKrylovBorrowBlocks_Host,
  .refill        = SpikeKrylovRefill_Host,
  .couple        = SpikeKrylovCouple_Host,
  .recouple      = SpikeKrylovRecouple_Host,
  .narrow        = SpikeKrylovNarrow_Host,
  .resume        = SpikeKrylovResume_Host,
  .destroycopy   = SpikeKrylovDestroyCopy_Host,
  .mult          = SpikeKrylovMult_Host,
  .maxcolumns    = PETSC_INT_MAX,
  .basiscreate   = SpikeKrylovBasisCreate_Host,
  .basisstep     = SpikeKrylovBasisStep_Host,
  .basissums     = SpikeKrylovBasisSums_Host,
  .basispush     = SpikeKrylovBasisPush_Host,
  .shadow        = SpikeKrylovShadow_Host,
  .toshadow      = SpikeKrylovToShadow_Host,
};
