/* SPDX-License-Identifier: BSD-2-Clause */
/*
  guard.h: for tests: PetscMalloc() with guards around each block, NaN inside, a list of what is alive, and allocations
  that fail on demand
*/
#pragma once

#include <petscsys.h>

#define GUARD_BYTES  128 /* before each block and after it; keeps the alignment */
#define GUARD_BLOCKS 4096

typedef struct {
  char       *raw;
  size_t      size;
  const char *file; /* who asked for it */
  int         line;
} GuardBlock;

static struct {
  PetscErrorCode (*malloc)(size_t, PetscBool, int, const char[], const char[], void **);
  PetscErrorCode (*free)(void *, int, const char[], const char[]);
  PetscErrorCode (*realloc)(size_t, int, const char[], const char[], void **);
  GuardBlock blocks[GUARD_BLOCKS];
  PetscInt   nblocks;
  PetscInt   count;   /* allocations since GuardStart() */
  PetscInt   failat;  /* number of the one that fails, counted from 1; 0: none */
  size_t     most;    /* larger ones fail; 0: none */
  PetscInt   damaged; /* guards that were overwritten, seen when a block was freed or checked */
  PetscReal  bytes;   /* alive, as they were asked for */
} guard;

static inline PetscBool GuardIntact_Private(const GuardBlock *b)
{
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if ((unsigned char)b->raw[i] != 0xA5 || (unsigned char)b->raw[GUARD_BYTES + b->size + i] != 0x5A)
      return PETSC_FALSE;
  return PETSC_TRUE;
}

static inline PetscErrorCode GuardMalloc_Private(size_t size, PetscBool clear, int line, const char func[],
                                                 const char file[], void **p)
{
  GuardBlock *b = &guard.blocks[guard.nblocks];

  PetscFunctionBegin; /* PetscError() takes a function from PETSc's stack */
  *p = NULL;
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  guard.count++;
  if (guard.count == guard.failat || (guard.most && size > guard.most))
    return PetscError(PETSC_COMM_SELF, line, func, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL,
                      "allocation %" PetscInt_FMT " of %zu bytes fails, as a test wants it", guard.count, size);
  if (guard.nblocks == GUARD_BLOCKS)
    return PetscError(PETSC_COMM_SELF, line, func, file, PETSC_ERR_PLIB, PETSC_ERROR_INITIAL,
                      "more blocks than the test can watch");
  PetscCall((*guard.malloc)(size + 2 * GUARD_BYTES, PETSC_FALSE, line, func, file, (void **)&b->raw));
  memset(b->raw, 0xA5, GUARD_BYTES);
  memset(b->raw + GUARD_BYTES, clear ? 0 : 0xFF, size); /* all bits set: NaN */
  memset(b->raw + GUARD_BYTES + size, 0x5A, GUARD_BYTES);
  b->size = size;
  b->file = file;
  b->line = line;
  guard.nblocks++;
  guard.bytes += (PetscReal)size;
  *p = b->raw + GUARD_BYTES;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks that were made before GuardStart() go back to where they came from */
static inline PetscErrorCode GuardFree_Private(void *p, int line, const char func[], const char file[])
{
  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = guard.nblocks - 1; i >= 0; i--) {
    GuardBlock *b = &guard.blocks[i];

    if (b->raw + GUARD_BYTES != (char *)p) continue;
    if (!GuardIntact_Private(b)) guard.damaged++;
    guard.bytes -= (PetscReal)b->size;
    PetscCall((*guard.free)(b->raw, line, func, file));
    *b = guard.blocks[--guard.nblocks];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*guard.free)(p, line, func, file));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode GuardRealloc_Private(size_t size, int line, const char func[], const char file[], void **p)
{
  void *q;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < guard.nblocks; i++) {
    GuardBlock *b = &guard.blocks[i];

    if (b->raw + GUARD_BYTES != (char *)*p) continue;
    PetscCall(GuardMalloc_Private(size, PETSC_FALSE, line, func, file, &q));
    if (q) memcpy(q, *p, PetscMin(size, b->size));
    PetscCall(GuardFree_Private(*p, line, func, file));
    *p = q;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!*p) PetscCall(GuardMalloc_Private(size, PETSC_FALSE, line, func, file, p));
  else PetscCall((*guard.realloc)(size, line, func, file, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void GuardStart(void)
{
  guard.malloc   = PetscTrMalloc;
  guard.free     = PetscTrFree;
  guard.realloc  = PetscTrRealloc;
  guard.count    = 0;
  guard.failat   = 0;
  guard.damaged  = 0;
  PetscTrMalloc  = GuardMalloc_Private;
  PetscTrFree    = GuardFree_Private;
  PetscTrRealloc = GuardRealloc_Private;
}

/* Guards overwritten so far, in blocks alive and freed */
static inline PetscInt GuardDamage(void)
{
  PetscInt damaged = guard.damaged;

  for (PetscInt i = 0; i < guard.nblocks; i++)
    if (!GuardIntact_Private(&guard.blocks[i])) damaged++;
  return damaged;
}

/* Blocks alive whose source file has this in its name */
static inline PetscInt GuardAlive(const char name[])
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < guard.nblocks; i++)
    if (strstr(guard.blocks[i].file, name)) n++;
  return n;
}

/* From here on as before; what is still alive must have been freed, or is lost */
static inline void GuardStop(void)
{
  PetscTrMalloc  = guard.malloc;
  PetscTrFree    = guard.free;
  PetscTrRealloc = guard.realloc;
}
