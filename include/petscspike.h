/* SPDX-License-Identifier: BSD-2-Clause */
/* petscspike.h: the public interface of petscspike */
#pragma once

#include <petscksp.h>

/* Argument types that PETSc has since 3.25 */
#if PETSC_VERSION_LT(3, 25, 0)
typedef void  *PetscCtx;
typedef void **PetscCtxRt;
#endif

#define PETSCSPIKE_VERSION_MAJOR    0
#define PETSCSPIKE_VERSION_MINOR    1
#define PETSCSPIKE_VERSION_SUBMINOR 0

/* MANSEC = KSP */
/* SUBMANSEC = PC */

#define PCSPIKE    "spike"
#define PCBLOCKILU "blockilu"

#define MATSOLVERSPIKE "spike"

#define MATORDERINGLINES "lines"

#define KSPBCGSFUSED "bcgsfused"
#define KSPCGFUSED   "cgfused"
#define KSPIDRFUSED  "idrfused"

#define MATDIA             "dia"
#define MATSEQDIA          "seqdia"
#define MATMPIDIA          "mpidia"
#define MATDIACUDA         "diacuda"
#define MATSEQDIACUDA      "seqdiacuda"
#define MATMPIDIACUDA      "mpidiacuda"
#define MATBAIJCUDA        "baijcuda"
#define MATSEQBAIJCUDA     "seqbaijcuda"
#define MATMPIBAIJCUDA     "mpibaijcuda"
#define MATGRIDSTENCIL     "gridstencil"
#define MATGRIDSTENCILCUDA "gridstencilcuda"

/*E
  PCSpikeType - How `PCSPIKE` treats the coupling between neighbouring partitions

  Values:
+ `PC_SPIKE_BLOCK`     - no coupling: banded block Jacobi
. `PC_SPIKE_TRUNCATED` - truncated SPIKE: one small system per interface from the tips of its two spikes
. `PC_SPIKE_FULL`      - full SPIKE: the reduced system of all interfaces together, so that nothing is neglected
- `PC_SPIKE_AUTO`      - truncated where the spikes fall off inside the partitions, else full; each setup decides anew

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetType()`
E*/
typedef enum {
  PC_SPIKE_BLOCK,
  PC_SPIKE_TRUNCATED,
  PC_SPIKE_FULL,
  PC_SPIKE_AUTO
} PCSpikeType;
PETSC_EXTERN const char *const PCSpikeTypes[];

/*E
  PetscSpikePrecision - Precision in which `PCSPIKE` and `PCBLOCKILU` store their factors; vectors stay in `PetscScalar`

  Values:
+ `PETSC_SPIKE_PRECISION_DOUBLE` - 8 bytes a real number, 53 significant bits
. `PETSC_SPIKE_PRECISION_SINGLE` - 4 bytes, 24 significant bits
. `PETSC_SPIKE_PRECISION_BF16`   - 2 bytes, 8 significant bits, the range of single precision
- `PETSC_SPIKE_PRECISION_FP16`   - 2 bytes, 11 significant bits, numbers up to 65504

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCBLOCKILU`, `PCSpikeSetPrecision()`, `PCBlockILUSetPrecision()`
E*/
typedef enum {
  PETSC_SPIKE_PRECISION_DOUBLE,
  PETSC_SPIKE_PRECISION_SINGLE,
  PETSC_SPIKE_PRECISION_BF16,
  PETSC_SPIKE_PRECISION_FP16
} PetscSpikePrecision;
PETSC_EXTERN const char *const PetscSpikePrecisions[];

