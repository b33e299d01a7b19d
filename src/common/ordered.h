/* SPDX-License-Identifier: BSD-2-Clause */
/* ordered.h: work of PETSc and of this library on one device, in one order */
#pragma once

#include <petscmat.h>
#include <petscdevice.h>

/*
  This library works in the stream of the current PetscDeviceContext. PETSc's operations of vectors work in the default
  stream of CUDA (3.24 to 3.26), or in that of the current context, each as it likes. All streams wait for the default
  one, and it for them, but for those of type PETSC_STREAM_NONBLOCKING. Where the current context has such a stream, a
  function that enqueues both kinds of work is put between these two: meanwhile a context with the default stream is the
  current one. Both wait for the device then, and in all other cases do nothing.

  v: a vector of the work; where it is on the host no context is looked at, for that would start a device. Not
  collective. Errors of what stands between are to be kept until End() has been called.
*/
typedef struct {
  PetscDeviceContext before, meanwhile; /* NULL where nothing has been changed */
} SpikeOrdered;

PETSC_INTERN PetscErrorCode SpikeOrderedBegin(Vec v, SpikeOrdered *);
PETSC_INTERN PetscErrorCode SpikeOrderedBeginMat(Mat A, SpikeOrdered *);
PETSC_INTERN PetscErrorCode SpikeOrderedEnd(SpikeOrdered *);
