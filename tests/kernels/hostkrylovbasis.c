/* SPDX-License-Identifier: BSD-2-Clause */
/*
  hostkrylovbasis.c: basis steps of the host backend against plain loops, those of DOTS also narrow, for
  each instruction set; prints TAP
*/
static char help[] = "Basis steps of the host backend of the fused Krylov methods against plain loops.\n\n";

#include "kernels/band/host/ops.h"
#include "kernels/krylov/krylov.h"
#include "tap.h"
#include "random.h"
#include "narrowcase.h"

#define MOST    17
#define SINGLES 7 /* x y z r q p, and the y of a COMBINE */
#define MARGIN  3 /* elements before and after a vector, all of them bytes that no step writes */
#define EMPTY   0x5a

/* A step on m columns, of n rows that begin `offset` elements further; narrow: those of DOTS are bf16 */
typedef struct {
  SpikeKrylovBasisStep step;
  PetscInt             n, m, offset;
  PetscBool            narrow, z, x, q, A, B;
} Case;

typedef struct {
  char        *column[2 * MOST]; /* with margins of bytes */
  PetscScalar *vector[SINGLES];  /* the same              */
} Arrays;

static size_t Bytes(const Case *c)
{
  return (size_t)(c->n + 2 * MARGIN + c->offset) * sizeof(PetscScalar);
}

static void *At(const Case *c, char *array)
{
  return array + (size_t)(MARGIN + c->offset) * sizeof(PetscScalar);
}

/* Element i of column j as the step has it */
static PetscScalar ColumnAt(const Case *c, PetscInt j, PetscInt i)
{
  return c->narrow ? NarrowNumber(PETSC_SPIKE_PRECISION_BF16, NumberAt(j, i)) : NumberAt(j, i);
}

static PetscErrorCode Make(const Case *c, Arrays *a)
{
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->n, &v));
  for (PetscInt k = 0; k < 2 * MOST; k++) {
    PetscCall(PetscMalloc1(Bytes(c), &a->column[k]));
    memset(a->column[k], EMPTY, Bytes(c));
    for (PetscInt i = 0; i < c->n; i++) v[i] = NumberAt(k, i);
    if (c->narrow) NarrowShadow(c->n, v, At(c, a->column[k]));
    else if (c->n) memcpy(At(c, a->column[k]), v, (size_t)c->n * sizeof(*v));
  }
  for (PetscInt k = 0; k < SINGLES; k++) {
    char *array;

    PetscCall(PetscMalloc1(Bytes(c), &array));
    memset(array, EMPTY, Bytes(c));
    a->vector[k] = (PetscScalar *)array;
    for (PetscInt i = 0; i < c->n; i++) ((PetscScalar *)At(c, array))[i] = NumberAt(2 * MOST + k, i);
  }
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bytes around an array are as they were, those of a narrow column also where PetscScalar would have more */
static void CheckMargins(const Case *c, const char *array, PetscBool narrow, const char where[])
{
  const size_t begin = (size_t)(MARGIN + c->offset) * sizeof(PetscScalar),
               end   = begin + (narrow ? NarrowBytes(c->n) : (size_t)c->n * sizeof(PetscScalar));
  PetscBool ok       = PETSC_TRUE;

  for (size_t k = 0; k < Bytes(c); k++)
    if (k < begin || k >= end) ok = (PetscBool)(ok && array[k] == EMPTY);
  Check(ok, where, "bytes beside a vector");
}

