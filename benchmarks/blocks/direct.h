/* SPDX-License-Identifier: BSD-2-Clause */
/*
  direct.h: for benchmarks/blocks: complete LU of all tasks as one sparse matrix, in an order that the library finds: by
  cuDSS on CUDA, by PARDISO of MKL on the host
*/
#pragma once

#include "ilu.h"

PetscErrorCode DirectLines(Ilu *t, Key *key);
