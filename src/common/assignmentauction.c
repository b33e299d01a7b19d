/* SPDX-License-Identifier: BSD-2-Clause */
/* assignmentauction.c: rows bid for columns: duals from which shortest augmenting paths are short */
#include "assignment.h"

#define AUCTION_AHEAD 16 /* rows of the queue whose data are asked for before their turn */
#define AUCTION_FEW   3  /* rows that a phase with eps > 0 leaves: single ones bid long */

/* The two cheapest edges of a row */
typedef struct {
  double   least, next; /* c_ij - v_j; ASSIGNMENT_NONE: there is none */
  PetscInt best, second;
} AssignmentOffer;

static inline AssignmentOffer AssignmentLook_Private(const Assignment *s, PetscInt i)
{
  AssignmentOffer o = {ASSIGNMENT_NONE, ASSIGNMENT_NONE, -1, -1};

  for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++) {
    const PetscInt j = s->edge[k].j;
    const double   c = s->edge[k].cost - s->column[j].v;

    if (c >= o.next || j == o.best) { /* an entry that is there twice is no other column */
      if (j == o.best && c < o.least) o.least = c;
      continue;
    }
    if (c < o.least) {
      o.next   = o.least;
      o.second = o.best;
      o.least  = c;
      o.best   = j;
    } else {
      o.next   = c;
      o.second = j;
    }
  }
  return o;
}

#if defined(__GNUC__)
  #define AuctionPrefetch(p) __builtin_prefetch(p)
#else
  #define AuctionPrefetch(p) (void)(p)
#endif

/* Memory of rows that will bid soon: what is far away arrives while others bid. Old places of the queue do no harm */
static inline void AuctionAhead_Private(const Assignment *s, const PetscInt queue[], PetscInt head)
{
  const PetscInt n = s->n;
  PetscInt       at[3], i;

  for (int k = 0; k < 3; k++) {
    at[k] = head + (k + 1) * (AUCTION_AHEAD / 4);
    if (at[k] >= n) at[k] -= n;
  }
  AuctionPrefetch(&s->ai[queue[at[2]]]);
  i = queue[at[1]];
  AuctionPrefetch(&s->edge[s->ai[i]]);
  AuctionPrefetch((const char *)&s->edge[s->ai[i]] + 64);
  i = queue[at[0]];
  for (PetscInt k = s->ai[i]; k < PetscMin(s->ai[i + 1], s->ai[i] + 8); k++) AuctionPrefetch(&s->column[s->edge[k].j]);
}

/*
  Rows without a partner bid for their cheapest column what it is worth more to them than the next one, and eps, which
  its row then loses (D. P. Bertsekas, Ann. Oper. Res. 14, 1988, 105-123): v falls. No reduced cost gets negative, and
  partners are the cheapest of their rows but for eps. With eps = 0 (augmenting row reduction; R. Jonker, A. Volgenant,
  Computing 38, 1987, 325-340) u is kept: all is as it is between shortest paths. Ties, of which such bids would make no
  end, leave a row without a partner. The work is at most that of so many looks at all edges.
*/
void AssignmentBid_Private(Assignment *s, double eps, PetscInt passes)
{
  const PetscInt n = s->n, few = eps > 0.0 ? AUCTION_FEW : 0;
  PetscInt      *queue = s->touched;
  PetscInt64     work  = (PetscInt64)passes * s->ai[n];
  PetscInt       head = 0, count = 0;

  for (PetscInt i = 0; i < n; i++)
    if (s->col[i] < 0 && !s->dead[i]) queue[count++] = i;
  for (PetscInt k = count; k < n; k++) queue[k] = 0;
  while (count > few && work > 0) {
    const PetscInt  i = queue[head];
    AssignmentOffer o;
    PetscInt        lost;

    if (n > 4 * AUCTION_AHEAD) AuctionAhead_Private(s, queue, head);
    o = AssignmentLook_Private(s, i);
    work -= s->ai[i + 1] - s->ai[i] + 1;
    if (++head == n) head = 0;
    count--;
    if (o.best < 0) continue; /* nothing is there to match */
    if (o.second < 0) o.next = o.least + (eps > 0.0 ? 1.0 : 0.0);
    if (!(eps > 0.0)) {
      s->u[i] = o.next;
      if (!(o.next > o.least) && s->column[o.best].row >= 0) {
        if (o.second < 0 || s->column[o.second].row >= 0) continue;
        o.best = o.second;
      }
    }
    s->column[o.best].v -= o.next - o.least + eps;
    lost                  = s->column[o.best].row;
    s->column[o.best].row = i;
    s->col[i]             = o.best;
    if (lost >= 0) {
      s->col[lost]                                      = -1;
      queue[head + count - (head + count >= n ? n : 0)] = lost;
      count++;
    }
  }
}

/* Rows lose partners that are not the cheapest of their row up to eps */
static void AuctionLoosen_Private(Assignment *s, double eps)
{
  for (PetscInt i = 0; i < s->n; i++) {
    const PetscInt j     = s->col[i];
    double         least = ASSIGNMENT_NONE, mine = ASSIGNMENT_NONE;

    for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++) {
      const double c = s->edge[k].cost - s->column[s->edge[k].j].v;

      least = PetscMin(least, c);
      if (s->edge[k].j == j) mine = PetscMin(mine, c);
    }
    s->u[i] = s->ai[i + 1] > s->ai[i] ? least : 0.0;
    if (j < 0 || mine <= least + eps) continue;
    s->col[i]        = -1;
    s->column[j].row = -1;
  }
  for (PetscInt i = 0; i < s->n && eps == 0.0; i++) {
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1] && s->col[i] < 0 && !s->dead[i]; k++) {
      const PetscInt j = s->edge[k].j;

      if (s->column[j].row >= 0 || s->edge[k].cost - s->column[j].v > s->u[i]) continue;
      s->column[j].row = i;
      s->col[i]        = j;
    }
  }
}

/*
  Phases of bids with less and less eps, from a part of the mean cost. The partners of the last one need not be the
  cheapest: those that are stay, and augmenting row reduction follows. All rows that are not dead must have partners in
  some matching.
*/
void AssignmentAuction_Private(Assignment *s)
{
  double eps = 0.0;

  for (PetscInt k = 0; k < s->ai[s->n]; k++) eps += s->edge[k].cost / s->ai[s->n];
  eps *= 0.3;
  for (int phase = 0; phase < 4 && eps > 0.0; phase++, eps /= 10) {
    AuctionLoosen_Private(s, eps);
    AssignmentBid_Private(s, eps, 10);
  }
  AuctionLoosen_Private(s, 0.0);
  AssignmentBid_Private(s, 0.0, 3);
}
