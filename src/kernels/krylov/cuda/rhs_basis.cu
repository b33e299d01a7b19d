/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhs_basis.cu: the basis steps of basis.cu over several right-hand sides: blockIdx.y is the right-hand side, a
  column here, but for inner products
*/
#include "rhs_dots.cuh"

/* Pointers of column 0 */
typedef struct {
  const PetscScalar *A[SPIKE_BASIS_COLUMNS], *B[SPIKE_BASIS_COLUMNS], *E[SPIKE_BASIS_COLUMNS], *F[SPIKE_BASIS_COLUMNS];
  const PetscScalar *c, *a, *f, *w, *g;
  PetscScalar       *x, *y, *z, *r, *q, *p, *next;
  PetscInt64         ld;
  int                m1, m2, m3; /* columns of A and B; of E; of F */
  bool               update;
} SpikeRhsBlock;

/*
  As SpikeMovesRows(): UPDATE, COMBINE, or both; all that is read of a row is read before any of it is written, but q
  and p, which nothing else reads
*/
template <int V>
__device__ static __forceinline__ void SpikeRhsMovesRows(PetscInt i, const SpikeRhsBlock &b, PetscInt64 o,
                                                         const PetscScalar c[], const PetscScalar f[], PetscScalar a,
                                                         PetscScalar w, PetscScalar smooth, PetscScalar d[])
{
  SpikeRows<V> y, z, x, r, q, p, g, u;

  if (b.r) r = SpikeRowsLoad<V>(b.r + o, i);
  if (b.update) {
    y = SpikeRowsLoad<V>(b.y + o, i);
    z = SpikeRowsLoad<V>(b.z + o, i);
    if (b.x) x = SpikeRowsLoad<V>(b.x + o, i);
    if (b.q) {
      q = SpikeRowsLoad<V>(b.q + o, i);
      p = SpikeRowsLoad<V>(b.p + o, i);
#pragma unroll
      for (int v = 0; v < V; v++) {
        q.e[v] = SpikeFma(-smooth, q.e[v] - r.e[v], q.e[v]);
        p.e[v] = SpikeFma(-smooth, p.e[v] - x.e[v], p.e[v]);
      }
      SpikeRowsStore<V>(b.q + o, i, q);
      SpikeRowsStore<V>(b.p + o, i, p);
    }
#pragma unroll 4
    for (int j = 0; j < b.m1; j++) {
      SpikeRowsAxpy(-c[j], SpikeRowsLoad<V>(b.A[j] + o, i), z);
      SpikeRowsAxpy(-c[j], SpikeRowsLoad<V>(b.B[j] + o, i), y);
    }
    if (b.x) {
      SpikeRowsAxpy(a, y, x);
      SpikeRowsAxpy(-a, z, r);
      if (b.q) {
#pragma unroll
        for (int v = 0; v < V; v++) {
          const PetscScalar t = q.e[v] - r.e[v];

          d[0] += SpikeKrylovDot(t, q.e[v]);
          d[1] += SpikeKrylovDot(t, t);
        }
        SpikeRowsDot(q, q, d[2]);
        SpikeRowsDot(r, r, d[3]);
      } else SpikeRowsDot(r, r, d[0]);
    }
  }
  if (b.next) {
    g = r;
#pragma unroll
    for (int v = 0; v < V; v++) u.e[v] = 0.0;
#pragma unroll 4
    for (int j = 0; j < b.m2; j++) SpikeRowsAxpy(-f[j], SpikeRowsLoad<V>(b.E[j] + o, i), g);
#pragma unroll 4
    for (int j = 0; j < b.m3; j++) SpikeRowsAxpy(f[j], SpikeRowsLoad<V>(b.F[j] + o, i), u);
    SpikeRowsAxpy(w, g, u);
    SpikeRowsStore<V>(b.next + o, i, u);
  }
  if (b.update) {
    if (b.m1) {
      SpikeRowsStore<V>(b.y + o, i, y);
      SpikeRowsStore<V>(b.z + o, i, z);
    }
    if (b.x) {
      SpikeRowsStore<V>(b.x + o, i, x);
      SpikeRowsStore<V>(b.r + o, i, r);
    }
  }
}

