/* SPDX-License-Identifier: BSD-2-Clause */
/*
  lanes.h: a vector register of PetscScalar for one instruction set: krv_t with KR_LANES numbers, and products that C
  compiles to plain multiplications
*/
#pragma once

#include <petscspike.h>
#include "target.h"

#if defined(PETSC_USE_COMPLEX)
typedef PetscScalar krv_t;

/* Without the test for infinities that C wants */
SPIKE_INLINE PetscScalar kr_mul(PetscScalar a, PetscScalar b)
{
  const PetscReal ar = PetscRealPart(a), ai = PetscImaginaryPart(a), br = PetscRealPart(b), bi = PetscImaginaryPart(b);

  return PetscCMPLX(ar * br - ai * bi, ar * bi + ai * br);
}
SPIKE_INLINE PetscScalar kr_dot(PetscScalar a, PetscScalar b)
{
  const PetscReal ar = PetscRealPart(a), ai = PetscImaginaryPart(a), br = PetscRealPart(b), bi = PetscImaginaryPart(b);

  return PetscCMPLX(ar * br + ai * bi, ar * bi - ai * br);
}
  #define KR_LANES     1
  #define KR_MUL(a, b) kr_mul(a, b)
  #define KR_DOT(a, b) kr_dot(a, b)
#else
typedef PetscScalar krv_t __attribute__((vector_size(SPIKE_VBYTES), aligned(sizeof(PetscScalar)), may_alias));
  #define KR_LANES     ((PetscInt)(SPIKE_VBYTES / sizeof(PetscScalar)))
  #define KR_MUL(a, b) ((a) * (b))
  #define KR_DOT(a, b) ((a) * (b))
#endif
