/* SPDX-License-Identifier: BSD-2-Clause */
/*
  failurememory.h: each allocation in setup and applies of a preconditioner fails in turn: an error, no crash, no leak,
  and the same PC works when memory is back
*/
#pragma once

#include "spikefailure.h"
#include "guard.h"

/* The calls under test: setup with new values twice, applies of one and of many columns */
static inline PetscErrorCode Work(PC pc, Vec b, Vec x, Mat B, Mat X)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatScale(A, 1.0));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* setup(pc, c) makes a PC what is under test; ours(): what the library has allocated, by files */
static inline PetscErrorCode FailAllocations(const char name[], Mat A, PetscErrorCode (*setup)(PC, const void *),
                                             const void *c, PetscInt (*ours)(void))
{
  const PetscInt columns = 5;
  PetscInt       n, last = 0, faults = 0;
  Mat            B, X;
  Vec            b, x, y, reference;
  PC             pc;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &reference));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, NULL, &B));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(B, 1.0));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
  for (PetscInt k = 0;; k++) { /* k = 0: nothing fails, for the reference */
    const PetscInt before = (*ours)();
    PetscErrorCode ierr;

    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall((*setup)(pc, c));
    memset(&caught, 0, sizeof(caught));
    PetscCall(PetscPushErrorHandler(CatchAt, NULL));
    guard.count  = 0;
    guard.failat = k;
    ierr         = Work(pc, b, x, B, X);
    last         = guard.count;
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    if (k && last < k) { /* it has no k-th allocation */
      CHECK(!ierr, "%s: error %d, %s", name, (int)ierr, caught.text);
      PetscCall(PCDestroy(&pc));
      break;
    }
    /* VecCreate() makes another error of some */
    CHECK(k ? ierr && caught.code == PETSC_ERR_MEM : !ierr, "%s, allocation %d: error %d, %s", name, (int)k, (int)ierr,
          caught.text);
    if (k) faults++;
    /* memory is back */
    PetscCall(VecSet(y, 3.0));
    CATCH(ierr, PCApply(pc, b, y));
    CHECK(!ierr, "%s, after allocation %d: error %d, %s", name, (int)k, (int)ierr, caught.text);
    if (!k) PetscCall(VecCopy(y, reference));
    PetscCall(VecEqual(y, reference, &same));
    CHECK(same, "%s, after allocation %d: another result", name, (int)k);
    CATCH(ierr, PCMatApply(pc, B, X));
    CHECK(!ierr, "%s, after allocation %d: error %d, %s", name, (int)k, (int)ierr, caught.text);
    CATCH(ierr, PCDestroy(&pc));
    CHECK(!ierr, "%s, after allocation %d: PCDestroy gives error %d, %s", name, (int)k, (int)ierr, caught.text);
    CHECK((*ours)() == before, "%s, allocation %d: %d blocks are lost", name, (int)k, (int)((*ours)() - before));
  }
  CHECK(faults >= 5, "%s: %d allocations only", name, (int)faults);
  CHECK(!GuardDamage(), "%s: written outside of %d arrays", name, (int)GuardDamage());
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&reference));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}
