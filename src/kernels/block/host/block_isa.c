/* SPDX-License-Identifier: BSD-2-Clause */
/*
  block_isa.c: loops of the block kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this
  file once for each
*/
#include "host.h"
#include "kernels/common/host/target.h"
#include <float.h>

/* X(bs) for the block sizes that have code of their own, 0 being any other */
#define BLOCK_SIZES(X) X(0) X(1) X(2) X(3) X(4) X(8) X(16)

#define BX(name)   bxd_##name
#define BPRECISION double
#define BSIZE      8
#define BREAL      double
#define BMAX       DBL_MAX
#if defined(PETSC_USE_COMPLEX)
  #define BABS(a) __builtin_cabs(a)
#else
  #define BABS(a) __builtin_fabs(a)
#endif
#define E         SPIKE_FIELD(double)
#define F         E
#define BX_OPS    1
#define BX_SWEEPS PetscDefined(USE_REAL_DOUBLE)
#include "tiles.h"
#include "sizes.h"
#include "ops.h"
#include "undef.h"

#define BX(name)   bxs_##name
#define BPRECISION single
#define BSIZE      4
#define BREAL      float
#define BMAX       FLT_MAX
#if defined(PETSC_USE_COMPLEX)
  #define BABS(a) __builtin_cabsf(a)
#else
  #define BABS(a) __builtin_fabsf(a)
#endif
#define E         SPIKE_FIELD(float)
#define F         E
#define BX_OPS    1
#define BX_SWEEPS PetscDefined(USE_REAL_SINGLE)
#include "tiles.h"
#include "sizes.h"
#include "ops.h"
#include "undef.h"

/* factors of the other precision than PetscScalar's */
#define BX(name) bxm_##name
#define E        PetscScalar
#if defined(PETSC_USE_REAL_DOUBLE)
  #define BPRECISION single
  #define BSIZE      8
  #define F          SPIKE_FIELD(float)
#else
  #define BPRECISION double
  #define BSIZE      4
  #define F          SPIKE_FIELD(double)
#endif
#define BX_OPS    0
#define BX_SWEEPS 1
#include "tiles.h"
#include "sizes.h"
#include "undef.h"
