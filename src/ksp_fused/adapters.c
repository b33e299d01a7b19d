/* SPDX-License-Identifier: BSD-2-Clause */
/* adapters.c: what the fused methods know about PETSc's own types: the only file of theirs that names one */
#include "fused.h"
#include "../enqueue.h"

/* B = I, and no null space is removed after it: the residual need not be copied */
PetscErrorCode KSPFusedIsIdentity(KSP ksp, PetscBool *identity)
{
  Mat          A;
  MatNullSpace nullspace;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, identity));
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) *identity = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects that compose PetscSpikeGetEnqueue_C, and those of PETSc's types that only enqueue work */
static PetscErrorCode KSPFusedEnqueues_Private(PetscObject object, PetscBool known, PetscBool *enqueues)
{
  SpikeEnqueue e;

  PetscFunctionBegin;
  PetscCall(SpikeGetEnqueue(object, &e));
  *enqueues = (PetscBool)(known || (e.run && PetscMemTypeCUDA(e.memtype)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A product and a preconditioner that only enqueue work on the device: one of each too many costs microseconds, and the host may run ahead. Any other, on the host, of the user, or
  costly, runs in lockstep.
*/
PetscErrorCode KSPFusedNeverWaits(KSP ksp, PetscBool *never)
{
  Mat       A;
  PetscBool mat, pc, bound;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &mat, MATSEQAIJCUSPARSE, MATSEQSELLCUDA, MATSEQDENSECUDA, ""));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(KSPFusedEnqueues_Private((PetscObject)A, (PetscBool)(mat && !bound), &mat));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &pc, PCNONE, PCJACOBI, PCPBJACOBI, PCVPBJACOBI, ""));
  PetscCall(KSPFusedEnqueues_Private((PetscObject)ksp->pc, pc, &pc));
  *never = mat && pc ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exactly MATSEQAIJCUSPARSE, square, on the device, with the product that PETSc gives to a new one, which is looked at once */
PetscErrorCode KSPFusedIsKnown(Mat A, PetscBool *known)
{
  static PetscErrorCodeFn *fresh = NULL;
  PetscErrorCodeFn        *mult;
  PetscMemType             memtype;
  PetscInt                 m, n;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, known));
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetMemType_Spike(A, &memtype));
  PetscCall(MatGetSize(A, &m, &n));
  if (!fresh) {
    Mat B;

    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetType(B, MATSEQAIJCUSPARSE));
    PetscCall(MatGetOperation(B, MATOP_MULT, &fresh));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
  *known = (PetscBool)(PetscMemTypeCUDA(memtype) && m == n && mult == fresh);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedGetCSR(Mat A, SpikeKrylovCSR *csr, SpikeCSR *piece)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSR_Spike(A, PETSC_MEMTYPE_CUDA, piece));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetSize(A, &csr->n, NULL));
  csr->nz = (PetscInt)info.nz_used;
  csr->ai = piece->ai;
  csr->aj = piece->aj;
  csr->aa = piece->aa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRestoreCSR(Mat A, SpikeCSR *piece)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreCSR_Spike(A, PETSC_MEMTYPE_CUDA, piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}
