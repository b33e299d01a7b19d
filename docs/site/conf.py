# SPDX-License-Identifier: BSD-2-Clause
"""conf.py: how Sphinx makes the site. tools/docs collects the pages, copies this folder and runs Sphinx there."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
with open(os.path.join(HERE, "names.json"), encoding="ascii") as f:
    names = json.load(f)

project = "petscspike"
author = "The petscspike authors"
copyright = "The petscspike authors, BSD-2-Clause"
version = release = names["version"]

extensions = ["myst_parser", "names"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
smartquotes = False
highlight_language = "text"
names_places = names

html_theme = "pydata_sphinx_theme"
html_title = "petscspike " + release
html_static_path = ["static"]
html_css_files = ["petscspike.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {x: [] for x in ("index", "docs/*", "CHANGELOG", "CONTRIBUTING", "files/**")}
# Programs and records take the whole width: they have no table of contents beside them
beside = ("index", "docs/*", "CHANGELOG", "CONTRIBUTING", "manualpages/*", "benchmarks/**", "tutorials/index")
html_theme_options = {
    "logo": {"text": "petscspike"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "secondary_sidebar_items": {x: ["page-toc"] for x in beside},
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version", "theme-version"],
}

linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_anchors = False
