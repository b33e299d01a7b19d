/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cuda.h: for benchmarks/tridiagonal: the kernels on CUDA beside cuSPARSE, the preconditioner, transfers, and one-kernel
  forms
*/
#pragma once

#include "../run.h"

typedef enum {
  DEVICE_TIMES,
  DEVICE_SWITCH,     /* CRPCR by its switch point, cases with several systems                       */
  DEVICE_COMPONENTS, /* algorithms as one kernel, and without some of its parts                     */
  DEVICE_PROFILE     /* each algorithm once, for a profiler                                         */
} DeviceWhat;

PetscErrorCode DeviceRun(const Run *run, DeviceWhat what, PetscInt ncases, const PetscInt systems[],
                         const PetscInt rows[], FILE *labels);
