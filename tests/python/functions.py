# SPDX-License-Identifier: BSD-2-Clause
"""functions.py: each setter of petscspike.h, by its getter, with several values; names of types and enumerations."""
import enum
import sys

import petscspike
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc
from petscspike import _header

A = PETSc.Mat().createAIJ([30, 30], nnz=1)
for i in range(*A.getOwnershipRange()):
    A[i, i] = 2.0
A.assemble()


def objects(name):
    """An object of the type that the function is for."""
    if name.startswith("PC"):
        pc = PETSc.PC().create()
        pc.setOperators(A)
        pc.setType(petscspike.PCSPIKE if name.startswith("PCSpike") else petscspike.PCBLOCKILU)
        return [pc]
    if name.startswith("KSP"):
        types = [petscspike.KSPIDRFUSED]
        if name.startswith("KSPFused"):
            types += [petscspike.KSPCGFUSED, petscspike.KSPBCGSFUSED]
        found = []
        for type_ in types:
            ksp = PETSc.KSP().create()
            ksp.setType(type_)
            found.append(ksp)
        return found
    return [A.convert(petscspike.MATDIA, out=PETSc.Mat())]


def values(kind, name):
    if kind == "PetscInt":
        return [1, 3]
    if kind == "PetscReal":
        return [0.25, 0.5]
    if kind == "PetscBool":
        return [True, False]
    if kind == "PetscBool3":
        return [1, 0, -1]
    return list(_header.enumerations()[kind])


# What the setter refuses: values that another type has, or that are too small, or that PETSc's backend lacks
REFUSED = {
    ("KSPFusedSetMatSolveType", "KSP_FUSED_MATSOLVE_BLOCK"),
    ("MatDIASetMaxFill", "0.25"),
    ("MatDIASetMaxFill", "0.5"),
    ("PCBlockILUSetPrecision", "PETSC_SPIKE_PRECISION_BF16"),
    ("PCBlockILUSetPrecision", "PETSC_SPIKE_PRECISION_FP16"),
}
refused = set()
for name, prototype in sorted(_header.prototypes().items()):
    if "Set" not in name or any("[" in a for a in prototype):
        continue
    getter = getattr(petscspike, name.replace("Set", "Get", 1))
    setter = getattr(petscspike, name)
    kinds = prototype[1:]
    for thing in objects(name):
        before = getter(thing)
        for value in values(kinds[0], name):
            given = (value,) * len(kinds)
            if len(kinds) == 2:
                given = (value, value + 1)
            try:
                setter(thing, *given)
            except PETSc.Error:
                refused.add((name, getattr(value, "name", str(value))))
                continue
            got = getter(thing)
            got = got if isinstance(got, tuple) else (got,)
            assert got == given, (name, given, got)
            for g, k in zip(got, kinds):
                assert not isinstance(g, enum.Enum) or k == type(g).__name__, (name, g)
        assert before is not None
assert refused <= REFUSED, refused - REFUSED

# Names
assert petscspike.PCSPIKE == "spike" and petscspike.MATSEQDIA == "seqdia" and petscspike.MATSOLVERSPIKE == "spike"
assert petscspike.PC_SPIKE_FULL == petscspike.PCSpikeType.PC_SPIKE_FULL == 2
assert petscspike.__version__ == "0.1.0"
for name in petscspike.__all__:
    assert hasattr(petscspike, name), name
assert len(_header.structures()) == 3 and len(_header.enumerations()) >= 11

# Texts are results too
pc = objects("PCSpike")[0]
pc.setFactorOrdering("rcm")
assert petscspike.PCSpikeGetMatOrderingType(pc) == "rcm", petscspike.PCSpikeGetMatOrderingType(pc)
if PETSc.COMM_WORLD.getRank() == 0:
    print("functions OK")
