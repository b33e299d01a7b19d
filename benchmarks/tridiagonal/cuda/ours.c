/* SPDX-License-Identifier: BSD-2-Clause */
/* ours.c: the kernels on CUDA */
#include "ours.h"

/* ---- The kernels ---- */

PetscErrorCode OursSetUp(void *ctx, PetscInt k)
{
  Ours            *o  = (Ours *)ctx;
  const PetscCount at = k * o->dev->n;

  PetscFunctionBeginUser;
  PetscCall((*o->t[k].k->setup)(&o->t[k], o->dev->dl + at, o->dev->d + at, o->dev->du + at, &o->pivot[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OursApply(void *ctx, PetscInt k)
{
  Ours            *o  = (Ours *)ctx;
  const PetscCount at = k * o->dev->n;

  PetscFunctionBeginUser;
  PetscCall((*o->t[k].k->apply)(&o->t[k], PETSC_FALSE, 1, o->dev->b + at, o->dev->n, o->dev->x + at, o->dev->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OursOnce(void *ctx, PetscInt k)
{
  Ours            *o  = (Ours *)ctx;
  const PetscCount at = k * o->dev->n;

  PetscFunctionBeginUser;
  PetscCall(OnceSolve(&o->once[k], o->dev->dl + at, o->dev->d + at, o->dev->du + at, &o->pivot[k], o->dev->b + at,
                      o->dev->x + at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->x <- the solution by one algorithm, by setup() and apply() or at once; *pv what was reported */
PetscErrorCode DeviceSolve(const Run *run, Case *c, const Algorithm *a, PetscBool once, SpikePivot *pv)
{
  const PetscScalar *host[4] = {c->dl, c->d, c->du, c->b};
  PetscScalar       *device[4];
  SpikeTridiagonal   t;
  Once               o;

  PetscFunctionBeginUser;
  for (int k = 0; k < 4; k++) {
    PetscCallCUDA(cudaMalloc((void **)&device[k], c->n * sizeof(PetscScalar)));
    PetscCallCUDA(cudaMemcpy(device[k], host[k], c->n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  }
  PetscCall(SystemsCreate(run, c, &SpikeTridiagonalKernels_CUDA, a, &t));
  if (once) {
    PetscCall(OnceCreate(&t, &o));
    PetscCall(OnceSolve(&o, device[0], device[1], device[2], pv, device[3], device[3]));
  } else {
    PetscCall((*t.k->setup)(&t, device[0], device[1], device[2], pv));
    PetscCall((*t.k->apply)(&t, PETSC_FALSE, 1, device[3], c->n, device[3], c->n));
  }
  PetscCall((*t.k->report)(&t, pv));
  PetscCallCUDA(cudaMemcpy(c->x, device[3], c->n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  if (once) PetscCall(OnceDestroy(&o));
  PetscCall((*t.k->destroy)(&t));
  for (int k = 0; k < 4; k++) PetscCallCUDA(cudaFree(device[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TimeOurs(Device *dev, const Algorithm *a, Line *line)
{
  const Work     works[NTIMES] = {OursSetUp, OursApply, OursOnce};
  Ours          *o;
  double         error;
  PetscErrorCode ierr = PETSC_SUCCESS;
  PetscInt       made = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&o));
  o->dev = dev;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  while (made < dev->copies && !ierr) {
    ierr = SystemsCreate(dev->run, dev->c, &SpikeTridiagonalKernels_CUDA, a, &o->t[made]);
    if (!ierr) ierr = OnceCreate(&o->t[made], &o->once[made]);
    o->pivot[made++].badrow = -1;
  }
  PetscCall(PetscPopErrorHandler());
  PetscCheck(!ierr || ierr == PETSC_ERR_SUP, PETSC_COMM_SELF, ierr, "%s cannot be made: error %d", a->name, (int)ierr);
  if (ierr) PetscCall(PetscStrncpy(line->how, "not on CUDA", sizeof(line->how)));
  else {
    for (int k = 0; k < NTIMES; k++)
      PetscCall(TimeWork(dev, NULL, PETSC_FALSE, works[k], o, &line->ms[k], &line->graph[k]));
    line->error = 0.0;
    for (int k = 0; k < 2; k++) {
      PetscCallCUDA(cudaMemset(dev->x, 0xff, dev->n * sizeof(PetscScalar)));
      PetscCallCUDA(cudaDeviceSynchronize());
      if (k) PetscCall(OursOnce(o, 0));
      else {
        PetscCall(OursSetUp(o, 0));
        PetscCall(OursApply(o, 0));
      }
      PetscCall(DeviceError(dev, &error));
      line->error = PetscMax(line->error, error);
      if (o->t[0].k->report && o->pivot[0].badrow < 0) PetscCall((*o->t[0].k->report)(&o->t[0], &o->pivot[0]));
    }
    PetscCall(HowOf(&o->t[0], line));
    if (o->pivot[0].badrow >= 0)
      PetscCall(PetscSNPrintf(line->how, sizeof(line->how), "bad pivot in row %" PetscInt_FMT, o->pivot[0].badrow));
  }
  while (made-- > 0) {
    PetscCall(OnceDestroy(&o->once[made]));
    PetscCall((*o->t[made].k->destroy)(&o->t[made]));
  }
  PetscCall(PetscFree(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}
