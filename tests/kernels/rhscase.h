/* SPDX-License-Identifier: BSD-2-Clause */
/*
  rhscase.h: a backend of rhs.h against the host's loops of single right-hand sides: steps, basis steps, products,
  exchange of right-hand sides; for hostrhs.c and cudarhs.cu.

  Before it: Get(host, there, count) and Put(there, host, count), which copy numbers, and Make(&there, count),
  Drop(there).
*/
#include "kernels/krylov/rhs.h"
#include "pieces.h"
#include "share.h"

#define WIDTH 5 /* columns; the one in the middle has a reason, and is left alone */
#define ROOM  7
#define SHADE 3 /* of basis steps */
#define MOST  (4 * SHADE + 8)
#define DOTS  17 /* vectors that all columns share, most */

static PetscInt checks = 0, failures = 0, line = 0, before = 0;

static void Check(PetscBool ok, const char where[], PetscInt n, const char what[])
{
  checks++;
  if (ok) return;
  if (++failures <= 20) printf("# %s, n %ld: %s\n", where, (long)n, what);
}

static void Line(const char what[])
{
  printf("%s %d - %s\n", failures > before ? "not ok" : "ok", (int)++line, what);
  before = failures;
}

static PetscScalar NumberAt(PetscInt seed, PetscInt i)
{
  const PetscReal a = (PetscReal)((seed * 7919 + i % 9973 * 104729 + i / 9973 + 13) % 10007) / (PetscReal)5003.5 -
                      (PetscReal)1.0,
                  b = (PetscReal)((seed * 6007 + i % 9973 * 92821 + 5) % 10009) / (PetscReal)5004.5 - (PetscReal)1.0;

#if PetscDefined(USE_COMPLEX)
  return PetscCMPLX(a, b);
#else
  return a + (PetscReal)0.25 * b;
#endif
}

/* Blocks on both sides, ld rows a column, NaN after the n rows */
typedef struct {
  PetscInt     n, ld, count;
  PetscScalar *host[MOST], *there[MOST], *got;
} Blocks;

