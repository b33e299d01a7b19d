/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Random cases of PCBLOCKILU: blocks, levels, subdomains, orderings, changes, transposes.\n\n";

#include "blockilucase.h"
#include "fuzz.h"

/* What the preconditioner is, and how much a comparison may differ */
typedef struct {
  PetscInt  levels, local;
  PetscBool complete, natural;
  PetscReal tol;
} Setting;

/* y = op(M^-1) x in the rows of this rank, of a dense array that all ranks have */
static PetscErrorCode CheckApply(PC pc, const BlockCase *c, PetscBool trans, const PetscScalar *minv, PetscInt seed,
                                 PetscReal tol, const char where[])
{
  const PetscInt     n = c->nb * c->bs;
  const PetscScalar *ya;
  PetscScalar       *xa;
  PetscReal          diff = 0.0, norm = 0.0;
  PetscInt           begin, end;
  Mat                A;
  Vec                x, y;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(x, seed));
  PetscCall(PetscMalloc1(n, &xa));
  PetscCall(FuzzGather(x, xa));
  if (trans) PetscCall(PCApplyTranspose(pc, x, y));
  else PetscCall(PCApply(pc, x, y));
  PetscCall(VecGetOwnershipRange(y, &begin, &end));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = begin; i < end; i++) {
    PetscScalar sum = 0.0;
    PetscReal   d, most = 0.0;

    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar e = trans ? minv[j + i * n] : minv[i + j * n];

      sum += e * xa[j];
      most += PetscAbsScalar(e);
    }
    d = PetscAbsScalar(ya[i - begin] - sum);
    if (!(d <= diff)) diff = PetscIsInfOrNanReal(d) ? PETSC_MAX_REAL : d;
    norm = PetscMax(norm, most);
  }
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &diff, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &norm, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(FuzzSmall(diff, tol * norm, trans ? "transposed application" : "application", where));
  PetscCall(PetscFree(xa));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides are those one by one */
