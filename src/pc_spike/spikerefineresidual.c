/* SPDX-License-Identifier: BSD-2-Clause */
/* spikerefineresidual.c: the residual of a solve, and the norms of its backward error, in one pass with one wait */
#include "spikeimpl.h"
#include "common/array.h"
#include "common/attempt.h"
#include "common/petsccompat.h"

/*
  r <- b - A x and the sums of squares of r, x and b: a product, and one step of the kernels of the Krylov methods,
  which moves 4 words a row. On a device it leaves the sums in the memory of the host, which waits once. VecAYPX() and
  three norms in its place move 6 words a row, 8 on a device, in 5 launches and more, and wait there for each norm.
*/

/*
  Before a solve has arrays, or in the setup where each application is a solve: the state in which a device leaves sums.
  It stays from one setup to the next. Without memory for it the step of this rank is the host's, which needs none: no
  rank ends with an error while others wait for its sums. A device with a fault has it in the next call too.
*/
PetscErrorCode PCSpikeResidualReserve_Private(PC pc)
{
  PC_Spike                 *s = (PC_Spike *)pc->data;
  PCSpikeRefinement        *f = &s->refine;
  const SpikeKrylovKernels *k;
  PetscMemType              memtype;
  PetscErrorCode            ierr;

  PetscFunctionBegin;
  if (f->reserved) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeVecGetMemType(f->r, &memtype));
  f->reserved = PETSC_TRUE;
  k           = SpikeKrylovKernelsFind(memtype);
  if (f->sums.k == k) PetscFunctionReturn(PETSC_SUCCESS);
  s->info.extra_bytes -= f->sums.bytes;
  PetscCall(PCSpikeResidualReset_Private(f));
  if (!k || PetscMemTypeHost(k->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  f->sums.k     = k;
  f->sums.alone = PETSC_TRUE;
  SpikeAttempt(ierr, PetscReturnErrorHandler, NULL, (*k->create)(&f->sums));
  if (ierr) { /* partly made */
    PetscCall((*k->destroy)(&f->sums));
    PetscCall(PetscMemzero(&f->sums, sizeof(f->sums)));
    PetscCall(
      PetscInfo(pc, "No memory for sums on the device, error %d: residuals are computed on the host\n", (int)ierr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMemzero(f->sums.scalars, sizeof(*f->sums.scalars)));
  s->info.extra_bytes += f->sums.bytes;
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

/* r <- b - r and the sums of squares of r, x and b, in the memory of the state, where the vectors are or come to */
static PetscErrorCode PCSpikeResidualSums_Private(SpikeKrylov *s, Vec b, Vec x, Vec r)
{
  SpikeArray     ab, ax, ar;
  PetscScalar   *v[3];
  PetscInt       n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(SpikeArrayGet(b, s->k->memtype, SPIKE_READ, &ab));
  PetscCall(SpikeArrayGet(x, s->k->memtype, SPIKE_READ, &ax));
  PetscCall(SpikeArrayGet(r, s->k->memtype, SPIKE_READ_WRITE, &ar));
  v[0] = ab.a;
  v[1] = ax.a;
  v[2] = ar.a;
  ierr = (*s->k->step)(s, SPIKE_RESIDUAL, n, v);
  if (!ierr) ierr = (*s->k->sums)(s, SPIKE_RESIDUAL);
  PetscCall(SpikeArrayRestore(&ar));
  PetscCall(SpikeArrayRestore(&ax));
  PetscCall(SpikeArrayRestore(&ab));
  PetscCall(ierr);
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
  Each rank goes by its own memory: the device's where all vectors are there and it has a state, else the host's
*/
PetscErrorCode PCSpikeResidual_Private(PC pc, PetscBool trans, PetscBool first, Vec b, Vec x, Vec r, PetscReal norms[3])
{
  SpikeKrylov       *device = &((PC_Spike *)pc->data)->refine.sums, host, *s = device->k ? device : &host;
  SpikeKrylovScalars scalars; /* of the host: nothing is allocated */
  const Mat          A     = PCSpikeRefineMatrix_Private(pc);
  const Vec          all[] = {b, x, r};
  PetscReal          sums[3];

  PetscFunctionBegin;
  if (device->k && first) PetscCall((*device->k->push)(device, PETSC_TRUE)); /* on the stream of today */
  if (trans) PetscCall(MatMultTranspose(A, x, r));
  else PetscCall(MatMult(A, x, r));
  for (int i = 0; i < 3 && s == device; i++) {
    PetscMemType memtype;

    PetscCall(SpikeVecGetMemType(all[i], &memtype));
    if (SpikeKrylovKernelsFind(memtype) != device->k) s = &host;
  }
  if (s == &host) {
    PetscCall(PetscMemzero(&host, sizeof(host)));
    PetscCall(PetscMemzero(&scalars, sizeof(scalars)));
    host.k       = SpikeKrylovKernelsFind(PETSC_MEMTYPE_HOST);
    host.scalars = &scalars;
  }
  PetscCall(PCSpikeResidualSums_Private(s, b, x, r));
  for (int i = 0; i < 3; i++) sums[i] = PetscRealPart(s->local[i]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 3, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  for (int i = 0; i < 3; i++) norms[i] = PetscSqrtReal(sums[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