/*E
  PCSpikeTridiagonalType - How systems with half-bandwidth 1 are solved

  Values:
+ `PC_SPIKE_TRIDIAGONAL_AUTO`      - what is expected to be fastest
. `PC_SPIKE_TRIDIAGONAL_THOMAS`    - elimination from the first row to the last
. `PC_SPIKE_TRIDIAGONAL_TWOWAY`    - elimination from both ends to the row in the middle
. `PC_SPIKE_TRIDIAGONAL_CR`        - cyclic reduction: half of the rows are left after each step
. `PC_SPIKE_TRIDIAGONAL_PCR`       - parallel cyclic reduction: all rows take each step, and systems of half the length
                                   are left
. `PC_SPIKE_TRIDIAGONAL_RD`        - recursive doubling: pivots and substitutions by parallel prefixes
. `PC_SPIKE_TRIDIAGONAL_CRPCR`     - cyclic reduction to a shorter system, which parallel cyclic reduction solves
- `PC_SPIKE_TRIDIAGONAL_PARTITION` - chunks are eliminated, which leaves a system for the rows between them

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetTridiagonalType()`
E*/
typedef enum {
  PC_SPIKE_TRIDIAGONAL_AUTO,
  PC_SPIKE_TRIDIAGONAL_THOMAS,
  PC_SPIKE_TRIDIAGONAL_TWOWAY,
  PC_SPIKE_TRIDIAGONAL_CR,
  PC_SPIKE_TRIDIAGONAL_PCR,
  PC_SPIKE_TRIDIAGONAL_RD,
  PC_SPIKE_TRIDIAGONAL_CRPCR,
  PC_SPIKE_TRIDIAGONAL_PARTITION
} PCSpikeTridiagonalType;
PETSC_EXTERN const char *const PCSpikeTridiagonalTypes[];

/*E
  PCSpikeFactorType - How `PCSPIKE` factors its partitions

  Values:
+ `PC_SPIKE_FACTOR_AUTO`     - Cholesky where the matrix is known to be positive definite (`MatIsSPDKnown()`), else LU
. `PC_SPIKE_FACTOR_LU`       - L U
- `PC_SPIKE_FACTOR_CHOLESKY` - L D L^H of a hermitian positive definite matrix, half of the bytes and operations

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetFactorType()`
E*/
typedef enum {
  PC_SPIKE_FACTOR_AUTO,
  PC_SPIKE_FACTOR_LU,
  PC_SPIKE_FACTOR_CHOLESKY
} PCSpikeFactorType;
PETSC_EXTERN const char *const PCSpikeFactorTypes[];

/*E
  PCSpikeMatchingType - When `PCSPIKE` permutes and scales rows for large entries on the diagonal

  Values:
+ `PC_SPIKE_MATCHING_AUTO`   - where an entry of the diagonal is missing, or small beside others of its row
. `PC_SPIKE_MATCHING_NONE`   - never
- `PC_SPIKE_MATCHING_ALWAYS` - always

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetMatchingType()`
E*/
typedef enum {
  PC_SPIKE_MATCHING_AUTO,
  PC_SPIKE_MATCHING_NONE,
  PC_SPIKE_MATCHING_ALWAYS
} PCSpikeMatchingType;
PETSC_EXTERN const char *const PCSpikeMatchingTypes[];

/*E
  PCSpikeBatchType - When `PCSPIKE` solves independent systems of a matrix each by itself

  Values:
+ `PC_SPIKE_BATCH_AUTO`   - where that takes less time than one band
. `PC_SPIKE_BATCH_ALWAYS` - wherever it can
- `PC_SPIKE_BATCH_NEVER`  - never: they are one band

  Level: intermediate

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeSetBatchType()`
E*/
typedef enum {
  PC_SPIKE_BATCH_AUTO,
  PC_SPIKE_BATCH_ALWAYS,
  PC_SPIKE_BATCH_NEVER
} PCSpikeBatchType;
PETSC_EXTERN const char *const PCSpikeBatchTypes[];

