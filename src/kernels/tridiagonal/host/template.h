/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: the recurrences of tridiagonal systems for one instruction set; tridiagonal_isa.c includes it once.

  A step of a substitution waits for the one before it; SPIKE_TRI_CHAINS of them at once wait together. Each has the
  operations that it has alone, in their order.
*/
#include "host.h"

SPIKE_INLINE void tri_forward(int count, const SpikeTriChain c[], PetscInt begin, PetscInt end, S s[])
{
  const S *p[SPIKE_TRI_CHAINS], *b[SPIKE_TRI_CHAINS];
  S       *x[SPIKE_TRI_CHAINS], y[SPIKE_TRI_CHAINS];

  SPIKE_UNROLL for (int k = 0; k < count; k++)
  {
    p[k] = c[k].p;
    b[k] = c[k].b;
    x[k] = c[k].x;
    y[k] = s[k];
  }
  for (PetscInt i = begin; i < end; i++)
    SPIKE_UNROLL for (int k = 0; k < count; k++) x[k][i] = y[k] = s1_fnma(p[k][i], y[k], b[k][i]);
  SPIKE_UNROLL for (int k = 0; k < count; k++) s[k] = y[k];
}

SPIKE_INLINE void tri_backward(int count, const SpikeTriChain c[], PetscInt begin, PetscInt end, S s[])
{
  const S *q[SPIKE_TRI_CHAINS], *r[SPIKE_TRI_CHAINS];
  S       *x[SPIKE_TRI_CHAINS], y[SPIKE_TRI_CHAINS];

  SPIKE_UNROLL for (int k = 0; k < count; k++)
  {
    q[k] = c[k].q;
    r[k] = c[k].r;
    x[k] = c[k].x;
    y[k] = s[k];
  }
  for (PetscInt i = end; i-- > begin;)
    SPIKE_UNROLL for (int k = 0; k < count; k++) x[k][i] = y[k] = s1_fnma(q[k][i], y[k], s1_mul(r[k][i], x[k][i]));
  SPIKE_UNROLL for (int k = 0; k < count; k++) s[k] = y[k];
}

/* The rows that all of them have together, the others one by one */
static void SPIKE_PASTE3(tri_sweep, loop, SPIKE_ISA)(PetscInt count, const SpikeTriChain c[])
{
  S        s[SPIKE_TRI_CHAINS];
  PetscInt m = count == SPIKE_TRI_CHAINS ? c[0].m : 0;

  for (PetscInt k = 0; k < count; k++) {
    m    = PetscMin(m, c[k].m);
    s[k] = c[k].above;
  }
  if (m) tri_forward(SPIKE_TRI_CHAINS, c, 0, m, s);
  for (PetscInt k = 0; k < count; k++) {
    tri_forward(1, c + k, m, c[k].m, s + k);
    s[k] = c[k].below;
    tri_backward(1, c + k, m, c[k].m, s + k);
  }
  if (m) tri_backward(SPIKE_TRI_CHAINS, c, 0, m, s);
}

/* u_i = d_i - l_i du_(i-1) in one row; *r is that of the row before */
SPIKE_INLINE void tri_eliminaterow(SpikeTriElimination *e, PetscInt i, S *r)
{
  S u = e->d[i], l = e->above ? e->dl[0] : 0.0;

  if (i) {
    l = s1_mul(e->dl[i], *r);
    u = s1_fnma(l, e->du[i - 1], u);
  }
  *r      = (S)1.0 / SpikeTriDivisor(&e->pivot, u, e->row + i);
  e->l[i] = l;
  e->r[i] = *r;
  e->v[i] = i + 1 < e->m || e->below ? s1_mul(e->du[i], *r) : 0.0;
}

