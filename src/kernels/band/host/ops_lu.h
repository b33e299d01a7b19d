/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_lu.h: blocked LU of a band block without pivoting (template over the type of the factors).

  Column block j .. j + w - 1 with the rows and columns that it touches:

       w    ku
    [ A11  A12 ] w       A11 = L11 U11      in the buffers L, U            LUDiagonal
    [ A21  A22 ] kl      L21 = A21 U11^-1   MR rows at a time, to P        LUColumns
                         U12 = L11^-1 A12   NR columns at a time, to B     LURows
                         A22 -= L21 U12     MR x NR tiles in registers     LUUpdate

  Inside the band, element (i, j) and (i, j + 1) are ld - 1 apart: A22 is an ordinary kl x ku matrix with leading
  dimension ld - 1, and all of it lies in the band. A21 and A12 do not: their corners outside of the band are never
  loaded or stored, but are zeros in P and B. Each column is brought from memory once; 2 n kl ku flops, all but a share
  of w / K of them in LUUpdate.

  Columns j .. j + w - 1 are final then, and still in cache: LUPack moves them to where the sweeps want them (band.h).
*/

/*
  Tiles: MV vectors of rows by NR columns, MV * NR accumulators. NB0, NB1, NB2: the widths w for half-bandwidths below
  48, below 128 and above, by measurement; NBROOM, a multiple of W not below them, is the column stride of L, U and B.
*/
enum {
  T(W) = VF(W),
#if defined(PETSC_USE_COMPLEX)
  T(MV)  = 4,
  T(NR)  = 2,
  T(NB0) = 8,
  T(NB1) = 16,
  T(NB2) = 24,
#elif defined(__AVX512F__)
  T(MV)  = FREAL_SIZE == 8 ? 2 : 1,
  T(NR)  = FREAL_SIZE == 8 ? 8 : 16,
  T(NB0) = FREAL_SIZE == 8 ? 8 : 16,
  T(NB1) = FREAL_SIZE == 8 ? 24 : 32,
  T(NB2) = FREAL_SIZE == 8 ? 40 : 48,
#elif defined(__AVX2__)
  T(MV)  = 3,
  T(NR)  = 4,
  T(NB0) = 16,
  T(NB1) = 24,
  T(NB2) = FREAL_SIZE == 8 ? 32 : 48,
#else
  T(MV)  = 2,
  T(NR)  = 4,
  T(NB0) = 8,
  T(NB1) = 16,
  T(NB2) = 24,
#endif
  T(MR)     = T(MV) * T(W),
  T(NBROOM) = 48
};

typedef struct {
  F *L, *U; /* NBROOM x NBROOM: strictly lower L11 and zeros; U11 with the inverses of the pivots on its diagonal */
  F *B;     /* NBROOM x NR: columns of U12                                                                   */
  F *P;     /* L21: chunks of MR rows, each NBROOM columns of MR                                              */
  F *C;     /* columns of L of one chunk of the factors, and W elements that are written after them        */
} T(LUWork);

static size_t T(LUWorkSize)(PetscInt kl, PetscInt ku)
{
  const size_t chunks = ((size_t)kl + T(MR) - 1) / T(MR);

  return (2 * T(NBROOM) * T(NBROOM) + T(NBROOM) * T(NR) + chunks * T(MR) * T(NBROOM) +
          (size_t)SpikeBandChunk(kl, ku, sizeof(F)) * (size_t)kl + T(W)) *
         sizeof(F);
}

/* C -= A B for one tile in registers: A is MR x (k1 - k0), packed; B has column stride NBROOM */
SPIKE_INLINE void T(LUKernel)(int k0, int k1, const F *A, const F *B, VF(t) c[T(MV)][T(NR)])
{
  for (int k = k0; k < k1; k++) {
    VF(t) l[T(MV)];

    SpikeUnroll(v, T(MV)) l[v] = VF(load)(A + k * T(MR) + v * T(W));
    SpikeUnroll(t, T(NR)) {
      const VF(t) b = VF(set1)(B[k + t * T(NBROOM)]);

      SpikeUnroll(v, T(MV)) c[v][t] = VF(fnma)(l[v], b, c[v][t]);
    }
  }
}

