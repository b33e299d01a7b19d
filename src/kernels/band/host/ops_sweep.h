/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_sweep.h: the four triangular sweeps, by half-bandwidth and number of right-hand sides (template over the type of
  the factors). However the right-hand sides are grouped, each of them has the same operations in the same order, so
  that a column has the same bits alone and with others.
*/

/* one right-hand side in the sweeps of narrow bands: rows in scalar registers */
#define X(name)  s1_##name
#define XT(name) T(One##name)
#define XROWS    8
SPIKE_INLINE void XT(GetRow)(const S *b, PetscCount ldb, int nrhs, S *t)
{
  t[0] = b[0];
}

SPIKE_INLINE void XT(PutRow)(S *x, PetscCount ldx, int nrhs, S t)
{
  x[0] = t;
}

SPIKE_INLINE void XT(GetRows)(const S *b, PetscCount ldb, int nrhs, int step, S t[])
{
  SpikeUnroll(u, XROWS) t[u] = b[step * u];
}

SPIKE_INLINE void XT(PutRows)(S *x, PetscCount ldx, int nrhs, int step, const S t[])
{
  SpikeUnroll(u, XROWS) x[step * u] = t[u];
}
#include "ops_sweep_narrow.h"
#undef X
#undef XT
#undef XROWS

#if !defined(PETSC_USE_COMPLEX)
  /* one right-hand side in each lane, nrhs <= W of them: blocks of W rows are transposed in registers */
  #define X(name)  VS(name)
  #define XT(name) T(Lanes##name)
  #define XROWS    VS(W)
SPIKE_INLINE void XT(GetRow)(const S *b, PetscCount ldb, int nrhs, VS(t) * t)
{
  S s[VS(W)] = {0};

  for (int r = 0; r < nrhs; r++) s[r] = b[r * ldb];
  *t = VS(load)(s);
}

SPIKE_INLINE void XT(PutRow)(S *x, PetscCount ldx, int nrhs, VS(t) t)
{
  S s[VS(W)];

  VS(store)(s, t);
  for (int r = 0; r < nrhs; r++) x[r * ldx] = s[r];
}

SPIKE_INLINE void XT(Reverse)(int step, VS(t) t[])
{
  if (step > 0) return;
  SpikeUnroll(u, VS(W) / 2) {
    const VS(t) y = t[u];

    t[u]             = t[VS(W) - 1 - u];
    t[VS(W) - 1 - u] = y;
  }
}

SPIKE_INLINE void XT(GetRows)(const S *b, PetscCount ldb, int nrhs, int step, VS(t) t[])
{
  if (step < 0) b -= VS(W) - 1;
  SpikeUnroll(r, VS(W)) t[r] = r < nrhs ? VS(load)(b + r * ldb) : VS(zero)();
  VS(transpose)(t);
  XT(Reverse)(step, t);
}

SPIKE_INLINE void XT(PutRows)(S *x, PetscCount ldx, int nrhs, int step, const VS(t) t[])
{
  VS(t) y[VS(W)];

  if (step < 0) x -= VS(W) - 1;
  SpikeUnroll(r, VS(W)) y[r] = t[r];
  XT(Reverse)(step, y);
  VS(transpose)(y);
  SpikeUnroll(r, VS(W))
    if (r < nrhs) VS(store)(x + r * ldx, y[r]);
}
  #include "ops_sweep_narrow.h"
  #undef X
  #undef XT
  #undef XROWS
#endif

/* groups of R right-hand sides while there are as many */
#define SPIKE_GROUPS(R, call) \
  for (; nrhs - c >= R; c += R) call

/* narrow bands: groups of as many right-hand sides as a vector has lanes */
static void T(NarrowAll)(PetscCount k, PetscBool scaled, PetscBool flag, int step, PetscCount n, PetscCount s,
                         PetscCount ld, const F *a, PetscCount i, PetscCount count, PetscInt nrhs, const S *b,
                         PetscCount ldb, S *x, PetscCount ldx)
{
  PetscCount c = 0;

#if !defined(PETSC_USE_COMPLEX)
  for (; nrhs - c > 1; c += VS(W)) T(LanesNarrow)
  (k, scaled, flag, step, n, s, ld, a, i, count, (int)PetscMin(nrhs - c, VS(W)), b + c * ldb, ldb, x + c * ldx, ldx);
#endif
  SPIKE_GROUPS(1, T(OneNarrow)(k, scaled, flag, step, n, s, ld, a, i, count, 1, b + c * ldb, ldb, x + c * ldx, ldx));
}