/*
  From one pivot to the next there are a division and two products. So rows that are neither first nor last go
  TRI_MINORS at a time by their leading minors: u_i = q_i / q_(i-1), q_i = d_i q_(i-1) - dl_i du_(i-1) q_(i-2), from q =
  1. That is one fused multiply-add from one to the next, and divisions beside each other (as for bands,
  ops_lu_narrow.h). Where a minor leaves the safe range, or a pivot may be bad, they go row by row.
*/
#define TRI_MINORS 8
static void SPIKE_PASTE3(tri_eliminate, loop, SPIKE_ISA)(SpikeTriElimination *e)
{
  S        r = 0.0;
  PetscInt i = 0;

  if (e->m) tri_eliminaterow(e, i++, &r);
#if !defined(PETSC_USE_COMPLEX)
  {
    const double tol = 1.0000001 * (double)e->pivot.tol;

    while (i + TRI_MINORS < e->m) {
      const S *dl = e->dl + i, *d = e->d + i, *du = e->du + i;
      double   q[TRI_MINORS + 1], inv[TRI_MINORS];
      int      ok = 1;

      q[0] = 1.0;
      q[1] = vd_fnma1((double)dl[0] * (double)r, (double)du[-1], (double)d[0]);
      SPIKE_UNROLL for (int k = 1; k < TRI_MINORS; k++)
        q[k + 1] = vd_fnma1(-(double)d[k], q[k], -((double)dl[k] * (double)du[k - 1] * q[k - 1]));
      for (int k = 0; k < TRI_MINORS; k++) inv[k] = q[k] / q[k + 1];
      for (int k = 0; k < TRI_MINORS; k++) {
        const double m = q[k + 1] < 0 ? -q[k + 1] : q[k + 1], before = q[k] < 0 ? -q[k] : q[k];

        ok &= (m > tol * before) & (m <= (double)PETSC_MAX_REAL * before) & (m > 1e-280) & (m < 1e280);
      }
      if (PetscLikely(ok)) {
        e->l[i] = dl[0] * r;
        for (int k = 1; k < TRI_MINORS; k++) e->l[i + k] = dl[k] * (S)inv[k - 1];
        for (int k = 0; k < TRI_MINORS; k++) e->r[i + k] = (S)inv[k];
        for (int k = 0; k < TRI_MINORS; k++) e->v[i + k] = du[k] * (S)inv[k];
        r = (S)inv[TRI_MINORS - 1];
        i += TRI_MINORS;
      } else
        for (int k = 0; k < TRI_MINORS; k++) tri_eliminaterow(e, i++, &r);
    }
  }
#endif
  while (i < e->m) tri_eliminaterow(e, i++, &r);
}
#undef TRI_MINORS

/*
  Row j = m / 2 in the middle. Above it l_i = dl_i / u_(i-1), v_i = du_i / u_i; below it l_i = du_i / u_(i+1), v_i =
  dl_i / u_i; l_j = dl_j / u_(j-1), and v_j = du_j / u_(j+1), which has no other use
*/
static void SPIKE_PASTE3(tri_eliminateboth, loop, SPIKE_ISA)(SpikeTriElimination *e)
{
  const PetscInt     m = e->m, j = m / 2;
  const PetscScalar *dl = e->dl, *d = e->d, *du = e->du;
  PetscScalar       *l = e->l, *r = e->r, *v = e->v;
  S                  u, top = 0.0, bottom = 0.0;

  for (PetscInt i = 0; i < j; i++) {
    const PetscInt b = m - 1 - i;

    l[i] = i ? s1_mul(dl[i], top) : 0.0;
    u    = i ? s1_fnma(l[i], du[i - 1], d[i]) : d[i];
    top  = (S)1.0 / SpikeTriDivisor(&e->pivot, u, e->row + i);
    r[i] = top;
    v[i] = s1_mul(du[i], top);
    if (b <= j) break; /* m is even: one row more at the top */
    l[b]   = i ? s1_mul(du[b], bottom) : 0.0;
    u      = i ? s1_fnma(l[b], dl[b + 1], d[b]) : d[b];
    bottom = (S)1.0 / SpikeTriDivisor(&e->pivot, u, e->row + b);
    r[b]   = bottom;
    v[b]   = s1_mul(dl[b], bottom);
  }
  u    = d[j];
  l[j] = j > 0 ? s1_mul(dl[j], top) : 0.0;
  v[j] = j + 1 < m ? s1_mul(du[j], bottom) : 0.0;
  if (j > 0) u = s1_fnma(l[j], du[j - 1], u);
  if (j + 1 < m) u = s1_fnma(v[j], dl[j + 1], u);
  r[j] = (S)1.0 / SpikeTriDivisor(&e->pivot, u, e->row + j);
}

