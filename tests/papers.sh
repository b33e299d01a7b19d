#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# papers.sh: the tables of benchmarks/papers, what checks them, and the program that runs their commands. Prints TAP
# lines; tools/check runs it.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
  skip "papers" "no Python 3.8"
  finish
fi
passes "papers: commands, options, figures, records" '5 papers are in order' \
  python3 "$top/benchmarks/papers/paper" --check

# All programs are there after make programs
if [ -x "${SPIKE_BUILD:?}/bin/benchmarks/idrpaper" ] && [ -x "$SPIKE_BUILD/bin/tutorials/shallowwater" ]; then
  passes "papers: -help has all options" '5 papers are in order' \
    python3 "$top/benchmarks/papers/paper" --check --build "$SPIKE_BUILD/bin"
else skip "papers: -help has all options" "benchmarks are not built: make programs"; fi

# What a killed program had measured lies in its file already: --seconds relies on it. Of two lines the first is there
if [ -x "$SPIKE_BUILD/bin/benchmarks/idrpaper" ]; then
  written() # PROGRAM LINE OPTIONS...: kills it after the second line that matches LINE
  {
    local program=$1 line=$2 lines=0 rows
    shift 2
    rm -f killed.csv
    coproc "$SPIKE_BUILD/bin/benchmarks/$program" "$@" -csv killed.csv
    local pid=$COPROC_PID
    while [ $lines -lt 2 ] && IFS= read -r text <&"${COPROC[0]}"; do
      if [[ $text =~ $line ]]; then lines=$((lines + 1)); fi
    done
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    rows=$(wc -l <killed.csv)
    echo "$lines lines, $rows in the file" >output
    if [ $lines = 2 ] && [ "$rows" -ge 2 ]; then ok "killed: $program"; else not_ok "killed: $program"; fi
  }
  # Two short cases, and one that is not yet done then
  written idrpaper '^scircuit ' -shapes scircuit,thermal2 -s 1,1 -scale 0.2 -cycles 5 -idr 0 -bandwidth 10
  written tridiagonal '^ *auto ' -types auto -systems 1,1,1 -rows 512,512,4194304 -cold 1
  written refinement '^N = 1000,' -cases 1000,2,1000,2,200000,64 -repeat 1
else skip "killed" "benchmarks are not built: make programs"; fi

if [ -x "$SPIKE_BUILD/bin/benchmarks/tridiagonal" ]; then
  passes "components: what is to be timed needs a device" 'components: nothing to time, it needs a device' \
    "$SPIKE_BUILD/bin/benchmarks/tridiagonal" -components -cuda 0
else skip "components" "benchmarks are not built: make programs"; fi

# Each fault, in a copy, is found
mkdir copy
cp -r "$top/benchmarks" "$top/tutorials" "$top/include" copy
echo 0123abcd >copy/commit
paper=$work/copy/benchmarks/papers/paper
fault() # NAME FILE OLD NEW COMPLAINT
{
  cp "copy/benchmarks/papers/$2" kept
  if ! python3 - "copy/benchmarks/papers/$2" "$3" "$4" <<'END'
import sys
name, old, new = sys.argv[1:]
text = open(name).read()
if old not in text:
    sys.exit(1)
open(name, "w").write(text.replace(old, new, 1))
END
  then echo "no place for the fault" >output; not_ok "fault: $1"; return; fi
  refuses "fault: $1" "$5" python3 "$paper" --check
  cp kept "copy/benchmarks/papers/$2"
}
fault "a program that nobody has" paper-000.ini 'command  = dominance' 'command  = dominant' 'no program dominant'
fault "an option that nobody reads" paper-000.ini '-seeds 2' '-seed 2' 'dominance does not read -seed *$'
fault "an option of PETSc that a program does not ask for" paper-002.ini '-box 256,256,512' '-mat_type aij' \
  'gbcgablation does not call MatSetFromOptions\(\), which reads -mat_type'
fault "a word that nobody knows" paper-000.ini '{cudss}' '{cudsss}' 'nobody knows \{cudsss\}'
fault "a key that nobody knows" paper-001.ini 'needs    = single' 'need     = single' 'unknown key need'
fault "a table without a row" paper-002.ini '[table 2]' '[table two]' 'table 2 of the paper has no row'
fault "a row without what differs" paper-003.ini 'differs  =' 'differ   =' '(has no differs|unknown key differ)'
fault "a row without a peer, or why" paper-003.ini 'peer     = none: a property of the matrices' '' 'has no peer'
fault "a peer that no figure has" paper-000.ini 'peer     = none: solvers' 'peer     = solvers' 'no figures have one'
fault "a peer without what is better" paper-001.ini "| info less" "| info" 'ends in neither info more nor info less'
fault "a figure without a picture" paper-000.ini 'picture  = none: one number' '' 'figure 3.: has no picture'
fault "a column that nothing gives" paper-003.ini 'roofline(s=s) / gemv' 'roof(s=s) / gemv' \
  'nothing gives the column roof'
