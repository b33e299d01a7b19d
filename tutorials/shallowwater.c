/* SPDX-License-Identifier: BSD-2-Clause */
/*
  shallowwater.c: long waves in a basin, by tridiagonal systems along its lines: two PCSPIKEs, one for each direction
*/
static char help[] = "Elevation of the water, eta_tt = g div(d grad eta), in a closed square basin of edge 1: "
                     "implicit, lines along x, then\n"
                     "along y. A standing wave over a flat bottom, beside the exact one, with half the spacing and "
                     "half the time step too;\n"
                     "then a hump before a beach, whose volume must stay.\n"
                     "  -n <n>: cells each way; -steps <n>: time steps until t = 0.5, a third of a period\n"
                     "  -time: milliseconds of a step instead, over a beach\n"
                     "  -begin_view ascii:<file>, -end_view ascii:<file>: the hump before the first step and after the "
                     "last; point\n"
                     "(i, j) is number i n + j, i along x\n"
                     "  -mat_type aijcusparse: on a GPU; options of the two solvers begin with -x_ and -y_\n\n";

/*
  With L = L_x + L_y, central differences of second order, no flow through the walls, and a = g dt^2:

    (I - a/4 L_x) (I - a/4 L_y) delta = a L eta^k,     eta^(k+1) = 2 eta^k - eta^(k-1) + delta

  Newmark's scheme with beta = 1/4, which keeps the energy of a wave, but for a^2/16 L_x L_y delta, of the order of
  dt^2 beside delta. Columns of L have the sum 0: the volume stays. Implicit lines for water are those of Kass and
  Miller (Rapid, stable fluid dynamics for computer graphics, SIGGRAPH 1990).
*/
#include <petscspike.h>
#include <petsctime.h>

typedef struct {
  PetscInt   n;
  PetscReal  a;     /* g dt^2 */
  PetscBool  beach; /* else the depth is 1 */
  Mat        X, Y;  /* I - a/4 L_x with point (i, j) in row j n + i, I - a/4 L_y with it in row i n + j */
  KSP        kspx, kspy;
  Vec        ex, bx, sx;             /* numbered as X */
  Vec        eta, old, by, delta, r; /* as Y */
  VecScatter turn;                   /* from X's numbers to Y's */
} Water;

/* From 1 to 0.1 along x */
static PetscReal Depth(const Water *w, PetscReal x)
{
  return w->beach ? 1.0 - 0.9 * x : 1.0;
}

