/* SPDX-License-Identifier: BSD-2-Clause */
/* survey.c: real and generated matrices: how many are solved, how many end with a reason, an error or a wrong answer */
static char help[] = "Krylov methods with PCSPIKE and PCBLOCKILU, all with their defaults, on many matrices.\n\
  -dir FOLDER        Matrix Market files, all that it has (default $SPIKE_MATRICES); without, generated ones alone\n\
  -ksps a,b,...      methods (bcgsfused,idrfused,bcgs); PETSc's are preconditioned from the right\n\
  -pcs a,b,...       preconditioners (spike,blockilu)\n\
  -rtol t -max_it k  (1e-8, 10000)\n\
  -generated 0|1     hard matrices of our own: singular, zeros on the diagonal, scaled (1)\n\
  -rows n            of these (200)\n\
  -repeat k          of a solve that takes less than a second, whose median is shown (1: also of what comes once)\n\
  -seeds k           of each random kind: permuted bands, bordered ones, circuits (3)\n\
  -csv FILE          outcome, iterations, residual and seconds of each; benchmarks/plot_survey.py draws it\n\n";

#include <petscspike.h>
#include <petsctime.h>
#include "common/csvfile.h"
#include "common/matrixfiles.h"

#define MAXTYPES  8
#define MAXREPEAT 9

/*
  What became of a solve. Refused: the preconditioner failed (KSP_DIVERGED_PC_FAILED). Wrong: the method says that it
  converged, the true residual is above 100 rtol
*/
typedef enum {
  SOLVED,
  DIVERGED,
  REFUSED,
  ERROR,
  WRONG,
  NOUTCOMES
} Outcome;
static const char *const outcomes[] = {"solved", "diverged", "refused", "errors", "wrong"};

typedef struct {
  PetscInt  nksps, npcs, maxit, rows, seeds, repeat;
  char     *ksps[MAXTYPES], *pcs[MAXTYPES];
  PetscReal rtol;
  PetscInt  count[2][MAXTYPES][MAXTYPES][NOUTCOMES]; /* of real matrices, of generated ones */
  double    seconds[2][MAXTYPES][MAXTYPES];
  FILE     *csv;
} Survey;

/* The 2-norm, also where squares, or 1 over the largest entry, are out of range, and not one that PETSc has kept */
static PetscErrorCode GetNorm(Vec x, PetscReal *norm)
{
  const PetscScalar *a;
  PetscReal          max = 0.0, sum = 0.0;
  PetscInt           n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal d = PetscAbsScalar(a[i]);

    if (!(d <= max)) max = d;
    if (PetscIsInfOrNanReal(max)) break;
  }
  for (PetscInt i = 0; i < n && max > 0.0 && !PetscIsInfOrNanReal(max); i++)
    sum += PetscSqr(PetscAbsScalar(a[i]) / max);
  PetscCall(VecRestoreArrayRead(x, &a));
  *norm = PetscIsInfOrNanReal(max) ? max : max * PetscSqrtReal(sum);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Survey *s, const char ksptype[], const char pctype[], Mat A, Vec b, Vec x, KSP *ksp)
{
  PC        pc;
  PetscBool ours;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, ksptype));
  PetscCall(KSPSetTolerances(*ksp, s->rtol, 0.0, PETSC_CURRENT, s->maxit));
  PetscCall(PetscStrendswith(ksptype, "fused", &ours));
  if (!ours) PetscCall(KSPSetPCSide(*ksp, PC_RIGHT));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves, each from scratch, with their errors caught: the median of their seconds, the last ierr and KSP */
