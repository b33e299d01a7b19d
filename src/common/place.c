/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c: where matrices and vectors are */
#include "place.h"
#include <petsc/private/vecimpl.h>

PetscBool SpikeVecHasArray(Vec v)
{
  return (PetscBool)(v->petscnative || v->ops->getarray || v->ops->getarrayread);
}

PetscErrorCode SpikeMatIsOnDevice(Mat A, PetscBool *is)
{
  VecType   type;
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(PetscStrcmpAny(type, is, VECCUDA, VECSEQCUDA, VECMPICUDA, ""));
  if (*is) {
    PetscCall(MatBoundToCPU(A, &bound));
    if (bound) *is = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeVecIsOnDevice(Vec v, PetscBool *is)
{
  const PetscScalar *array;
  PetscMemType       memtype;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!SpikeVecHasArray(v)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayReadAndMemType(v, &array, &memtype));
  PetscCall(VecRestoreArrayReadAndMemType(v, &array));
  *is = (PetscBool)PetscMemTypeDevice(memtype);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeVecIsHalfBound(Vec v, PetscBool *is)
{
  PetscBool cuda, device, bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(SpikeVecIsOnDevice(v, &device));
  PetscCall(VecBoundToCPU(v, &bound));
  *is = (PetscBool)(cuda && !device && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}
