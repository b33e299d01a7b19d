/* SPDX-License-Identifier: BSD-2-Clause */
/*
  idrmagma.c: the IDR(s) of MAGMA, which is the code that Anzt, Kreutzer, Ponce, Peterson, Wellein and Dongarra (2016)
  measured, on the matrices of idrpaper.c. `make programs MAGMA_DIR=...` builds it, as C++, which MAGMA's headers ask
  for; it needs a GPU
*/
static char help[] = "IDR(s) of MAGMA with smoothing, on the matrices of idrpaper.\n\
  -f FILE1,FILE2,... matrices, Matrix Market or PETSc's format; without, matrices with the rows, entries a row and\n\
 padding of the ten of the paper's Table 1\n\
  -shapes NAMES      of these ten (all)\n\
  -scale f           times the rows of the paper's (1)\n\
  -n n1,n2,...       in place of all these: Poisson problems, so many points in each direction\n\
  -stencil p         of how many points, 7 or 27 (7)\n\
  -s s1,s2,...       dimensions of the shadow space (1,2,4,8)\n\
  -cycles k          outer iterations of a timed solve (100)\n\
  -solves k          timed solves; the first does not count, the median of the others does (4)\n\
  -methods NAMES     MAGMA's functions: merge, magma_didr_merge(), its default with fused kernels; strms,\n\
 magma_didr_strms(), which lets kernels overlap too; plain, magma_didr() (merge,strms)\n\
  -formats NAMES     csr; sellpN: slices of 32 rows and N threads a row, N = 1, 4, 8, 16 or 32 (sellp1,csr)\n\
  -tol t             relative residual of the other solves, 0 for none (1e-8)\n\
  -max_it k          products of these (10000)\n\
  -ours              KSPIDRFUSED beside, to the same tolerance (true)\n\
  -bench_mat_type t  of the matrix of KSPIDRFUSED (aijcusparse)\n\
  -csv FILE          the same, in a file\n\n\
The right-hand side is 1, x begins with 0. \"loop\": MAGMA's own time, from behind its setup to the end of the\n\
 iterations; \"whole\": of the function, with vectors, the initial residual, and the shadow space, which it makes on\n\
 the host in each solve. Where squares of norms underflow, the smoothed solution of a timed solve is not a number,\n\
 and the solve ends before its last cycle: \"prod\" says after how many products. Residuals are ||b - A x|| / ||b||,\n\
 computed by PETSc on the host.\n\n";

#include "common/csvfile.h"
#include "common/idrshapes.h"
#include "common/petsccompat.h"
#include "common/poisson.h"
#include "common/residual.h"
#include <magma_v2.h>
#include <magmasparse.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_64BIT_INDICES)
  #error "idrmagma is for real numbers in double precision and 32-bit indices"
#endif

#define SLICE 32 /* rows, as in the paper */

typedef magma_int_t (*MagmaIDR)(magma_d_matrix, magma_d_matrix, magma_d_matrix *, magma_d_solver_par *, magma_queue_t);

static const struct {
  const char *name;
  MagmaIDR    solve;
} functions[] = {{"merge", magma_didr_merge}, {"strms", magma_didr_strms}, {"plain", magma_didr}};

typedef struct {
  PetscInt      ss[16], nss, cycles, solves, maxit, nmethods, nformats;
  char         *methods[8], *formats[8], type[64];
  PetscReal     tol;
  PetscBool     ours;
  magma_queue_t queue;
  FILE         *csv;
} Options;

/* What a solve came to; one that should solve, but does not, has no time */
typedef struct {
  PetscInt  products;
  double    loop, whole; /* seconds */
  PetscReal residual;
} Outcome;

#define MagmaCall(call) \
  do { \
    const magma_int_t magmaerror_ = (call); \
    PetscCheck(!magmaerror_, PETSC_COMM_SELF, PETSC_ERR_LIB, "MAGMA: %s", magma_strerror(magmaerror_)); \
  } while (0)

static void Clear(magma_d_matrix *M)
{
  memset(M, 0, sizeof(*M));
  M->storage_type = Magma_CSR;
}

static Outcome None(void)
{
  Outcome none;

  none.products = 0;
  none.loop = none.whole = none.residual = NAN;
  return none;
}

