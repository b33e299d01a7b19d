/* SPDX-License-Identifier: BSD-2-Clause */
/* register.c: the only list of types, log events and finalizers */
#include <petscspike.h>
#include "pc_spike/spikeimpl.h"
#include "pc_blockilu/blockiluimpl.h"
#include "ksp_bcgs/bcgsimpl.h"
#include "ksp_cg/cgimpl.h"
#include "ksp_idr/idrimpl.h"
#include "mat_dia/diaimpl.h"
#include "mat_baijcuda/baijcudaimpl.h"
#include "mat_gridstencil/gridstencilimpl.h"
#include "kernels/common/host/isa.h"
#include "common/fault.h"
#include "common/petsccheck.h"

PetscLogEvent PC_Spike_Fill, PC_Spike_Factor, PC_Spike_Tips, PC_Spike_Sweep, PC_Spike_Reduced, PC_Spike_Correct;
PetscLogEvent PC_Spike_Refine, PC_Spike_Symbolic, PC_Spike_Look, PC_Spike_Lines;
PetscLogEvent PC_BlockILU_Symbolic, PC_BlockILU_Factor, PC_BlockILU_Solve;

#if defined(SPIKE_TEST_FAULTS)
SpikeFault SpikeTestFault = SPIKE_FAULT_NONE;
#endif

static PetscBool SpikePackageInitialized = PETSC_FALSE;

