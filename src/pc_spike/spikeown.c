/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeown.c: the half-bandwidths that each partition has by itself */
#include "spikeimpl.h"

/* From the pattern, of which later fills have the same: a partition is looked at until it has those of the band */
static void SpikeOwnCSR_Private(const PC_Spike *s, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeBand *b = &s->band;
  PetscInt         p = 0, open = b->np;

  for (PetscInt r = 0; r < b->n && open; r++) {
    const PetscInt i = s->newrow ? s->newrow[r] : r;

    while (i < b->start[p]) p--;
    while (i >= b->start[p + 1]) p++;
    if (b->okl[p] == b->kl && b->oku[p] == b->ku) {
      if (!s->newrow) r = b->start[p + 1] - 1;
      continue;
    }
    for (PetscInt part = 0; part < nparts; part++) {
      const SpikeCSR *A = &parts[part];

      for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
        PetscInt j = SpikeCSRColumn(A, k);

        if (s->newrow && !A->colmap) j = s->newrow[j];
        if (j < b->start[p] || j >= b->start[p + 1] || j - i > b->ku || i - j > b->kl) continue;
        b->okl[p] = PetscMax(b->okl[p], i - j);
        b->oku[p] = PetscMax(b->oku[p], j - i);
      }
    }
    if (b->okl[p] == b->kl && b->oku[p] == b->ku) open--;
  }
}

/* From the rows in which diagonals have entries */
static void SpikeOwnDIA_Private(const SpikeBand *b, const SpikeDIA *dia)
{
  for (PetscInt p = 0; p < b->np; p++)
    for (PetscInt d = 0; d < dia->count; d++) {
      const PetscInt o = dia->offset[d];
      PetscInt       low, high;

      if (o > b->ku || -o > b->kl) continue;
      low  = PetscMax(PetscMax(b->start[p], b->start[p] - o), dia->first[d]);
      high = PetscMin(PetscMin(b->start[p + 1], b->start[p + 1] - o), dia->last[d]);
      if (low >= high) continue;
      b->okl[p] = PetscMax(b->okl[p], -o);
      b->oku[p] = PetscMax(b->oku[p], o);
    }
}

/* The least and the largest lower and upper half-bandwidths of the partitions of this rank */
static void SpikeOwnRange_Private(const SpikeBand *b, PetscInt least[2], PetscInt most[2])
{
  least[0] = least[1] = PETSC_INT_MAX;
  most[0] = most[1] = 0;
  for (PetscInt p = 0; p < b->np && b->n; p++) {
    const PetscInt kl = b->okl ? b->okl[p] : b->kl, ku = b->oku ? b->oku[p] : b->ku;

    least[0] = PetscMin(least[0], kl);
    least[1] = PetscMin(least[1], ku);
    most[0]  = PetscMax(most[0], kl);
    most[1]  = PetscMax(most[1], ku);
  }
}

/* Those of the partitions in b->start, from what there is: A, on a device, or pieces on the host, or diagonals */
static PetscErrorCode PCSpikeOwnFind_Private(PC pc, const SpikeCSR *A, PetscInt nparts, const SpikeCSR parts[],
                                             const SpikeDIA *dia)
{
  PC_Spike      *s         = (PC_Spike *)pc->data;
  SpikeBand     *b         = &s->band;
  const PetscInt within[2] = {b->kl, b->ku};

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(b->okl, b->np));
  PetscCall(PetscArrayzero(b->oku, b->np));
  if (A) PetscCall((*SpikeLookKernelsFind(b->k->memtype)->own)(b->n, within, A, b->np, b->start, b->okl, b->oku));
  else if (dia) SpikeOwnDIA_Private(b, dia);
  else SpikeOwnCSR_Private(s, nparts, parts);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* below[i], above[i] <- the half-bandwidths of row i of the band, from the same */
