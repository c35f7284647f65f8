"""From records to jobs: steps, runs of requeued jobs, what is needed to run a job and what became of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from emulator.workload.request import JobRequest
from emulator.workload.sacct.asked import Asked, asked
from emulator.workload.sacct.dump import Record
from emulator.workload.sacct.times import SLACK, NoTimeError, Span, instants, span
from emulator.workload.sbatch import TaskArray
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun
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
_ID = re.compile(r"(\d{1,18})(?:_(\d{1,9})|_\[[^\]]*\])?(?:\+\d+)?(\.\w+)?")
WAITS = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT")
LIVES = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STAGE_OUT", "SIGNALING", "STOPPED")
COMES_BACK = ("PREEMPTED", "REQUEUED", "NODE_FAIL", "REQUEUE_HOLD", "BOOT_FAIL", "CANCELLED", "FAILED", "TIMEOUT")
"""States of a run after which the same job may run again."""
HELD = ("JobHeldUser", "JobHeldAdmin")
FAILED = ("FAILED", "OUT_OF_MEMORY", "BOOT_FAIL", "NODE_FAIL", "DEADLINE")


class NotUsableError(Exception):
    """A record that is no job; the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """A record, understood.

    Attributes:
        line: where it begins.
        id: the job's own number.
        array, task: the array that it is a task of, and the index there; None for no array.
        state: without who cancelled it.
        times: submission, eligible time, start, end.
        elapsed: seconds that it ran.
        asked: what it asked for.
        fields: all values.
    """

    line: int
    id: int
    array: int | None
    task: int | None
    state: str
    times: Span
    elapsed: float
    asked: Asked
    fields: Mapping[str, str]

    @property
    def label(self) -> str:
        """Its id as the log has it."""
        return str(self.id) if self.array is None else f"{self.array}_{self.task}"

    @property
    def ran(self) -> bool:
        """Whether it had nodes."""
        nodes = self.fields.get("nodelist", "")
        if self.times.start is None or self.state in WAITS:
            return False
        # A job that is cancelled while it waits gets its end as its start.
        return self.elapsed > 0 or (nodes not in ("", "None assigned") and "nodelist" in self.fields)


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


def is_step(record: Record) -> bool:
    """Whether a record is that of a step."""
    found = _ID.fullmatch(record.fields.get("jobid") or record.fields.get("jobidraw", ""))
    return found is not None and found.group(3) is not None


def row_of(record: Record, zone: tzinfo) -> Row:
    """Understand the record of a job.

    Raises:
        NotUsableError: a value that cannot be understood.
    """
    fields = record.fields
    number, array, task = _ids(fields)
    elapsed = _elapsed(fields)
    meant = []
    for name in ("submit", "eligible", "start", "end"):
        try:
            meant.append(instants(fields.get(name, ""), zone))
        except NoTimeError as error:
            raise NotUsableError(f"{name.capitalize()} is {error}") from None
    if not meant[0]:
        raise NotUsableError("there is no time of submission")
    times = span(meant, elapsed, _duration(fields, "suspended") or 0.0)
    if elapsed is None:
        elapsed = max(times.end - times.start, 0.0) if times.start is not None and times.end is not None else 0.0
    try:
        wanted = asked(fields)
    except ValueError as error:
        raise NotUsableError(str(error)) from None
    state = fields.get("state", "").partition(" ")[0].rstrip("+")
    return Row(record.line, number, array, task, state, times, elapsed, wanted, fields)


def _ids(fields: Mapping[str, str]) -> tuple[int, int | None, int | None]:
    shown = _ID.fullmatch(fields.get("jobid", "") or fields.get("jobidraw", ""))
    raw = _ID.fullmatch(fields.get("jobidraw", "") or fields.get("jobid", ""))
    if shown is None or raw is None:
        raise NotUsableError(f"JobID is {fields.get('jobid', '')[:40]!r}, which is no job id")
    if "[" in shown.group():
        raise NotUsableError(
            f"{shown.group()} stands for all tasks of an array that had not started; write the dump with sacct --array"
        )
    if shown.group(2) is None:
        return int(raw.group(1)), None, None
    array, task = int(shown.group(1)), int(shown.group(2))
    if "jobidraw" not in fields:
        # The number is not known; any that no job has will do.
        return 10**9 + array * 10**6 + task, array, task
    return int(raw.group(1)), array, task


