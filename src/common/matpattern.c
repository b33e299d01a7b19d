/* SPDX-License-Identifier: BSD-2-Clause */
/* matpattern.c: whether matrices have their entries at the same places */
#include "matpattern.h"
#include "agree.h"
#include "matbaij.h"

/* The parts of a MATAIJ or MATBAIJ on this rank: the diagonal one, and the other with its global columns, or NULL */
static PetscErrorCode SpikeMatGetParts_Private(Mat A, PetscBool *baij, Mat parts[2], const PetscInt **garray)
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
static PetscErrorCode SpikeMatSamePart_Private(Mat A, Mat B, PetscBool baij, PetscBool *same)
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

/* Whether two MATAIJ or MATBAIJ have the same pattern, the same on all ranks. Collective */
PetscErrorCode SpikeMatSamePattern(Mat A, Mat B, PetscBool *same)
{
  Mat             a[2], b[2];
  const PetscInt *ga, *gb;
  PetscBool       abaij, bbaij;
  PetscInt        ma, mb, bs;

  PetscFunctionBegin;
  PetscCall(SpikeMatGetParts_Private(A, &abaij, a, &ga));
  PetscCall(SpikeMatGetParts_Private(B, &bbaij, b, &gb));
  *same = (PetscBool)(abaij == bbaij && !a[1] == !b[1]);
  if (*same) PetscCall(SpikeMatSamePart_Private(a[0], b[0], abaij, same));
  if (*same && a[1]) {
    PetscCall(MatGetSize(a[1], NULL, &ma));
    PetscCall(MatGetSize(b[1], NULL, &mb));
    PetscCall(MatGetBlockSize(a[1], &bs));
    *same = (PetscBool)(ma == mb);
    if (*same) PetscCall(PetscArraycmp(ga, gb, abaij ? ma / bs : ma, same));
    if (*same) PetscCall(SpikeMatSamePart_Private(a[1], b[1], abaij, same));
  }
  PetscCall(SpikePetscObjectAgree((PetscObject)A, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}
