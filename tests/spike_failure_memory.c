/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spike_failure_memory.c: each allocation in setup and applies of PCSPIKE fails in turn: an error, no crash, no leak,
  and the same PC works when memory is back
*/
static char help[] = "Allocations of PCSPIKE that fail, one after the other.\n\n";

#include "failurememory.h"

typedef struct {
  const char     *name;
  MatType         mattype;
  MatOrderingType ordering;
  PetscInt        partitions;
  PCSpikeType     type;
  PetscReal       dropoff;
  PetscBool       periodic; /* tridiagonal, with corners */
  PetscBool       border;   /* corners of another band   */
  PetscBool       direct;   /* each apply is a solve, with factors in single precision: a trial, checks and steps */
} Case;

/* Of the library's own; what PETSc's functions lose when they fail is theirs */
static PetscInt Ours(void)
{
  return GuardAlive("pc_spike/") + GuardAlive("pc_factored/") + GuardAlive("kernels/");
}

static PetscErrorCode SetUp(PC pc, const void *data)
{
  const Case *c = (const Case *)data;

  PetscFunctionBegin;
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSpikeSetType(pc, c->type));
  PetscCall(PCSpikeSetLocalPartitions(pc, c->partitions));
  PetscCall(PCFactorSetMatOrderingType(pc, c->ordering));
  PetscCall(PCSpikeSetDropoff(pc, c->dropoff));
  if (c->direct) PetscCall(PCSpikeSetDirect(pc, PETSC_BOOL3_TRUE));
  if (c->direct) PetscCall(PCSpikeSetPrecision(pc, PETSC_SPIKE_PRECISION_SINGLE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c)
{
  const PetscInt n = 60, k = c->periodic ? 1 : 3;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, n, k, k, &A));
  if (c->periodic || c->border) {
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, 0, n - 1, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, n - 1, 0, -0.5, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  if (strcmp(c->mattype, MATAIJ)) PetscCall(MatConvert(A, c->mattype, MAT_INPLACE_MATRIX, &A));
  PetscCall(FailAllocations(c->name, A, SetUp, c, Ours));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setups that end with an error, the ways out of which are others: nothing is lost, and the next setup works */
static PetscErrorCode TestErrors(void)
{
  const PetscInt n = 60;
  Mat            A;
  Vec            b, x;
  PC             pc;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 4; k++) {
    const PetscInt before = Ours();
    PetscErrorCode ierr;

    PetscCall(BandCreate(PETSC_DECIDE, n, 3, 3, &A));
    PetscCall(MatCreateVecs(A, &b, &x));
    PetscCall(VecSet(b, 1.0));
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
    PetscCall(PCSpikeSetLocalPartitions(pc, 2));
    if (k == 0) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGEXTERNAL));
    else if (k == 1) PetscCall(PCFactorSetMatOrderingType(pc, "nosuchordering"));
    else if (k == 2) PetscCall(EntryPut(A, 7, -1, 0.0));
    else PetscCall(EntryPut(A, 7, 7, (PetscReal)NAN));
    for (PetscInt again = 0; again < 2; again++) {
      CATCH(ierr, PCSetUp(pc));
      CHECK(ierr && ierr != PETSC_ERR_MEM, "error %d, %s", (int)ierr, caught.text);
    }
    PetscCall(PCSpikeSetBandwidth(pc, PETSC_DECIDE, PETSC_DECIDE));
    PetscCall(PCSpikeSetLocalPartitions(pc, 3));
    PetscCall(PCFactorSetMatOrderingType(pc, "auto"));
    PetscCall(EntryPut(A, 7, 7, 20.0));
    PetscCall(PCApply(pc, b, x));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    CHECK(Ours() == before, "error %d: %d blocks are lost", (int)k, (int)(Ours() - before));
  }
  CHECK(!GuardDamage(), "written outside of %d arrays", (int)GuardDamage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case cases[] = {{"one partition", MATAIJ, MATORDERINGNATURAL, 1, PC_SPIKE_TRUNCATED, 0.0, PETSC_FALSE},
                        {"truncated", MATAIJ, MATORDERINGNATURAL, 4, PC_SPIKE_TRUNCATED, 0.0, PETSC_FALSE},
                        {"block", MATAIJ, MATORDERINGNATURAL, 4, PC_SPIKE_BLOCK, 0.0, PETSC_FALSE},
                        {"reordered", MATAIJ, MATORDERINGRCM, 3, PC_SPIKE_TRUNCATED, 0.0, PETSC_FALSE},
                        {"narrowest band", MATAIJ, "auto", 2, PC_SPIKE_TRUNCATED, 0.125, PETSC_FALSE},
                        {"converted matrix", MATBAIJ, MATORDERINGNATURAL, 2, PC_SPIKE_TRUNCATED, 0.0, PETSC_FALSE},
                        {"periodic", MATAIJ, MATORDERINGNATURAL, 2, PC_SPIKE_TRUNCATED, 0.0, PETSC_TRUE},
                        {"border", MATAIJ, MATORDERINGNATURAL, 2, PC_SPIKE_FULL, 0.0, PETSC_FALSE, PETSC_TRUE},
                        {"direct", MATAIJ, MATORDERINGNATURAL, 1, PC_SPIKE_TRUNCATED, 0.0, PETSC_FALSE, PETSC_FALSE,
                         PETSC_TRUE},
                        {"direct, full", MATAIJ, MATORDERINGNATURAL, 3, PC_SPIKE_FULL, 0.0, PETSC_FALSE, PETSC_FALSE,
                         PETSC_TRUE}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  GuardStart();
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(TestCase(&cases[k]));
    PetscCall(Section(cases[k].name));
  }
  PetscCall(TestErrors());
  PetscCall(Section("errors"));
  PetscCall(PetscFinalize());
  return failed;
}

/*TEST

   # PETSc's functions lose memory when allocations fail in them; our own is counted
   test:
      suffix: 1
      args: -malloc_dump no
      filter: grep -v -E "PetscFunctionList|function name:"

TEST*/
