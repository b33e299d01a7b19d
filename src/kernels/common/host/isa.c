/* SPDX-License-Identifier: BSD-2-Clause */
/*
  isa.c: which instruction set the host kernels use, decided once from the processor and never from the build machine
*/
#include "isa.h"

static SpikeISA  isa_used = SPIKE_ISA_BASE;
static PetscBool isa_set  = PETSC_FALSE;

SpikeISA SpikeISADetect(void)
{
#if defined(SPIKE_HAVE_X86_64_LEVELS)
  /* what x86-64-v3 and v4 add and compilers emit; the builtin also asks the operating system for the wide registers */
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2"))
    return SPIKE_ISA_BASE;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512cd"))
    return SPIKE_ISA_V3;
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) return SPIKE_ISA_V3;
  return SPIKE_ISA_V4;
#else
  return SPIKE_ISA_BASE;
#endif
}

SpikeISA SpikeISAGet(void)
{
  if (!isa_set) {
    isa_used = SpikeISADetect();
    isa_set  = PETSC_TRUE;
  }
  return isa_used;
}

PetscBool SpikeISASet(SpikeISA isa)
{
  if (isa < SPIKE_ISA_BASE || isa > SpikeISADetect()) return PETSC_FALSE;
  isa_used = isa;
  isa_set  = PETSC_TRUE;
  return PETSC_TRUE;
}
