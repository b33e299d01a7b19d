# SPDX-License-Identifier: BSD-2-Clause
"""gridstencil.py: MATGRIDSTENCIL from Python, beside an AIJ matrix of the same entries."""
import random
import sys

import petscspike
import petsc4py

petsc4py.init(sys.argv)
import numpy
from petsc4py import PETSc

random.seed(7)
COMPLEX = issubclass(PETSc.ScalarType, PETSc.ComplexType)


def number():
    return random.uniform(-1, 1) + (1j * random.uniform(-1, 1) if COMPLEX else 0)


def check(sizes, dof, offsets, periodic, variable):
    dim = len(sizes)
    boundary = PETSc.DM.BoundaryType.PERIODIC if periodic else PETSc.DM.BoundaryType.NONE
    dm = PETSc.DMDA().create(sizes=sizes, dof=dof, stencil_width=2, stencil_type="box", boundary_type=(boundary,) * dim,
                             setup=True)
    mat = petscspike.MatCreateGridStencil(dm, offsets)
    assert mat.getType() == petscspike.MATGRIDSTENCIL and mat.getRefCount() == 1, mat.getRefCount()
    full = [tuple(o) + (0,) * (3 - len(o)) if not isinstance(o, int) else (o, 0, 0) for o in offsets]
    assert petscspike.MatGridStencilGetStencil(mat) == full
    n = int(numpy.prod(sizes)) * dof
    ranges = [range(a, b) for a, b in dm.getRanges()] + [range(1)] * (3 - dim)
    points = [(i, j, k) for k in ranges[2] for j in ranges[1] for i in ranges[0]]
    coefficients = numpy.array([number() for _ in range(len(offsets) * dof * dof)], dtype=PETSc.ScalarType)
    scale = lambda p: 1.0 + 0.1 * (p[0] + 2 * p[1] + 3 * p[2]) if variable else 1.0
    if variable:
        vecs = []
        for s in range(len(offsets)):
            for e in range(dof):
                v = dm.createGlobalVec()
                array = v.getArray()
                for r, p in enumerate(points):
                    for c in range(dof):
                        array[r * dof + c] = scale(p) * coefficients[(s * dof + c) * dof + e]
                vecs.append(v)
        petscspike.MatGridStencilSetCoefficientVecs(mat, vecs)
    else:
        petscspike.MatGridStencilSetCoefficients(mat, coefficients)
    aij = PETSc.Mat().createAIJ([(len(points) * dof, n), (len(points) * dof, n)], nnz=len(offsets) * dof)
    aij.setLGMap(dm.getLGMap(), dm.getLGMap())
    aij.setUp()
    ao = dm.getAO()
    size = list(sizes) + [1] * (3 - dim)
    natural = lambda p, c: ((p[2] * size[1] + p[1]) * size[0] + p[0]) * dof + c
    for p in points:
        for s, o in enumerate(full):
            q = tuple(a + b for a, b in zip(p, o))
            if periodic:
                q = tuple(a % m for a, m in zip(q, size))
            elif not all(0 <= a < m for a, m in zip(q, size)):
                continue
            for c in range(dof):
                for e in range(dof):
                    i, j = ao.app2petsc([natural(p, c), natural(q, e)])
                    aij.setValue(i, j, scale(p) * coefficients[(s * dof + c) * dof + e], PETSc.InsertMode.ADD_VALUES)
    aij.assemble()
    x, y, z = dm.createGlobalVec(), dm.createGlobalVec(), dm.createGlobalVec()
    x.setArray(numpy.array([number() for _ in range(x.getLocalSize())], dtype=PETSc.ScalarType))
    for product in ("mult", "multTranspose"):
        getattr(mat, product)(x, y)
        getattr(aij, product)(x, z)
        scale_ = z.norm()
        z.axpy(-1.0, y)
        bound = 1e4 * numpy.finfo(PETSc.RealType).eps * scale_
        assert scale_ > 0 and z.norm() <= bound, (sizes, dof, product, z.norm(), scale_)


check((17,), 1, [0, 1, -1, 2], False, False)
check((13,), 2, [(0,), (-1,), (1,)], True, False)
check((7, 9), 1, [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)], False, False)
check((7, 6), 2, [(0, 0), (1, 0), (0, -1)], False, True)
check((5, 6, 7), 1, [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, -1, 0)], False, True)
if PETSc.COMM_WORLD.getRank() == 0:
    print("gridstencil OK")
