/* SPDX-License-Identifier: BSD-2-Clause */
/*
  serial.cu: algorithms that go through a piece, a system or an interior, row by row: Thomas', from both ends at once,
  LU with row exchanges. Neighbouring threads have neighbouring pieces
*/
#include "tridiagonal.cuh"

#define SPIKE_TRI_BATCH 4 /* rows that are loaded at once, of double precision a sector of memory */

/* Thomas': a thread a piece and column, by the factors of the patches. b may be x */
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriThomas_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *xs, const PetscScalar *b,
                        PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt   number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscCount column = blockIdx.y;

  if (number >= tri.npieces) return;
  const SpikeTriPart p(tri, number);
  const PetscInt     lo = p.lo, hi = p.hi, above = p.above, below = p.below;
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx, y = above >= 0 ? xs[column * tri.nsep + above] : PetscScalar(0.0);

  for (PetscInt i = lo; i < hi; i++)
    xc[i] = y = SpikeFma(-(TRANSPOSED ? (i > lo || above >= 0 ? tri.v[i - 1] : PetscScalar(0.0)) : tri.l[i]), y, bc[i]);
  y = below >= 0 ? xs[column * tri.nsep + below] : PetscScalar(0.0);
  for (PetscInt i = hi - 1; i >= lo; i--)
    xc[i] = y = SpikeFma(-(TRANSPOSED ? (i + 1 < hi || below >= 0 ? tri.l[i + 1] : PetscScalar(0.0)) : tri.v[i]), y,
                         tri.r[i] * xc[i]);
  if (below >= 0) xc[hi] = xs[column * tri.nsep + below];
}

/*
  TWOWAY's 1 / u: two lanes a piece, one from above, one from below; the upper one also has row m / 2, the last. Reads 3
  words a row, writes one
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriTwowayFactor_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl, const PetscScalar *d,
                              const PetscScalar *du)
{
  const PetscInt     number = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 2;
  const int          lane   = threadIdx.x % 32;
  const bool         up     = threadIdx.x % 2 == 0; /* the upper half */
  const SpikeTriPart p(tri, PetscMin(number, tri.npieces - 1));
  const PetscInt     middle = p.lo + (p.hi - p.lo) / 2, rows = up ? middle - p.lo : p.hi - 1 - middle;
  PetscScalar        last   = 0.0, other;
  PetscReal          value  = 0.0, othervalue;
  PetscInt           badrow = -1, otherrow;
  const PetscReal    tol = SpikeTriTol(tri), boost = SpikeTriBoost(tri);

  for (PetscInt k = 0; k < rows && number < tri.npieces; k++) {
    const PetscInt    i = up ? p.lo + k : p.hi - 1 - k;
    const PetscScalar u = k ? d[i] - (up ? dl[i] * last * du[i - 1] : du[i] * last * dl[i + 1]) : d[i];

    tri.u[i] = last = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, i, tri.report, &value, &badrow);
  }
  other      = SpikeShfl(last, lane ^ 1);
  othervalue = __shfl_sync(SPIKE_WARP, value, lane ^ 1);
  otherrow   = __shfl_sync(SPIKE_WARP, badrow, lane ^ 1);
  if (!up || number >= tri.npieces) return;
  if (badrow < 0) {
    badrow = otherrow;
    value  = othervalue;
  }
  if (middle < p.hi) {
    PetscScalar u = d[middle];

    if (middle > p.lo) u -= dl[middle] * last * du[middle - 1];
    if (middle + 1 < p.hi) u -= du[middle] * other * dl[middle + 1];
    tri.u[middle] = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, middle, tri.report, &value, &badrow);
  }
  if (badrow >= 0) {
    tri.badvalue[p.k] = value;
    atomicMin(&tri.report->badrow, (unsigned long long)badrow);
  }
}

