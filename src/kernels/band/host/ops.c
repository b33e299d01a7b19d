/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.c: the micro-kernels for the instruction set in use */
#include "ops.h"

#define SpikeBandTables(isa) \
  { \
    &SpikeBandOps_##isa##_double, &SpikeBandOps_##isa##_single, &SpikeBandOps_##isa##_bf16, &SpikeBandOps_##isa##_fp16 \
  }

const SpikeBandOps *SpikeBandGetOps(PetscSpikePrecision precision)
{
  static const SpikeBandOps *const tables[][4] =
  { SpikeBandTables(base),
#if defined(SPIKE_HAVE_X86_64_LEVELS)
    SpikeBandTables(v3),
    SpikeBandTables(v4)
#endif
  };

  return tables[SpikeISAGet()][precision];
}

const SpikeBandOps *SpikeBandGetPivotedOps(void)
{
  static const SpikeBandOps *const tables[] =
  { &SpikePivotedOps_base,
#if defined(SPIKE_HAVE_X86_64_LEVELS)
    &SpikePivotedOps_v3,
    &SpikePivotedOps_v4
#endif
  };

  return tables[SpikeISAGet()];
}