/*S
  PCSpikeInfo - What `PCSPIKE` did in its last setup; sums, maxima and minima are over all ranks

  Level: advanced

.seealso: [](ch_ksp), `PCSPIKE`, `PCSpikeGetInfo()`
S*/
typedef struct {
  PetscInt  n;          /* rows of the matrix                                                                     */
  PetscInt  natural_kl; /* half-bandwidths of the matrix in its own ordering, stored zeros not counted             */
  PetscInt  natural_ku;
  PetscInt  kl; /* half-bandwidths that are factored                                                      */
  PetscInt  ku;
  PetscInt  partitions;    /* on all ranks together                                                                  */
  PetscInt  min_partition; /* rows of the smallest and of the largest partition                                      */
  PetscInt  max_partition;
  PetscBool cut; /* half-bandwidths are smaller than the matrix has them, for `PCSpikeSetMaxBandwidth()`            */
  PetscBool reordered; /* the band is that of the reordered matrix                                               */
  PetscReal dropped;   /* sum of |a_ij| outside the band over sum of |a_ij|                                      */
  /*
    estimate of ||far end of a spike|| / ||its tip||, the largest over all spikes: what truncation neglects; 0 without
    interfaces
  */
  PetscReal decay;
  /* the coupling of the last setup: `PC_SPIKE_AUTO` has become one of the others, truncated without interfaces */
  PCSpikeType type;
  PetscInt    boosted; /* pivots that were boosted                                                             */
  /* the same in the corners from which the left spikes are made: they make a tip less exact, no more */
  PetscInt  cornerboosted;
  PetscInt  rebuilds; /* setups from scratch so far, and setups that kept pattern and memory                    */
  PetscInt  refills;
  PetscReal bytes; /* of the factored band; then of spike tips, reduced systems, the fill map and work space  */
  PetscReal extra_bytes;
  /* of the latter: couplings, spike tips and reduced systems; then the fill map, what a backend keeps of the pattern */
  PetscReal tips_bytes;
  PetscReal map_bytes;
  char      backend[16]; /* "host" or "cuda"                                                                       */
  PetscInt  systems;     /* independent systems, tridiagonal ones or a batch; 0: the kernels for bands solve       */
  PetscInt  periodic;    /* periodic tridiagonal systems                                                           */
  /* how tips cross between ranks: "none", "MPI", "MPI through the host", "GPU-aware MPI" or "NCCL" */
  char exchange[24];
  /* of direct solves since the last setup (PCSpikeSetDirect()); steps of refinement of all of them together */
  PetscInt  solves;
  PetscInt  refinements;
  PetscInt  unsolved;       /* those whose backward error stayed above the tolerance                               */
  PetscReal backward_error; /* of the last one, for many right-hand sides the largest; -1: none was checked          */
  /* estimate of ||I - A M^-1|| from random vectors, -1: not estimated (PCSpikeSetEstimate()) */
  PetscReal inverse_error;
  PetscReal growth; /* max |u_ij| / max |a_ij|, -1: not measured                                               */
  /* of a zero pivot that failed: row of the matrix, -1 without one, and magnitude, of Cholesky with its sign */
  PetscInt  zeropivot_row;
  PetscReal zeropivot_value;
  /* rows are permuted and scaled for large entries on the diagonal; rows for which there are none */
  PetscBool matched;
  PetscInt  unmatched;
  PetscInt  border; /* rows and columns that are solved by a dense system, for `PCSpikeSetMaxBorder()`              */
  /* of the last setup: `PC_SPIKE_FACTOR_AUTO` has become one of the others */
  PCSpikeFactorType factor_type;
  /* partitions that begin inside of a rank where nothing coupled two rows when they were chosen */
  PetscInt  cuts;
  PetscBool scarce; /* `PC_SPIKE_AUTO` truncates because exact coupling needs more memory than is free             */
} PCSpikeInfo;

