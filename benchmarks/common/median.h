/* SPDX-License-Identifier: BSD-2-Clause */
/* median.h: the median of times, for all benchmarks */
#pragma once

#include <stdlib.h>

static inline int BenchCompareTimes(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The median of count > 0 numbers, which are sorted; of an even count the mean of the two in the middle */
static inline double Median(int count, double t[])
{
  qsort(t, (size_t)count, sizeof(*t), BenchCompareTimes);
  return 0.5 * (t[(count - 1) / 2] + t[count / 2]);
}