static PetscErrorCode PCSpikeOwnRows_Private(PC pc, const SpikeCSR *A, PetscInt nparts, const SpikeCSR parts[],
                                             const SpikeDIA *dia, PetscInt below[], PetscInt above[])
{
  PC_Spike      *s         = (PC_Spike *)pc->data;
  SpikeBand     *b         = &s->band;
  const PetscInt within[2] = {b->kl, b->ku}, n = b->n;

  PetscFunctionBegin;
  if (A) PetscCall((*SpikeLookKernelsFind(b->k->memtype)->reach)(n, within, A, below, above));
  for (PetscInt d = 0; !A && dia && d < dia->count; d++) {
    const PetscInt o = dia->offset[d], first = PetscMax(dia->first[d], -o), last = PetscMin(dia->last[d], n - o);

    if (o > b->ku || -o > b->kl) continue;
    for (PetscInt i = PetscMax(first, 0); i < PetscMin(last, n); i++) {
      below[i] = PetscMax(below[i], -o);
      above[i] = PetscMax(above[i], o);
    }
  }
  for (PetscInt part = 0; !A && !dia && part < nparts; part++)
    for (PetscInt r = 0; r < n; r++) {
      const PetscInt i = s->newrow ? s->newrow[r] : r;

      for (PetscInt k = parts[part].ai[r]; k < parts[part].ai[r + 1]; k++) {
        PetscInt j = SpikeCSRColumn(&parts[part], k);

        if (s->newrow && !parts[part].colmap) j = s->newrow[j];
        if (j < 0 || j >= n || j - i > b->ku || i - j > b->kl) continue;
        below[i] = PetscMax(below[i], i - j);
        above[i] = PetscMax(above[i], j - i);
      }
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The time of a row of a partition with l and u tiles on either side of the diagonal, in 1000 clocks of an H200 for the
  tile row: by phases.txt a step of the factorization takes 1.9 + l u, one of a sweep each way 0.5 and 0.5 for each
  tile; setup and ten applications
*/
static PetscReal SpikeOwnTime_Private(PetscInt l, PetscInt u)
{
  return (PetscReal)(12 + l * u + 5 * (l + u));
}

/* What all partitions take where each takes that of the slowest: the largest time of one */
static PetscReal SpikeOwnSlowest_Private(const SpikeBand *b, PetscInt unit)
{
  PetscReal most = 0;

  for (PetscInt p = 0; p < b->np; p++)
    most = PetscMax(most, (b->start[p + 1] - b->start[p]) *
                            SpikeOwnTime_Private((b->okl[p] + unit - 1) / unit, (b->oku[p] + unit - 1) / unit));
  return most;
}

/* Rows in pieces of equal length, the unit of lengths: half-bandwidths of each, in tiles */
typedef struct {
  PetscInt  rows, count, least, most; /* of a piece; pieces; of a partition, in pieces */
  PetscInt *l, *u;                    /* [count]                                       */
} SpikeOwnPieces;

/*
  start[p] <- the first pieces of np partitions that take at most `limit` each, each as long as that and the others
  allow; false where there are none
*/
static PetscBool SpikeOwnCut_Private(const SpikeOwnPieces *w, PetscInt np, PetscReal limit, PetscInt start[])
{
  start[0] = 0;
  for (PetscInt p = 0; p < np; p++) {
    const PetscInt rest = np - p - 1, last = PetscMin(start[p] + w->most, w->count - rest * w->least);
    PetscInt       l = 0, u = 0, k = start[p];

    for (; k < last; k++) {
      const PetscInt nl = PetscMax(l, w->l[k]), nu = PetscMax(u, w->u[k]);

      if ((k + 1 - start[p]) * SpikeOwnTime_Private(nl, nu) > limit) break;
      l = nl;
      u = nu;
    }
    if (k - start[p] < w->least || w->count - k > (PetscInt64)rest * w->most) return PETSC_FALSE;
    start[p + 1] = k;
  }
  return (PetscBool)(start[np] == w->count);
}

/*
  b->start <- partitions of which the slowest takes as little time as may be, of half the mean of the rows to one and a
  half of it, where that is shorter than with those that are there. The limit is found by bisection: with a larger one
  each partition may be as long as with a smaller one.
*/
static PetscErrorCode PCSpikeOwnLengths_Private(PC pc, PetscInt unit, const PetscInt below[], const PetscInt above[])
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  const PetscInt n = b->n, np = b->np, mean = n / np, K = PetscMax(b->kl, b->ku);
  SpikeOwnPieces w = {PetscMax(1, mean / 64), 0, 0, 0, NULL, NULL};
  PetscInt      *start, *best;
  PetscReal      low = 0, high;

  PetscFunctionBegin;
  w.count = (n + w.rows - 1) / w.rows;
  /* the last piece may have one row alone */
  w.least = PetscMax((mean / 2 + w.rows - 1) / w.rows, (K + w.rows - 1) / w.rows + 1);
  w.most  = (mean + mean / 2) / w.rows;
  if ((PetscInt64)w.least * np > w.count || (PetscInt64)w.most * np < w.count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc2(w.count, &w.l, w.count, &w.u));
  PetscCall(PetscMalloc2(np + 1, &start, np + 1, &best));
  for (PetscInt i = 0; i < n; i++) {
    w.l[i / w.rows] = PetscMax(w.l[i / w.rows], (below[i] + unit - 1) / unit);
    w.u[i / w.rows] = PetscMax(w.u[i / w.rows], (above[i] + unit - 1) / unit);
  }
  high = w.most * SpikeOwnTime_Private((b->kl + unit - 1) / unit, (b->ku + unit - 1) / unit);
  if (SpikeOwnCut_Private(&w, np, high, best)) {
    for (int k = 0; k < 20; k++) {
      const PetscReal limit = (PetscReal)0.5 * (low + high);

      if (SpikeOwnCut_Private(&w, np, limit, start)) {
        high = limit;
        PetscCall(PetscArraycpy(best, start, np + 1));
      } else low = limit;
    }
    if (high * w.rows < (PetscReal)0.95 * SpikeOwnSlowest_Private(b, unit)) {
      s->info.min_partition = PETSC_INT_MAX;
      s->info.max_partition = 0;
      for (PetscInt p = 0; p < np; p++) {
        b->start[p + 1]       = p + 1 < np ? best[p + 1] * w.rows : n;
        s->info.min_partition = PetscMin(s->info.min_partition, b->start[p + 1] - b->start[p]);
        s->info.max_partition = PetscMax(s->info.max_partition, b->start[p + 1] - b->start[p]);
      }
      PetscCall(PetscInfo(pc, "Partitions of %" PetscInt_FMT " to %" PetscInt_FMT " rows, by their half-bandwidths\n",
                          s->info.min_partition, s->info.max_partition));
    }
  }
  PetscCall(PetscFree2(start, best));
  PetscCall(PetscFree2(w.l, w.u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a partition has fewer steps of `unit` diagonals on a side than the band */
static PetscBool SpikeOwnFewer_Private(const SpikeBand *b, PetscInt unit)
{
  for (PetscInt p = 0; p < b->np; p++)
    if ((b->okl[p] + unit - 1) / unit < (b->kl + unit - 1) / unit ||
        (b->oku[p] + unit - 1) / unit < (b->ku + unit - 1) / unit)
      return PETSC_TRUE;
  return PETSC_FALSE;
}

/*
  PCSpikeOwnBands_Private - The half-bandwidths of each partition, where some are smaller than those of the band and the
  backend makes use of it; where it works on all partitions at once their lengths too, unless they begin at cuts or
  their number is given, which promises equal ones

  Not Collective

  Input Parameters:
+ A     - the matrix that is factored, in the order of the band, of which the entries are looked at where they are when
          nparts is 0; or NULL
. parts - its pieces on the host, or nparts 0
- dia   - its diagonals, which the fill reads, or NULL

  Notes:
  They come from the pattern, stored zeros among it, and not from values: those of later fills are inside.
*/
PetscErrorCode PCSpikeOwnBands_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[], const SpikeDIA *dia)
{
  PC_Spike      *s      = (PC_Spike *)pc->data;
  SpikeBand     *b      = &s->band;
  const PetscInt unit   = b->n && !b->nsystems && !b->nbatch ? (*b->k->owns)(b) : 0;
  PetscBool      device = (PetscBool)(A && !nparts && !dia);
  SpikeCSR       there[2];
  PetscInt       nthere = 0, least[2], most[2], *below, *above;

  PetscFunctionBegin;
  PetscCall(PetscFree2(b->okl, b->oku));
  if (!unit || !(nparts || dia || device)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc2(b->np, &b->okl, b->np, &b->oku));
  if (device) PetscCall(PCSpikeGetCSR_Private(pc, A, b->k->memtype, &nthere, there));
  PetscCall(PCSpikeOwnFind_Private(pc, device ? there : NULL, nparts, parts, dia));
  if (b->k->parallel && s->local_partitions == PETSC_DECIDE && b->np > 1 && !s->info.cuts &&
      SpikeOwnFewer_Private(b, unit)) {
    PetscCall(PetscCalloc2(b->n, &below, b->n, &above));
    PetscCall(PCSpikeOwnRows_Private(pc, device ? there : NULL, nparts, parts, dia, below, above));
    PetscCall(PCSpikeOwnLengths_Private(pc, unit, below, above));
    PetscCall(PetscFree2(below, above));
    PetscCall(PCSpikeOwnFind_Private(pc, device ? there : NULL, nparts, parts, dia));
  }
  if (device) PetscCall(PCSpikeRestoreCSR_Private(pc, A, b->k->memtype, &nthere, there));
  SpikeOwnRange_Private(b, least, most);
  if (!SpikeOwnFewer_Private(b, unit)) PetscCall(PetscFree2(b->okl, b->oku));
  else
    PetscCall(PetscInfo(pc,
                        "Half-bandwidths inside of the %" PetscInt_FMT " partitions of this rank: %" PetscInt_FMT
                        ",%" PetscInt_FMT " to %" PetscInt_FMT ",%" PetscInt_FMT "\n",
                        b->np, least[0], least[1], most[0], most[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where some partitions have smaller half-bandwidths than the band; collective */
PetscErrorCode PCSpikeOwnView_Private(PC pc, PetscViewer viewer)
{
  const SpikeBand *b    = &((PC_Spike *)pc->data)->band;
  MPI_Comm         comm = PetscObjectComm((PetscObject)pc);
  PetscInt         least[2], most[2];
  PetscBool        own = (PetscBool)(b->okl != NULL);

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &own, 1, MPI_C_BOOL, MPI_LOR, comm));
  if (!own) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeOwnRange_Private(b, least, most);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, least, 2, MPIU_INT, MPI_MIN, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_INT, MPI_MAX, comm));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  half-bandwidths inside of partitions %" PetscInt_FMT ",%" PetscInt_FMT
                                   " to %" PetscInt_FMT ",%" PetscInt_FMT "\n",
                                   least[0], least[1], most[0], most[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
