/* SPDX-License-Identifier: BSD-2-Clause */
/* diabuild.c: MATDIA from AIJ and back: tables, masks, values */
#include "diaimpl.h"

#define MAT_DIA_FREE_BYTES 1048576 /* that diagonals may take whatever the fill */

/* The rows of an AIJ matrix as one or two pieces, columns counted from the first own one */
typedef struct {
  PetscInt     n;
  Mat          mat[2];
  PetscBool    values[2]; /* with their numbers, not the pattern alone */
  SpikeCSR     csr[2];
  PetscMemType memtype;
  PetscInt    *colmap; /* in this memory, or NULL */
} MatDIAPieces;

/*
  In memory of a type, on a device with their numbers, pieces without entries left out; or the pattern on the host,
  wherever the numbers are
*/
static PetscErrorCode MatDIAGetPieces_Private(Mat A, Mat aij, PetscBool values, PetscMemType memtype, MatDIAPieces *p)
{
  Mat_DIA        *a      = (Mat_DIA *)A->data;
  Mat             mat[2] = {aij, NULL};
  const PetscInt *garray = NULL;
  PetscBool       mpi;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->memtype = memtype;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)aij, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(aij, &mat[0], &mat[1], &garray));
  for (PetscInt k = 0; k < (mpi ? 2 : 1); k++) {
    SpikeCSR *csr = &p->csr[p->n];

    p->mat[p->n]    = mat[k];
    p->values[p->n] = values;
    if (!values) {
      PetscInt  n;
      PetscBool done;

      PetscCall(MatGetRowIJ(mat[k], 0, PETSC_FALSE, PETSC_FALSE, &n, &csr->ai, &csr->aj, &done));
      PetscCheck(done, PetscObjectComm((PetscObject)aij), PETSC_ERR_SUP, "This type of matrix does not give its rows");
    } else {
      MatInfo info;

      PetscCall(MatGetInfo(mat[k], MAT_LOCAL, &info));
      if (!PetscMemTypeHost(memtype) && info.nz_used == 0.0) continue;
      PetscCall(MatSeqAIJGetCSR_Spike(mat[k], memtype, csr));
    }
    if (k) {
      csr->colmap = garray;
      csr->shift  = -aij->cmap->rstart;
      if (!PetscMemTypeHost(memtype)) {
        PetscInt ncols;

        PetscCall(MatGetSize(mat[k], NULL, &ncols));
        PetscCall((*a->dia.k->alloc)((size_t)ncols * sizeof(PetscInt), (void **)&p->colmap));
        PetscCall((*a->dia.k->move)(a->dia.stream, PETSC_TRUE, p->colmap, garray, (size_t)ncols * sizeof(PetscInt)));
        csr->colmap = p->colmap;
      }
    }
    p->n++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIARestorePieces_Private(Mat A, MatDIAPieces *p)
{
  Mat_DIA *a = (Mat_DIA *)A->data;

  PetscFunctionBegin;
  while (p->n) {
    p->n--;
    if (p->values[p->n]) PetscCall(MatSeqAIJRestoreCSR_Spike(p->mat[p->n], p->memtype, &p->csr[p->n]));
    else {
      PetscInt  n;
      PetscBool done;

      PetscCall(
        MatRestoreRowIJ(p->mat[p->n], 0, PETSC_FALSE, PETSC_FALSE, &n, &p->csr[p->n].ai, &p->csr[p->n].aj, &done));
    }
  }
  if (p->colmap) PetscCall((*a->dia.k->release)((void **)&p->colmap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which diagonals, in which rows, with which places taken */
typedef struct {
  PetscInt   count, *offset, *first, *last;
  uint64_t  *mask;
  PetscInt64 nz;
} MatDIAStructure;

static inline PetscCount MatDIAMaskLength(PetscInt n, PetscInt count)
{
  return (PetscCount)count * ((n + SPIKE_DIA_ROWS - 1) / SPIKE_DIA_ROWS);
}

/* Collective, as its error is */
static PetscErrorCode MatDIAGetOffsets_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], MatDIAStructure *s)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  const PetscInt n = A->rmap->n;
  PetscReal      most, local[2] = {0.0, 0.0}, global[2];
  PetscInt       limit;

  PetscFunctionBegin;
  s->nz = 0;
  for (PetscInt p = 0; p < nparts; p++) s->nz += parts[p].ai[n] - parts[p].ai[0];
  most  = PetscMax(a->maxfill * (PetscReal)s->nz, (PetscReal)MAT_DIA_FREE_BYTES / sizeof(PetscScalar)) / PetscMax(n, 1);
  limit = (PetscInt)PetscMin(PetscMin(most, (PetscReal)s->nz), (PetscReal)(PETSC_INT_MAX / 4));
  PetscCall(PetscMalloc1(limit + 1, &s->offset));
  SpikeDIAOffsets(n, nparts, parts, limit, &s->count, s->offset);
  if (s->count > limit) {
    local[0] = (PetscReal)s->count * n * sizeof(PetscScalar);
    local[1] = (PetscReal)s->nz * (sizeof(PetscScalar) + sizeof(PetscInt));
  }
  PetscCallMPI(MPIU_Allreduce(local, global, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  if (global[0] > 0.0) {
    PetscCall(PetscFree(s->offset));
    SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
            "The entries of this matrix lie on so many diagonals that a rank would need more than %g MB for them, and "
            "needs %g MB as MATAIJ: keep it as MATAIJ, give each rank whole layers of the grid (-da_processors_x 1), "
            "reorder it, or allow more than %g places for an entry by -%smat_dia_max_fill or MatDIASetMaxFill()",
            (double)(global[0] * 1e-6), (double)(global[1] * 1e-6), (double)a->maxfill,
            ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAGetStructure_Private(Mat A, PetscInt nparts, const SpikeCSR parts[], MatDIAStructure *s)
{
  const PetscInt n = A->rmap->n;

  PetscFunctionBegin;
  PetscCall(MatDIAGetOffsets_Private(A, nparts, parts, s));
  PetscCall(PetscMalloc1(s->count, &s->first));
  PetscCall(PetscCalloc1(s->count, &s->last));
  PetscCall(PetscCalloc1(MatDIAMaskLength(n, s->count), &s->mask));
  for (PetscInt d = 0; d < s->count; d++) s->first[d] = n;
  for (PetscInt p = 0; p < nparts; p++) {
    for (PetscInt i = 0; i < n; i++) {
      uint64_t *mask = s->mask + MatDIAMaskLength(i - i % SPIKE_DIA_ROWS, s->count);
      PetscInt  d    = -1;

      for (PetscInt k = parts[p].ai[i]; k < parts[p].ai[i + 1]; k++) {
        d = SpikeDIAFind(s->count, s->offset, d, SpikeCSRColumn(&parts[p], k) - i);
        mask[d] |= (uint64_t)1 << (i % SPIKE_DIA_ROWS);
        s->first[d] = PetscMin(s->first[d], i);
        s->last[d]  = PetscMax(s->last[d], i + 1);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDIAFreeStructure_Private(MatDIAStructure *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(s->offset));
  PetscCall(PetscFree(s->first));
  PetscCall(PetscFree(s->last));
  PetscCall(PetscFree(s->mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool MatDIAIsStructure_Private(Mat A, const MatDIAStructure *s)
{
  const Mat_DIA *a = (Mat_DIA *)A->data;
  const size_t   n = (size_t)s->count * sizeof(PetscInt);

  if (!a->built || a->dia.count != s->count || a->nz != s->nz) return PETSC_FALSE;
  return (PetscBool)(!n ||
                     (!memcmp(a->dia.offset, s->offset, n) && !memcmp(a->dia.first, s->first, n) &&
                      !memcmp(a->dia.last, s->last, n) &&
                      !memcmp(a->mask, s->mask, (size_t)MatDIAMaskLength(A->rmap->n, s->count) * sizeof(*s->mask))));
}

/*
  Another number for each structure in the program, wherever it lies: what others keep of one is not taken for that of
  another
*/
static PetscObjectState MatDIANewShape_Private(void)
{
  static PetscObjectState shapes = 0;

  return ++shapes;
}

/* Tables of the matrix from its structure; takes the mask. The values are of no use yet */
static PetscErrorCode MatDIASetStructure_Private(Mat A, MatDIAStructure *s)
{
  Mat_DIA       *a     = (Mat_DIA *)A->data;
  const PetscInt shift = A->cmap->rstart - A->rmap->rstart;

  PetscFunctionBegin;
  PetscCall(MatDIAReset_Private(A));
  PetscCall(SpikeDIACreate(SpikeDIAKernelsFind(MatDIAMemType_Private(A)), A->rmap->n, A->cmap->n, s->count, s->offset,
                           &a->dia));
  PetscCall(SpikeDIASetExtents(&a->dia, s->first, s->last));
  a->mask = s->mask;
  s->mask = NULL;
  a->nz   = s->nz;
  PetscCall(PetscMalloc1(s->count, &a->offsets));
  for (PetscInt d = 0; d < s->count; d++) a->offsets[d] = s->offset[d] + shift;
  a->diagonal = SpikeDIAFind(s->count, s->offset, -1, -shift);
  PetscCall(PetscMalloc3(s->count, &a->cols, s->count, &a->vals, s->count, &a->row));
  PetscCall(MatDIAHaloCreate_Private(A));
  a->shape = MatDIANewShape_Private();
  a->built = PETSC_TRUE;
  A->nonzerostate++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of one, with the same diagonals, become those of the other, wherever they are */
PetscErrorCode MatDIAMove_Private(const SpikeDIA *from, SpikeDIA *to)
{
  const PetscInt most = 256 * SPIKE_DIA_ROWS;
  PetscScalar   *rows;

  PetscFunctionBegin;
  if (from->k == to->k) {
    PetscCall((*to->k->copy)(to, from));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*to->k->zero)(to));
  PetscCall(PetscMalloc1((PetscCount)to->count * PetscMin(most, to->n), &rows));
  for (PetscInt begin = 0, end; begin < to->n; begin = end) {
    end = begin + PetscMin(most, to->n - begin);
    PetscCall((*from->k->get)(from, begin, end, rows));
    PetscCall((*to->k->put)(to, begin, end, rows));
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix by diagonals like A's, with values of no use yet, in memory of a type */
static PetscErrorCode MatDIALike_Private(Mat A, PetscMemType memtype, SpikeDIA *dia)
{
  const SpikeDIA *like = &((Mat_DIA *)A->data)->dia;

  PetscFunctionBegin;
  PetscCall(SpikeDIACreate(SpikeDIAKernelsFind(memtype), like->n, like->m, like->count, like->offset, dia));
  PetscCall(SpikeDIASetExtents(dia, like->first, like->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Values of an AIJ matrix with the structure of A: where they are if A is there, or on the host; else by a copy there
*/
static PetscErrorCode MatDIAFill_Private(Mat A, Mat aij)
{
  Mat_DIA     *a = (Mat_DIA *)A->data;
  PetscMemType memtype;
  SpikeDIA     dia;
  MatDIAPieces p;

  PetscFunctionBegin;
  PetscCall(MatGetMemType_Spike(aij, &memtype));
  if (PetscMemTypeHost(a->dia.k->memtype) || !PetscMemTypeHost(memtype)) {
    PetscCall(MatDIAGetPieces_Private(A, aij, PETSC_TRUE, a->dia.k->memtype, &p));
    PetscCall((*a->dia.k->fill)(&a->dia, p.n, p.csr));
    PetscCall(MatDIARestorePieces_Private(A, &p));
  } else {
    PetscCall(MatDIAGetPieces_Private(A, aij, PETSC_TRUE, PETSC_MEMTYPE_HOST, &p));
    PetscCall(MatDIALike_Private(A, PETSC_MEMTYPE_HOST, &dia));
    PetscCall((*dia.k->fill)(&dia, p.n, p.csr));
    PetscCall(MatDIARestorePieces_Private(A, &p));
    PetscCall(MatDIAMove_Private(&dia, &a->dia));
    PetscCall(SpikeDIADestroy(&dia));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The entries of an AIJ matrix with the same layouts become those of A; where its pattern is the one that A has, only
  the values move, and where it is known to be, nobody looks at it
*/
PetscErrorCode MatDIAFromAIJ_Private(Mat A, Mat aij)
{
  Mat_DIA         *a = (Mat_DIA *)A->data;
  PetscObjectId    id;
  PetscObjectState state;
  MatDIAPieces     p;
  MatDIAStructure  s;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(MatDIACite_Private());
  PetscCall(PetscObjectGetId((PetscObject)aij, &id));
  PetscCall(MatGetNonzeroState(aij, &state));
  same = (PetscBool)(a->built && a->source == id && a->sourcestate == state && a->sourceshape == a->shape);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!same) {
    PetscCall(MatDIAGetPieces_Private(A, aij, PETSC_FALSE, PETSC_MEMTYPE_HOST, &p));
    PetscCall(MatDIAGetStructure_Private(A, p.n, p.csr, &s));
    PetscCall(MatDIARestorePieces_Private(A, &p));
    same = MatDIAIsStructure_Private(A, &s);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    if (!same) PetscCall(MatDIASetStructure_Private(A, &s));
    PetscCall(MatDIAFreeStructure_Private(&s));
    a->source      = id;
    a->sourcestate = state;
    a->sourceshape = a->shape;
  }
  PetscCall(MatDIAFill_Private(A, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIASameStructure_Private(Mat A, Mat B, PetscBool *same)
{
  const Mat_DIA  *a = (Mat_DIA *)A->data, *b = (Mat_DIA *)B->data;
  MatDIAStructure s = {b->dia.count, b->dia.offset, b->dia.first, b->dia.last, b->mask, b->nz};

  PetscFunctionBegin;
  *same = (PetscBool)(a->built && b->built && A->rmap->n == B->rmap->n && A->cmap->n == B->cmap->n &&
                      MatDIAIsStructure_Private(A, &s));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows in CSR, with global columns */
static PetscErrorCode MatDIAGetRows_Private(Mat A, PetscInt **ai, PetscInt **aj, PetscScalar **aa)
{
  Mat_DIA       *a = (Mat_DIA *)A->data;
  const PetscInt n = A->rmap->n, count = a->dia.count,
                 chunk = PetscMemTypeHost(a->dia.k->memtype) ? SPIKE_DIA_ROWS : 256 * SPIKE_DIA_ROWS;
  PetscScalar *rows;
  PetscInt     k = 0;

  PetscFunctionBegin;
  PetscCheck(a->nz < PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "%" PetscInt64_FMT " entries on a rank are more than MATAIJ can count in PetscInt: configure PETSc with "
             "--with-64-bit-indices",
             a->nz);
  PetscCall(PetscMalloc3(n + 1, ai, (PetscCount)a->nz, aj, (PetscCount)a->nz, aa));
  PetscCall(PetscMalloc1((PetscCount)count * PetscMin(chunk, n), &rows));
  (*ai)[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *row = rows + (PetscCount)(i % chunk) * count;

    if (i % chunk == 0) PetscCall((*a->dia.k->get)(&a->dia, i, i + PetscMin(chunk, n - i), rows));
    for (PetscInt d = 0; d < count; d++) {
      if (!MatDIAHas_Private(a, i, d)) continue;
      (*aj)[k]   = i + A->rmap->rstart + a->offsets[d];
      (*aa)[k++] = row[d];
    }
    (*ai)[i + 1] = k;
  }
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSEQAIJ or MATMPIAIJ with the entries of A, not all of which need be nonzero */
PetscErrorCode MatDIAToAIJ_Private(Mat A, MatReuse reuse, Mat *B)
{
  Mat          C;
  PetscInt    *ai, *aj;
  PetscScalar *aa;
  PetscBool    seq = ((Mat_DIA *)A->data)->seq;

  PetscFunctionBegin;
  PetscCall(MatDIAGetRows_Private(A, &ai, &aj, &aa));
  if (reuse == MAT_REUSE_MATRIX) {
    C = *B;
    PetscCall(MatZeroEntries(C));
    for (PetscInt i = 0; i < A->rmap->n; i++) {
      const PetscInt row = i + A->rmap->rstart;

      PetscCall(MatSetValues(C, 1, &row, ai[i + 1] - ai[i], aj + ai[i], aa + ai[i], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  } else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
    PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(C, A, A));
    PetscCall(MatSetType(C, seq ? MATSEQAIJ : MATMPIAIJ));
    if (seq) PetscCall(MatSeqAIJSetPreallocationCSR(C, ai, aj, aa));
    else PetscCall(MatMPIAIJSetPreallocationCSR(C, ai, aj, aa));
    *B = C;
  }
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_DIA_AIJ(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  (void)newtype;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &C));
    PetscCall(MatHeaderReplace(A, &C));
  } else PetscCall(MatDIAToAIJ_Private(A, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To any other type by AIJ */
PetscErrorCode MatConvert_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatDIAToAIJ_Private(A, MAT_INITIAL_MATRIX, &C));
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatConvert(C, newtype, MAT_INPLACE_MATRIX, &C));
    PetscCall(MatHeaderReplace(A, &C));
  } else {
    PetscCall(MatConvert(C, newtype, reuse, B));
    PetscCall(MatDestroy(&C));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From any type by AIJ; what is AIJ already is read where it is */
PetscErrorCode MatConvertFrom_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat            C, aij = A;
  PetscBool      is;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &is, MATSEQAIJ, MATMPIAIJ, ""));
  if (!is) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &aij));
  if (reuse == MAT_REUSE_MATRIX) C = *B;
  else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
    PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(C, A, A));
    PetscCall(MatSetOptionsPrefix(C, ((PetscObject)A)->prefix));
    PetscCall(MatSetType(C, newtype));
    PetscCall(MatDIASetFromOptions_Private(C));
    PetscCall(PetscLayoutSetUp(C->rmap));
    PetscCall(PetscLayoutSetUp(C->cmap));
  }
  ierr = MatDIAFromAIJ_Private(C, aij);
  if (!is) PetscCall(MatDestroy(&aij));
  if (ierr && reuse != MAT_REUSE_MATRIX) PetscCall(MatDestroy(&C)); /* a matrix that is refused leaves nothing behind */
  PetscCall(ierr);
  C->preallocated = C->assembled = PETSC_TRUE;
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As another of our types too */
static PetscErrorCode MatDIADuplicate_Private(Mat A, MatType type, MatDuplicateOption op, Mat *B)
{
  Mat_DIA        *a = (Mat_DIA *)A->data, *b;
  Mat             C;
  MatDIAStructure s;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &C));
  PetscCall(MatSetSizes(C, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(C, A, A));
  PetscCall(MatSetType(C, type));
  if (a->cuda && MatIsBoundToCPU_Spike(A)) PetscCall(MatBindToCPU(C, PETSC_TRUE));
  PetscCall(PetscLayoutReference(A->rmap, &C->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &C->cmap));
  b           = (Mat_DIA *)C->data;
  b->schedule = a->schedule;
  b->maxfill  = a->maxfill;

  b->halo.pernode = a->halo.pernode;
  PetscCall(PetscArraycpy(b->options, a->options, PETSC_STATIC_ARRAY_LENGTH(a->options)));
  PetscCall(PetscArraycpy(b->optionset, a->optionset, PETSC_STATIC_ARRAY_LENGTH(a->options)));
  if (a->built) {
    s.count  = a->dia.count;
    s.offset = a->dia.offset;
    s.first  = a->dia.first;
    s.last   = a->dia.last;
    s.nz     = a->nz;
    PetscCall(PetscMalloc1(MatDIAMaskLength(A->rmap->n, s.count), &s.mask));
    PetscCall(PetscArraycpy(s.mask, a->mask, MatDIAMaskLength(A->rmap->n, s.count)));
    PetscCall(MatDIASetStructure_Private(C, &s));
    if (op == MAT_COPY_VALUES) PetscCall(MatDIAMove_Private(&a->dia, &b->dia));
    else PetscCall((*b->dia.k->zero)(&b->dia));
    C->preallocated = PETSC_TRUE;
    C->assembled    = PETSC_TRUE;
  }
  *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDuplicate_DIA(Mat A, MatDuplicateOption op, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDIADuplicate_Private(A, ((PetscObject)A)->type_name, op, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the host to the device, and back */
PetscErrorCode MatConvert_DIA_DIA(Mat A, MatType newtype, MatReuse reuse, Mat *B)
{
  Mat C;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *B, DIFFERENT_NONZERO_PATTERN));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDIADuplicate_Private(A, newtype, MAT_COPY_VALUES, &C));
  PetscCall(MatSetOptionsPrefix(C, ((PetscObject)A)->prefix));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &C));
  else *B = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values, and the halo, to where they belong now */
PetscErrorCode MatBindToCPU_DIA(Mat A, PetscBool bind)
{
  Mat_DIA *a = (Mat_DIA *)A->data;
  SpikeDIA dia;

  PetscFunctionBegin;
  MatSetBoundToCPU_Spike(A, bind);
  if (!a->built || a->dia.k->memtype == MatDIAMemType_Private(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDIALike_Private(A, MatDIAMemType_Private(A), &dia));
  PetscCall(MatDIAMove_Private(&a->dia, &dia));
  PetscCall(MatDIAHaloDestroy_Private(a));
  PetscCall(SpikeDIADestroy(&a->dia));
  a->dia = dia;
  PetscCall(MatDIAHaloCreate_Private(A));
  PetscCall(MatDestroy(&a->block));
  a->shape = MatDIANewShape_Private();
  PetscFunctionReturn(PETSC_SUCCESS);
}
