/* SPDX-License-Identifier: BSD-2-Clause */
/*
  partitions.c: how many partitions a GPU gets: the least time of a setup and a solve, by a model with measured
  constants
*/
#include "partitions.h"

/*
  Setup (fill, factors, tips, reduced systems) and apply (sweeps, reduced solve, correction) of np partitions of m =
  ceil(n / np) rows are each

      fixed + bytes * (entries of the band in the precision of the factors)
            + ceil(m / T) * (latency + share * (ceil(groups / SM) - 1)) + interface * max(1, np / SM)
            + windows * (entries of the band in the windows of the spikes)

  fixed      ms: launches, host waits, what the pattern alone costs
  bytes      ns for 1000 of them: what streams whatever np is
  latency    us a tile row of T rows: the chain of dependent steps of a partition
  share      us a tile row for each further group of partitions on the same of SM multiprocessors
  interface  us for each partition a multiprocessor has: tips, reduced system, correction. It hides its latency behind
  no other: at least one
  windows    ns for 1000 bytes: rows that the corrections read again, at most 2 w of each partition, where the spikes
             are expected to fall to 1e-8 over w rows; none in the setup

  A group is as many partitions as a warp takes. Few partitions cost steps, many cost interfaces; the least is flat.

  Where clusters of thread blocks factor, so many partitions at once, np / clusters takes the place of groups / SM in
  the setup, and interfaces hide their latency behind each other: np / SM of them count.
*/
typedef struct {
  PetscReal fixed, bytes, latency, share, interface, windows;
} Constants;

typedef struct {
  PetscInt  K; /* half-bandwidth */
  Constants setup, apply;
} Row;

/*
  Measured on one H200 (132 multiprocessors), double precision, dominance 1, by benchmarks/partitions -calibrate and
  benchmarks/fit_partitions.py; times the pace of the device in hand. K = 50 and 64, setups with K = 96 and 128, and
  interfaces of wider ones with the tips of 2026-11-30
*/
static const Row table[] = {
  {1, {0.08662, 0, 0.791, 0, 4.91, 0}, {0.07206, 0, 1.082, 0.1291, 0.2025, 0}},
  {2, {0.1011, 0, 0.6781, 0.09742, 3.937, 0}, {0, 0, 0.9363, 0, 0.6806, 0}},
  {4, {0.03785, 0, 1.295, 0.2554, 3.696, 0}, {0.02334, 0, 0.631, 0.102, 0.2755, 0}},
  {8, {0.1439, 0, 2.419, 0, 4.814, 0}, {0, 0, 0.8472, 0, 1.067, 0.335}},
  {16, {0.1783, 0, 6.957, 0, 5.48, 0}, {0.01291, 0, 0.7751, 0.4995, 1.885, 0}},
  {24, {0.1239, 0, 4.545, 0, 19.15, 0}, {0, 0, 1.409, 0, 7.27, 0.1821}},
  {32, {0.03393, 0.7299, 5.705, 0, 25, 0}, {0.02283, 0, 1.11, 0.2235, 2.706, 0.3367}},
  {50, {0, 0.9643, 6.052, 1.195, 133.1, 0}, {0, 0.002009, 1.432, 0.05673, 24.33, 0.1475}},
  {64, {0.09712, 0.8996, 4.999, 1.441, 112.2, 0}, {0, 0.04435, 0.9807, 0.2175, 17.17, 0.3221}},
  {96, {0.6463, 0, 4.303, 13.94, 104.7, 0}, {0, 0, 1.172, 2.662, 19.88, 0.3228}},
  {128, {1.192, 0, 6.279, 10.47, 271.7, 0}, {0, 0, 1.003, 0.1753, 17.85, 0.5153}},
  {200, {1.222, 0, 9.833, 9.289, 1500, 0}, {0.1643, 0, 1.086, 0.4279, 68.1, 0}},
  {256, {0.4168, 2.586, 4.752, 14.74, 3300, 0}, {0.009849, 0.1659, 0, 0.7932, 222.5, 0.1873}},
  {512, {0, 0, 32.34, 58.96, 3.368e+04, 0}, {0, 0, 6.503, 3.173, 0, 0.5569}},
};

