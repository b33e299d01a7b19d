/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: LU and substitutions of a group of systems for one instruction set; batch_isa.c includes it once. Lanes
  are those of vector registers, BATCH_NV of which are a row of the group.
*/
#include "host.h"

enum {
  BATCH_W  = SPIKE_BATCH_LANES,
  BATCH_NV = SPIKE_BATCH_LANES / VS(W)
};

typedef struct {
  VS(t) v[BATCH_NV];
} batch_t;

SPIKE_INLINE batch_t batch_load(const S *p)
{
  batch_t r;

  SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++) r.v[k] = VS(load)(p + k * VS(W));
  return r;
}

SPIKE_INLINE void batch_store(S *p, batch_t r)
{
  SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++) VS(store)(p + k * VS(W), r.v[k]);
}

/* c - a b */
SPIKE_INLINE batch_t batch_fnma(batch_t a, batch_t b, batch_t c)
{
  SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++) c.v[k] = VS(fnma)(a.v[k], b.v[k], c.v[k]);
  return c;
}

SPIKE_INLINE batch_t batch_mul(batch_t a, batch_t b)
{
  SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++) a.v[k] = VS(mul)(a.v[k], b.v[k]);
  return a;
}

/* 1 / u of row i in its place, where each pivot has been looked at */
SPIKE_INLINE batch_t batch_invert(const SpikeBatchGroup *g, PetscInt i, S *u)
{
  int bad = 0;

  for (int l = 0; l < BATCH_W; l++) {
    const PetscReal abs = PetscAbsScalar(u[l]);

    bad |= !(abs > g->pivot->tol) | !(abs <= PETSC_MAX_REAL);
  }
  if (bad) SpikeBatchPivots_Host(g, i, u);
  for (int l = 0; l < BATCH_W; l++) u[l] = (S)1.0 / u[l];
  return batch_load(u);
}

/* Row by row: l_ik = a_ik / u_kk, then a_ij -= l_ik u_kj, k = i - kl, ..., i - 1 */
SPIKE_INLINE void batch_lu(const SpikeBatchGroup *g, PetscInt kl, PetscInt ku)
{
  const PetscInt width = kl + 1 + ku;

  for (PetscInt i = 0; i < g->m; i++) {
    S *row = g->a + ((PetscCount)i * width + kl) * BATCH_W;

    for (PetscInt d = PetscMin(kl, i); d > 0; d--) {
      const S      *above = row - (PetscCount)d * width * BATCH_W;
      const batch_t l     = batch_mul(batch_load(row - d * BATCH_W), batch_load(above));

      batch_store(row - d * BATCH_W, l);
      for (PetscInt j = 1; j <= ku; j++) {
        S *to = row + (j - d) * BATCH_W;

        batch_store(to, batch_fnma(l, batch_load(above + j * BATCH_W), batch_load(to)));
      }
    }
    batch_invert(g, i, row);
  }
}

/* x_i = (y_i - sum_d u_(i, i+d) x_(i+d)) / u_ii; width elements a row, kl of them below the diagonal */
SPIKE_INLINE void batch_upper(const SpikeBatchGroup *g, PetscInt width, PetscInt kl, PetscInt fu, S *y)
{
  for (PetscInt i = g->m; i-- > 0;) {
    const S *row = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    S       *at  = y + (PetscCount)i * BATCH_W;
    batch_t  sum = batch_load(at);

    for (PetscInt d = fu; d > 0; d--)
      sum = batch_fnma(batch_load(row + d * BATCH_W), batch_load(at + d * BATCH_W), sum);
    batch_store(at, batch_mul(sum, batch_load(row)));
  }
}

/* y_i = b_i - sum_d l_(i, i-d) y_(i-d), then U x = y */
SPIKE_INLINE void batch_lusolve(const SpikeBatchGroup *g, PetscInt kl, PetscInt ku, S *y)
{
  const PetscInt width = kl + 1 + ku;

  for (PetscInt i = 0; kl && i < g->m; i++) {
    const S *row = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    S       *at  = y + (PetscCount)i * BATCH_W;
    batch_t  sum = batch_load(at);

    for (PetscInt d = kl; d > 0; d--)
      sum = batch_fnma(batch_load(row - d * BATCH_W), batch_load(at - d * BATCH_W), sum);
    batch_store(at, sum);
  }
  batch_upper(g, width, kl, ku, y);
}

/* U^T y = b: y_i = b_i / u_ii, b_(i+d) -= u_(i, i+d) y_i; width elements a row, d of them below the diagonal */
SPIKE_INLINE void batch_uppert(const SpikeBatchGroup *g, PetscInt width, PetscInt kl, PetscInt fu, S *y)
{
  for (PetscInt i = 0; i < g->m; i++) {
    const S      *row = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    S            *at  = y + (PetscCount)i * BATCH_W;
    const batch_t v   = batch_mul(batch_load(at), batch_load(row));

    batch_store(at, v);
    for (PetscInt d = 1; d <= fu; d++)
      batch_store(at + d * BATCH_W, batch_fnma(batch_load(row + d * BATCH_W), v, batch_load(at + d * BATCH_W)));
  }
}

