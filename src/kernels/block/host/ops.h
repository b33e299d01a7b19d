/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops.h: operations on tall blocks and the factorization, all numbers of type E = F; included for each E, behind
  tiles.h
*/
#define BO_ROWS 256 /* rows of tall blocks that meet all columns while they are in cache */
#define BO_COPY 64  /* where they are copied */

/* dest <- source^T, k x m with leading dimension ld */
static void BX(transpose)(PetscInt k, PetscInt m, const E *source, PetscCount ld, E *dest)
{
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < k; i++) dest[i * m + j] = source[j * ld + i];
}

/* Y [op] X Z. Where Y is X, rows are copied before they change */
static void BX(axpy)(const SpikeBlockTask *t)
{
  const E       *X = (const E *)t->X, *Z = (const E *)t->Z;
  E             *Y   = (E *)t->Y, copy[BO_COPY * SPIKE_BLOCK_MAXM], small[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM];
  const PetscInt sub = t->mode == SPIKE_BLOCK_SUB, k = t->k, m = t->m;

  if (t->rowmajor) BX(transpose)(k, m, Z, t->ldz, small);
  for (PetscInt i = 0, rows; i < t->n; i += rows) {
    const PetscCount at = i * (t->rowmajor ? t->ldx : 1);
    const E         *x  = X + at, *y0;
    E               *y  = Y + i * (t->rowmajor ? t->ldy : 1);
    PetscCount       ld = t->ldx;

    rows = PetscMin(Y == X ? BO_COPY : BO_ROWS, t->n - i);
    if (Y == X) {
      ld = t->rowmajor ? k : rows;
      for (PetscInt c = 0; c < (t->rowmajor ? rows : k); c++)
        for (PetscInt r = 0; r < ld; r++) copy[c * ld + r] = x[c * t->ldx + r];
      x = copy;
    }
    y0 = t->mode == SPIKE_BLOCK_SET ? NULL : y;
    if (t->rowmajor) BX(gemm)(0, m, rows, sub, 0, 0, 1, NULL, 0, small, m, k, NULL, 0, x, 1, ld, y0, t->ldy, y, t->ldy);
    else BX(gemm)(0, rows, m, sub, 0, 0, 1, NULL, 0, x, ld, k, NULL, 0, Z, 1, t->ldz, y0, t->ldy, y, t->ldy);
  }
}

#if defined(PETSC_USE_COMPLEX)
  #define BO_W   1
  #define BO_V   E
  #define BO_GET *
#else
typedef E BX(vw) __attribute__((vector_size(SPIKE_VBYTES)));
typedef E BX(uw) __attribute__((vector_size(SPIKE_VBYTES), aligned(sizeof(E)), may_alias));
  #define BO_W   BX_WIDEST
  #define BO_V   BX(vw)
  #define BO_GET *(const BX(uw) *)
#endif

/* g_(a,c) <- g_(a,c) + x_a^H z_c over n rows, for NX columns of X and NZ of Z */
SPIKE_INLINE void BX(dottile)(const int NX, const int NZ, PetscInt n, const E *x, PetscCount ldx, const E *z,
                              PetscCount ldz, E *g, PetscInt ldg)
{
  BO_V     acc[4][2];
  PetscInt i = 0;

  SPIKE_UNROLL for (int a = 0; a < NX; a++)
  {
    SPIKE_UNROLL for (int c = 0; c < NZ; c++) acc[a][c] = (BO_V){0};
  }
  for (; i + BO_W <= n; i += BO_W) {
    BO_V zv[2];

    SPIKE_UNROLL for (int c = 0; c < NZ; c++) zv[c] = BO_GET(z + c * ldz + i);
    SPIKE_UNROLL for (int a = 0; a < NX; a++)
    {
      const BO_V xv = BT_CONJ(1, BO_GET(x + a * ldx + i));

      SPIKE_UNROLL for (int c = 0; c < NZ; c++) acc[a][c] += BT_MUL(xv, zv[c]);
    }
  }
  SPIKE_UNROLL for (int a = 0; a < NX; a++)
  {
    SPIKE_UNROLL for (int c = 0; c < NZ; c++)
    {
      E s;

#if defined(PETSC_USE_COMPLEX)
      s = acc[a][c];
#else
      s = 0;
      for (int l = 0; l < BO_W; l++) s += acc[a][c][l];
#endif
      for (PetscInt r = i; r < n; r++) s += BT_MUL(BT_CONJ(1, x[a * ldx + r]), z[c * ldz + r]);
      g[c * ldg + a] += s;
    }
  }
}