/*
  A = N D M^T, multipliers l in N and v in M, stored with the rows that they change; for A^T they change places. On the
  way to the middle row i takes a multiple of the row before it: by l of the row itself, or by v of the row that it
  takes. On the way back likewise.
*/
static void SPIKE_PASTE3(tri_sweepboth, loop, SPIKE_ISA)(PetscBool trans, PetscInt m, const PetscScalar *l,
                                                         const PetscScalar *r, const PetscScalar *v, PetscScalar *x)
{
  const PetscInt j = m / 2, bottoms = m - 1 - j; /* rows above the one in the middle: j = bottoms or bottoms + 1 */
  const S       *pt = trans ? v - 1 : l, *pb = trans ? v + 1 : l, *qt = trans ? l + 1 : v, *qb = trans ? l - 1 : v;
  S              s = j ? x[0] : 0.0, t = bottoms ? x[m - 1] : 0.0, z;

  for (PetscInt i = 1; i < bottoms; i++) {
    x[i] = s     = s1_fnma(pt[i], s, x[i]);
    x[m - 1 - i] = t = s1_fnma(pb[m - 1 - i], t, x[m - 1 - i]);
  }
  for (PetscInt i = PetscMax(bottoms, 1); i < j; i++) x[i] = s = s1_fnma(pt[i], s, x[i]);
  z = x[j];
  if (j) z = s1_fnma(pt[j], s, z);
  if (bottoms) z = s1_fnma(trans ? v[j + 1] : v[j], t, z);
  x[j] = s = t = s1_mul(r[j], z);
  if (bottoms) x[j + 1] = t = s1_fnma(trans ? v[j] : qb[j + 1], t, s1_mul(r[j + 1], x[j + 1]));
  if (j) x[j - 1] = s = s1_fnma(qt[j - 1], s, s1_mul(r[j - 1], x[j - 1]));
  for (PetscInt i = 2; i <= bottoms; i++) {
    x[j + i] = t = s1_fnma(qb[j + i], t, s1_mul(r[j + i], x[j + i]));
    x[j - i] = s = s1_fnma(qt[j - i], s, s1_mul(r[j - i], x[j - i]));
  }
  for (PetscInt i = PetscMax(bottoms + 1, 2); i <= j; i++)
    x[j - i] = s = s1_fnma(qt[j - i], s, s1_mul(r[j - i], x[j - i]));
}

static S SPIKE_PASTE3(tri_dot, loop, SPIKE_ISA)(PetscInt n, const PetscScalar *z, const PetscScalar *b)
{
  S        sum[16], all = 0.0;
  PetscInt i = 0;

  for (int k = 0; k < 16; k++) sum[k] = 0.0;
  for (; i + 16 <= n; i += 16) SPIKE_UNROLL for (int k = 0; k < 16; k++) sum[k] = s1_fnma(-z[i + k], b[i + k], sum[k]);
  for (; i < n; i++) all = s1_fnma(-z[i], b[i], all);
  for (int k = 0; k < 16; k++) all += sum[k];
  return all;
}

const SpikeTriLoops SPIKE_PASTE2(SpikeTriLoops_, SPIKE_ISA) = {
  .eliminate     = SPIKE_PASTE3(tri_eliminate, loop, SPIKE_ISA),
  .sweep         = SPIKE_PASTE3(tri_sweep, loop, SPIKE_ISA),
  .eliminateboth = SPIKE_PASTE3(tri_eliminateboth, loop, SPIKE_ISA),
  .sweepboth     = SPIKE_PASTE3(tri_sweepboth, loop, SPIKE_ISA),
  .dot           = SPIKE_PASTE3(tri_dot, loop, SPIKE_ISA),
};
