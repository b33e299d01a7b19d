/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "The operators of Liu, Seo, Mittal and Huang, small: by stencil, by diagonals and as AIJ, to their tolerances in\n\
 the maximum norm.\n\
  -view       the matrices of one of them, and no solve\n\
  -matrices   the real matrices of the paper, from $SPIKE_MATRICES, and no others\n\n";

#include "ksptest.h"
#include "../tutorials/mmio.h"
#include <petscdmda.h>

typedef enum {
  UNIFORM,    /* -delta^2 on a grid with spacing 1                                    */
  NONUNIFORM, /* equation (7), with the signs of a Laplacian: spacings of 1 to 1.5    */
  ADVECTION,  /* equation (5): 1 - nu dt delta^2 / 2, to 1e-12                        */
  GR3030      /* nine points on 30 x 30: 8 on the diagonal, -1 elsewhere              */
} Kind;
static const char *const kinds[] = {"Poisson", "Poisson, spacing that varies", "advection-diffusion", "GR_30_30"};

static PetscReal Spacing(PetscInt d, PetscInt i)
{
  return (PetscReal)(1.25 + 0.25 * SpikeTestUniform(5 + d, i, 0));
}

/* Coefficient of -delta^2 from the neighbour at `side` of point i along dimension d */
static PetscReal Weight(Kind kind, PetscInt d, PetscInt i, PetscInt side)
{
  return kind == UNIFORM || kind == GR3030
         ? 1.0
         : 1.0 / (Spacing(d, i) * (PetscReal)0.5 * (Spacing(d, i) + Spacing(d, i + side)));
}

static PetscErrorCode Create(Kind kind, PetscInt n, Mat *A)
{
  const PetscInt  points = kind == GR3030 ? 9 : 7, dim = kind == GR3030 ? 2 : 3;
  const PetscReal shift = kind == ADVECTION ? 1.0 : 0.0, factor = kind == ADVECTION ? 0.5 * 0.02 : 1.0;
  PetscMPIInt     size;
  DM              da;
  DMDALocalInfo   info;
  MatStencil      o[9];
  PetscInt        count = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, 1, size, 1, 1,
                           NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                           n, n, 1, 1, size, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  for (PetscInt k = dim == 2 ? 0 : -1; k < (dim == 2 ? 1 : 2); k++)
    for (PetscInt j = -1; j < 2; j++)
      for (PetscInt i = -1; i < 2; i++) {
        if (points == 7 && PetscAbsInt(i) + PetscAbsInt(j) + PetscAbsInt(k) > 1) continue;
        o[count].i   = i;
        o[count].j   = j;
        o[count].k   = k;
        o[count++].c = 0;
      }
  PetscCall(MatCreateGridStencil(da, count, o, A));
  if (kind == UNIFORM || kind == GR3030) {
    PetscScalar v[9];

    for (PetscInt s = 0; s < count; s++) v[s] = o[s].i || o[s].j || o[s].k ? -1.0 : points - 1.0;
    PetscCall(MatGridStencilSetCoefficients(*A, v));
  } else {
    Vec vecs[9];

    PetscCall(DMDAGetLocalInfo(da, &info));
    for (PetscInt s = 0; s < count; s++) {
      PetscScalar *v;
      PetscInt     at = 0;

      PetscCall(DMCreateGlobalVector(da, &vecs[s]));
      PetscCall(VecGetArrayWrite(vecs[s], &v));
      for (PetscInt k = info.zs; k < info.zs + info.zm; k++)
        for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
          for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
            const PetscInt at3[] = {i, j, k}, side[] = {o[s].i, o[s].j, o[s].k};
            PetscReal      sum = 0.0;

            for (PetscInt d = 0; d < 3; d++) {
              if (side[d]) sum -= Weight(kind, d, at3[d], side[d]);
              else if (!side[0] && !side[1] && !side[2])
                sum += Weight(kind, d, at3[d], -1) + Weight(kind, d, at3[d], 1);
            }
            v[at++] = (!side[0] && !side[1] && !side[2] ? shift : 0.0) + factor * sum;
          }
      PetscCall(VecRestoreArrayWrite(vecs[s], &v));
    }
    PetscCall(MatGridStencilSetCoefficientVecs(*A, vecs));
    for (PetscInt s = 0; s < count; s++) PetscCall(VecDestroy(&vecs[s]));
  }
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(Mat A, KSPType type, PetscReal tol, Vec b, Vec x, PetscInt *its, const char where[])
{
  KSP                ksp;
  Vec                r;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPTestCreate(type, PCJACOBI, A, &ksp));
  PetscCall(KSPSetPCSide(ksp, strcmp(type, KSPBCGSFUSED) ? PC_LEFT : PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 0.0, tol, PETSC_CURRENT, 1000));
  PetscCall(KSPSetConvergenceTest(ksp, KSPFusedConvergedInfinity, NULL, NULL));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(
    SpikeTestCheck((PetscBool)(reason == KSP_CONVERGED_ATOL), "%s: ended with %s", where, KSPConvergedReasons[reason]));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm));
  PetscCall(
    SpikeTestSmall(norm, tol * (PetscReal)1.01 + 1000 * PETSC_MACHINE_EPSILON, "maximum norm of the residual", where));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKind(Kind kind)
{
  const PetscReal tols[]  = {5e-2, 5e-3, 5e-4, PetscDefined(USE_REAL_SINGLE) ? 1e-5 : 1e-12};
  const char     *forms[] = {"stencil", "diagonals", "AIJ"};
  Mat             A[3];
  Vec             b, x;

  PetscFunctionBegin;
  PetscCall(Create(kind, kind == GR3030 ? 30 : 14, &A[0]));
  PetscCall(MatConvert(A[0], MATDIA, MAT_INITIAL_MATRIX, &A[1]));
  PetscCall(MatConvert(A[0], MATAIJ, MAT_INITIAL_MATRIX, &A[2]));
  PetscCall(MatCreateVecs(A[0], &x, &b));
  PetscCall(SpikeTestSetRandom(b, 2));
  for (int m = 0; m < (kind == UNIFORM || kind == GR3030 ? 2 : 1); m++)
    for (int t = kind == ADVECTION ? 3 : 0; t < (kind == ADVECTION ? 4 : 3); t++) {
      PetscInt its[3];

      for (int k = 0; k < 3; k++) {
        char where[128];

        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %g", kinds[kind], m ? KSPCGFUSED : KSPBCGSFUSED,
                                forms[k], (double)tols[t]));
        PetscCall(TestSolve(A[k], m ? KSPCGFUSED : KSPBCGSFUSED, tols[t], b, x, &its[k], where));
        PetscCall(SpikeTestCheck((PetscBool)(PetscAbsInt(its[k] - its[0]) <= 1 + its[0] / 5),
                                 "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " by stencil", where, its[k],
                                 its[0]));
      }
    }
  for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Real ones: as diagonals and as AIJ, by BiCGStab and, where they are definite, by CG */
