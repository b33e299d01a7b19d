/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivoted_lu.h: blocked LU of a band block with partial pivoting; ops.h has the layout of the factors. After Du Croz,
  Mayes and Radicati, Factorizations of band matrices using level 3 BLAS, LAPACK Working Note 21 (1990), with rows of L
  that are exchanged too.

  Panel of columns j .. j + w - 1, and what it touches:

       w    kl + ku
    [ A11  A12 ] w       P [A11; A21] = [L11; L21] U11      8 columns at a time, in the buffer P       Columns
    [ A21  A22 ] kl      U12 = L11^-1 (P A)_1               NR columns at a time, to their place       Trailing
                         A22 = (P A)_2 - L21 U12            MR x NR tiles in registers                 Product

  In the raw band elements (i, j) and (i, j + 1) are ld - 1 apart, and there are kl + ku + w - 1 diagonals above the
  main one: A12 and A22 are an ordinary matrix with leading dimension ld - 1, whose elements outside of the band are
  zeros that stay zeros.
*/

/* Tiles: MV vectors of rows by NR columns; NBROOM: the most columns of a panel, also the column stride of B */
enum {
  T(W) = VF(W),
#if defined(PETSC_USE_COMPLEX)
  T(MV) = 4,
  T(NR) = 2,
#elif defined(__AVX512F__)
  T(MV) = 2,
  T(NR) = 8,
#elif defined(__AVX2__)
  T(MV) = 3,
  T(NR) = 4,
#else
  T(MV) = 2,
  T(NR) = 4,
#endif
  T(SUB)    = 8, /* columns that are eliminated one by one */
  T(NBROOM) = 32
};

/* The exchanges of a panel in a column x: first rows c come from x[from[c]], then x[to[k]] <- x[of[k]] below them */
typedef struct {
  int count, from[T(NBROOM)], to[T(NBROOM)], of[T(NBROOM)];
} T(Moves);

/* A power of two: that many columns have their exchanges done at once */
static PetscInt T(Panel)(PetscInt kl, PetscInt ku)
{
  (void)ku;
  return kl < 48 ? 8 : kl < 128 ? 16 : 32;
}

/* Column stride of the buffer P: rows of a panel, and zeros after them for whole vectors */
static PetscCount T(Stride)(PetscInt kl, PetscInt w)
{
  return ((PetscCount)kl + w + 2 * T(W) - 1) / T(W) * T(W);
}

static size_t T(LUWorkSize)(PetscInt kl, PetscInt ku)
{
  return (size_t)(T(Stride)(kl, T(NBROOM)) * T(NBROOM)) * sizeof(F);
}

/*
  C -= A B for one tile in registers, C of mv vectors of rows, the last one masked, by nr columns; k0 <= k < k1. One
  vector of rows has two sums, for even and for odd k - k0, which halves the chain of dependent operations.
*/
SPIKE_INLINE void T(Tile)(const int mv, const int nr, PetscCount k0, PetscCount k1, const F *A, PetscCount lda,
                          const F *B, PetscCount ldb, F *C, PetscCount ldc, const PetscBool whole, VF(m) mask)
{
  VF(t) c[T(MV)][8], odd[8];
  PetscCount k = k0;

  SpikeUnroll2(t, nr, v, mv) {
    F *p = C + t * ldc + v * T(W);

    c[v][t] = whole ? VF(load)(p) : VF(loadm)(p, mask);
  }
  if (mv == 1) {
    SpikeUnroll(t, nr) odd[t] = VF(zero)();
    for (; k + 1 < k1; k += 2) {
      const VF(t) a = VF(load)(A + k * lda), a1 = VF(load)(A + (k + 1) * lda);

      SpikeUnroll(t, nr) {
        c[0][t] = VF(fnma)(a, VF(set1)(B[k + t * ldb]), c[0][t]);
        odd[t]  = VF(fnma)(a1, VF(set1)(B[k + 1 + t * ldb]), odd[t]);
      }
    }
    SpikeUnroll(t, nr) c[0][t] += odd[t];
  }
  for (; k < k1; k++) {
    VF(t) a[T(MV)];

    SpikeUnroll(v, mv) a[v] = VF(load)(A + k * lda + v * T(W));
    SpikeUnroll(t, nr) {
      const VF(t) b = VF(set1)(B[k + t * ldb]);

      SpikeUnroll(v, mv) c[v][t] = VF(fnma)(a[v], b, c[v][t]);
    }
  }
  SpikeUnroll2(t, nr, v, mv) {
    F *p = C + t * ldc + v * T(W);

    if (whole) VF(store)(p, c[v][t]);
    else VF(storem)(p, c[v][t], mask);
  }
}

