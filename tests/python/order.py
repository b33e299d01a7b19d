# SPDX-License-Identifier: BSD-2-Clause
"""order.py ORDER [options]: petscspike is imported before or after PETSc is initialized, in each way that there is."""
import sys

order, options = sys.argv[1], sys.argv[:1] + sys.argv[2:] + ["-spike_test_number", "7"]


def solve():
    from petsc4py import PETSc

    n = 50
    A = PETSc.Mat().createAIJ([n, n], nnz=3)
    for i in range(*A.getOwnershipRange()):
        for offset, value in ((-1, -1.0), (0, 4.0 + 0.01 * i), (1, -2.0)):
            if 0 <= i + offset < n:
                A[i, i + offset] = value
    A.assemble()
    x, b = A.createVecs()
    x.set(1.0)
    A.mult(x, b)
    x.set(0.0)
    ksp = PETSc.KSP().create()
    ksp.setOperators(A)
    ksp.setType(petscspike.KSPBCGSFUSED)
    ksp.getPC().setType(petscspike.PCSPIKE)
    ksp.solve(b, x)
    assert ksp.getConvergedReason() > 0 and (x - 1.0).norm() < 1e-3
    assert ksp.getType() == "bcgsfused" and ksp.getPC().getType() == "spike"
    assert petscspike.PCSpikeGetInfo(ksp.getPC())["n"] == n
    PETSc.Sys.Print("solved")


if order in ("before", "both"):  # the options of petsc4py.init() arrive
    import petscspike
    import petsc4py

    assert not hasattr(petsc4py, "PETSc")
    petsc4py.init(options)
    from petsc4py import PETSc

    assert PETSc.Options().getInt("spike_test_number") == 7
elif order == "after":
    import petsc4py

    petsc4py.init(options)
    import petscspike
elif order == "between":  # petsc4py is there, PETSc is not initialized
    import petsc4py
    import petscspike

    petsc4py.init(options)
    import petscspike  # once more
elif order == "plain":  # no petsc4py.init()
    import petscspike
    from petsc4py import PETSc
solve()
petscspike.load()  # once more does no harm
solve()
