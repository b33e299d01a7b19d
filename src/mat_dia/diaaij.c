/* SPDX-License-Identifier: BSD-2-Clause */
/* diaaij.c: the entries of MATDIA from an AIJ matrix, and as one */
#include "diaimpl.h"

/* The rows of an AIJ matrix as one or two pieces, columns counted from the first own one */
typedef struct {
  PetscInt     n;
  Mat          mat[2];
  PetscBool    values[2]; /* with their values, not the pattern alone */
  SpikeCSR     csr[2];
  PetscMemType memtype;
  PetscInt    *colmap; /* in this memory, or NULL */
} MatDIAPieces;

/*
  In memory of a type, on a device with their values, pieces without entries left out; or the pattern on the host,
  wherever the values are
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
      PetscCall(SpikeMatSeqAIJGetCSR(mat[k], memtype, csr));
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
    if (p->values[p->n]) PetscCall(SpikeMatSeqAIJRestoreCSR(p->mat[p->n], p->memtype, &p->csr[p->n]));
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
  PetscCall(SpikeMatGetMemType(aij, &memtype));
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

/* Padding is zero too, so that two of them are compared byte by byte */
static PetscErrorCode MatDIAGetSource_Private(Mat aij, MatDIASource *s)
{
  Mat         part[2] = {aij, NULL};
  PetscObject coo     = NULL;
  PetscBool   mpi;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscCall(PetscObjectGetId((PetscObject)aij, &s->id));
  PetscCall(MatGetNonzeroState(aij, &s->state));
  PetscCall(PetscObjectQuery((PetscObject)aij, "__PETSc_MatCOOStruct_Host", &coo));
  if (!coo) PetscCall(PetscObjectQuery((PetscObject)aij, "__PETSc_MatCOOStruct_Device", &coo));
  if (coo) PetscCall(PetscObjectGetId(coo, &s->coo));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)aij, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(aij, &part[0], &part[1], NULL));
  for (PetscInt k = 0; k < 2 && part[k]; k++) {
    MatInfo info;

    PetscCall(PetscObjectGetId((PetscObject)part[k], &s->part[k]));
    PetscCall(MatGetNonzeroState(part[k], &s->partstate[k]));
    PetscCall(MatGetInfo(part[k], MAT_LOCAL, &info));
    s->nz += (PetscInt64)info.nz_used;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The entries of an AIJ matrix with the same layouts become those of A; where its pattern is the one that A has, only
  the values move, and where it is known to be, nobody looks at it
*/
PetscErrorCode MatDIAFromAIJ_Private(Mat A, Mat aij)
{
  Mat_DIA        *a = (Mat_DIA *)A->data;
  MatDIASource    source;
  MatDIAPieces    p;
  MatDIAStructure s;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(MatHaloCite_Private());
  PetscCall(MatDIAGetSource_Private(aij, &source));
  same = (PetscBool)(a->built && !memcmp(&a->source, &source, sizeof(source)) && a->sourceshape == a->shape);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (!same) {
    PetscCall(MatDIAGetPieces_Private(A, aij, PETSC_FALSE, PETSC_MEMTYPE_HOST, &p));
    PetscCall(MatDIAGetStructure_Private(A, p.n, p.csr, &s));
    PetscCall(MatDIARestorePieces_Private(A, &p));
    same = MatDIAIsStructure_Private(A, &s);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &same, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
    if (!same) PetscCall(MatDIASetStructure_Private(A, &s));
    PetscCall(MatDIAFreeStructure_Private(&s));
    a->source      = source;
    a->sourceshape = a->shape;
  }
  PetscCall(MatDIAFill_Private(A, aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatDIAFitsAIJ_Private(Mat A, Mat aij, PetscBool *fits)
{
  MatDIAPieces p;

  PetscFunctionBegin;
  PetscCall(MatDIAGetPieces_Private(A, aij, PETSC_FALSE, PETSC_MEMTYPE_HOST, &p));
  PetscCall(MatDIAFits_Private(A, p.n, p.csr, fits));
  PetscCall(MatDIARestorePieces_Private(A, &p));
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
