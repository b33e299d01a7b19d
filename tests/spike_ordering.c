/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_ordering.c: the ordering that PCSPIKE takes by itself: by the work of the band that comes out */
static char
  help[] = "Bands whose rows stand in another order, with unsymmetric patterns and stored zeros, random sparse\n\
matrices, natural bands that stay, and orderings that are asked for.\n\n";

#include "spiketest.h"
#include "viewtext.h"

static const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-2 : 1e-10;

/* What src/pc_spike/spikemodel.c has for a row, with ten applications */
static PetscReal Work(PetscInt kl, PetscInt ku)
{
  return 2.0 * kl * ku + 20.0 * (1 + kl + ku);
}

/* Row i of a hidden order of n rows stands in row Place(n, i) */
static PetscInt Place(PetscInt n, PetscInt i)
{
  PetscInt step = 1 + (PetscInt)(0.618 * n);

  for (;; step++) { /* the next one that is prime to n */
    PetscInt a = n, b = step;

    while (b) {
      const PetscInt c = a % b;

      a = b;
      b = c;
    }
    if (a == 1) return (PetscInt)(((PetscInt64)i * step) % n);
  }
}

typedef struct {
  PetscInt  n, kl, ku; /* of the hidden band */
  PetscReal share;     /* of its entries that are there */
  PetscBool hidden, far;
} Case;

