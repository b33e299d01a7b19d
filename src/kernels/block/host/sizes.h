/* SPDX-License-Identifier: BSD-2-Clause */
/*
  sizes.h: size.h for each block size that has code of its own, and the table of the solves; included after tiles.h.
  BX_OPS: products and the factorization, with E = F; BX_SWEEPS: solves with vectors of PetscScalar and blocks of F
*/
#define BS 0
#include "size.h"
#define BS 1
#include "size.h"
#define BS 2
#include "size.h"
#define BS 3
#include "size.h"
#define BS 4
#include "size.h"
#define BS 5
#include "size.h"
#define BS 6
#include "size.h"
#define BS 7
#include "size.h"
#define BS 8
#include "size.h"
#define BS 16
#include "size.h"

#if BX_SWEEPS
  #define LOWER(bs)  [bs] = BX(lower##bs),
  #define UPPER(bs)  [bs] = BX(upper##bs),
  #define LOWERT(bs) [bs] = BX(lowert##bs),
  #define UPPERT(bs) [bs] = BX(uppert##bs),
const SpikeBlockSweeps SPIKE_PASTE3(SpikeBlockSweeps_, BPRECISION, SPIKE_ISA) = {
  .lower  = {BLOCK_SIZES(LOWER) LOWER(5) LOWER(6) LOWER(7)},
  .upper  = {BLOCK_SIZES(UPPER) UPPER(5) UPPER(6) UPPER(7)},
  .lowert = {BLOCK_SIZES(LOWERT)},
  .uppert = {BLOCK_SIZES(UPPERT)},
};
  #undef LOWER
  #undef UPPER
  #undef LOWERT
  #undef UPPERT
#endif
