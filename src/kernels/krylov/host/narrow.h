/* SPDX-License-Identifier: BSD-2-Clause */
/*
  narrow.h: products by diagonals whose values have single precision or are bf16, for one instruction set; krylov_isa.c
  includes it once. The loops are those of dia: bundles all of whose places are columns of this rank in
  registers, others diagonal by diagonal. The correction comes last in each row.
*/
#include "kernels/krylov/krylov.h"
#include "single.h"

SPIKE_INLINE PetscScalar kn_one_bf16(const SpikeHalf *a)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(SpikeFromBF16(a->re), SpikeFromBF16(a->im));
#else
  return SpikeFromBF16(*a);
#endif
}

#if !defined(PETSC_USE_COMPLEX)
  #define KN_REGISTERS PetscMin(8, SPIKE_DIA_ROWS / LANES)

/* As many numbers as a register of PetscScalar has */
typedef unsigned int   kn_words __attribute__((vector_size(SPIKE_VBYTES / sizeof(PetscScalar) * 4), may_alias));
typedef unsigned short kn_halves
  __attribute__((vector_size(SPIKE_VBYTES / sizeof(PetscScalar) * 2), aligned(2), may_alias));

SPIKE_INLINE lanes_t kn_lanes_bf16(const SpikeHalf *a)
{
  const kn_words bits = __builtin_convertvector(*(const kn_halves *)a, kn_words) << 16;

  return __builtin_convertvector((kn_floats)bits, lanes_t);
}

  /* Whole bundles inside: y = sum_d a_d x + c x */
  #define KN_BLOCK(name, T) \
    SPIKE_INLINE void kn_bundle_##name(const SpikeDIA *A, PetscInt lo, PetscInt hi, const T *val, \
                                       const SpikeSingle *c, const PetscScalar *x, PetscScalar *y) \
    { \
      for (PetscInt r = 0; r < SPIKE_DIA_ROWS; r += KN_REGISTERS * LANES) { \
        lanes_t v[KN_REGISTERS], *out = (lanes_t *)(y + r); \
\
        memset(v, 0, sizeof(v)); \
        for (PetscInt d = lo; d < hi; d++) { \
          const T       *a = val + (PetscCount)d * SPIKE_DIA_ROWS + r; \
          const lanes_t *b = (const lanes_t *)(x + r + A->offset[d]); \
\
          SPIKE_UNROLL for (int k = 0; k < KN_REGISTERS; k++) v[k] += kn_lanes_##name(a + k * LANES) * b[k]; \
        } \
        SPIKE_UNROLL for (int k = 0; k < KN_REGISTERS; k++) \
          out[k] = v[k] + kn_lanes_single(c + r + k * LANES) * ((const lanes_t *)(x + r))[k]; \
      } \
    }
#else
  #define KN_BLOCK(name, T)
#endif

#if defined(PETSC_USE_COMPLEX)
  #define KN_INSIDE(name, T)
#else
  #define KN_INSIDE(name, T) \
    if (rows == SPIKE_DIA_ROWS && lo < hi && i + A->offset[lo] >= 0 && \
        A->m - SPIKE_DIA_ROWS - i >= A->offset[hi - 1] && A->m - SPIKE_DIA_ROWS >= i) { \
      kn_bundle_##name(A, lo, hi, val, c + i, x + i, y + i); \
      continue; \
    }
#endif

#define KN_MULT(name, T) \
  KN_BLOCK(name, T) \
  SPIKE_INLINE void kn_add_##name(PetscInt n, const T *restrict a, const PetscScalar *restrict x, \
                                  PetscScalar *restrict sum) \
  { \
    for (PetscInt r = 0; r < n; r++) sum[r] += LANES_MUL(kn_one_##name(a + r), x[r]); \
  } \
  static void SPIKE_PASTE3(kn_##name, loop, SPIKE_ISA)(const SpikeDIA *A, const void *values, const void *correction, \
                                                       PetscInt begin, PetscInt end, const PetscScalar *x, \
                                                       const PetscScalar *ghost, PetscScalar *y) \
  { \
    const PetscInt     count = A->count; \
    const SpikeSingle *c     = (const SpikeSingle *)correction; \
\
    for (PetscInt i = begin; i < end; i += SPIKE_DIA_ROWS) { \
      const PetscInt rows = PetscMin((PetscInt)SPIKE_DIA_ROWS, end - i); \
      const T       *val  = (const T *)values + (PetscCount)i * count; \
      PetscScalar    sum[SPIKE_DIA_ROWS]; \
      PetscInt       lo = 0, hi = count; \
\
      while (lo < hi && (A->last[lo] <= i || A->first[lo] >= i + rows)) lo++; \
      while (lo < hi && (A->last[hi - 1] <= i || A->first[hi - 1] >= i + rows)) hi--; \
      KN_INSIDE(name, T) \
      for (PetscInt r = 0; r < rows; r++) sum[r] = 0.0; \
      for (PetscInt d = lo; d < hi; d++) { \
        const T         *a = val + (PetscCount)d * SPIKE_DIA_ROWS - i; \
        const PetscCount o = A->offset[d]; \
        PetscInt         low, own, above, high; \
\
        SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high); \
        if (low < own) kn_add_##name(own - low, a + low, ghost + (low + o + A->below[d]), sum + (low - i)); \
        if (own < above) kn_add_##name(above - own, a + own, x + (own + o), sum + (own - i)); \
        if (above < high) \
          kn_add_##name(high - above, a + above, ghost + (above + o + A->above[d]), sum + (above - i)); \
      } \
      for (PetscInt r = 0; r < rows; r++) y[i + r] = sum[r] + LANES_MUL(kn_one_single(c + i + r), x[i + r]); \
    } \
  }
KN_MULT(single, SpikeSingle)
KN_MULT(bf16, SpikeHalf)
#undef KN_MULT
#undef KN_INSIDE
#undef KN_BLOCK
#undef KN_REGISTERS

const SpikeKrylovNarrowLoop SPIKE_PASTE2(SpikeKrylovNarrowLoops_,
                                         SPIKE_ISA)[2] = {SPIKE_PASTE3(kn_single, loop, SPIKE_ISA),
                                                          SPIKE_PASTE3(kn_bf16, loop, SPIKE_ISA)};
