/* SPDX-License-Identifier: BSD-2-Clause */
/* halolist.c: halos of any blocks of a vector: each rank tells the owners once which it wants */
#include "halolist.h"

PetscErrorCode MatHaloListReset_Private(MatHaloList *l)
{
  PetscFunctionBegin;
  if (l->index) PetscCall((*l->b->k->release)(l->b, (void **)&l->index));
  PetscCall(PetscFree(l->garray));
  PetscCall(MatHaloReset_Private(&l->halo));
  l->planned = PETSC_FALSE;
  l->n       = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks that own the blocks of the list */
static PetscErrorCode MatHaloListOwners_Private(MatHaloList *l, PetscLayout layout)
{
  MatHalo    *h = &l->halo;
  PetscMPIInt owner, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(layout->comm, &size));
  PetscCall(PetscMalloc1(size, &h->recvrank));
  PetscCall(PetscCalloc1(size + 1, &h->recvat));
  for (PetscInt k = 0; k < l->n; k++) {
    PetscCall(PetscLayoutFindOwner(layout, l->garray[k] * l->bs, &owner));
    if (!h->nrecv || h->recvrank[h->nrecv - 1] != owner) {
      h->recvrank[h->nrecv++] = owner;
      h->recvat[h->nrecv]     = h->recvat[h->nrecv - 1];
    }
    h->recvat[h->nrecv] += l->bs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: each rank tells the owners which blocks it wants */
static PetscErrorCode MatHaloListConnect_Private(MatHaloList *l, PetscObject object, PetscLayout layout)
{
  MatHalo       *h    = &l->halo;
  MPI_Comm       comm = PetscObjectComm(object);
  const PetscInt bs   = l->bs;
  PetscInt      *nblocks, *nwanted, *wanted;
  MPI_Request   *req;
  size_t         bytes;

  PetscFunctionBegin;
  PetscCall(MatHaloListOwners_Private(l, layout));
  PetscCall(PetscCommGetNewTag(comm, &h->tag));
  PetscCall(PetscMalloc1(h->nrecv, &nblocks));
  for (PetscMPIInt k = 0; k < h->nrecv; k++) nblocks[k] = (h->recvat[k + 1] - h->recvat[k]) / bs;
  PetscCall(
    PetscCommBuildTwoSided(comm, 1, MPIU_INT, h->nrecv, h->recvrank, nblocks, &h->nsend, &h->sendrank, &nwanted));
  PetscCall(PetscSortMPIIntWithIntArray(h->nsend, h->sendrank, nwanted));
  PetscCall(PetscCalloc1(h->nsend + 1, &h->sendat));
  for (PetscMPIInt k = 0; k < h->nsend; k++) h->sendat[k + 1] = h->sendat[k] + nwanted[k] * bs;
  PetscCall(PetscMalloc1(h->sendat[h->nsend] / bs, &wanted));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &req));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    PetscCallMPI(MPIU_Irecv(wanted + h->sendat[k] / bs, nwanted[k], MPIU_INT, h->sendrank[k], h->tag, comm, req + k));
  for (PetscMPIInt k = 0; k < h->nrecv; k++)
    PetscCallMPI(MPIU_Isend(l->garray + h->recvat[k] / bs, nblocks[k], MPIU_INT, h->recvrank[k], h->tag, comm,
                            req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 0; k < h->sendat[h->nsend] / bs; k++) wanted[k] -= layout->rstart / bs;
  bytes = (size_t)(h->sendat[h->nsend] / bs) * sizeof(PetscInt);
  PetscCall((*l->b->k->alloc)(l->b, bytes, (void **)&l->index));
  PetscCall((*l->b->k->copy)(l->b, PETSC_TRUE, PETSC_FALSE, l->index, wanted, bytes));
  PetscCall(MatHaloConnect_Private(h, SpikeDIAKernelsFind(l->b->k->memtype), object));
  PetscCall(PetscFree(req));
  PetscCall(PetscFree(wanted));
  PetscCall(PetscFree(nwanted));
  PetscCall(PetscFree(nblocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListPlan_Private(MatHaloList *l, SpikeBlock *b, PetscObject object, PetscLayout layout,
                                       PetscInt bs, PetscInt n, const PetscInt garray[])
{
  PetscBool same = (PetscBool)(l->planned && l->b == b && l->bs == bs && l->n == n), some[2];

  PetscFunctionBegin;
  if (same) PetscCall(PetscArraycmp(garray, l->garray, n, &same));
  some[0] = (PetscBool)!same;
  some[1] = (PetscBool)(n > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, some, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm(object)));
  if (!some[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHaloListReset_Private(l));
  l->b  = b;
  l->bs = bs;
  l->n  = n;
  PetscCall(PetscMalloc1(n, &l->garray));
  PetscCall(PetscArraycpy(l->garray, garray, n));
  l->halo.active = some[1];
  if (some[1]) PetscCall(MatHaloListConnect_Private(l, object, layout));
  l->planned = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListBegin_Private(MatHaloList *l, const PetscScalar *x)
{
  MatHalo *h = &l->halo;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*l->b->k->pack)(l->b, l->bs, h->sendat[h->nsend] / l->bs, l->index, x, h->message));
  PetscCall(MatHaloLeave_Private(h, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListEnd_Private(MatHaloList *l)
{
  PetscFunctionBegin;
  if (l->halo.active) PetscCall(MatHaloFinish_Private(&l->halo, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListReverseBegin_Private(MatHaloList *l)
{
  PetscFunctionBegin;
  if (l->halo.active) PetscCall(MatHaloLeave_Private(&l->halo, PETSC_FALSE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank by rank: a block may be on the lists of several */
PetscErrorCode MatHaloListReverseEnd_Private(MatHaloList *l, PetscScalar *y)
{
  MatHalo       *h  = &l->halo;
  const PetscInt bs = l->bs;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHaloFinish_Private(h, PETSC_FALSE, PETSC_TRUE));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    PetscCall((*l->b->k->unpackadd)(l->b, bs, (h->sendat[k + 1] - h->sendat[k]) / bs, l->index + h->sendat[k] / bs,
                                    h->message + h->sendat[k], y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
