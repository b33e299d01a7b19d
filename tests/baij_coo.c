/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "MatSetValuesCOO() of MATBAIJCUDA: repeated and ignored coordinates, values of the device, added "
                     "values, what PETSc does with values that are on the device only, errors.\n\n";

#include "baijcase.h"
#include "eventcount.h"

/* Coordinates of the blocks of a case, in no order, some twice, some ignored; some blocks have only one */
static PetscErrorCode Coordinates(const BaijCase *c, Mat B, PetscBool remote, PetscCount *n, PetscInt **i, PetscInt **j)
{
  PetscInt    begin, end, most = 0;
  PetscCount  k = 0;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(B, &begin, &end));
  begin /= c->bs;
  end /= c->bs;
  if (remote) {
    begin = 0;
    end   = rank ? 0 : c->mb;
  }
  for (int pass = 0; pass < 2; pass++) {
    if (pass) PetscCall(PetscMalloc2(most, i, most, j));
    for (PetscInt r = begin; r < end; r++)
      for (PetscInt s = c->nb - 1; s >= 0; s--) {
        if (!BaijHas(c, 1, r, s)) continue;
        for (PetscInt e = 0; e < c->bs * c->bs; e++) {
          const PetscInt times = e && (r + s) % 3 == 1 ? 0 : 1 + (e + r) % 2;

          for (PetscInt t = 0; t < times; t++) {
            if (pass) {
              (*i)[k] = (e + s) % 7 == 5 && t ? -1 : r * c->bs + e % c->bs;
              (*j)[k] = s * c->bs + e / c->bs;
            }
            k++;
          }
        }
      }
    if (!pass) PetscCall(PetscIntCast(k, &most));
    *n = k;
    k  = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v in the memory of x, a vector of n values for it */
static PetscErrorCode SetValues(Mat A, Vec x, PetscInt seed, InsertMode mode)
{
  const PetscScalar *v;
  PetscMemType       memtype;

  PetscFunctionBegin;
  PetscCall(SpikeTestSetRandom(x, seed));
  PetscCall(VecGetArrayReadAndMemType(x, &v, &memtype));
  PetscCall(MatSetValuesCOO(A, v, mode));
  PetscCall(VecRestoreArrayReadAndMemType(x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetReference(Mat B, PetscCount n, const PetscInt i[], const PetscInt j[], Vec x, PetscInt seed,
                                   InsertMode mode)
{
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(SpikeTestSetRandom(x, seed));
  if (mode == INSERT_VALUES) PetscCall(MatZeroEntries(B));
  PetscCall(VecGetArrayRead(x, &v));
  for (PetscCount k = 0; k < n; k++) PetscCall(MatSetValue(B, i[k], j[k], v[k], ADD_VALUES));
  PetscCall(VecRestoreArrayRead(x, &v));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL stands for zeros */
static PetscErrorCode TestNull(Mat A, Mat B, Vec x, PetscCount n, const PetscInt i[], const PetscInt j[],
                               const char where[])
{
  PetscFunctionBegin;
  PetscCall(SetValues(A, x, 10, INSERT_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 10, INSERT_VALUES));
  PetscCall(MatSetValuesCOO(A, NULL, ADD_VALUES));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(MatSetValuesCOO(A, NULL, INSERT_VALUES));
  PetscCall(MatZeroEntries(B));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(SetValues(A, x, 11, ADD_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 11, ADD_VALUES));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations that leave values where they are, twice: of values on the device only, and of PETSc's */
static PetscErrorCode TestAhead(const BaijCase *c, Mat A, Mat B, Vec x, PetscCount n, const PetscInt i[],
                                const PetscInt j[], const char where[])
{
  Vec d[2];
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d[0]));
  PetscCall(VecDuplicate(d[0], &d[1]));
  for (PetscInt turn = 0; turn < 2; turn++) {
    PetscCall(SetValues(A, x, 60 + turn, INSERT_VALUES));
    PetscCall(SetReference(B, n, i, j, x, 60 + turn, INSERT_VALUES));
    if (turn) PetscCall(MatShift(A, 1.0));
    if (turn) PetscCall(MatShift(B, 1.0));
    PetscCall(MatScale(A, 0.75));
    PetscCall(MatScale(B, 0.75));
    if (c->mb == c->nb) {
      PetscCall(VecSet(d[0], NAN));
      PetscCall(MatGetDiagonal(A, d[0]));
      PetscCall(MatGetDiagonal(B, d[1]));
      PetscCall(BaijSame(d[0], d[1], "diagonal", where));
    }
    PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    PetscCall(MatScale(A, 2.0));
    PetscCall(BaijProducts(C, B, PETSC_FALSE, where));
    PetscCall(MatScale(C, 2.0));
    PetscCall(MatScale(B, 2.0));
    PetscCall(BaijCompare(C, B, where));
    PetscCall(BaijCompare(A, B, where));
    PetscCall(MatDestroy(&C));
    PetscCall(SetValues(A, x, 62, INSERT_VALUES));
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &C));
    PetscCall(MatZeroEntries(A));
    PetscCall(MatZeroEntries(B));
    PetscCall(BaijProducts(C, B, PETSC_FALSE, where));
    PetscCall(BaijCompare(A, B, where));
    PetscCall(MatDestroy(&C));
    PetscCall(SetValues(A, x, 62, INSERT_VALUES));
    PetscCall(MatZeroEntries(A));
    PetscCall(SetValues(A, x, 63, ADD_VALUES));
    PetscCall(SetReference(B, n, i, j, x, 63, ADD_VALUES));
    PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  }
  PetscCall(VecDestroy(&d[0]));
  PetscCall(VecDestroy(&d[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ILU(0) of the blocks, whose values PETSc reads on the host, twice; on several ranks in PCBJACOBI */
static PetscErrorCode TestFactors(Mat A, Mat B, Vec x, PetscCount n, const PetscInt i[], const PetscInt j[],
                                  PCType type, const char where[])
{
  KSP ksp[2];
  PC  pc;
  Vec b, y[2];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &b, NULL));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDuplicate(b, &y[k]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetOperators(ksp[k], k ? B : A, k ? B : A));
    PetscCall(KSPSetType(ksp[k], KSPPREONLY));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, type));
    PetscCall(KSPSetFromOptions(ksp[k]));
  }
  PetscCall(SpikeTestSetRandom(b, 21));
  for (PetscInt again = 0; again < 3; again++) {
    PetscCall(SetValues(A, x, 40 + again, INSERT_VALUES));
    PetscCall(SetReference(B, n, i, j, x, 40 + again, INSERT_VALUES));
    PetscCall(MatShift(A, 30.0));
    PetscCall(MatShift(B, 30.0));
    if (again) { /* with values on the device only */
      PetscCall(SetValues(A, x, 50 + again, ADD_VALUES));
      PetscCall(SetReference(B, n, i, j, x, 50 + again, ADD_VALUES));
    }
    for (int k = 0; k < 2; k++) PetscCall(KSPSolve(ksp[k], b, y[k]));
    PetscCall(BaijSame(y[0], y[1], type, where));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(VecDestroy(&y[k]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const BaijCase *c, PetscBool remote, PetscBool setup)
{
  const PCType type[] = {PCJACOBI, PCPBJACOBI, PCBJACOBI, PCSOR, PCBLOCKILU};
  PetscCount   n      = 0;
  PetscInt    *i, *j, *ci, *cj;
  VecType      vectype;
  Mat          A, B, C;
  Vec          x;
  PetscReal    norm[2];
  PetscBool    ours;
  char         where[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%" PetscInt_FMT " x %" PetscInt_FMT " blocks of %" PetscInt_FMT "%s",
                          c->mb, c->nb, c->bs, remote ? " from rank 0" : ""));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJ, &B));
  PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, B));
  PetscCall(Coordinates(c, B, remote, &n, &i, &j));
  PetscCall(PetscMalloc2(n, &ci, n, &cj));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
  if (setup) PetscCall(BaijFill(c, 2, 1, PETSC_FALSE, INSERT_VALUES, A)); /* another pattern before */
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, (PetscInt)n, (PetscInt)n));
  PetscCall(VecSetType(x, vectype));
  PetscCall(PetscArraycpy(ci, i, n));
  PetscCall(PetscArraycpy(cj, j, n));
  PetscCall(MatSetPreallocationCOO(A, n, ci, cj));
  PetscCall(SetValues(A, x, 3, INSERT_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 3, INSERT_VALUES));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where)); /* PETSc has not asked for values */
  PetscCall(SetValues(A, x, 4, ADD_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 4, ADD_VALUES));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm[0]));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm[1]));
  PetscCall(SpikeTestSmall(PetscAbsReal(norm[0] - norm[1]), BAIJTEST_TOL * norm[1], "norm", where));
  PetscCall(MatScale(A, 0.25));
  PetscCall(MatScale(B, 0.25));
  PetscCall(SetValues(A, x, 5, ADD_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 5, ADD_VALUES));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(BaijProducts(C, B, PETSC_FALSE, where));
  PetscCall(PetscObjectHasFunction((PetscObject)C, "MatSetValuesCOO_C", &ours));
  if (ours) { /* PETSc's way forgets coordinates in a duplicate */
    PetscCall(SetValues(C, x, 6, INSERT_VALUES));
    PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
    PetscCall(SetReference(B, n, i, j, x, 6, INSERT_VALUES));
    PetscCall(BaijProducts(C, B, PETSC_FALSE, where));
  }
  PetscCall(MatCopy(C, A, SAME_NONZERO_PATTERN));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(MatDestroy(&C));
  PetscCall(SetValues(A, x, 7, INSERT_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 7, INSERT_VALUES));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(BaijProducts(C, B, PETSC_FALSE, where));
  PetscCall(MatDestroy(&C));
  PetscCall(SetValues(A, x, 8, INSERT_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 8, INSERT_VALUES));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(SetValues(A, x, 9, ADD_VALUES));
  PetscCall(SetReference(B, n, i, j, x, 9, ADD_VALUES));
  PetscCall(BaijProducts(A, B, PETSC_FALSE, where));
  PetscCall(MatBindToCPU(A, PETSC_FALSE));
  PetscCall(TestNull(A, B, x, n, i, j, where));
  if (ours) PetscCall(TestAhead(c, A, B, x, n, i, j, where));
  if (c->mb == c->nb && c->mb > 1)
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(type); t++)
      if (c->bs <= SPIKE_BAIJ_MAXBS || t < 4) PetscCall(TestFactors(A, B, x, n, i, j, type[t], where));
  PetscCall(PetscFree2(i, j));
  PetscCall(PetscFree2(ci, cj));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How often something was done since the last call, in `plans` and `fills`: MatSetPreallocationCOO(), MatSetValuesCOO()
