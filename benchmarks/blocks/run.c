/* SPDX-License-Identifier: BSD-2-Clause */
/*
  run.c: what its parts share: options, places (a backend of block.h, where its data is and how its time is taken),
  numbers, stencils, lines of the tables
*/
#include "run.h"

PetscErrorCode TilesCreate(Run *run)
{
  SpikeDouble *d;
  SpikeSingle *s;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(PERIOD, &d, PERIOD, &s));
  for (PetscCount i = 0; i < PERIOD; i++) {
    const float v = (float)Uniform((uint64_t)i, 3);

#if defined(PETSC_USE_COMPLEX)
    d[i] = v + (float)Uniform((uint64_t)i, 4) * 1.0i;
#else
    d[i] = v;
#endif
    s[i] = (SpikeSingle)d[i];
  }
  run->numbers[0] = d;
  run->numbers[1] = s;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TilesDestroy(Run *run)
{
  SpikeDouble *d = (SpikeDouble *)run->numbers[0];
  SpikeSingle *s = (SpikeSingle *)run->numbers[1];

  PetscFunctionBeginUser;
  PetscCall(PetscFree2(d, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* d, of the place's memory, <- random numbers */
PetscErrorCode FillPlace(Place *p, PetscSpikePrecision precision, PetscCount count, void *d)
{
  const size_t size = NumberBytes(precision);
  char        *at   = (char *)d;

  PetscFunctionBeginUser;
  PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_FALSE, d,
                            p->run->numbers[precision == PETSC_SPIKE_PRECISION_DOUBLE ? 0 : 1],
                            (size_t)PetscMin(count, PERIOD) * size));
  for (PetscCount done = PERIOD, more; done < count; done += more) {
    more = PetscMin(done, count - done);
    PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_TRUE, at + (size_t)done * size, at, (size_t)more * size));
  }
  PetscCall((*p->b.k->synchronize)(&p->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Upload(Place *p, const void *from, size_t bytes, void **to)
{
  PetscFunctionBeginUser;
  PetscCall((*p->b.k->alloc)(&p->b, PetscMax(bytes, 16), to));
  if (bytes) PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_FALSE, *to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Download(Place *p, const void *from, size_t bytes, void *to)
{
  PetscFunctionBeginUser;
  PetscCall((*p->b.k->copy)(&p->b, PETSC_FALSE, PETSC_TRUE, to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The 7-point stencil on cubes of blocks, count of them one after the other */
PetscErrorCode Stencil(PetscInt edge, PetscInt count, PetscInt **bi, PetscInt **bj)
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
PetscErrorCode CreateBAIJ(PetscInt bs, PetscInt nb, const PetscInt bi[], const PetscInt bj[], const PetscScalar a[],
                          Mat *A)
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

/* ---- Time on the host ---- */

PetscErrorCode HostTime(Place *p, PetscInt copies, BlockWork restore, BlockWork work, void *ctx, double *ms,
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

PetscErrorCode HostPlaceCreate(const Run *run, PetscReal cold, PetscReal seconds, Place *p)
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

/* ---- Lines ---- */

PetscErrorCode PrintNumber(int width, int digits, double value)
{
  PetscFunctionBeginUser;
  if (isnan(value)) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*s", width, "-"));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*.*f", width, digits, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode Heading(const Place *p, const char text[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\n%s, %s; a copy moves %.1f GB/s; ms by calls and by graphs, share of the copy's rate, error "
                        "in units of rounding\n",
                        text, p->name, 1e-9 * p->rate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NAN: there is none. bytes 0: it has no rate */
PetscErrorCode Report(const Place *p, const Key *key, const char solver[], double ms, double graph, double error,
                      const char note[])
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
            ",%.6e,%.6e,%.6e,%.1f,%.3g,%.6e,%s\n",
            key->part, key->op, solver, p->name, PrecisionName(key->precision), key->rowmajor ? "rows" : "cols",
            key->bs, key->n, key->m, key->tasks, ms, graph, key->bytes, 1e-9 * p->rate, error, key->operations, note);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
