#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# memory_ranks.sh: memory runs out on one rank alone, by tests/memory_ranks.c on 2 ranks: all ranks end, in time,
# with an error or a right answer. Prints TAP lines; tools/check runs it. SPIKE_MEMORY_RUNS=N: allocations of each case
# and rank, spread over those that there are; 0 for all.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
program=${SPIKE_BUILD:?}/bin/tests/memory_ranks
runs=${SPIKE_MEMORY_RUNS:-2} limit=${SPIKE_MEMORY_LIMIT:-60}

go()
{
  timeout "$limit" "$mpiexec" -n 2 "$program" -malloc_dump no -spike_host_baijcuda "$@" >"$work/output" 2>&1 </dev/null
}

if ! go -case -1; then
  not_ok "memory of one rank: the program runs"
  finish
fi
cases=$(sed -n 's/^cases //p' "$work/output")
for ((c = 0; c < cases; c++)); do
  for rank in 0 1; do
    if ! go -case "$c" -rank "$rank"; then
      not_ok "memory of rank $rank: case $c, nothing fails"
      continue
    fi
    name=$(sed -n 's/: allocations [0-9]*$//p' "$work/output")
    total=$(sed -n 's/^.*: allocations //p' "$work/output")
    n=$total hung='' wrong=''
    if [ "$runs" != 0 ] && [ "$runs" -lt "$total" ]; then n=$runs; fi
    for ((k = 0; k < n; k++)); do
      at=$((1 + (k * (2 * total - 1) + c + 7 * rank) / (2 * n) % total))
      if [ "$n" = "$total" ]; then at=$((k + 1)); fi
      go -case "$c" -rank "$rank" -at "$at"
      rc=$?
      if [ $rc = 124 ]; then hung="$hung $at"
      elif [ $rc != 0 ]; then grep -q 'Out of memory\|as the test wants it' "$work/output" || wrong="$wrong $at"
      else grep -q '^memory_ranks: ok' "$work/output" || wrong="$wrong $at"; fi
    done
    if [ -z "$hung$wrong" ]; then ok "memory of rank $rank: $name, $n of $total allocations fail"
    else
      echo "(hung with allocations:$hung; ended otherwise:$wrong)" >>"$work/output"
      not_ok "memory of rank $rank: $name, $n of $total allocations fail"
    fi
  done
done
finish
