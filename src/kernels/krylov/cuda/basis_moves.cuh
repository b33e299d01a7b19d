/* SPDX-License-Identifier: BSD-2-Clause */
/* basis_moves.cuh: UPDATE and COMBINE, of one right-hand side or several */
#pragma once

#include "basis.cuh"

/*
  thread blocks of a multiprocessor with one right-hand side; no more are launched: a second wave would be a small one
*/
#define SPIKE_BASIS_RESIDENT 4

/* Places for M vectors, or for any number with M < 0 */
__host__ __device__ constexpr int SpikeBasisPlaces(int M)
{
  return M < 0 ? SPIKE_BASIS_MOST : (M ? M : 1);
}

/*
  UPDATE, COMBINE, or the first and then the other. UPDATE has A, B, c, a; COMBINE has E, F, f, w, and its y is `next`,
  NULL where there is none. m1, m2, m3: vectors of A and B, of E, of F. Only the kernel for any number of vectors has q.
  Pointers are those of right-hand side 0; the next one is ld further
*/
template <int MFIRST, int MSECOND>
struct SpikeBasisMoves {
  SpikeBasisPointers<SpikeBasisPlaces(MFIRST)>  A, B;
  SpikeBasisPointers<SpikeBasisPlaces(MSECOND)> E, F;
  const PetscScalar                            *c, *a, *f, *w, *g;
  PetscScalar                                  *x, *y, *z, *r, *q, *p, *next;
  PetscInt64                                    ld;
  int                                           m1, m2, m3;
  bool                                          update;
};

/*
  z -= c_j A_j, and y -= c_j B_j or, with PLUS, y += c_j B_j, for 0 <= j < m, in V rows of the right-hand side at offset
  o; AHEAD of them are on their way at once
*/
template <int AHEAD, bool PLUS, int V>
__device__ static __forceinline__ void SpikeMovesColumns(PetscInt i, PetscInt64 o, PetscScalar *const A[],
                                                         PetscScalar *const B[], int m, const PetscScalar c[],
                                                         SpikeRows<V> &z, SpikeRows<V> &y)
{
#pragma unroll(AHEAD)
  for (int j = 0; j < m; j++) {
    SpikeRowsAxpy(-c[j], SpikeRowsLoad<V>(A[j] + o, i), z);
    SpikeRowsAxpy(PLUS ? c[j] : -c[j], SpikeRowsLoad<V>(B[j] + o, i), y);
  }
}

/* Rows of the right-hand side at offset o. A row is read before any of it is written, except q and p, read only here */
template <int V, int MFIRST, int MSECOND>
__device__ static __forceinline__ void SpikeMovesRows(PetscInt i, const SpikeBasisMoves<MFIRST, MSECOND> &b,
                                                      PetscInt64 o, const PetscScalar c[], const PetscScalar f[],
                                                      PetscScalar a, PetscScalar w, PetscScalar smooth, PetscScalar d[])
{
  constexpr int u1 = MFIRST < 0 ? 4 : SpikeBasisPlaces(MFIRST), u2 = MSECOND < 0 ? 4 : SpikeBasisPlaces(MSECOND);
  const int     m1 = MFIRST < 0 ? b.m1 : MFIRST, m2 = MSECOND < 0 ? b.m2 : MSECOND;
  const bool    has = MFIRST < 0 && b.q;
  SpikeRows<V>  y, z, x, r, q, p, g, u;

  if (b.r) r = SpikeRowsLoad<V>(b.r + o, i);
  if (b.update) {
    y = SpikeRowsLoad<V>(b.y + o, i);
    z = SpikeRowsLoad<V>(b.z + o, i);
    if (b.x) x = SpikeRowsLoad<V>(b.x + o, i);
    if (has) {
      q = SpikeRowsLoad<V>(b.q + o, i);
      p = SpikeRowsLoad<V>(b.p + o, i);
      SpikeUnroll(v, V) {
        q.e[v] = SpikeFma(-smooth, q.e[v] - r.e[v], q.e[v]);
        p.e[v] = SpikeFma(-smooth, p.e[v] - x.e[v], p.e[v]);
      }
      SpikeRowsStore<V>(b.q + o, i, q);
      SpikeRowsStore<V>(b.p + o, i, p);
    }
    SpikeMovesColumns<u1, false>(i, o, b.A.v, b.B.v, m1, c, z, y);
    if (b.x) {
      SpikeRowsAxpy(a, y, x);
      SpikeRowsAxpy(-a, z, r);
      if (has) {
        SpikeUnroll(v, V) {
          const PetscScalar t = q.e[v] - r.e[v];

          d[0] += SpikeKrylovDot(t, q.e[v]);
          d[1] += SpikeKrylovDot(t, t);
        }
        SpikeRowsDot(q, q, d[2]);
        SpikeRowsDot(r, r, d[3]);
      } else SpikeRowsDot(r, r, d[0]);
    }
  }
  if (b.next) {
    g = r;
    SpikeUnroll(v, V) u.e[v] = 0.0;
    if (MSECOND < 0) {
#pragma unroll(u2)
      for (int j = 0; j < m2; j++) SpikeRowsAxpy(-f[j], SpikeRowsLoad<V>(b.E.v[j] + o, i), g);
#pragma unroll(u2)
      for (int j = 0; j < b.m3; j++) SpikeRowsAxpy(f[j], SpikeRowsLoad<V>(b.F.v[j] + o, i), u);
    } else SpikeMovesColumns<u2, true>(i, o, b.E.v, b.F.v, m2, f, g, u);
    SpikeRowsAxpy(w, g, u);
    SpikeRowsStore<V>(b.next + o, i, u);
  }
  if (b.update) {
    if (m1) {
      SpikeRowsStore<V>(b.y + o, i, y);
      SpikeRowsStore<V>(b.z + o, i, z);
    }
    if (b.x) {
      SpikeRowsStore<V>(b.x + o, i, x);
      SpikeRowsStore<V>(b.r + o, i, r);
    }
  }
}

