/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedsteps.h: the operations of one vector */
#pragma once

#include "fused.h"

PETSC_INTERN const KSPFusedOps KSPFusedOps_Vector;
