/* SPDX-License-Identifier: BSD-2-Clause */
/*
  size.h: operations on blocks of BLOCKSIZE x BLOCKSIZE elements, of any size where BLOCKSIZE is 0; sizes.h includes it
  for each BLOCKSIZE. The preprocessor chooses the tiles of a size, so that each function is compiled with those alone:
  with all of them it takes minutes.
*/
#define BZ_PASTE(name, bs) BX(name##bs)
#define BZ_NAME(name, bs)  BZ_PASTE(name, bs)
#define BZ(name)           BZ_NAME(name, BLOCKSIZE)
#if BLOCKSIZE >= 16 && BX_WIDEST >= 16
  #define BW 16
#elif BLOCKSIZE >= 8 && BX_WIDEST >= 8
  #define BW 8
#elif BLOCKSIZE >= 4 && BX_WIDEST >= 4
  #define BW 4
#elif BLOCKSIZE >= 2 && BX_WIDEST >= 2
  #define BW 2
#else
  #define BW 1
#endif

/* BZ_TILE(width, vectors, rows) for the rows of a block from m = 0 on: BX_DISPATCH with what is known of BLOCKSIZE */
#if !BLOCKSIZE
  #define BZ_ROWS \
    for (PetscInt take; m < M; m += take) { \
      take = BX(take)(M - m); \
      BX_DISPATCH \
    }
#elif BLOCKSIZE < 4 * BW
  #define BZ_ROWS BZ_TILE(BW, (BLOCKSIZE + BW - 1) / BW, BLOCKSIZE)
#elif BLOCKSIZE % (4 * BW) == 0
  #define BZ_ROWS \
    for (; m < BLOCKSIZE; m += 4 * BW) BZ_TILE(BW, 4, 4 * BW)
#else
  #define BZ_ROWS \
    for (; m + 4 * BW <= BLOCKSIZE; m += 4 * BW) BZ_TILE(BW, 4, 4 * BW) \
    BZ_TILE(BW, BLOCKSIZE % (4 * BW), BLOCKSIZE % (4 * BW))
#endif

/* The product of tile.h for NC = 1 or 4 columns, and M = BLOCKSIZE rows where BLOCKSIZE is not 0 */
SPIKE_INLINE void BZ(columns)(const int NC, PetscInt M, BX_PARAMS)
{
#if BLOCKSIZE
  PetscInt m = 0;

  #define BZ_TILE(w, nv, rows) \
    BZ_NAME(tile, w) \
    (nv, NC, rows, mode, conja, conjb, count, ai, astep, A + m, lda, K, bi, bstep, B, rs, cs, C0 ? C0 + m : NULL, \
     ldc0, C + m, ldc);
  BZ_ROWS
  #undef BZ_TILE
#else
  if (NC == 4 && mode & BX_SUB) BX(sub4)(M, BX_ARGS);
  else if (NC == 4) BX(add4)(M, BX_ARGS);
  else if (mode & BX_SUB) BX(sub1)(M, BX_ARGS);
  else BX(add1)(M, BX_ARGS);
#endif
}

/* Any number N of columns */
SPIKE_INLINE void BZ(gemm)(PetscInt M, PetscInt N, BX_PARAMS)
{
  PetscInt c = 0;

  for (; c + 4 <= N; c += 4) BZ(columns)
  (4, M, mode, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B + c * cs, rs, cs, C0 ? C0 + c * ldc0 : NULL,
   ldc0, C + c * ldc, ldc);
  for (; c < N; c++) BZ(columns)
  (1, M, mode, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B + c * cs, rs, cs, C0 ? C0 + c * ldc0 : NULL,
   ldc0, C + c * ldc, ldc);
}

/*
  y_(jk) <- y_(jk) +- A_k^T x, or A_k^H x, of count blocks M x M with columns j[k], y_j at y + j M; BX_BACK: the blocks
  lie from the last to the first
*/
SPIKE_INLINE void BZ(scatter)(PetscInt M, const int mode, int conja, PetscInt count, const PetscInt *j, const F *A,
                              const E *x, E *y)
{
  PetscInt m = 0;

#define BZ_TILE(w, nv, rows) \
  { \
    BZ_NAME(v, w) xv[nv]; \
\
    BZ_NAME(expand, w)(nv, rows, x + m, xv); \
    for (PetscInt s = 0; s < count; s++) { \
      const PetscInt k = mode & BX_DOWN ? count - 1 - s : s; \
\
      BZ_NAME(dots, w) \
      (nv, rows, mode & BX_SUB, conja, A + (mode & BX_BACK ? count - 1 - k : k) * (PetscCount)M * M + m, M, M, xv, \
       y + (PetscCount)(j ? j[k] : k) * M); \
    } \
  }
#define BX_CASE(w, nv) \
  if (take <= (nv) * (w)) { \
    BZ_TILE(w, nv, (int)take) \
    continue; \
  }
  BZ_ROWS
#undef BX_CASE
#undef BZ_TILE
}

