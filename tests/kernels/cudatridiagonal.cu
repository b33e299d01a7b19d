/* SPDX-License-Identifier: BSD-2-Clause */
/* cudatridiagonal.cu: tests of the CUDA backend of tridiagonal.h against the host's, by backward errors; prints TAP */
static char help[] = "Tridiagonal systems of the CUDA backend against the host's.\n\n";

#include "../../benchmarks/tridiagonal/cuda/once.cu"
#include "../tridiagonalcase.h"
#include <petscdevice_cuda.h>
#include <vector>

static int  number = 0, failed = 0, reported = 0;
static bool between = false; /* a setup of other systems comes between a setup and its solution */

static void Report(bool ok, const char what[], double worst)
{
  if (!ok) failed++;
  printf("%s %d - %s # worst %.2g\n", ok ? "ok" : "not ok", ++number, what, worst);
}

static PetscErrorCode Put(const std::vector<PetscScalar> &a, PetscScalar **d)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc((void **)d, (a.size() + 1) * sizeof(PetscScalar)));
  PetscCallCUDA(cudaMemcpy(*d, a.data(), a.size() * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setup of one system of 16 rows */
static PetscErrorCode Another(PCSpikeTridiagonalType type)
{
  const PetscInt           start[2] = {0, 16};
  std::vector<PetscScalar> dl(16, -1.0), d(16, 4.0);
  PetscScalar             *ddl, *dd;
  SpikeTridiagonal         t     = {};
  SpikePivot               pivot = {};

  PetscFunctionBegin;
  PetscCall(Put(dl, &ddl));
  PetscCall(Put(d, &dd));
  t.nsys        = 1;
  t.start       = start;
  t.type        = type;
  t.switchpoint = t.chunk = t.longest = PETSC_DECIDE;
  t.maxrhs                            = 1;
  t.k                                 = &SpikeTridiagonalKernels_CUDA;
  PetscCall((*t.k->create)(&t));
  PetscCall((*t.k->setup)(&t, ddl, dd, ddl, &pivot));
  PetscCall((*t.k->report)(&t, &pivot));
  PetscCall((*t.k->destroy)(&t));
  PetscCallCUDA(cudaFree(ddl));
  PetscCallCUDA(cudaFree(dd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PCSpikeTridiagonalType type, PetscBool pivoting, TriKind kind,
                           const std::vector<PetscInt> &length, double *worst, PetscInt *bad)
{
  std::vector<PetscInt>    start(1, 0);
  std::vector<PetscScalar> dl, d, du, b, x, y;
  SpikeTridiagonal         t[2];
  PetscInt                 n, nrhs = 3, ldb, ldx;
  PetscScalar             *ddl, *dd, *ddu, *db, *dx;
  SpikePivot               pivot[2];
  Once                     once;

  /*
    without exchanges, and without dominance, errors depend on where pieces begin: the host's with other chunks differ
    as much
  */
  PetscReal lost = kind == TRI_CLOSE ? 2000 : 100;

  PetscFunctionBegin;
  for (PetscInt m : length) start.push_back(start.back() + m);
  n   = start.back();
  ldb = n + 3;
  ldx = n + 5;
  dl.resize(n + 1);
  d.resize(n + 1);
  du.resize(n + 1);
  for (size_t i = 0; i < length.size(); i++)
    TriFill(kind, 11 + (PetscInt64)i, length[i], dl.data() + start[i], d.data() + start[i], du.data() + start[i]);
  b.resize(nrhs * ldb);
  for (size_t i = 0; i < b.size(); i++) b[i] = TriRandom(5, (PetscInt64)i);
  x.assign(nrhs * ldx, 7.0);
  y = x;
  PetscCall(Put(dl, &ddl));
  PetscCall(Put(d, &dd));
  PetscCall(Put(du, &ddu));
  PetscCall(Put(b, &db));
  PetscCall(Put(x, &dx));
  for (int k = 0; k < 2; k++) {
    memset((void *)&t[k], 0, sizeof(t[k]));
    memset((void *)&pivot[k], 0, sizeof(pivot[k]));
    t[k].nsys        = (PetscInt)length.size();
    t[k].start       = start.data();
    t[k].type        = type == PC_SPIKE_TRIDIAGONAL_AUTO && !k ? PC_SPIKE_TRIDIAGONAL_PARTITION : type;
    t[k].switchpoint = t[k].chunk = t[k].longest = PETSC_DECIDE;
    t[k].pivoting                                = pivoting;
    t[k].maxrhs                                  = 2;
    t[k].k                                       = k ? &SpikeTridiagonalKernels_CUDA : &SpikeTridiagonalKernels_Host;
    PetscCall((*t[k].k->create)(&t[k]));
  }
  PetscCall((*t[0].k->setup)(&t[0], dl.data(), d.data(), du.data(), &pivot[0]));
  PetscCall((*t[1].k->setup)(&t[1], ddl, dd, ddu, &pivot[1]));
  if (between) PetscCall(Another(type));
  PetscCall((*t[1].k->report)(&t[1], &pivot[1]));
  if (pivot[1].badrow >= 0) { /* other interiors than the host's: one may be singular where the system is not */
    reported++;
    if (kind != TRI_ZEROS || pivoting || pivot[1].badvalue != (PetscReal)0.0) ++*bad;
  }
  for (int trans = 0; trans < 2 && pivot[1].badrow < 0; trans++) {
    PetscCall((*t[0].k->apply)(&t[0], (PetscBool)trans, nrhs, b.data(), ldb, x.data(), ldx));
    PetscCall((*t[1].k->apply)(&t[1], (PetscBool)trans, nrhs, db, ldb, dx, ldx));
    PetscCallCUDA(cudaMemcpy(y.data(), dx, y.size() * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    for (PetscInt c = 0; c < nrhs; c++) {
      for (size_t i = 0; i < length.size(); i++) {
        const PetscReal h = TriBackward((PetscBool)trans, length[i], dl.data() + start[i], d.data() + start[i],
                                        du.data() + start[i], b.data() + c * ldb + start[i],
                                        x.data() + c * ldx + start[i]);
        const PetscReal g = TriBackward((PetscBool)trans, length[i], dl.data() + start[i], d.data() + start[i],
                                        du.data() + start[i], b.data() + c * ldb + start[i],
                                        y.data() + c * ldx + start[i]);
        const double    e = (double)(g / (100 * h + lost * PETSC_MACHINE_EPSILON));

        if (!(e <= 1.0)) ++*bad;
        if (!(e <= *worst)) *worst = e;
        if (!(e <= 1.0) && *bad < 4)
          printf("# %s, system %d of %d rows, column %d, trans %d: %g, host %g\n", trikinds[kind], (int)i,
                 (int)length[i], (int)c, trans, (double)g, (double)h);
      }
      for (PetscInt i = n; i < ldx; i++)
        if (y[c * ldx + i] != (PetscScalar)7.0) ++*bad;
    }
    x.assign(nrhs * ldx, 7.0);
    PetscCallCUDA(cudaMemcpy(dx, x.data(), x.size() * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  }
  if (n) { /* both at once, in place */
    PetscCallCUDA(cudaMemcpy(dx, b.data(), n * sizeof(PetscScalar), cudaMemcpyHostToDevice));
    PetscCall(OnceCreate(&t[1], &once));
    PetscCall(OnceSolve(&once, ddl, dd, ddu, &pivot[1], dx, dx));
    PetscCall((*t[0].k->apply)(&t[0], PETSC_FALSE, 1, b.data(), ldb, x.data(), ldx));
    PetscCallCUDA(cudaMemcpy(y.data(), dx, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    PetscCall((*t[1].k->report)(&t[1], &pivot[1]));
    PetscCall(OnceDestroy(&once));
    if (pivot[1].badrow >= 0) { /* other pieces than those of setup() */
      reported++;
      if (kind != TRI_ZEROS || pivot[1].badvalue != (PetscReal)0.0) ++*bad;
    }
    for (size_t i = 0; i < length.size() && pivot[1].badrow < 0; i++) {
      const PetscReal h = TriBackward(PETSC_FALSE, length[i], dl.data() + start[i], d.data() + start[i],
                                      du.data() + start[i], b.data() + start[i], x.data() + start[i]);
      const PetscReal g = TriBackward(PETSC_FALSE, length[i], dl.data() + start[i], d.data() + start[i],
                                      du.data() + start[i], b.data() + start[i], y.data() + start[i]);
      const double    e = (double)(g / (100 * h + lost * PETSC_MACHINE_EPSILON));

      if (!(e <= 1.0)) ++*bad;
      if (!(e <= *worst)) *worst = e;
      if (!(e <= 1.0) && *bad < 4)
        printf("# %s, system %d of %d rows, at once: %g, host %g\n", trikinds[kind], (int)i, (int)length[i], (double)g,
               (double)h);
    }
  }
  for (int k = 0; k < 2; k++) PetscCall((*t[k].k->destroy)(&t[k]));
  PetscCallCUDA(cudaFree(ddl));
  PetscCallCUDA(cudaFree(dd));
  PetscCallCUDA(cudaFree(ddu));
  PetscCallCUDA(cudaFree(db));
  PetscCallCUDA(cudaFree(dx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lengths of systems, -1 after the last of a batch; with -small only a few of them */
static const int batches[] = {-1,   0,   -1,   1,   -1,   2,  -1,   3,    -1,   7,    -1,   64,   -1, 1023, -1,
                              1024, -1,  1025, -1,  1026, -1, 2048, -1,   2049, -1,   4999, -1,   0,  5,    0,
                              -1,   33,  33,   33,  33,   -1, 512,  512,  512,  512,  512,  -1,   17, 0,    1,
                              2,    300, 3,    129, 1,    64, 0,    2000, 5,    1024, 1024, 3000, 1,  -1};
static const int few[]     = {-1, 1, -1, 1025, -1, 17, 0, 1, 300, 2000, 5, 1024, -1};

static PetscErrorCode TestBatches(PCSpikeTridiagonalType type, PetscBool pivoting, TriKind kind, PetscBool small)
{
  const int            *all   = small ? few : batches;
  const size_t          count = small ? sizeof(few) / sizeof(*few) : sizeof(batches) / sizeof(*batches);
  double                worst = 0.0;
  PetscInt              bad   = 0;
  char                  what[64];
  std::vector<PetscInt> length;

  PetscFunctionBegin;
  for (size_t i = 0; i < count; i++) {
    if (all[i] >= 0) length.push_back(all[i]);
    else {
      PetscCall(Case(type, pivoting, kind, length, &worst, &bad));
      length.clear();
    }
  }
  snprintf(what, sizeof(what), "%s%s, %s", PCSpikeTridiagonalTypes[type], pivoting ? " with row exchanges" : "",
           trikinds[kind]);
  Report(!bad, what, worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InTurn(PCSpikeTridiagonalType type)
{
  const std::vector<PetscInt> length(3, 1024);
  double                      worst = 0.0;
  PetscInt                    bad   = 0;
  char                        what[64];

  PetscFunctionBegin;
  between = true;
  PetscCall(Case(type, PETSC_FALSE, TRI_DOMINANT, length, &worst, &bad));
  between = false;
  snprintf(what, sizeof(what), "%s, another setup before the solution", PCSpikeTridiagonalTypes[type]);
  Report(!bad, what, worst);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One system whose separators of tiles have separators of tiles: setup and solution at once, kernels close after */
static PetscErrorCode Long(PetscInt n)
{
  const PetscInt           start[2] = {0, n};
  std::vector<PetscScalar> dl(n + 1), d(n + 1), du(n + 1), b(n), x(n);
  PetscScalar             *ddl, *dd, *ddu, *db, *dx;
  SpikeTridiagonal         t     = {};
  SpikePivot               pivot = {};
  Once                     once;
  double                   worst = 0.0;

  PetscFunctionBegin;
  TriFill(TRI_DOMINANT, 17, n, dl.data(), d.data(), du.data());
  PetscCall(Put(dl, &ddl));
  PetscCall(Put(d, &dd));
  PetscCall(Put(du, &ddu));
  PetscCall(Put(x, &dx));
  t.nsys        = 1;
  t.start       = start;
  t.type        = PC_SPIKE_TRIDIAGONAL_AUTO;
  t.switchpoint = t.chunk = t.longest = PETSC_DECIDE;
  t.maxrhs                            = 1;
  t.k                                 = &SpikeTridiagonalKernels_CUDA;
  PetscCall((*t.k->create)(&t));
  PetscCall(OnceCreate(&t, &once));
  for (int again = 0; again < 10; again++) {
    for (PetscInt i = 0; i < n; i++) b[i] = TriRandom(5 + again, (PetscInt64)i);
    PetscCall(Put(b, &db));
    PetscCall(OnceSolve(&once, ddl, dd, ddu, &pivot, db, dx));
    PetscCallCUDA(cudaMemcpy(x.data(), dx, n * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
    PetscCallCUDA(cudaFree(db));
    const PetscReal e = TriBackward(PETSC_FALSE, n, dl.data(), d.data(), du.data(), b.data(), x.data());

    if (!(e <= worst)) worst = (double)e;
  }
  Report(worst <= 100 * PETSC_MACHINE_EPSILON, "one long system, at once", worst);
  PetscCall(OnceDestroy(&once));
  PetscCall((*t.k->destroy)(&t));
  for (PetscScalar *p : {ddl, dd, ddu, dx}) PetscCallCUDA(cudaFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
#if !defined(SPIKE_EMULATED)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  for (PCSpikeTridiagonalType type :
       {PC_SPIKE_TRIDIAGONAL_AUTO, PC_SPIKE_TRIDIAGONAL_THOMAS, PC_SPIKE_TRIDIAGONAL_TWOWAY, PC_SPIKE_TRIDIAGONAL_CR,
        PC_SPIKE_TRIDIAGONAL_PCR, PC_SPIKE_TRIDIAGONAL_RD, PC_SPIKE_TRIDIAGONAL_CRPCR}) {
    for (TriKind kind : {TRI_DOMINANT, TRI_POISSON, TRI_UPWIND, TRI_GRADED, TRI_CLOSE, TRI_ZEROS})
      if (!small || kind == TRI_DOMINANT || kind == TRI_ZEROS) PetscCall(TestBatches(type, PETSC_FALSE, kind, small));
  }
  for (TriKind kind : {TRI_DOMINANT, TRI_POISSON, TRI_UPWIND, TRI_GRADED, TRI_CLOSE, TRI_RANDOM, TRI_ZEROS, TRI_TINY})
    if (!small || kind == TRI_ZEROS) PetscCall(TestBatches(PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_TRUE, kind, small));
  for (PCSpikeTridiagonalType type : {PC_SPIKE_TRIDIAGONAL_CR, PC_SPIKE_TRIDIAGONAL_PCR, PC_SPIKE_TRIDIAGONAL_CRPCR})
    PetscCall(InTurn(type));
  PetscCall(Long(small ? 1025 * 1025 : 3 * 1024 * 1024 + 5));
  Report(reported > 0, "singular interiors are reported", (double)reported);
  printf("1..%d\n", number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
