/* SPDX-License-Identifier: BSD-2-Clause */
/* hostbatch.c: tests of the host backend of batch.h, for each instruction set of this machine; prints TAP */
static char help[] = "Batches of bands of the host backend.\n\n";

#include "kernels/batch/batch.h"
#include "kernels/common/host/isa.h"

static PetscErrorCode BatchMove(void *to, const void *from, size_t bytes, PetscBool todevice)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define BatchMemory(bytes, ptr) PetscMalloc(bytes, ptr)
#define BatchRelease(ptr)       PetscFree(ptr)
#define BatchReport(t, pivot)   ((void)(t), (void)(pivot), PETSC_SUCCESS)

#include "batchcase.h"
#include "../guard.h"

/* Each allocation of create() fails in turn: nothing is left */
static PetscErrorCode TestMemory(PetscBool pivoting)
{
  PetscErrorCode ierr     = PETSC_ERR_MEM;
  const PetscInt start[4] = {0, 5, 30, 41};
  PetscInt       k;

  PetscFunctionBegin;
  for (k = 1; ierr && k < 100; k++) {
    const PetscReal before = guard.bytes;
    SpikeBatch      t      = {0};

    t.nsys     = 3;
    t.start    = start;
    t.kl       = 3;
    t.ku       = 2;
    t.pivoting = pivoting;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    guard.failat = guard.count + k;
    ierr         = (*SpikeBatchKernels_Host.create)(&t);
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    if (!ierr) {
      PetscReal matrix, rest;

      PetscCall((*SpikeBatchKernels_Host.bytes)(&t, &matrix, &rest));
      Check((PetscBool)(PetscAbsReal(guard.bytes - before - matrix - rest) < 2000), "bytes", "memory");
    }
    PetscCall((*SpikeBatchKernels_Host.destroy)(&t));
    Check((PetscBool)(guard.bytes == before && !t.data), "an allocation that fails leaves memory", "memory");
  }
  Check((PetscBool)(!ierr && k > 3), "allocations that fail", "memory");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Systems of one length have the same bits in each place of each group */
static PetscErrorCode TestBits(void)
{
  const BatchShape shape = {"equal", 3 * (PetscInt)(64 / sizeof(PetscScalar)) + 1, 45, 0};
  BatchCase        c;
  SpikePivot       pivot = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};
  PetscScalar     *b, *x;
  PetscInt         w;

  PetscFunctionBegin;
  PetscCall(BatchCaseCreate(&shape, 4, 3, PETSC_TRUE, PETSC_FALSE, &SpikeBatchKernels_Host, &c));
  w = c.kl + c.ku + 1;
  for (PetscInt q = 1; q < shape.nsys; q++)
    for (PetscInt i = 0; i < 45 * w; i++) c.entries[q * 45 * w + i] = c.entries[i];
  PetscCall(BatchCaseSetUp(&c, &pivot));
  PetscCall(PetscMalloc2(c.n, &b, c.n, &x));
  for (PetscInt i = 0; i < c.n; i++) b[i] = Random(9, i % 45);
  PetscCall((*c.t.k->apply)(&c.t, PETSC_FALSE, 1, b, c.n, x, c.n));
  for (PetscInt i = 45; i < c.n; i++) Check((PetscBool)(x[i] == x[i % 45]), "bits of equal systems", "bits");
  PetscCall(PetscFree2(b, x));
  PetscCall(BatchCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    if (!SpikeISASet((SpikeISA)isa)) continue;
    for (int pivoting = 0; pivoting < 2; pivoting++) {
      char what[64];

      PetscCall(BatchTestSolves(&SpikeBatchKernels_Host, (PetscBool)pivoting));
      PetscCall(
        PetscSNPrintf(what, sizeof(what), "solves%s, instruction set %d", pivoting ? " with exchanges" : "", isa));
      Report(what);
      PetscCall(BatchTestPivots(&SpikeBatchKernels_Host, (PetscBool)pivoting));
      PetscCall(
        PetscSNPrintf(what, sizeof(what), "pivots%s, instruction set %d", pivoting ? " with exchanges" : "", isa));
      Report(what);
    }
    PetscCall(TestBits());
    Report("bits");
  }
  for (int pivoting = 0; pivoting < 2; pivoting++) PetscCall(TestMemory((PetscBool)pivoting));
  Report("allocations that fail");
  Check((PetscBool)(!GuardDamage() && !GuardAlive("batch")), "memory around blocks", "guards");
  Report("guards");
  printf("1..%d\n", number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
