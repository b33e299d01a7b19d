/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "PCSPIKE on a device: what moves between host and device, vectors in the other place, matrices that move.\n\
  -big : only a band of more than 2^31 entries, 18 GB on the device\n\n";

#include "spiketest.h"

/*
  Bytes that PETSc's log has seen moving in both directions; numbers about a setup are logged as scalars and are not
  among them
*/
static PetscErrorCode Moved(PetscLogDouble *bytes)
{
  PetscFunctionBegin;
  *bytes = 0.0;
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  *bytes = petsc_ctog_sz + petsc_gtoc_sz;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakePC(const SpikeTestBand *band, PetscInt local, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, band, PETSC_DECIDE, MATAIJ, A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PCSetType(*pc, PCSPIKE));
  if (local) PetscCall(PCSpikeSetLocalPartitions(*pc, local));
  PetscCall(PCSpikeSetWindowTolerance(*pc, 0.0)); /* host and device cut windows in other places */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  After the first setup neither new values nor applies move the matrix or a vector; between ranks only tips travel
  through the host: of a setup 4 kl ku numbers a rank at most, of an apply 2 (kl + ku).
*/
static PetscErrorCode TestTransfers(PetscInt local, PCSpikeType type, PetscBool reorder)
{
  SpikeTestBand  band = {3000, 5, 3, 1.2, SPIKE_TEST_RANDOM, 7};
  Mat            A;
  PC             pc;
  Vec            x, y, z;
  PetscMPIInt    size;
  PetscLogDouble before, after;
  PetscReal      diff, norm, setup, apply;
  char           where[64];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  setup = size > 1 && type != PC_SPIKE_BLOCK ? 4.0 * band.kl * band.ku * sizeof(PetscScalar) : 0.0;
  apply = size > 1 && type != PC_SPIKE_BLOCK ? 2.0 * (band.kl + band.ku) * sizeof(PetscScalar) : 0.0;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%" PetscInt_FMT " partitions, %s%s", local, PCSpikeTypes[type],
                          reorder ? ", reordered" : ""));
  PetscCall(MakePC(&band, local, &A, &pc));
  PetscCall(PCSpikeSetType(pc, type));
  if (reorder) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(SpikeTestSetRandom(x, 8));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PCApplyTranspose(pc, x, z));
  PetscCall(PCApply(pc, x, y));
  for (PetscInt pass = 0; pass < 3; pass++) {
    PetscCall(MatScale(A, 2.0));
    PetscCall(Moved(&before));
    PetscCall(PCSetUp(pc));
    PetscCall(Moved(&after));
    PetscCall(
      SpikeTestSmall((PetscReal)(after - before), setup, "bytes moved by a setup with the same pattern", where));
    PetscCall(PCApply(pc, x, z));
    PetscCall(Moved(&before));
    PetscCall(SpikeTestSmall((PetscReal)(before - after), apply, "bytes moved by an apply", where));
    PetscCall(VecAXPBY(z, -1.0, PetscPowRealInt(2.0, pass + 1), y));
    PetscCall(VecNorm(z, NORM_INFINITY, &diff));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(SpikeTestSmall(diff, 1000 * PETSC_MACHINE_EPSILON * norm, "M^-1 of a scaled matrix", where));
    PetscCall(Moved(&before));
    PetscCall(PCApplyTranspose(pc, x, z));
    PetscCall(Moved(&after));
    PetscCall(SpikeTestSmall((PetscReal)(after - before), apply, "bytes moved by a transposed apply", where));
  }
  PetscCall(SpikeTestBackend(pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A first setup leaves values where they are, if no ordering is looked for: much less moves, numbers about partitions
  and systems, a byte a row of these, and between ranks tips and the numbers of columns. With an ordering the host gets
  the values, once
*/
static PetscErrorCode TestFirst(PetscInt systems, MatOrderingType ordering, PetscReal dropoff, PetscInt width)
{
  const SpikeTestBand band = {6000, systems ? 1 : 5, systems ? 1 : 3, 1.2, SPIKE_TEST_RANDOM, 27};
  Mat                 A;
  PC                  pc;
  Vec                 x, y, z;
  PetscLogDouble      before, after;
  PetscReal           diff, norm, values = 0.0;
  PetscBool           device, isauto;
  MatInfo             matinfo;
  PCSpikeInfo         info;
  char                where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "first setup, %" PetscInt_FMT " systems, %s, dropoff %g, width %" PetscInt_FMT, systems,
                          ordering, (double)dropoff, width));
  PetscCall(MakePC(&band, 0, &A, &pc));
  PetscCall(SpikeTestOnDevice(A, &device));
  for (PetscInt k = 1; k < systems; k++) /* nothing couples rows of two systems */
    for (PetscInt side = 0; side < 2; side++)
      PetscCall(MatSetValue(A, k * (band.n / systems) - side, k * (band.n / systems) + side - 1, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCFactorSetMatOrderingType(pc, ordering));
  PetscCall(PCSpikeSetDropoff(pc, dropoff));
  PetscCall(PCSpikeSetBandwidth(pc, width, width));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(SpikeTestSetRandom(x, 28));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatScale(A, 2.0)); /* on a device the values are there alone now */
  PetscCall(Moved(&before));
  PetscCall(PCSetUp(pc));
  PetscCall(Moved(&after));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
  PetscCall(PetscStrcmp(ordering, "auto", &isauto));
  if (device && !isauto) values = matinfo.nz_used * sizeof(PetscScalar) + band.n * sizeof(PetscInt);
  PetscCall(SpikeTestSmall((PetscReal)(after - before), values + 0.5 * matinfo.nz_used * sizeof(PetscScalar),
                           "bytes moved by a first setup", where));
  if (systems)
    PetscCall(
      SpikeTestSmall(PetscAbsReal((PetscReal)info.systems - systems), 0.0, "systems that were not found", where));
  /* M x = y: x is of half of A */
  PetscCall(VecDuplicate(x, &z));
  PetscCall(PCApply(pc, y, z));
  PetscCall(VecCopy(z, y));
  PetscCall(VecDestroy(&z));
  PetscCall(VecAXPY(y, -0.5, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &diff));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  if (dropoff > 0.0 || width != PETSC_DECIDE)
    PetscCall(SpikeTestCheck((PetscBool)(info.kl < band.kl), "%s: half-bandwidth %" PetscInt_FMT, where, info.kl));
  else PetscCall(SpikeTestSmall(diff, 1e6 * PETSC_MACHINE_EPSILON * norm, "error of a solve", where));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Vectors on the host with factors on the device, one, the other or both: the same numbers, and each such vector is
  moved once
*/
static PetscErrorCode TestMixedVectors(void)
{
  SpikeTestBand  band = {997, 4, 6, 1.3, SPIKE_TEST_RANDOM, 17};
  Mat            A;
  PC             pc;
  Vec            x[2], y[2], ref;
  PetscInt       n;
  PetscLogDouble before, after;
  PetscReal      diff, norm;
  PetscBool      device;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MakePC(&band, 3, &A, &pc));
  PetscCall(SpikeTestOnDevice(A, &device));
  PetscCall(MatCreateVecs(A, &x[0], &y[0]));
  PetscCall(VecDuplicate(x[0], &ref));
  PetscCall(VecGetLocalSize(x[0], &n));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, band.n, &x[1]));
  PetscCall(VecDuplicate(x[1], &y[1]));
  for (PetscInt i = 0; i < 2; i++) PetscCall(SpikeTestSetRandom(x[i], 18));
  PetscCall(PCSetUp(pc));
  for (PetscInt trans = 0; trans < 2; trans++) {
    if (trans) PetscCall(PCApplyTranspose(pc, x[0], ref));
    else PetscCall(PCApply(pc, x[0], ref));
    PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
    for (PetscInt k = 1; k < 4; k++) {
      Vec b = x[k & 1], r = y[k >> 1];

      PetscCall(Moved(&before));
      if (trans) PetscCall(PCApplyTranspose(pc, b, r));
      else PetscCall(PCApply(pc, b, r));
      PetscCall(Moved(&after));
      if (size == 1)
        PetscCall(SpikeTestSmall((PetscReal)PetscAbsReal(
                                   (PetscReal)(after - before) -
                                   (device ? (PetscReal)((k & 1) + (k >> 1)) * n * sizeof(PetscScalar) : 0.0)),
                                 0.0, "bytes moved that are not a vector", "vectors on the host"));
      PetscCall(VecCopy(r, y[0]));
      PetscCall(VecAXPY(y[0], -1.0, ref));
      PetscCall(VecNorm(y[0], NORM_INFINITY, &diff));
      PetscCall(SpikeTestSmall(diff, 10 * PETSC_MACHINE_EPSILON * norm, "difference from vectors on the device",
                               "vectors on the host"));
    }
  }
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(VecDestroy(&y[i]));
  }
  PetscCall(VecDestroy(&ref));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A matrix that is bound to the host and released again takes the preconditioner along with its next values. They are
  set anew: PETSc 3.26.1 forgets that MatScale() of a bound matrix makes the values on the device old.
