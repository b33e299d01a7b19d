#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# python.sh: the module petscspike of the folder python, with the petsc4py of this PETSc. Prints TAP lines; tools/check
# runs it. The package that pip makes of it is tested by tools/checkpip.

. "$(cd "$(dirname "$0")" && pwd)/tap.sh"
find_python
names="before|after|between|plain|both|functions|gridstencil|results|mistakes|state|state, 2 ranks"
names+="|what is registered|no petsc4py"
names="$names|no library|another scalar|not initialized|requirements|no PETSc"
if [ -n "$no_python" ]; then
  while IFS= read -r -d '|' name; do skip "python: $name" "$no_python"; done <<<"$names|"
  finish
fi
export PYTHONPATH=$top/python:$here/python${PYTHONPATH:+:$PYTHONPATH}

run="$mpiexec -n 1 $python"
# The order of import petscspike and of the initialization
for order in before after between plain; do
  passes "python: $order" "^solved" $run "$here/python/order.py" $order
done
passes "python: both" "^solved" $run "$here/python/order.py" both -dll_append "$lib"

for name in functions gridstencil results mistakes; do
  for ranks in 1 3; do
    passes "python: $name, $ranks ranks" " OK *$" "$mpiexec" -n $ranks "$python" "$here/python/$name.py"
  done
done

state='petscspike +[0-9.]+ .* PETSc +[0-9.]+ .* GPU .* types .* bcgsfused .* spike .*: [0-9]+ iterations, .* right *$'
passes "python: state" "$state" $run -m petscspike
passes "python: state, 2 ranks" "$state" "$mpiexec" -n 2 "$python" -m petscspike -pc_spike_type truncated
for ranks in 1 3; do
  passes "python: what is registered, $ranks ranks" "MISSING .* registered: OK *$" \
    "$mpiexec" -n $ranks "$python" "$here/python/registered.py"
done
passes "python: path of the library" "^$lib *$" $run -m petscspike --library
passes "python: path of the header" "include *$" $run -m petscspike --include

for ranks in 1 3; do
  passes "python: tutorials/ex9.py, $ranks ranks" \
    "converged: True half-bandwidths 1 and 1, PC_SPIKE_TRUNCATED largest error < 1e-3 *$" \
    "$mpiexec" -n $ranks "$python" "$top/tutorials/ex9.py"
done

# What is wrong is said
refuses "python: no petsc4py" 'needs petsc4py: pip install petsc4py' \
  $run -c 'import sys; sys.modules["petsc4py"] = None; import petscspike'
refuses "python: no library" 'no library .*nowhere/libpetscspike.so' \
  env SPIKE_LIB="$work/nowhere/libpetscspike.so" $run -c 'import petscspike, petsc4py.PETSc'
refuses "python: not initialized" 'PETSc is not initialized: call petsc4py.init' \
  $run -c 'import petscspike; petscspike.PCSpikeGetInfo(None)'
# A package as pip makes it, but for another PETSc
mkdir "$work/wheel"
cp -r "$top/python/petscspike" "$work/wheel/"
rm -rf "$work/wheel/petscspike/lib" "$work/wheel/petscspike/include"
mkdir "$work/wheel/petscspike/lib" "$work/wheel/petscspike/include"
cp "$top/include/petscspike.h" "$work/wheel/petscspike/include/"
cp -L "$lib" "$work/wheel/petscspike/lib/libpetscspike.so"
alien() # MEMBER VALUE
{
  "$python" - "$1" "$2" >"$work/wheel/petscspike/config.json" <<'END'
import json, sys
from petsc4py import PETSc
config = {"PETSC_DIR": "", "PETSC_ARCH": "", "petsc": "%d.%d" % PETSc.Sys.getVersion()[:2], "cuda": False,
          "scalar": "complex" if issubclass(PETSc.ScalarType, PETSc.ComplexType) else "real",
          "precision": "single" if PETSc.RealType().itemsize == 4 else "double", "int": 8 * PETSc.IntType().itemsize}
if sys.argv[1] != "-":
    config[sys.argv[1]] = sys.argv[2]
print(json.dumps(config))
END
  run_wheel=(env -u SPIKE_LIB PYTHONPATH="$work/wheel:$here/python" $run)
}
alien - -
passes "python: package" "^solved" "${run_wheel[@]}" "$here/python/order.py" before
passes "python: package, what it was built with" "with PETSc 3[.0-9]+, .* PetscInt, " "${run_wheel[@]}" -m petscspike
for wrong in "petsc 3.99" "scalar other" "precision quad" "int 16"; do
  alien $wrong
  refuses "python: package for another ${wrong% *}" "built for a PETSc with $wrong, but that of petsc4py has" \
    "${run_wheel[@]}" "$here/python/order.py" after
done

