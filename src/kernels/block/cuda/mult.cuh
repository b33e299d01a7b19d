/* SPDX-License-Identifier: BSD-2-Clause */
/* mult.cuh: products of a matrix of small blocks, or of its transpose, with tall blocks */
#pragma once

#include "mult_buffer.cuh"
#include "mult_lanes.cuh"
#include "mult_stream.cuh"
#include "mult_wide.cuh"

/*
  Any block size and alignment: Y [op] A X, or with A^T, of up to MAXCOLS columns. A warp makes 8 rows of a block row. A
  step is 4 columns of a block; operands are its piece and that of X, as they lie in memory. Neighbouring warps have
  neighbouring block rows, which are likely to find pieces of X in the same caches. Bytes: A and its indices once, Y
  once. A row is summed in the order of its blocks.
*/
template <int MAXCOLS, bool TRANSPOSED, typename V>
__device__ static __forceinline__ void SpikeBlockMult(const SpikeBlockItem &t, unsigned block)
{
  constexpr int C8 = MAXCOLS / 8;
  const int l = (int)(threadIdx.x & 31), g = l / 4, q = l % 4, bs = t.bs, tiles = (bs + 7) / 8, steps = (bs + 3) / 4;
  const PetscCount unit = (PetscCount)block * SPIKE_BLOCK_WARPS + (PetscCount)(threadIdx.x / 32);
  const PetscInt   row  = (PetscInt)(unit / tiles);
  const int        r    = 8 * (int)(unit % tiles); /* first row in the block row */
  const V         *X = (const V *)t.X, *A = (const V *)t.a;
  V               *Y = (V *)t.Y;
  SpikeMMA         c[C8];

  if (row >= t.n) return;
  const PetscInt   first = t.ai[row], count = (t.ai[row + 1] - first);
  const PetscCount i0 = (PetscCount)row * bs + r + g; /* the lane's row of Y */

  SpikeUnroll(j, C8) {
    c[j].clear();
    SpikeUnroll(e, 2) {
      const int column = 8 * j + 2 * q + e;

      if (t.mode != SPIKE_BLOCK_SET && r + g < bs && column < t.m)
        c[j].put(e, t.rowmajor ? Y[i0 * t.ldy + column] : Y[i0 + column * t.ldy]);
    }
  }
  PetscInt b = 0; /* the next step: block, and columns from 4 s on */
  int      s = 0;

  while (b < count) {
    V a[SPIKE_BLOCK_AHEAD], x[SPIKE_BLOCK_AHEAD][C8];

    SpikeUnroll(u, SPIKE_BLOCK_AHEAD) {
      const int  k     = 4 * s + q; /* the lane's row of X, in the block */
      const bool there = b < count;

      a[u] = V(0.0);
      SpikeUnroll(j, C8) x[u][j] = V(0.0);
      if (there) {
        const PetscCount p = (TRANSPOSED ? (PetscCount)t.at[first + b] : (PetscCount)first + b) * bs * bs,
                         i = (PetscCount)t.aj[first + b] * bs + k;

        if (k < bs) {
          if (r + g < bs)
            a[u] = SpikeBlockConj(TRANSPOSED ? A[p + k + (r + g) * bs] : A[p + r + g + k * bs],
                                  TRANSPOSED && t.conjugate);
          SpikeUnroll(j, C8)
            if (8 * j + g < t.m) x[u][j] = t.rowmajor ? X[i * t.ldx + 8 * j + g] : X[i + (8 * j + g) * t.ldx];
        }
        if (++s == steps) {
          s = 0;
          b++;
        }
      }
      if (t.mode == SPIKE_BLOCK_SUB) a[u] = -a[u];
    }
    SpikeUnroll2(u, SPIKE_BLOCK_AHEAD, j, C8) c[j].add(a[u], x[u][j]);
  }
  SpikeUnroll2(j, C8, e, 2) {
    const int column = 8 * j + 2 * q + e;

    if (r + g < bs && column < t.m) Y[t.rowmajor ? i0 * t.ldy + column : i0 + column * t.ldy] = V(c[j].get(e));
  }
}