#define BZ_FUNCTION static __attribute__((noinline))
/* Sizes 5, 6 and 7 have solves of their own, and no more */
#if BX_OPS && (BLOCKSIZE < 5 || BLOCKSIZE > 7)
/* Y [op] A X by rows of A. Row-major: Y^T [op] X^T A^T, so that vectors lie along the m columns */
BZ_FUNCTION void BZ(mult)(const SpikeBlockTask *t)
{
  const PetscInt           bs     = BLOCKSIZE ? BLOCKSIZE : t->A->bs;
  const SpikeBlockMatHost *h      = (const SpikeBlockMatHost *)t->A->data;
  const PetscCount         stride = (PetscCount)bs * bs;
  const E                 *X = (const E *)t->X, *A = (const E *)t->A->a;
  E                       *Y   = (E *)t->Y;
  const PetscInt           sub = t->mode == SPIKE_BLOCK_SUB;

  for (PetscInt i = 0; i < t->A->mb; i++) {
    const PetscInt first = h->bi[i], count = h->bi[i + 1] - first;

    if (t->rowmajor) {
      E *y = Y + (PetscCount)i * bs * t->ldy;

      BX(gemm0)
      (t->m, bs, sub, 0, 0, count, h->bj + first, bs * t->ldx, X, t->ldx, bs, NULL, stride, A + first * stride, bs, 1,
       t->mode == SPIKE_BLOCK_SET ? NULL : y, t->ldy, y, t->ldy);
    } else {
      E *y = Y + (PetscCount)i * bs;

      BZ(gemm)
      (bs, t->m, sub, 0, 0, count, NULL, stride, A + first * stride, bs, bs, h->bj + first, bs, X, 1, t->ldx,
       t->mode == SPIKE_BLOCK_SET ? NULL : y, t->ldy, y, t->ldy);
    }
  }
}

/* Y [op] A^T X: row i of A takes X_i to the rows of Y that its columns name */
BZ_FUNCTION void BZ(multt)(const SpikeBlockTask *t)
{
  const SpikeBlockMatHost *h      = (const SpikeBlockMatHost *)t->A->data;
  const PetscInt           bs     = BLOCKSIZE ? BLOCKSIZE : t->A->bs;
  const PetscCount         stride = (PetscCount)bs * bs;
  const E                 *X = (const E *)t->X, *A = (const E *)t->A->a;
  E                       *Y    = (E *)t->Y;
  const int                conj = t->op == SPIKE_BLOCK_MULT_HERMITIAN, sub = t->mode == SPIKE_BLOCK_SUB;
  const PetscInt           outer = t->rowmajor ? t->n : t->m, inner = t->rowmajor ? t->m : t->n;

  if (t->mode == SPIKE_BLOCK_SET) {
    for (PetscInt c = 0; c < outer; c++)
      for (PetscInt r = 0; r < inner; r++) Y[c * t->ldy + r] = 0;
  }
  for (PetscInt i = 0; i < t->A->mb; i++) {
    const PetscInt first = h->bi[i], count = h->bi[i + 1] - first;

    if (t->rowmajor) {
      for (PetscInt k = 0; k < count; k++) {
        E *y = Y + (PetscCount)h->bj[first + k] * bs * t->ldy;

        BX(gemm0)
        (t->m, bs, sub, 0, conj, 1, NULL, 0, X + (PetscCount)i * bs * t->ldx, t->ldx, bs, NULL, 0,
         A + (first + k) * stride, 1, bs, y, t->ldy, y, t->ldy);
      }
    } else {
      for (PetscInt c = 0; c < t->m; c++) {
        const E *x = X + (PetscCount)i * bs + c * t->ldx;

        if (sub) BZ(scatter)(bs, 1, conj, count, h->bj + first, A + first * stride, x, Y + c * t->ldy);
        else BZ(scatter)(bs, 0, conj, count, h->bj + first, A + first * stride, x, Y + c * t->ldy);
      }
    }
  }
}

