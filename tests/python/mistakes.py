# SPDX-License-Identifier: BSD-2-Clause
"""mistakes.py: wrong arguments end in exceptions with a text, and the objects work afterwards."""
import sys

import petscspike
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc


def raises(kind, text, function, *arguments):
    try:
        function(*arguments)
    except kind as error:
        assert text in str(error), (text, str(error))
    else:
        raise AssertionError("%s: no %s" % (text, kind.__name__))


pc = PETSc.PC().create()
raises(PETSc.Error, "", petscspike.PCSpikeGetInfo, pc)  # no type yet: no such method
pc.setType(petscspike.PCSPIKE)
raises(TypeError, "a petsc4py PC is needed, not KSP", petscspike.PCSpikeSetBandwidth, PETSc.KSP().create(), 1, 1)
raises(TypeError, "3 arguments were given", petscspike.PCSpikeGetBandwidth, pc, 1, 1)
raises(TypeError, "PCSpikeSetBandwidth(PC, PetscInt, PetscInt)", petscspike.PCSpikeSetBandwidth, pc, 1)
raises(OverflowError, "does not fit into PetscInt", petscspike.PCSpikeSetBandwidth, pc, 2**70, 1)
raises(TypeError, "integer", petscspike.PCSpikeSetBandwidth, pc, 1.5, 1)
raises(PETSc.Error, "must be in [0, 1)", petscspike.PCSpikeSetDropoff, pc, -1.0)
raises(ValueError, "not created yet, or is destroyed", petscspike.PCSpikeGetBandwidth, PETSc.PC())
petscspike.PCSpikeSetBandwidth(pc, 2, 3)
assert petscspike.PCSpikeGetBandwidth(pc) == (2, 3)
pc.destroy()
raises(ValueError, "not created yet, or is destroyed", petscspike.PCSpikeGetBandwidth, pc)

dm = PETSc.DMDA().create(sizes=(9, 8), dof=2, stencil_width=1, setup=True)
raises(ValueError, "at most three", petscspike.MatCreateGridStencil, dm, [(0, 0, 0, 0)])
raises(OverflowError, "does not fit", petscspike.MatCreateGridStencil, dm, [(0, 2**70)])
raises(PETSc.Error, "", petscspike.MatCreateGridStencil, dm, [(0, 0), (2, 0)])  # wider than the grid's stencil
mat = petscspike.MatCreateGridStencil(dm, [(0, 0), (1, 0)])
raises(ValueError, "2 points with 2 unknowns take 8 coefficients, not 2", petscspike.MatGridStencilSetCoefficients, mat,
       [4.0, -1.0])
raises(ValueError, "take 4 vectors, not 1", petscspike.MatGridStencilSetCoefficientVecs, mat, [dm.createGlobalVec()])
petscspike.MatGridStencilSetCoefficients(mat, [4, 0, 0, 4, -1, 0, 0, -1])
x = mat.createVecRight()
x.set(1.0)
assert abs((mat * x).sum()) > 0
if PETSc.COMM_WORLD.getRank() == 0:
    print("mistakes OK")
