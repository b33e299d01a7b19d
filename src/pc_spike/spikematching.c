/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikematching.c: large entries on the diagonal before the band is factored: a row permutation and scalings of rows and
  columns, so that the entries of the diagonal are 1 in magnitude and no other is larger (but for rounding scales to
  powers of two)
*/
#include "spikeimpl.h"
#include "common/matching.h"

/*
  With P the row permutation and R, C the scales the band is that of B = P R A C, and  A^-1 b = C B^-1 (P R b). On
  several ranks each one matches the rows and columns of its diagonal block: rows stay on their rank, and entries of
  other columns are scaled. B is there while band and ordering are chosen. Fills take A: rows and columns have their
  places, and the host scales values on their way to the band; for a device it scales them before.
*/

#define SPIKE_MATCHING_WIDER 4 /* a band that becomes so many times as wide is not worth it */

PetscErrorCode PCSpikeMatchingReset_Private(PC pc)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;

  PetscFunctionBegin;
  if (s->band.k && !PetscMemTypeHost(s->band.k->memtype)) {
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->place));
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->dr));
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->dc));
    for (int p = 0; p < 2; p++) PetscCall((*s->band.k->release)(&s->band, (void **)&m->dvalues[p]));
  } else PetscCall(PetscFree(m->place));
  m->place = NULL;
  m->dr = m->dc = NULL;
  PetscCall(PetscFree(m->values[0]));
  PetscCall(PetscFree(m->values[1]));
  PetscCall(PetscFree3(m->col, m->r, m->c));
  PetscCall(PetscFree(m->ghost));
  PetscCall(MatDestroy(&m->B));
  m->active       = PETSC_FALSE;
  s->info.matched = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the options leave rows and columns open; *always: a matching is asked for */
static PetscErrorCode PCSpikeMatchingMay_Private(PC pc, PetscBool *may, PetscBool *always)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;
  PetscMPIInt     size;
  PetscBool       isauto, natural;

  PetscFunctionBegin;
  PetscCall(PCSpikeCheckBand_Private(pc, &size, &isauto, &natural));
  *always = (PetscBool)(s->matching.type == PC_SPIKE_MATCHING_ALWAYS);
  *may    = (PetscBool)(s->matching.type == PC_SPIKE_MATCHING_AUTO && isauto && s->givenkl == PETSC_DECIDE &&
                     !PCSpikeExchanges_Private(s) && !s->definite && !s->cyclic.found);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether some diagonal entry of A is missing or small beside others of its row in the diagonal block, on any rank, or
  pivots were
