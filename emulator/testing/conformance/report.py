"""What the checks of a plugin found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Status = Literal["passed", "failed", "expected", "unexpected", "left out", "not run"]
BAD: frozenset[Status] = frozenset({"failed", "unexpected", "not run"})


class Nonconformity(Exception):  # noqa: N818 - it is a finding
    """A plugin does not do what plugins must; the message says where, what and what to do."""


class DoesNotApply(Exception):  # noqa: N818 - it is a finding
    """A check has nothing to look at in this plugin; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """What one check found.

    Attributes:
        check: its name.
        status: ``passed``; ``failed``; ``expected``: it failed as was said before, or
            ``unexpected``: it passed although it was said to fail; ``left out``: it does
            not apply; ``not run``: the plugin cannot even be loaded.
        message: what is wrong, where, and what to do; or the reason.
        promise: what the check holds a plugin to.
    """

    check: str
    status: Status
    message: str = ""
    promise: str = ""

    def __str__(self) -> str:
        said = f": {self.message}" if self.message else ""
        return f"{self.status:10} {self.check}{_indented(said)}"


@dataclass(frozen=True)
class Report:
    """What all checks found of a plugin."""

    plugin: str
    outcomes: tuple[Outcome, ...]

    @property
    def failures(self) -> list[Outcome]:
        """What is not as it should be."""
        return [outcome for outcome in self.outcomes if outcome.status in BAD]

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.outcomes), self.summary])

    @property
    def summary(self) -> str:
        """One line."""
        counts: dict[str, int] = {}
        for outcome in self.outcomes:
            counts[outcome.status] = counts.get(outcome.status, 0) + 1
        return f"{self.plugin}: {len(self.outcomes)} checks: " + ", ".join(
            f"{count} {status}" for status, count in counts.items()
        )


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
