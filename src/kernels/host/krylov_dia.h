/* SPDX-License-Identifier: BSD-2-Clause */
/*
  krylov_dia.h: the product with a copy by diagonals, for one instruction set; included behind krylov_block.h.

  Reads the values once, as one stream, and x as often as the caches lose it; writes y once. The order of the sum of a row is that of its diagonals. Blocks all of whose places lie in the
  matrix are summed in registers; at its ends each diagonal has the rows that it has.
*/
#include "krylov_host.h"

#if !defined(PETSC_USE_COMPLEX)
  #define KD_REGISTERS PetscMin(8, SPIKE_DIA_ROWS / KR_LANES)
#endif

static void SPIKE_PASTE3(kd_mult, loop, SPIKE_ISA)(const SpikeKrylovDia *m, PetscInt begin, PetscInt end, const PetscScalar *x, PetscScalar *y)
{
  for (PetscInt i = begin; i < end; i += SPIKE_DIA_ROWS) {
    const PetscInt     rows = PetscMin((PetscInt)SPIKE_DIA_ROWS, end - i);
    const PetscScalar *val  = m->val + (PetscCount)i * m->count;
    PetscScalar        sum[SPIKE_DIA_ROWS];

#if !defined(PETSC_USE_COMPLEX)
    if (rows == SPIKE_DIA_ROWS && i + m->offset[0] >= 0 && m->n - SPIKE_DIA_ROWS - i >= m->offset[m->count - 1]) {
      for (PetscInt r = 0; r < SPIKE_DIA_ROWS; r += KD_REGISTERS * KR_LANES) {
        krv_t v[KD_REGISTERS], *out = (krv_t *)(y + i + r);

        memset(v, 0, sizeof(v));
        for (PetscInt d = 0; d < m->count; d++) {
          const krv_t *a = (const krv_t *)(val + d * SPIKE_DIA_ROWS + r), *b = (const krv_t *)(x + i + r + m->offset[d]);

          SPIKE_UNROLL for (int k = 0; k < KD_REGISTERS; k++) v[k] += a[k] * b[k];
        }
        SPIKE_UNROLL for (int k = 0; k < KD_REGISTERS; k++) out[k] = v[k];
      }
      continue;
    }
#endif
    for (PetscInt r = 0; r < SPIKE_DIA_ROWS; r++) sum[r] = 0.0;
    for (PetscInt d = 0; d < m->count; d++) {
      const PetscCount   j     = (PetscCount)i + m->offset[d];
      const PetscInt     first = (PetscInt)PetscMax(0, -j), last = (PetscInt)PetscMin(rows, m->n - j);
      const PetscScalar *a = val + d * SPIKE_DIA_ROWS;

      for (PetscInt r = first; r < last; r++) sum[r] += KB_MUL(a[r], x[j + r]);
    }
    for (PetscInt r = 0; r < rows; r++) y[i + r] = sum[r];
  }
}

const SpikeKrylovDiaLoop SPIKE_PASTE2(SpikeKrylovDiaLoop_, SPIKE_ISA) = SPIKE_PASTE3(kd_mult, loop, SPIKE_ISA);
#undef KD_REGISTERS
#undef KB_MUL
#undef KR_LANES
