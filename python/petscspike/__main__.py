# SPDX-License-Identifier: BSD-2-Clause
"""python -m petscspike [--library | --include] [PETSc's options]: the state of petscspike, and a small solve.

  --library   prints only the path of libpetscspike.so
  --include   prints only the folder of petscspike.h

With -mat_type aijcusparse the solve is on a GPU.
"""
import ctypes
import sys


def devices():
    """Names of the GPUs that CUDA's driver knows; None without a driver. It makes no context."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    count, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(128)
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return []
    found = []
    for i in range(count.value):
        if cuda.cuDeviceGet(ctypes.byref(device), i) == 0 and cuda.cuDeviceGetName(name, len(name), device) == 0:
            found.append(name.value.decode())
    return found


def gpu(PETSc):
    """One line about GPUs, and whether they are of use: PETSc and the library must have CUDA."""
    names = devices()
    if not PETSc.Sys.hasExternalPackage("cuda"):
        return "not used: this PETSc is without CUDA%s" % (" (there is %s)" % names[0] if names else "")
    if not names:
        return "none found (%s)" % ("no driver" if names is None else "the driver sees none")
    return ", ".join(names)


def types(PETSc, petscspike):
    """Names of all types; those for GPUs are there where PETSc has CUDA."""
    cuda = PETSc.Sys.hasExternalPackage("cuda")
    return {n for n in petscspike._header.strings().values() if cuda or not n.endswith("cuda")}


def solve(PETSc, petscspike):
    """A band matrix of 1000 rows, once directly and once by a Krylov method; prints what was used and how exact."""
    n, right = 1000, True
    A = PETSc.Mat().create()
    A.setSizes([n, n])
    A.setFromOptions()
    A.setUp()
    for i in range(*A.getOwnershipRange()):
        for offset, value in ((-2, 1.0), (-1, -5.5), (0, 12.0), (1, -4.5), (2, 1.0)):
            if 0 <= i + offset < n:
                A[i, i + offset] = value
    A.assemble()
    x, b = A.createVecs()
    x.set(1.0)
    A.mult(x, b)  # the solution is 1 everywhere
    bound = n * PETSc.RealType(10) ** (-6 if PETSc.RealType().itemsize == 4 else -11)
    for method in ("preonly", petscspike.KSPBCGSFUSED, petscspike.KSPIDRFUSED):
        ksp = PETSc.KSP().create()
        ksp.setOperators(A)
        ksp.setType(method)
        ksp.getPC().setType(petscspike.PCSPIKE)
        ksp.setTolerances(rtol=1e-5 if PETSc.RealType().itemsize == 4 else 1e-10)
        ksp.setFromOptions()
        x.set(0.0)
        ksp.solve(b, x)
        error = (x - 1.0).norm(PETSc.NormType.INFINITY)
        good = ksp.getConvergedReason() > 0 and error < bound
        right = right and good
        info = petscspike.PCSpikeGetInfo(ksp.getPC()) if ksp.getPC().getType() == petscspike.PCSPIKE else {}
        PETSc.Sys.Print("solve        %s with %s%s: %d iterations, largest error %.0e, %s" % (
            ksp.getType(), ksp.getPC().getType(), " on %s" % info["backend"] if info else "",
            ksp.getIterationNumber(), error, "right" if good else "WRONG"))
    return right


def main():
    import petscspike

    for option, function in (("--library", petscspike.library), ("--include", petscspike.include)):
        if option in sys.argv[1:]:
            print(function())
            return 0
    if "--help" in sys.argv[1:]:
        print(__doc__)
        return 0
    import petsc4py

    petsc4py.init(sys.argv)
    from petsc4py import PETSc

    built = petscspike.config()
    lines = [("petscspike", petscspike.__version__), ("library", petscspike.library())]
    if built:
        lines.append(("built with", "PETSc %(petsc)s, %(scalar)s, %(precision)s, %(int)s-bit PetscInt, " % built
                      + ("CUDA" if built["cuda"] else "no CUDA")))
    config = petsc4py.get_config()
    folder = " ".join(v for v in (config.get("PETSC_DIR"), config.get("PETSC_ARCH")) if v)
    lines += [
        ("PETSc", "%s%s" % (".".join(map(str, PETSc.Sys.getVersion())), " in " + folder if folder else "")),
        ("petsc4py", petsc4py.__version__),
        ("GPU", gpu(PETSc)),
        ("types", " ".join(sorted(types(PETSc, petscspike)))),
        ("ranks", PETSc.COMM_WORLD.getSize()),
    ]
    for name, value in lines:
        PETSc.Sys.Print("%-12s %s" % (name, value))
    return 0 if solve(PETSc, petscspike) else 1


if __name__ == "__main__":
    sys.exit(main())
