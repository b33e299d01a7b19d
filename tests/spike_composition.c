/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE inside PETSc's other preconditioners and solvers, all by options; every solve is checked "
                     "by its true residual.\n\n";

#include <petscdmda.h>
#include "eventcount.h"
#include "spiketest.h"

static PetscReal Rtol(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8;
}

/* Options of one case under a prefix of its own */
static PetscErrorCode InsertOptions(const char name[], const char options[], char prefix[], size_t length)
{
  char text[1024];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, length, "%s_", name));
  PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -prefix_pop", prefix, options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  An option that rank 0 (which has a part of every coarse grid and subcommunicator) did not ask for means that what was
  to be tested was not there
*/
static PetscErrorCode CheckOptionsUsed(const char name[], const char prefix[])
{
  PetscInt    n, unused = 0;
  PetscMPIInt rank;
  char      **names, **values, first[128] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; rank == 0 && i < n; i++) {
    PetscBool ours;

    PetscCall(PetscStrbeginswith(names[i], prefix, &ours));
    if (ours && !unused++) PetscCall(PetscStrncpy(first, names[i], sizeof(first)));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscCall(SpikeTestCheck((PetscBool)(unused == 0), "%s: option -%s was not used", name, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  One solve with A (and preconditioner matrix P), or with what the DM computes, under these options; PCSPIKE must have
  factored
*/
static PetscErrorCode SolveWith(const char name[], const char options[], Mat A, Mat P, DM dm)
{
  KSP      ksp;
  Vec      x, b;
  PetscInt before, after;
  char     prefix[64];

  PetscFunctionBegin;
  PetscCall(InsertOptions(name, options, prefix, sizeof(prefix)));
  PetscCall(SpikeTestEventCount("PCSpikeFactor", &before));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  if (dm) {
    PetscCall(KSPSetDM(ksp, dm));
    PetscCall(SpikeKSPSetDMMakesMatrix(ksp, A ? PETSC_FALSE : PETSC_TRUE));
    PetscCall(DMCreateGlobalVector(dm, &x));
    PetscCall(VecDuplicate(x, &b));
  } else PetscCall(MatCreateVecs(P, &x, &b));
  if (A) PetscCall(KSPSetOperators(ksp, A, P));
  PetscCall(KSPSetTolerances(ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SpikeTestSetRandom(b, 21));
  PetscCall(SpikeTestSolve(ksp, b, x, name));
  PetscCall(SpikeTestEventCount("PCSpikeFactor", &after));
  /* not on every rank: coarse grids and the like live on some */
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &before, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &after, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(SpikeTestCheck((PetscBool)(after > before), "%s: PCSPIKE factored nothing", name));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(CheckOptionsUsed(name, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define ANY 0
#define ONE 1 /* for one rank only */
#define TWO 2 /* from two ranks on */

typedef struct {
  int         ranks;
  const char *name, *options;
} Composition;

static const Composition compositions[] = {
  {ONE, "preonly", "-ksp_type preonly -pc_type spike"},
  {ONE, "rich", "-ksp_type richardson -pc_type spike -pc_spike_precision single"},
  {ANY, "gmres", "-ksp_type gmres -pc_type spike"},
  {ANY, "right", "-ksp_type gmres -ksp_pc_side right -pc_type spike -pc_spike_local_partitions 3"},
  {ANY, "block", "-ksp_type fgmres -pc_type spike -pc_spike_local_partitions 4 -pc_spike_type block"},
  {ANY, "narrow", "-ksp_type bcgs -pc_type spike -pc_spike_bandwidth 2,1 -pc_spike_local_partitions 2"},
  {ANY, "bicg", "-ksp_type bicg -pc_type spike -pc_spike_bandwidth 2"},
  {ANY, "lsqr", "-ksp_type cgne -pc_type spike -ksp_norm_type unpreconditioned -pc_spike_local_partitions 2"},
  {ANY, "full", "-ksp_type preonly -pc_type spike -pc_spike_type full -pc_spike_local_partitions 5"},
  {ANY, "fullrich",
   "-ksp_type richardson -ksp_max_it 4 -pc_type spike -pc_spike_type full -pc_spike_local_partitions 8 "
   "-pc_spike_precision single"},
  {ANY, "fullbicg",
   "-ksp_type bicg -pc_type spike -pc_spike_type full -pc_spike_local_partitions 5 -pc_spike_bandwidth 2"},
  {ANY, "fullbj",
   "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_local_blocks 2 -sub_pc_type spike -sub_pc_spike_type full "
   "-sub_pc_spike_local_partitions 3"},
  {ANY, "fullasm",
   "-ksp_type gmres -pc_type asm -pc_asm_overlap 2 -sub_pc_type spike -sub_pc_spike_type full "
   "-sub_pc_spike_local_partitions 4"},
  {ANY, "fullsplit",
   "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type multiplicative "
   "-fieldsplit_0_pc_type spike -fieldsplit_0_pc_spike_type full -fieldsplit_0_pc_spike_local_partitions 3 "
   "-fieldsplit_0_ksp_type preonly -fieldsplit_1_pc_type spike -fieldsplit_1_pc_spike_type full "
   "-fieldsplit_1_ksp_type preonly"},
  {ANY, "fullred",
   "-ksp_type preonly -pc_type redundant -redundant_pc_type spike -redundant_pc_spike_type full "
   "-redundant_pc_spike_local_partitions 7 -redundant_ksp_type preonly"},
  {TWO, "fulltele",
   "-ksp_type preonly -pc_type telescope -pc_telescope_reduction_factor 2 -telescope_pc_type spike "
   "-telescope_pc_spike_type full -telescope_pc_spike_local_partitions 2 -telescope_ksp_type preonly"},
  {ANY, "bj", "-ksp_type gmres -pc_type bjacobi -sub_pc_type spike"},
  {ANY, "bj3",
   "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_local_blocks 3 -sub_pc_type spike -sub_pc_spike_local_partitions 2"},
  {ANY, "asm", "-ksp_type gmres -pc_type asm -pc_asm_overlap 2 -sub_pc_type spike"},
  {ANY, "asmbasic",
   "-ksp_type gmres -pc_type asm -pc_asm_type basic -pc_asm_local_blocks 2 -sub_pc_type spike "
   "-sub_pc_spike_local_partitions 3"},
  {ANY, "gasm", "-ksp_type gmres -pc_type gasm -sub_pc_type spike"},
  {ANY, "additive",
   "-ksp_type gmres -pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type additive -fieldsplit_pc_type "
   "spike"},
  {ANY, "multiplicat",
   "-ksp_type gmres -pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type multiplicative "
   "-fieldsplit_0_pc_type spike -fieldsplit_1_pc_type spike"},
  {ANY, "schur",
   "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type schur "
   "-pc_fieldsplit_schur_precondition selfp -fieldsplit_0_pc_type spike -fieldsplit_1_pc_type spike "
   "-fieldsplit_1_ksp_type gmres"},
  {ANY, "redundant", "-ksp_type gmres -pc_type redundant -redundant_pc_type spike -redundant_ksp_type preonly"},
  {ANY, "lu", "-ksp_type preonly -pc_type lu -pc_factor_mat_solver_type spike"},
  {ANY, "cholesky", "-ksp_type gmres -pc_type cholesky -pc_factor_mat_solver_type spike"},
  {ANY, "lured",
   "-ksp_type gmres -pc_type redundant -redundant_pc_type lu -redundant_pc_factor_mat_solver_type spike "
   "-redundant_pc_spike_mat_ordering_type natural"},
  {ANY, "lubj",
   "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_local_blocks 2 -sub_pc_type lu -sub_pc_factor_mat_solver_type spike"},
  {ANY, "luasm", "-ksp_type gmres -pc_type asm -sub_pc_type lu -sub_pc_factor_mat_solver_type spike"},
  {ANY, "lusplit",
   "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 2 -pc_fieldsplit_type multiplicative "
   "-fieldsplit_0_pc_type lu -fieldsplit_0_pc_factor_mat_solver_type spike -fieldsplit_0_ksp_type preonly "
   "-fieldsplit_1_pc_type lu -fieldsplit_1_pc_factor_mat_solver_type spike -fieldsplit_1_ksp_type preonly"},
  {TWO, "telescope",
   "-ksp_type gmres -pc_type telescope -pc_telescope_reduction_factor 2 -telescope_pc_type spike "
   "-telescope_pc_spike_local_partitions 2"},
  {ANY, "composite",
   "-ksp_type gmres -pc_type composite -pc_composite_type multiplicative -pc_composite_pcs jacobi,spike "
   "-sub_1_pc_spike_type block -sub_1_pc_spike_local_partitions 2"},
  {ANY, "compositeadd",
   "-ksp_type fgmres -pc_type composite -pc_composite_pcs spike,spike -sub_0_pc_spike_bandwidth 1 -sub_1_pc_spike_type "
   "block"},
  {ANY, "ksp", "-ksp_type fgmres -pc_type ksp -ksp_ksp_type bcgs -ksp_ksp_rtol 1e-2 -ksp_pc_type spike"},
  {ANY, "kspbj",
   "-ksp_type gmres -pc_type bjacobi -sub_ksp_type gmres -sub_ksp_max_it 3 -sub_pc_type spike -ksp_pc_side right "
   "-ksp_type fgmres"},
};

static PetscErrorCode TestCompositions(void)
{
  SpikeTestBand band = {240, 4, 3, 1.05, SPIKE_TEST_RANDOM, 31};
  PetscMPIInt   size;
  Mat           A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatSetBlockSize(A, 2)); /* for PCFIELDSPLIT */
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(compositions); c++) {
    if ((compositions[c].ranks == ONE && size > 1) || (compositions[c].ranks == TWO && size == 1)) continue;
    PetscCall(SolveWith(compositions[c].name, compositions[c].options, A, A, NULL));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -u'' + c u' + u on the points of a DMDA, upwind */
static PetscErrorCode ComputeMatrix(KSP ksp, Mat J, Mat A, void *ctx)
{
  DM            dm;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &dm));
  PetscCall(DMDAGetLocalInfo(dm, &info));
  for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
    const PetscReal h = 1.0 / info.mx, c = 20.0;
    MatStencil      row = {.i = i}, col[3] = {{.i = i - 1}, {.i = i}, {.i = i + 1}};
    PetscScalar     v[3] = {-1.0 / h - c, 2.0 / h + c + h, -1.0 / h};

    PetscCall(MatSetValuesStencil(A, 1, &row,
                                  i == info.mx - 1 ? 2
                                  : i == 0         ? 2
                                                   : 3,
                                  i == 0 ? col + 1 : col, i == 0 ? v + 1 : v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPSetDM() alone, and as smoother and coarse solver of multigrid, geometric and algebraic */
static PetscErrorCode TestGrids(void)
{
  DM  dm;
  Mat A;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 129, 1, 1, NULL, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMKSPSetComputeOperators(dm, ComputeMatrix, NULL));
  PetscCall(SolveWith("dm", "-ksp_type gmres -pc_type spike -pc_spike_local_partitions 2", NULL, NULL, dm));
  PetscCall(SolveWith("mglevels",
                      "-ksp_type fgmres -pc_type mg -pc_mg_levels 3 -mg_levels_ksp_type richardson -mg_levels_pc_type "
                      "spike -mg_levels_pc_spike_type block -mg_levels_pc_spike_local_partitions 4",
                      NULL, NULL, dm));
  PetscCall(SolveWith("mgcheby",
                      "-ksp_type fgmres -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -mg_levels_pc_type spike "
                      "-mg_coarse_pc_type spike -mg_coarse_ksp_type gmres",
                      NULL, NULL, dm));
  PetscCall(
    SolveWith("mgfull",
              "-ksp_type fgmres -pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both -mg_levels_ksp_type richardson "
              "-mg_levels_pc_type spike -mg_levels_pc_spike_type full -mg_levels_pc_spike_local_partitions 3 "
              "-mg_coarse_pc_type spike -mg_coarse_pc_spike_type full -mg_coarse_pc_spike_local_partitions 2 "
              "-mg_coarse_ksp_type preonly",
              NULL, NULL, dm));
  PetscCall(SolveWith("mgcoarse",
                      "-ksp_type fgmres -pc_type mg -pc_mg_levels 2 -mg_coarse_pc_type redundant "
                      "-mg_coarse_redundant_pc_type spike",
                      NULL, NULL, dm));
  PetscCall(SolveWith("mglu",
                      "-ksp_type fgmres -pc_type mg -pc_mg_levels 2 -mg_coarse_pc_type redundant "
                      "-mg_coarse_redundant_pc_type lu -mg_coarse_redundant_pc_factor_mat_solver_type spike",
                      NULL, NULL, dm));
  PetscCall(DMDestroy(&dm));

  /* a square */
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, 400, 400));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  {
    PetscInt start, end;

    PetscCall(MatGetOwnershipRange(A, &start, &end));
    for (PetscInt i = start; i < end; i++) {
      PetscCall(MatSetValue(A, i, i, 4.0, INSERT_VALUES));
      if (i >= 20) PetscCall(MatSetValue(A, i, i - 20, -1.0, INSERT_VALUES));
      if (i < 380) PetscCall(MatSetValue(A, i, i + 20, -1.0, INSERT_VALUES));
      if (i % 20 > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
      if (i % 20 < 19) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SolveWith("gamgcoarse",
                      "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_coarse_pc_type spike", A, A,
                      NULL));
  PetscCall(SolveWith("gamgfull",
                      "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_coarse_pc_type spike "
                      "-mg_coarse_pc_spike_type full -mg_coarse_pc_spike_local_partitions 2 "
                      "-mg_coarse_pc_spike_mat_ordering_type natural",
                      A, A, NULL));
  PetscCall(SolveWith("gamgsub",
                      "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_coarse_pc_type bjacobi "
                      "-mg_coarse_sub_pc_type spike",
                      A, A, NULL));
  PetscCall(SolveWith("gamglevels",
                      "-ksp_type fgmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_levels_ksp_type richardson "
                      "-mg_levels_pc_type spike -mg_levels_pc_spike_bandwidth 1",
                      A, A, NULL));
  PetscCall(SolveWith("squarefull", "-ksp_type preonly -pc_type spike -pc_spike_type full -pc_spike_local_partitions 6",
                      A, A, NULL));
  PetscCall(SolveWith("square", "-ksp_type cg -pc_type spike -pc_spike_bandwidth 1", A, A, NULL));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShellMult(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in other types; its values change once, the pattern stays */
static PetscErrorCode TestMatTypes(void)
{
  const char   *types[] = {MATBAIJ, MATSBAIJ, MATDENSE, MATNEST};
  SpikeTestBand band    = {120, 3, 3, 1.1, SPIKE_TEST_RANDOM, 12};
  PetscMPIInt   size;
  Mat           A, S, B, T;
  PetscInt      m, N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &band, PETSC_DECIDE, MATAIJ, &A));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, N, N, A, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (PetscErrorCodeFn *)ShellMult));
  PetscCall(SolveWith("shell", "-ksp_type gmres -pc_type spike -pc_spike_local_partitions 2", S, A, NULL));
  PetscCall(MatDestroy(&S));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    KSP         ksp;
    PC          pc;
    PCSpikeInfo info;
    Vec         x, b;
    PetscBool   sbaij = (PetscBool)(t == 1), nest = (PetscBool)(t == 3);
    char        where[64];

    if (sbaij) { /* the symmetric part */
      PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
      PetscCall(MatAXPY(T, 1.0, A, UNKNOWN_NONZERO_PATTERN));
      PetscCall(MatSetOption(T, MAT_SYMMETRIC, PETSC_TRUE));
      PetscCall(MatConvert(T, types[t], MAT_INITIAL_MATRIX, &B));
      PetscCall(MatDestroy(&T));
    } else if (nest) {
      PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &A, &B));
    } else PetscCall(MatConvert(A, types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, B, B));
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPSetTolerances(ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 100));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 22));
    for (PetscInt pass = 0; pass < 3; pass++) {
      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, pass %" PetscInt_FMT, types[t], pass));
      if (pass == 1) PetscCall(MatScale(B, 3.0));
      if (pass == 2) PetscCall(MatShift(B, 2.0));
      PetscCall(SpikeTestSolve(ksp, b, x, where));
    }
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.kl == 3 && info.ku == 3), "%s: band %" PetscInt_FMT ",%" PetscInt_FMT,
                             types[t], info.kl, info.ku));
    PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds + info.refills == 3),
                             "%s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT " refills", types[t],
                             info.rebuilds, info.refills));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular Neumann problem: the last pivot is zero up to rounding and is boosted; the null space does the rest */
