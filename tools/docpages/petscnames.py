# SPDX-License-Identifier: BSD-2-Clause
"""PETSc's manual pages: the addresses of the names that our comments and documents use.

docs/petsc-names.txt has the group of each name. `tools/manualpages --petsc PETSC_DIR` makes it from PETSc's sources, by
the rule of PETSc's own documents: the group of a page is SUBMANSEC, else MANSEC, of the makefile in the folder of the
source, else of the source.
"""
from __future__ import annotations

import pathlib
import re

FILE = pathlib.Path("docs/petsc-names.txt")
BASE = "https://petsc.org/release/manualpages"
CLASSES = "AO|DM|IS|KSP|Mat|MAT|PC|PF|SNES|TS|Tao|Vec|VEC|Petsc|PETSC"
NAME = re.compile(rf"(?:{CLASSES})\w*|(?:INSERT|ADD)_VALUES|NORM_\w+")
TYPEDEF = re.compile(r"\s*typedef (?:enum[^{;]*\{(.*?)\}|const char \*\w+;\n((?:#define [^\n]*\n)+))", re.DOTALL)
EXAMPLES = {"tests", "tutorials", "output", "ftn-custom", "ftn-mod", "benchmarks"}


def read(root: pathlib.Path) -> dict[str, str]:
    """name -> address, of the names that docs/petsc-names.txt has."""
    found = {}
    for line in (root / FILE).read_text(encoding="ascii").splitlines():
        if line and not line.startswith("#"):
            name, page = line.split()
            found[name] = f"{BASE}/{page}/"
    return found


def section(file: pathlib.Path) -> str:
    """SUBMANSEC or MANSEC of a makefile or source, empty without one."""
    text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    for key in ("SUBMANSEC", "MANSEC"):
        m = re.search(rf"(?<![A-Z]){key}\s*=\s*(\w+)", text)
        if m:
            return m.group(1)
    return ""


def collect(petsc: pathlib.Path) -> dict[str, str]:
    """name -> group/page of all manual pages of PETSc, with the values of enumerations."""
    found: dict[str, str] = {}
    parts: dict[str, str] = {}  # values of enumerations and names of types, which are on the page of their type
    files = [f for d in ("include", "src") for f in sorted((petsc / d).rglob("*"))]
    for f in files:
        if f.suffix not in (".c", ".cxx", ".h", ".hpp", ".cu") or EXAMPLES & set(f.parts):
            continue
        text = f.read_text(encoding="utf-8", errors="replace")
        group = ""
        for m in re.finditer(r"^ *(/\*(@C?|MC|E|S|J)\n\s*(\w+)\b.*?(?:@|M|E|S|J)\*/)", text, re.DOTALL | re.MULTILINE):
            group = group or section(f.parent / "makefile") or section(f)
            if not group:
                break
            page = f"{group}/{m.group(3)}"
            found.setdefault(m.group(3), page)
            t = TYPEDEF.match(text, m.end())
            if t:
                body = re.sub(r"/\*.*?\*/", "", t.group(1) or t.group(2), flags=re.DOTALL)
                for name in re.findall(r"\b([A-Z][A-Z0-9_]+)\b", body):
                    parts.setdefault(name, page)
    return {**parts, **found}


def make(root: pathlib.Path, petsc: pathlib.Path, used: set[str]) -> list[str]:
    """Writes the file, and returns the names that PETSc does not have."""
    known = collect(petsc)
    if len(known) < 1000:
        raise SystemExit(f"{petsc} has no sources of PETSc: {len(known)} manual pages")
    lines = ["# Groups of PETSc's manual pages, of the names that are used here: tools/manualpages --petsc PETSC_DIR"]
    lines += [f"{name} {known[name]}" for name in sorted(used) if name in known]
    (root / FILE).write_text("\n".join(lines) + "\n", encoding="ascii")
    return sorted(n for n in used if n not in known)
