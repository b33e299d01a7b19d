/* SPDX-License-Identifier: BSD-2-Clause */
/* assignmentpath.c: augmenting paths: the shortest ones, and any for a matching of largest size */
#include "assignment.h"

static inline void HeapPut_Private(Assignment *s, PetscInt at, PetscInt j)
{
  s->heap[at]       = j;
  s->reach[j].place = at;
}

/* j, whose distance has become smaller, or which is new */
static void HeapUp_Private(Assignment *s, PetscInt j)
{
  const double dist = s->reach[j].dist;
  PetscInt     at   = s->reach[j].place;

  if (at < 0) at = s->nheap++;
  for (; at > 0; at = (at - 1) / 2) {
    const PetscInt parent = s->heap[(at - 1) / 2];

    if (s->reach[parent].dist <= dist) break;
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

    if (child + 1 < s->nheap && s->reach[s->heap[child + 1]].dist < s->reach[s->heap[child]].dist) child++;
    if (s->reach[last].dist <= s->reach[s->heap[child]].dist) break;
    HeapPut_Private(s, at, s->heap[child]);
    at = child;
  }
  if (s->nheap) HeapPut_Private(s, at, last);
  s->reach[first].place = -2;
  return first;
}

/*
  A shortest augmenting path from row `start`, which has no partner. Without one no partner changes, and what was
  reached will never lead to a free column: other searches leave it out. Returns the edges that it has looked at
*/
static PetscInt64 AssignmentAugment_Private(Assignment *s, PetscInt start)
{
  AssignmentReach *reach    = s->reach;
  double           shortest = ASSIGNMENT_NONE, here = 0.0;
  PetscInt         end = -1, i = start;
  PetscInt64       work = 0;

  s->nheap = s->ntouched = 0;
  for (;;) {
    PetscInt j;

    work += s->ai[i + 1] - s->ai[i];
    for (PetscInt k = s->ai[i]; k < s->ai[i + 1]; k++) {
      double d;

      j = s->edge[k].j;
      if (reach[j].place < -1) continue;
      d = here + PetscMax(s->edge[k].cost - s->u[i] - s->column[j].v, 0.0);
      if (d >= shortest) continue;
      if (s->column[j].row < 0) {
        shortest      = d;
        end           = j;
        reach[j].from = i;
      } else if (reach[j].place == -1 || d < reach[j].dist) {
        if (reach[j].place == -1) s->touched[s->ntouched++] = j;
        reach[j].dist = d;
        reach[j].from = i;
        HeapUp_Private(s, j);
      }
    }
    if (!s->nheap || reach[s->heap[0]].dist >= shortest) break;
    j    = HeapPop_Private(s);
    here = reach[j].dist;
    i    = s->column[j].row;
  }
  if (end >= 0) {
    s->u[start] += shortest;
    for (PetscInt t = 0; t < s->ntouched; t++) {
      const PetscInt j = s->touched[t];

      if (reach[j].place != -2) continue;
      s->column[j].v -= shortest - reach[j].dist;
      s->u[s->column[j].row] += shortest - reach[j].dist;
    }
  }
  for (PetscInt t = 0; t < s->ntouched; t++) reach[s->touched[t]].place = end < 0 ? -3 : -1;
  for (PetscInt j = end; j >= 0;) {
    const PetscInt r = reach[j].from, next = s->col[r];

    s->column[j].row = r;
    s->col[r]        = j;
    j                = r == start ? -1 : next;
  }
  return work;
}

