# SPDX-License-Identifier: BSD-2-Clause
"""petscspike: solvers for PETSc that use structure, from Python.

``import petscspike`` is all that is needed, before or after ``petsc4py.init()``: the types of the library are there in
each PETSc that petsc4py initializes in this process.

    import petscspike
    from petsc4py import PETSc
    pc.setType(petscspike.PCSPIKE)                   # or by options: -pc_type spike
    petscspike.PCSpikeSetBandwidth(pc, 2, 2)         # setters and getters, by their names in C
    petscspike.PCSpikeGetInfo(pc)["partitions"]

library()  the path of libpetscspike.so, for -dll_append of any PETSc program
include()  the folder of petscspike.h
config()   what the library was built with
load()     loads the library now; petsc4py must be initialized

Names of types, enumerations and functions are those of petscspike.h, from which they are made.
``python -m petscspike`` prints versions and solves a small system.
"""
from . import _calls, _header, _load
from ._load import config, include, library, load

__version__ = _header.version()
__all__ = ["config", "include", "library", "load"]

for _names in (_header.strings(), _header.enumerations(), _calls.functions()):
    globals().update(_names)
    __all__ += _names
for _type in _header.enumerations().values():
    globals().update(_type.__members__)
    __all__ += _type.__members__

_load.attach()
