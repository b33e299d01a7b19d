/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCBLOCKILU inside PETSc's other preconditioners and solvers, and what may change between two "
                     "solves; every solve is checked by its true residual.\n\n";

#include "blockilucase.h"
#include "eventcount.h"

static PetscReal Rtol(void)
{
  return PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-8;
}

/* One solve under these options; PCBLOCKILU must have factored, and all options must have been asked for by rank 0 */
static PetscErrorCode SolveWith(const char name[], const char options[], Mat A)
{
  KSP         ksp;
  Vec         x, b;
  PetscInt    before, after, n, unused = 0;
  PetscMPIInt rank;
  char        prefix[64], text[1024], **names, **values, first[128] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", name));
  PetscCall(PetscSNPrintf(text, sizeof(text), "-prefix_push %s %s -prefix_pop", prefix, options));
  PetscCall(PetscOptionsInsertString(NULL, text));
  PetscCall(SpikeTestEventCount("PCBlockILUFactor", &before));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, Rtol(), PETSC_CURRENT, PETSC_CURRENT, 200));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 70));
  PetscCall(SpikeTestSolve(ksp, b, x, name));
  PetscCall(SpikeTestEventCount("PCBlockILUFactor", &after));
  PetscCall(SpikeTestCheck((PetscBool)(after > before || rank > 0), "%s: PCBLOCKILU did not factor", name));
  PetscCall(PetscOptionsLeftGet(NULL, &n, &names, &values));
  for (PetscInt i = 0; rank == 0 && i < n; i++) {
    PetscBool ours;

    PetscCall(PetscStrbeginswith(names[i], prefix, &ours));
    if (ours && !unused++) PetscCall(PetscStrncpy(first, names[i], sizeof(first)));
  }
  PetscCall(PetscOptionsLeftRestore(NULL, &n, &names, &values));
  PetscCall(SpikeTestCheck((PetscBool)(unused == 0), "%s: option -%s was not used", name, first));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCompositions(void)
{
  const BlockCase c       = {90, 3, 9, 1.1, PETSC_FALSE, 71};
  const char     *types[] = {"aij", "baij"};
  Mat             A;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < 2; t++) {
    char name[64];

#define SOLVE(what, options) \
  do { \
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", types[t], what)); \
    PetscCall(SolveWith(name, options, A)); \
  } while (0)
    PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, t ? MATBAIJ : MATAIJ, PETSC_TRUE, &A));
    SOLVE("gmres", "-ksp_type gmres -pc_type blockilu -pc_blockilu_levels 1 -pc_blockilu_local_subdomains 2");
    SOLVE("single",
          "-ksp_type gmres -pc_type blockilu -pc_blockilu_precision single -pc_blockilu_mat_ordering_type rcm");
    SOLVE("color", "-ksp_type gmres -pc_type blockilu -pc_blockilu_multicolor -pc_blockilu_zeropivot 1e-10 "
                   "-pc_blockilu_shift_type nonzero -pc_blockilu_shift_amount 1e-6");
    SOLVE("bcgs", "-ksp_type bcgsfused -pc_type blockilu");
    SOLVE("idr", "-ksp_type idrfused -pc_type blockilu -pc_blockilu_complete");
    SOLVE("bjacobi", "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_local_blocks 1 -sub_pc_type blockilu");
    SOLVE("asm", "-ksp_type gmres -pc_type asm -pc_asm_overlap 2 -sub_pc_type blockilu -sub_pc_blockilu_levels 1");
    SOLVE("redundant", "-ksp_type gmres -pc_type redundant -redundant_ksp_type preonly -redundant_pc_type blockilu");
    SOLVE("ksp", "-ksp_type fgmres -pc_type ksp -ksp_ksp_type gmres -ksp_ksp_max_it 5 -ksp_pc_type blockilu");
    SOLVE("composite", "-ksp_type gmres -pc_type composite -pc_composite_pcs blockilu,jacobi");
    if (!t) {
      SOLVE("gamg", "-ksp_type fgmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_levels_ksp_type richardson "
                    "-mg_levels_pc_type blockilu");
      SOLVE("gamgcoarse", "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 60 -mg_coarse_pc_type bjacobi "
                          "-mg_coarse_sub_pc_type blockilu -mg_coarse_sub_pc_blockilu_complete");
      SOLVE("split", "-ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 3 -pc_fieldsplit_0_fields 0,1 "
                     "-pc_fieldsplit_1_fields 2 -fieldsplit_0_pc_type blockilu -fieldsplit_0_pc_blockilu_bs 2 "
                     "-fieldsplit_1_pc_type blockilu "
                     "-fieldsplit_0_ksp_type preonly -fieldsplit_1_ksp_type preonly");
      SOLVE("point", "-ksp_type gmres -pc_type blockilu -pc_blockilu_bs 1 -pc_blockilu_levels 1");
    }
