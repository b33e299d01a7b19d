/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.cuh: products of rows by stencils in registers, for any kernel that wants them */
#pragma once

#include "kernels/common/cuda/async.cuh"
#include "kernels/common/cuda/memory.cuh"
#include "kernels/stencil/stencil.h"

#define SPIKE_STENCIL_THREADS 256

/*
  Planes of x that a thread block has or waits for, and the most values in one. Together 45 kB of the 48 that every
  device gives; sums need some
*/
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_STENCIL_PLANES 3
  #define SPIKE_STENCIL_SLOT   950
#else
  #define SPIKE_STENCIL_PLANES 4
  #define SPIKE_STENCIL_SLOT   1400
#endif
#define SPIKE_STENCIL_BATCH 9 /* points of a row that are on their way at once */

/*
  Bit 9 (k + 1) + 3 (j + 1) + (i + 1) for each point of a fast stencil. One in two dimensions has its second one as k
*/
#define SPIKE_STENCIL_STAR5 0x0407010u
#define SPIKE_STENCIL_BOX9  0x0e07038u
#define SPIKE_STENCIL_STAR7 0x0417410u
#define SPIKE_STENCIL_BOX27 0x7ffffffu

/* y + a x with one rounding each: whatever is around them, products have the same bits in all kernels */
__device__ static __forceinline__ PetscScalar SpikeStencilFma(PetscScalar a, PetscScalar x, PetscScalar y)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscScalar(fma(-a.imag(), x.imag(), fma(a.real(), x.real(), y.real())),
                     fma(a.imag(), x.real(), fma(a.real(), x.imag(), y.imag())));
#else
  return fma(a, x, y);
#endif
}

/* A point of the table of a backend: where it is, and its number on the host. Ascending by k, j, i */
typedef struct {
  int i, j, k, s;
} SpikeStencilPoint;

/*
  Patches of width x (JB height) points in i and j, and `chunks` pieces of each along k. c[] is in the order of the
  stencil's bits. x and y begin with the first point of the box. A flat box (two dimensions) has its second dimension as
  k.
*/
typedef struct {
  PetscScalar c[27];
  PetscCount  sj, sk, yj, yk;
  int         begin[3], end[3], lo[3], hi[3];
  int         width, height, patches[2], chunks, length;
} SpikeStencilBox;

/* Any stencil: rows of a box, number ((k n[1] + j) n[0] + i) dof + c */
typedef struct {
  PetscInt                 rows, n[3], begin[3], size[3], lo[3], hi[3];
  PetscCount               sj, sk;
  int                      dof, count;
  bool                     constant;
  const SpikeStencilPoint *point;
  const PetscScalar       *coef;
} SpikeStencilTable;

/* One number on its way into shared memory. A complex number need not be aligned to its size */
__device__ static __forceinline__ void SpikeStencilCopy(PetscScalar *to, const PetscScalar *from)
{
  SpikeUnroll(part, (int)(sizeof(PetscScalar) / sizeof(PetscReal)))
    SpikeCopyAsync<sizeof(PetscReal)>((PetscReal *)to + part, (const PetscReal *)from + part);
}

/*
  Thread blocks of a multiprocessor, of a product alone or with a step. In three dimensions two that march through many
  planes are faster than three with fewer
*/
__host__ __device__ constexpr int SpikeStencilResident(unsigned mask, bool stride)
{
  if (mask == SPIKE_STENCIL_STAR7 || mask == SPIKE_STENCIL_BOX27) return 2;
  return stride ? 4 : 6;
}

