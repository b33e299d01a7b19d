/* SPDX-License-Identifier: BSD-2-Clause */
/* diahalo.c: columns of other ranks that the rows of MATDIA reach: found once, exchanged in each product */
#include "diaimpl.h"

static int SpikeDIARunCompare(const void *a, const void *b)
{
  const PetscInt i = ((const SpikeDIARun *)a)->first, j = ((const SpikeDIARun *)b)->first;

  return i < j ? -1 : i > j;
}

/* Columns of others, counted from the first own one, as runs in ascending order that do not touch: with one run each way the columns of a diagonal are within one */
static PetscErrorCode MatDIAHaloRuns_Private(const SpikeDIA *dia, PetscInt *nruns, SpikeDIARun **runs)
{
  SpikeDIARun *run;
  PetscInt     n = 0, merged = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * dia->count, &run));
  for (PetscInt d = 0; d < dia->count; d++) {
    const PetscInt o = dia->offset[d];
    PetscInt       low, own, above, high;

    SpikeDIAOwnRows(dia, d, 0, dia->n, &low, &own, &above, &high);
    if (low < own) {
      run[n].first    = low + o;
      run[n++].length = own - low;
    }
    if (above < high) {
      run[n].first    = above + o;
      run[n++].length = high - above;
    }
  }
  if (n) qsort(run, (size_t)n, sizeof(*run), SpikeDIARunCompare);
  for (PetscInt k = 0; k < n; k++) {
    /* own columns lie between runs below and above: those never touch unless there are none */
    if (merged && run[k].first <= run[merged - 1].first + run[merged - 1].length && (run[k].first < 0) == (run[merged - 1].first < 0)) {
      run[merged - 1].length = PetscMax(run[merged - 1].length, run[k].first + run[k].length - run[merged - 1].first);
    } else run[merged++] = run[k];
  }
  for (PetscInt k = 0, at = 0; k < merged; at += run[k++].length) run[k].at = at;
  *nruns = merged;
  *runs  = run;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The runs in pieces by owner, in global columns: pairs (first, length) */
