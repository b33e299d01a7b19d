/* SPDX-License-Identifier: BSD-2-Clause */
/* off.cu: columns of other ranks beside a copy of a matrix */
#include "mult.cuh"

/* Lanes of a row: at most half as many as it has entries in the mean */
static int SpikeKrylovOffLanes(PetscInt count, PetscInt nz)
{
  int T = 1;

  while (T < 32 && (PetscInt64)4 * T * count <= nz) T *= 2;
  return T;
}

/* Setup: the ends of the rows come to the host once, and rows and places, made there, go to the device */
PetscErrorCode SpikeKrylovOffPattern(const SpikeKrylovCUDA *h, PetscInt n, PetscInt bs, const PetscInt *ai,
                                     SpikeKrylovOff *m, bool *made)
{
  const size_t words = ((size_t)n * bs + 31) / 32, integer = sizeof(PetscInt);
  PetscInt    *ends = NULL, *row, *at;
  unsigned    *mask;

  PetscFunctionBegin;
  *made = true;
  if (ai) {
    PetscCall(PetscMalloc1(n + 1, &ends));
    PetscCallCUDA(cudaMemcpyAsync(ends, ai, (n + 1) * integer, cudaMemcpyDeviceToHost, h->stream));
    PetscCallCUDA(cudaStreamSynchronize(h->stream));
  }
  PetscCall(SpikeKrylovRowsOf(n, ends, &m->count, &row, &at));
  PetscCall(PetscFree(ends));
  if (m->count) PetscCall(SpikeKrylovCopyAlloc((void **)&m->row, m->count * integer, made));
  if (m->count && *made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->at, (m->count + 1) * integer, made));
  if (m->count && *made) PetscCall(SpikeKrylovCopyAlloc((void **)&m->mask, words * sizeof(*mask), made));
  if (m->count && *made) {
    PetscCall(PetscCalloc1(words, &mask));
    for (PetscInt k = 0; k < m->count; k++)
      for (size_t i = (size_t)row[k] * bs; i < ((size_t)row[k] + 1) * bs; i++) mask[i / 32] |= 1u << (i % 32);
    PetscCallCUDA(cudaMemcpyAsync(m->row, row, m->count * integer, cudaMemcpyHostToDevice, h->stream));
    PetscCallCUDA(cudaMemcpyAsync(m->at, at, (m->count + 1) * integer, cudaMemcpyHostToDevice, h->stream));
    PetscCallCUDA(cudaMemcpyAsync(m->mask, mask, words * sizeof(*mask), cudaMemcpyHostToDevice, h->stream));
    PetscCallCUDA(cudaStreamSynchronize(h->stream));
    PetscCall(PetscFree(mask));
  }
  PetscCall(PetscFree(row));
  PetscCall(PetscFree(at));
  if (!*made) m->count = 0; /* its memory goes with the copy */
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

PetscErrorCode SpikeKrylovCouple_CUDA(SpikeKrylov *s, const SpikeKrylovCSR *O, const SpikeKrylovLoan *loan, void *copy,
                                      PetscBool *coupled)
{
  const SpikeKrylovCUDA *h    = (const SpikeKrylovCUDA *)s->data;
  SpikeKrylovCopyCUDA   *c    = (SpikeKrylovCopyCUDA *)copy;
  SpikeKrylovOff        *m    = &c->off;
  bool                   made = true;

  PetscFunctionBegin;
  PetscCall(SpikeKrylovOffPattern(h, O->n, 1, O->nz ? O->ai : NULL, m, &made));
  m->T = SpikeKrylovOffLanes(m->count, O->nz);
  if (made && O->nz) PetscCall(SpikeKrylovCopyAlloc((void **)&m->aj, O->nz * sizeof(*m->aj), &made));
  if (made && O->nz) PetscCall(SpikeKrylovCopyAlloc((void **)&m->aa, O->nz * sizeof(*m->aa), &made));
  *coupled = made ? PETSC_TRUE : PETSC_FALSE;
  if (!made) {
    m->count = 0; /* its memory goes with the copy */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (O->nz) {
    PetscCallCUDA(cudaMemcpyAsync(m->aj, O->aj, O->nz * sizeof(*m->aj), cudaMemcpyDeviceToDevice, h->stream));
    PetscCall(SpikeKrylovRecouple_CUDA(s, O, copy));
  }
  c->coupled    = true;
  c->loan.owner = loan->owner;
  c->loan.begin = loan->begin;
  c->loan.end   = loan->end;
  c->nz += O->nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}
