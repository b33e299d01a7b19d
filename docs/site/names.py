# SPDX-License-Identifier: BSD-2-Clause
"""Links for what stands between backquotes: names of functions and types, options, files that have a page.

names.json has the places: "ours" and "petsc" (names), "options" (names of options), "files" (paths).
"""
import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

OPTIONS = "docs/options"


def option(text: str, known: list[str]) -> str:
    """The option that a literal begins with, without its hyphen; empty for others."""
    m = re.match(r"-(\w+)", text)
    return m.group(1) if m and m.group(1) in known else ""


def anchors(app, doctree) -> None:
    """On the page of options the first row of a table that begins with an option is the place of that option."""
    if app.env.docname != OPTIONS:
        return
    known, seen = app.config.names_places["options"], set()
    for row in doctree.findall(nodes.row):
        for literal in row.children[0].findall(nodes.literal):
            name = option(literal.astext(), known)
            if name and name not in seen:
                seen.add(name)
                row["ids"].append(name)
    if set(known) - seen:
        raise RuntimeError(f"no row of {OPTIONS} for {sorted(set(known) - seen)}")


class LinkNames(SphinxPostTransform):
    """A literal that is a name becomes a link to its page."""

    default_priority = 5

    def address(self, text: str) -> str:
        places = self.app.config.names_places
        name = text.removesuffix("()")
        page, anchor = places["ours"].get(name) or places["files"].get(text), ""
        found = option(text, places["options"])
        if found:
            page, anchor = OPTIONS, "#" + found
        if page:
            here = page == self.env.docname
            return "" if here and not anchor else self.app.builder.get_relative_uri(self.env.docname, page) + anchor
        return places["petsc"].get(name, "")

    def run(self, **kwargs) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, nodes.title)) or literal.parent.tagname == "pending_xref":
                continue
            uri = self.address(literal.astext())
            if uri:
                outside = "://" in uri
                link = nodes.reference("", "", internal=not outside, refuri=uri)
                literal.replace_self(link)
                link += literal


def setup(app) -> dict:
    app.add_config_value("names_places", {}, "env")
    app.connect("doctree-read", anchors)
    app.add_post_transform(LinkNames)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
