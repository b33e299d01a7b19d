/* SPDX-License-Identifier: BSD-2-Clause */
/* idr.c: products of KSPIDRFUSED against KSPIDR, in one run, on the 27- and the 7-point Poisson problem, and against the bytes that they have to move */
static char help[] = "Fused IDR(s) against KSPIDR and against what memory allows.\n\
  -n n1,n2,...       grid points in each direction (20,50,100)\n\
  -stencil 27,7      points of the stencils\n\
  -s s1,s2,...       dimensions of the shadow space (1,2,4,8)\n\
  -pc none           preconditioner\n\
  -bench_its k       products of a solve, rounded up to whole cycles (100)\n\
  -solves k          solves; the first is shown apart, the others give their best (4)\n\
  -bench_mat_type t  aij, aijcusparse, sell, sellcuda\n\
  -bandwidth b       GB/s that the efficiency counts with (measured: a copy of two vectors)\n\
  -csv FILE          the same, in a file\n\n";

#include <petscspike.h>
#include "kernels/krylov.h"
#include "poisson.h"

typedef enum {
  PETSC_IDR,
  FUSED,
  FUSED_COPY,
  NMETHODS
} Method;

/* Bytes of a cycle of s + 1 products: words of n beside the products (the comment above KSPFusedHead_IDR() counts them), entries with their columns, x and y of each product */
static PetscReal Budget(PetscReal n, PetscReal nz, PetscReal s, PetscBool epilogue)
{
  const PetscReal words = 3 * s * s + 11 * s + 5 - (epilogue ? s + 1 : 0) + 2 * (s + 1);

  return sizeof(PetscScalar) * n * words + (sizeof(PetscScalar) + sizeof(int)) * nz * (s + 1);
}

/* The same by the formula of the paper, for real numbers in double precision */
static PetscReal Roofline(PetscReal n, PetscReal nz, PetscReal s)
{
  return 8 * n * (4.5 * s * s + 27.5 * s + 22) + 12 * nz * (s + 1);
}

/* Bytes a second of a copy */
static PetscErrorCode Bandwidth(Mat A, PetscReal *rate)
{
  const PetscInt n = 1 << 24;
  Vec            like, x, y;
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &like, NULL));
  PetscCall(VecCreate(PETSC_COMM_SELF, &x));
  PetscCall(VecSetSizes(x, n, n));
  {
    VecType type;

    PetscCall(VecGetType(like, &type));
    PetscCall(VecSetType(x, type));
  }
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1.0));
  *rate = 0.0;
  for (PetscInt k = 0; k < 5; k++) {
    PetscCall(VecCopy(x, y));
    PetscCall(Finish(y));
    PetscCall(PetscTime(&t0));
    for (PetscInt i = 0; i < 10; i++) PetscCall(VecCopy(x, y));
    PetscCall(Finish(y)); /* reads y once more: half a copy */
    PetscCall(PetscTime(&t1));
    *rate = PetscMax(*rate, 10.5 * 2.0 * sizeof(PetscScalar) * n / (t1 - t0));
  }
  PetscCall(VecDestroy(&like));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds a product: of the first solve, which fills the shadow space, and the best of the others */
