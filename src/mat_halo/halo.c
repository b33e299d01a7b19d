/* SPDX-License-Identifier: BSD-2-Clause */
/*
  halo.c: messages of parts of vectors between ranks, of MATDIA and MATGRIDSTENCIL: at once or in two phases, beside
  kernels and back
*/
#include "halo.h"

static PetscBool  cite       = PETSC_FALSE;
static const char citation[] = "@inproceedings{LiuSeoMittalHuang2013,\n"
                               "  title     = {{GPU}-accelerated scalable solver for banded linear systems},\n"
                               "  author    = {Hang Liu and Jung-Hee Seo and Rajat Mittal and H. Howie Huang},\n"
                               "  booktitle = {IEEE International Conference on Cluster Computing (CLUSTER)},\n"
                               "  year      = {2013}\n"
                               "}\n";

PetscErrorCode MatHaloCite_Private(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Steps of the schedule in two phases. Ranks r and r + distance meet in the first phase where r / distance is even, and
  in the second where it is odd: nobody meets two at once
*/
static PetscErrorCode MatHaloSchedule_Private(MatHalo *h)
{
  PetscMPIInt rank;
  PetscInt    n = 0, *key, *which;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(h->comm, &rank));
  PetscCall(PetscMalloc2(h->nrecv + h->nsend, &key, h->nrecv + h->nsend, &which));
  for (PetscMPIInt k = 0; k < h->nrecv + h->nsend; k++) {
    const PetscInt other    = k < h->nrecv ? h->recvrank[k] : h->sendrank[k - h->nrecv],
                   distance = PetscAbsInt(other - rank);

    key[k]   = 2 * distance + PetscMin(rank, other) / distance % 2;
    which[k] = k;
  }
  PetscCall(PetscSortIntWithArray(h->nrecv + h->nsend, key, which));
  PetscCall(PetscMalloc2(h->nrecv + h->nsend, &h->turnrecv, h->nrecv + h->nsend, &h->turnsend));
  for (PetscInt k = 0; k < h->nrecv + h->nsend; k++) {
    if (!k || key[k] != key[k - 1]) {
      h->turnrecv[n]   = -1;
      h->turnsend[n++] = -1;
    }
    if (which[k] < h->nrecv) h->turnrecv[n - 1] = (PetscMPIInt)which[k];
    else h->turnsend[n - 1] = (PetscMPIInt)(which[k] - h->nrecv);
  }
  h->nturns = n;
  PetscCall(PetscFree2(key, which));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether messages with a rank stay inside of the node */
static PetscErrorCode MatHaloIsInside_Private(const MatHalo *h, PetscMPIInt rank, PetscMPIInt other, PetscBool *inside)
{
  PetscFunctionBegin;
  *inside = PETSC_TRUE;
  if (h->pernode) *inside = (PetscBool)(other / h->pernode == rank / h->pernode);
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  else {
    PetscShmComm node;
    PetscMPIInt  there;

    PetscCall(PetscShmCommGet(h->comm, &node));
    PetscCall(PetscShmCommGlobalToLocal(node, other, &there));
    *inside = (PetscBool)(there != MPI_PROC_NULL);
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: messages to other nodes, and those inside, are two groups, so that neither waits for the other; one where
  all ranks have one kind only
*/
static PetscErrorCode MatHaloGroups_Private(MatHalo *h)
{
  PetscMPIInt rank, s = 0;
  PetscBool   some[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(h->comm, &rank));
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  if (!h->pernode) { /* collective, though some rank may have no messages */
    PetscShmComm node;

    PetscCall(PetscShmCommGet(h->comm, &node));
  }
#endif
  h->ninside = h->noutside = 0;
  for (PetscMPIInt k = 0; k < 2; k++) {
    const PetscMPIInt n = k ? h->nsend : h->nrecv, *other = k ? h->sendrank : h->recvrank;

    for (PetscMPIInt m = 0; m < n; m++) {
      PetscBool inside;

      PetscCall(MatHaloIsInside_Private(h, rank, other[m], &inside));
      (k ? h->sendgroup : h->recvgroup)[m] = inside ? 1 : 0;
      if (k) { /* those that something comes from have been counted */
        while (s < h->nrecv && h->recvrank[s] < other[m]) s++;
        if (s < h->nrecv && h->recvrank[s] == other[m]) continue;
      }
      if (inside) h->ninside++;
      else h->noutside++;
    }
  }
  some[0] = (PetscBool)(h->noutside > 0);
  some[1] = (PetscBool)(h->ninside > 0);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, some, 2, MPI_C_BOOL, MPI_LOR, h->comm));
  h->ngroups = some[0] && some[1] ? 2 : 1;
  for (PetscMPIInt m = 0; m < h->nrecv && h->ngroups == 1; m++) h->recvgroup[m] = 0;
  for (PetscMPIInt m = 0; m < h->nsend && h->ngroups == 1; m++) h->sendgroup[m] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: what messages travel by */
static PetscErrorCode MatHaloLink_Private(MatHalo *h, PetscObject owner)
{
  PetscFunctionBegin;
  PetscCall(MatHaloGroups_Private(h));
  if (h->k->connect) {
    const SpikeHaloMessages message = {h->nsend, h->sendat, h->sendgroup, h->message},
                            ghost   = {h->nrecv, h->recvat, h->recvgroup, h->ghost};

    PetscCall((*h->k->connect)(h->comm, use_gpu_aware_mpi, h->ngroups, &message, &ghost, &h->link));
    PetscCall(PetscInfo(owner, "Parts of vectors travel by %s%s\n", h->link->name,
                        h->ngroups == 2 ? ", inside of nodes and between them at once" : ""));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Called on all ranks, after the lists of ranks and lengths have been made: arrays, and what they travel by. k are the
  kernels for the memory of the vectors
*/
PetscErrorCode MatHaloConnect_Private(MatHalo *h, const SpikeDIAKernels *k, PetscObject owner)
{
  PetscFunctionBegin;
  h->k    = k;
  h->comm = PetscObjectComm(owner);
  PetscCall((*k->alloc)((size_t)h->recvat[h->nrecv] * sizeof(PetscScalar), (void **)&h->ghost));
  PetscCall((*k->alloc)((size_t)h->sendat[h->nsend] * sizeof(PetscScalar), (void **)&h->message));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->req));
  PetscCall(PetscMalloc2(h->nrecv, &h->recvgroup, h->nsend, &h->sendgroup));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->apart));
  PetscCall(MatHaloSchedule_Private(h));
  PetscCall(MatHaloLink_Private(h, owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloReset_Private(MatHalo *h)
{
  const PetscInt pernode = h->pernode;

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
  PetscCall(PetscFree2(h->recvgroup, h->sendgroup));
  PetscCall(PetscFree2(h->turnrecv, h->turnsend));
  PetscCall(PetscMemzero(h, sizeof(*h)));
  h->pernode = pernode;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, before the messages are planned or after */
PetscErrorCode MatHaloSetRanksPerNode_Private(MatHalo *h, PetscInt pernode, PetscObject owner)
{
  PetscFunctionBegin;
  PetscCheck(pernode >= 0, PetscObjectComm(owner), PETSC_ERR_ARG_OUTOFRANGE,
             "Ranks per node: at least 1, or 0 for those that MPI finds on a node, and %" PetscInt_FMT " were given",
             pernode);
  if (h->pernode == pernode) PetscFunctionReturn(PETSC_SUCCESS);
  h->pernode = pernode;
  if (!h->k) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->link) PetscCall((*h->k->disconnect)(&h->link));
  PetscCall(MatHaloLink_Private(h, owner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: a line about the messages, where there are any */
PetscErrorCode MatHaloView_Private(const MatHalo *h, PetscViewer viewer)
{
  PetscMPIInt n[2] = {h->ninside, h->noutside};

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, n, 2, MPI_INT, MPI_MAX, h->comm));
  PetscCall(PetscViewerASCIIPrintf(viewer, "neighbors of a rank, at most: %d on its node, %d on others\n", n[0], n[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Message number `recv` of ghost[] and number `send` of message[] begin to travel; -1 for none. Backwards ghost[] is
  sent and message[] received
*/
static PetscErrorCode MatHaloStart_Private(MatHalo *h, PetscBool back, PetscScalar *ghost, PetscScalar *message,
                                           PetscMPIInt recv, PetscMPIInt send, PetscMPIInt *nreq)
{
  PetscFunctionBegin;
  if (recv >= 0 && !back)
    PetscCallMPI(MPIU_Irecv(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR,
                            h->recvrank[recv], h->tag, h->comm, h->req + (*nreq)++));
  if (send >= 0 && back)
    PetscCallMPI(MPIU_Irecv(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR,
                            h->sendrank[send], h->tag, h->comm, h->req + (*nreq)++));
  if (recv >= 0 && back)
    PetscCallMPI(MPIU_Isend(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR,
                            h->recvrank[recv], h->tag, h->comm, h->req + (*nreq)++));
  if (send >= 0 && !back)
    PetscCallMPI(MPIU_Isend(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR,
                            h->sendrank[send], h->tag, h->comm, h->req + (*nreq)++));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All messages of a group, n requests so far */
static PetscErrorCode MatHaloPost_Private(MatHalo *h, PetscInt group, PetscBool back, PetscScalar *ghost,
                                          PetscScalar *message, PetscMPIInt *n)
{
  PetscFunctionBegin;
  for (int sends = 0; sends < 2; sends++) {
    const PetscBool from = (PetscBool)(sends == (int)back); /* messages in ghost[] */

    for (PetscMPIInt k = 0; k < (from ? h->nrecv : h->nsend); k++)
      if ((from ? h->recvgroup : h->sendgroup)[k] == group)
        PetscCall(MatHaloStart_Private(h, back, ghost, message, from ? k : -1, from ? -1 : k, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All messages at once, or the first of the schedule in two phases */
PetscErrorCode MatHaloTravel_Private(MatHalo *h, PetscBool twophase, PetscBool back, PetscScalar *ghost,
                                     PetscScalar *message)
{
  PetscMPIInt n = 0;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < h->nrecv + h->nsend; k++) h->req[k] = MPI_REQUEST_NULL;
  if (twophase) {
    if (h->nturns) PetscCall(MatHaloStart_Private(h, back, ghost, message, h->turnrecv[0], h->turnsend[0], &n));
  } else {
    for (PetscInt group = 0; group < h->ngroups; group++)
      PetscCall(MatHaloPost_Private(h, group, back, ghost, message, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHaloArrive_Private(MatHalo *h, PetscBool twophase, PetscBool back, PetscScalar *ghost,
                                     PetscScalar *message)
{

  PetscFunctionBegin;
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, h->req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 1; twophase && k < h->nturns; k++) {
    PetscMPIInt n = 0;

    PetscCall(MatHaloStart_Private(h, back, ghost, message, h->turnrecv[k], h->turnsend[k], &n));
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

/*
  Starts the messages, as halo.h says. All ranks begin with the messages to other nodes
*/
PetscErrorCode MatHaloLeave_Private(MatHalo *h, PetscBool twophase, PetscBool back)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  if (!h->link) PetscCall(MatHaloTravel_Private(h, twophase, back, h->ghost, h->message));
  else if (!h->link->apart) {
    for (PetscInt group = 0; group < h->ngroups; group++) PetscCall((*h->k->leave)(h->stream, h->link, group, back));
  } else if (twophase) {
    for (PetscInt k = 0; k < h->nturns; k++) {
      n = 0;
      MatHaloApart_Private(h, back, h->turnrecv[k], h->turnsend[k], &n);
      PetscCall((*h->k->exchange)(h->stream, h->link,
                                  h->turnrecv[k] >= 0 ? h->recvgroup[h->turnrecv[k]] : h->sendgroup[h->turnsend[k]], n,
                                  h->apart));
    }
  } else {
    for (PetscInt group = 0; group < h->ngroups; group++) {
      n = 0;
      for (PetscMPIInt k = 0; k < h->nrecv; k++)
        if (h->recvgroup[k] == group) MatHaloApart_Private(h, back, k, -1, &n);
      for (PetscMPIInt k = 0; k < h->nsend; k++)
        if (h->sendgroup[k] == group) MatHaloApart_Private(h, back, -1, k, &n);
      if (n) PetscCall((*h->k->exchange)(h->stream, h->link, group, n, h->apart));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ends the messages, as halo.h says. By MPI each group goes as soon as MPI can read it. In two phases both groups have
  one order of steps: else ranks could wait for each other in a circle
*/
PetscErrorCode MatHaloFinish_Private(MatHalo *h, PetscBool twophase, PetscBool back)
{
  SpikeHaloLink *link                    = h->link;
  PetscMPIInt    n[SPIKE_DIA_GROUPS + 1] = {0};

  PetscFunctionBegin;
  if (!link) {
    PetscCall(MatHaloArrive_Private(h, twophase, back, h->ghost, h->message));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt group = 0; group < h->ngroups && !link->apart; group++) {
    PetscCall((*h->k->ready)(link, group));
    n[group + 1] = n[group];
    if (!twophase) PetscCall(MatHaloPost_Private(h, group, back, link->ghost, link->message, &n[group + 1]));
  }
  if (twophase && !link->apart) {
    PetscCall(MatHaloTravel_Private(h, twophase, back, link->ghost, link->message));
    PetscCall(MatHaloArrive_Private(h, twophase, back, link->ghost, link->message));
  }
  for (PetscInt group = h->ngroups - 1; group >= 0; group--) { /* what stays inside is here first */
    if (!twophase && !link->apart)
      PetscCallMPI(MPI_Waitall(n[group + 1] - n[group], h->req + n[group], MPI_STATUSES_IGNORE));
    PetscCall((*h->k->arrive)(h->stream, link, group, back));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
