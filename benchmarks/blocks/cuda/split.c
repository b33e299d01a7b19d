/* SPDX-License-Identifier: BSD-2-Clause */
/*
  split.c: a batch of tasks split between a device and one core of the host, which work at the same time, each on data
  of its own memory
*/
#include "split.h"
#include "../ilu.h"
#include "../tall.h"

#define SPLIT_TASKS 32

typedef struct {
  Place    *device, *host;
  void     *work[2];   /* of device and host: Tall or Ilu; NULL: no tasks there */
  PetscInt  copies[2]; /* of their data, taken in turn */
  BlockWork enqueue, compute;
} Split;

/* The device's tasks are enqueued, the host computes its own, then waits: ms on the host's clock, the median */
static PetscErrorCode SplitTime(Split *s, double *ms)
{
  double         t[MAXREPEAT];
  PetscLogDouble t0, t1;

  PetscFunctionBeginUser;
  for (PetscInt r = -1; r < s->device->run->repeat; r++) {
    PetscCall((*s->device->b.k->synchronize)(&s->device->b));
    PetscCall(PetscTime(&t0));
    if (s->work[0]) PetscCall((*s->enqueue)(s->work[0], (r + 1) % s->copies[0]));
    if (s->work[1]) PetscCall((*s->compute)(s->work[1], (r + 1) % s->copies[1]));
    PetscCall((*s->device->b.k->synchronize)(&s->device->b));
    PetscCall(PetscTime(&t1));
    if (r >= 0) t[r] = 1e3 * (t1 - t0);
  }
  *ms = Median((int)s->device->run->repeat, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SplitTall(Split *s, SpikeBlockOp op, PetscInt m, PetscInt onhost, double *ms)
{
  const Run *run = s->device->run;
  Tall       d, h;

  PetscFunctionBeginUser;
  s->work[0] = s->work[1] = NULL;
  s->enqueue = s->compute = TallOurs;
  if (onhost < SPLIT_TASKS) {
    PetscCall(TallCreate(s->device, NativePrecision(), run->taskrows, m, SPLIT_TASKS - onhost, &d));
    PetscCall(TallSet(&d, op, PETSC_FALSE));
    s->work[0]   = &d;
    s->copies[0] = d.copies;
  }
  if (onhost) {
    PetscCall(TallCreate(s->host, NativePrecision(), run->taskrows, m, onhost, &h));
    PetscCall(TallSet(&h, op, PETSC_FALSE));
    s->work[1]   = &h;
    s->copies[1] = h.copies;
  }
  PetscCall(SplitTime(s, ms));
  if (s->work[0]) PetscCall(TallDestroy(&d));
  if (s->work[1]) PetscCall(TallDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill and factors, the wait at the end left to SplitTime() */
static PetscErrorCode SplitSetUp(void *ctx, PetscInt k)
{
  PetscFunctionBeginUser;
  PetscCall(IluFill(ctx, k));
  PetscCall(IluFactor(ctx, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SplitIlu(Split *s, PetscInt bs, PetscInt onhost, double *ms)
{
  const PetscInt edge = s->device->run->taskedge;
  Ilu           *t[2] = {NULL, NULL};

  PetscFunctionBeginUser;
  s->enqueue = s->compute = SplitSetUp;
  for (int i = 0; i < 2; i++) {
    const PetscInt count = i ? onhost : SPLIT_TASKS - onhost;

    if (count) {
      PetscCall(PetscNew(&t[i]));
      PetscCall(IluCreate(i ? s->host : s->device, NativePrecision(), bs, edge, count, ORDER_NATURAL, t[i]));
      s->copies[i] = t[i]->copies;
    }
    s->work[i] = t[i];
  }
  PetscCall(SplitTime(s, ms));
  for (int i = 0; i < 2; i++) {
    if (t[i]) PetscCall(IluDestroy(t[i]));
    PetscCall(PetscFree(t[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of SPLIT_TASKS tasks 0, 1, 2, 4, 8, 16 and all on the host: a line for each operation, and whether any split beats the
  device alone by more than 5 %
*/
PetscErrorCode SplitPart(Place *device, Place *host)
{
  const PetscInt shares[] = {0, 1, 2, 4, 8, 16, SPLIT_TASKS};
  Split          s        = {device, host, {NULL, NULL}, {1, 1}, NULL, NULL};
  Key            key      = {"split", "dot", NativePrecision(), PETSC_FALSE, 0, 0, 0, SPLIT_TASKS, 0.0, 0.0};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%d tasks split between the device and one core: ms with", SPLIT_TASKS));
  for (int i = 0; i < 7; i++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %" PetscInt_FMT, shares[i]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " of them on the host\n"));
  for (int op = 0; op < 3; op++)
    for (PetscInt size = 4; size <= 16; size *= 2) {
      double   ms[7];
      PetscInt best = 0;

      for (int i = 0; i < 7; i++) {
        if (op == 2) PetscCall(SplitIlu(&s, size, shares[i], &ms[i]));
        else PetscCall(SplitTall(&s, op ? SPIKE_BLOCK_AXPY : SPIKE_BLOCK_DOT, size, shares[i], &ms[i]));
        if (ms[i] < ms[best]) best = i;
      }
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-9s %2" PetscInt_FMT,
                            op == 2 ? "ILU, bs" : (op ? "axpy, m" : "dot, m"), size));
      for (int i = 0; i < 7; i++) PetscCall(PrintNumber(9, 4, ms[i]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", ms[best] < 0.95 * ms[0] ? "useful" : "useless"));
      key.op = op == 2 ? "ilu" : (op ? "axpy" : "dot");
      key.bs = op == 2 ? size : 0;
      key.m  = op == 2 ? 0 : size;
      key.n  = op == 2 ? device->run->taskedge * device->run->taskedge * device->run->taskedge : device->run->taskrows;
      for (int i = 0; i < 7 && device->run->csv; i++)
        fprintf(device->run->csv,
                "%s,%s,%" PetscInt_FMT " on the host,%s,%s,cols,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                ",%d,%.6e,nan,0,%.1f,nan,\n",
                key.part, key.op, shares[i], device->name, PrecisionName(key.precision), key.bs, key.n, key.m,
                SPLIT_TASKS, ms[i], 1e-9 * device->rate);
      if (device->run->csv) fflush(device->run->csv);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
