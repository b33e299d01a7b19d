# SPDX-License-Identifier: BSD-2-Clause
"""The build backend of pip (PEP 517): setuptools, with the library built by the makefile before.

Which PETSc: that of PETSC_DIR and PETSC_ARCH; else that of the petsc4py of this environment or of the one that pip
installs into, such as conda's, Debian's, Spack's or one of your own; else the package petsc (import petsc) there; else
one that pip brings from PyPI, as PETSC says, for the build and with the package.
"""
import importlib.util
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
import time

from setuptools import build_meta
from setuptools.build_meta import build_sdist, get_requires_for_build_sdist, prepare_metadata_for_build_wheel

PETSC = ">=3.24,<3.27"  # the only place that says which PETSc pip brings; tools/checkpetsc says which ones will do

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
PACKAGE = os.path.join(HERE, "petscspike")
BUILD = "build-python"

__all__ = ["build_sdist", "build_wheel", "build_editable", "get_requires_for_build_sdist",
           "get_requires_for_build_wheel", "get_requires_for_build_editable", "prepare_metadata_for_build_wheel",
           "prepare_metadata_for_build_editable"]


def version():
    with open(os.path.join(TOP, "include", "petscspike.h"), encoding="ascii") as f:
        number = dict(re.findall(r"#define PETSCSPIKE_VERSION_(\w+)\s+(\d+)", f.read()))
    return "%s.%s.%s" % (number["MAJOR"], number["MINOR"], number["SUBMINOR"])


# ---- Which PETSc -----------------------------------------------------------------------------------------------------
def installed(package, file):
    """The folder of a package that has the file, or None. pip hides the packages of its target from a build, but not
    the folders in which they are: look there first."""
    folders = [sysconfig.get_path("platlib"), sysconfig.get_path("purelib")] + site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    paths = [os.path.join(folder, package) for folder in folders]
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.origin:
        paths.append(os.path.dirname(spec.origin))
    return next((p for p in paths if os.path.isfile(os.path.join(p, file))), None)


def installed_petsc():
    """The folder of the package petsc, or None."""
    return installed("petsc", os.path.join("include", "petscversion.h"))


def petsc4py_petsc():
    """(PETSC_DIR, PETSC_ARCH) that petsc4py was built with, as its petsc.cfg says, or None: PyPI's names no folder, or
    that of a build that is gone. With several PETSC_ARCH that of the environment, else the first, as petsc4py does."""
    path = installed("petsc4py", os.path.join("lib", "petsc.cfg"))
    if path is None:
        return None
    with open(os.path.join(path, "lib", "petsc.cfg"), encoding="utf-8") as f:
        config = dict(re.findall(r"^[ \t]*(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", f.read(), re.MULTILINE))
    folder = config.get("PETSC_DIR", "")
    if not folder or not os.path.isfile(os.path.join(folder, "include", "petscversion.h")):
        return None
    arches = [a.strip() for a in config.get("PETSC_ARCH", "").split(os.pathsep) if a.strip()] or [""]
    wanted = os.environ.get("PETSC_ARCH", "")
    return folder, wanted if wanted in arches else arches[0]


def find_petsc():
    """(PETSC_DIR, PETSC_ARCH, whether it is the package petsc), or None."""
    if os.environ.get("PETSC_DIR"):
        return os.environ["PETSC_DIR"], os.environ.get("PETSC_ARCH", ""), False
    path, found = installed_petsc(), petsc4py_petsc()
    if found and not (path and os.path.realpath(path) == os.path.realpath(found[0])):
        return found + (False,)
    return (path, "", True) if path else None


def numbers(folder):
    """The three numbers of PETSc's version."""
    with open(os.path.join(folder, "include", "petscversion.h"), encoding="utf-8") as f:
        text = f.read()
    found = dict(re.findall(r"#define PETSC_VERSION_(\w+)\s+(\d+)", text))
    return tuple(int(found[k]) for k in ("MAJOR", "MINOR", "SUBMINOR"))


def run_requires():
    """With a PETSc of the user's no PETSc; else packages of the minor version of PETSc that it was built with."""
    found = find_petsc()
    if found and not found[2]:
        return ["numpy"]
    wanted = PETSC
    if found:
        major, minor, _ = numbers(found[0])
        wanted = ">=%d.%d,<%d.%d" % (major, minor, major, minor + 1)
    return ["petsc" + wanted, "petsc4py" + wanted, "numpy"]


def get_requires_for_build_wheel(config_settings=None):
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    if find_petsc() is None:
        needed.append("petsc" + PETSC)
    return needed


