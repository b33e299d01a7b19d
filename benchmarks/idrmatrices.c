/* SPDX-License-Identifier: BSD-2-Clause */
/*
  idrmatrices.c: KSPIDRFUSED on real matrices: numbers of products against KSPIDR, and time to solution against PETSc's
  Krylov methods
*/
static char help[] = "Fused IDR(s) on the matrices of a folder and on generated ones.\n\
  -dir FOLDER            Matrix Market files (default $SPIKE_MATRICES); without, generated ones alone\n\
  -mode counts|times     numbers of products against KSPIDR with the same shadow space, or time to solution (both)\n\
  -s s                   dimension of the shadow space (4)\n\
  -rtol t -max_it k      (1e-8, 3000)\n\
  -perturbations k       counts: KSPIDR once more with right-hand sides that differ by 1e-15, so many times (8)\n\
  -solves k              times: solves, of which the fastest counts; a failure is tried once (3)\n\
  -ksps a,b,...          times: PETSc's methods (gmres,lgmres,bcgs,ibcgs,bcgsl,fbcgs,tfqmr,cgs,idr)\n\
  -side left|right       times: of the preconditioner (right, where all methods see the true residual)\n\
  -check 0|1             times: whether idrfused computes the true residual at convergence, as it does by default\n\
 and PETSc's methods never do (1)\n\
  -grid n1,n2            times: points in each direction of the generated convection-diffusion problems (20,40)\n\
  -rows n                times: of the generated bands (50000)\n\
  -bench_mat_type t      aij, aijcusparse\n\n";

#include "common/bandcase.h"
#include "common/petsccompat.h"
#include "../tutorials/mmio.h"

#define MAXKSPS 16

static const char *const matrices[] = {"494_bus",        "BentPipe2D100", "add32",    "bcsstk16",      "cavity14",
                                       "e05r0500",       "epb0",          "fs_760_3", "gr_30_30",      "jpwh_991",
                                       "lap2D_5pt_n100", "lap_25",        "laser",    "matrix_n19168", "mcca",
                                       "nos3",           "nos7",          "olm500",   "orsreg_1",      "pde2961",
                                       "sherman1",       "sherman4",      "sherman5", "wedge6_K",      "west0479",
                                       "young1c"};

typedef struct {
  PetscInt  s, maxit, perturbations, solves, nksps, ngrids, grids[4], rows;
  PetscReal rtol;
  char     *ksps[MAXKSPS], type[64];
  PCSide    side;
  PetscBool check;
} Options;

/* What a solve came to */
typedef struct {
  PetscBool solved; /* the true residual says so */
  PetscInt  its, restarts;
  double    time;
} Outcome;

