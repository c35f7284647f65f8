"""Planned starts of waiting jobs: what was recorded beside what backfill plans in the emulation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from emulator.truth.compare import Difference, close, near
from emulator.truth.recorded import Planned
from emulator.workload.scenario import Scenario

_HEADER = re.compile(r"^ *JOBID .* START_TIME .*$", re.M)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")

Plans = Mapping[int, Sequence[tuple[float, float | None]]]
"""By job id, (second, planned start or None) of each change."""


def differences_of_starts(scenario: Scenario, planned: Sequence[Planned], plans: Plans) -> Iterator[Difference]:
    """Where planned starts differ.

    Args:
        scenario: the scenario, in whose notes there may be tables of ``squeue``.
        planned: what was recorded of single jobs.
        plans: what was planned in the emulation.
    """
    names = {job.id: job.name for job in scenario.submissions}
    for one in [*planned, *_on_the_emulated_clock(_by_clock(scenario), plans)]:
        mine = near(plans.get(one.job, ()), one.at)
        if not any(_alike(one.start, start) for start in mine):
            shown = ", ".join(sorted({_text(start) for start in mine}))
            yield Difference(names.get(one.job, ""), "planned", f"{_text(one.start)} at {one.at:g}", shown)


def _alike(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else close(one, other)


def _text(start: float | None) -> str:
    return "unknown" if start is None else f"{start:g}"


@dataclass(frozen=True, slots=True)
class _ByClock:
    """When a waiting job was to start, by the cluster's clock; ``at`` is in seconds from the scenario's start."""

    job: int
    at: float
    start: float


def _on_the_emulated_clock(rows: Sequence[_ByClock], plans: Plans) -> Iterator[Planned]:
    """The same in seconds from the start, which the earliest planned start in the first table tells."""
    if not rows:
        return
    first = min(rows, key=lambda row: (row.at, row.start))
    known = [start for start in near(plans.get(first.job, ()), first.at) if start is not None]
    zero = first.start - known[-1] if known else 0.0
    for row in rows:
        yield Planned(row.job, row.at, row.start - zero)


def _by_clock(scenario: Scenario) -> list[_ByClock]:
    """Planned starts in tables of ``squeue``; a job without one may be between two cycles, and is left out."""
    return [row for at, text in scenario.recorded.cluster_events or () for row in _rows(at, text)]


def _rows(at: float, text: str) -> Iterator[_ByClock]:
    header = _HEADER.search(text)
    for line in text[header.end() :].splitlines() if header is not None else ():
        number, time = re.match(r" *([0-9]+) ", line), _TIME.search(line)
        if number is not None and time is not None:
            since = datetime.fromisoformat(time[0]) - datetime(1970, 1, 1)
            yield _ByClock(int(number[1]), at, since.total_seconds())
