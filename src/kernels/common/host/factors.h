/* SPDX-License-Identifier: BSD-2-Clause */
/* factors.h: numbers in each precision of the factors */
#pragma once

#include "kernels/common/types.h"
#include "half.h"

/* The two types of the factors */
#if defined(PETSC_USE_COMPLEX)
typedef double _Complex SpikeDouble;
typedef float _Complex SpikeSingle;
#else
typedef double SpikeDouble;
typedef float  SpikeSingle;
#endif

/* Element t of an array of factors; an element of 16 bits comes by way of single precision */
static inline PetscScalar SpikeHostGet(PetscSpikePrecision precision, const void *a, PetscCount t)
{
  PetscScalar v;

  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) v = (PetscScalar)((const SpikeDouble *)a)[t];
  else if (precision == PETSC_SPIKE_PRECISION_SINGLE) v = (PetscScalar)((const SpikeSingle *)a)[t];
  else {
    const unsigned short *from = (const unsigned short *)((const SpikeHalf *)a + t);
    PetscReal            *to   = (PetscReal *)&v;

    for (size_t k = 0; k < sizeof(v) / sizeof(*to); k++)
      to[k] = precision == PETSC_SPIKE_PRECISION_BF16 ? SpikeFromBF16(from[k]) : SpikeFromFP16(from[k]);
  }
  return v;
}

static inline void SpikeHostPut(PetscSpikePrecision precision, void *a, PetscCount t, PetscScalar v)
{
  if (precision == PETSC_SPIKE_PRECISION_DOUBLE) ((SpikeDouble *)a)[t] = (SpikeDouble)v;
  else if (precision == PETSC_SPIKE_PRECISION_SINGLE) ((SpikeSingle *)a)[t] = (SpikeSingle)v;
  else {
    const PetscReal *from = (const PetscReal *)&v;
    unsigned short  *to   = (unsigned short *)((SpikeHalf *)a + t);

    for (size_t k = 0; k < sizeof(v) / sizeof(*from); k++)
      to[k] = precision == PETSC_SPIKE_PRECISION_BF16 ? SpikeToBF16((float)from[k]) : SpikeToFP16((float)from[k]);
  }
}
