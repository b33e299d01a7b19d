/* SPDX-License-Identifier: BSD-2-Clause */
/* tridiagonal.c: the host backend of tridiagonal.h: memory, pieces, the choice of an algorithm */
#include "host.h"
#include "kernels/common/host/isa.h"
#include "kernels/common/host/memory.h"

/* CRPCR: on a host the fewer the faster, PCR having more work; PCR is to have its part */
#define SPIKE_TRI_SWITCH  4
#define SPIKE_TRI_TWOWAY  65536 /* rows up to which one system is solved from both ends, by measurement */
#define SPIKE_TRI_LONGEST 4096  /* rows that CR, PCR, CRPCR and RD take whole: what they work on stays in cache */

/*
  By measurement (benchmarks/results/tridiagonal.txt): THOMAS where most rows have SPIKE_TRI_CHAINS systems side by
  side, which hide each other's waiting, and where systems are so long that memory is what is waited for; else TWOWAY,
  two recurrences at once. PARTITION wins where its factors are in cache and are used often, but its setup takes several
  times as long.
*/
static PCSpikeTridiagonalType SpikeTriChoose_Private(const SpikeTridiagonal *t)
{
  PetscInt64 together = 0;

  if (t->pivoting) return PC_SPIKE_TRIDIAGONAL_PARTITION;
  for (PetscInt i = 0; i + SPIKE_TRI_CHAINS <= t->nsys; i += SPIKE_TRI_CHAINS) {
    PetscInt m = t->largest;

    for (PetscInt j = i; j < i + SPIKE_TRI_CHAINS; j++) m = PetscMin(m, t->start[j + 1] - t->start[j]);
    together += SPIKE_TRI_CHAINS * m;
  }
  return 2 * together > t->start[t->nsys] || t->largest > SPIKE_TRI_TWOWAY ? PC_SPIKE_TRIDIAGONAL_THOMAS
                                                                           : PC_SPIKE_TRIDIAGONAL_TWOWAY;
}

