"""What the paper on real-time jobs on Mira does not say, and the answers that are tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Passes = Literal["batch", "event"]


@dataclass(frozen=True)
class Reading:
    """One answer to each open question; the defaults come nearest to what the paper prints.

    Attributes:
        score: by which the batch jobs are sorted; ``wfp`` is the site's, ``wfp2`` of its
            authors' code.
        blocks: ``own``: those of Mira's file; ``wires``: of these two exclude each other that
            need the same switch; ``aligned``: those that the paper's text describes.
        choose: which of several free blocks is taken.
        meanwhile: which of the others may start while late jobs wait.
        backfill: whether the first of the others that finds no room gets a reservation.
        late: late from the threshold on, or above it.
        checkpoint_factor: when the second cost factor counts; ``always`` is its authors' code.
        spared: ``code``: the authors' thresholds of batch jobs; ``none``: any may be preempted
            that holds no larger block.
        passes: what happens at one instant.
        kill_at_limit: whether a job ends at its limit; in the log some ran longer.
        by: whether a job is short by its run time, as the paper says, or by its limit, when it is
            counted; a scheduler knows its limit alone.
        counted: jobs that started and ended in the week in the log, or ``all``.
    """

    score: str = "wfp"
    blocks: str = "own"
    choose: str = "least"
    meanwhile: str = "none"
    backfill: str = "reserve"
    late: str = "at"
    checkpoint_factor: str = "always"
    spared: str = "code"
    passes: Passes = "batch"
    kill_at_limit: bool = True
    by: str = "run"
    counted: str = "week"


QUESTIONS: dict[str, tuple[Any, ...]] = {
    "score": ("wfp2",),
    "blocks": ("aligned", "wires"),
    "choose": ("first",),
    "meanwhile": ("batch",),
    "backfill": ("first_fit",),
    "late": ("above",),
    "checkpoint_factor": ("unsaved", "never"),
    "spared": ("none",),
    "passes": ("event",),
    "kill_at_limit": (False,),
    "by": ("time_limit",),
    "counted": ("all",),
}
"""Other answers, each tried alone."""


def others() -> dict[str, Reading]:
    """The readings that differ in one answer, as ``QUESTION=ANSWER``."""
    return {
        f"{name}={answer}": replace(Reading(), **{name: answer})
        for name, answers in QUESTIONS.items()
        for answer in answers
    }
