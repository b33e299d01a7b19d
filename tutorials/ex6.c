/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ex6.c: line relaxation in multigrid: PCSPIKE with the tridiagonal part of a matrix as the smoother, beside point
  Jacobi
*/
static char
  help[] = "-u_xx - epsilon u_yy = f in the unit square, u = 0 on its boundary: CG with PCMG, smoothed point by point "
           "and line by line.\n"
           "  -da_grid_x <n>, -da_grid_y <n>, -dm_mat_type aijcusparse, -dm_vec_type cuda, ...: options of DMDA\n"
           "  -levels <n>: levels of multigrid; options of the two solvers begin with -point_ and -line_; -check: no "
           "numbers\n\n";

#include <petscspike.h>
#include <petscdmda.h>

/*
  Five points on the grid of the level; unknowns are numbered along x, so that the couplings along a line are the
  tridiagonal part. Points on the boundary keep 0
*/
static PetscErrorCode Operator(KSP ksp, Mat J, Mat A, void *ctx)
{
  const PetscReal epsilon = *(PetscReal *)ctx;
  DM              da;
  DMDALocalInfo   info;
  PetscReal       cx, cy;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  cx = (PetscReal)(info.mx - 1) / (info.my - 1); /* hy / hx */
  cy = epsilon / cx;
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscBool inside = (PetscBool)(i > 0 && j > 0 && i < info.mx - 1 && j < info.my - 1);
      MatStencil      row    = {0, j, i, 0}, col[5];
      PetscScalar     v[5];
      PetscInt        n = 0;

      for (PetscInt k = 0; k < 4; k++) {
        const PetscInt p = i + (k == 0) - (k == 1), q = j + (k == 2) - (k == 3);

        if (!inside || p == 0 || q == 0 || p == info.mx - 1 || q == info.my - 1) continue;
        col[n].i = p;
        col[n].j = q;
        v[n++]   = k < 2 ? -cx : -cy;
      }
      col[n].i = i;
      col[n].j = j;
      v[n++]   = 2.0 * (cx + cy);
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values between -1 and 1 without a pattern, 0 on the boundary: all frequencies, the same on any number of ranks */
static PetscErrorCode RightHandSide(KSP ksp, Vec b, void *ctx)
{
  DM            da;
  DMDALocalInfo info;
  PetscScalar **f;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayWrite(da, b, &f));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
      f[j][i] = i > 0 && j > 0 && i < info.mx - 1 && j < info.my - 1
                ? PetscSinReal((PetscReal)((i * 7919 + j * 104729) % 9973))
                : 0.0;
  PetscCall(DMDAVecRestoreArrayWrite(da, b, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iterations of CG with a V-cycle of PCMG; spike: its smoothers are Chebyshev iterations with the lines solved, else
  with the diagonal
*/
static PetscErrorCode Solve(PetscReal epsilon, PetscInt levels, PetscBool spike, PetscInt *its)
{
  DM                 da;
  KSP                ksp, smoother;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  /* 1: a rank has whole lines */
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 129, 129, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, spike ? "line_" : "point_"));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, Operator, &epsilon));
  PetscCall(KSPSetComputeRHS(ksp, RightHandSide, NULL));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  /* as -mg_levels_pc_type spike -mg_levels_pc_spike_bandwidth 1 do for any PCMG */
  for (PetscInt l = 1; l < levels; l++) {
    PC relax;

    PetscCall(PCMGGetSmoother(pc, l, &smoother));
    PetscCall(KSPGetPC(smoother, &relax));
    PetscCall(PCSetType(relax, spike ? PCSPIKE : PCJACOBI));
    if (spike) PetscCall(PCSpikeSetBandwidth(relax, 1, 1)); /* the tridiagonal part, in the numbering of the grid */
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, NULL, NULL));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = PETSC_INT_MAX;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal epsilon[] = {1.0, 1e-2, 1e-4};
  PetscInt        levels = 5, its[2][3], most = 0;
  PetscBool       check = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &levels, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  if (!check) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "iterations: epsilon, point Jacobi, lines\n"));
  for (PetscInt k = 0; k < 3; k++) {
    for (PetscInt s = 0; s < 2; s++) PetscCall(Solve(epsilon[k], levels, (PetscBool)(s == 1), &its[s][k]));
    if (!check)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%8g %6" PetscInt_FMT " %6" PetscInt_FMT "\n", (double)epsilon[k],
                            its[0][k], its[1][k]));
    most = PetscMax(most, its[1][k]);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "lines, for each epsilon: %s\n",
                        most <= 12 ? "at most 12 iterations" : "more than 12 iterations"));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "points, epsilon 1e-4 against 1: %s\n",
                its[0][2] > 4 * its[0][0] ? "more than four times the iterations" : "not many more iterations"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      args: -check
      output_file: output/ex6_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -dm_mat_type aijcusparse -dm_vec_type cuda -use_gpu_aware_mpi 0

TEST*/
