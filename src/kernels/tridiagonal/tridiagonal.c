/* SPDX-License-Identifier: BSD-2-Clause */
/* tridiagonal.c: names of the algorithms of tridiagonal.h, for all backends */
#include "tridiagonal.h"

const char *const PCSpikeTridiagonalTypes[] = {"AUTO",
                                               "THOMAS",
                                               "TWOWAY",
                                               "CR",
                                               "PCR",
                                               "RD",
                                               "CRPCR",
                                               "PARTITION",
                                               "PCSpikeTridiagonalType",
                                               "PC_SPIKE_TRIDIAGONAL_",
                                               NULL};
