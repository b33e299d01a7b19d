/* SPDX-License-Identifier: BSD-2-Clause */
/* spikelines.h: disjoint paths along the strongest couplings of a matrix: spikelines.c */
#pragma once

#include "kernels/common/types.h"

/* A coupling of the vertices i < j or j < i; larger keys are stronger */
typedef struct {
  PetscInt i, j;
  uint32_t key;
} SpikeLinesEdge;

typedef struct {
  /* by the caller */
  PetscInt  bs;        /* rows of a vertex */
  PetscReal threshold; /* couplings below this fraction of the strongest of both of their rows are not taken */

  PetscBool uncut; /* rows are exchanged: no path is cut for its pivots */

  /* what was found; lengths in vertices, 0 where there is none */
  PetscInt paths, shortest, longest;

  /* work space, until SpikeLinesReset() */
  PetscInt       *mark, *cols; /* of a row: [vertices], [entries] */
  PetscReal      *abs;
  PetscInt       *si, *sj; /* strong couplings by rows */
  float          *sw;
  SpikeLinesEdge *edge, *spare;
  PetscInt        nedges;
  PetscInt       *mate, *end; /* [2 vertices] neighbours in a path, -1: none; [vertices] from one end to the other */
  PetscInt       *place;
} SpikeLines;

/* Threshold by default: benchmarks/results/lines.txt */
#define SPIKE_LINES_THRESHOLD 0.25

PETSC_INTERN PetscErrorCode SpikeLinesFind(SpikeLines *, PetscInt, const SpikeCSR *, PetscInt[]);
PETSC_INTERN PetscErrorCode SpikeLinesReset(SpikeLines *);
