/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeinertia.c: MatGetInertia() of MATSOLVERSPIKE: signs of the eigenvalues of a hermitian band */
#include "spikeimpl.h"
#include "common/petsccompat.h"

/*
  The number of negative eigenvalues of a hermitian A is the number of changes of sign in 1, det A_1, det A_2, ..., with
  the leading submatrices A_r (Sylvester, Jacobi). Elimination with exchanges of two rows gives all of them: row r of
  the band meets the rows r - K .. r - 1 that were eliminated before it, and changes places with one whose pivot is
  smaller than its own element there, so that all multipliers are at most 1. Then det A_r is the product of the pivots
  of rows 1 to r as they are now, with a sign for each exchange (Martin and Wilkinson 1967). Neither factors without
  exchanges nor boosted pivots are asked: the count is that of A itself.

  Two counts, of A + delta I and of A - delta I, with delta at the level of the rounding errors of the elimination, tell
  negative and positive eigenvalues; what is between them counts as zero.

  Source: R. S. Martin and J. H. Wilkinson, Solution of symmetric and unsymmetric band equations and the calculation of
  eigenvectors of band matrices, Numerische Mathematik 9 (1967), 279-301
*/

#define SPIKE_INERTIA_MOST 4096 /* half-bandwidth: K (2 K + 1) values are kept on each rank, and sent to the next */

/* What goes from row to row, and from rank to rank */
typedef struct {
  PetscInt     K, width; /* 2 K + 1 */
  PetscInt     row;      /* rows that were eliminated */
  PetscInt     negative; /* changes of sign so far */
  PetscScalar  phase;    /* product of p / |p| over the pivots that no row meets any more, with the exchanges */
  PetscReal    last;     /* sign of the last determinant */
  PetscScalar *u;        /* [max(K, 1)][width] rows, i at i mod K, from their pivots on */
} SpikeSigns;

static inline PetscScalar SpikePhase_Private(PetscScalar p)
{
  return p / PetscAbsScalar(p);
}

/* Row `row` of the band, w[k] in column row - K + k */
static void SpikeSignsRow_Private(SpikeSigns *g, PetscScalar *w, PetscReal tiny)
{
  const PetscInt K = g->K, width = g->width, r = g->row;
  PetscScalar    det;

  for (PetscInt i = PetscMax(0, r - K); i < r; i++) { /* w begins in column i here */
    PetscScalar *u = g->u + (i % K) * width, m;

    if (PetscAbsScalar(w[i - r + K]) > PetscAbsScalar(u[0])) {
      for (PetscInt k = 0; k < width; k++) {
        const PetscScalar t = u[k];

        u[k]             = w[i - r + K + k];
        w[i - r + K + k] = t;
      }
      g->phase = -g->phase;
    }
    m = w[i - r + K] / u[0];
    if (m != (PetscScalar)0.0)
      for (PetscInt k = 1; k < width; k++) w[i - r + K + k] -= m * u[k];
  }
  if (w[K] == (PetscScalar)0.0) w[K] = tiny;                              /* a change of A below delta */
  if (r >= K && K) g->phase *= SpikePhase_Private(g->u[(r % K) * width]); /* row r - K leaves */
  if (K) {
    for (PetscInt k = 0; k < width; k++) g->u[(r % K) * width + k] = w[K + k];
  } else g->phase *= SpikePhase_Private(w[0]);
  det = g->phase;
  for (PetscInt i = PetscMax(0, r - K + 1); i <= r && K; i++) det *= SpikePhase_Private(g->u[(i % K) * width]);
  if ((PetscRealPart(det) < 0.0) != (g->last < 0.0)) g->negative++;
  g->last = PetscRealPart(det) < 0.0 ? -1.0 : 1.0;
  g->phase /= PetscAbsScalar(g->phase);
  g->row++;
}

/* The rows of a matrix in the order of a band */
typedef struct {
  PetscInt        n, start, nparts;
  SpikeCSR        parts[2];
  const PetscInt *place; /* of row and column j in the band, on one rank; NULL: where they are */
  PetscInt       *at;    /* its inverse */
} SpikeBandRows;

