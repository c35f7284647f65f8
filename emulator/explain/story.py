"""A job's story: submitted, why it waited at each change, started, sent back, ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from heapq import merge
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from emulator.accounting.records import read_columns
from emulator.accounting.runfolder import EVENTS, WAITS, FinishedRun
from emulator.config.slurm.hostlist import expand
from emulator.explain import words
from emulator.explain.window import Log
from emulator.report.numbers import duration_text, instant_text, printable
from slurm_sim_plugins.errors import InputError

What = Literal[
    "submitted",
    "rejected",
    "priority",
    "planned",
    "waits",
    "reserved",
    "room",
    "started",
    "configured",
    "moved",
    "rate",
    "preempted",
    "suspended",
    "resumed",
    "requeued",
    "preempts",
    "returned",
    "node",
    "ended",
]
Event = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One thing that happened to a job, or a change in why it waits.

    Attributes:
        time: in seconds on the trace's clock.
        what: its kind.
        text: in words, a sentence without its full stop.
        event: the event of the log, if it is one of the job's own.
    """

    time: float
    what: What
    text: str
    event: Mapping[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class Story:
    """What became of a job, and why.

    Attributes:
        job: its row of the records.
        steps: in the order of happening.
        explained: whether the run was made with ``explain``; else who decided is not known.
        reasons: whether it is known why it waited.
        epoch: unix time of second 0; None shows seconds.
    """

    job: Mapping[str, Any]
    steps: list[Step]
    explained: bool
    reasons: bool
    epoch: int | None = None

    def __repr__(self) -> str:
        """All of it as text, for an interpreter or a notebook."""
        return "\n".join(self.lines())

    def lines(self, most: int | None = None) -> list[str]:
        """As text: of each step the time, the time since the submission, and what happened.

        Args:
            most: steps to show, the first and the last ones; by default all.
        """
        steps = self.steps
        left_out = 0 if most is None else max(len(steps) - most, 0)
        rows = [(instant_text(each.time, self.epoch), self._since(each), printable(each.text)) for each in steps]
        if most is not None and left_out:
            first = most // 2
            rows[first : first + left_out] = [("...", "", f"{left_out} more steps; --all shows them")]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"job {self.job['job_id']}"]
        lines += [f"  {time.rjust(widths[0])}  {since.rjust(widths[1])}  {text}" for time, since, text in rows]
        if not self.explained:
            lacks = "Who decided" if self.reasons else "Why it waited and who decided"
            lines.append(f"{lacks} is not known: the run was made without --explain.")
        return lines

    def _since(self, step: Step) -> str:
        return f"+{duration_text(step.time - self.job['submit'])}"


def tell(run: FinishedRun, job: int) -> Story:
    """Tell the story of a job.

    Args:
        run: a run folder with its event log.
        job: the trace's job id.

    Raises:
        InputError: the run has no such job, or its event log is damaged or missing.
    """
    row = _row(run, job)
    log = Log(run.folder / EVENTS)
    beginning = log.beginning(row["submit"])
    teller = _Teller(run, row, log, beginning)
    waits = _waits(run, job) if run.on_cluster else ()
    for event in merge(log.lines(beginning), waits, key=itemgetter("time")):
        try:
            teller.hear(event)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{run.folder / EVENTS}: the event {event} is not as this version writes it ({error!r}); make the run "
                "again"
            ) from error
        if teller.over:
            break
    if not teller.steps:
        raise InputError(f"{run.folder / EVENTS}: says nothing of job {job}; make the run again")
    return Story(row, teller.steps, teller.explained, teller.explained or run.on_cluster, run.records.epoch)


def _waits(run: FinishedRun, job: int) -> Iterator[Event]:
    """Why a job of a cluster waited, in the words of ``squeue``, as events."""
    columns = read_columns(run.folder / WAITS)
    rows = np.flatnonzero((columns["job_id"] == job) & (columns["state"] == "PENDING"))
    time, reason = columns["time"][rows].tolist(), columns["reason"][rows].tolist()
    last = None
    for index, why in enumerate(reason):
        if why != last and time[index] != (time[index + 1] if index + 1 < len(rows) else None):
            last = why
            yield {"time": time[index], "event": "wait", "job": job, "reason": str(why)}


def _row(run: FinishedRun, job: int) -> dict[str, Any]:
    jobs = run.records.jobs
    found = np.flatnonzero(jobs["job_id"] == job)
    if not len(found):
        ids = jobs["job_id"]
        known = f"ids are from {ids.min()} to {ids.max()}" if len(ids) else "it has no jobs"
        raise InputError(f"{run.folder}: there is no job {job} in this run; {known}")
    return {name: column[found[:1]].tolist()[0] for name, column in jobs.items()}