/*
  x <- x U^-1 for W columns or fewer in registers, U W x W with column stride NBROOM and the inverses of the pivots on
  its diagonal
*/
SPIKE_INLINE void T(LUSolveRight)(int w, const int nt, const F *U, const int nv, VF(t) x[][T(NR)])
{
  SpikeUnroll(t, nt) {
    if (t < w) {
      const VF(t) inv = VF(set1)(U[t * (T(NBROOM) + 1)]);

      SpikeUnroll(v, nv) x[v][t] = VF(mul)(x[v][t], inv);
      SPIKE_UNROLL
      for (int t2 = t + 1; t2 < nt; t2++) {
        const VF(t) u = VF(set1)(U[t + t2 * T(NBROOM)]);

        SpikeUnroll(v, nv) x[v][t2] = VF(fnma)(x[v][t], u, x[v][t2]);
      }
    }
  }
}

/*
  x <- L^-1 x for nt columns of W rows in registers, L unit lower triangular W x W with column stride NBROOM and zeros
  elsewhere
*/
SPIKE_INLINE void T(LUSolveLeft)(int w, const int nt, const F *L, VF(t) x[])
{
  SpikeUnroll(e, T(W) - 1) {
    if (e < w) {
      const VF(t) l = VF(load)(L + e * T(NBROOM));

      SpikeUnroll(t, nt) x[t] = VF(fnma)(l, VF(splat)(x[t], e), x[t]);
    }
  }
}

/*
  A11 = L11 U11 in the buffers, of which U holds A11, by blocks of W: the diagonal block in registers, then the blocks
  below, to the right, and all others; w^3 / 3 multiply-adds. definite: pivots must be positive.
*/
SPIKE_INLINE PetscBool T(LUBuffers)(const int w, const PetscBool definite, PetscCount row, SpikeBandPivot *piv,
                                    F *const L, F *const U)
{
  for (int b = 0; b < w; b += T(W)) {
    F *const Lb = L + b * (T(NBROOM) + 1), *const Ub = U + b * (T(NBROOM) + 1);
    VF(t) x[T(W)];
    F p = Ub[0];

    SpikeUnroll(c, T(W)) x[c] = VF(load)(Ub + c * T(NBROOM));
    SpikeUnroll(c, T(W)) {
      if (b + c < w) {
        VF(t) l;
        F inv;

        if (!(definite ? T(PivotPositive)(p, row + b + c, piv, &inv) : T(Pivot)(p, row + b + c, piv, &inv)))
          return PETSC_FALSE;
        /* the next pivot ahead of the vectors, with the same bits: its division starts 20 cycles after this one */
        if (c + 1 < T(W))
          p = VF(fnma1)(VF(mul1)(VF(lane)(x[c], c + 1), inv), VF(lane)(x[c + 1], c), VF(lane)(x[c + 1], c + 1));
        VF(store)(Ub + c * T(NBROOM), x[c]);
        Ub[c * (T(NBROOM) + 1)] = inv;
        l                       = VF(mul)(VF(set1)(inv), VF(select)(VF(maskfrom)(c + 1), x[c]));
        VF(store)(Lb + c * T(NBROOM), l);
        SPIKE_UNROLL
        for (int t = c + 1; t < T(W); t++) x[t] = VF(fnma)(l, VF(splat)(x[t], c), x[t]);
      }
    }
    for (int r = T(W); b + r < w; r += T(W)) { /* blocks below */
      for (int c = 0; c < T(W); c++) {
        VF(t) y = VF(load)(Ub + r + c * T(NBROOM));

        for (int e = 0; e < c; e++) y = VF(fnma)(VF(load)(Lb + r + e * T(NBROOM)), VF(set1)(Ub[e + c * T(NBROOM)]), y);
        VF(store)(Lb + r + c * T(NBROOM), VF(mul)(y, VF(set1)(Ub[c * (T(NBROOM) + 1)])));
      }
    }
    for (int c = T(W); b + c < w; c += T(W)) { /* blocks to the right, and the others of their columns */
      SpikeUnroll(t, T(W)) x[t] = VF(load)(Ub + (c + t) * T(NBROOM));
      T(LUSolveLeft)(T(W), T(W), Lb, x);
      SpikeUnroll(t, T(W)) VF(store)(Ub + (c + t) * T(NBROOM), x[t]);
      for (int r = T(W); b + r < w; r += T(W)) {
        SpikeUnroll(t, T(W)) x[t] = VF(load)(Ub + r + (c + t) * T(NBROOM));
        for (int e = 0; e < T(W); e++) {
          const VF(t) l = VF(load)(Lb + r + e * T(NBROOM));

          SpikeUnroll(t, T(W)) x[t] = VF(fnma)(l, VF(set1)(Ub[e + (c + t) * T(NBROOM)]), x[t]);
        }
        SpikeUnroll(t, T(W)) VF(store)(Ub + r + (c + t) * T(NBROOM), x[t]);
      }
    }
  }
  return PETSC_TRUE;
}