*/
static PetscErrorCode Counts(PetscInt before[2], PetscInt *plans, PetscInt *fills)
{
  PetscInt now[2];

  PetscFunctionBegin;
  PetscCall(SpikeTestEventCount("MatSetPreallCOO", &now[0]));
  PetscCall(SpikeTestEventCount("MatSetValuesCOO", &now[1]));
  *plans    = now[0] - before[0];
  *fills    = now[1] - before[1];
  before[0] = now[0];
  before[1] = now[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new entry in block (0, last), which has none, on the rank that has it */
static PetscErrorCode NewEntry(const BaijCase *c, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (!begin && end) PetscCall(MatSetValue(A, 0, c->nb * c->bs - 1, 2.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OnDevice(Mat A, PetscBool *device)
{
  PetscMemType there;

  PetscFunctionBegin;
  PetscCall(MatGetCurrentMemType(A, &there));
  *device = (PetscBool)PetscMemTypeCUDA(there);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  From MATAIJCUSPARSE, with the host's kernels from MATAIJ: again with other values, with another pattern on either
  side, into a duplicate. Only new patterns are planned, and values stay on the device
*/
static PetscErrorCode TestFromAIJ(const BaijCase *c)
{
  PetscInt  counts[2] = {0, 0}, plans, fills;
  PetscBool device    = PETSC_FALSE;
  Mat       A, B, D, P;
  char      where[128];

  PetscFunctionBegin;
  if (c->mb != c->nb || c->bs > SPIKE_BAIJ_MAXBS || c->mb < 2 || BaijHas(c, 1, 0, c->nb - 1))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
  PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, A));
  PetscCall(OnDevice(A, &device));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(B, MATAIJ, MAT_INITIAL_MATRIX, &P));
  if (device) PetscCall(MatConvert(P, "aijcusparse", MAT_INPLACE_MATRIX, &P));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(Counts(counts, &plans, &fills));
  for (PetscInt turn = 0; turn < 6; turn++) {
    PetscLogDouble moved = 0;

    PetscCall(
      PetscSNPrintf(where, sizeof(where), "from AIJ, blocks of %" PetscInt_FMT ", turn %" PetscInt_FMT, c->bs, turn));
    if (turn == 3) PetscCall(NewEntry(c, P));
    if (turn == 5) { /* blocks that P has not */
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(BaijFill(c, 2, 4, PETSC_FALSE, ADD_VALUES, A));
    }
    if (turn) PetscCall(MatScale(turn == 4 ? A : P, 1.5));
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
    moved = petsc_ctog_sz + petsc_gtoc_sz;
#endif
    PetscCall(MatConvert(P, MATBAIJCUDA, turn ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &A));
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
    moved = petsc_ctog_sz + petsc_gtoc_sz - moved;
#endif
    PetscCall(Counts(counts, &plans, &fills));
    if (PetscDefined(USE_LOG))
      PetscCall(SpikeTestCheck((PetscBool)(plans == (turn == 0 || turn == 3 || turn == 5) && fills == 1),
                               "%s: %" PetscInt_FMT " plans, %" PetscInt_FMT " fills", where, plans, fills));
    if (device && (turn == 1 || turn == 2))
      PetscCall(SpikeTestCheck((PetscBool)(moved < 64), "%s: %g bytes were copied", where, (double)moved));
    PetscCall(BaijIs(A, where));
    PetscCall(BaijProducts(A, P, PETSC_FALSE, where));
  }
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(MatScale(P, 0.5));
  PetscCall(MatConvert(P, MATBAIJCUDA, MAT_REUSE_MATRIX, &D));
  PetscCall(Counts(counts, &plans, &fills));
  if (PetscDefined(USE_LOG))
    PetscCall(SpikeTestCheck((PetscBool)(!plans && fills == 1),
                             "%s: %" PetscInt_FMT " plans, %" PetscInt_FMT " fills of a duplicate", where, plans,
                             fills));
  PetscCall(BaijProducts(D, P, PETSC_FALSE, "a duplicate of what came from AIJ"));
  PetscCall(MatScale(A, 0.5));
  PetscCall(BaijProducts(A, P, PETSC_FALSE, "beside a duplicate"));
  PetscCall(MatConvert(P, MATBAIJCUDA, MAT_INPLACE_MATRIX, &P));
  PetscCall(BaijIs(P, "in place"));
  PetscCall(BaijProducts(P, A, PETSC_FALSE, "in place"));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Two fields inside of the blocks, as PCFIELDSPLIT has them: A goes to AIJ once for both, again only with new values,
  and is planned only in a new pattern
*/
static PetscErrorCode TestFields(const BaijCase *c)
{
  PetscInt counts[2] = {0, 0}, plans, fills, begin, end;
  IS       is[2];
  Mat      A, B, S[2], T;
  char     where[128];

  PetscFunctionBegin;
  if (c->mb != c->nb || c->bs < 2 || c->mb < 2 || BaijHas(c, 1, 0, c->nb - 1)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
  PetscCall(BaijFill(c, 1, 1, PETSC_FALSE, INSERT_VALUES, A));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt f = 0; f < 2; f++)
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / c->bs, begin + f, c->bs, &is[f]));
  for (PetscInt turn = 0; turn < 4; turn++) {
    PetscCall(
      PetscSNPrintf(where, sizeof(where), "fields of blocks of %" PetscInt_FMT ", turn %" PetscInt_FMT, c->bs, turn));
    if (turn == 1) PetscCall(MatScale(A, 2.0));
    if (turn == 3) PetscCall(NewEntry(c, A));
    PetscCall(Counts(counts, &plans, &fills));
    for (int f = 0; f < 2; f++) {
      if (turn == 3) PetscCall(MatDestroy(&S[f]));
      PetscCall(MatCreateSubMatrix(A, is[f], is[f], turn % 3 ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &S[f]));
    }
    PetscCall(Counts(counts, &plans, &fills));
    if (PetscDefined(USE_LOG) && c->bs <= SPIKE_BAIJ_MAXBS)
      PetscCall(SpikeTestCheck((PetscBool)(fills == (turn == 2 ? 0 : 1) && plans == (turn % 3 ? 0 : 1)),
                               "%s: %" PetscInt_FMT " conversions, %" PetscInt_FMT " plans", where, fills, plans));
    PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
    for (int f = 0; f < 2; f++) {
      PetscCall(MatCreateSubMatrix(B, is[f], is[f], MAT_INITIAL_MATRIX, &T));
      PetscCall(BaijProducts(S[f], T, PETSC_FALSE, where));
      PetscCall(MatDestroy(&T));
    }
    PetscCall(MatDestroy(&B));
  }
  for (int f = 0; f < 2; f++) {
    PetscCall(MatDestroy(&S[f]));
    PetscCall(ISDestroy(&is[f]));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values of the device, products, and the setup of PCBLOCKILU with them: nothing passes between host and device, on one
  rank, once all has been planned, but for what the setup tells the host
*/
static PetscErrorCode TestNothingCopied(void)
{
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  const BaijCase c = {4, 60, 60, 5, 0};
  PetscCount     n = 0;
  PetscInt      *i, *j;
  PetscBool      device;
  PetscMemType   there;
  Mat            A, B, C;
  VecType        vectype;
  Vec            x, b, y;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(BaijCreate(PETSC_COMM_SELF, &c, MATBAIJ, &B));
  PetscCall(BaijFill(&c, 1, 1, PETSC_FALSE, INSERT_VALUES, B));
  PetscCall(Coordinates(&c, B, PETSC_FALSE, &n, &i, &j));
  PetscCall(BaijCreate(PETSC_COMM_SELF, &c, MATBAIJCUDA, &A));
  PetscCall(MatGetCurrentMemType(A, &there));
  device = (PetscBool)PetscMemTypeCUDA(there);
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, (PetscInt)n, (PetscInt)n));
  PetscCall(VecSetType(x, vectype));
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(MatCreateVecs(A, &b, &y));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBLOCKILU));
  for (int again = 0; again < 3 && device; again++) {
    const PetscScalar *v;
    PetscMemType       memtype;
    PetscLogDouble     moved;

    PetscCall(SpikeTestSetRandom(x, 3 + again));
    PetscCall(VecGetArrayReadAndMemType(x, &v, &memtype));
    moved = petsc_ctog_sz + petsc_gtoc_sz;
    PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
    PetscCall(MatMult(A, b, y));
    PetscCall(MatScale(A, 2.0));
    PetscCall(MatGetDiagonal(A, y));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    PetscCall(MatMult(C, b, y));
    PetscCall(MatDestroy(&C));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, y));
    moved = petsc_ctog_sz + petsc_gtoc_sz - moved;
    if (again) PetscCall(SpikeTestCheck((PetscBool)(moved < 4096), "%g bytes were copied", (double)moved));
    PetscCall(VecRestoreArrayReadAndMemType(x, &v));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFree2(i, j));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  return PETSC_SUCCESS;