/* nr columns of C -= A B, rows x depth times depth x nr, of whose first k0 rows B has zeros */
SPIKE_INLINE void T(ProductOf)(const int nr, PetscCount rows, PetscCount depth, PetscCount k0, const F *A,
                               PetscCount lda, const F *B, PetscCount ldb, F *C, PetscCount ldc)
{
  const VF(m) all = VF(maskto)(T(W));
  PetscCount s    = 0;

  for (; s + T(MV) * T(W) <= rows; s += T(MV) * T(W)) T(Tile)
  (T(MV), nr, k0, depth, A + s, lda, B, ldb, C + s, ldc, PETSC_TRUE, all);
  for (; s + T(W) <= rows; s += T(W)) T(Tile)
  (1, nr, k0, depth, A + s, lda, B, ldb, C + s, ldc, PETSC_TRUE, all);
  if (s < rows) T(Tile)
  (1, nr, k0, depth, A + s, lda, B, ldb, C + s, ldc, PETSC_FALSE, VF(maskto)((int)(rows - s)));
}

/* However the columns are grouped, each of them has the same bits */
static void T(Product)(PetscCount rows, PetscInt cols, PetscCount depth, PetscCount k0, const F *A, PetscCount lda,
                       const F *B, PetscCount ldb, F *C, PetscCount ldc)
{
  PetscInt t = 0;

#if !defined(PETSC_USE_COMPLEX) && defined(__AVX512F__)
  for (; t + 8 <= cols; t += 8) T(ProductOf)(8, rows, depth, k0, A, lda, B + t * ldb, ldb, C + t * ldc, ldc);
#endif
#if !defined(PETSC_USE_COMPLEX)
  for (; t + 4 <= cols; t += 4) T(ProductOf)(4, rows, depth, k0, A, lda, B + t * ldb, ldb, C + t * ldc, ldc);
#endif
  for (; t + 2 <= cols; t += 2) T(ProductOf)(2, rows, depth, k0, A, lda, B + t * ldb, ldb, C + t * ldc, ldc);
  for (; t < cols; t++) T(ProductOf)(1, rows, depth, k0, A, lda, B + t * ldb, ldb, C + t * ldc, ldc);
}

/* |re| + |im|, by which LAPACK compares pivots too */
SPIKE_INLINE FREAL T(Size)(F x)
{
#if defined(PETSC_USE_COMPLEX)
  const FREAL re = __real__ x, im = __imag__ x;

  return (re < 0 ? -re : re) + (im < 0 ? -im : im);
#else
  return x < 0 ? -x : x;
#endif
}

#if !defined(PETSC_USE_COMPLEX) && (defined(__AVX512F__) || defined(__AVX2__))
  #if FREAL_SIZE == 8
    #define SPIKE_MMR(name) SPIKE_PASTE2(SPIKE_MM(name), _pd)
  #else
    #define SPIKE_MMR(name) SPIKE_PASTE2(SPIKE_MM(name), _ps)
  #endif
/* Magnitudes; the lanes that are equal */
SPIKE_INLINE VF(t) T(Sizes)(VF(t) v)
{
  return (VF(t))((VF(i))v & ~(VF(i))VF(set1)((F)-0.0));
}

