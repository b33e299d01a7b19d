/* SPDX-License-Identifier: BSD-2-Clause */
/* ex2.c: a matrix from a file, and everything that PCSpikeGetInfo() tells about it */
static char help[] = "Solves with a matrix from a file and shows what PCSPIKE made of it.\n"
                     "  -f <file>: Matrix Market or PETSc binary; without it one is generated, written and read back\n"
                     "  -solve 0:  stop after the setup\n\n";

#include <petscspike.h>
#include "mmio.h"
#include "problems.h"

/* Without -f: a plate heat exchanger with 3 streams, 1000 stations, in a numbering that hides the band */
static PetscErrorCode LoadGenerated(Mat *A)
{
  char        dir[PETSC_MAX_PATH_LEN], file[PETSC_MAX_PATH_LEN] = "";
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, dir, sizeof(dir)));
  PetscCall(PetscStrlcat(dir, "/petscspike_XXXXXX", sizeof(dir)));
  if (rank == 0) {
    Mat S;

    PetscCall(PetscMkdtemp(dir));
    PetscCall(PetscSNPrintf(file, sizeof(file), "%s/exchanger.mtx", dir));
    PetscCall(ExchangerCreate(PETSC_COMM_SELF, 1000, 3, &S));
    PetscCall(MatWriteMatrixMarket(S, file));
    PetscCall(MatDestroy(&S));
  }
  PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, A));
  if (rank == 0) PetscCall(PetscRMTree(dir));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ShowInfo(PC pc)
{
  PCSpikeInfo info;
  PetscBool   spike;

  PetscFunctionBeginUser;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCSPIKE, &spike));
  if (!spike) PetscFunctionReturn(PETSC_SUCCESS); /* another -pc_type */
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "rows                          %" PetscInt_FMT "\n", info.n));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "half-bandwidths as read       %" PetscInt_FMT " lower, %" PetscInt_FMT " upper\n",
                        info.natural_kl, info.natural_ku));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "half-bandwidths factored      %" PetscInt_FMT " lower, %" PetscInt_FMT " upper, %s\n", info.kl,
                        info.ku, info.reordered ? "after reordering" : "not reordered"));
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "dropped outside the band      %.2g of the sum of |a_ij|\n", (double)info.dropped));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "partitions                    %" PetscInt_FMT ", each of %" PetscInt_FMT " to %" PetscInt_FMT
                        " rows\n",
                        info.partitions, info.min_partition, info.max_partition));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "what the truncation neglects  %.1g of a spike\n", (double)info.decay));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "boosted pivots                %" PetscInt_FMT "\n", info.boosted));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "setups                        %" PetscInt_FMT " from scratch, %" PetscInt_FMT
                        " with the same pattern\n",
                        info.rebuilds, info.refills));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "memory                        %.2f MB for the band, %.2f MB beside it\n",
                        (double)info.bytes / 1e6, (double)info.extra_bytes / 1e6));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "where                         %s\n", info.backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Mat                A;
  Vec                x, b, r;
  KSP                ksp;
  PC                 pc;
  PetscInt           m, n;
  PetscReal          rnorm, bnorm;
  KSPConvergedReason reason;
  PCFailedReason     why;
  PetscBool          given, solve = PETSC_TRUE;
  char               file[PETSC_MAX_PATH_LEN];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &given));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));

  /* 1. The matrix, of type -mat_type, and a right-hand side whose solution is 1 */
  if (given) PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, &A));
  else PetscCall(LoadGenerated(&A));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCheck(m == n, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "The matrix is not square: %" PetscInt_FMT " rows, %" PetscInt_FMT " columns", m, n);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));

  /* 2. Setup: a matrix without a usable pivot is no error, but a reason that can be asked for */
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCGetFailedReason(pc, &why));
  if (why)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "setup failed: %s; -info :pc tells which row, and what can be done\n",
                          PCFailedReasons[why]));
  PetscCall(ShowInfo(pc));

  /* 3. Solve, and measure by A itself */
  if (solve) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &rnorm));
    PetscCall(VecNorm(b, NORM_2, &bnorm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve                         %s\n",
                          reason > 0 ? "converged" : KSPConvergedReasons[reason]));
    if (rnorm < 1e-4 * bnorm) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual        < 1e-4\n"));
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "true relative residual        %.2g\n", (double)(rnorm / bnorm)));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      args: -ksp_rtol 1e-6
      test:
         suffix: 1
         filter: grep -v "half-bandwidths\|memory\|growth\|estimate of ||"
      test:
         suffix: partitions
         args: -pc_spike_local_partitions 4 -ksp_type bcgs
         filter: grep -v "half-bandwidths\|memory\|neglects\|growth\|estimate of ||"

   testset:
      requires: matrices !single !complex
      args: -ksp_type bcgs -ksp_rtol 1e-6
      filter: grep "residual"
      output_file: output/ex2_file.out
      test:
         suffix: file
         args: -f {{$SPIKE_MATRICES/epb0.mtx $SPIKE_MATRICES/sherman1.mtx $SPIKE_MATRICES/orsreg_1.mtx \
               $SPIKE_MATRICES/add32.mtx $SPIKE_MATRICES/pde2961.mtx $SPIKE_MATRICES/gr_30_30.mtx}}
      test:
         suffix: file_ranks
         nsize: 3
         args: -f {{$SPIKE_MATRICES/BentPipe2D100.mtx $SPIKE_MATRICES/pde2961.mtx $SPIKE_MATRICES/gr_30_30.mtx \
               $SPIKE_MATRICES/nos3.mtx}}

   test:
      suffix: singular
      requires: matrices !single !complex
      args: -f ${SPIKE_MATRICES}/laser.mtx -solve 0 -pc_spike_shift_type none
      filter: grep "setup failed"

   test:
      suffix: nofile
      args: -f no/such/file.mtx -petsc_ci_portable_error_output -error_output_stdout
      filter: grep -o "Cannot open the file.*"

TEST*/
