/* SPDX-License-Identifier: BSD-2-Clause */
/* spikefactor.c: the MatSolverType "spike": factors of a matrix that are a PCSPIKE inside, for PCLU and PCCHOLESKY */
#include "spikeimpl.h"
#include "common/petsccompat.h"

typedef struct {
  PC            pc;
  MatFactorInfo info; /* that pc has, where told */
  PetscBool     told;
  PetscBool     raises; /* A raises errors where its factorization fails */
  PetscReal     nz;     /* stored factors of this rank, and their bytes  */
  PetscReal     bytes;
} MatSpike;

/*MC
  MATSOLVERSPIKE - "spike", a `MatSolverType` that factors a band by `PCSPIKE`

  Works with `MATAIJ`, `MATAIJCUSPARSE`, `MATDIA`, `MATDIACUDA`, `MATBAIJ`, `MATSBAIJ` and the types derived from them,
  on one and several ranks

  Options Database Keys:
+ -pc_type lu -pc_factor_mat_solver_type spike       - LU
. -pc_type cholesky -pc_factor_mat_solver_type spike - L D L^H where the matrix is known to be positive definite
                                                       (`MAT_SPD`), else the same as LU
- -pc_spike_<option>                                 - any option of `PCSPIKE`, with the prefix of the factored matrix,
                                                       which is that of `PCLU`

  Level: intermediate

  Notes:
  All that takes `PCLU` takes these factors: `PCREDUNDANT`, coarse grids of `PCMG`, `PCFIELDSPLIT`, `PCBJACOBI`,
  `KSPMatSolve()`, and of SLEPc spectral transformations, by -st_pc_type lu -st_pc_factor_mat_solver_type spike.
  `MatSolve()`, `MatSolveTranspose()`, `MatMatSolve()` and `MatMatSolveTranspose()` work. `MatSpikeGetPC()` gives the
  preconditioner inside, whose setters may be called before the symbolic factorization.

  `MatGetInertia()` is there for Hermitian matrices, for `PCLU` and `PCCHOLESKY`. It does not ask the factors: an
  elimination of its own, on the host, with row exchanges, takes the signs of all leading determinants, one rank after
  the other. Eigenvalues that are zero to rounding are counted as zero. It needs half-bandwidths up to 4096, in the
  order of the rows of the matrix or, on one rank, in that of the band; a border, or corners of a periodic band, count
  for the half-bandwidth.

  Orderings of `PCFactorSetMatOrderingType()` are not looked at: -pc_spike_mat_ordering_type is the option.
  `PCFactorSetZeroPivot()`, `PCFactorSetShiftType()` and `PCFactorSetShiftAmount()` are handed on, as fractions of the
  norm of the matrix, an amount that is that of `PCLU` by default as `PETSC_DECIDE`. Options have the last word. So a
  zero pivot fails by default, as in PETSc's own LU; -pc_factor_shift_type nonzero boosts it, and refinement corrects
  the result.

  Each solve is checked and refined as `PCSpikeSetDirect()` says; -pc_spike_max_refinements 0 leaves that out. The
  factorization fails where a trial shows that solves do not reach the tolerance. Of a solve that does not reach it the
  result stands, up to a backward error that is the square root of the machine epsilon, and with boosted pivots up to
  such a residual, relative to the right-hand side, too; the view of the factors counts it. Above that the result is
  marked, as by a failed factorization. So is, with boosted pivots, a result with such a residual that is larger than
  the right-hand side by more than 1 over that root, times the norm of the matrix: one of a singular matrix, whatever
  its backward error. The factors keep a reference to the matrix. When its values change after the factorization, solves
  are those of the old values, and are not checked.

  An infinity or a NaN in the matrix, and solves that fail in the trial, are a `MAT_FACTOR_NUMERIC_ZEROPIVOT` too,
  because after a `MAT_FACTOR_OTHER` `PCLU` never factors that matrix again. -info :pc prints what it was. After a
  `MAT_FACTOR_OUTMEMORY` it does not either, until `PCReset()` or a new pattern.

.seealso: [](ch_matrices), `MatSolverType`, `PCLU`, `PCCHOLESKY`, `PCSPIKE`, `PCFactorSetMatSolverType()`,
`MatSpikeGetPC()`, `PCSpikeSetDirect()`, `MatGetFactor()`
M*/

