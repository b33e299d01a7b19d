/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.h: checks of the tests of kernels, and a line for a group of them */
#pragma once

#include "../guard.h"

static PetscInt number = 0, failed = 0, checks = 0, failures = 0;

static inline void Check(PetscBool ok, const char where[], const char what[])
{
  checks++;
  if (ok) return;
  if (++failures <= 20) printf("# %s: %s\n", where, what);
}

static inline void Report(const char what[])
{
  if (GuardDamage()) Check(PETSC_FALSE, what, "written outside of an array");
  guard.damaged = 0;
  if (failures || !checks) failed++;
  printf("%s %d - %s # %" PetscInt_FMT " checks, %" PetscInt_FMT " failed\n", failures || !checks ? "not ok" : "ok",
         (int)++number, what, checks, failures);
  checks = failures = 0;
}
