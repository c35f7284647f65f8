"""What the steps of a job's story are called: sentences, without their full stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from emulator.report.numbers import duration_text, printable

Event = Mapping[str, Any]
At = Callable[[float], str]
"""From an instant, in seconds, to words for it."""
MOST_HOLDERS = 4
"""Jobs that are named when it is said what holds the processors: the largest."""


def submitted(row: Mapping[str, Any], unit: str) -> str:
    """A job is submitted; ``unit`` is what it is given: processor or CPU."""
    there = f" in partition {printable(row['partition'])}" if row.get("partition") else ""
    limit = row["time_limit"]
    bound = f"limit {duration_text(limit)}" if limit is not None and limit == limit else "no limit"
    return f"submitted: {_counted(row['processors'], unit)}{there}, {bound}"


def queued(event: Event, total: int, head_reserved: float | None, at: At, unit: str) -> str:
    """Where it stands in the queue."""
    first = (
        "it is first in the queue"
        if event["position"] == 1
        else f"it is number {event['position']} of {event['waiting']} in the queue, behind job {event['head']}"
        f"{_reserved(head_reserved, at)}"
    )
    return f"{first}; {event['free']} of {total} {unit}s are free"


def priority(event: Event) -> str:
    """A priority plugin gave it a number."""
    return f"its priority is {event['priority']}{_by(event)}"


def planned(event: Event, limit: float) -> str:
    """A walltime plugin planned it."""
    return f"planned with {duration_text(event['planned'])} of its limit of {duration_text(limit)}{_by(event)}"


def rejected(event: Event) -> str:
    """It was not taken in."""
    return f"rejected: {printable(event.get('reason', ''))}"


def waits(
    row: Mapping[str, Any],
    event: Event,
    reserved: float | None,
    seconds: float,
    running: Mapping[int, int],
    at: At,
    unit: str,
) -> str:
    """Why it waits after a pass.

    Args:
        row: its record.
        event: the pass.
        reserved: when the head of the queue is to start; None if that was not said.
        seconds: how long the job is planned to run.
        running: processors of what runs, by job.
        at: words for an instant.
        unit: processor or CPU.
    """
    wanted, free, head = row["processors"], event["free"], event["head"]
    if head == row["job_id"]:
        why = f"waits, first in the queue: it needs {wanted}, {_are_free(free)}"
    elif wanted > free:
        why = f"waits behind job {head}{_reserved(reserved, at)}: it needs {wanted}, {_are_free(free)}"
    else:
        why = f"waits behind job {head}{_reserved(reserved, at)}, though it would fit: {_are_free(free)}"
        end = event["time"] + seconds
        if reserved is not None and end > reserved:
            why += f"; started now it is planned to run until {at(end)}, beyond that"
    return f"{why}; {holders(running, unit)}"


MEANINGS = {
    "None": "no pass has looked at it yet",
    "Priority": "jobs before it wait for the same nodes",
    "Resources": "what it needs is in use",
    "BeginTime": "it may not start yet",
    "Dependency": "it waits for another job",
    "Licenses": "its licences are in use",
    "ReqNodeNotAvail": "its nodes are down, drained or reserved",
}
"""What some words of ``squeue`` mean."""


def waits_for(event: Event) -> str:
    """Why it waits, in the words of ``squeue``."""
    reason = event["reason"]
    meaning = MEANINGS.get(reason.partition(",")[0], "")
    return f"waits: {printable(reason)}{f' ({meaning})' if meaning else ''}"


def preempted(event: Event) -> str:
    """It is preempted."""
    return f"is preempted for job {event['preemptor']} ({printable(event['mode'])})"


def gives_way(event: Event) -> str:
    """Another one is preempted for it."""
    return f"job {event['job']} is preempted for it ({printable(event['mode'])})"


def suspended(event: Event) -> str:
    """It stands still."""
    return f"suspended, by {_cause(event)}"


def resumed(event: Event) -> str:
    """It goes on."""
    return f"resumed, after {_cause(event)}"


def node(event: Event, first: str, count: int) -> str:
    """Some of its nodes are in another state."""
    others = f" and {count - 1} more" if count > 1 else ""
    whose = f"its node {printable(first)}{others} {'is' if count == 1 else 'are'}"
    return f"{whose} {printable(event['state'])} from now on{_because(event)}"


def configured(event: Event) -> str:
    """Its nodes have been resumed."""
    return "its nodes have been resumed: it starts, and its limit counts from now on"


def _cause(event: Event) -> str:
    return "an operator" if event["cause"] == "operator" else printable(event["cause"])


def holders(running: Mapping[int, int], unit: str) -> str:
    """Which jobs hold the processors, the largest first."""
    if not running:
        return "nothing runs"
    largest = sorted(running.items(), key=lambda job: (-job[1], job[0]))
    named = ", ".join(f"job {job} {size}" for job, size in largest[:MOST_HOLDERS])
    rest = largest[MOST_HOLDERS:]
    more = f" and {len(rest)} more {sum(size for _, size in rest)}" if rest else ""
    return f"{named}{more} {'holds' if len(largest) == 1 else 'hold'} {unit}s"


def reserved(event: Event, decided: Event, at: At) -> str:
    """It is planned to start."""
    when = "never, as things stand" if event["start"] is None else at(event["start"])
    return f"reserved: planned to start at {when}{_by(decided)}{_because(event)}"


def no_room(event: Event) -> str:
    """Preemption was asked for in vain."""
    return f"room was asked for it by preemption, and there is none{_by(event)}"


def started(event: Event, row: Mapping[str, Any], head: int | None, decided: Event, unit: str) -> str:
    """It starts."""
    ahead = ""
    if event.get("backfilled"):
        ahead = f", ahead of job {head}" if head is not None and head != row["job_id"] else ", backfilled"
    there = f" in {event['tier']}, on {event['where']}" if "tier" in event else ""
    if "nodes" in event:
        there = f" of {printable(event['nodes'])}, partition {printable(event['partition'])}"
    waited = event["time"] - row["submit"]
    return (
        f"started on {_counted(event['processors'], unit)}{there}{ahead}, {duration_text(waited)} after its submission"
        f"{_by(decided)}{_because(event)}"
    )


def moved(event: Event, decided: Event) -> str:
    """It moves."""
    return f"moved to {event['tier']}, on {event['where']}{_by(decided)}{_because(event)}"


def rate(event: Event) -> str:
    """It works at another rate."""
    return f"does {event['rate']:g} s of work in a second from now on"


def requeued(event: Event, named: Event) -> str:
    """It is preempted."""
    gains = event.get("preemptor")
    if gains is None:
        return f"sent back to the queue{_because(event)}"
    whom = "to start over elsewhere" if gains == event["job"] else f"to make room for job {gains}"
    return f"sent back to the queue {whom}{_named_by(named, event)}{_because(event)}"


def preempts(event: Event, named: Event) -> str:
    """Another one is preempted for it."""
    return f"job {event['job']} is sent back to make room for it{_named_by(named, event)}{_because(event)}"


def returned() -> str:
    """Its checkpoint is written."""
    return "its checkpoint is written; it waits again"


ENDS = {
    "COMPLETED": "it did all its work",
    "TIMEOUT": "killed at its limit",
    "FAILED": "it failed, by its exit code",
    "CANCELLED": "cancelled",
    "NODE_FAIL": "a node of it failed",
    "DEADLINE": "it cannot be over by its deadline",
    "PREEMPTED": "preempted for good",
}
"""What the states mean in which jobs end."""


def ended(event: Event) -> str:
    """It is over."""
    state = event["state"]
    return f"ended: {ENDS[state]}" if state in ENDS else f"ended: {printable(state)}"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'s' if count != 1 else ''}"


def _are_free(count: int) -> str:
    return "1 is free" if count == 1 else f"{count} are free"


def _reserved(time: float | None, at: At) -> str:
    return "" if time is None else f", which is to start at {at(time)}"


def _by(decided: Event) -> str:
    return f", by {printable(decided['plugin'])} in {printable(decided['hook'])}" if "plugin" in decided else ""


def _named_by(named: Event, event: Event) -> str:
    """Who named the runs, if it was just now and for this."""
    fresh = named.get("time") == event["time"] and event["job"] in named.get("runs", ())
    return _by(named) if fresh else ""


def _because(event: Event) -> str:
    return f" ({printable(event['reason'])})" if event.get("reason") else ""
