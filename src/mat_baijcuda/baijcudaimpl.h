/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudaimpl.h: what the files of MATBAIJCUDA share. The matrix is PETSc's MATBAIJ, with a copy of its blocks where a
  backend works. Operations of PETSc's table that read or write values have wrappers of ours in their places. A file
  calls only files above it in this list, with two exceptions: what makes a matrix of PETSc's ours, and back, is in the
  last one (MatBAIJCUDAInstall_Private() and MatBAIJCUDARemove_Private()), and the table in baijcudahost.c names
  operations of baijcudaconvert.c:

    baijcudacopy.c     the copy: pattern and values, to the backend and back
    baijcudamult.c     products with vectors, and the halo
    baijcudaproduct.c  products with dense matrices
    baijcudacoo.c      MatSetValuesCOO()
    baijcudavalues.c   operations on values that are ahead, where the backend works
    baijcudahost.c     operations that PETSc does on the host
    baijcudaaij.c      MATAIJCUSPARSE from it, and it from MATAIJCUSPARSE
    baijcudaconvert.c  other types, copies, submatrices
    baijcuda.c         creation, destruction, the table of operations
*/
#pragma once

#include <petscspike.h>
#include <petsc/private/matimpl.h>
#include "common/array.h"
#include "common/bound.h"
#include "common/enqueue.h"
#include "common/matbaij.h"
#include "mat_halo/halolist.h"

/* Coordinates of MatSetPreallocationCOO(): baijcudacoo.c */
typedef struct _n_MatBAIJCOO MatBAIJCOO;

/* Parts of a matrix and the patterns that they had, for what was planned for these; parts[1] may be NULL */
typedef struct {
  PetscObjectId    id[2];
  PetscObjectState state[2], made[2];
} MatBAIJCUDAPattern;

/* In A->spptr, which MATBAIJ does not use */
typedef struct {
  struct _MatOps           ops; /* PETSc's operations where ours have their places */
  const SpikeBlockKernels *k;
  SpikeBlock               b; /* b.k NULL: not made yet */
  PetscBool                mpi, bound;

  /* MATSEQBAIJCUDA: the copy */
  SpikeBlockMat mat; /* mat.data NULL: none */
  PetscBool     trans;
  PetscCount    nval;
  PetscScalar  *val;
  /* another number for each memory of pattern or values, in the whole process; of MATMPIBAIJCUDA of either part */
  PetscObjectState shape, partshape[2];
  PetscObjectState made;    /* likewise for each preallocation, which leaves the nonzero state as it was */
  PetscObjectState pattern; /* nonzero state of what mat has, -1: none */
  /*
    Object state of A when the copy had its values, -1: none. Of MATMPIBAIJCUDA: when the states of its parts were right
  */
  PetscObjectState values;
  /*
    The values of the copy, or of copies of parts, are newer than PETSc's: MatSetValuesCOO() has put them there. PETSc's
    operations get them first
  */
  PetscBool ahead;
  /* Somebody reads the rows on the host, as PETSc's factorizations, which ask for no values: none stays ahead then */
  PetscBool read;

  /* MATSEQBAIJCUDA: places of the diagonal in val, where the backend works, of the copy of this shape; NULL: not all */
  PetscInt        *diagonal;
  PetscObjectState diagonalshape;

  MatHaloList list; /* MATMPIBAIJCUDA: block columns of other ranks */
  /* MATMPIBAIJCUDA: the part with these, and its nonzero state, when it was last looked at; 0: not yet */
  PetscObjectId    otherid;
  PetscObjectState otherstate;
  PetscObjectState sum; /* MATMPIBAIJCUDA: of the nonzero states of all parts, when PETSc last made it; 0: not yet */

  MatBAIJCOO  *coo;    /* NULL: none, or left to PETSc */
  PetscScalar *staged; /* [nstaged] where the backend works: values of coordinates that the caller has elsewhere */
  PetscScalar *joined; /* [njoined] likewise: values of both parts, one after the other */
  PetscCount   nstaged, njoined;

  /* As AIJ, for submatrices inside of blocks, NULL: none yet; what A and its parts were when it had their values */
  Mat                aij;
  PetscBool          aijdevice;
  MatBAIJCUDAPattern aijpattern;
  PetscObjectState   aijvalues[3];
} Mat_BAIJCUDA;

static inline Mat_BAIJCUDA *MatBAIJCUDA_Private(Mat A)
{
  return (Mat_BAIJCUDA *)A->spptr;
}

