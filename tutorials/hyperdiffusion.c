/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hyperdiffusion.c: a scheme of fourth derivatives in a periodic box: periodic pentadiagonal lines, in both directions
*/
static char help[] =
  "u_t = - nu (u_xxxx + u_yyyy) in a periodic square: what large eddy simulations and models of films damp short "
  "waves\n"
  "with. Implicit lines along x, then along y: beside the factor by which the scheme damps each wave.\n"
  "  -n <n>: points each way; -steps <n>: time steps; -r <r>: nu dt / (2 h^4), 1/16 is where explicit steps blow up\n"
  "  -time: milliseconds of a step too\n"
  "  -begin_view ascii:<file>, -end_view ascii:<file>: u before the first step and after the last, line by line\n"
  "  -mat_type aijcusparse: on a GPU; options of the solver begin with -line_\n\n";

/*
  With D the fourth difference [1 -4 6 -4 1] along a periodic line (trapezoidal rule, split by directions):

    (I + r D_x) (I + r D_y) u' = (I - r D_x) (I - r D_y) u

  A wave exp(i (k x + l y)) is an eigenvector of both: a step multiplies it by

    g(k) g(l),   g(k) = (1 - r d(k)) / (1 + r d(k)),   d(k) = (2 - 2 cos(k h))^2

  A line is a ring: its matrix has corners. PCSPIKE orders the rows of each ring so that it becomes a band without
  corners, of half-bandwidth 4 or 5, and solves all of them at once: on a CPU as a batch, and the view says so, on a GPU
  where half-bandwidths are at most 4. Others are one band there, cut between the rings, unless
  -line_pc_spike_batch_type always asks for a batch.
*/
#include <petscspike.h>
#include <petsctime.h>

typedef struct {
  PetscInt   n, first, mine; /* lines first to first + mine - 1 are this rank's */
  PetscReal  r;
  Mat        A; /* I + r D, of n lines of n points, one after the other: both directions have the same */
  KSP        ksp;
  Vec        u, b, v; /* v: numbered by columns */
  VecScatter turn;    /* from rows of points to columns of them */
} Box;

/* Waves that the test follows: of a long and of a short one along x and y */
static const PetscInt waves[3][2] = {{1, 2}, {3, 0}, {7, 5}};

static PetscReal Damping(const Box *box, PetscInt k)
{
  const PetscReal d = PetscSqr(2.0 - 2.0 * PetscCosReal(2.0 * PETSC_PI * k / box->n));

  return (1.0 - box->r * d) / (1.0 + box->r * d);
}

/* Point (i, j) after that many steps */
static PetscReal Exact(const Box *box, PetscInt steps, PetscInt i, PetscInt j)
{
  PetscReal u = 1.0;

  for (int w = 0; w < 3; w++) {
    const PetscInt  k = waves[w][0], l = waves[w][1];
    const PetscReal g = Damping(box, k) * Damping(box, l);

    u += PetscPowRealInt(g, steps) * PetscCosReal(2.0 * PETSC_PI * (k * i + l * j) / box->n + w);
  }
  return u;
}