# ---- The library -----------------------------------------------------------------------------------------------------
class Progress:
    """Lines for the log, which pip shows with -v, or when the build fails; on a terminal one line every 15 seconds."""

    def __init__(self, total):
        self.total, self.done, self.began, self.last = max(total, 1), 0, time.time(), time.time()
        try:
            self.terminal = open("/dev/tty", "w") if os.environ.get("TERM", "dumb") != "dumb" else None
        except OSError:
            self.terminal = None

    def line(self, text):
        print(text, flush=True)
        self.done += bool(re.match(r"\s+(CC|CUDA) ", text))
        if time.time() - self.last >= 15:
            self.last = time.time()
            state = "petscspike: %d of %d files compiled, %d s" % (self.done, self.total, time.time() - self.began)
            print(state, flush=True)
            if self.terminal:
                print("\r" + state, file=self.terminal, flush=True)


def fail(*lines):
    raise SystemExit("\n".join(("petscspike: cannot be built",) + lines))


def build_library():
    found = find_petsc()
    if found is None:
        fail("  found:  no PETSc: PETSC_DIR is not set, and there is neither a petsc4py with its PETSc nor a package"
             " petsc",
             "  Install PETSc and petsc4py: pip install petsc petsc4py. It needs a C compiler, make, MPI and BLAS; on",
             "  Debian: apt-get install gcc g++ make libopenmpi-dev openmpi-bin libopenblas-dev python3-dev",
             "  Or set PETSC_DIR and PETSC_ARCH to a PETSc with shared libraries, and use the petsc4py of that PETSc")
    petsc_dir, petsc_arch, packaged = found
    petsc_dir = os.path.abspath(petsc_dir)
    if not shutil.which("make"):
        fail("  found:  no make", "  Install GNU make: on Debian apt-get install make")
    command = [os.path.join(TOP, "tools", "checkpetsc"), petsc_dir, petsc_arch]
    check = subprocess.run(command, capture_output=True, text=True)
    if check.stdout.strip() != "ok":
        if os.environ.get("PETSC_DIR"):
            hint = "  With pip: leave PETSC_DIR unset, and the PETSc of petsc4py is taken, or pip brings both"
        else:
            hint = "  It is the PETSc of the petsc4py of this environment: a virtual environment without it brings both"
        fail(check.stderr.rstrip(), hint)
    print("petscspike: building with PETSC_DIR=%s PETSC_ARCH=%s" % (petsc_dir, petsc_arch), flush=True)
    # The caller's variables of a make above are not for this one
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    make = ["make", "-C", TOP, "--no-print-directory", "PETSC_DIR=" + petsc_dir, "PETSC_ARCH=" + petsc_arch,
            "BASE=" + BUILD, "SONAME=libpetscspike.so", "lib"]
    if packaged:  # both packages lie in one folder, wherever that is
        make.append("PETSC_RPATH=$$ORIGIN/../../petsc/lib")
    plan = subprocess.run(make + ["-n"], env=env, capture_output=True, text=True)
    progress = Progress(len(re.findall(r'^echo "\s+(?:CC|CUDA) ', plan.stdout, re.MULTILINE)))
    with subprocess.Popen(make, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for text in process.stdout:
            progress.line(text.rstrip("\n"))
    if process.returncode:
        fail("  make ended with status %d: its output is above" % process.returncode)
    pack(petsc_dir, petsc_arch, packaged)


def pack(petsc_dir, petsc_arch, packaged):
    """The library, the header and what they were made for go into the package."""
    for folder in ("lib", "include"):
        shutil.rmtree(os.path.join(PACKAGE, folder), ignore_errors=True)
        os.makedirs(os.path.join(PACKAGE, folder))
    shutil.copy(os.path.join(TOP, BUILD, "lib", "libpetscspike.so"), os.path.join(PACKAGE, "lib"))
    shutil.copy(os.path.join(TOP, "include", "petscspike.h"), os.path.join(PACKAGE, "include"))
    with open(os.path.join(petsc_dir, petsc_arch, "include", "petscconf.h"), encoding="utf-8") as f:
        conf = f.read()
    has = lambda name: bool(re.search(r"^\s*#\s*define\s+%s\b" % name, conf, re.MULTILINE))
    with open(os.path.join(PACKAGE, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"PETSC_DIR": "" if packaged else petsc_dir, "PETSC_ARCH": petsc_arch,
                   "petsc": "%d.%d" % numbers(petsc_dir)[:2],
                   "scalar": "complex" if has("PETSC_USE_COMPLEX") else "real",
                   "precision": "single" if has("PETSC_USE_REAL_SINGLE") else "double",
                   "int": 64 if has("PETSC_USE_64BIT_INDICES") else 32,
                   "cuda": has("PETSC_HAVE_CUDA")}, f, indent=1, sort_keys=True)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build_library()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


# ---- pip install -e --------------------------------------------------------------------------------------------------
def get_requires_for_build_editable(config_settings=None):
    return get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return build_meta.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_library()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
