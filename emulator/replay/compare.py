"""What an emulated cluster did with the jobs of a log beside what the real one did."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.accounting.records import Records
from emulator.workload.sitelog import LoggedJob, SiteLog

SIZES = ((1, "1 CPU"), (8, "2 to 8 CPUs"), (64, "9 to 64 CPUs"), (512, "65 to 512 CPUs"), (math.inf, "more"))
"""Classes of jobs by the CPUs that they asked for: the most of each, and its name."""
CLOSE = (2.0, 60.0, 600.0, 3600.0)
"""How near two starts are, in seconds."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A job, real and emulated; times in seconds on the log's clock, NaN for what did not happen.

    Attributes:
        label: its id in the log.
        partition, qos, user: its own.
        cpus: that it asked for.
        eligible: when it could have started.
        real_start, real_end, real_state: what the real cluster did.
        start, end, state: what the emulated one did.
        reason: why it did not start, or was not taken, there.
    """

    label: str
    partition: str
    qos: str
    user: str
    cpus: int
    eligible: float
    real_start: float
    real_end: float
    real_state: str
    start: float
    end: float
    state: str
    reason: str

    @property
    def real_wait(self) -> float:
        """Seconds from being eligible to the first start; NaN where clocks do not allow that."""
        wait = self.real_start - self.eligible
        # Recorded starts are whole seconds, rounded down.
        return max(wait, 0.0) if wait > -1 else math.nan

    @property
    def wait(self) -> float:
        """The same, emulated."""
        return max(self.start - self.eligible, 0.0)

    @property
    def apart(self) -> float:
        """Seconds by which the emulated start is later; NaN unless both started."""
        return self.start - self.real_start if not math.isnan(self.real_wait) else math.nan

    @property
    def size(self) -> str:
        """Its class."""
        return next(name for most, name in SIZES if self.cpus <= most)


@dataclass(frozen=True, slots=True)
class Group:
    """Jobs that have something in common and started on both clusters; waits in seconds.

    Attributes:
        kind: ``all``, ``partition``, ``qos`` or ``size``.
        name: its value.
        jobs: how many.
        real: mean, median and longest wait on the real cluster.
        emulated: the same on the emulated one.
        apart: median of how far the starts are apart, without sign.
    """

    kind: str
    name: str
    jobs: int
    real: tuple[float, float, float]
    emulated: tuple[float, float, float]
    apart: float


@dataclass(frozen=True)
class Comparison:
    """A log beside its emulation.

    Attributes:
        pairs: the jobs, in the order of the log.
        left_out: jobs that were not run again.
        tolerance: starts that differ by more than so many seconds part.
    """

    pairs: tuple[Pair, ...]
    left_out: int
    tolerance: float

    @property
    def both(self) -> list[Pair]:
        """Jobs that started on both clusters."""
        return [pair for pair in self.pairs if not math.isnan(pair.apart)]

    def groups(self) -> list[Group]:
        """Waits of all jobs, and by partition, QOS and size."""
        kinds: tuple[tuple[str, Callable[[Pair], str]], ...] = (
            ("all", lambda pair: "jobs"),
            ("partition", lambda pair: pair.partition),
            ("qos", lambda pair: pair.qos),
            ("size", lambda pair: pair.size),
        )
        return [group for kind, key in kinds for group in _groups(kind, key, self.both)]

    def near(self) -> dict[float, float]:
        """Share of the jobs whose starts are no further apart than so many seconds."""
        both = self.both
        return {most: sum(abs(pair.apart) <= most for pair in both) / len(both) for most in CLOSE} if both else {}

    def partings(self) -> list[Pair]:
        """Jobs whose starts are further apart than the tolerance, those that come first in time first."""
        apart = [pair for pair in self.both if abs(pair.apart) > self.tolerance]
        return sorted(apart, key=lambda pair: (min(pair.start, pair.real_start), pair.label))

    def one_sided(self) -> dict[str, list[Pair]]:
        """Jobs that did not start on one of the clusters, or cannot be compared, by what is so."""
        found: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            if why := _one_sided(pair):
                found.setdefault(why, []).append(pair)
        return found

    def reasons(self) -> Counter[str]:
        """Why jobs that ran in the log did not start here."""
        return Counter(pair.reason for pair in self.pairs if math.isnan(pair.start) and not math.isnan(pair.real_start))

    def data(self, most: int) -> dict[str, Any]:
        """All of it as plain data, with so many partings."""
        partings = self.partings()
        return {
            "jobs": len(self.pairs),
            "compared": len(self.both),
            "left_out": self.left_out,
            "tolerance": self.tolerance,
            "groups": [_plain(group) for group in self.groups()],
            "near": {f"{seconds:g}": share for seconds, share in self.near().items()},
            "one_sided": {why: len(pairs) for why, pairs in self.one_sided().items()},
            "reasons": dict(self.reasons()),
            "parted": len(partings),
            "partings": [_told(pair) for pair in partings[:most]],
        }


def compare(
    log: SiteLog,
    records: Records,
    tolerance: float = 60.0,
    warm_up: float = 0.0,
    later: Mapping[int, float] | None = None,
) -> Comparison:
    """Set a log against its emulation.

    Args:
        log: the log.
        records: of the emulation.
        tolerance: seconds.
        warm_up: share of the jobs, by submission, that is left out: the emulated cluster begins empty.
        later: by how many seconds each job was submitted later to the emulated cluster than in the log; its emulated
            times are told that much earlier, so that its wait is its own.
    """
    moved = later or {}
    names = ("job_id", "first_start", "end", "state", "reason")
    rows = zip(*(records.jobs[name].tolist() for name in names), strict=True)
    known = {number: row for number, *row in rows}
    jobs = log.jobs[math.floor(warm_up * len(log.jobs)) :]
    numbered = [(job, job.request.id) for job in jobs if job.request.id in known]
    pairs = [_pair(job, moved.get(number, 0.0), *known[number]) for job, number in numbered]
    return Comparison(tuple(pairs), len(jobs) - len(pairs), tolerance)


def _pair(job: LoggedJob, later: float, start: float, end: float, state: str, reason: str) -> Pair:
    options, runs = job.request.options, job.happened.runs
    eligible = job.request.submit + (options.begin or 0.0)
    last_end = runs[-1].end if runs else None
    return Pair(
        label=job.label,
        partition=runs[-1].partition if runs and runs[-1].partition else ",".join(options.partitions),
        qos=options.qos,
        user=job.request.user,
        cpus=options.cpus,
        eligible=eligible,
        real_start=math.nan if not runs else runs[0].start,
        real_end=math.nan if last_end is None else last_end,
        real_state=job.happened.state,
        start=start - later,
        end=end - later,
        state=state,
        reason=reason,
    )


def _one_sided(pair: Pair) -> str:
    if pair.state == "REJECTED":
        return "refused by the emulated cluster"
    if math.isnan(pair.real_start):
        return "started on neither" if math.isnan(pair.start) else "started on the emulated cluster alone"
    if math.isnan(pair.start):
        return "started on the real cluster alone"
    return "with a real start before being eligible: a clock change?" if math.isnan(pair.apart) else ""


def _groups(kind: str, key: Callable[[Pair], str], pairs: Iterable[Pair]) -> list[Group]:
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        if name := key(pair):
            found.setdefault(name, []).append(pair)
    order = [name for _, name in SIZES] if kind == "size" else sorted(found)
    return [_group(kind, name, found[name]) for name in order if name in found]


def _group(kind: str, name: str, pairs: Sequence[Pair]) -> Group:
    real = np.array([pair.real_wait for pair in pairs])
    emulated = np.array([pair.wait for pair in pairs])
    apart = np.abs([pair.apart for pair in pairs])
    return Group(kind, name, len(pairs), _measures(real), _measures(emulated), float(np.median(apart)))


def _measures(waits: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    return float(waits.mean()), float(np.median(waits)), float(waits.max())


def _plain(group: Group) -> dict[str, Any]:
    names = ("mean", "median", "longest")
    return {
        "kind": group.kind,
        "name": group.name,
        "jobs": group.jobs,
        "real": dict(zip(names, group.real, strict=True)),
        "emulated": dict(zip(names, group.emulated, strict=True)),
        "apart": group.apart,
    }


def _told(pair: Pair) -> dict[str, Any]:
    return {
        "job": pair.label,
        "partition": pair.partition,
        "qos": pair.qos,
        "cpus": pair.cpus,
        "eligible": pair.eligible,
        "real_start": pair.real_start,
        "start": pair.start,
        "apart": pair.apart,
        "real_state": pair.real_state,
        "state": pair.state,
    }
