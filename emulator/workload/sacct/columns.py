"""The columns of ``sacct``: what their values look like, and in which of them a value may hold the separator.

``sacct -P`` quotes nothing. A constraint such as ``a|b``, a name, a comment and a line of
submission are printed as they are, separators and line ends included. What tells where such
a value ends is that the columns after it have values of their kind. (Slurm's documentation,
sacct, "Job Accounting Fields"; names of Slurm 20.11 to 24.11.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NAME = r"[^\s|]*"
COUNT = r"\d*"
SIZE = r"-?[\d.]*[KMGTPE]?[nc]?|Unknown"
TIME = r"[\dT :.+-]*Z?|Unknown|None"
DURATION = r"(?:\d+-)?[\d:]+(?:\.\d+)?|UNLIMITED|Partition_Limit|INVALID|"
JOB = r"\d+(?:_(?:\d+|\[[^\]|]*\]))?(?:\+\d+)?(?:\.\w+)?"
LONGEST_ID = 18
"""Digits of the number of a job."""
ID = re.compile(rf"(\d{{1,{LONGEST_ID}}})(?:_(\d{{1,9}})|_\[[^\]]*\])?(?:\+(\d{{1,9}}))?(\.\w+)?")
"""The id of a job, taken apart: its number, its index in an array, its place in a heterogeneous job, the step."""
STATE = r"[A-Z_]+\+?(?: by \S+)?|"
CODE = r"\d+:\d+|"
RESOURCES = r"[\w/:.=,+\-*]*"
HOSTS = r"[\w.,\[\]-]*|None assigned"
FEATURES = r"[\w.*&|()\[\],:+!-]*"
TEXT_IN_LINE = r"[^\n]*"
TEXT = r"[\s\S]*"
UNKNOWN = r"[^|\n]*"
BETWEEN = "\x1f"
"""Stands between values where many columns are looked at together."""
UP_TO_NEXT = {TEXT: rf"[^{BETWEEN}]*", TEXT_IN_LINE: rf"[^\n{BETWEEN}]*", UNKNOWN: rf"[^|\n{BETWEEN}]*"}
"""Those patterns that would go on beyond it, as they are there."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        pattern: what its values look like.
        what: what such a value is, in words.
        separators: what it costs to take a separator for part of its value; None if none may be. Where several
            columns could hold one, it is in the cheapest.
    """

    pattern: re.Pattern[str]
    what: str
    separators: int | None = None

    def takes(self, value: str) -> bool:
        """Whether a value is one of this column."""
        return self.pattern.fullmatch(value) is not None


def _column(pattern: str, what: str, separators: int | None = None) -> Column:
    return Column(re.compile(pattern), what, separators)


_KINDS: tuple[tuple[Column, str], ...] = (
    (_column(JOB, "a job id"), "JobID JobIDRaw"),
    (_column(TIME, "a time"), "Submit Eligible Start End"),
    (
        _column(DURATION, "a duration"),
        "Timelimit Elapsed Suspended Reserved Planned ResvCPU PlannedCPU CPUTime TotalCPU UserCPU SystemCPU "
        "AveCPU MinCPU",
    ),
    (_column(rf"{COUNT}|UNLIMITED|Partition_Limit", "a number of minutes"), "TimelimitRaw"),
    (_column(STATE, "a state"), "State"),
    (_column(CODE, "an exit code"), "ExitCode DerivedExitCode"),
    (
        _column(COUNT, "a whole number"),
        "AllocCPUS NCPUS ReqCPUS AllocNodes NNodes ReqNodes NTasks ElapsedRaw CPUTimeRAW ResvCPURAW "
        "PlannedCPURAW Priority UID GID AssocID DBIndex QOSRAW WCKeyID ReservationId ConsumedEnergyRaw "
        "MaxDiskReadTask MaxDiskWriteTask MaxPagesTask MaxRSSTask MaxVMSizeTask MinCPUTask Restarts",
    ),
    (
        _column(SIZE, "a size"),
        "ReqMem AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize ConsumedEnergy MaxDiskRead "
        "MaxDiskWrite MaxPages MaxRSS MaxVMSize",
    ),
    (_column(RESOURCES, "a list of resources"), "AllocTRES ReqTRES ReqGRES AllocGRES"),
    (_column(HOSTS, "a list of nodes"), "NodeList"),
    (
        _column(NAME, "a name"),
        "Account Cluster Group User Partition QOS QOSREQ Flags Reason Layout BlockID McsLabel "
        "ReqCPUFreq ReqCPUFreqMin ReqCPUFreqMax ReqCPUFreqGov",
    ),
    (_column(TEXT, "text", separators=2), "SubmitLine"),
    (_column(FEATURES, "an expression of features", separators=1), "Constraints"),
    (_column(TEXT, "text", separators=3), "JobName"),
    (_column(TEXT, "text", separators=5), "Comment AdminComment SystemComment Extra"),
    (_column(TEXT_IN_LINE, "text", separators=7), "WorkDir Container Licenses StdErr StdIn StdOut"),
)
COLUMNS = {name.lower(): column for column, names in _KINDS for name in names.split()}
"""Columns by name in lower case."""
OTHER = _column(UNKNOWN, "a value")
"""A column that is not known: what it holds is not looked at."""


def line_pattern(columns: Sequence[Column], separator: str) -> str:
    """A pattern, as Arrow writes them, of lines with their ends, each of whose values is one of its column.

    It takes less than the columns do, never more: of letters and digits those of ASCII, in names nothing that could
    be white space. A line that it does not take is looked at again.

    Args:
        columns: in their order.
        separator: between them.
    """
    sign = re.escape(separator)
    in_line = {
        TEXT: rf"[^{sign}\r\n]*",
        TEXT_IN_LINE: rf"[^{sign}\r\n]*",
        UNKNOWN: rf"[^{sign}|\r\n]*",
        NAME: rf"[^{sign}|\pC\pZ]*",
        STATE: STATE.replace(r"\S", rf"[^{sign}\pC\pZ]"),
        FEATURES: FEATURES.replace("|", ""),
    }
    patterns = (in_line.get(column.pattern.pattern, column.pattern.pattern) for column in columns)
    return rf"\A{sign.join(f'(?:{pattern})' for pattern in patterns)}\r?\n\z"


def together(columns: Sequence[Column]) -> Callable[[Sequence[str]], bool]:
    """Says whether values are those of columns, each of its own, and as many.

    One pattern for all is many times as fast as one for each. A value is not looked at again because one behind
    it is wrong.
    """
    patterns = (UP_TO_NEXT.get(column.pattern.pattern, column.pattern.pattern) for column in columns)
    whole = re.compile(BETWEEN.join(f"(?>(?:{pattern})(?={BETWEEN}|\\Z))" for pattern in patterns))

    def take(values: Sequence[str]) -> bool:
        text = BETWEEN.join(values)
        if text.count(BETWEEN) == len(columns) - 1:
            return whole.fullmatch(text) is not None
        return all(column.takes(value) for column, value in zip(columns, values, strict=True))

    return take


def step_pattern(place: int, separator: str) -> str:
    """A pattern, as Arrow writes them, of lines of steps.

    Args:
        place: of the column with the job's id.
        separator: between columns.
    """
    sign = re.escape(separator)
    return rf"\A(?:[^{sign}]*{sign}){{{place}}}{ID.pattern.removesuffix('?')}(?:{sign}|\r?\n\z)"


def column_of(name: str) -> Column:
    """The column of a name."""
    return COLUMNS.get(name.lower(), OTHER)
