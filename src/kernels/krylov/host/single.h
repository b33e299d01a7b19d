/* SPDX-License-Identifier: BSD-2-Clause */
/* single.h: numbers in single precision as PetscScalar, one or a register of them, for one instruction set */
#pragma once

#include "kernels/common/host/factors.h"
#include "kernels/common/host/lanes.h"

SPIKE_INLINE PetscScalar kn_one_single(const SpikeSingle *a)
{
  return (PetscScalar)*a;
}

#if defined(PETSC_USE_COMPLEX)
SPIKE_INLINE lanes_t kn_lanes_single(const SpikeSingle *a)
{
  return kn_one_single(a);
}
#else
/* As many numbers as a register of PetscScalar has */
typedef float kn_floats __attribute__((vector_size(SPIKE_VBYTES / sizeof(PetscScalar) * 4), aligned(4), may_alias));

SPIKE_INLINE lanes_t kn_lanes_single(const SpikeSingle *a)
{
  return __builtin_convertvector(*(const kn_floats *)a, lanes_t);
}
#endif
