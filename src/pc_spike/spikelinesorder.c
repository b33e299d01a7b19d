/* SPDX-License-Identifier: BSD-2-Clause */
/* spikelinesorder.c: the ordering along strong couplings: in PCSPIKE, and as one of PETSc's orderings */
#include "spikeimpl.h"

static PetscBool  cite       = PETSC_FALSE;
static const char citation[] = "@phdthesis{Klein2022,\n"
                               "  title  = {Algebraic, block and multiplicative preconditioners based on fast\n"
                               "            tridiagonal solves on {GPU}s},\n"
                               "  author = {Christoph Klein},\n"
                               "  school = {Heidelberg University},\n"
                               "  year   = {2022}\n"
                               "}\n";

/*
  PCSpikeLinesBegin_Private - Which half-bandwidths are given in this setup, by the user or by paths; reuse of a setup
  with others is taken back

  Logically Collective

  Note:
  A vertex of a path is a block of rows, bs of them, whose path is a block tridiagonal matrix, within half-bandwidths
  2 bs - 1. Where the user asks for less, vertices are rows.
*/
PetscErrorCode PCSpikeLinesBegin_Private(PC pc, PetscBool *reuse)
{
  PC_Spike      *s        = (PC_Spike *)pc->data;
  const PetscInt given[2] = {s->givenkl, s->givenku}, N = pc->pmat->rmap->N;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGLINES, &s->lines.active));
  s->givenkl = s->userkl;
  s->givenku = s->userku;
  if (!s->lines.active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscCall(MatGetBlockSize(pc->pmat, &s->lines.find.bs));
  if (s->matching.type == PC_SPIKE_MATCHING_ALWAYS ||
      (s->userkl != PETSC_DECIDE && PetscMax(s->userkl, s->userku) < 2 * s->lines.find.bs - 1))
    s->lines.find.bs = 1;
  if (s->userkl == PETSC_DECIDE) s->givenkl = s->givenku = PetscMax(0, PetscMin(2 * s->lines.find.bs - 1, N - 1));
  if (s->givenkl != given[0] || s->givenku != given[1]) *reuse = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* newrow, which is on the device alone where paths were found there, and asked for on the host now and then */
PetscErrorCode PCSpikeLinesFetch_Private(PC pc)
{
  PC_Spike               *s = (PC_Spike *)pc->data;
  const SpikeBandKernels *k = s->lines.k;
  const size_t            n = (size_t)pc->pmat->rmap->n;

  PetscFunctionBegin;
  if (!k || !s->dnewrow || s->newrow) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &s->newrow));
  PetscCall((*k->begin)(&s->band));
  PetscCall((*k->copy2d)(&s->band, PETSC_FALSE, PETSC_TRUE, s->newrow, 0, s->dnewrow, 0, n * sizeof(*s->newrow), 1));
  PetscCall((*k->end)(&s->band));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Paths that a device has found are not taken */
PetscErrorCode PCSpikeLinesDrop_Private(PC pc)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (s->lines.k) PetscCall((*s->lines.k->release)(&s->band, (void **)&s->dnewrow));
  s->lines.k = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as if the host had found them: the band has other factors than those that the look is for */
