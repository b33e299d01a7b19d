/* SPDX-License-Identifier: BSD-2-Clause */
/*
  gbcg.c: products with MATAIJ, MATSELL, MATDIA and MATGRIDSTENCIL, and iterations of CG and BiCGStab on them, in turn
  in one run, on the 7- and 27-point Poisson problem on any number of ranks
*/
static char help[] = "Products and iterations by diagonals and by stencil against CSR.\n\
  -n n1,n2,...       grid points in each direction (32,64,100)\n\
  -box nx,ny,nz      one box instead; ranks have layers along the last direction\n\
  -weak              as many in the last direction for each rank: weak scaling; without it strong scaling, over\n\
 runs with more ranks\n\
  -bench_device      on CUDA devices: aijcusparse (the products of cuSPARSE), sellcuda, diacuda, gridstencilcuda;\n\
 ranks take the devices in turn\n\
  -stencil 7,27      points of the stencils\n\
  -bench_products k  products in a row (20; 200 with -bench_device)\n\
  -bench_its k       iterations of a solve (50)\n\
  -bench_pc pc       preconditioner (none)\n\
  -bench_tol t       also solves by CG, until the largest residual is t times the first; PETSc's as many iterations\n\
  -bench_lean        MATDIA and the stencil with constant coefficients alone, for grids that the others have no\n\
 room or patience for\n\
  -bench_csr         with them PETSc's methods on AIJ\n\
  -rounds k          rounds, in each of which all take their turn; medians are shown (7)\n\
Products go round among vectors that no cache holds together. Fraction: of the bandwidth of VecCopy() in the same\n\
 run, on the bytes that a product has to move: its entries, with 4 bytes for a column in CSR, and x and y once.\n\
Ratio: time with AIJ / time; of iterations that of PETSc's method on AIJ. With several ranks also stencils whose\n\
 points around a box come by DMGlobalToLocal(), and what travels alone: the points around a rank's box, and a\n\
 reduction of three numbers over all ranks.\n\n";

#include <petscspike.h>
#include <petscdmda.h>
#include <petsctime.h>
#include "common/finish.h"
#include "common/gbcgnode.h"
#include "common/median.h"

#define NKINDS    6
#define MAXROUNDS 64
#define MAXPAIRS  64 /* pairs, at most */
#define BEYOND    (512.0 * 1024 * 1024)

typedef struct {
  PetscInt  n[3], points, products, its, rounds;
  PetscBool device, lean, csr;
  PetscReal tol;
  char      pc[32];
  DM        da;
} Bench;

static const char *const kinds[2][NKINDS] = {{"aij", "sell", "dia", "stencil", "stencil, per point",
                                              "stencil, by DMDA"},
                                             {"aijcusparse", "sellcuda", "diacuda", "gridstencilcuda",
                                              "the same, per point", "the same, by DMDA"}};

/* A line of the table; bytes 0: no fraction. ms is negative where there is nothing to show */
static PetscErrorCode Show(const Bench *b, const char what[], const char kind[], double ms, double ratio,
                           double fraction, const char how[])
{
  char size[48];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT, b->n[0], b->n[1], b->n[2]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-13s %3" PetscInt_FMT " %-18s %-20s", size, b->points, what, kind));
  if (ms < 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " not available\n"));
  else {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.4f", ms));
    if (ratio > 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %6.2f", ratio));
    if (fraction > 0.0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %7.3f", fraction));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%s\n", how[0] ? "  " : "", how));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The matrix as rows in CSR, at once: ranks have layers along the last dimension, so that points and rows have one order
*/
static PetscErrorCode MakeAIJ(const Bench *b, PetscInt count, const MatStencil o[], const PetscScalar v[], Mat *A)
{
  PetscInt     first, layers, nx = b->n[0], ny = b->n[1], nz = 0, row = 0, *ai, *aj;
  PetscScalar *aa;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(b->da, NULL, NULL, &first, NULL, NULL, &layers));
  PetscCall(PetscMalloc3(nx * ny * layers + 1, &ai, (size_t)count * nx * ny * layers, &aj,
                         (size_t)count * nx * ny * layers, &aa));
  ai[0] = 0;
  for (PetscInt k = first; k < first + layers; k++)
    for (PetscInt j = 0; j < ny; j++)
      for (PetscInt i = 0; i < nx; i++) {
        for (PetscInt s = 0; s < count; s++) {
          const PetscInt p = i + o[s].i, q = j + o[s].j, r = k + o[s].k;

          if (p < 0 || p >= nx || q < 0 || q >= ny || r < 0 || r >= b->n[2]) continue;
          aj[nz]   = p + nx * (q + ny * r);
          aa[nz++] = v[s];
        }
        ai[++row] = nz;
      }
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, row, row, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ai, aj, aa));
  PetscCall(MatMPIAIJSetPreallocationCSR(*A, ai, aj, aa));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A in another type, or NULL where PETSc or this library has none */
