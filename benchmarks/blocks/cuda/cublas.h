/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cublas.h: for benchmarks/blocks: tall blocks by our kernels on streams, and by cuBLAS, from the library that PETSc is
  linked with
*/
#pragma once

#include "../tall.h"

PetscErrorCode TallDevicePeers(Tall *t, const Key *key);
