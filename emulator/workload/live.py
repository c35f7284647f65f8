"""Records of ``slurm-sim live``: JSON lines of what happened on a real cluster beside a plugin.

The first line names the format and the epoch (Unix seconds of second 0); the others have an ``event`` and the second
``at`` which it happened. Of a job that was submitted the line has ``id``, ``user`` and the command ``sbatch`` that asks
for the same. What the plugin would have done stands there, too, and is not needed to run the jobs again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from emulator.kinds import LIVE, reads
from emulator.workload.logfile import ADVICE, MALFORMED, bytes_of, counted, text_of
from emulator.workload.request import JobRequest
from emulator.workload.sbatch import TaskArray, with_option
from emulator.workload.sbatch_line import options_of
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun, SiteLog, Unusable
from slurm_sim_plugins.errors import ConfigurationError, InputError

FORMAT = "slurm-sim live 1"
"""Of the first line."""
FAILED = ("FAILED", "OUT_OF_MEMORY")
HAPPENS = ("submitted", "started", "requeued", "ended", "left")
"""What becomes of a job."""
LARGEST = 1e11
"""Seconds; a time beyond that is none."""


def looks_like_live(head: str) -> bool:
    """Whether the first line of a file is that of such a record."""
    return head.startswith('{"event": "begin"') and FORMAT in head


@dataclass(slots=True)
class _Job:
    """What the lines say of one job so far."""

    line: int
    submitted: Mapping[str, Any]
    runs: list[LoggedRun] = field(default_factory=list)
    start: float | None = None
    nodes: str = ""
    wanted: str = ""
    shares: str = ""
    seen: float | None = None
    began: float | None = None
    took: float | None = None
    state: str = "PENDING"
    left: float | None = None
    released: float | None = None
    leaves: float | None = None
    epilogs: list[float] = field(default_factory=list)
    not_started: list[LoggedRun] = field(default_factory=list)

    def stop(self, at: float, state: str) -> None:
        """Its run is over."""
        if self.start is not None:
            end = at if self.leaves is None else self.leaves
            over = LoggedRun(self.start, end, end - self.start, state, self.nodes, 0, "", decided=self.decided)
            self.runs.append(self._as_seen(over))
            self.epilogs.append(at - end)
        self.start, self.state, self.released, self.leaves = None, state, None, None

    def _as_seen(self, run: LoggedRun) -> LoggedRun:
        wanted = self.wanted if self.decided and self.wanted != run.nodes else ""
        return replace(run, shares=self.shares, seen=self.seen, began=self.began, wanted=wanted)

    def going(self) -> LoggedRun:
        """Its run, where it is not over."""
        assert self.start is not None
        run = LoggedRun(self.start, None, 0.0, "RUNNING", self.nodes, 0, "", decided=self.decided)
        return self._as_seen(run)

    def hold_back(self, at: float) -> None:
        """It has to make room before Slurm started it: to the plugin that is a run, which leaves its nodes."""
        self.start, self.leaves, self.seen, self.shares = self.released, at, None, ""

    def give_up(self, at: float | None, state: str = "PENDING") -> None:
        """What was decided on and has not begun is not to start any more, or had not when the record ended."""
        if self.released is not None and self.start is None:
            in_vain = LoggedRun(self.released, at, 0.0, state, self.nodes, 0, "", decided=True)
            self.not_started.append(in_vain)
            self.released = None

    def go_back(self, at: float) -> None:
        """It waits again."""
        self.stop(at, "REQUEUED")
        self.state = "PENDING"

    @property
    def decided(self) -> bool:
        """Whether a plugin decided on its run."""
        return self.released is not None


@reads(LIVE)
def read_live(path: str | os.PathLike[str], *, malformed: str = "error", seen: bool = False) -> SiteLog:
    """Read a record.

    Args:
        path: the file, plain or compressed with gzip.
        malformed: ``error`` or ``drop``: what to do about a line that cannot be used, such as the last one of a process
            that was killed.
        seen: a run begins when the plugin decided on it, and other times are those at which the plugin saw what
            happened; by default they are Slurm's.

    Raises:
        InputError: the file cannot be read.
        ConfigurationError: ``malformed`` is something else.
    """
    if malformed not in MALFORMED:
        raise ConfigurationError(f"malformed is {malformed!r}; choose one of {', '.join(MALFORMED)}")
    file = os.fspath(path)
    raw = bytes_of(file)
    lines = text_of(file, raw, LIVE).splitlines()
    if not lines or not looks_like_live(lines[0]):
        raise InputError(f"{file}:1: is not the first line of a record of slurm-sim live ({FORMAT})")
    jobs: dict[str, _Job] = {}
    unusable: list[Unusable] = []
    take = partial(_take_seen, held_back=[]) if seen else _take
    epoch = 0
    for number, line in enumerate(counted(lines), 1):
        try:
            event = _event(line)
            if number == 1:
                epoch = int(event["epoch"])
            else:
                take(event, number, jobs)
        except (InputError, ValueError, KeyError, TypeError) as error:
            if malformed == "error":
                raise InputError(f"{file}:{number}: is no line of a record ({error}); {ADVICE}") from error
            unusable.append(Unusable(number, number, f"is no line of a record: {error}"))
    logged = []
    for label, job in jobs.items():
        try:
            logged.append(_logged(label, job, seen))
        except (InputError, ValueError, KeyError, TypeError) as error:
            if malformed == "error":
                raise InputError(f"{file}:{job.line}: job {label} cannot be read ({error}); {ADVICE}") from error
            unusable.append(Unusable(job.line, job.line, f"job {label} cannot be read: {error}"))
    logged.sort(key=lambda job: (job.request.submit, job.request.id))
    name, digest = Path(file).name.partition(".")[0], hashlib.sha256(raw).hexdigest()
    return SiteLog(name, file, tuple(logged), epoch, len(lines), 0, tuple(unusable), (), digest)


def _event(line: str) -> dict[str, Any]:
    event = json.loads(line)
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ValueError("it has no event")
    return event


def _take(event: Mapping[str, Any], number: int, jobs: dict[str, _Job]) -> None:
    kind, label = event["event"], event.get("job")
    if kind == "submitted":
        jobs.setdefault(str(label), _Job(number, event))
    if not isinstance(label, str) or label not in jobs:
        return
    job = jobs[label]
    if kind == "started":
        job.start, job.nodes, job.state = _second(event), str(event.get("nodes", "")), "RUNNING"
        job.shares, job.seen = str(event.get("cpus", "")), float(event.get("seen", math.nan))
    elif kind == "requeued":
        job.go_back(_second(event))
    elif kind == "ended" and job.start is not None:
        job.stop(_second(event), str(event["state"]))
    elif kind in ("ended", "left"):
        # One that ended without a run had been requeued.
        job.give_up(_second(event), str(event["state"]))
        job.left, job.state = _second(event), str(event["state"])


def _take_seen(event: Mapping[str, Any], number: int, jobs: dict[str, _Job], held_back: list[_Job]) -> None:
    """The same at the times at which a plugin decided, or saw it; ``held_back`` are those of the last look."""
    kind, job = event["event"], jobs.get(str(event.get("job")))
    look = _second(event, "seen" if "seen" in event else "at")
    while held_back and held_back[-1].leaves is not None and held_back[-1].leaves < look:
        held_back.pop().go_back(look)
    if kind == "released" and job is not None:
        job.released, job.nodes = _second(event), str(event.get("nodes", ""))
        job.wanted = job.nodes
    elif kind == "held again" and job is not None:
        if job.released is not None and event.get("mode") == "REQUEUE":
            job.hold_back(look)
            held_back.append(job)
        else:
            job.give_up(look)
    elif job is not None and job.start is not None and _leaves(event):
        job.leaves = _second(event, "seen" if kind == "completing" else "at") if job.leaves is None else job.leaves
    elif kind == "submitted":
        _take(event, number, jobs)
    elif kind in HAPPENS:
        at = _second(event, "seen")
        if kind == "started" and job is not None:
            at, job.began = (at if job.released is None else job.released), _second(event)
        elif kind == "ended" and job is not None and job.began is not None:
            job.took = _second(event) - job.began
        _take({**event, "at": at}, number, jobs)


def _leaves(event: Mapping[str, Any]) -> bool:
    """Whether a run is over from then on, though its nodes are not free yet."""
    return event["event"] == "completing" or (event["event"] == "preempted" and event.get("mode") == "REQUEUE")


def _second(event: Mapping[str, Any], key: str = "at") -> float:
    at = float(event[key])
    if not abs(at) <= LARGEST:
        raise ValueError(f"{key} is {at}")
    return at


def _cut_short(job: _Job) -> bool:
    """Whether the last run of a job was ended from outside: an earlier one lasted longer, or would have."""
    *earlier, last = (run.elapsed for run in job.runs)
    return job.state == "CANCELLED" or any(elapsed > last for elapsed in earlier)


def _logged(label: str, job: _Job, seen: bool) -> LoggedJob:
    stated = job.submitted
    options = options_of(str(stated["sbatch"]))
    if stated.get("dependency"):
        options = with_option(options, "dependency", str(stated["dependency"]))
    array = int(stated["array"]) if "array" in stated else None
    if array is not None:
        options = replace(options, array=TaskArray((int(stated["task"]),), int(stated.get("at_once", 0))))
    runs = [*job.runs]
    if job.start is not None:
        runs.append(job.going())
    job.give_up(None)
    cancel_at = job.left
    if seen and job.runs and job.start is None and cancel_at is None and _cut_short(job):
        cancel_at = job.runs[-1].end
    known = ("PENDING",) if seen else ("PENDING", "TIMEOUT")
    over = job.runs and job.start is None and cancel_at is None and job.state not in known
    request = JobRequest(
        id=int(stated["id"]),
        submit=_second(stated),
        run=job.runs[-1].elapsed if over else UNTIL_ITS_LIMIT,
        options=options,
        user=str(stated["user"]),
        exit_code=1 if job.state in FAILED else 0,
        noticed=_second(stated, "seen") if seen else -math.inf,
        learnt=job.took,
        epilogs=tuple(job.epilogs) if seen else (),
        array=array,
        task=int(stated.get("task", 0)),
    )
    return LoggedJob(
        label, request, cancel_at, Happened(job.state, None, tuple(runs), not_started=tuple(job.not_started)), job.line
    )
