/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fractionalstep.c: incompressible flow by fractional steps: MATGRIDSTENCIL, bcgsfused for the velocities, cgfused for
  the pressure
*/
static char help[] = "Decaying vortices in a periodic square, on a staggered grid, by the fractional-step method.\n"
                     "  -n <n>: cells each way; -steps <n>: time steps until t = 0.5; -nu <nu>: viscosity\n"
                     "  -u_view ascii:<file>, -p_view ascii:<file>: velocity along x and pressure at the end\n"
                     "  -mat_form stencil|dia|aij: how the two matrices are kept; options of the solvers begin with "
                     "-velocity_ and -pressure_\n\n";

/*
  In each step, with central differences of second order (H. Liu, J.-H. Seo, R. Mittal, H. H. Huang, equations 2 to 6):

    1. advection and diffusion     (1 - nu dt delta^2 / 2) u* = u + dt (-(u . grad) u + nu delta^2 u / 2)
    2. pressure                    delta^2 p = div u* / dt
    3. correction                  u = u* - dt grad p

  Cell (i, j) has u in the middle of its left side, v in the middle of its lower side, and p in its centre. Both
  matrices are stencils of five points with constant coefficients:
  nothing is stored for them. That of the pressure has the constants as its null space.
*/

#include <petscspike.h>
#include <petscdmda.h>

typedef struct {
  PetscInt  n;
  PetscReal h, dt, nu;
  DM        da;
  Mat       A, L; /* of the velocities, and -delta^2 h^2 */
  KSP       velocity, pressure;
  Vec       u, v, p, bu, bv, bp; /* p begins as that of the step before */
  Vec       lu, lv, lp;          /* with the cells around those of a rank */
} Flow;

