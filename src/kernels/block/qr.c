/* SPDX-License-Identifier: BSD-2-Clause */
/* qr.c: Cholesky QR of tall blocks, made of the kernels of any backend */
#include "block.h"

static inline size_t NumberBytes(PetscSpikePrecision precision)
{
  return SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
}

/* the Gram blocks, the inverses of R, and what was bad */
size_t SpikeBlockQRWork(PetscSpikePrecision precision, PetscInt count, PetscInt m)
{
  return 2 * (size_t)count * m * m * NumberBytes(precision) + (size_t)count * sizeof(PetscInt);
}

PetscErrorCode SpikeBlockQR(SpikeBlock *b, PetscSpikePrecision precision, PetscInt count, const SpikeBlockTask tasks[],
                            void *R, void *work, PetscInt bad[])
{
  const PetscInt  m    = count ? tasks[0].m : 0;
  const size_t    size = (size_t)m * m * NumberBytes(precision);
  const PetscReal tol  = (precision == PETSC_SPIKE_PRECISION_SINGLE ? (PetscReal)FLT_EPSILON : (PetscReal)DBL_EPSILON) *
                        m;
  char           *gram = (char *)work, *inv = gram + count * size;
  PetscInt       *found = (PetscInt *)(inv + count * size);
  SpikeBlockTask *dot, *axpy;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count, &dot, count, &axpy));
  for (PetscInt t = 0; t < count; t++) {
    PetscCheck(tasks[t].m == m, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Task %" PetscInt_FMT " has %" PetscInt_FMT " columns, the first one %" PetscInt_FMT, t, tasks[t].m, m);
    dot[t]      = tasks[t];
    dot[t].op   = SPIKE_BLOCK_DOT;
    dot[t].mode = SPIKE_BLOCK_SET;
    dot[t].k    = m;
    dot[t].Z    = tasks[t].X;
    dot[t].ldz  = tasks[t].ldx;
    dot[t].Y    = gram + t * size;
    dot[t].ldy  = m;
    axpy[t]     = dot[t];
    axpy[t].op  = SPIKE_BLOCK_AXPY;
    axpy[t].Z   = inv + t * size;
    axpy[t].ldz = m;
    axpy[t].Y   = (void *)tasks[t].X;
    axpy[t].ldy = tasks[t].ldx;
    bad[t]      = -1;
  }
  PetscCall((*b->k->copy)(b, PETSC_TRUE, PETSC_FALSE, found, bad, count * sizeof(PetscInt)));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall((*b->k->run)(b, precision, count, dot));
    PetscCall((*b->k->cholesky)(b, precision, count, m, gram, pass ? PETSC_TRUE : PETSC_FALSE, R, inv, tol, found));
    PetscCall((*b->k->run)(b, precision, count, axpy));
  }
  PetscCall((*b->k->copy)(b, PETSC_FALSE, PETSC_TRUE, bad, found, count * sizeof(PetscInt)));
  PetscCall(PetscFree2(dot, axpy));
  PetscFunctionReturn(PETSC_SUCCESS);
}
