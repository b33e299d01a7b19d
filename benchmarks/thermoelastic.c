/* SPDX-License-Identifier: BSD-2-Clause */
/*
  thermoelastic.c: time to solution of PCBLOCKILU beside PETSc's block Jacobi with ILU, on a three-dimensional problem
  with four unknowns a node, in one run
*/
static char help
  [] = "A step of coupled thermoelasticity in three dimensions: three displacements and a temperature at each node,\n\
 trilinear elements, stiff inclusions.\n\
  -n 24,40           nodes in each direction\n\
  -points 27         27, or 7: the couplings along the axes alone, as finite volumes have them\n\
  -jump 10           stiffness of the inclusions, relative to the rest\n\
  -rtol 1e-8         of the solves\n\
  -repeat 3          setups with new values and solves; medians are shown\n\
  -mat_type t        aij, aijcusparse\n\
Ours have the prefixes ours_ and colors_, PETSc's petsc_.\n\n";

#include "common/bandcase.h"
#include <petscksp.h>

#define CORNERS 8

/*
  Matrix of an element of edge 1 for unknowns u, v, w, T of its corners: Lame's constants for Young's modulus 1 and
  Poisson's ratio 0.3; a time step for the temperature, thermal stress and heat of deformation. Corner a has the bits
  (x, y, z)
*/
static void ElementMatrix(PetscReal k[CORNERS][CORNERS][4][4])
{
  const PetscReal nu = 0.3, lambda = nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), mu = 0.5 / (1.0 + nu), capacity = 0.2,
                  stress = 0.3, heat = 0.3, at = 0.5 / PetscSqrtReal(3.0);

  PetscCallAbort(PETSC_COMM_SELF, PetscArrayzero((PetscReal *)k, CORNERS * CORNERS * 16));
  for (PetscInt q = 0; q < 8; q++) {
    const PetscReal p[3] = {0.5 + (q & 1 ? at : -at), 0.5 + (q & 2 ? at : -at), 0.5 + (q & 4 ? at : -at)};
    PetscReal       N[CORNERS], d[CORNERS][3];

    for (PetscInt a = 0; a < CORNERS; a++) {
      PetscReal f[3], g[3];

      for (PetscInt i = 0; i < 3; i++) {
        f[i] = (a >> i) & 1 ? p[i] : 1.0 - p[i];
        g[i] = (a >> i) & 1 ? 1.0 : -1.0;
      }
      N[a]    = f[0] * f[1] * f[2];
      d[a][0] = g[0] * f[1] * f[2];
      d[a][1] = f[0] * g[1] * f[2];
      d[a][2] = f[0] * f[1] * g[2];
    }
    for (PetscInt a = 0; a < CORNERS; a++) {
      for (PetscInt b = 0; b < CORNERS; b++) {
        const PetscReal grad = d[a][0] * d[b][0] + d[a][1] * d[b][1] + d[a][2] * d[b][2];

        for (PetscInt i = 0; i < 3; i++) {
          for (PetscInt j = 0; j < 3; j++)
            k[a][b][i][j] += 0.125 * (lambda * d[a][i] * d[b][j] + mu * d[a][j] * d[b][i] + (i == j ? mu * grad : 0.0));
          k[a][b][i][3] -= 0.125 * stress * d[a][i] * N[b];
          k[a][b][3][i] += 0.125 * heat * N[a] * d[b][i];
        }
        k[a][b][3][3] += 0.125 * (grad + capacity * N[a] * N[b]);
      }
    }
  }
}

