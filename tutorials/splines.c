/* SPDX-License-Identifier: BSD-2-Clause */
/* splines.c: cubic splines along many lines: batches of tridiagonal and of pentadiagonal systems, a PCSPIKE for each */
static char help
  [] = "Natural cubic splines along many lines, each with knots of its own: through values of sin(k pi x), beside that "
       "with\n"
       "half the spacing, and smoothed through values with noise.\n"
       "  -lines <m>: lines; -n <n>: intervals of a line; -smoothing <s>: weight of the curvature in the smoothing\n"
       "  -csv <file>: knots, curve, values with noise and smoothed ones of the third line\n"
       "  -time: milliseconds of the first and of a later solve for both instead\n"
       "  -mat_type aijcusparse: on a GPU; options of the two solvers begin with -spline_ and -smooth_\n\n";

/*
  Knots x_0 < x_1 < ... < x_n of a line, h_i = x_{i+1} - x_i, values f_i; c_i the second derivatives at the knots
  inside, c_0 = c_n = 0:

    R c = Q^T f,   row i of R: h_{i-1}/6, (h_{i-1} + h_i)/3, h_i/6;   row i of Q^T: 1/h_{i-1}, -1/h_{i-1} - 1/h_i, 1/h_i

  The curve g that makes sum (f_i - g_i)^2 + s int g''^2 smallest (C. H. Reinsch: Smoothing by spline functions, Numer.
  Math. 10, 1967):

    (R + s Q^T Q) c = Q^T f,   g = f - s Q c

  R is tridiagonal, Q^T Q pentadiagonal, both are positive definite. Nothing couples two lines: PCSPIKE finds them in
  the entries, factors all at once, and solves with as many lines at once as the machine has lanes.
*/
#include <petscspike.h>
#include <petsctime.h>

typedef struct {
  PetscInt  m, n, first, mine; /* lines of all ranks, intervals; lines first to first + mine - 1 are this rank's */
  PetscReal s;
} Lines;

/* Of line l: from 0 to 1, denser here or there */
static PetscReal Knot(const Lines *lines, PetscInt l, PetscInt i)
{
  const PetscReal t = (PetscReal)i / lines->n;

  return t + 0.5 * PetscSinReal((PetscReal)l) * PetscSinReal(2.0 * PETSC_PI * t) / (2.0 * PETSC_PI);
}

static PetscReal Step(const Lines *lines, PetscInt l, PetscInt i)
{
  return Knot(lines, l, i + 1) - Knot(lines, l, i);
}

static PetscReal Curve(PetscInt l, PetscReal x)
{
  return PetscSinReal((1 + l % 3) * PETSC_PI * x);
}

/* Between -1 and 1, the same on any number of ranks */
static PetscReal Noise(PetscInt l, PetscInt i)
{
  const PetscReal a = 43758.5453 * PetscSinReal(12.9898 * (l % 1000) + 78.233 * i);

  return 2.0 * (a - PetscFloorReal(a)) - 1.0;
}

/* The three entries of row i of Q^T, for the values i - 1, i, i + 1 */
static void Differences(const Lines *lines, PetscInt l, PetscInt i, PetscReal q[3])
{
  q[0] = 1.0 / Step(lines, l, i - 1);
  q[2] = 1.0 / Step(lines, l, i);
  q[1] = -q[0] - q[2];
}

