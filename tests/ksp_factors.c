/* SPDX-License-Identifier: BSD-2-Clause */
/*
  ksp_factors.c: fused methods whose precision PCSPIKE follows: the same reasons and residuals as without, on matrices
  that lower precision suits and on those that it does not; whose choice it is, and what becomes of later ones
*/
static char help[] = "Factors of PCSPIKE in the precision of the Krylov method.\n\n";

#include "ksptest.h"
#include "viewtext.h"

static const KSPType           types[] = {KSPBCGSFUSED, KSPCGFUSED, KSPIDRFUSED};
static const KSPFusedPrecision lower[] = {KSP_FUSED_PRECISION_SINGLE, KSP_FUSED_PRECISION_BF16,
                                          KSP_FUSED_PRECISION_AUTO};
/* The precision of factors of the whole matrix, where single precision is asked for: a device is no faster with it */
static const char *whole = "single";
#define FULL \
  ((PetscSpikePrecision)(PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE))

/* What the view says of the factors */
static PetscErrorCode CheckFactors(PC pc, const char precision[], const char where[])
{
  char text[8192], expected[64];

  PetscFunctionBegin;
  if (PetscDefined(USE_REAL_SINGLE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ViewText(pc, sizeof(text), text));
  PetscCall(PetscSNPrintf(expected, sizeof(expected), "factors in %s precision", precision));
  PetscCall(SpikeTestCheck((PetscBool)(strstr(text, expected) != NULL), "%s: no %s\n%s", where, expected, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckGivenUp(KSP ksp, PetscBool expected, const char where[])
{
  char text[16384];

  PetscFunctionBegin;
  if (PetscDefined(USE_REAL_SINGLE)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ObjectViewText((PetscObject)ksp, sizeof(text), text));
  PetscCall(SpikeTestCheck((PetscBool)((strstr(text, "given up for PetscScalar") != NULL) == expected),
                           "%s: factors were %sgiven up", where, expected ? "not " : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  DOMINANT,
  WEAK3, /* a_ii = 0.3 of the sum of the others */
  WEAK1,
  WEAK05,
  SCALED,  /* rows of magnitudes from 1e-6 to 1e6     */
  PLATE,   /* -1, 6, -15, 20, -15, 6, -1: a condition of about n^6 */
  SLOW,    /* spikes fall slowly                      */
  ZERO,    /* zeros on the diagonal: a matching       */
  SYSTEMS, /* many small ones                         */
  LINE,    /* tridiagonal                             */
  KINDS
} Kind;
static const char *const kinds[] = {"dominant", "weak 0.3", "weak 0.1", "weak 0.05", "scaled",
                                    "plate",    "slow",     "zero",     "systems",   "line"};

static PetscScalar Value(Kind kind, const SpikeTestBand *band, PetscInt i, PetscInt j)
{
  const PetscScalar plate[] = {20.0, -15.0, 6.0, -1.0};
  PetscReal         scale   = 1.0;

  if (kind == PLATE) return PetscAbsInt(i - j) < 4 ? plate[PetscAbsInt(i - j)] : 0.0;
  if (kind == ZERO && i == j) return 0.0;
  if (kind == SYSTEMS && i / 8 != j / 8) return 0.0;
  if (kind == LINE && PetscAbsInt(i - j) > 1) return 0.0;
  if (kind == SCALED) scale = PetscPowReal(10.0, 3.0 * SpikeTestUniform(9, i, 0));
  return scale * SpikeTestBandEntry(band, i, j);
}

/* The pattern is that of a band, whatever the values */
static PetscErrorCode Fill(Kind kind, Mat A)
{
  SpikeTestBand band = {0, 4, 3, 1.5, SPIKE_TEST_RANDOM, 5};
  PetscInt      start, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &band.n, NULL));
  if (kind == WEAK3) band.dominance = 0.3;
  if (kind == WEAK1) band.dominance = 0.1;
  if (kind == WEAK05) band.dominance = 0.05;
  if (kind == SLOW) {
    band.dominance = 1.0001;
    band.kind      = SPIKE_TEST_SLOW;
  }
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++)
    for (PetscInt j = PetscMax(0, i - band.kl); j <= PetscMin(band.n - 1, i + band.ku); j++)
      PetscCall(MatSetValue(A, i, j, Value(kind, &band, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(Kind kind, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(Fill(kind, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(KSPType type, Mat A, KSPFusedPrecision precision, PetscBool left, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPTestCreate(type, PCSPIKE, A, ksp));
  PetscCall(KSPSetNormType(*ksp, left ? KSP_NORM_PRECONDITIONED : KSP_NORM_UNPRECONDITIONED));
  if (strcmp(type, KSPCGFUSED)) PetscCall(KSPSetPCSide(*ksp, left ? PC_LEFT : PC_RIGHT));
  PetscCall(KSPFusedSetPrecision(*ksp, precision));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 400));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = A w, w random, so that x is of moderate size whatever the condition */
static PetscErrorCode MakeRhs(Mat A, Vec x, Vec b)
{
  PetscFunctionBegin;
  PetscCall(SpikeTestSetRandom(x, 71));
  PetscCall(MatMult(A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations in double precision with the plate's values, A, that come later than those of the first setup */
static PetscErrorCode SolveLater(KSPType type, Mat A, PetscBool left, PetscInt n, Vec x, Vec b, PetscInt *its)
{
  Mat                B;
  KSP                ksp;
  PC                 pc;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Make(DOMINANT, n, &B));
  PetscCall(Create(type, B, KSP_FUSED_PRECISION_DOUBLE, left, &ksp, &pc));
  PetscCall(MakeRhs(B, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Fill(PLATE, B));
  PetscCall(MakeRhs(A, x, b));
  PetscCall(KSPTestSolveAny(ksp, b, x, its, &residual, &reason));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Each kind, solved from scratch, with the first values of a pattern, and with values that come later, for which the
  setup does not look how wrong factors are: the reason and the residual of a solve in full precision
*/
static PetscErrorCode TestKinds(KSPType type, PetscInt n, PetscBool left)
{
  /* with left preconditioning the norm of the test is another one */
  const PetscReal most = left ? 1000 : PetscDefined(USE_REAL_SINGLE) ? 10 : (PetscReal)(1.0 + 1e-3);

  PetscFunctionBegin;
  for (int kind = 0; kind < KINDS; kind++) {
    Mat                A, B;
    Vec                x, b;
    KSP                ksp;
    PC                 pc;
    PetscInt           its[2], first;
    PetscReal          residual[2];
    KSPConvergedReason reason[2];
    PCSpikeInfo        info[2];
    char               where[96];

    if (PetscDefined(USE_REAL_SINGLE) && kind != DOMINANT && kind != SYSTEMS && kind != LINE) continue;
    PetscCall(Make((Kind)kind, n, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(MakeRhs(A, x, b));
    PetscCall(Create(type, A, KSP_FUSED_PRECISION_DOUBLE, left, &ksp, &pc));
    PetscCall(KSPTestSolveAny(ksp, b, x, &its[0], &residual[0], &reason[0]));
    PetscCall(PCSpikeGetInfo(pc, &info[0]));
    PetscCall(KSPDestroy(&ksp));
    first = its[0];
    for (int p = 0; p < 3; p++)
      for (int later = 0; later < 2; later++) {
        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %s, %s", type, kinds[kind],
                                KSPFusedPrecisions[lower[p]], left ? "left" : "right",
                                later ? "later values" : "first values"));
        PetscCall(Make(later ? DOMINANT : (Kind)kind, n, &B));
        PetscCall(Create(type, B, lower[p], left, &ksp, &pc));
        if (later) {
          PetscCall(MakeRhs(B, x, b));
          PetscCall(KSPSolve(ksp, b, x));
          PetscCall(CheckFactors(pc, whole, where));
          PetscCall(Fill((Kind)kind, B));
        }
        PetscCall(MakeRhs(A, x, b));
        PetscCall(KSPTestSolveAny(ksp, b, x, &its[1], &residual[1], &reason[1]));
        PetscCall(
          SpikeTestCheck((PetscBool)(reason[1] == reason[0] || reason[1] > 0),
                         "%s: ended with %s after %" PetscInt_FMT " iterations, else with %s after %" PetscInt_FMT,
                         where, KSPConvergedReasons[reason[1]], its[1], KSPConvergedReasons[reason[0]], its[0]));
        /* that of the plate is limited by rounding */
        if (reason[0] > 0)
          PetscCall(SpikeTestSmall(residual[1], (kind == PLATE ? 10 : 1) * most * PetscMax(KSPTEST_RTOL, residual[0]),
                                   "true residual", where));
        PetscCall(PCSpikeGetInfo(pc, &info[1]));
        if (!later)
          PetscCall(SpikeTestCheck((PetscBool)(info[0].systems == info[1].systems),
                                   "%s: %" PetscInt_FMT " systems, else %" PetscInt_FMT, where, info[1].systems,
                                   info[0].systems));
        if (kind == DOMINANT || kind == SCALED) PetscCall(CheckFactors(pc, whole, where));
        if (kind == DOMINANT || kind == SCALED)
          PetscCall(SpikeTestCheck((PetscBool)(its[1] <= its[0] + 1),
                                   "%s: %" PetscInt_FMT " iterations, else "
                                   "%" PetscInt_FMT,
                                   where, its[1], its[0]));
        if (!later && (kind == SYSTEMS || kind == LINE)) PetscCall(CheckFactors(pc, "double", where));
        if (kind == PLATE && later) {
          PetscCall(CheckFactors(pc, "double", where));
          PetscCall(KSPTestSolveAny(ksp, b, x, &its[1], &residual[1], &reason[1])); /* not tried again */
          PetscCall(CheckGivenUp(ksp, PETSC_FALSE, where));
          PetscCall(CheckFactors(pc, "double", where));
          /* factors that are not given up have not looked at the later values either: as many as in double precision */
          if (!strcmp(whole, "double")) PetscCall(SolveLater(type, A, left, n, x, b, &its[0]));
          PetscCall(SpikeTestCheck((PetscBool)(its[1] <= its[0] + 1),
                                   "%s: then %" PetscInt_FMT " iterations, else "
                                   "%" PetscInt_FMT,
                                   where, its[1], its[0]));
          its[0] = first;
        }
        PetscCall(KSPDestroy(&ksp));
        PetscCall(MatDestroy(&B));
      }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whose choice it is: options that change, PCs that change, are shared, or have been set up before */
static PetscErrorCode TestChoice(KSPType type, PetscInt n)
{
  Mat                 A;
  Vec                 x, b;
  KSP                 ksp, other, plain;
  PC                  pc;
  PetscInt            its;
  PetscReal           residual;
  KSPConvergedReason  reason;
  PetscSpikePrecision precision;
  PCSpikeInfo         info;

  PetscFunctionBegin;
  PetscCall(Make(DOMINANT, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MakeRhs(A, x, b));
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, PETSC_FALSE, &ksp, &pc));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "first"));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  PetscCall(SpikeTestCheck((PetscBool)(precision == FULL), "PCSpikeGetPrecision() returns what nobody set"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 1), "%" PetscInt_FMT " setups from scratch", info.rebuilds));
  PetscCall(MatScale(A, 2.0)); /* refilled */
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds == 1 && info.refills == 1),
                           "other values: %" PetscInt_FMT " setups from scratch, %" PetscInt_FMT " refills",
                           info.rebuilds, info.refills));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, "double", "the option has changed"));
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_AUTO));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "the option has changed back"));
  PetscCall(PCSpikeSetPrecision(pc, FULL)); /* the user's choice */
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, "double", "the user's choice"));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_FP16));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, "fp16", "the user's choice"));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(PCSetType(pc, PCSPIKE)); /* a new one, of which nobody has chosen anything */
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "another type, and back"));
  /* one PC for two KSPs that differ, set up by one of them already */
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_DOUBLE, PETSC_FALSE, &other, &pc));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPSetPC(other, pc));
  PetscCall(KSPSolve(other, b, x));
  PetscCall(CheckFactors(pc, whole, "a shared one, of a KSP that asks for nothing"));
  PetscCall(KSPFusedSetPrecision(other, KSP_FUSED_PRECISION_SINGLE));
  PetscCall(KSPSolve(other, b, x));
  PetscCall(KSPDestroy(&other));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckFactors(pc, whole, "a shared one, whose other KSP has gone"));
  /* of a method that knows nothing of it, from now on */
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckFactors(pc, "double", "another method"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPTestCreate(KSPPREONLY, PCSPIKE, A, &plain));
  PetscCall(KSPSetFromOptions(plain));
  PetscCall(KSPSolve(plain, b, x));
  PetscCall(KSPGetPC(plain, &pc));
  PetscCall(CheckFactors(pc, "double", "KSPPREONLY"));
  PetscCall(KSPDestroy(&plain));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What goes with full precision alone is no error */
