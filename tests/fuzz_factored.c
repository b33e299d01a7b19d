/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Random cases of MATSOLVERSPIKE: PCLU and PCCHOLESKY by the factors of PCSPIKE, with its options, "
                     "changes of values and pattern, failures, transposes, several right-hand sides.\n\n";

#include "fuzz.h"

/*
  DOMINANT: by rows and columns; DEFINITE: hermitian besides; SHUFFLED: rows of it 2 k and 2 k + 1; WEAK: not dominant
*/
typedef enum {
  DOMINANT,
  DEFINITE,
  SHUFFLED,
  WEAK
} Kind;
static const char *const kinds[] = {"dominant", "definite", "shuffled", "weak"};

typedef struct {
  Kind     kind;
  PetscInt n, kl, ku, nlocal, seed, zero; /* zero: a row of zeros, or -1 */
  MatType  type;
} Case;

static PetscScalar Entry(const Case *c, PetscInt i, PetscInt j)
{
  if (i == c->zero) return 0.0;
  if (c->kind == SHUFFLED && (i ^ 1) < c->n) i ^= 1;
  if (j < i - c->kl || j > i + c->ku) return 0.0;
  if (i == j && c->kind != WEAK) return (PetscDefined(USE_COMPLEX) ? 1.8 : 1.2) * PetscMax(1, c->kl + c->ku);
  return c->kind == DEFINITE && i < j ? PetscConj(SpikeTestScalar(c->seed, j, i)) : SpikeTestScalar(c->seed, i, j);
}

