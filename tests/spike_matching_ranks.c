/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCSPIKE on several ranks: each matches the rows of its own diagonal block, and orders them.\n\n";

#include "spiketest.h"
#include "viewtext.h"

#define N 93 /* no rank of three has 32 rows, of which products on a GPU may be wrong: docs/open-points.md */

static PetscReal Tolerance(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 2e-3 : 1e-9;
}

/* Rows of this rank: even, or none on every second rank */
static PetscInt LocalRows(PetscBool holes)
{
  PetscMPIInt size, rank, owners, me;

  PetscCallMPIAbort(PETSC_COMM_SELF, MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPIAbort(PETSC_COMM_SELF, MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  owners = holes ? size / 2 : size;
  me     = holes ? rank / 2 : rank;
  return holes && rank % 2 == 0 ? 0 : N / owners + (me < N % owners);
}

/* A permutation inside of the rows of each rank: all ranks know it */
static PetscErrorCode Shuffle(PetscInt nlocal, PetscInt seed, PetscInt to[])
{
  PetscMPIInt size;
  PetscInt   *rows, start = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size, &rows));
  PetscCallMPI(MPI_Allgather(&nlocal, 1, MPIU_INT, rows, 1, MPIU_INT, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < N; i++) to[i] = i;
  for (PetscMPIInt r = 0; r < size; start += rows[r++])
    for (PetscInt i = rows[r] - 1; i > 0; i--) {
      const PetscInt j = (PetscInt)((SpikeTestUniform(seed, start + i, 77) + 1) / 2 * (PetscReal)i), t = to[start + i];

      to[start + i] = to[start + j];
      to[start + j] = t;
    }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A dominant band, rows and columns times powers of two, row i moved to rows[i] and column j to columns[j] */
static void Dense(PetscInt kl, PetscInt ku, PetscInt seed, PetscInt range, PetscReal scale, const PetscInt rows[],
                  const PetscInt columns[], PetscScalar a[])
{
  const SpikeTestBand band = {N, kl, ku, 1.5, SPIKE_TEST_RANDOM, seed};

  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = 0; j < N; j++) {
      const int e = (int)((PetscReal)range * (SpikeTestUniform(seed, i, 78) + SpikeTestUniform(seed, j, 79)) / 2);

      a[rows[i] + columns[j] * N] = SpikeTestBandEntry(&band, i, j) * (PetscReal)ldexp(1.0, e) * scale;
    }
}

static PetscErrorCode SetValues(const PetscScalar a[], Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = 0; j < N; j++)
      if (a[i + j * N] != (PetscScalar)0.0) PetscCall(MatSetValue(A, i, j, a[i + j * N], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePC(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSpikeSetType(*pc, PC_SPIKE_FULL));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M^-1 and M^-T beside the inverse of a, each entry relative to the largest of its row and column scales */
static PetscErrorCode CheckInverse(PC pc, const PetscScalar a[], const char where[])
{
  PetscScalar *inv, *m;
  PetscReal    most = 0.0, diff;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(N * N, &inv, N * N, &m));
  PetscCall(SpikeTestInvert(N, a, N, inv, N));
  for (PetscInt k = 0; k < N * N; k++) most = PetscMax(most, PetscAbsScalar(inv[k]));
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(SpikeTestOperator(pc, (PetscBool)trans, m));
    diff = 0.0;
    for (PetscInt i = 0; i < N; i++)
      for (PetscInt j = 0; j < N; j++) {
        const PetscReal d = PetscAbsScalar(m[i + j * N] - (trans ? inv[j + i * N] : inv[i + j * N]));

        if (!(d <= diff)) diff = d; /* NaN too */
      }
    PetscCall(SpikeTestSmall(diff, Tolerance() * most, trans ? "error of the transposed inverse" : "error", where));
  }
  PetscCall(PetscFree2(inv, m));
  PetscCall(SpikeTestColumns(pc, 5, Tolerance() / 10, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that changed places inside of ranks: found, solved, with new values, with scales that follow them */
static PetscErrorCode TestMatching(PCSpikeMatchingType type, PetscBool holes, PetscBool rescale)
{
  const PetscInt nlocal = LocalRows(holes);
  PetscInt       to[N], stay[N];
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;
  PetscBool      get;
  char           where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "matching %s%s%s", PCSpikeMatchingTypes[type], holes ? ", holes" : "",
                          rescale ? ", rescale" : ""));
  PetscCall(PetscMalloc1(N * N, &a));
  PetscCall(Shuffle(nlocal, 3, to));
  for (PetscInt i = 0; i < N; i++) stay[i] = i;
  Dense(3, 2, 1, 6, 1.0, to, stay, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, nlocal, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetMatchingType(pc, type));
  PetscCall(PCSpikeSetMatchingRescale(pc, rescale));
  PetscCall(PCSpikeGetMatchingRescale(pc, &get));
  PetscCall(SpikeTestCheck((PetscBool)(get == rescale), "%s: rescale %d", where, (int)get));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.matched && !info.unmatched && !info.boosted && info.dropped == 0.0),
                           "%s: matched %d, without partner %" PetscInt_FMT ", boosted %" PetscInt_FMT ", dropped %g",
                           where, (int)info.matched, info.unmatched, info.boosted, (double)info.dropped));
  PetscCall(SpikeTestCheck((PetscBool)(info.kl == 3 && info.ku == 2),
                           "%s: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, where, info.kl, info.ku));
  PetscCall(CheckInverse(pc, a, where));
  Dense(3, 2, 1, -8, -0.375, to, stay, a); /* the same pattern, other scales */
  PetscCall(SetValues(a, A));
  PetscCall(CheckInverse(pc, a, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.matched && info.refills == 1), "%s: %" PetscInt_FMT " refills", where,
                           info.refills));
  if (rescale) /* all entries are at most 1 again, but for powers of two */
    PetscCall(SpikeTestCheck((PetscBool)(info.growth < 16), "%s: growth %g", where, (double)info.growth));
  PetscCall(SpikeTestAdjoint(pc, Tolerance(), where));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With scales that follow the values: where other entries belong on the diagonal now, all is chosen anew */
static PetscErrorCode TestOther(void)
{
  const PetscInt nlocal = LocalRows(PETSC_FALSE);
  PetscInt       to[N], stay[N];
  PetscScalar   *a, *b;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(N * N, &a, N * N, &b));
  for (PetscInt i = 0; i < N; i++) stay[i] = i;
  PetscCall(Shuffle(nlocal, 5, to));
  Dense(1, 1, 2, 2, 1.0, to, stay, a);
  Dense(1, 1, 2, 2, 1.0, stay, stay, b);
  for (PetscInt k = 0; k < N * N; k++) { /* a pattern of both */
    const PetscScalar t = a[k];

    if (t == (PetscScalar)0.0) a[k] = b[k] == (PetscScalar)0.0 ? 0.0 : 1e-12;
    if (b[k] == (PetscScalar)0.0) b[k] = t == (PetscScalar)0.0 ? 0.0 : 1e-12;
  }
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, nlocal, &A));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
  PetscCall(PCSpikeSetDropoff(pc, 1e-9));
  PetscCall(PCSpikeSetMatchingRescale(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  PetscCall(SetValues(b, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(CheckInverse(pc, b, "other diagonal"));
  PetscCall(SpikeTestCheck((PetscBool)(info.matched && info.rebuilds >= 2), "other diagonal: %" PetscInt_FMT " setups",
                           info.rebuilds));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Bands whose unknowns are in random order inside of each rank, coupled to other ranks weakly: an ordering is found on
  each rank, and what it drops is counted. strong: with an entry of an ordinary size, which a direct solve must not lose
*/
static PetscErrorCode TestOrdering(PetscBool holes, PetscBool matched)
{
  const PetscInt     nlocal = LocalRows(holes);
  PetscInt           to[N], also[N], owner[N], start, end;
  PetscScalar       *a, *m;
  PetscReal          sum = 0.0, cross = 0.0, kept = 0.0, worst = 0.0;
  PetscMPIInt        size, rank;
  Mat                A;
  Vec                b, x;
  PC                 pc;
  KSP                ksp;
  PCSpikeInfo        info;
  KSPConvergedReason reason;
  char               where[96];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(where, sizeof(where), "ordering%s%s", holes ? ", holes" : "", matched ? ", matched" : ""));
  PetscCall(PetscMalloc2(N * N, &a, N * N, &m));
  PetscCall(Shuffle(nlocal, 4, to));
  PetscCall(Shuffle(nlocal, 9, also));
  Dense(2, 2, 6, 0, 1.0, matched ? also : to, to, a);
  PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, nlocal, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = 0; i < N; i++) owner[i] = i >= start && i < end ? rank : 0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, owner, N, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(CreatePC(A, &pc));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(PCSpikeSetMatchingType(pc, matched ? PC_SPIKE_MATCHING_ALWAYS : PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  for (PetscInt i = 0; i < N; i++)
    for (PetscInt j = 0; j < N; j++) {
      sum += PetscAbsScalar(a[i + j * N]);
      if (owner[i] != owner[j]) cross += PetscAbsScalar(a[i + j * N]);
    }
  PetscCall(SpikeTestCheck((PetscBool)(info.reordered && PetscMax(info.kl, info.ku) <= 8),
                           "%s: reordered %d, half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, where,
                           (int)info.reordered, info.kl, info.ku));
  if (!matched) {
    /* each entry of M is that of A, or a coupling between ranks that is not there */
    PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
    PetscCall(SpikeTestInvert(N, m, N, m, N));
    for (PetscInt i = 0; i < N; i++)
      for (PetscInt j = 0; j < N; j++) {
        const PetscReal off = PetscAbsScalar(m[i + j * N] - a[i + j * N]), size0 = PetscAbsScalar(m[i + j * N]);

        if (owner[i] != owner[j] && off > size0) worst = PetscMax(worst, size0);
        else worst = PetscMax(worst, off);
        if (owner[i] != owner[j] && off <= size0) kept += PetscAbsScalar(a[i + j * N]);
      }
    PetscCall(SpikeTestSmall(worst, 100 * Tolerance(), "entries of M that are none of A", where));
    PetscCall(
      SpikeTestSmall(PetscAbsReal(info.dropped - (cross - kept) / sum), 1e-6, "error of the dropped share", where));
  } else
    PetscCall(
      SpikeTestCheck((PetscBool)(info.matched && info.dropped <= 1.0), "%s: matched %d", where, (int)info.matched));
  PetscCall(PCDestroy(&pc));

  /* new values in the pattern, by a Krylov method; a direct solve is right, or says that it is not */
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (int direct = 0; direct < 2; direct++) {
    PetscReal residual;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, direct ? KSPPREONLY : KSPGMRES));
    PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 300));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    PetscCall(PCSpikeSetMatchingType(pc, matched ? PC_SPIKE_MATCHING_ALWAYS : PC_SPIKE_MATCHING_NONE));
    for (int k = 0; k < 2; k++) {
      if (!direct) PetscCall(SpikeTestSolve(ksp, b, x, where));
      else {
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(SpikeTestResidual(A, b, x, &residual));
        PetscCall(SpikeTestCheck((PetscBool)(reason < 0 || residual < 1e-4), "%s: %s with a residual of %g", where,
                                 KSPConvergedReasons[reason], (double)residual));
        if (size == 1)
          PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: direct, %s", where, KSPConvergedReasons[reason]));
      }
      PetscCall(MatScale(A, -0.5));
    }
    PetscCall(KSPDestroy(&ksp));
  }

  /* `auto` leaves rows where they are, unless the band is cut */
  if (size > 1 && !matched) {
    PetscCall(CreatePC(A, &pc));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
    PetscCall(PCSpikeSetMaxBandwidth(pc, 6));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.reordered && info.dropped < 0.2), "%s, cut: reordered %d, dropped %g",
                             where, (int)info.reordered, (double)info.dropped));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(a, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row without an entry in the columns of its rank: counted on all ranks; the same PC when it has one again */
static PetscErrorCode TestSingular(void)
{
  const PetscInt nlocal = LocalRows(PETSC_FALSE);
  PetscInt       stay[N];
  char          *text, row[32];
  PetscScalar   *a;
  Mat            A;
  PC             pc;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(N * N, &a, 8192, &text));
  PetscCall(PetscSNPrintf(row, sizeof(row), "for the diagonal: %d\n", N - 2));
  for (PetscInt i = 0; i < N; i++) stay[i] = i;
  for (int pass = 0; pass < 2; pass++) {
    Dense(2, 2, 7, 0, 1.0, stay, stay, a);
    for (PetscInt j = 0; j < N && !pass; j++) a[N - 2 + j * N] = 0.0;
    PetscCall(SpikeTestDenseMat(PETSC_COMM_WORLD, N, a, nlocal, &A));
    if (!pass) PetscCall(CreatePC(A, &pc));
    else PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_ALWAYS));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.matched && info.unmatched == !pass),
                             "singular: matched %d, %" PetscInt_FMT " without partner", (int)info.matched,
                             info.unmatched));
    PetscCall(ViewText(pc, 8192, text));
    PetscCall(SpikeTestCheck((PetscBool)((strstr(text, row) == NULL) == (pass > 0)),
                             "singular, the view names another row: %s", text));
    if (pass) PetscCall(CheckInverse(pc, a, "regular again"));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFree2(a, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int holes = 0; holes < (size > 1 ? 2 : 1); holes++) {
    PetscCall(TestMatching(PC_SPIKE_MATCHING_AUTO, (PetscBool)holes, PETSC_FALSE));
    PetscCall(TestMatching(PC_SPIKE_MATCHING_ALWAYS, (PetscBool)holes, PETSC_TRUE));
    PetscCall(TestOrdering((PetscBool)holes, PETSC_FALSE));
    PetscCall(TestOrdering((PetscBool)holes, PETSC_TRUE));
  }
  PetscCall(TestOther());
  PetscCall(TestSingular());
  PetscCall(SpikeTestEnd("spike_matching_ranks"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_matching_ranks_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
