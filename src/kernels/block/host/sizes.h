/* SPDX-License-Identifier: BSD-2-Clause */
/*
  sizes.h: size.h for each block size that has code of its own, and the table of the solves; included after tiles.h.
  BX_OPS: products and the factorization, with E = F; BX_SWEEPS: solves with vectors of PetscScalar and blocks of F
*/
#define BLOCKSIZE 0
#include "size.h"
#define BLOCKSIZE 1
#include "size.h"
#define BLOCKSIZE 2
#include "size.h"
#define BLOCKSIZE 3
#include "size.h"
#define BLOCKSIZE 4
#include "size.h"
#define BLOCKSIZE 5
#include "size.h"
#define BLOCKSIZE 6
#include "size.h"
#define BLOCKSIZE 7
#include "size.h"
#define BLOCKSIZE 8
#include "size.h"
#define BLOCKSIZE 16
#include "size.h"

#if BX_SWEEPS
  #define ENTRY_LOWER(bs)  [bs] = BX(lower##bs),
  #define ENTRY_UPPER(bs)  [bs] = BX(upper##bs),
  #define ENTRY_LOWERT(bs) [bs] = BX(lowert##bs),
  #define ENTRY_UPPERT(bs) [bs] = BX(uppert##bs),
const SpikeBlockSweeps SPIKE_PASTE3(SpikeBlockSweeps_, BPRECISION, SPIKE_ISA) = {
  .lower  = {BLOCK_SIZES(ENTRY_LOWER) ENTRY_LOWER(5) ENTRY_LOWER(6) ENTRY_LOWER(7)},
  .upper  = {BLOCK_SIZES(ENTRY_UPPER) ENTRY_UPPER(5) ENTRY_UPPER(6) ENTRY_UPPER(7)},
  .lowert = {BLOCK_SIZES(ENTRY_LOWERT)},
  .uppert = {BLOCK_SIZES(ENTRY_UPPERT)},
};
  #undef ENTRY_LOWER
  #undef ENTRY_UPPER
  #undef ENTRY_LOWERT
  #undef ENTRY_UPPERT
#endif
