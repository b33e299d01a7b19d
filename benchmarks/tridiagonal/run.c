/* SPDX-License-Identifier: BSD-2-Clause */
/* run.c: what its parts on host and device share: options, cases, solvers, lines of the tables, LAPACK and its like */
#include "run.h"
#include "../common/symbols.h"

PetscErrorCode CaseCreate(MPI_Comm comm, PetscInt systems, PetscInt m, PetscReal cold, TriKind kind, PetscBool work,
                          Case *c)
{
  const PetscReal words = 10.0 * systems * m * sizeof(PetscScalar);
  PetscCount      total;
  PetscInt        first;
  PetscMPIInt     rank, size;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  c->systems = systems;
  c->nsys    = systems / size + (rank < systems % size);
  first      = rank * (systems / size) + PetscMin(rank, systems % size);
  PetscCall(PetscIntMultError(c->nsys, m, &c->n));
  c->m      = m;
  c->copies = (PetscInt)PetscMax(1.0, PetscMin((PetscReal)MAXCOPIES, PetscCeilReal(cold * 1e6 / words)));
  PetscCall(PetscMalloc1(c->nsys + 1, &c->start));
  for (PetscInt i = 0; i <= c->nsys; i++) c->start[i] = i * m;
  total = c->copies * (PetscCount)c->n;
  PetscCall(PetscMalloc5(total, &c->dl, total, &c->d, total, &c->du, total, &c->b, total, &c->x));
  c->f      = NULL;
  c->pivots = NULL;
  if (work) PetscCall(PetscMalloc2(4 * total, &c->f, total, &c->pivots));
  for (PetscInt k = 0; k < c->copies; k++)
    for (PetscInt i = 0; i < c->nsys; i++) {
      const PetscCount at = k * (PetscCount)c->n + i * (PetscCount)m;

      TriFill(kind, 10 * (first + i), m, c->dl + at, c->d + at, c->du + at);
      for (PetscInt r = 0; r < m; r++) c->b[at + r] = TriRandom(5, (PetscInt64)(first + i) * m + r);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(c->start));
  PetscCall(PetscFree5(c->dl, c->d, c->du, c->b, c->x));
  PetscCall(PetscFree2(c->f, c->pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SystemsCreate(const Run *run, const Case *c, const SpikeTridiagonalKernels *k, const Algorithm *a,
                             SpikeTridiagonal *t)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  t->nsys        = c->nsys;
  t->start       = c->start;
  t->type        = a->type;
  t->switchpoint = run->switchpoint;
  t->chunk       = run->chunk;
  t->longest     = PETSC_DECIDE;
  t->pivoting    = a->pivoting;
  t->maxrhs      = 1;
  t->k           = k;
  PetscCall((*k->create)(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What became of the algorithm asked for */
PetscErrorCode HowOf(const SpikeTridiagonal *t, Line *line)
{
  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(line->how, PCSpikeTridiagonalTypes[t->used], sizeof(line->how)));
  if (t->used != t->local)
    PetscCall(PetscSNPrintf(line->how, sizeof(line->how), "%s of %" PetscInt_FMT " pieces by %s, read again: %.2f",
                            PCSpikeTridiagonalTypes[t->used], t->nchunks, PCSpikeTridiagonalTypes[t->local],
                            (double)t->maxwindow));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number in a table, or a dash */
PetscErrorCode PrintNumber(int width, int digits, double value)
{
  PetscFunctionBeginUser;
  if (isnan(value)) PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*s", width, "-"));
  else PetscCall(PetscPrintf(PETSC_COMM_SELF, " %*.*f", width, digits, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- LAPACK, and libraries with its interface ---- */

/* One repetition over all copies, ms a copy. They work in place: copies of the input are made outside of the time */
PetscErrorCode TimePeer(MPI_Comm comm, const Case *c, const Peer *p, double ms[NTIMES])
{
  const PetscCount total = c->copies * (PetscCount)c->n;
  PetscScalar     *dl = c->f, *d = dl + total, *du = d + total, *du2 = du + total;
  PetscBLASInt     m, one = 1, info = 0;
  PetscLogDouble   t0 = 0.0, t1 = 0.0, t2 = 0.0;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(c->m, &m));
  for (int way = 0; way < 2; way++) {
    PetscCall(PetscArraycpy(dl, c->dl, total));
    PetscCall(PetscArraycpy(d, c->d, total));
    PetscCall(PetscArraycpy(du, c->du, total));
    PetscCall(PetscArraycpy(c->x, c->b, total));
    PetscCall(Wait(comm, &t0));
    for (PetscCount at = 0; at < total && !info; at += c->m) {
      if (way) p->gtsv(&m, &one, dl + at + 1, d + at, du + at, c->x + at, &m, &info);
      else if (p->gttrf) p->gttrf(&m, dl + at + 1, d + at, du + at, du2 + at, c->pivots + at, &info);
      else p->dttrfb(&m, dl + at + 1, d + at, du + at, &info);
    }
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s: info %d", p->name, (int)info);
    PetscCall(Wait(comm, &t1));
    for (PetscCount at = 0; at < total && !way; at += c->m) {
      if (p->gttrf)
        p->gttrs("N", &m, &one, dl + at + 1, d + at, du + at, du2 + at, c->pivots + at, c->x + at, &m, &info);
      else p->dttrsb("N", &m, &one, dl + at + 1, d + at, du + at, c->x + at, &m, &info);
    }
    PetscCall(Wait(comm, &t2));
    if (way) ms[TIME_ONCE] = 1e3 * (t1 - t0) / c->copies;
    else {
      ms[TIME_SETUP] = 1e3 * (t1 - t0) / c->copies;
      ms[TIME_APPLY] = 1e3 * (t2 - t1) / c->copies;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The functions of MKL in a library, for this kind of PetscScalar; false where it lacks them */
PetscBool FindMKL(void *library, Peer peers[2])
{
  const char  letter   = sizeof(PetscReal) == 8 ? (PetscDefined(USE_COMPLEX) ? 'z' : 'd')
                                                : (PetscDefined(USE_COMPLEX) ? 'c' : 's');
  const char *names[]  = {"gttrf", "gttrs", "gtsv", "dttrfb", "dttrsb", "dtsvb"};
  void       *symbol[] = {&peers[0].gttrf,  &peers[0].gttrs,  &peers[0].gtsv,
                          &peers[1].dttrfb, &peers[1].dttrsb, &peers[1].gtsv};
  PetscBool   found    = PETSC_TRUE;

  memset(peers, 0, 2 * sizeof(*peers));
  peers[0].name = "MKL";
  peers[1].name = "MKL dtsvb";
  for (int k = 0; k < 6; k++) {
    char name[16];

    snprintf(name, sizeof(name), "%c%s_", letter, names[k]);
    found = (PetscBool)(FindSymbol(library, name, symbol[k]) && found);
  }
  return found;
}
