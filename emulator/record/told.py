"""What the controller's log tells to the millisecond: when it took submissions, and how long runs held their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

TRACED = "TraceJobs,Route,Backfill"
"""What ``DebugFlags`` must have for the controller to log when the nodes of a run are clear, and who says so.

Backfill's plans are there for those that keep the log."""
_TAKEN = "_slurm_rpc_submit_batch_job: "
_BEGUN = ("sched: Allocate ", "_start_job: Started ", "select_nodes: [")
"""The main loop's line, backfill's of 22.05 and 24.11, and what 26.05 says of a job that leaves ``PENDING``, twice; it
has no line of backfill."""
_ONCE = 0.5
"""Seconds within which lines tell of the same start."""
_DONE = "_job_complete: "
_ENDED = "deallocate_nodes: "
"""Of each run that ends, also if it is killed."""
_CLEAR = "job_epilog_complete: enter "
_OVER = "cleanup_completing: "
"""All nodes are clear; a node that is down may answer later."""
_SAYS_SO = "ROUTE: _slurm_rpc_epilog_complete: "
"""Comes before that where a node says so itself, and not as it is ordered to end the run: a pass follows at once."""
_LINE = re.compile(
    r"\[(?P<at>[0-9T:.-]+)\] .*?(?P<what>"
    + "|".join(map(re.escape, (_TAKEN, *_BEGUN, _DONE, _ENDED, _CLEAR, _OVER)))
    + r")JobId=(?P<job>[0-9]+)(?P<part>[_+][0-9]+)?(?P<rest>.*)"
)
_BY_ITSELF = "WEXITSTATUS"


class Held(NamedTuple):
    """For how long a run held its nodes, in seconds.

    Attributes:
        ran: until it ended; None for one that did not end by itself.
        cleared: from then on until all nodes were clear.
        said: whether the last of them said so itself.
    """

    ran: float | None
    cleared: float
    said: bool


@dataclass
class Told:
    """What one log tells.

    Attributes:
        taken: when submissions were taken, by job id, in seconds from the start of the recording.
        runs: of each run how long it held its nodes, None for one that was not seen to leave them; by key of the
            timeline.
    """

    taken: dict[int, float] = field(default_factory=dict)
    runs: dict[str, list[Held | None]] = field(default_factory=dict)


def told_of_jobs(log: Iterable[str], names: Mapping[int, str], zero: float) -> Told:
    """What a log, in UTC, tells of jobs.

    Args:
        log: its lines.
        names: of arrays and heterogeneous jobs, by their job ids.
        zero: when the recording started, in seconds since 1970.
    """
    told, begun, ended, said = Told(), dict[str, float](), dict[str, tuple[float, bool]](), False
    for text in log:
        said = said or _SAYS_SO in text
        line = _LINE.match(text)
        if line is None:
            continue
        at = datetime.fromisoformat(line["at"]).replace(tzinfo=UTC).timestamp() - zero
        what, number, part = line["what"], int(line["job"]), line["part"] or ""
        key = f"{names[number]}{part}" if part and number in names else f"{number}"
        if what == _TAKEN:
            told.taken[number] = round(at, 3)
        elif what in _BEGUN:
            if at - begun.get(key, -_ONCE) < _ONCE and key not in ended:
                continue
            begun[key] = at
            ended.pop(key, None)
            told.runs.setdefault(key, []).append(None)
        elif what == _DONE and _BY_ITSELF in line["rest"]:
            ended.setdefault(key, (at, True))
        elif what == _ENDED:
            ended.setdefault(key, (at, False))
        elif what == _OVER:
            ended.pop(key, None)
        elif what == _CLEAR and key in ended and key in begun:
            end, by_itself = ended[key]
            told.runs[key][-1] = Held(end - begun[key] if by_itself else None, at - end, said)
        said = said and what != _CLEAR
    return told
