# SPDX-License-Identifier: BSD-2-Clause
"""The functions of petscspike.h as functions of Python, made from their prototypes.

Objects are those of petsc4py. Arguments that are pointers to a number, an enumeration, a text or a structure are
results: one is returned as it is, several as a tuple, a structure as a dictionary. Those with arrays stand below.
"""
import ctypes
import functools
import operator

from . import _header
from ._load import capi, check, handle, petsc

OBJECTS = ("PC", "KSP", "Mat", "DM")
TEXTS = ("MatOrderingType",)
# Not of use here, or below
APART = {"PetscSpikeInitializePackage", "PetscSpikeFinalizePackage", "KSPFusedConvergedInfinity", "KSPFusedGetColumns"}


@functools.lru_cache(maxsize=None)
def _bool():
    """PetscBool: one byte or four, by the version of PETSc."""
    value, found, size = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    lib = handle()
    check(lib.PetscDataTypeFromString(b"bool", ctypes.byref(value), ctypes.byref(found)))
    check(lib.PetscDataTypeGetSize(value, ctypes.byref(size)))
    return {1: ctypes.c_uint8, 4: ctypes.c_int}[size.value]


def ctype(name):
    """The type of C that a PETSc type is in this process."""
    module = petsc()
    if name == "PetscInt":
        return ctypes.c_int64 if module.IntType().itemsize == 8 else ctypes.c_int32
    if name == "PetscReal":
        return ctypes.c_double if module.RealType().itemsize == 8 else ctypes.c_float
    if name == "PetscBool":
        return _bool()
    return {"PetscInt64": ctypes.c_int64, "char": ctypes.c_char}.get(name, ctypes.c_int)  # else an enumeration


def python(name, value):
    """A value of C as Python has it: an IntEnum for an enumeration of the header."""
    if name == "PetscBool":
        return bool(value)
    if name in ("PetscInt", "PetscInt64"):
        return int(value)
    if name == "PetscReal":
        return float(value)
    if name == "char":
        return value.decode()
    return _header.enumerations()[name](value) if name in _header.enumerations() else int(value)


@functools.lru_cache(maxsize=None)
def structure(name):
    members = [(m, ctype(t) * length if length else ctype(t)) for t, m, length in _header.structures()[name]]
    return type(name, (ctypes.Structure,), {"_fields_": members})


def handle_of(kind, value):
    """The pointer of an object of petsc4py."""
    if not isinstance(value, getattr(petsc(), kind)):
        raise TypeError("petscspike: a petsc4py %s is needed, not %s" % (kind, type(value).__name__))
    if not value.handle:
        raise ValueError("petscspike: this %s was not created yet, or is destroyed" % kind)
    return ctypes.c_void_p(value.handle)


def wrap(kind, pointer, owned):
    """An object of petsc4py for a pointer of C. It takes a reference, so that of an owned pointer is given up."""
    result = capi("PyPetsc%s_New" % kind, ctypes.py_object, ctypes.c_void_p)(pointer)
    if owned:
        dereference = handle().PetscObjectDereference
        dereference.restype, dereference.argtypes = ctypes.c_int, [ctypes.c_void_p]
        check(dereference(pointer))
    return result


def given(kind, value):
    if kind in OBJECTS:
        return handle_of(kind, value)
    if kind in TEXTS:
        return ctypes.c_char_p(None if value is None else value.encode())
    if kind == "PetscReal":
        return ctype(kind)(float(value))
    if kind == "PetscBool":
        return ctype(kind)(bool(value))
    number = operator.index(value)
    result = ctype(kind)(number)
    if result.value != number:
        raise OverflowError("petscspike: %d does not fit into %s" % (number, kind))
    return result


def room(kind):
    """Where a result goes."""
    if kind in OBJECTS:
        return ctypes.c_void_p()
    if kind in TEXTS:
        return ctypes.c_char_p()
    return structure(kind)() if kind in _header.structures() else ctype(kind)()


def taken(kind, place):
    if kind in OBJECTS:
        return wrap(kind, place, owned=False)
    if kind in TEXTS:
        return place.value.decode() if place.value else None
    if kind in _header.structures():
        return {m: python(t, getattr(place, m)) for t, m, _ in _header.structures()[kind]}
    return python(kind, place.value)


def call(name, *arguments):
    function = getattr(handle(), name)
    function.restype = ctypes.c_int
    check(function(*arguments))


def make(name, prototype):
    inputs = [a for a in prototype if not a.endswith("*")]
    outputs = [a[:-1].strip() for a in prototype if a.endswith("*")]

    def function(*arguments):
        if len(arguments) != len(inputs):
            raise TypeError("%s(%s): %d arguments were given" % (name, ", ".join(inputs), len(arguments)))
        petsc()  # an error where PETSc is not initialized
        places = [room(kind) for kind in outputs]
        call(name, *map(given, inputs, arguments), *map(ctypes.byref, places))
        results = [taken(kind, place) for kind, place in zip(outputs, places)]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "%s(%s)%s: as its manual page says." % (
        name, ", ".join(inputs), " -> " + ", ".join(outputs) if outputs else "")
    return function


