/* SPDX-License-Identifier: BSD-2-Clause */
/*
  run.h: for benchmarks/tridiagonal: what its parts on host and device share: options, cases, solvers, lines of the
  tables, LAPACK and its like
*/
#pragma once

#include "kernels/tridiagonal/tridiagonal.h"
#include "../common/bandcase.h"
#include "../../tests/tridiagonalcase.h"

#define MAXCASES  32
#define MAXCOPIES 64

enum {
  TIME_SETUP,
  TIME_APPLY,
  TIME_ONCE,
  NTIMES
};

/* The kernels' algorithms */
typedef struct {
  const char            *name;
  PCSpikeTridiagonalType type;
  PetscBool              pivoting;
} Algorithm;

static const Algorithm algorithms[] = {{"auto", PC_SPIKE_TRIDIAGONAL_AUTO, PETSC_FALSE},
                                       {"thomas", PC_SPIKE_TRIDIAGONAL_THOMAS, PETSC_FALSE},
                                       {"twoway", PC_SPIKE_TRIDIAGONAL_TWOWAY, PETSC_FALSE},
                                       {"cr", PC_SPIKE_TRIDIAGONAL_CR, PETSC_FALSE},
                                       {"pcr", PC_SPIKE_TRIDIAGONAL_PCR, PETSC_FALSE},
                                       {"rd", PC_SPIKE_TRIDIAGONAL_RD, PETSC_FALSE},
                                       {"crpcr", PC_SPIKE_TRIDIAGONAL_CRPCR, PETSC_FALSE},
                                       {"partition", PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_FALSE},
                                       {"pivoting", PC_SPIKE_TRIDIAGONAL_PARTITION, PETSC_TRUE}};

#define NALGORITHMS ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(algorithms))

/* Options of the run, the same for all cases */
typedef struct {
  PetscInt  repeat, chunk, switchpoint;
  PetscReal cold, seconds; /* MB of a case with its copies; after so many seconds no repetition is begun */
  PetscBool use[PETSC_STATIC_ARRAY_LENGTH(algorithms)], pc;
  FILE     *csv;
} Run;

/* This rank's systems, of m rows each. f is work space for LAPACK, as large as dl, d, du and du2 */
typedef struct {
  PetscInt      systems, nsys, m, n, copies, *start; /* systems: of all ranks */
  PetscScalar  *dl, *d, *du, *b, *x, *f;             /* [copies n] each, f [4 copies n] or NULL */
  PetscBLASInt *pivots;
} Case;

/*
  What a solver took: ms, and in a CUDA graph; NAN: it has none. error: the worst backward error of its solutions in
  units of rounding
*/
typedef struct {
  char   name[40];
  double ms[NTIMES], graph[NTIMES], error;
  char   how[96];
} Line;

static inline void LineInit(Line *line, const char name[])
{
  (void)PetscStrncpy(line->name, name, sizeof(line->name));
  for (int k = 0; k < NTIMES; k++) line->ms[k] = line->graph[k] = NAN;
  line->error  = NAN;
  line->how[0] = 0;
}

/* Of copy 0 of this rank's systems, in units of rounding */
static inline double CaseError(const Case *c, const PetscScalar *x)
{
  double worst = 0.0;

  for (PetscInt i = 0; i < c->nsys; i++) {
    const PetscCount at = i * (PetscCount)c->m;
    const double     e = (double)(TriBackward(PETSC_FALSE, c->m, c->dl + at, c->d + at, c->du + at, c->b + at, x + at) /
                              PETSC_MACHINE_EPSILON);

    if (!(e <= worst)) worst = e;
    if (isnan(e)) break;
  }
  return worst;
}

static inline const char *PrecisionName(void)
{
  return sizeof(PetscReal) == 8 ? (PetscDefined(USE_COMPLEX) ? "c64" : "fp64")
                                : (PetscDefined(USE_COMPLEX) ? "c32" : "fp32");
}

static inline void CSVLine(FILE *csv, const char backend[], int ranks, const Case *c, const Line *line)
{
  fprintf(csv, "%s,%s,%s,%d,%" PetscInt_FMT ",%" PetscInt_FMT, line->name, backend, PrecisionName(), ranks, c->systems,
          c->m);
  for (int k = 0; k < NTIMES; k++) fprintf(csv, ",%.6e", line->ms[k]);
  for (int k = 0; k < NTIMES; k++) fprintf(csv, ",%.6e", line->graph[k]);
  fprintf(csv, ",%.3g,", line->error);
  for (const char *s = line->how; *s; s++) fputc(*s == ',' ? ';' : *s, csv);
  fputc('\n', csv);
}

typedef void (*Gttrf)(const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *, PetscScalar *, PetscBLASInt *,
                      PetscBLASInt *);
typedef void (*Gttrs)(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscScalar *,
                      const PetscScalar *, const PetscScalar *, const PetscScalar *, const PetscBLASInt *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *);
typedef void (*Gtsv)(const PetscBLASInt *, const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *,
                     PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

/* MKL's for dominant matrices: burning at both ends, without exchanges */
typedef void (*Dttrfb)(const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *, PetscBLASInt *);
typedef void (*Dttrsb)(const char *, const PetscBLASInt *, const PetscBLASInt *, const PetscScalar *,
                       const PetscScalar *, const PetscScalar *, PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

typedef struct {
  const char *name;
  Gttrf       gttrf; /* NULL: dttrfb and dttrsb */
  Gttrs       gttrs;
  Gtsv        gtsv; /* or dtsvb */
  Dttrfb      dttrfb;
  Dttrsb      dttrsb;
} Peer;

PetscErrorCode CaseCreate(MPI_Comm comm, PetscInt systems, PetscInt m, PetscReal cold, TriKind kind, PetscBool work,
                          Case *c);
PetscErrorCode CaseDestroy(Case *c);
PetscErrorCode SystemsCreate(const Run *run, const Case *c, const SpikeTridiagonalKernels *k, const Algorithm *a,
                             SpikeTridiagonal *t);
PetscErrorCode HowOf(const SpikeTridiagonal *t, Line *line);
PetscErrorCode PrintNumber(int width, int digits, double value);
PetscErrorCode TimePeer(MPI_Comm comm, const Case *c, const Peer *p, double ms[NTIMES]);
PetscBool      FindMKL(void *library, Peer peers[2]);
