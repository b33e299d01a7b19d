/* SPDX-License-Identifier: BSD-2-Clause */
/*
  partitions.c: tests of the model that chooses the number of partitions on a GPU, and of the falloff that it is given;
  they need no GPU. Prints TAP
*/
static char help[] = "Tests of SpikePartitionsChoose(), the times and iterations that it takes, and "
                     "PCSpikeExpectFalloff_Private().\n\n";

#include <stdlib.h>
#include <unistd.h>
#include "pc_spike/spikeimpl.h"
#include "kernels/band/cuda/partitions.h"

static const PetscInt  rows[]      = {1, 2, 63, 64, 65, 129, 2000, 9999, 100000, 131072, 1000000, 30000000};
static const PetscInt  widths[][2] = {{0, 0},   {1, 1},   {0, 3},   {2, 2},    {7, 4},     {16, 16},   {17, 3},
                                      {32, 32}, {33, 33}, {50, 50}, {128, 64}, {200, 200}, {256, 256}, {512, 512}};
static const PetscInt  devices[]   = {1, 8, 78, 108, 132, 148};
static const PetscReal falloffs[]  = {-40, -1, -0.07, -0.01, -1e-3, -1e-5};

#define CountOf(array) (sizeof(array) / sizeof((array)[0]))

static int ntests = 0, nfailed = 0;

static PetscErrorCode Report(PetscBool ok, const char what[], const SpikeShape *s)
{
  PetscFunctionBeginUser;
  ntests++;
  if (ok) PetscCall(PetscPrintf(PETSC_COMM_SELF, "ok %d - %s\n", ntests, what));
  else {
    nfailed++;
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "not ok %d - %s: last at n %" PetscInt_FMT ", kl,ku %" PetscInt_FMT ",%" PetscInt_FMT
                          ", %" PetscInt_FMT " bytes, %" PetscInt_FMT " multiprocessors, %" PetscInt_FMT
                          " clusters, falloff %g\n",
                          ntests, what, s->n, s->kl, s->ku, s->bytes, s->multiprocessors, s->clusters,
                          (double)s->falloff));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the choice minimizes */
static PetscReal CostOf(const SpikeShape *s, PetscInt np)
{
  const SpikeTimes t       = SpikePartitionsTimes(s, np);
  const PetscReal  product = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * 12 / (PetscReal)3.2e9;

  return t.setup + 3 * (SpikePartitionsIterations(s, np) + 1) * (t.apply + product);
}

static PetscBool Bounds(const SpikeShape *s)
{
  const PetscInt np = SpikePartitionsChoose(s), K = PetscMax(s->kl, s->ku);

  return (PetscBool)(np >= 1 && (np == 1 || (s->n / np >= 4 * K && s->n / np >= 64)));
}

/* Times are positive, grow with the rows and with the bytes, and fall with the multiprocessors */
static PetscBool Monotone(const SpikeShape *s)
{
  const PetscInt np = SpikePartitionsChoose(s);
  SpikeTimes     t  = SpikePartitionsTimes(s, np), u;
  SpikeShape     c  = *s;

  if (!(t.setup > 0 && t.apply > 0 && t.setup < PETSC_MAX_REAL && t.apply < PETSC_MAX_REAL)) return PETSC_FALSE;
  c.n = s->n + 1 + s->n / 3;
  u   = SpikePartitionsTimes(&c, np);
  if (u.setup < t.setup || u.apply < t.apply) return PETSC_FALSE;
  c       = *s;
  c.bytes = s->bytes / 2;
  u       = SpikePartitionsTimes(&c, np);
  if (u.setup > t.setup || u.apply > t.apply) return PETSC_FALSE;
  c                 = *s;
  c.multiprocessors = s->multiprocessors + 7;
  u                 = SpikePartitionsTimes(&c, np);
  return (PetscBool)(u.setup <= t.setup && u.apply <= t.apply);
}