/*
  a <- a^-1 by Gauss-Jordan elimination in place, with row exchanges; row: of the matrix, of the first row of the block.
  In step c, with pivot row c and f the column c before it:
  a_cj <- a_cj / f_c,  a_rj <- a_rj - f_r a_cj,  column c <- [-f / f_c with 1 / f_c on the diagonal].
*/
SPIKE_INLINE void BZ(invert)(const PetscInt bs, E *restrict a, PetscInt row, SpikePivot *pivot)
{
  PetscInt swapped[SPIKE_BLOCK_MAXBS];
  E        f[SPIKE_BLOCK_MAXBS];

  for (PetscInt c = 0; c < bs; c++) {
    BREAL    largest = -1;
    PetscInt p       = c;
    E        inv, v;

    for (PetscInt r = c; r < bs; r++) {
      const BREAL size = BABS(a[c * bs + r]);

      if (size > largest || size != size) { /* what is not a number is found */
        largest = size;
        p       = r;
        if (size != size) break;
      }
    }
    swapped[c] = p;
    if (p != c) {
      for (PetscInt j = 0; j < bs; j++) {
        const E s     = a[j * bs + c];
        a[j * bs + c] = a[j * bs + p];
        a[j * bs + p] = s;
      }
    }
    v = a[c * bs + c];
    if (!((PetscReal)largest > pivot->tol) || !(largest <= BMAX)) {
      if (pivot->boost > 0 && largest <= BMAX) {
        v = largest > 0 ? v * (E)((BREAL)pivot->boost / largest) : (E)pivot->boost;
        pivot->nboost++;
      } else {
        if (pivot->badrow < 0) {
          pivot->badrow   = row + c;
          pivot->badvalue = (PetscReal)largest;
        }
        v = 1;
      }
    }
    inv = (E)1 / v;
    for (PetscInt r = 0; r < bs; r++) f[r] = a[c * bs + r];
    f[c] = 0;
    for (PetscInt j = 0; j < bs; j++) {
      const E s = BT_MUL(a[j * bs + c], inv);

      if (j == c) continue;
      for (PetscInt r = 0; r < bs; r++) a[j * bs + r] -= BT_MUL(f[r], s);
      a[j * bs + c] = s;
    }
    for (PetscInt r = 0; r < bs; r++) a[c * bs + r] = -BT_MUL(f[r], inv);
    a[c * bs + c] = inv;
  }
  for (PetscInt c = bs - 1; c >= 0; c--) {
    const PetscInt p = swapped[c];

    if (p == c) continue;
    for (PetscInt r = 0; r < bs; r++) {
      const E s     = a[c * bs + r];
      a[c * bs + r] = a[p * bs + r];
      a[p * bs + r] = s;
    }
  }
}

BZ_FUNCTION void BZ(factor)(const SpikeBlockPattern *p, SpikeBlockLUHost *h, SpikePivot *pivot)
{
  const PetscInt   bs     = BLOCKSIZE ? BLOCKSIZE : p->bs;
  const PetscCount stride = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E               *l = (E *)h->l, *d = (E *)h->d, *u = (E *)h->u, **where = (E **)h->where;
  E                t[SPIKE_BLOCK_MAXBS * SPIKE_BLOCK_MAXBS];

  h->products = 0;
  for (PetscInt i = 0; i < p->nb; i++) {
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) where[p->lj[k]] = l + k * stride;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) where[p->uj[k]] = u + (nu - 1 - k) * stride;
    where[i] = d + (p->nb - 1 - i) * stride;
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) {
      const PetscInt r   = p->lj[k];
      E             *lik = l + k * stride;

      for (PetscInt e = 0; e < stride; e++) t[e] = lik[e];
      BZ(gemm)
      (bs, bs, 0, 0, 0, 1, NULL, 0, t, bs, bs, NULL, 0, d + (p->nb - 1 - r) * stride, 1, bs, NULL, 0, lik, bs);
      for (PetscInt q = p->ui[r]; q < p->ui[r + 1]; q++) {
        E *to = where[p->uj[q]];

        if (!to) continue;
        BZ(gemm)
        (bs, bs, 1, 0, 0, 1, NULL, 0, lik, bs, bs, NULL, 0, u + (nu - 1 - q) * stride, 1, bs, to, bs, to, bs);
        h->products++;
      }
    }
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) where[p->lj[k]] = NULL;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) where[p->uj[k]] = NULL;
    where[i] = NULL;
    h->products += p->li[i + 1] - p->li[i] + 1; /* and the inverse */
    BZ(invert)(bs, d + (p->nb - 1 - i) * stride, i * bs, pivot);
  }
}
#endif

#if BX_SWEEPS
/* w <- (I + L)^-1 b, row i of b being that of the matrix that is row i of the factors */
BZ_FUNCTION void BZ(lower)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscInt nrhs, const E *b,
                           PetscCount ldb, E *w, PetscCount ldw)
{
  const PetscInt   bs     = BLOCKSIZE ? BLOCKSIZE : p->bs;
  const F         *l      = (const F *)f->l;
  const PetscCount stride = (PetscCount)bs * bs;

  for (PetscInt i = 0; i < p->nb; i++) {
    const PetscInt   first = p->li[i], count = p->li[i + 1] - first;
    const PetscCount r = (PetscCount)i * bs, old = (PetscCount)(p->oldrow ? p->oldrow[i] : i) * bs;

    BZ(gemm)
    (bs, nrhs, 1, 0, 0, count, NULL, stride, l + first * stride, bs, bs, p->lj + first, bs, w, 1, ldw, b + old, ldb,
     w + r, ldw);
  }
}

