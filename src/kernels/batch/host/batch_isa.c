/* SPDX-License-Identifier: BSD-2-Clause */
/*
  batch_isa.c: host loops of this family for one instruction set, -DSPIKE_ISA=base|v3|v4; the makefile compiles this
  file once for each
*/
#include "kernels/batch/batch.h"
#include "kernels/common/host/vectors.h"
#include "template.h"
