/* SPDX-License-Identifier: BSD-2-Clause */
/* dia.c: the host backend of dia.h; the products themselves are in template.h */
#include "kernels/dia/dia.h"
#include "kernels/common/host/isa.h"

const SpikeDIALoops *SpikeDIALoopsGet(void)
{
  return SpikeISAOf(&SpikeDIALoops);
}

/* Diagonal d in the bundle that begins with row i */
static inline PetscScalar *SpikeDIABundle(const SpikeDIA *A, PetscInt i, PetscInt d)
{
  return A->val + (PetscCount)i * A->count + (PetscCount)d * SPIKE_DIA_ROWS;
}

#define SPIKE_DIA_BLOCKS(A, i, rows) \
  for (PetscInt i = 0, rows; rows = PetscMin((PetscInt)SPIKE_DIA_ROWS, (A)->n - i), i < (A)->n; i += SPIKE_DIA_ROWS)

static PetscErrorCode SpikeDIACreate_Host(SpikeDIA *A)
{
  PetscFunctionBegin;
  A->places = (PetscCount)A->count * ((A->n + SPIKE_DIA_ROWS - 1) / SPIKE_DIA_ROWS) * SPIKE_DIA_ROWS;
  PetscCall(PetscMalloc1(A->places * sizeof(PetscScalar) + 63, (char **)&A->data));
  A->val = (PetscScalar *)((char *)A->data + ((64 - ((size_t)A->data & 63)) & 63));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIADestroy_Host(SpikeDIA *A)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(A->data));
  A->val = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAAlloc_Host(size_t bytes, void **memory)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes, (char **)memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIARelease_Host(void **memory)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(*memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAMove_Host(void *stream, PetscBool tobackend, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether row i has an entry on each diagonal and nothing else, in order */
static inline PetscBool SpikeDIAFullRow(const SpikeDIA *A, const SpikeCSR *csr, PetscInt i)
{
  const PetscInt *aj = csr->aj + csr->ai[i], shift = i - csr->shift;
  PetscInt        differ = 0;

  if (csr->colmap || csr->ai[i + 1] - csr->ai[i] != A->count) return PETSC_FALSE;
  for (PetscInt d = 0; d < A->count; d++) differ |= (aj[d] - shift) ^ A->offset[d];
  return (PetscBool)!differ;
}

/* A bundle is set to 0 when its first row comes, in cache */
static PetscErrorCode SpikeDIAFill_Host(SpikeDIA *A, PetscInt nparts, const SpikeCSR parts[])
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  {
    PetscScalar *val = SpikeDIABundle(A, i, 0);

    memset(val, 0, (size_t)A->count * SPIKE_DIA_ROWS * sizeof(*val));
    for (PetscInt p = 0; p < nparts; p++) {
      const SpikeCSR *csr = &parts[p];

      for (PetscInt r = 0; r < rows; r++) {
        const PetscInt row = i + r;
        PetscInt       d   = -1;

        if (SpikeDIAFullRow(A, csr, row)) {
          for (PetscInt k = 0; k < A->count; k++) val[(PetscCount)k * SPIKE_DIA_ROWS + r] = csr->aa[csr->ai[row] + k];
          continue;
        }
        for (PetscInt k = csr->ai[row]; k < csr->ai[row + 1]; k++) {
          d = SpikeDIAFind(A->count, A->offset, d, SpikeCSRColumn(csr, k) - row);
          PetscCheck(d < A->count, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                     "An entry of local row %" PetscInt_FMT " lies on none of the %" PetscInt_FMT " diagonals", row,
                     A->count);
          val[(PetscCount)d * SPIKE_DIA_ROWS + r] = csr->aa[k];
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAGet_Host(const SpikeDIA *A, PetscInt begin, PetscInt end, PetscScalar *out)
{
  PetscFunctionBegin;
  for (PetscInt i = begin; i < end; i++) {
    const PetscScalar *val = SpikeDIABundle(A, i - i % SPIKE_DIA_ROWS, 0) + i % SPIKE_DIA_ROWS;

    for (PetscInt d = 0; d < A->count; d++) *out++ = val[(PetscCount)d * SPIKE_DIA_ROWS];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAPut_Host(SpikeDIA *A, PetscInt begin, PetscInt end, const PetscScalar *in)
{
  PetscFunctionBegin;
  for (PetscInt i = begin; i < end; i++) {
    PetscScalar *val = SpikeDIABundle(A, i - i % SPIKE_DIA_ROWS, 0) + i % SPIKE_DIA_ROWS;

    for (PetscInt d = 0; d < A->count; d++) val[(PetscCount)d * SPIKE_DIA_ROWS] = *in++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAMult_Host(const SpikeDIA *A, PetscInt begin, PetscInt end, const PetscScalar *x,
                                        const PetscScalar *ghost, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  (*SpikeDIALoopsGet()->mult)(A, begin, end, x, ghost, z, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAMultTranspose_Host(const SpikeDIA *A, PetscBool conjugate, const PetscScalar *x,
                                                 const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  if (!z) PetscCall(PetscArrayzero(y, A->m));
  else if (z != y) PetscCall(PetscArraycpy(y, z, A->m));
  (*SpikeDIALoopsGet()->transpose)(A, conjugate, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAMultTransposeGhost_Host(const SpikeDIA *A, PetscBool conjugate, const PetscScalar *x,
                                                      PetscScalar *ghost)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(ghost, A->nghost));
  if (!A->nghost) PetscFunctionReturn(PETSC_SUCCESS);
  SPIKE_DIA_BLOCKS(A, i, rows)
  {
    if (i >= A->ibegin && i < A->iend) continue;
    for (PetscInt d = A->count - 1; d >= 0; d--) {
      const PetscScalar *a = SpikeDIABundle(A, i, d) - i;
      const PetscCount   o = A->offset[d];
      PetscInt           low, own, above, high;

      SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high);
      for (PetscInt r = low; r < own; r++) ghost[r + o + A->below[d]] += (conjugate ? PetscConj(a[r]) : a[r]) * x[r];
      for (PetscInt r = above; r < high; r++) ghost[r + o + A->above[d]] += (conjugate ? PetscConj(a[r]) : a[r]) * x[r];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAPack_Host(const SpikeDIA *A, PetscInt nruns, const SpikeDIARun runs[],
                                        const PetscScalar *x, PetscScalar *message)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < nruns; k++)
    PetscCall(PetscArraycpy(message + runs[k].at, x + runs[k].first, runs[k].length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAUnpackAdd_Host(const SpikeDIA *A, PetscInt nruns, const SpikeDIARun runs[],
                                             const PetscScalar *message, PetscScalar *x)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < nruns; k++)
    for (PetscInt j = 0; j < runs[k].length; j++) x[runs[k].first + j] += message[runs[k].at + j];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAZero_Host(SpikeDIA *A)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(A->val, A->places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAScale_Host(SpikeDIA *A, PetscScalar a)
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  for (PetscInt d = 0; d < A->count; d++) {
    PetscScalar *val = SpikeDIABundle(A, i, d);

    for (PetscInt r = 0; r < rows; r++) val[r] *= a;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAConjugate_Host(SpikeDIA *A)
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  for (PetscInt d = 0; d < A->count; d++) {
    PetscScalar *val = SpikeDIABundle(A, i, d);

    for (PetscInt r = 0; r < rows; r++) val[r] = PetscConj(val[r]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIADiagonalScale_Host(SpikeDIA *A, const PetscScalar *l, const PetscScalar *r,
                                                 const PetscScalar *rghost)
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  for (PetscInt d = 0; d < A->count; d++) {
    PetscScalar     *val = SpikeDIABundle(A, i, d) - i;
    const PetscCount o   = A->offset[d];
    PetscInt         low, own, above, high;

    SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high);
    for (PetscInt k = low; l && k < high; k++) val[k] *= l[k];
    if (!r) continue;
    for (PetscInt k = low; k < own; k++) val[k] *= rghost[k + o + A->below[d]];
    for (PetscInt k = own; k < above; k++) val[k] *= r[k + o];
    for (PetscInt k = above; k < high; k++) val[k] *= rghost[k + o + A->above[d]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAAXPY_Host(SpikeDIA *A, PetscScalar a, const SpikeDIA *B)
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  for (PetscInt d = 0; d < A->count; d++) {
    PetscScalar       *val = SpikeDIABundle(A, i, d);
    const PetscScalar *add = SpikeDIABundle(B, i, d);

    for (PetscInt r = 0; r < rows; r++) val[r] += a * add[r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIACopy_Host(SpikeDIA *A, const SpikeDIA *B)
{
  PetscFunctionBegin;
  PetscCall(PetscArraycpy(A->val, B->val, A->places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIAGetDiagonal_Host(const SpikeDIA *A, PetscInt d, PetscScalar *v)
{
  PetscFunctionBegin;
  if (d == A->count) {
    PetscCall(PetscArrayzero(v, A->n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  SPIKE_DIA_BLOCKS(A, i, rows)
  PetscCall(PetscArraycpy(v + i, SpikeDIABundle(A, i, d), rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIASetDiagonal_Host(SpikeDIA *A, PetscInt d, PetscBool add, PetscScalar a,
                                               const PetscScalar *v)
{
  PetscFunctionBegin;
  SPIKE_DIA_BLOCKS(A, i, rows)
  {
    PetscScalar *val = SpikeDIABundle(A, i, d);

    for (PetscInt r = PetscMax(0, A->first[d] - i); r < PetscMin(rows, A->last[d] - i); r++)
      val[r] = (add ? val[r] : (PetscScalar)0.0) + a * (v ? v[i + r] : (PetscScalar)1.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeDIASums_Host(const SpikeDIA *A, SpikeDIASums kind, PetscReal *out, PetscReal *ghost)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(out, kind == SPIKE_DIA_SQUARES ? 1 : (kind == SPIKE_DIA_ROWSUMS ? A->n : A->m)));
  if (kind == SPIKE_DIA_COLUMNSUMS) PetscCall(PetscArrayzero(ghost, A->nghost));
  SPIKE_DIA_BLOCKS(A, i, rows)
  for (PetscInt d = 0; d < A->count; d++) {
    const PetscScalar *a = SpikeDIABundle(A, i, d) - i;
    const PetscCount   o = A->offset[d];
    PetscInt           low, own, above, high;

    SpikeDIAOwnRows(A, d, i, i + rows, &low, &own, &above, &high);
    if (kind == SPIKE_DIA_ROWSUMS) {
      for (PetscInt r = low; r < high; r++) out[r] += PetscAbsScalar(a[r]);
    } else if (kind == SPIKE_DIA_SQUARES) {
      PetscReal square = 0.0;

      for (PetscInt r = low; r < high; r++) square += PetscRealPart(a[r] * PetscConj(a[r]));
      *out += square;
    } else {
      for (PetscInt r = low; r < own; r++) ghost[r + o + A->below[d]] += PetscAbsScalar(a[r]);
      for (PetscInt r = own; r < above; r++) out[r + o] += PetscAbsScalar(a[r]);
      for (PetscInt r = above; r < high; r++) ghost[r + o + A->above[d]] += PetscAbsScalar(a[r]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeDIAKernels SpikeDIAKernels_Host = {
  .name               = "host",
  .memtype            = PETSC_MEMTYPE_HOST,
  .create             = SpikeDIACreate_Host,
  .destroy            = SpikeDIADestroy_Host,
  .alloc              = SpikeDIAAlloc_Host,
  .release            = SpikeDIARelease_Host,
  .move               = SpikeDIAMove_Host,
  .fill               = SpikeDIAFill_Host,
  .get                = SpikeDIAGet_Host,
  .put                = SpikeDIAPut_Host,
  .mult               = SpikeDIAMult_Host,
  .multtranspose      = SpikeDIAMultTranspose_Host,
  .multtransposeghost = SpikeDIAMultTransposeGhost_Host,
  .pack               = SpikeDIAPack_Host,
  .unpackadd          = SpikeDIAUnpackAdd_Host,
  .zero               = SpikeDIAZero_Host,
  .scale              = SpikeDIAScale_Host,
  .conjugate          = SpikeDIAConjugate_Host,
  .diagonalscale      = SpikeDIADiagonalScale_Host,
  .axpy               = SpikeDIAAXPY_Host,
  .copy               = SpikeDIACopy_Host,
  .getdiagonal        = SpikeDIAGetDiagonal_Host,
  .setdiagonal        = SpikeDIASetDiagonal_Host,
  .sums               = SpikeDIASums_Host,
  .scan               = SpikeDIAScan_Host,
  .sample             = SpikeDIASample_Host,
};
