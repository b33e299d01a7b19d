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
  backend makes use of it

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
  SpikeBand     *b         = &((PC_Spike *)pc->data)->band;
  const PetscInt within[2] = {b->kl, b->ku}, unit = b->n && !b->nsystems && !b->nbatch ? (*b->k->owns)(b) : 0;
  SpikeCSR       there[2];
  PetscInt       nthere, least[2], most[2];

  PetscFunctionBegin;
  PetscCall(PetscFree2(b->okl, b->oku));
  if (!unit || !(A || nparts || dia)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc2(b->np, &b->okl, b->np, &b->oku));
  if (dia) SpikeOwnDIA_Private(b, dia);
  else if (nparts) SpikeOwnCSR_Private((PC_Spike *)pc->data, nparts, parts);
  else {
    const SpikeLookKernels *look = SpikeLookKernelsFind(b->k->memtype);

    PetscCall(PCSpikeGetCSR_Private(pc, A, b->k->memtype, &nthere, there));
    if (look->own) PetscCall((*look->own)(b->n, within, there, b->np, b->start, b->okl, b->oku));
    else SpikeOwnCSR_Private((PC_Spike *)pc->data, nthere, there); /* looked at on a device, factored on the host */
    PetscCall(PCSpikeRestoreCSR_Private(pc, A, b->k->memtype, &nthere, there));
  }
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