*/
static PetscErrorCode TestBinding(void)
{
  SpikeTestBand band = {500, 3, 3, 1.5, SPIKE_TEST_RANDOM, 27};
  Mat           A;
  PC            pc;
  Vec           x, y, ref;
  PetscReal     diff, norm;
  PetscBool     device, cuda;
  PCSpikeInfo   info;

  PetscFunctionBegin;
  PetscCall(MakePC(&band, 2, &A, &pc));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(SpikeTestSetRandom(x, 28));
  PetscCall(PCApply(pc, x, ref));
  PetscCall(VecNorm(ref, NORM_INFINITY, &norm));
  PetscCall(SpikeTestOnDevice(A, &device));
  for (PetscInt pass = 1; pass < 4; pass++) {
    PetscCall(MatBindToCPU(A, (PetscBool)(pass % 2)));
    PetscCall(SpikeTestBandSet(&band, pass, A)); /* new values: a new setup */
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCSpikeGetInfo(pc, &info));
    PetscCall(PetscStrcmp(info.backend, "cuda", &cuda));
    PetscCall(SpikeTestCheck((PetscBool)(cuda == (device && pass % 2 == 0)), "pass %" PetscInt_FMT ": backend %s", pass,
                             info.backend));
    PetscCall(VecAXPBY(y, -1.0, (PetscReal)pass, ref));
    PetscCall(VecNorm(y, NORM_INFINITY, &diff));
    PetscCall(SpikeTestSmall(diff, 1000 * PETSC_MACHINE_EPSILON * norm, "M^-1 of a scaled matrix", "moving matrix"));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&ref));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with the partitions that the backend chooses */
