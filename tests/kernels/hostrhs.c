/* SPDX-License-Identifier: BSD-2-Clause */
/* hostrhs.c: tests of the host backend of rhs.h, for each instruction set; prints TAP */
static char help[] = "Steps over several right-hand sides of the host backend of the fused Krylov methods.\n\n";

#include "kernels/krylov/rhs.h"
#include "kernels/band/host/ops.h"
#include "../guard.h"

static PetscErrorCode Make(PetscScalar **there, PetscInt count)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Put(PetscScalar there[], const PetscScalar host[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(there, host, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(PetscScalar host[], const PetscScalar there[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(host, there, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Drop(PetscScalar there[])
{
  PetscFunctionBegin;
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeIndices(PetscInt **there, const PetscInt host[], PetscInt count)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(count, there));
  PetscCall(PetscArraycpy(*there, host, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DropIndices(PetscInt there[])
{
  PetscFunctionBegin;
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "rhscase.h"
#include "rhsmultcase.h"
#include "blockcgcase.h"

int main(int argc, char **argv)
{
  /* more than a cache is thought to hold */
  const PetscInt sizes[] = {0, 1, 7, 64, 513, 1337},
                 many    = ((PetscInt)18 << 20) / (DOTS * (PetscInt)sizeof(PetscScalar));

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    SpikeKrylovRhs s;
    SpikeKrylov    single;

    if (!SpikeISASet((SpikeISA)isa)) continue;
    PetscCall(PetscMemzero(&s, sizeof(s)));
    PetscCall(PetscMemzero(&single, sizeof(single)));
    s.k        = &SpikeKrylovRhsKernels_Host;
    s.m        = ROOM;
    s.ncolumns = DOTS;
    s.nsmall   = SpikeIDRSize(SHADE);
    single.k   = &SpikeKrylovKernels_Host;
    PetscCall((*s.k->create)(&s));
    PetscCall((*single.k->create)(&single));
    PetscCall(TestBackend(&s, &single, sizes, PETSC_STATIC_ARRAY_LENGTH(sizes)));
    PetscCall(TestDots(&s, many, many + 1, DOTS));
    Line("the same in pieces that a cache holds");
    PetscCall(TestMany(s.k, &single, 8));
    if (isa == SPIKE_ISA_BASE) PetscCall(TestBlockCG(s.k));
    PetscCall((*single.k->destroy)(&single));
    PetscCall((*s.k->destroy)(&s));
    Check((PetscBool)(!GuardDamage() && !guard.nblocks), "memory", 0, "written outside of an array, or left");
    guard.damaged = 0;
    Line("memory");
  }
  printf("1..%d # %ld checks\n", (int)line, (long)checks);
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
