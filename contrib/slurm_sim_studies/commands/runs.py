"""What the studies of papers share: how their runs are made, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.campaign import Outcome, RunSpec, run_all
from emulator.campaign.runs import Workers
from emulator.cli import shared
from emulator.cli.kept import of_study
from slurm_sim_studies.papers.claims import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table


@dataclass(frozen=True)
class Made:
    """What a study gives.

    Attributes:
        data: all of it, for JSON.
        page: all of it, as Markdown.
        shown: what the terminal shows, in its order.
        pictures: draws its figures, by file name without ending.
    """

    data: Mapping[str, Any]
    page: str
    shown: Iterable[Table | str]
    pictures: Callable[[], Mapping[str, Figure]] = dict


@dataclass(frozen=True)
class Runs:
    """How the runs of a study are made.

    Attributes:
        workers: who makes them.
        keep: folder in which results are kept and looked for.
        progress: whether to show a bar; None: on a terminal.
    """

    workers: Workers
    keep: Path | None
    progress: bool | None

    def make(self, specs: Sequence[RunSpec]) -> list[Outcome]:
        """Make all runs; of each that failed, or had to be made again, say why."""
        with self.told("runs", len(specs)) as told:
            outcomes = run_all(specs, workers=self.workers, keep=self.keep, report=told)
        for outcome in outcomes:
            for trouble in filter(None, (outcome.error, outcome.note)):
                shared.echo(f"{outcome.name}: {trouble}", err=True)
        return outcomes

    @contextmanager
    def told(self, label: str, total: int = 0) -> Iterator[Callable[[Outcome], None] | None]:
        """A progress bar over runs, on a terminal; 0 if their number is not known."""
        done = 0
        with shared.progress(label, total, self.progress, of_study(self.keep)) as told:

            def report(_: Outcome) -> None:
                nonlocal done
                done += 1
                if told is not None:
                    told(done)

            yield report if told is not None else None


def claims_in_words(claims: Iterable[Claim]) -> Iterator[str]:
    """A line a claim of a paper: whether it holds here, and the figures that decide it."""
    for claim in claims:
        verdict = "holds" if claim.holds else "FAILS"
        yield f"{verdict}  {claim.source}, {claim.column}: {claim.text} ({claim.figures})"