/* The setup alone, by clusters, on the same device, from its phases (benchmarks/results/clusters.txt) */
static const Row clustered[] = {
  {160, {0.165, 0.72, 11.6, 11.6, 950, 0}, {0}},
  {192, {0.23, 0.706, 13.2, 13.2, 1250, 0}, {0}},
  {200, {0.31, 1.1, 10.7, 10.7, 1800, 0}, {0}},
  {256, {0.46, 0.68, 12.9, 12.9, 3200, 0}, {0}},
};

#define SPIKE_PARTITIONS_MAX_ROWS 262144 /* where nothing is known of the spikes */
#define SPIKE_PARTITIONS_SOLVES   3      /* of a setup */
#define SPIKE_PARTITIONS_WAVES    4      /* of clusters, at most, that are looked at */

static PetscInt HalfBandwidth(const SpikeShape *s)
{
  return PetscMax(PetscMax(s->kl, s->ku), 1);
}

/* Half-bandwidths of one family of kernels: several partitions a warp, one a warp, several warps a partition */
static int Family(PetscInt K)
{
  return K <= 16 ? 0 : K <= 32 ? 1 : 2;
}

static PetscReal Between(PetscReal t, PetscReal a, PetscReal b)
{
  return (1 - t) * a + t * b;
}

/* The constants of the device in hand, t of the way from a to b */
static void Mix(const SpikePace *pace, PetscReal t, const Constants *a, const Constants *b, Constants *c)
{
  c->fixed     = pace->launch * Between(t, a->fixed, b->fixed);
  c->bytes     = pace->memory * Between(t, a->bytes, b->bytes);
  c->latency   = pace->step * Between(t, a->latency, b->latency);
  c->share     = pace->step * Between(t, a->share, b->share);
  c->interface = pace->step * Between(t, a->interface, b->interface);
  c->windows   = pace->memory * Between(t, a->windows, b->windows);
}

/* The rows lo and hi of a table on either side of K, the nearest twice beyond an end */
static void Bracket(const Row rows[], size_t n, PetscInt K, size_t *lo, size_t *hi)
{
  for (*hi = 0; *hi + 1 < n && rows[*hi].K < K;) (*hi)++;
  *lo = *hi && rows[*hi].K > K ? *hi - 1 : *hi;
}

/* How far K is from row lo to row hi, 0 to 1 */
static PetscReal Fraction(const Row rows[], size_t lo, size_t hi, PetscInt K)
{
  return hi > lo ? (PetscReal)(K - rows[lo].K) / (PetscReal)(rows[hi].K - rows[lo].K) : 0;
}

/*
  Linear between the half-bandwidths of the table, but not from one family of kernels to another; on the device in hand
*/
static void Measured(const SpikePace *pace, PetscInt K, Constants *setup, Constants *apply)
{
  size_t    lo, hi;
  PetscReal t;

  Bracket(table, PETSC_STATIC_ARRAY_LENGTH(table), K, &lo, &hi);
  if (Family(table[lo].K) != Family(K)) lo = hi;
  if (Family(table[hi].K) != Family(K)) hi = lo;
  t = Fraction(table, lo, hi, K);
  Mix(pace, t, &table[lo].setup, &table[hi].setup, setup);
  Mix(pace, t, &table[lo].apply, &table[hi].apply, apply);
}

/* The same by clusters; beyond the ends of their table interfaces grow as in the other one */
static void MeasuredClusters(const SpikePace *pace, PetscInt K, Constants *setup)
{
  size_t    lo, hi;
  Constants here, end, unused;

  Bracket(clustered, PETSC_STATIC_ARRAY_LENGTH(clustered), K, &lo, &hi);
  Mix(pace, Fraction(clustered, lo, hi, K), &clustered[lo].setup, &clustered[hi].setup, setup);
  if (hi > lo) return;
  Measured(pace, K, &here, &unused);
  Measured(pace, clustered[lo].K, &end, &unused);
  setup->interface *= here.interface / end.interface;
}

static void Interpolate(const SpikeShape *s, Constants *setup, Constants *apply)
{
  Measured(&s->pace, HalfBandwidth(s), setup, apply);
  if (s->clusters) MeasuredClusters(&s->pace, HalfBandwidth(s), setup);
}

