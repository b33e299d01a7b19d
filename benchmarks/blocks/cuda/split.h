/* SPDX-License-Identifier: BSD-2-Clause */
/*
  split.h: for benchmarks/blocks: a batch of tasks split between a device and one core of the host, which work at the
  same time, each on data of its own memory
*/
#pragma once

#include "../run.h"

PetscErrorCode SplitPart(Place *device, Place *host);
