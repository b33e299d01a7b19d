/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cusparselu.c: block ILU(0) and its solves by cuSPARSE (bsrilu02, bsrsv2, bsrsm2), where the library that PETSc is
  linked with has them
*/
#include "cusparselu.h"
#include "cusparse.h"
#include "../direct.h"
#include "device.h"
#include "streams.h"
#include "../../common/symbols.h"

/* cusparse.h of later versions may lack these */
enum {
  SOLVE_NO_LEVEL,
  SOLVE_LEVEL
};

enum {
  FILL_LOWER,
  FILL_UPPER
};

enum {
  DIAGONAL_NON_UNIT,
  DIAGONAL_UNIT
};

typedef int (*IluSize)(void *, int, int, int, void *, void *, const int *, const int *, int, void *, int *);
typedef int (*IluStep)(void *, int, int, int, void *, void *, const int *, const int *, int, void *, int, void *);
typedef int (*SvSize)(void *, int, int, int, int, void *, void *, const int *, const int *, int, void *, int *);
typedef int (*SvAnalysis)(void *, int, int, int, int, void *, const void *, const int *, const int *, int, void *, int,
                          void *);
typedef int (*SvSolve)(void *, int, int, int, int, const void *, void *, const void *, const int *, const int *, int,
                       void *, const void *, void *, int, void *);
typedef int (*SmSize)(void *, int, int, int, int, int, int, void *, void *, const int *, const int *, int, void *,
                      int *);
typedef int (*SmAnalysis)(void *, int, int, int, int, int, int, void *, const void *, const int *, const int *, int,
                          void *, int, void *);
typedef int (*SmSolve)(void *, int, int, int, int, int, int, const void *, void *, const void *, const int *,
                       const int *, int, void *, const void *, int, void *, int, int, void *);

/*
  The tasks of a case: all have the pattern of the first. Infos and buffers of each task, for they may run at once;
  values[k]: of copy k, all tasks one after the other
*/
typedef struct {
  Ilu         *t;
  void        *handle, *general, *triangle[2], *values;
  int         *bi, *bj, nb, nz, policy;
  PetscBool    streams;
  PetscScalar *y; /* between the sweeps, [MAXRHS n] */
  DeviceScalar one;
  void        *ilu[MAXSTREAMS], *sv[2][MAXSTREAMS], *sm[2][MAXSTREAMS];
  void        *ilubuffer[MAXSTREAMS], *svbuffer[2][MAXSTREAMS], *smbuffer[2][MAXSTREAMS];

  int (*create)(void **), (*destroy)(void *), (*setstream)(void *, cudaStream_t);
  int (*createdescr)(void **), (*destroydescr)(void *), (*settype)(void *, int), (*setfill)(void *, int),
    (*setdiagonal)(void *, int);
  int (*createilu)(void **), (*destroyilu)(void *), (*createsv)(void **), (*destroysv)(void *), (*createsm)(void **),
    (*destroysm)(void *);
  IluSize    ilusize;
  IluStep    iluanalysis, factor;
  SvSize     svsize;
  SvAnalysis svanalysis;
  SvSolve    solve;
  SmSize     smsize;
  SmAnalysis smanalysis;
  SmSolve    solves;
} CuSPARSELU;

#define LUCheck(status, what) PetscCheck(!(status), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE fails in %s", what)

