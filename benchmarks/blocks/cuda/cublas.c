/* SPDX-License-Identifier: BSD-2-Clause */
/* cublas.c: tall blocks by our kernels on streams, and by cuBLAS, from the library that PETSc is linked with */
#include "cublas.h"
#include "device.h"
#include "../../common/symbols.h"

/* Task by task, a stream each */
static PetscErrorCode TallStreams(void *ctx, PetscInt k)
{
  Tall          *t     = (Tall *)ctx;
  DevicePlace   *d     = (DevicePlace *)t->p->device;
  const PetscInt count = PetscMin(t->ntasks, MAXSTREAMS);

  PetscFunctionBeginUser;
  PetscCall(Fork(d, count));
  for (PetscInt i = 0; i < t->ntasks; i++)
    PetscCall((*t->p->b.k->run)(&d->b[i % MAXSTREAMS], t->precision, 1, t->tasks + k * t->ntasks + i));
  PetscCall(Join(d, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cuBLAS ---- */

typedef struct {
  Tall        *t;
  void        *handle, *workspace;
  DeviceDouble one;
  SpikeSingle  single;
  int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, const void *, int, const void *, void *,
              int);
  int (*batched)(void *, int, int, int, int, int, const void *, const void *, int, long long, const void *, int,
                 long long, const void *, void *, int, long long, int);
} CuBLAS;

static int Operation(char op)
{
  return op == 'N' ? 0 : op == 'T' ? 1 : 2;
}

static const void *CuBLASOne(const CuBLAS *s)
{
  return s->t->precision == PETSC_SPIKE_PRECISION_DOUBLE ? (const void *)&s->one : (const void *)&s->single;
}

/* Task by task, one after the other */
static PetscErrorCode CuBLASWork(void *ctx, PetscInt k)
{
  CuBLAS *s = (CuBLAS *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < s->t->ntasks; i++) {
    const Product g  = TallProduct(&s->t->tasks[k * s->t->ntasks + i]);
    const int status = s->gemm(s->handle, Operation(g.opa), Operation(g.opb), g.m, g.n, g.k, CuBLASOne(s), g.A, g.lda,
                               g.B, g.ldb, CuBLASOne(s), g.C, g.ldc);

    PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS: status %d of gemm", status);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CuBLASBatched(void *ctx, PetscInt k)
{
  CuBLAS       *s      = (CuBLAS *)ctx;
  const Product g      = TallProduct(&s->t->tasks[k * s->t->ntasks]),
                next   = TallProduct(&s->t->tasks[k * s->t->ntasks + (s->t->ntasks > 1 ? 1 : 0)]);
  const ptrdiff_t size = (ptrdiff_t)NumberBytes(s->t->precision), a = ((const char *)next.A - (const char *)g.A) / size,
                  b = ((const char *)next.B - (const char *)g.B) / size, c = ((char *)next.C - (char *)g.C) / size;
  int status;

  PetscFunctionBeginUser;
  status = s->batched(s->handle, Operation(g.opa), Operation(g.opb), g.m, g.n, g.k, CuBLASOne(s), g.A, g.lda,
                      (long long)a, g.B, g.ldb, (long long)b, CuBLASOne(s), g.C, g.ldc, (long long)c,
                      (int)s->t->ntasks);
  PetscCheck(!status, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS: status %d of gemmStridedBatched", status);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line of the peer, or none where the library refuses */
static PetscErrorCode TallLine(Tall *t, const Key *key, const char solver[], BlockWork work, void *ctx,
                               PetscBool turned)
{
  double         ms = NAN, graph = NAN, error;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = (*work)(ctx, 0);
  PetscCall(PetscPopErrorHandler());
  if (ierr) {
    PetscCall(Report(t->p, key, solver, NAN, NAN, NAN, "refused"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*t->p->time)(t->p, t->copies, NULL, work, ctx, &ms, &graph));
  PetscCall(TallError(t, work, ctx, turned, &error));
  PetscCall(Report(t->p, key, solver, ms, graph, error, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cuBLAS in the layout of the cell; of many tasks our own on streams too, and in one batch where all are the same */
PetscErrorCode TallDevicePeers(Tall *t, const Key *key)
{
  /* what cuBLAS wants on this kind of device, its own: it can be captured then */
  const size_t workspace = (size_t)32 << 20;
  const char   letter    = PrecisionLetter(t->precision);
  CuBLAS       s;
  char         name[40];
  int (*create)(void **), (*destroy)(void *), (*setstream)(void *, cudaStream_t),
    (*setworkspace)(void *, void *, size_t);

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.t         = t;
  s.one.value = 1.0;
  s.single    = 1.0f;
  if (t->ntasks > 1) PetscCall(TallLine(t, key, "ours on streams", TallStreams, t, PETSC_FALSE));
  PetscCall(PetscSNPrintf(name, sizeof(name), "cublas%cgemm_v2", letter));
  if (!FindSymbol(RTLD_DEFAULT, "cublasCreate_v2", &create) ||
      !FindSymbol(RTLD_DEFAULT, "cublasDestroy_v2", &destroy) ||
      !FindSymbol(RTLD_DEFAULT, "cublasSetStream_v2", &setstream) ||
      !FindSymbol(RTLD_DEFAULT, "cublasSetWorkspace_v2", &setworkspace) || !FindSymbol(RTLD_DEFAULT, name, &s.gemm))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(name, sizeof(name), "cublas%cgemmStridedBatched", letter));
  PetscCallCUDA(cudaMalloc(&s.workspace, workspace));
  PetscCheck(!create(&s.handle) && !setstream(s.handle, ((DevicePlace *)t->p->device)->clock.stream) &&
               !setworkspace(s.handle, s.workspace, workspace),
             PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  PetscCall(
    TallLine(t, key, t->ntasks > 1 ? "cuBLAS one by one" : "cuBLAS", CuBLASWork, &s, (PetscBool)(key->rowmajor)));
  if (t->ntasks > 1 && t->tasks[0].op == t->tasks[1].op && FindSymbol(RTLD_DEFAULT, name, &s.batched))
    PetscCall(TallLine(t, key, "cuBLAS batched", CuBLASBatched, &s, key->rowmajor));
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCheck(!destroy(s.handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  PetscCallCUDA(cudaFree(s.workspace));
  PetscFunctionReturn(PETSC_SUCCESS);
}
