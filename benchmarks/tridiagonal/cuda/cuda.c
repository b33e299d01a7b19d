/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda.c: the kernels on CUDA beside cuSPARSE, the preconditioner, and transfers */
#include "cuda.h"
#include "components.h"
#include "ours.h"
#include "cusparse.h"
#include <cuda_profiler_api.h>

/*
  dl, d, du to the device (setup), b there and x back (apply), all (once), from pinned memory; the arrays of the case
  are lost
*/
static PetscErrorCode TimeTransfers(Device *dev, Line *line)
{
  PetscScalar *const device[] = {dev->dl, dev->d, dev->du, dev->b, dev->x};
  const size_t       bytes    = (size_t)dev->n * sizeof(PetscScalar);
  const int          first[] = {0, 3, 0}, last[] = {3, 5, 5};
  PetscScalar       *host;
  double             t[MAXREPEAT];
  float              ms;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMallocHost((void **)&host, 5 * bytes));
  for (int way = 0; way < NTIMES; way++) {
    for (int r = -1; r < (int)dev->run->repeat; r++) {
      PetscCallCUDA(cudaEventRecord(dev->event[0], dev->stream));
      for (int k = first[way]; k < last[way]; k++)
        PetscCallCUDA(cudaMemcpyAsync(k < 4 ? device[k] : host + k * dev->n, k < 4 ? host + k * dev->n : device[k],
                                      bytes, k < 4 ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, dev->stream));
      PetscCallCUDA(cudaEventRecord(dev->event[1], dev->stream));
      PetscCallCUDA(cudaEventSynchronize(dev->event[1]));
      PetscCallCUDA(cudaEventElapsedTime(&ms, dev->event[0], dev->event[1]));
      if (r >= 0) t[r] = (double)ms;
    }
    line->ms[way] = Median((int)dev->run->repeat, t);
  }
  PetscCallCUDA(cudaFreeHost(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The systems as one matrix, with no entries between them, and no option set: refill and apply, waiting for the device
  before and after each train; data that fits in the cache may be there
*/
static PetscErrorCode TimePC(const Run *run, const Case *c, Line *line)
{
  Mat          A;
  Vec          b, x;
  PC           pc;
  PCSpikeInfo  info;
  PetscInt    *ia, *ja;
  PetscScalar *a, *va;
  PetscCount   k = 0;
  double       setup[MAXREPEAT], apply[MAXREPEAT], first = 0.0;

  PetscFunctionBeginUser;
  PetscCheck(3 * (PetscCount)c->n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows have more entries than PetscInt counts", c->n);
  PetscCall(PetscMalloc3(c->n + 1, &ia, 3 * (PetscCount)c->n, &ja, 3 * (PetscCount)c->n, &a));
  ia[0] = 0;
  for (PetscInt i = 0; i < c->nsys; i++)
    for (PetscInt r = c->start[i]; r < c->start[i + 1]; r++) {
      const PetscScalar v[] = {c->dl[r], c->d[r], c->du[r]};

      for (PetscInt j = r > c->start[i] ? 0 : 1; j < (r + 1 < c->start[i + 1] ? 3 : 2); j++, k++) {
        ja[k] = r + j - 1;
        a[k]  = v[j];
      }
      ia[r + 1] = (PetscInt)k;
    }
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, c->n, c->n, c->n, c->n));
  PetscCall(MatSetType(A, MATSEQAIJCUSPARSE));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, ia, ja, a));
  PetscCall(PetscFree3(ia, ja, a));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecGetArrayWrite(b, &va));
  PetscCall(PetscArraycpy(va, c->b, c->n));
  PetscCall(VecRestoreArrayWrite(b, &va));
  PetscCall(MatMult(A, b, x)); /* the matrix is where it will be used */
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TimeSpike(PETSC_COMM_SELF, A, pc, b, x, (int)run->repeat, 20, &first, setup, apply));
  line->ms[TIME_SETUP] = Median((int)run->repeat, setup);
  line->ms[TIME_APPLY] = Median((int)run->repeat, apply);
  if (run->repeat % 2) PetscCall(VecScale(x, -1.0)); /* values have changed their sign repeat + 2 times */
  PetscCall(VecGetArray(x, &va));
  line->error = CaseError(c, va);
  PetscCall(VecRestoreArray(x, &va));
  PetscCall(PCSpikeGetInfo(pc, &info));
  PetscCall(PetscSNPrintf(line->how, sizeof(line->how), "first setup %.1f ms, %" PetscInt_FMT " partitions", first,
                          info.partitions));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- A case ---- */

