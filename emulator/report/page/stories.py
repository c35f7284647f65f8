"""Stories that travel with a page: why jobs waited, told from the event log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from emulator.accounting.runfolder import EVENTS, FinishedRun
from emulator.explain.story import Story, tell
from emulator.metrics.jobs import wait
from emulator.report.numbers import printable

STEPS = 60
"""Steps of a story that are shown, the first and the last ones."""


def stories_of(run: FinishedRun, folder: Path | None, most: int) -> dict[str, Any]:
    """The stories of the jobs that waited longest, by job id.

    Args:
        run: records and description.
        folder: that it was left in; without it or without its event log there are no stories.
        most: so many jobs.

    Raises:
        InputError: the event log is damaged.
    """
    if folder is None or not most or not (folder / EVENTS).exists():
        return {}
    return {str(job): _told(tell(run, job)) for job in longest_waits(run, most)}


def longest_waits(run: FinishedRun, most: int) -> list[int]:
    """Ids of the jobs that waited longest, of equals the lower id first; those that did not wait are left out."""
    waits, ids = wait(run.records), np.asarray(run.records.jobs["job_id"])
    order = np.lexsort((ids, -np.nan_to_num(waits, nan=-1.0)))[:most]
    return [int(ids[job]) for job in order if waits[job] > 0]


def _told(story: Story) -> dict[str, Any]:
    """Times and sentences; of a long story the first and the last steps, and how many were left out."""
    steps = [[each.time, printable(each.text)] for each in story.steps]
    left_out = max(len(steps) - STEPS, 0)
    first = STEPS // 2 if left_out else len(steps)
    return {"first": steps[:first], "left": left_out, "last": steps[first + left_out :], "why": story.reasons}
