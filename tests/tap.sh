# SPDX-License-Identifier: BSD-2-Clause
# tap.sh: what test scripts share; to be sourced. Prints TAP lines; $work is a folder that goes at the end, and
# $work/output the output of the last command.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/.." && pwd)
lib=${SPIKE_LIB:?} mpiexec=${MPIEXEC:-mpiexec}
unset PETSC_OPTIONS
work=$(mktemp -d "${TMPDIR:-/tmp}/petscspike.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export PYTHONUSERBASE=${PYTHONUSERBASE:-${HOME:-}/.local} PYTHONDONTWRITEBYTECODE=1
export HOME=$work # no .petscrc of the user
count=0 bad=0

ok()     { count=$((count + 1)); echo "ok $1"; }
not_ok() { count=$((count + 1)); bad=$((bad + 1)); echo "not ok $1"; sed 's/^/# /' "$work/output" | tail -n 40; }
skip()   { count=$((count + 1)); echo "ok $1 # SKIP $2"; }
finish() { echo "1..$count"; [ $bad = 0 ]; exit; }

# passes NAME TEXT COMMAND...: the command succeeds, and its output, as one line, has TEXT
passes()
{
  local name=$1 text=$2
  shift 2
  if ! "$@" >"$work/output" 2>&1 </dev/null; then not_ok "$name"
  elif tr -s ' \n' ' ' <"$work/output" | grep -q -E -- "$text"; then ok "$name"
  else echo "(wanted: $text)" >>"$work/output"; not_ok "$name"; fi
}

# refuses NAME TEXT COMMAND...: the command fails, and its output has TEXT
refuses()
{
  local name=$1 text=$2
  shift 2
  if "$@" >"$work/output" 2>&1 </dev/null; then echo "(exit status 0)" >>"$work/output"; not_ok "$name"
  elif tr -s ' \n' ' ' <"$work/output" | grep -q -E -- "$text"; then ok "$name"
  else echo "(wanted: $text)" >>"$work/output"; not_ok "$name"; fi
}

# A Python with the petsc4py of the PETSc that this library was built for: $python; why not: $no_python, else empty
find_python()
{
  python=python3 no_python=
  if [ -n "${SPIKE_VENV:-}" ] && [ -x "$SPIKE_VENV/bin/python" ]; then python=$SPIKE_VENV/bin/python; fi
  "$python" - "${PETSC_DIR:-}" "${PETSC_ARCH:-}" >"$work/output" 2>&1 <<'END'
import os, sys
import petsc4py
from petsc4py import PETSc
config = petsc4py.get_config()
here = os.path.realpath(os.path.join(sys.argv[1], sys.argv[2]))
there = os.path.realpath(os.path.join(config["PETSC_DIR"], config.get("PETSC_ARCH", "")))
sys.exit(0 if here == there else 3)
END
  case $? in
    0) ;;
    3) no_python="the petsc4py of $python is for another PETSc" ;;
    *) no_python="$python has no petsc4py" ;;
  esac
  if [ -n "${SPIKE_SUPPRESSIONS:-}" ]; then no_python="Python is built without the sanitizers"; fi
}
