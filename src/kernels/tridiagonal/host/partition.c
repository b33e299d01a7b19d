/* SPDX-License-Identifier: BSD-2-Clause */
/* partition.c: the host's PARTITION: pieces of the systems, and the Schur complement of the rows between them */
#include "host.h"
#include "kernels/common/host/memory.h"

/*
  rows, by measurement; not near a multiple of 512, so that SPIKE_TRI_CHAINS pieces do not lie in the same places of the
  cache
*/
#define SPIKE_TRI_CHUNK 1151

/* Pieces of a system of m rows: one where that is not too long for one, else chunks with a separator between them */
static PetscInt SpikeTriPieces_Private(const SpikeTridiagonal *t, PetscInt chunk, PetscInt m)
{
  const PetscInt longest = t->local == t->type ? t->longest : 2 * chunk;

  if (t->used != PC_SPIKE_TRIDIAGONAL_PARTITION || m <= PetscMax(longest, chunk)) return 1;
  return (m - 1) / chunk + 1;
}

PetscErrorCode SpikeTriPartitionCreate_Host(SpikeTridiagonal *t)
{
  SpikeTriHost *h     = (SpikeTriHost *)t->data;
  PetscInt      chunk = t->chunk == PETSC_DECIDE ? SPIKE_TRI_CHUNK : PetscMax(t->chunk, 2), k = 0, s = 0, nred = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < t->nsys; i++) h->npieces += SpikeTriPieces_Private(t, chunk, t->start[i + 1] - t->start[i]);
  PetscCall(PetscMalloc1(h->npieces, &h->lo));
  PetscCall(PetscMalloc1(h->npieces, &h->hi));
  PetscCall(PetscMalloc1(h->npieces, &h->sep));
  h->nsep = h->npieces - t->nsys;
  PetscCall(PetscMalloc1(h->nsep, &h->seprow));
  PetscCall(PetscMalloc1(h->nsep + 1, &h->redstart));
  for (PetscInt i = 0; i < t->nsys; i++) {
    const PetscInt pieces = SpikeTriPieces_Private(t, chunk, t->start[i + 1] - t->start[i]);

    if (pieces > 1) h->redstart[nred++] = s;
    for (PetscInt j = 0; j < pieces; j++, k++) {
      h->lo[k]  = t->start[i] + j * chunk;
      h->hi[k]  = j + 1 < pieces ? h->lo[k] + chunk - 1 : t->start[i + 1];
      h->sep[k] = j + 1 < pieces ? s : -1;
      if (j + 1 < pieces) h->seprow[s++] = h->hi[k];
    }
  }
  h->redstart[nred] = s;
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(h->n, &h->za));
  PetscCall(PetscMalloc1(h->n, &h->zb));
  SpikeLargePages_Host(h->za, (size_t)h->n * sizeof(*h->za));
  SpikeLargePages_Host(h->zb, (size_t)h->n * sizeof(*h->zb));
  PetscCall(PetscMalloc1(h->npieces, &h->wa));
  PetscCall(PetscMalloc1(h->npieces, &h->wb));
  PetscCall(PetscCalloc1(4 * (PetscCount)h->npieces, &h->edge));
  PetscCall(PetscMalloc1((3 + (PetscCount)h->batch) * h->nsep, &h->reduced));
  for (PetscInt j = 0; j < h->npieces; j++) h->longest = PetscMax(h->longest, h->hi[j] - h->lo[j]);
  PetscCall(PetscMalloc1(SPIKE_TRI_CHAINS * ((PetscCount)h->longest + 1), &h->scratch));
  h->child.nsys        = nred;
  h->child.start       = h->redstart;
  h->child.type        = t->pivoting || t->largest / chunk > 4 * chunk ? PC_SPIKE_TRIDIAGONAL_PARTITION
                                                                       : PC_SPIKE_TRIDIAGONAL_THOMAS;
  h->child.switchpoint = PETSC_DECIDE;
  h->child.chunk       = t->chunk;
  h->child.longest     = PETSC_DECIDE;
  h->child.pivoting    = t->pivoting;
  h->child.maxrhs      = h->batch;
  h->child.k           = t->k;
  PetscCall((*t->k->create)(&h->child));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriPartitionDestroy_Host(SpikeTridiagonal *t)
{
  SpikeTriHost *h = (SpikeTriHost *)t->data;

  PetscFunctionBegin;
  if (h->child.k) PetscCall((*h->child.k->destroy)(&h->child));
  PetscCall(PetscFree(h->lo));
  PetscCall(PetscFree(h->hi));
  PetscCall(PetscFree(h->sep));
  PetscCall(PetscFree(h->seprow));
  PetscCall(PetscFree(h->redstart));
  PetscCall(PetscFree(h->za));
  PetscCall(PetscFree(h->zb));
  PetscCall(PetscFree(h->wa));
  PetscCall(PetscFree(h->wb));
  PetscCall(PetscFree(h->edge));
  PetscCall(PetscFree(h->reduced));
  PetscCall(PetscFree(h->scratch));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriPartitionBytes_Host(const SpikeTridiagonal *t, PetscReal *bytes)
{
  const SpikeTriHost *h = (const SpikeTriHost *)t->data;
  PetscReal           child;

  PetscFunctionBegin;
  *bytes += sizeof(PetscInt) * (2.0 * h->nsep + 1.0);
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*h->child.k->bytes)(&h->child, &child));
  *bytes += child +
            sizeof(PetscScalar) *
              (2.0 * h->n + 4.0 * h->npieces + (3.0 + h->batch) * h->nsep + SPIKE_TRI_CHAINS * (h->longest + 1.0)) +
            sizeof(PetscInt) * 2.0 * h->npieces;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  How many rows of z = f A_I^-T e_i of piece k, i its first row or its last, are read from that end on. In the rows
  after them |z_r| w_r is below PETSC_MACHINE_EPSILON / rows of the largest before, w_r the largest entry of row r. As
  |b_r| <= 3 w_r max |x|, less is lost than a rounding of the sum of |z_r b_r|, however rows are scaled.
