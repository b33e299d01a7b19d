/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeexchange.c: the tips of PCSPIKE that cross between ranks */
#include "spikeimpl.h"

/*
  An interface between two ranks is interface np of the left one and interface 0 of the right one; both solve its
  reduced system, from the same values in the same order. In an apply each side sends the half of the tips that its
  sweep made:

             left rank, to the right     right rank, to the left
    N        g_b, kl values              g_t, ku values
    T        B^T h, ku values            C^T h, kl values

  Where the backend links the ranks, the messages go from tips to tips in its memory, in its order of work; else by MPI
  through buffers, in the backend's memory where MPI can read it (-use_gpu_aware_mpi), else on the host.
*/
enum {
  TO_LEFT,
  TO_RIGHT,
  FROM_LEFT,
  FROM_RIGHT
};

static PetscErrorCode SpikeExchangeFree_Private(PC pc, PetscInt m)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (!s->ex.buf[m]) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->ex.direct) PetscCall((*s->band.k->release)(&s->band, (void **)&s->ex.buf[m]));
  else PetscCall((*s->band.k->unpin)(&s->band, (void **)&s->ex.buf[m]));
  s->ex.buf[m] = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeReserve_Private(PC pc, PetscInt maxrhs)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  const PetscCount n = PetscMax((PetscCount)maxrhs * PetscMax(s->band.kl, s->band.ku),
                                (PetscCount)s->band.kl * s->band.ku);

  PetscFunctionBegin;
  if (s->ex.link) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < 4; m++) {
    const PetscMPIInt peer = m == TO_LEFT || m == FROM_LEFT ? s->ex.left : s->ex.right;

    if (peer != MPI_PROC_NULL) {
      void *buf;

      if (s->ex.direct) PetscCall((*s->band.k->alloc)(&s->band, n * sizeof(PetscScalar), &buf));
      else PetscCall((*s->band.k->pin)(&s->band, n * sizeof(PetscScalar), &buf));
      PetscCall(SpikeExchangeFree_Private(pc, m));
      s->ex.buf[m] = (PetscScalar *)buf;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With a link: the half of the first rank that owns rows to all others that do, then that of the last one; the order is
  the same on all ranks
*/
static PetscErrorCode SpikeHalvesCreate_Private(PC pc)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  const PetscInt *range;
  PetscMPIInt     size, rank, root[2] = {-1, -1};
  PetscInt        count = 0;

  PetscFunctionBegin;
  s->ex.nhalves[0] = s->ex.nhalves[1] = 0;
  if (!s->ex.link || !s->cyclic.across || !s->band.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(MatGetOwnershipRanges(PCSpikeBandMatrix_Private(pc), &range));
  for (PetscMPIInt r = 0; r < size; r++) {
    if (range[r + 1] == range[r]) continue;
    if (root[0] < 0) root[0] = r;
    root[1] = r;
  }
  PetscCall(PetscCalloc1(2 * (PetscCount)size, &s->ex.halves));
  for (PetscInt half = 0; half < 2; half++) {
    for (PetscMPIInt r = 0; r < size; r++) {
      if (range[r + 1] == range[r] || (rank == root[half] ? r == rank : r != root[half])) continue;
      s->ex.halves[count].peer = r;
      s->ex.halves[count].send = (PetscBool)(rank == root[half]);
      s->ex.halves[count].n    = 1;
      s->ex.halves[count].ld   = 2;
      s->ex.nhalves[half]++;
      count++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeCreate_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->ex.k != s->band.k) PetscCall(PCSpikeExchangeDisconnect_Private(pc));
  if (s->ex.across && s->band.k->connect && !s->ex.k) {
    PetscCall((*s->band.k->connect)(&s->band, PetscObjectComm((PetscObject)pc), &s->ex.link));
    s->ex.k = s->band.k;
  }
  s->ex.direct = (PetscBool)(!PetscMemTypeHost(s->band.k->memtype) && use_gpu_aware_mpi);
  PetscCall(PetscStrncpy(s->info.exchange,
                         !s->ex.across                          ? "none"
                         : s->ex.link                           ? "NCCL"
                         : s->ex.direct                         ? "GPU-aware MPI"
                         : PetscMemTypeHost(s->band.k->memtype) ? "MPI"
                                                                : "MPI through the host",
                         sizeof(s->info.exchange)));
  PetscCall(PetscInfo(pc, "Tips cross between ranks by %s\n", s->info.exchange));
  PetscCall(PetscObjectGetNewTag((PetscObject)pc, &s->ex.tag));
  for (PetscInt m = 0; m < 4; m++) s->ex.req[m] = MPI_REQUEST_NULL;
  PetscCall(PCSpikeExchangeReserve_Private(pc, s->band.maxrhs));
  PetscCall(SpikeHalvesCreate_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeDestroy_Private(PC pc)
{
  PetscFunctionBegin;
  for (PetscInt m = 0; m < 4; m++) PetscCall(SpikeExchangeFree_Private(pc, m));
  PetscCall(PetscFree(((PC_Spike *)pc->data)->ex.halves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeDisconnect_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->ex.link) PetscCall((*s->ex.k->disconnect)(&s->ex.link));
  s->ex.k = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What this rank sends and receives at its outer interfaces: to and from arrays of n values a column, on the left and
  on the right
*/
static PetscErrorCode SpikeExchangeLink_Private(PC pc, PetscScalar *const data[4], const PetscInt n[4], PetscInt nrhs,
                                                PetscCount ld)
{
  PC_Spike    *s = (PC_Spike *)pc->data;
  SpikeMessage m[4];
  PetscInt     count = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 4; i++) {
    const PetscMPIInt peer = i == TO_LEFT || i == FROM_LEFT ? s->ex.left : s->ex.right;

    if (peer == MPI_PROC_NULL) continue;
    m[count].peer = peer;
    m[count].send = (PetscBool)(i == TO_LEFT || i == TO_RIGHT);
    m[count].data = data[i];
    m[count].n    = n[i];
    m[count].nrhs = nrhs;
    m[count].ld   = ld;
    count++;
  }
  PetscCall((*s->band.k->exchange)(&s->band, s->ex.link, count, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vb goes to the right, Wt to the left, once in setup */
PetscErrorCode PCSpikeExchangeSetupTips_Private(PC pc)
{
  PC_Spike        *s    = (PC_Spike *)pc->data;
  SpikeBand       *b    = &s->band;
  MPI_Comm         comm = PetscObjectComm((PetscObject)pc);
  const PetscCount n = (PetscCount)b->kl * b->ku, last = b->np * n;
  /* no buffer where there is no neighbour */
  const PetscCount left = s->ex.left == MPI_PROC_NULL ? 0 : n, right = s->ex.right == MPI_PROC_NULL ? 0 : n;
  const size_t     bytes = n * sizeof(PetscScalar);

  PetscFunctionBegin;
  if ((s->ex.left == MPI_PROC_NULL && s->ex.right == MPI_PROC_NULL) || !n) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->ex.link) {
    PetscScalar *const data[4]  = {b->dWt, b->dVb + last, b->dVb, b->dWt + last};
    const PetscInt     count[4] = {(PetscInt)n, (PetscInt)n, (PetscInt)n, (PetscInt)n};

    PetscCall(SpikeExchangeLink_Private(pc, data, count, 1, n));
    PetscCall((*b->k->wait)(b, s->ex.link));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->ex.left != MPI_PROC_NULL)
    PetscCall((*b->k->copy2d)(b, s->ex.direct, PETSC_TRUE, s->ex.buf[TO_LEFT], bytes, b->dWt, bytes, bytes, 1));
  if (s->ex.right != MPI_PROC_NULL)
    PetscCall((*b->k->copy2d)(b, s->ex.direct, PETSC_TRUE, s->ex.buf[TO_RIGHT], bytes, b->dVb + last, bytes, bytes, 1));
  if (s->ex.direct) PetscCall((*b->k->synchronize)(b)); /* MPI does not wait for the stream */
  PetscCallMPI(MPIU_Irecv(s->ex.buf[FROM_LEFT], left, MPIU_SCALAR, s->ex.left, s->ex.tag, comm, &s->ex.req[FROM_LEFT]));
  PetscCallMPI(
    MPIU_Irecv(s->ex.buf[FROM_RIGHT], right, MPIU_SCALAR, s->ex.right, s->ex.tag, comm, &s->ex.req[FROM_RIGHT]));
  PetscCallMPI(MPIU_Isend(s->ex.buf[TO_LEFT], left, MPIU_SCALAR, s->ex.left, s->ex.tag, comm, &s->ex.req[TO_LEFT]));
  PetscCallMPI(MPIU_Isend(s->ex.buf[TO_RIGHT], right, MPIU_SCALAR, s->ex.right, s->ex.tag, comm, &s->ex.req[TO_RIGHT]));
  PetscCallMPI(MPI_Waitall(4, s->ex.req, MPI_STATUSES_IGNORE));
  if (s->ex.left != MPI_PROC_NULL)
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, s->ex.direct, b->dVb, bytes, s->ex.buf[FROM_LEFT], bytes, bytes, 1));
  if (s->ex.right != MPI_PROC_NULL)
    PetscCall(
      (*b->k->copy2d)(b, PETSC_TRUE, s->ex.direct, b->dWt + last, bytes, s->ex.buf[FROM_RIGHT], bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of one half of interface 0 (left) or np in the tips: below or above the cut */
static PetscScalar *SpikeTips_Private(SpikeBand *b, PetscBool left, PetscBool below, PetscInt *n, PetscCount *ld)
{
  *n  = below ? b->kl : b->ku;
  *ld = (PetscCount)(b->np + 1) * (b->kl + b->ku);
  return b->dtips + (left ? 0 : (PetscCount)b->np * (b->kl + b->ku)) + (below ? 0 : b->kl);
}

PetscErrorCode PCSpikeExchangeBegin_Private(PC pc, PetscBool trans, PetscInt nrhs)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);
  /* values going right, left */
  PetscInt right = trans ? s->band.ku : s->band.kl, left = trans ? s->band.kl : s->band.ku;

  PetscFunctionBegin;
  if (s->ex.link) PetscFunctionReturn(PETSC_SUCCESS);
  /* the buffers may still be read for the apply before */
  if (s->ex.direct) PetscCall((*s->band.k->synchronize)(&s->band));
  if (s->ex.left == MPI_PROC_NULL) right = 0; /* no buffer either */
  if (s->ex.right == MPI_PROC_NULL) left = 0;
  PetscCallMPI(MPIU_Irecv(s->ex.buf[FROM_LEFT], (PetscCount)right * nrhs, MPIU_SCALAR, s->ex.left, s->ex.tag, comm,
                          &s->ex.req[FROM_LEFT]));
  PetscCallMPI(MPIU_Irecv(s->ex.buf[FROM_RIGHT], (PetscCount)left * nrhs, MPIU_SCALAR, s->ex.right, s->ex.tag, comm,
                          &s->ex.req[FROM_RIGHT]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeSend_Private(PC pc, PetscBool trans, PetscBool toleft, PetscInt nrhs)
{
  PC_Spike          *s = (PC_Spike *)pc->data;
  const PetscInt     m = toleft ? TO_LEFT : TO_RIGHT;
  const PetscScalar *t;
  PetscInt           n;
  PetscCount         ld;

  PetscFunctionBegin;
  if (s->ex.link || (toleft ? s->ex.left : s->ex.right) == MPI_PROC_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  t = SpikeTips_Private(&s->band, toleft, (PetscBool)(toleft == trans), &n, &ld);
  PetscCall((*s->band.k->copy2d)(&s->band, s->ex.direct, PETSC_TRUE, s->ex.buf[m], n * sizeof(PetscScalar), t,
                                 ld * sizeof(PetscScalar), n * sizeof(PetscScalar), nrhs));
  if (s->ex.direct) PetscCall((*s->band.k->synchronize)(&s->band));
  PetscCallMPI(MPIU_Isend(s->ex.buf[m], (PetscCount)n * nrhs, MPIU_SCALAR, toleft ? s->ex.left : s->ex.right, s->ex.tag,
                          PetscObjectComm((PetscObject)pc), &s->ex.req[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sides were sent: where the ranks are linked, they go now */
PetscErrorCode PCSpikeExchangeSent_Private(PC pc, PetscBool trans, PetscInt nrhs)
{
  PC_Spike    *s = (PC_Spike *)pc->data;
  PetscScalar *data[4];
  PetscInt     count[4];
  PetscCount   ld;

  PetscFunctionBegin;
  if (!s->ex.link) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 4; i++) {
    const PetscBool left  = (PetscBool)(i == TO_LEFT || i == FROM_LEFT),
                    sends = (PetscBool)(i == TO_LEFT || i == TO_RIGHT);

    data[i] = SpikeTips_Private(&s->band, left, (PetscBool)(sends ? left == trans : left != trans), &count[i], &ld);
    if (SpikeFaulty(SPIKE_FAULT_STALE_MESSAGE)) count[i] = 0;
  }
  PetscCall(SpikeExchangeLink_Private(pc, data, count, nrhs, ld));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeExchangeEnd_Private(PC pc, PetscBool trans, PetscInt nrhs)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->ex.link) {
    PetscCall((*s->band.k->wait)(&s->band, s->ex.link));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Waitall(4, s->ex.req, MPI_STATUSES_IGNORE));
  for (PetscInt side = 0; side < 2; side++) {
    const PetscBool left = (PetscBool)(side == 0);
    PetscScalar    *t;
    PetscInt        n;
    PetscCount      ld;

    if ((left ? s->ex.left : s->ex.right) == MPI_PROC_NULL || SpikeFaulty(SPIKE_FAULT_STALE_MESSAGE)) continue;
    t = SpikeTips_Private(&s->band, left, (PetscBool)(left != trans), &n, &ld);
    PetscCall((*s->band.k->copy2d)(&s->band, PETSC_TRUE, s->ex.direct, t, ld * sizeof(PetscScalar),
                                   s->ex.buf[left ? FROM_LEFT : FROM_RIGHT], n * sizeof(PetscScalar),
                                   n * sizeof(PetscScalar), nrhs));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  data: for each column two halves, of which the first and the last rank that own rows have one each and the others,
  whose halves are zero, none. After it all have both. Without a link this is a sum over all ranks, of one number each
  that is not zero; host is for nrhs columns.
*/
PetscErrorCode PCSpikeExchangeHalves_Private(PC pc, PetscInt nrhs, PetscScalar *data, PetscScalar *host)
{
  PC_Spike       *s     = (PC_Spike *)pc->data;
  SpikeBand      *b     = &s->band;
  const size_t    bytes = (size_t)nrhs * 2 * sizeof(PetscScalar);
  const PetscBool here  = (PetscBool)(PetscMemTypeHost(b->k->memtype) || s->ex.direct);
  PetscScalar    *sum   = here ? data : host;

  PetscFunctionBegin;
  if (SpikeFaulty(SPIKE_FAULT_STALE_MESSAGE)) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->ex.link) {
    const PetscInt count = s->ex.nhalves[0] + s->ex.nhalves[1];

    for (PetscInt i = 0; i < count; i++) {
      s->ex.halves[i].data = data + (i < s->ex.nhalves[0] ? 0 : 1);
      s->ex.halves[i].nrhs = nrhs;
    }
    if (count) {
      PetscCall((*b->k->exchange)(b, s->ex.link, count, s->ex.halves));
      PetscCall((*b->k->wait)(b, s->ex.link));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->ex.direct) PetscCall((*b->k->synchronize)(b)); /* MPI does not wait for the stream */
  else if (!here) PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, host, bytes, data, bytes, bytes, 1));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2 * nrhs, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  if (!here) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, data, bytes, host, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
