/* SPDX-License-Identifier: BSD-2-Clause */
/*
  direct.c: complete LU of all tasks as one sparse matrix, in an order that the library finds: by cuDSS on CUDA, by
  PARDISO of MKL on the host
*/
#include "direct.h"
#include "../common/cudss.h"

/* The tasks as one MATSEQAIJ, or a type of the same format */
static PetscErrorCode DirectMatrix(const Ilu *t, MatType type, Mat *A)
{
  const PetscInt bs = t->bs, n = t->nb * bs;
  PetscCount     nz = (PetscCount)t->bi[t->nb] * bs * bs, at = 0;
  PetscInt      *ai, *aj;
  PetscScalar   *a;

  PetscFunctionBeginUser;
  PetscCheck(nz <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscCount_FMT " entries are more than an int counts", nz);
  PetscCall(PetscMalloc3(n + 1, &ai, nz, &aj, nz, &a));
  ai[0] = 0;
  for (PetscInt i = 0; i < t->nb; i++)
    for (PetscInt r = 0; r < bs; r++) {
      for (PetscInt k = t->bi[i]; k < t->bi[i + 1]; k++)
        for (PetscInt c = 0; c < bs; c++, at++) {
          aj[at] = t->bj[k] * bs + c;
          a[at]  = t->ba[((PetscCount)k * bs + c) * bs + r];
        }
      ai[i * bs + r + 1] = (PetscInt)at;
    }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, n, n, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ai, aj, a));
  PetscCall(PetscFree3(ai, aj, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line for the factorization, and one for a solve with one column: x is the solution, ours is in t->hostx */
static PetscErrorCode DirectReport(Ilu *t, Key *key, const char solver[], double factor, double solve,
                                   const PetscScalar *x, const char note[])
{
  PetscFunctionBeginUser;
  key->op         = "factor";
  key->m          = 0;
  key->bytes      = 0.0;
  key->operations = 0.0;
  PetscCall(Report(t->p, key, solver, factor, NAN, NAN, note));
  key->op = "solve";
  key->m  = 1;
  PetscCall(Report(t->p, key, solver, solve, NAN, Difference((PetscCount)t->nb * t->bs, x, t->hostx),
                   "error: what differs from ours"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cuDSS ---- */

static PetscErrorCode DirectCUDSS(Ilu *t, Key *key)
{
  const PetscInt     n = t->nb * t->bs;
  const PetscScalar *array;
  PetscScalar       *into;
  CUDSSSolver        s;
  Mat                A;
  Vec                b, x;
  PetscBool          done;
  double             first, factor, solve;
  char               note[96];

  PetscFunctionBeginUser;
  PetscCall(DirectMatrix(t, MATSEQAIJCUSPARSE, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetArrayWrite(b, &into));
  PetscCall(Download(t->p, t->b, (size_t)n * sizeof(PetscScalar), into));
  PetscCall(VecRestoreArrayWrite(b, &into));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  PetscCall(CUDSSBegin(t->p->run->cudss, A, b, x, &s, &first, &done));
  if (done) {
    PetscCall(CUDSSTime(&s, (int)t->p->run->repeat, A, x, &factor, &solve));
    PetscCall(PetscSNPrintf(note, sizeof(note), "refactorization; with its analysis once %.1f ms", first));
    PetscCall(VecGetArrayRead(x, &array));
    PetscCall(DirectReport(t, key, "cuDSS", factor, solve, array, note));
    PetscCall(VecRestoreArrayRead(x, &array));
    PetscCall(CUDSSEnd(&s));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- PARDISO ---- */

enum {
  PARDISO_ANALYSIS = 11,
  PARDISO_FACTOR   = 22,
  PARDISO_SOLVE    = 33,
  PARDISO_FREE     = -1,
  PARDISO_REAL     = 11, /* kinds of matrices: not symmetric */
  PARDISO_COMPLEX  = 13,
  MKL_SEQUENTIAL   = 1
};

/* Numbers in iparm[]; see the manual of MKL */
enum {
  IPARM_GIVEN        = 0,
  IPARM_ORDER        = 1, /* 0: minimum degree, 2: METIS */
  IPARM_PERTURBATION = 9, /* of pivots: 10^-this */
  IPARM_SINGLE       = 27,
  IPARM_BEGINS_AT_0  = 34,
  IPARM_BLOCKS       = 36 /* their size; 0: CSR of numbers */
};

/* Integers are int: the interface that MKL has by default. Blocks are row-major */
typedef struct {
  void (*call)(void *, const int *, const int *, const int *, const int *, const int *, const PetscScalar *,
               const int *, const int *, int *, const int *, int *, const int *, const PetscScalar *, PetscScalar *,
               int *);
  void              *memory[64];
  int                iparm[64], n, *ai, *aj;
  PetscScalar       *a, *x;
  const PetscScalar *b;
} Pardiso;

static PetscErrorCode PardisoPhase(Pardiso *s, int phase)
{
  const int kind = PetscDefined(USE_COMPLEX) ? PARDISO_COMPLEX : PARDISO_REAL, one = 1, silent = 0;
  int       error = 0;

  PetscFunctionBeginUser;
  (*s->call)(s->memory, &one, &one, &kind, &phase, &s->n, s->a, s->ai, s->aj, NULL, &one, s->iparm, &silent, s->b, s->x,
             &error);
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_LIB, "PARDISO: error %d in phase %d", error, phase);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PardisoFactor(void *ctx, PetscInt k)
{
  PetscFunctionBeginUser;
  (void)k;
  PetscCall(PardisoPhase((Pardiso *)ctx, PARDISO_FACTOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PardisoSolve(void *ctx, PetscInt k)
{
  PetscFunctionBeginUser;
  (void)k;
  PetscCall(PardisoPhase((Pardiso *)ctx, PARDISO_SOLVE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in blocks, and a right-hand side: its first column */
static PetscErrorCode PardisoCreate(const Ilu *t, Pardiso *s)
{
  const PetscInt bs = t->bs, nz = t->bi[t->nb];

  PetscFunctionBeginUser;
  s->n = (int)t->nb;
  s->b = t->b;
  PetscCall(PetscMalloc1(t->nb + 1, &s->ai));
  PetscCall(PetscMalloc1(nz, &s->aj));
  PetscCall(PetscMalloc1((size_t)nz * bs * bs, &s->a));
  PetscCall(PetscMalloc1((size_t)t->nb * bs, &s->x));
  for (PetscInt i = 0; i <= t->nb; i++) s->ai[i] = (int)t->bi[i];
  for (PetscInt k = 0; k < nz; k++) {
    const PetscCount at = (PetscCount)k * bs * bs;

    s->aj[k] = (int)t->bj[k];
    for (PetscInt r = 0; r < bs; r++)
      for (PetscInt c = 0; c < bs; c++) s->a[at + r * bs + c] = t->ba[at + c * bs + r];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PardisoDestroy(Pardiso *s)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(s->ai));
  PetscCall(PetscFree(s->aj));
  PetscCall(PetscFree(s->a));
  PetscCall(PetscFree(s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In each of its orders, on one thread. It looks for no weights of pivots: diagonal blocks are dominant */
static PetscErrorCode DirectPARDISO(Ilu *t, Key *key)
{
  static const char *const names[]  = {"PARDISO degree", "PARDISO METIS"};
  static const int         orders[] = {0, 2};
  void                    *library;
  int (*threads)(int);
  Pardiso s;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(Open(t->p->run->mkl, &library));
  if (!library) PetscFunctionReturn(PETSC_SUCCESS);
  if (!FindSymbol(library, "pardiso", &s.call) || !FindSymbol(library, "MKL_Set_Threading_Layer", &threads)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s has no PARDISO\n", t->p->run->mkl));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck((*threads)(MKL_SEQUENTIAL) == MKL_SEQUENTIAL, PETSC_COMM_SELF, PETSC_ERR_LIB, "MKL takes several threads");
  PetscCall(PardisoCreate(t, &s));
  for (int k = 0; k < 2; k++) {
    double         factor = NAN, solve = NAN;
    char           note[64];
    PetscLogDouble t0, t1;

    PetscCall(PetscMemzero(s.memory, sizeof(s.memory)));
    PetscCall(PetscMemzero(s.iparm, sizeof(s.iparm)));
    s.iparm[IPARM_GIVEN]        = 1;
    s.iparm[IPARM_ORDER]        = orders[k];
    s.iparm[IPARM_PERTURBATION] = 13;
    s.iparm[IPARM_SINGLE]       = PetscDefined(USE_REAL_SINGLE);
    s.iparm[IPARM_BEGINS_AT_0]  = 1;
    s.iparm[IPARM_BLOCKS]       = (int)t->bs;
    PetscCall(PetscTime(&t0));
    PetscCall(PardisoPhase(&s, PARDISO_ANALYSIS));
    PetscCall(PetscTime(&t1));
    PetscCall(PetscSNPrintf(note, sizeof(note), "with the values; its analysis once %.1f ms", 1e3 * (t1 - t0)));
    PetscCall(HostTime(t->p, 1, NULL, PardisoFactor, &s, &factor, NULL));
    PetscCall(HostTime(t->p, 1, NULL, PardisoSolve, &s, &solve, NULL));
    PetscCall(DirectReport(t, key, names[k], factor, solve, s.x, note));
    PetscCall(PardisoPhase(&s, PARDISO_FREE));
  }
  PetscCall(PardisoDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What fails says so, and ends here alone */
PetscErrorCode DirectLines(Ilu *t, Key *key)
{
  const PetscBool cuda = (PetscBool)(t->p->device != NULL);
  PetscErrorCode  ierr;

  PetscFunctionBeginUser;
  if (!*(cuda ? t->p->run->cudss : t->p->run->mkl)) PetscFunctionReturn(PETSC_SUCCESS);
  t->m = 1;
  PetscCall(IluOurs(t));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = cuda ? DirectCUDSS(t, key) : DirectPARDISO(t, key);
  PetscCall(PetscPopErrorHandler());
  if (ierr) PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s fails: error %d\n", cuda ? "cuDSS" : "PARDISO", (int)ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}
