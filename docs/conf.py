"""How the site is made of these pages: ``sphinx-build -W docs build/site``. It needs no network."""

from __future__ import annotations

import tomllib
from pathlib import Path

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _PROJECT["name"]
release = _PROJECT["version"]
author = "the slurm-sim-plugins authors"
project_copyright = f"{author}; {_PROJECT['license']}"

extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# The overview is part of the first page.
exclude_patterns = ["README.md"]
# Links to headings, as GitHub makes them.
myst_heading_anchors = 3
html_theme = "furo"
html_title = project
html_show_sphinx = False
html_copy_source = False