static PetscErrorCode Time(Mat A, Method method, PCType pctype, PetscInt s, PetscInt its, PetscInt solves, PetscReal *first, PetscReal *best, char what[])
{
  KSP      ksp;
  PC       pc;
  Vec      x, b;
  PetscInt fewest;

  PetscFunctionBegin;
  its = (its + s) / (s + 1) * (s + 1);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, method == PETSC_IDR ? KSPIDR : KSPIDRFUSED));
  PetscCall(KSPIDRSetS(ksp, s));
  PetscCall(KSPFusedSetSpMVType(ksp, method == FUSED_COPY ? KSP_FUSED_SPMV_AUTO : KSP_FUSED_SPMV_PETSC));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(ksp, 0.0, 0.0, PETSC_MAX_REAL, its));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetUp(ksp));
  PetscCall(TimeSolves(ksp, b, x, solves, first, best, &fewest));
  if (fewest < its) PetscCall(PetscStrncpy(what, "broke down", 32));
  if (method != PETSC_IDR) {
    KSPFusedInfo info;

    PetscCall(KSPFusedGetInfo(ksp, &info));
    PetscCall(PetscSNPrintf(what, 32, "%s%s%s%s", info.backend, info.lockstep ? "" : ", ahead", info.copy ? ", copy" : "", info.replayed ? ", graphs" : ""));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* s inner products and a norm at once, against VecMDot() with VecNorm() */
static PetscErrorCode Dots(Mat A, PetscInt n, PetscReal bandwidth, FILE *csv)
{
  Vec                      like, *v;
  VecType                  type;
  PetscScalar             *arrays[32], *y, sums[40];
  SpikeKrylov              state;
  const SpikeIDRRecurrence none    = {SPIKE_IDR_NORM, 1, 0, 0, 0, 0.0};
  PetscMemType             memtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &like, NULL));
  PetscCall(VecGetType(like, &type));
  {
    Vec x;

    PetscCall(VecCreate(PETSC_COMM_SELF, &x));
    PetscCall(VecSetSizes(x, n, n));
    PetscCall(VecSetType(x, type));
    PetscCall(VecDuplicateVecs(x, 33, &v));
    PetscCall(VecDestroy(&x));
  }
  for (PetscInt k = 0; k < 33; k++) PetscCall(VecSet(v[k], 1.0 / (k + 1)));
  for (PetscInt k = 0; k < 33; k++) PetscCall(VecGetArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y, &memtype));
  PetscCall(PetscMemzero(&state, sizeof(state)));
  state.k = SpikeKrylovKernelsFind(memtype);
  if (state.k) {
    PetscCall((*state.k->create)(&state));
    PetscCall(PetscMemzero(state.scalars, sizeof(*state.scalars)));
    PetscCall((*state.k->push)(&state, PETSC_FALSE));
    PetscCall((*state.k->blockcreate)(&state, 32, SpikeIDRSize(32)));
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "\ns inner products of %" PetscInt_FMT " rows, ms, the host waits for them\n%3s %9s %9s %6s %10s\n", n, "s", "VecMDot", "ours", "ratio", "efficiency"));
  for (PetscInt s = 1; state.k && s <= 32; s = s < 8 ? s + 1 : s + 4) {
    const SpikeKrylovBlock block   = {n, 0, s, arrays, NULL, NULL, NULL, NULL, y, NULL, NULL, NULL};
    PetscReal              best[2] = {PETSC_MAX_REAL, PETSC_MAX_REAL};
    PetscLogDouble         t0, t1;

    for (PetscInt k = 0; k < 10; k++) {
      PetscCall((*state.k->blockstep)(&state, SPIKE_KRYLOV_DOTS, &block, NULL, &none));
      PetscCall((*state.k->blocksums)(&state, s + 1, sums));
      PetscCall(PetscTime(&t0));
      PetscCall((*state.k->blockstep)(&state, SPIKE_KRYLOV_DOTS, &block, NULL, &none));
      PetscCall((*state.k->blocksums)(&state, s + 1, sums));
      PetscCall(PetscTime(&t1));
      best[1] = PetscMin(best[1], t1 - t0);
    }
    for (PetscInt k = 0; k < 33; k++) PetscCall(VecRestoreArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y));
    for (PetscInt k = 0; k < 10; k++) {
      PetscCall(VecMDot(v[32], s, v, sums));
      PetscCall(PetscTime(&t0));
      PetscCall(VecMDot(v[32], s, v, sums));
      PetscCall(PetscTime(&t1));
      best[0] = PetscMin(best[0], t1 - t0);
    }
    for (PetscInt k = 0; k < 33; k++) PetscCall(VecGetArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y, &memtype));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%3" PetscInt_FMT " %9.4f %9.4f %6.2f %10.2f\n", s, (double)(1e3 * best[0]), (double)(1e3 * best[1]), (double)(best[0] / best[1]), (double)(sizeof(PetscScalar) * (s + 1.0) * n / bandwidth / best[1])));
    if (csv) fprintf(csv, "dots,%ld,,%ld,%s,%.6g,%.6g,,\n", (long)n, (long)s, state.k->name, (double)best[0], (double)best[1]);
  }
  for (PetscInt k = 0; k < 33; k++) PetscCall(VecRestoreArrayAndMemType(v[k], k < 32 ? &arrays[k] : &y));
  if (state.k) PetscCall((*state.k->destroy)(&state));
  PetscCall(VecDestroyVecs(33, &v));
  PetscCall(VecDestroy(&like));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *names[NMETHODS] = {"idr", "idrfused", "idrfused copy"};
  PetscInt           sizes[16] = {20, 50, 100}, stencils[2] = {27, 7}, ss[16] = {1, 2, 4, 8}, nsizes = 16, nstencils = 2, nss = 16, its = 100, solves = 4, dots = 1000000;
  char               type[64] = MATAIJ, pc[64] = PCNONE, file[PETSC_MAX_PATH_LEN];
  PetscReal          bandwidth = 0.0;
  PetscBool          set;
  FILE              *csv = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
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
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-pc", pc, sizeof(pc), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", file, sizeof(file), &set));
  if (set) {
    csv = fopen(file, "w");
    PetscCheck(csv, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", file);
    fprintf(csv, "what,n,points,s,method,first,warm,ours,paper\n");
  }
  for (PetscInt p = 0; p < nstencils; p++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat     A;
      MatInfo matinfo;

      PetscCall(Poisson(sizes[k], stencils[p], type, &A));
      PetscCall(MatGetInfo(A, MAT_LOCAL, &matinfo));
      if (!p && !k) {
        if (bandwidth <= 0.0) PetscCall(Bandwidth(A, &bandwidth));
        else bandwidth *= 1e9;
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s; ms a product, first solve and best of the others; ratio: KSPIDR / this one; efficiency: bytes at %.0f GB/s, by our own count and by the paper's, over the time\n", type, pc, (double)(1e-9 * bandwidth)));
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4s %3s %3s %-14s %9s %9s %6s %6s %6s\n", "n", "pts", "s", "method", "first", "warm", "ratio", "ours", "paper"));
      }
      for (PetscInt i = 0; i < nss; i++) {
        PetscReal theirs = 0.0;

        for (int m = PETSC_IDR; m < NMETHODS; m++) {
          const PetscReal n = (PetscReal)sizes[k] * sizes[k] * sizes[k], s = (PetscReal)ss[i];
          PetscReal       first = 0.0, best = 0.0, ours, paper;
          char            what[32] = "";

          PetscCall(Time(A, (Method)m, pc, ss[i], its, solves, &first, &best, what));
          if (m == PETSC_IDR) theirs = best;
          if (m == FUSED_COPY && !strstr(what, "copy")) continue;
          ours  = Budget(n, matinfo.nz_used, s, (PetscBool)(m == FUSED_COPY)) / (s + 1) / bandwidth / best;
          paper = Roofline(n, matinfo.nz_used, s) / (s + 1) / bandwidth / best;
          PetscCall(PetscPrintf(PETSC_COMM_SELF, "%4" PetscInt_FMT " %3" PetscInt_FMT " %3" PetscInt_FMT " %-14s %9.4f %9.4f %6.2f %6.2f %6.2f  %s\n", sizes[k], stencils[p], ss[i], names[m], (double)(1e3 * first), (double)(1e3 * best), (double)(theirs / best), (double)ours, (double)paper, what));
          if (csv) fprintf(csv, "product,%ld,%ld,%ld,%s,%.6g,%.6g,%.4g,%.4g\n", (long)sizes[k], (long)stencils[p], (long)ss[i], names[m], (double)first, (double)best, (double)ours, (double)paper);
        }
      }
      if (dots && p == nstencils - 1 && k == nsizes - 1) PetscCall(Dots(A, dots, bandwidth, csv));
      PetscCall(MatDestroy(&A));
    }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