/*
  w <- (D + U)^-1 w. The columns of a row from the last to the first: the row below, which is only just known, comes
  last, as it does in L
*/
BZ_FUNCTION void BZ(upper)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscInt nrhs, E *w, PetscCount ldw)
{
  const PetscInt   bs = BLOCKSIZE ? BLOCKSIZE : p->bs;
  const F         *u = (const F *)f->u, *d = (const F *)f->d;
  const PetscCount stride = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E                t[4 * SPIKE_BLOCK_MAXBS];

  for (PetscInt i = p->nb - 1; i >= 0; i--) {
    const PetscInt first = p->ui[i], count = p->ui[i + 1] - first;
    const F       *ui = u + (nu - p->ui[i + 1]) * stride, *di = d + (p->nb - 1 - i) * stride;
    E             *r = w + (PetscCount)i * bs;
    PetscInt       c = 0;

    for (; c + 4 <= nrhs; c += 4) {
      BZ(columns)
      (4, bs, BX_SUB | BX_DOWN, 0, 0, count, NULL, stride, ui, bs, bs, p->uj + first, bs, w + c * ldw, 1, ldw,
       r + c * ldw, ldw, t, bs);
      BZ(columns)(4, bs, 0, 0, 0, 1, NULL, 0, di, bs, bs, NULL, 0, t, 1, bs, NULL, 0, r + c * ldw, ldw);
    }
    for (; c < nrhs; c++) {
      BZ(columns)
      (1, bs, BX_SUB | BX_DOWN, 0, 0, count, NULL, stride, ui, bs, bs, p->uj + first, bs, w + c * ldw, 1, ldw,
       r + c * ldw, ldw, t, bs);
      BZ(columns)(1, bs, 0, 0, 0, 1, NULL, 0, di, bs, bs, NULL, 0, t, 1, bs, NULL, 0, r + c * ldw, ldw);
    }
  }
}

  #if BLOCKSIZE < 5 || BLOCKSIZE > 7
/* w <- (D + U)^-T w, by rows of U: a row that is final goes to the rows after it */
BZ_FUNCTION void BZ(lowert)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscBool conj, PetscInt nrhs, E *w,
                            PetscCount ldw)
{
  const PetscInt   bs = BLOCKSIZE ? BLOCKSIZE : p->bs;
  const F         *u = (const F *)f->u, *d = (const F *)f->d;
  const PetscCount stride = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E                t[SPIKE_BLOCK_MAXBS];

  for (PetscInt i = 0; i < p->nb; i++) {
    for (PetscInt c = 0; c < nrhs; c++) {
      E *x = w + c * ldw;

      for (PetscInt k = 0; k < bs; k++) t[k] = 0;
      BZ(scatter)(bs, 0, conj, 1, NULL, d + (p->nb - 1 - i) * stride, x + (PetscCount)i * bs, t);
      for (PetscInt k = 0; k < bs; k++) x[(PetscCount)i * bs + k] = t[k];
      BZ(scatter)
      (bs, BX_SUB | BX_BACK, conj, p->ui[i + 1] - p->ui[i], p->uj + p->ui[i], u + (nu - p->ui[i + 1]) * stride, t, x);
    }
  }
}

/* w <- (I + L)^-T w */
BZ_FUNCTION void BZ(uppert)(const SpikeBlockPattern *p, const SpikeBlockLUHost *f, PetscBool conj, PetscInt nrhs, E *w,
                            PetscCount ldw)
{
  const PetscInt   bs     = BLOCKSIZE ? BLOCKSIZE : p->bs;
  const F         *l      = (const F *)f->l;
  const PetscCount stride = (PetscCount)bs * bs;

  for (PetscInt i = p->nb - 1; i >= 0; i--) {
    for (PetscInt c = 0; c < nrhs; c++) BZ(scatter)
    (bs, BX_SUB | BX_DOWN, conj, p->li[i + 1] - p->li[i], p->lj + p->li[i], l + p->li[i] * stride,
     w + c * ldw + (PetscCount)i * bs, w + c * ldw);
  }
}
  #endif
#endif
#undef BZ_FUNCTION
#undef BZ_PASTE
#undef BZ_NAME
#undef BZ_ROWS
#undef BZ
#undef BW
#undef BLOCKSIZE
