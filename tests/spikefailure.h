/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikefailure.h: for the failure tests: errors that are expected, checks, what must hold after a failure, small
  matrices
*/
#pragma once

#include "catch.h"
#include "viewtext.h"
#include <petscspike.h>
#include <math.h>
#include <stdarg.h>

/*
  ---- Checks: silent where they hold
  -------------------------------------------------------------------------------------
*/
static PetscInt checks, failures; /* of this rank, since the last Section() */
static int      failed;           /* sections, for the exit status       */

static inline void CheckAt(PetscBool good, int line, const char format[], ...)
{
  PetscMPIInt rank = 0;
  va_list     args;

  checks++;
  if (good) return;
  if (failures++ > 10) return;
  (void)MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  va_start(args, format);
  printf("  line %d, rank %d: ", line, rank);
  vprintf(format, args);
  printf("\n");
  fflush(stdout);
  va_end(args);
}
#define CHECK(good, ...) CheckAt((PetscBool)(good), __LINE__, __VA_ARGS__)

/* Ends a group of checks on all ranks with a line "NAME: ok" or "NAME: FAILED" */
static inline PetscErrorCode Section(const char name[])
{
  PetscInt sum[2] = {checks, failures};

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (sum[0] && !sum[1]) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: ok\n", name));
  else {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: FAILED, %" PetscInt_FMT " of %" PetscInt_FMT " checks\n", name, sum[1],
                          sum[0]));
    failed = 1;
  }
  checks = failures = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Errors that are expected
  -------------------------------------------------------------------------------------------
*/
/* ierr <- call, whatever it returns; caught says what was raised */
#define CATCH(ierr, call) \
  do { \
    memset(&caught, 0, sizeof(caught)); \
    PetscCall(PetscPushErrorHandler(CatchAt, NULL)); \
    ierr = call; \
    PetscCall(PetscPopErrorHandler()); \
  } while (0)

/* The call raises this error, on this rank, and its text has this part; "" for any */
#define EXPECT(errorcode, part, call) \
  do { \
    PetscErrorCode ierr_; \
\
    CATCH(ierr_, call); \
    CHECK(ierr_ == (errorcode) && caught.code == (errorcode), "error %d, expected %d: %s", (int)ierr_, \
          (int)(errorcode), caught.text); \
    CHECK(strstr(caught.text, part), "\"%s\" is not in: %s", part, caught.text); \
  } while (0)