static PetscErrorCode TestDefaults(void)
{
  const SpikeTestBand bands[] = {{20000, 8, 8, 1.0, SPIKE_TEST_RANDOM, 37},
                                 {9001, 32, 32, 1.0, SPIKE_TEST_RANDOM, 38},
                                 {6000, 50, 20, 1.1, SPIKE_TEST_RANDOM, 39},
                                 {4000, 0, 5, 1.2, SPIKE_TEST_RANDOM, 40},
                                 {2, 1, 1, 1.5, SPIKE_TEST_RANDOM, 41}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bands); k++) {
    PetscMPIInt size;
    Mat         A;
    KSP         ksp;
    PC          pc;
    Vec         x, b;
    char        where[64];

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (bands[k].n < 10 && size > 1) continue;
    PetscCall(PetscSNPrintf(where, sizeof(where),
                            "n %" PetscInt_FMT ", half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT, bands[k].n,
                            bands[k].kl, bands[k].ku));
    PetscCall(SpikeTestBandMat(PETSC_COMM_WORLD, &bands[k], PETSC_DECIDE, MATAIJ, &A));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPBCGS));
    PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
    PetscCall(KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-10, PETSC_CURRENT, PETSC_CURRENT, 60));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 42));
    PetscCall(SpikeTestSolve(ksp, b, x, where));
    PetscCall(SpikeTestBackend(pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  More than 2^31 entries in the band: offsets are 64-bit. 18 GB; the matrix has a narrow band, the factors have a wide
  one.
*/
static PetscErrorCode TestBig(void)
{
  SpikeTestBand band = {2200000, 3, 4, 1.3, SPIKE_TEST_RANDOM, 57};
  Mat           A;
  PC            pc;
  Vec           x, b, r;
  PetscReal     rnorm, bnorm;
  PCSpikeInfo   info;

  PetscFunctionBegin;
  PetscCall(MakePC(&band, 0, &A, &pc));
  PetscCall(PCSpikeSetBandwidth(pc, 500, 512));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SpikeTestSetRandom(b, 58));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(
    SpikeTestCheck((PetscBool)(info.bytes > 8.0 * 2147483648.0), "the band has only %g bytes", (double)info.bytes));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &rnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  PetscCall(SpikeTestSmall(rnorm, 1e-7 * bnorm, "residual of one application", "2^31 entries"));
  PetscCall(SpikeTestBackend(pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscBool   big = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-big", &big, NULL));
  if (big) PetscCall(TestBig());
  for (PetscInt local = 0; !big && local < 4; local++) PetscCall(TestTransfers(local, PC_SPIKE_TRUNCATED, PETSC_FALSE));
  if (!big) {
    PetscCall(TestTransfers(4, PC_SPIKE_BLOCK, PETSC_FALSE));
    if (size == 1) PetscCall(TestTransfers(3, PC_SPIKE_TRUNCATED, PETSC_TRUE));
    PetscCall(TestFirst(0, "auto", 0.0, PETSC_DECIDE));
    PetscCall(TestFirst(0, "auto", 0.1, PETSC_DECIDE));
    PetscCall(TestFirst(0, "auto", 0.0, 1));
    PetscCall(TestFirst(0, "auto", 0.0, 2));
    if (size == 1) {
      PetscCall(TestFirst(1, "auto", 0.0, PETSC_DECIDE));
      PetscCall(TestFirst(3, "auto", 0.0, PETSC_DECIDE));
      PetscCall(TestFirst(1000, "auto", 0.0, PETSC_DECIDE));
      PetscCall(TestFirst(0, MATORDERINGRCM, 0.0, PETSC_DECIDE));
    }
    PetscCall(TestMixedVectors());
    PetscCall(TestBinding());
    PetscCall(TestDefaults());
  }
  PetscCall(SpikeTestEnd("spike_device"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/spike_device_1.out
      nsize: {{1 2 3}}
      test:
         suffix: 1
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -mat_type aijcusparse

TEST*/
