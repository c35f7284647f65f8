"""Job logs of NREL's Eagle as CSV, plain or gzipped: made from Slurm's accounting.

One row a job under a line of column names: ``job_id``, ``user``, ``account``, ``partition``,
``qos``, ``wallclock_req`` (seconds), ``nodes_req``, ``processors_req``, ``gpus_req``,
``mem_req`` (mebibytes in all; 0 for not stated), ``submit_time``, ``start_time``,
``end_time`` (local times), ``run_time`` (seconds), ``state``, ``name``. Rows with the same id
are the tasks of one array, in their order.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo

from emulator.config.slurm.model import GresCount
from emulator.workload.logfile import ADVICE, bytes_of, check_malformed, csv_rows, has_columns, text_of
from emulator.workload.request import JobRequest
from emulator.workload.sacct.jobs import FAILED, Remarks
from emulator.workload.sacct.reading import in_order, name_of
from emulator.workload.sacct.times import NoTimeError, Span, instants, span, zone_of
from emulator.workload.sbatch import BatchOptions, TaskArray
from emulator.workload.sitelog import UNTIL_ITS_LIMIT, Happened, LoggedJob, LoggedRun, SiteLog, Unusable
from emulator.workload.workload import LARGEST_SECONDS
from slurm_sim_plugins.errors import InputError

COLUMNS = (
    "job_id",
    "user",
    "account",
    "partition",
    "qos",
    "wallclock_req",
    "nodes_req",
    "processors_req",
    "gpus_req",
    "mem_req",
    "submit_time",
    "start_time",
    "end_time",
    "run_time",
    "state",
    "name",
)
ZONE = "America/Denver"
"""Where Eagle stood."""


class _NotUsableError(Exception):
    """A row that is no job; the message says why."""


def read_eagle(path: str | os.PathLike[str], *, zone: str = ZONE, malformed: str = "error") -> SiteLog:
    """Read a log. Second 0 of the log's clock is that of the first submission.

    Args:
        path: the file.
        zone: of its times.
        malformed: ``error`` ends at the first line that cannot be used; ``drop`` leaves such
            lines out and names each.

    Raises:
        InputError: a file that cannot be read, lacks a column, or holds no job; the message
            names the file and, where there is one, the line.
        ConfigurationError: an argument that cannot be used.
    """
    check_malformed(malformed)
    file = os.fspath(path)
    raw = bytes_of(file)
    good: list[tuple[int, _Row]] = []
    unusable: list[Unusable] = []
    read = 0
    names, lines = csv_rows(file, text_of(file, raw, "a log as CSV"), COLUMNS)
    for number, values in lines:
        read += 1
        words = dict(zip(names, values, strict=False)) if len(values) <= len(names) else {}
        try:
            good.append((number, _Row(words, zone_of(zone))))
        except _NotUsableError as problem:
            if malformed == "error":
                raise InputError(f"{file}:{number}: {problem}; {ADVICE}") from problem
            unusable.append(Unusable(number, number, str(problem)))
    if not good:
        raise InputError(f"{file}: the file holds no job; is it a log as CSV?")
    epoch = math.floor(min(row.times.submit for _, row in good))
    remarks = Remarks()
    jobs = _jobs(good, epoch, remarks)
    return SiteLog(
        name=name_of(file),
        file=file,
        jobs=in_order(jobs),
        epoch=epoch,
        read=read,
        steps=0,
        unusable=tuple(unusable),
        changed=remarks.changes(file),
        source_hash=hashlib.sha256(raw).hexdigest(),
    )


def looks_like_eagle(head: str) -> bool:
    """Whether the beginning of a file is a line with the names of the columns."""
    return has_columns(head, "wallclock_req", "nodes_req", "submit_time")


class _Row:
    """A row, understood."""

    def __init__(self, words: Mapping[str, str], zone: tzinfo) -> None:
        if not set(COLUMNS) <= set(words):
            raise _NotUsableError("the line is cut off or broken: it has another number of fields than the first line")
        self.words = words
        self.id = int(_number(words, "job_id"))
        self.elapsed = _number(words, "run_time")
        self.limit = _number(words, "wallclock_req")
        self.nodes, self.cpus = int(_number(words, "nodes_req")), int(_number(words, "processors_req"))
        self.gpus, self.memory = int(_number(words, "gpus_req")), _number(words, "mem_req")
        if self.cpus < 1 or self.limit <= 0:
            raise _NotUsableError("the job asked for no processors or for no time")
        self.times = self._span(zone)

    def _span(self, zone: tzinfo) -> Span:
        meant = []
        for name in ("submit_time", "submit_time", "start_time", "end_time"):
            try:
                meant.append(instants(self.words[name], zone))
            except NoTimeError as error:
                raise _NotUsableError(f"{name} is {error}") from None
        if not meant[0]:
            raise _NotUsableError("there is no time of submission")
        return span(meant, self.elapsed, 0.0)

    @property
    def options(self) -> BatchOptions:
        """What the job asked for."""
        nodes = max(self.nodes, 1)
        return BatchOptions(
            name=self.words["name"],
            account=self.words["account"],
            qos=self.words["qos"],
            partitions=(self.words["partition"],) if self.words["partition"] else (),
            min_nodes=nodes,
            max_nodes=nodes,
            tasks=max(self.cpus, nodes),
            memory_per_node=math.ceil(self.memory / nodes) if self.memory else None,
            gpus=(GresCount("gpu", "", self.gpus),) if self.gpus else (),
            time_limit=self.limit,
        )


def _number(words: Mapping[str, str], name: str) -> float:
    try:
        value = float(words[name].replace("_", "?"))
    except ValueError:
        raise _NotUsableError(f"{name} is {words[name][:40]!r}, which is not a number") from None
    if not 0 <= value <= LARGEST_SECONDS:
        raise _NotUsableError(f"{name} is {words[name][:40]!r}, which is out of range")
    return value


def _jobs(rows: Sequence[tuple[int, _Row]], epoch: int, remarks: Remarks) -> list[LoggedJob]:
    counts = Counter(row.id for _, row in rows)
    free = max(counts) + 1
    tasks: Counter[int] = Counter()
    jobs = []
    for number, row in rows:
        index = tasks[row.id] if counts[row.id] > 1 else None
        tasks[row.id] += 1
        # As in Slurm, the last task keeps the id of the array.
        ident = row.id if tasks[row.id] == counts[row.id] else free
        free += ident == free
        jobs.append(_job(number, row, ident, index, epoch))
        remarks.times(row.times, number)
    return jobs


def _job(line: int, row: _Row, ident: int, task: int | None, epoch: int) -> LoggedJob:
    state, start, end = row.words["state"], row.times.start, row.times.end
    ran = start is not None and (row.elapsed > 0 or state not in ("CANCELLED", "PENDING"))
    options = row.options
    if task is not None:
        options = replace(options, array=TaskArray((task,)))
    request = JobRequest(
        id=ident,
        submit=row.times.submit - epoch,
        run=row.elapsed if ran and state != "TIMEOUT" else UNTIL_ITS_LIMIT,
        options=options,
        user=row.words["user"],
        exit_code=1 if state in FAILED else 0,
        array=None if task is None else row.id,
        task=task or 0,
    )
    runs: tuple[LoggedRun, ...] = ()
    if ran and start is not None:
        after = None if end is None else end - epoch
        runs = (LoggedRun(start - epoch, after, row.elapsed, state, "", row.cpus, row.words["partition"]),)
    label = str(row.id) if task is None else f"{row.id}_{task}"
    cancel_at = end - epoch if end is not None and state == "CANCELLED" and not ran else None
    return LoggedJob(label, request, cancel_at, Happened(state, request.submit, runs), line)
