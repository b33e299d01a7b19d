/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborder.c: a matrix taken apart into a band and its border, on the host */
#include "spikeimpl.h"

PetscErrorCode PCSpikeBorderReset_Private(PC pc)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;

  PetscFunctionBegin;
  PetscCall(PCSpikeBorderDestroy_Private(pc));
  PetscCall(MatDestroy(&d->T));
  PetscCall(PetscFree5(d->rows, d->place, d->at, d->fstart, d->enorm));
  PetscCall(PetscFree2(d->ti, d->tj));
  PetscCall(PetscFree(d->nnz));
  PetscCall(PetscFree3(d->degree, d->edge, d->vertex));
  PetscCall(PCSpikeBorderRanksReset_Private(pc));
  PetscCall(PetscFree(d->column));
  PetscCall(PetscFree2(d->frow, d->f));
  PetscCall(PetscFree(d->e));
  PetscCall(PetscFree(d->g));
  d->m = d->count = d->nboost = 0;
  d->ready                    = PETSC_FALSE;
  s->info.border              = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *bytes += those of T, of what is kept on the host and of what the backend has */
PetscErrorCode PCSpikeBorderBytes_Private(PC pc, PetscReal *bytes)
{
  const PC_Spike      *s = (const PC_Spike *)pc->data;
  const PCSpikeBorder *d = &s->border;
  const PetscReal      n = (PetscReal)d->n, m = (PetscReal)d->m, count = (PetscReal)d->count,
                  both = PetscDefined(USE_COMPLEX) ? 2.0 : 1.0, messages = (PetscReal)d->nsend + (PetscReal)d->nrecv;
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(d->T, MAT_LOCAL, &info));
  *bytes += info.nz_used * (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt)) +
            sizeof(PetscScalar) * (m * (both * (n + count) + 3.0 * m + 3.0) + s->band.maxrhs * (2.0 * m + count)) +
            sizeof(PetscInt) * (2.0 * n + count + m + (d->split.to ? (PetscReal)d->split.entries : 0.0)) +
            (d->fstart[d->m] + messages) * (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the values of a row of A go; entries of T in their order, of E with columns of other ranks likewise */
typedef struct {
  PetscScalar *ta[2];
  PetscInt     to[2], sent;
  PetscReal    most;
} SpikeBorderFill;

static void SpikeBorderFillRow_Private(PCSpikeBorder *d, PetscInt i, PetscInt rstart, PetscInt nparts,
                                       const SpikeCSR parts[], SpikeBorderFill *f)
{
  const PetscInt row = d->place[i];
  PetscReal      sum = 0.0;

  for (PetscInt p = 0; p < nparts; p++) {
    const SpikeCSR *A = &parts[p];

    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++) {
      const PetscInt    col = p && d->across ? d->ghost[A->aj[k]] : d->place[A->aj[k]];
      const PetscScalar a   = A->aa[k];
      const PetscReal   abs = PetscAbsScalar(a);

      sum += abs;
      if (row >= 0 && col >= 0) {
        f->ta[p][f->to[p]++] = a;
        f->most              = PetscMax(f->most, abs);
      } else if (row >= 0) d->f[d->at[-1 - col]++] = a;
      else if (col < 0) d->g[-1 - row + (-1 - col) * d->m] = a;
      else if (p) d->sent[d->sendto[f->sent++]] = a;
      else d->e[col + (PetscCount)(-1 - row) * d->count] = a;
    }
    if (PetscIsInfOrNanReal(sum) && d->badrow < 0) /* a sum may be infinite where its terms are not */
      for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++)
        if (PetscIsInfOrNanScalar(A->aa[k])) d->badrow = i + rstart;
  }
  d->norm = PetscMax(d->norm, sum);
}

