/* SPDX-License-Identifier: BSD-2-Clause */
/* diaimpl.h: what the files of MATDIA share */
#pragma once

#include <petscspike.h>
#include <petsc/private/matimpl.h>
#include "common/bound.h"
#include "common/enqueue.h"
#include "common/matcsr.h"
#include "mat_halo/halo.h"

/* A value on its way, for the time between two assemblies */
typedef struct {
  PetscInt    row, col;
  PetscScalar value;
} MatDIAEntry;

typedef struct {
  PetscBool seq; /* MATSEQDIA or MATSEQDIACUDA */
  /* MATSEQDIACUDA or MATMPIDIACUDA: values are on the device, unless the matrix is bound to the CPU */
  PetscBool        cuda;
  SpikeDIA         dia;
  PetscBool        built;    /* dia, mask and halo are there */
  uint64_t        *mask;     /* bit r of mask[b count + d]: row b SPIKE_DIA_ROWS + r has an entry on diagonal d */
  PetscInt64       nz;       /* entries of this rank */
  PetscInt        *offsets;  /* [count] column minus row, in global numbers */
  PetscInt         diagonal; /* number of the main diagonal, count where this rank has none */
  PetscObjectState shape;    /* another number for each set of tables in the program */
  /* AIJ matrix that gave the structure, as of its state; another structure since where sourceshape is not shape */
  PetscObjectId    source;
  PetscObjectState sourcestate, sourceshape;
  MatHalo          halo;  /* ghost[] has the columns of other ranks                                         */
  PetscInt        *runat; /* [nsend + 1] in runs[]                                                          */
  SpikeDIARun     *runs;  /* own columns that go to others; `at` counts from the beginning of halo.message[] */

  /* collects entries until the end of an assembly; NULL on all ranks or on none */
  Mat aij;
  /* aij stays: it knows where the values of MatSetValuesCOO() go                  */
  PetscBool coo;
  /* between the two halves of an assembly: no rank has new entries                */
  PetscBool idle;
  /* MatDIAEntry, of MatSetValues() after an assembly, where aij is not there        */
  PetscSegBuffer entries;
  InsertMode     mode;                                     /* theirs */
  PetscBool      options[MAT_OPTION_MAX - MAT_OPTION_MIN]; /* that aij is to have, and whether they were set */
  PetscBool      optionset[MAT_OPTION_MAX - MAT_OPTION_MIN];

  MatDIAScheduleType schedule;
  PetscReal          maxfill;

  Mat              block; /* MatGetDiagonalBlock(), as of blockstate and blockshape */
  PetscObjectState blockstate, blockshape;
  PetscInt        *cols; /* MatGetRow() */
  PetscScalar     *row, *vals;
} Mat_DIA;

static inline PetscBool MatDIAHas_Private(const Mat_DIA *a, PetscInt i, PetscInt d)
{
  return (PetscBool)(a->mask[(PetscCount)(i / SPIKE_DIA_ROWS) * a->dia.count + d] >> (i % SPIKE_DIA_ROWS) & 1);
}

