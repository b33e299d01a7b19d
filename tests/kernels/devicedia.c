/* SPDX-License-Identifier: BSD-2-Clause */
/*
  devicedia.c: tests of the CUDA backend of dia.h: those of the host's, and products with the bits that they have
  however many ranks share the rows; prints TAP
*/
static char
  help[] = "Matrices by diagonals on the device against plain sums. -small: few shapes, for compute-sanitizer.\n\n";

#include <petscdevice.h>
#include "kernels/krylov/krylov.h"
#include "diashapes.h"

/*
  Rows by the kernel of the ends, which may read ghost[], have the bits of rows by that of the interior; two products
  have the same bits
*/
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
    for (PetscInt d = 0; d < 8; d++)
      rows[8 * i + d] = i >= A.first[d] && i < A.last[d] ? NumberAt(21, 8 * i + d) : (PetscScalar)0.0;
  PetscCall((*A.k->zero)(&A));
  PetscCall((*A.k->put)(&A, 0, n, rows));
  PetscCall(PetscFree(rows));
  PetscCall(Make(n, 22, &x));
  for (int k = 0; k < 3; k++) {
    PetscCall(Make(n, 0, &y[k]));
    if (k == 2) A.ibegin = A.iend = n; /* as if all rows were ends */
    PetscCall((*A.k->mult)(&A, 0, n, x.there, NULL, NULL, y[k].there));
    PetscCall(Fetch(&y[k]));
    Check((PetscBool)!memcmp(y[k].x, y[0].x, (size_t)n * sizeof(PetscScalar)), "bits",
          k == 2 ? "of the ends" : "of a product again");
  }
  for (int k = 0; k < 3; k++) PetscCall(Drop(&y[k]));
  PetscCall(Drop(&x));
  PetscCall(SpikeDIADestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who lends a matrix: its halo is there at once */
typedef struct {
  const PetscScalar *ghost;
  PetscInt           begun, ended;
} Owner;

static PetscErrorCode LoanBegin(void *owner, void *stream, const PetscScalar *x, const PetscScalar **ghost)
{
  PetscFunctionBegin;
  (void)x;
  ((Owner *)owner)->begun++;
  *ghost = ((Owner *)owner)->ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LoanEnd(void *owner, void *stream, const PetscScalar *x)
{
  PetscFunctionBegin;
  ((Owner *)owner)->ended++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y = A x or D A x with the sums of a step, by a matrix that is lent, on several ranks in two kernels; against mult()
  and sums on the host. Twice: the second time finds what the first has left
*/
static PetscErrorCode TestLoan(const Shape *s)
{
  const SpikeKrylovKernels *k = SpikeKrylovKernelsFind(PETSC_MEMTYPE_CUDA);
  const PetscInt            n = s->n;
  Case                      c;
  Owner                     owner = {NULL, 0, 0};
  SpikeKrylovLoan           loan;
  SpikeKrylov               krylov;
  void                     *copy;
  Vector                    x, g, z, y, w, scale;

  PetscFunctionBegin;
  PetscCall(CaseCreate(s, &c));
  PetscCall(Make(n, 3, &x));
  PetscCall(Make(c.A.nghost, 4, &g));
  PetscCall(Make(n, 5, &z));
  PetscCall(Make(n, 6, &scale));
  PetscCall(PetscMemzero(&krylov, sizeof(krylov)));
  PetscCall(PetscMemzero(&loan, sizeof(loan)));
  krylov.k = k;
  PetscCall((*k->create)(&krylov));
  memset((void *)krylov.scalars, 0, sizeof(*krylov.scalars));
  PetscCall((*k->push)(&krylov, PETSC_FALSE));
  owner.ghost = g.there;
  loan.dia    = &c.A;
  loan.nz     = n;
  if (s->low || s->high) {
    loan.owner = &owner;
    loan.begin = LoanBegin;
    loan.end   = LoanEnd;
  }
  PetscCall((*k->borrow)(&krylov, &loan, &copy));
  Check((PetscBool)(copy != NULL), s->name, "borrow()");
  PetscCall(Make(n, 0, &w));
  PetscCall((*c.A.k->mult)(&c.A, c.A.ibegin, c.A.iend, x.there, NULL, NULL, w.there));
  PetscCall((*c.A.k->mult)(&c.A, 0, c.A.ibegin, x.there, g.there, NULL, w.there));
  PetscCall((*c.A.k->mult)(&c.A, c.A.iend, n, x.there, g.there, NULL, w.there));
  PetscCall(Fetch(&w));
  for (int pass = 0; copy && pass < 4; pass++) {
    PetscScalar *v[2], sums[3] = {0.0, 0.0, 0.0};
    PetscReal    size = 1.0;

    PetscCall(Make(n, 0, &y));
    v[0] = z.there;
    v[1] = y.there;
    PetscCall((*k->mult)(&krylov, copy, SPIKE_BCGS_OMEGA, pass % 2 ? scale.there : NULL, x.there, y.there, v));
    PetscCall((*k->sums)(&krylov, SPIKE_BCGS_OMEGA));
    PetscCall(Fetch(&y));
    for (PetscInt i = 0; i < n; i++) {
      Near(&c, y.x[i], pass % 2 ? scale.x[i] * w.x[i] : w.x[i], "product of a loan");
      sums[0] += PetscConj(y.x[i]) * z.x[i];
      sums[1] += PetscConj(y.x[i]) * y.x[i];
      sums[2] += PetscConj(z.x[i]) * z.x[i];
      size += PetscAbsScalar(y.x[i]) * PetscAbsScalar(y.x[i]) + PetscAbsScalar(z.x[i]) * PetscAbsScalar(z.x[i]);
    }
    for (int d = 0; d < 3; d++)
      Check((PetscBool)(PetscAbsScalar(krylov.local[d] - sums[d]) <= 10 * TOL * size), s->name, "sums of a loan");
    PetscCall((*k->mult)(&krylov, copy, SPIKE_KRYLOV_NSTEPS, NULL, x.there, y.there, NULL));
    PetscCall(Fetch(&y));
    for (PetscInt i = 0; i < n; i++) Near(&c, y.x[i], w.x[i], "product of a loan alone");
    PetscCall(Drop(&y));
  }
  Check((PetscBool)(owner.begun == owner.ended && owner.begun == (loan.begin ? 8 : 0)), s->name, "halos of a loan");
  PetscCall((*k->destroycopy)(&krylov, &copy));
  PetscCall((*k->destroy)(&krylov));
  PetscCall(Drop(&w));
  PetscCall(Drop(&x));
  PetscCall(Drop(&g));
  PetscCall(Drop(&z));
  PetscCall(Drop(&scale));
  PetscCall(CaseDestroy(&c));
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
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++)
    if (shapes[k].n == shapes[k].m && (shapes[k].n || shapes[k].low || shapes[k].high)) PetscCall(TestLoan(&shapes[k]));
  Report("products of a matrix that is lent");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize()); /* what PETSc has made for the device meanwhile is freed as it was made */
  return failed > 0;
}
