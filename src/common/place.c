/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c: where matrices and vectors are */
#include "place.h"
#include "array.h"
#include <petsc/private/vecimpl.h>

PetscBool SpikeVecHasArray(Vec v)
{
  return (PetscBool)(v->petscnative || v->ops->getarray || v->ops->getarrayread);
}

PetscErrorCode SpikeMatWantsDeviceVecs(Mat A, PetscBool *is)
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
  PetscMemType memtype;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (!SpikeVecHasArray(v)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeVecGetMemType(v, &memtype));
  *is = (PetscBool)PetscMemTypeDevice(memtype);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeVecIsHalfBound(Vec v, PetscBool *is)
{
  PetscBool cuda, bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  *is = (PetscBool)(cuda && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}
