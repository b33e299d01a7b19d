#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# band.sh PROGRAM [options]: the tables of benchmarks/band with 1, 2 and 4 ranks, to benchmarks/results/band.txt and
# band-RANKS.csv.
# On a quiet machine: make programs && benchmarks/band.sh build/bin/benchmarks/band -repeat 9

here=$(cd "$(dirname "$0")" && pwd)
[ -x "$1" ] || { echo "band.sh: give the program built from benchmarks/band.c" >&2; exit 1; }
program=$1
shift
out=$here/results/band.txt
mkdir -p "$here/results"
{
  date -u +'%Y-%m-%d'
  { lscpu 2>/dev/null || sysctl machdep.cpu.brand_string; } |
    sed -n 's/^\(Model name\|CPU(s)\|L2 cache\|L3 cache\):  */\1: /p'
  ldd "$program" 2>/dev/null | sed -n 's/.*=> \(.*blas[^ ]*\) .*/\1/p' |
    while read -r blas; do echo "BLAS: $(basename "$(readlink -f "$blas")")"; done
  echo "band.sh $*"
} >"$out.tmp"
for ranks in 1 2 4; do
  echo >>"$out.tmp"
  "$here/../tools/run" -n $ranks "$program" "$@" -csv "$here/results/band-$ranks.csv" >>"$out.tmp" ||
    { cat "$out.tmp"; rm -f "$out.tmp"; exit 1; }
done
mv "$out.tmp" "$out"
cat "$out"
