/* SPDX-License-Identifier: BSD-2-Clause */
/*
  serial.cu: algorithms that go through a piece, a system or an interior, row by row: Thomas', both ways at once, LU
  with row exchanges. Neighbouring threads have neighbouring pieces
*/
#include "tridiagonal.cuh"

#define SPIKE_TRI_BATCH 4 /* rows that are loaded at once, of double precision a sector of memory */

/* Thomas': a thread a piece and column, by the factors of the tiles. b may be x */
template <bool TRANS>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriThomas_Kernel(PetscInt npieces, const PetscInt *first, const PetscInt *sep, PetscInt nsep,
                        const PetscInt *piece, const PetscScalar *l, const PetscScalar *r, const PetscScalar *v,
                        const PetscScalar *xs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt   number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscCount column = blockIdx.y;

  if (number >= npieces) return;
  const PetscInt     k = piece[3 * number], lo = piece[3 * number + 1], hi = piece[3 * number + 2];
  const PetscInt     above = k && lo == first[k] ? sep[k - 1] : -1, below = hi == first[k + 1] - 1 ? sep[k] : -1;
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx, y = above >= 0 ? xs[column * nsep + above] : PetscScalar(0.0);

  for (PetscInt i = lo; i < hi; i++)
    xc[i] = y = SpikeFma(-(TRANS ? (i > lo || above >= 0 ? v[i - 1] : PetscScalar(0.0)) : l[i]), y, bc[i]);
  y = below >= 0 ? xs[column * nsep + below] : PetscScalar(0.0);
  for (PetscInt i = hi - 1; i >= lo; i--)
    xc[i] = y = SpikeFma(-(TRANS ? (i + 1 < hi || below >= 0 ? l[i + 1] : PetscScalar(0.0)) : v[i]), y, r[i] * xc[i]);
  if (below >= 0) xc[hi] = xs[column * nsep + below];
}

/* A piece of rows lo <= i < hi of tile k, and the separators beside it */
struct SpikeTriPart {
  PetscInt k, lo, hi, above, below;

  __device__ SpikeTriPart(const PetscInt *piece, const PetscInt *first, const PetscInt *sep, PetscInt number) :
    k(piece[3 * number]), lo(piece[3 * number + 1]), hi(piece[3 * number + 2])
  {
    above = k && lo == first[k] ? sep[k - 1] : -1;
    below = hi == first[k + 1] - 1 ? sep[k] : -1;
  }
};

/*
  TWOWAY's 1 / u: two lanes a piece, one from above and one from below; the upper one has row m / 2 too, the last. Reads
  3 words a row, writes one
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriTwowayFactor_Kernel(PetscInt npieces, const PetscInt *first, const PetscInt *sep, const PetscInt *piece,
                              const PetscScalar *dl, const PetscScalar *d, const PetscScalar *du, PetscReal tol,
                              PetscReal boost, const double *unit, PetscScalar *r, SpikeTriReport *report,
                              PetscReal *badvalue)
{
  const PetscInt     number = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 2;
  const int          lane   = threadIdx.x % 32;
  const bool         up     = threadIdx.x % 2 == 0; /* the upper half */
  const SpikeTriPart p(piece, first, sep, PetscMin(number, npieces - 1));
  const PetscInt     middle = p.lo + (p.hi - p.lo) / 2, rows = up ? middle - p.lo : p.hi - 1 - middle;
  PetscScalar        last   = 0.0, other;
  PetscReal          value  = 0.0, othervalue;
  PetscInt           badrow = -1, otherrow;

  tol = PetscMax(tol * SpikeTriUnit(unit), PETSC_REAL_MIN);
  boost *= SpikeTriUnit(unit);
  for (PetscInt k = 0; k < rows && number < npieces; k++) {
    const PetscInt    i = up ? p.lo + k : p.hi - 1 - k;
    const PetscScalar u = k ? d[i] - (up ? dl[i] * last * du[i - 1] : du[i] * last * dl[i + 1]) : d[i];

    r[i] = last = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, i, report, &value, &badrow);
  }
  other      = SpikeShfl(last, lane ^ 1);
  othervalue = __shfl_sync(SPIKE_WARP, value, lane ^ 1);
  otherrow   = __shfl_sync(SPIKE_WARP, badrow, lane ^ 1);
  if (!up || number >= npieces) return;
  if (badrow < 0) {
    badrow = otherrow;
    value  = othervalue;
  }
  if (middle < p.hi) {
    PetscScalar u = d[middle];

    if (middle > p.lo) u -= dl[middle] * last * du[middle - 1];
    if (middle + 1 < p.hi) u -= du[middle] * other * dl[middle + 1];
    r[middle] = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, middle, report, &value, &badrow);
  }
  if (badrow >= 0) {
    badvalue[p.k] = value;
    atomicMin(&report->badrow, (unsigned long long)badrow);
  }
}

