/* SPDX-License-Identifier: BSD-2-Clause */
/*
  solve.h: for benchmarks/blocks: time to a solution by BiCGStab with block ILU(0) on the right, all of it from the
  kernels of a place: what an ordering costs in iterations and gains in time
*/
#pragma once

#include "ilu.h"

PetscErrorCode SolutionLine(Ilu *t, Key *key, const char solver[]);
