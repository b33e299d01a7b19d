/* SPDX-License-Identifier: BSD-2-Clause */
/* cudadia.c: tests of the CUDA backend of dia.h: those of the host's, and products with the bits that they have however many ranks share the rows; prints TAP */
static char help[] = "Matrices by diagonals on the device against plain sums. -small: few shapes, for compute-sanitizer.\n\n";

#include <petscdevice.h>
#include "diashapes.h"

/* Rows by the kernel of the ends, which may read ghost[], have the bits of rows by that of the interior; two products have the same bits */
static PetscErrorCode TestBits(void)
{
  const PetscInt n = 1000, offset[] = {-129, -30, -1, 0, 1, 2, 30, 131};
  SpikeDIA       A;
  PetscScalar   *rows;
  Vector         x, y[3];

  PetscFunctionBegin;
  PetscCall(SpikeDIACreate(kernels, n, n, 8, offset, &A));
  PetscCall(SpikeDIASetExtents(&A, A.first, A.last));
  PetscCall(PetscMalloc1(8 * n, &rows));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt d = 0; d < 8; d++) rows[8 * i + d] = i >= A.first[d] && i < A.last[d] ? Number(21, 8 * i + d) : (PetscScalar)0.0;
  PetscCall((*A.k->zero)(&A));
  PetscCall((*A.k->put)(&A, 0, n, rows));
  PetscCall(PetscFree(rows));
  PetscCall(Make(n, 22, &x));
  for (int k = 0; k < 3; k++) {
    PetscCall(Make(n, 0, &y[k]));
    if (k == 2) A.ibegin = A.iend = n; /* as if all rows were ends */
    PetscCall((*A.k->mult)(&A, 0, n, x.there, NULL, NULL, y[k].there));
    PetscCall(Fetch(&y[k]));
    Check((PetscBool)!memcmp(y[k].x, y[0].x, (size_t)n * sizeof(PetscScalar)), "bits", k == 2 ? "of the ends" : "of a product again");
  }
  for (int k = 0; k < 3; k++) PetscCall(Drop(&y[k]));
  PetscCall(Drop(&x));
  PetscCall(SpikeDIADestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(TestShapes(small ? 8 : PETSC_STATIC_ARRAY_LENGTH(shapes)));
  Report("matrices by diagonals on the device");
  PetscCall(TestBits());
  Report("the same bits from each kernel");
  printf("1..%d\n", (int)number);
  GuardStop();
  PetscCall(PetscFinalize());
  return failed > 0;
}
