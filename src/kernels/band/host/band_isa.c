/* SPDX-License-Identifier: BSD-2-Clause */
/*
  band_isa.c: the tables of band kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this
  file once for each
*/
#include "kernels/band/band.h"
#include "kernels/common/host/half.h"
#include "kernels/common/host/vectors.h"
#include "ops.h"

#define SPIKE_WINDOW 8
#define SPIKE_COLS   8    /* columns at a time in the other sweeps */
#define SPIKE_AHEAD  4095 /* bytes from the next block to the one that they ask memory for, by measurement */
#if defined(__AVX512F__)
  #define SPIKE_ACC 16 /* vectors of sums in registers */
#else
  #define SPIKE_ACC 8
#endif

#define T(name)    name##_double
#define VF(name)   vd_##name
#define PRECISION  double
#define FREAL      double
#define FREAL_MIN  DBL_MIN
#define FREAL_MAX  DBL_MAX
#define FREAL_SIZE 8
#include "ops_template.h"

#define T(name)    name##_single
#define VF(name)   vf_##name
#define PRECISION  single
#define FREAL      float
#define FREAL_MIN  FLT_MIN
#define FREAL_MAX  FLT_MAX
#define FREAL_SIZE 4
#include "ops_template.h"

#define SPIKE_HALF_COLS 32 /* columns that become final before the others move */
#define SPIKE_HALF_ROWS 64 /* converted at a time */
#define SPIKE_HALF_SUMS 8
#if defined(PETSC_USE_COMPLEX)
  #define SPIKE_PARTS 2
#else
  #define SPIKE_PARTS 1
#endif

#define T(name)   name##_bf16
#define PRECISION bf16
#define FROM16    SpikeFromBF16
#define TO16      SpikeToBF16
#define F16_MAX   SpikePrecisionMax(PETSC_SPIKE_PRECISION_BF16)
#define F16_LEAST SpikePrecisionLeast(PETSC_SPIKE_PRECISION_BF16)
#include "ops_half.h"

#define T(name)   name##_fp16
#define PRECISION fp16
#define FROM16    SpikeFromFP16
#define TO16      SpikeToFP16
#define F16_MAX   SpikePrecisionMax(PETSC_SPIKE_PRECISION_FP16)
#define F16_LEAST SpikePrecisionLeast(PETSC_SPIKE_PRECISION_FP16)
#include "ops_half.h"