/* A11 = L11 U11 in the buffers and in place. a points to element (0, 0) of A11 */
static PetscBool T(LUDiagonal)(const int w, PetscCount kl, PetscCount ku, F *a, PetscCount row, SpikeBandPivot *piv,
                               const T(LUWork) * k)
{
  const PetscCount ld = kl + ku + 1;
  const int        hl = (int)PetscMin(kl, T(NBROOM)), hu = (int)PetscMin(ku, T(NBROOM));
  F *const L = k->L, *const U = k->U;

  for (int c = 0; c < w; c++)
    for (int r = 0; r < w; r += T(W)) VF(store)
  (U + c * T(NBROOM) + r, VF(loadp)(a + c * (ld - 1) + r, VF(mask)(c - hu - r, PetscMin(w, c + hl + 1) - r)));
  if (!T(LUBuffers)(w, PETSC_FALSE, row, piv, L, U)) return PETSC_FALSE;
  for (int c = 0; c < w; c++) {
    for (int r = 0; r <= c; r += T(W))
      VF(storep)(a + c * (ld - 1) + r, VF(load)(U + c * T(NBROOM) + r), VF(mask)(c - hu - r, c + 1 - r));
    for (int r = c / T(W) * T(W); r < w; r += T(W)) VF(storep)
    (a + c * (ld - 1) + r, VF(load)(L + c * T(NBROOM) + r), VF(mask)(c + 1 - r, PetscMin(w, c + hl + 1) - r));
  }
  return PETSC_TRUE;
}

/*
  MR rows of L21 = A21 U11^-1 from row s of A21 on: NR columns of A21 at a time, minus the columns of L21 before them
  times U11, then by substitution in registers. a points to element (0, 0) of A21, of which rows s < min(m, kl - w + c +
  1) of column c are in the matrix and the band.
*/
static void T(LUColumns)(const int w, PetscCount kl, PetscCount ku, F *a, PetscCount s, PetscCount m, const F *U, F *P)
{
  const PetscCount ld    = kl + ku + 1;
  const int        first = (int)PetscMax(0, s + w - kl) / T(NR) * T(NR), hm = (int)PetscMin(m - s, T(MR));

  for (int cb = first; cb < w; cb += T(NR)) {
    /* rows of column cb, one more in each column after it */
    const int       h    = (int)PetscMin(kl - w + cb + 1 - s, T(MR));
    const PetscBool full = (PetscBool)(PetscMin(h, hm) == T(MR) && cb + T(NR) <= w);
    VF(t) x[T(MV)][T(NR)];
    F *col = a + s + cb * (ld - 1);

    SpikeUnroll2(t, T(NR), v, T(MV)) {
      if (full) x[v][t] = VF(load)(col + t * (ld - 1) + v * T(W));
      else
        x[v][t] = VF(loadp)(col + t * (ld - 1) + v * T(W), VF(maskto)(cb + t < w ? PetscMin(hm, h + t) - v * T(W) : 0));
    }
    T(LUKernel)(first, cb, P, U + cb * T(NBROOM), x);
    T(LUSolveRight)(w - cb, T(NR), U + cb * (T(NBROOM) + 1), T(MV), x);
    SpikeUnroll2(t, T(NR), v, T(MV)) {
      VF(store)(P + (cb + t) * T(MR) + v * T(W), x[v][t]);
      if (full) VF(store)(col + t * (ld - 1) + v * T(W), x[v][t]);
      else VF(storep)
      (col + t * (ld - 1) + v * T(W), x[v][t], VF(maskto)(cb + t < w ? PetscMin(hm, h + t) - v * T(W) : 0));
    }
  }
}

