/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedgraph.h: iterations as CUDA graphs, and many iterations in one launch */
#pragma once

#include "fused.h"

/*
  Iterations of the larger graph, at least: from one graph to the next a device takes 1.5 us more than between kernels
  of a graph (krylov.txt). Where the solve ends in the middle of one, the rest are kernels that do nothing
*/
#define KSP_FUSED_GRAPH_MANY 8

/* The same in whole periods */
static inline PetscInt KSPFusedManyIterations(const KSPFused *f)
{
  return (KSP_FUSED_GRAPH_MANY + f->graph.period - 1) / f->graph.period * f->graph.period;
}

PETSC_INTERN PetscErrorCode KSPFusedPrepareGraph(KSP);
PETSC_INTERN PetscErrorCode KSPFusedTouch(KSP);
PETSC_INTERN PetscErrorCode KSPFusedReplay(KSP, PetscInt it, PetscInt its);
PETSC_INTERN PetscErrorCode KSPFusedIterate(KSP, PetscInt its, PetscInt *launched);
