/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikematching.c: large entries on the diagonal before the band is factored: a row permutation and scalings of rows and
  columns, so that the entries of the diagonal are 1 in magnitude and no other is larger (but for rounding scales to
  powers of two)
*/
#include "spikeimpl.h"
#include "common/matching.h"

/*
  With P the row permutation and R, C the scales the band is that of B = P R A C, and  A^-1 b = C B^-1 (P R b).  B is a
  copy of A, which each setup fills anew on the host; permutation and scales stay while the pattern does.
*/

#define SPIKE_MATCHING_TINY  1e-3 /* of the largest entry of its row: the diagonal entries that ask for a matching */
#define SPIKE_MATCHING_WIDER 4    /* a band that becomes so many times as wide is not worth it */

PetscErrorCode PCSpikeMatchingReset_Private(PC pc)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;

  PetscFunctionBegin;
  if (s->band.k && !PetscMemTypeHost(s->band.k->memtype)) {
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->place));
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->dr));
    PetscCall((*s->band.k->release)(&s->band, (void **)&m->dc));
  } else PetscCall(PetscFree(m->place));
  m->place = NULL;
  m->dr = m->dc = NULL;
  PetscCall(PetscFree3(m->col, m->r, m->c));
  PetscCall(MatDestroy(&m->B));
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
  PetscCheck(!*always || size == 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCSPIKE matches rows and columns on one rank only, and this matrix lies on %d: use PCSPIKE inside "
             "PCBJACOBI, PCASM, PCREDUNDANT or PCTELESCOPE",
             size);
  *may = (PetscBool)(s->matching.type == PC_SPIKE_MATCHING_AUTO && size == 1 && isauto && s->userkl == PETSC_DECIDE &&
                     !s->pivoting && !s->definite && !s->cyclic.found && !s->diagonals);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some diagonal entry is missing or small beside others of its row, or pivots were */
static PetscErrorCode PCSpikeMatchingWanted_Private(PC pc, PetscInt n, const SpikeCSR *A, PetscBool *wanted)
{
  const PC_Spike *s   = (const PC_Spike *)pc->data;
  PetscBool       may = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCSpikeMatchingMay_Private(pc, &may, wanted));
  if (may && s->matching.wanted != PETSC_BOOL3_UNKNOWN) *wanted = PetscBool3ToBool(s->matching.wanted);
  for (PetscInt i = 0; i < n && may && s->matching.wanted == PETSC_BOOL3_UNKNOWN && !*wanted; i++) {
    PetscReal diag = 0.0, most = 0.0;

    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const PetscReal a = PetscAbsScalar(A->aa[k]);

      if (A->aj[k] == i) diag = a;
      most = PetscMax(most, a);
    }
    *wanted = (PetscBool)(diag < (PetscReal)SPIKE_MATCHING_TINY * most);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is known of a new pattern */
void PCSpikeMatchingForget_Private(PC_Spike *s)
{
  s->matching.wanted   = PETSC_BOOL3_UNKNOWN;
  s->matching.error[0] = s->matching.error[1] = -1.0;
  s->info.unmatched                           = 0;
}

