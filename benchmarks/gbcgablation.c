/* SPDX-License-Identifier: BSD-2-Clause */
/*
  gbcgablation.c: the steps of Liu, Seo, Mittal and Huang (GPU-Accelerated Scalable Solver for Banded Linear Systems,
  2013) from a plain CG or BiCGStab over several ranks to an overlapped one, each on top of the one before, on MATDIA
*/
static char help
  [] = "CG or BiCGStab on the 7-point Poisson problem by diagonals, from plain messages and reductions to merged and\n\
 overlapped ones.\n\
  -n n1,n2,...       grid points in each direction (64)\n\
  -box nx,ny,nz      one box instead; ranks have layers along the last direction, messages nx x ny values. The\n\
 paper's 256 x 256 x 512 with messages of 256 x 512 is 256,512,256\n\
  -bench_ksp cg      cg, or bcgs as in the paper\n\
  -bench_pc none     preconditioner: none, or jacobi as in the paper\n\
  -bench_messages    messages and sums alone\n\
  -bench_tcp         Open MPI and NCCL by TCP, also inside of a node: a slow network\n\
  -bench_tol t1,...  instead: solves with Jacobi until the largest residual, relative to the first, is below each of\n\
 these, b coming from the host before each solve, as in the paper, with 5e-2,5e-3,5e-4\n\
  -bench_shift s     is added to the diagonal: with s > 0 an advection-diffusion equation's implicit part (0)\n\
  -weak              as many in the last direction for each rank\n\
  -bench_device      on CUDA devices: diacuda; ranks take the devices in turn\n\
  -bench_products k  products, messages or sums in a row (20; 200 with -bench_device)\n\
  -bench_its k       iterations of a solve (50)\n\
  -rounds k          rounds, in each of which all take their turn; medians are shown (7)\n\
The steps: naive (messages through pageable memory, one neighbour after the other, a product that waits for them,\n\
 KSPCG or KSPBCGS with a reduction for each sum), registered (page-locked memory; on a host the same),\n\
two phases (each rank exchanges with one neighbour at a time, all pairs at once), fused (KSPCGFUSED or\n\
 KSPBCGSFUSED, one kernel for several vector operations, as many reductions), merged (one reduction an iteration,\n\
 two for BiCGStab), overlapped (rows that need no messages meanwhile, sums in the product: MATDIA), all at once (no\n\
 phases). Gflop/s: of the iterations, additions and multiplications of all ranks. GB/s: of messages, what the busiest\n\
 rank sends.\n\
Beside them PETSc's method on MATAIJ (MATAIJCUSPARSE), and its VecScatter for the same messages. Apart: what a\n\
 product takes without messages, with them, the messages alone, and sums of one number: each rank to all others\n\
 (naive), by a tree and back, as MPI does it.\n\n";

#include <petscksp.h>
#include <petsctime.h>
#include <petscspike.h>
#include "common/finish.h"
#include "common/gbcgnode.h"
#include "common/median.h"
#include "common/array.h"
#include "kernels/band/band.h"

#define MAXROUNDS 64

typedef enum {
  WAY_NAIVE,
  WAY_REGISTERED,
  WAY_PHASES,
  NWAYS
} Way;

/* A product of A that waits for messages of its own */
typedef struct {
  Mat          A, shell;
  Way          way;
  PetscBool    silent; /* no messages */
  PetscScalar *ghost, *message;
  PetscMPIInt  n, *rank, *recv, *send; /* neighbours, ascending, and the numbers of their messages, -1 for none */
} Product;

typedef struct {
  PetscInt   n[3], products, its, rounds;
  PetscBool  device, bcgs, jacobi, messages;
  PetscReal  shift;
  Mat        A, csr;
  VecScatter scatter; /* around <- the layers beside the rank's, as MATAIJ brings them */
  Vec        x, y, around;
  Product    p[NWAYS];
  double     bytes; /* that the busiest rank sends for a product */
} Bench;

