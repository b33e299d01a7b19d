/* SPDX-License-Identifier: BSD-2-Clause */
/* block.c: patterns of blocks: from scalars to blocks, level of fill, level sets; on the host for all backends */
#include "block.h"

PetscErrorCode SpikeBlockTransposePattern(PetscInt mb, PetscInt nb, const PetscInt ai[], const PetscInt aj[],
                                          PetscInt **ti, PetscInt **tj, PetscInt **tp)
{
  const PetscInt nz = mb ? ai[mb] : 0;
  PetscInt      *i, *j, *p = NULL;

  PetscFunctionBegin;
  *ti = *tj = NULL;
  if (tp) *tp = NULL;
  PetscCall(PetscCalloc1(nb + 1, ti));
  PetscCall(PetscMalloc1(nz, tj));
  if (tp) PetscCall(PetscMalloc1(nz, tp));
  i = *ti;
  j = *tj;
  if (tp) p = *tp;
  for (PetscInt k = 0; k < nz; k++) i[aj[k] + 1]++;
  for (PetscInt c = 0; c < nb; c++) i[c + 1] += i[c];
  for (PetscInt r = 0; r < mb; r++)
    for (PetscInt k = ai[r]; k < ai[r + 1]; k++) {
      const PetscInt at = i[aj[k]]++;

      j[at] = r;
      if (p) p[at] = k;
    }
  for (PetscInt c = nb; c > 0; c--) i[c] = i[c - 1];
  i[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockCompress(PetscInt bs, PetscInt nb, const PetscInt ai[], const PetscInt aj[], PetscInt **bi,
                                  PetscInt **bj)
{
  PetscInt      *mark, *i, *j;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *bi = *bj = NULL;
  PetscCall(PetscMalloc1(nb + 1, bi));
  PetscCall(PetscMalloc1(nb, &mark));
  i = *bi;
  for (PetscInt r = 0; r < nb; r++) mark[r] = -1;
  i[0] = 0;
  for (PetscInt r = 0; r < nb; r++) {
    i[r + 1] = i[r];
    for (PetscInt k = ai[r * bs]; k < ai[(r + 1) * bs]; k++) {
      const PetscInt c = aj[k] / bs;

      if (mark[c] != r) i[r + 1]++;
      mark[c] = r;
    }
  }
  ierr = PetscMalloc1(i[nb], bj);
  if (ierr) PetscCall(PetscFree(mark));
  PetscCall(ierr);
  j = *bj;
  for (PetscInt r = 0; r < nb; r++) mark[r] = -1;
  for (PetscInt r = 0, n = 0; r < nb; r++) {
    for (PetscInt k = ai[r * bs]; k < ai[(r + 1) * bs]; k++) {
      const PetscInt c = aj[k] / bs;

      if (mark[c] != r) j[n++] = c;
      mark[c] = r;
    }
    PetscCall(PetscSortInt(i[r + 1] - i[r], j + i[r]));
  }
  PetscCall(PetscFree(mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list that grows */
typedef struct {
  PetscInt  *a;
  PetscCount n, room;
} List;

static PetscErrorCode ListReserve(List *l, PetscCount more)
{
  PetscInt  *a;
  PetscCount room;

  PetscFunctionBegin;
  if (l->n + more <= l->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(l->n + more <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Factors have more than %" PetscInt_FMT
             " blocks: use fewer levels of fill, more subdomains, or a PETSc with 64-bit PetscInt",
             PETSC_INT_MAX);
  room = l->n + more + l->n / 2;
  PetscCall(PetscMalloc1(room, &a));
  PetscCall(PetscArraycpy(a, l->a, l->n));
  PetscCall(PetscFree(l->a));
  l->a    = a;
  l->room = room;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without the room that is left */
static PetscErrorCode ListFinish(List *l, PetscInt **a)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(l->n, a));
  PetscCall(PetscArraycpy(*a, l->a, l->n));
  PetscCall(PetscFree(l->a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the rows of the factors are made with, one after the other */
typedef struct {
  PetscInt *next;  /* [nb] the columns of the row as a list, ascending; its head is `head`, its end nb */
  PetscInt *level; /* [nb] of fill, of the columns in the list                                        */
  PetscInt *mark;  /* [nb] row that has this column                                                   */
  PetscInt *cols;  /* [nb]                                                                            */
  PetscInt  head;
  List      l, u, ulevel;
} Rows;

/* The columns of row i of the matrix, which stay in the rows from first to last - 1 */
static PetscErrorCode RowBegin(SpikeBlockPattern *p, PetscInt i, PetscInt first, PetscInt last, const PetscInt bi[],
                               const PetscInt bj[], Rows *w)
{
  const PetscInt old  = p->oldrow ? p->oldrow[i] : i;
  PetscBool      diag = PETSC_FALSE;
  PetscInt       n    = 0;

  PetscFunctionBegin;
  for (PetscInt k = bi[old]; k < bi[old + 1]; k++) {
    const PetscInt j = p->newrow ? p->newrow[bj[k]] : bj[k];

    if (j < first || j >= last) {
      p->dropped++;
      continue;
    }
    PetscCheck(w->mark[j] != i, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "Block row %" PetscInt_FMT " has block column %" PetscInt_FMT " twice", old, bj[k]);
    w->mark[j]   = i;
    w->level[j]  = 0;
    w->cols[n++] = j;
    if (j == i) diag = PETSC_TRUE;
  }
  p->kept += n;
  if (!diag) {
    if (p->missing < 0 || old < p->missing) p->missing = old;
    w->mark[i]   = i;
    w->level[i]  = 0;
    w->cols[n++] = i;
  }
  PetscCall(PetscSortInt(n, w->cols));
  w->head = w->cols[0];
  for (PetscInt k = 0; k < n; k++) w->next[w->cols[k]] = k + 1 < n ? w->cols[k + 1] : p->nb;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* U's row k, eliminated by an entry of level `by` in row i, leaves its columns there */
static void RowMerge(const SpikeBlockPattern *p, PetscInt i, PetscInt k, PetscInt by, Rows *w)
{
  PetscInt at = k;

  for (PetscInt t = p->ui[k]; t < p->ui[k + 1]; t++) {
    const PetscInt j   = w->u.a[t];
    const PetscInt lev = p->levels == PETSC_INT_MAX ? 0 : by + w->ulevel.a[t] + 1;

    if (lev > p->levels) continue;
    if (w->mark[j] == i) {
      w->level[j] = PetscMin(w->level[j], lev);
      continue;
    }
    while (w->next[at] < j) at = w->next[at];
    w->mark[j]  = i;
    w->level[j] = lev;
    w->next[j]  = w->next[at];
    w->next[at] = j;
    at          = j;
  }
}

static PetscErrorCode RowEnd(SpikeBlockPattern *p, PetscInt i, Rows *w)
{
  PetscInt nl = 0, nu = 0;

  PetscFunctionBegin;
  for (PetscInt j = w->head; j < p->nb; j = w->next[j]) {
    if (j < i) nl++;
    else if (j > i) nu++;
  }
  PetscCall(ListReserve(&w->l, nl));
  PetscCall(ListReserve(&w->u, nu));
  PetscCall(ListReserve(&w->ulevel, nu));
  for (PetscInt j = w->head; j < p->nb; j = w->next[j]) {
    if (j < i) w->l.a[w->l.n++] = j;
    else if (j > i) {
      w->ulevel.a[w->ulevel.n++] = w->level[j];
      w->u.a[w->u.n++]           = j;
    }
  }
  p->li[i + 1] = (PetscInt)w->l.n;
  p->ui[i + 1] = (PetscInt)w->u.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level sets of L (upper 0: rows from the first to the last) or of U (from the last to the first) */
static PetscErrorCode LevelSets(SpikeBlockPattern *p, PetscInt upper)
{
  const PetscInt *ri = upper ? p->ui : p->li, *rj = upper ? p->uj : p->lj;
  PetscInt       *level, *ptr, n = 0;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->nb, &p->levelrow[upper]));
  PetscCall(PetscMalloc1(p->nb, &level));
  for (PetscInt s = 0; s < p->nb; s++) {
    const PetscInt i = upper ? p->nb - 1 - s : s;

    level[i] = 0;
    for (PetscInt k = ri[i]; k < ri[i + 1]; k++) level[i] = PetscMax(level[i], level[rj[k]] + 1);
    n = PetscMax(n, level[i] + 1);
  }
  p->nlevels[upper] = n;
  ierr              = PetscCalloc1(n + 1, &p->levelptr[upper]);
  if (ierr) PetscCall(PetscFree(level));
  PetscCall(ierr);
  ptr = p->levelptr[upper];
  for (PetscInt i = 0; i < p->nb; i++) ptr[level[i] + 1]++;
  for (PetscInt l = 0; l < n; l++) ptr[l + 1] += ptr[l];
  for (PetscInt i = 0; i < p->nb; i++) p->levelrow[upper][ptr[level[i]]++] = i;
  for (PetscInt l = n; l > 0; l--) ptr[l] = ptr[l - 1];
  ptr[0] = 0;
  PetscCall(PetscFree(level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* L and U of the pattern, row by row; the work space is the caller's, also where this ends in an error */
static PetscErrorCode RowsMake(SpikeBlockPattern *p, const PetscInt bi[], const PetscInt bj[], Rows *w)
{
  const PetscInt nb = p->nb;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(nb, &w->next, nb, &w->level, nb, &w->mark, nb, &w->cols));
  for (PetscInt i = 0; i < nb; i++) w->mark[i] = -1;
  p->li[0] = p->ui[0] = 0;
  for (PetscInt t = 0; t < p->ntasks; t++) {
    for (PetscInt i = p->start[t]; i < p->start[t + 1]; i++) {
      PetscCall(RowBegin(p, i, p->start[t], p->start[t + 1], bi, bj, w));
      for (PetscInt k = w->head; k < i; k = w->next[k]) {
        if (w->level[k] < p->levels) RowMerge(p, i, k, w->level[k], w);
      }
      PetscCall(RowEnd(p, i, w));
    }
  }
  PetscCall(ListFinish(&w->l, &p->lj));
  PetscCall(ListFinish(&w->u, &p->uj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockSymbolic(PetscInt bs, PetscInt nb, PetscInt ntasks, const PetscInt start[],
                                  const PetscInt newrow[], PetscInt levels, const PetscInt bi[], const PetscInt bj[],
                                  SpikeBlockPattern *p)
{
  Rows           w;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(PetscMemzero(&w, sizeof(w)));
  p->bs      = bs;
  p->nb      = nb;
  p->ntasks  = ntasks;
  p->levels  = levels;
  p->missing = -1;
  PetscCall(PetscMalloc1(ntasks + 1, &p->start));
  PetscCall(PetscArraycpy(p->start, start, ntasks + 1));
  if (newrow) {
    PetscCall(PetscMalloc1(nb, &p->newrow));
    PetscCall(PetscMalloc1(nb, &p->oldrow));
    PetscCall(PetscArraycpy(p->newrow, newrow, nb));
    for (PetscInt i = 0; i < nb; i++) p->oldrow[newrow[i]] = i;
  }
  PetscCall(PetscMalloc1(nb + 1, &p->li));
  PetscCall(PetscMalloc1(nb + 1, &p->ui));
  ierr = RowsMake(p, bi, bj, &w);
  PetscCall(PetscFree4(w.next, w.level, w.mark, w.cols));
  PetscCall(PetscFree(w.l.a));
  PetscCall(PetscFree(w.u.a));
  PetscCall(PetscFree(w.ulevel.a));
  PetscCall(ierr);
  PetscCall(LevelSets(p, 0));
  PetscCall(LevelSets(p, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeBlockPatternDestroy(SpikeBlockPattern *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(p->start));
  PetscCall(PetscFree(p->newrow));
  PetscCall(PetscFree(p->oldrow));
  PetscCall(PetscFree(p->li));
  PetscCall(PetscFree(p->lj));
  PetscCall(PetscFree(p->ui));
  PetscCall(PetscFree(p->uj));
  for (PetscInt upper = 0; upper < 2; upper++) {
    PetscCall(PetscFree(p->levelptr[upper]));
    PetscCall(PetscFree(p->levelrow[upper]));
  }
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
