/* SPDX-License-Identifier: BSD-2-Clause */
/*
  cudakrylov.cu: each step of the fused Krylov methods on the device against the host: vectors, sums, scalars, guards,
  two runs with the same bits
*/
static char help[] = "Krylov steps on the device against the host.\n\
  -share <k,m> : every m-th case from case k on, for memory checkers, which take minutes for all\n\
  -small       : few sizes, for memory checkers\n\n";

#include <petscdevice_cuda.h>
#include "kernels/krylov/krylov.h"
#include "narrowcase.h"
#include "pieces.h"
#include "random.h"
#include "share.h"
#include <vector>

#define GUARD 4
#define MANY  1000000 /* rows of a matrix that have the shorter test */

static PetscInt failures = 0, checks = 0;

static void Check(bool ok, const char step[], PetscInt n, const char what[])
{
  checks++;
  if (ok) return;
  if (++failures <= 20) printf("# %s, n %ld: %s\n", step, (long)n, what);
}

/* Sizes of a test, with -small the first ones alone */
static std::vector<PetscInt> Sizes(bool small, std::vector<PetscInt> first, const std::vector<PetscInt> &others)
{
  if (!small) first.insert(first.end(), others.begin(), others.end());
  return first;
}

static PetscErrorCode ThereAgain(const void *from, size_t bytes, void *there)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(there, from, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PutThere(const void *from, size_t bytes, void **there)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(there, bytes));
  PetscCall(ThereAgain(from, bytes, *there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetHere(const void *there, size_t bytes, void *to)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpy(to, there, bytes, cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Gone(void *there)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define OffCheck(ok, where, what) Check((ok) ? true : false, where, 0, what)
static PetscErrorCode OffCount(SpikeKrylov *, const void *, const PetscScalar *, const SpikeKrylovBasis *,
                               const SpikeIDRRecurrence *, const char[]);
#include "offcase.h"

/*
  A product with 1, 2, 4 or 8 inner products has as many kernels as the product alone, with others one more. They go
  into a graph that nobody runs
*/
static PetscErrorCode OffCount(SpikeKrylov *s, const void *copy, const PetscScalar *x, const SpikeKrylovBasis *b,
                               const SpikeIDRRecurrence *recurrence, const char where[])
{
  const PetscInt m = b->last - b->first;
  size_t         count[2];

  PetscFunctionBegin;
  offidle = PETSC_TRUE;
  for (int k = 0; k < 2; k++) {
    cudaStreamCaptureStatus status;
    cudaGraph_t             captured = NULL;
    void                   *graph    = NULL;

    PetscCall((*s->k->capture)(s, PETSC_TRUE, &graph));
    if (k) PetscCall((*s->k->basismult)(s, copy, x, b, recurrence));
    else PetscCall((*s->k->mult)(s, copy, SPIKE_KRYLOV_NSTEPS, NULL, x, b->y, NULL));
#if CUDART_VERSION < 13000
    PetscCallCUDA(cudaStreamGetCaptureInfo_v2((cudaStream_t)(*s->k->stream)(s), &status, NULL, &captured, NULL, NULL));
#else
    PetscCallCUDA(
      cudaStreamGetCaptureInfo((cudaStream_t)(*s->k->stream)(s), &status, NULL, &captured, NULL, NULL, NULL));
#endif
    PetscCallCUDA(cudaGraphGetNodes(captured, NULL, &count[k]));
    PetscCall((*s->k->capture)(s, PETSC_FALSE, &graph));
    PetscCall((*s->k->destroygraph)(s, &graph));
  }
  offidle = PETSC_FALSE;
  OffCheck(count[1] == count[0] + (m == 1 || m == 2 || m == 4 || m == 8 ? 0 : 1), where,
           "kernels of a product with inner products");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  offset: elements by which the vectors miss the alignment of pairs. single: the diagonal matrix of the step has single
  precision on the device; on the host it is rounded
*/
static PetscErrorCode TestStep(SpikeKrylov *host, SpikeKrylov *cuda, SpikeKrylovStep step, PetscInt n, PetscInt offset,
                               bool single)
{
  const SpikeKrylovStepInfo *info     = &SpikeKrylovSteps[step];
  const PetscInt             diagonal = single ? SpikeKrylovDiagonal(step) : -1;
  const PetscInt             size     = n + 2 * GUARD + 2;
  PetscScalar               *a[SPIKE_KRYLOV_MAXVECTORS], *b[SPIKE_KRYLOV_MAXVECTORS], *d[SPIKE_KRYLOV_MAXVECTORS],
    *v[SPIKE_KRYLOV_MAXVECTORS], first[SPIKE_KRYLOV_MAXDOTS], wanted[SPIKE_KRYLOV_MAXDOTS] = {0.0};
  PetscReal nan = 0.0;

  PetscFunctionBegin;
  nan /= nan;
  for (PetscInt k = 0; k < info->nvectors; k++) {
    PetscCall(PetscMalloc2(size, &a[k], size, &b[k]));
    PetscCallCUDA(cudaMalloc((void **)&d[k], size * sizeof(PetscScalar)));
  }
  for (PetscInt run = 0; run < 2; run++) {
    for (PetscInt k = 0; k < info->nvectors; k++) {
      for (PetscInt i = 0; i < size; i++) {
        const bool inside = i >= GUARD + offset && i < GUARD + offset + n;

        a[k][i] = inside && ((info->read >> k) & 1) ? NumberAt(k, i) : PetscScalar(nan);
      }
      v[k] = a[k] + GUARD + offset;
      PetscCall(PetscArraycpy(b[k], a[k], size));
      if (k == diagonal) {
        NarrowNumbers(PETSC_SPIKE_PRECISION_SINGLE, n, v[k], v[k]);
        NarrowDiagonal(n, v[k], (float *)(b[k] + GUARD + offset));
      }
      PetscCallCUDA(cudaMemcpy(d[k], b[k], size * sizeof(PetscScalar), cudaMemcpyHostToDevice));
      v[k] = d[k] + GUARD + offset;
    }
    for (int m = 0; m < 2; m++) {
      SpikeKrylovScalars *s = (m ? cuda : host)->scalars;

      PetscCall(PetscMemzero(s, sizeof(*s)));
      s->f.alpha = PetscScalar(0.7);
      s->f.beta  = NumberAt(20, 1);
      s->f.omega = NumberAt(20, 2);
      s->f.scale = PetscScalar(0.6);
      s->f.lag   = NumberAt(20, 3);
    }
    PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
    PetscCall((*(single ? cuda->k->singlestep : cuda->k->step))(cuda, step, n, v));
    if (info->ndots) PetscCall((*cuda->k->sums)(cuda, step));
    if (run)
      for (PetscInt k = 0; k < info->ndots; k++)
        Check(!memcmp(&first[k], &cuda->local[k], sizeof(PetscScalar)), info->name, n, "sums of two runs differ");
    for (PetscInt k = 0; k < info->ndots; k++) first[k] = cuda->local[k];
  }
  for (PetscInt k = 0; k < info->nvectors; k++) {
    v[k] = a[k] + GUARD + offset;
    if (k == diagonal) { /* what went there has to be there */
      std::vector<PetscScalar> there(size);

      PetscCallCUDA(cudaMemcpy(there.data(), d[k], size * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
      Check(!memcmp(there.data(), b[k], size * sizeof(PetscScalar)), info->name, n, "a diagonal matrix was written");
      PetscCall(PetscArraycpy(b[k], a[k], size));
    } else PetscCallCUDA(cudaMemcpy(b[k], d[k], size * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  }
  /* on the host by pieces: one sum over all rows rounds more than that of the device */
  for (PetscInt begin = 0; !begin || begin < n; begin += 1000) {
    PetscCall((*host->k->step)(host, step, PetscMin(1000, n - begin), v));
    for (PetscInt k = 0; k < info->ndots; k++) wanted[k] += host->local[k];
    for (PetscInt k = 0; k < info->nvectors; k++) v[k] += 1000;
  }
  for (PetscInt k = 0; k < info->nvectors; k++) {
    bool guards = true, values = true;

    for (PetscInt i = 0; i < size; i++) {
      const bool inside = i >= GUARD + offset && i < GUARD + offset + n;

      if (!inside) guards = guards && PetscIsNanScalar(b[k][i]);
      else
        values = values &&
                 PetscAbsScalar(a[k][i] - b[k][i]) <= 16 * PETSC_MACHINE_EPSILON * (1.0 + PetscAbsScalar(a[k][i]));
    }
    Check(guards, info->name, n, "a guard was overwritten");
    Check(values, info->name, n, "a vector differs");
  }
  for (PetscInt k = 0; k < info->ndots; k++)
    Check(PetscAbsScalar(wanted[k] - cuda->local[k]) <= NUMBERS_SIZE * 64 * PETSC_MACHINE_EPSILON * (1.0 + n),
          info->name, n, "a sum differs");
  for (PetscInt k = 0; k < info->nvectors; k++) {
    PetscCall(PetscFree2(a[k], b[k]));
    PetscCallCUDA(cudaFree(d[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A diagonal matrix in single precision, and its product with a vector, whatever the reason */
static PetscErrorCode TestDiagonal(SpikeKrylov *cuda, PetscInt n)
{
  std::vector<PetscScalar> x(n + 1), y(n + 1);
  std::vector<float>       want(REAL_PARTS * n + 1), got(REAL_PARTS * n + 1);
  const size_t             bytes = (n + 1) * sizeof(PetscScalar), low = got.size() * sizeof(float);
  PetscScalar             *dx, *dy;
  float                   *d;
  bool                     good = true;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= n; i++) x[i] = NumberAt(33, i);
  memset(want.data(), 0xff, low);
  NarrowDiagonal(n, x.data(), want.data());
  PetscCallCUDA(cudaMalloc((void **)&dx, bytes));
  PetscCallCUDA(cudaMalloc((void **)&dy, bytes));
  PetscCallCUDA(cudaMalloc((void **)&d, low));
  PetscCallCUDA(cudaMemcpy(dx, x.data(), bytes, cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemset(d, 0xff, low));
  PetscCallCUDA(cudaMemset(dy, 0xff, bytes));
  cuda->scalars->reason = KSP_CONVERGED_RTOL;
  PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
  PetscCall((*cuda->k->tosingle)(n, dx, d));
  PetscCall((*cuda->k->bysingle)(n, d, dx, dy));
  PetscCallCUDA(cudaMemcpy(got.data(), d, low, cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(y.data(), dy, bytes, cudaMemcpyDeviceToHost));
  Check(!memcmp(got.data(), want.data(), low), "tosingle", n, "a number or a guard differs");
  for (PetscInt i = 0; i < n; i++)
    good = good && PetscAbsScalar(y[i] - NarrowNumber(PETSC_SPIKE_PRECISION_SINGLE, x[i]) * x[i]) <=
                     8 * PETSC_MACHINE_EPSILON * PetscSqr(PetscAbsScalar(x[i]));
  Check(good && PetscIsNanScalar(y[n]), "bysingle", n, "a row or a guard differs");
  cuda->scalars->reason = 0;
  PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
  PetscCallCUDA(cudaFree(dx));
  PetscCallCUDA(cudaFree(dy));
  PetscCallCUDA(cudaFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each step, and once more in a state that has memory for steps alone */
static PetscErrorCode TestSteps(SpikeKrylov *host, SpikeKrylov *cuda, bool small)
{
  const std::vector<PetscInt> sizes = Sizes(small, {0, 1, 33, 257, 513},
                                            {2, 3, 31, 32, 255, 256, 511, 512, 1025, 4099, 100001, 1000003});
  SpikeKrylov                 alone;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&alone, sizeof(alone)));
  alone.k     = cuda->k;
  alone.alone = PETSC_TRUE;
  PetscCall((*alone.k->create)(&alone));
  for (PetscInt n : sizes)
    if (ShareNext()) PetscCall(TestDiagonal(cuda, n));
  for (int step = 0; step < SPIKE_KRYLOV_NSTEPS; step++) {
    const PetscInt before = failures;

    for (PetscInt n : sizes)
      for (PetscInt offset = 0; offset < 2; offset++)
        for (SpikeKrylov *s : {cuda, &alone})
          if (ShareNext())
            for (int single = 0; single < (SpikeKrylovDiagonal(step) < 0 ? 1 : 2); single++)
              PetscCall(TestStep(host, s, (SpikeKrylovStep)step, n, offset, single > 0));
    printf("%s %d - cuda step %s\n", failures > before ? "not ok" : "ok", step + 1, SpikeKrylovSteps[step].name);
  }
  PetscCall((*alone.k->destroy)(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The recurrences on the device are those of the host: the steps of a few iterations on fixed vectors, posts compared;
  nothing happens after a reason
*/
static PetscErrorCode TestPosts(SpikeKrylov *cuda, PetscInt n)
{
  SpikeKrylovScalars s;
  SpikeKrylovPost    post;
  PetscScalar       *a, *d, *v[SPIKE_KRYLOV_MAXVECTORS], sum = 0.0, one[SPIKE_KRYLOV_MAXDOTS];

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &a));
  PetscCallCUDA(cudaMalloc((void **)&d, 6 * n * sizeof(PetscScalar)));
  for (PetscInt k = 0; k < 6; k++) {
    for (PetscInt i = 0; i < n; i++) a[i] = k == 0 ? 1.0 : 0.0;
    PetscCallCUDA(cudaMemcpy(d + k * n, a, n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
    v[k] = d + k * n;
  }
  PetscCall(PetscMemzero(cuda->scalars, sizeof(s)));
  cuda->scalars->it = 7;
  PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
  s = *cuda->scalars;
  PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_START, n, v)); /* rp = p = r = 1 */
  PetscCall((*cuda->k->wait)(cuda, &post));
  for (PetscInt k = 0; k < SPIKE_KRYLOV_MAXDOTS; k++) one[k] = (PetscReal)n;
  (void)SpikeKrylovRecur(SPIKE_BCGS_START, &s, one);
  Check(post.it == 7 && post.norm == s.norm && !post.reason, "bcgs_start", n, "post");
  for (PetscInt k = 0; k < 6; k++) { /* a test that holds, of which the device alone knows */
    PetscScalar *w[] = {v[2], v[3], v[1], v[4], v[0]};

    if (k == 3) {
      cuda->scalars->t.test = SPIKE_KRYLOV_TEST_DEFAULT;
      cuda->scalars->t.norm = KSP_NORM_UNPRECONDITIONED;
      cuda->scalars->t.ttol = PETSC_MAX_REAL;
      PetscCall((*cuda->k->push)(cuda, PETSC_TRUE));
    }
    PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_S, n, v + 4));
    if (k < 4) {
      /* omega of t = s: 1; a step of length alpha = 0, so that x moves by r and r becomes r - t */
      PetscScalar *o[] = {v[0], v[0]};

      PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_OMEGA, n, o));
      PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_X, n, w));
      PetscCall((*cuda->k->wait)(cuda, &post));
      Check(post.it == 8 + k, "bcgs_x", n, "iterations");
      Check(post.reason == (k == 3 ? (int)KSP_CONVERGED_RTOL : 0), "bcgs_x", n, "reason");
    } else PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_X, n, w));
  }
  PetscCallCUDA(cudaMemcpy(a, v[4], n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  for (PetscInt i = 0; i < n; i++) sum += a[i];
  Check(PetscAbsScalar(sum - PetscScalar(4.0 * n)) <= 1e-6 * n, "bcgs_x", n, "steps after a reason did something");
  PetscCall(PetscFree(a));
  PetscCallCUDA(cudaFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  SCATTERED, /* rows of different lengths, some empty           */
  DIAGONALS, /* `width` of them, most of their places in use     */
  FULLROW    /* no form suits                                    */
} Pattern;

/* Column k of row i, or -1 */
static PetscInt Column(Pattern pattern, PetscInt n, PetscInt width, PetscInt i, PetscInt k)
{
  if (pattern == FULLROW) return i == n / 2 ? k : (k ? -1 : i);
  if (pattern == SCATTERED) return k < width - (i % 7 == 3 ? 1 : 0) && i % 97 != 5 ? (i + k * (k + 3)) % n : -1;
  {
    const PetscInt half = width / 2, m = k - half, j = i + m + (m / 3) * 5; /* in groups of three, as in a stencil */

    return j < 0 || j >= n || (i + 3 * k) % 23 == 4 ? -1 : j;
  }
}

/*
  What has no narrow copy: zeros, values out of the range of single precision, one that is no number; and values that
  lose no digit
*/
static PetscErrorCode TestRange(SpikeKrylov *cuda, const SpikeKrylovCSR *csr, PetscScalar *daa, PetscInt nz, void *copy,
                                void *narrow[], PetscInt n)
{
  const double bad[] = {0.0, 1e-33, 1e38, HUGE_VAL, (double)NAN};
  PetscScalar *aa;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nz, &aa));
  for (PetscSpikePrecision p : {PETSC_SPIKE_PRECISION_SINGLE, PETSC_SPIKE_PRECISION_BF16}) {
    for (int k = -1; k < 5 && NarrowExists(p); k++) {
      for (PetscInt i = 0; i < nz; i++) aa[i] = k < 0 || k > 2 ? PetscScalar(1.0) : PetscScalar((PetscReal)bad[k]);
      if (k > 2) aa[nz / 2] = PetscScalar((PetscReal)bad[k]);
      PetscCallCUDA(cudaMemcpy(daa, aa, nz * sizeof(PetscScalar), cudaMemcpyHostToDevice));
      PetscCall((*cuda->k->refill)(cuda, csr, copy));
      if (k < 0) Check(!((SpikeKrylovCopy *)narrow[p])->exact, "narrow", n, "random values that lose no digit");
      PetscCall((*cuda->k->narrow)(cuda, copy, p, PETSC_TRUE, &narrow[p]));
      if (k < 0) Check(narrow[p] && ((SpikeKrylovCopy *)narrow[p])->exact, "narrow", n, "ones that lose a digit");
      else Check(!narrow[p], "narrow", n, "values that have no narrow copy");
    }
  }
  PetscCall(PetscFree(aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copies of a copy with fewer digits; refill: they are there, and the copy has new values */
static PetscErrorCode MakeNarrow(SpikeKrylov *cuda, PetscInt n, PetscInt nz, void *copy, bool refill, void *narrow[])
{
  PetscFunctionBegin;
  for (PetscSpikePrecision p : {PETSC_SPIKE_PRECISION_SINGLE, PETSC_SPIKE_PRECISION_BF16}) {
    void *before = narrow[p];

    if (!refill && n <= 1000) {
      PetscCall((*cuda->k->narrow)(cuda, copy, p, PETSC_FALSE, &narrow[p]));
      Check(!narrow[p], "narrow", n, "made where a cache holds the copy");
    }
    PetscCall((*cuda->k->narrow)(cuda, copy, p, PETSC_TRUE, &narrow[p]));
    Check((narrow[p] != NULL) == (NarrowExists(p) && nz > 0), "narrow", n, narrow[p] ? "made" : "not made");
    Check(!refill || before == narrow[p], "narrow", n, "not refilled");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  y = A x or D A x of the copy, and of its copies with fewer digits, alone and with a step after it, against the host.
  expected: the form that is to be made, KSP_FUSED_SPMV_PETSC for none
*/
static PetscErrorCode TestMult(SpikeKrylov *cuda, PetscInt n, PetscInt width, Pattern pattern, KSPFusedSpMVType form,
                               KSPFusedSpMVType expected)
{
  const SpikeKrylovStep steps[] = {SPIKE_KRYLOV_NSTEPS,  SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA,
                                   SPIKE_BCGS_OMEGA_RHO, SPIKE_CG_ALPHA,   SPIKE_CG1_BETA};
  const int             own[] = {0, 1, 1, 1, 1, 2}, from[] = {-1, -1, 0, 0, 0, 1}; /* which vector y is, and x */
  PetscInt             *ai, *aj, *dai, *daj, nz = 0;
  PetscScalar          *aa, *low, *daa, *v, *y, *got, *dv, *dy, *dsingle;
  float                *single; /* D of narrow copies */
  PetscReal            *slack;
  SpikeKrylovCSR        csr;
  void                 *copy, *narrow[] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &slack));
  PetscCall(PetscMalloc4(n + 1, &ai, n * width + n, &aj, n * width + n, &aa, n * width + n, &low));
  PetscCall(PetscMalloc3(5 * n, &v, n, &y, n, &got));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt k = 0; k < (pattern == FULLROW ? n : (pattern == DIAGONALS ? width : PetscMin(n, width))); k++) {
      const PetscInt j = Column(pattern, n, width, i, k);

      if (j >= 0) aj[nz++] = j;
    }
    ai[i + 1] = nz;
  }
  for (PetscInt i = 0; i < 5 * n; i++) v[i] = NumberAt(30, i);
  PetscCallCUDA(cudaMalloc((void **)&dai, (n + 1) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daj, (nz + 1) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daa, (nz + 1) * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dv, 5 * n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dy, n * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMalloc((void **)&dsingle, REAL_PARTS * n * sizeof(*single)));
  PetscCall(PetscMalloc1(REAL_PARTS * n, &single));
  NarrowDiagonal(n, v + 4 * n, single);
  PetscCallCUDA(cudaMemcpy(dsingle, single, REAL_PARTS * n * sizeof(*single), cudaMemcpyHostToDevice));
  PetscCall(PetscFree(single));
  PetscCallCUDA(cudaMemcpy(dai, ai, (n + 1) * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(daj, aj, nz * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(dv, v, 5 * n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  csr.n  = n;
  csr.nz = nz;
  csr.ai = dai;
  csr.aj = daj;
  csr.aa = daa;
  copy   = NULL;
  PetscCall(PetscMemzero(cuda->scalars, sizeof(*cuda->scalars)));
  PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
  for (PetscInt fill = 0; fill < (n > MANY ? 1 : 2); fill++) { /* the second with new values */
    for (PetscInt k = 0; k < nz; k++) aa[k] = NumberAt(31 + fill, k);
    PetscCallCUDA(cudaMemcpy(daa, aa, nz * sizeof(PetscScalar), cudaMemcpyHostToDevice));
    if (fill) PetscCall((*cuda->k->refill)(cuda, &csr, copy));
    else PetscCall((*cuda->k->copy)(cuda, &csr, form, &copy));
    Check((copy ? ((SpikeKrylovCopy *)copy)->form : KSP_FUSED_SPMV_PETSC) == expected, "copy", n,
          copy ? "made in another form" : "not made");
    if (!copy) break;
    PetscCall(MakeNarrow(cuda, n, nz, copy, (bool)fill, narrow));
    for (size_t pks = 0; pks < 3 * 2 * PETSC_STATIC_ARRAY_LENGTH(steps); pks++) {
      const size_t               ks = pks % (2 * PETSC_STATIC_ARRAY_LENGTH(steps)), k = ks / 2;
      const PetscSpikePrecision  p     = (PetscSpikePrecision)(pks / (2 * PETSC_STATIC_ARRAY_LENGTH(steps)));
      const void                *used  = p == PETSC_SPIKE_PRECISION_DOUBLE ? copy : narrow[p];
      const PetscScalar         *scale = ks % 2 ? v + 4 * n : NULL;
      const SpikeKrylovStepInfo *info  = steps[k] < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[steps[k]] : NULL;
      PetscScalar               *vectors[SPIKE_KRYLOV_MAXVECTORS], *hv[SPIKE_KRYLOV_MAXVECTORS],
        *x      = from[k] < 0 ? v + 3 * n : v + from[k] * n, sums[SPIKE_KRYLOV_MAXDOTS];
      bool good = true;

      if (p && used && !ks) NarrowNumbers(p, nz, aa, low);
      if (!used || (n > MANY && (p || scale) && k != 1)) continue;
      for (PetscInt i = 0; i < n; i++) {
        PetscReal size;

        y[i]     = 0.0;
        slack[i] = 0.0;
        if (p != PETSC_SPIKE_PRECISION_DOUBLE) y[i] = NarrowRow(i, ai[i], ai[i + 1], aj, aa, low, x, &size, &slack[i]);
        else
          for (PetscInt l = ai[i]; l < ai[i + 1]; l++) y[i] += aa[l] * x[aj[l]];
        if (scale) y[i] *= p ? NarrowNumber(PETSC_SPIKE_PRECISION_SINGLE, scale[i]) : scale[i];
      }
      for (PetscInt m = 0; info && m < info->nvectors; m++) {
        vectors[m] = m == own[k] ? dy : dv + m * n;
        hv[m]      = m == own[k] ? y : v + m * n;
      }
      PetscCallCUDA(cudaMemset(dy, 0xff, n * sizeof(PetscScalar)));
      PetscCall(
        (*cuda->k->mult)(cuda, used, steps[k], scale ? (p ? dsingle : dv + 4 * n) : NULL, dv + (x - v), dy, vectors));
      if (info) {
        PetscCall((*cuda->k->sums)(cuda, steps[k]));
        StepInPieces(steps[k], n, &cuda->scalars->f, hv, sums);
        for (PetscInt m = 0; m < info->ndots; m++)
          Check(PetscAbsScalar(sums[m] - cuda->local[m]) <=
                  (p ? 1e-7 + 64 * PETSC_MACHINE_EPSILON : 64 * PETSC_MACHINE_EPSILON) * width * width * (1.0 + n),
                info->name, n, "a sum after a product differs");
      }
      PetscCallCUDA(cudaMemcpy(got, dy, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
      for (PetscInt i = 0; i < n; i++)
        good = good && PetscAbsScalar(got[i] - y[i]) <= 8 * (width + 2) * PETSC_MACHINE_EPSILON + slack[i];
      Check(good, info ? info->name : "product", n, p ? "a narrow product differs" : "a product differs");
    }
  }
  if (copy && nz) PetscCall(TestRange(cuda, &csr, daa, nz, copy, narrow, n));
  for (void *&low : narrow)
    if (low) PetscCall((*cuda->k->destroycopy)(cuda, &low));
  PetscCall((*cuda->k->destroycopy)(cuda, &copy));
  PetscCallCUDA(cudaFree(dai));
  PetscCallCUDA(cudaFree(daj));
  PetscCallCUDA(cudaFree(daa));
  PetscCallCUDA(cudaFree(dv));
  PetscCallCUDA(cudaFree(dy));
  PetscCallCUDA(cudaFree(dsingle));
  PetscCall(PetscFree4(ai, aj, aa, low));
  PetscCall(PetscFree3(v, y, got));
  PetscCall(PetscFree(slack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps of an iteration, one launch each: what iterate() does in one */
static PetscErrorCode RunSteps(SpikeKrylov *s, const void *copy, const SpikeKrylovIterations *a, bool started)
{
  PetscScalar *const *v = a->v, *x = v[0], *r = v[1], *d = const_cast<PetscScalar *>(a->diagonal);
  const PetscInt      n = a->n;

  PetscFunctionBegin;
  if (a->method == SPIKE_KRYLOV_BCGS) {
    PetscScalar *rp = v[2], *vv = v[3], *t = v[4], *p = v[5], *w = v[6];
    PetscScalar *first[] = {r, vv, p}, *alpha[] = {rp, vv}, *shorter[] = {vv, r}, *omega[] = {r, t},
                *last[] = {p, t, rp, x, r};
    PetscScalar *dp[] = {d, p, w}, *dr[] = {d, r, w};

    if (started) PetscCall((*s->k->step)(s, SPIKE_BCGS_P, n, first));
    if (a->right && d) PetscCall((*s->k->step)(s, SPIKE_DIAGONAL, n, dp));
    PetscCall((*s->k->mult)(s, copy, SPIKE_BCGS_ALPHA, a->right ? NULL : d, a->right && d ? w : p, vv, alpha));
    PetscCall((*s->k->step)(s, SPIKE_BCGS_S, n, shorter));
    if (a->right && d) PetscCall((*s->k->step)(s, SPIKE_DIAGONAL, n, dr));
    PetscCall((*s->k->mult)(s, copy, SPIKE_BCGS_OMEGA, a->right ? NULL : d, a->right && d ? w : r, t, omega));
    PetscCall((*s->k->step)(s, SPIKE_BCGS_X, n, last));
  } else {
    PetscScalar *z = d ? v[2] : r, *p = v[3], *w = v[4];
    PetscScalar *first[] = {z, p}, *alpha[] = {p, w}, *last[] = {p, w, x, r}, *lastz[] = {p, w, d, x, r, z},
                *beta[] = {r, r};

    if (started) PetscCall((*s->k->step)(s, SPIKE_CG_P, n, first));
    PetscCall((*s->k->mult)(s, copy, SPIKE_CG_ALPHA, NULL, p, w, alpha));
    if (d) PetscCall((*s->k->step)(s, SPIKE_CG_XZ, n, lastz));
    else if (!a->symmetric) PetscCall((*s->k->step)(s, SPIKE_CG_XR, n, last));
    else {
      PetscCall((*s->k->step)(s, SPIKE_CG_X, n, last));
      PetscCall((*s->k->step)(s, SPIKE_CG_BETA, n, beta));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scalars and the first step of a solve in the vectors of a */
static PetscErrorCode StartSteps(SpikeKrylov *cuda, const SpikeKrylovIterations *a)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(cuda->scalars, sizeof(*cuda->scalars)));
  cuda->scalars->f.symmetric = a->symmetric ? 1.0 : 0.0;
  cuda->scalars->t.norm      = KSP_NORM_UNPRECONDITIONED;
  PetscCall((*cuda->k->push)(cuda, PETSC_FALSE));
  if (a->method == SPIKE_KRYLOV_BCGS) {
    PetscScalar *start[] = {a->v[1], a->v[2], a->v[5]};

    PetscCall((*cuda->k->step)(cuda, SPIKE_BCGS_START, a->n, start));
  } else {
    PetscScalar *z[]     = {const_cast<PetscScalar *>(a->diagonal), a->v[1], a->v[2]};
    PetscScalar *start[] = {a->v[1], a->v[a->diagonal ? 2 : 1], a->v[3]};

    if (a->diagonal) PetscCall((*cuda->k->step)(cuda, SPIKE_DIAGONAL, a->n, z));
    PetscCall((*cuda->k->step)(cuda, SPIKE_CG_START, a->n, start));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shows for which devices the code is, which is that of the library too */
__global__ static void Code(void) { }

/* Rows that a cluster of thread blocks may have, at most, whatever they hold */
#if PetscDefined(USE_COMPLEX) && !PetscDefined(USE_REAL_SINGLE)
  #define CLUSTERROWS 11264
#else
  #define CLUSTERROWS 15360
#endif

/*
  iterate() in one of its two forms against Steps(): x, r, directions and posts bit for bit, guards, an odd number of
  iterations; vectors that are not aligned alike are refused. The matrix has `width` diagonals, and 1 on the main one
  prevails. *made is NULL, and iterations are expected, or it says whether there were some
*/
static PetscErrorCode TestIterate(SpikeKrylov *cuda, PetscInt n, PetscInt width, KSPFusedSpMVType form,
                                  SpikeKrylovMethod method, bool diagonal, bool right, bool symmetric, PetscInt offset,
                                  KSPFusedPersistentType type = KSP_FUSED_PERSISTENT_GRID, bool *made = NULL)
{
  const PetscInt its = 5, size = n + n % 2 + 2 * GUARD + 2; /* even: aligned alike */
  const bool     bcgs = method == SPIKE_KRYLOV_BCGS, grid = type == KSP_FUSED_PERSISTENT_GRID;
  const char    *name = bcgs ? (grid ? "bcgs" : "bcgs, cluster") : (grid ? "cg" : "cg, cluster");
  /* where p and v are, after an odd number of iterations in iterate() */
  const int             from[] = {bcgs ? 5 : 3, 3}, to[] = {bcgs ? 6 : 5, bcgs ? 4 : 5};
  SpikeKrylovCSR        csr;
  SpikeKrylovIterations a;
  SpikeKrylovPost       posts[2][6];
  PetscInt             *ai, *aj, *dai, *daj, nz = 0, launched = 0;
  PetscScalar          *aa, *daa, *h[2], *d[2];
  PetscReal             nan = 0.0;
  PetscBool             cluster;
  bool                  same = true, guards = true, told = true, kept = true;
  void                 *copy = NULL;

  PetscFunctionBegin;
  nan /= nan;
  PetscCall(PetscMalloc3(n + 1, &ai, n * width, &aj, n * width, &aa));
  PetscCall(PetscMalloc2(8 * size, &h[0], 8 * size, &h[1]));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt k = 0; k < width; k++) {
      const PetscInt j = i + 11 * (k - width / 2);

      if (j < 0 || j >= n) continue;
      aj[nz] = j;
      /* symmetric */
      aa[nz++] = j == i ? PetscScalar(1.0) : PetscScalar(0.3 / width) * NumberAt(PetscMin(i, j), PetscMax(i, j));
    }
    ai[i + 1] = nz;
  }
  PetscCallCUDA(cudaMalloc((void **)&dai, (n + 1) * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daj, nz * sizeof(PetscInt)));
  PetscCallCUDA(cudaMalloc((void **)&daa, nz * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemcpy(dai, ai, (n + 1) * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(daj, aj, nz * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscCallCUDA(cudaMemcpy(daa, aa, nz * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  csr.n  = n;
  csr.nz = nz;
  csr.ai = dai;
  csr.aj = daj;
  csr.aa = daa;
  PetscCall((*cuda->k->copy)(cuda, &csr, form, &copy));
  Check(copy != NULL, name, n, "no copy");
  PetscCall(PetscMemzero(posts, sizeof(posts)));
  for (int way = 0; way < 2 && copy; way++) {
    for (PetscInt i = 0; i < 8 * size; i++) {
      const PetscInt at = i % size - GUARD - offset, v = i / size;

      h[way][i] = at < 0 || at >= n ? PetscScalar(nan)
                                    : (v == 7 ? PetscScalar(0.5) + PetscScalar(0.1) * PetscRealPart(NumberAt(3, at))
                                              : (v == 1 ? NumberAt(v, at) : PetscScalar(v ? nan : 0.0)));
    }
    PetscCallCUDA(cudaMalloc((void **)&d[way], 8 * size * sizeof(PetscScalar)));
    PetscCallCUDA(cudaMemcpy(d[way], h[way], 8 * size * sizeof(PetscScalar), cudaMemcpyHostToDevice));
    PetscCall(PetscMemzero(&a, sizeof(a)));
    a.method    = method;
    a.n         = n;
    a.right     = (PetscBool)right;
    a.symmetric = (PetscBool)symmetric;
    a.type      = type;
    a.diagonal  = diagonal ? d[way] + 7 * size + GUARD + offset : NULL;
    for (int k = 0; k < SPIKE_KRYLOV_MAXWORK; k++) a.v[k] = d[way] + k * size + GUARD + offset;
    PetscCall(StartSteps(cuda, &a));
    PetscCall((*cuda->k->wait)(cuda, &posts[way][0]));
    if (way) {
      SpikeKrylovIterations other = a;

      other.v[3]++; /* alignment of one, not of all; complex numbers are all aligned */
      if (!PetscDefined(USE_COMPLEX)) {
        PetscCall((*cuda->k->iterate)(cuda, copy, &other, its, &launched, &cluster));
        Check(launched == 0, name, n, "unequal alignment is taken");
      }
      PetscCall((*cuda->k->iterate)(cuda, copy, &a, its, &launched, &cluster));
      Check(!launched || cluster == !grid, name, n, "the other form was taken");
      if (made) *made = launched > 0;
      Check(launched == its || (made && !launched), name, n, "not launched");
      if (!launched) {
        PetscCallCUDA(cudaFree(d[way]));
        break;
      }
    }
    for (PetscInt k = 0; k < its && !posts[way][k].reason; k++) {
      if (!way) PetscCall(RunSteps(cuda, copy, &a, k > 0));
      PetscCall((*cuda->k->wait)(cuda, &posts[way][k + 1]));
    }
    PetscCallCUDA(cudaMemcpy(h[way], d[way], 8 * size * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    PetscCallCUDA(cudaFree(d[way]));
  }
  for (PetscInt k = 0; k <= its && launched; k++)
    told = told && posts[0][k].it == posts[1][k].it && posts[0][k].norm == posts[1][k].norm &&
           posts[0][k].reason == posts[1][k].reason;
  Check(told, name, n, "posts differ");
  Check(n < 50 || posts[0][its].it == its, name, n, "it stopped before");
  for (PetscInt i = 0; i < 8 * size && launched; i++) {
    const PetscInt at = i % size - GUARD - offset;

    if (at < 0 || at >= n) guards = guards && PetscIsNanScalar(h[1][i]);
    else if (i < 2 * size) same = same && !memcmp(&h[0][i], &h[1][i], sizeof(PetscScalar));
  }
  for (int k = 0; k < 2 && launched && posts[0][its].it == its; k++) /* else the last iteration is not complete */
    kept = kept && !memcmp(h[0] + from[k] * size + GUARD + offset, h[1] + to[k] * size + GUARD + offset,
                           n * sizeof(PetscScalar));
  Check(guards, name, n, "iterations in one launch overwrite a guard");
  Check(same, name, n, "x or r of iterations in one launch differ");
  Check(kept, name, n, "directions of iterations in one launch differ, or are at another place");
  PetscCall((*cuda->k->destroycopy)(cuda, &copy));
  PetscCallCUDA(cudaFree(dai));
  PetscCallCUDA(cudaFree(daj));
  PetscCallCUDA(cudaFree(daa));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscCall(PetscFree2(h[0], h[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iterations by one cluster: rows around those of a warp and of a thread block, and the largest number that fits; what a
  cluster does not have is refused. *clusters: whether the device has clusters
*/
static PetscErrorCode TestCluster(SpikeKrylov *cuda, bool small, bool *clusters)
{
  const KSPFusedPersistentType type = KSP_FUSED_PERSISTENT_CLUSTER;
  cudaFuncAttributes           has;
  int                          device, major;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  PetscCallCUDA(cudaFuncGetAttributes(&has, (const void *)Code));
  *clusters = major >= 9 && has.ptxVersion >= 90;
  if (!*clusters) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt width : {7, 27}) {
    for (int k = 0; k < 6; k++) {
      const bool              bcgs = k < 3, diagonal = bcgs ? k > 0 : k == 4, right = k == 2, symmetric = k == 5;
      const SpikeKrylovMethod method = bcgs ? SPIKE_KRYLOV_BCGS : SPIKE_KRYLOV_CG;
      bool                    made   = false, some;

      if (!ShareNext()) continue;
      /* of complex ones fewer fit */
      for (PetscInt n : Sizes(small, {1, 33, 64, 129, 1025}, {2, 3, 31, 63, 65, 127, 1000, 1023, 1024, 2049}))
        PetscCall(TestIterate(cuda, n, width, KSP_FUSED_SPMV_DIA, method, diagonal, right, symmetric, 0, type,
                              PetscDefined(USE_COMPLEX) && n > 1025 ? &some : NULL));
      /* one less than whole warps, from the largest number of rows on */
      for (PetscInt n = CLUSTERROWS; n > 0 && !made && !small; n -= 1024)
        PetscCall(
          TestIterate(cuda, n - 1, width, KSP_FUSED_SPMV_DIA, method, diagonal, right, symmetric, 0, type, &made));
      Check(made || small, bcgs ? "bcgs, cluster" : "cg, cluster", width, "no large problem fits");
    }
    for (SpikeKrylovMethod method : {SPIKE_KRYLOV_BCGS, SPIKE_KRYLOV_CG}) {
      bool made;

      if (!ShareNext()) continue;
      PetscCall(
        TestIterate(cuda, CLUSTERROWS + 1, width, KSP_FUSED_SPMV_DIA, method, false, false, false, 0, type, &made));
      Check(!made, "cluster", CLUSTERROWS + 1, "more rows than a cluster has");
      PetscCall(TestIterate(cuda, 500, width, KSP_FUSED_SPMV_SELL, method, false, false, false, 0, type, &made));
      Check(!made, "cluster", 500, "a copy in slices is taken");
      PetscCall(TestIterate(cuda, 500, width, KSP_FUSED_SPMV_DIA, method, true, false, false, 1, type, &made));
      Check(!made || PetscDefined(USE_COMPLEX), "cluster", 500, "vectors that are not aligned are taken");
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SpikeKrylov  host, cuda, ondevice;
  cudaStream_t stream;
  int          count = 0, device, multiprocessors;
  PetscBool    small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  (void)setvbuf(stdout, NULL, _IOLBF, 0); /* who stops says how far it came */
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    (void)cudaGetLastError();
    printf("ok 1 - CUDA Krylov steps # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(ShareGet());
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  PetscCall(PetscMemzero(&host, sizeof(host)));
  PetscCall(PetscMemzero(&cuda, sizeof(cuda)));
  PetscCall(PetscMemzero(&ondevice, sizeof(ondevice)));
  host.k            = &SpikeKrylovKernels_Host;
  cuda.k            = &SpikeKrylovKernels_CUDA;
  ondevice.k        = &SpikeKrylovKernels_CUDA;
  ondevice.ondevice = PETSC_TRUE;
  PetscCall((*host.k->create)(&host));
  PetscCall((*cuda.k->create)(&cuda));
  PetscCall((*ondevice.k->create)(&ondevice));
  PetscCall(TestSteps(&host, &cuda, small));
  {
    const PetscInt before = failures;

    for (PetscInt n : Sizes(small, {1, 300}, {100000}))
      if (ShareNext()) PetscCall(TestPosts(&ondevice, n));
    printf("%s %d - cuda recurrences and posts\n", failures > before ? "not ok" : "ok", SPIKE_KRYLOV_NSTEPS + 1);
  }
  {
    const PetscInt before = failures;

    for (PetscInt n : Sizes(small, {1, 9, 33, 1000}, {7, 8, 31, 32, 5001, 500003})) {
      for (PetscInt width : {2, 7, 27}) {
        if (!ShareNext()) continue;
        PetscCall(TestMult(&cuda, n, width, SCATTERED, KSP_FUSED_SPMV_SELL, KSP_FUSED_SPMV_SELL));
        PetscCall(TestMult(&cuda, n, width, DIAGONALS, KSP_FUSED_SPMV_DIA, KSP_FUSED_SPMV_DIA));
        if (n != 1000 && n != 5001) continue;
        PetscCall(TestMult(&cuda, n, width, DIAGONALS, KSP_FUSED_SPMV_AUTO, KSP_FUSED_SPMV_DIA));
        PetscCall(TestMult(&cuda, n, width, DIAGONALS, KSP_FUSED_SPMV_SELL, KSP_FUSED_SPMV_SELL));
      }
    }
    for (PetscInt width : {63, 128, 129})
      if (ShareNext())
        PetscCall(TestMult(&cuda, small ? 2000 : 20000, width, DIAGONALS, KSP_FUSED_SPMV_AUTO,
                           width > 128 ? KSP_FUSED_SPMV_SELL : KSP_FUSED_SPMV_DIA));
    /* rows for pieces, 8 times what fills the device */
    if (!small)
      PetscCall(
        TestMult(&cuda, 8 * 4 * multiprocessors * 4096 + 4173, 7, DIAGONALS, KSP_FUSED_SPMV_DIA, KSP_FUSED_SPMV_DIA));
    if (ShareNext()) PetscCall(TestMult(&cuda, 300, 129, DIAGONALS, KSP_FUSED_SPMV_DIA, KSP_FUSED_SPMV_PETSC));
    if (ShareNext()) PetscCall(TestMult(&cuda, 1000, 2, FULLROW, KSP_FUSED_SPMV_AUTO, KSP_FUSED_SPMV_PETSC));
    printf("%s %d - cuda products with steps\n", failures > before ? "not ok" : "ok", SPIKE_KRYLOV_NSTEPS + 2);
  }
  {
    const PetscInt before = failures;

    /* the last two: copies with a lane a row */
    for (PetscInt n : Sizes(small, {1, 33, 1000}, {2, 5001, 70001, 400003})) {
      for (PetscInt width : {7, 27}) {
        for (KSPFusedSpMVType form : {KSP_FUSED_SPMV_DIA, KSP_FUSED_SPMV_SELL}) {
          for (int k = 0; k < 3; k++) {
            if (!ShareNext()) continue;
            PetscCall(TestIterate(&ondevice, n, width, form, SPIKE_KRYLOV_BCGS, k > 0, k > 1, false, 0));
            PetscCall(TestIterate(&ondevice, n, width, form, SPIKE_KRYLOV_CG, k == 1, false, k > 1, 0));
          }
        }
        if (!ShareNext()) continue;
        PetscCall(TestIterate(&ondevice, n, width, KSP_FUSED_SPMV_DIA, SPIKE_KRYLOV_BCGS, true, false, false, 1));
        PetscCall(TestIterate(&ondevice, n, width, KSP_FUSED_SPMV_DIA, SPIKE_KRYLOV_CG, true, false, false, 1));
      }
    }
    printf("%s %d - cuda iterations in one launch\n", failures > before ? "not ok" : "ok", SPIKE_KRYLOV_NSTEPS + 3);
  }
  {
    const PetscInt before = failures;
    bool           clusters;

    PetscCall(TestCluster(&ondevice, small, &clusters));
    printf("%s %d - cuda iterations by one cluster of thread blocks%s\n", failures > before ? "not ok" : "ok",
           SPIKE_KRYLOV_NSTEPS + 4, clusters ? "" : " # SKIP the device has none");
  }
  {
    const PetscInt before = failures;

    for (KSPFusedSpMVType form : {KSP_FUSED_SPMV_DIA, KSP_FUSED_SPMV_SELL, KSP_FUSED_SPMV_AUTO})
      PetscCall(TestOffs(&cuda, small ? 600 : (form == KSP_FUSED_SPMV_AUTO ? 10000 : MANY), small, form));
    if (!small) /* pieces */
      PetscCall(TestOff(&cuda, 8 * 4 * multiprocessors * 4096 + 4173, 7, 100000, 5, KSP_FUSED_SPMV_DIA));
    printf("%s %d - cuda products with columns of other ranks\n", failures > before ? "not ok" : "ok",
           SPIKE_KRYLOV_NSTEPS + 5);
  }
  {
    const PetscInt before = failures;

    PetscCall(TestLent(&cuda, small ? 600 : MANY, small));
    printf("%s %d - cuda products of blocks\n1..%d # %ld checks\n", failures > before ? "not ok" : "ok",
           SPIKE_KRYLOV_NSTEPS + 6, SPIKE_KRYLOV_NSTEPS + 6, (long)checks);
  }
  PetscCall((*host.k->destroy)(&host));
  PetscCall((*cuda.k->destroy)(&cuda));
  PetscCall((*ondevice.k->destroy)(&ondevice));
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
