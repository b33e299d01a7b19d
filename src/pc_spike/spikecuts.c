/* SPDX-License-Identifier: BSD-2-Clause */
/* spikecuts.c: cuts of the band, between rows that nothing couples, and partitions that begin at them */
#include "spikeimpl.h"

#define SPIKE_CUTS_WORK 1000000 /* boundaries that are tried */

/* Rows that a partition may have: at most a quarter above the mean, because each takes the time of the longest */
typedef struct {
  PetscInt least, most;
} SpikeLengths;

static SpikeLengths SpikeLengths_Private(const PC_Spike *s, PetscInt n, PetscInt np)
{
  const PetscInt mean = n / np, K = PetscMax(s->band.kl, s->band.ku);
  SpikeLengths   l;

  l.least = PetscMax((mean + 1) / 2, s->type != PC_SPIKE_BLOCK ? K : 1);
  l.most  = mean + (n % np ? 1 : 0) + mean / 4;
  return l;
}

PetscErrorCode PCSpikeCutsReset_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscFree(s->cuts.reach));
  PetscCall(PetscFree(s->cuts.row));
  PetscCall(PetscFree(s->cuts.start));
  PetscCall(PetscFree(s->cuts.diagonal));
  s->cuts.count = 0;
  s->cuts.known = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows i and j of this rank are coupled: no row in min(i, j) + 1 .. max(i, j) begins a part of its own */
static inline void SpikeReaches_Private(PetscInt *reach, PetscInt i, PetscInt j)
{
  const PetscInt first = PetscMin(i, j), last = PetscMax(i, j);

  if (reach[first] < last) reach[first] = last;
}

/* How many rows i > 0 nothing couples to those before; row != NULL: which */
static PetscInt SpikeCount_Private(PetscInt n, const PetscInt *reach, PetscInt *row)
{
  PetscInt count = 0, far = n ? reach[0] : 0;

  for (PetscInt i = 1; i < n; i++) {
    if (far < i) {
      if (row) row[count] = i;
      count++;
    }
    far = PetscMax(far, reach[i]);
  }
  return count;
}

/*
  The pieces of the matrix that is factored, in the order of the band. The last entry of each row comes first: mostly
  these leave no cut, and no others are looked at
*/
static void SpikeReachCSR_Private(const PC_Spike *s, PetscInt nparts, const SpikeCSR parts[])
{
  const SpikeBand *b = &s->band;

  for (int all = 0; all < 2 && (!all || SpikeCount_Private(b->n, s->cuts.reach, NULL)); all++) {
    for (PetscInt r = 0; r < b->n; r++) {
      const PetscInt i = s->newrow ? s->newrow[r] : r;

      for (PetscInt p = 0; p < nparts; p++) {
        const SpikeCSR *A = &parts[p];

        for (PetscInt k = all ? A->ai[r] : PetscMax(A->ai[r], A->ai[r + 1] - 1); k < A->ai[r + 1]; k++) {
          PetscInt j = SpikeCSRColumn(A, k);

          if (A->aa[k] == (PetscScalar)0.0) continue;
          if (s->newrow && !A->colmap) j = s->newrow[j];
          if (j >= 0 && j < b->n && j - i <= b->ku && i - j <= b->kl) SpikeReaches_Private(s->cuts.reach, i, j);
        }
      }
    }
  }
}

