/* SPDX-License-Identifier: BSD-2-Clause */
/*
  solve.c: time to solution, setup with the same pattern plus solve, PCSPIKE against PETSc's other preconditioners under
  the same KSP
*/
static char
  help[] = "Random bands: off-diagonals uniform in [-1, 1], a_ii = d * sum of the magnitudes of the others in the row; "
           "natural ordering.\n"
           "Setup with new values in the same pattern, then a solve from zero, preconditioned from the right: ms, "
           "medians of -repeat. \"true\" is ||b - A x|| / ||b||\n"
           "by MatMult. WRONG: the solver says converged and that is above 10 times rtol. A failure is timed once, and "
           "so is what takes a second or more.\n"
           "  -n <200000>               rows\n"
           "  -k <50,200>               half-bandwidths\n"
           "  -d <0.05,0.1,...>         dominances\n"
           "  -ksps <gmres,bcgs,idr>    methods\n"
           "  -pcs <jacobi,...>         preconditioners besides PCSPIKE in each of its precisions; ilu and bjacobi "
           "with one KSP only, the one called bcgs: they are slow\n"
           "  -precisions <...>         of the factors, by default all that the backend has\n"
           "  -slow <1>                 0: without ilu and bjacobi; 1: with them for the first and last d; 2: always\n"
           "  -partitions <n,...>       PCSPIKE with these numbers of partitions too\n"
           "  -blocks <16>              of bjacobi\n"
           "  -rtol <1e-8> -max_it <500> -repeat <3>\n"
           "  -csv <file>               also writes the numbers to a file\n"
           "  -mat_type aijcusparse     on a GPU; options of PCSPIKE\n\n";

#include "common/csvfile.h"
#include "common/bandcase.h"
#include "common/petsccompat.h"

#define MAXMETHODS 32

/* What stands in one line of the table */
typedef struct {
  char                name[64];
  PCType              type;
  PetscSpikePrecision precision;
  PetscInt            partitions;
  PetscBool           slow;
} Method;

typedef struct {
  PetscReal rtol;
  PetscInt  maxit, repeat, slow, blocks;
  FILE     *csv;
} Options;

typedef struct {
  double             total, setup;
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          residual;
} Outcome;

/* KSP of that type with the preconditioner, which has been set up before: setup with new values plus solve */
static PetscErrorCode Solve(const Options *o, const char type[], Mat A, PC pc, Vec b, Vec x, Outcome *out)
{
  KSP            ksp;
  Vec            r;
  double         total[MAXREPEAT], setup[MAXREPEAT];
  PetscReal      bnorm;
  PetscLogDouble t0 = 0.0, t1 = 0.0, t2 = 0.0;
  PetscInt       done = 0;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetPC(ksp, pc));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, o->rtol, PETSC_CURRENT, PETSC_CURRENT, o->maxit));
  for (PetscInt k = -1; k < o->repeat; k++) { /* the first makes work vectors */
    PetscCall(MatScale(A, -1.0));
    PetscCall(VecSet(x, 0.0));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t2));
    PetscCall(KSPGetConvergedReason(ksp, &out->reason));
    done            = PetscMax(k, 0) + 1;
    total[done - 1] = 1e3 * (t2 - t0);
    setup[done - 1] = 1e3 * (t1 - t0);
    if (out->reason < 0 || t2 - t0 > 1.0) break;
  }
  out->total = Median((int)done, total);
  out->setup = Median((int)done, setup);
  PetscCall(KSPGetIterationNumber(ksp, &out->its));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &out->residual));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  out->residual /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL where the backend does not have the precision */
