/* SPDX-License-Identifier: BSD-2-Clause */
/*
  spikeperiodic.c: periodic tridiagonal systems in PCSPIKE: found in the matrix, taken apart before a fill, put together
  after an apply (kernels/band/periodic.h has the algebra)
*/
#include "spikeimpl.h"

/* Where column col of row r is in a piece of the matrix, -1 if nowhere */
static PetscInt SpikeEntryFind_Private(const SpikeCSR *A, PetscInt r, PetscInt col)
{
  for (PetscInt k = A->ai[r]; k < A->ai[r + 1]; k++) {
    if (SpikeCSRColumn(A, k) == col) return k;
  }
  return -1;
}

/* What a rank finds; the largest of all ranks counts */
enum {
  /* an entry that is neither near the diagonal nor a corner, or a corner in a system that is coupled to other rows */
  FIND_OTHER,
  FIND_INSIDE,   /* systems inside the rank                               */
  FIND_WHOLE,    /* corners of the whole matrix, its ends on two ranks    */
  FIND_COUPLED,  /* entries near the diagonal between this rank and others */
  FIND_DIAGONAL, /* no place for the first or the last diagonal entry of the matrix */
  FIND_COUNT
};

/*
  One pass: mate[r] is the column of the one entry far from the diagonal in row r, or in column r, of this rank, else
  -1; joined[i] whether rows i - 1 and i are coupled
*/
static void SpikePeriodicScan_Private(const Mat A, PetscInt nparts, const SpikeCSR parts[], PetscInt *mate,
                                      PetscBool *joined, PetscInt flags[])
{
  const PetscInt n = A->rmap->n, N = A->rmap->N, rstart = A->rmap->rstart;

  for (PetscInt r = 0; r < n; r++) mate[r] = -1;
  for (PetscInt r = 0; r < n; r++) {
    for (PetscInt p = 0; p < nparts; p++) {
      for (PetscInt k = parts[p].ai[r]; k < parts[p].ai[r + 1]; k++) {
        const PetscInt  col  = SpikeCSRColumn(&parts[p], k);
        const PetscBool here = (PetscBool)(col >= 0 && col < n);

        if (parts[p].aa[k] == (PetscScalar)0.0 || col == r) continue;
        if (PetscAbsInt(col - r) == 1) {
          if (here) joined[PetscMax(r, col)] = PETSC_TRUE;
          else flags[FIND_COUPLED] = 1;
        } else if (!here) {
          const PetscInt i = r + rstart, j = col + rstart;

          flags[PetscMin(i, j) == 0 && PetscMax(i, j) == N - 1 ? FIND_WHOLE : FIND_OTHER] = 1;
        } else if ((mate[r] >= 0 && mate[r] != col) || (mate[col] >= 0 && mate[col] != r)) flags[FIND_OTHER] = 1;
        else {
          mate[r]   = col;
          mate[col] = r;
        }
        if (flags[FIND_OTHER]) return;
      }
    }
  }
}

