/* SPDX-License-Identifier: BSD-2-Clause */
/* devicediaband.c: tests of the device's band from diagonals against that from CSR; prints TAP */
static char help[] = "The band of PCSPIKE from diagonals on the device against that from CSR. -small: few shapes, for "
                     "compute-sanitizer.\n\n";

#include <petscdevice.h>
#include "diaband.h"

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  kernels = SpikeDIAKernelsFind(PETSC_MEMTYPE_CUDA);
  PetscCheck(kernels, PETSC_COMM_SELF, PETSC_ERR_SUP, "This library was built without CUDA");
  GuardStart();
  PetscCall(TestBands(small ? 257 : PETSC_INT_MAX));
  Report("bands from diagonals on the device");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed > 0;
}
