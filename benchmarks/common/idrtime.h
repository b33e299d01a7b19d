/* SPDX-License-Identifier: BSD-2-Clause */
/* idrtime.h: for benchmarks of KSPIDRFUSED: the time of a product, what it has to move, and the rate of a copy */
#pragma once

#include <petscspike.h>
#include "common/matcsr.h"
#include "common/petsccompat.h"
#include "ksp_fused/adapters.h"
#include "bandcase.h"
#include "poisson.h"
#include "symbols.h"

typedef enum {
  PETSC_IDR,
  FUSED_PLAIN,
  FUSED_COPY,
  NMETHODS
} Method;

#define WHATSIZE 48 /* letters of what Time() says of a solve */

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

/*
  Bytes a second of a copy of n values, the fastest of five rows of copies. Short ones stay in a cache, and on a device
  they show what a launch takes
*/
static inline PetscErrorCode MeasureBandwidth(Mat A, PetscInt n, PetscReal *rate)
{
  /* so that the norm at the end counts little */
  const PetscInt copies = PetscMax(10, PetscMin(1000, 20000000 / PetscMax(1, n)));
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
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (PetscInt i = 0; i < copies; i++) PetscCall(VecCopy(x, y));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    *rate = PetscMax(*rate, copies * 2.0 * sizeof(PetscScalar) * n / (t1 - t0));
  }
  PetscCall(VecDestroy(&like));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the roofline counts with, as in the paper: the highest rate of a copy; and of how many values */
static inline PetscErrorCode MaximumBandwidth(Mat A, PetscReal *rate, PetscInt *values)
{
  PetscFunctionBegin;
  *rate = 0.0;
  for (PetscInt n = 1 << 24; n <= 1 << 26; n *= 2) {
    PetscReal one = 0.0;

    PetscCall(MeasureBandwidth(A, n, &one));
    if (one > *rate) {
      *rate   = one;
      *values = n;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Bytes a second that a CUDA device's memory has by its specification: two transfers a cycle over the whole bus; 0 where
  nobody says. By the name of the CUDA runtime's function, so that this file needs no header of it
*/
static inline PetscErrorCode SpecifiedBandwidth(PetscReal *rate)
{
  enum {
    CLOCK_KHZ = 36,
    BUS_BITS  = 37
  };
  int (*device)(int *) = NULL, (*get)(int *, int, int) = NULL;
  int id = 0, clock = 0, bits = 0;

  PetscFunctionBegin;
  *rate = 0.0;
  if (!PetscDeviceInitialized(PETSC_DEVICE_CUDA) || !FindSymbol(RTLD_DEFAULT, "cudaGetDevice", &device) ||
      !FindSymbol(RTLD_DEFAULT, "cudaDeviceGetAttribute", &get))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (!device(&id) && !get(&clock, CLOCK_KHZ, id) && !get(&bits, BUS_BITS, id))
    *rate = 2.0 * 1e3 * (PetscReal)clock * (PetscReal)bits / 8.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Seconds a product: of the first solve, with the setup in it and the shadow space, and the median of the others; what
  a product reads of the matrix, values with their columns or the copy; and the form of the product
*/
static inline PetscErrorCode Time(Mat A, Method method, KSPFusedSpMVType copy, PCType pctype, PetscBool smoothing,
                                  PetscInt s, PetscInt its, PetscInt solves, PetscReal *first, PetscReal *median,
                                  PetscReal *matrix, KSPFusedSpMVType *form, char what[])
{
  KSP      ksp;
  PC       pc;
  Vec      x, b;
  PetscInt fewest;
  MatInfo  matinfo;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
  *matrix = (sizeof(PetscScalar) + sizeof(int)) * matinfo.nz_used;
  *form   = KSP_FUSED_SPMV_PETSC;
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
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TimeSolves(ksp, b, x, solves, first, median, &fewest));
  if (method != PETSC_IDR) {
    KSPFusedInfo info;

    PetscCall(KSPFusedGetInfo(ksp, &info));
    *form = info.product;
    if (info.copy) *matrix = (PetscReal)((const SpikeKrylovCopy *)((KSPFused *)ksp->data)->product.copy)->bytes;
    PetscCall(PetscSNPrintf(what, WHATSIZE, "%s%s%s%s", info.backend, info.lockstep ? "" : ", ahead",
                            info.copy ? ", copy" : "",
                            info.persistent ? ", persistent"
                            : info.replayed ? ", graphs"
                                            : ""));
  }
  if (fewest < its) PetscCall(PetscStrlcat(what, " broke down", WHATSIZE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
