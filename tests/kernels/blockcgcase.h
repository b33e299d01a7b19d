/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockcgcase.h: the small matrices of block CG of a backend against their algebra: factors, inverses, norms, reasons;
  for hostrhs.c and cudarhs.cu. After rhscase.h, whose Make(), Put(), Get(), Drop() it uses.
*/
#define CGROWS(m) (4 * (m) + 5)

typedef enum {
  CG_FULL,
  CG_DEPENDENT, /* column 1 is column 0, the last is 0 */
  CG_SCALED,    /* each second column 1e-12 times as large, or 1e-5 in single precision */
  CG_NKINDS
} CGKind;

static PetscReal CGScale(CGKind kind, PetscInt j)
{
  return kind == CG_SCALED && j % 2 ? (PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12) : (PetscReal)1.0;
}

/* sign X^H X of a tall X with columns of norm 1 or so; *rank: how many of them do not depend on others */
static void CGGram(CGKind kind, PetscReal sign, PetscInt seed, PetscInt m, PetscScalar G[], PetscInt *rank)
{
  const PetscInt n = CGROWS(m);

  *rank = kind == CG_DEPENDENT && m > 2 ? m - 2 : m;
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      PetscScalar sum = 0.0;

      for (PetscInt k = 0; k < n; k++) {
        const PetscInt    a = *rank < m && i == 1 ? 0 : i, b = *rank < m && j == 1 ? 0 : j;
        const PetscScalar x = *rank < m && i == m - 1 ? (PetscScalar)0.0
                                                      : CGScale(kind, i) * NumberAt(seed + (int)a, k),
                          y = *rank < m && j == m - 1 ? (PetscScalar)0.0
                                                      : CGScale(kind, j) * NumberAt(seed + (int)b, k);

        sum += PetscConj(x) * y;
      }
      G[i + j * m] = sign * sum / (PetscReal)n;
    }
}

/* C = op(A) op(B), with H the conjugate transpose */
static void CGProduct(PetscInt m, PetscBool ha, const PetscScalar A[], PetscBool hb, const PetscScalar B[],
                      PetscScalar C[])
{
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      C[i + j * m] = 0.0;
      for (PetscInt k = 0; k < m; k++)
        C[i + j * m] += (ha ? PetscConj(A[k + i * m]) : A[i + k * m]) * (hb ? PetscConj(B[j + k * m]) : B[k + j * m]);
    }
}

/* T^H G T is the diagonal matrix of `rank` signs; S^H S is sign G, relative to its diagonal */
static void CGCheckFactors(PetscInt m, PetscInt rank, PetscReal sign, const PetscScalar small[], const char where[])
{
  const PetscScalar *G = small + SPIKE_BLOCKCG_G * m * m, *T = small + SPIKE_BLOCKCG_T * m * m,
                    *S = small + SPIKE_BLOCKCG_S * m * m;
  PetscScalar a[1024], b[1024];
  PetscReal   worst = 0.0, off = 0.0;

  CGProduct(m, PETSC_FALSE, G, PETSC_FALSE, T, a);
  CGProduct(m, PETSC_TRUE, T, PETSC_FALSE, a, b);
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      const PetscReal e = PetscAbsScalar(b[i + j * m] - (i == j && i < rank ? (PetscScalar)sign : (PetscScalar)0.0));

      if (!(e <= worst)) worst = e;
    }
  Check((PetscBool)(worst <= 100 * m * PETSC_MACHINE_EPSILON), where, m, "T^H G T is not the identity");
  CGProduct(m, PETSC_FALSE, S, PETSC_TRUE, S, a);
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      const PetscReal d = PetscSqrtReal(PetscAbsScalar(G[i + i * m]) * PetscAbsScalar(G[j + j * m])),
                      e = PetscAbsScalar(a[i + j * m] - sign * G[i + j * m]) / (d > 0.0 ? d : (PetscReal)1.0);

      if (!(e <= off)) off = e;
    }
  Check((PetscBool)(off <= 30 * m * PETSC_MACHINE_EPSILON), where, m, "S^H S is not G");
}

