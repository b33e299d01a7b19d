/* SPDX-License-Identifier: BSD-2-Clause */
/*
  border.h: values of a matrix taken apart into a band and the rows and columns of a border: the contract of backends
*/
#pragma once

#include "band.h"

/*
  Entry k of the n rows of A becomes band[to[k]], or rest[-1 - to[k]] where to[k] < 0: all entries of the rows of the
  border, and others. What no entry becomes is zero in rest, and untouched in band. Rows of the border have one place
  each in band, for a number of the size of its entries.
*/
typedef struct {
  PetscInt n, m, entries, nrest;

  /* in the backend's memory */
  const PetscInt *to;       /* [entries of A]                                           */
  const PetscInt *rows;     /* [m] rows of the border, local, ascending                 */
  const PetscInt *diagonal; /* [m] their places in band                                 */
  void           *scratch;  /* of the size that the backend asks for; NULL where it is 0 */
} SpikeSplit;

typedef struct {
  PetscReal norm;   /* largest sum of |a_ij| over a row of A                         */
  PetscReal most;   /* largest |a_ij| that went to band                              */
  PetscInt  badrow; /* first row of A with an entry that is not finite, -1 if none   */
} SpikeSplitSeen;

typedef struct {
  /* Bytes of scratch for m rows of a border */
  size_t (*scratch)(PetscInt m);

  /* Done on return. Reads each entry once, and to[]; deterministic. band[diagonal[k]] <- SpikeSplitUnit(most) */
  PetscErrorCode (*split)(SpikeBand *, const SpikeSplit *, const SpikeCSR *A, PetscScalar *band, PetscScalar *rest,
                          SpikeSplitSeen *);
} SpikeSplitKernels;

/* The power of two up to the largest magnitude of the band, 1 where that means nothing */
SPIKE_BOTH_INLINE PetscReal SpikeSplitUnit(PetscReal most)
{
  int e;

  if (!(most > (PetscReal)0.0) || !(most <= PETSC_MAX_REAL)) return (PetscReal)1.0;
  (void)frexp((double)most, &e);
  return (PetscReal)ldexp(0.5, e);
}

PETSC_INTERN const SpikeSplitKernels SpikeSplitKernels_Host, SpikeSplitKernels_CUDA;

PETSC_INTERN const SpikeSplitKernels *SpikeSplitKernelsFind(PetscMemType);