static PetscErrorCode PrintLine(const char backend[], const Line *line, const double best[2], double floor)
{
  const double once  = PetscMin(line->ms[TIME_ONCE],
                               isnan(line->graph[TIME_ONCE]) ? line->ms[TIME_ONCE] : line->graph[TIME_ONCE]),
               apply = PetscMin(line->ms[TIME_APPLY],
                                isnan(line->graph[TIME_APPLY]) ? line->ms[TIME_APPLY] : line->graph[TIME_APPLY]);

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-8s %-23s", backend, line->name));
  for (int k = 0; k < NTIMES; k++) PetscCall(PrintNumber(9, 4, line->ms[k]));
  for (int k = 0; k < NTIMES; k++) PetscCall(PrintNumber(9, 4, line->graph[k]));
  PetscCall(PrintNumber(7, 2, best[0] / line->ms[TIME_ONCE]));
  PetscCall(PrintNumber(7, 2, best[0] / line->ms[TIME_APPLY]));
  PetscCall(PrintNumber(6, 2, floor / once));
  PetscCall(PrintNumber(6, 2, floor / apply));
  PetscCall(PrintNumber(8, 2, line->error));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s\n", line->how));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceTimes(const Run *run, PetscInt nsys, PetscInt m, PetscDeviceContext dctx,
                                  cudaStream_t stream, PetscReal rate)
{
  const char *const  what[] = {"setup", "apply", "once"};
  Case               c;
  Device             dev;
  Line               ours[PETSC_STATIC_ARRAY_LENGTH(algorithms)], cusparse[NCUSPARSE], other[3];
  double             best[2], floor;
  int                count = 0;
  PetscDeviceContext before;

  PetscFunctionBeginUser;
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, TRI_DOMINANT, PETSC_FALSE, &c));
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSetCurrentContext(dctx));
  PetscCall(DeviceCreate(run, &c, stream, &dev));
  floor = 1e3 * 5.0 * c.n * sizeof(PetscScalar) / (double)rate;
  for (PetscInt k = 0; k < NALGORITHMS; k++) {
    if (!run->use[k]) continue;
    LineInit(&ours[count], algorithms[k].name);
    PetscCall(TimeOurs(&dev, &algorithms[k], &ours[count++]));
  }
  PetscCall(TimeCuSPARSE(&dev, cusparse));
  LineInit(&other[0], "transfers");
  LineInit(&other[1], "copy");
  LineInit(&other[2], "PCSPIKE");
  PetscCall(TimeTransfers(&dev, &other[0]));
  other[1].ms[TIME_APPLY] = other[1].ms[TIME_ONCE] = floor;
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n%s, %" PetscInt_FMT " x %" PetscInt_FMT " (%" PetscInt_FMT " copies)\n",
                        PrecisionName(), nsys, m, dev.copies));
  PetscCall(DeviceDestroy(&dev));
  for (int k = 0; k < 2; k++) (void)FindBest(NCUSPARSE, cusparse, TIME_ONCE, (PetscBool)k, &best[k]);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-32s %29s %29s %15s %13s %8s\n", "", "calls", "graph", "best cuSPARSE /",
                        "floor /", "error"));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-32s %9s %9s %9s %9s %9s %9s %7s %7s %6s %6s %8s\n", "", what[0], what[1],
                        what[2], what[0], what[1], what[2], what[2], what[1], what[2], what[1], "eps"));
  for (int k = 0; k < count; k++) PetscCall(PrintLine("ours", &ours[k], best, floor));
  for (int k = 0; k < NCUSPARSE; k++) PetscCall(PrintLine("cuSPARSE", &cusparse[k], best, floor));
  for (int k = 0; k < 2; k++) PetscCall(PrintLine("", &other[k], best, floor));
  for (int w = 0; w < NTIMES && count && !strcmp(ours[0].name, "auto"); w++) {
    const double ms     = isnan(ours[0].graph[w]) ? ours[0].ms[w] : ours[0].graph[w];
    double       least  = 0.0;
    const Line  *chosen = FindBest(count - 1, ours + 1, w, PETSC_TRUE, &least);

    if (chosen)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  auto, %s: %.4f ms, the best explicit choice (%s) %.4f: %s\n", what[w],
                            ms, chosen->name, least, ms <= 1.1 * least ? "within 10 %" : "NOT within 10 %"));
  }
  for (int k = 0; k < count && run->csv; k++) CSVLine(run->csv, "cuda", 1, &c, &ours[k]);
  for (int k = 0; k < NCUSPARSE && run->csv; k++) CSVLine(run->csv, "cusparse", 1, &c, &cusparse[k]);
  for (int k = 0; k < 2 && run->csv; k++) CSVLine(run->csv, "device", 1, &c, &other[k]);
  if (run->pc) {
    PetscCall(TimePC(run, &c, &other[2]));
    PetscCall(PrintLine("", &other[2], best, floor));
    if (run->csv) CSVLine(run->csv, "device", 1, &c, &other[2]);
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CRPCR by the number of rows that it leaves to PCR; the last line: the backend's own choice */
static PetscErrorCode DeviceSwitch(const Run *run, PetscInt nsys, PetscInt m, PetscDeviceContext dctx,
                                   cudaStream_t stream)
{
  Run                r = *run;
  Case               c;
  Device             dev;
  double             least = NAN;
  PetscDeviceContext before;

  PetscFunctionBeginUser;
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, TRI_DOMINANT, PETSC_FALSE, &c));
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSetCurrentContext(dctx));
  PetscCall(DeviceCreate(&r, &c, stream, &dev));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\n%s, %" PetscInt_FMT " x %" PetscInt_FMT
                        ": crpcr by its switch point: apply, once by calls; by graphs\n",
                        PrecisionName(), nsys, m));
  for (PetscInt s = 1; s <= 2048; s *= 2) {
    const PetscBool decide = (PetscBool)(s > 1024);
    Line            line;
    double          ms;

    r.switchpoint = decide ? PETSC_DECIDE : s;
    LineInit(&line, "");
    if (decide) PetscCall(PetscStrncpy(line.name, "crpcr auto", sizeof(line.name)));
    else PetscCall(PetscSNPrintf(line.name, sizeof(line.name), "crpcr %" PetscInt_FMT, s));
    for (PetscInt k = 0; k < NALGORITHMS; k++)
      if (algorithms[k].type == PC_SPIKE_TRIDIAGONAL_CRPCR) PetscCall(TimeOurs(&dev, &algorithms[k], &line));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %-12s", line.name));
    for (int k = TIME_APPLY; k <= TIME_ONCE; k++) PetscCall(PrintNumber(9, 4, line.ms[k]));
    for (int k = TIME_APPLY; k <= TIME_ONCE; k++) PetscCall(PrintNumber(9, 4, line.graph[k]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "  error %.2f\n", line.error));
    (void)FindBest(1, &line, TIME_APPLY, PETSC_TRUE, &ms);
    if (decide)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "  auto, apply: %.4f ms, the best %.4f: %s\n", ms, least,
                            ms <= 1.05 * least ? "within 5 %" : "NOT within 5 %"));
    least = isnan(least) ? ms : PetscMin(least, ms);
    if (run->csv) CSVLine(run->csv, "cuda", 1, &c, &line);
  }
  PetscCall(DeviceDestroy(&dev));
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels that the work for copy 0 launches */
static PetscErrorCode CountKernels(Device *dev, Work work, void *ctx, PetscInt *kernels)
{
  cudaGraph_t            graph;
  cudaGraphNode_t       *nodes;
  enum cudaGraphNodeType type;
  size_t                 count;

  PetscFunctionBeginUser;
  *kernels = 0;
  PetscCallCUDA(cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal));
  PetscCall((*work)(ctx, 0));
  PetscCallCUDA(cudaStreamEndCapture(dev->stream, &graph));
  PetscCallCUDA(cudaGraphGetNodes(graph, NULL, &count));
  PetscCall(PetscMalloc1(count, &nodes));
  PetscCallCUDA(cudaGraphGetNodes(graph, nodes, &count));
  for (size_t k = 0; k < count; k++) {
    PetscCallCUDA(cudaGraphNodeGetType(nodes[k], &type));
    if (type == cudaGraphNodeTypeKernel) ++*kernels;
  }
  PetscCall(PetscFree(nodes));
  PetscCallCUDA(cudaGraphDestroy(graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Setup, apply and both in one of each algorithm, once, for a profiler that is told when to look; labels: a line for
  each, with the number of kernels that the profiler then sees
*/
static PetscErrorCode DeviceProfile(const Run *run, PetscInt nsys, PetscInt m, PetscDeviceContext dctx,
                                    cudaStream_t stream, FILE *labels)
{
  const Work         works[NTIMES] = {OursSetUp, OursApply, OursOnce};
  const char *const  what[NTIMES]  = {"setup", "apply", "once"};
  Run                r             = *run;
  Case               c;
  Device             dev;
  Ours              *o;
  PetscDeviceContext before;

  PetscFunctionBeginUser;
  r.cold = 0.0;
  PetscCall(PetscNew(&o));
  PetscCall(CaseCreate(PETSC_COMM_SELF, nsys, m, 0.0, TRI_DOMINANT, PETSC_FALSE, &c));
  PetscCall(PetscDeviceContextGetCurrentContext(&before));
  PetscCall(PetscDeviceContextSetCurrentContext(dctx));
  PetscCall(DeviceCreate(&r, &c, stream, &dev));
  o->dev = &dev;
  for (PetscInt k = 0; k < NALGORITHMS; k++) {
    PetscErrorCode ierr;

    if (!run->use[k]) continue;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = SystemsCreate(&r, &c, &SpikeTridiagonalKernels_CUDA, &algorithms[k], &o->t[0]);
    if (!ierr) ierr = OnceCreate(&o->t[0], &o->once[0]);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(!ierr || ierr == PETSC_ERR_SUP, PETSC_COMM_SELF, ierr, "%s cannot be made: error %d", algorithms[k].name,
               (int)ierr);
    for (int round = 0; round < 2 && !ierr; round++) { /* the first is not looked at */
      for (int w = 0; w < NTIMES; w++) {
        PetscInt kernels = 0;

        if (round) {
          PetscCall(CountKernels(&dev, works[w], o, &kernels));
          PetscCallCUDA(cudaProfilerStart());
        }
        PetscCall((*works[w])(o, 0));
        PetscCallCUDA(cudaStreamSynchronize(stream));
        if (round) {
          PetscCallCUDA(cudaProfilerStop());
          fprintf(labels, "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%s,%" PetscInt_FMT "\n", PrecisionName(), nsys, m,
                  algorithms[k].name, what[w], kernels);
        }
      }
    }
    PetscCall(OnceDestroy(&o->once[0]));
    PetscCall((*o->t[0].k->destroy)(&o->t[0]));
  }
  PetscCall(DeviceDestroy(&dev));
  PetscCall(PetscDeviceContextSetCurrentContext(before));
  PetscCall(CaseDestroy(&c));
  PetscCall(PetscFree(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All cases. labels: for a profiler */
PetscErrorCode DeviceRun(const Run *run, DeviceWhat what, PetscInt ncases, const PetscInt systems[],
                         const PetscInt rows[], FILE *labels)
{
  struct cudaDeviceProp prop;
  PetscDeviceContext    dctx;
  cudaStream_t         *stream;
  PetscReal             rate;
  int                   driver, runtime, device;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscDeviceContextCreate(&dctx));
  PetscCall(PetscDeviceContextSetStreamType(dctx, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(dctx));
  PetscCall(PetscDeviceContextGetStreamHandle(dctx, (void **)&stream));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCallCUDA(cudaDriverGetVersion(&driver));
  PetscCallCUDA(cudaRuntimeGetVersion(&runtime));
  PetscCall(CopyRate(*stream, &rate));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "tridiagonal kernels on %s, driver for CUDA %d, runtime %d; a copy moves %.0f GB/s; ms, "
                        "medians of %" PetscInt_FMT "; floor: dl, d, du, b read and x written at that rate\n",
                        prop.name, driver, runtime, (double)rate * 1e-9, run->repeat));
  for (PetscInt k = 0; k < ncases; k++) switch (what) {
    case DEVICE_TIMES:
      PetscCall(DeviceTimes(run, systems[k], rows[k], dctx, *stream, rate));
      break;
    case DEVICE_SWITCH:
      if (systems[k] > 1) PetscCall(DeviceSwitch(run, systems[k], rows[k], dctx, *stream));
      break;
    case DEVICE_COMPONENTS:
      PetscCall(DeviceComponents(run, systems[k], rows[k], dctx, *stream));
      break;
    case DEVICE_PROFILE:
      PetscCall(DeviceProfile(run, systems[k], rows[k], dctx, *stream, labels));
      break;
    }
  PetscCall(PetscDeviceContextDestroy(&dctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}
