/* SPDX-License-Identifier: BSD-2-Clause */
/*
  solve.c: the program of tests/loading.sh. Compiled twice: without petscspike, and (LINKED) with it. Argument 1: times
  PETSc is initialized
*/
static char help[] = "Solves a tridiagonal system with the PC that the options ask for.\n\n";

#include <petscksp.h>
#if defined(LINKED)
  #include <petscspike.h>
#endif
#include <stdlib.h>

static PetscErrorCode Solve(void)
{
  Mat                A;
  Vec                x, b, u;
  KSP                ksp;
  PC                 pc;
  PCType             type;
  PetscInt           n = 60, i, rstart, rend;
  PetscReal          error, norm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (i = rstart; i < rend; i++) {
    PetscCall(MatSetValue(A, i, i, 4.0 + 0.01 * i, INSERT_VALUES));
    if (i) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -2.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  for (i = rstart; i < rend; i++) PetscCall(VecSetValue(u, i, 1.0 + (PetscReal)(i % 7), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(u));
  PetscCall(VecAssemblyEnd(u));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
#if defined(LINKED)
  PetscCall(PCSetType(pc, PCSPIKE));
#endif
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCGetType(pc, &type));
  PetscCall(VecAXPY(x, -1.0, u));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(VecNorm(u, NORM_INFINITY, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solved with %s: %s\n", type,
                        reason > 0 && error < 100.0 * PETSC_SQRT_MACHINE_EPSILON * norm ? "right" : "WRONG"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt flag;
  int         rounds = argc > 1 && argv[1][0] != '-' ? atoi(argv[1]) : 1;

  /* MPI outlives the rounds */
  if (MPI_Init(&argc, &argv)) return 1;
  while (rounds-- > 0) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if defined(LINKED)
    PetscCall(PetscSpikeInitializePackage());
#endif
    PetscCall(Solve());
    PetscCall(PetscFinalize());
  }
  if (MPI_Finalized(&flag) || flag) return 1;
  return MPI_Finalize();
}
