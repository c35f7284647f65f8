"""Reading a dump of ``sacct -P``, plain or gzipped."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Sequence

from emulator.collector import collector_at_rest
from emulator.kinds import DUMP, reads
from emulator.workload.logfile import ADVICE, bytes_of, check_malformed, utf8_of
from emulator.workload.sacct.asked import says_memory
from emulator.workload.sacct.dump import Header, records
from emulator.workload.sacct.jobs import NEEDED, USED, Remarks, Row, gathered, job_of, rows_of
from emulator.workload.sacct.times import zone_of
from emulator.workload.sitelog import LoggedJob, SiteLog, Unusable
from slurm_sim_plugins.errors import ConfigurationError, InputError

GZIP_MAGIC = b"\x1f\x8b"
NO_MEMORY = "jobs say nothing of memory, as there is no column ReqMem: each gets the default of its partition"


@reads(DUMP)
@collector_at_rest()
def read_sacct(
    path: str | os.PathLike[str], *, zone: str = "UTC", malformed: str = "error", separator: str = "|"
) -> SiteLog:
    """Read a dump. Second 0 of the log's clock is that of the first submission.

    Args:
        path: the file.
        zone: of times that state none, such as ``America/New_York``.
        malformed: ``error`` ends at the first line that cannot be used; ``drop`` leaves such
            lines out and names each.
        separator: between columns, as ``sacct --delimiter`` sets it.

    Raises:
        InputError: a file that cannot be read, lacks a column, or holds no job; the message
            names the file and, where there is one, the line.
        ConfigurationError: an argument that cannot be used.
    """
    check_malformed(malformed)
    if len(separator) != 1:
        raise ConfigurationError(f"separator is {separator!r}; give one character (of the shell, $'\\t' is a tab)")
    file = os.fspath(path)
    raw = bytes_of(file)
    data, odd = utf8_of(file, raw)
    dump = records(file, data, separator, USED)
    _check_columns(file, dump.header)
    rows, wrong = rows_of(dump, zone_of(zone))
    jobs, again = gathered(rows)
    unusable = (*dump.unusable, *wrong, *(Unusable(row.line, row.line, why) for row, why in again))
    unusable = tuple(sorted(unusable, key=lambda one: one.first))
    if unusable and malformed == "error":
        raise InputError(f"{unusable[0].text(file)}; {ADVICE}")
    if not jobs:
        raise InputError(f"{file}: the file holds no job; is it a dump of sacct -P?")
    epoch = _epoch(rows)
    remarks = Remarks()
    for line in odd:
        remarks.add("lines are not text in UTF-8, whose odd bytes are replaced", line)
    logged = in_order([job_of(job, epoch, remarks) for job in jobs])
    if "reqmem" not in dump.header.names:
        for job in jobs:
            asked = job[-1].asked
            if not asked.emulated and asked.options.memory_per_node is None and not says_memory(asked.options):
                remarks.add(NO_MEMORY, job[-1].line)
    return SiteLog(
        name=name_of(file),
        file=file,
        jobs=logged,
        epoch=epoch,
        read=len(dump.lines) + dump.steps + len(dump.unusable),
        steps=dump.steps,
        unusable=unusable,
        changed=remarks.changes(file),
        source_hash=hashlib.sha256(raw).hexdigest(),
    )


def looks_like_sacct(head: str) -> bool:
    """Whether the beginning of a file is a line with the names of the columns of a dump."""
    names = {name.strip().lower() for name in head.partition("\n")[0].split("|")}
    return "submit" in names and bool({"jobid", "jobidraw"} & names)


def in_order(jobs: Iterable[LoggedJob]) -> tuple[LoggedJob, ...]:
    """Jobs by submission; those of one instant by id, tasks of an array by index."""
    return tuple(sorted(jobs, key=_order))


def _order(job: LoggedJob) -> tuple[float, int, int]:
    request = job.request
    return request.submit, request.array or request.id, request.task


def name_of(file: str) -> str:
    """What to call a log: the name of its file without endings."""
    name = re.sub(r"(\.sacct|\.csv|\.log|\.txt)*(\.gz)?$", "", os.path.basename(file), flags=re.IGNORECASE)
    return name or os.path.basename(file)


def _check_columns(file: str, header: Header) -> None:
    """Refuse a dump without a column that is needed."""
    missing = [names for names in NEEDED if not {name.lower() for name in names} & set(header.names)]
    if missing:
        words = ", ".join(" or ".join(names) for names in missing)
        raise InputError(f"{file}:1: there is no column {words}; add it to --format of sacct, or take --format=ALL")


def _epoch(rows: Sequence[Row]) -> int:
    """Unix time of second 0: that of the first submission, or of the emulated run that the dump is of."""
    stated = [row.asked.stated["epoch"] for row in rows if "epoch" in row.asked.stated]
    return int(stated[0]) if len(stated) == len(rows) else math.floor(min(row.times.submit for row in rows))
