/* SPDX-License-Identifier: BSD-2-Clause */
/* spikebordersolve.c: the dense system of a border, and applications with it; spikeborder.h has the algebra */
#include "spikeimpl.h"
#include <petscblaslapack.h>

#define SPIKE_BORDER_PRECISION \
  ((PetscSpikePrecision)(PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE))

/* Work space of an application: w and y, m values for each right-hand side, then those of the columns of E */
static inline PetscScalar *SpikeBorderY_Private(const PC_Spike *s)
{
  return s->border.w + (size_t)s->band.maxrhs * s->border.m;
}

static inline PetscScalar *SpikeBorderC_Private(const PC_Spike *s)
{
  return s->border.w + (size_t)s->band.maxrhs * 2 * s->border.m;
}

/* Y [op] X Z, or X^H Z, where X has any number of columns: those of one task at a time */
static PetscErrorCode PCSpikeBorderRun_Private(PC pc, SpikeBlockOp op, SpikeBlockMode mode, PetscInt n, PetscInt k,
                                               PetscInt m, const PetscScalar *X, PetscCount ldx, const PetscScalar *Z,
                                               PetscCount ldz, PetscScalar *Y, PetscCount ldy)
{
  PC_Spike   *s    = (PC_Spike *)pc->data;
  SpikeBlock *tall = &s->border.tall;

  PetscFunctionBegin;
  tall->stream = s->band.stream;
  for (PetscInt k0 = 0; k0 < k; k0 += SPIKE_BLOCK_MAXM) {
    SpikeBlockTask t;

    PetscCall(PetscMemzero(&t, sizeof(t)));
    t.op   = op;
    t.mode = op == SPIKE_BLOCK_AXPY && k0 && mode == SPIKE_BLOCK_SET ? SPIKE_BLOCK_ADD : mode;
    t.n    = n;
    t.k    = PetscMin(k - k0, SPIKE_BLOCK_MAXM);
    t.m    = m;
    t.X    = X + k0 * ldx;
    t.ldx  = ldx;
    t.Z    = op == SPIKE_BLOCK_AXPY ? Z + k0 : Z;
    t.ldz  = ldz;
    t.Y    = op == SPIKE_BLOCK_AXPY ? Y : Y + k0;
    t.ldy  = ldy;
    PetscCall((*tall->k->run)(tall, SPIKE_BORDER_PRECISION, 1, &t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some rows of x to y, one after the other, or back: gather false */
static PetscErrorCode PCSpikeBorderMove_Private(PC pc, PetscBool gather, PetscInt count, const PetscInt *rows,
                                                PetscInt nrhs, const PetscScalar *x, PetscCount ldx, PetscScalar *y,
                                                PetscCount ldy)
{
  PC_Spike *s    = (PC_Spike *)pc->data;
  SpikeBand some = s->band;

  PetscFunctionBegin;
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  some.n = count;
  PetscCall((*some.k->permute)(&some, gather, rows, NULL, nrhs, x, ldx, y, ldy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* w [op] E x, by the columns of this rank */
static PetscErrorCode PCSpikeBorderMultE_Private(PC pc, SpikeBlockMode mode, PetscInt nrhs, const PetscScalar *x,
                                                 PetscCount ldx, PetscScalar *w)
{
  PC_Spike          *s = (PC_Spike *)pc->data;
  PCSpikeBorder     *d = &s->border;
  PetscScalar       *c = SpikeBorderC_Private(s);
  const PetscScalar *z = x;

  PetscFunctionBegin;
  if (d->count < s->band.n) {
    PetscCall(PCSpikeBorderMove_Private(pc, PETSC_TRUE, d->count, d->dcolumn, nrhs, x, ldx, c, d->count));
    z   = c;
    ldx = d->count;
  }
  PetscCall(
    PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_DOT, mode, d->count, d->m, nrhs, d->E[1], d->count, z, ldx, w, d->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- x - E^T y */
static PetscErrorCode PCSpikeBorderMultTransposeE_Private(PC pc, PetscInt nrhs, const PetscScalar *y, PetscScalar *x,
                                                          PetscCount ldx)
{
  PC_Spike      *s     = (PC_Spike *)pc->data;
  PCSpikeBorder *d     = &s->border;
  PetscScalar   *c     = SpikeBorderC_Private(s);
  PetscBool      apart = (PetscBool)(d->count < s->band.n);

  PetscFunctionBegin;
  if (apart) PetscCall(PCSpikeBorderMove_Private(pc, PETSC_TRUE, d->count, d->dcolumn, nrhs, x, ldx, c, d->count));
  PetscCall(PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SUB, d->count, d->m, nrhs, d->E[0], d->count, y,
                                     d->m, apart ? c : x, apart ? d->count : ldx));
  if (apart) PetscCall(PCSpikeBorderMove_Private(pc, PETSC_FALSE, d->count, d->dcolumn, nrhs, c, d->count, x, ldx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The application with its border, between raw pointers, on band.stream; x may be b. Without a border the band's. On
  several ranks the products are summed with the right-hand side, which waits in y
*/
PetscErrorCode PCSpikeSolveBordered_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *b, PetscCount ldb,
                                            PetscScalar *x, PetscCount ldx)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = s->band.n, m = d->m;
  PetscScalar   *w    = d->w, *y;
  SpikeBlockMode mode = d->across ? SPIKE_BLOCK_SET : SPIKE_BLOCK_SUB;

  PetscFunctionBegin;
  if (!d->T || !w || !d->ready) {
    if (x != b && d->T && !n) PetscCall(PCSpikeBorderMove_Private(pc, PETSC_TRUE, d->own, NULL, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeSolvePermuted_Private(pc, trans, nrhs, b, ldb, x, ldx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  y = SpikeBorderY_Private(s);
  PetscCall(PCSpikeBorderMove_Private(pc, PETSC_TRUE, d->own, d->drows, nrhs, b, ldb, d->across ? y : w, m));
  if (!trans) {
    PetscCall(PCSpikeSolvePermuted_Private(pc, PETSC_FALSE, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeBorderMultE_Private(pc, mode, nrhs, x, ldx, w));
  } else PetscCall(PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_DOT, mode, n, m, nrhs, d->Q[1], n, b, ldb, w, m));
  PetscCall(PCSpikeBorderSum_Private(pc, nrhs));
  PetscCall(PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SET, m, m, nrhs, d->inv + (trans ? m * m : 0), m,
                                     w, m, y, m));
  if (!trans)
    PetscCall(PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_AXPY, SPIKE_BLOCK_SUB, n, m, nrhs, d->Q[0], n, y, m, x, ldx));
  else {
    if (x != b) PetscCall(PCSpikeBorderMove_Private(pc, PETSC_TRUE, n, NULL, nrhs, b, ldb, x, ldx));
    PetscCall(PCSpikeBorderMultTransposeE_Private(pc, nrhs, y, x, ldx));
    PetscCall(PCSpikeSolvePermuted_Private(pc, PETSC_TRUE, nrhs, x, ldx, x, ldx));
  }
  PetscCall(PCSpikeBorderMove_Private(pc, PETSC_FALSE, d->own, d->drows, nrhs, y + d->first, m, x, ldx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBorderReserve_Private(PC pc, PetscInt maxrhs)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  void          *w, *host;

  PetscFunctionBegin;
  if (!d->T) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->across && !PetscMemTypeHost(s->band.k->memtype)) {
    PetscCall((*s->band.k->pin)(&s->band, (size_t)2 * maxrhs * d->m * sizeof(PetscScalar), &host));
    PetscCall((*s->band.k->unpin)(&s->band, (void **)&d->host));
    d->host = (PetscScalar *)host;
  }
  PetscCall((*s->band.k->alloc)(&s->band, (size_t)maxrhs * (2 * d->m + d->count) * sizeof(PetscScalar), &w));
  PetscCall((*s->band.k->release)(&s->band, (void **)&d->w));
  d->w = (PetscScalar *)w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory where the backend works. w comes last: with it an application has the border */
PetscErrorCode PCSpikeBorderCreate_Private(PC pc)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  SpikeBand      *b = &s->band;
  PCSpikeBorder  *d = &s->border;
  const size_t    e = (size_t)d->count * d->m, q = (size_t)b->n * d->m, m = (size_t)d->m;
  const PetscBool host = PetscMemTypeHost(b->k->memtype) ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  if (!d->T) PetscFunctionReturn(PETSC_SUCCESS);
  d->tall.k = SpikeBlockKernelsFind(b->k->memtype);
  PetscCall((*d->tall.k->create)(&d->tall));
  PetscCall(PetscMalloc3(3 * d->m * (d->m + 1), &d->S, 4 * d->m, &d->scale, d->m, &d->piv));
  for (int k = 0; k < 2; k++) {
    const size_t count = e + q + (k ? 0 : (2 * m + 3) * m);

    if (k && !PetscDefined(USE_COMPLEX)) d->E[k] = d->E[0];
    else PetscCall((*b->k->alloc)(b, PetscMax(count, 1) * sizeof(PetscScalar), (void **)&d->E[k]));
    d->Q[k] = d->E[k] + e;
  }
  d->inv     = d->Q[0] + q;
  d->inplace = PETSC_FALSE;
  d->drows   = d->local;
  d->dcolumn = d->column;
  if (!host) {
    PetscCall(PCSpikeBorderUploadInts_Private(pc, d->own, d->local, &d->drows));
    PetscCall(PCSpikeBorderUploadInts_Private(pc, d->count, d->column, &d->dcolumn));
  }
  PetscCall(PCSpikeBorderReserve_Private(pc, b->maxrhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikeBorderDestroy_Private(PC pc)
{
  PC_Spike               *s = (PC_Spike *)pc->data;
  PCSpikeBorder          *d = &s->border;
  const SpikeBandKernels *k = s->band.k;

  PetscFunctionBegin;
  PetscCall(PetscFree3(d->S, d->scale, d->piv));
  PetscCall(PetscFree(d->stage));
  if (!d->tall.k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*k->release)(&s->band, (void **)&d->w));
  PetscCall((*k->unpin)(&s->band, (void **)&d->host));
  for (int i = 0; i < (PetscDefined(USE_COMPLEX) ? 2 : 1); i++) PetscCall((*k->release)(&s->band, (void **)&d->E[i]));
  PetscCall(PCSpikeBorderSplitReset_Private(pc));
  if (d->drows != d->local) PetscCall((*k->release)(&s->band, (void **)&d->drows));
  if (d->dcolumn != d->column) PetscCall((*k->release)(&s->band, (void **)&d->dcolumn));
  for (int i = 0; i < 2; i++) d->E[i] = d->Q[i] = NULL;
  d->inv   = NULL;
  d->drows = d->dcolumn = NULL;
  PetscCall((*d->tall.k->destroy)(&d->tall));
  PetscCall(PetscMemzero(&d->tall, sizeof(d->tall)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* count values from the host to the backend's memory, with their conjugates where numbers are complex */
static PetscErrorCode PCSpikeBorderUpload_Private(PC pc, PetscCount count, const PetscScalar *from, PetscScalar *to[2])
{
  PC_Spike    *s     = (PC_Spike *)pc->data;
  SpikeBand   *b     = &s->band;
  const size_t bytes = (size_t)count * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (!count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, to[0], bytes, from, bytes, bytes, 1));
  if (to[1] != to[0]) {
    PetscCall(PetscMalloc1(count, &s->border.stage));
    for (PetscCount i = 0; i < count; i++) s->border.stage[i] = PetscConj(from[i]);
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, to[1], bytes, s->border.stage, bytes, bytes, 1));
    PetscCall(PetscFree(s->border.stage));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSpikeBorderDownload_Private(PC pc, PetscCount count, const PetscScalar *from, PetscScalar *to)
{
  SpikeBand   *b     = &((PC_Spike *)pc->data)->band;
  const size_t bytes = (size_t)count * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, to, bytes, from, bytes, bytes, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* F as it is on the host, columns j0 to j0 + cols, in the place of Q */
static PetscErrorCode PCSpikeBorderPutF_Private(PC pc, PetscInt j0, PetscInt cols)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  SpikeBand      *b    = &s->band;
  PCSpikeBorder  *d    = &s->border;
  const PetscInt  n    = b->n;
  const PetscBool host = PetscMemTypeHost(b->k->memtype) ? PETSC_TRUE : PETSC_FALSE;
  PetscScalar    *Q = d->Q[0] + (PetscCount)j0 * n, *F = host ? Q : d->stage;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(F, (PetscCount)n * cols));
  for (PetscInt j = 0; j < cols; j++)
    for (PetscInt k = d->fstart[j0 + j]; k < d->fstart[j0 + j + 1]; k++) F[d->frow[k] + (PetscCount)j * n] = d->f[k];
  if (F != Q && n) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, Q, 0, F, 0, (size_t)n * cols * sizeof(*F), 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* norms[j] <- the squares of the 2-norms of m columns of n rows */
static PetscErrorCode PCSpikeBorderNorms_Private(PC pc, PetscInt n, PetscInt m, const PetscScalar *X,
                                                 PetscScalar *norms)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  SpikeBlock    *tall = &s->border.tall;
  SpikeBlockTask t[SPIKE_BORDER_MOST];

  PetscFunctionBegin;
  tall->stream = s->band.stream;
  PetscCall(PetscArrayzero(t, m));
  for (PetscInt j = 0; j < m; j++) {
    t[j].op   = SPIKE_BLOCK_DOT;
    t[j].mode = SPIKE_BLOCK_SET;
    t[j].n    = n;
    t[j].k = t[j].m = 1;
    t[j].X = t[j].Z = X + (PetscCount)j * n;
    t[j].Y          = norms + j;
    t[j].ldx = t[j].ldz = n;
    t[j].ldy            = 1;
  }
  PetscCall((*tall->k->run)(tall, SPIKE_BORDER_PRECISION, m, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Q = B^-1 F, as many columns at a time as an application takes, and S = G - E Q in inv; the norms of columns of Q and F
  and of rows of E, the latter in enorm, on the host
*/
static PetscErrorCode PCSpikeBorderColumns_Private(PC pc, PetscReal *qnorm, PetscReal *fnorm, PetscScalar *S)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = b->n, m = d->m, batch = PetscMin(m, SPIKE_MAT_APPLY_BATCH);
  PetscScalar   *norms = d->inv + m * m;
  PetscMPIInt    rank, count;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(PCSpikeReserve_Private(pc, batch));
  PetscCall((*b->k->begin)(b));
  if (d->inplace) PetscCall(PCSpikeBorderDownload_Private(pc, m * m, d->inv, d->g));
  else {
    PetscCall(PCSpikeBorderUpload_Private(pc, (PetscCount)d->count * m, d->e, d->E));
    PetscCall(PetscArrayzero(S, m * m)); /* one rank has G in its sum, and it does not matter which */
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, d->inv, 0, rank ? S : d->g, 0,
                              (size_t)m * m * sizeof(PetscScalar), 1));
    if (!PetscMemTypeHost(b->k->memtype) || PetscDefined(USE_COMPLEX))
      PetscCall(PetscMalloc1((PetscCount)n * batch, &d->stage));
  }
  for (PetscInt j0 = 0; j0 < m; j0 += batch) {
    const PetscInt cols = PetscMin(batch, m - j0);
    PetscScalar   *Q    = d->Q[0] + (PetscCount)j0 * n;

    if (!d->inplace) PetscCall(PCSpikeBorderPutF_Private(pc, j0, cols));
    PetscCall(PCSpikeBorderNorms_Private(pc, n, cols, Q, norms + m + j0));
    PetscCall(PCSpikeSolvePermuted_Private(pc, PETSC_FALSE, cols, Q, n, Q, n));
    PetscCall(PCSpikeBorderMultE_Private(pc, SPIKE_BLOCK_SUB, cols, Q, n, d->inv + (PetscCount)j0 * m));
    PetscCall(PCSpikeBorderNorms_Private(pc, n, cols, Q, norms + j0));
    if (PetscDefined(USE_COMPLEX) && n) {
      PetscCall(PCSpikeBorderDownload_Private(pc, (PetscCount)n * cols, Q, d->stage));
      for (PetscCount i = 0; i < (PetscCount)n * cols; i++) d->stage[i] = PetscConj(d->stage[i]);
      PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, d->Q[1] + (PetscCount)j0 * n, 0, d->stage, 0,
                                (size_t)n * cols * sizeof(PetscScalar), 1));
    }
  }
  PetscCall(PCSpikeBorderNorms_Private(pc, d->count, m, d->E[0], norms + 2 * m));
  PetscCall(PetscFree(d->stage));
  if (!PetscMemTypeHost(b->k->memtype)) { /* room for the sums of an application, which may allocate nothing */
    PetscCall(PCSpikeBorderRun_Private(pc, SPIKE_BLOCK_DOT, SPIKE_BLOCK_SET, n, m, 1, d->Q[1], n, d->Q[0], n, d->w, m));
    PetscCall(PCSpikeBorderMultE_Private(pc, SPIKE_BLOCK_SUB, 1, d->Q[0], n, d->w));
  }
  PetscCall(PCSpikeBorderDownload_Private(pc, (PetscCount)m * m + 3 * m, d->inv, S));
  if (d->across) {
    PetscCall(PetscMPIIntCast(m * m + 3 * m, &count));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, S, count, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  }
  for (PetscInt j = 0; j < m; j++) {
    qnorm[j]    = PetscSqrtReal(PetscRealPart(S[m * m + j]));
    fnorm[j]    = PetscSqrtReal(PetscRealPart(S[m * m + m + j]));
    d->enorm[j] = PetscSqrtReal(PetscRealPart(S[m * m + 2 * m + j]));
  }
  PetscCall((*b->k->end)(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Powers of two near 1 / a */
static PetscReal SpikeBorderScale_Private(PetscReal a)
{
  int e;

  if (!(a > 0.0) || PetscIsInfOrNanReal(a)) return 1.0;
  (void)frexp((double)a, &e);
  return (PetscReal)ldexp(1.0, -e);
}

/*
  S^-1 and S^-T in inv, by LU with row exchanges. S_ij comes out of a difference of numbers up to |G_ij| + ||E_i||
  ||Q_j||: rows and columns are scaled so that the largest of these are about 1, and a pivot up to tol is zero. With
  boost > 0 it is replaced by one of that magnitude. *largest: the largest magnitude in the inverse of the scaled S
*/
static PetscErrorCode PCSpikeBorderInvert_Private(PC pc, PetscReal tol, PetscReal boost, const PetscReal *qnorm,
                                                  PetscScalar *S, PetscReal *largest)
{
  PCSpikeBorder *d = &((PC_Spike *)pc->data)->border;
  const PetscInt m = d->m;
  PetscReal     *r = d->scale + 2 * m, *c = r + m;
  PetscScalar   *work = d->S + 2 * m * m, *both[2];
  PetscBLASInt   bm, info, *piv = d->piv;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(m, &bm));
  for (PetscInt i = 0; i < m; i++) {
    r[i] = 0.0;
    for (PetscInt j = 0; j < m; j++)
      r[i] = PetscMax(r[i],
                      PetscMax(PetscAbsScalar(d->g[i + j * m]), PetscAbsScalar(S[i + j * m])) + d->enorm[i] * qnorm[j]);
    r[i] = SpikeBorderScale_Private(r[i]);
  }
  for (PetscInt j = 0; j < m; j++) {
    c[j] = 0.0;
    for (PetscInt i = 0; i < m; i++)
      c[j] = PetscMax(c[j], r[i] * (PetscMax(PetscAbsScalar(d->g[i + j * m]), PetscAbsScalar(S[i + j * m])) +
                                    d->enorm[i] * qnorm[j]));
    c[j] = SpikeBorderScale_Private(c[j]);
    for (PetscInt i = 0; i < m; i++) S[i + j * m] *= r[i] * c[j];
  }
  PetscCallBLAS("LAPACKgetrf", LAPACKgetrf_(&bm, &bm, S, &bm, piv, &info));
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's getrf refuses argument %d", (int)-info);
  d->nboost = 0;
  d->bad = d->ready = PETSC_FALSE;
  for (PetscInt i = 0; i < m; i++) {
    PetscScalar    *u   = &S[i * (m + 1)];
    const PetscReal abs = PetscAbsScalar(*u);

    if (abs > tol && !PetscIsInfReal(abs)) continue;
    if (boost > 0.0 && abs <= tol) {
      *u = abs > 0.0 ? *u / abs * boost : boost;
      d->nboost++;
    } else if (!d->bad) {
      d->bad      = PETSC_TRUE;
      d->badvalue = abs;
    }
    if (d->bad) *u = 1.0; /* the inverse means nothing */
  }
  PetscCallBLAS("LAPACKgetri", LAPACKgetri_(&bm, S, &bm, piv, work, (PetscBLASInt[]){bm * bm}, &info));
  PetscCheck(info >= 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK's getri refuses argument %d", (int)-info);
  *largest = 0.0;
  for (PetscInt j = 0; j < m; j++) {
    for (PetscInt i = 0; i < m; i++) {
      const PetscReal abs = PetscAbsScalar(S[i + j * m]);

      if (!(abs <= *largest)) *largest = PetscIsInfOrNanReal(abs) ? PETSC_MAX_REAL : abs;
      S[i + j * m] *= c[i] * r[j];
    }
  }
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt i = 0; i < m; i++) S[m * m + j + i * m] = S[i + j * m];
  both[0] = both[1] = d->inv;
  PetscCall(PCSpikeBorderUpload_Private(pc, 2 * m * m, S, both));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The band as it is in place of this border, where that is affordable */
static PetscErrorCode PCSpikeBorderRefuse_Private(PC pc, const char why[], PetscBool *refused)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;

  PetscFunctionBegin;
  *refused = d->affordable;
  if (!*refused) PetscFunctionReturn(PETSC_SUCCESS);
  d->refused = PETSC_TRUE;
  d->nkept   = 0;
  s->again   = SPIKE_AGAIN_BORDER;
  PetscCall(PetscInfo(pc, "%s: rows and columns of the border go back to the band\n", why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether row i of the matrix may join the border */
static PetscBool PCSpikeBorderRoom_Private(PC pc, PetscInt i)
{
  const PCSpikeBorder *d    = &((const PC_Spike *)pc->data)->border;
  const PetscInt       most = d->max == PETSC_DECIDE ? SPIKE_BORDER_MOST : d->max;
  PetscBool            has  = PETSC_FALSE;

  for (PetscInt k = 0; k < d->m; k++) has = (PetscBool)(has || d->rows[k] == i);
  return (PetscBool)(i >= 0 && !has && d->m < most && d->added < SPIKE_BORDER_ADDED && d->m + 1 < pc->pmat->rmap->N);
}

/*
  The band is singular in row i of the matrix, which joins the border if there is room. Else there is no border, or,
  where the band would be far too wide, pivots are boosted. The setup has to be made anew: *again
*/
static PetscErrorCode PCSpikeBorderAdd_Private(PC pc, PetscInt i, PetscBool *again)
{
  PC_Spike       *s    = (PC_Spike *)pc->data;
  PCSpikeBorder  *d    = &s->border;
  const PetscBool adds = PCSpikeBorderRoom_Private(pc, i);
  PetscInt        to   = 0;

  PetscFunctionBegin;
  if (!adds) PetscCall(PCSpikeBorderRefuse_Private(pc, "The band without its border is singular", again));
  if (*again) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < d->m; k++) {
    if (adds && i < d->rows[k] && (!k || i > d->rows[k - 1])) d->kept[to++] = i;
    d->kept[to++] = d->rows[k];
  }
  if (adds && i > d->rows[d->m - 1]) d->kept[to++] = i;
  d->nkept   = to;
  d->settled = (PetscBool)!adds;
  s->again   = SPIKE_AGAIN_BORDER;
  *again     = PETSC_TRUE;
  if (adds) {
    d->added++;
    PetscCall(
      PetscInfo(pc, "The band without its border is singular, or nearly: row %" PetscInt_FMT " joins the border\n", i));
  } else PetscCall(PetscInfo(pc, "The band without its border is singular: its pivots are boosted\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row outside of the border in which v, on the host, is largest; collective */
static PetscErrorCode PCSpikeBorderPick_Private(PC pc, const PetscScalar v[], PetscInt *row)
{
  PC_Spike      *s    = (PC_Spike *)pc->data;
  PCSpikeBorder *d    = &s->border;
  PetscReal      most = -1.0, all;

  PetscFunctionBegin;
  *row = -1;
  for (PetscInt i = 0; i < s->band.n; i++) {
    if (d->place[i] < 0 || !(PetscAbsScalar(v[i]) > most)) continue;
    most = PetscAbsScalar(v[i]);
    *row = i + pc->pmat->rmap->rstart;
  }
  if (d->across) {
    PetscCallMPI(MPIU_Allreduce(&most, &all, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
    if (most < all) *row = -1;
    PetscCall(PCSpikeBorderFirst_Private(pc, row));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row in which column j of Q is largest; collective */
static PetscErrorCode PCSpikeBorderLargest_Private(PC pc, PetscInt j, PetscInt *row)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = s->band.n;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &d->stage));
  if (n) PetscCall(PCSpikeBorderDownload_Private(pc, n, d->Q[0] + (PetscCount)j * n, d->stage));
  PetscCall(PCSpikeBorderPick_Private(pc, d->stage, row));
  PetscCall(PetscFree(d->stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With row exchanges a zero pivot appears in the last columns, whatever row is to blame. Where u^H B = 0 and B v = 0, B
  without row and column i has the determinant u_i v_i times a constant: the row in which that is largest, from a solve
  with B, whose zero pivots were boosted, and one with B^T. Q is lost; collective
*/
static PetscErrorCode PCSpikeBorderBlame_Private(PC pc, PetscInt *row)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  PCSpikeBorder *d = &s->border;
  const PetscInt n = b->n;
  PetscScalar   *v;

  PetscFunctionBegin;
  PetscCall(PCSpikeReserve_Private(pc, 1));
  PetscCall((*b->k->begin)(b));
  PetscCall(PetscMalloc1(2 * (PetscCount)n, &d->stage));
  for (int trans = 0; trans < 2; trans++) {
    v = d->stage + (PetscCount)trans * n;
    for (PetscInt i = 0; i < n; i++) v[i] = 0.5 + (PetscReal)((i + 1) * (PetscInt64)40503 % 1021) / 1021; /* any */
    if (n) PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, d->Q[0], 0, v, 0, (size_t)n * sizeof(*v), 1));
    PetscCall(PCSpikeSolvePermuted_Private(pc, (PetscBool)trans, 1, d->Q[0], n, d->Q[0], n));
    if (n) PetscCall(PCSpikeBorderDownload_Private(pc, n, d->Q[0], v));
  }
  v = d->stage;
  for (PetscInt i = 0; i < n; i++) v[i] *= v[i + n];
  PetscCall((*b->k->end)(b));
  PetscCall(PCSpikeBorderPick_Private(pc, v, row));
  PetscCall(PetscFree(d->stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  *bad: the first row of the matrix in which the band has a zero pivot, on any rank, -1 if none has; *overflow: there is
  one that is too large. An interface of two ranks is at the first row of the right one. Ranks before it may name their
  last interface in its place, which counts where no rank names another
*/
static PetscErrorCode PCSpikeBorderBad_Private(PC pc, const SpikePivot *partition, const SpikePivot *reduced,
                                               PetscInt *bad, PetscBool *overflow)
{
  PC_Spike        *s    = (PC_Spike *)pc->data;
  MPI_Comm         comm = PetscObjectComm((PetscObject)pc);
  const SpikeBand *b    = &s->band;
  PetscInt         row = -1, least[2] = {PETSC_INT_MAX, PETSC_INT_MAX};
  PetscBool        last = PETSC_FALSE;

  PetscFunctionBegin;
  if (partition->badrow >= 0) row = partition->badrow;
  else if (b->coupled && reduced->badrow >= 0) {
    last = (PetscBool)(reduced->badrow == b->np);
    row  = PetscMin(b->start[reduced->badrow], b->n - 1);
  }
  if (row >= 0) least[last] = PCSpikeOriginalRow_Private(s, pc->pmat, row);
  *overflow = (PetscBool)(partition->badrow >= 0 && !(partition->badvalue <= partition->tol));
  if (s->border.across) {
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, least, 2, MPIU_INT, MPI_MIN, comm));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, overflow, 1, MPI_C_BOOL, MPI_LOR, comm));
  }
  *bad = least[0] < PETSC_INT_MAX ? least[0] : least[1] < PETSC_INT_MAX ? least[1] : -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows were exchanged, and pivots boosted all the same, while rows may join the border; on any rank */
static PetscErrorCode PCSpikeBorderBoosted_Private(PC pc, const SpikePivot *partition, PetscBool *boosted)
{
  const PC_Spike *s = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  *boosted = PETSC_FALSE;
  if (!PCSpikeExchanges_Private(s) || s->border.settled) PetscFunctionReturn(PETSC_SUCCESS);
  *boosted = (PetscBool)(partition->nboost > 0);
  if (s->border.across)
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, boosted, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeBorderFactor_Private - Q and S^-1 when all else can solve with the band

  Collective

  Input Parameters:
+ partition - what the factorization of the band says: with a border it boosts no pivot at first
- reduced   - tolerance and boost of pivots without units

  Output Parameter:
. again - the setup has to be made anew: the band was singular, or Q so large that it nearly was, though the matrix may
          not be. The row of the pivot, or of the largest element of Q, is part of the border then, if there is room,
          else the pivots of the band are boosted.
*/
PetscErrorCode PCSpikeBorderFactor_Private(PC pc, const SpikePivot *partition, const SpikePivot *reduced,
                                           PetscBool *again)
{
  PC_Spike      *s   = (PC_Spike *)pc->data;
  PCSpikeBorder *d   = &s->border;
  PetscInt       bad = -1, largest = -1, flags[2];
  PetscReal     *qnorm = d->scale, *fnorm = d->scale + d->m, most = 0.0, inverse = 0.0;
  PetscBool      overflow, boosted;
  PetscMPIInt    rank;

  PetscFunctionBegin;
  *again = PETSC_FALSE;
  if (!d->T) PetscFunctionReturn(PETSC_SUCCESS);
  d->nboost = 0;
  d->bad = d->boosts = d->ready = PETSC_FALSE;
  PetscCall(PCSpikeBorderBad_Private(pc, partition, reduced, &bad, &overflow));
  if (bad >= 0) { /* an overflow stays one */
    if (!d->settled && !overflow) PetscCall(PCSpikeBorderAdd_Private(pc, bad, again));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeBorderBoosted_Private(pc, partition, &boosted));
  if (boosted) {
    PetscCall(PCSpikeBorderBlame_Private(pc, &bad));
    PetscCall(PCSpikeBorderAdd_Private(pc, bad, again));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCSpikeBorderColumns_Private(pc, qnorm, fnorm, d->S));
  for (PetscInt j = 0; j < d->m; j++) {
    const PetscReal growth = fnorm[j] > 0.0 ? qnorm[j] / fnorm[j] * d->norm : 0.0;

    if (growth <= most) continue; /* NaN is the largest */
    most    = PetscIsInfOrNanReal(growth) ? PETSC_MAX_REAL : growth;
    largest = j;
  }
  if (!d->settled && most * 100 * PETSC_MACHINE_EPSILON > 1.0) {
    PetscCall(PCSpikeBorderLargest_Private(pc, largest, &bad));
    if (PCSpikeBorderRoom_Private(pc, bad)) PetscCall(PCSpikeBorderAdd_Private(pc, bad, again));
  }
  if (*again) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSpikeBorderInvert_Private(pc, s->zeropivot,
                                        s->shifttype == (MatFactorShiftType)MAT_SHIFT_NONE
                                          ? 0.0
                                          : PCSpikeShift_Private(s, SpikePrecisionEpsilon(s->precision)),
                                        qnorm, d->S, &inverse));
  d->ready     = PETSC_TRUE;
  d->amplified = most * PetscMax(1.0, inverse);
  if (d->across) { /* all ranks have inverted the same S; they decide alike if some did so in another way too */
    flags[0] = d->bad ? 1 : 0;
    flags[1] = d->nboost;
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, flags, 2, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
    d->bad    = (PetscBool)flags[0];
    d->nboost = flags[1];
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &d->amplified, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  }
  d->boosts = (PetscBool)(d->nboost > 0);
  if (d->bad || d->nboost)
    PetscCall(PCSpikeBorderRefuse_Private(pc, "The dense system of a border is singular", again));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  if (rank) d->nboost = 0; /* counts of ranks are summed */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pivot of S that is zero, or not finite, where nothing else has failed */
PetscErrorCode PCSpikeBorderJudge_Private(PC pc)
{
  PC_Spike            *s   = (PC_Spike *)pc->data;
  const PCSpikeBorder *d   = &s->border;
  const char          *pre = ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";

  PetscFunctionBegin;
  if (!d->T || !d->bad || !s->numeric) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactoredFail_Private(pc, PC_FACTOR_NUMERIC_ZEROPIVOT, PETSC_ERR_MAT_LU_ZRPVT,
                                   "Zero pivot in the dense system of the border, which has %" PetscInt_FMT
                                   " rows: magnitude %g is not above the zero pivot tolerance %g, or not finite; the "
                                   "matrix may be singular: use -%spc_spike_shift_type auto, -%spc_spike_max_border 0 "
                                   "or -%spc_type lu",
                                   d->m, (double)d->badvalue, (double)s->zeropivot, pre, pre, pre));
  PetscFunctionReturn(PETSC_SUCCESS);
}
