/* SPDX-License-Identifier: BSD-2-Clause */
/*
  diaband.h: the band of PCSPIKE from diagonals against the same from CSR; for hostdiaband.c and devicediaband.c, which
  set `kernels`
*/
#include "diashapes.h"
#include "kernels/band/band.h"

typedef struct {
  const char         *name;
  PetscInt            kl, ku, np;
  PetscBool           coupled;
  PetscSpikePrecision precision;
} Band;

static const Band bands[] = {{"all, a partition", 90, 90, 1, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"20,20, 3 partitions", 20, 20, 3, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"20,3, 5 partitions", 20, 3, 5, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"2,9, 13 partitions", 2, 9, 13, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"0,64, 2 partitions", 0, 64, 2, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"64,0, 2 partitions", 64, 0, 2, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"80,80, 7 alone", 80, 80, 7, PETSC_FALSE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"1,1, systems", 1, 1, 4, PETSC_TRUE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"1,1, systems alone", 1, 1, 3, PETSC_FALSE, PETSC_SPIKE_PRECISION_DOUBLE},
                             {"1,1 as others, single", 1, 1, 9, PETSC_TRUE, PETSC_SPIKE_PRECISION_SINGLE},
                             {"0,0, bf16", 0, 0, 1, PETSC_TRUE, PETSC_SPIKE_PRECISION_BF16},
                             {"12,11, fp16", 12, 11, 6, PETSC_TRUE, PETSC_SPIKE_PRECISION_FP16}};

/*
  Values of a case that fill() looks at: none of interest, a number that is too large for factors of 16 bits, one that
  is none, rows of zeros
*/
enum {
  PLAIN,
  LARGE,
  BAD,
  ZEROS,
  NVALUES
};

/* The matrix of a case by its pieces where the backend works */
static void Pieces(const Case *c, SpikeCSR parts[2])
{
  for (int p = 0; p < 2; p++) {
    const PetscInt *ai = p ? c->bi : c->ai, n = c->s->n;

    parts[p].ai     = (const PetscInt *)PutThere(ai, (size_t)(n + 1) * sizeof(PetscInt));
    parts[p].aj     = (const PetscInt *)PutThere(c->aj[p], (size_t)ai[n] * sizeof(PetscInt));
    parts[p].aa     = (const PetscScalar *)PutThere(c->aa[p], (size_t)ai[n] * sizeof(PetscScalar));
    parts[p].colmap = p ? (const PetscInt *)PutThere(c->colmap, 2 * GHOSTS * sizeof(PetscInt)) : NULL;
    parts[p].shift  = p ? -1000 : 0;
    parts[p].r = parts[p].c = NULL;
  }
}

