/* SPDX-License-Identifier: BSD-2-Clause */
/* stencil.cu: the CUDA backend of stencil.h */
#include "stencil.cuh"
#include "kernels/common/cuda/device.cuh"

#include <algorithm>

#define SPIKE_STENCIL_LEAST  16 /* points of a box in i, and planes along k, from which patches are taken */
#define SPIKE_STENCIL_WIDTHS 8  /* of patches, that are tried */
#define SPIKE_STENCIL_SECTOR ((int)(32 / sizeof(PetscScalar)))

/* What the device keeps of the points and coefficients; the constant ones are arguments of launches with patches */
typedef struct {
  SpikeStencilPoint *point;
  PetscScalar       *coef;
  PetscCount         ncoef;
  unsigned           mask; /* of a fast stencil, else 0            */
  bool               flat; /* it has two dimensions, of which the second one is taken for k */
  PetscScalar        c[27];
  const SpikeDevice *gpu;
} SpikeStencilCUDA;

/* Thread blocks of a kernel whose threads take n values in turn */
static unsigned SpikeStencilThreadBlocks(const SpikeStencilCUDA *h, PetscInt64 n)
{
  return (unsigned)PetscMin((PetscInt64)8 * h->gpu->multiprocessors,
                            (n + SPIKE_STENCIL_THREADS - 1) / SPIKE_STENCIL_THREADS);
}

