/* SPDX-License-Identifier: BSD-2-Clause */
/* viewtext.h: for tests: what PCView() prints */
#pragma once

#include <petscpc.h>
#include <petscviewer.h>

/* What PCView() prints, on all ranks */
static inline PetscErrorCode ViewText(PC pc, size_t size, char text[])
{
  PetscViewer viewer;
  FILE       *fp = tmpfile();

  PetscFunctionBegin;
  PetscCheck(fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, fp, &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  memset(text, 0, size);
  rewind(fp);
  (void)!fread(text, 1, size - 1, fp);
  (void)fclose(fp);
  PetscCallMPI(MPI_Bcast(text, (PetscMPIInt)size, MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}
