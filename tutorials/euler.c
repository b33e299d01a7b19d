/* SPDX-License-Identifier: BSD-2-Clause */
/* euler.c: compressible flow by implicit steps: blocks of four unknowns, MATBAIJCUDA on a GPU, PCBLOCKILU, bcgsfused */
static char help[] = "The Euler equations in a periodic square: a vortex that a wind carries along, by implicit steps "
                     "and Newton's method.\n"
                     "  -steps <n>: time steps; -cfl <c>: their length, in those of an explicit scheme\n"
                     "  -da_grid_x <n>, -da_grid_y <n>: cells\n"
                     "  -begin_view ascii:<file>, -end_view ascii:<file>: density, momentum and energy of each cell, "
                     "before the first step\n"
                     "and after the last\n"
                     "  -check: print what must hold on any number of ranks, not the iterations\n"
                     "  -dm_mat_type baij (default), or on a GPU baijcuda with -dm_vec_type cuda; options of the "
                     "solver: -ksp_view, ...\n\n";

/*
  U = (rho, rho u, rho v, E) in a cell, p = (gamma - 1) (E - rho (u^2 + v^2) / 2). In a step of length dt, with faces of
  length h:

    R(U) = (U - U_old) h^2 / dt + sum over the faces of a cell of h F(U, U_there) = 0
    F    = (f(U) . n + f(U_there) . n) / 2 + a / 2 (U - U_there)

  Rusanov's flux, with the largest |velocity| + c of the box, at the beginning of the step, as a. Its derivatives are
  those of f and a unit matrix, so that Newton's method has the exact matrix: a block of 4 x 4 for each cell and each of
  its four neighbours. PCBLOCKILU eliminates whole cells.
*/
#include <petscdmda.h>
#include <petscspike.h>

#define GAMMA 1.4
#define BOX   10.0

typedef struct {
  DM        da;
  KSP       ksp;
  Mat       J;
  Vec       U, old, R, dU, local;
  PetscInt  n[2], x, y, mx, my;
  PetscReal h[2], dt, a;
  PetscInt  newton, its; /* of all steps */
} Flow;

/* f(U) . n for n along x (d = 0) or y */
static void Flux(const PetscScalar U[4], int d, PetscScalar f[4])
{
  const PetscScalar u = U[1] / U[0], v = U[2] / U[0], p = (GAMMA - 1.0) * (U[3] - 0.5 * U[0] * (u * u + v * v)),
                    across = d ? v : u;

  for (int k = 0; k < 3; k++) f[k] = U[k] * across;
  f[1 + d] += p;
  f[3] = (U[3] + p) * across;
}

/* Its derivative, by rows */
static void Derivative(const PetscScalar U[4], int d, PetscScalar A[4][4])
{
  const PetscScalar u = U[1] / U[0], v = U[2] / U[0], q = 0.5 * (u * u + v * v), across = d ? v : u;
  const PetscScalar p = (GAMMA - 1.0) * (U[3] - U[0] * q), H = (U[3] + p) / U[0];
  /* of p, and of the velocity across, times rho */
  const PetscScalar dp[] = {(GAMMA - 1.0) * q, -(GAMMA - 1.0) * u, -(GAMMA - 1.0) * v, GAMMA - 1.0};
  const PetscScalar da[] = {-across, d ? 0.0 : 1.0, d ? 1.0 : 0.0, 0.0}, w[] = {1.0, u, v, H};

  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      A[i][j] = w[i] * da[j] + (i == 1 + d ? dp[j] : 0.0) + (i == j && i < 3 ? across : 0.0);
      if (i == 3) A[i][j] += across * (dp[j] + (j == 3 ? 1.0 : 0.0));
    }
}

