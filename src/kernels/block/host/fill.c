/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.c: from the matrix to the blocks of the factors, on the host */
#include "host.h"
#include "kernels/common/host/factors.h"

typedef struct {
  PetscReal kept, other; /* sums of |a_ij| over a row, of what stays and of what leaves its task */
  PetscReal largest;     /* |Re a_ij| or |Im a_ij| of what stays, for single precision          */
} RowSums;

/* The row's entry a goes to element e of a block; no block: the entry leaves its task */
static inline void Put(PetscSpikePrecision precision, void *block, PetscInt e, PetscScalar a, RowSums *s)
{
  const PetscReal size = PetscAbsScalar(a);

  if (!block) {
    s->other += size;
    return;
  }
  s->kept += size;
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) ((SpikeDouble *)block)[e] = (SpikeDouble)a;
  else {
    s->largest = PetscMax(s->largest, PetscMax(PetscAbsReal(PetscRealPart(a)), PetscAbsReal(PetscImaginaryPart(a))));
    ((SpikeSingle *)block)[e] = (SpikeSingle)a;
  }
}

/* what the sums of row r of the matrix say; largest is compared only where all is finite */
static void Look(PetscSpikePrecision precision, PetscInt r, const RowSums *s, SpikeBlockFillStats *st)
{
  if (PetscIsInfOrNanReal(s->kept + s->other)) {
    if (st->badrow < 0 || r < st->badrow) st->badrow = r;
    return;
  }
  st->norm = PetscMax(st->norm, s->kept);
  if ((double)s->largest > SpikePrecisionMax(precision) && (st->overflowrow < 0 || r < st->overflowrow))
    st->overflowrow = r;
}

PetscErrorCode SpikeBlockLUFill_Host(SpikeBlockLU *lu, const SpikeBlockCSR *A, SpikeBlockFillStats *st)
{
  const SpikeBlockPattern *p  = lu->p;
  SpikeBlockLUHost        *h  = (SpikeBlockLUHost *)lu->data;
  const PetscInt           bs = p->bs, nu = p->ui[p->nb];
  const size_t             size = (size_t)bs * bs *
                      (lu->precision == PETSC_SPIKE_PRECISION_DOUBLE ? sizeof(SpikeDouble) : sizeof(SpikeSingle));

  PetscFunctionBegin;
  PetscCheck(A->bs == 1 || A->bs == bs, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "A matrix of blocks of %" PetscInt_FMT ", factors of blocks of %" PetscInt_FMT, A->bs, bs);
  st->norm   = 0.0;
  st->badrow = st->overflowrow = -1;
  if (p->li[p->nb]) PetscCall(PetscMemzero(h->l, p->li[p->nb] * size));
  if (p->ui[p->nb]) PetscCall(PetscMemzero(h->u, p->ui[p->nb] * size));
  if (p->nb) PetscCall(PetscMemzero(h->d, p->nb * size));
  for (PetscInt i = 0; i < p->nb; i++) {
    const PetscInt old = p->oldrow ? p->oldrow[i] : i;

    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) h->where[p->lj[k]] = (char *)h->l + k * size;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) h->where[p->uj[k]] = (char *)h->u + (nu - 1 - k) * size;
    h->where[i] = (char *)h->d + (p->nb - 1 - i) * size;
    if (A->bs == 1) {
      for (PetscInt r = 0; r < bs; r++) {
        RowSums  s     = {0.0, 0.0, 0.0};
        PetscInt first = 0, last = 0; /* columns of the block that the last entry was in */
        void    *block = NULL;

        for (PetscInt k = A->ai[old * bs + r]; k < A->ai[old * bs + r + 1]; k++) {
          const PetscInt j = A->aj[k];

          if (j < first || j >= last) {
            const PetscInt c = j / bs;

            first = c * bs;
            last  = first + bs;
            block = h->where[p->newrow ? p->newrow[c] : c];
          }
          Put(lu->precision, block, (j - first) * bs + r, A->aa[k], &s);
        }
        Look(lu->precision, old * bs + r, &s, st);
      }
    } else {
      RowSums s[SPIKE_BLOCK_MAXBS];

      PetscCall(PetscArrayzero(s, bs));
      for (PetscInt k = A->ai[old]; k < A->ai[old + 1]; k++) {
        void              *block = h->where[p->newrow ? p->newrow[A->aj[k]] : A->aj[k]];
        const PetscScalar *a     = A->aa + (PetscCount)k * bs * bs;

        for (PetscInt e = 0, c = 0; c < bs; c++)
          for (PetscInt r = 0; r < bs; r++, e++) Put(lu->precision, block, e, a[e], &s[r]);
      }
      for (PetscInt r = 0; r < bs; r++) Look(lu->precision, old * bs + r, &s[r], st);
    }
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) h->where[p->lj[k]] = NULL;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) h->where[p->uj[k]] = NULL;
    h->where[i] = NULL;
  }
  h->norm = st->norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}
