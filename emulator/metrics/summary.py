"""All metrics of one run of the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emulator.metrics import fairness, machine, preemption
from emulator.metrics.averages import largest, mean, median, weighted
from emulator.metrics.catalogue import METRICS, Metric
from emulator.metrics.jobs import (
    THRESHOLD,
    bounded_slowdown,
    bounded_slowdown_feitelson,
    column,
    ended,
    in_state,
    response,
    slowdown,
    wait,
)
from slurm_sim_plugins.errors import ConfigurationError

if TYPE_CHECKING:
    from emulator.accounting.records import Records

__all__ = ["METRICS", "Metric", "Summary", "summarise"]

Summary = dict[str, float | int]
OTHERWISE = ("FAILED", "CANCELLED", "PREEMPTED", "NODE_FAIL", "DEADLINE")
"""States of jobs that are over, but not by their own end or at their limit."""


def summarise(records: Records, *, threshold: float = THRESHOLD, warm_up: float = 0.0) -> Summary:
    """All metrics, in the order and with the meaning of :data:`METRICS`.

    A job that was rejected or did not end is counted, and is in no mean. Of no jobs a mean
    is NaN, and so is what the run did not look at.

    Args:
        records: what happened.
        threshold: of the bounded slowdown, in seconds.
        warm_up: the first share of the jobs, by submission, that waits, responses and
            slowdowns leave out. Counts and what concerns the machine keep all jobs.

    Raises:
        ConfigurationError: a threshold or a share that makes no sense.
    """
    if not 0 <= threshold < float("inf"):
        raise ConfigurationError(f"the threshold of the bounded slowdown is {threshold} s; give 0 or more, such as 10")
    return {
        **_counts(records),
        **_of_jobs(records, threshold, _first(records, warm_up)),
        **_of_machine(records),
        **_of_fairness(records),
        **_of_preemption(records),
    }


def _first(records: Records, warm_up: float) -> int:
    """Index of the first job that counts. Records are in the order of submission."""
    if not 0 <= warm_up < 1:
        raise ConfigurationError(f"the warm-up is {warm_up}; give a share of the jobs from 0 to below 1")
    # A share such as 0.29 of 100 jobs is 28.999... in binary, and means 29.
    return int(warm_up * len(records) + 1e-9)


def _counts(records: Records) -> Summary:
    rejected = in_state(records, "REJECTED")
    otherwise = np.logical_or.reduce([in_state(records, state) for state in OTHERWISE])
    return {
        "jobs": len(records),
        "completed": int(np.sum(in_state(records, "COMPLETED"))),
        "timeout": int(np.sum(in_state(records, "TIMEOUT"))),
        "rejected": int(np.sum(rejected)),
        "ended_otherwise": int(np.sum(otherwise)),
        "unfinished": int(np.sum(~ended(records) & ~rejected & ~otherwise)),
    }


def _of_jobs(records: Records, threshold: float, first: int) -> Summary:
    waits = wait(records)[first:]
    usual = bounded_slowdown_feitelson(records, threshold)[first:]
    bounded = bounded_slowdown(records, threshold)[first:]
    return {
        "mean_wait": mean(waits),
        "median_wait": median(waits),
        "max_wait": largest(waits),
        "mean_response": mean(response(records)[first:]),
        "mean_slowdown": mean(slowdown(records)[first:]),
        "mean_bounded_slowdown": mean(usual),
        "mbs": mean(bounded),
        "mwbs": weighted(bounded, records.jobs["processors"][first:]),
        "max_bounded_slowdown": largest(usual),
    }


def _of_machine(records: Records) -> Summary:
    waiting = machine.jobs_waiting(records)
    return {
        "load": machine.offered_load(records),
        "total_load": machine.total_load(records),
        "wasted_load": machine.wasted_load(records),
        "utilisation": machine.utilisation(records),
        "makespan": machine.makespan(records),
        "mean_queue_length": machine.mean_queue_length(records, waiting),
        "max_queue_length": machine.max_queue_length(records, waiting),
        "blocked": int(np.sum(records.jobs["blocked"])),
        "backfilled": int(np.sum(records.jobs["backfilled"])),
    }


def _of_fairness(records: Records) -> Summary:
    if not fairness.looked_at(records):
        return dict.fromkeys(("delayed", "mean_delay", "max_delay", "violated"), float("nan"))
    delay = fairness.unfair_delay(records)
    return {
        "delayed": int(np.sum(~np.isnan(delay))),
        "mean_delay": mean(delay),
        "max_delay": largest(delay),
        "violated": int(np.sum(fairness.reservation_violated(records))),
    }


def _of_preemption(records: Records) -> Summary:
    return {
        "requeues": int(np.sum(column(records, "requeues"))),
        "preempted": int(np.sum(preemption.preempted(records))),
        "preemption_rate": preemption.preemption_rate(records),
        "mkt": preemption.mean_requeues(records),
        "mean_rtw": mean(preemption.wasted_run(records)),
    }
