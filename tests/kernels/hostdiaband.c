/* SPDX-License-Identifier: BSD-2-Clause */
/* hostdiaband.c: tests of the host's band from diagonals against that from CSR; prints TAP */
static char help[] = "The band of PCSPIKE from diagonals on the host against that from CSR.\n\n";

#include "diaband.h"

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  kernels = &SpikeDIAKernels_Host;
  PetscCall(TestBands(PETSC_INT_MAX));
  Report("bands from diagonals");
  printf("1..%d\n", (int)number);
  GuardStop();
  PetscCall(PetscFinalize());
  return failed > 0;
}