static inline PetscErrorCode MatBAIJCUDAIs_Private(Mat A, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, is, MATSEQBAIJCUDA, MATMPIBAIJCUDA, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether products are ours: there are kernels for blocks of this size, and the matrix is not bound to the CPU */
static inline PetscBool MatBAIJCUDAHasKernels_Private(Mat A)
{
  return (PetscBool)(!MatBAIJCUDA_Private(A)->bound && A->rmap->bs <= SPIKE_BLOCK_MAXBS);
}

/* baijcudacopy.c */
PETSC_INTERN PetscErrorCode MatBAIJCUDAGetBackend_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDAGetPattern_Private(const Mat[2], MatBAIJCUDAPattern *);
PETSC_INTERN PetscErrorCode MatBAIJCUDAUpdatePattern_Private(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatBAIJCUDAUpdate_Private(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatBAIJCUDAWatchParts_Private(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatBAIJCUDAGetParts_Private(Mat, Mat[2], const PetscInt *[]);
PETSC_INTERN PetscErrorCode MatBAIJCUDAGetChangedParts_Private(Mat, Mat[2]);
PETSC_INTERN PetscErrorCode MatBAIJCUDAUpdateParts_Private(Mat, PetscBool, Mat[2]);
PETSC_INTERN PetscErrorCode MatBAIJCUDAToHost_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDAFetch_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDABind_Private(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatBAIJCUDAAhead_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDAReset_Private(Mat);
PETSC_INTERN PetscErrorCode MatSeqBAIJGetCSR_SeqBAIJCUDA(Mat, PetscMemType, SpikeBlockCSR *);

/* baijcudamult.c */
PETSC_INTERN PetscErrorCode MatBAIJCUDAPlan_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDARun_Private(Mat, SpikeBlockOp, SpikeBlockMode, PetscInt, const PetscScalar *,
                                                   PetscCount, PetscScalar *, PetscCount);
PETSC_INTERN PetscErrorCode MatMult_BAIJCUDA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_BAIJCUDA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_BAIJCUDA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_BAIJCUDA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_BAIJCUDA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_BAIJCUDA(Mat, Vec, Vec, Vec);

PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_BAIJCUDA(PetscObject, SpikeEnqueue *);

/* baijcudaproduct.c */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_BAIJCUDA_Dense(Mat);

/* baijcudacoo.c */
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_BAIJCUDA(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_BAIJCUDA(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatBAIJCUDACOOReset_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDACOOShare_Private(Mat, Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDACOOSetSource_Private(Mat, const MatBAIJCUDAPattern *);
PETSC_INTERN PetscErrorCode MatBAIJCUDACOOIsFrom_Private(Mat, const MatBAIJCUDAPattern *, PetscBool *);

/* baijcudavalues.c */
PETSC_INTERN PetscErrorCode MatScale_BAIJCUDA(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatZeroEntries_BAIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatGetDiagonal_BAIJCUDA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatBAIJCUDACopyAhead_Private(Mat, Mat);

/* baijcudahost.c */
PETSC_INTERN PetscErrorCode MatBAIJCUDAWrap_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDAUnwrap_Private(Mat);

/* baijcudaaij.c */
PETSC_INTERN PetscErrorCode MatBAIJCUDAByCoordinates_Private(Mat, MatType, PetscBool *);
PETSC_INTERN PetscErrorCode MatConvert_BAIJCUDA_AIJCUSPARSE(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJCUSPARSE_BAIJCUDA(Mat, MatType, MatReuse, Mat *, PetscBool *);

/* baijcudaconvert.c */
PETSC_INTERN PetscErrorCode MatConvert_BAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_BAIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatDuplicate_BAIJCUDA(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode MatAXPY_BAIJCUDA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatLUFactor_BAIJCUDA(Mat, IS, IS, const MatFactorInfo *);
PETSC_INTERN PetscErrorCode MatILUFactor_BAIJCUDA(Mat, IS, IS, const MatFactorInfo *);
PETSC_INTERN PetscErrorCode MatCreateSubMatrix_BAIJCUDA(Mat, IS, IS, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreateSubMatrices_BAIJCUDA(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatDestroySubMatrices_BAIJCUDA(PetscInt, Mat *[]);

/* baijcuda.c */
PETSC_INTERN PetscErrorCode MatBAIJCUDAInstall_Private(Mat, MatType);
PETSC_INTERN PetscErrorCode MatBAIJCUDARemove_Private(Mat);
PETSC_INTERN PetscErrorCode MatBAIJCUDARegister(PetscBool);
