# SPDX-License-Identifier: BSD-2-Clause
"""Finds libpetscspike.so, and registers its types in the PETSc of petsc4py whenever that is initialized."""
import ctypes
import functools
import json
import os
import sys

from . import _header

_handle = None


def library():
    """The path of libpetscspike.so: that of this package, or $SPIKE_LIB where it is set."""
    path = os.environ.get("SPIKE_LIB") or os.path.join(os.path.dirname(__file__), "lib", "libpetscspike.so")
    if not os.path.isfile(path):
        raise ImportError(
            "petscspike: no library %s. Install the package (pip install petscspike), or set SPIKE_LIB to the "
            "library that make built (make -s info prints its path)" % path
        )
    return os.path.abspath(path)


def include():
    """The folder of petscspike.h."""
    return _header.folder()


@functools.lru_cache(maxsize=None)
def _recorded():
    try:
        with open(os.path.join(os.path.dirname(__file__), "config.json"), encoding="utf-8") as f:
            return json.load(f)
    except FileNotFoundError:  # a source tree
        return {}


def config():
    """What the library was built with: PETSC_DIR, PETSC_ARCH, petsc, scalar, precision, int, cuda. Empty if unknown."""
    return dict(_recorded()) if not os.environ.get("SPIKE_LIB") else {}


def needed():
    """The package petsc4py. Where it is not there, ImportError says how to bring it."""
    try:
        import petsc4py.lib
    except ImportError as error:
        raise ImportError(
            "petscspike needs petsc4py: pip install petsc4py, or add PETSC_DIR/PETSC_ARCH/lib to PYTHONPATH where "
            "PETSc was configured with --with-petsc4py"
        ) from error
    return petsc4py


def petsc():
    """The module petsc4py.PETSc, with PETSc initialized."""
    module = sys.modules.get("petsc4py.PETSc")
    if module is None or not hasattr(module, "Sys") or not module.Sys.isInitialized():
        needed()
        raise RuntimeError(
            "petscspike: PETSc is not initialized: call petsc4py.init(sys.argv), or import petsc4py.PETSc"
        )
    return module


def _compare(module):
    """Raises ImportError where the library was built for another PETSc: a second libpetsc would come with it."""
    built = config()
    if not built:
        return
    scalar = "complex" if issubclass(module.ScalarType, module.ComplexType) else "real"
    here = {
        "petsc": ".".join(str(n) for n in module.Sys.getVersion()[:2]),
        "scalar": scalar,
        "precision": {4: "single", 8: "double"}.get(module.RealType().itemsize, "other"),
        "int": 8 * module.IntType().itemsize,
    }
    wrong = ["%s %s" % (k, built[k]) for k in here if str(built[k]) != str(here[k])]
    if wrong:
        raise ImportError(
            "petscspike was built for a PETSc with %s, but that of petsc4py has %s. Build it for that PETSc:\n"
            "  pip install --force-reinstall --no-deps --no-cache-dir petscspike\n"
            "with PETSC_DIR and PETSC_ARCH set to those of petsc4py.get_config() where PETSc is not from PyPI"
            % (", ".join(wrong), ", ".join("%s %s" % (w.split()[0], here[w.split()[0]]) for w in wrong))
        )


def handle():
    """The library as ctypes has it; it takes the libpetsc that petsc4py has loaded."""
    global _handle
    if _handle is None:
        _compare(petsc())
        _handle = ctypes.CDLL(library(), mode=ctypes.RTLD_GLOBAL)
    return _handle


def capi(name, result, *arguments):
    """A function of petsc4py's C interface."""
    capsule = petsc().__pyx_capi__[name]
    get_name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.PYFUNCTYPE(result, *arguments)(get(capsule, get_name(capsule)))


def check(code):
    """Raises petsc4py's PETSc.Error, with PETSc's text, for an error code that is not 0."""
    if code:
        capi("PyPetscError_Set", ctypes.c_int, ctypes.c_int)(code)
        raise petsc().Error(code)


def load():
    """Registers the types of petscspike in the PETSc of petsc4py, which must be initialized. Again does no harm.

    ``import petscspike`` does it, now or as soon as PETSc is initialized.
    """
    initialize = handle().PetscSpikeInitializePackage
    initialize.restype, initialize.argtypes = ctypes.c_int, []
    check(initialize())


def _follow(module):
    """Lets a module petsc4py.PETSc load the library after each initialization."""
    original = module._initialize
    if getattr(original, "petscspike", False):
        return

    @functools.wraps(original)
    def initialize(*args, **kwargs):
        original(*args, **kwargs)
        if module.Sys.isInitialized():
            load()

    initialize.petscspike = True
    module._initialize = initialize


def attach():
    """Loads the library now if PETSc is initialized, and after each initialization to come."""
    try:
        petsc4py = needed()
    except ImportError:
        # python -m petscspike, before its main(): --library and --include need no petsc4py, the rest asks again
        if getattr(sys, "argv", None) and sys.argv[0] == "-m":
            return
        raise
    module = sys.modules.get("petsc4py.PETSc")
    if module is not None and hasattr(module, "Sys"):
        _follow(module)
        if module.Sys.isInitialized():
            load()
    original = petsc4py.lib.ImportPETSc
    if getattr(original, "petscspike", False):
        return

    # All ways lead through it: petsc4py.init(), import petsc4py.PETSc, and slepc4py's. It does not initialize PETSc
    @functools.wraps(original)
    def import_petsc(arch=None):
        module = original(arch)
        _follow(module)
        return module

    import_petsc.petscspike = True
    petsc4py.lib.ImportPETSc = import_petsc
