/* SPDX-License-Identifier: BSD-2-Clause */
/*
  firstsetup.c: a first setup of PCSPIKE, which looks at the pattern, beside one with new values; or a first solve of a
  fused Krylov method beside those of other KSPs
*/
static char
  help[] = "Random bands of dominance 1. ms; after them ratios to a setup with new values.\n"
           "  process    the first setup of its half-bandwidths in this process, which may load code of a GPU\n"
           "  first      first setups of other PCs for the same matrix, the median\n"
           "  refill     setups with new values, the median\n"
           "  -cases <100000,15,...>     pairs N,K\n"
           "  -repeat <5>\n"
           "  -cpu                       time of a core, for a busy machine, in place of the clock's\n"
           "  -parts                     what the parts of a first setup take, by PETSc's events\n"
           "  -solve cgfused             five iterations of this method without a preconditioner in place of setups:\n"
           "                             the first of the process, those of other KSPs, those of a KSP that is there\n"
           "  -mat_type aijcusparse      on a GPU; options of PCSPIKE\n\n";

#include "common/cputime.h"
#include "common/watch.h"

/* The second contains the first */
enum {
  EVENT_LOOK,
  EVENT_SYMBOLIC,
  EVENT_FILL,
  EVENT_FACTOR,
  EVENT_TIPS,
  EVENT_REDUCED,
  NEVENTS
};

static const char *const eventnames[NEVENTS] = {"PCSpikeLook",   "PCSpikeSymbolic", "PCSpikeFill",
                                                "PCSpikeFactor", "PCSpikeTips",     "PCSpikeReduced"};

static PetscBool cpu = PETSC_FALSE, parts = PETSC_FALSE, solve = PETSC_FALSE;
static char      method[64];

static PetscErrorCode TimeNow(PetscLogDouble *now)
{
  PetscFunctionBeginUser;
  PetscCall(Wait(PETSC_COMM_SELF, now));
  if (cpu) *now = BenchCPUTime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(Mat A, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(PC pc, double *ms)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(TimeNow(&t0));
  PetscCall(PCSetUp(pc));
  PetscCall(TimeNow(&t1));
  *ms = 1e3 * (t1 - t0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a first setup consists of */
static PetscErrorCode TimeParts(Mat A)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;
  double        *ms = watch.spent, factor;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(Create(A, &pc));
  PetscCall(PetscArrayzero(ms, NEVENTS));
  watch.on = PETSC_TRUE;
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  PetscCall(PCSetUp(pc));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  watch.on = PETSC_FALSE;
  factor   = ms[EVENT_FACTOR] + ms[EVENT_TIPS] + ms[EVENT_REDUCED];
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "                     look %.3f, chosen and made %.3f, fill %.3f, factors %.3f, rest %.3f\n",
                        ms[EVENT_LOOK], ms[EVENT_SYMBOLIC] - ms[EVENT_LOOK], ms[EVENT_FILL], factor,
                        1e3 * (t1 - t0) - ms[EVENT_SYMBOLIC] - ms[EVENT_FILL] - factor));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, method));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetTolerances(*ksp, 1e-30, 1e-300, PETSC_CURRENT, 5));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeSolve(KSP ksp, Vec b, Vec x, double *ms)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(TimeNow(&t0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TimeNow(&t1));
  *ms = 1e3 * (t1 - t0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves of this matrix: the first of the process, with other KSPs, with one that is there */
static PetscErrorCode Solves(Mat A, Vec b, Vec x, int repeat, double *process, double first[], double again[])
{
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(CreateSolver(A, &ksp));
  PetscCall(TimeSolve(ksp, b, x, process));
  for (int r = 0; r < repeat; r++) PetscCall(TimeSolve(ksp, b, x, &again[r]));
  PetscCall(KSPDestroy(&ksp));
  for (int r = 0; r < repeat; r++) {
    PetscCall(CreateSolver(A, &ksp));
    PetscCall(TimeSolve(ksp, b, x, &first[r]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setups of this matrix: the first of the process, of other PCs, with new values; the number of partitions */
static PetscErrorCode Setups(Mat A, int repeat, double *process, double first[], double refill[], PetscInt *partitions)
{
  PC          pc;
  PCSpikeInfo info;
  double      ms;

  PetscFunctionBeginUser;
  PetscCall(Create(A, &pc));
  PetscCall(Time(pc, process));
  PetscCall(PCSpikeGetInfo(pc, &info));
  *partitions = info.partitions;
  for (int r = -1; r < repeat; r++) {
    PetscCall(MatScale(A, -1.0)); /* new values */
    PetscCall(Time(pc, &ms));
    if (r >= 0) refill[r] = ms;
  }
  PetscCall(PCDestroy(&pc));
  for (int r = 0; r < repeat; r++) {
    PetscCall(Create(A, &pc));
    PetscCall(Time(pc, &first[r]));
    PetscCall(PCDestroy(&pc));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt N, PetscInt K, int repeat)
{
  Mat      A;
  Vec      b, x;
  PetscInt partitions = 0;
  double   process, first[MAXREPEAT], refill[MAXREPEAT], ms;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, 1.0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  if (solve) PetscCall(Solves(A, b, x, repeat, &process, first, refill));
  else PetscCall(Setups(A, repeat, &process, first, refill, &partitions));
  ms = Median(repeat, refill);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT " | %9.3f %9.3f %9.3f | %7.2f %7.2f\n",
                        N, K, partitions, process, Median(repeat, first), ms, process / ms,
                        Median(repeat, first) / ms));
  if (parts && !solve) PetscCall(TimeParts(A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  cases[64] = {1000000, 1, 1000000, 8, 100000, 15, 1000000, 32, 200000, 50, 400000, 128};
  PetscInt  ncases = 64, repeat = 5;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 12;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu", &cpu, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-parts", &parts, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-solve", method, sizeof(method), &solve));
  if (parts) PetscCall(WatchEvents(NEVENTS, eventnames));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat from 1 to %d",
             MAXREPEAT);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6s | %9s %9s %9s | %7s %7s\n", "N", "K", "parts", "process", "first",
                        solve ? "again" : "refill", "process", "first"));
  for (PetscInt k = 0; k < ncases; k += 2) PetscCall(Case(cases[k], cases[k + 1], (int)repeat));
  PetscCall(PetscFinalize());
  return 0;
}