static PetscErrorCode CuSPARSELUFind(CuSPARSELU *s, PetscBool *found)
{
  const char letter = PrecisionLetter(NativePrecision());
  const char *
    names[] = {"bsrilu02_bufferSize", "bsrilu02_analysis", "bsrilu02",        "bsrsv2_bufferSize", "bsrsv2_analysis",
               "bsrsv2_solve",        "bsrsm2_bufferSize", "bsrsm2_analysis", "bsrsm2_solve"},
   *plain[] = {"Create",           "Destroy",           "SetStream",        "CreateMatDescr",     "DestroyMatDescr",
               "SetMatType",       "SetMatFillMode",    "SetMatDiagType",   "CreateBsrilu02Info", "DestroyBsrilu02Info",
               "CreateBsrsv2Info", "DestroyBsrsv2Info", "CreateBsrsm2Info", "DestroyBsrsm2Info"};
  void *functions[] = {&s->ilusize, &s->iluanalysis, &s->factor,     &s->svsize, &s->svanalysis,
                       &s->solve,   &s->smsize,      &s->smanalysis, &s->solves};
  void *others[]    = {&s->create,   &s->destroy,   &s->setstream,   &s->createdescr, &s->destroydescr,
                       &s->settype,  &s->setfill,   &s->setdiagonal, &s->createilu,   &s->destroyilu,
                       &s->createsv, &s->destroysv, &s->createsm,    &s->destroysm};
  char  name[64];

  PetscFunctionBeginUser;
  *found = PETSC_TRUE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "cusparse%c%s", letter, names[i]));
    if (!FindSymbol(RTLD_DEFAULT, name, functions[i])) *found = PETSC_FALSE;
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(plain); i++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "cusparse%s", plain[i]));
    if (!FindSymbol(RTLD_DEFAULT, name, others[i])) *found = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt LUTasks(const CuSPARSELU *s)
{
  return PetscMin(s->t->ntasks, MAXSTREAMS);
}

static PetscScalar *LUValues(const CuSPARSELU *s, PetscInt copy, PetscInt task)
{
  const size_t step = (size_t)s->nz * s->t->bs * s->t->bs;

  return (PetscScalar *)s->values + ((size_t)copy * s->t->ntasks + task) * step;
}

