/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ops_template.h: all band kernels for one type of the factors, F = FREAL or FREAL complex; included once for each
  precision
*/
typedef SPIKE_FIELD(FREAL) T(F);
#define F T(F)

#include "ops_pivot.h"
#include "ops_lu_narrow.h"
#include "ops_lu.h"
#include "ops_sweep_panel.h"
#include "ops_sweep_dot.h"
#include "ops_sweep.h"
#include "ops_chol.h"
#undef SPIKE_GROUPS

const SpikeBandOps SPIKE_PASTE3(SpikeBandOps_, SPIKE_ISA, PRECISION) = {
  .name        = SPIKE_ISANAME " " SPIKE_STRING(PRECISION),
  .size        = sizeof(F),
  .lu_worksize = T(LUWorkSize),
  .lu          = T(LU),
  .lower       = T(Lower),
  .upper       = T(Upper),
  .upper_t     = T(UpperT),
  .lower_t     = T(LowerT),
};

const SpikeBandOps SPIKE_PASTE3(SpikeCholeskyOps_, SPIKE_ISA, PRECISION) = {
  .name        = SPIKE_ISANAME " " SPIKE_STRING(PRECISION),
  .size        = sizeof(F),
  .lu_worksize = T(CholWorkSize),
  .lu          = T(Chol),
  .lower       = T(Lower),
  .upper       = T(CholUpper),
  .upper_t     = T(CholUpperT),
  .lower_t     = T(CholLowerT),
};

#undef F
#undef T
#undef VF
#undef PRECISION
#undef FREAL
#undef FREAL_MIN
#undef FREAL_MAX
#undef FREAL_SIZE