/*
  f(row, (A x)_row, fetch(row), here) for each point of a box once, by whole thread blocks of SPIKE_STENCIL_THREADS
  threads. Loads of fetch() are on their way while the plane is summed; ahead(row) is called two planes before. here()
  is x in that row, from shared memory.

  A thread block has a patch and marches along k. It reads plane p of x, with a point around the patch, once from shared
  memory, and adds it to the sums of planes p - 1, p and p + 1, three registers for each of the JB points of a thread,
  while later planes are on their way. The order of a sum is k, j, i.

  Reads x (1 + 2 / width) (1 + 2 / (JB height)) (1 + 2 / length) times; from memory as often as the L2 cache loses what
  neighbouring patches share.
*/
template <unsigned POINTMASK>
struct SpikeStencilPatches {
  static constexpr bool FAST    = true;
  static constexpr bool FLAT    = !(POINTMASK & (0x1c7u | 0x1c7u << 9 | 0x1c7u << 18)); /* no point has a j */
  static constexpr int  JB      = FLAT ? 1 : 4;
  static constexpr int  HALO    = FLAT ? 0 : 1;
  static constexpr int  ATONCE  = SpikeStencilResident(POINTMASK, false),
                       WITHSTEP = SpikeStencilResident(POINTMASK, true);
  static constexpr int LOADS    = FLAT ? 2 : (SPIKE_STENCIL_SLOT + SPIKE_STENCIL_THREADS - 1) / SPIKE_STENCIL_THREADS;

  SpikeStencilBox m;

  struct SharedMemory { };

  __device__ __forceinline__ void prepare(SharedMemory &) const { }

  template <typename G, typename A, typename F>
  __device__ __forceinline__ void each(const SharedMemory &, PetscScalar *planes, const PetscScalar *x, G &&fetch,
                                       A &&ahead, F &&f) const
  {
    constexpr int NONE  = INT_MIN;
    const int     pitch = m.width + 2, slot = pitch * (m.height * JB + 2 * HALO),
              tasks = m.patches[0] * m.patches[1] * m.chunks;
    const int ti = (int)threadIdx.x % m.width, tj = (int)threadIdx.x / m.width;

    for (int task = (int)blockIdx.x; task < tasks; task += (int)gridDim.x) {
      const int chunk = task / (m.patches[0] * m.patches[1]), patch = task % (m.patches[0] * m.patches[1]);
      const int i0   = m.begin[0] + patch % m.patches[0] * m.width,
                j0   = m.begin[1] + patch / m.patches[0] * m.height * JB;
      const int   kb = m.begin[2] + chunk * m.length, ke = min(kb + m.length, m.end[2]);
      const int   i = i0 + ti, j = j0 + tj * JB;
      const bool  active = tj < m.height && i < m.end[0];
      int         from[LOADS];
      PetscScalar sum[3][JB]; /* of planes p - 1, p, p + 1 */
      PetscScalar before[JB]; /* x in plane p - 1          */

      __syncthreads(); /* the planes of the task before have been read */
      SpikeUnroll(u, LOADS) {
        const int e = (int)threadIdx.x + u * SPIKE_STENCIL_THREADS, ei = i0 + e % pitch - 1, ej = j0 + e / pitch - HALO;
        const bool inside = ei >= m.lo[0] && ei < m.hi[0] && ei <= m.end[0] && ej >= m.lo[1] && ej < m.hi[1] &&
                            ej <= m.end[1];

        from[u] = e < slot && inside ? (int)(ej * m.sj + ei) : NONE;
        if (e < slot && !inside)
          for (int s = 0; s < SPIKE_STENCIL_PLANES; s++) planes[s * slot + e] = 0.0;
      }
      const auto load = [&](int p, int s) {
        const PetscScalar *plane = x + p * m.sk;

        if (p > ke) return;
        SpikeUnroll(u, LOADS) {
          PetscScalar *to = planes + s * slot + (int)threadIdx.x + u * SPIKE_STENCIL_THREADS;

          if (from[u] == NONE) continue;
          if (p >= m.lo[2] && p < m.hi[2]) SpikeStencilCopy(to, plane + from[u]);
          else *to = 0.0;
        }
      };
      SpikeUnroll(s, SPIKE_STENCIL_PLANES - 1) {
        load(kb - 1 + s, s);
        SpikeCopyCommit();
      }
      SpikeUnroll(b, JB) sum[0][b] = sum[1][b] = sum[2][b] = before[b] = 0.0;
      for (int p = kb - 1, s = 0; p <= ke; p++, s = s + 1 < SPIKE_STENCIL_PLANES ? s + 1 : 0) {
        const PetscCount         row = (p - 1) * m.yk + j * m.yj + i;
        decltype(fetch(row + 0)) fetched[JB];

        SpikeUnroll(b, JB)
          if (active && j + b < m.end[1]) {
            if (p > kb) fetched[b] = fetch(row + b * m.yj);
            if (p + 1 < ke) ahead(row + 2 * m.yk + b * m.yj);
          }
        SpikeCopyWaitGroups<SPIKE_STENCIL_PLANES - 2>();
        __syncthreads(); /* plane p is there, and all have read plane p - 1, whose place the next one takes */
        load(p + SPIKE_STENCIL_PLANES - 1, s ? s - 1 : SPIKE_STENCIL_PLANES - 1);
        SpikeCopyCommit();
        if (!active) continue;
        const PetscScalar *v = planes + s * slot + tj * JB * pitch + ti + 1;
        SpikeUnroll2(r, JB + 2 * HALO, di, 3) {
          const PetscScalar w = v[r * pitch + di - 1];

          SpikeUnroll2(dk, 3, dj, 3) {
            const int b = r - HALO - (dj - 1);

            if (((POINTMASK >> (9 * dk + 3 * dj + di)) & 1) && b >= 0 && b < JB)
              sum[2 - dk][b < 0 || b >= JB ? 0 : b] = SpikeStencilFma(m.c[9 * dk + 3 * dj + di], w,
                                                                      sum[2 - dk][b < 0 || b >= JB ? 0 : b]);
          }
        }
        SpikeUnroll(b, JB) {
          if (p > kb && j + b < m.end[1]) f(row + b * m.yj, sum[0][b], fetched[b], [&] { return before[b]; });
          sum[0][b] = sum[1][b];
          sum[1][b] = sum[2][b];
          sum[2][b] = 0.0;
          before[b] = v[(b + HALO) * pitch];
        }
      }
      SpikeCopyWaitGroups<0>();
    }
  }
};

