/* SPDX-License-Identifier: BSD-2-Clause */
/*
  blocks.c: speed of the kernels for blocks on host and device: the tables and figures of Afanasyev et al. (Procedia
  Comp. Sci. 66, 2015), against cuBLAS, cuSPARSE, BLAS and PETSc's MATBAIJ in one run
*/
static char help[] =
  "Block dot, block axpy, sparse block matrix times block, block ILU(0) and its solves, of one and of many tasks:\n\
 ms, share of the copy bandwidth, errors.\n\
On CUDA beside cuBLAS and cuSPARSE, then some of it on one core of the host; on a host beside BLAS and PETSc's\n\
 MATBAIJ, one thread.\n\
  -only <dot,axpy,mult,ilu,tasks,lutasks>  parts to run; all these by default. Each ends in a minute on a GPU, all\n\
 in four. And multtasks: products of many tasks; split: tasks of a batch split between host and device\n\
  -split               that, too\n\
  -quick               small sizes, to see that all works\n\
  -n <65536,1000000,4000000>  rows of tall blocks; 65536,1000000 without a device\n\
  -m <1,2,4,8,16,32>   their columns; of many tasks 4,8,16, of their products 1,4\n\
  -bs <4,8,16>         block sizes of sparse matrices\n\
  -edges <80,60,44>    of each block size: edge of the cube of block rows for products; 40,30,22 without a device\n\
  -lu_edges <10,40>    edges of cubes for block ILU(0); 10,20 without a device\n\
  -tasks <1,2,4,...,64>  tasks in a batch; of lutasks and multtasks also 30\n\
  -task_rows <100000>  rows of tall blocks of each task\n\
  -task_edge <10>      edge of the cube of block rows of each task\n\
  -lu_complete         ilu and lutasks: complete factors, in the natural order; lutasks also by nested dissection\n\
  -cudss <libcudss.so.1>  beside these, on CUDA: a library that is loaded at run time\n\
  -mkl <libmkl_rt.so.3>   beside these, on the host: likewise, for its PARDISO\n\
  -repeat <7>          repetitions; medians are printed\n\
  -seconds <0.2>       so long after the first repetition of one measurement none is begun\n\
  -cold <64>           MB: cases that are smaller have as many copies as make up so much, taken in turn: each call\n\
 finds its data beyond the cache; 0: one copy\n\
  -cuda_cold <400>     the same on CUDA\n\
  -cuda <true>         times on CUDA, where there is a device\n\
  -host <true>         times on the host: all cases, or, beside CUDA, some\n\
  -beside <with CUDA>  these alone\n\
  -isa <best>          base, v3, v4 or best\n\
  -csv <file>          also write the times to a file; blocks_table.py makes a table of medians of several, and\n\
 says which bars are met\n\n";

#include "../common/csvfile.h"
#include "ilu.h"
#include "mult.h"
#include "tall.h"
#include <petscspike.h>
#if defined(SPIKE_HAVE_CUDA)
  #include "cuda/cublas.h"
  #include "cuda/cusparse.h"
  #include "cuda/cusparselu.h"
  #include "cuda/device.h"
  #include "cuda/split.h"
#endif

#define NPARTS 8

typedef struct {
  PetscBool dot, axpy, mult, ilu, tasks, lutasks, multtasks, split;
} Parts;

typedef struct {
  TallPeers        tall;
  const MultPeers *mult;
  IluPeers         ilu;
} Peers;

