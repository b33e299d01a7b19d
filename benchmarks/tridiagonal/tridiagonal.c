/* SPDX-License-Identifier: BSD-2-Clause */
/*
  tridiagonal.c: speed of the kernels for tridiagonal systems on host and device against LAPACK, MKL and cuSPARSE in one
  run, and a table of errors by algorithm and kind of matrix
*/
static char help
  [] = "Tridiagonal systems by each algorithm of petscspike's kernels, from arrays dl, d, du, b to x; ms for setup,\n\
 apply, and both in one call.\n\
On CUDA beside cuSPARSE, with what the preconditioner takes on the same systems, and transfers; on the host beside\n\
 LAPACK's xGTTRF, xGTTRS and xGTSV and those of MKL, one BLAS thread. With several ranks\n\
systems are divided among them; one long system has one core, which is all that LAPACK can use.\n\
  -systems <1,1,...>   number of systems of each case\n\
  -rows <n,n,...>      rows of each system of a case; as many as -systems\n\
  -types <auto,...>    algorithms; all by default, on the host only auto where there are times on CUDA too\n\
  -repeat <9>          repetitions; medians are printed\n\
  -seconds <20>        so long after the first repetition none is begun\n\
  -cold <64>           MB: cases that are smaller have as many copies as make up so much, taken in turn: each call\n\
 finds its data beyond the cache; 0: one copy\n\
  -cuda_cold <400>     the same on CUDA\n\
  -chunk, -switch      of PARTITION and CRPCR\n\
  -switch_sweep        on CUDA: CRPCR with all switch points instead\n\
  -components          on CUDA: CR, PCR, RD and CR-PCR as one kernel each instead, a thread block a system of 2, 4,\n\
 8, ... 1024 rows; their time by component, as differences between kernels without some parts; all switch points\n\
  -profile <labels>    on CUDA: each algorithm once, for ncu --profile-from-start off, and a file that says what it\n\
 saw: tridiagonal_profile.py\n\
  -cuda <true>         times on CUDA, where there is a device and one rank\n\
  -preconditioner <true>  and of PCSPIKE there\n\
  -host <true>         times on the host\n\
  -mkl <libmkl_rt.so.3>  a library with MKL's functions, loaded at run time\n\
  -isa <best>          base, v3, v4 or best\n\
  -errors              the table of errors instead: the systems of the first case, 512 of 512 unknowns, of each\n\
 kind, on the host and, where there is one, a device, PARTITION with chunks of 63 rows unless -chunk is given\n\
  -csv <file>          also write the times to a file; tridiagonal_table.py makes a table of medians of several\n\n";

#include "run.h"
#include "../common/csvfile.h"
#include "../common/symbols.h"
#include "kernels/band/host/ops.h"
#if defined(SPIKE_HAVE_CUDA)
  #include "cuda/cuda.h"
  #include "cuda/ours.h"
#endif

#define MAXPEERS 3

/* LAPACK, then what -mkl has */
static Peer     peers[MAXPEERS] = {{"LAPACK", LAPACKgttrf_, LAPACKgttrs_, LAPACKgtsv_, NULL, NULL}};
static PetscInt npeers          = 1;

/* One repetition of one algorithm over all copies: ms a copy */
static PetscErrorCode TimeHost(MPI_Comm comm, const Case *c, SpikeTridiagonal t[], double ms[NTIMES])
{
  PetscLogDouble t0 = 0.0, t1 = 0.0, t2 = 0.0, t3 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(Wait(comm, &t0));
  for (PetscInt k = 0; k < c->copies; k++) {
    const PetscCount at = k * (PetscCount)c->n;
    SpikePivot       pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};

    PetscCall((*t[k].k->setup)(&t[k], c->dl + at, c->d + at, c->du + at, &pv));
    PetscCheck(pv.badrow < 0, PETSC_COMM_SELF, PETSC_ERR_CONV_FAILED, "bad pivot in row %" PetscInt_FMT, pv.badrow);
  }
  PetscCall(Wait(comm, &t1));
  for (PetscInt k = 0; k < c->copies; k++)
    PetscCall(
      (*t[k].k->apply)(&t[k], PETSC_FALSE, 1, c->b + k * (PetscCount)c->n, c->n, c->x + k * (PetscCount)c->n, c->n));
  PetscCall(Wait(comm, &t2));
  for (PetscInt k = 0; k < c->copies; k++) {
    const PetscCount at = k * (PetscCount)c->n;
    SpikePivot       pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};

    PetscCall((*t[k].k->setup)(&t[k], c->dl + at, c->d + at, c->du + at, &pv));
    PetscCall((*t[k].k->apply)(&t[k], PETSC_FALSE, 1, c->b + at, c->n, c->x + at, c->n));
  }
  PetscCall(Wait(comm, &t3));
  ms[TIME_SETUP] = 1e3 * (t1 - t0) / c->copies;
  ms[TIME_APPLY] = 1e3 * (t2 - t1) / c->copies;
  ms[TIME_ONCE]  = 1e3 * (t3 - t2) / c->copies;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All algorithms and peers in turn */
