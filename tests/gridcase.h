/* SPDX-License-Identifier: BSD-2-Clause */
/* gridcase.h: for tests of MATGRIDSTENCIL: grids, stencils, and the matrix that MatSetValuesStencil() assembles */
#pragma once

#include "spiketest.h"
#include <petscdmda.h>

typedef struct {
  PetscInt        dim, size[3], dof, width;
  DMBoundaryType  b[3];
  DMDAStencilType type;
  /* 1: the point; 3, 5, 7: neighbours; 9, 27: with corners; 2: one-sided, unsymmetric; 13: up to 2 away */
  PetscInt  points;
  PetscBool layers; /* ranks along the last dimension only */
  PetscInt  seed;   /* of the coefficients */
} GridCase;

static inline PetscErrorCode GridCreate(const GridCase *c, DM *da)
{
  PetscMPIInt size;
  PetscInt    p[3] = {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (c->layers) {
    for (PetscInt d = 0; d < 3; d++) p[d] = d == c->dim - 1 ? size : 1;
  }
  if (c->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, c->b[0], c->size[0], c->dof, c->width, NULL, da));
  else if (c->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, c->b[0], c->b[1], c->type, c->size[0], c->size[1], p[0], p[1], c->dof,
                           c->width, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, c->b[0], c->b[1], c->b[2], c->type, c->size[0], c->size[1], c->size[2],
                           p[0], p[1], p[2], c->dof, c->width, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt GridOffsets(const GridCase *c, MatStencil o[])
{
  PetscInt n = 0;

  for (PetscInt k = -2; k < 3; k++)
    for (PetscInt j = -2; j < 3; j++)
      for (PetscInt i = -2; i < 3; i++) {
        const PetscInt far   = PetscMax(PetscMax(PetscAbsInt(i), PetscAbsInt(j)), PetscAbsInt(k)),
                       turns = (i != 0) + (j != 0) + (k != 0);
        PetscBool take;

        if ((c->dim < 2 && j) || (c->dim < 3 && k)) continue;
        take = (PetscBool)(!far || (far == 1 && c->points > 2 && (turns == 1 || c->points == 9 || c->points == 27)));
        if (c->points == 13) take = (PetscBool)(turns < 2);
        if (c->points == 2)
          take = (PetscBool)(!far || (i == 2 && (c->dim < 3 || (j == -1 && k == 1))) || (i == -1 && !j && !k));
        if (!take) continue;
        o[n].i   = i;
        o[n].j   = j;
        o[n].k   = k;
        o[n++].c = 0;
      }
  return n;
}

/* From unknown e of the neighbour by offset s to unknown r of point i, j, k */
static inline PetscScalar GridCoefficient(const GridCase *c, PetscBool constant, PetscInt s, PetscInt r, PetscInt e,
                                          PetscInt i, PetscInt j, PetscInt k)
{
  return SpikeTestScalar(17 + s + c->seed, r + 10 * e, constant ? 0 : 1 + i + 100 * j + 10000 * k);
}

/* As an application would assemble it */
static inline PetscErrorCode GridAssemble(const GridCase *c, DM da, PetscInt n, const MatStencil o[],
                                          PetscBool constant, Mat *B)
{
  ISLocalToGlobalMapping map;
  DMDALocalInfo          info;
  PetscInt               starts[3], dims[3], nlocal;
  Vec                    x;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetGlobalVector(da, &x));
  PetscCall(VecGetLocalSize(x, &nlocal));
  PetscCall(DMRestoreGlobalVector(da, &x));
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, nlocal, nlocal, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(*B, c->dof));
  PetscCall(MatSetType(*B, MATAIJ));
  PetscCall(MatSetUp(*B));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatSetLocalToGlobalMapping(*B, map, map));
  PetscCall(DMDAGetGhostCorners(da, &starts[0], &starts[1], &starts[2], &dims[0], &dims[1], &dims[2]));
  PetscCall(MatSetStencil(*B, c->dim, dims, starts, c->dof));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
        for (PetscInt s = 0; s < n; s++) {
          const PetscInt q[] = {i + o[s].i, j + o[s].j, k + o[s].k};
          PetscBool      out = PETSC_FALSE;

          for (PetscInt d = 0; d < c->dim; d++)
            if (c->b[d] == DM_BOUNDARY_NONE && (q[d] < 0 || q[d] >= c->size[d])) out = PETSC_TRUE;
          for (PetscInt r = 0; !out && r < c->dof; r++)
            for (PetscInt e = 0; e < c->dof; e++) {
              MatStencil  row, col;
              PetscScalar v = GridCoefficient(c, constant, s, r, e, i, j, k);

              row.i = i;
              row.j = j;
              row.k = k;
              row.c = r;
              col.i = q[0];
              col.j = q[1];
              col.k = q[2];
              col.c = e;
              PetscCall(MatSetValuesStencil(*B, 1, &row, 1, &col, &v, ADD_VALUES));
            }
        }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode GridSetCoefficients(const GridCase *c, DM da, PetscInt n, PetscBool constant, Mat A)
{
  DMDALocalInfo info;
  PetscScalar  *v;
  Vec          *vecs;

  PetscFunctionBegin;
  if (constant) {
    PetscCall(PetscMalloc1(n * c->dof * c->dof, &v));
    for (PetscInt s = 0; s < n; s++)
      for (PetscInt r = 0; r < c->dof; r++)
        for (PetscInt e = 0; e < c->dof; e++)
          v[(s * c->dof + r) * c->dof + e] = GridCoefficient(c, PETSC_TRUE, s, r, e, 0, 0, 0);
    PetscCall(MatGridStencilSetCoefficients(A, v));
    PetscCall(PetscFree(v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(PetscMalloc1(n * c->dof, &vecs));
  for (PetscInt s = 0; s < n; s++)
    for (PetscInt e = 0; e < c->dof; e++) {
      PetscInt at = 0;

      PetscCall(DMCreateGlobalVector(da, &vecs[s * c->dof + e]));
      PetscCall(VecGetArrayWrite(vecs[s * c->dof + e], &v));
      for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
        for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
          for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
            for (PetscInt r = 0; r < c->dof; r++) v[at++] = GridCoefficient(c, PETSC_FALSE, s, r, e, i, j, k);
      PetscCall(VecRestoreArrayWrite(vecs[s * c->dof + e], &v));
    }
  PetscCall(MatGridStencilSetCoefficientVecs(A, vecs));
  for (PetscInt s = 0; s < n * c->dof; s++) PetscCall(VecDestroy(&vecs[s]));
  PetscCall(PetscFree(vecs));
  PetscFunctionReturn(PETSC_SUCCESS);
}
