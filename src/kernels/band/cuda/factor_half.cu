/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_half.cu: factors with T > 16 in 16 bits */
#include "factor_large.cuh"

template PetscErrorCode SpikeFactorLarge<SpikeBF16>(SpikeBand *, const SpikePivotPolicy &);
template PetscErrorCode SpikeFactorLarge<SpikeFP16>(SpikeBand *, const SpikePivotPolicy &);
