/* SPDX-License-Identifier: BSD-2-Clause */
/* gridstencilhalo.c: points around the box of a rank: found once, exchanged in each product */
#include "gridstencilimpl.h"

/*
  Of each point of the shell the global number of its first unknown, -1 where there is none, or where no point of the
  box wants it
*/
static PetscErrorCode MatGridStencilHaloWanted_Private(Mat A, PetscInt **wanted)
{
  Mat_GridStencil       *a = (Mat_GridStencil *)A->data;
  SpikeStencil          *S = &a->s;
  ISLocalToGlobalMapping map;
  const PetscInt        *global;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    PetscInt low = 0, high = 0;

    for (PetscInt s = 0; s < S->count; s++) {
      low  = PetscMin(low, S->offset[3 * s + d]);
      high = PetscMax(high, S->offset[3 * s + d]);
    }
    S->shell.lo[d] = PetscMax(low, S->lo[d]);
    S->shell.hi[d] = PetscMin(S->size[d] + high, S->hi[d]);
  }
  SpikeStencilSetShell(S);
  PetscCall(PetscMalloc1(S->shell.n, wanted));
  for (PetscCount t = 0; t < S->shell.n; t++) (*wanted)[t] = -1;
  PetscCall(DMGetLocalToGlobalMapping(a->da, &map));
  PetscCall(ISLocalToGlobalMappingGetIndices(map, &global));
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(S, b, begin, end);
    for (PetscInt k = begin[2]; k < end[2]; k++)
      for (PetscInt j = begin[1]; j < end[1]; j++)
        for (PetscInt i = begin[0]; i < end[0]; i++)
          for (PetscInt s = 0; s < S->count; s++) {
            const PetscInt p[]  = {i + S->offset[3 * s], j + S->offset[3 * s + 1], k + S->offset[3 * s + 2]};
            const int      slab = SpikeStencilSlab(S, p[0], p[1], p[2]);
            PetscBool      out  = (PetscBool)(slab == 6);

            for (PetscInt d = 0; d < 3; d++)
              if (p[d] < S->lo[d] || p[d] >= S->hi[d]) out = PETSC_TRUE;
            if (!out)
              (*wanted)[S->shell.first[slab] + p[0] + p[1] * S->shell.sj[slab] + p[2] * S->shell.sk[slab]] = global
                [(a->gfirst + p[0] + (PetscCount)p[1] * a->gj + (PetscCount)p[2] * a->gk) * S->dof];
          }
  }
  PetscCall(ISLocalToGlobalMappingRestoreIndices(map, &global));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list of the host becomes one where the kernels are */
