/* SPDX-License-Identifier: BSD-2-Clause */
/* band_template.h: all band kernels for one type of the factors F; included once for each precision */
#if defined(PETSC_USE_COMPLEX)
typedef FREAL _Complex T(F);
#else
typedef FREAL T(F);
#endif
#define F T(F)

#include "band_lu.h"
#include "band_sweep.h"

const SpikeBandOps SPIKE_TABLE(PRECISION) = {SPIKE_STRING(SPIKE_ISA) " " SPIKE_STRING(PRECISION), sizeof(F), T(LUWorkSize), T(LU), T(Lower), T(Upper), T(UpperT), T(LowerT)};

#undef F