/*
  ---- Matrices
  -----------------------------------------------------------------------------------------------------------
*/
/*
  Rows of this rank (PETSC_DECIDE: as PETSc splits N); nonconstant, unsymmetric, dominant, every place of the band
  stored
*/
static inline PetscErrorCode BandCreate(PetscInt nlocal, PetscInt N, PetscInt kl, PetscInt ku, Mat *A)
{
  PetscInt rstart, rend;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nlocal, nlocal, N, N));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, kl + ku + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, kl + ku + 1, NULL, kl + ku, NULL));
  PetscCall(MatGetSize(*A, &N, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(N - 1, i + ku); j++) {
      PetscScalar v = (PetscReal)(i == j ? 2 * (kl + ku) + 1 + i % 3 : -1 + 0.125 * ((3 * i + 5 * j) % 7));

#if defined(PETSC_USE_COMPLEX)
      v += (PetscReal)0.25 * (PetscReal)((i + 2 * j) % 3) * PETSC_i;
#endif
      PetscCall(MatSetValue(*A, i, j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: entry (row, col), or the whole row where col is negative, becomes v, without PETSc looking at v (debug
  builds refuse NaN)
*/
static inline PetscErrorCode EntryPut(Mat A, PetscInt row, PetscInt col, PetscScalar v)
{
  PetscInt        rstart, rend, cstart, cend, n, found = 0;
  const PetscInt *garray = NULL, *ai, *aj;
  PetscScalar    *aa;
  PetscBool       mpi, done;
  Mat             part[2] = {A, NULL};

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], &garray));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  PetscCall(MatGetOwnershipRangeColumn(A, &cstart, &cend));
  for (PetscInt p = 0; p < 2 && part[p] && row >= rstart && row < rend; p++) {
    PetscCall(MatGetRowIJ(part[p], 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
    PetscCall(MatSeqAIJGetArray(part[p], &aa));
    for (PetscInt k = ai[row - rstart]; k < ai[row - rstart + 1]; k++) {
      if (col >= 0 && (p ? garray[aj[k]] : aj[k] + cstart) != col) continue;
      aa[k] = v;
      found++;
    }
    PetscCall(MatSeqAIJRestoreArray(part[p], &aa));
    PetscCall(MatRestoreRowIJ(part[p], 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &found, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCheck(found, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB,
             "The test matrix has no entry %" PetscInt_FMT ",%" PetscInt_FMT, row, col);
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY)); /* the values have changed */
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- What a solver shows
  ------------------------------------------------------------------------------------------------
*/
static inline PetscErrorCode CheckViewAt(PC pc, const char part[], int line)
{
  char        text[4096];
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ViewText(pc, sizeof(text), text));
  if (!rank) CheckAt((PetscBool)(strstr(text, part) != NULL), line, "\"%s\" is not in the view:\n%s", part, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of the vector, on all ranks together, that are not finite */
static inline PetscErrorCode NotFinite(Vec x, PetscInt *count)
{
  const PetscScalar *a;
  PetscInt           n;

  PetscFunctionBegin;
  *count = 0;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt i = 0; i < n; i++)
    if (PetscIsInfOrNanScalar(a[i])) (*count)++;
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, count, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that converges, to what A and b ask */
static inline PetscErrorCode CheckSolvesAt(KSP ksp, Mat A, Vec b, int line)
{
  Vec                x, r;
  PetscReal          rnorm, bnorm, rtol;
  KSPConvergedReason reason;
  PCFailedReason     failed;
  PC                 pc;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPGetTolerances(ksp, &rtol, NULL, NULL, NULL));
  CATCH(ierr, KSPSolve(ksp, b, x));
  CheckAt((PetscBool)!ierr, line, "KSPSolve: error %d, %s", (int)ierr, caught.text);
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CheckAt((PetscBool)(reason > 0), line, "ends with %s", KSPConvergedReasons[reason]);
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &failed));
  CheckAt((PetscBool)(failed == PC_NOERROR), line, "PC failed: %s", PCFailedReasons[failed]);
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  CheckAt((PetscBool)(rnorm <= 10 * rtol * bnorm), line, "relative residual %g", (double)(rnorm / bnorm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After a setup that failed with this reason, on one rank or on all: no solve, on any rank; applies that end, flag their
  result and leave their input alone; a view and an info
*/
static inline PetscErrorCode CheckFailedAt(KSP ksp, Vec b, PCFailedReason expected, int line)
{
  const char *const  types[] = {KSPBCGS, KSPGMRES, KSPPREONLY};
  KSPType            type;
  Vec                x, copy;
  Mat                X, Y;
  PC                 pc;
  PCSpikeInfo        info;
  PetscInt           bad, n, N, m = 3, worst;
  PetscBool          same;
  PetscErrorCode     ierr;
  PetscLogDouble     begin, end;
  PCFailedReason     failed;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscGetCPUTime(&begin));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetType(ksp, &type));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &copy));
  PetscCall(VecCopy(b, copy));
  for (PetscInt t = -1; t < 3; t++) { /* the type that failed, then others, with a factorization that failed before */
    char own[64];

    if (t < 0) PetscCall(PetscStrncpy(own, type, sizeof(own)));
    else PetscCall(KSPSetType(ksp, types[t]));
    CATCH(ierr, KSPSolve(ksp, b, x));
    CheckAt((PetscBool)!ierr, line, "KSPSolve: error %d, %s", (int)ierr, caught.text);
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    CheckAt((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), line, "%s ends with %s", t < 0 ? own : types[t],
            KSPConvergedReasons[reason]);
    PetscCall(PCGetFailedReason(pc, &failed));
    worst = (PetscInt)failed;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &worst, 1, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
    CheckAt((PetscBool)(worst == (PetscInt)expected), line, "PC failed: %s, expected %s", PCFailedReasons[worst],
            PCFailedReasons[expected]);
    if (t == 2) PetscCall(KSPSetType(ksp, own));
  }
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(VecGetSize(b, &N));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall(VecSet(x, 3.0));
    CATCH(ierr, trans ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    CheckAt((PetscBool)!ierr, line, "apply: error %d, %s", (int)ierr, caught.text);
    PetscCall(NotFinite(x, &bad));
    CheckAt((PetscBool)(bad > 0), line, "the apply of a failed PC is finite");
    PetscCall(VecEqual(b, copy, &same));
    CheckAt(same, line, "the apply of a failed PC changed its input");
  }
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, m, NULL, &X));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(MatZeroEntries(X));
  PetscCall(MatShift(X, 1.0));
  CATCH(ierr, PCMatApply(pc, X, Y));
  CheckAt((PetscBool)!ierr, line, "PCMatApply: error %d, %s", (int)ierr, caught.text);
  for (PetscInt c = 0; c < m && !ierr; c++) {
    Vec y;

    PetscCall(MatDenseGetColumnVecRead(Y, c, &y));
    PetscCall(NotFinite(y, &bad));
    CheckAt((PetscBool)(bad > 0), line, "column %d of the PCMatApply of a failed PC is finite", (int)c);
    PetscCall(MatDenseRestoreColumnVecRead(Y, c, &y));
  }
  CATCH(ierr, PCSpikeGetInfo(pc, &info));
  CheckAt((PetscBool)(!ierr && info.n == N), line, "PCSpikeGetInfo: error %d, %d rows, %s", (int)ierr, (int)info.n,
          caught.text);
  PetscCall(PetscGetCPUTime(&end));
  CheckAt((PetscBool)(end - begin < 20), line, "took %g s of the processor", end - begin);
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#define CHECKSOLVES(ksp, A, b)      PetscCall(CheckSolvesAt(ksp, A, b, __LINE__))
#define CHECKFAILED(ksp, b, reason) PetscCall(CheckFailedAt(ksp, b, reason, __LINE__))
#define CHECKVIEW(pc, part)         PetscCall(CheckViewAt(pc, part, __LINE__))

/* BCGS with PCSPIKE on A, zero pivots fail; the text of the options in errors carries the prefix */
static inline PetscErrorCode SolverCreate(Mat A, const char prefix[], KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPBCGS));
  PetscCall(KSPSetTolerances(*ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10, 0.0, PETSC_CURRENT, 200));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCFactorSetShiftType(*pc, MAT_SHIFT_NONE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGNATURAL)); /* row numbers in the order of elimination */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}
