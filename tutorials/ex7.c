/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Block algebraic multigrid: linear elasticity with two unknowns at each node, by PCGAMG with PCBLOCKILU as\n\
 smoother, beside point block Jacobi.\n\
  -n n      nodes in each direction (41)\n\
  -jump j   stiffness of the inclusions, relative to the rest (10)\n\
  -check    print what must hold on any number of ranks, not the iterations\n\
  -time     milliseconds of setup and of the best of three solves too\n\n";

/*
  A square plate in plane strain, with stiff square inclusions, held at its left side and pulled at its right one, on
  bilinear elements. The two displacements of a node are a block of the matrix:
  DMDA with two degrees of freedom sets the block size, PCGAMG aggregates nodes, and the smoother eliminates whole
  nodes: point block Jacobi each by itself, PCBLOCKILU with what couples them.
*/
#include <petscdmda.h>
#include <petscspike.h>
#include <petsctime.h>

/*
  Stiffness of a square bilinear element, Young's modulus 1, Poisson's ratio nu, nodes counterclockwise, by 2 x 2 Gauss
  points
*/
static void ElementStiffness(PetscReal nu, PetscScalar k[8][8])
{
  const PetscReal sign[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
  const PetscReal c = 1.0 / ((1.0 + nu) * (1.0 - 2.0 * nu)), d11 = c * (1.0 - nu), d12 = c * nu, d33 = 0.5 / (1.0 + nu),
                  at = 1.0 / PetscSqrtReal(3.0);

  for (PetscInt i = 0; i < 8; i++)
    for (PetscInt j = 0; j < 8; j++) k[i][j] = 0.0;
  for (PetscInt q = 0; q < 4; q++) {
    const PetscReal x = sign[q][0] * at, y = sign[q][1] * at;
    PetscReal       dx[4], dy[4];

    for (PetscInt a = 0; a < 4; a++) { /* on an element of size 1; the factors of the size cancel in two dimensions */
      dx[a] = 0.5 * sign[a][0] * (1.0 + sign[a][1] * y);
      dy[a] = 0.5 * sign[a][1] * (1.0 + sign[a][0] * x);
    }
    for (PetscInt a = 0; a < 4; a++) {
      for (PetscInt b = 0; b < 4; b++) {
        k[2 * a][2 * b] += 0.25 * (d11 * dx[a] * dx[b] + d33 * dy[a] * dy[b]);
        k[2 * a][2 * b + 1] += 0.25 * (d12 * dx[a] * dy[b] + d33 * dy[a] * dx[b]);
        k[2 * a + 1][2 * b] += 0.25 * (d12 * dy[a] * dx[b] + d33 * dx[a] * dy[b]);
        k[2 * a + 1][2 * b + 1] += 0.25 * (d11 * dy[a] * dy[b] + d33 * dx[a] * dx[b]);
      }
    }
  }
}

/* Each rank adds the elements whose lower left node it owns */
static PetscErrorCode Assemble(DM da, PetscReal jump, Mat A, Vec b)
{
  PetscInt    n, x, y, mx, my;
  PetscScalar k[8][8], v[64], ***f;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &x, &y, NULL, &mx, &my, NULL));
  ElementStiffness(0.3, k);
  for (PetscInt j = y; j < PetscMin(y + my, n - 1); j++) {
    for (PetscInt i = x; i < PetscMin(x + mx, n - 1); i++) {
      const MatStencil node[]    = {{0, j, i, 0}, {0, j, i + 1, 0}, {0, j + 1, i + 1, 0}, {0, j + 1, i, 0}};
      const PetscReal  stiffness = (i / 5) % 2 && (j / 5) % 2 ? jump : 1.0;

      for (PetscInt e = 0; e < 64; e++) {
        const PetscInt row = e / 8, col = e % 8;

        /* nodes at the left side do not move: unit rows, and no columns that meet others */
        v[e] = stiffness * k[row][col];
        if (node[row / 2].i == 0 || node[col / 2].i == 0) v[e] = row == col ? stiffness : 0.0;
      }
      PetscCall(MatSetValuesBlockedStencil(A, 4, node, 4, node, v, ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecSet(b, 0.0));
  PetscCall(DMDAVecGetArrayDOF(da, b, &f));
  if (x + mx == n)
    for (PetscInt j = y; j < y + my; j++) f[j][n - 1][0] = 1.0 / (n - 1);
  PetscCall(DMDAVecRestoreArrayDOF(da, b, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of flexible GMRES with this smoother, and its times where they are wanted */
static PetscErrorCode Solve(Mat A, Vec b, Vec x, PCType smoother, PetscBool timed, PetscInt *its)
{
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;
  char               options[256];
  PetscLogDouble     t0, t1, setup, best = PETSC_MAX_REAL;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "-%s_mg_levels_pc_type %s", smoother, smoother));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s_", smoother));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, options));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&t0));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm)); /* a GPU has finished when the host knows it */
  PetscCall(PetscTime(&t1));
  setup = t1 - t0;
  for (PetscInt k = 0; k < (timed ? 3 : 0); k++) {
    PetscCall(PetscTime(&t0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(PetscTime(&t1));
    best = PetscMin(best, t1 - t0);
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = PETSC_INT_MAX;
  if (timed)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %" PetscInt_FMT " iterations, setup %.3f ms, solve %.3f ms\n",
                          smoother, *its, 1e3 * (double)(setup - best), 1e3 * (double)best));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  DM           da;
  Mat          A;
  Vec          x, b, r, coordinates;
  MatNullSpace rigid;
  PetscInt     n     = 41, its[2];
  PetscReal    jump  = 10.0, norm, bnorm;
  PetscBool    check = PETSC_FALSE, timed = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timed, NULL));

  /* The block size comes from the two degrees of freedom; rigid motions tell PCGAMG what is smooth */
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, 2, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDASetUniformCoordinates(da, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Assemble(da, jump, A, b));
  PetscCall(DMGetCoordinates(da, &coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &rigid));
  PetscCall(MatSetNearNullSpace(A, rigid));
  PetscCall(MatNullSpaceDestroy(&rigid));

  PetscCall(Solve(A, b, x, PCPBJACOBI, timed, &its[0]));
  PetscCall(Solve(A, b, x, PCBLOCKILU, timed, &its[1]));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecDestroy(&r));
  if (!check) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "iterations with point block Jacobi as smoother %" PetscInt_FMT
                          ", with block ILU %" PetscInt_FMT "\n",
                          its[0], its[1]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual %g\n", (double)(norm / bnorm)));
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "block ILU as smoother: %s\n",
                its[1] < its[0] && norm <= 1e-5 * bnorm ? "fewer iterations, and the residual is small" : "no gain"));
  PetscCall(DMDestroy(&da));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      requires: !single
      args: -check
      nsize: {{1 2 3}}

TEST*/