static PetscErrorCode CheckColumns(PC pc, Fuzz *f, PetscReal tol, const char where[])
{
  const PetscBool trans   = FuzzChance(f, 50);
  const PetscInt  columns = FuzzInt(f, 1, FuzzChance(f, 80) ? 6 : 40), seed = FuzzInt(f, 0, 1000);
  PetscInt        n, N;
  PetscReal       d, norm;
  Mat             A, X, Y;
  Vec             x, cx, cy;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, columns, NULL, &X));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  for (PetscInt k = 0; k < columns; k++) {
    PetscCall(MatDenseGetColumnVecWrite(X, k, &cx));
    PetscCall(SpikeTestSetRandom(cx, seed + k));
    PetscCall(MatDenseRestoreColumnVecWrite(X, k, &cx));
  }
  if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
  else PetscCall(PCMatApply(pc, X, Y));
  for (PetscInt k = 0; k < columns; k++) {
    PetscCall(MatDenseGetColumnVecRead(X, k, &cx));
    if (trans) PetscCall(PCApplyTranspose(pc, cx, x));
    else PetscCall(PCApply(pc, cx, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &cx));
    PetscCall(VecNorm(x, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(Y, k, &cy));
    PetscCall(VecAXPY(x, -1.0, cy));
    PetscCall(MatDenseRestoreColumnVecRead(Y, k, &cy));
    PetscCall(VecNorm(x, NORM_INFINITY, &d));
    PetscCall(FuzzSmall(d, tol * norm, "column of PCMatApply()", where));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&Y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator against dense elimination where the order of elimination is known, else against the matrix or itself */
static PetscErrorCode Check(PC pc, Fuzz *f, const BlockCase *c, const Setting *s, PetscReal scale, const char where[])
{
  const PetscInt  n = c->nb * c->bs, seed = FuzzInt(f, 0, 1000);
  const PetscInt *ranges;
  PetscMPIInt     size;
  PetscScalar    *minv;
  PCBlockILUInfo  info;
  Mat             A;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCBlockILUGetInfo(pc, &info));
  PetscCall(FuzzSmall(info.bs == c->bs && info.block_rows == c->nb && !info.boosted ? 0.0 : 1.0, 0.0,
                      "what the info says of blocks", where));
  if (s->natural || s->complete) {
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(PCGetOperators(pc, NULL, &A));
    PetscCall(MatGetOwnershipRanges(A, &ranges));
    PetscCall(PetscCalloc1(n * n, &minv));
    for (PetscMPIInt r = 0; r < size; r++) {
      const PetscInt first = ranges[r] / c->bs, rows = ranges[r + 1] / c->bs - first;

      for (PetscInt t = 0; t < s->local; t++)
        PetscCall(BlockReference(c, first + rows * t / s->local, first + rows * (t + 1) / s->local,
                                 s->complete ? PETSC_INT_MAX : s->levels, minv));
    }
    for (PetscInt k = 0; k < n * n; k++) minv[k] /= scale;
    PetscCall(CheckApply(pc, c, PETSC_FALSE, minv, seed, s->tol, where));
    PetscCall(CheckApply(pc, c, PETSC_TRUE, minv, seed + 1, s->tol, where));
    PetscCall(PetscFree(minv));
  }
  PetscCall(SpikeTestAdjoint(pc, s->tol, where));
  if (FuzzChance(f, 50)) PetscCall(CheckColumns(pc, f, s->tol, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orderings and levels of an object that may have others already */
static PetscErrorCode Choose(PC pc, Fuzz *f, Setting *s)
{
  const char *const   orderings[] = {MATORDERINGRCM, MATORDERINGND, MATORDERINGQMD, MATORDERING1WD};
  const PetscInt      kind        = FuzzInt(f, 0, 9);
  PetscSpikePrecision precision;

  PetscFunctionBegin;
  s->natural = (PetscBool)(kind < 6);
  PetscCall(PCBlockILUSetMulticolor(pc, (PetscBool)(kind == 6)));
  PetscCall(PCFactorSetMatOrderingType(pc, kind < 7 ? MATORDERINGNATURAL
                                                    : orderings[kind - 7 + (kind == 9 ? FuzzInt(f, 0, 1) : 0)]));
  s->local    = FuzzChance(f, 50) ? 1 : FuzzInt(f, 2, 5);
  s->complete = FuzzChance(f, 30);
  s->levels   = FuzzChance(f, 50) ? 0 : FuzzInt(f, 1, 3);
  PetscCall(PCBlockILUSetLocalSubdomains(pc, s->local));
  PetscCall(PCBlockILUSetComplete(pc, s->complete));
  PetscCall(PCFactorSetLevels(pc, s->levels));
  precision = FuzzChance(f, 20) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
  if (PetscDefined(USE_REAL_SINGLE) && FuzzChance(f, 80)) precision = PETSC_SPIKE_PRECISION_SINGLE;
  PetscCall(PCBlockILUSetPrecision(pc, precision));
  s->tol = PetscDefined(USE_REAL_SINGLE) || precision == PETSC_SPIKE_PRECISION_SINGLE ? 1e-3 : 1e-10;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of the case; types of PETSc and of ours, with and without a block size */
static PetscErrorCode MakeMat(const BlockCase *c, PetscInt nlocal, PetscReal scale, MatType type, PetscBool bs, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, nlocal * c->bs, nlocal * c->bs, c->nb * c->bs, c->nb * c->bs));
  PetscCall(MatSetType(*A, type));
  if (bs) PetscCall(MatSetBlockSize(*A, c->bs));
  PetscCall(MatDIASetMaxFill(*A, 1e6)); /* MATDIA refuses random patterns, which have many diagonals */
  PetscCall(MatSetUp(*A));
  if (strcmp(type, MATDENSE)) PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(BlockSet(c, scale, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(Fuzz *f)
{
  const MatType  host[] = {MATBAIJ, MATBAIJ, MATAIJ, MATAIJ, MATDENSE, MATDIA};
  const PetscInt passes = FuzzInt(f, 1, 4);
  PetscReal      scale  = 1.0;
  BlockCase      c;
  Setting        s;
  PetscInt       nlocal = 0;
  MatType        type;
  PetscBool      setbs;
  Mat            A;
  PC             pc;
  char           where[192];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  c.bs        = FuzzChance(f, 70) ? FuzzInt(f, 1, 5) : FuzzInt(f, 1, FuzzChance(f, 70) ? 9 : 32);
  c.nb        = FuzzSize(f, 300 / c.bs);
  c.width     = FuzzInt(f, 1, PetscMax(1, c.nb / 2));
  c.dominance = 1.1 + 0.1 * FuzzInt(f, 0, 5);
  c.shifted   = FuzzChance(f, 50);
  c.seed      = FuzzInt(f, 0, 10000);
  type        = f->device ? MATAIJCUSPARSE : host[FuzzInt(f, 0, 5)];
  setbs       = (PetscBool)(!strcmp(type, MATBAIJ) || FuzzChance(f, 50));
  if (!strcmp(type, MATDENSE) || !strcmp(type, MATDIA)) c.bs = PetscMin(c.bs, 5);
  PetscCall(FuzzSplit(f, c.nb, &nlocal));
  PetscCall(MakeMat(&c, nlocal, scale, type, setbs, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBLOCKILU));
  if (!setbs) PetscCall(PCBlockILUSetBlockSize(pc, c.bs));
  PetscCall(Choose(pc, f, &s));
  for (PetscInt pass = 0; pass < passes; pass++) {
    const PetscInt change = FuzzInt(f, 0, 3);

    if (pass && !change) { /* another pattern, in another matrix */
      c.seed++;
      PetscCall(MatDestroy(&A));
      PetscCall(MakeMat(&c, nlocal, scale, type, setbs, &A));
    } else if (pass && change == 1) { /* the same factors again, by options */
      PetscCall(Choose(pc, f, &s));
    } else if (pass) { /* new values */
      c.values++;
      scale = 0.25 * FuzzInt(f, 1, 12);
      PetscCall(MatZeroEntries(A));
      PetscCall(BlockSet(&c, scale, A));
    }
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "%s, %" PetscInt_FMT " blocks of %" PetscInt_FMT "%s, %" PetscInt_FMT
                            " subdomains, levels %" PetscInt_FMT "%s%s, pass %" PetscInt_FMT ", change %" PetscInt_FMT,
                            type, c.nb, c.bs, c.shifted ? " shifted" : "", s.local, s.levels,
                            s.complete ? " complete" : "", s.natural ? "" : " reordered", pass, change));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(Check(pc, f, &c, &s, scale, where));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(FuzzRun("fuzz_blockilu", One));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/fuzz_blockilu_1.out
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
