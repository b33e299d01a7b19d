/* SPDX-License-Identifier: BSD-2-Clause */
/* spikebordercover.c: which rows and columns of a matrix are its border, and whether it gains */
#include "spikeimpl.h"

/*
  Entry (i, j) is far beyond t if |i - j| > t. A border that leaves half-bandwidth t is a set of rows, with the columns
  of the same numbers, that covers all far entries: a vertex cover of their graph. Its size is at least that of any
  matching in that graph, which ends the look at a band after a few rows; a row with more than twice as many far entries
  as the border may have is in every cover (Buss and Goldsmith, SIAM J. Comput. 22, 1993, section 3), and what these
  leave is small or too much. Of that the row with the most far entries is taken, again and again.
*/

#define SPIKE_BORDER_GAIN  0.9 /* the work with a border, over that without one, that makes it worth it */
#define SPIKE_BORDER_LEAST 8   /* rows of the smallest matrix */
#define SPIKE_BORDER_USES  10  /* applications that a setup is thought to be for */

/* The far entries of row i, from the left end and then from the right one; columns ascend */
#define SpikeForFar(A, i, t, side, k) \
  for (int side = 0; side < 2; side++) \
    for (PetscInt k = side ? (A)->ai[(i) + 1] - 1 : (A)->ai[i]; \
         k >= (A)->ai[i] && k < (A)->ai[(i) + 1] && (side ? (A)->aj[k] - (i) : (i) - (A)->aj[k]) > (t); \
         k += side ? -1 : 1)

/* A border of the natural order, or of the rows with the most entries */
typedef struct {
  PetscInt  m, rows[SPIKE_BORDER_MOST];
  PetscReal cost;
} SpikeCover;

/*
  Work of a setup and some applications, in multiplications and words of memory: factors, columns of Q, S; the band, Q
  and E. gathered: columns of E that are stored
*/
static PetscReal SpikeBorderCost_Private(PetscInt n, PetscInt kl, PetscInt ku, PetscInt m, PetscInt gathered)
{
  const PetscReal N = (PetscReal)n, M = (PetscReal)m, band = 1.0 + kl + ku, g = (PetscReal)gathered;
  const PetscReal setup = N * 2 * kl * ku + M * N * 2 * band + 2 * M * M * g + M * M * M;

  return setup + 2 * SPIKE_BORDER_USES * (N * band + M * (N + g) + M * M);
}

