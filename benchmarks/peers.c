/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c: PCSPIKE beside cuDSS, cuSPARSE, LAPACK and MKL on the same matrices, in one run */
static char help[] =
  "Random bands: off-diagonals uniform in [-1, 1], a_ii = d * sum of the magnitudes of the others in the row. ms, "
  "medians of -repeat.\n"
  "cuDSS, MKL, LAPACK and cuSPARSE solve exactly. PCSPIKE is a preconditioner: \"solve\" is one application, "
  "\"residual\" what one application leaves; the lines below\n"
  "it are what it takes together with a Krylov method to bring the true residual to -rtol and to the residual of "
  "the best direct solver of the case.\n"
  "  first     what the first setup takes (analysis, memory) and the factorization with it\n"
  "  refactor  new values in the same pattern; for bands on the host the factorization without filling the band\n"
  "  solve     one right-hand side\n"
  "  both      refactor and solve; factor: that of PCSPIKE with GMRES to the residual of the best direct solver "
  "goes into it so many times\n"
  "  filled    both, with what it takes to fill the band; others than LAPACK and MKL have that in refactor\n"
  "  threads   with which LAPACK and MKL took the least time, of 1, 2, 4, ... and -threads: of the factorization / "
  "of the solve\n"
  "preonly is PCSPIKE as a direct solver, setup and one solve with its check and refinement.\n"
  "  -cases <100000,32,...>  pairs N,K\n"
  "  -d <1> -repeat <5> -rtol <1e-10>\n"
  "  -cudss <libcudss.so.1>  cuDSS 1.0 (PyPI: nvidia-cudss-cu13), loaded at run time\n"
  "  -cudss_rows <1000000>   at most so many rows for cuDSS\n"
  "  -partition_rows <0>     PCSPIKE with partitions of so many rows and single factors too: \"in parts\"\n"
  "  -mkl <libmkl_rt.so.3>   a library with dgbtrf_ and dgbtrs_, loaded at run time\n"
  "  -threads <all cores>    most threads of LAPACK and MKL\n"
  "  -ilu_rows <100000>      at most so many rows for ILU(0) of cuSPARSE, which is an exact LU of a full band\n"
  "  -mat_type aijcusparse   PCSPIKE, cuDSS and cuSPARSE need it; without it those on the host remain\n\n";

#include "common/cudss.h"
#include <unistd.h>

typedef struct {
  PetscInt  repeat, cudss_rows, ilu_rows, threads, partition_rows;
  PetscReal rtol;
  char      cudss[PETSC_MAX_PATH_LEN], mkl[PETSC_MAX_PATH_LEN];
} Options;

/* What one solver took */
typedef struct {
  const char *name;
  double      first, refactor, solve, fill;
  PetscReal   residual;
  char        threads[24];
} Line;