/*
  Row c of point (i, j, k) by any stencil. at(o) points to the unknowns of the point at offset o, and is called where it
  exists. SINGLE: one unknown
*/
template <bool SINGLE, typename LOCATE>
__device__ static __forceinline__ PetscScalar SpikeStencilSum(const SpikeStencilTable &m,
                                                              const SpikeStencilPoint point[], PetscInt c, PetscInt i,
                                                              PetscInt j, PetscInt k, LOCATE &&at)
{
  const PetscInt line   = k * m.size[1] + j;
  PetscScalar    sum    = 0.0;
  const auto     exists = [&](const SpikeStencilPoint &o) {
    return i + o.i >= m.lo[0] && i + o.i < m.hi[0] && j + o.j >= m.lo[1] && j + o.j < m.hi[1] && k + o.k >= m.lo[2] &&
           k + o.k < m.hi[2];
  };

  if (SINGLE) {
    const PetscScalar *coef   = m.constant ? m.coef : m.coef + (PetscCount)line * m.count * m.size[0] + i;
    const PetscCount   stride = m.constant ? 1 : m.size[0];

    for (int s = 0; s < m.count; s += SPIKE_STENCIL_BATCH) {
      PetscScalar a[SPIKE_STENCIL_BATCH], b[SPIKE_STENCIL_BATCH];

      SpikeUnroll(u, SPIKE_STENCIL_BATCH) {
        const SpikeStencilPoint o     = point[s + u < m.count ? s + u : 0];
        const bool              there = s + u < m.count, inside = there && exists(o);

        a[u] = there && (inside || m.constant) ? coef[o.s * stride] : PetscScalar(0.0);
        b[u] = inside ? *at(o) : PetscScalar(0.0);
      }
      SpikeUnroll(u, SPIKE_STENCIL_BATCH) sum = SpikeStencilFma(a[u], b[u], sum);
    }
  } else {
    for (int s = 0; s < m.count; s++) {
      const SpikeStencilPoint o    = point[s];
      const PetscCount        own  = ((PetscCount)line * m.count + o.s) * m.dof * m.size[0] * m.dof;
      const PetscScalar      *coef = m.coef +
                                (m.constant ? ((PetscCount)o.s * m.dof + c) * m.dof : own + (PetscCount)i * m.dof + c);
      const PetscCount stride = m.constant ? 1 : (PetscCount)m.size[0] * m.dof;

      if (!exists(o)) continue;
      const PetscScalar *from = at(o);

      for (int e = 0; e < m.dof; e++) sum = SpikeStencilFma(coef[e * stride], from[e], sum);
    }
  }
  return sum;
}