/*
  out->residual <- ||b - A x|| / ||b||, b = 1. A solve that was to come to tol, if that is positive, and is ten times as
  far off has no time
*/
static PetscErrorCode Check(Mat A, Vec x, PetscReal tol, Outcome *out)
{
  Vec b;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(GetResidual(A, b, x, &out->residual));
  PetscCall(VecDestroy(&b));
  if (tol > 0.0 && !(out->residual <= 10.0 * tol)) out->loop = out->whole = NAN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M <- A on the device; its arrays on the host are those of A, or of the conversion */
static PetscErrorCode ToDevice(const Options *o, Mat A, const char format[], magma_d_matrix *M)
{
  magma_d_matrix     csr, sellp;
  const PetscInt    *ia, *ja;
  const PetscScalar *a;
  PetscInt           n, threads = 0;
  PetscBool          done, same;

  PetscFunctionBegin;
  Clear(&csr);
  Clear(&sellp);
  Clear(M);
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The matrix does not tell its rows");
  PetscCall(MatSeqAIJGetArrayRead(A, &a));
  MagmaCall(magma_dcsrset(n, n, (magma_index_t *)ia, (magma_index_t *)ja, (double *)a, &csr, o->queue));
  PetscCall(PetscStrcmp(format, "csr", &same));
  if (same) MagmaCall(magma_dmtransfer(csr, M, Magma_CPU, Magma_DEV, o->queue));
  else {
    PetscCall(PetscStrncmp(format, "sellp", 5, &same));
    if (same) PetscCall(PetscOptionsStringToInt(format + 5, &threads));
    PetscCheck(threads == 1 || threads == 4 || threads == 8 || threads == 16 || threads == 32, PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "Format %s: csr, sellp1, sellp4, sellp8, sellp16 or sellp32", format);
    sellp.blocksize = SLICE;
    sellp.alignment = threads;
    MagmaCall(magma_dmconvert(csr, &sellp, Magma_CSR, Magma_SELLP, o->queue));
    MagmaCall(magma_dmtransfer(sellp, M, Magma_CPU, Magma_DEV, o->queue));
    magma_dmfree(&sellp, o->queue);
  }
  PetscCall(MatSeqAIJRestoreArrayRead(A, &a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve of M from 0, x, on the host, <- its end; a solve that does not converge is none that failed */
static PetscErrorCode Solve(const Options *o, MagmaIDR solve, magma_d_matrix M, magma_d_matrix b, PetscInt s,
                            PetscInt cycles, PetscReal tol, Vec x, Outcome *out)
{
  magma_d_matrix     dx;
  magma_d_solver_par par;
  magma_int_t        info;
  PetscScalar       *xx;
  double             begin;

  PetscFunctionBegin;
  Clear(&dx);
  memset(&par, 0, sizeof(par));
  par.rtol    = tol;
  par.maxiter = cycles;
  par.restart = s; /* so MAGMA takes it */
  MagmaCall(magma_dvinit(&dx, Magma_DEV, M.num_rows, 1, 0.0, o->queue));
  begin      = magma_sync_wtime(o->queue);
  info       = solve(M, b, &dx, &par, o->queue);
  out->whole = magma_sync_wtime(o->queue) - begin;
  PetscCheck(info == MAGMA_SUCCESS || info == MAGMA_SLOW_CONVERGENCE || info == MAGMA_NOTCONVERGED ||
               info == MAGMA_DIVERGENCE,
             PETSC_COMM_SELF, PETSC_ERR_LIB, "MAGMA: %s", magma_strerror(info));
  PetscCheck(par.spmv_count > 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "MAGMA made no product");
  out->loop     = par.runtime;
  out->products = par.spmv_count;
  PetscCall(VecGetArrayWrite(x, &xx));
  magma_dgetvector(M.num_rows, dx.dval, 1, xx, 1, o->queue);
  PetscCall(VecRestoreArrayWrite(x, &xx));
  magma_dmfree(&dx, o->queue);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Timed solves of so many cycles: medians; the fewest products, and the last residual */
static PetscErrorCode TimeCycles(const Options *o, MagmaIDR solve, magma_d_matrix M, magma_d_matrix b, PetscInt s,
                                 Mat A, Vec x, Outcome *out)
{
  double   loop[MOSTSOLVES], whole[MOSTSOLVES];
  PetscInt count = 0;
  Outcome  one;

  PetscFunctionBegin;
  out->products = PETSC_INT_MAX;
  for (PetscInt k = 0; k < o->solves; k++) {
    PetscCall(Solve(o, solve, M, b, s, o->cycles, 0.0, x, &one));
    out->products = PetscMin(out->products, one.products);
    if (!k && o->solves > 1) continue;
    loop[count]    = one.loop / one.products;
    whole[count++] = one.whole / one.products;
  }
  out->loop  = Median((int)count, loop);
  out->whole = Median((int)count, whole);
  PetscCall(Check(A, x, 0.0, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPIDRFUSED to the same tolerance, the median of solves after the first */
static PetscErrorCode TimeOurs(const Options *o, Mat A, PetscInt s, Outcome *out)
{
  KSP       ksp;
  PC        pc;
  Mat       B;
  Vec       x, b, hostx;
  PetscReal first, median = 0.0;
  PetscInt  fewest;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, o->type, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatCreateVecs(B, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetType(ksp, KSPIDRFUSED));
  PetscCall(KSPIDRSetS(ksp, s));
  PetscCall(KSPIDRFusedSetSmoothing(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(ksp, o->tol, 0.0, PETSC_MAX_REAL, o->maxit));
  PetscCall(TimeSolves(ksp, b, x, o->solves, &first, &median, &fewest));
  PetscCall(KSPGetIterationNumber(ksp, &out->products));
  out->loop = out->whole = median * out->products;
  PetscCall(MatCreateVecs(A, &hostx, NULL));
  PetscCall(VecCopy(x, hostx));
  PetscCall(Check(A, hostx, o->tol, out));
  PetscCall(VecDestroy(&hostx));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve to the tolerance, after timed ones, so that all is loaded */
static PetscErrorCode TimeSolution(const Options *o, MagmaIDR solve, magma_d_matrix M, magma_d_matrix b, PetscInt s,
                                   Mat A, Vec x, Outcome *out)
{
  PetscFunctionBegin;
  PetscCall(Solve(o, solve, M, b, s, PetscMax(1, o->maxit / (s + 1)), o->tol, x, out));
  PetscCall(Check(A, x, o->tol, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One matrix in one format: a line for each function and each s */
static PetscErrorCode FormatLines(const Options *o, const char name[], Mat A, const char format[], const Outcome ours[])
{
  magma_d_matrix M, b;
  magma_int_t    major, minor, micro;
  MatInfo        info;
  PetscInt       n;
  Vec            x;

  PetscFunctionBegin;
  magma_version(&major, &minor, &micro);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(ToDevice(o, A, format, &M));
  Clear(&b);
  MagmaCall(magma_dvinit(&b, Magma_DEV, n, 1, 1.0, o->queue));
  for (PetscInt m = 0; m < o->nmethods; m++) {
    MagmaIDR solve = NULL;

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(functions); k++)
      if (!strcmp(o->methods[m], functions[k].name)) solve = functions[k].solve;
    PetscCheck(solve, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Method %s: merge, strms or plain", o->methods[m]);
    for (PetscInt i = 0; i < o->nss; i++) {
      const PetscInt s = o->ss[i];
      Outcome        timed, solved = None();

      PetscCall(TimeCycles(o, solve, M, b, s, A, x, &timed));
      if (o->tol > 0.0) PetscCall(TimeSolution(o, solve, M, b, s, A, x, &solved));
      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%-16s %8" PetscInt_FMT " %-7s %-5s %2" PetscInt_FMT " %9.4f %9.4f %9.4f %5" PetscInt_FMT
                            " %8.1e | %5" PetscInt_FMT " %9.3f %9.3f %8.1e | %5" PetscInt_FMT " %9.3f %8.1e\n",
                            name, n, format, o->methods[m], s, 1e3 * timed.loop, 1e3 * (s + 1) * timed.loop,
                            1e3 * timed.whole, timed.products, (double)timed.residual, solved.products,
                            1e3 * solved.loop, 1e3 * solved.whole, (double)solved.residual, ours[i].products,
                            1e3 * ours[i].loop, (double)ours[i].residual));
      if (o->csv)
        fprintf(o->csv, "%s,%ld,%.4g,%s,%s,%ld,%.6g,%.6g,%.6g,%ld,%.3g,%g,%ld,%.6g,%.6g,%.3g,%ld,%.6g,%.3g,%d.%d.%d\n",
                name, (long)n, info.nz_used / n, format, o->methods[m], (long)s, 1e3 * timed.loop,
                1e3 * (s + 1) * timed.loop, 1e3 * timed.whole, (long)timed.products, (double)timed.residual,
                (double)o->tol, (long)solved.products, 1e3 * solved.loop, 1e3 * solved.whole, (double)solved.residual,
                (long)ours[i].products, 1e3 * ours[i].loop, (double)ours[i].residual, (int)major, (int)minor,
                (int)micro);
    }
  }
  magma_dmfree(&M, o->queue);
  magma_dmfree(&b, o->queue);
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Lines(const void *ctx, const char name[], Mat A, PetscReal padding)
{
  const Options *o = (const Options *)ctx;
  Outcome        ours[16];

  PetscFunctionBegin;
  (void)padding;
  for (PetscInt i = 0; i < o->nss; i++) {
    ours[i] = None();
    if (o->ours && o->tol > 0.0) PetscCall(TimeOurs(o, A, o->ss[i], &ours[i]));
  }
  for (PetscInt f = 0; f < o->nformats; f++) PetscCall(FormatLines(o, name, A, o->formats[f], ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetOptions(Options *o)
{
  PetscBool set;

  PetscFunctionBegin;
  memset(o, 0, sizeof(*o));
  o->nss = 16;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-s", o->ss, &o->nss, &set));
  if (!set) {
    o->nss = 4;
    for (int i = 0; i < 4; i++) o->ss[i] = 1 << i;
  }
  o->cycles   = 100;
  o->solves   = 4;
  o->maxit    = 10000;
  o->tol      = 1e-8;
  o->ours     = PETSC_TRUE;
  o->nmethods = o->nformats = 8;
  PetscCall(PetscStrncpy(o->type, MATAIJCUSPARSE, sizeof(o->type)));
  for (PetscInt i = 0; i < o->nss; i++)
    PetscCheck(o->ss[i] > 0 && o->ss[i] != 50, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-s from 1, and not 50, which MAGMA takes for 1");
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &o->cycles, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &o->solves, NULL));
  PetscCheck(o->cycles > 0 && o->solves > 0 && o->solves <= MOSTSOLVES, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-cycles from 1, -solves from 1 to %d", MOSTSOLVES);
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-methods", o->methods, &o->nmethods, &set));
  if (!set) {
    o->nmethods = 2;
    for (int k = 0; k < 2; k++) PetscCall(PetscStrallocpy(functions[k].name, &o->methods[k]));
  }
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-formats", o->formats, &o->nformats, &set));
  if (!set) {
    o->nformats = 2;
    for (int k = 0; k < 2; k++) PetscCall(PetscStrallocpy(k ? "csr" : "sellp1", &o->formats[k]));
  }
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tol", &o->tol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &o->maxit, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ours", &o->ours, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", o->type, sizeof(o->type), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Options        o;
  Matrices       matrices;
  PetscInt       grids[16], ngrids = 16, stencil = 7;
  PetscBool      set, poisson;
  char           csv[PETSC_MAX_PATH_LEN];
  magma_device_t device;
  magma_int_t    devices = 0, major, minor, micro;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(MatricesFromOptions(&matrices));
  PetscCall(GetOptions(&o));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", grids, &ngrids, &poisson));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-stencil", &stencil, NULL));
  PetscCheck(stencil == 7 || stencil == 27, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-stencil 7 or 27");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), &set));
  if (set) {
    PetscCall(BenchCSVOpen(csv,
                           "name,rows,mean,format,method,s,magma_ms,cycle_ms,whole_ms,products,residual,tol,"
                           "tol_products,tol_ms,tol_whole_ms,tol_residual,ours_products,ours_ms,ours_residual,version",
                           &o.csv));
  }
  magma_getdevices(&device, 1, &devices);
  PetscCheck(devices > 0 && !magma_init(), PETSC_COMM_SELF, PETSC_ERR_SUP, "MAGMA finds no GPU");
  magma_queue_create(device, &o.queue);
  magma_version(&major, &minor, &micro);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "MAGMA %d.%d.%d, IDR with smoothing, %" PetscInt_FMT
                        " cycles: ms a product, a cycle, medians of %" PetscInt_FMT
                        " solves | to %g: products, ms of the loop and the whole | KSPIDRFUSED to %g on %s: ms\n",
                        (int)major, (int)minor, (int)micro, o.cycles, PetscMax(1, o.solves - 1), (double)o.tol,
                        (double)o.tol, o.type));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%-16s %8s %-7s %-5s %2s %9s %9s %9s %5s %8s | %5s %9s %9s %8s | %5s %9s %8s\n", "matrix",
                        "rows", "format", "", "s", "loop", "cycle", "whole", "prod", "residual", "prod", "loop",
                        "whole", "residual", "prod", "ours", "residual"));
  for (PetscInt k = 0; poisson && k < ngrids; k++) {
    char name[32];
    Mat  A;

    PetscCall(Poisson(grids[k], stencil, MATAIJ, &A));
    PetscCall(PetscSNPrintf(name, sizeof(name), "poisson%" PetscInt_FMT "-%" PetscInt_FMT, stencil, grids[k]));
    PetscCall(Lines(&o, name, A, -1.0));
    PetscCall(MatDestroy(&A));
  }
  if (!poisson) PetscCall(ForEachShape(&matrices, MATAIJ, Lines, &o));
  magma_queue_destroy(o.queue);
  MagmaCall(magma_finalize());
  for (PetscInt k = 0; k < o.nmethods; k++) PetscCall(PetscFree(o.methods[k]));
  for (PetscInt k = 0; k < o.nformats; k++) PetscCall(PetscFree(o.formats[k]));
  PetscCall(MatricesDestroy(&matrices));
  PetscCall(BenchCSVClose(csv, &o.csv));
  PetscCall(PetscFinalize());
  return 0;
}
