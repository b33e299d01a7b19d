/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostmatching.c: tests of maximum product matchings: against all permutations of small matrices, against a matching of
  largest size, by the scales, which prove that no other product is larger, and against dense shortest paths; prints TAP
*/
static char help[] = "Tests of src/common/matching.h on random sparse matrices.\n\n";

#include "common/matching.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAXROWS 60

static PetscInt           number = 0, failed = 0;
static unsigned long long state = 1;

static void Report(const char *what, PetscInt ncases, PetscInt nbad)
{
  if (nbad || !ncases) failed++;
  printf("%s %d - matching: %s # %d cases, %d bad\n", nbad || !ncases ? "not ok" : "ok", (int)++number, what,
         (int)ncases, (int)nbad);
}

/* Uniform in [0, 1) */
static double Random(void)
{
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(state >> 11) / 9007199254740992.0;
}

/* A random matrix, dense for the checks and in CSR for the function; exponents of its entries up to `range` */
typedef struct {
  PetscInt    n, ai[MAXROWS + 1], aj[MAXROWS * MAXROWS];
  PetscScalar aa[MAXROWS * MAXROWS];
  double      a[MAXROWS][MAXROWS];
} Problem;

static void Make(PetscInt n, double density, double range, PetscBool zeros, Problem *P)
{
  P->n     = n;
  P->ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    P->ai[i + 1] = P->ai[i];
    for (PetscInt j = 0; j < n; j++) {
      const double value = (Random() < 0.5 ? -1 : 1) * exp(range * (Random() - 0.5) * log(10.0));

      P->a[i][j] = 0.0;
      if (Random() >= density) continue;
      P->aj[P->ai[i + 1]] = j;
      P->aa[P->ai[i + 1]] = zeros && Random() < 0.2 ? 0.0 : (PetscScalar)value;
      P->a[i][j]          = (double)PetscAbsScalar(P->aa[P->ai[i + 1]++]);
    }
  }
}

/* Rows that have a partner in a matching of largest size (augmenting paths) */
static PetscBool Augment(const Problem *P, PetscInt i, PetscBool seen[], PetscInt row[])
{
  for (PetscInt j = 0; j < P->n; j++) {
    if (P->a[i][j] == 0.0 || seen[j]) continue;
    seen[j] = PETSC_TRUE;
    if (row[j] < 0 || Augment(P, row[j], seen, row)) {
      row[j] = i;
      return PETSC_TRUE;
    }
  }
  return PETSC_FALSE;
}

static PetscInt MostOf(const Problem *P)
{
  PetscInt row[MAXROWS], most = 0;

  for (PetscInt j = 0; j < P->n; j++) row[j] = -1;
  for (PetscInt i = 0; i < P->n; i++) {
    PetscBool seen[MAXROWS] = {PETSC_FALSE};

    most += Augment(P, i, seen, row);
  }
  return most;
}

/* The logarithm of the largest product over all permutations of rows i, ..., n - 1 and the columns that are left */
static double BestProduct(const Problem *P, PetscInt i, unsigned int left)
{
  double best = -HUGE_VAL;

  if (i == P->n) return 0.0;
  for (PetscInt j = 0; j < P->n; j++)
    if ((left >> j & 1) && P->a[i][j] > 0.0)
      best = fmax(best, log(P->a[i][j]) + BestProduct(P, i + 1, left & ~(1u << j)));
  return best;
}

/*
  Whether it is a permutation, has as many partners as can be, and scales that prove it: no scaled entry above 2, none
  that is matched below 1/2, unless powers of two do not reach so far
*/
static PetscBool Good(const Problem *P, const PetscInt col[], const PetscReal r[], const PetscReal c[],
                      PetscInt unmatched, const PetscInt first[])
{
  PetscBool used[MAXROWS] = {PETSC_FALSE};
  PetscInt  without       = 0;
  const int most          = PetscDefined(USE_REAL_SINGLE) ? 120 : 1000;
  PetscBool reach         = PETSC_TRUE;
  int       er, ec;

  for (PetscInt i = 0; i < P->n; i++) {
    if (col[i] < 0 || col[i] >= P->n || used[col[i]]) return PETSC_FALSE;
    used[col[i]] = PETSC_TRUE;
    if (frexp((double)r[i], &er) != 0.5 || frexp((double)c[i], &ec) != 0.5) return PETSC_FALSE;
    if (abs(er - 1) >= most || abs(ec - 1) >= most) reach = PETSC_FALSE;
    if (P->a[i][col[i]] != 0.0) continue;
    if (without < SPIKE_MATCHING_NAMED && first[without] != i) return PETSC_FALSE;
    without++;
  }
  for (PetscInt k = without; k < SPIKE_MATCHING_NAMED; k++)
    if (first[k] != -1) return PETSC_FALSE;
  if (without != unmatched || P->n - unmatched != MostOf(P)) return PETSC_FALSE;
  for (PetscInt i = 0; i < P->n && !unmatched && reach; i++)
    for (PetscInt j = 0; j < P->n; j++) {
      const double scaled = P->a[i][j] * (double)r[i] * (double)c[j];

      if (scaled > 2 * (1 + 1e-6) || (j == col[i] && scaled < 0.5 * (1 - 1e-6))) return PETSC_FALSE;
    }
  return PETSC_TRUE;
}

