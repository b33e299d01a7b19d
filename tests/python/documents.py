# SPDX-License-Identifier: BSD-2-Clause
"""documents.py TOP FOLDER: the documents of TOP are in FOLDER as they are, and their links lead to files there."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
top, folder = (pathlib.Path(f).resolve() for f in sys.argv[1:3])
sys.path.insert(0, str(top / "tools"))
from docpages import tree  # noqa: E402

wrong, links = [], 0
names = tree.documents(top)
assert {"README.md", "docs/install.md", "docs/options.md", "tutorials/README.md"} <= set(names), names
for name in names:
    if not (folder / name).is_file() or (folder / name).read_bytes() != (top / name).read_bytes():
        wrong.append("not there as it is: " + name)
        continue
    for code, text in tree.prose((folder / name).read_text(encoding="utf-8")):
        for m in [] if code else re.finditer(tree.LINK, text):
            path, _ = tree.target(name, m.group(2) or m.group(4))
            links += bool(path)
            if path and (top / path).is_file() and not (folder / path).is_file():
                wrong.append("%s: no %s" % (name, path))
if links <= 50 and not wrong:
    wrong.append("only %d links: they are not found" % links)
print("\n".join(wrong) or "ok")
sys.exit(bool(wrong))