static PetscErrorCode MakeBlocks(PetscInt n, PetscInt ld, PetscInt count, Blocks *v)
{
  PetscReal nan = 0.0;

  PetscFunctionBegin;
  nan /= nan;
  v->n     = n;
  v->ld    = ld;
  v->count = count;
  PetscCall(PetscMalloc1(ld * ROOM, &v->got));
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(PetscMalloc1(ld * ROOM, &v->host[k]));
    PetscCall(Make(&v->there[k], ld * ROOM));
    for (PetscInt i = 0; i < ld * ROOM; i++) v->host[k][i] = i % ld < n ? NumberAt(k, i) : (PetscScalar)nan;
    PetscCall(Put(v->there[k], v->host[k], ld * ROOM));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DropBlocks(Blocks *v)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < v->count; k++) {
    PetscCall(PetscFree(v->host[k]));
    PetscCall(Drop(v->there[k]));
  }
  PetscCall(PetscFree(v->got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both sides, to rounding; what is no number on the host is none there */
static PetscErrorCode Compare(Blocks *v, PetscReal tol, const char where[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < v->count; k++) {
    PetscBool same = PETSC_TRUE;

    PetscCall(Get(v->got, v->there[k], v->ld * ROOM));
    for (PetscInt i = 0; i < v->ld * ROOM; i++) {
      const PetscScalar a = v->got[i], b = v->host[k][i];

      if (i % v->ld < v->n ? !(PetscAbsScalar(a - b) <= tol * (1 + PetscAbsScalar(b))) : a == a) same = PETSC_FALSE;
    }
    Check(same, where, v->n, "a vector");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetScalars(SpikeKrylovRhs *s)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < ROOM; c++) {
    memset((void *)&s->scalars[c], 0, sizeof(s->scalars[c]));
    s->scalars[c].f.alpha = NumberAt(20, c);
    s->scalars[c].f.beta  = NumberAt(21, c);
    s->scalars[c].f.omega = NumberAt(22, c);
    s->scalars[c].reason  = c == WIDTH / 2 ? (int)KSP_CONVERGED_RTOL : 0;
    for (PetscInt i = 0; i < s->nsmall; i++) s->hostsmall[c * s->nsmall + i] = NumberAt(23 + c, i);
  }
  PetscCall((*s->k->push)(s, ROOM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareSums(SpikeKrylovRhs *s, PetscInt n, PetscInt nsums, PetscScalar reference[],
                                  PetscScalar first[], PetscBool again, const char where[])
{
  PetscFunctionBegin;
  PetscCall((*s->k->sums)(s, WIDTH, nsums));
  for (PetscInt c = 0; c < WIDTH; c++) {
    for (PetscInt k = 0; k < nsums && c != WIDTH / 2; k++) {
      Check((PetscBool)(PetscAbsScalar(s->sums[c * nsums + k] - reference[c * nsums + k]) <=
                        100 * PETSC_MACHINE_EPSILON * (n + 10)),
            where, n, "a sum");
      Check((PetscBool)(!again || first[c * nsums + k] == s->sums[c * nsums + k]), where, n,
            "a sum differs in a second run");
      first[c * nsums + k] = s->sums[c * nsums + k];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSteps(SpikeKrylovRhs *s, PetscInt n, PetscInt ld)
{
  PetscFunctionBegin;
  for (int step = 0; step < SPIKE_KRYLOV_NSTEPS; step++) {
    const SpikeKrylovStepInfo *info = &SpikeKrylovSteps[step];
    PetscScalar                reference[WIDTH * SPIKE_KRYLOV_MAXDOTS], first[WIDTH * SPIKE_KRYLOV_MAXDOTS];
    PetscInt                   lds[SPIKE_KRYLOV_MAXVECTORS], shared = -1;

    for (PetscInt run = 0; run < 2; run++) {
      Blocks v;

      PetscCall(MakeBlocks(n, ld, info->nvectors, &v));
      PetscCall(SetScalars(s));
      for (PetscInt k = 0; k < info->nvectors; k++) {
        if (shared < 0 && !((info->written >> k) & 1)) shared = k;
        lds[k] = k == shared ? 0 : ld;
      }
      PetscCall((*s->k->step)(s, WIDTH, (SpikeKrylovStep)step, n, v.there, lds));
      for (PetscInt c = 0; c < WIDTH; c++) {
        PetscScalar *w[SPIKE_KRYLOV_MAXVECTORS];

        for (PetscInt k = 0; k < info->nvectors; k++) w[k] = v.host[k] + c * lds[k];
        if (c != WIDTH / 2) StepInPieces(step, n, &s->scalars[c].f, w, reference + c * info->ndots);
      }
      if (info->ndots) PetscCall(CompareSums(s, n, info->ndots, reference, first, (PetscBool)run, info->name));
      PetscCall(Compare(&v, 20 * PETSC_MACHINE_EPSILON, info->name));
      PetscCall(DropBlocks(&v));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Variant 0: without z, x, q and a COMBINE after; 1: with z or x, and a COMBINE; 2: with q too, and A of all columns
*/
static PetscErrorCode TestBlockSteps(SpikeKrylovRhs *s, PetscInt n, PetscInt ld)
{
  const char *const names[] = {"dots", "combine", "update", "smooth"};

  PetscFunctionBegin;
  for (int step = 0; step < SPIKE_KRYLOV_NBASISSTEPS; step++) {
    for (int variant = 0; variant < 3; variant++) {
      const PetscInt     ldA        = step == SPIKE_KRYLOV_DOTS && variant == 2 ? 0 : ld;
      const PetscBool    follows    = (PetscBool)(step == SPIKE_KRYLOV_UPDATE && variant > 0);
      SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, SHADE, 0, 0, 0, 0.0};
      PetscScalar        reference[WIDTH * (SHADE + 3)], first[WIDTH * (SHADE + 3)];

      for (PetscInt run = 0; run < 2; run++) {
        Blocks           v;
        SpikeKrylovBasis b[2], g[2]; /* of the host and there */
        PetscScalar     *pointers[2][4 * SHADE], *columns[4 * DOTS];
        PetscInt         nsums = 0;

        PetscCall(MakeBlocks(n, ld, MOST, &v));
        PetscCall(SetScalars(s));
        for (int side = 0; side < 2; side++) {
          PetscScalar **w = side ? v.there : v.host, **single = w + 4 * SHADE, *small = side ? s->small : s->hostsmall;

          memset((void *)&b[side], 0, sizeof(b[side]));
          memset((void *)&g[side], 0, sizeof(g[side]));
          for (PetscInt j = 0; j < 4 * SHADE; j++) pointers[side][j] = w[j];
          b[side].n     = n;
          b[side].first = 0;
          b[side].last  = step == SPIKE_KRYLOV_SMOOTH ? 0 : SHADE;
          b[side].A     = pointers[side];
          b[side].B     = step == SPIKE_KRYLOV_DOTS ? NULL : pointers[side] + SHADE;
          b[side].c     = small;
          b[side].a     = small + SHADE;
          b[side].g     = small + SHADE + 1;
          b[side].y     = single[0];
          if (step == SPIKE_KRYLOV_DOTS) b[side].z = variant ? single[1] : NULL;
          else if (step == SPIKE_KRYLOV_COMBINE) b[side].r = single[2];
          else {
            b[side].z = single[1];
            b[side].x = variant || step == SPIKE_KRYLOV_SMOOTH ? single[3] : NULL;
            b[side].r = b[side].x ? single[2] : NULL;
            b[side].q = variant == 2 || step == SPIKE_KRYLOV_SMOOTH ? single[4] : NULL;
            b[side].p = b[side].q ? single[5] : NULL;
            if (step == SPIKE_KRYLOV_SMOOTH) b[side].y = b[side].z = NULL;
          }
          g[side]   = b[side];
          g[side].A = pointers[side] + 2 * SHADE;
          g[side].B = pointers[side] + 3 * SHADE;
          g[side].y = single[6];
          g[side].r = single[2];
          g[side].x = g[side].z = g[side].q = g[side].p = NULL;
          g[side].g                                     = NULL;
        }
        if (step != SPIKE_KRYLOV_COMBINE && (step != SPIKE_KRYLOV_UPDATE || variant))
          nsums = SpikeKrylovBasisSums((SpikeKrylovBasisStep)step, b[0].last, (PetscBool)(b[0].z != NULL),
                                       (PetscBool)(b[0].q != NULL));
        if (step == SPIKE_KRYLOV_SMOOTH) nsums = 1;
        PetscCall((*s->k->basisstep)(s, WIDTH, (SpikeKrylovBasisStep)step, &b[1], ldA, ld, follows ? &g[1] : NULL,
                                     nsums ? &recurrence : NULL));
        for (PetscInt c = 0; c < WIDTH; c++) {
          SpikeKrylovBasis h;

          if (c == WIDTH / 2 && step != SPIKE_KRYLOV_SMOOTH) continue;
          h = SpikeKrylovBasisColumn(s, &b[0], c, ldA, ld, columns);
          (*SpikeKrylovBasisLoops_base[step])(&h, reference + c * PetscMax(1, nsums));
          if (!follows) continue;
          h = SpikeKrylovBasisColumn(s, &g[0], c, ld, ld, columns + 2 * DOTS);
          (*SpikeKrylovBasisLoops_base[SPIKE_KRYLOV_COMBINE])(&h, NULL);
        }
        if (nsums) PetscCall(CompareSums(s, n, nsums, reference, first, (PetscBool)run, names[step]));
        PetscCall(Compare(&v, 100 * PETSC_MACHINE_EPSILON, names[step]));
        PetscCall(DropBlocks(&v));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Inner products with vectors that all columns share, `least` of them and more; those of column 0 alone are the same to
  the last bit
*/
static PetscErrorCode TestDots(SpikeKrylovRhs *s, PetscInt n, PetscInt ld, PetscInt least)
{
  const PetscInt counts[] = {0, 1, 2, 3, 4, 7, 8, 9, DOTS};

  PetscFunctionBegin;
  for (size_t k = 0; k < 2 * PETSC_STATIC_ARRAY_LENGTH(counts); k++) {
    const PetscInt m              = counts[k / 2],
                   nsums          = SpikeKrylovBasisSums(SPIKE_KRYLOV_DOTS, m, (PetscBool)(k % 2), PETSC_FALSE);
    SpikeIDRRecurrence recurrence = {SPIKE_IDR_NORM, PetscMax(1, m), 0, 0, 0, 0.0};
    PetscScalar        reference[WIDTH * (DOTS + 3)], first[WIDTH * (DOTS + 3)], *columns[MOST];
    SpikeKrylovBasis   host, there;
    Blocks             v;

    if (m < least) continue;
    PetscCall(MakeBlocks(n, ld, MOST, &v));
    PetscCall(SetScalars(s));
    memset((void *)&host, 0, sizeof(host));
    host.n    = n;
    host.last = m;
    there     = host;
    host.A    = v.host;
    host.y    = v.host[DOTS];
    host.z    = k % 2 ? v.host[DOTS + 1] : NULL;
    there.A   = v.there;
    there.y   = v.there[DOTS];
    there.z   = k % 2 ? v.there[DOTS + 1] : NULL;
    for (PetscInt c = 0; c < WIDTH; c++) {
      SpikeKrylovBasis h;

      if (c == WIDTH / 2) continue;
      h = SpikeKrylovBasisColumn(s, &host, c, 0, ld, columns);
      (*SpikeKrylovBasisLoops_base[SPIKE_KRYLOV_DOTS])(&h, reference + c * nsums);
    }
    for (PetscInt run = 0; run < 2; run++) {
      /* without vectors ldA says nothing */
      PetscCall((*s->k->basisstep)(s, WIDTH, SPIKE_KRYLOV_DOTS, &there, m || !run ? 0 : ld, ld, NULL, &recurrence));
      PetscCall(CompareSums(s, n, nsums, reference, first, (PetscBool)run, "dots with shared vectors"));
    }
    PetscCall((*s->k->basisstep)(s, 1, SPIKE_KRYLOV_DOTS, &there, 0, ld, NULL, &recurrence));
    PetscCall((*s->k->sums)(s, 1, nsums));
    for (PetscInt i = 0; i < nsums; i++)
      Check((PetscBool)(s->sums[i] == first[i]), "dots with shared vectors", n,
            "a sum depends on the number of right-hand sides");
    PetscCall(Compare(&v, 0.0, "dots with shared vectors"));
    PetscCall(DropBlocks(&v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix where the kernels are */
static PetscErrorCode MakeCSR(PetscInt n, const PetscInt ai[], const PetscInt aj[], const PetscScalar aa[],
                              PetscInt **ti, PetscInt **tj, PetscScalar **ta, SpikeKrylovCSR *csr)
{
  PetscFunctionBegin;
  PetscCall(MakeIndices(ti, ai, n + 1));
  PetscCall(MakeIndices(tj, aj, ai[n]));
  PetscCall(Make(ta, ai[n]));
  PetscCall(Put(*ta, aa, ai[n]));
  csr->n  = n;
  csr->nz = ai[n];
  csr->ai = *ti;
  csr->aj = *tj;
  csr->aa = *ta;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A band with all of its entries; column c of y and the sums against the row loop of a CSR matrix */
static PetscErrorCode TestMult(SpikeKrylovRhs *s, SpikeKrylov *single, PetscInt n, PetscInt ld, KSPFusedSpMVType form)
{
  const SpikeKrylovStep steps[] = {SPIKE_KRYLOV_NSTEPS,  SPIKE_BCGS_ALPHA, SPIKE_BCGS_OMEGA,
                                   SPIKE_BCGS_OMEGA_RHO, SPIKE_CG_ALPHA,   SPIKE_CG1_BETA};
  const PetscInt        own[]   = {1, 1, 1, 1, 1, 2};
  PetscInt             *ai, *aj, *ti, *tj, nz = 0, ld0[SPIKE_KRYLOV_MAXVECTORS];
  PetscScalar          *aa, *ta;
  SpikeKrylovCSR        csr;
  void                 *copy = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &ai, 9 * n, &aj, 9 * n, &aa));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(0, i - 4); j <= PetscMin(n - 1, i + 4); j++) {
      aj[nz]   = j;
      aa[nz++] = NumberAt(60, i + 7 * j);
    }
    ai[i + 1] = nz;
  }
  PetscCall(MakeCSR(n, ai, aj, aa, &ti, &tj, &ta, &csr));
  PetscCall((*single->k->copy)(single, &csr, form, &copy));
  Check((PetscBool)(copy != NULL), "product", n, "no copy was made");
  for (size_t k = 0; copy && k < PETSC_STATIC_ARRAY_LENGTH(steps); k++) {
    PetscScalar first[WIDTH * SPIKE_KRYLOV_MAXDOTS];

    for (PetscInt run = 0; run < 4; run++) { /* twice each, without and with a diagonal */
      const SpikeKrylovStepInfo *info = steps[k] < SPIKE_KRYLOV_NSTEPS ? &SpikeKrylovSteps[steps[k]] : NULL;
      const char                *name = info ? info->name : "product";
      PetscScalar                reference[WIDTH * SPIKE_KRYLOV_MAXDOTS];
      Blocks                     v;
      PetscScalar               *y;

      PetscCall(MakeBlocks(n, ld, 5, &v)); /* 3 is x, 4 the diagonal */
      PetscCall(SetScalars(s));
      y = v.host[own[k]];
      for (PetscInt i = 0; i < SPIKE_KRYLOV_MAXVECTORS; i++) ld0[i] = ld;
      PetscCall((*s->k->mult)(s, copy, WIDTH, steps[k], run / 2 ? v.there[4] : NULL, v.there[3], v.there[own[k]], ld,
                              v.there, ld0));
      for (PetscInt c = 0; c < WIDTH; c++) {
        PetscScalar *w[SPIKE_KRYLOV_MAXVECTORS];

        if (c == WIDTH / 2) continue;
        for (PetscInt i = 0; i < n; i++) {
          PetscScalar sum = 0.0;

          for (PetscInt j = ai[i]; j < ai[i + 1]; j++) sum += aa[j] * v.host[3][c * ld + aj[j]];
          y[c * ld + i] = run / 2 ? v.host[4][i] * sum : sum;
        }
        for (PetscInt i = 0; info && i < info->nvectors; i++) w[i] = v.host[i] + c * ld;
        if (info) (*SpikeKrylovLoops_base[steps[k]])(n, &s->scalars[c].f, w, reference + c * info->ndots);
      }
      if (info) PetscCall(CompareSums(s, 20 * n, info->ndots, reference, first, (PetscBool)(run % 2), name));
      PetscCall(Compare(&v, 100 * PETSC_MACHINE_EPSILON, name));
      PetscCall(DropBlocks(&v));
    }
  }
  PetscCall((*single->k->destroycopy)(single, &copy));
  PetscCall(Drop(ta));
  PetscCall(DropIndices(ti));
  PetscCall(DropIndices(tj));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Two pairs of columns change places, with their scalars; sums of a step after it are those of the columns where they
  are now
*/
static PetscErrorCode TestSwap(SpikeKrylovRhs *s, PetscInt n, PetscInt ld)
{
  const PetscInt a[] = {0, 2}, b[] = {6, 4};
  Blocks         v;
  PetscBool      good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MakeBlocks(n, ld, 3, &v));
  PetscCall(SetScalars(s));
  PetscCall((*s->k->swap)(s, 2, a, b, n, 3, v.there, ld));
  for (PetscInt i = 0; i < 2; i++)
    for (PetscInt k = 0; k < 3; k++)
      for (PetscInt r = 0; r < n; r++) {
        const PetscScalar t = v.host[k][a[i] * ld + r];

        v.host[k][a[i] * ld + r] = v.host[k][b[i] * ld + r];
        v.host[k][b[i] * ld + r] = t;
      }
  PetscCall(Compare(&v, 0.0, "swap"));
  for (PetscInt c = 0; c < ROOM; c++) {
    const PetscInt was = c == 0 ? 6 : (c == 6 ? 0 : (c == 2 ? 4 : (c == 4 ? 2 : c)));

    if (s->scalars[c].f.alpha != NumberAt(20, was) ||
        s->scalars[c].reason != (was == WIDTH / 2 ? (int)KSP_CONVERGED_RTOL : 0))
      good = PETSC_FALSE;
    for (PetscInt i = 0; i < s->nsmall; i++)
      if (s->hostsmall[c * s->nsmall + i] != NumberAt(23 + was, i)) good = PETSC_FALSE;
  }
  Check(good, "swap", n, "scalars");
  PetscCall(DropBlocks(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y_j <- a x_i + b y_j for some columns; with factors of 0 what is no number is not read */
static PetscErrorCode TestCombine(SpikeKrylovRhs *s, PetscInt n, PetscInt ld)
{
  const PetscInt    cx[] = {6, 0, 3}, cy[] = {1, 5, 2};
  const PetscScalar a[] = {0.0, 1.0, 1.0, 2.0}, b[] = {0.0, 0.0, -1.0, 0.5};

  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    Blocks v;

    PetscCall(MakeBlocks(n, ld, 2, &v));
    if (!k || k == 1) {
      /* NaN where there is padding */
      for (PetscInt i = 0; i < n; i++) v.host[1][cy[0] * ld + i] = v.host[1][ld * ROOM - 1];
      PetscCall(Put(v.there[1], v.host[1], ld * ROOM));
    }
    PetscCall((*s->k->combine)(s, 3, n, a[k], k ? v.there[0] : NULL, ld, k ? cx : NULL, b[k], v.there[1], ld, cy));
    for (PetscInt c = 0; c < 3; c++)
      for (PetscInt i = 0; i < n; i++) {
        PetscScalar *y = v.host[1] + cy[c] * ld + i;

        *y = (a[k] == (PetscScalar)0.0 ? (PetscScalar)0.0 : a[k] * v.host[0][cx[c] * ld + i]) +
             (b[k] == (PetscScalar)0.0 ? (PetscScalar)0.0 : b[k] * *y);
      }
    PetscCall(Compare(&v, 4 * PETSC_MACHINE_EPSILON, "combine"));
    PetscCall(DropBlocks(&v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of it */
static PetscErrorCode TestBackend(SpikeKrylovRhs *s, SpikeKrylov *single, const PetscInt sizes[], PetscInt nsizes)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < nsizes; k++)
    for (PetscInt pad = 0; pad < 3; pad += 2)
      if (ShareNext()) PetscCall(TestSteps(s, sizes[k], PetscMax(1, sizes[k]) + pad));
  Line("steps over right-hand sides");
  for (PetscInt k = 0; k < nsizes; k++)
    for (PetscInt pad = 0; pad < 3; pad += 2)
      if (ShareNext()) PetscCall(TestBlockSteps(s, sizes[k], PetscMax(1, sizes[k]) + pad));
  Line("basis steps over right-hand sides");
  for (PetscInt k = 0; k < nsizes; k++)
    for (PetscInt pad = 0; pad < 3; pad += 2)
      if (ShareNext()) PetscCall(TestDots(s, sizes[k], PetscMax(1, sizes[k]) + pad, 0));
  Line("inner products with vectors that right-hand sides share");
  for (PetscInt k = 0; k < nsizes; k++)
    for (PetscInt form = 0; form < 2; form++)
      if (sizes[k] > 20 && (form || !PetscMemTypeHost(s->k->memtype)) && ShareNext())
        PetscCall(TestMult(s, single, sizes[k], sizes[k] + 3, form ? KSP_FUSED_SPMV_DIA : KSP_FUSED_SPMV_SELL));
  Line("products with right-hand sides");
  for (PetscInt k = 0; k < nsizes; k++)
    if (ShareNext()) PetscCall(TestSwap(s, sizes[k], sizes[k] + 1));
  Line("right-hand sides that change places");
  for (PetscInt k = 0; k < nsizes; k++)
    if (ShareNext()) PetscCall(TestCombine(s, sizes[k], sizes[k] + 1));
  Line("right-hand sides of two blocks");
  PetscFunctionReturn(PETSC_SUCCESS);
}
