/* SPDX-License-Identifier: BSD-2-Clause */
/* gpsv.c: cuSPARSE's gpsvInterleavedBatch, from the library that PETSc is linked with */
#include "gpsv.h"
#include "../../common/devicetime.h"
#include "../../common/symbols.h"
#include <math.h>

typedef int (*Create)(void **);
typedef int (*Destroy)(void *);
typedef int (*Size)(void *, int, int, const void *, const void *, const void *, const void *, const void *,
                    const void *, int, size_t *);
typedef int (*Solve)(void *, int, int, void *, void *, void *, void *, void *, void *, int, void *);

typedef struct {
  Create  create;
  Destroy destroy;
  Size    size;
  Solve   solve;
} Functions;

static PetscBool Find(Functions *f)
{
  const char letter = sizeof(PetscReal) == 8 ? (PetscDefined(USE_COMPLEX) ? 'Z' : 'D')
                                             : (PetscDefined(USE_COMPLEX) ? 'C' : 'S');
  char       solve[64], size[64];

  snprintf(solve, sizeof(solve), "cusparse%cgpsvInterleavedBatch", letter);
  snprintf(size, sizeof(size), "cusparse%cgpsvInterleavedBatch_bufferSizeExt", letter);
  return (PetscBool)(FindSymbol(RTLD_DEFAULT, "cusparseCreate", &f->create) &&
                     FindSymbol(RTLD_DEFAULT, "cusparseDestroy", &f->destroy) &&
                     FindSymbol(RTLD_DEFAULT, size, &f->size) && FindSymbol(RTLD_DEFAULT, solve, &f->solve));
}

/* What it destroys is restored before each call */
static PetscErrorCode Measure(const Functions *f, void *handle, PetscInt nsys, PetscInt m, PetscScalar *const keep[6],
                              PetscScalar *const work[6], void *buffer, int repeat, double *ms)
{
  const size_t bytes = (size_t)nsys * m * sizeof(PetscScalar);
  cudaEvent_t  event[2];
  double       t[MAXREPEAT];
  float        elapsed;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventCreate(&event[k]));
  for (int r = -1; r < repeat; r++) {
    for (int k = 0; k < 6; k++) PetscCallCUDA(cudaMemcpy(work[k], keep[k], bytes, cudaMemcpyDeviceToDevice));
    PetscCallCUDA(cudaEventRecord(event[0], 0));
    PetscCheck(!f->solve(handle, 0, (int)m, work[0], work[1], work[2], work[3], work[4], work[5], (int)nsys, buffer),
               PETSC_COMM_SELF, PETSC_ERR_LIB, "gpsvInterleavedBatch fails");
    PetscCallCUDA(cudaEventRecord(event[1], 0));
    PetscCallCUDA(cudaEventSynchronize(event[1]));
    PetscCallCUDA(cudaEventElapsedTime(&elapsed, event[0], event[1]));
    if (r >= 0) t[r] = (double)elapsed;
  }
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventDestroy(event[k]));
  *ms = Median(repeat, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TimeGpsv(PetscInt nsys, PetscInt m, const PetscScalar *const diagonals[5], const PetscScalar *b,
                        PetscScalar *x, int repeat, double *ms)
{
  const PetscCount n = (PetscCount)nsys * m;
  PetscScalar     *keep[6], *work[6], *host;
  Functions        f;
  void            *handle, *buffer;
  size_t           bytes;

  PetscFunctionBeginUser;
  *ms = NAN;
  if (!Find(&f)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &host));
  for (int k = 0; k < 6; k++) {
    const PetscScalar *from = k < 5 ? diagonals[k] : b;

    for (PetscInt q = 0; q < nsys; q++)
      for (PetscInt i = 0; i < m; i++) host[(PetscCount)i * nsys + q] = from[(PetscCount)q * m + i];
    PetscCallCUDA(cudaMalloc((void **)&keep[k], n * sizeof(*host)));
    PetscCallCUDA(cudaMalloc((void **)&work[k], n * sizeof(*host)));
    PetscCallCUDA(cudaMemcpy(keep[k], host, n * sizeof(*host), cudaMemcpyHostToDevice));
  }
  PetscCheck(!f.create(&handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cusparseCreate fails");
  PetscCheck(!f.size(handle, 0, (int)m, work[0], work[1], work[2], work[3], work[4], work[5], (int)nsys, &bytes),
             PETSC_COMM_SELF, PETSC_ERR_LIB, "gpsvInterleavedBatch has no buffer size");
  PetscCallCUDA(cudaMalloc(&buffer, PetscMax(bytes, 1)));
  PetscCall(Measure(&f, handle, nsys, m, keep, work, buffer, repeat, ms));
  PetscCallCUDA(cudaMemcpy(host, work[5], n * sizeof(*host), cudaMemcpyDeviceToHost));
  for (PetscInt q = 0; q < nsys; q++)
    for (PetscInt i = 0; i < m; i++) x[(PetscCount)q * m + i] = host[(PetscCount)i * nsys + q];
  PetscCall(PetscFree(host));
  for (int k = 0; k < 6; k++) {
    PetscCallCUDA(cudaFree(keep[k]));
    PetscCallCUDA(cudaFree(work[k]));
  }
  PetscCallCUDA(cudaFree(buffer));
  PetscCheck(!f.destroy(handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cusparseDestroy fails");
  PetscFunctionReturn(PETSC_SUCCESS);
}
