/* SPDX-License-Identifier: BSD-2-Clause */
/* ex8.c: is my matrix one for PCSPIKE? The figures that decide, and a picture of the matrix before and after */
static char help[] = "Says whether the band of a matrix is worth factoring, and what to take where it is not.\n"
                     "  -f <file>:       Matrix Market or PETSc binary; without it one is generated\n"
                     "  -picture <file>: draw the matrix as read, and as PCSPIKE factored it, as SVG: partitions,\n"
                     "                   border, decay of the spikes\n"
                     "  -most <flops>:   factor a band of no more operations (1e11); figures decide beyond\n"
                     "  -check:          no times, no numbers that depend on the machine\n"
                     "  options of PCSPIKE, such as -pc_spike_local_partitions, as always\n\n";

#include <petscspike.h>
#include <petsctime.h>
#include "mmio.h"
#include "picture.h"
#include "problems.h"

typedef struct {
  PetscInt   n, kl, ku;
  PetscCount nz;
  PetscInt   empty, dominant; /* rows without an entry on the diagonal; with one above the sum of the others */
  PetscReal  norm;            /* largest sum of a row */
} Figures;

static PetscErrorCode Measure(Mat A, Figures *f)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  PetscCall(MatGetSize(A, &f->n, NULL));
  for (PetscInt i = 0; i < f->n; i++) {
    const PetscInt    *j;
    const PetscScalar *v;
    PetscInt           n;
    PetscReal          diagonal = 0.0, others = 0.0;

    PetscCall(MatGetRow(A, i, &n, &j, &v));
    for (PetscInt k = 0; k < n; k++) {
      if (v[k] == (PetscScalar)0.0) continue;
      f->nz++;
      f->kl = PetscMax(f->kl, i - j[k]);
      f->ku = PetscMax(f->ku, j[k] - i);
      if (j[k] == i) diagonal = PetscAbsScalar(v[k]);
      else others += PetscAbsScalar(v[k]);
    }
    PetscCall(MatRestoreRow(A, i, &n, &j, &v));
    f->norm = PetscMax(f->norm, diagonal + others);
    if (diagonal == 0.0) f->empty++;
    else if (diagonal > others) f->dominant++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of the factors of PETSc's LU with nested dissection; 0 where it fails */
static PetscErrorCode FillOfLU(Mat A, PetscReal *entries)
{
  Mat            F;
  IS             row, col;
  MatFactorInfo  info;
  MatInfo        stats;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  *entries = 0.0;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 5.0;
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_LU, &F));
  PetscCall(MatGetOrdering(A, MATORDERINGND, &row, &col));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); /* some patterns are an error for it */
  ierr = MatLUFactorSymbolic(F, A, row, col, &info);
  PetscCall(PetscPopErrorHandler());
  if (!ierr) {
    PetscCall(MatGetInfo(F, MAT_LOCAL, &stats));
    *entries = (PetscReal)stats.nz_used;
  }
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(MatDestroy(&F));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve with b = A 1; backward: ||b - A x|| / (||A|| ||x|| + ||b||) */
static PetscErrorCode Try(Mat A, const Figures *f, const char ksptype[], KSP *ksp, PetscReal *backward,
                          PetscLogDouble seconds[2])
{
  Vec            x, b, r;
  PC             pc;
  PetscReal      xnorm, bnorm, rnorm;
  PetscLogDouble start, middle, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, ksptype));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscTime(&start));
  PetscCall(KSPSetUp(*ksp));
  PetscCall(PetscTime(&middle));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(PetscTime(&end));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  *backward  = rnorm > 0.0 ? rnorm / (f->norm * xnorm + bnorm) : 0.0;
  seconds[0] = middle - start;
  seconds[1] = end - middle;
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors the band, tells what that gave, and says what to take */
static PetscErrorCode Decide(Mat A, const Figures *f, PetscReal fill, PetscBool check, Band *band)
{
  KSP                ksp, iterative;
  PC                 pc;
  PCSpikeInfo        info;
  PCFailedReason     failed;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          backward;
  PetscLogDouble     seconds[2];

  PetscFunctionBeginUser;
  PetscCall(Try(A, f, KSPPREONLY, &ksp, &backward, seconds));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &failed));
  PetscCall(PCSpikeGetInfo(pc, &info));
  if (band) PetscCall(BandCreate(pc, A, band));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "factored: half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT "%s%s, %" PetscInt_FMT
                        " boosted pivots\n",
                        info.kl, info.ku, info.reordered ? ", reordered" : "",
                        info.matched ? ", rows permuted and scaled" : "", info.boosted));
  if (!check) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "partitions: %" PetscInt_FMT " of %" PetscInt_FMT " to %" PetscInt_FMT
                          " rows, %s; far ends of the spikes %.1e of their tips\n",
                          info.partitions, info.min_partition, info.max_partition,
                          info.partitions < 2          ? "nothing to couple"
                          : info.type == PC_SPIKE_FULL ? "coupled exactly"
                                                       : "coupled by truncated spikes",
                          (double)info.decay));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time: setup %.3g s, solve %.3g s; memory %.3g MB\n", seconds[0],
                          seconds[1], (double)(info.bytes + info.extra_bytes) * 1e-6));
    if (reason > 0)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "backward error of a direct solve: %.1e\n", (double)backward));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a direct solve fails\n"));
  }
  if (reason > 0 && backward <= 1e4 * PETSC_MACHINE_EPSILON) {
    if (fill > 0.0 && (PetscReal)f->n * (info.kl + info.ku + 1) > 4.0 * fill)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "VERDICT: -ksp_type preonly -pc_type spike solves it, and -pc_type lu "
                                              "does with a fraction of the numbers\n"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "VERDICT: yes, -ksp_type preonly -pc_type spike solves it\n"));
  } else {
    PetscCall(Try(A, f, KSPBCGSFUSED, &iterative, &backward, seconds));
    PetscCall(KSPGetConvergedReason(iterative, &reason));
    PetscCall(KSPGetIterationNumber(iterative, &its));
    PetscCall(KSPDestroy(&iterative));
    if (reason > 0)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "VERDICT: as a preconditioner, -ksp_type bcgsfused -pc_type spike: %" PetscInt_FMT
                            " iterations to 1e-8\n",
                            its));
    else
      PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                            "VERDICT: no; the factorization says %s, bcgsfused ends with %s. Is the matrix singular?\n"
                            "Else take -pc_type lu with a package that pivots, such as MUMPS\n",
                            PCFailedReasons[failed], KSPConvergedReasons[reason]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char        file[PETSC_MAX_PATH_LEN] = "", picture[PETSC_MAX_PATH_LEN] = "";
  Mat         A, B, C;
  IS          row, col;
  Figures     f, g;
  Band        band  = {0};
  PetscReal   most  = 1e11, fill, flops;
  PetscBool   check = PETSC_FALSE, narrower;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "Orderings and pictures are for one rank");
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-picture", picture, sizeof(picture), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-most", &most, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-check", &check, NULL));
  if (file[0]) PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, &A));
  else PetscCall(ExchangerCreate(PETSC_COMM_SELF, 1000, 3, &A)); /* numbered so that the band is hidden */
  PetscCall(Measure(A, &f));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatEliminateZeros(C, PETSC_TRUE)); /* as PCSPIKE does */
  PetscCall(MatGetOrdering(C, MATORDERINGRCM, &row, &col));
  PetscCall(MatPermute(C, row, col, &B));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscCall(Measure(B, &g));
  narrower = (PetscBool)(g.kl + g.ku < f.kl + f.ku);
  PetscCall(FillOfLU(C, &fill));
  PetscCall(MatDestroy(&C));
  flops = 2.0 * f.n * (narrower ? (PetscReal)g.kl * g.ku : (PetscReal)f.kl * f.ku);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "matrix: %" PetscInt_FMT " rows, %" PetscCount_FMT " entries; %" PetscInt_FMT
                        " rows with a dominant diagonal, %" PetscInt_FMT " without any\n",
                        f.n, f.nz, f.dominant, f.empty));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "half-bandwidths: %" PetscInt_FMT ",%" PetscInt_FMT " as read", f.kl, f.ku));
  if (!check) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, ", %" PetscInt_FMT ",%" PetscInt_FMT " after RCM", g.kl, g.ku));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\nthe narrower band has %.3g entries, ",
                          (double)f.n * (narrower ? g.kl + g.ku + 1 : f.kl + f.ku + 1)));
    if (fill > 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the factors of LU with nested dissection %.3g", fill));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "and PETSc's LU does not take this pattern"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  if (flops > most)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD,
                  "VERDICT: the band is the wrong form, its factors take %.1e operations: take -pc_type lu, or a\n"
                  "part of the band as a preconditioner, -pc_spike_bandwidth 32; -most tries nevertheless\n",
                  (double)flops));
  else PetscCall(Decide(A, &f, fill, check, picture[0] ? &band : NULL));
  if (picture[0]) {
    const char *what = band.moved ? "as factored, in another order" : "as factored";

    if (!band.B) { /* not factored */
      band.n  = f.n;
      band.kl = narrower ? g.kl : f.kl;
      band.ku = narrower ? g.ku : f.ku;
      band.B  = narrower ? B : A;
      what    = narrower ? "in the order of RCM" : "as read";
      PetscCall(PetscObjectReference((PetscObject)band.B));
    }
    PetscCall(BandDraw(picture, A, f.kl, f.ku, &band, what));
    PetscCall(BandDestroy(&band));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "picture: %s\n", picture));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single !complex
      args: -check
      test:
         suffix: 1
         args: -picture ex8.svg
      test:
         suffix: picture
         args: -picture ex8.svg -pc_spike_local_partitions 4
         filter: cat - ex8.svg | \
           grep -o -E "(factored|order): half-bandwidths [0-9,]+|class=.(partition|spike|border)" | sort | uniq -c
      test:
         suffix: wrong
         args: -most 1000
         filter: grep -A 1 VERDICT

TEST*/