/*S
  PCBlockILUInfo - What `PCBLOCKILU` did in its last setup; sums, maxima and minima are over all ranks

  Level: advanced

.seealso: [](ch_ksp), `PCBLOCKILU`, `PCBlockILUGetInfo()`
S*/
typedef struct {
  PetscInt   bs;            /* rows of a block                                                                    */
  PetscInt   block_rows;    /* of the matrix                                                                      */
  PetscInt   subdomains;    /* on all ranks together                                                              */
  PetscInt   min_subdomain; /* block rows of the smallest and of the largest subdomain                            */
  PetscInt   max_subdomain;
  PetscInt64 blocks; /* of the matrix, inside of subdomains; then those that couple subdomains of one rank  */
  PetscInt64 dropped;
  PetscInt64 factor_blocks; /* of L, D and U                                                                      */
  PetscReal  fill_ratio;    /* factor_blocks over blocks                                                          */
  PetscInt   lower_levels;  /* level sets of the lower and of the upper solve, of the rank that has most           */
  PetscInt   upper_levels;
  PetscInt   colors;   /* of a multicolor ordering, else 0                                                    */
  PetscInt   boosted;  /* pivots that were boosted                                                            */
  PetscInt   rebuilds; /* setups from scratch so far, and setups that kept pattern and memory                 */
  PetscInt   refills;
  PetscReal  bytes; /* of the factors; then of work space                                                  */
  PetscReal  extra_bytes;
  char       backend[16]; /* "host" or "cuda"                                                                    */
} PCBlockILUInfo;

/*E
  KSPFusedReductions - Reductions over all ranks in an iteration of a fused Krylov method

  Values:
+ `KSP_FUSED_REDUCTIONS_PLAIN`  - BiCGStab three, CG two, IDR(s) two a product
- `KSP_FUSED_REDUCTIONS_MERGED` - BiCGStab two, CG one, by recurrences that lose digits; IDR(s) one a product

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetReductions()`
E*/
typedef enum {
  KSP_FUSED_REDUCTIONS_PLAIN,
  KSP_FUSED_REDUCTIONS_MERGED
} KSPFusedReductions;
PETSC_EXTERN const char *const KSPFusedReductionsTypes[];

/*E
  KSPFusedSpMVType - The product of a fused Krylov method

  Values:
+ `KSP_FUSED_SPMV_PETSC` - `MatMult()`
. `KSP_FUSED_SPMV_AUTO`  - a copy of the matrix in the form that moves the fewest bytes, where it is a
                           `MATAIJCUSPARSE` or a `MATAIJ` that one suits; the products of a `MATDIA`,
                           `MATGRIDSTENCIL` or `MATBAIJCUDA` as it lies; else `MatMult()`
. `KSP_FUSED_SPMV_SELL`  - a copy in slices of rows on a device where padding adds at most 30 percent, else `MatMult()`
. `KSP_FUSED_SPMV_DIA`   - a copy by diagonals where there are at most 128 of them, else `MatMult()`
. `KSP_FUSED_SPMV_STENCIL` - the products of a `MATGRIDSTENCIL` as it lies, else `MatMult()`
- `KSP_FUSED_SPMV_BLOCKS`  - the products of a `MATBAIJCUDA` as it lies, else `MatMult()`

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetSpMVType()`
E*/
typedef enum {
  KSP_FUSED_SPMV_PETSC,
  KSP_FUSED_SPMV_AUTO,
  KSP_FUSED_SPMV_SELL,
  KSP_FUSED_SPMV_DIA,
  KSP_FUSED_SPMV_STENCIL,
  KSP_FUSED_SPMV_BLOCKS
} KSPFusedSpMVType;
PETSC_EXTERN const char *const KSPFusedSpMVTypes[];

