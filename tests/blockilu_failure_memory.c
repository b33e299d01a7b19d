/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockilu_failure_memory.c: each allocation in setup and applies of PCBLOCKILU fails in turn: an error, no crash, no
  leak, and the same PC works when memory is back
*/
static char help[] = "Allocations of PCBLOCKILU that fail, one after the other.\n\n";

#include "spikefailure.h"
#include "guard.h"

typedef struct {
  const char     *name;
  MatType         mattype;
  PetscInt        bs, subdomains, levels;
  MatOrderingType ordering;
  PetscBool       multicolor;
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
  return GuardAlive("pc_blockilu/") + GuardAlive("pc_factored/") + GuardAlive("kernels/");
}

static PetscErrorCode TestCase(const Case *c)
{
  const PetscInt n = 48, columns = 5;
  PetscInt       last = 0, faults = 0;
  Mat            A, B, X;
  Vec            b, x, y, reference;
  PC             pc;
  PetscBool      same;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, n, 5, 5, &A));
  PetscCall(MatSetBlockSize(A, c->bs));
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
    PetscCall(PCSetType(pc, PCBLOCKILU));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCBlockILUSetLocalSubdomains(pc, c->subdomains));
    PetscCall(PCBlockILUSetMulticolor(pc, c->multicolor));
    PetscCall(PCFactorSetLevels(pc, c->levels));
    PetscCall(PCFactorSetMatOrderingType(pc, c->ordering));
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

int main(int argc, char **argv)
{
  const Case cases[] = {{"numbers", MATAIJ, 1, 1, 0, MATORDERINGNATURAL, PETSC_FALSE},
                        {"blocks in a MATAIJ", MATAIJ, 3, 2, 1, MATORDERINGNATURAL, PETSC_FALSE},
                        {"blocks", MATBAIJ, 4, 2, 0, MATORDERINGNATURAL, PETSC_FALSE},
                        {"reordered", MATAIJ, 2, 2, 2, MATORDERINGRCM, PETSC_FALSE},
                        {"colors", MATAIJ, 2, 2, 0, MATORDERINGNATURAL, PETSC_TRUE},
                        {"converted matrix", MATDIA, 2, 1, 0, MATORDERINGNATURAL, PETSC_FALSE}};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  GuardStart();
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    PetscCall(TestCase(&cases[k]));
    PetscCall(Section(cases[k].name));
  }
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
