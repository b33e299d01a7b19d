/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult.c: products by diagonals with a step in the epilogue on the host: of a copy that the backend makes of a matrix,
  with columns of other ranks beside it, or of one that is stored so
*/
#include "host.h"

static SpikeKrylovCopy SpikeKrylovCopyBase(PetscInt count, PetscInt n)
{
  const SpikeKrylovCopy base = {KSP_FUSED_SPMV_DIA, (PetscInt64)count * n * (PetscInt64)sizeof(PetscScalar),
                                PETSC_FALSE, PETSC_FALSE, PETSC_SPIKE_PRECISION_DOUBLE};

  return base;
}

/*
  Unasked where at least half of the places by diagonals have entries: with real numbers in double precision at most 4/3
  of the bytes of the matrix. Faster than MatMult() down to a third by measurement, for values come in one stream and
  without columns, and vectors of rows need no gather.
*/
PetscErrorCode SpikeKrylovCopy_Host(SpikeKrylov *s, const SpikeKrylovCSR *csr, KSPFusedSpMVType form, void **copy)
{
  const SpikeCSR       part = {csr->ai, csr->aj, csr->aa, NULL, 0};
  PetscInt             most = SPIKE_KRYLOV_MAXDIAGONALS, count = 0, offset[SPIKE_KRYLOV_MAXDIAGONALS];
  SpikeKrylovCopyHost *c;

  PetscFunctionBegin;
  *copy = NULL;
  if (form == KSP_FUSED_SPMV_SELL) PetscFunctionReturn(PETSC_SUCCESS);
  if (csr->nz && form != KSP_FUSED_SPMV_DIA) most = PetscMin(most, (PetscInt)(2 * (PetscInt64)csr->nz / csr->n));
  if (csr->nz) SpikeDIAOffsets(csr->n, 1, &part, most, &count, offset);
  if (count > most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *copy       = (void *)c;
  c->loan.nz  = csr->nz;
  c->loan.dia = &c->mine;
  c->base     = SpikeKrylovCopyBase(count, csr->n);
  PetscCall(SpikeDIACreate(&SpikeDIAKernels_Host, csr->n, csr->n, count, offset, &c->mine));
  if (csr->nz) PetscCall((*c->mine.k->fill)(&c->mine, 1, &part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovCouple_Host(SpikeKrylov *s, const SpikeKrylovCSR *O, const SpikeKrylovLoan *loan, void *copy,
                                      PetscBool *coupled)
{
  SpikeKrylovCopyHost *c   = (SpikeKrylovCopyHost *)copy;
  SpikeKrylovOffHost  *off = &c->off;

  PetscFunctionBegin;
  c->loan.owner = loan->owner;
  c->loan.begin = loan->begin;
  c->loan.end   = loan->end;
  c->loan.nz += O->nz;
  off->there = PETSC_TRUE;
  off->nz    = O->nz;
  PetscCall(SpikeKrylovRowsOf(O->n, O->nz ? O->ai : NULL, &off->count, &off->row, &off->at));
  PetscCall(PetscMalloc1(O->nz, &off->aj));
  PetscCall(PetscMalloc1(O->nz, &off->aa));
  PetscCall(PetscArraycpy(off->aj, O->aj, O->nz));
  PetscCall(SpikeKrylovRecouple_Host(s, O, copy));
  *coupled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRecouple_Host(SpikeKrylov *s, const SpikeKrylovCSR *O, void *copy)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(((SpikeKrylovCopyHost *)copy)->off.aa, O->aa, O->nz));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBorrow_Host(SpikeKrylov *s, const SpikeKrylovLoan *loan, void **copy)
{
  SpikeKrylovCopyHost *c;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c));
  *copy   = (void *)c;
  c->loan = *loan;
  c->base = SpikeKrylovCopyBase(loan->dia->count, loan->dia->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovBorrowStencil_Host(SpikeKrylov *s, const SpikeStencil *stencil, const SpikeKrylovLoan *loan,
                                             void **copy)
{
  SpikeKrylovCopyHost *c;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c));
  *copy         = (void *)c;
  c->loan       = *loan;
  c->stencil    = stencil;
  c->loan.nz    = SpikeStencilEntries(stencil);
  c->base.form  = KSP_FUSED_SPMV_STENCIL;
  c->base.bytes = stencil->constant ? 0 : (PetscInt64)SpikeStencilCoefs(stencil) * (PetscInt64)sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovRefill_Host(SpikeKrylov *s, const SpikeKrylovCSR *csr, void *copy)
{
  const SpikeCSR       part = {csr->ai, csr->aj, csr->aa, NULL, 0};
  SpikeKrylovCopyHost *c    = (SpikeKrylovCopyHost *)copy;

  PetscFunctionBegin;
  if (csr->nz) PetscCall((*c->mine.k->fill)(&c->mine, 1, &part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovDestroyCopy_Host(SpikeKrylov *s, void **copy)
{
  SpikeKrylovCopyHost *c = (SpikeKrylovCopyHost *)*copy;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeDIADestroy(&c->mine));
  PetscCall(PetscFree(c->off.row));
  PetscCall(PetscFree(c->off.at));
  PetscCall(PetscFree(c->off.aj));
  PetscCall(PetscFree(c->off.aa));
  PetscCall(PetscFree(c->val));
  PetscCall(PetscFree(c->correction));
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void SpikeKrylovMultStep_Host(const SpikeKrylovLoops *loops, const SpikeKrylovFactors *f, SpikeKrylovStep step,
                              PetscInt begin, PetscInt rows, const PetscScalar *scale, PetscScalar *y,
                              PetscScalar *const v[], PetscScalar sums[])
{
  const SpikeKrylovStepInfo *info = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  PetscScalar               *w[SPIKE_KRYLOV_MAXVECTORS], some[SPIKE_KRYLOV_MAXDOTS];

  if (scale) {
    PetscScalar *const d[] = {(PetscScalar *)scale + begin, y + begin, y + begin};

    (*loops->step[SPIKE_DIAGONAL])(rows, f, d, NULL);
  }
  if (info) {
    for (PetscInt k = 0; k < info->nvectors; k++) w[k] = v[k] + begin;
    (*loops->step[step])(rows, f, w, some);
    for (PetscInt k = 0; k < info->ndots; k++) sums[k] += some[k];
  }
}

/*
  Rows begin to end - 1: SPIKE_MULT_ROWS at a time, so that the step finds them, and their rows of x, in cache. Sums are
  those of the groups, in their order
*/
static void SpikeKrylovMultRows(SpikeKrylov *s, const SpikeKrylovCopyHost *c, SpikeKrylovStep step, PetscInt begin,
                                PetscInt end, const PetscScalar *scale, const PetscScalar *x, const PetscScalar *ghost,
                                PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovLoops      loops  = SpikeKrylovLoopsGet();
  const SpikeKrylovNarrowLoop narrow = loops.narrow[c->base.precision == PETSC_SPIKE_PRECISION_BF16 ? 1 : 0];

  for (PetscInt i = begin, rows; i < end; i += rows) {
    rows = PetscMin((PetscInt)SPIKE_MULT_ROWS, end - i);
    if (c->val) (*narrow)(c->loan.dia, c->val, c->correction, i, i + rows, x, ghost, y);
    else (*loops.dia->mult)(c->loan.dia, i, i + rows, x, ghost, NULL, y);
    if (c->val && scale) { /* in single precision */
      PetscScalar *const d[] = {(PetscScalar *)((const SpikeSingle *)(const void *)scale + i), y + i, y + i};

      (*loops.singlestep[SPIKE_DIAGONAL])(rows, &s->scalars->f, d, NULL);
    }
    SpikeKrylovMultStep_Host(&loops, &s->scalars->f, step, i, rows, c->val ? NULL : scale, y, v, s->local);
  }
}

/* y += O ghost in rows number begin to end - 1 of those that O has */
static void SpikeKrylovMultOff(const SpikeKrylovOffHost *off, PetscInt begin, PetscInt end, const PetscScalar *ghost,
                               PetscScalar *y)
{
  for (PetscInt k = begin; k < end; k++) {
    PetscScalar sum = y[off->row[k]];

    for (PetscInt e = off->at[k]; e < off->at[k + 1]; e++) sum += off->aa[e] * ghost[off->aj[e]];
    y[off->row[k]] = sum;
  }
}

/*
  SPIKE_MULT_ROWS rows at a time, as above: first where none of them has columns of other ranks, while these come, then
  the others. The order of the sums depends on the pattern alone
*/
static PetscErrorCode SpikeKrylovMultCoupled(SpikeKrylov *s, const SpikeKrylovCopyHost *c, SpikeKrylovStep step,
                                             const PetscScalar *scale, const PetscScalar *x, PetscScalar *y,
                                             PetscScalar *const v[])
{
  const SpikeKrylovLoops    loops = SpikeKrylovLoopsGet();
  const SpikeKrylovOffHost *off   = &c->off;
  const PetscInt            n     = c->mine.n;
  const PetscScalar        *ghost = NULL;

  PetscFunctionBegin;
  PetscCall((*c->loan.begin)(c->loan.owner, NULL, x, &ghost));
  for (int outside = 0; outside < 2; outside++) {
    PetscInt k = 0;

    if (outside) PetscCall((*c->loan.end)(c->loan.owner, NULL, x));
    for (PetscInt i = 0, end; i < n; i = end) {
      PetscInt next = k;

      end = PetscMin(i + SPIKE_MULT_ROWS, n);
      while (next < off->count && off->row[next] < end) next++;
      if (outside == (next > k)) {
        (*loops.dia->mult)(&c->mine, i, end, x, NULL, NULL, y);
        if (outside) SpikeKrylovMultOff(off, k, next, ghost, y);
        SpikeKrylovMultStep_Host(&loops, &s->scalars->f, step, i, end - i, scale, y, v, s->local);
      }
      k = next;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same by a stencil, for a box: whole lines, as many of a plane as have about SPIKE_MULT_ROWS rows, or parts of
  lines one by one
*/
static void SpikeKrylovMultLines(SpikeKrylov *s, const SpikeStencil *S, SpikeKrylovStep step, const PetscInt first[3],
                                 const PetscInt last[3], const PetscScalar *scale, const PetscScalar *x,
                                 const PetscScalar *ghost, PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovLoops loops  = SpikeKrylovLoopsGet();
  const PetscInt         length = S->size[0] * S->dof, part = last[0] - first[0],
                 lines = part < S->size[0] ? 1 : PetscMax(1, SPIKE_MULT_ROWS / PetscMax(1, length));

  for (PetscInt k = first[2]; k < last[2]; k++)
    for (PetscInt j = first[1]; j < last[1] && part > 0; j += lines) {
      const PetscInt begin[] = {first[0], j, k}, end[] = {last[0], PetscMin(j + lines, last[1]), k + 1};

      SpikeStencilMultGhost_Host(S, begin, end, x, ghost, y);
      SpikeKrylovMultStep_Host(&loops, &s->scalars->f, step, (k * S->size[1] + j) * length + first[0] * S->dof,
                               (end[1] - j) * part * S->dof, scale, y, v, s->local);
    }
}

/* The inside while points around the box come, then its ends */
static PetscErrorCode SpikeKrylovMultStencil(SpikeKrylov *s, const SpikeKrylovCopyHost *c, SpikeKrylovStep step,
                                             const PetscScalar *scale, const PetscScalar *x, PetscScalar *y,
                                             PetscScalar *const v[])
{
  const SpikeStencil *S       = c->stencil;
  const PetscInt      zero[3] = {0, 0, 0};
  const PetscScalar  *ghost   = NULL;

  PetscFunctionBegin;
  if (!c->loan.begin) {
    SpikeKrylovMultLines(s, S, step, zero, S->size, scale, x, NULL, y, v);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*c->loan.begin)(c->loan.owner, NULL, x, &ghost));
  SpikeKrylovMultLines(s, S, step, S->ibegin, S->iend, scale, x, NULL, y, v);
  PetscCall((*c->loan.end)(c->loan.owner, NULL, x));
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(S, b, begin, end);
    SpikeKrylovMultLines(s, S, step, begin, end, scale, x, ghost, y, v);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeKrylovMult_Host(SpikeKrylov *s, const void *copy, SpikeKrylovStep step, const PetscScalar *scale,
                                    const PetscScalar *x, PetscScalar *y, PetscScalar *const v[])
{
  const SpikeKrylovCopyHost *c     = (const SpikeKrylovCopyHost *)copy;
  const SpikeKrylovStepInfo *info  = step < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[step] : NULL;
  const SpikeDIA            *dia   = c->loan.dia;
  const SpikeStencil        *S     = c->stencil;
  const SpikeBlockMat       *block = c->loan.block;
  const PetscInt             n     = S ? SpikeStencilSize(S) : (block ? block->mb * block->bs : dia->n);
  const PetscScalar         *ghost = NULL;

  PetscFunctionBegin;
  if (s->scalars->reason) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; info && k < info->ndots; k++) s->local[k] = 0.0;
  if (S) PetscCall(SpikeKrylovMultStencil(s, c, step, scale, x, y, v));
  else if (block) PetscCall(SpikeKrylovMultBlocks_Host(s, &c->loan, step, scale, x, y, v));
  else if (c->off.there) PetscCall(SpikeKrylovMultCoupled(s, c, step, scale, x, y, v));
  else {
    if (c->loan.begin) PetscCall((*c->loan.begin)(c->loan.owner, NULL, x, &ghost));
    SpikeKrylovMultRows(s, c, step, dia->ibegin, dia->iend, scale, x, NULL, y, v);
    if (c->loan.end) PetscCall((*c->loan.end)(c->loan.owner, NULL, x));
    SpikeKrylovMultRows(s, c, step, 0, dia->ibegin, scale, x, ghost, y, v);
    SpikeKrylovMultRows(s, c, step, dia->iend, dia->n, scale, x, ghost, y, v);
  }
  PetscCall(PetscLogFlops(2.0 * c->loan.nz + ((scale ? 1.0 : 0.0) + (info ? info->flops : 0.0)) * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}
