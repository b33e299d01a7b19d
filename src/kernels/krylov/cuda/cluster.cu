/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cluster.cu: iterations of a Krylov method by one cluster of thread blocks, for the smallest problems: those whose
  matrix the shared memory of a few multiprocessors holds
*/
#include "cluster_phase.cuh"

/*
  Cycles by which a phase of one kernel on the whole device is longer than one of a cluster, products apart: estimated
*/
#define SPIKE_CLUSTER_SAVED 4000.0
/*
  Bytes that a multiprocessor has in a cycle from its shared memory, and from the L2 cache where all fetch at once
*/
#define SPIKE_CLUSTER_OWN   128.0
#define SPIKE_CLUSTER_CACHE 32.0

/* Spans: r, v, p, and what the product reads where that is not p; FROMRIGHT: B */
template <bool FROMRIGHT>
__global__ void __launch_bounds__(SPIKE_CLUSTER_THREADS, 1) SpikeClusterBCGS(const __grid_constant__ SpikeCluster a)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ SpikeClusterShared shared;
  SpikeClusterPlace             place;
  PetscScalar                  *spans, x[2], rp[2], t[2], d[2];
  unsigned                      phase = 0;
  PetscInt                      it    = 0;

  if (!SpikeClusterBegin(a, shared, place, &spans)) return;
  PetscScalar *const r = spans, *const v = r + a.span, *const p = v + a.span, *const g = p + a.span,
                     *const b = g + a.span;

  if (!shared.entry[1].end)
    SpikeClusterOpen<FROMRIGHT ? 5 : 4>(a, place, {{a.v[1], a.v[3], a.v[5], NULL, const_cast<PetscScalar *>(a.d)}},
                                        spans);
  SpikeClusterTake(place, a.v[0], x);
  SpikeClusterTake(place, a.v[2], rp);
  SpikeClusterTake(place, FROMRIGHT ? NULL : a.d, d);
  SpikeClusterMeetBlock(a);
  for (; it < a.its && !shared.s.reason; it++) {
    SpikeKrylovFactors f = shared.s.f;
    PetscScalar        sum[2];
    const bool         started = shared.s.since != 0;

    if (started || FROMRIGHT) {
      SpikeClusterSpan(a, place, [&](int i) {
        PetscScalar e[] = {r[i], v[i], p[i]};

        if (started) {
          SpikeKrylovRow_bcgs_p(&f, e, NULL);
          p[i] = e[2];
        }
        if (FROMRIGHT) g[i] = SpikeKrylovMul(b[i], e[2]);
      });
      SpikeClusterMeetBlock(a);
    }
    SpikeClusterProduct(a, place, FROMRIGHT ? g : p, sum);
    SpikeClusterRows<SPIKE_BCGS_ALPHA, false>(place, shared.sums, [&](int h, PetscScalar dots[]) {
      PetscScalar e[] = {rp[h], !FROMRIGHT && a.d ? SpikeKrylovMul(d[h], sum[h]) : sum[h]};

      v[place.at[h]] = e[1];
      SpikeKrylovRow_bcgs_alpha(&f, e, dots);
    });
    SpikeClusterMeet<SPIKE_BCGS_ALPHA, false, true>(a, place, shared, shared.sums, v, phase++ & 1, false);
    if (shared.s.reason) {
      it++;
      break;
    }
    f = shared.s.f;
    SpikeClusterSpan(a, place, [&](int i) {
      PetscScalar e[] = {v[i], r[i]};

      SpikeKrylovRow_bcgs_s(&f, e, NULL);
      g[i] = FROMRIGHT ? SpikeKrylovMul(b[i], e[1]) : e[1];
    });
    SpikeClusterMeetBlock(a);
    SpikeClusterProduct(a, place, g, sum);
    SpikeClusterRows<SPIKE_BCGS_OMEGA, false>(place, shared.sums + 2, [&](int h, PetscScalar dots[]) {
      PetscScalar s[] = {v[place.at[h]], r[place.at[h]]}, e[2];

      SpikeKrylovRow_bcgs_s(&f, s, NULL);
      e[0] = s[1];
      e[1] = t[h] = !FROMRIGHT && a.d ? SpikeKrylovMul(d[h], sum[h]) : sum[h];
      SpikeKrylovRow_bcgs_omega(&f, e, dots);
    });
    SpikeClusterMeet<SPIKE_BCGS_OMEGA, false, false>(a, place, shared, shared.sums + 2, NULL, phase++ & 1, false);
    if (shared.s.reason) {
      it++;
      break;
    }
    f = shared.s.f;
    SpikeClusterRows<SPIKE_BCGS_X, true>(place, shared.sums + 5, [&](int h, PetscScalar dots[]) {
      PetscScalar s[] = {v[place.at[h]], r[place.at[h]]}, e[5];

      SpikeKrylovRow_bcgs_s(&f, s, NULL);
      e[0] = p[place.at[h]];
      e[1] = t[h];
      e[2] = rp[h];
      e[3] = x[h];
      e[4] = s[1];
      SpikeKrylovRow_bcgs_x(&f, e, dots);
      x[h]           = e[3];
      r[place.at[h]] = e[4];
    });
    SpikeClusterMeet<SPIKE_BCGS_X, true, true>(a, place, shared, shared.sums + 5, r, phase++ & 1, it + 1 >= a.its);
  }
  if (phase) {
    SpikeClusterGive(place, x, a.v[0]);
    SpikeUnroll(h, 2) {
      if (!place.mine[h]) continue;
      a.v[1][place.row[h]]              = r[place.at[h]];
      a.v[it % 2 ? 4 : 3][place.row[h]] = v[place.at[h]];
      a.v[it % 2 ? 6 : 5][place.row[h]] = p[place.at[h]];
    }
  }
  SpikeClusterEnd(a, shared);
