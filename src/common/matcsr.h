/* SPDX-License-Identifier: BSD-2-Clause */
/* matcsr.h: PETSc's sequential AIJ matrices as pieces in CSR, on the host or where a backend works */
#pragma once

#include <petscmat.h>
#include "kernels/common/types.h"

PETSC_INTERN PetscErrorCode MatGetMemType_Spike(Mat, PetscMemType *);
PETSC_INTERN PetscErrorCode MatSeqAIJGetCSR_Spike(Mat, PetscMemType, SpikeCSR *);
PETSC_INTERN PetscErrorCode MatSeqAIJRestoreCSR_Spike(Mat, PetscMemType, SpikeCSR *);
PETSC_INTERN PetscErrorCode MatSeqAIJGetArrayWrite_Spike(Mat, PetscMemType, PetscScalar **);
PETSC_INTERN PetscErrorCode MatSeqAIJRestoreArrayWrite_Spike(Mat, PetscMemType, PetscScalar **);
