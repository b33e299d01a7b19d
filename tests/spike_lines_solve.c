/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_lines_solve.c: iterations with lines that PCSPIKE finds itself, alone and as smoother of multigrid */
static char help[] = "Anisotropic 5-point problems whose rows are in random order on each rank: iterations beside\n\
those of lines along the grid, of Jacobi, and on several meshes.\n\
  -counts  print them\n\n";

#include "spiketest.h"

typedef struct {
  PetscInt  nx, ny;    /* ny lines, cut into strips of ranks */
  PetscReal ratio;     /* of couplings along x, those along y are 1; negative: along x or y, each in a half */
  PetscReal wind;      /* what upwind convection along x adds */
  PetscInt  dof;       /* unknowns of a point, coupled to each other */
  PetscBool scrambled; /* rows of a rank in random order */
} Problem;

static PetscReal Coupling(const Problem *p, PetscInt x, PetscInt dx)
{
  if (p->ratio < 0) return (2 * x + dx < p->nx) == (dx != 0) ? -p->ratio : 1;
  return dx ? p->ratio + (dx < 0 ? p->wind : 0) : 1;
}

static PetscErrorCode ProblemMat(const Problem *p, Mat *A)
{
  const PetscInt d[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}}, points = p->nx * p->ny;
  PetscMPIInt    size, rank;
  PetscInt       begin, end, *place, dof = p->dof;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc1(points, &place));
  for (PetscInt i = 0; i < points; i++) place[i] = i;
  for (PetscMPIInt r = 0; r < size && p->scrambled; r++) {
    const PetscInt first = p->ny * r / size * p->nx, n = p->ny * (r + 1) / size * p->nx - first;

    for (PetscInt i = n - 1; i > 0; i--) {
      const PetscInt j    = PetscMin(i, (PetscInt)((0.5 * SpikeTestUniform(3, i, r) + 0.5) * (i + 1))),
                     swap = place[first + i];

      place[first + i] = place[first + j];
      place[first + j] = swap;
    }
  }
  begin = p->ny * rank / size * p->nx;
  end   = p->ny * (rank + 1) / size * p->nx;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, (end - begin) * dof, (end - begin) * dof, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, dof));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5 * dof, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 5 * dof, NULL, 2 * dof, NULL));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt x = i % p->nx, y = i / p->nx;
    PetscReal      sum = 0.0;

    for (PetscInt k = 0; k < 4; k++) {
      const PetscInt  u = x + d[k][0], v = y + d[k][1];
      const PetscReal a = Coupling(p, x, d[k][0]);

      sum += a;
      for (PetscInt c = 0; c < dof; c++)
        if (u >= 0 && u < p->nx && v >= 0 && v < p->ny)
          PetscCall(MatSetValue(*A, place[i] * dof + c, place[u + p->nx * v] * dof + c, -a, INSERT_VALUES));
    }
    for (PetscInt c = 0; c < dof; c++)
      for (PetscInt e = 0; e < dof; e++) {
        const PetscReal a = c == e ? (1 + 0.4 * (dof - 1)) * sum : -0.4 * sum;

        PetscCall(MatSetValue(*A, place[i] * dof + c, place[i] * dof + e, a, INSERT_VALUES));
      }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (!p->wind) PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations with these options, to a true residual that is checked */
static PetscErrorCode Count(const Problem *p, const char options[], PetscInt *its)
{
  static int number = 0;
  Mat        A;
  KSP        ksp;
  Vec        x, b;
  char       prefix[32], text[1024];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "s%d_", number++));
  PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -prefix_pop", prefix, options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(ProblemMat(p, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 21));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 3000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SpikeTestSolve(ksp, b, x, options));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define BYLINES "-pc_type spike -pc_spike_mat_ordering_type lines "

