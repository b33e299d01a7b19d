/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diaimpl.h: what the files of MATDIA share. A file calls only files above it in this list:

    diahalo.c        exchange of vectors between ranks
    diastructure.c   which diagonals in which rows, where values are
    diaaij.c         entries from an AIJ matrix, and as one
    diamult.c        products, and the diagonals lent to the fused Krylov methods
    diavalues.c      operations that keep the pattern
    diachange.c      operations that may change it
    diaparts.c       diagonal blocks, submatrices
    diabyaij.c       what AIJ does for it, on a copy
    diafactor.c      factors of the copy
    diaproduct.c     products of the copy with other matrices
    diaassembly.c    MatSetValues(), MatSetValuesCOO(), preallocation
    diaoptions.c     what users set
    diaconvert.c     other types, copies
    diaview.c        viewers, files, MatInfo
    dia.c            creation, destruction, the table of operations
*/
#pragma once

#include <petscspike.h>
#include <petsc/private/matimpl.h>
#include "common/array.h"
#include "common/bound.h"
#include "common/enqueue.h"
#include "common/matcsr.h"
#include "mat_halo/halo.h"

/* A value on its way, for the time between two assemblies */
typedef struct {
  PetscInt    row, col;
  PetscScalar value;
} MatDIAEntry;

/*
  An AIJ matrix with its pattern. Its nonzero state alone would not do: that of MATMPIAIJ is a sum over both parts and
  all ranks, which makes the same number twice when a part is made anew, and MatSetPreallocationCOO() sets it back
*/
typedef struct {
  PetscObjectId    id, part[2], coo;
  PetscObjectState state, partstate[2];
  PetscInt64       nz;
} MatDIASource;

/* What MatSetOption() asked of entries, each option once, in the order in which the calls came: AIJ gets them so */
typedef struct {
  PetscInt  n;
  MatOption op[MAT_OPTION_MAX - MAT_OPTION_MIN];
  PetscBool flag[MAT_OPTION_MAX - MAT_OPTION_MIN];
} MatDIAOptions;

static inline PetscBool MatDIAOption_Private(const MatDIAOptions *o, MatOption op, PetscBool unset)
{
  for (PetscInt k = 0; k < o->n; k++)
    if (o->op[k] == op) return o->flag[k];
  return unset;
}

/* Which diagonals, in which rows first[d] <= i < last[d], with which entries (mask[], as in Mat_DIA) */
typedef struct {
  PetscInt   count, *offset, *first, *last;
  uint64_t  *mask;
  PetscInt64 nz;
} MatDIAStructure;

static inline PetscCount MatDIAMaskLength(PetscInt n, PetscInt count)
{
  return (PetscCount)count * ((n + SPIKE_DIA_ROWS - 1) / SPIKE_DIA_ROWS);
}

typedef struct {
  PetscBool seq; /* MATSEQDIA or MATSEQDIACUDA */
  /* MATSEQDIACUDA or MATMPIDIACUDA: values are on the device, unless the matrix is bound to the CPU */
  PetscBool        cuda;
  SpikeDIA         dia;
  PetscBool        built;       /* dia, mask and halo are there */
  uint64_t        *mask;        /* bit r of mask[b count + d]: row b SPIKE_DIA_ROWS + r has an entry on diagonal d */
  PetscInt64       nz;          /* entries of this rank */
  PetscInt         nonempty;    /* rows that have entries */
  PetscInt        *offsets;     /* [count] column minus row, in global indices */
  PetscInt         diagonal;    /* number of the main diagonal, count where this rank has none */
  PetscObjectState shape;       /* another number for each set of tables in the program */
  MatDIASource     source;      /* the AIJ matrix that gave the structure */
  PetscObjectState sourceshape; /* shape then: another structure since where they differ */
  MatHalo          halo;        /* ghost[] has the columns of other ranks                                         */
  PetscInt        *runat;       /* [nsend + 1] in runs[]                                                          */
  SpikeDIARun     *runs;        /* own columns that go to others; `at` counts from the beginning of halo.message[] */

  Mat              aij; /* collects entries until the end of an assembly; NULL on all ranks or on none */
  Mat              coo; /* knows where the values of MatSetValuesCOO() go; its own values are of no use in between */
  PetscObjectState cooshape; /* shape, where A has the entries of coo and no others */
  /* between the two halves of an assembly: no rank has new entries                */
  PetscBool idle;
  /* MatDIAEntry, of MatSetValues() after an assembly, where aij is not there        */
  PetscSegBuffer entries;
  InsertMode     mode; /* theirs */
  MatDIAOptions  options;

  MatDIAScheduleType schedule;
  PetscReal          maxfill;

  Mat              block; /* MatGetDiagonalBlock(), as of blockstate and blockshape */
  PetscObjectState blockstate, blockshape;
  Mat              copy; /* as MATAIJ, as of copystate and copyshape */
  PetscObjectState copystate, copyshape;
  PetscScalar     *inverse; /* [ninverse] MatInvertBlockDiagonal() */
  PetscCount       ninverse;
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
  return ((Mat_DIA *)A->data)->cuda && !SpikeMatIsBoundToCPU(A) ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
}

