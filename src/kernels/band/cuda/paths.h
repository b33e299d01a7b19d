/* SPDX-License-Identifier: BSD-2-Clause */
/* paths.h: paths of strong couplings, of look.h, on a device: paths.cu */
#pragma once

#include "kernels/band/look.h"

PETSC_INTERN PetscErrorCode SpikePaths_CUDA(SpikePaths *, SpikeLook *, const SpikeCSR *);