static PetscErrorCode SpikeTriBytes_Host(const SpikeTridiagonal *t, PetscReal *bytes)
{
  const SpikeTriHost *h     = (const SpikeTriHost *)t->data;
  const PetscReal     words = h->algorithm ? h->algorithm->words : 3;
  const PetscReal     work  = h->algorithm ? h->algorithm->work : 0;

  PetscFunctionBegin;
  *bytes = sizeof(PetscScalar) * (words * (h->n + 2.0) + work * h->longest) +
           (t->pivoting ? sizeof(PetscBool) * (PetscReal)h->n : 0.0);
  *bytes += sizeof(PetscInt) * 3.0 * h->npieces;
  PetscCall(SpikeTriPartitionBytes_Host(t, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeTriCreate_Host(SpikeTridiagonal *t)
{
  SpikeTriHost *h;
  PetscBool     whole; /* the type takes systems as they are */

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  t->data    = h;
  h->n       = t->start[t->nsys];
  h->loops   = SpikeISAOf(SpikeTriLoops);
  h->batch   = PetscMax(t->maxrhs, 1);
  t->largest = 0;
  for (PetscInt i = 0; i < t->nsys; i++) t->largest = PetscMax(t->largest, t->start[i + 1] - t->start[i]);
  if (t->longest == PETSC_DECIDE) t->longest = SPIKE_TRI_LONGEST;
  t->used = t->type == PC_SPIKE_TRIDIAGONAL_AUTO ? SpikeTriChoose_Private(t) : t->type;
  PetscCheck(!t->pivoting || t->used == PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "Pivoting is there for the partition method only, not for %s", PCSpikeTridiagonalTypes[t->used]);
  t->local = t->used == PC_SPIKE_TRIDIAGONAL_PARTITION ? PC_SPIKE_TRIDIAGONAL_THOMAS : t->used;
  whole    = (PetscBool)(t->used == PC_SPIKE_TRIDIAGONAL_THOMAS || t->used == PC_SPIKE_TRIDIAGONAL_TWOWAY);
  if (!whole && t->used != PC_SPIKE_TRIDIAGONAL_PARTITION) {
    whole = (PetscBool)(!t->longest || t->largest <= t->longest);
    if (!whole) t->used = PC_SPIKE_TRIDIAGONAL_PARTITION;
  }
  h->algorithm = t->pivoting ? &SpikeTriPivoted_Host : NULL;
  switch (t->local) {
  case PC_SPIKE_TRIDIAGONAL_TWOWAY:
    h->algorithm = &SpikeTriTwoway_Host;
    break;
  case PC_SPIKE_TRIDIAGONAL_CR:
  case PC_SPIKE_TRIDIAGONAL_PCR:
  case PC_SPIKE_TRIDIAGONAL_CRPCR:
    h->algorithm   = &SpikeTriCR_Host;
    h->switchpoint = t->local == PC_SPIKE_TRIDIAGONAL_CR  ? 1
                   : t->local == PC_SPIKE_TRIDIAGONAL_PCR ? PETSC_INT_MAX
                   : t->switchpoint == PETSC_DECIDE       ? SPIKE_TRI_SWITCH
                                                          : PetscMax(t->switchpoint, 1);
    break;
  case PC_SPIKE_TRIDIAGONAL_RD:
    h->algorithm = &SpikeTriRD_Host;
    break;
  default:
    break;
  }
  PetscCall(SpikeTriPartitionCreate_Host(t));
  for (PetscInt k = 0; k < h->npieces; k++) h->longest = PetscMax(h->longest, h->hi[k] - h->lo[k]);
  t->nchunks = h->npieces;
  {
    const PetscCount words = h->algorithm ? h->algorithm->words : 3, work = h->algorithm ? h->algorithm->work : 0;

    PetscCall(PetscMalloc1(words * ((PetscCount)h->n + 2), &h->factors));
    SpikeLargePages_Host(h->factors, (size_t)words * ((size_t)h->n + 2) * sizeof(*h->factors));
    PetscCall(PetscArrayzero(h->factors, words * ((PetscCount)h->n + 2)));
    h->l = h->factors + 1;
    h->r = h->l + h->n + 2;
    h->v = h->r + h->n + 2;
    if (work) PetscCall(PetscMalloc1(work * h->longest, &h->work));
    if (t->pivoting) PetscCall(PetscMalloc1(h->n, &h->swapped));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeTriDestroy_Host(SpikeTridiagonal *t)
{
  SpikeTriHost *h = (SpikeTriHost *)t->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeTriPartitionDestroy_Host(t));
  PetscCall(PetscFree(h->factors));
  PetscCall(PetscFree(h->work));
  PetscCall(PetscFree(h->swapped));
  PetscCall(PetscFree(t->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SpikeTriReport_Private(const SpikeTriPivot *pv, SpikePivot *pivot)
{
  pivot->nboost += pv->nboost;
  if (pv->badrow < 0 || pivot->badrow >= 0) return;
  pivot->badrow   = pv->badrow;
  pivot->badvalue = pv->badvalue;
}

static PetscErrorCode SpikeTriSetUp_Host(SpikeTridiagonal *t, const PetscScalar *dl, const PetscScalar *d,
                                         const PetscScalar *du, SpikePivot *pivot)
{
  SpikeTriHost *h = (SpikeTriHost *)t->data;

  PetscFunctionBegin;
  pivot->nboost = 0;
  pivot->badrow = -1;
  h->policy     = (SpikeTriPivot){PetscMax(pivot->tol, PETSC_REAL_MIN), pivot->boost, 0, -1, 0.0};
  for (PetscInt k = 0; k < h->npieces; k++) {
    const PetscInt      lo = h->lo[k], hi = h->hi[k];
    SpikeTriElimination e = {hi - lo,
                             lo,
                             (PetscBool)(k > 0 && h->sep[k - 1] >= 0),
                             (PetscBool)(h->sep[k] >= 0),
                             dl + lo,
                             d + lo,
                             du + lo,
                             h->l + lo,
                             h->r + lo,
                             h->v + lo,
                             h->policy};

    if (h->algorithm) (*h->algorithm->factor)(h, lo, hi, dl, d, du, &e.pivot);
    else (*h->loops.eliminate)(&e);
    SpikeTriReport_Private(&e.pivot, pivot);
  }
  PetscCall(PetscLogFlops(6.0 * h->n));
  PetscCall(SpikeTriPartitionSetUp_Host(t, dl, d, du, pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a piece next to each other: they share its factors */
static void SpikeTriSolveChains_Private(SpikeTriHost *h, PetscBool trans, PetscBool coupled, PetscInt k0, PetscInt k1,
                                        PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x,
                                        PetscCount ldx)
{
  SpikeTriChain      chain[SPIKE_TRI_CHAINS];
  PetscInt           count = 0;
  const PetscScalar *p = trans ? h->v - 1 : h->l, *q = trans ? h->l + 1 : h->v;

  for (PetscInt k = k0; k < k1; k++) {
    const PetscInt  lo = h->lo[k], hi = h->hi[k];
    const PetscBool above = (PetscBool)(coupled && k > 0 && h->sep[k - 1] >= 0),
                    below = (PetscBool)(coupled && h->sep[k] >= 0);

    for (PetscInt c = 0; c < nrhs; c++) {
      PetscScalar *const xc = x + c * ldx;

      chain[count++] = (SpikeTriChain){hi - lo,
                                       above ? xc[lo - 1] : 0.0,
                                       below ? xc[hi] : 0.0,
                                       p + lo,
                                       h->r + lo,
                                       q + lo,
                                       b + c * ldb + lo,
                                       xc + lo};
      if (count == SPIKE_TRI_CHAINS || (k + 1 == k1 && c + 1 == nrhs)) {
        (*h->loops.sweep)(count, chain);
        count = 0;
      }
    }
  }
}

void SpikeTriSolvePieces_Host(SpikeTriHost *h, PetscBool trans, PetscBool coupled, PetscInt k0, PetscInt k1,
                              PetscInt nrhs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  if (!h->algorithm) {
    SpikeTriSolveChains_Private(h, trans, coupled, k0, k1, nrhs, b, ldb, x, ldx);
    return;
  }
  for (PetscInt k = k0; k < k1; k++) {
    const PetscInt  lo = h->lo[k], hi = h->hi[k];
    const PetscBool above = (PetscBool)(coupled && k > 0 && h->sep[k - 1] >= 0),
                    below = (PetscBool)(coupled && h->sep[k] >= 0);

    for (PetscInt c = 0; c < nrhs; c++) {
      const PetscScalar *bc = b + c * ldb;
      PetscScalar       *xc = x + c * ldx;

      if (bc != xc)
        for (PetscInt i = lo; i < hi; i++) xc[i] = bc[i];
      if (above) xc[lo] -= h->edge[4 * (PetscCount)k + (trans ? 2 : 0)] * xc[lo - 1];
      if (below) xc[hi - 1] -= h->edge[4 * (PetscCount)k + (trans ? 3 : 1)] * xc[hi];
      (*h->algorithm->solve)(h, trans, lo, hi, xc);
    }
  }
}

static PetscErrorCode SpikeTriApply_Host(SpikeTridiagonal *t, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                         PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  SpikeTriHost *h = (SpikeTriHost *)t->data;

  PetscFunctionBegin;
  for (PetscInt c = 0, count; c < nrhs; c += count) {
    count = h->nsep ? PetscMin(h->batch, nrhs - c) : nrhs - c;

    PetscCall(SpikeTriPartitionReduce_Host(t, trans, count, b + c * ldb, ldb, x + c * ldx, ldx));
    SpikeTriSolvePieces_Host(h, trans, (PetscBool)(h->nsep > 0), 0, h->npieces, count, b + c * ldb, ldb, x + c * ldx,
                             ldx);
  }
  PetscCall(PetscLogFlops(5.0 * nrhs * h->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeTridiagonalKernels SpikeTridiagonalKernels_Host = {
  .name    = "host",
  .memtype = PETSC_MEMTYPE_HOST,
  .bytes   = SpikeTriBytes_Host,
  .create  = SpikeTriCreate_Host,
  .destroy = SpikeTriDestroy_Host,
  .setup   = SpikeTriSetUp_Host,
  .apply   = SpikeTriApply_Host,
};
