/* SPDX-License-Identifier: BSD-2-Clause */
/*
  look_isa.c: the host loop of look.h for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this file
  once for each
*/
#include "kernels/band/look.h"
#include "kernels/common/host/lanes.h"

/* Where the diagonal entry of row i is: rows of a band have it as far from the first column as i is */
SPIKE_INLINE PetscInt look_diagonal(PetscInt i, PetscInt count, const PetscInt *aj)
{
  const PetscInt guess = count ? i - aj[0] : -1;

  if (guess >= 0 && guess < count && aj[guess] == i) return guess;
  for (PetscInt k = 0; k < count; k++)
    if (aj[k] == i) return k;
  return -1;
}

/* Entry by entry: not 0 where one is zero or above the diagonal's share, or columns do not ascend */
SPIKE_INLINE int look_single(PetscInt count, const PetscInt *aj, const PetscScalar *aa, PetscReal tiny,
                             PetscReal diagonal)
{
  int odd = 0;

  for (PetscInt k = 0; k < count; k++) {
#if defined(PETSC_USE_COMPLEX)
    /* |a| is at most twice the larger part: what that lets through is looked at again */
    const PetscReal re = PetscAbsReal(PetscRealPart(aa[k])), im = PetscAbsReal(PetscImaginaryPart(aa[k]));

    odd |= ((re == (PetscReal)0.0) & (im == (PetscReal)0.0)) | (2 * tiny * re > diagonal) | (2 * tiny * im > diagonal);
#else
    odd |= (aa[k] == (PetscScalar)0.0) | (tiny * PetscAbsReal(aa[k]) > diagonal);
#endif
    if (k + 1 < count) odd |= aj[k + 1] <= aj[k];
  }
  return odd;
}

#if !defined(PETSC_USE_COMPLEX)
  #if defined(PETSC_USE_REAL_SINGLE)
typedef int flags_t __attribute__((vector_size(SPIKE_VBYTES)));
  #else
typedef long long flags_t __attribute__((vector_size(SPIKE_VBYTES)));
  #endif
typedef PetscInt columns_t __attribute__((vector_size(SPIKE_VBYTES / sizeof(PetscScalar) * sizeof(PetscInt)),
                                          aligned(sizeof(PetscInt)), may_alias));

/* The same in whole vectors, noted in flags of lanes: the last one begins before others end */
SPIKE_INLINE void look_vectors(PetscInt count, const PetscInt *aj, const PetscScalar *aa, PetscReal tiny,
                               PetscReal diagonal, flags_t *odd, columns_t *back)
{
  const lanes_t share = (lanes_t){0} + diagonal;

  for (PetscInt k = 0;; k = PetscMin(k + LANES, count - LANES)) {
    const lanes_t a = *(const lanes_t *)(aa + k), part = tiny * a;

    *odd |= (flags_t)((a == 0) | (part > share) | (-part > share));
    if (k == count - LANES) break;
    *back |= (columns_t)(*(const columns_t *)(aj + k + 1) <= *(const columns_t *)(aj + k));
  }
  *back |= (columns_t)(*(const columns_t *)(aj + count - LANES) <= *(const columns_t *)(aj + count - LANES - 1));
}
#endif

static PetscBool SPIKE_PASTE3(look_plain, loop, SPIKE_ISA)(const SpikeCSR *A, PetscInt r0, PetscInt r1, PetscReal tiny)
{
  int any = 0;
#if !defined(PETSC_USE_COMPLEX)
  flags_t   odd  = {0};
  columns_t back = {0};
#endif

  for (PetscInt r = r0; r < r1; r++) {
    const PetscInt     begin = A->ai[r], count = A->ai[r + 1] - begin, *aj = A->aj + begin;
    const PetscScalar *aa       = A->aa + begin;
    const PetscInt     d        = look_diagonal(r - A->shift, count, aj);
    const PetscReal    diagonal = d < 0 ? (PetscReal)0.0 : PetscAbsScalar(aa[d]);

#if !defined(PETSC_USE_COMPLEX)
    if (count > LANES) {
      look_vectors(count, aj, aa, tiny, diagonal, &odd, &back);
      continue;
    }
#endif
    any |= look_single(count, aj, aa, tiny, diagonal);
  }
#if !defined(PETSC_USE_COMPLEX)
  for (int l = 0; l < LANES; l++) any |= odd[l] != 0 || back[l] != 0;
#endif
  return (PetscBool)!any;
}

const SpikeLookLoops SPIKE_PASTE2(SpikeLookLoops_, SPIKE_ISA) = {SPIKE_PASTE3(look_plain, loop, SPIKE_ISA)};
