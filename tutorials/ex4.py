# SPDX-License-Identifier: BSD-2-Clause
"""ex4.py: PCSPIKE from Python. The library is loaded by PETSc itself, Python code needs nothing from it.

    python3 ex4.py -dll_append $SPIKE_LIB [-n 10000] [-pc_spike_local_partitions 8] [-ksp_view]
"""
import sys
import petsc4py

petsc4py.init(sys.argv)  # -dll_append must be there when PETSc is initialized
from petsc4py import PETSc

options = PETSc.Options()
n = options.getInt("n", 10000)

# Five diagonals, unsymmetric; half-bandwidth 2
A = PETSc.Mat().createAIJ([n, n], nnz=5)
start, end = A.getOwnershipRange()
for i in range(start, end):
    for offset, value in ((-2, 1.0), (-1, -5.5), (0, 10.0), (1, -4.5), (2, 1.0)):
        if 0 <= i + offset < n:
            A[i, i + offset] = value
A.assemble()

x, b = A.createVecs()
x.set(1.0)
A.mult(x, b)  # the solution is 1 everywhere
x.set(0.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("bcgs")
ksp.setTolerances(rtol=1e-10)
try:
    ksp.getPC().setType("spike")
except PETSc.Error as error:
    sys.exit("PETSc knows no PC type spike; run with -dll_append $SPIKE_LIB (make -s info prints its path)\n%s" % error)
ksp.setFromOptions()
ksp.solve(b, x)

residual = b.duplicate()
A.mult(x, residual)
residual.aypx(-1.0, b)
relative = residual.norm() / b.norm()
PETSc.Sys.Print("converged: %s" % (ksp.getConvergedReason() > 0))
PETSc.Sys.Print("true relative residual %s" % ("< 1e-8" if relative < 1e-8 else "%.2e" % relative))
PETSc.Sys.Print("largest error %s" % ("< 1e-6" if (x - 1.0).norm(PETSc.NormType.INFINITY) < 1e-6 else "too large"))
