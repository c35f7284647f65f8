"""From records to jobs: steps, runs of requeued jobs, what is needed to run a job and what became of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from emulator.workload.logfile import counted
from emulator.workload.quickly import quickly
from emulator.workload.request import JobRequest
from emulator.workload.sacct.asked import NO_NODES, READ, Asked, asked_of
from emulator.workload.sacct.columns import ID, LONGEST_ID
from emulator.workload.sacct.dump import Dump
from emulator.workload.sacct.times import SLACK, Clock, NoTimeError, Span, span, spans
from emulator.workload.sbatch import BatchOptions, TaskArray
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun, Unusable
from emulator.workload.workload import Changed

NEEDED: tuple[tuple[str, ...], ...] = (
    ("JobID", "JobIDRaw"),
    ("Submit",),
    ("State",),
    ("ElapsedRaw", "Elapsed"),
    ("TimelimitRaw", "Timelimit"),
    ("ReqCPUS", "ReqTRES", "AllocCPUS", "NCPUS"),
)
"""Columns without which no job can be run: one of each group."""
WAITS = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT")
LIVES = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STAGE_OUT", "SIGNALING", "STOPPED")
NOT_OVER = frozenset((*WAITS, *LIVES))
COMES_BACK = ("PREEMPTED", "REQUEUED", "NODE_FAIL", "REQUEUE_HOLD", "BOOT_FAIL", "CANCELLED", "FAILED", "TIMEOUT")
"""States of a run after which the same job may run again."""
HELD = ("JobHeldUser", "JobHeldAdmin")
FAILED = ("FAILED", "OUT_OF_MEMORY", "BOOT_FAIL", "NODE_FAIL", "DEADLINE")


class NotUsableError(Exception):
    """A record that is no job; the message says why."""


_HAPPENED, _JOB, _REQUEST, _RUN = quickly(Happened), quickly(LoggedJob), quickly(JobRequest), quickly(LoggedRun)
NOT_SUSPENDED = ("", "00:00:00")
"""What Suspended says of a job that never was."""
TIMES = ("submit", "eligible", "start", "end")


class Given(NamedTuple):
    """What a record says but for what its job asked for: the values of columns; empty for one that is not there."""

    jobid: str
    jobidraw: str
    submit: str
    eligible: str
    start: str
    end: str
    elapsedraw: str
    elapsed: str
    suspended: str
    state: str
    exitcode: str
    reason: str
    user: str
    uid: str
    alloccpus: str
    ncpus: str
    nodelist: str
    partition: str


USED = frozenset((*Given._fields, *READ))
"""Columns of which anything is made."""


# Not frozen, like spans: there is one of each for every job, and what is frozen takes three times as long to make.
@dataclass(slots=True)
class Row:
    """A record, understood.

    Attributes:
        line: where it begins.
        id: the job's own number.
        array, task: the array that it is a task of, and the index there; None for no array.
        het_job, offset: the same for the heterogeneous job that it is a component of, by its first component.
        state: without who cancelled it.
        times: submission, eligible time, start, end.
        elapsed: seconds that it ran.
        ran: whether it had nodes.
        asked: what it asked for.
        given: what else the record says.
    """

    line: int
    id: int
    array: int | None
    task: int | None
    het_job: int | None
    offset: int | None
    state: str
    times: Span
    elapsed: float
    ran: bool
    asked: Asked
    given: Given

    @property
    def label(self) -> str:
        """Its id as the log has it."""
        if self.het_job is not None:
            return f"{self.het_job}+{self.offset}"
        return str(self.id) if self.array is None else f"{self.array}_{self.task}"


@dataclass
class Remarks:
    """What was read otherwise than it stands there: how often, and the first line, by reason."""

    counts: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        """One more."""
        self.counts[reason] += 1
        self.firsts[reason] = min(line, self.firsts.get(reason, line))

    def times(self, times: Span, line: int) -> None:
        """Whether the times of a run agree with each other."""
        if times.backwards:
            self.add(f"jobs have times that run backwards ({times.backwards}): is it a clock change?", line)
        if times.off:
            hours = round(times.off / 3600)
            whole = hours != 0 and abs(times.off - hours * 3600) <= SLACK
            self.add(
                f"jobs have an end that lies {f'{hours:+d} h' if whole else 'elsewhere'} off start and elapsed time, "
                "of which the elapsed time counts: is it a clock change? State the zone of the log",
                line,
            )

    def changes(self, file: str) -> tuple[Changed, ...]:
        """As they stand in a log."""
        return tuple(Changed(reason, count, f"{file}:{self.firsts[reason]}") for reason, count in self.counts.items())


def rows_of(dump: Dump, zone: tzinfo) -> tuple[list[Row], list[Unusable]]:
    """The records of a dump, understood, and those that cannot be used.

    Args:
        dump: read with the columns of :data:`USED`.
        zone: of times that state none.
    """
    clock = Clock(zone, {text for name in TIMES for text in dump.columns.get(name, ())})
    columns = [dump.columns.get(name) or [""] * len(dump.lines) for name in Given._fields]
    rows, wrong = [], []
    read = zip(counted(dump.lines), asked_of(dump), map(Given, *columns), _spans(columns, clock), strict=True)
    for line, wanted, given, times in read:
        try:
            rows.append(_row(line, given, wanted, clock, times))
        except NotUsableError as error:
            wrong.append(Unusable(line, line, str(error)))
    return rows, wrong


def _spans(columns: Sequence[Sequence[str]], clock: Clock) -> list[Span | None]:
    """The times of the records of such columns as :class:`Given` has; None for those that are to be looked at."""
    of = dict(zip(Given._fields, columns, strict=True))
    known = {text: float(text) for text in set(of["elapsedraw"]) if text}
    elapsed = np.array([known.get(text, math.nan) for text in of["elapsedraw"]], dtype=np.float64)
    whole = np.array([text in NOT_SUSPENDED for text in of["suspended"]], dtype=bool)
    return spans([clock.plainly(of[name]) for name in TIMES], elapsed, whole)


def _row(line: int, given: Given, wanted: Asked | str, clock: Clock, times: Span | None) -> Row:
    """Understand a record.

    Raises:
        NotUsableError: a value that cannot be understood.
    """
    number, array, task, het_job, offset = _ids(given)
    elapsed = float(given.elapsedraw) if given.elapsedraw else _duration("Elapsed", given.elapsed)
    times = times or _times(given, elapsed, clock)
    if elapsed is None:
        elapsed = max(times.end - times.start, 0.0) if times.start is not None and times.end is not None else 0.0
    if isinstance(wanted, str):
        raise NotUsableError(wanted)
    state = given.state.partition(" ")[0].rstrip("+")
    # A job that is cancelled while it waits gets its end as its start.
    ran = times.start is not None and state not in WAITS and (elapsed > 0 or given.nodelist not in NO_NODES)
    return Row(line, number, array, task, het_job, offset, state, times, elapsed, ran, wanted, given)


def _times(given: Given, elapsed: float | None, clock: Clock) -> Span:
    """The times of one record.

    Raises:
        NotUsableError: one of them cannot be understood.
    """
    try:
        meant = [clock[text] for text in given[2:6]]
    except NoTimeError as error:
        raise NotUsableError(f"{_first_without(clock, given)} is {error}") from None
    if not meant[0]:
        raise NotUsableError("there is no time of submission")
    return span(meant, elapsed, _duration("Suspended", given.suspended) or 0.0)


def _first_without(clock: Clock, given: Given) -> str:
    """The first column of times in which there is none."""
    for name, text in zip(TIMES, given[2:6], strict=True):
        try:
            clock[text]
        except NoTimeError:
            return name.capitalize()
    raise AssertionError("all are times")


def _ids(given: Given) -> tuple[int, int | None, int | None, int | None, int | None]:
    """The number of a job, the array that it is of, and its index there; the same for a heterogeneous job."""
    label = given.jobid or given.jobidraw
    if given.jobidraw in (label, "") and label.isdecimal() and len(label) <= LONGEST_ID:
        return int(label), None, None, None, None  # as most are
    shown, raw = ID.fullmatch(label), ID.fullmatch(given.jobidraw or label)
    if shown is None or raw is None:
        raise NotUsableError(f"JobID is {given.jobid[:40]!r}, which is no job id")
    if "[" in shown.group():
        raise NotUsableError(
            f"{shown.group()} stands for all tasks of an array that had not started; write the dump with sacct --array"
        )
    if shown.group(3) is not None:
        het_job, offset = int(shown.group(1)), int(shown.group(3))
        # A component's own number is the first one's and its place.
        return (int(raw.group(1)) if given.jobidraw else het_job + offset), None, None, het_job, offset
    if shown.group(2) is None:
        return int(raw.group(1)), None, None, None, None
    array, task = int(shown.group(1)), int(shown.group(2))
    if not given.jobidraw:
        # The number is not known; any that no job has will do.
        return 10**9 + array * 10**6 + task, array, task, None, None
    return int(raw.group(1)), array, task, None, None


def _duration(name: str, text: str) -> float | None:
    """Seconds of ``[DD-[HH:]]MM:SS``; None where there is none."""
    if not text or text == "INVALID":
        return None
    whole, _, part = text.partition(".")
    days, dash, clock = whole.rpartition("-")
    words = clock.split(":")
    if not 2 <= len(words) <= 3 or not all(word.isdecimal() for word in words) or (dash and not days.isdecimal()):
        raise NotUsableError(f"{name} is {text[:40]!r}, which is not written DD-HH:MM:SS")
    seconds = 0
    for word in words:
        seconds = seconds * 60 + int(word)
    return int(days or 0) * 86_400 + seconds + float(f"0.{part or 0}")


def gathered(rows: Sequence[Row]) -> tuple[list[list[Row]], list[tuple[Row, str]]]:
    """The rows of each job, in order, and those that stand there twice, with the reason.

    With ``sacct --duplicates`` a job that was requeued has a row for each of its runs.
    """
    jobs: dict[int, list[Row]] = {}
    again: list[tuple[Row, str]] = []
    for row in sorted(rows, key=lambda row: (row.id, row.times.submit, row.line)):
        before = jobs.setdefault(row.id, [])
        if not before or _follows(before[-1], row):
            before.append(row)
        else:
            again.append(
                (row, f"job {row.label} stands already in line {before[-1].line}{_why_again(before[-1], row)}")
            )
    return list(jobs.values()), again


def _why_again(before: Row, row: Row) -> str:
    """Why a job may stand in a dump twice without being a run that came back."""
    if "RESIZING" in (before.state, row.state):
        return ": it changed its size, which is not emulated"
    if before.times.submit != row.times.submit:
        return ", with another submission: are there jobs of several clusters, or have ids been used again?"
    return ""


def _follows(before: Row, row: Row) -> bool:
    end = before.times.end
    return before.state in COMES_BACK and end is not None and row.times.submit >= end and before.label == row.label


def job_of(rows: Sequence[Row], epoch: int, remarks: Remarks) -> LoggedJob:
    """The job of its rows."""
    first, last = rows[0], rows[-1]
    for row in rows:
        if row.times.backwards or row.times.off:
            remarks.times(row.times, row.line)
    request = _request(first, last, epoch)
    if last.state in NOT_OVER:
        remarks.add("jobs had not ended when the dump was made: each is taken to run into its limit", last.line)
    cancelled = last.state == "CANCELLED" and not last.ran and not last.asked.emulated
    end = last.times.end
    happened = _HAPPENED(
        state=last.state,
        eligible=_after(first.times.eligible, epoch),
        runs=tuple([_run(row, epoch) for row in rows if row.ran]),
        reason=last.given.reason,
    )
    return _JOB(last.label, request, _after(end, epoch) if cancelled else None, happened, last.line)


def _request(first: Row, last: Row, epoch: int) -> JobRequest:
    stated = last.asked.stated
    return _REQUEST(
        id=last.id,
        submit=stated.get("submit", first.times.submit - epoch),
        run=_work(last),
        options=_options(first, last),
        user=last.given.user or last.given.uid,
        exit_code=_exit_code(last),
        ignores_term=bool(stated.get("ignores_term")),
        dies_in=stated.get("dies_in"),
        array=first.array,
        task=first.task or 0,
        het_job_id=first.het_job,
        het_job_offset=first.offset or 0,
    )


def _options(first: Row, last: Row) -> BatchOptions:
    """What the job asked for; most jobs share that with others, for it takes time to make."""
    options = last.asked.options
    if first.array is None:
        options = options if options.array is None else replace(options, array=None)
    else:
        options = _of_task(options, first.task or 0)
    return options if last.asked.emulated else _kept_back(options, first, last)


@lru_cache(maxsize=4096)
def _of_task(options: BatchOptions, task: int) -> BatchOptions:
    """What one task of an array asks for: each has a row of its own, which says how all of them were submitted."""
    limit = options.array.limit if options.array is not None else 0
    return replace(options, array=TaskArray((task,), limit))


def _kept_back(options: BatchOptions, first: Row, last: Row) -> BatchOptions:
    """Say from when on a job may start; what kept it back (a dependency, ``--begin``) is over then."""
    eligible, submit = first.times.eligible, first.times.submit
    begin = None if eligible is None or eligible <= submit else eligible - submit
    held = not last.ran and last.given.reason in HELD
    if options.begin == begin and options.held == held and not options.dependencies and not options.any_dependency:
        return options
    return replace(options, begin=begin, dependencies=(), any_dependency=False, held=held)


def _work(row: Row) -> float:
    """Seconds of work: how long it ran, or until its limit where it was not let finish."""
    if row.asked.emulated:
        return row.asked.stated["run"]
    if row.state == "TIMEOUT" or row.state in NOT_OVER or (row.state == "CANCELLED" and not row.ran):
        return UNTIL_ITS_LIMIT
    return row.elapsed


def _exit_code(row: Row) -> int:
    if row.asked.emulated:
        return int(row.asked.stated.get("exit_code", 0))
    if row.state not in FAILED:
        return 0
    code, _, signal = row.given.exitcode.partition(":")
    return int(code or 0) or int(signal or 0) or 1


def _run(row: Row, epoch: int) -> LoggedRun:
    start, end = row.times.start, row.times.end
    assert start is not None
    cpus = row.given.alloccpus or row.given.ncpus or "0"
    start, end = start - epoch, None if end is None else end - epoch
    return _RUN(start, end, row.elapsed, row.state, row.given.nodelist, int(cpus), row.given.partition)


def _after(instant: float | None, epoch: int) -> float | None:
    return None if instant is None else instant - epoch