/*
  Partners for all rows that can have one. false: not yet; a limit is set, and the paths need more looks at all edges
  than so many, at the rate at which they come
*/
PetscBool AssignmentPaths_Private(Assignment *s, PetscInt limit)
{
  const double most = (double)s->ai[s->n];
  PetscInt     all = 0, done = 0;
  double       work = 0.0;

  for (PetscInt i = 0; i < s->n; i++) {
    s->reach[i].place = -1;
    all += s->col[i] < 0 && !s->dead[i];
  }
  for (PetscInt i = 0; i < s->n; i++) {
    if (s->col[i] >= 0 || s->dead[i]) continue;
    work += (double)AssignmentAugment_Private(s, i);
    done++;
    if (limit && work > most * (0.2 + (double)limit * done / all)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/*
  Depth-first searches for augmenting paths of any length, each column visited once in a pass, free columns first (A.
  Pothen, C.-J. Fan, ACM Trans. Math. Softw. 16, 1990, 303-324), in turns from the first edge and from the last
*/
typedef struct {
  PetscInt *row, *col; /* partners                                             */
  PetscInt *look;      /* edges of a row before it lead to no free column      */
  PetscInt *next;      /* edges of a row that have been taken in the pass      */
  PetscInt *stack, *seen;
} AssignmentMost;

static PetscBool AssignmentDepthFirst_Private(const Assignment *s, AssignmentMost *m, PetscInt start, PetscInt pass)
{
  PetscInt depth = 0;

  m->stack[0]    = start;
  m->next[start] = 0;
  while (depth >= 0) {
    const PetscInt i = m->stack[depth];
    PetscInt       j = -1;

    while (m->look[i] < s->ai[i + 1] && m->row[s->edge[m->look[i]].j] >= 0) m->look[i]++;
    if (m->look[i] < s->ai[i + 1]) {
      for (j = s->edge[m->look[i]].j; depth >= 0; depth--) {
        const PetscInt r = m->stack[depth], before = m->col[r];

        m->col[r] = j;
        m->row[j] = r;
        j         = before;
      }
      return PETSC_TRUE;
    }
    while (m->next[i] < s->ai[i + 1] - s->ai[i] && j < 0) {
      const PetscInt t = m->next[i]++, k = pass % 2 ? s->ai[i] + t : s->ai[i + 1] - 1 - t;

      if (m->seen[s->edge[k].j] != pass) j = s->edge[k].j;
    }
    if (j < 0) depth--;
    else {
      const PetscInt r = m->row[j];

      m->seen[j]        = pass;
      m->stack[++depth] = r;
      m->next[r]        = 0;
    }
  }
  return PETSC_FALSE;
}

/*
  Where not all rows can have partners: those that a matching of largest size leaves without one are dead. What is
  reached from them by alternating paths, rows R and columns C, is matched with itself by each such matching (A. L.
  Dulmage, N. S. Mendelsohn, Canad. J. Math. 10, 1958, 517-534): edges from other rows to C go. Then all rows that are
  not dead have partners at once.
*/
PetscErrorCode AssignmentDeficient_Private(Assignment *s)
{
  const PetscInt n    = s->n;
  PetscInt       pass = 0, from = 0, free, kept = 0;
  PetscBool      more = PETSC_TRUE;
  AssignmentMost m;

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(n, &m.row, n, &m.col, n, &m.look, n, &m.next, n, &m.stack, n, &m.seen));
  for (PetscInt i = 0; i < n; i++) {
    m.row[i]  = s->column[i].row;
    m.col[i]  = s->col[i];
    m.look[i] = s->ai[i];
    m.seen[i] = 0;
  }
  while (more) {
    more = PETSC_FALSE;
    free = 0;
    pass++;
    for (PetscInt i = 0; i < n; i++) {
      if (m.col[i] >= 0) continue;
      if (AssignmentDepthFirst_Private(s, &m, i, pass)) more = PETSC_TRUE;
      else free++;
    }
  }
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt  begin = from, j = m.col[i];
    const PetscBool inside = (PetscBool)(j < 0 || m.seen[j] == pass);

    s->dead[i] = (PetscBool)(j < 0);
    from       = s->ai[i + 1];
    s->ai[i]   = kept;
    for (PetscInt k = begin; k < from; k++)
      if (inside || m.seen[s->edge[k].j] != pass) s->edge[kept++] = s->edge[k];
    if (!inside && s->col[i] >= 0 && m.seen[s->col[i]] == pass) {
      s->column[s->col[i]].row = -1;
      s->col[i]                = -1;
    }
  }
  s->ai[n] = kept;
  PetscCall(PetscFree6(m.row, m.col, m.look, m.next, m.stack, m.seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}
