/* SPDX-License-Identifier: BSD-2-Clause */
/* factored.c: failures of preconditioners by factors, and their applications */
#include "factored.h"
#include "common/petsccompat.h"
#include <stdarg.h>

/* A solve by KSPPREONLY ends with a zero pivot. Ranks without one, where they come by here too, have no text */
PetscErrorCode PCFactoredRefuse_Private(PC pc, KSP ksp)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  if (f->nboost)
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                                     "%" PetscInt_FMT " zero pivots were boosted on a rank, and KSPPREONLY corrects "
                                     "nothing of what that changes: use another -%sksp_type, such as bcgsfused, or "
                                     "PCFactorSetShiftType() for the result as it is",
                                     f->nboost, ((PetscObject)ksp)->prefix ? ((PetscObject)ksp)->prefix : ""));
  pc->failedreason = PC_FACTOR_NUMERIC_ZEROPIVOT;
  f->numeric       = PETSC_FALSE;
  f->refused       = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  KSPPREONLY corrects nothing: what it gives with boosted pivots solves another system. Where no shift type was set, and
  no other solver looks at the result (a KSP inside of one is printed indented), the solve ends with a zero pivot. The
  next one by another method is free again. KSPMatSolve() does not come by here.
*/
static PetscErrorCode PCPreSolve_Factored(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_Factored *f = (PC_Factored *)pc->data;
  PetscInt     inside;

  PetscFunctionBegin;
  (void)b;
  (void)x;
  if (f->once && (f->numeric || f->refused)) { /* KSPPREONLY has told all ranks of a failure on one */
    if (f->refused) f->failtext[0] = 0;
    f->numeric       = PETSC_TRUE;
    pc->failedreason = PC_NOERROR;
    ksp->reason      = KSP_CONVERGED_ITERATING;
  }
  f->refused = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, &f->once));
  PetscCall(PetscObjectGetTabLevel((PetscObject)ksp, &inside));
  if (!f->once || inside || !f->numeric || !f->nboost || f->shifttype != (MatFactorShiftType)PETSC_DECIDE)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactoredRefuse_Private(pc, ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCFactoredInitialize_Private(PC pc, const char name[], const char ordering[],
                                            PetscErrorCode (*changed)(PC))
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  f->name        = name;
  f->changed     = changed;
  f->zeropivot   = 100.0 * PETSC_MACHINE_EPSILON;
  f->shifttype   = (MatFactorShiftType)PETSC_DECIDE;
  f->shiftamount = (PetscReal)PETSC_DECIDE;
  PetscCall(PetscStrallocpy(ordering, &f->ordering));
  SpikePCSetUpEarly(pc);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCFactoredInitialize_Private() made */
PetscErrorCode PCFactoredDestroy_Private(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(((PC_Factored *)pc->data)->ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setup begins: nothing is known, nothing has failed */
PetscErrorCode PCFactoredBegin_Private(PC pc)
{
  PC_Factored *f = (PC_Factored *)pc->data;

  PetscFunctionBegin;
  pc->failedreason = PC_NOERROR;
  f->failtext[0]   = 0;
  f->factored = f->numeric = f->boosted = f->once = f->refused = PETSC_FALSE;
  f->nboost                                                    = 0;
  if (!f->presolves) pc->ops->presolve = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective: there are factors, and so many pivots of this rank were boosted for them. Only where a rank has some does
  the preconditioner look at the solver: with PCPreSolve() fused methods solve for many right-hand sides one by one.
*/
PetscErrorCode PCFactoredBoosted_Private(PC pc, PetscInt nboost)
{
  PC_Factored *f    = (PC_Factored *)pc->data;
  PetscBool    none = (PetscBool)!nboost;

  PetscFunctionBegin;
  f->factored = f->numeric = PETSC_TRUE;
  f->nboost                = nboost;
  if (f->shifttype != MAT_SHIFT_NONE) {
    PetscCall(PCFactoredAgree_Private(pc, &none));
    f->boosted = (PetscBool)!none;
    if (f->shifttype == (MatFactorShiftType)PETSC_DECIDE && !f->presolves)
      pc->ops->presolve = none ? NULL : PCPreSolve_Factored;
  }
  if (nboost)
    PetscCall(PetscInfo(pc,
                        "%" PetscInt_FMT " pivots below %g of the norm were boosted: these are the factors of another "
                        "matrix\n",
                        nboost, (double)f->zeropivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A failure that the solver can report: reason, text, or an error when the user wants errors. Every rank that knows of
  it calls this.
*/
PetscErrorCode PCFactoredFail_Private(PC pc, PCFailedReason reason, PetscErrorCode code, const char format[], ...)
{
  PC_Factored *f = (PC_Factored *)pc->data;
  va_list      args;
  size_t       length;

  PetscFunctionBegin;
  va_start(args, format);
  PetscCall(PetscVSNPrintf(f->failtext, sizeof(f->failtext), format, &length, args));
  va_end(args);
  if (pc->erroriffailure) pc->presolvedone = 0; /* the error ends all solves that it is in, without PCPostSolve() */
  PetscCheck(!pc->erroriffailure, PETSC_COMM_SELF, code, "%s", f->failtext);
  pc->failedreason = reason;
  f->numeric       = PETSC_FALSE;
  PetscCall(PetscInfo(pc, "%s\n", f->failtext));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The heading of facts in a view, which PetscViewerASCIIPopTab() ends: what it is, how good, what it cost */
PetscErrorCode PCFactoredViewGroup_Private(PetscViewer viewer, const char heading[])
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %s:\n", heading));
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The text of a failure may be on one rank only: that of the first rank that has one, on all */
PetscErrorCode PCFactoredGetFailText_Private(PC pc, char text[], size_t length)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);
  PetscMPIInt rank, size, first;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscStrncpy(text, ((PC_Factored *)pc->data)->failtext, length));
  if (!text[0]) rank = size;
  PetscCallMPI(MPIU_Allreduce(&rank, &first, 1, MPI_INT, MPI_MIN, comm));
  if (first < size) PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)length, MPI_CHAR, first, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Without factors (they did not fit, or the matrix had an infinity or a NaN: known to all ranks) nothing is done;
  a rank whose own factors failed takes part in what ranks exchange and then marks its result
*/
PetscErrorCode PCFactoredApply_Private(PC pc, PetscMemType backend, PCFactoredSolve solve, PetscBool trans, Vec x,
                                       Vec y)
{
  const PC_Factored *f = (const PC_Factored *)pc->data;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscMemType       xmem = PETSC_MEMTYPE_HOST, ymem = PETSC_MEMTYPE_HOST;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  if (f->built && f->factored) {
    if (PetscMemTypeHost(backend)) {
      PetscCall(VecGetArrayRead(x, &xa));
      PetscCall(VecGetArrayWrite(y, &ya));
      PetscCall((*solve)(pc, trans, 1, xa, n, xmem, ya, n, ymem));
      PetscCall(VecRestoreArrayWrite(y, &ya));
      PetscCall(VecRestoreArrayRead(x, &xa));
    } else {
      PetscCall(VecGetArrayReadAndMemType(x, &xa, &xmem));
      PetscCall(VecGetArrayWriteAndMemType(y, &ya, &ymem));
      PetscCall((*solve)(pc, trans, 1, xa, n, xmem, ya, n, ymem));
      PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
      PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
    }
  }
  PetscCall(VecFlag(y, !f->numeric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCFactoredMatApply_Private(PC pc, PetscMemType backend, PCFactoredSolve solve, PetscBool trans, Mat X,
                                          Mat Y)
{
  const PC_Factored *f = (const PC_Factored *)pc->data;
  const PetscScalar *xa;
  PetscScalar       *ya;
  PetscInt           ldx, ldy, ncols;
  PetscMemType       xmem = PETSC_MEMTYPE_HOST, ymem = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(MatGetSize(X, NULL, &ncols));
  if (f->built && f->factored) {
    PetscCall(MatDenseGetLDA(X, &ldx));
    PetscCall(MatDenseGetLDA(Y, &ldy));
    if (PetscMemTypeHost(backend)) {
      PetscCall(MatDenseGetArrayRead(X, &xa));
      PetscCall(MatDenseGetArrayWrite(Y, &ya));
      PetscCall((*solve)(pc, trans, ncols, xa, ldx, xmem, ya, ldy, ymem));
      PetscCall(MatDenseRestoreArrayWrite(Y, &ya));
      PetscCall(MatDenseRestoreArrayRead(X, &xa));
    } else {
      PetscCall(MatDenseGetArrayReadAndMemType(X, &xa, &xmem));
      PetscCall(MatDenseGetArrayWriteAndMemType(Y, &ya, &ymem));
      PetscCall((*solve)(pc, trans, ncols, xa, ldx, xmem, ya, ldy, ymem));
      PetscCall(MatDenseRestoreArrayWriteAndMemType(Y, &ya));
      PetscCall(MatDenseRestoreArrayReadAndMemType(X, &xa));
    }
  }
  PetscCall(MatFlag(Y, f->numeric ? 0 : 1)); /* on all ranks: a factorization may have failed on some */
  PetscFunctionReturn(PETSC_SUCCESS);
}
