/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.c: the micro-kernels for the instruction set in use */
#include "ops.h"

#define SpikeBandTables(ops, isa) \
  { \
    &ops##_##isa##_double, &ops##_##isa##_single, &ops##_##isa##_bf16, &ops##_##isa##_fp16 \
  }
#if defined(SPIKE_HAVE_X86_64_LEVELS)
  #define SpikeBandAll(ops) SpikeBandTables(ops, base), SpikeBandTables(ops, v3), SpikeBandTables(ops, v4)
#else
  #define SpikeBandAll(ops) SpikeBandTables(ops, base)
#endif

const SpikeBandOps *SpikeBandGetOps(PetscSpikePrecision precision)
{
  static const SpikeBandOps *const tables[][4] = {SpikeBandAll(SpikeBandOps)};

  return tables[SpikeISAGet()][precision];
}

const SpikeBandOps *SpikeBandGetCholeskyOps(PetscSpikePrecision precision)
{
  static const SpikeBandOps *const tables[][4] = {SpikeBandAll(SpikeCholeskyOps)};

  return tables[SpikeISAGet()][precision];
}

const SpikeBandOps *SpikeBandGetPivotedOps(void)
{
  return SpikeISAOf(&SpikePivotedOps);
}