/*
  NR columns of U12 = L11^-1 A12 from column s of A12 on: W rows at a time, minus L11 times the rows above, then by
  substitution in registers. a points to element (0, 0) of A12, of which rows r >= max(0, w + t - ku) of column t < m
  are in the matrix and the band.
*/
static void T(LURows)(const int w, PetscCount kl, PetscCount ku, F *a, PetscCount s, PetscCount m, const F *L, F *B)
{
  const PetscCount ld    = kl + ku + 1;
  const int        first = (int)PetscMax(0, w + s - ku) / T(W) * T(W), nt = (int)PetscMin(m - s, T(NR));

  for (int rb = first; rb < w; rb += T(W)) {
    /* first row of column s, one later in each column after it */
    const int       l    = (int)PetscMax(w + s - ku - rb, -T(NR));
    const PetscBool full = (PetscBool)(nt == T(NR) && l + T(NR) <= 1 && rb + T(W) <= w);
    VF(t) x[T(NR)];
    F *row = a + rb + s * (ld - 1);

    SpikeUnroll(t, T(NR)) {
      if (full) x[t] = VF(load)(row + t * (ld - 1));
      else x[t] = t < nt ? VF(loadp)(row + t * (ld - 1), VF(mask)(l + t, w - rb)) : VF(zero)();
    }
    for (int k = first; k < rb; k++) {
      const VF(t) l = VF(load)(L + rb + k * T(NBROOM));

      SpikeUnroll(t, T(NR)) x[t] = VF(fnma)(l, VF(set1)(B[k + t * T(NBROOM)]), x[t]);
    }
    T(LUSolveLeft)(w - rb, T(NR), L + rb * (T(NBROOM) + 1), x);
    SpikeUnroll(t, T(NR)) {
      VF(store)(B + rb + t * T(NBROOM), x[t]);
      if (full) VF(store)(row + t * (ld - 1), x[t]);
      else if (t < nt) VF(storep)(row + t * (ld - 1), x[t], VF(mask)(l + t, w - rb));
    }
  }
}

/*
  The tile of A22 -= L21 U12 whose first element is a, of which mr x nr elements exist; columns k0 .. w - 1 of L21 are
  not all zero
*/
SPIKE_INLINE void T(LUUpdate)(int k0, int w, PetscCount ld, F *a, PetscCount mr, PetscCount nr, const F *P, const F *B)
{
  VF(t) c[T(MV)][T(NR)];

  if (mr >= T(MR) && nr >= T(NR)) {
    SpikeUnroll2(t, T(NR), v, T(MV)) c[v][t] = VF(load)(a + t * (ld - 1) + v * T(W));
    T(LUKernel)(k0, w, P, B, c);
    SpikeUnroll2(t, T(NR), v, T(MV)) VF(store)(a + t * (ld - 1) + v * T(W), c[v][t]);
  } else {
    SpikeUnroll2(t, T(NR), v, T(MV))
      c[v][t] = t < nr ? VF(loadp)(a + t * (ld - 1) + v * T(W), VF(mask)(0, mr - v * T(W))) : VF(zero)();
    T(LUKernel)(k0, w, P, B, c);
    SpikeUnroll2(t, T(NR), v, T(MV)) {
      if (t < nr) VF(storep)(a + t * (ld - 1) + v * T(W), c[v][t], VF(mask)(0, mr - v * T(W)));
    }
  }
}

