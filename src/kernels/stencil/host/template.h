/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: a line of a stencil, for one instruction set. Sums are in registers, and what they read of x is in the
  L1 cache, except the lines that are new
*/
#include "kernels/stencil/stencil.h"

#if !defined(PETSC_USE_COMPLEX)
/* `registers` of sums from i on: several, for each sum is a chain of additions */
SPIKE_INLINE void ks_block(const int registers, PetscInt count, const PetscScalar *const coef[], PetscBool constant,
                           const PetscScalar *const from[], PetscInt i, const PetscScalar *z, PetscScalar *y)
{
  lanes_t v[4], *out = (lanes_t *)(y + i);

  memset(v, 0, sizeof(v));
  if (z) { SPIKE_UNROLL for (int k = 0; k < registers; k++) v[k] = ((const lanes_t *)(z + i))[k]; }
  for (PetscInt s = 0; s < count; s++) {
    const lanes_t *b = (const lanes_t *)(from[s] + i);

    if (constant) {
      const PetscScalar a = *coef[s];

      SPIKE_UNROLL for (int k = 0; k < registers; k++) v[k] += a * b[k];
    } else {
      const lanes_t *a = (const lanes_t *)(coef[s] + i);

      SPIKE_UNROLL for (int k = 0; k < registers; k++) v[k] += a[k] * b[k];
    }
  }
  SPIKE_UNROLL for (int k = 0; k < registers; k++) out[k] = v[k];
}

/* Blocks as long as they fit; a last one takes some points a second time, but not where z may be y */
  #define KS_BLOCKS(registers) \
    do { \
      for (; i + registers * LANES <= end; i += registers * LANES) \
        ks_block(registers, count, coef, constant, from, i, z, y); \
      if (i < end && !z && begin + registers * LANES <= end) { \
        ks_block(registers, count, coef, constant, from, end - registers * LANES, z, y); \
        i = end; \
      } \
    } while (0)
#endif

static void SPIKE_PASTE3(ks_line, loop, SPIKE_ISA)(PetscInt count, const PetscScalar *const coef[], PetscBool constant,
                                                   const PetscScalar *const from[], PetscInt begin, PetscInt end,
                                                   const PetscScalar *z, PetscScalar *y)
{
  PetscInt i = begin;

#if !defined(PETSC_USE_COMPLEX)
  KS_BLOCKS(4);
  KS_BLOCKS(2);
  KS_BLOCKS(1);
  #undef KS_BLOCKS
#endif
  for (; i < end; i++) {
    PetscScalar sum = z ? z[i] : (PetscScalar)0.0;

    for (PetscInt s = 0; s < count; s++) sum += LANES_MUL(coef[s][constant ? 0 : i], from[s][i]);
    y[i] = sum;
  }
}

const SpikeStencilLine SPIKE_PASTE2(SpikeStencilLine_, SPIKE_ISA) = SPIKE_PASTE3(ks_line, loop, SPIKE_ISA);
