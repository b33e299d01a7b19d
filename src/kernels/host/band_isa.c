/* SPDX-License-Identifier: BSD-2-Clause */
/* band_isa.c: the tables of band kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this file once for each */
#include "band.h"
#include <float.h>

#if !defined(SPIKE_ISA)
  #define SPIKE_ISA base
#endif
#define SPIKE_PASTE3_(a, b, c) a##b##_##c
#define SPIKE_PASTE3(a, b, c)  SPIKE_PASTE3_(a, b, c)
#define SPIKE_STRING_(a)       #a
#define SPIKE_STRING(a)        SPIKE_STRING_(a)
#define SPIKE_TABLE(precision) SPIKE_PASTE3(SpikeBandOps_, SPIKE_ISA, precision)

typedef PetscScalar S;

#define T(name)    name##_double
#define PRECISION  double
#define FREAL      double
#define FREAL_MIN  DBL_MIN
#define FREAL_MAX  DBL_MAX
#include "band_template.h"
#undef T
#undef PRECISION
#undef FREAL
#undef FREAL_MIN
#undef FREAL_MAX

#define T(name)    name##_single
#define PRECISION  single
#define FREAL      float
#define FREAL_MIN  FLT_MIN
#define FREAL_MAX  FLT_MAX
#include "band_template.h"
