/* SPDX-License-Identifier: BSD-2-Clause */
/*
  baij_ksp.c: the fused Krylov methods by the blocks of MATBAIJCUDA, their sums in the products, beside products by
  MatMult(): blocks of all sizes, any ownership of rows, changes between solves
*/
static char help[] = "MATBAIJCUDA in the fused Krylov methods, which take their sums in its products.\n\n";

#include "baijcase.h"

#define RTOL ((PetscReal)(PetscDefined(USE_REAL_SINGLE) ? 1e-4 : 1e-9))

static const KSPType methods[] = {KSPCGFUSED, KSPBCGSFUSED, KSPIDRFUSED};

/* Dominated by the diagonal; hermitian: symmetric and real, for CG */
static PetscErrorCode Fill(const BaijCase *c, PetscInt pattern, PetscInt seed, PetscBool hermitian, Mat A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin / c->bs; i < end / c->bs; i++) {
    for (PetscInt j = 0; j < c->nb; j++) {
      PetscScalar v[32 * 32];

      if (!BaijHas(c, pattern, hermitian ? PetscMin(i, j) : i, hermitian ? PetscMax(i, j) : j)) continue;
      for (PetscInt r = 0; r < c->bs; r++)
        for (PetscInt k = 0; k < c->bs; k++) {
          const PetscInt p = i * c->bs + r, q = j * c->bs + k;

          if (hermitian) v[r * c->bs + k] = SpikeTestUniform(seed, PetscMin(p, q), PetscMax(p, q));
          else v[r * c->bs + k] = SpikeTestScalar(seed, p, q);
          if (p == q) v[r * c->bs + k] += 2.0 * c->bs * (2 + c->blocks) * (1.5 + 0.5 * SpikeTestUniform(7, p, p));
        }
      PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &j, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(KSPType type, PCType pctype, PCSide side, KSPFusedSpMVType product, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPFusedSetSpMVType(*ksp, product));
  PetscCall(KSPSetPCSide(*ksp, side));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetTolerances(*ksp, RTOL, PETSC_CURRENT, PETSC_CURRENT, 500));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  wanted: the product, also of ranks without rows; another one than that of A shows in new starts from the true residual
*/
static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, KSPFusedSpMVType wanted, PetscInt *its, const char where[])
{
  KSPFusedInfo info;

  PetscFunctionBegin;
  PetscCall(VecSet(x, 0.0));
  PetscCall(SpikeTestSolve(ksp, b, x, where));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPFusedGetInfo(ksp, &info));
  PetscCall(SpikeTestCheck((PetscBool)(info.product == wanted && !info.copy), "%s: product %s, not %s", where,
                           KSPFusedSpMVTypes[info.product], KSPFusedSpMVTypes[wanted]));
  PetscCall(SpikeTestCheck((PetscBool)(info.restarts == 0), "%s: %" PetscInt_FMT " new starts", where, info.restarts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Twice by blocks: the same bits; and by MatMult(): as many iterations, up to rounding */
static PetscErrorCode TestBeside(const BaijCase *c, KSPType type, PCType pctype, PCSide side, PetscBool sums)
{
  const KSPFusedSpMVType how[] = {KSP_FUSED_SPMV_AUTO, KSP_FUSED_SPMV_BLOCKS, KSP_FUSED_SPMV_PETSC};
  PetscBool              same, cg;
  PetscReal              norm, error;
  PetscInt               its[3];
  Mat                    A;
  Vec                    b, x[3];
  char                   where[128];

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s, %s, %s, %s, blocks of %" PetscInt_FMT ", %" PetscInt_FMT " block rows, %" PetscInt_FMT,
                          type, pctype, PCSides[side], sums ? "merged" : "plain", c->bs, c->mb, c->where));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
  PetscCall(Fill(c, 1, 1, cg, A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(SpikeTestSetRandom(b, 3));
  for (int k = 0; k < 3; k++) {
    KSP ksp;

    PetscCall(VecDuplicate(b, &x[k]));
    PetscCall(Create(type, pctype, side, how[k], A, &ksp));
    if (sums) PetscCall(KSPFusedSetReductions(ksp, KSP_FUSED_REDUCTIONS_MERGED));
    PetscCall(Solve(ksp, b, x[k], k < 2 ? KSP_FUSED_SPMV_BLOCKS : KSP_FUSED_SPMV_PETSC, &its[k], where));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecEqual(x[0], x[1], &same));
  PetscCall(SpikeTestCheck(same, "%s: two solves differ", where));
  PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[0] - its[2]) <= 1 + its[2] / 10),
                           "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " by MatMult()", where, its[0], its[2]));
  PetscCall(VecNorm(x[2], NORM_2, &norm));
  PetscCall(VecAXPY(x[2], -1.0, x[0]));
  PetscCall(VecNorm(x[2], NORM_2, &error));
  PetscCall(SpikeTestSmall(error, 1000 * RTOL * norm, "difference of the solutions", where));
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that somebody has put in the place of ours, twice ours */
static PetscErrorCode (*ours)(Mat, Vec, Vec);

static PetscErrorCode Twice(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall((*ours)(A, x, y));
  PetscCall(VecScale(y, 2.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver whose matrix gets other values, other blocks, another product, goes to the CPU and becomes another one */
static PetscErrorCode TestChanges(const BaijCase *c, KSPType type)
{
  PetscErrorCodeFn *mult = NULL;
  PetscBool         cg;
  PetscInt          its;
  Mat               A, B;
  Vec               b, x;
  KSP               ksp;
  char              where[128];

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, KSPCGFUSED, &cg));
  PetscCall(BaijCreate(PETSC_COMM_WORLD, c, MATBAIJCUDA, &A));
  PetscCall(Fill(c, 1, 1, cg, A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(Create(type, PCJACOBI, PC_LEFT, KSP_FUSED_SPMV_AUTO, A, &ksp));
  for (PetscInt k = 0; k < 9; k++) {
    KSPFusedSpMVType wanted = KSP_FUSED_SPMV_BLOCKS;

    PetscCall(
      PetscSNPrintf(where, sizeof(where), "%s, blocks of %" PetscInt_FMT ", change %" PetscInt_FMT, type, c->bs, k));
    if (k == 1) PetscCall(MatScale(A, 3.0));
    if (k == 2) PetscCall(MatShift(A, 2.0 * c->bs));
    if (k == 3) PetscCall(Fill(c, 1, 5, cg, A)); /* other values in the same blocks */
    if (k == 4) PetscCall(Fill(c, 2, 6, cg, A)); /* and in others beside them */
    if (k == 5) {
      PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
      ours = (PetscErrorCode(*)(Mat, Vec, Vec))mult;
      PetscCall(MatSetOperation(A, MATOP_MULT, (PetscErrorCodeFn *)Twice));
      wanted = KSP_FUSED_SPMV_PETSC;
    }
    if (k == 6) PetscCall(MatSetOperation(A, MATOP_MULT, mult));
    if (k == 7) {
      PetscCall(KSPSolveTranspose(ksp, b, x));
      PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
      PetscCall(MatScale(B, 0.5));
      PetscCall(KSPSetOperators(ksp, B, B));
      PetscCall(MatDestroy(&B));
    }
    if (k == 8) PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, b, x, wanted, &its, where));
  }
  PetscCall(MatBindToCPU(A, PETSC_TRUE)); /* does nothing in a PETSc without devices */
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 4));
  PetscCall(Create(type, PCJACOBI, PC_LEFT, KSP_FUSED_SPMV_AUTO, A, &ksp));
  PetscCall(Solve(ksp, b, x, PetscDefined(HAVE_DEVICE) ? KSP_FUSED_SPMV_PETSC : KSP_FUSED_SPMV_BLOCKS, &its,
                  "bound to the CPU"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const BaijCase large = {4, 900, 900, 5, 0}; /* groups of 512 rows need nothing of others where ranks have many */
  const BaijCase few   = {3, 400, 400, 0, 0}; /* the diagonal blocks alone: no rank needs another */

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  for (int m = 0; m < 3; m++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(baijcases); k++) {
      const BaijCase *c = &baijcases[k];

      if (c->mb != c->nb || c->bs > SPIKE_BAIJ_MAXBS || !c->mb) continue;
      PetscCall(TestBeside(c, methods[m], PCNONE, PC_LEFT, PETSC_FALSE));
      PetscCall(TestBeside(c, methods[m], PCJACOBI, PC_LEFT, PETSC_TRUE));
      if (m) PetscCall(TestBeside(c, methods[m], PCJACOBI, PC_RIGHT, PETSC_FALSE));
      if (k % 3 == 0) PetscCall(TestChanges(c, methods[m]));
    }
    PetscCall(TestBeside(&large, methods[m], PCNONE, PC_LEFT, PETSC_FALSE));
    PetscCall(TestBeside(&few, methods[m], PCNONE, PC_LEFT, PETSC_FALSE));
    PetscCall(TestChanges(&few, methods[m]));
  }
  PetscCall(SpikeTestEnd("baij_ksp"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      output_file: output/baij_ksp_1.out
      test:
         suffix: 1
         nsize: {{1 2 3 5}}
         args: -spike_host_baijcuda
      test:
         suffix: cuda
         nsize: {{1 2 3}}
         requires: cuda gpurun

TEST*/