class _Teller:
    """Hears one event after the other, and tells those that matter to a job."""

    def __init__(self, run: FinishedRun, row: Mapping[str, Any], log: Log, beginning: int) -> None:
        self.steps: list[Step] = []
        self.over = False
        self.explained = False
        self._run = run
        self._unit = "CPU" if run.on_cluster else "processor"
        self._job: int = row["job_id"]
        self._row = row
        self._log = log
        self._beginning = beginning
        self._running = _running_before(run, row["submit"])
        self._reserved: dict[int, float | None] = {}
        self._planned: float = row["time_limit"]
        self._waits = False
        self._why: object = None
        self._head: int | None = None
        self._decided: Event = {}
        self._named: Event = {}
        self._nodes: frozenset[str] = frozenset()
        self._at = partial(instant_text, epoch=run.records.epoch)
        self._own: dict[str, Callable[[Event], None]] = {
            "submit": self._submit,
            "reject": self._reject,
            "reserve": self._reserve,
            "wait": lambda event: self._tell(event, "waits", words.waits_for(event), own=False),
            "start": self._start,
            "preempt": lambda event: self._tell(event, "preempted", words.preempted(event)),
            "suspend": lambda event: self._tell(event, "suspended", words.suspended(event)),
            "resume": lambda event: self._tell(event, "resumed", words.resumed(event)),
            "move": lambda event: self._tell(event, "moved", words.moved(event, self._by("move"))),
            "rate": lambda event: self._tell(event, "rate", words.rate(event)),
            "requeue": self._requeue,
            "configured": lambda event: self._tell(event, "configured", words.configured(event)),
            "return": lambda event: self._tell(event, "returned", words.returned()),
            "end": self._end,
        }
        self._explaining: dict[str, Callable[[Event], None]] = {
            "queued": self._queued,
            "priority": lambda event: self._tell(event, "priority", words.priority(event), own=False),
            "plan": self._plan,
            "decide": self._decide,
            "room": self._room,
        }
        self._of_all: dict[str, Callable[[Event], object]] = {
            "pass": self._pass,
            "nodes": self._nodes_change,
            "victims": lambda event: setattr(self, "_named", event),
            "start": self._other_starts,
            "end": lambda event: self._running.pop(event["job"], None),
            "requeue": lambda event: self._running.pop(event["job"], None),
            "reserve": lambda event: self._reserved.update({event["job"]: event["start"]}),
        }

    def hear(self, event: Event) -> None:
        """Take an event in."""
        kind, job = event["event"], event.get("job")
        if job == self._job:
            handle = self._own.get(kind) or self._explaining.get(kind)
            if handle is not None:
                handle(event)
        elif kind == "requeue" and event.get("preemptor") == self._job:
            self._tell(event, "preempts", words.preempts(event, self._named), own=False)
        elif kind == "preempt" and event["preemptor"] == self._job:
            self._tell(event, "preempts", words.gives_way(event), own=False)
        if kind in self._of_all:
            self._of_all[kind](event)
        self.explained = self.explained or kind in ("pass", "queued")

    def _tell(self, event: Event, what: What, text: str, own: bool = True) -> None:
        self.steps.append(Step(float(event["time"]), what, text, dict(event) if own else None))

    def _submit(self, event: Event) -> None:
        self._waits = True
        self._tell(event, "submitted", words.submitted(self._row, self._unit))

    def _reject(self, event: Event) -> None:
        self.over = True
        self._tell(event, "rejected", words.rejected(event))

    def _queued(self, event: Event) -> None:
        self._head = event["head"]
        text = words.queued(
            event, self._run.records.processors, self._reservation_of(event["head"]), self._at, self._unit
        )
        self._tell(event, "submitted", text, own=False)

    def _plan(self, event: Event) -> None:
        self._planned = event["planned"]
        self._tell(event, "planned", words.planned(event, self._row["time_limit"]), own=False)

    def _decide(self, event: Event) -> None:
        self._decided = event

    def _room(self, event: Event) -> None:
        if not event["granted"]:
            self._tell(event, "room", words.no_room(event), own=False)

    def _reserve(self, event: Event) -> None:
        self._tell(event, "reserved", words.reserved(event, self._by("reserve"), self._at))

    def _start(self, event: Event) -> None:
        self._waits, self._why, self._nodes = False, None, frozenset(expand(event.get("nodes", "")))
        self._tell(event, "started", words.started(event, self._row, self._head, self._by("start"), self._unit))

    def _other_starts(self, event: Event) -> None:
        self._running[event["job"]] = event["processors"]
        self._reserved.pop(event["job"], None)

    def _nodes_change(self, event: Event) -> None:
        """Nodes are in another state; tells it of those on which the job runs."""
        own = sorted(self._nodes.intersection(expand(event["nodes"])))
        if own and not self._waits:
            self._tell(event, "node", words.node(event, own[0], len(own)), own=False)

    def _requeue(self, event: Event) -> None:
        self._waits = True
        self._tell(event, "requeued", words.requeued(event, self._named))

    def _end(self, event: Event) -> None:
        self.over = True
        self._tell(event, "ended", words.ended(event))

    def _pass(self, event: Event) -> None:
        """A pass is over: why does the job still wait?"""
        self._head = event["head"]
        if not self._waits or self._head is None or self._run.on_cluster:
            return
        reserved = self._reservation_of(self._head)
        why = (self._head, reserved, self._row["processors"] <= event["free"])
        if why != self._why:
            self._why = why
            text = words.waits(self._row, event, reserved, self._planned, self._running, self._at, self._unit)
            self._tell(event, "waits", text, own=False)

    def _reservation_of(self, head: int) -> float | None:
        """When a job is to start, in seconds, also if that was said before this story begins; None if it was not."""
        if head not in self._reserved:
            jobs = self._run.records.jobs
            submit = jobs["submit"][np.flatnonzero(jobs["job_id"] == head)[0]]
            said = f'"event":"reserve","job":{head},'.encode()
            last = self._log.last(said, self._log.beginning(submit), self._beginning)
            self._reserved[head] = last["start"] if last is not None else None
        return self._reserved[head]

    def _by(self, decision: str) -> Event:
        """What was recorded of the decision that is being carried out."""
        return self._decided if self._decided.get("decision") == decision else {}


def _running_before(run: FinishedRun, time: float) -> dict[int, int]:
    """Processors of the jobs that ran just before an instant."""
    runs = run.records.runs
    here = (runs["start"] < time) & ~(np.asarray(runs["end"], dtype=float) < time)
    return dict(zip(runs["job_id"][here].tolist(), runs["processors"][here].tolist(), strict=True))
