/* SPDX-License-Identifier: BSD-2-Clause */
/*
  dominance.c: how good block and truncated SPIKE are as the diagonal dominance falls; Table 1 of Li, Seidl and Negrut,
  TR-2012-04
*/
static char help
  [] = "Random bands: off-diagonals uniform in [-10, 10], a_ii = d * sum of the magnitudes of the others in the row.\n"
       "First table:  ||A x - b||_inf / ||b||_inf in percent after one application x = M^-1 b, mean over -seeds "
       "matrices, beside the paper's.\n"
       "Second table: iterations of BiCGStab, preconditioned from the right, to 1e-8 of ||b||_2; ~ after them: "
       "BiCGStab says converged, but ||b - A x||_2\n"
       "by MatMult is above 1e-7 ||b||_2 for at least one matrix.\n"
       "Third table:  what comes nearest to the paper's variant, both figures: factors in single precision, the last "
       "number of -partitions, and either block,\n"
       "which neglects the coupling, or truncated with a window tolerance that ends corrections after about 2 K rows, "
       "from which the paper has the tips.\n"
       "The paper says neither N, K, partition length nor right-hand side of its table, and works in single precision; "
       "here b is uniform in [-1, 1].\n"
       "  -n <200000> -k <50>      rows, half-bandwidth\n"
       "  -d <1,10,...>            dominances of the first table, -dksp <0.05,0.06,...> of the second\n"
       "  -partitions <8,80>       on all ranks together\n"
       "  -seeds <3> -maxit <100>\n"
       "  -mat_type aijcusparse    on a GPU\n\n";

#include <petscspike.h>
#include <petsctime.h>

#define MAXD 32
#define MAXP 8

typedef struct {
  PCSpikeType         type;
  PetscSpikePrecision precision;
  PetscInt            partitions; /* on all ranks together */
  PetscReal           window;     /* tolerance; negative: the default, or that of the options */
} Config;

/* The paper's average relative residual in percent, 0 where it gives none */
static PetscReal RunPaper(PetscReal d)
{
  const PetscReal table[][2] = {{1.0, 35.0}, {10.0, 1.2}, {100.0, 0.2}, {1000.0, 0.02}, {10000.0, 0.002}};

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(table); k++)
    if (table[k][0] == d) return table[k][1];
  return 0.0;
}

/*
  Uniform in [-1, 1], a function of its arguments alone (splitmix64), so that the matrix is the same on any number of
  ranks
*/
static PetscReal Uniform(PetscInt seed, PetscInt i, PetscInt j)
{
  uint64_t z = ((uint64_t)seed << 58) ^ ((uint64_t)i << 20) ^ (uint64_t)j;

  for (int k = 0; k < 2; k++) {
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
  }
  return (PetscReal)(2.0 * ((double)(z >> 11) / 9007199254740992.0) - 1.0);
}