static inline PetscErrorCode MatDIALogFlops_Private(Mat A, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(MatDIAMemType_Private(A))) PetscCall(PetscLogFlops(flops));
  else PetscCall(PetscLogGpuFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Functions of an object by their names, one a line; NULL functions take them away */
typedef struct {
  const char       *name;
  PetscErrorCodeFn *function;
} MatDIAFunction;

static inline PetscErrorCode MatDIACompose_Private(Mat A, PetscBool compose, size_t n, const MatDIAFunction list[])
{
  PetscFunctionBegin;
  for (size_t k = 0; k < n; k++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, list[k].name, compose ? list[k].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diahalo.c */
PETSC_INTERN PetscErrorCode MatDIAHaloCreate_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloDestroy_Private(Mat_DIA *);
PETSC_INTERN PetscErrorCode MatDIAHaloBegin_Private(Mat, const PetscScalar *);
PETSC_INTERN PetscErrorCode MatDIAHaloEnd_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseHost_Private(Mat, PetscScalar *, PetscScalar *);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseBegin_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAHaloReverseEnd_Private(Mat, PetscScalar *);

/* diastructure.c */
PETSC_INTERN PetscErrorCode MatDIAIs_Private(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatDIAReset_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAGetStructure_Private(Mat, PetscInt, const SpikeCSR[], MatDIAStructure *);
PETSC_INTERN PetscErrorCode MatDIAFits_Private(Mat, PetscInt, const SpikeCSR[], PetscBool *);
PETSC_INTERN PetscErrorCode MatDIAFreeStructure_Private(MatDIAStructure *);
PETSC_INTERN PetscBool      MatDIAIsStructure_Private(Mat, const MatDIAStructure *);
PETSC_INTERN PetscErrorCode MatDIASetStructure_Private(Mat, MatDIAStructure *);
PETSC_INTERN PetscErrorCode MatDIASameStructure_Private(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatDIALike_Private(Mat, PetscMemType, SpikeDIA *);
PETSC_INTERN PetscErrorCode MatDIAMove_Private(const SpikeDIA *, SpikeDIA *);
PETSC_INTERN PetscErrorCode MatBindToCPU_DIA(Mat, PetscBool);

/* diaaij.c */
PETSC_INTERN PetscErrorCode MatDIAFromAIJ_Private(Mat, Mat);
PETSC_INTERN PetscErrorCode MatDIAFitsAIJ_Private(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatDIAToAIJ_Private(Mat, MatReuse, Mat *);

/* diamult.c */
PETSC_INTERN PetscErrorCode MatMult_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTranspose_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultTransposeAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTranspose_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatMultHermitianTransposeAdd_DIA(Mat, Vec, Vec, Vec);
PETSC_INTERN PetscErrorCode PetscSpikeGetEnqueue_DIA(PetscObject, SpikeEnqueue *);

/* diavalues.c */
PETSC_INTERN PetscErrorCode MatGetRow_DIA(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
PETSC_INTERN PetscErrorCode MatRestoreRow_DIA(Mat, PetscInt, PetscInt *, PetscInt **, PetscScalar **);
PETSC_INTERN PetscErrorCode MatGetValues_DIA(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[],
                                             PetscScalar[]);
PETSC_INTERN PetscErrorCode MatGetDiagonal_DIA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatDiagonalScale_DIA(Mat, Vec, Vec);
PETSC_INTERN PetscErrorCode MatScale_DIA(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatConjugate_DIA(Mat);
PETSC_INTERN PetscErrorCode MatNorm_DIA(Mat, NormType, PetscReal *);

/* diachange.c */
PETSC_INTERN PetscErrorCode MatShift_DIA(Mat, PetscScalar);
PETSC_INTERN PetscErrorCode MatDiagonalSet_DIA(Mat, Vec, InsertMode);
PETSC_INTERN PetscErrorCode MatAXPY_DIA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatCopy_DIA(Mat, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatEqual_DIA(Mat, Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatTranspose_DIA(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatZeroRows_DIA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_DIA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);

/* diaparts.c */
PETSC_INTERN PetscErrorCode MatGetDiagonalBlock_DIA(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatCreateSubMatrices_DIA(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatCreateSubMatricesMPI_DIA(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatGetMultiProcBlock_DIA(Mat, MPI_Comm, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatIncreaseOverlap_DIA(Mat, PetscInt, IS[], PetscInt);
PETSC_INTERN PetscErrorCode MatCreateSubMatrix_DIA(Mat, IS, IS, MatReuse, Mat *);

/* diabyaij.c */
PETSC_INTERN PetscErrorCode MatDIAGetAIJ_Private(Mat, Mat *);
PETSC_INTERN PetscErrorCode MatDIAComposeByAIJ_Private(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatSOR_DIA(Mat, Vec, PetscReal, MatSORType, PetscReal, PetscInt, PetscInt, Vec);
PETSC_INTERN PetscErrorCode MatIsSymmetric_DIA(Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsHermitian_DIA(Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatGetRowMaxAbs_DIA(Mat, Vec, PetscInt[]);
PETSC_INTERN PetscErrorCode MatGetRowMinAbs_DIA(Mat, Vec, PetscInt[]);
PETSC_INTERN PetscErrorCode MatGetRowMax_DIA(Mat, Vec, PetscInt[]);
PETSC_INTERN PetscErrorCode MatGetRowMin_DIA(Mat, Vec, PetscInt[]);
PETSC_INTERN PetscErrorCode MatGetRowSumAbs_DIA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatCreateGraph_DIA(Mat, PetscBool, PetscBool, PetscReal, PetscInt, PetscInt[], Mat *);
PETSC_INTERN PetscErrorCode MatGetRowIJ_DIA(Mat, PetscInt, PetscBool, PetscBool, PetscInt *, const PetscInt *[],
                                            const PetscInt *[], PetscBool *);
PETSC_INTERN PetscErrorCode MatRestoreRowIJ_DIA(Mat, PetscInt, PetscBool, PetscBool, PetscInt *, const PetscInt *[],
                                                const PetscInt *[], PetscBool *);
PETSC_INTERN PetscErrorCode MatFDColoringCreate_DIA(Mat, ISColoring, MatFDColoring);
PETSC_INTERN PetscErrorCode MatFDColoringSetUp_DIA(Mat, ISColoring, MatFDColoring);
PETSC_INTERN PetscErrorCode MatFDColoringApply_DIA(Mat, MatFDColoring, Vec, void *);
PETSC_INTERN PetscErrorCode MatInvertBlockDiagonal_DIA(Mat, const PetscScalar *[]);
PETSC_INTERN PetscErrorCode MatInvertVariableBlockDiagonal_DIA(Mat, PetscInt, const PetscInt[], PetscScalar[]);

/* diafactor.c */
PETSC_INTERN PetscErrorCode MatDIARegisterFactors(void);

/* diaproduct.c */
PETSC_INTERN PetscErrorCode MatDIAComposeProduct_Private(Mat, PetscBool);

/* diaassembly.c */
PETSC_INTERN PetscErrorCode MatSetUp_DIA(Mat);
PETSC_INTERN PetscErrorCode MatSetValues_DIA(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[],
                                             const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatAssemblyBegin_DIA(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatAssemblyEnd_DIA(Mat, MatAssemblyType);
PETSC_INTERN PetscErrorCode MatSetOption_DIA(Mat, MatOption, PetscBool);
PETSC_INTERN PetscErrorCode MatZeroEntries_DIA(Mat);
PETSC_INTERN PetscErrorCode MatDIAComposeAssembly_Private(Mat, PetscBool);

/* diaoptions.c */
PETSC_INTERN PetscErrorCode MatSetFromOptions_DIA(Mat, PetscOptionItems);
PETSC_INTERN PetscErrorCode MatDIASetFromOptions_Private(Mat);
PETSC_INTERN PetscErrorCode MatDIAComposeOptions_Private(Mat, PetscBool);

/* diaconvert.c */
PETSC_INTERN PetscErrorCode MatConvert_DIA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_DIA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatDuplicate_DIA(Mat, MatDuplicateOption, Mat *);
PETSC_INTERN PetscErrorCode MatDIAComposeConvert_Private(Mat, PetscBool);

/* diaview.c */
PETSC_INTERN PetscErrorCode MatView_DIA(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatLoad_DIA(Mat, PetscViewer);
PETSC_INTERN PetscErrorCode MatGetInfo_DIA(Mat, MatInfoType, MatInfo *);

/* dia.c */
PETSC_INTERN PetscErrorCode MatCreate_SeqDIA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIDIA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_SeqDIACUDA(Mat);
PETSC_INTERN PetscErrorCode MatCreate_MPIDIACUDA(Mat);