static PetscErrorCode Create(PetscInt n, PetscReal r, Box *box)
{
  const PetscReal stencil[] = {1, -4, 6, -4, 1};
  PetscInt        all       = n, rstart, rend, *across;
  IS              is;
  PC              pc;

  PetscFunctionBeginUser;
  box->n    = n;
  box->r    = r;
  box->mine = PETSC_DECIDE;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &box->mine, &all));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &box->A));
  PetscCall(MatSetSizes(box->A, box->mine * n, box->mine * n, n * n, n * n));
  PetscCall(MatSetFromOptions(box->A));
  PetscCall(MatSeqAIJSetPreallocation(box->A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(box->A, 5, NULL, 0, NULL));
  PetscCall(MatGetOwnershipRange(box->A, &rstart, &rend));
  box->first = rstart / n;
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt line = row - row % n;

    for (PetscInt k = 0; k < 5; k++)
      PetscCall(MatSetValue(box->A, row, line + (row % n + k - 2 + n) % n, (k == 2 ? 1.0 : 0.0) + r * stencil[k],
                            INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(box->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(box->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(box->A, &box->u, &box->b));
  PetscCall(VecDuplicate(box->u, &box->v));

  /* Factored in the first solve, for both directions; a step substitutes */
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &box->ksp));
  PetscCall(KSPSetOptionsPrefix(box->ksp, "line_"));
  PetscCall(KSPSetOperators(box->ksp, box->A, box->A));
  PetscCall(KSPSetType(box->ksp, KSPPREONLY));
  PetscCall(KSPGetPC(box->ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetMaxRefinements(pc, 0)); /* positive definite: as good as exact without a check in each step */
  PetscCall(KSPSetFromOptions(box->ksp));

  /* All that crosses between ranks: lines along x become lines along y. The same scatter leads back */
  PetscCall(PetscMalloc1(rend - rstart, &across));
  for (PetscInt row = rstart; row < rend; row++) across[row - rstart] = row % n * n + row / n;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, rend - rstart, across, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(box->u, is, box->v, NULL, &box->turn));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Box *box)
{
  PetscFunctionBeginUser;
  PetscCall(VecScatterDestroy(&box->turn));
  PetscCall(KSPDestroy(&box->ksp));
  PetscCall(MatDestroy(&box->A));
  PetscCall(VecDestroy(&box->u));
  PetscCall(VecDestroy(&box->b));
  PetscCall(VecDestroy(&box->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u <- (I + r D)^-1 (I - r D) u, and I - r D = 2 I - A; the factors of both directions commute */
static PetscErrorCode HalfStep(Box *box)
{
  Vec u = box->u;

  PetscFunctionBeginUser;
  PetscCall(MatMult(box->A, box->u, box->b));
  PetscCall(VecAXPBY(box->b, 2.0, -1.0, box->u));
  PetscCall(KSPSolve(box->ksp, box->b, box->u));
  PetscCall(VecScatterBegin(box->turn, box->u, box->v, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(box->turn, box->u, box->v, INSERT_VALUES, SCATTER_FORWARD));
  box->u = box->v;
  box->v = u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u <- the exact solution of the scheme, or u minus that */
static PetscErrorCode SetExact(Box *box, PetscInt steps, PetscBool subtract)
{
  PetscScalar *u;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(box->u, &u));
  for (PetscInt j = 0; j < box->mine; j++)
    for (PetscInt i = 0; i < box->n; i++)
      u[j * box->n + i] = (subtract ? u[j * box->n + i] : 0.0) +
                          (subtract ? -1.0 : 1.0) * Exact(box, steps, i, box->first + j);
  PetscCall(VecRestoreArray(box->u, &u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt       n = 40, steps = 20;
  PetscReal      r = 2.0, error, norm;
  PetscScalar    sum;
  PetscBool      timed = PETSC_FALSE;
  PetscLogDouble begin = 0.0, end;
  Box            box;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-r", &r, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timed, NULL));
  PetscCheck(n > 4 && steps > 0 && r > 0.0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "Points from 5, steps from 1, r above 0");
  PetscCall(Create(n, r, &box));
  PetscCall(SetExact(&box, 0, PETSC_FALSE));
  PetscCall(VecViewFromOptions(box.u, NULL, "-begin_view"));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(HalfStep(&box));
    PetscCall(HalfStep(&box));
    if (s == 0) { /* which has factored, too */
      PetscCall(VecNorm(box.u, NORM_2, &norm));
      PetscCall(PetscTime(&begin));
    }
  }
  PetscCall(VecSum(box.u, &sum));
  PetscCall(PetscTime(&end));
  PetscCall(VecViewFromOptions(box.u, NULL, "-end_view"));
  PetscCall(SetExact(&box, steps, PETSC_TRUE));
  PetscCall(VecNorm(box.u, NORM_INFINITY, &error));
  if (error < 1e-11) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "each wave is damped as the scheme says\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "waves are wrong by %.2g\n", (double)error));
  error = PetscAbsReal(PetscRealPart(sum) / ((PetscReal)n * n) - 1.0);
  if (error < 1e-12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the mean stays\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the mean changes by %.2g\n", (double)error));
  if (timed && steps > 1)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "a step takes %.3f ms\n", 1e3 * (double)(end - begin) / (double)(steps - 1)));
  PetscCall(Destroy(&box));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/hyperdiffusion_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: sizes
         args: -n {{5 6 64}} -r {{0.05 30}}
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -mat_type aijcusparse -use_gpu_aware_mpi 0

TEST*/
