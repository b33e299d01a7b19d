/* SPDX-License-Identifier: BSD-2-Clause */
/*
  block_isa.c: loops of the block kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this
  file once for each
*/
#include "host.h"
#include "kernels/common/host/target.h"
#include <float.h>

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
#define E SPIKE_FIELD(double)
#define F E
#include "tiles.h"
#include "ops.h"
#if defined(PETSC_USE_REAL_DOUBLE)
  #include "sweep.h"
#endif
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
#define E SPIKE_FIELD(float)
#define F E
#include "tiles.h"
#include "ops.h"
#if defined(PETSC_USE_REAL_SINGLE)
  #include "sweep.h"
#endif
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
#include "tiles.h"
#include "sweep.h"
#include "undef.h"