static PetscErrorCode HostTimes(MPI_Comm comm, const Run *run, PetscInt nsys, PetscInt m)
{
  Case             c;
  SpikeTridiagonal t[PETSC_STATIC_ARRAY_LENGTH(algorithms)][MAXCOPIES];
  double           all[PETSC_STATIC_ARRAY_LENGTH(algorithms) + MAXPEERS][NTIMES][MAXREPEAT], ms[NTIMES];
  Line             lines[PETSC_STATIC_ARRAY_LENGTH(algorithms) + MAXPEERS];
  PetscLogDouble   begin = 0.0, now = 0.0;
  PetscMPIInt      size, rank, stop = 0;
  int              count = 0;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(CaseCreate(comm, nsys, m, run->cold, TRI_DOMINANT, PETSC_TRUE, &c));
  for (PetscInt s = 0; s < NALGORITHMS; s++)
    for (PetscInt k = 0; k < c.copies && run->use[s]; k++)
      PetscCall(SystemsCreate(run, &c, &SpikeTridiagonalKernels_Host, &algorithms[s], &t[s][k]));
  PetscCall(Wait(comm, &begin));
  for (PetscInt r = -1; r < run->repeat && !stop; r++) {
    for (PetscInt s = 0; s < NALGORITHMS + npeers; s++) {
      if (s < NALGORITHMS && !run->use[s]) continue;
      if (s < NALGORITHMS) PetscCall(TimeHost(comm, &c, t[s], ms));
      else PetscCall(TimePeer(comm, &c, &peers[s - NALGORITHMS], ms));
      for (int k = 0; k < NTIMES && r >= 0; k++) all[s][k][r] = ms[k];
      if (r < 0) {
        LineInit(&lines[s], s < NALGORITHMS ? algorithms[s].name : peers[s - NALGORITHMS].name);
        lines[s].error = CaseError(&c, c.x);
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &lines[s].error, 1, MPI_DOUBLE, MPI_MAX, comm));
        if (s < NALGORITHMS) PetscCall(HowOf(&t[s][0], &lines[s]));
      }
    }
    if (r >= 0) count++;
    PetscCall(Wait(comm, &now));
    if (r >= 0 && now - begin > run->seconds) stop = 1;
    PetscCallMPI(MPI_Bcast(&stop, 1, MPI_INT, 0, comm));
  }
  for (PetscInt s = 0; s < NALGORITHMS + npeers; s++)
    for (int k = 0; k < NTIMES && (s >= NALGORITHMS || run->use[s]); k++) lines[s].ms[k] = Median(count, all[s][k]);
  if (!rank)
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "\n%s, %" PetscInt_FMT " x %" PetscInt_FMT " (%" PetscInt_FMT
                          " copies)%s: ms for setup, apply, one-shot; LAPACK's time over that; error; algorithm\n",
                          PrecisionName(), nsys, m, c.copies,
                          size > 1 && nsys < size ? ", fewer systems than ranks" : ""));
  for (PetscInt s = 0; s < NALGORITHMS + npeers; s++) {
    if (s < NALGORITHMS && !run->use[s]) continue;
    if (!rank) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-20s", lines[s].name));
      for (int k = 0; k < NTIMES; k++) PetscCall(PrintNumber(11, 4, lines[s].ms[k]));
      for (int k = 0; k < NTIMES; k++) PetscCall(PrintNumber(9, 2, lines[NALGORITHMS].ms[k] / lines[s].ms[k]));
      PetscCall(PrintNumber(8, 2, lines[s].error));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", lines[s].how));
      if (run->csv) CSVLine(run->csv, s < NALGORITHMS ? "host" : "lapack", (int)size, &c, &lines[s]);
    }
    for (PetscInt k = 0; k < c.copies && s < NALGORITHMS; k++) PetscCall((*t[s][k].k->destroy)(&t[s][k]));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who solves in the table of errors */