/*
  Moves each vector once: 2 m1 + 8 words a row for UPDATE, with q four more; 2 m2 + 1 for a COMBINE that follows, one
  more alone. Rows as in SpikeBasisDots(). MANYRHS: blockIdx.y is the right-hand side
*/
template <int MFIRST, int MSECOND, bool MANYRHS>
__global__ void __launch_bounds__(SPIKE_KRYLOV_THREADS, MANYRHS ? 3 : SPIKE_BASIS_RESIDENT)
  SpikeBasisMove(PetscInt n, SpikeBasisMoves<MFIRST, MSECOND> b, bool wide, SpikeBasisEnd e)
{
  const PetscInt   begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;
  const int        t = threadIdx.x, rhs = MANYRHS ? blockIdx.y : 0;
  const PetscInt64 o = MANYRHS ? rhs * b.ld : 0, small = MANYRHS ? (PetscInt64)rhs * e.nsmall : 0;
  constexpr int    S = MFIRST < 0 ? 4 : 1; /* sums */
  PetscScalar      d[S];
  __shared__ PetscScalar c[SpikeBasisPlaces(MFIRST)], f[SpikeBasisPlaces(MSECOND)];

  SpikeAwait();
  if (e.device[rhs].s.reason) return;
  const PetscScalar a      = b.update && b.x ? b.a[small] : PetscScalar(0.0),
                    w      = b.next && b.w ? b.w[small] : PetscScalar(1.0),
                    smooth = MFIRST < 0 && b.q ? b.g[small] : PetscScalar(0.0);

  SpikeUnroll(k, S) d[k] = 0.0;
  if (t < b.m1) c[t] = b.c[small + t];
  if (t < b.m2 || t < b.m3) f[t] = b.f[small + t];
  __syncthreads();
  if (wide)
    for (PetscInt i = begin; i < n / 2; i += stride) SpikeMovesRows<2, MFIRST, MSECOND>(i, b, o, c, f, a, w, smooth, d);
  for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
    SpikeMovesRows<1, MFIRST, MSECOND>(i, b, o, c, f, a, w, smooth, d);
  if (e.nsums) SpikeBasisSums<S, 0>(d, e.nsums, 0, e, rhs);
}

/* The arguments of both steps, either of which may be NULL; returns whether all vectors begin with a pair of rows */
template <int MFIRST, int MSECOND>
static bool SpikeMovesMake(const SpikeKrylovBasis *update, const SpikeKrylovBasis *combine,
                           SpikeBasisMoves<MFIRST, MSECOND> *b)
{
  bool wide = true;

  memset((void *)b, 0, sizeof(*b));
  if (update) {
    b->update = true;
    b->m1     = (int)(update->last - update->first);
    b->c      = update->c;
    b->a      = update->a;
    b->g      = update->g;
    b->x      = update->x;
    b->y      = update->y;
    b->z      = update->z;
    b->r      = update->r;
    b->q      = update->q;
    b->p      = update->p;
    for (int j = 0; j < b->m1; j++) {
      b->A.v[j] = update->A[update->first + j];
      b->B.v[j] = update->B[update->first + j];
      wide      = wide && SpikeBasisWide(b->A.v[j]) && SpikeBasisWide(b->B.v[j]);
    }
  }
  if (combine) {
    b->m2   = combine->A ? (int)(combine->last - combine->first) : 0;
    b->m3   = combine->B ? (int)(combine->last - combine->first) : 0;
    b->f    = combine->c;
    b->w    = combine->a;
    b->next = combine->y;
    if (!b->r) b->r = combine->r;
    for (int j = 0; j < b->m2; j++) {
      b->E.v[j] = combine->A[combine->first + j];
      wide      = wide && SpikeBasisWide(b->E.v[j]);
    }
    for (int j = 0; j < b->m3; j++) {
      b->F.v[j] = combine->B[combine->first + j];
      wide      = wide && SpikeBasisWide(b->F.v[j]);
    }
  }
  return wide && SpikeBasisWide(b->x) && SpikeBasisWide(b->y) && SpikeBasisWide(b->z) && SpikeBasisWide(b->r) &&
         SpikeBasisWide(b->q) && SpikeBasisWide(b->p) && SpikeBasisWide(b->next);
}