static PetscErrorCode TestNullSpace(void)
{
  const PetscInt n = 60;
  Mat            A;
  MatNullSpace   null;
  KSP            ksp;
  PC             pc;
  Vec            x, b;
  PCSpikeInfo    info;
  PetscInt       start, end;
  PetscScalar    sum;
  PetscReal      norm;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(MatSetUp(A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscCall(MatSetValue(A, i, i, i == 0 || i == n - 1 ? 1.0 : 2.0, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
  PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatSetTransposeNullSpace(A, null));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 23));
  PetscCall(MatNullSpaceRemove(null, b));
  for (PetscInt method = 0; method < 2; method++) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, method ? KSPBCGS : KSPGMRES));
    PetscCall(KSPSetTolerances(ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 200));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_INBLOCKS));
    PetscCall(SpikeTestSolve(ksp, b, x, "null space"));
    PetscCall(VecSum(x, &sum));
    PetscCall(VecNorm(x, NORM_1, &norm));
    PetscCall(SpikeTestSmall(PetscAbsScalar(sum), Rtol() * norm, "component in the null space", "null space"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    /* the reduced system of an interface between two ranks is solved, and may be counted, on both */
    PetscCall(SpikeTestCheck((PetscBool)(info.boosted <= (size > 1 ? 2 : 1)),
                             "null space: %" PetscInt_FMT " pivots boosted", info.boosted));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatNullSpaceDestroy(&null));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(TestCompositions());
  PetscCall(TestGrids());
  PetscCall(TestMatTypes());
  PetscCall(TestNullSpace());
  PetscCall(SpikeTestEnd("spike_composition"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_composition_1.out
      requires: defined(PETSC_USE_LOG)
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -dm_mat_type aijcusparse -dm_vec_type cuda

TEST*/
