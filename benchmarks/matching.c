/* SPDX-License-Identifier: BSD-2-Clause */
/* matching.c: maximum product matchings of src/common/matching.h, generated matrices and real ones */
static char help[] = "Processor time of a matching with scales. bar: 1e7 entries in 3 s; a figure below 1 misses it.\n"
                     "  entries    million entries; ns: time for an entry; without: rows without a partner\n"
                     "  mean log   of the magnitudes on the diagonal: no other permutation has a larger one\n"
                     "  -entries <1e6,1e7>   sizes of the generated matrices\n"
                     "  -kinds <0,1,...>     some kinds only\n"
                     "  -width <5>           half-bandwidth of bands\n"
                     "  -repeat <3>          the best of so many runs\n"
                     "  -dir FOLDER          Matrix Market files, all that it has (default $SPIKE_MATRICES)\n\n";

#include "common/cputime.h"
#include "common/matching.h"
#include "common/matcsr.h"
#include "common/matrixfiles.h"
#include <math.h>

#define MAXSIZES 8

static uint64_t state = 88172645463325252ull;

/* Uniform in [0, 1) */
static double Random(void)
{
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 9007199254740992.0;
}

static PetscInt Below(PetscInt n)
{
  return PetscMin((PetscInt)(Random() * (double)n), n - 1);
}

typedef enum {
  SHUFFLED,   /* a dominant band, rows in random order                               */
  ENTRIES,    /* a band of random entries, rows in random order                      */
  NODIAGONAL, /* a band of random entries without a diagonal                         */
  GRADED,     /* the same, entries from 1e-8 to 1e8                                  */
  ANYWHERE5,  /* five entries in a row, one of them of a hidden permutation          */
  ANYWHERE20, /* twenty                                                              */
  SINGULAR5,  /* five entries in a row, without a permutation                        */
  SADDLE,     /* [A B; B^T 0], A a 5-point operator, B with four entries in a column */
  NKINDS
} Kind;
static const char *const kinds[] = {"shuffled dominant band",    "shuffled random band", "band without a diagonal",
                                    "the same, 1e-8 to 1e8",     "anywhere, 5 a row",    "anywhere, 20 a row",
                                    "anywhere, 5, as they come", "saddle point"};

typedef struct {
  PetscInt     n, *ai, *aj;
  PetscScalar *aa;
} CSR;

