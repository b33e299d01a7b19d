/* SPDX-License-Identifier: BSD-2-Clause */
/*
  solve.c: time to a solution by BiCGStab with block ILU(0) on the right, all of it from the kernels of a place: what an
  ordering costs in iterations and gains in time
*/
#include "solve.h"

#define SOLVE_MOST 500
#define SOLVE_TOL  1e-8

enum {
  VEC_R,
  VEC_S0, /* the shadow residual */
  VEC_P,
  VEC_V,
  VEC_T,
  VEC_Z,
  NVECS
};

typedef struct {
  Ilu          *t;
  SpikeBlockMat A;
  PetscInt      n, iterations;
  PetscScalar  *vec[NVECS], *small; /* small: of the place's memory, [4] */
  double        residual;           /* norm of b - A x over that of b, by its recurrence, and then anew */
} Solution;

/* Poisson's equation in each component, components coupled by random numbers of a tenth, and a little convection */
static void SolutionValues(Ilu *t)
{
  const SpikeDouble *numbers = (const SpikeDouble *)t->p->run->numbers[0];
  const PetscInt     bs      = t->bs;

  for (PetscInt i = 0; i < t->nb; i++)
    for (PetscInt k = t->bi[i]; k < t->bi[i + 1]; k++)
      for (PetscInt e = 0; e < bs * bs; e++) {
        const PetscCount at = (PetscCount)k * bs * bs + e;

        t->ba[at] = t->bj[k] == i ? (PetscScalar)numbers[at % PERIOD] * (PetscReal)(0.1 / (double)bs) : 0.0;
        if (e % (bs + 1) == 0) t->ba[at] += t->bj[k] == i ? 6.0 : (t->bj[k] < i ? -1.1 : -0.9);
      }
}