typedef enum {
  BY_HOST,
  BY_CUDA,
  BY_CUDA_ONCE,
  BY_LAPACK
} Solver;

static PetscErrorCode TimeError(const Run *run, Solver by, const Algorithm *a, TriKind kind, PetscInt nsys, PetscInt m)
{
  Case             c;
  SpikeTridiagonal t;
  SpikePivot       pv = {0.0, 0.0, 0, -1, 0.0, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, kind, PETSC_TRUE, &c));
  if (by == BY_HOST) {
    PetscCall(SystemsCreate(run, &c, &SpikeTridiagonalKernels_Host, a, &t));
    PetscCall((*t.k->setup)(&t, c.dl, c.d, c.du, &pv));
    PetscCall((*t.k->apply)(&t, PETSC_FALSE, 1, c.b, c.n, c.x, c.n));
    PetscCall((*t.k->destroy)(&t));
  } else if (by == BY_LAPACK) {
    double ms[NTIMES];

    PetscCall(TimePeer(PETSC_COMM_SELF, &c, &peers[0], ms));
  } else {
#if defined(SPIKE_HAVE_CUDA)
    PetscCall(DeviceSolve(run, &c, a, (PetscBool)(by == BY_CUDA_ONCE), &pv));
#endif
  }
  if (pv.badrow >= 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10s", "fails"));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10.2g", CaseError(&c, c.x)));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Backward errors |b - A x| / (|A| |x| + |b|) in units of rounding, the worst of all systems; or what setup said */