__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsMove(PetscInt n, SpikeRhsBlock b, bool wide, SpikeRhsEnd all)
{
  const PetscInt   begin = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x, stride = (PetscInt)gridDim.x * blockDim.x;
  const int        t = threadIdx.x, col = blockIdx.y;
  const PetscInt64 small   = (PetscInt64)col * all.nsmall;
  const SpikeBasisEnd    e = SpikeRhsEndAt(all, col);
  PetscScalar            d[4];
  __shared__ PetscScalar c[SPIKE_BASIS_COLUMNS], f[SPIKE_BASIS_COLUMNS];

  SpikeAwait();
  if (e.device->s.reason) return;
  const PetscScalar a = b.update && b.x ? b.a[small] : PetscScalar(0.0),
                    w = b.next && b.w ? b.w[small] : PetscScalar(1.0), smooth = b.q ? b.g[small] : PetscScalar(0.0);

#pragma unroll
  for (int k = 0; k < 4; k++) d[k] = 0.0;
  if (t < b.m1) c[t] = b.c[small + t];
  if (t < b.m2 || t < b.m3) f[t] = b.f[small + t];
  __syncthreads();
  if (wide)
    for (PetscInt i = begin; i < n / 2; i += stride) SpikeRhsMovesRows<2>(i, b, col * b.ld, c, f, a, w, smooth, d);
  for (PetscInt i = wide ? n - n % 2 + begin : begin; i < n; i += stride)
    SpikeRhsMovesRows<1>(i, b, col * b.ld, c, f, a, w, smooth, d);
  if (!e.nsums) return;
  SpikeBasisLeave<4, 0>(d, e.nsums, 0, 0, 0, e.partials);
  SpikeBasisFinish(e);
}

/* Also where there is a reason */
__global__ static void __launch_bounds__(SPIKE_KRYLOV_THREADS)
  SpikeRhsSmooth(PetscInt n, SpikeRhsBlock b, SpikeRhsEnd all)
{
  const int           col  = blockIdx.y;
  const PetscInt64    o    = col * b.ld;
  const SpikeBasisEnd e    = SpikeRhsEndAt(all, col);
  PetscScalar         d[1] = {0.0};

  SpikeAwait();
  const PetscScalar g = b.g[(PetscInt64)col * all.nsmall];

  for (PetscInt i = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (PetscInt)gridDim.x * blockDim.x) {
    const PetscScalar q = SpikeFma(-g, b.q[o + i] - b.r[o + i], b.q[o + i]);

    b.q[o + i] = q;
    b.p[o + i] = SpikeFma(-g, b.p[o + i] - b.x[o + i], b.p[o + i]);
    d[0] += SpikeKrylovDot(q, q);
  }
  if (!e.nsums) return;
  SpikeBasisLeave<1, 0>(d, 1, 0, 0, 0, e.partials);
  SpikeBasisFinish(e);
}

