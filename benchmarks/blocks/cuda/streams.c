/* SPDX-License-Identifier: BSD-2-Clause */
/*
  streams.c: block ILU(0) of many matrices, and their products, by our own kernels one by one, a stream each, as
  Afanasyev et al. (2015) have their tasks: what one launch for all is to beat
*/
#include "streams.h"
#include "device.h"

#define MAXSTREAMLU 512

/* Factors of each task of the first copies of a case */
typedef struct {
  Ilu                *t;
  PetscInt            copies, rows, nz; /* rows and blocks of a task */
  SpikeBlockPattern   pattern;
  SpikeBlockCSR       csr[MAXSTREAMS];
  SpikeBlockLU        lu[MAXSTREAMLU];
  SpikePivot          pivot[MAXSTREAMLU];
  SpikeBlockFillStats stats[MAXSTREAMLU];
} IluStreams;

static PetscErrorCode IluStreamsFill(void *ctx, PetscInt k)
{
  IluStreams *s = (IluStreams *)ctx;

  PetscFunctionBeginUser;
  PetscCall(Fork((DevicePlace *)s->t->p->device, s->t->ntasks));
  for (PetscInt i = 0; i < s->t->ntasks; i++)
    PetscCall((*s->t->p->b.k->lufill)(&s->lu[k * s->t->ntasks + i], &s->csr[i], &s->stats[k * s->t->ntasks + i]));
  PetscCall(Join((DevicePlace *)s->t->p->device, s->t->ntasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IluStreamsFactor(void *ctx, PetscInt k)
{
  IluStreams      *s  = (IluStreams *)ctx;
  const SpikePivot pv = {100.0 * PETSC_MACHINE_EPSILON, 0.0, 0, -1, 0.0, PETSC_TRUE};

  PetscFunctionBeginUser;
  PetscCall(Fork((DevicePlace *)s->t->p->device, s->t->ntasks));
  for (PetscInt i = k * s->t->ntasks; i < (k + 1) * s->t->ntasks; i++) {
    s->pivot[i] = pv;
    PetscCall((*s->t->p->b.k->lufactor)(&s->lu[i], &s->pivot[i]));
  }
  PetscCall(Join((DevicePlace *)s->t->p->device, s->t->ntasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IluStreamsSolve(void *ctx, PetscInt k)
{
  IluStreams      *s  = (IluStreams *)ctx;
  Ilu             *t  = s->t;
  const PetscInt   n  = t->nb * t->bs;
  const PetscCount at = (PetscCount)k * MOSTRHS * n;

  PetscFunctionBeginUser;
  PetscCall(Fork((DevicePlace *)t->p->device, t->ntasks));
  for (PetscInt i = 0; i < t->ntasks; i++) {
    const PetscCount first = at + (PetscCount)i * s->rows * t->bs;

    PetscCall(
      (*t->p->b.k->lusolve)(&s->lu[k * t->ntasks + i], SPIKE_BLOCK_PLAIN, t->m, t->b + first, n, t->x + first, n));
  }
  PetscCall(Join((DevicePlace *)t->p->device, t->ntasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluStreamsLines(Ilu *t, Key *key)
{
  const PetscInt           columns[] = {1, 4, 16};
  const PetscCount         n         = (PetscCount)t->nb * t->bs;
  DevicePlace             *d         = (DevicePlace *)t->p->device;
  const SpikeBlockKernels *k         = t->p->b.k;
  PetscInt                 start[2];
  IluStreams              *s;
  PetscScalar             *x;
  double                   ms = NAN, graph, error;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&s));
  s->t      = t;
  s->copies = PetscMin(t->copies, MAXSTREAMLU / t->ntasks);
  s->rows   = t->nb / t->ntasks;
  s->nz     = t->bi[s->rows];
  start[0]  = 0;
  start[1]  = s->rows;
  PetscCall(SpikeBlockSymbolic(t->bs, s->rows, 1, start, NULL, t->pattern.levels, t->bi, t->bj, &s->pattern));
  for (PetscInt i = 0; i < t->ntasks; i++) {
    s->csr[i] = t->csr;
    s->csr[i].aa += (size_t)i * s->nz * t->bs * t->bs;
  }
  for (PetscInt i = 0; i < s->copies * t->ntasks; i++) {
    s->lu[i].p         = &s->pattern;
    s->lu[i].precision = t->precision;
    s->lu[i].maxrhs    = MOSTRHS;
    s->lu[i].b         = &d->b[i % t->ntasks];
    PetscCall((*k->lucreate)(&s->lu[i]));
  }
  key->op    = "factor";
  key->m     = 0;
  key->bytes = 2.0 * IluBytes(t, 0.0);
  PetscCall((*t->p->time)(t->p, s->copies, IluStreamsFill, IluStreamsFactor, s, &ms, NULL));
  PetscCall(Report(t->p, key, "ours on streams", ms, NAN, NAN, ""));
  key->op = "solve";
  PetscCall(PetscMalloc1(n * MOSTRHS, &x));
  for (int j = 0; j < 3; j++) {
    t->m = key->m = columns[j];
    key->bytes    = IluBytes(t, (double)t->m);
    graph         = NAN;
    PetscCall((*t->p->time)(t->p, s->copies, NULL, IluStreamsSolve, s, &ms, &graph));
    PetscCall(IluOurs(t));
    PetscCall(IluStreamsSolve(s, 0));
    PetscCall((*k->synchronize)(&t->p->b));
    PetscCall(Download(t->p, t->x, (size_t)(n * t->m) * sizeof(PetscScalar), x));
    error = Difference(n * t->m, x, t->hostx);
    PetscCall(Report(t->p, key, "ours on streams", ms, graph, error, "error: what differs from ours"));
  }
  PetscCall(PetscFree(x));
  for (PetscInt i = 0; i < s->copies * t->ntasks; i++) PetscCall((*k->ludestroy)(&s->lu[i]));
  PetscCall(SpikeBlockPatternDestroy(&s->pattern));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultStreamsWork(void *ctx, PetscInt k)
{
  Mult          *t = (Mult *)ctx;
  DevicePlace   *d = (DevicePlace *)t->p->device;
  SpikeBlockTask tasks[MAXMULTTASKS];

  PetscFunctionBeginUser;
  (void)k;
  MultTaskList(t, tasks);
  PetscCall(Fork(d, t->ntasks));
  for (PetscInt i = 0; i < t->ntasks; i++) PetscCall((*t->p->b.k->run)(&d->b[i], t->precision, 1, &tasks[i]));
  PetscCall(Join(d, t->ntasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MultStreamsLine(Mult *t, const Key *key)
{
  double ms = NAN, graph = NAN, error;

  PetscFunctionBeginUser;
  PetscCall((*t->p->time)(t->p, 1, NULL, MultStreamsWork, t, &ms, &graph));
  PetscCall(MultError(t, t->rowmajor, &error));
  PetscCall(Report(t->p, key, "ours on streams", ms, graph, error, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}