/* Lines along x, whose faces have depths of their own, or along y; a rank has whole lines */
static PetscErrorCode LinesCreate(const Water *w, PetscBool alongx, const char prefix[], Mat *A, KSP *ksp)
{
  const PetscReal r = 0.25 * w->a * w->n * w->n;
  PetscInt        n = w->n, all = n, mine = PETSC_DECIDE, rstart, rend;
  PC              pc;

  PetscFunctionBeginUser;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &mine, &all));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, mine * n, mine * n, n * n, n * n));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 3, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 3, NULL, 0, NULL));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt row = rstart; row < rend; row++) {
    const PetscInt  line = row / n, k = row % n;
    const PetscReal before = k == 0 ? 0.0 : r * Depth(w, (alongx ? k : line + 0.5) / n),
                    after  = k == n - 1 ? 0.0 : r * Depth(w, (alongx ? k + 1.0 : line + 0.5) / n);

    PetscCall(MatSetValue(*A, row, row, 1.0 + before + after, INSERT_VALUES));
    if (k > 0) PetscCall(MatSetValue(*A, row, row - 1, -before, INSERT_VALUES));
    if (k < n - 1) PetscCall(MatSetValue(*A, row, row + 1, -after, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));

  /* PCSPIKE finds the lines, factors all at once in the first solve, and substitutes in each step */
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetMaxRefinements(pc, 0)); /* dominant: as good as exact without a check in each step */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WaterCreate(PetscInt n, PetscReal dt, PetscBool beach, Water *w)
{
  PetscInt rstart, rend, *across;
  IS       is;

  PetscFunctionBeginUser;
  w->n     = n;
  w->a     = dt * dt;
  w->beach = beach;
  PetscCall(LinesCreate(w, PETSC_TRUE, "x_", &w->X, &w->kspx));
  PetscCall(LinesCreate(w, PETSC_FALSE, "y_", &w->Y, &w->kspy));
  PetscCall(MatCreateVecs(w->X, &w->ex, &w->bx));
  PetscCall(VecDuplicate(w->ex, &w->sx));
  PetscCall(MatCreateVecs(w->Y, &w->eta, &w->old));
  PetscCall(VecDuplicate(w->eta, &w->by));
  PetscCall(VecDuplicate(w->eta, &w->delta));
  PetscCall(VecDuplicate(w->eta, &w->r));
  PetscCall(VecGetOwnershipRange(w->eta, &rstart, &rend));
  PetscCall(PetscMalloc1(rend - rstart, &across));
  for (PetscInt k = rstart; k < rend; k++) across[k - rstart] = k % n * n + k / n;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, rend - rstart, across, PETSC_OWN_POINTER, &is));
  PetscCall(VecScatterCreate(w->ex, is, w->eta, NULL, &w->turn));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WaterDestroy(Water *w)
{
  PetscFunctionBeginUser;
  PetscCall(VecScatterDestroy(&w->turn));
  PetscCall(VecDestroy(&w->ex));
  PetscCall(VecDestroy(&w->bx));
  PetscCall(VecDestroy(&w->sx));
  PetscCall(VecDestroy(&w->eta));
  PetscCall(VecDestroy(&w->old));
  PetscCall(VecDestroy(&w->by));
  PetscCall(VecDestroy(&w->delta));
  PetscCall(VecDestroy(&w->r));
  PetscCall(KSPDestroy(&w->kspx));
  PetscCall(KSPDestroy(&w->kspy));
  PetscCall(MatDestroy(&w->X));
  PetscCall(MatDestroy(&w->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* eta and old at rest: the wave cos(pi x) cos(pi y) times a factor, or a hump of water in the deep */
static PetscErrorCode Begin(const Water *w, PetscReal factor, Vec eta)
{
  PetscInt rstart, rend;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(eta, &rstart, &rend));
  for (PetscInt k = rstart; k < rend; k++) {
    const PetscReal x = (k / w->n + 0.5) / w->n, y = (k % w->n + 0.5) / w->n,
                    far = 50.0 * (PetscSqr(x - 0.3) + PetscSqr(y - 0.5));

    PetscCall(
      VecSetValue(eta, k,
                  factor * (w->beach ? PetscExpReal(-far) : PetscCosReal(PETSC_PI * x) * PetscCosReal(PETSC_PI * y)),
                  INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(eta));
  PetscCall(VecAssemblyEnd(eta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* delta as above; a L eta = 4 (eta - X eta) + 4 (eta - Y eta) */
static PetscErrorCode GetDelta(Water *w)
{
  PetscFunctionBeginUser;
  PetscCall(MatMult(w->Y, w->eta, w->by));
  PetscCall(VecAXPBY(w->by, 4.0, -4.0, w->eta));
  PetscCall(VecScatterBegin(w->turn, w->eta, w->ex, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(w->turn, w->eta, w->ex, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterBegin(w->turn, w->by, w->sx, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(VecScatterEnd(w->turn, w->by, w->sx, INSERT_VALUES, SCATTER_REVERSE));
  PetscCall(MatMult(w->X, w->ex, w->bx));
  PetscCall(VecAXPBYPCZ(w->bx, 4.0, 1.0, -4.0, w->ex, w->sx));
  PetscCall(KSPSolve(w->kspx, w->bx, w->sx));
  PetscCall(VecScatterBegin(w->turn, w->sx, w->r, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(w->turn, w->sx, w->r, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(KSPSolve(w->kspy, w->r, w->delta));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One step; in the first eta^(-1) = eta^1, for the water is at rest: eta^1 = eta^0 + delta / 2 */
static PetscErrorCode Step(Water *w, PetscBool first)
{
  PetscFunctionBeginUser;
  PetscCall(GetDelta(w));
  if (first) {
    PetscCall(VecCopy(w->eta, w->old));
    PetscCall(VecAXPY(w->eta, 0.5, w->delta));
  } else {
    PetscCall(VecAXPBYPCZ(w->old, 2.0, 1.0, -1.0, w->eta, w->delta));
    {
      const Vec swap = w->eta;

      w->eta = w->old;
      w->old = swap;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest error of the standing wave at t = 0.5: its frequency is pi sqrt(2 g d) */
static PetscErrorCode Wave(PetscInt n, PetscInt steps, PetscReal *error)
{
  Water w;

  PetscFunctionBeginUser;
  PetscCall(WaterCreate(n, 0.5 / steps, PETSC_FALSE, &w));
  PetscCall(Begin(&w, 1.0, w.eta));
  for (PetscInt k = 0; k < steps; k++) PetscCall(Step(&w, (PetscBool)!k));
  PetscCall(Begin(&w, PetscCosReal(0.5 * PETSC_PI * PetscSqrtReal(2.0)), w.r));
  PetscCall(VecAXPY(w.r, -1.0, w.eta));
  PetscCall(VecNorm(w.r, NORM_INFINITY, error));
  PetscCall(WaterDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the volume of a hump changes by on its way to the beach, relative to the hump; or the time of a step */
static PetscErrorCode MakeBeach(PetscInt n, PetscInt steps, PetscBool timed, PetscReal *change)
{
  Water          w;
  PetscScalar    before, after;
  PetscReal      norm;
  PetscLogDouble t0, t1;
  PC             pcx, pcy;
  PCType         x, y;

  PetscFunctionBeginUser;
  PetscCall(WaterCreate(n, 0.5 / steps, PETSC_TRUE, &w));
  PetscCall(Begin(&w, 1.0, w.eta));
  PetscCall(VecViewFromOptions(w.eta, NULL, "-begin_view"));
  PetscCall(VecSum(w.eta, &before));
  PetscCall(Step(&w, PETSC_TRUE)); /* factors the lines */
  PetscCall(VecNorm(w.eta, NORM_2, &norm));
  PetscCall(PetscTime(&t0));
  for (PetscInt k = 1; k < steps; k++) PetscCall(Step(&w, PETSC_FALSE));
  PetscCall(VecNorm(w.eta, NORM_2, &norm)); /* has been waited for */
  PetscCall(PetscTime(&t1));
  PetscCall(VecSum(w.eta, &after));
  PetscCall(VecViewFromOptions(w.eta, NULL, "-end_view"));
  *change = PetscAbsScalar(after - before) / PetscAbsScalar(before);
  PetscCheck(PetscIsNormalReal(norm), PETSC_COMM_WORLD, PETSC_ERR_FP, "The norm of the elevation is %g", (double)norm);
  if (timed) {
    PetscCall(KSPGetPC(w.kspx, &pcx));
    PetscCall(KSPGetPC(w.kspy, &pcy));
    PetscCall(PCGetType(pcx, &x));
    PetscCall(PCGetType(pcy, &y));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " x %" PetscInt_FMT
                          " cells, lines by %s and %s: %.4f ms a step, volume changed "
                          "by %.1e\n",
                          n, n, x, y, 1e3 * (double)(t1 - t0) / PetscMax(steps - 1, 1), (double)*change));
  }
  PetscCall(WaterDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n = 40, steps = 20;
  PetscReal error[2], ratio, change;
  PetscBool timed = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timed, NULL));
  PetscCheck(n > 0 && steps > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n and -steps from 1");
  if (timed) {
    PetscCall(MakeBeach(n, steps, PETSC_TRUE, &change));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt k = 0; k < 2; k++) PetscCall(Wave(n << k, steps << k, &error[k]));
  ratio = error[0] / error[1];
  if (error[1] < 2e-3) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the standing wave < 0.002\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the standing wave %.2g\n", (double)error[1]));
  if (ratio > 3.8 && ratio < 4.2)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "half the spacing and half the time step: a quarter of the error\n"));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "half the spacing and half the time step: errors %.3g and %.3g, ratio %.3g\n",
                          (double)error[0], (double)error[1], (double)ratio));
  PetscCall(MakeBeach(n, steps, PETSC_FALSE, &change));
  if (change < 1e-12) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the volume of the hump stays\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the volume of the hump changes by %.2g\n", (double)change));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/shallowwater_1.out
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
      output_file: output/shallowwater_1.out

TEST*/