fault "an expression that cannot be" paper-004.ini '12.8e-6 * 30' '12.8e-6 30' 'invalid syntax'
fault "figures of another number" paper-000.ini '| 35 1.2 0.2 0.02 0.002 |' '| 35 1.2 0.2 0.02 |' \
  '5 turns and 4 figures'
fault "a record that nobody has" paper-000.ini 'recorded = phases.txt' 'recorded = phase.txt' 'no record phase.txt'
fault "a record without the figures" paper-000.ini 'recorded = phases.txt' 'recorded = spike.txt' \
  'no figure in the record spike'
fault "a picture of no figure" paper-004.ini 'times as fast | 1 2 3' 'times as fast | 7' 'numbers of figures in loops'
passes "papers: the copy without a fault" '5 papers are in order' python3 "$paper" --check

# What is printed, from programs whose output is known
mkdir -p stub/benchmarks
cat >copy/benchmarks/papers/paper-999.ini <<'END'
[paper]
title    = A paper
where    = nowhere
machine  = none
tables   = 1
figures  =
drawings =

[table 1]
what     = times
section  = 1
setting  = none
command  = known -n 4 [-mkl {mkl}]
host     = known -n 4 [-mkl {mkl}]
context  = ^matrix (?P<matrix>\w+)
read     = ^ *(?P<n>\d+) +(?P<ours>\S+) +(?P<theirs>\S+)
figures  =
    for n in 1 2 3: time, n = {n} | 4 4 4 | ours(n=n, matrix='a') | theirs(n=n, matrix='a') | less
    speed | 10 | 1 / ours(n=1, matrix='b') | 1 / theirs(n=1, matrix='b') | more
    the least of matrix a | - | least('ours', matrix='a') | - | info
    error | 1 | ours(n=1, matrix='a') | theirs(n=1, matrix=('b', 'a')) | info less
peer     = somebody
differs  = nothing
picture  = n | ms | 1

[one more]
what     = what this machine cannot run
section  = 2
setting  = none
command  = known
needs    = mkl
read     = (?P<x>\d)
figures  = x | 7 | x() | - | more
peer     = none: nobody
differs  = nothing
END
known() { printf '#!/bin/sh\necho "arguments: $*"\n%s\n' "$1" >stub/benchmarks/known; chmod +x stub/benchmarks/known; }
run="env -u SPIKE_MKL PATH=$PATH python3 $paper --build stub --out out --quiet"
known 'printf "matrix a\n 1 2.0 1.0\n 2 8.0 16.0\n 3 - -\nmatrix b\n 1 0.05 0.2\n"'
lines='time, n = 1 4 2 2 1 0.5 peer better time, n = 2 4 8 0.5 16 2 speed 10 20 2 5 4'
passes "run: ratios to the paper's figures and the peer's" \
  "$lines the least of matrix a - 2 - - - error 1 2 - 1 0.5 peer better" \
  $run --rows "table 1" paper-999
passes "run: what could not be, and why" 'not run: needs SPIKE_MKL=libmkl_rt.so.3, a GPU x 7 - - - -' $run paper-999
passes "run: where a peer is faster; a host is not compared with the paper's GPU" \
  "below the paper's figure: nowhere a peer of today is better: 2 table 1 .host.: time, n = 1" $run paper-999
passes "run: the output is kept" 'known -n 4 \[-mkl \{mkl\}\] arguments: -n 4 matrix a' cat out/paper-999-output.txt
printf 'matrix a\n 1 2.0 1.0\n 2 8.0 16.0\n' >copy/benchmarks/results/known.txt
sed -i 's/^read     = ^ \*(?P<n>/recorded = known.txt\n&/' copy/benchmarks/papers/paper-999.ini
passes "recorded: what is below the paper's figure" \
  "below the paper's figure: 1 table 1 .recorded in known.txt.: time, n = 2 " \
  python3 "$paper" --recorded --quiet --out out paper-999

# A record has versions, the figures of its own run, and no folders of the machine
passes "record: versions, command" \
  'petscspike [0-9.]+ \(commit 0123abcd\), PETSc .* command: make bench name=paper-999 args="--record --quiet"' \
  python3 "$paper" --build stub paper-999 --record --quiet
passes "record: of a host, without older records" 'table 1 .section 1.: times .* host time, n = 1 4 2' \
  cat copy/benchmarks/results/papers/paper-999-host.txt
if grep -q "recorded in" copy/benchmarks/results/papers/paper-999-host.txt; then
  cp copy/benchmarks/results/papers/paper-999-host.txt output
  not_ok "record: alone"
else ok "record: alone"; fi

# Tables from outputs that lie in a folder
known 'printf "matrix a\n 1 2.0 1.0\n"; exit 3'
$run --rows "table 1" paper-999 >output 2>&1
known 'echo must not run; exit 1'
refuses "again: the same from the outputs, which say that a command had failed" 'commands failed .*table 1' \
  python3 "$paper" --again out --out again paper-999