SPIKE_INLINE unsigned int T(Equal)(VF(t) a, VF(t) b)
{
  #if defined(__AVX512F__)
  return SPIKE_PASTE2(SPIKE_MMR(cmp), _mask)(a, b, _CMP_EQ_OQ);
  #else
  return (unsigned int)SPIKE_MMR(movemask)(SPIKE_MMR(cmp)(a, b, _CMP_EQ_OQ));
  #endif
}

/* The first one of the largest of n elements; what is not a number is none of them. Reads whole vectors. */
SPIKE_INLINE PetscCount T(Largest)(const F *x, PetscCount n)
{
  VF(t) most = VF(zero)();
  FREAL m[T(W)];

  for (PetscCount i = 0; i < n; i += T(W))
    most = (VF(t))SPIKE_MMR(max)(T(Sizes)(VF(select)(VF(maskto)((int)PetscMin(n - i, T(W))), VF(load)(x + i))), most);
  VF(store)(m, most);
  SPIKE_UNROLL
  for (int h = T(W) / 2; h > 0; h /= 2)
    for (int l = 0; l < h; l++) m[l] = m[l + h] > m[l] ? m[l + h] : m[l];
  most = VF(set1)(m[0]);
  for (PetscCount i = 0; i < n; i += T(W)) {
    const unsigned int equal = T(Equal)(T(Sizes)(VF(load)(x + i)), most);

    if (equal) return PetscMin(i + __builtin_ctz(equal), n - 1);
  }
  return 0;
}
  #undef SPIKE_MMR
#else
/* The first one of the largest of n elements; what is not a number is none of them */
SPIKE_INLINE PetscCount T(Largest)(const F *x, PetscCount n)
{
  FREAL most = -1;
  PetscCount at = 0;

  for (PetscCount i = 0; i < n; i++) {
    const FREAL a = T(Size)(x[i]);

    at = a > most ? i : at;
    most = a > most ? a : most;
  }
  return at;
}
#endif

/* x[0] <-> x[k] */
SPIKE_INLINE void T(Swap)(F *x, PetscCount k)
{
  const F first = x[0];

  x[0] = x[k];
  x[k] = first;
}

#if !defined(PETSC_USE_COMPLEX)
/*
  Column c of a panel, and n - 1 after it, where the rows below its pivot are in one vector: rows 0 and k change places
  in registers, for a vector would wait for an element that has just been stored. d points to element (c, c).
*/
SPIKE_INLINE void T(OneVector)(F *d, PetscCount ldp, PetscCount k, F inv, int n)
{
  const VF(m) m = VF(mask)(k - 1, k);
  VF(t) l       = VF(zero)();

  for (int t = 0; t < n; t++) {
    F      *p     = d + t * ldp;
    const F first = p[0], pivot = p[k];
    VF(t) v = VF(load)(p + 1);

    v    = (VF(t))((VF(i))VF(select)(m, VF(set1)(first)) | (VF(i))VF(select)(~m, v));
    p[0] = t ? pivot : inv;
    if (t) v = VF(fnma)(l, VF(set1)(pivot), v);
    else v = l = VF(mul)(v, VF(set1)(inv));
    VF(store)(p + 1, v);
  }
}
#endif

