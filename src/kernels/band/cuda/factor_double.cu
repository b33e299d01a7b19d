/* SPDX-License-Identifier: BSD-2-Clause */
/* factor_double.cu: factors with T > 16 in double precision */
#include "factor_large.cuh"

template PetscErrorCode SpikeFactorLarge<SpikeDouble>(SpikeBand *, const SpikePivotPolicy &);
