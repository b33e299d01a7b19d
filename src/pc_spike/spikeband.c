/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeband.c: PCSPIKE's view of the matrix: pieces in CSR, ordering, half-bandwidths */
#include "spikeimpl.h"
#include <petscsf.h>

/* A of type MATSEQAIJ or MATMPIAIJ as one or two pieces, with pointers to memory of the given type */
PetscErrorCode PCSpikeGetCSR_Private(PC pc, Mat A, PetscMemType memtype, PetscInt *nparts, SpikeCSR parts[2])
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  PetscBool       mpi;
  Mat             Ad = A, Ao = NULL;
  const PetscInt *garray = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, &garray));
  PetscCall(SpikeMatSeqAIJGetCSR(Ad, memtype, &parts[0]));
  *nparts = 1;
  if (mpi) {
    PetscCall(SpikeMatSeqAIJGetCSR(Ao, memtype, &parts[1]));
    parts[1].colmap = !PetscMemTypeHost(memtype) ? s->dcolmap : s->colmap ? s->colmap : garray;
    parts[1].shift  = -A->rmap->rstart;
    *nparts         = 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeRestoreCSR_Private(PC pc, Mat A, PetscMemType memtype, PetscInt *nparts, SpikeCSR parts[2])
{
  Mat Ad = A, Ao;

  PetscFunctionBegin;
  (void)pc;
  if (*nparts == 2) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &Ad, &Ao, NULL));
    PetscCall(SpikeMatSeqAIJRestoreCSR(Ao, memtype, &parts[1]));
  }
  PetscCall(SpikeMatSeqAIJRestoreCSR(Ad, memtype, &parts[0]));
  *nparts = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PCSpikeScan_Private(PetscInt n, PetscInt nparts, const SpikeCSR parts[], const PetscInt *newrow, SpikeScan *scan)
{
  scan->kl = scan->ku = scan->maxrow = 0;
  scan->zeros                        = 0;
  scan->sum                          = 0.0;
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt i   = newrow ? newrow[r] : r;
    PetscInt       nnz = 0;

    for (PetscInt part = 0; part < nparts; part++) {
      const SpikeCSR *A = &parts[part];

      for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
        PetscInt d = SpikeCSRColumn(A, k);

        if (A->aa[k] == (PetscScalar)0.0) {
          scan->zeros++;
          continue;
        }
        d = (newrow && !A->colmap ? newrow[d] : d) - i;
        if (scan->limit < PETSC_INT_MAX) {
          if (PetscAbsInt(d) > scan->limit) continue;
          scan->sum += PetscAbsScalar(A->aa[k]);
        }
        scan->ku = PetscMax(scan->ku, d);
        scan->kl = PetscMax(scan->kl, -d);
        if (scan->weight) scan->weight[PetscAbsInt(d)] += PetscAbsScalar(A->aa[k]);
        nnz++;
      }
    }
    scan->maxrow = PetscMax(scan->maxrow, nnz);
  }
}