/* *t <- kernel, block rows of a warp and matrix of a product. Returns the thread blocks that it wants */
static inline unsigned SpikeBlockProductItem(PetscInt multiprocessors, int size, const SpikeBlockTask *task,
                                             SpikeBlockItem *t)
{
  const SpikeBlockMat     *A       = task->A;
  const SpikeBlockMatCUDA *m       = (const SpikeBlockMatCUDA *)A->data;
  const bool               trans   = task->op != SPIKE_BLOCK_MULT;
  const int                columns = SpikeBlockColumns((int)task->m);
  const bool               special = !trans && (A->bs == 4 || A->bs == 8 || A->bs == 16) && (size_t)A->a % 16 == 0;
  const bool               even    = SpikeBlockAligned(task->X, task->ldx, size, PetscMin(16, 2 * size));
  const bool               pairs   = task->rowmajor ? columns < 16 || (task->m % 2 == 0 && even) : A->bs == 4 || even;
  const bool               fits    = (PetscCount)A->nb <= (PetscCount)UINT_MAX &&
                    (task->rowmajor ? A->bs * task->ldx : A->bs) <= (PetscCount)(UINT_MAX / size);
  const bool lanes = special && m->even && task->m % 4 == 0 &&
                     SpikeBlockPrefersLanes((int)A->bs, columns, size, t->rowmajor) &&
                     (!task->rowmajor || SpikeBlockAligned(task->X, task->ldx, size, 16));
  const bool buffer = !trans && task->m == 1 && SpikeBlockPrefersBuffer((int)A->bs) && (size_t)A->a % 16 == 0 &&
                      (!task->rowmajor || task->ldx == 1);
  PetscCount units; /* a warp each */

  t->columns   = columns;
  t->conjugate = task->op == SPIKE_BLOCK_MULT_HERMITIAN;
  t->bs        = (int)A->bs;
  t->a         = A->a;
  t->ai        = trans ? m->ti : m->ai;
  t->aj        = trans ? m->tj : m->aj;
  t->at        = trans ? m->tp : NULL;
  t->n         = trans ? A->nb : A->mb;
  t->wide      = SpikeBlockAligned(t->Y, t->ldy, size, 16);
  if (lanes) {
    t->kind = SPIKE_BLOCK_KIND_LANES;
    units   = ((PetscCount)t->n * t->bs * (columns / 4) + 31) / 32;
  } else if (buffer) {
    t->kind = SPIKE_BLOCK_KIND_BUFFER;
    t->k    = (int)SpikeBlockBufferWarpRows(t->bs, size, t->n, m->blocks,
                                            SpikeBlockWarps(t->kind) *
                                              SpikeBlockLeast(t->kind, columns, t->bs, size, false) * multiprocessors);
    units   = t->n / t->k + (t->n % t->k ? 1 : 0);
  } else if (special && (task->m == 1 || (pairs && fits))) {
    t->kind = task->m == 1 ? SPIKE_BLOCK_KIND_VECTOR : SPIKE_BLOCK_KIND_WIDE;
    t->k    = (int)SpikeBlockWarpRows(t->kind, t->n, A->bs, size, multiprocessors);
    units   = t->n / t->k + (t->n % t->k ? 1 : 0);
    if (task->m == 1) t->wide = (size_t)t->Y % 16 == 0;
  } else if (!trans && task->m == 1) {
    t->kind = SPIKE_BLOCK_KIND_STREAM;
    t->k    = (int)SpikeBlockStreamRows(32 / SpikeBlockStreamLanes(t->bs), t->n, multiprocessors);
    units   = t->n / t->k + (t->n % t->k ? 1 : 0);
  } else {
    t->kind    = trans ? SPIKE_BLOCK_KIND_TRANSPOSE : SPIKE_BLOCK_KIND_MULT;
    t->columns = PetscMax(columns, 8);
    units      = (PetscCount)t->n * ((t->bs + 7) / 8);
  }
  return (unsigned)((units + SpikeBlockWarps(t->kind) - 1) / SpikeBlockWarps(t->kind));
}
