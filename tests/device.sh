#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# device.sh: tests on a GPU that seems to have less than it has (tests/device/limits.c), or is busy with other kernels
# (tests/device/busy.cu). Prints TAP lines.
#
# tools/gpucheck runs it through tools/check; SPIKE_BUILD is the folder of the build. SPIKE_DEVICE_LIMITS: the bytes of
# shared memory for a thread block to try, by default those of compute capabilities 8.0 and 8.6.

set -u
bin=${SPIKE_BUILD:?}/bin/tests limits=$SPIKE_BUILD/device/liblimits.so busy=$SPIKE_BUILD/device/libbusy.so
timeout=${SPIKE_DEVICE_TIMEOUT:-300}
gpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/../tools" && pwd)/gpus
unset PETSC_OPTIONS_FILE
# What the tests write goes away with the folder
work=$(mktemp -d "${TMPDIR:-/tmp}/petscspike.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0 jobs=${SPIKE_DEVICE_JOBS:-3}

if [ -z "${SPIKE_HAVE_CUDA:-}" ] || [ -z "$("$gpus")" ]; then
  echo "ok device # SKIP no GPU on this machine"
  exit 0
fi

# passes NAME COMMAND...: ends with success, without a line "not ok" or FAILED; several at once
passes()
{
  local name=$1 output
  shift
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.1; done
  output=$(mktemp "$work/output.XXXXXX")
  {
    timeout "$timeout" "$@" >"$output" 2>&1 </dev/null
    rc=$?
    if [ $rc = 0 ] && ! grep -q -E '^not ok|FAILED' "$output"; then echo "ok gpu: $name" >"$output.tap"
    else
      { echo "not ok gpu: $name # exit status $rc"; tail -n 25 "$output" | sed 's/^/# /'; } >"$output.tap"
    fi
  } &
}

# Runs a command that is to end with the error of SpikeDeviceGet()
refused='! "$@" >refused.$$ 2>&1 && grep "need 8.0 or later" refused.$$'

kernels="cudasetup cudacholesky cudaapply cudatips cudafull cudahalf devicepivoted devicediaband devicelook"
kernels="$kernels cudatridiagonal cudabatch cudarhs cudakrylov cudakrylovbasis cudastencil devicedia deviceblock"
kernels="$kernels cudacapture"
spike="spike_operator spike_change spike_periodic spike_tridiagonal spike_batch spike_matapply"
for shared in ${SPIKE_DEVICE_LIMITS:-166912 101376}; do
  with="env LD_PRELOAD=$limits SPIKE_DEVICE_SHARED=$shared SPIKE_DEVICE_REFUSED=1"
  # Wider factorizations keep more of the band in shared memory: PCSPIKE has them on the host
  most=320
  [ "$shared" -ge 160000 ] || most=160
  for k in $kernels; do
    # shellcheck disable=SC2086
    passes "$k, $shared bytes of shared memory" $with "$bin/kernels/$k" -small -most $most
  done
  for k in $spike; do
    # shellcheck disable=SC2086
    passes "$k, $shared bytes of shared memory" $with "$bin/$k" -mat_type aijcusparse -most $most
  done
done
for k in spike_operator spike_tridiagonal; do
  passes "$k, 20 multiprocessors" env LD_PRELOAD="$limits" SPIKE_DEVICE_MULTIPROCESSORS=20 "$bin/$k" \
    -mat_type aijcusparse
done
passes "cudafull, busy shared memory" env LD_PRELOAD="$busy" "$bin/kernels/cudafull" -small
passes "spike_matapply, busy shared memory" env LD_PRELOAD="$busy" "$bin/spike_matapply" -mat_type aijcusparse
for k in dia baij gridstencil spike blockilu ksp; do
  passes "fuzz_$k, compute capability 7.5" sh -c "$refused" sh \
    env LD_PRELOAD="$limits" SPIKE_DEVICE_CAPABILITY=75 "$bin/fuzz_$k" -n 20 -fuzz_device
done
passes "allocations that fail" env LD_PRELOAD="$limits" "$bin/memory" -device -mat_type aijcusparse \
  -dia_type diacuda -malloc_dump no
passes "allocations of matrices that fail" env LD_PRELOAD="$limits" "$bin/memory_matrices" -device \
  -mat_type aijcusparse -dia_type diacuda -dm_vec_type cuda -malloc_dump no
wait
cat "$work"/output.*.tap
! grep -q '^not ok' "$work"/output.*.tap
