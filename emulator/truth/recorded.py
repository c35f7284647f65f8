"""What came of a scenario in the recording, told as histories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from emulator.config.slurm.duration import limit_seconds
from emulator.config.slurm.hostlist import expand
from emulator.truth.history import History, ReasonSpan, Share, Sight, Stint, history
from emulator.workload.scenario import Observation, Outcome, RecordedRun, Scenario

SECOND = 1.0
LONGEST_ID = 13
"""Digits; ids have fewer."""
_SHARE = re.compile(r"(?P<hosts>[^:]+):cpu(?P<cpus>[0-9,-]+)(?::mem(?P<memory>[0-9]+))?(?::(?P<gres>.+))?")
_GRES = re.compile(r"([a-z_]\w*(?::[a-z_]\w*)?):([0-9]+)\(IDX:[^)]*\)", re.I)


@dataclass(frozen=True)
class Planned:
    """When a waiting job was to start.

    Attributes:
        job: its id.
        at: when that was seen.
        start: the planned start; None for ``Unknown``.
    """

    job: int
    at: float
    start: float | None


@dataclass(frozen=True)
class Recording:
    """What a real Slurm did.

    Attributes:
        jobs: histories by the key in the file: a job id, or the name of a task.
        end: the last second of which something is known.
        planned: planned starts, by time.
        waiting_only: whether reasons were noted of waiting jobs only.
        unread: what was recorded in a form that is not known here.
    """

    jobs: Mapping[str, History]
    end: float
    planned: tuple[Planned, ...]
    waiting_only: bool
    unread: tuple[str, ...] = ()


def recording_of(scenario: Scenario) -> Recording:
    """What was recorded in a scenario."""
    recorded = scenario.recorded
    if recorded.expected is not None:
        submitted = {str(job.id): job.submit for job in scenario.submissions}
        jobs = {key: _outcome(outcome, submitted.get(key)) for key, outcome in recorded.expected.items()}
        return Recording(jobs, _last(jobs.values()), (), waiting_only=True, unread=tuple(_unread(recorded.expected)))
    timeline = recorded.timeline or {}
    end = max((seen.at for job in timeline.values() for seen in job), default=0.0)
    return Recording(
        {key: _timeline(key, _until_cleared(seen, end)) for key, seen in timeline.items()},
        end,
        tuple(sorted(_planned(timeline), key=lambda one: one.at)),
        waiting_only=False,
    )


def _until_cleared(seen: Iterable[Observation], end: float) -> Iterator[Observation]:
    """What was seen before the recorder cancelled all that was left, which is the last thing that it did."""
    for one in seen:
        if not (one.at == end and one.fields.get("JobState") == "CANCELLED" and "Reason" not in one.fields):
            yield one


def _timeline(key: str, seen: Iterable[Observation]) -> History:
    observations = [one for one in seen if one.fields]
    found = history(key, list(_sights(observations)))
    found.priorities = [(one.at, int(one.fields["Priority"])) for one in observations if "Priority" in one.fields]
    for run, following in _with_next(found.runs):
        for one in observations:
            if run.start <= one.at < following:
                _describe(run, one)
    _limits(found, observations)
    return found


def _sights(observations: Iterable[Observation]) -> Iterator[Sight]:
    """States and reasons; that a reason is ``None`` (again) was not noted, but it is with a start."""
    state, reason = "", "None"
    for one in observations:
        new = one.fields.get("JobState", state)
        started = state == "PENDING" and new in ("RUNNING", "SUSPENDED")
        reason = one.fields.get("Reason", "None" if started else reason)
        state = new
        yield Sight(one.at, state, reason)


def _with_next(runs: list[Stint]) -> Iterator[tuple[Stint, float]]:
    """Each run with the start of the next one."""
    yield from ((run, following.start) for run, following in pairwise(runs))
    if runs:
        yield runs[-1], float("inf")


def _describe(run: Stint, one: Observation) -> None:
    """Nodes, shares and partition of a run: the nodes that it has left, if it loses some while it runs.

    Nodes of a job that is ending are what is not yet cleared.
    """
    runs = run.end is None or one.at < run.end
    if (
        (run.nodes is None or runs)
        and "NodeList" in one.fields
        and one.fields.get("JobState") in ("RUNNING", "CONFIGURING", "SUSPENDED", None)
    ):
        run.nodes = frozenset(expand(one.fields["NodeList"]))
    if "Alloc" in one.fields and (run.shares is None or runs):
        run.shares = _shares(one.fields["Alloc"])
    if runs:
        # That of a job that waits again may be changed.
        run.partition = run.partition or one.fields.get("Partition", "")


def _limits(found: History, observations: list[Observation]) -> None:
    """The limit of a run is the last that was seen until it ended."""
    for run in found.runs:
        until = float("inf") if run.end is None else run.end
        stated = [one.fields["TimeLimit"] for one in observations if "TimeLimit" in one.fields and one.at <= until]
        run.limit = limit_seconds(stated[-1]) if stated else None


def _outcome(outcome: Outcome, submitted: float | None) -> History:
    if submitted is None:
        # A task that has no id of its own: it was there when something was first seen of it.
        submitted = min([*(at for at, _ in outcome.reasons or ()), *(run.start for run in outcome.runs)], default=0.0)
    runs = [_run(run) for run in outcome.runs]
    found = History(outcome.name, runs, states=_states(outcome, submitted))
    if outcome.reasons is not None:
        found.reasons = list(_reasons(outcome, submitted))
    return found


def _run(run: RecordedRun) -> Stint:
    return Stint(
        start=run.start,
        end=run.end,
        gone=run.end,
        outcome=run.end_state,
        nodes=frozenset(expand(run.nodes)) if run.nodes else None,
        shares=_shares(run.alloc) if run.alloc else None,
        partition=run.partition,
        limit=limit_seconds(run.time_limit) if run.time_limit else None,
    )


def _states(outcome: Outcome, submitted: float) -> list[tuple[float, str]]:
    states = [(submitted, "PENDING")]
    for run in outcome.runs:
        states.append((run.start, "RUNNING"))
        if run.end is not None:
            states.append((run.end, run.end_state or outcome.state))
    if states[-1][1] != outcome.state:
        states.append((states[-1][0], outcome.state))
    return states


def _reasons(outcome: Outcome, submitted: float) -> Iterator[ReasonSpan]:
    """Reasons while the job waited: each until the next one, or the next start, told in whole seconds."""
    noted = [(submitted, "None"), *(outcome.reasons or ())]
    starts = [run.start for run in outcome.runs]
    for (begin, reason), following in zip(noted, [*(at for at, _ in noted[1:]), float("inf")], strict=True):
        end = min([following, *(start for start in starts if start > begin - SECOND)])
        yield ReasonSpan(reason, begin, max(begin, end))


def _shares(text: str) -> Mapping[str, Share] | None:
    """What stands in a text such as ``n[1-2]:cpu0-3:mem100``; None if it stands there in another way."""
    shares: dict[str, Share] = {}
    for word in text.split():
        found = _SHARE.fullmatch(word)
        if found is None:
            return None
        try:
            gres = {kind: int(number) for kind, number in _GRES.findall(found["gres"] or "") if int(number)}
            share = Share(_count(found["cpus"]), int(found["memory"] or 0), gres)
            shares.update(dict.fromkeys(expand(found["hosts"]), share))
        except ValueError:
            return None
    return shares


def _count(ranges: str) -> int:
    bounds = [part.split("-") for part in ranges.split(",")]
    return sum(int(bound[-1]) - int(bound[0]) + 1 for bound in bounds)


def _last(jobs: Iterable[History]) -> float:
    times = [0.0]
    for job in jobs:
        times += [at for at, _ in job.states]
        times += [standing.begin for standing in job.reasons or ()]
    return max(times)


def is_job_id(key: str) -> bool:
    """Whether a key is an id, and not the name of a task."""
    return key.isdecimal() and len(key) < LONGEST_ID


def _planned(timeline: Mapping[str, tuple[Observation, ...]]) -> Iterator[Planned]:
    for key, seen in timeline.items():
        for one in seen if is_job_id(key) else ():
            if one.info.get("JobState") == "PENDING":
                start = one.info.get("StartTime")
                yield Planned(int(key), one.at, float(start) if isinstance(start, int | float) else None)


def _unread(expected: Mapping[str, Outcome]) -> Iterator[str]:
    for outcome in expected.values():
        for run in outcome.runs:
            if run.alloc and _shares(run.alloc) is None:
                yield f"allocation of {outcome.name}: {run.alloc}"