/*
  Rows node by node from the elements around them; nodes at x = 0 do not move and keep their temperature: unit rows,
  whose columns are zero elsewhere. All entries of a block are stored
*/
static PetscErrorCode Create(PetscInt n, PetscInt points, PetscReal jump, MatType type, Mat *A)
{
  const PetscInt N = n * n * n;
  PetscReal      k[CORNERS][CORNERS][4][4];
  PetscInt      *ai, *aj;
  PetscScalar   *aa;
  PetscCount     nz = 0;

  PetscFunctionBeginUser;
  PetscCheck((PetscCount)N * points * 16 <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "n = %" PetscInt_FMT " has more entries than PetscInt counts", n);
  ElementMatrix(k);
  PetscCall(PetscMalloc3(4 * N + 1, &ai, (size_t)16 * points * N, &aj, (size_t)16 * points * N, &aa));
  ai[0] = 0;
  for (PetscInt node = 0; node < N; node++) {
    const PetscInt at[3] = {node % n, node / n % n, node / n / n};
    PetscInt       columns[27], count = 0;
    PetscReal      blocks[27][4][4];

    PetscCall(PetscArrayzero((PetscReal *)blocks, 27 * 16));
    for (PetscInt o = 0; o < 27; o++) {
      const PetscInt step[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
      PetscInt       to[3];
      PetscBool      inside = PETSC_TRUE;

      for (PetscInt i = 0; i < 3; i++) {
        to[i]  = at[i] + step[i];
        inside = (PetscBool)(inside && to[i] >= 0 && to[i] < n);
      }
      if (!inside || (points == 7 && PetscAbsInt(step[0]) + PetscAbsInt(step[1]) + PetscAbsInt(step[2]) > 1)) continue;
      for (PetscInt a = 0; a < CORNERS; a++) { /* this node is corner a of the element, the other one corner b */
        PetscInt  b   = 0, element[3];
        PetscBool has = PETSC_TRUE, soft = PETSC_FALSE;

        for (PetscInt i = 0; i < 3; i++) {
          const PetscInt c = ((a >> i) & 1) + step[i];

          element[i] = at[i] - ((a >> i) & 1);
          has        = (PetscBool)(has && c >= 0 && c <= 1 && element[i] >= 0 && element[i] < n - 1);
          soft       = (PetscBool)(soft || (element[i] / 5) % 2 == 0);
          b |= (c & 1) << i;
        }
        if (!has) continue;
        for (PetscInt i = 0; i < 4; i++)
          for (PetscInt j = 0; j < 4; j++) blocks[count][i][j] += (soft ? 1.0 : jump) * k[a][b][i][j];
      }
      if (at[0] == 0 || to[0] == 0) {
        for (PetscInt i = 0; i < 4; i++)
          for (PetscInt j = 0; j < 4; j++) blocks[count][i][j] = o == 13 && i == j ? 1.0 : 0.0;
      }
      columns[count++] = to[0] + n * (to[1] + n * to[2]);
    }
    for (PetscInt i = 0; i < 4; i++) {
      for (PetscInt c = 0; c < count; c++)
        for (PetscInt j = 0; j < 4; j++, nz++) {
          aj[nz] = 4 * columns[c] + j;
          aa[nz] = blocks[c][i][j];
        }
      ai[4 * node + i + 1] = (PetscInt)nz;
    }
  }
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, 4 * N, 4 * N, 4 * N, 4 * N));
  PetscCall(MatSetBlockSize(*A, 4));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocationCSR(*A, ai, aj, aa));
  PetscCall(PetscFree3(ai, aj, aa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ms of the first setup and solve, with all that comes once; of those with new values, medians */
static PetscErrorCode Time(const char name[], KSPType type, PCType pctype, PetscBool multicolor, Mat A, Vec b,
                           PetscReal rtol, int repeat, double *first, double *again)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, r;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm, bnorm;
  PetscLogDouble     t0, t1, t2;
  double             setup[MAXREPEAT], solve[MAXREPEAT];

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(Wait(PETSC_COMM_SELF, &t0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, name));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetPCSide(ksp, PC_LEFT)); /* PETSc's default: the same for both */
  PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 2000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  if (multicolor) PetscCall(PCBlockILUSetMulticolor(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(Wait(PETSC_COMM_SELF, &t1));
  *first = 1e3 * (t1 - t0);
  for (int k = 0; k < repeat; k++) {
    PetscCall(MatScale(A, -1.0)); /* new values */
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait(PETSC_COMM_SELF, &t2));
    setup[k] = 1e3 * (t1 - t0);
    solve[k] = 1e3 * (t2 - t1);
  }
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *again = Median(repeat, setup) + Median(repeat, solve);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "  %-8s %-10s %-9s %-10s %10.2f %10.2f %10.2f %10.2f %5" PetscInt_FMT "  %.1e  %s\n", name,
                        type, pctype, multicolor ? "multicolor" : "", *first, Median(repeat, setup),
                        Median(repeat, solve), *again, its, (double)(norm / bnorm), KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What comes once in a process, and once for a matrix on a device, is not the first method's */
static PetscErrorCode Warm(Mat A, Vec b, PetscReal rtol)
{
  static const struct {
    KSPType ksp;
    PCType  pc;
  } each[] = {{KSPBCGS, PCBJACOBI}, {KSPBCGSFUSED, PCBLOCKILU}};
  Vec x;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(MatMult(A, b, x));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(each); k++) {
    KSP ksp;
    PC  pc;

    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, each[k].ksp));
    PetscCall(KSPSetTolerances(ksp, rtol, PETSC_CURRENT, PETSC_CURRENT, 2));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, each[k].pc));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  sizes[16] = {24, 40}, nsizes = 16, points = 27, repeat = 3;
  PetscReal jump = 10.0, rtol = 1e-8;
  char      type[64] = MATAIJ;
  PetscBool set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &set));
  if (!set) nsizes = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-jump", &jump, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_type", type, sizeof(type), NULL));
  PetscCheck(points == 7 || points == 27, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-points is 7 or 27");
  repeat = PetscMax(1, PetscMin(repeat, MAXREPEAT));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s, %" PetscInt_FMT " points; ms: first setup and solve, then with new values setup, solve "
                        "and both, medians of %" PetscInt_FMT "; iterations, true residual\n",
                        type, points, repeat));
  for (PetscInt s = 0; s < nsizes; s++) {
    Mat    A;
    Vec    b;
    double first[5], again[5];

    PetscCall(Create(sizes[s], points, jump, type, &A));
    PetscCall(MatCreateVecs(A, NULL, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(Warm(A, b, rtol));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "n %" PetscInt_FMT ": %" PetscInt_FMT " block rows of 4\n", sizes[s],
                          sizes[s] * sizes[s] * sizes[s]));
    PetscCall(Time("petsc_", KSPBCGS, PCBJACOBI, PETSC_FALSE, A, b, rtol, (int)repeat, &first[0], &again[0]));
    PetscCall(Time("petsc_", KSPBCGSFUSED, PCBJACOBI, PETSC_FALSE, A, b, rtol, (int)repeat, &first[1], &again[1]));
    PetscCall(Time("ours_", KSPBCGS, PCBLOCKILU, PETSC_FALSE, A, b, rtol, (int)repeat, &first[2], &again[2]));
    PetscCall(Time("ours_", KSPBCGSFUSED, PCBLOCKILU, PETSC_FALSE, A, b, rtol, (int)repeat, &first[3], &again[3]));
    PetscCall(Time("colors_", KSPBCGSFUSED, PCBLOCKILU, PETSC_TRUE, A, b, rtol, (int)repeat, &first[4], &again[4]));
    PetscCall(
      PetscPrintf(PETSC_COMM_SELF,
                  "  the first over the others, first time and again: %.2f %.2f, %.2f %.2f, %.2f %.2f, %.2f %.2f\n",
                  first[0] / first[1], again[0] / again[1], first[0] / first[2], again[0] / again[2],
                  first[0] / first[3], again[0] / again[3], first[0] / first[4], again[0] / again[4]));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(PetscFinalize());
  return 0;
}
