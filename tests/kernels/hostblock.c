/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostblock.c: tests of the host backend of block.h: tall blocks, products with sparse blocks, for each instruction
  set; prints TAP
*/
static char help[] = "Block kernels of the host backend against sums in double precision.\n\n";

#include "blocktests.h"

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
    PetscCall(TestBlocks(&b, name, -1));
  }
  PetscCall(TestLimits(&b));
  Report("limits");
  PetscCall(TestMoves(&b));
  Report("messages, coordinates");
  PetscCall((*b.k->destroy)(&b));
  Check(guard.nblocks ? 1e30 : 0, "memory is left");
  Report("memory");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
