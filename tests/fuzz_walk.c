/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fuzz_walk.c: one KSP, one preconditioner and one matrix through a random walk of what programs do between solves. The
  matrix is dominant at all times, so that each solve must end well; the dense array beside it knows its entries
*/
static char help[] = "Random walks: solves, and between them other values, patterns, types of the matrix, of vectors, "
                     "of the method and of the preconditioner, options, resets, bindings to the host.\n\n";

#include "fuzz.h"

#define RTOL (PetscDefined(USE_REAL_SINGLE) ? (PetscReal)1e-4 : (PetscReal)1e-9)

typedef struct {
  PetscInt     n, nlocal, begin, end, kl, ku, seed;
  PetscBool    hermitian; /* and definite, then */
  PetscScalar *a;         /* dense, on all ranks: the entries of A */
  Mat          A, P;      /* P is A, or another matrix near it */
  MatType      type;
  KSP          ksp;
  KSPType      method;
  PCType       pctype;
  PetscBool    stale; /* the preconditioner is kept, whatever the values are */
  PetscBool    loose; /* it is of factors in low precision, or of another matrix */
  PetscBool    bound; /* A is bound to the host */
  char         where[512];
} Walk;

static PetscScalar Entry(const Walk *w, PetscInt i, PetscInt j)
{
  if (j < i - w->kl || j > i + w->ku) return 0.0;
  if (i == j) return (PetscDefined(USE_COMPLEX) ? 2.0 : 1.4) * (PetscReal)PetscMax(1, w->kl + w->ku);
  return w->hermitian && i < j ? PetscConj(SpikeTestScalar(w->seed, j, i)) : SpikeTestScalar(w->seed, i, j);
}

