/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockilu.c: block kernels of the host beside BLAS and PETSc's MATBAIJ, in one run; ratios of medians, above 1 where
  ours are faster
*/
static char help
  [] = "Block kernels of the host: PCBLOCKILU against PCILU on MATBAIJ, products with sparse blocks against MatMult()\n\
 and MatMatMult(), block dot and axpy against gemm.\n\
  -bs 1,2,3,...    sizes of blocks (1 to 8, 12, 16, 24)\n\
  -bytes b         of a matrix, about (3e7)\n\
  -levels 0,1      levels of fill\n\
  -n n1,n2         rows of tall blocks (65536,1000000)\n\
  -rounds k        each of which times ours and the other (7); medians are shown\n\
  -best            the best of them instead\n\n";

#include <petscspike.h>
#include <petscblaslapack.h>
#include <petsc/private/matimpl.h>
#include "kernels/block/block.h"
#include "kernels/band/host/ops.h"
#include "common/cputime.h"
#include "common/median.h"

#define MAXROUNDS 64

static PetscInt  rounds = 7;
static PetscBool best   = PETSC_FALSE;

static double Middle(double t[])
{
  const double median = Median((int)rounds, t);

  return best ? t[0] : median;
}

/* Both sides in turn, each so many times that a round takes a few milliseconds */
typedef PetscErrorCode (*Work)(void *);

static PetscErrorCode Compare(Work ours, void *octx, Work other, void *ctx, PetscReal *seconds, PetscReal *ratio)
{
  double t[2][MAXROUNDS], t0, t1;

  PetscFunctionBegin;
  for (PetscInt side = 0; side < 2; side++) { /* warm up, and how often */
    PetscCall(side ? (*other)(ctx) : (*ours)(octx));
  }
  for (PetscInt r = 0; r < rounds; r++) {
    for (PetscInt side = 0; side < 2; side++) {
      PetscInt k = 0;

      t0 = BenchCPUTime();
      do {
        PetscCall(side ? (*other)(ctx) : (*ours)(octx));
        t1 = BenchCPUTime();
        k++;
      } while (t1 - t0 < 5e-3);
      t[side][r] = (t1 - t0) / k;
    }
  }
  *seconds = (PetscReal)Middle(t[0]);
  *ratio   = (PetscReal)Middle(t[1]) / *seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Number(PetscInt i, PetscInt j)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * (unsigned long long)(i + 1) +
                         0xD1B54A32D192ED03ULL * (unsigned long long)(j + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z ^= z >> 27;
  return (PetscReal)((double)(z >> 40) / 8388608.0 - 1.0);
}

/* Seven block diagonals at distances 0, 1, m and m^2: those of a 7-point stencil on an m^3 grid, none left out */
static PetscErrorCode StencilMat(PetscInt m, PetscInt bs, Mat *A)
{
  const PetscInt nb = m * m * m, step[] = {1, m, m * m};
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(MatCreateSeqBAIJ(PETSC_COMM_SELF, bs, nb * bs, nb * bs, 7, NULL, A));
  PetscCall(PetscMalloc1(bs * bs, &v));
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt d = -3; d <= 3; d++) {
      const PetscInt j = d ? i + (d < 0 ? -step[-d - 1] : step[d - 1]) : i;

      if (j < 0 || j >= nb) continue;
      for (PetscInt e = 0; e < bs * bs; e++)
        v[e] = Number(i * bs * bs + e, j) + (d || e % bs != e / bs ? 0.0 : 7.5 * bs);
      PetscCall(MatSetValuesBlocked(*A, 1, &i, 1, &j, v, INSERT_VALUES));
    }
  }
  PetscCall(PetscFree(v));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Factors ---- */
typedef struct {
  Mat A, X, Y;
  PC  pc;
  Vec x, y;
} Factored;