/*
  -spike_host_isa base|v3|v4: a lower instruction set than the best one, for tests and for equal bits on different
  machines
*/
static PetscErrorCode SpikeHostISASetFromOptions_Private(void)
{
  const char *const names[] = {"base", "v3", "v4"};
  PetscInt          isa;
  PetscBool         set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-spike_host_isa", names, PETSC_STATIC_ARRAY_LENGTH(names), &isa, &set));
  if (set)
    PetscCheck(SpikeISASet((SpikeISA)isa), PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
               "-spike_host_isa %s: this processor, or the compiler of this library, has no more than %s", names[isa],
               names[SpikeISADetect()]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -spike_host_baijcuda: MATBAIJCUDA works on the host, for tests */
static PetscErrorCode MatBAIJCUDARegisterFromOptions_Private(void)
{
  PetscBool host = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spike_host_baijcuda", &host, NULL));
  PetscCall(MatBAIJCUDARegister(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -spike_test_fault: see fault.h */
#if defined(SPIKE_TEST_FAULTS)
static PetscErrorCode SpikeTestFaultSetFromOptions_Private(void)
{
  const char *const names[] = {"none",         "no_correction", "no_reduced",    "last_partition", "swapped_tips",
                               "stale_fill",   "stale_tips",    "stale_reduced", "stale_message",  "not_transposed",
                               "not_permuted", "not_periodic",  "no_merged",     "not_failed"};
  PetscInt          fault;
  PetscBool         set;

  PetscFunctionBegin;
  SpikeTestFault = SPIKE_FAULT_NONE;
  PetscCheck(PETSC_STATIC_ARRAY_LENGTH(names) == SPIKE_FAULTS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d names of %d faults",
             (int)PETSC_STATIC_ARRAY_LENGTH(names), SPIKE_FAULTS);
  PetscCall(
    PetscOptionsGetEList(NULL, NULL, "-spike_test_fault", names, PETSC_STATIC_ARRAY_LENGTH(names), &fault, &set));
  if (set) SpikeTestFault = (SpikeFault)fault;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
  #define SpikeTestFaultSetFromOptions_Private() PETSC_SUCCESS
#endif

/*@C
  PetscSpikeFinalizePackage - Finalizes petscspike. `PetscFinalize()` calls it.

  Level: developer

.seealso: [](ch_ksp), `PetscSpikeInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode PetscSpikeFinalizePackage(void)
{
  PetscFunctionBegin;
  SpikePackageInitialized = PETSC_FALSE;
  (void)SpikeISASet(SpikeISADetect());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscSpikeInitializePackage - Adds the types of petscspike to PETSc: the preconditioners `PCSPIKE` and `PCBLOCKILU`,
  the Krylov methods `KSPBCGSFUSED`, `KSPCGFUSED` and `KSPIDRFUSED`, the matrices `MATDIA`, `MATDIACUDA`,
  `MATBAIJCUDA`, `MATGRIDSTENCIL` and `MATGRIDSTENCILCUDA`, the factorizations of `MATSOLVERSPIKE`, the ordering
  `MATORDERINGLINES`

  Logically Collective

  Options Database Keys:
+ -dll_append $SPIKE_DIR/lib/libpetscspike.so - load petscspike into an application that does not call this function
. -spike_host_isa (base|v3|v4)                - instruction set of the host kernels (x86-64 levels); by default the best
                                              one that the processor has
- -spike_host_baijcuda                        - `MATBAIJCUDA` with the kernels and in the memory of the host, for tests
                                              without a device; by default the type needs one

  Level: beginner

  Notes:
  An application that is linked with petscspike calls this function after `PetscInitialize()`. It may be called more
  than once, also in an application that loads the library with `-dll_append` as well. After `PetscFinalize()` and
  another `PetscInitialize()` it must be called again.

  It ends with an error when petscspike was built for another version, `PetscReal`, `PetscScalar` or `PetscInt` of
  PETSc.

.seealso: [](ch_ksp), `PCSPIKE`, `PCBLOCKILU`, `KSPBCGSFUSED`, `KSPCGFUSED`, `KSPIDRFUSED`, `MATDIA`, `MATGRIDSTENCIL`,
`PetscSpikeFinalizePackage()`, `PetscInitialize()`, `PetscDLLibraryAppend()`
@*/
PetscErrorCode PetscSpikeInitializePackage(void)
{
  PetscFunctionBegin;
  if (SpikePackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SpikeCheckPetsc_Private());
  PetscCall(SpikeHostISASetFromOptions_Private());
  PetscCall(SpikeTestFaultSetFromOptions_Private());
  SpikePackageInitialized = PETSC_TRUE;

  /*
    Types. Each call initializes PETSc's own package first, so the finalizer below runs before PETSc destroys its lists
  */
  PetscCall(PCRegister(PCSPIKE, PCCreate_Spike));
  PetscCall(PCRegister(PCBLOCKILU, PCCreate_BlockILU));
  PetscCall(KSPRegister(KSPBCGSFUSED, KSPCreate_BCGSFused));
  PetscCall(KSPRegister(KSPCGFUSED, KSPCreate_CGFused));
  PetscCall(KSPRegister(KSPIDRFUSED, KSPCreate_IDRFused));
  PetscCall(MatRegisterRootName(MATDIA, MATSEQDIA, MATMPIDIA));
  PetscCall(MatRegister(MATSEQDIA, MatCreate_SeqDIA));
  PetscCall(MatRegister(MATMPIDIA, MatCreate_MPIDIA));
  PetscCall(MatDIARegisterFactors());
  PetscCall(MatSolverSpikeRegister());
  PetscCall(MatOrderingRegister(MATORDERINGLINES, MatGetOrdering_Lines));
  if (SpikeDIAKernelsFind(PETSC_MEMTYPE_CUDA)) {
    PetscCall(MatRegisterRootName(MATDIACUDA, MATSEQDIACUDA, MATMPIDIACUDA));
    PetscCall(MatRegister(MATSEQDIACUDA, MatCreate_SeqDIACUDA));
    PetscCall(MatRegister(MATMPIDIACUDA, MatCreate_MPIDIACUDA));
  }
  PetscCall(MatBAIJCUDARegisterFromOptions_Private());
  PetscCall(MatRegister(MATGRIDSTENCIL, MatCreate_GridStencil));
  if (SpikeStencilKernelsFind(PETSC_MEMTYPE_CUDA))
    PetscCall(MatRegister(MATGRIDSTENCILCUDA, MatCreate_GridStencilCUDA));

  /* Log events */
  PetscCall(PetscLogEventRegister("PCSpikeSymbolic", PC_CLASSID, &PC_Spike_Symbolic));
  PetscCall(PetscLogEventRegister("PCSpikeLook", PC_CLASSID, &PC_Spike_Look));
  PetscCall(PetscLogEventRegister("PCSpikeLines", PC_CLASSID, &PC_Spike_Lines));
  PetscCall(PetscLogEventRegister("PCSpikeFill", PC_CLASSID, &PC_Spike_Fill));
  PetscCall(PetscLogEventRegister("PCSpikeFactor", PC_CLASSID, &PC_Spike_Factor));
  PetscCall(PetscLogEventRegister("PCSpikeTips", PC_CLASSID, &PC_Spike_Tips));
  PetscCall(PetscLogEventRegister("PCSpikeSweep", PC_CLASSID, &PC_Spike_Sweep));
  PetscCall(PetscLogEventRegister("PCSpikeReduced", PC_CLASSID, &PC_Spike_Reduced));
  PetscCall(PetscLogEventRegister("PCSpikeCorrect", PC_CLASSID, &PC_Spike_Correct));
  PetscCall(PetscLogEventRegister("PCSpikeRefine", PC_CLASSID, &PC_Spike_Refine));
  PetscCall(PetscLogEventRegister("PCBlockILUSymb", PC_CLASSID, &PC_BlockILU_Symbolic));
  PetscCall(PetscLogEventRegister("PCBlockILUFactor", PC_CLASSID, &PC_BlockILU_Factor));
  PetscCall(PetscLogEventRegister("PCBlockILUSolve", PC_CLASSID, &PC_BlockILU_Solve));
  /* ranks begin these as often as they have partitions and neighbours: no -log_sync */
  PetscCall(PetscLogEventSetCollective(PC_Spike_Look, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Lines, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Factor, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Tips, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Sweep, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Reduced, PETSC_FALSE));
  PetscCall(PetscLogEventSetCollective(PC_Spike_Correct, PETSC_FALSE));

  PetscCall(PetscRegisterFinalize(PetscSpikeFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PetscDefined(HAVE_DYNAMIC_LIBRARIES)
/* PETSc calls this after loading libpetscspike.so (-dll_append, -dll_prepend); the name is made from the file's */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscspike(void);

PetscErrorCode PetscDLLibraryRegister_petscspike(void)
{
  PetscFunctionBegin;
  PetscCall(PetscSpikeInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
