/* SPDX-License-Identifier: BSD-2-Clause */
/* ours.h: for benchmarks/tridiagonal: the kernels on CUDA */
#pragma once

#include "device.h"
#include "once.h"

typedef struct {
  Device          *dev;
  SpikeTridiagonal t[MAXCOPIES];
  Once             once[MAXCOPIES];
  SpikePivot       pivot[MAXCOPIES];
} Ours;

PetscErrorCode OursSetUp(void *ctx, PetscInt k);
PetscErrorCode OursApply(void *ctx, PetscInt k);
PetscErrorCode OursOnce(void *ctx, PetscInt k);
PetscErrorCode DeviceSolve(const Run *run, Case *c, const Algorithm *a, PetscBool once, SpikePivot *pv);
PetscErrorCode TimeOurs(Device *dev, const Algorithm *a, Line *line);
