/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_lines.c: the ordering along strong couplings: what it finds, and what PCSPIKE makes of it */
static char help[] = "Paths of random graphs against dense references, PCSPIKE against the band that is left,\n\
changes of values and patterns, blocks, refused input.\n\n";

#include "spiketest.h"
#include "spikefailure.h"
#include "viewtext.h"

static const PetscReal tol = PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-11;

typedef struct {
  PetscInt  n, bs, neighbours; /* vertices of each rank, rows of one, about so many couplings of one */
  PetscBool hard;              /* one-sided couplings, stored zeros, missing diagonal entries, equal weights */
  PetscInt  seed;
} Graph;

/* Rows of each rank, n > 0 of the first or of all but one (skip), coupled within it and a little to anybody */
static PetscErrorCode GraphMat(MPI_Comm comm, const Graph *g, PetscMPIInt skip, PetscInt direction, Mat *A)
{
  PetscMPIInt rank, size;
  PetscInt    start, nv, N, bs = g->bs;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  nv = rank == skip && size > 1 ? 0 : g->n;
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, nv * bs, nv * bs, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &start, NULL));
  PetscCall(MatGetSize(*A, &N, NULL));
  for (PetscInt v = 0; v < nv; v++) {
    PetscReal sum = 1.0;

    for (PetscInt k = 0; k < g->neighbours; k++) {
      const PetscInt  u    = SpikeTestPick(g->seed, v + start, k, nv);
      const PetscReal size = g->hard && k % 2 ? 1.0 : PetscPowReal(10, SpikeTestUniform(g->seed + 1, v + start, k));

      if (u == v) continue;
      for (PetscInt r = 0; r < bs; r++)
        for (PetscInt c = 0; c < bs; c++) {
          const PetscInt    i = start + v * bs + r, j = start + u * bs + c;
          const PetscScalar a = size * (g->hard && k % 2 ? 1.0 : SpikeTestScalar(g->seed + 2 + direction, i, j));

          PetscCall(MatSetValue(*A, i, j, a, INSERT_VALUES));
          if (!g->hard || k % 3) PetscCall(MatSetValue(*A, j, i, 0.5 * a, INSERT_VALUES));
          if (g->hard && k == 3) PetscCall(MatSetValue(*A, i, j, 0.0, INSERT_VALUES));
        }
    }
    if (v % 5 == 0)
      for (PetscInt r = 0; r < bs; r++)
        PetscCall(MatSetValue(*A, start + v * bs + r, SpikeTestPick(g->seed + 9, v + start, 0, N),
                              (20.0 + SpikeTestUniform(g->seed + 8, v + start, r)) * g->neighbours, INSERT_VALUES));
    for (PetscInt r = 0; r < bs; r++)
      for (PetscInt c = 0; c < bs; c++) {
        sum = 25.0 * bs * g->neighbours;
        if (g->hard && bs > 1 && (v + c) % 3 == 0) continue;
        PetscCall(MatSetValue(*A, start + v * bs + r, start + v * bs + c, r == c ? sum : 1.0, INSERT_VALUES));
      }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w[nv * nv]: the weights of strong couplings of a matrix on one rank, 0: not strong */
static PetscErrorCode Weights(Mat A, PetscInt bs, PetscReal threshold, PetscReal w[])
{
  PetscInt   n, nv;
  PetscReal *b;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  nv = n / bs;
  PetscCall(PetscCalloc1(nv * nv, &b));
  PetscCall(PetscArrayzero(w, nv * nv));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    for (PetscInt k = 0; k < nc; k++) b[i / bs * nv + cols[k] / bs] += PetscAbsScalar(vals[k]);
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
  }
  for (PetscInt v = 0; v < nv; v++) {
    PetscReal most = 0.0, own = b[v * nv + v];

    for (PetscInt u = 0; u < nv; u++)
      if (u != v) most = PetscMax(most, b[v * nv + u]);
    if (own == 0.0) own = most;
    for (PetscInt u = 0; u < nv; u++)
      if (u != v && b[v * nv + u] > 0.0 && b[v * nv + u] >= threshold * most) {
        w[v * nv + u] += b[v * nv + u] / own;
        w[u * nv + v] += b[v * nv + u] / own;
      }
  }
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt Root(const PetscInt parent[], PetscInt v)
{
  while (parent[v] != v) v = parent[v];
  return v;
}

/* The weight of couplings taken from the strongest to the weakest, by the definition */
static PetscErrorCode OrderGreedily(PetscInt nv, const PetscReal w[], PetscReal *total)
{
  PetscInt *degree, *parent;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(nv, &degree));
  PetscCall(PetscMalloc1(nv, &parent));
  for (PetscInt v = 0; v < nv; v++) parent[v] = v;
  for (*total = 0.0;;) {
    PetscReal most = 0.0;
    PetscInt  a = -1, b = -1;

    for (PetscInt v = 0; v < nv; v++)
      for (PetscInt u = v + 1; u < nv && degree[v] < 2; u++)
        if (w[v * nv + u] > most && degree[u] < 2 && Root(parent, u) != Root(parent, v)) {
          most = w[v * nv + u];
          a    = v;
          b    = u;
        }
    if (a < 0) break;
    degree[a]++;
    degree[b]++;
    parent[Root(parent, a)] = Root(parent, b);
    *total += most;
  }
  PetscCall(PetscFree(degree));
  PetscCall(PetscFree(parent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  place of vertices: strong couplings of neighbours in the order are the chosen ones. No other one may be left that two
  ends of different paths have, nor may they weigh less than the greedy ones, of which equal weights leave several
*/
static PetscErrorCode CheckForest(PetscInt nv, const PetscInt vertex[], const PetscReal w[], PetscBool ties,
                                  const char where[])
{
  PetscInt *path, *degree;
  PetscReal total = 0.0, greedy = 0.0;
  PetscBool maximal = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(nv, &path, nv, &degree));
  for (PetscInt k = 0; k + 1 < nv; k++) {
    const PetscReal here = w[vertex[k] * nv + vertex[k + 1]];

    path[vertex[k + 1]] = path[vertex[k]] + (here == 0.0);
    total += here;
    degree[vertex[k]] += here > 0.0;
    degree[vertex[k + 1]] += here > 0.0;
  }
  for (PetscInt v = 0; v < nv; v++)
    for (PetscInt u = 0; u < nv; u++)
      if (w[v * nv + u] > 0.0 && degree[u] < 2 && degree[v] < 2 && path[u] != path[v]) maximal = PETSC_FALSE;
  PetscCall(SpikeTestCheck(maximal, "%s: a strong coupling of two ends is left", where));
  PetscCall(OrderGreedily(nv, w, &greedy));
  PetscCall(SpikeTestCheck((PetscBool)(total >= (ties ? 0.5 : 0.9999) * greedy), "%s: weight %g, greedy %g", where,
                           (double)total, (double)greedy));
  PetscCall(PetscFree2(path, degree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatGetOrdering() on one rank */
static PetscErrorCode TestForest(void)
{
  const PetscInt    sizes[]      = {1, 2, 3, 10, 41, 90};
  const char *const thresholds[] = {"0", "0.25", "1"};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (PetscInt kind = 0; kind < 10; kind++) {
      Graph           g = {sizes[s], 1 + kind % 3, 1 + kind % 5, (PetscBool)(kind > 4), 100 * kind};
      Mat             A;
      IS              row, col;
      const PetscInt *perm;
      PetscInt       *vertex, n = g.n * g.bs;
      PetscReal      *w;
      PetscBool       same, blocks = PETSC_TRUE, permutation;
      char            where[96];

      PetscCall(GraphMat(PETSC_COMM_SELF, &g, -1, 0, &A));
      PetscCall(MatSetOptionsPrefix(A, "g_"));
      PetscCall(PetscMalloc2(g.n, &vertex, g.n * g.n, &w));
      for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(thresholds); t++) {
        PetscCall(PetscOptionsSetValue(NULL, "-g_mat_ordering_lines_threshold", thresholds[t]));
        PetscCall(PetscSNPrintf(where, sizeof(where), "%d vertices of %d rows, kind %d, threshold %s", (int)g.n,
                                (int)g.bs, (int)kind, thresholds[t]));
        PetscCall(MatGetOrdering(A, MATORDERINGLINES, &row, &col));
        PetscCall(ISEqual(row, col, &same));
        PetscCall(ISGetInfo(row, IS_PERMUTATION, IS_LOCAL, PETSC_TRUE, &permutation));
        PetscCall(SpikeTestCheck((PetscBool)(same && permutation), "%s: no symmetric permutation", where));
        PetscCall(ISGetIndices(row, &perm));
        for (PetscInt i = 0; i < n; i++) {
          vertex[i / g.bs] = perm[i] / g.bs;
          if (perm[i] != perm[i - i % g.bs] + i % g.bs) blocks = PETSC_FALSE;
        }
        PetscCall(SpikeTestCheck(blocks, "%s: rows of a block have left it", where));
        PetscCall(Weights(A, g.bs, t == 0 ? 0.0 : t == 1 ? 0.25 : 1.0, w));
        PetscCall(CheckForest(g.n, vertex, w, g.hard, where));
        PetscCall(ISRestoreIndices(row, &perm));
        PetscCall(ISDestroy(&row));
        PetscCall(ISDestroy(&col));
      }
      PetscCall(PetscFree2(vertex, w));
      PetscCall(MatDestroy(&A));
    }
  PetscCall(PetscOptionsClearValue(NULL, "-g_mat_ordering_lines_threshold"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `rings` rings of n rows each, in hidden order; a ring is coupled to the next one, by weaker entries */
static PetscErrorCode RingsMat(PetscInt n, PetscInt rings, Mat *A)
{
  const PetscInt N = n * rings;
  PetscInt       step;

  PetscFunctionBegin;
  for (step = PetscMax(1, N / 3); step < N; step++) { /* prime to N */
    PetscInt a = N, b = step;

    while (b) {
      const PetscInt c = a % b;

      a = b;
      b = c;
    }
    if (a == 1) break;
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, N, N, N, N));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 5, NULL));
  for (PetscInt k = 0; k < N; k++) {
    const PetscInt r = k / n, i = k % n, other[] = {r * n + (i + 1) % n, (r + 1) % rings * n + i};

    PetscCall(MatSetValue(*A, step * k % N, step * k % N, 40.0, INSERT_VALUES));
    for (int e = 0; e < 2; e++) {
      const PetscReal a = (e ? 0.5 : 2.0) + 0.4 * SpikeTestUniform(r, i, e);

      if (other[e] == k) continue;
      PetscCall(MatSetValue(*A, step * k % N, step * other[e] % N, -a, INSERT_VALUES));
      PetscCall(MatSetValue(*A, step * other[e] % N, step * k % N, -a, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n rows with up to 2 `neighbours` couplings each, on both sides of a diagonal that is larger than all; equal: of 1 */
static PetscErrorCode DominantMat(PetscInt n, PetscInt neighbours, PetscBool equal, PetscInt seed, Mat *A)
{
  PetscReal *sum;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &sum));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(SpikeTestSetMatType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = 0; k < neighbours; k++) {
      const PetscInt  j = SpikeTestPick(seed, i, k, n);
      const PetscReal a = equal ? 1.0 : PetscPowReal(10, SpikeTestUniform(seed + 1, i, k));

      if (j == i) continue;
      PetscCall(MatSetValue(*A, i, j, -a, INSERT_VALUES));
      PetscCall(MatSetValue(*A, j, i, equal ? -a : -a * (1.5 + SpikeTestUniform(seed + 2, i, k)), INSERT_VALUES));
      sum[i] += 3 * a;
      sum[j] += 3 * a;
    }
  for (PetscInt i = 0; i < n; i++) PetscCall(MatSetValue(*A, i, i, 1 + sum[i], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree(sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix is on a device */
static PetscErrorCode OnDevice(Mat A, PetscBool *device)
{
  MatType type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrendswith(type, "aijcusparse", device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -ksp_view says whether a device has found the paths */
static PetscErrorCode CheckFinder(PC pc, PetscBool device, const char where[])
{
  char        text[4096];
  const char *found;

  PetscFunctionBegin;
  PetscCall(ViewText(pc, sizeof(text), text));
  found = strstr(text, "found on GPUs");
  PetscCall(SpikeTestCheck((PetscBool)((found != NULL) == device), "%s: paths are found on the %s", where,
                           found ? "device" : "host"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The forest in the order of PCSPIKE, by whatever looks for it; a device leaves one that need not be the greedy one.
  There: matrices on a device have their paths found there
*/
static PetscErrorCode CheckPaths(Mat A, PetscBool there, const char where[])
{
  const PetscReal thresholds[] = {0.0, 0.25, 1.0};
  PC              pc;
  IS              rows;
  const PetscInt *row;
  PetscInt        n;
  PetscReal      *w;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(OnDevice(A, &device));
  PetscCall(PetscMalloc1(n * n, &w));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGLINES));
  PetscCall(PCSetOperators(pc, A, A));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(thresholds); t++) {
    PetscCall(PCSpikeSetLinesThreshold(pc, thresholds[t]));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSpikeGetOrdering(pc, &rows, NULL, NULL, NULL));
    PetscCall(ISGetIndices(rows, &row));
    PetscCall(Weights(A, 1, thresholds[t], w));
    PetscCall(CheckForest(n, row, w, PETSC_TRUE, where));
    if (there && n > 1) PetscCall(CheckFinder(pc, device, where));
    PetscCall(ISRestoreIndices(rows, &row));
    PetscCall(ISDestroy(&rows));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random graphs, one-sided ones too, and rings, of which each has to be broken, and may close again with others */
static PetscErrorCode TestPaths(void)
{
  const PetscInt sizes[] = {1, 2, 3, 10, 41, 90, 257}, rings[][2] = {{3, 1}, {4, 4}, {64, 3}, {5, 40}, {300, 1}};
  Mat            A;
  char           where[96];

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (PetscInt kind = 0; kind < 10; kind++) {
      const Graph g = {sizes[s], 1, 1 + kind % 5, (PetscBool)(kind > 4), 300 + 10 * kind};

      PetscCall(PetscSNPrintf(where, sizeof(where), "paths of %d rows, kind %d", (int)g.n, (int)kind));
      PetscCall(GraphMat(PETSC_COMM_SELF, &g, -1, 0, &A));
      PetscCall(CheckPaths(A, PETSC_FALSE, where));
      PetscCall(MatDestroy(&A));
      PetscCall(PetscSNPrintf(where, sizeof(where), "paths of %d dominant rows, kind %d", (int)g.n, (int)kind));
      PetscCall(DominantMat(g.n, 1 + 4 * (kind % 5), g.hard, g.seed, &A)); /* up to about 34 couplings a row */
      PetscCall(CheckPaths(A, PETSC_TRUE, where));
      PetscCall(MatDestroy(&A));
    }
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(rings); s++) {
    PetscCall(PetscSNPrintf(where, sizeof(where), "%d rings of %d rows", (int)rings[s][1], (int)rings[s][0]));
    PetscCall(RingsMat(rings[s][0], rings[s][1], &A));
    PetscCall(CheckPaths(A, PETSC_TRUE, where));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCSPIKE factors, in the order of A: entries of a rank's rows not more than K places apart, and how many parts */
static PetscErrorCode BandMat(PC pc, Mat A, PetscInt K, Mat *T, PetscInt *parts, PetscReal *dropped)
{
  IS              rows;
  const PetscInt *row;
  PetscInt        start, end, n, *place;
  PetscReal       sum[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  n = end - start;
  PetscCall(PCSpikeGetOrdering(pc, &rows, NULL, NULL, NULL));
  PetscCall(ISGetIndices(rows, &row));
  PetscCall(PetscMalloc1(n, &place));
  for (PetscInt k = 0; k < n; k++) place[row[k] - start] = k;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), T));
  PetscCall(MatSetSizes(*T, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(SpikeTestSetMatType(*T, MATAIJ));
  PetscCall(MatSetUp(*T));
  PetscCall(MatSetOption(*T, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  *parts = n;
  for (PetscInt i = start; i < end; i++) {
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscInt           nc, k = place[i - start];
    PetscBool          before = PETSC_FALSE;

    PetscCall(MatGetRow(A, i, &nc, &cols, &vals));
    for (PetscInt c = 0; c < nc; c++) {
      sum[0] += PetscAbsScalar(vals[c]);
      if (cols[c] < start || cols[c] >= end || PetscAbsInt(place[cols[c] - start] - k) > K) {
        sum[1] += PetscAbsScalar(vals[c]);
        continue;
      }
      PetscCall(MatSetValue(*T, i, cols[c], vals[c], INSERT_VALUES));
      if (place[cols[c] - start] == k - 1 && vals[c] != (PetscScalar)0.0) before = PETSC_TRUE;
    }
    PetscCall(MatRestoreRow(A, i, &nc, &cols, &vals));
    if (k > 0 && !before) { /* perhaps the row before is coupled to this one */
      PetscCall(MatGetRow(A, row[k - 1], &nc, &cols, &vals));
      for (PetscInt c = 0; c < nc; c++)
        if (cols[c] == i && vals[c] != (PetscScalar)0.0) before = PETSC_TRUE;
      PetscCall(MatRestoreRow(A, row[k - 1], &nc, &cols, &vals));
    }
    *parts -= before;
  }
  PetscCall(MatAssemblyBegin(*T, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*T, MAT_FINAL_ASSEMBLY));
  PetscCall(ISRestoreIndices(rows, &row));
  PetscCall(ISDestroy(&rows));
  PetscCall(PetscFree(place));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, parts, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  *dropped = sum[0] > 0.0 ? sum[1] / sum[0] : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An application is the inverse of that band, transposed too, and of several columns at once */
static PetscErrorCode CheckBand(PC pc, Mat A, PetscInt K, const char where[])
{
  Mat         T;
  Vec         x, y, z;
  PetscInt    parts = 0, local;
  PetscReal   eta = 0.0, dropped = 0.0;
  PCSpikeInfo info;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(BandMat(pc, A, K, &T, &parts, &dropped));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.kl == K && info.ku == K), "%s: half-bandwidths %d,%d, not %d", where,
                           (int)info.kl, (int)info.ku, (int)K));
  PetscCall(PCSpikeGetLocalPartitions(pc, &local));
  if (K == 1 && local == PETSC_DECIDE)
    PetscCall(
      SpikeTestCheck((PetscBool)(info.systems == parts), "%s: %d systems of %d", where, (int)info.systems, (int)parts));
  PetscCall(SpikeTestCheck((PetscBool)(PetscAbsReal(info.dropped - dropped) <= 100 * PETSC_MACHINE_EPSILON),
                           "%s: dropped share %g, not %g", where, (double)info.dropped, (double)dropped));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(SpikeTestSetRandom(x, 5));
  for (int trans = 0; trans < 2; trans++) {
    PetscCall(trans ? MatMultTranspose(T, x, y) : MatMult(T, x, y));
    PetscCall(trans ? PCApplyTranspose(pc, y, z) : PCApply(pc, y, z));
    /* paths of blocks may be nearly singular, and their factors grow somewhat, without row exchanges */
    PetscCall(SpikeTestBackwardError(T, (PetscBool)trans, y, z, &eta));
    PetscCall(SpikeTestSmall(eta, 0.01 * tol * PetscMin(PetscMax(1.0, info.growth), 1e3),
                             trans ? "transposed inverse" : "inverse", where));
  }
  PetscCall(SpikeTestColumns(pc, 5, tol, where));
  PetscCall(SpikeTestBackend(pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LinesPC(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(*pc, MATORDERINGLINES));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes, blocks, ranks without rows, options beside it */
static PetscErrorCode TestBand(void)
{
  const PetscInt sizes[] = {1, 2, 3, 33, 200};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (PetscInt kind = 0; kind < 6; kind++) {
      Graph          g  = {sizes[s], 1 + kind % 3, 3, PETSC_FALSE, 77 + kind};
      const PetscInt nv = g.n * (size > 1 && kind > 2 ? size - 1 : size), K = PetscMin(2 * g.bs - 1, nv * g.bs - 1);
      Mat            A;
      PC             pc;
      char           where[96];

      PetscCall(PetscSNPrintf(where, sizeof(where), "%d vertices of %d rows on a rank, kind %d", (int)g.n, (int)g.bs,
                              (int)kind));
      PetscCall(GraphMat(PETSC_COMM_WORLD, &g, kind > 2 ? 0 : -1, 0, &A));
      PetscCall(LinesPC(A, &pc));
      PetscCall(CheckBand(pc, A, K, where));
      if (g.bs > 1 && nv > 1) { /* less than blocks need: rows by themselves */
        PetscCall(PCSpikeSetBandwidth(pc, 1, 1));
        PetscCall(CheckBand(pc, A, 1, where));
      } else if (g.n > 3) {
        PetscCall(PCSpikeSetBandwidth(pc, 3, 3));
        PetscCall(CheckBand(pc, A, 3, where));
        PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
        PetscCall(PCSpikeSetLocalPartitions(pc, 2)); /* one may begin inside of a path */
        PetscCall(PCSpikeSetType(pc, PC_SPIKE_FULL));
        PetscCall(CheckBand(pc, A, K, where));
        PetscCall(PCSpikeSetLocalPartitions(pc, PETSC_DECIDE));
        PetscCall(PCSpikeSetType(pc, PC_SPIKE_BLOCK));
        PetscCall(CheckBand(pc, A, K, where));
        PetscCall(PCSpikeSetType(pc, PC_SPIKE_AUTO));
        PetscCall(PCSpikeSetFactorType(pc, PC_SPIKE_FACTOR_LU));
        PetscCall(PCSpikeSetPivoting(pc, PETSC_TRUE));
        PetscCall(CheckBand(pc, A, K, where));
      }
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two setups have the same order */
static PetscErrorCode SameOrder(PC pc, IS *before, PetscBool *same)
{
  IS now;

  PetscFunctionBegin;
  PetscCall(PCSpikeGetOrdering(pc, &now, NULL, NULL, NULL));
  *same = PETSC_FALSE;
  if (*before) PetscCall(ISEqualUnsorted(now, *before, same));
  PetscCall(ISDestroy(before));
  *before = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values keep the paths, a new pattern, another threshold and another ordering do not */
static PetscErrorCode TestChange(void)
{
  Graph       g      = {150, 1, 4, PETSC_FALSE, 5};
  IS          before = NULL;
  Mat         A, B;
  PC          pc;
  PetscBool   same;
  PCSpikeInfo first, info;

  PetscFunctionBegin;
  PetscCall(GraphMat(PETSC_COMM_WORLD, &g, -1, 0, &A));
  PetscCall(GraphMat(PETSC_COMM_WORLD, &g, -1, 50, &B)); /* the same pattern, and other strong couplings */
  PetscCall(LinesPC(A, &pc));
  PetscCall(CheckBand(pc, A, 1, "first values"));
  PetscCall(PCSpikeGetInfo(pc, &first));
  PetscCall(SameOrder(pc, &before, &same));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(CheckBand(pc, A, 1, "other values"));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SameOrder(pc, &before, &same));
  PetscCall(SpikeTestCheck((PetscBool)(same && info.rebuilds == first.rebuilds && info.refills == first.refills + 1),
                           "other values: paths are looked for again"));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(CheckBand(pc, A, 1, "other values from scratch"));
  PetscCall(SameOrder(pc, &before, &same));
  PetscCall(SpikeTestCheck((PetscBool)!same, "other values from scratch: the old paths"));
  PetscCall(PCSpikeSetLinesThreshold(pc, 1.0));
  PetscCall(CheckBand(pc, A, 1, "another threshold"));
  PetscCall(SameOrder(pc, &before, &same));
  PetscCall(SpikeTestCheck((PetscBool)!same, "another threshold: the old paths"));
  g.seed++;
  PetscCall(MatDestroy(&B));
  PetscCall(GraphMat(PETSC_COMM_WORLD, &g, -1, 0, &B));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(CheckBand(pc, B, 1, "another pattern"));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetBandwidth(pc, 2, 2));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(!info.reordered && info.kl == 2), "natural ordering after paths"));
  PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGLINES));
  PetscCall(CheckBand(pc, B, 1, "paths after the natural ordering"));
  PetscCall(ISDestroy(&before));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other types of matrices, also of no rows; lines that are there already stay where they are */
static PetscErrorCode TestTypes(void)
{
  const char *const types[]  = {MATDIA, MATBAIJ};
  const PetscInt    layout[] = {48, 0};
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int t = 0; t < 2; t++)
    for (int l = 0; l < 2; l++) {
      SpikeTestBand b = {layout[l] * size, 6, 6, 1.2, SPIKE_TEST_SLOW, 3};
      Mat           A, B;
      PC            pc;
      PCSpikeInfo   info;

      PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &b, layout[l], MATAIJ, &A));
      PetscCall(MatConvert(A, t ? types[t] : SpikeTestDiaType(), MAT_INITIAL_MATRIX, &B));
      PetscCall(LinesPC(B, &pc));
      if (b.n) PetscCall(CheckBand(pc, A, 1, types[t]));
      else PetscCall(PCSetUp(pc));
      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(SpikeTestCheck((PetscBool)(b.n || !info.systems), "%s: systems of no rows", types[t]));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
  if (size == 1) {
    SpikeTestBand b = {60, 1, 1, 1.2, SPIKE_TEST_SLOW, 3};
    Mat           A, B;
    PC            pc;
    IS            row, col;
    PetscInt      n;
    PetscBool     identity;
    PCSpikeInfo   info;

    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &b, PETSC_DECIDE, MATAIJ, &A));
    PetscCall(LinesPC(A, &pc));
    PetscCall(CheckBand(pc, A, 1, "one path"));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(!info.reordered && info.dropped == 0.0), "one path: moved or dropped"));
    PetscCall(MatSetBlockSize(A, 3));
    PetscCall(MatConvert(A, MATSEQBAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatGetOrdering(B, MATORDERINGLINES, &row, &col));
    PetscCall(ISGetSize(row, &n));
    PetscCall(ISIdentity(row, &identity));
    PetscCall(SpikeTestCheck((PetscBool)(n == 20 && identity), "%d blocks, or moved", (int)n));
    PetscCall(ISDestroy(&row));
    PetscCall(ISDestroy(&col));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  Graph          g = {40, 1, 3, PETSC_FALSE, 9};
  Mat            A, B;
  PC             pc, other;
  IS             row, col, places;
  PetscReal      threshold;
  PetscBool      same, device;
  PCFailedReason reason;
  PetscInt       start;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(GraphMat(PETSC_COMM_WORLD, &g, -1, 0, &A));
  PetscCall(LinesPC(A, &pc));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "1.5", PCSpikeSetLinesThreshold(pc, 1.5));
  EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "-0.5", PCSpikeSetLinesThreshold(pc, -0.5));
  PetscCall(PCSpikeGetLinesThreshold(pc, &threshold));
  PetscCall(SpikeTestCheck((PetscBool)(threshold == (PetscReal)0.25), "threshold %g", (double)threshold));
  PetscCall(PCSpikeSetLinesThreshold(pc, 0.125));
  PetscCall(PCSpikeSetLinesThreshold(pc, PETSC_DECIDE));
  PetscCall(PCSpikeGetLinesThreshold(pc, &threshold));
  PetscCall(SpikeTestCheck((PetscBool)(threshold == (PetscReal)0.25), "PETSC_DECIDE: %g", (double)threshold));
  PetscCall(CheckBand(pc, A, 1, "after refused thresholds"));
  PetscCall(PCSpikeGetOrdering(pc, &places, NULL, NULL, NULL));
  PetscCall(MatGetOrdering(A, MATORDERINGLINES, &row, &col));
  PetscCall(ISEqualUnsorted(row, places, &same));
  PetscCall(OnDevice(A, &device)); /* which has paths of its own */
  PetscCall(SpikeTestCheck((PetscBool)(same || device), "MatGetOrdering() has other paths than PCSPIKE"));
  PetscCall(ISDestroy(&places));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  if (size == 1) {
    PetscCall(PetscOptionsSetValue(NULL, "-mat_ordering_lines_threshold", "2"));
    EXPECT(PETSC_ERR_ARG_OUTOFRANGE, "lines_threshold 2", MatGetOrdering(A, MATORDERINGLINES, &row, &col));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_ordering_lines_threshold"));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &other));
  PetscCall(PCSetType(other, PCBLOCKILU));
  PetscCall(PCFactorSetMatOrderingType(other, MATORDERINGLINES));
  PetscCall(PCSetOperators(other, A, A));
  EXPECT(PETSC_ERR_SUP, "goes by values", PCSetUp(other));
  PetscCall(PCDestroy(&other));

  /* values that are no numbers, and good ones after them */
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(A, &start, NULL));
  for (int setup = 0; setup < 2; setup++) {
    PetscCall(MatSetValue(A, start + 3, start + 3, NAN, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    if (setup) {
      PetscCall(PCReset(pc));
      PetscCall(PCSetOperators(pc, A, A));
    }
    PetscCall(PCSetUp(pc));
    PetscCall(PCReduceFailedReason(pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    PetscCall(SpikeTestCheck((PetscBool)(reason == PC_FACTOR_OTHER), "failed reason %d of NaN", (int)reason));
    PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
    PetscCall(CheckBand(pc, A, 1, "after NaN"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -view: what PCView() says */
static PetscErrorCode TestView(void)
{
  Graph g = {40, 1, 4, PETSC_FALSE, 12};
  Mat   A;
  PC    pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bs", &g.bs, NULL));
  PetscCall(GraphMat(PETSC_COMM_WORLD, &g, -1, 0, &A));
  PetscCall(LinesPC(A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool view = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  if (view) PetscCall(TestView());
  else {
    PetscCall(TestForest());
    PetscCall(TestPaths());
    PetscCall(TestBand());
    PetscCall(TestChange());
    PetscCall(TestTypes());
    PetscCall(TestRefused());
    PetscCall(SpikeTestEnd("spike_lines"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_lines_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun
         args: -mat_type aijcusparse -dia_type diacuda

   test:
      suffix: view
      nsize: 2
      requires: double !complex
      args: -view -bs {{1 2}separate output}
      filter: sed -e "s@ = precond matrix@, which is also used to construct the preconditioner@" \
        -e "s@[0-9]* bytes@N bytes@g" -e "s@|a_ij| [0-9].*e.*@|a_ij| N@" -e "s@M^-1|| .*@M^-1|| N@"

TEST*/
