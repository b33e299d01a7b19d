/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cusparse.h: for benchmarks/tridiagonal: what cuSPARSE has for tridiagonal systems, from the library that PETSc is
  linked with
*/
#pragma once

#include "device.h"

typedef enum {
  GTSV2,
  GTSV2_NOPIVOT,
  STRIDEDBATCH,
  INTERLEAVED0,
  INTERLEAVED1,
  INTERLEAVED2,
  NCUSPARSE
} CuSPARSEName;

PetscErrorCode TimeCuSPARSE(Device *dev, Line lines[]);
