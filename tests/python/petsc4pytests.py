# SPDX-License-Identifier: BSD-2-Clause
"""petsc4pytests.py FOLDER types|forced: petsc4py's own tests, of its folder test, with types of petscspike.

types   test_ksp: its test cases, once more for each of our types
forced  tests of modules that take options, with ours in the options: what passes with PETSc's own passes with these

Prints TAP lines. Tests that cannot hold with our types are in EXCEPT, with the reason.
"""
import importlib
import io
import os
import sys
import unittest

folder, what = sys.argv[1:3]
sys.path.insert(0, folder)
import petscspike
import petsc4py

petsc4py.init(sys.argv[:1])
from petsc4py import PETSc

# Those whose objects take options
MODULES = ("test_snes", "test_ts", "test_snes_py", "test_ts_py")
EXCEPT = {}
if PETSc.RealType().itemsize == 4:
    # Differences of the function make A v to 3e-4 in single precision: no true residual is below the tolerance of 1e-5,
    # which the fused methods ask for; it passes with -ksp_fused_check_true_residual 0
    EXCEPT["testMF"] = "differences in single precision are no operator of which a true residual gets small"


class Tap(unittest.TestResult):
    def __init__(self, prefix):
        super().__init__()
        self.prefix, self.failed, self.passed = prefix, {}, set()

    def addSuccess(self, test):
        self.passed.add(test.id())

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.failed[test.id()] = self._exc_info_to_string(error, test)

    def addFailure(self, test, error):
        self.failed[test.id()] = self._exc_info_to_string(error, test)

    addError = addFailure

    def line(self, name, text=None):
        """One TAP line: text is that of a failure."""
        print("%sok %s %s" % ("not " if text else "", self.prefix, name))
        for line in (text or "").splitlines():
            print("# " + line)


def run(suite, prefix):
    result = Tap(prefix)
    stdout, sys.stdout = sys.stdout, io.StringIO()  # the tests print
    try:
        suite.run(result)
    finally:
        sys.stdout = stdout
    return result


def suite_of(cls):
    return unittest.defaultTestLoader.loadTestsFromTestCase(cls)


def types():
    module = importlib.import_module("test_ksp")
    for ksp in (petscspike.KSPBCGSFUSED, petscspike.KSPCGFUSED, petscspike.KSPIDRFUSED, "preonly", "gmres"):
        for pc in (petscspike.PCSPIKE, petscspike.PCBLOCKILU, "jacobi", "none"):
            if ksp in ("preonly", "gmres") and pc in ("jacobi", "none"):
                continue
            cls = type("Test", (module.BaseTestKSP, unittest.TestCase), {"KSP_TYPE": ksp, "PC_TYPE": pc})
            report(run(suite_of(cls), "petsc4py test_ksp with %s and %s:" % (ksp, pc)))
    for pc in ("lu", "cholesky"):
        for ksp in ("preonly", petscspike.KSPBCGSFUSED):

            def set_up(self, pc=pc):
                module.BaseTestKSP.setUp(self)
                self.ksp.getPC().setFactorSolverType(petscspike.MATSOLVERSPIKE)

            members = {"KSP_TYPE": ksp, "PC_TYPE": pc, "setUp": set_up}
            cls = type("Test", (module.BaseTestKSP, unittest.TestCase), members)
            report(run(suite_of(cls), "petsc4py test_ksp with %s and %s of %s:" % (ksp, pc, petscspike.MATSOLVERSPIKE)))


def report(result):
    for test in sorted(result.passed - set(result.failed)):
        result.line(test.split(".")[-1])
    for test, text in sorted(result.failed.items()):
        name = test.split(".")[-1]
        reason = EXCEPT.get(name)
        if reason:
            print("ok %s %s # SKIP %s" % (result.prefix, name, reason))
        else:
            result.line(name, text)
    if not result.passed and not result.failed:
        result.line("no test ran", "no test ran")


def factored():
    """How often our preconditioners were set up so far: forced options have arrived where it grows."""
    return sum(PETSc.Log.Event(e).getPerfInfo()["count"] for e in ("PCSpikeFactor", "PCBlockILUFactor"))


def forced():
    """Each module with PETSc's types first, then with ours, by options."""
    options = PETSc.Options()
    own = {"ksp_type": "bcgs", "pc_type": "ilu"}
    ours = [{"ksp_type": petscspike.KSPBCGSFUSED, "pc_type": petscspike.PCSPIKE},
            {"ksp_type": petscspike.KSPIDRFUSED, "pc_type": petscspike.PCBLOCKILU},
            {"ksp_type": "gmres", "pc_type": petscspike.PCSPIKE}]
    PETSc.Log.begin()
    for name in MODULES:
        passed = {}
        for choice in [own] + ours:
            for key, value in choice.items():
                options[key] = value
            suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
            before = factored()
            result = run(suite, "petsc4py %s forced to %s and %s:" % (name, choice["ksp_type"], choice["pc_type"]))
            used = factored() - before
            good = result.passed - set(result.failed)
            if choice is own:
                passed = good
                continue
            excused = {t for t in passed - good if t.split(".")[-1] in EXCEPT}
            for test in sorted(excused):
                print("ok %s %s # SKIP %s" % (result.prefix, test, EXCEPT[test.split(".")[-1]]))
            lost = sorted(passed - good - excused)
            if lost:
                text = "\n".join(result.failed.get(t, t + " did not run") for t in lost)
            elif not passed or not used:
                text = "no test passed with PETSc's own types" if not passed else "no test took the options"
            else:
                text = None
            result.line("all of %d tests" % len(passed - excused), text)
        for key in own:
            options.delValue(key)


{"types": types, "forced": forced}[what]()
