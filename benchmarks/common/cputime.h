/* SPDX-License-Identifier: BSD-2-Clause */
/* cputime.h: for benchmarks: the processor time of this process, which others on the machine disturb less */
#pragma once

#include <petscsys.h>
#include <time.h>

/* In seconds, with the digits that PetscGetCPUTime() has not: that one counts hundredths */
static inline double BenchCPUTime(void)
{
  struct timespec now;

  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)) return 0.0;
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
