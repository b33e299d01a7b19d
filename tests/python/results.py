# SPDX-License-Identifier: BSD-2-Clause
"""results.py: dictionaries and arrays that functions of petscspike.h return, beside what is known of the solve."""
import sys

import petscspike
import petsc4py

petsc4py.init(sys.argv)
import numpy
from petsc4py import PETSc

n, kl, ku = 211, 3, 2
single = PETSc.RealType().itemsize == 4
ranks = PETSc.COMM_WORLD.getSize()
A = PETSc.Mat().createAIJ([n, n], nnz=kl + ku + 1)
for i in range(*A.getOwnershipRange()):
    for j in range(max(0, i - kl), min(n, i + ku + 1)):
        A[i, j] = 9.0 if i == j else 1.0 / (1 + i + 2 * j) - 0.5
A.assemble()
x, b = A.createVecs()
x.set(1.0)
A.mult(x, b)

# PCSPIKE
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType(petscspike.KSPBCGSFUSED)
pc = ksp.getPC()
pc.setType(petscspike.PCSPIKE)
petscspike.PCSpikeSetLocalPartitions(pc, 2)
petscspike.PCSpikeSetType(pc, petscspike.PC_SPIKE_TRUNCATED)
ksp.setTolerances(rtol=1e-4 if single else 1e-9)
ksp.setUp()
info = petscspike.PCSpikeGetInfo(pc)
assert (info["n"], info["kl"], info["ku"], info["partitions"]) == (n, kl, ku, 2 * ranks), info
assert info["type"] is petscspike.PC_SPIKE_TRUNCATED and info["backend"] == "host"
assert info["cut"] is False and info["dropped"] == 0.0 and info["zeropivot_row"] == -1
assert 0.0 < info["bytes"] < 1e6 and info["rebuilds"] == 1 and info["refills"] == 0
assert set(info) >= {"decay", "border", "cuts", "factor_type", "exchange", "backward_error"}
ksp.solve(b, x)
assert ksp.getConvergedReason() > 0
fused = petscspike.KSPFusedGetInfo(ksp)
assert fused["backend"] in ("host", "petsc") and fused["launched"] >= ksp.getIterationNumber()
assert fused["product"] in petscspike.KSPFusedSpMVType and fused["unit"] == 1.0

# Columns
B = PETSc.Mat().createDense([n, 3], array=None)
B.setUp()
start, end = B.getOwnershipRange()
for i in range(start, end):
    for j in range(3):
        B[i, j] = 1.0 + (i * (j + 1)) % 5
B.assemble()
X = B.duplicate()
assert petscspike.KSPFusedGetColumns(ksp)["iterations"] == []
ksp.matSolve(B, X)
columns = petscspike.KSPFusedGetColumns(ksp)
assert len(columns["iterations"]) == len(columns["reasons"]) == len(columns["norms"]) == 3
assert all(r > 0 for r in columns["reasons"]) and all(i >= 1 for i in columns["iterations"])
assert isinstance(columns["together"], bool)

# Index sets, which belong to the caller
pc = PETSc.PC().create()
pc.setOperators(A)
pc.setType(petscspike.PCSPIKE)
pc.setUp()
rows, columns, border, starts = petscspike.PCSpikeGetOrdering(pc)
assert rows.getSize() == columns.getSize() == n and rows.getLocalSize() == A.getLocalSize()[0]
assert border.getSize() == petscspike.PCSpikeGetInfo(pc)["border"]
assert starts.getSize() == petscspike.PCSpikeGetInfo(pc)["partitions"]
assert [s.getRefCount() for s in (rows, columns, border, starts)] == [1, 1, 1, 1]
for thing in (rows, columns, border, starts, pc):
    thing.destroy()

# PCBLOCKILU
pc = PETSc.PC().create()
pc.setOperators(A)
pc.setType(petscspike.PCBLOCKILU)
petscspike.PCBlockILUSetBlockSize(pc, 1)
pc.setUp()
info = petscspike.PCBlockILUGetInfo(pc)
assert info["bs"] == 1 and info["block_rows"] == n and info["subdomains"] == ranks, info
assert info["factor_blocks"] > 0 and info["backend"] == "host"

# MATDIA
dia = A.convert(petscspike.MATDIA, out=PETSc.Mat())
diagonals = petscspike.MatDIAGetDiagonals(dia)
assert diagonals == sorted(diagonals) and set(diagonals) <= set(range(-kl, ku + 1)), diagonals
if ranks == 1:
    assert diagonals == list(range(-kl, ku + 1))

# MATSOLVERSPIKE: the PC inside of its factors is PCSPIKE
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("preonly")
ksp.getPC().setType("lu")
ksp.getPC().setFactorSolverType(petscspike.MATSOLVERSPIKE)
ksp.setUp()
inner = petscspike.MatSpikeGetPC(ksp.getPC().getFactorMatrix())
assert inner.getType() == petscspike.PCSPIKE and petscspike.PCSpikeGetInfo(inner)["n"] == n
assert inner.getRefCount() == 2  # of the factor, and this one
del inner
assert petscspike.MatSpikeGetPC(ksp.getPC().getFactorMatrix()).getRefCount() == 2
ksp.solve(b, x)
assert ksp.getConvergedReason() > 0 and (x - 1.0).norm(PETSc.NormType.INFINITY) < (1e-3 if single else 1e-10)
for thing in (ksp, pc, dia):
    thing.destroy()
if PETSc.COMM_WORLD.getRank() == 0:
    print("results OK")
