"""What preemption cost the jobs that it struck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emulator.metrics.averages import mean
from emulator.metrics.jobs import Floats, Mask, column, ended, in_state

if TYPE_CHECKING:
    from emulator.accounting.records import Records


def preempted(records: Records) -> Mask:
    """Which jobs were sent back to the queue at least once."""
    return column(records, "requeues") > 0


def preemption_rate(records: Records) -> float:
    """Share of the jobs, without rejected ones, that were sent back at least once; NaN of none."""
    taken = int(np.sum(~in_state(records, "REJECTED")))
    return int(np.sum(preempted(records))) / taken if taken else float("nan")


def mean_requeues(records: Records) -> float:
    """MKT (MPT): how often a preempted job was preempted, on average."""
    return mean(column(records, "requeues")[preempted(records)])


def wasted_run(records: Records) -> Floats:
    """RTW: (occupied - run) / run of each preempted job; NaN for others, for jobs of 0 s and for cancelled ones."""
    run = column(records, "run")
    # Of a job that was cancelled it is not known what of its work it would have had to do again.
    counts = preempted(records) & ended(records) & ~in_state(records, "CANCELLED") & (run > 0)
    return (column(records, "occupied") - run) / np.where(counts, run, np.nan)
