# SPDX-License-Identifier: BSD-2-Clause
# env.sh: what MPI, BLAS and sanitizers need to run our programs on any machine; to be sourced (tools/run, tools/check,
# the bundle)

# Open MPI refuses root, more ranks than cores, and binds ranks of different programs to the same core
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe:-1}
export OMPI_MCA_hwloc_base_binding_policy=${OMPI_MCA_hwloc_base_binding_policy:-none}
export PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}
export PRTE_MCA_hwloc_default_binding_policy=${PRTE_MCA_hwloc_default_binding_policy:-none}
export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
# Containers forbid reading another process's memory, and often have no network worth looking for
export OMPI_MCA_btl_vader_single_copy_mechanism=${OMPI_MCA_btl_vader_single_copy_mechanism:-none}
export OMPI_MCA_btl_base_warn_component_unused=${OMPI_MCA_btl_base_warn_component_unused:-0}
export OMPI_MCA_mpi_show_handle_leaks=${OMPI_MCA_mpi_show_handle_leaks:-0}

# One thread per rank: the ranks are the parallelism
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1} OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
export MKL_NUM_THREADS=${MKL_NUM_THREADS:-1}

# Sanitized builds (SANITIZE=1); the variable is the folder of the suppressions. Two copies of our library in one
# process are one of the tests: odr. Memory that was freed is kept for a while, to catch its use; at most 64 MB of it,
# for tests measure what a process holds
if [ -n "${SPIKE_SUPPRESSIONS:-}" ]; then
  asan="suppressions='$SPIKE_SUPPRESSIONS/asan.supp':detect_leaks=1:detect_stack_use_after_return=1"
  asan="$asan:detect_odr_violation=0:fast_unwind_on_malloc=0:quarantine_size_mb=64"
  export ASAN_OPTIONS="${ASAN_OPTIONS:-$asan}"
  export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions='$SPIKE_SUPPRESSIONS/lsan.supp':print_suppressions=0}"
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
fi
