/* SPDX-License-Identifier: BSD-2-Clause */
/* components.h: for benchmarks/tridiagonal: CR, PCR, RD and CR-PCR as one kernel each, and their time by component */
#pragma once

#include "device.h"

PetscErrorCode DeviceComponents(const Run *run, PetscInt nsys, PetscInt m, PetscDeviceContext dctx,
                                cudaStream_t stream);
