/* SPDX-License-Identifier: BSD-2-Clause */
/* filldia.c: the host's band and coupling blocks from a matrix by diagonals */
#include "host.h"

/*
  a[0], a[1], ... to every step-th place from t on of an array of factors; a diagonal of a band, or of a coupling block,
  has its numbers at equal distances
*/
static void SpikeHostPutDiagonal(PetscSpikePrecision precision, void *band, PetscCount t, PetscCount step, PetscInt n,
                                 const PetscScalar *a)
{
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) {
    for (PetscInt r = 0; r < n; r++) ((SpikeDouble *)band)[t + r * step] = (SpikeDouble)a[r];
  } else if (precision == PETSC_SPIKE_PRECISION_SINGLE) {
    for (PetscInt r = 0; r < n; r++) ((SpikeSingle *)band)[t + r * step] = (SpikeSingle)a[r];
  } else {
    for (PetscInt r = 0; r < n; r++) SpikeHostPut(precision, band, t + r * step, a[r]);
  }
}

/*
  Rows i0 <= i < i1 of partition p, of one block of rows, on diagonal d: band, B or C; all that lies inside the
  half-bandwidths
*/
static void SpikeDIAPutRows(const SpikeBand *s, PetscInt p, PetscInt o, PetscInt i0, PetscInt i1, const PetscScalar *a,
                            SpikeFillStats *st)
{
  const SpikeHost *h  = (const SpikeHost *)s->data;
  const PetscInt   kl = s->kl, ku = s->ku, first = s->start[p], end = s->start[p + 1];
  /* rows before `own` have columns before the partition, those from `above` on after it */
  const PetscInt       own = PetscMin(i1, PetscMax(i0, first - o)), above = PetscMax(own, PetscMin(i1, end - o));
  const SpikeHostPart *part  = &h->part[p];
  const double         bound = SpikePrecisionBound(s->precision);

  if (s->nbatch) {
    SpikeBatchPutSystems_Host(s, o, i0, i1, a, st);
    return;
  }
  for (PetscInt i = own; bound < HUGE_VAL && i < above; i++)
    if (PetscAbsScalar(a[i]) > bound && (st->overflowrow < 0 || i < st->overflowrow)) st->overflowrow = i;
  if (s->nsystems) {
    PetscScalar *to = o ? (o < 0 ? h->dl : h->du) : h->d;

    for (PetscInt i = own; i < above; i++) {
      to[i] = a[i];
      if (o && h->begins && h->begins[PetscMax(i, i + o)] && a[i] != (PetscScalar)0.0 &&
          (st->joined < 0 || i < st->joined))
        st->joined = i;
    }
  }
  if (h->first && o <= part->fu && -o <= part->kl)
    SpikeHostPutDiagonal(s->precision, h->first, h->off[p] + (own + o - first) * part->ld + part->diagonal - o,
                         part->ld, above - own, a + own);
  for (PetscInt i = i0; s->cut && i < i1; i++) {
    if (i >= own && i < above) continue;
    if (i + o >= 0 && i + o < s->n && a[i] != (PetscScalar)0.0 && (st->joined < 0 || i < st->joined)) st->joined = i;
  }
  if (s->coupled && s->active[p])
    for (PetscInt i = i0; i < own; i++)
      s->dC[(PetscCount)p * kl * kl + (i - first) + (PetscCount)(i + o - (first - kl)) * kl] = a[i];
  if (s->coupled && s->active[p + 1])
    for (PetscInt i = above; i < i1; i++)
      s->dB[(PetscCount)(p + 1) * ku * ku + (i - (end - ku)) + (PetscCount)(i + o - end) * ku] = a[i];
}

/* Magnitudes of rows i0 <= i < i1 on a diagonal: into the sums over rows, and what has been seen of them */
static void SpikeDIASee(PetscBool inside, PetscInt i0, PetscInt i1, const PetscScalar *a, PetscReal rowsum[],
                        SpikeFillStats *st)
{
  PetscBool bad = PETSC_FALSE;

  for (PetscInt i = i0; i < i1; i++) {
    const PetscReal abs = PetscAbsScalar(a[i]);

    rowsum[i % SPIKE_DIA_ROWS] += abs;
    bad = (PetscBool)(bad | !(abs <= PETSC_MAX_REAL));
    if (!inside) {
      st->dropped += abs;
      st->maxdropped = PetscMax(st->maxdropped, abs);
    }
  }
  for (PetscInt i = i0; bad && i < i1; i++)
    if (PetscIsInfOrNanReal(PetscAbsScalar(a[i])) && (st->badrow < 0 || i < st->badrow)) st->badrow = i;
}

/* Sums over rows have the order of a fill from CSR: columns of the rank, then those of others */
PetscErrorCode SpikeFillDIA_Host(SpikeBand *s, const SpikeDIA *A, SpikeFillStats *st)
{
  const PetscInt kl = s->kl, ku = s->ku;

  PetscFunctionBegin;
  PetscCheck(A->n == s->n && A->m == s->n, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "A band of %" PetscInt_FMT " rows from diagonals of %" PetscInt_FMT, s->n, A->n);
  PetscCall(SpikeFillBegin_Host(s, st));
  if (s->nbatch) PetscCall(SpikeBatchClearSystems_Host(s));
  for (PetscInt i0 = 0, i1, p = 0; i0 < s->n; i0 = i1) { /* the rows of a block in a partition */
    PetscReal          rowsum[SPIKE_DIA_ROWS] = {0.0};
    const PetscScalar *diagonal               = NULL;

    while (i0 >= s->start[p + 1]) p++;
    i1 = PetscMin(i0 - i0 % SPIKE_DIA_ROWS + SPIKE_DIA_ROWS, s->start[p + 1]);
    for (int others = 0; others < 2; others++) {
      for (PetscInt d = 0; d < A->count; d++) {
        const PetscInt     o      = A->offset[d];
        const PetscBool    inside = (PetscBool)(o <= ku && -o <= kl);
        const PetscScalar *a      = SpikeDIADiagonal(A, i0 - i0 % SPIKE_DIA_ROWS, d) - (i0 - i0 % SPIKE_DIA_ROWS);
        PetscInt           low, own, above, high;

        if (!o) diagonal = a;
        SpikeDIAOwnRows(A, d, i0, i1, &low, &own, &above, &high);
        if (others) {
          SpikeDIASee(inside, low, own, a, rowsum, st);
          SpikeDIASee(inside, above, high, a, rowsum, st);
        } else {
          if (inside) SpikeDIAPutRows(s, p, o, low, high, a, st);
          SpikeDIASee(inside, own, above, a, rowsum, st);
        }
      }
    }
    for (PetscInt i = i0; i < i1; i++) {
      const PetscReal sum = rowsum[i % SPIKE_DIA_ROWS];

      st->sum += sum;
      st->weak += SpikeRowIsWeak(diagonal ? PetscAbsScalar(diagonal[i]) : 0.0, sum);
      st->norm = PetscMax(st->norm, sum);
      if (sum == 0.0 && st->zerorow < 0) st->zerorow = i;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