static PetscErrorCode Permutation(PetscInt n, PetscInt **p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, p));
  for (PetscInt i = 0; i < n; i++) (*p)[i] = i;
  for (PetscInt i = n - 1; i > 0; i--) {
    const PetscInt j = Below(i + 1), t = (*p)[i];

    (*p)[i] = (*p)[j];
    (*p)[j] = t;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two entries of a row in one column stay two: the larger one counts */
static PetscErrorCode Make(Kind kind, PetscInt nz, PetscInt K, CSR *A)
{
  const PetscInt a = kind == ANYWHERE20 ? 20 : 5;
  const PetscInt n = PetscMax(2 * K + 2, kind < ANYWHERE5 ? nz / (2 * K + 1) : kind == SADDLE ? nz * 5 / 33 : nz / a);
  const PetscInt main = n * 4 / 5, line = (PetscInt)sqrt((double)main);
  PetscInt      *p, k                   = 0;

  PetscFunctionBeginUser;
  A->n = n;
  PetscCall(PetscMalloc3(n + 1, &A->ai, nz + n + 64, &A->aj, nz + n + 64, &A->aa));
  PetscCall(Permutation(n, &p));
  A->ai[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    if (kind < ANYWHERE5) {
      const PetscInt i = kind == SHUFFLED || kind == ENTRIES ? p[r] : r;

      for (PetscInt j = PetscMax(0, i - K); j <= PetscMin(n - 1, i + K); j++) {
        if (i == j && kind >= NODIAGONAL) continue;
        A->aj[k]   = j;
        A->aa[k++] = i == j && kind == SHUFFLED ? 2.0 * (double)K
                   : kind == GRADED             ? exp(36.84 * (Random() - 0.5))
                                                : 2 * Random() - 1;
      }
    } else if (kind < SADDLE) {
      for (PetscInt l = 0; l < a; l++) {
        A->aj[k]   = l || kind == SINGULAR5 ? Below(n) : p[r];
        A->aa[k++] = 2 * Random() - 1;
      }
    } else {
      const PetscInt offsets[] = {-line, -1, 0, 1, line};

      for (int l = 0; l < 5 && r < main; l++) {
        if (r + offsets[l] < 0 || r + offsets[l] >= main) continue;
        A->aj[k]   = r + offsets[l];
        A->aa[k++] = l == 2 ? 4.0 : -1.0;
      }
      for (PetscInt l = 0; l < 4 && r >= main; l++, k++) {
        A->aj[k] = PetscMin(4 * (r - main) + l, main - 1);
        A->aa[k] = l % 2 ? -1.0 : 1.0;
      }
      if (r < main && main + r / 4 < n) {
        A->aj[k]   = main + r / 4;
        A->aa[k++] = r % 4 % 2 ? -1.0 : 1.0;
      }
    }
    A->ai[r + 1] = k;
  }
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest magnitude of entries (i, j); 0: there is none */
static double Entry(const SpikeCSR *A, PetscInt i, PetscInt j)
{
  double a = 0.0;

  for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++)
    if (A->aj[k] == j) a = PetscMax(a, (double)PetscAbsScalar(A->aa[k]));
  return a;
}

static PetscErrorCode Time(const char name[], PetscInt n, const SpikeCSR *A, PetscInt repeat)
{
  PetscInt    *col, unmatched = 0, first[SPIKE_MATCHING_NAMED];
  PetscReal   *r, *c;
  PetscBool    finite;
  const double nz  = (double)A->ai[n];
  double       sum = 0.0, most = 0.0, least = 1e30, best = 1e30, t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &col, n, &r, n, &c));
  for (PetscInt k = 0; k < repeat; k++) {
    t0 = BenchCPUTime();
    PetscCall(SpikeMatching(n, A, col, r, c, &unmatched, first, &finite));
    t1   = BenchCPUTime();
    best = PetscMin(best, t1 - t0);
  }
  for (PetscInt i = 0; i < n; i++) {
    const double a = Entry(A, i, col[i]);

    if (a > 0.0) sum += log(a);
    if (a > 0.0) least = PetscMin(least, a * (double)r[i] * (double)c[col[i]]);
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++)
      most = PetscMax(most, (double)PetscAbsScalar(A->aa[k]) * (double)r[i] * (double)c[A->aj[k]]);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%-26s %9" PetscInt_FMT " %9.4f %8.3f s %7.1f ns %7.2f %8" PetscInt_FMT
                        " %20.12g  %.2f %.2f%s\n",
                        name, n, 1e-6 * nz, best, 1e9 * best / PetscMax(nz, 1), 3e-7 * nz / best, unmatched,
                        sum / PetscMax(1, n - unmatched), least, most,
                        unmatched || (least >= 0.49 && most <= 2.01) ? "" : "  WRONG"));
  PetscCall(PetscFree3(col, r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ctx: how many runs */
static PetscErrorCode TimeMatrix(const char name[], Mat A, void *ctx)
{
  SpikeCSR csr;
  PetscInt rows;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(SpikeMatSeqAIJGetCSR(A, PETSC_MEMTYPE_HOST, &csr));
  PetscCall(Time(name, rows, &csr, *(const PetscInt *)ctx));
  PetscCall(SpikeMatSeqAIJRestoreCSR(A, PETSC_MEMTYPE_HOST, &csr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscReal sizes[MAXSIZES] = {1e6, 1e7};
  PetscInt  some[NKINDS], nsizes = MAXSIZES, nchosen = NKINDS, K = 5, repeat = 3;
  char      dir[PETSC_MAX_PATH_LEN] = "";
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (PetscInt k = 0; k < NKINDS; k++) some[k] = k;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-entries", sizes, &nsizes, &set));
  if (!set) nsizes = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-kinds", some, &nchosen, &set));
  if (!set) nchosen = NKINDS;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-width", &K, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCheck(repeat >= 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-repeat is at least 1");
  PetscCall(PetscOptionsGetenv(PETSC_COMM_SELF, "SPIKE_MATRICES", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-26s %9s %9s %10s %10s %7s %8s %20s  scaled: least matched, most\n", "",
                        "rows", "entries", "", "", "bar", "without", "mean log"));
  for (PetscInt k = 0; k < nchosen; k++) {
    PetscCheck(some[k] >= 0 && some[k] < NKINDS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "No kind %" PetscInt_FMT,
               some[k]);
    for (PetscInt s = 0; s < nsizes; s++) {
      CSR      A = {0, NULL, NULL, NULL};
      SpikeCSR csr;

      PetscCall(Make((Kind)some[k], (PetscInt)sizes[s], K, &A));
      PetscCall(PetscMemzero(&csr, sizeof(csr)));
      csr.ai = A.ai;
      csr.aj = A.aj;
      csr.aa = A.aa;
      PetscCall(Time(kinds[some[k]], A.n, &csr, repeat));
      PetscCall(PetscFree3(A.ai, A.aj, A.aa));
    }
  }
  if (*dir) PetscCall(ForEachMatrix(dir, 26, TimeMatrix, &repeat));
  PetscCall(PetscFinalize());
  return 0;
}
