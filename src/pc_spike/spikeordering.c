/* SPDX-License-Identifier: BSD-2-Clause */
/* spikeordering.c: PETSc's orderings in PCSPIKE, of a graph that is symmetric and has no stored zeros */
#include "spikeimpl.h"

PetscErrorCode PCSpikeGraphReset_Private(PC pc)
{
  SpikeGraph *g = &((PC_Spike *)pc->data)->graph;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&g->mat));
  PetscCall(PetscFree2(g->ti, g->tj));
  PetscCall(PetscFree2(g->si, g->sj));
  PetscCall(PetscFree2(g->i, g->j));
  PetscCall(PetscFree(g->a));
  PetscCall(PetscFree3(g->queue, g->degree, g->seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (ti, tj) <- the transpose of the pattern (ai, aj), its rows ascending; aa != NULL: without the zeros in it */
static void SpikeTransposePattern_Private(PetscInt n, PetscInt shift, const PetscInt ai[], const PetscInt aj[],
                                          const PetscScalar aa[], PetscInt ti[], PetscInt tj[])
{
  for (PetscInt i = 0; i <= n; i++) ti[i] = 0;
  for (PetscInt k = 0; k < ai[n]; k++)
    if (!aa || aa[k] != (PetscScalar)0.0) ti[aj[k] + shift]++;
  for (PetscInt i = 0, sum = 0; i <= n; i++) {
    sum += ti[i];
    ti[i] = sum; /* one after the last, from where rows are filled backwards */
  }
  for (PetscInt i = n - 1; i >= 0; i--)
    for (PetscInt k = ai[i]; k < ai[i + 1]; k++)
      if (!aa || aa[k] != (PetscScalar)0.0) tj[--ti[aj[k] + shift]] = i;
}

/* Whether the columns of each row ascend, numbers of their own rows, and none is a stored zero */
static PetscBool SpikeAscends_Private(PetscInt n, const SpikeCSR *A)
{
  if (A->shift) return PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt k = A->ai[i]; k < A->ai[i + 1]; k++)
      if (A->aa[k] == (PetscScalar)0.0 || (k > A->ai[i] && A->aj[k] <= A->aj[k - 1])) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* gj <- row i of the union of two patterns with ascending rows; returns its length */
static PetscInt SpikeUnionRow_Private(const PetscInt *a, PetscInt na, const PetscInt *b, PetscInt nb, PetscInt *gj)
{
  PetscInt count = 0;

  for (PetscInt k = 0, l = 0; k < na || l < nb; count++) {
    const PetscInt next = l == nb || (k < na && a[k] < b[l]) ? a[k] : b[l];

    gj[count] = next;
    while (k < na && a[k] == next) k++;
    while (l < nb && b[l] == next) l++;
  }
  return count;
}

/*
  SpikeGraphCreate_Private - The pattern of A + A^T without stored zeros, as a MATSEQAIJ of ones in s->graph.mat

  Not Collective

  Input Parameter:
. A - the entries of a rank's rows in its own columns

  Output Parameter:
. symmetric - whether the nonzeros of A have a symmetric pattern

  Note:
  PETSc's own orderings take the lower triangle for a pattern that is not known to be symmetric. The work is linear in
  the number of entries.
*/
static PetscErrorCode SpikeGraphCreate_Private(PC pc, PetscInt n, const SpikeCSR *A, PetscBool *symmetric)
{
  SpikeGraph     *g  = &((PC_Spike *)pc->data)->graph;
  const PetscInt  nz = A->ai[n];
  const PetscInt *si = A->ai, *sj = A->aj; /* A itself, its rows ascending */
  PetscInt        sum = 0;

  PetscFunctionBegin;
  PetscCall(PCSpikeGraphReset_Private(pc));
  PetscCall(PetscMalloc2(n + 1, &g->ti, nz, &g->tj));
  SpikeTransposePattern_Private(n, A->shift, A->ai, A->aj, A->aa, g->ti, g->tj);
  if (!SpikeAscends_Private(n, A)) {
    PetscCall(PetscMalloc2(n + 1, &g->si, nz, &g->sj));
    SpikeTransposePattern_Private(n, 0, g->ti, g->tj, NULL, g->si, g->sj);
    si = g->si;
    sj = g->sj;
  }
  PetscCall(PetscMalloc2(n + 1, &g->i, si[n] + (PetscCount)si[n], &g->j));
  *symmetric = PETSC_TRUE;
  g->i[0]    = 0;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt ns = si[i + 1] - si[i], nt = g->ti[i + 1] - g->ti[i],
                   count = SpikeUnionRow_Private(sj + si[i], ns, g->tj + g->ti[i], nt, g->j + sum);

    if (count != ns || count != nt) *symmetric = PETSC_FALSE;
    PetscCheck(sum <= PETSC_INT_MAX - count, PETSC_COMM_SELF, PETSC_ERR_INT_OVERFLOW,
               "The pattern of A + A^T has more entries than 32-bit indices count: configure PETSc with 64-bit indices "
               "or use -%spc_spike_mat_ordering_type natural",
               ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
    sum += count;
    g->i[i + 1] = sum;
  }
  PetscCall(PetscFree2(g->ti, g->tj));
  PetscCall(PetscFree2(g->si, g->sj));
  PetscCall(PetscMalloc1(sum, &g->a));
  for (PetscInt k = 0; k < sum; k++) g->a[k] = 1.0;
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, g->i, g->j, g->a, &g->mat));
  PetscCall(MatSetOption(g->mat, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether an ordering looks at the pattern alone, as a symmetric one */
static PetscErrorCode SpikeOrdersGraph_Private(MatOrderingType type, PetscBool *graph)
{
  const char *const types[] = {MATORDERINGRCM, MATORDERINGND,      MATORDERING1WD,     MATORDERINGQMD,
                               MATORDERINGAMD, MATORDERINGMETISND, MATORDERINGSPECTRAL};

  PetscFunctionBegin;
  *graph = PETSC_FALSE;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types) && !*graph; k++)
    PetscCall(PetscStrcmp(type, types[k], graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  newrow[i]: the place of row i in PETSc's ordering of the nonzeros of A, or of A + A^T with own != NULL, the entries in
  the rank's own columns, where the ordering is one of graphs; stored zeros are kept out of the graph. newrow belongs to
  the PC from the start, and a copy goes before an error of PETSc's functions, such as that of an unknown ordering, is
  passed on. *symmetric: with own, whether the pattern of A is.
*/
PetscErrorCode PCSpikeOrder_Private(PC pc, Mat A, MatOrderingType type, PetscBool zeros, const SpikeCSR *own,
                                    PetscBool *symmetric)
{
  PC_Spike       *s = (PC_Spike *)pc->data;
  Mat             B = A, copy = NULL;
  PetscBool       mpi, same, graph = PETSC_FALSE;
  IS              rperm = NULL, cperm = NULL;
  const PetscInt *perm;
  PetscErrorCode  ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *symmetric = PETSC_TRUE;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(A, &B, NULL, NULL));
  PetscCall(PetscMalloc1(A->rmap->n, &s->newrow));
  if (own) PetscCall(SpikeOrdersGraph_Private(type, &graph));
  if (graph) {
    PetscCall(SpikeGraphCreate_Private(pc, A->rmap->n, own, symmetric));
    B = s->graph.mat;
  } else if (zeros) {
    PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &copy));
    ierr = MatEliminateZeros(copy, PETSC_TRUE);
  }
  if (!ierr) ierr = MatGetOrdering(copy ? copy : B, type, &rperm, &cperm);
  PetscCall(MatDestroy(&copy));
  PetscCall(PCSpikeGraphReset_Private(pc));
  PetscCall(ierr);
  PetscCheck(rperm, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, SPIKE_ORDERING_EXTERNAL, type,
             ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  PetscCall(ISEqualUnsorted(rperm, cperm, &same));
  if (!same) {
    PetscCall(ISDestroy(&rperm));
    PetscCall(ISDestroy(&cperm));
    SETERRQ(PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
            "Ordering %s permutes rows and columns apart, and PCSPIKE reorders both alike: for large entries on the "
            "diagonal use -%spc_spike_matching_type always",
            type, ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "");
  }
  PetscCall(ISGetIndices(rperm, &perm));
  for (PetscInt i = 0; i < A->rmap->n; i++) s->newrow[perm[i]] = i;
  PetscCall(ISRestoreIndices(rperm, &perm));
  PetscCall(ISDestroy(&rperm));
  PetscCall(ISDestroy(&cperm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The rows that are reached from queue[head .. tail - 1], level by level, each row's new neighbours by ascending degree
  (Cuthill and McKee 1969); returns the new tail
*/
static PetscErrorCode SpikeSearch_Private(SpikeGraph *g, PetscInt head, PetscInt *tail)
{
  PetscFunctionBegin;
  for (; head < *tail; head++) {
    const PetscInt r = g->queue[head], first = *tail;

    for (PetscInt k = g->i[r]; k < g->i[r + 1]; k++) {
      const PetscInt j = g->j[k];

      if (g->seen[j]) continue;
      g->seen[j]          = 1;
      g->degree[*tail]    = g->i[j + 1] - g->i[j];
      g->queue[(*tail)++] = j;
    }
    PetscCall(PetscSortIntWithArray(*tail - first, g->degree + first, g->queue + first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCSpikeOrderLevels_Private - newrow of this rank by the levels of a search from the rows that couple it to ranks
  before, or, where none does, back from those that couple it to ranks after: what couples ranks comes to their ends

  Not Collective

  Input Parameters:
+ n     - rows of this rank
. own   - entries in its own columns
- other - entries in others' columns, their numbers relative to the first row of this rank

  Note:
  The work is that of one look at the entries, and of sorts of the rows of the graph.
*/
PetscErrorCode PCSpikeOrderLevels_Private(PC pc, PetscInt n, const SpikeCSR *own, const SpikeCSR *other)
{
  PC_Spike   *s    = (PC_Spike *)pc->data;
  SpikeGraph *g    = &s->graph;
  PetscInt    tail = 0, head = 0;
  PetscBool   symmetric, back;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &s->newrow));
  PetscCall(SpikeGraphCreate_Private(pc, n, own, &symmetric));
  PetscCall(PetscMalloc3(n, &g->queue, n, &g->degree, n, &g->seen));
  PetscCall(PetscArrayzero(g->seen, n));
  for (PetscInt side = 0; side < 2 && !tail; side++)
    for (PetscInt r = 0; r < n; r++)
      for (PetscInt k = other->ai[r]; k < other->ai[r + 1]; k++) {
        const PetscInt j = SpikeCSRColumn(other, k);

        if (g->seen[r] || other->aa[k] == (PetscScalar)0.0 || (side ? j < n : j >= 0)) continue;
        g->seen[r]       = side ? 2 : 1;
        g->degree[tail]  = g->i[r + 1] - g->i[r];
        g->queue[tail++] = r;
      }
  PetscCall(PetscSortIntWithArray(tail, g->degree, g->queue));
  back = (PetscBool)(tail && g->seen[g->queue[0]] == 2);
  for (PetscInt r = 0; r < n; r++) {
    PetscCall(SpikeSearch_Private(g, head, &tail));
    head = tail;
    if (g->seen[r]) continue;
    g->seen[r]       = 1; /* another piece of the graph */
    g->queue[tail++] = r;
  }
  PetscCall(SpikeSearch_Private(g, head, &tail));
  for (PetscInt i = 0; i < n; i++) s->newrow[g->queue[i]] = back ? n - 1 - i : i;
  PetscCall(PCSpikeGraphReset_Private(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PCSpikeGetMatOrderingType - What `PCFactorSetMatOrderingType()` or its option set

  Not Collective

  Input Parameter:
. pc - the preconditioner context

  Output Parameter:
. ordering - `auto`, the default, takes the narrower band of `MATORDERINGNATURAL` and `MATORDERINGRCM` on one rank, and
             the natural ordering on many, unless that band is cut, or with `PCSpikeSetBandwidth()`; or a
             `MatOrderingType`. The string belongs to the preconditioner

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCFactorSetMatOrderingType()`
@*/
PetscErrorCode PCSpikeGetMatOrderingType(PC pc, MatOrderingType *ordering)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscAssertPointer(ordering, 2);
  PetscUseMethod(pc, "PCSpikeGetMatOrderingType_C", (PC, MatOrderingType *), (pc, ordering));
  PetscFunctionReturn(PETSC_SUCCESS);
}