def _elapsed(fields: Mapping[str, str]) -> float | None:
    raw = fields.get("elapsedraw", "")
    return float(raw) if raw else _duration(fields, "elapsed")


def _duration(fields: Mapping[str, str], name: str) -> float | None:
    """Seconds of ``[DD-[HH:]]MM:SS``; None where there is none."""
    text = fields.get(name, "")
    if not text or text == "INVALID":
        return None
    whole, _, part = text.partition(".")
    days, dash, clock = whole.rpartition("-")
    words = clock.split(":")
    if not 2 <= len(words) <= 3 or not all(word.isdecimal() for word in words) or (dash and not days.isdecimal()):
        raise NotUsableError(f"{name.capitalize()} is {text[:40]!r}, which is not written DD-HH:MM:SS")
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
            again.append((row, f"job {row.label} stands already in line {before[-1].line}"))
    return list(jobs.values()), again


def _follows(before: Row, row: Row) -> bool:
    end = before.times.end
    return before.state in COMES_BACK and end is not None and row.times.submit >= end and before.label == row.label


def job_of(rows: Sequence[Row], epoch: int, remarks: Remarks) -> LoggedJob:
    """The job of its rows."""
    first, last = rows[0], rows[-1]
    for row in rows:
        remarks.times(row.times, row.line)
    request = _request(first, last, epoch)
    if last.state in (*WAITS, *LIVES):
        remarks.add("jobs had not ended when the dump was made: each is taken to run into its limit", last.line)
    cancelled = last.state == "CANCELLED" and not last.ran and not last.asked.emulated
    end = last.times.end
    happened = Happened(
        state=last.state,
        eligible=_after(first.times.eligible, epoch),
        runs=tuple(_run(row, epoch) for row in rows if row.ran),
        reason=last.fields.get("reason", ""),
    )
    return LoggedJob(last.label, request, _after(end, epoch) if cancelled else None, happened, last.line)


def _request(first: Row, last: Row, epoch: int) -> JobRequest:
    wanted = last.asked
    stated = wanted.stated
    changes = {} if wanted.emulated else _kept_back(first, last)
    if first.array is None:
        changes["array"] = None
    elif wanted.options.array is None:
        changes["array"] = TaskArray((first.task or 0,))
    # Making options takes time, and most jobs share theirs.
    changes = {name: value for name, value in changes.items() if getattr(wanted.options, name) != value}
    return JobRequest(
        id=last.id,
        submit=stated.get("submit", first.times.submit - epoch),
        run=_work(last),
        options=replace(wanted.options, **changes) if changes else wanted.options,
        user=last.fields.get("user", "") or last.fields.get("uid", ""),
        exit_code=_exit_code(last),
        ignores_term=bool(stated.get("ignores_term")),
        dies_in=stated.get("dies_in"),
        array=first.array,
        task=first.task or 0,
    )


def _kept_back(first: Row, last: Row) -> dict[str, Any]:
    """Options that say from when on a job may start; what kept it back (a dependency, ``--begin``) is over then."""
    eligible = first.times.eligible
    wait = 0.0 if eligible is None else eligible - first.times.submit
    held = not last.ran and last.fields.get("reason") in HELD
    return {"begin": wait if wait > 0 else None, "dependencies": (), "any_dependency": False, "held": held}


def _work(row: Row) -> float:
    """Seconds of work: how long it ran, or until its limit where it was not let finish."""
    if row.asked.emulated:
        return row.asked.stated["run"]
    if row.state == "TIMEOUT" or row.state in (*WAITS, *LIVES) or (row.state == "CANCELLED" and not row.ran):
        return UNTIL_ITS_LIMIT
    return row.elapsed


def _exit_code(row: Row) -> int:
    if row.asked.emulated:
        return int(row.asked.stated.get("exit_code", 0))
    code, _, signal = row.fields.get("exitcode", "").partition(":")
    failed = int(code or 0) or int(signal or 0)
    return failed or 1 if row.state in FAILED else 0


def _run(row: Row, epoch: int) -> LoggedRun:
    start, end = _after(row.times.start, epoch), _after(row.times.end, epoch)
    assert start is not None
    cpus = row.fields.get("alloccpus") or row.fields.get("ncpus") or "0"
    return LoggedRun(
        start, end, row.elapsed, row.state, row.fields.get("nodelist", ""), int(cpus), row.fields.get("partition", "")
    )


def _after(instant: float | None, epoch: int) -> float | None:
    return None if instant is None else instant - epoch