/* A dominant matrix; far: zeros are stored far from the diagonal of the hidden order */
static PetscErrorCode CaseMat(MPI_Comm comm, const Case *c, PetscInt seed, Mat *A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, c->n, c->n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(SpikeTestSetUp(*A, c->kl + c->ku + 3));
  PetscCall(MatGetOwnershipRange(*A, &start, &end));
  for (PetscInt i = 0; i < c->n; i++) {
    const PetscInt row = c->hidden ? Place(c->n, i) : i;
    PetscReal      sum = 1.0;

    if (row < start || row >= end) continue;
    for (PetscInt j = PetscMax(0, i - c->kl); j <= PetscMin(c->n - 1, i + c->ku); j++) {
      const PetscScalar v = SpikeTestScalar(seed, i, j);

      /* what is next to the diagonal keeps the graph in one piece: above it, below it where nothing is above */
      if (i == j || (j != i + (c->ku ? 1 : -1) && SpikeTestUniform(seed + 1, i, j) > 2 * c->share - 1)) continue;
      PetscCall(MatSetValue(*A, row, c->hidden ? Place(c->n, j) : j, v, INSERT_VALUES));
      sum += PetscAbsScalar(v);
    }
    PetscCall(MatSetValue(*A, row, row, sum, INSERT_VALUES));
    if (c->far && PetscAbsInt(c->n - 1 - 2 * i) > PetscMax(c->kl, c->ku))
      PetscCall(MatSetValue(*A, row, c->hidden ? Place(c->n, c->n - 1 - i) : c->n - 1 - i, 0.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A direct solve, and one with the transpose; *info of its setup */
static PetscErrorCode Solve(Mat A, const char ordering[], PCSpikeInfo *info, const char where[])
{
  KSP       ksp;
  PC        pc;
  Vec       x, b, r;
  PetscReal residual, norm;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, 5));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, ordering));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(PCSpikeSetMaxBorder(pc, 0));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(SpikeTestResidual(A, b, x, &residual));
  PetscCall(SpikeTestSmall(residual, tol, "residual", where));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(MatMultTranspose(A, x, r));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(SpikeTestSmall(residual, tol * PetscMax(norm, 1), "residual of the transpose", where));
  PetscCall(SpikeTestColumns(pc, 4, tol, where));
  PetscCall(PCSpikeGetInfo(pc, info));
  PetscCall(SpikeTestBackend(pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hidden bands, also with entries on one side alone, come back about as narrow as they were */
static PetscErrorCode TestHidden(void)
{
  const PetscInt sizes[] = {60, 257, 1000};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (PetscInt kl = 0; kl <= 4; kl += 2)
      for (PetscInt ku = 0; ku <= 3; ku++)
        for (PetscInt far = 0; far < 2; far++) {
          Case        c = {sizes[s], kl, ku, 0.6, PETSC_TRUE, (PetscBool)far};
          Mat         A;
          PCSpikeInfo info;
          char        where[96];

          if (!kl && !ku) continue;
          PetscCall(PetscSNPrintf(where, sizeof(where), "n = %d, hidden band %d,%d%s", (int)c.n, (int)kl, (int)ku,
                                  far ? ", stored zeros" : ""));
          PetscCall(CaseMat(PETSC_COMM_SELF, &c, 11 + kl, &A));
          PetscCall(Solve(A, "auto", &info, where));
          PetscCall(SpikeTestCheck((PetscBool)(info.reordered && PetscMax(info.kl, info.ku) <= 2 * PetscMax(kl, ku)),
                                   "%s: factored as %d,%d", where, (int)info.kl, (int)info.ku));
          PetscCall(MatDestroy(&A));
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Natural bands stay: narrow ones, and those that no ordering makes narrower */
static PetscErrorCode TestNatural(void)
{
  PetscFunctionBegin;
  for (PetscInt kl = 0; kl <= 3; kl++)
    for (PetscInt ku = 0; ku <= 3; ku++)
      for (PetscInt n = 0; n <= 40; n += n < 3 ? 1 : 37) {
        Case        c = {n, kl, ku, 1.0, PETSC_FALSE, PETSC_FALSE};
        Mat         A;
        PCSpikeInfo info;
        char        where[96];

        PetscCall(PetscSNPrintf(where, sizeof(where), "n = %d, natural band %d,%d", (int)n, (int)kl, (int)ku));
        PetscCall(CaseMat(PETSC_COMM_SELF, &c, 3, &A));
        PetscCall(Solve(A, "auto", &info, where));
        PetscCall(SpikeTestCheck((PetscBool)(Work(info.kl, info.ku) <=
                                             Work(PetscMin(kl, PetscMax(n - 1, 0)), PetscMin(ku, PetscMax(n - 1, 0)))),
                                 "%s: factored as %d,%d", where, (int)info.kl, (int)info.ku));
        if (n == 40)
          PetscCall(
            SpikeTestCheck((PetscBool)(!info.reordered && info.kl == kl && info.ku == ku), "%s is reordered", where));
        PetscCall(MatDestroy(&A));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random sparse matrices: never more work than the natural order or RCM takes */
static PetscErrorCode TestRandom(void)
{
  PetscFunctionBegin;
  for (PetscInt seed = 0; seed < 12; seed++) {
    const PetscInt n = 50 + 13 * seed;
    Mat            A;
    PCSpikeInfo    info[3];
    char           where[64];
    const char    *orderings[] = {"auto", MATORDERINGNATURAL, MATORDERINGRCM};

    PetscCall(MatCreate(PETSC_COMM_SELF, &A));
    PetscCall(MatSetSizes(A, n, n, n, n));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(SpikeTestSetUp(A, 4));
    for (PetscInt i = 0; i < n; i++) {
      PetscCall(MatSetValue(A, i, i, 20.0, INSERT_VALUES));
      for (PetscInt e = 0; e < 1 + seed % 3; e++) {
        const PetscInt j = (PetscInt)(0.5 * (SpikeTestUniform(seed, i, 2 * e) + 1) * n);

        /* mostly near the diagonal in some matrices */
        if (j != i && j < n && (seed % 2 || PetscAbsInt(i - j) < 8 || i % 10 == 0))
          PetscCall(MatSetValue(A, i, j, SpikeTestScalar(seed, i, j), INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscSNPrintf(where, sizeof(where), "random matrix %d", (int)seed));
    for (PetscInt o = 0; o < 3; o++) PetscCall(Solve(A, orderings[o], &info[o], where));
    for (PetscInt o = 1; o < 3; o++)
      PetscCall(SpikeTestCheck((PetscBool)(Work(info[0].kl, info[0].ku) <= Work(info[o].kl, info[o].ku) ||
                                           /* a natural band near the bound for all orderings is left alone */
                                           (!info[0].reordered && info[0].kl <= 2 * info[o].kl)),
                               "%s: %d,%d is more than %d,%d of %s", where, (int)info[0].kl, (int)info[0].ku,
                               (int)info[o].kl, (int)info[o].ku, orderings[o]));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orderings that are asked for, of an unsymmetric pattern */
static PetscErrorCode TestAsked(void)
{
  const char *const orderings[] = {MATORDERINGRCM, MATORDERINGND,        MATORDERING1WD,
                                   MATORDERINGQMD, MATORDERINGROWLENGTH, MATORDERINGSPECTRAL};
  Case              c           = {120, 1, 2, 0.7, PETSC_TRUE, PETSC_TRUE};
  Mat               A;
  PCSpikeInfo       info;

  PetscFunctionBegin;
  PetscCall(CaseMat(PETSC_COMM_SELF, &c, 21, &A));
  for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(orderings); o++) {
    /* PETSc's is for real numbers, and finds its own eigenvectors inconsistent in single precision */
    if ((PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE)) && !strcmp(orderings[o], MATORDERINGSPECTRAL))
      continue;
    PetscCall(Solve(A, orderings[o], &info, orderings[o]));
    PetscCall(SpikeTestCheck(info.reordered, "%s: not reordered", orderings[o]));
    if (!o || o == 5) /* both follow a line of rows */
      PetscCall(SpikeTestCheck((PetscBool)(PetscMax(info.kl, info.ku) <= 6), "%s: factored as %d,%d", orderings[o],
                               (int)info.kl, (int)info.ku));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ranks of 200 rows, each a hidden band, and what couples rank r to r + 1: nothing, one weak entry, ten entries as large
  as the diagonal where rows are hidden among twenty alone, a weak entry that is farther away than a rank has rows, or
  the hidden band itself, which goes on from rank to rank
*/
typedef enum {
  RANKS_APART,
  RANKS_WEAK,
  RANKS_STRONG,
  RANKS_FAR,
  RANKS_STRIP
} RanksKind;

static PetscInt RanksPlace(RanksKind kind, PetscInt n, PetscInt i)
{
  return kind == RANKS_STRONG ? i / 20 * 20 + Place(20, i % 20) : Place(n, i);
}

static PetscErrorCode RanksMat(RanksKind kind, PetscReal scale, Mat A)
{
  const PetscInt n = 200;
  PetscInt       start, N;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt row = start + RanksPlace(kind, n, i);

    PetscCall(MatSetValue(A, row, row, 6.0, INSERT_VALUES));
    for (PetscInt j = i - 1; kind == RANKS_STRIP && j <= i + 2; j++) /* what the next loop leaves */
      if ((j < 0 && start > 0) || (j >= n && start + n < N)) {
        const PetscInt next = j < 0 ? start - n : start + n;

        PetscCall(MatSetValue(A, row, next + RanksPlace(kind, n, (j + n) % n), 2.0, INSERT_VALUES));
      }
    for (PetscInt j = PetscMax(0, i - 1); j <= PetscMin(n - 1, i + 2); j++)
      if (j != i)
        PetscCall(MatSetValue(A, row, start + RanksPlace(kind, n, j), scale * SpikeTestScalar(4, i, j), INSERT_VALUES));
  }
  if (start + n < N) {
    if (kind == RANKS_WEAK) {
      PetscCall(MatSetValue(A, start + n - 10, start + n + 10, 1e-2, INSERT_VALUES));
      PetscCall(MatSetValue(A, start + n + 10, start + n - 10, -1e-2, INSERT_VALUES));
    }
    if (kind == RANKS_FAR) {
      PetscCall(MatSetValue(A, start + 1, start + 2 * n - 2, 1e-2, INSERT_VALUES));
      PetscCall(MatSetValue(A, start + 2 * n - 2, start + 1, -1e-2, INSERT_VALUES));
    }
    for (PetscInt i = 0; kind == RANKS_STRONG && i < 10; i++)
      PetscCall(MatSetValue(A, start + n - 1 - i, start + n + i, 5.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPMatSolve() by KSPPREONLY: a new PC, whose first setup drops the coupling */
static PetscErrorCode TestRanksMany(void)
{
  Mat         A, B, X, R;
  KSP         ksp;
  PC          pc;
  PCSpikeInfo info;
  VecType     vectype;
  PetscMPIInt size;
  PetscReal   norm, residual;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 200, 200, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(SpikeTestSetMatType(A, MATAIJ));
  PetscCall(SpikeTestSetUp(A, 200));
  PetscCall(RanksMat(RANKS_WEAK, 1.0, A));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(
    MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, 200, PETSC_DECIDE, PETSC_DECIDE, 3, PETSC_DECIDE, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < 3; c++) {
    Vec v;

    PetscCall(MatDenseGetColumnVecWrite(B, c, &v));
    PetscCall(SpikeTestSetRandom(v, 60 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &v));
  }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.dropped > 0.0), "a setup without a solver drops nothing"));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &R));
  PetscCall(MatAXPY(R, -1.0, B, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_FROBENIUS, &residual));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm));
  PetscCall(SpikeTestSmall(residual, tol * norm, "residual", "several direct solves"));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three columns at once by a fused method, and by no solver */
static PetscErrorCode Columns(KSP ksp, Mat A)
{
  Mat                B, X;
  PC                 pc;
  VecType            vectype;
  KSPConvergedReason reason;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(
    MatCreateDenseFromVecType(PETSC_COMM_WORLD, vectype, n, PETSC_DECIDE, PETSC_DECIDE, 3, PETSC_DECIDE, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt c = 0; c < 3; c++) {
    Vec v;

    PetscCall(MatDenseGetColumnVecWrite(B, c, &v));
    PetscCall(SpikeTestSetRandom(v, 70 + c));
    PetscCall(MatDenseRestoreColumnVecWrite(B, c, &v));
  }
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetType(ksp, KSPBCGSFUSED));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "three columns: %s", KSPConvergedReasons[reason]));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A hidden band whose rows are spread over all ranks: a direct solve drops nothing of it */
static PetscErrorCode TestRanksShuffled(void)
{
  PetscFunctionBegin;
  for (PetscInt k = 1; k <= 5; k += 2) {
    const Case         c = {258, k, k, 1.0, PETSC_TRUE, PETSC_FALSE};
    Mat                A;
    KSP                ksp;
    PC                 pc;
    Vec                x, b;
    PCSpikeInfo        info;
    KSPConvergedReason reason;
    PetscReal          residual;
    char               where[64];

    PetscCall(PetscSNPrintf(where, sizeof(where), "hidden on all ranks, %d", (int)k));
    PetscCall(CaseMat(PETSC_COMM_WORLD, &c, 31, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 8));
    for (PetscInt direct = 0; direct < 2; direct++) { /* once with a setup for something else before */
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, KSPPREONLY));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCSPIKE));
      PetscCall(KSPSetFromOptions(ksp));
      if (!direct) {
        PetscCall(KSPSetType(ksp, KSPGMRES));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPSetType(ksp, KSPPREONLY));
      }
      for (PetscInt turn = 0; turn < 2; turn++) {
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: %s", where, KSPConvergedReasons[reason]));
        PetscCall(SpikeTestResidual(A, b, x, &residual));
        PetscCall(SpikeTestSmall(residual, tol, "residual of a direct solve", where));
        PetscCall(PCSpikeGetInfo(pc, &info));
        PetscCall(
          SpikeTestCheck((PetscBool)(info.dropped == 0.0), "%s: a direct solve drops %g", where, (double)info.dropped));
        PetscCall(MatScale(A, 2.0));
      }
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each rank orders its rows where that loses nothing, or little; a direct solve loses nothing that it need not */
static PetscErrorCode TestRanks(void)
{
  const char *const names[] = {"ranks apart", "weak coupling", "strong coupling", "far coupling", "a strip"};
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int kind = RANKS_APART; size > 1 && kind <= RANKS_STRIP; kind++) {
    Mat         A;
    KSP         ksp;
    PC          pc;
    Vec         x, b;
    PCSpikeInfo info;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, 200, 200, PETSC_DECIDE, PETSC_DECIDE));
    PetscCall(SpikeTestSetMatType(A, MATAIJ));
    PetscCall(SpikeTestSetUp(A, 200));
    PetscCall(RanksMat((RanksKind)kind, 1.0, A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 6));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9, PETSC_CURRENT, PETSC_CURRENT, 40));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSpikeSetMatchingType(pc, PC_SPIKE_MATCHING_NONE));
    PetscCall(PCSpikeSetMaxBorder(pc, 0)); /* which would take far couplings */
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPSetFromOptions(ksp));
    for (PetscInt turn = 0; turn < 2; turn++) { /* and with new values */
      PetscCall(RanksMat((RanksKind)kind, turn ? 0.8 : 1.0, A));
      PetscCall(SpikeTestSolve(ksp, b, x, names[kind]));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)((info.dropped > 0.0) == (kind == RANKS_WEAK || kind == RANKS_FAR)),
                               "%s: half-bandwidths %d,%d, dropped %g", names[kind], (int)info.kl, (int)info.ku,
                               (double)info.dropped));
      if (kind != RANKS_STRONG)
        PetscCall(
          SpikeTestCheck((PetscBool)(info.reordered && PetscMax(info.kl, info.ku) <= (kind == RANKS_STRIP ? 8 : 4)),
                         "%s: half-bandwidths %d,%d", names[kind], (int)info.kl, (int)info.ku));
      PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 1 && info.refills == turn), "%s: %d setups from scratch",
                               names[kind], (int)info.rebuilds));
    }
    /* many applications are no direct solve: what would have to be gathered for it is dropped as before */
    if (kind == RANKS_FAR) {
      PetscCall(Columns(ksp, A));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.dropped > 0.0 && info.rebuilds == 1),
                               "%s: %d setups from scratch for columns, dropped %g", names[kind], (int)info.rebuilds,
                               (double)info.dropped));
    }
    PetscCall(KSPSetType(ksp, KSPPREONLY)); /* with the same PC */
    {
      PetscReal residual;

      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(SpikeTestResidual(A, b, x, &residual));
      PetscCall(SpikeTestSmall(residual, tol, "residual of a direct solve", names[kind]));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(info.dropped == 0.0), "%s: a direct solve drops %g", names[kind],
                               (double)info.dropped));
      PetscCall(SpikeTestColumns(pc, 4, tol, names[kind]));
    }
    /*
      Where an ordering is asked for, it stays, and the failure says what it costs; in single precision it is within the
      tolerance of a solve
    */
    if (kind == RANKS_FAR && !PetscDefined(USE_REAL_SINGLE)) {
      KSPConvergedReason reason;
      char               text[8192] = "", *at;
      PetscMPIInt        rank;

      PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
      PetscCall(PCSpikeSetMaxRefinements(pc, 1));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason == KSP_DIVERGED_PC_FAILED), "%s: a direct solve ends with %s",
                               names[kind], KSPConvergedReasons[reason]));
      PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
      PetscCall(ViewText(pc, sizeof(text), text));
      PetscCall(PetscStrstr(text, "couplings between ranks are outside the band", &at));
      PetscCall(SpikeTestCheck((PetscBool)(rank || at), "%s: the failure does not say why", names[kind]));
      PetscCall(PCFactorSetMatOrderingType(pc, "auto"));
      PetscCall(PCSpikeSetMaxRefinements(pc, PETSC_DECIDE));
    }
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(SpikeTestSolve(ksp, b, x, names[kind]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestHidden());
  PetscCall(TestNatural());
  PetscCall(TestRandom());
  PetscCall(TestAsked());
  PetscCall(TestRanks());
  PetscCall(TestRanksMany());
  PetscCall(TestRanksShuffled());
  PetscCall(SpikeTestEnd("spike_ordering"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_ordering_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