static PetscErrorCode CreatePC(const Options *o, const Method *m, Mat A, PC *pc, double *first)
{
  PetscLogDouble t0 = 0.0, t1 = 0.0;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, m->type));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetType(*pc, m->type));
  if (m->precision != (PetscSpikePrecision)-1) PetscCall(PCSpikeSetPrecision(*pc, m->precision));
  if (m->partitions) PetscCall(PCSpikeSetLocalPartitions(*pc, m->partitions));
  if (!strcmp(m->type, PCBJACOBI)) PetscCall(PCBJacobiSetTotalBlocks(*pc, o->blocks, NULL));
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  if (m->precision != (PetscSpikePrecision)-1) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = PCSetUp(*pc);
    PetscCall(PetscPopErrorHandler());
    if (ierr == PETSC_ERR_SUP) {
      PetscCall(PCDestroy(pc));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCheck(!ierr, PETSC_COMM_SELF, ierr, "PCSetUp() with %s fails", m->name);
  } else PetscCall(PCSetUp(*pc));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  *first = 1e3 * (t1 - t0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  All methods on one matrix; won counts the (KSP, matrix) that anyone solves, and those where a default PCSPIKE is
  first; wrong counts wrong answers of PCSPIKE
*/
static PetscErrorCode Rows(const Options *o, Mat A, PetscInt K, PetscReal d, PetscBool slow, PetscInt nksps,
                           char **ksps, PetscInt nmethods, const Method methods[], PetscInt won[2], PetscInt *wrong)
{
  Vec      b, x;
  Outcome  best[8];
  PetscInt first[8];

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < nksps; k++) first[k] = -1;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  for (PetscInt m = 0; m < nmethods; m++) {
    const PetscBool spike = (PetscBool)!strcmp(methods[m].type, PCSPIKE);
    PC              pc;
    double          setup     = 0.0;
    char            parts[32] = "";

    if (methods[m].slow && !slow) continue;
    PetscCall(CreatePC(o, &methods[m], A, &pc, &setup));
    if (!pc) continue;
    if (spike) {
      PCSpikeInfo info;

      PetscCall(PCSpikeGetInfo(pc, &info));
      PetscCall(PetscSNPrintf(parts, sizeof(parts), "%" PetscInt_FMT, info.partitions));
    }
    for (PetscInt k = 0; k < nksps; k++) {
      Outcome     out;
      const char *verdict = "";

      if (methods[m].slow && strcmp(ksps[k], KSPBCGS)) continue;
      PetscCall(Solve(o, ksps[k], A, pc, b, x, &out));
      if (out.reason < 0) verdict = "failed";
      else if (PetscIsInfOrNanReal(out.residual) || out.residual > 10 * o->rtol) verdict = "WRONG";
      if (spike && verdict[0] == 'W') ++*wrong;
      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%4" PetscInt_FMT " %5g %-6s %-20s %6s %10.1f %10.3f %10.3f %5" PetscInt_FMT
                            " %4d %9.1e  %s\n",
                            K, (double)d, ksps[k], methods[m].name, parts, setup, out.setup, out.total, out.its,
                            (int)out.reason, (double)out.residual, verdict));
      if (o->csv)
        PetscCall(PetscFPrintf(PETSC_COMM_SELF, o->csv,
                               "%" PetscInt_FMT ",%g,%s,%s,%s,%g,%g,%g,%" PetscInt_FMT ",%d,%g\n", K, (double)d,
                               ksps[k], methods[m].name, parts, setup, out.setup, out.total, out.its, (int)out.reason,
                               (double)out.residual));
      if (!*verdict && (first[k] < 0 || out.total < best[k].total)) {
        first[k] = m;
        best[k]  = out;
      }
    }
    PetscCall(PCDestroy(&pc));
  }
  for (PetscInt k = 0; k < nksps; k++) {
    if (first[k] < 0)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT " %5g %-6s nobody solves it\n", K, (double)d, ksps[k]));
    else {
      won[0]++;
      if (!strcmp(methods[first[k]].type, PCSPIKE) && !methods[first[k]].partitions) won[1]++;
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT " %5g %-6s first: %s, %.3f ms\n", K, (double)d, ksps[k],
                            methods[first[k]].name, best[k].total));
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AddMethod(Method methods[], PetscInt *n, PCType type, PetscSpikePrecision precision,
                                PetscInt partitions, const char name[])
{
  Method *m = &methods[*n];

  PetscFunctionBeginUser;
  PetscCheck(*n < MAXMETHODS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More than %d preconditioners", MAXMETHODS);
  m->type       = type;
  m->precision  = precision;
  m->partitions = partitions;
  m->slow       = (PetscBool)(!strcmp(type, PCILU) || !strcmp(type, PCBJACOBI));
  PetscCall(PetscStrncpy(m->name, name, sizeof(m->name)));
  PetscCall(PetscStrtolower(m->name));
  ++*n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Method   methods[MAXMETHODS];
  char    *ksps[8] = {NULL}, *pcs[16] = {NULL}, *wanted[8] = {NULL}, file[PETSC_MAX_PATH_LEN], name[64];
  PetscInt n = 200000, k[8] = {50, 200}, nk = 8, nd = 16, nksps = 8, npcs = 16, nwanted = 8, partitions[8],
           npartitions = 8, nmethods = 0, nprecisions = 0, won[2] = {0, 0}, wrong = 0;
  PetscReal d[16] = {0.05, 0.1, 0.2, 0.3, 0.5, 1.0};
  PetscBool set, csv;
  Options   o = {1e-8, 500, 3, 1, 16, NULL};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-k", k, &nk, &set));
  if (!set) nk = 2;
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-d", d, &nd, &set));
  if (!set) nd = 6;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ksps", ksps, &nksps, &set));
  if (!set) {
    PetscCall(SpikeKSPHasType(KSPIDR, &set));
    nksps = set ? 3 : 2;
    PetscCall(PetscStrallocpy(KSPGMRES, &ksps[0]));
    PetscCall(PetscStrallocpy(KSPBCGS, &ksps[1]));
    if (set) PetscCall(PetscStrallocpy(KSPIDR, &ksps[2]));
  }
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-pcs", pcs, &npcs, &set));
  if (!set) {
    npcs = 3;
    PetscCall(PetscStrallocpy(PCJACOBI, &pcs[0]));
    PetscCall(PetscStrallocpy(PCBJACOBI, &pcs[1]));
    PetscCall(PetscStrallocpy(PCILU, &pcs[2]));
  }
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-partitions", partitions, &npartitions, &set));
  if (!set) npartitions = 0;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-slow", &o.slow, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-blocks", &o.blocks, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &o.rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &o.maxit, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &o.repeat, NULL));
  PetscCheck(o.repeat >= 1 && o.repeat <= MAXREPEAT, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-repeat from 1 to %d",
             MAXREPEAT);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &csv));
  if (csv) {
    PetscCall(BenchCSVOpen(file, "k,d,ksp,pc,partitions,first_setup_ms,setup_ms,total_ms,its,reason,residual", &o.csv));
  }
  while (PetscSpikePrecisions[nprecisions]) nprecisions++;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-precisions", wanted, &nwanted, &set));
  for (PetscInt p = 0; p < nprecisions - 2; p++) { /* after the names stand that of the type and the prefix */
    PetscBool want = (PetscBool)!set;

    for (PetscInt w = 0; w < nwanted && !want; w++)
      PetscCall(PetscStrcasecmp(wanted[w], PetscSpikePrecisions[p], &want));
    if (!want) continue;
    PetscCall(PetscSNPrintf(name, sizeof(name), "spike %s", PetscSpikePrecisions[p]));
    PetscCall(AddMethod(methods, &nmethods, PCSPIKE, (PetscSpikePrecision)p, 0, name));
  }
  for (PetscInt p = 0; p < npartitions; p++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "spike in %" PetscInt_FMT, partitions[p]));
    PetscCall(AddMethod(methods, &nmethods, PCSPIKE, (PetscSpikePrecision)-1, partitions[p], name));
  }
  for (PetscInt p = 0; p < npcs; p++)
    PetscCall(AddMethod(methods, &nmethods, pcs[p], (PetscSpikePrecision)-1, 0, pcs[p]));

  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%" PetscInt_FMT " rows, rtol %g, at most %" PetscInt_FMT
                        " iterations\n%4s %5s %-6s %-20s %6s %10s %10s %10s %5s %4s %9s\n",
                        n, (double)o.rtol, o.maxit, "K", "d", "ksp", "pc", "parts", "first", "setup", "total", "its",
                        "why", "true"));
  for (PetscInt i = 0; i < nk; i++) {
    Mat A;
    Vec diag;

    PetscCall(CreateBand(PETSC_COMM_SELF, n, k[i], 1.0, &A));
    PetscCall(MatCreateVecs(A, NULL, &diag));
    for (PetscInt j = 0; j < nd; j++) {
      PetscCall(MatGetDiagonal(A, diag));
      PetscCall(VecScale(diag, d[j] / (j ? d[j - 1] : 1.0)));
      PetscCall(MatDiagonalSet(A, diag, INSERT_VALUES));
      PetscCall(Rows(&o, A, k[i], d[j], (PetscBool)(o.slow > 1 || (o.slow == 1 && (j == 0 || j == nd - 1))), nksps,
                     ksps, nmethods, methods, won, &wrong));
    }
    PetscCall(VecDestroy(&diag));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "PCSPIKE with its own number of partitions is first in %" PetscInt_FMT " of %" PetscInt_FMT
                        " rows that anyone solves; its wrong answers: %" PetscInt_FMT "\n",
                        won[1], won[0], wrong));
  PetscCall(BenchCSVClose(file, &o.csv));
  for (PetscInt p = 0; p < nksps; p++) PetscCall(PetscFree(ksps[p]));
  for (PetscInt p = 0; p < npcs; p++) PetscCall(PetscFree(pcs[p]));
  for (PetscInt p = 0; set && p < nwanted; p++) PetscCall(PetscFree(wanted[p]));
  PetscCall(PetscFinalize());
  return 0;
}
