/* SPDX-License-Identifier: BSD-2-Clause */
/* ops.c: the micro-kernels for the instruction set in use */
#include "ops.h"

#define SpikeBandTables(ops, isa) \
  { \
    &ops##_##isa##_double, &ops##_##isa##_single, &ops##_##isa##_bf16, &ops##_##isa##_fp16 \
  }

const SpikeBandOps *SpikeBandGetOps(PetscSpikePrecision precision)
{
  static const SpikeBandOps *const tables[][4] =
  { SpikeBandTables(SpikeBandOps, base),
#if defined(SPIKE_HAVE_X86_64_LEVELS)
    SpikeBandTables(SpikeBandOps, v3),
    SpikeBandTables(SpikeBandOps, v4)
#endif
  };

  return tables[SpikeISAGet()][precision];
}

const SpikeBandOps *SpikeBandGetCholeskyOps(PetscSpikePrecision precision)
{
  static const SpikeBandOps *const tables[][4] =
  { SpikeBandTables(SpikeCholeskyOps, base),
#if defined(SPIKE_HAVE_X86_64_LEVELS)
    SpikeBandTables(SpikeCholeskyOps, v3),
    SpikeBandTables(SpikeCholeskyOps, v4)
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
