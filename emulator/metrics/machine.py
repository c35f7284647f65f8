"""Measures of the machine: load, utilisation, makespan, queue length.

A rejected job was never the machine's and counts nowhere here. In a run that broke off,
what still ran or waited does so until the last instant that the records know of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from emulator.metrics.jobs import Floats, Mask, column, ended, in_state
from emulator.metrics.steps import Steps, accumulate, means_between

if TYPE_CHECKING:
    from emulator.accounting.records import Records

NAN = float("nan")


class Span(NamedTuple):
    """From the first submission to the last end, in seconds on the trace's clock; NaN if there is no job."""

    first: float
    last: float

    @property
    def length(self) -> float:
        """Seconds."""
        return self.last - self.first


def span(records: Records) -> Span:
    """When the machine had something to do, or might have had."""
    submit = column(records, "submit")[_came(records)]
    if not len(submit):
        return Span(NAN, NAN)
    instants = np.concatenate([submit, _run_times(records, "start"), _run_times(records, "end")])
    return Span(float(submit.min()), float(np.nanmax(instants)))


def makespan(records: Records) -> float:
    """Seconds from the first submission to the last end."""
    return span(records).length


def offered_load(records: Records) -> float:
    """Share of the machine that was asked for: sum of n * run over P * (last - first submission)."""
    taken = ~in_state(records, "REJECTED")
    submit = column(records, "submit")[taken]
    asked = float(np.dot(column(records, "processors")[taken], column(records, "run")[taken]))
    return _share(records, asked, float(np.ptp(submit)) if len(submit) else NAN)


def total_load(records: Records, since: float | None = None) -> float:
    """Share of the machine that ended jobs took over all their runs, until the last end.

    Args:
        records: what happened.
        since: second on the trace's clock from which on the machine counts, such as 0 for
            the log's own beginning; by default the first submission.
    """
    done = ended(records)
    held = float(np.dot(column(records, "processors")[done], column(records, "occupied")[done]))
    return _share(records, held, _until_last_end(records, since))


def wasted_load(records: Records, since: float | None = None) -> float:
    """The part of the total load that was not work: lost runs, checkpoints, slower progress."""
    done = ended(records)
    lost = column(records, "occupied")[done] - column(records, "run")[done]
    held = float(np.dot(column(records, "processors")[done], lost))
    return _share(records, held, _until_last_end(records, since))


def utilisation(records: Records) -> float:
    """Mean share of the processors in use between first submission and last end."""
    last = span(records).last
    end = _run_times(records, "end")
    held = np.where(np.isnan(end), last, end) - _run_times(records, "start")
    return _share(records, float(np.dot(_run_times(records, "processors"), held)), makespan(records))


def processors_in_use(records: Records) -> Steps:
    """Processors in use over time."""
    start, end = _run_times(records, "start"), _run_times(records, "end")
    over = ~np.isnan(end)
    processors = np.asarray(records.runs["processors"])
    return accumulate(np.concatenate([start, end[over]]), np.concatenate([processors, -processors[over]]))


def jobs_waiting(records: Records) -> Steps:
    """Jobs in the queue over time: from submission, or from being sent back, to each start."""
    arrivals = column(records, "submit")[_came(records)]
    preempted = np.asarray(np.asarray(records.runs["outcome"], dtype=object) == "PREEMPTED", dtype=np.bool_)
    returns = _run_times(records, "end")[preempted]
    starts = _run_times(records, "start")
    changes = np.concatenate([np.ones(len(arrivals) + len(returns)), -np.ones(len(starts))])
    return accumulate(np.concatenate([arrivals, returns, starts]), changes)


def mean_queue_length(records: Records, waiting: Steps | None = None) -> float:
    """Jobs waiting, averaged over the time from first submission to last end.

    Args:
        records: what happened.
        waiting: what :func:`jobs_waiting` says, if that is known.
    """
    if not len(records):
        return NAN
    means = means_between(waiting or jobs_waiting(records), np.array(span(records)))
    return float(means[0])


def max_queue_length(records: Records, waiting: Steps | None = None) -> int:
    """Most jobs waiting at once; one that starts at once does not wait. As :func:`mean_queue_length`."""
    return int((waiting or jobs_waiting(records))[1].max(initial=0))


def _until_last_end(records: Records, since: float | None) -> float:
    first, last = span(records)
    return last - (first if since is None else since)


def _came(records: Records) -> Mask:
    """Jobs that entered the queue; in a run that broke off some never did."""
    return ~(in_state(records, "REJECTED") | in_state(records, "FUTURE"))


def _run_times(records: Records, name: str) -> Floats:
    return np.asarray(records.runs[name], dtype=np.float64)


def _share(records: Records, processor_seconds: float, seconds: float) -> float:
    return processor_seconds / (records.processors * seconds) if seconds > 0 else NAN
