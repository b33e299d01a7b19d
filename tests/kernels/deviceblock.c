/* SPDX-License-Identifier: BSD-2-Clause */
/*
  deviceblock.c: tests of the CUDA backend of block.h: those of the host's, with guards around the device's memory;
  prints TAP
*/
static char help[] = "Block kernels of the CUDA backend against sums in double precision and dense formulas.\n\
  -only k   for memory checkers: k = 0 to 3, one precision and layout of the products and sums; 4 to 6, factors;\n\
            7, their pivots; 8, all the rest\n\
  -share <k,m> : every m-th case from case k on, for memory checkers, which take minutes for all\n\n";

#include "blocktests.h"
#include "blocklutests.h"

#define AROUND 1024 /* bytes before an array and after it; keeps the alignment */

static const SpikeBlockKernels *cuda;
static PetscInt                 arrays = 0, damaged = 0;
static size_t                   sizes[4096];
static void                    *where[4096];

/* Arrays of the tests are all NaN at first, between guards */
static PetscErrorCode GuardedAlloc(SpikeBlock *b, size_t bytes, void **ptr)
{
  char *host, *raw;

  PetscFunctionBegin;
  *ptr = NULL;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(arrays < 4096, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More arrays than the test can watch");
  PetscCall((*cuda->alloc)(b, bytes + 2 * AROUND, (void **)&raw));
  PetscCall(PetscMalloc(bytes + 2 * AROUND, &host));
  memset(host, 0xA5, bytes + 2 * AROUND);
  memset(host + AROUND, 0xFF, bytes);
  PetscCall((*cuda->copy)(b, PETSC_TRUE, PETSC_FALSE, raw, host, bytes + 2 * AROUND));
  PetscCall(PetscFree(host));
  *ptr            = raw + AROUND;
  where[arrays]   = *ptr;
  sizes[arrays++] = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GuardedRelease(SpikeBlock *b, void **ptr)
{
  unsigned char *host;
  void          *raw;
  PetscInt       k = 0;

  PetscFunctionBegin;
  if (!*ptr) PetscFunctionReturn(PETSC_SUCCESS);
  while (k < arrays && where[k] != *ptr) k++;
  PetscCheck(k < arrays, PETSC_COMM_SELF, PETSC_ERR_PLIB, "An array that is none");
  raw = (char *)*ptr - AROUND;
  PetscCall(PetscMalloc(sizes[k] + 2 * AROUND, &host));
  PetscCall((*cuda->copy)(b, PETSC_FALSE, PETSC_TRUE, host, raw, sizes[k] + 2 * AROUND));
  for (size_t i = 0; i < AROUND; i++)
    if (host[i] != 0xA5 || host[AROUND + sizes[k] + i] != 0xA5) damaged++;
  PetscCall(PetscFree(host));
  PetscCall((*cuda->release)(b, &raw));
  where[k] = where[--arrays];
  sizes[k] = sizes[arrays];
  *ptr     = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  SpikeBlockKernels table;
  SpikeBlock        b;
  PetscInt          only = -1;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(ShareGet());
  cuda = SpikeBlockKernelsFind(PETSC_MEMTYPE_CUDA);
  if (!cuda) {
    printf("ok 1 - CUDA # SKIP the library was built without it\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  GuardStart();
  PetscCall(PetscMemzero(&b, sizeof(b)));
  table         = *cuda;
  table.alloc   = GuardedAlloc;
  table.release = GuardedRelease;
  b.k           = &table;
  PetscCall((*b.k->create)(&b));
  if (only < 4) PetscCall(TestBlocks(&b, "CUDA", only));
  if (only < 0 || (only >= 4 && only < 4 + FACTORS_PARTS))
    PetscCall(TestBlockFactors(&b, 4, "CUDA", only < 0 ? -1 : only - 4));
  if (only < 0 || only == 4 + FACTORS_PARTS) {
    for (int p = 0; p < 2; p++)
      for (int rowmajor = 0; rowmajor < 2; rowmajor++) PetscCall(TestTallLong(&b, precisions[p], (PetscBool)rowmajor));
    Report("long axpys and dots");
    PetscCall(TestLimits(&b));
    Report("limits");
    PetscCall(TestMoves(&b));
    Report("messages, coordinates");
    PetscCall(TestBlockRest(&b));
  }
  PetscCall((*b.k->destroy)(&b));
  Check(damaged || arrays ? 1e30 : 0, "the device's memory");
  Report("memory");
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
