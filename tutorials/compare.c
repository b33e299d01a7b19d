/* SPDX-License-Identifier: BSD-2-Clause */
/*
  compare.c: PCSPIKE and PETSc's own preconditioners on three problems, in one table each; the program of `make demo`
*/
static char help[] = "Solves a 2-D channel, a 1-D reacting flow and a matrix from a file with several preconditioners "
                     "and compares them.\n\n"
                     "What is timed: each method is set up and solved once untimed, so that memory, libraries and "
                     "devices are warm, then -repeat times\n"
                     "from scratch, with ordering, symbolic and numeric setup; the fastest run is shown, the slowest "
                     "rank counts. (A first run of more than\n"
                     "-patience seconds is shown as it is.) One more run, untimed,\n"
                     "counts products with the matrix and writes the true residual against time to -csv; what that "
                     "costs is taken off its clock.\n"
                     "With the default method, BiCGStab preconditioned from the right, and with gmres, fgmres and idr, "
                     "all runs stop by the same residual, b - A x.\n"
                     "Any option of PETSc works: -ksp_type, -ksp_rtol, -pc_factor_mat_ordering_type, "
                     "-pc_spike_local_partitions, ...\n\n";

#include <petscspike.h>
#include <petsctime.h>
#include "mmio.h"
#include "problems.h"

#define MAX_METHODS 32
#define MAX_TYPES   8

typedef struct {
  PetscInt  n, ny, nc; /* unknowns, cells across the channel, unknowns at a point of the flame */
  PetscReal Pe, dt;    /* Peclet number of the channel, time step of the flame */
  PetscInt  repeat, nmethods;
  PetscReal patience; /* a first run of more seconds is not repeated */
  char     *methods[MAX_METHODS];
  PetscInt  ntypes; /* of matrices, 0: the one of -mat_type */
  char     *types[MAX_TYPES];
  char      file[PETSC_MAX_PATH_LEN]; /* empty: generate one */
  char      csv[PETSC_MAX_PATH_LEN];
  char      ordering[64]; /* of the matrix from the file, when there are several ranks */
  PetscBool check;
  FILE     *fp;
} AppCtx;

typedef struct {
  const char        *problem, *method, *type;
  PetscBool          available, failed; /* failed: PETSc raised an error */
  PetscErrorCode     ierr;
  KSPConvergedReason reason;
  PCFailedReason     pcreason;
  PetscInt           its, products;
  PetscLogDouble     setup, solve;
  PetscReal          relres;
  char               note[256]; /* what PCSPIKE did, or the text of the error */
} Result;

/* What the recorded run collects. Only one is recorded at a time, and MatSetOperation() has no context */
static struct {
  PetscErrorCode (*mult)(Mat, Vec, Vec);
  PetscInt       products;
  PetscBool      paused;
  PetscLogDouble start; /* of the setup; moved on by what the monitor costs */
  PetscReal      bnorm;
  Vec            work;
  FILE          *fp;
  const Result  *r;
} record;

static PetscErrorCode CountingMult(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (!record.paused) record.products++;
  PetscCall((*record.mult)(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The clock when everything before is done on all ranks; also on a device, whose streams a dot product waits for */
static PetscErrorCode Clock(Vec b, PetscLogDouble *t)
{
  PetscBool   cuda;
  PetscScalar dot;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &cuda, VECSEQCUDA, VECMPICUDA, ""));
  if (cuda) PetscCall(VecDot(b, b, &dot));
  PetscCallMPI(MPI_Barrier(PetscObjectComm((PetscObject)b)));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RecordMonitor(KSP ksp, PetscInt its, PetscReal rnorm, PetscCtx ctx)
{
  PetscLogDouble t0, t1;
  PetscReal      norm;
  Vec            r;

  PetscFunctionBegin;
  PetscCall(Clock(record.work, &t0)); /* what a device still has to do is the method's */
  record.paused = PETSC_TRUE;
  PetscCall(KSPBuildResidual(ksp, NULL, record.work, &r));
  PetscCall(VecNorm(r, NORM_2, &norm));
  record.paused = PETSC_FALSE;
  if (record.fp)
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, record.fp, "%s,%s,%s,%" PetscInt_FMT ",%.6e,%.6e\n", record.r->problem,
                           record.r->method, record.r->type, its, t0 - record.start, (double)(norm / record.bnorm)));
  PetscCall(PetscTime(&t1));
  record.start += t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* || b - A x || / || b ||, by MatMult alone */
static PetscErrorCode TrueResidual(Mat A, Vec b, Vec x, PetscReal *relres)
{
  Vec       r;
  PetscReal bnorm;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, relres));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  if (bnorm > 0.0) *relres /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One line about what PCSPIKE did, or why not */