# ---- Functions with arrays -------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=None)  # ctypes keeps each type for ever
def offset_type():
    """MatStencil."""
    return type("MatStencil", (ctypes.Structure,), {"_fields_": [(m, ctype("PetscInt")) for m in "kjic"]})


def MatCreateGridStencil(dm, offsets):
    """MatCreateGridStencil(dm, [(i,), (i, j) or (i, j, k), ...]) -> Mat: a stencil on the grid of a DMDA."""
    pointer, kind = handle_of("DM", dm), offset_type()
    points, mat = (kind * len(offsets))(), ctypes.c_void_p()
    for point, offset in zip(points, offsets):
        offset = (offset,) if hasattr(offset, "__index__") else tuple(offset)
        if len(offset) > 3:
            raise ValueError("petscspike: an offset has at most three members i, j, k")
        for member, value in zip("ijk", offset):
            setattr(point, member, given("PetscInt", value).value)
    call("MatCreateGridStencil", pointer, ctype("PetscInt")(len(offsets)), points, ctypes.byref(mat))
    return wrap("Mat", mat, owned=True)


def MatGridStencilGetStencil(mat):
    """MatGridStencilGetStencil(mat) -> [(i, j, k), ...]."""
    n, points = ctype("PetscInt")(), ctypes.POINTER(offset_type())()
    call("MatGridStencilGetStencil", handle_of("Mat", mat), ctypes.byref(n), ctypes.byref(points))
    return [(p.i, p.j, p.k) for p in points[:n.value]]


def MatGridStencilSetCoefficients(mat, values):
    """MatGridStencilSetCoefficients(mat, values): dof x dof values for each point of the stencil."""
    import numpy

    points = len(MatGridStencilGetStencil(mat))
    dof = mat.getDM().getDof()
    values = numpy.ascontiguousarray(values, dtype=petsc().ScalarType).ravel()
    if values.size != points * dof * dof:
        raise ValueError("petscspike: %d points with %d unknowns take %d coefficients, not %d"
                         % (points, dof, points * dof * dof, values.size))
    call("MatGridStencilSetCoefficients", handle_of("Mat", mat), ctypes.c_void_p(values.ctypes.data))


def MatGridStencilSetCoefficientVecs(mat, vecs):
    """MatGridStencilSetCoefficientVecs(mat, vecs): dof vectors of the DMDA for each point of the stencil."""
    points = len(MatGridStencilGetStencil(mat))
    dof = mat.getDM().getDof()
    pointers = [handle_of("Vec", v) for v in vecs]
    if len(pointers) != points * dof:
        raise ValueError("petscspike: %d points with %d unknowns take %d vectors, not %d"
                         % (points, dof, points * dof, len(pointers)))
    call("MatGridStencilSetCoefficientVecs", handle_of("Mat", mat), (ctypes.c_void_p * len(pointers))(*pointers))


def MatDIAGetDiagonals(mat):
    """MatDIAGetDiagonals(mat) -> [column - row, ...], of the diagonals that this rank stores."""
    n, offsets = ctype("PetscInt")(), ctypes.POINTER(ctype("PetscInt"))()
    call("MatDIAGetDiagonals", handle_of("Mat", mat), ctypes.byref(n), ctypes.byref(offsets))
    return offsets[:n.value]


def PCSpikeGetOrdering(pc):
    """PCSpikeGetOrdering(pc) -> (rows, columns, border, starts): index sets."""
    sets = [ctypes.c_void_p() for _ in range(4)]
    call("PCSpikeGetOrdering", handle_of("PC", pc), *map(ctypes.byref, sets))
    return tuple(wrap("IS", pointer, owned=True) for pointer in sets)


def KSPFusedGetColumns(ksp):
    """KSPFusedGetColumns(ksp) -> {"iterations": [...], "reasons": [...], "norms": [...], "together": bool}."""
    m, together = ctype("PetscInt")(), ctype("PetscBool")()
    its, norms = ctypes.POINTER(ctype("PetscInt"))(), ctypes.POINTER(ctype("PetscReal"))()
    reasons = ctypes.POINTER(ctypes.c_int)()
    call("KSPFusedGetColumns", handle_of("KSP", ksp), ctypes.byref(m), ctypes.byref(its), ctypes.byref(reasons),
         ctypes.byref(norms), ctypes.byref(together))
    return {"iterations": its[:m.value], "reasons": reasons[:m.value], "norms": norms[:m.value],
            "together": bool(together.value)}


BY_HAND = (MatCreateGridStencil, MatGridStencilGetStencil, MatGridStencilSetCoefficients,
           MatGridStencilSetCoefficientVecs, MatDIAGetDiagonals, PCSpikeGetOrdering, KSPFusedGetColumns)


@functools.lru_cache(maxsize=None)
def functions():
    """{"PCSpikeSetBandwidth": function, ...}, all of petscspike.h but those of APART."""
    found = {f.__name__: f for f in BY_HAND}
    for name, prototype in _header.prototypes().items():
        if name not in found and name not in APART:
            found[name] = make(name, prototype)
    return found