static PetscErrorCode TimeCUDSS(const Options *o, Mat A, Vec b, Vec x, Line *line, PetscBool *done)
{
  CUDSSSolver s;
  PetscInt    n;

  PetscFunctionBeginUser;
  *done = PETSC_FALSE;
  PetscCall(MatGetSize(A, &n, NULL));
  if (n > o->cudss_rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CUDSSBegin(o->cudss, A, b, x, &s, &line->first, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CUDSSTime(&s, (int)o->repeat, A, x, &line->refactor, &line->solve));
  PetscCall(GetResidual(A, b, x, &line->residual));
  PetscCall(CUDSSEnd(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- cuSPARSE
  ------------------------------------------------------------------------------------------------------------
*/
/* ILU(0) of PETSc, which is cuSPARSE's for this type of matrix; with a full band nothing is dropped */
static PetscErrorCode TimeILU(const Options *o, Mat A, Vec b, Vec x, Line *line)
{
  PC     pc;
  double setup[MAXREPEAT], apply[MAXREPEAT];

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCILU));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, b, x, (int)PetscMin(o->repeat, 3), 1, &line->first, setup, apply));
  line->refactor = Median((int)PetscMin(o->repeat, 3), setup);
  line->solve    = Median((int)PetscMin(o->repeat, 3), apply);
  PetscCall(GetResidual(A, b, x, &line->residual));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  gtsv2 and gtsv2_nopivot: factor and solve are one, and nothing is kept. Double precision, from the library that PETSc
  is linked with
*/
static PetscErrorCode TimeTridiagonal(const Options *o, PetscBool pivot, Mat A, Vec b, Vec x, Line *line,
                                      PetscBool *done)
{
  int (*create)(Handle *) = NULL, (*destroy)(Handle) = NULL;
  int (*size)(Handle, int, int, const void *, const void *, const void *, const void *, int, size_t *) = NULL;
  int (*solve)(Handle, int, int, const void *, const void *, const void *, void *, int, void *)        = NULL;
  Vec                diagonals[3], work;
  const PetscScalar *da[3], *aa;
  const PetscInt    *ai, *aj;
  PetscScalar       *xa, *wa;
  PetscMemType       mtype;
  PetscInt           n;
  size_t             bytes;
  Handle             handle;
  PetscLogDouble     t0 = 0.0, t1 = 0.0;
  double             t[MAXREPEAT];
  PetscBool          flag;
  int                status = 0;

  PetscFunctionBeginUser;
  *done = PETSC_FALSE;
  if (!PetscDefined(USE_REAL_DOUBLE) || PetscDefined(USE_COMPLEX) || !dlsym(RTLD_DEFAULT, "cusparseDgtsv2"))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Find(RTLD_DEFAULT, "cusparseCreate", &create));
  PetscCall(Find(RTLD_DEFAULT, "cusparseDestroy", &destroy));
  PetscCall(Find(RTLD_DEFAULT, pivot ? "cusparseDgtsv2_bufferSizeExt" : "cusparseDgtsv2_nopivot_bufferSizeExt", &size));
  PetscCall(Find(RTLD_DEFAULT, pivot ? "cusparseDgtsv2" : "cusparseDgtsv2_nopivot", &solve));
  for (int k = 0; k < 3; k++) PetscCall(VecDuplicate(b, &diagonals[k]));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &flag));
  PetscCall(MatSeqAIJGetArrayRead(A, &aa));
  for (int k = 0; k < 3; k++) {
    PetscScalar *d;

    PetscCall(VecGetArrayWrite(diagonals[k], &d));
    PetscCall(PetscArrayzero(d, n));
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt l = ai[i]; l < ai[i + 1]; l++)
        if (aj[l] - i == k - 1) d[i] = aa[l];
    PetscCall(VecRestoreArrayWrite(diagonals[k], &d));
  }
  PetscCall(MatSeqAIJRestoreArrayRead(A, &aa));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ai, &aj, &flag));
  for (int k = 0; k < 3; k++) PetscCall(VecGetArrayReadAndMemType(diagonals[k], &da[k], &mtype));
  PetscCheck(PetscMemTypeCUDA(mtype), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "The diagonals are not on the GPU");
  PetscCall(VecGetArrayWriteAndMemType(x, &xa, &mtype));
  PetscCheck(!create(&handle) && !size(handle, (int)n, 1, da[0], da[1], da[2], xa, (int)n, &bytes), PETSC_COMM_SELF,
             PETSC_ERR_LIB, "cuSPARSE fails");
  PetscCall(VecRestoreArrayWriteAndMemType(x, &xa));
  PetscCall(VecCreate(PETSC_COMM_SELF, &work));
  PetscCall(VecSetSizes(work, (PetscInt)(bytes / sizeof(PetscScalar) + 1), PETSC_DETERMINE));
  PetscCall(VecSetType(work, VECCUDA));
  PetscCall(VecSet(work, 0.0));
  PetscCall(VecGetArrayWriteAndMemType(work, &wa, &mtype));
  for (int k = -1; k < o->repeat; k++) {
    PetscCall(VecCopy(b, x));
    PetscCall(VecGetArrayAndMemType(x, &xa, &mtype));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    status = solve(handle, (int)n, 1, da[0], da[1], da[2], xa, (int)n, wa);
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    PetscCall(VecRestoreArrayAndMemType(x, &xa));
    if (k < 0) line->first = 1e3 * (t1 - t0);
    else t[k] = 1e3 * (t1 - t0);
  }
  if (status) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: status %d\n", line->name, status));
  line->refactor = 0.0;
  line->solve    = Median((int)o->repeat, t);
  PetscCall(GetResidual(A, b, x, &line->residual));
  PetscCall(VecRestoreArrayWriteAndMemType(work, &wa));
  for (int k = 0; k < 3; k++) PetscCall(VecRestoreArrayReadAndMemType(diagonals[k], &da[k]));
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&diagonals[k]));
  PetscCall(VecDestroy(&work));
  PetscCheck(!destroy(handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE fails");
  *done = (PetscBool)!status;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- PCSPIKE with a Krylov method
  ----------------------------------------------------------------------------------------
*/
static PetscErrorCode TimeKrylov(const Options *o, const char type[], PetscReal rtol, Mat A, PC pc, Vec b, Vec x,
                                 double *both, PetscInt *its, KSPConvergedReason *reason, PetscReal *residual)
{
  KSP            ksp;
  PetscLogDouble t0 = 0.0, t1 = 0.0;
  double         t[MAXREPEAT];

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 100));
  for (int k = -1; k < o->repeat; k++) {
    PetscCall(MatScale(A, -1.0));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (k >= 0) t[k] = 1e3 * (t1 - t0);
  }
  *both = Median((int)o->repeat, t);
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(GetResidual(A, b, x, residual));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LAPACK, or a library with its interface: RTLD_DEFAULT for what the program is linked with */
static PetscErrorCode TimeLAPACK(const Options *o, void *library, PetscInt K, Mat A, Vec b, Vec x, Gbtrf gbtrf,
                                 Gbtrs gbtrs, Line *line)
{
  BLASThreads threads;
  BandTimes   t = {0.0, 0.0, 0.0, 0.0, 0, 0};

  PetscFunctionBeginUser;
  FindBLASThreads(library, &threads);
  PetscCall(TimeBandThreads((int)o->repeat, (int)o->threads, &threads, K, A, b, x, gbtrf, gbtrs, &t));
  line->fill     = t.fill;
  line->first    = t.first;
  line->refactor = t.factor;
  line->solve    = t.solve;
  if (threads.set)
    PetscCall(PetscSNPrintf(line->threads, sizeof(line->threads), "%d/%d", t.factor_threads, t.solve_threads));
  PetscCall(GetResidual(A, b, x, &line->residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As TR-2012-04 has it: partitions of a given number of rows, single precision, BiCGStab */
static PetscErrorCode TimeParts(const Options *o, Mat A, Vec b, Vec x)
{
  PC                 pc;
  PCSpikeInfo        info;
  double             both;
  PetscInt           n, its;
  PetscReal          residual;
  KSPConvergedReason reason;
  char               name[64];

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSpikeSetLocalPartitions(pc, PetscMax(n / o->partition_rows, 1)));
  PetscCall(TimeKrylov(o, KSPBCGS, o->rtol, A, pc, b, x, &both, &its, &reason, &residual));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscSNPrintf(name, sizeof(name), "  in parts, bcgs to %.1e, %" PetscInt_FMT " its", (double)o->rtol, its));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-65s %10.3f %9.1e %s%" PetscInt_FMT " partitions\n", name, both,
                        (double)residual, reason > 0 ? "" : "not converged, ", info.partitions));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(const Options *o, PetscInt N, PetscInt K, PetscReal d)
{
  const char *const  ksps[] = {KSPGMRES, KSPBCGS, KSPPREONLY};
  Mat                A;
  Vec                b, x;
  PC                 pc;
  PCSpikeInfo        info;
  Line               lines[8];
  int                nlines = 0;
  double             setup[MAXREPEAT], apply[MAXREPEAT], both, reference = 0.0;
  PetscReal          residual, direct = PETSC_MAX_REAL;
  PetscInt           its;
  KSPConvergedReason reason;
  Gbtrf              gbtrf = NULL;
  Gbtrs              gbtrs = NULL;
  void              *mkl;
  PetscBool          gpu, done;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(lines, sizeof(lines)));
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, d, &A));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJCUSPARSE, &gpu));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, b, x, (int)o->repeat, 10, &lines[0].first, setup, apply));
  PetscCall(PCSpikeGetInfo(pc, &info));
  lines[0].name     = "PCSPIKE";
  lines[0].refactor = Median((int)o->repeat, setup);
  lines[0].solve    = Median((int)o->repeat, apply);
  PetscCall(GetResidual(A, b, x, &lines[0].residual));
  nlines = 1;
  if (gpu) {
    lines[nlines].name = "cuDSS";
    PetscCall(TimeCUDSS(o, A, b, x, &lines[nlines], &done));
    if (done) nlines++;
    for (int k = 0; k < 2 && K == 1; k++) {
      lines[nlines].name = k ? "cuSPARSE gtsv2_nopivot" : "cuSPARSE gtsv2";
      PetscCall(TimeTridiagonal(o, (PetscBool)!k, A, b, x, &lines[nlines], &done));
      if (done) nlines++;
    }
    if (N <= o->ilu_rows) {
      lines[nlines].name = "cuSPARSE ILU(0)";
      PetscCall(TimeILU(o, A, b, x, &lines[nlines]));
      nlines++;
    }
  }
  lines[nlines].name = "LAPACK";
  PetscCall(TimeLAPACK(o, RTLD_DEFAULT, K, A, b, x, LAPACKgbtrf_, LAPACKgbtrs_, &lines[nlines]));
  nlines++;
  PetscCall(Open(o->mkl, &mkl));
  if (mkl && PetscDefined(USE_REAL_DOUBLE) && !PetscDefined(USE_COMPLEX)) {
    PetscCall(Find(mkl, "dgbtrf_", &gbtrf));
    PetscCall(Find(mkl, "dgbtrs_", &gbtrs));
    lines[nlines].name = "MKL";
    PetscCall(TimeLAPACK(o, mkl, K, A, b, x, gbtrf, gbtrs, &lines[nlines]));
    nlines++;
  }
  for (int l = 1; l < nlines; l++) direct = PetscMin(direct, lines[l].residual);
  direct = PetscMax(direct, 10 * PETSC_MACHINE_EPSILON); /* a norm of the residual cannot be trusted much below */
  PetscCall(TimeKrylov(o, KSPGMRES, direct, A, pc, b, x, &reference, &its, &reason, &residual));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\nN = %" PetscInt_FMT ", K = %" PetscInt_FMT ", d = %g; PCSPIKE in %" PetscInt_FMT
                        " partitions\n%-32s %10s %10s %10s %10s %9s %8s %10s %8s\n",
                        N, K, (double)d, info.partitions, "", "first", "refactor", "solve", "both", "residual",
                        "factor", "filled", "threads"));
  for (int l = 0; l < nlines; l++) {
    const double own = lines[l].refactor + lines[l].solve;
    char         factor[16];

    PetscCall(PetscSNPrintf(factor, sizeof(factor), l ? "%.1f" : "-", own / reference));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-32s %10.2f %10.3f %10.4f %10.3f %9.1e %8s %10.3f %8s\n", lines[l].name,
                          lines[l].first, lines[l].refactor, lines[l].solve, own, (double)lines[l].residual, factor,
                          own + lines[l].fill, lines[l].threads[0] ? lines[l].threads : "-"));
    for (size_t k = 0; !l && k < 2 * PETSC_STATIC_ARRAY_LENGTH(ksps) - 1; k++) { /* preonly has no tolerance */
      const char     *type = ksps[k % PETSC_STATIC_ARRAY_LENGTH(ksps)];
      const PetscReal rtol = k < PETSC_STATIC_ARRAY_LENGTH(ksps) ? o->rtol : direct;
      char            name[64], to[16];

      PetscCall(TimeKrylov(o, type, rtol, A, pc, b, x, &both, &its, &reason, &residual));
      PetscCall(PetscSNPrintf(to, sizeof(to), strcmp(type, KSPPREONLY) ? "%.1e" : "-", (double)rtol));
      PetscCall(PetscSNPrintf(name, sizeof(name), "  and %s to %s, %" PetscInt_FMT " its", type, to, its));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-32s %10s %10s %10s %10.3f %9.1e%s\n", name, "", "", "", both,
                            (double)residual, reason > 0 ? "" : " not converged"));
    }
  }
  if (o->partition_rows) PetscCall(TimeParts(o, A, b, x));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  cases[64] = {100000, 32, 400000, 16, 400000, 128, 1000000, 32, 1000000, 1}, ncases = 64;
  PetscReal d = 1.0;
  PetscBool set;
  Options   o = {5, 1000000, 100000, (PetscInt)PetscMax(sysconf(_SC_NPROCESSORS_ONLN), 1), 0, 1e-10, "", ""};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 10;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &d, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &o.rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &o.repeat, NULL));
  PetscCheck(o.repeat >= 1 && o.repeat <= MAXREPEAT, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat from 1 to %d",
             MAXREPEAT);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cudss_rows", &o.cudss_rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ilu_rows", &o.ilu_rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-partition_rows", &o.partition_rows, NULL));
  PetscCheck(o.partition_rows >= 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-partition_rows from 0");
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-threads", &o.threads, NULL));
  PetscCheck(o.threads >= 1 && o.threads <= 1024, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-threads from 1 to 1024");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-cudss", o.cudss, sizeof(o.cudss), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mkl", o.mkl, sizeof(o.mkl), NULL));
  for (PetscInt k = 0; k < ncases; k += 2) PetscCall(Case(&o, cases[k], cases[k + 1], d));
  PetscCall(PetscFinalize());
  return 0;
}
