/* SPDX-License-Identifier: BSD-2-Clause */
/*
  matching.c: maximum product matching of a sparse matrix, with scales

  I. S. Duff, J. Koster: On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix
  Anal. Appl. 22 (2001), 973-996. The product of |a_i,m(i)| over all rows is largest where the sum of the costs

      c_ij = log max_k |a_kj| - log |a_ij| >= 0

  is smallest: an assignment problem with dual variables

      c_ij - u_i - v_j >= 0,   = 0 for matched entries,

  which are the scaling: |a_ij| exp(u_i) exp(v_j) / max_k |a_kj| is at most 1, and 1 for matched entries.

  Most rows are matched at no cost, or by bids. The others are by shortest augmenting paths, one after the other, each
  a search of Dijkstra's. Where that takes long, an auction makes duals near to the best ones, from which the paths are
  short; they still end at the best.
*/
#include "matching.h"
#include "assignment.h"

/*
  Costs of the entries that are not zero; false where an entry is not finite. Columns without an entry have no partner
  whatever they cost
*/
static PetscBool AssignmentCosts_Private(Assignment *s, const SpikeCSR *A, double logmax[])
{
  PetscInt count = 0;

  for (PetscInt j = 0; j < s->n; j++) logmax[j] = -ASSIGNMENT_NONE;
  for (PetscInt i = 0; i < s->n; i++) {
    s->ai[i] = count;
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const double   a = (double)PetscAbsScalar(A->aa[k]);
      const PetscInt j = A->aj[k];

      if (!(a <= (double)PETSC_MAX_REAL)) return PETSC_FALSE;
      if (a == 0.0) continue;
      s->edge[count].j    = j;
      s->edge[count].cost = log(a);
      if (s->edge[count].cost > logmax[j]) logmax[j] = s->edge[count].cost;
      count++;
    }
  }
  s->ai[s->n] = count;
  for (PetscInt k = 0; k < count; k++) s->edge[k].cost = logmax[s->edge[k].j] - s->edge[k].cost;
  return PETSC_TRUE;
}

/*
  Duals that leave no reduced cost negative: v = 0, because the largest entry of a column costs 0, and u_i the cheapest
  entry of a row, its diagonal entry before others that cost the same: what is matched already stays. Then rows take a
  free column at no cost, or one whose row has another
*/
static void AssignmentCheap_Private(Assignment *s)
{
  AssignmentColumn *column = s->column;

  for (PetscInt i = 0; i < s->n; i++) {
    PetscInt best = -1;

    s->u[i] = 0.0;
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++)
      if (best < 0 || s->edge[k].cost < s->edge[best].cost ||
          (s->edge[k].cost == s->edge[best].cost && s->edge[k].j == i))
        best = k;
    if (best < 0) continue;
    s->u[i] = s->edge[best].cost;
    if (column[s->edge[best].j].row < 0) {
      s->col[i]                   = s->edge[best].j;
      column[s->edge[best].j].row = i;
    }
  }
  for (PetscInt i = 0; i < s->n; i++) {
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1] && s->col[i] < 0; k++) {
      const PetscInt j = s->edge[k].j, other = column[j].row;

      if (s->edge[k].cost > s->u[i]) continue;
      for (PetscInt l = s->ai[PetscMax(other, 0)]; other >= 0 && l < s->ai[other + 1]; l++) {
        const PetscInt free = s->edge[l].j;

        if (s->edge[l].cost > s->u[other] || column[free].row >= 0) continue;
        column[free].row = other;
        s->col[other]    = free;
        column[j].row    = -1;
        break;
      }
      if (column[j].row >= 0) continue;
      column[j].row = i;
      s->col[i]     = j;
    }
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
  double least[2] = {ASSIGNMENT_NONE, ASSIGNMENT_NONE}, most[2] = {-least[0], -least[0]}, shift = 0.0;

  for (PetscInt i = 0; i < s->n; i++) {
    least[0] = PetscMin(least[0], s->u[i]);
    most[0]  = PetscMax(most[0], s->u[i]);
    if (logmax[i] == -ASSIGNMENT_NONE) continue;
    least[1] = PetscMin(least[1], s->column[i].v - logmax[i]);
    most[1]  = PetscMax(most[1], s->column[i].v - logmax[i]);
  }
  if (least[0] <= most[0] && least[1] <= most[1])
    shift = (PetscInt)((least[1] + most[1] - least[0] - most[0]) / (4 * log(2.0))) * log(2.0);
  for (PetscInt i = 0; i < s->n; i++) {
    r[i] = SpikePowerOfTwo_Private(s->u[i] + shift);
    c[i] = logmax[i] > -ASSIGNMENT_NONE ? SpikePowerOfTwo_Private(s->column[i].v - logmax[i] - shift) : (PetscReal)1.0;
  }
}

#define SPIKE_MATCHING_PATHS 2 /* looks at all entries that paths may take without an auction */

/* The best partners for all rows that can have one */
static PetscErrorCode AssignmentSolve_Private(Assignment *s)
{
  PetscFunctionBegin;
  AssignmentCheap_Private(s);
  AssignmentBid_Private(s, 0.0, 3);
  if (AssignmentPaths_Private(s, SPIKE_MATCHING_PATHS)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(AssignmentDeficient_Private(s));
  AssignmentAuction_Private(s);
  (void)AssignmentPaths_Private(s, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMatching(PetscInt n, const SpikeCSR *A, PetscInt col[], PetscReal r[], PetscReal c[],
                             PetscInt *unmatched, PetscInt first[SPIKE_MATCHING_NAMED], PetscBool *finite)
{
  Assignment s;
  double    *logmax;
  PetscInt   left = 0;

  PetscFunctionBegin;
  *unmatched = 0;
  for (PetscInt k = 0; k < SPIKE_MATCHING_NAMED; k++) first[k] = -1;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.n   = n;
  s.col = col;
  PetscCall(PetscMalloc5(n + 1, &s.ai, A->ai[n], &s.edge, n, &s.u, n, &s.column, n, &logmax));
  PetscCall(PetscMalloc4(n, &s.dead, n, &s.reach, n, &s.heap, n, &s.touched));
  *finite = AssignmentCosts_Private(&s, A, logmax);
  for (PetscInt i = 0; i < n; i++) {
    s.col[i] = s.column[i].row = -1;
    s.column[i].v              = 0.0;
    s.dead[i]                  = PETSC_FALSE;
  }
  if (*finite) {
    PetscCall(AssignmentSolve_Private(&s));
    for (PetscInt i = 0; i < n; i++) {
      if (s.col[i] >= 0) continue;
      if (*unmatched < SPIKE_MATCHING_NAMED) first[*unmatched] = i;
      ++*unmatched;
      for (PetscInt k = s.ai[i]; k < s.ai[i + 1]; k++) {
        const double cost = s.edge[k].cost - s.column[s.edge[k].j].v;

        if (k == s.ai[i] || cost < s.u[i]) s.u[i] = cost;
      }
    }
    AssignmentScales_Private(&s, logmax, r, c);
  }
  for (PetscInt i = 0; i < n; i++) {
    if (s.col[i] >= 0) continue;
    while (s.column[left].row >= 0) left++;
    s.col[i] = left++;
  }
  PetscCall(PetscFree4(s.dead, s.reach, s.heap, s.touched));
  PetscCall(PetscFree5(s.ai, s.edge, s.u, s.column, logmax));
  PetscFunctionReturn(PETSC_SUCCESS);
}