template <int M, int C>
static PetscErrorCode SpikeRhsDotsLaunch(const SpikeRhsCUDA *d, PetscInt n, const SpikeRhsDotsArgs &b, bool wide,
                                         const SpikeRhsEnd &all)
{
  const dim3 grid((unsigned)((b.width + C - 1) / C), SpikeRhsBlocks(d, wide ? n / 2 + n % 2 : n));

  PetscFunctionBegin;
  PetscCallCUDA(SpikeLaunchBehind(SpikeRhsDots<M, C>, grid, dim3(SPIKE_KRYLOV_THREADS), C * SpikeBasisShared(all.e),
                                  d->h.stream, n, b, wide, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A column alone where vectors are not shared, or the small matrices of a group are many. Without vectors there is no
  ldA to go by
*/
static PetscErrorCode SpikeRhsDotsSelect(const SpikeRhsCUDA *d, PetscInt n, const SpikeRhsDotsArgs &b, bool wide,
                                         const SpikeRhsEnd &all)
{
  const bool alone = all.e.recurrence.s > 8;

  PetscFunctionBegin;
  if (b.m == 0 && alone) PetscCall((SpikeRhsDotsLaunch<0, 1>(d, n, b, wide, all)));
  else if (b.m == 0) PetscCall((SpikeRhsDotsLaunch<0, SpikeRhsGroup<0>::C>(d, n, b, wide, all)));
  else if (b.ldA || alone) PetscCall((SpikeRhsDotsLaunch<8, 1>(d, n, b, wide, all)));
  else if (b.m == 1) PetscCall((SpikeRhsDotsLaunch<1, SpikeRhsGroup<1>::C>(d, n, b, wide, all)));
  else if (b.m == 2) PetscCall((SpikeRhsDotsLaunch<2, SpikeRhsGroup<2>::C>(d, n, b, wide, all)));
  else if (b.m <= 4) PetscCall((SpikeRhsDotsLaunch<4, SpikeRhsGroup<4>::C>(d, n, b, wide, all)));
  else PetscCall((SpikeRhsDotsLaunch<8, SpikeRhsGroup<8>::C>(d, n, b, wide, all)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool SpikeRhsWide(const PetscScalar *p)
{
  return (size_t)p % (2 * sizeof(PetscReal)) == 0;
}

PetscErrorCode SpikeKrylovRhsBasisStep_CUDA(SpikeKrylovRhs *s, PetscInt width, SpikeKrylovBasisStep step,
                                            const SpikeKrylovBasis *b, PetscInt ldA, PetscInt ld,
                                            const SpikeKrylovBasis *combine, const SpikeIDRRecurrence *recurrence)
{
  SpikeRhsCUDA   *d = (SpikeRhsCUDA *)s->data;
  const PetscInt  m = b->last - b->first, n = b->n;
  const PetscReal flops[] = {2.0 * m + (b->z ? 6.0 : 2.0), 4.0 * m + 2.0, 4.0 * m + (b->x ? (b->q ? 19.0 : 6.0) : 0.0),
                             8.0};
  const SpikeKrylovBasis *next = step == SPIKE_KRYLOV_COMBINE ? b : combine;
  SpikeRhsBlock           h;
  SpikeRhsEnd             all;
  dim3                    grid;
  bool                    wide = ldA * sizeof(PetscScalar) % (2 * sizeof(PetscReal)) == 0 &&
              ld * sizeof(PetscScalar) % (2 * sizeof(PetscReal)) == 0;

  PetscFunctionBegin;
  PetscAssert(m <= s->ncolumns && s->ncolumns <= SPIKE_BASIS_COLUMNS, PETSC_COMM_SELF, PETSC_ERR_PLIB,
              "A block of %" PetscInt_FMT " columns, room for %" PetscInt_FMT, m, s->ncolumns);
  memset((void *)&h, 0, sizeof(h));
  memset((void *)&all, 0, sizeof(all));
  h.ld     = ld;
  h.update = step == SPIKE_KRYLOV_UPDATE;
  if (step != SPIKE_KRYLOV_COMBINE) {
    h.m1 = (int)m;
    h.c  = b->c;
    h.a  = b->a;
    h.g  = b->g;
    h.x  = b->x;
    h.y  = b->y;
    h.z  = b->z;
    h.r  = b->r;
    h.q  = b->q;
    h.p  = b->p;
    for (PetscInt j = 0; j < m; j++) {
      h.A[j] = b->A[b->first + j];
      h.B[j] = b->B ? b->B[b->first + j] : NULL;
      wide   = wide && SpikeRhsWide(h.A[j]) && SpikeRhsWide(h.B[j]);
    }
  }
  if (next) {
    h.f    = next->c;
    h.w    = next->a;
    h.next = next->y;
    if (!h.r) h.r = next->r;
    h.m2 = next->A ? (int)(next->last - next->first) : 0;
    h.m3 = next->B ? (int)(next->last - next->first) : 0;
    for (PetscInt j = 0; j < next->last - next->first; j++) {
      h.E[j] = next->A ? next->A[next->first + j] : NULL;
      h.F[j] = next->B ? next->B[next->first + j] : NULL;
      wide   = wide && SpikeRhsWide(h.E[j]) && SpikeRhsWide(h.F[j]);
    }
  }
  wide = wide && SpikeRhsWide(h.x) && SpikeRhsWide(h.y) && SpikeRhsWide(h.z) && SpikeRhsWide(h.r) &&
         SpikeRhsWide(h.q) && SpikeRhsWide(h.p) && SpikeRhsWide(h.next) && step != SPIKE_KRYLOV_SMOOTH;
  if (recurrence) {
    all.e.recurrence = *recurrence;
    all.e.nsums = (int)SpikeKrylovBasisSums(step, m, b->z ? PETSC_TRUE : PETSC_FALSE, b->q ? PETSC_TRUE : PETSC_FALSE);
    all.e.recur = s->ondevice ? true : false;
  }
  all.e.device   = d->device;
  all.e.mail     = d->devicemail;
  all.e.partials = d->partials;
  all.e.small    = s->small;
  all.e.sums     = d->devicebasissums;
  all.stride     = d->stride;
  all.nsums      = SpikeKrylovRhsSums(s);
  all.nsmall     = s->nsmall;
  grid           = dim3(SpikeRhsBlocks(d, wide ? n / 2 + n % 2 : n), (unsigned)width);
  d->block       = true;
  d->all         = step == SPIKE_KRYLOV_SMOOTH;
  PetscCall(PetscLogGpuTimeBegin());
  if (step == SPIKE_KRYLOV_DOTS) {
    SpikeRhsDotsArgs dots = {};

    for (PetscInt j = 0; j < m; j++) dots.A[j] = h.A[j];
    dots.y     = h.y;
    dots.z     = h.z;
    dots.ldA   = ldA;
    dots.ld    = ld;
    dots.m     = h.m1;
    dots.width = (int)width;
    PetscCall(SpikeRhsDotsSelect(d, n, dots, wide, all));
  } else if (step == SPIKE_KRYLOV_SMOOTH)
    PetscCallCUDA(SpikeLaunchBehind(SpikeRhsSmooth, grid, dim3(SPIKE_KRYLOV_THREADS), SpikeBasisShared(all.e),
                                    d->h.stream, n, h, all));
  else
    PetscCallCUDA(SpikeLaunchBehind(SpikeRhsMove, grid, dim3(SPIKE_KRYLOV_THREADS), SpikeBasisShared(all.e),
                                    d->h.stream, n, h, wide, all));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscLogGpuFlops((flops[step] + (combine ? 4.0 * (combine->last - combine->first) + 2.0 : 0.0)) *
                             (PetscDefined(USE_COMPLEX) ? 4.0 : 1.0) * n * width));
  PetscFunctionReturn(PETSC_SUCCESS);
}
