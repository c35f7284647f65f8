"""Fields of commands of ``scontrol``, which may be cut short: ``scontrol update Reservation=night Start=now``."""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, str]
Names = tuple[tuple[str, int, str], ...]
"""(name, how many letters of it are enough, under which name the emulator has it), in ``scontrol``'s order."""


def _names(*names: tuple[str, int] | tuple[str, int, str]) -> Names:
    return tuple((name[0].lower(), name[1], (name[2] if len(name) > 2 else name[0]).lower()) for name in names)


RESERVATION_FIELDS = _names(
    ("Accounts", 1),
    ("Flags", 2),
    ("Users", 1),
    ("ReservationName", 3),
    ("StartTime", 2),
    ("EndTime", 1),
    ("Duration", 1),
    ("NodeCnt", 5),
    ("NodeCount", 5, "NodeCnt"),
    ("CoreCnt", 5),
    ("CoreCount", 5, "CoreCnt"),
    ("CPUCnt", 5, "CoreCnt"),
    ("CPUCount", 5, "CoreCnt"),
    ("Nodes", 5),
    ("Features", 2),
    ("Licenses", 2),
    ("PartitionName", 1),
    ("TRES", 1),
    ("TRESPerNode", 5),
)
NODE_FIELDS = _names(
    ("NodeName", 1), ("Features", 1, "AvailableFeatures"), ("AvailableFeatures", 3), ("Weight", 1), ("Reason", 1),
    ("State", 1),
)  # fmt: skip
PARTITION_FIELDS = _names(
    ("PartitionName", 2),
    ("MaxTime", 4),
    ("DefaultTime", 8),
    ("MaxNodes", 4),
    ("MinNodes", 2),
    ("Default", 7),
    ("ExclusiveUser", 1),
    ("LLN", 1),
    ("ReqResv", 3),
    ("OverTimeLimit", 5),
    ("PreemptMode", 3),
    ("OverSubscribe", 6),
    ("Shared", 2, "OverSubscribe"),
    ("PriorityJobFactor", 9),
    ("PriorityTier", 9),
    ("State", 2),
    ("Nodes", 1),
    ("AllowAccounts", 6),
    ("AllowQos", 6),
    ("DenyAccounts", 5),
    ("DenyQos", 5),
    ("Alternate", 3),
    ("GraceTime", 5),
    ("DefMemPerCPU", 10),
    ("DefMemPerNode", 10),
    ("MaxMemPerCPU", 10),
    ("MaxMemPerNode", 10),
    ("MaxCPUsPerNode", 4),
)
JOB_FIELDS = _names(
    ("JobId", 3),
    ("AdminComment", 6),
    ("SiteFactor", 5),
    ("ArrayTaskThrottle", 10),
    ("Comment", 3),
    ("Extra", 3),
    ("TimeLimit", 5),
    ("TimeMin", 5),
    ("Priority", 2),
    ("Nice", 2),
    ("NumCPUs", 6),
    ("NumTasks", 8),
    ("ReqProcs", 8, "NumTasks"),
    ("Requeue", 4),
    ("ReqNodes", 8, "NumNodes"),
    ("NumNodes", 8),
    ("MinCPUsNode", 4),
    ("MinMemoryNode", 10),
    ("MinMemoryCPU", 10),
    ("MinTmpDiskNode", 4),
    ("Partition", 2),
    ("QOS", 2),
    ("ReservationName", 3),
    ("Name", 2, "JobName"),
    ("JobName", 4),
    ("WCKey", 1),
    ("StdErr", 6),
    ("StdIn", 5),
    ("StdOut", 6),
    ("Switches", 5),
    ("OverSubscribe", 2),
    ("Shared", 2, "OverSubscribe"),
    ("Contiguous", 3),
    ("ExcNodeList", 3),
    ("NodeList", 8, "ReqNodeList"),
    ("ReqNodeList", 8),
    ("Features", 1),
    ("Prefer", 3),
    ("Gres", 2),
    ("TresPerJob", 8),
    ("TresPerNode", 8),
    ("TresPerTask", 8),
    ("Account", 1),
    ("Dependency", 1),
    ("Licenses", 1),
    ("EligibleTime", 2, "StartTime"),
    ("StartTime", 2),
    ("EndTime", 2),
    ("Deadline", 3),
    ("WorkDir", 2),
    ("MailType", 5),
    ("MailUser", 5),
)


def in_full(fields: Fields, names: Names) -> dict[str, str]:
    """The fields under the names that the emulator knows; others stay as they are."""
    return {_in_full(key, names): value for key, value in fields.items()}


def _in_full(key: str, names: Names) -> str:
    stem = key.rstrip("+-")
    for name, enough, known in names:
        if len(stem) >= enough and name.startswith(stem):
            return known + key[len(stem) :]
    return key


def is_field(key: str, names: Names) -> bool:
    """Whether a word in small letters is a field, maybe cut short."""
    return any(len(key) >= enough and name.startswith(key) for name, enough, _ in names)


def whole(text: str) -> int:
    """A whole number.

    Raises:
        ValueError: it is none.
    """
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
