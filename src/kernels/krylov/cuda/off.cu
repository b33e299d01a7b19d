/* SPDX-License-Identifier: BSD-2-Clause */
/* off.cu: columns of other ranks beside the backend's own copy of a matrix */
#include "mult.cuh"

/* Lanes of a row: at most half as many as it has entries in the mean */
static int SpikeKrylovOffLanes(PetscInt count, PetscInt nz)
{
  int T = 1;

  while (T < 32 && (PetscInt64)4 * T * count <= nz) T *= 2;
  return T;
}

/* Rows and places, made on the host, go to the device; *made is false where there is no memory */
static PetscErrorCode SpikeKrylovOffPattern(const SpikeKrylovCUDA *h, PetscInt n, const PetscInt row[],
                                            const PetscInt at[], SpikeKrylovOff *m, bool *made)
{
  const size_t words = ((size_t)n + 31) / 32, integer = sizeof(PetscInt);
  unsigned    *mask;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovCopyAlloc((void **)&m->row, m->count * integer, made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->at, (m->count + 1) * integer, made));
  if (*made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->mask, words * sizeof(*mask), made));
  if (!*made) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(words, &mask));
  for (PetscInt k = 0; k < m->count; k++) mask[row[k] / 32] |= 1u << (row[k] % 32);
  PetscCallCUDA(cudaMemcpyAsync(m->row, row, m->count * integer, cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaMemcpyAsync(m->at, at, (m->count + 1) * integer, cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaMemcpyAsync(m->mask, mask, words * sizeof(*mask), cudaMemcpyHostToDevice, h->stream));
  PetscCallCUDA(cudaStreamSynchronize(h->stream));
  PetscCall(PetscFree(mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRecouple_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *O, void *copy)
{
  const SpikeKrylovCUDA *h = (const SpikeKrylovCUDA *)s->data;

  PetscFunctionBegin;
  if (O->nz)
    PetscCallCUDA(cudaMemcpyAsync(((SpikeKrylovCopyCUDA *)copy)->off.aa, O->aa, O->nz * sizeof(*O->aa),
                                  cudaMemcpyDeviceToDevice, h->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setup: the ends of the rows come to the host once */
PetscErrorCode SpikeKrylovCouple_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *O, const SpikeKrylovLoan *loan, void *copy,
                                      PetscBool *coupled)
{
  const SpikeKrylovCUDA *h    = (const SpikeKrylovCUDA *)s->data;
  SpikeKrylovCopyCUDA   *c    = (SpikeKrylovCopyCUDA *)copy;
  SpikeKrylovOff        *m    = &c->off;
  PetscInt              *ai   = NULL, *row, *at;
  bool                   made = true;

  PetscFunctionBegin;
  if (O->nz) {
    PetscCall(PetscMalloc1(O->n + 1, &ai));
    PetscCallCUDA(cudaMemcpyAsync(ai, O->ai, (O->n + 1) * sizeof(*ai), cudaMemcpyDeviceToHost, h->stream));
    PetscCallCUDA(cudaStreamSynchronize(h->stream));
  }
  PetscCall(SpikeKrylovRowsOf(O->n, ai, &m->count, &row, &at));
  PetscCall(PetscFree(ai));
  m->T = SpikeKrylovOffLanes(m->count, O->nz);
  if (m->count) {
    PetscCall(SpikeKrylovOffPattern(h, O->n, row, at, m, &made));
    if (made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->aj, O->nz * sizeof(*m->aj), &made));
    if (made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->aa, O->nz * sizeof(*m->aa), &made));
    if (made) {
      PetscCallCUDA(cudaMemcpyAsync(m->aj, O->aj, O->nz * sizeof(*m->aj), cudaMemcpyDeviceToDevice, h->stream));
      PetscCall(SpikeKrylovRecouple_CUDA(s, O, copy));
    }
  }
  PetscCall(PetscFree(row));
  PetscCall(PetscFree(at));
  *coupled = made ? PETSC_TRUE : PETSC_FALSE;
  if (made) {
    c->coupled    = true;
    c->loan.owner = loan->owner;
    c->loan.begin = loan->begin;
    c->loan.end   = loan->end;
    c->nz += O->nz;
  } else m->count = 0; /* its memory goes with the copy */
  PetscFunctionReturn(PETSC_SUCCESS);
}