/*
  The same of a matrix by diagonals, those beside the main one first: mostly they leave no cut, and no others are
  fetched
*/
static PetscErrorCode SpikeReachDIA_Private(PC pc, const SpikeDIA *dia)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  const SpikeBand *b = &s->band;
  const PetscInt   n = b->n, K = PetscMax(b->kl, b->ku);
  PetscScalar     *there = NULL;
  PetscErrorCode   ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &s->cuts.diagonal));
  PetscCall((*dia->k->alloc)((size_t)n * sizeof(PetscScalar), (void **)&there));
  for (PetscInt e = 1; e <= K && !ierr; e++) {
    PetscBool some = PETSC_FALSE;

    for (PetscInt side = 0; side < 2 && !ierr; side++) {
      const PetscInt d = SpikeDIAFind(dia->count, dia->offset, -1, side ? e : -e);

      if (d == dia->count || e > (side ? b->ku : b->kl)) continue;
      some = PETSC_TRUE;
      ierr = (*dia->k->getdiagonal)(dia, d, there);
      if (!ierr)
        ierr = (*dia->k->move)(dia->stream, PETSC_FALSE, s->cuts.diagonal, there, (size_t)n * sizeof(PetscScalar));
      for (PetscInt i = 0; i < n && !ierr; i++) {
        const PetscInt j = i + dia->offset[d];

        if (j >= 0 && j < n && s->cuts.diagonal[i] != (PetscScalar)0.0) SpikeReaches_Private(s->cuts.reach, i, j);
      }
    }
    if (some && !SpikeCount_Private(n, s->cuts.reach, NULL)) break;
  }
  PetscCall((*dia->k->release)((void **)&there));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The rows of this rank that begin at cuts: s->cuts.row, looked for once in a setup from scratch, where the look at the
  matrix has not found them
*/
PetscErrorCode PCSpikeCutsFind_Private(PC pc, PetscInt nparts, const SpikeCSR parts[], const SpikeDIA *dia)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  const PetscInt n = s->band.n;

  PetscFunctionBegin;
  if (s->cuts.known) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->look.covers) {
    s->cuts.count = s->look.found.ncuts;
    PetscCall(PetscMalloc1(PetscMax(s->cuts.count, 1), &s->cuts.row));
    PetscCall(PetscArraycpy(s->cuts.row, s->look.found.cut, s->cuts.count));
    s->cuts.known = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(n, &s->cuts.reach));
  for (PetscInt i = 0; i < n; i++) s->cuts.reach[i] = i;
  if (nparts) SpikeReachCSR_Private(s, nparts, parts);
  else PetscCall(SpikeReachDIA_Private(pc, dia));
  s->cuts.count = SpikeCount_Private(n, s->cuts.reach, NULL);
  PetscCall(PetscMalloc1(PetscMax(s->cuts.count, 1), &s->cuts.row));
  (void)SpikeCount_Private(n, s->cuts.reach, s->cuts.row);
  PetscCall(PetscFree(s->cuts.reach));
  s->cuts.known = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  np partitions that begin at cuts where their lengths allow it: each begins at the cut that is nearest to its share of
  the rows that are left, and without one there. Returns how many begin at cuts.
*/
static PetscInt SpikePlace_Private(const PC_Spike *s, PetscInt n, PetscInt np, PetscInt start[])
{
  const SpikeLengths l    = SpikeLengths_Private(s, n, np);
  const PetscInt    *row  = s->cuts.row;
  PetscInt           next = 0, placed = 0;

  start[0] = 0;
  for (PetscInt p = 1; p < np; p++) {
    const PetscInt64 before = start[p - 1], rest = np - p, least = PetscMax(before + l.least, n - rest * l.most),
                     most = PetscMin(before + l.most, n - rest * l.least), share = (n - before + rest) / (rest + 1);
    const PetscInt64 ideal = before + share;
    PetscInt64       best  = -1;

    while (next < s->cuts.count && row[next] < ideal) next++;
    if (next > 0 && row[next - 1] >= least) best = row[next - 1];
    if (next < s->cuts.count && row[next] <= most && (best < 0 || row[next] - ideal < ideal - best)) best = row[next];
    start[p] = (PetscInt)(best < 0 ? ideal : best);
    placed += best >= 0;
  }
  start[np] = n;
  return placed;
}

