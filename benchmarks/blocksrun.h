/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blocksrun.h: for benchmarks/blocks: what its parts share: options, places (a backend of block.h, where its data is and
  how its time is taken), numbers, stencils, lines of the tables
*/
#pragma once

#include "kernels/band/host/host.h"
#include "kernels/block/block.h"
#include "bandcase.h"
#include "symbols.h"

#define MAXCOPIES 256
#define MAXLIST   16
/* random numbers: longer arrays repeat them, and a prime number of them lies across rows and columns */
#define TILE ((PetscCount)1000003)

/* Enqueues, or does, what is to be timed for one copy of the data */
typedef PetscErrorCode (*BlockWork)(void *ctx, PetscInt copy);

typedef struct {
  PetscInt repeat;
  PetscInt n[MAXLIST], m[MAXLIST], bs[MAXLIST], tasks[MAXLIST], edge[MAXLIST], lu[MAXLIST];
  PetscInt nn, nm, nbs, ntasks, nedge, nlu;
  PetscInt taskrows, taskedge; /* of each of many tasks: rows of tall blocks, edge of a cube of block rows */
  FILE    *csv;
  void    *tile[2];
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
  double              bytes;
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

static inline PetscErrorCode TilesCreate(Run *run)
{
  SpikeDouble *d;
  SpikeSingle *s;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(TILE, &d, TILE, &s));
  for (PetscCount i = 0; i < TILE; i++) {
    const float v = (float)Uniform((uint64_t)i, 3);

#if defined(PETSC_USE_COMPLEX)
    d[i] = v + (float)Uniform((uint64_t)i, 4) * 1.0i;
#else
    d[i] = v;
#endif
    s[i] = (SpikeSingle)d[i];
  }
  run->tile[0] = d;
  run->tile[1] = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TilesDestroy(Run *run)
{
  SpikeDouble *d = (SpikeDouble *)run->tile[0];
  SpikeSingle *s = (SpikeSingle *)run->tile[1];

  PetscFunctionBeginUser;
  PetscCall(PetscFree2(d, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d, of the place's memory, <- random numbers */
static inline PetscErrorCode Fill(Place *p, PetscSpikePrecision precision, PetscCount count, void *d)
{
  const size_t size = NumberBytes(precision);
  char        *at   = (char *)d;

  PetscFunctionBeginUser;
  PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_FALSE, d,
                            p->run->tile[precision == PETSC_SPIKE_PRECISION_DOUBLE ? 0 : 1],
                            (size_t)PetscMin(count, TILE) * size));
  for (PetscCount done = TILE, more; done < count; done += more) {
    more = PetscMin(done, count - done);
    PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_TRUE, at + (size_t)done * size, at, (size_t)more * size));
  }
  PetscCall((*p->b.k->synchronize)(&p->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Upload(Place *p, const void *from, size_t bytes, void **to)
{
  PetscFunctionBeginUser;
  PetscCall((*p->b.k->alloc)(&p->b, PetscMax(bytes, 16), to));
  if (bytes) PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_FALSE, *to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Download(Place *p, const void *from, size_t bytes, void *to)
{
  PetscFunctionBeginUser;
  PetscCall((*p->b.k->copy)(&p->b, PETSC_FALSE, PETSC_TRUE, to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt CopiesOf(const Place *p, double bytes, PetscInt most)
{
  return (PetscInt)PetscMax(1.0, PetscMin((double)most, ceil((double)p->cold * 1e6 / PetscMax(bytes, 1.0))));
}

/* The 7-point stencil on cubes of blocks, count of them one behind the other */
static inline PetscErrorCode Stencil(PetscInt edge, PetscInt count, PetscInt **bi, PetscInt **bj)
{
  const PetscInt rows = edge * edge * edge;
  PetscInt       nz   = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(count * rows + 1, bi));
  PetscCall(PetscMalloc1(7 * count * rows, bj));
  (*bi)[0] = 0;
  for (PetscInt t = 0; t < count; t++)
    for (PetscInt z = 0; z < edge; z++)
      for (PetscInt y = 0; y < edge; y++)
        for (PetscInt x = 0; x < edge; x++) {
          const PetscInt row = t * rows + (z * edge + y) * edge + x;

          if (z) (*bj)[nz++] = row - edge * edge;
          if (y) (*bj)[nz++] = row - edge;
          if (x) (*bj)[nz++] = row - 1;
          (*bj)[nz++] = row;
          if (x + 1 < edge) (*bj)[nz++] = row + 1;
          if (y + 1 < edge) (*bj)[nz++] = row + edge;
          if (z + 1 < edge) (*bj)[nz++] = row + edge * edge;
          (*bi)[row + 1] = nz;
        }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MATSEQBAIJ with copies of the arrays, blocks column-major */
static inline PetscErrorCode CreateBAIJ(PetscInt bs, PetscInt nb, const PetscInt bi[], const PetscInt bj[],
                                        const PetscScalar a[], Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, nb * bs, nb * bs, nb * bs, nb * bs));
  PetscCall(MatSetType(*A, MATSEQBAIJ));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_ROW_ORIENTED, PETSC_FALSE));
  PetscCall(MatSeqBAIJSetPreallocationCSR(*A, bs, bi, bj, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Time on the host
  -------------------------------------------------------------------------------------------------------
*/
static PetscErrorCode HostTime(Place *p, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
                               double *graph)
{
  double         t[MAXREPEAT];
  PetscLogDouble begin, t0, t1;
  PetscInt       rounds = 1;
  int            count  = 0;

  PetscFunctionBeginUser;
  (void)graph;
  PetscCall(PetscTime(&begin));
  for (int r = -1; r < (int)p->run->repeat; r++) {
    for (PetscInt k = 0; k < copies && restore; k++) PetscCall((*restore)(ctx, k));
    PetscCall(PetscTime(&t0));
    for (PetscInt round = 0; round < rounds; round++)
      for (PetscInt k = 0; k < copies; k++) PetscCall((*work)(ctx, k));
    PetscCall(PetscTime(&t1));
    if (r < 0 && !restore) rounds = (PetscInt)PetscMax(1.0, PetscMin(64.0, 3e-3 / (t1 - t0)));
    if (r >= 0) t[count++] = 1e3 * (t1 - t0) / ((double)copies * (double)rounds);
    if (count && t1 - begin > p->seconds) break;
  }
  *ms = Median(count, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyWork(void *ctx, PetscInt k)
{
  char *half = (char *)ctx;

  PetscFunctionBeginUser;
  (void)k;
  memcpy(half + ((size_t)1 << 27), half, (size_t)1 << 27);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HostPlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p)
{
  char  *data;
  double ms;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->name    = "host";
  p->run     = run;
  p->cold    = cold;
  p->seconds = seconds;
  p->time    = HostTime;
  p->b.k     = &SpikeBlockKernels_Host;
  PetscCall((*p->b.k->create)(&p->b));
  PetscCall(PetscMalloc1((size_t)1 << 28, &data));
  PetscCall(PetscMemzero(data, (size_t)1 << 28));
  PetscCall(HostTime(p, 1, NULL, CopyWork, data, &ms, NULL));
  PetscCall(PetscFree(data));
  p->rate = 2e3 * (double)((size_t)1 << 27) / ms;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Lines
  -------------------------------------------------------------------------------------------------------------------
*/
static inline void CSVHeader(FILE *csv)
{
  fprintf(csv, "part,op,solver,place,precision,layout,bs,n,m,tasks,ms,graph_ms,bytes,copy_gbs,error,note\n");
}

static inline PetscErrorCode PrintNumber(int width, int digits, double value)
{
  PetscFunctionBeginUser;
  if (isnan(value)) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*s", width, "-"));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*.*f", width, digits, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Heading(const Place *p, const char text[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\n%s, %s; a copy moves %.1f GB/s; ms by calls and by graphs, share of the copy's rate, error "
                        "in units of rounding\n",
                        text, p->name, 1e-9 * p->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NAN: there is none. bytes 0: it has no rate */
static inline PetscErrorCode Report(const Place *p, const Key *key, const char solver[], double ms, double graph,
                                    double error, const char note[])
{
  const double best = isnan(graph) || graph > ms ? ms : graph;

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "  %-5s %-12s %-4s %-4s bs %2" PetscInt_FMT " n %8" PetscInt_FMT " m %2" PetscInt_FMT
                        " tasks %2" PetscInt_FMT " %-24s",
                        key->part, key->op, PrecisionName(key->precision), key->rowmajor ? "rows" : "cols", key->bs,
                        key->n, key->m, key->tasks, solver));
  PetscCall(PrintNumber(10, 4, ms));
  PetscCall(PrintNumber(10, 4, graph));
  PetscCall(PrintNumber(6, 3, key->bytes > 0.0 ? 1e3 * key->bytes / (best * p->rate) : NAN));
  PetscCall(PrintNumber(8, 2, error));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", note));
  if (p->run->csv) {
    fprintf(p->run->csv,
            "%s,%s,%s,%s,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
            ",%.6e,%.6e,%.6e,%.1f,%.3g,%s\n",
            key->part, key->op, solver, p->name, PrecisionName(key->precision), key->rowmajor ? "rows" : "cols",
            key->bs, key->n, key->m, key->tasks, ms, graph, key->bytes, 1e-9 * p->rate, error, note);
    fflush(p->run->csv);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