PetscErrorCode PCSpikeLinesToHost_Private(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeLinesFetch_Private(pc));
  PetscCall(PCSpikeLinesDrop_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeLinesLook_Private - dnewrow of this rank along paths that the device finds, where the matrix is there

  Not Collective

  Output Parameter:
. found - whether it has; else the host is to look

  Note:
  What the look at the matrix says of cuts and samples is then that of the band.
*/
PetscErrorCode PCSpikeLinesLook_Private(PC pc, Mat A, PetscBool *found)
{
  PC_Spike               *s = (PC_Spike *)pc->data;
  SpikeLines             *l = &s->lines.find;
  const SpikeLookKernels *k = s->look.device ? SpikeLookKernelsFind(s->band.k->memtype) : NULL;
  SpikePaths              paths;
  SpikeCSR                parts[2];
  PetscInt                nparts;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  if (!k || !k->paths || l->bs > 1 || s->givenkl != 1 || s->givenku != 1 || s->matching.B ||
      s->matching.type == PC_SPIKE_MATCHING_ALWAYS)
    PetscFunctionReturn(PETSC_SUCCESS);
  paths.threshold = l->threshold;
  paths.uncut     = PCSpikeExchanges_Private(s);
  PetscCall(PCSpikeGetCSR_Private(pc, A, s->band.k->memtype, &nparts, parts));
  s->look.id = 0; /* nothing but a band in this order asks this look again */
  PetscCall(PetscLogEventBegin(PC_Spike_Lines, pc, A, 0, 0));
  PetscCall((*k->paths)(&paths, &s->look.found, &parts[0]));
  PetscCall(PetscLogEventEnd(PC_Spike_Lines, pc, A, 0, 0));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, s->band.k->memtype, &nparts, parts));
  if (paths.why) {
    PetscCall(PetscInfo(pc, "%s: the host looks for paths of strong couplings\n", paths.why));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  l->paths    = paths.paths;
  l->shortest = paths.shortest;
  l->longest  = paths.longest;
  s->dnewrow  = paths.newrow;
  s->lines.k  = s->band.k;
  *found      = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeLinesOrder_Private - newrow of each rank along paths of its own rows, unless PCSpikeLinesLook_Private() has
  found them; on one rank NULL where they follow one another as they are

  Collective

  Input Parameters:
+ A    - the matrix that is factored
. size - ranks
- own  - entries in the rank's own columns; NULL: PCSpikeLinesLook_Private() has found newrow
*/
PetscErrorCode PCSpikeLinesOrder_Private(PC pc, Mat A, PetscMPIInt size, const SpikeCSR *own)
{
  PC_Spike      *s     = (PC_Spike *)pc->data;
  SpikeLines    *l     = &s->lines.find;
  const PetscInt n     = A->rmap->n;
  PetscBool      moves = PETSC_FALSE;

  PetscFunctionBegin;
  if (own) {
    PetscCall(PetscMalloc1(n, &s->newrow));
    PetscCall(SpikeLinesReset(l)); /* after an error */
    l->uncut = PCSpikeExchanges_Private(s);
    PetscCall(PetscLogEventBegin(PC_Spike_Lines, pc, A, 0, 0));
    PetscCall(SpikeLinesFind(l, n, own, s->newrow));
    PetscCall(PetscLogEventEnd(PC_Spike_Lines, pc, A, 0, 0));
    for (PetscInt i = 0; i < n && !moves; i++) moves = (PetscBool)(s->newrow[i] != i);
    if (size == 1 && !moves) PetscCall(PetscFree(s->newrow));
  }
  if (size > 1) PetscCall(PCSpikePlaces_Private(pc, A));
  PetscCall(PetscInfo(pc,
                      "%" PetscInt_FMT " paths of %" PetscInt_FMT " to %" PetscInt_FMT " vertices of %" PetscInt_FMT
                      " rows along strong couplings of this rank's rows, found on the %s\n",
                      l->paths, l->shortest, l->longest, l->bs, own ? "host" : "device"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: paths of all ranks */
PetscErrorCode PCSpikeLinesView_Private(PC pc, PetscViewer viewer)
{
  const PC_Spike   *s      = (const PC_Spike *)pc->data;
  const SpikeLines *l      = &s->lines.find;
  MPI_Comm          comm   = PetscObjectComm((PetscObject)pc);
  PetscBool         device = (PetscBool)(s->lines.k || !l->paths);
  PetscInt          sum, max[2];
  char              rows[64];

  PetscFunctionBegin;
  if (!s->lines.active) PetscFunctionReturn(PETSC_SUCCESS);
  max[0] = l->longest;
  max[1] = l->paths ? -l->shortest : PETSC_INT_MIN;
  PetscCallMPI(MPIU_Allreduce(&l->paths, &sum, 1, MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 2, MPIU_INT, MPI_MAX, comm));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &device, 1, MPI_C_BOOL, MPI_LAND, comm));
  if (!sum) device = PETSC_FALSE;
  PetscCall(PetscSNPrintf(rows, sizeof(rows), l->bs > 1 ? "blocks of %" PetscInt_FMT " rows" : "rows", l->bs));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt_FMT " paths of %" PetscInt_FMT " to %" PetscInt_FMT
                                   " %s, along couplings not below %g of a row's strongest%s; others are dropped\n",
                                   sum, sum ? -max[1] : 0, max[0], rows, (double)l->threshold,
                                   device ? ", found on GPUs" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetLinesThreshold_Spike(PC pc, PetscReal threshold)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (threshold == (PetscReal)PETSC_DECIDE) threshold = SPIKE_LINES_THRESHOLD;
  PetscCheck(threshold >= 0.0 && threshold <= 1.0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Threshold of strong couplings %g must be in [0, 1], or PETSC_DECIDE", (double)threshold);
  if (s->lines.find.threshold != threshold) PetscCall(PCSpikeChanged_Private(pc));
  s->lines.find.threshold = threshold;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetLinesThreshold_Spike(PC pc, PetscReal *threshold)
{
  PetscFunctionBegin;
  *threshold = ((PC_Spike *)pc->data)->lines.find.threshold;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetLinesThreshold - Which couplings are strong for the ordering `MATORDERINGLINES`

  Logically Collective

  Input Parameters:
+ pc        - the preconditioner context
- threshold - fraction in [0, 1], or `PETSC_DECIDE` for 0.25, the default

  Options Database Key:
. -pc_spike_lines_threshold fraction - the fraction

  Level: intermediate

  Note:
  A coupling of two rows may be taken where it is at least this fraction of the strongest one of either row. With 0 each
  entry may be: ends of paths are joined by whatever couples them, so that there are fewer and longer paths, and hardly
  fewer iterations.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetLinesThreshold()`, `MATORDERINGLINES`, `PCFactorSetMatOrderingType()`
@*/
PetscErrorCode PCSpikeSetLinesThreshold(PC pc, PetscReal threshold)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, threshold, 2);
  PetscTryMethod(pc, "PCSpikeSetLinesThreshold_C", (PC, PetscReal), (pc, threshold));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetLinesThreshold - What `PCSpikeSetLinesThreshold()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. threshold - the fraction

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetLinesThreshold()`
@*/
PetscErrorCode PCSpikeGetLinesThreshold(PC pc, PetscReal *threshold)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(threshold, 2);
  PetscUseMethod(pc, "PCSpikeGetLinesThreshold_C", (PC, PetscReal *), (pc, threshold));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeLinesSetFromOptions_Private(PC pc, PetscOptionItems PetscOptionsObject)
{
  PetscReal threshold = ((PC_Spike *)pc->data)->lines.find.threshold;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsReal("-pc_spike_lines_threshold", "Strong couplings, as a fraction of a row's strongest",
                             "PCSpikeSetLinesThreshold", threshold, &threshold, &set));
  if (set) PetscCall(PCSpikeSetLinesThreshold(pc, threshold));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeLinesMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetLinesThreshold_C", PCSpikeSetLinesThreshold_Spike);
  SpikeCompose("PCSpikeGetLinesThreshold_C", PCSpikeGetLinesThreshold_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  MATORDERINGLINES - "lines": rows along disjoint paths of the strongest couplings of a matrix, so that its tridiagonal
  part has these

  Options Database Keys:
+ -pc_spike_mat_ordering_type lines          - the ordering of `PCSPIKE`
- -mat_ordering_lines_threshold fraction     - strong couplings in `MatGetOrdering()`, by default 0.25; with the prefix
                                               of the matrix. `PCSPIKE` has `PCSpikeSetLinesThreshold()` instead

  Level: intermediate

  Notes:
  The weight of a coupling is |a_ij| / |a_ii| + |a_ji| / |a_jj|. Couplings are looked at from the strongest to the
  weakest. Each is taken where both rows have fewer than two and no cycle closes. What is below a threshold of the
  strongest coupling of both rows is left out. The work is linear in the number of entries. Equal weights are taken in
  the order of rows: the result depends on the matrix alone, and on where it is found.

  `PCSPIKE` with this ordering factors half-bandwidth 1, unless `PCSpikeSetBandwidth()` says otherwise, and drops the
  rest: line relaxation for a matrix whose lines nobody has told, as preconditioner or smoother. Of a matrix with a
  block size, `MatSetBlockSize()`, blocks of rows are numbered along paths, and the half-bandwidth is 2 bs - 1. Paths
  lie inside a rank, and nothing couples ranks. They are those of the values of the first setup for a pattern; later
  values only refill.

  `PCILU` and `PCICC` (-pc_factor_mat_ordering_type lines) have the strong couplings beside the diagonal in this order,
  which takes far fewer iterations for anisotropic problems than a random one.

  `MatGetOrdering()` takes matrices on one rank, and `MATMPIAIJ`, of which each rank orders its own rows. Of
  `MATSEQBAIJ` and `MATSEQSBAIJ` it gives a permutation of blocks, as other orderings do.

  Of a `MATAIJCUSPARSE` without a block size a GPU finds the paths of `PCSPIKE` with half-bandwidth 1, where the
  diagonal entry of each row is larger than its couplings in the path together, and each coupling has an entry on both
  sides of the diagonal; the host looks else, which -info tells. The GPU takes couplings in rounds, of equal weights
  those of nearer rows first, and breaks cycles at their weakest coupling: the paths may be others than the host's. They
  are at least half as heavy too, and a view says so.

  A path of rows is cut where the next pivot of its system would be smaller than 0.9 times the next coupling, or have
  another sign than the diagonal, unless rows are exchanged (`PCSpikeSetPivoting()`). Dominant rows know no such pivots.
  Matrices with couplings of both signs do, such as those of coarse meshes of multigrid, and the piece of a positive
  definite matrix that a long path leaves would not be definite.

  References:
  Klein, Algebraic, block and multiplicative preconditioners based on fast tridiagonal solves on GPUs, Heidelberg
  University (2022); Klein and Strzodka, Highly parallel linear forest extraction from a weighted graph on GPUs (2022).

.seealso: [](ch_ksp), `PCSPIKE`, `PCFactorSetMatOrderingType()`, `PCSpikeSetLinesThreshold()`, `MatGetOrdering()`,
`PCSpikeSetBandwidth()`
M*/
PetscErrorCode MatGetOrdering_Lines(Mat A, MatOrderingType type, IS *rperm, IS *cperm)
{
  SpikeLines  l = {0};
  Mat         B = A, copy = NULL;
  SpikeCSR    csr;
  PetscInt    n, *newrow, *perm;
  PetscMPIInt size;
  PetscBool   aij, blocks;

  PetscFunctionBegin;
  (void)type;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(size == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "Ordering %s takes a matrix on one rank, or MATMPIAIJ", MATORDERINGLINES);
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &aij));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &blocks, MATSEQBAIJ, MATSEQSBAIJ, ""));
  l.threshold = SPIKE_LINES_THRESHOLD;
  PetscCall(PetscOptionsGetReal(((PetscObject)A)->options, ((PetscObject)A)->prefix, "-mat_ordering_lines_threshold",
                                &l.threshold, NULL));
  PetscCheck(l.threshold >= 0.0 && l.threshold <= 1.0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_ordering_lines_threshold %g must be in [0, 1]", (double)l.threshold);
  if (!aij) PetscCall(MatConvert(A, MATSEQAIJ, MAT_INITIAL_MATRIX, &copy));
  if (copy) B = copy;
  PetscCall(MatGetBlockSize(A, &l.bs));
  n = A->rmap->n;
  PetscCall(PetscMalloc1(n, &newrow));
  PetscCall(SpikeMatSeqAIJGetCSR(B, PETSC_MEMTYPE_HOST, &csr));
  PetscCall(SpikeLinesFind(&l, n, &csr, newrow));
  PetscCall(SpikeMatSeqAIJRestoreCSR(B, PETSC_MEMTYPE_HOST, &csr));
  PetscCall(MatDestroy(&copy));
  if (blocks) { /* the first row of each is enough */
    n /= l.bs;
    for (PetscInt v = 0; v < n; v++) newrow[v] = newrow[v * l.bs] / l.bs;
  }
  PetscCall(PetscMalloc1(n, &perm));
  for (PetscInt i = 0; i < n; i++) perm[newrow[i]] = i;
  PetscCall(PetscFree(newrow));
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, n, perm, PETSC_OWN_POINTER, rperm));
  PetscCall(PetscObjectReference((PetscObject)*rperm));
  *cperm = *rperm;
  PetscFunctionReturn(PETSC_SUCCESS);
}
