/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fractionalstep3d.c: incompressible flow in three dimensions by fractional steps, all of it products with
  MATGRIDSTENCIL and vector operations, so that nothing but norms leaves a GPU
*/
static char help
  [] = "Decaying ABC flow (Arnold, Beltrami, Childress) in a periodic box, on a staggered grid.\n"
       "  -da_grid_x <n>, -da_grid_y, -da_grid_z: cells (24 each); those along y and z are multiples of those along x\n"
       "  -steps <n>: time steps until t = 0.25; -nu <nu>: viscosity\n"
       "  -time: milliseconds of a step, and the shares of the two equations\n"
       "  -noise <a>: a rough flow: velocities begin with values between -a and a more, without an exact solution (0)\n"
       "  -guess <bool>: solves begin with the step before (true) or with zero\n"
       "  -u_view ascii:<file>, -p_view ascii:<file>: velocity along x and pressure at the end\n"
       "  -dm_vec_type cuda: on a GPU; options of the solvers begin with -velocity_ and -pressure_\n\n";

/*
  The scheme is that of fractionalstep.c (H. Liu, J.-H. Seo, R. Mittal, H. H. Huang, equations 2 to 6), with u_c, c = 0,
  1, 2, in the middle of the lower face of a cell in direction c, and p in its centre:

    1. (1 - nu dt delta^2 / 2) u*_c = (1 + nu dt delta^2 / 2) u_c - dt sum over d of (M_cd u_d) C_d u_c
    2. delta^2 p = sum over c of F_c u*_c / dt
    3. u_c = u*_c - dt B_c p

  C, F, B: central, forward and backward differences; M_cd u_d: the mean of the four u_d around u_c. delta^2 is the sum
  of F_c B_c. The curl of an ABC flow is the flow itself: the advection is a gradient, which the pressure takes up, and
  all velocities fall as exp(-nu t).
*/

#include <petscspike.h>
#include <petscdmda.h>
#include <petscdevice.h>
#include <petsctime.h>

typedef struct {
  PetscReal h, dt, nu, noise;
  PetscBool guess;
  DM        da;
  Mat       C[3], F[3], B[3], M[3][3], E, A, L; /* E, A: the two sides of 1. without advection; L: -h^2 delta^2 */
  KSP       velocity, pressure;
  Vec       u[3], b[3], p, div, at, slope;
  PetscInt  its[2];
  double    seconds[3]; /* velocities, pressure, the rest */
} Flow;