#undef SOLVE
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix in other types, its values changing while the pattern stays: the operator is that of BAIJ */
static PetscErrorCode TestMatTypes(void)
{
  const BlockCase c       = {12, 2, 4, 1.2, PETSC_FALSE, 72};
  const char     *types[] = {MATSBAIJ, MATDENSE, MATNEST, MATAIJ};
  const PetscInt  n       = c.nb * c.bs;
  PetscScalar    *m, *ref;
  PetscReal       d, norm;
  Mat             A, T, B, R;
  PC              pc, pcref;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n, &m, n * n, &ref));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PCBlockILUInfo info;

    PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, MATAIJ, PETSC_TRUE, &A));
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T)); /* the symmetric part, for SBAIJ */
    PetscCall(MatAXPY(T, 1.0, A, UNKNOWN_NONZERO_PATTERN));
    PetscCall(MatSetOption(T, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(MatConvert(T, MATBAIJ, MAT_INITIAL_MATRIX, &R));
    if (t == 2) PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &T, &B));
    else PetscCall(MatConvert(T, types[t], MAT_INITIAL_MATRIX, &B));
    PetscCall(BlockPC(B, &pc));
    PetscCall(BlockPC(R, &pcref));
    PetscCall(PCBlockILUSetComplete(pc, PETSC_TRUE)); /* a dense matrix has another pattern */
    PetscCall(PCBlockILUSetComplete(pcref, PETSC_TRUE));
    PetscCall(PCBlockILUSetBlockSize(pc, c.bs));
    for (PetscInt pass = 0; pass < 3; pass++) {
      if (pass == 1) PetscCall(MatScale(B, 3.0));
      if (pass == 1) PetscCall(MatScale(R, 3.0));
      if (pass == 2) PetscCall(MatShift(B, 2.0));
      if (pass == 2) PetscCall(MatShift(R, 2.0));
      PetscCall(SpikeTestOperator(pc, PETSC_FALSE, m));
      PetscCall(SpikeTestOperator(pcref, PETSC_FALSE, ref));
      SpikeTestDifference(n, 0, n, 0, n, m, ref, PETSC_FALSE, &d, &norm);
      PetscCall(
        SpikeTestSmall(d, (PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-12) * norm, "distance from BAIJ", types[t]));
    }
    PetscCall(PCBlockILUGetInfo(pc, &info));
    PetscCall(SpikeTestCheck((PetscBool)(info.bs == c.bs && info.rebuilds + info.refills == 3),
                             "%s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT " refills", types[t],
                             info.rebuilds, info.refills));
    PetscCall(PCDestroy(&pc));
    PetscCall(PCDestroy(&pcref));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&T));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&R));
  }
  PetscCall(PetscFree2(m, ref));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator is that of a preconditioner made anew, after so many setups from scratch and refills */
