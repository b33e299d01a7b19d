/* SPDX-License-Identifier: BSD-2-Clause */
/*
  idr.c: products of KSPIDRFUSED against KSPIDR, in one run, on Poisson problems, and kernels, all against the bytes
  that they have to move
*/
static char help[] = "Fused IDR(s) against KSPIDR and against what memory allows.\n\
  -n n1,n2,...       grid points in each direction (20,50,100)\n\
  -stencil 27,7      points of the stencils\n\
  -s s1,s2,...       dimensions of the shadow space (1,2,4,8)\n\
  -pc none           preconditioner\n\
  -bench_its k       products of a solve, rounded up to whole cycles (100)\n\
  -solves k          solves; the first is shown apart, the others give their median (4)\n\
  -bench_mat_type t  aij, aijcusparse, sell, sellcuda\n\
  -dots n            rows of the table of inner products, 0 for none (1000000)\n\
  -smoothing         residual smoothing in KSPIDRFUSED; KSPIDR has none\n\
  -kernels n         each kernel for s = 1 and 8, on Poisson problems with n points in each direction (0, none)\n\
  -branches n1,...   two kernels of a step one after the other, side by side, and as one, on n^3 rows (none)\n\
  -bandwidth b       GB/s that the efficiency counts with (measured: the fastest copy of 2^24 to 2^26 values)\n\
  -csv FILE          the same, in a file\n\
Times are medians.\n\n";

#include <petscblaslapack.h>
#include "common/csvfile.h"
#include "common/idrtime.h"

/* A vector of n like those of A */
static PetscErrorCode CreateVector(Mat A, PetscInt n, Vec *x)
{
  Vec     like;
  VecType type;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &like, NULL));
  PetscCall(VecGetType(like, &type));
  PetscCall(VecCreate(PETSC_COMM_SELF, x));
  PetscCall(VecSetSizes(*x, n, n));
  PetscCall(VecSetType(*x, type));
  PetscCall(VecDestroy(&like));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* count of them, all different */
