/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: products with a matrix by diagonals, for one instruction set.

  Bundles all of whose places are columns of this rank are summed in registers; at the ends each diagonal has the
  rows that it has, and its columns are the rank's or others'.
*/
#include "kernels/dia/dia.h"

#if !defined(PETSC_USE_COMPLEX)
  #define KD_REGISTERS PetscMin(8, SPIKE_DIA_ROWS / LANES)
#endif

/* sum += a x; the same with conj(a) */
SPIKE_INLINE void kd_add(PetscInt n, PetscBool conjugate, const PetscScalar *restrict a, const PetscScalar *restrict x,
                         PetscScalar *restrict sum)
{
  if (conjugate) {
    for (PetscInt r = 0; r < n; r++) sum[r] += LANES_DOT(a[r], x[r]);
  } else {
    for (PetscInt r = 0; r < n; r++) sum[r] += LANES_MUL(a[r], x[r]);
  }
}

static void SPIKE_PASTE3(kd_mult, loop, SPIKE_ISA)(const SpikeDIA *A, PetscInt begin, PetscInt end,
                                                   const PetscScalar *x, const PetscScalar *ghost, const PetscScalar *z,
                                                   PetscScalar *y)
{
  const PetscInt count = A->count;

  for (PetscInt i = begin; i < end; i += SPIKE_DIA_ROWS) {
    const PetscInt     rows = PetscMin((PetscInt)SPIKE_DIA_ROWS, end - i);
    const PetscScalar *val  = A->val + (PetscCount)i * count;
    PetscScalar        sum[SPIKE_DIA_ROWS];
    PetscInt           lo = 0, hi = count;

    /* diagonals at both ends of the list may have nothing in these rows: those of periodic boundaries */
    while (lo < hi && (A->last[lo] <= i || A->first[lo] >= i + rows)) lo++;
    while (lo < hi && (A->last[hi - 1] <= i || A->first[hi - 1] >= i + rows)) hi--;
#if !defined(PETSC_USE_COMPLEX)
    if (rows == SPIKE_DIA_ROWS && lo < hi && i + A->offset[lo] >= 0 && A->m - SPIKE_DIA_ROWS - i >= A->offset[hi - 1]) {
      for (PetscInt r = 0; r < SPIKE_DIA_ROWS; r += KD_REGISTERS * LANES) {
        lanes_t v[KD_REGISTERS], *out = (lanes_t *)(y + i + r);

        memset(v, 0, sizeof(v));
        if (z) { SPIKE_UNROLL for (int k = 0; k < KD_REGISTERS; k++) v[k] = ((const lanes_t *)(z + i + r))[k]; }
        for (PetscInt d = lo; d < hi; d++) {
          const lanes_t *a = (const lanes_t *)(val + (PetscCount)d * SPIKE_DIA_ROWS + r),
                        *b = (const lanes_t *)(x + i + r + A->offset[d]);

          SPIKE_UNROLL for (int k = 0; k < KD_REGISTERS; k++) v[k] += a[k] * b[k];
        }
        SPIKE_UNROLL for (int k = 0; k < KD_REGISTERS; k++) out[k] = v[k];
      }
      continue;
    }
#endif
    for (PetscInt r = 0; r < rows; r++) sum[r] = z ? z[i + r] : (PetscScalar)0.0;
    for (PetscInt d = lo; d < hi; d++) {
      const PetscScalar *a = val + (PetscCount)d * SPIKE_DIA_ROWS - i;
      const PetscCount   o = A->offset[d];
      PetscInt           low, own, above, high;

      SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high);
      if (low < own) kd_add(own - low, PETSC_FALSE, a + low, ghost + (low + o + A->below[d]), sum + (low - i));
      if (own < above) kd_add(above - own, PETSC_FALSE, a + own, x + (own + o), sum + (own - i));
      if (above < high)
        kd_add(high - above, PETSC_FALSE, a + above, ghost + (above + o + A->above[d]), sum + (above - i));
    }
    for (PetscInt r = 0; r < rows; r++) y[i + r] = sum[r];
  }
}

/*
  y += A^T x: rows one bundle after the other, so that a column's sum is in the order of its rows; in each the last
  diagonal first
*/
static void SPIKE_PASTE3(kd_transpose, loop, SPIKE_ISA)(const SpikeDIA *A, PetscBool conjugate, const PetscScalar *x,
                                                        PetscScalar *y)
{
  for (PetscInt i = 0; i < A->n; i += SPIKE_DIA_ROWS) {
    const PetscInt     rows = PetscMin((PetscInt)SPIKE_DIA_ROWS, A->n - i);
    const PetscScalar *val  = A->val + (PetscCount)i * A->count;

    for (PetscInt d = A->count - 1; d >= 0; d--) {
      PetscInt low, own, above, high;

      SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high);
      if (own < above)
        kd_add(above - own, conjugate, val + (PetscCount)d * SPIKE_DIA_ROWS + (own - i), x + own,
               y + ((PetscCount)own + A->offset[d]));
    }
  }
}

const SpikeDIALoops SPIKE_PASTE2(SpikeDIALoops_, SPIKE_ISA) = {SPIKE_PASTE3(kd_mult, loop, SPIKE_ISA),
                                                               SPIKE_PASTE3(kd_transpose, loop, SPIKE_ISA)};
#undef KD_REGISTERS
