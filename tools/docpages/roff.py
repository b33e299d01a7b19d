# SPDX-License-Identifier: BSD-2-Clause
"""Manual pages in section 3, in the macros of man(7)."""
from __future__ import annotations

import re
import textwrap

from . import comments, markdown, petscnames


def escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")


def line(text: str) -> str:
    """Text that begins a line is no request."""
    return "\\&" + text if text.startswith(".") else text


def inline(text: str) -> str:
    out = []
    for kind, x in markdown.parts(text):
        if kind == "code":
            out.append(f"\\fB{escape(x)}\\fR")
        elif kind == "math":
            out.append(f"\\fI{escape(x)}\\fR")
        elif kind == "cite":
            out.append(f"({escape(markdown.cited(x))})")
        else:
            out.append(escape(x))
    lines = textwrap.wrap("".join(out), 80, break_long_words=False, break_on_hyphens=False)
    return "\n".join(line(x) for x in lines)


def verbatim(text: str) -> list[str]:
    return [".nf"] + [line(escape(x)) for x in text.split("\n")] + [".fi"]


def block(b: comments.Block, first: bool) -> list[str]:
    if b.kind == "code":
        return [] if first else [".PP"] + verbatim(b.text)
    if b.kind == "list":
        lines = []
        for term, text in b.items:
            lines += [".TP", f"\\fB{escape(term.replace('`', ''))}\\fR", inline(text) or "\\&"]
        return lines
    return ([] if first else [".PP"]) + [inline(b.text)]


def page(p: comments.Page, ours: set[str], version: str, date: str) -> str:
    """The page of a function or type; ours: names that have such a page, others are PETSc's."""
    lines = [f'.TH "{p.name}" "3" "{date}" "petscspike {version}" "petscspike"', ".SH NAME"]
    plain = re.sub(r"[`$]", "", re.sub(r" *\{cite\}`[^`]*`", "", p.title))
    lines += [f"{p.name} \\- {escape(plain)}", ".SH SYNOPSIS"]
    lines += verbatim("#include <petscspike.h>\n\n" + comments.synopsis(p))
    if p.collective:
        lines += [".PP", escape(p.collective)]
    for heading, found in p.sections:
        lines += [f".SH {(heading or 'Description').upper()}"]
        for n, b in enumerate(found):
            lines += block(b, n == 0)
    lines += [".SH LEVEL", p.level]
    here = [n for n in p.seealso if n in ours]
    lines += [".SH SEE ALSO"] + [f".BR {n} (3)" + "," * (i < len(here) - 1) for i, n in enumerate(here)]
    there = ", ".join(n for n in p.seealso if n not in ours)
    lines += [".PP", inline(f"Of PETSc, {petscnames.BASE}: {there}")] if there else []
    return "\n".join(lines) + "\n"