/* TWOWAY: reads 4 words a row, writes y and x. b may be x */
template <bool TRANS>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriTwoway_Kernel(PetscInt npieces, const PetscInt *first, const PetscInt *sep, PetscInt nsep,
                        const PetscInt *piece, const PetscScalar *dl, const PetscScalar *du, const PetscScalar *r,
                        const PetscScalar *xs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt     number = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 2;
  const PetscCount   column = blockIdx.y;
  const bool         up = threadIdx.x % 2 == 0, here = number < npieces;
  const SpikeTriPart p(piece, first, sep, PetscMin(number, npieces - 1));
  const PetscInt     middle = p.lo + (p.hi - p.lo) / 2, rows = up ? middle - p.lo : p.hi - 1 - middle;
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx, last = 0.0, other, z;
  /* A(i, i - 1) and A(i, i + 1), or of its transpose */
  auto lower = [&](PetscInt i) { return TRANS ? du[i - 1] : dl[i]; };
  auto upper = [&](PetscInt i) { return TRANS ? dl[i + 1] : du[i]; };
  auto rhs   = [&](PetscInt i) {
    PetscScalar y = bc[i];

    if (i == p.lo && p.above >= 0) y -= lower(i) * xs[column * nsep + p.above];
    if (i + 1 == p.hi && p.below >= 0) y -= upper(i) * xs[column * nsep + p.below];
    return y;
  };

  for (PetscInt k = 0; k < rows && here; k++) {
    const PetscInt i = up ? p.lo + k : p.hi - 1 - k;

    z     = rhs(i);
    xc[i] = z = k ? SpikeFma(-(up ? lower(i) : upper(i)), last, z) : z;
    last      = r[i] * z;
  }
  other = SpikeShfl(last, (threadIdx.x % 32) ^ 1);
  z     = 0.0;
  if (here && p.hi > p.lo) { /* both lanes */
    z = up ? rhs(middle) : PetscScalar(0.0);
    if (up && middle > p.lo) z = SpikeFma(-lower(middle), last, z);
    if (up && middle + 1 < p.hi) z = SpikeFma(-upper(middle), other, z);
    if (up) xc[middle] = z = r[middle] * z;
  }
  other = SpikeShfl(z, (threadIdx.x % 32) & ~1);
  for (PetscInt k = rows - 1; k >= 0 && here; k--) {
    const PetscInt i = up ? p.lo + k : p.hi - 1 - k;

    xc[i] = other = r[i] * SpikeFma(-(up ? upper(i) : lower(i)), other, xc[i]);
  }
  if (up && here && p.below >= 0) xc[p.hi] = xs[column * nsep + p.below];
}

__device__ static __forceinline__ PetscReal SpikeTriRowMax(PetscScalar a, PetscScalar b, PetscScalar c)
{
  const PetscReal m = fmax(fmax(SpikeTriAbs(a), SpikeTriAbs(b)), SpikeTriAbs(c));

  return m > (PetscReal)0.0 ? m : (PetscReal)1.0;
}