/* TWOWAY: reads 4 words a row, writes y and x. b may be x */
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriTwoway_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *xs, const PetscScalar *b,
                        PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt     number = ((PetscInt)blockIdx.x * blockDim.x + threadIdx.x) / 2;
  const PetscCount   column = blockIdx.y;
  const bool         up = threadIdx.x % 2 == 0, here = number < tri.npieces;
  const SpikeTriPart p(tri, PetscMin(number, tri.npieces - 1));
  const PetscInt     middle = p.lo + (p.hi - p.lo) / 2, rows = up ? middle - p.lo : p.hi - 1 - middle;
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx, last = 0.0, other, z;
  /* A(i, i - 1) and A(i, i + 1), or of its transpose */
  auto lower = [&](PetscInt i) { return TRANSPOSED ? tri.du[i - 1] : tri.dl[i]; };
  auto upper = [&](PetscInt i) { return TRANSPOSED ? tri.dl[i + 1] : tri.du[i]; };
  auto rhs   = [&](PetscInt i) {
    PetscScalar y = bc[i];

    if (i == p.lo && p.above >= 0) y -= lower(i) * xs[column * tri.nsep + p.above];
    if (i + 1 == p.hi && p.below >= 0) y -= upper(i) * xs[column * tri.nsep + p.below];
    return y;
  };

  for (PetscInt k = 0; k < rows && here; k++) {
    const PetscInt i = up ? p.lo + k : p.hi - 1 - k;

    z     = rhs(i);
    xc[i] = z = k ? SpikeFma(-(up ? lower(i) : upper(i)), last, z) : z;
    last      = tri.u[i] * z;
  }
  other = SpikeShfl(last, (threadIdx.x % 32) ^ 1);
  z     = 0.0;
  if (here && p.hi > p.lo) { /* both lanes */
    z = up ? rhs(middle) : PetscScalar(0.0);
    if (up && middle > p.lo) z = SpikeFma(-lower(middle), last, z);
    if (up && middle + 1 < p.hi) z = SpikeFma(-upper(middle), other, z);
    if (up) xc[middle] = z = tri.u[middle] * z;
  }
  other = SpikeShfl(z, (threadIdx.x % 32) & ~1);
  for (PetscInt k = rows - 1; k >= 0 && here; k--) {
    const PetscInt i = up ? p.lo + k : p.hi - 1 - k;

    xc[i] = other = tri.u[i] * SpikeFma(-(up ? upper(i) : lower(i)), other, xc[i]);
  }
  if (up && here && p.below >= 0) xc[p.hi] = xs[column * tri.nsep + p.below];
}

__device__ static __forceinline__ PetscReal SpikeTriRowMax(PetscScalar a, PetscScalar b, PetscScalar c)
{
  const PetscReal m = fmax(fmax(SpikeAbs(a), SpikeAbs(b)), SpikeAbs(c));

  return m > (PetscReal)0.0 ? m : (PetscReal)1.0;
}

