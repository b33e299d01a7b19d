/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tile.h: the product of blocks from which all others are made, for vectors of BW elements. Included for each BW, E
  (vectors and arithmetic) and F (elements of the blocks).

      C <- C0 +- sum over k < count of A_k B_k

    A_k     M x K, columns lda apart: A + ai[k] astep, or where ai is NULL one after the other in the order of the sum
    B_k     K x NC with strides rs, cs: B + (bi ? bi[k] : k) bstep
    C, C0   M x NC
    mode    BX_SUB: minus; BX_DOWN: k from the last to the first

  M elements are NV vectors, BW (NV - 1) < M <= BW NV and M >= BW: the last one begins at M - BW, and computes elements
  of the one before it a second time. A column of C has the same bits for any NC.
*/
#if BW == 1
typedef E      BT(v);
typedef E      BT(u);
SPIKE_INLINE E BT(sum)(BT(v) a)
{
  return a;
}

SPIKE_INLINE BT(v) BT(load)(const F *p)
{
  return (E)*p;
}
#else
typedef E    BT(v) __attribute__((vector_size(BW * sizeof(E))));
typedef F    BT(f) __attribute__((vector_size(BW * sizeof(F)), aligned(sizeof(F)), may_alias));
typedef E    BT(u) __attribute__((vector_size(BW * sizeof(E)), aligned(sizeof(E)), may_alias));
SPIKE_INLINE BT(v) BT(load)(const F *p)
{
  return __builtin_convertvector(*(const BT(f) *)p, BT(v));
}

/* halves first */
SPIKE_INLINE E BT(sum)(BT(v) a)
{
  E s[BW];

  SPIKE_UNROLL for (int l = 0; l < BW; l++) s[l] = a[l];
  SPIKE_UNROLL for (int h = BW / 2; h > 0; h /= 2)
  {
    SPIKE_UNROLL for (int l = 0; l < h; l++) s[l] += s[l + h];
  }
  return s[0];
}
#endif

SPIKE_INLINE void BT(tile)(const int NV, const int NC, const int M, const int mode, const int conja, const int conjb,
                           PetscInt count, const PetscInt *ai, PetscCount astep, const F *A, PetscCount lda, PetscInt K,
                           const PetscInt *bi, PetscCount bstep, const E *B, PetscCount rs, PetscCount cs, const E *C0,
                           PetscCount ldc0, E *C, PetscCount ldc)
{
  const int P = NV == 1 ? 2 : 1; /* sums of even and odd columns of A apart, where there are few others */
  BT(v) acc[4][4][2];
  PetscInt o[4];

  SPIKE_UNROLL for (int v = 0; v < NV; v++) o[v] = v + 1 < NV ? v * BW : M - BW;
  SPIKE_UNROLL for (int c = 0; c < NC; c++)
  {
    SPIKE_UNROLL for (int v = 0; v < NV; v++)
    {
      acc[c][v][0] = C0 ? BT_LOADE(C0 + c * ldc0 + o[v]) : BT_ZERO;
      if (P == 2) acc[c][v][1] = BT_ZERO;
    }
  }
  for (PetscInt s = 0; s < count; s++) {
    const PetscInt k = mode & BX_DOWN ? count - 1 - s : s;
    const F       *a = A + (ai ? ai[k] : s) * astep;
    const E       *b = B + (bi ? bi[k] : k) * bstep;
    PetscInt       j = 0;

#if BW == 1
    /* gcc makes a vector of the products of many k, gathers for it, and adds them up one by one */
    __asm__ volatile("");
#endif

    for (; j + 2 <= K; j += 2) {
      SPIKE_UNROLL for (int q = 0; q < 2; q++)
      {
        BT(v) x[4];

        SPIKE_UNROLL for (int v = 0; v < NV; v++) x[v] = BT_CONJ(conja, BT(load)(a + (j + q) * lda + o[v]));
        SPIKE_UNROLL for (int c = 0; c < NC; c++)
        {
          const E y = BT_CONJ(conjb, (E)b[(j + q) * rs + c * cs]);

          SPIKE_UNROLL for (int v = 0; v < NV; v++)
          {
            if (mode & BX_SUB) acc[c][v][P == 2 ? q : 0] -= BT_MUL(x[v], y);
            else acc[c][v][P == 2 ? q : 0] += BT_MUL(x[v], y);
          }
        }
      }
    }
    if (j < K) {
      BT(v) x[4];

      SPIKE_UNROLL for (int v = 0; v < NV; v++) x[v] = BT_CONJ(conja, BT(load)(a + j * lda + o[v]));
      SPIKE_UNROLL for (int c = 0; c < NC; c++)
      {
        const E y = BT_CONJ(conjb, (E)b[j * rs + c * cs]);

        SPIKE_UNROLL for (int v = 0; v < NV; v++)
        {
          if (mode & BX_SUB) acc[c][v][0] -= BT_MUL(x[v], y);
          else acc[c][v][0] += BT_MUL(x[v], y);
        }
      }
    }
  }
  SPIKE_UNROLL for (int c = 0; c < NC; c++)
  {
    SPIKE_UNROLL for (int v = 0; v < NV; v++)
    {
      if (P == 2) acc[c][v][0] += acc[c][v][1];
      BT_STORE(C + c * ldc + o[v], acc[c][v][0]);
    }
  }
}

/*
  y_j <- y_j +- sum over r < M of A_rj x_r, j < K: x comes as vectors, zero where the last one has elements of the one
  before it
*/
SPIKE_INLINE void BT(expand)(const int NV, const int M, const E *x, BT(v) xv[])
{
#if BW == 1
  SPIKE_UNROLL for (int v = 0; v < NV; v++) xv[v] = x[v];
#else
  E last[BW];

  for (int l = 0; l < BW; l++) last[l] = M - BW + l < (NV - 1) * BW ? 0 : x[M - BW + l];
  SPIKE_UNROLL for (int v = 0; v + 1 < NV; v++) xv[v] = BT_LOADE(x + v * BW);
  xv[NV - 1]                                          = BT_LOADE(last);
#endif
}

SPIKE_INLINE void BT(dots)(const int NV, const int M, const int sub, const int conja, const F *A, PetscCount lda,
                           PetscInt K, const BT(v) xv[], E *y)
{
  for (PetscInt j = 0; j < K; j++) {
    BT(v) p = BT_MUL(BT_CONJ(conja, BT(load)(A + j * lda + (NV > 1 ? 0 : M - BW))), xv[0]);
    E sum;

    SPIKE_UNROLL for (int v = 1; v < NV; v++)
      p += BT_MUL(BT_CONJ(conja, BT(load)(A + j * lda + (v + 1 < NV ? v * BW : M - BW))), xv[v]);
    sum = BT(sum)(p);
    if (sub) y[j] -= sum;
    else y[j] += sum;
  }
}
