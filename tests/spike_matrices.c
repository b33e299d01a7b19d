/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_matrices.c: real matrices: what is called solved is solved, what cannot be solved ends with a reason */
static char help
  [] = "Real matrices in Matrix Market format, solved with PCSPIKE in several ways: what converges has a small true\n\
 residual.\n\
  -dir <folder>   where they are, by default $SPIKE_MATRICES\n\
  -facts          also prints bandwidths, iterations, residuals, boosted pivots\n\n";

#include <petscspike.h>
#include "../tutorials/mmio.h"

/*
  How a matrix is solved. On one rank it is an exact LU of the band, so BCGS with PETSc's default, the preconditioned
  norm, is asked to be right; with more partitions the norm is the true one (right preconditioning). Zero pivots fail
  there. Boosted ones make M^-1 as large as 1e8 / |A|: BCGS and GMRES apply it to a sum at the end, with a rounding
  error that their recurrences do not see; FGMRES does not.
*/
typedef enum {
  WAY_EXACT,
  WAY_PARTITIONS,
  WAY_BOOSTED,
  NWAYS
} Way;

typedef struct {
  const char *name;
  PetscBool   unstable; /* with boosted pivots the outcome depends on rounding: singular, or nearly */
} Matrix;

static const Matrix matrices[] = {{"494_bus", PETSC_FALSE},  {"BentPipe2D100", PETSC_FALSE},  {"add32", PETSC_FALSE},
                                  {"bcsstk16", PETSC_FALSE}, {"cavity14", PETSC_FALSE},       {"e05r0500", PETSC_FALSE},
                                  {"epb0", PETSC_FALSE},     {"fs_760_3", PETSC_TRUE},        {"gr_30_30", PETSC_FALSE},
                                  {"jpwh_991", PETSC_FALSE}, {"lap2D_5pt_n100", PETSC_FALSE}, {"lap_25", PETSC_TRUE},
                                  {"laser", PETSC_TRUE},     {"matrix_n19168", PETSC_FALSE},  {"mcca", PETSC_TRUE},
                                  {"nos3", PETSC_FALSE},     {"nos7", PETSC_FALSE},           {"olm500", PETSC_FALSE},
                                  {"orsreg_1", PETSC_FALSE}, {"pde2961", PETSC_FALSE},        {"sherman1", PETSC_FALSE},
                                  {"sherman4", PETSC_FALSE}, {"sherman5", PETSC_FALSE},       {"wedge6_K", PETSC_FALSE},
                                  {"west0479", PETSC_TRUE},  {"young1c", PETSC_FALSE}};

static PetscInt failures = 0;

static PetscErrorCode Solve(const char name[], Mat A, Vec b, Way way, PetscBool facts, const char **outcome)
{
  const char *const  ways[] = {"not boosted", "4 partitions", "boosted"};
  const PetscReal    rtol   = 1e-8;
  PetscInt           n, its;
  PetscReal          rnorm, bnorm;
  Vec                x, r;
  KSP                ksp;
  PC                 pc;
  PCSpikeInfo        info;
  PCFailedReason     failed;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, way == WAY_BOOSTED ? KSPFGMRES : KSPBCGS));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_CURRENT, 300));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  if (way == WAY_PARTITIONS) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  if (way != WAY_BOOSTED) PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSpikeGetInfo(pc, &info));
  if (way == WAY_PARTITIONS) { /* as many of 4 as the band allows */
    PetscInt most = PetscMax(1, PetscMin(4, n / PetscMax(1, PetscMax(info.kl, info.ku))));

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &most, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
    PetscCall(PCSpikeSetLocalPartitions(pc, most));
  }
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PCGetFailedReason(pc, &failed));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  if (facts)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%-15s %-12s rows %6" PetscInt_FMT " K %4" PetscInt_FMT ",%-4" PetscInt_FMT
                          " -> %3" PetscInt_FMT ",%-3" PetscInt_FMT " partitions %" PetscInt_FMT
                          " iterations %3" PetscInt_FMT " residual %7.1e boosted %" PetscInt_FMT "+%" PetscInt_FMT
                          " decay %7.1e %s\n",
                          name, ways[way], info.n, info.natural_kl, info.natural_ku, info.kl, info.ku, info.partitions,
                          its, (double)(rnorm / bnorm), info.boosted, info.cornerboosted, (double)info.decay,
                          KSPConvergedReasons[reason]));
  if (reason > 0 && !(rnorm <= 10 * rtol * bnorm)) { /* NaN is no solution */
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s, %s: %s after %" PetscInt_FMT " iterations, but the relative residual is %g\n", name,
                          ways[way], KSPConvergedReasons[reason], its, (double)(rnorm / bnorm)));
    failures++;
  }
  if (reason == KSP_DIVERGED_PC_FAILED && failed == PC_NOERROR) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%s, %s: the solver says that the preconditioner failed, the preconditioner does not\n", name,
                          ways[way]));
    failures++;
  }
  if (way != WAY_BOOSTED && info.boosted) {
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %" PetscInt_FMT " pivots were boosted\n", name, ways[way], info.boosted));
    failures++;
  }
  if (way == WAY_BOOSTED && !info.boosted) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s failed, but has no pivot to boost\n", name));
    failures++;
  }
  *outcome = reason > 0                            ? "solved"
           : failed == PC_FACTOR_NUMERIC_ZEROPIVOT ? "zero pivot"
           : failed                                ? PCFailedReasons[failed]
                                                   : "not solved";
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char        dir[PETSC_MAX_PATH_LEN] = "", file[2 * PETSC_MAX_PATH_LEN];
  PetscBool   exists, facts = PETSC_FALSE;
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetenv(PETSC_COMM_WORLD, "SPIKE_MATRICES", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-facts", &facts, NULL));
  PetscCall(PetscTestDirectory(dir, 'r', &exists));
  if (!exists) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "No folder of matrices \"%s\": set SPIKE_MATRICES or -dir\n", dir));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%-15s %-12s %-12s %s\n", "matrix", "not boosted", "4 partitions", "boosted"));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(matrices); k++) {
    const char *outcome[NWAYS] = {"", "", ""};
    const char *name           = matrices[k].name;
    PetscBool   isyoung, small;
    PetscInt    N;
    Mat         A;
    Vec         x, b;

    PetscCall(PetscStrcmp(name, "young1c", &isyoung));
    if (isyoung && !PetscDefined(USE_COMPLEX)) continue;
    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.mtx", dir, name));
    PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(x, random));
    PetscCall(MatMult(A, x, b));
    PetscCall(MatGetSize(A, &N, NULL));
    small = (PetscBool)(N < 50000); /* the tips of wedge6_K take longer than all others together */
    PetscCall(Solve(name, A, b, WAY_EXACT, facts, &outcome[WAY_EXACT]));
    if (small) PetscCall(Solve(name, A, b, WAY_PARTITIONS, facts, &outcome[WAY_PARTITIONS]));
    /* else there is nothing to boost */
    if (outcome[WAY_EXACT][0] == 'z') PetscCall(Solve(name, A, b, WAY_BOOSTED, facts, &outcome[WAY_BOOSTED]));
    if (!isyoung)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-15s %-12s %-12s %s\n", name, outcome[WAY_EXACT],
                            small ? outcome[WAY_PARTITIONS] : "-",
                            matrices[k].unstable      ? "depends on rounding"
                            : outcome[WAY_BOOSTED][0] ? outcome[WAY_BOOSTED]
                                                      : "-"));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", failures ? "FAILED" : "What converged is solved"));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}

/*TEST

   test:
      suffix: 1
      requires: matrices double
      timeoutfactor: 4

TEST*/