/* The band with a zero diagonal, the sums of the magnitudes in its rows, and b */
static PetscErrorCode CreateBand(MPI_Comm comm, PetscInt n, PetscInt K, PetscInt seed, Mat *A, Vec *sum, Vec *b)
{
  PetscInt    rstart, rend, cols[2 * 512 + 1];
  PetscScalar vals[2 * 512 + 1];

  PetscFunctionBeginUser;
  PetscCheck(K >= 0 && K <= 512, comm, PETSC_ERR_ARG_OUTOFRANGE, "-k must be between 0 and 512, got %" PetscInt_FMT, K);
  PetscCall(MatCreate(comm, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatSeqAIJSetPreallocation(*A, 2 * K + 1, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 2 * K + 1, NULL, K, NULL));
  PetscCall(MatCreateVecs(*A, sum, b));
  PetscCall(MatGetOwnershipRange(*A, &rstart, &rend));
  for (PetscInt i = rstart; i < rend; i++) {
    PetscInt  nc = 0;
    PetscReal s  = 0.0;

    for (PetscInt j = PetscMax(i - K, 0); j <= PetscMin(i + K, n - 1); j++) {
      cols[nc]   = j;
      vals[nc++] = i == j ? 0.0 : 10.0 * Uniform(seed, i, j);
      s += PetscAbsScalar(vals[nc - 1]);
    }
    PetscCall(MatSetValues(*A, 1, &i, nc, cols, vals, INSERT_VALUES));
    PetscCall(VecSetValue(*sum, i, s, INSERT_VALUES));
    PetscCall(VecSetValue(*b, i, Uniform(seed, i, n), INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(VecAssemblyBegin(*sum));
  PetscCall(VecAssemblyEnd(*sum));
  PetscCall(VecAssemblyBegin(*b));
  PetscCall(VecAssemblyEnd(*b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* diag(A) <- d * sum */
static PetscErrorCode SetDominance(Mat A, Vec sum, PetscReal d)
{
  Vec diag;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(sum, &diag));
  PetscCall(VecAXPBY(diag, d, 0.0, sum));
  PetscCall(MatDiagonalSet(A, diag, INSERT_VALUES));
  PetscCall(VecDestroy(&diag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Configure(PC pc, const Config *c)
{
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetType(pc, c->type));
  PetscCall(PCSpikeSetPrecision(pc, c->precision));
  PetscCall(PCSpikeSetLocalPartitions(pc, PetscMax(c->partitions / size, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After the options, which are for the other tables */
static PetscErrorCode SetWindow(PC pc, const Config *c)
{
  PetscFunctionBeginUser;
  if (c->window >= 0.0) PetscCall(PCSpikeSetWindowTolerance(pc, c->window));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In percent; negative when the factorization failed */
static PetscErrorCode OneApplication(Mat A, Vec b, const Config *c, PetscReal *error, PetscReal *decay)
{
  PC             pc;
  PCFailedReason why;
  PCSpikeInfo    info;
  Vec            x, r;
  PetscReal      bnorm;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(Configure(pc, c));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(SetWindow(pc, c));
  PetscCall(PCSetUp(pc));
  PetscCall(PCGetFailedReason(pc, &why));
  PetscCall(PCSpikeGetInfo(pc, &info));
  *decay = info.decay;
  *error = -1.0;
  if (!why) {
    PetscCall(PCApply(pc, b, x));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAXPY(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_INFINITY, error));
    PetscCall(VecNorm(b, NORM_INFINITY, &bnorm));
    *error *= 100.0 / bnorm;
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its < 0: not converged */
static PetscErrorCode Iterate(Mat A, Vec b, PetscInt maxit, const Config *c, PetscInt *its, PetscReal *relres)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, r;
  PetscReal          bnorm;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPBCGS));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, 1e10, maxit));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(Configure(pc, c));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(SetWindow(pc, c));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = -1;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, relres));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *relres /= bnorm;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintHead(MPI_Comm comm, const char title[], PetscInt nc, const Config c[], PetscBool paper)
{
  const char *const precisions[] = {"double", "single", "bf16", "fp16"};

  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(comm, "\n%s\n%8s", title, ""));
  if (paper) PetscCall(PetscPrintf(comm, " %9s", ""));
  for (PetscInt k = 0; k < nc; k++)
    PetscCall(PetscPrintf(comm, " %11s",
                          c[k].partitions == 1 ? "exact" : (c[k].type == PC_SPIKE_BLOCK ? "block" : "truncated")));
  PetscCall(PetscPrintf(comm, "\n%8s", ""));
  if (paper) PetscCall(PetscPrintf(comm, " %9s", "paper"));
  for (PetscInt k = 0; k < nc; k++) PetscCall(PetscPrintf(comm, " %11s", precisions[c[k].precision]));
  PetscCall(PetscPrintf(comm, "\n%8s", "d"));
  if (paper) PetscCall(PetscPrintf(comm, " %9s", "truncated"));
  for (PetscInt k = 0; k < nc; k++) PetscCall(PetscPrintf(comm, " %7s%4" PetscInt_FMT, "p =", c[k].partitions));
  PetscCall(PetscPrintf(comm, "%s\n", paper ? "   decay est." : "   worst residual"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first table: error[nd nc], -1: a zero pivot */
static PetscErrorCode PrintErrors(MPI_Comm comm, PetscInt nd, const PetscReal d[], PetscInt nc, const Config c[],
                                  const PetscReal error[], const PetscReal decay[])
{
  PetscFunctionBeginUser;
  PetscCall(PrintHead(comm, "Error of one application, percent (- : zero pivot)", nc, c, PETSC_TRUE));
  for (PetscInt i = 0; i < nd; i++) {
    PetscCall(PetscPrintf(comm, "%8.5g", (double)d[i]));
    if (RunPaper(d[i]) > 0.0) PetscCall(PetscPrintf(comm, " %9.4g", (double)RunPaper(d[i])));
    else PetscCall(PetscPrintf(comm, " %9s", ""));
    for (PetscInt k = 0; k < nc; k++) {
      if (error[i * nc + k] < 0.0) PetscCall(PetscPrintf(comm, " %11s", "-"));
      else PetscCall(PetscPrintf(comm, " %11.2g", (double)error[i * nc + k]));
    }
    PetscCall(PetscPrintf(comm, " %12.1e\n", (double)decay[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second table: sums of iterations over the seeds, its[nd nc], -1: not solved; the largest residuals */
static PetscErrorCode PrintIterations(MPI_Comm comm, PetscInt nd, const PetscReal d[], PetscInt nc, const Config c[],
                                      const PetscInt its[], const PetscReal relres[], PetscInt seeds)
{
  PetscFunctionBeginUser;
  PetscCall(PrintHead(comm,
                      "Iterations of BiCGStab to 1e-8, mean of the matrices (- : at least one not solved, ~ : true "
                      "residual above 1e-7)",
                      nc, c, PETSC_FALSE));
  for (PetscInt i = 0; i < nd; i++) {
    PetscReal worst = 0.0;

    PetscCall(PetscPrintf(comm, "%8.5g", (double)d[i]));
    for (PetscInt k = 0; k < nc; k++) {
      const PetscReal rr = relres[i * nc + k];

      if (its[i * nc + k] < 0) PetscCall(PetscPrintf(comm, " %10s ", "-"));
      else PetscCall(PetscPrintf(comm, " %10.1f%c", (double)its[i * nc + k] / (double)seeds, rr <= 1e-7 ? ' ' : '~'));
      if (its[i * nc + k] >= 0) worst = PetscMax(worst, rr);
    }
    PetscCall(PetscPrintf(comm, " %12.1e\n", (double)worst));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What comes nearest to the paper's variant: sums over the seeds; error -1: a zero pivot, its -1: not solved */
typedef struct {
  PetscReal error[2], tol; /* block; windows of 2 K rows, of which the largest tolerance */
  PetscInt  its[2];
} Nearest;

static PetscErrorCode AddNearest(Mat A, Vec b, PetscInt n, PetscInt K, PetscInt partitions, PetscInt maxit,
                                 Nearest *sum)
{
  Config    c[2]  = {{PC_SPIKE_BLOCK, PETSC_SPIKE_PRECISION_SINGLE, partitions, -1.0},
                     {PC_SPIKE_TRUNCATED, PETSC_SPIKE_PRECISION_SINGLE, partitions, -1.0}};
  PetscReal decay = 0.0;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2; k++) {
    PetscReal error, relres;
    PetscInt  its;

    PetscCall(OneApplication(A, b, &c[k], &error, &decay));
    if (k) { /* spikes decay by this along a partition, and by its root along a row */
      c[k].window = PetscPowReal(decay, 2.0 * (PetscReal)K * (PetscReal)partitions / (PetscReal)n);
      c[k].window = PetscMin(c[k].window, 0.5);
      sum->tol    = PetscMax(sum->tol, c[k].window);
      PetscCall(OneApplication(A, b, &c[k], &error, &decay));
    }
    PetscCall(Iterate(A, b, maxit, &c[k], &its, &relres));
    sum->error[k] = error < 0.0 || sum->error[k] < 0.0 ? -1.0 : sum->error[k] + error;
    sum->its[k]   = its < 0 || sum->its[k] < 0 ? -1 : sum->its[k] + its;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintNearest(MPI_Comm comm, PetscInt nd, const PetscReal d[], PetscInt partitions,
                                   const Nearest sums[], PetscInt seeds)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(comm,
                        "\nNearest of ours to the paper's variant: single factors, %" PetscInt_FMT
                        " partitions; percent, and iterations of BiCGStab to 1e-8\n%8s %9s %11s %9s %11s %9s %9s\n",
                        partitions, "d", "paper", "block", "its", "2 K rows", "its", "tolerance"));
  for (PetscInt i = 0; i < nd; i++) {
    char paper[16] = "-";

    if (RunPaper(d[i]) > 0.0) PetscCall(PetscSNPrintf(paper, sizeof(paper), "%.4g", (double)RunPaper(d[i])));
    PetscCall(PetscPrintf(comm, "%8.5g %9s", (double)d[i], paper));
    for (int k = 0; k < 2; k++) {
      if (sums[i].error[k] < 0.0) PetscCall(PetscPrintf(comm, " %11s", "-"));
      else PetscCall(PetscPrintf(comm, " %11.2g", (double)sums[i].error[k] / (double)seeds));
      if (sums[i].its[k] < 0) PetscCall(PetscPrintf(comm, " %9s", "-"));
      else PetscCall(PetscPrintf(comm, " %9.1f", (double)sums[i].its[k] / (double)seeds));
    }
    PetscCall(PetscPrintf(comm, " %9.1e\n", (double)sums[i].tol));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  MPI_Comm  comm;
  PetscReal d1[MAXD] = {1, 10, 100, 1000, 10000}, d2[MAXD] = {0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 0.7, 1};
  PetscReal  *error, *relres, decay[MAXD] = {0};
  PetscInt    nd1 = 5, nd2 = 11, np = 2, p[MAXP] = {8, 80}, n = 200000, K = 50, seeds = 3, maxit = 100, nc = 0, *its;
  Config      c[5 * MAXP + 4];
  Nearest    *nearest;
  PetscMPIInt size;
  PetscInt    count;
  PetscBool   set;
  char        version[128], date[64];
  Mat         A;
  Vec         sum, b;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSpikeInitializePackage());
  comm = PETSC_COMM_WORLD;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscOptionsBegin(comm, NULL, "Options of dominance", NULL);
  PetscCall(PetscOptionsBoundedInt("-n", "Rows", NULL, n, &n, NULL, 1));
  PetscCall(PetscOptionsBoundedInt("-k", "Half-bandwidth", NULL, K, &K, NULL, 0));
  PetscCall(PetscOptionsBoundedInt("-seeds", "Matrices to average over", NULL, seeds, &seeds, NULL, 1));
  PetscCall(
    PetscOptionsBoundedInt("-maxit", "Iterations after which a solve has failed", NULL, maxit, &maxit, NULL, 1));
  count = MAXP;
  PetscCall(PetscOptionsIntArray("-partitions", "Numbers of partitions, on all ranks together (default 8,80)", NULL, p,
                                 &count, &set));
  if (set) np = count;
  count = MAXD;
  PetscCall(
    PetscOptionsRealArray("-d", "Dominances of the first table (default 1,10,100,1000,10000)", NULL, d1, &count, &set));
  if (set) nd1 = count;
  count = MAXD;
  PetscCall(
    PetscOptionsRealArray("-dksp",
                          "Dominances of the second table (default 0.05,0.06,0.08,0.1,0.12,0.15,0.2,0.3,0.5,0.7,1)",
                          NULL, d2, &count, &set));
  if (set) nd2 = count;
  PetscOptionsEnd();
  for (PetscInt type = 0; type < 2; type++) {
    for (PetscInt precision = PetscDefined(USE_REAL_SINGLE); precision <= PETSC_SPIKE_PRECISION_FP16; precision++) {
      /* what block neglects is larger than any rounding */
      if (!type && precision != PetscDefined(USE_REAL_SINGLE)) continue;
      if (type && size == 1) c[nc++] = (Config){PC_SPIKE_TRUNCATED, (PetscSpikePrecision)precision, 1, -1.0};
      for (PetscInt k = 0; k < np; k++)
        c[nc++] = (Config){(PCSpikeType)type, (PetscSpikePrecision)precision, PetscMax(p[k] / size, 1) * size, -1.0};
    }
  }
  PetscCall(PetscGetVersion(version, sizeof(version)));
  PetscCall(PetscGetDate(date, sizeof(date)));
  PetscCall(PetscPrintf(comm,
                        "dominance, petscspike %d.%d.%d, %s\n%s, %d rank%s, N = %" PetscInt_FMT ", K = %" PetscInt_FMT
                        ", %" PetscInt_FMT " matri%s\n",
                        PETSCSPIKE_VERSION_MAJOR, PETSCSPIKE_VERSION_MINOR, PETSCSPIKE_VERSION_SUBMINOR, version, date,
                        size, size > 1 ? "s" : "", n, K, seeds, seeds > 1 ? "ces" : "x"));

  PetscCall(PetscCalloc2(nd1 * nc, &error, nd1, &nearest));
  PetscCall(PetscCalloc2(nd2 * nc, &its, nd2 * nc, &relres));
  for (PetscInt seed = 0; seed < seeds; seed++) {
    PetscCall(CreateBand(comm, n, K, seed + 1, &A, &sum, &b));
    for (PetscInt i = 0; i < nd1; i++) {
      PetscCall(SetDominance(A, sum, d1[i]));
      for (PetscInt k = 0; k < nc; k++) {
        PetscReal e = 0.0, far = 0.0;

        PetscCall(OneApplication(A, b, &c[k], &e, &far));
        if (e < 0.0 || error[i * nc + k] < 0.0) error[i * nc + k] = -1.0;
        else error[i * nc + k] += e / seeds;
        decay[i] = PetscMax(decay[i], far);
      }
      PetscCall(AddNearest(A, b, n, K, c[nc - 1].partitions, maxit, &nearest[i]));
    }
    for (PetscInt i = 0; i < nd2; i++) {
      PetscCall(SetDominance(A, sum, d2[i]));
      for (PetscInt k = 0; k < nc; k++) {
        PetscReal rr;
        PetscInt  it;

        PetscCall(Iterate(A, b, maxit, &c[k], &it, &rr));
        if (it < 0 || its[i * nc + k] < 0) its[i * nc + k] = -1;
        else {
          its[i * nc + k] += it;
          relres[i * nc + k] = PetscMax(relres[i * nc + k], rr);
        }
      }
    }
    PetscCall(MatDestroy(&A));
    PetscCall(VecDestroy(&sum));
    PetscCall(VecDestroy(&b));
  }

  PetscCall(PrintErrors(comm, nd1, d1, nc, c, error, decay));
  PetscCall(PrintIterations(comm, nd2, d2, nc, c, its, relres, seeds));
  PetscCall(PrintNearest(comm, nd1, d1, c[nc - 1].partitions, nearest, seeds));
  PetscCall(PetscFree2(error, nearest));
  PetscCall(PetscFree2(its, relres));
  PetscCall(PetscFinalize());
  return 0;
}
