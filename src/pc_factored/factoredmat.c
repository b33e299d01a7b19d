/* SPDX-License-Identifier: BSD-2-Clause */
/* factoredmat.c: the matrix of a preconditioner by factors in a type that it reads; what all ranks have to agree on */
#include "factored.h"
#include "common/agree.h"
#include "common/matpattern.h"

/* Whether all ranks say yes */
PetscErrorCode PCFactoredAgree_Private(PC pc, PetscBool *yes)
{
  PetscFunctionBegin;
  PetscCall(SpikePetscObjectAgree((PetscObject)pc, yes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether all ranks get the bytes that they need from the memory that there is. Ranks of one node share that of the
  host; those of other preconditioners are not known. *needed: by the neediest node, or rank on a device.
*/
PetscErrorCode PCFactoredFits_Private(PC pc, PetscMemType memtype, PetscReal bytes, PetscReal memory, PetscReal *needed,
                                      PetscBool *fits)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);
  PetscReal   most[2];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
#if PetscDefined(HAVE_MPI_PROCESS_SHARED_MEMORY)
  if (size > 1) {
    const PetscBool host = PetscMemTypeHost(memtype) ? PETSC_TRUE : PETSC_FALSE;
    PetscReal       sum  = host ? bytes : 0.0;
    PetscShmComm    node;
    MPI_Comm        shared;

    PetscCall(PetscShmCommGet(comm, &node)); /* made once for all preconditioners of this communicator */
    PetscCall(PetscShmCommGetMpiShmComm(node, &shared));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, shared));
    if (host) bytes = sum;
  }
#endif
  most[0] = bytes;
  most[1] = bytes - memory; /* above zero: does not fit */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, comm));
  *needed = most[0];
  *fits   = (PetscBool)(most[1] <= 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  *converted becomes Pmat as `type`. With reuse and a matrix there, *same tells whether the new one has its pattern, on
  all ranks. PETSc's MAT_REUSE_MATRIX keeps the values of entries that became zero in a MATDENSE, is wrong for a
  MATSEQSBAIJ with blocks, and fails for a MATMPIBAIJ with ghost columns that no row uses: types are converted anew, but
  for those where reuse works.
*/
PetscErrorCode PCFactoredConvert_Private(PC pc, MatType type, PetscBool reuse, Mat *converted, PetscBool *same)
{
  PetscErrorCode (*isreused)(Mat, MatType, PetscBool *);
  Mat       now;
  PetscBool shell, readable, inplace, convertible = PETSC_FALSE;

  PetscFunctionBegin;
  *same = reuse;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &shell, MATSHELL, MATMFFD, MATCOMPOSITE, ""));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &readable, MATSEQSBAIJ, MATMPISBAIJ, ""));
  if (!readable) PetscCall(MatHasOperation(pc->pmat, MATOP_GET_ROW, &readable));
  /* types that come with a conversion of their own, such as MATNEST */
  for (PetscInt i = 0; i < 3 && !readable && !convertible; i++) {
    const char *const to[] = {MATAIJ, MATSEQAIJ, MATMPIAIJ};
    char              name[256];

    PetscCall(PetscSNPrintf(name, sizeof(name), "MatConvert_%s_%s_C", ((PetscObject)pc->pmat)->type_name, to[i]));
    PetscCall(PetscObjectHasFunction((PetscObject)pc->pmat, name, &convertible));
  }
  /* or with one in its table, such as MATTRANSPOSEVIRTUAL */
  if (!readable && !convertible) PetscCall(MatHasOperation(pc->pmat, MATOP_CONVERT, &convertible));
  PetscCheck(!shell && (readable || convertible), PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "%s needs the entries of the matrix, which type %s does not give: pass an assembled AIJ, BAIJ or SBAIJ "
             "matrix as the second matrix of KSPSetOperators() or PCSetOperators()",
             ((PC_Factored *)pc->data)->name, ((PetscObject)pc->pmat)->type_name);
  if (!reuse) PetscCall(MatDestroy(converted));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &inplace, MATSEQDIA, MATMPIDIA, MATSEQDIACUDA,
                                      MATMPIDIACUDA, MATSEQBAIJ, ""));
  PetscCall(PetscObjectQueryFunction((PetscObject)pc->pmat, "MatConvertIsReused_Spike_C", &isreused));
  if (isreused) PetscCall((*isreused)(pc->pmat, type, &inplace));
  if (!*converted || inplace) {
    PetscCall(MatConvert(pc->pmat, type, *converted ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, converted));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(pc->pmat, type, MAT_INITIAL_MATRIX, &now));
  PetscCall(SpikeMatSamePattern(*converted, now, same));
  PetscCall(MatDestroy(converted));
  *converted = now;
  if (!*same) PetscCall(PetscInfo(pc, "The matrix as %s has another pattern than before: choosing again\n", type));
  PetscFunctionReturn(PETSC_SUCCESS);
}