static PetscErrorCode Destroy(const Case *c, Arrays *a, const char where[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2 * MOST; k++) {
    CheckMargins(c, a->column[k], c->narrow, where);
    PetscCall(PetscFree(a->column[k]));
  }
  for (PetscInt k = 0; k < SINGLES; k++) {
    CheckMargins(c, (const char *)a->vector[k], PETSC_FALSE, where);
    PetscCall(PetscFree(a->vector[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Conj(PetscScalar a, PetscScalar b)
{
  return PetscConj(a) * b;
}

/* The step by plain loops; what it must leave is compared at once */
static void Compare(const Case *c, Arrays *a, const PetscScalar small[], const PetscScalar sums[], const char where[])
{
  const PetscReal slack = (PetscReal)(64 * (c->m + 2) * (c->m + 2)) * PETSC_MACHINE_EPSILON;
  PetscScalar     want[MOST + 3];
  PetscInt        nsums = SpikeKrylovBasisSums(c->step, c->m, c->z, c->q);
  PetscBool       rows  = PETSC_TRUE;
  PetscScalar    *v[SINGLES];

  for (PetscInt k = 0; k < SINGLES; k++) v[k] = (PetscScalar *)At(c, (char *)a->vector[k]);
  for (PetscInt k = 0; k < MOST + 3; k++) want[k] = 0.0;
#define SAME(value, wanted) (PetscAbsScalar((value) - (wanted)) <= slack * (1 + PetscAbsScalar(wanted)))
  for (PetscInt i = 0; i < c->n; i++) {
    PetscScalar x = NumberAt(2 * MOST, i), y = NumberAt(2 * MOST + 1, i), z = NumberAt(2 * MOST + 2, i),
                r = NumberAt(2 * MOST + 3, i), q = NumberAt(2 * MOST + 4, i), p = NumberAt(2 * MOST + 5, i), left,
                right;

    if (c->step == SPIKE_KRYLOV_DOTS) {
      for (PetscInt j = 0; j < c->m; j++) want[j] += Conj(ColumnAt(c, j, i), y);
      want[c->m] += Conj(y, y);
      want[c->m + 1] += Conj(z, z);
      want[c->m + 2] += Conj(y, z);
    } else if (c->step == SPIKE_KRYLOV_COMBINE) {
      left  = r;
      right = 0.0;
      for (PetscInt j = 0; j < c->m; j++) {
        if (c->A) left -= small[j] * NumberAt(j, i);
        if (c->B) right += small[j] * NumberAt(MOST + j, i);
      }
      rows = (PetscBool)(rows && SAME(v[6][i], (c->B ? small[MOST] : (PetscScalar)1.0) * left + right));
    } else {
      for (PetscInt j = 0; j < c->m; j++) {
        z -= small[j] * NumberAt(j, i);
        y -= small[j] * NumberAt(MOST + j, i);
      }
      if (c->q) {
        q -= small[MOST + 1] * (q - r);
        p -= small[MOST + 1] * (p - x);
      }
      if (c->x) {
        x += small[MOST] * y;
        r -= small[MOST] * z;
      }
      if (c->q) {
        want[0] += Conj(q - r, q);
        want[1] += Conj(q - r, q - r);
        want[2] += Conj(q, q);
        want[3] += Conj(r, r);
      } else want[0] += Conj(r, r);
      rows = (PetscBool)(rows && SAME(v[0][i], x) && SAME(v[3][i], r) && SAME(v[4][i], q) && SAME(v[5][i], p));
      rows = (PetscBool)(rows && SAME(v[1][i], y) && SAME(v[2][i], z));
    }
  }
#undef SAME
  Check(rows, where, "a row");
  if (c->step == SPIKE_KRYLOV_COMBINE || (c->step == SPIKE_KRYLOV_UPDATE && !c->x)) return;
  for (PetscInt k = 0; k < nsums; k++)
    Check((PetscBool)(PetscAbsScalar(sums[k] - want[k]) <= NUMBERS_SIZE * slack * 4 * (c->n + 1)), where, "a sum");
}

static PetscErrorCode TestCase(SpikeKrylov *s, const Case *c)
{
  static const char *const names[] = {"dots", "combine", "update", "smooth"};
  Arrays                   a;
  SpikeKrylovBasis         b;
  PetscScalar             *A[MOST], *B[MOST], *v[SINGLES], sums[MOST + 3], small[MOST + 2];
  char                     where[96];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(where, sizeof(where),
                          "%s, n %" PetscInt_FMT ", m %" PetscInt_FMT ", offset %" PetscInt_FMT "%s", names[c->step],
                          c->n, c->m, c->offset, c->narrow ? ", narrow" : ""));
  for (PetscInt k = 0; k < MOST + 2; k++) small[k] = NumberAt(90, k);
  PetscCall(Make(c, &a));
  for (PetscInt j = 0; j < c->m; j++) {
    A[j] = (PetscScalar *)At(c, a.column[j]);
    B[j] = (PetscScalar *)At(c, a.column[MOST + j]);
  }
  for (PetscInt k = 0; k < SINGLES; k++) v[k] = (PetscScalar *)At(c, (char *)a.vector[k]);
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.n      = c->n;
  b.last   = c->m;
  b.narrow = c->narrow;
  b.A      = c->A ? A : NULL;
  b.B      = c->B ? B : NULL;
  b.c      = small;
  b.y      = v[c->step == SPIKE_KRYLOV_COMBINE ? 6 : 1];
  if (c->step == SPIKE_KRYLOV_DOTS) b.z = c->z ? v[2] : NULL;
  else {
    b.a = c->B ? small + MOST : NULL;
    b.r = v[3];
    if (c->step == SPIKE_KRYLOV_UPDATE) {
      b.z = v[2];
      b.g = small + MOST + 1;
      b.x = c->x ? v[0] : NULL;
      b.r = c->x ? v[3] : NULL;
      b.q = c->q ? v[4] : NULL;
      b.p = c->q ? v[5] : NULL;
    }
  }
  PetscCall((*s->k->basisstep)(s, c->step, &b, NULL, NULL));
  PetscCall((*s->k->basissums)(s, MOST + 3, sums));
  Compare(c, &a, small, sums, where);
  PetscCall(Destroy(c, &a, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSteps(SpikeKrylov *s, PetscInt n, PetscInt m, PetscInt offset)
{
  const PetscBool yes = PETSC_TRUE, no = PETSC_FALSE, narrow = PetscDefined(USE_REAL_DOUBLE) ? yes : no;
  const Case      cases[] = {{SPIKE_KRYLOV_DOTS, n, m, offset, no, no, no, no, yes, no},
                             {SPIKE_KRYLOV_DOTS, n, m, offset, no, yes, no, no, yes, no},
                             {SPIKE_KRYLOV_DOTS, n, m, offset, narrow, no, no, no, yes, no},
                             {SPIKE_KRYLOV_DOTS, n, m, offset, narrow, yes, no, no, yes, no},
                             {SPIKE_KRYLOV_COMBINE, n, m, offset, no, no, no, no, yes, yes},
                             {SPIKE_KRYLOV_COMBINE, n, m, offset, no, no, no, no, yes, no},
                             {SPIKE_KRYLOV_COMBINE, n, m, offset, no, no, no, no, no, yes},
                             {SPIKE_KRYLOV_UPDATE, n, m, offset, no, yes, no, no, yes, yes},
                             {SPIKE_KRYLOV_UPDATE, n, m, offset, no, yes, yes, no, yes, yes},
                             {SPIKE_KRYLOV_UPDATE, n, m, offset, no, yes, yes, yes, yes, yes}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) PetscCall(TestCase(s, &cases[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the last bit, to the nearest, ties to even */
static PetscErrorCode TestToShadow(SpikeKrylov *s, PetscInt n)
{
  PetscScalar *x;
  char        *y, *want;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n + 1, &x, (n + 1) * sizeof(*x), &y, (n + 1) * sizeof(*x), &want));
  for (PetscInt i = 0; i < n; i++) x[i] = i % 3 ? NumberAt(3, i) : (PetscScalar)(1.0 + (i + 1) * 0x1p-8);
  memset(y, EMPTY, (n + 1) * sizeof(*x));
  memset(want, EMPTY, (n + 1) * sizeof(*x));
  PetscCall((*s->k->toshadow)(n, x, y));
  NarrowShadow(n, x, want);
  Check((PetscBool)!memcmp(y, want, (n + 1) * sizeof(*x)), "a narrow vector of DOTS", "bytes");
  PetscCall(PetscFree3(x, y, want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[]   = {0, 1, 2, 3, 7, 63, 64, 127, 128, 129, 1023, 1024, 1025, 2309},
                 columns[] = {0, 1, 2, 3, 4, 8, 17};
  SpikeKrylov s;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  GuardStart();
  for (int isa = SPIKE_ISA_BASE; isa <= SPIKE_ISA_V4; isa++) {
    char what[64];

    if (!SpikeISASet((SpikeISA)isa)) continue;
    PetscCall(PetscMemzero(&s, sizeof(s)));
    s.k = &SpikeKrylovKernels_Host;
    PetscCall((*s.k->create)(&s));
    PetscCall((*s.k->basiscreate)(&s, MOST, SpikeIDRSize(MOST)));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++) {
      for (size_t l = 0; l < PETSC_STATIC_ARRAY_LENGTH(columns); l++)
        for (PetscInt offset = 0; offset < 2; offset++) PetscCall(TestSteps(&s, sizes[k], columns[l], offset));
      PetscCall(TestToShadow(&s, sizes[k]));
    }
    PetscCall((*s.k->destroy)(&s));
    Check((PetscBool)(!GuardDamage() && !guard.nblocks), "memory", "written outside of an array, or left");
    guard.damaged = 0;
    PetscCall(PetscSNPrintf(what, sizeof(what), "basis steps, instruction set %d", isa));
    Report(what);
  }
  printf("1..%d\n", (int)number);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