static PetscErrorCode MatDIAHaloOwners_Private(Mat A, PetscInt nruns, const SpikeDIARun runs[], PetscInt **piece)
{
  MatDIAHalo     *h = &((Mat_DIA *)A->data)->halo;
  const PetscInt *range;
  PetscInt        most = 0, n = 0;
  PetscMPIInt     owner, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(PetscLayoutGetRanges(A->cmap, &range));
  for (PetscInt k = 0; k < nruns; k++) {
    PetscMPIInt last;

    PetscCall(PetscLayoutFindOwner(A->cmap, runs[k].first + A->cmap->rstart, &owner));
    PetscCall(PetscLayoutFindOwner(A->cmap, runs[k].first + A->cmap->rstart + runs[k].length - 1, &last));
    most += last - owner + 1;
  }
  PetscCall(PetscMalloc1(2 * most, piece));
  PetscCall(PetscMalloc1(most, &h->recvrank));
  PetscCall(PetscCalloc1(most + 1, &h->recvat));
  PetscCall(PetscCalloc1(most + 1, &h->runat)); /* pieces of an owner, for the time being */
  for (PetscInt k = 0; k < nruns; k++) {
    const PetscInt end   = runs[k].first + A->cmap->rstart + runs[k].length;
    PetscInt       first = runs[k].first + A->cmap->rstart;

    while (first < end) {
      PetscInt length;

      PetscCall(PetscLayoutFindOwner(A->cmap, first, &owner));
      length = PetscMin(end, range[owner + 1]) - first;
      if (!h->nrecv || h->recvrank[h->nrecv - 1] != owner) {
        h->recvrank[h->nrecv++] = owner;
        h->recvat[h->nrecv]     = h->recvat[h->nrecv - 1];
      }
      (*piece)[2 * n]     = first;
      (*piece)[2 * n + 1] = length;
      h->runat[h->nrecv]  = ++n;
      h->recvat[h->nrecv] += length;
      first += length;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps of the schedule in two phases. Ranks r and r + distance meet in the first phase where r / distance is even, and in the second where it is odd: nobody meets two at once */
static PetscErrorCode MatDIAHaloSchedule_Private(Mat A)
{
  MatDIAHalo *h = &((Mat_DIA *)A->data)->halo;
  PetscMPIInt rank;
  PetscInt    n = 0, *key, *which;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
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

/* Collective: each rank tells the owners what it wants */
PetscErrorCode MatDIAHaloCreate_Private(Mat A)
{
  Mat_DIA     *a     = (Mat_DIA *)A->data;
  MatDIAHalo  *h     = &a->halo;
  MPI_Comm     comm  = PetscObjectComm((PetscObject)A);
  PetscInt     nruns = 0, *piece, *wanted, *nwanted, *npieces, total = 0;
  SpikeDIARun *runs = NULL;
  PetscBool    some;
  MPI_Request *req;

  PetscFunctionBegin;
  PetscCall(MatDIAHaloDestroy_Private(a));
  PetscCall(MatDIAHaloRuns_Private(&a->dia, &nruns, &runs));
  some = (PetscBool)(nruns > 0);
  PetscCallMPI(MPIU_Allreduce(&some, &h->active, 1, MPI_C_BOOL, MPI_LOR, comm));
  PetscCall(SpikeDIASetGhosts(&a->dia, nruns, runs));
  if (!h->active) {
    PetscCall(PetscFree(runs));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDIAHaloOwners_Private(A, nruns, runs, &piece));
  PetscCall(PetscFree(runs));
  PetscCall(PetscCommGetNewTag(comm, &h->tag));
  PetscCall(PetscMalloc1(h->nrecv, &npieces));
  for (PetscMPIInt k = 0; k < h->nrecv; k++) npieces[k] = h->runat[k + 1] - h->runat[k];
  PetscCall(PetscCommBuildTwoSided(comm, 1, MPIU_INT, h->nrecv, h->recvrank, npieces, &h->nsend, &h->sendrank, &nwanted));
  PetscCall(PetscSortMPIIntWithIntArray(h->nsend, h->sendrank, nwanted));
  for (PetscMPIInt k = 0; k < h->nsend; k++) total += nwanted[k];
  PetscCall(PetscMalloc1(2 * total, &wanted));
  PetscCall(PetscMalloc1(total, &h->runs));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &req));
  total = 0;
  for (PetscMPIInt k = 0; k < h->nsend; total += nwanted[k++]) PetscCallMPI(MPIU_Irecv(wanted + 2 * total, 2 * nwanted[k], MPIU_INT, h->sendrank[k], h->tag, comm, req + k));
  for (PetscMPIInt k = 0; k < h->nrecv; k++) PetscCallMPI(MPIU_Isend(piece + 2 * h->runat[k], 2 * npieces[k], MPIU_INT, h->recvrank[k], h->tag, comm, req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(h->runat));
  PetscCall(PetscCalloc1(h->nsend + 1, &h->runat));
  PetscCall(PetscCalloc1(h->nsend + 1, &h->sendat));
  total = 0;
  for (PetscMPIInt k = 0; k < h->nsend; k++) {
    h->sendat[k + 1] = h->sendat[k];
    for (PetscInt j = 0; j < nwanted[k]; j++, total++) {
      h->runs[total].first  = wanted[2 * total] - A->cmap->rstart;
      h->runs[total].length = wanted[2 * total + 1];
      h->runs[total].at     = h->sendat[k + 1];
      h->sendat[k + 1] += h->runs[total].length;
    }
    h->runat[k + 1] = total;
  }
  PetscCall((*a->dia.k->alloc)((size_t)a->dia.nghost * sizeof(PetscScalar), (void **)&h->ghost));
  PetscCall((*a->dia.k->alloc)((size_t)h->sendat[h->nsend] * sizeof(PetscScalar), (void **)&h->message));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->req));
  PetscCall(MatDIAHaloSchedule_Private(A));
  if (a->dia.k->connect) {
    PetscCall((*a->dia.k->connect)(&a->dia, comm, use_gpu_aware_mpi, h->sendat[h->nsend], h->message, h->ghost, &h->link));
    PetscCall(PetscMalloc1(h->nrecv + h->nsend, &h->apart));
    PetscCall(PetscInfo(A, "Parts of vectors travel by %s\n", h->link->name));
  }
  PetscCall(PetscFree(req));
  PetscCall(PetscFree(wanted));
  PetscCall(PetscFree(nwanted));
  PetscCall(PetscFree(npieces));
  PetscCall(PetscFree(piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloDestroy_Private(Mat_DIA *a)
{
  MatDIAHalo *h = &a->halo;

  PetscFunctionBegin;
  PetscCall(PetscFree(h->recvrank));
  PetscCall(PetscFree(h->sendrank));
  PetscCall(PetscFree(h->recvat));
  PetscCall(PetscFree(h->sendat));
  PetscCall(PetscFree(h->runat));
  PetscCall(PetscFree(h->runs));
  if (h->link) PetscCall((*a->dia.k->disconnect)(&h->link));
  if (h->ghost) PetscCall((*a->dia.k->release)((void **)&h->ghost));
  if (h->message) PetscCall((*a->dia.k->release)((void **)&h->message));
  PetscCall(PetscFree(h->apart));
  PetscCall(PetscFree(h->req));
  PetscCall(PetscFree2(h->steprecv, h->stepsend));
  PetscCall(PetscMemzero(h, sizeof(*h)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Message number `recv` of ghost[] and number `send` of message[] begin to travel; -1 for none. Backwards ghost[] is sent and message[] received */
static PetscErrorCode MatDIAHaloStart_Private(Mat A, PetscBool back, PetscScalar *ghost, PetscScalar *message, PetscMPIInt recv, PetscMPIInt send, PetscMPIInt *nreq)
{
  MatDIAHalo *h    = &((Mat_DIA *)A->data)->halo;
  MPI_Comm    comm = PetscObjectComm((PetscObject)A);

  PetscFunctionBegin;
  if (recv >= 0 && !back) PetscCallMPI(MPIU_Irecv(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR, h->recvrank[recv], h->tag, comm, h->req + (*nreq)++));
  if (send >= 0 && back) PetscCallMPI(MPIU_Irecv(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR, h->sendrank[send], h->tag, comm, h->req + (*nreq)++));
  if (recv >= 0 && back) PetscCallMPI(MPIU_Isend(ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR, h->recvrank[recv], h->tag, comm, h->req + (*nreq)++));
  if (send >= 0 && !back) PetscCallMPI(MPIU_Isend(message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR, h->sendrank[send], h->tag, comm, h->req + (*nreq)++));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All messages at once, or the first of the schedule in two phases */
static PetscErrorCode MatDIAHaloTravel_Private(Mat A, PetscBool back, PetscScalar *ghost, PetscScalar *message)
{
  Mat_DIA    *a = (Mat_DIA *)A->data;
  MatDIAHalo *h = &a->halo;
  PetscMPIInt n = 0;

  PetscFunctionBegin;
  for (PetscMPIInt k = 0; k < h->nrecv + h->nsend; k++) h->req[k] = MPI_REQUEST_NULL;
  if (a->schedule == MAT_DIA_SCHEDULE_TWOPHASE) {
    if (h->nsteps) PetscCall(MatDIAHaloStart_Private(A, back, ghost, message, h->steprecv[0], h->stepsend[0], &n));
  } else {
    for (PetscMPIInt k = 0; k < h->nrecv && !back; k++) PetscCall(MatDIAHaloStart_Private(A, back, ghost, message, k, -1, &n));
    for (PetscMPIInt k = 0; k < h->nsend; k++) PetscCall(MatDIAHaloStart_Private(A, back, ghost, message, -1, k, &n));
    for (PetscMPIInt k = 0; k < h->nrecv && back; k++) PetscCall(MatDIAHaloStart_Private(A, back, ghost, message, k, -1, &n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAHaloArrive_Private(Mat A, PetscBool back, PetscScalar *ghost, PetscScalar *message)
{
  Mat_DIA    *a = (Mat_DIA *)A->data;
  MatDIAHalo *h = &a->halo;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, h->req, MPI_STATUSES_IGNORE));
  for (PetscInt k = 1; a->schedule == MAT_DIA_SCHEDULE_TWOPHASE && k < h->nsteps; k++) {
    PetscMPIInt n = 0;

    PetscCall(MatDIAHaloStart_Private(A, back, ghost, message, h->steprecv[k], h->stepsend[k], &n));
    PetscCallMPI(MPI_Waitall(n, h->req, MPI_STATUSES_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A message between devices; -1 for none */
static void MatDIAHaloApart_Private(MatDIAHalo *h, PetscBool back, PetscMPIInt recv, PetscMPIInt send, PetscInt *n)
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
static PetscErrorCode MatDIAHaloLeave_Private(Mat A, PetscBool back)
{
  Mat_DIA    *a = (Mat_DIA *)A->data;
  MatDIAHalo *h = &a->halo;
  PetscInt    n = 0;

  PetscFunctionBegin;
  if (!h->link) PetscCall(MatDIAHaloTravel_Private(A, back, h->ghost, h->message));
  else if (!h->link->apart) PetscCall((*a->dia.k->leave)(&a->dia, h->link, back));
  else if (a->schedule == MAT_DIA_SCHEDULE_TWOPHASE) {
    for (PetscInt k = 0; k < h->nsteps; k++) {
      n = 0;
      MatDIAHaloApart_Private(h, back, h->steprecv[k], h->stepsend[k], &n);
      PetscCall((*a->dia.k->exchange)(&a->dia, h->link, n, h->apart));
    }
  } else {
    for (PetscMPIInt k = 0; k < h->nrecv; k++) MatDIAHaloApart_Private(h, back, k, -1, &n);
    for (PetscMPIInt k = 0; k < h->nsend; k++) MatDIAHaloApart_Private(h, back, -1, k, &n);
    PetscCall((*a->dia.k->exchange)(&a->dia, h->link, n, h->apart));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is enqueued from now on finds ghost[], or back, message[], whole */
static PetscErrorCode MatDIAHaloFinish_Private(Mat A, PetscBool back)
{
  Mat_DIA      *a    = (Mat_DIA *)A->data;
  MatDIAHalo   *h    = &a->halo;
  SpikeDIALink *link = h->link;

  PetscFunctionBegin;
  if (!link) PetscCall(MatDIAHaloArrive_Private(A, back, h->ghost, h->message));
  else {
    if (!link->apart) {
      PetscCall((*a->dia.k->ready)(&a->dia, link));
      PetscCall(MatDIAHaloTravel_Private(A, back, link->ghost, link->message));
      PetscCall(MatDIAHaloArrive_Private(A, back, link->ghost, link->message));
    }
    PetscCall((*a->dia.k->arrive)(&a->dia, link, back));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ghost[] <- x in the columns of others, between Begin and End */
PetscErrorCode MatDIAHaloBegin_Private(Mat A, const PetscScalar *x)
{
  Mat_DIA    *a = (Mat_DIA *)A->data;
  MatDIAHalo *h = &a->halo;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*a->dia.k->pack)(&a->dia, h->runat[h->nsend], h->runs, x, h->message));
  PetscCall(MatDIAHaloLeave_Private(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloEnd_Private(Mat A)
{
  PetscFunctionBegin;
  if (((Mat_DIA *)A->data)->halo.active) PetscCall(MatDIAHaloFinish_Private(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += what others have in ghost[] for columns of ours, rank by rank */
PetscErrorCode MatDIAHaloReverseBegin_Private(Mat A)
{
  PetscFunctionBegin;
  if (((Mat_DIA *)A->data)->halo.active) PetscCall(MatDIAHaloLeave_Private(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloReverseEnd_Private(Mat A, PetscScalar *y)
{
  Mat_DIA    *a = (Mat_DIA *)A->data;
  MatDIAHalo *h = &a->halo;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIAHaloFinish_Private(A, PETSC_TRUE));
  PetscCall((*a->dia.k->unpackadd)(&a->dia, h->runat[h->nsend], h->runs, h->message, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same messages between arrays of the host, wherever the values are */
PetscErrorCode MatDIAHaloReverseHost_Private(Mat A, PetscScalar *ghost, PetscScalar *message)
{
  PetscFunctionBegin;
  PetscCall(MatDIAHaloTravel_Private(A, PETSC_TRUE, ghost, message));
  PetscCall(MatDIAHaloArrive_Private(A, PETSC_TRUE, ghost, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}
