# SPDX-License-Identifier: BSD-2-Clause
"""The documents of the project, the files that they link to, and where both are on the site."""
from __future__ import annotations

import os
import pathlib
import re

FOLDERS = (".", "docs", "tutorials", "benchmarks", "benchmarks/results")
LINK = re.compile(r"(\]\()([^)\s]+)(?=[^)]*\))|(^\[[^]]+\]: )(\S+)", re.MULTILINE)
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


def documents(root: pathlib.Path) -> list[str]:
    """Markdown files, by path from root."""
    found = [f for d in FOLDERS for f in sorted((root / d).glob("*.md"))]
    return [str(f.relative_to(root)) for f in found]


def prose(text: str) -> list[tuple[bool, str]]:
    """(is code, text) of the parts of a document."""
    found, at = [], 0
    for m in FENCE.finditer(text):
        found += [(False, text[at : m.start()]), (True, m.group())]
        at = m.end()
    return found + [(False, text[at:])]


def target(document: str, link: str) -> tuple[str, str]:
    """Path from root that a link of a document leads to, and its anchor; no path for an address or an anchor alone."""
    path, _, anchor = link.partition("#")
    if not path or re.match(r"\w+:", path):
        return "", anchor
    return os.path.normpath(os.path.join(os.path.dirname(document), path)), anchor


def linked(root: pathlib.Path) -> list[str]:
    """Files that documents link to, other than documents."""
    pages = documents(root)
    found = set()
    for d in pages:
        for code, text in prose((root / d).read_text(encoding="utf-8")):
            for m in [] if code else LINK.finditer(text):
                path, _ = target(d, m.group(2) or m.group(4))
                if path and path not in pages and (root / path).is_file():
                    found.add(path)
    return sorted(found)


def place(path: str) -> str:
    """Where a document or another file is on the site, as the path of a Markdown file."""
    folder, name = os.path.split(path)
    stem, ext = os.path.splitext(name)
    if name == "README.md":
        return os.path.join(folder, "index.md")
    if ext == ".md":
        return path
    if folder == "tutorials" and ext in (".c", ".py"):
        return os.path.join(folder, stem + ".md")
    return os.path.join("files", path + ".md")


def rewrite(document: str, text: str) -> str:
    """A document with its links as they are on the site."""

    def new(m: re.Match) -> str:
        before, link = (m.group(1), m.group(2)) if m.group(1) else (m.group(3), m.group(4))
        path, anchor = target(document, link)
        if path:
            link = os.path.relpath(place(path), os.path.dirname(place(document)) or ".")
            link += "#" + anchor if anchor else ""
        return before + link

    return "".join(x if code else LINK.sub(new, x) for code, x in prose(text))


LANGUAGES = {".c": "c", ".h": "c", ".cu": "cuda", ".py": "python", ".md": "markdown", ".sh": "sh", ".cff": "yaml"}


def listing(path: str, text: str) -> str:
    """A page that shows a file."""
    name = os.path.basename(path)
    fence = "`" * max([4] + [len(x) + 1 for x in re.findall(r"`{3,}", text)])
    language = LANGUAGES.get(os.path.splitext(name)[1], "text")
    head = ["---", "orphan: true", "nosearch: true", "---", "", f"# {name}", "", f"`{path}`", ""]
    return "\n".join(head + [f"{fence}{language}", text.rstrip("\n"), fence, ""])
