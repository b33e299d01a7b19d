/* SPDX-License-Identifier: BSD-2-Clause */
/*
  idrpaper.c: the setting of Anzt, Kreutzer, Ponce, Peterson, Wellein and Dongarra (Optimization and performance
  evaluation of the IDR iterative Krylov solver on GPUs, 2016): cycles of KSPIDRFUSED with residual smoothing against
  their roofline, on matrices from files and on matrices shaped as theirs
*/
static char help[] = "Fused IDR(s) with smoothing against the roofline of the paper.\n\
  -f FILE1,FILE2,... matrices, Matrix Market or PETSc's format; without, matrices with the rows, entries a row and\n\
 padding of the ten of the paper's Table 1\n\
  -shapes NAMES      of these ten (all)\n\
  -scale f           times the rows of the paper's (1)\n\
  -s s1,s2,...       dimensions of the shadow space (1,2,4,8)\n\
  -cycles k          outer iterations of a solve (100)\n\
  -solves k          solves; the first does not count, the median of the others does (4)\n\
  -smoothing         residual smoothing, as in the paper (true)\n\
  -idr               KSPIDR beside (true)\n\
  -bench_mat_type t  aij, aijcusparse\n\
  -bandwidth b       GB/s that the efficiency counts with (measured: the fastest copy of 2^24 to 2^26 values)\n\
  -copies n1,...     rates of copies of so many numbers, as in the paper's Figure 4 (none)\n\
  -csv FILE          the same, in a file\n\n\
Efficiency: the paper's count of bytes (Table 3, formula 2; without smoothing less what it takes) at the rate of a\n\
 copy, over the time. It assumes that no two operations share what they read, which fused kernels do: above 1 where\n\
 sharing saves more than is lost. \"auto\" and \"eff\" have the default product, -ksp_fused_spmv auto: by a copy\n\
 of the matrix where one suits, else by MatMult(); \"best\" has the faster of that and MatMult(). \"padded\"\n\
 counts the places of a copy in slices, as their right-hand panel, and entries where there is no such copy.\n\
 \"own\" counts the bytes that our kernels move. \"product\" is one product alone, \"rest\" what a product has\n\
 beside it in a cycle, each with its part of the roofline, both by MatMult(): the paper's Figure 6.\n\n";

#include "common/csvfile.h"
#include "common/idrshapes.h"
#include "common/idrtime.h"

