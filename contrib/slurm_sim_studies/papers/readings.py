"""What the papers on PV-EASY do not say, and the answers that are tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """One answer to each open question. The defaults are those of the presets: what the search chose.

    The first answers change the schedule; the last four only how it is counted.

    Attributes:
        kill_at_limit: whether jobs are killed at their limits.
        filter: which jobs are read from a trace, and whether their requests are raised.
        expired: with what a run is planned that outlives its prediction.
        passes: what happens at one instant.
        last: which job is a user's last.
        refresh: whether a prediction is renewed.
        outlived: what a preempted job is planned with whose run outlived its prediction.
        trim: whether needless victims are spared.
        single_head: whether room is made for one head in a pass.
        extra: whether jobs beside the head's reservation go with those that end in time.
        restart: whether a job that made room may start again in the same pass.
        reservation: whether EASY's reservation is kept or recomputed.
        restart_cost: whether a restart from a checkpoint costs as much as the checkpoint.
        span: whether loads count from the first job that is left of the log (``jobs``) or
            from second 0 of its clock (``log``): its owners removed the first jobs.
        blocked: which jobs count as blocked: any that some pass left at the head of the
            queue, or those that one did ``after_end``, a run having ended.
        delay: since when a blocked job is delayed: since it was head and idle processors
            and those of lower-priority jobs sufficed (``could_start``), or since it would
            have fitted had no job been started past it since it was first left at the head
            (``overtaken``).
        violation: a reservation is violated if the start is later though the job could have
            started by then, in either of these senses: the ``latest`` or the ``first``
            reservation, with ``_overtaken`` for the second sense.
    """

    kill_at_limit: bool = False
    filter: str = "papers"
    expired: str = "again"
    passes: str = "batch"
    last: str = "finished"
    refresh: str = "submit"
    outlived: str = "limit"
    trim: bool = False
    single_head: bool = False
    extra: bool = False
    restart: bool = False
    reservation: str = "ratchet"
    restart_cost: bool = False
    span: str = "log"
    blocked: str = "after_end"
    delay: str = "overtaken"
    violation: str = "latest_overtaken"


QUESTIONS: dict[str, tuple[Any, ...]] = {
    "kill_at_limit": (True, False),
    "filter": ("papers", "raised"),
    "expired": ("limit", "now", "tsafrir", "again"),
    "passes": ("batch", "event"),
    "last": ("finished", "submitted"),
    "refresh": ("submit", "pass"),
    "outlived": ("kept", "limit"),
    "trim": (False, True),
    "single_head": (False, True),
    "extra": (False, True),
    "restart": (True, False),
    "reservation": ("recompute", "sticky", "ratchet"),
    "restart_cost": (False, True),
    "span": ("jobs", "log"),
    "blocked": ("any", "after_end"),
    "delay": ("could_start", "overtaken"),
    "violation": ("latest", "first", "latest_overtaken", "first_overtaken"),
}
"""The answers that are tried; first the one that a user would get who gives no option."""

COUNTING = ("span", "blocked", "delay", "violation")
"""Questions whose answers need no other run."""

RULES_OF: dict[int, tuple[str, ...]] = {
    1: ("delay", "blocked", "reservation", "expired"),
    2: ("violation", "reservation", "expired"),
}
"""The questions on which tables 1 and 2 depend, whose rules the papers do not state."""

RULED: dict[str, str] = {
    "total_load_pct": "span",
    "wasted_load_pct": "span",
    "blocked_jobs": "blocked",
    "delayed_jobs": "delay",
    "mean_delay_min": "delay",
    "max_delay_h": "delay",
    "violated_jobs": "violation",
    "mean_violated_processors": "violation",
    "mean_dtr_min": "violation",
    "max_dtr_h": "violation",
    "mean_si": "violation",
    "max_si": "violation",
}
"""The question on which it depends how a number is counted, by the number's name."""


def key_of(metric: str, reading: Reading) -> str:
    """Under which name a run's numbers hold a metric as a reading counts it."""
    question = RULED.get(metric)
    return metric if question is None else f"{metric}:{getattr(reading, question)}"


def possible(reading: Reading) -> bool:
    """Whether its answers go together: an oracle's predictions are never renewed."""
    return not (reading.last == "submitted" and reading.refresh == "pass")
