/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeborder.c: a matrix taken apart into a band and its border, on the host, in each setup */
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
  PetscCall(PetscFree2(d->degree, d->edge));
  PetscCall(PetscFree(d->column));
  PetscCall(PetscFree2(d->frow, d->f));
  PetscCall(PetscFree2(d->e, d->g));
  d->m = d->count = 0;
  s->info.border  = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *bytes += those of T, of what is kept on the host and of what the backend has */
PetscErrorCode PCSpikeBorderBytes_Private(PC pc, PetscReal *bytes)
{
  const PC_Spike      *s = (const PC_Spike *)pc->data;
  const PCSpikeBorder *d = &s->border;
  const PetscReal      n = (PetscReal)s->band.n, m = (PetscReal)d->m, count = (PetscReal)d->count,
                  both = PetscDefined(USE_COMPLEX) ? 2.0 : 1.0;
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(d->T, MAT_LOCAL, &info));
  *bytes += info.nz_used * (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt)) +
            sizeof(PetscScalar) * (m * (both * (n + count) + 3.0 * m) + s->band.maxrhs * (2.0 * m + count)) +
            sizeof(PetscInt) * (2.0 * n + count + m) +
            d->fstart[d->m] * (PetscReal)(sizeof(PetscScalar) + sizeof(PetscInt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest magnitude in the band, as a power of two: what stands on the diagonal of T in rows of the border */
static PetscReal SpikeBorderUnit_Private(PetscReal most)
{
  int e;

  if (!(most > 0.0) || PetscIsInfOrNanReal(most)) return 1.0;
  (void)frexp((double)most, &e);
  return (PetscReal)ldexp(0.5, e);
}

/* The values of A in T, E, F and G */
static PetscErrorCode PCSpikeBorderFill_Private(PC pc, PetscInt n, const SpikeCSR *A)
{
  PCSpikeBorder  *d    = &((PC_Spike *)pc->data)->border;
  PetscReal       most = 0.0, unit;
  const PetscInt *ti;
  PetscScalar    *ta;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(d->at, d->fstart, d->m));
  PetscCall(PetscArrayzero(d->e, (PetscCount)d->count * d->m));
  PetscCall(PetscArrayzero(d->g, d->m * d->m));
  PetscCall(MatGetRowIJ(d->T, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MATSEQAIJ has no rows");
  PetscCall(MatSeqAIJGetArrayWrite(d->T, &ta));
  d->norm   = 0.0;
  d->badrow = -1;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt row = d->place[i];
    PetscReal      sum = 0.0, square = 0.0;

    for (PetscInt k = A->ai[i], to = ti[i]; k < A->ai[i + 1]; k++) {
      const PetscInt    col = d->place[A->aj[k]];
      const PetscScalar a   = A->aa[k];
      const PetscReal   abs = PetscAbsScalar(a);

      sum += abs;
      if (row >= 0 && col >= 0) {
        ta[to++] = a;
        most     = PetscMax(most, abs);
      } else if (row >= 0) d->f[d->at[-1 - col]++] = a;
      else if (col < 0) d->g[-1 - row + (-1 - col) * d->m] = a;
      else {
        d->e[col + (PetscCount)(-1 - row) * d->count] = a;
        square += abs * abs;
      }
    }
    if (row < 0) d->enorm[-1 - row] = PetscSqrtReal(square);
    if (PetscIsInfOrNanReal(sum) && d->badrow < 0) /* a sum may be infinite where its terms are not */
      for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++)
        if (PetscIsInfOrNanScalar(A->aa[k])) d->badrow = i;
    d->norm = PetscMax(d->norm, sum);
  }
  unit = SpikeBorderUnit_Private(most);
  for (PetscInt k = 0; k < d->m; k++) ta[ti[d->rows[k]]] = unit;
  PetscCall(MatSeqAIJRestoreArrayWrite(d->T, &ta));
  PetscCall(MatRestoreRowIJ(d->T, 0, PETSC_FALSE, PETSC_FALSE, NULL, &ti, NULL, &done));
  PetscCall(PetscObjectStateIncrease((PetscObject)d->T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  place, columns of E and how many entries those of F have. E is stored with all columns where more than half of them
  have entries: a tall block then needs no list of them
*/
static PetscErrorCode PCSpikeBorderPlace_Private(PC pc, PetscInt n, const SpikeCSR *A)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  const PetscInt m = d->m;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) d->place[i] = 0;
  for (PetscInt k = 0; k < m; k++)
    for (PetscInt e = A->ai[d->rows[k]]; e < A->ai[d->rows[k] + 1]; e++) d->place[A->aj[e]] = 1;
  for (PetscInt k = 0; k < m; k++) d->place[d->rows[k]] = -1 - k;
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
  PetscCall(PetscArrayzero(d->fstart, m + 1));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1] && d->place[i] >= 0; k++)
      if (d->place[A->aj[k]] < 0) d->fstart[-d->place[A->aj[k]]]++;
  for (PetscInt k = 0; k < m; k++) d->fstart[k + 1] += d->fstart[k];
  PetscCall(PetscMalloc2(d->fstart[m], &d->frow, d->fstart[m], &d->f));
  PetscCall(PetscMalloc2((PetscCount)d->count * m, &d->e, m * m, &d->g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The border of the m rows and columns `rows`, ascending, of A, a MATAIJ on one rank */
PetscErrorCode PCSpikeBorderMake_Private(PC pc, Mat A, PetscInt m, const PetscInt rows[])
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = A->rmap->n;
  SpikeCSR       parts[2];
  PetscInt       nparts, *ti, *tj;
  PetscMemType   memtype;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(m, &d->rows, n, &d->place, m, &d->at, m + 1, &d->fstart, m, &d->enorm));
  PetscCall(PetscArraycpy(d->rows, rows, m));
  d->m           = m;
  s->info.border = m;
  PetscCall(MatGetMemType_Spike(A, &memtype));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeBorderPlace_Private(pc, n, &parts[0]));
  PetscCall(PetscMalloc2(n + 1, &d->ti, parts[0].ai[n] + m, &d->tj));
  ti    = d->ti;
  tj    = d->tj;
  ti[0] = 0;
  PetscCall(PetscArraycpy(d->at, d->fstart, m));
  for (PetscInt i = 0; i < n; i++) {
    PetscInt to = ti[i];

    if (d->place[i] < 0) tj[to++] = i;
    for (PetscInt k = parts[0].ai[i]; k < parts[0].ai[i + 1] && d->place[i] >= 0; k++) {
      const PetscInt j = parts[0].aj[k];

      if (d->place[j] < 0) d->frow[d->at[-1 - d->place[j]]++] = i;
      else tj[to++] = j;
    }
    ti[i + 1] = to;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, &d->T));
  PetscCall(MatSetSizes(d->T, n, n, n, n));
  PetscCall(MatSetType(d->T, PetscMemTypeHost(memtype) ? MATSEQAIJ : MATSEQAIJCUSPARSE));
  PetscCall(MatSeqAIJSetPreallocationCSR(d->T, ti, tj, NULL));
  PetscCall(PetscFree2(d->ti, d->tj));
  PetscCall(PCSpikeBorderFill_Private(pc, n, &parts[0]));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same pattern; *A becomes T */
PetscErrorCode PCSpikeBorderRefill_Private(PC pc, Mat *A)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  SpikeCSR       parts[2];
  PetscInt       nparts;

  PetscFunctionBegin;
  if (!d->T) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeGetCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  PetscCall(PCSpikeBorderFill_Private(pc, (*A)->rmap->n, &parts[0]));
  PetscCall(PCSpikeRestoreCSR_Private(pc, *A, PETSC_MEMTYPE_HOST, &nparts, parts));
  *A = d->T;
  PetscFunctionReturn(PETSC_SUCCESS);
}
