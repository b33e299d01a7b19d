/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedranks.c: products of a MATMPIAIJ. On each rank A = [D O], the columns of this rank and those of others: the
  backend has a copy of D as on one rank, and O beside it. The values of others come in a halo of our own
*/
#include "fusedranks.h"
#include "adapters.h"
#include "common/agree.h"

PetscErrorCode KSPFusedRanksReset(KSPFused *f)
{
  KSPFusedRanks *r = &f->ranks;

  PetscFunctionBegin;
  PetscCall(MatHaloListReset_Private(&r->list));
  if (r->b.k) PetscCall((*r->b.k->destroy)(&r->b));
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective. Whether A is a MATMPIAIJ whose parts are where the backend works, the same backend on all ranks
*/
PetscErrorCode KSPFusedRanksKnow(KSP ksp, Mat A, PetscBool *known)
{
  KSPFused *f = (KSPFused *)ksp->data;
  PetscBool host, all[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(KSPFusedIsParallel(A, known));
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  host = (PetscBool)PetscMemTypeHost(f->s.k->memtype);
  if (f->s.k->couple) PetscCall(KSPFusedIsKnownParallel(A, f->s.k->memtype, &all[host]));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, 2, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)ksp)));
  *known = (PetscBool)(all[0] || all[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRanksBegin_Private(void *owner, void *stream, const PetscScalar *x,
                                                 const PetscScalar **ghost)
{
  KSPFusedRanks *r = (KSPFusedRanks *)owner;

  PetscFunctionBegin;
  (void)stream; /* the current one */
  PetscCall(MatHaloListBegin_Private(&r->list, x));
  *ghost = r->list.halo.ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRanksEnd_Private(void *owner, void *stream, const PetscScalar *x)
{
  PetscFunctionBegin;
  (void)stream;
  (void)x;
  PetscCall(MatHaloListEnd_Private(&((KSPFusedRanks *)owner)->list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of both parts on this rank; f->product.copy is NULL where one cannot be had */
static PetscErrorCode KSPFusedRanksMake_Private(KSPFused *f, const Mat part[2])
{
  const SpikeKrylovLoan loan    = {NULL, 0,   (void *)&f->ranks, KSPFusedRanksBegin_Private, KSPFusedRanksEnd_Private,
                                   NULL, NULL};
  PetscBool             coupled = PETSC_FALSE;
  SpikeKrylovCSR        csr;
  SpikeCSR              piece;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetCSR(part[0], f->s.k->memtype, &csr, &piece));
  PetscCall((*f->s.k->copy)(&f->s, &csr, f->options.spmv, &f->product.copy));
  PetscCall(KSPFusedRestoreCSR(part[0], f->s.k->memtype, &piece));
  if (!f->product.copy) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedGetCSR(part[1], f->s.k->memtype, &csr, &piece));
  PetscCall((*f->s.k->couple)(&f->s, &csr, &loan, f->product.copy, &coupled));
  PetscCall(KSPFusedRestoreCSR(part[1], f->s.k->memtype, &piece));
  if (!coupled) PetscCall((*f->s.k->destroycopy)(&f->s, &f->product.copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same pattern */
static PetscErrorCode KSPFusedRanksRefill_Private(KSPFused *f, const Mat part[2])
{
  SpikeKrylovCSR csr;
  SpikeCSR       piece;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPFusedGetCSR(part[k], f->s.k->memtype, &csr, &piece));
    PetscCall((*(k ? f->s.k->recouple : f->s.k->refill))(&f->s, &csr, f->product.copy));
    PetscCall(KSPFusedRestoreCSR(part[k], f->s.k->memtype, &piece));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective, of a matrix that KSPFusedRanksKnow() knows. The copies: made for another A or pattern on any rank, filled
  for other values. All ranks have one, or none has. Somebody may have changed a part past A: states are those of the
  parts too
*/
PetscErrorCode KSPFusedRanksCopy(KSP ksp, Mat A, PetscObjectId id)
{
  KSPFused        *f = (KSPFused *)ksp->data;
  KSPFusedRanks   *r = &f->ranks;
  Mat              part[2];
  const PetscInt  *garray;
  PetscInt         nghost;
  PetscObjectState nonzero[2], values[3];
  PetscBool        same, made;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetParts(A, part, &garray));
  PetscCall(PetscObjectStateGet((PetscObject)A, &values[2]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatGetNonzeroState(part[k], &nonzero[k]));
    PetscCall(PetscObjectStateGet((PetscObject)part[k], &values[k]));
  }
  same = (PetscBool)(f->product.mat == id && !f->product.borrowed && f->product.spmv == f->options.spmv && r->tried &&
                     r->nonzero[0] == nonzero[0] && r->nonzero[1] == nonzero[1]);
  PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &same));
  if (!same) {
    PetscCall(KSPFusedDestroyCopy(f));
    PetscCall(KSPFusedRanksMake_Private(f, part));
    made = (PetscBool)(f->product.copy != NULL);
    PetscCall(SpikePetscObjectAgree((PetscObject)ksp, &made));
    if (made) {
      if (!r->b.k) {
        r->b.k = SpikeBlockKernelsFind(f->s.k->memtype);
        PetscCall((*r->b.k->create)(&r->b));
      }
      PetscCall(MatGetSize(part[1], NULL, &nghost));
      PetscCall(MatHaloListPlan_Private(&r->list, &r->b, (PetscObject)ksp, A->cmap, 1, nghost, garray));
    } else PetscCall((*f->s.k->destroycopy)(&f->s, &f->product.copy));
  } else if (f->product.copy && memcmp(values, r->values, sizeof(values)))
    PetscCall(KSPFusedRanksRefill_Private(f, part));
  r->tried = PETSC_TRUE;
  PetscCall(PetscArraycpy(r->nonzero, nonzero, 2));
  PetscCall(PetscArraycpy(r->values, values, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}
