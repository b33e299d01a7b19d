/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudahost.c: operations of MATBAIJCUDA that PETSc does on its own blocks, on the host. A wrapper gets values first
  where the copy is ahead; what PETSc changes it says by the state of the object, and the next product copies it
*/
#include "baijcudaimpl.h"

/* PETSc's operation op of A, after its values are right */
#define MatBAIJCUDADo(A, op, ...) \
  do { \
    PetscCall(MatBAIJCUDAToHost_Private(A)); \
    PetscCall((*MatBAIJCUDA_Private(A)->ops.op)(__VA_ARGS__)); \
  } while (0)

/* Operations with up to three arguments after A */
#define MatBAIJCUDAWrap0(name, op) \
  static PetscErrorCode name(Mat A) \
  { \
    PetscFunctionBegin; \
    MatBAIJCUDADo(A, op, A); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define MatBAIJCUDAWrap1(name, op, X) \
  static PetscErrorCode name(Mat A, X x) \
  { \
    PetscFunctionBegin; \
    MatBAIJCUDADo(A, op, A, x); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define MatBAIJCUDAWrap2(name, op, X, Y) \
  static PetscErrorCode name(Mat A, X x, Y y) \
  { \
    PetscFunctionBegin; \
    MatBAIJCUDADo(A, op, A, x, y); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define MatBAIJCUDAWrap3(name, op, X, Y, Z) \
  static PetscErrorCode name(Mat A, X x, Y y, Z z) \
  { \
    PetscFunctionBegin; \
    MatBAIJCUDADo(A, op, A, x, y, z); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }

MatBAIJCUDAWrap0(MatConjugate_BAIJCUDA, conjugate) MatBAIJCUDAWrap0(MatRealPart_BAIJCUDA, realpart)
  MatBAIJCUDAWrap0(MatImaginaryPart_BAIJCUDA, imaginarypart)
    MatBAIJCUDAWrap1(MatGetRowSumAbs_BAIJCUDA, getrowsumabs, Vec)
      MatBAIJCUDAWrap1(MatShift_BAIJCUDA, shift, PetscScalar) MatBAIJCUDAWrap1(MatEliminateZeros_BAIJCUDA,
                                                                               eliminatezeros, PetscBool)
        MatBAIJCUDAWrap1(MatInvertBlockDiagonal_BAIJCUDA, invertblockdiagonal, const PetscScalar **)
          MatBAIJCUDAWrap2(MatDiagonalScale_BAIJCUDA, diagonalscale, Vec, Vec)
            MatBAIJCUDAWrap2(MatNorm_BAIJCUDA, norm, NormType, PetscReal *)
              MatBAIJCUDAWrap2(MatTranspose_BAIJCUDA, transpose, MatReuse, Mat *)
                MatBAIJCUDAWrap2(MatGetRowMaxAbs_BAIJCUDA, getrowmaxabs, Vec, PetscInt *)
                  MatBAIJCUDAWrap2(MatGetColumnReductions_BAIJCUDA, getcolumnreductions, PetscInt, PetscReal *)
                    MatBAIJCUDAWrap2(MatFDColoringSetUp_BAIJCUDA, fdcoloringsetup, ISColoring, MatFDColoring)
                      MatBAIJCUDAWrap3(MatFDColoringApply_BAIJCUDA, fdcoloringapply, MatFDColoring, Vec, void *)
                        MatBAIJCUDAWrap3(MatPermute_BAIJCUDA, permute, IS, IS, Mat *)
                          MatBAIJCUDAWrap3(MatGetMultiProcBlock_BAIJCUDA, getmultiprocblock, MPI_Comm, MatReuse, Mat *)

                            static PetscErrorCode
  MatSetValues_BAIJCUDA(Mat A, PetscInt m, const PetscInt *i, PetscInt n, const PetscInt *j, const PetscScalar *v,
                        InsertMode mode)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, setvalues, A, m, i, n, j, v, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetValuesBlocked_BAIJCUDA(Mat A, PetscInt m, const PetscInt *i, PetscInt n, const PetscInt *j,
                                                   const PetscScalar *v, InsertMode mode)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, setvaluesblocked, A, m, i, n, j, v, mode);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetValues_BAIJCUDA(Mat A, PetscInt m, const PetscInt *i, PetscInt n, const PetscInt *j,
                                            PetscScalar *v)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, getvalues, A, m, i, n, j, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRow_BAIJCUDA(Mat A, PetscInt row, PetscInt *n, PetscInt **j, PetscScalar **v)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, getrow, A, row, n, j, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's view of a MATMPIBAIJ collects it into a matrix of the same type, which has to be its own */
static PetscErrorCode MatView_BAIJCUDA(Mat A, PetscViewer viewer)
{
  Mat B;

  PetscFunctionBegin;
  if (!MatBAIJCUDA_Private(A)->mpi) {
    MatBAIJCUDADo(A, view, A, viewer);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(A, MATMPIBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(PetscObjectSetName((PetscObject)B, ((PetscObject)A)->name));
  PetscCall((*B->ops->view)(B, viewer));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSOR_BAIJCUDA(Mat A, Vec b, PetscReal omega, MatSORType type, PetscReal shift, PetscInt its,
                                      PetscInt lits, Vec x)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, sor, A, b, omega, type, shift, its, lits, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatEqual_BAIJCUDA(Mat A, Mat B, PetscBool *equal)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAFetch_Private(B));
  MatBAIJCUDADo(A, equal, A, B, equal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_BAIJCUDA(Mat A, Mat B, MatStructure str)
{
  PetscErrorCode (*const ours)(Mat, Mat, MatStructure) = A->ops->copy;
  PetscErrorCode ierr;
  PetscBool      is;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAFetch_Private(B));
  PetscCall(MatBAIJCUDAToHost_Private(A));
  PetscCall(MatBAIJCUDAIs_Private(B, &is));
  A->ops->copy = MatBAIJCUDA_Private(A)->ops.copy; /* PETSc compares it with that of B, which it knows by that */
  if (is) B->ops->copy = MatBAIJCUDA_Private(B)->ops.copy;
  ierr         = (*A->ops->copy)(A, B, str);
  A->ops->copy = ours;
  if (is) B->ops->copy = ours;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc makes the nonzero state of a MATMPIBAIJ the sum of those of its parts, in operations that may change the
  pattern. But MatSetPreallocationCOO() raises that of the matrix alone, and the next sum may be what the state is
  already: that of two patterns would be one, and preconditioners would keep theirs. So where the sum has changed the
  state goes up. Begin hides the state, which tells afterwards whether there is a new sum; the same on all ranks
*/
static void MatBAIJCUDACountBegin_Private(Mat A, PetscObjectState *before)
{
  *before = A->nonzerostate;
  if (MatBAIJCUDA_Private(A)->mpi) A->nonzerostate = -1;
}

static void MatBAIJCUDACountEnd_Private(Mat A, PetscObjectState before)
{
  Mat_BAIJCUDA          *c   = MatBAIJCUDA_Private(A);
  const PetscObjectState sum = A->nonzerostate;

  if (!c->mpi || before == -1) return; /* inside of another operation, which ends so: the sum is for that */
  A->nonzerostate = before;
  if (sum == -1 || sum == c->sum) return;
  c->sum          = sum;
  A->nonzerostate = PetscMax(before + 1, sum);
}

/* PETSc's operation op of A, which may change the pattern */
#define MatBAIJCUDACounted(A, op, ...) \
  do { \
    PetscObjectState before; \
    PetscErrorCode   ierr; \
    MatBAIJCUDACountBegin_Private(A, &before); \
    ierr = (*MatBAIJCUDA_Private(A)->ops.op)(__VA_ARGS__); \
    MatBAIJCUDACountEnd_Private(A, before); \
    PetscCall(ierr); \
  } while (0)

static PetscErrorCode MatZeroRows_BAIJCUDA(Mat A, PetscInt n, const PetscInt *rows, PetscScalar diag, Vec x, Vec b)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAToHost_Private(A));
  MatBAIJCUDACounted(A, zerorows, A, n, rows, diag, x, b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroRowsColumns_BAIJCUDA(Mat A, PetscInt n, const PetscInt *rows, PetscScalar diag, Vec x,
                                                  Vec b)
{
  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAToHost_Private(A));
  MatBAIJCUDACounted(A, zerorowscolumns, A, n, rows, diag, x, b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConcatenate_BAIJCUDA(MPI_Comm comm, Mat A, PetscInt n, MatReuse reuse, Mat *B)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, creatempimatconcatenateseqmat, comm, A, n, reuse, B);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of several ranks. Its values may stay ahead: it is one of ours */
static PetscErrorCode MatGetDiagonalBlock_BAIJCUDA(Mat A, Mat *block)
{
  Mat parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAGetChangedParts_Private(A, parts));
  *block = parts[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orderings read the rows before PETSc's factorizations read values, and those ask nobody */
static PetscErrorCode MatGetRowIJ_BAIJCUDA(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed,
                                           PetscInt *n, const PetscInt **ia, const PetscInt **ja, PetscBool *done)
{
  PetscFunctionBegin;
  MatBAIJCUDA_Private(A)->read = PETSC_TRUE;
  MatBAIJCUDADo(A, getrowij, A, shift, symmetric, compressed, n, ia, ja, done);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc may choose other operations in these three. MatSetValuesCOO() ends in the first and the last, without values of
  other ranks, and neither reads values where nothing was inserted on the host
*/
static PetscErrorCode MatSetOption_BAIJCUDA(Mat A, MatOption op, PetscBool flag)
{
  PetscFunctionBegin;
  PetscCall((*MatBAIJCUDA_Private(A)->ops.setoption)(A, op, flag));
  PetscCall(MatBAIJCUDAWrap_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLoad_BAIJCUDA(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  MatBAIJCUDADo(A, load, A, viewer);
  PetscCall(MatBAIJCUDAWrap_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: the parts have their types, and a halo that there is fits the new pattern */
static PetscErrorCode MatAssemblyEnd_BAIJCUDA(Mat A, MatAssemblyType type)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  Mat           parts[2];

  PetscFunctionBegin;
  if (c->mpi && !A->nooffprocentries) PetscCall(MatBAIJCUDAToHost_Private(A)); /* others may have sent values */
  if (c->mpi) PetscCall(MatBAIJCUDAWatchParts_Private(A, PETSC_TRUE));
  MatBAIJCUDACounted(A, assemblyend, A, type);
  PetscCall(MatBAIJCUDAWrap_Private(A));
  if (c->mpi) PetscCall(MatBAIJCUDAWatchParts_Private(A, PETSC_FALSE));
  if (!c->mpi || type == MAT_FLUSH_ASSEMBLY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, NULL));
  if (c->list.planned) PetscCall(MatBAIJCUDAPlan_Private(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Every operation with a wrapper. Where PETSc has none, neither has MATBAIJCUDA: a default may take its place. PETSc
  assembles without preallocation by a table for the time being, which it keeps beside a copy of ours
*/
#define MatBAIJCUDAOperations(X) \
  X(setvalues, MatSetValues_BAIJCUDA) \
  X(setvaluesblocked, MatSetValuesBlocked_BAIJCUDA) \
  X(getrow, MatGetRow_BAIJCUDA) \
  X(getvalues, MatGetValues_BAIJCUDA) \
  X(mult, MatMult_BAIJCUDA) \
  X(multadd, MatMultAdd_BAIJCUDA) \
  X(multtranspose, MatMultTranspose_BAIJCUDA) \
  X(multtransposeadd, MatMultTransposeAdd_BAIJCUDA) \
  X(lufactor, MatLUFactor_BAIJCUDA) \
  X(ilufactor, MatILUFactor_BAIJCUDA) \
  X(sor, MatSOR_BAIJCUDA) \
  X(transpose, MatTranspose_BAIJCUDA) \
  X(equal, MatEqual_BAIJCUDA) \
  X(getdiagonal, MatGetDiagonal_BAIJCUDA) \
  X(getdiagonalblock, MatGetDiagonalBlock_BAIJCUDA) \
  X(diagonalscale, MatDiagonalScale_BAIJCUDA) \
  X(norm, MatNorm_BAIJCUDA) \
  X(assemblyend, MatAssemblyEnd_BAIJCUDA) \
  X(setoption, MatSetOption_BAIJCUDA) \
  X(zeroentries, MatZeroEntries_BAIJCUDA) \
  X(zerorows, MatZeroRows_BAIJCUDA) \
  X(zerorowscolumns, MatZeroRowsColumns_BAIJCUDA) \
  X(duplicate, MatDuplicate_BAIJCUDA) \
  X(axpy, MatAXPY_BAIJCUDA) \
  X(createsubmatrices, MatCreateSubMatrices_BAIJCUDA) \
  X(createsubmatrix, MatCreateSubMatrix_BAIJCUDA) \
  X(destroysubmatrices, MatDestroySubMatrices_BAIJCUDA) \
  X(copy, MatCopy_BAIJCUDA) \
  X(scale, MatScale_BAIJCUDA) \
  X(shift, MatShift_BAIJCUDA) \
  X(getrowij, MatGetRowIJ_BAIJCUDA) \
  X(fdcoloringsetup, MatFDColoringSetUp_BAIJCUDA) \
  X(fdcoloringapply, MatFDColoringApply_BAIJCUDA) \
  X(permute, MatPermute_BAIJCUDA) \
  X(view, MatView_BAIJCUDA) \
  X(load, MatLoad_BAIJCUDA) \
  X(getrowmaxabs, MatGetRowMaxAbs_BAIJCUDA) \
  X(getrowsumabs, MatGetRowSumAbs_BAIJCUDA) \
  X(conjugate, MatConjugate_BAIJCUDA) \
  X(realpart, MatRealPart_BAIJCUDA) \
  X(imaginarypart, MatImaginaryPart_BAIJCUDA) \
  X(getcolumnreductions, MatGetColumnReductions_BAIJCUDA) \
  X(getmultiprocblock, MatGetMultiProcBlock_BAIJCUDA) \
  X(invertblockdiagonal, MatInvertBlockDiagonal_BAIJCUDA) \
  X(creatempimatconcatenateseqmat, MatConcatenate_BAIJCUDA) \
  X(eliminatezeros, MatEliminateZeros_BAIJCUDA)

PetscErrorCode MatBAIJCUDAWrap_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
  if (A->hash_active) PetscFunctionReturn(PETSC_SUCCESS);
#define MatBAIJCUDAWrapOne(op, ours) \
  if (A->ops->op && A->ops->op != ours) { \
    c->ops.op  = A->ops->op; \
    A->ops->op = ours; \
  }
  MatBAIJCUDAOperations(MatBAIJCUDAWrapOne)
#undef MatBAIJCUDAWrapOne
    A->ops->multhermitiantranspose  = MatMultHermitianTranspose_BAIJCUDA;
  A->ops->multhermitiantransposeadd = MatMultHermitianTransposeAdd_BAIJCUDA;
  A->ops->convert                   = MatConvert_BAIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table as PETSc made it */
PetscErrorCode MatBAIJCUDAUnwrap_Private(Mat A)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);

  PetscFunctionBegin;
#define MatBAIJCUDAUnwrapOne(op, ours) \
  if (A->ops->op == ours) A->ops->op = c->ops.op;
  MatBAIJCUDAOperations(MatBAIJCUDAUnwrapOne)
#undef MatBAIJCUDAUnwrapOne
    A->ops->multhermitiantranspose  = c->ops.multhermitiantranspose;
  A->ops->multhermitiantransposeadd = c->ops.multhermitiantransposeadd;
  A->ops->convert                   = c->ops.convert;
  PetscFunctionReturn(PETSC_SUCCESS);
}
