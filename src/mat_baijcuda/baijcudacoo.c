/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baijcudacoo.c: MatSetPreallocationCOO() and MatSetValuesCOO() of MATBAIJCUDA. Coordinates become places of values
  once; each set of values is one pass of a kernel over the copy, and PETSc's blocks get them when somebody asks.
  Coordinates of rows of other ranks are left to PETSc, which takes each value by MatSetValues()
*/
#include "baijcudaimpl.h"
#include <petscdevice.h>

/* Of a part: values p <- coordinates from[first[p]], ..., from[first[p + 1] - 1], where the backend works */
typedef struct {
  PetscCount  nval;
  PetscCount *first, *from; /* [nval + 1], [first[nval]] */
} MatBAIJCOOPart;

struct _n_MatBAIJCOO {
  PetscInt                 refct; /* duplicates of a matrix share it */
  const SpikeBlockKernels *k;
  PetscCount               n; /* coordinates */
  MatBAIJCOOPart           part[2];
  PetscObjectState         pattern[2]; /* of the parts when values came first, -1: none came */
  PetscObjectState         made[2];    /* of the parts */
  MatBAIJCUDAPattern       source;     /* whose entries the coordinates are; zero: nobody's */
};

PetscErrorCode MatBAIJCUDACOOReset_Private(Mat A)
{
  Mat_BAIJCUDA *c   = MatBAIJCUDA_Private(A);
  MatBAIJCOO   *coo = c->coo;

  PetscFunctionBegin;
  c->coo = NULL;
  if (c->b.k) PetscCall((*c->k->release)(&c->b, (void **)&c->staged));
  c->nstaged = 0;
  if (!coo || --coo->refct) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    PetscCall((*coo->k->release)(&c->b, (void **)&coo->part[k].first));
    PetscCall((*coo->k->release)(&c->b, (void **)&coo->part[k].from));
  }
  PetscCall(PetscFree(coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A duplicate of A takes values of the same coordinates */
PetscErrorCode MatBAIJCUDACOOShare_Private(Mat A, Mat B)
{
  Mat_BAIJCUDA *b      = MatBAIJCUDA_Private(B);
  const char   *kept[] = {"__PETSc_coo_i", "__PETSc_coo_j"}; /* of MatSetValuesCOOBasic_BAIJCUDA() */

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDACOOReset_Private(B));
  b->coo = MatBAIJCUDA_Private(A)->coo;
  if (b->coo) b->coo->refct++;
  for (int k = 0; k < 2; k++) {
    PetscObject is;

    PetscCall(PetscObjectQuery((PetscObject)A, kept[k], &is));
    if (is) PetscCall(PetscObjectCompose((PetscObject)B, kept[k], is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coordinates of A are those of the entries of a matrix, in its order */
PetscErrorCode MatBAIJCUDACOOSetSource_Private(Mat A, const MatBAIJCUDAPattern *source)
{
  PetscFunctionBegin;
  MatBAIJCUDA_Private(A)->coo->source = *source;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not collective: whether MatSetValuesCOO() of A takes the values of that matrix; A of any type */
PetscErrorCode MatBAIJCUDACOOIsFrom_Private(Mat A, const MatBAIJCUDAPattern *source, PetscBool *is)
{
  const MatBAIJCOO *coo;
  const PetscInt   *garray;
  Mat               parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAIs_Private(A, is));
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  coo = MatBAIJCUDA_Private(A)->coo;
  *is = (PetscBool)(coo && !memcmp(&coo->source, source, sizeof(*source)));
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  for (int k = 0; k < 2; k++)
    if (parts[k] && (coo->pattern[k] != parts[k]->nonzerostate || coo->made[k] != MatBAIJCUDA_Private(parts[k])->made))
      *is = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a coordinate is ignored; those outside of the matrix are errors */
static PetscErrorCode MatBAIJCUDACOOSkip_Private(Mat A, PetscCount k, PetscInt i, PetscInt j, PetscBool *skip)
{
  PetscFunctionBegin;
  PetscCheck(i < A->rmap->N && j < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Coordinate %" PetscCount_FMT " is row %" PetscInt_FMT ", column %" PetscInt_FMT
             ", and the matrix has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns",
             k, i, j, A->rmap->N, A->cmap->N);
  *skip = (PetscBool)(i < 0 || j < 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective: whether some rank has coordinates of rows of another one */
static PetscErrorCode MatBAIJCUDACOORemote_Private(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[],
                                                   PetscBool *remote)
{
  PetscBool skip;

  PetscFunctionBegin;
  *remote = PETSC_FALSE;
  for (PetscCount k = 0; k < n; k++) {
    PetscCall(MatBAIJCUDACOOSkip_Private(A, k, i[k], j[k], &skip));
    if (!skip && (i[k] < A->rmap->rstart || i[k] >= A->rmap->rend)) *remote = PETSC_TRUE;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, remote, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks that the coordinates are in, zero, with ascending global columns in each row */
static PetscErrorCode MatBAIJCUDACOOPattern_Private(Mat A, PetscCount n, const PetscInt i[], const PetscInt j[])
{
  const PetscInt bs = A->rmap->bs, mb = A->rmap->n / bs, begin = A->rmap->rstart;
  PetscInt      *bi, *bj, at                                   = 0;
  PetscCount    *row, m = 0;
  PetscInt      *col;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(mb + 2, &row));
  for (PetscCount k = 0; k < n; k++)
    if (i[k] >= 0 && j[k] >= 0) row[(i[k] - begin) / bs + 2]++, m++;
  for (PetscInt r = 0; r < mb; r++) row[r + 2] += row[r + 1];
  PetscCall(PetscMalloc1(m, &col));
  for (PetscCount k = 0; k < n; k++)
    if (i[k] >= 0 && j[k] >= 0) col[row[(i[k] - begin) / bs + 1]++] = j[k] / bs;
  PetscCall(PetscMalloc1(mb + 1, &bi));
  for (PetscInt r = 0; r < mb; r++) { /* col[] becomes bj[] in place */
    PetscInt length;

    PetscCall(PetscIntCast(row[r + 1] - row[r], &length));
    PetscCall(PetscSortRemoveDupsInt(&length, col + row[r]));
    PetscCall(PetscArraymove(col + at, col + row[r], length));
    bi[r] = at;
    at += length;
  }
  bi[mb] = at;
  bj     = col;
  if (MatBAIJCUDA_Private(A)->mpi) PetscCall(MatMPIBAIJSetPreallocationCSR(A, bs, bi, bj, NULL));
  else PetscCall(MatSeqBAIJSetPreallocationCSR(A, bs, bi, bj, NULL));
  PetscCall(PetscFree(row));
  PetscCall(PetscFree(bi));
  PetscCall(PetscFree(col));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* place[k] <- where coordinate k is in the values of a part, -1: elsewhere. other: not the diagonal part */
static PetscErrorCode MatBAIJCUDACOOPlaces_Private(Mat A, Mat P, PetscBool other, const PetscInt garray[], PetscCount n,
                                                   const PetscInt i[], const PetscInt j[], PetscCount place[])
{
  const PetscInt  bs = A->rmap->bs, first = A->cmap->rstart / bs, end = A->cmap->rend / bs;
  const PetscInt *bi, *bj;
  PetscBool       done;
  PetscInt        mb;

  PetscFunctionBegin;
  PetscCall((*MatBAIJCUDA_Private(P)->ops.getrowij)(P, 0, PETSC_FALSE, PETSC_TRUE, &mb, &bi, &bj, &done));
  for (PetscCount k = 0; k < n; k++) {
    PetscInt row, col, at;

    place[k] = -1;
    if (i[k] < 0 || j[k] < 0) continue;
    row = (i[k] - A->rmap->rstart) / bs;
    col = j[k] / bs;
    if ((col >= first && col < end) == other) continue;
    if (other) PetscCall(PetscFindInt(col, P->cmap->n / bs, garray, &col));
    else col -= first;
    at = -1;
    if (col >= 0) PetscCall(PetscFindInt(col, bi[row + 1] - bi[row], bj + bi[row], &at));
    PetscCheck(at >= 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Row %" PetscInt_FMT ", column %" PetscInt_FMT " has no place in the pattern", i[k], j[k]);
    place[k] = ((PetscCount)bi[row] + at) * bs * bs + (j[k] % bs) * bs + i[k] % bs;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coordinates sorted by places, in their order where a place has several; to the backend */
static PetscErrorCode MatBAIJCUDACOOPart_Private(Mat A, Mat P, PetscCount n, const PetscCount place[],
                                                 MatBAIJCOOPart *part)
{
  Mat_BAIJCUDA *c = MatBAIJCUDA_Private(A);
  PetscCount   *first, *from, m;

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAUpdate_Private(P, PETSC_FALSE));
  part->nval = MatBAIJCUDA_Private(P)->nval;
  PetscCall(PetscCalloc1(part->nval + 2, &first));
  for (PetscCount k = 0; k < n; k++)
    if (place[k] >= 0) first[place[k] + 2]++;
  for (PetscCount p = 0; p < part->nval; p++) first[p + 2] += first[p + 1];
  m = first[part->nval + 1];
  PetscCall(PetscMalloc1(m, &from));
  for (PetscCount k = 0; k < n; k++)
    if (place[k] >= 0) from[first[place[k] + 1]++] = k;
  PetscCall((*c->k->alloc)(&c->b, (size_t)(part->nval + 1) * sizeof(*first), (void **)&part->first));
  PetscCall((*c->k->alloc)(&c->b, (size_t)m * sizeof(*from), (void **)&part->from));
  PetscCall(
    (*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, part->first, first, (size_t)(part->nval + 1) * sizeof(*first)));
  PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, part->from, from, (size_t)m * sizeof(*from)));
  PetscCall(PetscFree(first));
  PetscCall(PetscFree(from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error where the backend cannot read values of a device */
static PetscErrorCode MatBAIJCUDACOODevice_Private(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(PetscMemTypeDevice(MatBAIJCUDA_Private(A)->k->memtype), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "The values are on a device and the kernels of this MATBAIJCUDA on the host (-spike_host_baijcuda)");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v where the backend works; NULL stands for zeros */
static PetscErrorCode MatBAIJCUDACOOStage_Private(Mat A, const PetscScalar **v)
{
  Mat_BAIJCUDA    *c       = MatBAIJCUDA_Private(A);
  const PetscCount n       = c->coo->n;
  PetscMemType     memtype = PETSC_MEMTYPE_HOST;
  PetscScalar     *zeros   = NULL;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  if (*v) PetscCall(PetscGetMemType(*v, &memtype));
  if (*v && PetscMemTypeHost(memtype) == PetscMemTypeHost(c->k->memtype)) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeDevice(memtype)) PetscCall(MatBAIJCUDACOODevice_Private(A));
  if (c->nstaged != n) {
    PetscCall((*c->k->release)(&c->b, (void **)&c->staged));
    c->nstaged = 0;
    PetscCall((*c->k->alloc)(&c->b, (size_t)n * sizeof(PetscScalar), (void **)&c->staged));
    c->nstaged = n;
  }
  if (!*v) PetscCall(PetscCalloc1(n, &zeros));
  PetscCall((*c->k->copy)(&c->b, PETSC_TRUE, PETSC_FALSE, c->staged, *v ? *v : zeros, (size_t)n * sizeof(PetscScalar)));
  PetscCall(PetscFree(zeros));
  *v = c->staged;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesCOO_BAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_BAIJCUDA   *c   = MatBAIJCUDA_Private(A);
  MatBAIJCOO     *coo = c->coo;
  const PetscInt *garray;
  Mat             parts[2];

  PetscFunctionBegin;
  PetscCheck(coo, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has no coordinates: call MatSetPreallocationCOO() first");
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  if (mode == ADD_VALUES && c->mpi) PetscCall(MatBAIJCUDAUpdateParts_Private(A, PETSC_FALSE, parts));
  PetscCall(MatBAIJCUDACOOStage_Private(A, &v));
  for (int k = 0; k < (c->mpi ? 2 : 1); k++) {
    Mat_BAIJCUDA *p = MatBAIJCUDA_Private(parts[k]);

    if (mode == ADD_VALUES) PetscCall(MatBAIJCUDAUpdate_Private(parts[k], PETSC_FALSE));
    else PetscCall(MatBAIJCUDAUpdatePattern_Private(parts[k], PETSC_FALSE)); /* all values are written */
    if (coo->pattern[k] == -1) coo->pattern[k] = parts[k]->nonzerostate;
    PetscCheck(p->nval == coo->part[k].nval && coo->pattern[k] == parts[k]->nonzerostate, PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONGSTATE,
               "The pattern has changed since MatSetPreallocationCOO(): call it again before MatSetValuesCOO()");
    PetscCall((*c->k->assemble)(&p->b, p->nval, coo->part[k].first, coo->part[k].from, v,
                                (PetscBool)(mode == ADD_VALUES), p->val));
    PetscCall(MatBAIJCUDAAhead_Private(parts[k]));
    if (p->bound) PetscCall(MatBAIJCUDAToHost_Private(parts[k]));
  }
  if (c->mpi) {
    c->ahead = PETSC_TRUE;
    PetscCall(PetscObjectStateIncrease((PetscObject)A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's way: MatSetValues() on the host, of coordinates that PETSc's function has kept with the matrix. That function
  would read values of a device too; ours fetches them. It assembles, for MatSetValuesCOO() takes for granted then that
  no rank has values of others
*/
static PetscErrorCode MatSetValuesCOOBasic_BAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_BAIJCUDA   *c = MatBAIJCUDA_Private(A);
  const PetscInt *i, *j;
  PetscInt        n;
  PetscMemType    memtype;
  PetscScalar    *host = NULL;
  IS              rows, columns;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, "__PETSc_coo_i", (PetscObject *)&rows));
  PetscCall(PetscObjectQuery((PetscObject)A, "__PETSc_coo_j", (PetscObject *)&columns));
  PetscCheck(rows && columns, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix has no coordinates: call MatSetPreallocationCOO() first");
  PetscCall(ISGetLocalSize(rows, &n));
  if (n && v) PetscCall(PetscGetMemType(v, &memtype));
  if (n && v && PetscMemTypeDevice(memtype)) {
    PetscCall(MatBAIJCUDAGetBackend_Private(A));
    PetscCall(MatBAIJCUDACOODevice_Private(A));
    PetscCall(PetscMalloc1(n, &host));
    PetscCall((*c->k->copy)(&c->b, PETSC_FALSE, PETSC_TRUE, host, v, (size_t)n * sizeof(PetscScalar)));
    v = host;
  }
  PetscCall(ISGetIndices(rows, &i));
  PetscCall(ISGetIndices(columns, &j));
  if (mode != ADD_VALUES) PetscCall(MatZeroEntries(A));
  for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(A, i[k], j[k], v ? v[k] : (PetscScalar)0.0, ADD_VALUES));
  PetscCall(ISRestoreIndices(rows, &i));
  PetscCall(ISRestoreIndices(columns, &j));
  PetscCall(PetscFree(host));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBAIJCUDACOOBasic_Private(Mat A, PetscCount n, PetscInt i[], PetscInt j[], const char why[])
{
  PetscFunctionBegin;
  PetscCall(PetscInfo(A, "%s: values of coordinates go one by one, on the host\n", why));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", NULL));
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetPreallocationCOO_C", MatSetPreallocationCOO_BAIJCUDA));
  if (!A->structure_only)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOOBasic_BAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetPreallocationCOO_BAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_BAIJCUDA   *c = MatBAIJCUDA_Private(A);
  const PetscInt *garray;
  PetscCount     *place;
  PetscBool       remote, is;
  Mat             parts[2];

  PetscFunctionBegin;
  PetscCall(MatBAIJCUDAIs_Private(A, &is));
  PetscCheck(is, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG, "A factor has no coordinates");
  PetscCall(MatBAIJCUDACOOReset_Private(A));
  if (A->rmap->bs < 1) A->rmap->bs = 1;
  if (A->rmap->bs > SPIKE_BLOCK_MAXBS || A->structure_only) {
    PetscCall(MatBAIJCUDACOOBasic_Private(A, n, i, j, A->structure_only ? "No values" : "Large blocks"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatBAIJCUDACOORemote_Private(A, n, i, j, &remote));
  if (remote) {
    PetscCall(MatBAIJCUDACOOBasic_Private(A, n, i, j, "Rows of other ranks"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->ahead = PETSC_FALSE; /* values of before are lost */
  PetscCall(MatBAIJCUDACOOPattern_Private(A, n, i, j));
  PetscCall(MatBAIJCUDAGetBackend_Private(A));
  PetscCall(PetscNew(&c->coo));
  c->coo->refct = 1;
  c->coo->k     = c->k;
  c->coo->n     = n;
  PetscCall(MatBAIJCUDAGetParts_Private(A, parts, &garray));
  PetscCall(PetscMalloc1(n, &place));
  for (int k = 0; k < 2; k++) {
    c->coo->pattern[k] = -1;
    if (!parts[k]) continue;
    c->coo->made[k] = MatBAIJCUDA_Private(parts[k])->made;
    PetscCall(MatBAIJCUDACOOPlaces_Private(A, parts[k], (PetscBool)(k == 1), garray, n, i, j, place));
    PetscCall(MatBAIJCUDACOOPart_Private(A, parts[k], n, place, &c->coo->part[k]));
  }
  PetscCall(PetscFree(place));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSetValuesCOO_C", MatSetValuesCOO_BAIJCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
