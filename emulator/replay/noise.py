"""A replay beside its repeats with moved submissions: which differences from the real cluster are more than noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from emulator.accounting.records import Records
from emulator.replay.compare import CLOSE, Comparison, Group, compare
from emulator.workload.jitter import Band, Jitter
from emulator.workload.sitelog import SiteLog

ROUNDED = 1.0
"""Seconds that a log of whole seconds may be wrong by."""
MEASURES = ("mean", "median", "longest")


@dataclass(frozen=True, slots=True)
class Difference:
    """How much longer the jobs of a group waited on the emulated cluster.

    Attributes:
        kind, name: of the group.
        measure: ``mean``, ``median`` or ``longest``.
        value: emulated less real wait in the run of the submissions as they were, seconds.
        band: of the same in that run and all repeats.
    """

    kind: str
    name: str
    measure: str
    value: float
    band: Band

    @property
    def none(self) -> bool:
        """Whether noise alone may have made it, or the whole seconds of the log."""
        return 0 in Band(self.band.low - ROUNDED, self.band.high + ROUNDED)


@dataclass(frozen=True)
class Noise:
    """A comparison and its repeats.

    Attributes:
        jitter: how the submissions were moved.
        first: of the submissions as they were.
        repeats: of the moved ones.
    """

    jitter: Jitter
    first: Comparison
    repeats: tuple[Comparison, ...]

    def differences(self) -> list[Difference]:
        """Of all groups and measures; a repeat in which no job of a group started does not count there."""
        groups = [{(one.kind, one.name): one for one in run.groups()} for run in (self.first, *self.repeats)]
        return [
            Difference(
                *key, measure, _later(group, index), Band.of(_later(run[key], index) for run in groups if key in run)
            )
            for key, group in groups[0].items()
            for index, measure in enumerate(MEASURES)
        ]

    def near(self) -> dict[float, Band]:
        """Share of the jobs whose starts are no further from the real ones than so many seconds."""
        shares = [run.near() for run in (self.first, *self.repeats)]
        return {most: Band.of(each[most] for each in shares) for most in CLOSE if all(shares)}

    def itself(self) -> dict[float, Band]:
        """The same of the repeats beside the first run, which no real cluster could be nearer to."""
        before = {pair.label: pair.start for pair in self.first.both}
        apart = [
            [abs(pair.start - before[pair.label]) for pair in run.both if pair.label in before] for run in self.repeats
        ]
        return {
            most: Band.of(sum(each <= most for each in run) / len(run) for run in apart) for most in CLOSE if all(apart)
        }

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "seconds": self.jitter.seconds,
            "repeats": self.jitter.repeats,
            "seed": self.jitter.seed,
            "differences": [
                {
                    "kind": each.kind,
                    "name": each.name,
                    "measure": each.measure,
                    "difference": each.value,
                    "band": [each.band.low, each.band.high],
                    "none": each.none,
                }
                for each in self.differences()
            ],
            "near": {f"{most:g}": [band.low, band.high] for most, band in self.near().items()},
            "itself": {f"{most:g}": [band.low, band.high] for most, band in self.itself().items()},
        }


def noise(
    log: SiteLog,
    first: Comparison,
    jitter: Jitter,
    run: Callable[[SiteLog], Records],
    warm_up: float = 0.0,
) -> Noise:
    """Repeat a replay with moved submissions.

    Args:
        log: the log.
        first: its comparison.
        jitter: how submissions are moved.
        run: emulates a log.
        warm_up: as :func:`compare` takes it.
    """
    return Noise(jitter, first, tuple(_repeats(log, first, jitter, run, warm_up)))


def moved(log: SiteLog, jitter: Jitter, repeat: int) -> tuple[SiteLog, Mapping[int, float]]:
    """A log as it is in a repeat, and by how many seconds each job is later; its cancellation is as much later."""
    requests = {request.id: request for request in jitter.requests(log.requests, repeat)}
    later = {job.request.id: requests[job.request.id].submit - job.request.submit for job in log.jobs}
    jobs = [
        replace(
            job,
            request=requests[job.request.id],
            cancel_at=None if job.cancel_at is None else job.cancel_at + later[job.request.id],
        )
        for job in log.jobs
    ]
    return replace(log, jobs=tuple(sorted(jobs, key=lambda job: job.request.submit))), later


def _repeats(
    log: SiteLog, first: Comparison, jitter: Jitter, run: Callable[[SiteLog], Records], warm_up: float
) -> Iterator[Comparison]:
    for repeat in range(1, jitter.repeats + 1):
        again, later = moved(log, jitter, repeat)
        yield compare(log, run(again), first.tolerance, warm_up, later)


def _later(group: Group, measure: int) -> float:
    return group.emulated[measure] - group.real[measure]
