/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborderfar.c: the fewest rows, and columns of the same numbers, that cover what is far from the diagonal */
#include "spikeimpl.h"

/*
  Entry (i, j) is far beyond t if |i - j| > t. A border that leaves half-bandwidth t is a set of rows, with the columns
  of the same numbers, that covers all far entries: a vertex cover of their graph. Its size is at least that of any
  matching in that graph, which ends the look at a band after a few rows; a row with more than twice as many far entries
  as the border may have is in every cover (Buss and Goldsmith, SIAM J. Comput. 22, 1993, section 3), and what these
  leave is small or too much. Of that the row with the most far entries is taken, again and again.

  On several ranks each one looks at the entries of its rows. Vertices are its rows, then the columns of the
  off-diagonal block. Counts of vertices are summed where their rows are; what is small is told to all, who go on alike.
*/

/* The rows of this rank */
typedef struct {
  MPI_Comm        comm;
  PetscMPIInt     size;
  PetscInt        n, N, rstart, nghost, nparts;
  const SpikeCSR *parts;
  const PetscInt *garray;
} SpikeRows;

/* The far entries of row i of a piece, from the left end and then from the right one; columns ascend */
#define SpikeForFar(A, i, t, side, k) \
  for (int side = 0; side < 2; side++) \
    for (PetscInt k = side ? (A)->ai[(i) + 1] - 1 : (A)->ai[i]; \
         k >= (A)->ai[i] && k < (A)->ai[(i) + 1] && \
         (side ? SpikeCSRColumn(A, k) - (i) : (i)-SpikeCSRColumn(A, k)) > (t); \
         k += side ? -1 : 1)