/* and L^T x = y: y_(i-d) -= l_(i, i-d) x_i */
SPIKE_INLINE void batch_lusolvet(const SpikeBatchGroup *g, PetscInt kl, PetscInt ku, S *y)
{
  const PetscInt width = kl + 1 + ku;

  batch_uppert(g, width, kl, ku, y);
  for (PetscInt i = g->m; kl && i-- > 0;) {
    const S      *row = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    S            *at  = y + (PetscCount)i * BATCH_W;
    const batch_t x   = batch_load(at);

    for (PetscInt d = 1; d <= kl; d++)
      batch_store(at - d * BATCH_W, batch_fnma(batch_load(row - d * BATCH_W), x, batch_load(at - d * BATCH_W)));
  }
}

/* Half-bandwidths that the compiler knows have loops without counters */
#define BATCH_KNOWN(call) \
  do { \
    if (g->kl == 2 && g->ku == 2) call(2, 2); \
    else if (g->kl == 3 && g->ku == 3) call(3, 3); \
    else if (g->kl == 4 && g->ku == 4) call(4, 4); \
    else call(g->kl, g->ku); \
  } while (0)

static void SPIKE_PASTE3(batch_factor, loop, SPIKE_ISA)(const SpikeBatchGroup *g)
{
#define BATCH_CALL(kl, ku) batch_lu(g, kl, ku)
  BATCH_KNOWN(BATCH_CALL);
#undef BATCH_CALL
}

/* What the rows at both ends of y add is nothing, whatever an earlier solve has left there */
SPIKE_INLINE void batch_clear(const SpikeBatchGroup *g, S *y)
{
  memset(y - g->kl * BATCH_W, 0, (size_t)g->kl * BATCH_W * sizeof(S));
  memset(y + (PetscCount)g->m * BATCH_W, 0, (size_t)g->fu * BATCH_W * sizeof(S));
}

static void SPIKE_PASTE3(batch_solve, loop, SPIKE_ISA)(const SpikeBatchGroup *g, PetscBool trans, S *y)
{
  batch_clear(g, y);
#define BATCH_CALL(kl, ku) \
  do { \
    if (trans) batch_lusolvet(g, kl, ku, y); \
    else batch_lusolve(g, kl, ku, y); \
  } while (0)
  BATCH_KNOWN(BATCH_CALL);
#undef BATCH_CALL
}

/* Lane l of x and z change places where which[l] */
SPIKE_INLINE void batch_exchange(const int which[], S *x, S *z)
{
  for (int l = 0; l < BATCH_W; l++) {
    const S a = x[l], b = z[l];

    x[l] = which[l] ? b : a;
    z[l] = which[l] ? a : b;
  }
}

/* Row i of each lane and its pivot row change places; e[] <- how far apart they are */
SPIKE_INLINE void batch_pivot(const SpikeBatchGroup *g, PetscInt i, PetscInt width, S *row, PetscInt down,
                              unsigned char e[])
{
  PetscReal largest[BATCH_W];
  int       far[BATCH_W], which[BATCH_W], all = 0;

  for (int l = 0; l < BATCH_W; l++) {
    largest[l] = PetscAbsScalar(row[l]);
    far[l]     = 0;
  }
  for (PetscInt r = 1; r <= down; r++) {
    const S *below = row + (PetscCount)r * (width - 1) * BATCH_W; /* a_(i+r, i) */

    for (int l = 0; l < BATCH_W; l++) {
      const PetscReal abs = PetscAbsScalar(below[l]);

      far[l]     = abs > largest[l] ? (int)r : far[l];
      largest[l] = abs > largest[l] ? abs : largest[l];
    }
  }
  for (int l = 0; l < BATCH_W; l++) {
    e[l] = (unsigned char)far[l];
    all |= far[l];
  }
  for (PetscInt r = 1; r <= down && all; r++) {
    S  *below = row + (PetscCount)r * (width - 1) * BATCH_W;
    int some  = 0;

    for (int l = 0; l < BATCH_W; l++) some |= which[l] = far[l] == r;
    for (PetscInt j = 0; j <= g->fu && some; j++) batch_exchange(which, row + j * BATCH_W, below + j * BATCH_W);
  }
}

/* Step by step: row i is subtracted from those below it; multipliers go where its entries below the diagonal were */
static void SPIKE_PASTE3(batch_factorpivoted, loop, SPIKE_ISA)(const SpikeBatchGroup *g)
{
  const PetscInt kl = g->kl, fu = g->fu, width = kl + 1 + fu;

  for (PetscInt i = 0; i < g->m; i++) {
    S             *row  = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    const PetscInt down = PetscMin(kl, g->m - 1 - i);
    batch_t        inverse;

    batch_pivot(g, i, width, row, down, g->exchange + (PetscCount)i * BATCH_W);
    inverse = batch_invert(g, i, row);
    for (PetscInt r = 1; r <= kl; r++) {
      S      *below = row + (PetscCount)r * (width - 1) * BATCH_W;
      batch_t l;

      if (r > down) {
        memset(row - r * BATCH_W, 0, BATCH_W * sizeof(S));
        continue;
      }
      l = batch_mul(batch_load(below), inverse);
      batch_store(row - r * BATCH_W, l);
      for (PetscInt j = 1; j <= fu; j++) {
        S *to = below + j * BATCH_W;

        batch_store(to, batch_fnma(l, batch_load(row + j * BATCH_W), batch_load(to)));
      }
    }
  }
}

