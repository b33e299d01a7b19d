/* SPDX-License-Identifier: BSD-2-Clause */
/*
  unroll.cuh: loops that the compiler unrolls whole, so that arrays with their counters as indices stay in registers.
  SpikeUnroll3(m, M, n, N, e, E) is three nested loops, m < M the outermost.
*/
#pragma once

#define SpikeUnrollFrom(i, i0, n) _Pragma("unroll") for (int i = (i0); i < (n); i++)
#define SpikeUnroll(i, n)         SpikeUnrollFrom(i, 0, n)
#define SpikeUnroll2(i, n, j, m) \
  SpikeUnroll(i, n) \
    SpikeUnroll(j, m)
#define SpikeUnroll3(i, n, j, m, k, l) \
  SpikeUnroll2(i, n, j, m) \
    SpikeUnroll(k, l)