/* Analysis with the policy; ms: what it took, factors and both sweeps of one column */
static PetscErrorCode CuSPARSELUAnalysis(CuSPARSELU *s, double *ms)
{
  const int      bs = (int)s->t->bs, column = CUSPARSE_DIRECTION_COLUMN;
  PetscLogDouble t0, t1;

  PetscFunctionBeginUser;
  PetscCall(PetscTime(&t0));
  for (PetscInt i = 0; i < LUTasks(s); i++) {
    PetscScalar *a = LUValues(s, 0, i);
    int          bytes;

    LUCheck(s->createilu(&s->ilu[i]) ||
              s->ilusize(s->handle, column, s->nb, s->nz, s->general, a, s->bi, s->bj, bs, s->ilu[i], &bytes),
            "bsrilu02_bufferSize");
    PetscCallCUDA(cudaMalloc(&s->ilubuffer[i], (size_t)bytes + 256));
    LUCheck(s->iluanalysis(s->handle, column, s->nb, s->nz, s->general, a, s->bi, s->bj, bs, s->ilu[i], s->policy,
                           s->ilubuffer[i]),
            "bsrilu02_analysis");
    for (int u = 0; u < 2; u++) {
      LUCheck(s->createsv(&s->sv[u][i]) ||
                s->svsize(s->handle, column, 0, s->nb, s->nz, s->triangle[u], a, s->bi, s->bj, bs, s->sv[u][i], &bytes),
              "bsrsv2_bufferSize");
      PetscCallCUDA(cudaMalloc(&s->svbuffer[u][i], (size_t)bytes + 256));
      LUCheck(s->svanalysis(s->handle, column, 0, s->nb, s->nz, s->triangle[u], a, s->bi, s->bj, bs, s->sv[u][i],
                            s->policy, s->svbuffer[u][i]),
              "bsrsv2_analysis");
    }
  }
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall(PetscTime(&t1));
  *ms = 1e3 * (t1 - t0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSELUForgetColumns(CuSPARSELU *s)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaDeviceSynchronize());
  for (PetscInt i = 0; i < MAXSTREAMS; i++)
    for (int u = 0; u < 2; u++) {
      if (s->sm[u][i]) (void)s->destroysm(s->sm[u][i]);
      PetscCallCUDA(cudaFree(s->smbuffer[u][i]));
      s->sm[u][i] = s->smbuffer[u][i] = NULL;
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for sweeps of t->m columns */
static PetscErrorCode CuSPARSELUColumns(CuSPARSELU *s)
{
  const int bs = (int)s->t->bs, column = CUSPARSE_DIRECTION_COLUMN, m = (int)s->t->m;

  PetscFunctionBeginUser;
  PetscCall(CuSPARSELUForgetColumns(s));
  for (PetscInt i = 0; i < LUTasks(s); i++)
    for (int u = 0; u < 2; u++) {
      PetscScalar *a = LUValues(s, 0, i);
      int          bytes;

      LUCheck(s->createsm(&s->sm[u][i]) || s->smsize(s->handle, column, 0, 0, s->nb, m, s->nz, s->triangle[u], a, s->bi,
                                                     s->bj, bs, s->sm[u][i], &bytes),
              "bsrsm2_bufferSize");
      PetscCallCUDA(cudaMalloc(&s->smbuffer[u][i], (size_t)bytes + 256));
      LUCheck(s->smanalysis(s->handle, column, 0, 0, s->nb, m, s->nz, s->triangle[u], a, s->bi, s->bj, bs, s->sm[u][i],
                            s->policy, s->smbuffer[u][i]),
              "bsrsm2_analysis");
    }
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSELUForget(CuSPARSELU *s)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaDeviceSynchronize());
  for (PetscInt i = 0; i < MAXSTREAMS; i++) {
    if (s->ilu[i]) (void)s->destroyilu(s->ilu[i]);
    PetscCallCUDA(cudaFree(s->ilubuffer[i]));
    s->ilu[i] = s->ilubuffer[i] = NULL;
    for (int u = 0; u < 2; u++) {
      if (s->sv[u][i]) (void)s->destroysv(s->sv[u][i]);
      PetscCallCUDA(cudaFree(s->svbuffer[u][i]));
      s->sv[u][i] = s->svbuffer[u][i] = NULL;
    }
  }
  PetscCall(CuSPARSELUForgetColumns(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the matrix, all tasks of copy k */
static PetscErrorCode CuSPARSELURestore(void *ctx, PetscInt k)
{
  CuSPARSELU *s = (CuSPARSELU *)ctx;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMemcpyAsync(LUValues(s, k, 0), s->t->csr.aa,
                                (size_t)s->nz * s->t->ntasks * s->t->bs * s->t->bs * sizeof(PetscScalar),
                                cudaMemcpyDeviceToDevice, ((DevicePlace *)s->t->p->device)->clock.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where task i goes */
static PetscErrorCode LUStream(CuSPARSELU *s, PetscInt i)
{
  DevicePlace *d = (DevicePlace *)s->t->p->device;

  PetscFunctionBeginUser;
  if (s->streams) LUCheck(s->setstream(s->handle, d->stream[i]), "SetStream");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LUBegin(CuSPARSELU *s)
{
  PetscFunctionBeginUser;
  if (s->streams) PetscCall(Fork((DevicePlace *)s->t->p->device, LUTasks(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LUEnd(CuSPARSELU *s)
{
  DevicePlace *d = (DevicePlace *)s->t->p->device;

  PetscFunctionBeginUser;
  if (s->streams) {
    LUCheck(s->setstream(s->handle, d->clock.stream), "SetStream");
    PetscCall(Join(d, LUTasks(s)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSELUFactor(void *ctx, PetscInt k)
{
  CuSPARSELU *s = (CuSPARSELU *)ctx;

  PetscFunctionBeginUser;
  PetscCall(LUBegin(s));
  for (PetscInt i = 0; i < LUTasks(s); i++) {
    PetscCall(LUStream(s, i));
    LUCheck(s->factor(s->handle, CUSPARSE_DIRECTION_COLUMN, s->nb, s->nz, s->general, LUValues(s, k, i), s->bi, s->bj,
                      (int)s->t->bs, s->ilu[i], s->policy, s->ilubuffer[i]),
            "bsrilu02");
  }
  PetscCall(LUEnd(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sweeps, m = 1. Vectors of the tasks one after the other */
static PetscErrorCode CuSPARSELUSolve(void *ctx, PetscInt k)
{
  CuSPARSELU *s    = (CuSPARSELU *)ctx;
  const int   rows = s->nb * (int)s->t->bs;

  PetscFunctionBeginUser;
  PetscCall(LUBegin(s));
  for (PetscInt i = 0; i < LUTasks(s); i++) {
    const PetscCount at = (PetscCount)k * MOSTRHS * s->t->nb * s->t->bs + (PetscCount)i * rows;

    PetscCall(LUStream(s, i));
    for (int u = 0; u < 2; u++)
      LUCheck(s->solve(s->handle, CUSPARSE_DIRECTION_COLUMN, 0, s->nb, s->nz, &s->one, s->triangle[u],
                       LUValues(s, k, i), s->bi, s->bj, (int)s->t->bs, s->sv[u][i],
                       u ? s->y + (PetscCount)i * rows : s->t->b + at, u ? s->t->x + at : s->y + (PetscCount)i * rows,
                       s->policy, s->svbuffer[u][i]),
              "bsrsv2_solve");
  }
  PetscCall(LUEnd(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sweeps, m columns */
static PetscErrorCode CuSPARSELUSolves(void *ctx, PetscInt k)
{
  CuSPARSELU *s    = (CuSPARSELU *)ctx;
  const int   rows = s->nb * (int)s->t->bs, ld = (int)(s->t->nb * s->t->bs);

  PetscFunctionBeginUser;
  PetscCall(LUBegin(s));
  for (PetscInt i = 0; i < LUTasks(s); i++) {
    const PetscCount at = (PetscCount)k * MOSTRHS * ld + (PetscCount)i * rows;

    PetscCall(LUStream(s, i));
    for (int u = 0; u < 2; u++)
      LUCheck(s->solves(s->handle, CUSPARSE_DIRECTION_COLUMN, 0, 0, s->nb, (int)s->t->m, s->nz, &s->one, s->triangle[u],
                        LUValues(s, k, i), s->bi, s->bj, (int)s->t->bs, s->sm[u][i],
                        u ? s->y + (PetscCount)i * rows : s->t->b + at, ld,
                        u ? s->t->x + at : s->y + (PetscCount)i * rows, ld, s->policy, s->smbuffer[u][i]),
              "bsrsm2_solve");
  }
  PetscCall(LUEnd(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What differs from our solution, copy 0 */
static PetscErrorCode CuSPARSELUError(CuSPARSELU *s, BlockWork work, double *error)
{
  const PetscCount n = (PetscCount)s->t->nb * s->t->bs * s->t->m;
  PetscScalar     *x;

  PetscFunctionBeginUser;
  PetscCall(IluOurs(s->t));
  PetscCallCUDA(cudaMemset(s->t->x, 0xff, (size_t)n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCall((*work)(s, 0));
  PetscCall((*s->t->p->b.k->synchronize)(&s->t->p->b));
  PetscCall(PetscMalloc1(n, &x));
  PetscCall(Download(s->t->p, s->t->x, (size_t)n * sizeof(PetscScalar), x));
  *error = Difference(n, x, s->t->hostx);
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSELUTimes(CuSPARSELU *s, Key *key, const char suffix[])
{
  Ilu           *t         = s->t;
  const PetscInt columns[] = {1, 4, 16};
  char           name[48];
  double         ms = NAN, graph = NAN, error = NAN;

  PetscFunctionBeginUser;
  key->op    = "factor";
  key->m     = 0;
  key->bytes = 0.0;
  PetscCall(PetscSNPrintf(name, sizeof(name), "bsrilu02%s", suffix));
  PetscCall((*t->p->time)(t->p, t->copies, CuSPARSELURestore, CuSPARSELUFactor, s, &ms, &graph));
  PetscCall(Report(t->p, key, name, ms, graph, NAN, ""));
  for (PetscInt k = 0; k < t->copies; k++) {
    PetscCall(CuSPARSELURestore(s, k));
    PetscCall(CuSPARSELUFactor(s, k));
  }
  key->op = "solve";
  for (int j = 0; j < 3; j++) {
    const BlockWork work = columns[j] > 1 ? CuSPARSELUSolves : CuSPARSELUSolve;

    t->m = key->m = columns[j];
    key->bytes    = IluBytes(t, (double)t->m);
    graph         = NAN;
    if (t->m > 1) PetscCall(CuSPARSELUColumns(s));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", columns[j] > 1 ? "bsrsm2" : "bsrsv2", suffix));
    PetscCall((*t->p->time)(t->p, t->copies, NULL, work, s, &ms, &graph));
    PetscCall(CuSPARSELUError(s, work, &error));
    PetscCall(Report(t->p, key, name, ms, graph, error, "error: what differs from ours"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With level sets and without; of many tasks one after the other and on streams */
static PetscErrorCode CuSPARSELUAll(Ilu *t, Key *key)
{
  CuSPARSELU *s;
  PetscBool   found = PETSC_FALSE;
  double      ms;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&s));
  PetscCall(CuSPARSELUFind(s, &found));
  if (!found) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  cuSPARSE has no bsrilu02, bsrsv2 and bsrsm2\n"));
    PetscCall(PetscFree(s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->t         = t;
  s->one.value = 1.0;
  s->nb        = (int)(t->nb / t->ntasks);
  s->nz        = (int)t->bi[s->nb];
  LUCheck(s->create(&s->handle) || s->setstream(s->handle, ((DevicePlace *)t->p->device)->clock.stream), "Create");
  LUCheck(s->createdescr(&s->general) || s->settype(s->general, CUSPARSE_MATRIX_TYPE_GENERAL), "CreateMatDescr");
  for (int u = 0; u < 2; u++) {
    LUCheck(s->createdescr(&s->triangle[u]) || s->settype(s->triangle[u], CUSPARSE_MATRIX_TYPE_GENERAL),
            "CreateMatDescr");
    LUCheck(s->setfill(s->triangle[u], u ? FILL_UPPER : FILL_LOWER) ||
              s->setdiagonal(s->triangle[u], u ? DIAGONAL_NON_UNIT : DIAGONAL_UNIT),
            "SetMatFillMode");
  }
  PetscCall(UploadInts(s->nb + 1, t->bi, &s->bi));
  PetscCall(UploadInts(s->nz, t->bj, &s->bj));
  PetscCallCUDA(cudaMalloc(&s->values, (size_t)t->copies * t->ntasks * s->nz * t->bs * t->bs * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&s->y, (size_t)MOSTRHS * t->nb * t->bs * sizeof(PetscScalar)));
  for (PetscInt k = 0; k < t->copies; k++) PetscCall(CuSPARSELURestore(s, k));
  for (s->policy = SOLVE_NO_LEVEL; s->policy <= SOLVE_LEVEL; s->policy++) {
    if (t->ntasks > 1 && s->policy == SOLVE_LEVEL) continue;
    PetscCall(CuSPARSELUAnalysis(s, &ms));
    key->op    = "analysis";
    key->m     = 0;
    key->bytes = 0.0;
    PetscCall(Report(t->p, key, s->policy == SOLVE_LEVEL ? "bsrilu02 levels" : "bsrilu02", ms, NAN, NAN,
                     "once; with that of bsrsv2"));
    PetscCall(CuSPARSELUTimes(s, key, s->policy == SOLVE_LEVEL ? " levels" : ""));
    if (t->ntasks > 1) {
      s->streams = PETSC_TRUE;
      PetscCall(CuSPARSELUTimes(s, key, " streams"));
    }
    PetscCall(CuSPARSELUForget(s));
  }
  for (int u = 0; u < 2; u++) (void)s->destroydescr(s->triangle[u]);
  (void)s->destroydescr(s->general);
  (void)s->destroy(s->handle);
  PetscCallCUDA(cudaFree(s->bi));
  PetscCallCUDA(cudaFree(s->bj));
  PetscCallCUDA(cudaFree(s->values));
  PetscCallCUDA(cudaFree(s->y));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluDevicePeers(Ilu *t, Key *key)
{
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  if (t->ntasks > 1) PetscCall(IluStreamsLines(t, key));
  if (t->p->run->complete) { /* cuSPARSE factors the pattern of the matrix alone */
    PetscCall(DirectLines(t, key));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = CuSPARSELUAll(t, key);
  PetscCall(PetscPopErrorHandler());
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  cuSPARSE's block ILU or its solves fail: error %d\n", (int)ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