#endif
}

/* Spans: p, and z, which is r where B = I */
__global__ void __launch_bounds__(SPIKE_CLUSTER_THREADS, 1) SpikeClusterCG(const __grid_constant__ SpikeCluster a)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ SpikeClusterShared shared;
  SpikeClusterPlace             place;
  PetscScalar                  *spans, x[2], r[2], w[2], d[2];
  unsigned                      phase = 0;
  PetscInt                      it    = 0;

  if (!SpikeClusterBegin(a, shared, place, &spans)) return;
  PetscScalar *const p = spans, *const z = p + a.span;

  if (!shared.entry[1].end) SpikeClusterOpen<2>(a, place, {{a.v[3], a.v[a.d ? 2 : 1]}}, spans);
  SpikeClusterTake(place, a.v[0], x);
  SpikeClusterTake(place, a.v[1], r);
  SpikeClusterTake(place, a.d, d);
  SpikeClusterMeetBlock(a);
  for (; it < a.its && !shared.s.reason; it++) {
    SpikeKrylovFactors f = shared.s.f;

    if (shared.s.since) {
      SpikeClusterSpan(a, place, [&](int i) {
        PetscScalar e[] = {z[i], p[i]};

        SpikeKrylovRow_cg_p(&f, e, NULL);
        p[i] = e[1];
      });
      SpikeClusterMeetBlock(a);
    }
    SpikeClusterProduct(a, place, p, w);
    SpikeClusterRows<SPIKE_CG_ALPHA, false>(place, shared.sums, [&](int h, PetscScalar dots[]) {
      PetscScalar e[] = {p[place.at[h]], w[h]};

      SpikeKrylovRow_cg_alpha(&f, e, dots);
    });
    SpikeClusterMeet<SPIKE_CG_ALPHA, false, false>(a, place, shared, shared.sums, NULL, phase++ & 1, false);
    if (shared.s.reason) {
      it++;
      break;
    }
    f = shared.s.f;
    if (a.d) {
      SpikeClusterRows<SPIKE_CG_XZ, true>(place, shared.sums + 1, [&](int h, PetscScalar dots[]) {
        PetscScalar e[] = {p[place.at[h]], w[h], d[h], x[h], r[h], PetscScalar(0.0)};

        SpikeKrylovRow_cg_xz(&f, e, dots);
        x[h]           = e[3];
        r[h]           = e[4];
        z[place.at[h]] = e[5];
      });
      SpikeClusterMeet<SPIKE_CG_XZ, true, true>(a, place, shared, shared.sums + 1, z, phase++ & 1, it + 1 >= a.its);
    } else if (a.symmetric) {
      SpikeClusterRows<SPIKE_CG_BETA, true>(place, shared.sums + 1, [&](int h, PetscScalar dots[]) {
        PetscScalar e[] = {p[place.at[h]], w[h], x[h], r[h]}, q[2];

        SpikeKrylovRow_cg_x(&f, e, NULL);
        q[0] = q[1] = e[3];
        SpikeKrylovRow_cg_beta(&f, q, dots);
        x[h]           = e[2];
        z[place.at[h]] = r[h] = e[3];
      });
      SpikeClusterMeet<SPIKE_CG_BETA, true, true>(a, place, shared, shared.sums + 1, z, phase++ & 1, it + 1 >= a.its);
    } else {
      SpikeClusterRows<SPIKE_CG_XR, true>(place, shared.sums + 1, [&](int h, PetscScalar dots[]) {
        PetscScalar e[] = {p[place.at[h]], w[h], x[h], r[h]};

        SpikeKrylovRow_cg_xr(&f, e, dots);
        x[h]           = e[2];
        z[place.at[h]] = r[h] = e[3];
      });
      SpikeClusterMeet<SPIKE_CG_XR, true, true>(a, place, shared, shared.sums + 1, z, phase++ & 1, it + 1 >= a.its);
    }
  }
  if (phase) {
    SpikeClusterGive(place, x, a.v[0]);
    SpikeClusterGive(place, r, a.v[1]);
    SpikeUnroll(h, 2) {
      if (!place.mine[h]) continue;
      if (a.d) a.v[2][place.row[h]] = z[place.at[h]];
      a.v[it % 2 ? 5 : 3][place.row[h]] = p[place.at[h]];
    }
  }
  SpikeClusterEnd(a, shared);