/* most: as many iterations as so many times the others' are allowed, and one more */
static PetscErrorCode CheckCount(const char what[], PetscInt its, PetscReal most, PetscInt others)
{
  PetscBool counts = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-counts", &counts, NULL));
  if (counts) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d, others %d\n", what, (int)its, (int)others));
  PetscCall(SpikeTestCheck((PetscBool)(its <= most * others + 1), "%s: %d iterations, %g times %d allowed", what,
                           (int)its, (double)most, (int)others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside lines of the grid, which its natural order has along x, and beside Jacobi */
static PetscErrorCode TestAlone(void)
{
  const struct {
    const char *name, *solver;
    PetscReal   ratio, wind;
    PetscInt    dof;
    PetscBool   straight; /* all lines are along x */
  } cases[] = {
    {"cg", "-ksp_type cg", 1000, 0, 1, PETSC_TRUE},
    {"cgfused", "-ksp_type cgfused", 1000, 0, 1, PETSC_TRUE},
    {"gmres, wind", "-ksp_type gmres -ksp_pc_side right", 10, 500, 1, PETSC_TRUE},
    {"bcgsfused, wind", "-ksp_type bcgsfused", 10, 500, 1, PETSC_TRUE},
    {"bcgsfused, equal", "-ksp_type bcgsfused", 1000, 0, 1, PETSC_TRUE},
    {"cg, x and y", "-ksp_type cg", -1000, 0, 1, PETSC_FALSE},
    {"cg, blocks of 2", "-ksp_type cg", 1000, 0, 2, PETSC_TRUE},
    {"gmres, blocks", "-ksp_type gmres -ksp_gmres_restart 200 ", 1000, 0, 3, PETSC_TRUE},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    Problem  p = {40, 40, cases[k].ratio, cases[k].wind, cases[k].dof, PETSC_TRUE};
    PetscInt lines, grid, jacobi;
    char     options[256], what[64];

    PetscCall(PetscSNPrintf(options, sizeof(options), "%s %s", cases[k].solver, BYLINES));
    PetscCall(Count(&p, options, &lines));
    PetscCall(PetscSNPrintf(options, sizeof(options), "%s -pc_type pbjacobi", cases[k].solver));
    PetscCall(Count(&p, options, &jacobi));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, Jacobi", cases[k].name));
    PetscCall(CheckCount(what, lines, 1 / (PetscReal)3, jacobi));
    if (!cases[k].straight) continue;
    p.scrambled = PETSC_FALSE;
    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "%s -pc_type spike -pc_spike_mat_ordering_type natural -pc_spike_bandwidth %d "
                            "-pc_spike_type block",
                            cases[k].solver, (int)(2 * p.dof - 1)));
    PetscCall(Count(&p, options, &grid));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, lines of the grid", cases[k].name));
    PetscCall(CheckCount(what, lines, 1.2, grid));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matching that leaves all rows where they are leaves the paths, which are then those of the scaled matrix */
static PetscErrorCode TestMatching(void)
{
  const Problem p = {40, 40, 1000, 0, 1, PETSC_TRUE};
  PetscInt      lines, matched;

  PetscFunctionBegin;
  PetscCall(Count(&p, "-ksp_type gmres -ksp_pc_side right " BYLINES, &lines));
  PetscCall(Count(&p, "-ksp_type gmres -ksp_pc_side right -pc_spike_matching_type always " BYLINES, &matched));
  PetscCall(CheckCount("matching", matched, 1, lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Smoother of PCGAMG: the count hardly grows from mesh to mesh. Coarse matrices have entries of the sign of the
  diagonal, without which a long path would be indefinite
*/
static PetscErrorCode TestSmoother(void)
{
  const PetscReal   ratios[]  = {1000, -1000};
  const char *const solvers[] = {"-mg_levels_ksp_type chebyshev", "-mg_levels_ksp_type richardson "
                                                                  "-mg_levels_ksp_richardson_scale 0.7"};

  PetscFunctionBegin;
  for (int r = 0; r < 2; r++)
    for (int k = 0; k < 2; k++) {
      PetscInt its[3];
      char     options[512];

      PetscCall(PetscSNPrintf(options, sizeof(options),
                              "-ksp_type cg -pc_type gamg -pc_gamg_threshold 0.05 -mg_levels_pc_type spike "
                              "-mg_levels_pc_spike_mat_ordering_type lines %s",
                              solvers[k]));
      for (int level = 0; level < 3; level++) {
        const Problem p = {24 << level, 24 << level, ratios[r], 0, 1, PETSC_TRUE};

        PetscCall(Count(&p, options, &its[level]));
      }
      PetscCall(CheckCount(options, its[2], 1.4, its[0]));
      PetscCall(SpikeTestCheck((PetscBool)(its[2] <= 20), "%s: %d iterations", options, (int)its[2]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A > 0 with positive entries two rows away, in hidden order: what a path of all rows has is indefinite, as Cholesky
  says. Its pieces are not
*/
static PetscErrorCode TestCut(void)
{
  const PetscInt  n     = 200;
  const PetscReal delta = 0.02, entry[3] = {2 - 2 * delta, -1, delta};

  PetscFunctionBegin;
  for (int hidden = 0; hidden < 2; hidden++) {
    Mat            A;
    PC             pc;
    KSP            ksp;
    Vec            x, b;
    PCFailedReason reason;
    PCSpikeInfo    info;
    PetscInt       start;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(A, 5, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 5, NULL, 0, NULL));
    PetscCall(MatGetOwnershipRange(A, &start, NULL));
    for (PetscInt i = 0; i < n; i++) /* 77 is prime to n */
      for (PetscInt j = PetscMax(0, i - 2); j <= PetscMin(n - 1, i + 2); j++)
        PetscCall(MatSetValue(A, start + (hidden ? 77 * i % n : i), start + (hidden ? 77 * j % n : j),
                              entry[PetscAbsInt(i - j)], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-9, PETSC_CURRENT, PETSC_CURRENT, 2 * n));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
    PetscCall(PCFactorSetMatOrderingType(pc, hidden ? MATORDERINGLINES : MATORDERINGNATURAL));
    if (!hidden) PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == (hidden ? PC_NOERROR : PC_FACTOR_NUMERIC_ZEROPIVOT)),
                             "cut: failed reason %d", (int)reason));
    if (hidden) {
      PetscMPIInt size;

      PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(SpikeTestSetRandom(b, 4));
      for (int t = 0; t < 2; t++) {
        PetscCall(SpikeTestSolve(ksp, b, x, "cut"));
        PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_LU));
      }
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.systems > 5 * size && info.systems < 40 * size), "cut: %d pieces",
                               (int)info.systems));
      PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
      PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(
        SpikeTestCheck((PetscBool)(info.systems == size), "cut: %d pieces with row exchanges", (int)info.systems));
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&b));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the order of lines an incomplete factorization has the strong couplings beside the diagonal */
static PetscErrorCode TestIncomplete(void)
{
  const char *const icc = "-ksp_type cg -pc_type bjacobi -sub_pc_type icc -sub_pc_factor_mat_solver_type petsc";
  const Problem     p   = {40, 40, 1000, 0, 1, PETSC_TRUE};
  PetscInt          lines, random;
  char              options[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s -sub_pc_factor_mat_ordering_type lines", icc));
  PetscCall(Count(&p, options, &lines));
  PetscCall(Count(&p, icc, &random));
  PetscCall(CheckCount(options, lines, 1 / (PetscReal)3, random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left of random matrices A = B B^H + d > 0, with entries of all signs, is definite too */
static PetscErrorCode TestDefinite(void)
{
  const PetscInt n = 60;
  PetscScalar   *b;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &b));
  for (PetscInt seed = 0; seed < 12; seed++) {
    Mat            A;
    PC             pc;
    PCFailedReason reason;
    PetscInt       start;

    PetscCall(PetscArrayzero(b, n * n));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt k = 0; k < 2; k++) {
        const PetscInt j = PetscMin(n - 1, (PetscInt)((0.5 * SpikeTestUniform(seed, i, k) + 0.5) * n));

        b[i * n + j] = SpikeTestScalar(seed + 50, i, k);
      }
    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(A, n, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, n, NULL, 0, NULL));
    PetscCall(MatGetOwnershipRange(A, &start, NULL));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++) {
        PetscScalar a = i == j ? 0.01 : 0.0;

        for (PetscInt k = 0; k < n; k++) a += b[i * n + k] * PetscConj(b[j * n + k]);
        if (a != (PetscScalar)0.0) PetscCall(MatSetValue(A, start + i, start + j, a, INSERT_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_CHOLESKY));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGLINES));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_NOERROR), "definite matrix %d: failed reason %d", (int)seed,
                             (int)reason));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestAlone());
  PetscCall(TestMatching());
  PetscCall(TestSmoother());
  PetscCall(TestCut());
  PetscCall(TestDefinite());
  PetscCall(TestIncomplete());
  PetscCall(SpikeTestEnd("spike_lines_solve"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_lines_solve_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse -matmatmult_backend_cpu -matptap_backend_cpu

TEST*/