/* element (0, 0) of a narrow band, whose factors lie as the matrix did */
static const F *T(NarrowFirst)(const SpikeBandFactors *f)
{
  return (const F *)f->a + f->first * ((PetscCount)f->kl + f->ku + 1) + f->ku;
}

static void T(Lower)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, const S *b, PetscCount ldb, S *x,
                     PetscCount ldx)
{
  const PetscCount n = f.rows, ld = (PetscCount)f.kl + f.ku + 1;
  PetscCount       c = 0;

  if (f.kl <= SPIKE_NARROW) T(NarrowAll)
  (f.kl, PETSC_FALSE, PETSC_FALSE, 1, n, 1 - ld, ld, T(NarrowFirst)(&f), lo, hi - lo, nrhs, b, ldb, x, ldx);
  else
  {
    SPIKE_GROUPS(8, T(BlockLower)(8, &f, lo, hi, b + c * ldb, ldb, x + c * ldx, ldx));
    SPIKE_GROUPS(4, T(BlockLower)(4, &f, lo, hi, b + c * ldb, ldb, x + c * ldx, ldx));
    SPIKE_GROUPS(2, T(BlockLower)(2, &f, lo, hi, b + c * ldb, ldb, x + c * ldx, ldx));
    SPIKE_GROUPS(1, T(BlockLower)(1, &f, lo, hi, b + c * ldb, ldb, x + c * ldx, ldx));
  }
}

static void T(Upper)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscCount n = f.rows, ld = (PetscCount)f.kl + f.ku + 1;
  PetscCount       c = 0;

  if (f.ku <= SPIKE_NARROW) T(NarrowAll)
  (f.ku, PETSC_FALSE, PETSC_TRUE, -1, n, ld - 1, ld, T(NarrowFirst)(&f), (PetscCount)hi - 1, hi - lo, nrhs, x, ldx, x,
   ldx);
  else
  {
    SPIKE_GROUPS(8, T(BlockUpper)(8, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(4, T(BlockUpper)(4, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(2, T(BlockUpper)(2, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(1, T(BlockUpper)(1, &f, lo, hi, x + c * ldx, ldx));
  }
}

static void T(UpperT)(SpikeBandFactors f, PetscInt nrhs, const S *b, PetscCount ldb, S *x, PetscCount ldx)
{
  const PetscCount n = f.rows, ld = (PetscCount)f.kl + f.ku + 1;
  PetscCount       c = 0;

  if (f.ku <= SPIKE_NARROW)
    T(NarrowAll)(f.ku, PETSC_FALSE, PETSC_TRUE, 1, n, -1, ld, T(NarrowFirst)(&f), 0, n, nrhs, b, ldb, x, ldx);
  else {
    SPIKE_GROUPS(4, T(DotUpperT)(4, &f, b + c * ldb, ldb, x + c * ldx, ldx));
    SPIKE_GROUPS(2, T(DotUpperT)(2, &f, b + c * ldb, ldb, x + c * ldx, ldx));
    SPIKE_GROUPS(1, T(DotUpperT)(1, &f, b + c * ldb, ldb, x + c * ldx, ldx));
  }
}

static void T(LowerT)(SpikeBandFactors f, PetscInt lo, PetscInt hi, PetscInt nrhs, S *x, PetscCount ldx)
{
  const PetscCount n = f.rows, ld = (PetscCount)f.kl + f.ku + 1;
  PetscCount       c = 0;

  if (f.kl <= SPIKE_NARROW) T(NarrowAll)
  (f.kl, PETSC_FALSE, PETSC_FALSE, -1, n, 1, ld, T(NarrowFirst)(&f), (PetscCount)hi - 1, hi - lo, nrhs, x, ldx, x, ldx);
  else
  {
    SPIKE_GROUPS(4, T(DotLowerT)(4, PETSC_FALSE, PETSC_FALSE, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(2, T(DotLowerT)(2, PETSC_FALSE, PETSC_FALSE, &f, lo, hi, x + c * ldx, ldx));
    SPIKE_GROUPS(1, T(DotLowerT)(1, PETSC_FALSE, PETSC_FALSE, &f, lo, hi, x + c * ldx, ldx));
  }
}
