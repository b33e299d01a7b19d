/* SPDX-License-Identifier: BSD-2-Clause */
/* matcsr.h: PETSc's sequential AIJ matrices as pieces in CSR, on the host or where a backend works */
#pragma once

#include <petscmat.h>
#include "kernels/common/types.h"

PETSC_INTERN PetscErrorCode SpikeMatGetMemType(Mat, PetscMemType *);
PETSC_INTERN PetscErrorCode SpikeMatSeqAIJGetCSR(Mat, PetscMemType, SpikeCSR *);
PETSC_INTERN PetscErrorCode SpikeMatSeqAIJRestoreCSR(Mat, PetscMemType, SpikeCSR *);
PETSC_INTERN PetscErrorCode SpikeMatSeqAIJGetArrayWrite(Mat, PetscMemType, PetscScalar **);
PETSC_INTERN PetscErrorCode SpikeMatSeqAIJRestoreArrayWrite(Mat, PetscMemType, PetscScalar **);
