/* SPDX-License-Identifier: BSD-2-Clause */
/*
  matching.c: maximum product matching of a sparse matrix, with scales

  I. S. Duff, J. Koster: On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix
  Anal. Appl. 22 (2001), 973-996. The product of |a_i,m(i)| over all rows is largest where the sum of the costs

      c_ij = log max_k |a_kj| - log |a_ij| >= 0

  is smallest: an assignment problem, solved row by row by a shortest augmenting path, with dual variables

      c_ij - u_i - v_j >= 0,   = 0 for matched entries,

  which are the scaling: |a_ij| exp(u_i) exp(v_j) / max_k |a_kj| is at most 1, and 1 for matched entries. What a row
  costs is a search of Dijkstra's in the rows that it reaches; most rows are matched before it.
*/
#include "matching.h"

typedef struct {
  PetscInt        n;
  const PetscInt *ai, *aj;
  double         *cost;      /* of entries; infinite where they are 0 */
  double         *u, *v;     /* duals of rows and columns             */
  PetscInt       *col, *row; /* partner of a row, of a column; -1: none */

  /* one search: distances of columns, the row that each was reached from, and a heap of columns by their distance */
  double   *dist;
  PetscInt *from, *heap, *place; /* place in the heap; -1: not reached, -2: settled, -3: leads nowhere */
  PetscInt  nheap;
  PetscInt *touched, ntouched;
} Assignment;

static inline void HeapPut_Private(Assignment *s, PetscInt at, PetscInt j)
{
  s->heap[at] = j;
  s->place[j] = at;
}

/* j, whose distance has become smaller, or which is new */
static void HeapUp_Private(Assignment *s, PetscInt j)
{
  PetscInt at = s->place[j];

  if (at < 0) at = s->nheap++;
  for (; at > 0; at = (at - 1) / 2) {
    const PetscInt parent = s->heap[(at - 1) / 2];

    if (s->dist[parent] <= s->dist[j]) break;
    HeapPut_Private(s, at, parent);
  }
  HeapPut_Private(s, at, j);
}

static PetscInt HeapPop_Private(Assignment *s)
{
  const PetscInt first = s->heap[0], last = s->heap[--s->nheap];
  PetscInt       at = 0;

  while (2 * at + 1 < s->nheap) {
    PetscInt child = 2 * at + 1;

    if (child + 1 < s->nheap && s->dist[s->heap[child + 1]] < s->dist[s->heap[child]]) child++;
    if (s->dist[last] <= s->dist[s->heap[child]]) break;
    HeapPut_Private(s, at, s->heap[child]);
    at = child;
  }
  if (s->nheap) HeapPut_Private(s, at, last);
  s->place[first] = -2;
  return first;
}

/* Costs; false where an entry is not finite. Columns without an entry have no partner whatever they cost */
static PetscBool AssignmentCosts_Private(Assignment *s, const PetscScalar aa[], double logmax[])
{
  for (PetscInt j = 0; j < s->n; j++) logmax[j] = -PETSC_MAX_REAL;
  for (PetscInt k = 0; k < s->ai[s->n]; k++) {
    const double a = (double)PetscAbsScalar(aa[k]);

    if (!(a <= (double)PETSC_MAX_REAL)) return PETSC_FALSE;
    s->cost[k] = a > 0.0 ? log(a) : -(double)PETSC_MAX_REAL;
    if (s->cost[k] > logmax[s->aj[k]]) logmax[s->aj[k]] = s->cost[k];
  }
  for (PetscInt k = 0; k < s->ai[s->n]; k++)
    s->cost[k] = s->cost[k] == -(double)PETSC_MAX_REAL ? (double)PETSC_MAX_REAL : logmax[s->aj[k]] - s->cost[k];
  return PETSC_TRUE;
}

#define AssignmentIsEdge(c) ((c) < (double)PETSC_MAX_REAL)

