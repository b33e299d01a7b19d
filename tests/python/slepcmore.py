# SPDX-License-Identifier: BSD-2-Clause
"""slepcmore.py jd|ciss|slice [options]: eigenvalues of -D2 on n points, 2 - 2 cos(k pi / (n + 1)), by solvers of SLEPc
other than shift-and-invert: Jacobi-Davidson, contour integrals, spectrum slicing by MatGetInertia().

The options choose how the systems inside are solved; the program prints the solvers that did it.
"""
import math
import sys

import petscspike
import slepc4py

method = sys.argv[1]
slepc4py.init(sys.argv[:1] + sys.argv[2:])
from petsc4py import PETSc
from slepc4py import SLEPc

n = 300
exact = [2 - 2 * math.cos(k * math.pi / (n + 1)) for k in range(1, n + 1)]
A = PETSc.Mat().createAIJ([n, n], nnz=3)
for i in range(*A.getOwnershipRange()):
    for j, value in ((i - 1, -1.0), (i, 2.0), (i + 1, -1.0)):
        if 0 <= j < n:
            A[i, j] = value
A.setOption(PETSc.Mat.Option.HERMITIAN, True)
A.assemble()
eps = SLEPc.EPS().create()
eps.setOperators(A)
eps.setProblemType(SLEPc.EPS.ProblemType.HEP)
eps.setTolerances(tol=1e-9)
low, high = 0.5, 0.58
if method == "jd":
    eps.setType(SLEPc.EPS.Type.JD)
    eps.setDimensions(4)
    eps.setTarget(0.0)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.SMALLEST_REAL)
    wanted = exact[:4]
elif method == "ciss":
    eps.setType(SLEPc.EPS.Type.CISS)
    region = eps.getRG()
    region.setType(SLEPc.RG.Type.INTERVAL)
    region.setIntervalEndpoints(low, high, 0.0, 0.0)
    wanted = [e for e in exact if low < e < high]
else:
    eps.setType(SLEPc.EPS.Type.KRYLOVSCHUR)
    eps.setWhichEigenpairs(SLEPc.EPS.Which.ALL)
    eps.setInterval(low, high)
    eps.getST().setType(SLEPc.ST.Type.SINVERT)
    wanted = [e for e in exact if low < e < high]
eps.setFromOptions()
eps.solve()
found = sorted(eps.getEigenvalue(i).real for i in range(eps.getConverged()))
if method == "jd":
    found = found[:4]
assert len(found) == len(wanted), (method, found, wanted)
error = max(abs(e - f) for e, f in zip(wanted, found))
assert error < 1e-7, (method, error)
ksp = eps.getST().getKSP()
pc = ksp.getPC()
solver = pc.getFactorSolverType() if pc.getType() in ("lu", "cholesky") else ""
PETSc.Sys.Print("%s: right, by %s, %s%s" % (method, ksp.getType(), pc.getType(), " of " + solver if solver else ""))
