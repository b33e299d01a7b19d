/* SPDX-License-Identifier: BSD-2-Clause */
/*
  fusedrhsmat.c: the tall matrices of several right-hand sides: memory, arrays, leading columns, products and
  preconditioners
*/
#include "fusedrhsmat.h"
#include "adapters.h"
#include "common/attempt.h"
#include <petsc/private/pcimpl.h>

/* The products, then the views: a product holds its operands */
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

static PetscErrorCode KSPFusedTallDestroy_Private(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  if (c->tall.k) {
    PetscCall((*c->tall.k->release)(&c->tall, (void **)&c->small));
    PetscCall((*c->tall.k->destroy)(&c->tall));
  }
  if (c->directions.k) PetscCall((*c->directions.k->destroy)(&c->directions));
  PetscCall(PetscFree(c->hostsmall));
  PetscCall(PetscMemzero(&c->tall, sizeof(c->tall)));
  PetscCall(PetscMemzero(&c->directions, sizeof(c->directions)));
  c->small   = NULL;
  c->hastall = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for the block method: c->room columns, or as many as a tall matrix may have there */
static PetscErrorCode KSPFusedTallSetUp_Private(KSP ksp)
{
  KSPFusedRhs   *c    = ((KSPFused *)ksp->data)->rhs;
  const PetscInt most = PetscMin(c->room, (PetscInt)SPIKE_BLOCK_MAXM);
  const size_t   size = SpikeBlockCGSize(most);

  PetscFunctionBegin;
  if (c->hastall) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedTallDestroy_Private(c)); /* what a setup left that failed */
  c->directions.k        = c->s.k;
  c->directions.m        = most;
  c->directions.ondevice = c->s.ondevice;
  PetscCall((*c->directions.k->create)(&c->directions));
  PetscCall((*c->directions.k->push)(&c->directions, most)); /* all zero */
  c->tall.k = SpikeBlockKernelsFind(c->s.k->memtype);
  PetscCheck(c->tall.k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "No kernels for tall blocks where the vectors are");
  PetscCall((*c->tall.k->create)(&c->tall));
  PetscCall((*c->tall.k->alloc)(&c->tall, size * sizeof(PetscScalar), (void **)&c->small));
  if (!PetscMemTypeHost(c->s.k->memtype) && !c->s.ondevice) PetscCall(PetscMalloc1(size, &c->hostsmall));
  c->hastall = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRhsClear_Private(KSPFusedRhs *c)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedRhsRelease_Private(c));
  for (PetscInt i = 0; i < c->nblocks; i++) PetscCall(MatDestroy(&c->block[i]));
  PetscCall(PetscFree2(c->block, c->view));
  PetscCall(KSPFusedTallDestroy_Private(c));
  if (c->s.k) PetscCall((*c->s.k->destroy)(&c->s));
  PetscCall(PetscMemzero(&c->s, sizeof(c->s)));
  PetscCall(PetscFree5(c->one, c->wanted, c->from, c->to, c->slot));
  PetscCall(PetscFree2(c->slots, c->columns));
  PetscCall(VecDestroy(&c->x));
  PetscCall(MatDestroy(&c->rhs));
  c->nblocks = c->room = 0;
  c->id                = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRhsDestroy(KSPFused *f)
{
  KSPFusedRhs *c = f->rhs;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedRhsClear_Private(c));
  PetscCall(PetscFree3(c->its, c->reasons, c->norms));
  PetscCall(PetscFree(f->rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPFusedRhsCreateBlock_Private(KSP ksp, Mat *block)
{
  const KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;
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

/* A preconditioner that has refused once is not asked again, unless its type is another one */
static PetscErrorCode KSPFusedRhsForget_Private(KSP ksp)
{
  KSPFusedRhs  *c = ((KSPFused *)ksp->data)->rhs;
  PetscObjectId id;
  PetscBool     same;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)ksp->pc, &id));
  PetscCall(PetscStrcmp(c->pctype, ((PetscObject)ksp->pc)->type_name, &same));
  if (c->refuses != PETSC_BOOL3_TRUE || id != c->pc || !same) c->refuses = PETSC_BOOL3_UNKNOWN;
  c->pc = id;
  PetscCall(PetscStrncpy(c->pctype, ((PetscObject)ksp->pc)->type_name, sizeof(c->pctype)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Room for m columns; ksp->vec_sol stands for x. Room of a solve before is kept where it has the same vectors and enough
  columns
*/
PetscErrorCode KSPFusedRhsSetUp(KSP ksp, PetscInt m)
{
  KSPFused                    *f = (KSPFused *)ksp->data;
  KSPFusedRhs                 *c = f->rhs;
  const SpikeKrylovRhsKernels *k = SpikeKrylovRhsKernelsFind(f->s.k->memtype);
  PetscObjectId                id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)ksp->work[0], &id));
  if (c->room < m || c->id != id || c->nblocks != ksp->nwork + 2 || c->s.k != k || c->s.ncolumns != f->basis.ncolumns ||
      c->s.nsmall != f->basis.nsmall) {
    PetscInt most = 4 * (ksp->nwork + 2);

    PetscCall(KSPFusedRhsClear_Private(c));
    PetscCall(PetscCalloc2(ksp->nwork + 2, &c->block, ksp->nwork + 2, &c->view));
    c->nblocks = ksp->nwork + 2;
    c->room    = m;
    PetscCall(PetscCalloc5(m, &c->one, m, &c->wanted, m, &c->from, m, &c->to, m, &c->slot));
    for (PetscInt i = 0; i < m; i++) c->slot[i] = i;
    PetscCall(PetscCalloc2(most + 2 * SPIKE_KRYLOV_MAXVECTORS, &c->slots, 4 * f->basis.ncolumns, &c->columns));
    for (PetscInt i = 0; i < ksp->nwork - f->basis.nshared; i++)
      PetscCall(KSPFusedRhsCreateBlock_Private(ksp, &c->block[i]));
    PetscCall(KSPFusedRhsCreateBlock_Private(ksp, &c->block[ksp->nwork]));
    PetscCall(MatDenseGetLDA(c->block[0], &c->ld));
    PetscCall(PetscObjectReference((PetscObject)ksp->vec_sol));
    c->x          = ksp->vec_sol;
    c->s.k        = k;
    c->s.m        = m;
    c->s.ncolumns = f->basis.ncolumns;
    c->s.nsmall   = f->basis.nsmall;
    c->s.ondevice = (PetscBool)(!PetscMemTypeHost(k->memtype) && f->size == 1);
    PetscCall((*k->create)(&c->s));
    c->id = id; /* all is there */
  }
  PetscCall(KSPFusedRhsForget_Private(ksp));
  c->m      = m;
  c->istall = (PetscBool)(f->options.matsolve == KSP_FUSED_MATSOLVE_BLOCK);
  if (c->istall) PetscCall(KSPFusedTallSetUp_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tall matrix that v stands for, its leading columns; NULL where all columns share v */
PetscErrorCode KSPFusedRhsGetBlock(KSP ksp, Vec v, Mat *block)
{
  KSPFused    *f = (KSPFused *)ksp->data;
  KSPFusedRhs *c = f->rhs;

  PetscFunctionBegin;
  *block = v == c->x ? c->view[ksp->nwork] : NULL;
  for (PetscInt i = 0; i < ksp->nwork - f->basis.nshared && !*block; i++)
    if (ksp->work[i] == v) *block = c->view[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array of a tall matrix, ld its leading dimension; ld = 0: of a vector that all columns share */
PetscErrorCode KSPFusedRhsGetArray(KSP ksp, Vec v, PetscBool read, PetscBool written, PetscScalar **a, PetscInt *ld)
{
  KSPFused        *f    = (KSPFused *)ksp->data;
  KSPFusedRhs     *c    = f->rhs;
  KSPFusedRhsSlot *slot = &c->slots[c->nslots++];
  PetscMemType     memtype;

  PetscFunctionBegin;
  PetscCall(KSPFusedRhsGetBlock(ksp, v, &slot->block));
  slot->v       = v;
  slot->read    = read;
  slot->written = written;
  if (!slot->block) {
    PetscAssert(!written, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB,
                "A step writes a vector that all columns share");
    PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&slot->a, &memtype));
  } else if (!written) PetscCall(MatDenseGetArrayReadAndMemType(slot->block, (const PetscScalar **)&slot->a, &memtype));
  else if (read) PetscCall(MatDenseGetArrayAndMemType(slot->block, &slot->a, &memtype));
  else PetscCall(MatDenseGetArrayWriteAndMemType(slot->block, &slot->a, &memtype));
  PetscCheck(SpikeKrylovRhsKernelsFind(memtype) == c->s.k, PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP,
             "A block of work vectors has left its memory during a solve");
  *a  = slot->a ? slot->a : &c->nothing; /* without rows; NULL says that a step has no such vector */
  *ld = slot->block ? c->ld : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All arrays that KSPFusedRhsGetArray() has got */
PetscErrorCode KSPFusedRhsRestoreArrays(KSP ksp)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;

  PetscFunctionBegin;
  while (c->nslots) {
    KSPFusedRhsSlot *slot = &c->slots[--c->nslots];

    if (!slot->block) PetscCall(VecRestoreArrayReadAndMemType(slot->v, (const PetscScalar **)&slot->a));
    else if (!slot->written) PetscCall(MatDenseRestoreArrayReadAndMemType(slot->block, (const PetscScalar **)&slot->a));
    else if (slot->read) PetscCall(MatDenseRestoreArrayAndMemType(slot->block, &slot->a));
    else PetscCall(MatDenseRestoreArrayWriteAndMemType(slot->block, &slot->a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The views become the first `width` columns */
PetscErrorCode KSPFusedRhsSetWidth(KSP ksp, PetscInt width)
{
  KSPFusedRhs *c = ((KSPFused *)ksp->data)->rhs;

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

/* The tall matrix of guesses, 0 */
PetscErrorCode KSPFusedRhsAddGuess(KSP ksp)
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->rhs;
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

/* The wanted columns change places with others in the first slots, and width becomes their number, which is not 0 */
PetscErrorCode KSPFusedRhsToFront(KSP ksp)
{
  KSPFusedRhs  *c     = ((KSPFused *)ksp->data)->rhs;
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
      const KSPFusedOneRhs one = c->one[c->from[i]];

      c->one[c->from[i]] = c->one[c->to[i]];
      c->one[c->to[i]]   = one;
    }
  }
  PetscCall(KSPFusedRhsSetWidth(ksp, width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y_j <- a x_i + b y_j, i = cx[k] and j = cy[k], k < count; X may be NULL with a = 0 */
PetscErrorCode KSPFusedRhsCombine(KSP ksp, PetscInt count, PetscScalar a, Mat X, const PetscInt cx[], PetscScalar b,
                                  Mat Y, const PetscInt cy[])
{
  KSPFusedRhs       *c = ((KSPFused *)ksp->data)->rhs;
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

/* Products of a solve before are kept for the same A, pattern and direction */
PetscErrorCode KSPFusedRhsSetProduct(KSP ksp)
{
  KSPFusedRhs     *c = ((KSPFused *)ksp->data)->rhs;
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

/* Y <- A X by PETSc: one product where A has it with dense matrices, symbolic phase kept; else column by column */
PetscErrorCode KSPFusedRhsMatMult(KSP ksp, Mat X, Mat Y)
{
  KSPFusedRhs   *c = ((KSPFused *)ksp->data)->rhs;
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

/* The first error of PCMatApply(), with the place where it was found */
typedef struct {
  PetscErrorCode code;
  int            line;
  const char    *function, *file;
  char           text[1024];
} KSPFusedRhsError;

static PetscErrorCode KSPFusedRhsCatch_Private(MPI_Comm comm, int line, const char *function, const char *file,
                                               PetscErrorCode code, PetscErrorType type, const char *text, PetscCtx ctx)
{
  KSPFusedRhsError *e = (KSPFusedRhsError *)ctx;

  (void)comm;
  if (type == PETSC_ERROR_INITIAL && !e->code) {
    e->code     = code;
    e->line     = line;
    e->function = function;
    e->file     = file;
    snprintf(e->text, sizeof(e->text), "%s", text ? text : "");
  }
  return code;
}

/*
  Y <- B X for the first time: a preconditioner, or one inside it, may have a PCMatApply() that only says that there is
  none. Its other errors are raised anew with their text. Nothing is applied twice: an error of one rank would meet the
  messages of the others half way
*/
static PetscErrorCode KSPFusedRhsPCAsk_Private(KSP ksp, Mat X, Mat Y)
{
  KSPFusedRhs     *c = ((KSPFused *)ksp->data)->rhs;
  KSPFusedRhsError e = {PETSC_SUCCESS, 0, "", "", ""};
  PetscBool        applies;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(KSPFusedMatApplies(ksp->pc, &applies));
  if (applies) {
    SpikeAttempt(ierr, KSPFusedRhsCatch_Private, &e, KSP_PCMatApply(ksp, X, Y));
    applies = (PetscBool)(ierr != PETSC_ERR_SUP);
    PetscCheck(!ierr || !applies, PETSC_COMM_SELF, ierr, "PCMatApply() of PC type %s: %s, found by %s() at %s:%d",
               ((PetscObject)ksp->pc)->type_name, e.text, e.function, e.file, e.line);
  }
  c->refuses = PetscBoolToBool3((PetscBool)!applies);
  if (!applies)
    PetscCall(PetscInfo(ksp, "PCMatApply() of PC type %s refuses: the preconditioner is applied column by column\n",
                        ((PetscObject)ksp->pc)->type_name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y <- B X, without the part in the null space of A where that is to be removed */
PetscErrorCode KSPFusedRhsPCApply(KSP ksp, Mat X, Mat Y)
{
  KSPFusedRhs    *c   = ((KSPFused *)ksp->data)->rhs;
  const PetscBool ask = (PetscBool)(c->refuses == PETSC_BOOL3_UNKNOWN);
  PetscInt        m;
  Vec             x, y;

  PetscFunctionBegin;
  if (ask) PetscCall(KSPFusedRhsPCAsk_Private(ksp, X, Y));
  if (c->refuses == PETSC_BOOL3_TRUE) {
    PetscCall(MatGetSize(X, NULL, &m));
    for (PetscInt i = 0; i < m; i++) {
      PetscCall(MatDenseGetColumnVecRead(X, i, &x));
      PetscCall(MatDenseGetColumnVecWrite(Y, i, &y));
      if (ksp->transpose_solve) PetscCall(PCApplyTranspose(ksp->pc, x, y));
      else PetscCall(PCApply(ksp->pc, x, y));
      PetscCall(MatDenseRestoreColumnVecWrite(Y, i, &y));
      PetscCall(MatDenseRestoreColumnVecRead(X, i, &x));
    }
  } else if (!ask) PetscCall(KSP_PCMatApply(ksp, X, Y));
  PetscCall(KSP_RemoveNullSpaceMat(ksp, Y));
  PetscCall(KSPFusedRemoveNullSpaceMat(ksp, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