static inline PetscInt SpikeBandColumn_Private(const SpikeBandRows *a, const SpikeCSR *p, PetscInt k)
{
  const PetscInt j = SpikeCSRColumn(p, k);

  return a->place ? a->place[j] : j;
}

/* The half-bandwidth of this rank; the infinity norm, NaN or infinite where an entry is */
static void SpikeRowsMeasure_Private(const SpikeBandRows *a, PetscInt *K, PetscReal *norm)
{
  *K    = 0;
  *norm = 0.0;
  for (PetscInt i = 0; i < a->n; i++) {
    const PetscInt at  = a->place ? a->place[i] : i;
    PetscReal      sum = 0.0;

    for (PetscInt p = 0; p < a->nparts; p++)
      for (PetscInt k = a->parts[p].ai[i]; k < a->parts[p].ai[i + 1]; k++) {
        sum += PetscAbsScalar(a->parts[p].aa[k]);
        if (a->parts[p].aa[k] != (PetscScalar)0.0)
          *K = PetscMax(*K, PetscAbsInt(SpikeBandColumn_Private(a, &a->parts[p], k) - at));
      }
    if (!(sum <= *norm)) *norm = sum;
    if (PetscIsInfOrNanReal(*norm)) return;
  }
}

/* Changes of sign of A + shift I; the rows of the ranks one after the other */
static PetscErrorCode SpikeSignsCount_Private(MPI_Comm comm, const SpikeBandRows *a, PetscInt K, PetscReal shift,
                                              PetscReal tiny, PetscInt *negative)
{
  SpikeSigns   g = {K, 2 * K + 1, a->start, 0, 1.0, 1.0, NULL};
  PetscScalar *w, state[3];
  PetscMPIInt  size, rank, tag, count, owner = -1, next;
  PetscInt    *rows;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscCommGetNewTag(comm, &tag));
  PetscCall(PetscMPIIntCast((PetscCount)K * g.width, &count));
  PetscCall(PetscMalloc1(size, &rows));
  PetscCallMPI(MPI_Allgather(&a->n, 1, MPIU_INT, rows, 1, MPIU_INT, comm));
  next = size;
  for (PetscMPIInt r = 0; r < size; r++) { /* the rank before, and the one after */
    if (!rows[r]) continue;
    if (r < rank) owner = r;
    if (r > rank && next == size) next = r;
  }
  PetscCall(PetscCalloc2(PetscMax(count, 1), &g.u, g.width + K, &w));
  if (a->n) {
    if (owner >= 0) {
      PetscCallMPI(MPI_Recv(g.u, count, MPIU_SCALAR, owner, tag, comm, MPI_STATUS_IGNORE));
      PetscCallMPI(MPI_Recv(state, 3, MPIU_SCALAR, owner, tag, comm, MPI_STATUS_IGNORE));
      PetscCallMPI(MPI_Recv(&g.negative, 1, MPIU_INT, owner, tag, comm, MPI_STATUS_IGNORE));
      g.phase = state[0];
      g.last  = PetscRealPart(state[1]);
    }
    for (PetscInt r = 0; r < a->n; r++) {
      const PetscInt i = a->at ? a->at[r] : r;

      PetscCall(PetscArrayzero(w, g.width + K));
      for (PetscInt p = 0; p < a->nparts; p++)
        for (PetscInt k = a->parts[p].ai[i]; k < a->parts[p].ai[i + 1]; k++)
          if (a->parts[p].aa[k] != (PetscScalar)0.0)
            w[SpikeBandColumn_Private(a, &a->parts[p], k) - r + K] += a->parts[p].aa[k];
      w[K] += shift;
      SpikeSignsRow_Private(&g, w, tiny);
    }
    if (next < size) {
      state[0] = g.phase;
      state[1] = g.last;
      state[2] = 0.0;
      PetscCallMPI(MPI_Send(g.u, count, MPIU_SCALAR, next, tag, comm));
      PetscCallMPI(MPI_Send(state, 3, MPIU_SCALAR, next, tag, comm));
      PetscCallMPI(MPI_Send(&g.negative, 1, MPIU_INT, next, tag, comm));
      g.negative = 0; /* the last rank has all */
    }
  }
  PetscCallMPI(MPIU_Allreduce(&g.negative, negative, 1, MPIU_INT, MPI_SUM, comm));
  PetscCall(PetscFree2(g.u, w));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of Pmat as AIJ: in the order of the band where that is narrower */