/*E
  KSPFusedPersistentType - Whether a fused Krylov method iterates in one kernel that stays on the device

  Values:
+ `KSP_FUSED_PERSISTENT_AUTO`    - where it can, and what an iteration moves fits in three quarters of the device's L2
                                   cache
. `KSP_FUSED_PERSISTENT_OFF`     - never
. `KSP_FUSED_PERSISTENT_ON`      - where it can
. `KSP_FUSED_PERSISTENT_GRID`    - where it can, on the whole device
- `KSP_FUSED_PERSISTENT_CLUSTER` - where it can by one cluster of thread blocks

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedSetPersistent()`
E*/
typedef enum {
  KSP_FUSED_PERSISTENT_AUTO,
  KSP_FUSED_PERSISTENT_OFF,
  KSP_FUSED_PERSISTENT_ON,
  KSP_FUSED_PERSISTENT_GRID,
  KSP_FUSED_PERSISTENT_CLUSTER
} KSPFusedPersistentType;
PETSC_EXTERN const char *const KSPFusedPersistentTypes[];

/*E
  KSPFusedPrecision - Precision of the values of the matrix in the iterations of a fused Krylov method

  Values:
+ `KSP_FUSED_PRECISION_DOUBLE` - that of `PetscReal`, also where that is single
. `KSP_FUSED_PRECISION_SINGLE` - 4 bytes a real number, and 4 bytes more a row for what rounding has taken
. `KSP_FUSED_PRECISION_BF16`   - 2 bytes a real number, and likewise
- `KSP_FUSED_PRECISION_AUTO`   - where no cache holds the matrix, so that products wait for its values: bf16 where
                                 no digit is lost, else single

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `KSPFusedSetPrecision()`
E*/
typedef enum {
  KSP_FUSED_PRECISION_DOUBLE,
  KSP_FUSED_PRECISION_SINGLE,
  KSP_FUSED_PRECISION_BF16,
  KSP_FUSED_PRECISION_AUTO
} KSPFusedPrecision;
PETSC_EXTERN const char *const KSPFusedPrecisions[];

/*E
  KSPFusedMatSolveType - How a fused Krylov method solves for several right-hand sides in `KSPMatSolve()`

  Values:
+ `KSP_FUSED_MATSOLVE_COLUMNS` - all columns together, where it can: one pass over the matrix and the preconditioner for
                                 all of them
. `KSP_FUSED_MATSOLVE_SINGLE`  - one column after the other
- `KSP_FUSED_MATSOLVE_BLOCK`   - a block method, `KSPCGFUSED` only: each column is sought in the Krylov spaces of all
                               columns together

  Level: intermediate

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `KSPMatSolve()`, `KSPFusedSetMatSolveType()`,
`KSPFusedGetColumns()`
E*/
typedef enum {
  KSP_FUSED_MATSOLVE_COLUMNS,
  KSP_FUSED_MATSOLVE_SINGLE,
  KSP_FUSED_MATSOLVE_BLOCK
} KSPFusedMatSolveType;
PETSC_EXTERN const char *const KSPFusedMatSolveTypes[];

/*E
  KSPIDRFusedOrthogType - How `KSPIDRFUSED` makes a direction orthogonal to the shadow vectors before it

  Values:
+ `KSP_IDRFUSED_ORTHOG_CLASSICAL` - by all inner products at once, one reduction
. `KSP_IDRFUSED_ORTHOG_MODIFIED`  - one shadow vector after the other, as `KSPIDR` does
- `KSP_IDRFUSED_ORTHOG_TWICE`     - the classical form, repeated

  Level: intermediate

.seealso: [](ch_ksp), `KSPIDRFUSED`, `KSPIDRFusedSetOrthogType()`
E*/
typedef enum {
  KSP_IDRFUSED_ORTHOG_CLASSICAL,
  KSP_IDRFUSED_ORTHOG_MODIFIED,
  KSP_IDRFUSED_ORTHOG_TWICE
} KSPIDRFusedOrthogType;
PETSC_EXTERN const char *const KSPIDRFusedOrthogTypes[];