/* The band is stored as a whole: later values have their places, which those of a wider band have not */
static PetscErrorCode Set(const Case *c, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(0, i - c->kl - 1); j <= PetscMin(c->n - 1, i + c->ku + 1); j++)
      PetscCall(MatSetValue(A, i, j, Entry(c, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseMat(const Case *c, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, c->nlocal, c->nlocal, c->n, c->n));
  PetscCall(MatSetType(*A, c->type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  if (!strcmp(c->type, MATSBAIJ)) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  PetscCall(Set(c, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ||b - op(A) x|| below the tolerance of refinement, which is of 2-norms: ||r||_inf <= sqrt(n) tol (||A|| ||x||_inf +
  ||b||_inf)
*/
static PetscErrorCode Small(const Case *c, const PetscScalar *a, PetscBool trans, Vec b, Vec x, const char what[],
                            const char where[])
{
  const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12;

  PetscFunctionBegin;
  PetscCall(
    FuzzBackward(c->n, a, trans, b, x, 2.0 * tol / PetscSqrtReal(c->n + 1.0) / PETSC_MACHINE_EPSILON, what, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckMany(Fuzz *f, Mat F, const Case *c, const PetscScalar *a, const char where[])
{
  const PetscInt  m     = FuzzInt(f, 1, 9);
  const PetscBool trans = FuzzChance(f, 40), inplace = (PetscBool)(!trans && FuzzChance(f, 30));
  Mat             B, X;
  Vec             b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, c->nlocal, PETSC_DECIDE, c->n, m, NULL, &B));
  if (f->device) PetscCall(MatConvert(B, MATDENSECUDA, MAT_INPLACE_MATRIX, &B));
  for (PetscInt k = 0; k < m; k++) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &b));
    PetscCall(SpikeTestSetRandom(b, c->seed + 30 + k));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &b));
  }
  PetscCall(MatDuplicate(B, inplace ? MAT_COPY_VALUES : MAT_DO_NOT_COPY_VALUES, &X));
  if (trans) PetscCall(MatMatSolveTranspose(F, inplace ? X : B, X));
  else PetscCall(MatMatSolve(F, inplace ? X : B, X));
  for (PetscInt k = 0; k < m; k++) {
    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    PetscCall(MatDenseGetColumnVecRead(X, k, &x));
    PetscCall(Small(c, a, trans, b, x, trans ? "MatMatSolveTranspose()" : "MatMatSolve()", where));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Fuzz *f, PC pc, Mat A, const Case *c, PetscScalar *a, const char where[])
{
  Mat            F;
  Vec            x, y, z;
  PCFailedReason reason;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  if (c->zero >= 0) {
    PetscCall(
      FuzzSmall(reason == PC_FACTOR_NUMERIC_ZEROPIVOT ? 0.0 : 1.0, 0.0, "a row of zeros that is not found", where));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* what is not dominant may be singular to rounding, and fails then */
  if (reason && c->kind == WEAK) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FuzzSmall((PetscReal)reason, 0.0, "the reason of a failure", where));
  if (reason) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt j = 0; j < c->n; j++)
    for (PetscInt i = 0; i < c->n; i++) a[i + j * c->n] = Entry(c, i, j);
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(SpikeTestSetRandom(y, c->seed + 10));
  PetscCall(MatSolve(F, y, x));
  PetscCall(Small(c, a, PETSC_FALSE, y, x, "MatSolve()", where));
  PetscCall(MatSolveTranspose(F, y, x));
  PetscCall(Small(c, a, PETSC_TRUE, y, x, "MatSolveTranspose()", where));
  if (FuzzChance(f, 30)) { /* x - z solves */
    PetscCall(SpikeTestSetRandom(z, c->seed + 11));
    PetscCall(MatSolveAdd(F, y, z, x));
    PetscCall(VecAXPY(x, -1.0, z));
    PetscCall(Small(c, a, PETSC_FALSE, y, x, "MatSolveAdd()", where));
  }
  if (FuzzChance(f, 60)) PetscCall(CheckMany(f, F, c, a, where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the PCSPIKE inside is asked for; all of it leaves a direct solver */
static PetscErrorCode SetOptions(Fuzz *f, PC pc, const Case *c, PetscMPIInt size, size_t length, char text[])
{
  const PCSpikeType types[] = {PC_SPIKE_AUTO, PC_SPIKE_FULL};
  Mat               F;
  PC                inside;

  PetscFunctionBegin;
  text[0] = 0;
  PetscCall(PCFactorSetUpMatSolverType(pc));
  PetscCall(PCFactorGetMatrix(pc, &F));
  PetscCall(MatSpikeGetPC(F, &inside));
  PetscCall(PCSpikeSetType(inside, types[FuzzInt(f, 0, 1)]));
  PetscCall(PCFactorSetMatOrderingType(inside, size > 1 || FuzzChance(f, 50) ? MATORDERINGNATURAL : "auto"));
  if (c->kind == WEAK) {
    PetscCall(PCSpikeSetPivoting(inside, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->kind == SHUFFLED) PetscCall(PCSpikeSetMatchingType(inside, PC_SPIKE_MATCHING_ALWAYS));
  if (FuzzChance(f, 50)) PetscCall(PCSpikeSetLocalPartitions(inside, FuzzInt(f, 1, 5)));
  if (FuzzChance(f, 30)) {
    const PetscSpikePrecision precision = (PetscSpikePrecision)FuzzInt(f, PETSC_SPIKE_PRECISION_SINGLE,
                                                                       PETSC_SPIKE_PRECISION_FP16);

    PetscCall(PCSpikeSetPrecision(inside, precision));
    PetscCall(PetscSNPrintf(text, length, ", %s", PetscSpikePrecisions[precision]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which matrix: rows of ranks are more than the half-bandwidths */
static PetscErrorCode Draw(Fuzz *f, PetscMPIInt size, PetscBool cholesky, Case *c)
{
  const MatType host[] = {MATAIJ, "dia", MATBAIJ, MATSBAIJ}, device[] = {MATAIJCUSPARSE, "diacuda"};
  PetscInt      least, most;

  PetscFunctionBegin;
  c->kind = cholesky ? DEFINITE : (Kind)FuzzInt(f, DOMINANT, size > 1 ? DEFINITE : WEAK);
  c->type = f->device ? device[FuzzInt(f, 0, 1)] : host[FuzzInt(f, 0, cholesky && !PetscDefined(USE_COMPLEX) ? 3 : 2)];
  c->n    = FuzzSize(f, 300);
  c->seed = FuzzInt(f, 0, 1000000);
  c->zero = -1;
  PetscCall(FuzzSplit(f, c->n, &c->nlocal));
  least = c->nlocal ? c->nlocal : c->n;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &least, 1, MPIU_INT, MPI_MIN, PETSC_COMM_WORLD));
  most  = PetscMin(9, PetscMax(0, size > 1 ? least - 2 : c->n - 1)); /* one more is stored, another one may come */
  c->kl = FuzzInt(f, 0, most);
  c->ku = c->kind == DEFINITE ? c->kl : FuzzInt(f, 0, most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const PetscBool cholesky = FuzzChance(f, 40);
  const PetscInt  passes   = FuzzInt(f, 1, 4);
  PetscMPIInt     size;
  PetscScalar    *a;
  Case            c;
  Mat             A;
  PC              pc;
  PetscBool       spd;
  char            where[192], options[32];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Draw(f, size, cholesky, &c));
  spd = (PetscBool)(cholesky && FuzzChance(f, 70));
  PetscCall(PetscMalloc1(c.n * c.n, &a));
  PetscCall(CaseMat(&c, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, cholesky ? PCCHOLESKY : PCLU));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPIKE));
  PetscCall(SetOptions(f, pc, &c, size, sizeof(options), options));
  for (PetscInt pass = 0; pass < passes; pass++) {
    PetscBool anew = PETSC_FALSE;

    if (pass) {
      c.seed++;
      c.zero = c.n && FuzzChance(f, 15) ? FuzzInt(f, 0, c.n - 1) : -1;
      if (c.kind == DEFINITE && c.zero >= 0) c.zero = -1; /* what remains is not hermitian */
      anew = FuzzChance(f, 30);
      if (anew && c.kl > 0) c.kl--;
      if (anew && c.kind == DEFINITE) c.ku = c.kl;
    }
    if (anew) {
      PetscCall(MatDestroy(&A));
      PetscCall(CaseMat(&c, &A));
    } else PetscCall(Set(&c, A));
    if (spd) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%s, %s%s, %s, n %" PetscInt_FMT ", band %" PetscInt_FMT ",%" PetscInt_FMT
                            "%s%s, pass %" PetscInt_FMT,
                            c.type, cholesky ? "cholesky" : "lu", spd ? " SPD" : "", kinds[c.kind], c.n, c.kl, c.ku,
                            options, c.zero >= 0 ? ", a row of zeros" : "", pass));
    PetscCall(Check(f, pc, A, &c, a, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_factored", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_factored_1.out
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
         args: -n 100 -fuzz_device
      test:
         suffix: cuda4
         nsize: 4
         requires: cuda gpurun
         args: -n 20 -first 200 -fuzz_device

TEST*/
