/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops.h: operations on tall blocks, all elements of type E = F; included for each E, after sizes.h
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
    if (t->rowmajor) BX(gemm0)(m, rows, sub, 0, 0, 1, NULL, 0, small, m, k, NULL, 0, x, 1, ld, y0, t->ldy, y, t->ldy);
    else BX(gemm0)(rows, m, sub, 0, 0, 1, NULL, 0, x, ld, k, NULL, 0, Z, 1, t->ldz, y0, t->ldy, y, t->ldy);
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

    if (t->rowmajor) BX(gemm0)(k, m, 0, 1, 0, 1, NULL, 0, x, t->ldx, rows, NULL, 0, z, t->ldz, 1, g, k, g, k);
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

static void BX(run)(const SpikeBlockTask *t)
{
  if (t->op == SPIKE_BLOCK_AXPY) BX(axpy)(t);
  else BX(dot)(t);
}

#define ENTRY_MULT(bs)   [bs] = BX(mult##bs),
#define ENTRY_MULTT(bs)  [bs] = BX(multt##bs),
#define ENTRY_FACTOR(bs) [bs] = BX(factor##bs),
const SpikeBlockLoops SPIKE_PASTE3(SpikeBlockLoops_, BPRECISION, SPIKE_ISA) = {.run    = BX(run),
                                                                               .mult   = {BLOCK_SIZES(ENTRY_MULT)},
                                                                               .multt  = {BLOCK_SIZES(ENTRY_MULTT)},
                                                                               .factor = {BLOCK_SIZES(ENTRY_FACTOR)}};
#undef ENTRY_MULT
#undef ENTRY_MULTT
#undef ENTRY_FACTOR
#undef BO_V
#undef BO_W
#undef BO_GET
#undef BO_ROWS
#undef BO_COPY
