/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudahalo.c: block columns of other ranks that the rows of MATMPIBAIJCUDA reach: planned after an assembly that
  changed them, exchanged in each product
*/
#include "baijcudaimpl.h"

PetscErrorCode MatBAIJCUDAHaloReset_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (c->b.k) PetscCall((*c->k->release)(&c->b, (void **)&c->index));
  PetscCall(PetscFree(c->garray));
  PetscCall(MatHaloReset_Private(&c->halo));
  c->planned = PETSC_FALSE;
  c->nghost  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks that own the columns garray[], which ascend */
static PetscErrorCode MatBAIJCUDAOwners_Private(Mat A, const PetscInt garray[])
{
  Mat_BAIJCUDA  *c  = MatBAIJCUDA_Private(A);
  MatHalo       *h  = &c->halo;
  const PetscInt bs = A->rmap->bs;
  PetscMPIInt    owner, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscMalloc1(size, &h->recvrank));
  PetscCall(PetscCalloc1(size + 1, &h->recvat));
  for (PetscInt k = 0; k < c->nghost; k++) {
    PetscCall(PetscLayoutFindOwner(A->cmap, garray[k] * bs, &owner));
    if (!h->nrecv || h->recvrank[h->nrecv - 1] != owner) {
      h->recvrank[h->nrecv++] = owner;
      h->recvat[h->nrecv]     = h->recvat[h->nrecv - 1];
    }
    h->recvat[h->nrecv] += bs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: each rank tells the owners which blocks it wants */
static PetscErrorCode MatBAIJCUDAConnect_Private(Mat A, const PetscInt garray[])
{
  Mat_BAIJCUDA  *c    = MatBAIJCUDA_Private(A);
  MatHalo       *h    = &c->halo;
  MPI_Comm       comm = PetscObjectComm((PetscObject)A);
  const PetscInt bs   = A->rmap->bs;
  PetscInt      *nblocks, *nwanted, *wanted;
  MPI_Request   *req;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAOwners_Private(A, garray));
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
    PetscCallMPI(
      MPIU_Isend(garray + h->recvat[k] / bs, nblocks[k], MPIU_INT, h->recvrank[k], h->tag, comm, req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 0; k < h->sendat[h->nsend] / bs; k++) wanted[k] -= A->cmap->rstart / bs;
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  PetscCall((*c->k->alloc)(&c->b, (size_t)(h->sendat[h->nsend] / bs) * sizeof(PetscInt), (void **)&c->index));
  PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, c->index, wanted,
                          (size_t)(h->sendat[h->nsend] / bs) * sizeof(PetscInt)));
  PetscCall(MatHaloConnect_Private(h, SpikeDIAKernelsFind(c->k->memtype), (PetscObject)A));
  PetscCall(PetscFree(req));
  PetscCall(PetscFree(wanted));
  PetscCall(PetscFree(nwanted));
  PetscCall(PetscFree(nblocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: nothing happens where no rank reaches other columns than in the plan that there is */
PetscErrorCode MatBAIJCUDAPlan_Private(Mat A)
{
  Mat_BAIJCUDA   *c = MatBAIJCUDA_Private(A);
  const PetscInt *garray;
  PetscInt        nghost;
  PetscBool       same, some[2];
  Mat             parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  nghost = parts[1] ? parts[1]->cmap->n / A->rmap->bs : 0;
  same   = (PetscBool)(c->planned && nghost == c->nghost);
  if (same) PetscCall(PetscArraycmp(garray, c->garray, nghost, &same));
  some[0] = (PetscBool)!same;
  some[1] = (PetscBool)(nghost > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, some, 2, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (!some[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAHaloReset_Private(A));
  c->nghost = nghost;
  PetscCall(PetscMalloc1(nghost, &c->garray));
  PetscCall(PetscArraycpy(c->garray, garray, nghost));
  c->halo.active = some[1];
  if (some[1]) PetscCall(MatBAIJCUDAConnect_Private(A, c->garray));
  c->planned = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ghost[] <- x in the columns of others, between Begin and End */
PetscErrorCode MatBAIJCUDAHaloBegin_Private(Mat A, const PetscScalar *x)
{
  Mat_BAIJCUDA  *c  = MatBAIJCUDA_Private(A);
  MatHalo       *h  = &c->halo;
  const PetscInt bs = A->rmap->bs;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*c->k->pack)(&c->b, bs, h->sendat[h->nsend] / bs, c->index, x, h->message));
  PetscCall(MatHaloLeave_Private(h, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBAIJCUDAHaloEnd_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (c->halo.active) PetscCall(MatHaloFinish_Private(&c->halo, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += what others have in ghost[] for columns of ours, rank by rank */
PetscErrorCode MatBAIJCUDAHaloReverseBegin_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (c->halo.active) PetscCall(MatHaloLeave_Private(&c->halo, PETSC_FALSE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBAIJCUDAHaloReverseEnd_Private(Mat A, PetscScalar *y)
{
  Mat_BAIJCUDA  *c  = MatBAIJCUDA_Private(A);
  MatHalo       *h  = &c->halo;
  const PetscInt bs = A->rmap->bs;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHaloFinish_Private(h, PETSC_FALSE, PETSC_TRUE));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    PetscCall((*c->k->unpackadd)(&c->b, bs, (h->sendat[k + 1] - h->sendat[k]) / bs, c->index + h->sendat[k] / bs,
                                 h->message + h->sendat[k], y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
