/* SPDX-License-Identifier: BSD-2-Clause */
/* orderings.c: half-bandwidths by natural order, RCM and the Fiedler vector, and bands of partitions */
static char help[] = "Half-bandwidths and the work of a band, by ordering, of real matrices and generated meshes.\n\
  -dir FOLDER   Matrix Market files, all that it has (default $SPIKE_MATRICES); without, generated ones alone\n\
  -rows n       rows of a generated mesh, about (20000)\n\
  -steps k      of inverse iteration for the Fiedler vector (12)\n\n";

#include <petscksp.h>
#include <petsctime.h>
#include "common/matrixfiles.h"

#define USES 10 /* applications of a setup, as src/pc_spike/spikemodel.c has it */

typedef struct {
  PetscInt steps;
} Options;

static PetscReal Random(PetscInt i)
{
  unsigned long long z = 0x9E3779B97F4A7C15ULL * ((unsigned long long)i + 1);

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return (PetscReal)((double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0);
}

/* Operations of factors and of USES applications, for a row */
static PetscReal Work(PetscInt kl, PetscInt ku)
{
  return 2.0 * kl * ku + 2.0 * USES * (1.0 + kl + ku);
}

/* Half-bandwidths of A where row i goes to place[i], NULL: stays */
static PetscErrorCode GetBand(Mat A, const PetscInt *place, PetscInt k[2])
{
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  k[0] = k[1] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    for (PetscInt c = 0; c < nc; c++) {
      const PetscInt d = (place ? place[cols[c]] : cols[c]) - (place ? place[i] : i);

      if (vals[c] == (PetscScalar)0.0) continue;
      k[0] = PetscMax(k[0], -d);
      k[1] = PetscMax(k[1], d);
    }
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Sum of rows times products of half-bandwidths, where each of np equal partitions has its own, over that of one band
*/
static PetscErrorCode OwnBands(Mat A, const PetscInt *place, const PetscInt k[2], PetscInt np, PetscReal *share)
{
  PetscInt  n, *own;
  PetscReal sum = 0.0;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscCalloc1(2 * np, &own));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    for (PetscInt c = 0; c < nc; c++) {
      const PetscInt to = place ? place[i] : i, from = place ? place[cols[c]] : cols[c];
      const PetscInt p = (PetscInt)((PetscInt64)to * np / n);

      if (vals[c] == (PetscScalar)0.0 || p != (PetscInt)((PetscInt64)from * np / n)) continue;
      own[2 * p]     = PetscMax(own[2 * p], to - from);
      own[2 * p + 1] = PetscMax(own[2 * p + 1], from - to);
    }
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
  }
  for (PetscInt p = 0; p < np; p++) sum += Work(own[2 * p], own[2 * p + 1]);
  *share = sum / (np * Work(k[0], k[1]));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Laplacian of the graph of the nonzeros of A and of its transpose */
static PetscErrorCode Laplacian(Mat A, Mat *L)
{
  Mat             T;
  PetscInt        n;
  PetscScalar    *a;
  const PetscInt *ai, *aj;
  PetscBool       done;

  PetscFunctionBeginUser;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, L));
  PetscCall(MatEliminateZeros(*L, PETSC_TRUE));
  PetscCall(MatGetRowIJ(*L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscCall(MatSeqAIJGetArray(*L, &a));
  for (PetscInt k = 0; k < ai[n]; k++) a[k] = -1.0;
  PetscCall(MatSeqAIJRestoreArray(*L, &a));
  PetscCall(MatRestoreRowIJ(*L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscCall(MatTranspose(*L, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(*L, 1.0, T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
  PetscCall(MatShift(*L, 0.0));
  PetscCall(MatGetRowIJ(*L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscCall(MatSeqAIJGetArray(*L, &a));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = ai[i]; k < ai[i + 1]; k++) a[k] = aj[k] == i ? (PetscReal)(ai[i + 1] - ai[i] - 1) : -1.0;
  PetscCall(MatSeqAIJRestoreArray(*L, &a));
  PetscCall(MatRestoreRowIJ(*L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscCall(MatSetOption(*L, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* component[i]: which connected part of the graph row i is in */
static PetscErrorCode Components(Mat L, PetscInt *component, PetscInt *count)
{
  PetscInt        n, *queue;
  const PetscInt *ai, *aj;
  PetscBool       done;

  PetscFunctionBeginUser;
  PetscCall(MatGetRowIJ(L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscCall(PetscMalloc1(n, &queue));
  for (PetscInt i = 0; i < n; i++) component[i] = -1;
  *count = 0;
  for (PetscInt i = 0; i < n; i++) {
    PetscInt head = 0, tail = 0;

    if (component[i] >= 0) continue;
    component[i]  = *count;
    queue[tail++] = i;
    while (head < tail) {
      const PetscInt r = queue[head++];

      for (PetscInt k = ai[r]; k < ai[r + 1]; k++)
        if (component[aj[k]] < 0) {
          component[aj[k]] = *count;
          queue[tail++]    = aj[k];
        }
    }
    (*count)++;
  }
  PetscCall(PetscFree(queue));
  PetscCall(MatRestoreRowIJ(L, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- x less its mean in each component, with norm 1 there */
static PetscErrorCode Deflate(PetscInt n, const PetscInt *component, PetscInt count, PetscReal *work, Vec x)
{
  PetscReal   *sum = work, *size = work + count;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetArray(x, &a));
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscCall(PetscArrayzero(work, 2 * count));
    for (PetscInt i = 0; i < n; i++) {
      sum[component[i]] += pass ? PetscSqr(PetscRealPart(a[i])) : PetscRealPart(a[i]);
      size[component[i]] += 1;
    }
    for (PetscInt i = 0; i < n; i++) {
      const PetscInt c = component[i];

      if (!pass) a[i] -= sum[c] / size[c];
      else if (sum[c] > 0) a[i] /= PetscSqrtReal(sum[c]);
    }
  }
  PetscCall(VecRestoreArray(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* place[i] by the Fiedler vector of each component, by inverse iteration from the places in `first` */
static PetscErrorCode OrderSpectral(Mat L, const PetscInt *first, PetscInt steps, PetscInt *place, PetscReal *quotient)
{
  KSP          ksp;
  PC           pc;
  Vec          x, b;
  PetscInt     n, *component, count = 0, *index;
  PetscReal   *work, *key, most     = 0.0;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(L, &n, NULL));
  PetscCall(PetscMalloc4(n, &component, 2 * n, &work, n, &key, n, &index));
  PetscCall(Components(L, component, &count));
  PetscCall(MatCreateVecs(L, &x, &b));
  PetscCall(VecGetArrayWrite(b, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = (PetscReal)first[i];
  PetscCall(VecRestoreArrayWrite(b, &a));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, L, L));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, 1e-5, 0.0, PETSC_CURRENT, 5000));
  for (PetscInt s = 0; s < steps; s++) {
    PetscCall(Deflate(n, component, count, work, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(VecCopy(x, b));
  }
  PetscCall(Deflate(n, component, count, work, b));
  PetscCall(MatMult(L, b, x));
  {
    PetscScalar num, den;

    PetscCall(VecDot(x, b, &num));
    PetscCall(VecDot(b, b, &den));
    *quotient = PetscRealPart(num) / PetscMax(PetscRealPart(den), PETSC_SMALL);
  }
  PetscCall(VecGetArray(b, &a));
  for (PetscInt i = 0; i < n; i++) most = PetscMax(most, PetscAbsScalar(a[i]));
  for (PetscInt i = 0; i < n; i++) {
    key[i]   = 4 * most * component[i] + PetscRealPart(a[i]);
    index[i] = i;
  }
  PetscCall(VecRestoreArray(b, &a));
  PetscCall(PetscSortRealWithPermutation(n, key, index));
  for (PetscInt i = 0; i < n; i++) place[index[i]] = i;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PetscFree4(component, work, key, index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Places(Mat A, PetscInt *place)
{
  IS              r, c;
  const PetscInt *perm;
  PetscInt        n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOrdering(A, MATORDERINGRCM, &r, &c));
  PetscCall(ISGetIndices(r, &perm));
  for (PetscInt i = 0; i < n; i++) place[perm[i]] = i;
  PetscCall(ISRestoreIndices(r, &perm));
  PetscCall(ISDestroy(&r));
  PetscCall(ISDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Row(const char name[], Mat A, void *ctx)
{
  const Options *o = (const Options *)ctx;
  Mat            L;
  PetscInt       n, *lower, *rcm, *spectral, best = 0, k[4][2];
  PetscReal      work[4], own[3], quotient;
  PetscLogDouble t[3];
  char           text[4][32];

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscMalloc3(n, &lower, n, &rcm, n, &spectral));
  PetscCall(Laplacian(A, &L));
  PetscCall(GetBand(A, NULL, k[0]));
  PetscCall(Places(A, lower));
  PetscCall(GetBand(A, lower, k[1]));
  PetscCall(PetscTime(&t[0]));
  PetscCall(Places(L, rcm));
  PetscCall(PetscTime(&t[1]));
  PetscCall(GetBand(A, rcm, k[2]));
  PetscCall(OrderSpectral(L, rcm, o->steps, spectral, &quotient));
  PetscCall(PetscTime(&t[2]));
  PetscCall(GetBand(A, spectral, k[3]));
  for (PetscInt m = 0; m < 4; m++) {
    work[m] = Work(k[m][0], k[m][1]);
    if (work[m] < work[best]) best = m;
    PetscCall(PetscSNPrintf(text[m], sizeof(text[m]), "%d,%d", (int)k[m][0], (int)k[m][1]));
  }
  for (PetscInt m = 0; m < 3; m++) {
    const PetscInt counts[] = {8, 32, 132}, K = PetscMax(k[best][0], k[best][1]);

    own[m] = 0;
    if (counts[m] * 2 * K <= n)
      PetscCall(OwnBands(A,
                         best == 0   ? NULL
                         : best == 1 ? lower
                         : best == 2 ? rcm
                                     : spectral,
                         k[best], counts[m], &own[m]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%-16s %7" PetscInt_FMT " %11s %11s %11s %11s %7.2f %8.1f  %6.2f %6.2f %6.2f\n", name, n,
                        text[0], text[1], text[2], text[3],
                        (double)(work[3] / PetscMin(work[0], PetscMin(work[1], work[2]))),
                        (t[2] - t[1]) / PetscMax(t[1] - t[0], 1e-6), (double)own[0], (double)own[1], (double)own[2]));
  PetscCall(PetscFree3(lower, rcm, spectral));
  PetscCall(MatDestroy(&L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FromPoints(PetscInt n, const PetscReal x[], const PetscReal y[], PetscReal radius, Mat *A)
{
  const PetscInt cells = PetscMax(1, (PetscInt)(1 / radius));
  PetscInt      *head, *next;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(cells * cells, &head, n, &next));
  for (PetscInt c = 0; c < cells * cells; c++) head[c] = -1;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt c = PetscMin(cells - 1, (PetscInt)(x[i] * cells)) +
                       cells * PetscMin(cells - 1, (PetscInt)(y[i] * cells));

    next[i] = head[c];
    head[c] = i;
  }
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 30, NULL, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt cx = PetscMin(cells - 1, (PetscInt)(x[i] * cells)),
                   cy = PetscMin(cells - 1, (PetscInt)(y[i] * cells));

    for (PetscInt v = PetscMax(0, cy - 1); v <= PetscMin(cells - 1, cy + 1); v++)
      for (PetscInt u = PetscMax(0, cx - 1); u <= PetscMin(cells - 1, cx + 1); u++)
        for (PetscInt j = head[u + cells * v]; j >= 0; j = next[j])
          if (PetscSqr(x[i] - x[j]) + PetscSqr(y[i] - y[j]) <= radius * radius)
            PetscCall(MatSetValue(*A, i, j, i == j ? 20.0 : -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree2(head, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a shape in the unit square, in random order: a square, a long strip, an L, a ring, a ring with arms */
static PetscErrorCode MakeMesh(PetscInt rows, PetscInt shape, PetscBool grid, Mat *A)
{
  const PetscInt lines = (PetscInt)PetscSqrtReal((PetscReal)rows * (shape == 0   ? 1
                                                                    : shape == 1 ? 16
                                                                    : shape == 2 ? 2
                                                                                 : 4));
  PetscReal     *x, *y;
  PetscInt       n = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(lines * lines, &x, lines * lines, &y));
  for (PetscInt i = 0; i < lines; i++)
    for (PetscInt j = 0; j < lines; j++) {
      const PetscReal u = grid ? (i + 0.5) / lines : Random(2 * (i * lines + j)),
                      v = grid ? (j + 0.5) / lines : Random(2 * (i * lines + j) + 1),
                      r = PetscSqrtReal(PetscSqr(u - 0.5) + PetscSqr(v - 0.5));
      PetscBool in      = PETSC_TRUE;

      if (shape == 1) in = (PetscBool)(v < 1.0 / 16);
      if (shape == 2) in = (PetscBool)(u < 0.3 || v < 0.3);
      if (shape == 3) in = (PetscBool)(r < 0.45 && r > 0.35);
      if (shape == 4)
        in = (PetscBool)((r < 0.3 && r > 0.22) || PetscAbsReal(u - 0.5) < 0.04 || PetscAbsReal(v - 0.5) < 0.04);
      if (!in) continue;
      x[n]   = u;
      y[n++] = v;
    }
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt  j  = PetscMin(i, (PetscInt)(Random(7 * i + 5) * (i + 1)));
    const PetscReal tx = x[i], ty = y[i];

    x[i] = x[j];
    y[i] = y[j];
    x[j] = tx;
    y[j] = ty;
  }
  PetscCall(FromPoints(n, x, y, (grid ? 1.1 : 1.6) / lines, A));
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const shapes[]                = {"square", "strip", "L", "ring", "ring with arms"};
  char              dir[PETSC_MAX_PATH_LEN] = "";
  const char       *env;
  PetscInt          rows = 20000;
  Options           o    = {12};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  env = getenv("SPIKE_MATRICES");
  if (env) PetscCall(PetscStrncpy(dir, env, sizeof(dir)));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &o.steps, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "half-bandwidths; spectral: work of the band over the least of the others, time over RCM's\n"
                        "own bands: work where each partition has its own, over that of one band; 0: too few rows\n\n"
                        "%-16s %7s %11s %11s %11s %11s %7s %8s  %6s %6s %6s\n",
                        "", "rows", "natural", "rcm of A", "A + A^T", "spectral", "work", "time", "8", "32", "132"));
  if (dir[0]) PetscCall(ForEachMatrix(dir, 16, Row, &o));
  for (PetscInt g = 0; g < 2; g++)
    for (PetscInt s = 0; s < 5; s++) {
      char name[32];
      Mat  A;

      PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", shapes[s], g ? "" : "*"));
      PetscCall(MakeMesh(rows, s, (PetscBool)g, &A));
      PetscCall(Row(name, A, &o));
      PetscCall(MatDestroy(&A));
    }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "*: random points, coupled within 1.6 of their mean distance; others: grids of 5 points\n"));
  PetscCall(PetscFinalize());
  return 0;
}