/* ghost[] of A <- x in the columns of others */
static PetscErrorCode Exchange(Product *p, const PetscScalar *x)
{
  const Mat_DIA  *a   = (const Mat_DIA *)p->A->data;
  const MatHalo  *h   = &a->halo;
  const SpikeDIA *dia = &a->dia;
  MPI_Comm        comm;

  PetscFunctionBegin;
  if (!h->active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetComm((PetscObject)p->shell, &comm));
  PetscCall((*dia->k->pack)(dia, a->runat[h->nsend], a->runs, x, h->message));
  PetscCall((*dia->k->move)(dia->stream, PETSC_FALSE, p->message, h->message,
                            (size_t)h->sendat[h->nsend] * sizeof(PetscScalar)));
  for (PetscInt k = 0; k < (p->way == WAY_PHASES ? h->nturns : p->n); k++) {
    const PetscMPIInt recv = p->way == WAY_PHASES ? h->turnrecv[k] : p->recv[k],
                      send = p->way == WAY_PHASES ? h->turnsend[k] : p->send[k];
    MPI_Request req[2]     = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    if (recv >= 0)
      PetscCallMPI(MPIU_Irecv(p->ghost + h->recvat[recv], h->recvat[recv + 1] - h->recvat[recv], MPIU_SCALAR,
                              h->recvrank[recv], 7, comm, &req[0]));
    if (send >= 0)
      PetscCallMPI(MPIU_Isend(p->message + h->sendat[send], h->sendat[send + 1] - h->sendat[send], MPIU_SCALAR,
                              h->sendrank[send], 7, comm, &req[1]));
    PetscCallMPI(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
  }
  PetscCall((*dia->k->move)(dia->stream, PETSC_TRUE, h->ghost, p->ghost, (size_t)dia->nghost * sizeof(PetscScalar)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultShell(Mat shell, Vec x, Vec y)
{
  Product           *p;
  const SpikeDIA    *dia;
  const PetscScalar *ghost;
  PetscScalar       *xa, *ya;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, &p));
  dia   = &((Mat_DIA *)p->A->data)->dia;
  ghost = ((Mat_DIA *)p->A->data)->halo.ghost;
  PetscCall(SpikeVecGetArray(x, SPIKE_READ, &xa, NULL));
  PetscCall(SpikeVecGetArray(y, SPIKE_WRITE, &ya, NULL));
  if (!p->silent) PetscCall(Exchange(p, xa));
  PetscCall((*dia->k->mult)(dia, dia->ibegin, dia->iend, xa, NULL, NULL, ya));
  PetscCall((*dia->k->mult)(dia, 0, dia->ibegin, xa, ghost, NULL, ya));
  PetscCall((*dia->k->mult)(dia, dia->iend, dia->n, xa, ghost, NULL, ya));
  PetscCall(SpikeVecRestoreArray(y, SPIKE_WRITE, &ya));
  PetscCall(SpikeVecRestoreArray(x, SPIKE_READ, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalShell(Mat shell, Vec diagonal)
{
  Product *p;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, &p));
  PetscCall(MatGetDiagonal(p->A, diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of the host for messages: page-locked, or as malloc() has it */
static PetscErrorCode GetMemory(const Product *p, PetscBool begin, PetscInt n, PetscScalar **memory)
{
  const SpikeBandKernels *k = SpikeBandKernelsFind(((Mat_DIA *)p->A->data)->dia.k->memtype);
  SpikeBand               none;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&none, sizeof(none)));
  if (p->way == WAY_NAIVE && begin) PetscCall(PetscMalloc1(n, memory));
  else if (p->way == WAY_NAIVE) PetscCall(PetscFree(*memory));
  else if (begin) PetscCall((*k->pin)(&none, (size_t)PetscMax(n, 1) * sizeof(PetscScalar), (void **)memory));
  else PetscCall((*k->unpin)(&none, (void **)memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductCreate(Mat A, Way way, Product *p)
{
  const MatHalo *h = &((Mat_DIA *)A->data)->halo;
  PetscInt       n, N;
  VecType        type;

  PetscFunctionBegin;
  p->A      = A;
  p->way    = way;
  p->silent = PETSC_FALSE;
  p->n      = 0;
  PetscCall(GetMemory(p, PETSC_TRUE, ((Mat_DIA *)A->data)->dia.nghost, &p->ghost));
  PetscCall(GetMemory(p, PETSC_TRUE, h->nsend ? h->sendat[h->nsend] : 0, &p->message));
  PetscCall(PetscMalloc3(h->nrecv + h->nsend, &p->rank, h->nrecv + h->nsend, &p->recv, h->nrecv + h->nsend, &p->send));
  for (PetscMPIInt r = 0, s = 0; r < h->nrecv || s < h->nsend; p->n++) {
    const PetscMPIInt from = r < h->nrecv ? h->recvrank[r] : PETSC_MPI_INT_MAX,
                      to   = s < h->nsend ? h->sendrank[s] : PETSC_MPI_INT_MAX;

    p->rank[p->n] = PetscMin(from, to);
    p->recv[p->n] = from <= to ? r++ : -1;
    p->send[p->n] = to <= from ? s++ : -1;
  }
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), n, n, N, N, p, &p->shell));
  PetscCall(MatShellSetVecType(p->shell, type));
  PetscCall(MatShellSetOperation(p->shell, MATOP_MULT, (PetscErrorCodeFn *)MultShell));
  PetscCall(MatShellSetOperation(p->shell, MATOP_GET_DIAGONAL, (PetscErrorCodeFn *)DiagonalShell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductDestroy(Product *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->shell));
  PetscCall(GetMemory(p, PETSC_FALSE, 0, &p->ghost));
  PetscCall(GetMemory(p, PETSC_FALSE, 0, &p->message));
  PetscCall(PetscFree3(p->rank, p->recv, p->send));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows of the rank from `first`; layers of so many rows */
static PetscErrorCode RunScatter(Bench *b, PetscInt layer, PetscInt first, PetscInt rows)
{
  PetscInt count = 0, N, *row;
  IS       is;

  PetscFunctionBegin;
  PetscCall(VecGetSize(b->x, &N));
  PetscCall(PetscMalloc1(2 * layer, &row));
  for (PetscInt k = PetscMax(first - layer, 0); k < first && rows; k++) row[count++] = k;
  for (PetscInt k = first + rows; k < PetscMin(first + rows + layer, N) && rows; k++) row[count++] = k;
  PetscCall(ISCreateGeneral(PETSC_COMM_SELF, count, row, PETSC_OWN_POINTER, &is));
  PetscCall(VecCreate(PETSC_COMM_SELF, &b->around));
  PetscCall(VecSetSizes(b->around, count, count));
  PetscCall(VecSetType(b->around, b->device ? VECSEQCUDA : VECSEQ));
  PetscCall(VecScatterCreate(b->x, is, b->around, NULL, &b->scatter));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks have layers along the last dimension */
static PetscErrorCode Poisson(Bench *b)
{
  const PetscInt nx = b->n[0], ny = b->n[1], nz = b->n[2], offset[] = {-nx * ny, -nx, -1, 0, 1, nx, nx * ny};
  PetscInt       layers = PETSC_DECIDE, all = nz, first, k = 0, rows, *ai, *aj;
  PetscScalar   *aa;
  const MatHalo *halo;
  Mat            aij;

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &layers, &all));
  PetscCallMPI(MPI_Scan(&layers, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  first -= layers;
  rows = nx * ny * layers;
  PetscCall(PetscMalloc3(rows + 1, &ai, (size_t)7 * rows, &aj, (size_t)7 * rows, &aa));
  ai[0] = 0;
  for (PetscInt r = 0; r < rows; r++) {
    const PetscInt row = first * nx * ny + r, i = row % nx, j = row / nx % ny, l = row / (nx * ny);
    const PetscInt there[] = {l > 0, j > 0, i > 0, 1, i < nx - 1, j < ny - 1, l < nz - 1};

    for (int s = 0; s < 7; s++) {
      if (!there[s]) continue;
      aj[k]   = row + offset[s];
      aa[k++] = s == 3 ? 6.0 + b->shift : -1.0;
    }
    ai[r + 1] = k;
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &aij));
  PetscCall(MatSetSizes(aij, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(aij, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(aij, ai, aj, aa));
  PetscCall(MatMPIAIJSetPreallocationCSR(aij, ai, aj, aa));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscCall(MatConvert(aij, b->device ? MATDIACUDA : MATDIA, MAT_INITIAL_MATRIX, &b->A));
  if (b->device) PetscCall(MatConvert(aij, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &aij));
  b->csr = aij;
  PetscCall(MatCreateVecs(b->A, &b->x, &b->y));
  PetscCall(VecSet(b->x, 1.0));
  PetscCall(VecSet(b->y, 1.0));
  PetscCall(RunScatter(b, nx * ny, first * nx * ny, rows));
  halo     = &((Mat_DIA *)b->A->data)->halo;
  b->bytes = halo->active && halo->nsend ? (double)halo->sendat[halo->nsend] * sizeof(PetscScalar) : 0.0;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &b->bytes, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What is timed: a product (`way` NWAYS: MATDIA's) with its messages, or without, or these alone; a sum of a vector over
  all ranks, and what of it is the reduction
*/
typedef enum {
  PART_WITH,
  PART_WITHOUT,
  PART_MESSAGES,
  PART_SCATTER,
  PART_CSR,
  PART_DOT,
  PART_EACH,
  PART_TREE,
  PART_REDUCTION
} What;

/* *sum <- its sum over all ranks: each sends its own to all others and adds up */
static PetscErrorCode SumEach(PetscScalar *sum)
{
  const PetscScalar own = *sum;
  PetscMPIInt       size, rank;
  PetscScalar      *theirs;
  MPI_Request      *req;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc2(size, &theirs, 2 * size, &req));
  for (PetscMPIInt r = 0; r < size; r++) {
    req[2 * r] = req[2 * r + 1] = MPI_REQUEST_NULL;
    if (r == rank) continue;
    PetscCallMPI(MPIU_Irecv(&theirs[r], 1, MPIU_SCALAR, r, 8, PETSC_COMM_WORLD, &req[2 * r]));
    PetscCallMPI(MPIU_Isend(&own, 1, MPIU_SCALAR, r, 8, PETSC_COMM_WORLD, &req[2 * r + 1]));
  }
  PetscCallMPI(MPI_Waitall(2 * size, req, MPI_STATUSES_IGNORE));
  *sum = 0.0;
  for (PetscMPIInt r = 0; r < size; r++) *sum += r == rank ? own : theirs[r];
  PetscCall(PetscFree2(theirs, req));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by a binary tree to rank 0, and back (figure 5 of the paper): 2 (size - 1) messages */
static PetscErrorCode SumTree(PetscScalar *sum)
{
  PetscMPIInt size, rank, step = 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (; step < size && rank % (2 * step) == 0; step *= 2) {
    PetscScalar other = 0.0;

    if (rank + step < size)
      PetscCallMPI(MPIU_Recv(&other, 1, MPIU_SCALAR, rank + step, 9, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
    *sum += other;
  }
  if (step < size) { /* rank % (2 step) is step: its sum goes up, the whole one comes back */
    PetscCallMPI(MPIU_Send(sum, 1, MPIU_SCALAR, rank - step, 9, PETSC_COMM_WORLD));
    PetscCallMPI(MPIU_Recv(sum, 1, MPIU_SCALAR, rank - step, 9, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  for (step /= 2; step; step /= 2)
    if (rank + step < size) PetscCallMPI(MPIU_Send(sum, 1, MPIU_SCALAR, rank + step, 9, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Repeat(Bench *b, What what, PetscInt way, MatDIAScheduleType schedule, double *ms)
{
  PetscLogDouble t0, t1;
  PetscScalar   *xa;

  PetscFunctionBegin;
  PetscCall(MatDIASetSchedule(b->A, schedule));
  PetscCall(Wait(PETSC_COMM_WORLD, &t0));
  for (PetscInt k = 0; k < b->products; k++) {
    if (what == PART_WITH) PetscCall(MatMult(way < NWAYS ? b->p[way].shell : b->A, b->x, b->y));
    else if (what == PART_WITHOUT) {
      b->p[0].silent = PETSC_TRUE;
      PetscCall(MatMult(b->p[0].shell, b->x, b->y));
      b->p[0].silent = PETSC_FALSE;
    } else if (what == PART_MESSAGES) {
      PetscCall(SpikeVecGetArray(b->x, SPIKE_READ, &xa, NULL));
      if (way < NWAYS) PetscCall(Exchange(&b->p[way], xa));
      else {
        PetscCall(MatDIAHaloBegin_Private(b->A, xa));
        PetscCall(MatDIAHaloEnd_Private(b->A));
      }
      PetscCall(SpikeVecRestoreArray(b->x, SPIKE_READ, &xa));
    } else if (what == PART_SCATTER) {
      PetscCall(VecScatterBegin(b->scatter, b->x, b->around, INSERT_VALUES, SCATTER_FORWARD));
      PetscCall(VecScatterEnd(b->scatter, b->x, b->around, INSERT_VALUES, SCATTER_FORWARD));
    } else if (what == PART_CSR) PetscCall(MatMult(b->csr, b->x, b->y));
    else if (what == PART_DOT) {
      PetscScalar dot;

      PetscCall(VecDot(b->x, b->y, &dot));
    } else {
      PetscScalar sum = 1.0;
      PetscMPIInt size;

      PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
      if (what == PART_EACH) PetscCall(SumEach(&sum));
      else if (what == PART_TREE) PetscCall(SumTree(&sum));
      else PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
      PetscCheck(sum == (PetscScalar)(PetscReal)size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A sum of ones is %g",
                 (double)PetscRealPart(sum));
    }
  }
  PetscCall(Wait(PETSC_COMM_WORLD, &t1));
  *ms = 1e3 * (double)(t1 - t0) / b->products;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Operations of an iteration on this grid: a product has a multiplication for each entry, and an addition for each but
  one of a row; with Jacobi a multiplication a row more. For a row CG has 10 in p, x, r and two sums, BiCGStab 22 in p
  (4), s (2), x (4), r (2) and five sums
*/
static double Operations(const Bench *b, PetscBool jacobi)
{
  const double n     = (double)b->n[0] * (double)b->n[1] * (double)b->n[2],
               faces = (double)b->n[0] * (double)b->n[1] + (double)b->n[1] * (double)b->n[2] +
                       (double)b->n[2] * (double)b->n[0],
               product = 2.0 * (7.0 * n - 2.0 * faces) - n;

  return (b->bcgs ? 2.0 : 1.0) * (product + (jacobi ? n : 0.0)) + (b->bcgs ? 22.0 : 10.0) * n;
}

/* first > 0: an iteration, with its ratio to that time and Gflop/s; bytes > 0: of messages */
static PetscErrorCode Show(const Bench *b, const char what[], const char how[], double t[], double first, double bytes)
{
  const double ms = Median((int)b->rounds, t);
  char         size[48];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT, b->n[0], b->n[1], b->n[2]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %-24s %-24s %9.4f", size, what, how, ms));
  if (first > 0.0)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %6.2f %8.1f", first / ms, 1e-6 * Operations(b, b->jacobi) / ms));
  if (bytes > 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %24.2f", 1e-6 * bytes / ms));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsProduct(What what)
{
  return (PetscBool)(what == PART_WITH || what == PART_WITHOUT || what == PART_CSR);
}

/* Where the time of an iteration goes */
static PetscErrorCode TimeParts(Bench *b)
{
  static const struct {
    What               what;
    PetscInt           way;
    MatDIAScheduleType schedule;
    const char        *text, *how;
  } parts[] = {{PART_WITHOUT, 0, MAT_DIA_SCHEDULE_OVERLAP, "product, no messages", ""},
               {PART_MESSAGES, WAY_NAIVE, MAT_DIA_SCHEDULE_OVERLAP, "messages", "naive"},
               {PART_MESSAGES, WAY_REGISTERED, MAT_DIA_SCHEDULE_OVERLAP, "messages", "registered"},
               {PART_MESSAGES, WAY_PHASES, MAT_DIA_SCHEDULE_OVERLAP, "messages", "two phases"},
               {PART_MESSAGES, NWAYS, MAT_DIA_SCHEDULE_TWOPHASE, "messages", "MATDIA, two phases"},
               {PART_MESSAGES, NWAYS, MAT_DIA_SCHEDULE_OVERLAP, "messages", "MATDIA, all at once"},
               {PART_SCATTER, 0, MAT_DIA_SCHEDULE_OVERLAP, "messages", "VecScatter"},
               {PART_WITH, WAY_NAIVE, MAT_DIA_SCHEDULE_OVERLAP, "product", "naive"},
               {PART_WITH, WAY_REGISTERED, MAT_DIA_SCHEDULE_OVERLAP, "product", "registered"},
               {PART_WITH, WAY_PHASES, MAT_DIA_SCHEDULE_OVERLAP, "product", "two phases"},
               {PART_WITH, NWAYS, MAT_DIA_SCHEDULE_TWOPHASE, "product", "overlapped, two phases"},
               {PART_WITH, NWAYS, MAT_DIA_SCHEDULE_OVERLAP, "product", "overlapped, all at once"},
               {PART_CSR, 0, MAT_DIA_SCHEDULE_OVERLAP, "product", "PETSc, CSR"},
               {PART_DOT, 0, MAT_DIA_SCHEDULE_OVERLAP, "sum", "VecDot()"},
               {PART_EACH, 0, MAT_DIA_SCHEDULE_OVERLAP, "reduction", "naive"},
               {PART_TREE, 0, MAT_DIA_SCHEDULE_OVERLAP, "reduction", "tree"},
               {PART_REDUCTION, 0, MAT_DIA_SCHEDULE_OVERLAP, "reduction", "MPI_Allreduce()"}};
  double t[PETSC_STATIC_ARRAY_LENGTH(parts)][MAXROUNDS];

  PetscFunctionBegin;
  for (PetscInt r = -1; r < b->rounds; r++)
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parts); k++)
      if (!b->messages || !IsProduct(parts[k].what))
        PetscCall(Repeat(b, parts[k].what, parts[k].way, parts[k].schedule, &t[k][PetscMax(r, 0)]));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(parts); k++)
    if (!b->messages || !IsProduct(parts[k].what))
      PetscCall(Show(b, parts[k].text, parts[k].how, t[k], 0.0,
                     parts[k].what == PART_MESSAGES || parts[k].what == PART_SCATTER ? b->bytes : 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PETSCS (NWAYS + 1) /* a way of Steps(): PETSc's own product */

/* Iterations, each step on top of the one before, and PETSc's; all solve the same system */
static PetscErrorCode TimeSteps(Bench *b)
{
  static const struct {
    PetscInt           way;
    PetscBool          fused, merged;
    MatDIAScheduleType schedule;
    const char        *text;
  } steps[]             = {{WAY_NAIVE, PETSC_FALSE, PETSC_FALSE, MAT_DIA_SCHEDULE_OVERLAP, "naive"},
                           {WAY_REGISTERED, PETSC_FALSE, PETSC_FALSE, MAT_DIA_SCHEDULE_OVERLAP, "+ registered"},
                           {WAY_PHASES, PETSC_FALSE, PETSC_FALSE, MAT_DIA_SCHEDULE_OVERLAP, "+ two phases"},
                           {WAY_PHASES, PETSC_TRUE, PETSC_FALSE, MAT_DIA_SCHEDULE_OVERLAP, "+ fused"},
                           {WAY_PHASES, PETSC_TRUE, PETSC_TRUE, MAT_DIA_SCHEDULE_OVERLAP, "+ merged reductions"},
                           {NWAYS, PETSC_TRUE, PETSC_TRUE, MAT_DIA_SCHEDULE_TWOPHASE, "+ overlapped"},
                           {NWAYS, PETSC_TRUE, PETSC_TRUE, MAT_DIA_SCHEDULE_OVERLAP, "+ all at once"},
                           {PETSCS, PETSC_FALSE, PETSC_FALSE, MAT_DIA_SCHEDULE_OVERLAP, "PETSc, CSR"}};
  const PetscInt  count = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(steps);
  const PetscReal near  = PetscDefined(USE_REAL_SINGLE) ? 1e-3 : 1e-6;
  KSP             ksp[PETSC_STATIC_ARRAY_LENGTH(steps)];
  double          t[PETSC_STATIC_ARRAY_LENGTH(steps)][MAXROUNDS], first = 0.0;
  PetscReal       norm[PETSC_STATIC_ARRAY_LENGTH(steps)];
  Vec             x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b->x, &x));
  for (PetscInt k = 0; k < count; k++) {
    const Mat A = steps[k].way < NWAYS ? b->p[steps[k].way].shell : (steps[k].way == PETSCS ? b->csr : b->A);
    PC        pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    if (steps[k].fused) PetscCall(KSPSetType(ksp[k], b->bcgs ? KSPBCGSFUSED : KSPCGFUSED));
    else PetscCall(KSPSetType(ksp[k], b->bcgs ? KSPBCGS : KSPCG));
    PetscCall(KSPSetOperators(ksp[k], A, A));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, b->jacobi ? PCJACOBI : PCNONE));
    PetscCall(KSPSetPCSide(ksp[k], PC_LEFT)); /* PETSc's default: the same for all */
    PetscCall(
      KSPFusedSetReductions(ksp[k], steps[k].merged ? KSP_FUSED_REDUCTIONS_MERGED : KSP_FUSED_REDUCTIONS_PLAIN));
    PetscCall(KSPSetTolerances(ksp[k], 0.0, 0.0, PETSC_MAX_REAL, b->its));
    PetscCall(KSPSetConvergenceTest(ksp[k], KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetUp(ksp[k]));
  }
  PetscCall(VecSet(b->y, 1.0));
  for (PetscInt r = -1; r < b->rounds; r++)
    for (PetscInt k = 0; k < count; k++) {
      PetscLogDouble t0, t1;
      PetscInt       done;

      PetscCall(MatDIASetSchedule(b->A, steps[k].schedule));
      /* Iterates far from the solution differ by rounding, those of BiCGStab most: a short first round is compared */
      PetscCall(KSPSetTolerances(ksp[k], 0.0, 0.0, PETSC_MAX_REAL, r < 0 ? PetscMin(b->its, 10) : b->its));
      PetscCall(Wait(PETSC_COMM_WORLD, &t0));
      PetscCall(KSPSolve(ksp[k], b->y, x));
      PetscCall(Wait(PETSC_COMM_WORLD, &t1));
      PetscCall(KSPGetIterationNumber(ksp[k], &done));
      t[k][PetscMax(r, 0)] = 1e3 * (double)(t1 - t0) / PetscMax(done, 1);
      PetscCall(VecNorm(x, NORM_2, &norm[k]));
      PetscCheck(PetscIsNormalReal(norm[k]) && (r >= 0 || PetscAbsReal(norm[k] - norm[0]) <= near * norm[0]),
                 PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: another solution, of norm %g, not %g", steps[k].text,
                 (double)norm[k], (double)norm[0]);
    }
  for (PetscInt k = 0; k < count; k++) {
    if (!k) first = Median((int)b->rounds, t[0]);
    PetscCall(Show(b, "iteration", steps[k].text, t[k], first, 0.0));
    PetscCall(KSPDestroy(&ksp[k]));
  }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Figure 9 of the paper: the time of an iteration by the precision that is asked for. Before each solve b comes from the
  host, as from a flow solver there; values of the matrix stay. PETSc's method makes as many iterations on its own
  matrix. Residual: of b - A x, the largest over that of b
*/
static PetscErrorCode Precisions(Bench *b, PetscInt count, const PetscReal tol[])
{
  KSP      ksp[2];
  Vec      x, truth;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b->x, &x));
  PetscCall(VecDuplicate(b->x, &truth));
  PetscCall(VecGetLocalSize(x, &n));
  for (int who = 0; who < 2; who++) {
    PC pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[who]));
    if (who) PetscCall(KSPSetType(ksp[who], b->bcgs ? KSPBCGS : KSPCG));
    else PetscCall(KSPSetType(ksp[who], b->bcgs ? KSPBCGSFUSED : KSPCGFUSED));
    PetscCall(KSPSetOperators(ksp[who], who ? b->csr : b->A, who ? b->csr : b->A));
    PetscCall(KSPGetPC(ksp[who], &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(KSPSetConvergenceTest(ksp[who], who ? KSPConvergedSkip : KSPFusedConvergedInfinity, NULL, NULL));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %10s %6s %12s %12s %9s %12s %9s\n", "grid", "tolerance", "its",
                        "ms a solve", "ms an it.", "Gflop/s", "PETSc's", "residual"));
  for (PetscInt k = 0; k < count; k++) {
    double    t[2][MAXROUNDS], ms[2];
    PetscInt  its       = 0;
    PetscBool converged = PETSC_TRUE;
    PetscReal residual = 0.0, norm = 0.0;
    char      size[48];

    for (int who = 0; who < 2; who++) {
      PetscCall(KSPSetTolerances(ksp[who], tol[k], 0.0, PETSC_CURRENT, who ? PetscMax(its, 1) : 10000));
      for (PetscInt r = -1; r < b->rounds; r++) {
        PetscScalar       *host;
        PetscLogDouble     t0, t1;
        KSPConvergedReason reason;

        PetscCall(VecGetArrayWrite(b->y, &host)); /* new on the host: the solve brings it to the device */
        for (PetscInt i = 0; i < n; i++) host[i] = (PetscReal)((i % 1000) * 7919 % 1000) / 1000.0 - 0.5;
        PetscCall(VecRestoreArrayWrite(b->y, &host));
        PetscCall(Wait(PETSC_COMM_WORLD, &t0));
        PetscCall(KSPSolve(ksp[who], b->y, x));
        PetscCall(Wait(PETSC_COMM_WORLD, &t1));
        t[who][PetscMax(r, 0)] = 1e3 * (double)(t1 - t0);
        if (who) continue;
        PetscCall(KSPGetIterationNumber(ksp[who], &its));
        PetscCall(KSPGetConvergedReason(ksp[who], &reason));
        if (reason < 0) converged = PETSC_FALSE;
      }
      ms[who] = Median((int)b->rounds, t[who]);
      if (who) continue;
      PetscCall(MatResidual(b->A, b->y, x, truth));
      PetscCall(VecNorm(truth, NORM_INFINITY, &residual));
      PetscCall(VecNorm(b->y, NORM_INFINITY, &norm));
    }
    PetscCall(PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT, b->n[0], b->n[1],
                            b->n[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %10g %6" PetscInt_FMT " %12.4f %12.4f %9.1f %12.4f %9.2g%s\n", size,
                          (double)tol[k], its, ms[0], ms[0] / PetscMax(its, 1),
                          1e-6 * Operations(b, PETSC_TRUE) * its / ms[0], ms[1] / PetscMax(its, 1),
                          (double)(residual / norm), converged ? "" : "  not converged"));
  }
  for (int who = 0; who < 2; who++) PetscCall(KSPDestroy(&ksp[who]));
  PetscCall(VecDestroy(&truth));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Before MPI begins: Open MPI and NCCL by TCP between all ranks, also of one node. What the user has set stays
*/
static void SlowNetwork(void)
{
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self,tcp", 0);
  setenv("NCCL_P2P_DISABLE", "1", 0);
  setenv("NCCL_SHM_DISABLE", "1", 0);
  setenv("NCCL_NET", "Socket", 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

int main(int argc, char **argv)
{
  PetscInt    sizes[16] = {64}, nsizes = 16, box[3], nbox = 3, ntol = 8;
  PetscBool   set, boxed, weak = PETSC_FALSE, tcp = PETSC_FALSE;
  PetscReal   tol[8];
  PetscMPIInt size;
  Bench       b;
  char        type[16] = KSPCG, pc[16] = PCNONE;

  PetscFunctionBeginUser;
  for (int k = 1; k < argc; k++) tcp = (PetscBool)(tcp || !strcmp(argv[k], "-bench_tcp"));
  if (tcp) SlowNetwork();
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.products = 20;
  b.its      = 50;
  b.rounds   = 7;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 1;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-box", box, &nbox, &boxed));
  PetscCheck(!boxed || (nbox == 3 && box[0] > 0 && box[1] > 0 && box[2] > 0), PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-box wants three numbers above 0");
  if (boxed) nsizes = 1;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_ksp", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, KSPBCGS, &b.bcgs));
  PetscCall(PetscStrcmp(type, KSPCG, &set));
  PetscCheck(set || b.bcgs, PETSC_COMM_WORLD, PETSC_ERR_ARG_UNKNOWN_TYPE, "-bench_ksp is cg or bcgs, not %s", type);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_pc", pc, sizeof(pc), NULL));
  PetscCall(PetscStrcmp(pc, PCJACOBI, &b.jacobi));
  PetscCall(PetscStrcmp(pc, PCNONE, &set));
  PetscCheck(set || b.jacobi, PETSC_COMM_WORLD, PETSC_ERR_ARG_UNKNOWN_TYPE, "-bench_pc is none or jacobi, not %s", pc);
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bench_messages", &b.messages, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-bench_tcp", &set)); /* known; elsewhere it comes too late for MPI */
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bench_shift", &b.shift, NULL));
  PetscCheck(b.shift >= 0.0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-bench_shift is not below 0");
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-bench_tol", tol, &ntol, &set));
  if (!set) ntol = 0;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-weak", &weak, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bench_device", &b.device, NULL));
  if (b.device) b.products = 200;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_products", &b.products, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_its", &b.its, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &b.rounds, NULL));
  PetscCheck(b.rounds >= 1 && b.rounds <= MAXROUNDS, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "1 to %d rounds",
             MAXROUNDS);
  for (PetscInt k = 0; k < nsizes; k++) {
    b.n[0] = b.n[1] = sizes[k];
    b.n[2]          = weak ? sizes[k] * size : sizes[k];
    if (boxed) {
      PetscCall(PetscArraycpy(b.n, box, 3));
      if (weak) b.n[2] *= size;
    }
    PetscCall(Poisson(&b));
    if (!k) {
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ms, median; %s%s", b.jacobi ? "Jacobi; " : "",
                            tcp ? "MPI and NCCL asked to go by TCP; " : ""));
      PetscCall(NodePrint(b.A));
      if (!ntol)
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-14s %-24s %-24s %9s %6s %8s %8s\n", "grid", "what", "how", "ms",
                              "ratio", "Gflop/s", "GB/s"));
    }
    if (ntol) PetscCall(Precisions(&b, ntol, tol));
    else {
      for (PetscInt way = 0; way < NWAYS; way++) PetscCall(ProductCreate(b.A, (Way)way, &b.p[way]));
      PetscCall(TimeParts(&b));
      if (!b.messages) PetscCall(TimeSteps(&b));
      for (PetscInt way = 0; way < NWAYS; way++) PetscCall(ProductDestroy(&b.p[way]));
    }
    PetscCall(VecDestroy(&b.x));
    PetscCall(VecDestroy(&b.y));
    PetscCall(VecDestroy(&b.around));
    PetscCall(VecScatterDestroy(&b.scatter));
    PetscCall(MatDestroy(&b.csr));
    PetscCall(MatDestroy(&b.A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