#endif
}

/* Coordinates outside of the matrix; values before coordinates; a pattern that changed meanwhile */
static PetscErrorCode TestErrors(void)
{
  const BaijCase c    = {2, 4, 4, 2, 0};
  PetscInt       i[2] = {0, 8}, j[2] = {1, 3};
  PetscScalar    v[2] = {1.0, 2.0};
  PetscErrorCode ierr;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(BaijCreate(PETSC_COMM_SELF, &c, MATBAIJCUDA, &A));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetPreallocationCOO(A, 2, i, j);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_OUTOFRANGE), "row 8 of 8: error %d", (int)ierr));
  i[1] = 7;
  PetscCall(MatSetPreallocationCOO(A, 2, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, 4, 4, 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = MatSetValuesCOO(A, v, INSERT_VALUES);
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestCheck((PetscBool)(ierr == PETSC_ERR_ARG_WRONGSTATE), "another pattern: error %d", (int)ierr));
  i[0] = 2;
  i[1] = j[1] = 3;
  PetscCall(MatSetPreallocationCOO(A, 2, i, j));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(MatGetValue(A, 3, 3, &v[0]));
  PetscCall(SpikeTestCheck((PetscBool)(v[0] == 2.0), "the same matrix after an error"));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(baijcases); k++)
    PetscCall(TestCase(&baijcases[k], (PetscBool)(k % 4 == 3), (PetscBool)(k % 2)));
  for (PetscInt k = 0; k < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(baijcases); k++) {
    PetscCall(TestFromAIJ(&baijcases[k]));
    PetscCall(TestFields(&baijcases[k]));
  }
  PetscCall(TestErrors());
  PetscCall(TestNothingCopied());
  PetscCall(SpikeTestEnd("baij_coo"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/baij_coo_1.out
      # several ranks may print "function name: ..." into one another
      filter: grep -v -e "name: [A-Z]" -e "function *$" -e MatILUFactorSymbolic_SeqBAIJ_ilu0
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
         args: -spike_host_baijcuda
      test:
         suffix: cuda
         nsize: {{1 3}}
         requires: cuda gpurun

TEST*/
