/* SPDX-License-Identifier: BSD-2-Clause */
/*
  components.c: CR, PCR, RD and CR-PCR as one kernel each: errors, CR-PCR by its switch point, time by component as
  differences between kernels from which parts were taken out, and beside them `auto` and cuSPARSE
*/
#include "components.h"
#include "cusparse.h"
#include "onekernel.h"
#include "ours.h"

#define MAXLEFT 10 /* log2(ONEKERNEL_ROWS) */

static const char *const names[NONEKERNEL]       = {"cr", "pcr", "rd", "crpcr"};
static const char *const parts[ONEKERNEL_NPARTS] = {"launch", "global", "control", "shared", "arithmetic", "conflicts"};

typedef struct {
  Device        *dev;
  OneKernelType  type;
  OneKernelParts parts;
  PetscInt       left;
} OneKernel;

static PetscErrorCode OneKernelWork(void *ctx, PetscInt k)
{
  const OneKernel *o  = (const OneKernel *)ctx;
  const Device    *v  = o->dev;
  const PetscCount at = k * v->n;

  PetscFunctionBeginUser;
  PetscCall(OneKernelSolve(o->type, o->parts, v->c->nsys, v->c->m, o->left, v->dl + at, v->d + at, v->du + at,
                           v->b + at, v->x + at, v->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its time at once, by calls and by graphs */
static PetscErrorCode TimeOneKernel(Device *dev, OneKernelType type, OneKernelParts with, PetscInt left, Line *line)
{
  OneKernel o = {dev, type, with, left};

  PetscFunctionBeginUser;
  PetscCall(TimeWork(dev, NULL, PETSC_FALSE, OneKernelWork, &o, &line->ms[TIME_ONCE], &line->graph[TIME_ONCE]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double LineTime(const Line *line)
{
  return isnan(line->graph[TIME_ONCE]) ? line->ms[TIME_ONCE] : line->graph[TIME_ONCE];
}

/*
  Errors of copy 0 by all kernels with all parts, crpcr with each switch point. Bounds: 100 units of rounding, which is
  far above what they have; RD of -1 2 -1 m^2, because its prefixes grow as m; of dominant systems none
*/
static PetscErrorCode OneKernelErrors(const Run *run, TriKind kind, PetscInt nsys, PetscInt m, cudaStream_t stream,
                                      double one[NONEKERNEL], double crpcr[MAXLEFT])
{
  Run    r = *run;
  Case   c;
  Device dev;

  PetscFunctionBeginUser;
  r.cold = 0.0;
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, kind, PETSC_FALSE, &c));
  PetscCall(DeviceCreate(&r, &c, stream, &dev));
  for (int type = 0; type < NONEKERNEL; type++) {
    const PetscBool hybrid = (PetscBool)(type == ONEKERNEL_CRPCR);

    one[type] = NAN;
    for (PetscInt k = 0, left = 2; left <= (hybrid ? m / 2 : 2); left *= 2, k++) {
      OneKernel o     = {&dev, (OneKernelType)type, ONEKERNEL_ALL, left};
      double    error = NAN, bound = 100.0;

      if (type == ONEKERNEL_RD) bound = kind == TRI_POISSON ? PetscMax(bound, (double)m * (double)m) : INFINITY;
      PetscCallCUDA(cudaMemset(dev.x, 0xff, dev.n * sizeof(PetscScalar)));
      PetscCallCUDA(cudaDeviceSynchronize());
      PetscCall(OneKernelWork(&o, 0));
      PetscCall(DeviceError(&dev, &error));
      PetscCheck(error <= bound || isinf(bound), PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s as one kernel, %" PetscInt_FMT " rows, %s: the error is %g units of rounding, more than %g",
                 names[type], m, trikinds[kind], error, bound);
      if (hybrid) crpcr[k] = error;
      if (!(one[type] >= error)) one[type] = error; /* the largest */
    }
  }
  PetscCall(DeviceDestroy(&dev));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Times of crpcr by the number of rows that PCR has, between those of CR, which leaves 2 rows, and of PCR, which has
  all. *best: the fastest that is neither, with which `of` is filled; 0 where there is none
*/
static PetscErrorCode OneKernelSweep(Device *dev, const Line *cr, const Line *pcr, const double error[], PetscInt *best,
                                     Line *of)
{
  const PetscInt m     = dev->c->m;
  double         least = NAN;
  FILE          *csv   = dev->run->csv;

  PetscFunctionBeginUser;
  *best = 0;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  crpcr by the number of rows that it leaves to PCR, ms by calls, by graphs; "
                                         "the ends are cr and pcr\n"));
  for (PetscInt k = 0, left = 2; left <= m; left *= 2, k++) {
    Line        line;
    const Line *use = left == m ? pcr : left == 2 ? cr : &line;

    LineInit(&line, "crpcr");
    if (use == &line) {
      PetscCall(TimeOneKernel(dev, ONEKERNEL_CRPCR, ONEKERNEL_ALL, left, &line));
      line.error = error[k];
      if (!(least <= LineTime(&line))) {
        least = LineTime(&line);
        *best = left;
        *of   = line;
      }
    }
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "    %-8" PetscInt_FMT, left));
    PetscCall(PrintNumber(9, 4, use->ms[TIME_ONCE]));
    PetscCall(PrintNumber(9, 4, use->graph[TIME_ONCE]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s\n", use == pcr ? "  pcr" : use == cr ? "  cr" : ""));
    if (csv) {
      line = *use;
      PetscCall(PetscSNPrintf(line.name, sizeof(line.name), "crpcr %" PetscInt_FMT, left));
      CSVLine(csv, "onekernel", 1, dev->c, &line);
    }
  }
  if (*best)
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "  the best switch point: %" PetscInt_FMT " rows, %.4f ms; cr %.4f, pcr %.4f\n", *best, least,
                          LineTime(cr), LineTime(pcr)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Time by component: of one algorithm, what each part adds to the time of the kernel without it and those after it, in
  percent of the whole, which is measured again, next to the others
*/
static PetscErrorCode OneKernelComponents(Device *dev, OneKernelType type, PetscInt left)
{
  Line   lines[ONEKERNEL_NPARTS];
  double before = 0.0, all;

  PetscFunctionBeginUser;
  for (int p = 0; p < ONEKERNEL_NPARTS; p++) {
    LineInit(&lines[p], "");
    PetscCall(PetscSNPrintf(lines[p].name, sizeof(lines[p].name), "%s up to %s", names[type], parts[p]));
    PetscCall(TimeOneKernel(dev, type, (OneKernelParts)p, left, &lines[p]));
  }
  all = LineTime(&lines[ONEKERNEL_ALL]);
  if (type == ONEKERNEL_CRPCR)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  component %-6s %5" PetscInt_FMT, names[type], left));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, "  component %-6s %5s", names[type], "-"));
  PetscCall(PrintNumber(9, 4, all));
  for (int p = 0; p < ONEKERNEL_NPARTS; p++) {
    PetscCall(PrintNumber(10, 1, 100.0 * (LineTime(&lines[p]) - before) / all));
    before = LineTime(&lines[p]);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  for (int p = 0; p < ONEKERNEL_NPARTS && dev->run->csv; p++) CSVLine(dev->run->csv, "onekernel", 1, dev->c, &lines[p]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What crpcr gains; `auto` and cuSPARSE in the same run */
static PetscErrorCode OneKernelGains(Device *dev, PetscInt best, const Line of[])
{
  const OneKernelType over[] = {ONEKERNEL_PCR, ONEKERNEL_RD, ONEKERNEL_CR};
  const double        hybrid = LineTime(&of[ONEKERNEL_CRPCR]);
  Line                ours, cusparse[NCUSPARSE];
  const Line         *peer;
  double              ms[2];

  PetscFunctionBeginUser;
  LineInit(&ours, "auto");
  PetscCall(TimeOurs(dev, &algorithms[0], &ours));
  PetscCall(TimeCuSPARSE(dev, cusparse));
  ms[0] = LineTime(&ours);
  peer  = FindBest(NCUSPARSE, cusparse, TIME_ONCE, PETSC_TRUE, &ms[1]);
  if (best) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  crpcr %" PetscInt_FMT " takes less than", best));
    for (int k = 0; k < 3; k++)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s %s by %.1f %%", k ? "," : "", names[over[k]],
                            100.0 * (1.0 - hybrid / LineTime(&of[over[k]]))));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " (PPoPP 2010: 21, 31, 61)\n"));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  auto %.4f ms, error %.2f; the best of cuSPARSE (%s) %.4f ms", ms[0],
                        ours.error, peer ? peer->name : "none", ms[1]));
  if (best)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "; times as fast as crpcr: %.2f and %.2f", hybrid / ms[0], hybrid / ms[1]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  if (dev->run->csv) CSVLine(dev->run->csv, "cuda", 1, dev->c, &ours);
  for (int k = 0; k < NCUSPARSE && dev->run->csv; k++) CSVLine(dev->run->csv, "cusparse", 1, dev->c, &cusparse[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DeviceComponents(const Run *run, PetscInt nsys, PetscInt m, PetscDeviceContext dctx, cudaStream_t stream)
{
  Case               c;
  Device             dev;
  PetscInt           best = 0;
  double             errors[2][NONEKERNEL], crpcr[2][MAXLEFT];
  Line               of[NONEKERNEL];
  PetscDeviceContext before;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSetCurrentContext(dctx));
  for (int k = 0; k < 2; k++)
    PetscCall(OneKernelErrors(run, k ? TRI_POISSON : TRI_DOMINANT, nsys, m, stream, errors[k], crpcr[k]));
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, TRI_DOMINANT, PETSC_FALSE, &c));
  PetscCall(DeviceCreate(run, &c, stream, &dev));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\n%s, %" PetscInt_FMT " x %" PetscInt_FMT " (%" PetscInt_FMT
                        " copies): one kernel, a thread block a system, no factors\n  %-8s %9s %9s %10s %10s\n",
                        PrecisionName(), nsys, m, dev.copies, "", "calls", "graph", trikinds[TRI_DOMINANT],
                        trikinds[TRI_POISSON]));
  for (int type = 0; type < NONEKERNEL; type++) {
    LineInit(&of[type], names[type]);
    if (type == ONEKERNEL_CRPCR) {
      PetscCall(OneKernelSweep(&dev, &of[ONEKERNEL_CR], &of[ONEKERNEL_PCR], crpcr[0], &best, &of[type]));
      continue;
    }
    of[type].error = errors[0][type];
    PetscCall(TimeOneKernel(&dev, (OneKernelType)type, ONEKERNEL_ALL, 2, &of[type]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-8s", names[type]));
    PetscCall(PrintNumber(9, 4, of[type].ms[TIME_ONCE]));
    PetscCall(PrintNumber(9, 4, of[type].graph[TIME_ONCE]));
    for (int k = 0; k < 2; k++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %10.3g", errors[k][type]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  errors in units of rounding\n"));
  }
  if (best)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  crpcr, all switch points: errors at most %.3g, %.3g\n",
                          errors[0][ONEKERNEL_CRPCR], errors[1][ONEKERNEL_CRPCR]));
  for (int type = 0; type < NONEKERNEL && run->csv; type++)
    if (type != ONEKERNEL_CRPCR || best) CSVLine(run->csv, "onekernel", 1, &c, &of[type]);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  time by component: what each part adds, percent of the kernel with all of "
                                         "them, by graphs; pcr and rd have no bank conflicts: noise\n"));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-16s %5s %9s", "", "left", "ms"));
  for (int p = 0; p < ONEKERNEL_NPARTS; p++) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %10s", parts[p]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
  for (int type = 0; type < NONEKERNEL; type++)
    if (type != ONEKERNEL_CRPCR || best) PetscCall(OneKernelComponents(&dev, (OneKernelType)type, PetscMax(best, 2)));
  PetscCall(OneKernelGains(&dev, best, of));
  PetscCall(DeviceDestroy(&dev));
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
