/* SPDX-License-Identifier: BSD-2-Clause */
/*
  refinement.c: where the time of a band and its refinement goes, products included: Figure 6 of Li, Seidl and Negrut,
  TR-2012-04
*/
static char help[] =
  "Setup with new values of PCSPIKE and a solve by BiCGStab to -rtol, preconditioned from the right, on random bands.\n"
  "Shares of the time of both, each phase waited for before the next one begins: the phases of the setup, sweeps and\n"
  "corrections of the applications, products with the matrix, and what is left: vectors, sums, waits.\n"
  "  -cases <800000,32>   pairs N,K\n"
  "  -d <1>               dominance\n"
  "  -ksp <bcgs>          bcgs, bcgsfused, gmres, ...; the fused ones make products of their own, which count as rest\n"
  "  -rtol <1e-8> -repeat <5>\n"
  "  -partitions <0>      on this rank; 0: the model chooses\n"
  "  -type <auto> -precision <double>   of PCSPIKE, as -pc_spike_type and -pc_spike_precision\n"
  "  -csv <file>          also writes the numbers to a file\n"
  "  -mat_type aijcusparse   on a GPU; options of PCSPIKE\n\n";

#include "common/csvfile.h"
#include "common/watch.h"

enum {
  FILL,
  FACTOR,
  TIPS,
  REDUCED,
  SWEEP,
  CORRECT,
  MULT,
  NEVENTS
};

static const char *const eventnames[] = {"PCSpikeFill",  "PCSpikeFactor",  "PCSpikeTips", "PCSpikeReduced",
                                         "PCSpikeSweep", "PCSpikeCorrect", "MatMult"};
static const char *const names[]      = {"fill", "factor", "tips", "reduced", "sweep", "correct", "product"};

/* Of PCSPIKE */
typedef struct {
  PetscInt            partitions;
  PCSpikeType         type;
  PetscSpikePrecision precision;
} Variant;

static PetscErrorCode Case(PetscInt N, PetscInt K, PetscReal d, const char type[], PetscReal rtol, int repeat,
                           const Variant *variant, FILE *csv)
{
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;
  PCSpikeInfo        info;
  KSPConvergedReason reason;
  PetscInt           its;
  double             t[NEVENTS + 1][MAXREPEAT], ms[NEVENTS + 1], watched[MAXREPEAT], rest;
  PetscLogDouble     t0 = 0.0, t1 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(CreateBand(PETSC_COMM_SELF, N, K, d, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, rtol, 0.0, PETSC_CURRENT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetType(pc, variant->type));
  PetscCall(PCSpikeSetPrecision(pc, variant->precision));
  if (variant->partitions) PetscCall(PCSpikeSetLocalPartitions(pc, variant->partitions));
  PetscCall(PCSetFromOptions(pc));
  for (int r = -2; r < 2 * repeat; r++) { /* first without looking inside, then with */
    const int k = PetscMax(r % repeat, 0);

    PetscCall(MatScale(A, -1.0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(PetscArrayzero(watch.spent, NEVENTS));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    watch.on = (PetscBool)(r >= repeat);
    PetscCall(KSPSolve(ksp, b, x));
    watch.on = PETSC_FALSE;
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (r < repeat) t[NEVENTS][k] = 1e3 * (t1 - t0);
    else watched[k] = 1e3 * (t1 - t0);
    for (int e = 0; e < NEVENTS && r >= repeat; e++) t[e][k] = watch.spent[e];
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PCSpikeGetInfo(pc, &info));
  for (int e = 0; e <= NEVENTS; e++) ms[e] = Median(repeat, t[e]);
  rest = Median(repeat, watched);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\nN = %" PetscInt_FMT ", K = %" PetscInt_FMT ", %" PetscInt_FMT
                        " partitions: %.4f ms, %" PetscInt_FMT " iterations of %s%s; with waits %.4f ms, of which\n",
                        N, K, info.partitions, ms[NEVENTS], its, type, reason > 0 ? "" : ", not converged", rest));
  for (int e = 0; e <= NEVENTS; e++) {
    const double part = e < NEVENTS ? ms[e] : rest;

    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-8s %9.4f ms %6.1f %%\n", e < NEVENTS ? names[e] : "rest", part,
                          100.0 * part / Median(repeat, watched)));
    if (csv)
      fprintf(csv, "%ld,%ld,%ld,%ld,%s,%s,%s,%.6g,%.4g\n", (long)N, (long)K, (long)variant->partitions, (long)its,
              PCSpikeTypes[variant->type], PetscSpikePrecisions[variant->precision], e < NEVENTS ? names[e] : "rest",
              part, part / Median(repeat, watched));
    if (e < NEVENTS) rest -= part;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  cases[64] = {800000, 32}, ncases = 64, repeat = 5;
  PetscReal d = 1.0, rtol = 1e-8;
  PetscBool set;
  char      type[32] = KSPBCGS, file[PETSC_MAX_PATH_LEN];
  FILE     *csv      = NULL;
  Variant   variant  = {0, PC_SPIKE_AUTO,
                     PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &ncases, &set));
  if (!set) ncases = 2;
  PetscCheck(ncases % 2 == 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-cases wants pairs N,K, it has %" PetscInt_FMT " numbers", ncases);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &d, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ksp", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCheck(repeat >= 1 && repeat <= MAXREPEAT, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat from 1 to %d",
             MAXREPEAT);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-partitions", &variant.partitions, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-type", PCSpikeTypes, (PetscEnum *)&variant.type, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-precision", PetscSpikePrecisions, (PetscEnum *)&variant.precision, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &set));
  if (set) { PetscCall(BenchCSVOpen(file, "n,k,asked,its,type,precision,phase,ms,share", &csv)); }
  PetscCall(WatchEvents(NEVENTS, eventnames));
  for (PetscInt k = 0; k < ncases; k += 2)
    PetscCall(Case(cases[k], cases[k + 1], d, type, rtol, (int)repeat, &variant, csv));
  PetscCall(BenchCSVClose(file, &csv));
  PetscCall(PetscFinalize());
  return 0;
}
