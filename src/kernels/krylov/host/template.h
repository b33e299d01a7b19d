/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: the host loops over the steps of a Krylov method, for one instruction set; krylov_isa.c includes it once.

  Two registers of rows at a time, with sums of their own, added up lane by lane at the end: the order of a sum depends
  on n and on the instruction set. Loops with a diagonal matrix in single precision have the same order.
*/
#include "kernels/krylov/krylov.h"
#include "single.h"

#if defined(PETSC_USE_COMPLEX)
/* sign -1: a b, 1: conj(a) b */
SPIKE_INLINE PetscScalar kr_xdot(PetscReal sign, PetscScalar a, PetscScalar b)
{
  const PetscReal ar = PetscRealPart(a), ai = sign * PetscImaginaryPart(a), br = PetscRealPart(b),
                  bi = PetscImaginaryPart(b);

  return PetscCMPLX(ar * br + ai * bi, ar * bi - ai * br);
}
  #define XDOT(a, b) kr_xdot(1 - 2 * f->symmetric, a, b)
#else
  #define XDOT(a, b) DOT(a, b)
#endif
#define MUL(a, b) LANES_MUL(a, b)
#define DOT(a, b) LANES_DOT(a, b)

#define STEPHEAD(name) SPIKE_INLINE void krv_##name(const SpikeKrylovFactors *f, lanes_t e[], lanes_t d[])
#include "kernels/krylov/steps.h"
#undef STEPHEAD
#define STEPHEAD(name) SPIKE_INLINE void kr1_##name(const SpikeKrylovFactors *f, PetscScalar e[], PetscScalar d[])
#include "kernels/krylov/steps.h"
#undef STEPHEAD
#undef MUL
#undef DOT
#undef XDOT

/* One row of a vector, or a register of rows; that of number SINGLE has single precision */
#define KR_GET(k, SINGLE, at) ((k) == (SINGLE) ? kn_one_single((const SpikeSingle *)a[k] + (at)) : a[k][at])
#define KR_LANES(k, SINGLE, at) \
  ((k) == (SINGLE) ? kn_lanes_single((const SpikeSingle *)a[k] + (at)) : *(const lanes_t *)(a[k] + (at)))

#define KR_BODY(loop, name, NVEC, READS, WRITES, NDOT, SINGLE) \
  static void SPIKE_PASTE3(kr_##name, loop, SPIKE_ISA)(PetscInt n, const SpikeKrylovFactors *factors, \
                                                       PetscScalar *const v[], PetscScalar sums[]) \
  { \
    const SpikeKrylovFactors fv = *factors, *const f = &fv; \
    lanes_t      e[NVEC], g[NVEC], d[NDOT + 1], h[NDOT + 1]; \
    PetscScalar  e1[NVEC], d1[NDOT + 1]; \
    PetscScalar *a[NVEC]; \
    PetscInt     i; \
\
    memset(d, 0, sizeof(d)); \
    memset(h, 0, sizeof(h)); \
    for (int k = 0; k < NDOT + 1; k++) d1[k] = 0.0; \
    for (int k = 0; k < NVEC; k++) a[k] = v[k]; \
    for (i = 0; i + 2 * LANES <= n; i += 2 * LANES) { \
      SPIKE_UNROLL for (int k = 0; k < NVEC; k++) if ((READS >> k) & 1) \
      { \
        e[k] = KR_LANES(k, SINGLE, i); \
        g[k] = KR_LANES(k, SINGLE, i + LANES); \
      } \
      krv_##name(f, e, d); \
      krv_##name(f, g, h); \
      SPIKE_UNROLL for (int k = 0; k < NVEC; k++) if ((WRITES >> k) & 1) \
      { \
        *(lanes_t *)(a[k] + i)         = e[k]; \
        *(lanes_t *)(a[k] + i + LANES) = g[k]; \
      } \
    } \
    for (; i < n; i++) { \
      SPIKE_UNROLL for (int k = 0; k < NVEC; k++) if ((READS >> k) & 1) e1[k] = KR_GET(k, SINGLE, i); \
      kr1_##name(f, e1, d1); \
      SPIKE_UNROLL for (int k = 0; k < NVEC; k++) if ((WRITES >> k) & 1) a[k][i] = e1[k]; \
    } \
    for (int k = 0; k < NDOT; k++) { \
      const lanes_t      both = d[k] + h[k]; \
      const PetscScalar *lane = (const PetscScalar *)&both; \
\
      sums[k] = d1[k]; \
      for (int l = 0; l < LANES; l++) sums[k] += lane[l]; \
    } \
  }
#define KR_LOOP(ID, name, NVEC, READS, WRITES, NDOT, FLOPS) \
  enum { \
    kr_##name##_nvec   = NVEC, \
    kr_##name##_reads  = READS, \
    kr_##name##_writes = WRITES, \
    kr_##name##_ndot   = NDOT \
  }; \
  KR_BODY(loop, name, NVEC, READS, WRITES, NDOT, -1)
#define KR_SINGLE(ID, name, D) \
  KR_BODY(single, name, kr_##name##_nvec, kr_##name##_reads, kr_##name##_writes, kr_##name##_ndot, D)
SPIKE_KRYLOV_STEPS(KR_LOOP)
SPIKE_KRYLOV_DIAGONALS(KR_SINGLE)
#undef KR_SINGLE
#undef KR_LOOP
#undef KR_BODY
#undef KR_LANES
#undef KR_GET

#define KR_ENTRY(ID, name, ...) SPIKE_PASTE3(kr_##name, loop, SPIKE_ISA),
const SpikeKrylovLoop SPIKE_PASTE2(SpikeKrylovLoops_, SPIKE_ISA)[SPIKE_KRYLOV_NSTEPS] = {SPIKE_KRYLOV_STEPS(KR_ENTRY)};
#undef KR_ENTRY
