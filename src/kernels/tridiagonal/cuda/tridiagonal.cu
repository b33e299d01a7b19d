/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tridiagonal.cu: the CUDA backend of tridiagonal.h: its table, memory, patches and applies: the partition method, with
  substitutions by prefixes over the rows of a patch
*/
#include "tridiagonal.cuh"

/*
  x <- A^-1 b, or A^-T b, in interiors, and xs in the separators. A thread block a patch and column. Reads 4 words a
  row, writes one. With ends, transposed and without xs: only y = A_I^-T b_I in the first and last rows of each patch is
  wanted, and written to ends[].
*/
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS, 4)
  SpikeTriApply_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *xs, const PetscScalar *b,
                       PetscCount ldb, PetscScalar *x, PetscCount ldx, bool wide, PetscScalar *ends)
{
  const PetscInt k = (PetscInt)blockIdx.x, lo = tri.first[k], hi = tri.first[k + 1], n = tri.first[gridDim.x],
                 i              = lo + SPIKE_TRI_ROWS * (PetscInt)threadIdx.x;
  const PetscInt          above = k ? tri.sep[k - 1] : -1, below = tri.sep[k];
  const PetscCount        column = blockIdx.y;
  PetscScalar             y[SPIKE_TRI_ROWS], p[SPIKE_TRI_ROWS], q[SPIKE_TRI_ROWS], s[SPIKE_TRI_ROWS];
  __shared__ SpikeTriLine shared[SPIKE_TRI_WARPS];

  wide = wide && lo % 2 == 0;
  SpikeTriLoad(b + column * ldb, i, lo, hi, wide, y);
  SpikeTriLoad(tri.r, i, lo, hi, wide, s);
  if (TRANSPOSED) {
    SpikeTriLoad(tri.v, i - 1, 0, hi, false, p);
    SpikeTriLoad(tri.l, i + 1, lo, PetscMin(hi + 1, n), false, q);
  } else {
    SpikeTriLoad(tri.l, i, lo, hi, wide, p);
    SpikeTriLoad(tri.v, i, lo, hi, wide, q);
  }
  if (i >= hi) {
    SpikeUnroll(j, SPIKE_TRI_ROWS) p[j] = q[j] = 0.0;
  }
  SpikeUnroll(j, SPIKE_TRI_ROWS) {
    if (i + j >= hi) {
      y[j] = p[j] = q[j] = s[j] = 0.0;
    } else if (below >= 0 && i + j == hi - 1) { /* the separator */
      y[j] = xs ? xs[column * tri.nsep + below] : PetscScalar(0.0);
      p[j] = q[j] = 0.0;
      s[j]        = 1.0;
    }
  }
  SpikeTriSweep(y, p, s, q, above >= 0 && xs ? xs[column * tri.nsep + above] : PetscScalar(0.0), 0.0, shared);
  if (ends) {
    SpikeUnroll(j, SPIKE_TRI_ROWS) {
      if (i + j == lo) ends[2 * (column * gridDim.x + k)] = y[j];
      if (below >= 0 && i + j == hi - 2) ends[2 * (column * gridDim.x + k) + 1] = y[j];
    }
  } else SpikeTriStore(x + column * ldx, i, hi, wide, y);
}

/* y_s = b_s - (dl_s z2 . b) - (du_s z1 . b): a warp a separator and column, over the windows */
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriReduce_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *za, const PetscScalar *zb,
                        const PetscScalar *b, PetscCount ldb, PetscScalar *y)
{
  const PetscInt     s = (PetscInt)blockIdx.x * SPIKE_TRI_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  const PetscScalar *bc  = b + blockIdx.y * ldb;
  PetscScalar        sum = 0.0;

  if (s >= tri.nsep) return;
  const PetscInt k = tri.seppatch[s], row = tri.first[k + 1] - 1;

  for (PetscInt i = lane; i < tri.wb[k]; i += 32) sum = SpikeFma(zb[row - 1 - i], bc[row - 1 - i], sum);
  for (PetscInt i = lane; i < tri.wa[k + 1]; i += 32) sum = SpikeFma(za[row + 1 + i], bc[row + 1 + i], sum);
  sum = SpikeWarpSum(sum);
  if (!lane) y[blockIdx.y * (PetscCount)tri.nsep + s] = bc[row] - sum;
}

