/* SPDX-License-Identifier: BSD-2-Clause */
/* diahalo.c: columns of other ranks that the rows of MATDIA reach: found once, exchanged in each product */
#include "diaimpl.h"

static int SpikeDIARunCompare(const void *a, const void *b)
{
  const PetscInt i = ((const SpikeDIARun *)a)->first, j = ((const SpikeDIARun *)b)->first;

  return i < j ? -1 : i > j;
}

/*
  Columns of others, counted from the first own one, as runs in ascending order that do not touch: with one run each way
  the columns of a diagonal are within one
*/
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
    if (merged && run[k].first <= run[merged - 1].first + run[merged - 1].length &&
        (run[k].first < 0) == (run[merged - 1].first < 0)) {
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
  Mat_DIA        *a = (Mat_DIA *)A->data;
  MatHalo        *h = &a->halo;
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
  PetscCall(PetscCalloc1(most + 1, &a->runat)); /* pieces of an owner, for the time being */
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
      a->runat[h->nrecv]  = ++n;
      h->recvat[h->nrecv] += length;
      first += length;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: each rank tells the owners what it wants */
PetscErrorCode MatDIAHaloCreate_Private(Mat A)
{
  Mat_DIA     *a     = (Mat_DIA *)A->data;
  MatHalo     *h     = &a->halo;
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
  for (PetscMPIInt k = 0; k < h->nrecv; k++) npieces[k] = a->runat[k + 1] - a->runat[k];
  PetscCall(
    PetscCommBuildTwoSided(comm, 1, MPIU_INT, h->nrecv, h->recvrank, npieces, &h->nsend, &h->sendrank, &nwanted));
  PetscCall(PetscSortMPIIntWithIntArray(h->nsend, h->sendrank, nwanted));
  for (PetscMPIInt k = 0; k < h->nsend; k++) total += nwanted[k];
  PetscCall(PetscMalloc1(2 * total, &wanted));
  PetscCall(PetscMalloc1(total, &a->runs));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &req));
  total = 0;
  for (PetscMPIInt k = 0; k < h->nsend; total += nwanted[k++])
    PetscCallMPI(MPIU_Irecv(wanted + 2 * total, 2 * nwanted[k], MPIU_INT, h->sendrank[k], h->tag, comm, req + k));
  for (PetscMPIInt k = 0; k < h->nrecv; k++)
    PetscCallMPI(
      MPIU_Isend(piece + 2 * a->runat[k], 2 * npieces[k], MPIU_INT, h->recvrank[k], h->tag, comm, req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(a->runat));
  PetscCall(PetscCalloc1(h->nsend + 1, &a->runat));
  PetscCall(PetscCalloc1(h->nsend + 1, &h->sendat));
  total = 0;
  for (PetscMPIInt k = 0; k < h->nsend; k++) {
    h->sendat[k + 1] = h->sendat[k];
    for (PetscInt j = 0; j < nwanted[k]; j++, total++) {
      a->runs[total].first  = wanted[2 * total] - A->cmap->rstart;
      a->runs[total].length = wanted[2 * total + 1];
      a->runs[total].at     = h->sendat[k + 1];
      h->sendat[k + 1] += a->runs[total].length;
    }
    a->runat[k + 1] = total;
  }
  PetscCall(MatHaloConnect_Private(h, a->dia.k, (PetscObject)A));
  PetscCall(PetscFree(req));
  PetscCall(PetscFree(wanted));
  PetscCall(PetscFree(nwanted));
  PetscCall(PetscFree(npieces));
  PetscCall(PetscFree(piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloDestroy_Private(Mat_DIA *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(a->runat));
  PetscCall(PetscFree(a->runs));
  PetscCall(MatHaloReset_Private(&a->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool MatDIATwoPhase_Private(const Mat_DIA *a)
{
  return (PetscBool)(a->schedule == MAT_DIA_SCHEDULE_TWOPHASE);
}

/* ghost[] <- x in the columns of others, between Begin and End */
PetscErrorCode MatDIAHaloBegin_Private(Mat A, const PetscScalar *x)
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  MatHalo *h = &a->halo;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*a->dia.k->pack)(&a->dia, a->runat[h->nsend], a->runs, x, h->message));
  PetscCall(MatHaloLeave_Private(h, MatDIATwoPhase_Private(a), PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloEnd_Private(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  if (a->halo.active) PetscCall(MatHaloFinish_Private(&a->halo, MatDIATwoPhase_Private(a), PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += what others have in ghost[] for columns of ours, rank by rank */
PetscErrorCode MatDIAHaloReverseBegin_Private(Mat A)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  if (a->halo.active) PetscCall(MatHaloLeave_Private(&a->halo, MatDIATwoPhase_Private(a), PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAHaloReverseEnd_Private(Mat A, PetscScalar *y)
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  MatHalo *h = &a->halo;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatHaloFinish_Private(h, MatDIATwoPhase_Private(a), PETSC_TRUE));
  PetscCall((*a->dia.k->unpackadd)(&a->dia, a->runat[h->nsend], a->runs, h->message, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same messages between arrays of the host, wherever the values are */
PetscErrorCode MatDIAHaloReverseHost_Private(Mat A, PetscScalar *ghost, PetscScalar *message)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  PetscCall(MatHaloTravel_Private(&a->halo, MatDIATwoPhase_Private(a), PETSC_TRUE, ghost, message));
  PetscCall(MatHaloArrive_Private(&a->halo, MatDIATwoPhase_Private(a), PETSC_TRUE, ghost, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}
