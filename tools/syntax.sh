# SPDX-License-Identifier: BSD-2-Clause
# syntax.sh: compiles sources without making anything, for tools/variants and tools/versions; to be sourced in the top
# folder. $me: the script's name, in messages. $scratch is a folder that goes at the end, $sources are all C files but
# those that want CUDA, $devicesources; $flags is for them, and $nodevice a script of sed that takes the device out of
# petscconf.h

cc=${CC:-mpicc}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/results"
nodevice='/PETSC_HAVE_\(CUDA\|CUDA_VERSION.*\|CUPM\|DEVICE\|NVTX\) /d'
flags="-std=gnu11 -fsyntax-only -DSPIKE_ISA=base -Wall -Werror=implicit-function-declaration"
flags="$flags -Werror=incompatible-pointer-types"
shopt -s nullglob extglob
sources=(src/*.c src/*/*.c src/*/*/*.c src/*/*/*/*.c tests/*.c tests/*/*.c tutorials/*.c)
sources+=(benchmarks/!(idrmagma).c benchmarks/*/*.c) # idrmagma wants headers of MAGMA
devicesources=(benchmarks/*/cuda/*.c)

# compile NAME COMPILER...: each of the files on standard input, nproc at a time; NAME: for what. $output is a file of
# its own for each, in the environment of the compiler
compile()
{
  local name=$1
  shift
  xargs -P "$(nproc 2>/dev/null || echo 2)" -I{} sh -c '
    me=$1 scratch=$2 file=$3 name=$4
    shift 4
    log=$scratch/$(echo "$name/$file" | tr "/ " __)
    export output=$log.out
    if "$@" "$file" >"$log" 2>&1; then echo "passed"; else
      echo "$me: $file does not compile for $name:" >&2
      grep -m 5 error "$log" >&2
      echo "failed"
    fi' sh "$me" "$scratch" {} "$name" "$@" >>"$scratch/results"
}

# The counts, in $passed and $failed, and a line of them
report()
{
  passed=$(grep -c passed "$scratch/results") failed=$(grep -c failed "$scratch/results")
  echo "$me: $passed files compile, $failed do not"
}