static PetscErrorCode CreateVectors(Mat A, PetscInt n, PetscInt count, Vec x[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    PetscCall(CreateVector(A, n, &x[k]));
    PetscCall(VecSet(x[k], 1.0 / (k + 1)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A state of the backend for vectors of this kind; state->k is NULL where there is none */
static PetscErrorCode CreateState(PetscMemType memtype, PetscBool ondevice, PetscInt s, SpikeKrylov *state)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(state, sizeof(*state)));
  state->k        = SpikeKrylovKernelsFind(memtype);
  state->ondevice = (PetscBool)(ondevice && PetscMemTypeCUDA(memtype));
  if (!state->k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*state->k->create)(state));
  PetscCall(PetscMemzero(state->scalars, sizeof(*state->scalars)));
  PetscCall((*state->k->push)(state, PETSC_FALSE));
  PetscCall((*state->k->basiscreate)(state, s, SpikeIDRSize(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Seconds of A^T y by the BLAS of the device, or of the host, with s columns that follow one another, until the host has
  the result, as ours in page-locked memory; 0 where there is no such BLAS
*/
static PetscErrorCode TimeGemv(PetscInt n, PetscInt s, PetscMemType memtype, const PetscScalar *A, const PetscScalar *y,
                               PetscScalar *result, PetscReal *median)
{
  int (*create)(void **) = NULL, (*destroy)(void *) = NULL, (*copy)(void *, const void *, size_t, int) = NULL;
  int (*lock)(void **, size_t, unsigned) = NULL, (*unlock)(void *) = NULL;
  int (*gemv)(void *, int, int, int, const double *, const double *, int, const double *, int, const double *, double *,
              int)         = NULL;
  void             *handle = NULL, *sums = NULL;
  const PetscScalar one = 1.0, zero = 0.0;
  double            t[9];
  PetscBLASInt      rows, columns, inc = 1;
  PetscLogDouble    t0 = 0.0, t1 = 0.0;

  PetscFunctionBegin;
  *median = 0.0;
  PetscCall(PetscBLASIntCast(n, &rows));
  PetscCall(PetscBLASIntCast(s, &columns));
  if (PetscMemTypeCUDA(memtype)) {
    if (PetscDefined(USE_COMPLEX) || !PetscDefined(USE_REAL_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
    if (!FindSymbol(RTLD_DEFAULT, "cublasCreate_v2", &create) ||
        !FindSymbol(RTLD_DEFAULT, "cublasDestroy_v2", &destroy) || !FindSymbol(RTLD_DEFAULT, "cudaMemcpy", &copy) ||
        !FindSymbol(RTLD_DEFAULT, "cublasDgemv_v2", &gemv) || !FindSymbol(RTLD_DEFAULT, "cudaHostAlloc", &lock) ||
        !FindSymbol(RTLD_DEFAULT, "cudaFreeHost", &unlock))
      PetscFunctionReturn(PETSC_SUCCESS);
    PetscCheck(!lock(&sums, (size_t)s * sizeof(PetscScalar), 0), PETSC_COMM_SELF, PETSC_ERR_LIB,
               "cudaHostAlloc() fails");
    PetscCheck(!create(&handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  }
  for (int k = -1; k < 9; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    if (handle) {
      PetscCheck(!gemv(handle, 1, (int)rows, (int)columns, (const double *)&one, (const double *)A, (int)rows,
                       (const double *)y, 1, (const double *)&zero, (double *)result, 1),
                 PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
      PetscCheck(!copy(sums, result, (size_t)s * sizeof(PetscScalar), 2), PETSC_COMM_SELF, PETSC_ERR_LIB,
                 "cudaMemcpy() fails");
    } else PetscCallBLAS("BLASgemv", BLASgemv_("C", &rows, &columns, &one, A, &rows, y, &inc, &zero, result, &inc));
    PetscCall(PetscTime(&t1));
    if (k >= 0) t[k] = t1 - t0;
  }
  *median = (PetscReal)Median(9, t);
  if (handle) PetscCheck(!destroy(handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cuBLAS fails");
  if (sums) PetscCheck(!unlock(sums), PETSC_COMM_SELF, PETSC_ERR_LIB, "cudaFreeHost() fails");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s inner products at once, against VecMDot() and gemv of BLAS: the paper's Figure 1. Ours have y.y besides */
static PetscErrorCode TimeDots(Mat A, PetscInt n, PetscReal bandwidth, FILE *csv)
{
  const SpikeIDRRecurrence none = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0};
  Vec                      v[33], all;
  PetscScalar             *arrays[32], *block, *y, sums[40];
  SpikeKrylov              state;
  PetscMemType             memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(CreateVector(A, 32 * n, &all)); /* the columns as one block */
  PetscCall(VecSet(all, 0.5));
  PetscCall(CreateVector(A, n, &v[32]));
  PetscCall(VecSet(v[32], 1.0 / 33.0));
  PetscCall(VecGetArrayAndMemType(all, &block, &memtype));
  for (PetscInt k = 0; k < 32; k++) {
    PetscCall(VecDuplicate(v[32], &v[k]));
    PetscCall(VecSet(v[k], 1.0 / (k + 1)));
  }
  PetscCall(CreateState(memtype, PETSC_FALSE, 32, &state));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\ns inner products of %" PetscInt_FMT
                        " rows, ms, the host waits for them; ratio: VecMDot / ours\n%3s %9s %9s %9s %9s %6s %10s\n",
                        n, "s", "VecMDot", "gemv", "ours", "roofline", "ratio", "efficiency"));
  for (PetscInt s = 1; state.k && s <= 32; s = s < 8 ? s + 1 : s + 4) {
    const SpikeKrylovBasis b     = {n, 0, s, arrays, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    SpikeKrylovBasis       dots  = b;
    const PetscReal        bytes = sizeof(PetscScalar) * (s + 1.0) * n;
    PetscReal              median[2], gemv;
    double                 t[10];
    PetscLogDouble         t0, t1;

    for (PetscInt k = 0; k < 33; k++) PetscCall(VecGetArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y, &memtype));
    dots.y = y;
    for (PetscInt k = 0; k < 10; k++) {
      PetscCall((*state.k->basisstep)(&state, SPIKE_KRYLOV_DOTS, &dots, NULL, &none));
      PetscCall((*state.k->basissums)(&state, s + 1, sums));
      PetscCall(PetscTime(&t0));
      PetscCall((*state.k->basisstep)(&state, SPIKE_KRYLOV_DOTS, &dots, NULL, &none));
      PetscCall((*state.k->basissums)(&state, s + 1, sums));
      PetscCall(PetscTime(&t1));
      t[k] = t1 - t0;
    }
    median[1] = (PetscReal)Median(10, t);
    PetscCall(TimeGemv(n, s, memtype, block, y, arrays[0], &gemv));
    for (PetscInt k = 0; k < 33; k++) PetscCall(VecRestoreArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y));
    for (PetscInt k = 0; k < 10; k++) {
      PetscCall(VecMDot(v[32], s, v, sums));
      PetscCall(PetscTime(&t0));
      PetscCall(VecMDot(v[32], s, v, sums));
      PetscCall(PetscTime(&t1));
      t[k] = t1 - t0;
    }
    median[0] = (PetscReal)Median(10, t);
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%3" PetscInt_FMT " %9.4f %9.4f %9.4f %9.4f %6.2f %10.2f\n", s,
                          (double)(1e3 * median[0]), (double)(1e3 * gemv), (double)(1e3 * median[1]),
                          (double)(1e3 * bytes / bandwidth), (double)(median[0] / median[1]),
                          (double)(bytes / bandwidth / median[1])));
    if (csv)
      fprintf(csv, "dots,%ld,,%ld,%s,%.6g,%.6g,%.6g,\n", (long)n, (long)s, state.k->name, (double)median[0],
              (double)median[1], (double)gemv);
  }
  if (state.k) PetscCall((*state.k->destroy)(&state));
  PetscCall(VecRestoreArrayAndMemType(all, &block));
  for (PetscInt k = 0; k < 33; k++) PetscCall(VecDestroy(&v[k]));
  PetscCall(VecDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Kernels
  --------------------------------------------------------------------------------------------------------------
*/
typedef struct {
  const char          *name;
  SpikeKrylovBasisStep step;       /* SPIKE_KRYLOV_NBASISSTEPS: a product, with m > 0 and DOTS over m columns */
  PetscInt             m, m2;      /* columns; of a COMBINE after it, or -1 */
  PetscBool            z, q, over; /* over: y is r */
  PetscReal            words;      /* a row */
} Kernel;

/* Places in v[], after eight columns each of A and B */
enum {
  X = 16,
  Y,
  Z,
  VR,
  VQ,
  VP,
  NEXT,
  NVECTORS
};

/* Seconds of one of many that are enqueued one after the other; factors are 0, and vectors stay what they are */
static PetscErrorCode TimeKernel(SpikeKrylov *state, const void *copy, Mat A, Vec vecs[], PetscScalar *v[], PetscInt n,
                                 const Kernel *k, PetscReal *median)
{
  const SpikeIDRRecurrence none    = {SPIKE_IDR_PROJECT, 1, 0, 0, 0, 0.0};
  const PetscScalar       *zero    = state->small;
  const SpikeKrylovBasis   combine = {n,    0,     PetscMax(0, k->m2),
                                      v,    v + 8, zero,
                                      zero, NULL,  v[NEXT],
                                      NULL, v[VR], NULL,
                                      NULL, NULL};
  SpikeKrylovBasis         b =
    {n, 0, k->m, v, v + 8, zero, zero, v[X], v[Y], v[Z], v[VR], k->q ? v[VQ] : NULL, k->q ? v[VP] : NULL, zero};
  double         t[5];
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBegin;
  if (k->step == SPIKE_KRYLOV_DOTS || k->step == SPIKE_KRYLOV_NBASISSTEPS) {
    b.x = b.r = NULL;
    if (!k->z) b.z = NULL;
  } else if (k->over) b.y = b.r;
  for (int i = -1; i < 5; i++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int j = 0; j < 20; j++) {
      if (k->step < SPIKE_KRYLOV_NBASISSTEPS)
        PetscCall((*state->k->basisstep)(state, k->step, &b, k->m2 < 0 ? NULL : &combine,
                                         k->step == SPIKE_KRYLOV_COMBINE ? NULL : &none));
      else if (!copy) PetscCall(MatMult(A, vecs[X], vecs[Y]));
      else if (k->m) PetscCall((*state->k->basismult)(state, copy, v[X], &b, &none));
      else PetscCall((*state->k->mult)(state, copy, SPIKE_KRYLOV_NSTEPS, NULL, v[X], v[Y], NULL));
    }
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (i >= 0) t[i] = (t1 - t0) / 20;
  }
  *median = (PetscReal)Median(5, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Kernels of a cycle against the words that they move, on n^3 rows, with the matrix of a Poisson problem */
static PetscErrorCode KernelTable(const char type[], PetscInt points, PetscInt stencil, PetscReal bandwidth, FILE *csv)
{
  const PetscInt n = points * points * points;
  Mat            A;
  MatInfo        matinfo;
  Vec            vecs[NVECTORS];
  PetscScalar   *v[NVECTORS];
  PetscMemType   memtype = PETSC_MEMTYPE_HOST;
  SpikeCSR       piece;

  PetscFunctionBegin;
  PetscCall(Poisson(points, stencil, type, &A));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
  PetscCall(CreateVectors(A, n, NVECTORS, vecs));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\nKernels on %" PetscInt_FMT " rows, %" PetscInt_FMT
                        " points, one after the other: microseconds, words a row, and their bytes at %.0f GB/s over "
                        "the time\n%3s %-18s %9s %6s %10s\n",
                        n, stencil, (double)(1e-9 * bandwidth), "s", "kernel", "us", "words", "efficiency"));
  for (PetscInt s = 1; s <= 8; s += 7) {
    const Kernel kernels[] =
      {{"product", SPIKE_KRYLOV_NBASISSTEPS, 0, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 2.0},
       {"product, dots", SPIKE_KRYLOV_NBASISSTEPS, s, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, s + 2.0},
       {"dots", SPIKE_KRYLOV_DOTS, s, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, s + 1.0},
       {"dots of omega", SPIKE_KRYLOV_DOTS, s, -1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, s + 2.0},
       {"combine", SPIKE_KRYLOV_COMBINE, s, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 2.0 * s + 2.0},
       {"update, first", SPIKE_KRYLOV_UPDATE, 0, s - 1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 2.0 * s + 5.0},
       {"update, last", SPIKE_KRYLOV_UPDATE, s - 1, -1, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE,
        s > 1 ? 2.0 * s + 6.0 : 6.0},
       {"update of omega", SPIKE_KRYLOV_UPDATE, 0, s, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE, 2.0 * s + 6.0},
       {"the same, smoothing", SPIKE_KRYLOV_UPDATE, 0, s, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, 2.0 * s + 10.0},
       {"smoothing alone", SPIKE_KRYLOV_SMOOTH, 0, -1, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, 6.0}};
    SpikeKrylov state;
    void       *copy   = NULL;
    PetscReal   matrix = (sizeof(PetscScalar) + sizeof(int)) * matinfo.nz_used;

    for (PetscInt k = 0; k < NVECTORS; k++) PetscCall(VecGetArrayAndMemType(vecs[k], &v[k], &memtype));
    PetscCall(CreateState(memtype, PETSC_TRUE, 8, &state));
    if (state.k && state.k->basismult) {
      PetscBool known;

      PetscCall(KSPFusedIsKnown(A, memtype, &known));
      if (known) {
        SpikeKrylovCSR csr;

        PetscCall(KSPFusedGetCSR(A, memtype, &csr, &piece));
        PetscCall((*state.k->copy)(&state, &csr, KSP_FUSED_SPMV_AUTO, &copy));
        PetscCall(KSPFusedRestoreCSR(A, memtype, &piece));
      }
      if (copy) matrix = (PetscReal)((const SpikeKrylovCopy *)copy)->bytes;
    }
    for (size_t k = 0; state.k && k < PETSC_STATIC_ARRAY_LENGTH(kernels); k++) {
      const PetscBool product = (PetscBool)(kernels[k].step == SPIKE_KRYLOV_NBASISSTEPS);
      PetscReal       median = 0.0, bytes = sizeof(PetscScalar) * kernels[k].words * n + (product ? matrix : 0.0);

      if (product && !copy && kernels[k].m) continue;
      if (product && !copy)
        for (PetscInt i = 0; i < NVECTORS; i++) PetscCall(VecRestoreArrayAndMemType(vecs[i], &v[i]));
      PetscCall(TimeKernel(&state, copy, A, vecs, v, n, &kernels[k], &median));
      if (product && !copy)
        for (PetscInt i = 0; i < NVECTORS; i++) PetscCall(VecGetArrayAndMemType(vecs[i], &v[i], &memtype));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%3" PetscInt_FMT " %-18s %9.2f %6.1f %10.2f\n", s, kernels[k].name,
                            (double)(1e6 * median), (double)(bytes / sizeof(PetscScalar) / n),
                            (double)(bytes / bandwidth / median)));
      if (csv)
        fprintf(csv, "kernel,%ld,%ld,%ld,%s,,%.6g,%.4g,\n", (long)n, (long)stencil, (long)s, kernels[k].name,
                (double)median, (double)(bytes / bandwidth / median));
    }
    if (copy) PetscCall((*state.k->destroycopy)(&state, &copy));
    if (state.k) PetscCall((*state.k->destroy)(&state));
    for (PetscInt k = 0; k < NVECTORS; k++) PetscCall(VecRestoreArrayAndMemType(vecs[k], &v[k]));
  }
  for (PetscInt k = 0; k < NVECTORS; k++) PetscCall(VecDestroy(&vecs[k]));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ---- Branches of a graph
  ---------------------------------------------------------------------------------------------------
*/
/*
  The functions of the CUDA runtime that fork and join streams, so that this file needs no header of it; false where
  they are not there
*/
typedef struct {
  int (*create)(void **), (*record)(void *, void *), (*await)(void *, void *, unsigned), (*destroy)(void *);
} Events;

static PetscBool FindEvents(Events *e)
{
  return (PetscBool)(FindSymbol(RTLD_DEFAULT, "cudaEventCreate", &e->create) &&
                     FindSymbol(RTLD_DEFAULT, "cudaEventRecord", &e->record) &&
                     FindSymbol(RTLD_DEFAULT, "cudaStreamWaitEvent", &e->await) &&
                     FindSymbol(RTLD_DEFAULT, "cudaEventDestroy", &e->destroy));
}

/*
  g -= G c and u -= U c, 10 times in a graph: in one kernel, in two one after the other, in two side by side. Seconds
  of one such pair
*/
static PetscErrorCode TimeBranches(SpikeKrylov state[2], const Events *events, const SpikeKrylovBasis *both, int way,
                                   PetscReal *median)
{
  SpikeKrylovBasis one[2] = {*both, *both};
  void            *graph, *begun, *fork = NULL, *join = NULL;
  double           t[9];
  PetscLogDouble   t0 = 0.0, t1 = 0.0;

  PetscFunctionBegin;
  one[0].B = NULL;
  one[0].r = one[0].y = both->z;
  one[1].A            = both->B;
  one[1].B            = NULL;
  one[1].r = one[1].y = both->y;
  one[0].z = one[1].z = NULL;
  PetscCheck(!events->create(&fork) && !events->create(&join), PETSC_COMM_SELF, PETSC_ERR_GPU, "No event");
  PetscCall((*state->k->capture)(state, PETSC_TRUE, &begun));
  for (int k = 0; k < 10; k++) {
    void *own = (*state->k->stream)(state), *other = (*state->k->stream)(state + 1);

    if (!way) PetscCall((*state->k->basisstep)(state, SPIKE_KRYLOV_UPDATE, both, NULL, NULL));
    else {
      if (way == 2)
        PetscCheck(!events->record(fork, own) && !events->await(other, fork, 0), PETSC_COMM_SELF, PETSC_ERR_GPU,
                   "No branch");
      PetscCall((*state->k->basisstep)(state, SPIKE_KRYLOV_COMBINE, &one[0], NULL, NULL));
      PetscCall((*state->k->basisstep)(state + way - 1, SPIKE_KRYLOV_COMBINE, &one[1], NULL, NULL));
      if (way == 2)
        PetscCheck(!events->record(join, other) && !events->await(own, join, 0), PETSC_COMM_SELF, PETSC_ERR_GPU,
                   "No end of a branch");
    }
  }
  PetscCall((*state->k->capture)(state, PETSC_FALSE, &graph));
  PetscCheck(graph, PETSC_COMM_SELF, PETSC_ERR_GPU, "No graph");
  for (int i = -1; i < 9; i++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int k = 0; k < 10; k++) PetscCall((*state->k->replay)(state, graph));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (i >= 0) t[i] = (t1 - t0) / 100;
  }
  *median = (PetscReal)Median(9, t);
  PetscCall((*state->k->destroygraph)(state, &graph));
  PetscCheck(!events->destroy(fork) && !events->destroy(join), PETSC_COMM_SELF, PETSC_ERR_GPU, "No event");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What the paper gains by kernels that run side by side, here of the two projections of a step, and what one kernel for
  both gains
*/
static PetscErrorCode PrintBranches(const char type[], PetscInt nsizes, const PetscInt sizes[], FILE *csv)
{
  PetscDeviceContext context, other;
  Events             events;
  Mat                A; /* says where vectors are */

  PetscFunctionBegin;
  if (!FindEvents(&events)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Poisson(8, 7, type, &A));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "\ng -= G c and u -= U c over s columns of n^3 rows, microseconds, in graphs; gain: of two "
                        "branches over two kernels in line, and of one kernel for both over the better of these\n%4s "
                        "%3s %9s %9s %9s %7s %7s\n",
                        "n", "s", "in line", "branches", "one", "gain", "gain"));
  for (PetscInt k = 0; k < nsizes; k++) {
    const PetscInt n = sizes[k] * sizes[k] * sizes[k];
    Vec            vecs[18];
    PetscScalar   *v[18];
    PetscMemType   memtype = PETSC_MEMTYPE_HOST;
    SpikeKrylov    state[2];

    PetscCall(CreateVectors(A, n, 18, vecs));
    for (PetscInt i = 0; i < 18; i++) PetscCall(VecGetArrayAndMemType(vecs[i], &v[i], &memtype));
    PetscCall(CreateState(memtype, PETSC_TRUE, 8, &state[0]));
    if (state[0].k && state[0].k->capture) {
      PetscCall(PetscDeviceContextGetCurrentContext(&context));
      PetscCall(PetscDeviceContextDuplicate(context, &other));
      PetscCall(PetscDeviceContextSetStreamType(other, PETSC_STREAM_NONBLOCKING));
      PetscCall(PetscDeviceContextSetUp(other));
      PetscCall(PetscDeviceContextSetCurrentContext(other));
      PetscCall(CreateState(memtype, PETSC_TRUE, 8, &state[1]));
      PetscCall(PetscDeviceContextSynchronize(other));
      PetscCall(PetscDeviceContextSetCurrentContext(context));
      for (PetscInt s = 2; s <= 8; s *= 2) {
        const SpikeKrylovBasis both = {n,    0,     s - 1, v,    v + 8, state[0].small, NULL,
                                       NULL, v[16], v[17], NULL, NULL,  NULL,           NULL};
        PetscReal              median[3];

        for (int way = 0; way < 3; way++) PetscCall(TimeBranches(state, &events, &both, way, &median[way]));
        PetscCall(PetscPrintf(PETSC_COMM_SELF,
                              "%4" PetscInt_FMT " %3" PetscInt_FMT " %9.2f %9.2f %9.2f %6.1f%% %6.1f%%\n", sizes[k], s,
                              (double)(1e6 * median[1]), (double)(1e6 * median[2]), (double)(1e6 * median[0]),
                              (double)(100.0 * (1.0 - median[2] / median[1])),
                              (double)(100.0 * (1.0 - median[0] / PetscMin(median[1], median[2])))));
        if (csv)
          fprintf(csv, "branches,%ld,,%ld,,%.6g,%.6g,%.6g,\n", (long)n, (long)s, (double)median[1], (double)median[2],
                  (double)median[0]);
      }
      PetscCall((*state[1].k->destroy)(&state[1]));
      PetscCall(PetscDeviceContextDestroy(&other));
    }
    if (state[0].k) PetscCall((*state[0].k->destroy)(&state[0]));
    for (PetscInt i = 0; i < 18; i++) {
      PetscCall(VecRestoreArrayAndMemType(vecs[i], &v[i]));
      PetscCall(VecDestroy(&vecs[i]));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *names[NMETHODS] = {"idr", "idrfused", "idrfused copy"};
  PetscInt sizes[16] = {20, 50, 100}, stencils[2] = {27, 7}, ss[16] = {1, 2, 4, 8}, nsizes = 16, nstencils = 2,
           nss = 16, its = 100, solves = 4, dots = 1000000, kernels = 0;
  char      type[64] = MATAIJ, pc[64] = PCNONE, file[PETSC_MAX_PATH_LEN];
  PetscReal bandwidth = 0.0;
  PetscInt  branches[8], nbranches = 8, values = 0;
  PetscBool set, branch, smoothing             = PETSC_FALSE;
  FILE     *csv = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(SpikeKSPHasType(KSPIDR, &set));
  PetscCheck(set, PETSC_COMM_SELF, PETSC_ERR_SUP, "This benchmark compares with KSPIDR, which PETSc has since 3.26");
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-stencil", stencils, &nstencils, &set));
  if (!set) nstencils = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-s", ss, &nss, &set));
  if (!set) nss = 4;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_its", &its, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dots", &dots, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bandwidth", &bandwidth, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smoothing", &smoothing, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-kernels", &kernels, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-branches", branches, &nbranches, &branch));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc", pc, sizeof(pc), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &set));
  if (set) { PetscCall(BenchCSVOpen(file, "what,n,points,s,method,first,warm,ours,paper", &csv)); }
  for (PetscInt p = 0; p < nstencils; p++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat     A;
      MatInfo matinfo;

      PetscCall(Poisson(sizes[k], stencils[p], type, &A));
      PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
      if (!p && !k) {
        if (bandwidth <= 0.0) PetscCall(MaximumBandwidth(A, &bandwidth, &values));
        else bandwidth *= 1e9;
        PetscCall(PetscPrintf(PETSC_COMM_SELF,
                              "%s, %s; ms a product, first solve and median of the others; ratio: KSPIDR / this one; "
                              "efficiency: bytes at %.0f GB/s, by our own count, of what the product reads, and by the "
                              "paper's, over the time%s\n",
                              type, pc, (double)(1e-9 * bandwidth), smoothing ? "; with smoothing" : ""));
        if (values)
          PetscCall(PetscPrintf(PETSC_COMM_SELF, "%.0f GB/s: a copy of %" PetscInt_FMT " values\n",
                                (double)(1e-9 * bandwidth), values));
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4s %3s %3s %-14s %9s %9s %6s %6s %6s\n", "n", "pts", "s", "method",
                              "first", "warm", "ratio", "ours", "paper"));
      }
      for (PetscInt i = 0; i < nss; i++) {
        PetscReal theirs = 0.0;

        for (int m = PETSC_IDR; m < NMETHODS; m++) {
          const PetscReal n = (PetscReal)sizes[k] * sizes[k] * sizes[k], s = (PetscReal)ss[i];
          PetscReal       first = 0.0, warm = 0.0, matrix = 0.0, ours, paper;
          char            what[WHATSIZE] = "";

          KSPFusedSpMVType form;

          PetscCall(Time(A, (Method)m, KSP_FUSED_SPMV_AUTO, pc, smoothing, ss[i], its, solves, &first, &warm, &matrix,
                         &form, what));
          if (m == PETSC_IDR) theirs = warm;
          if (m == FUSED_COPY && !strstr(what, "copy")) continue;
          ours = Budget(n, matrix, s, (PetscBool)(m == FUSED_COPY), (PetscBool)(m != PETSC_IDR && smoothing)) /
                 (s + 1) / bandwidth / warm;
          paper = GetRoofline(n, matinfo.nz_used, s, (PetscBool)(m != PETSC_IDR && smoothing)) / (s + 1) / bandwidth /
                  warm;
          PetscCall(PetscPrintf(PETSC_COMM_SELF,
                                "%4" PetscInt_FMT " %3" PetscInt_FMT " %3" PetscInt_FMT
                                " %-14s %9.4f %9.4f %6.2f %6.2f %6.2f  %s\n",
                                sizes[k], stencils[p], ss[i], names[m], (double)(1e3 * first), (double)(1e3 * warm),
                                (double)(theirs / warm), (double)ours, (double)paper, what));
          if (csv)
            fprintf(csv, "product,%ld,%ld,%ld,%s,%.6g,%.6g,%.4g,%.4g\n", (long)sizes[k], (long)stencils[p], (long)ss[i],
                    names[m], (double)first, (double)warm, (double)ours, (double)paper);
        }
      }
      if (dots && p == nstencils - 1 && k == nsizes - 1) PetscCall(TimeDots(A, dots, bandwidth, csv));
      PetscCall(MatDestroy(&A));
    }
  for (PetscInt p = 0; kernels && p < nstencils; p++)
    PetscCall(KernelTable(type, kernels, stencils[p], bandwidth, csv));
  if (branch) PetscCall(PrintBranches(type, nbranches, branches, csv));
  PetscCall(BenchCSVClose(file, &csv));
  PetscCall(PetscFinalize());
  return 0;
}
