/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilusetup.c: PCSetUp and PCReset of PCBLOCKILU */
#include "blockiluimpl.h"
#include "common/ordered.h"

static PetscBool cite = PETSC_FALSE;
static const char
  citation[] = "@article{AfanasyevPotapovSobolevKharchenko2015,\n"
               "  title   = {Accelerating industrial applications: the development of basic {GPU} kernels for the new "
               "block {AMG} algorithms for solving {SLE} with explicitly calculated sparse basis},\n"
               "  author  = {Ilya Afanasyev and Yury Potapov and Sergey Sobolev and Sergey Kharchenko},\n"
               "  journal = {Procedia Computer Science},\n"
               "  volume  = {66},\n"
               "  pages   = {642--650},\n"
               "  year    = {2015}\n"
               "}\n";

/* Work space of PCBlockILUPattern_Private() */
static PetscErrorCode PCBlockILUWorkReset_Private(PC pc)
{
  BlockILUWork *w = &((PC_BlockILU *)pc->data)->work;

  PetscFunctionBegin;
  PetscCall(PetscFree(w->start));
  PetscCall(PetscFree(w->newrow));
  PetscCall(PetscFree(w->ci));
  PetscCall(PetscFree(w->cj));
  PetscCall(PCBlockILUOrderReset_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_BlockILU(PC pc)
{
  PC_BlockILU *s = (PC_BlockILU *)pc->data;

  PetscFunctionBegin;
  if (s->b.k) {
    PetscCall((*s->b.k->release)(&s->b, (void **)&s->stage));
    PetscCall((*s->b.k->ludestroy)(&s->lu));
    PetscCall((*s->b.k->destroy)(&s->b));
  }
  PetscCall(PCBlockILUWorkReset_Private(pc));
  PetscCall(SpikeBlockPatternDestroy(&s->p));
  PetscCall(PetscMemzero(&s->lu, sizeof(s->lu)));
  PetscCall(PetscMemzero(&s->b, sizeof(s->b)));
  PetscCall(MatDestroy(&s->converted));
  s->built    = PETSC_FALSE;
  s->factored = PETSC_FALSE;
  s->numeric  = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend for the matrix; a matrix that lies elsewhere is not fetched in silence */
static PetscErrorCode PCBlockILUGetKernels_Private(PC pc, Mat A, const SpikeBlockKernels **k)
{
  PetscMemType memtype;

  PetscFunctionBegin;
  PetscCall(SpikeMatGetMemType(A, &memtype));
  *k = SpikeBlockKernelsFind(memtype);
  PetscCheck(*k, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCBLOCKILU has no kernels for matrices of type %s on a device in this library yet: use MatBindToCPU() or "
             "a matrix of type aij or baij for factors on the host",
             ((PetscObject)A)->type_name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subdomains, ordering and pattern of the factors, on the host */
static PetscErrorCode PCBlockILUPattern_Private(PC pc, Mat A, PetscInt bs)
{
  PC_BlockILU    *s      = (PC_BlockILU *)pc->data;
  const PetscInt  nb     = A->rmap->n / bs;
  const PetscInt  ntasks = s->subdomains == PETSC_DECIDE ? 1 : s->subdomains;
  BlockILUWork   *w      = &s->work;
  const PetscInt *bi, *bj;
  BlockILUMat     m;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(ntasks + 1, &w->start));
  for (PetscInt t = 0; t <= ntasks; t++) w->start[t] = (PetscInt)((PetscInt64)nb * t / ntasks);
  PetscCall(PCBlockILUGetCSR_Private(A, PETSC_MEMTYPE_HOST, &m));
  bi = m.csr.ai;
  bj = m.csr.aj;
  if (!m.baij && bs > 1) {
    PetscCall(SpikeBlockCompress(bs, nb, m.csr.ai, m.csr.aj, &w->ci, &w->cj));
    bi = w->ci;
    bj = w->cj;
  }
  PetscCall(PCBlockILUOrder_Private(pc, ntasks, w->start, nb, bi, bj, &w->newrow));
  PetscCall(
    SpikeBlockSymbolic(bs, nb, ntasks, w->start, w->newrow, s->complete ? PETSC_INT_MAX : s->levels, bi, bj, &s->p));
  PetscCall(PCBlockILURestoreCSR_Private(&m));
  PetscCall(PCBlockILUWorkReset_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that depends on the pattern alone. *fits: false on all ranks where one cannot hold its factors */
static PetscErrorCode PCBlockILUSymbolic_Private(PC pc, Mat A, PetscBool *fits)
{
  PC_BlockILU *s   = (PC_BlockILU *)pc->data;
  const char  *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscInt     bs;
  PetscReal    memory, needed;
  PetscBool    natural;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(s->ordering, MATORDERINGNATURAL, &natural));
  PetscCheck(natural || !s->multicolor, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "A multicolor ordering is made from the natural one, not from %s: use one of -%spc_blockilu_multicolor "
             "and -%spc_blockilu_mat_ordering_type",
             s->ordering, pre, pre);
  PetscCall(PetscLogEventBegin(PC_BlockILU_Symbolic, pc, 0, 0, 0));
  PetscCall(PCBlockILUGetBlockSize_Private(pc, A, &bs));
  PetscCall(PCBlockILUPattern_Private(pc, A, bs));
  PetscCall(PCBlockILUGetKernels_Private(pc, A, &s->b.k));
  PetscCall((*s->b.k->create)(&s->b));
  s->lu.p         = &s->p;
  s->lu.precision = s->precision;
  s->lu.maxrhs    = 1;
  /* an apply that is enqueued may be a transposed one */
  s->lu.trans           = s->b.k->enqueues;
  s->lu.b               = &s->b;
  s->info.bs            = bs;
  s->info.subdomains    = s->p.ntasks;
  s->info.max_subdomain = 0;
  s->info.min_subdomain = PETSC_INT_MAX;
  for (PetscInt t = 0; t < s->p.ntasks; t++) {
    s->info.max_subdomain = PetscMax(s->info.max_subdomain, s->p.start[t + 1] - s->p.start[t]);
    s->info.min_subdomain = PetscMin(s->info.min_subdomain, s->p.start[t + 1] - s->p.start[t]);
  }
  s->info.blocks        = s->p.kept;
  s->info.dropped       = s->p.dropped;
  s->info.factor_blocks = (PetscInt64)s->p.li[s->p.nb] + s->p.ui[s->p.nb] + s->p.nb;
  s->info.lower_levels  = s->p.nlevels[0];
  s->info.upper_levels  = s->p.nlevels[1];
  PetscCall((*s->b.k->lubytes)(&s->lu, &s->info.bytes, &s->info.extra_bytes));
  PetscCall((*s->b.k->memory)(&memory));
  PetscCall(PCFactoredFits_Private(pc, s->b.k->memtype, s->info.bytes + s->info.extra_bytes, memory, &needed, fits));
  if (*fits) {
    PetscCall((*s->b.k->begin)(&s->b));
    PetscCall((*s->b.k->lucreate)(&s->lu));
    PetscCall((*s->b.k->end)(&s->b));
    s->built = PETSC_TRUE;
    s->shape++;
    s->info.rebuilds++;
  } else
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OUTMEMORY, PETSC_ERR_MEM,
                                     "The factors need %g GB on one %s, more than is free there: use fewer "
                                     "-%spc_blockilu_levels, more -%spc_blockilu_local_subdomains, or more nodes",
                                     (double)(needed * 1e-9), PetscMemTypeHost(s->b.k->memtype) ? "node" : "device",
                                     pre, pre));
  PetscCall(PetscLogEventEnd(PC_BlockILU_Symbolic, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What fill saw, on all ranks; rows become global, a row that nobody reports is -1 */
static PetscErrorCode PCBlockILUReduceStats_Private(PC pc, Mat A, SpikeBlockFillStats *st)
{
  PetscReal max[3];

  PetscFunctionBegin;
  max[0] = st->norm;
  /*
    the first bad row of all, by the largest negative: exact for row numbers up to 2^53, and 2^24 in single precision
  */
  max[1] = st->badrow < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->badrow + A->rmap->rstart);
  max[2] = st->overflowrow < 0 ? PETSC_MIN_REAL : -(PetscReal)(st->overflowrow + A->rmap->rstart);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 3, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  st->norm        = max[0];
  st->badrow      = max[1] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[1];
  st->overflowrow = max[2] == PETSC_MIN_REAL ? -1 : (PetscInt)-max[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values and factors. On one rank the host of a device waits once, after both, and the norm that tolerances are relative
  to is not known before. On several ranks the host waits after the fill too, and the norm is summed over the ranks
*/
static PetscErrorCode PCBlockILUNumeric_Private(PC pc, Mat A, SpikeBlockFillStats *st, SpikePivot *pivot)
{
  PC_BlockILU    *s      = (PC_BlockILU *)pc->data;
  const PetscReal amount = PCFactoredShift_Private((const PC_Factored *)s, SpikePrecisionEpsilon(s->precision));
  PetscMPIInt     size;
  BlockILUMat     m;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PetscMemzero(pivot, sizeof(*pivot)));
  pivot->badrow   = -1;
  pivot->relative = (PetscBool)(size == 1);
  pivot->tol      = s->zeropivot;
  pivot->boost    = s->shifttype == MAT_SHIFT_NONE ? 0.0 : amount;
  PetscCall(PetscLogEventBegin(PC_BlockILU_Factor, pc, 0, 0, 0));
  PetscCall(PCBlockILUGetCSR_Private(A, s->b.k->memtype, &m));
  PetscCall((*s->b.k->begin)(&s->b));
  if (!SpikeFaulty(SPIKE_FAULT_STALE_FILL) || !pc->setupcalled) PetscCall((*s->b.k->lufill)(&s->lu, &m.csr, st));
  if (size > 1) {
    if (s->b.k->lufinish) PetscCall((*s->b.k->lufinish)(&s->lu));
    PetscCall(PCBlockILUReduceStats_Private(pc, A, st));
    if (st->norm > 0.0) {
      pivot->tol *= st->norm;
      pivot->boost *= st->norm;
    }
  }
  PetscCall((*s->b.k->lufactor)(&s->lu, pivot));
  if (s->b.k->lufinish) PetscCall((*s->b.k->lufinish)(&s->lu));
  PetscCall((*s->b.k->end)(&s->b));
  PetscCall(PCBlockILURestoreCSR_Private(&m));
  PetscCall(PetscLogEventEnd(PC_BlockILU_Factor, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the pivots say of the factors */
static PetscErrorCode PCBlockILUJudge_Private(PC pc, Mat A, const SpikeBlockFillStats *st, const SpikePivot *pivot)
{
  PC_BlockILU   *s   = (PC_BlockILU *)pc->data;
  const char    *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  const PetscInt bs  = s->p.bs;
  PetscInt       first, t = 0;

  PetscFunctionBegin;
  s->info.boosted = pivot->nboost;
  PetscCall(PCFactoredBoosted_Private(pc, pivot->nboost));
  if (pivot->badrow < 0 || SpikeFaulty(SPIKE_FAULT_NOT_FAILED)) PetscFunctionReturn(PETSC_SUCCESS);
  first = pivot->badrow / bs;
  while (s->p.start[t + 1] <= first) t++;
  first = (s->p.oldrow ? s->p.oldrow[first] : first) * bs + A->rmap->rstart;
  if (!(pivot->badvalue <= pivot->tol)) {
    PetscCall(
      PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                             "Overflow in the factors in the block of rows %" PetscInt_FMT " to %" PetscInt_FMT
                             " (subdomain %" PetscInt_FMT " of the rank): scale the matrix%s, or use -%spc_type lu",
                             first, first + bs - 1, t,
                             s->precision == PETSC_SPIKE_PRECISION_DOUBLE ? "" : ", use factors in double precision",
                             pre));
  } else {
    PetscCall(
      PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                             "Zero pivot in the diagonal block of rows %" PetscInt_FMT " to %" PetscInt_FMT
                             ", step %" PetscInt_FMT " (subdomain %" PetscInt_FMT
                             " of the rank)%s: magnitude %g is not above %g, the zero pivot tolerance %g times the "
                             "norm %g; boost pivots by -%spc_blockilu_shift_type auto, or use -%spc_type lu",
                             first, first + bs - 1, pivot->badrow % bs, t,
                             first == s->p.missing * bs + A->rmap->rstart ? ", which is not stored" : "",
                             (double)pivot->badvalue, (double)pivot->tol, (double)s->zeropivot,
                             st->norm > 0.0 ? (double)st->norm : 1.0, pre, pre));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCBlockILUSetUp_Private(PC pc)
{
  PC_BlockILU *s     = (PC_BlockILU *)pc->data;
  MPI_Comm     comm  = PetscObjectComm((PetscObject)pc);
  const char  *pre   = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
  PetscBool    reuse = (PetscBool)(s->built && pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN), fits = PETSC_TRUE;
  const SpikeBlockKernels *k;
  SpikeBlockFillStats      st = {0.0, -1, -1};
  SpikePivot               pivot;
  PetscInt                 bad[2];
  Mat                      A;
  PetscBool                same;

  PetscFunctionBegin;
  PetscCheck(pc->pmat->rmap->N == pc->pmat->cmap->N, comm, PETSC_ERR_ARG_SIZ,
             "PCBLOCKILU needs a square matrix, this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns",
             pc->pmat->rmap->N, pc->pmat->cmap->N);
  PetscCall(PCFactoredBegin_Private(pc));
  s->info.boosted = 0;
  /* a matrix that moved between host and device meanwhile (MatBindToCPU() on all ranks) needs another backend */
  if (reuse) {
    PetscCall(PCBlockILUGetKernels_Private(pc, s->converted ? s->converted : pc->pmat, &k));
    if (k != s->b.k) reuse = PETSC_FALSE;
  }
  PetscCall(PCFactoredAgree_Private(pc, &reuse)); /* each rank has looked at its own nonzero state */
  if (!reuse) {
    PetscCall(PCReset_BlockILU(pc));
    bad[0] = pc->pmat->rmap->n != pc->pmat->cmap->n;
    PetscCallMPI(MPIU_Allreduce(&bad[0], &bad[1], 1, MPIU_INT, MPI_MAX, comm));
    PetscCheck(!bad[1], comm, PETSC_ERR_ARG_SIZ, "PCBLOCKILU needs as many local rows as local columns on each rank");
  }
  PetscCall(PCBlockILUGetMat_Private(pc, reuse, &A, &same));
  if (reuse && !same) { /* from scratch, with the matrix that was converted already */
    Mat keep = s->converted;

    reuse        = PETSC_FALSE;
    s->converted = NULL;
    PetscCall(PCReset_BlockILU(pc));
    s->converted = keep;
  }
  if (reuse) s->info.refills++;
  else {
    PetscCall(PCBlockILUGetKernels_Private(pc, A, &k));
    PetscCall(PCBlockILUSymbolic_Private(pc, A, &fits));
    if (!fits) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCBlockILUNumeric_Private(pc, A, &st, &pivot));
  if (st.badrow >= 0) {
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                                     "Row %" PetscInt_FMT
                                     " of the matrix has an entry that is not a number or infinite: look at what fills "
                                     "the matrix (-fp_trap, -%sksp_view_mat)",
                                     st.badrow, pre));
  } else if (st.overflowrow >= 0) {
    PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_OTHER, PETSC_ERR_FP,
                                     "Row %" PetscInt_FMT
                                     " of the matrix has an entry too large for factors in single precision: scale the "
                                     "matrix or use -%spc_blockilu_precision double",
                                     st.overflowrow, pre));
  } else PetscCall(PCBlockILUJudge_Private(pc, A, &st, &pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_BlockILU(PC pc)
{
  SpikeOrdered   ordered;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(citation, &cite));
  PetscCall(SpikeOrderedBeginMat(pc->pmat, &ordered));
  ierr = PCBlockILUSetUp_Private(pc);
  PetscCall(SpikeOrderedEnd(&ordered));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
