/* SPDX-License-Identifier: BSD-2-Clause */
/* block_isa.c: loops of the block kernels for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this file once for each */
#include "block_host.h"
#include "isa.h"
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
#include "block_tiles.h"
#include "block_ops.h"
#if defined(PETSC_USE_REAL_DOUBLE)
  #include "block_sweep.h"
#endif
#include "block_undef.h"

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
#include "block_tiles.h"
#include "block_ops.h"
#if defined(PETSC_USE_REAL_SINGLE)
  #include "block_sweep.h"
#endif
#include "block_undef.h"

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
#include "block_tiles.h"
#include "block_sweep.h"
#include "block_undef.h"