/* The values of A in T, E, F and G; collective */
static PetscErrorCode PCSpikeBorderFill_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[])
{
  PCSpikeBorder  *d = &((PC_Spike *)pc->data)->border;
  const PetscInt  n = d->n, nband = d->T->rmap->n;
  SpikeBorderFill f  = {{NULL, NULL}, {0, 0}, 0, 0.0};
  Mat             Td = d->T, To = NULL;
  const PetscInt *ti;
  PetscReal       unit;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(d->at, d->fstart, d->m));
  PetscCall(PetscArrayzero(d->e, (PetscCount)d->count * d->m));
  PetscCall(PetscArrayzero(d->g, d->m * d->m));
  if (d->across) PetscCall(MatMPIAIJGetSeqAIJ(d->T, &Td, &To, NULL));
  PetscCall(MatGetRowIJ(Td, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQAIJ has no rows");
  PetscCall(MatSeqAIJGetArrayWrite(Td, &f.ta[0]));
  if (To) PetscCall(MatSeqAIJGetArrayWrite(To, &f.ta[1]));
  d->norm   = 0.0;
  d->badrow = -1;
  for (PetscInt i = 0; i < n; i++) {
    if (nband) f.to[0] = ti[i];
    SpikeBorderFillRow_Private(d, i, A->rmap->rstart, nparts, parts, &f);
  }
  PetscCall(PCSpikeBorderReceived_Private(pc));
  PetscCall(PCSpikeBorderSumValues_Private(pc, &f.most));
  unit = SpikeSplitUnit(f.most);
  for (PetscInt k = 0; k < d->own && nband; k++) f.ta[0][ti[d->local[k]]] = unit;
  if (To) PetscCall(MatSeqAIJRestoreArrayWrite(To, &f.ta[1]));
  PetscCall(MatSeqAIJRestoreArrayWrite(Td, &f.ta[0]));
  PetscCall(MatRestoreRowIJ(Td, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCall(PetscObjectStateIncrease((PetscObject)d->T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  place, columns of E and how many entries those of F have. E is stored with all columns where more than half of them
  have entries: a tall block then needs no list of them
*/
static PetscErrorCode PCSpikeBorderPlace_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[])
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  const PetscInt m = d->m, n = d->n;
  PetscInt      *pairs;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) d->place[i] = 0;
  for (PetscInt k = 0; k < d->own; k++)
    for (PetscInt e = parts[0].ai[d->local[k]]; e < parts[0].ai[d->local[k] + 1]; e++) d->place[parts[0].aj[e]] = 1;
  if (d->across) PetscCall(PCSpikeBorderSends_Private(pc, A, &parts[1]));
  pairs = PetscSafePointerPlusOffset(d->pairs, 2 * (PetscCount)d->nsend);
  for (PetscInt q = 0; q < d->nrecv; q++) d->place[pairs[2 * q + 1]] = 1;
  for (PetscInt k = 0; k < d->own; k++) d->place[d->local[k]] = -1 - (d->first + k);
  d->count = 0;
  for (PetscInt i = 0; i < n; i++) d->count += d->place[i] > 0;
  if (2 * (PetscInt64)d->count > n) d->count = n;
  PetscCall(PetscMalloc1(PetscMax(d->count, 1), &d->column));
  for (PetscInt i = 0, to = 0; i < n; i++) {
    if (d->count == n) {
      d->column[i] = i;
      if (d->place[i] >= 0) d->place[i] = i;
    } else if (d->place[i] > 0) {
      d->column[to] = i;
      d->place[i]   = to++;
    }
  }
  for (PetscInt q = 0; q < d->nrecv; q++) d->into[q] = d->place[pairs[2 * q + 1]] + (PetscCount)pairs[2 * q] * d->count;
  PetscCall(PetscFree(d->pairs));
  PetscCall(PetscArrayzero(d->fstart, m + 1));
  for (PetscInt p = 0; p < nparts; p++)
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1] && d->place[i] >= 0; k++) {
        const PetscInt col = p && d->across ? d->ghost[parts[p].aj[k]] : d->place[parts[p].aj[k]];

        if (col < 0) d->fstart[-col]++;
      }
  for (PetscInt k = 0; k < m; k++) d->fstart[k + 1] += d->fstart[k];
  PetscCall(PetscMalloc2(d->fstart[m], &d->frow, d->fstart[m], &d->f));
  PetscCall(PetscMalloc1((PetscCount)d->count * m, &d->e));
  PetscCall(PetscMalloc1(m * m, &d->g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ti and tj, rows of T on this rank with ascending global columns, and rows of F; start: the first row of T here */
static void PCSpikeBorderPattern_Private(PCSpikeBorder *d, PetscInt start, PetscInt nparts, const SpikeCSR parts[])
{
  const PetscBool band = (PetscBool)(d->own < d->n);
  PetscInt       *ti = d->ti, *tj = d->tj;

  ti[0] = 0;
  for (PetscInt i = 0; i < d->n; i++) {
    PetscInt       to = ti[i], ghost = d->across && nparts == 2 ? parts[1].ai[i] : 0;
    const PetscInt end = d->across && nparts == 2 ? parts[1].ai[i + 1] : 0;

    if (d->place[i] < 0 && band) tj[to++] = i + start;
    for (int side = 0; side < 2 && d->place[i] >= 0; side++) { /* other ranks' columns before, and after, this one's */
      for (; ghost < end && (side || d->ghost[parts[1].aj[ghost]] < start); ghost++) {
        const PetscInt j = d->ghost[parts[1].aj[ghost]];

        if (j < 0) d->frow[d->at[-1 - j]++] = i;
        else tj[to++] = j;
      }
      for (PetscInt k = parts[0].ai[i]; k < parts[0].ai[i + 1] && !side; k++) {
        const PetscInt j = parts[0].aj[k];

        if (d->place[j] < 0) d->frow[d->at[-1 - d->place[j]]++] = i;
        else tj[to++] = j + start;
      }
    }
    ti[i + 1] = to;
  }
}

/*
  The pattern of T on one rank. MatSeqAIJSetPreallocationCSR() would set values of 0 one by one, which takes longer than
  all else that finds a border
*/
static PetscErrorCode PCSpikeBorderSetPattern_Private(PCSpikeBorder *d)
{
  const PetscInt n = d->T->rmap->n;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &d->nnz));
  for (PetscInt i = 0; i < n; i++) d->nnz[i] = d->ti[i + 1] - d->ti[i];
  PetscCall(MatSeqAIJSetPreallocation(d->T, 0, d->nnz));
  PetscCall(PetscFree(d->nnz));
  PetscCall(MatSeqAIJSetColumnIndices(d->T, d->tj));
  PetscCall(MatAssemblyBegin(d->T, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(d->T, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The border of the m rows and columns `rows`, ascending, of A, a MATAIJ; collective */
PetscErrorCode PCSpikeBorderMake_Private(PC pc, Mat A, PetscInt m, const PetscInt rows[])
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = A->rmap->n;
  SpikeCSR       parts[2];
  PetscInt       nparts, start, nband;
  PetscMemType   memtype;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(m, &d->rows, n, &d->place, m, &d->at, m + 1, &d->fstart, m, &d->enorm));
  PetscCall(PetscArraycpy(d->rows, rows, m));
  d->m           = m;
  s->info.border = m;
  PetscCall(PCSpikeBorderOwn_Private(pc, A));
  PetscCall(PCSpikeBorderGhosts_Private(pc, A, &start));
  PetscCall(SpikeMatGetMemType(A, &memtype));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeBorderPlace_Private(pc, A, nparts, parts));
  PetscCall(
    PetscMalloc2(n + 1, &d->ti, (PetscCount)parts[0].ai[n] + (nparts == 2 ? parts[1].ai[n] : 0) + d->own, &d->tj));
  PetscCall(PetscArraycpy(d->at, d->fstart, m));
  PCSpikeBorderPattern_Private(d, start, nparts, parts);
  nband = d->own < n ? n : 0;
  PetscCall(MatCreate(d->across ? PetscObjectComm((PetscObject)pc) : PETSC_COMM_SELF, &d->T));
  PetscCall(MatSetSizes(d->T, nband, nband, PETSC_DETERMINE, PETSC_DETERMINE));
  if (d->across) PetscCall(MatSetType(d->T, PetscMemTypeHost(memtype) ? MATMPIAIJ : MATMPIAIJCUSPARSE));
  else PetscCall(MatSetType(d->T, PetscMemTypeHost(memtype) ? MATSEQAIJ : MATSEQAIJCUSPARSE));
  if (d->across) PetscCall(MatMPIAIJSetPreallocationCSR(d->T, d->ti, d->tj, NULL));
  else PetscCall(PCSpikeBorderSetPattern_Private(d));
  PetscCall(PetscFree2(d->ti, d->tj));
  PetscCall(PCSpikeBorderFill_Private(pc, A, nparts, parts));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same pattern; *A becomes T */
PetscErrorCode PCSpikeBorderRefill_Private(PC pc, Mat *A)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  SpikeCSR       parts[2];
  PetscInt       nparts;
  PetscBool      splits;

  PetscFunctionBegin;
  if (!d->T) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeBorderSplits_Private(pc, *A, &splits));
  if (splits) {
    PetscCall(PCSpikeBorderSplit_Private(pc, *A));
    *A = d->T;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeGetCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeBorderFill_Private(pc, *A, nparts, parts));
  PetscCall(PCSpikeRestoreCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  *A = d->T;
  PetscFunctionReturn(PETSC_SUCCESS);
}
