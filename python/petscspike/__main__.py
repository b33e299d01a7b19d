# SPDX-License-Identifier: BSD-2-Clause
"""python -m petscspike [--library | --include] [PETSc's options]: the state of petscspike, and a small solve.

  --library   prints only the path of libpetscspike.so; like --include without petsc4py too
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


KINDS = ("MATSOLVER", "MatSolver"), ("MATORDERING", "MatOrdering"), ("MAT", "Mat"), ("KSP", "KSP"), ("PC", "PC")


def known(PETSc, kind, name):
    """Whether PETSc finds a type by its name. Other errors, as those without a GPU, come after that."""
    A = PETSc.Mat().createAIJ([1, 1], nnz=1, comm=PETSc.COMM_SELF)
    A[0, 0] = 1.0
    A.assemble()
    unknown = {86, 92}  # PETSC_ERR_UNKNOWN_TYPE, PETSC_ERR_MISSING_FACTOR
    try:
        if kind == "MatOrdering":
            unknown.add(63)  # PETSC_ERR_ARG_OUTOFRANGE
            A.getOrdering(name)
        elif kind == "MatSolver":
            pc = PETSc.PC().create(PETSc.COMM_SELF)
            pc.setOperators(A)
            pc.setType("lu")
            pc.setFactorSolverType(name)
            pc.setFactorSetUpSolverType()
        else:
            made = getattr(PETSc, kind)().create(PETSc.COMM_SELF)
            if kind == "Mat":
                made.setSizes([1, 1])
            made.setType(name)
    except PETSc.Error as error:
        return error.ierr not in unknown
    return True


def registered(PETSc, petscspike):
    """Names of the header that PETSc knows, and those that it lacks, as "PC spike"; for GPUs where PETSc has CUDA."""
    cuda = PETSc.Sys.hasExternalPackage("cuda")
    there, lacking = [], []
    for macro, name in petscspike._header.strings().items():
        kind = next(k for prefix, k in KINDS if macro.startswith(prefix))
        if cuda or not name.endswith("cuda"):
            (there if known(PETSc, kind, name) else lacking).append("%s %s" % (kind, name))
    return sorted(there), sorted(lacking)


def grouped(names):
    """PC blockilu spike, KSP bcgsfused ..."""
    groups = {}
    for kind, name in (n.split() for n in names):
        groups.setdefault(kind, []).append(name)
    return ", ".join(" ".join([kind] + found) for kind, found in groups.items())


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
    petsc4py = petscspike._load.needed()
    petsc4py.init(sys.argv)
    from petsc4py import PETSc

    built = petscspike.config()
    lines = [("petscspike", petscspike.__version__), ("library", petscspike.library())]
    if built:
        lines.append(("built with", "PETSc %(petsc)s, %(scalar)s, %(precision)s, %(int)s-bit PetscInt, " % built
                      + ("CUDA" if built["cuda"] else "no CUDA")))
    config = petsc4py.get_config()
    folder = " ".join(v for v in (config.get("PETSC_DIR"), config.get("PETSC_ARCH")) if v)
    there, lacking = registered(PETSc, petscspike)
    lines += [
        ("PETSc", "%s%s" % (".".join(map(str, PETSc.Sys.getVersion())), " in " + folder if folder else "")),
        ("petsc4py", petsc4py.__version__),
        ("GPU", gpu(PETSc)),
        ("types", grouped(there)),
        ("ranks", PETSc.COMM_WORLD.getSize()),
    ]
    if lacking:
        lines.append(("MISSING", grouped(lacking) + ": petscspike.h names them, the library has not registered them"))
    for name, value in lines:
        PETSc.Sys.Print("%-12s %s" % (name, value))
    return 0 if not lacking and solve(PETSc, petscspike) else 1


if __name__ == "__main__":
    sys.exit(main())