/*
  Whether matchings of far entries that are found have no more than most; seen[] is not 0 in vertices of this one. On
  several ranks those of a rank are one, and so are all that have no row of another rank
*/
static PetscErrorCode SpikeFarFew_Private(const SpikeRows *r, PetscInt t, PetscInt most, PetscInt *seen, PetscInt stamp,
                                          PetscBool *few)
{
  PetscInt size = 0, both[2] = {0, 0};

  PetscFunctionBegin;
  for (PetscInt p = 0; p < r->nparts && size <= most; p++) {
    const SpikeCSR *A = &r->parts[p];

    for (PetscInt i = 0; i < r->n && size <= most; i++) {
      if (seen[i] == stamp) continue;
      SpikeForFar(A, i, t, side, k)
      {
        const PetscInt j = A->aj[k] + (p ? r->n : 0);

        if (size > most || seen[j] == stamp || seen[i] == stamp || A->aa[k] == (PetscScalar)0.0) continue;
        seen[i] = seen[j] = stamp;
        size++;
      }
    }
    if (!p) both[1] = size;
  }
  both[0] = size;
  if (r->size > 1) {
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &both[0], 1, MPIU_INT, MPI_MAX, r->comm));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &both[1], 1, MPIU_INT, MPI_SUM, r->comm));
  }
  *few = (PetscBool)(PetscMax(both[0], both[1]) <= most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The rest of a cover: each time the row with the most of the ne edges that are left; rows too many: false. vertex,
  degree: [2 * ne]
*/
static PetscErrorCode SpikeCoverRest_Private(PetscInt ne, PetscInt (*edge)[2], PetscInt most, PetscInt *vertex,
                                             PetscInt *degree, SpikeCover *c, PetscBool *found)
{
  PetscInt nv = 2 * ne;

  PetscFunctionBegin;
  *found = PETSC_TRUE;
  for (PetscInt e = 0; e < ne; e++)
    for (int end = 0; end < 2; end++) vertex[2 * e + end] = edge[e][end];
  PetscCall(PetscSortRemoveDupsInt(&nv, vertex));
  for (PetscInt e = 0; e < ne; e++)
    for (int end = 0; end < 2; end++) PetscCall(PetscFindInt(edge[e][end], nv, vertex, &edge[e][end]));
  while (ne) {
    PetscInt best = edge[0][0], left = 0;

    *found = (PetscBool)(c->m < most);
    if (!*found) break;
    for (PetscInt e = 0; e < ne; e++) degree[edge[e][0]] = degree[edge[e][1]] = 0;
    for (PetscInt e = 0; e < ne; e++) {
      degree[edge[e][0]]++;
      degree[edge[e][1]]++;
    }
    for (PetscInt e = 0; e < ne; e++)
      for (int end = 0; end < 2; end++) {
        const PetscInt v = edge[e][end];

        if (degree[v] > degree[best] || (degree[v] == degree[best] && v > best)) best = v;
      }
    for (PetscInt e = 0; e < ne; e++) {
      if (edge[e][0] == best || edge[e][1] == best) continue;
      edge[left][0]   = edge[e][0];
      edge[left++][1] = edge[e][1];
    }
    ne              = left;
    c->rows[c->m++] = vertex[best];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The count integers of each rank, one rank after the other, in all where they are at most `most`; else *fit: false */
static PetscErrorCode SpikeGather_Private(const SpikeRows *r, PetscInt count, const PetscInt mine[], PetscInt most,
                                          PetscInt all[], PetscInt *total, PetscBool *fit)
{
  PetscMPIInt *counts, *places, mycount;
  PetscInt64   sum = 0;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(count, &mycount));
  PetscCall(PetscMalloc2(r->size, &counts, r->size, &places));
  PetscCallMPI(MPI_Allgather(&mycount, 1, MPI_INT, counts, 1, MPI_INT, r->comm));
  for (PetscMPIInt q = 0; q < r->size; q++) {
    places[q] = (PetscMPIInt)PetscMin(sum, (PetscInt64)most);
    sum += counts[q];
  }
  *fit   = (PetscBool)(sum <= most);
  *total = (PetscInt)PetscMin(sum, (PetscInt64)most);
  if (*fit) PetscCallMPI(MPI_Allgatherv(mine, mycount, MPIU_INT, all, counts, places, MPIU_INT, r->comm));
  PetscCall(PetscFree2(counts, places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* degree[] <- far entries of the vertices, in their rows and columns, of all ranks in rows of this one */
static PetscErrorCode SpikeFarCount_Private(const SpikeRows *r, PetscInt t, PetscSF sf, PetscInt *degree)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(degree, (PetscCount)r->n + r->nghost));
  for (PetscInt p = 0; p < r->nparts; p++) {
    const SpikeCSR *A = &r->parts[p];

    for (PetscInt i = 0; i < r->n; i++) {
      SpikeForFar(A, i, t, side, k)
      {
        if (A->aa[k] == (PetscScalar)0.0) continue;
        degree[i]++;
        degree[A->aj[k] + (p ? r->n : 0)]++;
      }
    }
  }
  if (sf) {
    PetscInt *ghost = PetscSafePointerPlusOffset(degree, r->n);

    PetscCall(PetscSFReduceBegin(sf, MPIU_INT, ghost, degree, MPI_SUM));
    PetscCall(PetscSFReduceEnd(sf, MPIU_INT, ghost, degree, MPI_SUM));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cover of all entries beyond t by at most `most` rows, in c; c->m -1: none was found */
static PetscErrorCode SpikeCover_Private(PCSpikeBorder *d, const SpikeRows *r, PetscInt t, PetscInt most, SpikeCover *c)
{
  const PetscInt limit  = 2 * most * most;
  PetscInt       ne     = 0, count, all;
  PetscInt      *degree = d->degree, *mine = d->vertex, (*edge)[2] = r->size > 1 ? d->edge + limit : d->edge;
  PetscBool      found = PETSC_TRUE;

  PetscFunctionBegin;
  c->m = 0;
  PetscCall(SpikeFarCount_Private(r, t, d->sf, degree));
  for (PetscInt i = 0; i < r->n && c->m <= most; i++)
    if (degree[i] > 2 * most) mine[c->m++] = i + r->rstart;
  count = c->m;
  if (r->size > 1) PetscCall(SpikeGather_Private(r, count, mine, most, c->rows, &c->m, &found));
  else {
    found = (PetscBool)(count <= most);
    if (found) PetscCall(PetscArraycpy(c->rows, mine, count));
  }
  if (!found) c->m = -1;
  if (!found) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt g = 0, k = 0; g < r->nghost; g++) { /* both ascend */
    while (k < c->m && c->rows[k] < r->garray[g]) k++;
    degree[r->n + g] = k < c->m && c->rows[k] == r->garray[g] ? PETSC_INT_MAX : 0;
  }
  for (PetscInt p = 0; p < r->nparts && ne <= limit; p++) {
    const SpikeCSR *A = &r->parts[p];

    for (PetscInt i = 0; i < r->n && ne <= limit; i++) {
      if (degree[i] > 2 * most) continue;
      SpikeForFar(A, i, t, side, k)
      {
        if (A->aa[k] == (PetscScalar)0.0 || degree[A->aj[k] + (p ? r->n : 0)] > 2 * most || ne > limit) continue;
        if (ne < limit) {
          edge[ne][0] = i + r->rstart;
          edge[ne][1] = SpikeCSRColumn(A, k) + r->rstart;
        }
        ne++;
      }
    }
  }
  if (r->size > 1) {
    PetscCall(SpikeGather_Private(r, 2 * ne, &edge[0][0], 2 * limit, &d->edge[0][0], &all, &found));
    ne = all / 2;
  } else found = (PetscBool)(ne <= limit);
  if (found) PetscCall(SpikeCoverRest_Private(ne, d->edge, most, d->vertex, d->vertex + 2 * limit, c, &found));
  if (!found) c->m = -1;
  else PetscCall(PetscSortInt(c->m, c->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns in which the rows of a cover have entries, at most; all where they are many */
static PetscErrorCode SpikeCoverGathered_Private(const SpikeRows *r, const SpikeCover *c, PetscInt *gathered)
{
  PetscInt64 count = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->m; k++) {
    const PetscInt i = c->rows[k] - r->rstart;

    for (PetscInt p = 0; p < r->nparts && i >= 0 && i < r->n; p++) count += r->parts[p].ai[i + 1] - r->parts[p].ai[i];
  }
  if (r->size > 1) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &count, 1, MPIU_INT64, MPI_SUM, r->comm));
  *gathered = 2 * count > r->N ? r->N : (PetscInt)count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeRowsGet_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[], SpikeRows *r)
{
  Mat Ao;

  PetscFunctionBegin;
  r->comm = PetscObjectComm((PetscObject)pc);
  PetscCallMPI(MPI_Comm_size(r->comm, &r->size));
  r->n      = A->rmap->n;
  r->N      = A->rmap->N;
  r->rstart = A->rmap->rstart;
  r->nparts = r->size > 1 ? nparts : 1;
  r->parts  = parts;
  r->nghost = 0;
  r->garray = NULL;
  if (r->nparts < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, &r->garray));
  PetscCall(MatGetSize(Ao, NULL, &r->nghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The cheapest border of the natural order, whose half-bandwidths are full: *best, with the cost that it has at most; on
  several ranks of those that their rows can hold. Half-bandwidths that are tried are SpikeLookStep(); the first one for
  which there may be a border is found by bisection. Collective
*/
PetscErrorCode PCSpikeBorderFar_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[], PetscInt most,
                                        const PetscInt full[2], SpikeCover *best)
{
  const PetscInt K  = PetscMax(full[0], full[1]);
  PCSpikeBorder *d  = &((PC_Spike *)pc->data)->border;
  int            lo = 0, hi = 0;
  PetscInt       stamp = 0, gathered = 0, limit = 2 * most * most;
  PetscBool      few, holds;
  SpikeCover     c;
  SpikeRows      r;

  PetscFunctionBegin;
  best->m    = -1;
  best->cost = PETSC_MAX_REAL;
  if (K < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeRowsGet_Private(pc, A, nparts, parts, &r));
  while (SpikeLookStep(hi) < K) hi++;
  PetscCall(PetscMalloc3((PetscCount)r.n + r.nghost, &d->degree, (r.size > 1 ? 2 : 1) * limit, &d->edge, 4 * limit,
                         &d->vertex));
  PetscCall(PetscArrayzero(d->degree, (PetscCount)r.n + r.nghost));
  for (const int last = hi; lo < hi;) {
    const int mid = (lo + hi) / 2;

    few = PETSC_TRUE;
    if (mid != last) PetscCall(SpikeFarFew_Private(&r, SpikeLookStep(mid), most, d->degree, ++stamp, &few));
    if (few) hi = mid;
    else lo = mid + 1;
  }
  if (r.size > 1 && SpikeLookStep(lo) < K) {
    PetscCall(PetscSFCreate(r.comm, &d->sf));
    PetscCall(PetscSFSetGraphLayout(d->sf, A->cmap, r.nghost, NULL, PETSC_USE_POINTER, r.garray));
  }
  for (PetscInt t; (t = SpikeLookStep(lo)) < K; lo++) {
    const PetscInt kl = PetscMin(t, full[0]), ku = PetscMin(t, full[1]);

    if (SpikeBorderCost_Private(r.N, kl, ku, 1, 1) >= best->cost) break; /* larger ones cost more */
    PetscCall(SpikeCover_Private(d, &r, t, most, &c));
    if (c.m < 1) continue;
    PetscCall(PCSpikeBorderHolds_Private(pc, t, c.m, c.rows, &holds));
    if (!holds) continue;
    PetscCall(SpikeCoverGathered_Private(&r, &c, &gathered));
    c.cost = SpikeBorderCost_Private(r.N, kl, ku, c.m, gathered);
    if (c.cost < best->cost) *best = c;
  }
  PetscCall(PetscSFDestroy(&d->sf));
  PetscCall(PetscFree3(d->degree, d->edge, d->vertex));
  PetscFunctionReturn(PETSC_SUCCESS);
}
