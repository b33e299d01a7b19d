/* SPDX-License-Identifier: BSD-2-Clause */
/* halolist.c: halos of any blocks of a vector: each rank tells the owners once which it wants */
#include "halolist.h"

static PetscErrorCode MatHaloListColumnsReset_Private(MatHaloList *l)
{
  MatHaloColumns *c = &l->columns;

  PetscFunctionBegin;
  if (c->pack) PetscCall((*l->b->k->release)(l->b, (void **)&c->pack));
  if (c->unpack) PetscCall((*l->b->k->release)(l->b, (void **)&c->unpack));
  if (c->ghost) PetscCall((*l->b->k->release)(l->b, (void **)&c->ghost));
  PetscCall(MatHaloReset_Private(&c->halo));
  c->most = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListReset_Private(MatHaloList *l)
{
  PetscFunctionBegin;
  PetscCall(MatHaloListColumnsReset_Private(l));
  if (l->index) PetscCall((*l->b->k->release)(l->b, (void **)&l->index));
  PetscCall(PetscFree(l->wanted));
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
  PetscInt      *nblocks, *nwanted;
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
  PetscCall(PetscMalloc1(h->sendat[h->nsend] / bs, &l->wanted));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &req));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    PetscCallMPI(
      MPIU_Irecv(l->wanted + h->sendat[k] / bs, nwanted[k], MPIU_INT, h->sendrank[k], h->tag, comm, req + k));
  for (PetscMPIInt k = 0; k < h->nrecv; k++)
    PetscCallMPI(MPIU_Isend(l->garray + h->recvat[k] / bs, nblocks[k], MPIU_INT, h->recvrank[k], h->tag, comm,
                            req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 0; k < h->sendat[h->nsend] / bs; k++) l->wanted[k] -= layout->rstart / bs;
  bytes = (size_t)(h->sendat[h->nsend] / bs) * sizeof(PetscInt);
  PetscCall((*l->b->k->alloc)(l->b, bytes, (void **)&l->index));
  PetscCall((*l->b->k->copy)(l->b, PETSC_TRUE, PETSC_FALSE, l->index, l->wanted, bytes));
  PetscCall(MatHaloConnect_Private(h, SpikeDIAKernelsFind(l->b->k->memtype), object));
  PetscCall(PetscFree(req));
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

/* To the backend; the host's list is gone */
static PetscErrorCode MatHaloListToBackend_Private(MatHaloList *l, size_t n, PetscInt **host, PetscInt **there)
{
  PetscFunctionBegin;
  PetscCall((*l->b->k->alloc)(l->b, n * sizeof(**host), (void **)there));
  PetscCall((*l->b->k->copy)(l->b, PETSC_TRUE, PETSC_FALSE, *there, *host, n * sizeof(**host)));
  PetscCall(PetscFree(*host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the units of message[] are in X: of each rank column after column, each block after block */
static PetscErrorCode MatHaloListPackColumns_Private(MatHaloList *l)
{
  MatHaloColumns *c  = &l->columns;
  const MatHalo  *h  = &l->halo;
  const PetscInt  bs = l->bs, unit = c->unit;
  PetscInt       *index;
  size_t          n = 0;

  PetscFunctionBegin;
  if (c->pack) PetscCall((*l->b->k->release)(l->b, (void **)&c->pack));
  PetscCall(PetscMalloc1((size_t)(h->sendat[h->nsend] / unit) * c->most, &index));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    for (PetscInt j = 0; j < c->most; j++) {
      const PetscInt64 column = (PetscInt64)(j < c->m ? j : 0) * c->ld;

      for (PetscInt i = h->sendat[k]; i < h->sendat[k + 1]; i += unit)
        PetscCall(PetscIntCast(((PetscInt64)l->wanted[i / bs] * bs + i % bs + column) / unit, &index[n++]));
    }
  PetscCall(MatHaloListToBackend_Private(l, n, &index, &c->pack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where blocks of columns.ghost are in what has come, column after column */
static PetscErrorCode MatHaloListUnpackColumns_Private(MatHaloList *l)
{
  MatHaloColumns *c  = &l->columns;
  const MatHalo  *h  = &l->halo;
  const PetscInt  bs = l->bs;
  PetscInt       *index;
  size_t          n = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)l->n * c->most, &index));
  for (PetscInt j = 0; j < c->most; j++)
    for (PetscMPIInt k = 0; k < h->nrecv; k++) {
      const PetscInt first = h->recvat[k] / bs, blocks = h->recvat[k + 1] / bs - first;

      for (PetscInt i = 0; i < blocks; i++) index[n++] = first * c->most + j * blocks + i;
    }
  PetscCall(MatHaloListToBackend_Private(l, n, &index, &c->unpack));
  PetscCall((*l->b->k->alloc)(l->b, (size_t)l->n * bs * c->most * sizeof(*c->ghost), (void **)&c->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: ranks and lengths are those of one column, `most` times as long */
static PetscErrorCode MatHaloListConnectColumns_Private(MatHaloList *l, PetscObject object, PetscInt most)
{
  const MatHalo *one = &l->halo;
  MatHalo       *h   = &l->columns.halo;

  PetscFunctionBegin;
  PetscCall(MatHaloListColumnsReset_Private(l));
  l->columns.most = most;
  l->columns.ld   = -1;
  h->nrecv        = one->nrecv;
  h->nsend        = one->nsend;
  PetscCall(PetscCommGetNewTag(PetscObjectComm(object), &h->tag));
  PetscCall(PetscMalloc1(h->nrecv, &h->recvrank));
  PetscCall(PetscMalloc1(h->nsend, &h->sendrank));
  PetscCall(PetscMalloc1(h->nrecv + 1, &h->recvat));
  PetscCall(PetscMalloc1(h->nsend + 1, &h->sendat));
  PetscCall(PetscArraycpy(h->recvrank, one->recvrank, h->nrecv));
  PetscCall(PetscArraycpy(h->sendrank, one->sendrank, h->nsend));
  for (PetscMPIInt k = 0; k <= h->nrecv; k++) PetscCall(PetscIntMultError(one->recvat[k], most, &h->recvat[k]));
  for (PetscMPIInt k = 0; k <= h->nsend; k++) PetscCall(PetscIntMultError(one->sendat[k], most, &h->sendat[k]));
  h->active = PETSC_TRUE;
  PetscCall(MatHaloConnect_Private(h, SpikeDIAKernelsFind(l->b->k->memtype), object));
  PetscCall(MatHaloListUnpackColumns_Private(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Column after column by the messages of one */
static PetscErrorCode MatHaloListFewColumns_Private(MatHaloList *l, PetscInt m, PetscInt ld, const PetscScalar *X)
{
  const size_t n = (size_t)l->n * l->bs;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(MatHaloListBegin_Private(l, X + (size_t)j * ld));
    PetscCall(MatHaloListEnd_Private(l));
    if (n)
      PetscCall((*l->b->k->copy)(l->b, PETSC_TRUE, PETSC_TRUE, l->columns.ghost + j * n, l->halo.ghost,
                                 n * sizeof(PetscScalar)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListColumnsBegin_Private(MatHaloList *l, PetscObject object, PetscInt m, PetscInt ld,
                                               const PetscScalar *X)
{
  MatHaloColumns *c = &l->columns;
  MatHalo        *h = &c->halo;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  if (!l->halo.active || !m) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->most < m) {
    ierr = MatHaloListConnectColumns_Private(l, object, m);
    if (ierr) c->most = 0; /* half of it: the next product begins anew */
    PetscCall(ierr);
  }
  c->few = (PetscBool)(m <= c->most / 4);
  if (c->few) {
    PetscCall(MatHaloListFewColumns_Private(l, m, ld, X));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->ld != ld || c->m != m) {
    c->ld   = ld;
    c->m    = m;
    c->unit = ld % l->bs ? 1 : l->bs; /* blocks of all columns begin at multiples of bs, or may not */
    ierr    = MatHaloListPackColumns_Private(l);
    if (ierr) c->ld = -1;
    PetscCall(ierr);
  }
  PetscCall((*l->b->k->pack)(l->b, c->unit, h->sendat[h->nsend] / c->unit, c->pack, X, h->message));
  PetscCall(MatHaloLeave_Private(h, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloListColumnsEnd_Private(MatHaloList *l)
{
  MatHaloColumns *c = &l->columns;

  PetscFunctionBegin;
  if (!l->halo.active || !c->most || c->few) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHaloFinish_Private(&c->halo, PETSC_FALSE, PETSC_FALSE));
  PetscCall((*l->b->k->pack)(l->b, l->bs, l->n * c->most, c->unpack, c->halo.ghost, c->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}
