/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudakrylovbasis.cu: basis steps on the device against the host: vectors, sums, recurrences, posts,
  guards, two runs with the same bits
*/
static char help[] = "Basis steps of Krylov methods on the device against the host.\n\n";

#include <petscdevice_cuda.h>
#include "kernels/krylov/krylov.h"
#include "narrowcase.h"

#define NARROWSHADOW PetscDefined(USE_REAL_DOUBLE)
#define GUARD        4
#define MAXBASIS     17
#define SINGLES      7 /* x y z r q p, and the y of a COMBINE after another step */
#define ALLVECTORS   (4 * MAXBASIS + SINGLES)

static PetscInt failures = 0, checks = 0;

static void Check(bool ok, const char where[], PetscInt n, PetscInt m, const char what[])
{
  checks++;
  if (ok) return;
  if (++failures <= 20) printf("# %s, n %ld, m %ld: %s\n", where, (long)n, (long)m, what);
}

static PetscScalar NumberAt(PetscInt seed, PetscInt i)
{
  const PetscReal a = (PetscReal)((seed * 7919 + i % 9973 * 104729 + i / 9973 + 13) % 10007) / 5003.5 - 1.0,
                  b = (PetscReal)((seed * 6007 + i % 9973 * 92821 + 5) % 10009) / 5004.5 - 1.0;

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(a, b);
#else
  return a + 0.25 * b;
#endif
}

/*
  Vectors on both sides, NaN around them, and values to begin with on the device. The first columns are A, then B, E, F;
  then come the singles
*/
typedef struct {
  PetscInt     n, offset, size, count;
  PetscScalar *host[ALLVECTORS], *begin[ALLVECTORS], *device[ALLVECTORS], *got;
} Vectors;