/* J <- R'(U), block by block: the flux through the faces to the neighbours before and after, along x and along y */
static PetscErrorCode FillJacobian(Flow *f, const PetscScalar ***U)
{
  PetscFunctionBeginUser;
  PetscCall(MatZeroEntries(f->J));
  for (PetscInt j = f->y; j < f->y + f->my; j++) {
    for (PetscInt i = f->x; i < f->x + f->mx; i++) {
      const MatStencil row = {0, j, i, 0};
      PetscScalar      own[4][4], there[4][4], A[4][4];

      for (int k = 0; k < 16; k++) own[k / 4][k % 4] = k / 4 == k % 4 ? f->h[0] * f->h[1] / f->dt : 0.0;
      for (int face = 0; face < 4; face++) {
        const int        d = face / 2, sign = face % 2 ? 1 : -1;
        const MatStencil col    = {0, j + (d ? sign : 0), i + (d ? 0 : sign), 0};
        const PetscReal  length = f->h[1 - d];

        Derivative(U[j][i], d, A);
        for (int k = 0; k < 16; k++)
          own[k / 4][k % 4] += 0.5 * length * (sign * A[k / 4][k % 4] + (k / 4 == k % 4 ? f->a : 0.0));
        Derivative(U[col.j][col.i], d, A);
        for (int k = 0; k < 16; k++)
          there[k / 4][k % 4] = 0.5 * length * (sign * A[k / 4][k % 4] - (k / 4 == k % 4 ? f->a : 0.0));
        PetscCall(MatSetValuesBlockedStencil(f->J, 1, &row, 1, &col, &there[0][0], ADD_VALUES));
      }
      PetscCall(MatSetValuesBlockedStencil(f->J, 1, &row, 1, &row, &own[0][0], ADD_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(f->J, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(f->J, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R(U) in f->R, and with jacobian J <- R'(U) */
static PetscErrorCode Residual(Flow *f, PetscBool jacobian)
{
  const PetscScalar ***U, ***old;
  PetscScalar       ***R, own[4], there[4];

  PetscFunctionBeginUser;
  PetscCall(DMGlobalToLocal(f->da, f->U, INSERT_VALUES, f->local));
  PetscCall(DMDAVecGetArrayDOFRead(f->da, f->local, (void *)&U));
  PetscCall(DMDAVecGetArrayDOFRead(f->da, f->old, (void *)&old));
  PetscCall(DMDAVecGetArrayDOF(f->da, f->R, &R));
  for (PetscInt j = f->y; j < f->y + f->my; j++) {
    for (PetscInt i = f->x; i < f->x + f->mx; i++) {
      for (int k = 0; k < 4; k++) R[j][i][k] = (U[j][i][k] - old[j][i][k]) * f->h[0] * f->h[1] / f->dt;
      for (int face = 0; face < 4; face++) {
        const int          d = face / 2, sign = face % 2 ? 1 : -1;
        const PetscScalar *V = d ? U[j + sign][i] : U[j][i + sign];

        Flux(U[j][i], d, own);
        Flux(V, d, there);
        for (int k = 0; k < 4; k++)
          R[j][i][k] += 0.5 * f->h[1 - d] * (sign * (own[k] + there[k]) + f->a * (U[j][i][k] - V[k]));
      }
    }
  }
  if (jacobian) PetscCall(FillJacobian(f, U));
  PetscCall(DMDAVecRestoreArrayDOF(f->da, f->R, &R));
  PetscCall(DMDAVecRestoreArrayDOFRead(f->da, f->old, (void *)&old));
  PetscCall(DMDAVecRestoreArrayDOFRead(f->da, f->local, (void *)&U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vortex without gradients of entropy, amid a wind (1, 1/2): the waves of the box do not touch it at first */
static PetscErrorCode Begin(Flow *f)
{
  PetscScalar ***U;

  PetscFunctionBeginUser;
  PetscCall(DMDAVecGetArrayDOF(f->da, f->U, &U));
  for (PetscInt j = f->y; j < f->y + f->my; j++) {
    for (PetscInt i = f->x; i < f->x + f->mx; i++) {
      const PetscReal x = (i + 0.5) * f->h[0] - 0.5 * BOX, y = (j + 0.5) * f->h[1] - 0.5 * BOX, strength = 3.0,
                      e = strength / (2.0 * PETSC_PI) * PetscExpReal(0.5 * (1.0 - x * x - y * y)),
                      T = 1.0 - (GAMMA - 1.0) / (2.0 * GAMMA) * e * e, rho = PetscPowReal(T, 1.0 / (GAMMA - 1.0)),
                      u = 1.0 - e * y, v = 0.5 + e * x;

      U[j][i][0] = rho;
      U[j][i][1] = rho * u;
      U[j][i][2] = rho * v;
      U[j][i][3] = rho * T / (GAMMA - 1.0) + 0.5 * rho * (u * u + v * v);
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(f->da, f->U, &U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest |u| + c and |v| + c, the least density, and the sums of all unknowns over the box */
static PetscErrorCode Look(Flow *f, PetscReal *speed, PetscReal *density, PetscReal sums[4])
{
  const PetscScalar ***U;
  PetscReal            most[2] = {0.0, -PETSC_MAX_REAL}; /* the density with a minus */

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) sums[k] = 0.0;
  PetscCall(DMDAVecGetArrayDOFRead(f->da, f->U, (void *)&U));
  for (PetscInt j = f->y; j < f->y + f->my; j++) {
    for (PetscInt i = f->x; i < f->x + f->mx; i++) {
      const PetscReal rho = PetscRealPart(U[j][i][0]), u = PetscRealPart(U[j][i][1]) / rho,
                      v = PetscRealPart(U[j][i][2]) / rho,
                      p = (GAMMA - 1.0) * (PetscRealPart(U[j][i][3]) - 0.5 * rho * (u * u + v * v));

      most[0] = PetscMax(most[0], PetscMax(PetscAbsReal(u), PetscAbsReal(v)) + PetscSqrtReal(GAMMA * p / rho));
      most[1] = PetscMax(most[1], -rho);
      for (int k = 0; k < 4; k++) sums[k] += PetscRealPart(U[j][i][k]) * f->h[0] * f->h[1];
    }
  }
  PetscCall(DMDAVecRestoreArrayDOFRead(f->da, f->U, (void *)&U));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 4, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  *speed   = most[0];
  *density = -most[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One step by Newton's method. quadratic: ||R_2|| ||R_0|| / ||R_1||^2, which is 1 where ||R|| falls by the same factor
*/
static PetscErrorCode Step(Flow *f, PetscReal *quadratic)
{
  PetscReal norm[20] = {0.0};
  PetscInt  k, its;

  PetscFunctionBeginUser;
  PetscCall(VecCopy(f->U, f->old));
  for (k = 0; k < 20; k++) {
    KSPConvergedReason reason;

    PetscCall(Residual(f, PETSC_TRUE));
    PetscCall(VecNorm(f->R, NORM_2, &norm[k]));
    if (norm[k] <= 1e-9 * norm[0]) break;
    PetscCall(KSPSetOperators(f->ksp, f->J, f->J));
    PetscCall(KSPSolve(f->ksp, f->R, f->dU));
    PetscCall(KSPGetConvergedReason(f->ksp, &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "A linear solve ended with %s",
               KSPConvergedReasons[reason]);
    PetscCall(KSPGetIterationNumber(f->ksp, &its));
    PetscCall(VecAXPY(f->U, -1.0, f->dU));
    f->its += its;
    f->newton++;
  }
  PetscCheck(k < 20, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "Newton's method: ||R|| is %g of the first",
             (double)(norm[19] / norm[0]));
  *quadratic = k > 2 ? norm[2] * norm[0] / PetscSqr(norm[1]) : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Flow *f)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 32, 32,
                         PETSC_DECIDE, PETSC_DECIDE, 4, 1, NULL, NULL, &f->da));
  PetscCall(DMSetMatType(f->da, MATBAIJ));
  PetscCall(DMSetFromOptions(f->da));
  PetscCall(DMSetUp(f->da));
  PetscCall(DMDAGetInfo(f->da, NULL, &f->n[0], &f->n[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(f->da, &f->x, &f->y, NULL, &f->mx, &f->my, NULL));
  for (int d = 0; d < 2; d++) f->h[d] = BOX / f->n[d];
  PetscCall(DMCreateMatrix(f->da, &f->J));
  PetscCall(DMCreateGlobalVector(f->da, &f->U));
  PetscCall(VecDuplicate(f->U, &f->old));
  PetscCall(VecDuplicate(f->U, &f->R));
  PetscCall(VecDuplicate(f->U, &f->dU));
  PetscCall(DMCreateLocalVector(f->da, &f->local));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &f->ksp));
  PetscCall(KSPSetType(f->ksp, KSPBCGSFUSED));
  PetscCall(KSPSetTolerances(f->ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPGetPC(f->ksp, &pc));
  PetscCall(PCSetType(pc, PCBLOCKILU));
  PetscCall(KSPSetFromOptions(f->ksp));
  f->newton = f->its = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Flow *f)
{
  PetscFunctionBeginUser;
  PetscCall(KSPDestroy(&f->ksp));
  PetscCall(MatDestroy(&f->J));
  PetscCall(VecDestroy(&f->U));
  PetscCall(VecDestroy(&f->old));
  PetscCall(VecDestroy(&f->R));
  PetscCall(VecDestroy(&f->dU));
  PetscCall(VecDestroy(&f->local));
  PetscCall(DMDestroy(&f->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  steps = 5;
  PetscReal cfl = 10.0, speed, density, least, first[4], sums[4], change = 0.0, quadratic = 0.0, most = 0.0;
  PetscBool check = PETSC_FALSE;
  Flow      f;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-cfl", &cfl, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  PetscCall(Create(&f));
  PetscCall(Begin(&f));
  PetscCall(VecViewFromOptions(f.U, NULL, "-begin_view"));
  PetscCall(Look(&f, &speed, &density, first));
  least = density;
  for (PetscInt s = 0; s < steps; s++) {
    f.a  = speed;
    f.dt = cfl * PetscMin(f.h[0], f.h[1]) / speed;
    PetscCall(Step(&f, &quadratic));
    PetscCall(Look(&f, &speed, &density, sums));
    least = PetscMin(least, density);
    most  = PetscMax(most, quadratic);
  }
  PetscCall(VecViewFromOptions(f.U, NULL, "-end_view"));
  for (int k = 0; k < 4; k++) change = PetscMax(change, PetscAbsReal(sums[k] / first[k] - 1.0));
  if (!check)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " steps of %g: %" PetscInt_FMT " Newton steps, %" PetscInt_FMT
                          " iterations of the linear solver\n",
                          steps, (double)f.dt, f.newton, f.its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "mass, momentum and energy %s\n", change < 1e-9 ? "stay" : "change"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "Newton's method converges %s\n",
                        most < 0.3 ? "quadratically" : "more slowly than it should"));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the density is %s\n", least > 0.1 ? "positive" : "not positive"));
  PetscCall(Destroy(&f));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      args: -check
      output_file: output/euler_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: type
         nsize: {{1 2}}
         args: -dm_mat_type baijcuda -spike_host_baijcuda
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -dm_mat_type baijcuda -dm_vec_type cuda -use_gpu_aware_mpi 0

TEST*/