/* The number of partitions near np of which the largest share begins at cuts; np itself where no other gains a tenth */
static PetscInt SpikeNearest_Private(const PC_Spike *s, PetscInt n, PetscInt np, PetscInt most, PetscReal *share,
                                     PetscInt start[])
{
  const PetscInt first = PetscMax(2, np - np / 3), last = PetscMin(most, np + np / 2),
                 tries = PetscMax(1, PetscMin(64, SPIKE_CUTS_WORK / np)), stride = PetscMax(1, (last - first) / tries);
  PetscInt best = np;

  *share = np > 1 ? (PetscReal)SpikePlace_Private(s, n, np, start) / (np - 1) : 0;
  for (PetscInt m = first; m <= last; m += stride) {
    const PetscReal now = (PetscReal)SpikePlace_Private(s, n, m, start) / (m - 1);

    if (now > *share + (best == np ? (PetscReal)0.1 : 0) ||
        (now == *share && best != np && PetscAbsInt(m - np) < PetscAbsInt(best - np))) {
      best   = m;
      *share = now;
    }
  }
  return best;
}

/*
  PCSpikeCutsPlace_Private - The partitions of this rank, which begin at cuts where they can

  Not Collective

  Input Parameters:
+ open  - their number is left to the library
. alone - no other rank has rows
. parts - the matrix that is factored, or nparts 0
- dia   - its diagonals then

  Input/Output Parameters:
+ np   - their number
- full - what a model of the time says of the coupling; false where all of them begin at cuts

  Output Parameter:
. s->cuts.start - [np + 1] where they begin, owned by the PC

  Notes:
  Entries that are zero now couple nothing. Where all interfaces lie at cuts there are no spikes (SpikeBand.cut), until
  later values couple two partitions: the setup begins again then. Of some the spikes are zero.
*/
PetscErrorCode PCSpikeCutsPlace_Private(PC pc, PetscBool open, PetscBool alone, PetscInt nparts, const SpikeCSR parts[],
                                        const SpikeDIA *dia, PetscInt *np, PetscBool *full)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  const SpikeBand *b = &s->band;
  const PetscInt   n = b->n, K = PetscMax(b->kl, b->ku), most = PetscMax(1, n / PetscMax(K, 1));
  const PetscBool  look   = (PetscBool)(n > 0 && K > 0 && (*np > 1 || (open && b->k->parallel)));
  PetscInt         wanted = *np, other, room;
  PetscReal        share;
  PetscBool        unused;

  PetscFunctionBegin;
  if (look) PetscCall(PCSpikeCutsFind_Private(pc, nparts, parts, dia));
  /* tridiagonal systems are found by themselves */
  other = look && open && alone && s->cuts.count && s->type != PC_SPIKE_BLOCK && K > 1
          ? (*b->k->partitions)(n, b->kl, b->ku, s->precision, PETSC_MIN_REAL, PCSpikeMayNeglect_Private(s),
                                PCSpikeExchanges_Private(s), b->cholesky, PC_SPIKE_TRUNCATED, &unused)
          : 1; /* as where nothing couples them */
  other = PetscMin(other, PetscMin(most, s->cuts.count + 1));
  room  = PetscMax(*np, other);
  PetscCall(PetscMalloc1(room + room / 2 + 2, &s->cuts.start));
  if (look && open && s->cuts.count) {
    if (*np > 1) wanted = SpikeNearest_Private(s, n, *np, most, &share, s->cuts.start);
    if (other > 1) {
      other = SpikeNearest_Private(s, n, other, most, &share, s->cuts.start);
      /* they take no tips, reduced systems and corrections: a quarter of an application and more */
      if (share == 1 && other >= wanted - wanted / 4) wanted = other;
    }
  }
  *np          = wanted;
  s->info.cuts = SpikePlace_Private(s, n, *np, s->cuts.start);
  if (open && alone && s->type == PC_SPIKE_AUTO && *np > 1 && s->info.cuts == *np - 1) *full = PETSC_FALSE;
  if (s->info.cuts)
    PetscCall(PetscInfo(pc,
                        "%" PetscInt_FMT " of %" PetscInt_FMT
                        " partitions begin where nothing couples two rows, of %" PetscInt_FMT " such places\n",
                        s->info.cuts, *np, s->cuts.count));
  PetscFunctionReturn(PETSC_SUCCESS);
}
