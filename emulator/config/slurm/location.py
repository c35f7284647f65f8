"""Where something stands in a file, and what is to be said about it."""

from __future__ import annotations

from typing import NamedTuple

from slurm_sim_plugins.errors import InputError

MOST_LINES = 50
"""So many lines an error message has at most."""


class Location(NamedTuple):
    """A line of a file."""

    file: str
    """Its name, as it was given or found."""
    line: int
    """From 1; 0 for what is in no file."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class Notice(NamedTuple):
    """Something that is no error, but that the author of the file should know."""

    location: Location
    text: str

    def __str__(self) -> str:
        return f"{self.location}: {self.text}"


class Findings:
    """What is found while files are read: problems, told all at once, and notices.

    Attributes:
        notices: what is no error, in the order in which it was found.
    """

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._problems: list[Notice] = []

    def problem(self, location: Location, text: str) -> None:
        """Something is wrong; reading goes on, so that the rest is checked too."""
        self._problems.append(Notice(location, text))

    def notice(self, location: Location, text: str) -> None:
        """Something is worth telling."""
        self.notices.append(Notice(location, text))

    def gathered(self) -> tuple[Notice, ...]:
        """The notices; what is to be said of several lines of a file is said once, with their number."""
        lines: dict[tuple[str, str], set[int]] = {}
        for location, text in self.notices:
            lines.setdefault((location.file, text), set()).add(location.line)
        first = {(one.location.file, one.text): one for one in reversed(self.notices)}
        notices = []
        for key in lines:
            more = len(lines[key]) - 1
            one = first[key]
            notices.append(one._replace(text=f"{one.text} (so in {more} more lines)") if more else one)
        return tuple(notices)

    def check(self) -> None:
        """Tell all problems, if there are any.

        Raises:
            InputError: one line a problem, in the order of files and lines.
        """
        if not self._problems:
            return
        lines = [str(problem) for problem in sorted(dict.fromkeys(self._problems), key=lambda each: each.location)]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = [f"... and {len(lines) - MOST_LINES + 1} more problems; correct these first"]
        raise InputError("\n".join(lines))