static PetscErrorCode MakeOther(Mat A, MatType type, MatType by, Mat *B)
{
  PetscErrorCode (*create)(Mat) = NULL;

  PetscFunctionBegin;
  *B = NULL;
  PetscCall(PetscFunctionListFind(MatList, type, &create));
  if (!create) {
    char name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "seq%s", type)); /* aijcusparse and its like are root names */
    PetscCall(PetscFunctionListFind(MatList, name, &create));
  }
  if (!create) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatConvert(A, by ? by : type, MAT_INITIAL_MATRIX, B));
  if (by) {
    PetscMPIInt size;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    /* PETSc goes there from SELL in place alone */
    PetscCall(MatConvert(*B, size > 1 ? MATMPISELLCUDA : MATSEQSELLCUDA, MAT_INPLACE_MATRIX, B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakeMatrices(Bench *b, Mat A[])
{
  PetscMPIInt size;
  MatStencil  o[27];
  PetscScalar v[27];
  Vec         coef[27];
  PetscInt    count = 0;
  Mat         aij;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                         b->points == 7 ? DMDA_STENCIL_STAR : DMDA_STENCIL_BOX, b->n[0], b->n[1], b->n[2], 1, 1, size,
                         1, 1, NULL, NULL, NULL, &b->da));
  if (b->device) PetscCall(DMSetVecType(b->da, VECCUDA));
  PetscCall(DMSetUp(b->da));
  for (PetscInt k = -1; k < 2; k++)
    for (PetscInt j = -1; j < 2; j++)
      for (PetscInt i = -1; i < 2; i++) {
        if (b->points == 7 && PetscAbsInt(i) + PetscAbsInt(j) + PetscAbsInt(k) > 1) continue;
        o[count].i = i;
        o[count].j = j;
        o[count].k = k;
        o[count].c = 0;
        v[count++] = i || j || k ? -1.0 : b->points - 1.0;
      }
  PetscCall(MatCreateGridStencil(b->da, count, o, &A[3]));
  PetscCall(MatGridStencilSetCoefficients(A[3], v));
  A[0] = A[1] = A[4] = A[5] = NULL;
  if (!b->lean) PetscCall(MatCreateGridStencil(b->da, count, o, &A[4]));
  for (PetscInt s = 0; s < count && !b->lean; s++) {
    PetscCall(DMCreateGlobalVector(b->da, &coef[s]));
    PetscCall(VecSet(coef[s], v[s]));
  }
  if (!b->lean) PetscCall(MatGridStencilSetCoefficientVecs(A[4], coef));
  for (PetscInt s = 0; s < count && !b->lean; s++) PetscCall(VecDestroy(&coef[s]));
  if (size > 1 && !b->lean) {
    PetscCall(MatDuplicate(A[3], MAT_COPY_VALUES, &A[5]));
    PetscCall(PetscOptionsSetValue(NULL, "-mat_gridstencil_halo", "dm"));
    PetscCall(MatSetFromOptions(A[5]));
    PetscCall(PetscOptionsClearValue(NULL, "-mat_gridstencil_halo"));
  }
  PetscCall(MakeAIJ(b, count, o, v, &aij));
  PetscCall(MakeOther(aij, b->device ? "diacuda" : MATDIA, NULL, &A[2]));
  if (b->lean && !b->csr) {
    PetscCall(MatDestroy(&aij));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!b->lean) PetscCall(MakeOther(aij, b->device ? MATSELLCUDA : MATSELL, b->device ? MATSELL : NULL, &A[1]));
  if (b->device) PetscCall(MatConvert(aij, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &aij));
  A[0] = aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank waits for besides its kernels */
typedef enum {
  OTHER_COPY,
  OTHER_HALO,
  OTHER_REDUCTION
} Other;

/* Seconds of one of `repeat` products, or of what else where there is no matrix; in turn on `pairs` pairs of vectors */
static PetscErrorCode TimeProducts(const Bench *b, Mat A, Other other, PetscInt pairs, Vec x[], Vec y[], Vec around,
                                   double *t)
{
  PetscLogDouble t0, t1;

  PetscFunctionBegin;
  PetscCall(Wait(PETSC_COMM_WORLD, &t0));
  for (PetscInt k = 0; k < b->products; k++) {
    Vec from = x[k % pairs], to = y[k % pairs];

    if (A) PetscCall(MatMult(A, from, to));
    else if (other == OTHER_COPY) PetscCall(VecCopy(from, to));
    else if (other == OTHER_HALO) {
      PetscCall(DMGlobalToLocalBegin(b->da, from, INSERT_VALUES, around));
      PetscCall(DMGlobalToLocalEnd(b->da, from, INSERT_VALUES, around));
    } else {
      PetscReal sums[3] = {1.0, 2.0, 3.0};

      PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sums, 3, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
    }
  }
  PetscCall(Wait(PETSC_COMM_WORLD, &t1));
  *t = (double)(t1 - t0) / b->products;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureProducts(const Bench *b, Mat A[])
{
  const double N = (double)b->n[0] * b->n[1] * b->n[2], entry = sizeof(PetscScalar);
  double       bytes[NKINDS], t[NKINDS + 3][MAXROUNDS], middle[NKINDS + 3];
  PetscMPIInt  size;
  PetscInt     pairs;
  MatInfo      info;
  Vec          x[MAXPAIRS], y[MAXPAIRS], around;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetInfo(A[0] ? A[0] : A[2], MAT_GLOBAL_SUM, &info));
  bytes[0] = bytes[1] = (entry + 4) * info.nz_used + 2 * entry * N;
  bytes[2]            = entry * b->points * N + 2 * entry * N;
  bytes[3]            = 2 * entry * N;
  bytes[4]            = bytes[2];
  bytes[5]            = bytes[3];
  pairs               = (PetscInt)PetscMax(2.0, PetscMin((double)MAXPAIRS, BEYOND / (2 * entry * N / size) + 1.0));
  for (PetscInt p = 0; p < pairs; p++) {
    PetscCall(MatCreateVecs(A[2], &x[p], &y[p]));
    PetscCall(VecSet(x[p], 1.0));
    PetscCall(VecSet(y[p], 1.0));
  }
  PetscCall(DMCreateLocalVector(b->da, &around));
  for (PetscInt r = -1; r < b->rounds; r++)
    for (int k = 0; k < NKINDS + 3; k++) {
      double one = -1.0;

      if (k >= NKINDS || A[k])
        PetscCall(TimeProducts(b, k < NKINDS ? A[k] : NULL, k < NKINDS ? OTHER_COPY : (Other)(k - NKINDS), pairs, x, y,
                               around, &one));
      if (r >= 0) t[k][r] = one;
    }
  for (int k = 0; k < NKINDS + 3; k++) middle[k] = Median((int)b->rounds, t[k]);
  for (int k = 0; k < (A[5] ? NKINDS : NKINDS - 1); k++)
    if (A[k] || !b->lean)
      PetscCall(Show(b, "product", kinds[b->device][k], 1e3 * middle[k], A[0] ? middle[0] / middle[k] : 0.0,
                     bytes[k] / middle[k] / (2 * entry * N / middle[NKINDS]), ""));
  PetscCall(Show(b, "copy", "VecCopy()", 1e3 * middle[NKINDS], 0.0, 1.0, ""));
  if (size > 1) {
    PetscCall(Show(b, "points around", "DMGlobalToLocal()", 1e3 * middle[NKINDS + OTHER_HALO], 0.0, 0.0, ""));
    PetscCall(Show(b, "reduction", "MPI_Allreduce()", 1e3 * middle[NKINDS + OTHER_REDUCTION], 0.0, 0.0, ""));
  }
  for (PetscInt p = 0; p < pairs; p++) {
    PetscCall(VecDestroy(&x[p]));
    PetscCall(VecDestroy(&y[p]));
  }
  PetscCall(VecDestroy(&around));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of PETSc's method on AIJ and SELL, and of the fused one on each matrix */
static PetscErrorCode Solves(const Bench *b, Mat A[], KSPType petsc, KSPType fused)
{
  KSP       ksp[NKINDS + 2];
  double    t[NKINDS + 2][MAXROUNDS], middle[NKINDS + 2];
  Vec       x, rhs;
  PetscReal norm, all = -1.0; /* of x, the same from all of them */
  PetscBool cg;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A[2], &x, &rhs));
  PetscCall(VecSet(rhs, 1.0));
  for (int k = 0; k < NKINDS + 2; k++) {
    PC pc;

    ksp[k] = NULL;
    if (!A[k % NKINDS] || (b->lean && !k)) continue;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetType(ksp[k], k >= NKINDS ? petsc : fused));
    PetscCall(KSPSetPCSide(ksp[k], PC_LEFT)); /* PETSc's default: the same for both */
    PetscCall(KSPSetOperators(ksp[k], A[k % NKINDS], A[k % NKINDS]));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, b->pc));
    PetscCall(KSPSetTolerances(ksp[k], 0.0, 0.0, PETSC_MAX_REAL, b->its));
    PetscCall(KSPSetConvergenceTest(ksp[k], KSPConvergedSkip, NULL, NULL));
    PetscCall(KSPSetFromOptions(ksp[k]));
    PetscCall(KSPSetUp(ksp[k]));
  }
  /* BiCGStab, whose first inner products are small beside their terms here, makes 1 % of rounding */
  PetscCall(PetscStrcmp(petsc, KSPCG, &cg));
  for (PetscInt r = -1; r < b->rounds; r++)
    for (int k = 0; k < NKINDS + 2; k++) {
      PetscLogDouble t0, t1;
      PetscInt       done;

      if (r >= 0) t[k][r] = -1.0;
      if (!ksp[k]) continue;
      PetscCall(Wait(PETSC_COMM_WORLD, &t0));
      PetscCall(KSPSolve(ksp[k], rhs, x));
      PetscCall(Wait(PETSC_COMM_WORLD, &t1));
      PetscCall(KSPGetIterationNumber(ksp[k], &done));
      if (r >= 0) t[k][r] = (double)(t1 - t0) / PetscMax(done, 1);
      if (cg) {
        PetscCall(VecNorm(x, NORM_2, &norm));
        if (all < 0.0) all = norm;
        PetscCheck(PetscAbsReal(norm - all) <= 1e-6 * all, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
                   "%s on %s: the norm of x is %g after %" PetscInt_FMT " iterations, from another matrix %g",
                   k >= NKINDS ? petsc : fused, kinds[b->device][k % NKINDS], (double)norm, done, (double)all);
      }
    }
  for (int k = 0; k < NKINDS + 2; k++) middle[k] = Median((int)b->rounds, t[k]);
  for (int k = NKINDS; k < NKINDS + 2; k++)
    if (ksp[k])
      PetscCall(Show(b, petsc, kinds[b->device][k - NKINDS], 1e3 * middle[k],
                     ksp[NKINDS] ? middle[NKINDS] / middle[k] : 0.0, 0.0, ""));
  for (int k = 0; k < (A[5] ? NKINDS : NKINDS - 1); k++) {
    KSPFusedInfo info;
    char         how[64] = "";

    if (ksp[k]) {
      PetscCall(KSPFusedGetInfo(ksp[k], &info));
      PetscCall(PetscSNPrintf(how, sizeof(how), "%s%s%s%s", info.backend,
                              info.product == KSP_FUSED_SPMV_PETSC ? ", MatMult()" : (info.copy ? ", copy" : ", lent"),
                              info.replayed ? ", graph" : "", info.persistent ? ", persistent" : ""));
    }
    if (ksp[k] || !b->lean)
      PetscCall(
        Show(b, fused, kinds[b->device][k], 1e3 * middle[k], ksp[NKINDS] ? middle[NKINDS] / middle[k] : 0.0, 0.0, how));
  }
  for (int k = 0; k < NKINDS + 2; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ms of whole solves by CG: ours to the tolerance, by the stencil and by diagonals, then PETSc's on AIJ, as long */
static PetscErrorCode SolvesTo(const Bench *b, Mat A[])
{
  static const int which[] = {3, 2, 0};
  double           t[3][MAXROUNDS], petsc = 0.0;
  PetscInt         its[3]    = {0, 0, 0};
  PetscBool        converged = PETSC_TRUE;
  KSP              ksp[3]    = {NULL, NULL, NULL};
  Vec              x, rhs;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A[2], &x, &rhs));
  PetscCall(VecSet(rhs, 1.0));
  for (int k = 0; k < 3; k++) {
    PC pc;

    if (!A[which[k]]) continue;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[k]));
    PetscCall(KSPSetType(ksp[k], k < 2 ? KSPCGFUSED : KSPCG));
    PetscCall(KSPSetOperators(ksp[k], A[which[k]], A[which[k]]));
    PetscCall(KSPGetPC(ksp[k], &pc));
    PetscCall(PCSetType(pc, b->pc));
    PetscCall(KSPSetConvergenceTest(ksp[k], k < 2 ? KSPFusedConvergedInfinity : KSPConvergedSkip, NULL, NULL));
  }
  for (PetscInt r = -1; r < b->rounds; r++)
    for (int k = 0; k < 3; k++) {
      PetscLogDouble     t0, t1;
      KSPConvergedReason reason;

      if (!ksp[k]) continue;
      PetscCall(KSPSetTolerances(ksp[k], b->tol, 0.0, PETSC_CURRENT, k < 2 ? 10000 : PetscMax(its[0], 1)));
      PetscCall(Wait(PETSC_COMM_WORLD, &t0));
      PetscCall(KSPSolve(ksp[k], rhs, x));
      PetscCall(Wait(PETSC_COMM_WORLD, &t1));
      t[k][PetscMax(r, 0)] = 1e3 * (double)(t1 - t0);
      PetscCall(KSPGetIterationNumber(ksp[k], &its[k]));
      PetscCall(KSPGetConvergedReason(ksp[k], &reason));
      if (reason < 0) converged = PETSC_FALSE;
    }
  for (int k = 2; k >= 0; k--) { /* first PETSc's, with which the others are compared */
    char   how[64];
    double ms;

    if (!ksp[k]) continue;
    PetscCall(
      PetscSNPrintf(how, sizeof(how), "%" PetscInt_FMT " iterations%s", its[k], converged ? "" : ", not converged"));
    ms = Median((int)b->rounds, t[k]);
    if (k == 2) petsc = ms;
    PetscCall(Show(b, k < 2 ? "solve:cgfused" : "solve:cg", kinds[b->device][which[k]], ms, petsc / ms, 0.0, how));
  }
  for (int k = 0; k < 3; k++) PetscCall(KSPDestroy(&ksp[k]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    sizes[16] = {32, 64, 100}, stencils[2] = {7, 27}, nsizes = 16, nstencils = 2, box[3], nbox = 3;
  Bench       b = {{0, 0, 0}, 0, 20, 50, 7, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, 0.0, "none", NULL};
  PetscBool   set, boxed, weak = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 3;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-box", box, &nbox, &boxed));
  PetscCheck(!boxed || (nbox == 3 && box[0] > 0 && box[1] > 0 && box[2] > 0), PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "-box wants three numbers above 0");
  if (boxed) nsizes = 1;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-stencil", stencils, &nstencils, &set));
  if (!set) nstencils = 2;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-weak", &weak, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bench_device", &b.device, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bench_lean", &b.lean, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bench_csr", &b.csr, NULL));
  if (b.device) b.products = 200;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_products", &b.products, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-bench_its", &b.its, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &b.rounds, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bench_tol", &b.tol, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_pc", b.pc, sizeof(b.pc), NULL));
  PetscCheck(b.rounds >= 1 && b.rounds <= MAXROUNDS, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "1 to %d rounds",
             MAXROUNDS);
  for (PetscInt s = 0; s < nstencils; s++)
    for (PetscInt k = 0; k < nsizes; k++) {
      Mat A[NKINDS];

      PetscCheck(stencils[s] == 7 || stencils[s] == 27, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
                 "Stencils have 7 or 27 points");
      b.n[0] = b.n[1] = sizes[k];
      b.n[2]          = sizes[k];
      if (boxed) PetscCall(PetscArraycpy(b.n, box, 3));
      if (weak) b.n[2] *= size;
      b.points = stencils[s];
      PetscCall(MakeMatrices(&b, A));
      if (!s && !k) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ms of a product or of an iteration, median; "));
        PetscCall(NodePrint(A[2]));
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-13s %3s %-18s %-20s %9s %6s %7s\n", "grid", "pts", "what", "matrix",
                              "ms", "ratio", "of copy"));
      }
      PetscCall(MeasureProducts(&b, A));
      PetscCall(Solves(&b, A, KSPCG, KSPCGFUSED));
      PetscCall(Solves(&b, A, KSPBCGS, KSPBCGSFUSED));
      if (b.tol > 0.0) PetscCall(SolvesTo(&b, A));
      for (int m = 0; m < NKINDS; m++) PetscCall(MatDestroy(&A[m]));
      PetscCall(DMDestroy(&b.da));
    }
  PetscCall(PetscFinalize());
  return 0;
}
