/* SPDX-License-Identifier: BSD-2-Clause */
/* array.h: arrays of vectors and dense matrices, with the memory that they are in or in the memory that kernels want */
#pragma once

#include <petscmat.h>

typedef enum {
  SPIKE_READ,
  SPIKE_WRITE, /* the values before are not kept */
  SPIKE_READ_WRITE
} SpikeAccess;

/* The array of a vector, or of a dense matrix, where its current values are; `a` may be const for SPIKE_READ only */
static inline PetscErrorCode SpikeVecGetArray(Vec v, SpikeAccess access, PetscScalar **a, PetscMemType *memtype)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)a, memtype));
  else if (access == SPIKE_WRITE) PetscCall(VecGetArrayWriteAndMemType(v, a, memtype));
  else PetscCall(VecGetArrayAndMemType(v, a, memtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SpikeVecRestoreArray(Vec v, SpikeAccess access, PetscScalar **a)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)a));
  else if (access == SPIKE_WRITE) PetscCall(VecRestoreArrayWriteAndMemType(v, a));
  else PetscCall(VecRestoreArrayAndMemType(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the current values of a vector are */
static inline PetscErrorCode SpikeVecGetMemType(Vec v, PetscMemType *memtype)
{
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(SpikeVecGetArray(v, SPIKE_READ, &a, memtype));
  PetscCall(SpikeVecRestoreArray(v, SPIKE_READ, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SpikeMatDenseGetArray(Mat A, SpikeAccess access, PetscScalar **a, PetscMemType *memtype)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(MatDenseGetArrayReadAndMemType(A, (const PetscScalar **)a, memtype));
  else if (access == SPIKE_WRITE) PetscCall(MatDenseGetArrayWriteAndMemType(A, a, memtype));
  else PetscCall(MatDenseGetArrayAndMemType(A, a, memtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode SpikeMatDenseRestoreArray(Mat A, SpikeAccess access, PetscScalar **a)
{
  PetscFunctionBegin;
  if (access == SPIKE_READ) PetscCall(MatDenseRestoreArrayReadAndMemType(A, (const PetscScalar **)a));
  else if (access == SPIKE_WRITE) PetscCall(MatDenseRestoreArrayWriteAndMemType(A, a));
  else PetscCall(MatDenseRestoreArrayAndMemType(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The array of a vector in the memory of the kernels, between SpikeArrayGet() and SpikeArrayRestore(). A vector on the
  host is copied to the device, and back where it is written, which is slow: -log_view shows both copies.
*/
typedef struct {
  Vec          v;
  Vec          wrapper; /* on the device, around the host array of v; NULL: v is where it is wanted */
  PetscScalar *a, *host;
  SpikeAccess  access;
  PetscMemType memtype; /* that was asked for */
} SpikeArray;

PETSC_INTERN PetscErrorCode SpikeArrayGet(Vec, PetscMemType, SpikeAccess, SpikeArray *);
PETSC_INTERN PetscErrorCode SpikeArrayRestore(SpikeArray *);

/* The vectors of y = A x + z. z NULL: z.a is NULL; z == y: z.a is y.a */
typedef struct {
  SpikeArray x, z, y;
} SpikeProductArrays;

PETSC_INTERN PetscErrorCode SpikeProductArraysGet(Vec x, Vec z, Vec y, PetscMemType, SpikeProductArrays *);
PETSC_INTERN PetscErrorCode SpikeProductArraysRestore(SpikeProductArrays *);