/* The same for the transposed system, from the ends of A_I^-T b */
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriReduceTransposed_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *edge,
                                  const PetscScalar *ends, const PetscScalar *b, PetscCount ldb, PetscScalar *y)
{
  const PetscInt s = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (s >= tri.nsep) return;
  const PetscInt     k = tri.seppatch[s], row = tri.first[k + 1] - 1;
  const PetscScalar *e = ends + 2 * (blockIdx.y * (PetscCount)tri.npatches + k);

  y[blockIdx.y * (PetscCount)tri.nsep + s] = b[blockIdx.y * ldb + row] - edge[2 * s] * e[1] - edge[2 * s + 1] * e[2];
}

PetscErrorCode SpikeTriStream_CUDA(SpikeTridiagonal *t, cudaStream_t *stream)
{
  SpikeTriCUDA *h = (SpikeTriCUDA *)t->data;

  PetscFunctionBegin;
  if (h && h->nsep) h->child.stream = t->stream;
  PetscCall(SpikeStreamOr(t->stream, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  rows of a patch with row exchanges, one thread; odd interiors are singular where the diagonal, or every second number
  of it, is 0
*/
#define SPIKE_TRI_PIVOTED_PATCH 65
/*
  rows from which cyclic reduction becomes the parallel one: near the best for 512 and 65536 systems of 512 rows
  (benchmarks/tridiagonal -switch_sweep)
*/
#define SPIKE_TRI_SWITCH 4

/* Patches of whole systems, and of parts of long ones, with what each row is */
static PetscErrorCode SpikeTriPatches_Private(SpikeTridiagonal *t, SpikeTriCUDA *h, cudaStream_t stream)
{
  const PetscInt most     = 2 * (h->n / h->patch + 1) + 1;
  PetscInt       capacity = PetscMin(h->n, most) + 2, k = 0, s = 0, nred = 0, *first, *sep, *seprow, *seppatch, *piece,
           row = 0;
  unsigned char *kind;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(capacity, &first, capacity, &sep, capacity, &seprow, capacity, &seppatch, h->n + 1, &kind));
  PetscCall(PetscMalloc1(3 * (t->nsys + capacity), &piece));
  PetscCall(PetscMalloc1(t->nsys + 1, &h->redstart));
  PetscCall(PetscArrayzero(kind, h->n + 1));
  first[0] = 0;
  for (PetscInt i = 0; i < t->nsys; i++) {
    const PetscInt end = t->start[i + 1];

    if (end == t->start[i]) continue;
    if (end - first[k] > h->patch && row > first[k]) { /* no room beside those that are there */
      sep[k++] = -1;
      first[k] = row;
    }
    kind[row]                   = SPIKE_TRI_HEAD;
    piece[3 * h->npieces]       = k;
    piece[3 * h->npieces++ + 1] = row;
    if (end - row > h->patch) h->redstart[nred++] = s;
    while (end - row > h->patch) {
      row += h->patch;
      kind[row - 2] |= SPIKE_TRI_TAIL | SPIKE_TRI_BELOW;
      kind[row - 1] = SPIKE_TRI_SEP;
      kind[row]     = SPIKE_TRI_HEAD | SPIKE_TRI_ABOVE;
      seppatch[s]   = k;
      seprow[s]     = row - 1;
      sep[k++]      = s++;
      first[k]      = row;

      piece[3 * h->npieces - 1]   = row - 1;
      piece[3 * h->npieces]       = k;
      piece[3 * h->npieces++ + 1] = row;
    }
    kind[end - 1] |= SPIKE_TRI_TAIL;
    piece[3 * h->npieces - 1] = end;
    row                       = end;
  }
  if (row > first[k]) {
    sep[k++] = -1;
    first[k] = row;
  }
  h->redstart[nred] = s;
  h->npatches       = k;
  h->nsep           = s;
  PetscCall(SpikeMallocCopy_CUDA(k + 1, first, stream, &h->first));
  PetscCall(SpikeMallocCopy_CUDA(k, sep, stream, &h->sep));
  PetscCall(SpikeMallocCopy_CUDA(s, seprow, stream, &h->seprow));
  PetscCall(SpikeMallocCopy_CUDA(s, seppatch, stream, &h->seppatch));
  PetscCall(SpikeMallocCopy_CUDA(h->n, kind, stream, &h->kind));
  for (PetscInt i = 0; i < h->npieces; i++) h->longest = PetscMax(h->longest, piece[3 * i + 2] - piece[3 * i + 1]);
  if (h->how != SPIKE_TRI_PREFIX) PetscCall(SpikeMallocCopy_CUDA(3 * (PetscCount)h->npieces, piece, stream, &h->piece));
  PetscCallCUDA(cudaDeviceSynchronize()); /* a stream that does not wait for the default one would not see the copies */
  PetscCall(PetscFree(piece));
  PetscCall(PetscMalloc2(s, &h->hostseprow, k + 1, &h->hostfirst));
  PetscCall(PetscArraycpy(h->hostseprow, seprow, s));
  PetscCall(PetscArraycpy(h->hostfirst, first, k + 1));
  PetscCall(PetscFree5(first, sep, seprow, seppatch, kind));
  t->nchunks = k;
  if (s) {
    h->child.nsys        = nred;
    h->child.start       = h->redstart;
    h->child.type        = PC_SPIKE_TRIDIAGONAL_PARTITION;
    h->child.switchpoint = h->child.chunk = h->child.longest = PETSC_DECIDE;
    h->child.pivoting                                        = t->pivoting;
    h->child.maxrhs                                          = h->batch;
    h->child.k                                               = t->k;
    PetscCall((*t->k->create)(&h->child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeTriCreate_CUDA(SpikeTridiagonal *t)
{
  SpikeTriCUDA *h;
  cudaStream_t  stream;

  PetscFunctionBegin;
  PetscCall(SpikeTriStream_CUDA(t, &stream));
  PetscCall(PetscNew(&h));
  t->data    = h;
  h->n       = t->start[t->nsys];
  h->batch   = PetscMax(t->maxrhs, 1);
  t->largest = 0;
  for (PetscInt i = 0; i < t->nsys; i++) t->largest = PetscMax(t->largest, t->start[i + 1] - t->start[i]);
  h->patch = t->pivoting ? SPIKE_TRI_PIVOTED_PATCH : SPIKE_TRI_PATCH;
  t->local = t->pivoting ? PC_SPIKE_TRIDIAGONAL_THOMAS
           : t->type == PC_SPIKE_TRIDIAGONAL_AUTO || t->type == PC_SPIKE_TRIDIAGONAL_PARTITION ? PC_SPIKE_TRIDIAGONAL_RD
                                                                                               : t->type;
  t->used  = t->largest > h->patch || t->type == PC_SPIKE_TRIDIAGONAL_PARTITION || t->pivoting
             ? PC_SPIKE_TRIDIAGONAL_PARTITION
             : t->local;
  h->how   = t->pivoting                             ? SPIKE_TRI_PIVOTED
           : t->local == PC_SPIKE_TRIDIAGONAL_RD     ? SPIKE_TRI_PREFIX
           : t->local == PC_SPIKE_TRIDIAGONAL_THOMAS ? SPIKE_TRI_THOMAS
           : t->local == PC_SPIKE_TRIDIAGONAL_TWOWAY ? SPIKE_TRI_TWOWAY
                                                     : SPIKE_TRI_SHARED;

  h->switchpoint = t->local == PC_SPIKE_TRIDIAGONAL_CR  ? 1
                 : t->local == PC_SPIKE_TRIDIAGONAL_PCR ? PETSC_INT_MAX
                 : t->switchpoint == PETSC_DECIDE       ? SPIKE_TRI_SWITCH
                                                        : PetscMax(t->switchpoint, 1);
  PetscCall(SpikeTriPatches_Private(t, h, stream));
  PetscCall(SpikeMalloc_CUDA(h->n, &h->l, &h->r, &h->v));
  if (h->how == SPIKE_TRI_TWOWAY || h->how == SPIKE_TRI_PIVOTED) PetscCall(SpikeMalloc_CUDA(h->n, &h->u));
  if (h->how == SPIKE_TRI_PIVOTED) PetscCall(SpikeMalloc_CUDA(h->n, &h->swapped));
  if (h->how != SPIKE_TRI_PREFIX && h->how != SPIKE_TRI_THOMAS)
    PetscCall(SpikeMalloc_CUDA(h->n, &h->dl, &h->d, &h->du));
  PetscCall(SpikeMalloc_CUDA(1, &h->report));
  PetscCall(SpikeMalloc_CUDA(h->npatches, &h->badvalue));
  PetscCall(SpikeMallocHost_CUDA(1, &h->hostreport));
  PetscCallCUDA(cudaMemsetAsync(h->report, 0xff, sizeof(h->report->badrow), stream));
  PetscCallCUDA(cudaMemsetAsync(&h->report->nboost, 0, sizeof(*h->report) - sizeof(h->report->badrow), stream));
  if (h->nsep) {
    PetscCall(SpikeMalloc_CUDA(h->n, &h->za, &h->zb));
    if (h->how == SPIKE_TRI_PIVOTED) PetscCall(SpikeMalloc_CUDA(h->n, &h->zat, &h->zbt));
    PetscCall(SpikeMalloc_CUDA(h->npatches, &h->wa, &h->wb));
    PetscCall(
      SpikeMalloc_CUDA((PetscCount)(5 + h->batch) * h->nsep + 2 * (PetscCount)h->batch * h->npatches, &h->reduced));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeTriDestroy_CUDA(SpikeTridiagonal *t)
{
  SpikeTriCUDA *h = (SpikeTriCUDA *)t->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->child.k) PetscCall((*h->child.k->destroy)(&h->child));
  PetscCall(SpikeFree_CUDA(h->first, h->sep, h->seprow, h->seppatch, h->piece, h->kind, h->swapped));
  PetscCall(SpikeFree_CUDA(h->l, h->r, h->v, h->u, h->dl, h->d, h->du));
  PetscCall(SpikeFree_CUDA(h->za, h->zb, h->zat, h->zbt, h->wa, h->wb, h->reduced));
  PetscCall(SpikeFree_CUDA(h->report, h->badvalue));
  PetscCall(SpikeFreeHost_CUDA(h->hostreport));
  PetscCall(PetscFree(h->redstart));
  PetscCall(PetscFree2(h->hostseprow, h->hostfirst));
  PetscCall(PetscFree(t->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeTriBytes_CUDA(const SpikeTridiagonal *t, PetscReal *bytes)
{
  const SpikeTriCUDA *h     = (const SpikeTriCUDA *)t->data;
  PetscReal           child = 0.0;

  PetscFunctionBegin;
  *bytes = (PetscReal)h->n * (1.0 + 3.0 * sizeof(PetscScalar)) + sizeof(PetscInt) * (2.0 * h->npatches + 1.0) +
           sizeof(PetscReal) * (PetscReal)h->npatches + sizeof(SpikeTriReport);
  if (h->dl) *bytes += 3.0 * sizeof(PetscScalar) * h->n;
  if (h->u) *bytes += sizeof(PetscScalar) * (PetscReal)h->n;
  if (h->swapped) *bytes += (PetscReal)h->n;
  if (h->zat) *bytes += 2.0 * sizeof(PetscScalar) * h->n;
  if (h->piece) *bytes += 3.0 * sizeof(PetscInt) * h->npieces;
  if (h->nsep) {
    PetscCall((*h->child.k->bytes)(&h->child, &child));
    *bytes += child + sizeof(PetscScalar) * (2.0 * h->n + (5.0 + h->batch) * h->nsep + 2.0 * h->batch * h->npatches) +
              sizeof(PetscInt) * (2.0 * h->npatches + 2.0 * h->nsep);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeTriApply_CUDA(SpikeTridiagonal *t, PetscBool trans, PetscInt nrhs, const PetscScalar *b,
                                  PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  SpikeTriCUDA *h    = (SpikeTriCUDA *)t->data;
  PetscScalar  *edge = h->reduced + 3 * (PetscCount)h->nsep, *xs = h->nsep ? edge + 2 * (PetscCount)h->nsep : NULL,
              *ends = h->nsep ? xs + (PetscCount)h->batch * h->nsep : NULL;
  cudaStream_t stream;

  PetscFunctionBegin;
  if (!h->npatches) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeTriStream_CUDA(t, &stream));
  for (PetscInt c = 0; c < nrhs; c += h->batch) {
    const PetscInt     columns = PetscMin(h->batch, nrhs - c);
    const PetscScalar *bc      = b + c * ldb;
    PetscScalar       *xc      = x + c * ldx;
    const bool         wide    = ((size_t)bc | (size_t)xc) % (2 * sizeof(PetscReal)) == 0 &&
                      (columns == 1 || ((ldb | ldx) % 2 == 0));
    const dim3 grid((unsigned)h->npatches, (unsigned)columns);
    const auto kernel = trans ? SpikeTriApply_Kernel<true> : SpikeTriApply_Kernel<false>;

    if (h->nsep && (!trans || h->zat))
      SpikeTriReduce_Kernel<<<dim3((unsigned)((h->nsep - 1) / SPIKE_TRI_WARPS + 1), (unsigned)columns),
                              SPIKE_TRI_THREADS, 0, stream>>>(*h, trans ? h->zat : h->za, trans ? h->zbt : h->zb, bc,
                                                              ldb, xs);
    else if (h->nsep) {
      if (h->how == SPIKE_TRI_SHARED)
        PetscCall(SpikeTriPieces_CUDA(h, PETSC_TRUE, columns, NULL, bc, ldb, xc, ldx, ends, stream));
      else kernel<<<grid, SPIKE_TRI_THREADS, 0, stream>>>(*h, NULL, bc, ldb, xc, ldx, wide, ends);
      SpikeTriReduceTransposed_Kernel<<<dim3(SpikeTriThreadBlocks(h->nsep), (unsigned)columns), SPIKE_TRI_THREADS, 0,
                                        stream>>>(*h, edge, ends, bc, ldb, xs);
    }
    if (h->nsep) PetscCall((*h->child.k->apply)(&h->child, trans, columns, xs, h->nsep, xs, h->nsep));
    if (h->how == SPIKE_TRI_SHARED)
      PetscCall(SpikeTriPieces_CUDA(h, trans, columns, xs, bc, ldb, xc, ldx, NULL, stream));
    else if (h->how != SPIKE_TRI_PREFIX)
      PetscCall(SpikeTriSerial_CUDA(h, trans, columns, xs, bc, ldb, xc, ldx, stream));
    else kernel<<<grid, SPIKE_TRI_THREADS, 0, stream>>>(*h, xs, bc, ldb, xc, ldx, wide, NULL);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeTridiagonalKernels SpikeTridiagonalKernels_CUDA = {
  /* name    */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* bytes   */ SpikeTriBytes_CUDA,
  /* create  */ SpikeTriCreate_CUDA,
  /* destroy */ SpikeTriDestroy_CUDA,
  /* setup   */ SpikeTriSetUp_CUDA,
  /* report  */ SpikeTriReport_CUDA,
  /* apply   */ SpikeTriApply_CUDA,
};
