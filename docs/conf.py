"""How the site is made of these pages: ``sphinx-build -W docs build/site``. It needs no network."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = _PROJECT["name"]
release = _PROJECT["version"]
author = "the slurm-sim-plugins authors"
project_copyright = f"{author}; {_PROJECT['license']}"

_LINK = re.compile(r"\]\(([\w.-]+)\.md\)")
"""A link to a page."""
_PART = re.compile(r"^\*\*(.+?)\*\*\n(.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
"""A heading of the overview, and the links below it."""

extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# The overview is part of the first page, and its links are the contents of the site.
exclude_patterns = ["README.md"]
# Links to headings, as GitHub makes them.
myst_heading_anchors = 3
html_theme = "furo"
html_title = project
html_show_sphinx = False
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Have Sphinx list the pages that the overview and the page of algorithms link to, in their order."""
    app.connect("source-read", _listed)


def _listed(_: Sphinx, name: str, source: list[str]) -> None:
    """Put hidden tables of contents below a page; a page is listed where it is named first."""
    overview = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    if name == "index":
        seen: set[str] = set()
        for caption, links in _PART.findall(overview):
            source[0] += _toctree(".. toctree::", _new(links, seen), "   ", [f":caption: {caption}"])
    elif name == "algorithms":
        pages = _new(source[0], set(_LINK.findall(overview)))
        source[0] += _toctree("```{toctree}", pages, "", []) + "```\n"


def _new(text: str, seen: set[str]) -> list[str]:
    """The pages that a text links to, but for those that were seen."""
    pages = [page for page in dict.fromkeys(_LINK.findall(text)) if page not in seen]
    seen.update(pages)
    return pages


def _toctree(begin: str, pages: list[str], indent: str, options: list[str]) -> str:
    lines = [":hidden:", *options, "", *pages]
    return "\n".join(["", begin, *(f"{indent}{line}" if line else "" for line in lines), ""])
