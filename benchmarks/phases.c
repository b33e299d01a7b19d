/* SPDX-License-Identifier: BSD-2-Clause */
/*
  phases.c: PCSPIKE against N and against K beside LAPACK, as the figures of Li, Seidl and Negrut, TR-2012-04, and the
  share of each phase
*/
static char help[] =
  "Random bands of dominance 1: N from 2000 to 1 million at K = 32, then K from 8 to 256 at N = 400000. ms, medians.\n"
  "  setup, apply   new values in the same pattern, and one right-hand side, waited for at the end: phases overlap "
  "where they can\n"
  "  alone          the sum of the phases, each waited for before the next one begins; after it each phase\n"
  "  LAPACK         xGBTRF and xGBTRS on the host, a filled band given; OPENBLAS_NUM_THREADS counts\n"
  "  -cases <2000,32,...>     other pairs N,K\n"
  "  -lapack <1>              0: without\n"
  "  -columns <1>             right-hand sides of an application, PCMatApply(); LAPACK's solves stay those of one\n"
  "  -transposed              applications are transposed\n"
  "  -repeat <10> -train <10>\n"
  "  -csv <file>              also writes the numbers to a file: benchmarks/plot_phases.py draws it\n"
  "  -mat_type aijcusparse    on a GPU; options of PCSPIKE\n\n";

#include "common/csvfile.h"
#include "common/lapackband.h"
#include "common/watch.h"

/* Events of a setup, then of an apply; the reduced systems have one name for both */
enum {
  EVENT_FILL,
  EVENT_FACTOR,
  EVENT_TIPS,
  EVENT_REDUCED,
  EVENT_SWEEP,
  EVENT_CORRECT,
  NEVENTS
};

static const char *const eventnames[] = {"PCSpikeFill",    "PCSpikeFactor", "PCSpikeTips",
                                         "PCSpikeReduced", "PCSpikeSweep",  "PCSpikeCorrect"};

/* An application, of one right-hand side where B is NULL */
typedef struct {
  Vec       b, x;
  Mat       B, X;
  PetscBool trans;
} Sides;