passes "again: what was printed" 'host, 1 FAILED time, n = 1 4 2 2 1 0.5' cat again/paper-999.txt
passes "again: the outputs are kept" 'here: no GPU.* known -n 4 .* matrix a 1 2.0 1.0 exit status 3' \
  cat again/paper-999-output.txt
refuses "again: no outputs" 'no output of paper-000 in out' python3 "$paper" --again out --out again paper-000

# Commands by the number of GPUs; one GPU is not compared with itself
mkdir -p gpu/include gpus
echo '#define PETSC_HAVE_CUDA 1' >gpu/include/petscconf.h
printf '[paper]\ntitle=A\nwhere=B\nmachine=C\ntables=1\nfigures=\ndrawings=\n[table 1]\nwhat=scaling\nsection=1
setting=none\ncommand=known -n {each}\nhost=known -n {each}\nneeds=gpus\ncontext=-n (?P<g>.+)$\nread=it took (?P<ms>.+)
figures=for g in 1 2 4 6 8: {g} GPUs | - | ms(g=g) | - | info\npeer=none: nobody\ndiffers=nothing\n' \
  >copy/benchmarks/papers/paper-997.ini
known 'echo it took $((10 / $2))'
gpus() # NUMBER [settings]
{
  printf '#!/bin/sh\nfor k in $(seq %s); do echo "A GPU, 1.2"; done\n' "$1" >gpus/nvidia-smi
  chmod +x gpus/nvidia-smi
  env -u CUDA_VISIBLE_DEVICES "${@:2}" PATH="$work/gpus:$PATH" PETSC_DIR="$work/gpu" PETSC_ARCH= python3 "$paper" \
    --build stub --out out --quiet paper-997
}
passes "each: 1, 2, 4 and all of six GPUs" 'GPU 1 GPUs - 10 - - - 2 GPUs - 5 - - - 4 GPUs - 2 - - - 6 GPUs - 1 ' gpus 6
passes "each: one GPU is not compared with itself" 'not run: needs two GPUs' gpus 1
passes "each: those that CUDA shows" 'GPU 1 GPUs - 10 - - - 2 GPUs - 5 -' gpus 6 CUDA_VISIBLE_DEVICES=5,0,7,1
passes "each: on a host with 1 and 2" 'host 1 GPUs - 10 - - - 2 GPUs - 5 ' $run paper-997
known 'printf "matrix a\n 1 2.0 1.0\n 2 8.0 16.0\n 3 - -\nmatrix b\n 1 0.05 0.2\n"'
sed 's/^\[table 1\]/[table 2]/; /^\[paper\]/,/^$/d; /^\[one more\]/,$d' copy/benchmarks/papers/paper-999.ini >twice
sed 's/^tables   = 1/tables   = 1 2/' copy/benchmarks/papers/paper-999.ini | cat - twice \
  >copy/benchmarks/papers/paper-998.ini
known 'printf "matrix a\n 1 2.0 1.0\n"; echo x >>"$COUNT"'
passes "run: a command of two rows runs once" 'table 1 .* 4 2 2 1 0.5 .*table 2 .* 4 2 2 1 0.5 ' \
  env COUNT="$work/count" $run --rows "table 1,table 2" paper-998
if [ "$(wc -l <count)" = 1 ]; then ok "run: and only once"; else cat count >output; not_ok "run: and only once"; fi
known 'printf "matrix a\n 1 2.0 1.0\n"; exec sleep 100'
unfinished='commands failed or not finished: table 1'
refuses "run: a command that takes too long" "$unfinished" $run --seconds 2 --rows "table 1" paper-999
passes "run: what it had printed counts" 'host, 1 commands NOT FINISHED in time time, n = 1 4 2 2 1 0.5' \
  cat out/paper-999-table1.txt
refuses "run: no time for the second paper" "$unfinished .*$unfinished" \
  $run --total 2 paper-997 paper-999
passes "run: what was not run" 'not run: the time of --total is over' cat out/paper-999-output.txt
known 'exit 3'
refuses "run: a command that fails" 'commands failed or not finished: table 1' $run paper-999
passes "run: a failure stands in the table" 'host, 1 FAILED' cat out/paper-999.txt
rm stub/benchmarks/known
refuses "run: a program that is not built" 'commands failed or not finished: table 1' $run paper-999
refuses "run: a paper that is not there" 'no paper "paper-007", but paper-000' $run paper-007
refuses "run: a row that is not there" 'has no row "table 9", but table 1, one more' $run --rows "table 9" paper-999
refuses "run: nobody says where programs are" 'where are the programs' python3 "$paper" paper-999
passes "list: commands, and what rows need" 'one more: .*needs SPIKE_MKL=libmkl_rt.so.3, a GPU' \
  env -u SPIKE_MKL python3 "$paper" --list paper-999
passes "list: what MAGMA's row needs" 'figure 5 magma: .*needs a GPU, a program that calls MAGMA' \
  env CUDA_VISIBLE_DEVICES= python3 "$paper" --list --build stub paper-003
passes "recorded figures" 'block, 80 partitions, d = 10 +1.2' python3 "$paper" --recorded --out out paper-000
finish
