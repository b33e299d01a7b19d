/* SPDX-License-Identifier: BSD-2-Clause */
/* blockiluimpl.h: what the files of PCBLOCKILU share */
#pragma once

#include <petsc/private/matimpl.h>
#include "kernels/block/block.h"
#include "common/matbaij.h"
#include "common/matcsr.h"
#include "pc_factored/factored.h"
#include "common/enqueue.h"
#include "common/fault.h"

#define BLOCKILU_MAT_APPLY_BATCH 16

PETSC_INTERN PetscLogEvent PC_BlockILU_Symbolic, PC_BlockILU_Factor, PC_BlockILU_Solve;

/* Work space of the symbolic part: in the PC, where PCReset() finds what an error has left */
typedef struct {
  PetscInt    *start, *newrow; /* subdomains; ordering                    */
  PetscInt    *ci, *cj;        /* pattern of blocks of a MATAIJ           */
  PetscInt    *gi, *gj;        /* graph of one subdomain, its permutation */
  PetscScalar *ga;
  Mat          graph;
  IS           row, col;
} BlockILUWork;

typedef struct {
  PCFACTOREDHEADER

  /* options */
  PetscInt            bs;         /* PETSC_DECIDE: of the matrix */
  PetscInt            subdomains; /* on each rank                */
  PetscInt            levels;
  PetscBool           complete;
  PetscBool           multicolor;
  PetscSpikePrecision precision;

  /* setup */
  PetscObjectState  shape;     /* changes with everything that is allocated or planned                            */
  Mat               converted; /* Pmat as BAIJ or AIJ, where it is neither                                        */
  SpikeBlock        b;
  BlockILUWork      work;
  SpikeBlockPattern p;
  SpikeBlockLU      lu;
  PetscScalar      *stage; /* [n] for vectors that are not in the backend's memory                              */
  PCBlockILUInfo    info;  /* of this rank; reduced on request                                                 */
} PC_BlockILU;

/* The diagonal part of the matrix on this rank, and its entries while they are looked at */
typedef struct {
  Mat           A;
  PetscBool     baij;
  PetscMemType  memtype;
  SpikeCSR      piece;
  PetscInt      nrows;
  SpikeBlockCSR csr;
} BlockILUMat;

PETSC_INTERN PetscErrorCode PCCreate_BlockILU(PC);
PETSC_INTERN PetscErrorCode PCSetUp_BlockILU(PC);
PETSC_INTERN PetscErrorCode PCReset_BlockILU(PC);
PETSC_INTERN PetscErrorCode PCSetFromOptions_BlockILU(PC, PetscOptionItems);
PETSC_INTERN PetscErrorCode PCView_BlockILU(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCBlockILUGetInfo_BlockILU(PC, PCBlockILUInfo *);
PETSC_INTERN PetscErrorCode PCBlockILUChanged_Private(PC);
PETSC_INTERN PetscErrorCode PCBlockILUComposeMethods_Private(PC, PetscBool);
PETSC_INTERN PetscErrorCode PCBlockILUComposePatternMethods_Private(PC, PetscBool);
#define BlockILUCompose(name, function) \
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, name, compose ? function : NULL))

PETSC_INTERN PetscErrorCode PCApply_BlockILU(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_BlockILU(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCMatApply_BlockILU(PC, Mat, Mat);
PETSC_INTERN PetscErrorCode PCMatApplyTranspose_BlockILU(PC, Mat, Mat);
PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_BlockILU(PetscObject, SpikeEnqueue *);

/* blockilumat.c: the matrix */
PETSC_INTERN PetscErrorCode PCBlockILUGetMat_Private(PC, PetscBool, Mat *, PetscBool *);
PETSC_INTERN PetscErrorCode PCBlockILUGetBlockSize_Private(PC, Mat, PetscInt *);
PETSC_INTERN PetscErrorCode PCBlockILUGetCSR_Private(Mat, PetscMemType, BlockILUMat *);
PETSC_INTERN PetscErrorCode PCBlockILURestoreCSR_Private(BlockILUMat *);

/* blockiluorder.c: orderings inside of subdomains */
PETSC_INTERN PetscErrorCode PCBlockILUOrderReset_Private(PC);
PETSC_INTERN PetscErrorCode PCBlockILUOrder_Private(PC, PetscInt, const PetscInt[], PetscInt, const PetscInt[],
                                                    const PetscInt[], PetscInt **);