SPIKE_INLINE void batch_exchangey(const unsigned char e[], S *at)
{
  for (int l = 0; l < BATCH_W; l++) {
    S      *other = at + (int)e[l] * BATCH_W + l;
    const S a     = at[l];

    at[l]  = *other;
    *other = a;
  }
}

/* L and U as they are, with the exchanges of step i before it; transposed all in reverse */
static void SPIKE_PASTE3(batch_solvepivoted, loop, SPIKE_ISA)(const SpikeBatchGroup *g, PetscBool trans, S *y)
{
  const PetscInt kl = g->kl, fu = g->fu, width = kl + 1 + fu;

  batch_clear(g, y);
  if (trans) batch_uppert(g, width, kl, fu, y);
  for (PetscInt k = 0; k < g->m; k++) {
    const PetscInt       i    = trans ? g->m - 1 - k : k;
    const S             *row  = g->a + ((PetscCount)i * width + kl) * BATCH_W;
    const unsigned char *e    = g->exchange + (PetscCount)i * BATCH_W;
    S                   *at   = y + (PetscCount)i * BATCH_W;
    const PetscInt       down = PetscMin(kl, g->m - 1 - i);

    if (trans) {
      batch_t sum = batch_load(at);

      for (PetscInt r = 1; r <= down; r++)
        sum = batch_fnma(batch_load(row - r * BATCH_W), batch_load(at + r * BATCH_W), sum);
      batch_store(at, sum);
      batch_exchangey(e, at);
    } else {
      batch_t v;

      batch_exchangey(e, at);
      v = batch_load(at);
      for (PetscInt r = 1; r <= down; r++)
        batch_store(at + r * BATCH_W, batch_fnma(batch_load(row - r * BATCH_W), v, batch_load(at + r * BATCH_W)));
    }
  }
  if (!trans) batch_upper(g, width, kl, fu, y);
}

/* Rows that all lanes have, VS(W) of them at a time by transposing squares; the others one by one */
SPIKE_INLINE PetscInt batch_common(const SpikeBatchGroup *g)
{
  PetscInt m = g->m;

  for (int l = 0; l < BATCH_W; l++) m = PetscMin(m, g->len[l]);
  return m - m % VS(W);
}

static void SPIKE_PASTE3(batch_load, loop, SPIKE_ISA)(const SpikeBatchGroup *g, const S *b, S *y)
{
  const PetscInt m = batch_common(g);

  for (PetscInt i = 0; i < m; i += VS(W)) SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++)
    {
      VS(t) v[VS(W)];

      SPIKE_UNROLL for (int l = 0; l < VS(W); l++) v[l] = VS(load)(b + g->first[k * VS(W) + l] + i);
      VS(transpose)(v);
      SPIKE_UNROLL for (int l = 0; l < VS(W); l++) VS(store)(y + ((PetscCount)i + l) * BATCH_W + k * VS(W), v[l]);
    }
  for (PetscInt i = m; i < g->m; i++)
    for (int l = 0; l < BATCH_W; l++) y[(PetscCount)i * BATCH_W + l] = i < g->len[l] ? b[g->first[l] + i] : (S)0.0;
}

static void SPIKE_PASTE3(batch_store, loop, SPIKE_ISA)(const SpikeBatchGroup *g, const S *y, S *x)
{
  const PetscInt m = batch_common(g);

  for (PetscInt i = 0; i < m; i += VS(W)) SPIKE_UNROLL for (int k = 0; k < BATCH_NV; k++)
    {
      VS(t) v[VS(W)];

      SPIKE_UNROLL for (int l = 0; l < VS(W); l++) v[l] = VS(load)(y + ((PetscCount)i + l) * BATCH_W + k * VS(W));
      VS(transpose)(v);
      SPIKE_UNROLL for (int l = 0; l < VS(W); l++) VS(store)(x + g->first[k * VS(W) + l] + i, v[l]);
    }
  for (int l = 0; l < BATCH_W; l++)
    for (PetscInt i = m; i < g->len[l]; i++) x[g->first[l] + i] = y[(PetscCount)i * BATCH_W + l];
}

const SpikeBatchLoops SPIKE_PASTE2(SpikeBatchLoops_, SPIKE_ISA) = {
  .factor        = SPIKE_PASTE3(batch_factor, loop, SPIKE_ISA),
  .factorpivoted = SPIKE_PASTE3(batch_factorpivoted, loop, SPIKE_ISA),
  .solve         = SPIKE_PASTE3(batch_solve, loop, SPIKE_ISA),
  .solvepivoted  = SPIKE_PASTE3(batch_solvepivoted, loop, SPIKE_ISA),
  .load          = SPIKE_PASTE3(batch_load, loop, SPIKE_ISA),
  .store         = SPIKE_PASTE3(batch_store, loop, SPIKE_ISA),
};