/*
  P A_I = L U with scaled partial pivoting, a thread a piece: rows i and i + 1 change places where |dl_(i+1)| / max |row
  i + 1| > |u_i| / max |row i|; l_i: multiplier of row i in row i + 1, r_i = 1 / u_i, v_i and w_i = U(i, i+1), U(i,
  i+2). Reads 3 words a row, writes 4 and a byte.
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivotedFactor_Kernel(PetscInt npieces, const PetscInt *piece, const PetscScalar *dl, const PetscScalar *d,
                               const PetscScalar *du, PetscReal tol, PetscReal boost, const double *unit,
                               PetscScalar *l, PetscScalar *r, PetscScalar *v, PetscScalar *w, unsigned char *swapped,
                               SpikeTriReport *report, PetscReal *badvalue)
{
  const PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (number >= npieces) return;
  const PetscInt k = piece[3 * number], lo = piece[3 * number + 1], hi = piece[3 * number + 2];
  PetscInt       badrow = -1;
  PetscReal      value  = 0.0, scale;
  PetscScalar    u, next;

  if (lo == hi) return;
  tol = PetscMax(tol * SpikeTriUnit(unit), PETSC_REAL_MIN);
  boost *= SpikeTriUnit(unit);
  u     = d[lo];
  next  = lo + 1 < hi ? du[lo] : PetscScalar(0.0);
  scale = SpikeTriRowMax(u, next, 0.0);
  for (PetscInt i0 = lo; i0 + 1 < hi; i0 += SPIKE_TRI_BATCH) {
    PetscScalar la[SPIKE_TRI_BATCH], da[SPIKE_TRI_BATCH], ua[SPIKE_TRI_BATCH];

#pragma unroll
    for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
      const PetscInt i = i0 + j + 1;

      la[j] = i < hi ? dl[i] : PetscScalar(0.0);
      da[j] = i < hi ? d[i] : PetscScalar(0.0);
      ua[j] = i + 1 < hi ? du[i] : PetscScalar(0.0);
    }
#pragma unroll
    for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
      const PetscInt i = i0 + j;

      if (i + 1 < hi) {
        const PetscScalar a = la[j], b = da[j], c = ua[j];
        const PetscReal   below = SpikeTriRowMax(a, b, c);
        const bool        swap  = SpikeTriAbs(a) / below > SpikeTriAbs(u) / scale;
        const PetscScalar t = (PetscScalar)1.0 / SpikeTriDivisor(swap ? a : u, tol, boost, i, report, &value, &badrow),
                          m = (swap ? u : a) * t;

        swapped[i] = swap;
        r[i]       = t;
        l[i]       = m;
        v[i]       = swap ? b : next;
        w[i]       = swap ? c : PetscScalar(0.0);
        if (swap) {
          u    = next - m * b;
          next = -m * c;
        } else {
          u     = b - m * next;
          next  = c;
          scale = below;
        }
      }
    }
  }
  r[hi - 1] = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, hi - 1, report, &value, &badrow);
  v[hi - 1] = w[hi - 1] = l[hi - 1] = 0.0;
  swapped[hi - 1]                   = 0;
  if (badrow >= 0) {
    badvalue[k] = value;
    atomicMin(&report->badrow, (unsigned long long)badrow);
  }
}

/* x <- A_I^-1 b, or A_I^-T b, over rows lo <= i < hi */
template <bool TRANS>
__device__ static void SpikeTriPivotedSolve(PetscInt lo, PetscInt hi, const PetscScalar *l, const PetscScalar *r,
                                            const PetscScalar *v, const PetscScalar *w, const unsigned char *swapped,
                                            const PetscScalar *b, PetscScalar *x)
{
  PetscScalar p[SPIKE_TRI_BATCH], q[SPIKE_TRI_BATCH], s[SPIKE_TRI_BATCH], z[SPIKE_TRI_BATCH], last = b[lo], one = 0.0,
                                                                                              two = 0.0;
  bool swap[SPIKE_TRI_BATCH];

  if (!TRANS) {
    /* last: what comes down from row i0 - 1, not stored yet */
    for (PetscInt i0 = lo; i0 + 1 < hi; i0 += SPIKE_TRI_BATCH) {
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        const PetscInt i = PetscMin(i0 + j, hi - 2);

        p[j]    = l[i];
        z[j]    = b[i + 1];
        swap[j] = swapped[i];
      }
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        if (i0 + j + 1 < hi) {
          const PetscScalar y = swap[j] ? z[j] : last;

          x[i0 + j] = y;
          last      = SpikeFma(-p[j], y, swap[j] ? last : z[j]);
        }
      }
    }
    x[hi - 1] = last;
    for (PetscInt i0 = hi - 1; i0 >= lo; i0 -= SPIKE_TRI_BATCH) { /* one = x_(i+1), two = x_(i+2) */
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        const PetscInt i = PetscMax(i0 - j, lo);

        p[j] = v[i];
        q[j] = w[i];
        s[j] = r[i];
        z[j] = x[i];
      }
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        if (i0 - j >= lo) {
          last      = s[j] * SpikeFma(-p[j], one, SpikeFma(-q[j], two, z[j]));
          x[i0 - j] = last;
          two       = one;
          one       = last;
        }
      }
    }
  } else {
    for (PetscInt i0 = lo; i0 < hi; i0 += SPIKE_TRI_BATCH) { /* one = y_(i-1), two = y_(i-2) */
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        const PetscInt i = PetscMin(i0 + j, hi - 1);

        p[j] = v[PetscMax(i - 1, lo)];
        q[j] = w[PetscMax(i - 2, lo)];
        s[j] = r[i];
        z[j] = b[i];
      }
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        if (i0 + j < hi) {
          last      = s[j] * SpikeFma(-p[j], one, SpikeFma(-q[j], two, z[j]));
          x[i0 + j] = last;
          two       = one;
          one       = last;
        }
      }
    }
    for (PetscInt i0 = hi - 2; i0 >= lo; i0 -= SPIKE_TRI_BATCH) { /* last: what goes up from row i0 + 1 */
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        const PetscInt i = PetscMax(i0 - j, lo);

        p[j]    = l[i];
        z[j]    = x[i];
        swap[j] = swapped[i];
      }
