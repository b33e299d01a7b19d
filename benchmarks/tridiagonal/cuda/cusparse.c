/* SPDX-License-Identifier: BSD-2-Clause */
/* cusparse.c: what cuSPARSE has for tridiagonal systems, from the library that PETSc is linked with */
#include "cusparse.h"
#include "../../common/symbols.h"

/* ---- cuSPARSE, from the library that PETSc is linked with ---- */

static const char *const cusparsenames[] = {"gtsv2",
                                            "gtsv2_nopivot",
                                            "gtsv2StridedBatch",
                                            "gtsvInterleavedBatch 0",
                                            "gtsvInterleavedBatch 1",
                                            "gtsvInterleavedBatch 2"};

/*
  Of the interleaved functions all four arrays are in and out: i[] holds them, by rows of all systems, w[] their copies
*/
typedef struct {
  Device      *dev;
  CuSPARSEName name;
  void        *handle, *buffer;
  PetscScalar *i[4], *w[4];
  /* the first three have the same kinds of arguments */
  int (*simple)(void *, int, int, const void *, const void *, const void *, void *, int, void *);
  int (*interleaved)(void *, int, int, void *, void *, void *, void *, int, void *);
} CuSPARSE;

static PetscErrorCode CuSPARSEWork(void *ctx, PetscInt k)
{
  CuSPARSE        *s = (CuSPARSE *)ctx;
  Device          *v = s->dev;
  const int        m = (int)v->c->m, nsys = (int)v->c->nsys, n = (int)v->n;
  const PetscCount at = k * v->n;
  int              status;

  PetscFunctionBeginUser;
  if (s->name >= INTERLEAVED0)
    status = s->interleaved(s->handle, s->name - INTERLEAVED0, m, s->w[0] + at, s->w[1] + at, s->w[2] + at,
                            s->w[3] + at, nsys, s->buffer);
  else if (s->name == STRIDEDBATCH) {
    int (*strided)(void *, int, const void *, const void *, const void *, void *, int, int, void *);

    memcpy(&strided, &s->simple, sizeof(strided));
    status = strided(s->handle, m, v->dl + at, v->d + at, v->du + at, v->x + at, nsys, m, s->buffer);
  } else status = s->simple(s->handle, n, 1, v->dl + at, v->d + at, v->du + at, v->x + at, n, s->buffer);
  PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE: status %d of %s", status, cusparsenames[s->name]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuSPARSERestore(void *ctx, PetscInt k)
{
  CuSPARSE        *s     = (CuSPARSE *)ctx;
  const PetscCount at    = k * s->dev->n;
  const size_t     bytes = (size_t)s->dev->n * sizeof(PetscScalar);

  PetscFunctionBeginUser;
  if (s->name < INTERLEAVED0)
    PetscCallCUDA(cudaMemcpyAsync(s->dev->x + at, s->dev->b + at, bytes, cudaMemcpyDeviceToDevice, s->dev->stream));
  for (int j = 0; j < 4 && s->name >= INTERLEAVED0; j++)
    PetscCallCUDA(cudaMemcpyAsync(s->w[j] + at, s->i[j], bytes, cudaMemcpyDeviceToDevice, s->dev->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions, and bytes of the buffer; NULL functions where the library lacks them */
static PetscErrorCode CuSPARSEFind(CuSPARSE *s, size_t *bytes)
{
  const char  letter = sizeof(PetscReal) == 8 ? (PetscDefined(USE_COMPLEX) ? 'Z' : 'D')
                                              : (PetscDefined(USE_COMPLEX) ? 'C' : 'S');
  const char *base   = s->name >= INTERLEAVED0 ? "gtsvInterleavedBatch" : cusparsenames[s->name];
  Device     *v      = s->dev;
  const int   m = (int)v->c->m, nsys = (int)v->c->nsys, n = (int)v->n;
  char        name[64], size[64];
  int         status                                                                                          = 1;
  int (*interleaved)(void *, int, int, const void *, const void *, const void *, const void *, int, size_t *) = NULL;
  int (*strided)(void *, int, const void *, const void *, const void *, const void *, int, int, size_t *)     = NULL;
  int (*simple)(void *, int, int, const void *, const void *, const void *, const void *, int, size_t *)      = NULL;

  PetscFunctionBeginUser;
  s->simple      = NULL;
  s->interleaved = NULL;
  *bytes         = 0;
  PetscCall(PetscSNPrintf(name, sizeof(name), "cusparse%c%s", letter, base));
  PetscCall(PetscSNPrintf(size, sizeof(size), "cusparse%c%s_bufferSizeExt", letter, base));
  if (s->name >= INTERLEAVED0) {
    if (!FindSymbol(RTLD_DEFAULT, size, &interleaved) || !FindSymbol(RTLD_DEFAULT, name, &s->interleaved))
      PetscFunctionReturn(PETSC_SUCCESS);
    status = interleaved(s->handle, s->name - INTERLEAVED0, m, s->w[0], s->w[1], s->w[2], s->w[3], nsys, bytes);
  } else if (s->name == STRIDEDBATCH) {
    if (!FindSymbol(RTLD_DEFAULT, size, &strided) || !FindSymbol(RTLD_DEFAULT, name, &s->simple))
      PetscFunctionReturn(PETSC_SUCCESS);
    status = strided(s->handle, m, v->dl, v->d, v->du, v->x, nsys, m, bytes);
  } else {
    if (!FindSymbol(RTLD_DEFAULT, size, &simple) || !FindSymbol(RTLD_DEFAULT, name, &s->simple))
      PetscFunctionReturn(PETSC_SUCCESS);
    status = simple(s->handle, n, 1, v->dl, v->d, v->du, v->x, n, bytes);
  }
  PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE: status %d of %s", status, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* i[] <- dl, d, du, b by rows of all systems, or the other way round: x from w[3] */
static PetscErrorCode Interleave(CuSPARSE *s, PetscBool back)
{
  const Case        *c      = s->dev->c;
  const PetscScalar *from[] = {c->dl, c->d, c->du, c->b};
  PetscScalar       *rows;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(c->n, &rows));
  if (back) {
    PetscCallCUDA(cudaStreamSynchronize(s->dev->stream));
    PetscCallCUDA(cudaMemcpy(rows, s->w[3], c->n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt i = 0; i < c->nsys; i++) c->x[i * c->m + r] = rows[r * c->nsys + i];
  }
  for (int j = 0; j < 4 && !back; j++) {
    for (PetscInt r = 0; r < c->m; r++)
      for (PetscInt i = 0; i < c->nsys; i++) rows[r * c->nsys + i] = from[j][i * c->m + r];
    PetscCallCUDA(cudaMemcpy(s->i[j], rows, c->n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Its functions that suit the case, lines[NCUSPARSE]; those for interleaved systems where there are enough to fill warps
*/
PetscErrorCode TimeCuSPARSE(Device *dev, Line lines[])
{
  int (*create)(void **)                 = NULL;
  int (*setstream)(void *, cudaStream_t) = NULL;
  int (*destroy)(void *)                 = NULL;
  CuSPARSE s                             = {dev, GTSV2, NULL, NULL, {NULL}, {NULL}, NULL, NULL};
  size_t   bytes;

  PetscFunctionBeginUser;
  for (int k = 0; k < NCUSPARSE; k++) LineInit(&lines[k], cusparsenames[k]);
  if (!FindSymbol(RTLD_DEFAULT, "cusparseCreate", &create) ||
      !FindSymbol(RTLD_DEFAULT, "cusparseSetStream", &setstream) ||
      !FindSymbol(RTLD_DEFAULT, "cusparseDestroy", &destroy))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!create(&s.handle) && !setstream(s.handle, dev->stream), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE fails");
  for (int k = 0; k < NCUSPARSE; k++) {
    const PetscBool interleaved = (PetscBool)(k >= INTERLEAVED0);

    if (interleaved && dev->c->nsys < 32) continue;
    s.name = (CuSPARSEName)k;
    for (int j = 0; j < 4 && k == INTERLEAVED0; j++) {
      PetscCall(DeviceArray(dev->n, &s.i[j]));
      PetscCall(DeviceArray(dev->copies * dev->n, &s.w[j]));
    }
    if (k == INTERLEAVED0) PetscCall(Interleave(&s, PETSC_FALSE));
    PetscCall(CuSPARSEFind(&s, &bytes));
    if (!s.simple && !s.interleaved) continue;
    PetscCallCUDA(cudaMalloc(&s.buffer, bytes + 1));
    PetscCall(TimeWork(dev, CuSPARSERestore, interleaved, CuSPARSEWork, &s, &lines[k].ms[TIME_ONCE],
                       &lines[k].graph[TIME_ONCE]));
    PetscCall(CuSPARSERestore(&s, 0));
    PetscCall(CuSPARSEWork(&s, 0));
    if (interleaved) {
      PetscCall(Interleave(&s, PETSC_TRUE));
      lines[k].error = CaseError(dev->c, dev->c->x);
    } else PetscCall(DeviceError(dev, &lines[k].error));
    PetscCallCUDA(cudaFree(s.buffer));
    if (k < STRIDEDBATCH && dev->c->nsys > 1)
      PetscCall(PetscStrncpy(lines[k].how, "all systems as one", sizeof(lines[k].how)));
  }
  for (int j = 0; j < 4; j++) {
    PetscCallCUDA(cudaFree(s.i[j]));
    PetscCallCUDA(cudaFree(s.w[j]));
  }
  PetscCheck(!destroy(s.handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE fails");
  PetscFunctionReturn(PETSC_SUCCESS);
}