/* No number of partitions of all that are allowed is better by more than a tenth */
static PetscBool IsBest(const SpikeShape *s)
{
  const PetscInt  least = PetscMax(64, 4 * PetscMax(s->kl, s->ku));
  const PetscReal cost  = CostOf(s, SpikePartitionsChoose(s));

  for (PetscInt np = 1; np <= s->n / least; np += 1 + np / 50)
    if (CostOf(s, np) < cost / (PetscReal)1.1) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Less than a tenth of the rows, or than a partition, lies after the ends of partitions that are whole tiles */
static PetscBool Filled(const SpikeShape *s)
{
  const PetscInt K = PetscMax(PetscMax(s->kl, s->ku), 1), tiles = (K + 31) / 32, T = (K + tiles - 1) / tiles,
                 np = SpikePartitionsChoose(s), whole = ((s->n + np - 1) / np + T - 1) / T * T;

  return (PetscBool)((PetscReal)np * whole <= (PetscReal)1.1 * s->n || (PetscReal)np * whole < (PetscReal)s->n + whole);
}

/* Iterations grow with the number of partitions and as spikes fall more slowly, and one partition needs one */
static PetscBool Iterations(const SpikeShape *s)
{
  SpikeShape c    = *s;
  PetscReal  last = 0;

  for (PetscInt np = 1; np <= s->n && np < 10000; np *= 2) {
    const PetscReal its = SpikePartitionsIterations(s, np);

    if (its < PetscMax(last, 1) || (np == 1 && its != 1)) return PETSC_FALSE;
    c.falloff = s->falloff / 2;
    if (SpikePartitionsIterations(&c, np) < its) return PETSC_FALSE;
    last = its;
  }
  return PETSC_TRUE;
}

/*
  Slower spikes never get more partitions, but where corrections go over all rows anyway, which more partitions cannot
  make worse; unknown ones get one partition while that is shorter than 2^18 rows
*/
static PetscBool Decay(const SpikeShape *s)
{
  SpikeShape     c  = *s;
  const PetscInt np = SpikePartitionsChoose(s);

  for (size_t f = 0; f < CountOf(falloffs); f++) {
    PetscInt slower;

    c.falloff = falloffs[f];
    slower    = SpikePartitionsChoose(&c);
    if (c.falloff > s->falloff && slower > np && 2 * 18.4 / -c.falloff < s->n / slower) return PETSC_FALSE;
  }
  c.falloff = 0;
  return (PetscBool)(s->n > 262144 || SpikePartitionsChoose(&c) == 1);
}

/* A device that takes twice as long for everything takes twice as long, and gets the same partitions */
static PetscBool Paces(const SpikeShape *s)
{
  const PetscInt   np = SpikePartitionsChoose(s), full = SpikePartitionsChooseFull(s);
  const SpikeTimes t = SpikePartitionsTimes(s, np), f = SpikePartitionsFullTimes(s, full);
  SpikeShape       c = *s;
  SpikeTimes       u;

  c.pace.launch = c.pace.memory = c.pace.step = 2;
  u                                           = SpikePartitionsTimes(&c, np);
  if (PetscAbsReal(u.setup - 2 * t.setup) > 1e-5 * u.setup) return PETSC_FALSE;
  if (PetscAbsReal(u.apply - 2 * t.apply) > 1e-5 * u.apply) return PETSC_FALSE;
  u = SpikePartitionsFullTimes(&c, full);
  if (PetscAbsReal(u.setup - 2 * f.setup) > 1e-5 * u.setup) return PETSC_FALSE;
  if (PetscAbsReal(u.apply - 2 * f.apply) > 1e-5 * u.apply) return PETSC_FALSE;
  return (PetscBool)(SpikePartitionsChoose(&c) == np && SpikePartitionsChooseFull(&c) == full);
}

/* Full SPIKE: partitions have 2 K rows and 64, and no other number is better by more than a tenth */
static PetscReal FullCost(const SpikeShape *s, PetscInt np)
{
  const SpikeTimes t = np > 1 ? SpikePartitionsFullTimes(s, np) : SpikePartitionsTimes(s, 1);

  return t.setup + 6 * t.apply;
}

static PetscBool WantsFull(const SpikeShape *s)
{
  const PetscInt  np = SpikePartitionsChooseFull(s), least = PetscMax(64, 2 * PetscMax(s->kl, s->ku));
  const PetscReal cost = FullCost(s, np);
  PetscBool       full;

  if (np < 1 || (np > 1 && s->n / np < least / 2)) return PETSC_FALSE; /* whole tiles may be shorter */
  for (PetscInt k = 1; k <= s->n / least; k += 1 + k / 50)
    if (FullCost(s, k) < cost / (PetscReal)1.1) return PETSC_FALSE;
  if (SpikePartitionsChooseAuto(s, &full) < 1) return PETSC_FALSE;
  return (PetscBool)(!full || SpikePartitionsChooseAuto(s, &full) > 1);
}

/*
  Where truncation is chosen, spikes are expected to fall over a partition to what it may leave out, whatever that is
*/
static PetscBool NeglectOf(const SpikeShape *s)
{
  const PetscReal fractions[] = {0.08, 1e-3, 1e-4, 1e-6, 1e-8};
  SpikeShape      c           = *s;
  PetscBool       full;

  for (size_t k = 0; k < CountOf(fractions); k++) {
    PetscInt np, far;

    c.neglect = fractions[k];
    np        = SpikePartitionsChooseAuto(&c, &full);
    if (np < 1) return PETSC_FALSE;
    far = s->n / np + 1 - PetscMax(PetscMax(s->kl, s->ku), 1); /* rows from one end of a spike to the other */
    if (np > 1 && !full && s->falloff * PetscMax(far, 0) > PetscLogReal(fractions[k])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* What PCSPIKE lets truncation leave out with a window tolerance and a precision */
static PetscErrorCode MayNeglect(PetscReal window, PetscSpikePrecision precision, PetscReal *neglect)
{
  Mat A;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateConstantDiagonal(PETSC_COMM_SELF, 4, 4, 4, 4, 2.0, &A));
  PetscCall(MatConvert(A, MATSEQAIJ, MAT_INPLACE_MATRIX, &A));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  if (window > 0) PetscCall(PCSpikeSetWindowTolerance(pc, window));
  PetscCall(PCSpikeSetPrecision(pc, precision));
  PetscCall(PCSetUp(pc));
  *neglect = PCSpikeMayNeglect_Private((const PC_Spike *)pc->data);
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Window tolerance and precision move the line between truncated and full SPIKE; by default it is where it was fitted
*/
static PetscErrorCode TestNeglect(void)
{
  const PetscSpikePrecision most = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE
                                                                 : PETSC_SPIKE_PRECISION_DOUBLE;
  const struct {
    PetscReal falloff;
    PetscInt  np;
    PetscBool full;
  } fitted[]   = {{-0.0019, 256, PETSC_TRUE},
                  {-0.0025, 53, PETSC_FALSE},
                  {-0.005, 104, PETSC_FALSE},
                  {-0.0071, 132, PETSC_FALSE}};
  SpikeShape s = {200000, 50, 50, 8, 132, 0, (PetscReal)1e-4, {1, 1, 1}, 0};
  PetscReal  usual, tight, coarse;
  PetscBool  ok = PETSC_TRUE, full;
  PetscInt   np;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < CountOf(fitted); k++) {
    s.falloff = fitted[k].falloff;
    np        = SpikePartitionsChooseAuto(&s, &full);
    if (np != fitted[k].np || full != fitted[k].full) ok = PETSC_FALSE;
  }
  PetscCall(MayNeglect(-1, most, &usual));
  PetscCall(MayNeglect((PetscReal)1e-12, most, &tight));
  PetscCall(MayNeglect(-1, PETSC_SPIKE_PRECISION_BF16, &coarse));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "# may be neglected: %g, with window tolerance 1e-12 %g, with bf16 %g\n",
                        (double)usual, (double)tight, (double)coarse));
  if (!PetscDefined(USE_REAL_SINGLE) && PetscAbsReal(usual - (PetscReal)1e-4) > (PetscReal)1e-10) ok = PETSC_FALSE;
  if (!PetscDefined(USE_REAL_SINGLE) && PetscAbsReal(tight - (PetscReal)1e-8) > (PetscReal)1e-14) ok = PETSC_FALSE;
  if (!(tight <= usual && coarse > (PetscReal)0.01 && coarse < 1)) ok = PETSC_FALSE;
  s.falloff = (PetscReal)-0.0071; /* 132 partitions of 1515 rows: exp(-10.4) */
  s.neglect = (PetscReal)1e-8;
  np        = SpikePartitionsChooseAuto(&s, &full);
  if (!full && np > 76) ok = PETSC_FALSE; /* of 2600 rows at least */
  s.falloff = (PetscReal)-0.0025;
  s.neglect = coarse;
  np        = SpikePartitionsChooseAuto(&s, &full);
  if (full || np <= 53) ok = PETSC_FALSE;
  ntests++;
  nfailed += !ok;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%sok %d - window tolerance and precision say what truncation may neglect\n",
                        ok ? "" : "not ", ntests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is kept is found again, under its own name only; folders and files that are none do no harm */
static PetscErrorCode TestFile(void)
{
  const SpikePace pace = {2, 0.5, 1};
  SpikePace       found;
  char            folder[] = "/tmp/petscspike-XXXXXX", path[64];
  PetscBool       known, ok;
  FILE           *file;

  PetscFunctionBeginUser;
  ok = (PetscBool)(mkdtemp(folder) != NULL && !setenv("SPIKE_CACHE", folder, 1));
  PetscCall(SpikePaceRead("a device (0)", &found, &known));
  if (known) ok = PETSC_FALSE;
  PetscCall(SpikePaceWrite("a device (0)", &pace));
  PetscCall(SpikePaceRead("a device (0)", &found, &known));
  if (!known || found.launch != 2 || found.memory != (PetscReal)0.5 || found.step != 1) ok = PETSC_FALSE;
  PetscCall(SpikePaceRead("a device (1)", &found, &known));
  if (known) ok = PETSC_FALSE;
  PetscCall(PetscSNPrintf(path, sizeof(path), "%s/pace-a_device__0_", folder));
  for (int k = 0; k < 3; k++) {
    const char *const text[] = {"launch 0 memory 1 step 1\n", "launch nan memory 1 step 1\n", "nothing"};

    file = fopen(path, "w");
    if (!file) {
      ok = PETSC_FALSE;
      break;
    }
    (void)fputs(text[k], file);
    (void)fclose(file);
    PetscCall(SpikePaceRead("a device (0)", &found, &known));
    if (known) ok = PETSC_FALSE;
  }
  if (remove(path) || rmdir(folder)) ok = PETSC_FALSE; /* nothing else was left there */
  for (int k = 0; k < 2; k++) {
    if (setenv("SPIKE_CACHE", k ? "" : "/proc/none/of/these", 1)) ok = PETSC_FALSE;
    PetscCall(SpikePaceWrite("a device (0)", &pace));
    PetscCall(SpikePaceRead("a device (0)", &found, &known));
    if (known) ok = PETSC_FALSE;
  }
  ntests++;
  nfailed += !ok;
  PetscCall(
    PetscPrintf(PETSC_COMM_SELF, "%sok %d - the pace of a device is kept in a file\n", ok ? "" : "not ", ntests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  KIND_RANDOM,    /* uniform in [-1, 1] beside the diagonal, d times the sum of the magnitudes on it */
  KIND_DIFFUSION, /* 5-point stencil on lines of kl = ku unknowns */
  KIND_ZERO       /* as KIND_RANDOM, zeros on the diagonal                                               */
} Kind;

/*
  What is expected of the spikes, and what the setup of two partitions finds: logarithms of the factor over max(kl, ku)
  rows
*/
static PetscErrorCode FindFalloff(Kind kind, PetscInt kl, PetscInt ku, PetscReal d, PetscReal *expected,
                                  PetscReal *found)
{
  const PetscInt n = 6000;
  PetscRandom    random;
  Mat            A;
  PC             pc;
  PC_Spike      *s;

  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1.0, 1.0));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, kl + ku + 1, NULL, &A));
  for (PetscInt i = 0; i < n; i++) {
    PetscReal sum = 0.0, v;

    for (PetscInt j = PetscMax(0, i - kl); j <= PetscMin(n - 1, i + ku); j++) {
      const PetscInt distance = PetscAbsInt(j - i);

      if (i == j || (kind == KIND_DIFFUSION && distance != kl && (distance != 1 || i / kl != j / kl))) continue;
      PetscCall(PetscRandomGetValueReal(random, &v));
      if (kind == KIND_DIFFUSION) v = -1.0;
      sum += PetscAbsReal(v);
      PetscCall(MatSetValue(A, i, j, v, INSERT_VALUES));
    }
    PetscCall(MatSetValue(A, i, i, kind == KIND_DIFFUSION ? 4.0 : kind == KIND_ZERO ? 0.0 : d * sum, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCSPIKE));
  PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
  PetscCall(PCSpikeSetLocalPartitions(pc, 2));
  PetscCall(PCSpikeSetType(pc, PC_SPIKE_TRUNCATED)); /* exact coupling does not ask how one spike alone falls */
  PetscCall(PCSetUp(pc));
  s         = (PC_Spike *)pc->data;
  *expected = s->expected * PetscMax(kl, ku);
  *found    = PetscMax(s->falloff[1], s->falloff[3 + 1]) * PetscMax(kl, ku);
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFalloff(void)
{
  const struct {
    Kind      kind;
    PetscInt  kl, ku;
    PetscReal d;
  } known[]    = {{KIND_RANDOM, 32, 32, 1.0},    {KIND_RANDOM, 50, 50, 0.3},   {KIND_RANDOM, 50, 50, 0.2},
                  {KIND_RANDOM, 16, 8, 1.0},     {KIND_RANDOM, 5, 20, 0.6},    {KIND_RANDOM, 0, 9, 1.2},
                  {KIND_DIFFUSION, 12, 12, 0.0}, {KIND_DIFFUSION, 30, 30, 0.0}},
    unknown[]  = {{KIND_RANDOM, 50, 50, 0.1},
                  {KIND_RANDOM, 50, 50, 0.05},
                  {KIND_RANDOM, 8, 8, 0.2},
                  {KIND_ZERO, 8, 8, 0.0}};
  PetscBool ok = PETSC_TRUE;
  PetscReal expected, found;

  PetscFunctionBeginUser;
  for (size_t k = 0; k < CountOf(known); k++) {
    PetscCall(FindFalloff(known[k].kind, known[k].kl, known[k].ku, known[k].d, &expected, &found));
    if (!(expected < 0 && found <= expected && found > 8 * expected)) ok = PETSC_FALSE;
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "# half-bandwidths %" PetscInt_FMT ",%" PetscInt_FMT ", d %g: expected %g, found %g\n",
                          known[k].kl, known[k].ku, (double)known[k].d, (double)expected, (double)found));
  }
  ntests++;
  nfailed += !ok;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%sok %d - spikes fall as expected or faster, but not 8 times as fast\n",
                        ok ? "" : "not ", ntests));
  ok = PETSC_TRUE;
  for (size_t k = 0; k < CountOf(unknown); k++) {
    PetscCall(FindFalloff(unknown[k].kind, unknown[k].kl, unknown[k].ku, unknown[k].d, &expected, &found));
    if (expected != 0) ok = PETSC_FALSE;
  }
  ntests++;
  nfailed += !ok;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%sok %d - nothing is expected of matrices far from dominant\n",
                        ok ? "" : "not ", ntests));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool (*const topics[])(const SpikeShape *) = {Bounds, Monotone, IsBest,    Filled,   Iterations,
                                                     Decay,  Paces,    WantsFull, NeglectOf};
  const char *const names[]                       = {"no partition is shorter than 4 K rows, nor than 64",
                                                     "times are finite and grow with the work",
                                                     "no other number is better by more than a tenth, by the model",
                                                     "few rows lie after the ends of partitions",
                                                     "iterations grow with the partitions and slower spikes",
                                                     "slower spikes never get more partitions, unknown ones one",
                                                     "a slower device takes longer, and gets the same partitions",
                                                     "full SPIKE has no better number of partitions either",
                                                     "truncation neglects no more than it may"};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  for (size_t t = 0; t < CountOf(topics); t++) {
    PetscBool  ok   = PETSC_TRUE;
    SpikeShape last = {0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, 0};

    for (size_t k = 0; k < CountOf(rows) * CountOf(widths) * CountOf(devices) * CountOf(falloffs) * 3; k++) {
      size_t     i = k;
      SpikeShape s;

      s.n = rows[i % CountOf(rows)];
      i /= CountOf(rows);
      s.kl = PetscMin(widths[i % CountOf(widths)][0], s.n - 1);
      s.ku = PetscMin(widths[i % CountOf(widths)][1], s.n - 1);
      i /= CountOf(widths);
      s.multiprocessors = devices[i % CountOf(devices)];
      i /= CountOf(devices);
      s.falloff = falloffs[i % CountOf(falloffs)];
      i /= CountOf(falloffs);
      s.bytes       = i ? 8 : 4;
      s.clusters    = i == 2 && PetscMax(s.kl, s.ku) > 128 ? (s.multiprocessors + 2) / 3 : 0;
      s.neglect     = (PetscReal)1e-4;
      s.pace.launch = s.pace.memory = s.pace.step = 1;
      if (!(*topics[t])(&s)) {
        ok   = PETSC_FALSE;
        last = s;
      }
    }
    PetscCall(Report(ok, names[t], &last));
  }
  PetscCall(PetscSpikeInitializePackage());
  PetscCall(TestNeglect());
  PetscCall(TestFalloff());
  PetscCall(TestFile());
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "1..%d\n", ntests));
  PetscCall(PetscFinalize());
  return nfailed != 0;
}