/* A stencil of this many points, with a distance in each direction for each */
static PetscErrorCode Stencil(const Flow *f, PetscInt n, const PetscInt at[][3], const PetscScalar values[], Mat *A)
{
  MatStencil points[7];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < n; k++) {
    points[k].i = at[k][0];
    points[k].j = at[k][1];
    points[k].k = at[k][2];
    points[k].c = 0;
  }
  PetscCall(MatCreateGridStencil(f->da, n, points, A));
  PetscCall(MatGridStencilSetCoefficients(*A, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (u[first + 1] - u[first]) / distance along d, or with two cells between */
static PetscErrorCode Difference(const Flow *f, PetscInt d, PetscInt first, PetscInt last, Mat *A)
{
  const PetscReal   slope     = 1.0 / ((last - first) * f->h);
  const PetscScalar values[2] = {-slope, slope};
  PetscInt          at[2][3]  = {{0, 0, 0}, {0, 0, 0}};

  PetscFunctionBeginUser;
  at[0][d] = first;
  at[1][d] = last;
  PetscCall(Stencil(f, 2, (const PetscInt(*)[3])at, values, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diagonal and six sides */
static PetscErrorCode Seven(const Flow *f, PetscReal diagonal, PetscReal side, Mat *A)
{
  const PetscInt    at[7][3]  = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const PetscScalar values[7] = {side, side, side, diagonal, side, side, side};

  PetscFunctionBeginUser;
  PetscCall(Stencil(f, 7, at, values, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverCreate(const Flow *f, Mat A, KSPType type, const char prefix[], KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, 1e-14, PETSC_CURRENT, 2000));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, f->guess)); /* the step before is a good one */
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowCreate(Flow *f)
{
  const PetscReal   d       = 0.5 * f->nu * f->dt / (f->h * f->h);
  const PetscScalar mean[4] = {0.25, 0.25, 0.25, 0.25};
  MatNullSpace      constants;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(Difference(f, c, -1, 1, &f->C[c]));
    PetscCall(Difference(f, c, 0, 1, &f->F[c]));
    PetscCall(Difference(f, c, -1, 0, &f->B[c]));
    for (PetscInt e = 0; e < 3; e++) {
      PetscInt at[4][3];

      f->M[c][e] = NULL;
      if (e == c) continue;
      for (PetscInt k = 0; k < 4; k++)
        for (PetscInt l = 0; l < 3; l++) at[k][l] = l == c ? -(k % 2) : (l == e ? k / 2 : 0);
      PetscCall(Stencil(f, 4, (const PetscInt(*)[3])at, mean, &f->M[c][e]));
    }
  }
  PetscCall(Seven(f, 1.0 - 6.0 * d, d, &f->E));
  PetscCall(Seven(f, 1.0 + 6.0 * d, -d, &f->A));
  PetscCall(Seven(f, 6.0, -1.0, &f->L));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(f->L, constants));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscCall(SolverCreate(f, f->A, KSPBCGSFUSED, "velocity_", &f->velocity));
  PetscCall(SolverCreate(f, f->L, KSPCGFUSED, "pressure_", &f->pressure));
  PetscCall(DMCreateGlobalVector(f->da, &f->p));
  PetscCall(VecDuplicate(f->p, &f->div));
  PetscCall(VecDuplicate(f->p, &f->at));
  PetscCall(VecDuplicate(f->p, &f->slope));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(VecDuplicate(f->p, &f->u[c]));
    PetscCall(VecDuplicate(f->p, &f->b[c]));
  }
  PetscCall(VecSet(f->p, 0.0));
  f->its[0] = f->its[1] = 0;
  PetscCall(PetscArrayzero(f->seconds, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowDestroy(Flow *f)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(MatDestroy(&f->C[c]));
    PetscCall(MatDestroy(&f->F[c]));
    PetscCall(MatDestroy(&f->B[c]));
    for (PetscInt e = 0; e < 3; e++) PetscCall(MatDestroy(&f->M[c][e]));
    PetscCall(VecDestroy(&f->u[c]));
    PetscCall(VecDestroy(&f->b[c]));
  }
  PetscCall(MatDestroy(&f->E));
  PetscCall(MatDestroy(&f->A));
  PetscCall(MatDestroy(&f->L));
  PetscCall(KSPDestroy(&f->velocity));
  PetscCall(KSPDestroy(&f->pressure));
  PetscCall(VecDestroy(&f->p));
  PetscCall(VecDestroy(&f->div));
  PetscCall(VecDestroy(&f->at));
  PetscCall(VecDestroy(&f->slope));
  PetscCall(DMDestroy(&f->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_0 = A sin z + C cos y and so on in turn, with A, B, C = 1, 0.7, 0.4, times exp(-nu t) */
static PetscErrorCode Exact(const Flow *f, PetscReal t, Vec u[3])
{
  const PetscReal decay = PetscExpReal(-f->nu * t), abc[3] = {1.0, 0.7, 0.4};
  PetscInt        s[3], m[3];
  PetscScalar  ***a;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(f->da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (PetscInt c = 0; c < 3; c++) {
    const PetscInt before = (c + 2) % 3, after = (c + 1) % 3;

    PetscCall(DMDAVecGetArrayWrite(f->da, u[c], &a));
    for (PetscInt k = s[2]; k < s[2] + m[2]; k++)
      for (PetscInt j = s[1]; j < s[1] + m[1]; j++)
        for (PetscInt i = s[0]; i < s[0] + m[0]; i++) {
          const PetscReal x[3] = {(i + 0.5) * f->h, (j + 0.5) * f->h, (k + 0.5) * f->h};

          a[k][j][i] = decay * (abc[c] * PetscSinReal(x[before]) + abc[before] * PetscCosReal(x[after]));
        }
    PetscCall(DMDAVecRestoreArrayWrite(f->da, u[c], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of [-1, 1), the same on any number of ranks */
static PetscReal Noise(PetscInt64 cell)
{
  PetscInt64 x = cell % 2147483647;

  for (int k = 0; k < 4; k++) x = (x * 16807 + 12345) % 2147483647;
  return 2.0 * (PetscReal)x / 2147483647.0 - 1.0;
}

/* The flow at the beginning: what noise adds to its velocities the first pressure makes free of divergence */
static PetscErrorCode Begin(const Flow *f, Vec u[3])
{
  PetscInt       s[3], m[3], n[3];
  PetscScalar ***a;

  PetscFunctionBeginUser;
  PetscCall(Exact(f, 0.0, u));
  if (f->noise == 0.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetCorners(f->da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(DMDAGetInfo(f->da, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(DMDAVecGetArray(f->da, u[c], &a));
    for (PetscInt k = s[2]; k < s[2] + m[2]; k++)
      for (PetscInt j = s[1]; j < s[1] + m[1]; j++)
        for (PetscInt i = s[0]; i < s[0] + m[0]; i++)
          a[k][j][i] += f->noise * Noise((((PetscInt64)c * n[2] + k) * n[1] + j) * n[0] + i);
    PetscCall(DMDAVecRestoreArray(f->da, u[c], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b_c <- E u_c - dt sum over d of (M_cd u_d) C_d u_c */
static PetscErrorCode Explicit(Flow *f, PetscInt c)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(f->E, f->u[c], f->b[c]));
  for (PetscInt d = 0; d < 3; d++) {
    if (d != c) PetscCall(MatMult(f->M[c][d], f->u[d], f->at));
    PetscCall(MatMult(f->C[d], f->u[c], f->slope));
    PetscCall(VecPointwiseMult(f->slope, d == c ? f->u[c] : f->at, f->slope));
    PetscCall(VecAXPY(f->b[c], -f->dt, f->slope));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* div <- factor times the divergence of u */
static PetscErrorCode ComputeDivergence(Flow *f, PetscReal factor)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(f->F[0], f->u[0], f->div));
  for (PetscInt c = 1; c < 3; c++) {
    PetscCall(MatMult(f->F[c], f->u[c], f->at));
    PetscCall(VecAXPY(f->div, 1.0, f->at));
  }
  PetscCall(VecScale(f->div, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the seconds since *begun, with what was enqueued, to a share */
static PetscErrorCode Account(Flow *f, PetscInt share, PetscLogDouble *begun)
{
  PetscDeviceContext dctx;
  PetscLogDouble     now;

  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) {
    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceContextSynchronize(dctx));
  }
  PetscCall(PetscTime(&now));
  f->seconds[share] += now - *begun;
  *begun = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Step(Flow *f)
{
  PetscLogDouble now;
  PetscInt       its;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&now));
  for (PetscInt c = 0; c < 3; c++) PetscCall(Explicit(f, c));
  PetscCall(Account(f, 2, &now));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(KSPSolve(f->velocity, f->b[c], f->u[c]));
    PetscCall(KSPGetIterationNumber(f->velocity, &its));
    f->its[0] += its;
  }
  PetscCall(Account(f, 0, &now));
  PetscCall(ComputeDivergence(f, -f->h * f->h / f->dt));
  PetscCall(Account(f, 2, &now));
  PetscCall(KSPSolve(f->pressure, f->div, f->p));
  PetscCall(KSPGetIterationNumber(f->pressure, &its));
  f->its[1] += its;
  PetscCall(Account(f, 1, &now));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(MatMult(f->B[c], f->p, f->at));
    PetscCall(VecAXPY(f->u[c], -f->dt, f->at));
  }
  PetscCall(Account(f, 2, &now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal t = 0.25;
  Flow            f;
  PetscInt        steps = 10, n[3];
  PetscReal       error = 0.0, divergence, e;
  PetscBool       timed = PETSC_FALSE;
  PetscMPIInt     size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  f.nu    = 0.1;
  f.noise = 0.0;
  f.guess = PETSC_TRUE;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-nu", &f.nu, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-noise", &f.noise, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-guess", &f.guess, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timed, NULL));
  PetscCheck(steps > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-steps from 1");

  /* 1. The box, in layers along z for the ranks; the period of the flow is the edge along x */
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC,
                         DMDA_STENCIL_BOX, 24, 24, 24, 1, 1, size, 1, 1, NULL, NULL, NULL, &f.da));
  PetscCall(DMSetFromOptions(f.da));
  PetscCall(DMSetUp(f.da));
  PetscCall(DMDAGetInfo(f.da, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCheck(n[1] % n[0] == 0 && n[2] % n[0] == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "Cells along y and z are multiples of those along x, not %" PetscInt_FMT ", %" PetscInt_FMT
             " of %" PetscInt_FMT,
             n[1], n[2], n[0]);
  f.h  = 2.0 * PETSC_PI / n[0];
  f.dt = t / steps;

  /* 2. Stencils and solvers, 3. the steps */
  PetscCall(FlowCreate(&f));
  PetscCall(Begin(&f, f.u));
  if (timed) { /* what the first step allocates does not count */
    PetscCall(Step(&f));
    PetscCall(Begin(&f, f.u));
    PetscCall(VecSet(f.p, 0.0));
    PetscCall(PetscArrayzero(f.seconds, 3));
    f.its[0] = f.its[1] = 0;
  }
  for (PetscInt k = 0; k < steps; k++) PetscCall(Step(&f));

  /* 4. What came out */
  PetscCall(VecViewFromOptions(f.u[0], NULL, "-u_view"));
  PetscCall(VecViewFromOptions(f.p, NULL, "-p_view"));
  PetscCall(ComputeDivergence(&f, 1.0));
  PetscCall(VecNorm(f.div, NORM_INFINITY, &divergence));
  PetscCall(Exact(&f, t, f.b));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(VecAXPY(f.b[c], -1.0, f.u[c]));
    PetscCall(VecNorm(f.b[c], NORM_INFINITY, &e));
    error = PetscMax(error, e);
  }
  if (timed) {
    const double all      = f.seconds[0] + f.seconds[1] + f.seconds[2];
    char         text[16] = "-"; /* of a rough flow nobody knows the solution */

    if (f.noise == 0.0) PetscCall(PetscSNPrintf(text, sizeof(text), "%.2g", (double)error));
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                  " cells, %d ranks: %.4f ms a step; velocities %.1f %% (%.1f iterations each), pressure %.1f %% "
                  "(%.1f), the rest %.1f %%; error %s, divergence %.2g\n",
                  n[0], n[1], n[2], (int)size, 1e3 * all / steps, 100.0 * f.seconds[0] / all,
                  (double)f.its[0] / (3.0 * steps), 100.0 * f.seconds[1] / all, (double)f.its[1] / steps,
                  100.0 * f.seconds[2] / all, text, (double)divergence));
  } else {
    if (f.noise != 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the velocities not known\n"));
    else if (error < 6e-4) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the velocities < 0.0006\n"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the velocities %.2g\n", (double)error));
    if (divergence < 1e-5) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "divergence < 1e-5\n"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "divergence %.2g\n", (double)divergence));
  }
  PetscCall(FlowDestroy(&f));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/fractionalstep3d_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: box
         args: -da_grid_x 16 -da_grid_y 16 -da_grid_z 32 -steps 5
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -dm_vec_type cuda

TEST*/
