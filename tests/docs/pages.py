"""The labelled blocks of a page: files to write, edits to make, tests to run, commands to give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"<!-- (?P<kind>\w+): (?P<name>[\w./-]+) -->\n```\w*\n(?P<text>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A code block under ``<!-- kind: name -->``."""

    kind: str
    name: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its lines, without remarks."""
        return [line.partition("  #")[0].strip() for line in self.text.splitlines() if line.strip()]


def blocks(page: str) -> list[Block]:
    """The labelled blocks of a page, in their order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [Block(**found.groupdict()) for found in BLOCK.finditer(text)]


def edit(file: Path, diff: str) -> int:
    """Replace each run of lines that begin with - by the lines with + that follow; says how many lines are new."""
    text, new = file.read_text(encoding="utf-8"), 0
    for removed, added in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)+)", diff, re.MULTILINE):
        old = "".join(line[1:] for line in removed.splitlines(keepends=True))
        assert text.count(old) == 1, f"{file}: these lines do not stand in it once:\n{old}"
        text = text.replace(old, "".join(line[1:] for line in added.splitlines(keepends=True)))
        new += added.count("\n")
    file.write_text(text, encoding="utf-8")
    return new
