/* SPDX-License-Identifier: BSD-2-Clause */
/* ex5.c: alternating directions for the heat equation in the plane: two PCSPIKEs, one for each direction */
static char help
  [] = "u_t = u_xx + u_yy in the unit square, 0 on its boundary, by the scheme of Peaceman and Rachford.\n"
       "  -nx <n>, -ny <n>: cells along x and along y; -steps <n>: time steps until t = 0.1; then all of them doubled\n"
       "  -u_view ascii:<file>: the temperature at the end, -error_view: its error; points i my + j inside, i along x\n"
       "  -mat_type aijcusparse: on a GPU; options of the two solvers begin with -x_ and -y_\n\n";

#include <petscspike.h>

/*
  I - r [1 -2 1] on each of nlines lines of n points, one after the other: tridiagonal, with nothing between two lines.
  A rank has whole lines
*/
static PetscErrorCode LinesCreate(PetscInt nlines, PetscInt n, PetscReal r, const char prefix[], Mat *A, KSP *ksp)
{
  PetscInt mine = PETSC_DECIDE, rstart, rend;
  PC       pc;

  PetscFunctionBeginUser;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &mine, &nlines));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, mine * n, mine * n, nlines * n, nlines * n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 3, NULL, 0, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    PetscCall(MatSetValue(*A, i, i, 1.0 + 2.0 * r, INSERT_VALUES));
    if (i % n > 0) PetscCall(MatSetValue(*A, i, i - 1, -r, INSERT_VALUES));
    if (i % n < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -r, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));

  /*
    PCSPIKE finds the lines, factors all of them at once in the first solve, and only substitutes from then on; no line
    is cut between ranks, so that one application solves
  */
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetMaxRefinements(pc, 0)); /* as good as exact, and solved so often that a check would cost */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b <- (2 I - A) u = (I + r [1 -2 1]) u */
static PetscErrorCode Explicit(Mat A, Vec u, Vec b)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(A, u, b));
  PetscCall(VecAXPBY(b, 2.0, -1.0, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest error at t = 0.1 over the largest value of the solution there, exp(-2 pi^2 t) sin(pi x) sin(pi y) */
static PetscErrorCode Solve(PetscInt nx, PetscInt ny, PetscInt steps, PetscReal *error)
{
  const PetscReal t = 0.1, dt = t / steps, decay = PetscExpReal(-2.0 * PETSC_PI * PETSC_PI * t);
  const PetscInt  mx = nx - 1, my = ny - 1; /* points inside */
  PetscInt        rstart, rend, *across;
  Mat             X, Y;
  KSP             kspx, kspy;
  Vec             ux, uy, bx, by, exact;
  IS              is;
  VecScatter      turn;

  PetscFunctionBeginUser;
  PetscCall(LinesCreate(my, mx, 0.5 * dt * nx * nx, "x_", &X, &kspx)); /* point (i, j) is unknown j mx + i here */
  PetscCall(LinesCreate(mx, my, 0.5 * dt * ny * ny, "y_", &Y, &kspy)); /* and i my + j here */
  PetscCall(MatCreateVecs(X, &ux, &bx));
  PetscCall(MatCreateVecs(Y, &uy, &by));
  PetscCall(VecDuplicate(uy, &exact));
  PetscCall(VecGetOwnershipRange(uy, &rstart, &rend));
  PetscCall(PetscMalloc1(rend - rstart, &across));
  for (PetscInt k = rstart; k < rend; k++) {
    const PetscInt i = k / my, j = k % my;

    across[k - rstart] = j * mx + i;
    PetscCall(
      VecSetValue(uy, k, PetscSinReal(PETSC_PI * (i + 1) / nx) * PetscSinReal(PETSC_PI * (j + 1) / ny), INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(uy));
  PetscCall(VecAssemblyEnd(uy));
  PetscCall(VecCopy(uy, exact));
  PetscCall(VecScale(exact, decay));

  /* From the numbering of one direction to that of the other: all that crosses between ranks */
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, rend - rstart, across, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(ux, is, uy, NULL, &turn));

  /* (I - dt/2 D_xx) u* = (I + dt/2 D_yy) u,   (I - dt/2 D_yy) u = (I + dt/2 D_xx) u* */
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(Explicit(Y, uy, by));
    PetscCall(VecScatterBegin(turn, by, bx, INSERT_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(turn, by, bx, INSERT_VALUES, SCATTER_REVERSE));
    PetscCall(KSPSolve(kspx, bx, ux));
    PetscCall(Explicit(X, ux, bx));
    PetscCall(VecScatterBegin(turn, bx, by, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(turn, bx, by, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(KSPSolve(kspy, by, uy));
  }
  PetscCall(VecViewFromOptions(uy, NULL, "-u_view"));
  PetscCall(VecAXPY(uy, -1.0, exact));
  PetscCall(VecViewFromOptions(uy, NULL, "-error_view"));
  PetscCall(VecNorm(uy, NORM_INFINITY, error));
  *error /= decay;
  PetscCall(PetscInfo(kspx, "%" PetscInt_FMT " x %" PetscInt_FMT " cells, %" PetscInt_FMT " steps: error %g\n", nx, ny,
                      steps, (double)*error));
  PetscCall(VecScatterDestroy(&turn));
  PetscCall(ISDestroy(&is));
  PetscCall(VecDestroy(&ux));
  PetscCall(VecDestroy(&uy));
  PetscCall(VecDestroy(&bx));
  PetscCall(VecDestroy(&by));
  PetscCall(VecDestroy(&exact));
  PetscCall(KSPDestroy(&kspx));
  PetscCall(KSPDestroy(&kspy));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  nx = 48, ny = 32, steps = 5; /* so few that four fifths of the error are those of the time steps */
  PetscReal error[2], ratio;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &ny, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  for (PetscInt k = 0; k < 2; k++) PetscCall(Solve(nx << k, ny << k, steps << k, &error[k]));
  ratio = error[0] / error[1];
  if (error[1] < 2e-3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error < 0.002\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %.2g\n", (double)error[1]));
  if (ratio > 3.8 && ratio < 4.2)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "half the spacing and half the time step: a quarter of the error\n"));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "half the spacing and half the time step: errors %.3g and %.3g, ratio %.3g\n",
                          (double)error[0], (double)error[1], (double)ratio));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/ex5_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: types
         args: -x_pc_spike_tridiagonal_type {{thomas twoway pcr rd crpcr}} -y_pc_spike_tridiagonal_type {{cr partition}}

   test:
      suffix: cuda
      requires: cuda gpurun !single
      nsize: {{1 2}}
      args: -mat_type aijcusparse -use_gpu_aware_mpi 0
      output_file: output/ex5_1.out

TEST*/