/*
  Columns c0 <= c < c1 of a panel of m rows and w columns one by one; rows change places in all w columns. Column c has
  nonzeros in rows c .. c + kl only, and whole vectors beyond them meet zeros of L.
*/
static PetscBool T(Columns)(PetscCount kl, PetscCount m, int w, int c0, int c1, F *P, PetscCount ldp, PetscCount row,
                            SpikeBandPivot *piv, int swap[])
{
  for (int c = c0; c < c1; c++) {
    F               *d  = P + c * ldp + c, inv;
    const PetscCount nl = PetscMin(kl, m - 1 - c), k = T(Largest)(d, nl + 1);
    VF(t) vinv;

    swap[c] = c + (int)k;
    if (!T(Pivot)(d[k], row + c, piv, &inv)) return PETSC_FALSE;
    for (int t = 0; t < c && k; t++) T(Swap)(P + t * ldp + c, k);
#if !defined(PETSC_USE_COMPLEX)
    if (nl <= T(W)) {
      for (int t = c1; t < w && k; t++) T(Swap)(P + t * ldp + c, k);
      T(OneVector)(d, ldp, k, inv, c1 - c);
      continue;
    }
#endif
    for (int t = c; t < w && k; t++) T(Swap)(P + t * ldp + c, k);
    d[0] = inv;
    vinv = VF(set1)(inv);
    for (PetscCount r = 1; r <= nl; r += T(W)) {
      const VF(t) l = VF(mul)(VF(load)(d + r), vinv);

      VF(store)(d + r, l);
      for (int t = 1; t < c1 - c; t++)
        VF(store)(d + t * ldp + r, VF(fnma)(l, VF(set1)(d[t * ldp]), VF(load)(d + t * ldp + r)));
    }
  }
  return PETSC_TRUE;
}

/* to[0 .. m - 1] <- from, in vectors */
SPIKE_INLINE void T(Copy)(F *to, const F *from, PetscCount m)
{
  PetscCount r = 0;

  for (; r + T(W) <= m; r += T(W)) VF(store)(to + r, VF(load)(from + r));
  if (r < m) VF(storem)(to + r, VF(loadm)(from + r, VF(maskto)((int)(m - r))), VF(maskto)((int)(m - r)));
}

/*
  x <- L^-1 x for nr columns of w elements, stride NBROOM, L unit lower triangular. W rows at a time, minus L times the
  rows above, then by substitution in registers. Elements after the last of x change too.
*/
SPIKE_INLINE void T(SolveUnit)(int w, const int nr, const F *L, PetscCount ldl, F *x)
{
  for (int r = 0; r < w; r += T(W)) {
    VF(t) v[8];

    SpikeUnroll(t, nr) v[t] = VF(load)(x + t * T(NBROOM) + r);
    for (int k = 0; k < r; k++) {
      const VF(t) l = VF(load)(L + k * ldl + r);

      SpikeUnroll(t, nr) v[t] = VF(fnma)(l, VF(set1)(x[t * T(NBROOM) + k]), v[t]);
    }
    SpikeUnroll(e, T(W) - 1) {
      if (r + e < w) {
        const VF(t) l = VF(select)(VF(maskfrom)(e + 1), VF(load)(L + (r + e) * ldl + r));

        SpikeUnroll(t, nr) v[t] = VF(fnma)(l, VF(splat)(v[t], e), v[t]);
      }
    }
    SpikeUnroll(t, nr) VF(store)(x + t * T(NBROOM) + r, v[t]);
  }
}

/*
  Columns beside a panel: their exchanges (moves NULL: done), w rows of U <- L11^-1 of the first ones, and the others
  minus L21 U. C is the first of the rows; n columns, m rows below the panel's w; k0 + t is the first nonzero of U in
  column t
*/
static void T(Trailing)(int w, const T(Moves) * moves, PetscCount n, PetscCount m, PetscCount k0, F *C, PetscCount ldc,
                        F *U, PetscCount ldu, const F *L, PetscCount ldl)
{
  F B[T(NBROOM) * T(NR)];

  if (n % T(NR) || w % T(W)) memset(B, 0, sizeof(B));
  for (PetscCount t = 0; t < n; t += T(NR)) {
    const int nt = (int)PetscMin(T(NR), n - t);

    for (int k = 0; k < nt; k++) {
      F *c = C + (t + k) * ldc, *b = B + k * T(NBROOM);

      if (moves) {
        for (int i = 0; i < w; i++) b[i] = c[moves->from[i]];
        for (int i = 0; i < moves->count; i++) c[moves->to[i]] = c[moves->of[i]];
      } else {
        for (int i = 0; i < w; i++) b[i] = c[i];
      }
    }
    T(SolveUnit)(w, T(NR), L, ldl, B);
    for (int k = 0; k < nt; k++) T(Copy)(U + (t + k) * ldu, B + k * T(NBROOM), w);
    T(Product)(m, nt, w, PetscMax(0, k0 + t), L + w, ldl, B, T(NBROOM), C + t * ldc + w, ldc);
  }
}

