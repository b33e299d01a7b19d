/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cusparselu.h: for benchmarks/blocks: block ILU(0) and its solves by cuSPARSE (bsrilu02, bsrsv2, bsrsm2), where the
  library that PETSc is linked with has them
*/
#pragma once

#include "../ilu.h"

PetscErrorCode IluDevicePeers(Ilu *t, Key *key);
