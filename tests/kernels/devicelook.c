/* SPDX-License-Identifier: BSD-2-Clause */
/* devicelook.c: tests of the device's backend of look.h; prints TAP */
static char help[] = "Looks at the entries of a matrix on the device against plain searches. -small: few sizes, for "
                     "compute-sanitizer.\n\n";

#include <petscdevice.h>
#include "lookcase.h"

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  kernels = SpikeLookKernelsFind(PETSC_MEMTYPE_CUDA);
  memory  = SpikeDIAKernelsFind(PETSC_MEMTYPE_CUDA);
  PetscCheck(kernels && memory, PETSC_COMM_SELF, PETSC_ERR_SUP, "This library was built without CUDA");
  GuardStart();
  PetscCall(TestLooks(small ? 130 : PETSC_INT_MAX));
  Report("looks at a matrix on the device");
  PetscCall(TestStrange());
  Report("numbers that are not finite");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed > 0;
}