/*
  The smallest k with  sum_{|i-j| > k} |a_ij| <= dropoff * sum |a_ij|,  from the rank's sums by distance, up to the
  larger of the half-bandwidths in kept: these become no more than k
*/
PetscErrorCode PCSpikeDropOff_Private(PC pc, PetscReal weight[], PetscInt kept[2])
{
  const PetscReal dropoff = ((PC_Spike *)pc->data)->dropoff;
  const PetscInt  kmax    = PetscMax(kept[0], kept[1]);
  PetscReal       sum = 0.0, tail = 0.0;
  PetscInt        k;

  PetscFunctionBegin;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, weight, kmax + 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  for (k = 0; k <= kmax; k++) sum += weight[k];
  for (k = kmax; k > 0; k--) {
    tail += weight[k];
    if (tail > dropoff * sum) break;
  }
  kept[0] = PetscMin(kept[0], k);
  kept[1] = PetscMin(kept[1], k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Half-bandwidths for one ordering: all nonzeros, or the smallest k with  sum_{|i-j| > k} |a_ij| <= dropoff * sum
  |a_ij|. The weights by distance are one array as long as the band is wide, summed over the ranks.
*/
PetscErrorCode PCSpikeMeasureBand_Private(PC pc, PetscInt n, PetscInt nparts, const SpikeCSR parts[],
                                          const PetscInt *newrow, PetscInt full[2], PetscInt kept[2], PetscInt *maxrow,
                                          PetscBool *zeros)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  SpikeScan scan = {PETSC_INT_MAX, 0.0, 0, 0, 0, 0, NULL};
  PetscInt  lmax[4], gmax[4];

  PetscFunctionBegin;
  PCSpikeScan_Private(n, nparts, parts, newrow, &scan);
  lmax[0] = scan.kl;
  lmax[1] = scan.ku;
  lmax[2] = scan.maxrow;
  lmax[3] = scan.zeros > 0;
  PetscCallMPI(MPIU_Allreduce(lmax, gmax, 4, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  kept[0] = full[0] = gmax[0];
  kept[1] = full[1] = gmax[1];
  *maxrow           = gmax[2];
  *zeros            = (PetscBool)gmax[3];
  if (s->dropoff > 0.0) {
    PetscCall(PetscCalloc1(PetscMax(gmax[0], gmax[1]) + 1, &scan.weight));
    PCSpikeScan_Private(n, nparts, parts, newrow, &scan);
    PetscCall(PCSpikeDropOff_Private(pc, scan.weight, kept));
    PetscCall(PetscFree(scan.weight));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A bound from below for max(kl, ku) in any ordering: d steps in the graph from a row reach at most 2 d max(kl, ku)
  rows, so that max(kl, ku) >= (rows reached) / (2 d). *least, on entry such a bound, from three rows more, each until
  it is enough for half-bandwidth K, or until so many rows are reached that it costs less than looking at the matrix
  once. They are taken from the middle of a natural band of half-bandwidth K, if that is made of lines.
*/
PetscErrorCode PCSpikeLeastBand_Private(PetscInt n, PetscInt K, PetscInt nparts, const SpikeCSR parts[],
                                        PetscInt *least)
{
  const PetscInt most = PetscMin(n, PetscMax(4096, n / 8)), enough = PCSpikeEnoughBand_Private(K);
  PetscInt      *queue, *seen;

  PetscFunctionBegin;
  if (enough > most / 2 + 1) PetscFunctionReturn(PETSC_SUCCESS); /* so few rows say less */
  PetscCall(PetscMalloc1(most, &queue));
  PetscCall(PetscCalloc1(n, &seen)); /* by the search */
  for (PetscInt start = 1; start <= 3 && *least < enough; start++) {
    PetscInt head = 0, tail = 1, level = 1, steps = 0;

    queue[0]       = PetscMin((PetscInt)((PetscInt64)n * start / 4) / K * K + K / 2, n - 1);
    seen[queue[0]] = start;
    while (head < tail && tail < most && *least < enough) {
      for (; head < level && tail < most; head++) {
        for (PetscInt part = 0; part < nparts; part++) {
          const SpikeCSR *A = &parts[part];

          for (PetscInt k = A->ai[queue[head]]; k < A->ai[queue[head] + 1] && tail < most; k++) {
            const PetscInt j = SpikeCSRColumn(A, k);

            if (A->aa[k] == (PetscScalar)0.0 || seen[j] == start) continue;
            seen[j]       = start;
            queue[tail++] = j;
          }
        }
      }
      if (head < level) break; /* not all rows of this many steps */
      level = tail;
      steps++;
      *least = PetscMax(*least, (tail - 1 + 2 * steps - 1) / (2 * steps));
    }
  }
  PetscCall(PetscFree(queue));
  PetscCall(PetscFree(seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The half-bandwidths that are factored, from those of the entries: what the user has given, or where some are above the
  limit of this setup, those of the entries within it, within[2] of this rank. Row exchanges work on both diagonals
  beside the main one: a band that the values make narrower, with zeros on one of them, has both.
*/
PetscErrorCode PCSpikeFitBand_Private(PC pc, PetscInt within[2], PetscInt kept[2])
{
  PC_Spike   *s   = (PC_Spike *)pc->data;
  const char *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  s->info.cut = PCSpikeCuts_Private(s, kept);
  s->uncut[0] = kept[0];
  s->uncut[1] = kept[1];
  if (s->givenkl != PETSC_DECIDE) {
    const PetscInt N = pc->pmat->rmap->N;

    kept[0] = PetscMin(s->givenkl, PetscMax(N - 1, 0));
    kept[1] = PetscMin(s->givenku, PetscMax(N - 1, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (s->info.cut) {
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, within, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    PetscCall(PetscInfo(pc,
                        "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " are cut to %" PetscInt_FMT
                        ",%" PetscInt_FMT " by %s: what lies outside is dropped, and the factors are a preconditioner. "
                        "For all of the matrix use -%spc_type lu, or an ordering that narrows its band\n",
                        kept[0], kept[1], within[0], within[1],
                        s->maxband == PETSC_DECIDE ? "the memory that is free" : "-pc_spike_max_bandwidth", pre));
    kept[0] = within[0];
    kept[1] = within[1];
  }
  if (PCSpikeExchanges_Private(s) && kept[0] <= 1 && kept[1] <= 1 && kept[0] + kept[1] > 0) kept[0] = kept[1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of one rank that the limit of this setup leaves */
SpikeScan PCSpikeWithin_Private(const PC_Spike *s, PetscInt n, PetscInt nparts, const SpikeCSR parts[],
                                const PetscInt *newrow)
{
  SpikeScan scan = {s->limit, 0.0, 0, 0, 0, 0, NULL};

  PCSpikeScan_Private(n, nparts, parts, newrow, &scan);
  return scan;
}

/*
  Whether the ordering s->newrow, with half-bandwidths b, is better than that of s->tried (NULL: the natural one) with
  a: less work where no limit cuts it, else that which is not cut, else that which keeps more of the sum of magnitudes
*/
static PetscBool SpikeOrderBetter_Private(const PC_Spike *s, PetscInt n, PetscInt nparts, const SpikeCSR parts[],
                                          const PetscInt a[2], const PetscInt b[2])
{
  const PetscBool cuta = PCSpikeCuts_Private(s, a);

  if (cuta != PCSpikeCuts_Private(s, b)) return cuta;
  if (!cuta)
    return (PetscBool)(PCSpikeBandWork_Private(b, SPIKE_MODEL_USES) < PCSpikeBandWork_Private(a, SPIKE_MODEL_USES));
  return (PetscBool)(PCSpikeWithin_Private(s, n, nparts, parts, s->newrow).sum >
                     PCSpikeWithin_Private(s, n, nparts, parts, s->tried).sum);
}

/*
  On one rank: the ordering that was asked for, or the best of the natural one, with half-bandwidths kept, of RCM, and
  where the pattern is not symmetric, of RCM of its lower triangle, which is what PETSc takes then. The latter is left
  out where the former is at most half above a bound for all orderings. newrow is NULL where the natural one is left.
*/
static PetscErrorCode SpikeOrderBest_Private(PC pc, Mat A, PetscBool isauto, PetscBool zeros, PetscInt nparts,
                                             const SpikeCSR parts[], PetscInt kept[2])
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  const PetscInt  n    = A->rmap->n;
  const PetscReal work = PCSpikeBandWork_Private(kept, SPIKE_MODEL_USES);
  PetscInt        full[2], k[2] = {0, 0}, maxrow, least = 0, turns = 1, K;
  PetscBool       none, symmetric = PETSC_FALSE, ignored;

  PetscFunctionBegin;
  for (PetscInt turn = 0; turn < turns; turn++) {
    PetscCall(PCSpikeOrder_Private(pc, A, isauto ? MATORDERINGRCM : s->ordering, zeros, turn ? NULL : &parts[0],
                                   turn ? &ignored : &symmetric));
    PetscCall(PCSpikeMeasureBand_Private(pc, n, nparts, parts, s->newrow, full, k, &maxrow, &none));
    if (isauto)
      PetscCall(PetscInfo(pc,
                          "RCM of %s has half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                          ": %.2g of the work of the natural ones\n",
                          turn ? "the lower triangle" : "A + A^T", k[0], k[1],
                          (double)(PCSpikeBandWork_Private(k, SPIKE_MODEL_USES) / work)));
    if (isauto && !SpikeOrderBetter_Private(s, n, nparts, parts, kept, k)) PetscCall(PetscFree(s->newrow));
    else {
      PetscCall(PetscFree(s->tried));
      s->tried  = s->newrow;
      s->newrow = NULL;
      kept[0]   = k[0];
      kept[1]   = k[1];
    }
    K = PetscMax(kept[0], kept[1]);
    if (turn || symmetric || !isauto || K <= 1) continue;
    if (s->dropoff == 0.0) PetscCall(PCSpikeLeastBand_Private(n, K, nparts, parts, &least));
    if (least < PCSpikeEnoughBand_Private(K)) turns = 2;
  }
  s->newrow = s->tried;
  s->tried  = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks, and which ordering is asked for, where the options are possible ones */
PetscErrorCode PCSpikeCheckBand_Private(PC pc, PetscMPIInt *size, PetscBool *isauto, PetscBool *natural)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  const PetscInt N = pc->pmat->rmap->N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), size));
  PetscCall(PetscStrcmp(s->ordering, "auto", isauto));
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGNATURAL, natural));
  if (*size > 1 && !*isauto && !*natural) { /* here, because ranks without rows order nothing */
    PetscErrorCodeFn *known;
    PetscFunctionList list;
    PetscBool         external;

    PetscCall(MatGetOrderingList(&list));
    PetscCall(PetscFunctionListFind(list, s->ordering, &known));
    PetscCall(PetscStrcmp(s->ordering, MATORDERINGEXTERNAL, &external));
    PetscCheck(!external, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, SPIKE_ORDERING_EXTERNAL, s->ordering,
               ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
    PetscCheck(known, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "Unknown ordering %s", s->ordering);
  }
  if (s->userkl != PETSC_DECIDE && PetscMax(s->userkl, s->userku) >= N)
    PetscCall(PetscInfo(pc,
                        "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT
                        " that were set are those of all %" PetscInt_FMT " rows of the matrix\n",
                        s->userkl, s->userku, N));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to[k] <- from[.] of the column k of the off-diagonal block of MATMPIAIJ, from the rank that owns it; collective */
PetscErrorCode PCSpikeGhosts_Private(Mat A, MPI_Datatype unit, const void *from, void *to)
{
  const PetscInt *garray;
  PetscInt        ncols;
  Mat             Ao;
  PetscSF         sf;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, &garray));
  PetscCall(MatGetSize(Ao, NULL, &ncols));
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
  PetscCall(PetscSFSetGraphLayout(sf, A->cmap, ncols, NULL, PETSC_USE_POINTER, garray));
  PetscCall(PetscSFBcastBegin(sf, unit, from, to, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, unit, from, to, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Places of the columns of the off-diagonal block, where the ranks have ordered their rows; collective without paths */
PetscErrorCode PCSpikePlaces_Private(PC pc, Mat A)
{
  PC_Spike *s = (PC_Spike *)pc->data;
  PetscInt  ncols, *place;
  Mat       Ao;

  PetscFunctionBegin;
  PetscCall(PetscFree(s->colmap));
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, NULL));
  PetscCall(MatGetSize(Ao, NULL, &ncols));
  PetscCall(PetscMalloc1(PetscMax(ncols, 1), &s->colmap));
  if (s->lines.active) { /* along paths, which lie inside a rank: outside of the band */
    for (PetscInt k = 0; k < ncols; k++) s->colmap[k] = A->rmap->rstart - 1 - PetscMax(s->givenkl, s->givenku);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(A->rmap->n, &place));
  for (PetscInt i = 0; i < A->rmap->n; i++) place[i] = s->newrow[i] + A->rmap->rstart;
  PetscCall(PCSpikeGhosts_Private(A, MPIU_INT, place, s->colmap));
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is chosen yet, of a band that will be chosen anew */
PetscErrorCode PCSpikeUnchooseBand_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCSpikeLinesDrop_Private(pc));
  PetscCall(PetscFree(s->newrow));
  PetscCall(PetscFree(s->colmap));
  PetscCall(PCSpikePeriodicDestroy_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Fills band.kl, band.ku, newrow (NULL: natural, or paths that lines.k has found) and the bandwidths of info. With
  `auto`, one rank and no bandwidth from the user, PETSc's RCM is tried and the band of least work kept. A band with a
  full row cannot be made narrower (kl + ku + 1 >= nonzeros of any row), nor one that is at most half above a bound for
  all orderings by more than that: they are left alone. Periodic tridiagonal systems are looked for before, where the
  natural ordering may be taken and the bandwidth is open: corners do not widen the band then.
*/
PetscErrorCode PCSpikeChooseBand_Private(PC pc, Mat A)
{
  PC_Spike *s       = (PC_Spike *)pc->data;
  PetscInt  full[2] = {0, 0}, kept[2] = {0, 0}, maxrow = 0, within[2] = {0, 0};
  PetscInt  least = 0, nparts = 0;
  PetscBool zeros = PETSC_FALSE, isauto, natural, given = (PetscBool)(s->givenkl != PETSC_DECIDE),
            periodic = PETSC_FALSE, order = PETSC_FALSE, ranks = PETSC_FALSE, rotates, orders, others,
            paths = PETSC_FALSE;
  PetscMPIInt      size;
  SpikeCSR         parts[2];
  const SpikeLook *look;

  PetscFunctionBegin;
  PetscCall(PCSpikeCheckBand_Private(pc, &size, &isauto, &natural));
  PetscCall(PCSpikeLook_Private(pc, A, &look));
  PetscCall(PCSpikeLookBand_Private(pc, look, full, kept, &maxrow, &zeros));
  s->info.natural_kl = full[0];
  s->info.natural_ku = full[1];
  /* rows of periodic tridiagonal systems have three entries */
  rotates = (PetscBool)(!given && (isauto || natural) && kept[0] + kept[1] > 2 && maxrow <= 3 && s->band.k->periodic &&
                        s->limit > 0 && !s->matching.B);
  orders  = (PetscBool)(size == 1 && !natural && A->rmap->n && (!isauto || (!given && kept[0] + kept[1] + 1 > maxrow)));
  others  = (PetscBool)(size > 1 && A->rmap->N && !natural);
  if (s->lines.active) {
    orders = others = PETSC_FALSE;
    PetscCall(PCSpikeLinesLook_Private(pc, A, &paths));
  }
  if (others) PetscCall(PCSpikeOrderRanksMay_Private(pc, A, isauto, look->own, kept, &others));
  if (rotates || orders || others || (s->lines.active && !paths) || PCSpikeCuts_Private(s, kept)) {
    if (s->look.device)
      PetscCall(PetscInfo(pc, "The host looks at the entries too, which are copied where it has not all of them: what "
                              "the device has found does not settle the ordering\n"));
    PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  }
  if (rotates) PetscCall(PCSpikePeriodicFind_Private(pc, A, nparts, parts, &periodic));
  if (s->lines.active) PetscCall(PCSpikeLinesOrder_Private(pc, A, size, paths ? NULL : &parts[0]));
  else if (periodic) kept[0] = kept[1] = 1;
  else if (orders) {
    const PetscInt K = PetscMax(kept[0], kept[1]);

    least = maxrow / 2;
    if (isauto && s->dropoff == 0.0) PetscCall(PCSpikeLeastBand_Private(A->rmap->n, K, nparts, parts, &least));
    order = (PetscBool)(!isauto || s->dropoff > 0.0 || least < PCSpikeEnoughBand_Private(K));
  }
  if (order) PetscCall(SpikeOrderBest_Private(pc, A, isauto, zeros, nparts, parts, kept));
  s->drops = s->traded = PETSC_FALSE;
  if (s->lines.active) ranks = (PetscBool)(size > 1);
  else if (others && !periodic) PetscCall(PCSpikeOrderRanks_Private(pc, A, isauto, zeros, nparts, parts, kept, &ranks));
  s->apart = (PetscBool)(ranks && !s->lines.active); /* that drops more than what couples ranks */
  if (PCSpikeCuts_Private(s, kept)) {
    SpikeCSR  ordered[2] = {parts[0], parts[nparts - 1]};
    SpikeScan scan;

    if (s->colmap) ordered[1].colmap = s->colmap;
    scan = PCSpikeWithin_Private(s, A->rmap->n, nparts, ordered, s->newrow);

    within[0] = scan.kl;
    within[1] = scan.ku;
  }
  if (nparts) PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeFitBand_Private(pc, within, kept));
  s->info.reordered = (PetscBool)(s->newrow || s->dnewrow || ranks);
  s->info.kl = s->band.kl = kept[0];
  s->info.ku = s->band.ku = kept[1];
  PetscCall(PetscInfo(pc,
                      "Half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT " natural, %" PetscInt_FMT ",%" PetscInt_FMT
                      " factored in %s ordering\n",
                      full[0], full[1], kept[0], kept[1],
                      s->info.reordered ? (isauto ? MATORDERINGRCM : s->ordering) : MATORDERINGNATURAL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether a band that was decided from values still holds what was asked for, and systems that were found in it are
  still alone
*/
PetscBool PCSpikeBandHolds_Private(const PC_Spike *s, const SpikeFillStats *st, PetscBool periodicjoined)
{
  if (st->badrow >= 0) return PETSC_TRUE;
  if (periodicjoined) return PETSC_FALSE;
  if (st->joined >= 0) return PETSC_FALSE; /* of all ranks: systems and cuts are those of one */
  if (s->givenkl != PETSC_DECIDE || s->info.cut) return PETSC_TRUE;
  /* couplings between ranks that are dropped anyway, at most twice as large a share of the values as before */
  if (s->apart) return (PetscBool)(st->dropped <= (s->dropoff + 2 * s->crossing) * st->sum);
  return (PetscBool)(st->dropped <= s->dropoff * st->sum * (1.0 + 100 * PETSC_MACHINE_EPSILON));
}

/*
  Collective, when somebody asks: the half-bandwidths of the matrix in its own ordering, for values that came in a
  refill, which does not look for them. Without effect where Pmat is not what the refill saw: another type, or not
  assembled.
*/
PetscErrorCode PCSpikeMeasureNatural_Private(PC pc)
{
  PC_Spike        *s   = (PC_Spike *)pc->data;
  Mat              A   = s->aij ? s->aij : pc->pmat;
  const SpikeDIA  *dia = NULL;
  const SpikeLook *look;
  PetscReal       *weight;
  PetscInt         full[4];
  PetscBool        aij;

  PetscFunctionBegin;
  if (s->natural || !s->built || !A->assembled) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->diagonals) {
    PetscCall(PCSpikeGetDIA_Private(pc, &dia));
    if (!dia) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscMalloc1(dia->count, &weight));
    PetscCall(PCSpikeDIAMeasure_Private(pc, dia, full, weight));
    PetscCall(PetscFree(weight));
  } else {
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (!aij) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PCSpikeLook_Private(pc, A, &look));
    full[0] = look->kl;
    full[1] = look->ku;
    PetscCall(PCSpikeLookReset_Private(pc));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, full, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  }
  s->info.natural_kl = full[0];
  s->info.natural_ku = full[1];
  s->natural         = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row of the matrix, global, of a row in band order */
PetscInt PCSpikeOriginalRow_Private(const PC_Spike *s, Mat A, PetscInt row)
{
  PetscInt i = row;

  if (s->newrow) {
    for (i = 0; i < s->band.n && s->newrow[s->matching.active ? s->matching.col[i] : i] != row;) i++;
  }
  return i + A->rmap->rstart;
}

/* Row i of the band, r of the pieces */
static void SpikeSample_Private(const PC_Spike *s, PetscInt i, PetscInt r, PetscInt nparts, const SpikeCSR parts[],
                                SpikeLookSample *sample)
{
  PetscScalar sum[2] = {0.0, 0.0};

  sample->square[0] = sample->square[1] = sample->diagonal = 0.0;
  for (PetscInt p = 0; p < nparts; p++) {
    const SpikeCSR *A = &parts[p];

    for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
      const PetscInt col = SpikeCSRColumn(A, k), d = (s->newrow && !A->colmap ? s->newrow[col] : col) - i;

      if (d >= -s->band.kl && d <= s->band.ku) SpikeLookAdd(sample, sum, d, A->aa[k]);
    }
  }
  for (int side = 0; side < 2; side++) sample->sum[side] = PetscAbsScalar(sum[side]);
}

/*
  Of a row: on each side of the diagonal the root of the sum of squares and the magnitude of the sum, over the magnitude
  of the diagonal entry
*/
static PetscBool SpikeRow_Private(const SpikeLookSample *row, PetscReal square[2], PetscReal sum[2])
{
  for (int side = 0; side < 2; side++) {
    square[side] = PetscSqrtReal(row->square[side]) / row->diagonal;
    sum[side]    = row->sum[side] / row->diagonal;
  }
  return (PetscBool)(row->diagonal > 0.0 && !PetscIsInfOrNanReal(square[0] + square[1] + sum[0] + sum[1]));
}

/*
  How fast the spikes will fall, before there are any: from up to SPIKE_SAMPLED_ROWS rows, each as if all were like it.
  With l and u the weights of both sides of the diagonal, spikes fall over K = max(kl, ku) rows as the falling solutions
  of  x_j = l x_{j-1} + u x_{j+1}:  by 2 l / (1 + sqrt(1 - 4 l u)), or with u for l. Entries of random signs weigh as
  the root of the sum of their squares, entries that add up as their sum. Where the roots alone leave nothing that
  falls, in more than one row of 16, nothing is known: spikes of such matrices may fall or grow. Where only the sums do,
  it is a diffusion, whose slowest mode falls by pi over K lines of K unknowns; 1 stands for that, as sums are only
  nearly so. sampled: the pieces have these rows alone; nparts 0: a look has sampled them.
*/
PetscErrorCode PCSpikeExpectFalloff_Private(PC pc, PetscInt n, PetscBool sampled, PetscInt nparts,
                                            const SpikeCSR parts[])
{
  PC_Spike       *s       = (PC_Spike *)pc->data;
  const PetscInt  rows    = PetscMin(n, SPIKE_SAMPLED_ROWS);
  const PetscReal K       = (PetscReal)PetscMax(PetscMax(s->band.kl, s->band.ku), 1);
  PetscInt        unknown = 0;
  PetscReal       mean    = 0.0, local;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < rows; k++) {
    const PetscInt  r = (PetscInt)((PetscInt64)k * n / rows);
    SpikeLookSample row;
    PetscReal       square[2], sum[2], root, l, u;

    if (nparts) SpikeSample_Private(s, s->newrow ? s->newrow[r] : r, sampled ? k : r, nparts, parts, &row);
    if (!SpikeRow_Private(nparts ? &row : &s->look.found.sample[k], square, sum) || 4 * square[0] * square[1] >= 1)
      unknown++;
    else {
      l    = PetscMax(square[0], sum[0]);
      u    = PetscMax(square[1], sum[1]);
      root = PetscSqrtReal(PetscMax(0, 1 - 4 * l * u));
      mean -= PetscLogReal(PetscMin(1, PetscMax(2 * PetscMax(l, u) / (1 + root), PETSC_MACHINE_EPSILON))) / rows;
    }
  }
  local = 16 * unknown > rows ? 0.0 : -PetscMax(mean, 1 / PetscMax(K, 16)) / K;
  if (!n) local = PETSC_MIN_REAL;
  PetscCallMPI(MPIU_Allreduce(&local, &s->expected, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  PetscCall(PetscInfo(pc, "Spikes are expected to fall by exp(%g) over max(kl, ku) rows%s\n", (double)(s->expected * K),
                      s->expected < 0.0 ? "" : ": nothing is known"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
