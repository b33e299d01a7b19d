/* SPDX-License-Identifier: BSD-2-Clause */
/* matbaij.h: PETSc's MATBAIJ, and types made from it, as blocks in CSR, on the host or where a backend works */
#pragma once

#include <petscmat.h>
#include "kernels/block/block.h"

/* MatMPIBAIJGetSeqBAIJ(), for types whose names begin with that of MATMPIBAIJ too */
PETSC_INTERN PetscErrorCode SpikeMatMPIBAIJGetSeqBAIJ(Mat, Mat *, Mat *, const PetscInt *[]);

/*
  Pointers that hold until SpikeMatSeqBAIJRestoreCSR(). On a device A is a MATSEQBAIJCUDA that is not bound to the CPU.
  No value is copied unless it is out of date where it is asked for
*/
PETSC_INTERN PetscErrorCode SpikeMatSeqBAIJGetCSR(Mat, PetscMemType, SpikeBlockCSR *);
PETSC_INTERN PetscErrorCode SpikeMatSeqBAIJRestoreCSR(Mat, PetscMemType, SpikeBlockCSR *);