static PetscErrorCode MakeVectors(PetscInt n, PetscInt offset, PetscInt m, Vectors *v)
{
  PetscReal nan = 0.0;

  PetscFunctionBegin;
  nan /= nan;
  v->n      = n;
  v->offset = GUARD + offset;
  v->size   = n + 2 * GUARD + 2;
  v->count  = 4 * m + SINGLES;
  for (PetscInt k = 0; k < v->count; k++) {
    PetscCall(PetscMalloc1(v->size, &v->host[k]));
    PetscCallCUDA(cudaMalloc((void **)&v->begin[k], v->size * sizeof(PetscScalar)));
    PetscCallCUDA(cudaMalloc((void **)&v->device[k], v->size * sizeof(PetscScalar)));
    for (PetscInt i = 0; i < v->size; i++)
      v->host[k][i] = i >= v->offset && i < v->offset + n ? NumberAt(k, i) : PetscScalar(nan);
    PetscCallCUDA(cudaMemcpy(v->begin[k], v->host[k], v->size * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  }
  PetscCall(PetscMalloc1(v->size, &v->got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyVectors(Vectors *v)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < v->count; k++) {
    PetscCall(PetscFree(v->host[k]));
    PetscCallCUDA(cudaFree(v->begin[k]));
    PetscCallCUDA(cudaFree(v->device[k]));
  }
  PetscCall(PetscFree(v->got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a case is: a step on m columns, variants of it, and a COMBINE after it on m2 columns, or -1 */
typedef struct {
  SpikeKrylovBasisStep step;
  PetscInt             m, m2;
  bool                 z, x, q, over;
  char                 without; /* COMBINE: 'A' or 'B', and with 'B' a */
} Case;

/* The block over one side's vectors: columns are counted from `first` on, as a method does it */
static void MakeBlocks(const Case *c, PetscInt n, PetscInt offset, PetscInt most, PetscScalar *const v[],
                       PetscScalar **const columns[4], PetscScalar *small, SpikeKrylovBasis *b,
                       SpikeKrylovBasis *combine)
{
  PetscScalar *single[SINGLES];

  for (PetscInt k = 0; k < 4; k++)
    for (PetscInt j = 0; j < most; j++) columns[k][j] = v[k * most + j] + offset;
  for (PetscInt k = 0; k < SINGLES; k++) single[k] = v[4 * most + k] + offset;
  memset((void *)b, 0, sizeof(*b));
  memset((void *)combine, 0, sizeof(*combine));
  b->n     = n;
  b->first = most - c->m;
  b->last  = most;
  b->A     = columns[0];
  b->B     = columns[1];
  b->c     = small;
  b->a     = small + 2 * MAXBASIS;
  b->y     = single[1];
  if (c->step == SPIKE_KRYLOV_DOTS) b->z = c->z ? single[2] : NULL;
  else if (c->step == SPIKE_KRYLOV_COMBINE) {
    b->r = single[3];
    if (c->over && c->m) b->y = columns[1][b->first];
    if (c->without == 'A') b->A = NULL;
    if (c->without == 'B') {
      b->B = NULL;
      b->a = NULL;
    }
  } else {
    b->x = c->x ? single[0] : NULL;
    b->z = single[2];
    b->r = c->x ? single[3] : NULL;
    b->q = c->q ? single[4] : NULL;
    b->p = c->q ? single[5] : NULL;
    b->g = small + 2 * MAXBASIS + 2;
    if (c->step == SPIKE_KRYLOV_UPDATE && c->x && !c->m && c->over) b->y = b->r;
    if (c->step == SPIKE_KRYLOV_SMOOTH) b->y = b->z = NULL;
  }
  combine->n     = n;
  combine->first = most - PetscMax(c->m2, 0);
  combine->last  = most;
  combine->A     = columns[2];
  combine->B     = columns[3];
  combine->c     = small + MAXBASIS;
  combine->a     = small + 2 * MAXBASIS + 1;
  combine->r     = single[3];
  combine->y     = c->m2 > 0 && c->over ? columns[3][combine->first] : single[6];
}

static PetscErrorCode TestCase(SpikeKrylov *host, SpikeKrylov *cuda, Vectors *v, PetscInt most, const Case *c)
{
  static const char *names[]          = {"dots", "combine", "update", "smooth"};
  const char        *name             = c->m2 < 0 ? names[c->step] : "update with combine";
  const PetscInt     nsums            = SpikeKrylovBasisSums(c->step, c->m, c->z ? PETSC_TRUE : PETSC_FALSE,
                                              c->q ? PETSC_TRUE : PETSC_FALSE),
                 n                    = v->n;
  const SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0}; /* the host does not make it */
  const bool               has        = c->step == SPIKE_KRYLOV_DOTS || c->step == SPIKE_KRYLOV_SMOOTH ||
                   (c->step == SPIKE_KRYLOV_UPDATE && c->x);
  const PetscReal  grows = (PetscReal)((c->m + 2) * (c->m + 2)) * (PetscMax(c->m2, 0) + 2) * (PetscMax(c->m2, 0) + 2);
  PetscScalar    **columns[4], *pointers[4 * MAXBASIS], sums[MAXBASIS + 4], first[MAXBASIS + 4], theirs[MAXBASIS + 4];
  SpikeKrylovBasis b, combine;

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) columns[k] = pointers + k * MAXBASIS;
  for (int m = 0; m < 2; m++) {
    PetscScalar *small = (m ? cuda : host)->hostsmall;

    for (PetscInt i = 0; i < 2 * MAXBASIS + 3; i++) small[i] = NumberAt(90, i);
  }
  PetscCall((*cuda->k->basispush)(cuda));
  for (int run = 0; run < 2; run++) {
    for (PetscInt k = 0; k < v->count; k++)
      PetscCallCUDA(cudaMemcpy(v->device[k], v->begin[k], v->size * sizeof(PetscScalar), cudaMemcpyDeviceToDevice));
    MakeBlocks(c, n, v->offset, most, v->device, columns, cuda->small, &b, &combine);
    PetscCall((*cuda->k->basisstep)(cuda, c->step, &b, c->m2 < 0 ? NULL : &combine, has ? &recurrence : NULL));
    if (has) PetscCall((*cuda->k->basissums)(cuda, nsums, sums));
    if (run && has) Check(!memcmp(first, sums, nsums * sizeof(PetscScalar)), name, n, c->m, "sums of two runs differ");
    for (PetscInt k = 0; k < nsums; k++) first[k] = sums[k];
  }
  MakeBlocks(c, n, v->offset, most, v->host, columns, host->small, &b, &combine);
  PetscCall((*host->k->basisstep)(host, c->step, &b, c->m2 < 0 ? NULL : &combine, &recurrence));
  PetscCall((*host->k->basissums)(host, nsums, theirs));
  for (PetscInt k = 0; has && k < nsums; k++)
    Check(PetscAbsScalar(theirs[k] - sums[k]) <= 64 * PETSC_MACHINE_EPSILON * grows * (1.0 + n), name, n, c->m,
          "a sum differs");
  for (PetscInt k = 0; k < v->count; k++) {
    bool           guards = true, values = true, same = true;
    const PetscInt begin = v->offset, end = v->offset + n;

    PetscCallCUDA(cudaMemcpy(v->got, v->device[k], v->size * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    for (PetscInt i = 0; i < v->size; i++) {
      if (i < begin || i >= end) guards = guards && PetscIsNanScalar(v->got[i]);
      else {
        values = values && PetscAbsScalar(v->got[i] - v->host[k][i]) <= 8 * PETSC_MACHINE_EPSILON * grows;
        same   = same && v->host[k][i] == NumberAt(k, i);
      }
    }
    Check(guards, name, n, c->m, "a guard was overwritten");
    Check(values, name, n, c->m, "a vector differs");
    for (PetscInt i = begin; !same && i < end; i++) v->host[k][i] = NumberAt(k, i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps on `most` columns and less; with few: as a method with s = most has them, else each number of columns */
static PetscErrorCode TestSteps(SpikeKrylov *host, SpikeKrylov *cuda, PetscInt n, PetscInt offset, PetscInt most,
                                bool few)
{
  Vectors v;

  PetscFunctionBegin;
  PetscCall(MakeVectors(n, offset, most, &v));
  for (PetscInt m = few ? most : 0; m <= most; m++)
    for (int variant = 0; variant < 2; variant++) {
      const bool on      = variant ? true : false;
      const Case cases[] = {{SPIKE_KRYLOV_DOTS, m, -1, on, false, false, false},
                            {SPIKE_KRYLOV_COMBINE, m, -1, false, false, false, on},
                            {SPIKE_KRYLOV_COMBINE, m, -1, false, false, false, on, 'A'},
                            {SPIKE_KRYLOV_COMBINE, m, -1, false, false, false, false, 'B'},
                            {SPIKE_KRYLOV_UPDATE, m, -1, true, false, false, false},
                            {SPIKE_KRYLOV_UPDATE, m, -1, true, true, false, on},
                            {SPIKE_KRYLOV_UPDATE, m, -1, true, true, true, on}};

      for (const Case &c : cases) PetscCall(TestCase(host, cuda, &v, most, &c));
    }
  /* step k of a cycle, with the combination of the next; in the first cycle without columns */
  for (PetscInt k = 0; k < most; k++) {
    const Case steady   = {SPIKE_KRYLOV_UPDATE, k, most - 1 - k, true, true, false, k < most - 1},
               begin    = {SPIKE_KRYLOV_UPDATE, k, 0, true, true, false, false},
               smoothed = {SPIKE_KRYLOV_UPDATE, k, most - 1 - k, true, true, true, k < most - 1};

    PetscCall(TestCase(host, cuda, &v, most, &steady));
    PetscCall(TestCase(host, cuda, &v, most, &smoothed));
    if (!few) PetscCall(TestCase(host, cuda, &v, most, &begin));
  }
  const Case omega  = {SPIKE_KRYLOV_UPDATE, 0, most, true, true, false, true},
             smooth = {SPIKE_KRYLOV_SMOOTH, 0, -1, false, true, true, false};

  PetscCall(TestCase(host, cuda, &v, most, &omega));
  PetscCall(TestCase(host, cuda, &v, most, &smooth));
  PetscCall(DestroyVectors(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DOTS of narrow vectors, with NaN around each: sums, and their bits in two runs. With an offset y begins where a thread
  takes one row at a time
*/
static PetscErrorCode TestNarrow(SpikeKrylov *host, SpikeKrylov *cuda, PetscInt n, PetscInt m, PetscInt offset)
{
  const SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0}; /* the host does not make it */
  const PetscInt           size = n + 2 * GUARD, count = m + 2, begin = GUARD + offset;
  PetscScalar             *v, *dv, *plain, *A[MAXBASIS], *dA[MAXBASIS];
  PetscScalar              sums[2][MAXBASIS + 3], theirs[MAXBASIS + 3];

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count * size, &v, n, &plain));
  PetscCallCUDA(cudaMalloc((void **)&dv, count * size * sizeof(*dv)));
  memset(v, 0xff, count * size * sizeof(*v)); /* NaN in both types */
  for (PetscInt k = 0; k < count; k++) {
    for (PetscInt i = 0; i < n; i++) plain[i] = NumberAt(k, i);
    if (k < m) PetscCall((*host->k->toshadow)(n, plain, v + k * size + begin));
    else if (n) memcpy(v + k * size + begin, plain, n * sizeof(*v));
  }
  PetscCallCUDA(cudaMemcpy(dv, v, count * size * sizeof(*v), cudaMemcpyHostToDevice));
  for (PetscInt k = 0; k < m; k++) {
    A[k]  = v + k * size + begin;
    dA[k] = dv + k * size + begin;
  }
  for (int z = 0; z < 2; z++) {
    const PetscInt   nsums = m + (z ? 3 : 1);
    SpikeKrylovBasis b, db;

    memset((void *)&b, 0, sizeof(b));
    b.n      = n;
    b.last   = m;
    b.narrow = PETSC_TRUE;
    db       = b;
    b.A      = A;
    b.y      = v + m * size + begin;
    b.z      = z ? b.y + size : NULL;
    db.A     = dA;
    db.y     = dv + m * size + begin;
    db.z     = z ? db.y + size : NULL;
    for (int run = 0; run < 2; run++) {
      PetscCall((*cuda->k->basisstep)(cuda, SPIKE_KRYLOV_DOTS, &db, NULL, &recurrence));
      PetscCall((*cuda->k->basissums)(cuda, nsums, sums[run]));
    }
    PetscCall((*host->k->basisstep)(host, SPIKE_KRYLOV_DOTS, &b, NULL, &recurrence));
    PetscCall((*host->k->basissums)(host, nsums, theirs));
    Check(!memcmp(sums[0], sums[1], nsums * sizeof(PetscScalar)), "narrow dots", n, m, "sums of two runs differ");
    for (PetscInt k = 0; k < nsums; k++)
      Check(PetscAbsScalar(theirs[k] - sums[0][k]) <= 64 * PETSC_MACHINE_EPSILON * (1.0 + n), "narrow dots", n, m,
            "a sum differs");
  }
  PetscCallCUDA(cudaFree(dv));
  PetscCall(PetscFree2(v, plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The recurrences in the last block of a kernel are those of the host: the sums of a cycle, the scalars compared after
  each, posts; then a test that holds, and nothing happens after it. G is near P, so that M is well conditioned.
*/
static PetscErrorCode TestRecurrences(SpikeKrylov *cuda, SpikeKrylov *ondevice, PetscInt n, PetscInt s)
{
  const PetscInt     small = SpikeIDRSize(s);
  SpikeKrylovScalars scalars;
  SpikeKrylovPost    post;
  PetscScalar       *p, *g, *dp, *dg, *P[MAXBASIS], *got, *ours, sums[MAXBASIS + 3];
  SpikeIDR           d;
  bool               same;

  PetscFunctionBegin;
  PetscCall((*ondevice->k->basiscreate)(ondevice, s, small));
  PetscCall(PetscMalloc4(s * n, &p, (s + 1) * n, &g, small, &got, small, &ours));
  PetscCallCUDA(cudaMalloc((void **)&dp, s * n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dg, (s + 1) * n * sizeof(PetscScalar)));
  for (PetscInt k = 0; k < s; k++) {
    P[k] = dp + k * n;
    for (PetscInt i = 0; i < n; i++) p[k * n + i] = SpikeIDRShadow(i, k, 0);
    for (PetscInt i = 0; i < n; i++) g[k * n + i] = p[k * n + i] + (PetscReal)0.1 * NumberAt(k, i);
  }
  for (PetscInt i = 0; i < n; i++) g[s * n + i] = NumberAt(99, i);
  PetscCallCUDA(cudaMemcpy(dp, p, s * n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(dg, g, (s + 1) * n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscCall(PetscMemzero(ondevice->scalars, sizeof(scalars)));
  PetscCall(PetscMemzero(&scalars, sizeof(scalars)));
  ondevice->scalars->it = scalars.it = 3;
  PetscCall((*ondevice->k->push)(ondevice, PETSC_FALSE));
  for (PetscInt i = 0; i < small; i++) ours[i] = 0.0;
  d = SpikeIDRLayout(s, ondevice->small);
  /* shadow vector, start, a column each, omega, norm, and a norm that meets the test */
  for (PetscInt k = -2; k < s + 3; k++) {
    SpikeKrylovBasis b = {n,    0,    s,   P, NULL, NULL, NULL, NULL, dg + (k < 0 || k > s ? s : PetscMin(k, s)) * n,
                          NULL, NULL, NULL};
    SpikeKrylovBasisStep step = SPIKE_KRYLOV_DOTS;
    SpikeIDRRecurrence   e    = {k < -1  ? SPIKE_IDR_SHADOW
                                 : k < 0 ? SPIKE_IDR_START
                                         : (k < s ? SPIKE_IDR_COLUMN : (k == s ? SPIKE_IDR_OMEGA : SPIKE_IDR_RESIDUAL)),
                            s,
                            k < s ? PetscMax(k, 0) : 0,
                            0,
                            k > s ? 1 : s,
                            0.7};
    const PetscInt nsums = s + (k == s ? 3 : 1);

    if (k == s) b.z = dg;
    if (k == s + 2) {
      ondevice->scalars->t.test = scalars.t.test = SPIKE_KRYLOV_TEST_DEFAULT;
      ondevice->scalars->t.norm = scalars.t.norm = KSP_NORM_UNPRECONDITIONED;
      ondevice->scalars->t.ttol = scalars.t.ttol = PETSC_MAX_REAL;
      PetscCall((*ondevice->k->push)(ondevice, PETSC_TRUE));
    }
    PetscCall((*ondevice->k->basisstep)(ondevice, step, &b, NULL, &e));
    PetscCall((*cuda->k->basisstep)(cuda, step, &b, NULL, &e));
    PetscCall((*cuda->k->basissums)(cuda, nsums, sums));
    if (SpikeIDRRecur(&e, &scalars, ours, sums)) {
      PetscCall((*ondevice->k->wait)(ondevice, &post));
      Check(post.it == scalars.it && post.reason == scalars.reason &&
              PetscAbsReal(post.norm - scalars.norm) <= 4 * PETSC_MACHINE_EPSILON * scalars.norm,
            "recurrences", n, s, "a post differs");
    }
    PetscCallCUDA(cudaMemcpy(got, ondevice->small, small * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    same = true;
    for (PetscInt i = 0; i < small; i++)
      same = same && PetscAbsScalar(got[i] - ours[i]) <= 1e5 * PETSC_MACHINE_EPSILON * (1.0 + PetscAbsScalar(ours[i]));
    Check(same, "recurrences", n, k, "the scalars differ");
  }
  Check(scalars.reason == KSP_CONVERGED_RTOL, "recurrences", n, s, "the test does not test");
  {
    SpikeKrylovBasis move = {n, 0, 0, NULL, NULL, NULL, d.omega, dg, dp, dp, dg, NULL};

    PetscCall((*ondevice->k->basisstep)(ondevice, SPIKE_KRYLOV_UPDATE, &move, NULL, NULL));
    PetscCallCUDA(cudaMemcpy(g + n, dg, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    same = true;
    for (PetscInt i = 0; i < n; i++)
      same = same && g[n + i] == SpikeIDRShadow(i, 0, 0) + (PetscReal)0.1 * NumberAt(0, i);
    Check(same, "recurrences", n, s, "a step after a reason did something");
  }
  PetscCall(PetscFree4(p, g, got, ours));
  PetscCallCUDA(cudaFree(dp));
  PetscCallCUDA(cudaFree(dg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y = A x of the copy with the DOTS of y after it, against the product alone and the host's sums; rows of different
  lengths
*/
static PetscErrorCode TestMult(SpikeKrylov *host, SpikeKrylov *cuda, PetscInt n, PetscInt width, PetscInt m,
                               KSPFusedSpMVType form)
{
  const SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0};
  PetscInt                *ai, *aj, *dai, *daj, nz = 0;
  PetscScalar *aa, *low, *daa, *v, *dv, *y, *dy, *A[MAXBASIS], *dA[MAXBASIS], sums[MAXBASIS + 3], theirs[MAXBASIS + 3];
  SpikeKrylovCSR csr;
  void          *copy = NULL, *narrow[] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(PetscMalloc6(n + 1, &ai, n * width, &aj, n * width, &aa, n * width, &low, (MAXBASIS + 2) * n, &v, n, &y));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt length = PetscMin(n, i % 97 == 5 ? 0 : width - (i % 7 == 3 ? 1 : 0));

    for (PetscInt k = 0; k < length; k++) {
      aj[nz]   = (i + k * (k + 3)) % n;
      aa[nz++] = NumberAt(31, i + 7 * k);
    }
    ai[i + 1] = nz;
  }
  for (PetscInt i = 0; i < (MAXBASIS + 2) * n; i++) v[i] = NumberAt(30, i);
  PetscCallCUDA(cudaMalloc((void **)&dai, (n + 1) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daj, (nz + 1) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daa, (nz + 1) * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dv, (MAXBASIS + 2) * n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dy, n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemcpy(dai, ai, (n + 1) * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(daj, aj, nz * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(daa, aa, nz * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(dv, v, (MAXBASIS + 2) * n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  csr.n  = n;
  csr.nz = nz;
  csr.ai = dai;
  csr.aj = daj;
  csr.aa = daa;
  PetscCall((*cuda->k->copy)(cuda, &csr, form, &copy));
  Check(copy != NULL, "product", n, m, "no copy");
  for (PetscInt k = 0; k < MAXBASIS; k++) {
    A[k]  = v + (k + 2) * n;
    dA[k] = dv + (k + 2) * n;
  }
  for (PetscSpikePrecision p : {PETSC_SPIKE_PRECISION_SINGLE, PETSC_SPIKE_PRECISION_BF16}) {
    if (copy) PetscCall((*cuda->k->narrow)(cuda, copy, p, PETSC_TRUE, &narrow[p]));
    Check(!copy || (narrow[p] != NULL) == NarrowExists(p), "product", n, m, "narrow copy");
  }
  for (PetscInt zp = 0; copy && zp < 9; zp++) { /* without, of another vector, of x */
    const PetscInt            z    = zp % 3;
    const PetscSpikePrecision p    = (PetscSpikePrecision)(zp / 3);
    const void               *used = p == PETSC_SPIKE_PRECISION_DOUBLE ? copy : narrow[p];
    SpikeKrylovBasis db   = {n, 0, m, dA, NULL, NULL, NULL, NULL, dy, z ? dv + (z == 1 ? n : 0) : NULL, NULL, NULL};
    SpikeKrylovBasis b    = {n, 0, m, A, NULL, NULL, NULL, NULL, y, z ? v + (z == 1 ? n : 0) : NULL, NULL, NULL};
    bool             good = true;

    if (!used) continue;
    db.narrow = b.narrow = p && NARROWSHADOW ? PETSC_TRUE : PETSC_FALSE;
    for (PetscInt k = 0; b.narrow && p == PETSC_SPIKE_PRECISION_SINGLE && !z && k < m; k++) { /* from now on */
      PetscCall(PetscArraycpy(y, A[k], n));
      PetscCall((*host->k->toshadow)(n, y, A[k]));
      PetscCallCUDA(cudaMemcpy(dA[k], A[k], NarrowBytes(n), cudaMemcpyHostToDevice));
    }
    if (p && !z) NarrowNumbers(p, nz, aa, low);
    PetscCallCUDA(cudaMemset(dy, 0xff, n * sizeof(PetscScalar)));
    PetscCall((*cuda->k->basismult)(cuda, used, dv, &db, &recurrence));
    PetscCall((*cuda->k->basissums)(cuda, m + (z ? 3 : 1), sums));
    PetscCallCUDA(cudaMemcpy(y, dy, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    for (PetscInt i = 0; i < n; i++) {
      PetscScalar sum = 0.0;
      PetscReal   size, slack = 0.0;

      if (p) sum = NarrowRow(i, ai[i], ai[i + 1], aj, aa, low, v, &size, &slack);
      else
        for (PetscInt l = ai[i]; l < ai[i + 1]; l++) sum += aa[l] * v[aj[l]];
      good = good && PetscAbsScalar(sum - y[i]) <= 8 * (width + 2) * PETSC_MACHINE_EPSILON + slack;
    }
    Check(good, "product", n, m, "a product differs");
    PetscCall((*host->k->basisstep)(host, SPIKE_KRYLOV_DOTS, &b, NULL, NULL));
    PetscCall((*host->k->basissums)(host, m + (z ? 3 : 1), theirs));
    for (PetscInt k = 0; k < m + (z ? 3 : 1); k++)
      Check(PetscAbsScalar(sums[k] - theirs[k]) <= 64 * PETSC_MACHINE_EPSILON * width * width * (1.0 + n), "product", n,
            m, "a sum after a product differs");
  }
  for (void *&low : narrow)
    if (low) PetscCall((*cuda->k->destroycopy)(cuda, &low));
  PetscCall((*cuda->k->destroycopy)(cuda, &copy));
  PetscCallCUDA(cudaFree(dai));
  PetscCallCUDA(cudaFree(daj));
  PetscCallCUDA(cudaFree(daa));
  PetscCallCUDA(cudaFree(dv));
  PetscCallCUDA(cudaFree(dy));
  PetscCall(PetscFree6(ai, aj, aa, low, v, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of the shadow space, to the last bit */
static PetscErrorCode TestShadow(SpikeKrylov *host, SpikeKrylov *cuda, PetscInt n, PetscInt start)
{
  PetscScalar *p, *got, *d, *low;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &p, n, &got));
  PetscCallCUDA(cudaMalloc((void **)&d, (n + 1) * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&low, (n + 1) * sizeof(PetscScalar)));
  for (PetscInt k = 0; k < 3; k++) {
    PetscCall((*host->k->shadow)(n, start, 5 * k, k, p));
    PetscCall((*cuda->k->shadow)(n, start, 5 * k, k, d));
    PetscCallCUDA(cudaMemcpy(got, d, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    Check(!n || !memcmp(p, got, n * sizeof(PetscScalar)), "shadow", n, k, "numbers differ");
    PetscCall((*cuda->k->toshadow)(n, d, low));
    PetscCall((*host->k->toshadow)(n, p, got));
    PetscCallCUDA(cudaMemcpy(p, low, NarrowBytes(n), cudaMemcpyDeviceToHost));
    Check(!n || !memcmp(p, got, NarrowBytes(n)), "shadow", n, k, "narrow numbers differ");
  }
  PetscCall(PetscFree2(p, got));
  PetscCallCUDA(cudaFree(d));
  PetscCallCUDA(cudaFree(low));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SpikeKrylov  host, cuda, ondevice;
  SpikeKrylov *states[] = {&host, &cuda, &ondevice};
  int          count = 0, line = 0;
  PetscInt     before;
  PetscBool    small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    (void)cudaGetLastError();
    printf("ok 1 - CUDA basis steps # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscMemzero(states[k], sizeof(**states)));
    states[k]->k        = k ? &SpikeKrylovKernels_CUDA : &SpikeKrylovKernels_Host;
    states[k]->ondevice = k == 2 ? PETSC_TRUE : PETSC_FALSE;
    PetscCall((*states[k]->k->create)(states[k]));
    PetscCall(PetscMemzero(states[k]->scalars, sizeof(*states[k]->scalars)));
    PetscCall((*states[k]->k->push)(states[k], PETSC_FALSE));
    PetscCall((*states[k]->k->basiscreate)(states[k], MAXBASIS, SpikeIDRSize(MAXBASIS)));
  }
#define Line(what) printf("%s %d - cuda block %s\n", failures > before ? "not ok" : "ok", ++line, what)
  before = failures;
  for (PetscInt n : {0, 1, 3, 511, 513, 1025, 4099}) {
    if (small && n > 600) break;
    for (PetscInt s : {1, 2, 4, 8, 17})
      for (PetscInt offset = 0; offset < 2; offset++)
        PetscCall(TestSteps(&host, &cuda, n, offset, s, small ? true : false));
  }
  Line("steps");
  before = failures;
  for (PetscInt s = 1; s <= MAXBASIS; s++) PetscCall(TestSteps(&host, &cuda, 777, s % 2, s, true));
  for (PetscInt s : {1, 2, 4, 8, 17})
    for (PetscInt n : {100001, 1000001})
      if (!small) PetscCall(TestSteps(&host, &cuda, n, 0, s, true));
  Line("steps on many rows");
  before = failures;
  for (PetscInt n : {0, 1, 2, 3, 4, 5, 511, 1026, 4099, 100003})
    for (PetscInt m = 0; m <= MAXBASIS; m++)
      for (PetscInt offset = 0; offset < (NARROWSHADOW && (!small || n < 600) ? 2 : 0); offset++)
        PetscCall(TestNarrow(&host, &cuda, n, m, offset));
  Line("inner products with narrow vectors");
  before = failures;
  for (PetscInt s = 1; s <= MAXBASIS; s += small ? 4 : 1)
    for (PetscInt n : {1000, 30001}) PetscCall(TestRecurrences(&cuda, &ondevice, n, s));
  Line("recurrences and posts");
  before = failures;
  for (PetscInt m : {0, 1, 2, 3, 4, 8, 17})
    for (PetscInt n : {1, 33, 5001, 500003}) {
      if (small && n > 100) break;
      for (PetscInt width : {3, 9}) {
        PetscCall(TestMult(&host, &cuda, n, width, m, KSP_FUSED_SPMV_SELL));
        /* smaller ones have entries twice */
        if (n > 100) PetscCall(TestMult(&host, &cuda, n, width, m, KSP_FUSED_SPMV_DIA));
      }
    }
  Line("products with inner products");
  before = failures;
  for (PetscInt n : {0, 1, 257, 70001}) PetscCall(TestShadow(&host, &cuda, n, 1000 * n));
  Line("shadow vectors");
  printf("1..%d # %ld checks\n", line, (long)checks);
  for (int k = 0; k < 3; k++) PetscCall((*states[k]->k->destroy)(states[k]));
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
