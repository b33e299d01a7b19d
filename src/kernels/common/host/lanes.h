/* SPDX-License-Identifier: BSD-2-Clause */
/*
  lanes.h: a vector register of PetscScalar for one instruction set, for host loops of krylov, dia and stencil.

  lanes_t holds LANES values; LANES_MUL(a, b) = a b and LANES_DOT(a, b) = conj(a) b, of registers or single values.
  Complex numbers go one by one, multiplied without the recovery of infinities that C asks for.
*/
#pragma once

#include <petscspike.h>
#include "target.h"

#if defined(PETSC_USE_COMPLEX)
typedef PetscScalar lanes_t;

SPIKE_INLINE PetscScalar lanes_complex_mul(PetscScalar a, PetscScalar b)
{
  const PetscReal ar = PetscRealPart(a), ai = PetscImaginaryPart(a), br = PetscRealPart(b), bi = PetscImaginaryPart(b);

  return PetscCMPLX(ar * br - ai * bi, ar * bi + ai * br);
}
SPIKE_INLINE PetscScalar lanes_complex_dot(PetscScalar a, PetscScalar b)
{
  const PetscReal ar = PetscRealPart(a), ai = PetscImaginaryPart(a), br = PetscRealPart(b), bi = PetscImaginaryPart(b);

  return PetscCMPLX(ar * br + ai * bi, ar * bi - ai * br);
}
  #define LANES           1
  #define LANES_MUL(a, b) lanes_complex_mul(a, b)
  #define LANES_DOT(a, b) lanes_complex_dot(a, b)
#else
typedef PetscScalar lanes_t __attribute__((vector_size(SPIKE_VBYTES), aligned(sizeof(PetscScalar)), may_alias));
  #define LANES           ((PetscInt)(SPIKE_VBYTES / sizeof(PetscScalar)))
  #define LANES_MUL(a, b) ((a) * (b))
  #define LANES_DOT(a, b) ((a) * (b))
#endif