/*
  Periodic systems in the natural ordering, before the band is chosen: each inside one rank, where nothing couples
  ranks, or one that is the whole matrix. *found, the same on all ranks, only if they and the three diagonals hold every
  nonzero entry. Systems, their entries and those that have to stay zero are kept on the host until
  PCSpikePeriodicCreate_Private(). A zero coupling inside of a system changes nothing.
*/
PetscErrorCode PCSpikePeriodicFind_Private(PC pc, Mat A, PetscInt nparts, const SpikeCSR parts[], PetscBool *found)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeCyclic *c = &s->cyclic;
  const PetscInt n = A->rmap->n, N = A->rmap->N, rstart = A->rmap->rstart;
  /* rows of the matrix, where they are here */
  const PetscInt first = n && rstart == 0 ? 0 : -1, last = n && rstart + n == N ? n - 1 : -1;
  PetscInt       flags[FIND_COUNT] = {0}, global[FIND_COUNT], count = 0, after = 0, nz = 0, *mate;
  PetscBool     *joined;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  /* what is kept there goes with the PC where an error ends this */
  PetscCall(PetscCalloc2(n, &c->mate, n + 1, &c->joined));
  mate   = c->mate;
  joined = c->joined;
  SpikePeriodicScan_Private(A, nparts, parts, mate, joined, flags);
  for (PetscInt f = 0; f < n && !flags[FIND_OTHER]; f++) {
    if (mate[f] <= f) continue;
    flags[FIND_INSIDE] = 1;
    if (f < after || joined[f] || joined[mate[f] + 1] || SpikeEntryFind_Private(&parts[0], f, f) < 0 ||
        SpikeEntryFind_Private(&parts[0], mate[f], mate[f]) < 0)
      flags[FIND_OTHER] = 1;
    after = mate[f] + 1;
    count++;
  }
  if ((first >= 0 && SpikeEntryFind_Private(&parts[0], first, first) < 0) ||
      (last >= 0 && SpikeEntryFind_Private(&parts[0], last, last) < 0))
    flags[FIND_DIAGONAL] = 1;
  PetscCallMPI(MPIU_Allreduce(flags, global, FIND_COUNT, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *found = (PetscBool)(!global[FIND_OTHER] && global[FIND_INSIDE] != global[FIND_WHOLE] &&
                       !(global[FIND_INSIDE] && global[FIND_COUPLED]) &&
                       !(global[FIND_WHOLE] && global[FIND_DIAGONAL]));
  if (*found) {
    c->across     = (PetscBool)global[FIND_WHOLE];
    c->d.nsys     = c->across ? 1 : count;
    c->d.corners  = c->across ? 1 : 0;
    c->d.npatched = c->across ? 2 : 1;
    for (PetscInt p = 0; p < nparts; p++) c->d.nnz[p] = parts[p].ai[n];
    PetscCall(PetscMalloc3(2 * c->d.nsys, &c->rows, 4 * c->d.nsys, &c->entries, 4 * c->d.nsys + 2, &c->zeros));
    if (c->across) {
      c->rows[0]    = first;
      c->rows[1]    = last;
      c->entries[0] = first < 0 ? -1 : SpikeEntryFind_Private(&parts[0], first, first);
      c->entries[1] = first < 0 ? -1 : SpikeEntryFind_Private(&parts[1], first, N - 1);
      c->entries[2] = last < 0 ? -1 : SpikeEntryFind_Private(&parts[1], last, -rstart);
      c->entries[3] = last < 0 ? -1 : SpikeEntryFind_Private(&parts[0], last, last);
    } else {
      PetscInt i = 0;

      for (PetscInt f = 0; f < n; f++) {
        const PetscInt l = mate[f], pair[4][2] = {{f, f}, {f, l}, {l, f}, {l, l}},
                       couple[4][2] = {{f, f - 1}, {f - 1, f}, {l, l + 1}, {l + 1, l}};

        if (l <= f) continue;
        c->rows[2 * i]     = f;
        c->rows[2 * i + 1] = l;
        for (PetscInt k = 0; k < 4; k++)
          c->entries[4 * i + k] = SpikeEntryFind_Private(&parts[0], pair[k][0], pair[k][1]);
        for (PetscInt k = 0; k < 4; k++) {
          const PetscInt at = couple[k][0] < 0 || couple[k][0] >= n
                              ? -1
                              : SpikeEntryFind_Private(&parts[0], couple[k][0], couple[k][1]);

          if (at >= 0) c->zeros[nz++] = at;
        }
        i++;
      }
      c->d.nzeros[0] = nz;
      for (PetscInt end = 0; end < 2 && nparts > 1 && n; end++) {
        const PetscInt at = SpikeEntryFind_Private(&parts[1], end ? n - 1 : 0, end ? n : -1);

        if (at >= 0) c->zeros[nz++] = at;
      }
      c->d.nzeros[1] = nz - c->d.nzeros[0];
    }
    PetscCall(PetscInfo(pc, "%" PetscInt_FMT " periodic tridiagonal systems%s\n", c->d.nsys,
                        c->across ? ", the whole matrix" : " on this rank"));
  }
  c->found = *found;
  PetscCall(PetscFree2(c->mate, c->joined));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Bytes that PCSpikePeriodicCreate_Private() allocates, pieces of systems not counted, and work space for maxrhs columns
*/
PetscReal PCSpikePeriodicBytes_Private(const PC_Spike *s)
{
  const PCSpikeCyclic *c     = &s->cyclic;
  PetscReal            bytes = 0.0;

  if (!c->found) return 0.0;
  for (PetscInt p = 0; p < c->d.npatched; p++) bytes += sizeof(PetscScalar) * (PetscReal)c->d.nnz[p];
  return bytes + sizeof(PetscScalar) * (2.0 * s->band.n + (9.0 + 2.0 * s->band.maxrhs) * c->d.nsys) +
         sizeof(PetscInt) * (6.0 * c->d.nsys + 3.0 * c->d.npieces + c->d.nzeros[0] + c->d.nzeros[1]);
}

static PetscInt SpikePartitionOf_Private(const SpikeBand *b, PetscInt row)
{
  PetscInt p = 0;

  while (row >= b->start[p + 1]) p++;
  return p;
}

/*
  The work space of an apply, and the messages with its halves of the one system that is the whole matrix: from the
  ranks at its ends to all that own rows
*/
PetscErrorCode PCSpikePeriodicReserve_Private(PC pc, PetscInt maxrhs)
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  PCSpikeCyclic *c = &s->cyclic;
  void          *dots, *host;

  PetscFunctionBegin;
  if (!c->found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*s->band.k->alloc)(&s->band, PetscMax((size_t)maxrhs * 2 * c->d.nsys, 1) * sizeof(PetscScalar), &dots));
  PetscCall((*s->band.k->release)(&s->band, (void **)&c->d.dots));
  c->d.dots = (PetscScalar *)dots;
  if (!c->across) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*s->band.k->pin)(&s->band, (size_t)PetscMax(2 * maxrhs, 4) * sizeof(PetscScalar), &host));
  PetscCall((*s->band.k->unpin)(&s->band, (void **)&c->host));
  c->host = (PetscScalar *)host;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  When band and exchange are made: what was found goes to the backend. The block variant leaves out corners that couple
  two partitions, as it leaves out what else does: u = v = 0 there, T is the tridiagonal part.