#pragma unroll
      for (int j = 0; j < SPIKE_TRI_BATCH; j++) {
        if (i0 - j >= lo) {
          const PetscScalar y = SpikeFma(-p[j], last, z[j]);

          x[i0 - j + 1] = swap[j] ? y : last;
          last          = swap[j] ? last : y;
        }
      }
    }
    x[lo] = last;
  }
}

/* dl and du couple the rows next to separators to them. Reads 5 words and a byte a row, writes y and x. b may be x */
template <bool TRANS>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivoted_Kernel(PetscInt npieces, const PetscInt *first, const PetscInt *sep, PetscInt nsep,
                         const PetscInt *piece, const PetscScalar *dl, const PetscScalar *du, const PetscScalar *l,
                         const PetscScalar *r, const PetscScalar *v, const PetscScalar *w, const unsigned char *swapped,
                         const PetscScalar *xs, const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt   number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscCount column = blockIdx.y;

  if (number >= npieces) return;
  const SpikeTriPart p(piece, first, sep, number);
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx;

  if (p.hi > p.lo) {
    if (p.above >= 0 || p.below >= 0) {
      if (bc != xc) {
        for (PetscInt i = p.lo; i < p.hi; i += SPIKE_TRI_BATCH) {
          PetscScalar y[SPIKE_TRI_BATCH];

#pragma unroll
          for (int j = 0; j < SPIKE_TRI_BATCH; j++) y[j] = bc[PetscMin(i + j, p.hi - 1)];
#pragma unroll
          for (int j = 0; j < SPIKE_TRI_BATCH; j++)
            if (i + j < p.hi) xc[i + j] = y[j];
        }
      }
      if (p.above >= 0) xc[p.lo] -= (TRANS ? du[p.lo - 1] : dl[p.lo]) * xs[column * nsep + p.above];
      if (p.below >= 0) xc[p.hi - 1] -= (TRANS ? dl[p.hi] : du[p.hi - 1]) * xs[column * nsep + p.below];
      bc = xc;
    }
    SpikeTriPivotedSolve<TRANS>(p.lo, p.hi, l, r, v, w, swapped, bc, xc);
  }
  if (p.below >= 0) xc[p.hi] = xs[column * nsep + p.below];
}

/*
  za = du_s A_I^-T e_first and zb = dl_s A_I^-T e_last, all of them; transposed dl_(s+1) A_I^-1 e_first and du_(s-1)
  A_I^-1 e_last
*/
template <bool TRANS>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivotedReachers_Kernel(PetscInt npieces, const PetscInt *first, const PetscInt *sep, const PetscInt *piece,
                                 const PetscScalar *dl, const PetscScalar *du, const PetscScalar *l,
                                 const PetscScalar *r, const PetscScalar *v, const PetscScalar *w,
                                 const unsigned char *swapped, PetscScalar *za, PetscScalar *zb, PetscInt *wa,
                                 PetscInt *wb)
{
  const PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (number >= npieces) return;
  const SpikeTriPart p(piece, first, sep, number);

  for (int side = 0; side < 2; side++) {
    PetscScalar *z = side ? zb : za;

    if ((side ? p.below : p.above) < 0 || p.lo == p.hi) continue;
    for (PetscInt i = p.lo; i < p.hi; i++) z[i] = 0.0;
    if (side) z[p.hi - 1] = TRANS ? du[p.hi - 1] : dl[p.hi];
    else z[p.lo] = TRANS ? dl[p.lo] : du[p.lo - 1];
    SpikeTriPivotedSolve<!TRANS>(p.lo, p.hi, l, r, v, w, swapped, z, z);
    (side ? wb : wa)[p.k] = p.hi - p.lo;
  }
}

