/* SPDX-License-Identifier: BSD-2-Clause */
/* matbaij.c: PETSc's MATBAIJ, and types made from it, as blocks in CSR, on the host or where a backend works */
#include "matbaij.h"
#include <petsc/private/petscimpl.h>

/* PETSc compares the whole name, and the data of a longer one are the same: it is shortened for the call */
PetscErrorCode SpikeMatMPIBAIJGetSeqBAIJ(Mat A, Mat *diagonal, Mat *other, const PetscInt *garray[])
{
  const PetscObject obj  = (PetscObject)A;
  char *const       name = obj->type_name;
  char              base[sizeof(MATMPIBAIJ)];
  PetscErrorCode    ierr;
  PetscBool         is;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare(obj, MATMPIBAIJ, &is));
  PetscCheck(is, PetscObjectComm(obj), PETSC_ERR_ARG_WRONG, "A matrix of type %s has no parts of type MATSEQBAIJ",
             name);
  PetscCall(PetscStrncpy(base, MATMPIBAIJ, sizeof(base)));
  obj->type_name = base;
  ierr           = MatMPIBAIJGetSeqBAIJ(A, diagonal, other, garray);
  obj->type_name = name;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeMatSeqBAIJGetCSR(Mat A, PetscMemType memtype, SpikeBlockCSR *csr)
{
  PetscErrorCode (*device)(Mat, PetscMemType, SpikeBlockCSR *) = NULL;
  PetscScalar *a;
  PetscInt     n;
  PetscBool    done;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(csr, sizeof(*csr)));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatSeqBAIJGetCSR_Spike_C", &device));
  if (device) PetscCall((*device)(A, memtype, csr));
  if (csr->ai) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(PetscMemTypeHost(memtype), PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB,
             "A matrix of type %s has no blocks on the device", ((PetscObject)A)->type_name);
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_TRUE, &n, &csr->ai, &csr->aj, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQBAIJ does not give its rows");
  PetscCall(MatSeqBAIJGetArray(A, &a));
  PetscCall(MatGetBlockSize(A, &csr->bs));
  csr->aa = a;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatRestoreRowIJ() frees nothing here, and MatSeqBAIJRestoreArray() would say that values have changed */
PetscErrorCode SpikeMatSeqBAIJRestoreCSR(Mat A, PetscMemType memtype, SpikeBlockCSR *csr)
{
  PetscFunctionBegin;
  (void)A;
  (void)memtype;
  csr->ai = csr->aj = NULL;
  csr->aa           = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
