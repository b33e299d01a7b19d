/* SPDX-License-Identifier: BSD-2-Clause */
/* halo.h: parts of vectors that ranks send each other in products: one message each way for each pair of ranks */
#pragma once

#include <petsc/private/matimpl.h>
#include "kernels/dia/dia.h"

/* What comes from a rank is one piece of ghost[], what goes to one is one of message[] */
typedef struct {
  const SpikeDIAKernels *k;
  MPI_Comm               comm;
  void                  *stream; /* of the kernels before and after, NULL for the current one */
  PetscMPIInt            nrecv, nsend, tag;
  PetscMPIInt           *recvrank, *sendrank; /* ascending                                                     */
  PetscInt              *recvat, *sendat;     /* [nrecv + 1] in ghost[], [nsend + 1] in message[]              */
  PetscScalar           *ghost, *message;     /* [recvat[nrecv]], [sendat[nsend]], where the vectors are       */
  PetscInt               nturns;              /* of the schedule in two phases: each with one rank at most     */
  PetscMPIInt           *turnrecv, *turnsend; /* [nturns] numbers of messages, -1 for none                     */
  MPI_Request           *req;                 /* [nrecv + nsend]                                               */
  PetscBool              active;              /* on any rank                                                   */

  /* ranks that count as one node, 0: as MPI has it; stays over resets                  */
  PetscInt pernode;
  /* other ranks of the node, and of other nodes, that messages go to or come from      */
  PetscMPIInt ninside, noutside;
  /* 2 where some messages stay inside of a node and some do not, on whatever rank      */
  PetscInt ngroups;
  /* [nrecv], [nsend] of each message: 0 to other nodes, 1 inside of one; 0 where alone */
  PetscMPIInt *recvgroup, *sendgroup;

  SpikeHaloLink *link;  /* between devices, else NULL          */
  SpikeMessage  *apart; /* [nrecv + nsend] where link is apart */
} MatHalo;

PETSC_INTERN PetscErrorCode MatHaloConnect_Private(MatHalo *, const SpikeDIAKernels *, PetscObject);
PETSC_INTERN PetscErrorCode MatHaloReset_Private(MatHalo *);
PETSC_INTERN PetscErrorCode MatHaloSetRanksPerNode_Private(MatHalo *, PetscInt, PetscObject);
PETSC_INTERN PetscErrorCode MatHaloView_Private(const MatHalo *, PetscViewer);

/*
  Forward, message[] is sent and ghost[] received; back, ghost[] is sent and message[] received.

    Leave   called after the work that fills what is sent has been enqueued; starts the messages, as far as the host
            need not wait for that
    Finish  work enqueued after it sees complete values in what is received
*/
PETSC_INTERN PetscErrorCode MatHaloLeave_Private(MatHalo *, PetscBool twophase, PetscBool back);
PETSC_INTERN PetscErrorCode MatHaloFinish_Private(MatHalo *, PetscBool twophase, PetscBool back);

/* The same, between arrays of the host */
PETSC_INTERN PetscErrorCode MatHaloTravel_Private(MatHalo *, PetscBool twophase, PetscBool back, PetscScalar *ghost,
                                                  PetscScalar *message);
PETSC_INTERN PetscErrorCode MatHaloArrive_Private(MatHalo *, PetscBool twophase, PetscBool back, PetscScalar *ghost,
                                                  PetscScalar *message);

/* The paper of both types of matrices goes on the list of -citations */
PETSC_INTERN PetscErrorCode MatHaloCite_Private(void);
