#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# clients.sh: programs that nobody here wrote, with our types in them: SLEPc, and petsc4py's own tests. Prints TAP
# lines; tools/check runs it. `make clients` brings what is missing into the Python of this PETSc.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
find_python
export PYTHONPATH=$top/python:$here/python${PYTHONPATH:+:$PYTHONPATH}
missing="$no_python"

# SLEPc: shift-and-invert by our factorization, and by our Krylov methods and preconditioners
if [ -z "$missing" ] && ! "$python" -c 'import slepc4py; from slepc4py import SLEPc' >"$work/output" 2>&1; then
  missing="$python has no slepc4py (make clients)"
fi
slepc() # RANKS SOLVER OPTIONS...: what the program says that did it is SOLVER
{
  local ranks=$1 solver=$2 name
  shift 2
  name="slepc: $solver, $ranks ranks"
  if [ -n "$missing" ]; then skip "$name" "$missing"
  else
    passes "$name" "standard: right, by $solver .*generalized: right, by $solver *$" \
      "$mpiexec" -n "$ranks" "$python" "$here/python/slepc.py" "$@"
  fi
}
for ranks in 1 3; do
  slepc $ranks "preonly, lu of spike" -st_ksp_type preonly -st_pc_type lu -st_pc_factor_mat_solver_type spike
  slepc $ranks "bcgsfused, spike" -st_ksp_type bcgsfused -st_pc_type spike -st_ksp_rtol 1e-11
  slepc $ranks "idrfused, spike" -st_ksp_type idrfused -st_pc_type spike -st_pc_spike_local_partitions 3 \
    -st_ksp_rtol 1e-11
  slepc $ranks "preonly, spike" -st_ksp_type preonly -st_pc_type spike
  slepc $ranks "gmres, blockilu" -st_ksp_type gmres -st_pc_type blockilu -st_pc_blockilu_complete -st_ksp_rtol 1e-11
done
# Other solvers of SLEPc with our types inside: Jacobi-Davidson, contour integrals, spectrum slicing by MatGetInertia()
slepcmore() # RANKS METHOD SOLVER OPTIONS...
{
  local ranks=$1 method=$2 solver=$3 name
  shift 3
  name="slepc $method: $solver, $ranks ranks"
  if [ -n "$missing" ]; then skip "$name" "$missing"
  else passes "$name" "$method: right, by $solver *$" "$mpiexec" -n "$ranks" "$python" "$here/python/slepcmore.py" \
    "$method" "$@"; fi
}
since326=yes
"$python" -c 'from petsc4py import PETSc; import sys; sys.exit(PETSc.Sys.getVersion() < (3, 26))' 2>"$work/output" ||
  since326=
for ranks in 1 3; do
  for method in bcgsfused idrfused; do
    jd=(-st_ksp_type $method -st_pc_type spike -st_ksp_rtol 1e-3 -st_ksp_max_it 20)
    if [ -n "$missing" ] || [ -n "$since326" ] || [ $method = bcgsfused ]; then
      slepcmore $ranks jd "$method, spike" "${jd[@]}"
    else # its vectors have no arrays, and this PETSc has no KSPIDR
      refuses "slepc jd: $method, spike, $ranks ranks: names another method" "take -ksp_type bcgsfused" \
        "$mpiexec" -n $ranks "$python" "$here/python/slepcmore.py" jd "${jd[@]}"
    fi
    slepcmore $ranks ciss "$method, spike" -eps_ciss_usest 1 -st_ksp_type $method -st_pc_type spike -st_ksp_rtol 1e-11
  done
  slepcmore $ranks ciss "preonly, lu of spike" -eps_ciss_usest 1 -st_ksp_type preonly -st_pc_type lu \
    -st_pc_factor_mat_solver_type spike
  slepcmore $ranks slice "preonly, cholesky of spike" -st_ksp_type preonly -st_pc_type cholesky \
    -st_pc_factor_mat_solver_type spike
done
# By petscspike's own path: -dll_append instead of the import
if [ -z "$missing" ]; then
  sed '/^import petscspike$/d' "$here/python/slepc.py" >"$work/slepc.py"
  passes "slepc: dll_append" "standard: right, by preonly, lu of spike .*generalized: right" \
    "$mpiexec" -n 1 "$python" "$work/slepc.py" -dll_append "$lib" -st_ksp_type preonly -st_pc_type lu \
    -st_pc_factor_mat_solver_type spike
else skip "slepc: dll_append" "$missing"; fi

# petsc4py's tests come with PETSc's sources and with petsc4py's, not with what is installed
tests=
for folder in "${PETSC_DIR:-}/src/binding/petsc4py/test" "${SPIKE_VENV:-}/share/petsc4py/test"; do
  if [ -z "$tests" ] && [ -f "$folder/test_ksp.py" ]; then tests=$folder; fi
done
for what in types forced; do
  name="petsc4py's tests, $what"
  if [ -n "$no_python" ]; then skip "$name" "$no_python"
  elif [ -z "$tests" ]; then skip "$name" "they are not here (make clients)"
  else
    "$mpiexec" -n 1 "$python" "$here/python/petsc4pytests.py" "$tests" $what >"$work/output" 2>&1 </dev/null
    rc=$?
    grep -E '^(not )?ok |^#' "$work/output"
    count=$((count + $(grep -c -E '^(not )?ok ' "$work/output")))
    bad=$((bad + $(grep -c '^not ok ' "$work/output")))
    if [ $rc = 0 ] && grep -q '^ok' "$work/output"; then ok "$name"; else not_ok "$name"; fi
  fi
done
finish
