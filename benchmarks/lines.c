/* SPDX-License-Identifier: BSD-2-Clause */
/* lines.c: the ordering along strong couplings: iterations beside those of other preconditioners, and its setup */
static char
  help[] = "Iterations and setup of -pc_spike_mat_ordering_type lines, 5-point problems in random numbering.\n\
  -n n          points of a side of the grid (200)\n\
  -ratio r      anisotropy (1000)\n\
  -repeats k    of each time, of which the least is taken (5)\n\
  -mat_type t   aijcusparse: on a GPU (aij)\n\
  -times        only times\n\n";

#include "common/finish.h"
#include <petscspike.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateIncrease() */

/* What couples neighbours */
typedef enum {
  EQUAL,   /* 1 */
  ALONG_X, /* `ratio` along x, 1 along y */
  BOTH,    /* `ratio` along x in the left half, along y in the right half */
  LAYER,   /* a mesh that is refined towards y = 0, by a geometric series: equal far from there */
  JUMPS,   /* coefficients of points from 1 to `ratio`, whose logarithm is random; harmonic means */
  WIND,    /* equal, and upwind convection of `ratio` along x: not symmetric */
  NPROBLEMS
} Problem;
static const char *const names[] = {"equal", "along x", "x and y", "layer", "jumps", "wind"};

typedef struct {
  Problem   problem;
  PetscInt  n;
  PetscReal ratio;
} Grid;

static PetscReal MakeRandom(PetscInt i)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)i + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return (PetscReal)((double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0);
}

/* Minus the entry of point (x, y) for its neighbour in direction dx, dy */
static PetscReal Coupling(const Grid *g, PetscInt x, PetscInt y, PetscInt dx, PetscInt dy)
{
  switch (g->problem) {
  case ALONG_X:
    return dx ? g->ratio : 1;
  case BOTH:
    return (2 * x + dx < g->n) == (dx != 0) ? g->ratio : 1;
  case LAYER: { /* widths of cells: h_y from h / sqrt(ratio) to h; (h_x / h_y) along y, (h_y / h_x) along x */
    const PetscReal h = PetscPowReal(g->ratio, -PetscMax(0, 1 - (2 * y + dy + 1.0) / g->n) / 2);

    return dx ? h : 1 / h;
  }
  case JUMPS: {
    const PetscReal a = PetscPowReal(g->ratio, MakeRandom(x + g->n * y)),
                    b = PetscPowReal(g->ratio, MakeRandom(x + dx + g->n * (y + dy)));

    return 2 * a * b / (a + b);
  }
  case WIND:
    return dx < 0 ? 1 + g->ratio : 1;
  default:
    return 1;
  }
}