/* Where values, and vectors in products, are to be */
static inline PetscMemType MatDIAMemType_Private(Mat A)
{
  return ((Mat_DIA *)A->data)->cuda && !MatIsBoundToCPU_Spike(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
}

static inline PetscErrorCode MatDIAGetArrayRead_Private(Mat A, Vec v, const PetscScalar **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) PetscCall(VecGetArrayRead(v, a));
  else PetscCall(VecCUDAGetArrayRead(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDIARestoreArrayRead_Private(Mat A, Vec v, const PetscScalar **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) PetscCall(VecRestoreArrayRead(v, a));
  else PetscCall(VecCUDARestoreArrayRead(v, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* write: what is there need not be */
static inline PetscErrorCode MatDIAGetArray_Private(Mat A, PetscBool write, Vec v, PetscScalar **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) {
    if (write) PetscCall(VecGetArrayWrite(v, a));
    else PetscCall(VecGetArray(v, a));
  } else {
    if (write) PetscCall(VecCUDAGetArrayWrite(v, a));
    else PetscCall(VecCUDAGetArray(v, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDIARestoreArray_Private(Mat A, PetscBool write, Vec v, PetscScalar **a)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) {
    if (write) PetscCall(VecRestoreArrayWrite(v, a));
    else PetscCall(VecRestoreArray(v, a));
  } else {
    if (write) PetscCall(VecCUDARestoreArrayWrite(v, a));
    else PetscCall(VecCUDARestoreArray(v, a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatDIALogFlops_Private(Mat A, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dia.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqDIACUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIDIACUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_SeqDIA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIDIA(Mat);
PETSC_INTERN PetscErrorCode MatDIAIs_Private(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatDIAReset_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIASetFromOptions_Private(Mat);

/* diabuild.c: from AIJ and to it */
PETSC_INTERN PetscErrorCode MatDIAFromAIJ_Private(Mat, Mat);
PETSC_INTERN PetscErrorCode MatDIAToAIJ_Private(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatDIASameStructure_Private(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatConvert_DIA_AIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_DIA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_DIA_DIA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_DIA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatDuplicate_DIA(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode MatDIAMove_Private(const SpikeDIA *, SpikeDIA *);
PETSC_INTERN PetscErrorCode MatBindToCPU_DIA(Mat, PetscBool);

/* diaassembly.c */
PETSC_INTERN PetscErrorCode MatSetUp_DIA(Mat);
PETSC_INTERN PetscErrorCode MatSetValues_DIA(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[],
                                             const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatAssemblyBegin_DIA(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatAssemblyEnd_DIA(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatSetOption_DIA(Mat, MatOption, PetscBool);
PETSC_INTERN PetscErrorCode MatZeroEntries_DIA(Mat);
PETSC_INTERN PetscErrorCode MatDIAComposeAssembly_Private(Mat, PetscBool);

/* diahalo.c */
PETSC_INTERN PetscErrorCode MatDIAHaloCreate_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloDestroy_Private(Mat_DIA *);
PETSC_INTERN PetscErrorCode MatDIAHaloBegin_Private(Mat, const PetscScalar *);
PETSC_INTERN PetscErrorCode MatDIAHaloEnd_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseHost_Private(Mat, PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseBegin_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseEnd_Private(Mat, PetscScalar *);

/* diamult.c */
PETSC_INTERN PetscErrorCode MatMult_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_DIA(PetscObject, SpikeEnqueue *);

/* diaops.c */
PETSC_INTERN PetscErrorCode MatGetRow_DIA(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
PETSC_INTERN PetscErrorCode MatRestoreRow_DIA(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
PETSC_INTERN PetscErrorCode MatGetDiagonal_DIA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatDiagonalScale_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatScale_DIA(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatConjugate_DIA(Mat);
PETSC_INTERN PetscErrorCode MatShift_DIA(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatDiagonalSet_DIA(Mat, Vec, InsertMode);
PETSC_INTERN PetscErrorCode MatAXPY_DIA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatCopy_DIA(Mat, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatNorm_DIA(Mat, NormType, PetscReal *);
PETSC_INTERN PetscErrorCode MatEqual_DIA(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatTranspose_DIA(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatGetDiagonalBlock_DIA(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatZeroRows_DIA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_DIA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatCreateSubMatrices_DIA(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatIncreaseOverlap_DIA(Mat, PetscInt, IS[], PetscInt);
PETSC_INTERN PetscErrorCode MatCreateSubMatrix_DIA(Mat, IS, IS, MatReuse, Mat *);

/* diaview.c */
PETSC_INTERN PetscErrorCode MatView_DIA(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatLoad_DIA(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatGetInfo_DIA(Mat, MatInfoType, MatInfo *);
