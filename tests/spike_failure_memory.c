/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spike_failure_memory.c: each allocation in setup and applies of PCSPIKE fails in turn: an error, no crash, no leak,
  and the same PC works when memory is back
*/
static char help[] = "Allocations of PCSPIKE that fail, one after the other.\n\n";

#include "spikefailure.h"
#include "guard.h"

typedef struct {
  const char     *name;
  MatType         mattype;
  MatOrderingType ordering;
  PetscInt        partitions;
  PCSpikeType     type;
  PetscReal       dropoff;
  PetscBool       periodic; /* tridiagonal, with corners */
  PetscBool       border;   /* corners of another band   */
} Case;

/* The calls under test: setup with new values twice, applies of one and of many columns */
static PetscErrorCode Work(PC pc, Vec b, Vec x, Mat B, Mat X)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatScale(A, 1.0));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the library's own; what PETSc's functions lose when they fail is theirs */
static PetscInt Ours(void)
{
  return GuardAlive("pc_spike/") + GuardAlive("pc_factored/") + GuardAlive("kernels/");
}

static PetscErrorCode TestCase(const Case *c)
{
  const PetscInt n = 60, columns = 5;
  PetscInt       last = 0, faults = 0;
  Mat            A, B, X;
  Vec            b, x, y, reference;
  PC             pc;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, n, c->periodic ? 1 : 3, c->periodic ? 1 : 3, &A));
  if (c->periodic || c->border) {
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetValue(A, 0, n - 1, 1.0, INSERT_VALUES));
    PetscCall(MatSetValue(A, n - 1, 0, -0.5, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  if (strcmp(c->mattype, MATAIJ)) PetscCall(MatConvert(A, c->mattype, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &reference));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, NULL, &B));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(B, 1.0));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &X));
  for (PetscInt k = 0;; k++) { /* k = 0: nothing fails, for the reference */
    const PetscInt before = Ours();
    PetscErrorCode ierr;

    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetType(pc, PCSPIKE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSpikeSetType(pc, c->type));
    PetscCall(PCSpikeSetLocalPartitions(pc, c->partitions));
    PetscCall(PCFactorSetMatOrderingType(pc, c->ordering));
    PetscCall(PCSpikeSetDropoff(pc, c->dropoff));
    memset(&caught, 0, sizeof(caught));
    PetscCall(PetscPushErrorHandler(Catch, NULL));
    guard.count  = 0;
    guard.failat = k;
    ierr         = Work(pc, b, x, B, X);
    last         = guard.count;
    guard.failat = 0;
    PetscCall(PetscPopErrorHandler());
    if (k && last < k) { /* it has no k-th allocation */
      CHECK(!ierr, "%s: error %d, %s", c->name, (int)ierr, caught.text);
      PetscCall(PCDestroy(&pc));
      break;
    }
    CHECK(ierr == (k ? PETSC_ERR_MEM : PETSC_SUCCESS), "%s, allocation %d: error %d, %s", c->name, (int)k, (int)ierr,
          caught.text);
    if (k) faults++;
    /* memory is back */
    PetscCall(VecSet(y, 3.0));
    CATCH(ierr, PCApply(pc, b, y));
    CHECK(!ierr, "%s, after allocation %d: error %d, %s", c->name, (int)k, (int)ierr, caught.text);
    if (!k) PetscCall(VecCopy(y, reference));
    PetscCall(VecEqual(y, reference, &same));
    CHECK(same, "%s, after allocation %d: another result", c->name, (int)k);
    CATCH(ierr, PCMatApply(pc, B, X));
    CHECK(!ierr, "%s, after allocation %d: error %d, %s", c->name, (int)k, (int)ierr, caught.text);
    CATCH(ierr, PCDestroy(&pc));
    CHECK(!ierr, "%s, after allocation %d: PCDestroy gives error %d, %s", c->name, (int)k, (int)ierr, caught.text);
    CHECK(Ours() == before, "%s, allocation %d: %d blocks are lost", c->name, (int)k, (int)(Ours() - before));
  }
  CHECK(faults >= 5, "%s: %d allocations only", c->name, (int)faults);
  CHECK(!GuardDamage(), "%s: written outside of %d arrays", c->name, (int)GuardDamage());
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&reference));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
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
                        {"border", MATAIJ, MATORDERINGNATURAL, 2, PC_SPIKE_FULL, 0.0, PETSC_FALSE, PETSC_TRUE}};

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