static PetscErrorCode TimeErrors(const Run *run, PetscBool cuda, PetscInt nsys, PetscInt m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "Backward errors in units of %.2g, the worst of %" PetscInt_FMT " systems of %" PetscInt_FMT
                        " unknowns; 'fails': reported in setup\n%-20s",
                        (double)PETSC_MACHINE_EPSILON, nsys, m, ""));
  for (int kind = 0; kind < TRI_NKINDS; kind++) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10s", trikinds[kind]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  for (PetscInt by = BY_HOST; by <= BY_LAPACK; by++) {
    const PetscBool one = (PetscBool)(by == BY_LAPACK || by == BY_CUDA_ONCE);

    if (!cuda && (by == BY_CUDA || by == BY_CUDA_ONCE)) continue;
    for (PetscInt s = 0; s < (one ? 1 : NALGORITHMS); s++) {
      const char *suffix[] = {"", ", cuda", ", cuda, at once", ""};
      char        name[40];

      PetscCall(
        PetscSNPrintf(name, sizeof(name), "%s%s", by == BY_LAPACK ? peers[0].name : algorithms[s].name, suffix[by]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-20s", name));
      for (int kind = 0; kind < TRI_NKINDS; kind++)
        PetscCall(TimeError(run, (Solver)by, &algorithms[s], (TriKind)kind, nsys, m));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The algorithms of -types, which are freed; all where there was none */
static PetscErrorCode UseTypes(Run *run, PetscBool typed, PetscInt ntypes, char *types[])
{
  PetscFunctionBeginUser;
  for (PetscInt s = 0; s < NALGORITHMS; s++) run->use[s] = (PetscBool)!typed;
  for (PetscInt k = 0; k < ntypes && typed; k++) {
    for (PetscInt s = 0; s < NALGORITHMS; s++) {
      PetscBool same;

      PetscCall(PetscStrcasecmp(types[k], algorithms[s].name, &same));
      if (same) run->use[s] = PETSC_TRUE;
    }
    PetscCall(PetscFree(types[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(SPIKE_HAVE_CUDA)
/* labels: the name of the profile's file */
static PetscErrorCode TimeDevice(const Run *run, PetscReal cold, DeviceWhat what, PetscInt ncases,
                                 const PetscInt systems[], const PetscInt rows[], const char labels[])
{
  Run   device = *run;
  FILE *file   = NULL;

  PetscFunctionBeginUser;
  device.cold = cold;
  if (what == DEVICE_PROFILE) {
    file = fopen(labels, "w");
    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", labels);
    fprintf(file, "precision,systems,rows,algorithm,what,kernels\n");
  }
  PetscCall(DeviceRun(&device, what, ncases, systems, rows, file));
  if (file) PetscCheck(!fclose(file), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", labels);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  static const char *isas[]          = {"base", "v3", "v4", "best"};
  const PetscInt     hostcases[2][6] = {{1, 1, 1, 1, 512, 16384}, {512, 16384, 1 << 20, 1 << 22, 512, 512}},
                 cudacases[2][6]     = {{1, 1, 1, 512, 65536}, {1 << 24, 1 << 26, 1 << 20, 512, 512}};
  Run       run                      = {9, PETSC_DECIDE, PETSC_DECIDE, 64.0, 20.0, {PETSC_FALSE}, PETSC_TRUE, NULL};
  PetscInt  systems[MAXCASES], rows[MAXCASES], nsystems = MAXCASES, nrows = MAXCASES, isa = 3, ntypes = NALGORITHMS;
  PetscReal cudacold = 400.0;
  char     *types[PETSC_STATIC_ARRAY_LENGTH(algorithms)], name[PETSC_MAX_PATH_LEN], mkl[PETSC_MAX_PATH_LEN],
    labels[PETSC_MAX_PATH_LEN];
  PetscBool given, typed, errors = PETSC_FALSE, csv, loadmkl, cuda = PETSC_TRUE, host = PETSC_TRUE, sweep = PETSC_FALSE,
                          components = PETSC_FALSE, profile;
  PetscMPIInt size, rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "Tridiagonal systems", NULL);
  PetscCall(PetscOptionsIntArray("-systems", "number of systems of each case", NULL, systems, &nsystems, &given));
  PetscCall(PetscOptionsIntArray("-rows", "rows of each system of a case", NULL, rows, &nrows, NULL));
  PetscCheck(nsystems == nrows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "-systems and -rows have different lengths");
  PetscCall(PetscOptionsStringArray("-types", "algorithms", NULL, types, &ntypes, &typed));
  PetscCall(PetscOptionsRangeInt("-repeat", "repetitions", NULL, run.repeat, &run.repeat, NULL, 1, MAXREPEAT));
  PetscCall(PetscOptionsReal("-seconds", "no repetition is begun after them", NULL, run.seconds, &run.seconds, NULL));
  PetscCall(PetscOptionsReal("-cold", "MB beyond the cache", NULL, run.cold, &run.cold, NULL));
  PetscCall(PetscOptionsReal("-cuda_cold", "MB beyond the device's cache", NULL, cudacold, &cudacold, NULL));
  PetscCall(PetscOptionsInt("-chunk", "rows of a chunk of PARTITION", NULL, run.chunk, &run.chunk, NULL));
  PetscCall(PetscOptionsInt("-switch", "rows that CRPCR leaves to PCR", NULL, run.switchpoint, &run.switchpoint, NULL));
  PetscCall(PetscOptionsBool("-switch_sweep", "all switch points of CRPCR on CUDA", NULL, sweep, &sweep, NULL));
  PetscCall(PetscOptionsBool("-components", "time by component on CUDA", NULL, components, &components, NULL));
  PetscCall(PetscOptionsString("-profile", "file for what a profiler saw", NULL, "", labels, sizeof(labels), &profile));
  PetscCall(PetscOptionsBool("-cuda", "times on CUDA", NULL, cuda, &cuda, NULL));
  PetscCall(PetscOptionsBool("-preconditioner", "times of PCSPIKE on CUDA", NULL, run.pc, &run.pc, NULL));
  PetscCall(PetscOptionsBool("-host", "times on the host", NULL, host, &host, NULL));
  PetscCall(PetscOptionsString("-mkl", "library with MKL's functions", NULL, "", mkl, sizeof(mkl), &loadmkl));
  PetscCall(PetscOptionsEList("-isa", "instruction set", NULL, isas, 4, isas[3], &isa, NULL));
  PetscCall(PetscOptionsBool("-errors", "the table of errors", NULL, errors, &errors, NULL));
  PetscCall(PetscOptionsString("-csv", "file for the times", NULL, "", name, sizeof(name), &csv));
  PetscOptionsEnd();
  if (isa < 3)
    PetscCheck(SpikeISASet((SpikeISA)isa), PETSC_COMM_SELF, PETSC_ERR_SUP, "This processor lacks instruction set %s",
               isas[isa]);
  if (cuda) {
#if defined(SPIKE_HAVE_CUDA)
    int devices = 0;

    cuda = (PetscBool)(size == 1 && cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0);
#else
    cuda = PETSC_FALSE;
#endif
  }
  PetscCheck(cuda || !(sweep || profile), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "-switch_sweep and -profile need a device and one rank");
  PetscCheck(sweep + components + profile + errors < 2, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
             "-switch_sweep, -components, -profile and -errors exclude each other");
  if (components && !cuda) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "-components: nothing to time, it needs a device and one rank\n"));
    PetscCall(PetscFinalize());
    return 0;
  }
  if (components && !given) {
    nsystems   = 1;
    systems[0] = rows[0] = 512;
  } else if (!given) {
    nsystems = cuda ? 5 : 6;
    PetscCall(PetscArraycpy(systems, cuda ? cudacases[0] : hostcases[0], nsystems));
    PetscCall(PetscArraycpy(rows, cuda ? cudacases[1] : hostcases[1], nsystems));
  }
  PetscCall(UseTypes(&run, typed, ntypes, types));
  PetscCall(PetscBLASSetNumThreads(1));
  if (errors) {
    if (run.chunk == PETSC_DECIDE) run.chunk = 63;
#if defined(SPIKE_HAVE_CUDA)
    if (cuda) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
#endif
    if (!rank) PetscCall(TimeErrors(&run, cuda, given ? systems[0] : 512, given ? rows[0] : 512));
    PetscCall(PetscFinalize());
    return 0;
  }
  if (loadmkl) {
    void *library = dlopen(mkl, RTLD_NOW | RTLD_LOCAL);

    if (library && FindMKL(library, peers + 1)) npeers = 3;
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MKL cannot be loaded: %s\n",
                            library ? "the library lacks functions" : dlerror()));
  }
  if (csv && !rank) {
    PetscCall(BenchCSVOpen(name,
                           "solver,backend,precision,ranks,systems,rows,setup_ms,apply_ms,once_ms,graph_setup_ms,graph_"
                           "apply_ms,graph_once_ms,error,note",
                           &run.csv));
  }
#if defined(SPIKE_HAVE_CUDA)
  if (cuda) {
    const DeviceWhat what = components ? DEVICE_COMPONENTS
                          : profile    ? DEVICE_PROFILE
                          : sweep      ? DEVICE_SWITCH
                                       : DEVICE_TIMES;

    PetscCall(TimeDevice(&run, cudacold, what, nsystems, systems, rows, labels));
  }
#endif
  if (host && !sweep && !components && !profile) {
    for (PetscInt s = 1; s < NALGORITHMS && cuda && !typed; s++) run.use[s] = PETSC_FALSE;
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "\ntridiagonal kernels '%s' against LAPACK with one BLAS thread, %d rank%s; medians of %" PetscInt_FMT
                  " repetitions in turn\n",
                  SpikeBandGetOps(PETSC_SPIKE_PRECISION_DOUBLE)->name, size, size > 1 ? "s" : "", run.repeat));
    for (PetscInt k = 0; k < nsystems; k++) PetscCall(HostTimes(PETSC_COMM_WORLD, &run, systems[k], rows[k]));
  }
  PetscCall(BenchCSVClose(name, &run.csv));
  PetscCall(PetscFinalize());
  return 0;
}
