/* SPDX-License-Identifier: BSD-2-Clause */
/* band.c: speed and accuracy of the host band kernels against LAPACK's band routines, as ratios measured in one run */
static char help[] =
  "Band LU and band solves of petscspike's host kernels against LAPACK's xGBTRF/xGBTRS (K = 1: xGTTRF/xGTTRS), one\n\
 BLAS thread.\n\
LAPACK pivots and stores kl extra rows for it; the kernels do not pivot. The matrices are diagonally dominant by\n\
 rows and columns: LAPACK finds no row to exchange.\n\
  -n <200000>          rows in all; each MPI rank works on its own n / size rows\n\
  -k <1,2,...,256>     half-bandwidths (kl = ku = k)\n\
  -d <1>               dominance: a_ii = d * the larger of the sums of the others in its row and in its column\n\
  -repeat <5>          repetitions, ours and LAPACK's in turn\n\
  -precision <native>  of our factors: native (PetscReal's), double or single\n\
  -isa <best>          base, v3, v4 or best\n\
  -csv <file>          also write the numbers to a file\n\n";

#include "kernels/band/host/ops.h"
#include "../tests/lapackgb.h"
#include <petsctime.h>
#include "common/csvfile.h"
#include "common/median.h"

enum {
  FACTOR,
  SOLVE1,
  SOLVE8,
  NOPS
};
enum {
  SOLVER_OURS,
  SOLVER_LAPACK
};
#define MAXREPEAT 100
#define RHSCOUNT  8
static const char *const opnames[] = {"factor", "solve, 1 right-hand side", "solve, 8 right-hand sides"};

typedef struct {
  PetscInt       n, k;                  /* rows of this rank, half-bandwidth                     */
  PetscScalar   *a;                     /* the matrix, n columns of 2k + 1                       */
  char          *band_alloc, *band;     /* our factors, with pads                                */
  void          *work;                  /* of lu()                                               */
  PetscScalar   *gb;                    /* LAPACK's, n columns of 3k + 1, or four diagonals      */
  PetscBLASInt  *ipiv;                  /* LAPACK's row exchanges                                */
  PetscScalar   *b, *x[2];              /* right-hand sides, solutions, ours and LAPACK's        */
  PetscLogDouble t[NOPS][2][MAXREPEAT]; /* seconds, the slowest rank                             */
  PetscReal      res[2];                /* |Ax - b| / (|A| |x|), infinity norms, one column      */
  PetscInt       exchanges;             /* rows that LAPACK exchanged                            */
} Case;

/* uniform in [-1, 1), reproducible */
static PetscReal Uniform(unsigned long long *state)
{
  unsigned long long z = (*state += 0x9E3779B97F4A7C15ULL);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return (PetscReal)((double)(z >> 11) * 0x1p-52 - 1.0);
}

