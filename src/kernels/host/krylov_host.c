/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov_host.c: the host backend of krylov.h */
#include "../krylov.h"
#include "band.h"

#define SPIKE_KRYLOV_INFO(NAME, name, NV, READ, WRITTEN, ND, FLOPS) {#name, NV, ND, READ, WRITTEN, FLOPS},
const SpikeKrylovStepInfo SpikeKrylovSteps[SPIKE_KRYLOV_NSTEPS] = {SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_INFO)};
#undef SPIKE_KRYLOV_INFO

static const SpikeKrylovLoop *SpikeKrylovLoops_Private(void)
{
  switch (SpikeISAGet()) {
#if defined(SPIKE_HAVE_X86_64_LEVELS)
  case SPIKE_ISA_V4:
    return SpikeKrylovLoops_v4;
  case SPIKE_ISA_V3:
    return SpikeKrylovLoops_v3;
#endif
  default:
    return SpikeKrylovLoops_base;
  }
}

PetscErrorCode SpikeKrylovBlockStep_Host(SpikeKrylovBlockStep step, const SpikeKrylovBlock *b, PetscScalar sums[])
{
  const PetscReal m = (PetscReal)(b->last - b->first), flops[] = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0, 4.0 * m + (b->x ? (b->q ? 9.0 : 6.0) : 0.0), 8.0};

  PetscFunctionBegin;
  switch (SpikeISAGet()) {
#if defined(SPIKE_HAVE_X86_64_LEVELS)
  case SPIKE_ISA_V4:
    SpikeKrylovBlockLoops_v4[step](b, sums);
    break;
  case SPIKE_ISA_V3:
    SpikeKrylovBlockLoops_v3[step](b, sums);
    break;
#endif
  default:
    SpikeKrylovBlockLoops_base[step](b, sums);
  }
  PetscCall(PetscLogFlops(flops[step] * (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * b->n));
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovPush_Host(SpikeKrylov *s, PetscBool testonly)
{
  PetscFunctionBegin;
  (void)s;
  (void)testonly;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovStep_Host(SpikeKrylov *s, SpikeKrylovStep step, PetscInt n, PetscScalar *const v[])
{
  const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];

  PetscFunctionBegin;
  if (s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeKrylovLoops_Private()[step](n, &s->scalars->f, v, s->local);
  PetscCall(PetscLogFlops(info->flops * (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeKrylovSums_Host(SpikeKrylov *s, SpikeKrylovStep step)
{
  PetscFunctionBegin;
  (void)s;
  (void)step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeKrylovKernels SpikeKrylovKernels_Host = {"host", PETSC_MEMTYPE_HOST, SpikeKrylovCreate_Host, SpikeKrylovDestroy_Host, SpikeKrylovPush_Host, SpikeKrylovStep_Host, SpikeKrylovSums_Host, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