static PetscErrorCode SpikeStencilReset_CUDA(SpikeStencil *S)
{
  SpikeStencilCUDA *h = (SpikeStencilCUDA *)S->data;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeFree_CUDA(h->point, h->coef));
  PetscCall(PetscFree(S->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bits of a stencil in the order that patches want, if it is a fast one */
static void SpikeStencilKnow(const SpikeStencil *S, SpikeStencilCUDA *h)
{
  const unsigned fast[] = {SPIKE_STENCIL_STAR5, SPIKE_STENCIL_BOX9, SPIKE_STENCIL_STAR7, SPIKE_STENCIL_BOX27};
  unsigned       mask   = 0;
  const bool     flat   = S->size[2] == 1;

  h->mask = 0;
  h->flat = flat;
  if (S->dof != 1 || !S->constant) return;
  for (PetscInt s = 0; s < S->count; s++) {
    const PetscInt i = S->offset[3 * s], j = flat ? 0 : S->offset[3 * s + 1], k = S->offset[3 * s + (flat ? 1 : 2)];

    if (PetscAbsInt(i) > 1 || PetscAbsInt(j) > 1 || PetscAbsInt(k) > 1 || (flat && S->offset[3 * s + 2])) return;
    const int bit = (int)(9 * (k + 1) + 3 * (j + 1) + i + 1);

    mask |= 1u << bit;
    h->c[bit] = S->coef[s];
  }
  for (int f = 0; f < 4; f++)
    if (mask == fast[f] && flat == (f < 2)) h->mask = mask;
}

static PetscErrorCode SpikeStencilSetUp_CUDA(SpikeStencil *S)
{
  SpikeStencilCUDA *h     = (SpikeStencilCUDA *)S->data;
  const PetscCount  ncoef = SpikeStencilCoefs(S);
  SpikeStencilPoint point[SPIKE_STENCIL_MOST];
  cudaStream_t      stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  if (!h) {
    PetscCall(PetscNew(&h));
    S->data = (void *)h;
  }
  PetscCall(SpikeDeviceGet(&h->gpu));
  if (!h->point) PetscCall(SpikeAllocated_CUDA(cudaMalloc((void **)&h->point, sizeof(point))));
  for (PetscInt s = 0; s < S->count; s++) {
    point[s].i = (int)S->offset[3 * s];
    point[s].j = (int)S->offset[3 * s + 1];
    point[s].k = (int)S->offset[3 * s + 2];
    point[s].s = (int)s;
  }
  std::sort(point, point + S->count, [](const SpikeStencilPoint &a, const SpikeStencilPoint &b) {
    return a.k != b.k ? a.k < b.k : (a.j != b.j ? a.j < b.j : a.i < b.i);
  });
  PetscCallCUDA(cudaDeviceSynchronize()); /* products with what was there before */
  if (h->ncoef != ncoef) {
    PetscCallCUDA(cudaFree(h->coef));
    h->coef  = NULL;
    h->ncoef = 0;
    PetscCall(
      SpikeAllocated_CUDA(cudaMalloc((void **)&h->coef, PetscMax((size_t)ncoef, (size_t)1) * sizeof(PetscScalar))));
    h->ncoef = ncoef;
  }
  PetscCallCUDA(cudaMemcpyAsync(h->point, point, (size_t)S->count * sizeof(*point), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(h->coef, S->coef, (size_t)ncoef * sizeof(PetscScalar), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* also those whose stream waits for no other */
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)((size_t)ncoef * sizeof(PetscScalar))));
  SpikeStencilKnow(S, h);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilBegin_CUDA(SpikeStencil *S)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  S->stream = (void *)stream;
  PetscCall(PetscLogGpuTimeBegin());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilEnd_CUDA(SpikeStencil *S)
{
  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The cost of a product in `chunks` pieces of `length` planes, with patches of width points in `lines` lines, as values
  moved. A plane costs its lines with their ends; more where they share sectors with other patches; more for each piece
  read beside the others, up to four; and `work` for any patch where threads have much to do. A further round of thread
  blocks costs its beginning. Fitted to 17 boxes of 64^3 to 512^3 points on an H200, some hundred shapes each, with 7
  and 27 points, alone and with a step.
*/
static double SpikeStencilCost(int width, int lines, PetscInt chunks, PetscInt length, PetscInt rounds, double work)
{
  const double plane = (width + 12.0) * lines * (width % SPIKE_STENCIL_SECTOR ? 1.05 : 1.0) *
                         (1.0 + 0.05 * PetscMin(chunks, 4)) +
                       work;

  return ((double)rounds * (length + 1) + 12.0 * (rounds - 1)) * plane;
}

/*
  Patches of width points in i and height JB in j, and pieces along k, chosen together so that there are as many thread
  blocks as there is room for, or twice or three times as many: less than 200 shapes. In two dimensions patches are as
  wide as can be
*/
static void SpikeStencilCut(const PetscInt n[3], int jb, int halo, PetscInt resident, double work, SpikeStencilBox *b)
{
  const int      widest = halo ? PetscMin(SPIKE_STENCIL_THREADS, SPIKE_STENCIL_SLOT / (jb + 2 * halo) - 2)
                               : SPIKE_STENCIL_THREADS;
  const PetscInt fewest = (n[0] + widest - 1) / widest, most = PetscMax(1, n[2] / (halo ? 2 : 4));
  double         least = PETSC_MAX_REAL;

  for (int t = 0; t < (halo ? 2 * SPIKE_STENCIL_WIDTHS : 1); t++) { /* equal parts, and as many in whole sectors */
    const PetscInt parts = fewest + t / 2, part = (n[0] + parts - 1) / parts;
    const int      width = (int)(t % 2 ? (part + SPIKE_STENCIL_SECTOR - 1) / SPIKE_STENCIL_SECTOR * SPIKE_STENCIL_SECTOR
                                       : part),
              across     = (int)((n[0] + width - 1) / width);
    const int room = halo ? PetscMin(SPIKE_STENCIL_THREADS / width, (SPIKE_STENCIL_SLOT / (width + 2) - 2 * halo) / jb)
                          : 1,
              top  = (int)PetscMin((PetscInt)room, (n[1] + jb - 1) / jb);

    if ((t > 1 && width < 2 * SPIKE_STENCIL_LEAST) || (t % 2 && width == part)) continue;
    for (int height = top; height >= PetscMax(1, (top + 1) / 2); height--) {
      const PetscInt along = (n[1] + height * jb - 1) / (height * jb), patches = across * along,
                     full = (patches + resident - 1) / resident;

      for (PetscInt rounds = full; rounds < full + 3; rounds++) {
        const PetscInt length = (n[2] + PetscMin(rounds * resident / patches, most) - 1) /
                                PetscMin(rounds * resident / patches, most),
                       chunks = (n[2] + length - 1) / length;
        const double cost     = SpikeStencilCost(width, height * jb + 2 * halo, chunks, length,
                                                 (patches * chunks + resident - 1) / resident, work);

        if (cost >= least) continue;
        least         = cost;
        b->width      = width;
        b->height     = height;
        b->patches[0] = across;
        b->patches[1] = (int)along;
        b->chunks     = (int)chunks;
        b->length     = (int)length;
      }
    }
  }
}

static void SpikeStencilTakeTable(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3], PetscInt sj,
                                  PetscInt sk, SpikeStencilPlan *p)
{
  const SpikeStencilCUDA *h = (const SpikeStencilCUDA *)S->data;
  SpikeStencilTable      *t = &p->table;

  t->rows = S->dof;
  for (int d = 0; d < 3; d++) {
    t->n[d]     = end[d] - begin[d];
    t->begin[d] = begin[d];
    t->size[d]  = S->size[d];
    t->lo[d]    = S->lo[d];
    t->hi[d]    = S->hi[d];
    t->rows *= t->n[d];
  }
  t->sj       = sj;
  t->sk       = sk;
  t->dof      = (int)S->dof;
  t->count    = (int)S->count;
  t->constant = S->constant ? true : false;
  t->point    = h->point;
  t->coef     = h->coef;
  p->mask     = 0;
  p->blocks   = SpikeStencilThreadBlocks(h, t->rows);
  p->shared   = 0;
}

void SpikeStencilTable_CUDA(const SpikeStencil *S, SpikeStencilTable *t)
{
  const PetscInt   origin[3] = {0, 0, 0};
  SpikeStencilPlan whole;

  SpikeStencilTakeTable(S, origin, S->size, S->size[0], S->size[0] * S->size[1], &whole);
  *t = whole.table;
}

PetscErrorCode SpikeStencilPlan_CUDA(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3], PetscInt sj,
                                     PetscInt sk, bool stride, bool more, SpikeStencilPlan *p)
{
  const SpikeStencilCUDA *h     = (const SpikeStencilCUDA *)S->data;
  const int               dim[] = {0, h->flat ? 2 : 1, h->flat ? 1 : 2};
  const PetscInt          n[]   = {end[0] - begin[0], end[dim[1]] - begin[dim[1]], end[dim[2]] - begin[dim[2]]};
  const bool              fits  = ((double)S->size[0] + 2.0 + (double)sj) * ((double)S->size[1] + 2.0) < INT_MAX / 2 &&
                    S->size[2] < INT_MAX / 2;
  const int        jb = h->flat ? 1 : 4, halo = h->flat ? 0 : 1;
  SpikeStencilBox *b = &p->box;

  PetscFunctionBegin;
  if (!h->mask || !fits || n[0] < SPIKE_STENCIL_LEAST || n[2] < SPIKE_STENCIL_LEAST) {
    SpikeStencilTakeTable(S, begin, end, sj, sk, p);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  memcpy((void *)b->c, (const void *)h->c, sizeof(b->c));
  b->sj = h->flat ? sk : sj;
  b->sk = h->flat ? sj : sk;
  b->yj = h->flat ? 0 : S->size[0];
  b->yk = h->flat ? S->size[0] : (PetscCount)S->size[0] * S->size[1];
  for (int d = 0; d < 3; d++) {
    b->begin[d] = (int)begin[dim[d]];
    b->end[d]   = (int)end[dim[d]];
    b->lo[d]    = (int)PetscMax(S->lo[dim[d]], -1);
    b->hi[d]    = (int)PetscMin(S->hi[dim[d]], S->size[dim[d]] + 1);
  }
  SpikeStencilCut(n, jb, halo, (PetscInt)SpikeStencilResident(h->mask, stride) * h->gpu->multiprocessors,
                  more || h->mask == SPIKE_STENCIL_BOX27 ? 4000.0 : 0.0, b);
  p->mask   = h->mask;
  p->blocks = (unsigned)PetscMin((PetscInt64)SpikeStencilResident(h->mask, stride) * h->gpu->multiprocessors,
                                 (PetscInt64)b->patches[0] * b->patches[1] * b->chunks);
  p->shared = sizeof(PetscScalar) * SPIKE_STENCIL_PLANES * (size_t)((b->width + 2) * (b->height * jb + 2 * halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SpikeStencilEndsPlan_CUDA(const SpikeStencil *S, SpikeStencilEndsTable *t, unsigned *blocks)
{
  const SpikeStencilCUDA *h = (const SpikeStencilCUDA *)S->data;

  PetscFunctionBegin;
  SpikeStencilTable_CUDA(S, &t->table);
  t->ghost = NULL;
  t->at[0] = 0;
  for (int b = 0; b < 6; b++) {
    PetscInt begin[3], end[3];

    SpikeStencilEnd(S, b, begin, end);
    t->at[b + 1] = S->dof;
    for (int d = 0; d < 3; d++) {
      t->begin[b][d] = begin[d];
      t->n[b][d]     = end[d] - begin[d];
      t->at[b + 1] *= t->n[b][d];
    }
    t->at[b + 1] += t->at[b];
    t->first[b] = S->shell.first[b];
    t->sj[b]    = S->shell.sj[b];
    t->sk[b]    = S->shell.sk[b];
  }
  *blocks = PetscMax(1u, SpikeStencilThreadBlocks(h, t->at[6]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x + z with ADDTO, else A x; z may be y */
template <bool ADDTO, class MATRIX>
__global__ void __launch_bounds__(SPIKE_STENCIL_THREADS, MATRIX::ATONCE)
  SpikeStencilMultKernel(const __grid_constant__ MATRIX m, const PetscScalar *__restrict__ x, const PetscScalar *z,
                         PetscScalar *y)
{
  extern __shared__ __align__(16) unsigned char stencilplanes[];
  __shared__ typename MATRIX::SharedMemory      rows;

  m.prepare(rows);
  m.each(
    rows, (PetscScalar *)stencilplanes, x, [&](PetscCount row) { return ADDTO ? z[row] : PetscScalar(0.0); },
    [&](PetscCount row) {
      if (ADDTO) SpikePrefetch(z + row);
    },
    [&](PetscCount row, PetscScalar sum, PetscScalar before, auto &&) { y[row] = ADDTO ? before + sum : sum; });
}

template <class MATRIX>
static PetscErrorCode SpikeStencilMultLaunch(const MATRIX &rows, unsigned blocks, size_t shared, cudaStream_t stream,
                                             const PetscScalar *x, const PetscScalar *z, PetscScalar *y)
{
  PetscFunctionBegin;
  if (z) SpikeStencilMultKernel<true><<<blocks, SPIKE_STENCIL_THREADS, shared, stream>>>(rows, x, z, y);
  else SpikeStencilMultKernel<false><<<blocks, SPIKE_STENCIL_THREADS, shared, stream>>>(rows, x, z, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilMult_CUDA(const SpikeStencil *S, const PetscInt begin[3], const PetscInt end[3],
                                            const PetscScalar *x, PetscInt sj, PetscInt sk, const PetscScalar *z,
                                            PetscScalar *y)
{
  const cudaStream_t stream = (cudaStream_t)S->stream;
  SpikeStencilPlan   p;

  PetscFunctionBegin;
  if (begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeStencilPlan_CUDA(S, begin, end, sj, sk, false, z != NULL, &p));
  PetscCall(SpikeStencilDispatch(p, [&](const auto &rows) {
    return SpikeStencilMultLaunch(rows, p.blocks, p.shared, stream, x, z, y);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y += A^T x, or A^H x, in the box m.begin, m.n of y, which has points around those of x. A thread has an unknown of y
  and adds x at the points whose stencils reach it, in their order: the table backwards. Reads x as often as the caches
  lose it
*/
template <bool WITHCONJ>
__global__ void __launch_bounds__(SPIKE_STENCIL_THREADS)
  SpikeStencilTransposeKernel(const __grid_constant__ SpikeStencilTable m, const PetscScalar *__restrict__ x,
                              PetscScalar *__restrict__ y)
{
  const PetscInt threads = (PetscInt)gridDim.x * blockDim.x;

  for (PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; number < m.rows; number += threads) {
    const PetscInt   e = number % m.dof, p = number / m.dof, l = p / m.n[0];
    const PetscInt   i = m.begin[0] + p % m.n[0], j = m.begin[1] + l % m.n[1], k = m.begin[2] + l / m.n[1];
    const PetscCount to  = m.dof * (i + j * m.sj + k * m.sk) + e;
    PetscScalar      sum = y[to];

    for (int s = m.count - 1; s >= 0; s--) {
      const SpikeStencilPoint o  = m.point[s];
      const PetscInt          qi = i - o.i, qj = j - o.j, qk = k - o.k, line = qk * m.size[1] + qj;

      if (qi < 0 || qi >= m.size[0] || qj < 0 || qj >= m.size[1] || qk < 0 || qk >= m.size[2]) continue;
      const PetscScalar *from   = x + ((PetscCount)line * m.size[0] + qi) * m.dof;
      const PetscScalar *coef   = m.coef + (m.constant
                                              ? (PetscCount)o.s * m.dof * m.dof + e
                                              : (((PetscCount)line * m.count + o.s) * m.dof + e) * m.size[0] * m.dof +
                                                (PetscCount)qi * m.dof);
      const int          stride = m.constant ? m.dof : 1;

      for (int c = 0; c < m.dof; c++)
        sum = SpikeStencilFma(WITHCONJ ? PetscConj(coef[c * stride]) : coef[c * stride], from[c], sum);
    }
    y[to] = sum;
  }
}

static PetscErrorCode SpikeStencilMultTranspose_CUDA(const SpikeStencil *S, PetscBool conjugate, const PetscScalar *x,
                                                     PetscScalar *y, PetscInt sj, PetscInt sk)
{
  const cudaStream_t stream = (cudaStream_t)S->stream;
  PetscInt           begin[3], end[3];
  SpikeStencilPlan   p;

  PetscFunctionBegin;
  if (!S->size[0] || !S->size[1] || !S->size[2]) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    PetscInt low = 0, high = 0;

    for (PetscInt s = 0; s < S->count; s++) {
      low  = PetscMin(low, S->offset[3 * s + d]);
      high = PetscMax(high, S->offset[3 * s + d]);
    }
    begin[d] = PetscMax(low, S->lo[d]);
    end[d]   = PetscMin(S->size[d] + high, S->hi[d]);
  }
  SpikeStencilTakeTable(S, begin, end, sj, sk, &p);
  if (conjugate) SpikeStencilTransposeKernel<true><<<p.blocks, SPIKE_STENCIL_THREADS, 0, stream>>>(p.table, x, y);
  else SpikeStencilTransposeKernel<false><<<p.blocks, SPIKE_STENCIL_THREADS, 0, stream>>>(p.table, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

__global__ static void SpikeStencilDiagonalKernel(SpikeStencilTable m, int s, PetscScalar *d)
{
  for (PetscInt r = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; r < m.rows;
       r += (PetscInt)gridDim.x * blockDim.x) {
    const PetscInt c = r % m.dof, p = r / m.dof, l = p / m.size[0], i = p % m.size[0];

    d[r] = m.coef[m.constant
                    ? ((PetscCount)s * m.dof + c) * m.dof + c
                    : (((PetscCount)l * m.count + s) * m.dof + c) * m.size[0] * m.dof + (PetscCount)i * m.dof + c];
  }
}

static PetscErrorCode SpikeStencilDiagonal_CUDA(const SpikeStencil *S, PetscInt s, PetscScalar *d)
{
  const SpikeStencilCUDA *h = (const SpikeStencilCUDA *)S->data;
  SpikeStencilTable       m = {};
  unsigned                blocks;

  PetscFunctionBegin;
  m.rows = SpikeStencilSize(S);
  if (!m.rows) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 3; k++) m.size[k] = S->size[k];
  m.dof      = (int)S->dof;
  m.count    = (int)S->count;
  m.constant = S->constant;
  m.coef     = h->coef;
  blocks     = SpikeStencilThreadBlocks(h, m.rows);
  SpikeStencilDiagonalKernel<<<blocks, SPIKE_STENCIL_THREADS, 0, (cudaStream_t)S->stream>>>(m, (int)s, d);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilMultEnds_CUDA(const SpikeStencil *S, const PetscScalar *x, const PetscScalar *ghost,
                                                const PetscScalar *z, PetscScalar *y)
{
  const cudaStream_t    stream = (cudaStream_t)S->stream;
  SpikeStencilEndsTable t;
  unsigned              blocks;

  PetscFunctionBegin;
  PetscCall(SpikeStencilEndsPlan_CUDA(S, &t, &blocks));
  if (!t.at[6]) PetscFunctionReturn(PETSC_SUCCESS);
  t.ghost = ghost;
  if (S->dof == 1) PetscCall(SpikeStencilMultLaunch(SpikeStencilEnds<true>{t}, blocks, 0, stream, x, z, y));
  else PetscCall(SpikeStencilMultLaunch(SpikeStencilEnds<false>{t}, blocks, 0, stream, x, z, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Number c of point to[t], or of point t where to is NULL, <- number c of point from[t] of x. With arrived: of point
  from[t] of arrived, or where from[t] < 0 of point -1 - from[t] of x
*/
__global__ static void SpikeStencilCarryKernel(PetscInt n, int dof, const PetscInt *__restrict__ to,
                                               const PetscInt *__restrict__ from, const PetscScalar *__restrict__ x,
                                               const PetscScalar *__restrict__ arrived, PetscScalar *__restrict__ out)
{
  const PetscCount all = (PetscCount)n * dof;

  for (PetscCount r = (PetscCount)blockIdx.x * blockDim.x + threadIdx.x; r < all;
       r += (PetscCount)gridDim.x * blockDim.x) {
    const PetscInt t = (PetscInt)(r / dof), c = (PetscInt)(r % dof), f = from[t];

    out[(PetscCount)(to ? to[t] : t) * dof + c] = !arrived ? x[(PetscCount)f * dof + c]
                                                           : (f < 0 ? x[(-1 - (PetscCount)f) * dof + c]
                                                                    : arrived[(PetscCount)f * dof + c]);
  }
}

static PetscErrorCode SpikeStencilCarry(const SpikeStencil *S, PetscInt n, const PetscInt *to, const PetscInt *from,
                                        const PetscScalar *x, const PetscScalar *arrived, PetscScalar *out)
{
  const SpikeStencilCUDA *h      = (const SpikeStencilCUDA *)S->data;
  const unsigned          blocks = SpikeStencilThreadBlocks(h, (PetscInt64)n * S->dof);

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  SpikeStencilCarryKernel<<<blocks, SPIKE_STENCIL_THREADS, 0, (cudaStream_t)S->stream>>>(n, (int)S->dof, to, from, x,
                                                                                         arrived, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilPack_CUDA(const SpikeStencil *S, PetscInt n, const PetscInt which[],
                                            const PetscScalar *x, PetscScalar *message)
{
  PetscFunctionBegin;
  PetscCall(SpikeStencilCarry(S, n, NULL, which, x, NULL, message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpikeStencilUnpack_CUDA(const SpikeStencil *S, PetscInt n, const PetscInt to[],
                                              const PetscInt from[], const PetscScalar *x, const PetscScalar *arrived,
                                              PetscScalar *ghost)
{
  PetscFunctionBegin;
  PetscCall(SpikeStencilCarry(S, n, to, from, x, arrived ? arrived : x, ghost)); /* nothing arrives on one rank */
  PetscFunctionReturn(PETSC_SUCCESS);
}

const SpikeStencilKernels SpikeStencilKernels_CUDA = {
  /* name */ "cuda",
  /* memtype */ PETSC_MEMTYPE_CUDA,
  /* setup */ SpikeStencilSetUp_CUDA,
  /* reset */ SpikeStencilReset_CUDA,
  /* begin */ SpikeStencilBegin_CUDA,
  /* end */ SpikeStencilEnd_CUDA,
  /* mult */ SpikeStencilMult_CUDA,
  /* multtranspose */ SpikeStencilMultTranspose_CUDA,
  /* diagonal */ SpikeStencilDiagonal_CUDA,
  /* multends */ SpikeStencilMultEnds_CUDA,
  /* pack */ SpikeStencilPack_CUDA,
  /* unpack */ SpikeStencilUnpack_CUDA,
};
