# SPDX-License-Identifier: BSD-2-Clause
"""The public names of petscspike, read from petscspike.h: the header is the only list of them."""
import enum
import functools
import os
import re


def folder():
    """The folder of petscspike.h: that of the sources, in a source tree, or of the installed package."""
    here = os.path.dirname(os.path.abspath(__file__))
    source = os.path.isfile(os.path.join(here, "..", "spikebuild.py"))
    path = os.path.normpath(os.path.join(here, "..", "..", "include") if source else os.path.join(here, "include"))
    if not os.path.isfile(os.path.join(path, "petscspike.h")):
        raise ImportError("petscspike: no petscspike.h in %s: this installation is not complete" % path)
    return path


@functools.lru_cache(maxsize=None)
def text():
    """petscspike.h without comments."""
    with open(os.path.join(folder(), "petscspike.h"), encoding="ascii") as f:
        return re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.DOTALL)


def version():
    number = dict(re.findall(r"#define PETSCSPIKE_VERSION_(\w+)\s+(\d+)", text()))
    return "%s.%s.%s" % (number["MAJOR"], number["MINOR"], number["SUBMINOR"])


@functools.lru_cache(maxsize=None)
def strings():
    """Names of types: {"PCSPIKE": "spike", ...}."""
    return dict(re.findall(r'#define (\w+)\s+"(\w+)"', text()))


@functools.lru_cache(maxsize=None)
def enumerations():
    """{"PCSpikeType": enum.IntEnum, ...}, their members counted from 0, as all of the header are."""
    found = {}
    for body, name in re.findall(r"typedef enum \{([^}]*)\} (\w+);", text()):
        members = [m.strip() for m in body.split(",")]
        if not all(re.fullmatch(r"\w+", m) for m in members):
            raise ImportError("petscspike: the values of %s are not plain names" % name)
        found[name] = enum.IntEnum(name, {m: i for i, m in enumerate(members)})
    return found


@functools.lru_cache(maxsize=None)
def structures():
    """{"PCSpikeInfo": [(type, member, length or None), ...], ...}."""
    found = {}
    for body, name in re.findall(r"typedef struct \{([^}]*)\} (\w+);", text()):
        members = []
        for line in filter(None, (m.strip() for m in body.split(";"))):
            match = re.fullmatch(r"(\w+)\s+(\w+)(?:\[(\d+)\])?", line)
            if not match:
                raise ImportError("petscspike: cannot read the member '%s' of %s" % (line, name))
            members.append((match[1], match[2], int(match[3]) if match[3] else None))
        found[name] = members
    return found


@functools.lru_cache(maxsize=None)
def prototypes():
    """{"PCSpikeSetBandwidth": ["PC", "PetscInt", "PetscInt"], ...}."""
    found = re.findall(r"PETSC_EXTERN PetscErrorCode (\w+)\(([^)]*)\);", text())
    return {name: [re.sub(r"\s+", " ", a).strip() for a in arguments.split(",")] for name, arguments in found}
