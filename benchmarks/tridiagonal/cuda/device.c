/* SPDX-License-Identifier: BSD-2-Clause */
/* device.c: a case in the memory of a device, and times of what is enqueued for it */
#include "device.h"

/* ClockTime() of the copies of a case */
PetscErrorCode TimeWork(Device *dev, Work restore, PetscBool single, Work work, void *ctx, double *ms, double *graph)
{
  const Clock clock = {dev->run->repeat,  dev->copies,
                       dev->run->seconds, 0.0,
                       dev->stream,       {dev->event[0], dev->event[1]}};

  PetscFunctionBeginUser;
  PetscCall(ClockTime(&clock, restore, single, work, ctx, ms, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DeviceArray(PetscCount count, PetscScalar **p)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc((void **)p, (size_t)PetscMax(count, 1) * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DeviceCreate(const Run *run, const Case *c, cudaStream_t stream, Device *dev)
{
  const PetscReal    words  = 5.0 * c->n * sizeof(PetscScalar);
  PetscScalar *const from[] = {c->dl, c->d, c->du, c->b};
  PetscScalar      **to[]   = {&dev->dl, &dev->d, &dev->du, &dev->b, &dev->x};

  PetscFunctionBeginUser;
  dev->run    = run;
  dev->c      = c;
  dev->n      = c->n;
  dev->stream = stream;
  dev->copies = (PetscInt)PetscMax(1.0, PetscMin((PetscReal)MAXCOPIES, PetscCeilReal(run->cold * 1e6 / words)));
  for (PetscInt i = 0; i < c->nsys; i++) c->dl[c->start[i]] = c->du[c->start[i + 1] - 1] = 0.0;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventCreate(&dev->event[k]));
  for (int k = 0; k < 5; k++) {
    PetscCall(DeviceArray(dev->copies * dev->n, to[k]));
    for (PetscInt i = 0; i < dev->copies; i++)
      PetscCallCUDA(cudaMemcpy(*to[k] + i * dev->n, i ? *to[k] : from[k % 4], dev->n * sizeof(PetscScalar),
                               i ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice));
  }
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DeviceDestroy(Device *dev)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) PetscCallCUDA(cudaEventDestroy(dev->event[k]));
  PetscCallCUDA(cudaFree(dev->dl));
  PetscCallCUDA(cudaFree(dev->d));
  PetscCallCUDA(cudaFree(dev->du));
  PetscCallCUDA(cudaFree(dev->b));
  PetscCallCUDA(cudaFree(dev->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of copy 0 as it is in dev->x */
PetscErrorCode DeviceError(Device *dev, double *error)
{
  PetscFunctionBeginUser;
  PetscCallCUDA(cudaStreamSynchronize(dev->stream));
  PetscCallCUDA(cudaMemcpy(dev->c->x, dev->x, dev->n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  *error = CaseError(dev->c, dev->c->x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The least time of lines, NAN and NULL where none has any; graph: by graphs, where there are any */
const Line *FindBest(int count, const Line lines[], int what, PetscBool graph, double *ms)
{
  const Line *best = NULL;

  *ms = NAN;
  for (int k = 0; k < count; k++) {
    const double t = graph && !isnan(lines[k].graph[what]) ? lines[k].graph[what] : lines[k].ms[what];

    if (isnan(t) || (best && t >= *ms)) continue;
    best = &lines[k];
    *ms  = t;
  }
  return best;
}