/* each() for any stencil: a thread a row. Reads coefficients of points as streams, x as often as the caches lose it. */
template <bool SINGLE>
struct SpikeStencilRows {
  static constexpr bool FAST   = false;
  static constexpr int  ATONCE = 4, WITHSTEP = 3;

  SpikeStencilTable m;

  struct SharedMemory {
    SpikeStencilPoint point[SPIKE_STENCIL_MOST];
  };

  __device__ __forceinline__ void prepare(SharedMemory &shared) const
  {
    for (int s = threadIdx.x; s < m.count; s += blockDim.x) shared.point[s] = m.point[s];
    __syncthreads();
  }

  template <typename G, typename A, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscScalar *, const PetscScalar *x, G &&fetch, A &&,
                                       F &&f) const
  {
    const PetscInt threads = (PetscInt)gridDim.x * blockDim.x;

    for (PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; number < m.rows; number += threads) {
      const PetscInt c = SINGLE ? 0 : number % m.dof, p = SINGLE ? number : number / m.dof, l = p / m.n[0];
      const PetscInt i = m.begin[0] + p % m.n[0], j = m.begin[1] + l % m.n[1], k = m.begin[2] + l / m.n[1],
                     line  = k * m.size[1] + j;
      const PetscCount row = SINGLE ? (PetscCount)line * m.size[0] + i : ((PetscCount)line * m.size[0] + i) * m.dof + c;
      const PetscScalar   *from    = x + (SINGLE ? 1 : m.dof) * (i + j * m.sj + k * m.sk);
      decltype(fetch(row)) fetched = fetch(row);

      f(row,
        SpikeStencilSum<SINGLE>(m, shared.point, c, i, j, k,
                                [&](const SpikeStencilPoint &o) {
                                  return from + (SINGLE ? 1 : m.dof) * (o.i + o.j * m.sj + o.k * m.sk);
                                }),
        fetched, [&] { return from[c]; });
    }
  }
};

/* The ends of a rank's box, up to six boxes of it, with the points around them in ghost[]; x is a vector of the box */
typedef struct {
  SpikeStencilTable  table;
  PetscInt           at[7]; /* first row of each box */
  PetscInt           begin[6][3], n[6][3];
  PetscCount         first[6], sj[6], sk[6]; /* of the slabs, see stencil.h */
  const PetscScalar *ghost;
} SpikeStencilEndsTable;

/* As SpikeStencilRows, with a slab found for each point: surfaces are small beside what they surround */
template <bool SINGLE>
struct SpikeStencilEnds {
  static constexpr bool FAST   = false;
  static constexpr int  ATONCE = 4, WITHSTEP = 3;

  SpikeStencilEndsTable m;

  using SharedMemory = typename SpikeStencilRows<SINGLE>::SharedMemory;

  __device__ __forceinline__ void prepare(SharedMemory &shared) const
  {
    SpikeStencilRows<SINGLE>{m.table}.prepare(shared);
  }

