/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tiles.h: tiles of tile.h for all widths of vectors, and products of any number of rows made of them; included for
  each pair of E and F, with BX(name) as prefix of names
*/
#define BX_SUB  1
#define BX_DOWN 2
#define BX_BACK 4
#if defined(PETSC_USE_COMPLEX)
  #define BT_MUL(a, b)     BX(mul)(a, b)
  #define BT_CONJ(flag, a) ((flag) ? BX(conj)(a) : (a))
  #define BT_ZERO          0
  #define BT_LOADE(p)      (*(p))
  #define BT_STORE(p, a)   (*(p) = (a))
  #define BX_WIDEST        1

/*
  The compiler may fuse either product of a b - c d with the difference, and not the same one in each tile: here it has
  no choice, so that a column has the same bits in all of them
*/
  #if !defined(__FP_FAST_FMA) || !defined(__FP_FAST_FMAF)
    #define BX_FMA(a, b, c) ((a) * (b) + (c))
  #elif BSIZE == 8
    #define BX_FMA(a, b, c) __builtin_fma(a, b, c)
  #else
    #define BX_FMA(a, b, c) __builtin_fmaf(a, b, c)
  #endif
SPIKE_INLINE E BX(mul)(E a, E b)
{
  return __builtin_complex(BX_FMA(__real__ a, __real__ b, -(__imag__ a * __imag__ b)),
                           BX_FMA(__real__ a, __imag__ b, __imag__ a * __real__ b));
}
SPIKE_INLINE E BX(conj)(E a)
{
  return __builtin_complex(__real__ a, -__imag__ a);
}
  #define BT(name) BX(name##1)
  #define BW       1
  #include "tile.h"
  #undef BW
  #undef BT
#else
  #define BT_MUL(a, b)     ((a) * (b))
  #define BT_CONJ(flag, a) (a)
  #define BT_ZERO          ((BT(v)){0})
  #define BT_LOADE(p)      ((BT(v)) * (const BT(u) *)(p))
  #define BT_STORE(p, a)   (*(BT(u) *)(p) = (a))
  #define BX_WIDEST        (SPIKE_VBYTES / BSIZE)
  #define BT(name)         BX(name##1)
  #define BW               1
  #include "tile.h"
  #undef BW
  #undef BT
  #define BT(name) BX(name##2)
  #define BW       2
  #include "tile.h"
  #undef BW
  #undef BT
  #if BX_WIDEST > 2
    #define BT(name) BX(name##4)
    #define BW       4
    #include "tile.h"
    #undef BW
    #undef BT
  #endif
  #if BX_WIDEST > 4
    #define BT(name) BX(name##8)
    #define BW       8
    #include "tile.h"
    #undef BW
    #undef BT
  #endif
  #if BX_WIDEST > 8
    #define BT(name) BX(name##16)
    #define BW       16
    #include "tile.h"
    #undef BW
    #undef BT
  #endif
#endif

/*
  Tiles for `take` rows, from BX_CASE(width, vectors). Between one and two vectors of 64 bytes, half of which would
  cross cache lines, half as wide ones are faster
*/
#define BX_CASES2(w) BX_CASE(w, 1) BX_CASE(w, 2)
#define BX_CASES4(w) BX_CASE(w, 1) BX_CASE(w, 2) BX_CASE(w, 3) BX_CASE(w, 4)
#if BX_WIDEST == 1
  #define BX_DISPATCH BX_CASES4(1)
#elif BX_WIDEST == 2
  #define BX_DISPATCH \
    if (take < 2) { BX_CASE(1, 1) } \
    BX_CASES4(2)
#elif BX_WIDEST == 4
  #define BX_DISPATCH \
    if (take < 2) { BX_CASE(1, 1) } \
    if (take < 4) { BX_CASES2(2) } \
    BX_CASES4(4)
#elif BX_WIDEST == 8
  #define BX_DISPATCH \
    if (take < 2) { BX_CASE(1, 1) } \
    if (take < 4) { BX_CASES2(2) } \
    if (take < 8 || (take > 8 && take < 16)) { BX_CASES4(4) } \
    BX_CASES4(8)
#else
  #define BX_DISPATCH \
    if (take < 2) { BX_CASE(1, 1) } \
    if (take < 4) { BX_CASES2(2) } \
    if (take < 8) { BX_CASES2(4) } \
    if (take < 16) { BX_CASES2(8) } \
    BX_CASES4(16)
#endif

#define BX_PARAMS \
  int mode, int conja, int conjb, PetscInt count, const PetscInt *ai, PetscCount astep, const F *A, PetscCount lda, \
    PetscInt K, const PetscInt *bi, PetscCount bstep, const E *B, PetscCount rs, PetscCount cs, const E *C0, \
    PetscCount ldc0, E *C, PetscCount ldc
#define BX_ARGS \
  mode, conja, conjb, count, ai, astep, A + m, lda, K, bi, bstep, B, rs, cs, C0 ? C0 + m : NULL, ldc0, C + m, ldc
#define BX_TILE(w) BX(tile##w)
#define BX_CASE(w, nv) \
  if (take <= (nv) * (w)) { \
    BX_TILE(w)(nv, NC, (int)take, BX_ARGS); \
    continue; \
  }

/* Rows at a time: at most four of the widest vectors, and what is left is never less than one */
SPIKE_INLINE PetscInt BX(take)(PetscInt rest)
{
  return rest <= 4 * BX_WIDEST ? rest : rest < 5 * BX_WIDEST ? 2 * BX_WIDEST : 4 * BX_WIDEST;
}

/* The product for any number M of rows and NC = 1 or 4 columns */
SPIKE_INLINE void BX(product)(const int NC, PetscInt M, BX_PARAMS)
{
  for (PetscInt m = 0, take; m < M; m += take) {
    take = BX(take)(M - m);
    BX_DISPATCH
  }
}
#undef BX_CASE
#undef BX_ARGS

/* Its four kinds, each compiled once */
#define BX_ARGS mode, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B, rs, cs, C0, ldc0, C, ldc
static __attribute__((noinline, unused)) void BX(add1)(PetscInt M, BX_PARAMS)
{
  BX(product)(1, M, mode & BX_DOWN, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B, rs, cs, C0, ldc0, C, ldc);
}

static __attribute__((noinline, unused)) void BX(sub1)(PetscInt M, BX_PARAMS)
{
  BX(product)(1, M, mode | BX_SUB, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B, rs, cs, C0, ldc0, C, ldc);
}

static __attribute__((noinline, unused)) void BX(add4)(PetscInt M, BX_PARAMS)
{
  BX(product)(4, M, mode & BX_DOWN, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B, rs, cs, C0, ldc0, C, ldc);
}

static __attribute__((noinline, unused)) void BX(sub4)(PetscInt M, BX_PARAMS)
{
  BX(product)(4, M, mode | BX_SUB, conja, conjb, count, ai, astep, A, lda, K, bi, bstep, B, rs, cs, C0, ldc0, C, ldc);
}