static PetscErrorCode SpikeNote(PC pc, char note[], size_t len)
{
  const char *const   precisions[] = {"double", "single", "bf16", "fp16"};
  const char *const   variants[]   = {"block", "truncated", "coupled exactly"};
  PCSpikeInfo         info;
  PetscSpikePrecision precision;
  PCFailedReason      why;

  PetscFunctionBegin;
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &why));
  if (why) {
    PetscCall(PetscStrncpy(note, "no factorization; -info :pc tells the row and the remedy", len));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PCSpikeGetPrecision(pc, &precision));
  PetscCall(PetscSNPrintf(note, len,
                          "%s, half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " (before: %" PetscInt_FMT
                          ",%" PetscInt_FMT "), %" PetscInt_FMT " partition%s, %s factors, %.3g MB, %s",
                          info.partitions == 1 ? "banded LU" : variants[info.type], info.kl, info.ku, info.natural_kl,
                          info.natural_ku, info.partitions, info.partitions > 1 ? "s" : "", precisions[precision],
                          (double)(info.bytes + info.extra_bytes) / 1e6, info.backend));
  if (info.dropped > 0.0) {
    size_t used;

    PetscCall(PetscStrlen(note, &used));
    PetscCall(PetscSNPrintf(note + used, len - used, ", dropped %.1e of the sum of |a_ij|", (double)info.dropped));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One setup and one solve from scratch. With recording: counted and monitored, otherwise timed */
static PetscErrorCode SolveOnce(Mat A, Vec b, PetscBool recording, Result *r)
{
  KSP            ksp;
  PC             pc;
  Vec            x;
  PetscBool      right, given;
  PetscLogDouble t[3];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, r->method));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &right, KSPBCGS, KSPGMRES, KSPFGMRES,
                                      "idr" /* since PETSc 3.26 */, ""));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-ksp_pc_side", &given));
  if (right && !given) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  if (recording) {
    PetscCall(MatGetOperation(A, MATOP_MULT, (PetscErrorCodeFn **)&record.mult));
    PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)CountingMult));
    PetscCall(VecDuplicate(b, &record.work));
    PetscCall(VecNorm(b, NORM_2, &record.bnorm));
    PetscCall(KSPMonitorSet(ksp, RecordMonitor, NULL, NULL));
    record.products = 0;
    record.r        = r;
  }
  PetscCall(Clock(b, &t[0]));
  record.start = t[0];
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUpOnBlocks(ksp));
  PetscCall(Clock(b, &t[1]));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Clock(b, &t[2]));
  if (recording) {
    PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)record.mult));
    PetscCall(VecDestroy(&record.work));
    r->products = record.products;
    if (!strcmp(r->method, PCSPIKE)) PetscCall(SpikeNote(pc, r->note, sizeof(r->note)));
  } else {
    PetscLogDouble took[2] = {t[1] - t[0], t[2] - t[1]};

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, took, 2, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)A)));
    if (took[0] + took[1] < r->setup + r->solve) {
      r->setup = took[0];
      r->solve = took[1];
      PetscCall(KSPGetIterationNumber(ksp, &r->its));
      PetscCall(KSPGetConvergedReason(ksp, &r->reason));
      PetscCall(PCReduceFailedReason(pc));
      PetscCall(PCGetFailedReason(pc, &r->pcreason));
      PetscCall(TrueResidual(A, b, x, &r->relres));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveMethod(AppCtx *app, Mat A, Vec b, Result *r)
{
  PetscLogDouble t;

  PetscFunctionBegin;
  r->setup = r->solve = PETSC_MAX_REAL;
  PetscCall(SolveOnce(A, b, PETSC_FALSE, r));
  if (app->check) PetscFunctionReturn(PETSC_SUCCESS);
  t = r->setup + r->solve;
  if (t < app->patience) r->setup = r->solve = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < app->repeat && t < app->patience; k++) PetscCall(SolveOnce(A, b, PETSC_FALSE, r));
  PetscCall(SolveOnce(A, b, PETSC_TRUE, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Does PETSc have this factorization for matrices of this type? AIJ on several ranks has none of its own; that of
  MATSOLVERSPIKE is method "spike"
*/
static PetscErrorCode MethodAvailable(Mat A, const char method[], PetscBool *available)
{
  const struct {
    const char   *pc;
    MatFactorType factor;
  } table[] = {{PCLU, MAT_FACTOR_LU},
               {PCCHOLESKY, MAT_FACTOR_CHOLESKY},
               {PCILU, MAT_FACTOR_ILU},
               {PCICC, MAT_FACTOR_ICC}};
  MatType type;

  PetscFunctionBegin;
  *available = PETSC_TRUE;
  PetscCall(MatGetType(A, &type));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++) {
    PetscErrorCode (*create)(Mat, MatFactorType, Mat *) = NULL, (*spike)(Mat, MatFactorType, Mat *) = NULL;

    if (strcmp(method, table[k].pc)) continue;
    PetscCall(MatSolverTypeGet(NULL, type, table[k].factor, NULL, NULL, &create));
    PetscCall(MatSolverTypeGet(MATSOLVERSPIKE, type, table[k].factor, NULL, NULL, &spike));
    *available = (PetscBool)(create && create != spike);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the text of the place that raised the error */
static PetscErrorCode KeepErrorText(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n,
                                    PetscErrorType p, const char *mess, PetscCtx ctx)
{
  char *note = (char *)ctx;

  (void)comm;
  (void)line;
  (void)fun;
  (void)file;
  if (p == PETSC_ERROR_INITIAL && mess) (void)PetscStrncpy(note, mess, sizeof(((Result *)NULL)->note));
  return n;
}

/*
  *ierr <- what f(ctx) returned, note <- the text of its error: one method, or one type of matrices, should not end the
  comparison. That is safe on one rank alone: among several, one may have seen the error while the others wait for it.
*/
static PetscErrorCode CatchErrors(MPI_Comm comm, PetscErrorCode (*f)(void *), void *ctx, char note[],
                                  PetscErrorCode *ierr)
{
  PetscMPIInt size;
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  const int depth = petscstack.currentsize, hot = petscstack.hotdepth;
#endif

  PetscFunctionBegin;
  *ierr = PETSC_SUCCESS;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size > 1) {
    PetscCall((*f)(ctx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPushErrorHandler(KeepErrorText, note));
  *ierr = (*f)(ctx);
  PetscCall(PetscPopErrorHandler());
#if PetscDefined(USE_DEBUG) && !PetscDefined(HAVE_THREADSAFETY)
  if (*ierr) {
    petscstack.currentsize = depth + 1; /* this function is the last one that has not returned */
    petscstack.hotdepth    = hot;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arguments of what may fail */
typedef struct {
  AppCtx *app;
  Mat     A, B; /* B: A as a matrix of another type */
  Vec     b, c; /* c: b as a vector that fits B */
  MatType type;
  Result *r;
} Attempt;

static PetscErrorCode TrySolve(void *ctx)
{
  Attempt *a = (Attempt *)ctx;

  PetscFunctionBegin;
  PetscCall(SolveMethod(a->app, a->B, a->c, a->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TryConvert(void *ctx)
{
  Attempt *a = (Attempt *)ctx;

  PetscFunctionBegin;
  PetscCall(MatConvert(a->A, a->type, MAT_INITIAL_MATRIX, &a->B));
  PetscCall(MatCreateVecs(a->B, NULL, &a->c));
  PetscCall(VecCopy(a->b, a->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveMethodCatchErrors(Attempt *a)
{
  Result *r = a->r;
  PetscErrorCode (*mult)(Mat, Vec, Vec);

  PetscFunctionBegin;
  PetscCall(MethodAvailable(a->B, r->method, &r->available));
  if (!r->available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOperation(a->B, MATOP_MULT, (PetscErrorCodeFn **)&mult));
  PetscCall(CatchErrors(PetscObjectComm((PetscObject)a->B), TrySolve, a, r->note, &r->ierr));
  r->failed = (PetscBool)(r->ierr != PETSC_SUCCESS);
  if (r->failed) PetscCall(MatSetOperation(a->B, MATOP_MULT, (PetscErrorCodeFn *)mult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first n results in one table, or what was solved with -check */
static PetscErrorCode PrintTable(AppCtx *app, PetscInt n, const Result res[])
{
  PetscInt  best = -1;
  PetscReal rtol = 1e-8;
  MPI_Comm  comm = PETSC_COMM_WORLD;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ksp_rtol", &rtol, NULL));
  for (PetscInt k = 0; k < n; k++) {
    const PetscBool solved = (PetscBool)(res[k].available && !res[k].failed && res[k].reason > 0 &&
                                         res[k].relres <= 10.0 * rtol);

    if (solved && (best < 0 || res[k].setup + res[k].solve < res[best].setup + res[best].solve)) best = k;
    if (!app->check) continue;
    PetscCall(PetscPrintf(comm, "%s %s%s%s: ", res[k].problem, res[k].method, app->ntypes > 1 ? " " : "",
                          app->ntypes > 1 ? res[k].type : ""));
    if (!res[k].available) PetscCall(PetscPrintf(comm, "not for this type of matrix or number of ranks\n"));
    else if (solved) PetscCall(PetscPrintf(comm, "true relative residual < %g\n", (double)(10.0 * rtol)));
    else PetscCall(PetscPrintf(comm, "not solved\n"));
  }
  if (app->check) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(comm, "  %-10s %-11s %9s %9s %9s   %6s %8s %13s  %s\n", "method", "matrix", "setup s",
                        "solve s", "total s", "its", "products", "true residual", "result"));
  for (PetscInt k = 0; k < n; k++) {
    const Result *r          = &res[k];
    char          relres[16] = "-";

    if (!PetscIsInfOrNanReal(r->relres)) PetscCall(PetscSNPrintf(relres, sizeof(relres), "%.1e", (double)r->relres));
    PetscCall(PetscPrintf(comm, "  %-10s %-11s ", r->method, r->type));
    if (!r->available || r->failed) {
      PetscCall(PetscPrintf(comm, "%9s %9s %9s   %6s %8s %13s  ", "-", "-", "-", "-", "-", "-"));
      if (r->available) PetscCall(PetscPrintf(comm, "error %d\n", (int)r->ierr));
      else PetscCall(PetscPrintf(comm, "not for this type of matrix or number of ranks\n"));
    } else {
      PetscCall(PetscPrintf(comm, "%9.4f %9.4f %9.4f %c %6" PetscInt_FMT " %8" PetscInt_FMT " %13s  %s%s%s\n", r->setup,
                            r->solve, r->setup + r->solve, k == best ? '*' : ' ', r->its, r->products, relres,
                            KSPConvergedReasons[r->reason], r->reason == KSP_DIVERGED_PC_FAILED ? ": " : "",
                            r->reason == KSP_DIVERGED_PC_FAILED ? PCFailedReasons[r->pcreason] : ""));
    }
  }
  for (PetscInt k = 0; k < n; k++) {
    if (res[k].note[0])
      PetscCall(PetscPrintf(comm, "  %s%s%s: %s\n", res[k].method, app->ntypes > 1 ? ", " : "",
                            app->ntypes > 1 ? res[k].type : "", res[k].note));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Title, all methods with all types of matrices, table */
static PetscErrorCode Compare(AppCtx *app, const char problem[], const char title[], Mat A, Vec b)
{
  Result    *res;
  PetscInt   n, rstart, rend, ncols;
  PetscInt64 band[2] = {0, 0};
  MatInfo    info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    const PetscInt *cols;

    PetscCall(MatGetRow(A, i, &ncols, &cols, NULL));
    for (PetscInt k = 0; k < ncols; k++) {
      band[0] = PetscMax(band[0], i - cols[k]);
      band[1] = PetscMax(band[1], cols[k] - i);
    }
    PetscCall(MatRestoreRow(A, i, &ncols, &cols, NULL));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, band, 2, MPIU_INT64, MPI_MAX, PETSC_COMM_WORLD));
  if (!app->check)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "\n%s: %s\n  n = %" PetscInt_FMT ", %.0f nonzeros, half-bandwidths %" PetscInt64_FMT
                          ",%" PetscInt64_FMT "\n",
                          problem, title, n, info.nz_used, band[0], band[1]));
  PetscCall(PetscCalloc1(app->nmethods * app->ntypes, &res));
  for (PetscInt t = 0; t < app->ntypes; t++) {
    Result        *of_type = &res[t * app->nmethods];
    Attempt        a       = {app, A, A, b, b, app->types[t], NULL};
    PetscErrorCode ierr    = PETSC_SUCCESS;

    if (a.type) /* with the vectors of that type; the text of an error is told once */
      PetscCall(CatchErrors(PETSC_COMM_WORLD, TryConvert, &a, of_type->note, &ierr));
    for (PetscInt k = 0; k < app->nmethods; k++) {
      a.r          = &of_type[k];
      a.r->problem = problem;
      a.r->method  = app->methods[k];
      if (a.type) a.r->type = a.type;
      else {
        PetscCall(MatGetType(A, &a.r->type));
        if (!strncmp(a.r->type, "seq", 3) || !strncmp(a.r->type, "mpi", 3)) a.r->type += 3;
      }
      if (ierr) {
        a.r->available = a.r->failed = PETSC_TRUE;
        a.r->ierr                    = ierr;
      } else PetscCall(SolveMethodCatchErrors(&a));
    }
    if (a.type && !ierr) {
      PetscCall(MatDestroy(&a.B));
      PetscCall(VecDestroy(&a.c));
    }
  }
  PetscCall(PrintTable(app, app->nmethods * app->ntypes, res));
  PetscCall(PetscFree(res));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareChannel(AppCtx *app)
{
  const PetscInt nx = PetscMax(app->n / app->ny, 1);
  char           title[256];
  Mat            A;
  Vec            b;

  PetscFunctionBegin;
  PetscCall(ChannelCreate(PETSC_COMM_WORLD, nx, app->ny, app->Pe, &A, &b));
  PetscCall(PetscSNPrintf(title, sizeof(title),
                          "2-D convection-diffusion, %" PetscInt_FMT " x %" PetscInt_FMT " cells, Peclet number %.4g",
                          nx, app->ny, (double)app->Pe));
  PetscCall(Compare(app, "channel", title, A, b));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareFlame(AppCtx *app)
{
  const PetscInt np = PetscMax(app->n / app->nc, 1);
  char           title[256];
  Mat            A;
  Vec            b;

  PetscFunctionBegin;
  PetscCall(FlameCreate(PETSC_COMM_WORLD, np, app->nc, app->dt, &A, &b));
  PetscCall(PetscSNPrintf(title, sizeof(title),
                          "1-D reacting flow, %" PetscInt_FMT " points, %" PetscInt_FMT
                          " species and temperature, time step %.4g",
                          np, app->nc - 1, (double)app->dt));
  PetscCall(Compare(app, "flame", title, A, b));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Writes the shuffled heat exchanger to a temporary file, which rank 0 reads back and removes */
static PetscErrorCode LoadGenerated(AppCtx *app, Mat *A)
{
  const PetscInt ns = 6, nx = PetscMax(app->n / (2 * ns - 1), 1);
  char           dir[PETSC_MAX_PATH_LEN], name[PETSC_MAX_PATH_LEN];
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, dir, sizeof(dir)));
  PetscCall(PetscStrlcat(dir, "/petscspike_XXXXXX", sizeof(dir)));
  name[0] = 0;
  if (rank == 0) {
    Mat S;

    PetscCall(PetscMkdtemp(dir));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s/exchanger.mtx", dir));
    PetscCall(ExchangerCreate(PETSC_COMM_SELF, nx, ns, &S));
    PetscCall(MatWriteMatrixMarket(S, name));
    PetscCall(MatDestroy(&S));
  }
  PetscCall(MatLoadMatrixMarket(PETSC_COMM_WORLD, name, A));
  if (rank == 0) PetscCall(PetscRMTree(dir));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A <- A with rows and columns in the ordering -order. PCSPIKE reorders on one rank by itself, not across ranks;
  everybody gets the same matrix
*/
static PetscErrorCode Reorder(AppCtx *app, Mat *A)
{
  Mat             S, B;
  IS              row, col, local;
  PetscMPIInt     size;
  PetscInt        rstart, rend;
  const PetscInt *idx;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreateRedundantMatrix(*A, size, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatGetOrdering(S, app->ordering, &row, &col));
  PetscCall(MatDestroy(&S));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  PetscCall(ISGetIndices(row, &idx));
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, rend - rstart, idx + rstart, PETSC_COPY_VALUES, &local));
  PetscCall(ISRestoreIndices(row, &idx));
  PetscCall(MatPermute(*A, local, local, &B));
  PetscCall(ISDestroy(&local));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(MatDestroy(A));
  *A = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareFile(AppCtx *app)
{
  char        title[PETSC_MAX_PATH_LEN + 128];
  PetscMPIInt size;
  PetscInt    m, n;
  PetscReal   norm;
  Mat         A;
  Vec         b, x;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (app->file[0]) PetscCall(MatLoadFile(PETSC_COMM_WORLD, app->file, &A));
  else PetscCall(LoadGenerated(app, &A));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == n, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "The matrix in %s is not square: %" PetscInt_FMT " rows, %" PetscInt_FMT " columns", app->file, m, n);
  if (size > 1 && strcmp(app->ordering, MATORDERINGNATURAL)) PetscCall(Reorder(app, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecNorm(b, NORM_2, &norm));
  if (norm == 0.0) PetscCall(VecSet(b, 1.0));
  PetscCall(
    PetscSNPrintf(title, sizeof(title), "%s%s%s, right-hand side %s",
                  app->file[0] ? app->file : "a shuffled plate heat exchanger, written and read as Matrix Market",
                  size > 1 ? ", reordered by " : "", size > 1 ? app->ordering : "",
                  norm == 0.0 ? "1 (A*1 is zero)" : "A*1"));
  PetscCall(Compare(app, "file", title, A, b));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* app <- the options, with their defaults; the head of the output */
static PetscErrorCode Begin(AppCtx *app, PetscBool run[3])
{
  const char *const problems[] = {"channel", "flame", "file"};
  char             *names[3], ksptype[64] = KSPBCGS, pctype[64];
  PetscInt          nnames = 3;
  PetscReal         rtol   = 1e-8;
  PetscBool         set, given;
  PetscMPIInt       rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  app->nmethods = MAX_METHODS;
  app->ntypes   = MAX_TYPES;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Options of compare", NULL);
  PetscCall(PetscOptionsStringArray("-problems", "Any of channel,flame,file", NULL, names, &nnames, &set));
  if (!set) nnames = 0;
  PetscCall(
    PetscOptionsStringArray("-methods",
                            "Types of PC to compare (default spike,jacobi,ilu,bjacobi,lu, or the one of -pc_type)",
                            NULL, app->methods, &app->nmethods, &set));
  PetscCall(PetscOptionsString("-f",
                               "Matrix Market or PETSc binary file of the third problem (default: a generated one)",
                               NULL, app->file, app->file, sizeof(app->file), NULL));
  PetscCall(PetscOptionsString("-order",
                               "MatOrderingType by which the matrix of the file is reordered for several ranks", NULL,
                               app->ordering, app->ordering, sizeof(app->ordering), NULL));
  PetscCall(PetscOptionsBoundedInt("-n", "Unknowns of each generated problem, about", NULL, app->n, &app->n, NULL, 1));
  PetscCall(
    PetscOptionsBoundedInt("-ny", "Cells across the channel: its half-bandwidth", NULL, app->ny, &app->ny, NULL, 1));
  PetscCall(PetscOptionsReal("-peclet", "Peclet number of the channel", NULL, app->Pe, &app->Pe, NULL));
  PetscCall(PetscOptionsRangeInt("-nc", "Unknowns at each point of the flame: species and temperature", NULL, app->nc,
                                 &app->nc, NULL, 2, FLAME_MAX));
  PetscCall(PetscOptionsReal("-dt", "Time step of the flame", NULL, app->dt, &app->dt, NULL));
  PetscCall(PetscOptionsBoundedInt("-repeat", "Timed runs of each method, of which the fastest is shown", NULL,
                                   app->repeat, &app->repeat, NULL, 1));
  PetscCall(PetscOptionsReal("-patience",
                             "A first run that takes more seconds than this is shown as it is, without more runs", NULL,
                             app->patience, &app->patience, NULL));
  PetscCall(PetscOptionsString("-csv", "File for the residual against time, or none", NULL, app->csv, app->csv,
                               sizeof(app->csv), NULL));
  PetscCall(
    PetscOptionsBool("-check", "Print only which methods solved, no times", NULL, app->check, &app->check, NULL));
  PetscCall(PetscOptionsStringArray("-mat_types",
                                    "Types of matrices to compare, as aij,aijcusparse; -mat_type replaces them", NULL,
                                    app->types, &app->ntypes, NULL));
  PetscOptionsEnd();
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc_type", pctype, sizeof(pctype), &given));
  if (given) PetscCall(PetscOptionsClearValue(NULL, "-pc_type")); /* it would replace every method */
  if (!set && given) {
    app->nmethods = 1;
    PetscCall(PetscStrallocpy(pctype, &app->methods[0]));
  } else if (!set) {
    const char *const methods[] = {PCSPIKE, PCJACOBI, PCILU, PCBJACOBI, PCLU};

    app->nmethods = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(methods);
    for (PetscInt k = 0; k < app->nmethods; k++) PetscCall(PetscStrallocpy(methods[k], &app->methods[k]));
  }
  for (PetscInt p = 0; p < 3; p++) run[p] = (PetscBool)!nnames;
  for (PetscInt k = 0; k < nnames; k++) {
    PetscInt p = 0;

    while (p < 3 && strcmp(names[k], problems[p])) p++;
    PetscCheck(p < 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
               "Unknown problem \"%s\" in -problems; there are channel, flame and file", names[k]);
    run[p] = PETSC_TRUE;
    PetscCall(PetscFree(names[k]));
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-mat_type", &given));
  for (PetscInt k = 0; given && k < app->ntypes; k++) PetscCall(PetscFree(app->types[k]));
  if (given || !app->ntypes) app->ntypes = 1; /* NULL: the type that the matrix has */
  if (app->check) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ksp_type", ksptype, sizeof(ksptype), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ksp_rtol", &rtol, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s to a relative residual of %g, %d rank%s\n", ksptype, (double)rtol, size,
                        size > 1 ? "s" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "times: the fastest of %" PetscInt_FMT
                        " runs from scratch after one that is not counted; * is the best of those that solved\n",
                        app->repeat));
  if (rank == 0 && app->csv[0] && strcmp(app->csv, "none")) {
    app->fp = fopen(app->csv, "w");
    PetscCheck(app->fp, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write the file %s: %s", app->csv,
               strerror(errno));
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, app->fp,
                           "# compare: %s to %g, %d rank%s\nproblem,method,matrix,iteration,seconds,"
                           "relative_residual\n",
                           ksptype, (double)rtol, size, size > 1 ? "s" : ""));
    record.fp = app->fp;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  AppCtx    app;
  PetscBool run[3];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscMemzero(&app, sizeof(app)));
  app.n        = 100000;
  app.ny       = 50;
  app.nc       = 8;
  app.Pe       = 200.0;
  app.dt       = 0.1;
  app.repeat   = 2;
  app.patience = 2.0;
  PetscCall(PetscStrncpy(app.csv, "compare.csv", sizeof(app.csv)));
  PetscCall(PetscStrncpy(app.ordering, MATORDERINGRCM, sizeof(app.ordering)));
  PetscCall(Begin(&app, run));
  if (run[0]) PetscCall(CompareChannel(&app));
  if (run[1]) PetscCall(CompareFlame(&app));
  if (run[2]) PetscCall(CompareFile(&app));
  if (app.fp) (void)fclose(app.fp);
  for (PetscInt k = 0; k < app.nmethods; k++) PetscCall(PetscFree(app.methods[k]));
  for (PetscInt k = 0; k < app.ntypes; k++) PetscCall(PetscFree(app.types[k]));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      args: -check -n 3000 -ny 20 -methods spike,ilu,lu -problems channel,flame
      test:
         suffix: 1
      test:
         suffix: 2
         nsize: 2
         requires: !superlu_dist !mumps !strumpack !mkl_cpardiso !pastix !elemental

   testset:
      requires: !single
      args: -check -n 3000 -problems file
      output_file: output/compare_file.out
      test:
         suffix: file
         args: -methods spike,lu
         filter: grep spike
      test:
         suffix: file_ranks
         nsize: {{2 3}}
         args: -methods spike

   testset:
      requires: !single
      args: -check -n 3000 -ny 20 -methods spike,ilu,lu -problems channel,flame
      output_file: output/compare_types.out
      test:
         suffix: types
         args: -mat_types aij,baij
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: 1
         args: -mat_types aij,aijcusparse -use_gpu_aware_mpi 0
         filter: sed -e "s/aijcusparse/baij/"

   # A type that cannot hold a matrix: its rows say so, and the others are solved
   test:
      suffix: types_dia
      requires: !single
      args: -check -n 2000 -ny 20 -methods spike,lu -mat_types dia,aij -problems channel,file

TEST*/
