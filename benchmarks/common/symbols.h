/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.h: for benchmarks: functions of libraries whose headers they do without */
#pragma once

#include <petscsys.h>
#include <dlfcn.h>

/* *function, a pointer to a function, <- that of the library with this name; false where it has none */
static inline PetscBool FindSymbol(void *library, const char name[], void *function)
{
  void *symbol = dlsym(library, name);

  if (symbol) memcpy(function, &symbol, sizeof(symbol));
  return (PetscBool)(symbol != NULL);
}
