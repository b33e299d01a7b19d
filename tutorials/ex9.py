# SPDX-License-Identifier: BSD-2-Clause
"""ex9.py: the module petscspike: a stencil on a grid without a matrix, lines of the grid as preconditioner.

    python3 ex9.py [-n 65] [-ksp_view] [-ksp_monitor]         # after pip install petscspike; on several ranks too

-u_xx - 0.01 u_yy = f on n x n points. The operator is a MATGRIDSTENCIL, five numbers for the whole grid. Lines in x,
along which the coupling is strong, are the preconditioner: PCSPIKE with half-bandwidth 1 on an AIJ matrix of them.
"""
import sys

import petscspike  # loads the library as soon as PETSc is initialized
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc

n = PETSc.Options().getInt("n", 65)
weak = 0.01
dm = PETSc.DMDA().create(sizes=(n, n), stencil_width=1, stencil_type="star", setup=True)
A = petscspike.MatCreateGridStencil(dm, [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])
petscspike.MatGridStencilSetCoefficients(A, [2 + 2 * weak, -1, -1, -weak, -weak])

# The same without the coupling in y: tridiagonal systems, one for each line
P = dm.createMat()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(xs, xe), (ys, ye) = dm.getRanges()
for j in range(ys, ye):
    for i in range(xs, xe):
        row.index = (i, j)
        for offset, value in ((-1, -1.0), (0, 2 + 2 * weak), (1, -1.0)):
            if 0 <= i + offset < n:
                column.index = (i + offset, j)
                P.setValueStencil(row, column, value)
P.assemble()

x, b = dm.createGlobalVec(), dm.createGlobalVec()
x.set(1.0)
A.mult(x, b)  # the solution is 1 everywhere
x.set(0.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A, P)
ksp.setType(petscspike.KSPCGFUSED)
ksp.setTolerances(rtol=1e-6)
pc = ksp.getPC()
pc.setType(petscspike.PCSPIKE)
petscspike.PCSpikeSetBandwidth(pc, 1, 1)
ksp.setFromOptions()
ksp.solve(b, x)

PETSc.Sys.Print("%s with %s: converged: %s" % (ksp.getType(), pc.getType(), ksp.getConvergedReason() > 0))
if pc.getType() == petscspike.PCSPIKE:  # not another one of -pc_type
    info = petscspike.PCSpikeGetInfo(pc)
    PETSc.Sys.Print("half-bandwidths %d and %d, %s" % (info["kl"], info["ku"], info["type"].name))
PETSc.Sys.Print("largest error %s" % ("< 1e-3" if (x - 1.0).norm(PETSc.NormType.INFINITY) < 1e-3 else "too large"))
