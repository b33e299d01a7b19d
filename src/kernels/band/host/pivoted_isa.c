/* SPDX-License-Identifier: BSD-2-Clause */
/*
  pivoted_isa.c: the table of band kernels with row exchanges for one instruction set, -DSPIKE_ISA=base|v3|v4; the
  makefile compiles this file once for each. Factors are of type PetscScalar.
*/
#include "kernels/band/band.h"
#include "kernels/common/host/vectors.h"
#include "ops.h"

#define T(name) name##_pivoted
#define F       S
#define FREAL   PetscReal
#if defined(PETSC_USE_REAL_SINGLE)
  #define VF(name)   vf_##name
  #define FREAL_MIN  FLT_MIN
  #define FREAL_MAX  FLT_MAX
  #define FREAL_SIZE 4
#else
  #define VF(name)   vd_##name
  #define FREAL_MIN  DBL_MIN
  #define FREAL_MAX  DBL_MAX
  #define FREAL_SIZE 8
#endif
#include "ops_pivot.h"
#include "pivoted_lu.h"
#include "pivoted_narrow.h"
#include "pivoted_sweep.h"

const SpikeBandOps SPIKE_PASTE2(SpikePivotedOps_, SPIKE_ISA) = {
  .name        = SPIKE_ISANAME " row exchanges",
  .size        = sizeof(F),
  .panel       = T(Panel),
  .lu_worksize = T(LUWorkSize),
  .lu          = T(AnyLU),
  .lower       = T(Lower),
  .upper       = T(Upper),
  .upper_t     = T(UpperT),
  .lower_t     = T(LowerT),
};
