# SPDX-License-Identifier: BSD-2-Clause
"""Options, from the calls of the sources that read them."""
from __future__ import annotations

import dataclasses
import pathlib
import re

PREFIX = r"-(?:pc_spike|pc_blockilu|ksp_fused|ksp_idrfused|ksp_idr|ksp_cg|mat_dia|mat_gridstencil|spike)_[a-z0-9_]+"
KINDS = {  # what PetscOptionsKIND() or PetscOptionsGetKIND() reads
    "Bool": "true or false",
    "Bool3": "true, false or unknown",
    "Int": "integer",
    "BoundedInt": "integer",
    "RangeInt": "integer",
    "IntArray": "one or two integers",
    "Real": "real number",
    "BoundedReal": "real number",
    "RangeReal": "real number",
    "String": "text",
    "FList": "name of a type",
    "HasName": "flag",
    "Enum": "",
    "EList": "",
}

PETSCS = {"KSPCGTypes": ["symmetric", "hermitian"]}  # enumerations of PETSc


@dataclasses.dataclass
class Option:
    name: str
    kind: str = ""
    values: list[str] = dataclasses.field(default_factory=list)
    text: str = ""  # of -help
    setter: str = ""  # function or type that -help names
    file: str = ""


def arguments(text: str) -> list[str]:
    """Arguments of a call, of the text after its parenthesis."""
    found, depth, at, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c in ",)" and not depth:
            found.append(text[at:i].strip())
            at = i + 1
            if c == ")":
                return found
    return found


def string(text: str) -> str:
    """The text of string literals one after the other, or nothing."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)) if text.startswith('"') else ""


def array(name: str, text: str) -> list[str]:
    """The strings of the last array of this name; of PETSc's form, without the name of the type and the prefix."""
    if name in PETSCS:
        return PETSCS[name]
    found = re.findall(rf"\b{name}\[\w*\]\s*=\s*\{{(.*?)\}}", text, re.DOTALL)
    if not found:
        return []
    values = [v.lower() for v in re.findall(r'"([^"]*)"', found[-1])]
    # Of Petsc...Types[] the last three are the name of the type, the prefix of the values, and NULL
    return values[:-2] if re.search(r"(?:NULL|0)\s*$", found[-1]) else values


def call(text: str, at: int) -> tuple[str, list[str]]:
    """Name and arguments of the call around a place."""
    depth = 0
    while depth >= 0:
        at -= 1
        depth += {")": 1, "(": -1}.get(text[at], 0)
    return re.search(r"(\w*)$", text[:at]).group(1), arguments(text[at + 1 :])


def describe(option: Option, function: str, given: list[str], text: str, sources: str) -> bool:
    """Fills in what a call of PetscOptions*() says, after the text of its file; false for another function."""
    m = re.fullmatch(r"PetscOptions(Get)?(\w+?)", function)
    if not m or m.group(2) not in KINDS:
        return False
    got, kind = m.groups()
    first = 3 if got or kind == "HasName" else 1  # the argument after the name of the option
    option.kind = KINDS[kind]
    if not got and kind != "HasName":
        option.text, option.setter = string(given[1]), string(given[2])
        first = 3
    if kind in ("Enum", "EList"):
        name = re.sub(r"\W.*", "", given[first])
        option.values = array(name, text) or array(name, sources)
        option.kind = " ".join(option.values)
    return True


def options(root: pathlib.Path) -> list[Option]:
    """All options of the sources, by name."""
    files = {f: f.read_text(encoding="ascii") for f in sorted((root / "src").rglob("*")) if f.suffix in (".c", ".cu")}
    sources = "\n".join(files.values())
    found: dict[str, Option] = {}
    for f, text in files.items():
        for m in re.finditer(rf'"({PREFIX})"', text):
            function, given = call(text, m.start())
            option = found.setdefault(m.group(1), Option(m.group(1), file=str(f.relative_to(root))))
            new = Option(option.name, file=option.file)
            if not describe(new, function, given, text[: m.start()], sources):
                # A function of ours that reads an option whose name it is given
                body = re.search(rf"^PetscErrorCode {function}\(.*?^\}}", sources, re.DOTALL | re.MULTILINE)
                inner = re.search(r"PetscOptions\w+\((?=\w)", body.group()) if body else None
                if inner:
                    describe(new, *call(body.group(), inner.end()), "", sources)
            for field in ("kind", "values", "text", "setter"):
                # PetscOptionsGetBool3() tells more of a value than the PetscOptionsString() before it
                better = field == "kind" and getattr(option, field) == KINDS["String"]
                if not getattr(option, field) or better:
                    setattr(option, field, getattr(new, field))
    return sorted(found.values(), key=lambda o: o.name)
