#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# faults.sh: the tests are tested: with each deliberate fault of src/common/fault.h a test that passes without it has to
# fail. Prints TAP lines.
#
# tools/check runs it; SPIKE_BUILD is the folder of the build. The tests run with the library of its folder "faults" in
# place of theirs: the loader takes a library that is there already for one of the same name. Where there is a GPU the
# same again with matrices on it.

set -u
bin=${SPIKE_BUILD:?}/bin/tests mpiexec=${MPIEXEC:-mpiexec} timeout=${SPIKE_FAULT_TIMEOUT:-300}
faulty=$SPIKE_BUILD/faults/libpetscspike.so
gpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/gpus
unset PETSC_OPTIONS_FILE
# What the tests write goes away with the folder
work=$(mktemp -d "${TMPDIR:-/tmp}/petscspike.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
output=$work/output
bad=0

# run TEST RANKS OPTIONS...
run()
{
  local test=$1 ranks=$2
  shift 2
  timeout "$timeout" "$mpiexec" -n "$ranks" env LD_PRELOAD="$faulty" \
    "$bin/$test" "$@" >"$output" 2>&1 </dev/null || return
  grep -q ": ok$" "$output" && ! grep -q FAILED "$output"
}

# catches FAULT TEST RANKS OPTIONS...: a fault that ends in a hang is caught too
catches()
{
  local fault=$1 test=$2 ranks=$3
  shift 3
  if run "$test" "$ranks" "$@" -spike_test_fault "$fault"; then
    bad=1
    echo "not ok $where: $test on $ranks ranks passes with $fault"
  else echo "ok $where: $test catches $fault"; fi
}

# sound TEST RANKS OPTIONS...: passes without a fault
sound()
{
  local test=$1 ranks=$2
  shift 2
  if run "$test" "$ranks" "$@" -spike_test_fault none; then echo "ok $where: $test on $ranks ranks is sound"
  else
    bad=1
    echo "not ok $where: $test on $ranks ranks fails without a fault"
    sed 's/^/# /' "$output" | head -n 20
  fi
}

all()
{
  sound spike_operator 1 "$@"
  catches no_correction spike_operator 1 "$@"
  catches no_reduced spike_operator 1 "$@"
  catches last_partition spike_operator 1 "$@"
  catches swapped_tips spike_operator 1 "$@"
  catches not_transposed spike_operator 1 "$@"
  catches not_permuted spike_operator 1 "$@"
  sound spike_change 1 "$@"
  catches stale_fill spike_change 1 "$@"
  catches stale_tips spike_change 1 "$@"
  catches stale_reduced spike_change 1 "$@"
  sound spike_ranks 2 "$@"
  catches stale_message spike_ranks 2 "$@"
  sound spike_full 1 "$@"
  catches no_merged spike_full 1 "$@"
  catches not_transposed spike_full 1 "$@"
  sound spike_full 2 "$@"
  catches stale_message spike_full 2 "$@"
  sound spike_change 1 -pc_spike_type full "$@"
  catches stale_tips spike_change 1 -pc_spike_type full "$@"
  sound spike_periodic 1 "$@"
  catches not_periodic spike_periodic 1 "$@"
  sound spike_failure 1 "$@"
  catches not_failed spike_failure 1 "$@"
}

where=host
all
sound blockilu 1
catches not_transposed blockilu 1
sound blockilu_change 1
catches stale_fill blockilu_change 1
sound blockilu_failure 1
catches not_failed blockilu_failure 1
if [ -n "${SPIKE_HAVE_CUDA:-}" ] && [ -n "$("$gpus")" ]; then
  where=gpu
  all -mat_type aijcusparse
fi
exit $bad
