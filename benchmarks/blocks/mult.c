/* SPDX-License-Identifier: BSD-2-Clause */
/*
  mult.c: sparse block matrix times tall block, Y = A X and Y = A^T X, by the kernels of a place and by PETSc's MATBAIJ
*/
#include "mult.h"

static PetscErrorCode MultCreate(Place *p, PetscSpikePrecision precision, PetscInt bs, PetscInt nb, PetscInt *bi,
                                 PetscInt *bj, PetscInt mostm, PetscBool trans, PetscInt ntasks, Mult *t)
{
  const size_t size = NumberBytes(precision);

  PetscFunctionBeginUser;
  t->p         = p;
  t->precision = precision;
  t->bs        = bs;
  t->nb        = nb;
  t->nz        = bi[nb];
  t->bi        = bi;
  t->bj        = bj;
  t->ntasks    = ntasks;
  t->trans     = PETSC_FALSE;
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)t->nz * bs * bs * size, &t->a));
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)nb * bs * mostm * size, &t->x));
  PetscCall((*p->b.k->alloc)(&p->b, (size_t)nb * bs * mostm * size, &t->y));
  PetscCall(FillPlace(p, precision, (PetscCount)t->nz * bs * bs, t->a));
  PetscCall(FillPlace(p, precision, (PetscCount)nb * bs * mostm, t->x));
  for (PetscInt i = 0; i < ntasks; i++) {
    PetscCall((*p->b.k->matcreate)(&p->b, bs, nb / ntasks, nb / ntasks, bi, bj, trans, &t->A[i]));
    t->A[i].a = (const char *)t->a + (size_t)i * (t->nz / ntasks) * bs * bs * size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultDestroy(Mult *t)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < t->ntasks; i++) PetscCall((*t->p->b.k->matdestroy)(&t->p->b, &t->A[i]));
  PetscCall((*t->p->b.k->release)(&t->p->b, &t->a));
  PetscCall((*t->p->b.k->release)(&t->p->b, &t->x));
  PetscCall((*t->p->b.k->release)(&t->p->b, &t->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* BSR: values, an index a block, pointers of block rows, X and Y once */
static double MultBytes(const Mult *t)
{
  const double size = (double)NumberBytes(t->precision), bs = (double)t->bs;

  return (double)t->nz * (bs * bs * size + 4.0) + 4.0 * ((double)t->nb + 1.0) +
         2.0 * (double)t->nb * bs * (double)t->m * size;
}

/* tasks[ntasks]; the rows of a task are a part of those of X and Y */
void MultTaskList(const Mult *t, SpikeBlockTask tasks[])
{
  const PetscInt   n    = t->nb / t->ntasks * t->bs;
  const PetscCount ld   = t->rowmajor ? t->m : (PetscCount)t->nb * t->bs;
  const size_t     next = (size_t)n * (t->rowmajor ? t->m : 1) * NumberBytes(t->precision);

  memset(tasks, 0, (size_t)t->ntasks * sizeof(*tasks));
  for (PetscInt i = 0; i < t->ntasks; i++) {
    SpikeBlockTask *s = &tasks[i];

    s->op       = t->trans ? SPIKE_BLOCK_MULT_TRANSPOSE : SPIKE_BLOCK_MULT;
    s->mode     = SPIKE_BLOCK_SET;
    s->rowmajor = t->rowmajor;
    s->n        = n;
    s->m        = t->m;
    s->X        = (const char *)t->x + (size_t)i * next;
    s->Y        = (char *)t->y + (size_t)i * next;
    s->ldx = s->ldy = ld;
    s->A            = &t->A[i];
  }
}

static PetscErrorCode MultOurs(void *ctx, PetscInt k)
{
  Mult          *t = (Mult *)ctx;
  SpikeBlockTask tasks[MAXMULTTASKS];

  PetscFunctionBeginUser;
  (void)k;
  MultTaskList(t, tasks);
  PetscCall((*t->p->b.k->run)(&t->p->b, t->precision, t->ntasks, tasks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Largest error of Y in units of rounding and of |A| |X|, in 50 block rows, spread. Of the transpose, those are columns:
  entries with their row and number
*/
PetscErrorCode MultError(Mult *t, PetscBool rowmajor, double *error)
{
  const SpikeDouble *numbers = (const SpikeDouble *)t->p->run->numbers[0];
  const PetscInt     bs = t->bs, n = t->nb * bs, m = t->m;
  const size_t       size = NumberBytes(t->precision);
  PetscInt          *i, *k;
  char              *y;

  PetscFunctionBeginUser;
  PetscCall((*t->p->b.k->synchronize)(&t->p->b));
  PetscCall(PetscMalloc3(bs * m * size, &y, t->nz, &i, t->nz, &k));
  *error = 0.0;
  for (PetscInt sample = 0; sample < 50; sample++) {
    const PetscInt row   = (PetscInt)((PetscCount)sample * (t->nb - 1) / 49);
    PetscInt       count = 0;

    if (rowmajor) PetscCall(Download(t->p, (const char *)t->y + (size_t)row * bs * m * size, bs * m * size, y));
    for (PetscInt c = 0; c < m && !rowmajor; c++)
      PetscCall(Download(t->p, (const char *)t->y + ((size_t)c * n + (size_t)row * bs) * size, bs * size,
                         y + (size_t)c * bs * size));
    for (PetscInt e = t->bi[row]; e < t->bi[row + 1] && !t->trans; e++) {
      i[count]   = t->bj[e];
      k[count++] = e;
    }
    for (PetscInt r = 0; r < t->nb && t->trans; r++)
      for (PetscInt e = t->bi[r]; e < t->bi[r + 1]; e++)
        if (t->bj[e] == row) {
          i[count]   = r;
          k[count++] = e;
        }
    for (PetscInt c = 0; c < m; c++)
      for (PetscInt r = 0; r < bs; r++) {
        SpikeDouble sum  = 0.0;
        double      norm = 1e-300, e;

        for (PetscInt b = 0; b < count; b++)
          for (PetscInt q = 0; q < bs; q++) {
            const PetscCount from = (PetscCount)i[b] * bs + q;
            const SpikeDouble
              v = numbers[(((PetscCount)k[b] * bs + (t->trans ? r : q)) * bs + (t->trans ? q : r)) % PERIOD] *
                  numbers[(rowmajor ? from * m + c : (PetscCount)c * n + from) % PERIOD];

            sum += v;
            norm += Magnitude(v);
          }
        e = Magnitude(NumberGet(t->precision, y, rowmajor ? (PetscCount)r * m + c : (PetscCount)c * bs + r) - sum) /
            (PrecisionRounding(t->precision) * norm);
        if (!(e <= *error)) *error = e;
      }
  }
  PetscCall(PetscFree3(y, i, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- MATBAIJ ---- */

typedef struct {
  Mult *t;
  Mat   A, X, Y;
  Vec   x[SPIKE_BLOCK_MAXM], y[SPIKE_BLOCK_MAXM]; /* the columns, where they go one by one */
} MultPETSc;

static PetscErrorCode MultPETScWork(void *ctx, PetscInt k)
{
  MultPETSc *s = (MultPETSc *)ctx;

  PetscFunctionBeginUser;
  (void)k;
  if (s->t->trans)
    for (PetscInt c = 0; c < s->t->m; c++) PetscCall(MatMultTranspose(s->A, s->x[c], s->y[c]));
  else if (s->t->m > 1) PetscCall(MatMatMult(s->A, s->X, MAT_REUSE_MATRIX, PETSC_CURRENT, &s->Y));
  else PetscCall(MatMult(s->A, s->x[0], s->y[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of PetscScalar, X and Y column-major; transposed products go column by column: PETSc has no others */
static PetscErrorCode MultPETScLine(Mult *t, const Key *key)
{
  const PetscInt  n     = t->nb * t->bs;
  const PetscBool dense = (PetscBool)(t->m > 1 && !t->trans);
  MultPETSc       s     = {t, NULL, NULL, NULL, {NULL}, {NULL}};
  double          ms = NAN, error = NAN;

  PetscFunctionBeginUser;
  if (t->precision != NativePrecision() || key->rowmajor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CreateBAIJ(t->bs, t->nb, t->bi, t->bj, (const PetscScalar *)t->a, &s.A));
  if (dense) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, t->m, (PetscScalar *)t->x, &s.X));
    PetscCall(MatMatMult(s.A, s.X, MAT_INITIAL_MATRIX, PETSC_CURRENT, &s.Y));
  }
  for (PetscInt c = 0; c < t->m && !dense; c++) {
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, t->bs, n, (PetscScalar *)t->x + (PetscCount)c * n, &s.x[c]));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, t->bs, n, (PetscScalar *)t->y + (PetscCount)c * n, &s.y[c]));
  }
  PetscCall(HostTime(t->p, 1, NULL, MultPETScWork, &s, &ms, NULL));
  if (dense) {
    const PetscScalar *array;

    PetscCall(MatDenseGetArrayRead(s.Y, &array));
    PetscCall(PetscArraycpy((PetscScalar *)t->y, array, (size_t)n * t->m));
    PetscCall(MatDenseRestoreArrayRead(s.Y, &array));
  }
  PetscCall(MultError(t, PETSC_FALSE, &error));
  PetscCall(Report(t->p, key, "MATBAIJ", ms, NAN, error, t->m > 1 && t->trans ? "column by column" : ""));
  for (PetscInt c = 0; c < t->m && !dense; c++) {
    PetscCall(VecDestroy(&s.x[c]));
    PetscCall(VecDestroy(&s.y[c]));
  }
  PetscCall(MatDestroy(&s.X));
  PetscCall(MatDestroy(&s.Y));
  PetscCall(MatDestroy(&s.A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- Cases ---- */

static PetscErrorCode MultPETScLines(Mult *t, const Key *key, void *ctx)
{
  PetscFunctionBeginUser;
  (void)ctx;
  PetscCall(MultPETScLine(t, key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const MultPeers multhostpeers = {NULL, MultPETScLines, NULL};

static PetscErrorCode MultCell(Mult *t, Key *key, const char part[], const char op[], PetscInt m, PetscBool rowmajor,
                               const MultPeers *peers, void *ctx, const char note[])
{
  double ms = NAN, graph = NAN, error;

  PetscFunctionBeginUser;
  t->m           = m;
  t->rowmajor    = rowmajor;
  key->part      = part;
  key->op        = op;
  key->precision = t->precision;
  key->rowmajor  = rowmajor;
  key->bs        = t->bs;
  key->n         = t->nb / t->ntasks;
  key->m         = m;
  key->tasks     = t->ntasks;
  key->bytes     = MultBytes(t);
  PetscCall((*t->p->time)(t->p, 1, NULL, MultOurs, t, &ms, &graph));
  PetscCall(MultError(t, rowmajor, &error));
  PetscCall(Report(t->p, key, "ours", ms, graph, error, note));
  if (peers) PetscCall((*peers->lines)(t, key, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stencil, on cubes of run->edge[] for the sizes run->bs[] */
PetscErrorCode MultPart(Place *p, const MultPeers *peers)
{
  const PetscInt ms[] = {1, 4, 8, 16};
  const Run     *run  = p->run;
  Key            key  = {NULL};

  PetscFunctionBeginUser;
  PetscCall(Heading(p, "Sparse block times block, 7-point stencil"));
  for (PetscInt i = 0; i < run->nbs; i++) {
    PetscInt *bi, *bj, nb = run->edge[i] * run->edge[i] * run->edge[i];

    PetscCall(Stencil(run->edge[i], 1, &bi, &bj));
    for (int precision = 0; precision < 2; precision++) {
      Mult  t;
      void *ctx = NULL;

      if (p->beside && precision) continue;
      PetscCall(MultCreate(p, precision ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE, run->bs[i], nb,
                           bi, bj, 16, PETSC_TRUE, 1, &t));
      if (peers && peers->create) PetscCall((*peers->create)(&t, &ctx));
      for (int trans = 0; trans < (p->beside ? 1 : 2); trans++) {
        t.trans = trans ? PETSC_TRUE : PETSC_FALSE;
        for (PetscInt j = 0; j < 4; j++)
          for (int row = 0; row < (ms[j] == 1 || p->beside ? 1 : 2); row++)
            PetscCall(MultCell(&t, &key, "mult", trans ? "mult^T" : "mult", ms[j], row ? PETSC_TRUE : PETSC_FALSE,
                               peers, ctx, ""));
      }
      if (peers && peers->destroy) PetscCall((*peers->destroy)(&ctx));
      PetscCall(MultDestroy(&t));
    }
    PetscCall(PetscFree(bi));
    PetscCall(PetscFree(bj));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Many of them at once, each on a cube of edge run->taskedge */
PetscErrorCode TimeMultTasks(Place *p, const MultPeers *peers)
{
  const Run *run  = p->run;
  Key        key  = {NULL};
  PetscInt   most = 1;

  PetscFunctionBeginUser;
  PetscCall(Heading(p, "Many sparse blocks times blocks at once, 7-point stencil"));
  for (PetscInt j = 0; j < run->nmultm; j++) most = PetscMax(most, run->multm[j]);
  for (PetscInt j = 0; j < run->nbs; j++)
    for (PetscInt i = 0; i < run->nbatch; i++) {
      const PetscInt ntasks = run->batch[i], nb = ntasks * run->taskedge * run->taskedge * run->taskedge;
      PetscInt      *bi, *bj;

      if (p->beside && ntasks != 1 && ntasks != 30) continue;
      PetscCall(Stencil(run->taskedge, ntasks, &bi, &bj));
      for (int precision = 0; precision < 2; precision++) {
        const PetscSpikePrecision numbers = precision ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
        void                     *ctx     = NULL;
        Mult                      t;

        if (p->beside && numbers != NativePrecision()) continue;
        PetscCall(MultCreate(p, numbers, run->bs[j], nb, bi, bj, most, PETSC_TRUE, ntasks, &t));
        if (peers && peers->create) PetscCall((*peers->create)(&t, &ctx));
        for (int trans = 0; trans < 2; trans++)
          for (PetscInt k = 0; k < run->nmultm; k++) {
            t.trans = trans ? PETSC_TRUE : PETSC_FALSE;
            PetscCall(
              MultCell(&t, &key, "tasks", trans ? "mult^T" : "mult", run->multm[k], PETSC_FALSE, peers, ctx, ""));
          }
        if (peers && peers->destroy) PetscCall((*peers->destroy)(&ctx));
        PetscCall(MultDestroy(&t));
      }
      PetscCall(PetscFree(bi));
      PetscCall(PetscFree(bj));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscInt *groupptr;

static int GroupCompare(const void *a, const void *b)
{
  const PetscInt i = *(const PetscInt *)a, j = *(const PetscInt *)b, x = groupptr[i + 1] - groupptr[i],
                 y = groupptr[j + 1] - groupptr[j];

  return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

/*
  Rows of very different lengths (1 to 512 blocks, their number falling with the square), and the same rows in the order
  of their lengths, as Afanasyev et al. (2015, section 3.3) take them: there Y comes in that order too, and the paper's
  writes to the rows' own places by an index array cost no less.
*/
PetscErrorCode MultGroups(Place *p, const MultPeers *peers, PetscInt nb, PetscInt bs)
{
  PetscInt *bi, *bj, *gi, *gj, *order, nz = 0;
  Key       key = {NULL};

  PetscFunctionBeginUser;
  PetscCall(Heading(p, "Sparse block times block, rows of 1 to 512 blocks: in their order, and by length"));
  PetscCall(PetscMalloc3(nb + 1, &bi, nb + 1, &gi, nb, &order));
  bi[0] = 0;
  for (PetscInt i = 0; i < nb; i++) {
    const double u = 0.5 * (1.0 + (double)Uniform((uint64_t)i, 7));

    bi[i + 1] = bi[i] + (PetscInt)PetscMin(PetscMin(512.0, (double)nb), PetscMax(1.0, 2.0 / (u + 1e-6)));
    order[i]  = i;
  }
  PetscCall(PetscMalloc2(bi[nb], &bj, bi[nb], &gj));
  for (PetscInt i = 0; i < nb; i++) { /* columns: a run of them around the diagonal, with gaps */
    const PetscInt len = bi[i + 1] - bi[i], step = 4 * len < nb ? 4 : 1,
                   first = PetscMax(0, PetscMin(nb - step * len, i - step * len / 2));

    for (PetscInt k = 0; k < len; k++) bj[bi[i] + k] = first + step * k + (step > 1 ? (PetscInt)(i + 7 * k) % step : 0);
  }
  groupptr = bi;
  qsort(order, (size_t)nb, sizeof(*order), GroupCompare);
  gi[0] = 0;
  for (PetscInt i = 0; i < nb; i++) {
    for (PetscInt k = bi[order[i]]; k < bi[order[i] + 1]; k++) gj[nz++] = bj[k];
    gi[i + 1] = nz;
  }
  for (int grouped = 0; grouped < 2; grouped++) {
    const MultPeers *others = grouped ? NULL : peers;
    void            *ctx    = NULL;
    Mult             t;

    PetscCall(MultCreate(p, NativePrecision(), bs, nb, grouped ? gi : bi, grouped ? gj : bj, 16, PETSC_FALSE, 1, &t));
    if (others && others->create) PetscCall((*others->create)(&t, &ctx));
    for (PetscInt m = 1; m <= 16; m *= 4)
      PetscCall(MultCell(&t, &key, "mult", grouped ? "rows sorted" : "rows", m, PETSC_FALSE, others, ctx, ""));
    if (others && others->destroy) PetscCall((*others->destroy)(&ctx));
    PetscCall(MultDestroy(&t));
  }
  PetscCall(PetscFree3(bi, gi, order));
  PetscCall(PetscFree2(bj, gj));
  PetscFunctionReturn(PETSC_SUCCESS);
}
