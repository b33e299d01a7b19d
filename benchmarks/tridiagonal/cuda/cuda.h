/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda.h: for benchmarks/tridiagonal: the kernels on CUDA beside cuSPARSE, the preconditioner, and transfers */
#pragma once

#include "../run.h"

PetscErrorCode DeviceRun(const Run *run, PetscInt ncases, const PetscInt systems[], const PetscInt rows[],
                         PetscBool sweep, FILE *labels);
