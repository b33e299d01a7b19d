/* SPDX-License-Identifier: BSD-2-Clause */
/* viewtext.h: for tests: what PCView() and other views print */
#pragma once

#include <petscpc.h>
#include <petscviewer.h>

/* What the view of an object prints, on all its ranks */
static inline PetscErrorCode ObjectViewText(PetscObject object, size_t size, char text[])
{
  MPI_Comm    comm = PetscObjectComm(object);
  PetscViewer viewer;
  FILE       *fp = tmpfile();

  PetscFunctionBegin;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(comm, fp, &viewer));
  PetscCall(PetscObjectView(object, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  memset(text, 0, size);
  rewind(fp);
  (void)!fread(text, 1, size - 1, fp);
  (void)fclose(fp);
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)size, MPI_CHAR, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() prints, on all ranks of the PC */
static inline PetscErrorCode ViewText(PC pc, size_t size, char text[])
{
  PetscFunctionBegin;
  PetscCall(ObjectViewText((PetscObject)pc, size, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
