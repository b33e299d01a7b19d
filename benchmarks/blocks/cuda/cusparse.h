/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cusparse.h: for benchmarks/blocks: products of cuSPARSE, from the library that PETSc is linked with: on CSR and on BSR
*/
#pragma once

#include "../mult.h"

extern const MultPeers multdevicepeers;

PetscErrorCode UploadInts(PetscCount count, const PetscInt from[], int **to);
