# SPDX-License-Identifier: BSD-2-Clause
"""Comments above public functions and types, in PETSc's form, as pages.

    /*@ function @*/   /*@C likewise @*/   /*MC type M*/   /*E enumeration E*/   /*S structure S*/

A page has a name, a title, perhaps a collectivity and a level, sections, and names of other pages (.seealso). A section
is a heading and blocks: a paragraph, a list of terms with texts (lines that begin with "+ ", ". " or "- " in the first
column), or verbatim text (.vb to .ve).
"""
from __future__ import annotations

import dataclasses
import pathlib
import re

HEADINGS = (
    r"Input Parameters?|Output Parameters?|Input/Output Parameters?|Options Database Keys?|Values|Notes?|"
    r"Developer Notes?|Fortran Notes?|References?|Examples?(?: Usage)?|Calling [Ss]equence.*?"
)
LEVELS = ("beginner", "intermediate", "advanced", "developer")
FUNCTION, TYPE, ENUMERATION, STRUCTURE = "@", "M", "E", "S"


@dataclasses.dataclass
class Block:
    kind: str  # "text", "list" or "code"
    text: str = ""
    items: list[tuple[str, str]] = dataclasses.field(default_factory=list)  # of a list: term, text


@dataclasses.dataclass
class Page:
    kind: str  # FUNCTION, TYPE, ENUMERATION or STRUCTURE
    name: str
    title: str
    file: pathlib.Path
    line: int
    value: str = ""  # of a type: the string of -pc_type, -ksp_type, -mat_type
    collective: str = ""
    level: str = ""
    sections: list[tuple[str, list[Block]]] = dataclasses.field(default_factory=list)
    seealso: list[str] = dataclasses.field(default_factory=list)
    text: str = ""  # the whole comment
    declaration: str = ""  # prototype, enumeration or structure

    def items(self, heading: str) -> list[tuple[str, str]]:
        """All items of the lists below the headings that begin so."""
        return [i for h, blocks in self.sections if h.startswith(heading) for b in blocks for i in b.items]


def blocks(lines: list[str]) -> list[Block]:
    """Lines of a section as blocks."""
    found: list[Block] = []
    paragraph = False  # the last block is a paragraph or list that goes on
    code: list[str] | None = None
    for line in lines:
        item = re.match(r"[+.-] +(\S.*)$", line)
        if line.strip() == ".vb":
            code = []
        elif line.strip() == ".ve":
            found.append(Block("code", "\n".join(code or [])))
            code, paragraph = None, False
        elif code is not None:
            code.append(line[2:] if line.startswith("  ") else line)
        elif item:
            if not (found and found[-1].kind == "list" and (paragraph or line[0] != "+")):
                found.append(Block("list"))
            term, _, text = item.group(1).partition(" - ")
            found[-1].items.append((term.strip(), text.strip()))
            paragraph = True
        elif not line.strip():
            paragraph = False
        elif paragraph and found[-1].kind == "list":
            term, text = found[-1].items[-1]
            found[-1].items[-1] = (term, f"{text} {line.strip()}".strip())
        elif paragraph:
            found[-1].text += " " + line.strip()
        else:
            found.append(Block("text", line.strip()))
            paragraph = True
    return found


def page(kind: str, text: str, file: pathlib.Path, line: int) -> Page:
    """The page of a comment without its first and last line."""
    body, _, seealso = text.partition("\n.seealso:")
    lines = body.split("\n")
    head = " ".join(x.strip() for x in lines[: lines.index("") if "" in lines else len(lines)]).strip()
    name, _, title = head.partition(" - ")
    name, _, value = (x.strip() for x in name.partition("="))
    p = Page(kind, name, title.strip(), file, line, value.strip('"'), text=text)
    p.seealso = re.findall(r"`(\w+)(?:\(\))?`", seealso)
    heading, rest = "", []
    for x in lines[lines.index("") if "" in lines else len(lines) :] + ["  End:"]:
        h = re.match(rf"  ({HEADINGS}|End):(?: +(\S.*))?$", x)
        if h:
            if any(y.strip() for y in rest):
                p.sections.append((heading, blocks(rest)))
            heading, rest = h.group(1), [h.group(2)] if h.group(2) else []
        elif re.match(r"  Level: \w+$", x):
            p.level = x.split()[1]
        elif re.match(r"  (Not Collective|Logically Collective|Collective)\b", x) and not heading:
            p.collective = x.strip()
        else:
            rest.append(x)
    return p


def declaration(kind: str, after: str) -> str:
    """What stands below a comment: the prototype of a function, the typedef of an enumeration or structure."""
    if kind == FUNCTION:
        m = re.match(r"\s*(PetscErrorCode \w+\([^{;]*\))\s*\{", after)
    else:
        m = re.match(r"\s*(typedef (?:enum|struct) \{.*?^\} \w+;)", after, re.DOTALL | re.MULTILINE)
    return m.group(1) if m else ""


def pages(root: pathlib.Path) -> list[Page]:
    """All pages of the sources below root, by name."""
    found = []
    files = [root / "include/petscspike.h"]
    files += sorted(f for f in (root / "src").rglob("*") if f.suffix in (".c", ".cu"))
    for f in files:
        text = f.read_text(encoding="ascii")
        for m in re.finditer(r"^/\*(@C?|MC|E|S)\n(.*?)\n(@|M|E|S)\*/", text, re.DOTALL | re.MULTILINE):
            kind = m.group(3)
            p = page(kind, m.group(2), f.relative_to(root), text.count("\n", 0, m.start()) + 1)
            p.declaration = "" if kind == TYPE else declaration(kind, text[m.end() :])
            found.append(p)
    for p in found:
        m = re.search(rf'^#define {p.name} +"(\w+)"$', files[0].read_text(encoding="ascii"), re.MULTILINE)
        p.value = m.group(1) if m else p.value
    return sorted(found, key=lambda p: (p.name.lower(), p.name))


def enumerators(p: Page) -> list[str]:
    """Names of the values of an enumeration."""
    return re.findall(r"^  ([A-Z]\w+)", p.declaration, re.MULTILINE) if p.kind == ENUMERATION else []


def parameters(p: Page) -> list[str]:
    """Names of the parameters of a function."""
    inner = re.sub(r"\s+", " ", p.declaration.partition("(")[2].rpartition(")")[0])
    names = [re.search(r"(\w+)(?:\[\w*\])*$", x.strip()) for x in re.split(r",(?![^()]*\))", inner)]
    return [n.group(1) for n in names if n and n.group(1) != "void"]


def synopsis(p: Page) -> str:
    """What a program writes."""
    if p.kind == TYPE:
        return f'#define {p.name} "{p.value}"'
    return p.declaration + ";" * (p.kind == FUNCTION)


def places(found: list[Page]) -> dict[str, str]:
    """Name -> name of its page; the values of enumerations are on the page of the enumeration."""
    where = {p.name: p.name for p in found}
    for p in found:
        where.update({e: p.name for e in enumerators(p)})
    return where
