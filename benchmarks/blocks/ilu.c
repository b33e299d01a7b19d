/* SPDX-License-Identifier: BSD-2-Clause */
/* ilu.c: block ILU(0) of one or many matrices and its solves, by the kernels of a place and by PETSc's MATBAIJ */
#include "ilu.h"
#include "direct.h"
#include "solve.h"

/* Diagonal blocks are dominant by a little, so that factors stay far from the matrix */
static void IluValues(const Run *run, Ilu *t)
{
  const SpikeDouble *numbers = (const SpikeDouble *)run->numbers[0];
  const PetscInt     bs      = t->bs;

  for (PetscInt i = 0; i < t->nb; i++)
    for (PetscInt k = t->bi[i]; k < t->bi[i + 1]; k++)
      for (PetscInt e = 0; e < bs * bs; e++) {
        const PetscCount at = (PetscCount)k * bs * bs + e;

        t->ba[at] = (PetscScalar)numbers[at % PERIOD];
        if (t->bj[k] == i && e % (bs + 1) == 0) t->ba[at] += 4.0 * (PetscReal)bs;
      }
}

/* newrow of all tasks, whose patterns are alike */
static PetscErrorCode IluDissection(const Ilu *t, PetscInt newrow[])
{
  const PetscInt rows = t->nb / t->ntasks, *old;
  Mat            A;
  IS             row, column;

  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, rows, rows, 7, NULL, &A));
  for (PetscInt i = 0; i < rows; i++)
    for (PetscInt k = t->bi[i]; k < t->bi[i + 1]; k++) PetscCall(MatSetValue(A, i, t->bj[k], 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetOrdering(A, MATORDERINGND, &row, &column));
  PetscCall(ISGetIndices(row, &old));
  for (PetscInt task = 0; task < t->ntasks; task++)
    for (PetscInt i = 0; i < rows; i++) newrow[task * rows + old[i]] = task * rows + i;
  PetscCall(ISRestoreIndices(row, &old));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&column));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluCreate(Place *p, PetscSpikePrecision precision, PetscInt bs, PetscInt edge, PetscInt ntasks,
                         Order order, Ilu *t)
{
  const PetscInt cube = edge * edge * edge;
  PetscInt      *start;
  void          *d;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  t->p         = p;
  t->precision = precision;
  t->bs        = bs;
  t->nb        = cube * ntasks;
  t->ntasks    = ntasks;
  PetscCall(Stencil(edge, ntasks, &t->bi, &t->bj));
  PetscCall(PetscMalloc1((size_t)t->bi[t->nb] * bs * bs, &t->ba));
  PetscCall(PetscMalloc1((size_t)t->nb * bs * MOSTRHS, &t->hostx));
  PetscCall(PetscMalloc1(ntasks + 1, &start));
  for (PetscInt i = 0; i <= ntasks; i++) start[i] = i * cube;
  IluValues(p->run, t);
  if (order != ORDER_NATURAL) PetscCall(PetscMalloc1(t->nb, &t->newrow));
  if (order == ORDER_COLORS) PetscCall(SpikeBlockMulticolor(t->nb, ntasks, start, t->bi, t->bj, t->newrow, &t->colors));
  if (order == ORDER_DISSECTION) PetscCall(IluDissection(t, t->newrow));
  PetscCall(SpikeBlockSymbolic(bs, t->nb, ntasks, start, t->newrow, p->run->complete ? PETSC_INT_MAX : 0, t->bi, t->bj,
                               &t->pattern));
  PetscCall(PetscFree(start));
  t->copies = CopiesOf(p, IluBytes(t, 1.0), MAXLUCOPIES);
  t->csr.bs = bs;
  PetscCall(Upload(p, t->bi, (size_t)(t->nb + 1) * sizeof(PetscInt), &d));
  t->csr.ai = (const PetscInt *)d;
  PetscCall(Upload(p, t->bj, (size_t)t->bi[t->nb] * sizeof(PetscInt), &d));
  t->csr.aj = (const PetscInt *)d;
  PetscCall(Upload(p, t->ba, (size_t)t->bi[t->nb] * bs * bs * sizeof(PetscScalar), &d));
  t->csr.aa = (const PetscScalar *)d;
  for (PetscInt k = 0; k < t->copies; k++) {
    t->lu[k].p         = &t->pattern;
    t->lu[k].precision = precision;
    t->lu[k].maxrhs    = MOSTRHS;
    t->lu[k].b         = &p->b;
    PetscCall((*p->b.k->lucreate)(&t->lu[k]));
  }
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)t->copies * MOSTRHS * t->nb * bs * sizeof(PetscScalar), (void **)&t->b));
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)t->copies * MOSTRHS * t->nb * bs * sizeof(PetscScalar), (void **)&t->x));
  PetscCall(FillPlace(p, NativePrecision(), (PetscCount)t->copies * MOSTRHS * t->nb * bs, t->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluDestroy(Ilu *t)
{
  SpikeBlock *b   = &t->p->b;
  void       *d[] = {(void *)t->csr.ai, (void *)t->csr.aj, (void *)t->csr.aa};

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall((*b->k->release)(b, &d[i]));
  for (PetscInt k = 0; k < t->copies; k++) PetscCall((*b->k->ludestroy)(&t->lu[k]));
  PetscCall((*b->k->release)(b, (void **)&t->b));
  PetscCall((*b->k->release)(b, (void **)&t->x));
  PetscCall(SpikeBlockPatternDestroy(&t->pattern));
  PetscCall(PetscFree(t->bi));
  PetscCall(PetscFree(t->bj));
  PetscCall(PetscFree(t->ba));
  PetscCall(PetscFree(t->hostx));
  PetscCall(PetscFree(t->newrow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- The kernels ---- */

PetscErrorCode IluFill(void *ctx, PetscInt k)
{
  Ilu *t = (Ilu *)ctx;

  PetscFunctionBeginUser;
  PetscCall((*t->p->b.k->lufill)(&t->lu[k], &t->csr, &t->stats[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluFactor(void *ctx, PetscInt k)
{
  Ilu             *t  = (Ilu *)ctx;
  const SpikePivot pv = {100.0 * PETSC_MACHINE_EPSILON, 0.0, 0, -1, 0.0, PETSC_TRUE};

  PetscFunctionBeginUser;
  t->pivot[k] = pv;
  PetscCall((*t->p->b.k->lufactor)(&t->lu[k], &t->pivot[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IluSolve(void *ctx, PetscInt k)
{
  Ilu             *t  = (Ilu *)ctx;
  const PetscInt   n  = t->nb * t->bs;
  const PetscCount at = (PetscCount)k * MOSTRHS * n;

  PetscFunctionBeginUser;
  PetscCall((*t->p->b.k->lusolve)(&t->lu[k], SPIKE_BLOCK_PLAIN, t->m, t->b + at, n, t->x + at, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fill, factors, and what a setup waits for */
PetscErrorCode IluSetUp(void *ctx, PetscInt k)
{
  Ilu *t = (Ilu *)ctx;

  PetscFunctionBeginUser;
  PetscCall(IluFill(ctx, k));
  PetscCall(IluFactor(ctx, k));
  if (t->p->b.k->lufinish) PetscCall((*t->p->b.k->lufinish)(&t->lu[k]));
  PetscCheck(t->pivot[k].badrow < 0, PETSC_COMM_SELF, PETSC_ERR_CONV_FAILED, "bad pivot in row %" PetscInt_FMT,
             t->pivot[k].badrow);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Operations of a factorization, b = bs: 2 b^3 for each block of L, which is multiplied by an inverse, 2 b^3 for each
  update by it, and 2 b^3 for each inverse
*/
static PetscErrorCode IluOperations(const Ilu *t, double *operations)
{
  const SpikeBlockPattern *p      = &t->pattern;
  double                   blocks = (double)t->nb + (double)p->li[t->nb];
  PetscInt                *row; /* row[j] = i: row i has column j */

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(t->nb, &row));
  for (PetscInt j = 0; j < t->nb; j++) row[j] = -1;
  for (PetscInt i = 0; i < t->nb; i++) {
    row[i] = i;
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++) row[p->lj[k]] = i;
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++) row[p->uj[k]] = i;
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++)
      for (PetscInt l = p->ui[p->lj[k]]; l < p->ui[p->lj[k] + 1]; l++) blocks += row[p->uj[l]] == i;
  }
  PetscCall(PetscFree(row));
  *operations = (PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * blocks * (double)t->bs * (double)t->bs * (double)t->bs;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Errors ---- */

/* w <- w - A x, block column-major, bs x bs */
static void BlockSubtract(PetscInt bs, const PetscScalar *A, const PetscScalar *x, PetscScalar *w)
{
  for (PetscInt c = 0; c < bs; c++)
    for (PetscInt r = 0; r < bs; r++) w[r] -= A[c * bs + r] * x[c];
}

/*
  Copy 0: the solution of the last of the m columns. *x <- that from the factors as luget() returns them, in the order
  of the matrix
*/
static PetscErrorCode IluReference(Ilu *t, const PetscScalar *b, PetscScalar *x)
{
  const SpikeBlockPattern *p  = &t->pattern;
  const PetscInt           bs = t->bs, nb = t->nb;
  const size_t             step = (size_t)bs * bs;
  PetscScalar             *L, *D, *U, *w, z[SPIKE_BLOCK_MAXBS];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(p->li[nb] * step, &L, nb * step, &D, p->ui[nb] * step, &U, (size_t)nb * bs, &w));
  PetscCall((*t->p->b.k->luget)(&t->lu[0], L, D, U));
  for (PetscInt i = 0; i < nb; i++) {
    PetscCall(PetscArraycpy(w + (size_t)i * bs, b + (size_t)(p->oldrow ? p->oldrow[i] : i) * bs, bs));
    for (PetscInt k = p->li[i]; k < p->li[i + 1]; k++)
      BlockSubtract(bs, L + k * step, w + (size_t)p->lj[k] * bs, w + (size_t)i * bs);
  }
  for (PetscInt i = nb - 1; i >= 0; i--) {
    for (PetscInt k = p->ui[i]; k < p->ui[i + 1]; k++)
      BlockSubtract(bs, U + k * step, w + (size_t)p->uj[k] * bs, w + (size_t)i * bs);
    for (PetscInt r = 0; r < bs; r++) {
      z[r]                  = w[(size_t)i * bs + r];
      w[(size_t)i * bs + r] = 0.0;
    }
    BlockSubtract(bs, D + i * step, z, w + (size_t)i * bs);
    for (PetscInt r = 0; r < bs; r++)
      x[(size_t)(p->oldrow ? p->oldrow[i] : i) * bs + r] = w[(size_t)i * bs + r] = -w[(size_t)i * bs + r];
  }
  PetscCall(PetscFree4(L, D, U, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Our solution of copy 0 -> hostx, with which peers are compared */
PetscErrorCode IluOurs(Ilu *t)
{
  PetscFunctionBeginUser;
  PetscCall(IluSolve(t, 0));
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCall(Download(t->p, t->x, (size_t)t->m * t->nb * t->bs * sizeof(PetscScalar), t->hostx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last column of it against the factors that luget() returns, where that is little work, else NAN */
static PetscErrorCode IluError(Ilu *t, double *error)
{
  const PetscCount n = (PetscCount)t->nb * t->bs, last = (t->m - 1) * n;
  PetscScalar     *b, *x;

  PetscFunctionBeginUser;
  PetscCall(IluOurs(t));
  *error = NAN;
  if (((double)t->pattern.li[t->nb] + t->pattern.ui[t->nb]) * t->bs * t->bs <= 2e7) {
    PetscCall(PetscMalloc2(n, &b, n, &x));
    PetscCall(Download(t->p, t->b + last, (size_t)n * sizeof(PetscScalar), b));
    PetscCall(IluReference(t, b, x));
    *error = Difference(n, t->hostx + last, x);
    PetscCall(PetscFree2(b, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Factors of MATBAIJ ---- */

typedef struct {
  Ilu          *t;
  Mat           A, F[MAXLUCOPIES], B, X;
  Vec           b, x;
  MatFactorInfo info;
} IluPETSc;

static PetscErrorCode IluPETScFactor(void *ctx, PetscInt k)
{
  IluPETSc *s = (IluPETSc *)ctx;

  PetscFunctionBeginUser;
  PetscCall(MatLUFactorNumeric(s->F[k], s->A, &s->info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IluPETScSolve(void *ctx, PetscInt k)
{
  IluPETSc        *s  = (IluPETSc *)ctx;
  const PetscCount at = (PetscCount)k * MOSTRHS * s->t->nb * s->t->bs;

  PetscFunctionBeginUser;
  if (s->t->m > 1) {
    PetscCall(MatDensePlaceArray(s->B, s->t->b + at));
    PetscCall(MatDensePlaceArray(s->X, s->t->x + at));
    PetscCall(MatMatSolve(s->F[k], s->B, s->X));
    PetscCall(MatDenseResetArray(s->B));
    PetscCall(MatDenseResetArray(s->X));
  } else {
    PetscCall(VecPlaceArray(s->b, s->t->b + at));
    PetscCall(VecPlaceArray(s->x, s->t->x + at));
    PetscCall(MatSolve(s->F[k], s->b, s->x));
    PetscCall(VecResetArray(s->b));
    PetscCall(VecResetArray(s->x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode IluPETScLines(Ilu *t, Key *key)
{
  const PetscInt  n = t->nb * t->bs, columns[] = {1, 4, 16};
  const PetscBool complete = t->p->run->complete;
  IluPETSc       *s;
  IS              row, column;
  double          ms = NAN;

  PetscFunctionBeginUser;
  if (t->precision != NativePrecision() || t->newrow) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&s));
  s->t = t;
  PetscCall(CreateBAIJ(t->bs, t->nb, t->bi, t->bj, t->ba, &s->A));
  PetscCall(MatGetOrdering(s->A, MATORDERINGNATURAL, &row, &column));
  PetscCall(MatFactorInfoInitialize(&s->info));
  s->info.fill = 1.0;
  for (PetscInt k = 0; k < t->copies; k++) {
    PetscCall(MatGetFactor(s->A, MATSOLVERPETSC, complete ? MAT_FACTOR_LU : MAT_FACTOR_ILU, &s->F[k]));
    if (complete) PetscCall(MatLUFactorSymbolic(s->F[k], s->A, row, column, &s->info));
    else PetscCall(MatILUFactorSymbolic(s->F[k], s->A, row, column, &s->info));
  }
  key->op    = "factor";
  key->m     = 0;
  key->bytes = 0.0;
  PetscCall(IluOperations(t, &key->operations));
  PetscCall(HostTime(t->p, t->copies, NULL, IluPETScFactor, s, &ms, NULL));
  PetscCall(Report(t->p, key, "MATBAIJ", ms, NAN, NAN, "with the copy of the values"));
  key->operations = 0.0;
  key->op         = "solve";
  for (int j = 0; j < 3; j++) {
    t->m = key->m = columns[j];
    key->bytes    = IluBytes(t, (double)t->m);
    PetscCall(IluOurs(t));
    if (t->m > 1) {
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, t->m, t->b, &s->B));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, t->m, t->x, &s->X));
    } else {
      PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, t->bs, n, t->b, &s->b));
      PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, t->bs, n, t->x, &s->x));
    }
    PetscCall(HostTime(t->p, t->copies, NULL, IluPETScSolve, s, &ms, NULL));
    PetscCall(Report(t->p, key, "MATBAIJ", ms, NAN, Difference((PetscCount)n * t->m, t->x, t->hostx),
                     "error: what differs from ours"));
    PetscCall(MatDestroy(&s->B));
    PetscCall(MatDestroy(&s->X));
    PetscCall(VecDestroy(&s->b));
    PetscCall(VecDestroy(&s->x));
  }
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&column));
  for (PetscInt k = 0; k < t->copies; k++) PetscCall(MatDestroy(&s->F[k]));
  PetscCall(MatDestroy(&s->A));
  PetscCall(PetscFree(s));
  if (complete) PetscCall(DirectLines(t, key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Cases ---- */

static PetscErrorCode IluCase(Place *p, const char part[], PetscSpikePrecision precision, PetscInt bs, PetscInt edge,
                              PetscInt ntasks, Order order, IluPeers peers)
{
  const PetscInt columns[] = {1, 4, 16};
  const char    *solver    = precision == NativePrecision() ? "ours" : "ours single factors";
  Key            key       = {part, "fill", precision, PETSC_FALSE, bs, edge * edge * edge, 0, ntasks, 0.0, 0.0};
  char           note[96];
  double         ms = NAN, graph = NAN, error = NAN;
  Ilu           *t;

  PetscFunctionBeginUser;
  PetscCall(PetscNew(&t));
  if (order == ORDER_COLORS) solver = "ours multicolor";
  if (order == ORDER_DISSECTION) solver = "ours dissection";
  PetscCall(IluCreate(p, precision, bs, edge, ntasks, order, t));
  PetscCall(PetscSNPrintf(note, sizeof(note), "%" PetscInt_FMT " and %" PetscInt_FMT " levels", t->pattern.nlevels[0],
                          t->pattern.nlevels[1]));
  if (order == ORDER_COLORS) PetscCall(PetscSNPrintf(note, sizeof(note), "%" PetscInt_FMT " colors", t->colors));
  key.bytes = 2.0 * IluBytes(t, 0.0);
  PetscCall((*p->time)(p, t->copies, NULL, IluFill, t, &ms, NULL));
  PetscCall(Report(p, &key, solver, ms, NAN, NAN, ""));
  key.op = "factor"; /* not by graphs: each launch has a number of its own, by which rows know each other */
  PetscCall(IluOperations(t, &key.operations));
  PetscCall((*p->time)(p, t->copies, IluFill, IluFactor, t, &ms, NULL));
  PetscCall(Report(p, &key, solver, ms, NAN, NAN, note));
  key.operations = 0.0;
  key.op         = "setup";
  PetscCall((*p->time)(p, t->copies, NULL, IluSetUp, t, &ms, NULL));
  PetscCall(Report(p, &key, solver, ms, NAN, NAN, "fill; factor; wait"));
  key.op = "solve";
  for (int j = 0; j < 3; j++) {
    t->m = key.m = columns[j];
    key.bytes    = IluBytes(t, (double)t->m);
    graph        = NAN;
    PetscCall((*p->time)(p, t->copies, NULL, IluSolve, t, &ms, &graph));
    PetscCall(IluError(t, &error));
    PetscCall(Report(p, &key, solver, ms, graph, error, note));
  }
  if (peers && order == ORDER_NATURAL && precision == NativePrecision()) PetscCall((*peers)(t, &key));
  if (ntasks == 1 && !strcmp(part, "ilu")) PetscCall(SolutionLine(t, &key, solver));
  PetscCall(IluDestroy(t));
  PetscCall(PetscFree(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One matrix: run->lu[] are edges of cubes */
PetscErrorCode IluPart(Place *p, IluPeers peers)
{
  const Run *run = p->run;

  PetscFunctionBeginUser;
  PetscCall(Heading(p, run->complete ? "Block LU of one matrix, 7-point stencil, natural order"
                                     : "Block ILU(0) of one matrix, 7-point stencil"));
  for (PetscInt i = 0; i < run->nlu; i++)
    for (PetscInt j = 0; j < run->nbs; j++) {
      PetscCall(
        IluCase(p, run->complete ? "lu" : "ilu", NativePrecision(), run->bs[j], run->lu[i], 1, ORDER_NATURAL, peers));
      if (p->beside || run->complete) continue;
      PetscCall(IluCase(p, "ilu", NativePrecision(), run->bs[j], run->lu[i], 1, ORDER_COLORS, peers));
      if (NativePrecision() == PETSC_SPIKE_PRECISION_DOUBLE)
        PetscCall(IluCase(p, "ilu", PETSC_SPIKE_PRECISION_SINGLE, run->bs[j], run->lu[i], 1, ORDER_NATURAL, peers));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many of them, each on a cube of edge run->taskedge */
PetscErrorCode IluTasks(Place *p, IluPeers peers)
{
  const Run *run = p->run;

  PetscFunctionBeginUser;
  PetscCall(Heading(p, run->complete ? "Block LU of many matrices at once, 7-point stencil"
                                     : "Block ILU(0) of many matrices at once, 7-point stencil"));
  for (PetscInt j = 0; j < run->nbs; j++)
    for (PetscInt i = 0; i < run->nbatch; i++) {
      const PetscInt ntasks = run->batch[i];

      if (p->beside && ntasks != 1 && ntasks != 30) continue;
      /* those take their time */
      PetscCall(IluCase(p, run->complete ? "lutasks" : "tasks", NativePrecision(), run->bs[j], run->taskedge, ntasks,
                        ORDER_NATURAL, run->bs[j] < 16 || (ntasks != 2 && ntasks != 8 && ntasks != 32) ? peers : NULL));
      if (run->complete)
        PetscCall(IluCase(p, "lutasks", NativePrecision(), run->bs[j], run->taskedge, ntasks, ORDER_DISSECTION, NULL));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}