static PetscErrorCode TimeSolves(const Survey *s, const char ksptype[], const char pctype[], Mat A, Vec b, Vec x,
                                 PetscErrorCode *ierr, KSP *ksp, double *seconds)
{
  PetscReal      t[MAXREPEAT];
  PetscInt       count = 0;
  PetscLogDouble start, end;

  PetscFunctionBeginUser;
  do {
    PetscCall(KSPDestroy(ksp));
    PetscCall(VecSet(x, 0.0));
    PetscCall(PetscTime(&start));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    *ierr = Solve(s, ksptype, pctype, A, b, x, ksp);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscTime(&end));
    t[count++] = (PetscReal)(end - start);
  } while (count < s->repeat && !*ierr && end - start < 1.0);
  PetscCall(PetscSortReal(count, t));
  *seconds = (double)t[count / 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All methods on one matrix, in one line */
static PetscErrorCode Try(Survey *s, const char name[], PetscBool generated, Mat A, Vec b)
{
  PetscInt  N;
  PetscReal bnorm;
  Vec       x, r;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(GetNorm(b, &bnorm));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-32s %6" PetscInt_FMT, name, N));
  for (PetscInt p = 0; p < s->npcs; p++) {
    for (PetscInt k = 0; k < s->nksps; k++) {
      Outcome            outcome;
      PetscErrorCode     ierr;
      KSP                ksp    = NULL;
      KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
      PetscInt           its    = 0;
      PetscReal          rnorm, relative = 0.0;
      double             seconds = 0.0;
      char               text[64];

      PetscCall(TimeSolves(s, s->ksps[k], s->pcs[p], A, b, x, &ierr, &ksp, &seconds));
      if (!ierr) {
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(KSPGetIterationNumber(ksp, &its));
        PetscCall(MatMult(A, x, r));
        PetscCall(VecAYPX(r, -1.0, b));
        PetscCall(GetNorm(r, &rnorm));
        relative = bnorm > 0.0 ? rnorm / bnorm : rnorm;
        if (reason == KSP_DIVERGED_PC_FAILED) outcome = REFUSED;
        else outcome = reason <= 0 ? DIVERGED : rnorm <= 100 * s->rtol * bnorm ? SOLVED : WRONG; /* NaN is wrong */
      } else outcome = ERROR;
      s->count[generated][p][k][outcome]++;
      s->seconds[generated][p][k] += seconds;
      if (s->csv)
        PetscCall(PetscFPrintf(PETSC_COMM_SELF, s->csv,
                               "\"%s\",%" PetscInt_FMT ",%s,%s,%s,%" PetscInt_FMT ",%.2e,%.3e\n", name, N, s->ksps[k],
                               s->pcs[p], outcomes[outcome], its, (double)relative, seconds));
      if (outcome == ERROR) PetscCall(PetscSNPrintf(text, sizeof(text), "ERROR %d", (int)ierr));
      else if (outcome == WRONG) PetscCall(PetscSNPrintf(text, sizeof(text), "WRONG %.1e", (double)relative));
      else if (outcome == SOLVED) PetscCall(PetscSNPrintf(text, sizeof(text), "%" PetscInt_FMT, its));
      else if (outcome == REFUSED) PetscCall(PetscStrncpy(text, "refused", sizeof(text)));
      else PetscCall(PetscStrncpy(text, KSPConvergedReasons[reason] + strlen("DIVERGED_"), sizeof(text)));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %18s %9.2e", text, seconds));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = A x, x random */
static PetscErrorCode Rhs(Mat A, PetscRandom random, Vec *b)
{
  Vec x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, b));
  PetscCall(VecSetRandom(x, random));
  PetscCall(MatMult(A, x, *b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  Survey     *survey;
  PetscRandom random;
} FileContext;

static PetscErrorCode TryMatrix(const char name[], Mat A, void *ctx)
{
  FileContext *c = (FileContext *)ctx;
  Vec          b;

  PetscFunctionBeginUser;
  PetscCall(Rhs(A, c->random, &b));
  PetscCall(Try(c->survey, name, PETSC_FALSE, A, b));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  KIND_NEUMANN,      /* tridiagonal, rows sum to zero */
  KIND_ZERODIAGONAL, /* tridiagonal with zeros on the diagonal, regular for an even number of rows */
  KIND_SHIFT,        /* a_ij = 1 for j = i + 1, and in a corner: no entry on the diagonal */
  KIND_SADDLE,       /* [A B; B^T 0], no entry on the diagonal of the last quarter */
  KIND_ZEROROW,      /* dominant, but for a row of zeros */
  KIND_ZEROMATRIX,   /* with stored zeros */
  KIND_DIAGONAL,     /* with a zero */
  KIND_EQUALROWS,    /* a random band, two rows of it equal */
  KIND_RANDOM,       /* a random band without dominance */
  KIND_ROWSCALED,    /* dominant, rows times 10^-150 to 10^150 */
  KIND_COLUMNSCALED, /* columns */
  NKINDS
} Kind;
static const char *const kinds[] = {"neumann",  "zero diagonal", "shift",        "saddle point",
                                    "zero row", "zero matrix",   "diagonal",     "equal rows",
                                    "random",   "row scaled",    "column scaled"};

static PetscErrorCode Entry(Mat A, PetscInt i, PetscInt j, PetscReal v)
{
  PetscInt N;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &N, NULL));
  if (j >= 0 && j < N) PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Generate(Kind kind, PetscInt n, PetscReal scale, PetscRandom random, Mat *A)
{
  const PetscReal range = PetscDefined(USE_REAL_SINGLE) ? 15 : 150;
  const PetscInt  m     = n - n / 4;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 8, NULL, A));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(i - 3, 0); j <= PetscMin(i + 3, n - 1); j++) {
      PetscReal v;

      PetscCall(PetscRandomGetValueReal(random, &v));
      if (i == j && kind != KIND_RANDOM && kind != KIND_EQUALROWS) v = 8;
      if (kind == KIND_DIAGONAL && j != i) continue;
      if ((kind == KIND_ZEROROW || kind == KIND_DIAGONAL) && i == n / 3) v = 0;
      if (kind == KIND_ZEROMATRIX) v = 0;
      if (kind == KIND_ROWSCALED) v *= PetscPowReal(10, range * (2.0 * i / n - 1));
      if (kind == KIND_COLUMNSCALED) v *= PetscPowReal(10, range * (2.0 * j / n - 1));
      if (kind >= KIND_ZEROROW) PetscCall(Entry(*A, i, j, v * scale));
    }
    switch (kind) {
    case KIND_NEUMANN:
      PetscCall(Entry(*A, i, i, (i == 0 || i == n - 1 ? 1 : 2) * scale));
      PetscCall(Entry(*A, i, i - 1, -scale));
      PetscCall(Entry(*A, i, i + 1, -scale));
      break;
    case KIND_ZERODIAGONAL:
      PetscCall(Entry(*A, i, i, 0));
      PetscCall(Entry(*A, i, i - 1, scale));
      PetscCall(Entry(*A, i, i + 1, -2 * scale));
      break;
    case KIND_SHIFT:
      PetscCall(Entry(*A, i, (i + 1) % n, scale));
      break;
    case KIND_SADDLE:
      for (PetscInt d = -1; d <= 1 && i < m; d++)
        if (i + d < m) PetscCall(Entry(*A, i, i + d, (d ? -1 : 2.5) * scale));
      if (i >= m) {
        for (PetscInt d = 0; d < 2; d++) {
          PetscCall(Entry(*A, i, 3 * (i - m) + d, (d ? -1 : 1) * scale));
          PetscCall(Entry(*A, 3 * (i - m) + d, i, (d ? -1 : 1) * scale));
        }
      }
      break;
    default:
      break;
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (kind == KIND_EQUALROWS) { /* row 41 becomes that of 40, within the band */
    for (PetscInt j = 37; j <= 44 && n > 45; j++) {
      const PetscInt row = 40;
      PetscScalar    v   = 0.0;

      if (j < 44) PetscCall(MatGetValues(*A, 1, &row, 1, &j, &v));
      if (j > 37 || PetscAbsScalar(v) > 0.0) {
        PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
        PetscCall(MatSetValue(*A, 41, j, v, INSERT_VALUES));
      }
      PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each kind in five scales, with a right-hand side that is in its range and with one that need not be */
static PetscErrorCode RunGenerated(Survey *s, PetscRandom random)
{
  const PetscReal large       = PetscDefined(USE_REAL_SINGLE) ? 30 : 300,
                  exponents[] = {0, -large, -large / 2, large / 2, large};

  PetscFunctionBeginUser;
  for (int kind = 0; kind < NKINDS; kind++) {
    for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(exponents); e++) {
      const PetscReal scale = PetscPowReal(10, exponents[e]);
      Mat             A;
      Vec             b;
      char            name[64];

      if (kind >= KIND_ROWSCALED && e) break;
      PetscCall(Generate((Kind)kind, s->rows, scale, random, &A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s 1e%d", kinds[kind], (int)exponents[e]));
      PetscCall(Rhs(A, random, &b));
      PetscCall(Try(s, name, PETSC_TRUE, A, b));
      PetscCall(VecSetRandom(b, random));
      PetscCall(VecScale(b, scale));
      PetscCall(PetscStrlcat(name, ", any b", sizeof(name)));
      PetscCall(Try(s, name, PETSC_TRUE, A, b));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  KIND_PERMUTED, /* a dominant band, rows and columns in random orders of their own */
  KIND_BORDERED, /* a dominant band with four full rows and columns */
  KIND_CIRCUIT,  /* [G B; B^T 0]: conductances of 1e-6 to 1 in a chain, a supply net, and voltage sources */
  NRANDOM
} RandomKind;
static const char *const randomkinds[] = {"permuted band", "bordered", "circuit"};

static PetscErrorCode Shuffle(PetscRandom random, PetscInt n, PetscInt to[])
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < n; i++) to[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    PetscReal v;
    PetscInt  j, t = to[i];

    PetscCall(PetscRandomGetValueReal(random, &v));
    j     = PetscMin(i, (PetscInt)(v * (PetscReal)(i + 1)));
    to[i] = to[j];
    to[j] = t;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A conductance g between two nodes */
static PetscErrorCode Conductance(Mat A, PetscInt i, PetscInt j, PetscReal g)
{
  PetscFunctionBeginUser;
  PetscCall(MatSetValue(A, i, i, g, ADD_VALUES));
  PetscCall(MatSetValue(A, j, j, g, ADD_VALUES));
  PetscCall(MatSetValue(A, i, j, -g, ADD_VALUES));
  PetscCall(MatSetValue(A, j, i, -g, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GenerateCircuit(PetscInt n, PetscRandom random, Mat A)
{
  const PetscInt nodes = n - n / 20;
  PetscReal      v, w;

  PetscFunctionBeginUser;
  for (PetscInt i = 1; i < nodes; i++) {
    for (PetscInt k = 0; k < 2; k++) { /* to the node before it, and to one of the five before it */
      PetscCall(PetscRandomGetValueReal(random, &v));
      PetscCall(PetscRandomGetValueReal(random, &w));
      PetscCall(Conductance(A, i, PetscMax(0, i - 1 - (k ? (PetscInt)(5 * v) : 0)), PetscPowReal(10, -6 * w)));
    }
    if (i % 10 == 0) PetscCall(Conductance(A, i, 0, 0.1));
    if (i % 7 == 0) PetscCall(MatSetValue(A, i, i, 1e-3, ADD_VALUES)); /* to ground */
  }
  for (PetscInt k = nodes; k < n; k++) {
    const PetscInt at = 20 * (k - nodes) * nodes / n;

    PetscCall(MatSetValue(A, k, at, 1.0, ADD_VALUES));
    PetscCall(MatSetValue(A, at, k, 1.0, ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GenerateRandom(RandomKind kind, PetscInt n, PetscRandom random, Mat *A)
{
  PetscInt *row, *col;
  PetscReal v;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 16, NULL, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(PetscMalloc2(n, &row, n, &col));
  PetscCall(Shuffle(random, n, row));
  PetscCall(Shuffle(random, n, col));
  for (PetscInt i = 0; i < n && kind != KIND_CIRCUIT; i++)
    for (PetscInt j = 0; j < n; j++) {
      const PetscBool full = (PetscBool)(kind == KIND_BORDERED && (i % (n / 4 + 1) == 2 || j % (n / 4 + 1) == 2));

      if (PetscAbsInt(i - j) > 3 && !full) continue;
      PetscCall(PetscRandomGetValueReal(random, &v));
      v = i == j ? 8 : PetscAbsInt(i - j) > 3 ? v - 0.5 : 2 * v - 1;
      PetscCall(MatSetValue(*A, kind == KIND_PERMUTED ? row[i] : i, kind == KIND_PERMUTED ? col[j] : j, v, ADD_VALUES));
    }
  if (kind == KIND_CIRCUIT) PetscCall(GenerateCircuit(n, random, *A));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree2(row, col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each random kind from the seeds 1, 2, ... */
static PetscErrorCode GeneratedRandom(Survey *s, PetscRandom random)
{
  PetscFunctionBeginUser;
  for (int kind = 0; kind < NRANDOM; kind++)
    for (PetscInt seed = 1; seed <= s->seeds; seed++) {
      Mat  A;
      Vec  b;
      char name[64];

      PetscCall(PetscRandomSetSeed(random, (PetscInt64)seed));
      PetscCall(PetscRandomSeed(random));
      PetscCall(GenerateRandom((RandomKind)kind, s->rows, random, &A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, seed %" PetscInt_FMT, randomkinds[kind], seed));
      PetscCall(Rhs(A, random, &b));
      PetscCall(Try(s, name, PETSC_TRUE, A, b));
      PetscCall(VecDestroy(&b));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Total(const Survey *s, PetscBool generated)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", generated ? "generated matrices" : "real matrices"));
  for (int o = 0; o < NOUTCOMES; o++) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-39s", outcomes[o]));
    for (PetscInt p = 0; p < s->npcs; p++)
      for (PetscInt k = 0; k < s->nksps; k++)
        PetscCall(PetscPrintf(PETSC_COMM_SELF, " %18" PetscInt_FMT " %9s", s->count[generated][p][k][o], ""));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-39s", "seconds"));
  for (PetscInt p = 0; p < s->npcs; p++)
    for (PetscInt k = 0; k < s->nksps; k++)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %18s %9.2e", "", s->seconds[generated][p][k]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTypes(const char option[], const char *const builtin[], PetscInt nbuiltin, char *types[],
                               PetscInt *n)
{
  PetscBool set;

  PetscFunctionBeginUser;
  *n = MAXTYPES;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, option, types, n, &set));
  if (set) PetscFunctionReturn(PETSC_SUCCESS);
  *n = nbuiltin;
  for (PetscInt k = 0; k < nbuiltin; k++) PetscCall(PetscStrallocpy(builtin[k], &types[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const ksps[] = {KSPBCGSFUSED, KSPIDRFUSED, KSPBCGS}, *const pcs[] = {PCSPIKE, PCBLOCKILU};
  char        dir[PETSC_MAX_PATH_LEN] = "", csv[PETSC_MAX_PATH_LEN] = "", column[64];
  Survey      s;
  FileContext files;
  PetscBool   exists, generated = PETSC_TRUE;
  PetscRandom random;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.rtol   = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8;
  s.maxit  = 10000;
  s.rows   = 200;
  s.seeds  = 3;
  s.repeat = 1;
  PetscCall(PetscOptionsGetenv(PETSC_COMM_WORLD, "SPIKE_MATRICES", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscTestDirectory(dir, 'r', &exists));
  PetscCall(RunTypes("-ksps", ksps, PETSC_STATIC_ARRAY_LENGTH(ksps), s.ksps, &s.nksps));
  PetscCall(RunTypes("-pcs", pcs, PETSC_STATIC_ARRAY_LENGTH(pcs), s.pcs, &s.npcs));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &s.rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &s.maxit, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &s.rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &s.seeds, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &s.repeat, NULL));
  PetscCheck(s.repeat >= 1 && s.repeat <= MAXREPEAT, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "1 to %d repetitions",
             MAXREPEAT);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-generated", &generated, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), NULL));
  if (csv[0]) { PetscCall(BenchCSVOpen(csv, "matrix,rows,ksp,pc,outcome,iterations,residual,seconds", &s.csv)); }
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "Iterations to rtol %g, at most %" PetscInt_FMT ", or what a solve ended with; b = A x, x "
                        "random, or any b\n%-32s %6s",
                        (double)s.rtol, s.maxit, "matrix", "rows"));
  for (PetscInt p = 0; p < s.npcs; p++)
    for (PetscInt k = 0; k < s.nksps; k++) {
      PetscCall(PetscSNPrintf(column, sizeof(column), "%s %s", s.ksps[k], s.pcs[p]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %18s %9s", column, "seconds"));
    }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  files.survey = &s;
  files.random = random;
  if (exists) PetscCall(ForEachMatrix(dir, 32, TryMatrix, &files));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "No folder of matrices \"%s\": set SPIKE_MATRICES or -dir\n", dir));
  if (generated) PetscCall(RunGenerated(&s, random));
  if (generated) PetscCall(GeneratedRandom(&s, random));
  if (exists) PetscCall(Total(&s, PETSC_FALSE));
  if (generated) PetscCall(Total(&s, PETSC_TRUE));
  for (PetscInt k = 0; k < s.nksps; k++) PetscCall(PetscFree(s.ksps[k]));
  for (PetscInt k = 0; k < s.npcs; k++) PetscCall(PetscFree(s.pcs[k]));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(BenchCSVClose(csv, &s.csv));
  PetscCall(PetscFinalize());
  return 0;
}
