/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefineresidual.c: the residual of a solve, and the norms of its backward error, in one pass with one wait */
#include "spikeimpl.h"
#include "common/petsccompat.h"

/*
  r <- b - A x and the sums of squares of r, x and b: a product, and one step of the kernels of the Krylov methods,
  which moves 4 words a row. On a device it leaves the sums in the memory of the host, which waits once. VecAYPX() and
  three norms in its place move 6 words a row, 8 on a device, in 5 launches and more, and wait there for each norm.
*/

/* The state in which kernels leave sums; it stays from one setup to the next */
static PetscErrorCode PCSpikeResidualState_Private(PCSpikeRefinement *f, const SpikeKrylovKernels *k)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (f->sums.k != k) {
    PetscCall(PCSpikeResidualReset_Private(f));
    f->sums.k = k;
    ierr      = (*k->create)(&f->sums);
    if (ierr) { /* partly made: the next solve tries again */
      PetscCall((*k->destroy)(&f->sums));
      PetscCall(PetscMemzero(&f->sums, sizeof(f->sums)));
    }
    PetscCall(ierr);
    PetscCall(PetscMemzero(f->sums.scalars, sizeof(*f->sums.scalars)));
  }
  PetscCall((*k->push)(&f->sums, PETSC_TRUE)); /* on the stream of today */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeResidualReset_Private(PCSpikeRefinement *f)
{
  PetscFunctionBegin;
  if (f->sums.k) {
    PetscCall((*f->sums.k->push)(&f->sums, PETSC_TRUE)); /* the stream of the last solve may have ended */
    PetscCall((*f->sums.k->destroy)(&f->sums));
  }
  PetscCall(PetscMemzero(&f->sums, sizeof(f->sums)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeResidual_Private - The residual of a solve, and norms

  Collective

  Input Parameters:
+ trans - of A^T x = b
. first - the first one of a solve
. b     - right-hand side
- x     - solution

  Output Parameters:
+ r     - b - A x or b - A^T x
- norms - of r, x and b, the 2-norms; where a square left the range of numbers infinite or 0, NaN where a value was

  Note:
  Vectors that lie in different memories, or where no kernels are, go through that of the host.
*/
PetscErrorCode PCSpikeResidual_Private(PC pc, PetscBool trans, PetscBool first, Vec b, Vec x, Vec r, PetscReal norms[3])
{
  PCSpikeRefinement        *f = &((PC_Spike *)pc->data)->refine;
  const Mat                 A = PCSpikeRefineMatrix_Private(pc);
  const SpikeKrylovKernels *k;
  const PetscScalar        *ab, *ax;
  PetscScalar              *ar, *v[3];
  PetscMemType              mb, mx, mr;
  PetscReal                 sums[3];
  PetscInt                  n;
  PetscBool                 here;

  PetscFunctionBegin;
  if (trans) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(VecGetArrayReadAndMemType(b, &ab, &mb));
  PetscCall(VecGetArrayReadAndMemType(x, &ax, &mx));
  PetscCall(VecGetArrayAndMemType(r, &ar, &mr));
  k    = SpikeKrylovKernelsFind(mr);
  here = (PetscBool)(k && SpikeKrylovKernelsFind(mb) == k && SpikeKrylovKernelsFind(mx) == k);
  if (!here) {
    PetscCall(VecRestoreArrayAndMemType(r, &ar));
    PetscCall(VecRestoreArrayReadAndMemType(x, &ax));
    PetscCall(VecRestoreArrayReadAndMemType(b, &ab));
    PetscCall(VecGetArrayRead(b, &ab));
    PetscCall(VecGetArrayRead(x, &ax));
    PetscCall(VecGetArray(r, &ar));
    k = SpikeKrylovKernelsFind(PETSC_MEMTYPE_HOST);
  }
  if (first || f->sums.k != k) PetscCall(PCSpikeResidualState_Private(f, k));
  v[0] = (PetscScalar *)ab;
  v[1] = (PetscScalar *)ax;
  v[2] = ar;
  PetscCall((*k->step)(&f->sums, SPIKE_RESIDUAL, n, v));
  PetscCall((*k->sums)(&f->sums, SPIKE_RESIDUAL));
  if (here) {
    PetscCall(VecRestoreArrayAndMemType(r, &ar));
    PetscCall(VecRestoreArrayReadAndMemType(x, &ax));
    PetscCall(VecRestoreArrayReadAndMemType(b, &ab));
  } else {
    PetscCall(VecRestoreArray(r, &ar));
    PetscCall(VecRestoreArrayRead(x, &ax));
    PetscCall(VecRestoreArrayRead(b, &ab));
  }
  for (int i = 0; i < 3; i++) sums[i] = PetscRealPart(f->sums.local[i]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 3, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  for (int i = 0; i < 3; i++) norms[i] = PetscSqrtReal(sums[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
