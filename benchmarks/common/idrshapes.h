/* SPDX-License-Identifier: BSD-2-Clause */
/*
  idrshapes.h: for benchmarks of IDR(s): matrices from files, or shaped as the ten of Table 1 of Anzt, Kreutzer, Ponce,
  Peterson, Wellein and Dongarra (2016)
*/
#pragma once

#include "bandcase.h"
#include "../../tutorials/mmio.h"

typedef struct {
  const char *name;
  PetscInt    n;
  PetscReal   mean, padding; /* entries a row; what slices of 32 rows add to them */
} Shape;

static const Shape shapes[] = {{"scircuit", 170998, 5.61, 1.5135},           {"thermomech_dk", 204316, 13.93, 0.1553},
                               {"webbase-1M", 1000005, 3.11, 2.1649},        {"nlpkkt80", 1062400, 27.02, 0.0129},
                               {"dielFilterV2real", 1157456, 41.94, 0.7965}, {"thermal2", 1228045, 6.99, 0.2339},
                               {"af_shell10", 1508065, 34.93, 0.0015},       {"ML_Geer", 1504002, 73.72, 0.0035},
                               {"G3_circuit", 1585478, 4.83, 0.0174},        {"Transport", 1602111, 14.67, 0.0035}};

/*
  Rows, entries a row and padding of a shape: one row of 32 in the mean is long, by as much as makes the expected
  maximum of a slice what it is. Columns lie near the diagonal and in clusters whose distances grow to n^(2/3), as those
  of meshes do; entries of groups of eight rows are neighbours.
*/
static inline PetscErrorCode Shaped(const Shape *shape, PetscReal scale, MatType type, Mat *A)
{
  const PetscInt  n     = PetscMax(64, (PetscInt)(scale * shape->n));
  const PetscReal often = 1.0 / 32.0, seen = 1.0 - PetscPowReal(31.0 / 32.0, 32.0),
                  extra = shape->mean * shape->padding / (seen - often), base = shape->mean - often * extra,
                  reach = PetscPowReal((PetscReal)n, 2.0 / 3.0);
  PetscInt    *ai, *aj;
  PetscInt64   nz = 0;
  PetscScalar *aa;
  Mat          B;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 1, &ai));
  ai[0] = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal wanted = base + (Uniform((uint64_t)i, 1) < 2.0 * often - 1.0 ? extra : 0.0),
                    whole  = PetscFloorReal(wanted);
    const PetscInt length  = PetscMax(1, PetscMin(n, (PetscInt)whole +
                                                       (0.5 + 0.5 * Uniform((uint64_t)i, 2) < wanted - whole ? 1 : 0)));

    nz += length;
    PetscCheck(nz <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More entries than PetscInt counts");
    ai[i + 1] = (PetscInt)nz;
  }
  PetscCall(PetscMalloc2(nz, &aj, nz, &aa));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt length = ai[i + 1] - ai[i];
    PetscInt      *row    = aj + ai[i];

    for (PetscInt k = 0; k < length; k++) {
      const PetscInt  cluster = k / 3 + (k % 2 ? 1 : 0), side = k % 2 ? 1 : -1;
      const PetscReal far    = 3.0 * cluster >= length ? 1.0 : 3.0 * cluster / length;
      const PetscInt  offset = (PetscInt)(reach * far * far * far *
                                         (1.0 + 0.1 * Uniform((uint64_t)(i / 8), (uint64_t)(10 + cluster))));
      PetscInt        column = PetscMax(0, PetscMin(n - 1, k ? i + side * (offset + k % 3) : i));

      for (PetscInt l = 0; l < k; l++) { /* the next free one */
        if (row[l] == column) {
          column = column + 1 < n ? column + 1 : 0;
          l      = -1;
        }
      }
      row[k] = column;
    }
    PetscCall(PetscSortInt(length, row));
    for (PetscInt k = 0; k < length; k++)
      aa[ai[i] + k] = row[k] == i ? 1.1 * length : Uniform((uint64_t)i, (uint64_t)(100 + k));
  }
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, ai, aj, aa, &B));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, A));
  PetscCall(MatDestroy(&B));
  PetscCall(PetscFree(ai));
  PetscCall(PetscFree2(aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which matrices: the options -f, -shapes and -scale */
typedef struct {
  PetscInt  nfiles, nnames;
  char     *files[64], *names[16];
  PetscReal scale; /* times the rows of a shape */
} Matrices;

static inline PetscErrorCode MatricesFromOptions(Matrices *m)
{
  PetscBool set;

  PetscFunctionBegin;
  m->nfiles = 64;
  m->nnames = 16;
  m->scale  = 1.0;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-f", m->files, &m->nfiles, &set));
  if (!set) m->nfiles = 0;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-shapes", m->names, &m->nnames, &set));
  if (!set) m->nnames = 0;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-scale", &m->scale, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MatricesDestroy(Matrices *m)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < m->nfiles; k++) PetscCall(PetscFree(m->files[k]));
  for (PetscInt k = 0; k < m->nnames; k++) PetscCall(PetscFree(m->names[k]));
  m->nfiles = m->nnames = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Calls each(ctx, name, A, padding) for all of them; padding: that of the paper, negative where it is not known */
static inline PetscErrorCode ForEachShape(const Matrices *m, MatType type,
                                          PetscErrorCode (*each)(const void *, const char[], Mat, PetscReal),
                                          const void *ctx)
{
  Mat A, B;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < m->nfiles; k++) {
    char name[64], *slash, *dot;

    PetscCall(MatLoadFile(PETSC_COMM_SELF, m->files[k], &B));
    PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &A));
    PetscCall(MatDestroy(&B));
    PetscCall(PetscStrrchr(m->files[k], '/', &slash));
    PetscCall(PetscStrncpy(name, slash, sizeof(name)));
    PetscCall(PetscStrstr(name, ".mtx", &dot));
    if (dot) *dot = 0;
    PetscCall(each(ctx, name, A, -1.0));
    PetscCall(MatDestroy(&A));
  }
  for (size_t k = 0; !m->nfiles && k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    PetscBool wanted = (PetscBool)!m->nnames;

    for (PetscInt i = 0; i < m->nnames && !wanted; i++) PetscCall(PetscStrcmp(m->names[i], shapes[k].name, &wanted));
    if (!wanted) continue;
    PetscCall(Shaped(&shapes[k], m->scale, type, &A));
    PetscCall(each(ctx, shapes[k].name, A, shapes[k].padding));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
