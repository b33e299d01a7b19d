#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# loading.sh: the ways to load and link the library, and what it says when it does not fit. Prints TAP lines.
#
# tools/check runs it; SPIKE_LIB is the library, SPIKE_BUILD the folder of the build with the programs of tests/loading.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
loading=${SPIKE_BUILD:?}/loading
plain=$loading/plain linked=$loading/linked

# solves NAME LINES COMMAND...: the command succeeds and says LINES times that SPIKE solved the system right
solves()
{
  local name=$1 lines=$2
  shift 2
  if "$@" >"$work/output" 2>&1 </dev/null && [ "$(grep -c '^solved with spike: right$' "$work/output")" = "$lines" ] &&
    ! grep -q WRONG "$work/output"; then ok "$name"
  else not_ok "$name"; fi
}

run="$mpiexec -n 1"

# -dll_append and -dll_prepend
solves "dll_append, absolute path" 1 $run "$plain" -dll_append "$lib" -pc_type spike
solves "dll_append, without suffix" 1 $run "$plain" -dll_append "${lib%.so}" -pc_type spike
solves "dll_append, versioned names" 1 $run "$plain" -dll_append "$(readlink -f "$lib")" -pc_type spike
solves "dll_prepend" 1 $run "$plain" -dll_prepend "$lib" -pc_type spike
SPIKE_DIR=$(dirname "$(dirname "$lib")") solves 'dll_append, ${SPIKE_DIR}' 1 \
  $run "$plain" -dll_append '${SPIKE_DIR}/lib/libpetscspike.so' -pc_type spike
PETSC_OPTIONS="-dll_append $lib -pc_type spike" solves "PETSC_OPTIONS" 1 $run "$plain"
echo "-dll_append $lib" >"$work/.petscrc"
solves ".petscrc" 1 $run "$plain" -pc_type spike
rm -f "$work/.petscrc"
echo "-dll_append $lib" >"$work/options"
solves "options_file" 1 $run "$plain" -options_file "$work/options" -pc_type spike
ln -s "$lib" "$work/libpetscspike.so"
solves "dll_append, ./ in this folder" 1 $run "$plain" -dll_append ./libpetscspike.so -pc_type spike
solves "dll_append twice" 1 $run "$plain" -dll_append "$lib,$lib" -pc_type spike
solves "dll_append, 2 ranks" 1 "$mpiexec" -n 2 "$plain" -dll_append "$lib" -pc_type spike

# Linked, both, and more than once
solves "linked" 1 $run "$linked"
solves "linked, 2 ranks" 1 "$mpiexec" -n 2 "$linked"
solves "linked and appended" 1 $run "$linked" -dll_append "$lib"
mkdir "$work/copy"
cp -L "$lib" "$work/copy/libpetscspike.so"
solves "linked and another copy appended" 1 $run "$linked" -dll_append "$work/copy/libpetscspike.so"
solves "initialized 3 times, linked" 3 $run "$linked" 3
PETSC_OPTIONS="-dll_append $lib -pc_type spike" solves "initialized 3 times, appended" 3 $run "$plain" 3
PETSC_OPTIONS="-dll_append $lib" solves "initialized 3 times, linked and appended" 3 $run "$linked" 3

# What comes with it
$run "$plain" -dll_append "$lib" -pc_type spike -log_view >"$work/output" 2>&1
if grep -q PCSpikeFactor "$work/output" && grep -q PCSpikeSweep "$work/output"; then ok "events in log_view"
else not_ok "events in log_view"; fi
solves "host_isa base" 1 $run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa base
refuses "host_isa, unknown" 'spike_host_isa' $run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa v9
$run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa base -options_left >"$work/output" 2>&1
if grep -q 'no unused options' "$work/output"; then ok "no unused options"; else not_ok "no unused options"; fi

# make info: the version of the PETSc that programs of this build run with, and the library
version=$("$plain" -version 2>/dev/null </dev/null | sed -n 's/^PETSc Release Version \([0-9.]*\).*/\1/p')
if ! command -v make >/dev/null || [ ! -f "$top/makefile" ]; then
  for t in version library; do skip "make info, $t" "no make, or no makefile as in a bundle"; done
else
  info=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" info PETSC_DIR="${PETSC_DIR:-}"
    PETSC_ARCH="${PETSC_ARCH:-}")
  [ "$(basename "$SPIKE_BUILD")" != sanitize ] || info+=(SANITIZE=1)
  passes "make info, version" "PETSC_VERSION=${version:-none, says -version} SPIKE_LIB=" "${info[@]}"
  passes "make info, library" "SPIKE_LIB=$lib *$" "${info[@]}"