static PetscErrorCode MatGridStencilHaloMove_Private(const SpikeDIAKernels *k, PetscInt n, const PetscInt list[],
                                                     PetscInt **there)
{
  PetscFunctionBegin;
  PetscCall((*k->alloc)((size_t)n * sizeof(*list), (void **)there));
  PetscCall((*k->move)(NULL, PETSC_TRUE, *there, list, (size_t)n * sizeof(*list)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: owners learn what is wanted of them, points in the order of the shell. Both lists are of the host */
static PetscErrorCode MatGridStencilHaloOwners_Private(Mat A, const PetscInt wanted[], PetscInt to[], PetscInt from[],
                                                       PetscInt *which[])
{
  Mat_GridStencil *a    = (Mat_GridStencil *)A->data;
  MatHalo         *h    = &a->halo;
  MPI_Comm         comm = PetscObjectComm((PetscObject)A);
  const PetscInt   dof = a->s.dof, n = (PetscInt)a->s.shell.n;
  PetscInt        *first = NULL, *number, *asked, *nasked, total = 0;
  const PetscInt  *range;
  PetscMPIInt     *owner, size, rank;
  MPI_Request     *req;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscLayoutGetRanges(A->cmap, &range));
  PetscCall(PetscCalloc1(size + 1, &first));
  PetscCall(PetscMalloc1(n, &owner));
  for (PetscInt t = 0; t < n; t++) {
    owner[t] = rank;
    if (wanted[t] >= 0) PetscCall(PetscLayoutFindOwner(A->cmap, wanted[t], &owner[t]));
    if (owner[t] != rank) first[owner[t] + 1]++;
  }
  for (PetscMPIInt r = 0; r < size; r++) {
    if (first[r + 1]) h->nrecv++;
    first[r + 1] += first[r];
  }
  total = first[size];
  PetscCall(PetscMalloc1(h->nrecv, &h->recvrank));
  PetscCall(PetscCalloc1(h->nrecv + 1, &h->recvat));
  PetscCall(PetscMalloc1(h->nrecv, &number));
  PetscCall(PetscMalloc1(total, &asked));
  h->nrecv = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (first[r] == first[r + 1]) continue;
    h->recvrank[h->nrecv] = r;
    number[h->nrecv++]    = first[r + 1] - first[r];
    h->recvat[h->nrecv]   = first[r + 1] * dof;
  }
  a->narrive = total;
  for (PetscInt t = 0; t < n; t++) {
    if (wanted[t] < 0) continue;
    if (owner[t] == rank) {
      to[a->narrive]     = t;
      from[a->narrive++] = -1 - (wanted[t] - A->cmap->rstart) / dof;
    } else {
      const PetscInt at = first[owner[t]]++;

      to[at]    = t;
      from[at]  = at;
      asked[at] = (wanted[t] - range[owner[t]]) / dof;
    }
  }
  PetscCall(PetscFree(owner));
  PetscCall(PetscFree(first));
  PetscCall(PetscCommGetNewTag(comm, &h->tag));
  PetscCall(PetscCommBuildTwoSided(comm, 1, MPIU_INT, h->nrecv, h->recvrank, number, &h->nsend, &h->sendrank, &nasked));
  PetscCall(PetscSortMPIIntWithIntArray(h->nsend, h->sendrank, nasked));
  PetscCall(PetscCalloc1(h->nsend + 1, &h->sendat));
  for (PetscMPIInt k = 0; k < h->nsend; k++) h->sendat[k + 1] = h->sendat[k] + nasked[k] * dof;
  a->nleave = h->sendat[h->nsend] / dof;
  PetscCall(PetscMalloc1(a->nleave, which));
  PetscCall(PetscMalloc1(h->nrecv + h->nsend, &req));
  for (PetscMPIInt k = 0; k < h->nsend; k++)
    PetscCallMPI(MPIU_Irecv(*which + h->sendat[k] / dof, nasked[k], MPIU_INT, h->sendrank[k], h->tag, comm, req + k));
  for (PetscMPIInt k = 0; k < h->nrecv; k++)
    PetscCallMPI(
      MPIU_Isend(asked + h->recvat[k] / dof, number[k], MPIU_INT, h->recvrank[k], h->tag, comm, req + h->nsend + k));
  PetscCallMPI(MPI_Waitall(h->nrecv + h->nsend, req, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(req));
  PetscCall(PetscFree(nasked));
  PetscCall(PetscFree(asked));
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective, once for the kernels in use. What comes from others is the shell itself where it comes in its order, as
  between layers along the last dimension
*/
PetscErrorCode MatGridStencilHaloCreate_Private(Mat A)
{
  Mat_GridStencil       *a = (Mat_GridStencil *)A->data;
  MatHalo               *h = &a->halo;
  const SpikeDIAKernels *k = SpikeDIAKernelsFind(a->k->memtype);
  PetscInt              *wanted, *to, *from, *which;
  PetscBool              some, same;

  PetscFunctionBegin;
  if (!a->ghosts || a->usedm || a->wholehalo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGridStencilHaloDestroy_Private(A)); /* what an attempt that failed has left */
  a->havehalo = PETSC_TRUE;
  PetscCall(MatGridStencilHaloWanted_Private(A, &wanted));
  PetscCall(PetscMalloc2(a->s.shell.n, &to, a->s.shell.n, &from));
  PetscCall(MatGridStencilHaloOwners_Private(A, wanted, to, from, &which));
  some = (PetscBool)(h->nrecv > 0);
  PetscCallMPI(MPIU_Allreduce(&some, &h->active, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  if (h->active) PetscCall(MatHaloConnect_Private(h, k, (PetscObject)A));
  PetscCall(MatGridStencilHaloMove_Private(k, a->nleave, which, &a->leave));
  same = (PetscBool)(h->active && a->narrive == a->s.shell.n);
  for (PetscInt t = 0; same && t < a->narrive; t++) same = (PetscBool)(to[t] == t && from[t] == t);
  if (same) {
    a->narrive = 0;
    a->ghost   = h->ghost;
  } else {
    const size_t bytes = (size_t)a->s.shell.n * a->s.dof * sizeof(PetscScalar);
    PetscScalar *zeros;

    PetscCall(MatGridStencilHaloMove_Private(k, a->narrive, to, &a->arriveto));
    PetscCall(MatGridStencilHaloMove_Private(k, a->narrive, from, &a->arrivefrom));
    /* what exists and is no column, at ghosted boundaries */
    PetscCall(PetscCalloc1((size_t)a->s.shell.n * a->s.dof, &zeros));
    PetscCall((*k->alloc)(bytes, (void **)&a->ghost));
    PetscCall((*k->move)(NULL, PETSC_TRUE, a->ghost, zeros, bytes));
    PetscCall(PetscFree(zeros));
  }
  PetscCall(PetscFree(which));
  PetscCall(PetscFree2(to, from));
  PetscCall(PetscFree(wanted));
  a->wholehalo = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilHaloDestroy_Private(Mat A)
{
  Mat_GridStencil       *a = (Mat_GridStencil *)A->data;
  const SpikeDIAKernels *k;

  PetscFunctionBegin;
  if (!a->havehalo) PetscFunctionReturn(PETSC_SUCCESS);
  k = SpikeDIAKernelsFind(a->k->memtype);
  if (a->ghost && a->ghost != a->halo.ghost) PetscCall((*k->release)((void **)&a->ghost));
  if (a->leave) PetscCall((*k->release)((void **)&a->leave));
  if (a->arriveto) PetscCall((*k->release)((void **)&a->arriveto));
  if (a->arrivefrom) PetscCall((*k->release)((void **)&a->arrivefrom));
  PetscCall(MatHaloReset_Private(&a->halo));
  a->ghost    = NULL;
  a->leave    = NULL;
  a->arriveto = a->arrivefrom = NULL;
  a->nleave = a->narrive = 0;
  a->havehalo = a->wholehalo = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ghost[] <- x around the box, between Begin and End, on the stream of the stencil */
PetscErrorCode MatGridStencilHaloBegin_Private(Mat A, const PetscScalar *x)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (!a->halo.active) PetscFunctionReturn(PETSC_SUCCESS);
  a->halo.stream = a->s.stream;
  PetscCall((*a->k->pack)(&a->s, a->nleave, a->leave, x, a->halo.message));
  PetscCall(MatHaloLeave_Private(&a->halo, PETSC_FALSE, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGridStencilHaloEnd_Private(Mat A, const PetscScalar *x)
{
  Mat_GridStencil *a = (Mat_GridStencil *)A->data;

  PetscFunctionBegin;
  if (a->halo.active) PetscCall(MatHaloFinish_Private(&a->halo, PETSC_FALSE, PETSC_FALSE));
  PetscCall((*a->k->unpack)(&a->s, a->narrive, a->arriveto, a->arrivefrom, x, a->halo.ghost, a->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}