static PetscErrorCode CheckFresh(PC pc, PetscInt counted[2], PetscInt rebuilds, PetscInt refills, const char where[])
{
  Mat            A;
  PC             fresh;
  Vec            x, y, z;
  PCBlockILUInfo info;
  PetscInt       levels, subdomains;
  PetscReal      error, norm;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, NULL, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(SpikeTestSetRandom(x, 73));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PCBlockILUGetInfo(pc, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.rebuilds - counted[0] == rebuilds && info.refills - counted[1] == refills),
                           "%s: %" PetscInt_FMT " setups from scratch and %" PetscInt_FMT
                           " refills instead of %" PetscInt_FMT " and %" PetscInt_FMT,
                           where, info.rebuilds - counted[0], info.refills - counted[1], rebuilds, refills));
  counted[0] = info.rebuilds;
  counted[1] = info.refills;
  PetscCall(BlockPC(A, &fresh));
  PetscCall(PCFactorGetLevels(pc, &levels));
  PetscCall(PCBlockILUGetLocalSubdomains(pc, &subdomains));
  PetscCall(PCFactorSetLevels(fresh, levels));
  PetscCall(PCBlockILUSetLocalSubdomains(fresh, subdomains));
  PetscCall(PCApply(fresh, x, z));
  PetscCall(VecNorm(z, NORM_2, &norm));
  PetscCall(VecAXPY(y, -1.0, z));
  PetscCall(VecNorm(y, NORM_2, &error));
  PetscCall(SpikeTestCheck((PetscBool)(error == 0.0 && norm > 0.0),
                           "%s: the operator is not that of the matrix: %g of %g", where, (double)error, (double)norm));
  PetscCall(PCDestroy(&fresh));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChange(MatType type)
{
  const BlockCase c = {30, 4, 6, 1.2, PETSC_FALSE, 74}, other = {30, 4, 6, 1.3, PETSC_TRUE, 74},
                  wider = {30, 4, 10, 1.2, PETSC_FALSE, 75}, smaller = {11, 4, 3, 1.2, PETSC_FALSE, 76};
  Mat      A, B, C;
  PC       pc;
  Vec      d;
  PetscInt counted[2] = {0, 0}, rows[] = {4, 70}, n;

  PetscFunctionBegin;
  PetscCall(BlockMat(PETSC_COMM_WORLD, &c, PETSC_DECIDE, type, PETSC_TRUE, &A));
  PetscCall(BlockPC(A, &pc));
  PetscCall(CheckFresh(pc, counted, 1, 0, "first"));
  PetscCall(CheckFresh(pc, counted, 0, 0, "again"));
  PetscCall(MatScale(A, 1e3));
  PetscCall(CheckFresh(pc, counted, 0, 1, "MatScale"));
  PetscCall(BlockSet(&other, 1.0, A));
  PetscCall(CheckFresh(pc, counted, 0, 1, "other values"));
  PetscCall(MatCreateVecs(A, &d, NULL));
  PetscCall(SpikeTestSetRandom(d, 77));
  PetscCall(VecShift(d, 3.0));
  PetscCall(MatDiagonalScale(A, d, NULL));
  PetscCall(CheckFresh(pc, counted, 0, 1, "MatDiagonalScale"));
  PetscCall(VecDestroy(&d));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, 2, rows, 5.0, NULL, NULL));
  PetscCall(CheckFresh(pc, counted, 0, 1, "MatZeroRows"));
  PetscCall(MatScale(A, 0.5));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(CheckFresh(pc, counted, 0, 1, "after reuse"));
  PetscCall(BlockMat(PETSC_COMM_WORLD, &wider, PETSC_DECIDE, type, PETSC_TRUE, &B));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(CheckFresh(pc, counted, 1, 0, "another pattern"));
  PetscCall(PCFactorSetLevels(pc, 1));
  PetscCall(CheckFresh(pc, counted, 1, 0, "levels"));
  PetscCall(PCFactorSetLevels(pc, 1));
  PetscCall(CheckFresh(pc, counted, 0, 0, "the same levels"));
  PetscCall(PCBlockILUSetLocalSubdomains(pc, 3));
  PetscCall(CheckFresh(pc, counted, 1, 0, "subdomains"));
  PetscCall(BlockMat(PETSC_COMM_WORLD, &smaller, PETSC_DECIDE, type, PETSC_TRUE, &C));
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, C, C));
  PetscCall(CheckFresh(pc, counted, 1, 0, "another size"));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(PCSetUp(pc));
  PetscCall(PetscObjectHasFunction((PetscObject)pc, "PCBlockILUSetLevels_C", (PetscBool *)&n));
  PetscCall(PCSetType(pc, PCBLOCKILU));
  PetscCall(PCBlockILUSetLocalSubdomains(pc, 1));
  counted[0] = counted[1] = 0;
  PetscCall(CheckFresh(pc, counted, 1, 0, "another type and back"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscLogDefaultBegin());
  PetscCall(TestCompositions());
  PetscCall(TestMatTypes());
  PetscCall(TestChange(MATBAIJ));
  PetscCall(TestChange(MATAIJ));
  PetscCall(SpikeTestEnd("blockilu_change"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: defined(PETSC_USE_LOG)
      output_file: output/blockilu_change_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: cuda
         requires: cuda gpurun
         args: -block_aij_type aijcusparse

TEST*/