/*
  How wrong factors are, on what has a solution if the matrix is singular: the larger one of ||E v|| / ||v|| for v = A
  w, w random, and for E v in place of v, with E = I - A M^-1
*/
static PetscErrorCode PCSpikeMatchingError_Private(PC pc, PetscReal *error)
{
  PC_Spike          *s = (PC_Spike *)pc->data;
  PCSpikeRefinement *f = &s->refine;
  const Mat          A = PCSpikeRefineMatrix_Private(pc);
  Vec                w, v;
  PetscReal          norm, next;

  PetscFunctionBegin;
  *error      = 0.0;
  s->factored = s->numeric = PETSC_TRUE; /* they are, and may be applied */
  PetscCall(PCSpikeGetProbe_Private(pc, &w));
  PetscCall(VecDuplicate(w, &v));
  PetscCall(MatMult(A, w, v));
  PetscCall(VecNorm(v, NORM_2, &norm));
  for (int k = 0; k < 2 && norm > 0.0; k++, norm = next) {
    PetscCall(VecScale(v, 1.0 / norm));
    PetscCall(PCSpikeApply_Private(pc, PETSC_FALSE, v, f->d));
    PetscCall(VecNorm(f->d, NORM_2, &next));
    if (!PetscIsInfOrNanReal(next)) {
      PetscCall(MatMult(A, f->d, f->r));
      PetscCall(VecAXPY(v, -1.0, f->r));
      PetscCall(VecNorm(v, NORM_2, &next));
    }
    if (PetscIsInfOrNanReal(next)) next = PETSC_MAX_REAL;
    *error = PetscMax(*error, next);
    if (next == PETSC_MAX_REAL) break;
  }
  PetscCall(VecDestroy(&v));
  s->factored = s->numeric = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Small pivots, which were boosted, or ended the factorization: the other way, with a matching or without one, is tried
  once for a pattern, and the one whose factors are less wrong taken. *again: the setup has to be made anew for that. A
  refill (reuse) whose factors fail, or are ten times as wrong as those that were chosen, begins from scratch: what was
  chosen for other values may not suit these.
*/
PetscErrorCode PCSpikeMatchingAfter_Private(PC pc, PetscBool reuse, const SpikePivot *pivot, PetscBool *again)
{
  PCSpikeMatching *m      = &((PC_Spike *)pc->data)->matching;
  const int        mine   = m->B ? 1 : 0;
  const PetscBool  failed = (PetscBool)(pivot->badrow >= 0);
  PetscReal        error  = PETSC_MAX_REAL;
  PetscBool        always, may = PETSC_FALSE, has;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!failed && !pivot->nboost && !m->trying) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeMatchingMay_Private(pc, &may, &always));
  if (always && reuse) *again = failed;
  if (!may && !m->trying) PetscFunctionReturn(PETSC_SUCCESS);
  if (!reuse && m->error[0] >= 0.0 && m->error[1] >= 0.0) PetscFunctionReturn(PETSC_SUCCESS); /* decided */
  PetscCall(MatHasOperation(PCSpikeRefineMatrix_Private(pc), MATOP_MULT, &has));
  if (!failed && has) PetscCall(PCSpikeMatchingError_Private(pc, &error));
  if (reuse) {
    *again = (PetscBool)(failed || m->error[mine] < 0.0 ||
                         error > PetscMax(10 * m->error[mine], PETSC_SQRT_MACHINE_EPSILON));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  m->error[mine] = error;
  if (m->trying && mine != (m->wanted == PETSC_BOOL3_TRUE)) m->error[1 - mine] = PETSC_MAX_REAL; /* would be wide */
  if (m->error[1 - mine] < 0.0) *again = PETSC_TRUE;
  else *again = (PetscBool)(mine ? m->error[0] <= m->error[1] : m->error[1] < m->error[0]);
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  m->wanted = PetscBoolToBool3((PetscBool)!mine);
  m->again  = PETSC_TRUE;
  PetscCall(PetscInfo(pc, "Pivots are small: %s large entries on the diagonal\n", mine ? "without" : "looking for"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was tried has no factors at all: back to what there was before, which had some */
PetscErrorCode PCSpikeMatchingReject_Private(PC pc, PetscBool *again)
{
  PCSpikeMatching *m    = &((PC_Spike *)pc->data)->matching;
  const int        mine = m->B ? 1 : 0;

  PetscFunctionBegin;
  *again = (PetscBool)(m->trying && m->error[mine] < 0.0);
  if (!*again) PetscFunctionReturn(PETSC_SUCCESS);
  m->error[mine] = PETSC_MAX_REAL;
  m->wanted      = PetscBoolToBool3((PetscBool)!mine);
  m->again       = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a r c, which is of ordinary size where a need not be: first what brings it nearer to 1 */
static inline PetscScalar SpikeScale_Private(PetscScalar a, PetscReal r, PetscReal c)
{
  const PetscReal least = PetscMin(r, c), most = PetscMax(r, c);

  return PetscAbsScalar(a) > 1 ? a * least * most : a * most * least;
}

/* The values of A in those of B; the infinity norm of A, which B does not know */
static PetscErrorCode PCSpikeMatchingFill_Private(PC pc, PetscInt n, const SpikeCSR *A)
{
  PCSpikeMatching *m = &((PC_Spike *)pc->data)->matching;
  const PetscInt  *bi;
  PetscScalar     *ba;
  PetscBool        done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(m->B, 0, PETSC_FALSE, PETSC_FALSE, NULL, &bi, NULL, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQAIJ has no rows");
  PetscCall(MatSeqAIJGetArrayWrite(m->B, &ba));
  m->norm = 0.0;
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0;

    for (PetscInt k = A->ai[i], to = bi[m->col[i]]; k < A->ai[i + 1]; k++, to++) {
      ba[to] = SpikeScale_Private(A->aa[k], m->r[i], m->c[A->aj[k]]);
      sum += PetscAbsScalar(A->aa[k]);
    }
    m->norm = PetscMax(m->norm, sum);
  }
  PetscCall(MatSeqAIJRestoreArrayWrite(m->B, &ba));
  PetscCall(MatRestoreRowIJ(m->B, 0, PETSC_FALSE, PETSC_FALSE, NULL, &bi, NULL, &done));
  PetscCall(PetscObjectStateIncrease((PetscObject)m->B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B, of the type of A, with its pattern */
static PetscErrorCode PCSpikeMatchingCreate_Private(PC pc, Mat A, PetscInt n, const SpikeCSR *P)
{
  PCSpikeMatching *m = &((PC_Spike *)pc->data)->matching;
  PetscInt        *bi, *bj;
  PetscMemType     memtype;

  PetscFunctionBegin;
  PetscCall(MatGetMemType_Spike(A, &memtype));
  PetscCall(PetscMalloc2(n + 1, &bi, P->ai[n], &bj));
  for (PetscInt i = 0; i < n; i++) bi[m->col[i] + 1] = P->ai[i + 1] - P->ai[i];
  bi[0] = 0;
  for (PetscInt i = 0; i < n; i++) bi[i + 1] += bi[i];
  for (PetscInt i = 0; i < n; i++)
    PetscCall(PetscArraycpy(bj + bi[m->col[i]], P->aj + P->ai[i], P->ai[i + 1] - P->ai[i]));
  PetscCall(MatCreate(PETSC_COMM_SELF, &m->B));
  PetscCall(MatSetSizes(m->B, n, n, n, n));
  PetscCall(MatSetType(m->B, PetscMemTypeHost(memtype) ? MATSEQAIJ : MATSEQAIJCUSPARSE));
  PetscCall(MatSeqAIJSetPreallocationCSR(m->B, bi, bj, NULL));
  PetscCall(PetscFree2(bi, bj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs, scales and B of A; none where A has entries that are not finite, which the fill reports */
static PetscErrorCode PCSpikeMatchingMake_Private(PC pc, Mat A)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;
  const PetscInt   n = A->rmap->n;
  SpikeCSR         parts[2];
  PetscInt         nparts, first;
  PetscBool        finite;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &m->col, n, &m->r, n, &m->c));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(SpikeMatching(n, &parts[0], m->col, m->r, m->c, &s->info.unmatched, &first, &finite));
  if (finite && s->info.unmatched)
    PetscCall(PetscInfo(pc,
                        "The matrix is structurally singular: %" PetscInt_FMT " rows, row %" PetscInt_FMT
                        " among them, have no entry that could be on the diagonal\n",
                        s->info.unmatched, first + A->rmap->rstart));
  if (finite) {
    PetscCall(PCSpikeMatchingCreate_Private(pc, A, n, &parts[0]));
    PetscCall(PCSpikeMatchingFill_Private(pc, n, &parts[0]));
  }
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeMatchingBand_Private(PC pc, Mat A, PetscBool *wanted)
{
  SpikeCSR parts[2];
  PetscInt nparts;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeChooseBand_Private(pc, A, nparts, parts));
  if (wanted) PetscCall(PCSpikeMatchingWanted_Private(pc, A->rmap->n, &parts[0], wanted));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeMatchingChooseBand_Private - Half-bandwidths and ordering of a matrix, after a matching where its diagonal asks
  for one

  Input/Output Parameter:
. A - the matrix as AIJ; on return B where rows and columns are matched
*/
PetscErrorCode PCSpikeMatchingChooseBand_Private(PC pc, Mat *A)
{
  PC_Spike        *s = (PC_Spike *)pc->data;
  PCSpikeMatching *m = &s->matching;
  PetscInt         before, natural[2];
  PetscBool        wanted;

  PetscFunctionBegin;
  PetscCall(PCSpikeMatchingBand_Private(pc, *A, &wanted));
  if (!wanted) PetscFunctionReturn(PETSC_SUCCESS);
  before     = PetscMax(s->band.kl, s->band.ku);
  natural[0] = s->info.natural_kl;
  natural[1] = s->info.natural_ku;
  PetscCall(PCSpikeMatchingMake_Private(pc, *A));
  if (m->B) {
    PetscCall(PetscFree(s->newrow));
    PetscCall(PCSpikePeriodicDestroy_Private(pc));
    PetscCall(PCSpikeMatchingBand_Private(pc, m->B, NULL));
    s->info.natural_kl = natural[0];
    s->info.natural_ku = natural[1];
  }
  if (m->B && m->type == PC_SPIKE_MATCHING_AUTO &&
      PetscMax(s->band.kl, s->band.ku) > SPIKE_MATCHING_WIDER * PetscMax(before, 16)) {
    PetscCall(PetscInfo(pc, "Large entries on the diagonal would widen the band: rows and columns stay as they are\n"));
    PetscCall(PetscFree(s->newrow));
    PetscCall(PCSpikePeriodicDestroy_Private(pc));
    PetscCall(MatDestroy(&m->B));
    PetscCall(PCSpikeMatchingBand_Private(pc, *A, NULL));
  }
  if (!m->B) {
    PetscCall(PetscFree3(m->col, m->r, m->c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  s->info.matched = PETSC_TRUE;
  *A              = m->B;
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
  if (!m->B) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(b->n, &place));
  for (PetscInt i = 0; i < b->n; i++) place[i] = s->newrow ? s->newrow[m->col[i]] : m->col[i];
  if (PetscMemTypeHost(b->k->memtype)) {
    m->place = place;
    m->dr    = m->r;
    m->dc    = m->c;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscInt), (void **)&m->place));
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscReal), (void **)&m->dr));
  PetscCall((*b->k->alloc)(b, b->n * sizeof(PetscReal), (void **)&m->dc));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->place, 0, place, 0, b->n * sizeof(PetscInt), 1));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dr, 0, m->r, 0, b->n * sizeof(PetscReal), 1));
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, m->dc, 0, m->c, 0, b->n * sizeof(PetscReal), 1));
  PetscCall(PetscFree(place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the pattern that was matched; *A becomes B */
PetscErrorCode PCSpikeMatchingRefill_Private(PC pc, Mat *A)
{
  PCSpikeMatching *m = &((PC_Spike *)pc->data)->matching;
  SpikeCSR         parts[2];
  PetscInt         nparts;

  PetscFunctionBegin;
  if (!m->B) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeGetCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeMatchingFill_Private(pc, (*A)->rmap->n, &parts[0]));
  PetscCall(PCSpikeRestoreCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  *A = m->B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of the matrix, of this rank, that has become this row of B; -1 stays */
PetscInt PCSpikeMatchingRow_Private(const PC_Spike *s, PetscInt row)
{
  if (!s->matching.B) return row;
  for (PetscInt i = 0; i < s->band.n; i++)
    if (s->matching.col[i] == row) return i;
  return -1;
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
  say how many rows have no partner. Permutation and scales stay while the pattern of the matrix does; a copy of the
  matrix is kept, which each setup fills on the host.

  `PC_SPIKE_MATCHING_AUTO` looks for an entry of the diagonal that is missing or below a thousandth of the largest of
  its row, on one rank, where neither ordering, half-bandwidths (`PCSpikeSetBandwidth()`) nor pivoting are set, and
  keeps the matrix as it is where the band would be more than four times as wide otherwise, or where the band is filled
  from the diagonals of a `MATDIA`. Where pivots are small nevertheless, that is boosted or zero, it tries the other
  way, with a matching or without one, once for a pattern, and takes the one whose factors solve A x = A w better, for a
  random w: that is up to three setups. Later values in the same pattern keep what was chosen, unless their factors fail
  or are ten times as wrong: then everything is chosen again.

  `PC_SPIKE_MATCHING_ALWAYS` is an error on several ranks: use `PCSPIKE` inside `PCBJACOBI`, `PCASM`, `PCREDUNDANT` or
  `PCTELESCOPE` there.

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

PetscErrorCode PCSpikeComposeMatchingMethods_Private(PC pc, PetscBool compose)
{
  PetscFunctionBegin;
  SpikeCompose("PCSpikeSetMatchingType_C", PCSpikeSetMatchingType_Spike);
  SpikeCompose("PCSpikeGetMatchingType_C", PCSpikeGetMatchingType_Spike);
  PetscFunctionReturn(PETSC_SUCCESS);
}
