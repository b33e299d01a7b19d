/* SPDX-License-Identifier: BSD-2-Clause */
/*
  adapters.c: what is known about types of Mat and PC, PETSc's and ours. No other file of the fused methods names one
*/
#include "adapters.h"

#define KSP_FUSED_SCALE_LEAST 131072 /* rows of a rank */

static PetscErrorCode KSPFusedHasNullSpace_Private(KSP ksp, PetscBool *has)
{
  Mat          A;
  MatNullSpace nullspace;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  *has = (PetscBool)(nullspace != NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Right preconditioning: y = B x loses its part in the null space of A. PETSc does so with left preconditioning alone; a
  solution is to have none either way
*/
PetscErrorCode KSPFusedRemoveNullSpace(KSP ksp, Vec y)
{
  Mat          A;
  MatNullSpace nullspace;

  PetscFunctionBegin;
  if (ksp->pc_side != PC_RIGHT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  if (ksp->transpose_solve) PetscCall(MatGetTransposeNullSpace(A, &nullspace));
  else PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceRemove(nullspace, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRemoveNullSpaceMat(KSP ksp, Mat Y)
{
  PetscBool has = PETSC_FALSE;
  PetscInt  m;
  Vec       y;

  PetscFunctionBegin;
  if (ksp->pc_side == PC_RIGHT) PetscCall(KSPFusedHasNullSpace_Private(ksp, &has));
  if (!has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(Y, NULL, &m));
  for (PetscInt i = 0; i < m; i++) {
    PetscCall(MatDenseGetColumnVec(Y, i, &y));
    PetscCall(KSPFusedRemoveNullSpace(ksp, y));
    PetscCall(MatDenseRestoreColumnVec(Y, i, &y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B = I, and no null space is removed after it: the residual need not be copied */
PetscErrorCode KSPFusedIsIdentity(KSP ksp, PetscBool *identity)
{
  PetscBool has = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCNONE, identity));
  PetscCall(KSPFusedHasNullSpace_Private(ksp, &has));
  if (has) *identity = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether D = b I, as when all rows have the same equation. Two reductions cost little compared with two long vectors
  less in each iteration
*/
static PetscErrorCode KSPFusedKnowScale_Private(KSP ksp)
{
  KSPFused   *f = (KSPFused *)ksp->data;
  PetscMPIInt size;
  PetscInt    N;
  PetscReal   most;

  PetscFunctionBegin;
  if (PetscDefined(USE_COMPLEX) || !f->run.lags) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  PetscCall(VecGetSize(f->pc.diagonal, &N));
  if (N / size < KSP_FUSED_SCALE_LEAST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecMin(f->pc.diagonal, NULL, &f->pc.scale));
  PetscCall(VecMax(f->pc.diagonal, NULL, &most));
  f->pc.scaled = (PetscBool)(most == f->pc.scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  With the scalars on the device: whether B enqueues its own work, or is a diagonal matrix; that also beside products of
  a narrow copy, on the host and on several ranks, where the diagonal is to have single precision. The diagonal is
  B (1, ..., 1)^T, computed at each solve: PCJACOBI does not show its vector, and two kernels cost less than to find out
  whether it has changed.
*/
PetscErrorCode KSPFusedKnowPC(KSP ksp)
{
  KSPFused *f   = (KSPFused *)ksp->data;
  PetscBool has = PETSC_FALSE, narrow = KSPFusedMayBeSingle(f), jacobi;
  PetscInt  n;
  Vec       ones = ksp->work[f->method->scratch[0]];

  PetscFunctionBegin;
  f->pc.diagonal = NULL;
  f->pc.single   = PETSC_FALSE;
  PetscCall(PetscMemzero(&f->pc.enqueue, sizeof(f->pc.enqueue)));
  PetscCall(KSPFusedHasNullSpace_Private(ksp, &has));
  if (!(f->s.ondevice || narrow) || f->pc.identity || has || ksp->transpose_solve) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(ones, &n));
  if (f->s.ondevice) PetscCall(SpikeGetEnqueue((PetscObject)ksp->pc, &f->pc.enqueue));
  if (f->pc.enqueue.run && (f->pc.enqueue.memtype != f->s.k->memtype || f->pc.enqueue.n != n))
    PetscCall(PetscMemzero(&f->pc.enqueue, sizeof(f->pc.enqueue)));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
  if (!jacobi) PetscFunctionReturn(PETSC_SUCCESS);
  /* compilers for the host round d r + beta p once, and z + beta p too: without a lag lockstep has the same bits */
  if (narrow && PetscMemTypeHost(f->s.k->memtype)) f->run.lags = PETSC_FALSE;
  if (!f->pc.store) PetscCall(VecDuplicate(ones, &f->pc.store));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(PCApply(ksp->pc, ones, f->pc.store));
  f->pc.diagonal = f->pc.store;
  PetscCall(KSPFusedKnowScale_Private(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects that compose PetscSpikeGetEnqueue_C, and objects of PETSc's types that only enqueue work */
static PetscErrorCode KSPFusedEnqueues_Private(PetscObject object, PetscBool known, PetscBool *enqueues)
{
  SpikeEnqueue e;

  PetscFunctionBegin;
  PetscCall(SpikeGetEnqueue(object, &e));
  *enqueues = (PetscBool)(known ||
                          ((e.run || e.product.dia || e.product.block || e.stencil) && PetscMemTypeCUDA(e.memtype)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether product and preconditioner only enqueue work on the device: one of each too many costs microseconds, and the
  host may run ahead. Others, on the host, of the user, or costly, run in lockstep.
*/
PetscErrorCode KSPFusedNeverWaits(KSP ksp, PetscBool *never)
{
  Mat       A;
  PetscBool mat, pc, bound;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &mat, MATSEQAIJCUSPARSE, MATSEQSELLCUDA, MATSEQDENSECUDA, ""));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(KSPFusedEnqueues_Private((PetscObject)A, (PetscBool)(mat && !bound), &mat));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->pc, &pc, PCNONE, PCJACOBI, PCPBJACOBI, PCVPBJACOBI, ""));
  PetscCall(KSPFusedEnqueues_Private((PetscObject)ksp->pc, pc, &pc));
  *never = mat && pc ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solvers inside B are one application of such a preconditioner each */
static PetscErrorCode KSPFusedPCMayVary_Private(PC pc, PetscBool *varies)
{
  PetscBool    fixed, bjacobi, asms, preonly;
  PetscInt     n   = 0;
  KSP         *sub = NULL;
  PC           subpc;
  SpikeEnqueue e;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &fixed, PCNONE, PCJACOBI, PCPBJACOBI, PCVPBJACOBI, PCSOR,
                                      PCEISENSTAT, PCILU, PCICC, PCLU, PCCHOLESKY, PCSVD, PCSPIKE, PCBLOCKILU, ""));
  PetscCall(SpikeGetEnqueue((PetscObject)pc, &e));
  *varies = (PetscBool)(!fixed && !e.run);
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBJACOBI, &bjacobi));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCASM, &asms));
  if (bjacobi) PetscCall(PCBJacobiGetSubKSP(pc, &n, NULL, &sub));
  if (asms) PetscCall(PCASMGetSubKSP(pc, &n, NULL, &sub));
  if (bjacobi || asms) *varies = PETSC_FALSE;
  for (PetscInt i = 0; i < n && !*varies; i++) {
    PetscCall(PetscObjectTypeCompare((PetscObject)sub[i], KSPPREONLY, &preonly));
    PetscCall(KSPGetPC(sub[i], &subpc));
    if (preonly) PetscCall(KSPFusedPCMayVary_Private(subpc, varies));
    else *varies = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether B, which is set up, may be another operator at each application, on any rank. The listed types are one linear
  operator between two setups; any other type may iterate inside, or call the user
*/
PetscErrorCode KSPFusedMayVary(KSP ksp, PetscBool *varies)
{
  PetscFunctionBegin;
  PetscCall(KSPFusedPCMayVary_Private(ksp->pc, varies));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, varies, 1, MPI_C_BOOL, MPI_LOR, PetscObjectComm((PetscObject)ksp)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether PCMatApply() has more than an error for B, which is set up. PETSc's Schwarz methods have none with several
  subdomains, perhaps on some ranks alone, where the others would wait for them
*/
PetscErrorCode KSPFusedMatApplies(PC pc, PetscBool *applies)
{
  PetscBool asms, gasm;
  PetscInt  n = 1;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCASM, &asms));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGASM, &gasm));
  *applies = PETSC_TRUE;
  if (!asms && !gasm) PetscFunctionReturn(PETSC_SUCCESS);
  if (asms) PetscCall(PCASMGetSubKSP(pc, &n, NULL, NULL));
  else PetscCall(PCGASMGetSubKSP(pc, &n, NULL, NULL));
  *applies = (PetscBool)(asms ? n <= 1 : n == 1);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, applies, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)pc)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Exactly PETSc's MATSEQAIJ or MATSEQAIJCUSPARSE, assembled, square, with its entries in the backend's memory, with the
  product that PETSc gives to a new one, which is looked at once
*/
PetscErrorCode KSPFusedIsKnown(Mat A, PetscMemType memtype, PetscBool *known)
{
  static PetscErrorCodeFn *fresh[2] = {NULL, NULL};
  const PetscInt           device   = PetscMemTypeHost(memtype) ? 0 : 1;
  const MatType            type     = device ? MATSEQAIJCUSPARSE : MATSEQAIJ;
  PetscErrorCodeFn        *mult;
  PetscMemType             there;
  PetscInt                 m, n;
  PetscBool                assembled;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, type, known));
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeMatGetMemType(A, &there));
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(MatAssembled(A, &assembled));
  if (!fresh[device]) {
    Mat B;

    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetType(B, type));
    PetscCall(MatGetOperation(B, MATOP_MULT, &fresh[device]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
  *known = (PetscBool)(there == memtype && assembled && m == n && mult == fresh[device]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's MATMPIAIJ or MATMPIAIJCUSPARSE: the same on all ranks */
PetscErrorCode KSPFusedIsParallel(Mat A, PetscBool *parallel)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, parallel, MATMPIAIJ, MATMPIAIJCUSPARSE, ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parts of such a matrix, own columns and columns garray[] of other ranks */
PetscErrorCode KSPFusedGetParts(Mat A, Mat part[2], const PetscInt *garray[])
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], garray));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of such a matrix on this rank what KSPFusedIsKnown() asks, with as many own columns as rows, both parts where the
  backend works, and the columns of others in ascending order: who creates a matrix from its parts may have others
*/
PetscErrorCode KSPFusedIsKnownParallel(Mat A, PetscMemType memtype, PetscBool *known)
{
  static PetscErrorCodeFn *fresh[2] = {NULL, NULL};
  PetscErrorCodeFn        *mult;
  PetscMemType             there;
  PetscBool                cuda, assembled, same;
  const PetscInt          *garray;
  PetscInt                 nghost;
  Mat                      part[2];

  PetscFunctionBegin;
  *known = PETSC_FALSE;
  PetscCall(MatAssembled(A, &assembled));
  if (!assembled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJCUSPARSE, &cuda));
  if (!fresh[cuda]) {
    Mat B;

    PetscCall(MatCreate(PETSC_COMM_SELF, &B));
    PetscCall(MatSetType(B, ((PetscObject)A)->type_name));
    PetscCall(MatGetOperation(B, MATOP_MULT, &fresh[cuda]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
  if (mult != fresh[cuda]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPFusedGetParts(A, part, &garray));
  PetscCall(KSPFusedIsKnown(part[0], memtype, known));
  PetscCall(PetscObjectTypeCompare((PetscObject)part[1], ((PetscObject)part[0])->type_name, &same));
  PetscCall(SpikeMatGetMemType(part[1], &there));
  *known = (PetscBool)(*known && same && there == memtype);
  PetscCall(MatGetSize(part[1], NULL, &nghost));
  for (PetscInt k = 1; k < nghost && *known; k++) *known = (PetscBool)(garray[k - 1] < garray[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A that is stored by diagonals where the backend works, the same on all ranks: e->product.dia is NULL where it is not;
  or in blocks: else e->product.block is NULL; or a stencil: else e->stencil is NULL
*/
PetscErrorCode KSPFusedGetProduct(Mat A, PetscMemType memtype, SpikeEnqueue *e)
{
  PetscFunctionBegin;
  PetscCall(SpikeGetEnqueue((PetscObject)A, e));
  if (e->memtype != memtype) {
    e->product.dia   = NULL;
    e->product.block = NULL;
    e->stencil       = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays until KSPFusedRestoreCSR(), NULL where there are no entries */
PetscErrorCode KSPFusedGetCSR(Mat A, PetscMemType memtype, SpikeKrylovCSR *csr, SpikeCSR *piece)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(piece, sizeof(*piece)));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetSize(A, &csr->n, NULL));
  csr->nz = (PetscInt)info.nz_used;
  if (csr->nz) PetscCall(SpikeMatSeqAIJGetCSR(A, memtype, piece));
  csr->ai = piece->ai;
  csr->aj = piece->aj;
  csr->aa = piece->aa;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode KSPFusedRestoreCSR(Mat A, PetscMemType memtype, SpikeCSR *piece)
{
  PetscFunctionBegin;
  if (piece->ai) PetscCall(SpikeMatSeqAIJRestoreCSR(A, memtype, piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Whether A says how it is multiplied with the dense matrix X at once, and means its MatMult() by that: a MATSEQAIJ or
  MATMPIAIJ, host or CUDA, has the product that PETSc gives to a new one. Others are taken column by column: what PETSc
  does there moves matrices of CUDA to the host and back
*/
PetscErrorCode KSPFusedHasProduct(Mat A, Mat X, PetscBool transpose, PetscBool *has)
{
  char              name[256];
  PetscErrorCodeFn *product = NULL, *mult, *fresh;
  PetscBool         aij;
  Mat               B;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "MatProductSetFromOptions_%s_%s_C", ((PetscObject)A)->type_name,
                          ((PetscObject)X)->type_name));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &product));
  if (!product) PetscCall(PetscObjectQueryFunction((PetscObject)X, name, &product));
  *has = (PetscBool)(product != NULL);
  PetscCall(
    PetscObjectTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  if (transpose && !aij) *has = PETSC_FALSE; /* not all of these have A^T X */
  if (!*has || !aij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  PetscCall(MatSetType(B, ((PetscObject)A)->type_name));
  PetscCall(MatGetOperation(B, MATOP_MULT, &fresh));
  PetscCall(MatDestroy(&B));
  PetscCall(MatGetOperation(A, MATOP_MULT, &mult));
  *has = (PetscBool)(mult == fresh);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As KSPFusedKnowPC(), but on the host too: a diagonal matrix is one vector that all columns share */
PetscErrorCode KSPFusedRhsKnowPC(KSP ksp)
{
  KSPFused *f   = (KSPFused *)ksp->data;
  PetscBool has = PETSC_FALSE, jacobi;
  Vec       ones;

  PetscFunctionBegin;
  f->pc.diagonal = NULL;
  f->pc.single   = PETSC_FALSE;
  PetscCall(PetscMemzero(&f->pc.enqueue, sizeof(f->pc.enqueue)));
  PetscCall(KSPFusedHasNullSpace_Private(ksp, &has));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp->pc, PCJACOBI, &jacobi));
  if (!jacobi || has) PetscFunctionReturn(PETSC_SUCCESS);
  ones = ksp->work[0];
  if (!f->pc.store) PetscCall(VecDuplicate(ones, &f->pc.store));
  PetscCall(VecSet(ones, 1.0));
  if (ksp->transpose_solve) PetscCall(PCApplyTranspose(ksp->pc, ones, f->pc.store));
  else PetscCall(PCApply(ksp->pc, ones, f->pc.store));
  f->pc.diagonal = f->pc.store;
  PetscFunctionReturn(PETSC_SUCCESS);
}
