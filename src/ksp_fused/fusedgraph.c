/* SPDX-License-Identifier: BSD-2-Clause */
/* fusedgraph.c: iterations as CUDA graphs, and many iterations in one launch */
#include "fusedgraph.h"
#include "fusedstate.h"
#include <petsc/private/logimpl.h>

/* Where the array of v is; written: its values on the host and its norms are outdated from now on */
static PetscErrorCode KSPFusedLookAtArray_Private(KSP ksp, Vec v, PetscBool written, PetscScalar **where)
{
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetArray(ksp, v, PETSC_TRUE, written, &array));
  *where = array;
  PetscCall(KSPFusedRestoreArray(ksp, v, PETSC_TRUE, written, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iterations are graphs, except the first after a start, where an iteration launches work of this library only. Graphs
  of the solve before are kept while they hold for these vectors and this form
*/
PetscErrorCode KSPFusedPrepareGraph(KSP ksp)
{
  KSPFused           *f     = (KSPFused *)ksp->data;
  KSPFusedGraphs     *graph = &f->graph;
  const PetscInt      n     = ksp->nwork + 1;
  const PetscBool     known = (PetscBool)(f->pc.identity || f->pc.diagonal ||
                                      (f->pc.enqueue.run && f->pc.enqueue.capturable));
  const PetscScalar **arrays;
  KSPFusedGraphKey    key;

  PetscFunctionBegin;
  f->run.usegraph = (PetscBool)(f->options.graphs && f->s.ondevice && f->s.k->capture &&
                                (f->product.own || f->product.enqueue.run) && known && !f->options.replacement &&
                                !PetscLogGpuTimeFlag);
  if (!f->run.usegraph) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &arrays));
  for (PetscInt i = 0; i < n; i++)
    PetscCall(
      KSPFusedLookAtArray_Private(ksp, i ? ksp->work[i - 1] : ksp->vec_sol, PETSC_FALSE, (PetscScalar **)&arrays[i]));
  PetscCall(PetscMemzero(&key, sizeof(key)));
  PetscCall(PetscObjectGetId((PetscObject)ksp->pc, &key.pc));
  key.merged    = f->run.merged;
  key.variant   = graph->variant;
  key.shape     = f->pc.enqueue.shape;
  key.side      = ksp->pc_side;
  key.identity  = f->pc.identity;
  key.symmetric = f->options.symmetric;
  key.flexible  = f->pc.flexible;
  key.scaled    = f->pc.scaled;
  key.lags      = f->run.lags;
  key.narrow    = f->product.narrow;
  key.single    = f->pc.single;
  if (f->pc.diagonal)
    PetscCall(KSPFusedLookAtArray_Private(ksp, f->pc.diagonal, PETSC_FALSE, (PetscScalar **)&key.diagonal));
  if (graph->narrays != n || memcmp(arrays, graph->arrays, n * sizeof(*arrays)) ||
      memcmp(&key, &graph->made, sizeof(key)))
    PetscCall(KSPFusedDestroyGraphs(f));
  PetscCall(PetscFree(graph->arrays));
  graph->arrays  = arrays;
  graph->narrays = n;
  graph->made    = key;
  if (!graph->graphs) PetscCall(PetscCalloc1(graph->period, &graph->graphs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A graph changes no object states: after a replay, kept norms and host copies of vectors are outdated */
PetscErrorCode KSPFusedTouch(KSP ksp)
{
  PetscScalar *array;

  PetscFunctionBegin;
  for (PetscInt i = 0; i <= ksp->nwork; i++)
    PetscCall(KSPFusedLookAtArray_Private(ksp, i ? ksp->work[i - 1] : ksp->vec_sol, PETSC_TRUE, &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *graph <- a graph of iterations `it` <= . < it + its, NULL where they cannot be captured */
static PetscErrorCode KSPFusedCapture_Private(KSP ksp, PetscInt it, PetscInt its, void **graph)
{
  KSPFused      *f     = (KSPFused *)ksp->data;
  const PetscInt since = f->run.since;
  void          *begun;

  PetscFunctionBegin;
  PetscCall((*f->s.k->capture)(&f->s, PETSC_TRUE, &begun));
  for (PetscInt i = 0; i < its; i++) {
    f->run.more = (PetscBool)(it + i < ksp->max_it);
    PetscCall((*f->method->head)(ksp));
    PetscCall((*f->method->tail)(ksp));
    f->run.since++;
  }
  f->run.since = since;
  PetscCall((*f->s.k->capture)(&f->s, PETSC_FALSE, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Iteration `it`, and those after it where its is not 1 but KSPFusedManyIterations(), from a graph, which is made where
  there is none; not launched where that fails, and then not tried again in this solve
*/
PetscErrorCode KSPFusedReplay(KSP ksp, PetscInt it, PetscInt its)
{
  KSPFused *f     = (KSPFused *)ksp->data;
  void    **graph = its > 1 ? &f->graph.many : &f->graph.graphs[f->run.since % f->graph.period];

  PetscFunctionBegin;
  if (!*graph) {
    PetscCall(KSPFusedCapture_Private(ksp, it, its, graph));
    if (!*graph) {
      PetscCall(PetscInfo(ksp, "The iteration cannot be captured in a graph\n"));
      f->run.usegraph = PETSC_FALSE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCall((*f->s.k->replay)(&f->s, *graph));
  f->run.lagging = f->run.lags;
  if (f->info.lockstep) PetscCall(KSPFusedTouch(ksp)); /* else nobody reads vectors before the end */
  f->run.since += its;
  f->info.launched += its;
  f->info.replayed += its;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  At most `its` iterations in one launch, after which p and v are where they were, or the solve ends; 0 where the
  backend does not want it, and then not tried again in this solve
*/
PetscErrorCode KSPFusedIterate(KSP ksp, PetscInt its, PetscInt *launched)
{
  KSPFused             *f = (KSPFused *)ksp->data;
  SpikeKrylovIterations iterations;
  PetscBool             cluster;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&iterations, sizeof(iterations)));
  PetscCall(VecGetLocalSize(ksp->vec_sol, &iterations.n));
  iterations.method    = f->method->whole;
  iterations.s         = f->basis.ncolumns;
  iterations.right     = (PetscBool)(ksp->pc_side == PC_RIGHT);
  iterations.symmetric = f->options.symmetric;
  iterations.type      = f->options.persistent;
  PetscAssert(ksp->nwork < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(iterations.v), PetscObjectComm((PetscObject)ksp),
              PETSC_ERR_PLIB, "%" PetscInt_FMT " work vectors", ksp->nwork);
  for (PetscInt i = 0; i <= ksp->nwork; i++)
    PetscCall(KSPFusedLookAtArray_Private(ksp, i ? ksp->work[i - 1] : ksp->vec_sol,
                                          (PetscBool)(i <= ksp->nwork - f->basis.nshared), &iterations.v[i]));
  if (f->pc.diagonal)
    PetscCall(KSPFusedLookAtArray_Private(ksp, f->pc.diagonal, PETSC_FALSE, (PetscScalar **)&iterations.diagonal));
  PetscCall((*f->s.k->iterate)(&f->s, f->product.copy, &iterations, its, launched, &cluster));
  if (*launched) f->info.cluster = cluster;
  f->run.since += *launched;
  f->info.launched += *launched;
  if (!*launched) f->run.usewhole = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