*/
PetscErrorCode PCSpikePeriodicCreate_Private(PC pc)
{
  PC_Spike                   *s = (PC_Spike *)pc->data;
  SpikeBand                  *b = &s->band;
  PCSpikeCyclic              *c = &s->cyclic;
  SpikePeriodic              *d = &c->d;
  const SpikeBandKernels     *k = b->k;
  const SpikePeriodicKernels *pk;
  PetscInt                    active = 0, at, *index;
  void                       *data;

  PetscFunctionBegin;
  s->info.periodic = 0;
  if (!c->found) PetscFunctionReturn(PETSC_SUCCESS);
  pk         = k->periodic;
  d->npieces = 0;
  for (PetscInt i = 0; i < d->nsys; i++) {
    PetscInt *rows = c->rows + 2 * i, *entries = c->entries + 4 * i, length;

    if (s->type == PC_SPIKE_BLOCK &&
        (c->across || SpikePartitionOf_Private(b, rows[0]) != SpikePartitionOf_Private(b, rows[1]))) {
      rows[0] = rows[1] = entries[0] = entries[3] = -1;
      continue;
    }
    length = c->across ? b->n : rows[1] - rows[0] + 1;
    d->npieces += pk->rows ? (length + pk->rows - 1) / pk->rows : length > 0;
    active++;
    s->info.periodic += !c->across || rows[0] >= 0;
  }
  c->active = (PetscBool)(active > 0 || s->type != PC_SPIKE_BLOCK); /* of all ranks, where solves are of all ranks */
  if (s->type == PC_SPIKE_BLOCK) c->across = PETSC_FALSE;

  PetscCall(PetscMalloc1(6 * d->nsys + 3 * d->npieces + d->nzeros[0] + d->nzeros[1], &c->index));
  index = c->index;
  PetscCall(PetscArraycpy(index, c->rows, 2 * d->nsys));
  PetscCall(PetscArraycpy(index + 2 * d->nsys, c->entries, 4 * d->nsys));
  at = 6 * d->nsys;
  for (PetscInt i = 0; i < d->nsys; i++) {
    const PetscBool all   = c->across;
    const PetscInt  begin = all ? 0 : c->rows[2 * i], end = all ? b->n : c->rows[2 * i + 1] + 1,
                   step = pk->rows ? pk->rows : PetscMax(end - begin, 1);

    if (!all && begin < 0) continue;
    for (PetscInt r = begin; r < end; r += step) {
      index[at++] = i;
      index[at++] = r;
      index[at++] = PetscMin(end - r, step) + r;
    }
  }
  PetscCall(PetscArraycpy(index + at, c->zeros, d->nzeros[0] + d->nzeros[1]));
  at += d->nzeros[0] + d->nzeros[1];
  PetscCall((*k->alloc)(b, PetscMax(at, 1) * sizeof(PetscInt), &data));
  d->rows    = (PetscInt *)data;
  d->entries = d->rows + 2 * d->nsys;
  d->pieces  = d->entries + 4 * d->nsys;
  d->zeros   = d->pieces + 3 * d->npieces;
  PetscCall((*k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, d->rows, at * sizeof(PetscInt), index, at * sizeof(PetscInt),
                         at * sizeof(PetscInt), 1));
  PetscCall(PetscFree(c->index));

  PetscCall((*k->alloc)(b, PetscMax(9 * d->nsys, 1) * sizeof(PetscScalar), &data));
  d->ends = (PetscScalar *)data;
  d->uv   = d->ends + 4 * d->nsys;
  d->inv  = d->uv + 4 * d->nsys;
  for (PetscInt i = 0; i < 2 && c->active; i++) {
    PetscCall((*k->alloc)(b, PetscMax(b->n, 1) * sizeof(PetscScalar), &data));
    d->q[i] = (PetscScalar *)data;
  }
  for (PetscInt i = 0; i < d->npatched; i++) {
    PetscCall((*k->alloc)(b, PetscMax(d->nnz[i], 1) * sizeof(PetscScalar), &data));
    d->values[i] = (PetscScalar *)data;
  }
  PetscCall((*k->alloc)(b, sizeof(SpikePeriodicReport), &data));
  d->report = (SpikePeriodicReport *)data;
  PetscCall(PCSpikePeriodicReserve_Private(pc, b->maxrhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSpikePeriodicDestroy_Private(PC pc)
{
  PC_Spike               *s = (PC_Spike *)pc->data;
  SpikeBand              *b = &s->band;
  SpikePeriodic          *d = &s->cyclic.d;
  const SpikeBandKernels *k = b->k;

  PetscFunctionBegin;
  if (k && s->cyclic.found) {
    PetscCall((*k->release)(b, (void **)&d->rows));
    PetscCall((*k->release)(b, (void **)&d->ends));
    PetscCall((*k->release)(b, (void **)&d->dots));
    PetscCall((*k->release)(b, (void **)&d->report));
    for (PetscInt i = 0; i < 2; i++) {
      PetscCall((*k->release)(b, (void **)&d->q[i]));
      PetscCall((*k->release)(b, (void **)&d->values[i]));
    }
    PetscCall((*k->unpin)(b, (void **)&s->cyclic.host));
  }
  PetscCall(PetscFree2(s->cyclic.mate, s->cyclic.joined));
  PetscCall(PetscFree3(s->cyclic.rows, s->cyclic.entries, s->cyclic.zeros));
  PetscCall(PetscFree(s->cyclic.index));
  PetscCall(PetscMemzero(&s->cyclic, sizeof(s->cyclic)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pieces of the matrix with the values of T in place of their own, for fill() */
PetscErrorCode PCSpikePeriodicSplit_Private(PC pc, PetscInt nparts, const SpikeCSR parts[], SpikeCSR out[])
{
  PC_Spike      *s = (PC_Spike *)pc->data;
  SpikeBand     *b = &s->band;
  PCSpikeCyclic *c = &s->cyclic;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(out, parts, nparts));
  if (!c->found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*b->k->periodic->gather)(b, &c->d, nparts, parts));
  if (c->across) { /* both ends on all ranks; each number comes from one of them */
    const size_t bytes = 4 * sizeof(PetscScalar);

    PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, c->host, bytes, c->d.ends, bytes, bytes, 1));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, c->host, 4, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
    PetscCall((*b->k->copy2d)(b, PETSC_TRUE, PETSC_FALSE, c->d.ends, bytes, c->host, bytes, bytes, 1));
  }
  PetscCall((*b->k->periodic->split)(b, &c->d, parts));
  for (PetscInt p = 0; p < c->d.npatched; p++) out[p].aa = c->d.values[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Collective, after the wait for fill(): whether something couples systems to other rows that was zero when they were
  found
*/
PetscErrorCode PCSpikePeriodicJoined_Private(PC pc, PetscBool *joined)
{
  PC_Spike    *s     = (PC_Spike *)pc->data;
  SpikeBand   *b     = &s->band;
  const size_t bytes = sizeof(SpikePeriodicReport);
  PetscInt     global;

  PetscFunctionBegin;
  *joined = PETSC_FALSE;
  if (!s->cyclic.found) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, &s->cyclic.report, bytes, s->cyclic.d.report, bytes, bytes, 1));
  PetscCallMPI(
    MPIU_Allreduce(&s->cyclic.report.joined, &global, 1, MPIU_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  *joined = (PetscBool)(global != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dots, and those of the system that is the whole matrix on all ranks */
static PetscErrorCode PCSpikePeriodicDots_Private(PC pc, PetscBool trans, PetscInt nrhs, const PetscScalar *x,
                                                  PetscCount ldx)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall((*s->band.k->periodic->dots)(&s->band, &s->cyclic.d, trans, nrhs, x, ldx));
  if (s->cyclic.across) PetscCall(PCSpikeExchangeHalves_Private(pc, nrhs, s->cyclic.d.dots, s->cyclic.host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, which is T^-1 b, or T^-T b, becomes A^-1 b, or A^-T b */
PetscErrorCode PCSpikePeriodicUpdate_Private(PC pc, PetscBool trans, PetscInt nrhs, PetscScalar *x, PetscCount ldx)
{
  PC_Spike *s = (PC_Spike *)pc->data;

  PetscFunctionBegin;
  if (!s->cyclic.active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PC_Spike_Correct, pc, 0, 0, 0));
  PetscCall(PCSpikePeriodicDots_Private(pc, trans, nrhs, x, ldx));
  PetscCall((*s->band.k->periodic->update)(&s->band, &s->cyclic.d, trans, nrhs, x, ldx));
  PetscCall(PetscLogEventEnd(PC_Spike_Correct, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  q, p and 1 + v.q, when all else can solve with T. On a device this waits once more than other setups: for the report
*/
PetscErrorCode PCSpikePeriodicFactor_Private(PC pc, PetscReal tol, PetscReal boost)
{
  PC_Spike                   *s     = (PC_Spike *)pc->data;
  SpikeBand                  *b     = &s->band;
  SpikePeriodic              *d     = &s->cyclic.d;
  const SpikePeriodicKernels *pk    = b->k->periodic;
  const size_t                bytes = sizeof(SpikePeriodicReport);

  PetscFunctionBegin;
  s->cyclic.report.bad    = -1;
  s->cyclic.report.nboost = 0;
  if (!s->cyclic.active) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*b->k->begin)(b));
  for (PetscInt trans = 0; trans < 2; trans++) {
    PetscCall((*pk->ends)(b, d, (PetscBool)trans, d->q[trans]));
    PetscCall(PCSpikeSolve_Private(pc, (PetscBool)trans, 1, d->q[trans], b->n, d->q[trans], b->n));
  }
  PetscCall(PCSpikePeriodicDots_Private(pc, PETSC_FALSE, 1, d->q[0], b->n));
  PetscCall((*pk->close)(b, d, tol, boost));
  PetscCall((*b->k->copy2d)(b, PETSC_FALSE, PETSC_TRUE, &s->cyclic.report, bytes, d->report, bytes, bytes, 1));
  PetscCall((*b->k->end)(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
