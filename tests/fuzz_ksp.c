/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fuzz_ksp.c: a solve that says that it has converged has a small residual b - A x, computed here from a dense array,
  and the solution of LAPACK where that is well determined; easy problems are solved; anything else ends with a reason
*/
static char help[] = "Random cases of the fused Krylov methods: matrices, preconditioners, sides, norms, guesses.\n\n";

#include "ksptest.h"
#include "fuzz.h"

typedef enum {
  KIND_DOMINANT,   /* a random band, dominant by rows */
  KIND_DEFINITE,   /* the same, Hermitian */
  KIND_LAPLACE,    /* tridiagonal, condition n^2 */
  KIND_NEUMANN,    /* singular, rows sum to zero */
  KIND_RANDOM,     /* a random band */
  KIND_INDEFINITE, /* the same, Hermitian */
  KIND_ZEROROW,    /* dominant, but for a row of zeros */
  KIND_SKEW,       /* [0 1; -1 0] along the diagonal */
  KIND_SHIFT,      /* a permutation */
  KIND_ZERO,
  KIND_IDENTITY,
  KIND_EQUAL, /* two equal rows */
  NKINDS
} Kind;
static const char *const kinds[] = {"dominant", "definite", "laplace", "neumann", "random",   "indefinite",
                                    "zero row", "skew",     "shift",   "zero",    "identity", "equal rows"};

typedef struct {
  Kind         kind;
  PetscInt     n, nlocal, kl, seed, scale; /* entries times 2^scale */
  PetscScalar *a, *inv;                    /* dense, on all ranks */
  PetscReal    ninv;                       /* Frobenius norm of inv; 0: there is none that is worth comparing */
  PetscBool    hermitian, definite, easy;
  PetscBool    nullspace;
} Problem;

static PetscScalar Entry(const Problem *p, PetscInt i, PetscInt j)
{
  const PetscInt n = p->n, d = PetscAbsInt(i - j);

  switch (p->kind) {
  case KIND_LAPLACE:
    return d ? (d == 1 ? -1.0 : 0.0) : 2.0;
  case KIND_NEUMANN:
    return d ? (d == 1 ? -1.0 : 0.0) : (PetscReal)((i > 0) + (i < n - 1));
  case KIND_SKEW:
    return d == 1 && i / 2 == j / 2 ? (i < j ? 1.0 : -1.0) : 0.0;
  case KIND_SHIFT:
    return j == (i + 1) % n ? 1.0 : 0.0;
  case KIND_ZERO:
    return 0.0;
  case KIND_IDENTITY:
    return d ? 0.0 : 3.0;
  case KIND_ZEROROW:
    if (i == n / 3) return 0.0;
    break;
  case KIND_EQUAL:
    if (i == n / 2) i = i ? i - 1 : 0;
    break;
  default:
    break;
  }
  if (d > p->kl) return 0.0;
  if (i == j && p->kind != KIND_RANDOM && p->kind != KIND_INDEFINITE && p->kind != KIND_EQUAL)
    return (PetscDefined(USE_COMPLEX) ? 3.2 : 2.2) * PetscMax(1, p->kl);
  if (p->kind != KIND_DEFINITE && p->kind != KIND_INDEFINITE) return SpikeTestScalar(p->seed, i, j);
  if (i == j) return SpikeTestUniform(p->seed, i, i);
  return i < j ? SpikeTestScalar(p->seed, i, j) : PetscConj(SpikeTestScalar(p->seed, j, i));
}