*/
static PetscErrorCode PCSpikeMatchingWanted_Private(PC pc, Mat A, PetscBool *wanted)
{
  const PC_Spike  *s   = (const PC_Spike *)pc->data;
  PetscBool        may = PETSC_FALSE;
  const SpikeLook *look;

  PetscFunctionBegin;
  PetscCall(PCSpikeMatchingMay_Private(pc, &may, wanted));
  if (may && s->matching.wanted != PETSC_BOOL3_UNKNOWN) *wanted = PetscBool3ToBool(s->matching.wanted);
  else if (may && !*wanted) {
    PetscCall(PCSpikeLook_Private(pc, A, &look));
    *wanted = (PetscBool)(look->weak >= 0);
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, wanted, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is known of a new pattern */
void PCSpikeMatchingForget_Private(PC_Spike *s)
{
  s->matching.wanted   = PETSC_BOOL3_UNKNOWN;
  s->matching.error[0] = s->matching.error[1] = -1.0;
  s->matching.sound[0] = s->matching.sound[1] = PETSC_FALSE;
  s->matching.unmatched[0]                    = 0;
  s->info.unmatched                           = 0;
}

/*
  Whether the factors of one way are to be taken, not those of the other one. Errors are of two solves, in a norm that
  knows little of rows of small size: sound factors are taken, whatever those with boosted pivots seem to be
*/
static PetscBool PCSpikeMatchingBetter_Private(const PCSpikeMatching *m, int way)
{
  if (m->sound[0] != m->sound[1]) return m->sound[way];
  return (PetscBool)(way ? m->error[1] < m->error[0] : m->error[0] <= m->error[1]);
}

/*
  Small pivots, which were boosted, or ended the factorization: the other way, with a matching or without one, is tried
  once for a pattern, and the one whose factors are less wrong taken. *again: the setup has to be made anew for that. A
  refill (reuse) whose factors fail, or are ten times as wrong as those that were chosen, begins from scratch: what was
  chosen for other values may not suit these.
*/
PetscErrorCode PCSpikeMatchingAfter_Private(PC pc, PetscBool reuse, const PCSpikePivots *pivots, PetscBool *again)
{
  PC_Spike         *s     = (PC_Spike *)pc->data;
  const SpikePivot *pivot = &pivots->partition;
  PCSpikeMatching  *m     = &s->matching;
  const int         mine  = m->active ? 1 : 0;
  PetscReal         error = PETSC_MAX_REAL, backward = PETSC_MAX_REAL;
  PetscBool         always, may                      = PETSC_FALSE, has, failed, bad[4];

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  bad[0] = (PetscBool)(pivot->badrow >= 0);
  bad[1] = (PetscBool)(pivot->nboost > 0);
  bad[2] = (PetscBool)(bad[0] && !(pivot->badvalue <= pivot->tol));
  bad[3] = (PetscBool)(s->band.coupled && (pivots->reduced.nboost > 0 || pivots->reduced.badrow >= 0));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bad, 4, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  failed              = bad[0];
  s->trial.boosted    = bad[1];
  s->trial.overflow   = bad[2];
  s->trial.interfaces = bad[3];
  if (!failed && !bad[1] && !m->trying) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeMatchingMay_Private(pc, &may, &always));
  if (always && reuse) *again = failed;
  if (!may && !m->trying) PetscFunctionReturn(PETSC_SUCCESS);
  if (!reuse && m->error[0] >= 0.0 && m->error[1] >= 0.0) PetscFunctionReturn(PETSC_SUCCESS); /* decided */
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  if (!failed && has) PetscCall(PCSpikeError_Private(pc, &error, &backward));
  if (reuse) {
    *again = (PetscBool)(failed || m->error[mine] < 0.0 ||
                         error > PetscMax(10 * m->error[mine], PETSC_SQRT_MACHINE_EPSILON));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m->error[mine] = error;
  m->sound[mine] = (PetscBool)(!failed && !bad[1] && backward <= PETSC_SQRT_MACHINE_EPSILON);
  if (m->trying && mine != (m->wanted == PETSC_BOOL3_TRUE)) m->error[1 - mine] = PETSC_MAX_REAL; /* would be wide */
  if (m->error[1 - mine] < 0.0) *again = PETSC_TRUE;
  else *again = (PetscBool)!PCSpikeMatchingBetter_Private(m, mine);
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  m->wanted = PetscBoolToBool3((PetscBool)!mine);
  s->again  = SPIKE_AGAIN_MATCHING;
  PetscCall(PetscInfo(pc, "Pivots are small: %s large entries on the diagonal\n", mine ? "without" : "looking for"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was tried has no factors at all: back to what there was before, which had some */
PetscErrorCode PCSpikeMatchingReject_Private(PC pc, PetscBool *again)
{
  PC_Spike        *s    = (PC_Spike *)pc->data;
  PCSpikeMatching *m    = &s->matching;
  const int        mine = m->active ? 1 : 0;

  PetscFunctionBegin;
  *again = (PetscBool)(m->trying && m->error[mine] < 0.0);
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  m->error[mine] = PETSC_MAX_REAL;
  m->wanted      = PetscBoolToBool3((PetscBool)!mine);
  s->again       = SPIKE_AGAIN_MATCHING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B: its values are those of A, scaled */
static PetscErrorCode PCSpikeMatchingCreate_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[])
{
  PCSpikeMatching *m = &((PC_Spike *)pc->data)->matching;
  const PetscInt   n = A->rmap->n, rstart = A->rmap->rstart;
  PetscInt        *bi, *bj, nz = parts[0].ai[n] + (nparts == 2 ? parts[1].ai[n] : 0);
  PetscScalar     *ba;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &bi, nz, &bj, nz, &ba));
  bi[0] = 0;
  for (PetscInt p = 0; p < nparts; p++)
    for (PetscInt i = 0; i < n; i++)
      bi[m->col[i] + 1] = (p ? bi[m->col[i] + 1] : 0) + parts[p].ai[i + 1] - parts[p].ai[i];
  for (PetscInt i = 0; i < n; i++) bi[i + 1] += bi[i];
  for (PetscInt i = 0; i < n; i++) {
    PetscInt to = bi[m->col[i]];

    for (PetscInt p = 0; p < nparts; p++) {
      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++, to++) {
        bj[to] = p ? parts[p].colmap[parts[p].aj[k]] : parts[p].aj[k] + rstart;
        ba[to] = SpikeScaled(parts[p].aa[k], m->r[i], (p ? m->ghost : m->c)[parts[p].aj[k]]);
      }
    }
    /* columns in order, as in A */
    PetscCall(PetscSortIntWithScalarArray(to - bi[m->col[i]], bj + bi[m->col[i]], ba + bi[m->col[i]]));
  }
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &m->B));
  PetscCall(MatSetSizes(m->B, n, n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(m->B, nparts == 2 ? MATMPIAIJ : MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(m->B, bi, bj, ba));
  PetscCall(MatMPIAIJSetPreallocationCSR(m->B, bi, bj, ba));
  PetscCall(PetscFree3(bi, bj, ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Scales of the columns of the off-diagonal block */
static PetscErrorCode PCSpikeMatchingGhosts_Private(PC pc, Mat A, PetscInt nparts)
{
  PCSpikeMatching *m = &((PC_Spike *)pc->data)->matching;
  PetscInt         ncols;
  Mat              Ao;

  PetscFunctionBegin;
  if (nparts < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &Ao, NULL));
  PetscCall(MatGetSize(Ao, NULL, &ncols));
  if (!m->ghost) PetscCall(PetscMalloc1(PetscMax(ncols, 1), &m->ghost));
  PetscCall(PCSpikeGhosts_Private(A, MPIU_REAL, m->c, m->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Notes how many rows have no partner, and which ones, by their numbers in the matrix: the first ones of all ranks.
  A matching that is given up later was right about them
*/
static PetscErrorCode PCSpikeMatchingUnmatched_Private(PC pc, PetscInt unmatched, PetscInt first[])
{
  PC_Spike   *s     = (PC_Spike *)pc->data;
  char       *text  = s->matching.unmatched, number[32];
  MPI_Comm    comm  = PetscObjectComm((PetscObject)pc);
  PetscInt    named = 0, *all;
  PetscMPIInt size;

  PetscFunctionBegin;
  text[0] = 0;
  PetscCallMPI(MPIU_Allreduce(&unmatched, &s->info.unmatched, 1, MPIU_INT, MPI_SUM, comm));
  if (!s->info.unmatched) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1((size_t)size * SPIKE_MATCHING_NAMED, &all));
  for (PetscInt k = 0; k < SPIKE_MATCHING_NAMED && first[k] >= 0; k++) first[k] += pc->pmat->rmap->rstart;
  PetscCallMPI(MPI_Allgather(first, SPIKE_MATCHING_NAMED, MPIU_INT, all, SPIKE_MATCHING_NAMED, MPIU_INT, comm));
  for (PetscInt k = 0; k < size * SPIKE_MATCHING_NAMED && named < SPIKE_MATCHING_NAMED; k++) {
    if (all[k] < 0) continue;
    PetscCall(PetscSNPrintf(number, sizeof(number), "%s%" PetscInt_FMT, named ? ", " : "", all[k]));
    PetscCall(PetscStrlcat(text, number, sizeof(s->matching.unmatched)));
    named++;
  }
  PetscCall(PetscFree(all));
  if (s->info.unmatched > named) {
    PetscCall(PetscSNPrintf(number, sizeof(number), " and %" PetscInt_FMT " more", s->info.unmatched - named));
    PetscCall(PetscStrlcat(text, number, sizeof(s->matching.unmatched)));
  }
  PetscCall(
    PetscInfo(pc, "%s structurally singular: %" PetscInt_FMT " rows have no entry that could be on the diagonal: %s\n",
              size > 1 ? "Diagonal blocks of ranks are" : "The matrix is", s->info.unmatched, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs, scales and B of A; none where A has entries that are not finite, which the fill reports */
static PetscErrorCode PCSpikeMatchingMake_Private(PC pc, Mat A)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;
  const PetscInt   n = A->rmap->n;
  SpikeCSR         parts[2];
  PetscInt         nparts, unmatched, first[SPIKE_MATCHING_NAMED];
  PetscBool        finite;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &m->col, n, &m->r, n, &m->c));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  /* columns, not their places in an ordering that was chosen without a matching */
  if (nparts == 2) PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, NULL, &parts[1].colmap));
  PetscCall(SpikeMatching(n, &parts[0], m->col, m->r, m->c, &unmatched, first, &finite));
  PetscCall(PCFactoredAgree_Private(pc, &finite));
  if (finite) PetscCall(PCSpikeMatchingUnmatched_Private(pc, unmatched, first));
  if (finite) {
    PetscCall(PCSpikeMatchingGhosts_Private(pc, A, nparts));
    PetscCall(PCSpikeMatchingCreate_Private(pc, A, nparts, parts));
  }
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeMatchingChooseBand_Private - Half-bandwidths and ordering of a matrix, after a matching where its diagonal asks
  for one

  Input/Output Parameter:
. A - the matrix as AIJ; on return B where rows and columns are matched, which goes when the rest has been chosen
*/
PetscErrorCode PCSpikeMatchingChooseBand_Private(PC pc, Mat *A)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;
  PetscInt         before, natural[2];
  PetscBool        wanted;

  PetscFunctionBegin;
  PetscCall(PCSpikeChooseBand_Private(pc, *A));
  PetscCall(PCSpikeMatchingWanted_Private(pc, *A, &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  before     = PetscMax(s->band.kl, s->band.ku);
  natural[0] = s->info.natural_kl;
  natural[1] = s->info.natural_ku;
  PetscCall(PCSpikeMatchingMake_Private(pc, *A));
  if (m->B) {
    PetscCall(PCSpikeUnchooseBand_Private(pc));
    PetscCall(PCSpikeChooseBand_Private(pc, m->B));
    s->info.natural_kl = natural[0];
    s->info.natural_ku = natural[1];
  }
  if (m->B && m->type == PC_SPIKE_MATCHING_AUTO &&
      PetscMax(s->band.kl, s->band.ku) > SPIKE_MATCHING_WIDER * PetscMax(before, 16)) {
    PetscCall(PetscInfo(pc, "Large entries on the diagonal would widen the band: rows and columns stay as they are\n"));
    PetscCall(PCSpikeUnchooseBand_Private(pc));
    PetscCall(MatDestroy(&m->B));
    PetscCall(PCSpikeChooseBand_Private(pc, *A));
  }
  if (!m->B) {
    PetscCall(PetscFree3(m->col, m->r, m->c));
    PetscCall(PetscFree(m->ghost));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->info.matched = m->active = PETSC_TRUE;
  if (!s->newrow) { /* columns have places where rows have others */
    PetscCall(PetscMalloc1((*A)->rmap->n, &s->newrow));
    for (PetscInt i = 0; i < (*A)->rmap->n; i++) s->newrow[i] = i;
  }
  *A = m->B;
  PetscCall(PetscInfo(pc, "Rows are permuted and scaled for large entries on the diagonal\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Permutation and scales where the backend works */
PetscErrorCode PCSpikeMatchingUpload_Private(PC pc)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  SpikeBand       *b = &s->band;
  PCSpikeMatching *m = &s->matching;
  PetscInt        *place;

  PetscFunctionBegin;
  if (!m->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(b->n, &place));
  for (PetscInt i = 0; i < b->n; i++) place[i] = s->newrow[m->col[i]];
  if (PetscMemTypeHost(b->k->memtype)) {
    m->place    = place;
    m->dr       = m->r;
    m->dc       = m->c;
    b->rowplace = m->place;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!b->n) {
    PetscCall(PetscFree(place));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscInt), (void **)&m->place));
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscReal), (void **)&m->dr));
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscReal), (void **)&m->dc));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->place, 0, place, 0, b->n * sizeof(PetscInt), 1));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dr, 0, m->r, 0, b->n * sizeof(PetscReal), 1));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dc, 0, m->c, 0, b->n * sizeof(PetscReal), 1));
  PetscCall(PetscFree(place));
  b->rowplace = m->place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The pieces of A for a fill: the host's fill scales entries itself. For a device their values are scaled here, on the
  host, and copied
