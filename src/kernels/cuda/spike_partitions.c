/* SPDX-License-Identifier: BSD-2-Clause */
/* spike_partitions.c: how many partitions a GPU gets: the least time of a setup and a solve, by a model with measured constants */
#include "spike_partitions.h"

/*
  Setup (fill, factors, tips, reduced systems) and apply (sweeps, reduced solve, correction) of np partitions of m = ceil(n / np) rows are each

      fixed + bytes * (entries of the band in the precision of the factors)
            + ceil(m / T) * (latency + share * (ceil(groups / SM) - 1)) + interface * max(1, np / SM)

  fixed      ms: launches, host waits, what the pattern alone costs
  bytes      ns for 1000 of them: what streams whatever np is
  latency    us a tile row of T rows: the chain of dependent steps of a partition
  share      us a tile row for each further group of partitions on the same of SM multiprocessors
  interface  us for each partition a multiprocessor has: tips, reduced system, correction. It hides its latency behind no other: at least one

  A group is as many partitions as a warp takes. Few partitions cost steps, many cost interfaces; the least is flat.
*/
typedef struct {
  PetscReal fixed, bytes, latency, share, interface;
} Constants;

/* Measured on one H200 (132 multiprocessors), double precision, dominance 1, by benchmarks/partitions -calibrate and benchmarks/fit_partitions.py */
static const struct {
  PetscInt  K;
  Constants setup, apply;
} table[] = {
  {1,   {2.524, 0, 1.87, 0.829, 17.99},         {0.1114, 0, 1.971, 0, 0.5438}           },
  {2,   {0.652, 0, 1.799, 0.4523, 17.57},       {0.06863, 0, 2.154, 0, 0.4468}          },
  {4,   {0.08482, 0, 1.26, 0, 14.08},           {0.06837, 0, 1.897, 0, 0.127}           },
  {8,   {0.1019, 0, 2.835, 0.9348, 8.729},      {0.0261, 0.398, 1.903, 0, 1.174}        },
  {16,  {0.09026, 1.447, 7.339, 0.3435, 12.64}, {0.02479, 0, 2.593, 0.1725, 3.483}      },
  {24,  {0.254, 0, 4.213, 0.4094, 35.84},       {0.004, 0, 3.113, 0.2841, 11.2}         },
  {32,  {0.1183, 0.9692, 4.914, 0, 56.53},      {0.02676, 0.1717, 2.543, 0, 8.973}      },
  {50,  {0.5807, 0, 4.387, 3.418, 154.8},       {0.03279, 0, 3.799, 0, 32.79}           },
  {64,  {0.1807, 1.102, 4.759, 2.753, 217.1},   {0.05612, 0, 4.747, 0.1264, 44.81}      },
  {96,  {1.188, 0, 3.521, 12.9, 400.4},         {0.0845, 0, 4.713, 0.6438, 73.86}       },
  {128, {0.3032, 1.483, 6.8, 13.63, 859.5},     {0.05063, 0.09782, 4.864, 0.8058, 117.8}},
  {200, {3.146, 0, 14.14, 33.27, 3279},         {0, 0, 4.014, 1.967, 274.1}             },
  {256, {0, 2.267, 19.02, 14.03, 7431},         {0.3104, 0.224, 4.887, 10.58, 0}        },
  {512, {0, 0, 95.63, 56.11, 3.565e+04},        {0.9797, 0, 7.757, 42.33, 0}            },
};

#define SPIKE_PARTITIONS_MAX_ROWS 262144 /* where nothing is known of the spikes */

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

/* Linear between the half-bandwidths of the table, but not from one family of kernels to another */
static void Interpolate(PetscInt K, Constants *setup, Constants *apply)
{
  size_t    lo = 0, hi = 0;
  PetscReal t;

  while (hi + 1 < PETSC_STATIC_ARRAY_LENGTH(table) && table[hi].K < K) hi++;
  lo = hi && table[hi].K > K ? hi - 1 : hi;
  if (Family(table[lo].K) != Family(K)) lo = hi;
  if (Family(table[hi].K) != Family(K)) hi = lo;
  t = hi > lo ? (PetscReal)(K - table[lo].K) / (PetscReal)(table[hi].K - table[lo].K) : 0.0;
  for (int side = 0; side < 2; side++) {
    const Constants *a = side ? &table[lo].apply : &table[lo].setup, *b = side ? &table[hi].apply : &table[hi].setup;
    Constants       *c = side ? apply : setup;

    c->fixed     = Between(t, a->fixed, b->fixed);
    c->bytes     = Between(t, a->bytes, b->bytes);
    c->latency   = Between(t, a->latency, b->latency);
    c->share     = Between(t, a->share, b->share);
    c->interface = Between(t, a->interface, b->interface);
  }
}