static PetscErrorCode Apply(PC pc, const Sides *s)
{
  PetscFunctionBeginUser;
  if (!s->B && s->trans) PetscCall(PCApplyTranspose(pc, s->b, s->x));
  else if (!s->B) PetscCall(PCApply(pc, s->b, s->x));
  else if (s->trans) PetscCall(PCMatApplyTranspose(pc, s->B, s->X));
  else PetscCall(PCMatApply(pc, s->B, s->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random columns, where the vectors of the matrix are */
static PetscErrorCode CreateSides(Mat A, PetscInt columns, PetscBool trans, Sides *s)
{
  PetscInt n;
  VecType  type;

  PetscFunctionBeginUser;
  s->B = s->X = NULL;
  s->trans    = trans;
  PetscCall(MatCreateVecs(A, &s->x, &s->b));
  PetscCall(VecSetRandom(s->b, NULL));
  if (columns < 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateDenseFromVecType(PETSC_COMM_SELF, type, n, PETSC_DECIDE, PETSC_DETERMINE, columns, PETSC_DEFAULT,
                                      NULL, &s->B));
  PetscCall(MatDuplicate(s->B, MAT_DO_NOT_COPY_VALUES, &s->X));
  for (PetscInt j = 0; j < columns; j++) {
    Vec v;

    PetscCall(MatDenseGetColumnVecWrite(s->B, j, &v));
    PetscCall(VecSetRandom(v, NULL));
    PetscCall(MatDenseRestoreColumnVecWrite(s->B, j, &v));
  }
  PetscCall(MatAssemblyBegin(s->B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroySides(Sides *s)
{
  PetscFunctionBeginUser;
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->b));
  PetscCall(MatDestroy(&s->B));
  PetscCall(MatDestroy(&s->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Trains of applications, ms of one */
static PetscErrorCode TimeApply(PC pc, const Sides *s, int repeat, int train, double apply[])
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  for (int k = -1; k < repeat; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int i = 0; i < train; i++) PetscCall(Apply(pc, s));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (k >= 0) apply[k] = 1e3 * (t1 - t0) / train;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Medians of the phases of a setup (setup true) or of an application */
static PetscErrorCode Phases(PetscBool setup, Mat A, PC pc, const Sides *s, int repeat, double phase[NEVENTS])
{
  double         t[NEVENTS][MAXREPEAT];
  PetscLogDouble now = 0.0;

  PetscFunctionBeginUser;
  for (int r = 0; r < repeat; r++) {
    if (setup) PetscCall(MatScale(A, -1.0));
    PetscCall(Wait(PETSC_COMM_SELF, &now));
    PetscCall(PetscArrayzero(watch.spent, NEVENTS));
    watch.on = PETSC_TRUE;
    if (setup) PetscCall(PCSetUp(pc));
    else PetscCall(Apply(pc, s));
    watch.on = PETSC_FALSE;
    for (int e = 0; e < NEVENTS; e++) t[e][r] = watch.spent[e];
  }
  for (int e = 0; e < NEVENTS; e++) phase[e] = Median(repeat, t[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt N, PetscInt K, PetscInt columns, PetscBool trans, int repeat, int train,
                           PetscBool lapack, FILE *csv)
{
  Mat         A;
  Sides       s;
  PC          pc;
  PCSpikeInfo info;
  double      first, setup[MAXREPEAT], apply[MAXREPEAT], ms[2], phase[2][NEVENTS], alone[2] = {0.0, 0.0}, factor = 0.0,
                                                                              solve = 0.0;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, 1.0, &A));
  PetscCall(CreateSides(A, columns, trans, &s));
  PetscCall(MatMult(A, s.b, s.x)); /* the matrix is where it will be used */
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, s.b, s.x, repeat, train, &first, setup, apply));
  if (s.B || s.trans) PetscCall(TimeApply(pc, &s, repeat, train, apply));
  PetscCall(PCSpikeGetInfo(pc, &info));
  ms[0] = Median(repeat, setup);
  ms[1] = Median(repeat, apply);
  for (int side = 0; side < 2; side++) {
    PetscCall(Phases((PetscBool)!side, A, pc, &s, repeat, phase[side]));
    for (int e = 0; e < NEVENTS; e++) alone[side] += phase[side][e];
  }
  if (lapack) PetscCall(TimeBand(3, K, A, s.b, s.x, LAPACKgbtrf_, LAPACKgbtrs_, NULL, &first, &factor, &solve));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%8" PetscInt_FMT " %4" PetscInt_FMT " %6" PetscInt_FMT
                        " | %9.4f %9.4f | %8.4f %8.4f %8.4f %8.4f | %8.4f %8.4f | %8.4f %8.4f %8.4f | %9.2f %9.2f\n",
                        N, K, info.partitions, ms[0], alone[0], phase[0][EVENT_FILL], phase[0][EVENT_FACTOR],
                        phase[0][EVENT_TIPS], phase[0][EVENT_REDUCED], ms[1], alone[1], phase[1][EVENT_SWEEP],
                        phase[1][EVENT_REDUCED], phase[1][EVENT_CORRECT], factor, solve));
  if (csv) {
    PetscCall(PetscFPrintf(PETSC_COMM_SELF, csv,
                           "%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
                           ",%g,%g,%g,%g,%g,%g,%g,%g,%g,%g,%g,%g,%g\n",
                           N, K, info.partitions, ms[0], alone[0], phase[0][EVENT_FILL], phase[0][EVENT_FACTOR],
                           phase[0][EVENT_TIPS], phase[0][EVENT_REDUCED], ms[1], alone[1], phase[1][EVENT_SWEEP],
                           phase[1][EVENT_REDUCED], phase[1][EVENT_CORRECT], factor, solve));
    PetscCall(PetscFFlush(csv));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(DestroySides(&s));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  cases[64] = {2000,   32, 4000,   32, 8000,   32,  16000,   32,  32000,  32,  64000,  32,
                         125000, 32, 250000, 32, 500000, 32,  1000000, 32,  400000, 8,   400000, 12,
                         400000, 16, 400000, 24, 400000, 32,  400000,  40,  400000, 50,  400000, 64,
                         400000, 80, 400000, 96, 400000, 128, 400000,  160, 400000, 192, 400000, 256};
  PetscInt  ncases = 64, repeat = 10, train = 10, columns = 1;
  PetscBool set, csv, lapack = PETSC_TRUE, trans = PETSC_FALSE;
  char      file[PETSC_MAX_PATH_LEN];
  FILE     *out = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 48;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lapack", &lapack, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-columns", &columns, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-transposed", &trans, NULL));
  PetscCheck(columns >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-columns from 1");
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-train", &train, NULL));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT && train >= 1, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-repeat from 1 to %d, -train from 1", MAXREPEAT);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &csv));
  if (csv) {
    PetscCall(BenchCSVOpen(file,
                           "n,k,partitions,setup_ms,setup_alone,fill,factor,tips,reduced,apply_ms,apply_alone,sweep,"
                           "solvetips,correct,lapack_factor,lapack_solve",
                           &out));
  }
  if (columns > 1 || trans)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%sapplications, right-hand sides: %" PetscInt_FMT "\n",
                          trans ? "transposed " : "", columns));
  PetscCall(WatchEvents(NEVENTS, eventnames));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%8s %4s %6s | %9s %9s | %8s %8s %8s %8s | %8s %8s | %8s %8s %8s | %9s %9s\n",
                        "N", "K", "parts", "setup", "alone", "fill", "factor", "tips", "reduced", "apply", "alone",
                        "sweep", "reduced", "correct", "LAPACK", "solve"));
  for (PetscInt k = 0; k < ncases; k += 2)
    PetscCall(Case(cases[k], cases[k + 1], columns, trans, (int)repeat, (int)train, lapack, out));
  PetscCall(BenchCSVClose(file, &out));
  PetscCall(PetscFinalize());
  return 0;
}