static PetscErrorCode CGStep(SpikeKrylovRhs *t, SpikeBlockCGStep step, PetscInt m, int norms, PetscScalar host[],
                             PetscScalar there[])
{
  PetscFunctionBegin;
  PetscCall(Put(there, host, (PetscInt)SpikeBlockCGSize(m)));
  PetscCall((*t->k->push)(t, m));
  PetscCall((*t->k->blockcg)(t, step, m, norms, there));
  PetscCall((*t->k->pull)(t, m));
  PetscCall(Get(host, there, (PetscInt)SpikeBlockCGSize(m)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlockCGCase(SpikeKrylovRhs *t, PetscInt m, CGKind kind, PetscReal sigma, PetscReal curve)
{
  const PetscInt mm = m * m, size = (PetscInt)SpikeBlockCGSize(m);
  PetscScalar   *host, *there, *M, *C, *before, a[1024], b[1024], nan = 0.0;
  PetscInt       rank, full;
  PetscReal      worst;
  char           where[64];

  PetscFunctionBegin;
  nan /= nan;
  PetscCall(PetscSNPrintf(where, sizeof(where), "block CG, kind %d, signs %d %d", (int)kind, (int)sigma, (int)curve));
  PetscCall(PetscMalloc2(size, &host, mm, &before));
  PetscCall(Make(&there, size));
  M = host + SPIKE_BLOCKCG_M * mm;
  C = host + SPIKE_BLOCKCG_C * mm;
  for (PetscInt i = 0; i < size; i++) host[i] = nan;
  for (PetscInt c = 0; c < m; c++) {
    memset((void *)&t->scalars[c], 0, sizeof(t->scalars[c]));
    t->scalars[c].since  = 3;
    t->scalars[c].t.test = SPIKE_KRYLOV_TEST_SKIP;
  }
  /* start */
  CGGram(kind, sigma, 70, m, host, &rank);
  CGGram(CG_FULL, 1.0, 120, m, M, &full);
  PetscCall(CGStep(t, SPIKE_BLOCKCG_START, m, SPIKE_BLOCKCG_M, host, there));
  CGCheckFactors(m, rank, sigma, host, where);
  for (PetscInt c = 0; c < m; c++) {
    const PetscReal norm = PetscSqrtReal(PetscRealPart(M[c + c * m]));

    Check((PetscBool)(PetscAbsReal(t->scalars[c].norm - norm) <= 10 * PETSC_MACHINE_EPSILON * norm &&
                      !t->scalars[c].since && !t->scalars[c].it && !t->scalars[c].reason),
          where, m, "scalars of a start");
    for (PetscInt i = 0; i < m; i++)
      Check((PetscBool)(C[i + c * m] == PetscConj(host[SPIKE_BLOCKCG_S * mm + c + i * m])), where, m, "C of a start");
  }
  /* G E G = sigma G; columns with a reason get nothing */
  CGGram(kind, curve, 90, m, host, &rank);
  if (m > 1) t->scalars[m / 2].reason = (int)KSP_CONVERGED_RTOL;
  PetscCall(PetscArraycpy(before, host + SPIKE_BLOCKCG_T * mm, mm));
  PetscCall(CGStep(t, SPIKE_BLOCKCG_ALPHA, m, SPIKE_BLOCKCG_G, host, there));
  Check((PetscBool)!memcmp(before, host + SPIKE_BLOCKCG_T * mm, mm * sizeof(PetscScalar)), where, m,
        "T is still wanted");
  CGProduct(m, PETSC_FALSE, host, PETSC_FALSE, host + SPIKE_BLOCKCG_E * mm, a);
  CGProduct(m, PETSC_FALSE, a, PETSC_FALSE, host, b);
  worst = 0.0;
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) {
      const PetscReal d = PetscSqrtReal(PetscAbsScalar(host[i + i * m]) * PetscAbsScalar(host[j + j * m])),
                      e = PetscAbsScalar(b[i + j * m] - sigma * host[i + j * m]) / (d > 0.0 ? d : (PetscReal)1.0);

      if (!(e <= worst)) worst = e;
    }
  Check((PetscBool)(worst <= 1000 * m * PETSC_MACHINE_EPSILON), where, m, "E is no inverse");
  CGProduct(m, PETSC_FALSE, host + SPIKE_BLOCKCG_E * mm, PETSC_FALSE, C, a);
  for (PetscInt j = 0; j < m; j++) {
    PetscReal sum = 0.0, norm = 0.0;

    for (PetscInt i = 0; i < m; i++) {
      sum += SpikeKrylovAbs2(host[SPIKE_BLOCKCG_EC * mm + i + j * m] -
                             (m > 1 && j == m / 2 ? (PetscScalar)0.0 : a[i + j * m]));
      for (PetscInt k = 0; k < m; k++) norm += SpikeKrylovAbs2(host[SPIKE_BLOCKCG_E * mm + i + k * m] * C[k + j * m]);
    }
    Check((PetscBool)(PetscSqrtReal(sum) <= 10 * m * PETSC_MACHINE_EPSILON * PetscSqrtReal(norm)), where, m, "E C");
  }
  /* norms of R C, then C <- S C */
  PetscCall(PetscArraycpy(before, C, mm));
  CGGram(kind == CG_SCALED ? CG_FULL : kind, sigma, 110, m, host, &rank);
  PetscCall(CGStep(t, SPIKE_BLOCKCG_BETA, m, SPIKE_BLOCKCG_M, host, there));
  CGCheckFactors(m, rank, sigma, host, where);
  CGProduct(m, PETSC_FALSE, M, PETSC_FALSE, before, a);
  CGProduct(m, PETSC_TRUE, before, PETSC_FALSE, a, b);
  for (PetscInt c = 0; c < m; c++) {
    const PetscReal norm = PetscSqrtReal(PetscRealPart(b[c + c * m]));

    if (m > 1 && c == m / 2)
      Check((PetscBool)(!t->scalars[c].it && t->scalars[c].reason == (int)KSP_CONVERGED_RTOL), where, m,
            "scalars of a column that has converged");
    else
      Check((PetscBool)(PetscAbsReal(t->scalars[c].norm - norm) <= 200 * m * PETSC_MACHINE_EPSILON * norm &&
                        t->scalars[c].it == 1 &&
                        (!t->scalars[c].reason || (norm == 0.0 && t->scalars[c].reason == (int)KSP_CONVERGED_ATOL))),
            where, m, "a norm");
  }
  CGProduct(m, PETSC_TRUE, host + SPIKE_BLOCKCG_S * mm, PETSC_FALSE, before, a);
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++)
      Check((PetscBool)(PetscAbsScalar(a[i + j * m] - C[i + j * m]) <=
                        100 * m * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsScalar(C[j + j * m]), CGScale(kind, j))),
            where, m, "S C");
  /* what ends a solve: another sign, an operator or preconditioner that is not definite, a number that is none */
  for (int k = 0; k < 4; k++) {
    const SpikeBlockCGStep step   = k % 2 ? SPIKE_BLOCKCG_BETA : SPIKE_BLOCKCG_ALPHA;
    const int              sign   = k % 2 ? (int)KSP_DIVERGED_INDEFINITE_PC : (int)KSP_DIVERGED_INDEFINITE_MAT;
    const int              reason = k == 2 ? (int)KSP_DIVERGED_NANORINF : sign;
    PetscBool              good   = PETSC_TRUE;

    for (PetscInt c = 0; c < m; c++) t->scalars[c].reason = c == m / 2 && m > 1 ? (int)KSP_CONVERGED_RTOL : 0;
    CGGram(CG_FULL, k == 3 ? -sigma : curve, 90, m, host, &rank);
    if (k == 1) CGGram(CG_FULL, sigma, 90, m, host, &rank);
    if (k < 2 && m > 1) host[m - 1 + (m - 1) * m] *= k ? -1.0 : -1e-3;
    else if (k < 2) host[0] *= -1.0;
    if (k == 2) host[mm - 1] = nan;
    for (PetscInt i = 0; i < mm; i++) C[i] = 1.0;
    host[SPIKE_BLOCKCG_SIGNS * mm]     = sigma;
    host[SPIKE_BLOCKCG_SIGNS * mm + 1] = curve;
    PetscCall(CGStep(t, step, m, SPIKE_BLOCKCG_M, host, there));
    for (PetscInt c = 0; c < m; c++)
      if (t->scalars[c].reason != (c == m / 2 && m > 1 ? (int)KSP_CONVERGED_RTOL : reason)) good = PETSC_FALSE;
    for (PetscInt i = 0; i < mm && !(k % 2); i++)
      if (host[SPIKE_BLOCKCG_E * mm + i] != (PetscScalar)0.0 || host[SPIKE_BLOCKCG_EC * mm + i] != (PetscScalar)0.0)
        good = PETSC_FALSE;
    Check(good, where, m,
          k == 0 ? "an operator that is not definite"
                 : (k == 1 ? "a preconditioner that is not definite" : (k == 2 ? "no number" : "another sign")));
  }
  PetscCall(Drop(there));
  PetscCall(PetscFree2(host, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBlockCG(const SpikeKrylovRhsKernels *k)
{
  const PetscInt widths[] = {1, 2, 3, 8, 17, 32};

  PetscFunctionBegin;
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(widths); w++) {
    SpikeKrylovRhs t;

    PetscCall(PetscMemzero(&t, sizeof(t)));
    t.k        = k;
    t.m        = widths[w];
    t.ondevice = PETSC_TRUE;
    PetscCall((*k->create)(&t));
    for (int kind = 0; kind < CG_NKINDS; kind++)
      for (int signs = 0; signs < 4; signs++)
        PetscCall(TestBlockCGCase(&t, widths[w], (CGKind)kind, (PetscReal)(signs % 2 ? -1.0 : 1.0),
                                  (PetscReal)(signs / 2 ? -1.0 : 1.0)));
    PetscCall((*k->destroy)(&t));
  }
  Line("small matrices of block CG");
  PetscFunctionReturn(PETSC_SUCCESS);
}