/* to[0 .. m - 1] <- from in whole vectors, rising: fewer than W elements after the end are touched too */
SPIKE_INLINE void T(LUMove)(F *to, const F *from, PetscCount m)
{
  for (PetscCount s = 0; s < m; s += T(W)) VF(store)(to + s, VF(load)(from + s));
}

/*
  Columns j0 <= j < j1, all but the last ones of whole chunks: U moves down in the chunk, over columns that have moved
  before, L waits in C until the chunk is complete. What a column of U overwrites after its end has moved: j kl >= kl
  >= W - 1 elements of L lie between, or j is 0 and it stays.
*/
static void T(LUPack)(PetscCount n, PetscCount kl, PetscCount ku, F *a, PetscCount j0, PetscCount j1, F *C)
{
  const PetscCount ld = kl + ku + 1, ch = SpikeBandChunk((PetscInt)kl, (PetscInt)ku, sizeof(F));

  if (!ch) return;
  j1 = PetscMin(j1, n & -ch);
  for (PetscCount j = j0; j < j1; j++) {
    const PetscCount c   = j & (ch - 1);
    F               *col = a + j * ld, *chunk = col - c * ld;

    T(LUMove)(C + c * kl, col + ku + 1, kl);
    if (c) T(LUMove)(chunk + c * (ku + 1), col, ku + 1);
    if (c == ch - 1) memcpy(chunk + ch * (ku + 1), C, (size_t)(ch * kl) * sizeof(F));
  }
}

static void T(LU)(PetscInt n_, PetscInt kl_, PetscInt ku_, void *array, SpikeBandPivot *piv)
{
  const PetscCount n = n_, kl = kl_, ku = ku_, ld = kl + ku + 1;
  const int        nb = PetscMin(kl, ku) < 48 ? T(NB0) : (PetscMin(kl, ku) < 128 ? T(NB1) : T(NB2));
  F               *a  = (F *)array;
  T(LUWork) k;

  piv->nboost   = 0;
  piv->badrow   = -1;
  piv->badvalue = 0;
  if (T(LUNarrow)(n, kl, ku, a, piv)) return;
  k.L = (F *)piv->work;
  k.U = k.L + T(NBROOM) * T(NBROOM);
  k.B = k.U + T(NBROOM) * T(NBROOM);
  k.P = k.B + T(NBROOM) * T(NR);
  k.C = k.P + (kl + T(MR) - 1) / T(MR) * T(MR) * T(NBROOM);
  for (PetscCount j = 0; j < n; j += nb) {
    const int        w = (int)PetscMin(nb, n - j);
    const PetscCount m = PetscMin(kl, n - j - w), mu = PetscMin(ku, n - j - w);
    F               *a11 = a + j * ld + ku, *a22 = a11 + w * ld;

    if (!T(LUDiagonal)(w, kl, ku, a11, j, piv, &k)) return;
    for (PetscCount s = 0; s < m; s += T(MR)) T(LUColumns)(w, kl, ku, a11 + w, s, m, k.U, k.P + s * T(NBROOM));
    for (PetscCount t = 0; t < mu; t += T(NR)) {
      T(LURows)(w, kl, ku, a22 - w, t, mu, k.L, k.B);
      for (PetscCount s = 0; s < m; s += T(MR)) T(LUUpdate)
      ((int)PetscMax(0, w + PetscMax(s - kl, t - ku)), w, ld, a22 + s + t * (ld - 1), m - s, mu - t,
       k.P + s * T(NBROOM), k.B);
    }
    T(LUPack)(n, kl, ku, a, j, j + w, k.C);
  }
}
