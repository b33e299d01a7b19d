/* SPDX-License-Identifier: BSD-2-Clause */
/* narrow.c: copies of the host with values of fewer bytes */
#include "host.h"

/* bytes of values in PetscScalar from which memory is what products wait for, with one core and the caches of today */
#define SPIKE_NARROW_LEAST ((PetscInt64)1 << 25)

/*
  v less what was put into a for it. Parts of single precision come back as volatile ones: GCC 12.2 at -O2 takes a
  complex number for the same after it was rounded to single precision and back
*/
static PetscScalar SpikeKrylovTaken(PetscSpikePrecision precision, const void *a, PetscCount t, PetscScalar v)
{
  const volatile float *low  = (const volatile float *)((const SpikeSingle *)a + t);
  PetscReal            *part = (PetscReal *)&v;

  if (precision != PETSC_SPIKE_PRECISION_SINGLE) return v - SpikeHostGet(precision, a, t);
  for (size_t k = 0; k < sizeof(v) / sizeof(*part); k++) part[k] -= (PetscReal)low[k];
  return v;
}

/*
  Values of rows begin to end - 1 of a bundle, and what rounding has taken from each row. Returns the largest magnitude,
  PETSC_MAX_REAL where one is infinite or no number
*/
static PetscReal SpikeKrylovNarrowBundle(const SpikeDIA *dia, PetscInt begin, PetscInt end, SpikeKrylovCopyHost *c)
{
  PetscScalar taken[SPIKE_DIA_ROWS];
  PetscReal   most = 0.0;

  for (PetscInt r = 0; r < end - begin; r++) taken[r] = 0.0;
  for (PetscInt d = 0; d < dia->count; d++) {
    const PetscCount   at  = (PetscCount)begin * dia->count + (PetscCount)d * SPIKE_DIA_ROWS;
    const PetscScalar *val = dia->val + at;

    for (PetscInt r = 0; r < end - begin; r++) {
      const PetscReal size = PetscAbsScalar(val[r]);
      PetscScalar     lost;

      if (!(size <= most)) most = size <= PETSC_MAX_REAL ? size : PETSC_MAX_REAL;
      SpikeHostPut(c->base.precision, c->val, at + r, val[r]);
      lost = SpikeKrylovTaken(c->base.precision, c->val, at + r, val[r]);
      if (lost != (PetscScalar)0.0) c->base.exact = PETSC_FALSE;
      taken[r] += lost;
    }
  }
  for (PetscInt r = 0; r < end - begin; r++) c->correction[begin + r] = (SpikeSingle)taken[r];
  return most;
}

/* Nothing is made of a matrix of zeros; a rank without rows has a copy like others */
PetscErrorCode SpikeKrylovNarrow_Host(SpikeKrylov *s, const void *copy, PetscSpikePrecision precision, PetscBool always,
                                      void **narrow)
{
  const SpikeKrylovCopyHost *from = (const SpikeKrylovCopyHost *)copy;
  const SpikeDIA            *dia  = from->loan.dia;
  const size_t               size = SpikePrecisionBytes(precision) * (sizeof(PetscScalar) / sizeof(PetscReal));
  SpikeKrylovCopyHost       *c    = (SpikeKrylovCopyHost *)*narrow;
  PetscReal                  most = 0.0;

  PetscFunctionBegin;
  if (!c) {
    if (from->stencil || from->loan.block || from->off.there || dia->n != dia->m || size >= sizeof(PetscScalar) ||
        (!always && from->base.bytes < SPIKE_NARROW_LEAST))
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscNew(&c));
    *narrow = (void *)c;
    PetscCall(PetscMalloc((size_t)dia->places * size, &c->val));
    PetscCall(PetscMalloc1(dia->n, &c->correction));
  }
  c->loan           = from->loan;
  c->base.form      = from->base.form;
  c->base.narrow    = PETSC_TRUE;
  c->base.exact     = PETSC_TRUE;
  c->base.precision = precision;
  c->base.bytes     = ((PetscInt64)dia->count * (PetscInt64)size + (PetscInt64)sizeof(SpikeSingle)) * dia->n;
  for (PetscInt i = 0; i < dia->n; i += SPIKE_DIA_ROWS)
    most = PetscMax(most, SpikeKrylovNarrowBundle(dia, i, PetscMin(dia->n, i + SPIKE_DIA_ROWS), c));
  if (dia->n && !(most <= SPIKE_NARROW_LARGEST && most >= SPIKE_NARROW_SMALLEST))
    PetscCall(SpikeKrylovDestroyCopy_Host(s, narrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}