#define LARGE 260

/*
  The least cost of an assignment by dense shortest paths (H. W. Kuhn's method with potentials), rows one after the
  other; HUGE_VAL where there is none
*/
static double Least(PetscInt n, const double *cost)
{
  static double   u[LARGE + 1], v[LARGE + 1], dist[LARGE + 1];
  static PetscInt row[LARGE + 1], from[LARGE + 1];
  double          sum = 0.0;

  for (PetscInt j = 0; j <= n; j++) u[j] = v[j] = 0.0, row[j] = -1;
  for (PetscInt i = 0; i < n; i++) {
    PetscBool used[LARGE + 1] = {PETSC_FALSE};
    PetscInt  j               = n; /* a column beside the others, which row i begins in */

    row[n] = i;
    for (PetscInt l = 0; l < n; l++) dist[l] = HUGE_VAL;
    do {
      double   delta = HUGE_VAL;
      PetscInt next  = -1;

      used[j] = PETSC_TRUE;
      for (PetscInt l = 0; l < n; l++) {
        const double d = cost[row[j] * n + l] - u[row[j]] - v[l];

        if (used[l]) continue;
        if (d < dist[l]) dist[l] = d, from[l] = j;
        if (dist[l] < delta) delta = dist[l], next = l;
      }
      if (next < 0) return HUGE_VAL;
      for (PetscInt l = 0; l <= n; l++) {
        if (used[l]) u[row[l]] += delta, v[l] -= delta;
        else dist[l] -= delta;
      }
      j = next;
    } while (row[j] >= 0);
    for (; j != n; j = from[j]) row[j] = row[from[j]];
  }
  for (PetscInt j = 0; j < n; j++) sum += cost[row[j] * n + j];
  return sum;
}