/* g <- g + X^H Z over n rows, columns apart */
static void BX(dotcolumns)(PetscInt n, PetscInt k, PetscInt m, const E *X, PetscCount ldx, const E *Z, PetscCount ldz,
                           E *g)
{
  for (PetscInt c = 0; c < m; c += 2) {
    const PetscInt nz = PetscMin(2, m - c);

    for (PetscInt a = 0; a < k;) {
      const E *x = X + a * ldx, *z = Z + c * ldz;
      E       *h = g + c * k + a;

      if (k - a >= 4) {
        if (nz == 2) BX(dottile)(4, 2, n, x, ldx, z, ldz, h, k);
        else BX(dottile)(4, 1, n, x, ldx, z, ldz, h, k);
        a += 4;
      } else {
        if (nz == 2) BX(dottile)(1, 2, n, x, ldx, z, ldz, h, k);
        else BX(dottile)(1, 1, n, x, ldx, z, ldz, h, k);
        a++;
      }
    }
  }
}

/* Y [op] X^H Z: the sums of BO_ROWS rows are added up one after the other */
static void BX(dot)(const SpikeBlockTask *t)
{
  const PetscInt k = t->k, m                                = t->m;
  E              g[SPIKE_BLOCK_MAXM * SPIKE_BLOCK_MAXM], *Y = (E *)t->Y;

  for (PetscInt e = 0; e < k * m; e++) g[e] = 0;
  for (PetscInt i = 0; i < t->n; i += BO_ROWS) {
    const PetscInt rows = PetscMin(BO_ROWS, t->n - i);
    const E       *x    = (const E *)t->X + i * (t->rowmajor ? t->ldx : 1),
            *z          = (const E *)t->Z + i * (t->rowmajor ? t->ldz : 1);

    if (t->rowmajor) BX(gemm)(0, k, m, 0, 1, 0, 1, NULL, 0, x, t->ldx, rows, NULL, 0, z, t->ldz, 1, g, k, g, k);
    else BX(dotcolumns)(rows, k, m, x, t->ldx, z, t->ldz, g);
  }
  for (PetscInt c = 0; c < m; c++) {
    for (PetscInt a = 0; a < k; a++) {
      E *y = Y + c * t->ldy + a;

      *y = t->mode == SPIKE_BLOCK_SET ? g[c * k + a]
         : t->mode == SPIKE_BLOCK_ADD ? *y + g[c * k + a]
                                      : *y - g[c * k + a];
    }
  }
}

/* Y [op] A X by rows of A. Row-major: Y^T [op] X^T A^T, so that vectors lie along the m columns */
SPIKE_INLINE void BX(mult_)(const int constant, const PetscInt bs, const SpikeBlockTask *t)
{
  const SpikeBlockMatHost *h    = (const SpikeBlockMatHost *)t->A->data;
  const PetscCount         step = (PetscCount)bs * bs;
  const E                 *X = (const E *)t->X, *A = (const E *)t->A->a;
  E                       *Y   = (E *)t->Y;
  const PetscInt           sub = t->mode == SPIKE_BLOCK_SUB;

  for (PetscInt i = 0; i < t->A->mb; i++) {
    const PetscInt first = h->bi[i], count = h->bi[i + 1] - first;

    if (t->rowmajor) {
      E *y = Y + (PetscCount)i * bs * t->ldy;

      BX(gemm)
      (0, t->m, bs, sub, 0, 0, count, h->bj + first, bs * t->ldx, X, t->ldx, bs, NULL, step, A + first * step, bs, 1,
       t->mode == SPIKE_BLOCK_SET ? NULL : y, t->ldy, y, t->ldy);
    } else {
      E *y = Y + (PetscCount)i * bs;

      BX(gemm)
      (constant, bs, t->m, sub, 0, 0, count, NULL, step, A + first * step, bs, bs, h->bj + first, bs, X, 1, t->ldx,
       t->mode == SPIKE_BLOCK_SET ? NULL : y, t->ldy, y, t->ldy);
    }
  }
}

static void BX(mult)(const SpikeBlockTask *t)
{
  switch (t->A->bs) {
  case 1:
    BX(mult_)(1, 1, t);
    break;
  case 2:
    BX(mult_)(1, 2, t);
    break;
  case 3:
    BX(mult_)(1, 3, t);
    break;
  case 4:
    BX(mult_)(1, 4, t);
    break;
  case 8:
    BX(mult_)(1, 8, t);
    break;
  case 16:
    BX(mult_)(1, 16, t);
    break;
  default:
    BX(mult_)(0, t->A->bs, t);
  }
}

