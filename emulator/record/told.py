"""What the controller's log tells to the millisecond: when it took submissions, and how long runs held their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

TRACED = "TraceJobs"
"""What ``DebugFlags`` must have for the controller to log that the nodes of a run are clear."""
_TAKEN = "_slurm_rpc_submit_batch_job: "
_BEGUN = ("sched: Allocate ", "_start_job: Started ")
_DONE = "_job_complete: "
_CLEAR = "job_epilog_complete: enter "
_LINE = re.compile(
    r"\[(?P<at>[0-9T:.-]+)\] .*?(?P<what>"
    + "|".join((_TAKEN, *_BEGUN, _DONE, _CLEAR))
    + r")JobId=(?P<job>[0-9]+)(?P<part>[_+][0-9]+)?(?P<rest>.*)"
)
_BY_ITSELF = "WEXITSTATUS"


@dataclass
class Told:
    """What one log tells.

    Attributes:
        taken: when submissions were taken, by job id, in seconds from the start of the recording.
        runs: for how many seconds each run held its nodes, None for one that did not end by itself; by key of the
            timeline.
    """

    taken: dict[int, float] = field(default_factory=dict)
    runs: dict[str, list[float | None]] = field(default_factory=dict)


def told_of_jobs(log: Iterable[str], names: Mapping[int, str], zero: float) -> Told:
    """What a log, in UTC, tells of jobs.

    Args:
        log: its lines.
        names: of arrays and heterogeneous jobs, by their job ids.
        zero: when the recording started, in seconds since 1970.
    """
    told, begun, done = Told(), dict[str, float](), set[str]()
    for line in map(_LINE.match, log):
        if line is None:
            continue
        at = datetime.fromisoformat(line["at"]).replace(tzinfo=UTC).timestamp() - zero
        what, number, part = line["what"], int(line["job"]), line["part"] or ""
        key = f"{names[number]}{part}" if part and number in names else f"{number}"
        if what == _TAKEN:
            told.taken[number] = round(at, 2)
        elif what in _BEGUN:
            begun[key] = at
            done.discard(key)
            told.runs.setdefault(key, []).append(None)
        elif what == _DONE and _BY_ITSELF in line["rest"]:
            done.add(key)
        elif what == _CLEAR and key in done and key in begun:
            told.runs[key][-1] = at - begun[key]
    return told
