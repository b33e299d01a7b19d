/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudss.h: for benchmarks: cuDSS, loaded at run time, on the CSR arrays of a MATSEQAIJCUSPARSE and on the stream of
  PETSc's current device context
*/
#pragma once

#include "lapackband.h"
#include "symbols.h"

/* A function of a library; error: what to say where it has none */
static inline PetscErrorCode Find(void *library, const char name[], void *function)
{
  PetscFunctionBeginUser;
  PetscCheck(FindSymbol(library, name, function), PETSC_COMM_SELF, PETSC_ERR_LIB, "The library has no function %s",
             name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Open(const char file[], void **library)
{
  PetscFunctionBeginUser;
  *library = *file ? dlopen(file, RTLD_NOW | RTLD_LOCAL
#if defined(RTLD_DEEPBIND)
                                    | RTLD_DEEPBIND /* its own BLAS, not that of PETSC */
#endif
                            )
                   : NULL;
  if (*file && !*library) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s cannot be loaded: %s\n", file, dlerror()));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuDSS 1.0: what of cudss.h is used here */
typedef void *Handle;

enum {
  CUDSS_ANALYSIS        = 3, /* reordering and symbolic factorization */
  CUDSS_FACTORIZATION   = 4,
  CUDSS_REFACTORIZATION = 8,
  CUDSS_SOLVE           = 1008, /* permutations, forward, diagonal, backward, refinement */
  CUDSS_GENERAL         = 0,
  CUDSS_FULL            = 0,
  CUDSS_BASE_ZERO       = 0,
  CUDSS_COLUMN_MAJOR    = 0
};

typedef struct {
  int (*Create)(Handle *);
  int (*Destroy)(Handle);
  int (*SetStream)(Handle, void *);
  int (*ConfigCreate)(Handle *);
  int (*ConfigDestroy)(Handle);
  int (*DataCreate)(Handle, Handle *);
  int (*DataDestroy)(Handle, Handle);
  int (*MatrixCreateDn)(Handle *, int64_t, int64_t, int64_t, const void *, int, int);
  int (*MatrixCreateCsr)(Handle *, int64_t, int64_t, int64_t, const void *, const void *, const void *, const void *,
                         int, int, int, int, int, int);
  int (*MatrixSetValues)(Handle, const void *);
  int (*MatrixDestroy)(Handle);
  int (*Execute)(Handle, int, Handle, Handle, Handle, Handle, Handle);
} CUDSS;

#define CallCUDSS(call) \
  do { \
    const int status_ = call; \
    PetscCheck(!status_, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuDSS: status %d of " #call, status_); \
  } while (0)

static inline PetscErrorCode LoadCUDSS(void *library, CUDSS *c)
{
  PetscFunctionBeginUser;
  PetscCall(Find(library, "cudssCreate", &c->Create));
  PetscCall(Find(library, "cudssDestroy", &c->Destroy));
  PetscCall(Find(library, "cudssSetStream", &c->SetStream));
  PetscCall(Find(library, "cudssConfigCreate", &c->ConfigCreate));
  PetscCall(Find(library, "cudssConfigDestroy", &c->ConfigDestroy));
  PetscCall(Find(library, "cudssDataCreate", &c->DataCreate));
  PetscCall(Find(library, "cudssDataDestroy", &c->DataDestroy));
  PetscCall(Find(library, "cudssMatrixCreateDn", &c->MatrixCreateDn));
  PetscCall(Find(library, "cudssMatrixCreateCsr", &c->MatrixCreateCsr));
  PetscCall(Find(library, "cudssMatrixSetValues", &c->MatrixSetValues));
  PetscCall(Find(library, "cudssMatrixDestroy", &c->MatrixDestroy));
  PetscCall(Find(library, "cudssExecute", &c->Execute));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cudaDataType_t of a scalar and of an index */
static inline int ScalarType(void)
{
  return (PetscDefined(USE_COMPLEX) ? 4 : 0) + (sizeof(PetscReal) == 8 ? 1 : 0);
}

static inline int IndexType(void)
{
  return sizeof(PetscInt) == 8 ? 24 : 10;
}

/* A matrix and its solver; new values in the same pattern by CUDSSRefactor() */
typedef struct {
  CUDSS  c;
  Handle handle, config, data, mat, rhs, sol;
} CUDSSSolver;

/* Analysis and first factorization with the default settings: cuDSS reorders. *done: false where it cannot be had */
static inline PetscErrorCode CUDSSBegin(const char file[], Mat A, Vec b, Vec x, CUDSSSolver *s, double *first,
                                        PetscBool *done)
{
  void              *library;
  const PetscInt    *ai, *aj;
  const PetscScalar *ba;
  PetscScalar       *aa, *xa;
  PetscMemType       mtype, vtype;
  PetscDeviceContext dctx;
  void             **stream = NULL; /* of a cudaStream_t, which is a pointer */
  PetscInt           n;
  MatInfo            info;
  PetscLogDouble     t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  *done = PETSC_FALSE;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &ai, &aj, &aa, &mtype));
  if (!PetscMemTypeCUDA(mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Open(file, &library));
  if (!library) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(LoadCUDSS(library, &s->c));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(VecGetArrayReadAndMemType(b, &ba, &vtype));
  PetscCall(VecGetArrayWriteAndMemType(x, &xa, &vtype));
  PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
  PetscCall(PetscDeviceContextGetStreamHandle(dctx, (void **)&stream));
  CallCUDSS(s->c.Create(&s->handle));
  if (stream) CallCUDSS(s->c.SetStream(s->handle, *stream));
  CallCUDSS(s->c.ConfigCreate(&s->config));
  CallCUDSS(s->c.DataCreate(s->handle, &s->data));
  CallCUDSS(s->c.MatrixCreateCsr(&s->mat, n, n, (int64_t)info.nz_used, ai, NULL, aj, aa, IndexType(), IndexType(),
                                 ScalarType(), CUDSS_GENERAL, CUDSS_FULL, CUDSS_BASE_ZERO));
  CallCUDSS(s->c.MatrixCreateDn(&s->rhs, n, 1, n, ba, ScalarType(), CUDSS_COLUMN_MAJOR));
  CallCUDSS(s->c.MatrixCreateDn(&s->sol, n, 1, n, xa, ScalarType(), CUDSS_COLUMN_MAJOR));
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  CallCUDSS(s->c.Execute(s->handle, CUDSS_ANALYSIS, s->config, s->data, s->mat, s->sol, s->rhs));
  CallCUDSS(s->c.Execute(s->handle, CUDSS_FACTORIZATION, s->config, s->data, s->mat, s->sol, s->rhs));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  *first = 1e3 * (t1 - t0);
  PetscCall(VecRestoreArrayWriteAndMemType(x, &xa));
  PetscCall(VecRestoreArrayReadAndMemType(b, &ba));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refactorization with the values of A, and a solve, repeat times: medians, ms */
static inline PetscErrorCode CUDSSTime(CUDSSSolver *s, int repeat, Mat A, Vec x, double *refactor, double *solve)
{
  const PetscInt *ai, *aj;
  PetscScalar    *aa, *xa;
  PetscMemType    mtype;
  PetscLogDouble  t0 = 0.0, t1 = 0.0, t2 = 0.0;
  double          tr[MAXREPEAT], ts[MAXREPEAT];

  PetscFunctionBeginUser;
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &ai, &aj, &aa, &mtype));
  PetscCall(VecGetArrayWriteAndMemType(x, &xa, &mtype));
  for (int k = -1; k < repeat; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    CallCUDSS(s->c.MatrixSetValues(s->mat, aa));
    CallCUDSS(s->c.Execute(s->handle, CUDSS_REFACTORIZATION, s->config, s->data, s->mat, s->sol, s->rhs));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    CallCUDSS(s->c.Execute(s->handle, CUDSS_SOLVE, s->config, s->data, s->mat, s->sol, s->rhs));
    PetscCall(Wait(PETSC_COMM_SELF, &t2));
    if (k >= 0) {
      tr[k] = 1e3 * (t1 - t0);
      ts[k] = 1e3 * (t2 - t1);
    }
  }
  PetscCall(VecRestoreArrayWriteAndMemType(x, &xa));
  *refactor = Median(repeat, tr);
  *solve    = Median(repeat, ts);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode CUDSSEnd(CUDSSSolver *s)
{
  PetscFunctionBeginUser;
  CallCUDSS(s->c.MatrixDestroy(s->sol));
  CallCUDSS(s->c.MatrixDestroy(s->rhs));
  CallCUDSS(s->c.MatrixDestroy(s->mat));
  CallCUDSS(s->c.DataDestroy(s->handle, s->data));
  CallCUDSS(s->c.ConfigDestroy(s->config));
  CallCUDSS(s->c.Destroy(s->handle));
  PetscFunctionReturn(PETSC_SUCCESS);
}
