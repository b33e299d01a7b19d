/* SPDX-License-Identifier: BSD-2-Clause */
/*
  krylov_isa.c: host loops of this family for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this
  file once for each
*/
#include "kernels/krylov/krylov.h"
#include "kernels/common/host/factors.h"
#include "kernels/common/host/lanes.h"
#include "template.h"
#include "narrow.h"
#include "basis.h"

#define KR_ENTRY(ID, name, D) [SPIKE_##ID] = SPIKE_PASTE3(kr_##name, single, SPIKE_ISA),
const SpikeKrylovLoop SPIKE_PASTE2(SpikeKrylovSingleLoops_,
                                   SPIKE_ISA)[SPIKE_KRYLOV_NSTEPS] = {SPIKE_KRYLOV_DIAGONALS(KR_ENTRY)};
#undef KR_ENTRY
