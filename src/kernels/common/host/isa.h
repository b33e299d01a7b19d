/* SPDX-License-Identifier: BSD-2-Clause */
/* isa.h: the instruction sets of the host kernels, and the one in use */
#pragma once

#include <petscspike.h>

#if defined(PETSC_USE_REAL___FLOAT128) || defined(PETSC_USE_REAL___FP16)
  #error "petscspike needs PetscReal double or single"
#endif

/*
  On x86-64 the files *_isa.c are compiled for the baseline, x86-64-v3 (AVX2, FMA) and x86-64-v4 (AVX-512), elsewhere
  for the baseline alone. The best one that the processor has is chosen at run time.
*/
typedef enum {
  SPIKE_ISA_BASE = 0,
  SPIKE_ISA_V3   = 1,
  SPIKE_ISA_V4   = 2
} SpikeISA;

/*
  The best instruction set of this processor; the one in use; choose another: PETSC_FALSE, and no change, where the
  processor lacks it
*/
PETSC_INTERN SpikeISA  SpikeISADetect(void);
PETSC_INTERN SpikeISA  SpikeISAGet(void);
PETSC_INTERN PetscBool SpikeISASet(SpikeISA);

/* Of what *_isa.c defines as name_base, name_v3 and name_v4, that of the instruction set in use */
#if defined(SPIKE_HAVE_X86_64_LEVELS)
  #define SpikeISAOf(name) \
    (SpikeISAGet() == SPIKE_ISA_V4 ? name##_v4 : SpikeISAGet() == SPIKE_ISA_V3 ? name##_v3 : name##_base)
#else
  #define SpikeISAOf(name) name##_base
#endif