*/
PetscErrorCode PCSpikeMatchingScale_Private(PC pc, Mat A, PetscInt nparts, SpikeCSR parts[])
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  SpikeBand       *b = &s->band;
  PCSpikeMatching *m = &s->matching;
  SpikeCSR         host[2];
  PetscInt         nhost;

  PetscFunctionBegin;
  if (!m->active) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(b->k->memtype)) {
    for (PetscInt p = 0; p < nparts; p++) {
      parts[p].r = m->r;
      parts[p].c = p ? m->ghost : m->c;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m->norm = 0.0;
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nhost, host));
  for (PetscInt i = 0; i < b->n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt p = 0; p < nhost; p++)
      for (PetscInt k = host[p].ai[i]; k < host[p].ai[i + 1]; k++) sum += PetscAbsScalar(host[p].aa[k]);
    m->norm = PetscMax(m->norm, sum);
  }
  for (PetscInt p = 0; p < nhost; p++) {
    const size_t bytes = (size_t)host[p].ai[b->n] * sizeof(PetscScalar);

    if (!m->values[p]) PetscCall(PetscMalloc1(PetscMax(host[p].ai[b->n], 1), &m->values[p]));
    if (!m->dvalues[p]) PetscCall((*b->k->alloc)(b, PetscMax(bytes, sizeof(PetscScalar)), (void **)&m->dvalues[p]));
    for (PetscInt i = 0; i < b->n; i++)
      for (PetscInt k = host[p].ai[i]; k < host[p].ai[i + 1]; k++)
        m->values[p][k] = SpikeScaled(host[p].aa[k], m->r[i], (p ? m->ghost : m->c)[host[p].aj[k]]);
    if (bytes) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dvalues[p], 0, m->values[p], 0, bytes, 1));
    parts[p].aa = m->dvalues[p];
  }
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nhost, host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest magnitude of a scaled entry; collective */
PetscErrorCode PCSpikeMatchingLargest_Private(PC pc, PetscReal *largest)
{
  PC_Spike              *s = (PC_Spike *)pc->data;
  const PCSpikeMatching *m = &s->matching;
  Mat                    A = s->border.T ? s->border.T : s->gather.A ? s->gather.A : PCSpikeRefineMatrix_Private(pc);
  SpikeCSR               parts[2];
  PetscInt               nparts;

  PetscFunctionBegin;
  *largest = 0.0;
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  for (PetscInt p = 0; p < nparts; p++)
    for (PetscInt i = 0; i < s->band.n; i++)
      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++)
        *largest = PetscMax(*largest, PetscAbsScalar(
                                        SpikeScaled(parts[p].aa[k], m->r[i], (p ? m->ghost : m->c)[parts[p].aj[k]])));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  New values in the pattern that was matched. Where scales are to be those of the values, these are matched anew, and
  *reuse becomes false on all ranks where some rows have other columns now. Values that are not finite leave scales as
  they are: the fill reports them