static PetscErrorCode SpikeInertia_Private(PC pc, Mat A, PetscInt count[3])
{
  const PC_Spike *s    = (const PC_Spike *)pc->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)pc);
  SpikeBandRows   a    = {A->rmap->n, A->rmap->rstart, 0, {{0}}, NULL, NULL};
  PetscReal       norm, delta;
  PetscMPIInt     size;
  PetscInt        K, other, below, above;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PCSpikeGetCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &a.nparts, a.parts));
  if (a.nparts == 2) PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, NULL, &a.parts[1].colmap));
  SpikeRowsMeasure_Private(&a, &K, &norm);
  PetscCall(PCSpikeLinesFetch_Private(pc));
  if (size == 1 && s->newrow && !s->border.T && !PetscIsInfOrNanReal(norm)) {
    a.place = s->newrow;
    SpikeRowsMeasure_Private(&a, &other, &norm);
    if (other < K) {
      K = other;
      PetscCall(PetscMalloc1(a.n, &a.at));
      for (PetscInt i = 0; i < a.n; i++) a.at[a.place[i]] = i;
    } else a.place = NULL;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &K, 1, MPIU_INT, MPI_MAX, comm));
  {
    PetscReal most[2] = {PetscIsInfOrNanReal(norm) ? 0.0 : norm, PetscIsInfOrNanReal(norm) ? 1.0 : 0.0};

    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, comm));
    PetscCheck(most[1] == 0.0, comm, PETSC_ERR_FP,
               "The matrix has an entry that is not a number or infinite: it has no inertia");
    norm = most[0];
  }
  PetscCheck(K <= SPIKE_INERTIA_MOST, comm, PETSC_ERR_SUP,
             "MatGetInertia() of a band of half-bandwidth %" PetscInt_FMT
             ", above %d: use another MatSolverType, such as "
             "mumps, or an order of the rows that narrows the band",
             K, SPIKE_INERTIA_MOST);
  delta = 4 * (2 * K + 1) * PETSC_MACHINE_EPSILON * norm;
  if (norm == 0.0) delta = 1.0; /* all eigenvalues are zero */
  PetscCall(SpikeSignsCount_Private(comm, &a, K, delta, PETSC_MACHINE_EPSILON * delta, &below));
  PetscCall(SpikeSignsCount_Private(comm, &a, K, -delta, PETSC_MACHINE_EPSILON * delta, &above));
  count[0] = below;
  count[1] = above - below;
  count[2] = A->rmap->N - above;
  PetscCall(PetscFree(a.at));
  PetscCall(PCSpikeRestoreCSR_Private(pc, A, PETSC_MEMTYPE_HOST, &a.nparts, a.parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatGetInertia(): of the matrix that was factored, as long as it has its values */
PetscErrorCode PCSpikeGetInertia_Private(PC pc, PetscInt *nneg, PetscInt *nzero, PetscInt *npos)
{
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);
  Mat       A    = NULL;
  PetscInt  count[3];
  PetscBool aij, known, hermitian, current, same;

  PetscFunctionBegin;
  PetscCall(SpikePCIsCurrent(pc, &current));
  PetscCheck(current, comm, PETSC_ERR_ARG_WRONGSTATE, "The matrix has changed since it was factored: factor it again");
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)pc->pmat, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!aij) PetscCall(PCFactoredConvert_Private(pc, MATAIJ, PETSC_FALSE, &A, &same));
  PetscCall(MatIsHermitianKnown(pc->pmat, &known, &hermitian));
  if (!known) PetscCall(PCSpikeTestHermitian_Private(A ? A : pc->pmat, &hermitian));
  PetscCheck(hermitian, comm, PETSC_ERR_ARG_WRONG, "MatGetInertia() needs a Hermitian matrix, and this one is not");
  PetscCall(SpikeInertia_Private(pc, A ? A : pc->pmat, count));
  PetscCall(MatDestroy(&A));
  if (nneg) *nneg = count[0];
  if (nzero) *nzero = count[1];
  if (npos) *npos = count[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}