#endif
}

/*
  Whether a cluster of which each thread block has `held` bytes of a matrix is expected to be faster than the whole
  device with all of them, `bytes`
*/
static bool SpikeClusterIsFaster(const SpikeDevice *gpu, size_t held, size_t bytes)
{
  return 2.0 * (double)held / SPIKE_CLUSTER_OWN <
         SPIKE_CLUSTER_SAVED + (double)bytes / (SPIKE_CLUSTER_CACHE * gpu->multiprocessors);
}

/*
  The order of sums is that of one round of each thread: a patch for a thread block of a product, eight for an update
*/
static bool SpikeClusterHasOrder(const SpikeKrylovCopyCUDA *c, PetscInt n, bool cg, const PetscInt parts[])
{
  const PetscInt product = cg ? parts[0] : PetscMin(parts[0], parts[1]), update = parts[cg ? 1 : 2];

  return c->dia.T == SPIKE_CLUSTER_LANES && !c->dia.begin && c->dia.end == n &&
         product * (SPIKE_KRYLOV_THREADS / SPIKE_CLUSTER_LANES) >= n &&
         update * SPIKE_KRYLOV_THREADS >= SpikeKrylovRounds(n, true);
}

/*
  Vectors are aligned for pairs. parts[]: thread blocks of the steps of an iteration in the lockstep loop. Few rows are
  spread over as many thread blocks as a cluster has, because products take most of the time; those without rows make
  their number a power of two
*/
PetscErrorCode SpikeKrylovCluster_CUDA(const SpikeKrylovCUDA *h, const SpikeKrylovCopyCUDA *c,
                                       const SpikeKrylovIterations *i, PetscInt its, const PetscInt parts[], bool *fits)
{
  const bool   cg = i->method == SPIKE_KRYLOV_CG, right = !cg && i->right && i->diagonal;
  const void  *kernel  = cg ? (const void *)SpikeClusterCG
                            : (right ? (const void *)SpikeClusterBCGS<true> : (const void *)SpikeClusterBCGS<false>);
  const int    patches = (int)PetscMin(((PetscInt64)i->n + SPIKE_CLUSTER_ROWS - 1) / SPIKE_CLUSTER_ROWS,
                                       (PetscInt64)SPIKE_CLUSTER_PATCHES + 1);
  SpikeCluster a;
  void        *arguments[] = {&a};

  PetscFunctionBegin;
  *fits = false;
  if (i->n < 1 || patches > SPIKE_CLUSTER_PATCHES || c->base.form != KSP_FUSED_SPMV_DIA || c->dia.count < 1 ||
      !SpikeClusterHasOrder(c, i->n, cg, parts))
    PetscFunctionReturn(PETSC_SUCCESS);
  a.m         = c->dia;
  a.its       = its;
  a.d         = i->diagonal;
  a.symmetric = i->symmetric ? true : false;
  a.device    = h->device;
  a.mail      = h->devicemail;
  a.patches   = patches;
  a.below     = PetscMax(0, -c->diaoffset[0]);
  a.above     = PetscMax(0, c->diaoffset[c->dia.count - 1]);
  for (int k = 0; k < SPIKE_KRYLOV_MAXDIAGONALS; k++) a.offset[k] = k < c->dia.count ? c->diaoffset[k] : 0;
  for (int k = 0; k < SPIKE_KRYLOV_MAXWORK; k++) a.v[k] = i->v[k];
  for (int most = SPIKE_CLUSTER_MOST; most > 1; most /= 2) {
    const int each = (patches + most - 1) / most, rows = SPIKE_CLUSTER_ROWS * each;
    size_t    held, shared;
    int       clusters, blocks = 2; /* one alone has no barrier of a cluster */

    if (each > SPIKE_CLUSTER_WARPS) break;
    while (blocks * each < patches) blocks *= 2;
    a.each       = each;
    a.reciprocal = (65536 + each - 1) / each;
    a.workers    = PetscMax(each, SPIKE_CLUSTER_HELPERS);
    a.span       = a.below + rows + a.above;
    held         = sizeof(PetscScalar) * c->dia.count * rows;
    shared       = held + sizeof(PetscScalar) * (cg ? 2 : (right ? 5 : 4)) * a.span;
    if (i->type != KSP_FUSED_PERSISTENT_CLUSTER &&
        !SpikeClusterIsFaster(h->gpu, held, sizeof(PetscScalar) * c->dia.count * (size_t)i->n))
      break;
    PetscCall(SpikeKernelCluster(kernel, blocks, 32 * (a.workers + 1), shared, &clusters));
    if (clusters) {
      *fits = true;
      PetscCall(SpikeLaunchCluster(kernel, 1, blocks, 32 * (a.workers + 1), shared, h->stream, arguments));
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
