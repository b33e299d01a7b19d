# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages as MyST Markdown. Links of names come with the site (docs/site/conf.py): here they are code."""
from __future__ import annotations

import re

from . import comments

OPTION = r"(?<![\w`-])-[a-z][a-z0-9]*_[a-z0-9_]+(?:_<\w+>)?"

# Keys of papers in comments are those of PETSc's bibliography; docs/references.md has the papers
PAPERS = {
    "polizzi2006": "Polizzi and Sameh 2006",
    "gijzen:2011": "Van Gijzen and Sonneveld 2011",
    "hs:52": "Hestenes and Stiefel 1952",
    "vorst92": "Van der Vorst 1992",
}


def parts(text: str) -> list[tuple[str, str]]:
    """(kind, text) of a paragraph: "code" between backquotes and options, "math" between dollars, "cite", "text"."""
    found, at = [], 0
    pattern = rf"\{{cite\}}`([^`]+)`|`([^`]+)`|\$([^$\n]+)\$|({OPTION})"
    for m in re.finditer(pattern, text):
        if m.start() > at:
            found.append(("text", text[at : m.start()]))
        kind = "cite" if m.group(1) else "math" if m.group(3) else "code"
        found.append((kind, next(g for g in m.groups() if g)))
        at = m.end()
    return found + ([("text", text[at:])] if at < len(text) else [])


def cited(key: str) -> str:
    """The name of a paper in docs/references.md, of its key in a comment."""
    return PAPERS[key]


def escape(text: str) -> str:
    """Text with what Markdown would take for itself."""
    return re.sub(r"([\\*_<\[\]#|~])", r"\\\1", text)


def inline(text: str) -> str:
    """A paragraph as Markdown."""
    out = []
    for kind, x in parts(text):
        if kind == "code":
            out.append(f"`{x}`")
        elif kind == "math":
            out.append(f"*{escape(x)}*")
        elif kind == "cite":
            out.append(f"([{cited(x)}](../docs/references.md))")
        else:
            out.append(escape(x))
    return "".join(out)


def block(b: comments.Block) -> list[str]:
    if b.kind == "code":
        return ["```text", b.text, "```", ""]
    if b.kind == "list":
        lines = []
        for term, text in b.items:
            lines += [f"`{term.replace('`', '')}`", f": {inline(text) or '&nbsp;'}", ""]
        return lines
    return [inline(b.text), ""]


def page(p: comments.Page) -> str:
    """The page of a function or type."""
    lines = [f"# {p.name}", "", inline(p.title), ""]
    lines += ["## Synopsis", "", "```c", "#include <petscspike.h>", comments.synopsis(p), "```", ""]
    if p.collective:
        lines += [p.collective, ""]
    for heading, found in p.sections:
        lines += [f"## {heading}", ""] if heading else []
        for b in found:
            lines += block(b)
    lines += ["## See also", "", ", ".join(f"`{n}`" for n in p.seealso), ""] if p.seealso else []
    lines += ["## Level", "", p.level, "", "## Location", "", f"`{p.file}`", ""]
    return "\n".join(lines)