  template <typename G, typename A, typename F>
  __device__ __forceinline__ void each(const SharedMemory &shared, PetscScalar *, const PetscScalar *x, G &&fetch, A &&,
                                       F &&f) const
  {
    const PetscInt  threads = (PetscInt)gridDim.x * blockDim.x;
    const PetscInt *size    = m.table.size;
    const int       dof     = SINGLE ? 1 : m.table.dof;

    for (PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; number < m.at[6]; number += threads) {
      int b = 0;

      while (number >= m.at[b + 1]) b++;
      const PetscInt r = number - m.at[b], c = SINGLE ? 0 : r % dof, p = SINGLE ? r : r / dof, l = p / m.n[b][0];
      const PetscInt i = m.begin[b][0] + p % m.n[b][0], j = m.begin[b][1] + l % m.n[b][1],
                     k             = m.begin[b][2] + l / m.n[b][1];
      const PetscCount     row     = (((PetscCount)k * size[1] + j) * size[0] + i) * dof + c;
      decltype(fetch(row)) fetched = fetch(row);
      const auto           at      = [&](const SpikeStencilPoint &o) {
        const PetscInt pi = i + o.i, pj = j + o.j, pk = k + o.k;
        int            slab = 6;

        if (pk < 0) slab = 0;
        else if (pk >= size[2]) slab = 1;
        else if (pj < 0) slab = 2;
        else if (pj >= size[1]) slab = 3;
        else if (pi < 0) slab = 4;
        else if (pi >= size[0]) slab = 5;

        return slab == 6 ? x + dof * (pi + pj * m.table.sj + pk * m.table.sk)
                                        : m.ghost + dof * (m.first[slab] + pi + pj * m.sj[slab] + pk * m.sk[slab]);
      };

      f(row, SpikeStencilSum<SINGLE>(m.table, shared.point, c, i, j, k, at), fetched,
        [&] { return x[dof * (i + j * m.table.sj + k * m.table.sk) + c]; });
    }
  }
};

/* How a box is gone through, by `blocks` thread blocks with `shared` bytes of planes each; mask 0: by the table */
typedef struct {
  unsigned          mask, blocks;
  size_t            shared;
  SpikeStencilBox   box;
  SpikeStencilTable table;
} SpikeStencilPlan;

/* launch(rows) with the loop that the plan has */
template <typename L>
static PetscErrorCode SpikeStencilDispatch(const SpikeStencilPlan &p, L &&launch)
{
  PetscFunctionBegin;
  switch (p.mask) {
  case SPIKE_STENCIL_STAR5:
    PetscCall(launch(SpikeStencilPatches<SPIKE_STENCIL_STAR5>{p.box}));
    break;
  case SPIKE_STENCIL_BOX9:
    PetscCall(launch(SpikeStencilPatches<SPIKE_STENCIL_BOX9>{p.box}));
    break;
  case SPIKE_STENCIL_STAR7:
    PetscCall(launch(SpikeStencilPatches<SPIKE_STENCIL_STAR7>{p.box}));
    break;
  case SPIKE_STENCIL_BOX27:
    PetscCall(launch(SpikeStencilPatches<SPIKE_STENCIL_BOX27>{p.box}));
    break;
  default:
    if (p.table.dof == 1) PetscCall(launch(SpikeStencilRows<true>{p.table}));
    else PetscCall(launch(SpikeStencilRows<false>{p.table}));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* stencil.cu: points begin <= p < end, at least one. step: a step follows; more: rows read more than x */
PETSC_INTERN PetscErrorCode SpikeStencilPlan_CUDA(const SpikeStencil *, const PetscInt begin[3], const PetscInt end[3],
                                                  PetscInt sj, PetscInt sk, bool stride, bool more, SpikeStencilPlan *);

/* The table of the whole box, with x and y its vectors */
PETSC_INTERN void SpikeStencilTable_CUDA(const SpikeStencil *, SpikeStencilTable *);

/* The ends of the rank's box by `blocks` blocks, at least one; there may be no row */
PETSC_INTERN PetscErrorCode SpikeStencilEndsPlan_CUDA(const SpikeStencil *, SpikeStencilEndsTable *, unsigned *blocks);