/* Groups of partitions of a multiprocessor after its first; a warp takes as many as waste a tenth of it at most */
static PetscReal CountWaves(PetscInt T, PetscInt np, PetscInt sm)
{
  PetscInt G = 1;

  for (PetscInt g = 2; T <= 16 && g <= 32 / T; g++)
    if (10 * ((np + g - 1) / g) * g <= 11 * np) G = g;
  return (PetscReal)(((np + G - 1) / G + sm - 1) / sm - 1);
}

/* Waves of the factorization after its first */
static PetscReal CountFactorWaves(const SpikeShape *s, PetscInt T, PetscInt np, PetscInt sm)
{
  return s->clusters ? (PetscReal)((np + s->clusters - 1) / s->clusters - 1) : CountWaves(T, np, sm);
}

/* The shape of the tiles is that of SpikeTilesShape_Private(), which has its own copy of it in CUDA C */
SpikeTimes SpikePartitionsTimes(const SpikeShape *s, PetscInt np)
{
  const PetscInt K = HalfBandwidth(s), tiles = (K + 31) / 32, T = (K + tiles - 1) / tiles,
                 m = s->n / np + (s->n % np ? 1 : 0), sm = PetscMax(s->multiprocessors, 1);
  const PetscReal bytes      = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * (PetscReal)s->bytes,
                  steps      = (PetscReal)((m + T - 1) / T),
                  interfaces = s->falloff <= PETSC_MIN_REAL ? 0 : PetscMax(1, (PetscReal)np / sm),
                  tips       = s->clusters && interfaces > 0 ? (PetscReal)np / sm : interfaces;
  const PetscReal reach      = s->falloff < 0 ? (PetscReal)18.4 / -s->falloff : (PetscReal)s->n,
                  again      = np > 1 ? bytes * PetscMin(1, 2 * reach * np / PetscMax(s->n, 1)) : 0;
  PetscReal  waves, factorwaves;
  Constants  a, b;
  SpikeTimes t;

  waves       = CountWaves(T, np, sm);
  factorwaves = CountFactorWaves(s, T, np, sm);
  Interpolate(s, &a, &b);
  t.setup = a.fixed + (PetscReal)1e-9 * (a.bytes * bytes + a.windows * again) +
            (PetscReal)1e-3 * (steps * (a.latency + a.share * factorwaves) + a.interface * tips);
  t.apply = b.fixed + (PetscReal)1e-9 * (b.bytes * bytes + b.windows * again) +
            (PetscReal)1e-3 * (steps * (b.latency + b.share * waves) + b.interface * interfaces);
  return t;
}

/*
  The same with full SPIKE, ms. The setup is fill, factors, spikes by three sweeps over a partition, and the levels of
  the merging, log2(np) of them:

      fixed + bytes * (entries of the band) + steps * latency
            + max(3 steps * (0.8 + 1.1 tiles of a side) us, 6 n K^2 flops at 8 Tflop/s)
            + levels * (25 + K) us + np * (0.1 us + 150 K^3 flops at 20 Tflop/s)

  and the apply two sweeps and the levels up and down:

      25 us + 2 * max(steps * (latency + share * waves), the band at 3.7 TB/s) + levels * (5 + K / 6) us

  with the constants of the table and those written here measured on one H200 (benchmarks/results/full-cuda.txt); flops
  are those of its 132 multiprocessors
*/
SpikeTimes SpikePartitionsFullTimes(const SpikeShape *s, PetscInt np)
{
  const PetscReal K     = (PetscReal)HalfBandwidth(s);
  const PetscInt  tiles = (HalfBandwidth(s) + 31) / 32, T = (HalfBandwidth(s) + tiles - 1) / tiles,
                 m = s->n / np + (s->n % np ? 1 : 0), sm = PetscMax(s->multiprocessors, 1);
  const PetscReal bytes  = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * (PetscReal)s->bytes,
                  steps  = (PetscReal)((m + T - 1) / T);
  const SpikePace *pace  = &s->pace;
  const PetscReal  flops = pace->step * 132 / (PetscReal)sm;
  PetscReal        waves, levels = 0;
  Constants        a, b;
  SpikeTimes       t;

  waves = CountWaves(T, np, sm);
  for (PetscInt l = 1; l < np; l *= 2) levels++;
  Interpolate(s, &a, &b);
  t.setup = a.fixed + (PetscReal)1e-9 * a.bytes * bytes +
            (PetscReal)1e-3 * steps * (a.latency + a.share * CountFactorWaves(s, T, np, sm)) +
            PetscMax((PetscReal)3e-3 * steps * pace->step * ((PetscReal)0.8 + (PetscReal)1.1 * tiles),
                     (PetscReal)6 * s->n * K * K / (PetscReal)8e9 * flops) +
            (PetscReal)1e-3 * levels * (25 * pace->launch + K * pace->step) +
            np * ((PetscReal)1e-4 + (PetscReal)150 * K * K * K / (PetscReal)2e10) * flops;
  t.apply = (PetscReal)0.025 * pace->launch +
            2 * PetscMax((PetscReal)1e-3 * steps * (b.latency + b.share * waves),
                         bytes / (PetscReal)3.7e9 * pace->memory) +
            (PetscReal)1e-3 * levels * (5 * pace->launch + K / 6 * pace->step);
  return t;
}