/* Places of slices of 32 rows */
static PetscErrorCode CountPlaces(Mat A, PetscReal *places)
{
  const PetscInt *ia, *ja;
  PetscInt        n, longest = 0;
  PetscBool       done;

  PetscFunctionBegin;
  *places = 0.0;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The matrix does not tell its rows");
  for (PetscInt i = 0; i < n; i++) {
    longest = PetscMax(i % 32 ? longest : 0, ia[i + 1] - ia[i]);
    if (i % 32 == 31 || i == n - 1) *places += 32.0 * longest;
  }
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of MatMult(), the median of five times 20 */
static PetscErrorCode Product(Mat A, PetscReal *median)
{
  Vec            x, y;
  double         t[5];
  PetscLogDouble t0 = 0.0, t1 = 0.0;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  for (int k = -1; k < 5; k++) {
    PetscCall(Wait(PETSC_COMM_SELF, &t0));
    for (int i = 0; i < 20; i++) PetscCall(MatMult(A, x, y));
    PetscCall(Wait(PETSC_COMM_SELF, &t1));
    if (k >= 0) t[k] = (t1 - t0) / 20;
  }
  *median = (PetscReal)Median(5, t);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  ss[16], nss, cycles, solves;
  PetscBool smoothing, idr;
  PetscReal bandwidth;
  FILE     *csv;
} Options;

/* One matrix: a line for each s. paper: its padding in the paper, negative where it is not known */
static PetscErrorCode Lines(const void *ctx, const char name[], Mat A, PetscReal paper)
{
  const Options *o = (const Options *)ctx;
  MatInfo        info;
  PetscReal      places, product = 0.0, n;
  PetscInt       rows;

  PetscFunctionBegin;
  PetscCall(CountPlaces(A, &places));
  PetscCall(Product(A, &product));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetSize(A, &rows, NULL));
  n = (PetscReal)rows;
  for (PetscInt i = 0; i < o->nss; i++) {
    const PetscReal s = (PetscReal)o->ss[i], all = GetRoofline(n, info.nz_used, s, o->smoothing) / o->bandwidth,
                    spmv = ((sizeof(PetscScalar) + 4) * info.nz_used + 2 * sizeof(PetscScalar) * n) / o->bandwidth;
    PetscReal        first, theirs = 0.0, ms[2], matrix[2], bytes;
    char             what[2][WHATSIZE] = {"", ""};
    KSPFusedSpMVType form[2]           = {KSP_FUSED_SPMV_PETSC, KSP_FUSED_SPMV_PETSC}, none;
    PetscBool        copy;

    for (int k = 0; k < 2; k++)
      PetscCall(Time(A, k ? FUSED_COPY : FUSED_PLAIN, KSP_FUSED_SPMV_AUTO, PCNONE, o->smoothing, o->ss[i],
                     o->cycles * (o->ss[i] + 1), o->solves, &first, &ms[k], &matrix[k], &form[k], what[k]));
    if (o->idr)
      PetscCall(Time(A, PETSC_IDR, KSP_FUSED_SPMV_PETSC, PCNONE, PETSC_FALSE, o->ss[i], o->cycles * (o->ss[i] + 1),
                     o->solves, &first, &theirs, &bytes, &none, what[0]));
    copy = (PetscBool)(form[1] != KSP_FUSED_SPMV_PETSC);
    if (!copy) ms[1] = ms[0], matrix[1] = matrix[0]; /* the same product */
    bytes = Budget(n, matrix[1], s, copy, o->smoothing);
    {
      const PetscReal stored = form[1] == KSP_FUSED_SPMV_SELL ? places : info.nz_used, cycle = (s + 1) * ms[1],
                      padded = GetRoofline(n, stored, s, o->smoothing) / o->bandwidth / cycle,
                      best   = all / ((s + 1) * PetscMin(ms[0], ms[1]));

      PetscCall(PetscPrintf(PETSC_COMM_SELF,
                            "%-16s %8" PetscInt_FMT " %6.2f %6.1f %6.1f %2" PetscInt_FMT
                            " %9.4f %9.4f %9.4f %6.2f %6.2f %6.2f %6.2f | %9.4f %9.4f %9.4f %9.4f  %s\n",
                            name, rows, info.nz_used / n, (double)(100.0 * (places / info.nz_used - 1.0)),
                            (double)(paper < 0.0 ? NAN : 100.0 * paper), o->ss[i],
                            o->idr ? (double)(1e3 * theirs) : NAN, (double)(1e3 * ms[0]), (double)(1e3 * ms[1]),
                            (double)(all / cycle), (double)best, (double)padded, (double)(bytes / o->bandwidth / cycle),
                            (double)(1e3 * product), (double)(1e3 * spmv), (double)(1e3 * (ms[0] - product)),
                            (double)(1e3 * (all / (s + 1) - spmv)), what[1]));
      if (o->csv)
        fprintf(o->csv,
                "%s,%ld,%.4g,%.4g,%.4g,%ld,%d,%.6g,%.6g,%.6g,%.4g,%.4g,%.4g,%.6g,%.6g,%.6g,%.6g,%g,%s,%.4g,%.5g\n",
                name, (long)rows, info.nz_used / n, (double)(places / info.nz_used - 1.0), (double)paper,
                (long)o->ss[i], (int)o->smoothing, (double)(1e3 * theirs), (double)(1e3 * ms[0]), (double)(1e3 * ms[1]),
                (double)(all / cycle), (double)padded, (double)(bytes / o->bandwidth / cycle), (double)(1e3 * product),
                (double)(1e3 * spmv), (double)(1e3 * (ms[0] - product)), (double)(1e3 * (all / (s + 1) - spmv)),
                (double)Words(s, copy, o->smoothing), KSPFusedSpMVTypes[form[1]], (double)best,
                (double)(1e-9 * o->bandwidth));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Options   o = {{1, 2, 4, 8}, 16, 100, 4, PETSC_TRUE, PETSC_TRUE, 0.0, NULL};
  Matrices  matrices;
  PetscInt  copies[32], ncopies = 32, values = 0;
  PetscReal specified;
  PetscBool set;
  char      type[64] = MATAIJ, csv[PETSC_MAX_PATH_LEN];
  Mat       A;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(MatricesFromOptions(&matrices));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-s", o.ss, &o.nss, &set));
  if (!set) o.nss = 4;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &o.cycles, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &o.solves, NULL));
  PetscCheck(o.cycles > 0 && o.solves > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-cycles and -solves from 1");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smoothing", &o.smoothing, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-idr", &o.idr, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-bench_mat_type", type, sizeof(type), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-bandwidth", &o.bandwidth, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-copies", copies, &ncopies, &set));
  if (!set) ncopies = 0;
  if (o.idr) PetscCall(SpikeKSPHasType(KSPIDR, &o.idr));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", csv, sizeof(csv), &set));
  if (set) {
    PetscCall(BenchCSVOpen(csv,
                           "name,rows,mean,padding,paper_padding,s,smoothing,idr_ms,ms,copy_ms,efficiency,padded,own,"
                           "product_ms,product_roofline,rest_ms,rest_roofline,vectors,form,best,bandwidth",
                           &o.csv));
  }
  PetscCall(Poisson(8, 7, type, &A)); /* says where vectors are */
  if (o.bandwidth > 0.0) o.bandwidth *= 1e9;
  else if (!ncopies) PetscCall(MaximumBandwidth(A, &o.bandwidth, &values));
  for (PetscInt k = 0; k < ncopies; k++) {
    PetscReal rate;

    PetscCall(MeasureBandwidth(A, copies[k], &rate));
    PetscCall(
      PetscPrintf(PETSC_COMM_SELF, "copy of %" PetscInt_FMT " numbers: %.1f GB/s\n", copies[k], (double)(1e-9 * rate)));
  }
  PetscCall(SpecifiedBandwidth(&specified));
  if (ncopies && specified > 0.0)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "specification: %.1f GB/s\n", (double)(1e-9 * specified)));
  PetscCall(MatDestroy(&A));
  if (!ncopies) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "%s, smoothing %s, %" PetscInt_FMT " cycles; ms a product, medians of %" PetscInt_FMT
                          " solves; efficiency by the paper's count at %.0f GB/s",
                          type, o.smoothing ? "on" : "off", o.cycles, PetscMax(1, o.solves - 1),
                          (double)(1e-9 * o.bandwidth)));
    if (values) PetscCall(PetscPrintf(PETSC_COMM_SELF, ", a copy of %" PetscInt_FMT " values", values));
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "\n%-16s %8s %6s %6s %6s %2s %9s %9s %9s %6s %6s %6s %6s | %9s %9s %9s %9s\n", "matrix",
                          "rows", "nz/row", "pad, %", "paper", "s", "idr", "MatMult", "auto", "eff", "best", "padded",
                          "own", "product", "roofline", "rest", "roofline"));
    PetscCall(ForEachShape(&matrices, type, Lines, &o));
  }
  PetscCall(MatricesDestroy(&matrices));
  PetscCall(BenchCSVClose(csv, &o.csv));
  PetscCall(PetscFinalize());
  return 0;
}