/* Factors for all applies, and what the separators' system needs of pivoted ones */
PetscErrorCode SpikeTriSerialSetUp_CUDA(SpikeTriCUDA *h, const PetscScalar *dl, const PetscScalar *d,
                                        const PetscScalar *du, SpikePivot *pivot, cudaStream_t stream)
{
  const unsigned grid  = (unsigned)((h->npieces - 1) / SPIKE_TRI_THREADS + 1),
                 pairs = (unsigned)((2 * (PetscCount)h->npieces - 1) / SPIKE_TRI_THREADS + 1);

  PetscFunctionBegin;
  if (!h->npieces) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->how == SPIKE_TRI_TWOWAY)
    SpikeTriTwowayFactor_Kernel<<<pairs, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->piece, dl, d,
                                                                         du, pivot->tol, pivot->boost, h->unit, h->u,
                                                                         h->report, h->badvalue);
  if (h->how == SPIKE_TRI_PIVOTED) {
    SpikeTriPivotedFactor_Kernel<<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->piece, dl, d, du, pivot->tol,
                                                                         pivot->boost, h->unit, h->l, h->r, h->v, h->u,
                                                                         h->swapped, h->report, h->badvalue);
    if (h->nsep) {
      SpikeTriPivotedReachers_Kernel<false>
        <<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->piece, dl, du, h->l, h->r, h->v, h->u,
                                                 h->swapped, h->za, h->zb, h->wa, h->wb);
      SpikeTriPivotedReachers_Kernel<true>
        <<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->piece, dl, du, h->l, h->r, h->v, h->u,
                                                 h->swapped, h->zat, h->zbt, h->wa, h->wb);
    }
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- A^-1 b, or A^-T b, in all rows but the separators, whose values xs are put into their places */
PetscErrorCode SpikeTriSerial_CUDA(SpikeTriCUDA *h, PetscBool trans, PetscInt columns, const PetscScalar *xs,
                                   const PetscScalar *b, PetscCount ldb, PetscScalar *x, PetscCount ldx,
                                   cudaStream_t stream)
{
  const dim3 grid((unsigned)((h->npieces - 1) / SPIKE_TRI_THREADS + 1), (unsigned)columns),
    pairs((unsigned)((2 * (PetscCount)h->npieces - 1) / SPIKE_TRI_THREADS + 1), (unsigned)columns);

  PetscFunctionBegin;
  if (!h->npieces) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->how == SPIKE_TRI_THOMAS) {
    if (trans)
      SpikeTriThomas_Kernel<true><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                          h->piece, h->l, h->r, h->v, xs, b, ldb, x,
                                                                          ldx);
    else
      SpikeTriThomas_Kernel<false><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                           h->piece, h->l, h->r, h->v, xs, b, ldb, x,
                                                                           ldx);
  } else if (h->how == SPIKE_TRI_TWOWAY) {
    if (trans)
      SpikeTriTwoway_Kernel<true><<<pairs, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                           h->piece, h->dl, h->du, h->u, xs, b, ldb, x,
                                                                           ldx);
    else
      SpikeTriTwoway_Kernel<false><<<pairs, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                            h->piece, h->dl, h->du, h->u, xs, b, ldb, x,
                                                                            ldx);
  } else {
    if (trans)
      SpikeTriPivoted_Kernel<true><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                           h->piece, h->dl, h->du, h->l, h->r, h->v,
                                                                           h->u, h->swapped, xs, b, ldb, x, ldx);
    else
      SpikeTriPivoted_Kernel<false><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(h->npieces, h->first, h->sep, h->nsep,
                                                                            h->piece, h->dl, h->du, h->l, h->r, h->v,
                                                                            h->u, h->swapped, xs, b, ldb, x, ldx);
  }
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
