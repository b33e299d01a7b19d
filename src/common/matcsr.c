/* SPDX-License-Identifier: BSD-2-Clause */
/* matcsr.c: PETSc's sequential AIJ matrices as pieces in CSR, on the host or where a backend works */
#include "matcsr.h"
#include <petscspike.h>
#include "petsccompat.h"

/*
  On the host any type derived from MATSEQAIJ; on CUDA a MATSEQAIJCUSPARSE that is not bound to the CPU. Pointers hold
  until SpikeMatSeqAIJRestoreCSR(), on CUDA until the matrix changes; no entry is copied unless it is out of date where
  it is asked for.
*/
PetscErrorCode SpikeMatSeqAIJGetCSR(Mat A, PetscMemType memtype, SpikeCSR *piece)
{
  PetscFunctionBegin;
  piece->colmap = NULL;
  piece->shift  = 0;
  piece->r = piece->c = NULL;
  if (PetscMemTypeHost(memtype)) {
    PetscInt  n;
    PetscBool done;

    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &piece->ai, &piece->aj, &done));
    PetscCheck(done, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "This type of matrix does not give its rows");
    PetscCall(MatSeqAIJGetArrayRead(A, &piece->aa));
  } else {
#if PetscDefined(HAVE_CUDA)
    PetscCheck(SpikeMatCUSPARSEHasPetscInt(), PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB,
               "The device has indices of 32 bits");
    PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, (void *)&piece->ai, (void *)&piece->aj));
    PetscCall(MatSeqAIJCUSPARSEGetArrayRead(A, &piece->aa));
#else
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP_SYS, "This library has no device backend");
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMatSeqAIJRestoreCSR(Mat A, PetscMemType memtype, SpikeCSR *piece)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) {
    PetscInt  n;
    PetscBool done;

    PetscCall(MatSeqAIJRestoreArrayRead(A, &piece->aa));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &piece->ai, &piece->aj, &done));
  } else {
#if PetscDefined(HAVE_CUDA)
    PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(A, &piece->aa));
    PetscCall(MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, (void *)&piece->ai, (void *)&piece->aj));
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for all values of A where SpikeMatSeqAIJGetCSR() reads them; what was there is lost */
PetscErrorCode SpikeMatSeqAIJGetArrayWrite(Mat A, PetscMemType memtype, PetscScalar **aa)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) PetscCall(MatSeqAIJGetArrayWrite(A, aa));
  else {
#if PetscDefined(HAVE_CUDA)
    PetscCall(MatSeqAIJCUSPARSEGetArrayWrite(A, aa));
#else
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP_SYS, "This library has no device backend");
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMatSeqAIJRestoreArrayWrite(Mat A, PetscMemType memtype, PetscScalar **aa)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(memtype)) PetscCall(MatSeqAIJRestoreArrayWrite(A, aa));
  else {
#if PetscDefined(HAVE_CUDA)
    PetscCall(MatSeqAIJCUSPARSERestoreArrayWrite(A, aa));
#endif
  }
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Where the entries of A live: the one place that decides about a matrix. Types that are not PETSc's CUDA ones are on
  the host.
*/
PetscErrorCode SpikeMatGetMemType(Mat A, PetscMemType *memtype)
{
  PetscBool cuda, bound, ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &ours, MATSEQBAIJCUDA, MATMPIBAIJCUDA, ""));
  if (ours) {
    PetscCall(MatGetCurrentMemType(A, memtype));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &cuda, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(MatBoundToCPU(A, &bound));
  *memtype = cuda && !bound && SpikeMatCUSPARSEHasPetscInt() ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  PetscFunctionReturn(PETSC_SUCCESS);
}
