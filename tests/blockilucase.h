/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blockilucase.h: for tests of PCBLOCKILU: block matrices that are the same on any number of ranks, dense references of
  ILU(k)
*/
#pragma once

#include "spiketest.h"

/*
  nb block rows on a grid `width` wide, neighbours in both directions and some others, unsymmetric; diagonal blocks hold
  their rows' weight, times `dominance`, beside the diagonal where shifted
*/
typedef struct {
  PetscInt  nb, bs, width;
  PetscReal dominance;
  PetscBool shifted;
  PetscInt  seed;
  PetscInt  values; /* other entries in the same places */
} BlockCase;

/* Whether block (i, j) is stored */
static inline PetscBool BlockHas(const BlockCase *c, PetscInt i, PetscInt j)
{
  const PetscInt d = j - i;

  if (i < 0 || j < 0 || i >= c->nb || j >= c->nb) return PETSC_FALSE;
  if (!d || d == c->width || d == -c->width) return PETSC_TRUE;
  if (d == 1) return (PetscBool)(j % c->width != 0);
  if (d == -1) return (PetscBool)(i % c->width != 0);
  return (PetscBool)(SpikeTestUniform(c->seed + 5, i, j) > 0.97);
}

/* Row r, column s of block (i, j) */
static inline PetscScalar BlockEntry(const BlockCase *c, PetscInt i, PetscInt j, PetscInt r, PetscInt s)
{
  const PetscInt    bs = c->bs, seed = c->seed + 100000 * c->values;
  const PetscScalar random = SpikeTestScalar(seed, i * bs + r, j * bs + s),
                    v      = i == j ? (PetscReal)0.5 * random : (r == s ? -1.0 : 0.0) + (PetscReal)0.75 / bs * random;
  PetscReal sum            = 0.0;

  if (i != j || s != (c->shifted ? (r + 1) % bs : r)) return v;
  for (PetscInt k = 0; k < c->nb; k++)
    if (k != i && BlockHas(c, i, k)) sum += 1.0;
  return v + c->dominance * PetscMax(sum, 1.0);
}

static inline PetscErrorCode BlockSet(const BlockCase *c, PetscReal scale, Mat A)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start / c->bs; i < end / c->bs; i++) {
    for (PetscInt j = 0; j < c->nb; j++) {
      if (!BlockHas(c, i, j)) continue;
      for (PetscInt r = 0; r < c->bs; r++)
        for (PetscInt s = 0; s < c->bs; s++)
          PetscCall(MatSetValue(A, i * c->bs + r, j * c->bs + s, scale * BlockEntry(c, i, j, r, s), INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  nlocal block rows on this rank, or PETSC_DECIDE; setbs: the matrix knows its blocks. -block_aij_type: what there is in
  place of MATAIJ
*/
static inline PetscErrorCode BlockMat(MPI_Comm comm, const BlockCase *c, PetscInt nlocal, MatType type, PetscBool setbs,
                                      Mat *A)
{
  PetscInt  n           = nlocal;
  char      aijtype[64] = MATAIJ;
  PetscBool aij;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(comm, &n, (PetscInt *)&c->nb));
  PetscCall(PetscStrcmp(type, MATAIJ, &aij));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-block_aij_type", aijtype, sizeof(aijtype), NULL));
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, n * c->bs, n * c->bs, c->nb * c->bs, c->nb * c->bs));
  PetscCall(MatSetType(*A, aij ? aijtype : type));
  if (setbs) PetscCall(MatSetBlockSize(*A, c->bs));
  PetscCall(MatSetUp(*A));
  PetscCall(BlockSet(c, 1.0, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  minv <- inverse of ILU(levels) of the block rows from first to last - 1, in natural ordering, in the dense n x n
  array; levels PETSC_INT_MAX: of the matrix. Dense block elimination; lev(i,j) as in Saad, section 10.3.
*/
static inline PetscErrorCode BlockReference(const BlockCase *c, PetscInt first, PetscInt last, PetscInt levels,
                                            PetscScalar *minv)
{
  const PetscInt bs = c->bs, nb = last - first, m = nb * bs, n = c->nb * bs, far = 1000000;
  PetscScalar   *a, *l, *u, *lu, *inv, *t;
  PetscInt      *lev;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc6(m * m, &a, m * m, &l, m * m, &u, m * m, &lu, bs * bs, &inv, bs * bs, &t));
  PetscCall(PetscMalloc1(nb * nb, &lev));
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt j = 0; j < nb; j++) {
      lev[i + j * nb] = BlockHas(c, first + i, first + j) ? 0 : far;
      for (PetscInt r = 0; r < bs && !lev[i + j * nb]; r++)
        for (PetscInt s = 0; s < bs; s++) a[i * bs + r + (j * bs + s) * m] = BlockEntry(c, first + i, first + j, r, s);
    }
  }
  /* the pattern first: an update may come before the one that brings the block in */
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt k = 0; k < i; k++) {
      for (PetscInt j = k + 1; j < nb && lev[i + k * nb] != far; j++) {
        const PetscInt fill = lev[i + k * nb] + lev[k + j * nb] + 1;

        if (lev[k + j * nb] != far && (levels == PETSC_INT_MAX || fill <= levels))
          lev[i + j * nb] = PetscMin(lev[i + j * nb], fill);
      }
    }
  }
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt k = 0; k < i; k++) {
      if (lev[i + k * nb] == far) continue;
      PetscCall(SpikeTestInvert(bs, a + k * bs * (m + 1), m, inv, bs));
      PetscCall(PetscArrayzero(t, bs * bs));
      SpikeTestMultiplyAdd(bs, bs, bs, 1.0, a + i * bs + k * bs * m, m, inv, bs, t, bs);
      for (PetscInt s = 0; s < bs; s++) PetscCall(PetscArraycpy(a + i * bs + (k * bs + s) * m, t + s * bs, bs));
      for (PetscInt j = k + 1; j < nb; j++)
        if (lev[k + j * nb] != far && lev[i + j * nb] != far)
          SpikeTestMultiplyAdd(bs, bs, bs, -1.0, t, bs, a + k * bs + j * bs * m, m, a + i * bs + j * bs * m, m);
    }
  }
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = 0; i < m; i++) {
      l[i + j * m] = i == j ? 1.0 : i / bs > j / bs ? a[i + j * m] : 0.0;
      u[i + j * m] = i / bs <= j / bs ? a[i + j * m] : 0.0;
    }
  }
  SpikeTestMultiplyAdd(m, m, m, 1.0, l, m, u, m, lu, m);
  PetscCall(SpikeTestInvert(m, lu, m, minv + first * bs * (n + 1), n));
  PetscCall(PetscFree(lev));
  PetscCall(PetscFree6(a, l, u, lu, inv, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BlockPC(Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCBLOCKILU));
  PetscFunctionReturn(PETSC_SUCCESS);
}
