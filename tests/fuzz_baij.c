/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Random operations on a MATBAIJCUDA and on a MATBAIJ: products stay the same, and PCBLOCKILU does. "
           "Coordinates too.\n\n";

#include "baijcase.h"
#include "fuzz.h"

/* Of one case: the matrices, coordinates */
typedef struct {
  Mat       A, B;
  PC        pc; /* of A, all the time */
  BaijCase  c;
  PetscBool coordinates; /* A takes values of them */
  PetscInt  ncoo, *i, *j;
} State;

/* y = op(A) x + z with a random choice of all that, by both matrices */
static PetscErrorCode Multiply(Fuzz *f, State *s, const char where[])
{
  const PetscBool trans = FuzzChance(f, 40), add = FuzzChance(f, 40), host = FuzzChance(f, 20);
  const PetscInt  seed = FuzzInt(f, 1, 1000);
  Vec             x, y, z, w;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(host ? s->B : s->A, trans ? &y : &x, trans ? &x : &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecDuplicate(y, &w));
  PetscCall(SpikeTestSetRandom(x, seed));
  PetscCall(SpikeTestSetRandom(w, seed + 1));
  PetscCall(BaijSetAll(y, 0.0));
  PetscCall(BaijSetAll(z, NAN));
  if (trans) PetscCall(MatMultTranspose(s->B, x, y));
  else PetscCall(MatMult(s->B, x, y));
  if (add) PetscCall(VecAXPY(y, 1.0, w));
  if (trans && add) PetscCall(MatMultTransposeAdd(s->A, x, w, z));
  else if (trans) PetscCall(MatMultTranspose(s->A, x, z));
  else if (add) PetscCall(MatMultAdd(s->A, x, w, z));
  else PetscCall(MatMult(s->A, x, z));
  {
    const PetscInt before = spiketest_failures;
    PetscMPIInt    rank;

    PetscCall(BaijSame(z, y, trans ? "A^T x" : "A x", where));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (spiketest_failures > before && spiketest_failures <= 40 && !rank) PetscCall(FuzzPrintCase());
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Factors of A, in an object that has seen what A was before, are those of B in a new one. Where they are regular: the
  entries of both may differ by rounding. No number of the sequence is drawn
*/
static PetscErrorCode Precondition(State *s, const char where[])
{
  const PetscReal most = PetscSqrtReal(PETSC_SQRT_MACHINE_EPSILON); /* what rounding grows by: at most 1 / most */
  PCBlockILUInfo  info[2];
  PetscReal       norm, nx, nb, d;
  Vec             b, x, y;
  PC              ref;

  PetscFunctionBegin;
  if (s->c.mb != s->c.nb || !s->c.mb || s->c.bs > SPIKE_BAIJ_MAXBS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetOperators(s->pc, s->A, s->A));
  PetscCall(PCSetUp(s->pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &ref));
  PetscCall(PCSetType(ref, PCBLOCKILU));
  PetscCall(PCSetOperators(ref, s->B, s->B));
  PetscCall(PCSetUp(ref));
  PetscCall(PCBlockILUGetInfo(s->pc, &info[0]));
  PetscCall(PCBlockILUGetInfo(ref, &info[1]));
  PetscCall(MatCreateVecs(s->A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(SpikeTestSetRandom(b, 9));
  PetscCall(PCApply(s->pc, b, x));
  PetscCall(PCApply(ref, b, y));
  PetscCall(MatNorm(s->B, NORM_INFINITY, &norm));
  PetscCall(VecNorm(y, NORM_INFINITY, &nx));
  PetscCall(VecNorm(b, NORM_INFINITY, &nb));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &d));
  if (!info[1].boosted && most * norm * nx <= nb)
    PetscCall(FuzzSmall(info[0].boosted ? 1.0 : d, most * nx, "PCBLOCKILU", where));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PCDestroy(&ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the coordinates that A has; those of B one by one */
static PetscErrorCode SetValues(Fuzz *f, State *s, PetscBool add)
{
  const PetscInt seed = FuzzInt(f, 1, 1000);
  PetscInt       begin;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(s->A, &begin, NULL));
  PetscCall(PetscMalloc1(s->ncoo, &v));
  for (PetscInt k = 0; k < s->ncoo; k++) v[k] = SpikeTestScalar(seed, k, begin);
  PetscCall(MatSetValuesCOO(s->A, v, add ? ADD_VALUES : INSERT_VALUES));
  if (!add) PetscCall(MatZeroEntries(s->B));
  for (PetscInt k = 0; k < s->ncoo; k++) PetscCall(MatSetValue(s->B, s->i[k], s->j[k], v[k], ADD_VALUES));
  PetscCall(MatAssemblyBegin(s->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both matrices get a pattern from coordinates of own rows, of which some are repeated and some ignored */
static PetscErrorCode SetCoordinates(Fuzz *f, State *s)
{
  const PetscInt each = FuzzInt(f, 1, 3), shift = FuzzInt(f, 0, 7), N = s->c.nb * s->c.bs;
  PetscInt       begin, end, m, *i, *j;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(s->A, &begin, &end));
  m       = end - begin;
  s->ncoo = N ? m * each : 0;
  PetscCall(PetscFree2(s->i, s->j));
  PetscCall(PetscMalloc2(s->ncoo, &s->i, s->ncoo, &s->j));
  PetscCall(PetscMalloc2(s->ncoo, &i, s->ncoo, &j));
  for (PetscInt k = 0; k < s->ncoo; k++) {
    i[k] = s->i[k] = k % 11 == 7 ? -1 : begin + (k * 3 + k / m) % m;
    j[k] = s->j[k] = (begin + k % m * (1 + k / m) + shift) % N;
  }
  PetscCall(MatSetPreallocationCOO(s->A, s->ncoo, i, j));
  PetscCall(PetscFree2(i, j));
  PetscCall(MatDestroy(&s->B));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, &s->c, MATBAIJ, &s->B));
  PetscCall(SetValues(f, s, PETSC_FALSE));
  s->coordinates = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation on both, or one that leaves the entries as they are */
static PetscErrorCode Operate(Fuzz *f, State *s)
{
  const PetscInt  what = FuzzInt(f, 0, 12), seed = FuzzInt(f, 1, 1000), pattern = FuzzInt(f, 1, 4);
  const PetscReal a   = 0.25 * FuzzInt(f, -6, 6);
  Mat            *M[] = {&s->A, &s->B}, C;
  PetscBool       has;
  Vec             l, r;

  PetscFunctionBegin;
  if (what == 0) PetscCall(SetCoordinates(f, s));
  if (what == 1 && s->coordinates) PetscCall(SetValues(f, s, FuzzChance(f, 50)));
  if (what == 2 || what == 3) s->coordinates = PETSC_FALSE; /* the pattern may change */
  if (what == 4) {
    PetscCall(MatDuplicate(s->A, MAT_COPY_VALUES, &C));
    PetscCall(MatDestroy(&s->A));
    s->A = C;
    PetscCall(PetscObjectHasFunction((PetscObject)C, "MatSetValuesCOO_C", &has)); /* PETSc's own way has none */
    s->coordinates = (PetscBool)(s->coordinates && has);
  }
  if (what == 5) {
    PetscCall(MatConvert(s->A, MATBAIJ, MAT_INPLACE_MATRIX, &s->A));
    PetscCall(MatConvert(s->A, MATBAIJCUDA, MAT_INPLACE_MATRIX, &s->A));
    s->coordinates = PETSC_FALSE;
  }
  if (what == 6) PetscCall(MatBindToCPU(s->A, FuzzChance(f, 50)));
  for (int k = 0; k < 2; k++) {
    Mat A = *M[k];

    if (what == 2) {
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(BaijFill(&s->c, pattern, seed, (PetscBool)(seed % 2), seed % 3 ? ADD_VALUES : INSERT_VALUES, A));
    }
    if (what == 3 && s->c.mb == s->c.nb && s->c.mb) {
      PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      PetscCall(MatShift(A, a));
    }
    if (what == 7) PetscCall(MatScale(A, a));
    if (what == 8) {
      PetscCall(MatCreateVecs(s->B, &r, &l));
      PetscCall(SpikeTestSetRandom(l, seed));
      PetscCall(SpikeTestSetRandom(r, seed + 1));
      PetscCall(MatDiagonalScale(A, seed % 3 ? l : NULL, seed % 2 ? r : NULL));
      PetscCall(VecDestroy(&l));
      PetscCall(VecDestroy(&r));
    }
    if (what == 9) PetscCall(MatZeroEntries(A));
  }
  if (what == 10) {
    PetscCall(MatAXPY(s->A, a, s->A, SAME_NONZERO_PATTERN));
    PetscCall(MatAXPY(s->B, a, s->B, SAME_NONZERO_PATTERN));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const PetscInt bs[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 20, 32, 33};
  State          s;
  char           where[128];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.c.bs     = bs[FuzzInt(f, 0, PETSC_STATIC_ARRAY_LENGTH(bs) - 1)];
  s.c.mb     = FuzzInt(f, 0, s.c.bs > 8 ? 6 : 20);
  s.c.nb     = FuzzChance(f, 70) ? s.c.mb : FuzzInt(f, 0, s.c.bs > 8 ? 6 : 20);
  s.c.blocks = FuzzInt(f, 1, 5);
  s.c.where  = FuzzInt(f, 0, 2);
  PetscCall(BaijCreate(PETSC_COMM_WORLD, &s.c, MATBAIJCUDA, &s.A));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, &s.c, MATBAIJ, &s.B));
  PetscCall(BaijFill(&s.c, 1, 1, PETSC_FALSE, INSERT_VALUES, s.A));
  PetscCall(BaijFill(&s.c, 1, 1, PETSC_FALSE, INSERT_VALUES, s.B));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &s.pc));
  PetscCall(PCSetType(s.pc, PCBLOCKILU));
  for (PetscInt step = 0; step < 12; step++) {
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%" PetscInt_FMT " x %" PetscInt_FMT " blocks of %" PetscInt_FMT ", step %" PetscInt_FMT,
                            s.c.mb, s.c.nb, s.c.bs, step));
    if (FuzzChance(f, 70)) PetscCall(Multiply(f, &s, where));
    if (step % 3 == f->number % 3) PetscCall(Precondition(&s, where));
    PetscCall(Operate(f, &s));
  }
  PetscCall(Multiply(f, &s, "at the end"));
  PetscCall(Precondition(&s, "at the end"));
  PetscCall(PCDestroy(&s.pc));
  PetscCall(MatDestroy(&s.A));
  PetscCall(MatDestroy(&s.B));
  PetscCall(PetscFree2(s.i, s.j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_baij", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_baij_1.out
      test:
         suffix: 1
         args: -n 100 -spike_host_baijcuda
      test:
         suffix: ranks
         nsize: {{2 3 4 5}}
         args: -n 100 -spike_host_baijcuda
      # the nonzero state of another pattern once more
      test:
         suffix: state
         nsize: 3
         args: -seed 2903 -case 124 -spike_host_baijcuda
      test:
         suffix: state_2
         nsize: 3
         args: -seed 8883 -case 33 -spike_host_baijcuda
      test:
         suffix: cuda
         nsize: {{1 2}}
         requires: cuda gpurun
         args: -n 100

TEST*/