fi

# Mistakes are told
refuses "wrong path" 'Unable to locate dynamic library.*nowhere' \
  $run "$plain" -dll_append "$work/nowhere/libpetscspike.so" -pc_type spike
refuses "not loaded" 'Unable to find requested PC type spike' $run "$plain" -pc_type spike
fits='build petscspike with the PETSC_DIR and PETSC_ARCH of the application'
alien() # FOLDER TEXT NAME: a library that was built for another PETSc
{
  refuses "library of another $3" "built for $2: $fits" \
    $run "$plain" -dll_append "$loading/$1/libpetscspike.so" -pc_type spike
}
alien version "PETSc [0-9]+\.99, this is PETSc [0-9.]+" version
alien scalar "PetscScalar [a-z]+, this PETSc has PetscScalar [a-z]+" PetscScalar
alien real "PetscReal [a-z]+, this PETSc has PetscReal [a-z]+" PetscReal
alien int "a PETSc with [0-9]+-bit PetscInt, this PETSc has [0-9]+-bit PetscInt" PetscInt

# Nothing but our interface is exported, and no library that GPU-less machines lack is needed
ours='PCSpike|PCBlockILU|KSPFused|KSPIDRFused|MatDIA|MatGridStencil|MatCreateGridStencil$|MatSpike|PetscSpike'
nm -D --defined-only "$lib" 2>/dev/null | awk '{ print $NF }' | sed 's/@.*//' |
  grep -v -E "^($ours|PetscDLLibraryRegister_petscspike\$|_init\$|_fini\$|__odr_asan)" >"$work/output"
if ! command -v nm >/dev/null; then skip "exported names" "no nm"
elif [ -s "$work/output" ]; then not_ok "exported names"
else ok "exported names"; fi
if ! command -v readelf >/dev/null; then skip "needed libraries" "no readelf"
elif readelf -d "$lib" >"$work/output" && grep -q 'SONAME.*\[libpetscspike\.so\.0\.1\]' "$work/output" &&
  ! grep -q 'NEEDED.*libcuda\.so' "$work/output"; then ok "soname and needed libraries"
else not_ok "soname and needed libraries"; fi

# The installed copy
prefix=$loading/installed
if [ ! -d "$prefix" ]; then skip "installed copy" "not installed here"
else
  solves "installed: dll_append" 1 $run "$plain" -dll_append "$prefix/lib/libpetscspike.so" -pc_type spike
  solves "installed: petscspike.options" 1 \
    $run "$plain" -options_file "$prefix/share/petscspike/petscspike.options" -pc_type spike
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:${PETSC_DIR:-}/${PETSC_ARCH:-}/lib/pkgconfig
  if ! command -v pkg-config >/dev/null || ! command -v "${SPIKE_CC%% *}" >/dev/null; then
    skip "installed: pkg-config" "no pkg-config or no compiler"
  elif $SPIKE_CC ${SPIKE_CFLAGS:-} -DLINKED $(pkg-config --cflags petscspike petsc) -o "$work/installed" \
    "$here/loading/solve.c" $(pkg-config --libs petscspike petsc) -Wl,-rpath,"$prefix/lib" \
    -Wl,-rpath,"$(pkg-config --variable=libdir petsc)" >"$work/output" 2>&1; then
    solves "installed: pkg-config" 1 $run "$work/installed"
  else not_ok "installed: pkg-config"; fi
fi

# Python: the tutorial, where petsc4py is there and uses the PETSc that this library was built for
script=$top/tutorials/ex4.py
find_python
python_case() # NAME OPTIONS OF MPIEXEC...: ex4.py prints that the solution is right, and -ksp_view that spike was used
{
  local name=$1
  shift
  if [ -n "$no_python" ]; then skip "$name" "$no_python"
  elif "$mpiexec" "$@" -ksp_view -dll_append "$lib" >"$work/output" 2>&1 </dev/null &&
    grep -q '^converged: True' "$work/output" && grep -q '^true relative residual < 1e-8' "$work/output" &&
    grep -q '^largest error < 1e-6' "$work/output" && grep -q 'type: spike' "$work/output"; then ok "$name"
  else not_ok "$name"; fi
}
python_case "petsc4py: tutorials/ex4.py" -n 1 "$python" "$script" -n 1000 -pc_spike_local_partitions 4
python_case "petsc4py: tutorials/ex4.py, 2 ranks" -n 2 "$python" "$script"

finish
