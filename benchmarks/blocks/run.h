/* SPDX-License-Identifier: BSD-2-Clause */
/*
  run.h: for benchmarks/blocks: what its parts share: options, places (a backend of block.h, where its data is and how
  its time is taken), numbers, stencils, lines of the tables
*/
#pragma once

#include "kernels/band/host/host.h"
#include "kernels/block/block.h"
#include "../common/bandcase.h"

#define MAXCOPIES 256
#define MAXLIST   16

/* random numbers: longer arrays repeat them, and a prime number of them lies across rows and columns */
#define PERIOD ((PetscCount)1000003)

/* Enqueues, or does, what is to be timed for one copy of the data */
typedef PetscErrorCode (*BlockWork)(void *ctx, PetscInt copy);

typedef struct {
  PetscInt  repeat;
  PetscInt  n[MAXLIST], m[MAXLIST], bs[MAXLIST], tasks[MAXLIST], edge[MAXLIST], lu[MAXLIST];
  PetscInt  nn, nm, nbs, ntasks, nedge, nlu;
  PetscInt  tallm[MAXLIST], ntallm, multm[MAXLIST], nmultm; /* columns of many tasks: tall blocks, products */
  PetscInt  batch[MAXLIST + 1], nbatch;                     /* tasks[], and 30: sparse matrices */
  PetscInt  taskrows, taskedge; /* of each of many tasks: rows of tall blocks, edge of a cube of block rows */
  PetscBool complete;           /* factors have all fill */
  char      cudss[PETSC_MAX_PATH_LEN], mkl[PETSC_MAX_PATH_LEN]; /* files of libraries, or empty */
  FILE     *csv;
  void     *numbers[2];
} Run;

typedef struct _n_Place Place;
struct _n_Place {
  const char *name;
  const Run  *run;
  SpikeBlock  b;
  PetscReal   cold, seconds; /* MB of a case with its copies; after so many seconds no repetition is begun */
  PetscBool   beside;        /* the host beside a device: fewer cases */
  double      rate;          /* bytes a second, read and written, of a copy */
  /*
    Medians, a copy, by calls and, where graph is not NULL and there are graphs, by a graph; restore() as in
    devicetime.h, the work is done once after it
  */
  PetscErrorCode (*time)(Place *, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
                         double *graph);
  void *device;
};

/* What is measured */
typedef struct {
  const char         *part, *op;
  PetscSpikePrecision precision;
  PetscBool           rowmajor;
  PetscInt            bs, n, m, tasks;
  double              bytes, operations; /* additions and multiplications of real numbers; 0: not counted */
} Key;

static inline size_t NumberBytes(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? sizeof(SpikeDouble) : sizeof(SpikeSingle);
}

static inline PetscSpikePrecision NativePrecision(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
}

static inline const char *PrecisionName(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? (PetscDefined(USE_COMPLEX) ? "c64" : "fp64")
                                                   : (PetscDefined(USE_COMPLEX) ? "c32" : "fp32");
}

/* In the names of BLAS and its relatives */
static inline char PrecisionLetter(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? (PetscDefined(USE_COMPLEX) ? 'Z' : 'D')
                                                   : (PetscDefined(USE_COMPLEX) ? 'C' : 'S');
}

static inline double PrecisionRounding(PetscSpikePrecision precision)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

static inline double Magnitude(SpikeDouble a)
{
#if defined(PETSC_USE_COMPLEX)
  return cabs(a);
#else
  return fabs(a);
#endif
}

static inline SpikeDouble Conjugate(SpikeDouble a)
{
#if defined(PETSC_USE_COMPLEX)
  return conj(a);
#else
  return a;
#endif
}

static inline SpikeDouble NumberGet(PetscSpikePrecision precision, const void *a, PetscCount i)
{
  return precision == PETSC_SPIKE_PRECISION_DOUBLE ? ((const SpikeDouble *)a)[i]
                                                   : (SpikeDouble)((const SpikeSingle *)a)[i];
}

static inline PetscInt CopiesOf(const Place *p, double bytes, PetscInt most)
{
  return (PetscInt)PetscMax(1.0, PetscMin((double)most, ceil((double)p->cold * 1e6 / PetscMax(bytes, 1.0))));
}

PetscErrorCode TilesCreate(Run *run);
PetscErrorCode TilesDestroy(Run *run);
PetscErrorCode FillPlace(Place *p, PetscSpikePrecision precision, PetscCount count, void *d);
PetscErrorCode Upload(Place *p, const void *from, size_t bytes, void **to);
PetscErrorCode Download(Place *p, const void *from, size_t bytes, void *to);
PetscErrorCode Stencil(PetscInt edge, PetscInt count, PetscInt **bi, PetscInt **bj);
PetscErrorCode CreateBAIJ(PetscInt bs, PetscInt nb, const PetscInt bi[], const PetscInt bj[], const PetscScalar a[],
                          Mat *A);
PetscErrorCode HostTime(Place *p, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
                        double *graph);
PetscErrorCode HostPlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p);
PetscErrorCode PrintNumber(int width, int digits, double value);
PetscErrorCode Heading(const Place *p, const char text[]);
PetscErrorCode Report(const Place *p, const Key *key, const char solver[], double ms, double graph, double error,
                      const char note[]);
