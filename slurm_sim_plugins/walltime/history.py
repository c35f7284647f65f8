"""Plan with the share of their requests that similar jobs used lately."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

from slurm_sim_plugins.decisions import Plan
from slurm_sim_plugins.errors import ConfigurationError
from slurm_sim_plugins.hookspecs import hookimpl
from slurm_sim_plugins.jobs import Job
from slurm_sim_plugins.views import WalltimeView
from slurm_sim_plugins.windows import DEFINITIONS, Windows

Key = Literal["triple", "double", "user", "project"]
Window = Literal["1m", "2m", "3m", "6m", "12m", "all"]

MONTH = 30 * 86400.0
"""Seconds of a month."""
WINDOWS: dict[str, float] = {f"{months}m": months * MONTH for months in (1, 2, 3, 6, 12)} | {"all": float("inf")}
"""Seconds by name of the window."""
USES: dict[str, frozenset[str]] = {
    "regular": frozenset({"queue", "backfill", "running"}),
    "selective": frozenset({"queue", "backfill"}),
}
"""What the adjusted times are used for, by name."""
LEAST_PLANNED = 1.0
"""Seconds that any job is planned with at least, unless its limit is shorter."""


class History:
    """A job is planned with its limit times A, a percentile of what similar jobs used of theirs.

    What a job used is R = run time / limit, at most 1. A is a percentile of the R of the
    jobs with the same key that ended in [submission - window, submission); at least the
    threshold. With fewer than ``min_jobs`` of them nothing is adjusted, and so it is for a
    job of which a part of the key is unknown; such a job teaches nothing either.

    Source: Tang, Desai, Buettner, Lan 2013 (JPDC 73), sections 4 and 5.

    Args:
        key: which jobs are similar: ``user``, ``project``, ``double`` (both) or ``triple``
            (both, and the same limit).
        window: how far to look back: ``1m``, ``2m``, ``3m``, ``6m``, ``12m`` (months of 30
            days) or ``all``.
        percentile: of R, from 0 to 100.
        definition: of a percentile: ``cobalt``, ``nearest`` or ``linear``, see
            :mod:`slurm_sim_plugins.windows`.
        threshold: least A, from 0 to 1.
        min_jobs: similar jobs that there must be.
        adjust: what is planned with the adjusted time: ``regular`` (everything),
            ``selective`` (``queue+backfill``), or any of ``queue`` (order of the queue),
            ``backfill`` (tests of waiting jobs) and ``running`` (planned ends), joined by ``+``.
        project: the column of the workload that says which project a job is of.
    """

    name: ClassVar[str] = "walltime/history"

    def __init__(
        self,
        key: Key = "triple",
        window: Window = "1m",
        percentile: float = 85.0,
        definition: Literal["cobalt", "nearest", "linear"] = "cobalt",
        threshold: float = 0.5,
        min_jobs: int = 10,
        adjust: str = "selective",
        project: str = "project",
    ) -> None:
        check_range("percentile", percentile, 100)
        check_range("threshold", threshold, 1)
        if min_jobs < 1:
            raise ValueError(f"min_jobs is {min_jobs}; a percentile needs 1 job or more")
        uses = _uses(adjust)
        self._everywhere = uses == USES["regular"]
        self._queue, self._waiting, self._running = (use in uses for use in ("queue", "backfill", "running"))
        self._key = key
        self._columns = {"user": ("user",), "project": (project,)}.get(key, ("user", project))
        self._first: Sequence[Any] | None = None
        self._second: Sequence[Any] | None = None
        self._percentile = float(percentile)
        self._percentile_of = DEFINITIONS[definition]
        self._threshold = float(threshold)
        self._min_jobs = min_jobs
        self._windows = Windows(WINDOWS[window])

    @hookimpl
    def walltime_submit(self, view: WalltimeView) -> float | Plan | None:
        job = view.job
        key = self._key_of(job)
        values = self._windows.at(key, view.now)
        if key is None or values is None or len(values) < self._min_jobs:
            return None
        share = self._percentile_of(values, self._percentile)
        limit = job.time_limit
        planned = limit * (share if share > self._threshold else self._threshold)
        if planned < LEAST_PLANNED:
            planned = min(LEAST_PLANNED, limit)
        if self._everywhere:
            return planned
        return Plan(
            planned if self._queue else limit,
            planned if self._waiting else limit,
            planned if self._running else limit,
        )

    @hookimpl
    def walltime_learn(self, job: Job, ran: float, now: float) -> None:
        key = self._key_of(job)
        if key is not None:
            limit = job.time_limit
            self._windows.learn(key, ran / limit if ran < limit else 1.0, now)

    def _key_of(self, job: Job) -> Hashable:
        """What a similar job has in common with this one; None if a part of it is unknown."""
        index, first, second = job.index, self._first, self._second
        if first is None:
            first, second = self._find_columns(job)
        if second is None:
            only: Hashable = first[index]
            return only
        parts = first[index], second[index]
        if None in parts:
            return None
        return (*parts, job.time_limit) if self._key == "triple" else parts

    def _find_columns(self, job: Job) -> tuple[Sequence[Any], Sequence[Any] | None]:
        """The columns of the key; the second is None if it has but one."""
        columns = []
        for name in self._columns:
            column = job._facts[name]
            if column is None:
                raise ConfigurationError(
                    f"the workload has no column {name!r}, which the key {self._key!r} needs; choose another key, "
                    "or name the column that says a job's project, such as project=group"
                )
            columns.append(column)
        self._first, self._second = columns[0], columns[1] if len(columns) > 1 else None
        return self._first, self._second


def adjusted(limit: float, share: float) -> float:
    """A share of a limit, in seconds: at least a second, at most the limit."""
    return min(max(limit * share, LEAST_PLANNED), limit)


def check_range(option: str, value: float, most: float) -> None:
    """Refuse an option's number that is not from 0 to ``most``.

    Raises:
        ValueError: it is not.
    """
    if not 0 <= value <= most:
        raise ValueError(f"{option} is {value:g}; it goes from 0 to {most:g}")


def _uses(adjust: str) -> frozenset[str]:
    uses = USES.get(adjust) or frozenset(adjust.split("+"))
    if not uses <= USES["regular"]:
        raise ValueError(f"adjust is {adjust!r}; it is regular, selective, or some of queue+backfill+running")
    return uses