/* diagonal + 4 off-diagonal entries, and the solver with it */
static PetscErrorCode StencilCreate(Flow *f, PetscReal diagonal, PetscReal side, PetscBool singular, KSPType type,
                                    const char prefix[], Mat *A, KSP *ksp)
{
  const MatStencil  points[]       = {{0, -1, 0, 0}, /* k, j, i, c */
                                      {0, 0, -1, 0},
                                      {0, 0, 0, 0},
                                      {0, 0, 1, 0},
                                      {0, 1, 0, 0}};
  const PetscScalar coefficients[] = {side, side, diagonal, side, side};
  char              form[16]       = "stencil";
  PetscBool         isstencil;
  PC                pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateGridStencil(f->da, 5, points, A));
  PetscCall(MatGridStencilSetCoefficients(*A, coefficients));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_form", form, sizeof(form), NULL));
  PetscCall(PetscStrcmp(form, "stencil", &isstencil));
  if (!isstencil) PetscCall(MatConvert(*A, form, MAT_INPLACE_MATRIX, A));
  if (singular) {
    MatNullSpace constants;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, 1e-14, PETSC_CURRENT, 1000));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, PETSC_TRUE)); /* the step before is a good guess */
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The velocities of the exact solution at time t, damped by exp(-2 nu t) */
static PetscErrorCode Exact(const Flow *f, PetscReal t, Vec u, Vec v)
{
  const PetscReal decay = PetscExpReal(-2.0 * f->nu * t);
  PetscInt        xs, ys, xm, ym;
  PetscScalar   **ua, **va;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(f->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayWrite(f->da, u, &ua));
  PetscCall(DMDAVecGetArrayWrite(f->da, v, &va));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) {
      ua[j][i] = -PetscCosReal(i * f->h) * PetscSinReal((j + 0.5) * f->h) * decay;
      va[j][i] = PetscSinReal((i + 0.5) * f->h) * PetscCosReal(j * f->h) * decay;
    }
  PetscCall(DMDAVecRestoreArrayWrite(f->da, u, &ua));
  PetscCall(DMDAVecRestoreArrayWrite(f->da, v, &va));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Around(const Flow *f, Vec x, Vec local)
{
  PetscFunctionBeginUser;
  PetscCall(DMGlobalToLocal(f->da, x, INSERT_VALUES, local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bu, bv <- (u, v) + dt (-(u . grad) (u, v) + nu delta^2 (u, v) / 2) */
static PetscErrorCode AdvectionDiffusion(Flow *f)
{
  const PetscReal c = f->dt / (2.0 * f->h), d = 0.5 * f->nu * f->dt / (f->h * f->h);
  PetscInt        xs, ys, xm, ym;
  PetscScalar   **u, **v, **bu, **bv;

  PetscFunctionBeginUser;
  PetscCall(Around(f, f->u, f->lu));
  PetscCall(Around(f, f->v, f->lv));
  PetscCall(DMDAGetCorners(f->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(f->da, f->lu, &u));
  PetscCall(DMDAVecGetArrayRead(f->da, f->lv, &v));
  PetscCall(DMDAVecGetArrayWrite(f->da, f->bu, &bu));
  PetscCall(DMDAVecGetArrayWrite(f->da, f->bv, &bv));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) {
      const PetscScalar vu = 0.25 * (v[j][i] + v[j][i - 1] + v[j + 1][i] + v[j + 1][i - 1]); /* v where u is */
      const PetscScalar uv = 0.25 * (u[j][i] + u[j][i + 1] + u[j - 1][i] + u[j - 1][i + 1]); /* u where v is */

      bu[j][i] = u[j][i] - c * (u[j][i] * (u[j][i + 1] - u[j][i - 1]) + vu * (u[j + 1][i] - u[j - 1][i])) +
                 d * (u[j][i + 1] + u[j][i - 1] + u[j + 1][i] + u[j - 1][i] - 4.0 * u[j][i]);
      bv[j][i] = v[j][i] - c * (uv * (v[j][i + 1] - v[j][i - 1]) + v[j][i] * (v[j + 1][i] - v[j - 1][i])) +
                 d * (v[j][i + 1] + v[j][i - 1] + v[j + 1][i] + v[j - 1][i] - 4.0 * v[j][i]);
    }
  PetscCall(DMDAVecRestoreArrayRead(f->da, f->lu, &u));
  PetscCall(DMDAVecRestoreArrayRead(f->da, f->lv, &v));
  PetscCall(DMDAVecRestoreArrayWrite(f->da, f->bu, &bu));
  PetscCall(DMDAVecRestoreArrayWrite(f->da, f->bv, &bv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b <- factor div (u, v) */
static PetscErrorCode ComputeDivergence(Flow *f, PetscReal factor, Vec b)
{
  PetscInt      xs, ys, xm, ym;
  PetscScalar **u, **v, **ba;

  PetscFunctionBeginUser;
  PetscCall(Around(f, f->u, f->lu));
  PetscCall(Around(f, f->v, f->lv));
  PetscCall(DMDAGetCorners(f->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(f->da, f->lu, &u));
  PetscCall(DMDAVecGetArrayRead(f->da, f->lv, &v));
  PetscCall(DMDAVecGetArrayWrite(f->da, b, &ba));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) ba[j][i] = factor / f->h * (u[j][i + 1] - u[j][i] + v[j + 1][i] - v[j][i]);
  PetscCall(DMDAVecRestoreArrayRead(f->da, f->lu, &u));
  PetscCall(DMDAVecRestoreArrayRead(f->da, f->lv, &v));
  PetscCall(DMDAVecRestoreArrayWrite(f->da, b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (u, v) -= dt grad p */
static PetscErrorCode Correct(Flow *f)
{
  PetscInt      xs, ys, xm, ym;
  PetscScalar **u, **v, **p;

  PetscFunctionBeginUser;
  PetscCall(Around(f, f->p, f->lp));
  PetscCall(DMDAGetCorners(f->da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMDAVecGetArrayRead(f->da, f->lp, &p));
  PetscCall(DMDAVecGetArray(f->da, f->u, &u));
  PetscCall(DMDAVecGetArray(f->da, f->v, &v));
  for (PetscInt j = ys; j < ys + ym; j++)
    for (PetscInt i = xs; i < xs + xm; i++) {
      u[j][i] -= f->dt / f->h * (p[j][i] - p[j][i - 1]);
      v[j][i] -= f->dt / f->h * (p[j][i] - p[j - 1][i]);
    }
  PetscCall(DMDAVecRestoreArrayRead(f->da, f->lp, &p));
  PetscCall(DMDAVecRestoreArray(f->da, f->u, &u));
  PetscCall(DMDAVecRestoreArray(f->da, f->v, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Flow      f;
  PetscInt  steps = 50;
  PetscReal d, error[2], divergence;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  f.n  = 48;
  f.nu = 0.1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &f.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-nu", &f.nu, NULL));
  f.h  = 2.0 * PETSC_PI / f.n;
  f.dt = 0.5 / steps;

  /* 1. The grid: periodic, in layers, so that the stencils are few diagonals too where -mat_form dia asks for them */
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_BOX, f.n, f.n, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &f.da));
  PetscCall(DMSetUp(f.da));
  PetscCall(DMCreateGlobalVector(f.da, &f.u));
  PetscCall(VecDuplicate(f.u, &f.v));
  PetscCall(VecDuplicate(f.u, &f.p));
  PetscCall(VecDuplicate(f.u, &f.bu));
  PetscCall(VecDuplicate(f.u, &f.bv));
  PetscCall(VecDuplicate(f.u, &f.bp));
  PetscCall(DMCreateLocalVector(f.da, &f.lu));
  PetscCall(VecDuplicate(f.lu, &f.lv));
  PetscCall(VecDuplicate(f.lu, &f.lp));

  /* 2. The two matrices and their solvers */
  d = 0.5 * f.nu * f.dt / (f.h * f.h);
  PetscCall(StencilCreate(&f, 1.0 + 4.0 * d, -d, PETSC_FALSE, KSPBCGSFUSED, "velocity_", &f.A, &f.velocity));
  PetscCall(StencilCreate(&f, 4.0, -1.0, PETSC_TRUE, KSPCGFUSED, "pressure_", &f.L, &f.pressure));

  /* 3. The steps */
  PetscCall(Exact(&f, 0.0, f.u, f.v));
  PetscCall(VecSet(f.p, 0.0));
  for (PetscInt k = 0; k < steps; k++) {
    PetscCall(AdvectionDiffusion(&f));
    PetscCall(KSPSolve(f.velocity, f.bu, f.u));
    PetscCall(KSPSolve(f.velocity, f.bv, f.v));
    PetscCall(ComputeDivergence(&f, -f.h * f.h / f.dt, f.bp));
    PetscCall(KSPSolve(f.pressure, f.bp, f.p));
    PetscCall(Correct(&f));
  }

  /* 4. What came out */
  PetscCall(VecViewFromOptions(f.u, NULL, "-u_view"));
  PetscCall(VecViewFromOptions(f.p, NULL, "-p_view"));
  PetscCall(ComputeDivergence(&f, 1.0, f.bp));
  PetscCall(VecNorm(f.bp, NORM_INFINITY, &divergence));
  PetscCall(Exact(&f, 0.5, f.bu, f.bv));
  PetscCall(VecAXPY(f.bu, -1.0, f.u));
  PetscCall(VecAXPY(f.bv, -1.0, f.v));
  PetscCall(VecNorm(f.bu, NORM_INFINITY, &error[0]));
  PetscCall(VecNorm(f.bv, NORM_INFINITY, &error[1]));
  error[0] = PetscMax(error[0], error[1]);
  if (error[0] < 2e-3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the velocities < 0.002\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the velocities %.2g\n", (double)error[0]));
  if (divergence < 1e-6) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "divergence < 1e-6\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "divergence %.2g\n", (double)divergence));

  PetscCall(KSPDestroy(&f.velocity));
  PetscCall(KSPDestroy(&f.pressure));
  PetscCall(MatDestroy(&f.A));
  PetscCall(MatDestroy(&f.L));
  PetscCall(VecDestroy(&f.u));
  PetscCall(VecDestroy(&f.v));
  PetscCall(VecDestroy(&f.p));
  PetscCall(VecDestroy(&f.bu));
  PetscCall(VecDestroy(&f.bv));
  PetscCall(VecDestroy(&f.bp));
  PetscCall(VecDestroy(&f.lu));
  PetscCall(VecDestroy(&f.lv));
  PetscCall(VecDestroy(&f.lp));
  PetscCall(DMDestroy(&f.da));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/fractionalstep_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: form
         args: -mat_form {{dia aij}}

TEST*/