/* R + s Q^T Q; a rank has whole lines, of n - 1 unknowns */
static PetscErrorCode Create(const Lines *lines, PetscReal s, const char prefix[], Mat *A, KSP *ksp)
{
  const PetscInt rows = lines->n - 1, width = s > 0.0 ? 2 : 1;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, lines->mine * rows, lines->mine * rows, lines->m * rows, lines->m * rows));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2 * width + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2 * width + 1, NULL, 0, NULL));
  for (PetscInt l = lines->first; l < lines->first + lines->mine; l++) {
    for (PetscInt i = 1; i <= rows; i++) {
      PetscReal qi[3], qj[3];

      Differences(lines, l, i, qi);
      for (PetscInt j = PetscMax(1, i - width); j <= PetscMin(rows, i + width); j++) {
        PetscReal a = 0.0;

        if (j == i) a = (Step(lines, l, i - 1) + Step(lines, l, i)) / 3.0;
        else if (PetscAbsInt(j - i) == 1) a = Step(lines, l, PetscMin(i, j)) / 6.0;
        Differences(lines, l, j, qj);
        for (PetscInt k = 0; k < 3; k++) /* value i - 1 + k is number i - j + k of row j */
          if (i - j + k >= 0 && i - j + k < 3) a += s * qi[k] * qj[i - j + k];
        PetscCall(MatSetValue(*A, l * rows + i - 1, l * rows + j - 1, a, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c <- A^-1 Q^T f, f the n + 1 values of each line of this rank, one after the other */
static PetscErrorCode Curvatures(const Lines *lines, KSP ksp, const PetscReal f[], Vec c)
{
  const PetscInt rows = lines->n - 1;
  PetscScalar   *b;
  Vec            rhs;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(c, &rhs));
  PetscCall(VecGetArrayWrite(rhs, &b));
  for (PetscInt l = 0; l < lines->mine; l++) {
    for (PetscInt i = 1; i <= rows; i++) {
      const PetscReal *v = f + l * (lines->n + 1) + i - 1;
      PetscReal        q[3];

      Differences(lines, lines->first + l, i, q);
      b[l * rows + i - 1] = q[0] * v[0] + q[1] * v[1] + q[2] * v[2];
    }
  }
  PetscCall(VecRestoreArrayWrite(rhs, &b));
  PetscCall(KSPSolve(ksp, rhs, c));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all ranks */
static PetscErrorCode Largest(PetscReal *a)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, a, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetLines(PetscInt m, PetscInt n, PetscReal s, Lines *lines)
{
  PetscFunctionBeginUser;
  lines->m    = m;
  lines->n    = n;
  lines->s    = s;
  lines->mine = PETSC_DECIDE;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &lines->mine, &lines->m));
  PetscCallMPI(MPI_Scan(&lines->mine, &lines->first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  lines->first -= lines->mine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest error amid the knots of the splines through values of the curves */
static PetscErrorCode Interpolate(const Lines *lines, PetscReal *error)
{
  const PetscInt     n = lines->n;
  PetscReal         *f;
  const PetscScalar *c;
  Mat                A;
  KSP                ksp;
  Vec                v;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(lines->mine * (n + 1), &f));
  for (PetscInt l = 0; l < lines->mine; l++)
    for (PetscInt i = 0; i <= n; i++) f[l * (n + 1) + i] = Curve(lines->first + l, Knot(lines, lines->first + l, i));
  PetscCall(Create(lines, 0.0, "spline_", &A, &ksp));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(Curvatures(lines, ksp, f, v));
  PetscCall(VecGetArrayRead(v, &c));
  *error = 0.0;
  for (PetscInt l = 0; l < lines->mine; l++) {
    const PetscInt number = lines->first + l;

    for (PetscInt i = 0; i < n; i++) { /* (f_i + f_{i+1}) / 2 - h^2 / 16 (c_i + c_{i+1}) */
      const PetscReal h = Step(lines, number, i), *fi = f + l * (n + 1) + i,
                      before = i > 0 ? PetscRealPart(c[l * (n - 1) + i - 1]) : 0.0,
                      after  = i < n - 1 ? PetscRealPart(c[l * (n - 1) + i]) : 0.0,
                      amid   = 0.5 * (fi[0] + fi[1]) - h * h / 16.0 * (before + after);

      *error = PetscMax(*error, PetscAbsReal(amid - Curve(number, Knot(lines, number, i) + 0.5 * h)));
    }
  }
  PetscCall(VecRestoreArrayRead(v, &c));
  PetscCall(Largest(error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&v));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The third line, with the smoothed values g: a rank that has it writes -csv */
static PetscErrorCode Write(const Lines *lines, const PetscReal g[])
{
  const PetscInt number = 2;
  char           name[PETSC_MAX_PATH_LEN];
  PetscBool      set;
  FILE          *fp;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", name, sizeof(name), &set));
  if (!set || number < lines->first || number >= lines->first + lines->mine) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFOpen(PETSC_COMM_SELF, name, "w", &fp));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "x,curve,with noise,smoothed\n"));
  for (PetscInt i = 0; i <= lines->n; i++) {
    const PetscReal x = Knot(lines, number, i), exact = Curve(number, x);

    PetscCall(PetscFPrintf(PETSC_COMM_SELF, fp, "%.6f,%.6f,%.6f,%.6f\n", (double)x, (double)exact,
                           (double)(exact + 0.1 * Noise(number, i)),
                           (double)g[(number - lines->first) * (lines->n + 1) + i]));
  }
  PetscCall(PetscFClose(PETSC_COMM_SELF, fp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  left: what smoothing leaves of the noise, by sums of squares. wrong: the second derivatives that smoothing has found
  are those of the spline through its values; by how much they differ, over the largest
*/
static PetscErrorCode SolveSmooth(const Lines *lines, PetscReal *left, PetscReal *wrong)
{
  const PetscInt     n = lines->n, rows = n - 1;
  PetscReal         *f, squares[2]      = {0.0, 0.0}, size;
  const PetscScalar *c;
  Mat                A, R;
  KSP                smooth, spline;
  Vec                v, w;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(lines->mine * (n + 1), &f));
  for (PetscInt l = 0; l < lines->mine; l++)
    for (PetscInt i = 0; i <= n; i++) {
      const PetscInt number = lines->first + l;

      f[l * (n + 1) + i] = Curve(number, Knot(lines, number, i)) + 0.1 * Noise(number, i);
    }
  PetscCall(Create(lines, lines->s, "smooth_", &A, &smooth));
  PetscCall(Create(lines, 0.0, "spline_", &R, &spline));
  PetscCall(MatCreateVecs(A, &v, &w));
  PetscCall(Curvatures(lines, smooth, f, v));
  PetscCall(VecGetArrayRead(v, &c));
  for (PetscInt l = 0; l < lines->mine; l++) {
    const PetscInt number = lines->first + l;

    for (PetscInt i = 1; i <= rows; i++) { /* f <- f - s Q c */
      PetscReal q[3];

      Differences(lines, number, i, q);
      for (PetscInt k = 0; k < 3; k++)
        f[l * (n + 1) + i - 1 + k] -= lines->s * q[k] * PetscRealPart(c[l * rows + i - 1]);
    }
    for (PetscInt i = 0; i <= n; i++) {
      squares[0] += PetscSqr(f[l * (n + 1) + i] - Curve(number, Knot(lines, number, i)));
      squares[1] += PetscSqr(0.1 * Noise(number, i));
    }
  }
  PetscCall(VecRestoreArrayRead(v, &c));
  PetscCall(Write(lines, f));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, squares, 2, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  *left = PetscSqrtReal(squares[0] / squares[1]);
  PetscCall(Curvatures(lines, spline, f, w));
  PetscCall(VecNorm(v, NORM_INFINITY, &size));
  PetscCall(VecAXPY(w, -1.0, v));
  PetscCall(VecNorm(w, NORM_INFINITY, wrong));
  *wrong /= size;
  PetscCall(KSPDestroy(&smooth));
  PetscCall(KSPDestroy(&spline));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&R));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Milliseconds of solves: the first one factors; a GPU has finished when the host knows a norm */
static PetscErrorCode Time(const Lines *lines)
{
  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscLogDouble t[3];
    PetscReal      norm;
    Mat            A;
    KSP            ksp;
    Vec            b, x;

    PetscCall(Create(lines, k ? lines->s : 0.0, k ? "smooth_" : "spline_", &A, &ksp));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(VecNorm(b, NORM_2, &norm));
    for (int solve = 0; solve < 2; solve++) {
      PetscCall(PetscTime(&t[solve]));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(VecNorm(x, NORM_2, &norm));
    }
    PetscCall(PetscTime(&t[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: first solve %.3f ms, second %.3f ms\n",
                          k ? "smoothing, pentadiagonal" : "splines, tridiagonal", 1e3 * (double)(t[1] - t[0]),
                          1e3 * (double)(t[2] - t[1])));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  m = 200, n = 48;
  PetscReal s = 1e-5, error[2], ratio, left = 1.0, wrong = 1.0;
  PetscBool timed = PETSC_FALSE;
  Lines     lines;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lines", &m, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-smoothing", &s, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-time", &timed, NULL));
  PetscCheck(m > 0 && n > 1 && s > 0.0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "Lines from 1, intervals from 2, a weight above 0");
  if (timed) {
    PetscCall(SetLines(m, n, s, &lines));
    PetscCall(Time(&lines));
    PetscCall(PetscFinalize());
    return 0;
  }
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(SetLines(m, n << k, s, &lines));
    PetscCall(Interpolate(&lines, &error[k]));
  }
  ratio = error[0] / error[1];
  if (error[1] < 1e-5) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the splines < 0.00001\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error of the splines %.2g\n", (double)error[1]));
  if (ratio > 14.0 && ratio < 18.0)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "half the spacing: a sixteenth of the error\n"));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "half the spacing: errors %.3g and %.3g, ratio %.3g\n", (double)error[0],
                          (double)error[1], (double)ratio));
  PetscCall(SolveSmooth(&lines, &left, &wrong));
  if (left < 0.5) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "smoothing leaves less than half of the noise\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "smoothing leaves %.2g of the noise\n", (double)left));
  if (wrong < 1e-8) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the smoothed curve is the spline through its values\n"));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the smoothed curve differs from its spline by %.2g\n", (double)wrong));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      requires: !single
      output_file: output/splines_1.out
      test:
         suffix: 1
         nsize: {{1 2 3}}
      test:
         suffix: kinds
         args: -lines 7 -n 40 -smooth_pc_spike_batch_type {{always never}}
      test:
         suffix: cuda
         requires: cuda gpurun
         nsize: {{1 2}}
         args: -mat_type aijcusparse -use_gpu_aware_mpi 0

TEST*/
