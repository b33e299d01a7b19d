/* SPDX-License-Identifier: BSD-2-Clause */
/* look.c: the host's backend of look.h */
#include "kernels/band/look.h"
#include "kernels/common/host/isa.h"

#define SPIKE_LOOK_ROWS 64 /* that are looked at together: then they are in the cache */

/* What is known while rows pass; cuts and weights have room for so many */
typedef struct {
  PetscInt far; /* the last column of the rank that a row before is coupled to */
  PetscInt cuts, weights;
  PetscInt d; /* of the row before, and its step */
  int      step;
} SpikeLookPass;

/*
  Of a row: nonzeros, those of the first piece, all entries, the least and the largest d, and columns of the rank that
  couple it: at least itself
*/
typedef struct {
  PetscInt nonzeros, own, stored, least, most, lo, hi;
} SpikeLookRow;

/* *array <- room for more than `count` elements, which are kept */
static PetscErrorCode SpikeLookRoom_Private(PetscInt count, size_t size, PetscInt *room, void **array)
{
  PetscFunctionBegin;
  if (count < *room) PetscFunctionReturn(PETSC_SUCCESS);
  *room = count < PETSC_INT_MAX / 2 ? PetscMax(2 * count, 64) : PETSC_INT_MAX;
  PetscCall(PetscRealloc((size_t)*room * size, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A row that couples columns lo to hi. A cut before row c is one as long as no row before reaches c, and none after
  reaches back before it: those that a row reaches over are taken away from the end of the list
*/
static PetscErrorCode SpikeLookTake_Private(SpikeLook *l, PetscInt i, const SpikeLookRow *row, SpikeLookPass *pass)
{
  const PetscInt d = PetscMax(row->most, -row->least);

  PetscFunctionBegin;
  l->maxrow = PetscMax(l->maxrow, row->nonzeros);
  l->own    = PetscMax(l->own, row->own);
  l->stored = PetscMax(l->stored, row->stored);
  if (row->nonzeros) {
    l->kl = PetscMax(l->kl, -row->least);
    l->ku = PetscMax(l->ku, row->most);
    if (d != pass->d) {
      pass->d    = d;
      pass->step = SpikeLookStepOf(d);
    }
    l->reach[pass->step]++;
  }
  if (i && pass->far < i) {
    PetscCall(SpikeLookRoom_Private(l->ncuts, sizeof(*l->cut), &pass->cuts, (void **)&l->cut));
    l->cut[l->ncuts++] = i;
  }
  while (l->ncuts && l->cut[l->ncuts - 1] > row->lo) l->ncuts--;
  pass->far = PetscMax(pass->far, row->hi);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row i entry by entry */
static PetscErrorCode SpikeLookRow_Private(SpikeLook *l, PetscInt i, PetscInt nparts, const SpikeCSR parts[],
                                           SpikeLookRow *row, SpikeLookPass *pass)
{
  PetscReal diagonal = 0.0, most = 0.0;

  PetscFunctionBegin;
  row->nonzeros = row->own = row->stored = 0;
  row->lo = row->hi = i;
  row->least        = PETSC_INT_MAX;
  row->most         = PETSC_INT_MIN;
  for (PetscInt p = 0; p < nparts; p++) {
    const SpikeCSR *A = &parts[p];

    row->stored += A->ai[i + 1] - A->ai[i];
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const PetscInt  d   = SpikeCSRColumn(A, k) - i;
      const PetscReal abs = PetscAbsScalar(A->aa[k]);

      if (!p && !d) diagonal = abs;
      if (!p) most = PetscMax(most, abs);
      if (A->aa[k] == (PetscScalar)0.0) {
        l->zeros++;
        continue;
      }
      row->nonzeros++;
      row->own += !p;
      row->least = PetscMin(row->least, d);
      row->most  = PetscMax(row->most, d);
      if (d < -l->within[0] || d > l->within[1]) continue;
      l->others += p;
      if (p) continue;
      row->lo = PetscMin(row->lo, i + d);
      row->hi = PetscMax(row->hi, i + d);
    }
  }
  if (l->weak < 0 && diagonal < l->tiny * most) l->weak = i;
  if (l->weigh && row->nonzeros) {
    const PetscInt before = pass->weights;

    PetscCall(
      SpikeLookRoom_Private(PetscMax(row->most, -row->least), sizeof(*l->weight), &pass->weights, (void **)&l->weight));
    for (PetscInt k = before; k < pass->weights; k++) l->weight[k] = 0.0;
    for (PetscInt p = 0; p < nparts; p++)
      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++)
        if (parts[p].aa[k] != (PetscScalar)0.0)
          l->weight[PetscAbsInt(SpikeCSRColumn(&parts[p], k) - i)] += PetscAbsScalar(parts[p].aa[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SpikeLookSample_Private(const SpikeLook *l, PetscInt i, PetscInt nparts, const SpikeCSR parts[],
                                    SpikeLookSample *sample)
{
  PetscScalar sum[2] = {0.0, 0.0};

  sample->square[0] = sample->square[1] = sample->diagonal = 0.0;
  for (PetscInt p = 0; p < nparts; p++)
    for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++) {
      const PetscInt d = SpikeCSRColumn(&parts[p], k) - i;

      if (d >= -l->within[0] && d <= l->within[1]) SpikeLookAdd(sample, sum, d, parts[p].aa[k]);
    }
  for (int side = 0; side < 2; side++) sample->sum[side] = PetscAbsScalar(sum[side]);
}

static PetscErrorCode SpikeLook_Host(SpikeLook *l, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeCSR       *A     = &parts[0];
  const SpikeLookLoops *loops = SpikeISAOf(&SpikeLookLoops);
  SpikeLookPass         pass  = {0, 0, 0, -1, 0};

  PetscFunctionBegin;
  l->kl = l->ku = l->maxrow = l->own = l->stored = l->ncuts = 0;
  l->weak                                                   = -1;
  l->entries = l->zeros = l->others = 0;
  l->cut                            = NULL;
  l->sample                         = NULL;
  l->weight                         = NULL;
  PetscCall(PetscArrayzero(l->reach, SPIKE_LOOK_STEPS));
  for (PetscInt p = 0; p < nparts; p++) l->entries += parts[p].ai[l->n] - parts[p].ai[0];
  for (PetscInt r0 = 0; r0 < l->n; r0 += SPIKE_LOOK_ROWS) {
    const PetscInt  r1    = PetscMin(r0 + SPIKE_LOOK_ROWS, l->n);
    const PetscBool plain = (PetscBool)(!l->weigh && !A->colmap && (*loops->plain)(A, r0, r1, l->tiny));

    for (PetscInt i = r0; i < r1; i++) {
      const PetscInt first = A->ai[i], after = A->ai[i + 1];
      SpikeLookRow   row;

      row.lo    = plain && first < after ? A->aj[first] + A->shift : i;
      row.hi    = plain && first < after ? A->aj[after - 1] + A->shift : i;
      row.least = row.lo - i;
      row.most  = row.hi - i;
      if (!plain || -row.least > l->within[0] || row.most > l->within[1] ||
          (nparts > 1 && parts[1].ai[i] < parts[1].ai[i + 1]))
        PetscCall(SpikeLookRow_Private(l, i, nparts, parts, &row, &pass));
      else {
        row.nonzeros = row.own = row.stored = after - first;
        row.lo                              = PetscMin(row.lo, i);
        row.hi                              = PetscMax(row.hi, i);
      }
      PetscCall(SpikeLookTake_Private(l, i, &row, &pass));
    }
  }
  if (l->weigh && !l->weight) PetscCall(PetscCalloc1(1, &l->weight));
  if (l->nsample) PetscCall(PetscMalloc1(l->nsample, &l->sample));
  for (PetscInt k = 0; k < l->nsample; k++)
    SpikeLookSample_Private(l, (PetscInt)((PetscInt64)k * l->n / l->nsample), nparts, parts, &l->sample[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeLookKernels SpikeLookKernels_Host = {.look = SpikeLook_Host};
