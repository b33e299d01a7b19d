/* SPDX-License-Identifier: BSD-2-Clause */
/* cudatips.cu: reduced systems of several right-hand sides, solvetips() of the CUDA backend, by their formula; TAP */
static char help[] = "solvetips() of SpikeBandKernels_CUDA for 1 to 33 right-hand sides against dense sums.\n\
  -small       few and small shapes only, for memory checkers\n\
  -most <512>  largest half-bandwidth tested\n\n";

#include "kernels/band/band.h"
#include "random.h"
#include <petscdevice_cuda.h>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

typedef std::vector<PetscScalar> Column;

enum {
  TEST_SOLVE,
  TEST_COMPANY,
  TEST_RANGES,
  TEST_EXTENT,
  NTOPICS
};
static const char *const topics[NTOPICS] = {"solvetips", "the same bits whatever stands beside a column",
                                            "ranges of interfaces", "nothing written elsewhere"};

static struct {
  PetscInt n, bad;
  double   worst;
} results[NTOPICS];

#define COLUMNS 33

struct Case {
  PetscInt              kl, ku, np, nrhs;
  PetscBool             trans;
  std::vector<PetscInt> start;
  std::vector<char>     memory;
  PetscBool            *active;
  Column                Vb, Wt, R, tips, ref; /* tips and solution of COLUMNS right-hand sides */
  SpikeBand             dev;
};

static void Check(const Case &c, int topic, double error)
{
  auto      &r   = results[topic];
  const bool bad = !(error <= 1.0);

  r.n++;
  if (bad && r.bad++ < 5)
    printf("# %s: kl %d, ku %d, np %d, outer interfaces %d %d, nrhs %d%s: error %.3g of its bound\n", topics[topic],
           (int)c.kl, (int)c.ku, (int)c.np, (int)c.active[0], (int)c.active[c.np], (int)c.nrhs,
           c.trans ? ", transposed" : "", error);
  if (!(error <= r.worst)) r.worst = error;
}

