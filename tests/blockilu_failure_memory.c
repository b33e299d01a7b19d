/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockilu_failure_memory.c: each allocation in setup and applies of PCBLOCKILU fails in turn: an error, no crash, no
  leak, and the same PC works when memory is back
*/
static char help[] = "Allocations of PCBLOCKILU that fail, one after the other.\n\n";

#include "failurememory.h"

typedef struct {
  const char     *name;
  MatType         mattype;
  PetscInt        bs, subdomains, levels;
  MatOrderingType ordering;
  PetscBool       multicolor;
} Case;

/* Of the library's own; what PETSc's functions lose when they fail is theirs */
static PetscInt Ours(void)
{
  return GuardAlive("pc_blockilu/") + GuardAlive("pc_factored/") + GuardAlive("kernels/");
}

static PetscErrorCode SetUp(PC pc, const void *data)
{
  const Case *c = (const Case *)data;

  PetscFunctionBegin;
  PetscCall(PCSetType(pc, PCBLOCKILU));
  PetscCall(PCBlockILUSetLocalSubdomains(pc, c->subdomains));
  PetscCall(PCBlockILUSetMulticolor(pc, c->multicolor));
  PetscCall(PCFactorSetLevels(pc, c->levels));
  PetscCall(PCFactorSetMatOrderingType(pc, c->ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Case *c)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(BandCreate(PETSC_DECIDE, 48, 5, 5, &A));
  PetscCall(MatSetBlockSize(A, c->bs));
  if (strcmp(c->mattype, MATAIJ)) PetscCall(MatConvert(A, c->mattype, MAT_INPLACE_MATRIX, &A));
  PetscCall(FailAllocations(c->name, A, SetUp, c, Ours));
  PetscCall(MatDestroy(&A));
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