/* The shape of the tiles is that of SpikeTilesShape_Private(), which has its own copy of it in CUDA C */
SpikeTimes SpikePartitionsTimes(const SpikeShape *s, PetscInt np)
{
  const PetscInt  K = HalfBandwidth(s), tiles = (K + 31) / 32, T = (K + tiles - 1) / tiles, m = s->n / np + (s->n % np ? 1 : 0), sm = PetscMax(s->multiprocessors, 1);
  const PetscReal bytes = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * (PetscReal)s->bytes, steps = (PetscReal)((m + T - 1) / T), interfaces = PetscMax(1, (PetscReal)np / sm);
  PetscInt        G = 1, groups;
  PetscReal       waves;
  Constants       a, b;
  SpikeTimes      t;

  if (T <= 16) {
    for (PetscInt g = 2; g <= 32 / T; g++)
      if (10 * ((np + g - 1) / g) * g <= 11 * np) G = g;
  }
  groups = (np + G - 1) / G;
  waves  = (PetscReal)((groups + sm - 1) / sm - 1);
  Interpolate(K, &a, &b);
  t.setup = a.fixed + (PetscReal)1e-9 * a.bytes * bytes + (PetscReal)1e-3 * (steps * (a.latency + a.share * waves) + a.interface * interfaces);
  t.apply = b.fixed + (PetscReal)1e-9 * b.bytes * bytes + (PetscReal)1e-3 * (steps * (b.latency + b.share * waves) + b.interface * interfaces);
  return t;
}

/*
  Iterations of a Krylov method to 1e-8, where spikes are expected to fall by exp(-x) over a partition: what truncation neglects of them is left to it.
  Random bands of half-bandwidth 50 and dominance 0.2 and 0.3 took 2 iterations of GMRES at x = 6, 2 at 2.4 and 3 at 1.6; far below 1 counts grow much faster than 1 / x.
*/
PetscReal SpikePartitionsIterations(const SpikeShape *s, PetscInt np)
{
  const PetscReal x = np > 1 ? -s->falloff * (PetscReal)(s->n / np) : PETSC_MAX_REAL;

  if (np == 1) return 1;
  return x > 0 ? 1 + 4 / x * (1 + 1 / (x * x)) : PETSC_MAX_REAL;
}

/*
  The number of partitions with the least time of a setup and a solve: as many applies as iterations and one, with a product of a matrix of
  12 bytes an entry at 3.2 TB/s each. Candidates: one, and fractions and multiples of the number of multiprocessors, which leave none of them idle
  in the last round. No partition is shorter than 4 max(kl, ku) rows, nor than 64. Where nothing is known of the spikes, only long ones are safe.
*/
PetscInt SpikePartitionsChoose(const SpikeShape *s)
{
  const double    factors[] = {0.0625, 0.125, 0.25, 0.5, 0.75, 1, 2, 3, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024};
  const PetscInt  K = HalfBandwidth(s), least = K < 16 ? 64 : 4 * K, most = PetscMax(1, s->n / least);
  const PetscReal product = (PetscReal)s->n * (PetscReal)(s->kl + s->ku + 1) * 12 / (PetscReal)3.2e9;
  PetscInt        best    = 1;
  PetscReal       time    = PETSC_MAX_REAL;

  if (s->falloff >= 0) return PetscMin(most, PetscMax(1, (s->n + SPIKE_PARTITIONS_MAX_ROWS - 1) / SPIKE_PARTITIONS_MAX_ROWS));
  for (int f = -9; f < (int)PETSC_STATIC_ARRAY_LENGTH(factors); f++) {
    const PetscInt   np  = PetscMin(most, f < 0 ? -f : (PetscInt)PetscMax(1, factors[f] * (double)s->multiprocessors));
    const SpikeTimes t   = SpikePartitionsTimes(s, np);
    const PetscReal  its = SpikePartitionsIterations(s, np), now = t.setup + (its + 1) * (t.apply + product);

    if (its < PETSC_MAX_REAL && (now < time || (now == time && np < best))) {
      time = now;
      best = np;
    }
  }
  return best;
}