/*S
  KSPFusedInfo - What a fused Krylov method did in its last solve

  Level: advanced

.seealso: [](ch_ksp), `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPFusedGetInfo()`
S*/
typedef struct {
  /* iterations launched, with those that turned out to be too many                  */
  PetscInt launched;
  /* new starts after breakdowns, and where the true residual differed               */
  PetscInt restarts;
  /* of the residual by the true one                                                 */
  PetscInt replacements;
  /* iterations that were a graph                                                    */
  PetscInt replayed;
  /* iterations of kernels that make many                                            */
  PetscInt persistent;
  /* those kernels were one cluster of thread blocks each, else the whole device     */
  PetscBool cluster;
  /* products were those of a copy of the matrix                                     */
  PetscBool copy;
  /*
    whose products, on this rank: KSP_FUSED_SPMV_PETSC, _SELL or _DIA, without a copy those of a MATDIA itself;
    _STENCIL: those of a MATGRIDSTENCIL itself; _BLOCKS: those of a MATBAIJCUDA itself
  */
  KSPFusedSpMVType product;
  /* the host waited for each iteration                                              */
  PetscBool lockstep;
  /* norm of the true residual, as the test has it; -1 when it was not computed      */
  PetscReal truenorm;
  /* norm of the true residual, not preconditioned; likewise                         */
  PetscReal unpreconditioned;
  /* b and x were divided by it, a power of 2, because squares of norms might have left the range; else 1 */
  PetscReal unit;
  /*
    it ended with KSP_DIVERGED_BREAKDOWN because the preconditioner is singular, or nearly: with a norm of the test
    below its tolerance, and a residual b - A x that is not
  */
  PetscBool pcsingular;
  /* of the matrix in the products of the iterations at the end of the solve, never _AUTO */
  KSPFusedPrecision precision;
  /* the iterations began with fewer digits, and went on with those of PetscReal     */
  PetscBool widened;
  /* "host", "cuda" or "petsc", for PETSc's functions                                */
  char backend[16];
} KSPFusedInfo;

/*E
  MatDIAScheduleType - How the ranks of a `MATDIA` exchange the parts of the vector that a product needs from others

  Values:
+ `MAT_DIA_SCHEDULE_OVERLAP`  - all messages at once, and rows that need none of them meanwhile
- `MAT_DIA_SCHEDULE_TWOPHASE` - first even ranks with the rank after them, then with the rank before them, and so on for
                                ranks further away: each rank has one partner at a time; interior rows are computed
                                during the first exchange

  Level: intermediate

.seealso: [](ch_matrices), `MATDIA`, `MatDIASetSchedule()`
E*/
typedef enum {
  MAT_DIA_SCHEDULE_OVERLAP,
  MAT_DIA_SCHEDULE_TWOPHASE
} MatDIAScheduleType;
PETSC_EXTERN const char *const MatDIAScheduleTypes[];

PETSC_EXTERN PetscErrorCode PetscSpikeInitializePackage(void);
PETSC_EXTERN PetscErrorCode PetscSpikeFinalizePackage(void);

