/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedrhsbasis.c: the blocks of a solve for columns: their memory, the columns in front, products and
  preconditioners
*/
#include "fusedrhs.h"
#include <petsc/private/pcimpl.h>

PetscScalar *KSPFusedSmall(KSPFused *f)
{
  return f->running ? f->columnsolve->s.small : f->s.small;
}

/* The products of blocks, then the views: a product holds the views that it is of */
static PetscErrorCode KSPFusedRhsRelease_Private(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->nblocks; i++)
    if (c->view[i]) PetscCall(MatProductClear(c->view[i]));
  for (PetscInt i = 0; i < c->nblocks; i++) {
    if (c->view[i] && c->view[i] != c->block[i]) PetscCall(MatDenseRestoreSubMatrix(c->block[i], &c->view[i]));
    c->view[i] = NULL;
  }
  c->width = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRhsClear_Private(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedRhsRelease_Private(c));
  for (PetscInt i = 0; i < c->nblocks; i++) PetscCall(MatDestroy(&c->block[i]));
  PetscCall(PetscFree2(c->block, c->view));
  PetscCall(KSPFusedTallDestroy(c));
  if (c->s.k) PetscCall((*c->s.k->destroy)(&c->s));
  PetscCall(PetscMemzero(&c->s, sizeof(c->s)));
  PetscCall(PetscFree5(c->column, c->wanted, c->from, c->to, c->slot));
  PetscCall(PetscFree2(c->slots, c->columns));
  PetscCall(VecDestroy(&c->x));
  PetscCall(MatDestroy(&c->rhs));
  c->nblocks = c->room = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsDestroy(KSPFused *f)
{
  KSPFusedRhs *c = f->columnsolve;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsClear_Private(c));
  PetscCall(PetscFree3(c->its, c->reasons, c->norms));
  PetscCall(PetscFree(f->columnsolve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRhsCreateBlock_Private(KSP ksp, Mat *block)
{
  const KSPFusedRhs *c = ((KSPFused *)ksp->data)->columnsolve;
  PetscInt           n, N;
  VecType            type;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  PetscCall(VecGetSize(ksp->work[0], &N));
  PetscCall(VecGetType(ksp->work[0], &type));
  /* columns begin where wide loads can */
  PetscCall(MatCreateDenseFromVecType(PetscObjectComm((PetscObject)ksp), type, n, PETSC_DECIDE, N, c->room,
                                      PetscMax(1, (n + 15) / 16) * 16, NULL, block));
  PetscCall(MatZeroEntries(*block));
  PetscCall(MatAssemblyBegin(*block, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*block, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Room for m columns, x being named by ksp->vec_sol: what there is from a solve before, where it has the same vectors
  and enough columns
*/
PetscErrorCode KSPFusedRhsSetUp(KSP ksp, PetscInt m)
{
  KSPFused                    *f = (KSPFused *)ksp->data;
  KSPFusedRhs                 *c = f->columnsolve;
  const SpikeKrylovRhsKernels *k = SpikeKrylovRhsKernelsFind(f->s.k->memtype);
  PetscObjectId                id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)ksp->work[0], &id));
  if (c->room < m || c->id != id || c->nblocks != ksp->nwork + 2 || c->s.k != k || c->s.ncolumns != f->ncolumns ||
      c->s.nsmall != f->nsmall) {
    PetscInt most = 4 * (ksp->nwork + 2);

    PetscCall(KSPFusedRhsClear_Private(c));
    c->id      = id;
    c->room    = m;
    c->nblocks = ksp->nwork + 2;
    PetscCall(PetscCalloc2(c->nblocks, &c->block, c->nblocks, &c->view));
    PetscCall(PetscCalloc5(m, &c->column, m, &c->wanted, m, &c->from, m, &c->to, m, &c->slot));
    for (PetscInt i = 0; i < m; i++) c->slot[i] = i;
    PetscCall(PetscCalloc2(most + 2 * SPIKE_KRYLOV_MAXVECTORS, &c->slots, 4 * f->ncolumns, &c->columns));
    for (PetscInt i = 0; i < ksp->nwork - f->nshared; i++) PetscCall(KSPFusedRhsCreateBlock_Private(ksp, &c->block[i]));
    PetscCall(KSPFusedRhsCreateBlock_Private(ksp, &c->block[ksp->nwork]));
    PetscCall(MatDenseGetLDA(c->block[0], &c->ld));
    PetscCall(PetscObjectReference((PetscObject)ksp->vec_sol));
    c->x          = ksp->vec_sol;
    c->s.k        = k;
    c->s.m        = m;
    c->s.ncolumns = f->ncolumns;
    c->s.nsmall   = f->nsmall;
    c->s.ondevice = (PetscBool)(!PetscMemTypeHost(k->memtype) && f->size == 1);
    PetscCall((*k->create)(&c->s));
  }
  c->m      = m;
  c->istall = (PetscBool)(f->matsolve == KSP_FUSED_MATSOLVE_BLOCK);
  if (c->istall) PetscCall(KSPFusedTallSetUp(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block that v is the name of, its columns in front; NULL where all columns share v */
PetscErrorCode KSPFusedRhsGetBlock(KSP ksp, Vec v, Mat *block)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->columnsolve;

  PetscFunctionBegin;
  *block = v == c->x ? c->view[ksp->nwork] : NULL;
  for (PetscInt i = 0; i < ksp->nwork - f->nshared && !*block; i++)
    if (ksp->work[i] == v) *block = c->view[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks are looked at through their first `width` columns */
PetscErrorCode KSPFusedRhsSetWidth(KSP ksp, PetscInt width)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->columnsolve;

  PetscFunctionBegin;
  if (c->width == width) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsRelease_Private(c));
  for (PetscInt i = 0; i < c->nblocks; i++) {
    if (!c->block[i]) continue;
    if (width == c->room) c->view[i] = c->block[i];
    else PetscCall(MatDenseGetSubMatrix(c->block[i], PETSC_DECIDE, PETSC_DECIDE, 0, width, &c->view[i]));
  }
  c->width = width;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block for guesses, 0 */
PetscErrorCode KSPFusedRhsAddGuess(KSP ksp)
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->columnsolve;
  const PetscInt i = ksp->nwork + 1, width = c->width;

  PetscFunctionBegin;
  if (c->useguess) PetscFunctionReturn(PETSC_SUCCESS);
  if (width) PetscCall(KSPFusedRhsRelease_Private(c));
  if (!c->block[i]) PetscCall(KSPFusedRhsCreateBlock_Private(ksp, &c->block[i]));
  else PetscCall(MatZeroEntries(c->block[i]));
  c->useguess = PETSC_TRUE;
  if (width) PetscCall(KSPFusedRhsSetWidth(ksp, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The columns in slots that are wanted come to the front, in exchange for others there, and width becomes their number,
  which is not 0
*/
PetscErrorCode KSPFusedRhsToFront(KSP ksp)
{
  KSPFusedRhs  *c     = ((KSPFused *)ksp->data)->columnsolve;
  PetscInt      width = 0, n = 0, nblocks = 0;
  PetscScalar **v;
  Mat          *blocks;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->m; i++) width += c->wanted[i] ? 1 : 0;
  for (PetscInt i = 0, j = c->m - 1; i < width; i++) {
    if (c->wanted[i]) continue;
    while (!c->wanted[j]) j--;
    c->from[n] = i;
    c->to[n++] = j--;
  }
  if (n || width != c->width) PetscCall(KSPFusedSettle(ksp));
  if (n) {
    PetscInt rows;

    PetscCall(KSPFusedRhsRelease_Private(c));
    PetscCall(VecGetLocalSize(ksp->work[0], &rows));
    PetscCall(PetscMalloc2(c->nblocks, &v, c->nblocks, &blocks));
    for (PetscInt i = 0; i < c->nblocks; i++) {
      PetscMemType memtype;

      if (!c->block[i]) continue;
      blocks[nblocks] = c->block[i];
      PetscCall(MatDenseGetArrayAndMemType(c->block[i], &v[nblocks++], &memtype));
      PetscCheck(SpikeKrylovRhsKernelsFind(memtype) == c->s.k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
                 "A block of work vectors has left its memory during a solve");
    }
    PetscCall((*c->s.k->swap)(&c->s, n, c->from, c->to, rows, nblocks, v, c->ld));
    for (PetscInt i = 0; i < nblocks; i++) PetscCall(MatDenseRestoreArrayAndMemType(blocks[i], &v[i]));
    PetscCall(PetscFree2(v, blocks));
    for (PetscInt i = 0; i < n; i++) {
      const KSPFusedOneRhs column = c->column[c->from[i]];

      c->column[c->from[i]] = c->column[c->to[i]];
      c->column[c->to[i]]   = column;
    }
  }
  PetscCall(KSPFusedRhsSetWidth(ksp, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y_j <- a x_i + b y_j, i = cx[k] and j = cy[k], k < count; X may be NULL with a = 0 */
PetscErrorCode KSPFusedRhsCombine(KSP ksp, PetscInt count, PetscScalar a, Mat X, const PetscInt cx[], PetscScalar b,
                                  Mat Y, const PetscInt cy[])
{
  KSPFusedRhs       *c = ((KSPFused *)ksp->data)->columnsolve;
  const PetscScalar *x = NULL;
  PetscScalar       *y;
  PetscInt           n, ldx = 0, ldy;
  PetscMemType       mx = c->s.k->memtype, my;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(ksp->work[0], &n));
  PetscCall(MatDenseGetArrayAndMemType(Y, &y, &my));
  PetscCall(MatDenseGetLDA(Y, &ldy));
  if (X) {
    PetscCall(MatDenseGetArrayReadAndMemType(X, &x, &mx));
    PetscCall(MatDenseGetLDA(X, &ldx));
  }
  PetscCheck(SpikeKrylovRhsKernelsFind(mx) == c->s.k && SpikeKrylovRhsKernelsFind(my) == c->s.k,
             PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, "A block of vectors has left its memory during a solve");
  PetscCall((*c->s.k->combine)(&c->s, count, n, a, x, ldx, cx, b, y, ldy, cy));
  if (X) PetscCall(MatDenseRestoreArrayReadAndMemType(X, &x));
  PetscCall(MatDenseRestoreArrayAndMemType(Y, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of a solve before are kept for the same A with the same pattern, in the same direction */
PetscErrorCode KSPFusedRhsSetProduct(KSP ksp)
{
  KSPFusedRhs     *c = ((KSPFused *)ksp->data)->columnsolve;
  Mat              A;
  PetscObjectId    id;
  PetscObjectState nonzero;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(MatGetNonzeroState(A, &nonzero));
  PetscCall(KSPFusedHasProduct(A, c->block[0], ksp->transpose_solve, &c->useproduct));
  if (id != c->mat || nonzero != c->nonzero || ksp->transpose_solve != c->transpose || !c->useproduct)
    PetscCall(KSPFusedRhsRelease_Private(c));
  c->mat       = id;
  c->nonzero   = nonzero;
  c->transpose = ksp->transpose_solve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Y <- A X by PETSc: in one product where A has one with dense matrices, whose symbolic phase is kept, else column by
  column
*/
PetscErrorCode KSPFusedRhsMatMult(KSP ksp, Mat X, Mat Y)
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->columnsolve;
  MatProductType type;
  Mat            A, B;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (c->useproduct) {
    PetscCall(MatProductGetType(Y, &type));
    if (type == MATPRODUCT_UNSPECIFIED) {
      PetscCall(MatProductCreateWithMat(A, X, NULL, Y));
      PetscCall(MatProductSetType(Y, ksp->transpose_solve ? MATPRODUCT_AtB : MATPRODUCT_AB));
      PetscCall(MatProductSetFromOptions(Y));
      PetscCall(MatProductSymbolic(Y));
    } else {
      PetscCall(MatProductGetMats(Y, NULL, &B, NULL));
      if (B != X) PetscCall(MatProductReplaceMats(NULL, X, NULL, Y));
    }
    PetscCall(MatProductNumeric(Y));
  } else {
    for (PetscInt i = 0; i < c->width; i++) {
      Vec x, y;

      PetscCall(MatDenseGetColumnVecRead(X, i, &x));
      PetscCall(MatDenseGetColumnVecWrite(Y, i, &y));
      PetscCall(KSP_MatMult(ksp, A, x, y));
      PetscCall(MatDenseRestoreColumnVecWrite(Y, i, &y));
      PetscCall(MatDenseRestoreColumnVecRead(X, i, &x));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B X */
PetscErrorCode KSPFusedRhsPCApply(KSP ksp, Mat X, Mat Y)
{
  PetscFunctionBegin;
  PetscCall(KSP_PCMatApply(ksp, X, Y));
  PetscCall(KSP_RemoveNullSpaceMat(ksp, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
