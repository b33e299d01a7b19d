/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikelines.c: a maximal linear forest of strong couplings: each vertex, a row or a block of rows, has at most two
  chosen neighbours, and there is no cycle, so that the chosen couplings form paths

  With D the diagonal of A, rows are compared by D^-1 A: the weight of the coupling i - j is |a_ij| / |a_ii| + |a_ji| /
  |a_jj|, what D^-1 A loses where it is left out. It does not change when rows are scaled. A term |a_ij| / |a_ii| counts
  where |a_ij| >= threshold max_k |a_ik|, and a coupling with no such term is never taken. Magnitudes of blocks are sums
  of magnitudes of entries.

  The forest is the greedy one: couplings from the strongest to the weakest, each taken where both ends have fewer than
  two and lie on different paths, which is at least half as heavy as the heaviest (Klein, Algebraic, block and
  multiplicative preconditioners based on fast tridiagonal solves on GPUs, 2022, for the use of linear forests).
  Weights are compared in single precision, so that rounding does not decide between equal ones; of these the first in
  the order of rows wins. The work is linear in the number of entries.

  Paths of rows are cut where their tridiagonal systems would have small or negative pivots: SpikeLinesCut_Private().
*/
#include "spikelines.h"
#include <float.h>
#include <string.h>

PetscErrorCode SpikeLinesReset(SpikeLines *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(l->mark, l->cols, l->abs));
  PetscCall(PetscFree3(l->si, l->sj, l->sw));
  PetscCall(PetscFree(l->edge));
  PetscCall(PetscFree(l->spare));
  PetscCall(PetscFree3(l->mate, l->end, l->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The couplings of vertex v, into cols and abs, and the magnitude of its own block; returns their number */
static PetscInt SpikeLinesRow_Private(SpikeLines *l, const SpikeCSR *A, PetscInt v, PetscReal *own)
{
  const PetscInt bs    = l->bs;
  PetscInt       count = 0;

  *own = 0.0;
  for (PetscInt r = v * bs; r < (v + 1) * bs; r++)
    for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
      const PetscInt  c = A->aj[k] + A->shift, u = bs == 1 ? c : c / bs;
      const PetscReal abs = PetscAbsScalar(A->aa[k]);

      if (u == v) *own += abs;
      else if (bs == 1) {
        l->cols[count]  = u;
        l->abs[count++] = abs;
      } else if (l->mark[u] < 0) {
        l->mark[u]      = count;
        l->cols[count]  = u;
        l->abs[count++] = abs;
      } else l->abs[l->mark[u]] += abs;
    }
  for (PetscInt k = 0; bs > 1 && k < count; k++) l->mark[l->cols[k]] = -1;
  return count;
}

/* The strong couplings of each row, columns ascending: |a_ij| / |a_ii|, without a diagonal over the row's largest */
static PetscErrorCode SpikeLinesStrong_Private(SpikeLines *l, PetscInt nv, const SpikeCSR *A)
{
  PetscInt widest = 0, nz = 0;

  PetscFunctionBegin;
  for (PetscInt v = 0; v < nv; v++) widest = PetscMax(widest, A->ai[(v + 1) * l->bs] - A->ai[v * l->bs]);
  PetscCall(PetscMalloc3(l->bs > 1 ? nv : 0, &l->mark, widest, &l->cols, widest, &l->abs));
  for (PetscInt v = 0; l->bs > 1 && v < nv; v++) l->mark[v] = -1;
  PetscCall(PetscMalloc3(nv + 1, &l->si, A->ai[nv * l->bs], &l->sj, A->ai[nv * l->bs], &l->sw));
  l->si[0] = 0;
  for (PetscInt v = 0; v < nv; v++) {
    PetscReal      own, most = 0.0, least;
    const PetscInt count     = SpikeLinesRow_Private(l, A, v, &own);
    PetscBool      ascending = PETSC_TRUE;

    for (PetscInt k = 0; k < count; k++)
      if (l->abs[k] > most) most = l->abs[k];
    least = l->threshold * most;
    if (!(own > 0.0)) own = most;
    for (PetscInt k = 0; k < count; k++) {
      const PetscReal w = l->abs[k] / own;

      if (!(l->abs[k] >= least && l->abs[k] > 0.0)) continue;
      if (nz > l->si[v] && l->sj[nz - 1] >= l->cols[k]) ascending = PETSC_FALSE;
      l->sj[nz]   = l->cols[k];
      l->sw[nz++] = w < (PetscReal)(FLT_MAX / 4) ? (float)w : FLT_MAX / 4; /* a sum of two is finite */
    }
    l->si[v + 1] = nz;
    if (!ascending) {
      float swap;

      PetscCall(PetscSortIntWithDataArray(nz - l->si[v], l->sj + l->si[v], l->sw + l->si[v], sizeof(float), &swap));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The place of column u among the strong couplings of row v, -1: it is not there */
static inline PetscInt SpikeLinesAt_Private(const SpikeLines *l, PetscInt v, PetscInt u)
{
  PetscInt low = l->si[v], high = l->si[v + 1];

  while (low < high) {
    const PetscInt middle = low + (high - low) / 2;

    if (l->sj[middle] < u) low = middle + 1;
    else high = middle;
  }
  return low < l->si[v + 1] && l->sj[low] == u ? low : -1;
}

/* Each coupling once, in the order of rows: with both terms where both rows have it. Bits of floats ascend as these */
static PetscErrorCode SpikeLinesEdges_Private(SpikeLines *l, PetscInt nv)
{
  PetscInt count = l->si[nv];

  PetscFunctionBegin;
  for (PetscInt v = 0; v < nv; v++)
    for (PetscInt k = l->si[v]; k < l->si[v + 1]; k++) {
      const PetscInt other = l->sj[k] > v ? SpikeLinesAt_Private(l, l->sj[k], v) : -1;

      if (other < 0) continue;
      l->sw[k] += l->sw[other];
      l->sw[other] = -1.0f; /* in the other row, which comes later: it is in this one */
      count--;
    }
  l->nedges = count;
  PetscCall(PetscMalloc1(count, &l->edge));
  count = 0;
  for (PetscInt v = 0; v < nv; v++)
    for (PetscInt k = l->si[v]; k < l->si[v + 1]; k++) {
      if (l->sw[k] < 0.0f) continue;
      l->edge[count].i = v;
      l->edge[count].j = l->sj[k];
      memcpy(&l->edge[count++].key, &l->sw[k], sizeof(float));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The strongest first, equal ones in their order: by 11 bits of the keys at a time, where these differ at all */
static PetscErrorCode SpikeLinesSort_Private(SpikeLines *l)
{
  PetscInt first[2048];
  uint32_t differ = 0;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < l->nedges; e++) differ |= l->edge[e].key ^ l->edge[0].key;
  if (differ) PetscCall(PetscMalloc1(l->nedges, &l->spare));
  for (int shift = 0; shift < 32; shift += 11) {
    SpikeLinesEdge *swap = l->edge;

    if (!((differ >> shift) & 2047)) continue;
    PetscCall(PetscArrayzero(first, 2048));
    for (PetscInt e = 0; e < l->nedges; e++) first[(~l->edge[e].key >> shift) & 2047]++;
    for (PetscInt d = 0, sum = 0; d < 2048; d++) {
      const PetscInt here = first[d];

      first[d] = sum;
      sum += here;
    }
    for (PetscInt e = 0; e < l->nedges; e++) l->spare[first[(~l->edge[e].key >> shift) & 2047]++] = l->edge[e];
    l->edge  = l->spare;
    l->spare = swap;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mate and end: a path that is one vertex, or has two ends, each of which knows the other */
static void SpikeLinesForest_Private(SpikeLines *l, PetscInt nv)
{
  for (PetscInt v = 0; v < nv; v++) {
    l->mate[2 * v] = l->mate[2 * v + 1] = -1;
    l->end[v]                           = v;
  }
  for (PetscInt e = 0; e < l->nedges; e++) {
    const PetscInt i = l->edge[e].i, j = l->edge[e].j;
    PetscInt       a, b;

    if (l->mate[2 * i + 1] >= 0 || l->mate[2 * j + 1] >= 0 || l->end[i] == j) continue;
    l->mate[2 * i + (l->mate[2 * i] >= 0)] = j;
    l->mate[2 * j + (l->mate[2 * j] >= 0)] = i;
    a                                      = l->end[i];
    b                                      = l->end[j];
    l->end[a]                              = b;
    l->end[b]                              = a;
  }
}

/* The entries of row i for columns before, i and after, -1: none */
static void SpikeLinesEntries_Private(const SpikeCSR *A, PetscInt before, PetscInt i, PetscInt after, PetscScalar a[3])
{
  a[0] = a[1] = a[2] = 0.0;
  for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
    const PetscInt j = A->aj[k] + A->shift;

    if (j == i) a[1] += A->aa[k];
    else if (j == before) a[0] += A->aa[k];
    else if (j == after) a[2] += A->aa[k];
  }
}

static void SpikeLinesLeave_Private(SpikeLines *l, PetscInt v, PetscInt mate)
{
  if (l->mate[2 * v] == mate) l->mate[2 * v] = l->mate[2 * v + 1];
  l->mate[2 * v + 1] = -1;
}

/*
  With u_k the pivots along a path, d_k its diagonal, u_k = d_k - a_(k,k-1) a_(k-1,k) / u_(k-1): it is cut before k + 1
  where |u_k| < 0.9 |a_(k,k+1)|, or u_(k+1) / d_(k+1) would not be positive. In rows that are dominant neither happens.
  Where entries of the sign of the diagonal are left out, rows of what is left are not dominant, by a little, and a long
  path of them has negative eigenvalues, which a matrix A > 0 has not; the pieces have none.
*/
static void SpikeLinesCut_Private(SpikeLines *l, PetscInt nv, const SpikeCSR *A)
{
  for (PetscInt v = 0; v < nv; v++) {
    const PetscInt tail = l->end[v];
    PetscInt       head = v, before = -1, k = v;
    PetscScalar    u, last = 0.0, a[3], above = 0.0;

    if (l->mate[2 * v + 1] >= 0 || tail <= v) continue; /* each path of two or more from its first end */
    while (k >= 0) {
      const PetscInt next = l->mate[2 * k + (before >= 0 && l->mate[2 * k] == before)];

      SpikeLinesEntries_Private(A, before, k, next, a);
      u = before >= 0 ? a[1] - a[0] * above / last : a[1];
      if (before >= 0 && (PetscAbsScalar(last) < (PetscReal)0.9 * PetscAbsScalar(above) ||
                          (PetscAbsScalar(a[1]) > 0.0 && !(PetscRealPart(u / a[1]) > 10 * PETSC_MACHINE_EPSILON)))) {
        SpikeLinesLeave_Private(l, before, k);
        SpikeLinesLeave_Private(l, k, before);
        l->end[head]   = before;
        l->end[before] = head;
        head           = k;
        u              = a[1];
      }
      before = k;
      last   = u;
      above  = a[2];
      k      = next;
    }
    l->end[head] = tail;
    l->end[tail] = head;
  }
}

/* Whether A has an entry that couples vertices u and v, which may be -1: there is none */
static PetscBool SpikeLinesCouples_Private(const SpikeLines *l, const SpikeCSR *A, PetscInt u, PetscInt v)
{
  if (u < 0 || v < 0) return PETSC_FALSE;
  for (int side = 0; side < 2; side++) {
    const PetscInt row = side ? u : v, first = (side ? v : u) * l->bs - A->shift;

    for (PetscInt k = A->ai[row * l->bs]; k < A->ai[(row + 1) * l->bs]; k++)
      if (A->aj[k] >= first && A->aj[k] < first + l->bs) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* A path whose last vertex is `last` may be followed by one that begins with v: no entry in the band couples them */
static PetscBool SpikeLinesApart_Private(const SpikeLines *l, const SpikeCSR *A, PetscInt last, PetscInt v)
{
  if (SpikeLinesCouples_Private(l, A, last, v)) return PETSC_FALSE;
  if (l->bs == 1 || last < 0) return PETSC_TRUE;
  return (PetscBool)(!SpikeLinesCouples_Private(l, A, l->mate[2 * last], v) &&
                     !SpikeLinesCouples_Private(l, A, last, l->mate[2 * v]));
}

/* The places of a path from v on; *last <- its last vertex */
static void SpikeLinesWalk_Private(SpikeLines *l, PetscInt v, PetscInt *count, PetscInt *last)
{
  const PetscInt begin  = *count;
  PetscInt       before = -1;

  while (v >= 0) {
    const PetscInt next = l->mate[2 * v + (before >= 0 && l->mate[2 * v] == before)];

    l->place[v] = (*count)++;
    *last = before = v;
    v              = next;
  }
  l->shortest = l->paths ? PetscMin(l->shortest, *count - begin) : *count - begin;
  l->longest  = PetscMax(l->longest, *count - begin);
  l->paths++;
}

/*
  Paths in the order of their first ends, so that rows stay near each other. A path is turned, or waits for the next
  one, where its first vertex is coupled to the last one of the path before, by whatever weight: the band then falls
  apart between them. One path waits at a time.
*/
static void SpikeLinesNumber_Private(SpikeLines *l, PetscInt nv, const SpikeCSR *A)
{
  PetscInt count = 0, last = -1, waiting = -1;

  for (PetscInt v = 0; v < nv; v++) l->place[v] = -1;
  for (PetscInt v = 0; v < nv; v++) {
    if (l->place[v] >= 0 || l->mate[2 * v + 1] >= 0 || (waiting >= 0 && (v == waiting || l->end[v] == waiting)))
      continue;
    if (SpikeLinesApart_Private(l, A, last, v)) SpikeLinesWalk_Private(l, v, &count, &last);
    else if (SpikeLinesApart_Private(l, A, last, l->end[v])) SpikeLinesWalk_Private(l, l->end[v], &count, &last);
    else if (waiting < 0) {
      waiting = v;
      continue;
    } else SpikeLinesWalk_Private(l, v, &count, &last);
    if (waiting >= 0 && !SpikeLinesApart_Private(l, A, last, waiting)) waiting = l->end[waiting];
    if (waiting < 0 || !SpikeLinesApart_Private(l, A, last, waiting)) continue;
    SpikeLinesWalk_Private(l, waiting, &count, &last);
    waiting = -1;
  }
  if (waiting >= 0) SpikeLinesWalk_Private(l, waiting, &count, &last);
}

/*
  SpikeLinesFind - Rows along disjoint paths of strong couplings

  Not Collective

  Input Parameters:
+ l - bs and threshold
. n - rows, a multiple of bs
- A - their entries in the columns 0 <= j + shift < n

  Output Parameters:
+ newrow - [n] the place of each row: those of a vertex, and the vertices of a path, follow one another
- l      - paths, shortest and longest

  Note:
  Entries that are not finite count as the largest ones, or not at all.
*/
PetscErrorCode SpikeLinesFind(SpikeLines *l, PetscInt n, const SpikeCSR *A, PetscInt newrow[])
{
  const PetscInt nv = n / l->bs;

  PetscFunctionBegin;
  l->paths = l->shortest = l->longest = 0;
  PetscCall(SpikeLinesStrong_Private(l, nv, A));
  PetscCall(SpikeLinesEdges_Private(l, nv));
  PetscCall(SpikeLinesSort_Private(l));
  PetscCall(PetscMalloc3(2 * nv, &l->mate, nv, &l->end, nv, &l->place));
  SpikeLinesForest_Private(l, nv);
  if (l->bs == 1 && !l->uncut) SpikeLinesCut_Private(l, nv, A);
  SpikeLinesNumber_Private(l, nv, A);
  for (PetscInt v = 0; v < nv; v++)
    for (PetscInt r = 0; r < l->bs; r++) newrow[v * l->bs + r] = l->place[v] * l->bs + r;
  PetscCall(SpikeLinesReset(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}