/*
  P A_I = L U with scaled partial pivoting, a thread a piece: rows i and i + 1 change places where |dl_(i+1)| / max |row
  i + 1| > |u_i| / max |row i|; l_i: multiplier of row i in row i + 1, r_i = 1 / u_i, v_i and w_i = U(i, i+1), U(i,
  i+2). Reads 3 words a row, writes 4 and a byte.
*/
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivotedFactor_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl, const PetscScalar *d,
                               const PetscScalar *du)
{
  const PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (number >= tri.npieces) return;
  const SpikeTriPart p(tri, number);
  const PetscInt     k = p.k, lo = p.lo, hi = p.hi;
  PetscInt           badrow = -1;
  const PetscReal    tol = SpikeTriTol(tri), boost = SpikeTriBoost(tri);
  PetscReal          value = 0.0, scale;
  PetscScalar        u, next;

  if (lo == hi) return;
  u     = d[lo];
  next  = lo + 1 < hi ? du[lo] : PetscScalar(0.0);
  scale = SpikeTriRowMax(u, next, 0.0);
  for (PetscInt i0 = lo; i0 + 1 < hi; i0 += SPIKE_TRI_BATCH) {
    PetscScalar la[SPIKE_TRI_BATCH], da[SPIKE_TRI_BATCH], ua[SPIKE_TRI_BATCH];

    SpikeUnroll(j, SPIKE_TRI_BATCH) {
      const PetscInt i = i0 + j + 1;

      la[j] = i < hi ? dl[i] : PetscScalar(0.0);
      da[j] = i < hi ? d[i] : PetscScalar(0.0);
      ua[j] = i + 1 < hi ? du[i] : PetscScalar(0.0);
    }
    SpikeUnroll(j, SPIKE_TRI_BATCH) {
      const PetscInt i = i0 + j;

      if (i + 1 < hi) {
        const PetscScalar a = la[j], b = da[j], c = ua[j];
        const PetscReal   below = SpikeTriRowMax(a, b, c);
        const bool        swap  = SpikeAbs(a) / below > SpikeAbs(u) / scale;
        const PetscScalar t     = (PetscScalar)1.0 /
                              SpikeTriDivisor(swap ? a : u, tol, boost, i, tri.report, &value, &badrow),
                          m = (swap ? u : a) * t;

        tri.swapped[i] = swap;
        tri.r[i]       = t;
        tri.l[i]       = m;
        tri.v[i]       = swap ? b : next;
        tri.u[i]       = swap ? c : PetscScalar(0.0);
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
  tri.r[hi - 1] = (PetscScalar)1.0 / SpikeTriDivisor(u, tol, boost, hi - 1, tri.report, &value, &badrow);
  tri.v[hi - 1] = tri.u[hi - 1] = tri.l[hi - 1] = 0.0;
  tri.swapped[hi - 1]                           = 0;
  if (badrow >= 0) {
    tri.badvalue[k] = value;
    atomicMin(&tri.report->badrow, (unsigned long long)badrow);
  }
}

/* x <- A_I^-1 b, or A_I^-T b, over rows lo <= i < hi */
template <bool TRANSPOSED>
__device__ static void SpikeTriPivotedSolve(PetscInt lo, PetscInt hi, const SpikeTriPatches &tri, const PetscScalar *b,
                                            PetscScalar *x)
{
  PetscScalar p[SPIKE_TRI_BATCH], q[SPIKE_TRI_BATCH], s[SPIKE_TRI_BATCH], z[SPIKE_TRI_BATCH], last = b[lo], one = 0.0,
                                                                                              two = 0.0;
  bool swap[SPIKE_TRI_BATCH];

  if (!TRANSPOSED) {
    /* last: what comes down from row i0 - 1, not stored yet */
    for (PetscInt i0 = lo; i0 + 1 < hi; i0 += SPIKE_TRI_BATCH) {
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        const PetscInt i = PetscMin(i0 + j, hi - 2);

        p[j]    = tri.l[i];
        z[j]    = b[i + 1];
        swap[j] = tri.swapped[i];
      }
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        if (i0 + j + 1 < hi) {
          const PetscScalar y = swap[j] ? z[j] : last;

          x[i0 + j] = y;
          last      = SpikeFma(-p[j], y, swap[j] ? last : z[j]);
        }
      }
    }
    x[hi - 1] = last;
    for (PetscInt i0 = hi - 1; i0 >= lo; i0 -= SPIKE_TRI_BATCH) { /* one = x_(i+1), two = x_(i+2) */
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        const PetscInt i = PetscMax(i0 - j, lo);

        p[j] = tri.v[i];
        q[j] = tri.u[i];
        s[j] = tri.r[i];
        z[j] = x[i];
      }
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
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
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        const PetscInt i = PetscMin(i0 + j, hi - 1);

        p[j] = tri.v[PetscMax(i - 1, lo)];
        q[j] = tri.u[PetscMax(i - 2, lo)];
        s[j] = tri.r[i];
        z[j] = b[i];
      }
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        if (i0 + j < hi) {
          last      = s[j] * SpikeFma(-p[j], one, SpikeFma(-q[j], two, z[j]));
          x[i0 + j] = last;
          two       = one;
          one       = last;
        }
      }
    }
    for (PetscInt i0 = hi - 2; i0 >= lo; i0 -= SPIKE_TRI_BATCH) { /* last: what goes up from row i0 + 1 */
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
        const PetscInt i = PetscMax(i0 - j, lo);

        p[j]    = tri.l[i];
        z[j]    = x[i];
        swap[j] = tri.swapped[i];
      }
      SpikeUnroll(j, SPIKE_TRI_BATCH) {
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
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivoted_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *xs, const PetscScalar *b,
                         PetscCount ldb, PetscScalar *x, PetscCount ldx)
{
  const PetscInt   number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;
  const PetscCount column = blockIdx.y;

  if (number >= tri.npieces) return;
  const SpikeTriPart p(tri, number);
  const PetscScalar *bc = b + column * ldb;
  PetscScalar       *xc = x + column * ldx;

  if (p.hi > p.lo) {
    if (p.above >= 0 || p.below >= 0) {
      if (bc != xc) {
        for (PetscInt i = p.lo; i < p.hi; i += SPIKE_TRI_BATCH) {
          PetscScalar y[SPIKE_TRI_BATCH];

          SpikeUnroll(j, SPIKE_TRI_BATCH) y[j] = bc[PetscMin(i + j, p.hi - 1)];
          SpikeUnroll(j, SPIKE_TRI_BATCH)
            if (i + j < p.hi) xc[i + j] = y[j];
        }
      }
      if (p.above >= 0) xc[p.lo] -= (TRANSPOSED ? tri.du[p.lo - 1] : tri.dl[p.lo]) * xs[column * tri.nsep + p.above];
      if (p.below >= 0)
        xc[p.hi - 1] -= (TRANSPOSED ? tri.dl[p.hi] : tri.du[p.hi - 1]) * xs[column * tri.nsep + p.below];
      bc = xc;
    }
    SpikeTriPivotedSolve<TRANSPOSED>(p.lo, p.hi, tri, bc, xc);
  }
  if (p.below >= 0) xc[p.hi] = xs[column * tri.nsep + p.below];
}

