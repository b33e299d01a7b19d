/* SPDX-License-Identifier: BSD-2-Clause */
/* halo.c: messages of parts of vectors between ranks, of MATDIA and MATGRIDSTENCIL: at once or in two phases, beside kernels and back */
#include "halo.h"

/* Steps of the schedule in two phases. Ranks r and r + distance meet in the first phase where r / distance is even, and in the second where it is odd: nobody meets two at once */
static PetscErrorCode MatHaloSchedule_Private(MatHalo *h)
{
  PetscMPIInt rank;
  PetscInt    n = 0, *key, *which;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(h->comm, &rank));
  PetscCall(PetscMalloc2(h->nrecv + h->nsend, &key, h->nrecv + h->nsend, &which));
  for (PetscMPIInt k = 0; k < h->nrecv + h->nsend; k++) {
    const PetscInt other = k < h->nrecv ? h->recvrank[k] : h->sendrank[k - h->nrecv], distance = PetscAbsInt(other - rank);

    key[k]   = 2 * distance + PetscMin(rank, other) / distance % 2;
    which[k] = k;
  }
  PetscCall(PetscSortIntWithArray(h->nrecv + h->nsend, key, which));
  PetscCall(PetscMalloc2(h->nrecv + h->nsend, &h->steprecv, h->nrecv + h->nsend, &h->stepsend));
  for (PetscInt k = 0; k < h->nrecv + h->nsend; k++) {
    if (!k || key[k] != key[k - 1]) {
      h->steprecv[n]   = -1;
      h->stepsend[n++] = -1;
    }
    if (which[k] < h->nrecv) h->steprecv[n - 1] = (PetscMPIInt)which[k];
    else h->stepsend[n - 1] = (PetscMPIInt)(which[k] - h->nrecv);
  }
  h->nsteps = n;
  PetscCall(PetscFree2(key, which));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Behind the lists of ranks and lengths, on all ranks: arrays and what they travel by. k are the kernels of where the vectors are */
