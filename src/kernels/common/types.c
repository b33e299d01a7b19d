/* SPDX-License-Identifier: BSD-2-Clause */
/* types.c: names of what the contracts of several families share */
#include "types.h"

const char *const PetscSpikePrecisions[] =
  {"DOUBLE", "SINGLE", "BF16", "FP16", "PetscSpikePrecision", "PETSC_SPIKE_PRECISION_", NULL};