static PetscErrorCode TestFile(const char folder[], const char name[], PetscBool definite)
{
  const PetscReal tols[] = {5e-2, 5e-3, 5e-4};
  char            file[PETSC_MAX_PATH_LEN], where[128];
  Mat             A, D;
  Vec             b, x;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/%s.mtx", folder, name));
  PetscCall(MatLoadFile(PETSC_COMM_WORLD, file, &A));
  PetscCall(MatConvert(A, MATDIA, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(SpikeTestSetRandom(b, 2));
  for (int m = 0; m < (definite ? 2 : 1); m++)
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(tols); t++) {
      PetscInt its[2];

      for (int k = 0; k < 2; k++) {
        PetscCall(PetscSNPrintf(where, sizeof(where), "%s, %s, %s, %g", name, m ? KSPCGFUSED : KSPBCGSFUSED,
                                k ? "diagonals" : "AIJ", (double)tols[t]));
        PetscCall(TestSolve(k ? D : A, m ? KSPCGFUSED : KSPBCGSFUSED, tols[t], b, x, &its[k], where));
      }
    }
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&D));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestView(void)
{
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(Create(GR3030, 3, &A));
  PetscCall(MatConvert(A, MATDIA, MAT_INITIAL_MATRIX, &B));
  PetscCall(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
  PetscCall(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatView(B, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatView(B, PETSC_VIEWER_STDOUT_WORLD));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool view = PETSC_FALSE, matrices = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-view", &view, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-matrices", &matrices, NULL));
  if (view) PetscCall(TestView());
  else {
    for (int kind = UNIFORM; kind <= GR3030 && !matrices; kind++) PetscCall(TestKind((Kind)kind));
    if (matrices) {
      const char *folder = getenv("SPIKE_MATRICES");

      PetscCheck(folder, PETSC_COMM_WORLD, PETSC_ERR_USER, "SPIKE_MATRICES names no folder");
      PetscCall(TestFile(folder, "sherman1", PETSC_FALSE));
      PetscCall(TestFile(folder, "nos7", PETSC_TRUE));
      PetscCall(TestFile(folder, "gr_30_30", PETSC_TRUE));
    }
    PetscCall(SpikeTestEnd("dia_cases"));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      suffix: 1
      nsize: {{1 2 5}}
      output_file: output/dia_cases_1.out

   test:
      suffix: matrices
      nsize: {{1 3}}
      args: -matrices
      requires: matrices double
      output_file: output/dia_cases_1.out

   test:
      suffix: view
      args: -view
      requires: double !complex

TEST*/
