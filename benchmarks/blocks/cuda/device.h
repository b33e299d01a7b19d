/* SPDX-License-Identifier: BSD-2-Clause */
/* device.h: for benchmarks/blocks: the place on CUDA */
#pragma once

#include "../run.h"
#include "../../common/devicetime.h"

#define MAXSTREAMS 64

/* Factors as libraries of CUDA want them: they load complex numbers by 16 bytes, to which C need not align them */
typedef union
{
  SpikeDouble value;
  long double aligned;
} DeviceDouble;

typedef union
{
  PetscScalar value;
  long double aligned;
} DeviceScalar;

/* Place.device: the clock, and streams that branch from its stream and come back */
typedef struct {
  Clock              clock;
  PetscDeviceContext dctx, before;
  cudaStream_t       stream[MAXSTREAMS];
  cudaEvent_t        begun, done[MAXSTREAMS];
  SpikeBlock         b[MAXSTREAMS];
} DevicePlace;

PetscErrorCode DevicePlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p);
PetscErrorCode DevicePlaceDestroy(Place *p);
PetscErrorCode Fork(DevicePlace *d, PetscInt count);
PetscErrorCode Join(DevicePlace *d, PetscInt count);