*/
PetscErrorCode PCSpikeMatchingRefill_Private(PC pc, Mat A, PetscBool *reuse)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;
  const PetscInt   n = A->rmap->n;
  SpikeCSR         parts[2];
  PetscInt         nparts, unmatched, first[SPIKE_MATCHING_NAMED], *col;
  PetscReal       *r, *c;
  PetscBool        finite, same;

  PetscFunctionBegin;
  if (!m->active || !m->rescale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(n, &col, n, &r, n, &c));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(SpikeMatching(n, &parts[0], col, r, c, &unmatched, first, &finite));
  PetscCall(PCFactoredAgree_Private(pc, &finite));
  PetscCall(PetscArraycmp(col, m->col, n, &same));
  PetscCall(PCFactoredAgree_Private(pc, &same));
  if (finite && same) {
    SpikeBand *b = &s->band;

    PetscCall(PCSpikeMatchingUnmatched_Private(pc, unmatched, first));
    PetscCall(PetscArraycpy(m->r, r, n));
    PetscCall(PetscArraycpy(m->c, c, n));
    PetscCall(PCSpikeMatchingGhosts_Private(pc, A, nparts));
    if (m->dr != m->r && n) {
      PetscCall((*b->k->begin)(b));
      PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dr, 0, m->r, 0, n * sizeof(PetscReal), 1));
      PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dc, 0, m->c, 0, n * sizeof(PetscReal), 1));
      PetscCall((*b->k->end)(b));
    }
  } else if (finite) {
    PetscCall(PetscInfo(pc, "Other entries belong on the diagonal than for earlier values: choosing again\n"));
    *reuse = PETSC_FALSE;
  }
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PetscFree3(col, r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetMatchingType_Spike(PC pc, PCSpikeMatchingType type)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCheck(type >= PC_SPIKE_MATCHING_AUTO && type <= PC_SPIKE_MATCHING_ALWAYS, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Unknown PCSpikeMatchingType %d", (int)type);
  if (s->matching.type != type) PetscCall(PCSpikeChanged_Private(pc));
  s->matching.type = type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetMatchingType_Spike(PC pc, PCSpikeMatchingType *type)
{
  PetscFunctionBegin;
  *type = ((PC_Spike *)pc->data)->matching.type;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeSetMatchingRescale_Spike(PC pc, PetscBool rescale)
{
  PetscFunctionBegin;
  ((PC_Spike *)pc->data)->matching.rescale = rescale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeGetMatchingRescale_Spike(PC pc, PetscBool *rescale)
{
  PetscFunctionBegin;
  *rescale = ((PC_Spike *)pc->data)->matching.rescale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetMatchingType - When rows are permuted, and rows and columns scaled, for large entries on the diagonal

  Logically Collective

  Input Parameters:
+ pc   - the preconditioner context
- type - `PC_SPIKE_MATCHING_AUTO` (the default), `PC_SPIKE_MATCHING_NONE` or `PC_SPIKE_MATCHING_ALWAYS`

  Options Database Key:
. -pc_spike_matching_type (auto|none|always) - when

  Level: intermediate

  Notes:
  The band is factored without row exchanges (but for `PCSpikeSetPivoting()`). What is on the diagonal matters: with a
  row permutation P and scales R and C, powers of two, the band is that of P R A C, whose diagonal entries are of
  magnitude 1 and whose others are not larger, up to a factor of two. These are found by a maximum product matching, in
  the first setup, on the host; a structurally singular matrix is found so too, and `PCSpikeInfo`, the view and -info
  say how many rows have no partner, and the view and -info which ones, up to eight by their numbers, also where the
  matching is given up. Permutation and scales stay while the pattern of the matrix does
  (`PCSpikeSetMatchingRescale()`). They are applied where the band is filled; for a device the values are scaled on the
  host in each setup, and copied.

  On several ranks each one matches the rows and columns of its own diagonal block: rows stay on their rank.

  `PC_SPIKE_MATCHING_AUTO` looks for an entry of the diagonal that is missing or below a thousandth of the largest of
  its row, where neither ordering, half-bandwidths (`PCSpikeSetBandwidth()`) nor pivoting are set, and keeps the matrix
  as it is where the band would be more than four times as wide otherwise. A band that is filled from the diagonals of a
  `MATDIA` is not looked at before. Where pivots are small nevertheless, that is boosted or zero, it tries the other
  way, of a `MATDIA` by a copy as `MATAIJ`, with a matching or without one, once for a pattern, and takes the one whose
  factors solve A x = A w better, for a random w: that is up to three setups. Later values in the same pattern keep what
  was chosen, unless their factors fail or are ten times as wrong: then everything is chosen again.

  References:
  Duff and Koster, On algorithms for permuting large entries to the diagonal of a sparse matrix, SIAM J. Matrix Anal.
  Appl. 22 (2001).

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetMatchingType()`, `PCSpikeMatchingType`, `PCFactorSetMatOrderingType()`,
`PCFactorReorderForNonzeroDiagonal()`
@*/
PetscErrorCode PCSpikeSetMatchingType(PC pc, PCSpikeMatchingType type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, type, 2);
  PetscTryMethod(pc, "PCSpikeSetMatchingType_C", (PC, PCSpikeMatchingType), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMatchingType - What `PCSpikeSetMatchingType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. type - when rows are permuted for large entries on the diagonal, `PC_SPIKE_MATCHING_AUTO` by default

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMatchingType()`
@*/
PetscErrorCode PCSpikeGetMatchingType(PC pc, PCSpikeMatchingType *type)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(type, 2);
  PetscUseMethod(pc, "PCSpikeGetMatchingType_C", (PC, PCSpikeMatchingType *), (pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeSetMatchingRescale - Whether scales are those of the values of each setup

  Logically Collective

  Input Parameters:
+ pc      - the preconditioner context
- rescale - `PETSC_FALSE` (the default): scales are those of the first values in a pattern

  Options Database Key:
. -pc_spike_matching_rescale (true|false) - whether scales follow the values

  Level: advanced

  Note:
  Where rows are permuted and rows and columns scaled (`PCSpikeSetMatchingType()`), each setup with new values looks for
  the matching again, on the host. If it is the same, the scales of the new values are taken and the band is filled. If
  other entries belong on the diagonal, the setup begins from scratch. The next setup sees a change of this.

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetMatchingRescale()`, `PCSpikeSetMatchingType()`
@*/
PetscErrorCode PCSpikeSetMatchingRescale(PC pc, PetscBool rescale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, rescale, 2);
  PetscTryMethod(pc, "PCSpikeSetMatchingRescale_C", (PC, PetscBool), (pc, rescale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMatchingRescale - What `PCSpikeSetMatchingRescale()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. rescale - whether scales follow the values

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMatchingRescale()`
@*/
PetscErrorCode PCSpikeGetMatchingRescale(PC pc, PetscBool *rescale)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(rescale, 2);
  PetscUseMethod(pc, "PCSpikeGetMatchingRescale_C", (PC, PetscBool *), (pc, rescale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeComposeMatchingMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetMatchingType_C", PCSpikeSetMatchingType_Spike);
  SpikeCompose("PCSpikeGetMatchingType_C", PCSpikeGetMatchingType_Spike);
  SpikeCompose("PCSpikeSetMatchingRescale_C", PCSpikeSetMatchingRescale_Spike);
  SpikeCompose("PCSpikeGetMatchingRescale_C", PCSpikeGetMatchingRescale_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
