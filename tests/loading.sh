#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# loading.sh: the ways to load and link the library, and what it says when it does not fit. Prints TAP lines.
#
# tools/check runs it; SPIKE_LIB is the library, SPIKE_BUILD the folder of the build with the programs of tests/loading.

set -u
here=$(cd "$(dirname "$0")" && pwd)
lib=${SPIKE_LIB:?} loading=${SPIKE_BUILD:?}/loading mpiexec=${MPIEXEC:-mpiexec}
plain=$loading/plain linked=$loading/linked
unset PETSC_OPTIONS
work=$(mktemp -d "${TMPDIR:-/tmp}/petscspike.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME=$work # no .petscrc of the user
count=0 bad=0

ok()     { count=$((count + 1)); echo "ok $1"; }
not_ok() { count=$((count + 1)); bad=$((bad + 1)); echo "not ok $1"; sed 's/^/# /' "$work/output" | head -n 40; }
skip()   { count=$((count + 1)); echo "ok $1 # SKIP $2"; }

# solves NAME LINES COMMAND...: the command succeeds and says LINES times that SPIKE solved the system right
solves()
{
  local name=$1 lines=$2
  shift 2
  if "$@" >"$work/output" 2>&1 </dev/null && [ "$(grep -c '^solved with spike: right$' "$work/output")" = "$lines" ] && ! grep -q WRONG "$work/output"; then ok "$name"; else not_ok "$name"; fi
}

# refuses NAME TEXT COMMAND...: the command fails, and its output has TEXT
refuses()
{
  local name=$1 text=$2
  shift 2
  if "$@" >"$work/output" 2>&1 </dev/null; then echo "(exit status 0)" >>"$work/output"; not_ok "$name"
  elif tr -s ' \n' ' ' <"$work/output" | grep -q -E -- "$text"; then ok "$name"; else echo "(wanted: $text)" >>"$work/output"; not_ok "$name"; fi
}

run="$mpiexec -n 1"

# -dll_append and -dll_prepend
solves "dll_append, absolute path" 1 $run "$plain" -dll_append "$lib" -pc_type spike
solves "dll_append, without suffix" 1 $run "$plain" -dll_append "${lib%.so}" -pc_type spike
solves "dll_append, versioned names" 1 $run "$plain" -dll_append "$lib.0.1.0" -pc_type spike
solves "dll_prepend" 1 $run "$plain" -dll_prepend "$lib" -pc_type spike
SPIKE_DIR=$(dirname "$(dirname "$lib")") solves 'dll_append, ${SPIKE_DIR}' 1 $run "$plain" -dll_append '${SPIKE_DIR}/lib/libpetscspike.so' -pc_type spike
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
if grep -q PCSpikeFactor "$work/output" && grep -q PCSpikeSweep "$work/output"; then ok "events in log_view"; else not_ok "events in log_view"; fi
solves "host_isa base" 1 $run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa base
refuses "host_isa, unknown" 'spike_host_isa' $run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa v9
$run "$plain" -dll_append "$lib" -pc_type spike -spike_host_isa base -options_left >"$work/output" 2>&1
if grep -q 'no unused options' "$work/output"; then ok "no unused options"; else not_ok "no unused options"; fi

# Mistakes are told
refuses "wrong path" 'Unable to locate dynamic library.*nowhere' $run "$plain" -dll_append "$work/nowhere/libpetscspike.so" -pc_type spike
refuses "not loaded" 'Unable to find requested PC type spike' $run "$plain" -pc_type spike
fits='build petscspike with the PETSC_DIR and PETSC_ARCH of the application'
refuses "library of another version" "built for PETSc [0-9]+\.99, this is PETSc [0-9.]+: $fits" $run "$plain" -dll_append "$loading/version/libpetscspike.so" -pc_type spike
refuses "library of another PetscScalar" "built for PetscScalar [a-z]+, this PETSc has PetscScalar [a-z]+: $fits" $run "$plain" -dll_append "$loading/scalar/libpetscspike.so" -pc_type spike
refuses "library of another PetscReal" "built for PetscReal [a-z]+, this PETSc has PetscReal [a-z]+: $fits" $run "$plain" -dll_append "$loading/real/libpetscspike.so" -pc_type spike
refuses "library of another PetscInt" "built for a PETSc with [0-9]+-bit PetscInt, this PETSc has [0-9]+-bit PetscInt: $fits" $run "$plain" -dll_append "$loading/int/libpetscspike.so" -pc_type spike

# Nothing but our interface is exported, and no library that GPU-less machines lack is needed
nm -D --defined-only "$lib" 2>/dev/null | awk '{ print $NF }' | sed 's/@.*//' | grep -v -E '^(PCSpike|PetscSpike|PetscDLLibraryRegister_petscspike$|_init$|_fini$|__odr_asan)' >"$work/output"
if ! command -v nm >/dev/null; then skip "exported names" "no nm"; elif [ -s "$work/output" ]; then not_ok "exported names"; else ok "exported names"; fi
if ! command -v readelf >/dev/null; then skip "needed libraries" "no readelf"
elif readelf -d "$lib" >"$work/output" && grep -q 'SONAME.*\[libpetscspike\.so\.0\.1\]' "$work/output" && ! grep -q 'NEEDED.*libcuda\.so' "$work/output"; then ok "soname and needed libraries"; else not_ok "soname and needed libraries"; fi

# The installed copy
prefix=$loading/installed
if [ ! -d "$prefix" ]; then skip "installed copy" "not installed here"
else
  solves "installed: dll_append" 1 $run "$plain" -dll_append "$prefix/lib/libpetscspike.so" -pc_type spike
  solves "installed: petscspike.options" 1 $run "$plain" -options_file "$prefix/share/petscspike/petscspike.options" -pc_type spike
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:${PETSC_DIR:-}/${PETSC_ARCH:-}/lib/pkgconfig
  if ! command -v pkg-config >/dev/null || ! command -v "${SPIKE_CC%% *}" >/dev/null; then skip "installed: pkg-config" "no pkg-config or no compiler"
  elif $SPIKE_CC ${SPIKE_CFLAGS:-} -DLINKED $(pkg-config --cflags petscspike petsc) -o "$work/installed" "$here/loading/solve.c" $(pkg-config --libs petscspike petsc) -Wl,-rpath,"$prefix/lib" -Wl,-rpath,"$(pkg-config --variable=libdir petsc)" >"$work/output" 2>&1; then
    solves "installed: pkg-config" 1 $run "$work/installed"
  else not_ok "installed: pkg-config"; fi
fi

# Python
if [ -n "${SPIKE_VENV:-}" ] && [ -x "$SPIKE_VENV/bin/python" ] && [ -z "${SPIKE_LSAN_SUPP:-}" ]; then
  cat >"$work/solve.py" <<'END'
import sys
import petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 40
A = PETSc.Mat().createAIJ((n, n), nnz=3)
lo, hi = A.getOwnershipRange()
for i in range(lo, hi):
    A[i, i] = 4.0
    if i > 0: A[i, i - 1] = -1.0
    if i < n - 1: A[i, i + 1] = -2.0
A.assemble()
x, b = A.createVecs()
b.set(1.0)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setFromOptions()
ksp.solve(b, x)
r = b - A * x
print("solved with %s: %s" % (ksp.pc.getType(), "right" if ksp.reason > 0 and r.norm() < 1e-4 * b.norm() else "WRONG"))
END
  solves "petsc4py" 1 $run "$SPIKE_VENV/bin/python" "$work/solve.py" -dll_append "$lib" -pc_type spike
else skip "petsc4py" "no petsc4py for this PETSc"; fi

echo "1..$count"
[ $bad = 0 ]