static PetscErrorCode CaseCreate(PetscInt n, PetscInt k, PetscReal d, unsigned long long seed, const SpikeBandOps *ops,
                                 Case *c)
{
  const PetscCount ld = 2 * (PetscCount)k + 1, pad = SPIKE_BAND_PAD(k, k);
  const PetscCount ldgb = 3 * (PetscCount)k + 1;
  PetscReal       *sum;

  PetscFunctionBegin;
  c->n = n;
  c->k = k;
  PetscCall(PetscCalloc1(n * ld, &c->a));
  PetscCall(PetscMalloc((n * ld + 2 * pad) * ops->size + 64, (void **)&c->band_alloc));
  PetscCall(PetscArrayzero(c->band_alloc, (n * ld + 2 * pad) * ops->size + 64));
  c->band = (char *)(((PETSC_UINTPTR_T)(c->band_alloc + pad * ops->size) + 63) & ~(PETSC_UINTPTR_T)63);
  PetscCall(PetscMalloc(ops->lu_worksize(k, k) + 64, &c->work));
  PetscCall(PetscCalloc1(k == 1 ? 4 * n : n * ldgb, &c->gb));
  PetscCall(PetscMalloc4(n, &c->ipiv, n * RHSCOUNT, &c->b, n * RHSCOUNT, &c->x[SOLVER_OURS], n * RHSCOUNT,
                         &c->x[SOLVER_LAPACK]));
  PetscCall(PetscCalloc1(n, &sum));
  for (PetscInt j = 0; j < n; j++) {
    for (PetscInt i = PetscMax(0, j - k); i <= PetscMin(n - 1, j + k); i++) {
      const PetscReal v = 10 * Uniform(&seed);

      if (i == j) continue;
      c->a[j * ld + k + i - j] = v;
      sum[i] += PetscAbsReal(v);
    }
  }
  for (PetscInt j = 0; j < n; j++) {
    PetscReal column = 0;

    for (PetscInt i = 0; i < ld; i++) column += PetscAbsScalar(c->a[j * ld + i]);
    c->a[j * ld + k] = d * PetscMax(sum[j], column);
  }
  for (PetscCount i = 0; i < (PetscCount)n * RHSCOUNT; i++) c->b[i] = Uniform(&seed);
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->a));
  PetscCall(PetscFree(c->band_alloc));
  PetscCall(PetscFree(c->work));
  PetscCall(PetscFree(c->gb));
  PetscCall(PetscFree4(c->ipiv, c->b, c->x[SOLVER_OURS], c->x[SOLVER_LAPACK]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of the slowest rank since *t0; all ranks start the next measurement together */
static PetscErrorCode Clock(MPI_Comm comm, PetscLogDouble *t0, PetscLogDouble *t)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  if (t) {
    now -= *t0;
    PetscCallMPI(MPIU_Allreduce(&now, t, 1, MPI_DOUBLE, MPI_MAX, comm));
  }
  PetscCallMPI(MPI_Barrier(comm));
  PetscCall(PetscTime(t0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunOurs(MPI_Comm comm, const SpikeBandOps *ops, Case *c, PetscInt r)
{
  const PetscInt         n = c->n, k = c->k;
  const PetscCount       len = n * (2 * (PetscCount)k + 1);
  const SpikeBandFactors f   = SpikeBandWhole(n, k, k, c->band);
  SpikeBandPivot         piv;
  PetscLogDouble         t0;
  PetscScalar           *x = c->x[SOLVER_OURS];

  PetscFunctionBegin;
  if (ops->size == sizeof(PetscScalar)) PetscCall(PetscArraycpy((PetscScalar *)c->band, c->a, len));
#if !defined(PETSC_USE_COMPLEX)
  else if (ops->size == sizeof(float))
    for (PetscCount i = 0; i < len; i++) ((float *)c->band)[i] = (float)c->a[i];
  else
    for (PetscCount i = 0; i < len; i++) ((double *)c->band)[i] = (double)c->a[i];
#else
  else SETERRQ(comm, PETSC_ERR_SUP, "Only native precision with complex scalars");
#endif
  piv.tol   = 0;
  piv.boost = 0;
  piv.work  = (void *)(((PETSC_UINTPTR_T)c->work + 63) & ~(PETSC_UINTPTR_T)63);
  PetscCall(Clock(comm, &t0, NULL));
  ops->lu(n, k, k, c->band, &piv);
  PetscCall(Clock(comm, &t0, &c->t[FACTOR][SOLVER_OURS][r]));
  PetscCheck(piv.badrow < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Pivot %" PetscInt_FMT " is %g", piv.badrow,
             (double)piv.badvalue);
  PetscCall(Clock(comm, &t0, NULL));
  ops->lower(f, 0, n, 1, c->b, n, x, n);
  ops->upper(f, 0, n, 1, x, n);
  PetscCall(Clock(comm, &t0, &c->t[SOLVE1][SOLVER_OURS][r]));
  ops->lower(f, 0, n, RHSCOUNT, c->b, n, x, n);
  ops->upper(f, 0, n, RHSCOUNT, x, n);
  PetscCall(Clock(comm, &t0, &c->t[SOLVE8][SOLVER_OURS][r]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LAPACK overwrites b by x: as our sweeps read b and write x, the copy is in its time too */
static PetscErrorCode SolveLAPACK(const Case *c, PetscInt nrhs)
{
  PetscBLASInt n, k, m, ldgb, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(c->n, &n));
  PetscCall(PetscBLASIntCast(c->k, &k));
  PetscCall(PetscBLASIntCast(nrhs, &m));
  ldgb = 3 * k + 1;
  PetscCall(PetscArraycpy(c->x[SOLVER_LAPACK], c->b, c->n * nrhs));
  if (k == 1)
    LAPACKgttrs_("N", &n, &m, c->gb, c->gb + n, c->gb + 2 * n, c->gb + 3 * n, c->ipiv, c->x[SOLVER_LAPACK], &n, &info);
  else LAPACKgbtrs_("N", &n, &k, &k, &m, c->gb, &ldgb, c->ipiv, c->x[SOLVER_LAPACK], &n, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK solve: info %d", (int)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunLAPACK(MPI_Comm comm, Case *c, PetscInt r)
{
  PetscBLASInt     n, k, ldgb, info;
  const PetscCount ld = 2 * (PetscCount)c->k + 1;
  PetscLogDouble   t0;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(c->n, &n));
  PetscCall(PetscBLASIntCast(c->k, &k));
  ldgb = 3 * k + 1;
  for (PetscInt j = 0; j < c->n; j++) {
    if (k == 1) {
      /* dl, d, du; slot 0 of column j is du(j - 1) */
      for (PetscInt i = 0; i < 3; i++) c->gb[(2 - i) * c->n + j - (i == 0)] = c->a[j * ld + i];
    } else {
      PetscCall(PetscArrayzero(c->gb + j * (PetscCount)ldgb, k));
      PetscCall(PetscArraycpy(c->gb + j * (PetscCount)ldgb + k, c->a + j * ld, ld));
    }
  }
  PetscCall(Clock(comm, &t0, NULL));
  if (k == 1) LAPACKgttrf_(&n, c->gb, c->gb + n, c->gb + 2 * n, c->gb + 3 * n, c->ipiv, &info);
  else LAPACKgbtrf_(&n, &n, &k, &k, c->gb, &ldgb, c->ipiv, &info);
  PetscCall(Clock(comm, &t0, &c->t[FACTOR][SOLVER_LAPACK][r]));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK factorization: info %d", (int)info);
  c->exchanges = 0;
  for (PetscInt j = 0; j < c->n; j++) c->exchanges += c->ipiv[j] != j + 1;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &c->exchanges, 1, MPIU_INT, MPI_SUM, comm));
  PetscCall(Clock(comm, &t0, NULL));
  PetscCall(SolveLAPACK(c, 1));
  PetscCall(Clock(comm, &t0, &c->t[SOLVE1][SOLVER_LAPACK][r]));
  PetscCall(SolveLAPACK(c, RHSCOUNT));
  PetscCall(Clock(comm, &t0, &c->t[SOLVE8][SOLVER_LAPACK][r]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |Ax - b| / (|A| |x|) of column NRHS - 1, largest over the ranks */
static PetscErrorCode Residual(MPI_Comm comm, Case *c, PetscInt which)
{
  const PetscInt     n = c->n, k = c->k;
  const PetscScalar *x = c->x[which] + (RHSCOUNT - 1) * (PetscCount)n;
  PetscScalar       *r;
  PetscReal         *sum, m[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &r));
  PetscCall(PetscCalloc1(n, &sum));
  PetscCall(PetscArraycpy(r, c->b + (RHSCOUNT - 1) * (PetscCount)n, n));
  for (PetscInt j = 0; j < n; j++) {
    const PetscScalar *col = c->a + j * (2 * (PetscCount)k + 1) + k - j;

    for (PetscInt i = PetscMax(0, j - k); i <= PetscMin(n - 1, j + k); i++) {
      r[i] -= col[i] * x[j];
      sum[i] += PetscAbsScalar(col[i]);
    }
  }
  for (PetscInt i = 0; i < n; i++) {
    m[0] = PetscMax(m[0], PetscIsNanScalar(r[i]) ? PETSC_MAX_REAL : PetscAbsScalar(r[i]));
    m[1] = PetscMax(m[1], sum[i]);
    m[2] = PetscMax(m[2], PetscAbsScalar(x[i]));
  }
  PetscCall(PetscFree(r));
  PetscCall(PetscFree(sum));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, m, 3, MPIU_REAL, MPIU_MAX, comm));
  c->res[which] = m[0] / (m[1] * m[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operations and bytes of one call on all ranks: what the band needs without pivoting, for both codes */
static void Cost(PetscInt op, double n, double k, double size, double *flop, double *byte)
{
  const double nrhs = op == SOLVE8 ? RHSCOUNT : 1;

  *flop = op == FACTOR ? 2 * n * k * k + n * k : nrhs * n * (4 * k + 1);
  *byte = op == FACTOR ? 2 * n * (2 * k + 1) * size : n * (2 * k + 1) * size + 4 * nrhs * n * sizeof(PetscScalar);
}

int main(int argc, char **argv)
{
  static Case         c;
  const SpikeBandOps *ops;
  static const char  *isas[] = {"base", "v3", "v4", "best"}, *precisions[] = {"native", "double", "single"};
  PetscInt n = 200000, k[64] = {1, 2, 4, 8, 16, 32, 64, 128, 256}, nk = 64, exchanges = 0, repeat = 5, isa = 3,
           precision = 0, threads;
  PetscReal   d      = 1, (*res)[2];
  PetscMPIInt size, rank;
  PetscLogDouble(*tab)[NOPS][2][2];
  PetscBool set;
  char      csv[PETSC_MAX_PATH_LEN];
  FILE     *file = NULL;
  MPI_Comm  comm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscOptionsBegin(comm, NULL, "Band kernels against LAPACK", NULL);
  PetscCall(PetscOptionsBoundedInt("-n", "rows", NULL, n, &n, NULL, 1));
  PetscCall(PetscOptionsIntArray("-k", "half-bandwidths", NULL, k, &nk, &set));
  if (!set) nk = 9;
  PetscCall(PetscOptionsReal("-d", "dominance", NULL, d, &d, NULL));
  PetscCall(PetscOptionsRangeInt("-repeat", "repetitions", NULL, repeat, &repeat, NULL, 1, MAXREPEAT));
  PetscCall(PetscOptionsEList("-precision", "of our factors", NULL, precisions, 3, precisions[0], &precision, NULL));
  PetscCall(PetscOptionsEList("-isa", "instruction set", NULL, isas, 4, isas[3], &isa, NULL));
  PetscCall(PetscOptionsString("-csv", "file for the numbers", NULL, "", csv, sizeof(csv), &set));
  PetscOptionsEnd();
  if (isa < 3)
    PetscCheck(SpikeISASet((SpikeISA)isa), comm, PETSC_ERR_SUP, "This processor lacks instruction set %s", isas[isa]);
  ops = SpikeBandGetOps(precision == 1 || (precision == 0 && sizeof(PetscReal) == 8) ? PETSC_SPIKE_PRECISION_DOUBLE
                                                                                     : PETSC_SPIKE_PRECISION_SINGLE);
  PetscCall(PetscBLASSetNumThreads(1));
  PetscCall(PetscBLASGetNumThreads(&threads));
  PetscCall(PetscPrintf(comm,
                        "band kernels '%s' against LAPACK with %" PetscInt_FMT
                        " BLAS thread; %d MPI ranks, n = %" PetscInt_FMT " rows in all, dominance %g, %" PetscInt_FMT
                        " repetitions in turn\n",
                        ops->name, threads, size, n, (double)d, repeat));
  PetscCall(
    PetscPrintf(comm, "LAPACK pivots (xGBTRF/xGBTRS, 3K+1 rows; K = 1: xGTTRF/xGTTRS), ours does not (2K+1 rows)\n"));
  PetscCall(PetscMalloc1(nk, &tab));
  PetscCall(PetscMalloc1(nk, &res));
  for (PetscInt i = 0; i < nk; i++) {
    PetscCall(CaseCreate(n / size + (rank < n % size), k[i], d, 1234567ULL * (rank + 1) + k[i], ops, &c));
    for (PetscInt r = 0; r < repeat; r++) {
      PetscCall(RunOurs(comm, ops, &c, r));
      PetscCall(RunLAPACK(comm, &c, r));
    }
    for (PetscInt w = 0; w < 2; w++) {
      PetscCall(Residual(comm, &c, w));
      res[i][w] = c.res[w];
      for (PetscInt op = 0; op < NOPS; op++) {
        tab[i][op][w][1] = Median((int)repeat, c.t[op][w]); /* sorts them */
        tab[i][op][w][0] = c.t[op][w][0];
      }
    }
    exchanges += c.exchanges;
    PetscCall(CaseDestroy(&c));
  }
  PetscCall(PetscPrintf(comm, "Rows that LAPACK exchanged, in all matrices: %" PetscInt_FMT "\n", exchanges));

  if (set && rank == 0) {
    PetscCall(
      BenchCSVOpen(csv,
                   "kernels,ranks,n,k,operation,ours_min_s,ours_median_s,lapack_min_s,lapack_median_s,ratio_min,"
                   "ratio_median,ours_gflops,ours_gbytes_s,ours_residual,lapack_residual",
                   &file));
  }
  for (PetscInt op = 0; op < NOPS; op++) {
    PetscCall(PetscPrintf(comm,
                          "\n%s\n    K   ours ms (median)   LAPACK ms (median)   LAPACK/ours (medians)   ours GFLOP/s  "
                          " GB/s   LAPACK GFLOP/s   residual ours   LAPACK\n",
                          opnames[op]));
    for (PetscInt i = 0; i < nk; i++) {
      PetscLogDouble(*t)[2] = tab[i][op];
      double flop, byte;

      Cost(op, (double)n, (double)k[i], (double)ops->size, &flop, &byte);
      PetscCall(PetscPrintf(comm,
                            "%5" PetscInt_FMT
                            " %9.2f (%9.2f) %9.2f (%9.2f) %12.2f (%6.2f) %16.2f %8.2f %14.2f %15.1e %10.1e\n",
                            k[i], 1e3 * t[SOLVER_OURS][0], 1e3 * t[SOLVER_OURS][1], 1e3 * t[SOLVER_LAPACK][0],
                            1e3 * t[SOLVER_LAPACK][1], t[SOLVER_LAPACK][0] / t[SOLVER_OURS][0],
                            t[SOLVER_LAPACK][1] / t[SOLVER_OURS][1], 1e-9 * flop / t[SOLVER_OURS][0],
                            1e-9 * byte / t[SOLVER_OURS][0], 1e-9 * flop / t[SOLVER_LAPACK][0],
                            (double)res[i][SOLVER_OURS], (double)res[i][SOLVER_LAPACK]));
      if (file)
        fprintf(file,
                "%s,%d,%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%.6e,%.6e,%.6e,%.6e,%.4f,%.4f,%.4f,%.4f,%.3e,%.3e\n",
                ops->name, size, n, k[i], opnames[op], t[SOLVER_OURS][0], t[SOLVER_OURS][1], t[SOLVER_LAPACK][0],
                t[SOLVER_LAPACK][1], t[SOLVER_LAPACK][0] / t[SOLVER_OURS][0], t[SOLVER_LAPACK][1] / t[SOLVER_OURS][1],
                1e-9 * flop / t[SOLVER_OURS][0], 1e-9 * byte / t[SOLVER_OURS][0], (double)res[i][SOLVER_OURS],
                (double)res[i][SOLVER_LAPACK]);
    }
  }
  PetscCall(BenchCSVClose(csv, &file));
  PetscCall(PetscFree(tab));
  PetscCall(PetscFree(res));
  PetscCall(PetscFinalize());
  return 0;
}