static PetscErrorCode SolutionMult(Solution *s, const PetscScalar *x, PetscScalar *y)
{
  SpikeBlockTask task;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&task, sizeof(task)));
  task.op   = SPIKE_BLOCK_MULT;
  task.mode = SPIKE_BLOCK_SET;
  task.n    = s->n;
  task.m    = 1;
  task.X    = x;
  task.Y    = y;
  task.ldx = task.ldy = s->n;
  task.A              = &s->A;
  PetscCall((*s->t->p->b.k->run)(&s->t->p->b, NativePrecision(), 1, &task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* values[i] <- x[i]^H y[i], one launch */
static PetscErrorCode SolutionDots(Solution *s, PetscInt count, PetscScalar *const x[], PetscScalar *const y[],
                                   PetscScalar values[])
{
  SpikeBlockTask task[4];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(task, sizeof(task)));
  for (PetscInt i = 0; i < count; i++) {
    task[i].op   = SPIKE_BLOCK_DOT;
    task[i].mode = SPIKE_BLOCK_SET;
    task[i].n    = s->n;
    task[i].k = task[i].m = 1;
    task[i].X             = x[i];
    task[i].Z             = y[i];
    task[i].Y             = s->small + i;
    task[i].ldx = task[i].ldz = s->n;
    task[i].ldy               = 1;
  }
  PetscCall((*s->t->p->b.k->run)(&s->t->p->b, NativePrecision(), count, task));
  PetscCall(Download(s->t->p, s->small, (size_t)count * sizeof(PetscScalar), values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y[i] += a[i] x[i], or y[i] = a[i] x[i], one launch: no y is another's x or y */
static PetscErrorCode SolutionAxpys(Solution *s, PetscInt count, const PetscScalar a[], PetscScalar *const x[],
                                    PetscScalar *const y[], SpikeBlockMode mode)
{
  SpikeBlockTask task[4];

  PetscFunctionBeginUser;
  PetscCall(
    (*s->t->p->b.k->copy)(&s->t->p->b, PETSC_TRUE, PETSC_FALSE, s->small, a, (size_t)count * sizeof(PetscScalar)));
  PetscCall(PetscMemzero(task, sizeof(task)));
  for (PetscInt i = 0; i < count; i++) {
    task[i].op   = SPIKE_BLOCK_AXPY;
    task[i].mode = mode;
    task[i].n    = s->n;
    task[i].k = task[i].m = 1;
    task[i].X             = x[i];
    task[i].Z             = s->small + i;
    task[i].Y             = y[i];
    task[i].ldx = task[i].ldy = s->n;
    task[i].ldz               = 1;
  }
  PetscCall((*s->t->p->b.k->run)(&s->t->p->b, NativePrecision(), count, task));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolutionPrecondition(Solution *s, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBeginUser;
  PetscCall((*s->t->p->b.k->lusolve)(&s->t->lu[0], SPIKE_BLOCK_PLAIN, 1, x, s->n, y, s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- A^-1 b from x = 0, scalars on the host: waits four times an iteration, whatever the ordering */
static PetscErrorCode SolutionSolve(void *ctx, PetscInt k)
{
  Solution     *s = (Solution *)ctx;
  SpikeBlock   *h = &s->t->p->b;
  PetscScalar **w = s->vec, *b = s->t->b, *x = s->t->x, rho, d[2], a[2];
  const size_t  bytes = (size_t)s->n * sizeof(PetscScalar);
  double        norm;

  PetscFunctionBeginUser;
  (void)k;
  for (int i = 0; i < 3; i++) PetscCall((*h->k->copy)(h, PETSC_TRUE, PETSC_TRUE, w[VEC_R + i], b, bytes));
  d[0] = 0.0;
  PetscCall(SolutionAxpys(s, 1, d, &b, &x, SPIKE_BLOCK_SET));
  PetscCall(SolutionDots(s, 1, &b, &b, &rho));
  norm = sqrt((double)PetscRealPart(rho));
  for (s->iterations = 0; s->iterations < SOLVE_MOST;) {
    PetscScalar *const xs1[] = {w[VEC_V], w[VEC_Z]}, *const ys[] = {w[VEC_R], x}, *const xs2[] = {w[VEC_T], w[VEC_Z]},
                       *const left1[] = {w[VEC_T], w[VEC_T]}, *const right1[] = {w[VEC_T], w[VEC_R]},
                       *const left2[] = {w[VEC_R], w[VEC_S0]}, *const right2[] = {w[VEC_R], w[VEC_R]};
    PetscScalar alpha, omega, beta;

    PetscCall(SolutionPrecondition(s, w[VEC_P], w[VEC_Z]));
    PetscCall(SolutionMult(s, w[VEC_Z], w[VEC_V]));
    PetscCall(SolutionDots(s, 1, &w[VEC_S0], &w[VEC_V], d));
    alpha = rho / d[0];
    a[0]  = -alpha;
    a[1]  = alpha;
    PetscCall(SolutionAxpys(s, 2, a, xs1, ys, SPIKE_BLOCK_ADD)); /* r <- r - alpha v, x <- x + alpha z */
    PetscCall(SolutionPrecondition(s, w[VEC_R], w[VEC_Z]));
    PetscCall(SolutionMult(s, w[VEC_Z], w[VEC_T]));
    PetscCall(SolutionDots(s, 2, left1, right1, d));
    omega = d[1] / d[0];
    a[0]  = -omega;
    a[1]  = omega;
    PetscCall(SolutionAxpys(s, 2, a, xs2, ys, SPIKE_BLOCK_ADD)); /* r <- r - omega t, x <- x + omega z */
    PetscCall(SolutionDots(s, 2, left2, right2, d));
    s->iterations++;
    s->residual = sqrt((double)PetscRealPart(d[0])) / norm;
    if (!(s->residual > SOLVE_TOL)) break;
    beta = d[1] / rho * alpha / omega;
    rho  = d[1];
    a[0] = beta;
    PetscCall(SolutionAxpys(s, 1, a, &w[VEC_P], &w[VEC_P], SPIKE_BLOCK_SET));
    a[0] = 1.0;
    PetscCall(SolutionAxpys(s, 1, a, &w[VEC_R], &w[VEC_P], SPIKE_BLOCK_ADD));
    a[0] = -beta * omega;
    PetscCall(SolutionAxpys(s, 1, a, &w[VEC_V], &w[VEC_P], SPIKE_BLOCK_ADD)); /* p <- r + beta (p - omega v) */
  }
  PetscCall((*h->k->synchronize)(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For a case that has been measured: other values, a setup, and then a solve. The values stay */
PetscErrorCode SolutionLine(Ilu *t, Key *key, const char solver[])
{
  Place      *p   = t->p;
  Solution    s   = {t, {0, 0, 0, NULL, NULL}, t->nb * t->bs, 0, {NULL}, NULL, 0.0};
  PetscScalar one = -1.0, d[2];
  char        note[96];
  double      ms = NAN, recurrence;

  PetscFunctionBeginUser;
  SolutionValues(t);
  PetscCall((*p->b.k->copy)(&p->b, PETSC_TRUE, PETSC_FALSE, (void *)t->csr.aa, t->ba,
                            (size_t)t->bi[t->nb] * t->bs * t->bs * sizeof(PetscScalar)));
  PetscCall(IluSetUp(t, 0));
  PetscCall((*p->b.k->matcreate)(&p->b, t->bs, t->nb, t->nb, t->bi, t->bj, PETSC_FALSE, &s.A));
  s.A.a = t->csr.aa;
  for (int i = 0; i < NVECS; i++)
    PetscCall((*p->b.k->alloc)(&p->b, (size_t)s.n * sizeof(PetscScalar), (void **)&s.vec[i]));
  PetscCall((*p->b.k->alloc)(&p->b, 4 * sizeof(PetscScalar), (void **)&s.small));
  PetscCall((*p->time)(p, 1, NULL, SolutionSolve, &s, &ms, NULL));
  recurrence = s.residual;
  PetscCall(SolutionMult(&s, t->x, s.vec[VEC_R]));
  PetscCall(SolutionAxpys(&s, 1, &one, &t->b, &s.vec[VEC_R], SPIKE_BLOCK_ADD));
  {
    PetscScalar *const both[] = {s.vec[VEC_R], t->b};

    PetscCall(SolutionDots(&s, 2, both, both, d));
  }
  s.residual = sqrt((double)PetscRealPart(d[0]) / (double)PetscRealPart(d[1]));
  PetscCall(PetscSNPrintf(note, sizeof(note), "%" PetscInt_FMT " iterations; residual %.1e (%.1e)", s.iterations,
                          s.residual, recurrence));
  key->op    = "bicgstab";
  key->m     = 1;
  key->bytes = 0.0;
  PetscCall(Report(p, key, solver, ms, NAN, NAN, note));
  for (int i = 0; i < NVECS; i++) PetscCall((*p->b.k->release)(&p->b, (void **)&s.vec[i]));
  PetscCall((*p->b.k->release)(&p->b, (void **)&s.small));
  PetscCall((*p->b.k->matdestroy)(&p->b, &s.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
