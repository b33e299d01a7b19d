#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dmdatutorials.sh: quick ones of PETSc's own tutorials with a DMDA, with MATDIA in the place of MATAIJ. make check has
# compiled them where PETSc has its sources; make dmdatutorials has all. Prints TAP lines; tools/check runs it.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
folder=${SPIKE_BUILD:?}/loading/dmdatutorials
why=
if [ -n "${SPIKE_CFLAGS:-}" ]; then why="PETSc's programs are built without the sanitizers"
elif [ ! -f "$folder/runs.json" ]; then why="no sources of tutorials in ${PETSC_DIR:-PETSC_DIR}"
elif ! grep -q '^#define PETSC_USE_REAL_DOUBLE 1' "${PETSC_DIR:-}/${PETSC_ARCH:-}/include/petscconf.h"; then
  why="outputs are compared to 1e-4, for double precision"
fi
if [ -n "$why" ]; then
  skip "dmdatutorials" "$why"
  finish
fi
SPIKE_WORK=$work "$top/tools/dmdatutorials" run "$folder" dia -j 2 >output
status=$?
sed '$d' output | sed 's/^\(not ok\|ok\) /&dmdatutorials: /'
tail -n 1 output | sed 's/^/# /'
[ $status = 0 ]
