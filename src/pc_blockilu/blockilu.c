/* SPDX-License-Identifier: BSD-2-Clause */
/* blockilu.c: the type PCBLOCKILU: its page, creation and destruction */
#include "blockiluimpl.h"

static PetscErrorCode PCDestroy_BlockILU(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BlockILU(pc));
  PetscCall(PCBlockILUComposeMethods_Private(pc, PETSC_FALSE));
  PetscCall(PCFactoredDestroy_Private(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCBLOCKILU - Incomplete and complete LU factorization on small dense blocks, of one or many subdomains on each rank

  Options Database Keys:
+ -pc_blockilu_bs bs                                - size of the blocks, `PCBlockILUSetBlockSize()`; default that of
                                                    the matrix
. -pc_blockilu_local_subdomains p                   - subdomains on each rank, `PCBlockILUSetLocalSubdomains()`
. -pc_blockilu_levels k                             - levels of fill, `PCFactorSetLevels()`
. -pc_blockilu_complete                             - complete factorization of each subdomain,
                                                    `PCBlockILUSetComplete()`
. -pc_blockilu_mat_ordering_type (natural|rcm|...)  - ordering of the blocks in each subdomain,
                                                      `PCFactorSetMatOrderingType()`
. -pc_blockilu_multicolor                           - multicolor ordering of the blocks in each subdomain,
                                                    `PCBlockILUSetMulticolor()`
. -pc_blockilu_zeropivot tol                        - pivots below this fraction of the norm are zero,
                                                    `PCFactorSetZeroPivot()`
. -pc_blockilu_shift_type (auto|none|nonzero|inblocks) - what happens to zero pivots, `PCFactorSetShiftType()`
. -pc_blockilu_shift_amount amount                  - magnitude of a boosted pivot relative to the norm,
                                                    `PCFactorSetShiftAmount()`
- -pc_blockilu_precision (double|single)            - precision of the factors, `PCBlockILUSetPrecision()`

  Level: intermediate

  Notes:
  The rows of each rank are cut into subdomains, contiguous block rows of equal number, each of which is factored by
  itself; what couples two subdomains or two ranks is left out, as `PCBJACOBI` leaves it out. By default there is one
  subdomain on each rank: then the preconditioner is that of `PCBJACOBI` with `PCILU` on a `MATBAIJ` matrix,
  and takes as many iterations.

  Blocks may have from 1 to 32 rows; sizes 1 to 8 and 16 have kernels of their own. Larger blocks of the matrix fall
  into blocks of their largest divisor up to 32. Diagonal blocks are inverted with row exchanges inside the block.

  The matrix must be of type `MATBAIJ`, or of a type derived from `MATAIJ` with a block size (`MatSetBlockSize()`, or
  `PCBlockILUSetBlockSize()`), of which the blocks are then gathered; other types are converted to these (`MATSBAIJ` to
  `MATBAIJ`). Local sizes must be multiples of the block size. An entry of a MATAIJ matrix makes its whole block part of
  the pattern.

  Matrices on a GPU need kernels for it: where the library has none the setup ends with an error that says so.

  Infinities and NaN, and where it is asked for a zero pivot, end the setup with a `PCFailedReason` and a text
  that -info and -pc_view print, or with an error under -ksp_error_if_not_converged. A diagonal block that is not stored
  is one of zeros.

  `PCFactorSetLevels()`, `PCFactorSetMatOrderingType()`, `PCFactorSetZeroPivot()`, `PCFactorSetShiftType()` and
  `PCFactorSetShiftAmount()` are the setters of the levels, the ordering and the pivots. Levels are levels of blocks; 0,
  the default, keeps the pattern of the matrix. An ordering orders rows and columns alike. The zero pivot tolerance and
  the shift amount are fractions of the infinity norm of what is factored, and so do not depend on its units; those of
  `PCILU` are absolute. The defaults are 100 times machine epsilon, and `PETSC_DECIDE`: 1e-3, or the square root of the
  rounding of the factors where that is larger. Pivots are those inside of diagonal blocks, with row exchanges.

  A zero pivot is boosted: it alone is replaced by one of the shift amount, and the factorization goes on. The view,
  `PCBlockILUInfo` and -info have the number of boosted pivots. Where there are some, the factors are those of another
  matrix, which an iterative method corrects. `KSPPREONLY` does not: its solve ends with
  `PC_FACTOR_NUMERIC_ZEROPIVOT`, unless it is part of another solver. That is -pc_blockilu_shift_type auto, the default,
  or `PETSC_DECIDE` as shift type; `KSPMatSolve()` and `PCApply()` give what the factors give. `MAT_SHIFT_NONZERO` and
  `MAT_SHIFT_INBLOCKS` are the same with `KSPPREONLY` too; `MAT_SHIFT_NONE` makes the setup fail at a zero pivot.
  `PCFactorGetShiftType()` says `MAT_SHIFT_NONZERO` for `auto`.

  Reference:
  Afanasyev, Potapov, Sobolev and Kharchenko, Accelerating industrial applications: the development of basic GPU kernels
  for the new block AMG algorithms for solving SLE with explicitly calculated sparse basis, Procedia Computer Science 66
  (2015).

.seealso: [](ch_ksp), `PCILU`, `PCBJACOBI`, `PCASM`, `PCSPIKE`, `MATBAIJ`, `MatSetBlockSize()`,
`PCBlockILUSetBlockSize()`, `PCBlockILUSetLocalSubdomains()`, `PCFactorSetLevels()`, `PCBlockILUSetComplete()`,
`PCFactorSetMatOrderingType()`, `PCBlockILUSetMulticolor()`, `PCFactorSetZeroPivot()`, `PCFactorSetShiftType()`,
`PCFactorSetShiftAmount()`, `PCBlockILUSetPrecision()`, `PCBlockILUGetInfo()`
M*/
PetscErrorCode PCCreate_BlockILU(PC pc)
{
  PC_BlockILU *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  pc->data      = s;
  s->shape      = SpikeNewShape(SPIKE_SHAPES);
  s->bs         = PETSC_DECIDE;
  s->subdomains = PETSC_DECIDE;
  s->precision  = PetscDefined(USE_REAL_SINGLE) ? PETSC_SPIKE_PRECISION_SINGLE : PETSC_SPIKE_PRECISION_DOUBLE;
  PetscCall(PCFactoredInitialize_Private(pc, "PCBLOCKILU", MATORDERINGNATURAL, PCBlockILUChanged_Private));

  pc->ops->apply             = PCApply_BlockILU;
  pc->ops->applytranspose    = PCApplyTranspose_BlockILU;
  pc->ops->matapply          = PCMatApply_BlockILU;
  pc->ops->matapplytranspose = PCMatApplyTranspose_BlockILU;
  pc->ops->setup             = PCSetUp_BlockILU;
  pc->ops->reset             = PCReset_BlockILU;
  pc->ops->destroy           = PCDestroy_BlockILU;
  pc->ops->setfromoptions    = PCSetFromOptions_BlockILU;
  pc->ops->view              = PCView_BlockILU;

  PetscCall(PCBlockILUComposeMethods_Private(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