PETSC_EXTERN PetscErrorCode PCSpikeSetType(PC, PCSpikeType);
PETSC_EXTERN PetscErrorCode PCSpikeGetType(PC, PCSpikeType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetBandwidth(PC, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode PCSpikeGetBandwidth(PC, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSpikeSetMaxBandwidth(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSpikeGetMaxBandwidth(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSpikeSetMaxBorder(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSpikeGetMaxBorder(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSpikeSetDropoff(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCSpikeGetDropoff(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCSpikeSetWindowTolerance(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCSpikeGetWindowTolerance(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCSpikeSetPrecision(PC, PetscSpikePrecision);
PETSC_EXTERN PetscErrorCode PCSpikeGetPrecision(PC, PetscSpikePrecision *);
PETSC_EXTERN PetscErrorCode PCSpikeSetLocalPartitions(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSpikeGetLocalPartitions(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSpikeGetMatOrderingType(PC, MatOrderingType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetTridiagonalType(PC, PCSpikeTridiagonalType);
PETSC_EXTERN PetscErrorCode PCSpikeGetTridiagonalType(PC, PCSpikeTridiagonalType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetPivoting(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSpikeGetPivoting(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCSpikeSetFactorType(PC, PCSpikeFactorType);
PETSC_EXTERN PetscErrorCode PCSpikeGetFactorType(PC, PCSpikeFactorType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetLinesThreshold(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCSpikeGetLinesThreshold(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCSpikeSetBatchType(PC, PCSpikeBatchType);
PETSC_EXTERN PetscErrorCode PCSpikeGetBatchType(PC, PCSpikeBatchType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetMatchingType(PC, PCSpikeMatchingType);
PETSC_EXTERN PetscErrorCode PCSpikeGetMatchingType(PC, PCSpikeMatchingType *);
PETSC_EXTERN PetscErrorCode PCSpikeSetMatchingRescale(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSpikeGetMatchingRescale(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCSpikeSetDirect(PC, PetscBool3);
PETSC_EXTERN PetscErrorCode PCSpikeGetDirect(PC, PetscBool3 *);
PETSC_EXTERN PetscErrorCode PCSpikeSetMaxRefinements(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCSpikeGetMaxRefinements(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCSpikeSetRefinementTolerance(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCSpikeGetRefinementTolerance(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCSpikeSetEstimate(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCSpikeGetEstimate(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCSpikeGetInfo(PC, PCSpikeInfo *);
PETSC_EXTERN PetscErrorCode PCSpikeGetOrdering(PC, IS *, IS *, IS *, IS *);

PETSC_EXTERN PetscErrorCode MatSpikeGetPC(Mat, PC *);

PETSC_EXTERN PetscErrorCode PCBlockILUSetBlockSize(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBlockILUGetBlockSize(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBlockILUSetLocalSubdomains(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBlockILUGetLocalSubdomains(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBlockILUSetComplete(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBlockILUGetComplete(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBlockILUGetMatOrderingType(PC, MatOrderingType *);
PETSC_EXTERN PetscErrorCode PCBlockILUSetMulticolor(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBlockILUGetMulticolor(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBlockILUSetPrecision(PC, PetscSpikePrecision);
PETSC_EXTERN PetscErrorCode PCBlockILUGetPrecision(PC, PetscSpikePrecision *);
PETSC_EXTERN PetscErrorCode PCBlockILUGetInfo(PC, PCBlockILUInfo *);

PETSC_EXTERN PetscErrorCode KSPFusedSetReductions(KSP, KSPFusedReductions);
PETSC_EXTERN PetscErrorCode KSPFusedGetReductions(KSP, KSPFusedReductions *);
PETSC_EXTERN PetscErrorCode KSPFusedSetCheckTrueResidual(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedGetCheckTrueResidual(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedSetResidualReplacement(KSP, PetscInt);
PETSC_EXTERN PetscErrorCode KSPFusedGetResidualReplacement(KSP, PetscInt *);
PETSC_EXTERN PetscErrorCode KSPFusedSetLockstep(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedGetLockstep(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedSetSpMVType(KSP, KSPFusedSpMVType);
PETSC_EXTERN PetscErrorCode KSPFusedGetSpMVType(KSP, KSPFusedSpMVType *);
PETSC_EXTERN PetscErrorCode KSPFusedSetGraph(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPFusedGetGraph(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedSetPersistent(KSP, KSPFusedPersistentType);
PETSC_EXTERN PetscErrorCode KSPFusedGetPersistent(KSP, KSPFusedPersistentType *);
PETSC_EXTERN PetscErrorCode KSPFusedSetPrecision(KSP, KSPFusedPrecision);
PETSC_EXTERN PetscErrorCode KSPFusedGetPrecision(KSP, KSPFusedPrecision *);
PETSC_EXTERN PetscErrorCode KSPFusedSetMatSolveType(KSP, KSPFusedMatSolveType);
PETSC_EXTERN PetscErrorCode KSPFusedGetMatSolveType(KSP, KSPFusedMatSolveType *);
PETSC_EXTERN PetscErrorCode KSPFusedGetColumns(KSP, PetscInt *, const PetscInt *[], const KSPConvergedReason *[],
                                               const PetscReal *[], PetscBool *);
PETSC_EXTERN PetscErrorCode KSPFusedGetInfo(KSP, KSPFusedInfo *);
PETSC_EXTERN PetscErrorCode KSPFusedConvergedInfinity(KSP, PetscInt, PetscReal, KSPConvergedReason *, PetscCtx);

PETSC_EXTERN PetscErrorCode KSPIDRFusedSetSmoothing(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPIDRFusedGetSmoothing(KSP, PetscBool *);
PETSC_EXTERN PetscErrorCode KSPIDRFusedSetOrthogType(KSP, KSPIDRFusedOrthogType);
PETSC_EXTERN PetscErrorCode KSPIDRFusedGetOrthogType(KSP, KSPIDRFusedOrthogType *);
PETSC_EXTERN PetscErrorCode KSPIDRFusedSetFlexible(KSP, PetscBool3);
PETSC_EXTERN PetscErrorCode KSPIDRFusedGetFlexible(KSP, PetscBool3 *);
PETSC_EXTERN PetscErrorCode KSPIDRFusedSetPetscVectors(KSP, PetscBool);
PETSC_EXTERN PetscErrorCode KSPIDRFusedGetPetscVectors(KSP, PetscBool *);

/*
  KSPIDRFUSED shares these with KSPIDR, which PETSc has since 3.26; with an older PETSc they are of KSPIDRFUSED alone
*/
#if PETSC_VERSION_LT(3, 26, 0)
  #define PETSCSPIKE_KSPIDR(Action, Arg, needed) \
    static inline PetscErrorCode KSPIDR##Action(KSP ksp, Arg value) \
    { \
      PetscErrorCode (*method)(KSP, Arg); \
\
      PetscFunctionBegin; \
      PetscCall(PetscObjectQueryFunction((PetscObject)ksp, "KSPIDR" #Action "_C", &method)); \
      PetscCheck(method || !(needed), PetscObjectComm((PetscObject)ksp), PETSC_ERR_SUP, \
                 "KSPIDR" #Action "() is for KSPIDRFUSED"); \
      if (method) PetscCall((*method)(ksp, value)); \
      PetscFunctionReturn(PETSC_SUCCESS); \
    }
PETSCSPIKE_KSPIDR(SetS, PetscInt, 0)
PETSCSPIKE_KSPIDR(GetS, PetscInt *, 1)
PETSCSPIKE_KSPIDR(SetCosine, PetscReal, 0)
PETSCSPIKE_KSPIDR(GetCosine, PetscReal *, 1)
PETSCSPIKE_KSPIDR(SetRandom, PetscRandom, 0)
PETSCSPIKE_KSPIDR(GetRandom, PetscRandom *, 1)
  #undef PETSCSPIKE_KSPIDR
#endif

PETSC_EXTERN PetscErrorCode MatDIAGetDiagonals(Mat, PetscInt *, const PetscInt **);
PETSC_EXTERN PetscErrorCode MatDIASetSchedule(Mat, MatDIAScheduleType);
PETSC_EXTERN PetscErrorCode MatDIAGetSchedule(Mat, MatDIAScheduleType *);
PETSC_EXTERN PetscErrorCode MatDIASetMaxFill(Mat, PetscReal);
PETSC_EXTERN PetscErrorCode MatDIAGetMaxFill(Mat, PetscReal *);

PETSC_EXTERN PetscErrorCode MatCreateGridStencil(DM, PetscInt, const MatStencil[], Mat *);
PETSC_EXTERN PetscErrorCode MatGridStencilSetCoefficients(Mat, const PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatGridStencilSetCoefficientVecs(Mat, const Vec[]);
PETSC_EXTERN PetscErrorCode MatGridStencilGetStencil(Mat, PetscInt *, const MatStencil *[]);