/* Whether no matching of far entries is larger than most; seen[] is not 0 in rows of this one */
static PetscBool SpikeFarFew_Private(PetscInt n, const SpikeCSR *A, PetscInt t, PetscInt most, PetscInt *seen,
                                     PetscInt stamp)
{
  PetscInt size = 0;

  for (PetscInt i = 0; i < n; i++) {
    if (seen[i] == stamp) continue;
    SpikeForFar(A, i, t, side, k)
    {
      const PetscInt j = A->aj[k];

      if (seen[j] == stamp || seen[i] == stamp || A->aa[k] == (PetscScalar)0.0) continue;
      seen[i] = seen[j] = stamp;
      if (++size > most) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* The rest of a cover: each time the row with the most of the ne edges that are left; rows too many: false */
static PetscBool SpikeCoverRest_Private(PetscInt ne, PetscInt (*edge)[2], PetscInt most, PetscInt *degree,
                                        SpikeCover *c)
{
  while (ne) {
    PetscInt best = edge[0][0], left = 0;

    if (c->m == most) return PETSC_FALSE;
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
    c->rows[c->m++] = best;
  }
  return PETSC_TRUE;
}

/* A cover of all entries beyond t by at most `most` rows, in c; c->m -1: none was found */
static PetscErrorCode SpikeCover_Private(PetscInt n, const SpikeCSR *A, PetscInt t, PetscInt most, PetscInt *degree,
                                         PetscInt (*edge)[2], SpikeCover *c)
{
  const PetscInt limit = 2 * most * most;
  PetscInt       ne    = 0;
  PetscBool      found = PETSC_TRUE;

  PetscFunctionBegin;
  c->m = 0;
  PetscCall(PetscArrayzero(degree, n));
  for (PetscInt i = 0; i < n; i++) {
    SpikeForFar(A, i, t, side, k)
    {
      if (A->aa[k] == (PetscScalar)0.0) continue;
      degree[i]++;
      degree[A->aj[k]]++;
    }
  }
  for (PetscInt i = 0; i < n && found; i++) {
    if (degree[i] <= 2 * most) continue;
    if (c->m == most) found = PETSC_FALSE;
    else c->rows[c->m++] = i;
  }
  for (PetscInt i = 0; i < n && found; i++) {
    if (degree[i] > 2 * most) continue;
    SpikeForFar(A, i, t, side, k)
    {
      if (A->aa[k] == (PetscScalar)0.0 || degree[A->aj[k]] > 2 * most || !found) continue;
      if (ne == limit) found = PETSC_FALSE;
      else {
        edge[ne][0]   = i;
        edge[ne++][1] = A->aj[k];
      }
    }
  }
  if (found) found = SpikeCoverRest_Private(ne, edge, most, degree, c);
  if (!found) c->m = -1;
  else PetscCall(PetscSortInt(c->m, c->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns in which the rows of a cover have entries, at most; all where they are many */
static PetscInt SpikeCoverGathered_Private(PetscInt n, const SpikeCSR *A, const SpikeCover *c)
{
  PetscInt64 count = 0;

  for (PetscInt k = 0; k < c->m; k++) count += A->ai[c->rows[k] + 1] - A->ai[c->rows[k]];
  return 2 * count > n ? n : (PetscInt)count;
}

/* Half-bandwidths that are tried: 0, 1, 2, 3, 4, 6, 8, 12, 16, ... */
static PetscInt SpikeCoverStep_Private(PetscInt step)
{
  if (step < 2) return step;
  return (PetscInt)PetscMin((PetscInt64)(step % 2 ? 3 : 2) << ((step - 2) / 2), PETSC_INT_MAX);
}

/*
  The cheapest border of the natural order, whose half-bandwidths are full: *best, with the cost that it has at most.
  The first half-bandwidth for which there may be one is found by bisection.
*/
static PetscErrorCode PCSpikeBorderFar_Private(PC pc, PetscInt n, const SpikeCSR *A, PetscInt most,
                                               const PetscInt full[2], SpikeCover *best)
{
  const PetscInt K  = PetscMax(full[0], full[1]);
  PCSpikeBorder *d  = &((PC_Spike *)pc->data)->border;
  PetscInt       lo = 0, hi = 0, stamp = 0;
  SpikeCover     c;

  PetscFunctionBegin;
  best->m    = -1;
  best->cost = PETSC_MAX_REAL;
  if (K < 2) PetscFunctionReturn(PETSC_SUCCESS);
  while (SpikeCoverStep_Private(hi) < K) hi++;
  PetscCall(PetscMalloc2(n, &d->degree, 2 * most * most, &d->edge));
  PetscCall(PetscArrayzero(d->degree, n));
  for (const PetscInt last = hi; lo < hi;) {
    const PetscInt mid = (lo + hi) / 2;

    if (mid == last || SpikeFarFew_Private(n, A, SpikeCoverStep_Private(mid), most, d->degree, ++stamp)) hi = mid;
    else lo = mid + 1;
  }
  for (PetscInt t; (t = SpikeCoverStep_Private(lo)) < K; lo++) {
    const PetscInt kl = PetscMin(t, full[0]), ku = PetscMin(t, full[1]);

    if (SpikeBorderCost_Private(n, kl, ku, 1, 1) >= best->cost) break; /* larger ones cost more */
    PetscCall(SpikeCover_Private(n, A, t, most, d->degree, d->edge, &c));
    if (c.m < 1) continue;
    c.cost = SpikeBorderCost_Private(n, kl, ku, c.m, SpikeCoverGathered_Private(n, A, &c));
    if (c.cost < best->cost) *best = c;
  }
  PetscCall(PetscFree2(d->degree, d->edge));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nonzeros of the fullest row */
static PetscInt SpikeFullest_Private(PetscInt n, const SpikeCSR *A)
{
  PetscInt most = 0;

  for (PetscInt i = 0; i < n; i++) {
    PetscInt count = 0;

    if (A->ai[i + 1] - A->ai[i] <= most) continue;
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) count += A->aa[k] != (PetscScalar)0.0;
    most = PetscMax(most, count);
  }
  return most;
}

/* Half-bandwidths of the natural order and the entries of the fullest row, with stored zeros */
static void SpikeNatural_Private(PetscInt n, const SpikeCSR *A, PetscInt full[2], PetscInt *maxrow)
{
  full[0] = full[1] = *maxrow = 0;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt first = A->ai[i], last = A->ai[i + 1] - 1;

    *maxrow = PetscMax(*maxrow, last - first + 1);
    while (first <= last && A->aa[first] == (PetscScalar)0.0) first++;
    while (last >= first && A->aa[last] == (PetscScalar)0.0) last--;
    if (first > last) continue;
    full[0] = PetscMax(full[0], i - A->aj[first]);
    full[1] = PetscMax(full[1], A->aj[last] - i);
  }
}

/*
  Rows or columns with many more entries than the average, whatever the order: such a row alone makes any band half as
  wide as it has entries. *best: as many of them as gain most by that bound
*/
static PetscErrorCode PCSpikeBorderFull_Private(PetscInt n, const SpikeCSR *A, PetscInt most, SpikeCover *best)
{
  const PetscInt mean = A->ai[n] / n;
  PetscInt      *degree, *many, *row, count = 0;

  PetscFunctionBegin;
  best->m    = -1;
  best->cost = PETSC_MAX_REAL;
  PetscCall(PetscMalloc3(n, &degree, n, &many, n, &row));
  PetscCall(PetscArrayzero(degree, n));
  for (PetscInt k = 0; k < A->ai[n]; k++) degree[A->aj[k]]++;
  for (PetscInt i = 0; i < n; i++) {
    degree[i] = PetscMax(degree[i], A->ai[i + 1] - A->ai[i]);
    if (degree[i] <= 2 * mean + 8) continue;
    many[count]  = -degree[i];
    row[count++] = i;
  }
  PetscCall(PetscSortIntWithArray(count, many, row));
  for (PetscInt m = 1; m <= PetscMin(count, most); m++) {
    const PetscInt  next = m < count ? -many[m] : 2 * mean + 8, K = PetscMax(1, (next - m) / 2);
    const PetscReal cost = SpikeBorderCost_Private(n, K, K, m, n);

    if (cost >= best->cost) continue;
    best->cost = cost;
    best->m    = m;
  }
  if (best->m > 0) {
    PetscCall(PetscArraycpy(best->rows, row, best->m));
    PetscCall(PetscSortInt(best->m, best->rows));
  }
  PetscCall(PetscFree3(degree, many, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The band of A without the rows of a border; *A becomes T, or its copy after a matching */
static PetscErrorCode PCSpikeBorderTake_Private(PC pc, PetscInt m, const PetscInt rows[], const PetscInt natural[2],
                                                Mat *A)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderMake_Private(pc, *A, m, rows));
  *A = s->border.T;
  PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  s->info.natural_kl = natural[0];
  s->info.natural_ku = natural[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a band was chosen by goes, for another one */
static PetscErrorCode PCSpikeBorderRevert_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(s->newrow));
  PetscCall(PCSpikePeriodicDestroy_Private(pc));
  PetscCall(PCSpikeMatchingReset_Private(pc));
  PetscCall(PCSpikeBorderReset_Private(pc));
  s->info.unmatched = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work with the band that was chosen, without bound where it is cut */
static PetscReal PCSpikeBorderCostNow_Private(const PC_Spike *s, PetscInt n)
{
  if (s->info.cut) return PETSC_MAX_REAL;
  return SpikeBorderCost_Private(n, s->band.kl, s->band.ku, s->border.m, s->border.count);
}

static PetscErrorCode PCSpikeBorderInfo_Private(PC pc)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->border.T)
    PetscCall(PetscInfo(pc,
                        "A border of %" PetscInt_FMT " rows and columns, solved by a dense system, leaves "
                        "half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT "\n",
                        s->border.m, s->band.kl, s->band.ku));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeBorderChooseBand_Private - Half-bandwidths, ordering and matching of a matrix, or of what its border leaves
  where that is less work

  Input/Output Parameter:
. A - the matrix as AIJ; on return that which is factored as a band
*/
PetscErrorCode PCSpikeBorderChooseBand_Private(PC pc, Mat *A)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  PCSpikeBorder *d    = &s->border;
  const Mat      P    = *A;
  const PetscInt n    = P->rmap->n;
  PetscInt       most = d->max == PETSC_DECIDE ? PetscMin(SPIKE_BORDER_MOST, n / 4) : PetscMin(d->max, n / 2);
  PetscInt       full[2], maxrow, nparts, mean;
  SpikeCover     far, rows;
  SpikeCSR       parts[2];
  PetscMPIInt    size;
  PetscBool      isauto, natural, look;
  PetscReal      cost, bound = (PetscReal)SPIKE_BORDER_GAIN * 2 * SPIKE_BORDER_USES * (PetscReal)n;

  PetscFunctionBegin;
  PetscCall(PCSpikeCheckBand_Private(pc, &size, &isauto, &natural));
  if (size > 1 || n < SPIKE_BORDER_LEAST || most < 1 || s->userkl != PETSC_DECIDE || s->dropoff > 0.0 || d->refused) {
    PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeGetCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
  SpikeNatural_Private(n, &parts[0], full, &maxrow);
  mean     = parts[0].ai[n] / n;
  far.m    = -1;
  far.cost = PETSC_MAX_REAL;
  if (!d->nkept) PetscCall(PCSpikeBorderFar_Private(pc, n, &parts[0], most, full, &far));
  if (far.cost < bound * maxrow) maxrow = SpikeFullest_Private(n, &parts[0]);
  PetscCall(PCSpikeRestoreCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
  if (d->nkept) {
    PetscCall(PCSpikeBorderTake_Private(pc, d->nkept, d->kept, full, A));
    PetscCall(PCSpikeBorderInfo_Private(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* no ordering has kl + ku + 1 below the entries of a row; periodic systems have three in each */
  if (maxrow > 3 && far.cost < bound * maxrow) {
    d->affordable = (PetscBool)(SpikeBorderCost_Private(n, full[0], full[1], 0, 0) < SPIKE_BORDER_DEARER * far.cost);
    PetscCall(PCSpikeBorderTake_Private(pc, far.m, far.rows, full, A));
    PetscCall(PCSpikeBorderInfo_Private(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  if (s->cyclic.found) PetscFunctionReturn(PETSC_SUCCESS);
  cost      = PCSpikeBorderCostNow_Private(s, n);
  look      = (PetscBool)(!natural && !(far.cost < (PetscReal)SPIKE_BORDER_GAIN * cost) &&
                     SpikeBorderCost_Private(n, mean / 2, mean / 2, 1, 1) < cost / 2); /* else nothing gains that */
  rows.cost = PETSC_MAX_REAL;
  if (look) {
    PetscCall(PCSpikeGetCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
    PetscCall(PCSpikeBorderFull_Private(n, &parts[0], most, &rows));
    PetscCall(PCSpikeRestoreCSR_Private(pc, P, PETSC_MEMTYPE_HOST, &nparts, parts));
    if (!(rows.cost < cost / 2)) PetscFunctionReturn(PETSC_SUCCESS);
  } else if (!(far.cost < (PetscReal)SPIKE_BORDER_GAIN * cost)) PetscFunctionReturn(PETSC_SUCCESS);
  d->affordable = (PetscBool)(cost < SPIKE_BORDER_DEARER * (look ? rows.cost : far.cost));
  PetscCall(PCSpikeBorderRevert_Private(pc));
  *A = P;
  PetscCall(PCSpikeBorderTake_Private(pc, look ? rows.m : far.m, look ? rows.rows : far.rows, full, A));
  if (!(PCSpikeBorderCostNow_Private(s, n) < (PetscReal)SPIKE_BORDER_GAIN * cost)) {
    PetscCall(PCSpikeBorderRevert_Private(pc));
    *A = P;
    PetscCall(PCSpikeMatchingChooseBand_Private(pc, A));
  } else PetscCall(PCSpikeBorderInfo_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
