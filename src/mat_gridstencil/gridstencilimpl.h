/* SPDX-License-Identifier: BSD-2-Clause */
/*
  gridstencilimpl.h: what the files of MATGRIDSTENCIL share. A file calls only files above it in this list:

    gridstencilhalo.c      points around the box of a rank
    gridstencilbackend.c   the kernels in use and what they keep
    gridstencilmult.c      products, and the stencil lent to the fused Krylov methods
    gridstencilcoef.c      coefficients
    gridstencilaij.c       diagonal, entries as AIJ, view
    gridstencilgrid.c      a matrix for the grid of a DMDA, copies
    gridstencil.c          creation of the type, options, destruction
*/
#pragma once

#include <petscspike.h>
#include <petscdevice.h>
#include <petscdmda.h>
#include <petsc/private/matimpl.h>
#include "common/array.h"
#include "common/bound.h"
#include "common/enqueue.h"
#include "mat_halo/halo.h"
#include "kernels/stencil/stencil.h"

typedef struct {
  const SpikeStencilKernels *k, *native; /* in use, and those of the type */
  DM                         da;         /* NULL before MatCreateGridStencil() */
  SpikeStencil               s;
  MatStencil                *stencil; /* as it was given */
  PetscInt                  *offset;
  PetscScalar               *coef;
  PetscCount                 ncoef;
  PetscBool                  ready;  /* k has the coefficients                                    */
  PetscObjectState           shape;  /* another number for each set of coefficients in the program */
  PetscInt                   gj, gk; /* strides of the box with the points around it, */
  PetscCount                 gfirst; /* and its number of the rank's first point      */
  PetscBool                  ghosts; /* some rank needs points of others              */
  /* x with the points around it where usedm; y in transposed products, made when there is one */
  Vec around, back;

  PetscBool    usedm;                 /* DMGlobalToLocal() fetches points of others; else                  */
  PetscBool    havehalo, wholehalo;   /* some of these are there; all of them are:                        */
  MatHalo      halo;                  /* what comes and goes by messages                                  */
  PetscInt     nleave, narrive;       /* points                                                           */
  PetscInt    *leave;                 /* [nleave] own points that go                                      */
  PetscInt    *arriveto, *arrivefrom; /* [narrive], see unpack() in stencil.h                             */
  PetscScalar *ghost;                 /* points around the box; halo.ghost where narrive is 0             */
} Mat_GridStencil;

/* gridstencilhalo.c */
PETSC_INTERN PetscErrorCode MatGridStencilHaloCreate_Private(Mat);
PETSC_INTERN PetscErrorCode MatGridStencilHaloDestroy_Private(Mat);
PETSC_INTERN PetscErrorCode MatGridStencilHaloBegin_Private(Mat, const PetscScalar *);
PETSC_INTERN PetscErrorCode MatGridStencilHaloEnd_Private(Mat, const PetscScalar *);

/* gridstencilbackend.c */
PETSC_INTERN PetscErrorCode MatGridStencilUse_Private(Mat, const SpikeStencilKernels *);
PETSC_INTERN PetscErrorCode MatGridStencilReady_Private(Mat);
PETSC_INTERN PetscErrorCode MatGridStencilChanged_Private(Mat);
PETSC_INTERN PetscErrorCode MatGridStencilCreateLocalVec_Private(Mat, Vec *);
PETSC_INTERN PetscErrorCode MatGridStencilBegin_Private(Mat_GridStencil *);
PETSC_INTERN PetscErrorCode MatGridStencilEnd_Private(Mat_GridStencil *, PetscLogDouble);
PETSC_INTERN PetscErrorCode MatBindToCPU_GridStencil(Mat, PetscBool);

/* gridstencilmult.c */
PETSC_INTERN PetscErrorCode MatMult_GridStencil(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_GridStencil(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_GridStencil(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_GridStencil(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_GridStencil(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_GridStencil(PetscObject, SpikeEnqueue *);

/* gridstencilcoef.c */
PETSC_INTERN PetscErrorCode MatGridStencilIs_Private(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatScale_GridStencil(Mat, PetscScalar);

/* gridstencilaij.c */
PETSC_INTERN PetscErrorCode MatGetDiagonal_GridStencil(Mat, Vec);
PETSC_INTERN PetscErrorCode MatNorm_GridStencil(Mat, NormType, PetscReal *);
PETSC_INTERN PetscErrorCode MatConvert_GridStencil_AIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_GridStencil(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatView_GridStencil(Mat, PetscViewer);

/* gridstencilgrid.c */
PETSC_INTERN PetscErrorCode MatDuplicate_GridStencil(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_GridStencil_GridStencil(Mat, MatType, MatReuse, Mat *);

/* gridstencil.c */
PETSC_INTERN PetscErrorCode MatCreate_GridStencil(Mat);
PETSC_INTERN PetscErrorCode MatCreate_GridStencilCUDA(Mat);
