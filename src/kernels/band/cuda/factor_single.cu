/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_single.cu: factors with T > 16 in single precision */
#include "factor_large.cuh"

template PetscErrorCode SpikeFactorLarge<SpikeSingle>(SpikeBand *, const SpikePivotPolicy &);