/* NULL where the folder does not have it, or where it needs complex numbers */
static PetscErrorCode Load(const char dir[], const char name[], const char type[], Mat *A)
{
  char      file[2 * PETSC_MAX_PATH_LEN];
  PetscBool exists, iscomplex;

  PetscFunctionBeginUser;
  *A = NULL;
  PetscCall(PetscStrcmp(name, "young1c", &iscomplex));
  if (iscomplex && !PetscDefined(USE_COMPLEX)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.mtx", dir, name));
  PetscCall(PetscTestFile(file, 'r', &exists));
  if (!exists) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatLoadFile(PETSC_COMM_SELF, file, A));
  PetscCall(MatConvert(*A, type, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve from 0, and whether it is one */
static PetscErrorCode Solve(const Options *o, KSP ksp, Mat A, Vec b, Vec x, Outcome *out)
{
  Vec                r;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;
  PetscLogDouble     t0 = 0.0, t1 = 0.0;
  PetscBool          fused;

  PetscFunctionBeginUser;
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  out->time     = t1 - t0;
  out->restarts = 0;
  PetscCall(KSPGetIterationNumber(ksp, &out->its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPIDRFUSED, &fused));
  if (fused) {
    KSPFusedInfo info;

    PetscCall(KSPFusedGetInfo(ksp, &info));
    out->restarts = info.restarts;
  }
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecDestroy(&r));
  out->solved = (PetscBool)(reason > 0 && rnorm <= 10.0 * o->rtol * bnorm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(const Options *o, KSPType type, Mat A, PC pc, KSP *ksp)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetPC(*ksp, pc));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPIDRSetS(*ksp, o->s));
  PetscCall(KSPFusedSetCheckTrueResidual(*ksp, o->check));
  PetscCall(KSPSetTolerances(*ksp, o->rtol, PETSC_CURRENT, PETSC_MAX_REAL, o->maxit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that has been set up; NULL where that fails */
static PetscErrorCode CreatePC(Mat A, PCType type, PetscInt bandwidth, PC *pc)
{
  PCFailedReason failed;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(PCCreate(PETSC_COMM_SELF, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, type));
  if (bandwidth && !strcmp(type, PCSPIKE)) PetscCall(PCSpikeSetBandwidth(*pc, bandwidth, bandwidth));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCSetUp(*pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PCGetFailedReason(*pc, &failed));
  if (ierr || failed) PetscCall(PCDestroy(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = A x, x random; with k > 0 each number of b off by 1e-15 times something else between -1 and 1 */
static PetscErrorCode RightHandSide(Mat A, PetscInt k, Vec x, Vec b)
{
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = Uniform((uint64_t)i, 1000);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscCall(MatMult(A, x, b));
  if (k) {
    PetscCall(VecGetArray(b, &a));
    for (PetscInt i = 0; i < n; i++) a[i] *= 1.0 + 1e-15 * Uniform((uint64_t)i, (uint64_t)(1000 + k));
    PetscCall(VecRestoreArray(b, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  /*
    rows that both solve; of these within 5 %; KSPIDR itself within 5 % under perturbations; of these; within its own
    spread or 5 %
  */
  PetscInt both, agree, steady, steadyagree, within;
} Tally;

static const char *Number(const Outcome *out, char text[])
{
  if (out->solved) snprintf(text, 16, "%ld%s", (long)out->its, out->restarts ? "r" : "");
  else snprintf(text, 16, "-");
  return text;
}

/* Products of KSPIDR, its own change with b, and ours in four forms with its shadow space */
static PetscErrorCode PrintCounts(const Options *o, const char name[], Mat A, PCType pctype, Tally tally[4])
{
  const KSPIDRFusedOrthogType orthogs[] = {KSP_IDRFUSED_ORTHOG_CLASSICAL, KSP_IDRFUSED_ORTHOG_MODIFIED,
                                           KSP_IDRFUSED_ORTHOG_TWICE, KSP_IDRFUSED_ORTHOG_MODIFIED};
  PC                          pc;
  KSP                         ksp;
  PetscRandom                 rand;
  Vec                         x, b;
  Outcome                     theirs, ours[4], other;
  PetscInt                    least, most, unsolved = 0, n;
  char                        text[5][16], spread[48];

  PetscFunctionBeginUser;
  PetscCall(CreatePC(A, pctype, 0, &pc));
  if (!pc) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-15s %-6s no preconditioner\n", name, pctype));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(CreateKSP(o, KSPIDR, A, pc, &ksp));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPIDRGetRandom(ksp, &rand));
  PetscCall(RightHandSide(A, 0, x, b));
  PetscCall(Solve(o, ksp, A, b, x, &theirs));
  least = most = theirs.its;
  for (PetscInt k = 1; k <= o->perturbations && theirs.solved; k++) {
    PetscCall(RightHandSide(A, k, x, b));
    PetscCall(Solve(o, ksp, A, b, x, &other));
    if (!other.solved) unsolved++;
    else {
      least = PetscMin(least, other.its);
      most  = PetscMax(most, other.its);
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(RightHandSide(A, 0, x, b));
  for (int form = 0; form < 4; form++) {
    PetscCall(CreateKSP(o, KSPIDRFUSED, A, pc, &ksp));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPIDRGetRandom(ksp, &rand));
    PetscCall(KSPIDRFusedSetOrthogType(ksp, orthogs[form]));
    PetscCall(KSPFusedSetReductions(ksp, form == 3 ? KSP_FUSED_REDUCTIONS_PLAIN : KSP_FUSED_REDUCTIONS_MERGED));
    PetscCall(KSPSetUp(ksp));
    PetscCall(RightHandSide(A, 0, x, b));
    PetscCall(Solve(o, ksp, A, b, x, &ours[form]));
    PetscCall(KSPDestroy(&ksp));
    if (theirs.solved && ours[form].solved) {
      const PetscInt  margin = PetscMax(1, theirs.its / 20), d = PetscAbsInt(ours[form].its - theirs.its);
      const PetscBool agree  = (PetscBool)(d <= margin),
                      steady = (PetscBool)(!unsolved && most - theirs.its <= margin && theirs.its - least <= margin);

      tally[form].both++;
      if (agree) tally[form].agree++;
      if (steady) tally[form].steady++;
      if (steady && agree) tally[form].steadyagree++;
      if (agree || (ours[form].its >= least - margin && ours[form].its <= most + margin)) tally[form].within++;
    }
  }
  if (theirs.solved)
    PetscCall(PetscSNPrintf(spread, sizeof(spread), "%" PetscInt_FMT "..%" PetscInt_FMT "%s", least, most,
                            unsolved ? ", or not" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-15s %-6s %6" PetscInt_FMT " %6s %-18s %9s %8s %8s %8s\n", name, pctype, n,
                        Number(&theirs, text[4]), theirs.solved ? spread : "", Number(&ours[0], text[0]),
                        Number(&ours[1], text[1]), Number(&ours[2], text[2]), Number(&ours[3], text[3])));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Ours first, then PETSc's: the fastest solve of each, in rounds in which each has one, so that what else the machine
  does meets all. cases: that anyone solves; in which ours is no slower than the best of PETSc's; in which it is within
  5 % of that
*/
static PetscErrorCode PrintTimes(const Options *o, const char name[], Mat A, PetscInt bandwidth, PCType pctype,
                                 PetscInt cases[3])
{
  PC             pc;
  KSP            ksps[MAXKSPS + 1];
  PetscBool      goes[MAXKSPS + 1];
  Vec            x, b;
  Outcome        best[MAXKSPS + 1], out, *ours = &best[0];
  const Outcome *theirs = NULL;
  const char    *who    = "", *verdict;
  PetscInt       n;

  PetscFunctionBeginUser;
  PetscCall(CreatePC(A, pctype, bandwidth, &pc));
  if (!pc) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-15s %-6s no preconditioner\n", name, pctype));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(RightHandSide(A, 0, x, b));
  for (PetscInt k = 0; k <= o->nksps; k++) {
    PetscCall(CreateKSP(o, k ? o->ksps[k - 1] : KSPIDRFUSED, A, pc, &ksps[k]));
    PetscCall(KSPSetPCSide(ksps[k], o->side));
    PetscCall(KSPSetUp(ksps[k]));
    goes[k] = PETSC_TRUE;
  }
  for (PetscInt round = 0; round <= o->solves; round++) /* one more, for the first makes what the others use */
    for (PetscInt k = 0; k <= o->nksps; k++) {
      if (!goes[k]) continue;
      PetscCall(Solve(o, ksps[k], A, b, x, &out));
      if (round < 2 || out.time < best[k].time) best[k] = out;
      goes[k] = (PetscBool)(out.solved && out.time < 2.0);
    }
  for (PetscInt k = 1; k <= o->nksps; k++) {
    if (best[k].solved && (!theirs || best[k].time < theirs->time)) {
      theirs = &best[k];
      who    = o->ksps[k - 1];
    }
  }
  verdict = "nobody";
  if (theirs || ours->solved) {
    const PetscBool good  = (PetscBool)(ours->solved && (!theirs || ours->time <= theirs->time)),
                    close = (PetscBool)(ours->solved && (!theirs || ours->time <= 1.05 * theirs->time));

    cases[0]++;
    if (good) cases[1]++;
    if (close) cases[2]++;
    verdict = good ? "ahead" : (close ? "within 5 %" : (ours->solved ? "slower" : "not solved"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-15s %-6s %7" PetscInt_FMT " ", name, pctype, n));
  if (ours->solved) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10.3f %5" PetscInt_FMT " ", 1e3 * ours->time, ours->its));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10s %5s ", "-", ""));
  if (theirs)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10.3f %5" PetscInt_FMT " %-6s ", 1e3 * theirs->time, theirs->its, who));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "%10s %5s %-6s ", "-", "", ""));
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "%6.2f  %s\n", theirs && ours->solved ? theirs->time / ours->time : 0.0, verdict));
  for (PetscInt k = 0; k <= o->nksps; k++) PetscCall(KSPDestroy(&ksps[k]));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  -laplace u + velocity.grad u on n^3 points, central differences with a Peclet number of the cell, or with upwind
  differences
*/
static PetscErrorCode MakeConvection(PetscInt n, PetscReal peclet, PetscBool upwind, const char type[], Mat *A)
{
  const PetscInt  N    = n * n * n;
  const PetscReal v[3] = {1.0, 0.6, -0.3};
  PetscInt       *ai, *aj, nz = 0;
  PetscScalar    *aa;
  Mat             B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(N + 1, &ai, 7 * N, &aj, 7 * N, &aa));
  ai[0] = 0;
  for (PetscInt row = 0; row < N; row++) {
    const PetscInt at[3] = {row % n, row / n % n, row / n / n}, step[3] = {1, n, n * n};

    for (PetscInt k = -3; k <= 3; k++) { /* columns in order: -z, -y, -x, diagonal, x, y, z */
      const PetscInt axis = PetscAbsInt(k) - 1, side = k < 0 ? -1 : 1;
      PetscReal      sum = 0.0, c;

      if (!k) {
        for (int d = 0; d < 3; d++) sum += 2.0 + (upwind ? 2.0 * peclet * PetscAbsReal(v[d]) : 0.0);
        aj[nz]   = row;
        aa[nz++] = sum;
        continue;
      }
      if (at[axis] + side < 0 || at[axis] + side >= n) continue;
      c        = side * v[axis] * peclet;
      aj[nz]   = row + side * step[axis];
      aa[nz++] = -1.0 + (upwind ? (c < 0.0 ? 2.0 * c : 0.0) : c);
    }
    ai[row + 1] = nz;
  }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, N, N, ai, aj, aa, &B));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With Jacobi and SPIKE; the matrix goes */
static PetscErrorCode TimesBoth(const Options *o, const char name[], Mat *A, PetscInt bandwidth, PetscInt cases[3])
{
  PetscFunctionBeginUser;
  PetscCall(PrintTimes(o, name, *A, bandwidth, PCJACOBI, cases));
  PetscCall(PrintTimes(o, name, *A, bandwidth, PCSPIKE, cases));
  PetscCall(MatDestroy(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllTimes(const Options *o, const char dir[])
{
  const PetscReal peclets[] = {0.1, 0.9, 5.0}, dominances[] = {0.3, 0.6, 1.1};
  const PetscInt  widths[] = {4, 32};
  PetscInt        cases[3] = {0, 0, 0};
  Mat             A;
  char            name[64];

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\nTime to solution, ms, without setup: the fastest of %" PetscInt_FMT
                        " solves; %s, %s preconditioning, true residuals %schecked, rtol %g; PETSc's fastest of",
                        o->solves, o->type, o->side == PC_RIGHT ? "right" : "left", o->check ? "" : "not ",
                        (double)o->rtol));
  for (PetscInt k = 0; k < o->nksps; k++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %s", o->ksps[k]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%-15s %-6s %7s %10s %5s %10s %5s %-6s %6s\n", "matrix", "pc", "rows",
                        "idrfused", "its", "PETSc", "its", "by", "ratio"));
  for (size_t k = 0; *dir && k < PETSC_STATIC_ARRAY_LENGTH(matrices); k++) {
    PetscBool symmetric;

    PetscCall(Load(dir, matrices[k], o->type, &A));
    if (!A) continue;
    PetscCall(MatIsSymmetric(A, 0.0, &symmetric));
    if (symmetric) PetscCall(MatDestroy(&A));
    else PetscCall(TimesBoth(o, matrices[k], &A, 0, cases));
  }
  for (PetscInt g = 0; g < o->ngrids; g++)
    for (int p = 0; p < 3; p++) {
      PetscCall(MakeConvection(o->grids[g], peclets[p], (PetscBool)(p == 2), o->type, &A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "cd%" PetscInt_FMT " %s %g", o->grids[g], p == 2 ? "up" : "mid",
                              (double)peclets[p]));
      PetscCall(TimesBoth(o, name, &A, 8, cases));
    }
  for (int w = 0; w < 2; w++)
    for (int d = 0; d < 3; d++) {
      PetscCall(CreateBand(PETSC_COMM_SELF, o->rows, widths[w], dominances[d], &A));
      PetscCall(MatConvert(A, o->type, MAT_INPLACE_MATRIX, &A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "band %" PetscInt_FMT " d %g", widths[w], (double)dominances[d]));
      PetscCall(TimesBoth(o, name, &A, 0, cases));
    }
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "idrfused is no slower than the fastest of PETSc's in %" PetscInt_FMT " of %" PetscInt_FMT
                        " cases that anyone solves (%.0f %%), within 5 %% of it in %" PetscInt_FMT "\n",
                        cases[1], cases[0], 100.0 * cases[1] / PetscMax(1, cases[0]), cases[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AllCounts(const Options *o, const char dir[])
{
  const PCType      pcs[]   = {PCNONE, PCJACOBI, PCILU};
  const char *const forms[] = {"classical", "modified", "twice", "plain"};
  Tally             tally[4];
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(tally, sizeof(tally)));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "Products to rtol %g, at most %" PetscInt_FMT ", s = %" PetscInt_FMT
                        ", right preconditioning, the shadow space of KSPIDR; b = A x, x random. -: not solved; r: "
                        "with a new start\n",
                        (double)o->rtol, o->maxit, o->s));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "spread: KSPIDR itself with %" PetscInt_FMT " right-hand sides that differ by 1e-15\n",
                        o->perturbations));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-15s %-6s %6s %6s %-18s %9s %8s %8s %8s\n", "matrix", "pc", "rows", "idr",
                        "its spread", forms[0], forms[1], forms[2], forms[3]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(matrices); k++) {
    PetscCall(Load(dir, matrices[k], MATAIJ, &A));
    if (!A) continue;
    for (int p = 0; p < 3; p++) PetscCall(PrintCounts(o, matrices[k], A, pcs[p], tally));
    PetscCall(MatDestroy(&A));
  }
  for (int form = 0; form < 4; form++) {
    const Tally *t = &tally[form];

    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%-9s both solve %" PetscInt_FMT ", within 5 %% in %" PetscInt_FMT
                          "; where KSPIDR itself changes by no more, %" PetscInt_FMT " of %" PetscInt_FMT
                          "; within 5 %% of its spread %" PetscInt_FMT "\n",
                          forms[form], t->both, t->agree, t->steadyagree, t->steady, t->within));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const builtin[]               = {KSPGMRES, KSPLGMRES, KSPBCGS, KSPIBCGS, KSPBCGSL,
                                                      KSPFBCGS, KSPTFQMR,  KSPCGS,  KSPIDR};
  char                     dir[PETSC_MAX_PATH_LEN] = "", mode[16] = "both";
  Options                  o;
  PetscBool                set, exists;
  PetscEnum                side = (PetscEnum)PC_RIGHT;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(SpikeKSPHasType(KSPIDR, &set));
  PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_SUP, "This benchmark compares with KSPIDR, which PETSc has since 3.26");
  PetscCall(PetscMemzero(&o, sizeof(o)));
  o.s             = 4;
  o.maxit         = 3000;
  o.perturbations = 8;
  o.solves        = 3;
  o.nksps         = MAXKSPS;
  o.ngrids        = 4;
  o.rows          = 50000;
  o.rtol          = 1e-8;
  o.check         = PETSC_TRUE;
  PetscCall(PetscStrncpy(o.type, MATAIJ, sizeof(o.type)));
  PetscCall(PetscOptionsGetenv(PETSC_COMM_WORLD, "SPIKE_MATRICES", dir, sizeof(dir), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dir", dir, sizeof(dir), NULL));
  PetscCall(PetscTestDirectory(dir, 'r', &exists));
  if (!exists) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "No folder of matrices \"%s\": set SPIKE_MATRICES or -dir\n", dir));
    dir[0] = 0;
  }
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mode", mode, sizeof(mode), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-s", &o.s, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &o.rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_it", &o.maxit, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-perturbations", &o.perturbations, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &o.solves, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-grid", o.grids, &o.ngrids, &set));
  if (!set) {
    o.ngrids   = 2;
    o.grids[0] = 20;
    o.grids[1] = 40;
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &o.rows, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", o.type, sizeof(o.type), NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-ksps", o.ksps, &o.nksps, &set));
  if (!set) {
    o.nksps = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(builtin);
    for (PetscInt k = 0; k < o.nksps; k++) PetscCall(PetscStrallocpy(builtin[k], &o.ksps[k]));
  }
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-side", PCSides, &side, NULL));
  o.side = (PCSide)side;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &o.check, NULL));
  if (*dir && strcmp(mode, "times")) PetscCall(AllCounts(&o, dir));
  if (strcmp(mode, "counts")) PetscCall(AllTimes(&o, dir));
  for (PetscInt k = 0; k < o.nksps; k++) PetscCall(PetscFree(o.ksps[k]));
  PetscCall(PetscFinalize());
  return 0;
}