static PetscErrorCode Setup(void *ctx)
{
  Factored *f = (Factored *)ctx;

  PetscFunctionBegin;
  PetscCall(PetscObjectStateIncrease((PetscObject)f->A));
  PetscCall(PCSetUp(f->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Apply(void *ctx)
{
  Factored *f = (Factored *)ctx;

  PetscFunctionBegin;
  PetscCall(PCApply(f->pc, f->x, f->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyTranspose(void *ctx)
{
  Factored *f = (Factored *)ctx;

  PetscFunctionBegin;
  PetscCall(PCApplyTranspose(f->pc, f->x, f->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyMany(void *ctx)
{
  Factored *f = (Factored *)ctx;

  PetscFunctionBegin;
  PetscCall(PCMatApply(f->pc, f->X, f->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchFactors(Mat A, PetscInt bs, PetscInt levels)
{
  const Work     works[] = {Setup, Apply, ApplyTranspose, ApplyMany};
  Factored       f[2];
  PCBlockILUInfo info;
  PetscReal      seconds[4], ratio[4];
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt side = 0; side < 2; side++) {
    f[side].A = A;
    PetscCall(PCCreate(PETSC_COMM_SELF, &f[side].pc));
    PetscCall(PCSetOperators(f[side].pc, A, A));
    PetscCall(PCSetType(f[side].pc, side ? PCILU : PCBLOCKILU));
    PetscCall(PCFactorSetLevels(f[side].pc, levels));
    PetscCall(PCSetUp(f[side].pc));
    PetscCall(MatCreateVecs(A, &f[side].x, &f[side].y));
    PetscCall(VecSet(f[side].x, 1.0));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, 16, NULL, &f[side].X));
    PetscCall(MatDuplicate(f[side].X, MAT_DO_NOT_COPY_VALUES, &f[side].Y));
  }
  for (PetscInt w = 0; w < 4; w++) PetscCall(Compare(works[w], &f[0], works[w], &f[1], &seconds[w], &ratio[w]));
  PetscCall(PCBlockILUGetInfo(f[0].pc, &info));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%4" PetscInt_FMT " %8" PetscInt_FMT " %6" PetscInt_FMT
                        " | %9.3f %6.2f | %9.3f %6.2f %6.1f | %9.3f %6.2f | %9.3f %6.2f\n",
                        bs, n / bs, levels, (double)seconds[0] * 1e3, (double)ratio[0], (double)seconds[1] * 1e3,
                        (double)ratio[1], (double)(info.bytes / seconds[1] * 1e-9), (double)seconds[2] * 1e3,
                        (double)ratio[2], (double)seconds[3] * 1e3, (double)ratio[3]));
  for (PetscInt side = 0; side < 2; side++) {
    PetscCall(PCDestroy(&f[side].pc));
    PetscCall(VecDestroy(&f[side].x));
    PetscCall(VecDestroy(&f[side].y));
    PetscCall(MatDestroy(&f[side].X));
    PetscCall(MatDestroy(&f[side].Y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Tall blocks and products ---- */
typedef struct {
  SpikeBlock     b;
  SpikeBlockTask task;
  Mat            A, X, Y;
} Tall;

static PetscErrorCode Run(void *ctx)
{
  Tall *t = (Tall *)ctx;

  PetscFunctionBegin;
  PetscCall((*t->b.k->run)(&t->b,
                           PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE,
                           1, &t->task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row-major blocks are column-major ones, transposed */
static PetscErrorCode RunGemm(void *ctx)
{
  const SpikeBlockTask *t   = &((Tall *)ctx)->task;
  const PetscScalar     one = 1.0;
  PetscBLASInt          n, k, m, ldx, ldz, ldy;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(t->n, &n));
  PetscCall(PetscBLASIntCast(t->k, &k));
  PetscCall(PetscBLASIntCast(t->m, &m));
  PetscCall(PetscBLASIntCast(t->ldx, &ldx));
  PetscCall(PetscBLASIntCast(t->ldz, &ldz));
  PetscCall(PetscBLASIntCast(t->ldy, &ldy));
  if (t->op == SPIKE_BLOCK_AXPY) {
    if (t->rowmajor)
      PetscCallBLAS("BLASgemm", BLASgemm_("T", "N", &m, &n, &k, &one, (PetscScalar *)t->Z, &ldz, (PetscScalar *)t->X,
                                          &ldx, &one, (PetscScalar *)t->Y, &ldy));
    else
      PetscCallBLAS("BLASgemm", BLASgemm_("N", "N", &n, &m, &k, &one, (PetscScalar *)t->X, &ldx, (PetscScalar *)t->Z,
                                          &ldz, &one, (PetscScalar *)t->Y, &ldy));
  } else {
    if (t->rowmajor)
      PetscCallBLAS("BLASgemm", BLASgemm_("N", "T", &k, &m, &n, &one, (PetscScalar *)t->X, &ldx, (PetscScalar *)t->Z,
                                          &ldz, &one, (PetscScalar *)t->Y, &ldy));
    else
      PetscCallBLAS("BLASgemm", BLASgemm_("C", "N", &k, &m, &n, &one, (PetscScalar *)t->X, &ldx, (PetscScalar *)t->Z,
                                          &ldz, &one, (PetscScalar *)t->Y, &ldy));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchTall(PetscInt n, PetscInt m)
{
  Tall         t;
  PetscScalar *x, *y, *z;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  t.b.k = SpikeBlockKernelsFind(PETSC_MEMTYPE_HOST);
  PetscCall((*t.b.k->create)(&t.b));
  PetscCall(PetscMalloc3((size_t)n * m, &x, (size_t)n * m, &y, m * m, &z));
  for (PetscInt i = 0; i < n * m; i++) x[i] = y[i] = Number(i, 3);
  for (PetscInt i = 0; i < m * m; i++) z[i] = 1e-6 * Number(i, 4);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8" PetscInt_FMT " %3" PetscInt_FMT " |", n, m));
  for (PetscInt rowmajor = 0; rowmajor < 2; rowmajor++) {
    for (PetscInt op = 0; op < 2; op++) {
      PetscReal seconds = 0.0, ratio = 0.0;

      t.task.op       = op ? SPIKE_BLOCK_DOT : SPIKE_BLOCK_AXPY;
      t.task.mode     = SPIKE_BLOCK_ADD;
      t.task.rowmajor = (PetscBool)rowmajor;
      t.task.n        = n;
      t.task.k = t.task.m = m;
      t.task.X            = x;
      t.task.ldx          = rowmajor ? m : n;
      t.task.Z            = op ? y : z;
      t.task.Y            = op ? z : y;
      t.task.ldz          = op ? t.task.ldx : m;
      t.task.ldy          = op ? m : t.task.ldx;
      PetscCall(Compare(Run, &t, RunGemm, &t, &seconds, &ratio));
      for (PetscInt i = 0; i < m * m; i++) z[i] = 1e-6 * Number(i, 4); /* it has grown */
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %9.3f %6.1f %6.2f |", (double)seconds * 1e3,
                            (double)((op ? 2 : 3) * sizeof(PetscScalar) * (PetscReal)n * m / seconds * 1e-9),
                            (double)ratio));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall((*t.b.k->destroy)(&t.b));
  PetscCall(PetscFree3(x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultAgain(void *ctx)
{
  Tall *t = (Tall *)ctx;

  PetscFunctionBegin;
  PetscCall(MatMatMult(t->A, t->X, MAT_REUSE_MATRIX, PETSC_CURRENT, &t->Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultOnce(void *ctx)
{
  Tall *t = (Tall *)ctx;
  Vec   x, y;

  PetscFunctionBegin;
  PetscCall(MatDenseGetColumnVecRead(t->X, 0, &x));
  PetscCall(MatDenseGetColumnVecWrite(t->Y, 0, &y));
  PetscCall(MatMult(t->A, x, y));
  PetscCall(MatDenseRestoreColumnVecWrite(t->Y, 0, &y));
  PetscCall(MatDenseRestoreColumnVecRead(t->X, 0, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchProducts(Mat A, PetscInt bs)
{
  const PetscInt *ai, *aj;
  PetscScalar    *aa, *x, *y;
  PetscInt        nb;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_TRUE, &nb, &ai, &aj, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No rows of a MATSEQBAIJ");
  PetscCall(MatSeqBAIJGetArray(A, &aa));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT " %8" PetscInt_FMT " |", bs, nb));
  PetscCall(PetscMalloc2((size_t)nb * bs * 16, &x, (size_t)nb * bs * 16, &y));
  for (PetscInt i = 0; i < nb * bs * 16; i++) x[i] = Number(i, 5);
  for (PetscInt m = 1; m <= 16; m *= 4) {
    SpikeBlockMat M;
    Tall          t;
    PetscReal     seconds = 0.0, ratio = 0.0;

    PetscCall(PetscMemzero(&t, sizeof(t)));
    t.b.k = SpikeBlockKernelsFind(PETSC_MEMTYPE_HOST);
    PetscCall((*t.b.k->create)(&t.b));
    PetscCall((*t.b.k->matcreate)(&t.b, bs, nb, nb, ai, aj, PETSC_FALSE, &M));
    M.a        = aa;
    t.task.op  = SPIKE_BLOCK_MULT;
    t.task.n   = nb * bs;
    t.task.m   = m;
    t.task.X   = x;
    t.task.Y   = y;
    t.task.ldx = t.task.ldy = nb * bs;
    t.task.A                = &M;
    t.A                     = A;
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, nb * bs, m, x, &t.X));
    PetscCall(MatMatMult(A, t.X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &t.Y));
    PetscCall(Compare(Run, &t, m == 1 ? MatMultOnce : MatMatMultAgain, &t, &seconds, &ratio));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %9.3f %6.1f %6.2f |", (double)seconds * 1e3,
                          (double)(((PetscReal)ai[nb] * (bs * bs * sizeof(PetscScalar) + sizeof(PetscInt)) +
                                    2.0 * nb * bs * m * sizeof(PetscScalar)) /
                                   seconds * 1e-9),
                          (double)ratio));
    PetscCall(MatDestroy(&t.X));
    PetscCall(MatDestroy(&t.Y));
    PetscCall((*t.b.k->matdestroy)(&t.b, &M));
    PetscCall((*t.b.k->destroy)(&t.b));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  PetscCall(PetscFree2(x, y));
  PetscCall(MatSeqBAIJRestoreArray(A, &aa));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_TRUE, &nb, &ai, &aj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt bs[32] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24}, levels[4] = {0, 1}, lengths[8] = {65536, 1000000}, nbs = 32,
           nlevels = 4, nlengths = 8;
  PetscReal bytes = 3e7;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscBLASSetNumThreads(1)); /* times are those of the processor */
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-bs", bs, &nbs, &set));
  if (!set) nbs = 11;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-levels", levels, &nlevels, &set));
  if (!set) nlevels = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", lengths, &nlengths, &set));
  if (!set) nlengths = 2;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bytes", &bytes, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-best", &best, NULL));
  rounds = PetscMin(PetscMax(rounds, 1), MAXROUNDS);
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF,
                "host, instruction set %d; ms, and how many times faster than the other; 7-point stencil of blocks\n\n",
                (int)SpikeISAGet()));
  if (nbs)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "PCBLOCKILU against PCILU on MATBAIJ\n  bs     rows levels |     setup  "
                                           "ratio |     apply  ratio   GB/s | transpose  ratio | 16 columns ratio\n"));
  for (PetscInt part = 0; part < 2; part++) {
    if (part && nbs)
      PetscCall(
        PetscPrintf(PETSC_COMM_SELF,
                    "\nblocks times 1, 4 and 16 columns, GB/s, against MatMult() and MatMatMult() on MATBAIJ\n"));
    for (PetscInt i = 0; i < nbs; i++) {
      Mat A;

      PetscCall(StencilMat((PetscInt)PetscCeilReal(
                             PetscPowReal(bytes / (7 * sizeof(PetscScalar) * bs[i] * bs[i]), (PetscReal)(1.0 / 3.0))),
                           bs[i], &A));
      for (PetscInt l = 0; l < nlevels && !part; l++) PetscCall(BenchFactors(A, bs[i], levels[l]));
      if (part) PetscCall(BenchProducts(A, bs[i]));
      PetscCall(MatDestroy(&A));
    }
  }
  if (nlengths)
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "\ntall blocks n x m against gemm: axpy, dot, column-major; axpy, dot, row-major; GB/s\n"));
  for (PetscInt i = 0; i < nlengths; i++)
    for (PetscInt m = 4; m <= 16; m *= 2) PetscCall(BenchTall(lengths[i], m));
  PetscCall(PetscFinalize());
  return 0;
}
