/* SPDX-License-Identifier: BSD-2-Clause */
/*
  streams.h: for benchmarks/blocks: block ILU(0) of many matrices, and their products, by our own kernels one by one, a
  stream each, as Afanasyev et al. (2015) have their tasks: what one launch for all is to beat
*/
#pragma once

#include "../ilu.h"
#include "../mult.h"

PetscErrorCode IluStreamsLines(Ilu *t, Key *key);
PetscErrorCode MultStreamsLine(Mult *t, const Key *key);
