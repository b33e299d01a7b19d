/* SPDX-License-Identifier: BSD-2-Clause */
/* idrtime.h: for benchmarks of KSPIDRFUSED: the time of a product, what it has to move, and the rate of a copy */
#pragma once

#include <petscspike.h>
#include "common/matcsr.h"
#include "common/petsccompat.h"
#include "ksp_fused/adapters.h"
#include "bandcase.h"
#include "poisson.h"

typedef enum {
  PETSC_IDR,
  FUSED_PLAIN,
  FUSED_COPY,
  NMETHODS
} Method;

/*
  Vectors of a cycle of s + 1 products: those beside the products (the comment above KSPFusedHead_IDR() counts them), x
  and y of each product; epilogue: a product takes sums along
*/
static inline PetscReal Words(PetscReal s, PetscBool epilogue, PetscBool smoothing)
{
  return 3 * s * s + 11 * s + 5 - (epilogue ? s + 1 : 0) + (smoothing ? 6 : 2) * (s + 1);
}

/* Bytes of a cycle: the vectors, and what each product reads of the matrix */
static inline PetscReal Budget(PetscReal n, PetscReal matrix, PetscReal s, PetscBool epilogue, PetscBool smoothing)
{
  return sizeof(PetscScalar) * n * Words(s, epilogue, smoothing) + matrix * (s + 1);
}

/*
  The same by Table 3 and formula (2) of the paper, where no two operations share what they read: 9 s^2/2 + 55 s/2 + 22
  vectors with smoothing. Of these it takes 11 (s + 1): sums 2, smoo1 3, axpy 3 and smoo2 3 for each product. Places of
  values and column indices
*/
static inline PetscReal GetRoofline(PetscReal n, PetscReal nz, PetscReal s, PetscBool smoothing)
{
  const PetscReal vectors = 4.5 * s * s + 27.5 * s + 22 - (smoothing ? 0 : 11 * (s + 1));

  return sizeof(PetscScalar) * n * vectors + (sizeof(PetscScalar) + 4) * nz * (s + 1);
}

/* Bytes a second of a copy of n numbers */
static inline PetscErrorCode MeasureBandwidth(Mat A, PetscInt n, PetscReal *rate)
{
  Vec            like, x, y;
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &like, NULL));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, n, n));
  {
    VecType type;

    PetscCall(VecGetType(like, &type));
    PetscCall(VecSetType(x, type));
  }
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  *rate = 0.0;
  for (PetscInt k = 0; k < 5; k++) {
    PetscCall(VecCopy(x, y));
    PetscCall(Finish(y));
    PetscCall(PetscTime(&t0));
    for (PetscInt i = 0; i < 10; i++) PetscCall(VecCopy(x, y));
    PetscCall(Finish(y)); /* reads y once more: half a copy */
    PetscCall(PetscTime(&t1));
    *rate = PetscMax(*rate, 10.5 * 2.0 * sizeof(PetscScalar) * n / (t1 - t0));
  }
  PetscCall(VecDestroy(&like));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Seconds a product: of the first solve, with the setup in it and the shadow space, and the best of the others; and what
  a product reads of the matrix: values with their columns, or the copy
*/
static inline PetscErrorCode Time(Mat A, Method method, KSPFusedSpMVType copy, PCType pctype, PetscBool smoothing,
                                  PetscInt s, PetscInt its, PetscInt solves, PetscReal *first, PetscReal *best,
                                  PetscReal *matrix, char what[])
{
  KSP      ksp;
  PC       pc;
  Vec      x, b;
  PetscInt fewest;
  MatInfo  matinfo;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
  *matrix = (sizeof(PetscScalar) + sizeof(int)) * matinfo.nz_used;
  its     = (its + s) / (s + 1) * (s + 1);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, method == PETSC_IDR ? KSPIDR : KSPIDRFUSED));
  PetscCall(KSPIDRSetS(ksp, s));
  if (method != PETSC_IDR) PetscCall(KSPIDRFusedSetSmoothing(ksp, smoothing));
  PetscCall(KSPSetPCSide(ksp, PC_LEFT)); /* PETSc's default: the same for both */
  PetscCall(KSPFusedSetSpMVType(ksp, method == FUSED_COPY ? copy : KSP_FUSED_SPMV_PETSC));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(ksp, 0.0, 0.0, PETSC_MAX_REAL, its));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(TimeSolves(ksp, b, x, solves, first, best, &fewest));
  if (fewest < its) PetscCall(PetscStrncpy(what, "broke down", 32));
  if (method != PETSC_IDR) {
    KSPFusedInfo info;

    PetscCall(KSPFusedGetInfo(ksp, &info));
    if (info.copy) *matrix = (PetscReal)((const SpikeKrylovCopy *)((KSPFused *)ksp->data)->product.copy)->bytes;
    PetscCall(PetscSNPrintf(what, 32, "%s%s%s%s", info.backend, info.lockstep ? "" : ", ahead",
                            info.copy ? ", copy" : "", info.replayed ? ", graphs" : ""));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