/*
  Duals that leave no reduced cost negative: v = 0, because the largest entry of a column costs 0, and u_i the cheapest
  entry of a row, its diagonal entry before others that cost the same: what is matched already stays. Then rows take a
  free column at no cost, or one whose row has another
*/
static void AssignmentCheap_Private(Assignment *s)
{
  for (PetscInt i = 0; i < s->n; i++) {
    PetscInt best = -1;

    s->u[i] = 0.0;
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++) {
      if (!AssignmentIsEdge(s->cost[k])) continue;
      if (best < 0 || s->cost[k] < s->cost[best] || (s->cost[k] == s->cost[best] && s->aj[k] == i)) best = k;
    }
    if (best < 0) continue;
    s->u[i] = s->cost[best];
    if (s->row[s->aj[best]] < 0) {
      s->col[i]           = s->aj[best];
      s->row[s->aj[best]] = i;
    }
  }
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1] && s->col[i] < 0; k++) {
      const PetscInt j = s->aj[k];

      if (s->cost[k] > s->u[i]) continue;
      if (s->row[j] >= 0) {
        const PetscInt other = s->row[j];

        for (PetscInt l = s->ai[other]; l < s->ai[other + 1]; l++) {
          const PetscInt free = s->aj[l];

          if (s->cost[l] > s->u[other] || s->row[free] >= 0) continue;
          s->row[free]  = other;
          s->col[other] = free;
          s->row[j]     = -1;
          break;
        }
      }
      if (s->row[j] < 0) {
        s->row[j] = i;
        s->col[i] = j;
      }
    }
  }
}

/*
  Rows without a partner bid for their cheapest column what it is worth more to them than the next one, which its row
  then loses (augmenting row reduction; R. Jonker, A. Volgenant, Computing 38, 1987, 325-340): v falls, no reduced cost
  gets negative, and few rows are left for the search. A row that a bid has cost its column bids at once, where the bid
  has changed something; the work is at most that of SPIKE_MATCHING_BIDS looks at all entries
*/
#define SPIKE_MATCHING_BIDS 20

static void AssignmentBid_Private(Assignment *s, PetscInt queue[])
{
  PetscInt64 work  = (PetscInt64)SPIKE_MATCHING_BIDS * s->ai[s->n];
  PetscInt   count = 0;

  for (PetscInt i = 0; i < s->n; i++)
    if (s->col[i] < 0) queue[count++] = i;
  for (PetscInt sweep = 0, left; count && work > 0 && sweep < SPIKE_MATCHING_BIDS; sweep++, count = left) {
    left = 0;
    for (PetscInt k = 0; k < count; k++) {
      for (PetscInt i = queue[k], lost; i >= 0 && work > 0; i = lost) {
        double   least = (double)PETSC_MAX_REAL, next = (double)PETSC_MAX_REAL;
        PetscInt best = -1, second = -1;

        lost = -1;
        work -= s->ai[i + 1] - s->ai[i];
        for (PetscInt l = s->ai[i]; l < s->ai[i + 1]; l++) {
          const double c = s->cost[l] - s->v[s->aj[l]];

          if (!AssignmentIsEdge(s->cost[l]) || c >= next) continue;
          if (c < least) {
            next   = least;
            second = best;
            least  = c;
            best   = s->aj[l];
          } else {
            next   = c;
            second = s->aj[l];
          }
        }
        if (best < 0) break; /* nothing is there to match */
        if (second < 0) next = least;
        s->u[i] = next;
        if (next > least) s->v[best] -= next - least;
        else if (s->row[best] >= 0 && second >= 0 && s->row[second] < 0) best = second;
        if (s->row[best] >= 0) {
          if (!(next > least)) { /* a tie, of which bids would make no end */
            queue[left++] = i;
            break;
          }
          lost         = s->row[best];
          s->col[lost] = -1;
        }
        s->row[best] = i;
        s->col[i]    = best;
      }
    }
  }
}

/*
  A shortest augmenting path from row `start`, which has no partner. Without one no partner changes, and what was
  reached will never lead to a free column: other searches leave it out
*/
static void AssignmentAugment_Private(Assignment *s, PetscInt start)
{
  double   shortest = (double)PETSC_MAX_REAL, here = 0.0;
  PetscInt end = -1, i = start;

  s->nheap = s->ntouched = 0;
  for (;;) {
    PetscInt j;

    for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++) {
      double d;

      j = s->aj[k];
      if (!AssignmentIsEdge(s->cost[k]) || s->place[j] < -1) continue;
      d = here + PetscMax(s->cost[k] - s->u[i] - s->v[j], 0.0);
      if (d >= shortest) continue;
      if (s->row[j] < 0) {
        shortest   = d;
        end        = j;
        s->from[j] = i;
      } else if (s->place[j] == -1 || d < s->dist[j]) {
        if (s->place[j] == -1) s->touched[s->ntouched++] = j;
        s->dist[j] = d;
        s->from[j] = i;
        HeapUp_Private(s, j);
      }
    }
    if (!s->nheap || s->dist[s->heap[0]] >= shortest) break;
    j    = HeapPop_Private(s);
    here = s->dist[j];
    i    = s->row[j];
  }
  if (end >= 0) {
    s->u[start] += shortest;
    for (PetscInt t = 0; t < s->ntouched; t++) {
      const PetscInt j = s->touched[t];

      if (s->place[j] != -2) continue;
      s->v[j] -= shortest - s->dist[j];
      s->u[s->row[j]] += shortest - s->dist[j];
    }
  }
  for (PetscInt t = 0; t < s->ntouched; t++) s->place[s->touched[t]] = end < 0 ? -3 : -1;
  for (PetscInt j = end; j >= 0;) {
    const PetscInt r = s->from[j], next = s->col[r];

    s->row[j] = r;
    s->col[r] = j;
    j         = r == start ? -1 : next;
  }
}

