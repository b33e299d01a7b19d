/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "The operator of PCSPIKE on several ranks: layouts with empty and uneven ranks against dense "
                     "references, and against one rank with the same partitions.\n\n";

#include "spikecase.h"

typedef enum {
  LAYOUT_EVEN,
  LAYOUT_UNEVEN, /* rank r owns rows in proportion to r + 1           */
  LAYOUT_HOLES,  /* ranks 0, 2, 4, ... own nothing                    */
  LAYOUT_GAP,    /* ranks 1, 3, ... own nothing                       */
  LAYOUT_LAST,   /* the last rank owns everything                     */
  LAYOUT_TIGHT,  /* all ranks but the first own as few rows as allowed */
  NLAYOUTS
} Layout;

/* Rows of this rank; *fewest: rows of the rank that owns fewest, ranks without rows not counted */
static PetscErrorCode LayoutRows(Layout layout, PetscInt n, PetscInt tight, PetscInt *nlocal, PetscInt *fewest)
{
  PetscMPIInt size, rank, owners = 0;
  PetscInt    total = 0, given = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  *nlocal = 0;
  *fewest = n;
  for (PetscInt pass = 0; pass < 2; pass++) {
    PetscMPIInt seen = 0;

    for (PetscMPIInt r = 0; r < size; r++) {
      PetscInt weight = 1, rows;

      if (layout == LAYOUT_UNEVEN) weight = r + 1;
      if ((layout == LAYOUT_HOLES && r % 2 == 0) || (layout == LAYOUT_GAP && r % 2 == 1) ||
          (layout == LAYOUT_LAST && r < size - 1))
        weight = 0;
      if (!pass) {
        total += weight;
        owners += weight > 0;
        continue;
      }
      if (weight) seen++;
      rows = seen == owners ? n - given : n * weight / total;
      if (layout == LAYOUT_TIGHT) rows = r ? tight : n - (size - 1) * tight;
      if (!weight) rows = 0;
      given += rows;
      if (rows) *fewest = PetscMin(*fewest, rows);
      if (r == rank) *nlocal = rows;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLayouts(void)
{
  const PetscInt bands[][3] = {{0, 0, 9},  {1, 0, 12}, {0, 2, 13}, {1, 1, 1},  {1, 1, 2},
                               {1, 1, 33}, {3, 5, 32}, {4, 2, 64}, {8, 7, 65}, {2, 2, 100}};
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++) {
    const PetscInt kl = bands[b][0], ku = bands[b][1], n = bands[b][2],
                   K = PetscMax(PetscMin(PetscMax(kl, ku), n - 1), 1);

    for (PetscInt layout = 0; layout < (size > 1 ? NLAYOUTS : 1); layout++) {
      for (PetscInt local = 1; local <= 3; local++) {
        SpikeTestCase c;
        PetscInt      nlocal = 0, fewest = 0;

        if (layout == LAYOUT_TIGHT && n < size * local * K) continue;
        PetscCall(LayoutRows((Layout)layout, n, local * K, &nlocal, &fewest));
        SpikeTestCaseInit(&c, n, kl, ku, local % 2 ? 1.02 : 1.5, local % 2 ? SPIKE_TEST_SLOW : SPIKE_TEST_RANDOM);
        c.local = local;
        if (fewest >= local * K) PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, nlocal, NULL));
        c.type = PC_SPIKE_FULL;
        if (fewest >= local * K) PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, nlocal, NULL));
        c.type = PC_SPIKE_BLOCK;
        if (fewest >= local && local < 3) PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, nlocal, NULL));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Six partitions on one rank and the same six on all ranks: the same operator up to rounding; also in single precision
  and with a narrower band
*/
static PetscErrorCode TestSamePartitions(void)
{
  const PetscInt n = 96;
  PetscScalar   *one, *all;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (6 % size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(n * n, &one, n * n, &all));
  for (PetscInt variant = 0; variant < 6; variant++) {
    SpikeTestCase c;
    PetscReal     diff, norm;

    SpikeTestCaseInit(&c, n, 5, 3, variant % 2 ? 1.02 : 1.4, variant % 2 ? SPIKE_TEST_SLOW : SPIKE_TEST_RANDOM);
    if (variant == 2) {
      c.precision = PETSC_SPIKE_PRECISION_SINGLE;
      c.tol       = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6;
    } else if (variant == 3) c.userkl = c.userku = 2;
    else if (variant >= 4) c.type = variant == 4 ? PC_SPIKE_BLOCK : PC_SPIKE_FULL;
    c.local = 6;
    PetscCall(SpikeTestCaseRun(PETSC_COMM_SELF, &c, n, one));
    c.local = 6 / size;
    PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, n / size, all));
    SpikeTestDifference(n, 0, n, 0, n, all, one, PETSC_FALSE, &diff, &norm);
    PetscCall(SpikeTestSmall(diff, 100 * PETSC_MACHINE_EPSILON * norm,
                             "difference from one rank with the same partitions", PCSpikeTypes[c.type]));
  }
  PetscCall(PetscFree2(one, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Spikes longer than the corners of some ranks, and unlike in each direction */
static PetscErrorCode TestDrift(void)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt b = 0; b < 3 && size <= 3; b++) {
    SpikeTestCase c;

    SpikeTestCaseInit(&c, 200, b > 0, b < 2, 1.01, SPIKE_TEST_DRIFT);
    PetscCall(SpikeTestCaseRun(PETSC_COMM_WORLD, &c, PETSC_DECIDE, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestLayouts());
  PetscCall(TestSamePartitions());
  PetscCall(TestDrift());
  PetscCall(SpikeTestEnd("spike_ranks"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_ranks_1.out
      test:
         suffix: 1
         nsize: {{2 3 5}}
      test:
         suffix: cuda
         nsize: {{2 3 5}}
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
