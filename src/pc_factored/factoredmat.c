/* SPDX-License-Identifier: BSD-2-Clause */
/* factoredmat.c: the matrix of a preconditioner by factors in a type that it reads; what all ranks have to agree on */
#include "factored.h"
#include "common/agree.h"
#include "common/matbaij.h"

/* The parts of a MATAIJ or MATBAIJ on this rank: the diagonal one, and the other with its global columns, or NULL */
static PetscErrorCode PCFactoredGetParts_Private(Mat A, PetscBool *baij, Mat parts[2], const PetscInt **garray)
{
  PetscBool mpi;

  PetscFunctionBegin;
  parts[0] = A;
  parts[1] = NULL;
  *garray  = NULL;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, baij, MATSEQBAIJ, MATMPIBAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &mpi, MATMPIAIJ, MATMPIBAIJ, ""));
  if (mpi && *baij) PetscCall(SpikeMatMPIBAIJGetSeqBAIJ(A, &parts[0], &parts[1], garray));
  else if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &parts[0], &parts[1], garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two sequential matrices of one type have the same pattern */
static PetscErrorCode PCFactoredSamePart_Private(Mat A, Mat B, PetscBool baij, PetscBool *same)
{
  const PetscInt *ai, *aj, *bi, *bj;
  PetscInt        an, bn;
  PetscBool       adone, bdone;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, baij, &an, &ai, &aj, &adone));
  PetscCall(MatGetRowIJ(B, 0, PETSC_FALSE, baij, &bn, &bi, &bj, &bdone));
  *same = (PetscBool)(adone && bdone && an == bn);
  if (*same) PetscCall(PetscArraycmp(ai, bi, an + 1, same));
  if (*same) PetscCall(PetscArraycmp(aj, bj, ai[an], same));
  PetscCall(MatRestoreRowIJ(B, 0, PETSC_FALSE, baij, &bn, &bi, &bj, &bdone));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, baij, &an, &ai, &aj, &adone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two matrices that were converted to the same type have the same pattern, the same on all ranks */
static PetscErrorCode PCFactoredSamePattern_Private(PC pc, Mat A, Mat B, PetscBool *same)
{
  Mat             a[2], b[2];
  const PetscInt *ga, *gb;
  PetscBool       abaij, bbaij;
  PetscInt        ma, mb, bs;

  PetscFunctionBegin;
  PetscCall(PCFactoredGetParts_Private(A, &abaij, a, &ga));
  PetscCall(PCFactoredGetParts_Private(B, &bbaij, b, &gb));
  *same = (PetscBool)(abaij == bbaij && !a[1] == !b[1]);
  if (*same) PetscCall(PCFactoredSamePart_Private(a[0], b[0], abaij, same));
  if (*same && a[1]) {
    PetscCall(MatGetSize(a[1], NULL, &ma));
    PetscCall(MatGetSize(b[1], NULL, &mb));
    PetscCall(MatGetBlockSize(a[1], &bs));
    *same = (PetscBool)(ma == mb);
    if (*same) PetscCall(PetscArraycmp(ga, gb, abaij ? ma / bs : ma, same));
    if (*same) PetscCall(PCFactoredSamePart_Private(a[1], b[1], abaij, same));
  }
  PetscCall(PCFactoredAgree_Private(pc, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all ranks say yes */
PetscErrorCode PCFactoredAgree_Private(PC pc, PetscBool *yes)
{
  PetscFunctionBegin;
  PetscCall(SpikePetscObjectAgree((PetscObject)pc, yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether all ranks get the bytes that they need from the memory that there is. Ranks of one node share that of the
  host; those of other preconditioners are not known. *needed: by the neediest node, or rank on a device.
*/
PetscErrorCode PCFactoredFits_Private(PC pc, PetscMemType memtype, PetscReal bytes, PetscReal memory, PetscReal *needed,
                                      PetscBool *fits)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);
  PetscReal   most[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  if (size > 1) {
    const PetscBool host = PetscMemTypeHost(memtype) ? PETSC_TRUE : PETSC_FALSE;
    PetscReal       sum  = host ? bytes : 0.0;
    PetscShmComm    node;
    MPI_Comm        shared;

    PetscCall(PetscShmCommGet(comm, &node)); /* made once for all preconditioners of this communicator */
    PetscCall(PetscShmCommGetMpiShmComm(node, &shared));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, shared));
    if (host) bytes = sum;
  }
#endif
  most[0] = bytes;
  most[1] = bytes - memory; /* above zero: does not fit */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, comm));
  *needed = most[0];
  *fits   = (PetscBool)(most[1] <= 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  *converted becomes Pmat as `type`. With reuse and a matrix there, *same tells whether the new one has its pattern, on
  all ranks. PETSc's MAT_REUSE_MATRIX keeps the values of entries that became zero in a MATDENSE, is wrong for a
  MATSEQSBAIJ with blocks, and fails for a MATMPIBAIJ with ghost columns that no row uses: types are converted anew, but
  for those where reuse works.
*/
PetscErrorCode PCFactoredConvert_Private(PC pc, MatType type, PetscBool reuse, Mat *converted, PetscBool *same)
{
  PetscErrorCode (*isreused)(Mat, MatType, PetscBool *);
  Mat       now;
  PetscBool shell, readable, inplace, convertible = PETSC_FALSE;

  PetscFunctionBegin;
  *same = reuse;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &shell, MATSHELL, MATMFFD, MATCOMPOSITE, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &readable, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (!readable) PetscCall(MatHasOperation(pc->pmat, MATOP_GET_ROW, &readable));
  /* types that come with a conversion of their own, such as MATNEST */
  for (PetscInt i = 0; i < 3 && !readable && !convertible; i++) {
    const char *const to[] = {MATAIJ, MATSEQAIJ, MATMPIAIJ};
    char              name[256];

    PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert_%s_%s_C", ((PetscObject)pc->pmat)->type_name, to[i]));
    PetscCall(PetscObjectHasFunction((PetscObject)pc->pmat, name, &convertible));
  }
  /* or with one in its table, such as MATTRANSPOSEVIRTUAL */
  if (!readable && !convertible) PetscCall(MatHasOperation(pc->pmat, MATOP_CONVERT, &convertible));
  PetscCheck(!shell && (readable || convertible), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s needs the entries of the matrix, which type %s does not give: pass an assembled AIJ, BAIJ or SBAIJ "
             "matrix as the second matrix of KSPSetOperators() or PCSetOperators()",
             ((PC_Factored *)pc->data)->name, ((PetscObject)pc->pmat)->type_name);
  if (!reuse) PetscCall(MatDestroy(converted));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &inplace, MATSEQDIA, MATMPIDIA, MATSEQDIACUDA,
                                      MATMPIDIACUDA, MATSEQBAIJ, ""));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc->pmat, "MatConvertIsReused_Spike_C", &isreused));
  if (isreused) PetscCall((*isreused)(pc->pmat, type, &inplace));
  if (!*converted || inplace) {
    PetscCall(MatConvert(pc->pmat, type, *converted ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, converted));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(pc->pmat, type, MAT_INITIAL_MATRIX, &now));
  PetscCall(PCFactoredSamePattern_Private(pc, *converted, now, same));
  PetscCall(MatDestroy(converted));
  *converted = now;
  if (!*same) PetscCall(PetscInfo(pc, "The matrix as %s has another pattern than before: choosing again\n", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
