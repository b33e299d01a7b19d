# SPDX-License-Identifier: BSD-2-Clause
"""petsc4pytests.py FOLDER types|forced: petsc4py's own tests, of its folder test, with types of petscspike.

types   test_ksp, test_pc, test_ksp_py, test_pc_py: their test cases, once more for each of our types
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

# Those whose objects take options, with the prefixes of the solvers that take them
MODULES = {"test_snes": ("",), "test_ts": ("",), "test_snes_py": ("",), "test_ts_py": ("",),
           "test_pc": ("sub_", "pc_bddc_dirichlet_", "pc_bddc_neumann_", "pc_bddc_coarse_")}
SINCE326 = PETSc.Sys.getVersion() >= (3, 26)
PCS = (petscspike.PCSPIKE, petscspike.PCBLOCKILU)
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
    types_pc()
    types_python()


def types_pc():
    """test_pc: a preconditioner alone, and inside each of our Krylov methods."""
    module = importlib.import_module("test_pc")
    if not SINCE326:
        print("ok petsc4py test_pc # SKIP petsc4py 3.26 is the first with tests of any type of PC there")
        return
    for pc in PCS:
        for ksp in (petscspike.KSPBCGSFUSED, petscspike.KSPCGFUSED, petscspike.KSPIDRFUSED):
            cls = type("Test", (module.BaseTestPC, unittest.TestCase), {"KSP_TYPE": ksp, "PC_TYPE": pc})
            report(run(suite_of(cls), "petsc4py test_pc with %s and %s:" % (ksp, pc)))


def inside(base, pctype):
    """A preconditioner in Python that has one of ours inside, in place of petsc4py's MyPCJacobi: A is 10 I there."""

    class MyPCJacobi(base):
        def setup(self, pc):
            self.pc = PETSc.PC().create(pc.comm)
            self.pc.setOperators(*pc.getOperators())
            self.pc.setType(pctype)
            self.pc.setUp()

        def reset(self, pc):
            self.pc.destroy()

        def right(self, x, y):
            y = y.copy()
            y.scale(10)
            y.axpy(-1, x)
            assert y.norm() <= 1e-6 * x.norm(), "not the inverse of 10 I"

        def apply(self, pc, x, y):
            self.pc.apply(x, y)
            self.right(x, y)

        def applyT(self, pc, x, y):
            self.pc.applyTranspose(x, y)
            self.right(x, y)

        def applyM(self, pc, x, y):
            self.pc.matApply(x, y)
            self.right(x, y)

    return MyPCJacobi


def types_python():
    """Krylov methods in Python with our preconditioners, and preconditioners in Python that have ours inside."""
    module = importlib.import_module("test_ksp_py")
    for pc in PCS:
        for method in (module.MyRichardson, module.MyCG):
            members = {"PC_TYPE": pc, "ContextClass": method}
            cls = type("Test", (module.BaseTestKSPPYTHON, unittest.TestCase), members)
            report(run(suite_of(cls), "petsc4py test_ksp_py, %s with %s:" % (method.__name__, pc)))
    module = importlib.import_module("test_pc_py")
    PETSc.Log.begin()
    for pc in PCS:
        module.MyPCJacobi = inside(module.BaseMyPC, pc)
        for cls in (module.TestPCPYTHON2, module.TestPCPYTHON4):
            before = factored()
            result = run(suite_of(cls), "petsc4py test_pc_py, %s with %s:" % (cls.__name__, pc))
            report(result)
            result.line("ours was inside", None if factored() > before else "no setup of %s" % pc)


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
    own = {"ksp_type": "bcgs", "pc_type": "ilu"}  # without the prefix
    ours = [{"ksp_type": petscspike.KSPBCGSFUSED, "pc_type": petscspike.PCSPIKE},
            {"ksp_type": petscspike.KSPIDRFUSED, "pc_type": petscspike.PCBLOCKILU},
            {"ksp_type": "gmres", "pc_type": petscspike.PCSPIKE}]
    one = {"ksp_type": "preonly", "pc_type": petscspike.PCSPIKE}  # test_pc compares bits: no GMRES, which rounds
    PETSc.Log.begin()
    for name, prefixes in MODULES.items():
        if name == "test_pc" and not SINCE326:
            print("ok petsc4py test_pc forced # SKIP petsc4py 3.26 is the first with solvers that take options there")
            continue
        passed = {}
        for choice in [own] + (ours if "" in prefixes else ours[:2] + [one]):
            for prefix in prefixes:
                for key, value in choice.items():
                    options[prefix + key] = value
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
        for prefix in prefixes:
            for key in own:
                options.delValue(prefix + key)


{"types": types, "forced": forced}[what]()