*/
static PetscInt SpikeTriReach_Private(const SpikeTriHost *h, PetscInt k, PetscBool last, const PetscScalar *z,
                                      const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du)
{
  const PetscInt lo = h->lo[k], m = h->hi[k] - lo;
  PetscInt       reach = 1;
  PetscReal      most = 0.0, small = 0.0;

  /* the largest so far; the rows after it that are not small are among those that were not */
  for (PetscInt i = 0; i < m; i++) {
    const PetscInt r = last ? lo + m - 1 - i : lo + i;
    /* dl of the first row, du of the last may be none */
    const PetscReal side = PetscMax(r > lo ? PetscAbsScalar(dl[r]) : 0.0, r + 1 < lo + m ? PetscAbsScalar(du[r]) : 0.0);
    const PetscReal size = PetscAbsScalar(z[r]) * PetscMax(PetscAbsScalar(d[r]), side);

    if (size <= small) continue;
    reach = i + 1;
    if (size <= most) continue;
    most  = size;
    small = most * PETSC_MACHINE_EPSILON / (PetscReal)m;
  }
  return reach;
}

PetscErrorCode SpikeTriPartitionSetUp_Host(SpikeTridiagonal *t, const PetscScalar *dl, const PetscScalar *d,
                                           const PetscScalar *du, SpikePivot *pivot)
{
  SpikeTriHost *h  = (SpikeTriHost *)t->data;
  PetscScalar  *sl = h->reduced, *sd = sl + h->nsep, *su = sd + h->nsep;
  SpikePivot    pv = *pivot;

  PetscFunctionBegin;
  t->maxwindow = 0.0;
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt s = 0; s < h->nsep; s++) sd[s] = d[h->seprow[s]];
  PetscCall(PetscArrayzero(h->za, h->n));
  PetscCall(PetscArrayzero(h->zb, h->n));
  for (PetscInt k = 0; k < h->npieces; k++) {
    const PetscInt lo = h->lo[k], hi = h->hi[k];
    PetscScalar   *edge = h->edge + 4 * (PetscCount)k;

    if (k && h->sep[k - 1] >= 0) {
      edge[0]   = dl[lo];
      edge[2]   = du[lo - 1];
      h->za[lo] = edge[2];
    }
    if (h->sep[k] >= 0) {
      edge[1] = du[hi - 1];
      edge[3] = dl[hi];
      if (!h->algorithm) h->l[hi] = h->v[hi] = 0.0; /* whatever the last setup left */
      h->zb[hi - 1] = edge[3];
    }
  }
  SpikeTriSolvePieces_Host(h, PETSC_TRUE, PETSC_FALSE, 0, h->npieces, 1, h->za, 0, h->za, 0);
  SpikeTriSolvePieces_Host(h, PETSC_TRUE, PETSC_FALSE, 0, h->npieces, 1, h->zb, 0, h->zb, 0);
  for (PetscInt k = 0; k < h->npieces; k++) {
    const PetscInt     lo = h->lo[k], hi = h->hi[k], above = k ? h->sep[k - 1] : -1, below = h->sep[k];
    const PetscScalar *edge = h->edge + 4 * (PetscCount)k;

    h->wa[k] = h->wb[k] = 0;
    if (above >= 0) {
      h->wa[k] = SpikeTriReach_Private(h, k, PETSC_FALSE, h->za, dl, d, du);
      sd[above] -= edge[0] * h->za[lo];
      su[above] = 0.0;
    }
    if (below >= 0) {
      h->wb[k] = SpikeTriReach_Private(h, k, PETSC_TRUE, h->zb, dl, d, du);
      sd[below] -= edge[1] * h->zb[hi - 1];
      sl[below] = 0.0;
      if (!h->algorithm) { /* the separator's multipliers in the chains of the transposed system */
        h->v[hi] = du[hi];
        h->l[hi] = dl[hi] * h->r[hi - 1];
      }
    }
    if (above >= 0 && below >= 0) {
      su[above] = -edge[1] * h->za[hi - 1];
      sl[below] = -edge[0] * h->zb[lo];
    }
    t->maxwindow = PetscMax(t->maxwindow, (PetscReal)PetscMax(h->wa[k], h->wb[k]) / (PetscReal)(hi - lo));
  }
  PetscCall(PetscLogFlops(8.0 * h->n));
  PetscCall((*h->child.k->setup)(&h->child, sl, sd, su, &pv));
  pivot->nboost += pv.nboost;
  if (pv.badrow >= 0 && pivot->badrow < 0) {
    pivot->badrow   = h->seprow[pv.badrow];
    pivot->badvalue = pv.badvalue;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  x_s of the separators: S x_s = b_s - (dl_s z2 . b) - (du_s z1 . b), transposed with the ends of A_I^-T b themselves
*/
PetscErrorCode SpikeTriPartitionReduce_Host(SpikeTridiagonal *t, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                            PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  SpikeTriHost *h = (SpikeTriHost *)t->data;
  PetscScalar  *y = h->reduced + 3 * (PetscCount)h->nsep;

  PetscFunctionBegin;
  if (!h->nsep) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt c = 0; c < nrhs; c++)
    for (PetscInt s = 0; s < h->nsep; s++) y[c * (PetscCount)h->nsep + s] = b[c * ldb + h->seprow[s]];
  for (PetscInt k0 = 0, k1; k0 < h->npieces; k0 = k1) {
    k1 = PetscMin(k0 + SPIKE_TRI_CHAINS, h->npieces);
    for (PetscInt c = 0; c < nrhs; c++) {
      const PetscScalar *bc = b + c * ldb;
      PetscScalar       *yc = y + c * (PetscCount)h->nsep, *gc = h->scratch - h->lo[k0];

      if (trans) SpikeTriSolvePieces_Host(h, PETSC_TRUE, PETSC_FALSE, k0, k1, 1, bc, 0, gc, 0);
      for (PetscInt k = k0; k < k1; k++) {
        const PetscInt     lo = h->lo[k], hi = h->hi[k], above = k ? h->sep[k - 1] : -1, below = h->sep[k];
        const PetscScalar *edge = h->edge + 4 * (PetscCount)k;

        if (above >= 0) yc[above] -= trans ? edge[0] * gc[lo] : (*h->loops.dot)(h->wa[k], h->za + lo, bc + lo);
        if (below >= 0)
          yc[below] -= trans ? edge[1] * gc[hi - 1]
                             : (*h->loops.dot)(h->wb[k], h->zb + hi - h->wb[k], bc + hi - h->wb[k]);
      }
    }
  }
  PetscCall((*h->child.k->apply)(&h->child, trans, nrhs, y, h->nsep, y, h->nsep));
  for (PetscInt c = 0; c < nrhs; c++)
    for (PetscInt s = 0; s < h->nsep; s++) x[c * ldx + h->seprow[s]] = y[c * (PetscCount)h->nsep + s];
  PetscCall(PetscLogFlops((trans ? 5.0 : 4.0) * nrhs * h->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
