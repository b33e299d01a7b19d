/* SPDX-License-Identifier: BSD-2-Clause */
/* sweep.h: triangular solves with vectors of PetscScalar and blocks of F; included for each F, behind tiles.h */

/* w <- (I + L)^-1 b, row i of b being that of the matrix that is row i of the factors */
SPIKE_INLINE void BX(lower_)(const int constant, const PetscInt bs, const SpikeBlockPattern *p, const F *l,
                             PetscInt nrhs, const E *b, PetscCount ldb, E *w, PetscCount ldw)
{
  const PetscCount step = (PetscCount)bs * bs;

  for (PetscInt i = 0; i < p->nb; i++) {
    const PetscInt   first = p->li[i], count = p->li[i + 1] - first;
    const PetscCount r = (PetscCount)i * bs, old = (PetscCount)(p->oldrow ? p->oldrow[i] : i) * bs;

    BX(gemm)
    (constant, bs, nrhs, 1, 0, 0, count, NULL, step, l + first * step, bs, bs, p->lj + first, bs, w, 1, ldw, b + old,
     ldb, w + r, ldw);
  }
}

/*
  w <- (D + U)^-1 w. The columns of a row from the last to the first: the row below, which is only just known, comes
  last, as it does in L
*/
SPIKE_INLINE void BX(upper_)(const int constant, const PetscInt bs, const SpikeBlockPattern *p, const F *u, const F *d,
                             PetscInt nrhs, E *w, PetscCount ldw)
{
  const PetscCount step = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E                t[4 * SPIKE_BLOCK_MAXBS];

  for (PetscInt i = p->nb - 1; i >= 0; i--) {
    const PetscInt first = p->ui[i], count = p->ui[i + 1] - first;
    const F       *ui = u + (nu - p->ui[i + 1]) * step, *di = d + (p->nb - 1 - i) * step;
    E             *r = w + (PetscCount)i * bs;
    PetscInt       c = 0;

    for (; c + 4 <= nrhs; c += 4) {
      BX(columns)
      (constant, 4, bs, BX_SUB | BX_DOWN, 0, 0, count, NULL, step, ui, bs, bs, p->uj + first, bs, w + c * ldw, 1, ldw,
       r + c * ldw, ldw, t, bs);
      BX(columns)(constant, 4, bs, 0, 0, 0, 1, NULL, 0, di, bs, bs, NULL, 0, t, 1, bs, NULL, 0, r + c * ldw, ldw);
    }
    for (; c < nrhs; c++) {
      BX(columns)
      (constant, 1, bs, BX_SUB | BX_DOWN, 0, 0, count, NULL, step, ui, bs, bs, p->uj + first, bs, w + c * ldw, 1, ldw,
       r + c * ldw, ldw, t, bs);
      BX(columns)(constant, 1, bs, 0, 0, 0, 1, NULL, 0, di, bs, bs, NULL, 0, t, 1, bs, NULL, 0, r + c * ldw, ldw);
    }
  }
}

/* w <- (D + U)^-T w, by rows of U: a row that is final goes to those behind it */
SPIKE_INLINE void BX(lowert_)(const PetscInt bs, const SpikeBlockPattern *p, const F *u, const F *d, int conj,
                              PetscInt nrhs, E *w, PetscCount ldw)
{
  const PetscCount step = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E                t[SPIKE_BLOCK_MAXBS];

  for (PetscInt i = 0; i < p->nb; i++) {
    for (PetscInt c = 0; c < nrhs; c++) {
      E *x = w + c * ldw;

      for (PetscInt k = 0; k < bs; k++) t[k] = 0;
      BX(scatter)(bs, 0, conj, 1, NULL, d + (p->nb - 1 - i) * step, x + (PetscCount)i * bs, t);
      for (PetscInt k = 0; k < bs; k++) x[(PetscCount)i * bs + k] = t[k];
      BX(scatter)
      (bs, BX_SUB | BX_BACK, conj, p->ui[i + 1] - p->ui[i], p->uj + p->ui[i], u + (nu - p->ui[i + 1]) * step, t, x);
    }
  }
}

