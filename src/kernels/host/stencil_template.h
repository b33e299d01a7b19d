/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil_template.h: a line of a stencil, for one instruction set; included behind dia_template.h. Sums are in registers, and what they read of x is in the first-level cache but for the lines at its front */
#include "../stencil.h"

#define KS_REGISTERS 4

static void SPIKE_PASTE3(ks_line, loop, SPIKE_ISA)(PetscInt count, const PetscScalar *const coef[], PetscBool constant, const PetscInt shift[], PetscInt begin, PetscInt end, const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscInt i = begin;

#if !defined(PETSC_USE_COMPLEX)
  for (; i + KS_REGISTERS * KR_LANES <= end; i += KS_REGISTERS * KR_LANES) {
    krv_t v[KS_REGISTERS], *out = (krv_t *)(y + i);

    memset(v, 0, sizeof(v));
    if (z) { SPIKE_UNROLL for (int k = 0; k < KS_REGISTERS; k++) v[k] = ((const krv_t *)(z + i))[k]; }
    for (PetscInt s = 0; s < count; s++) {
      const krv_t *b = (const krv_t *)(x + shift[s] + i);

      if (constant) {
        const PetscScalar a = *coef[s];

        SPIKE_UNROLL for (int k = 0; k < KS_REGISTERS; k++) v[k] += a * b[k];
      } else {
        const krv_t *a = (const krv_t *)(coef[s] + i);

        SPIKE_UNROLL for (int k = 0; k < KS_REGISTERS; k++) v[k] += a[k] * b[k];
      }
    }
    SPIKE_UNROLL for (int k = 0; k < KS_REGISTERS; k++) out[k] = v[k];
  }
#endif
  for (; i < end; i++) {
    PetscScalar sum = z ? z[i] : (PetscScalar)0.0;

    for (PetscInt s = 0; s < count; s++) sum += KB_MUL(coef[s][constant ? 0 : i], x[shift[s] + i]);
    y[i] = sum;
  }
}

const SpikeStencilLine SPIKE_PASTE2(SpikeStencilLine_, SPIKE_ISA) = SPIKE_PASTE3(ks_line, loop, SPIKE_ISA);
#undef KS_REGISTERS
#undef KB_DOT
#undef KB_MUL
#undef KR_LANES