static PetscErrorCode DropPieces(SpikeCSR parts[2])
{
  PetscFunctionBegin;
  for (int p = 0; p < 2; p++) {
    PetscCall((*kernels->release)((void **)&parts[p].ai));
    PetscCall((*kernels->release)((void **)&parts[p].aj));
    PetscCall((*kernels->release)((void **)&parts[p].aa));
    if (p) PetscCall((*kernels->release)((void **)&parts[p].colmap));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A band filled in one of the two ways, with its coupling blocks, and with what a sweep by its factors makes of a vector
*/
typedef struct {
  SpikeFillStats st;
  PetscScalar   *blocks;
  PetscInt       nblocks;
  PetscScalar   *x;
} Filled;

static PetscErrorCode FillBand(const Case *c, const Band *b, const SpikeCSR parts[], PetscBool twice, Filled *f)
{
  const SpikeBandKernels *k = SpikeBandKernelsFind(kernels->memtype);
  const PetscInt n = c->s->n, np = PetscMax(1, PetscMin(b->np, n / PetscMax(1, PetscMax(b->kl, b->ku)))), kl = b->kl,
                 ku = b->ku;
  SpikePivot pivot;
  SpikeBand  s;
  Vector     x;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&pivot, sizeof(pivot)));
  s.n         = n;
  s.kl        = kl;
  s.ku        = ku;
  s.np        = np;
  s.precision = b->precision;
  s.coupled   = b->coupled;
  s.window    = 1e-16;
  s.maxrhs    = 1;
  s.k         = k;
  PetscCall(PetscMalloc2(np + 1, &s.start, np + 1, &s.active));
  for (PetscInt p = 0; p <= np; p++) {
    s.start[p]  = p * (n / np) + PetscMin(p, n % np);
    s.active[p] = (PetscBool)(b->coupled && n && (p > 0 || c->s->low) && (p < np || c->s->high));
  }
  /* as if the first partition were two systems */
  if (kl == 1 && ku == 1 && k->tridiagonal && SpikePrecisionBytes(b->precision) == sizeof(PetscReal)) {
    const PetscInt middle = s.start[1] / 2;

    PetscCall(PetscMalloc1(np + 2, &s.systems));
    s.nsystems = middle ? np + 1 : np;
    for (PetscInt p = 0; p <= np; p++) s.systems[p && middle ? p + 1 : p] = s.start[p];
    if (middle) s.systems[1] = middle;
  }
  PetscCall((*k->begin)(&s));
  PetscCall((*k->create)(&s));
  for (PetscInt pass = 0; pass < (twice ? 2 : 1); pass++) {
    if (parts) PetscCall((*k->fill)(&s, 2, parts, NULL, &f->st));
    else PetscCall((*k->filldia)(&s, &c->A, &f->st));
    if (k->finish) PetscCall((*k->finish)(&s));
  }
  f->nblocks = b->coupled ? (np + 1) * (ku * ku + kl * kl) : 0;
  PetscCall(PetscMalloc1(f->nblocks, &f->blocks));
  if (b->coupled) {
    PetscCall((*k->copy2d)(&s, PETSC_FALSE, PETSC_TRUE, f->blocks, 0, s.dB, 0,
                           (size_t)(np + 1) * ku * ku * sizeof(PetscScalar), 1));
    PetscCall((*k->copy2d)(&s, PETSC_FALSE, PETSC_TRUE, f->blocks + (np + 1) * ku * ku, 0, s.dC, 0,
                           (size_t)(np + 1) * kl * kl * sizeof(PetscScalar), 1));
  }
  pivot.boost  = 2.0;
  pivot.tol    = 1e-3;
  pivot.badrow = -1;
  PetscCall((*k->factor)(&s, &pivot, NULL, NULL));
  if (k->finish) PetscCall((*k->finish)(&s));
  PetscCall(Make(n, 8, &x));
  if (n) PetscCall((*k->sweep)(&s, PETSC_FALSE, SPIKE_SWEEP_ALL, 0, np, 1, x.there, n, x.there, n));
  PetscCall((*k->synchronize)(&s));
  PetscCall(Fetch(&x));
  PetscCall(PetscMalloc1(n, &f->x));
  PetscCall(PetscArraycpy(f->x, x.x, n));
  PetscCall(Drop(&x));
  PetscCall((*k->destroy)(&s));
  PetscCall((*k->end)(&s));
  PetscCall(PetscFree(s.systems));
  PetscCall(PetscFree2(s.start, s.active));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool SameNumbers(PetscInt n, const PetscScalar *x, const PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++)
    if (x[i] != y[i] && !(x[i] != x[i] && y[i] != y[i])) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscBool SameReal(PetscReal x, PetscReal y)
{
  return (PetscBool)(x == y || PetscAbsReal(x - y) <= 100 * PETSC_MACHINE_EPSILON * PetscAbsReal(y) ||
                     (x != x && y != y));
}

static PetscErrorCode TestBand(const Case *c, const Band *b, PetscInt values, const SpikeCSR parts[])
{
  char   where[128];
  Filled csr, dia;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where), "%s; %s; values %" PetscInt_FMT, c->s->name, b->name, values));
  PetscCall(FillBand(c, b, parts, PETSC_FALSE, &csr));
  PetscCall(FillBand(c, b, NULL, PETSC_TRUE, &dia));
  Check(SameNumbers(csr.nblocks, dia.blocks, csr.blocks), where, "coupling blocks");
  Check(SameNumbers(c->s->n, dia.x, csr.x), where, "a sweep by the factors");
  Check(SameReal(dia.st.sum, csr.st.sum), where, "sum");
  Check(SameReal(dia.st.dropped, csr.st.dropped), where, "dropped");
  Check((PetscBool)(values == BAD || dia.st.maxdropped == csr.st.maxdropped), where, "largest dropped");
  Check((PetscBool)(values == BAD || SameReal(dia.st.norm, csr.st.norm)), where, "norm");
  Check((PetscBool)(dia.st.badrow == csr.st.badrow && (values == BAD) == (csr.st.badrow >= 0)), where, "bad row");
  Check((PetscBool)(dia.st.overflowrow == csr.st.overflowrow), where, "row with an overflow");
  Check((PetscBool)(dia.st.joined == csr.st.joined), where, "row that couples two systems");
  Check((PetscBool)(dia.st.zerorow == csr.st.zerorow && (values != ZEROS || csr.st.zerorow >= 0)), where,
        "row of zeros");
  PetscCall(PetscFree(csr.blocks));
  PetscCall(PetscFree(csr.x));
  PetscCall(PetscFree(dia.blocks));
  PetscCall(PetscFree(dia.x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* scan() and sample() against the dense matrix */
static PetscErrorCode TestScan(const Case *c)
{
  const Shape   *s      = c->s;
  const PetscInt most[] = {0, 1, PetscMin(s->n, 7), s->n};
  PetscReal      weight[MAXDIAGONALS], wanted[MAXDIAGONALS];
  PetscInt       fullest[2], full[2] = {0, 0};
  PetscScalar   *rows;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < s->count; d++) wanted[d] = 0.0;
  for (PetscInt i = 0; i < s->n; i++) {
    PetscInt row[2] = {0, 0};

    for (PetscInt d = 0; d < s->count; d++) {
      const PetscScalar a = Has(s, i, d) ? *Dense(c, i, i + s->offset[d]) : (PetscScalar)0.0;

      if (a == (PetscScalar)0.0) continue;
      wanted[d] += PetscAbsScalar(a);
      row[0]++;
      if (PetscAbsInt(s->offset[d]) > 1) row[1]++;
    }
    full[0] = PetscMax(full[0], row[0]);
    full[1] = PetscMax(full[1], row[1]);
  }
  PetscCall((*c->A.k->scan)(&c->A, weight, fullest));
  for (PetscInt d = 0; d < s->count; d++)
    Check((PetscBool)(SameReal(weight[d], wanted[d]) && (weight[d] == 0.0) == (wanted[d] == 0.0)), s->name,
          "sum along a diagonal");
  Check((PetscBool)(fullest[0] == full[0] && fullest[1] == full[1]), s->name, "fullest row");
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(most); k++) {
    if (most[k] > s->n) continue;
    PetscCall(PetscMalloc1(most[k] * s->count, &rows));
    PetscCall((*c->A.k->sample)(&c->A, most[k], rows));
    for (PetscInt r = 0; r < most[k]; r++) {
      const PetscInt i = (PetscInt)((PetscInt64)r * s->n / most[k]);

      for (PetscInt d = 0; d < s->count; d++)
        Check((PetscBool)(rows[r * s->count + d] == (Has(s, i, d) ? *Dense(c, i, i + s->offset[d]) : (PetscScalar)0.0)),
              s->name, "a row of a sample");
    }
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Square shapes of up to `most` rows with each band; a main diagonal that is there is made large */
static PetscErrorCode TestBands(PetscInt most)
{
  PetscScalar nan = 0.0;

  PetscFunctionBegin;
  nan /= nan;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(shapes); k++) {
    const Shape *s = &shapes[k];
    Case         c;

    if (s->n != s->m || s->n > most) continue;
    PetscCall(CaseCreate(s, &c));
    PetscCall(TestScan(&c));
    for (PetscInt values = 0; values < NVALUES; values++) {
      const PetscInt row = s->n / 3;
      SpikeCSR       parts[2];

      if (values != PLAIN && !s->n) continue;
      for (PetscInt i = 0; i < s->n && values == PLAIN; i++)
        for (PetscInt e = c.ai[i]; e < c.ai[i + 1]; e++)
          if (c.aj[0][e] == i) c.aa[0][e] += (PetscScalar)30.0;
      for (int p = 0; p < 2; p++) {
        const PetscInt *ai = p ? c.bi : c.ai;

        if (values == LARGE && ai[row + 1] > ai[row]) c.aa[p][ai[row + 1] - 1] *= (PetscScalar)1e7;
        if (values == BAD && ai[row + 1] > ai[row]) c.aa[p][ai[row]] = nan;
        for (PetscInt i = row; values == ZEROS && i < PetscMin(s->n, row + 3); i++)
          for (PetscInt e = ai[i]; e < ai[i + 1]; e++) c.aa[p][e] = 0.0;
      }
      Pieces(&c, parts);
      PetscCall((*c.A.k->fill)(&c.A, 2, parts));
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(bands); b++)
        if (!s->n || !bands[b].coupled || s->n >= PetscMax(bands[b].kl, bands[b].ku))
          PetscCall(TestBand(&c, &bands[b], values, parts));
      PetscCall(DropPieces(parts));
    }
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
