/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedrhssteps.h: the operations of several right-hand sides */
#pragma once

#include "fused.h"

PETSC_INTERN const KSPFusedOps KSPFusedOps_Rhs;