# The build backend, where there is setuptools
if ! "$python" -c 'import setuptools.build_meta' >/dev/null 2>&1; then
  for name in "requirements" "no PETSc" "wrong PETSc"; do skip "python: $name" "$python has no setuptools"; done
else
  # A PETSC_DIR asks for no package, a PETSc that is installed neither, and without both pip brings one
  cat >"$work/requirements.py" <<'END'
import os
import sys
import spikebuild
here, scratch = sys.argv[1:3], sys.argv[3]  # setuptools changes them
os.environ["PETSC_DIR"] = "/somewhere"
assert spikebuild.find_petsc() == ("/somewhere", os.environ.get("PETSC_ARCH", ""), False)
assert not any(r.startswith("petsc") for r in spikebuild.get_requires_for_build_wheel() + spikebuild.run_requires())
del os.environ["PETSC_DIR"]
asks = lambda: [r for r in spikebuild.get_requires_for_build_wheel() + spikebuild.run_requires() if "petsc" in r]
petsc4py_petsc, spikebuild.petsc4py_petsc = spikebuild.petsc4py_petsc, lambda: None
spikebuild.installed_petsc = lambda: None
assert spikebuild.find_petsc() is None
assert "petsc" + spikebuild.PETSC in spikebuild.get_requires_for_build_wheel()
assert {"petsc" + spikebuild.PETSC, "petsc4py" + spikebuild.PETSC} < set(spikebuild.run_requires())
spikebuild.installed_petsc = lambda: "/prefix/petsc"
numbers, spikebuild.numbers = spikebuild.numbers, lambda folder: (3, 25, 4)
assert not any(r.startswith("petsc") for r in spikebuild.get_requires_for_build_wheel())
assert {"petsc>=3.25,<3.26", "petsc4py>=3.25,<3.26"} < set(spikebuild.run_requires())
spikebuild.numbers = numbers

# The petsc4py of this test names its PETSc, which comes before a package petsc
os.environ.pop("PETSC_ARCH", None)
spikebuild.petsc4py_petsc = petsc4py_petsc
for spikebuild.installed_petsc in (lambda: None, lambda: "/prefix/petsc"):
    found = spikebuild.find_petsc()
    real = [os.path.realpath(os.path.join(*names)) for names in (found[:2], here)]
    assert real[0] == real[1] and not found[2] and not asks(), (found, asks())
# One that was moved, that names no folder, or one that is gone; of several PETSC_ARCH the wanted one, else the first
lib = os.path.join(scratch, "site-packages", "petsc4py", "lib")
petsc = os.path.join(scratch, "a prefix")
for folder in (lib, os.path.join(petsc, "include")):
    os.makedirs(folder)
open(os.path.join(petsc, "include", "petscversion.h"), "w").close()
spikebuild.sysconfig.get_path = lambda name: os.path.dirname(os.path.dirname(lib))
for text, arch, wanted in (
    ("PETSC_DIR  = %s\nPETSC_ARCH = \n" % petsc, None, (petsc, "", False)),
    ("PETSC_DIR=%s\nPETSC_ARCH=one:two\n" % petsc, None, (petsc, "one", False)),
    ("PETSC_DIR = %s\nPETSC_ARCH = one:two" % petsc, "two", (petsc, "two", False)),
    ("PETSC_DIR = %s\nPETSC_ARCH = one" % petsc, "other", (petsc, "one", False)),
    ("PETSC_DIR  = \nPETSC_ARCH = \n", None, None),
    ("PETSC_DIR  = /nowhere\nPETSC_ARCH = \n", None, None),
    ("", None, None),
):
    os.environ.pop("PETSC_ARCH", None)
    if arch:
        os.environ["PETSC_ARCH"] = arch
    with open(os.path.join(lib, "petsc.cfg"), "w") as f:
        f.write(text)
    spikebuild.installed_petsc = lambda: None
    assert spikebuild.find_petsc() == wanted, (text, spikebuild.find_petsc())
    assert bool(asks()) == (wanted is None), (text, asks())
    spikebuild.installed_petsc = lambda: petsc  # PyPI's petsc4py may name the package petsc itself
    assert spikebuild.find_petsc() == (petsc, "", True), (text, spikebuild.find_petsc())
print("ok")
END
  passes "python: requirements" "ok *$" "$python" "$work/requirements.py" "${PETSC_DIR:-}" "${PETSC_ARCH:-}" "$work/env"
  refuses "python: no PETSc" 'no PETSc: .* neither a petsc4py .* pip install petsc petsc4py' env -u PETSC_DIR \
    "$python" -c 'import spikebuild as s; s.installed_petsc = s.petsc4py_petsc = lambda: None; s.build_library()'
  refuses "python: wrong PETSc" 'cannot build with PETSC_DIR=/nowhere' env PETSC_DIR=/nowhere "$python" -c \
    'import spikebuild; spikebuild.build_library()'
fi
finish
