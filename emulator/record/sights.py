"""What ``scontrol -o -d show job`` prints, and the timeline that comes of looking again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

FIELDS = ("JobState", "Reason", "NodeList", "Restarts", "TimeLimit", "Priority", "Partition", "Alloc")
"""Fields of a timeline, in their order."""
BEGUN = ("RUNNING", "SUSPENDED", "CONFIGURING", "SIGNALING")
RUNNING = (*BEGUN, "COMPLETING")
"""States in which a job holds nodes."""
_EMPTY = ("", "(null)", "N/A")
_FIELD = re.compile(r"(?:^| )([A-Za-z_:/]+)=(\S*)")
_SHARE = re.compile(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=([0-9]+) GRES=(\S*)")
_DEVICES = re.compile(r"([A-Za-z_]\w*(?::[A-Za-z_]\w*)?):([0-9]+)\((?:IDX|CNT|[0-9]+/)[^)]*\)")
_MOST_TASKS = 10_000


def jobs_of(text: str, names: Mapping[int, str]) -> dict[str, dict[str, str]]:
    """What was to be seen of each job.

    Args:
        text: the output of ``scontrol -o -d show job``.
        names: of arrays and heterogeneous jobs, by their job ids.

    Returns:
        By key (the job's id, ``NAME_INDEX`` for a task of an array, ``NAME+OFFSET`` for a component) the fields of
        :data:`FIELDS`, and ``StartTime`` and ``EndTime`` as Slurm has them.
    """
    seen = {}
    for line in text.splitlines():
        if line.startswith("JobId="):
            fields = dict(reversed(_FIELD.findall(line)))  # Of a field that comes twice the first counts.
            row = {name: value for name in FIELDS if (value := fields.get(name, "")) not in _EMPTY}
            row |= {name: fields[name] for name in ("StartTime", "EndTime") if name in fields}
            if row.get("JobState") in BEGUN and (shares := list(_shares(line))):
                row["Alloc"] = " ".join(shares)
            if row.get("JobState") not in RUNNING:
                row.pop("NodeList", None)
            for key in _keys(fields, names):
                seen[key] = row
    return seen


def _shares(line: str) -> Iterator[str]:
    for nodes, cpus, memory, gres in _SHARE.findall(line):
        words = [f"{nodes}:cpu{cpus}"] + ([f"mem{memory}"] if memory != "0" else [])
        yield ":".join([*words, ",".join(f"{kind}:{count}(IDX:)" for kind, count in _DEVICES.findall(gres))]).rstrip(
            ":"
        )


def _keys(fields: Mapping[str, str], names: Mapping[int, str]) -> Iterator[str]:
    array, het_job = fields.get("ArrayJobId", ""), fields.get("HetJobId", "")
    if array.isdecimal() and int(array) in names:
        tasks = fields.get("ArrayTaskId", "")
        yield from (f"{names[int(array)]}_{task}" for task in ((REST,) if tasks == NO_TASK else tasks_of(tasks)))
    elif het_job.isdecimal() and int(het_job) in names:
        yield f"{names[int(het_job)]}+{fields['HetJobOffset']}"
    else:
        yield fields["JobId"]


def tasks_of(text: str) -> Iterator[int]:
    """Indices of tasks in Slurm's words, such as ``2-5,8%2``."""
    for part in text.partition("%")[0].split(","):
        first, _, rest = part.partition("-")
        last, _, step = rest.partition(":")
        if first.isdecimal():
            yield from range(int(first), min(int(last or first), int(first) + _MOST_TASKS) + 1, int(step or 1))


def instant(text: str, zero: float) -> float | None:
    """A time in Slurm's words (UTC) in seconds from the start of a recording; None for ``Unknown``.

    Args:
        text: such as ``2026-11-23T01:02:03``.
        zero: when the recording started, in seconds since 1970.
    """
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() - zero
    except ValueError:
        return None


NO_TASK = "4294967294"
"""What Slurm shows in place of the tasks of an array that was cancelled before any of the rest began."""
REST = "rest"
"""In the place of a task: those of its array that wait."""


class Timeline:
    """Notes what is new of each job.

    Args:
        zero: when the recording started, in seconds since 1970.
    """

    def __init__(self, zero: float) -> None:
        self.rows: dict[str, list[tuple[float, dict[str, str]]]] = {}
        self._zero = zero
        self._last: dict[str, dict[str, str]] = {}

    def _of_tasks(self, seen: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Mapping[str, str]]]:
        """What was seen, job by job; the rest of an array stands for each of its tasks that waited."""
        for key, row in seen.items():
            name, _, task = key.rpartition("_")
            if task != REST:
                yield key, row
                continue
            for other, last in list(self._last.items()):
                if other.rpartition("_")[0] == name and last.get("JobState") == "PENDING" and other not in seen:
                    yield other, row

    def look(self, at: float, seen: Mapping[str, Mapping[str, str]]) -> bool:
        """Note what was seen now, and say whether anything was new.

        Args:
            at: seconds from the start.
            seen: as :func:`jobs_of` gives it.
        """
        new = False
        for key, row in self._of_tasks(seen):
            before = self._last.get(key, {})
            shown = {name: row[name] for name in FIELDS if name in row}
            changed = {name: value for name, value in shown.items() if before.get(name) != value}
            self._last[key] = dict(before if before.get("JobState") == shown.get("JobState") else {}, **shown)
            if changed:
                rows = self.rows.setdefault(key, [])
                earliest = rows[-1][0] if rows else 0.0
                rows.append((round(max(self._when(at, before, row), earliest), 1), changed))
                new = True
        return new

    def _when(self, at: float, before: Mapping[str, str], row: Mapping[str, str]) -> float:
        """When it happened: Slurm's own second, where it says one, is surer than the time of a late look."""
        state, was = row.get("JobState"), before.get("JobState")
        stated = None
        if state in BEGUN and was not in RUNNING:
            stated = instant(row.get("StartTime", ""), self._zero)
        elif was in BEGUN and was != "SUSPENDED" and state not in BEGUN and state != "PENDING":
            # The end of a suspended job is said to be when it was suspended.
            stated = instant(row.get("EndTime", ""), self._zero)
        # A requeued job has the end of its next run already.
        return at if stated is None or stated > at else min(at, stated + 1.0)
