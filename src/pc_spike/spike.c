/* SPDX-License-Identifier: BSD-2-Clause */
/* spike.c: the type PCSPIKE: its page, creation and destruction */
#include "spikeimpl.h"

const char *const PCSpikeTypes[]         = {"BLOCK", "TRUNCATED", "FULL", "AUTO", "PCSpikeType", "PC_SPIKE_", NULL};
const char *const PCSpikeFactorTypes[]   = {"AUTO", "LU", "CHOLESKY", "PCSpikeFactorType", "PC_SPIKE_FACTOR_", NULL};
const char *const PCSpikeBatchTypes[]    = {"AUTO", "ALWAYS", "NEVER", "PCSpikeBatchType", "PC_SPIKE_BATCH_", NULL};
const char *const PCSpikeMatchingTypes[] = {"AUTO", "NONE", "ALWAYS", "PCSpikeMatchingType", "PC_SPIKE_MATCHING_",
                                            NULL};
const char *const PetscSpikePrecisionNames[] = {"double", "single", "bf16", "fp16"};

static PetscErrorCode PCDestroy_Spike(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSpikeUnwatch_Private(pc));
  PetscCall(PCReset_Spike(pc));
  PetscCall(PCSpikeComposeMethods_Private(pc, PETSC_FALSE));
  PetscCall(PCSpikeExchangeDisconnect_Private(pc));
  PetscCall(PCFactoredDestroy_Private(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCSPIKE - A banded preconditioner, and on one rank with one partition a banded direct solver, by the SPIKE algorithm
  {cite}`polizzi2006`

  Options Database Keys:
+ -pc_spike_type (auto|full|truncated|block)           - coupling between partitions, `PCSpikeSetType()`
. -pc_spike_bandwidth k or kl,ku                       - half-bandwidths to factor, `PCSpikeSetBandwidth()`; default
                                                       those of the nonzero entries
. -pc_spike_max_bandwidth k                            - no half-bandwidth is larger, `PCSpikeSetMaxBandwidth()`;
                                                       default what fits in memory
. -pc_spike_max_border m                               - rows and columns that may go last and be solved by a dense
                                                       system, `PCSpikeSetMaxBorder()`; default 64
. -pc_spike_tridiagonal_type (auto|thomas|twoway|...)  - algorithm for half-bandwidth 1, `PCSpikeSetTridiagonalType()`
. -pc_spike_batch_type (auto|always|never)             - independent systems each by itself, `PCSpikeSetBatchType()`
. -pc_spike_pivoting                                   - row exchanges inside partitions, `PCSpikeSetPivoting()`
. -pc_spike_dropoff f                                  - narrowest band that drops at most this fraction of sum |a_ij|,
                                                       `PCSpikeSetDropoff()`
. -pc_spike_window_tol tol                             - where the correction after the reduced systems ends,
                                                       `PCSpikeSetWindowTolerance()`
. -pc_spike_precision (double|single|bf16|fp16)        - precision of the factors, `PCSpikeSetPrecision()`
. -pc_spike_local_partitions p                         - partitions on each rank, `PCSpikeSetLocalPartitions()`
. -pc_spike_mat_ordering_type (auto|natural|rcm|...)   - ordering of each rank's rows, `PCFactorSetMatOrderingType()`
. -pc_spike_lines_threshold fraction                   - couplings that `MATORDERINGLINES` takes,
                                                       `PCSpikeSetLinesThreshold()`
. -pc_spike_factor_type (auto|lu|cholesky)             - factorization of the partitions, `PCSpikeSetFactorType()`
. -pc_spike_matching_type (auto|none|always)           - large entries on the diagonal, `PCSpikeSetMatchingType()`
. -pc_spike_matching_rescale                           - scales follow the values, `PCSpikeSetMatchingRescale()`
. -pc_spike_zeropivot tol                              - pivots below this fraction of the norm are zero,
                                                       `PCFactorSetZeroPivot()`
. -pc_spike_shift_type (auto|none|nonzero|inblocks)    - what happens to zero pivots, `PCFactorSetShiftType()`
. -pc_spike_shift_amount amount                        - magnitude of a boosted pivot relative to the norm,
                                                       `PCFactorSetShiftAmount()`
. -pc_spike_direct (true|false|unknown)                - which applications are direct solves, `PCSpikeSetDirect()`
. -pc_spike_max_refinements steps                      - steps of refinement of a direct solve,
                                                       `PCSpikeSetMaxRefinements()`
. -pc_spike_refinement_tol tol                         - backward error of a direct solve,
                                                       `PCSpikeSetRefinementTolerance()`
- -pc_spike_estimate (true|false)                      - estimate how good the factors are, `PCSpikeSetEstimate()`

  Level: intermediate

  Notes:
  A program that calls `KSPSetFromOptions()` need not be changed for it: -dll_append /absolute/path/libpetscspike.so
  -pc_type spike. Others call `PetscSpikeInitializePackage()` and `PCSetType()`.

  The rows of each rank are cut into partitions of equal length, or of unequal ones where nothing couples two rows near
  their ends, so that nothing is neglected there. Each diagonal block is factored as a band, without row exchanges, or
  with them (`PCSpikeSetPivoting()`). What couples two neighbouring partitions is taken into
  account by a small dense system for each interface, made from the tips of the two spikes (`PC_SPIKE_TRUNCATED`), by
  one system of all interfaces (`PC_SPIKE_FULL`), or left out (`PC_SPIKE_BLOCK`). In the truncated form an interface
  between two ranks is an interface like any other: in an apply a rank exchanges as many values as a half-bandwidth with
  its two neighbours, and nothing else.

  The truncated form neglects the far ends of the spikes, which are small when the matrix is diagonally dominant or the
  partitions are long: -pc_view prints an estimate of them. The full form neglects nothing: the partitions of a rank are
  merged two by two into one (recursive SPIKE, which is block cyclic reduction of the reduced system, with row exchanges
  inside its blocks), and the ranks likewise, each of which sends two half-bandwidths of values to all others in an
  apply. It takes whole spikes in a setup and two sweeps in an apply. `PC_SPIKE_AUTO`, the default, takes the truncated
  form where what it neglects is below 10000 times the window tolerance, at most 1e-3 and at least 10 times the rounding
  unit of the factors, by the spikes of each setup, and the full form elsewhere, and where pivots were boosted. Then,
  and with one partition, M is the band's inverse to rounding, as long as no partition is much worse conditioned than
  the matrix. Where partitions are singular, though systems with the matrix have solutions, and factors are of no use
  therefore, one partition a rank is tried, unless their number is given; -info says so.

  Why small far ends bound the error of the truncated form: with A = D S, F the far ends of the spikes, C the blocks
  that couple partitions and z the tips of x = M^-1 b, truncation leaves b - A x = C F z but for the windows, so that
  the backward error of an application is at most about ||F||: far ends relative to tips, times the tips. In ||I - A
  M^-1|| the condition number of A comes in too. Of a matrix that is dominant by rows no tip is above 1, and truncated
  spikes are what they promise. Of others `PC_SPIKE_AUTO` estimates, on the host, by how much tips and reduced systems
  amplify what is neglected. Where that may make factors wrong by more than 1e-3, or 10 times their rounding unit, it
  measures ||E v|| / ||v||, E = I - A M^-1, for two vectors v, and where that is larger it couples exactly, if factors
  are ten times less wrong then. So it stays until the pattern of the matrix, the band that its values choose or an
  option changes; -info says so. On a device setups from scratch are measured, where sampled rows are not dominant. A
  direct solve measures its error too: where it misses its tolerance with truncated spikes, `PC_SPIKE_AUTO` couples
  exactly, from that solve on. Where memory is too small for exact coupling it truncates: -info, the view and
  `PCSpikeInfo` say so.

  Without row exchanges factors may grow, and a band may be worse conditioned than the matrix where a border makes that
  regular. Where growth, a border or pivots, also those of reduced systems, give reason for doubt, a setup is tried on
  two right-hand sides; factors that fail are made with row exchanges, then without a border too, where that is
  affordable, and where it is cheap in one partition, whatever number was asked for; the least wrong ones are taken;
  -info and the view say so. Matrices with dominant rows are not tried, unless pivots are boosted or a border
  amplifies errors. Later values of the pattern begin with what was taken; on the host those with dominant rows, after
  others, without exchanges. On a device nothing counts dominant rows. A direct solve that misses its tolerance goes on
  to the next of these ways, whether or not a trial has found its factors of use.

  -ksp_type preonly makes it a direct solver, where the band holds the whole matrix: each solve is checked by its
  backward error, and refined; where that does not help, the solve fails (`PCSpikeSetDirect()`). `MATSOLVERSPIKE` is the
  same for `PCLU` and `PCCHOLESKY`.

  With several partitions or boosted pivots this is a preconditioner like others, and on an ill-conditioned matrix the
  preconditioned residual norm, which most Krylov methods with left preconditioning test, can look converged while the
  true residual is not. Precondition from the right there, by -ksp_pc_side right or `KSPFGMRES`;
  -ksp_monitor_true_residual shows both norms.

  PCSPIKE works where the matrix is: on the GPU with `MATAIJCUSPARSE` or `MATDIACUDA`, with many partitions by default
  where the rows of the matrix make spikes fall, and nothing is copied to the host after the first setup. That one
  copies the values where an ordering, a matching or a border may be needed, which -info says: whether one is needed the
  GPU finds out from the entries where they are. Vectors in the other place are copied, and
  -log_view shows it. Bands of half-bandwidths above 512, on GPUs with less shared memory
  than an H100's above 320 or 160, are factored and solved on the host; -ksp_view says so. `PCMatApply()`, and with it
  `KSPMatSolve()`, reads the factors once for 8 columns on a GPU, and adds up in another order than `PCApply()`: the
  results are the same to rounding.

  With `KSPFusedSetPrecision()` a fused Krylov method asks for factors in its lower precision, where
  `PCSpikeSetPrecision()` does not say another one, and gives them up by itself where they do not suit.

  The band is worth its memory, 1 + kl + ku values a row, when the matrix has a narrow band, in its own ordering or
  after a bandwidth reducing one. For matrices of 2- and 3-dimensional meshes with good fill reducing orderings `PCLU`
  with nested dissection needs less.

  Half-bandwidth 1 has kernels of its own, and a choice of algorithms. Where rows are not coupled to the next ones the
  matrix falls into independent systems, as of lines of a grid, which are found, and looked for again when a coupling
  appears. -pc_spike_bandwidth 1 takes the tridiagonal part of a wider matrix in its own ordering: line relaxation.

  Periodic tridiagonal systems, with an entry in one or both of their corners and nothing else off the three diagonals,
  are found before the band is chosen, on host and GPU: any number of them, each of three rows or more inside one rank,
  where nothing couples the ranks, or one that is the whole matrix, on any number of ranks. The systems without their
  corners are factored, and a rank-one update for each brings these back (Sherman and Morrison; Temperton, J. Comput.
  Phys. 19, 1975), for one vector more to read in an apply, two to keep, and a copy of the values of the matrix. Over
  ranks an apply sums two more values. The natural ordering must be allowed (`auto` or `natural`) and the bandwidth
  open: in an ordering that is asked for corners are entries like others, with `PCSpikeSetBandwidth()` they lie outside
  and are dropped, and so they are where `PCSpikeSetDropoff()` allows to drop them. `PC_SPIKE_BLOCK` leaves out corners
  that couple two partitions. A rank-one update that would divide by zero, as for a singular matrix, is a zero pivot.
  Corners may vanish and come back in later values; when anything else couples a system, the band is chosen again.

  Few rows and columns that make the band wide, such as the corners of a periodic band, an arrowhead or an integral
  constraint, are solved by a dense system where that is less work (`PCSpikeSetMaxBorder()`).

  The matrix must be of a type derived from `MATAIJ`, or `MATDIA`, or one that `MatConvert()` turns into `MATAIJ`, such
  as `MATBAIJ` and `MATSBAIJ`. From a `MATDIA` or `MATDIACUDA` the band is filled diagonal by diagonal, without a copy,
  with the same bits; a reordered band and periodic systems take a copy as `MATAIJ`. -pc_spike_mat_ordering_type natural
  leaves out the look for an ordering, which takes one too in the first setup on one rank. Stored zeros do not widen the
  band; when later values with the same pattern do, it is chosen again.

  A band that does not fit in memory is cut to one that does, which -info and -pc_view say: a preconditioner
  (`PCSpikeSetMaxBandwidth()`). The memory is what the system has available, for all ranks of a node that share the
  matrix together; on a GPU what is free there.

  Infinities and NaN, factors of `MATSOLVERSPIKE` that do not fit in memory, and where it is asked for a zero pivot, end
  the setup with a `PCFailedReason` and a text that -info and -pc_view print, or with an error under
  -ksp_error_if_not_converged.

  `PCFactorSetZeroPivot()`, `PCFactorSetShiftType()`, `PCFactorSetShiftAmount()` and `PCFactorSetMatOrderingType()` are
  the setters of pivots and of the ordering. The zero pivot tolerance and the shift amount are fractions of the infinity
  norm of the matrix, and so do not depend on its units; those of `PCLU` are absolute. The defaults are 100 times
  machine epsilon, and `PETSC_DECIDE`: 1e-3, or the square root of the rounding of the factors where that is larger. A
  missing diagonal entry is a zero like others.

  A zero pivot is boosted: it alone is replaced by one of the shift amount, and the factorization goes on. The view,
  `PCSpikeInfo` and -info have the number of boosted pivots. Where there are some, the factors are those of another
  matrix, which an iterative method corrects. Where the refinement of `KSPPREONLY` does not, or is switched off, its
  solve ends with `PC_FACTOR_NUMERIC_ZEROPIVOT`, unless it is part of another linear solver. That is
  -pc_spike_shift_type auto, the default, or `PETSC_DECIDE` as shift type; `PCMatApply()` and `PCApply()` give what the
  factors give. `MAT_SHIFT_NONZERO` and `MAT_SHIFT_INBLOCKS` are the same with `KSPPREONLY` too; `MAT_SHIFT_NONE` makes
  the setup fail at a zero pivot. `PCFactorGetShiftType()` says `MAT_SHIFT_NONZERO` for `auto`.

  A matrix that is known to be hermitian positive definite, by `MAT_SPD`, is factored by Cholesky, in half of the bytes
  and operations, and M is hermitian to rounding: `PCSpikeSetFactorType()`.

  Where an entry of the diagonal is missing or below a thousandth of the largest of its row, rows are permuted, and rows
  and columns scaled, so that the entries of the diagonal have the largest product (`PCSpikeSetMatchingType()`), before
  the ordering is chosen; on several ranks each one does so for its diagonal block. A dominant matrix pays one look at
  its diagonal.

  The ordering `auto` (the default) takes the band of least work of `MATORDERINGNATURAL` and of `MATORDERINGRCM` of A +
  A^T on one rank; where the pattern is not symmetric, and a bound for all orderings leaves room for a narrower band,
  also of `MATORDERINGRCM` of the lower triangle; and the natural ordering with `PCSpikeSetBandwidth()`. On several
  ranks each rank orders its own rows, and couplings between ranks that lie outside the band then are dropped as by
  `PCSpikeSetBandwidth()`; `auto` does that where the natural band is cut (`PCSpikeSetMaxBandwidth()`, memory) and loses
  more, where a rank has fewer rows than it is wide, or where it takes twice the work of what is left, with the
  iterations that the dropped share costs. A direct solve drops none of them, unless a limit cuts the natural band: it
  is set up again for another band, and where none fits the rows of a rank, rows are gathered on fewer ranks, as by
  `MATSOLVERSPIKE`.

  `MATORDERINGLINES` (-pc_spike_mat_ordering_type lines) finds the lines of line relaxation in the entries of any sparse
  matrix: disjoint paths along the strongest couplings of a rank's rows, whose tridiagonal systems, or block tridiagonal
  ones of a matrix with a block size, are factored and solved side by side, while the rest of the matrix is dropped.

  References:
  Polizzi and Sameh, A parallel hybrid banded system solver: the SPIKE algorithm, Parallel Computing 32 (2006). Li,
  Seidl and Negrut, SPIKE::GPU - A GPU-based Banded Linear System Solver, TR-2012-04, University of Wisconsin-Madison
  (2012).

.seealso: [](ch_ksp), `PCCreate()`, `PCSetType()`, `PCType`, `PC`, `PCLU`, `PCBJACOBI`, `KSPSetPCSide()`, `KSPFGMRES`,
`PCSpikeSetType()`, `PCSpikeSetBandwidth()`, `PCSpikeSetMaxBandwidth()`, `PCSpikeSetDropoff()`,
`PCSpikeSetWindowTolerance()`, `PCSpikeSetPrecision()`, `PCSpikeSetLocalPartitions()`, `PCFactorSetMatOrderingType()`,
`PCFactorSetZeroPivot()`, `PCFactorSetShiftType()`, `PCFactorSetShiftAmount()`, `PCSpikeSetTridiagonalType()`,
`PCSpikeSetPivoting()`, `PCSpikeGetInfo()`, `PCSpikeSetDirect()`, `PCSpikeSetMaxRefinements()`,
 `PCSpikeSetRefinementTolerance()`, `PCSpikeSetEstimate()`, `PCSpikeSetMatchingType()`, `PCSpikeSetMaxBorder()`,
 `PCSpikeSetFactorType()`, `PCSpikeSetLinesThreshold()`,
`MATORDERINGLINES`, `MATSOLVERSPIKE`
M*/
PetscErrorCode PCCreate_Spike(PC pc)
{
  PC_Spike *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  pc->data     = s;
  s->shape     = SpikeNewShape(SPIKE_SHAPES);
  s->type      = PC_SPIKE_AUTO;
  s->precision = SPIKE_PRECISION_FULL;
  s->wish.user = s->wish.asked = s->wish.target = SPIKE_PRECISION_FULL;
  s->userkl                                     = PETSC_DECIDE;
  s->userku                                     = PETSC_DECIDE;
  s->maxband                                    = PETSC_DECIDE;
  s->border.max                                 = PETSC_DECIDE;
  s->local_partitions                           = PETSC_DECIDE;
  s->window                                     = 1e-8;
  s->givenkl = s->givenku = PETSC_DECIDE;
  s->lines.find.threshold = SPIKE_LINES_THRESHOLD;
  PetscCall(PCFactoredInitialize_Private(pc, "PCSPIKE", "auto", PCSpikeChanged_Private));
  PetscCall(PCSpikeRefineInitialize_Private(pc));
  s->ex.left = s->ex.right = MPI_PROC_NULL;

  pc->ops->setup             = PCSetUp_Spike;
  pc->ops->reset             = PCReset_Spike;
  pc->ops->destroy           = PCDestroy_Spike;
  pc->ops->setfromoptions    = PCSetFromOptions_Spike;
  pc->ops->view              = PCView_Spike;
  pc->ops->apply             = PCApply_Spike;
  pc->ops->applytranspose    = PCApplyTranspose_Spike;
  pc->ops->matapply          = PCMatApply_Spike;
  pc->ops->matapplytranspose = PCMatApplyTranspose_Spike;
  PetscCall(PCSpikeComposeMethods_Private(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
