/* SPDX-License-Identifier: BSD-2-Clause */
/* device.h: for benchmarks/tridiagonal: a case in the memory of a device, and times of what is enqueued for it */
#pragma once

#include "../run.h"
#include "../../common/devicetime.h"

/* Copies of a case on the device, dl of first rows and du of last ones 0, for cuSPARSE */
typedef struct {
  const Run   *run;
  const Case  *c;
  PetscInt     copies;
  PetscCount   n;
  cudaStream_t stream;
  cudaEvent_t  event[2];
  PetscScalar *dl, *d, *du, *b, *x; /* [copies n] */
} Device;

PetscErrorCode TimeWork(Device *dev, Work restore, PetscBool single, Work work, void *ctx, double *ms, double *graph);
PetscErrorCode DeviceArray(PetscCount count, PetscScalar **p);
PetscErrorCode DeviceCreate(const Run *run, const Case *c, cudaStream_t stream, Device *dev);
PetscErrorCode DeviceDestroy(Device *dev);
PetscErrorCode DeviceError(Device *dev, double *error);
const Line    *FindBest(int count, const Line lines[], int what, PetscBool graph, double *ms);
