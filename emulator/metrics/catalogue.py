"""What each metric of a summary is called and means: the one text for tables, pages and documentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["jobs", "times", "s", "ratio", "share"]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        key: its name in a summary.
        group: the heading that it stands under in tables.
        title: a few words.
        unit: ``jobs`` and ``times`` are counts; ``s`` seconds; ``ratio`` has no unit;
            ``share`` is a part of 1, shown in percent.
        definition: in words and symbols: n processors of a job, P of the machine.
        source: where the definition comes from.
        lower_is_better: True, False, or None where neither is better.
    """

    key: str
    group: str
    title: str
    unit: Unit
    definition: str
    source: str
    lower_is_better: bool | None = None


_PAPERS = "the papers on PV-EASY, 2010 and 2014"
_COMMON = "common usage"
_OWN = "this emulator"
_FEITELSON = "Feitelson et al., Theory and practice in parallel job scheduling, 1997"

_ALL = (
    Metric("jobs", "Jobs", "jobs", "jobs", "Jobs of the workload.", _OWN),
    Metric("completed", "Jobs", "completed", "jobs", "Jobs that ran to their own end.", _OWN),
    Metric("timeout", "Jobs", "killed at limit", "jobs", "Jobs that were killed at their time limit.", _OWN),
    Metric("rejected", "Jobs", "rejected", "jobs", "Jobs that were not taken in; they count in no other metric.", _OWN),
    Metric(
        "ended_otherwise",
        "Jobs",
        "ended otherwise",
        "jobs",
        "Jobs that failed, were cancelled or preempted for good, or ended with their node or at their deadline.",
        _OWN,
    ),
    Metric(
        "unfinished",
        "Jobs",
        "unfinished",
        "jobs",
        "Jobs that did not end, because the run broke off or came to a standstill; they count in no mean.",
        _OWN,
        True,
    ),
    Metric(
        "mean_wait",
        "Waiting",
        "mean wait",
        "s",
        "Mean of end - submit - run. For a job that ran once this is start - submit; for others lost work counts.",
        _PAPERS,
        True,
    ),
    Metric("median_wait", "Waiting", "median wait", "s", "Half of the jobs waited no longer than this.", _COMMON, True),
    Metric("max_wait", "Waiting", "longest wait", "s", "Longest wait of any job.", _COMMON, True),
    Metric("mean_response", "Waiting", "mean response", "s", "Mean of end - submit.", _COMMON, True),
    Metric(
        "mean_slowdown",
        "Slowdown",
        "mean slowdown",
        "ratio",
        "Mean of response / run, over jobs that run more than 0 s. A few very short jobs can decide it.",
        _FEITELSON,
        True,
    ),
    Metric(
        "mean_bounded_slowdown",
        "Slowdown",
        "mean bounded slowdown",
        "ratio",
        "Mean of max(1, response / max(run, threshold)), the threshold being 10 s unless stated.",
        _FEITELSON,
        True,
    ),
    Metric(
        "mbs",
        "Slowdown",
        "MBS",
        "ratio",
        "Mean of (wait + max(run, threshold)) / max(run, threshold): as the mean bounded slowdown, but a little more "
        "for jobs that run less than the threshold.",
        _PAPERS,
        True,
    ),
    Metric(
        "mwbs",
        "Slowdown",
        "MWBS",
        "ratio",
        "As MBS, each job weighted by its processors: sum of slowdown * n / sum of n.",
        _PAPERS,
        True,
    ),
    Metric("max_bounded_slowdown", "Slowdown", "largest bounded slowdown", "ratio", "That of any job.", _COMMON, True),
    Metric(
        "load",
        "Machine",
        "offered load",
        "share",
        "Sum of n * run / (P * (last - first submission)), without rejected jobs.",
        _PAPERS,
    ),
    Metric(
        "total_load",
        "Machine",
        "total load",
        "share",
        "Sum of n * seconds on processors over all runs / (P * (last end - first submission)), over jobs that ended.",
        _PAPERS,
    ),
    Metric(
        "wasted_load",
        "Machine",
        "wasted load",
        "share",
        "The part of the total load that was not work: lost runs, checkpoints, slower progress.",
        _PAPERS,
        True,
    ),
    Metric(
        "utilisation",
        "Machine",
        "utilisation",
        "share",
        "Mean share of the processors in use from first submission to last end, wasted or not.",
        _COMMON,
    ),
    Metric("makespan", "Machine", "makespan", "s", "From the first submission to the last end.", _COMMON, True),
    Metric(
        "mean_queue_length",
        "Queue",
        "mean queue length",
        "ratio",
        "Jobs waiting, averaged over the makespan. A job waits from submission, or from being sent back, to its start.",
        _COMMON,
        True,
    ),
    Metric("max_queue_length", "Queue", "longest queue", "jobs", "Most jobs waiting at one time.", _COMMON, True),
    Metric(
        "blocked",
        "Queue",
        "blocked",
        "jobs",
        "Jobs that were left waiting at the head of the queue after some scheduling pass.",
        _PAPERS,
    ),
    Metric(
        "backfilled",
        "Queue",
        "backfilled",
        "jobs",
        "Jobs whose last start went ahead of the head of the queue.",
        _PAPERS,
    ),
    Metric(
        "delayed",
        "Fairness",
        "delayed at the head",
        "jobs",
        "Jobs that were head of the queue, and did not start although idle processors and those of lower-priority "
        "jobs sufficed. Slurm's timing does not look at that, nor at the next three.",
        _PAPERS,
        True,
    ),
    Metric("mean_delay", "Fairness", "mean delay of these", "s", "Mean time from when they sufficed.", _PAPERS, True),
    Metric("max_delay", "Fairness", "longest delay", "s", "Longest such time.", _PAPERS, True),
    Metric(
        "violated",
        "Fairness",
        "reservations violated",
        "jobs",
        "Blocked jobs that started after their reservation, although idle and lower-priority processors sufficed by "
        "then. It is the latest reservation before the last one ran out.",
        _PAPERS,
        True,
    ),
    Metric("requeues", "Preemption", "requeues", "times", "How often a running job was sent back to the queue.", _OWN),
    Metric("preempted", "Preemption", "preempted", "jobs", "Jobs that were sent back at least once.", _PAPERS, True),
    Metric("preemption_rate", "Preemption", "preempted", "share", "Share of the jobs that they are.", _PAPERS, True),
    Metric(
        "mkt",
        "Preemption",
        "preemptions of each (MKT)",
        "ratio",
        "How often a preempted job was preempted, on average.",
        _PAPERS,
        True,
    ),
    Metric(
        "mean_rtw",
        "Preemption",
        "mean waste (RTW)",
        "share",
        "Mean of (seconds on processors - run) / run over preempted jobs that run more than 0 s and are not cancelled.",
        _PAPERS,
        True,
    ),
)

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}
"""All metrics of a summary, in its order."""

FURTHER: dict[str, str] = {
    "fairness.overtaken_delay": "Of each blocked job: its next start, less the time at which it would have fitted had "
    "no job been started past it since it was first left at the head. Jobs that were started before that do not count "
    "against it. The rule that fits table 1 of the papers on PV-EASY.",
    "fairness.blocked_after_end": "Jobs that were left at the head by a pass in which a run had ended; those that only "
    "submissions left there do not count. The rule that fits the counts of blocked jobs in the papers on PV-EASY.",
    "fairness.reservation_delay": "DTR: from reservation to start of each violated one; of the latest or of the first "
    "reservation.",
    "fairness.slowdown_increase": "SI: bounded slowdown, less what it would be had the job started at its reservation.",
    "blocked.by_size": "MBS and MWBS of blocked jobs by their size.",
    "checkpoints.overheads": "Of each job: seconds spent on writing checkpoints, and on reading them and on lost work; "
    "in processor-hours, booked to the jobs where they checkpoint themselves, else to the system. Equations 1 to 20 of "
    "the paper on real-time jobs on Mira.",
    "machine.total_load": "With `since=0`: from the beginning of the log, not from the first job that is left of it.",
}
"""Measures that no summary holds: functions in ``emulator.metrics``, and what they give."""
