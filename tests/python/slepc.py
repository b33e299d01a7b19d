# SPDX-License-Identifier: BSD-2-Clause
"""slepc.py [options]: eigenvalues near a target by SLEPc's shift-and-invert, beside the formula.

-D2 with Dirichlet boundaries on n points has the eigenvalues 2 - 2 cos(k pi / (n + 1)); with the mass matrix
tridiag(1, 4, 1) / 6 the generalized problem has (2 - 2 c) / ((4 + 2 c) / 6), c = cos(k pi / (n + 1)).
The options choose how A - sigma B is solved; the program prints the solver that did it.
"""
import math
import sys

import petscspike
import slepc4py

slepc4py.init(sys.argv)
from petsc4py import PETSc
from slepc4py import SLEPc

n, wanted = 400, 6
single = PETSc.RealType().itemsize == 4


def tridiagonal(diagonal, off):
    A = PETSc.Mat().createAIJ([n, n], nnz=3)
    for i in range(*A.getOwnershipRange()):
        for j, value in ((i - 1, off), (i, diagonal), (i + 1, off)):
            if 0 <= j < n:
                A[i, j] = value
    A.assemble()
    return A


def check(name, generalized, target):
    A, B = tridiagonal(2.0, -1.0), tridiagonal(4.0 / 6.0, 1.0 / 6.0) if generalized else None
    eps = SLEPc.EPS().create()
    eps.setOperators(A, B)
    eps.setProblemType(SLEPc.EPS.ProblemType.GHEP if generalized else SLEPc.EPS.ProblemType.HEP)
    eps.setDimensions(wanted)
    eps.setTarget(target)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    eps.setTolerances(tol=1e-4 if single else 1e-9)
    eps.getST().setType(SLEPc.ST.Type.SINVERT)
    eps.setFromOptions()
    eps.solve()
    exact = []
    for k in range(1, n + 1):
        c = math.cos(k * math.pi / (n + 1))
        exact.append((2 - 2 * c) / ((4 + 2 * c) / 6) if generalized else 2 - 2 * c)
    exact.sort(key=lambda e: abs(e - target))
    found = sorted((eps.getEigenvalue(i).real for i in range(eps.getConverged())), key=lambda e: abs(e - target))
    assert len(found) >= wanted, (name, len(found))
    # Two eigenvalues are never nearer to each other here than the bound
    error = max(min(abs(e - f) for e in exact[: wanted + 2]) for f in found[:wanted])
    assert error < (1e-2 if single else 1e-7), (name, error)
    assert len({min(range(n), key=lambda k: abs(exact[k] - f)) for f in found[:wanted]}) == wanted, (name, found)
    ksp = eps.getST().getKSP()
    pc = ksp.getPC()
    solver = pc.getFactorSolverType() if pc.getType() in ("lu", "cholesky") else ""
    PETSc.Sys.Print("%s: right, by %s, %s%s" % (name, ksp.getType(), pc.getType(), " of " + solver if solver else ""))


check("standard", False, 0.7)
check("generalized", True, 0.003)