/* Y [op] A^T X: row i of A takes X_i to the rows of Y that its columns name */
static void BX(multt)(const SpikeBlockTask *t)
{
  const SpikeBlockMatHost *h    = (const SpikeBlockMatHost *)t->A->data;
  const PetscInt           bs   = t->A->bs;
  const PetscCount         step = (PetscCount)bs * bs;
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

        BX(gemm)
        (0, t->m, bs, sub, 0, conj, 1, NULL, 0, X + (PetscCount)i * bs * t->ldx, t->ldx, bs, NULL, 0,
         A + (first + k) * step, 1, bs, y, t->ldy, y, t->ldy);
      }
    } else {
      for (PetscInt c = 0; c < t->m; c++) {
        const E *x = X + (PetscCount)i * bs + c * t->ldx;

        if (sub) BX(scatter)(bs, 1, conj, count, h->bj + first, A + first * step, x, Y + c * t->ldy);
        else BX(scatter)(bs, 0, conj, count, h->bj + first, A + first * step, x, Y + c * t->ldy);
      }
    }
  }
}

static void BX(run)(const SpikeBlockTask *t)
{
  if (t->op == SPIKE_BLOCK_AXPY) BX(axpy)(t);
  else if (t->op == SPIKE_BLOCK_DOT) BX(dot)(t);
  else if (t->op == SPIKE_BLOCK_MULT) BX(mult)(t);
  else BX(multt)(t);
}

/*
  a <- a^-1 by Gauss-Jordan elimination in place, with row exchanges; row: of the matrix, of the first row of the block.
  In step c, with pivot row c and f the column c before it:
  a_cj <- a_cj / f_c,  a_rj <- a_rj - f_r a_cj,  column c <- [-f / f_c with 1 / f_c on the diagonal].
*/
SPIKE_INLINE void BX(invert_)(const PetscInt bs, E *restrict a, PetscInt row, SpikePivot *pivot)
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

SPIKE_INLINE void BX(factor_)(const int constant, const PetscInt bs, const SpikeBlockPattern *p, SpikeBlockLUHost *h,
                              SpikePivot *pivot)
{
  const PetscCount step = (PetscCount)bs * bs, nu = p->ui[p->nb];
  E               *l = (E *)h->l, *d = (E *)h->d, *u = (E *)h->u, **where = (E **)h->where;
  E                t[SPIKE_BLOCK_MAXBS * SPIKE_BLOCK_MAXBS];

  h->products = 0;
  for (PetscInt i = 0; i < p->nb; i++) {
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) where[p->lj[k]] = l + k * step;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) where[p->uj[k]] = u + (nu - 1 - k) * step;
    where[i] = d + (p->nb - 1 - i) * step;
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) {
      const PetscInt r   = p->lj[k];
      E             *lik = l + k * step;

      for (PetscInt e = 0; e < step; e++) t[e] = lik[e];
      BX(gemm)
      (constant, bs, bs, 0, 0, 0, 1, NULL, 0, t, bs, bs, NULL, 0, d + (p->nb - 1 - r) * step, 1, bs, NULL, 0, lik, bs);
      for (PetscInt q = p->ui[r]; q < p->ui[r + 1]; q++) {
        E *to = where[p->uj[q]];

        if (!to) continue;
        BX(gemm)
        (constant, bs, bs, 1, 0, 0, 1, NULL, 0, lik, bs, bs, NULL, 0, u + (nu - 1 - q) * step, 1, bs, to, bs, to, bs);
        h->products++;
      }
    }
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) where[p->lj[k]] = NULL;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) where[p->uj[k]] = NULL;
    where[i] = NULL;
    h->products += p->li[i + 1] - p->li[i] + 1; /* and the inverse */
    BX(invert_)(bs, d + (p->nb - 1 - i) * step, i * bs, pivot);
  }
}

static void BX(factor)(const SpikeBlockPattern *p, SpikeBlockLUHost *h, SpikePivot *pivot)
{
  switch (p->bs) {
  case 1:
    BX(factor_)(1, 1, p, h, pivot);
    break;
  case 2:
    BX(factor_)(1, 2, p, h, pivot);
    break;
  case 3:
    BX(factor_)(1, 3, p, h, pivot);
    break;
  case 4:
    BX(factor_)(1, 4, p, h, pivot);
    break;
  case 8:
    BX(factor_)(1, 8, p, h, pivot);
    break;
  case 16:
    BX(factor_)(1, 16, p, h, pivot);
    break;
  default:
    BX(factor_)(0, p->bs, p, h, pivot);
  }
}

const SpikeBlockLoops SPIKE_PASTE3(SpikeBlockLoops_, SPIKE_ISA, BPRECISION) = {.run = BX(run), .factor = BX(factor)};
#undef BO_V
#undef BO_W
#undef BO_GET
#undef BO_ROWS
#undef BO_COPY
