/* SPDX-License-Identifier: BSD-2-Clause */
/*
  place.h: where matrices and vectors are. MatMult() of a MATAIJCUSPARSE works on arrays of the device, without an error
  where a vector is of the host or bound to it: it leaves y as it was, and may read an x of before. VecDotNorm2() of two
  vectors in two places reads the other one as it was once. And what VecDuplicate() makes of a vector that is bound to
  the host has the functions of one, but is not bound: a copy into it may stay on the device
*/
#pragma once

#include <petscmat.h>

/* Vectors without arrays, as those that SLEPc's Jacobi-Davidson puts together of several, are in no place */
PETSC_INTERN PetscBool SpikeVecHasArray(Vec);

/*
  Whether products of A want arrays of a device, wherever its entries are; whether the array of v is one; whether v,
  whose array is of the host, is such a duplicate
*/
PETSC_INTERN PetscErrorCode SpikeMatWantsDeviceVecs(Mat A, PetscBool *is);
PETSC_INTERN PetscErrorCode SpikeVecIsOnDevice(Vec v, PetscBool *is);
PETSC_INTERN PetscErrorCode SpikeVecIsHalfBound(Vec v, PetscBool *is);