static PetscErrorCode RunParts(Place *p, const Parts *parts, const Peers *peers)
{
  PetscFunctionBeginUser;
  if (parts->dot || parts->axpy) PetscCall(TallPart(p, parts->dot, parts->axpy, peers->tall));
  if (parts->mult) {
    PetscCall(MultPart(p, peers->mult));
    PetscCall(MultGroups(p, peers->mult, p->run->edge[0] * p->run->edge[0] * p->run->edge[0] / 4 + 1, 4));
  }
  if (parts->ilu) PetscCall(IluPart(p, peers->ilu));
  if (parts->tasks) PetscCall(TallTasks(p, peers->tall));
  if (parts->lutasks) PetscCall(IluTasks(p, peers->ilu));
  if (parts->multtasks) PetscCall(TimeMultTasks(p, peers->mult));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetList(PetscInt count, const PetscInt from[], PetscInt *n, PetscInt to[])
{
  PetscFunctionBeginUser;
  *n = count;
  PetscCall(PetscArraycpy(to, from, count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list of positive numbers, at most `most` where that is positive */
static PetscErrorCode GetList(const char option[], const char text[], PetscInt most, PetscInt *n, PetscInt list[])
{
  PetscInt  count = MAXLIST, got[MAXLIST];
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, option, got, &count, &given));
  if (!given) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < count; i++)
    PetscCheck(got[i] > 0 && (!most || got[i] <= most), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%s: %s, not %" PetscInt_FMT, option, text, got[i]);
  PetscCall(SetList(count, got, n, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetDefaults(Run *run, PetscBool cuda, PetscBool quick)
{
  const PetscInt n[] = {65536, 1000000, 4000000}, quickn[] = {4096, 65536}, m[] = {1, 2, 4, 8, 16, 32},
                 bs[] = {4, 8, 16}, tasks[] = {1, 2, 4, 8, 16, 32, 64}, tallm[] = {4, 8, 16}, multm[] = {1, 4};
  const PetscInt edge[] = {80, 60, 44}, hostedge[] = {40, 30, 22}, quickedge[] = {12, 10, 8}, lu[] = {10, 40},
                 hostlu[] = {10, 20}, quicklu[] = {6, 10};

  PetscFunctionBeginUser;
  PetscCall(SetList(quick ? 2 : (cuda ? 3 : 2), quick ? quickn : n, &run->nn, run->n));
  PetscCall(SetList(6, m, &run->nm, run->m));
  PetscCall(SetList(3, tallm, &run->ntallm, run->tallm));
  PetscCall(SetList(2, multm, &run->nmultm, run->multm));
  PetscCall(SetList(3, bs, &run->nbs, run->bs));
  PetscCall(SetList(quick ? 3 : 7, tasks, &run->ntasks, run->tasks));
  PetscCall(SetList(3, quick ? quickedge : (cuda ? edge : hostedge), &run->nedge, run->edge));
  PetscCall(SetList(2, quick ? quicklu : (cuda ? lu : hostlu), &run->nlu, run->lu));
  run->taskrows = quick ? 4096 : 100000;
  run->taskedge = quick ? 4 : 10;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paper's batch, 30, beside those of the list */
static PetscErrorCode SetBatches(Run *run)
{
  PetscBool found = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(SetList(run->ntasks, run->tasks, &run->nbatch, run->batch));
  for (PetscInt i = 0; i < run->ntasks; i++) found = (PetscBool)(found || run->tasks[i] == 30);
  if (!found) run->batch[run->nbatch++] = 30;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *isas[]  = {"base", "v3", "v4", "best"},
                    *names[] = {"dot", "axpy", "mult", "ilu", "tasks", "lutasks", "multtasks", "split"};
  Run   run;
  Parts parts = {PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE};
  const Peers hostpeers = {TallBLASLine, &multhostpeers, IluPETScLines}, somepeers = {TallBLASLine, NULL, NULL};
  Place       host;
  PetscReal   cold = 64.0, cudacold = 400.0, seconds = 0.2;
  PetscInt    isa = 3, nonly = NPARTS;
  char       *only[NPARTS], name[PETSC_MAX_PATH_LEN];
  PetscBool   cuda = PETSC_TRUE, onhost = PETSC_TRUE, quick = PETSC_FALSE, split = PETSC_FALSE, beside, given, csv;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscMemzero(&run, sizeof(run)));
  run.repeat = 7;
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Blocks", NULL);
  PetscCall(PetscOptionsStringArray("-only", "parts to run", NULL, only, &nonly, &given));
  PetscCall(PetscOptionsBool("-split", "tasks on host and device at once", NULL, split, &split, NULL));
  PetscCall(PetscOptionsBool("-lu_complete", "all fill", NULL, run.complete, &run.complete, NULL));
  PetscCall(PetscOptionsBool("-quick", "small sizes", NULL, quick, &quick, NULL));
  PetscCall(PetscOptionsRangeInt("-repeat", "repetitions", NULL, run.repeat, &run.repeat, NULL, 1, MAXREPEAT));
  PetscCall(PetscOptionsReal("-seconds", "no repetition is begun after them", NULL, seconds, &seconds, NULL));
  PetscCall(PetscOptionsReal("-cold", "MB beyond the cache", NULL, cold, &cold, NULL));
  PetscCall(PetscOptionsReal("-cuda_cold", "MB beyond the device's cache", NULL, cudacold, &cudacold, NULL));
  PetscCall(PetscOptionsBool("-cuda", "times on CUDA", NULL, cuda, &cuda, NULL));
  PetscCall(PetscOptionsBool("-host", "times on the host", NULL, onhost, &onhost, NULL));
  PetscCall(PetscOptionsEList("-isa", "instruction set", NULL, isas, 4, isas[3], &isa, NULL));
  PetscCall(PetscOptionsString("-csv", "file for the times", NULL, "", name, sizeof(name), &csv));
  PetscCall(PetscOptionsString("-cudss", "library", NULL, run.cudss, run.cudss, sizeof(run.cudss), NULL));
  PetscCall(PetscOptionsString("-mkl", "library", NULL, run.mkl, run.mkl, sizeof(run.mkl), NULL));
  PetscOptionsEnd();
  if (isa < 3)
    PetscCheck(SpikeISASet((SpikeISA)isa), PETSC_COMM_SELF, PETSC_ERR_SUP, "This processor lacks instruction set %s",
               isas[isa]);
  if (given) {
    PetscBool *const part[] = {&parts.dot,   &parts.axpy,    &parts.mult,      &parts.ilu,
                               &parts.tasks, &parts.lutasks, &parts.multtasks, &parts.split};

    for (int k = 0; k < NPARTS; k++) *part[k] = PETSC_FALSE;
    for (PetscInt i = 0; i < nonly; i++) {
      PetscBool found = PETSC_FALSE, same;

      for (int k = 0; k < NPARTS; k++) {
        PetscCall(PetscStrcasecmp(only[i], names[k], &same));
        if (same) *part[k] = found = PETSC_TRUE;
      }
      PetscCheck(found, PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE,
                 "-only %s: the parts are dot, axpy, mult, ilu, tasks, lutasks, multtasks and split", only[i]);
      PetscCall(PetscFree(only[i]));
    }
  }
  if (cuda) {
#if defined(SPIKE_HAVE_CUDA)
    int devices = 0;

    cuda = (PetscBool)(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0);
#else
    cuda = PETSC_FALSE;
#endif
  }
  if (split) parts.split = PETSC_TRUE;
  PetscCheck(cuda || !parts.split, PETSC_COMM_SELF, PETSC_ERR_SUP, "Tasks split between host and device need a device");
  beside = cuda;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-beside", &beside, NULL));
  PetscCall(SetDefaults(&run, (PetscBool)(cuda || beside), quick));
  PetscCall(GetList("-n", "rows of tall blocks are positive", 0, &run.nn, run.n));
  PetscCall(GetList("-m", "tall blocks have 1 to 32 columns", SPIKE_BLOCK_MAXM, &run.nm, run.m));
  PetscCall(GetList("-m", "tall blocks have 1 to 32 columns", SPIKE_BLOCK_MAXM, &run.ntallm, run.tallm));
  PetscCall(GetList("-m", "tall blocks have 1 to 32 columns", SPIKE_BLOCK_MAXM, &run.nmultm, run.multm));
  PetscCall(GetList("-bs", "blocks have 1 to 32 rows", SPIKE_BLOCK_MAXBS, &run.nbs, run.bs));
  PetscCall(GetList("-edges", "edges are positive", 0, &run.nedge, run.edge));
  PetscCall(GetList("-lu_edges", "edges are positive", 0, &run.nlu, run.lu));
  PetscCall(GetList("-tasks", "there are 1 to 64 tasks", 64, &run.ntasks, run.tasks));
  PetscCall(SetBatches(&run));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-task_rows", &run.taskrows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-task_edge", &run.taskedge, NULL));
  PetscCheck(run.nedge >= run.nbs, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "-edges has fewer numbers than -bs: each block size has its own");
  PetscCheck(run.taskrows > 3 && run.taskedge > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-task_rows are at least 4, -task_edge is positive");
  PetscCall(PetscBLASSetNumThreads(1));
  PetscCall(TilesCreate(&run));
  if (csv) {
    PetscCall(BenchCSVOpen(name,
                           "part,op,solver,place,precision,layout,bs,n,m,tasks,ms,graph_ms,bytes,copy_gbs,error,"
                           "operations,note",
                           &run.csv));
  }
  PetscCall(HostPlaceCreate(&run, cold, seconds, &host));
  host.beside = beside;
#if defined(SPIKE_HAVE_CUDA)
  if (cuda) {
    const Peers peers = {TallDevicePeers, &multdevicepeers, IluDevicePeers};
    Place       device;

    PetscCall(DevicePlaceCreate(&run, cudacold, seconds, &device));
    PetscCall(RunParts(&device, &parts, &peers));
    if (parts.split) PetscCall(SplitPart(&device, &host));
    PetscCall(DevicePlaceDestroy(&device));
  }
#endif
  if (onhost) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "\nblock kernels '%s' on one core, BLAS with one thread; medians of %" PetscInt_FMT "\n",
                          SpikeBandGetOps(PETSC_SPIKE_PRECISION_DOUBLE)->name, run.repeat));
    PetscCall(RunParts(&host, &parts, beside ? &somepeers : &hostpeers));
  }
  PetscCall((*host.b.k->destroy)(&host.b));
  PetscCall(TilesDestroy(&run));
  PetscCall(BenchCSVClose(name, &run.csv));
  PetscCall(PetscFinalize());
  return 0;
}