/* A scale as a power of two, which is exact */
static PetscReal SpikePowerOfTwo_Private(double logarithm)
{
  const double most = PetscDefined(USE_REAL_SINGLE) ? 120.0 : 1000.0, e = logarithm / log(2.0);

  return (PetscReal)ldexp(1.0, (int)floor(PetscMax(-most, PetscMin(most, e)) + 0.5));
}

/*
  Scales from the duals. Rows times what columns are divided by leave entries as they are: the ranges of both have the
  same middle, so that they stay far from the ends of the numbers there are. logmax: of columns without an entry none
*/
static void AssignmentScales_Private(const Assignment *s, const double logmax[], PetscReal r[], PetscReal c[])
{
  double least[2] = {(double)PETSC_MAX_REAL, (double)PETSC_MAX_REAL}, most[2] = {-least[0], -least[0]}, shift = 0.0;

  for (PetscInt i = 0; i < s->n; i++) {
    least[0] = PetscMin(least[0], s->u[i]);
    most[0]  = PetscMax(most[0], s->u[i]);
    if (logmax[i] == -(double)PETSC_MAX_REAL) continue;
    least[1] = PetscMin(least[1], s->v[i] - logmax[i]);
    most[1]  = PetscMax(most[1], s->v[i] - logmax[i]);
  }
  if (least[0] <= most[0] && least[1] <= most[1])
    shift = (PetscInt)((least[1] + most[1] - least[0] - most[0]) / (4 * log(2.0))) * log(2.0);
  for (PetscInt i = 0; i < s->n; i++) {
    r[i] = SpikePowerOfTwo_Private(s->u[i] + shift);
    c[i] = logmax[i] > -(double)PETSC_MAX_REAL ? SpikePowerOfTwo_Private(s->v[i] - logmax[i] - shift) : (PetscReal)1.0;
  }
}

PetscErrorCode SpikeMatching(PetscInt n, const SpikeCSR *A, PetscInt col[], PetscReal r[], PetscReal c[],
                             PetscInt *unmatched, PetscInt *first, PetscBool *finite)
{
  Assignment s = {n, A->ai, A->aj, NULL, NULL, NULL, col, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0};
  double    *logmax;
  PetscInt   left = 0;

  PetscFunctionBegin;
  *unmatched = 0;
  *first     = -1;
  PetscCall(PetscMalloc5(A->ai[n], &s.cost, n, &s.u, n, &s.v, n, &s.dist, n, &logmax));
  PetscCall(PetscMalloc5(n, &s.row, n, &s.from, n, &s.heap, n, &s.place, n, &s.touched));
  *finite = AssignmentCosts_Private(&s, A->aa, logmax);
  for (PetscInt i = 0; i < n; i++) {
    s.col[i] = s.row[i] = s.place[i] = -1;
    s.v[i]                           = 0.0;
  }
  if (*finite) {
    AssignmentCheap_Private(&s);
    AssignmentBid_Private(&s, s.touched);
    for (PetscInt i = 0; i < n; i++) {
      if (s.col[i] < 0) AssignmentAugment_Private(&s, i);
      if (s.col[i] >= 0) continue; /* a search costs no row the partner that it has */
      if (*first < 0) *first = i;
      ++*unmatched;
    }
    AssignmentScales_Private(&s, logmax, r, c);
  }
  for (PetscInt i = 0; i < n; i++) {
    if (s.col[i] >= 0) continue;
    while (s.row[left] >= 0) left++;
    s.col[i] = left++;
  }
  PetscCall(PetscFree5(s.row, s.from, s.heap, s.place, s.touched));
  PetscCall(PetscFree5(s.cost, s.u, s.v, s.dist, logmax));
  PetscFunctionReturn(PETSC_SUCCESS);
}