/* What is done is kept for the text of a failure */
static PetscErrorCode Say(Walk *w, const char format[], ...)
{
  size_t  used, length;
  va_list args;

  PetscFunctionBegin;
  PetscCall(PetscStrlen(w->where, &used));
  if (used > sizeof(w->where) - 60) { /* the end of it is what counts */
    PetscCall(PetscMemmove(w->where, w->where + used - 200, 201));
    used = 200;
  }
  va_start(args, format);
  PetscCall(PetscVSNPrintf(w->where + used, sizeof(w->where) - used, format, &length, args));
  va_end(args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SetDense(Walk *w)
{
  for (PetscInt j = 0; j < w->n; j++)
    for (PetscInt i = 0; i < w->n; i++) w->a[i + j * w->n] = Entry(w, i, j);
}

/* The rows of this rank from the dense array, within the band */
static PetscErrorCode SetMat(const Walk *w, Mat A)
{
  PetscFunctionBegin;
  for (PetscInt i = w->begin; i < w->end; i++)
    for (PetscInt j = PetscMax(0, i - w->kl); j <= PetscMin(w->n - 1, i + w->ku); j++)
      PetscCall(MatSetValue(A, i, j, w->a[i + j * w->n], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewMat(Walk *w, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, w->nlocal, w->nlocal, w->n, w->n));
  PetscCall(MatSetType(*A, w->type));
  PetscCall(MatSetUp(*A));
  PetscCall(SetMat(w, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Operators(Walk *w)
{
  PetscFunctionBegin;
  PetscCall(KSPSetOperators(w->ksp, w->A, w->P ? w->P : w->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MatType DrawType(Fuzz *f)
{
  const MatType host[]   = {MATAIJ, MATAIJ, "dia", MATBAIJ},
                device[] = {MATAIJCUSPARSE, MATAIJCUSPARSE, "diacuda", MATAIJ};

  return f->device ? device[FuzzInt(f, 0, 3)] : host[FuzzInt(f, 0, 3)];
}

static PetscBool IsFused(const Walk *w)
{
  return (PetscBool)(!strcmp(w->method, KSPBCGSFUSED) || !strcmp(w->method, KSPIDRFUSED) ||
                     !strcmp(w->method, KSPCGFUSED));
}

/*
  Vectors are of any kind for the fused methods, and where PCSPIKE is all. PETSc's methods do not care where a vector
  is, and the sum of one on a device and one on the host loses memory
*/
static PetscBool Mixed(Fuzz *f, const Walk *w)
{
  return (PetscBool)(!f->device || IsFused(w) || !strcmp(w->method, KSPPREONLY));
}

/* The vectors of a solve are of any kind, whatever the matrix is */
static PetscErrorCode NewVec(Fuzz *f, Walk *w, Vec *x)
{
  const PetscInt  kind  = FuzzInt(f, 0, 9);
  const PetscBool bound = (PetscBool)(kind == 5 && IsFused(w));

  PetscFunctionBegin;
  PetscCall(Say(w, " %s", bound ? "bound" : kind < 6 ? "its vector" : f->device && kind < 8 ? "cuda" : "host"));
  if (kind < 6) PetscCall(MatCreateVecs(w->A, x, NULL));
  else {
    PetscCall(VecCreate(PETSC_COMM_WORLD, x));
    PetscCall(VecSetSizes(*x, w->nlocal, w->n));
    PetscCall(VecSetType(*x, f->device && kind < 8 ? VECCUDA : VECSTANDARD));
  }
  if (bound) PetscCall(VecBindToCPU(*x, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work vectors of PETSc's methods are like x of the first solve, whatever x and the matrix are now */
static PetscErrorCode Renew(Walk *w)
{
  PetscFunctionBegin;
  if (!strcmp(w->method, KSPGMRES)) {
    PetscCall(KSPReset(w->ksp));
    PetscCall(Operators(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(const Walk *w)
{
  KSPConvergedReason reason;
  PCFailedReason     failed;
  PC                 pc;
  char               text[640];

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(w->ksp, &reason));
  PetscCall(KSPGetPC(w->ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &failed));
  PetscCall(
    PetscSNPrintf(text, sizeof(text), "%s: %s (%s)", w->where, KSPConvergedReasons[reason], PCFailedReasons[failed]));
  PetscCall(FuzzSmall(reason > 0 ? 0.0 : 1.0, 0.0, "no convergence", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2-norm of b - op(A) x of dense entries within what rtol says; guesses and directs too */
static PetscErrorCode CheckSolution(const Walk *w, PetscBool trans, Vec b, Vec x)
{
  PetscScalar *ba, *xa;
  PetscReal    r = 0.0, nb = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(w->n, &ba, w->n, &xa));
  PetscCall(FuzzGather(b, ba));
  PetscCall(FuzzGather(x, xa));
  for (PetscInt i = 0; i < w->n; i++) {
    PetscScalar s = ba[i];

    for (PetscInt j = 0; j < w->n; j++) s -= (trans ? w->a[j + i * w->n] : w->a[i + j * w->n]) * xa[j];
    r += PetscSqr(PetscAbsScalar(s));
    nb += PetscSqr(PetscAbsScalar(ba[i]));
  }
  PetscCall(PetscFree2(ba, xa));
  PetscCall(FuzzSmall(PetscSqrtReal(r), 20.0 * RTOL * PetscSqrtReal(nb), "residual", w->where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoSolve(Fuzz *f, Walk *w)
{
  const PetscBool guess = (PetscBool)(strcmp(w->method, KSPPREONLY) && FuzzChance(f, 25)), zero = FuzzChance(f, 4);
  PetscBool       trans = FuzzChance(f, 12);
  Vec             b, x;

  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX) || !strcmp(w->method, KSPCGFUSED)) trans = PETSC_FALSE;
  PetscCall(Renew(w));
  PetscCall(Say(w, ";"));
  if (Mixed(f, w)) {
    PetscCall(NewVec(f, w, &b));
    PetscCall(NewVec(f, w, &x));
  } else PetscCall(MatCreateVecs(w->A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, FuzzInt(f, 0, 100000)));
  if (zero) PetscCall(VecSet(b, 0.0));
  PetscCall(SpikeTestSetRandom(x, FuzzInt(f, 0, 100000)));
  PetscCall(KSPSetInitialGuessNonzero(w->ksp, (PetscBool)(guess && !zero)));
  PetscCall(Say(w, " solve%s%s%s", guess ? ", guess" : "", trans ? ", transposed" : "", zero ? ", zero" : ""));
  if (trans) PetscCall(KSPSolveTranspose(w->ksp, b, x));
  else PetscCall(KSPSolve(w->ksp, b, x));
  PetscCall(CheckReason(w));
  PetscCall(CheckSolution(w, trans, b, x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoMatSolve(Fuzz *f, Walk *w)
{
  const PetscInt  m    = FuzzInt(f, 1, 7);
  const PetscInt  kind = f->device ? FuzzInt(f, 0, 3) : 0; /* which of B and X are on the device */
  const PetscBool any = Mixed(f, w), cuda = (PetscBool)(strstr(w->type, "cu") != NULL);
  Mat             B, X;
  Vec             b, x;

  PetscFunctionBegin;
  PetscCall(Renew(w));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, w->nlocal, PETSC_DECIDE, w->n, m, NULL, &B));
  for (PetscInt k = 0; k < m; k++) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &b));
    PetscCall(SpikeTestSetRandom(b, w->seed + 30 + k));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &b));
  }
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  if (any ? kind & 1 : cuda) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  if (any ? kind & 2 : cuda) PetscCall(MatConvert(X, MATDENSECUDA, MAT_INPLACE_MATRIX, &X));
  PetscCall(KSPSetInitialGuessNonzero(w->ksp, PETSC_FALSE));
  PetscCall(Say(w, "; solve %" PetscInt_FMT " columns", m));
  PetscCall(KSPMatSolve(w->ksp, B, X));
  PetscCall(CheckReason(w));
  for (PetscInt k = 0; k < m; k++) {
    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    PetscCall(MatDenseGetColumnVecRead(X, k, &x));
    PetscCall(CheckSolution(w, PETSC_FALSE, b, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values in the same places, by one of the ways that programs have */
static PetscErrorCode DoValues(Fuzz *f, Walk *w)
{
  const PetscInt n = w->n;

  PetscFunctionBegin;
  /* PETSc 3.26.1 forgets on the device what was written meanwhile */
  if (w->bound && !strcmp(w->type, MATAIJCUSPARSE)) PetscFunctionReturn(PETSC_SUCCESS);
  switch (FuzzInt(f, 0, 4)) {
  case 0:
    PetscCall(Say(w, "; MatScale()"));
    PetscCall(MatScale(w->A, 2.0));
    for (PetscInt k = 0; k < n * n; k++) w->a[k] *= 2.0;
    break;
  case 1:
    PetscCall(Say(w, "; MatShift()"));
    PetscCall(MatShift(w->A, 1.0));
    for (PetscInt i = 0; i < n; i++) w->a[i * (n + 1)] += 1.0;
    break;
  case 2: {
    Vec d;

    if (w->hermitian) break;
    PetscCall(Say(w, "; MatDiagonalScale()"));
    PetscCall(MatCreateVecs(w->A, NULL, &d));
    PetscCall(SpikeTestSetRandom(d, w->seed));
    PetscCall(VecAbs(d));
    PetscCall(VecShift(d, 0.5));
    PetscCall(MatDiagonalScale(w->A, d, NULL));
    PetscCall(VecDestroy(&d));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++) w->a[i + j * n] *= PetscAbsScalar(SpikeTestScalar(w->seed, i, 0)) + 0.5;
    break;
  }
  default:
    w->seed++;
    SetDense(w);
    PetscCall(Say(w, "; other values"));
    if (FuzzChance(f, 50)) PetscCall(MatZeroEntries(w->A));
    PetscCall(SetMat(w, w->A));
  }
  if (FuzzChance(f, 60)) PetscCall(Operators(w)); /* a KSP sees it without, too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal of PCJACOBI stays where it was */
static PetscErrorCode Moved(Walk *w)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(w->ksp, &pc));
  if (!strcmp(w->pctype, PCJACOBI)) PetscCall(PCReset(pc));
  PetscCall(Operators(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Another matrix: pattern, type, or both */
static PetscErrorCode DoMat(Fuzz *f, Walk *w)
{
  PetscFunctionBegin;
  if (FuzzChance(f, 60)) w->type = DrawType(f);
  if (FuzzChance(f, 60)) {
    w->kl = FuzzInt(f, 0, PetscMin(5, w->n));
    w->ku = w->hermitian ? w->kl : FuzzInt(f, 0, PetscMin(5, w->n));
  }
  w->seed++;
  SetDense(w);
  PetscCall(Say(w, "; new matrix, %s %" PetscInt_FMT ",%" PetscInt_FMT, w->type, w->kl, w->ku));
  PetscCall(MatDestroy(&w->A));
  PetscCall(MatDestroy(&w->P));
  PetscCall(NewMat(w, &w->A));
  w->bound = PETSC_FALSE;
  PetscCall(Moved(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoConvert(Fuzz *f, Walk *w)
{
  PetscFunctionBegin;
  w->type = DrawType(f);
  PetscCall(Say(w, "; MatConvert() in place to %s", w->type));
  PetscCall(MatConvert(w->A, w->type, MAT_INPLACE_MATRIX, &w->A));
  PetscCall(MatBoundToCPU(w->A, &w->bound));
  PetscCall(Moved(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoBind(Fuzz *f, Walk *w)
{
  const PetscBool bind = FuzzChance(f, 60);

  PetscFunctionBegin;
  PetscCall(Say(w, "; MatBindToCPU() %s", bind ? "host" : "device"));
  PetscCall(MatBindToCPU(w->A, bind));
  w->bound = bind;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoMethod(Fuzz *f, Walk *w)
{
  const KSPType types[] = {KSPBCGSFUSED, KSPIDRFUSED, KSPBCGSFUSED, KSPIDRFUSED, KSPGMRES, KSPPREONLY, KSPCGFUSED};
  KSPType       type    = types[FuzzInt(f, 0, w->hermitian ? 6 : 5)];

  PetscFunctionBegin;
  if (!strcmp(type, KSPPREONLY) && (strcmp(w->pctype, PCSPIKE) || w->stale || w->loose || w->P)) type = KSPBCGSFUSED;
  w->method = type;
  PetscCall(Say(w, "; %s", type));
  PetscCall(KSPSetType(w->ksp, type));
  if (!strcmp(type, KSPGMRES)) PetscCall(KSPSetPCSide(w->ksp, PC_RIGHT));
  else if (!strcmp(type, KSPCGFUSED) || !strcmp(type, KSPPREONLY)) PetscCall(KSPSetPCSide(w->ksp, PC_LEFT));
  else PetscCall(KSPSetPCSide(w->ksp, PC_SIDE_DEFAULT));
  PetscCall(KSPSetNormType(w->ksp, strcmp(type, KSPPREONLY) ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_NONE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoPC(Fuzz *f, Walk *w)
{
  const PCType types[] = {PCSPIKE, PCSPIKE, PCBLOCKILU, PCJACOBI, PCNONE};
  PC           pc;

  PetscFunctionBegin;
  if (!strcmp(w->method, KSPPREONLY)) PetscFunctionReturn(PETSC_SUCCESS);
  w->pctype = types[FuzzInt(f, 0, 4)];
  w->stale = w->loose = PETSC_FALSE;
  PetscCall(Say(w, "; %s", w->pctype));
  PetscCall(KSPGetPC(w->ksp, &pc));
  PetscCall(PCSetType(pc, w->pctype));
  PetscCall(KSPSetReusePreconditioner(w->ksp, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DoOption(Fuzz *f, Walk *w)
{
  const PCSpikeType types[] = {PC_SPIKE_AUTO, PC_SPIKE_FULL, PC_SPIKE_AUTO};
  const PetscBool   direct  = (PetscBool)!strcmp(w->method, KSPPREONLY);
  PetscBool         is;
  PC                pc;

  PetscFunctionBegin;
  if (!strcmp(w->method, KSPIDRFUSED) && FuzzChance(f, 50)) {
    const PetscInt value = FuzzInt(f, 0, 3);

    PetscCall(Say(w, "; s %" PetscInt_FMT "%s", 1 + value, value % 2 ? ", PETSc's vectors" : ""));
    PetscCall(KSPIDRSetS(w->ksp, 1 + value));
    PetscCall(KSPIDRFusedSetPetscVectors(w->ksp, (PetscBool)(value % 2)));
  }
  PetscCall(KSPGetPC(w->ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSPIKE, &is));
  if (is) {
    const PetscInt            which = FuzzInt(f, 0, direct ? 4 : 5), value = FuzzInt(f, 0, 4);
    const PetscSpikePrecision whole = SPIKE_TEST_PRECISION;

    PetscCall(Say(w, "; option %" PetscInt_FMT " = %" PetscInt_FMT, which, value));
    if (which == 0) PetscCall(PCSpikeSetType(pc, types[value % 3]));
    else if (which == 1) PetscCall(PCSpikeSetLocalPartitions(pc, value ? value : PETSC_DECIDE));
    else if (which == 2) {                                      /* what excludes another option is told by an error */
      if (value % 2) PetscCall(PCSpikeSetPrecision(pc, whole)); /* that of the vectors */
      if (value % 2) w->loose = PETSC_FALSE;
      PetscCall(PCSpikeSetPivoting(pc, (PetscBool)(value % 2)));
    } else if (which == 3) PetscCall(PCSpikeSetMatchingType(pc, (PCSpikeMatchingType)(value % 3)));
    else if (which == 4) PetscCall(PCSpikeSetEstimate(pc, (PetscBool)(value % 2)));
    else {
      w->loose = (PetscBool)(value > 0);
      PetscCall(PCSpikeSetPivoting(pc, PETSC_FALSE));
      PetscCall(PCSpikeSetPrecision(pc, value < 2 ? (PetscSpikePrecision)value : PETSC_SPIKE_PRECISION_SINGLE));
    }
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBLOCKILU, &is));
  if (is) {
    const PetscInt value = FuzzInt(f, 1, 4);

    PetscCall(Say(w, "; %" PetscInt_FMT " subdomains", value));
    PetscCall(PCBlockILUSetLocalSubdomains(pc, value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is asked of an object between solves */
static PetscErrorCode DoLook(Fuzz *f, Walk *w)
{
  PetscFunctionBegin;
  switch (FuzzInt(f, 0, 5)) {
  case 0:
    PetscCall(Say(w, "; KSPReset()"));
    PetscCall(KSPReset(w->ksp));
    PetscCall(Operators(w));
    break;
  case 1:
    PetscCall(Say(w, "; KSPSetUp()"));
    PetscCall(KSPSetUp(w->ksp));
    break;
  case 2: {
    PetscViewer viewer;
    char        text[16384];

    PetscCall(Say(w, "; KSPView()"));
    PetscCall(PetscViewerStringOpen(PETSC_COMM_WORLD, text, sizeof(text), &viewer));
    PetscCall(KSPView(w->ksp, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    break;
  }
  case 3: {
    Vec x, y;
    PC  pc;

    PetscCall(Say(w, "; PCApply()"));
    PetscCall(MatCreateVecs(w->A, &x, &y));
    PetscCall(SpikeTestSetRandom(x, 1));
    PetscCall(KSPGetPC(w->ksp, &pc));
    PetscCall(KSPSetUp(w->ksp));
    PetscCall(PCApply(pc, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    break;
  }
  case 4:
    if (!strcmp(w->method, KSPPREONLY)) break;
    w->stale = (PetscBool)!w->stale;
    PetscCall(Say(w, "; %s the preconditioner", w->stale ? "keep" : "renew"));
    PetscCall(KSPSetReusePreconditioner(w->ksp, w->stale));
    break;
  default:
    if (!strcmp(w->method, KSPPREONLY)) break;
    PetscCall(MatDestroy(&w->P));
    if (FuzzChance(f, 60)) {
      PetscCall(MatDuplicate(w->A, MAT_COPY_VALUES, &w->P));
      PetscCall(MatShift(w->P, 0.25));
    }
    PetscCall(Say(w, "; %s", w->P ? "Pmat of its own" : "Pmat is Amat"));
    PetscCall(Operators(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stale or different preconditioner may be far from the matrix: dominance keeps each of them useful, not good */
static PetscErrorCode One(Fuzz *f)
{
  const PetscInt steps = FuzzInt(f, 4, 16);
  Walk           w;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&w, sizeof(w)));
  w.n = FuzzSize(f, 150);
  PetscCall(FuzzSplit(f, w.n, &w.nlocal));
  w.hermitian = FuzzChance(f, 35);
  w.kl        = FuzzInt(f, 0, PetscMin(5, w.n));
  w.ku        = w.hermitian ? w.kl : FuzzInt(f, 0, PetscMin(5, w.n));
  w.seed      = FuzzInt(f, 0, 100000);
  w.type      = DrawType(f);
  w.method    = KSPBCGSFUSED;
  w.pctype    = PCSPIKE;
  PetscCallMPI(MPI_Scan(&w.nlocal, &w.end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  w.begin = w.end - w.nlocal;
  PetscCall(PetscMalloc1(w.n * w.n, &w.a));
  SetDense(&w);
  PetscCall(NewMat(&w, &w.A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &w.ksp));
  PetscCall(KSPSetTolerances(w.ksp, RTOL, 0.0, PETSC_CURRENT, 2000));
  PetscCall(Operators(&w));
  PetscCall(Say(&w, "%s n %" PetscInt_FMT ", band %" PetscInt_FMT ",%" PetscInt_FMT "%s", w.type, w.n, w.kl, w.ku,
                w.hermitian ? ", hermitian" : ""));
  PetscCall(DoPC(f, &w));
  PetscCall(DoMethod(f, &w));
  for (PetscInt k = 0; k < steps; k++) {
    const PetscInt what = FuzzInt(f, 0, 99);

    if (what < 20) PetscCall(DoValues(f, &w));
    else if (what < 32) PetscCall(DoMat(f, &w));
    else if (what < 40) PetscCall(DoConvert(f, &w));
    else if (what < 50) PetscCall(DoMethod(f, &w));
    else if (what < 60) PetscCall(DoPC(f, &w));
    else if (what < 72) PetscCall(DoOption(f, &w));
    else if (what < 80 && f->device) PetscCall(DoBind(f, &w));
    else PetscCall(DoLook(f, &w));
    if (FuzzChance(f, 25)) PetscCall(DoMatSolve(f, &w));
    else if (FuzzChance(f, 80)) PetscCall(DoSolve(f, &w));
  }
  PetscCall(KSPDestroy(&w.ksp));
  PetscCall(MatDestroy(&w.A));
  PetscCall(MatDestroy(&w.P));
  PetscCall(PetscFree(w.a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_walk", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_walk_1.out
      test:
         suffix: 1
      test:
         suffix: ranks
         nsize: {{2 3}}
         args: -n 60 -first 200
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 100 -fuzz_device

TEST*/