/* w <- (I + L)^-T w */
SPIKE_INLINE void BX(uppert_)(const PetscInt bs, const SpikeBlockPattern *p, const F *l, int conj, PetscInt nrhs, E *w,
                              PetscCount ldw)
{
  const PetscCount step = (PetscCount)bs * bs;

  for (PetscInt i = p->nb - 1; i >= 0; i--) {
    for (PetscInt c = 0; c < nrhs; c++) BX(scatter)
    (bs, BX_SUB | BX_DOWN, conj, p->li[i + 1] - p->li[i], p->lj + p->li[i], l + p->li[i] * step,
     w + c * ldw + (PetscCount)i * bs, w + c * ldw);
  }
}

#define BX_SIZES(call, any) \
  switch (p->bs) { \
  case 1: \
    call(1); \
    break; \
  case 2: \
    call(2); \
    break; \
  case 3: \
    call(3); \
    break; \
  case 4: \
    call(4); \
    break; \
  case 5: \
    call(5); \
    break; \
  case 6: \
    call(6); \
    break; \
  case 7: \
    call(7); \
    break; \
  case 8: \
    call(8); \
    break; \
  case 16: \
    call(16); \
    break; \
  default: \
    any; \
  }

static void BX(lower)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscInt nrhs, const PetscScalar *b,
                      PetscCount ldb, PetscScalar *w, PetscCount ldw)
{
  const F *l = (const F *)f->l;

#define CALL(bs) BX(lower_)(1, bs, p, l, nrhs, b, ldb, w, ldw)
  BX_SIZES(CALL, BX(lower_)(0, p->bs, p, l, nrhs, b, ldb, w, ldw))
#undef CALL
}

static void BX(upper)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscInt nrhs, PetscScalar *w,
                      PetscCount ldw)
{
  const F *u = (const F *)f->u, *d = (const F *)f->d;

#define CALL(bs) BX(upper_)(1, bs, p, u, d, nrhs, w, ldw)
  BX_SIZES(CALL, BX(upper_)(0, p->bs, p, u, d, nrhs, w, ldw))
#undef CALL
}
#undef BX_SIZES

static void BX(lowert)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscBool conj, PetscInt nrhs,
                       PetscScalar *w, PetscCount ldw)
{
  const F *u = (const F *)f->u, *d = (const F *)f->d;

  if (p->bs == 1) BX(lowert_)(1, p, u, d, conj, nrhs, w, ldw);
  else if (p->bs == 2) BX(lowert_)(2, p, u, d, conj, nrhs, w, ldw);
  else if (p->bs == 3) BX(lowert_)(3, p, u, d, conj, nrhs, w, ldw);
  else if (p->bs == 4) BX(lowert_)(4, p, u, d, conj, nrhs, w, ldw);
  else if (p->bs == 8) BX(lowert_)(8, p, u, d, conj, nrhs, w, ldw);
  else BX(lowert_)(p->bs, p, u, d, conj, nrhs, w, ldw);
}

static void BX(uppert)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscBool conj, PetscInt nrhs,
                       PetscScalar *w, PetscCount ldw)
{
  const F *l = (const F *)f->l;

  if (p->bs == 1) BX(uppert_)(1, p, l, conj, nrhs, w, ldw);
  else if (p->bs == 2) BX(uppert_)(2, p, l, conj, nrhs, w, ldw);
  else if (p->bs == 3) BX(uppert_)(3, p, l, conj, nrhs, w, ldw);
  else if (p->bs == 4) BX(uppert_)(4, p, l, conj, nrhs, w, ldw);
  else if (p->bs == 8) BX(uppert_)(8, p, l, conj, nrhs, w, ldw);
  else BX(uppert_)(p->bs, p, l, conj, nrhs, w, ldw);
}

const SpikeBlockSweeps SPIKE_PASTE3(SpikeBlockSweeps_, SPIKE_ISA, BPRECISION) = {.lower  = BX(lower),
                                                                                 .upper  = BX(upper),
                                                                                 .lowert = BX(lowert),
                                                                                 .uppert = BX(uppert)};
