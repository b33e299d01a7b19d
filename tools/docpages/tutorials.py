# SPDX-License-Identifier: BSD-2-Clause
"""Pages of the tutorials: what one shows, how to run it, what it prints, a picture, its program."""
from __future__ import annotations

import os
import pathlib
import re

from . import tree

INDEX = "tutorials/README.md"


def table(root: pathlib.Path) -> dict[str, str]:
    """name of a program -> what it shows, in the order of tutorials/README.md."""
    found = {}
    for line in (root / INDEX).read_text(encoding="utf-8").split("\n"):
        cells = [c.strip() for c in line.strip("|").split("|")]
        for name in re.findall(r"\]\((\w+\.(?:c|py))\)", cells[0]) if line.startswith("|") else []:
            found[name] = "|".join(cells[1:])
    return found


def commands(root: pathlib.Path, name: str) -> list[str]:
    """Lines of tutorials/README.md that run a program."""
    stem, ext = os.path.splitext(name)
    called = rf"(?:^|\s)\./{stem}(?=\s|$)" if ext == ".c" else rf"\b{name}\b"
    text = (root / INDEX).read_text(encoding="utf-8")
    lines = [x for fence in tree.FENCE.findall(text) for x in fence.split("\n")]
    return [re.sub(r"\s+#.*", "", x) for x in lines if re.search(called, x)]


def source(root: pathlib.Path, name: str) -> str:
    """The program without its tests and its first line, which has the licence."""
    text = (root / "tutorials" / name).read_text(encoding="ascii")
    return re.sub(r"\n*/\*TEST.*?TEST\*/\n", "\n", text, flags=re.DOTALL).partition("\n")[2]


def help_text(program: str) -> str:
    m = re.search(r'^static (?:const )?char help\[\]\s*=\s*((?:\s*"(?:[^"\\]|\\.)*")+);', program, re.MULTILINE)
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', m.group(1))) if m else ""
    return text.replace("\\n", "\n").replace('\\"', '"').strip()


def printed(root: pathlib.Path, stem: str) -> list[tuple[str, str]]:
    """(text, source) of what a program prints: recorded with its figure, else what its tests compare with."""
    recorded = root / "docs/figures" / f"{stem}.out"
    if recorded.exists():
        return [(recorded.read_text(encoding="utf-8").rstrip("\n"), f"docs/figures/{recorded.name}")]
    files = sorted((root / "tutorials/output").glob(f"{stem}_*.out"))
    return [(f.read_text(encoding="utf-8").rstrip("\n"), f"tutorials/output/{f.name}") for f in files[:1]]


def picture_text(root: pathlib.Path, stem: str) -> str:
    """What a picture shows: curves of tools/docpages/curves.py say it themselves."""
    svg = root / "docs/figures" / f"{stem}.svg"
    curves = svg.exists() and "true relative residual" in svg.read_text(encoding="utf-8")
    return f"true residuals of the solves of {stem}" if curves else f"what {stem} computed, as a picture"


def page(root: pathlib.Path, name: str, shows: str, pictures: dict[str, str]) -> str:
    """The page of a program; pictures: names of programs -> a picture on the site."""
    stem, ext = os.path.splitext(name)
    program = source(root, name)
    lines = [f"# {name}", "", tree.rewrite(INDEX, shows[0].upper() + shows[1:]) + ".", ""]
    if help_text(program):
        lines += ["```text", help_text(program), "```", ""]
    lines += ["## Run it", "", "In the folder of the programs ([how to build them](index.md)):", ""]
    lines += ["```sh"] + commands(root, name) + ["```", ""]
    for text, file in printed(root, stem):
        lines += ["## What it prints", "", f"From `{file}`; times and last digits differ between machines.", ""]
        lines += ["```text", text, "```", ""]
    if stem in pictures:
        lines += ["## Picture", "", f"![{picture_text(root, stem)}]({pictures[stem]})", ""]
    lines += ["## Program", "", f"`tutorials/{name}`, without its tests:", ""]
    return "\n".join(lines + [f"```{'c' if ext == '.c' else 'python'}", program.strip("\n"), "```", ""])
