/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fuzz.h: random cases beside a dense reference. A case follows from -seed and its number alone, so that -seed S -case C
  repeats it; all ranks draw the same numbers. -n N: cases, from -first F on. -fuzz_device: matrices on the device
*/
#pragma once

#include "spiketest.h"

typedef struct {
  const char        *name;
  PetscInt           seed, number;
  unsigned long long state;
  PetscBool          device;
} Fuzz;

static Fuzz fuzz_now; /* of errors, which know no case */

/* splitmix64 */
static inline unsigned long long FuzzNext(Fuzz *f)
{
  unsigned long long z = f->state += 0x9E3779B97F4A7C15ULL;

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/* lo <= i <= hi */
static inline PetscInt FuzzInt(Fuzz *f, PetscInt lo, PetscInt hi)
{
  return lo + (PetscInt)(FuzzNext(f) % (unsigned long long)(hi - lo + 1));
}

static inline PetscBool FuzzChance(Fuzz *f, PetscInt percent)
{
  return (PetscBool)(FuzzInt(f, 0, 99) < percent);
}

/* 0 to most, small ones more often */
static inline PetscInt FuzzSize(Fuzz *f, PetscInt most)
{
  return FuzzInt(f, 0, FuzzChance(f, 50) ? PetscMin(most, 24) : most);
}

/* Rows of each rank, some of which have none, for a global length n; mine is returned */
static inline PetscErrorCode FuzzSplit(Fuzz *f, PetscInt n, PetscInt *local)
{
  const PetscBool even = FuzzChance(f, 50);
  PetscInt        left = n;
  PetscMPIInt     rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscMPIInt r = 0; r < size; r++) {
    PetscInt mine = left / (size - r);

    if (!even && r < size - 1) mine = FuzzInt(f, 0, left);
    if (r == rank) *local = mine;
    left -= mine;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FuzzPrintCase(void)
{
  PetscMPIInt size;
  PetscBool   host;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-spike_host_baijcuda", &host));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDOUT,
                         "repeat with: mpiexec -n %d %s -seed %" PetscInt_FMT " -case %" PetscInt_FMT "%s%s\n", size,
                         fuzz_now.name, fuzz_now.seed, fuzz_now.number, fuzz_now.device ? " -fuzz_device" : "",
                         host ? " -spike_host_baijcuda" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error of PETSc ends the run, and says in which case */
static inline PetscErrorCode FuzzError(MPI_Comm comm, int line, const char function[], const char file[],
                                       PetscErrorCode code, PetscErrorType type, const char message[], void *ctx)
{
  if (type == PETSC_ERROR_INITIAL) (void)FuzzPrintCase();
  return PetscTraceBackErrorHandler(comm, line, function, file, code, type, message, ctx);
}

/* value <= tol; NaN fails, with the command that repeats it */
static inline PetscErrorCode FuzzSmall(PetscReal value, PetscReal tol, const char what[], const char where[])
{
  const PetscInt before = spiketest_failures;
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCall(SpikeTestSmall(value, tol, what, where));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (spiketest_failures > before && spiketest_failures <= 40 && !rank) PetscCall(FuzzPrintCase());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y, the rows of this rank from start on, against op(A) x + z of a dense m x n array: |y - ref| <= c n eps |A| |x| */
static inline PetscErrorCode FuzzSameVec(Vec y, PetscInt m, const PetscScalar *ref, PetscReal scale, const char what[],
                                         const char where[])
{
  const PetscScalar *ya;
  PetscInt           begin, end;
  PetscReal          diff = 0.0;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(y, &begin, &end));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = begin; i < end; i++) {
    const PetscReal d = PetscAbsScalar(ya[i - begin] - ref[i]);

    if (!(d <= diff)) diff = PetscIsInfOrNanReal(d) ? PETSC_MAX_REAL : d;
  }
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &diff, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(FuzzSmall(diff, 8.0 * (m + 8) * PETSC_MACHINE_EPSILON * scale, what, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries of a vector on all ranks */
static inline PetscErrorCode FuzzGather(Vec x, PetscScalar *all)
{
  const PetscScalar *a;
  PetscInt           n, begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecGetOwnershipRange(x, &begin, &end));
  PetscCall(PetscArrayzero(all, n));
  PetscCall(VecGetArrayRead(x, &a));
  PetscCall(PetscArraycpy(all + begin, a, end - begin));
  PetscCall(VecRestoreArrayRead(x, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, all, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| <= c n eps (||A|| ||x|| + ||b||), in the infinity norm, of the dense n x n array a */
static inline PetscErrorCode FuzzBackward(PetscInt n, const PetscScalar *a, PetscBool trans, Vec b, Vec x, PetscReal c,
                                          const char what[], const char where[])
{
  PetscScalar *ba, *xa;
  PetscReal    r = 0.0, na = 0.0, nx = 0.0, nb = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &ba, n, &xa));
  PetscCall(FuzzGather(b, ba));
  PetscCall(FuzzGather(x, xa));
  for (PetscInt i = 0; i < n; i++) {
    PetscScalar s   = ba[i];
    PetscReal   row = 0.0, d;

    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar e = trans ? a[j + i * n] : a[i + j * n];

      s -= e * xa[j];
      row += PetscAbsScalar(e);
    }
    d = PetscAbsScalar(s);
    if (!(d <= r)) r = PetscIsInfOrNanReal(d) ? PETSC_MAX_REAL : d;
    na = PetscMax(na, row);
    nx = PetscMax(nx, PetscAbsScalar(xa[i]));
    nb = PetscMax(nb, PetscAbsScalar(ba[i]));
  }
  PetscCall(FuzzSmall(r, c * n * PETSC_MACHINE_EPSILON * (na * nx + nb), what, where));
  PetscCall(PetscFree2(ba, xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The cases of a program, each by its function. -fuzz_print: tells which one begins, for one that does not end */
static inline PetscErrorCode FuzzRun(const char name[], PetscErrorCode (*one)(Fuzz *))
{
  PetscInt  seed = 1, first = 0, n = 200, number = 0;
  PetscBool only, print = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&fuzz_now, sizeof(fuzz_now)));
  fuzz_now.name = name;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-case", &number, &only));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fuzz_device", &fuzz_now.device, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fuzz_print", &print, NULL));
  PetscCall(PetscPushErrorHandler(FuzzError, NULL));
  for (PetscInt k = only ? number : first; k < (only ? number + 1 : first + n); k++) {
    fuzz_now.seed   = seed;
    fuzz_now.number = k;
    fuzz_now.state  = 0xD1B54A32D192ED03ULL * (unsigned long long)seed + 0x8CB92BA72F3D8DD7ULL * (unsigned long long)k;
    if (print) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, PETSC_STDERR, "case %" PetscInt_FMT "\n", k));
    PetscCall((*one)(&fuzz_now));
  }
  PetscCall(PetscPopErrorHandler());
  PetscCall(SpikeTestEnd(name));
  PetscFunctionReturn(PETSC_SUCCESS);
}
