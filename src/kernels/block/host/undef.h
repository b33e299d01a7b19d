/* SPDX-License-Identifier: BSD-2-Clause */
/* undef.h: takes away what one precision of block_isa.c has defined */
#undef BX
#undef BX_WIDEST
#undef BX_FMA
#undef BX_DISPATCH
#undef BX_CASES2
#undef BX_CASES4
#undef BX_PARAMS
#undef BX_ARGS
#undef BX_TILE
#undef BX_OPS
#undef BX_SWEEPS
#undef BX_SUB
#undef BX_DOWN
#undef BX_BACK
#undef BT_MUL
#undef BT_CONJ
#undef BT_ZERO
#undef BT_LOADE
#undef BT_STORE
#undef BPRECISION
#undef BSIZE
#undef BREAL
#undef BMAX
#undef BABS
#undef E
#undef F
