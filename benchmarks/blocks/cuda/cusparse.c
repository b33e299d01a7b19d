/* SPDX-License-Identifier: BSD-2-Clause */
/* cusparse.c: products of cuSPARSE, from the library that PETSc is linked with: on CSR and on BSR */
#include "cusparse.h"
#include "device.h"
#include "streams.h"
#include "../../common/symbols.h"

/* The functions, whose enumerations are those of cusparse.h */
typedef struct {
  int (*create)(void **), (*destroy)(void *), (*setstream)(void *, cudaStream_t);
  int (*createcsr)(void **, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int);
  int (*createbsr)(void **, int64_t, int64_t, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int,
                   int);
  int (*creatednmat)(void **, int64_t, int64_t, int64_t, void *, int, int);
  int (*creatednvec)(void **, int64_t, void *, int);
  int (*destroyspmat)(void *), (*destroydnmat)(void *), (*destroydnvec)(void *);
  int (*mmsize)(void *, int, int, const void *, void *, void *, const void *, void *, int, int, size_t *);
  int (*mm)(void *, int, int, const void *, void *, void *, const void *, void *, int, int, void *);
  int (*mvsize)(void *, int, const void *, void *, void *, const void *, void *, int, int, size_t *);
  int (*mv)(void *, int, const void *, void *, void *, const void *, void *, int, int, void *);
  int (*bsrmv)(void *, int, int, int, int, int, const void *, void *, const void *, const int *, const int *, int,
               const void *, const void *, void *);
  int (*bsrmm)(void *, int, int, int, int, int, int, int, const void *, void *, const void *, const int *, const int *,
               int, const void *, int, const void *, void *, int);
  int (*createdescr)(void **), (*destroydescr)(void *);
} CuSPARSEFunctions;

/* Forms of a matrix; the buffer of the function that is timed */
typedef struct {
  CuSPARSEFunctions f;
  Mult             *t;
  void             *handle, *descr, *csr, *bsr, *bsrrow, *in, *out, *buffer;
  int              *bi, *bj, *ci, *cj;
  void             *ca, *ba; /* ba: blocks row-major */
  int               type, algorithm, operation;
  enum {
    CALL_SPMM_CSR,
    CALL_SPMM_BSR,
    CALL_SPMM_BSRROW,
    CALL_SPMV_CSR,
    CALL_SPMV_BSR,
    CALL_BSRMV,
    CALL_BSRMM,
    CALL_BSRMV_TASKS,
    CALL_BSRMM_TASKS
  } which;
  DeviceDouble one, zero;
  SpikeSingle  one1, zero1;
} CuSPARSE;

