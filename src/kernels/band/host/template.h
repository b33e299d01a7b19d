/* SPDX-License-Identifier: BSD-2-Clause */
/*
  template.h: all band kernels for one type of the factors, F = FREAL or FREAL complex; included once for each precision
*/
typedef SPIKE_FIELD(FREAL) T(F);
#define F T(F)

#include "lu_narrow.h"
#include "lu.h"
#include "sweep_panel.h"
#include "sweep_dot.h"
#include "sweep.h"

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

#undef F
