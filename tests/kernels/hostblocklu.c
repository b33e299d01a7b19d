/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostblocklu.c: tests of the host backend of block.h: patterns, factors and solves against dense formulas, pivots,
  failures, memory; prints TAP
*/
static char help[] = "Factors of blocks of the host backend.\n\n";

#include "blocklutests.h"

/* Each allocation of lucreate() fails once; ludestroy() takes what there is. lubytes() is what was allocated, about */
static PetscErrorCode TestMemory(SpikeBlock *b)
{
  Matrix            A;
  SpikeBlockPattern p;
  SpikeBlockLU      lu;
  PetscReal         before, factors, extra;
  PetscErrorCode    ierr = PETSC_ERR_MEM;
  PetscInt          k;

  PetscFunctionBegin;
  PetscCall(MatrixCreate(b, 5, &tasks[0], 4, 2, &A));
  PetscCall(SpikeBlockSymbolic(5, A.nb, A.ntasks, A.start, A.newrow, 1, A.bi, A.bj, &p));
  before = guard.bytes;
  for (k = 1; ierr && k < 100; k++) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    guard.failat = guard.count + k;
    ierr         = CreateLU(b, &p, PETSC_SPIKE_PRECISION_DOUBLE, 3, &lu);
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    if (!ierr) {
      PetscCall((*b->k->lubytes)(&lu, &factors, &extra));
      Check(PetscAbsReal(guard.bytes - before - factors - extra) <= 200 ? 0 : 1e30, "bytes");
    }
    PetscCall((*b->k->ludestroy)(&lu));
    Check(guard.bytes == before && !lu.data ? 0 : 1e30, "an allocation that fails leaves memory");
  }
  Check(!ierr && k > 4 ? 0 : 1e30, "allocations that fail");
  PetscCall(SpikeBlockPatternDestroy(&p));
  PetscCall(MatrixDestroy(b, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SpikeBlock b;
  char       name[32];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.k = SpikeBlockKernelsFind(PETSC_MEMTYPE_HOST);
  PetscCall((*b.k->create)(&b));
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    if (!SpikeISASet((SpikeISA)isa)) continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), "instruction set %d", isa));
    PetscCall(TestBlockFactors(&b, 1, name, -1));
  }
  PetscCall(TestBlockRest(&b));
  PetscCall(TestMemory(&b));
  PetscCall((*b.k->destroy)(&b));
  Report("memory");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
