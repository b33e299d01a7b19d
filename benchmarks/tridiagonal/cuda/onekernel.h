/* SPDX-License-Identifier: BSD-2-Clause */
/*
  onekernel.h: for benchmarks/tridiagonal: CR, PCR, RD and CR-PCR as in Zhang, Cohen, Owens, PPoPP 2010: one kernel, a
  thread block for each system, no factors; and the same kernels without some of their parts
*/
#pragma once

#include <petscdevice_cuda.h>

#define ONEKERNEL_ROWS 1024 /* at most, and a power of 2 */

typedef enum {
  ONEKERNEL_CR,
  ONEKERNEL_PCR,
  ONEKERNEL_RD,
  ONEKERNEL_CRPCR,
  NONEKERNEL
} OneKernelType;

/*
  The parts that a kernel has: each has those before it too. Only ALL solves. Without conflicts consecutive threads use
  consecutive rows in place of their own
*/
typedef enum {
  ONEKERNEL_LAUNCH,     /* nothing but the launch                                                                */
  ONEKERNEL_GLOBAL,     /* dl, d, du, b are read, x is written                                                   */
  ONEKERNEL_CONTROL,    /* loops, barriers, which thread has which row                                           */
  ONEKERNEL_SHARED,     /* loads from and stores to shared memory, without bank conflicts                        */
  ONEKERNEL_ARITHMETIC, /* on the rows that these loads find                                                     */
  ONEKERNEL_ALL,        /* each thread uses its own rows: bank conflicts, in CR and CR-PCR; elsewhere no change  */
  ONEKERNEL_NPARTS
} OneKernelParts;

/*
  x <- A^-1 b of nsys systems of m = 2, 4, 8, ... ONEKERNEL_ROWS rows each, one after the other in dl, d, du and b; dl
  of first rows and du of last ones are 0. left: rows that CR-PCR leaves to PCR, 2, 4, ... m / 2. An error where the
  device has too little shared memory for a thread block. Reads 4 words a row, writes one. Deterministic where all parts
  are in. No allocation, no wait.
*/
PETSC_INTERN PetscErrorCode OneKernelSolve(OneKernelType type, OneKernelParts parts, PetscInt nsys, PetscInt m,
                                           PetscInt left, const PetscScalar *dl, const PetscScalar *d,
                                           const PetscScalar *du, const PetscScalar *b, PetscScalar *x,
                                           cudaStream_t stream);