/*
  za = du_s A_I^-T e_first and zb = dl_s A_I^-T e_last, all of them; transposed dl_(s+1) A_I^-1 e_first and du_(s-1)
  A_I^-1 e_last
*/
template <bool TRANSPOSED>
__global__ void __launch_bounds__(SPIKE_TRI_THREADS)
  SpikeTriPivotedReachers_Kernel(const __grid_constant__ SpikeTriPatches tri, const PetscScalar *dl,
                                 const PetscScalar *du)
{
  const PetscInt number = (PetscInt)blockIdx.x * blockDim.x + threadIdx.x;

  if (number >= tri.npieces) return;
  const SpikeTriPart p(tri, number);

  for (int side = 0; side < 2; side++) {
    PetscScalar *z = TRANSPOSED ? (side ? tri.zbt : tri.zat) : (side ? tri.zb : tri.za);

    if ((side ? p.below : p.above) < 0 || p.lo == p.hi) continue;
    for (PetscInt i = p.lo; i < p.hi; i++) z[i] = 0.0;
    if (side) z[p.hi - 1] = TRANSPOSED ? du[p.hi - 1] : dl[p.hi];
    else z[p.lo] = TRANSPOSED ? dl[p.lo] : du[p.lo - 1];
    SpikeTriPivotedSolve<!TRANSPOSED>(p.lo, p.hi, tri, z, z);
    (side ? tri.wb : tri.wa)[p.k] = p.hi - p.lo;
  }
}

/* Factors for all applies, and what the separators' system needs of pivoted ones */
PetscErrorCode SpikeTriSerialSetUp_CUDA(SpikeTriCUDA *h, const PetscScalar *dl, const PetscScalar *d,
                                        const PetscScalar *du, cudaStream_t stream)
{
  const unsigned grid = SpikeTriThreadBlocks(h->npieces), pairs = SpikeTriThreadBlocks(2 * (PetscCount)h->npieces);

  PetscFunctionBegin;
  if (!h->npieces) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->how == SPIKE_TRI_TWOWAY) SpikeTriTwowayFactor_Kernel<<<pairs, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, d, du);
  if (h->how == SPIKE_TRI_PIVOTED) {
    SpikeTriPivotedFactor_Kernel<<<grid, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, d, du);
    if (h->nsep) {
      SpikeTriPivotedReachers_Kernel<false><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, du);
      SpikeTriPivotedReachers_Kernel<true><<<grid, SPIKE_TRI_THREADS, 0, stream>>>(*h, dl, du);
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
  const PetscCount threads = (h->how == SPIKE_TRI_TWOWAY ? 2 : 1) * (PetscCount)h->npieces;
  const auto kernel = h->how == SPIKE_TRI_THOMAS ? (trans ? SpikeTriThomas_Kernel<true> : SpikeTriThomas_Kernel<false>)
                    : h->how == SPIKE_TRI_TWOWAY ? (trans ? SpikeTriTwoway_Kernel<true> : SpikeTriTwoway_Kernel<false>)
                    : trans                      ? SpikeTriPivoted_Kernel<true>
                                                 : SpikeTriPivoted_Kernel<false>;

  PetscFunctionBegin;
  if (!h->npieces) PetscFunctionReturn(PETSC_SUCCESS);
  kernel<<<dim3(SpikeTriThreadBlocks(threads), (unsigned)columns), SPIKE_TRI_THREADS, 0, stream>>>(*h, xs, b, ldb, x,
                                                                                                   ldx);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