/* Entries, and their inverse by LAPACK */
static PetscErrorCode SetEntries(Problem *p)
{
  const PetscInt n    = p->n;
  PetscReal      norm = 0.0, sum = 0.0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < n; j++)
    for (PetscInt i = 0; i < n; i++) p->a[i + j * n] = Entry(p, i, j);
  p->hermitian = (PetscBool)(p->kind == KIND_DEFINITE || p->kind == KIND_LAPLACE || p->kind == KIND_NEUMANN ||
                             p->kind == KIND_INDEFINITE || p->kind == KIND_ZERO || p->kind == KIND_IDENTITY);
  p->definite  = (PetscBool)(p->kind == KIND_DEFINITE || p->kind == KIND_LAPLACE || p->kind == KIND_IDENTITY);
  p->easy      = (PetscBool)(p->kind == KIND_DOMINANT || p->definite);
  p->ninv      = 0.0;
  if (p->definite || p->kind == KIND_DOMINANT || p->kind == KIND_RANDOM || p->kind == KIND_INDEFINITE) {
    PetscCall(SpikeTestInvert(n, p->a, n, p->inv, n));
    for (PetscInt k = 0; k < n * n; k++) {
      norm += PetscSqr(PetscAbsScalar(p->inv[k]));
      sum += PetscSqr(PetscAbsScalar(p->a[k]));
    }
    norm = PetscSqrtReal(norm);
    if (norm * PetscSqrtReal(sum) < 1e-3 / PETSC_MACHINE_EPSILON && !p->scale) p->ninv = norm;
  }
  for (PetscInt k = 0; k < n * n; k++)
    for (PetscInt t = 0; t < 2; t++)
      p->a[k] *= (PetscReal)ldexp(1.0, (int)(t ? p->scale - p->scale / 2 : p->scale / 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetMat(const Problem *p, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < p->n; j++)
      if (p->a[i + j * p->n] != (PetscScalar)0.0 || i == j)
        PetscCall(MatSetValue(A, i, j, p->a[i + j * p->n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeProblem(Fuzz *f, Problem *p, Mat *A)
{
  const MatType  types[] = {MATAIJ, MATAIJ, MATAIJ, MATDIA, MATBAIJ, MATDENSE}, device[] = {MATAIJCUSPARSE, "diacuda"};
  const PetscInt most = PetscDefined(USE_REAL_SINGLE) ? 110 : 996;
  MatType        type;

  PetscFunctionBegin;
  p->kind  = FuzzChance(f, 50) ? (Kind)FuzzInt(f, 0, 2) : (Kind)FuzzInt(f, 0, NKINDS - 1);
  p->n     = FuzzSize(f, 300);
  p->kl    = FuzzInt(f, 0, 4);
  p->seed  = FuzzInt(f, 0, 100000);
  p->scale = FuzzChance(f, 75) ? 0 : (FuzzChance(f, 50) ? -1 : 1) * (FuzzChance(f, 50) ? most : FuzzInt(f, 0, most));
  type     = f->device ? device[FuzzInt(f, 0, 1)] : types[FuzzInt(f, 0, 5)];
  PetscCall(FuzzSplit(f, p->n, &p->nlocal));
  PetscCall(PetscMalloc2(p->n * p->n, &p->a, p->n * p->n, &p->inv));
  PetscCall(SetEntries(p));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, p->nlocal, p->nlocal, p->n, p->n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  if (strcmp(type, MATDENSE)) PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(SetMat(p, *A));
  p->nullspace = (PetscBool)(p->kind == KIND_NEUMANN && p->n && FuzzChance(f, 50));
  if (p->nullspace) {
    MatNullSpace nullspace;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &nullspace));
    PetscCall(MatSetNullSpace(*A, nullspace));
    PetscCall(MatSetTransposeNullSpace(*A, nullspace));
    PetscCall(MatNullSpaceDestroy(&nullspace));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver, and what of it the checks have to know */
typedef struct {
  KSP         ksp;
  KSPType     type;
  PCSide      side;
  KSPNormType norm;
  PetscReal   rtol;
  PetscInt    maxit;
  PetscBool   infinity, check, replaced;
  /* which has no transpose, and in PETSc 3.26.1 writes past its memory after a change of the pattern */
  PetscBool sor;
  PetscBool plain; /* the preconditioner is regular, and definite where the matrix is */
  Vec       shell; /* of a diagonal preconditioner with zeros */
  char      text[160];
} Solver;

static PetscErrorCode ShellApply(PC pc, Vec x, Vec y)
{
  Vec *d;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &d));
  PetscCall(VecPointwiseMult(y, x, *d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChoosePC(Fuzz *f, const Problem *p, Mat A, Solver *s, char name[], size_t length)
{
  const char *const names[] = {PCNONE, PCJACOBI, PCBJACOBI, PCSOR, PCSPIKE, PCBLOCKILU, PCASM, PCKSP, PCSHELL};
  PetscInt          k       = FuzzInt(f, 0, 8);
  PetscBool         aij;
  PC                pc;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!aij && k != 0 && k != 4 && k != 8) k = FuzzInt(f, 0, 1);
  if (k == 3 && !p->easy) k = 1; /* PETSc's SOR raises an error for a zero on the diagonal */
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PCSetType(pc, names[k]));
  PetscCall(PetscStrncpy(name, names[k], length));
  /* SOR is not symmetric on several ranks, blocks of them need not be regular */
  s->plain = (PetscBool)(k < 2 || k == 5);
  s->sor   = (PetscBool)(k == 3);
  if (k == 4) { /* ranks with fewer rows than a half-bandwidth are refused */
    PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
    s->plain = (PetscBool)(p->kind == KIND_DOMINANT || p->definite);
  }
  if (k == 3) PetscCall(PCSORSetSymmetric(pc, SOR_LOCAL_SYMMETRIC_SWEEP));
  if (k == 7) {
    KSP inner;

    PetscCall(PCKSPGetKSP(pc, &inner));
    PetscCall(KSPSetType(inner, KSPGMRES));
    PetscCall(KSPSetTolerances(inner, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 3));
  }
  if (k == 8) {
    PetscInt begin, end;

    PetscCall(VecSet(s->shell, 0.3));
    PetscCall(VecGetOwnershipRange(s->shell, &begin, &end));
    for (PetscInt i = begin; i < end; i++)
      if (i % 5 == 2) PetscCall(VecSetValue(s->shell, i, i % 2 ? 0.0 : 1e-9, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(s->shell));
    PetscCall(VecAssemblyEnd(s->shell));
    PetscCall(PCShellSetContext(pc, &s->shell));
    PetscCall(PCShellSetApply(pc, ShellApply));
    PetscCall(PCShellSetApplyTranspose(pc, ShellApply));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Side, norm and form of a method */
static PetscErrorCode ChooseForm(Fuzz *f, KSPFusedPrecision precision, Solver *s)
{
  const KSPNormType cg[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
  const PetscBool   iscg = (PetscBool)!strcmp(s->type, KSPCGFUSED), idr = (PetscBool)!strcmp(s->type, KSPIDRFUSED);
  const PetscInt    default_ = FuzzInt(f, 0, 99);

  PetscFunctionBegin;
  s->side = iscg || (default_ >= 60 && FuzzChance(f, 60)) ? PC_LEFT : PC_RIGHT;
  s->norm = s->side == PC_LEFT ? KSP_NORM_PRECONDITIONED : KSP_NORM_UNPRECONDITIONED;
  if (iscg) s->norm = cg[default_ < 60 ? 0 : FuzzInt(f, 0, 3)];
  else if (FuzzChance(f, 8)) s->norm = KSP_NORM_NONE;
  PetscCall(KSPSetPCSide(s->ksp, s->side));
  PetscCall(KSPSetNormType(s->ksp, s->norm));
  PetscCall(
    KSPFusedSetReductions(s->ksp, FuzzChance(f, 50) ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED));
  PetscCall(KSPFusedSetSpMVType(s->ksp, FuzzChance(f, 60) ? KSP_FUSED_SPMV_AUTO : KSP_FUSED_SPMV_PETSC));
  s->replaced = FuzzChance(f, 10);
  PetscCall(KSPFusedSetResidualReplacement(s->ksp, s->replaced ? FuzzInt(f, 1, 10) : 0));
  PetscCall(KSPFusedSetLockstep(s->ksp, FuzzChance(f, 20)));
  s->check = (PetscBool)!FuzzChance(f, 5);
  PetscCall(KSPFusedSetCheckTrueResidual(s->ksp, s->check));
  PetscCall(KSPFusedSetMatSolveType(s->ksp, FuzzChance(f, 15)
                                              ? KSP_FUSED_MATSOLVE_SINGLE
                                              : (iscg && FuzzChance(f, 40) ? KSP_FUSED_MATSOLVE_BLOCK
                                                                           : KSP_FUSED_MATSOLVE_COLUMNS)));
  if (idr) {
    PetscCall(KSPIDRSetS(s->ksp, FuzzInt(f, 1, FuzzChance(f, 80) ? 4 : 9)));
    PetscCall(KSPIDRFusedSetSmoothing(s->ksp, FuzzChance(f, 20)));
    PetscCall(KSPIDRFusedSetOrthogType(s->ksp, (KSPIDRFusedOrthogType)FuzzInt(f, 0, 2)));
  }
  PetscCall(KSPFusedSetPrecision(s->ksp, precision)); /* without a number of the sequence: cases stay what they were */
  s->infinity = FuzzChance(f, 6);
  if (s->infinity) PetscCall(KSPSetConvergenceTest(s->ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeSolver(Fuzz *f, const Problem *p, Mat A, Solver *s)
{
  const KSPType           types[]      = {KSPBCGSFUSED, KSPIDRFUSED, KSPCGFUSED};
  const KSPFusedPrecision precisions[] = {KSP_FUSED_PRECISION_SINGLE, KSP_FUSED_PRECISION_SINGLE,
                                          KSP_FUSED_PRECISION_BF16, KSP_FUSED_PRECISION_BF16, KSP_FUSED_PRECISION_AUTO};
  char                    pcname[32];

  PetscFunctionBegin;
  s->type = types[p->hermitian && FuzzChance(f, 60) ? 2 : FuzzInt(f, 0, FuzzChance(f, 90) ? 1 : 2)];
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s->ksp));
  PetscCall(KSPSetOperators(s->ksp, A, A));
  PetscCall(KSPSetType(s->ksp, s->type));
  s->rtol  = PetscPowReal(10.0, -FuzzInt(f, 2, PetscDefined(USE_REAL_SINGLE) ? 4 : 10));
  s->maxit = FuzzChance(f, 80) ? 1000 : FuzzInt(f, 0, 20);
  PetscCall(ChooseForm(f, p->seed % 10 < 5 ? KSP_FUSED_PRECISION_DOUBLE : precisions[p->seed % 10 - 5], s));
  if (s->norm == KSP_NORM_NONE) s->maxit = PetscMin(s->maxit, 5);
  if (f->device && !p->easy) s->maxit = PetscMin(s->maxit, 100); /* an iteration on vectors of 100 takes longer there */
  PetscCall(KSPSetTolerances(s->ksp, s->rtol, 0.0, PETSC_CURRENT, s->maxit));
  PetscCall(ChoosePC(f, p, A, s, pcname, sizeof(pcname)));
  PetscCall(PetscSNPrintf(s->text, sizeof(s->text), "%s %s, %s %s%s%s", s->type, pcname, PCSides[s->side],
                          KSPNormTypes[s->norm], s->infinity ? ", infinity norm" : "",
                          s->replaced ? ", replaced" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The 2-norm, without squares that leave the range */
static PetscReal GetNorm(PetscInt n, const PetscScalar v[])
{
  PetscReal most = 0.0, sum = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    const PetscReal d = PetscAbsScalar(v[i]);

    if (!(d <= most)) most = PetscIsInfOrNanReal(d) ? PETSC_MAX_REAL : d;
  }
  if (most == 0.0 || most == PETSC_MAX_REAL) return most;
  for (PetscInt i = 0; i < n; i++) sum += PetscSqr(PetscAbsScalar(v[i]) / most);
  return most * PetscSqrtReal(sum);
}

/* r = b - op(A) x, and what its rounding may be */
static PetscReal Residual(const Problem *p, PetscBool trans, const PetscScalar *b, const PetscScalar *x, PetscScalar *r)
{
  const PetscInt n     = p->n;
  PetscReal      error = 0.0;

  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = PetscAbsScalar(b[i]);

    r[i] = b[i];
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar e = (trans ? p->a[j + i * n] : p->a[i + j * n]) * x[j];

      r[i] -= e;
      sum += PetscAbsScalar(e);
    }
    error = PetscMax(error, sum);
  }
  return 10 * (n + 4) * PETSC_MACHINE_EPSILON * error;
}

typedef struct {
  PetscScalar *b, *x0, *x, *r;
  PetscBool    guess, trans, block;
} Outcome;

/* What a reason promises. b, guess and solution on all ranks */
static PetscErrorCode CheckSolve(const Problem *p, const Solver *s, const Outcome *o, KSPConvergedReason reason,
                                 PetscInt its, const char where[])
{
  const PetscInt n = p->n;
  PetscReal      nb, nr, reference, rounding, bound;
  PetscBool      must;
  char           what[96];

  PetscFunctionBegin;
  if (p->nullspace) { /* the right-hand side that is solved for */
    PetscScalar sum = 0.0;

    for (PetscInt i = 0; i < n; i++) sum += o->b[i];
    for (PetscInt i = 0; i < n; i++) o->b[i] -= sum / (PetscReal)n;
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "residual after %" PetscInt_FMT " iterations and %s", its,
                          KSPConvergedReasons[reason]));
  PetscCall(FuzzSmall(reason == KSP_CONVERGED_ITERATING ? 1.0 : 0.0, 0.0, "no reason", where));
  PetscCall(FuzzSmall((PetscReal)its, (PetscReal)s->maxit, "iterations", where));
  nb        = GetNorm(n, o->b);
  reference = nb;
  if (o->guess && (nb == 0.0 || s->infinity)) {
    rounding  = Residual(p, o->trans, o->b, o->x0, o->r);
    reference = PetscMax(nb, GetNorm(n, o->r)) + rounding;
  }
  must = (PetscBool)(p->easy && s->plain && !p->scale && s->maxit == 1000 && s->norm != KSP_NORM_NONE && s->check &&
                     (strcmp(s->type, KSPCGFUSED) || p->definite) && !s->infinity && !s->replaced);
  /* nothing is promised that rounding does not allow: of a guess, and of a method that is not backward stable */
  if (must && s->rtol < (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-8)) must = PETSC_FALSE;
  if (must && o->guess && !(nb > 0.01)) must = PETSC_FALSE; /* a residual far above b is called divergence */
  if (must && p->kind != KIND_DOMINANT && p->kind != KIND_DEFINITE && p->kind != KIND_IDENTITY) must = PETSC_FALSE;
  if (must) PetscCall(FuzzSmall(reason > 0 ? 0.0 : 1.0, 0.0, KSPConvergedReasons[reason], where));
  if (reason <= 0 || s->norm == KSP_NORM_NONE || !s->check) PetscFunctionReturn(PETSC_SUCCESS);
  rounding = Residual(p, o->trans, o->b, o->x, o->r);
  nr       = GetNorm(n, o->r);
  bound    = (s->infinity ? 100 * PetscSqrtReal((PetscReal)n) : 100) * s->rtol * reference + rounding;
  /* a guess whose residual is nothing but rounding of huge numbers */
  if (o->guess && nb == 0.0) bound += Residual(p, o->trans, o->b, o->x0, o->r);
  PetscCall(FuzzSmall(nr / (bound > 0.0 ? bound : 1.0), 1.0, what, where));
  if (p->ninv > 0.0) { /* A^-1 b, A^-T b */
    for (PetscInt i = 0; i < n; i++) {
      o->r[i] = -o->x[i];
      for (PetscInt j = 0; j < n; j++) o->r[i] += (o->trans ? p->inv[j + i * n] : p->inv[i + j * n]) * o->b[j];
    }
    PetscCall(FuzzSmall(GetNorm(n, o->r), 10 * p->ninv * (bound + rounding), "distance from LAPACK's solution", where));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side: random, 0, one entry, or A times something; at times of another size */
static PetscErrorCode MakeRhs(Fuzz *f, const Problem *p, Mat A, Vec b)
{
  const PetscInt kind = FuzzInt(f, 0, 9), e = FuzzChance(f, 92) ? 0 : FuzzInt(f, -300, 300),
                 seed = FuzzInt(f, 0, 100000);
  PetscInt all        = p->scale + (PetscDefined(USE_REAL_SINGLE) ? e / 8 : e);

  PetscFunctionBegin;
  PetscCall(SpikeTestSetRandom(b, seed));
  if (!kind) PetscCall(VecSet(b, 0.0));
  if (kind == 1 && p->n) {
    PetscInt begin, end, i = seed % p->n;

    PetscCall(VecSet(b, 0.0));
    PetscCall(VecGetOwnershipRange(b, &begin, &end));
    if (i >= begin && i < end) PetscCall(VecSetValue(b, i, 1.0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
  }
  if (kind == 2 || kind == 3) {
    Vec x;

    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecCopy(b, x));
    PetscCall(MatMult(A, x, b));
    PetscCall(VecDestroy(&x));
    all -= p->scale;
  }
  if (PetscDefined(USE_REAL_SINGLE)) all = PetscMax(-115, PetscMin(all, 115));
  else all = PetscMax(-1010, PetscMin(all, 1010));
  PetscCall(KSPTestTimes(b, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SingleSolve(Fuzz *f, const Problem *p, const Solver *s, Mat A, Outcome *o, const char where[])
{
  KSPConvergedReason reason;
  PetscInt           its;
  Vec                b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(MakeRhs(f, p, A, b));
  PetscCall(FuzzGather(b, o->b));
  PetscCall(SpikeTestSetRandom(x, FuzzInt(f, 0, 1000)));
  if (o->guess && FuzzChance(f, 30) && p->ninv > 0.0 && !o->trans) { /* the solution */
    PetscInt     begin, end;
    PetscScalar *xa;

    PetscCall(VecGetOwnershipRange(x, &begin, &end));
    PetscCall(VecGetArrayWrite(x, &xa));
    for (PetscInt i = begin; i < end; i++) {
      xa[i - begin] = 0.0;
      for (PetscInt j = 0; j < p->n; j++) xa[i - begin] += p->inv[i + j * p->n] * o->b[j];
    }
    PetscCall(VecRestoreArrayWrite(x, &xa));
  }
  PetscCall(FuzzGather(x, o->x0));
  if (o->trans) PetscCall(KSPSolveTranspose(s->ksp, b, x));
  else PetscCall(KSPSolve(s->ksp, b, x));
  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(KSPGetIterationNumber(s->ksp, &its));
  PetscCall(FuzzGather(x, o->x));
  PetscCall(CheckSolve(p, s, o, reason, its, where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ColumnSolve(Fuzz *f, const Problem *p, const Solver *s, Mat A, Outcome *o, const char where[])
{
  const PetscInt            m = FuzzInt(f, 1, FuzzChance(f, 85) ? 6 : 40);
  const KSPConvergedReason *reasons;
  const PetscInt           *its;
  PetscInt                  count;
  Mat                       B, X, X0;
  Vec                       b, v;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, p->nlocal, PETSC_DECIDE, p->n, m, NULL, &B));
  if (f->device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  for (PetscInt j = 0; j < m; j++) {
    if (!j || FuzzChance(f, 90)) PetscCall(MakeRhs(f, p, A, b)); /* or the same once more */
    PetscCall(MatDenseGetColumnVecWrite(B, j, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, j, &v));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  for (PetscInt j = 0; j < m; j++) {
    PetscCall(MatDenseGetColumnVecWrite(X, j, &v));
    PetscCall(SpikeTestSetRandom(v, 3 + j));
    PetscCall(MatDenseRestoreColumnVecWrite(X, j, &v));
  }
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &X0));
  if (o->trans) PetscCall(KSPMatSolveTranspose(s->ksp, B, X));
  else PetscCall(KSPMatSolve(s->ksp, B, X));
  PetscCall(KSPFusedGetColumns(s->ksp, &count, &its, &reasons, NULL, NULL));
  for (PetscInt j = 0; j < count; j++) {
    PetscCall(MatDenseGetColumnVecRead(B, j, &v));
    PetscCall(FuzzGather(v, o->b));
    PetscCall(MatDenseRestoreColumnVecRead(B, j, &v));
    PetscCall(MatDenseGetColumnVecRead(X0, j, &v));
    PetscCall(FuzzGather(v, o->x0));
    PetscCall(MatDenseRestoreColumnVecRead(X0, j, &v));
    PetscCall(MatDenseGetColumnVecRead(X, j, &v));
    PetscCall(FuzzGather(v, o->x));
    PetscCall(MatDenseRestoreColumnVecRead(X, j, &v));
    PetscCall(CheckSolve(p, s, o, reasons[j], its[j], where));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&X0));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const PetscInt solves = FuzzInt(f, 1, 4);
  Problem        p;
  Solver         s;
  Outcome        o;
  Mat            A;
  MatType        type;
  char           where[256];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&p, sizeof(p)));
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&o, sizeof(o)));
  PetscCall(MakeProblem(f, &p, &A));
  PetscCall(MatCreateVecs(A, &s.shell, NULL));
  PetscCall(MakeSolver(f, &p, A, &s));
  PetscCall(PetscMalloc4(p.n, &o.b, p.n, &o.x0, p.n, &o.x, p.n, &o.r));
  PetscCall(MatGetType(A, &type));
  for (PetscInt k = 0; k < solves; k++) {
    const PetscInt change = k ? FuzzInt(f, 0, 3) : 0;

    if (change == 1) { /* other values */
      p.seed++;
      PetscCall(SetEntries(&p));
      PetscCall(SetMat(&p, A));
    } else if (change == 2 && strcmp(type, MATDENSE) && !s.sor) { /* another band */
      p.kl = FuzzInt(f, 0, 5);
      PetscCall(SetEntries(&p));
      PetscCall(SetMat(&p, A));
    } else if (change == 3) { /* another solver */
      PetscCall(KSPDestroy(&s.ksp));
      PetscCall(MakeSolver(f, &p, A, &s));
    }
    o.guess = FuzzChance(f, 35);
    o.trans = FuzzChance(f, 15);
    o.block = FuzzChance(f, 40);
    if (!strcmp(s.type, KSPCGFUSED) || s.sor || PetscDefined(USE_COMPLEX)) o.trans = PETSC_FALSE;
    PetscCall(KSPSetInitialGuessNonzero(s.ksp, o.guess));
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%s, %s, n %" PetscInt_FMT ", 2^%" PetscInt_FMT
                            "%s, %s%s%s%s, rtol %g, solve %" PetscInt_FMT,
                            kinds[p.kind], type, p.n, p.scale, p.nullspace ? ", null space" : "", s.text,
                            o.guess ? ", guess" : "", o.trans ? ", transposed" : "", o.block ? ", columns" : "",
                            (double)s.rtol, k));
    if (o.block) PetscCall(ColumnSolve(f, &p, &s, A, &o, where));
    else PetscCall(SingleSolve(f, &p, &s, A, &o, where));
  }
  PetscCall(PetscFree4(o.b, o.x0, o.x, o.r));
  PetscCall(PetscFree2(p.a, p.inv));
  PetscCall(VecDestroy(&s.shell));
  PetscCall(KSPDestroy(&s.ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_ksp", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_ksp_1.out
      test:
         suffix: 1
         args: -n 100
      test:
         suffix: ranks
         nsize: {{2 3 4 5}}
         args: -n 30 -first 100
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 40 -fuzz_device
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -n 20 -first 200 -fuzz_device

TEST*/