/*
  Larger matrices, for which paths alone would take long: entries anywhere, around the diagonal but not on it, of few
  magnitudes, a column in two entries of a row, with rows that have no partner
*/
static PetscErrorCode TestLarge(void)
{
  PetscInt    *ai, *aj, *col;
  PetscScalar *aa;
  PetscReal   *r, *c;
  double      *cost;
  PetscInt     cases[2] = {0}, bad[2] = {0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(LARGE + 1, &ai, LARGE * 21, &aj, LARGE * 21, &aa, LARGE * LARGE, &cost));
  PetscCall(PetscMalloc3(LARGE, &col, LARGE, &r, LARGE, &c));
  for (int k = 0; k < 160; k++) {
    const PetscInt n = 1 + (PetscInt)(Random() * LARGE), a = k % 2 ? 5 : 20;
    const int      kind    = k % 5;
    const PetscInt hidden  = kind == 4 ? -1 : (PetscInt)(Random() * (double)n);
    const double   range   = k % 3 ? 1.0 : 20.0;
    double         product = 0.0, best;
    SpikeCSR       A;
    PetscInt       unmatched, first[SPIKE_MATCHING_NAMED], nz = 0, without = 0;
    PetscBool      finite, *used;

    for (PetscInt l = 0; l < n * n; l++) cost[l] = HUGE_VAL;
    for (PetscInt i = 0; i < n; i++) {
      ai[i] = nz;
      for (PetscInt l = 0; l < a + 1; l++) {
        PetscInt j     = (PetscInt)(Random() * (double)n);
        double   value = kind == 1 ? ldexp(1.0, (int)(Random() * 3)) : exp(range * (Random() - 0.5));

        if (kind == 2 || kind == 3) j = (i + 20 * n + (l % 2 ? -1 : 1) * (1 + l / 2)) % n;
        if (l == a && hidden < 0) continue;
        if (l == a) j = (i + hidden) % n; /* all rows have partners */
        value           = (double)(PetscReal)value;
        aj[nz]          = j;
        aa[nz++]        = (PetscScalar)(Random() < 0.5 ? -value : value);
        cost[i * n + j] = fmin(cost[i * n + j], -log(value));
      }
    }
    ai[n] = nz;
    PetscCall(PetscMemzero(&A, sizeof(A)));
    A.ai = ai;
    A.aj = aj;
    A.aa = aa;
    PetscCall(SpikeMatching(n, &A, col, r, c, &unmatched, first, &finite));
    PetscCall(PetscCalloc1(n, &used));
    cases[0]++;
    for (PetscInt i = 0; i < n; i++) {
      if (col[i] < 0 || col[i] >= n || used[col[i]]) {
        bad[0]++;
        break;
      }
      used[col[i]] = PETSC_TRUE;
      if (cost[i * n + col[i]] < HUGE_VAL) product += cost[i * n + col[i]];
      else without++;
    }
    PetscCall(PetscFree(used));
    bad[0] += !finite || without != unmatched || (unmatched > 0) != (first[0] >= 0);
    best = Least(n, cost);
    bad[0] += (best < HUGE_VAL) != !unmatched;
    if (unmatched) continue;
    cases[1]++;
    bad[1] += !(fabs(product - best) <= (PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-9) * (1 + fabs(best)));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt l = ai[i]; l < ai[i + 1]; l++) {
        const double scaled = (double)PetscAbsScalar(aa[l]) * (double)r[i] * (double)c[aj[l]];

        bad[1] += scaled > 2 * (1 + 1e-6);
      }
  }
  Report("larger ones: a permutation, with a row left where there must be one", cases[0], bad[0]);
  Report("larger ones: the largest product, by another algorithm, and scales", cases[1], bad[1]);
  PetscCall(PetscFree4(ai, aj, aa, cost));
  PetscCall(PetscFree3(col, r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(void)
{
  static Problem P;
  PetscInt       cases[4] = {0}, bad[4] = {0};

  PetscFunctionBegin;
  for (int k = 0; k < 4000; k++) {
    const PetscInt n     = k < 40 ? k % 4 : k % 2 ? (PetscInt)(1 + Random() * 6) : (PetscInt)(Random() * MAXROWS);
    const double   range = k % 3 ? 4.0 : PetscDefined(USE_REAL_SINGLE) ? 30.0 : 300.0;
    SpikeCSR       A;
    PetscInt       col[MAXROWS], unmatched, first[SPIKE_MATCHING_NAMED];
    PetscReal      r[MAXROWS], c[MAXROWS];
    PetscBool      finite;

    Make(n, 0.05 + Random() * (k % 5 ? 0.3 : 0.95), range, (PetscBool)(k % 7 == 0), &P);
    PetscCall(PetscMemzero(&A, sizeof(A)));
    A.ai = P.ai;
    A.aj = P.aj;
    A.aa = P.aa;
    PetscCall(SpikeMatching(n, &A, col, r, c, &unmatched, first, &finite));
    cases[0]++;
    bad[0] += !finite || !Good(&P, col, r, c, unmatched, first);
    if (n <= 7 && !unmatched) {
      double product = 0.0, best = BestProduct(&P, 0, (1u << n) - 1);

      for (PetscInt i = 0; i < n; i++) product += log(P.a[i][col[i]]);
      cases[1]++;
      bad[1] += !(fabs(product - best) <= 1e-4 * (1 + fabs(best)) * (PetscDefined(USE_REAL_SINGLE) ? 1 : 1e-6));
    }
    if (n && P.ai[n]) { /* an entry that is no number, or infinite */
      P.aa[(PetscInt)(Random() * P.ai[n])] = (PetscScalar)(k % 2 ? NAN : HUGE_VAL);
      PetscCall(SpikeMatching(n, &A, col, r, c, &unmatched, first, &finite));
      cases[2]++;
      bad[2] += finite;
    }
    /* a dominant diagonal stays where it is */
    for (PetscInt i = 0; i < n; i++) {
      P.ai[i + 1] = P.ai[i];
      for (PetscInt j = 0; j < n; j++) {
        if (i != j && Random() < 0.7) continue;
        P.aj[P.ai[i + 1]]   = j;
        P.aa[P.ai[i + 1]++] = i == j ? (PetscScalar)(2.0 * MAXROWS) : (PetscScalar)(Random() - 0.5);
      }
    }
    PetscCall(SpikeMatching(n, &A, col, r, c, &unmatched, first, &finite));
    cases[3]++;
    for (PetscInt i = 0; i < n; i++) {
      if (col[i] == i) continue;
      bad[3]++;
      break;
    }
  }
  Report("a permutation of most partners, whose scales prove that it is the best", cases[0], bad[0]);
  Report("the largest product of all permutations", cases[1], bad[1]);
  Report("entries that are not finite are seen", cases[2], bad[2]);
  Report("a dominant diagonal stays", cases[3], bad[3]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(Test());
  PetscCall(TestLarge());
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