/* Panels from row j on are not factored: sweeps over them may give anything, but go to no other rows */
static void T(NoExchanges)(F *a, PetscCount ld, PetscCount n, PetscCount j, PetscCount w)
{
  int swap[T(NBROOM)];

  for (int c = 0; c < w; c++) swap[c] = c;
  for (; j < n; j += w) memcpy(a + j * ld, swap, (size_t)PetscMin(w, n - j) * sizeof(int));
}

/* The exchanges of w steps: where each row of a column comes from. Rows that leave the first w go below them. */
static void T(SetMoves)(int w, const int swap[], T(Moves) * moves)
{
  int below[T(NBROOM)], of[T(NBROOM)], nb = 0; /* rows below that have been touched, and what they hold */

  for (int c = 0; c < w; c++) moves->from[c] = c;
  for (int c = 0; c < w; c++) {
    const int s = swap[c], mine = moves->from[c];
    int       k = 0;

    if (s < w) {
      moves->from[c] = moves->from[s];
      moves->from[s] = mine;
      continue;
    }
    while (k < nb && below[k] != s) k++;
    if (k == nb) {
      below[nb] = s;
      of[nb++]  = s;
    }
    moves->from[c] = of[k];
    of[k]          = mine;
  }
  moves->count = nb;
  for (int k = 0; k < nb; k++) {
    moves->to[k] = below[k];
    moves->of[k] = of[k];
  }
}

static void T(LU)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  const PetscCount n = n_, kl = kl_, w = T(Panel)(kl_, ku_), hu = kl + ku_, ld = SpikePivotedLd(kl_, ku_, w);
  const PetscCount diag = SpikePivotedDiagonal(kl_, ku_, w), ldp = T(Stride)(kl_, (PetscInt)w);
  F               *a = (F *)array, *P = (F *)piv->work;
  int              swap[T(NBROOM)];
  T(Moves) moves;

  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  for (PetscCount j = 0; j < n; j += w) {
    const int        wj   = (int)PetscMin(w, n - j);
    const PetscCount m    = PetscMin(kl + wj, n - j);
    F               *base = a + j * ld, *lu = base + w, *U = lu + w * (kl + w);

    for (int c = 0; c < wj; c++) {
      const PetscCount rows = PetscMin(m, c + kl + 1);
      F               *p = P + c * ldp, *from = base + c * ld + diag - c;
      PetscCount       r = 0;

      for (; r + T(W) <= rows; r += T(W)) VF(store)(p + r, VF(load)(from + r));
      for (; r < ldp; r += T(W)) VF(store)(p + r, VF(loadm)(from + r, VF(maskto)((int)PetscMax(0, rows - r))));
    }
    for (int c = 0; c < wj; c += T(SUB)) {
      const int ce = PetscMin(c + T(SUB), wj);
      F        *p  = P + c * (ldp + 1);

      if (!T(Columns)(kl, m, wj, c, ce, P, ldp, j, piv, swap)) {
        T(NoExchanges)(a, ld, n, j, w);
        return;
      }
      if (ce == wj) break;
      T(Trailing)
      (ce - c, NULL, wj - ce, m - ce, -wj, p + (ce - c) * ldp, ldp, p + (ce - c) * ldp, ldp, p, ldp);
    }
    memcpy(base, swap, (size_t)wj * sizeof(int));
    for (int c = 0; c < wj; c++) T(Copy)(lu + c * (kl + w), P + c * ldp, kl + w);
    if (j + wj == n) break;
    T(SetMoves)(wj, swap, &moves);
    T(Trailing)
    (wj, &moves, PetscMin(hu, n - j - wj), m - wj, wj - hu, base + w * ld + diag - w, ld - 1, U, w, P, ldp);
  }
}
