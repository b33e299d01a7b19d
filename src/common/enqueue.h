/* SPDX-License-Identifier: BSD-2-Clause */
/*
  enqueue.h: how an object lets others put its work on a stream: y <- A x or y <- M^-1 x from raw pointers, without Vec
  and without host waits
*/
#pragma once

#include "kernels/krylov/krylov.h"

/*
  An object composes the function that fills this as "PetscSpikeGetEnqueue_C". The Krylov methods call it before each
  solve. run() stays valid until `shape` changes, and works with the values of the object's last setup. So does a graph
  that has captured it (capturable), because new values lie in the same memory.
*/
typedef struct {
  /* of x and y, and the owner of the stream; the host has none                                  */
  PetscMemType memtype;
  /* local rows, of x and y                                                                        */
  PetscInt n;
  /* x may not be y; NULL: not in its present state */
  PetscErrorCode (*run)(PetscObject, PetscBool trans, void *stream, const PetscScalar *x, PetscScalar *y);
  /* run() enqueues kernels only                                                              */
  PetscBool capturable;
  /* changes with pointers, sizes and launches: SpikeNewShape() */
  PetscObjectState shape;
  /* changes with the values too */
  PetscObjectState values;
  /*
    a matrix by diagonals, or of blocks, in memory of memtype, which others may multiply by in kernels of their own
    while shape stays; product.dia, or product.block, is NULL where there is none
  */
  SpikeKrylovLoan product;
  /*
    likewise a stencil, product.begin() and end() with it; shape changes with its coefficients; NULL where there is none
  */
  const SpikeStencil *stencil;
} SpikeEnqueue;

/*
  The first of `many` shapes that no object of this process has had, or will get here: an object whose type changes
  keeps its id, and what a method has captured goes by both
*/
PETSC_INTERN PetscObjectState SpikeNewShape(PetscObjectState many);

#define SPIKE_SHAPES ((PetscObjectState)1 << 32) /* for an object that counts its shapes itself */

/* e->run is NULL where the object composes nothing */
PETSC_INTERN PetscErrorCode SpikeGetEnqueue(PetscObject, SpikeEnqueue *);