static PetscErrorCode TestFeatures(KSPType type, PetscInt n)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    const char *const where[] = {"pivoting", "direct", "cyclic reduction", "batch"};

    PetscCall(Make(k == 2 ? LINE : k == 3 ? SYSTEMS : DOMINANT, n, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(MakeRhs(A, x, b));
    PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, PETSC_FALSE, &ksp, &pc));
    if (k == 0) PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
    if (k == 1) PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
    if (k == 2) PetscCall(PCSpikeSetTridiagonalType(pc, PC_SPIKE_TRIDIAGONAL_CR));
    if (k == 3) PetscCall(PCSpikeSetBatchType(pc, PC_SPIKE_BATCH_ALWAYS));
    PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where[k], KSPConvergedReasons[reason]));
    PetscCall(CheckFactors(pc, "double", where[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of a band that leaves out entries: bf16 on a device, as long as the method needs no symmetric B */
static PetscErrorCode TestParts(KSPType type, PetscInt nx, PetscBool device)
{
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NATURAL};
  const PetscBool   cg      = (PetscBool)!strcmp(type, KSPCGFUSED);
  Mat               A;
  Vec               x, b;
  KSP               ksp;
  PC                pc;

  PetscFunctionBegin;
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, nx, nx, PETSC_DECIDE, 0.02, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 72));
  for (int k = 0; k < (cg ? 3 : 2); k++) {
    PetscInt  its[2], all = 0;
    PetscReal residual[2];

    for (int p = -1; p < 3; p++) {
      const KSPFusedPrecision precision = p < 0 ? KSP_FUSED_PRECISION_DOUBLE : lower[p];
      const PetscBool         bf16      = (PetscBool)(precision == KSP_FUSED_PRECISION_BF16);
      KSPConvergedReason      reason;
      char                    where[96];

      PetscCall(PetscSNPrintf(where, sizeof(where), "%s, a part of a grid, %s, %s", type, KSPFusedPrecisions[precision],
                              KSPNormTypes[norms[k]]));
      PetscCall(Create(type, A, precision, (PetscBool)(k > 0), &ksp, &pc));
      PetscCall(KSPSetNormType(ksp, norms[k]));
      PetscCall(PCSpikeSetBandwidth(pc, 2, 2));
      PetscCall(PCSpikeSetBatchType(pc, PC_SPIKE_BATCH_NEVER));
      PetscCall(KSPTestSolveAny(ksp, b, x, &its[p >= 0], &residual[p >= 0], &reason));
      PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "%s: ended with %s", where, KSPConvergedReasons[reason]));
      PetscCall(SpikeTestSmall(residual[p >= 0],
                               (k                               ? 1000
                                : PetscDefined(USE_REAL_SINGLE) ? 10
                                                                : 1.001) *
                                 KSPTEST_RTOL,
                               "true residual", where));
      if (p < 0) all = its[0];
      else
        PetscCall(
          SpikeTestCheck((PetscBool)(its[1] <= (bf16 ? 1.8 : 1.3) * all + 4 || (bf16 && PetscDefined(USE_COMPLEX))),
                         "%s: %" PetscInt_FMT " iterations, else %" PetscInt_FMT, where, its[1], all));
      PetscCall(CheckFactors(pc, p < 0 ? "double" : bf16 && device && !cg ? "bf16" : "single", where));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several columns have full precision */
static PetscErrorCode TestColumns(KSPType type, PetscInt n)
{
  Mat                A, B, X;
  Vec                x, b, v;
  KSP                ksp;
  PC                 pc;
  PetscInt           m, its;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Make(DOMINANT, n, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MakeRhs(A, x, b));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_WORLD, ((PetscObject)b)->type_name, m, PETSC_DECIDE, PETSC_DETERMINE,
                                      3, PETSC_DETERMINE, NULL, &B));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt j = 0; j < 3; j++) {
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(Create(type, A, KSP_FUSED_PRECISION_SINGLE, PETSC_FALSE, &ksp, &pc));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(SpikeTestCheck((PetscBool)(reason > 0), "columns: ended with %s", KSPConvergedReasons[reason]));
  PetscCall(CheckFactors(pc, "double", "columns"));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "one column after three"));
  PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE)); /* kept factors are kept */
  PetscCall(KSPFusedSetPrecision(ksp, KSP_FUSED_PRECISION_DOUBLE));
  PetscCall(KSPTestSolveAny(ksp, b, x, &its, &residual, &reason));
  PetscCall(CheckFactors(pc, whole, "a preconditioner that is kept"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt n = 1200;
  PetscBool      device;
  Mat            A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(KSPTestGrid(PETSC_COMM_WORLD, 2, 2, PETSC_DECIDE, 0.1, &A));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &device, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, MATSEQDIACUDA,
                                      MATMPIDIACUDA, ""));
  PetscCall(MatDestroy(&A));
  if (device) whole = "double";
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(TestParts(types[t], 30, device));
    if (t == 1) continue; /* for matrices that are hermitian */
    for (int left = 0; left < 2; left++) PetscCall(TestKinds(types[t], n, (PetscBool)left));
    PetscCall(TestChoice(types[t], n));
    PetscCall(TestFeatures(types[t], n));
    PetscCall(TestColumns(types[t], n));
  }
  PetscCall(SpikeTestEnd("ksp_factors"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/ksp_factors_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: dia
         nsize: {{1 2}}
         args: -mat_type dia
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -mat_type {{aijcusparse diacuda}}

TEST*/