/* What info says, and after it the options, where info has changed */
static PetscErrorCode MatSpikeSetInfo_Private(Mat F, const MatFactorInfo *info)
{
  MatSpike          *f      = (MatSpike *)F->data;
  PC                 pc     = f->pc;
  MatFactorShiftType type   = (MatFactorShiftType)(int)info->shifttype;
  PetscReal          amount = info->shiftamount;

  PetscFunctionBegin;
  if (f->told && info->zeropivot == f->info.zeropivot && info->shifttype == f->info.shifttype &&
      amount == f->info.shiftamount)
    PetscFunctionReturn(PETSC_SUCCESS);
  f->told = PETSC_FALSE; /* a setter may refuse */
  PetscCall(PCFactorSetZeroPivot(pc, info->zeropivot));
  PetscCall(PCFactorSetShiftType(pc, type));
  if (amount <= 0.0 || amount == (PetscReal)(100.0 * PETSC_MACHINE_EPSILON)) amount = (PetscReal)PETSC_DECIDE;
  PetscCall(PCFactorSetShiftAmount(pc, amount));
  /* PCSetFromOptions() would read -pc_type too, which is that of PCLU */
  PetscCall(PCSetOptionsPrefix(pc, ((PetscObject)F)->prefix));
  PetscObjectOptionsBegin((PetscObject)pc);
  PetscTryTypeMethod(pc, setfromoptions, PetscOptionsObject);
  PetscOptionsEnd();
  f->info = *info;
  f->told = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error of a failed setup, the same on all ranks, with the row that the first of them names */
static PetscErrorCode MatSpikeSetError_Private(Mat F)
{
  PC             pc = ((MatSpike *)F->data)->pc;
  PCFailedReason reason;
  PCSpikeInfo    info;

  PetscFunctionBegin;
  PetscCall(PCReduceFailedReason(pc));
  PetscCall(PCGetFailedReason(pc, &reason));
  F->factorerrortype             = MAT_FACTOR_NOERROR;
  F->factorerror_zeropivot_value = 0.0;
  F->factorerror_zeropivot_row   = 0;
  if (!reason) PetscFunctionReturn(PETSC_SUCCESS);
  F->factorerrortype = reason == PC_FACTOR_OUTMEMORY ? MAT_FACTOR_OUTMEMORY : MAT_FACTOR_NUMERIC_ZEROPIVOT;
  PetscCall(PCSpikeGetInfo(pc, &info));
  if (info.zeropivot_row < 0) PetscFunctionReturn(PETSC_SUCCESS);
  F->factorerror_zeropivot_row   = info.zeropivot_row;
  F->factorerror_zeropivot_value = info.zeropivot_value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new setup, or one that keeps pattern and memory: PCSetUp() sees which */
static PetscErrorCode MatFactorNumeric_Spike(Mat F, Mat A, const MatFactorInfo *info)
{
  MatSpike       *f  = (MatSpike *)F->data;
  PC              pc = f->pc;
  const PC_Spike *s  = (const PC_Spike *)pc->data;

  PetscFunctionBegin;
  PetscCall(MatSpikeSetInfo_Private(F, info));
  f->raises = A->erroriffailure;
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSetErrorIfFailure(pc, A->erroriffailure));
  PetscCall(PCSetUp(pc));
  /* A may change: a solve is by these factors all the same, and what fails there is judged here */
  PetscCall(PCSetErrorIfFailure(pc, PETSC_FALSE));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(MatSpikeSetError_Private(F));
  f->nz           = s->built ? (PetscReal)A->rmap->n * (1.0 + s->info.kl + (s->band.cholesky ? 0 : s->info.ku)) : 0.0;
  f->bytes        = s->built ? s->info.bytes + s->info.extra_bytes : 0.0;
  F->assembled    = PETSC_TRUE;
  F->preallocated = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Of the result of a solve, whether it has to be marked, the same on all ranks; solves: those that were checked before
  it
*/
static PetscErrorCode MatSpikeSolved_Private(Mat F, PetscInt solves, PetscBool *bad)
{
  MatSpike       *f  = (MatSpike *)F->data;
  PC              pc = f->pc;
  const PC_Spike *s  = (const PC_Spike *)pc->data;
  PetscBool       stands;

  PetscFunctionBegin;
  *bad = PETSC_FALSE;
  if (s->info.solves > solves) {
    PetscCall(PCSpikeRefineStands_Private(pc, &stands));
    *bad = (PetscBool)!stands;
  }
  PetscCheck(!*bad || !f->raises, PetscObjectComm((PetscObject)F), PETSC_ERR_NOT_CONVERGED, "%s",
             s->refused ? s->failtext : "The backward error of a solve with boosted pivots is large");
  PetscCall(PCSpikeRefineRestore_Private(pc, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolve_Spike(Mat F, Vec b, Vec x)
{
  PC             pc     = ((MatSpike *)F->data)->pc;
  const PetscInt solves = ((PC_Spike *)pc->data)->info.solves;
  PetscBool      bad;

  PetscFunctionBegin;
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatSpikeSolved_Private(F, solves, &bad));
  PetscCall(VecFlag(x, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSolveTranspose_Spike(Mat F, Vec b, Vec x)
{
  PC             pc     = ((MatSpike *)F->data)->pc;
  const PetscInt solves = ((PC_Spike *)pc->data)->info.solves;
  PetscBool      bad;

  PetscFunctionBegin;
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(MatSpikeSolved_Private(F, solves, &bad));
  PetscCall(VecFlag(x, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B may be X, and then its columns are copied */
static PetscErrorCode MatSpikeMatSolve_Private(Mat F, PetscBool trans, Mat B, Mat X)
{
  PC             pc     = ((MatSpike *)F->data)->pc;
  const PetscInt solves = ((PC_Spike *)pc->data)->info.solves;
  Mat            rhs    = B;
  PetscBool      bad;

  PetscFunctionBegin;
  if (B == X) PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &rhs));
  if (trans) PetscCall(PCMatApplyTranspose(pc, rhs, X));
  else PetscCall(PCMatApply(pc, rhs, X));
  if (B == X) PetscCall(MatDestroy(&rhs));
  PetscCall(MatSpikeSolved_Private(F, solves, &bad));
  PetscCall(MatFlag(X, bad));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatSolve_Spike(Mat F, Mat B, Mat X)
{
  PetscFunctionBegin;
  PetscCall(MatSpikeMatSolve_Private(F, PETSC_FALSE, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatSolveTranspose_Spike(Mat F, Mat B, Mat X)
{
  PetscFunctionBegin;
  PetscCall(MatSpikeMatSolve_Private(F, PETSC_TRUE, B, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLUFactorSymbolic_Spike(Mat F, Mat A, IS row, IS col, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)A;
  (void)row;
  (void)col;
  PetscCall(MatSpikeSetInfo_Private(F, info));
  F->ops->lufactornumeric = MatFactorNumeric_Spike;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCholeskyFactorSymbolic_Spike(Mat F, Mat A, IS perm, const MatFactorInfo *info)
{
  PetscFunctionBegin;
  (void)A;
  (void)perm;
  PetscCall(MatSpikeSetInfo_Private(F, info));
  F->ops->choleskyfactornumeric = MatFactorNumeric_Spike;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInfo_Spike(Mat F, MatInfoType flag, MatInfo *info)
{
  const MatSpike *f    = (const MatSpike *)F->data;
  MPI_Comm        comm = PetscObjectComm((PetscObject)F);
  MatInfo         of;
  PetscReal       sizes[3] = {f->nz, f->bytes, 0.0};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  if (f->nz > 0.0) {
    PetscCall(MatGetInfo(f->pc->pmat, MAT_LOCAL, &of));
    sizes[2] = of.nz_used;
  }
  if (flag == MAT_GLOBAL_SUM) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sizes, 3, MPIU_REAL, MPIU_SUM, comm));
  if (flag == MAT_GLOBAL_MAX) PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, sizes, 3, MPIU_REAL, MPIU_MAX, comm));
  info->block_size        = 1.0;
  info->nz_allocated      = sizes[0];
  info->nz_used           = sizes[0];
  info->memory            = sizes[1];
  info->fill_ratio_given  = f->info.fill;
  info->fill_ratio_needed = sizes[2] > 0.0 ? sizes[0] / sizes[2] : 0.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_Spike(Mat F, PetscViewer viewer)
{
  PetscBool isascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &isascii));
  if (isascii) PetscCall(PCView(((MatSpike *)F->data)->pc, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetInertia_Spike(Mat F, PetscInt *nneg, PetscInt *nzero, PetscInt *npos)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeGetInertia_Private(((MatSpike *)F->data)->pc, nneg, nzero, npos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFactorGetSolverType_Spike(Mat F, MatSolverType *type)
{
  PetscFunctionBegin;
  (void)F;
  *type = MATSOLVERSPIKE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSpikeGetPC_Spike(Mat F, PC *pc)
{
  PetscFunctionBegin;
  *pc = ((MatSpike *)F->data)->pc;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  MatSpikeGetPC - The `PCSPIKE` inside of factors by `MATSOLVERSPIKE`

  Not Collective

  Input Parameter:
. F - the factored matrix, such as that of `PCFactorGetMatrix()`

  Output Parameter:
. pc - the preconditioner, which belongs to `F`

  Level: advanced

  Notes:
  For `PCSpikeGetInfo()`, and for setters of `PCSPIKE` between `PCFactorSetUpMatSolverType()` and `KSPSetUp()`. Pivot
  tolerance and shifts are those of the `MatFactorInfo` from then on.

.seealso: [](ch_matrices), `MATSOLVERSPIKE`, `PCSPIKE`, `PCFactorGetMatrix()`, `PCFactorSetUpMatSolverType()`,
`PCSpikeGetInfo()`
@*/
PetscErrorCode MatSpikeGetPC(Mat F, PC *pc)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(F, MAT_CLASSID, 1);
  PetscAssertPointer(pc, 2);
  PetscUseMethod(F, "MatSpikeGetPC_C", (Mat, PC *), (F, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_Spike(Mat F)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(&((MatSpike *)F->data)->pc));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatSpikeGetPC_C", NULL));
  PetscCall(PetscFree(F->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetFactor_Spike(Mat A, MatFactorType ftype, Mat *F)
{
  MPI_Comm  comm = PetscObjectComm((PetscObject)A);
  MatSpike *f;
  VecType   vectype;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(MatCreate(comm, &B));
  PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(PetscStrallocpy(MATSOLVERSPIKE, &((PetscObject)B)->type_name));
  PetscCall(MatSetUp(B));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(MatSetVecType(B, vectype));
  PetscCall(PetscNew(&f));
  B->data                   = f;
  B->ops->destroy           = MatDestroy_Spike;
  B->ops->view              = MatView_Spike;
  B->ops->getinfo           = MatGetInfo_Spike;
  B->ops->getinertia        = MatGetInertia_Spike;
  B->ops->solve             = MatSolve_Spike;
  B->ops->matsolve          = MatMatSolve_Spike;
  B->ops->solvetranspose    = MatSolveTranspose_Spike;
  B->ops->matsolvetranspose = MatMatSolveTranspose_Spike;
  if (ftype == MAT_FACTOR_LU) B->ops->lufactorsymbolic = MatLUFactorSymbolic_Spike;
  else B->ops->choleskyfactorsymbolic = MatCholeskyFactorSymbolic_Spike;
  B->factortype      = ftype;
  B->canuseordering  = PETSC_FALSE;
  B->trivialsymbolic = PETSC_TRUE;
  PetscCall(PetscFree(B->solvertype));
  PetscCall(PetscStrallocpy(MATSOLVERSPIKE, &B->solvertype));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatFactorGetSolverType_C", MatFactorGetSolverType_Spike));
  PetscCall(PetscObjectComposeFunction((PetscObject)B, "MatSpikeGetPC_C", MatSpikeGetPC_Spike));
  PetscCall(PCCreate(comm, &f->pc));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)f->pc, (PetscObject)B, 1));
  PetscCall(PCSetType(f->pc, PCSPIKE));
  PetscCall(PCSpikeSetDirect(f->pc, PETSC_BOOL3_TRUE));
  if (ftype == MAT_FACTOR_LU) PetscCall(PCSpikeSetFactorType(f->pc, PC_SPIKE_FACTOR_LU));
  *F = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Types that begin with one of these names, such as seqaijcusparse, are found by it */
PetscErrorCode MatSolverSpikeRegister(void)
{
  const MatType types[] = {MATSEQAIJ,   MATMPIAIJ,   MATSEQBAIJ, MATMPIBAIJ,
                           MATSEQSBAIJ, MATMPISBAIJ, MATSEQDIA,  MATMPIDIA};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(MatSolverTypeRegister(MATSOLVERSPIKE, types[k], MAT_FACTOR_LU, MatGetFactor_Spike));
    PetscCall(MatSolverTypeRegister(MATSOLVERSPIKE, types[k], MAT_FACTOR_CHOLESKY, MatGetFactor_Spike));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
