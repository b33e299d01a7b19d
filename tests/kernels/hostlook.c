/* SPDX-License-Identifier: BSD-2-Clause */
/* hostlook.c: tests of the host backend of look.h, for each instruction set; prints TAP */
static char help[] = "Looks at the entries of a matrix on the host against plain searches.\n\n";

#include "lookcase.h"
#include "kernels/band/host/ops.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  kernels = SpikeLookKernelsFind(PETSC_MEMTYPE_HOST);
  memory  = SpikeDIAKernelsFind(PETSC_MEMTYPE_HOST);
  TestNumbers();
  Report("steps and samples");
  for (int isa = 0; isa <= (int)SpikeISADetect(); isa++) {
    char text[64];

    (void)SpikeISASet((SpikeISA)isa);
    PetscCall(TestLooks(PETSC_INT_MAX));
    PetscCall(TestStrange());
    PetscCall(PetscSNPrintf(text, sizeof(text), "looks at a matrix, instruction set %d", isa));
    Report(text);
  }
  printf("1..%d\n", (int)number);
  GuardStop();
  PetscCall(PetscFinalize());
  return failed > 0;
}
