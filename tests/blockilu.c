/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCBLOCKILU: its operator against dense references, iterations against PETSc's block Jacobi with "
                     "ILU, many right-hand sides.\n\n";

#include "blockilucase.h"

static PetscReal GetTol(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-11;
}

/* The operator of one case, from BAIJ and from AIJ, and its transpose */
static PetscErrorCode TestOperator(const BlockCase *c, PetscInt nlocal, PetscInt local, PetscInt levels,
                                   PetscSpikePrecision precision)
{
  const PetscInt  n   = c->nb * c->bs;
  const PetscReal tol = precision == PETSC_SPIKE_PRECISION_DOUBLE ? GetTol() : 1e-4;
  Mat             A;
  PC              pc;
  PCBlockILUInfo  info;
  PetscMPIInt     size;
  const PetscInt *ranges;
  PetscScalar    *ref, *m, *m2;
  PetscInt        subdomains = 0;
  PetscReal       d, norm;
  PetscBool       device;
  char            where[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%" PetscInt_FMT " blocks of %" PetscInt_FMT " (here %" PetscInt_FMT "), %" PetscInt_FMT
                          " subdomains a rank, levels %" PetscInt_FMT ", %s",
                          c->nb, c->bs, nlocal, local, levels, PetscSpikePrecisions[precision]));
  PetscCall(PetscCalloc3(n * n, &ref, n * n, &m, n * n, &m2));
  for (PetscInt type = 0; type < 3; type++) {
    PetscCall(BlockMat(PETSC_COMM_WORLD, c, nlocal, type ? MATAIJ : MATBAIJ, (PetscBool)(type < 2), &A));
    PetscCall(BlockPC(A, &pc));
    if (type == 2) PetscCall(PCBlockILUSetBlockSize(pc, c->bs));
    if (local > 1) PetscCall(PCBlockILUSetLocalSubdomains(pc, local));
    if (levels == PETSC_INT_MAX) PetscCall(PCBlockILUSetComplete(pc, PETSC_TRUE));
    else PetscCall(PCFactorSetLevels(pc, levels));
    PetscCall(PCBlockILUSetPrecision(pc, precision));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(PCSetUp(pc));
    if (!type) {
      PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
      PetscCall(MatGetOwnershipRanges(A, &ranges));
      for (PetscMPIInt r = 0; r < size; r++) {
        const PetscInt first = ranges[r] / c->bs, rows = ranges[r + 1] / c->bs - first;

        for (PetscInt t = 0; t < local; t++)
          PetscCall(BlockReference(c, first + rows * t / local, first + rows * (t + 1) / local, levels, ref));
        subdomains += local;
      }
    }
    PetscCall(SpikeTestOperator(pc, PETSC_FALSE, type ? m2 : m));
    if (type) {
      SpikeTestDifference(n, 0, n, 0, n, m2, m, PETSC_FALSE, &d, &norm);
      PetscCall(PetscOptionsHasName(NULL, NULL, "-block_aij_type", &device)); /* sums in another order there */
      PetscCall(SpikeTestCheck((PetscBool)(d <= (device ? tol * norm : 0.0)),
                               "%s: blocks of AIJ make another operator than BAIJ", where));
    } else {
      SpikeTestDifference(n, 0, n, 0, n, m, ref, PETSC_FALSE, &d, &norm);
      PetscCall(SpikeTestSmall(d, tol * norm, "error of the operator", where));
      PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m2));
      SpikeTestDifference(n, 0, n, 0, n, m2, ref, PETSC_TRUE, &d, &norm);
      PetscCall(SpikeTestSmall(d, tol * norm, "error of the transposed operator", where));
      PetscCall(SpikeTestAdjoint(pc, tol, where));
    }
    PetscCall(PCBlockILUGetInfo(pc, &info));
    PetscCall(
      SpikeTestCheck((PetscBool)(info.bs == c->bs && info.block_rows == c->nb && info.subdomains == subdomains &&
                                 info.boosted == 0 && info.rebuilds == 1 && info.refills == 0),
                     "%s: what the info says of blocks and subdomains", where));
    PetscCall(
      SpikeTestCheck((PetscBool)(levels ? info.factor_blocks >= info.blocks : info.factor_blocks == info.blocks),
                     "%s: fill", where));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFree3(ref, m, m2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperators(void)
{
  const PetscSpikePrecision own   = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                  : PETSC_SPIKE_PRECISION_DOUBLE,
                            other = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_DOUBLE
                                                                  : PETSC_SPIKE_PRECISION_SINGLE;
  const PetscInt sizes[] = {1, 2, 3, 4, 5, 7, 8, 9}, levels[] = {0, 1, 2, PETSC_INT_MAX};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(sizes); b++) {
    for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(levels); l++) {
      const BlockCase c = {20, sizes[b], 5, 1.2, (PetscBool)((b + l) % 2), 10 + (PetscInt)b};

      PetscCall(TestOperator(&c, PETSC_DECIDE, 1 + (PetscInt)((b + l) % 3), levels[l], own));
      if (l < 2) PetscCall(TestOperator(&c, PETSC_DECIDE, 1 + (PetscInt)(l % 2), levels[l], other));
    }
  }
  {
    const BlockCase large = {6, 16, 3, 1.2, PETSC_TRUE, 31}, odd = {5, 23, 2, 1.2, PETSC_TRUE, 32},
                    one = {1, 4, 1, 1.2, PETSC_TRUE, 33}, none = {0, 3, 1, 1.2, PETSC_TRUE, 34},
                    many = {7, 2, 3, 1.2, PETSC_FALSE, 35};

    PetscCall(TestOperator(&large, PETSC_DECIDE, 1, 0, own));
    PetscCall(TestOperator(&odd, PETSC_DECIDE, 1, 1, own));
    PetscCall(TestOperator(&one, PETSC_DECIDE, 1, 0, own));
    PetscCall(TestOperator(&none, PETSC_DECIDE, 1, 0, own));
    PetscCall(TestOperator(&many, PETSC_DECIDE, 12, 0, own));      /* more subdomains than rows */
    PetscCall(TestOperator(&many, rank ? 0 : many.nb, 2, 1, own)); /* ranks without rows */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A complete factorization does not depend on the ordering; an incomplete one has its transpose */
static PetscErrorCode TestOrderings(void)
{
  const char     *orderings[] = {MATORDERINGRCM, MATORDERINGND, MATORDERINGQMD, "multicolor"};
  const BlockCase c           = {24, 3, 6, 1.2, PETSC_TRUE, 40};
  const PetscInt  n           = c.nb * c.bs;
  PetscScalar    *natural, *m;
  Mat             A;
  PC              pc;
  PetscReal       d, norm;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n, &natural, n * n, &m));
  PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATBAIJ, PETSC_TRUE, &A));
  for (PetscInt local = 1; local <= 2; local++) {
    PetscCall(BlockPC(A, &pc));
    PetscCall(PCBlockILUSetLocalSubdomains(pc, local));
    PetscCall(PCBlockILUSetComplete(pc, PETSC_TRUE));
    PetscCall(SpikeTestOperator(pc, PETSC_FALSE, natural));
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(orderings); o++) {
      for (PetscInt complete = 1; complete >= 0; complete--) {
        PCBlockILUInfo info;

        PetscCall(PCBlockILUSetComplete(pc, (PetscBool)complete));
        PetscCall(PCBlockILUSetMulticolor(pc, (PetscBool)(o == 3)));
        if (o < 3) PetscCall(PCFactorSetMatOrderingType(pc, orderings[o]));
        else PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
        PetscCall(PCSetUp(pc));
        if (complete) {
          PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
          SpikeTestDifference(n, 0, n, 0, n, m, natural, PETSC_FALSE, &d, &norm);
          PetscCall(SpikeTestSmall(d, GetTol() * norm, "distance from the natural ordering", orderings[o]));
          PetscCall(SpikeTestOperator(pc, PETSC_TRUE, m));
          SpikeTestDifference(n, 0, n, 0, n, m, natural, PETSC_TRUE, &d, &norm);
          PetscCall(SpikeTestSmall(d, GetTol() * norm, "distance from the natural ordering, transposed", orderings[o]));
        }
        PetscCall(SpikeTestAdjoint(pc, GetTol(), orderings[o]));
        PetscCall(PCBlockILUGetInfo(pc, &info));
        if (o == 3)
          PetscCall(
            SpikeTestCheck((PetscBool)(info.colors >= 2 && info.colors <= 9 &&
                                       (complete ||
                                        (info.lower_levels <= info.colors && info.upper_levels <= info.colors))),
                           "%" PetscInt_FMT " colors, %" PetscInt_FMT " levels", info.colors, info.lower_levels));
      }
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree2(natural, m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many iterations as block Jacobi with ILU on MATBAIJ, and the same residual norms */
static PetscErrorCode TestIterations(void)
{
  PetscFunctionBegin;
  for (PetscInt bs = 1; bs <= 8; bs++) {
    const BlockCase c = {120, bs, 11, 1.1, PETSC_FALSE, 50 + bs};
    Mat             A;
    Vec             x, b;

    PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATBAIJ, PETSC_TRUE, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(SpikeTestSetRandom(b, 51));
    for (PetscInt levels = 0; levels <= 2; levels++) {
      PetscReal norms[2];
      PetscInt  its[2];

      for (PetscInt ours = 0; ours < 2; ours++) {
        KSP                ksp;
        PC                 pc;
        KSPConvergedReason reason;

        PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPSetType(ksp, KSPGMRES));
        PetscCall(
          KSPSetTolerances(ksp, PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8, PETSC_CURRENT, PETSC_CURRENT, 200));
        PetscCall(KSPGetPC(ksp, &pc));
        if (ours) {
          PetscCall(PCSetType(pc, PCBLOCKILU));
          PetscCall(PCFactorSetLevels(pc, levels));
        } else {
          KSP     *sub;
          PetscInt nsub;

          PetscCall(PCSetType(pc, PCBJACOBI));
          PetscCall(KSPSetUp(ksp));
          PetscCall(PCBJacobiGetSubKSP(pc, &nsub, NULL, &sub));
          PetscCall(KSPGetPC(sub[0], &pc));
          PetscCall(PCSetType(pc, PCILU));
          PetscCall(PCFactorSetLevels(pc, levels));
        }
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetIterationNumber(ksp, &its[ours]));
        PetscCall(KSPGetResidualNorm(ksp, &norms[ours]));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
        PetscCall(SpikeTestCheck((PetscBool)(reason > 0 && its[ours] > 3),
                                 "bs %" PetscInt_FMT ", levels %" PetscInt_FMT ": %s after %" PetscInt_FMT
                                 " iterations",
                                 bs, levels, KSPConvergedReasons[reason], its[ours]));
        PetscCall(KSPDestroy(&ksp));
      }
      PetscCall(SpikeTestCheck((PetscBool)(its[0] == its[1]),
                               "bs %" PetscInt_FMT ", levels %" PetscInt_FMT ": %" PetscInt_FMT
                               " iterations, PETSc's ILU has %" PetscInt_FMT,
                               bs, levels, its[1], its[0]));
      PetscCall(SpikeTestSmall(PetscAbsReal(norms[0] - norms[1]),
                               (PetscDefined(USE_REAL_SINGLE) ? 0.1 : 1e-5) * norms[0],
                               "difference of the last residual norms", "iterations"));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many right-hand sides equal one by one, to the bit; any leading dimension; what lies between columns stays */
static PetscErrorCode TestMatApply(void)
{
  const PetscInt columns[] = {1, 3, 4, 16, 17, 37};

  PetscFunctionBegin;
  for (PetscInt order = 0; order < 2; order++) {
    for (PetscInt bs = 1; bs <= 9; bs += bs == 1 ? 2 : bs == 3 ? 1 : 5) {
      const BlockCase c = {17, bs, 4, 1.2, PETSC_TRUE, 60};
      Mat             A, X, Y;
      PC              pc;
      Vec             x, y;
      PetscInt        n;

      PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATBAIJ, PETSC_TRUE, &A));
      PetscCall(MatGetLocalSize(A, &n, NULL));
      PetscCall(MatCreateVecs(A, &x, &y));
      PetscCall(BlockPC(A, &pc));
      PetscCall(PCBlockILUSetLocalSubdomains(pc, 2));
      if (order) PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGRCM));
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(columns); k++) {
        for (PetscInt pad = 0; pad < 2; pad++) {
          for (PetscInt trans = 0; trans < 2; trans++) {
            const PetscInt     ldx = n + 5 * pad, ldy = n + 3 * pad;
            PetscScalar       *xa, *ya;
            const PetscScalar *va;
            PetscBool          same = PETSC_TRUE;

            PetscCall(PetscCalloc2((ldx + 1) * columns[k], &xa, (ldy + 1) * columns[k], &ya));
            for (PetscInt i = 0; i < ldy * columns[k]; i++) ya[i] = 7.0;
            PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, c.nb * bs, columns[k], xa, &X));
            PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, c.nb * bs, columns[k], ya, &Y));
            PetscCall(MatDenseSetLDA(X, PetscMax(ldx, 1)));
            PetscCall(MatDenseSetLDA(Y, PetscMax(ldy, 1)));
            for (PetscInt j = 0; j < columns[k]; j++) {
              PetscCall(SpikeTestSetRandom(x, 61 + j));
              PetscCall(VecGetArrayRead(x, &va));
              PetscCall(PetscArraycpy(xa + j * ldx, va, n));
              PetscCall(VecRestoreArrayRead(x, &va));
            }
            PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
            PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
            PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
            PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
            if (trans) PetscCall(PCMatApplyTranspose(pc, X, Y));
            else PetscCall(PCMatApply(pc, X, Y));
            for (PetscInt j = 0; j < columns[k]; j++) {
              PetscCall(SpikeTestSetRandom(x, 61 + j));
              if (trans) PetscCall(PCApplyTranspose(pc, x, y));
              else PetscCall(PCApply(pc, x, y));
              PetscCall(VecGetArrayRead(y, &va));
              for (PetscInt i = 0; i < n; i++) same = (PetscBool)(same && ya[i + j * ldy] == va[i]);
              PetscCall(VecRestoreArrayRead(y, &va));
              for (PetscInt i = n; i < ldy; i++) same = (PetscBool)(same && ya[i + j * ldy] == (PetscScalar)7.0);
            }
            PetscCall(SpikeTestCheck(same,
                                     "%" PetscInt_FMT " columns, bs %" PetscInt_FMT ", order %" PetscInt_FMT
                                     ", padding %" PetscInt_FMT ", trans %" PetscInt_FMT,
                                     columns[k], bs, order, pad, trans));
            PetscCall(MatDestroy(&X));
            PetscCall(MatDestroy(&Y));
            PetscCall(PetscFree2(xa, ya));
          }
        }
      }
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&A));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestOperators());
  PetscCall(TestOrderings());
  PetscCall(TestIterations());
  PetscCall(TestMatApply());
  PetscCall(SpikeTestEnd("blockilu"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/blockilu_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: base
         args: -spike_host_isa base
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -block_aij_type aijcusparse

TEST*/