/*
  Iterations of a Krylov method to 1e-8, where spikes are expected to fall by exp(-x) over a partition: what truncation
  neglects of them is left to it. Random bands of half-bandwidth 50 and dominance 0.2 and 0.3 took 2 iterations of GMRES
  at x = 6, 2 at 2.4 and 3 at 1.6; far below 1 counts grow much faster than 1 / x.
*/
PetscReal SpikePartitionsIterations(const SpikeShape *s, PetscInt np)
{
  PetscReal x;

  if (np == 1 || s->falloff <= PETSC_MIN_REAL) return 1;
  x = -s->falloff * (PetscReal)(s->n / np);
  return x > 0 ? 1 + 4 / x * (1 + 1 / (x * x)) : PETSC_MAX_REAL;
}

/*
  Where more than a tenth of what is stored would lie after the ends of short partitions: as many as have the same
  number of tile rows, and fill them
*/
static PetscInt FillTiles(const SpikeShape *s, PetscInt np)
{
  const PetscInt K = HalfBandwidth(s), tiles = (K + 31) / 32, T = (K + tiles - 1) / tiles,
                 m = s->n / np + (s->n % np ? 1 : 0), whole = (m + T - 1) / T * T;

  return (PetscReal)np * whole > (PetscReal)1.1 * s->n ? s->n / whole + (s->n % whole ? 1 : 0) : np;
}

/*
  The number of partitions with the least time of a setup and of the three solves that it is taken to serve: as many
  applies as iterations and one, with a product of a matrix of 12 bytes an entry, on an H200 at 3.2 TB/s, each.
  Candidates: a few, and fractions and multiples of the numbers of multiprocessors and of clusters, which leave none of
  them idle in the last round. No partition is shorter than 4 max(kl, ku) rows, nor than 64, and few places after their
  ends are stored. Where nothing is known of the spikes, only long ones are safe.
*/
PetscInt SpikePartitionsChoose(const SpikeShape *s)
{
  const double    factors[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1,   2,   3,   4,   8,    12,   16,
                               24,     32,    48,   64,  96,   128, 192, 256, 512, 1024, 2048, 4096};
  const PetscInt  K = HalfBandwidth(s), least = K < 16 ? 64 : 4 * K, most = PetscMax(1, s->n / least);
  const PetscReal product = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * 12 / (PetscReal)3.2e9 * s->pace.memory;
  PetscInt        best    = 1;
  PetscReal       time    = PETSC_MAX_REAL;

  if (s->falloff >= 0)
    return PetscMin(most, PetscMax(1, (s->n + SPIKE_PARTITIONS_MAX_ROWS - 1) / SPIKE_PARTITIONS_MAX_ROWS));
  for (int f = -9 - SPIKE_PARTITIONS_WAVES; f < (int)PETSC_STATIC_ARRAY_LENGTH(factors); f++) {
    const PetscInt wanted = f < -9 ? PetscMax(1, (-9 - f) * s->clusters)
                          : f < 0  ? -f
                                   : (PetscInt)PetscMax(1, factors[f] * (double)s->multiprocessors),
                   np     = PetscMin(most, wanted);
    const SpikeTimes t    = SpikePartitionsTimes(s, np);
    const PetscReal  its  = SpikePartitionsIterations(s, np),
                    now   = t.setup + SPIKE_PARTITIONS_SOLVES * (its + 1) * (t.apply + product);

    if (its < PETSC_MAX_REAL && (now < time || (now == time && np < best))) {
      time = now;
      best = np;
    }
  }
  return FillTiles(s, best);
}