static PetscErrorCode CuSPARSEFind(char letter, CuSPARSEFunctions *f, PetscBool *found)
{
  char name[2][32];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  PetscCall(PetscSNPrintf(name[0], sizeof(name[0]), "cusparse%cbsrmv", letter));
  PetscCall(PetscSNPrintf(name[1], sizeof(name[1]), "cusparse%cbsrmm", letter));
  *found = (PetscBool)(FindSymbol(RTLD_DEFAULT, "cusparseCreate", &f->create) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseDestroy", &f->destroy) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseSetStream", &f->setstream) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseCreateCsr", &f->createcsr) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseCreateDnMat", &f->creatednmat) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseCreateDnVec", &f->creatednvec) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseDestroySpMat", &f->destroyspmat) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseDestroyDnMat", &f->destroydnmat) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseDestroyDnVec", &f->destroydnvec) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseSpMM_bufferSize", &f->mmsize) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseSpMM", &f->mm) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseSpMV_bufferSize", &f->mvsize) &&
                       FindSymbol(RTLD_DEFAULT, "cusparseSpMV", &f->mv));
  (void)FindSymbol(RTLD_DEFAULT, "cusparseCreateBsr", &f->createbsr);
  (void)FindSymbol(RTLD_DEFAULT, name[0], &f->bsrmv);
  (void)FindSymbol(RTLD_DEFAULT, name[1], &f->bsrmm);
  (void)FindSymbol(RTLD_DEFAULT, "cusparseCreateMatDescr", &f->createdescr);
  (void)FindSymbol(RTLD_DEFAULT, "cusparseDestroyMatDescr", &f->destroydescr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode UploadInts(PetscCount count, const PetscInt from[], int **to)
{
  int *h;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(count, &h));
  for (PetscCount i = 0; i < count; i++) h[i] = (int)from[i];
  PetscCallCUDA(cudaMalloc((void **)to, (size_t)PetscMax(count, 1) * sizeof(int)));
  PetscCallCUDA(cudaMemcpy(*to, h, (size_t)count * sizeof(int), cudaMemcpyHostToDevice));
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in CSR of numbers, and values of blocks that are row-major, on the device */
static PetscErrorCode CuSPARSENumbers(CuSPARSE *s)
{
  const Mult      *t       = s->t;
  const size_t     size    = NumberBytes(t->precision);
  const char      *numbers = (const char *)t->p->run->numbers[t->precision == PETSC_SPIKE_PRECISION_DOUBLE ? 0 : 1];
  const PetscInt   bs = t->bs, n = t->nb * bs;
  const PetscCount nz = (PetscCount)t->nz * bs * bs;
  PetscCount       at = 0;
  int             *ci, *cj;
  char            *ca, *ba;

  PetscFunctionBeginUser;
  PetscCheck(nz <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscCount_FMT " entries are more than cuSPARSE's indices count", nz);
  PetscCall(PetscMalloc1(n + 1, &ci));
  PetscCall(PetscMalloc1(nz, &cj));
  PetscCall(PetscMalloc1((size_t)nz * size, &ca));
  PetscCall(PetscMalloc1((size_t)nz * size, &ba));
  ci[0] = 0;
  for (PetscInt i = 0; i < t->nb; i++)
    for (PetscInt r = 0; r < bs; r++) {
      for (PetscInt k = t->bi[i]; k < t->bi[i + 1]; k++)
        for (PetscInt c = 0; c < bs; c++, at++) {
          const size_t e = (size_t)((((PetscCount)k * bs + c) * bs + r) % PERIOD), to = ((size_t)k * bs + r) * bs + c;

          cj[at] = (int)(t->bj[k] * bs + c);
          if (size == sizeof(float)) ((float *)ba)[to] = ((float *)ca)[at] = ((const float *)numbers)[e];
          else if (!PetscDefined(USE_COMPLEX)) ((double *)ba)[to] = ((double *)ca)[at] = ((const double *)numbers)[e];
          else {
            memcpy(ca + (size_t)at * size, numbers + e * size, size);
            memcpy(ba + to * size, numbers + e * size, size);
          }
        }
      ci[i * bs + r + 1] = (int)at;
    }
  PetscCallCUDA(cudaMalloc((void **)&s->ci, (size_t)(n + 1) * sizeof(int)));
  PetscCallCUDA(cudaMalloc((void **)&s->cj, (size_t)nz * sizeof(int)));
  PetscCallCUDA(cudaMalloc(&s->ca, (size_t)nz * size));
  PetscCallCUDA(cudaMemcpy(s->ci, ci, (size_t)(n + 1) * sizeof(int), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(s->cj, cj, (size_t)nz * sizeof(int), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(s->ca, ca, (size_t)nz * size, cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMalloc(&s->ba, (size_t)nz * size));
  PetscCallCUDA(cudaMemcpy(s->ba, ba, (size_t)nz * size, cudaMemcpyHostToDevice));
  PetscCall(PetscFree(ci));
  PetscCall(PetscFree(cj));
  PetscCall(PetscFree(ca));
  PetscCall(PetscFree(ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSECreate(Mult *t, void **ctx)
{
  const PetscInt n = t->nb * t->bs;
  CuSPARSE      *s;
  PetscBool      found = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&s));
  s->t         = t;
  s->one.value = 1.0;
  s->one1      = 1.0f;
  s->type      = t->precision == PETSC_SPIKE_PRECISION_DOUBLE ? (PetscDefined(USE_COMPLEX) ? CUDA_C_64F : CUDA_R_64F)
                                                              : (PetscDefined(USE_COMPLEX) ? CUDA_C_32F : CUDA_R_32F);
  *ctx         = s;
  PetscCall(CuSPARSEFind(PrecisionLetter(t->precision), &s->f, &found));
  if (!found) {
    PetscCall(PetscFree(s));
    *ctx = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(!s->f.create(&s->handle) && !s->f.setstream(s->handle, ((DevicePlace *)t->p->device)->clock.stream),
             PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE fails");
  PetscCall(UploadInts(t->nb + 1, t->bi, &s->bi));
  PetscCall(UploadInts(t->nz, t->bj, &s->bj));
  PetscCall(CuSPARSENumbers(s));
  if (s->f.createcsr(&s->csr, n, n, (int64_t)t->nz * t->bs * t->bs, s->ci, s->cj, s->ca, CUSPARSE_INDEX_32I,
                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type))
    s->csr = NULL;
  if (s->f.createbsr &&
      s->f.createbsr(&s->bsr, t->nb, t->nb, t->nz, t->bs, t->bs, s->bi, s->bj, t->a, CUSPARSE_INDEX_32I,
                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type, CUSPARSE_ORDER_COL))
    s->bsr = NULL;
  if (s->f.createbsr &&
      s->f.createbsr(&s->bsrrow, t->nb, t->nb, t->nz, t->bs, t->bs, s->bi, s->bj, s->ba, CUSPARSE_INDEX_32I,
                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type, CUSPARSE_ORDER_ROW))
    s->bsrrow = NULL;
  if (s->f.createdescr && s->f.createdescr(&s->descr)) s->descr = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSEDestroy(void **ctx)
{
  CuSPARSE *s = (CuSPARSE *)*ctx;

  PetscFunctionBeginUser;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceSynchronize());
  if (s->bsr) (void)s->f.destroyspmat(s->bsr);
  if (s->bsrrow) (void)s->f.destroyspmat(s->bsrrow);
  PetscCallCUDA(cudaFree(s->ba));
  if (s->descr && s->f.destroydescr) (void)s->f.destroydescr(s->descr);
  if (s->csr) (void)s->f.destroyspmat(s->csr);
  (void)s->f.destroy(s->handle);
  PetscCallCUDA(cudaFree(s->bi));
  PetscCallCUDA(cudaFree(s->bj));
  PetscCallCUDA(cudaFree(s->ci));
  PetscCallCUDA(cudaFree(s->cj));
  PetscCallCUDA(cudaFree(s->ca));
  PetscCall(PetscFree(*ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const void *CuSPARSEScalar(const CuSPARSE *s, PetscBool one)
{
  const PetscBool wide = (PetscBool)(s->t->precision == PETSC_SPIKE_PRECISION_DOUBLE);

  return one ? (wide ? (const void *)&s->one : (const void *)&s->one1)
             : (wide ? (const void *)&s->zero : (const void *)&s->zero1);
}

static void *CuSPARSEMatrix(const CuSPARSE *s)
{
  return s->which == CALL_SPMM_CSR || s->which == CALL_SPMV_CSR ? s->csr
                                                                : (s->which == CALL_SPMM_BSRROW ? s->bsrrow : s->bsr);
}

/* Tasks one by one: all have the pattern of the first */
static int CuSPARSETasks(const CuSPARSE *s)
{
  const Mult  *t   = s->t;
  const void  *one = CuSPARSEScalar(s, PETSC_TRUE), *zero = CuSPARSEScalar(s, PETSC_FALSE);
  const size_t size = NumberBytes(t->precision);
  const int    rows = (int)(t->nb / t->ntasks), nz = (int)(t->nz / t->ntasks), bs = (int)t->bs, n = (int)t->nb * bs;

  for (PetscInt i = 0; i < t->ntasks; i++) {
    const char *a    = (const char *)t->a + (size_t)i * nz * bs * bs * size,
               *x    = (const char *)t->x + (size_t)i * rows * bs * size;
    char     *y      = (char *)t->y + (size_t)i * rows * bs * size;
    const int status = s->which == CALL_BSRMV_TASKS
                       ? s->f.bsrmv(s->handle, CUSPARSE_DIRECTION_COLUMN, s->operation, rows, rows, nz, one, s->descr,
                                    a, s->bi, s->bj, bs, x, zero, y)
                       : s->f.bsrmm(s->handle, CUSPARSE_DIRECTION_COLUMN, s->operation, 0, rows, (int)t->m, rows, nz,
                                    one, s->descr, a, s->bi, s->bj, bs, x, n, zero, y, n);

    if (status) return status;
  }
  return 0;
}

static PetscErrorCode CuSPARSEWork(void *ctx, PetscInt k)
{
  CuSPARSE   *s   = (CuSPARSE *)ctx;
  const Mult *t   = s->t;
  const void *one = CuSPARSEScalar(s, PETSC_TRUE), *zero = CuSPARSEScalar(s, PETSC_FALSE);
  void       *mat = CuSPARSEMatrix(s);
  const int   nb = (int)t->nb, nz = (int)t->nz, bs = (int)t->bs, n = nb * bs, m = (int)t->m;
  int         status;

  PetscFunctionBeginUser;
  (void)k;
  if (s->which <= CALL_SPMM_BSRROW)
    status = s->f.mm(s->handle, s->operation, 0, one, mat, s->in, zero, s->out, s->type, s->algorithm, s->buffer);
  else if (s->which == CALL_BSRMV)
    status = s->f.bsrmv(s->handle, CUSPARSE_DIRECTION_COLUMN, s->operation, nb, nb, nz, one, s->descr, t->a, s->bi,
                        s->bj, bs, t->x, zero, t->y);
  else if (s->which == CALL_BSRMM)
    status = s->f.bsrmm(s->handle, CUSPARSE_DIRECTION_COLUMN, s->operation, 0, nb, m, nb, nz, one, s->descr, t->a,
                        s->bi, s->bj, bs, t->x, n, zero, t->y, n);
  else if (s->which >= CALL_BSRMV_TASKS) status = CuSPARSETasks(s);
  else status = s->f.mv(s->handle, s->operation, one, mat, s->in, zero, s->out, s->type, s->algorithm, s->buffer);
  PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE: status %d", status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One function: its buffer, its vectors, its time; a line that says so where the library refuses */
static PetscErrorCode CuSPARSELine(CuSPARSE *s, const Key *key, const char name[])
{
  Mult           *t = s->t;
  const int64_t   n = (int64_t)t->nb * t->bs, ld = t->rowmajor ? t->m : n;
  const int       order   = t->rowmajor ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  const PetscBool vector  = (PetscBool)(s->which == CALL_SPMV_CSR || s->which == CALL_SPMV_BSR),
                  generic = (PetscBool)(vector || s->which <= CALL_SPMM_BSRROW);
  const void    *one = CuSPARSEScalar(s, PETSC_TRUE), *zero = CuSPARSEScalar(s, PETSC_FALSE);
  void          *mat = CuSPARSEMatrix(s);
  double         ms = NAN, graph = NAN, error = NAN;
  size_t         bytes  = 0;
  int            status = 0;
  PetscErrorCode ierr   = PETSC_SUCCESS;

  PetscFunctionBeginUser;
  if (generic && !mat) PetscFunctionReturn(PETSC_SUCCESS);
  s->buffer = s->in = s->out = NULL;
  if (vector) {
    status = s->f.creatednvec(&s->in, n, t->x, s->type) || s->f.creatednvec(&s->out, n, t->y, s->type);
    if (!status)
      status = s->f.mvsize(s->handle, s->operation, one, mat, s->in, zero, s->out, s->type, s->algorithm, &bytes);
  } else if (generic) {
    status = s->f.creatednmat(&s->in, n, t->m, ld, t->x, s->type, order) ||
             s->f.creatednmat(&s->out, n, t->m, ld, t->y, s->type, order);
    if (!status)
      status = s->f.mmsize(s->handle, s->operation, 0, one, mat, s->in, zero, s->out, s->type, s->algorithm, &bytes);
  }
  if (!status) {
    PetscCallCUDA(cudaMalloc(&s->buffer, bytes + 256));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = CuSPARSEWork(s, 0);
    PetscCall(PetscPopErrorHandler());
  }
  if (status || ierr) PetscCall(Report(t->p, key, name, NAN, NAN, NAN, "refused"));
  else {
    PetscCall((*t->p->time)(t->p, 1, NULL, CuSPARSEWork, s, &ms, &graph));
    PetscCall(FillPlace(t->p, t->precision, (PetscCount)n * t->m, t->y));
    PetscCall(CuSPARSEWork(s, 0));
    PetscCall(MultError(t, t->rowmajor, &error));
    PetscCall(Report(t->p, key, name, ms, graph, error, ""));
  }
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCallCUDA(cudaFree(s->buffer));
  if (s->in) (void)(vector ? s->f.destroydnvec(s->in) : s->f.destroydnmat(s->in));
  if (s->out) (void)(vector ? s->f.destroydnvec(s->out) : s->f.destroydnmat(s->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that the library has for the cell, in its layout; transposed products on CSR alone */
static PetscErrorCode CuSPARSELines(Mult *t, const Key *key, void *ctx)
{
  const struct {
    const char *name;
    int         which, algorithm;
  } functions[] = {{"SpMM CSR", CALL_SPMM_CSR, CUSPARSE_SPMM_ALG_DEFAULT},
                   {"SpMM CSR 2", CALL_SPMM_CSR, CUSPARSE_SPMM_CSR_ALG2},
                   {"SpMM BSR", CALL_SPMM_BSR, CUSPARSE_SPMM_ALG_DEFAULT},
                   {"SpMM BSR row", CALL_SPMM_BSRROW, CUSPARSE_SPMM_ALG_DEFAULT},
                   {"SpMV CSR", CALL_SPMV_CSR, CUSPARSE_SPMV_ALG_DEFAULT},
                   {"SpMV BSR", CALL_SPMV_BSR, CUSPARSE_SPMV_ALG_DEFAULT},
                   {"bsrmv", CALL_BSRMV, 0},
                   {"bsrmm", CALL_BSRMM, 0},
                   {"bsrmv one by one", CALL_BSRMV_TASKS, 0},
                   {"bsrmm one by one", CALL_BSRMM_TASKS, 0}};
  CuSPARSE *s   = (CuSPARSE *)ctx;

  PetscFunctionBeginUser;
  if (t->ntasks > 1) PetscCall(MultStreamsLine(t, key));
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  s->operation = t->trans ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(functions); i++) {
    const int       which  = functions[i].which;
    const PetscBool vector = (PetscBool)(which == CALL_SPMV_CSR || which == CALL_SPMV_BSR || which == CALL_BSRMV ||
                                         which == CALL_BSRMV_TASKS);

    if (vector && t->m > 1) continue;
    if (t->trans && (t->rowmajor || (which != CALL_SPMM_CSR && which != CALL_SPMV_CSR))) continue;
    if (t->trans && functions[i].algorithm == CUSPARSE_SPMM_CSR_ALG2) continue;
    if (which >= CALL_BSRMV_TASKS && t->ntasks == 1) continue;
    if ((which == CALL_BSRMV || which == CALL_BSRMV_TASKS) && !(s->f.bsrmv && s->descr)) continue;
    if ((which == CALL_BSRMM || which == CALL_BSRMM_TASKS) && (!(s->f.bsrmm && s->descr) || t->rowmajor)) continue;
    s->which     = which;
    s->algorithm = functions[i].algorithm;
    PetscCall(CuSPARSELine(s, key, functions[i].name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MultPeers multdevicepeers = {CuSPARSECreate, CuSPARSELines, CuSPARSEDestroy};
