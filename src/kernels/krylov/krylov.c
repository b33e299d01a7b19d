/* SPDX-License-Identifier: BSD-2-Clause */
/* krylov.c: what the steps of scalars.h do with their vectors, for all backends */
#include "krylov.h"

#define SPIKE_KRYLOV_INFO(ID, name, NVEC, READS, WRITES, NDOT, FLOPS) {#name, NVEC, NDOT, READS, WRITES, FLOPS},
const SpikeKrylovStepInfo SpikeKrylovSteps[SPIKE_KRYLOV_NSTEPS] = {SPIKE_KRYLOV_STEPS(SPIKE_KRYLOV_INFO)};
#undef SPIKE_KRYLOV_INFO