static PetscErrorCode Put(const Column &from, PetscScalar *to)
{
  PetscFunctionBegin;
  if (from.size())
    PetscCallCUDA(cudaMemcpy(to, from.data(), from.size() * sizeof(PetscScalar), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of all interfaces of so many columns, or of one of them */
static size_t Length(const Case &c)
{
  return (size_t)(c.np + 1) * (size_t)(c.kl + c.ku);
}

static bool Same(const PetscScalar *x, const PetscScalar *y, size_t n)
{
  return !n || !memcmp((const void *)x, (const void *)y, n * sizeof(PetscScalar));
}

/* x_t = R^-1 (g_t - Wt g_b), x_b = g_b - Vb x_t; transposed z_t = R^-T (u_t - Vb^T u_b), z_b = u_b - Wt^T z_t */
static void Reference(Case &c)
{
  const size_t kl = (size_t)c.kl, ku = (size_t)c.ku, h = kl + ku;
  Column       y(ku), z(ku);

  c.ref = c.tips;
  for (size_t r = 0; r < COLUMNS; r++)
    for (size_t q = 0; q <= (size_t)c.np; q++) {
      const PetscScalar *V = c.Vb.data() + q * kl * ku, *W = c.Wt.data() + q * kl * ku, *R = c.R.data() + q * ku * ku;
      PetscScalar       *x = c.ref.data() + r * Length(c) + q * h;

      if (!c.active[q]) continue;
      for (size_t i = 0; i < ku; i++) {
        y[i] = x[kl + i];
        for (size_t k = 0; k < kl; k++) y[i] -= (c.trans ? V[k + i * kl] : W[i + k * ku]) * x[k];
      }
      for (size_t i = 0; i < ku; i++) {
        z[i] = 0.0;
        for (size_t k = 0; k < ku; k++) z[i] += (c.trans ? R[k + i * ku] : R[i + k * ku]) * y[k];
      }
      for (size_t i = 0; i < kl; i++)
        for (size_t k = 0; k < ku; k++) x[i] -= (c.trans ? W[k + i * ku] : V[i + k * kl]) * z[k];
      for (size_t i = 0; i < ku; i++) x[kl + i] = z[i];
    }
}

/*
  The first nrhs columns of `tips` solved on the device, [q0, q1) after [q1, np + 1) and [0, q0); all columns come back
*/
static PetscErrorCode Solve(Case &c, const Column &tips, PetscInt nrhs, PetscInt q0, PetscInt q1, Column *x)
{
  SpikeBand *s = &c.dev;

  PetscFunctionBegin;
  c.nrhs = nrhs;
  PetscCall((*s->k->begin)(s));
  PetscCall(Put(tips, s->dtips));
  if (q1 <= c.np) PetscCall((*s->k->solvetips)(s, c.trans, q1, c.np + 1, nrhs));
  if (q0 > 0) PetscCall((*s->k->solvetips)(s, c.trans, 0, q0, nrhs));
  PetscCall((*s->k->solvetips)(s, c.trans, q0, q1, nrhs));
  PetscCall((*s->k->end)(s));
  PetscCall((*s->k->synchronize)(s));
  x->assign(tips.size(), (PetscScalar)0.0);
  if (x->size())
    PetscCallCUDA(cudaMemcpy((void *)x->data(), s->dtips, x->size() * sizeof(PetscScalar), cudaMemcpyDeviceToHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestColumns(Case &c)
{
  const size_t   len = Length(c), h = (size_t)(c.kl + c.ku);
  const double   eps = (double)PETSC_MACHINE_EPSILON * (16 + 2 * (double)h) * NUMBERS_SIZE;
  Column         all, x, other(c.tips);
  const PetscInt np = c.np;

  PetscFunctionBegin;
  Reference(c);
  PetscCall(Solve(c, c.tips, COLUMNS, 0, np + 1, &all));
  for (PetscInt nrhs : {1, 2, 3, 7, 8, 9, 16, 17, COLUMNS}) {
    PetscCall(Solve(c, c.tips, nrhs, 0, np + 1, &x));
    for (size_t r = 0; r < (size_t)nrhs; r++)
      for (PetscInt q = 0; q <= np; q++) {
        const size_t at   = r * len + (size_t)q * h;
        double       most = 0.0, scale = 1.0;

        if (!c.active[q]) continue;
        for (size_t i = at; i < at + h; i++) {
          const double e = (double)PetscAbsScalar(x[i] - c.ref[i]);

          if (!(e <= most)) most = e;
          scale = PetscMax(scale, (double)PetscAbsScalar(c.ref[i]));
        }
        Check(c, TEST_SOLVE, most / (eps * scale));
        if (nrhs > 1) Check(c, TEST_COMPANY, Same(x.data() + at, all.data() + at, h) ? 0 : 2);
      }
    /* later columns, and interfaces that are not active, NaN */
    Check(c, TEST_EXTENT,
          Same(x.data() + (size_t)nrhs * len, c.tips.data() + (size_t)nrhs * len, (COLUMNS - (size_t)nrhs) * len) ? 0
                                                                                                                  : 2);
    for (size_t r = 0; r < (size_t)nrhs; r++)
      for (PetscInt q = 0; q <= np; q++)
        if (!c.active[q])
          Check(c, TEST_EXTENT,
                Same(x.data() + r * len + (size_t)q * h, c.tips.data() + r * len + (size_t)q * h, h) ? 0 : 2);
    /* as ranks do it: what is between partitions of the rank first, or last */
    PetscCall(Solve(c, c.tips, nrhs, np > 1 ? 1 : 0, PetscMax(np, 1), &other));
    Check(c, TEST_RANGES, Same(x.data(), other.data(), x.size()) ? 0 : 2);
  }
  /* the columns from the last one to the first, every fourth of them not a number */
  other = c.tips;
  for (size_t r = 0; r < COLUMNS; r++)
    for (size_t i = 0; i < len; i++)
      other[r * len + i] = r % 4 == 1 ? (PetscScalar)NAN : c.tips[(COLUMNS - 1 - r) * len + i];
  PetscCall(Solve(c, other, COLUMNS, 0, np + 1, &x));
  for (size_t r = 0; r < COLUMNS; r++)
    if (r % 4 != 1) Check(c, TEST_COMPANY, Same(x.data() + r * len, all.data() + (COLUMNS - 1 - r) * len, len) ? 0 : 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* outer: bit 0 a neighbour before, bit 1 one after */
static PetscErrorCode TestCase(PetscInt kl, PetscInt ku, PetscInt np, int outer)
{
  const size_t K = (size_t)PetscMax(kl, ku), tip = (size_t)(kl * ku), square = (size_t)(ku * ku);
  Case         c = {};

  PetscFunctionBegin;
  c.kl = kl;
  c.ku = ku;
  c.np = np;
  c.memory.assign((size_t)(np + 1) * sizeof(PetscBool), 0);
  c.active = (PetscBool *)c.memory.data();
  for (PetscInt q = 0; q <= np; q++) {
    c.active[q] = (PetscBool)((q > 0 || (outer & 1)) && (q < np || (outer & 2)) && (q != 3 || np == 3));
    c.start.push_back(q * (PetscInt)K);
  }
  for (size_t i = 0; i < (size_t)(np + 1) * tip; i++) {
    const bool here = c.active[i / tip] != PETSC_FALSE;

    c.Vb.push_back(here ? Random() / (PetscReal)K : (PetscScalar)NAN);
    c.Wt.push_back(here ? Random() / (PetscReal)K : (PetscScalar)NAN);
  }
  for (size_t i = 0; i < (size_t)(np + 1) * square; i++)
    c.R.push_back(c.active[i / square] ? Random() / (PetscReal)K : (PetscScalar)NAN);
  for (size_t i = 0; i < COLUMNS * Length(c); i++)
    c.tips.push_back(c.active[i % Length(c) / (size_t)(kl + ku)] ? Random() : (PetscScalar)NAN);
  c.dev           = SpikeBand();
  c.dev.n         = c.start.back();
  c.dev.kl        = kl;
  c.dev.ku        = ku;
  c.dev.np        = np;
  c.dev.start     = c.start.data();
  c.dev.active    = c.active;
  c.dev.precision = sizeof(PetscReal) == 4 ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
  c.dev.coupled   = PETSC_TRUE;
  c.dev.maxrhs    = COLUMNS;
  c.dev.k         = &SpikeBandKernels_CUDA;
  PetscCall((*c.dev.k->create)(&c.dev));
  PetscCall(Put(c.Vb, c.dev.dVb));
  PetscCall(Put(c.Wt, c.dev.dWt));
  PetscCall(Put(c.R, c.dev.dR));
  for (int trans = 0; trans < 2; trans++) {
    c.trans = (PetscBool)trans;
    PetscCall(TestColumns(c));
  }
  PetscCall((*c.dev.k->destroy)(&c.dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt half[] = {1,  1,  8,   8,   17,  17,  33, 33,  2,   2, 16, 16, 32,  32,  50,  50,  64,  64,
                                  65, 65, 128, 128, 129, 129, 3,  1,   1,   8, 5,  12, 0,   3,   0,   17,  31,  2,
                                  2,  31, 40,  33,  33,  64,  9,  130, 200, 7, 5,  0,  200, 200, 300, 512, 512, 512};
  PetscBool             small  = PETSC_FALSE;
  PetscInt              most   = 512;
  int                   count = 0, failed = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  seed = 20261130;
  if (cudaGetDeviceCount(&count) != cudaSuccess || !count) {
    printf("ok 1 - CUDA reduced systems # SKIP no GPU on this machine\n1..1\n");
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-most", &most, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(half); i += 2) {
    const PetscInt kl = half[i], ku = half[i + 1], K = PetscMax(kl, ku);

    if (K > most || (small && (K > 33 || i % 4))) continue;
    for (PetscInt np : {1, 2, 5})
      if (K <= 200 || np == 2)
        for (int outer = 0; outer < 4; outer++)
          if ((!small && K <= 65) || outer == (int)(np + 2) % 4) PetscCall(TestCase(kl, ku, np, outer));
  }
  for (int t = 0; t < NTOPICS; t++) {
    const auto &r = results[t];

    printf("%s %d - cuda: %s # %d cases", r.bad || !r.n ? "not ok" : "ok", t + 1, topics[t], (int)r.n);
    if (r.bad) printf(", %d bad", (int)r.bad);
    printf(", worst %.2g of its bound\n", r.worst);
    failed += r.bad || !r.n;
  }
  printf("1..%d\n", NTOPICS);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