PetscErrorCode MatHaloConnect_Private(MatHalo *h, const SpikeDIAKernels *k, PetscObject owner)
{
  PetscFunctionBegin;
  h->k    = k;
  h->comm = PetscObjectComm(owner);
  PetscCall((*k->alloc)((size_t)h->recvat[h->nrecv] * sizeof(PetscScalar), (void **)&h->ghost));
  PetscCall((*k->alloc)((size_t)h->sendat[h->nsend] * sizeof(PetscScalar), (void **)&h->message));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->req));
  PetscCall(MatHaloSchedule_Private(h));
  if (k->connect) {
    PetscCall((*k->connect)(h->comm, use_gpu_aware_mpi, h->sendat[h->nsend], h->message, h->recvat[h->nrecv], h->ghost, &h->link));
    PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->apart));
    PetscCall(PetscInfo(owner, "Parts of vectors travel by %s\n", h->link->name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloReset_Private(MatHalo *h)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(h->recvrank));
  PetscCall(PetscFree(h->sendrank));
  PetscCall(PetscFree(h->recvat));
  PetscCall(PetscFree(h->sendat));
  if (h->link) PetscCall((*h->k->disconnect)(&h->link));
  if (h->ghost) PetscCall((*h->k->release)((void **)&h->ghost));
  if (h->message) PetscCall((*h->k->release)((void **)&h->message));
  PetscCall(PetscFree(h->apart));
  PetscCall(PetscFree(h->req));
  PetscCall(PetscFree2(h->steprecv, h->stepsend));
  PetscCall(PetscMemzero(h, sizeof(*h)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Message number `recv` of ghost[] and number `send` of message[] begin to travel; -1 for none. Backwards ghost[] is sent and message[] received */
static PetscErrorCode MatHaloStart_Private(MatHalo *h, PetscBool back, PetscScalar *ghost, PetscScalar *message, PetscMPIInt recv, PetscMPIInt send, PetscMPIInt *nreq)
{
  PetscFunctionBegin;
  if (recv >= 0 && !back) PetscCallMPI(MPIU_Irecv(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR, h->recvrank[recv], h->tag, h->comm, h->req + (*nreq)++));
  if (send >= 0 && back) PetscCallMPI(MPIU_Irecv(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR, h->sendrank[send], h->tag, h->comm, h->req + (*nreq)++));
  if (recv >= 0 && back) PetscCallMPI(MPIU_Isend(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR, h->recvrank[recv], h->tag, h->comm, h->req + (*nreq)++));
  if (send >= 0 && !back) PetscCallMPI(MPIU_Isend(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR, h->sendrank[send], h->tag, h->comm, h->req + (*nreq)++));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All messages at once, or the first of the schedule in two phases */
PetscErrorCode MatHaloTravel_Private(MatHalo *h, PetscBool twophase, PetscBool back, PetscScalar *ghost, PetscScalar *message)
{
  PetscMPIInt n = 0;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < h->nrecv + h->nsend; k++) h->req[k] = MPI_REQUEST_NULL;
  if (twophase) {
    if (h->nsteps) PetscCall(MatHaloStart_Private(h, back, ghost, message, h->steprecv[0], h->stepsend[0], &n));
  } else {
    for (PetscMPIInt k = 0; k < h->nrecv && !back; k++) PetscCall(MatHaloStart_Private(h, back, ghost, message, k, -1, &n));
    for (PetscMPIInt k = 0; k < h->nsend; k++) PetscCall(MatHaloStart_Private(h, back, ghost, message, -1, k, &n));
    for (PetscMPIInt k = 0; k < h->nrecv && back; k++) PetscCall(MatHaloStart_Private(h, back, ghost, message, k, -1, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloArrive_Private(MatHalo *h, PetscBool twophase, PetscBool back, PetscScalar *ghost, PetscScalar *message)
{

  PetscFunctionBegin;
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, h->req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 1; twophase && k < h->nsteps; k++) {
    PetscMPIInt n = 0;

    PetscCall(MatHaloStart_Private(h, back, ghost, message, h->steprecv[k], h->stepsend[k], &n));
    PetscCallMPI(MPI_Waitall(n, h->req, MPI_STATUSES_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message between devices; -1 for none */
static void MatHaloApart_Private(MatHalo *h, PetscBool back, PetscMPIInt recv, PetscMPIInt send, PetscInt *n)
{
  for (int k = 0; k < 2; k++) {
    const PetscMPIInt number = k ? send : recv;
    const PetscInt   *at     = k ? h->sendat : h->recvat;
    SpikeMessage     *m      = h->apart + *n;

    if (number < 0) continue;
    m->peer = k ? h->sendrank[number] : h->recvrank[number];
    m->send = (PetscBool)(k ? !back : back);
    m->data = (k ? h->message : h->ghost) + at[number];
    m->n    = at[number + 1] - at[number];
    m->nrhs = 1;
    m->ld   = m->n;
    ++*n;
  }
}

/* What has been enqueued fills message[], or back, ghost[]: off it goes, as far as no host has to wait */
PetscErrorCode MatHaloLeave_Private(MatHalo *h, PetscBool twophase, PetscBool back)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  if (!h->link) PetscCall(MatHaloTravel_Private(h, twophase, back, h->ghost, h->message));
  else if (!h->link->apart) PetscCall((*h->k->leave)(h->stream, h->link, back));
  else if (twophase) {
    for (PetscInt k = 0; k < h->nsteps; k++) {
      n = 0;
      MatHaloApart_Private(h, back, h->steprecv[k], h->stepsend[k], &n);
      PetscCall((*h->k->exchange)(h->stream, h->link, n, h->apart));
    }
  } else {
    for (PetscMPIInt k = 0; k < h->nrecv; k++) MatHaloApart_Private(h, back, k, -1, &n);
    for (PetscMPIInt k = 0; k < h->nsend; k++) MatHaloApart_Private(h, back, -1, k, &n);
    PetscCall((*h->k->exchange)(h->stream, h->link, n, h->apart));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is enqueued from now on finds ghost[], or back, message[], whole */
PetscErrorCode MatHaloFinish_Private(MatHalo *h, PetscBool twophase, PetscBool back)
{
  SpikeDIALink *link = h->link;

  PetscFunctionBegin;
  if (!link) PetscCall(MatHaloArrive_Private(h, twophase, back, h->ghost, h->message));
  else {
    if (!link->apart) {
      PetscCall((*h->k->ready)(link));
      PetscCall(MatHaloTravel_Private(h, twophase, back, link->ghost, link->message));
      PetscCall(MatHaloArrive_Private(h, twophase, back, link->ghost, link->message));
    }
    PetscCall((*h->k->arrive)(h->stream, link, back));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