/* The same with full SPIKE, which takes one iteration: partitions of at least 2 max(kl, ku) rows, and 64 */
PetscInt SpikePartitionsChooseFull(const SpikeShape *s)
{
  const double   factors[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96};
  const PetscInt K = HalfBandwidth(s), most = PetscMax(1, s->n / PetscMax(2 * K, 64));
  PetscInt       best = 1;
  PetscReal      time = PETSC_MAX_REAL;

  for (int f = -31 - SPIKE_PARTITIONS_WAVES; f < (int)PETSC_STATIC_ARRAY_LENGTH(factors); f++) {
    /* powers of two fill their levels */
    const PetscInt wanted = f < -31 ? PetscMax(1, (-31 - f) * s->clusters)
                          : f < 0   ? (PetscInt)1 << (f + 31)
                                    : (PetscInt)PetscMax(1, factors[f] * (double)s->multiprocessors),
                   np     = PetscMin(most, wanted);
    const SpikeTimes t    = np > 1 ? SpikePartitionsFullTimes(s, np) : SpikePartitionsTimes(s, 1);
    const PetscReal  now  = t.setup + SPIKE_PARTITIONS_SOLVES * 2 * t.apply;

    if (now < time) {
      time = now;
      best = np;
    }
  }
  return FillTiles(s, best);
}

/*
  Natural logarithm of the factor by which spikes must be expected to fall before truncation: -log(neglect) and 0.09
  more, because the setup that follows measures the spikes and does not truncate where less than that is reached.
  exp(-9.3) for 1e-4, which is the fraction of the default window tolerance.
*/
static PetscReal Fall(const SpikeShape *s)
{
  return (PetscReal)9.3 + PetscLogReal((PetscReal)1e-4 / s->neglect);
}

/*
  Truncated where the spikes are expected to fall far enough, from one end of a partition to the other, which are
  max(kl, ku) rows less than it has; else so few partitions that they do, or full SPIKE, what takes less time
*/
PetscInt SpikePartitionsChooseAuto(const SpikeShape *s, PetscBool *full)
{
  const PetscReal rows = s->falloff < 0 ? Fall(s) / -s->falloff + (PetscReal)HalfBandwidth(s) : PETSC_MAX_REAL;
  const PetscInt  few = (PetscInt)((PetscReal)s->n / rows), np = s->falloff < 0 ? SpikePartitionsChoose(s) : 0,
                 coupled = SpikePartitionsChooseFull(s);
  SpikeTimes t, c;

  *full = PETSC_FALSE;
  if (np > 0 && (PetscReal)(s->n / np) >= rows) return np;
  if (coupled == 1) return 1;
  c     = SpikePartitionsFullTimes(s, coupled);
  *full = PETSC_TRUE;
  if (few < 1) return coupled;
  t = SpikePartitionsTimes(s, few);
  if (t.setup + SPIKE_PARTITIONS_SOLVES * 2 * t.apply > c.setup + SPIKE_PARTITIONS_SOLVES * 2 * c.apply) return coupled;
  *full = PETSC_FALSE;
  return few;
}

/*
  Row exchanges make the steps of a partition 5 to 20 times as long, which waits of other partitions hide. So np
  truncated partitions become twice as many, where those are as long as one of them and its spikes must be. Measured,
  dominance 1, an H100, setup and application in ms: n = 200000, K = 32, 264 and 528 partitions 2.3, 0.57 and 1.7, 0.46;
  K = 50, 132 and 264 4.3, 0.97 and 3.6, 0.60; K = 128, 66 and 132 22, 2.4 and 18, 1.9; up to K = 4 nothing is gained
*/
PetscInt SpikePartitionsExchange(const SpikeShape *s, PCSpikeType type, PetscInt np)
{
  const PetscInt  K = HalfBandwidth(s), length = s->n / (2 * PetscMax(np, 1));
  const PetscReal rows = type != PC_SPIKE_AUTO ? 0
                       : s->falloff < 0        ? Fall(s) / -s->falloff + (PetscReal)K
                                               : PETSC_MAX_REAL;

  return np > 1 && K > 4 && length >= 4 * K && (PetscReal)length >= rows ? FillTiles(s, 2 * np) : np;
}
