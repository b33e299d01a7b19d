/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostdia.c: tests of the host backend of dia.h against plain sums, with columns of other ranks on both sides, for each
  instruction set; prints TAP
*/
static char help[] = "Matrices by diagonals on the host against plain sums.\n\n";

#include "diashapes.h"
#include "kernels/band/host/ops.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  kernels = &SpikeDIAKernels_Host;
  for (int isa = 0; isa <= (int)SpikeISADetect(); isa++) {
    char text[64];

    (void)SpikeISASet((SpikeISA)isa);
    PetscCall(TestShapes(PETSC_STATIC_ARRAY_LENGTH(shapes) - 1));
    PetscCall(PetscSNPrintf(text, sizeof(text), "matrices by diagonals, instruction set %d", isa));
    Report(text);
  }
  printf("1..%d\n", (int)number);
  GuardStop();
  PetscCall(PetscFinalize());
  return failed > 0;
}
