/* SPDX-License-Identifier: BSD-2-Clause */
/*
  petsccheck.c: the check that the library fits the PETSc that runs it. tools/alienpetsc compiles this file for other
  PETScs, by headers that are those of none: it includes no more than it needs
*/
#include "petsccheck.h"

/*
  The library uses private headers: once built it fits one minor version of PETSc, released or the development version
  after it, and one choice of PetscScalar and PetscInt.
  libpetsc is asked for its own sizes and types, through functions whose arguments do not depend on them.
*/
PetscErrorCode SpikeCheckPetsc_Private(void)
{
  PetscInt64    version[4] = {0, 0, 0, 0}; /* room for the larger PetscInt, which may be that of the other side */
  PetscInt      number[4]  = {0, 0, 0, 0}; /* major, minor, subminor; 1: a release */
  PetscDataType real = PETSC_DATATYPE_UNKNOWN, scalar = PETSC_DATATYPE_UNKNOWN;
  PetscBool     found;
  size_t        size;

  PetscFunctionBegin;
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &size));
  PetscCheck(size == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscspike was built for a PETSc with %d-bit PetscInt, this PETSc has %d-bit PetscInt: build "
             "petscspike with the PETSC_DIR and PETSC_ARCH of the application",
             (int)(8 * sizeof(PetscInt)), (int)(8 * size));
  PetscCall(PetscGetVersionNumber((PetscInt *)&version[0], (PetscInt *)&version[1], (PetscInt *)&version[2],
                                  (PetscInt *)&version[3]));
  for (int i = 0; i < 4; i++) PetscCall(PetscMemcpy(&number[i], &version[i], sizeof(PetscInt)));
  PetscCheck(number[0] == PETSC_VERSION_MAJOR && number[1] == PETSC_VERSION_MINOR &&
               !number[3] == !PETSC_VERSION_RELEASE,
             PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscspike was built for PETSc %d.%d%s, this is PETSc %" PetscInt_FMT ".%" PetscInt_FMT
             ".%" PetscInt_FMT
             "%s: build petscspike with the PETSC_DIR and PETSC_ARCH of the application, which may be PETSc 3.24, "
             "3.25 or 3.26",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_RELEASE ? "" : " (development)", number[0],
             number[1], number[2], number[3] ? "" : " (development)");
  PetscCall(PetscDataTypeFromString("real", &real, &found));
  PetscCheck(found && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscspike was built for PetscReal %s, this PETSc has PetscReal %s: build petscspike with the "
             "PETSC_DIR and PETSC_ARCH of the application",
             PETSC_REAL == PETSC_FLOAT ? "single" : "double",
             real == PETSC_FLOAT    ? "single"
             : real == PETSC_DOUBLE ? "double"
                                    : PetscDataTypes[real]);
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found));
  PetscCheck(found && scalar == PETSC_SCALAR, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "libpetscspike was built for PetscScalar %s, this PETSc has PetscScalar %s: build petscspike with the "
             "PETSC_DIR and PETSC_ARCH of the application",
             PetscDefined(USE_COMPLEX) ? "complex" : "real", scalar == PETSC_COMPLEX ? "complex" : "real");
  PetscFunctionReturn(PETSC_SUCCESS);
}