/* random: points in random order, else row x + n y */
static PetscErrorCode GridMat(const Grid *g, PetscBool random, Mat *A)
{
  const PetscInt n = g->n, N = n * n, d[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
  PetscInt      *row;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(N, &row));
  for (PetscInt i = 0; i < N; i++) row[i] = i;
  for (PetscInt i = N - 1; random && i > 0; i--) {
    const PetscInt j = PetscMin(i, (PetscInt)(MakeRandom(i) * (i + 1))), swap = row[i];

    row[i] = row[j];
    row[j] = swap;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, N, N, N, N));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  for (PetscInt y = 0; y < n; y++)
    for (PetscInt x = 0; x < n; x++) {
      PetscReal sum = 0;

      for (PetscInt k = 0; k < 4; k++) {
        const PetscInt  u = x + d[k][0], v = y + d[k][1];
        const PetscReal a = Coupling(g, x, y, d[k][0], d[k][1]);

        sum += a; /* Dirichlet outside */
        if (u >= 0 && u < n && v >= 0 && v < n)
          PetscCall(MatSetValue(*A, row[x + n * y], row[u + n * v], -a, INSERT_VALUES));
      }
      PetscCall(MatSetValue(*A, row[x + n * y], row[x + n * y], sum, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG, or of GMRES; negative: it failed */
static PetscErrorCode Iterations(Mat A, PetscBool symmetric, const char options[], PetscInt *its)
{
  KSP                ksp;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscRandom        random;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "m_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, symmetric ? KSPCG : KSPGMRES));
  if (!symmetric) PetscCall(KSPGMRESSetRestart(ksp, 200));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 20000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason <= 0) *its = -*its;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscOptionsClearValue(NULL, "-m_pc_spike_mat_ordering_type"));
  PetscCall(PetscOptionsClearValue(NULL, "-m_pc_spike_lines_threshold"));
  PetscCall(PetscOptionsClearValue(NULL, "-m_pc_spike_bandwidth"));
  PetscCall(PetscOptionsClearValue(NULL, "-m_pc_factor_mat_ordering_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds in the event of PCSPIKE that looks for paths */
static PetscErrorCode PathsTime(PetscLogDouble *time)
{
  PetscEventPerfInfo info;
  PetscLogEvent      event;

  PetscFunctionBeginUser;
  PetscCall(PetscLogEventGetId("PCSpikeLines", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *time = info.time;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Least times of the search for paths, of a setup from scratch, in which that is, of a refill, of an application and of
  a product, of which `calls` follow one another
*/
static PetscErrorCode MeasureTimes(Mat A, PetscInt repeats, PetscLogDouble t[5])
{
  const PetscInt calls = 10;
  Vec            x, y;
  PC             pc;
  PetscLogDouble begin, end, before, after;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  for (int k = 0; k < 5; k++) t[k] = 1e30;
  for (PetscInt r = 0; r < repeats; r++)
    for (int k = 1; k < 5; k++) {
      const PetscInt n = k < 3 ? 1 : calls;

      if (k == 1) {
        PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
        PetscCall(PCSetType(pc, PCSPIKE));
        PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGLINES));
        PetscCall(PCSpikeSetEstimate(pc, PETSC_FALSE));
        PetscCall(PCSetOperators(pc, A, A));
      }
      if (k == 2) PetscCall(PetscObjectStateIncrease((PetscObject)A));
      PetscCall(PathsTime(&before));
      PetscCall(Wait(PETSC_COMM_SELF, &begin));
      for (PetscInt c = 0; c < n; c++) PetscCall(k < 3 ? PCSetUp(pc) : k == 3 ? PCApply(pc, x, y) : MatMult(A, x, y));
      PetscCall(Wait(PETSC_COMM_SELF, &end));
      PetscCall(PathsTime(&after));
      t[k] = PetscMin(t[k], (end - begin) / (PetscLogDouble)n);
      if (k == 1) t[0] = PetscMin(t[0], after - before);
      if (k == 4) PetscCall(PCDestroy(&pc));
    }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintRow(const Grid *g, const char *const thresholds[4], PetscBool times, PetscInt repeats)
{
  const PetscBool symmetric = (PetscBool)(g->problem != WIND);
  const char     *others[]  = {"-m_pc_type jacobi", symmetric ? "-m_pc_type icc" : "-m_pc_type ilu",
                          symmetric ? "-m_pc_type icc -m_pc_factor_mat_ordering_type lines"
                                         : "-m_pc_type ilu -m_pc_factor_mat_ordering_type lines",
                               "-m_pc_type spike -m_pc_spike_bandwidth 1"};
  Mat             A, natural = NULL;
  PetscInt        its;
  PetscLogDouble  t[5];
  char            options[128];

  PetscFunctionBeginUser;
  PetscCall(GridMat(g, PETSC_TRUE, &A));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-9s", names[g->problem]));
  if (!times) PetscCall(GridMat(g, PETSC_FALSE, &natural));
  for (int k = 0; k < 4 && !times; k++) {
    PetscCall(Iterations(k < 3 ? A : natural, symmetric, others[k], &its));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, k == 2 ? "  %8" PetscInt_FMT : " %7" PetscInt_FMT, its));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "       "));
  for (int k = 0; k < 4 && !times; k++) {
    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "-m_pc_type spike -m_pc_spike_mat_ordering_type lines -m_pc_spike_lines_threshold %s",
                            thresholds[k]));
    PetscCall(Iterations(A, symmetric, options, &its));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %7" PetscInt_FMT, its));
  }
  PetscCall(MeasureTimes(A, repeats, t));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n", t[0] / t[2], t[1] / t[2],
                        t[3] / t[4], t[0] / t[4], t[1] / t[4], 1e6 * t[4]));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const thresholds[] = {"0", "0.1", "0.25", "0.5"};
  Grid              g            = {EQUAL, 200, 1000.0};
  PetscInt          repeats      = 5;
  PetscBool         times        = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin()); /* the time in events */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &g.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &repeats, NULL));
  PetscCheck(repeats >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-repeats is at least 1");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &g.ratio, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-times", &times, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%" PetscInt_FMT " x %" PetscInt_FMT " points in random order, ratio %g\n"
                        "iterations of CG, with wind of GMRES; ordering and setup: time over that of a refill;\n"
                        "apply, ordering, setup: time over that of a product, whose time in us follows\n\n"
                        "problem    Jacobi  (I)LU0  by lines x lines |  threshold %s     %s    %s     %s | ordering "
                        "setup | apply ordering setup product\n",
                        g.n, g.n, (double)g.ratio, thresholds[0], thresholds[1], thresholds[2], thresholds[3]));
  for (int p = 0; p < NPROBLEMS; p++) {
    g.problem = (Problem)p;
    PetscCall(PrintRow(&g, thresholds, times, repeats));
  }
  PetscCall(PetscFinalize());
  return 0;
}
